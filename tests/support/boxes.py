"""What tests call the boxes of a graph: a node's by its name, which stands below its title, others by their title."""

from __future__ import annotations

import re

from workbench.scene.model import Box, Scene
from workbench.scene.storyboard import Storyboard


def name_of(box: Box) -> str:
    """`PowBackward0`, whatever expression computed it."""
    below = re.match(r"[A-Za-z_]\w*?Backward\w*|CopySlices", box.lines[0] if box.lines else "")
    return (
        below[0]
        if below and box.kind in ("op", "function")
        else re.sub(r"(Backward\w*|CopySlices), \d+\w\w$", r"\1", box.title)
    )


def before_backward(board: Storyboard) -> Scene:
    """The picture after the last step before the first backward: all that the forward made, and no gradient."""
    first = next(k for k, step in enumerate(board.steps) if step.phase == "backward")
    return board.at(first - 1)
