"""The player steps: buttons, keys and slider show the storyboard's states, exactly in both directions."""

from __future__ import annotations

import pytest
from browser_page import open_page, resize, settled, wait_until
from player_page import everything, go, position, press, show, states
from player_story import storyboard

STORY = storyboard().to_dict()


def expected(k: int) -> dict[str, str]:
    scene = storyboard().at(k)
    return {id: thing.state for id, thing in (scene.boxes | scene.arrows).items()}


def test_it_opens_where_the_forward_ends(page):
    assert position(page) == "3 / 8"
    assert page.locator(".wb-phase").inner_text() == "forward"
    assert states(page) == expected(2)


def test_step_shows_each_state_of_the_storyboard_and_back_is_its_exact_inverse(page):
    press(page, "first")
    seen = [everything(page)]
    for _ in range(7):
        press(page, "step")
        seen.append(everything(page))
    for k, moment in enumerate(seen):
        assert {id: found[0] for id, found in moment.items()} == expected(k)
    for k in reversed(range(7)):
        press(page, "back")
        assert everything(page) == seen[k]


def test_jumps_show_what_steps_show(page):
    for k in (7, 0, 5, 1, 6):
        go(page, k)
        assert states(page) == expected(k)
    for wrong in (-5, "x", None):
        go(page, wrong)
        assert position(page) == "1 / 8"
    go(page, 99)
    assert position(page) == "8 / 8"


# Every place of every dot that is ever there: how many frames the browser makes of a travel is its own business.
WATCH = """() => {
  window.dots = [];
  const look = () => window.dots.push([...document.querySelectorAll(".wb-dot")]
    .map((dot) => new DOMMatrix(getComputedStyle(dot).transform).f));
  new MutationObserver(look).observe(document.querySelector(".wb-dots"),
    { childList: true, subtree: true, attributes: true });
}"""


def travelled(page) -> list[list[float]]:
    """The heights of the dots, frame by frame, once they have set out, arrived and gone."""
    wait_until(page, "dots.some((each) => each.length) && !document.querySelector('.wb-dot')")
    seen = page.evaluate("dots.splice(0)")
    return [each for each in seen if each]


def test_a_gradient_travels_its_edge_and_its_value_stays_there(page):
    page.evaluate(WATCH)
    press(page, "step")
    travelled(page)
    press(page, "step")
    edge = page.locator('[data-id="n2>n3"]')
    assert edge.get_attribute("data-state") == "flowing"
    assert edge.locator(".wb-label").all_text_contents() == ["[1, 1, 1]", "norm 1.732"]
    assert max(map(len, travelled(page))) == 1
    press(page, "step")
    assert edge.get_attribute("data-state") == "done"
    assert edge.locator(".wb-label").all_text_contents() == ["[1, 1, 1]", "norm 1.732"]
    assert max(map(len, travelled(page))) == 2
    assert page.locator('[data-id="n2.self"] .wb-word').text_content() == "freed"


def test_the_dot_climbs_from_the_lower_end_to_the_upper(page):
    page.evaluate(WATCH)
    press(page, "step")
    travelled(page)
    press(page, "step")
    heights = [height for (height,) in travelled(page)]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] - heights[-1] > 10


def test_nothing_travels_where_the_reader_wants_no_motion(page):
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(WATCH)
    press(page, "step")
    assert states(page) == expected(3)
    for _ in range(3):  # a dot would set out two frames later
        settled(page)
    assert page.evaluate("dots.flat()") == []


def test_keys_step_jump_and_play(page):
    page.locator(".wb-player").focus()
    for key, place in [("ArrowRight", 4), ("ArrowRight", 5), ("ArrowLeft", 4), ("Home", 1), ("End", 8)]:
        page.keyboard.press(key)
        assert position(page) == f"{place} / 8"
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert page.get_by_role("button", name="Pause").count() == 1
    page.keyboard.press(" ")
    assert page.get_by_role("button", name="Play").count() == 1
    assert position(page) in ("2 / 8", "3 / 8")  # on a slow machine it may have played on meanwhile


def test_the_slider_goes_anywhere(page):
    slider = page.get_by_role("slider", name="Position")
    slider.fill("6")
    assert states(page) == expected(6)
    assert slider.get_attribute("aria-valuetext") == "7 of 8, backward"
    slider.press("ArrowLeft")
    assert states(page) == expected(5)


def test_play_reaches_the_end_stops_there_and_starts_over(page):
    go(page, 5)
    press(page, "play")
    wait_until(page, "document.querySelector('.wb-player').dataset.position === '7'")
    assert page.locator(".wb-player").get_attribute("data-playing") == "false"
    press(page, "play")
    assert position(page) == "4 / 8"  # the first step of the backward
    assert page.locator(".wb-player").get_attribute("data-playing") == "true"
    press(page, "step")
    assert position(page) == "5 / 8"
    assert page.locator(".wb-player").get_attribute("data-playing") == "false"


def test_the_ends_are_marked_and_keep_the_focus(page):
    page.locator('[data-action="last"]').focus()
    page.keyboard.press("Enter")
    assert page.locator('[data-action="last"]').get_attribute("aria-disabled") == "true"
    assert page.locator('[data-action="back"]').get_attribute("aria-disabled") == "false"
    page.keyboard.press("End")
    assert position(page) == "8 / 8"
    page.keyboard.press("ArrowLeft")
    assert position(page) == "7 / 8"


def test_a_step_from_the_end_starts_the_backward_over_and_says_so_before(page):
    for starts_over in (lambda: press(page, "step"), lambda: page.keyboard.press("ArrowRight")):
        go(page, 7)
        page.locator('[data-action="last"]').focus()
        step = page.get_by_role("button", name="Step: start backward over")
        assert step.get_attribute("aria-disabled") != "true"
        assert "Step: start backward over" in page.locator(".wb-caption").inner_text()
        starts_over()
        assert position(page) == "4 / 8" and states(page) == expected(3)
        assert page.locator('[data-action="step"]').get_attribute("aria-label") == "Step"
        page.keyboard.press("ArrowRight")
        assert position(page) == "5 / 8"


def test_a_story_without_backward_and_a_film_start_over_from_their_first_step(page):
    for change in ({"phase": "forward"}, {"chapter": "step 1"}):
        story = storyboard().to_dict()
        for step in story["steps"]:
            step |= change
        show(page, story)
        go(page, 7)
        page.get_by_role("button", name="Step: start over").click()
        assert position(page) == "1 / 8"


def test_the_arrow_keys_step_the_first_picture_in_sight_before_any_click_but_not_in_a_notebook(page):
    where = "[...document.querySelectorAll('.wb-player')].map(({ dataset }) => dataset.position)"
    page.evaluate("""story => { for (const name of ["", "jp-NotebookPanel"]) { const el = document.createElement("div");
        el.className = name; el.style.marginBottom = "900px"; document.body.append(el);
        mount(el, story); } }""", STORY)  # fmt: skip
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")  # which scrolls the page
    assert page.evaluate(where) == ["3", "2", "2"]
    for at, there in ((1, ["3", "1", "2"]), (2, ["3", "1", "2"])):
        page.evaluate("at => document.querySelectorAll('.wb-player')[at].scrollIntoView()", at)
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(where) == there


def test_the_caption_says_the_step_and_the_line_of_code(page):
    go(page, 1)
    assert page.locator(".wb-sentence").inner_text() == "mul multiplies y by w."
    assert page.locator(".wb-sentence").get_attribute("aria-live") == "polite"
    assert page.locator(".wb-cursor").inner_text().split("\n") == ["lesson.py, line 2", "z = y * w * scale"]


def test_a_host_is_told_of_each_move_once(page):
    press(page, "step")
    press(page, "last")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("moves") == [3, 7, 3]


def test_destroy_leaves_nothing_behind():
    with open_page() as page:
        page.clock.install()
        show(page, STORY)
        press(page, "play")
        page.evaluate("player.destroy()")
        assert page.locator("#here").inner_html() == ""
        moves = page.evaluate("moves")
        page.clock.run_for(10_000)  # it would have played to the end
        assert page.evaluate("moves") == moves and moves[0] == 3 and len(moves) < 5
        assert page.console_errors == []


# How many lines a sentence takes, in whatever room it has.
LINES = """told => {
  const all = document.createRange();
  all.selectNodeContents(told);
  return Math.round(all.getBoundingClientRect().height / parseFloat(getComputedStyle(told).lineHeight));
}"""
PLACE = """() => [".wb-player", ".wb-view", ".wb-caption"].map((part) => document.querySelector(part))
  .flatMap(({ offsetTop, offsetHeight }) => [offsetTop, offsetHeight])"""


@pytest.mark.parametrize("width", [420, 800, 1280])
def test_no_sentence_moves_the_picture_or_changes_the_height_of_the_player(page, width):
    story = storyboard().to_dict()
    for k, step in enumerate(story["steps"]):
        step["caption"] = "`y` gets words, and more words. " * (5 * k % 16)
    resize(page, width, 900)
    show(page, story)
    places, lines = set(), set()
    for k in range(8):
        go(page, k)
        places.add(tuple(page.evaluate(PLACE)))
        told = page.locator(".wb-sentence")
        lines.add(told.evaluate(LINES))
        scrolls = told.evaluate("e => e.scrollHeight - e.clientHeight") > 1
        assert (told.get_attribute("tabindex") == "0") == scrolls  # what is too long is scrolled by keys
    assert len(places) == 1 and {True, False} == {each > 2 for each in lines} and len(lines) > 2


def test_a_name_in_a_sentence_is_colored_like_its_box_and_the_nodes_own_name_is_small(page):
    story = storyboard().to_dict()
    titles = {box["kind"]: box["title"] for box in reversed(story["boxes"])}
    op, leaf, function = titles["op"], titles["leaf"], titles["function"]
    story["steps"][0]["caption"] = (
        f"In iteration 2: `{op}`, 2nd (MulBackward0) sends 1.0 to `{leaf}.grad`; `{function}`."
    )
    show(page, story)
    go(page, 0)
    names = page.locator(".wb-sentence .wb-name")
    assert names.all_inner_texts() == [op, f"{leaf}.grad", function]
    assert [each.get_attribute("data-kind") for each in names.all()] == ["op", "leaf", "function"]
    looks = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor].join()"
    assert len({each.evaluate(looks) for each in names.all()}) == 3
    own = page.locator(".wb-sentence .wb-own")
    assert own.inner_text().strip() == "(MulBackward0)" and "`" not in page.locator(".wb-sentence").inner_text()
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    assert own.evaluate(size) < 0.8 * page.locator(".wb-sentence").evaluate(size)
