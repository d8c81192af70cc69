"""What the browser is told of a stepper, message by message: nothing is missing, nothing untrue."""

from __future__ import annotations

import math
from typing import Any

import pytest
from made_functions import function, raising
from stepped import Browser, browsed, fork, line

import workbench as torch
from workbench.views.stepper_picture import Stage, shown


def test_a_warning_is_sent_when_it_comes() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    square = x * x
    square.register_hook(lambda grad: print(grad))
    s = torch.step(square.sin().sum())
    browser = Browser(s)
    browser.ask("run")
    s.back(s.position)
    browser.view.update()
    assert browser.status["warnings"] == s.warnings != []
    assert [news["status"]["warnings"] for news in browser.heard if "warnings" in news["status"]] == [s.warnings]


def test_a_second_showing_brings_the_first_up_to_date() -> None:
    browser, _, _, s = browsed(line)
    browser.view._last = float("inf")  # as if code had been quick
    s.run().back(2)
    assert browser.heard == []
    shown(s)
    assert browser.status["position"] == 5 and browser.lines("w")[-1] == "no gradient yet"
    fresh = {box.title: (box.state, list(box.lines)) for box in Stage(s).scene.boxes.values() if box.kind != "saved"}
    now = {box["title"]: (box["state"], box["lines"]) for box in browser.boxes.values() if box["kind"] != "saved"}
    assert now == fresh


def test_who_comes_later_takes_nothing_from_those_who_are_there() -> None:
    browser, _, s = browsed(fork)
    browser.view._last = float("inf")
    s.step()
    late = browser.view.get_state()["shown"]
    assert late["status"]["position"] == browser.status["position"] == 1
    assert browser.states()["MulBackward0"] == "ready"


def test_leaves_are_places_by_the_names_that_the_picture_has() -> None:
    browser, _, b, s = browsed(line)
    assert {"b", "w"} < set(browser.status["operations"])
    assert browser.ask("until", text="b")["said"] == ""
    assert browser.status["called"] == "b"
    assert browser.status["sentence"].endswith("Stopped: b.")
    assert s.current.variable is b


def test_a_changed_gradient_is_marked_for_as_long_as_its_branch_is_shown() -> None:
    browser, _, b, s = browsed(line)
    browser.ask("until", text="b")
    browser.ask("edit", id=browser.id("b"), nr=0, text="0.5")
    assert browser.lines("b")[-1] == "changed to 0.5, was -5.0"
    browser.ask("run")
    assert browser.lines("b")[-2:] == ["grad 0.5", "changed to 0.5, was -5.0"]
    box = next(box for box in browser.boxes.values() if box["title"] == "b")
    assert box["details"][-1]["body"] == "The gradient for output 0 changed to 0.5, was -5.0."
    assert box["alt"].endswith("changed to 0.5, was -5.0; done")
    while s.position > 4:
        browser.ask("back")
    browser.ask("run")
    assert s.branch.name == "branch 1" and browser.lines("b")[-1] == "grad -5.0, 0.5 on main"
    assert b.grad.item() == -5.0
    browser.ask("switch", text="0")
    assert browser.lines("b")[-1] == "changed to 0.5, was -5.0"
    fresh = Stage(s).scene.boxes[browser.id("b")]
    assert list(fresh.lines) == browser.lines("b")


def test_a_changed_node_and_one_changed_while_more_was_to_come() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    s = torch.step(y * y + y)
    browser = Browser(s)
    s.step(1)
    s.edit(y, 0, 10.0)
    browser.view.update()
    (box,) = [id for id, box in browser.boxes.items() if box["lines"][-1] == "changed to 10.0, was 1.0"]
    browser.ask("step")
    assert browser.boxes[box]["alt"].endswith("waits: 22.0; changed to 10.0, was 1.0; ready to run")
    browser.ask("run")
    assert browser.boxes[box]["lines"][-1] == "changed to 10.0, was 1.0"
    assert x.grad.item() == 66.0


def test_what_differs_from_the_other_branch_is_said() -> None:
    browser, w, b, s = browsed(line)
    browser.ask("until", text="mul")
    browser.ask("edit", id=browser.id("MulBackward0"), nr=0, text="[0, 0]")
    alone = browser.ask("run")
    assert alone["differs"] == {"rows": [], "told": ""} and alone["marks"]["differs"] == []
    s.back(2).run()
    browser.view.update()
    mul = browser.id("MulBackward0")
    assert browser.status["differs"] == {
        "rows": [[mul, "MulBackward0", "[-2. -3.]", "[0. 0.]"], [browser.id("w"), "w", "-8.0", "0.0"]],
        "told": "Differs first at MulBackward0: [-2. -3.] here, [0. 0.] on main.",
        "beside": "main",
    }
    assert browser.status["marks"]["differs"] == [mul, browser.id("w")]
    assert "differs: first at MulBackward0: [-2. -3.] here, [0. 0.] on main\ndiffers: w: -8.0 here" in repr(s)
    told = browser.ask("switch", text="0")["differs"]
    assert browser.status["sentence"] == "This is main now, where 7 of 7 nodes have run."
    assert told["beside"] == "branch 1" and told["rows"][1][1:] == ["w", "0.0", "-8.0"]
    browser.ask("back")
    assert len(browser.status["differs"]["rows"]) == 1, "only what has run differs"
    browser.ask("back")
    assert browser.status["differs"]["told"] == "Nothing differs from branch 1 so far."


def test_each_box_shows_what_it_got_on_both_branches() -> None:
    browser, w, b, s = browsed(line)
    assert not any("main" in each for box in browser.boxes.values() for each in box["lines"])
    s.run()
    s.back(6)
    s.edit(s.current, 0, [1.0, 1.0])
    s.run()
    browser.view.update()
    assert browser.lines("PowBackward0")[-1] == "changed to [1. 1.], was [0.5 0.5]"
    assert browser.lines("SubBackward0")[-1] == "[-4. -6.], [-2. -3.] on main"
    assert browser.lines("w")[-1] == "grad -16.0, -8.0 on main"
    s.switch("main")
    browser.view.update()
    assert browser.lines("PowBackward0")[-1] == "[0.5 0.5], [1. 1.] on branch 1"
    assert browser.lines("b")[-1] == "grad -5.0, -10.0 on branch 1"
    s.back(4)
    browser.view.update()
    assert browser.lines("b")[-1] == "no gradient yet"
    assert browser.lines("MeanBackward0")[-1] == "got 1.0", "where both are the same, it is told once"


def test_a_difference_below_the_digits_that_are_told_is_told() -> None:
    a = torch.tensor(1.0, requires_grad=True)
    s = torch.step(a * 2).run()
    s.back(1).edit(a, 0, 2.00001).run()
    assert "differs: first at a: 2.0 here, 2.0 on main, 1e-05 apart" in repr(s)


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


def test_a_node_that_failed_has_not_run() -> None:
    Fails = function("Fails", lambda x: x * 2, raising(ZeroDivisionError("nothing to divide")))
    a = torch.tensor(2.0, requires_grad=True)
    s = torch.step(Fails.apply(a) * 3)
    browser = Browser(s)
    status = browser.ask("run")
    assert (status["ran"], status["position"], status["count"]) == (1, 2, 3)
    assert status["sentence"] == (
        "1 node ran; FailsBackward receives the gradient 3.0; FailsBackward fails with ZeroDivisionError: nothing to "
        "divide."
    )
    assert repr(s).splitlines()[:3] == [
        "Stepper on main: 1 of 3 nodes run",
        "ran:     MulBackward0",
        "failed:  FailsBackward raised ZeroDivisionError: nothing to divide",
    ]
    assert repr(s.steps[-1]) == "<step 2: FailsBackward failed>"
    assert browser.ask("back")["sentence"].startswith("Back to where 1 of 3 nodes have run")


def test_an_input_that_is_not_used_is_said_in_the_end() -> None:
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    s = torch.step(a * a, inputs=[a, b])
    browser = Browser(s)
    status = browser.ask("run")
    assert status["said"].startswith("RuntimeError: The differentiated Tensor at index 1 appears to not have been used")
    assert status["done"] and not status["failed"]


def test_long_gradients_that_differ_are_told_in_few_columns() -> None:
    a = torch.tensor([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], requires_grad=True)
    s = torch.step((a * 1.25).sum()).run()
    browser = Browser(s)
    s.back(1).edit(a, 0, a.detach()).run()
    browser.view.update()
    assert browser.status["differs"]["rows"] == [[browser.id("a"), "a", "[[1.5 2.5] … [5.5 6.5]]", "from 1.25 to 1.25"]]
    assert len(browser.status["differs"]["told"]) < 90


NUMBER = "Choose which output's gradient to change, by its number, not"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"do": "breakpoint"}, "Choose a node of this backward first."),
        ({"do": "watch"}, "Choose a node of this backward first."),
        ({"do": "watch", "id": ["n1"]}, "Choose a node of this backward first."),
        ({"do": "edit"}, "Choose a node of this backward first."),
        ({"do": "edit", "id": "no such box", "nr": 0, "text": "1"}, "Choose a node of this backward first."),
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


def test_guesses_that_are_no_list_are_none() -> None:
    browser, _, _, s = browsed(line)
    browser.ask("predict")
    assert browser.ask("step", guesses=3)["said"].startswith("Predict first") and s.position == 0


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
