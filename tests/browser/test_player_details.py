"""A box tells everything about itself when clicked or opened by key, and the keyboard reaches it all."""

from __future__ import annotations

import pytest
import trace_samples as samples
from browser_page import assert_accessible, place_of, resize, settled, wait_until
from player_page import focused, go, in_sight, position, press, show
from player_story import SOURCE, WIDE, storyboard

from workbench.pictures.views import storyboard as told

STORY = storyboard().to_dict()


def panel(page):
    return page.locator(".wb-details")


def test_a_click_shows_the_functions_source_and_escape_puts_it_away(page):
    assert not panel(page).is_visible()
    page.locator('[data-id="n1"]').click()
    assert panel(page).locator(".wb-panel-title").inner_text() == "Square"
    assert panel(page).locator(".wb-panel-kind").inner_text() == "custom Function"
    assert panel(page).locator(".wb-heading").all_inner_texts() == ["forward and backward", "Note"]
    assert panel(page).locator("pre").inner_text() == SOURCE
    assert page.locator('[data-id="n1"]').get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not panel(page).is_visible()
    assert page.locator('[data-id="n1"]').get_attribute("aria-expanded") == "false"


def test_values_show_name_dtype_shape_and_norm(page):
    page.locator('[data-id="x"]').click()
    assert panel(page).locator(".wb-facts span").all_inner_texts() == ["x", "float64", "(3,)", "norm 3.742"]
    assert panel(page).locator("pre").inner_text() == "[1, 2, 3]"


def test_the_open_panel_follows_the_steps(page):
    page.locator('[data-id="w"]').click()
    assert panel(page).locator(".wb-heading").all_inner_texts() == ["Value"]
    go(page, 5)
    assert panel(page).locator(".wb-heading").all_inner_texts() == ["Gradient"]
    assert panel(page).locator(".wb-panel-kind").inner_text() == "leaf · done"
    go(page, 4)
    assert panel(page).locator(".wb-heading").all_inner_texts() == ["Value"]


def test_stepping_to_before_a_box_was_there_closes_its_panel_and_keeps_the_keys(page):
    page.locator('[data-id="n3"]').click()
    page.keyboard.press("ArrowLeft")
    assert not panel(page).is_visible()
    page.keyboard.press("ArrowLeft")
    assert position(page) == "1 / 8"


def test_what_the_reader_scrolled_to_stays_in_sight_while_stepping(page):
    page.locator('[data-id="n1"]').click()
    page.evaluate("document.querySelector('.wb-details pre').scrollLeft = 40")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert panel(page).locator(".wb-panel-kind").inner_text() == "custom Function · ready"
    assert page.evaluate("document.querySelector('.wb-details pre').scrollLeft") == 40


def test_enter_opens_the_focused_box_and_escape_returns_to_it(page):
    page.locator('[data-id="n2"]').press("Enter")
    assert panel(page).locator(".wb-panel-title").inner_text() == "mul"
    assert focused(page) == "wb-details"
    page.keyboard.press("Tab")
    assert focused(page) == "close"
    page.keyboard.press("ArrowRight")
    assert position(page) == "4 / 8"
    page.keyboard.press("Escape")
    assert focused(page) == "n2"


def test_arrows_scroll_code_instead_of_stepping_while_code_has_the_focus(page):
    page.locator('[data-id="n1"]').click()
    panel(page).locator("pre").focus()
    page.keyboard.press("ArrowRight")
    assert position(page) == "3 / 8"


def test_tab_goes_through_bar_picture_boxes_and_details_in_order(page):
    go(page, 0)
    page.locator('[data-id="n1"]').click()
    page.locator('[data-action="first"]').focus()
    order = [focused(page)]
    for _ in range(13):
        page.keyboard.press("Tab")
        order.append(focused(page))
    # The boxes are one stop: the one that was clicked, or the one that the step is about.
    assert order == [
        "first", "back", "play", "step", "last", "wb-slider", "key", "own", "fit", "full", "menu", "n1", "close", "PRE",
    ]  # fmt: skip
    go(page, 1)
    page.locator('[data-action="menu"]').focus()
    page.keyboard.press("Tab")
    assert focused(page) == "n2"


def test_up_and_down_go_from_box_to_box_and_left_and_right_step_meanwhile(page):
    go(page, 1)
    page.locator(".wb-player").focus()
    page.keyboard.press("ArrowDown")
    assert focused(page) == "n2"
    seen = []
    for _ in range(7):
        page.keyboard.press("ArrowUp")
        seen.append(focused(page))
    # All at one moment: the picture may still be scrolling.
    middles = page.evaluate(
        """ids => ids.map((id) => document.querySelector(`[data-id="${id}"] .wb-frame`).getBoundingClientRect())
            .map(({ y, height }) => Math.round(y + height / 2))""",
        seen,
    )
    assert middles == sorted(middles, reverse=True) and {"n1", "n1.x", "x"} <= {*seen} and seen[-1] == seen[-2]
    assert position(page) == "2 / 8"
    page.keyboard.press("ArrowRight")
    assert position(page) == "3 / 8" and focused(page) == seen[-1]
    assert page.locator('.wb-box[tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    assert panel(page).is_visible() and focused(page) == "wb-details"
    page.keyboard.press("ArrowDown")  # scrolls what is told
    assert focused(page) == "wb-details"


def test_the_tab_stop_is_never_a_box_that_is_not_there(page):
    page.locator('[data-id="loss"]').focus()
    go(page, 0)
    stop = page.locator('.wb-box[tabindex="0"]')
    assert stop.count() == 1 and stop.get_attribute("data-id") == "n1"


def test_the_key_list_opens_and_closes(page):
    page.locator(".wb-player").focus()
    page.keyboard.press("?")
    keys = page.locator(".wb-keys kbd").all_inner_texts()
    assert keys == ["→", "←", "Home", "End", "Space", "p", "↑ ↓", "Enter", "/", "+ −", "0", "1", "f",
                    "Shift ← ↑ → ↓", "k", "t", "Esc", "?"]  # fmt: skip
    page.locator('[data-id="n1"]').click()
    page.keyboard.press("Escape")
    assert not page.locator(".wb-keys").is_visible()
    assert panel(page).is_visible()


def test_the_panel_stands_beside_the_picture_where_there_is_room_and_below_it_elsewhere(page):
    page.locator('[data-id="n1"]').click()
    view = page.locator(".wb-view")
    assert place_of(panel(page))["x"] > place_of(view)["x"] + 300
    resize(page, 600, 900)
    assert place_of(panel(page))["y"] > place_of(view)["y"] + 300
    assert page.evaluate("document.documentElement.scrollWidth") <= 600


def test_details_below_a_high_picture_come_into_sight_and_leave_the_reader_at_the_box(page):
    resize(page, 600, 600)
    page.locator('[data-id="n1"]').click()
    assert place_of(panel(page))["y"] + place_of(panel(page))["height"] < 601
    panel(page).focus()
    page.keyboard.press("Escape")
    box = place_of(page.locator('[data-id="n1"]'))
    assert focused(page) == "n1"
    assert -1 < box["y"] and box["y"] + box["height"] < 601


def test_the_picture_stays_where_it_is_between_long_and_short_sentences(page):
    resize(page, 600, 900)
    story = storyboard().to_dict()
    story["steps"][0]["caption"], story["steps"][1]["caption"] = "Short.", "A sentence of two lines. " * 5
    show(page, story)
    tops = []
    for k in (0, 1):
        go(page, k)
        tops.append(place_of(page.locator(".wb-view"))["y"])
    assert tops[0] == tops[1]


def test_a_picture_too_large_scrolls_to_the_box_of_the_step(page):
    story = storyboard().to_dict() | {"width": 4000, "height": 5000}
    loss = next(box for box in story["boxes"] if box["id"] == "loss")
    loss["x"], loss["y"] = 3000, 4000
    show(page, story)
    page.emulate_media(reduced_motion="reduce")
    for k, id in [(3, "loss"), (4, "n3"), (0, "n1")]:
        go(page, k)
        assert in_sight(page, id)
    assert page.evaluate("scrollY") == 0


def test_text_is_never_smaller_than_12_px_at_full_size(page):
    sizes = page.evaluate("""() => [...document.querySelectorAll(":is(text, span, p, pre, button)")]
        .map((e) => parseFloat(getComputedStyle(e).fontSize))""")
    assert min(sizes) >= 12


def test_fast_steps_end_in_sight_of_the_last_one_and_of_where_its_gradients_went(page):
    story = storyboard().to_dict() | {"height": 3000}
    for box in story["boxes"]:
        if box["id"] == "loss":
            box["y"] = 2900
    show(page, story)
    page.evaluate("player.go(3); player.go(4); player.go(5)")
    for id in ("n2", "n1", "w"):
        wait_until(
            page,
            """id => { const place = (name) => document.querySelector(name).getBoundingClientRect();
                const view = place(".wb-view"), box = place(`[data-id="${id}"] .wb-frame`);
                return view.top <= box.top && box.bottom <= view.bottom; }""",
            id,
        )


def test_a_saved_tensor_that_was_written_is_out_of_date_and_does_not_fail_itself(page):
    show(page, told(samples.written()).to_dict())
    page.locator('[data-id="n2.saved0"]').click()
    assert panel(page).locator(".wb-panel-kind").inner_text() == "saved tensor · out of date"
    # A program that ends in an error opens at the error, its last step.
    assert page.locator('[data-action="last"]').get_attribute("aria-disabled") == "true"
    page.locator('[data-id="n2"]').click()
    assert panel(page).locator(".wb-panel-kind").inner_text() == "operation · failed here"


def test_space_opens_the_focused_box(page):
    page.locator('[data-id="w"]').press(" ")
    assert page.locator(".wb-panel-title").inner_text() == "w"
    assert page.locator(".wb-player").get_attribute("data-playing") == "false"


def test_a_box_may_lead_to_a_step(page):
    story = storyboard().to_dict() | {"start": 6}
    next(box for box in story["boxes"] if box["id"] == "w")["goto"] = 4
    show(page, story)
    assert position(page) == "7 / 8"
    page.locator('[data-id="w"]').click()
    assert position(page) == "5 / 8" and page.locator(".wb-details").is_hidden()
    press(page, "last")
    page.locator('[data-id="w"]').press("Enter")
    assert position(page) == "5 / 8"


@pytest.mark.parametrize("size", [(1280, 900), (588, 600)])
def test_the_details_never_cover_the_box_that_they_are_about(page, size):
    resize(page, *size)
    show(page, WIDE)
    page.evaluate("document.querySelector('.wb-view').scrollTo(600, 200)")
    view = place_of(page.locator(".wb-view"))
    place = "([x, y]) => document.elementFromPoint(x, y).closest('.wb-box')?.dataset.id"
    corner = view["x"] + view["width"] - 60, view["y"] + view["height"] - 30
    ids = [page.evaluate(place, [corner[0] - by, corner[1] - down]) for by in range(0, 160, 20) for down in (0, 20, 40)]
    id = next(filter(None, ids))
    page.locator(f'[data-id="{id}"]').click()
    settled(page)
    assert page.locator(".wb-details").is_visible() and in_sight(page, id)
    assert place_of(page.locator(".wb-player"))["height"] <= size[1]


MEANT = "[...document.querySelectorAll('.wb-key li')].map((row) => row.textContent)"
DRAWN = "[...document.querySelectorAll('.wb-key li svg > g')].map((group) => group.getAttribute('class'))"


def test_the_key_draws_and_names_what_occurs_in_this_picture_and_opens_by_mouse_and_keys(page):
    key, opener = page.locator(".wb-key"), page.locator("[data-action=key]")
    go(page, 0)
    opener.hover()
    assert key.is_visible()
    boxes = ["leaf: its gradient goes to .grad", "input without gradient", "operation", "custom Function"]
    told = page.evaluate(MEANT)
    assert told[:4] == boxes and told[-3:] == [
        "a value without gradient", "gradient sent in this step", "gradient that has flowed back",
    ]  # fmt: skip
    assert not any("tangent" in each or "group" in each or "failed" in each for each in told)
    drawn = page.evaluate(DRAWN)
    assert drawn[:2] == ["wb-box wb-kind-leaf wb-state-idle", "wb-box wb-kind-constant wb-state-idle"]
    looks = "e => getComputedStyle(e).stroke"
    leaf = page.locator('[data-id="x"] .wb-frame').evaluate(looks)
    assert key.locator(".wb-kind-leaf .wb-frame").evaluate(looks) == leaf
    assert_accessible(page, "body")
    page.mouse.move(5, 5)
    wait_until(page, "!document.querySelector('.wb-key').matches(':popover-open')")
    opener.press("Enter")
    assert key.is_visible() and opener.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Tab")
    assert focused(page) == "wb-key"
    page.keyboard.press("Escape")
    assert not key.is_visible() and opener.get_attribute("aria-expanded") == "false"
    page.keyboard.press("k")
    assert key.is_visible()


@pytest.mark.parametrize("view", ["memory", "flow"])
def test_the_key_begins_with_the_sentence_that_explains_the_picture_unless_it_is_left_out(page, view):
    board = told(samples.twice(), view)
    for legend in (board.legend, ""):
        show(page, told(samples.twice(), view, legend=bool(legend)).to_dict())
        if not legend and view == "memory":
            assert not page.locator("[data-action=key]").is_visible()
            continue
        press(page, "key")
        assert page.locator(".wb-key p").all_inner_texts() == ([legend] if legend else [])
        assert ("gradient of positive numbers; wider is larger" in page.evaluate(MEANT)) == (view == "flow")
