"""Events: listeners are told what happens, cannot break the engine, and tags outlive what they name."""

from __future__ import annotations

import ast
import gc
import inspect
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

import workbench as torch
from workbench import events
from workbench.pictures.trace.event_recorder import HEAR
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.frame import Key
from workbench.pictures.trace.schema import RECORDS, Record
from workbench.pictures.trace.timeline import Timeline
from workbench.pictures.views import storyboard


@pytest.fixture
def hear():
    """Put listeners in for one test."""
    added = []

    def listen(listener):
        events.listeners.append(listener)
        added.append(listener)
        return listener

    yield listen
    for listener in added:
        if listener in events.listeners:
            events.listeners.remove(listener)


def test_every_listener_is_told_in_order(hear):
    heard = []
    hear(lambda event: heard.append(("first", event)))
    hear(lambda event: heard.append(("second", event)))
    events.emit(("finished", 1))
    assert heard == [("first", ("finished", 1)), ("second", ("finished", 1))]


def test_nothing_is_said_where_the_last_listener_has_just_left():
    """As another thread's may, between the engine's look at the list and the telling."""
    assert not events.listeners
    with warnings.catch_warnings(action="error"):
        events.emit(("finished", 1))


def test_a_listener_may_leave_while_it_is_told(hear):
    heard = []

    def once(event):
        events.listeners.remove(once)
        heard.append("once")

    hear(once)
    hear(lambda event: heard.append("other"))
    events.emit(("finished", 1))
    events.emit(("finished", 2))
    assert heard == ["once", "other", "other"]


def test_a_listener_that_raises_loses_the_event_and_harms_nobody(hear):
    def breaks(event):
        raise KeyError("my mistake")

    hear(breaks)
    heard = []
    hear(heard.append)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True, action="always") as warned:
        (x * x).sum().backward()
    kinds = [event[0] for event in heard]
    assert {each.category for each in warned} == {RuntimeWarning}
    assert str(warned[0].message) == "A listener lost the event 'created': it raised KeyError: 'my mistake'"
    assert x.grad.tolist() == [2.0, 4.0]
    assert kinds[:3] == ["created", "created", "backward"] and kinds[-1] == "finished"


def test_a_tag_stays_and_is_never_given_again():
    x = torch.tensor(1.0)
    first = events.tag(x)
    assert events.tag(x) == first
    del x
    gc.collect()
    others = [torch.tensor(1.0) for _ in range(50)]
    tags = [events.tag(each) for each in others]
    assert len(set(tags)) == 50 and min(tags) > first


def test_what_the_engine_says_of_one_backward(hear):
    heard = []
    x = torch.tensor(3.0, requires_grad=True)
    hear(lambda event: heard.append(event[0]))
    (x * x).backward()
    assert heard == ["created", "backward", "run", "ran", "freed", "run", "accumulated", "finished"]


def test_what_the_engine_says_fits_the_schema():
    """Of each event as many fields are given as the schema has, but for those with a default."""
    found = set()
    for path in Path(events.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "emit":
                given = node.args[0]
                if isinstance(given, ast.Tuple) and isinstance(given.elts[0], ast.Constant):
                    fields = events.SCHEMA[given.elts[0].value]
                    least = len([name for name in fields.fields if not hasattr(fields, name)])
                    assert least <= len(given.elts) - 1 <= len(fields.fields), (path.name, given.elts[0].value)
                    found.add(given.elts[0].value)
    assert found == set(events.SCHEMA)


def test_a_recorder_takes_the_fields_of_the_schema():
    assert list(HEAR) == list(events.SCHEMA)
    for kind, fields in events.SCHEMA.items():
        asked = inspect.signature(HEAR[kind]).parameters
        assert tuple(asked)[1:] == fields.fields, kind
        may_be_left_out = {name for name in fields.fields if hasattr(fields, name)}
        assert {name for name, each in asked.items() if each.default is not each.empty} == may_be_left_out


def test_an_event_is_read_by_the_names_of_its_fields(hear):
    heard = []
    hear(lambda event: heard.append(events.read(event)))
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    (made,) = heard
    assert isinstance(made, events.Created)
    assert made.node is y.grad_fn
    assert made.outputs == (y,)


def test_a_record_that_says_nothing_else_is_drawn():
    """Its caption is its name and its node's, which is in focus; a file that does not know it is refused."""

    @dataclass(frozen=True, slots=True)
    class GradientScaled(Record):
        node: str

    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        (x * x).backward()
    (made,) = [event for event in trace.events if isinstance(event, NodeCreated)]
    picture = Timeline([*trace.events, GradientScaled(made.node)])
    assert "`x * x` (MulBackward0): gradient scaled" in str(storyboard(picture).steps[-1].caption)
    assert picture.frame(len(picture.events)).focus == Key("node", made.node)
    assert "GradientScaled" not in RECORDS
