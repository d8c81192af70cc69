"""A storyboard says the same at every step, by deltas or in full, and speaks only JSON."""

from __future__ import annotations

import json

import pytest
from scene_samples import deep, loss, square

from workbench.pictures.scene.labels import arrow_fields, box_fields
from workbench.pictures.scene.model import Arrow, Box, Detail, Scene, StoryStep, changed
from workbench.pictures.scene.storyboard import Storyboard

BOX = {"id", "kind", "holder", "x", "y", "w", "h", "title", "lines", "state", "alt", "details"}
ARROW = {"id", "kind", "source", "target", "d", "lx", "ly", "lw", "lh"}
ARROW |= {"label", "state", "weight", "tone", "alt", "norm", "together", "within", "brief"}
STEP = {"caption", "phase", "cursor", "focus", "boxes", "arrows"}


@pytest.mark.parametrize("sample", [square, loss, deep])
def test_the_deltas_lead_to_every_step(sample):
    board = sample()
    told = json.loads(json.dumps(board.to_dict(), allow_nan=False))
    boxes, arrows = ({item["id"]: item for item in told[part]} for part in ("boxes", "arrows"))
    for k, step in enumerate(told["steps"]):
        for part, items in (("boxes", boxes), ("arrows", arrows)):
            for id, change in step[part].items():
                assert all(items[id][name] != value for name, value in change.items()), "a delta only tells news"
                items[id] |= change
        scene = board.at(k)
        for id, box in scene.boxes.items():
            assert json.loads(json.dumps(box_fields(box))).items() <= boxes[id].items()
        for id, arrow in scene.arrows.items():
            assert arrow_fields(arrow, scene).items() <= arrows[id].items()


def test_the_dict_has_the_fields_the_player_reads():
    told = loss().to_dict()
    size = {"width", "height"}
    assert told.keys() == {"format", "version", "title", *size, "boxes", "arrows", "steps", "details", "words"}
    assert (told["format"], told["version"]) == ("workbench-storyboard", 1)
    assert all(box.keys() == BOX and box["state"] == "future" for box in told["boxes"])
    assert all(arrow.keys() - {"left"} == ARROW and arrow["d"].startswith("M") for arrow in told["arrows"])
    assert all(step.keys() == STEP for step in told["steps"])
    told = square().to_dict()
    detail = told["details"][told["boxes"][2]["details"][0]]
    assert detail["kind"] == "value" and detail["body"].keys() == {"name", "shape", "dtype", "text", "norm"}


def test_it_opens_at_the_last_step_before_the_first_backward():
    def start(phases: str) -> int:
        return Storyboard(Scene(), [StoryStep("", {"f": "forward", "b": "backward"}[each]) for each in phases]).start

    assert [start(phases) for phases in ("", "f", "fff", "ffbb", "b", "fbfb")] == [-1, 0, 2, 1, 0, 0]


def test_it_opens_where_it_is_told_to():
    steps = [StoryStep("", phase) for phase in ("forward", "backward", "backward")]
    board = Storyboard(Scene("", {"b": Box("b", "op", "b", state="future")}), steps, start=2)
    steps[2].boxes = {"b": {"state": "idle"}}
    assert (board.start, board.to_dict()["start"], board.at().boxes["b"].state) == (2, 2, "idle")


def test_a_box_can_lead_to_a_step():
    row = Box("row", "line", "mul", goto=1)
    steps = [StoryStep("one"), StoryStep("two", boxes={"row": {"title": "add", "goto": 0}})]
    told = Storyboard(Scene("", {"row": row, "other": Box("other", "op", "x")}), steps).to_dict()
    assert [box.get("goto") for box in told["boxes"]] == [1, None] and "goto" not in told["boxes"][1]
    assert [step["boxes"].get("row", {}).get("goto") for step in told["steps"]] == [None, 0]


def test_a_scene_without_steps_is_shown_as_it_is():
    board = Storyboard(Scene("still", {"x": Box("x", "leaf", "x")}))
    assert board.at().boxes["x"].state == "idle" and board.to_dict()["steps"] == []


def test_the_steps_leave_the_first_scene_alone():
    board = loss()
    board.at(13)
    board.to_dict()
    assert {box.state for box in board.at(-1).boxes.values()} == {"future"}


@pytest.mark.parametrize("k", [-2, 14])
def test_a_step_that_is_not_there_is_refused_in_a_sentence(k):
    with pytest.raises(IndexError, match=f"There is no step {k}; this storyboard has 14, counted from 0."):
        loss().at(k)


X, R = {"x": Box("x", "leaf", "x")}, {"r": Box("r", "region", "r")}


@pytest.mark.parametrize(
    ("scene", "steps", "sentence"),
    [
        (Scene("", {"s": Box("s", "saved", "s", holder="n")}), [], "Box 's' is attached to 'n', which"),
        (Scene("", X, {"a": Arrow("a", "x", "n")}), [], "Arrow 'a' ends at 'n', which"),
        (Scene("", X), [StoryStep("", boxes={"n": {"state": "done"}})], "Step 0 changes 'n', which"),
        (Scene("", X | R), [StoryStep("", boxes={"x": {"region": "r"}})], "Step 0 moves box 'x' into another"),
    ],
)
def test_what_hangs_in_the_air_is_refused_in_a_sentence(scene, steps, sentence):
    with pytest.raises(ValueError, match=sentence):
        Storyboard(scene, steps)


def test_numbers_json_has_no_word_for_become_words():
    value = {"name": "x", "shape": (2,), "dtype": "float64", "text": "[nan, inf]", "norm": float("nan")}
    boxes = {"x": Box("x", "leaf", "x", details=(Detail("x", "value", value),))}
    told = Storyboard(Scene("", boxes)).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False))["details"][0]["body"]["norm"] == "nan"


def test_what_is_not_described_describes_itself():
    board = square()
    told = board.to_dict()
    assert told["boxes"][1]["alt"] == "SquareBackward (custom Function); y = x * x; not created yet"
    assert told["steps"][2]["boxes"]["n1"]["alt"] == "SquareBackward (custom Function); y = x * x; running"
    assert told["steps"][2]["arrows"]["x>n1"]["alt"] == (
        "gradient flowing from SquareBackward back to x: [2, 4, 6], norm 7.483"
    )


def test_an_arrows_description_follows_the_names_at_its_ends():
    boxes = {"x": Box("x", "leaf", "x"), "n": Box("n", "op", "n")}
    step = StoryStep("", boxes={"x": {"title": "weights"}})
    told = Storyboard(Scene("", boxes, {"a": Arrow("a", "x", "n")}), [step]).to_dict()
    assert told["steps"][0]["arrows"] == {"a": {"alt": "from weights to n"}}


def test_changed_names_what_differs():
    before, after = Box("x", "leaf", "x", ("1",)), Box("x", "leaf", "x", ("2",), "done")
    assert changed(before, after) == {"lines": ("2",), "state": "done"}
    assert changed(before, before) == {}


def test_a_thousand_steps_stay_small():
    boxes = {f"n{n}": Box(f"n{n}", "op", "AddBackward0", state="future") for n in range(1000)}
    steps = [StoryStep(f"step {n}", boxes={f"n{n}": {"state": "idle"}}) for n in range(1000)]
    board = Storyboard(Scene("", boxes), steps)
    assert len(json.dumps(board.to_dict()["steps"])) < 250_000
