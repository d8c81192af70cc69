"""What is asked of `show` and is not there is refused with a sentence that says what is; nothing else is changed."""

from __future__ import annotations

import gc
from functools import partial
from types import SimpleNamespace
from typing import get_args

import pytest
import trace_samples as samples
from view_names import ALONE

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.model import ArrowKind, BoxKind
from workbench.pictures.trace.timeline import Timeline
from workbench.pictures.views import VIEWS, View, storyboard

KNOWN = sorted(VIEWS)


@pytest.mark.parametrize(
    ("view", "options", "error", "sentence"),
    [
        ("grph", {}, ValueError, f"No view named 'grph'. Did you mean 'graph'? Views: {', '.join(KNOWN)}."),
        (["graph"], {}, ValueError, "No view named ['graph']. Views: "),
        ("graph", {"foo": 3}, TypeError, "View 'graph' has no option 'foo'. Options: 'open', 'depth', "),
        ("graph", {"dept": 1}, TypeError, "View 'graph' has no option 'dept'. Did you mean 'depth'? Options: "),
        ("graph", {"depth": -1}, TypeError, "Expected the number of levels to open, at least 0, as `depth`, but"),
        ("flow", {"against": 3}, TypeError, "View 'flow' has no option 'against'. Options: 'open', 'dep"),
        ("memory", {"open": []}, TypeError, "View 'memory' has no option 'open'. Options: 'against', "),
        ("saved", {"node": "n1"}, TypeError, "View 'saved' has no option 'node'. Options: 'step', "),
        ("error", {"line": ("f", 1)}, TypeError, "View 'error' has no option 'line'. Options: 'legend'."),
        ("memory", {"against": 3}, TypeError, "Expected a trace from record() or load() as `against`, but got int."),
        ("graph", {"open": 3}, TypeError, "Expected a list of group names as `open`, but got int."),
    ],
)
def test_what_is_not_there_is_refused_with_a_sentence(view, options, error, sentence):
    with pytest.raises(error) as refusal:
        samples.twice().show(view, **options)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize("view", ALONE)
def test_every_view_can_be_asked_for(view):
    assert str(samples.written().show(view))


@pytest.mark.parametrize("view", ALONE)
@pytest.mark.parametrize("program", [samples.square_line, samples.written, samples.twice])
def test_everything_in_a_picture_is_of_a_kind_that_there_is(view, program):
    board = storyboard(program(), view)
    for scene in (board.scene, board.at(len(board.steps) - 1)):
        assert {box.kind for box in scene.boxes.values()} <= {*get_args(BoxKind)}
        assert {arrow.kind for arrow in scene.arrows.values()} <= {*get_args(ArrowKind)}
        told = [detail for box in scene.boxes.values() for detail in box.details]
        assert {detail.kind for detail in told} <= {"code", "text", "value"}
        assert all(detail.heading and detail.body for detail in told)
        assert view == "saved" or all(detail.heading[0].isupper() for detail in told)  # its slots have the code's names
        assert all(box.title is not None and box.alt is not None for box in scene.boxes.values())


class _Growing:
    """A source of records that has one more whenever it is read, as when another thread lets nodes go."""

    def __init__(self, records):
        self._all, self._count = records, len(records) // 2

    def records(self):
        self._count += 1
        return self._all[: self._count]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("program", [samples.square_line, samples.written, samples.twice, samples.descent])
def test_a_picture_is_of_the_trace_as_it_was_when_it_was_asked_for(view, program):
    records = program().events

    def traces(grows):
        for _ in range(2 if VIEWS[view].compares else 1):
            source = _Growing(records)
            yield Timeline(source if grows else SimpleNamespace(records=partial(list, source.records())))

    def told(grows):
        first, *others = traces(grows)
        return storyboard(first, view, **dict(zip(["against"], others, strict=False)))

    grown, still = told(grows=True), told(grows=False)
    assert grown.scene == still.scene
    assert grown.steps == still.steps
    assert grown.start == still.start


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_collected_afterwards_as_it_was_before(on, monkeypatch):
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        samples.written().show()
        assert gc.isenabled() == on
        monkeypatch.setitem(VIEWS, "graph", View(lambda trace: 1 / 0))
        with pytest.raises(ZeroDivisionError):
            samples.written().show()
        assert gc.isenabled() == on
    finally:
        (gc.enable if was else gc.disable)()


class Doubled(torch.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_a_function_whose_lines_nobody_recorded_shows_its_code_and_how_to_play_it():
    with record() as trace:
        Doubled.apply(torch.ones(2, requires_grad=True))
    picture = trace.show("function")
    told = [box.alt or box.title for box in picture.storyboard.at().boxes.values()]
    assert told.index("Doubled.forward") < told.index("Doubled.backward") < told.index("    return grad * 2")
    hint = (
        "No line of Doubled was recorded: run it again inside `with record(lines=True) as trace:`, and "
        'show("function") plays it line by line.'
    )
    assert str(picture).count(hint) == 1 and "record(lines=True)" in picture.to_html()


def test_a_picture_of_nothing_is_a_sentence_and_never_blank():
    with record() as empty:
        torch.ones(2) * 2
    for view in ("graph", "flow", "memory", "saved", "versions", "function", "error"):
        board = storyboard(empty, view)
        words = " ".join(box.title for box in board.at().boxes.values())
        assert words == board.steps[0].caption and words.endswith("."), view
        assert str(empty.show(view)).count(words[:40]) == 1


def test_what_is_no_picture_prints_without_an_address():
    with record() as trace:
        (torch.ones(2, requires_grad=True) * 2).sum()
    assert repr(torch.live()) == (
        "<live: records nothing by itself; write `with workbench.live() as trace:` around the code>"
    )
    assert repr(trace) == f"<Trace of {len(trace.events)} events: show() plays it in 3 steps>"
    data = trace.to_dict()
    first = type(trace).from_dict(data | {"events": data["events"][:1]})
    assert repr(first) == "<Trace of 1 event: show() plays it in 1 step>"
    assert "0x" not in repr(torch.record())
