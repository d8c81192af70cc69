"""The stepper's search, themes and sizes in a real JupyterLab: as the player's."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import place_of, wait_until
from lesson_page import _THEME as THEME
from playwright.sync_api import Page, expect
from test_stepper_browser import VISIBLE, Stepper, opened, page, run

__all__ = ["opened", "page"]


def test_a_stepper_has_search_themes_and_the_sizes_of_a_projector(page: Page) -> None:
    s = Stepper(page)
    s.root.focus()
    page.keyboard.press("/")
    page.keyboard.type("pow")
    expect(s.root.locator(".wb-hits")).to_have_text("1 of 1: (p - tensor([3.0, 5.0])) ** 2")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('wb-kind-op')")
    for _ in range(3):
        page.keyboard.press("t")
    worn = '[role="menuitemradio"][aria-checked="true"]'
    expect(s.root.locator(worn)).to_have_attribute("data-action", "theme-projector")
    page.keyboard.press("1")  # a picture opens fitted, with less
    sizes = s.root.evaluate("""root => [...root.querySelectorAll("button, input, select, p, span, text")]
        .filter((e) => e.getClientRects().length).map((e) => e.tagName === "text"
          ? parseFloat(getComputedStyle(e).fontSize) * e.getCTM().a : parseFloat(getComputedStyle(e).fontSize))""")
    assert min(sizes) >= 18 - 1e-3
    found = Axe().run(page, context=".wb-stepper")
    assert found.response["violations"] == []
    assert place_of(s.root)["height"] <= page.evaluate(VISIBLE)
    # Whoever teaches need not say it at every picture.
    run(page, "workbench.step(loss * 2)")
    second = Stepper(page, "Autograd graph")
    expect(second.root.locator(worn)).to_have_attribute("data-action", "theme-projector")
    second.root.focus()
    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(second.root.locator(worn)).to_have_attribute("data-action", "theme-auto")


def test_axe_finds_nothing_in_either_theme(page: Page) -> None:
    s = Stepper(page)
    s.press("s", "s", "b")
    s.predict()
    for theme in ("Dark", "Light"):
        page.evaluate(THEME, f"JupyterLab {theme}")
        wait_until(page, f"document.body.dataset.jpThemeLight === '{str(theme == 'Light').lower()}'")
        found = Axe().run(page, ".wb-stepper")
        assert found.violations_count == 0, found.generate_report()


def test_the_picture_stays_where_it_is_whatever_there_is_to_say(page: Page) -> None:
    run(page, "w.register_hook(lambda grad: print('a hook', 'of many words' * 40)); s = workbench.step(loss)\ns")
    s = Stepper(page, nth=1)
    s.root.wait_for()
    below = "root => root.querySelector('.wb-body').getBoundingClientRect().top - root.getBoundingClientRect().top"
    places = [s.root.evaluate(below)]

    def act(action: str) -> None:
        s.click(action)
        places.append(s.root.evaluate(below))

    for _ in range(7):
        act("step")
    for _ in range(3):
        act("back")
    assert s.says("printed").startswith("Printed: a hook") or s.says("warnings")
    s.root.locator("[name=edit]").fill("2")
    act("edit")
    act("run")
    assert s.says("first") and s.says("warnings")
    s.root.locator("[name=until]").fill("no such place")
    act("back")
    act("until")
    assert s.says("said").startswith("No node or scope named")
    assert len(set(places)) == 1


SCALARS = """w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))
workbench.step(((w * x + b) - 7) ** 2)"""


def test_on_a_small_projector_seven_boxes_are_in_sight(page: Page) -> None:
    shell = "() => window.jupyterapp.shell."
    page.set_viewport_size({"width": 1024, "height": 768})
    page.evaluate(f"{shell}collapseLeft()")
    try:
        run(page, SCALARS)
        s = Stepper(page, "Autograd graph")
        s.root.locator('[data-action="menu"]').click()
        s.root.locator('[data-action="theme-projector"]').click()
        assert place_of(s.root)["height"] <= page.evaluate(VISIBLE)
        view = place_of(s.root.locator(".wb-view"))
        boxes = [place_of(box) for box in s.root.locator(".wb-box .wb-frame").all()]
        whole = [
            box["x"] >= view["x"] and box["x"] + box["width"] <= view["x"] + view["width"]
            and box["y"] >= view["y"] and box["y"] + box["height"] <= view["y"] + view["height"]
            for box in boxes
        ]  # fmt: skip
        assert sum(whole) >= 7
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.evaluate(f"{shell}expandLeft()")


PLACES = """root => [...root.querySelectorAll(".wb-body, .wb-below")]
    .map((part) => part.getBoundingClientRect())
    .flatMap(({ top, height }) => [top - root.getBoundingClientRect().top, height])"""
# Whether nothing covers a part's first corner, where it is on the page.
SEEN = """part => { const { x, y } = part.getBoundingClientRect();
    return part.contains(document.elementFromPoint(x + 4, y + 8)); }"""


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((1440, 900), "light"),
        pytest.param((1440, 900), "dark", marks=pytest.mark.scheduled),
        pytest.param((1440, 900), "projector", marks=pytest.mark.scheduled),
        ((1024, 768), "projector"),
    ],
)
def test_what_is_watched_takes_its_room_once_and_then_it_stays_as_high(
    page: Page, size: tuple[int, int], theme: str
) -> None:
    s = Stepper(page)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        s.root.locator('[data-action="menu"]').click()
        s.root.locator(f'[data-action="theme-{theme}"]').click()
        top, view, _, below = s.root.evaluate(PLACES)
        s.press("w")
        before = s.root.evaluate(PLACES)
        assert before[0] == top and before[1] <= view and before[3] > below
        s.press("r")
        run(page, "s.breakpoint('mul'); s.breakpoint(over=100); s.back(5);")
        s.root.locator("[name=edit]").fill("[1, 2]")
        s.click("edit")
        s.press("r", "b", "r")
        page.evaluate("() => document.querySelector('.wb-stepper').scrollIntoView({ block: 'end' })")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        beside = s.root.evaluate(PLACES)  # of two pictures each has half the width, and needs less height
        assert (beside[0], beside[3]) == (before[0], before[3])
        assert place_of(s.root)["height"] <= page.evaluate(VISIBLE)
        assert place_of(s.root.locator(".wb-bar"))["height"] < 60, "one row"
        for part in (".wb-first", ".wb-desk p", ".wb-desk th button", ".wb-standing"):
            assert s.root.locator(part).first.evaluate(SEEN), part
        found = Axe().run(page, context=".wb-stepper")
        assert found.response["violations"] == []
        s.press("ArrowLeft")
        s.predict()
        assert s.root.evaluate(PLACES) == beside
        for part in (".wb-first", "[name=guess]"):
            assert s.root.locator(part).first.evaluate(SEEN), part
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


# Where a part that scrolls cuts a line in two: none, however much it holds.
CUT = """root => [...root.querySelectorAll(".wb-caption, .wb-desk:not([hidden])")].flatMap((part) => {
    const { top } = part.getBoundingClientRect(), from = top + part.clientTop, end = from + part.clientHeight;
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), cut = [];
    while (texts.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(texts.currentNode);
        for (const { top, bottom } of range.getClientRects())
            if (top < end - 1 && bottom > end + 1) cut.push(texts.currentNode.data);
    }
    return cut; })"""


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((1440, 900), "light"),
        ((1024, 768), "projector"),
        pytest.param((1440, 900), "projector", marks=pytest.mark.scheduled),
        pytest.param((800, 768), "light", marks=pytest.mark.scheduled),
    ],
)
def test_no_line_of_what_is_told_is_cut(page: Page, size: tuple[int, int], theme: str) -> None:
    s = Stepper(page)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        s.root.locator('[data-action="menu"]').click()
        s.root.locator(f'[data-action="theme-{theme}"]').click()
        s.press("s", "s")
        assert s.root.evaluate(CUT) == []
        if size[0] > 800:
            assert s.root.locator(".wb-caption").evaluate("part => part.scrollHeight === part.clientHeight")
        s.press("w")
        assert s.root.evaluate(CUT) == []
        s.press("w", "r")
        run(page, "s.back(5);")
        s.root.locator("[name=edit]").fill("[1, 2]")
        s.click("edit")
        s.press("r")
        assert s.root.evaluate(CUT) == []
        rows = s.root.locator(".wb-desk tr").all()
        bottom = place_of(s.root.locator(".wb-desk"))
        assert len(rows) == 6
        assert place_of(rows[3])["y"] + place_of(rows[3])["height"] <= bottom["y"] + bottom["height"]
        assert place_of(s.root)["height"] <= page.evaluate(VISIBLE)
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


def test_the_slopes_of_what_runs_are_in_sight_in_a_lecture_hall(page: Page) -> None:
    shell = "() => window.jupyterapp.shell."
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate(f"{shell}collapseLeft()")
    try:
        run(page, SCALARS)
        s = Stepper(page, "Autograd graph")
        s.root.locator('[data-action="menu"]').click()
        s.root.locator('[data-action="theme-projector"]').click()
        counts = []
        for _ in range(5):
            s.press("s")
            pills = s.root.locator(".wb-view .wb-state-flowing .wb-pill").all()
            counts.append(len(pills))
            for pill in pills:
                wait_until(page, PILL, pill.element_handle())
        assert counts == [1, 1, 2, 0, 2]
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.evaluate(f"{shell}expandLeft()")


PILL = """pill => { const { left, right, top, bottom } = pill.getBoundingClientRect();
    const view = pill.closest(".wb-view").getBoundingClientRect();
    return left >= view.left && right <= view.right && top >= view.top && bottom <= view.bottom; }"""
