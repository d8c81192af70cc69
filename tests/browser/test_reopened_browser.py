"""A notebook that was run, saved and opened again, in JupyterLab and in Notebook 7: what it shows with no kernel."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import nbformat
import pytest
from browser_page import open_page, require_chromium, these_first, wait_until
from lab import CHECKOUT, Lab, assert_clean, serve
from lesson_page import Player
from playwright.sync_api import Page, expect
from test_places_browser import ERROR, LIVE, RECORDED, STEPPER
from test_scene_playing import MOST
from test_stepper_browser import Stepper, run

EXPLICIT = """from workbench.pictures.widgets import Player
player = Player(trace.show().storyboard)
player"""
HOSTS = {"JupyterLab": "lab/tree", "Notebook 7": "notebooks"}
SAVE = """async () => {
  await window.jupyterapp.commands.execute("docmanager:save");
  const { context } = window.jupyterapp.shell.currentWidget;
  while (context.model.dirty) await new Promise((done) => setTimeout(done, 50));
}"""
WAIT_FOR_CELLS = """(count) => window.jupyterapp?.shell.currentWidget?.content?.widgets?.length === count"""


@pytest.fixture(scope="module", params=these_first(HOSTS, ("JupyterLab",)))
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, str]]:
    """A server of its own: Notebook 7 stumbles over what JupyterLab kept of another notebook's place."""
    require_chromium()
    with serve(tmp_path_factory.mktemp("lessons"), tmp_path_factory.mktemp("home")) as lab:
        yield lab, HOSTS[request.param]


@pytest.fixture
def ran(host: tuple[Lab, str]) -> Iterator[tuple[Lab, str]]:
    """A notebook of every kind of picture, run there and saved; its page is closed, its kernel lives."""
    lab, place = host
    run_and_save(lab, place)
    yield lab, place
    lab.close()


def run_and_save(lab: Lab, place: str) -> None:
    lab.write("ran.ipynb", RECORDED, STEPPER, LIVE, ERROR, EXPLICIT)
    with open_page((1440, 900)) as page:
        lab.open(page, "ran.ipynb", place)
        lab.run_all(page)
        expect(page.locator(".wb-player")).to_have_count(5)
        Stepper(page, "Graph of y").click("step")
        page.evaluate(SAVE)
        assert_clean(page)


def saved(lab: Lab, name: str = "ran.ipynb") -> nbformat.NotebookNode:
    """The notebook's file, in which there is nothing of a widget."""
    text = (lab.folder / name).read_text(encoding="utf-8")
    assert "widget-view" not in text and "widget-state" not in text
    return nbformat.reads(text, as_version=4)


def assert_plays(page: Page, steppers: int) -> None:
    """Every picture of the notebook is there and plays; the stepper is an image, but where its kernel lives."""
    players = page.locator(".wb-player:not(.wb-stepper)")
    expect(players).to_have_count(4)
    expect(page.locator(".wb-stepper")).to_have_count(steppers)
    expect(page.locator("img[src^='data:image/svg']")).to_have_count(1 - steppers)
    expect(page.get_by_text("Rerun the cell to step.")).to_have_count(1 - steppers)
    # A widget's view says so until its model is there, or until JupyterLab has looked for the model in vain.
    expect(page.get_by_text("Loading widget")).to_have_count(0)
    assert page.get_by_text("Error displaying widget").count() == 0
    player = Player(page, "Graph of loss")
    player.press("Home")
    player.click("Step")
    assert player.says("position") == "2 / 7"
    player.press("ArrowRight", "ArrowRight")
    assert player.boxes()["loss = (w * 2.0) ** 2"][0] == "running"
    player.open("w")
    assert player.details()
    for nth in range(2):  # of live(), and the one that Python follows
        other = Player(page, "Autograd graph")
        other.root = other.root.nth(nth)
        other.press("End")
        assert other.says("position") == "7 / 7"


def test_every_picture_plays_when_it_is_opened_again_without_its_kernel(ran: tuple[Lab, str]) -> None:
    lab, place = ran
    lab.close()
    before = saved(lab)
    for _ in range(2):  # the second time after it was saved by a page that had no model of any widget
        with open_page((1440, 900)) as page:
            lab.open(page, "ran.ipynb", place)
            assert_plays(page, steppers=0)
            page.evaluate(SAVE)
            assert saved(lab).cells == before.cells
            lab.shut_kernel_down(page)
            assert_plays(page, steppers=0)
            page.evaluate(SAVE)
            page.reload()
            wait_until(page, WAIT_FOR_CELLS, arg=5)
            assert_plays(page, steppers=0)
            assert_clean(page)
            lab.close()


def test_a_page_that_finds_the_kernel_still_there_goes_on_stepping(ran: tuple[Lab, str]) -> None:
    lab, place = ran
    with open_page((1440, 900)) as page:
        lab.open(page, "ran.ipynb", place)
        assert_plays(page, steppers=1)
        s = Stepper(page, "Graph of y")
        assert s.says("standing").startswith("1 of 3 nodes run · next: ")
        s.click("step")
        assert run(page, "print(s.position, player.position)") == "2 6"
        run(page, "player.position = 3")
        followed = page.get_by_role("group", name="Player: Autograd graph").nth(1)
        expect(followed.locator(".wb-position")).to_have_text("4 / 7")
        page.evaluate(SAVE)
        page.reload()
        wait_until(page, WAIT_FOR_CELLS, arg=7)
        expect(s.root.locator(".wb-standing")).to_have_text("2 of 3 nodes run · next: x")
        page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
        expect(s.root.locator(".wb-sentence")).to_contain_text("The kernel of this stepper has shut down")
        assert s.root.locator('[data-action="step"]').get_attribute("aria-disabled") == "true"
        lab.run_all(page)
        expect(s.root.locator(".wb-standing")).to_contain_text("0 of 3 nodes run · next: ")
        s.click("step")
        assert_clean(page)


def test_two_notebooks_in_one_page_keep_their_steppers_apart(lab: Lab) -> None:
    run_and_save(lab, "lab/tree")
    shutil.copy(lab.folder / "ran.ipynb", lab.folder / "copy.ipynb")
    with open_page((1440, 900)) as page:
        lab.open(page, "ran.ipynb")
        expect(page.locator(".wb-stepper")).to_have_count(1)
        page.evaluate("""async () => {
          await window.jupyterapp.commands.execute("docmanager:open", { path: "copy.ipynb" });
          window.jupyterapp.shell.add(window.jupyterapp.shell.currentWidget, "main", { mode: "split-right" });
        }""")
        wait_until(page, "() => window.jupyterapp.shell.currentWidget.sessionContext?.session?.kernel != null")
        lab.run_all(page)
        expect(page.locator(".wb-stepper")).to_have_count(2)
        first, second = (Stepper(page, "Graph of y", nth=n) for n in range(2))
        expect(first.root.locator(".wb-standing")).to_contain_text("of 3 nodes run")
        before = sorted((first.says("standing")[0], second.says("standing")[0]))
        second.root.locator('[data-action="run"]').click()
        expect(second.root.locator(".wb-standing")).to_contain_text("3 of 3")
        assert first.says("standing")[0] in before and first.says("standing")[0] != "3"
        assert_clean(page)
    lab.close()


def test_a_stepper_that_the_kernel_no_longer_holds_says_so(host: tuple[Lab, str]) -> None:
    lab, place = host
    lab.write("gone.ipynb", f"import workbench as torch\n{STEPPER.rpartition(chr(10))[0]}\ndisplay(s)")
    with open_page((1440, 900)) as page:
        lab.open(page, "gone.ipynb", place)
        lab.run_all(page)
        s = Stepper(page, "Graph of y")
        s.click("step")
        run(page, "s = None")
        expect(s.root.locator(".wb-sentence")).to_have_text(
            "The kernel no longer has this stepper. Rerun the cell to get a new one."
        )
        assert s.state("PowBackward0") == "running"
        assert s.root.locator('[data-action="step"]').get_attribute("aria-disabled") == "true"
        assert_clean(page)
    lab.close()


@pytest.mark.scheduled
@pytest.mark.parametrize("name", ["00-slopes-and-a-graph.ipynb", "10-functions-of-functions.ipynb"])
def test_a_lesson_that_was_run_has_grown_by_little(lab: Lab, name: str) -> None:
    shutil.copy(CHECKOUT / "notebooks" / name, lab.folder / name)
    before = nbformat.read(lab.folder / name, as_version=4)
    with open_page((1024, 768)) as page:
        lab.open(page, name)
        lab.run_all(page)
        page.evaluate(SAVE)
        after = saved(lab, name)
        assert_clean(page)
    lab.close()
    grown = []
    for old, new in zip(before.cells, after.cells, strict=True):
        if "data:image/svg" in json.dumps(old.get("outputs", [])):
            grown.append(len(json.dumps(new.outputs)) - len(json.dumps(old.outputs)))
    print(name, grown)
    assert len(grown) >= 2
    assert 20_000 < min(grown) and max(grown) <= MOST


def test_what_is_taken_out_of_the_page_is_there_when_it_comes_back(lab: Lab) -> None:
    lab.write("long.ipynb", RECORDED, STEPPER)
    with open_page((1440, 900)) as page:
        lab.open(page, "long.ipynb")
        lab.run_all(page)
        player, s = Player(page, "Graph of loss"), Stepper(page, "Graph of y")
        player.click("First step")
        player.click("Step")
        player.click("Step")
        s.click("step")
        # As a notebook may do that keeps in the page only the cells in sight.
        page.evaluate("""() => { window.out = [...document.querySelectorAll(".jp-OutputArea-child")].map((child) => {
            const parent = child.parentNode;
            child.remove();
            return () => parent.append(child);
        }); }""")
        assert page.locator(".wb-player").count() == 0
        run(page, "s.step(); None")
        page.evaluate("window.out.forEach((back) => back())")
        expect(s.root.locator(".wb-standing")).to_have_text("2 of 3 nodes run · next: x")
        s.click("step")
        assert player.says("position") == "3 / 7"  # not where it opens
        player.click("Last step")
        assert player.says("position") == "7 / 7"
        assert_clean(page)
    lab.close()
