"""Stepping a real backward pass: forward, back, and onto another branch with a changed gradient.

`step(loss)` returns a Stepper over the engine's own graph task; every `step()` runs exactly one node.
"""

from .begin import step
from .stepper import Stepper
from .steps import Branch, Breakpoint, Difference, Step, Waiting

__all__ = ["Branch", "Breakpoint", "Difference", "Step", "Stepper", "Waiting", "step"]
