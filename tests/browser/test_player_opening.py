"""How a picture opens: whole, no larger than it is, in a window that no step changes; and the whole browser window."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page, place_of, wait_until
from player_page import position, press, show, wear
from test_player_compact import recorded
from test_player_finding import whole
from test_player_window import NOTEBOOKS, five_steps, many_steps, three_layers, twelve_nodes

import workbench as torch
from workbench.scene.picture import to_html
from workbench.views import storyboard as told

WINDOWS = [(1440, 900), (1024, 768)]
ORDINARY = ["light", "dark", "print"]
# How the picture stands: its scale, the place and size of the window onto it, and how far that is scrolled.
STANDS = """() => { const view = document.querySelector(".wb-view"), picture = document.querySelector(".wb-picture");
  const { left, top, width, height } = view.getBoundingClientRect();
  return { scale: picture.getAttribute("width") / picture.viewBox.baseVal.width, window: [left, top, width, height],
    scrolled: [view.scrollLeft, view.scrollTop] }; }"""
# The whole browser window: that of the player, whatever lies around it.
COVERS = """() => { const { left, top, width, height } = document.querySelector(".wb-player").getBoundingClientRect();
  const over = [[3, 3], [innerWidth - 3, 3], [3, innerHeight - 3], [innerWidth - 3, innerHeight - 3]]
    .every(([x, y]) => document.elementFromPoint(x, y)?.closest(".wb-player"));
  return over && [left, top, width, height].join() === [0, 0, innerWidth, innerHeight].join(); }"""
FULL = "document.querySelectorAll('[data-wb-full]').length"
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def scalars():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    loss.backward()


def long_chain():
    x = torch.tensor(0.5, requires_grad=True)
    y = x
    for k in range(40):
        y = y.sin() if k % 2 else y * 1.1
    y.backward()


@pytest.fixture(scope="module")
def browser_tab():
    with open_page((1440, 900)) as page:
        page.emulate_media(reduced_motion="reduce")
        yield page


@pytest.fixture
def page(browser_tab):
    browser_tab.set_viewport_size({"width": 1440, "height": 900})
    yield browser_tab
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def opened(page, story, size=(1440, 900), theme="light"):
    """The picture in a notebook in a window of this size, as it opens in this theme."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    show(page, story, notebook=NOTEBOOKS[size])
    wear(page, theme)
    show(page, story, again=True, notebook=NOTEBOOKS[size])
    page.evaluate(FRAMES)


def stands(page):
    page.evaluate(FRAMES)
    return page.evaluate(STANDS)


@pytest.mark.parametrize("theme", ORDINARY)
def test_seven_operations_open_whole_beside_the_list_of_files(page, theme):
    opened(page, recorded(scalars), theme=theme)
    assert whole(page) and 0.6 <= stands(page)["scale"] <= 1


@pytest.mark.parametrize("view", [None, "saved", "memory", "versions"])
@pytest.mark.parametrize("theme", [*ORDINARY, "projector"])
@pytest.mark.parametrize("size", WINDOWS)
def test_scale_and_window_are_the_same_at_every_step_and_nothing_is_larger_than_it_is(page, size, theme, view):
    for program in (scalars, three_layers, five_steps):
        with torch.record() as trace:
            program()
        story = (told(trace, view) if view else told(trace)).to_dict()
        opened(page, story, size, theme)
        first = stands(page)
        assert first["scale"] < (1.5 if theme == "projector" else 1) + 1e-6
        assert first["window"][3] <= 0.75 * NOTEBOOKS[size][1]
        for k in range(0, len(story["steps"]), 1 + len(story["steps"]) // 12):
            page.evaluate("k => player.go(k)", k)
            now = stands(page)
            assert (now["scale"], now["window"]) == (first["scale"], first["window"]), (program.__name__, k)


@pytest.mark.parametrize("size", WINDOWS)
def test_what_does_not_fit_opens_large_enough_to_be_read_where_the_step_is(page, size):
    story = recorded(long_chain, depth=9)
    story["start"] = len(story["steps"]) // 3
    opened(page, story, size)
    assert stands(page)["scale"] == pytest.approx(11 / 12)
    view, box = place_of(page.locator(".wb-view")), place_of(page.locator("[data-current] .wb-frame"))
    assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"]


def test_a_small_picture_takes_only_the_height_that_it_needs(page):
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        (x * 3).backward()
    opened(page, told(trace).to_dict())
    high = page.evaluate("document.querySelector('.wb-picture').getBoundingClientRect().height")
    assert whole(page) and stands(page)["window"][3] == pytest.approx(high + 24, abs=1)


def test_what_is_told_of_a_box_makes_no_picture_larger_and_leaves_it_as_it_was(page):
    opened(page, recorded(scalars))
    first = stands(page)
    page.locator('.wb-box[aria-label*="exp"]').first.press("Enter")
    assert page.locator(".wb-details").is_visible()
    assert 0.58 < stands(page)["scale"] <= first["scale"]
    page.keyboard.press("Escape")
    assert stands(page) == first


@pytest.mark.parametrize("options", [{"open": []}, {}])
def test_the_window_follows_the_notebook_when_that_becomes_higher(page, options):
    opened(page, recorded(three_layers, **options))
    before = stands(page)
    assert whole(page)
    high = "high => (document.querySelector('.jp-WindowedPanel-outer').style.height = `${high}px`)"
    page.evaluate(high, 430)
    low = stands(page)
    assert low["window"][3] < before["window"][3]
    if options:  # it can be read whole in the lower window too
        assert whole(page) and low["scale"] < before["scale"]
    else:
        assert not whole(page) and low["scale"] == pytest.approx(11 / 12)
    page.evaluate(high, 779)
    assert stands(page) == before


def test_a_group_that_opens_keeps_the_scale(page):
    opened(page, recorded(three_layers))
    before = stands(page)["scale"]
    page.locator(".wb-kind-group:has(.wb-fold)").first.click()
    assert stands(page)["scale"] == before


def enter_by(page, way):
    if way == "button":
        page.locator('[data-action="full"]').click()
    else:
        page.keyboard.press(way)
    page.evaluate(FRAMES)


@pytest.mark.parametrize("way", ["f", "Escape", "button"])
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("theme", ["light", "projector"])
def test_the_whole_browser_window_and_back_to_what_was_before(page, theme, size, way):
    opened(page, recorded(twelve_nodes), size, theme)
    page.locator(".wb-player").focus()
    press(page, "in")
    press(page, "in")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    page.locator(".wb-player").focus()
    page.locator(".jp-WindowedPanel-outer").evaluate("book => book.scrollTo(0, 50)")
    scrolled, before = "document.querySelector('.jp-WindowedPanel-outer').scrollTop", stands(page)
    label = page.locator('[data-action="full"]')
    assert before["scrolled"] != [0, 0] and label.get_attribute("aria-label") == "Full screen"
    enter_by(page, "button" if way == "button" else "f")
    assert page.evaluate(COVERS) and label.get_attribute("aria-label") == "Leave full screen"
    assert page.evaluate("document.activeElement.closest('.wb-player') !== null")
    assert stands(page)["scale"] != before["scale"]
    enter_by(page, way)
    assert stands(page) == before and page.evaluate(scrolled) == 50 and page.evaluate(FULL) == 0
    assert label.get_attribute("aria-label") == "Full screen"
    assert page.evaluate("document.activeElement.closest('.wb-player') !== null")
    assert page.evaluate("leaked") == []


def test_every_key_works_in_the_whole_browser_window_and_the_step_that_it_comes_to_is_kept(page):
    opened(page, recorded(twelve_nodes), (1024, 768))
    page.locator(".wb-player").focus()
    before = stands(page)
    page.keyboard.press("Home")
    page.keyboard.press("f")
    page.evaluate(FRAMES)
    first = stands(page)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        assert (stands(page)["scale"], stands(page)["window"]) == (first["scale"], first["window"])
    assert position(page).startswith("5 /")
    page.keyboard.press("?")
    keys = page.locator(".wb-keys")
    assert keys.is_visible() and "full screen" in keys.inner_text()
    page.keyboard.press("f")
    page.keyboard.press("f")
    assert page.evaluate("document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('.wb-keys') !== null")
    page.keyboard.press("Escape")
    assert not keys.is_visible() and page.evaluate(FULL) == 1
    page.keyboard.press("/")
    page.keyboard.type("x")
    assert page.evaluate("document.querySelectorAll('[data-found]').length") > 0
    page.keyboard.press("Escape")
    press(page, "menu")
    page.keyboard.press("Escape")
    assert page.evaluate(FULL) == 1
    found = Axe().run(page, ".wb-player")
    assert found.violations_count == 0, found.generate_report()
    page.keyboard.press("Escape")
    page.evaluate(FRAMES)
    assert page.evaluate(FULL) == 0 and position(page).startswith("5 /")
    now, box = stands(page), place_of(page.locator("[data-current] .wb-frame"))
    assert now["scale"] == before["scale"] and now["window"] == before["window"]
    left, top, width, height = now["window"]
    assert left <= box["x"] and box["x"] + box["width"] <= left + width
    assert top <= box["y"] and box["y"] + box["height"] <= top + height


def test_a_theme_and_an_open_group_leave_the_picture_in_the_whole_browser_window(page):
    opened(page, recorded(three_layers, open=[]))
    before = stands(page)
    page.locator(".wb-player").focus()
    page.keyboard.press("f")
    page.locator(".wb-kind-group:has(.wb-fold)").first.click()
    for theme in ("projector", "light"):
        wear(page, theme)
        page.evaluate(FRAMES)
        assert page.evaluate(COVERS), theme
        assert page.locator('[data-action="full"]').get_attribute("aria-label") == "Leave full screen"
    page.locator(".wb-player").focus()
    page.keyboard.press("Escape")
    assert page.evaluate(FULL) == 0 and stands(page)["window"][:3] == before["window"][:3]


def test_of_two_pictures_one_takes_the_window_and_one_that_goes_leaves_nothing(page):
    story = recorded(three_layers)
    show(page, story)
    page.evaluate("""story => { const el = document.createElement("div"); el.id = "other";
        document.querySelector("main").append(el); mount(el, story); }""", story)  # fmt: skip
    page.locator("#here .wb-player").press("f")
    page.locator("#other .wb-player").evaluate("root => root.focus()")  # as a host may give it the keys
    page.evaluate(FRAMES)
    assert page.evaluate(FULL) == 0
    page.locator("#here .wb-player").press("f")
    page.locator("#other [data-action='full']").evaluate("button => button.click()")
    assert page.evaluate("[...document.querySelectorAll('[data-wb-full]')].map(({ id }) => id)") == ["other"]
    page.evaluate("document.querySelector('main').replaceChildren()")
    assert page.evaluate(FULL) == 0 and page.evaluate("document.querySelectorAll(':popover-open').length") == 0
    assert page.evaluate("document.elementFromPoint(300, 300).closest('.wb-player')") is None


def test_a_cell_that_is_run_again_while_its_picture_takes_the_window_stands_in_the_page(page):
    story = recorded(three_layers)
    opened(page, story)
    before = stands(page)
    page.locator(".wb-player").press("f")
    show(page, story, again=True, notebook=NOTEBOOKS[1440, 900])
    assert page.evaluate(FULL) == 0 and stands(page) == before


def test_tab_beyond_the_last_button_leaves_the_whole_browser_window(page):
    show(page, recorded(scalars))
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button id=next>next</button>')")
    page.locator(".wb-player").press("f")
    page.locator(".wb-box[tabindex='0']").focus()
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "next":
            break
    assert page.evaluate("document.activeElement.id") == "next" and page.evaluate(FULL) == 0


def test_a_page_of_one_picture_goes_to_the_whole_window_with_no_click_before(page, tmp_path):
    with torch.record() as trace:
        many_steps()
    (tmp_path / "page.html").write_text(to_html(told(trace)), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    wait_until(page, "document.querySelector('.wb-player .wb-box') !== null")
    before = stands(page)
    page.keyboard.press("f")
    page.evaluate(FRAMES)
    assert page.evaluate(COVERS)
    page.keyboard.press("Escape")
    assert stands(page) == before and page.evaluate(FULL) == 0
