"""Groups that open and close in the player: with no kernel, at the same moment, laid out as Python lays them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page
from test_scene_folding import PALE, assert_in_order, nested, openings, scenes

from workbench.pictures.scene.curves import Route
from workbench.pictures.scene.geometry import Rectangle
from workbench.pictures.scene.layout import Layout
from workbench.pictures.scene.model import Scene, StoryStep, paths
from workbench.pictures.scene.storyboard import Storyboard

STORY = Storyboard(nested()).to_dict()
MOUNT = "story => { player.destroy(); window.player = mount(document.getElementById('here'), story); }"
FOLDED = "([story, opened]) => folded(story, new Set(opened))"


def draw(examples: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Check so many examples, which are not made smaller where one fails: each takes a page."""
    health = list(HealthCheck)
    few = settings(max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=health)
    few(given(strategy)(check))()


def laid_out(page: Page, board: Storyboard, opened: frozenset[str]) -> tuple[Scene, Layout]:
    """What the page makes of a storyboard with these groups open."""
    told: dict[str, Any] = page.evaluate(FOLDED, [board.to_dict(), [*opened]])
    boxes = {each["id"]: Rectangle(*(each[name] for name in "xywh")) for each in told["boxes"]}
    arrows = {}
    for each in told["arrows"]:
        pairs = each["d"].replace("M", "").replace("C", "").split()
        points = tuple(tuple(map(float, pair.split(","))) for pair in pairs)
        place = Rectangle(each["lx"] - each["lw"] / 2, each["ly"] - each["lh"] / 2, each["lw"], each["lh"])
        arrows[each["id"]] = Route(points, place)
    return board.folding.seen(board.scene), Layout(told["width"], told["height"], boxes, arrows)


@pytest.mark.parametrize("examples", [3, pytest.param(40, marks=pytest.mark.scheduled)])
def test_a_page_lays_out_what_python_was_not_asked_for(page: Page, examples: int) -> None:
    def check(scene: Scene) -> None:
        assume(Storyboard(scene).folding.groups)
        page.evaluate(MOUNT, Storyboard(scene).to_dict())
        for first in openings(scene):
            board = Storyboard(scene, opened=first)
            for opened in openings(scene):
                seen = Storyboard(scene, opened=opened).at(-1)
                _, layout = laid_out(page, board, opened)
                assert layout.boxes.keys() == seen.boxes.keys() and layout.arrows.keys() == seen.arrows.keys()
                assert_in_order(seen, layout)

    draw(examples, scenes(), check)


@st.composite
def stories(draw: st.DrawFn) -> Storyboard:
    """A program in which gradients travel: what each arrow tells alone, and of a sum that it is the last part of."""
    scene, steps = draw(scenes()), []
    lies_in = paths(scene)
    labels, tones = st.sampled_from(["norm 1", "2.0\nlost"]), st.sampled_from(["plus", "faint", "bad"])
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
                    arrows[id]["together"] = draw(st.integers(2, 3)), *draw(looks)
                    arrows[id]["brief"] = draw(st.sampled_from([None, "brief"]))
                if (groups := lies_in[arrow.target]) and draw(st.booleans()):
                    arrows[id]["within"] = {draw(st.sampled_from(groups)): (draw(st.integers(2, 3)), *draw(looks))}
        place = draw(st.sampled_from([None, *scene.boxes]))
        boxes = {id: {"state": draw(st.sampled_from(["running", "done"]))} for id in scene.boxes if draw(st.booleans())}
        steps.append(StoryStep("", boxes=boxes, arrows=arrows, place=place))
    return Storyboard(scene, steps)


SEEN = {"boxes": ("kind", "state"), "arrows": ("source", "target", "state", "label", "tone")}


@pytest.mark.parametrize("examples", [6, pytest.param(80, marks=pytest.mark.scheduled)])
def test_a_page_and_python_fold_alike_at_every_step(page: Page, examples: int) -> None:
    def check(board: Storyboard) -> None:
        assume(board.folding.groups)
        page.evaluate(MOUNT, board.to_dict())
        for opened in openings(board.scene):
            folded_alike(board, opened, page.evaluate(FOLDED, [board.to_dict(), [*opened]]))

    draw(examples, stories(), check)


def folded_alike(board: Storyboard, opened: frozenset[str], told: dict[str, Any]) -> None:
    drawn = {kind: {each["id"]: each for each in told[kind]} for kind in SEEN}
    for until, changes in [(-1, {"boxes": {}, "arrows": {}}), *[(step["until"], step) for step in told["steps"]]]:
        seen = board.with_open(opened).at(until)
        for kind, names in SEEN.items():
            for id, fields in changes[kind].items():
                drawn[kind][id] |= fields
            expected = {id: [getattr(thing, name) for name in names] for id, thing in getattr(seen, kind).items()}
            assert {id: [each.get(name) or "" for name in names] for id, each in drawn[kind].items()} == expected
        assert all(each.get("alt") for each in drawn["arrows"].values())
        weights = {id: arrow.weight for id, arrow in seen.arrows.items()}
        assert {id: each.get("weight") or 0 for id, each in drawn["arrows"].items()} == weights


@pytest.mark.parametrize(("labels", "tones", "told"), PALE)
def test_a_page_says_of_several_why_all_of_them_are_pale(page: Page, labels, tones, told) -> None:
    moves = [{"state": "done", "label": label, "tone": tone} for label, tone in zip(labels, tones, strict=True)]
    board = Storyboard(nested(), [StoryStep("", arrows=dict(zip(("n1>n3", "n1>n2"), moves, strict=True)))])
    made = page.evaluate(FOLDED, [board.to_dict(), ["outer"]])["steps"][0]["arrows"]
    assert [each["label"] for each in made.values()] == [told]
