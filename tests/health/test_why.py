"""`workbench.why`: each reason for a gradient that is None, zero, not finite or a sum, the same for both engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import absent
import pytest
from golden import check_golden
from oracle import torch
from why_cases import CASES, recorded

import workbench

ENGINES = [
    pytest.param(workbench, id="workbench"),
    pytest.param(torch, id="torch", marks=pytest.mark.skipif(torch is None, reason=absent.TORCH)),
]
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def made(engine):
    """A weight that something goes wrong with, another one, and data."""
    engine.manual_seed(0)
    w, v = engine.randn(3, 3, requires_grad=True), engine.randn(3, requires_grad=True)
    return SimpleNamespace(w=w, v=v, x=engine.randn(4, 3))


@cache
def answered(engine, case):
    """Return the last verdict of a case, and all that its answers say."""
    engine.manual_seed(0)
    w, v = engine.randn(3, 3, requires_grad=True), engine.randn(3, requires_grad=True)
    answers = case(engine, w, v, engine.randn(4, 3))
    return answers[-1].verdict, "\n".join(map(repr, answers))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_reason_is_named(engine, case):
    wanted, names = CASES[case]
    verdict, text = answered(engine, case)
    assert verdict == wanted
    plain = text.replace("`", "")
    assert [name for name in names if name.replace("`", "") not in plain] == []


def test_reasons_are_worded_as_they_were():
    texts = {case.__name__: answered(workbench, case)[1] for case in CASES}
    check_golden(Path(__file__).parent / "golden" / "why.txt", texts)


def test_a_trace_that_was_loaded_is_asked_by_name(engine, made, tmp_path):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        h = engine.relu(x @ w)
        loss = (h.detach() * v).sum()
        loss.backward()
    trace.save(tmp_path / "trace.json")
    loaded = workbench.load(tmp_path / "trace.json")
    assert repr(loaded.why("w")) == repr(trace.why("w")) == repr(trace.why(w))
    with pytest.raises(TypeError, match="pass the name of the tensor"):
        loaded.why(w)
    with pytest.raises(ValueError, match=r"No tensor named 'q' in this trace. It has: .*w"):
        loaded.why("q")


def test_a_name_without_its_root_will_do_where_one_tensor_has_it(engine):
    net = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.Sequential(engine.nn.Linear(4, 1)))
    with recorded(engine) as trace:
        net(engine.ones(2, 3)).sum().backward()
    assert repr(trace.why("0.weight")) == repr(trace.why("net.0.weight"))
    assert repr(trace.why("1.0.weight")) == repr(trace.why("net.1.0.weight"))
    with pytest.raises(ValueError, match="names that end with 'weight': net.0.weight and net.1.0.weight. Give more"):
        trace.why("weight")
    with pytest.raises(ValueError, match="No tensor named '0.wieght' in this trace. Close names: net.0.weight"):
        trace.why("0.wieght")


def test_what_cannot_be_asked(engine, made):
    with pytest.raises(TypeError, match="why\\(\\) is asked about a tensor, but got float"):
        workbench.why(1.0)
    with pytest.raises(TypeError, match="with a tensor as loss, but got int"):
        workbench.why(made.w, 3)
    with recorded(engine) as trace:
        made.w.sum().backward()
    with pytest.raises(TypeError, match="about a tensor, or its name, but got list"):
        trace.why([])


def test_of_a_recording_of_the_last_events_what_was_let_go_is_told():
    w = workbench.ones(3, requires_grad=True)
    with workbench.record(last=60) as trace:
        for _ in range(60):
            (w * 2).sum().backward()
    why = trace.why(w)
    assert why.verdict == "sum" and why.sentences[2].startswith("It was added to [")


def test_a_line_of_a_loop_where_computations_end_is_told_once(engine):
    w = engine.ones(2, requires_grad=True)
    with workbench.record() if engine is workbench else workbench.record(engine) as trace:
        number = sum((w * each).sum().item() for each in range(1, 5))
        (number * engine.ones(1, requires_grad=True)).sum().backward()
    said = " ".join(str(trace.why(w)).split())
    assert said.count("The computation from `w` ends at") == 1 and said.count("(w * each).sum()`") == 1


def test_a_notebook_shows_the_way_and_keeps_the_sentences(engine, made, tmp_path):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        h = engine.relu(x @ w)
        loss = (h.detach() * v).sum()
        loss.backward()
    why = trace.why(w)
    told = why._repr_mimebundle_()
    assert told["text/plain"] == repr(why) and "text/html" in told
    scene = why.show().storyboard.at()
    assert [box.title for box in scene.boxes.values() if box.state == "error"] == ["h.detach() * v"]
    (cut,) = [arrow for arrow in scene.arrows.values() if arrow.kind == "cut"]
    assert scene.boxes[cut.source].title == "h = engine.relu(x @ w)" and cut.label.startswith("detach")
    why.save(tmp_path / "why.html")
    assert "no path from `loss` to `w`" in (tmp_path / "why.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_long_chain_is_no_recursion(engine):
    w = engine.ones(3, requires_grad=True)
    h = w
    for _ in range(5_000):
        h = h * 1.0
    loss = h.sum()
    why = workbench.why(w, loss)
    assert why.sentences[0].endswith("SumBackward0 → 5,000 × MulBackward0 → `w`.")
    assert "4,990 more nodes" in str(why.show())


@pytest.mark.scheduled
def test_a_hundred_thousand_nodes(engine):
    w = engine.ones(3, requires_grad=True)
    parts = [w]
    for _ in range(100):
        h = parts[-1]
        for _ in range(1_000):
            h = h * 1.0
        parts.append(h)
    loss = h.sum()
    assert workbench.why(w, loss).sentences[0].endswith("SumBackward0 → 100,000 × MulBackward0 → `w`.")
    del loss, h
    while parts:  # PyTorch overflows its stack where it lets go of a longer chain that Python has looked at
        parts.pop()
