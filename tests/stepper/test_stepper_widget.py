"""The stepper in a notebook, on Python's side: what it shows, what it sends, what the browser may ask, and its end."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from made_functions import function, raising
from stepped import Browser, browsed, fork, line

import workbench as torch
from workbench.scene.displays import displays
from workbench.scene.labels import box_fields, first_row
from workbench.scene.text import graph_lines
from workbench.views.stepper_picture import Stage

VIEW = "application/vnd.jupyter.widget-view+json"


def test_a_notebook_gets_the_place_to_draw_in_with_an_image_in_it_and_the_text() -> None:
    _, s = fork()
    bundle = s._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(s)
    place = Browser(s).view.get_state()["place"]
    assert re.fullmatch("wb-live-[0-9a-f]{16}", place)
    assert bundle["text/html"].startswith(f'<div class="wb-live {place}"><img ')
    s.step()
    assert s._repr_mimebundle_()["text/html"].startswith(f'<div class="wb-live {place}"><img ')
    assert place not in fork()[1]._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("host", ["VS Code", "VS Code's kernel", "Colab"])
def test_where_a_page_knows_only_widgets_that_are_viewed_the_view_is_given_too(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    if host == "VS Code":
        shell = InteractiveShell.instance()
        monkeypatch.setitem(shell.user_ns, "__vsc_ipynb_file__", "lesson.ipynb")
    elif host == "Colab":
        monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    else:
        monkeypatch.setenv("VSCODE_PID", "1")
    _, s = fork()
    bundle, again = s._repr_mimebundle_(), s._repr_mimebundle_()
    InteractiveShell.clear_instance()
    assert bundle.keys() == {"text/plain", "text/html", VIEW}
    assert bundle["text/plain"] == repr(s) and "<img " in bundle["text/html"]
    assert bundle[VIEW]["model_id"] == again[VIEW]["model_id"]
    assert VIEW not in torch.show(fork()[0] * 2)._repr_mimebundle_()


def test_where_no_widget_is_an_image_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(displays, Stage, raising=False)
    _, s = fork()
    s.step()
    bundle = s._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "AddBackward0" in bundle["text/html"] and "running now" in bundle["text/html"]


def test_each_step_says_what_happened_and_marks_it() -> None:
    browser, a, s = browsed(fork)
    assert browser.status["sentence"] == "Backward starts at y with the gradient 1.0."
    assert browser.states() == {
        "y": "done",
        "AddBackward0": "ready",
        "MulBackward0": "idle",
        "MulBackward0, 2nd": "idle",
        "a": "idle",
    }
    browser.ask("step")
    assert browser.status["sentence"] == (
        "AddBackward0 receives the gradient 1.0; it sends 1.0 to MulBackward0 and 1.0 to MulBackward0, 2nd."
    )
    browser.ask("step")
    assert browser.lines("a")[-1] == "so far 3.0, 2 to come"
    browser.ask("run")
    assert browser.lines("a")[-1] == "grad 7.0"
    assert s.done and browser.status["done"] and a.grad.item() == 7.0
    assert set(browser.states().values()) == {"done"}


def test_only_what_changed_is_sent() -> None:
    browser, _, _, s = browsed(line)
    browser.ask("step")
    (news,) = browser.heard
    assert set(news["picture"]["boxes"]) == {browser.id("MeanBackward0"), browser.id("PowBackward0")}
    assert "operations" not in news["status"] and "count" not in news["status"]
    browser.ask("run")
    fresh = Stage(s)
    fresh.sentence = ""
    boxes = {id: (box.title, box.state) for id, box in fresh.scene.boxes.items()}
    assert {id: (box["title"], box["state"]) for id, box in browser.boxes.items()} == boxes


def test_what_code_does_is_seen_and_what_the_reader_does_is_there_for_code() -> None:
    browser, w, b, s = browsed(line)
    s.step()
    assert browser.status["position"] == 1
    browser.ask("run")
    assert s.done and w.grad.item() == -8.0
    browser.view._last = 0.0
    s.back(2)
    assert browser.status["position"] == 5
    assert w.grad is None and browser.lines("w")[-1] == "no gradient yet"
    assert browser.status["sentence"].startswith("Back to where 5 of 7 nodes have run")


@pytest.mark.slow
def test_a_thousand_quick_steps_are_not_a_thousand_messages() -> None:
    h = w = torch.tensor(1.0, requires_grad=True)
    for _ in range(300):
        h = h * 1.01
    s = torch.step(h)
    browser = Browser(s)
    while not s.done:
        s.step()
    browser.view.update()
    assert len(browser.heard) < 60
    assert browser.status["done"] and browser.lines("w")[-1].startswith("grad ") and w.grad is not None


def test_run_until_over_and_breakpoints() -> None:
    browser, _, _, s = browsed(line)
    places = ["accumulate_grad", "add", "mean", "mul", "pow", "sub", "b", "w"]
    assert browser.status["operations"] == [*places, "model", "not finite", "norm > 100", "norm < 1e-6"]
    assert browser.status["scopes"] == ["model"]
    browser.ask("until", text="mul")
    assert browser.status["called"] == "MulBackward0" and browser.status["sentence"].endswith("Stopped: mul.")
    browser.ask("back")
    browser.ask("breakpoint", id=browser.id("MulBackward0"))
    assert browser.status["marks"]["breakpoint"] == [browser.id("MulBackward0")]
    assert browser.status["stops"] == ["before MulBackward0"]
    browser.ask("run")
    assert browser.status["called"] == "MulBackward0"
    browser.ask("breakpoint", id=browser.id("MulBackward0"))
    assert s.breakpoints == [] and browser.status["marks"]["breakpoint"] == []
    browser.ask("over", text="model")
    assert browser.status["position"] == 6
    browser.ask("back")
    browser.ask("until", text="nothing")
    assert browser.status["said"].startswith("No node or scope named 'nothing' in this backward pass.")


def test_an_edit_makes_a_branch_and_branches_can_be_switched() -> None:
    browser, w, b, s = browsed(line)
    browser.ask("until", text="mul")
    browser.ask("edit", id=browser.id("MulBackward0"), nr=0, text="[0, 0]")
    assert browser.lines("MulBackward0")[-1] == "changed to [0. 0.], was [-2. -3.]"
    browser.ask("run")
    assert w.grad.item() == 0.0 and browser.status["branches"] == [["main", "7 steps"]]
    browser.ask("back")
    browser.ask("back")
    browser.ask("run")
    assert [name for name, _ in browser.status["branches"]] == ["main", "branch 1"]
    assert browser.status["branch"] == 1 and w.grad.item() == -8.0
    browser.ask("switch", text="0")
    assert browser.status["branch"] == 0 and w.grad.item() == 0.0
    s.switch("branch 1")
    assert w.grad.item() == -8.0 and s.done


def test_what_is_typed_wrongly_is_answered_with_a_sentence() -> None:
    browser, _, _, s = browsed(line)
    place = {"id": browser.id("MeanBackward0"), "nr": 0}
    assert browser.ask("edit", text="import os", **place)["said"].startswith("Type a number such as 0.5")
    assert "has shape [], but the new value has [2]" in browser.ask("edit", text="[1, 2]", **place)["said"]
    assert browser.ask("step")["said"] == ""


def test_predicting_hides_the_next_gradient_until_a_value_is_typed() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    s = torch.step(a * a)
    browser = Browser(s)
    browser.ask("predict")
    assert browser.status["questions"] == [f"what MulBackward0 sends to a (input {i})" for i in (0, 1)]
    for ask in ({"do": "step"}, {"do": "step", "guesses": ["", "1"]}, {"do": "run"}):
        assert browser.ask(**ask)["said"].startswith("Predict first")
        assert s.position == 0
    assert browser.ask("step", guesses=["2", "-2"])["said"] == (
        "Your prediction of what MulBackward0 sends to a (input 0): right; "
        "of what MulBackward0 sends to a (input 1): wrong sign."
    )
    assert browser.status["questions"] == ["a.grad"]
    assert browser.ask("step", guesses=["4.4"])["said"] == "Your prediction of a.grad: off by 10 %."
    assert browser.status["questions"] == [] and s.done


def test_a_prediction_of_another_shape_is_told_the_shape_and_has_another_try() -> None:
    a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    s = torch.step((a * 2).sum())
    browser = Browser(s)
    browser.ask("predict")
    said = browser.ask("step", guesses=["1"])["said"]
    assert said == (
        "What SumBackward0 sends to MulBackward0 has the shape (2, 3): "
        "type 6 numbers as a list of rows, [[1, 2, …], …]."
    )
    assert s.position == 0 and s.warnings == []
    assert browser.ask("step", guesses=["[[1,1,1],[1,1,1]]"])["said"].endswith(": right.")
    assert s.position == 1


@pytest.mark.parametrize(
    ("text", "stopped"),
    [("norm > 3", "a norm over 3"), ("norm<0.6", "a norm under 0.6"), ("not finite", "a gradient that is not finite")],
)
def test_a_run_stops_at_what_is_typed_of_a_gradient(text: str, stopped: str) -> None:
    browser, w, b, s = browsed(line)
    browser.ask("edit", id=browser.id("MeanBackward0"), nr=0, text="0.5" if "<" in text else "1")
    browser.ask("step")
    if text == "not finite":
        browser.ask("edit", id=browser.id("PowBackward0"), nr=0, text="[nan, 1]")
    browser.ask("until", text=text)
    assert s.reason == stopped and not s.done
    assert browser.ask("until", text="norm > many")["said"].startswith("Type a number")


def test_an_error_in_a_node_is_said_at_the_node_and_the_stepper_stays_usable() -> None:
    answers = [raising(ZeroDivisionError("nothing to divide")), lambda grad: grad * 2]
    a = torch.tensor(2.0, requires_grad=True)
    s = torch.step(function("Fails", lambda x: x * 2, lambda grad: answers[0](grad)).apply(a))
    browser = Browser(s)
    status = browser.ask("step")
    assert status["said"] == "ZeroDivisionError: nothing to divide" and status["failed"]
    assert browser.states()["FailsBackward"] == "error"
    assert "fails with ZeroDivisionError: nothing to divide" in status["sentence"]
    assert browser.ask("step")["said"].startswith("The backward pass failed in FailsBackward at step 1. Call back()")
    del answers[0]
    browser.ask("back")
    assert browser.ask("run")["said"] == "" and a.grad.item() == 2.0


def test_what_a_hook_prints_is_shown_and_that_it_cannot_be_undone() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    b = a * 3
    b.register_hook(lambda grad: print("hook saw", grad.item()))
    s = torch.step(b * b)
    browser = Browser(s)
    browser.ask("step")
    assert browser.ask("step")["printed"] == "hook saw 12.0\n"
    assert browser.ask("back")["warnings"] == [
        "Step 2 ran a tensor hook of MulBackward0. Its effects other than changing gradients couldn't be undone."
    ]


def test_inputs_are_captured_and_freed_tensors_stay_with_retain_graph() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    b = a * a
    s = torch.step(b * b, inputs=[b], retain_graph=True)
    browser = Browser(s)
    browser.ask("run")
    assert "handed to the caller" in browser.status["sentence"]
    assert "freed" not in {box["state"] for box in browser.boxes.values()}
    assert a.grad is None


@pytest.mark.slow
def test_with_the_stepper_the_view_closes_and_the_memory_goes() -> None:
    browser, a, s = browsed(fork)
    browser.ask("run")
    view = browser.view
    gone, stage = weakref.ref(s), weakref.ref(view._stage)
    del s
    gc.collect()
    assert gone() is None
    assert view.comm is None
    view._asked(view, {"do": "step"}, [])  # on its way when the stepper went
    del browser, view
    gc.collect()
    assert stage() is None


def test_boxes_have_room_for_every_gradient_that_comes() -> None:
    _, _, s = line()
    stage = Stage(s)
    layout = stage.layout
    while not s.done:
        s.step()
        stage.follow(s)
    needed = Stage(s).board()
    needed._layout = None
    for id, place in needed.layout.boxes.items():
        assert place.w <= layout.boxes[id].w and place.h <= layout.boxes[id].h
    assert "grad -8.0" in "\n".join(graph_lines(stage.board().at()))


def test_no_number_in_a_box_is_cut_in_two() -> None:
    a = torch.tensor([[10.5, 20.5, 30.5], [40.5, 10.5, 20.25]], requires_grad=True)
    s = torch.step((a * a).sum())
    browser = Browser(s)
    s.step()
    seen: set[str] = set()
    for act in (lambda: s.edit("mul", 0, a.detach()), s.step, s.step):
        act()
        browser.view.update()
        seen |= {text for box in browser.boxes.values() for text in box["lines"]}
    assert {text.partition(" ")[0] for text in seen} >= {"waits:", "got", "changed"}
    for text in seen:
        assert "…" not in text or re.search(r"[\[ ]…[\] ]", text), text


def test_what_is_watched_is_told_as_it_comes() -> None:
    browser, a, s = browsed(fork)
    (leaf,) = [id for id, box in browser.boxes.items() if box["title"] == "a"]
    product = browser.id("AddBackward0")
    assert browser.ask("watch", id=leaf)["watched"] == [[leaf, "a", "nothing yet"]]
    assert browser.ask("watch", id=product)["watched"][1] == [product, "AddBackward0", "1.0 (the start)"]
    browser.ask("edit", id=product, nr=0, text="2")
    assert browser.status["watched"][1][2] == "1.0 (the start) → 2.0 (changed)"
    browser.ask("run")
    assert browser.status["watched"][0][2] == "6.0 (step 2) → 14.0 (step 3)" and a.grad.item() == 14.0
    assert browser.status["marks"]["watched"] == [leaf, product]
    browser.ask("watch", id=leaf)
    assert browser.status["marks"]["watched"] == [product]
    assert browser.ask("watch", id="no such box")["marks"]["watched"] == [product]


def test_of_a_long_course_the_last_values_are_told_and_each_output_has_a_row() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    first, second = h.unbind()
    y = first * 1 + second
    for _ in range(4):
        y = y + first
    s = torch.step(y).run()
    browser = Browser(s)
    browser.ask("watch", id=browser.id("UnbindBackward0"))
    (one, other) = browser.status["watched"]
    assert one[1] == "UnbindBackward0[0]" and other[1] == "UnbindBackward0[1]"
    assert one[2].startswith("… → 3.0 (step ") and one[2].count("→") == 3
    assert other[2].startswith("1.0 (step ") and "→" not in other[2]


def test_each_breakpoint_is_told_and_taken_off() -> None:
    browser, w, _, s = browsed(line)
    s.breakpoint("mul")
    s.breakpoint(over=100)
    s.breakpoint(w)
    s.breakpoint("add", nonfinite=True, under=0.5)
    s.breakpoint(lambda step: False)
    browser.view.update()
    stops = [
        "before mul",
        "after any node: a norm over 100",
        "before w",
        "after add: a gradient that is not finite, a norm under 0.5",
        "after any node: <lambda>",
    ]
    assert browser.status["stops"] == stops
    assert browser.status["marks"]["breakpoint"] == [browser.id("MulBackward0"), browser.id("w")]
    while stops:
        gone = stops.pop(len(stops) // 2)
        assert browser.ask("off", text=gone)["stops"] == stops and len(s.breakpoints) == len(stops)
    assert browser.ask("off", text=gone)["said"] == ""
    s.breakpoint("mul")
    s.breakpoint("mul")
    assert browser.ask("off", text="before mul")["stops"] == ["before mul"]


def test_over_goes_over_the_scope_that_is_named_or_that_of_the_next_node() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.scope("first"):
        h = x.sin()
    with torch.scope("second"):
        h = h.cos()
    s = torch.step(h * 2)
    browser = Browser(s)
    browser.ask("over", text="")
    assert browser.status["called"] == "SinBackward0", "mul is in no scope"
    browser.ask("over", text="mul")
    assert browser.status["called"] == "x"
    s.back(s.position)
    browser.ask("over", text="first")
    assert browser.status["called"] == "x"
    plain = torch.step(x * 2)
    assert Browser(plain).ask("over", text="")["said"].endswith("Scopes: none.")


def edited_and_run_again(browser: Browser, title: str, value: str) -> None:
    """Go back to before a node runs, change what waits there, and run to the end: a branch."""
    while browser.status["position"] and browser.status["called"] != title:
        browser.ask("back")
    browser.ask("edit", id=browser.id(title), nr=0, text=value)
    browser.ask("run")


def test_the_branch_beside_is_a_picture_of_the_same_boxes_with_its_own_values() -> None:
    w, b, s = line()
    w.grad = torch.tensor(100.0)
    browser = Browser(s)
    browser.ask("run")
    assert browser.status["beside"] == {}
    main = {id: dict(box) for id, box in browser.boxes.items()}
    arrows = {id: dict(arrow) for id, arrow in browser.arrows.items()}
    edited_and_run_again(browser, "PowBackward0", "[1, 1]")
    assert browser.lines("w")[-1] == "grad 84.0, -8.0 on main" and b.grad.item() == -10.0
    beside = browser.status["beside"]
    assert beside["name"] == "main" and beside["boxes"].keys() == browser.boxes.keys()
    told = ("title", "lines", "state")
    for id, box in beside["boxes"].items():
        assert {name: box[name] for name in told} == {name: main[id][name] for name in told}, id
    assert beside["boxes"][browser.id("w")]["lines"][-1] == "grad 92.0"
    assert {id: arrow["label"] for id, arrow in beside["arrows"].items()} == {
        id: arrow["label"] for id, arrow in arrows.items()
    }
    # It is told once: steps on this branch change nothing there.
    browser.heard.clear()
    browser.ask("back")
    assert all("beside" not in news["status"] for news in browser.heard)
    browser.ask("switch", text="0")
    assert browser.status["beside"]["name"] == "branch 1"
    assert browser.status["beside"]["boxes"][browser.id("w")]["lines"][-1] == "grad 84.0"


def test_what_only_one_branch_records_is_not_in_the_picture_of_the_other() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    s = torch.step(a * a, create_graph=True)
    browser = Browser(s)
    browser.ask("run")
    edited_and_run_again(browser, "MulBackward0", "3")
    beside = browser.status["beside"]["boxes"]
    recorded = [id for id, box in browser.boxes.items() if box["kind"] == "op" and id != browser.id("MulBackward0")]
    assert recorded and all(beside[id] == {"state": "future"} for id in recorded)
    assert beside[browser.id("MulBackward0")]["lines"][-1].endswith("got 1.0")


def test_two_nodes_of_one_name_are_told_apart_from_the_first_sentence_on() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(a**3 + a * 2, a, create_graph=True)
    status = Browser(torch.step(g**2)).status
    assert status["sentence"] == "Backward starts at PowBackward0, 2nd with the gradient 1.0."
    assert status["called"] == "PowBackward0, 2nd"


def test_a_line_that_moves_behind_the_title_has_the_room() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(a**3 + a * 2, a, create_graph=True)
    s = torch.step(g**2)
    stage = Stage(s)
    s.run()
    stage.follow(s)
    behind = 0
    for id, box in stage.scene.boxes.items():
        wide, there = first_row(box_fields(box))
        behind += box.title == "AddBackward0" and there
        assert box.kind == "saved" or wide + 2 * 18 <= stage.layout.boxes[id].w
    assert behind == 1
