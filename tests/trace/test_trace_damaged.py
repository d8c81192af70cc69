"""A trace that was damaged on its way is refused with a sentence, or every view can draw it."""

from __future__ import annotations

import copy
import functools
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trace_samples as samples
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from program_seeds import BASE
from test_view_function import recorded, scaled
from view_names import ALONE

import workbench as torch
from workbench.pictures.recording import Trace, load, record
from workbench.utils.checkpoint import checkpoint


def transforms() -> Trace:
    with record() as trace:
        torch.func.vmap(torch.func.grad(lambda x: (x * x).sin().sum()))(torch.ones(2, 3))
        torch.func.jvp(lambda x: x.sin() * x, (torch.ones(2),), (torch.ones(2),))
    return trace


def checkpointed() -> Trace:
    with record() as trace:
        checkpoint(lambda t: t.sin().exp(), samples.leaf(1.0, 2.0), use_reentrant=False).sum().backward()
    return trace


def through_a_view() -> Trace:
    with record() as trace:
        w = torch.ones(2, 2, requires_grad=True)
        h = w * 1.0
        h[0].mul_(10)
        h.sum().backward()
    return trace


def lines() -> Trace:
    return recorded(scaled)


PROGRAMS = (*samples.PROGRAMS, transforms, checkpointed, through_a_view, lines)
GARBAGE = [None, -1, 0, 3, 10**9, 10**30, 3.5, True, "", "x", "n1", "n99", "t1", "t99", "l1", "nan", [], [[]], {}]


@functools.cache
def whole(program: Any) -> str:
    return program().to_json()


def places(data: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything in a trace's events."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [found for key, value in items for found in ((*way, key), *places(value, (*way, key)))]


def at(data: Any, way: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda part, key: part[key], way, data)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A trace with a few fields deleted, garbled, exchanged, or repeated elsewhere."""
    data = json.loads(whole(draw(st.sampled_from(PROGRAMS))))
    for _ in range(draw(st.integers(1, 3))):
        ways = [*places(data["events"], ("events",)), *places(data["parts"], ("parts",))]
        if not ways:
            break
        way = draw(st.sampled_from(ways))
        holder, key = at(data, way[:-1]), way[-1]
        what = draw(st.sampled_from(["delete", "garble", "copy", "like", "like"]))
        if what == "delete":
            del holder[key]
        elif what == "garble":
            holder[key] = copy.deepcopy(draw(st.sampled_from(GARBAGE)))  # which the next change may be made in
        else:  # something from elsewhere: of the same type it is more likely to be taken for sound
            other = [each for each in ways if what == "copy" or type(at(data, each)) is type(holder[key])]
            holder[key] = copy.deepcopy(at(data, draw(st.sampled_from(other))))
    return data


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What takes longer fails, where the system can interrupt it."""

    def stop(*_: Any) -> None:
        raise AssertionError(f"This takes more than {seconds} seconds.")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # of work: another process may have the processor meanwhile
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def refused_or_drawn(data: dict[str, Any]) -> None:
    with at_most(30):
        try:
            trace = Trace.from_dict(data)
        except ValueError as refusal:
            assert str(refusal).endswith(".") and "\n" not in str(refusal)
            return
        for view in ALONE:
            picture = trace.show(view)
            assert str(picture)
            json.dumps(picture.storyboard.to_dict(), allow_nan=False)


@settings(suppress_health_check=list(HealthCheck))
@given(damaged())
def test_a_damaged_trace_is_refused_or_every_view_draws_it(data):
    refused_or_drawn(data)


@pytest.mark.slow
@settings(deadline=None, max_examples=1_000, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_many_damaged_traces_are_refused_or_every_view_draws_them(data):
    refused_or_drawn(data)


@pytest.mark.scheduled
@seed(BASE)
@settings(deadline=None, max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_any_damaged_trace_is_refused_or_every_view_draws_it(data):
    refused_or_drawn(data)


def test_an_operation_that_stands_above_itself_is_refused():
    data, ran = _events(transforms, "OperationRan")
    below = {seen.get("below") for event in data["events"] for seen in event.get("tensors", ())}
    own = next(each for each in ran if each["tensors"] and not below.intersection(each["outputs"]))
    own["tensors"].append(own["tensors"][0] | {"id": "t99", "below": own["outputs"][0]})
    own["outputs"].append("t99")
    with at_most(10), pytest.raises(ValueError, match=f"'{own['op']}' below itself"):
        Trace.from_dict(data)


def test_a_tensor_with_the_id_of_a_node_is_refused():
    data, made = _events(PROGRAMS[0], "NodeCreated")
    made[-1]["tensors"][-1]["id"] = made[0]["node"]
    with pytest.raises(ValueError, match=f"uses the id {made[0]['node']!r} for a node and for a tensor"):
        Trace.from_dict(data)


def test_a_part_of_another_kind_with_a_variable_is_drawn():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    with record() as trace:
        (net(torch.ones(2)) * 2).sum().backward()
    data = trace.to_dict()
    for row in data["parts"]:
        row[4:] = ["net"]
    assert str(Trace.from_dict(data).show())


def with_events_lost(program: Any, lost: Any) -> Trace:
    data = json.loads(whole(program))
    data["events"] = [event for at, event in enumerate(data["events"]) if not lost(at)]
    return Trace.from_dict(data)


def every_question(trace: Trace) -> str:
    """Ask a trace whatever can be asked of it; what it says of its health."""
    for view in ALONE:
        json.dumps(trace.show(view).storyboard.to_dict(), allow_nan=False)
    for tensor in trace.frame(len(trace.events)).tensors.values():
        if tensor.name is not None and tensor.name.isidentifier():
            assert str(trace.why(tensor.name))
    assert Trace.from_dict(trace.to_dict()).to_json() == trace.to_json()
    return str(trace.findings())


@given(st.sampled_from(PROGRAMS), st.sets(st.integers(0, 60), min_size=1, max_size=20))
def test_events_that_were_lost_cost_no_others(program, lost):
    every_question(with_events_lost(program, lost.__contains__))


@pytest.mark.slow
@settings(deadline=None, max_examples=500, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PROGRAMS), st.randoms(use_true_random=False), st.sampled_from([0.05, 0.2, 0.6]))
def test_any_events_may_be_lost(program, draws, share):
    every_question(with_events_lost(program, lambda at: draws.random() < share))


def test_how_many_events_are_missing_is_said_once():
    data, (made, *_) = _events(samples.twice, "NodeCreated")
    data["events"].remove(made)
    trace = Trace.from_dict(data)
    lost = sum(type(event).__name__ == "EventLost" for event in trace.events)
    assert lost > 1
    assert every_question(trace).count(f"{lost} events of this recording are missing") == 1
    captions = [step.caption for step in trace.show().storyboard.steps]
    assert " ".join(captions).count(f"{lost} events of this recording are missing") == 1
    assert "missing" not in every_question(Trace.from_dict(json.loads(whole(samples.twice))))


@pytest.mark.parametrize(
    ("kind", "damage", "left"),
    [
        ("NodeFinished", lambda event: event.update(node="n77"), "EventLost"),
        ("BackwardStarted", lambda event: event.update(roots=[]), "EventLost"),
        ("NodeCreated", lambda event: event["args"][0].update(tensor="t77"), "NodeCreated"),
        ("NodeCreated", lambda event: event.update(pushing="l7"), "NodeCreated"),
    ],
)
def test_what_an_event_says_of_the_unknown_is_left_out(kind, damage, left):
    data, (first, *_) = _events(samples.twice, kind)
    at = data["events"].index(first)
    damage(first)
    trace = Trace.from_dict(data)
    assert type(trace.events[at]).__name__ == left
    every_question(trace)


def _with_numbers(data: Any, number: float, every: int, count: list[int]) -> Any:
    """Return the same with one of so many of its floating-point numbers replaced."""
    if isinstance(data, dict):
        return {key: _with_numbers(each, number, every, count) for key, each in data.items()}
    if isinstance(data, list):
        return [_with_numbers(each, number, every, count) for each in data]
    count[0] += isinstance(data, float)
    return number if isinstance(data, float) and count[0] % every == 0 else data


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("number", [1e308, 5e-324, 0.0])
def test_absurd_numbers_are_drawn(number: float, every: int) -> None:
    for program in PROGRAMS:
        trace = Trace.from_dict(_with_numbers(json.loads(whole(program)), number, every, [0]))
        every_question(trace)
        for view in ALONE:
            str(trace.show(view))


def _events(program, kind):
    data = json.loads(whole(program))
    return data, [event for event in data["events"] if event["kind"] == kind]


def below_itself(made):
    tensor = next(each for each in made["tensors"] if each.get("below"))
    tensor["below"] = tensor["id"]


# What was reported once: a program, the kind of its first event that is changed, how, and what is said then.
REPORTED = [
    (transforms, "NodeCreated", below_itself, r"puts 't\d+' below itself."),
    (transforms, "OperationRan", lambda e: e.update(outputs=[]), "has no outputs."),
    (samples.one_target, "GradCaptured", lambda e: e.update(output_nr=10**9), "has a wrong GradCaptured.output_nr."),
    (samples.twice, "BackwardStarted", lambda e: seed_of(e).update(norm=-1.0), "has a value without a norm."),
    (
        samples.twice,
        "BackwardStarted",
        lambda e: seed_of(e).update(values=[10**30]),
        r"has a wrong BackwardStarted.roots\[0\].seed.values\[0\].",
    ),
    (lines, "MethodCalled", lambda e: e.update(method="sideways"), "has the unknown method 'sideways'."),
]


def seed_of(started):
    return started["roots"][0]["seed"]


def refused(data, path, said):
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=rf"^Event \d+ of this trace {said}$"):
        load(path)


@pytest.mark.parametrize(("program", "kind", "change", "said"), REPORTED)
def test_what_was_reported_is_refused_with_a_sentence(program, kind, change, said, tmp_path):
    data, (event, *_) = _events(program, kind)
    change(event)
    refused(data, tmp_path / "damaged.json", said)


def test_a_node_that_is_made_again_is_refused(tmp_path):
    data, (made, *_) = _events(samples.twice, "NodeCreated")
    data["events"].insert(1, made)
    refused(data, tmp_path / "damaged.json", "creates 'n1' a second time.")


def test_views_of_what_nobody_has_seen_are_drawn_as_those_of_the_first():
    data = json.loads(whole(through_a_view))
    for event in data["events"]:
        for seen in event.get("tensors", ()):
            seen["base"] = "t77" if seen.get("base") else None
    trace = Trace.from_dict(data)
    for view in ALONE:
        assert str(trace.show(view))
