"""Pictures outside a trusted JupyterLab: in Notebook 7, in a notebook nobody trusts, and in a page made of one."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import nbformat
import pytest
from browser_page import open_page, place_of, require_chromium
from lab import Lab, assert_clean, serve
from lab import notebook as new_notebook_of
from lesson_page import _CELLS as CELLS
from lesson_page import Player
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect
from test_stepper_browser import Stepper, run

from workbench.cli.pages import execute

RECORDED = """import workbench as torch
w = torch.tensor(3.0, requires_grad=True)
with torch.record() as trace:
    loss = (w * 2.0) ** 2
    loss.backward()
trace.show()"""
STEPPER = """x = torch.tensor(3.0, requires_grad=True)
y = (x * 2.0) ** 2
s = torch.step(y)
s"""
LIVE = """v = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.live() as trace:
    (v * v).sum().backward()"""
ERROR = """z = w * w
z.backward()
try:
    z.backward()
except RuntimeError as error:
    explained = error.explain()
explained"""
# Where this runs, the notebook is trusted.
CANARY = """from IPython.display import HTML
HTML("<p>a paragraph</p><script>window.ran = true</script>")"""

TITLES = {
    RECORDED: "Graph of loss",
    STEPPER: "Graph of y",
    LIVE: "Autograd graph",
    ERROR: "RuntimeError at MulBackward0",
}
# Each picture that stands still: its words, and how large it is drawn.
_STILLS = """async (root) => Promise.all([...root.querySelectorAll("img[src^='data:image/svg+xml;base64,']")].map(
  async (image) => { await image.decode(); const { width, height } = image.getBoundingClientRect();
    return [image.alt, Math.min(width, height)]; }))"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """A notebook as it is saved after a run: with every face of each output, and without the widgets' state."""
    made = new_notebook_of(*TITLES, CANARY)
    execute(made, tmp_path_factory.mktemp("run") / "executed.ipynb")
    made.metadata.pop("widgets", None)
    return made


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A server of its own: Notebook 7 stumbles over what JupyterLab kept of another notebook's place."""
    require_chromium()
    with serve(tmp_path_factory.mktemp("lessons"), tmp_path_factory.mktemp("home")) as lab:
        yield lab


@pytest.fixture
def notebook(lab: Lab) -> Iterator[Page]:
    """A notebook that was run in Notebook 7."""
    lab.write("places.ipynb", RECORDED, STEPPER)
    with open_page((1400, 900)) as page:
        lab.open(page, "places.ipynb", "notebooks")
        lab.run_all(page)
        page.wait_for_selector(".wb-stepper")
        assert page.evaluate("window.jupyterapp.name") == "Jupyter Notebook"
        yield page
        assert page.evaluate(CELLS) == 2
        assert_clean(page)
        lab.shut_kernel_down(page)


@pytest.mark.scheduled
def test_notebook_7_leaves_the_player_its_keys(notebook: Page) -> None:
    player = Player(notebook, "Graph of loss")
    opened = player.says("position")
    assert opened == "7 / 7"
    player.click("Back")
    assert player.says("position") == "6 / 7"
    player.press("ArrowLeft")
    assert player.says("position") == "5 / 7"
    player.press("ArrowLeft")
    assert player.says("position") == "4 / 7"
    assert player.boxes()["loss = (w * 2.0) ** 2"][0] == "running"
    player.click("Step")
    assert player.says("position") == "5 / 7"
    player.press("ArrowRight", "ArrowRight")
    assert player.says("position") == opened
    player.press("Home", " ")
    assert player.root.get_attribute("data-playing") == "true"
    player.press(" ")
    assert player.root.get_attribute("data-playing") == "false"
    player.press("?")
    assert player.root.locator(".wb-keys").is_visible()
    player.press("Escape", "End", "ArrowUp", "ArrowDown", "a", "b", "d", "d", "x", "m", "Enter")
    assert player.says("position") == "7 / 7"
    assert not player.root.locator(".wb-keys").is_visible()
    player.press("Escape")
    over = "document.elementFromPoint(3, 3).closest('.wb-player') !== null"
    for key, whole in (("f", True), ("f", False), ("f", True), ("Escape", False)):
        player.press(key)
        assert notebook.evaluate(over) == whole
    view = place_of(player.root.locator(".wb-view"))
    assert view["height"] <= 0.75 * notebook.evaluate("document.querySelector('.jp-WindowedPanel-outer').clientHeight")
    # Not only where the player itself has the focus: every part of it can have it.
    player.click("First step")
    for key in ("b", "ArrowDown", "ArrowRight"):
        notebook.keyboard.press(key)
    assert player.says("position") == "2 / 7"
    player.click("Last step")
    assert player.says("position") == "7 / 7"


def test_notebook_7_steps_the_live_backward(notebook: Page) -> None:
    s = Stepper(notebook, "Graph of y")
    s.click("step")
    assert s.says("standing") == "1 of 3 nodes run · next: x * 2.0"
    s.press("ArrowRight")
    assert s.says("standing").startswith("2 of 3")
    s.press("ArrowLeft", "b")
    assert s.root.locator(".wb-box .wb-breakpoint").count() == 1
    s.press("b")
    assert s.root.locator(".wb-box .wb-breakpoint").count() == 0
    s.root.focus()
    notebook.keyboard.press("?")
    assert s.root.locator(".wb-keys").is_visible()
    notebook.keyboard.press("Escape")
    notebook.keyboard.press(" ")
    s.press("r")
    assert s.lines("x")[-1] == "grad 24.0"
    assert notebook.evaluate(CELLS) == 2
    assert run(notebook, "print(s.done, x.grad.item())") == "True 24.0"
    notebook.evaluate("window.jupyterapp.commands.execute('notebook:delete-cell')")


def test_a_notebook_nobody_trusts_shows_every_picture_and_runs_no_script(
    executed: nbformat.NotebookNode, lab: Lab
) -> None:
    nbformat.write(executed, lab.folder / "untrusted.ipynb")
    with open_page((1400, 900)) as page:
        lab.open(page, "untrusted.ipynb")
        outputs = page.locator(".jp-Notebook .jp-OutputArea")
        expect(outputs.last).to_contain_text("a paragraph")
        assert page.evaluate("window.ran") is None
        assert page.locator(".wb-player, .jp-OutputArea-output :is(script, svg)").count() == 0
        assert_stills(page)
        assert_clean(page)
        lab.shut_kernel_down(page)


# JupyterLab's own look, and the one that nbgrader makes its feedback with.
@pytest.mark.parametrize("template", ["lab", "classic"])
def test_a_page_made_of_a_notebook_plays_every_picture_with_no_network(
    executed: nbformat.NotebookNode, template: str
) -> None:
    require_chromium()
    made, _ = HTMLExporter(template_name=template).from_notebook_node(executed)
    with open_page(offline=True) as page:
        page.route("**/*", lambda route: route.abort())
        page.set_content(made, wait_until="domcontentloaded")
        for title in (TITLES[RECORDED], TITLES[LIVE], TITLES[ERROR]):
            player = Player(page, title)
            player.root.wait_for()
            assert place_of(player.root.locator(".wb-view"))["height"] <= 0.75 * page.viewport_size["height"]
            player.press("Home")
            first, _, last = player.says("position").partition(" / ")
            assert first == "1" and (last > "1" or title == TITLES[ERROR])
            player.press("End")
            assert player.says("position") == f"{last} / {last}"
        assert page.locator(".wb-player").count() == 3
        assert_stills(page, TITLES[STEPPER])  # whose steps a kernel takes


def assert_stills(page: Page, *titles: str) -> None:
    """The page shows an image with words for each of the notebook's pictures, or of these, in order."""
    stills = page.locator("body").evaluate(_STILLS)
    assert [alt.partition(":")[0] for alt, _ in stills] == list(titles or TITLES.values())
    assert all(smallest > 100 for _, smallest in stills)
    assert all("Backward0" in alt for alt, _ in stills)


@pytest.mark.parametrize("nth", range(len(TITLES)), ids=TITLES.values())
def test_an_output_has_a_face_for_every_place(executed: nbformat.NotebookNode, nth: int) -> None:
    # A page takes the player or, where no script may run, the image; a terminal takes the text.
    (output,) = executed.cells[nth].outputs
    title = list(TITLES.values())[nth]
    assert set(output.data) == {"text/html", "text/plain"}
    place = "wb-live wb-live-" if title == TITLES[STEPPER] else "wb-play-"
    assert re.match(f'<div class="{place}[0-9a-f]{{16}}"><img alt="{title}: ', output.data["text/html"])
    assert ("<script>" in output.data["text/html"]) == (title != TITLES[STEPPER])
    image = output.data["text/html"].partition('src="data:image/svg+xml;base64,')[2].partition('"')[0]
    assert base64.b64decode(image, validate=True).startswith(b"<svg ")
    assert "Backward0" in output.data["text/plain"]
