"""Numbers of the user's own over the picture of a graph: what they can be for, and how every form shows them."""

from __future__ import annotations

import math
import re

import absent
import numpy as np
import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.scene.model import Overlay
from workbench.pictures.scene.svg import to_svg


def recorded():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    x = torch.ones(5, 3)
    with torch.record() as trace:
        h = net(x)
        loss = h.pow(2).mean()
        loss.backward()
    return trace, net, h, loss


def tinted(board):
    return {box.title: box.tint for box in board.scene.boxes.values() if box.tint is not None and box.kind != "group"}


def test_keys_are_names_tensors_and_nodes():
    trace, net, h, loss = recorded()
    overlay = {"net.0.weight": 1.0, net[0].bias: 2, h: torch.tensor(3.0), loss.grad_fn: np.float32(4)}
    board = trace.show(overlay=overlay).storyboard
    assert tinted(board) == {"net.0.weight": 0, "net.0.bias": 1, "h = addmm": 2, "loss = h.pow(2).mean()": 3}
    assert [(title, number) for title, _, number in board.overlay.rows] == [
        ("net.0.bias", 2.0), ("h = addmm", 3.0), ("loss = h.pow(2).mean()", 4.0), ("net.0.weight", 1.0)
    ]  # fmt: skip
    assert "net.2.weight" in tinted(trace.show(overlay={"2.weight": 1}).storyboard)
    leafs = loss.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0]
    assert tinted(trace.show(overlay={leafs: 1}).storyboard) == {"net.2.bias": 2}


def test_a_closed_group_has_the_largest_number_in_it_at_every_step():
    trace, net, *_ = recorded()
    board = trace.show(overlay={"net.0.weight": 0.5, net[0].bias: -3}, depth=1).storyboard
    (group,) = [box for box in board.scene.boxes.values() if box.title == "0 › Linear"]
    assert group.tint == -3
    for k in range(len(board.steps)):
        assert "overlay up to -3 (2 inside)" in board.at(k).boxes[group.id].lines
    opened = trace.show(overlay={"net.0.weight": 0.5, net[0].bias: -3}, depth=3).storyboard
    assert all(box.tint is None for box in opened.at().boxes.values() if box.kind == "region")
    assert "overlay 0.5" in next(b for b in opened.at().boxes.values() if b.title == "net.0.weight").lines


@pytest.mark.parametrize(
    ("numbers", "tints", "said"),
    [
        ((1, 2, 3, 4), [0, 1, 2, 3], "from 1 to 4; a stronger color is more."),
        ((-1, -2, -3, -4), [0, -1, -2, -3], "from -4 to -1; a stronger color is less."),
        ((-2, 0, 1, 4), [-2, 0, 1, 3], "from -2 to 4; 0 has no color."),
        ((0.01, 0.1, 10, 100), [0, 1, 3, 3], "from 0.01 to 100 on a logarithmic scale; a stronger color is more."),
        ((5, 5, 5, 5), [2, 2, 2, 2], "from 5 to 5; a stronger color is more."),
        ((0, 0, 0, 0), [2, 2, 2, 2], "from 0 to 0; a stronger color is more."),
        ((math.nan, math.inf, -math.inf, 1), ["odd", "odd", "odd", 2], "from 1 to 1; a stronger color is more."),
        ((math.nan, math.nan, math.inf, math.nan), ["odd"] * 4, "no number is finite."),
        ((-1e308, 1e308, 0, 5e-324), [-3, 3, 0, 0], "from -1e+308 to 1e+308; 0 has no color."),
        (
            (1e-308, 1e308, 1, 2),
            [0, 3, 2, 2],
            "from 1e-308 to 1e+308 on a logarithmic scale; a stronger color is more.",
        ),
    ],
)
def test_the_scale_goes_from_the_lowest_number_to_the_highest(numbers, tints, said):
    trace, *_ = recorded()
    names = ("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")
    picture = trace.show(overlay=dict(zip(names, numbers, strict=True)))
    overlay = picture.storyboard.overlay
    assert [overlay.tint(number) for number in numbers] == tints
    assert f"Overlay: {said}" in repr(picture)


def test_text_and_stills_tell_the_numbers_and_have_a_key():
    trace, *_ = recorded()
    picture = trace.show(overlay={"net.0.weight": -1.5, "net.0.bias": 2, "x": math.nan}, depth=3)
    text = repr(picture)
    assert re.search(r"x \(constant\): .*overlay nan", text)
    assert text.index("  nan  x") < text.index("  2  net.0.bias") < text.index("  -1.5  net.0.weight")
    for theme in ("light", "dark", "print"):
        svg = to_svg(picture.storyboard, theme=theme)
        assert "wb-shade-own-3" in svg and "wb-shade-own-odd" in svg and svg.count('<rect class="wb-key-own-') == 7
        assert ">-2</text>" in svg and ">2</text>" in svg  # the scale goes as far both ways
        assert "var(" not in svg
    assert "own-" not in to_svg(trace.show().storyboard)


def test_the_other_view_of_the_graph_has_it_too_and_no_other():
    trace, *_ = recorded()
    tabs = trace.show(overlay={"net.0.weight": 1}).storyboard.tabs
    assert tabs["flow"].story.overlay is not None and tabs["memory"].story.overlay is None
    with pytest.raises(TypeError, match="View 'memory' has no option 'overlay'."):
        trace.show("memory", overlay={"net.0.weight": 1})


def test_a_training_run_and_a_graph_that_nobody_recorded_have_overlays():
    trace, net, _, loss = recorded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.record() as run:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(5, 3)).pow(2).mean().backward()
            optimizer.step()
    assert "net.0.weight" in tinted(run.show(overlay={net[0].weight: 1}).storyboard)
    v = torch.ones(2, requires_grad=True)
    square = v * v
    shown = torch.show(square.sum(), overlay={v: 1, square: 2, "square": 3})
    assert tinted(shown.storyboard) == {"v": 0, "square = v * v": 3}


@pytest.mark.parametrize(
    ("overlay", "error", "said"),
    [
        ({"net.0.wieght": 1}, ValueError, "Nothing .* named 'net.0.wieght'.* Did you mean 'net.0.weight'"),
        ({"qqqqqqqq": 1}, ValueError, "It has: "),
        ({"bias": 1}, ValueError, "Several names .* end with 'bias'.*: net.0.bias and net.2.bias"),
        ({}, ValueError, "no numbers"),
        ([1], TypeError, "Expected a dict .* got list"),
        ({"x": "0.5"}, TypeError, "The overlay has str for 'x'"),
        ({"x": True}, TypeError, "The overlay has bool for 'x'"),
        ({"x": None}, TypeError, "The overlay has NoneType for 'x'"),
        ({"x": np.ones(2)}, TypeError, "The overlay has ndarray for 'x'"),
        ({3: 1}, TypeError, "a key of type int"),
    ],
)
def test_what_is_no_overlay_is_refused_with_a_hint(overlay, error, said):
    trace, *_ = recorded()
    with pytest.raises(error, match=said):
        trace.show(overlay=overlay)


def test_a_tensor_of_another_program_and_a_loaded_trace_say_what_to_do(tmp_path):
    trace, net, *_ = recorded()
    with pytest.raises(ValueError, match="a key that isn't in this picture: a Tensor"):
        trace.show(overlay={torch.ones(3): 1})
    trace.save(tmp_path / "trace.json")
    loaded = type(trace).load(tmp_path / "trace.json")
    with pytest.raises(TypeError, match="Use names as keys"):
        loaded.show(overlay={net[0].weight: 1})
    assert "net.0.weight" in tinted(loaded.show(overlay={"net.0.weight": 1}).storyboard)


def test_a_page_gets_the_rows_and_what_is_not_finite_as_a_word():
    trace, *_ = recorded()
    told = trace.show(overlay={"net.0.weight": 1, "x": -math.inf}).storyboard.to_dict()
    rows = {row[0]: row[2:] for row in told["overlay"]["rows"]}
    assert rows == {"net.0.weight": [1.0, "1", 2], "x": ["-inf", "-inf", "odd"]}
    assert {box.get("shade") for box in told["boxes"]} >= {"own-2", "own-odd"}
    assert "overlay" not in trace.show().storyboard.to_dict()


@pytest.mark.oracle
def test_a_recording_of_pytorch_takes_its_tensors_and_nodes():
    import_torch = pytest.importorskip("torch", reason=absent.TORCH)
    import workbench

    layer = import_torch.nn.Linear(3, 1)
    with workbench.record(import_torch) as trace:
        loss = layer(import_torch.ones(2, 3)).pow(2).mean()
        loss.backward()
    found = tinted(trace.show(overlay={layer.weight: 1, loss.grad_fn: 5, "layer.bias": 3}).storyboard)
    assert found["layer.weight"] == 0 and found["layer.bias"] == 2 and 3 in found.values()


def test_no_number_is_colored_beyond_the_scale():
    overlay = Overlay((), 1.0, 4.0)
    assert [overlay.tint(number) for number in (1.0, 1.74, 1.75, 3.99, 4.0)] == [0, 0, 1, 3, 3]
