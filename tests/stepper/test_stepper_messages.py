"""What the browser is told of a stepper, message by message: nothing is missing, nothing untrue."""

from __future__ import annotations

import math
from typing import Any

import pytest
from stepped import Browser, browsed, fork, line

import workbench as torch
from workbench.pictures.views.stepper_picture import Stage, shown


def test_a_second_showing_brings_the_first_up_to_date() -> None:
    browser, _, _, s = browsed(line)
    browser.view._last = float("inf")  # as if code had been quick
    s.run().back(2)
    assert browser.heard == []
    shown(s)
    assert browser.status["position"] == 5 and browser.lines("w") == ["1.0"]
    drawn = Stage(s).board().to_dict()["boxes"]
    fresh = {box["title"]: (box["state"], box["lines"]) for box in drawn if box["kind"] != "saved"}
    now = {box["title"]: (box["state"], box["lines"]) for box in browser.boxes.values() if box["kind"] != "saved"}
    assert now == fresh


def test_who_comes_later_takes_nothing_from_those_who_are_there() -> None:
    browser, _, s = browsed(fork)
    browser.view._last = float("inf")
    s.step()
    late = browser.view.get_state()["shown"]
    assert late["status"]["position"] == browser.status["position"] == 1
    assert browser.states()["MulBackward0"] == "ready"


def test_of_many_differences_a_few_are_told() -> None:
    h = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(120):
        h = h * 1.05
    s = torch.step(h).run()
    browser = Browser(s)
    s.back(s.position).edit(s.current, 0, 2.0).run()
    browser.view.update()
    assert len(browser.status["differs"]["rows"]) == 100 and len(browser.status["marks"]["differs"]) == 121
    assert browser.status["differs"]["told"].endswith("the first 100 of 121 differences are listed.")
    assert repr(s).endswith("differs: and 116 more")
    assert x.grad.item() == pytest.approx(2 * 1.05**120, rel=1e-4)


NUMBER = "Choose which output's gradient to change, by its number, not"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"do": "breakpoint"}, "Select a node of this backward pass first."),
        ({"do": "watch"}, "Select a node of this backward pass first."),
        ({"do": "watch", "id": ["n1"]}, "Select a node of this backward pass first."),
        ({"do": "edit"}, "Select a node of this backward pass first."),
        ({"do": "edit", "id": "no such box", "nr": 0, "text": "1"}, "Select a node of this backward pass first."),
        ({"do": "edit", "id": "MEAN"}, f"{NUMBER} None."),
        ({"do": "edit", "id": "MEAN", "nr": ""}, f"{NUMBER} ''."),
        ({"do": "edit", "id": "MEAN", "nr": [0]}, f"{NUMBER} [0]."),
        ({"do": "edit", "id": "MEAN", "nr": math.inf}, f"{NUMBER} inf."),
        ({"do": "switch"}, "No branch named ''. Branches: main."),
        ({"do": "switch", "text": "-1"}, "No branch named '-1'. Branches: main."),
        ({"do": "switch", "text": {}}, "No branch named '{}'. Branches: main."),
        ({"do": ["run"]}, ""),
        ({"do": "no such thing"}, ""),
        ({}, ""),
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing_and_is_told_in_a_sentence(
    message: dict[str, Any], said: str
) -> None:
    browser, _, _, s = browsed(line)
    before = browser.status | {"answered": 1}
    told = {name: browser.id("MeanBackward0") if each == "MEAN" else each for name, each in message.items()}
    browser.view._asked(browser.view, told, [])
    assert browser.status == before | {"said": said}


@pytest.mark.parametrize("message", [None, [], "run", 1, [{"do": "run"}]])
def test_what_is_no_message_is_not_heard(message: Any) -> None:
    browser, _, _, s = browsed(line)
    browser.view._asked(browser.view, message, [])
    assert browser.heard == [] and s.position == 0


def test_what_is_answered_is_not_as_long_as_what_was_sent() -> None:
    _, _, s = line()
    assert len(Browser(s).ask("until", text="x" * 100_000)["said"]) == 2000


def test_a_page_changes_nothing_that_is_pythons() -> None:
    _, _, s = line()
    view = Browser(s).view
    before = view.get_state(["place", "_esm"])
    for state in ({"place": "elsewhere", "_esm": "", "shown": {}}, {"shown": 5}, None, []):
        view.set_state(state)
    assert view.get_state(["place", "_esm"]) == before and view.shown == {}
    assert view.whole()["status"]["count"] == 7
