"""A cell that is run again in a real JupyterLab: nothing on the page moves, and its picture is looked at as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_page import at_rest, open_page, wait_until
from lab import Lab, assert_clean
from playwright.sync_api import Page

# A cell goes on when the page was painted without its picture, and this file is there.
TENSORS = """import pathlib, time
import workbench as torch
def wait(seen=pathlib.Path("again.seen")):
    while not seen.exists():
        time.sleep(0.02)
w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))"""
PLAYED = """with torch.record() as trace:
    loss = ((w * x + b) - 7) ** 2
    loss.backward()
wait()
trace.show()"""
STEPPED = """loss = ((w * x + b) - 7) ** 2
wait()
torch.step(loss)"""
# Runs a cell, and notes what the browser paints elsewhere than before in the cells around it; its picture is gone then.
AGAIN = """async (at) => {
  const { content } = window.jupyterapp.shell.currentWidget, found = window.moved = [];
  const others = content.widgets.filter((_, i) => i !== at).map(({ node }) => node);
  window.before = content.widgets[at].node.querySelector(".wb-player");
  window.observer = new PerformanceObserver((shifts) => {
    for (const { node, previousRect: from, currentRect: to } of shifts.getEntries().flatMap(({ sources }) => sources))
      if (others.some((cell) => cell.contains(node) || node?.contains?.(cell)))
        found.push([node.className, from.top, to.top]);
  });
  observer.observe({ type: "layout-shift" });
  content.activeCellIndex = at;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  window.jupyterapp.commands.execute("notebook:run-cell");
  while (before.isConnected) await frame();
  await frame();
  await frame();
}"""
DRAWN = """(at) => { const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
  const there = content.widgets[at].node.querySelector(".wb-player");
  return sessionContext.session.kernel.status === "idle" && there !== null && there !== before; }"""
# The room of a picture is held no more, and all was painted.
FREE = "() => window.jupyterapp.shell.currentWidget.content.widgets.every(({ node }) => !node.style.minHeight)"
MOVED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(moved))))"
SCROLLED = "() => window.jupyterapp.shell.currentWidget.content.outerNode.scrollTop"


@pytest.mark.parametrize(
    "source", [PLAYED, pytest.param(STEPPED, marks=pytest.mark.scheduled)], ids=["player", "stepper"]
)
def test_nothing_on_the_page_moves_and_the_picture_is_looked_at_as_before(lab: Lab, source: str) -> None:
    lab.write("again.ipynb", TENSORS, PLAYED, source, PLAYED)
    seen = lab.folder / "again.seen"
    with open_page((1440, 900)) as page:
        lab.open(page, "again.ipynb")
        seen.touch()
        lab.run_all(page)
        wait_until(page, "document.querySelectorAll('.wb-player').length === 3")
        page.evaluate("""() => { const { content } = window.jupyterapp.shell.currentWidget;
            content.activeCellIndex = 2; content.widgets[2].node.scrollIntoView(); }""")
        zoom_in(page)
        before, scrolled = at_rest(page, lambda: looked_at(page)), at_rest(page, lambda: page.evaluate(SCROLLED))
        for _ in range(2):
            run_again(page, seen)
            assert at_rest(page, lambda: looked_at(page)) == before
            assert page.evaluate(MOVED) == [] and page.evaluate(SCROLLED) == scrolled
        # A cell that makes no picture any more takes the room that it needs, if not at once.
        cell = "window.jupyterapp.shell.currentWidget.content.widgets[2]"
        page.evaluate(f"() => {cell}.model.sharedModel.setSource('1')")
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell') }")
        wait_until(page, f"{cell}.node.getBoundingClientRect().height < 200")
        assert_clean(page)
    lab.close()


def run_again(page: Page, seen: Path) -> None:
    """Run the cell, which goes on when the page was drawn without its picture, until the picture is there again."""
    seen.unlink()
    page.evaluate(AGAIN, 2)
    seen.touch()
    wait_until(page, DRAWN, 2)
    wait_until(page, FREE)
    at_rest(page, lambda: page.locator(".wb-player").nth(1).bounding_box())


@pytest.mark.scheduled
def test_the_theme_of_one_notebook_does_not_follow_into_another(lab: Lab) -> None:
    (lab.folder / "again.seen").touch()
    for name in ("first", "second"):
        lab.write(f"{name}.ipynb", TENSORS, STEPPED, PLAYED)
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
        page.evaluate(f"() => {{ window.before = [...{IN_FRONT}]; }}")
        lab.run_all(page)
        wait_until(page, f"() => {{ const now = [...{IN_FRONT}]; return now.length === 2 && now[1] !== before[1]; }}")
        assert themes(page)[1] == "dark"
        assert_clean(page)
    lab.close()


IN_FRONT = "window.jupyterapp.shell.currentWidget.node.querySelectorAll('.wb-player')"


def themes(page: Page) -> list[str]:
    """The themes of the pictures in the notebook that is in front."""
    return page.evaluate(f"[...{IN_FRONT}].map((player) => player.closest('[data-wb-theme]').dataset.wbTheme)")


def zoom_in(page: Page) -> None:
    """Look closely at the second picture, in a theme of one's own, two steps on if it can be stepped there."""
    player = page.locator(".wb-player").nth(1)
    for key in ("ArrowRight", "ArrowRight", "+", "t", "t"):
        player.press(key)
    wait_until(page, f"[...{IN_FRONT}][1].closest('[data-wb-theme]').dataset.wbTheme === 'dark'")


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
