"""Groups that open and close in the player: with no kernel, at the same moment, laid out as Python lays them out."""

from __future__ import annotations

from typing import Any

import pytest
from browser_page import open_page
from hypothesis import HealthCheck, Phase, assume, given, settings
from player_page import show
from playwright.sync_api import Page
from test_scene_folding import PALE, assert_in_order, nested, openings, scenes

from workbench.scene.layout import Layout
from workbench.scene.model import Scene, Step
from workbench.scene.routes import Place, Way
from workbench.scene.storyboard import Storyboard


@pytest.fixture(scope="module")
def page():
    with open_page() as page:
        yield page
        assert page.requests_outside == [] and page.console_errors == []


def laid_out(page: Page, board: Storyboard, opened: frozenset[str]) -> tuple[Scene, Layout]:
    """What the page makes of a storyboard with these groups open."""
    made = "([story, opened]) => folded(story, new Set(opened))"
    told: dict[str, Any] = page.evaluate(made, [board.to_dict(), [*opened]])
    boxes = {each["id"]: Place(*(each[name] for name in "xywh")) for each in told["boxes"]}
    arrows = {}
    for each in told["arrows"]:
        pairs = each["d"].replace("M", "").replace("C", "").split()
        points = tuple(tuple(map(float, pair.split(","))) for pair in pairs)
        place = Place(each["lx"] - each["lw"] / 2, each["ly"] - each["lh"] / 2, each["lw"], each["lh"])
        arrows[each["id"]] = Way(points, place)
    return board.folding.seen(board.scene), Layout(told["width"], told["height"], boxes, arrows)


@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(scene=scenes())
def test_a_page_lays_out_what_python_was_not_asked_for(page: Page, scene: Scene) -> None:
    assume(Storyboard(scene).folding.groups)
    show(page, Storyboard(scene).to_dict())
    for first in openings(scene):
        board = Storyboard(scene, opened=first)
        for opened in openings(scene):
            seen = Storyboard(scene, opened=opened)
            _, layout = laid_out(page, board, opened)
            assert layout.boxes.keys() == seen.at(-1).boxes.keys() and layout.arrows.keys() == seen.at(-1).arrows.keys()
            assert_in_order(seen.at(-1), layout)


@pytest.mark.parametrize(("labels", "tones", "told"), PALE)
def test_a_page_says_of_several_why_all_of_them_are_pale(page: Page, labels, tones, told) -> None:
    moves = [{"state": "done", "label": label, "tone": tone} for label, tone in zip(labels, tones, strict=True)]
    board = Storyboard(nested(), [Step("", arrows=dict(zip(("n1>n3", "n1>n2"), moves, strict=True)))])
    show(page, board.to_dict())
    made = "(story) => folded(story, new Set(['outer'])).steps[0].arrows"
    assert [each["label"] for each in page.evaluate(made, board.to_dict()).values()] == [told]
