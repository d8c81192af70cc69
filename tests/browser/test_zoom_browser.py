"""Pictures in a real JupyterLab whose window is small, as at a browser zoom of 150 and 200 %: all is there to use."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from browser_page import open_page, place_of, these_first, wait_until
from lab import Lab, assert_clean
from lesson_page import _THEME as THEME
from playwright.sync_api import Locator, Page

CELLS = {
    "player": """import workbench as torch
from workbench import nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
x, y = torch.ones(5, 4), torch.zeros(5, 3)
with torch.record() as trace:
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
trace.show()""",
    "film": """optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.record() as training:
    for step in range(3):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
training.show()""",
    "stepper": """v = torch.ones(4, requires_grad=True)
one, two = (v * 2).chunk(2)
loss = (one * two).sum() + (net(x) ** 2).mean()
torch.step(loss)""",
    "explore": "torch.explore(lambda x, w: ((x * w).sin() * w + x) ** 2, x=2.0, w=(-3, 3))",
    "error": """with torch.record() as bad:
    h = (v * 2).exp()
    h.add_(1)
    try:
        h.sum().backward()
    except RuntimeError:
        pass
bad.show("error")""",
}
SIZES = {
    "720-light": ((720, 450), "light"),
    "960-light": ((960, 600), "light"),
    "800-dark": ((800, 600), "dark"),
    "1024-projector": ((1024, 768), "projector"),
}

# What stands around a picture and is cut off, covered by the edge, or not told whole.
CUT = """root => {
  const at = root.getBoundingClientRect(), found = [];
  for (const each of root.querySelectorAll("button, input, select, label, .wb-position, .wb-part, .wb-phase")) {
    if (!each.getClientRects().length || each.closest(".wb-menu, .wb-keys, .wb-details")) continue;
    const { left, right, top, bottom } = each.getBoundingClientRect();
    const name = each.dataset.action ?? each.name ?? each.className;
    if (left < at.left + 4 || right > at.right - 4 || top < at.top || bottom > at.bottom) found.push(name);
    if (each.matches("button, select") && each.scrollWidth > each.clientWidth + 1) found.push(`text of ${name}`);
    for (let around = each.parentElement; around !== root; around = around.parentElement) {
      const edge = around.getBoundingClientRect();
      const across = left < edge.left - 0.5 || right > edge.right + 0.5;
      if (getComputedStyle(around).overflowX === "visible") continue;
      if (across || top < edge.top - 0.5 || bottom > edge.bottom + 0.5)
        found.push(`${name} in ${around.className}`);
    }
  }
  return found;
}"""
SMALLEST = """root => Math.min(...[...root.querySelectorAll(".wb-picture text")]
  .filter((text) => text.getClientRects().length)
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))"""
# Whether a choice has the room of its words.
WHOLE = """select => {
  const free = document.createElement("select");
  free.append(select.options[0].cloneNode(true));
  select.after(free);
  const room = free.offsetWidth;
  free.remove();
  return select.offsetWidth >= room;
}"""
# How much of a notebook its window shows, and how far it and the page could be scrolled to the right.
NOTEBOOK = """() => { const panel = document.querySelector(".jp-WindowedPanel-outer");
  const beside = document.documentElement.scrollWidth - innerWidth;
  return [panel.clientHeight, panel.scrollWidth - panel.clientWidth, beside]; }"""


SCALARS = """a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
with torch.record() as scalars:
    c = a * b
    d = c + a ** 2
    e = d / (b - 1)
    loss = e.exp() + c
    loss.backward()
scalars.show()"""
# How a picture stands in its notebook, and how that is scrolled.
STANDS = """root => { const view = root.querySelector(".wb-view"), picture = root.querySelector(".wb-picture");
  const { left, top, width, height } = view.getBoundingClientRect();
  return { scale: picture.getAttribute("width") / picture.viewBox.baseVal.width, window: [left, top, width, height],
    place: [view.scrollLeft, view.scrollTop, document.querySelector(".jp-WindowedPanel-outer").scrollTop] }; }"""
ALL_IN_SIGHT = """root => { const view = root.querySelector(".wb-view");
  return view.scrollWidth <= view.clientWidth && view.scrollHeight <= view.clientHeight; }"""
# Nothing of JupyterLab lies above the picture, at any corner of the window.
ABOVE_ALL = """root => [[3, 3], [innerWidth - 3, 3], [3, innerHeight - 3], [innerWidth - 3, innerHeight - 3]]
  .every(([x, y]) => root.contains(document.elementFromPoint(x, y)))"""


@pytest.fixture(scope="module")
def server(lab: Lab) -> Lab:
    lab.write("small.ipynb", *CELLS.values())
    lab.write("large.ipynb", *CELLS.values(), SCALARS)
    return lab


@pytest.fixture(scope="module", params=these_first(SIZES, ("1024",)))
def small(request: pytest.FixtureRequest, server: Lab) -> Iterator[tuple[Page, str]]:
    """The notebook in a window of this size, all of it run, with the theme that its pictures are to have."""
    size, theme = SIZES[request.param]
    with open_page(size) as page:
        page.emulate_media(reduced_motion="reduce")
        server.open(page, "small.ipynb")
        page.evaluate(THEME, f"JupyterLab {'Dark' if theme == 'dark' else 'Light'}")
        page.evaluate("window.jupyterapp.shell.collapseLeft()")
        server.run_all(page)
        yield page, theme
        assert_clean(page)
        server.close()


def shown(page: Page, name: str, theme: str) -> Locator:
    """The picture of a cell, in sight and in its theme, as it is when it was just run."""
    cell = page.locator(".jp-CodeCell").nth([*CELLS].index(name))
    cell.scroll_into_view_if_needed()
    root = cell.locator(".wb-player")
    root.wait_for()
    worn = "root => root.closest('[data-wb-theme]').dataset.wbTheme"
    for _ in range(5):
        if theme == "dark" or root.evaluate(worn) == theme:
            break
        root.press("t")
    root.evaluate("root => root.scrollIntoView({ block: 'start' })")
    return root


def test_a_picture_takes_three_quarters_of_the_notebook_and_the_whole_browser_window(server: Lab) -> None:
    """At 1440 x 900, beside the list of files."""
    with open_page((1440, 900)) as page:
        page.emulate_media(reduced_motion="reduce")
        server.open(page, "large.ipynb")
        server.run_all(page)
        for nth, cell in enumerate(page.locator(".jp-CodeCell").all()):
            cell.scroll_into_view_if_needed()
            root = cell.locator(".wb-player")
            root.wait_for()
            root.evaluate("root => { root.scrollIntoView({ block: 'start' }); root.focus({ preventScroll: true }); }")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            high, before = page.evaluate(NOTEBOOK)[0], root.evaluate(STANDS)
            assert before["scale"] <= 1 and before["window"][3] <= 0.75 * high
            assert place_of(root)["height"] <= high
            assert nth < len(CELLS) or root.evaluate(ALL_IN_SIGHT)
            page.keyboard.press("f")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert root.evaluate(ABOVE_ALL) and root.evaluate(STANDS)["scale"] > before["scale"]
            page.mouse.click(1400, 890)  # on no box; which JupyterLab hears too
            assert root.evaluate("root => root.contains(document.activeElement)") and root.evaluate(ABOVE_ALL)
            page.keyboard.press("Escape")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert root.evaluate(STANDS) == before
            assert root.evaluate("root => root.contains(document.activeElement)")
        assert page.locator(".jp-CodeCell").count() == len(CELLS) + 1  # JupyterLab took none of the keys
        root.press("f")
        page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.locator(".wb-player").first.wait_for(state="detached")
        assert page.evaluate("document.querySelectorAll(':popover-open, [data-wb-full]').length") == 0
        assert_clean(page)
        server.close()


def menu(root: Locator, action: str) -> None:
    wanted = root.locator(f'[data-action="{action}"]')
    if not wanted.is_visible():
        root.locator('[data-action="menu"]').click()
    wanted.click()


def assert_all_there(page: Page, root: Locator, theme: str) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert root.evaluate(CUT) == []
    high, right, beside = page.evaluate(NOTEBOOK)
    assert (right, beside) == (0, 0)
    assert math.floor(place_of(root)["height"]) <= high
    # What is whole may be smaller, but not in a lecture hall.
    assert root.evaluate(SMALLEST) > (7 if theme != "projector" and root.evaluate(ALL_IN_SIGHT) else 10.99)
    assert place_of(root.locator(".wb-view"))["height"] >= 100


@pytest.mark.parametrize("name", CELLS)
def test_every_control_is_in_sight_and_the_text_is_large_enough(small: tuple[Page, str], name: str) -> None:
    page, theme = small
    root = shown(page, name, theme)
    assert_all_there(page, root, theme)
    root.press("/")
    root.locator("[type=search]").wait_for()
    assert root.evaluate(CUT) == []
    assert place_of(root)["height"] <= page.evaluate(NOTEBOOK)[0] + 1
    page.keyboard.press("Escape")
    size = page.viewport_size
    for action, part in (("menu", ".wb-menu"), ("keys", ".wb-keys")):
        menu(root, action)
        box = place_of(root.locator(part))
        assert box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= size["width"] and box["y"] + box["height"] <= size["height"]
        page.keyboard.press("Escape")
    if name != "explore":
        menu(root, "predict")
        if name == "stepper":
            root.locator('[aria-label="Prediction"] input').first.wait_for()
        assert_all_there(page, root, theme)
        menu(root, "predict")


def test_what_a_stepper_is_asked_for_is_in_sight(small: tuple[Page, str]) -> None:
    """The gradient of one of several outputs can be changed, and what is watched is read."""
    page, theme = small
    root = shown(page, "stepper", theme)
    nr = root.locator("[name=nr]")
    for _ in range(30):
        if nr.is_visible():
            break
        before = root.get_attribute("data-answered")
        root.press("s")
        wait_until(page, f"document.querySelector('.wb-stepper').dataset.answered !== '{before}'")
    assert nr.locator("option").all_text_contents() == ["output 0", "output 1"]
    assert_all_there(page, root, theme)
    assert nr.evaluate(WHOLE)
    root.press("w")
    root.locator(".wb-desk p").nth(1).wait_for()
    assert_all_there(page, root, theme)
    for line in root.locator(".wb-desk p").all():
        box, desk = place_of(line), place_of(root.locator(".wb-desk"))
        assert desk["y"] <= box["y"] and box["y"] + box["height"] <= desk["y"] + desk["height"]


def test_a_dark_picture_has_dark_scrollbars(small: tuple[Page, str]) -> None:
    page, theme = small
    root = shown(page, "player", theme)
    scheme = "e => getComputedStyle(e).colorScheme"
    assert root.locator(".wb-view").evaluate(scheme) == ("dark" if theme == "dark" else "light")
