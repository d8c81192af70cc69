"""Stepping a real backward: forwards, back, and sideways with another gradient.

`step(loss)` returns a Stepper over the engine's own graph task, of which every `step()` runs exactly one node.
"""

from .begin import step
from .stepper import Stepper
from .steps import Branch, Breakpoint, Difference, Step, Waiting

__all__ = ["Branch", "Breakpoint", "Difference", "Step", "Stepper", "Waiting", "step"]
