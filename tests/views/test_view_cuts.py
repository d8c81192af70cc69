"""Where the way of a gradient ends although the data go on, the two sides are joined by an arrow with a mark."""

from __future__ import annotations

import json

import pytest

import workbench as torch
from workbench.pictures.recording import Trace, load
from workbench.pictures.scene.model import Arrow
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_dot, to_mermaid
from workbench.pictures.trace.cuts import Cuts, Way
from workbench.pictures.trace.facts import Cut


def leaf() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def detached() -> Trace:
    w, x = leaf(), torch.ones(2)
    with torch.record() as trace:
        h = w * x
        t = h.detach()
        loss = (t * w).sum()
        loss.backward()
    return trace


def cuts(trace: Trace, **options: object) -> list[tuple[str, str, str]]:
    """Of each arrow with a mark the boxes at its ends, by their titles, and its label's word."""
    scene = trace.show("graph", **options).storyboard.at()
    arrows = [arrow for arrow in scene.arrows.values() if arrow.kind == "cut" and arrow.state != "future"]
    return [(scene.boxes[a.source].title, scene.boxes[a.target].title, a.label.partition(",")[0]) for a in arrows]


def the_cut(trace: Trace) -> Arrow:
    (arrow,) = [a for a in trace.show().storyboard.at().arrows.values() if a.kind == "cut"]
    return arrow


def told(trace: Trace, name: str) -> Cut | None:
    seen = [each for event in trace.events for each in getattr(event, "tensors", ()) if each.name == name]
    return seen[-1].cut


def test_what_was_detached_is_joined_to_the_node_that_made_it():
    trace = detached()
    assert cuts(trace) == [("h = w * x", "t", "detach")]
    cut = told(trace, "t")
    assert cut is not None and cut.source is not None and cut.source.text == "t = h.detach()"
    arrow = the_cut(trace)
    assert arrow.label == f"detach, line {cut.source.line}"
    assert "no gradient flows back here: the path ends at detach (test_view_cuts.py, line" in arrow.note
    box = trace.show().storyboard.at().boxes[arrow.target]
    assert any("no gradient: detach" in line for line in box.lines)
    assert any(each.heading == "Cut" and "t = h.detach()" in each.body for each in box.details)


@pytest.mark.parametrize("opened", [None, []])
def test_the_flow_of_gradients_shows_where_it_is_cut_and_no_other_data(opened):
    trace = detached()
    scene = trace.show("flow", **({} if opened is None else {"open": opened})).storyboard.at()
    (arrow,) = [each for each in scene.arrows.values() if each.kind == "cut"]
    data = [box.title for box in scene.boxes.values() if box.kind == "constant"]
    assert (data, scene.boxes[arrow.target].title) == (["t"], "t")  # x is data too
    assert [scene.boxes[each.source].title for each in scene.arrows.values() if each.kind == "constant"] == ["t"]


def test_every_face_says_that_no_gradient_comes_back():
    picture = detached().show()
    assert "; cut off by detach, line " in str(picture)
    assert "A double bar marks where the gradient path is cut." in picture.storyboard.legend
    svg, dot = to_svg(picture.storyboard), to_dot(picture.storyboard)
    assert svg.count('class="wb-cut"') == svg.count('class="wb-gap"') == 1 and "wb-kind-cut" in svg
    assert "style=dotted" in dot and "detach, line" in dot and "detach, line" in to_mermaid(picture.storyboard)
    story = picture.storyboard.to_dict()
    (arrow,) = [each for each in story["arrows"] if each["kind"] == "cut"]
    assert "gradient path cut" in arrow["alt"]


def test_a_target_that_a_network_computes_is_joined_to_the_network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    with torch.record() as trace:
        with torch.no_grad():
            target = 0.9 * net(torch.ones(4, 2))
        loss = ((net(torch.zeros(4, 2)) - target) ** 2).mean()
        loss.backward()
    assert cuts(trace, open=[]) == [("net › Sequential", "target", "no_grad")]


def test_where_the_other_side_is_not_known_the_word_is_told_all_the_same():
    w = leaf()
    h = w * 3
    with torch.record() as trace:
        t = h.detach()
        loss = (t * w).sum()
        loss.backward()
    assert cuts(trace) == [] and "no gradient: detach" in str(trace.show())


def test_a_trace_from_a_file_has_the_cuts_and_an_older_one_none(tmp_path):
    trace = detached()
    trace.save(tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert str(load(tmp_path / "trace.json").show()) == str(trace.show())
    for event in data["events"]:
        for seen in event.get("tensors", ()):
            seen.pop("cut", None)
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    assert cuts(load(tmp_path / "old.json")) == []


def test_the_steps_of_a_film_are_not_joined_by_what_was_detached():
    w, h = leaf(), torch.zeros(2)
    with torch.record() as trace:
        for _ in range(4):
            h = h.detach()
            h = (w * h + 1).tanh()
            target = (h * 2).detach()
            loss = ((h - target) ** 2).sum()
            w.grad = None
            loss.backward()
    board = trace.show().storyboard
    assert [step.chapter for step in board.steps if step.chapter] == [f"step {n} of 4" for n in range(1, 5)]
    for step in range(1, 5):
        assert ("h * 2", "target", "detach") in cuts(trace, step=step)


def test_what_is_known_of_cuts_does_not_grow():
    cuts = Cuts()
    for tensor in range(2, 30_000):
        cuts.note("no_grad", [(1, Way(1, 0, True))], tensor)
    assert len(cuts.known) <= 10_000 and cuts.of(29_999, 0) and not cuts.of(2, 0)
