"""Scopes in a trace, and graphs whose parts are collapsed into boxes that open."""

from __future__ import annotations

import json

import workbench as torch
from workbench.recording import Trace
from workbench.trace.building import NodeCreated


def two_layers():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("layer1"):
            h = (x * w).sin()
            with torch.scope("norm"):
                h = h - 0.5
        with torch.scope("layer2"):
            out = h.exp()
        loss = out.sum()
        loss.backward()
    return trace


def scopes(trace):
    return [event.scope for event in trace.events if isinstance(event, NodeCreated)]


def test_a_trace_knows_the_scope_of_each_node() -> None:
    assert scopes(two_layers()) == ["layer1", "layer1", "layer1/norm", "layer2", None]


def test_scopes_are_saved_and_older_files_without_them_load() -> None:
    trace = two_layers()
    data = json.loads(trace.to_json())
    assert scopes(Trace.from_dict(data)) == scopes(trace)
    for event in data["events"]:
        event.pop("scope", None)
    assert set(scopes(Trace.from_dict(data))) == {None}


def test_what_was_there_before_anybody_listened_has_its_scope() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with torch.scope("early"):
        y = x * 2.0
    with torch.record() as trace:
        y.backward()
    assert scopes(trace) == ["early"]


def test_captions_say_in_which_scope_something_happens() -> None:
    captions = [step.caption for step in two_layers().show().storyboard.steps]
    assert captions[0].startswith("In layer1: mul(x, w) gives ")
    assert captions[2].startswith("In layer1/norm: sub(")
    assert captions[4].startswith("sum(")
    assert any(caption.startswith("In layer2: ExpBackward0 receives") for caption in captions)
