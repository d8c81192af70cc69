"""Jacobians: computed row by row or column by column, and compared with differences (`check`)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ...autograd.backward import gradients
from ...autograd.forward_ad import dual_level, make_dual, unpack_dual
from ...autograd.function import Function
from ...autograd.gradcheck import Jacobians, as_tuple, check_inputs, nearly
from ...autograd.gradcheck import numeric_columns as pushed
from ...autograd.tensor import Tensor, wrap
from ...bridges import is_of_torch, with_torch
from ...errors import kind_of
from ..scene.metric import CHARACTER, clean, columns
from ..scene.model import Box, Scene, StoryStep
from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from ..views.value_display import ROW, SHOWN, Matrix, element_name, names_of, number_text
from . import JACOBIAN_BY, JACOBIAN_OF, NO_MODE

Mode = Literal["reverse", "forward"]

LEGEND = "How much an output changes with an input: orange is positive, blue negative, and darker is larger."
_WIDE = 460.0  # px of the lines above the matrix
_APART = 40  # px between the two of a pair, and below it
CHECK_LEGEND = (
    "Orange is positive, blue negative, darker is larger; outlined entries are further apart than the tolerance."
)
_STEADY = 0.1  # how little two differences are apart that can be trusted
_FAR = 0.25  # how far a wrong entry is
_OTHERS = (0.77, 0.41)  # steps beside the one asked for, as parts of it: rounding would differ at each
_WAYS = {"reverse": "a backward for each element of an output", "forward": "a tangent for each element of an input"}


def jacobian(f: Callable[[Tensor], Tensor], x: Tensor, mode: Mode = "reverse", *, legend: bool = True) -> Picture:
    """Return a picture of the Jacobian of `f` at `x`, built one pass at a time.

    The Jacobian contains the derivative of each element of `f(x)` (one row each) with respect to each element of `x`
    (one column each). Each backward pass adds one row. In forward mode, each pass adds one column.

    Example:
        >>> picture = workbench.jacobian(lambda x: x * x.sum(), torch.tensor([1.0, 2.0]), legend=False)
        >>> print(picture)
        Jacobian of f, row by row
        Rows: y (2,), columns: x (2,)
        y[0]: 4 1
        y[1]: 2 5
        ...

    Args:
        f: A function of one tensor that returns a tensor.
        x: The tensor at which to compute the Jacobian.
        mode: "reverse" runs one backward pass per element of the output. "forward" runs one forward-mode pass per
            element of the input.
        legend: If False, the picture omits the sentence that explains it.

    Raises:
        TypeError: if `x` or `f(x)` isn't a tensor.
        ValueError: if `mode` is neither "reverse" nor "forward".
    """
    if mode not in ("reverse", "forward"):
        raise ValueError(NO_MODE.format(mode))
    if not isinstance(x, Tensor) and not is_of_torch(x):
        raise TypeError(JACOBIAN_BY.format(kind_of(x)))
    _refuse_complex([x])
    find = by_rows if mode == "reverse" else by_columns
    shape, values = with_torch(lambda f, given: find(f, *given), f, [x], function_name(f))
    board = _Painting(f, tuple(x.shape), shape, values, mode == "reverse").board()
    board.legend = board.legend if legend else ""
    return Picture(board)


def _refuse_complex(inputs: Sequence[Any]) -> None:
    if any([getattr(each, "is_complex", bool)() for each in inputs]):
        raise TypeError("jacobian() and check() draw real numbers; for complex ones, use torch.autograd.gradcheck.")


def by_rows(f: Callable[..., Any], x: Tensor) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the shape of f(x), and its Jacobian from one backward pass per element, for the elements shown."""
    leaf = x.detach().requires_grad_()
    y = _one(f(leaf))
    rows = [pulled_back(y, [leaf], at)[0].ravel() for at in range(min(math.prod(y.shape), SHOWN))]
    return tuple(y.shape), np.array(rows).reshape(len(rows), math.prod(x.shape))[:, :SHOWN]


def pulled_back(y: Tensor, leaves: Sequence[Tensor], at: int) -> list[np.ndarray]:
    """Return the gradients of one element of y: zeros where none arrive."""
    seed = np.zeros(tuple(y.shape), y._array.dtype)
    seed[np.unravel_index(at, seed.shape)] = 1
    found = gradients((y,), leaves, [wrap(seed)], True, False) if y.requires_grad else [None] * len(leaves)
    pairs = zip(found, leaves, strict=True)
    return [np.zeros(tuple(leaf.shape)) if grad is None else np.array(grad._array) for grad, leaf in pairs]


def by_columns(f: Callable[..., Any], x: Tensor) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the shape of f(x), and its Jacobian from one tangent per element of x."""
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
        raise TypeError(JACOBIAN_OF.format(kind_of(y)))
    return y


def variables_of(f: Callable[..., Any], count: int) -> list[str]:
    """Return the names of the arguments of a function, or of a Function's forward, as far as they are known."""
    try:
        found = list(inspect.signature(getattr(_function(f), "forward", f)).parameters.values())
    except (TypeError, ValueError):  # of a function written in C, say
        found = []
    names = [each.name for each in found if each.kind < each.VAR_POSITIONAL]
    names = names[1:] if names[:1] == ["ctx"] else names
    spare = ["x"] if count == 1 else [f"x{n}" for n in range(count)]
    return [*names, *spare[len(names) :]][:count]


def function_name(f: Callable[..., Any]) -> str:
    """Return the name of a function or a Function; `f` if it has none."""
    owner = getattr(f, "__self__", None)
    is_applied = isinstance(owner, type) and getattr(f, "__name__", "") == "apply"  # PyTorch Functions too
    name = getattr(owner if is_applied else f, "__name__", "f")
    return "f" if name == "<lambda>" else name


def _function(f: Callable[..., Any]) -> type | None:
    """Return the Function to which an `apply` belongs."""
    owner = getattr(f, "__self__", None)
    return owner if isinstance(owner, type) and issubclass(owner, Function) else None


def largest_of(values: np.ndarray) -> float:
    """Return the largest absolute value among the finite ones."""
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
        """Return a step for each pass, one before them and one after."""
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

    def _opening(self) -> StoryStep:
        m, n = _counted(self.m, "number"), _counted(self.n, "number")
        size = f"{_counted(self.m, 'row')} and {_counted(self.n, 'column')}"
        more = f" Shown are the first {SHOWN} of each." if max(self.m, self.n) > SHOWN else ""
        caption = f"{self.function} takes {n} and gives {m}: its Jacobian has {size}, and none is known yet.{more}"
        return StoryStep(caption, self.phase)

    def _pass(self, k: int) -> StoryStep:
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
        return StoryStep(caption, self.phase, boxes=boxes)

    def _end(self) -> StoryStep:
        backward, forward = _counted(self.m, "backward"), f"{_counted(self.n, 'pass', 'es')} with a tangent"
        cost = f"{backward}, one for each output" if self.reverse else f"{forward}, one for each input"
        other = f"forward mode takes {forward}" if self.reverse else f"reverse mode takes {backward}"
        return StoryStep(f"The Jacobian is complete. It takes {cost}; {other}.", self.phase)


def _counted(count: int, what: str, plural: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else plural}"


def check(
    f: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    mode: Mode = "reverse",
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    legend: bool = True,
) -> Picture:
    """Check the derivatives of `f` against finite differences, and return a picture that marks the wrong entries.

    Use `check` to test the `backward` of your own Function: `workbench.check(MyFunction.apply, x)`. The picture
    shows two Jacobians side by side: one from autograd, and one computed by moving each input element a little up
    and down.

    If an entry differs, `f` runs again with float64 inputs. The entry counts as wrong only if it differs there too,
    because in float32, rounding alone can explain a difference. If `f` can't compute in float64, such entries are
    marked as doubtful, not as wrong.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> print(workbench.check(lambda x: x.detach() * x, x))  # detach() hides half of the derivative
        Check of f, backward against differences
        ...
        analytic y[0]: 1 0
        analytic y[1]: 0 2
        numeric y[0]: 2 0
        numeric y[1]: 0 4
        2 of 4 wrong: ...

    Args:
        f: A function of the inputs that returns one tensor or several.
        inputs: The arguments of `f`: a tensor, or a sequence. Those that require grad are checked.
        mode: "reverse" checks backward passes, "forward" checks forward mode.
        eps: How far each input element is moved up and down.
        atol: The absolute tolerance. An entry is right if it is within `atol + rtol * abs(numeric)` of the numeric
            entry.
        rtol: The relative tolerance.
        legend: If False, the picture omits the sentence that explains it.

    Raises:
        TypeError: if no input requires grad, or an output isn't a tensor.
        ValueError: if `mode` is neither "reverse" nor "forward".
    """
    if mode not in _WAYS:
        raise ValueError(NO_MODE.format(mode))
    _refuse_complex(as_tuple(inputs))

    def checked(f: Callable[..., Any], given: Sequence[Any]) -> Storyboard:
        inputs = tuple(given)
        check_inputs(inputs, wants_double=False)
        found = Jacobians(f, inputs, eps, atol, rtol)
        exact = _exact(f, found)
        if isinstance(exact, str):
            check_inputs(inputs)  # says that float64 is better
        return _Checking(f, found, exact, mode).board()

    board = with_torch(checked, f, as_tuple(inputs), function_name(f))
    board.legend = board.legend if legend else ""
    return Picture(board)


class _Pair:
    """One output by one input: the two Jacobians, one row per element of the output, and their places.

    `blur` names the dtype whose rounding may make them differ; `doubtful` are the entries that rounding alone may
    explain.
    """

    def __init__(
        self, id: str, names: tuple[str, str], shapes: Any, analytic: Any, numeric: Any, near: Any, blur: str
    ) -> None:
        self.id, self.names, self.shapes, self.blur = id, names, shapes, blur
        self.unsteady = False  # whether other steps give other differences
        self.analytic, self.numeric = analytic, numeric
        pairs = zip(analytic.ravel(), numeric.ravel(), strict=True)
        self.wrong = np.array([not near(a, n) for a, n in pairs], bool).reshape(analytic.shape)
        self.doubtful = self.wrong if blur else np.zeros_like(self.wrong)
        self._compare()

    def _compare(self) -> None:
        """Compute how far the two Jacobians are apart, and what to show of both."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.analytic - self.numeric)
        self.apart = np.where(self.analytic == self.numeric, 0.0, np.where(np.isnan(apart), np.inf, apart))
        rows, across = (names_of(name, shape) for name, shape in zip(self.names, self.shapes, strict=True))
        shown = [each[:SHOWN, :SHOWN] for each in (self.analytic, self.numeric)]
        self.sides = [Matrix(self.id + side, rows, across, values) for side, values in zip("an", shown, strict=True)]
        self.largest = max(map(largest_of, shown)) if any(each.any() for each in shown) else 1.0

    @property
    def worst(self) -> float:
        """The largest difference; infinite if a Jacobian contains nan or inf."""
        return float(self.apart.max(initial=0.0))

    @property
    def sure(self) -> np.ndarray:
        """Where the Jacobians differ by more than rounding."""
        return self.wrong & ~self.doubtful

    def look_closer(self, steps: Sequence[np.ndarray]) -> None:
        """Mark as wrong the entries where differences over two more step sizes agree; the steps suit the dtype.

        Show the longer steps' differences there: short steps leave fewer correct digits than are written.
        """
        one, other = steps
        with np.errstate(all="ignore"):
            steady = np.abs(one - other) <= _STEADY * np.abs(one)
            near = np.abs(self.analytic - one) <= _FAR * np.abs(one)
        self.doubtful = self.wrong & ~(steady & ~near)
        self.numeric = np.where(self.sure, one, self.numeric)
        self._compare()

    def settle(self, analytic: np.ndarray, steps: Sequence[np.ndarray], near: Callable[[Any, Any], bool]) -> None:
        """Mark as wrong what differs, given the derivatives in float64 and differences over two other steps.

        It isn't wrong if these derivatives agree, or if another step gives other differences: then f rounds.
        """
        alike = np.vectorize(near, otypes=[bool])
        steady = alike(steps[0], self.numeric) & alike(steps[1], self.numeric)
        self.doubtful = self.wrong & (alike(analytic, self.numeric) | ~steady)
        self.unsteady = bool((self.doubtful & ~steady).any())

    def verdict(self) -> str:
        """Return the sentence on whether the Jacobians agree, and on where they differ most."""
        if not self.apart.size:
            return "Nothing to compare."
        shown = self.sure if self.sure.any() else self.wrong
        at = int(np.argmax(np.where(shown, self.apart, -1) if shown.any() else self.apart))
        i, j = np.unravel_index(at, self.apart.shape)
        place = " / ".join(
            f"d {element_name(n, s, k)}" for n, s, k in zip(self.names, self.shapes, (int(i), int(j)), strict=True)
        )
        two = f"analytic {number_text(self.analytic[i, j])}, numeric {number_text(self.numeric[i, j])}"
        count, doubtful, size = int(self.sure.sum()), int(self.doubtful.sum()), self.wrong.size
        if not count + doubtful:
            return f"They agree: the largest difference is {number_text(self.worst)}"
        parts = [f"{count} of {size} wrong"] if count else []
        if doubtful:
            parts.append(f"{doubtful} of {size} differ, but at {self.blur} that may be rounding")
        return f"{', '.join(parts)}: the largest difference is {number_text(self.apart[i, j])}, at {place}: {two}"

    def placed(self, y: float) -> tuple[list[Box], float]:
        """Return its boxes, starting at this height, and where they end."""
        left, right = self.sides
        left.y = right.y = y + 2 * ROW
        cell = max(left.cell, right.cell)
        left.wide = right.wide = cell
        right.x = left.width + _APART
        title, verdict = f"{self.names[0]} by {self.names[1]}", self.verdict()
        wide = max(right.x + right.width, (columns(clean(verdict)) + 2) * CHARACTER, (columns(clean(title)) + 2) * 9)
        end = left.y + left.height + 4
        boxes = [
            Box(f"{self.id}h", "heading", title, place=(0, y, wide, ROW)),
            Box(f"{self.id}ta", "tick", "analytic", place=(left.side, y + ROW, 76, ROW)),
            Box(f"{self.id}tn", "tick", "numeric", place=(right.x + right.side, y + ROW, 76, ROW)),
            *left.boxes(),
            *right.boxes(),
            Box(f"{self.id}v", "text", "", place=(0, end, wide, ROW)),
        ]
        return boxes, end + ROW + _APART

    def painted(self, side: int) -> dict[str, dict[str, Any]]:
        """Return the marks of all entries on one side."""
        matrix = self.sides[side]
        cells = [(i, j) for i in range(len(matrix.rows)) for j in range(len(matrix.columns))]
        found: dict[str, dict[str, Any]] = {}
        for i, j in cells:
            found[f"{matrix.id}.{i}.{j}"] = matrix.painted(i, j, self.largest)
        for i in range(len(matrix.rows)):
            found[f"{matrix.id}.r{i}"] = {"alt": f"{('analytic', 'numeric')[side]} {matrix.said(i)}"}
        return found

    def outlined(self) -> dict[str, dict[str, Any]]:
        """Return the marks of the entries that disagree, on both sides, and the verdict."""
        found: dict[str, dict[str, Any]] = {f"{self.id}v": {"title": self.verdict()}}
        for i, j in np.argwhere(self.wrong[:SHOWN, :SHOWN]).tolist():
            two = f"analytic {number_text(self.analytic[i, j])}, numeric {number_text(self.numeric[i, j])}"
            state, what = ("differs", f"differs, at {self.blur}") if self.doubtful[i, j] else ("error", "is wrong")
            for matrix in self.sides:
                found[f"{matrix.id}.{i}.{j}"] = {"state": state, "alt": f"{matrix.entry(i, j)} {what}: {two}"}
        return found


class _Checking:
    """The pairs of one check, and the steps of its picture."""

    def __init__(self, f: Callable[..., Any], found: Jacobians, exact: Jacobians | str | None, mode: Mode) -> None:
        self.mode: Mode = mode
        self.function, self.eps = function_name(f), found.eps
        self.exact, self.why = (None, exact) if isinstance(exact, str) else (exact, "")
        wanted = [k for k, each in enumerate(found.given) if any(each is t for t in found.inputs)]
        names = variables_of(f, len(found.given))
        places = found.positions or found.floating
        outer = [f"y{k}" for k in places] if len(places) > 1 else ["y"]
        outer = [f"output_{each}" if each in names else each for each in outer]
        derived = _derivatives(found, places, mode)
        self.near = lambda a, n: nearly(a, n, found.rtol, found.atol)
        self.pairs: list[_Pair] = []
        self._places = [(i, place, j) for i, place in enumerate(places) for j in range(len(found.inputs))]
        for i, place, j in self._places:
            t = found.inputs[j]
            blur = _coarsest(t._array, found.first[place]) if self.exact else _blur(found, t._array, found.first[place])
            two = np.asarray(derived[i][j], np.float64), _differences(self.exact or found, j, place)
            shapes = (found.first[place].shape, tuple(t.shape))
            self.pairs.append(_Pair(f"p{i}.{j}", (outer[i], names[wanted[j]]), shapes, *two, self.near, blur))
        self.blur = next((pair.blur for pair in self.pairs if pair.blur), "")
        self.step = float(np.cbrt(np.finfo(self.blur).eps)) if self.blur else 0.0  # where rounding matters least
        if any(pair.doubtful.any() for pair in self.pairs):
            self._look_closer(f, found)

    def _look_closer(self, f: Callable[..., Any], found: Jacobians) -> None:
        """Decide which of the differing entries are wrong."""
        whole = self.exact or found
        lengths = [each * self.eps for each in _OTHERS] if self.exact else [self.step, self.step / 2]
        others = [Jacobians(f, whole.given, step, found.atol, found.rtol) for step in lengths]
        derived = _derivatives(whole, whole.positions or whole.floating, self.mode) if self.exact else []
        for pair, (i, place, j) in zip(self.pairs, self._places, strict=True):
            if pair.doubtful.any():
                steps = [_differences(each, j, place) for each in others]
                if self.exact:
                    pair.settle(np.asarray(derived[i][j], np.float64), steps, self.near)
                else:
                    pair.look_closer(steps)

    def board(self) -> Storyboard:
        """Return the steps: by derivatives, by differences, and compared."""
        title = f"Check of {self.function}, {'backward' if self.mode == 'reverse' else 'tangents'} against differences"
        boxes: list[Box] = []
        y = 0.0
        for pair in self.pairs:
            more, y = pair.placed(y)
            boxes += more
        moved = f"each element of an input is moved by {self.eps:g} to either side"
        where = ", in float64" if self.exact else ""
        captions = (
            f"Analytic: {_WAYS[self.mode]} gives the derivatives that {self.function} claims.",
            f"Numeric{where}: {moved}, and {self.function} is computed again; no derivative is used.{self._rounded()}",
        )
        steps = []
        for side, caption in enumerate(captions):
            steps.append(StoryStep(caption, "checking"))
            for pair in self.pairs:
                steps[-1].boxes |= pair.painted(side)
        steps.append(StoryStep(self._result(), "checking"))
        for pair in self.pairs:
            steps[-1].boxes |= pair.outlined()
        return Storyboard(Scene(title, {box.id: box for box in boxes}), steps, legend=CHECK_LEGEND)

    def _rounded(self) -> str:
        """Return why entries may differ at this dtype, and what to do if it's open whether they are wrong."""
        doubtful = any(pair.doubtful.any() for pair in self.pairs)
        if not self.blur or self.exact and not doubtful:
            return ""
        kept = f"{self.blur} keeps about {round(-math.log10(np.finfo(self.blur).eps))} digits"
        if self.exact and any(pair.unsteady for pair in self.pairs):
            return f" {kept}, and other steps give other differences: {self.function} rounds to fewer digits itself."
        if self.exact:
            return f" {kept}; in float64 both agree."
        why = f" {self.why}: {kept}, so a difference of {self.eps:g} is mostly rounding there"
        return f"{why}: check with float64 inputs." if doubtful and not self._sure() else f"{why}."

    def _sure(self) -> list[_Pair]:
        """Return the pairs with entries that are wrong by more than rounding."""
        return [pair for pair in self.pairs if pair.sure.any()]

    def _result(self) -> str:
        wrong = [pair for pair in self.pairs if pair.wrong.any()]
        size = sum(pair.wrong.size for pair in self.pairs)
        if not wrong:
            worst = max((pair.worst for pair in self.pairs), default=0.0)
            return f"All {size} entries agree; the largest difference is {number_text(worst)}."
        sure = self._sure()
        worst = max(sure or wrong, key=lambda pair: float(pair.apart[pair.sure if sure else pair.wrong].max()))
        where = worst.verdict().partition(": ")[2]
        if not sure:
            count = sum(int(pair.wrong.sum()) for pair in wrong)
            verb = "differs" if count == 1 else "differ"
            return f"{count} of {size} entries {verb}, outlined; {where}. That need not be wrong:{self._rounded()}"
        count = sum(int(pair.sure.sum()) for pair in sure)
        verb = "is" if count == 1 else "are"
        more = (
            f" So say differences of {self.step:.1g}, which suit {worst.blur}." if worst.blur and not self.exact else ""
        )
        doubtful = sum(int(pair.doubtful.sum()) for pair in wrong)
        if doubtful:
            more += f" Of the others {doubtful} may differ by rounding alone"
            more += "." if self.exact else ": check these with float64 inputs."
        return f"{count} of {size} entries {verb} wrong, outlined; {where}.{more}"


def _coarsest(*arrays: np.ndarray) -> str:
    """Return the dtype with the fewest digits among these arrays, if it has fewer than float64."""
    coarse = max([each for each in arrays if each.dtype.kind == "f"], key=lambda each: np.finfo(each.dtype).eps)
    return coarse.dtype.name if coarse.itemsize < 8 else ""


def _differences(found: Jacobians, j: int, place: int) -> np.ndarray:
    """Return the Jacobian of an output by an input from differences, one row per element of the output."""
    return np.asarray(found.numerical[j][place].T, np.float64)


def _exact(f: Callable[..., Any], found: Jacobians) -> Jacobians | str | None:
    """Return the same function at float64 inputs, or why it can't be computed; None if all is float64 already."""
    places = found.positions or found.floating
    arrays = [*[t._array for t in found.inputs], *[found.first[place] for place in places]]
    if not any(_coarsest(each) for each in arrays if each.dtype.kind == "f"):
        return None
    doubles: dict[int, Any] = {}
    for each in found.given:
        if isinstance(each, Tensor) and each._array.dtype.kind == "f":
            doubles.setdefault(id(each), wrap(each._array.astype(np.float64), each.requires_grad))
    name = function_name(f)
    try:
        given = tuple([doubles.get(id(each), each) for each in found.given])
        exact = Jacobians(f, given, found.eps, found.atol, found.rtol)
        _derivatives(exact, places, "reverse")
    except Exception as error:  # of whatever kind: f was made for other inputs
        return f"{name} does not take float64 ({type(error).__name__})"
    shapes = [[each.first[place].shape for place in places if place < len(each.first)] for each in (found, exact)]
    if exact.positions != found.positions or shapes[0] != shapes[1]:
        return f"{name} gives something else in float64"
    coarse = [kind for place in places if (kind := _coarsest(exact.first[place]))]
    return f"{name} computes in {coarse[0]} whatever its inputs are" if coarse else exact


def _blur(found: Jacobians, *arrays: np.ndarray) -> str:
    """Return the dtype below float64 whose rounding changes these values by more than the tolerance."""
    coarse = max([each for each in arrays if each.dtype.kind == "f"], key=lambda each: np.finfo(each.dtype).eps)
    error = np.finfo(coarse.dtype).eps * max([1.0, *(largest_of(each) for each in arrays if each.size)])
    return coarse.dtype.name if coarse.itemsize < 8 and error > found.rtol * found.eps else ""


def _derivatives(found: Jacobians, places: list[int], mode: Mode) -> list[list[np.ndarray]]:
    """Return for each output the Jacobian by every input, one row per element of the output."""
    if mode == "forward":
        parts = pushed(found)
        return [[np.array(of_input[place]._array).T for of_input in parts] for place in places]
    if not found.outputs:
        return [[np.zeros((found.first[place].size, math.prod(t.shape))) for t in found.inputs] for place in places]
    derived = []
    for y in found.outputs:
        rows = [pulled_back(y, found.inputs, at) for at in range(math.prod(y.shape))]
        lines = [[row[j].ravel() for row in rows] for j in range(len(found.inputs))]
        derived.append(
            [np.array(each).reshape(len(rows), math.prod(t.shape)) for each, t in zip(lines, found.inputs, strict=True)]
        )
    return derived
