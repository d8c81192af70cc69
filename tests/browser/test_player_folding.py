"""Groups that open and close in the player: with no kernel, at the same moment, laid out as Python lays them out."""

from __future__ import annotations

from typing import Any

import pytest
from browser_page import open_page
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from player_page import show
from playwright.sync_api import Page
from test_scene_folding import PALE, assert_in_order, nested, openings, scenes

from workbench.scene.curves import Route
from workbench.scene.geometry import Rectangle
from workbench.scene.layout import Layout
from workbench.scene.model import Scene, StoryStep, paths
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
    boxes = {each["id"]: Rectangle(*(each[name] for name in "xywh")) for each in told["boxes"]}
    arrows = {}
    for each in told["arrows"]:
        pairs = each["d"].replace("M", "").replace("C", "").split()
        points = tuple(tuple(map(float, pair.split(","))) for pair in pairs)
        place = Rectangle(each["lx"] - each["lw"] / 2, each["ly"] - each["lh"] / 2, each["lw"], each["lh"])
        arrows[each["id"]] = Route(points, place)
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


@st.composite
def stories(draw: st.DrawFn) -> Storyboard:
    """A program in which gradients travel: what each arrow tells alone, and of a sum that it is the last part of."""
    scene, steps = draw(scenes()), []
    lies_in = paths(scene)
    labels, tones = st.sampled_from(["‖1‖", "2.0\nlost"]), st.sampled_from(["plus", "faint", "bad"])
    any_norm = st.floats(1e-7, 1e7).map(lambda norm: float(f"{norm:.6g}"))
    norms = st.one_of(st.sampled_from([None, 0.0, 2.125, 12.25, 0.3125]), any_norm)
    looks = st.tuples(labels, st.integers(0, 4), tones, norms)
    for _ in range(draw(st.integers(1, 3))):
        arrows: dict[str, dict[str, Any]] = {}
        for id, arrow in scene.arrows.items():
            if draw(st.integers(0, 4)):
                fields = {"state": draw(st.sampled_from(["idle", "flowing", "done", "done"]))}
                arrows[id] = fields | dict(zip(("label", "weight", "tone", "norm"), draw(looks), strict=True))
                if draw(st.booleans()):
                    arrows[id] |= {"together": draw(looks), "brief": draw(st.sampled_from([None, "brief"]))}
                if (groups := lies_in[arrow.target]) and draw(st.booleans()):
                    arrows[id]["within"] = {draw(st.sampled_from(groups)): (draw(st.integers(2, 3)), *draw(looks))}
        place = draw(st.sampled_from([None, *scene.boxes]))
        boxes = {id: {"state": draw(st.sampled_from(["running", "done"]))} for id in scene.boxes if draw(st.booleans())}
        steps.append(StoryStep("", boxes=boxes, arrows=arrows, place=place))
    return Storyboard(scene, steps)


@settings(max_examples=60, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(board=stories())
def test_a_page_and_python_fold_alike_at_every_step(page: Page, board: Storyboard) -> None:
    assume(board.folding.groups)
    show(page, board.to_dict())
    for opened in openings(board.scene):
        told = page.evaluate("([story, opened]) => folded(story, new Set(opened))", [board.to_dict(), [*opened]])
        drawn = {kind: {each["id"]: each for each in told[kind]} for kind in ("boxes", "arrows")}
        for until, changes in [(-1, {"boxes": {}, "arrows": {}}), *[(step["until"], step) for step in told["steps"]]]:
            for kind, known in drawn.items():
                for id, fields in changes[kind].items():
                    known[id] |= fields
            seen = board.with_open(opened).at(until)
            told_of = {"boxes": ("kind", "state"), "arrows": ("source", "target", "state", "label", "tone")}
            for kind, names in told_of.items():
                things = getattr(seen, kind)
                expected = {id: [getattr(thing, name) for name in names] for id, thing in things.items()}
                assert {id: [each.get(name) or "" for name in names] for id, each in drawn[kind].items()} == expected
            assert all(each.get("alt") for each in drawn["arrows"].values())
            weights = {id: arrow.weight for id, arrow in seen.arrows.items()}
            assert {id: each.get("weight") or 0 for id, each in drawn["arrows"].items()} == weights


@pytest.mark.parametrize(("labels", "tones", "told"), PALE)
def test_a_page_says_of_several_why_all_of_them_are_pale(page: Page, labels, tones, told) -> None:
    moves = [{"state": "done", "label": label, "tone": tone} for label, tone in zip(labels, tones, strict=True)]
    board = Storyboard(nested(), [StoryStep("", arrows=dict(zip(("n1>n3", "n1>n2"), moves, strict=True)))])
    show(page, board.to_dict())
    made = "(story) => folded(story, new Set(['outer'])).steps[0].arrows"
    assert [each["label"] for each in page.evaluate(made, board.to_dict()).values()] == [told]
