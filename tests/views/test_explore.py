"""`explore()`: what it computes where its sliders stand, the pictures it makes of that, and what it refuses."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from boxes import name_of
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_story import kept_story

import workbench as torch
from workbench.events import listeners
from workbench.pictures.scene.geometry import Rectangle
from workbench.pictures.scene.model import Plot, Scene
from workbench.pictures.scene.sizes import heading_size
from workbench.pictures.tools.explore import Exploration
from workbench.pictures.widgets.live import ExplorationView

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def chain(x, w):
    h = x
    for _ in range(9):
        h = (h * w + x).tanh()
    return (h - 1.0) ** 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "square": lambda x, w: (x * w - 7.0) ** 2,
    "one input of two": lambda x, w: x.exp() + 3.0,
    "products": lambda x, w: ((X * w).tanh() @ torch.ones(3) * x).sum().reshape(1),
    "branches": lambda x, w: x * w if x > 0 else (w * 2 - x).sin() * x,
    "chain": chain,
}
places = st.floats(-1, 1)


def within_scopes(x, w):
    with torch.scope("layer"):
        z = x * w
        h = z * z
    with torch.scope("out"):
        return (h + x) * (h + x)


def plot_of(scene: Scene) -> Plot:
    (box,) = [box for box in scene.boxes.values() if box.kind == "plot" and box.state != "future"]
    return box.plot


def slope_of(plot: Plot, wide: float, tall: float) -> float:
    """The tangent's slope, read off a plot as wide and tall as this."""
    (x, y), (u, v) = plot.tangent
    return (v - y) / (u - x) * tall / wide


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@given(x=places, w=places)
@settings(max_examples=8, deadline=None)
def test_slopes_and_tangents_are_the_gradients(name: str, x: float, w: float) -> None:
    f = FUNCTIONS[name]
    found = explorations[name] = explorations.get(name) or torch.explore(f, x=(-1, 1), w=(-1, 1))
    found.move(w=w, x=x)
    leaves = [torch.tensor(each, requires_grad=True) for each in (x, w)]
    result = f(*leaves)
    wanted = torch.autograd.grad(result.sum(), leaves, allow_unused=True)
    assert found.result == result.item()
    assert list(found.slopes.values()) == [None if each is None else each.item() for each in wanted]
    plot, slope = plot_of(found.board().scene), found.slopes["x"]
    assert plot.at is not None and 0 <= plot.at[0] <= 1 and 0 <= plot.at[1] <= 1
    curve = [f(torch.tensor(n / 40), torch.tensor(w)).item() for n in range(-40, 41)]
    low, high = min(*curve, result.item()), max(*curve, result.item())
    low, high = (low, high) if low < high else (low - 1, high + 1)
    assert slope_of(plot, 2.0, high - low) == pytest.approx(slope, rel=1e-6)
    heights = [y for run in plot.runs for _, y in run]
    assert heights == pytest.approx([(value - low) / (high - low) for value in curve], abs=1e-3)


explorations: dict[str, Exploration] = {}


def test_the_picture_is_that_of_the_graph_where_the_sliders_stand() -> None:
    found = torch.explore(lambda x, w: (x * w - 7.0) ** 2, x=2.0, w=(-3, 3))
    found.move(w=3.0)
    boxes = {box.title: box for box in found.board().scene.boxes.values() if box.kind not in ("saved", "constant")}
    assert boxes["x"].lines[-1] == "grad -6.0" and boxes["w"].lines[-1] == "grad -4.0"
    assert boxes["f over w"].lines == ("at 3.0: 1.0, slope -4.0",)
    assert found.sentence == "f(x=2.0, w=3.0) is 1.0; its slope is -6.0 with respect to x and -4.0 with respect to w."
    found.move(x=1.0)
    assert "f over x" in {box.title for box in found.board().scene.boxes.values()}
    assert found.values == {"x": 1.0, "w": 3.0}


def test_a_number_is_the_middle_of_its_slider_and_a_pair_its_ends() -> None:
    found = torch.explore(lambda a, b, c, d: a + b + c + d, a=2.0, b=0, c=(-3, 5), d=np.float32(-0.5))
    assert [(each.low, each.high, each.start) for each in found.inputs.values()] == [
        (-2.0, 6.0, 2.0), (-1.0, 1.0, 0.0), (-3.0, 5.0, 1.0), (-1.5, 0.5, -0.5),
    ]  # fmt: skip


def test_tensors_and_arrays_stay_as_they_are() -> None:
    data = torch.tensor([1.0, 2.0], requires_grad=True)
    kept = torch.tensor(4.0, requires_grad=True)
    found = torch.explore(lambda w, data, more: (w * data + more).sum() * kept, w=1.0, data=data, more=np.ones(2))
    assert found.inputs.keys() == {"w"} and found.result == 20.0
    names = {box.title: box.lines for box in found.board().scene.boxes.values()}
    assert names["data"][-1] == "grad [4. 4.]" and "more" in names and "kept" in names
    assert data.grad is None and kept.grad is None


def test_a_saved_picture_plays_the_positions_of_the_first_input() -> None:
    board = torch.explore(lambda x, w: x * w, x=(0, 2), w=(-3, 4)).storyboard
    assert board.title == "f over x, with w = 0.5" and len(board.steps) == 21 and board.start == 10
    assert (
        board.steps[0].caption
        == "f(x=0.0, w=0.5) is 0.0; its slope is 0.5 with respect to x and 0.0 with respect to w."
    )
    plots = [plot_of(board.at(k)) for k in range(21)]
    assert [plot.at[0] for plot in plots] == pytest.approx([k / 20 for k in range(21)])
    assert {slope_of(plot, 2.0, 1.0) for plot in plots} == {0.5}
    assert len({plot.runs for plot in plots}) == 1


@pytest.mark.slow
def test_a_notebook_keeps_every_position() -> None:
    for found in (torch.explore(lambda x: x * x, x=1.0), torch.explore(chain, x=2.0, w=1.0)):
        board, html = found.storyboard, found._repr_mimebundle_()["text/html"]
        kept = kept_story(re.sub("</div>$", "", html))
        assert len(html) < 250_000 and [step["caption"] for step in kept["steps"]] == [s.caption for s in board.steps]
        assert len(board.steps) == 21 and board.steps[board.start].caption == found.sentence


def test_nothing_moves_in_the_picture_unless_the_graph_is_another() -> None:
    def f(x):
        return x * x if x > 0 else -x

    found = torch.explore(f, x=(-1, 1))
    there = {}
    for x in (0.25, 1.0, -1.0, 0.3, -0.001234):
        found.move(x=x)
        board = found.board()
        there.setdefault(x > 0, []).append(board.layout)
        assert board.layout.boxes.keys() == board.scene.boxes.keys()
        assert all(board.to_dict()["boxes"])
    assert len({id(layout) for layout in there[True]}) == 1 == len({id(layout) for layout in there[False]})
    titles = [
        {name_of(box) for box in found.storyboard.at(k).boxes.values() if box.state != "future" and box.kind == "op"}
        for k in range(21)
    ]
    assert titles == [{"NegBackward0"}] * 11 + [{"MulBackward0"}] * 10
    layout = found.storyboard.layout
    assert all(0 <= place.x and place.x + place.w <= layout.width for place in layout.boxes.values())


def test_where_there_is_no_number_the_curve_has_a_gap_and_no_step() -> None:
    def f(x):
        if abs(x.item()) < 0.25:
            raise ZeroDivisionError("too close")
        return x.log() if x < 1.5 else torch.tensor(0.5)

    found = torch.explore(f, x=(-1, 3))
    assert len(found.storyboard.steps) == 18  # three positions are within a quarter of 0
    plots = [plot_of(found.storyboard.at(k)) for k in range(18)]
    assert len(plots[0].runs) == 1 and plots[0].at is None and plots[0].tangent == ()  # a logarithm below zero
    assert found.storyboard.steps[-1].caption == "f(x=3.0) is 0.5; no gradient reaches x."
    with pytest.raises(RuntimeError, match=r"^explore\(\) called f\(x=0.1\), which raised ZeroDivisionError"):
        found.move(x=0.1)
    assert found.values == {"x": 1.0} and listeners == []


def test_a_function_may_return_its_input() -> None:
    found = torch.explore(lambda x: x, x=1.0)
    found.move(x=3.0)
    assert found.slopes == {"x": 1.0}
    assert [(box.title, box.lines[-1]) for box in found.board().scene.boxes.values() if box.kind == "leaf"] == [
        ("x", "grad 1.0")
    ]


def test_a_function_with_a_dropout_is_one_function() -> None:
    mask, before = [], torch.get_rng_state()

    def f(x):
        mask.append(torch.rand(3).tolist())
        return (x * torch.tensor(mask[-1])).sum()

    found = torch.explore(f, x=1.0)
    found.move(x=2.0)
    assert len({tuple(each) for each in mask}) == 1 and torch.get_rng_state().tolist() == before.tolist()


def test_what_the_function_prints_is_seen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("ran")
        return x * 2

    found = torch.explore(f, x=1.0)
    found.move(x=2.0)
    assert capsys.readouterr().out == "ran\n"


TAKES = "takes for x a number, a pair (low, high), a tensor or an array"
UNEXPECTED = "got an unexpected keyword argument"


def broken(x):
    raise KeyError("k")


@pytest.mark.parametrize(
    ("f", "inputs", "kind", "sentence"),
    [
        (3, {"x": 1}, TypeError, "runs a function, but got int."),
        (chain, {}, ValueError, "needs at least one input to move: a number, or a pair (low, high)."),
        (chain, {"x": 1, "v": 2}, TypeError, "calls chain with x and v, but: missing a required argument: 'w'."),
        (chain, {"x": 1, "w": 1, "v": 2}, TypeError, f"calls chain with x, w and v, but: {UNEXPECTED} 'v'."),
        (chain, {"x": "1"}, TypeError, f"{TAKES}, not str."),
        (chain, {"x": True}, TypeError, f"{TAKES}, not bool."),
        (chain, {"x": (1, 2, 3)}, TypeError, f"{TAKES}, not tuple."),
        (chain, {"x": math.nan}, ValueError, "moves x between finite numbers, but got nan."),
        (chain, {"x": (0, math.inf)}, ValueError, "moves x between finite numbers, but got (0, inf)."),
        (chain, {"x": (3, -3)}, ValueError, "moves x from a smaller number to a larger one, but got (3, -3)."),
        (chain, {"x": (2, 2)}, ValueError, "moves x from a smaller number to a larger one, but got (2, 2)."),
        (broken, {"x": 1}, RuntimeError, "called broken(x=1.0), which raised KeyError: 'k'"),
        (lambda x: 2.0, {"x": 1}, TypeError, "needs a tensor, but f(x=1.0) returned float."),
        (lambda x: x * X, {"x": 1}, ValueError, "needs one number, but f(x=1.0) returned the shape (2, 3)."),
    ],
)
def test_it_refuses_in_one_sentence(f: Any, inputs: dict[str, Any], kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind) as caught:
        torch.explore(f, **inputs)
    assert str(caught.value) == f"explore() {sentence}" and listeners == []


def test_a_slider_is_moved_within_its_range_and_by_its_name() -> None:
    found = torch.explore(lambda x: x * 2, x=1.0)
    with pytest.raises(TypeError, match=r"^There is no slider for y; there are sliders for x\.$"):
        found.move(y=1.0)
    for strange in (4.0, math.nan, "1"):
        with pytest.raises(ValueError, match=r"^The slider of x goes from -1 to 3, but got"):
            found.move(x=strange)
    assert found.values == {"x": 1.0}


@pytest.mark.slow
def test_thirty_nodes_follow_a_slider_without_many_calls() -> None:
    found = torch.explore(chain, x=0.5, w=0.7)
    calls: Counter[str] = Counter()
    found.move(w=0.1)
    found.board().to_dict(small=False)
    sys.setprofile(lambda frame, what, called: calls.update([what]))
    try:
        found.move(w=0.2)
        found.board().to_dict(small=False)
    finally:
        sys.setprofile(None)
    assert calls["call"] < 55_000  # 45,000, which take 35 ms on a quiet machine


def test_a_range_around_zero_starts_beside_it_where_a_slope_is_seen():
    e = torch.explore(lambda w: w * w, w=(-3, 3))
    assert e.values == {"w": 1.2} and e.slopes == {"w": pytest.approx(2.4)}
    assert e.storyboard.steps[e.storyboard.start].caption == e.sentence
    assert torch.explore(lambda w: w * w, w=(-3, 5)).values == {"w": 1.0}


def test_a_negative_zero_is_a_zero():
    e = torch.explore(lambda x, w: -(x * w) * 2.0, x=2.0, w=(-3, 3))
    e.move(w=0.0)
    board = e.board()
    said = [line for box in board.scene.boxes.values() for line in box.lines]
    said += [arrow.label for arrow in board.scene.arrows.values()]
    assert "-0.0" not in e.sentence and not [line for line in said if "-0.0" in line or "−0.0" in line]


def test_no_number_lies_on_the_title_of_a_region():
    board = torch.explore(within_scopes, x=2.0, w=(-3, 3)).board()
    labels = [way.label for way in board.layout.arrows.values() if way.label.w]
    regions = [box for box in board.scene.boxes.values() if box.kind == "region"]
    assert labels and regions
    for region in regions:
        corner = board.layout.boxes[region.id]
        title = Rectangle(corner.x, corner.y, *heading_size(region.title))
        assert not any(label.meets(title) for label in labels), region.title


@pytest.mark.parametrize("message", [None, 3, "x", [], {}, {"move": None}, {"move": 3}, {"move": ["x"]}])
def test_a_message_that_moves_nothing_is_not_heard(message: Any) -> None:
    found = torch.explore(FUNCTIONS["square"], x=2.0, w=(-3, 3))
    view = ExplorationView(found)
    before = view._now()
    view._asked(view, message, [])
    assert view._now() == before


@pytest.mark.parametrize(
    ("move", "said"),
    [
        ({"self": 1}, "There is no slider for self; there are sliders for x and w."),
        ({"x": "0"}, "The slider of x goes from -2 to 6, but got '0'."),
        ({"x": math.nan}, "The slider of x goes from -2 to 6, but got nan."),
        ({"w": {}}, "The slider of w goes from -3 to 3, but got {}."),
    ],
)
def test_a_move_that_cannot_be_is_told_in_a_sentence(move: dict[str, Any], said: str) -> None:
    found = torch.explore(FUNCTIONS["square"], x=2.0, w=(-3, 3))
    view = ExplorationView(found)
    before = dict(found.values)
    view._asked(view, {"move": move}, [])
    assert view._now()["said"] == said and found.values == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["square", "sine", "cube", "root"])
def test_a_tangent_is_seen_wherever_the_slider_is(name: str) -> None:
    curves = {
        "square": lambda x: (x * 1.2 - 7.0) ** 2,
        "sine": lambda x: (9 * x).sin(),
        "cube": lambda x: x**3,
        "root": lambda x: (x + 3.0).sqrt(),  # of no finite slope where it begins
    }
    found = torch.explore(curves[name], x=(-3, 6))
    slider = found.inputs["x"]
    for nth in range(101):
        found.move(x=min(slider.high, slider.low + slider.step * nth))
        plot = found.board().scene.boxes["plot"].plot
        (x, y), (u, v) = plot.tangent
        assert math.hypot(u - x, v - y) > 0.2
        assert all(-0.05 < each < 1.05 for each in (x, y, u, v))
