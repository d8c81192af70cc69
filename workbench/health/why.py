"""Why a tensor's `.grad` is None, zero, not finite or a sum, from the records of a graph or of a recording.

Certain statements come first, then possible causes, and then what a recording would add.
"""

from __future__ import annotations

from ..trace.frame import Frame
from .graph import way_in
from .inquiry import Answer, Inquiry
from .training_run import TrainingRun
from .why_none import MissingGradient
from .why_value import PresentGradient


def answer(inquiry: Inquiry, graph: TrainingRun, frame: Frame, package: str = "") -> Answer:
    """Return why the `.grad` of a tensor is what it is; `record(package)` is the code that records the program."""
    asked = inquiry.asked
    is_there = asked.takes and asked.requires_grad and asked.grad is not None
    kind = PresentGradient if is_there else MissingGradient
    question = kind(inquiry, graph, frame, package)
    made = question.answer()
    if question.reaches and not made.way and question.place is not None:
        made.way = way_in(question.found, question.place)
    return made
