"""Events: listeners are told what happens, cannot break the engine, and tags outlive what they name."""

from __future__ import annotations

import gc
import warnings

import pytest

import workbench as torch
from workbench import events


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
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
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        (x * x).sum().backward()
    assert {each.category for each in warned} == {RuntimeWarning}
    assert str(warned[0].message) == "A listener lost the event 'created': it raised KeyError: 'my mistake'"
    assert x.grad.tolist() == [2.0, 4.0]
    kinds = [event[0] for event in heard]
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
