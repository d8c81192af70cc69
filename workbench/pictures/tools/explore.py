"""`explore()`: rerun a function while sliders move its inputs, and update its picture."""

from __future__ import annotations

import inspect
import io
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ...autograd.grad_mode import enable_grad
from ...autograd.tensor import Tensor
from ...bridges import is_of_torch, with_torch
from ...errors import kind_of
from ...events import listeners, tag
from ...ops.creation import get_rng_state, set_rng_state, tensor
from ..scene.displays import display_of
from ..scene.geometry import MARGIN, Rectangle
from ..scene.layout import LayoutUnavailable
from ..scene.model import Box, Detail, Plot, Scene, StoryStep, changed
from ..scene.picture import Picture, playing
from ..scene.plots import PLOT
from ..scene.storyboard import Storyboard
from ..trace.names import named_in
from ..trace.recorder import Recorder
from ..trace.stacks import user_frame
from ..trace.timeline import Ending
from ..trace.values import number, series
from ..views import storyboard
from ..views.player_steps import roomy
from . import (
    EXPLORE_CALL,
    EXPLORE_FINITE,
    EXPLORE_INPUT,
    EXPLORE_KIND,
    EXPLORE_NOTHING,
    EXPLORE_NUMBER,
    EXPLORE_ORDER,
    EXPLORE_TENSOR,
    NO_SLIDER,
    SLIDER_RANGE,
)
from .jacobian import function_name

POSITIONS = 21  # of the first input in a saved picture
_ALL = 100  # levels of groups, all of them open: the picture is of one moment, and changes in place
_FINE = 4 * POSITIONS - 3  # points of a curve, the positions among them
_STEPS = 100  # of a slider
# How far a tangent goes beyond a plot, in parts of its width and height: a round corner would hide its end.
_BEYOND = (0.02, 0.04)
_PLOT = "plot"  # the id of its box
_NEGATIVE_ZERO = re.compile(r"(?<![\d.\w])[-−]0\.0(?![\d.e])")
_REFUSED = (RuntimeError, TypeError, ValueError)  # what is raised where f gives no number


@dataclass(frozen=True, slots=True)
class Input:
    """An input with a slider."""

    name: str
    low: float
    high: float
    start: float

    @property
    def step(self) -> float:
        """The slider's step size."""
        return (self.high - self.low) / _STEPS


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run of the function: its result, its slope with respect to each input (or None), and its graph."""

    result: float
    slopes: Mapping[str, float | None]
    scene: Scene

    @property
    def graph(self) -> object:
        """The structure that two runs share if their pictures differ only in values."""
        boxes = [(box.id, box.kind, box.holder, box.region) for box in self.scene.boxes.values()]
        return tuple(boxes), tuple((arrow.id, arrow.source, arrow.target) for arrow in self.scene.arrows.values())


def explore(f: Callable[..., Tensor], /, **inputs: Any) -> Exploration:
    """Return a picture of the graph of `f` with a slider for each input. When you move a slider, `f` runs again.

    The picture shows the values and the gradients, and plots `f` against the input that you moved last, with the
    tangent at that point. In a saved notebook without a kernel, the first slider still moves, while the other
    inputs keep their start values.

    Example:
        >>> picture = workbench.explore(lambda x, w: (w * x).tanh(), x=2.0, w=(-3, 3))
        >>> picture.move(w=0.5)  # from code; in a notebook, drag the slider
        >>> print(picture.sentence)
        f(x=2.0, w=0.5) is 0.7616; its slope is 0.21 with respect to x and 0.8399 with respect to w.

    Args:
        f: A function whose parameters have the names of `inputs`. It returns a tensor with one element.
        inputs: A value for each parameter of `f`, passed by name. A number is the start value of a slider. A pair
            (low, high) is the range of a slider. The slider starts in the middle of the range; if the middle is 0,
            where many functions are flat, it starts at 70 % of the range. A tensor or an array gets no slider and
            stays constant.

    Raises:
        TypeError: if `f` isn't callable or doesn't accept these inputs, if an input isn't a number, a pair, a tensor or
            an array, or if the result isn't a tensor.
        ValueError: if no input is a number or a pair, if a range is empty or not finite, or if the result has several
            elements.
        RuntimeError: if `f` fails.
    """
    if not callable(f):
        raise TypeError(EXPLORE_KIND.format(type(f).__name__))
    moving: list[Input] = []
    fixed: dict[str, Any] = {}
    for name, given in inputs.items():
        if isinstance(given, Tensor | np.ndarray) or is_of_torch(given):
            fixed[name] = tensor(given) if isinstance(given, np.ndarray) else given
        else:
            moving.append(_slider(name, given))
    if not moving:
        raise ValueError(EXPLORE_NOTHING)
    try:
        inspect.signature(f).bind(**inputs)
    except TypeError as error:
        raise TypeError(EXPLORE_CALL.format(function_name(f), series(list(inputs)), error)) from None
    except ValueError:  # of a function written in C no signature may be known
        pass
    frame = user_frame()
    names = {tag(thing): name for name, thing in reversed(named_in(frame))} if frame is not None else {}

    def explored(f: Callable[..., Any], given: Iterable[Tensor]) -> Exploration:
        return Exploration(f, moving, dict(zip(fixed, given, strict=True)), names)

    try:
        return with_torch(explored, f, [*fixed.values()], function_name(f))
    except (RuntimeError, TypeError, ValueError) as error:  # without the frames between this call and the user's line
        raise error.with_traceback(None) from error.__cause__


def _slider(name: str, given: Any) -> Input:
    ends = given if isinstance(given, tuple) and len(given) == 2 else (given,)
    if not all(isinstance(end, Real) and not isinstance(end, bool | np.bool_) for end in ends):
        raise TypeError(EXPLORE_INPUT.format(name, type(given).__name__))
    numbers = [float(end) for end in ends]  # pyright: ignore[reportArgumentType]  all are real
    if not all(map(math.isfinite, numbers)):
        raise ValueError(EXPLORE_FINITE.format(name, given))
    if len(numbers) == 1:
        (start,) = numbers
        around = 2 * abs(start) or 1.0
        return Input(name, start - around, start + around, start)
    low, high = numbers
    if low >= high:
        raise ValueError(EXPLORE_ORDER.format(name, given))
    start = (low + high) / 2
    return Input(name, low, high, start or round(low + (high - low) * 0.7, 12))  # at 0 many functions are flat


class Exploration(Picture):
    """A picture of a function with sliders, which `explore()` returns.

    `values` has the position of each slider, by name. `result` is the function's result at these positions, and
    `slopes` has the gradient of the result for each slider. `move(x=1.0)` moves a slider from code.
    """

    def __init__(
        self, f: Callable[..., Any], moving: Iterable[Input], fixed: Mapping[str, Tensor], names: Mapping[int, str]
    ) -> None:
        self.inputs = {each.name: each for each in moving}
        self._f, self._fixed, self._names, self._random = f, fixed, names, get_rng_state()
        self.name = function_name(f)
        self.values = {each.name: each.start for each in self.inputs.values()}
        self.moved = next(iter(self.inputs))  # the input that the plot is over
        self._curved: tuple[Any, list[tuple[float, float]]] = (None, [])
        self._all = Storyboard(Scene())  # every graph that was met, all in one place, of which one is there
        self._graphs: dict[Any, str] = {}  # with how the ids of its boxes and arrows begin there
        self._run = self._ran(self.values)
        super().__init__(self._story())
        self.audience: list[Callable[[], None]] = []  # told of every move
        self._view: Any = None

    @property
    def result(self) -> float:
        """The result of f at the sliders' positions."""
        return self._run.result

    @property
    def slopes(self) -> dict[str, float | None]:
        """The gradient of the result with respect to each input with a slider; None if no gradient arrives."""
        return dict(self._run.slopes)

    @property
    def sentence(self) -> str:
        """A sentence with the result of f at the sliders' positions."""
        return self._said(self.values, self._run)

    def move(self, /, **values: float) -> None:
        """Move sliders to these values, and run f there.

        Raises:
            TypeError: if an input has no slider.
            ValueError: if a value is outside the slider's range.
        """
        for name, value in values.items():
            if name not in self.inputs:
                raise TypeError(NO_SLIDER.format(name, series(list(self.inputs))))
            slider = self.inputs[name]
            if not isinstance(value, Real) or not slider.low <= value <= slider.high:
                ends = number(slider.low), number(slider.high)
                raise ValueError(SLIDER_RANGE.format(name, *ends, value))
        there = self.values | {name: float(value) for name, value in values.items()}
        with redirect_stdout(io.StringIO()):
            run = self._ran(there)
        self.values, self._run = there, run
        self.moved = next(reversed(values), self.moved)
        for each in self.audience:
            each()

    def board(self) -> Storyboard:
        """Return a still picture of the graph at the sliders' current positions."""
        board = Storyboard(self._drawn(self._run, self.values, self.moved), title=self.storyboard.title)
        board = board.with_density(self._all.density)
        with suppress(LayoutUnavailable):  # it can still be told in words
            board.layout = self._all.layout
        return board

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            html = playing(self.storyboard)
        except LayoutUnavailable as problem:
            return {"text/plain": f"{self!r}\n\n{problem}"}
        view_of = display_of(Exploration)
        if view_of is None:
            return {"text/plain": repr(self), "text/html": html}
        if self._view is None:
            self._view = view_of(self)
        return dict(self._view.faces(repr(self), html))

    # Running it.

    def _called(self, values: Mapping[str, float]) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the result of f and the new leaves it was called with, so that your tensors get no gradient."""
        leaves = {name: tensor(value, requires_grad=True) for name, value in values.items()}
        leaves |= {name: each.detach().requires_grad_(each.requires_grad) for name, each in self._fixed.items()}
        before = get_rng_state()
        set_rng_state(self._random)  # or a dropout would be another one at each place
        try:
            with self._failures_of(values), enable_grad():
                result = self._f(**leaves)
        finally:
            set_rng_state(before)
        if not isinstance(result, Tensor):
            raise TypeError(EXPLORE_TENSOR.format(self._call(values), kind_of(result)))
        if result._array.size != 1:
            raise ValueError(EXPLORE_NUMBER.format(self._call(values), tuple(result.shape)))
        return result, leaves

    def _ran(self, values: Mapping[str, float]) -> Evaluation:
        """Run f and its backward pass, and draw the result; drop what f prints, which was seen the first time."""
        recorder = Recorder()
        recorder.sampler.begin(sys._getframe())
        listeners.append(recorder)
        try:
            result, leaves = self._called(values)
            if result.requires_grad:
                wanted = [leaf for leaf in leaves.values() if leaf.requires_grad]
                with self._failures_of(values):
                    result.backward(retain_graph=True, inputs=wanted)
        finally:
            listeners.remove(recorder)
        recorder.name({tag(result): self.name, **self._names} | {tag(leaf): name for name, leaf in leaves.items()})
        scene = Scene(self.name)  # of a constant there is no graph
        if result.requires_grad:
            scene = _slopes_alone(storyboard(Ending(recorder), depth=_ALL).at(0))
        slopes = {name: leaves[name].grad for name in values}
        numbers = {name: None if slope is None else float(slope.item()) for name, slope in slopes.items()}
        return Evaluation(float(result.item()), numbers, scene)

    @contextmanager
    def _failures_of(self, values: Mapping[str, float]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            sentence = f"explore() called {self._call(values)}, which raised {type(error).__name__}: {error}"
            raise RuntimeError(sentence) from error

    def _call(self, values: Mapping[str, float]) -> str:
        return f"{self.name}({', '.join([f'{name}={_brief(value)}' for name, value in values.items()])})"

    def _said(self, values: Mapping[str, float], run: Evaluation) -> str:
        slopes = [f"{_brief(slope)} with respect to {name}" for name, slope in run.slopes.items() if slope is not None]
        unreached = [name for name, slope in run.slopes.items() if slope is None]
        parts = [f"{self._call(values)} is {_brief(run.result)}"]
        if slopes:
            parts.append(f"its slope is {series(slopes)}")
        if unreached:
            parts.append(f"no gradient reaches {series(unreached)}")
        return "; ".join(parts) + "."

    # Drawing it.

    def _drawn(self, run: Evaluation, values: Mapping[str, float], over: str) -> Scene:
        """Return the graph, with a plot of the result over one input."""
        at, slope = values[over], run.slopes[over]
        line = f"at {_brief(at)}: {_brief(run.result)}, slope {_brief(slope)}"
        tangent = f"y = {_brief(run.result)} + ({_brief(slope)}) · ({over} − ({_brief(at)}))"
        details = () if slope is None else (Detail("Tangent", "text", tangent),)
        plot = _plot(self.inputs[over], self._curve(values, over), at, run.result, slope)
        box = Box(_PLOT, "plot", f"{self.name} over {over}", (line,), details=details, plot=plot)
        drawn = Scene(run.scene.title, run.scene.boxes | {_PLOT: box}, run.scene.arrows)
        if run.graph not in self._graphs:
            self._meet(run.graph, drawn)
        here, there = _renamed(drawn, self._graphs[run.graph]), self._all.scene
        return Scene(there.title, there.boxes | here.boxes, there.arrows | here.arrows)

    def _meet(self, graph: Any, drawn: Scene) -> None:
        """Lay out the picture of a new graph in the place of the earlier ones."""
        prefix = self._graphs[graph] = f"{len(self._graphs)}." if self._graphs else ""
        before = self._all
        hidden = _renamed(drawn, prefix)
        boxes = {id: replace(box, state="future") for id, box in hidden.boxes.items()}
        arrows = {id: replace(arrow, state="future") for id, arrow in hidden.arrows.items()}
        self._all = Storyboard(Scene(before.scene.title, before.scene.boxes | boxes, before.scene.arrows | arrows))
        with suppress(LayoutUnavailable):  # it can still be told in words
            graph_alone = Scene(drawn.title, {id: box for id, box in drawn.boxes.items() if id != _PLOT}, drawn.arrows)
            room, old, (wide, high) = roomy(graph_alone).with_density("rows"), before.layout, PLOT  # beside its plot
            new, self._all = room.layout, self._all.with_density(room.density if not prefix else before.density)
            beside = {_PLOT: Rectangle(new.width, MARGIN, wide, high)}
            self._all.layout = replace(
                new,
                width=max(old.width, new.width + wide + MARGIN),
                height=max(old.height, new.height, high + 2 * MARGIN),
                boxes=old.boxes | {f"{prefix}{id}": place for id, place in (new.boxes | beside).items()},
                arrows=old.arrows | {f"{prefix}{id}": way for id, way in new.arrows.items()},
            )

    def _curve(self, values: Mapping[str, float], over: str) -> list[tuple[float, float]]:
        """Return points of the result over one input, without those where f fails."""
        key = over, tuple([value for name, value in values.items() if name != over])
        if key != self._curved[0]:
            points = []
            with redirect_stdout(io.StringIO()):
                for at in _positions(self.inputs[over], _FINE):
                    value = math.nan
                    with suppress(*_REFUSED):
                        value = float(self._called({**values, over: at})[0].item())
                    points.append((at, value))
            self._curved = key, points
        return self._curved[1]

    def _sample(self) -> list[tuple[int, str, str, Scene]]:
        """Return number, sentence and picture for every position of the first slider, without those where f fails.

        The other inputs keep their start values.
        """
        over, found = self.moved, []
        for nth, at in enumerate(_positions(self.inputs[over], POSITIONS)):
            values = {**self.values, over: at}
            with suppress(*_REFUSED), redirect_stdout(io.StringIO()):
                run = self._run if values == self.values else self._ran(values)
                scene = self._drawn(run, values, over)
                found.append((nth, self._said(values, run), self._graphs[run.graph] + _PLOT, scene))
        return found

    def _story(self) -> Storyboard:
        """Return the positions in order."""
        samples = self._sample()  # every graph is laid out before the first is described
        boxes, arrows = self._all.scene.boxes, self._all.scene.arrows
        before: tuple[dict[str, Any], dict[str, Any]] = boxes, arrows
        steps: list[StoryStep] = []
        start = 0
        for nth, sentence, focus, scene in samples:
            start = len(steps) if nth <= _starting(next(iter(self.inputs.values())), POSITIONS) else start
            now = boxes | scene.boxes, arrows | scene.arrows  # a graph that was met later is not in the scene
            changes = [
                {id: new for id, each in part.items() if (new := changed(old[id], each))}
                for part, old in zip(now, before, strict=True)
            ]
            steps.append(StoryStep(sentence, "position", None, focus, changes[0], changes[1]))
            before = now
        first = next(iter(self.inputs.values()))
        others = [f"{each.name} = {_brief(each.start)}" for each in self.inputs.values() if each is not first]
        title = f"{self.name} over {first.name}" + (f", with {series(others)}" if others else "")
        board = Storyboard(Scene(title, boxes, arrows), steps, start=start).with_density(self._all.density)
        with suppress(LayoutUnavailable):  # it can still be told in words
            board.layout = self._all.layout
        return board


def _slopes_alone(scene: Scene) -> Scene:
    """Return a graph without its saved tensors, which the nodes' details list: only values and gradients change.

    A computed -0.0 becomes 0.0.
    """
    boxes = {
        id: replace(box, lines=tuple([_NEGATIVE_ZERO.sub("0.0", line) for line in box.lines]))
        for id, box in scene.boxes.items()
        if box.kind != "saved"
    }
    arrows = {
        id: replace(arrow, label=_NEGATIVE_ZERO.sub("0.0", arrow.label))
        for id, arrow in scene.arrows.items()
        if arrow.kind != "same"
    }
    return Scene(scene.title, boxes, arrows)


def _brief(value: float | None) -> str:
    return "none" if value is None else number(value + 0.0, ".0")  # and -0.0 is 0.0


def _positions(slider: Input, count: int) -> list[float]:
    """Return evenly spaced positions of a slider; the start replaces the nearest one."""
    found = [slider.low + (slider.high - slider.low) * n / (count - 1) for n in range(count)]
    found[_starting(slider, count)] = slider.start
    return found


def _starting(slider: Input, count: int) -> int:
    """Return the number of the position where the slider starts."""
    return round((slider.start - slider.low) / (slider.high - slider.low) * (count - 1))


def _plot(slider: Input, curve: list[tuple[float, float]], at: float, result: float, slope: float | None) -> Plot:
    finite = [value for value in [*[value for _, value in curve], result] if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    if low == high:
        low, high = low - 1.0, high + 1.0
    wide, tall = slider.high - slider.low, high - low
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in curve:
        if math.isfinite(y):
            runs[-1].append((round((x - slider.low) / wide, 4), round((y - low) / tall, 4)))
        elif runs[-1]:
            runs.append([])
    ends = _brief(slider.low), _brief(slider.high), _brief(low), _brief(high)
    point = ((at - slider.low) / wide, (result - low) / tall) if math.isfinite(result) else None
    tangent = ()
    if point is not None and slope is not None and not math.isnan(slope):
        tangent = _tangent(*point, slope * wide / tall)
    return Plot(tuple(tuple(run) for run in runs if run), ends, point, tangent)


def _tangent(x: float, y: float, slope: float) -> tuple[tuple[float, float], ...]:
    """Return the part of a tangent in and near the unit square."""
    wide, high = _BEYOND
    if math.isinf(slope):
        return (x, -high), (x, 1 + high)
    ends = [-wide - x, 1 + wide - x]
    if slope:
        across = sorted([(-high - y) / slope, (1 + high - y) / slope])
        ends = [max(ends[0], across[0]), min(ends[1], across[1])]
    return tuple((x + by, y + slope * by) for by in ends)


def _renamed(scene: Scene, prefix: str) -> Scene:
    def of(id: Any) -> Any:
        return None if id is None else f"{prefix}{id}"

    if not prefix:
        return scene
    boxes = [replace(box, id=of(box.id), holder=of(box.holder), region=of(box.region)) for box in scene.boxes.values()]
    arrows = [
        replace(arrow, id=of(arrow.id), source=of(arrow.source), target=of(arrow.target))
        for arrow in scene.arrows.values()
    ]
    return Scene(scene.title, {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})
