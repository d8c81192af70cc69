"""A story in columns, as a notebook keeps it: the browser makes of it what was told."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trace_samples
import transform_samples
from browser_page import open_page
from player_story import storyboard as by_hand
from scene_samples import deep, loss, square

import workbench as torch
from workbench.recording import record
from workbench.scene.model import Arrow, Box, Detail, Scene, Step
from workbench.scene.payload import asset, bare, compressed, packed_story
from workbench.scene.storyboard import Storyboard
from workbench.views import storyboard

pytestmark = [pytest.mark.usefixtures("one_browser"), pytest.mark.browser, pytest.mark.smoke]

ODD = "{upper} $& \\ \u2067א\u2069 🙂 \ud800 </script> (leaf); done"


@pytest.fixture(scope="module")
def page():
    with open_page(offline=True) as page:
        page.set_content("<!doctype html><title>Story</title>")
        page.add_script_tag(content=f"{bare(asset('unpacking.js'))}; window.unpacked = unpacked;")
        yield page
        assert page.console_errors == []


def same(told: Any, found: Any, where: str = "story") -> None:
    """What was found is what was told, places to a tenth of a px."""
    if isinstance(told, dict):
        assert told.keys() == found.keys(), where
        for name in told:
            same(told[name], found[name], f"{where}.{name}")
    elif isinstance(told, list):
        assert len(told) == len(found), where
        for n, (one, other) in enumerate(zip(told, found, strict=True)):
            same(one, other, f"{where}[{n}]")
    elif isinstance(told, float):
        assert told == pytest.approx(found, abs=0.0501), where
    else:
        assert told == found, where


def check(page: Any, board: Storyboard) -> None:
    told = json.loads(json.dumps(board.to_dict()))
    found = page.evaluate("(story) => unpacked(JSON.parse(story))", json.dumps(packed_story(told)))
    assert found.pop("ways")
    same(told, found)


@pytest.mark.parametrize("make", [by_hand, loss, square, deep])
def test_a_story_made_by_hand_is_unpacked_whole(page, make):
    check(page, make())


@pytest.mark.slow
def test_so_is_a_graph_with_all_kinds_of_boxes(page):
    for samples in (trace_samples, transform_samples):
        for name, make in vars(samples).items():
            if getattr(make, "__annotations__", {}) == {"return": "Trace"}:
                for view in ("graph", "flow"):
                    check(page, storyboard(make(), view))
                assert name


@pytest.mark.parametrize("view", ["saved", "memory", "versions", "error", "function", "compare"])
def test_so_is_every_chart(page, view):
    trace = trace_samples.written()
    check(page, storyboard(trace, view, **({"against": trace_samples.descent()} if view == "compare" else {})))


def test_so_is_a_film_whose_numbers_are_told_once(page):
    w, x = torch.tensor([0.5, -2e-5], requires_grad=True), torch.tensor([1.5, 1e6])
    with record() as trace:
        for _ in range(4):
            with torch.scope("layer"):
                y = (w * x).sin() * 0.1
            loss = (y * x).sum() + 1.25
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    board = storyboard(trace)
    story = packed_story(json.loads(json.dumps(board.to_dict())))
    numbers, signs = story["numbers"]
    assert len(signs) > 4 * len(numbers) > 0
    check(page, board)


@pytest.mark.slow
def test_so_are_groups_that_open(page):
    x = torch.ones(3, requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(40):
            with torch.scope("layer"):
                y = (y * x).sin().exp().log()
        y.sum().backward()
    board = storyboard(trace)
    told = board.to_dict()
    assert told["levels"]
    check(page, board)
    # Ways and captions that come with groups are as dense already.
    told = {name: value for name, value in told.items() if name not in ("levels", "runs")}
    assert 2 * len(compressed(json.dumps(packed_story(told)))) < len(compressed(json.dumps(told)))


def test_so_are_odd_texts_ids_and_changes(page):
    boxes = [
        Box("a", "leaf", ODD, (ODD, ""), note=ODD, details=(Detail(ODD, "text", ODD), Detail("", "code", ODD))),
        Box("a.", "op", "B" * 99, ("C" * 99,), state="future"),
        Box("aa", "saved", "", holder="a", alt=ODD),
        Box("__proto__", "saved", "", holder="a"),
        Box("7", "output", "out", note="; idle"),
    ]
    arrows = [
        Arrow("7.", "a", "7", "edge", f"{ODD}\n\nmore\n", note="note"),
        Arrow("a", "a.", "7", "same"),
        Arrow("b", "a.", "a.", "beside", alt="beside"),
    ]
    value = {"name": ODD, "shape": [], "dtype": "int64", "text": "7", "norm": "inf"}
    more = (boxes[0].details[1], Detail("", "value", value), Detail("", "value", value | {"shape": [0]}))
    steps = [
        Step("", focus="a", boxes={"a": {"details": more}, "a.": {"title": "now", "state": "idle"}}),
        Step(ODD, "update", {"file": ODD, "line": 3, "text": ODD}, "nowhere", {"a.": {"alt": "said"}}, when=7),
        Step("", focus="7", boxes={"a.": {"lines": ("one",)}, "a": {"details": ()}}, when=8),
        Step("", boxes={"a.": {"alt": ""}, "aa": {"alt": "", "state": "error"}}, arrows={"7.": {"state": "flowing"}}),
        Step("", boxes={"a": {"title": "{lower}"}}, arrows={"b": {"alt": ""}, "7.": {"tone": "plus", "weight": 3}}),
    ]
    scene = Scene(ODD, {box.id: box for box in boxes}, {f"{arrow.id}>": arrow for arrow in arrows})
    for arrow in arrows:
        arrow.id += ">"
    check(page, Storyboard(scene, [Step("", arrows={}), *(s for s in steps if not s.arrows)]))
    for step in steps:
        step.arrows = {f"{id}>": change for id, change in step.arrows.items()}
    check(page, Storyboard(scene, steps, start=2))
    check(page, Storyboard(Scene("empty")))
