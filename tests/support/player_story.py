"""A small storyboard written by hand: loss = (Square(x) * w * 2).sum() is built, then its backward runs."""

from __future__ import annotations

from typing import Any

from workbench.pictures.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard

SOURCE = """class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output  # the chain rule: what came in, times the slope here"""

IDLE, FREED, DONE, RUNNING, READY = ({"state": s} for s in ("idle", "freed", "done", "running", "ready"))


def _value(name: str, text: str, norm: str) -> Detail:
    value = {"name": name, "shape": [3], "dtype": "float64", "text": text, "norm": norm}
    return Detail("Value" if name != "grad" else "Gradient", "value", value)


def _flows(label: str) -> dict[str, str]:
    return {"state": "flowing", "label": label}


def _scene() -> Scene:
    code = Detail("forward and backward", "code", SOURCE)
    boxes = [
        Box("x", "leaf", "x", ("[1, 2, 3]",), details=(_value("x", "[1, 2, 3]", "3.742"),)),
        Box("w", "leaf", "w", ("[4, 5, 6]",), details=(_value("w", "[4, 5, 6]", "8.775"),)),
        Box("two", "constant", "scale", ("2.0",)),
        Box("n1", "function", "Square", details=(code, Detail("Note", "text", "It keeps x."))),
        Box("n1.x", "saved", "x", ("[1, 2, 3]",), holder="n1"),
        Box("n2", "op", "mul", details=(Detail("forward", "code", "self * other"),)),
        Box("n2.self", "saved", "self", ("[1, 4, 9]",), holder="n2"),
        Box("n3", "op", "sum"),
        Box("loss", "output", "loss", ("154.0",)),
    ]
    arrows = [
        Arrow("x>n1", "x", "n1"), Arrow("n1>n2", "n1", "n2"), Arrow("w>n2", "w", "n2"),
        Arrow("two>n2", "two", "n2", "constant"), Arrow("n2>n3", "n2", "n3"), Arrow("n3>loss", "n3", "loss"),
    ]  # fmt: skip
    for thing in (*boxes, *arrows):
        thing.state = "future"
    return Scene("loss", {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})


def _forward(line: int, text: str, caption: str, focus: str, boxes: str, arrows: str) -> StoryStep:
    cursor = {"file": "lesson.py", "line": line, "text": text}
    born = {id: IDLE for id in boxes.split()}, {id: IDLE for id in arrows.split()}
    return StoryStep(caption, "forward", cursor, focus, *born)


def _backward(caption: str, focus: str, boxes: dict[str, Any], arrows: dict[str, Any]) -> StoryStep:
    cursor = {"file": "lesson.py", "line": 4, "text": "loss.backward()"}
    return StoryStep(caption, "backward", cursor, focus, boxes, arrows)


def storyboard() -> Storyboard:
    """Three forward steps, then five backward ones."""
    begun = {"state": "pending", "lines": ("154.0", "grad 1")}
    gradient = (_value("grad", "[1, 4, 9]", "9.899"),)
    w_filled = {"state": "done", "lines": ("[4, 5, 6]", "grad [1, 4, 9]"), "details": gradient}
    x_filled = {"state": "done", "lines": ("[1, 2, 3]", "grad [8, 20, 36]")}
    to_square, to_w = _flows("[4, 5, 6]\nnorm 8.775"), _flows("[1, 4, 9]\nnorm 9.899")
    steps = [
        _forward(1, "y = Square.apply(x)", "Square squares x and keeps x.", "n1", "x n1 n1.x", "x>n1"),
        _forward(2, "z = y * w * scale", "mul multiplies y by w.", "n2",
                 "w two n2 n2.self", "n1>n2 w>n2 two>n2"),
        _forward(3, "loss = z.sum()", "sum adds the elements of z.", "n3", "n3 loss", "n2>n3 n3>loss"),
        _backward("backward() begins at loss with the gradient 1.", "loss",
                  {"loss": begun, "n3": READY}, {"n3>loss": _flows("1\nnorm 1")}),
        _backward("sum hands its gradient to each element of z.", "n3",
                  {"loss": DONE, "n3": RUNNING, "n2": READY},
                  {"n3>loss": DONE, "n2>n3": _flows("[1, 1, 1]\nnorm 1.732")}),
        _backward("mul multiplies the gradient by the other factor; w is filled.", "n2",
                  {"n3": DONE, "n2": RUNNING, "n2.self": FREED, "n1": READY, "w": w_filled},
                  {"n2>n3": DONE, "n1>n2": to_square, "w>n2": to_w}),
        _backward("Square runs its own backward, 2·x times the gradient; x is filled.", "n1",
                  {"n2": DONE, "n1": RUNNING, "n1.x": FREED, "x": x_filled},
                  {"n1>n2": DONE, "w>n2": DONE, "x>n1": _flows("[8, 20, 36]\nnorm 41.95")}),
        _backward("The backward is over.", "x", {"n1": DONE}, {"x>n1": DONE}),
    ]  # fmt: skip
    return Storyboard(_scene(), steps)


def wide() -> dict[str, Any]:
    """Boxes in forty rows of forty, as a chart: far larger than any window."""
    boxes = {
        f"b{n}": Box(f"b{n}", "event", f"e{n}", place=(120 * (n % 40), 60 * (n // 40), 100, 40)) for n in range(1600)
    }
    steps = [StoryStep(f"Number {n}.", focus=f"b{n}", boxes={f"b{n}": {"state": "running"}}) for n in (0, 820, 1599)]
    return Storyboard(Scene("wide", boxes), steps).to_dict()


WIDE = wide()
