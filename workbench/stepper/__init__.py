"""Stepping a real backward: forwards, back, and sideways with another gradient.

`step(loss)` returns a Stepper over the engine's own graph task, of which every `step()` runs exactly one node.
"""

from .driving import Stepper
from .moments import Branch, Difference, Step, Waiting
from .starting import step
from .stops import Breakpoint

__all__ = ["Branch", "Breakpoint", "Difference", "Step", "Stepper", "Waiting", "step"]
