"""How a picture opens: whole, no larger than it is, in a window that no step changes; and the whole browser window."""

from __future__ import annotations

import pytest
from browser_page import assert_accessible, inside, place_of, resize, settled, wait_until
from player_page import NOTEBOOKS, position, press, scheduled_but, show, wear, whole
from player_programs import board_of, five_steps, long_chain, many_steps, scalars, story_of, three_layers, twelve_nodes

import workbench as torch
from workbench.pictures.scene.picture import to_html

SIZE, CALM = (1440, 900), True
SMALL = (1024, 768)
# How the picture stands: its scale, the place and size of the window onto it, and how far that is scrolled.
STANDS = """() => { const view = document.querySelector(".wb-view"), picture = document.querySelector(".wb-picture");
  const { left, top, width, height } = view.getBoundingClientRect();
  return { scale: picture.getAttribute("width") / picture.viewBox.baseVal.width, window: [left, top, width, height],
    scrolled: [view.scrollLeft, view.scrollTop] }; }"""
# The same, but for how far it is scrolled, two frames after each of these steps.
AT_STEPS = f"""async (steps) => {{
  const found = [], frame = () => new Promise((done) => requestAnimationFrame(done));
  for (const k of steps) {{
    player.go(k);
    await frame();
    await frame();
    const {{ scale, window }} = ({STANDS})();
    found.push([scale, window]);
  }}
  return found; }}"""
# The whole browser window: that of the player, whatever lies around it.
COVERS = """() => { const { left, top, width, height } = document.querySelector(".wb-player").getBoundingClientRect();
  const over = [[3, 3], [innerWidth - 3, 3], [3, innerHeight - 3], [innerWidth - 3, innerHeight - 3]]
    .every(([x, y]) => document.elementFromPoint(x, y)?.closest(".wb-player"));
  return over && [left, top, width, height].join() === [0, 0, innerWidth, innerHeight].join(); }"""
FULL = "document.querySelectorAll('[data-wb-full]').length"
HAS_FOCUS = "document.activeElement.closest('.wb-player') !== null"


def opened(page, story, size=SIZE, theme="light"):
    """The picture in a notebook in a window of this size, as it opens in this theme."""
    resize(page, *size)
    show(page, story, notebook=NOTEBOOKS[size])
    wear(page, theme)
    show(page, story, again=True, notebook=NOTEBOOKS[size])
    settled(page)


def stands(page):
    settled(page)
    return page.evaluate(STANDS)


def label(page):
    return page.locator('[data-action="full"]').get_attribute("aria-label")


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_seven_operations_open_whole_beside_the_list_of_files(page, theme):
    opened(page, story_of(scalars), theme=theme)
    assert whole(page) and 0.6 <= stands(page)["scale"] <= 1


EVERYWHERE = [(size, theme) for size in (SIZE, SMALL) for theme in ("light", "dark", "print", "projector")]
FEW = [(SIZE, "light"), (SMALL, "projector")]


@pytest.mark.parametrize(("size", "theme"), scheduled_but(FEW, EVERYWHERE, 2))
def test_scale_and_window_are_the_same_at_every_step_and_nothing_is_larger_than_it_is(page, size, theme):
    for view in (None, "saved", "memory", "versions"):
        for program in (scalars, three_layers, five_steps):
            story = story_of(program, view)
            opened(page, story, size, theme)
            first = stands(page)
            assert first["scale"] < (1.5 if theme == "projector" else 1) + 1e-6
            assert first["window"][3] <= 0.75 * NOTEBOOKS[size][1]
            steps = range(0, len(story["steps"]), 1 + len(story["steps"]) // 12)
            moved = [at for at in page.evaluate(AT_STEPS, [*steps]) if at != [first["scale"], first["window"]]]
            assert moved == [], (view, program.__name__, first)


@pytest.mark.parametrize("size", [SIZE, SMALL])
def test_what_does_not_fit_opens_large_enough_to_be_read_where_the_step_is(page, size):
    story = story_of(long_chain, depth=9)
    story["start"] = len(story["steps"]) // 3
    opened(page, story, size)
    assert stands(page)["scale"] == pytest.approx(11 / 12 if size == SIZE else 1)
    view, box = place_of(page.locator(".wb-view")), place_of(page.locator("[data-current] .wb-frame"))
    assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"]


def test_a_small_picture_takes_only_the_height_that_it_needs(page):
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        (x * 3).backward()
    opened(page, trace.show().storyboard.to_dict())
    high = page.evaluate("document.querySelector('.wb-picture').getBoundingClientRect().height")
    assert whole(page) and stands(page)["window"][3] == pytest.approx(high, abs=1)


def test_what_is_said_of_a_box_makes_no_picture_larger_and_leaves_it_as_it_was(page):
    opened(page, story_of(scalars))
    first = stands(page)
    page.locator('.wb-box[aria-label*="exp"]').first.press("Enter")
    assert page.locator(".wb-details").is_visible()
    assert 0.58 < stands(page)["scale"] <= first["scale"]
    page.keyboard.press("Escape")
    assert stands(page) == first


@pytest.mark.parametrize("options", [{"open": []}, {}])
def test_the_window_follows_the_notebook_when_that_becomes_higher(page, options):
    opened(page, story_of(three_layers, **options))
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
    opened(page, story_of(three_layers))
    before = stands(page)["scale"]
    page.locator(".wb-kind-group:has(.wb-fold)").first.click()
    assert stands(page)["scale"] == pytest.approx(before)


@pytest.mark.parametrize(
    ("theme", "size", "way"),
    [("light", SIZE, "f"), ("light", SMALL, "button"), ("projector", SIZE, "button"), ("projector", SMALL, "Escape")],
)
def test_the_whole_browser_window_and_back_to_what_was_before(page, theme, size, way):
    def enter_by(way):
        page.locator('[data-action="full"]').click() if way == "button" else page.keyboard.press(way)
        settled(page)

    opened(page, story_of(twelve_nodes), size, theme)
    page.locator(".wb-player").focus()
    press(page, "in")
    press(page, "in")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    page.locator(".wb-player").focus()
    page.locator(".jp-WindowedPanel-outer").evaluate("book => book.scrollTo(0, 50)")
    before = stands(page)
    assert before["scrolled"] != [0, 0] and label(page) == "Full screen"
    enter_by("button" if way == "button" else "f")
    assert page.evaluate(COVERS) and label(page) == "Leave full screen" and page.evaluate(HAS_FOCUS)
    assert stands(page)["scale"] != before["scale"]
    enter_by(way)
    assert stands(page) == before and page.evaluate(FULL) == 0
    assert page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop") == 50
    assert label(page) == "Full screen" and page.evaluate(HAS_FOCUS) and page.evaluate("leaked") == []


def test_every_key_works_in_the_whole_browser_window_and_the_step_that_it_comes_to_is_kept(page):
    opened(page, story_of(twelve_nodes), SMALL)
    page.locator(".wb-player").focus()
    before = stands(page)
    page.keyboard.press("Home")
    page.keyboard.press("f")
    first = stands(page)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        assert (stands(page)["scale"], stands(page)["window"]) == (first["scale"], first["window"])
    assert position(page).startswith("5 /")
    page.keyboard.press("?")
    keys = page.locator(".wb-keys")
    assert keys.is_visible() and "Full screen" in keys.inner_text()
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
    assert_accessible(page)
    page.keyboard.press("Escape")
    now, box = stands(page), place_of(page.locator("[data-current] .wb-frame"))
    assert page.evaluate(FULL) == 0 and position(page).startswith("5 /")
    assert (now["scale"], now["window"]) == (before["scale"], before["window"])
    assert inside(box, place_of(page.locator(".wb-view")))


def test_a_theme_and_an_open_group_leave_the_picture_in_the_whole_browser_window(page):
    opened(page, story_of(three_layers, open=[]))
    before = stands(page)
    page.locator(".wb-player").press("f")
    page.locator(".wb-kind-group:has(.wb-fold)").first.click()
    for theme in ("projector", "light"):
        wear(page, theme)
        assert page.evaluate(COVERS) and label(page) == "Leave full screen", theme
    page.locator(".wb-player").press("Escape")
    assert page.evaluate(FULL) == 0 and stands(page)["window"][:3] == before["window"][:3]


def test_of_two_pictures_one_takes_the_window_and_one_that_goes_leaves_nothing(page):
    story = story_of(three_layers)
    show(page, story)
    page.evaluate("""story => { const el = document.createElement("div"); el.id = "other";
        document.querySelector("main").append(el); mount(el, story); }""", story)  # fmt: skip
    page.locator("#here .wb-player").press("f")
    page.locator("#other .wb-player").evaluate("root => root.focus()")  # as a host may give it the keys
    settled(page)
    assert page.evaluate(FULL) == 0
    page.locator("#here .wb-player").press("f")
    page.locator("#other [data-action='full']").evaluate("button => button.click()")
    assert page.evaluate("[...document.querySelectorAll('[data-wb-full]')].map(({ id }) => id)") == ["other"]
    page.evaluate("document.querySelector('main').replaceChildren()")
    assert page.evaluate(FULL) == 0 and page.evaluate("document.querySelectorAll(':popover-open').length") == 0
    assert page.evaluate("document.elementFromPoint(300, 300).closest('.wb-player')") is None


def test_a_cell_that_is_run_again_while_its_picture_takes_the_window_stands_in_the_page(page):
    story = story_of(three_layers)
    opened(page, story)
    before = stands(page)
    page.locator(".wb-player").press("f")
    show(page, story, again=True, notebook=NOTEBOOKS[SIZE])
    assert page.evaluate(FULL) == 0 and stands(page) == before


def test_tab_beyond_the_last_button_leaves_the_whole_browser_window(page):
    show(page, story_of(scalars))
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button id=next>next</button>')")
    page.locator(".wb-player").press("f")
    page.locator(".wb-box[tabindex='0']").focus()
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "next":
            break
    assert page.evaluate("document.activeElement.id") == "next" and page.evaluate(FULL) == 0


def test_a_page_of_one_picture_goes_to_the_whole_window_with_no_click_before(page, tmp_path):
    (tmp_path / "page.html").write_text(to_html(board_of(many_steps)), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    wait_until(page, "document.querySelector('.wb-player .wb-box') !== null")
    before = stands(page)
    page.keyboard.press("f")
    settled(page)
    assert page.evaluate(COVERS)
    page.keyboard.press("Escape")
    assert stands(page) == before and page.evaluate(FULL) == 0


def test_in_a_small_window_the_overview_lies_over_the_picture_where_it_hides_least(page):
    """It takes none of the width, and the player scrolls as far as without it."""
    story = story_of(long_chain, depth=9)
    story["start"] = len(story["steps"]) // 3
    opened(page, story, SMALL)
    player, view, overview = (place_of(page.locator(name)) for name in (".wb-player", ".wb-view", ".wb-map"))
    assert view["width"] >= player["width"] - 2 and overview["width"] < view["width"] / 4
    assert view["x"] <= overview["x"] and overview["x"] + overview["width"] <= view["x"] + view["width"]
    assert view["y"] <= overview["y"] and overview["y"] + overview["height"] <= view["y"] + view["height"]
