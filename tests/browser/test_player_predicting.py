"""Predictions and the menu: what a reader asks a player for, by mouse and by keys."""

from __future__ import annotations

import pytest
from browser_page import assert_accessible, place_of, resize
from player_page import HEIGHT, focused, position, press, scheduled_but, show, wear
from player_programs import five_steps, one_number, story_of, three_layers
from player_story import storyboard

import workbench as torch
from workbench.pictures.scene.model import Box, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard

SIZE, CALM = (1440, 900), True
STORY = storyboard().to_dict()
# Predicts each step; the player's height and the room for answers before each, as long as there is one to predict.
PREDICTED = """(steps) => Array.from({ length: steps }, () => {
  const field = document.querySelector("[name=guess]"), asks = document.querySelector(".wb-predict");
  const found = [document.querySelector(".wb-player").getBoundingClientRect().height,
    getComputedStyle(asks).getPropertyValue("--wb-asks"), document.querySelector(".wb-position").textContent];
  if (field.checkVisibility()) {
    field.value = "[1, 2]";
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  }
  return found; })"""


def test_the_menu_goes_by_keys_and_gives_the_focus_back(page):
    opener, menu = page.locator('[data-action="menu"]'), page.locator(".wb-menu")
    assert opener.get_attribute("aria-haspopup") == "menu" and opener.get_attribute("aria-expanded") == "false"
    opener.press("Enter")
    assert menu.is_visible() and opener.get_attribute("aria-expanded") == "true" and focused(page) == "predict"
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowDown", "ArrowUp", "Home"):
        page.keyboard.press(key)
        seen.append(focused(page))
    assert seen == ["find", "in", "find", "keys", "predict", "keys", "predict"]
    assert_accessible(page)
    page.keyboard.press("Escape")
    assert not menu.is_visible() and focused(page) == "menu" and position(page) == "3 / 8"
    assert page.evaluate("leaked") == []
    press(page, "find")
    assert not menu.is_visible() and page.evaluate("document.activeElement.type") == "search"


@pytest.mark.parametrize("height", [900, 320])
def test_menu_and_keys_are_in_sight_whatever_the_window(page, height):
    resize(page, 700, height)
    for action, part in (("menu", ".wb-menu"), ("keys", ".wb-keys")):
        press(page, action)
        box = place_of(page.locator(part))
        assert box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= 700 and box["y"] + box["height"] <= height


def test_predicting_hides_what_comes_next_until_it_is_typed(page):
    press(page, "predict")
    ask, said = page.locator(".wb-row label"), page.locator(".wb-predict .wb-said")
    assert ask.inner_text() == "What arrives at sum?"
    page.locator(".wb-player").press("ArrowRight")
    assert position(page) == "3 / 8" and page.evaluate("document.activeElement.name") == "guess"
    page.keyboard.type("-1")
    page.keyboard.press("Enter")
    assert position(page) == "4 / 8" and said.inner_text() == "Your prediction of what arrives at sum: wrong sign."
    assert page.evaluate("document.activeElement.name") == "guess"  # the next one is typed there
    for guess, answer in (("two", "Type a number such as 0.5, or [1, 2]."),
                          ("[1, 1, 1]", "Your prediction of what arrives at mul: right.")):  # fmt: skip
        page.locator("[name=guess]").fill(guess)
        press(page, "check")
        assert said.inner_text() == answer
    place = position(page)
    assert ask.inner_text() == "What arrives at Square?"  # it asks for one of several results
    assert page.locator("[name=guess]").input_value() == ""
    page.locator("[name=guess]").fill("4")
    page.keyboard.press("Enter")
    assert position(page) != place
    assert said.inner_text() == "Your prediction of what arrives at Square: wrong shape: expected 3 numbers."
    page.locator("[name=guess]").fill("[8, 20, 38]")
    page.keyboard.press("Enter")
    assert said.inner_text().endswith("off by 5%.")
    assert position(page) == "7 / 8" and ask.inner_text() == "What comes next?"
    press(page, "last")
    assert position(page) == "7 / 8"
    press(page, "reveal")
    assert position(page) == "8 / 8" and not page.locator(".wb-row").is_visible()
    press(page, "first")  # what was seen needs no guess
    press(page, "last")
    assert position(page) == "8 / 8"
    page.locator(".wb-player").press("End")
    assert position(page) == "8 / 8"
    page.locator(".wb-player").press("ArrowRight")  # nothing comes next: it starts over, and asks again
    assert position(page) == "4 / 8" and ask.inner_text() == "What arrives at mul?"
    press(page, "last")
    assert position(page) == "4 / 8" and page.evaluate("document.activeElement.name") == "guess"
    assert_accessible(page)


WORDS = {"1.004": "right", "-3": "wrong sign and size", "1.5": "off by 50%", "25": "off by a factor of 24"}


@pytest.mark.parametrize(("guess", "answer"), WORDS.items())
def test_how_close_a_guess_is(page, guess, answer):
    press(page, "predict")
    page.locator("[name=guess]").fill(guess)
    page.keyboard.press("Enter")
    told = page.locator(".wb-predict .wb-said").inner_text()
    assert told == f"Your prediction of what arrives at sum: {answer}."


def test_a_shape_or_numbers_are_asked_for_and_told_from_one_another(page):
    """A program's own picture, of which a step's gradient is an array: its shape is right, or only its sizes are."""
    answers = {
        "(2, 3)": "right",
        "(3, 2)": "right size, wrong place",
        "6": "wrong: its shape is (2, 3)",
        "[1, 1, 1, 1, 1, 1]": "right",
        "[-1, -1, -1, -1, -1, -1]": "wrong sign",
    }
    for guess, answer in answers.items():
        show(page, story_of(matrix) | {"start": 2, "predict": True})
        assert page.locator(".wb-row label").inner_text() == "What arrives at a * 2? Its shape, or its numbers:"
        page.locator("[name=guess]").fill(guess)
        page.keyboard.press("Enter")
        assert page.locator(".wb-predict .wb-said").inner_text().endswith(f"a * 2: {answer}."), guess


def matrix():
    """The sum of a matrix of two rows and three columns."""
    a = torch.ones(2, 3, requires_grad=True)
    (a * 2).sum().backward()


# A page of a projector, and a cell of JupyterLab in one.
EVERYWHERE = [*[(theme, SIZE) for theme in ("light", "dark", "print", "projector")]]
EVERYWHERE += [("projector", (1024, 768)), ("projector", (840, 768))]
FEW = [("light", SIZE), ("projector", (1024, 768)), ("projector", (840, 768))]


@pytest.mark.parametrize(("theme", "size"), scheduled_but(FEW, EVERYWHERE, 2))
def test_predicting_leaves_the_player_as_low_as_it_was_asked_to_be(page, theme, size):
    resize(page, *size)
    for program in (three_layers, one_number, five_steps):
        story = story_of(program) | {"predict": True, "start": 0}
        show(page, story)
        wear(page, theme)
        heights, rooms, positions = zip(*page.evaluate(PREDICTED, len(story["steps"])), strict=True)
        assert max(heights) <= size[1] and len(set(positions)) > 1
        assert len(set(rooms)) == 1  # an answer moves nothing
        press(page, "predict")
        assert page.evaluate(HEIGHT) <= size[1]


def test_no_key_plays_or_predicts_where_nothing_comes_next(page):
    show(page, Storyboard(Scene("one", {"a": Box("a", "op", "a")}), [StoryStep("One moment.")]).to_dict())
    page.locator(".wb-player").focus()
    for key in ("Space", "p", "ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        assert page.locator(".wb-player").get_attribute("data-playing") == "false", key
        assert not page.locator(".wb-predict").is_visible(), key


@pytest.mark.parametrize("start", [0, 7])
def test_buttons_of_a_prediction_that_nobody_sees_do_nothing(page, start):
    show(page, STORY | {"start": start})
    for _ in range(2):  # before it was asked for at all, and after it was put away
        for action in ("check", "reveal"):
            page.evaluate(f"document.querySelector('[data-action=\"{action}\"]').click()")
        assert position(page) == f"{start + 1} / 8"
        page.locator(".wb-player").press("p")
        page.locator(".wb-player").press("p")


@pytest.mark.parametrize("action", ["reveal", "check"])
def test_the_keys_stay_in_the_player_when_a_prediction_is_put_away(page, action):
    press(page, "predict")
    page.locator(f'[data-action="{action}"]').focus()
    page.keyboard.press("p")
    assert not page.locator(".wb-predict").is_visible()
    assert page.evaluate("document.activeElement.classList.contains('wb-player')")
    page.keyboard.press("ArrowRight")
    assert position(page) == "4 / 8" and page.evaluate("leaked") == []


def test_a_dimmed_button_does_nothing(page):
    press(page, "last")
    page.locator('[data-action="last"]').evaluate("button => button.click()")
    assert page.evaluate("moves") == [7]
    press(page, "first")
    page.locator('[data-action="back"]').evaluate("button => button.click()")
    assert page.evaluate("moves") == [7, 0]


def test_a_story_may_ask_for_predictions_from_the_start(page):
    show(page, STORY | {"predict": True, "start": 0})
    assert page.locator(".wb-row").is_visible()
    assert page.locator(".wb-row label").inner_text() == "What comes next?"
    press(page, "play")
    assert position(page) == "1 / 8" and page.evaluate("document.activeElement.name") == "guess"
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    assert position(page) == "2 / 8"
