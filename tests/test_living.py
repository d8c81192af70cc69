"""A recording that is drawn as it grows: what the browser is sent, and what is left where there is none."""

from __future__ import annotations

import workbench as torch
from workbench.events import listeners
from workbench.widgets.growing import Growing


def test_a_growing_graph_sends_what_is_new() -> None:
    growing, sent = Growing(), []
    growing.send = sent.append
    w = torch.tensor(1.0, requires_grad=True)
    with torch.record() as trace:
        y = w * 2
        growing.grow(trace.show().storyboard)
        z = y.sin()
        growing.grow(trace.show().storyboard)
        z.backward()
        growing.grow(trace.show().storyboard)
    assert [len(news["picture"]["boxes"]) >= 1 for news in sent] == [True] * 3
    assert any("title" in fields for fields in sent[1]["picture"]["boxes"].values())
    whole = growing.get_state()["shown"]["picture"]
    titles = {box["title"]: box["state"] for box in whole["boxes"] if box["kind"] == "op"}
    assert titles == {"MulBackward0": "done", "SinBackward0": "done"}


def test_outside_a_notebook_live_only_records() -> None:
    w = torch.tensor(1.0, requires_grad=True)
    with torch.live() as trace:
        (w * 2).backward()
    with torch.record() as other:
        (w * 2).backward()
    assert repr(trace.show()).splitlines()[1:3] == repr(other.show()).splitlines()[1:3]
    assert listeners == []
