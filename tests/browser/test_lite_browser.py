"""A site of `workbench lite` in a browser that is cut off from all other machines: a lesson, a stepper, an exercise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import open_page, require_chromium, wait_until
from lite_site import build, given_pyodide, served, with_matplotlib
from playwright.sync_api import Page, expect

LESSON = "00-slopes-and-a-graph.ipynb"
MINUTES = 4 * 60  # Python begins in a page: many seconds, and more where the machine is busy
IDLE = """() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle" """
ERRORS = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells].flatMap((cell) =>
  (cell.toJSON().outputs ?? []).filter((output) => output.output_type === "error").map((output) => output.evalue))"""
RAN = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells].filter((cell) =>
  cell.type === "code" && cell.toJSON().source.trim()).every((cell) => cell.executionCount !== null)"""
RUN_ALL = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
# The cell of an exercise with an answer typed into it, and then one more cell at the end.
ANSWER = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const at = content.widgets.findIndex(({ model }) => model.sharedModel.source.startsWith("# exercise: slope-of"));
  content.activeCellIndex = at;
  content.activeCell.model.sharedModel.source = "";
  return content.scrollToItem(at, "center").then(() => { content.mode = "edit"; content.activeCell.editor.focus(); });
}"""
ADD = """async () => {
  const app = window.jupyterapp, { content } = app.shell.currentWidget;
  content.activeCellIndex = content.widgets.length - 1;
  await app.commands.execute("notebook:insert-cell-below");
  await content.scrollToItem(content.activeCellIndex, "center");
  content.mode = "edit";
  content.activeCell.editor.focus();
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site under a path of a web server, as many have it."""
    require_chromium()
    place = tmp_path_factory.mktemp("lite")
    build(place / "www" / "some" / "path", with_matplotlib(given_pyodide(), place / "pyodide"))
    with served(place / "www") as root:
        yield f"{root}some/path/"


def open_lesson(page: Page, address: str) -> None:
    page.goto(address)
    wait_until(page, "window.jupyterapp !== undefined")
    wait_until(page, IDLE, patience=MINUTES)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path") == LESSON


def test_a_lesson_runs_a_stepper_steps_and_what_is_typed_is_kept(address: str) -> None:
    with open_page((1440, 900)) as page:
        open_lesson(page, address)
        page.evaluate(RUN_ALL)
        wait_until(page, RAN, patience=MINUTES)
        assert page.evaluate(ERRORS) == []
        player = page.locator(".wb-player").first
        player.scroll_into_view_if_needed()
        expect(player).to_be_visible()

        page.evaluate(ANSWER)
        page.keyboard.insert_text('# exercise: slope-of-a-line\nanswer = 4  # typed\ncheck("slope-of-a-line", answer)')
        page.keyboard.press("Control+Enter")
        judged = page.locator(".jp-Cell.jp-mod-active .jp-OutputArea-output")
        expect(judged).to_contain_text("Right. (", timeout=MINUTES * 1000)

        page.evaluate(ADD)
        page.keyboard.insert_text("y = torch.tensor(3.0, requires_grad=True)\nworkbench.step(y * y + y)")
        page.keyboard.press("Control+Enter")
        stepper = page.get_by_role("group", name="Stepper").last
        stepper.wait_for(timeout=MINUTES * 1000)
        before, drawn = stepper.get_attribute("data-answered"), stepper.locator(".wb-view").inner_html()
        stepper.locator('[data-action="step"]').click()
        expect(stepper).not_to_have_attribute("data-answered", str(before))
        expect(stepper.locator(".wb-standing")).to_contain_text("1 of 3 nodes run")
        assert stepper.locator(".wb-view").inner_html() != drawn

        page.keyboard.press("Control+s")
        wait_until(page, "() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
        page.reload()
        open_lesson(page, address)
        typed = "() => JSON.stringify(window.jupyterapp.shell.currentWidget.context.model.toJSON())"
        assert "answer = 4  # typed" in page.evaluate(typed)
        assert page.requests_outside == []
