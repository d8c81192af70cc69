"""The Jacobian as it is computed: painted row by row (reverse mode) or column by column (forward mode)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..autograd.backward import gradients
from ..autograd.forward_ad import dual_level, make_dual, unpack_dual
from ..autograd.function import Function
from ..autograd.tensor import Tensor, wrap
from ..scene.model import Box, Scene, Step
from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from ..views.value_display import ROW, SHOWN, Matrix, names_of

Mode = Literal["reverse", "forward"]

LEGEND = "How much an output changes with an input: orange is positive, blue negative, and darker is larger."
_WIDE = 460.0  # px of the lines above the matrix


def jacobian(f: Callable[[Tensor], Tensor], x: Tensor, mode: Mode = "reverse", *, legend: bool = True) -> Picture:
    """The derivative of every element of f(x) by every element of x, as each pass of the engine finds it.

    In the mode "reverse" a backward gives a row, in "forward" a pass with a tangent gives a column. The
    `legend` is the sentence that says how to read it.
    """
    if mode not in ("reverse", "forward"):
        raise ValueError(f"There is no mode {mode!r}; choose 'reverse' or 'forward'.")
    if not isinstance(x, Tensor):
        raise TypeError(f"jacobian() differentiates by one Tensor, but got {type(x).__name__}.")
    shape, values = (by_rows if mode == "reverse" else by_columns)(f, x)
    board = _Painting(f, x.shape, shape, values, mode == "reverse").board()
    board.legend = board.legend if legend else ""
    return Picture(board)


def by_rows(f: Callable[..., Any], x: Tensor) -> tuple[tuple[int, ...], np.ndarray]:
    """The shape of f(x), and the Jacobian from one backward for each of its elements (as many as are shown)."""
    leaf = x.detach().requires_grad_()
    y = _one(f(leaf))
    rows = [pulled_back(y, [leaf], at)[0].ravel() for at in range(min(math.prod(y.shape), SHOWN))]
    return tuple(y.shape), np.array(rows).reshape(len(rows), math.prod(x.shape))[:, :SHOWN]


def pulled_back(y: Tensor, leaves: Sequence[Tensor], at: int) -> list[np.ndarray]:
    """The gradients of one element of y, zeros where none arrive."""
    seed = np.zeros(tuple(y.shape), y._array.dtype)
    seed[np.unravel_index(at, seed.shape)] = 1
    found = gradients((y,), leaves, [wrap(seed)], True, False) if y.requires_grad else [None] * len(leaves)
    pairs = zip(found, leaves, strict=True)
    return [np.zeros(tuple(leaf.shape)) if grad is None else np.array(grad._array) for grad, leaf in pairs]


def by_columns(f: Callable[..., Any], x: Tensor) -> tuple[tuple[int, ...], np.ndarray]:
    """The same from one tangent for each element of x."""
    shape, found = tuple(_one(f(x.detach())).shape), []
    for at in range(min(math.prod(x.shape), SHOWN)):
        direction = np.zeros(tuple(x.shape), x._array.dtype)
        direction[np.unravel_index(at, direction.shape)] = 1
        with dual_level():
            tangent = unpack_dual(_one(f(make_dual(x.detach(), wrap(direction))))).tangent
            found.append(np.zeros(shape) if tangent is None else np.array(tangent._array))
    return shape, np.array(found).reshape(len(found), math.prod(shape)).T[:SHOWN]


def _one(y: Any) -> Tensor:
    if not isinstance(y, Tensor):
        raise TypeError(f"jacobian() needs a function that returns one Tensor, but this gave {type(y).__name__}.")
    return y


def variables_of(f: Callable[..., Any], count: int) -> list[str]:
    """What a function, or the forward of a Function, calls its arguments, as far as that can be known."""
    try:
        found = list(inspect.signature(getattr(_function(f), "forward", f)).parameters.values())
    except (TypeError, ValueError):  # of a function written in C, say
        found = []
    names = [each.name for each in found if each.kind < each.VAR_POSITIONAL]
    names = names[1:] if names[:1] == ["ctx"] else names
    spare = ["x"] if count == 1 else [f"x{n}" for n in range(count)]
    return [*names, *spare[len(names) :]][:count]


def function_name(f: Callable[..., Any]) -> str:
    """A function's name, or a Function's; `f` where it has none of its own."""
    name = getattr(_function(f) or f, "__name__", "f")
    return "f" if name == "<lambda>" else name


def _function(f: Callable[..., Any]) -> type | None:
    """The Function that an `apply` is of."""
    owner = getattr(f, "__self__", None)
    return owner if isinstance(owner, type) and issubclass(owner, Function) else None


def largest_of(values: np.ndarray) -> float:
    """The largest finite number, without its sign."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


class _Painting:
    """The steps of one picture."""

    def __init__(
        self, f: Callable[..., Any], inner: Sequence[int], outer: Sequence[int], values: np.ndarray, reverse: bool
    ) -> None:
        self.function, self.reverse = function_name(f), reverse
        (x,) = variables_of(f, 1)
        y = "y" if x != "y" else "output"
        self.m, self.n = math.prod(outer), math.prod(inner)
        self.matrix = Matrix(
            "j", names_of(y, outer), names_of(x, inner), values, y=ROW + 8, seed="rows" if reverse else "columns"
        )
        self.axes = f"Rows: {y} {tuple(outer)}, columns: {x} {tuple(inner)}"
        self.phase = "rows" if reverse else "columns"
        self.passes = len(self.matrix.rows if reverse else self.matrix.columns)
        self.largest = largest_of(values)

    def board(self) -> Storyboard:
        """A step for each pass, one before them and one after."""
        matrix, title = self.matrix, f"Jacobian of {self.function}, {self.phase[:-1]} by {self.phase[:-1]}"
        steps = [self._opening(), *(self._pass(k) for k in range(self.passes)), self._end()]
        before: dict[str, Any] = {}
        for step in steps:
            step.boxes = before | step.boxes
            running = [id for id, change in step.boxes.items() if change.get("state") == "running"]
            seeds = {id: {"title": "0", "shade": 0} for id in running if id.startswith("j.s")}
            before = {id: {"state": "done"} | seeds.get(id, {}) for id in running}
        steps[-1].boxes |= {f"j.s{k}": {"title": "", "shade": 0, "state": "done"} for k in range(self.passes)}
        heading = Box("j", "heading", self.axes, place=(0, 0, max(matrix.width, _WIDE), ROW))
        return Storyboard(Scene(title, {box.id: box for box in [heading, *matrix.boxes()]}), steps, legend=LEGEND)

    def _opening(self) -> Step:
        m, n = _counted(self.m, "number"), _counted(self.n, "number")
        size = f"{_counted(self.m, 'row')} and {_counted(self.n, 'column')}"
        more = f" Shown are the first {SHOWN} of each." if max(self.m, self.n) > SHOWN else ""
        caption = f"{self.function} takes {n} and gives {m}: its Jacobian has {size}, and none is known yet.{more}"
        return Step(caption, self.phase)

    def _pass(self, k: int) -> Step:
        matrix, reverse = self.matrix, self.reverse
        cells = [(k, j) for j in range(len(matrix.columns))] if reverse else [(i, k) for i in range(len(matrix.rows))]
        boxes: dict[str, dict[str, Any]] = {
            f"j.{i}.{j}": matrix.painted(i, j, self.largest, "running") for i, j in cells
        }
        name = (matrix.rows if reverse else matrix.columns)[k]
        if k == 0:
            boxes |= {f"j.s{other}": {"title": "0"} for other in range(1, self.passes)}
        boxes[f"j.s{k}"] = {"title": "1", "shade": 4, "state": "running"}
        if reverse or matrix.numbered:
            boxes[f"j.{'r' if reverse else 'c'}{k}"] = {"state": "running"}
        numbers = matrix.said(k, across=reverse).partition(": ")[2]
        if reverse:
            boxes[f"j.r{k}"]["alt"] = matrix.said(k)
            caption = f"Backward {k + 1}, from 1 for {name} and 0 for the others, gives row {k + 1}: {numbers}."
        else:
            boxes |= {f"j.r{i}": {"alt": matrix.said(i, until=k + 1)} for i in range(len(matrix.rows))}
            start = f"Pass {k + 1}, with the tangent 1 for {name} and 0 for the others"
            caption = f"{start}, gives column {k + 1}: {numbers}."
        return Step(caption, self.phase, boxes=boxes)

    def _end(self) -> Step:
        backward, forward = _counted(self.m, "backward"), f"{_counted(self.n, 'pass', 'es')} with a tangent"
        cost = f"{backward}, one for each output" if self.reverse else f"{forward}, one for each input"
        other = f"forward mode takes {forward}" if self.reverse else f"reverse mode takes {backward}"
        return Step(f"The Jacobian is complete. It takes {cost}; {other}.", self.phase)


def _counted(count: int, what: str, plural: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else plural}"
