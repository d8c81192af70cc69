"""The player in every theme: colours, sizes, contrast, focus, and on paper."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page
from player_page import press, show, wear
from player_story import storyboard
from test_player_finding import WIDE, whole

from workbench.scene.theme import THEMES

STORY = storyboard().to_dict()


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        page.emulate_media(reduced_motion="reduce")
        yield page


@pytest.fixture
def page(browser_tab):
    show(browser_tab, STORY)
    yield browser_tab
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def test_a_key_goes_round_the_themes_and_the_menu_says_which(page):
    seen = []
    page.locator(".wb-player").focus()
    for _ in range(5):
        page.keyboard.press("t")
        press(page, "menu")
        seen += page.locator('[role="group"][aria-label="Theme"] [aria-checked="true"]').all_inner_texts()
        page.keyboard.press("Escape")
    assert seen == ["light", "dark", "projector", "print", "auto"]


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_that_is_chosen_wins_over_the_readers_and_the_hosts(page, theme):
    wear(page, theme)
    colours = THEMES[theme].colours
    canvas = "getComputedStyle(document.querySelector('.wb-player')).getPropertyValue('--wb-canvas').trim()"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for said in ("true", "false"):
            page.evaluate("said => { document.body.dataset.jpThemeLight = said }", said)
            assert page.evaluate(canvas) == colours["canvas"]
    page.emulate_media(color_scheme="null")


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("theme", ["light", "dark", "projector", "print"])
def test_axe_finds_nothing_in_any_theme(page, theme, width):
    page.set_viewport_size({"width": width, "height": 900})
    try:
        wear(page, theme)
        page.evaluate("player.go(5)")
        page.locator('[data-id="n1"]').click()
        press(page, "find")
        page.keyboard.type("x")
        press(page, "keys")
        found = Axe().run(page, ".wb-player")
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize(("theme", "least"), [("auto", 11), ("dark", 11), ("print", 11), ("projector", 18)])
def test_no_text_is_smaller_than_its_theme_allows(page, theme, least):
    wear(page, theme)
    press(page, "own")  # a picture opens fitted, with less
    page.evaluate("player.go(6)")
    page.locator('[data-id="n1"]').click()
    press(page, "find")
    press(page, "keys")
    sizes = page.evaluate("""() => [...document.querySelectorAll(".wb-player *")]
        .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && e.getClientRects().length)
        .map((e) => { const m = e.getScreenCTM?.(); return [parseFloat(getComputedStyle(e).fontSize) * (m ? m.a : 1),
            e.textContent]; })""")
    assert len(sizes) > 30
    assert [found for found in sizes if found[0] < least - 0.01] == []


def test_every_key_is_in_the_list_and_every_listed_key_does_something(page):
    press(page, "keys")
    said = page.locator(".wb-keys").inner_text()
    for word in ("step", "back", "find", "zoom", "fit", "move the picture", "theme", "close", "this list"):
        assert word in said


@pytest.mark.parametrize("selector", ['[data-action="fit"]', '[data-action="menu"]', ".wb-slider", ".wb-find input"])
@pytest.mark.parametrize("theme", ["light", "dark", "projector", "print"])
def test_the_focus_is_seen(page, theme, selector):
    wear(page, theme)
    press(page, "find")
    page.locator(selector).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    style = page.evaluate("""() => { const s = getComputedStyle(document.activeElement);
        return [s.outlineStyle, parseFloat(s.outlineWidth)]; }""")
    assert style[0] == "solid" and style[1] >= 2


def test_on_paper_the_picture_stands_alone_in_black(page):
    page.emulate_media(media="print", color_scheme="dark")
    try:
        assert not page.locator(".wb-bar").is_visible() and page.locator(".wb-sentence").is_visible()
        ink = "getComputedStyle(document.querySelector('.wb-player')).getPropertyValue('--wb-ink').trim()"
        assert page.evaluate(ink) == "#000000"
        wear_nothing = page.evaluate("document.getElementById('here').dataset.wbTheme")
        assert wear_nothing == "auto"
    finally:
        page.emulate_media(media="null", color_scheme="null")


@pytest.mark.parametrize("theme", ["light", "projector"])
@pytest.mark.parametrize("size", [(1280, 900), (400, 500)])
def test_what_opens_can_be_read(page, theme, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        for story in (STORY, WIDE):
            show(page, story)
            wear(page, theme)
            drawn = page.evaluate("document.querySelector('.wb-picture text').getBoundingClientRect().height / "
                                  "document.querySelector('.wb-picture text').getBBox().height")  # fmt: skip
            # In a narrow window the projector's text stays large; in others it is as large as seven boxes allow.
            assert drawn * 12 >= (18 if theme == "projector" and size[0] < 800 else 11) - 0.01
            assert size[0] < 800 or whole(page) or drawn * 12 < 11.01 or theme == "projector"
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("theme", THEMES)
def test_scroll_bars_and_fields_are_the_browsers_own_in_that_theme(page, theme):
    wear(page, theme)
    scheme = "getComputedStyle(document.querySelector('.wb-view')).colorScheme"
    assert page.evaluate(scheme) == ("dark" if theme == "dark" else "light")
