"""The stepper in a notebook, on Python's side: what it shows, what it sends, what the browser may ask, and its end."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from stepped import Browser, browsed, fork, line

import workbench as torch
from workbench.pictures.scene.displays import displays
from workbench.pictures.scene.labels import box_fields
from workbench.pictures.scene.sizes import PAD, first_row
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.text import graph_lines
from workbench.pictures.views.stepper_picture import Stage

VIEW = "application/vnd.jupyter.widget-view+json"


def test_a_notebook_gets_the_place_to_draw_in_with_an_image_in_it_and_the_text() -> None:
    _, s = fork()
    bundle = s._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(s)
    place = Browser(s).view.get_state()["place"]
    assert re.fullmatch("wb-live-[0-9a-f]{16}", place)
    assert bundle["text/html"].startswith(f'<div class="wb-live {place}"><img ')
    assert bundle["text/html"].endswith("<p>Rerun the cell to step.</p></div>")  # for who reopens it without a kernel
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
    assert "AddBackward0" in bundle["text/html"] and "(running)" in bundle["text/html"]


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
    assert browser.status["done"] and "grad " in browser.lines("w")[-1] and w.grad is not None


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


def test_boxes_have_room_for_every_gradient_that_comes_and_are_seldom_placed_anew() -> None:
    _, _, s = line()
    stage = Stage(s)
    layouts = [stage.layout]
    while not s.done:
        s.step()
        stage.follow(s)
        needed = Storyboard(stage.scene)
        for id, place in needed.layout.boxes.items():
            assert place.w <= stage.layout.boxes[id].w + 24 and place.h <= stage.layout.boxes[id].h
        if stage.layout is not layouts[-1]:
            layouts.append(stage.layout)
    assert len(layouts) <= 3
    assert "grad -8.0" in "\n".join(graph_lines(stage.board().at()))
    stage.follow(s.back(7).run())  # what had room once has it
    assert stage.layout is layouts[-1]


def test_a_picture_is_about_as_large_as_the_players() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(-1.0, requires_grad=True)

    def program() -> torch.Tensor:
        c = a * b + a**2
        d = (c + a**2).exp()
        return d / (b - 1) ** 2

    with torch.record() as trace:
        program().backward()
    played = trace.show().storyboard
    a.grad = b.grad = None
    stepped = Stage(torch.step(program())).board()
    assert not any("gradient" in line for box in stepped.scene.boxes.values() for line in box.lines)
    assert stepped.layout.width <= 1.1 * played.layout.width and stepped.layout.height <= 1.2 * played.layout.height


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
    assert {text.partition(" ")[0] for text in seen} >= {"grad", "changed"}
    for text in seen:
        assert "…" not in text or re.search(r"[\[ ]…[\] ]", text), text


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


def edited_and_run_again(browser: Browser, title: str, value: str) -> None:
    """Go back to before a node runs, change what waits there, and run to the end: a branch."""
    while browser.status["position"] and browser.status["next"] != browser.id(title):
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
    assert browser.lines("w")[-1] == "grad 84.0" and b.grad.item() == -10.0
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
        behind += box.title == "g = add" and there
        assert box.kind == "saved" or wide + 2 * PAD <= stage.layout.boxes[id].w
    assert behind == 1
