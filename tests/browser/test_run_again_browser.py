"""A cell that is run again in a real JupyterLab: nothing on the page moves, and its picture is looked at as before."""

from __future__ import annotations

import pytest
from browser_page import open_page, wait_until
from lab import Lab, assert_clean
from playwright.sync_api import Page

TENSORS = """import time
import workbench as torch
w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))"""
PLAYED = """with torch.record() as trace:
    loss = ((w * x + b) - 7) ** 2
    loss.backward()
time.sleep(0.3)
trace.show()"""
STEPPED = """loss = ((w * x + b) - 7) ** 2
time.sleep(0.3)
torch.step(loss)"""
# Runs a cell; what the browser painted elsewhere than before in the cells around it, and how far it is scrolled now.
MOVED = """async (at) => {
  const app = window.jupyterapp, { content, sessionContext } = app.shell.currentWidget, moved = [];
  const others = content.widgets.filter((_, i) => i !== at).map(({ node }) => node);
  const before = content.widgets[at].node.querySelector(".wb-player"), top = content.outerNode.scrollTop;
  const observer = new PerformanceObserver((shifts) => {
    for (const { node, previousRect: from, currentRect: to } of shifts.getEntries().flatMap(({ sources }) => sources))
      if (others.some((cell) => cell.contains(node) || node?.contains?.(cell)))
        moved.push([node.className, from.top, to.top]);
  });
  observer.observe({ type: "layout-shift" });
  content.activeCellIndex = at;
  await app.commands.execute("notebook:run-cell");
  const there = () => content.widgets[at].node.querySelector(".wb-player") ?? before;
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  while (sessionContext.session.kernel.status !== "idle" || there() === before) await rest(50);
  await rest(500);
  observer.disconnect();
  return [...moved, content.outerNode.scrollTop - top];
}"""


@pytest.mark.parametrize("source", [PLAYED, STEPPED], ids=["player", "stepper"])
def test_nothing_on_the_page_moves_and_the_picture_is_looked_at_as_before(lab: Lab, source: str) -> None:
    lab.write("again.ipynb", TENSORS, PLAYED, source, PLAYED)
    with open_page((1440, 900)) as page:
        lab.open(page, "again.ipynb")
        lab.run_all(page)
        wait_until(page, "document.querySelectorAll('.wb-player').length === 3")
        page.evaluate("""() => { const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 2; content.widgets[2].node.scrollIntoView(); }""")
        page.wait_for_timeout(500)
        zoom_in(page)
        before = looked_at(page)
        for _ in range(2):
            assert page.evaluate(MOVED, 2) == [0]
            assert looked_at(page) == before
        # A cell that makes no picture any more takes the room that it needs, if not at once.
        cell = "window.jupyterapp.shell.currentWidget.content.widgets[2]"
        page.evaluate(f"() => {cell}.model.sharedModel.setSource('1')")
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell') }")
        wait_until(page, f"{cell}.node.getBoundingClientRect().height < 200")
        assert_clean(page)
    lab.close()


def test_the_theme_of_one_notebook_does_not_follow_into_another(lab: Lab) -> None:
    lab.write("first.ipynb", TENSORS, STEPPED, PLAYED)
    lab.write("second.ipynb", TENSORS, STEPPED, PLAYED)
    with open_page((1440, 900)) as page:
        lab.open(page, "first.ipynb")
        lab.run_all(page)
        wait_until(page, "document.querySelectorAll('.wb-player').length === 2")
        zoom_in(page)
        assert themes(page) == ["auto", "dark"], "the picture that was there has its own"
        page.evaluate("""async () => {
          const app = window.jupyterapp;
          await app.commands.execute("docmanager:open", { path: "second.ipynb" });
          const { sessionContext } = app.shell.currentWidget;
          await sessionContext.ready;
          while (sessionContext.session?.kernel?.status !== "idle") await new Promise((r) => setTimeout(r, 50));
        }""")
        lab.run_all(page)
        wait_until(page, "document.querySelectorAll('.wb-player').length === 4")
        assert themes(page) == ["auto", "auto"]
        page.evaluate("""() => window.jupyterapp.commands.execute("docmanager:open", { path: "first.ipynb" })""")
        lab.run_all(page)
        page.wait_for_timeout(1000)
        assert themes(page)[1] == "dark"
        assert_clean(page)
    lab.close()


def themes(page: Page) -> list[str]:
    """The themes of the pictures in the notebook that is in front."""
    return page.evaluate("""() => [...window.jupyterapp.shell.currentWidget.node.querySelectorAll(".wb-player")]
        .map((player) => player.closest("[data-wb-theme]").dataset.wbTheme)""")


def zoom_in(page: Page) -> None:
    """Look closely at the second picture, in a theme of one's own, two steps on if it can be stepped there."""
    player = page.locator(".wb-player").nth(1)
    for key in ("ArrowRight", "ArrowRight", "+", "t", "t"):
        player.focus()
        page.keyboard.press(key)
    page.wait_for_timeout(500)


def looked_at(page: Page) -> list[str]:
    """The second picture's step (a stepper begins anew), the size it is drawn in, and its theme."""
    return (
        page.locator(".wb-player")
        .nth(1)
        .evaluate("""(player) => [
        player.querySelector(".wb-position")?.textContent ?? "",
        player.querySelector(".wb-picture").getAttribute("width"),
        player.closest("[data-wb-theme]").dataset.wbTheme]""")
    )
