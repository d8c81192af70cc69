"""The player in every theme: colors, sizes, contrast, focus, and on paper."""

from __future__ import annotations

import pytest
from browser_page import assert_accessible, resize
from player_page import go, press, scheduled_but, show, wear, whole
from player_story import WIDE, storyboard

from workbench.pictures.scene.theme import THEMES

CALM = True
STORY = storyboard().to_dict()


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
    colors = THEMES[theme].colors
    canvas = "getComputedStyle(document.querySelector('.wb-player')).getPropertyValue('--wb-canvas').trim()"
    scheme_of = "getComputedStyle(document.querySelector('.wb-view')).colorScheme"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for said in ("true", "false"):
            page.evaluate("said => { document.body.dataset.jpThemeLight = said }", said)
            assert page.evaluate(canvas) == colors["canvas"]
            # Scroll bars and fields are the browser's own in that theme.
            assert page.evaluate(scheme_of) == ("dark" if theme == "dark" else "light")


EVERYWHERE = [(theme, width) for theme in ("light", "dark", "projector", "print") for width in (1280, 420)]
FEW = [("light", 420), ("dark", 1280), ("projector", 420), ("print", 1280)]


@pytest.mark.parametrize(("theme", "width"), scheduled_but(FEW, EVERYWHERE, 2))
def test_axe_finds_nothing_in_any_theme(page, theme, width):
    resize(page, width, 900)
    wear(page, theme)
    go(page, 5)
    page.locator('[data-id="n1"]').click()
    press(page, "find")
    page.keyboard.type("x")
    press(page, "keys")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("theme", "least"), [("auto", 11), ("dark", 11), ("print", 11), ("projector", 18)])
def test_no_text_is_smaller_than_its_theme_allows(page, theme, least):
    wear(page, theme)
    press(page, "own")  # a picture opens fitted, with less
    go(page, 6)
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
    for word in ("Next step", "Previous step", "Find", "Zoom", "Fit", "Pan", "Theme", "Close", "Show shortcuts"):
        assert word in said


@pytest.mark.parametrize("theme", ["light", "dark", "projector", "print"])
def test_the_focus_is_seen(page, theme):
    wear(page, theme)
    press(page, "find")
    for selector in ('[data-action="fit"]', '[data-action="menu"]', ".wb-slider", ".wb-find input"):
        page.locator(selector).focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        style, width = page.evaluate("""() => { const s = getComputedStyle(document.activeElement);
            return [s.outlineStyle, parseFloat(s.outlineWidth)]; }""")
        assert style == "solid" and width >= 2, selector


def test_on_paper_the_picture_stands_alone_in_black(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator(".wb-bar").is_visible() and page.locator(".wb-sentence").is_visible()
    ink = "getComputedStyle(document.querySelector('.wb-player')).getPropertyValue('--wb-ink').trim()"
    assert page.evaluate(ink) == "#000000"
    assert page.evaluate("document.getElementById('here').dataset.wbTheme") == "auto"


@pytest.mark.parametrize("theme", ["light", "projector"])
@pytest.mark.parametrize("size", [(1280, 900), (400, 500)])
def test_what_opens_can_be_read(page, theme, size):
    resize(page, size[0], size[1])
    for story in (STORY, WIDE):
        show(page, story)
        wear(page, theme)
        drawn = page.evaluate("document.querySelector('.wb-picture text').getBoundingClientRect().height / "
                              "document.querySelector('.wb-picture text').getBBox().height")  # fmt: skip
        # In a narrow window the projector's text stays large; in others it is as large as seven boxes allow.
        assert drawn * 12 >= (18 if theme == "projector" and size[0] < 800 else 11) - 0.01
        assert size[0] < 800 or whole(page) or drawn * 12 < 11.01 or theme == "projector"
