"""A picture of any size in a notebook: no larger than there is room for, and what is left out is said."""

from __future__ import annotations

from functools import cache

import pytest
from browser_page import open_page, wait_until
from kept_story import kept_story
from player_page import position
from scene_samples import deep

import workbench as torch
from workbench import nn
from workbench.pictures.recording import record
from workbench.pictures.scene import region_layouts
from workbench.pictures.scene.model import Box, Detail, Scene, StoryStep, paths
from workbench.pictures.scene.picture import MOST, Picture, _packed, img, playing, to_html
from workbench.pictures.scene.region_layouts import region_layout
from workbench.pictures.scene.shortening import LEFT_OUT, Plan, cut, shortened
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import storyboard


def six_layers():
    torch.manual_seed(0)
    net = nn.Sequential(*[each for _ in range(6) for each in (nn.Linear(4, 4), nn.Tanh())])
    with record() as trace:
        net(torch.ones(3, 4)).pow(2).sum().backward()
    return trace


def rounds(count):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def step(_):
        loss = ((w * 2 - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.01 * w.grad)
        w.grad = None

    with record() as trace:
        list(map(step, range(count)))  # no loop, whose steps would be a film
    return trace


def chain(nodes):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with record() as trace:
        y = x
        for n in range(nodes):
            y = y * 1.001 if n % 2 else y.sin()
        y.sum().backward()
    return trace


LARGE = {
    "six layers": six_layers,
    "400 iterations": lambda: rounds(400),
    "1,000 steps": lambda: chain(500),
    "3,000": lambda: chain(3000),
}

MADE = LARGE | {"100 iterations": lambda: rounds(100), "600 steps": lambda: chain(300)}


@cache
def made(name, view="graph"):
    return storyboard(_recorded(name), view)


@cache
def _recorded(name):
    return MADE[name]()


@pytest.fixture(scope="module")
def page():
    with open_page(offline=True) as page:
        yield page
        assert page.console_errors == [] and page.requests_outside == []


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param(name, view, marks=pytest.mark.slow if view == "graph" else pytest.mark.scheduled)
        for name in LARGE
        for view in ("graph", "saved", "memory", "versions")
    ],
)
def test_a_picture_of_any_size_takes_no_more_than_its_room_and_plays_to_its_last_step(page, name, view):
    board = made(name, view)
    html = playing(board)
    assert len(html.encode()) <= max(MOST, len(img(board)) + MOST // 2)
    load(page, html)
    page.wait_for_selector(".wb-player")
    captions = [said.replace("`", "") for _, _, said in board.stops]  # a page shows code as code
    count = len(captions)
    opens = 1 + next(n for n, (_, last, _) in enumerate(board.stops) if last >= board.start)
    began = position(page)
    told = page.evaluate(_WALK)
    assert [told[0], told[-1]] == [captions[0], captions[-1]]
    if len(told) == count:
        assert [began, position(page)] == [f"{opens} / {count}", f"{count} / {count}"]
    gaps = [caption for caption in told if "left out to keep the notebook small" in caption]
    assert [caption for caption in told if caption not in captions] == gaps
    assert bool(gaps) == (len(told) < count) and len(gaps) <= 2 and len(told) - len(gaps) >= min(count, 40)


# Through all its steps by its own button; what it says at each.
_WALK = """() => {
  const act = (name) => document.querySelector(`[data-action="${name}"]`);
  const said = () => document.querySelector(".wb-sentence").textContent;
  act("first").click();
  const told = [said()];
  while (act("last").getAttribute("aria-disabled") === "false") {
    act("step").click();
    told.push(said());
  }
  return told;
}"""


def load(page, html):
    page.set_content(f"<!doctype html><html lang=en><title>Picture</title><body>{html}")


@pytest.mark.slow
def test_a_saved_page_keeps_all_of_it(tmp_path):
    board = made("3,000", "saved")
    Picture(board).save(tmp_path / "picture.html")
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    assert page == to_html(board)
    gap = next(step for step in kept_story(playing(board))["steps"] if "left out" in step["caption"])
    assert 'picture.save("picture.html") keeps all of it' in gap["caption"] and gap["caption"] not in page


def _tell(short):
    """What a click or a step says."""
    bodies = [detail.body for box in short.scene.boxes.values() for detail in box.details]
    return repr([step.caption for step in short.steps] + bodies)


def test_what_is_innermost_goes_first():
    details = tuple(Detail("Value", "value", {"name": "x", "text": f"{n}" * n}) for n in (30, 300))
    details += (Detail("Made at", "text", "m" * 150),)
    boxes = {str(n): Box(str(n), "leaf", "x", state="future", details=details) for n in range(60)}
    steps = [StoryStep(f"step {n} " + "c" * 100, boxes={str(n): {"state": "idle"}}) for n in range(60)]
    board = Storyboard(Scene("all", boxes), steps)

    def kept(plan):
        text = shortened(board, _tell, len(_tell(cut(board, plan))))
        return [mark in text for mark in ("300300", "3030", "mmm", "step 30", "step 59", "Steps 13 to 48 are left out")]

    assert kept(Plan()) == [True, True, True, True, True, False]
    assert kept(Plan(200)) == [False, True, True, True, True, False]
    assert kept(Plan(0)) == [False, False, False, True, True, False]
    assert kept(Plan(0, 0, 12)) == [False, False, False, False, True, True]
    assert shortened(board, _tell, 500) is None


def test_groups_go_from_the_inside_out():
    board = made("six layers")
    sizes = []
    for depth in range(4):
        short = cut(board, Plan(0, depth))
        inside = paths(short.scene)
        closed = short.folding.groups - short.opened
        deep = {1 + sum(outer in closed for outer in inside[id]) for id in closed}
        assert deep == {*range(1, depth + 1)} or short.folding.groups == board.folding.groups
        assert len(short.stops) == len(board.stops) and short.layout == board.layout
        sizes.append(len(short.folding.groups))
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] == len(board.folding.groups)


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_steps_that_stay_show_what_they_showed(steps):
    boards = [cut(made("six layers"), Plan(depth=0)), deep(), made("six layers", "saved")]
    for board in (each for each in boards if len(each.steps) > 3 * steps):
        short = cut(board, Plan(steps=steps))
        numbers = [sum(step.stands for step in short.steps[: n + 1]) for n in range(len(short.steps))]
        assert numbers[-1] == len(board.steps) and len(short.steps) < len(board.steps)
        assert numbers[short.start] == board.start + 1
        there = {*range(len(board.steps))} - {number - 1 for number in numbers}
        lost = board.scene.boxes.keys() - short.scene.boxes.keys()
        assert lost <= {id for k in there for id in board.steps[k].boxes} | {
            id for id, box in board.scene.boxes.items() if box.holder in lost
        }
        for n, number in enumerate(numbers):
            found, told = short.at(n), board.at(number - 1)
            assert {id for id, box in told.boxes.items() if box.state != "future"} - found.boxes.keys() <= lost
            for id, box in ((id, told.boxes[id]) for id in found.boxes):
                assert (found.boxes[id].state, found.boxes[id].lines) == (box.state, box.lines)
                goto = found.boxes[id].goto
                assert goto is None or box.goto is None or numbers[goto] >= box.goto + 1
            drawn = [each for each in told.arrows.values() if each.state != "future"]
            assert {a.id: (a.state, a.label) for a in found.arrows.values() if a.state != "future"} == {
                a.id: (a.state, a.label) for a in drawn if not {a.source, a.target} & lost
            }
        gaps = [n for n, step in enumerate(short.steps) if step.stands > 1]
        first = numbers[gaps[0] - 1] + 1
        said = short.steps[gaps[0]].caption
        assert said.startswith(f"Steps {first} to {numbers[gaps[0]]} are left out to keep the notebook small")
        assert said.endswith(': picture.save("picture.html") keeps all of it.')
        assert short.layout == board.layout


@pytest.mark.slow
def test_of_many_rounds_all_boxes_stay_that_are_seen_where_it_opens_but_for_results_of_what_is_gone():
    board = made("100 iterations")
    short = cut(board, Plan(0, 0, steps=24))
    assert board.start > len(board.steps) - 24 and short.start == len(short.steps) - (len(board.steps) - board.start)
    opens = board.at()
    seen = {id for id, box in opens.boxes.items() if box.state != "future"}
    ends = {arrow.target for arrow in opens.arrows.values() if opens.boxes[arrow.source].state == "over"}
    lost = seen.difference(short.scene.boxes)
    assert len(seen) > 100 and set(short.scene.boxes) == seen - lost
    assert lost <= ends and {opens.boxes[id].kind for id in lost} == {"output"}
    assert [(id, box.state, box.lines) for id, box in short.at().boxes.items()] == [
        (id, box.state, box.lines) for id, box in opens.boxes.items() if id not in lost
    ]
    said = next(step.caption for step in short.steps if step.stands > 1)
    assert f", and {len(lost)} boxes that come in between" in said


@pytest.mark.slow
def test_of_many_rounds_the_first_and_the_last_stay_with_their_boxes():
    made_of = made("100 iterations")
    told = {"opened": made_of.opened, "runs": made_of.runs}
    board = Storyboard(made_of.scene, made_of.steps, made_of.title, start=3, **told)  # before what is left out
    short = cut(board, Plan(0, 0, steps=24))
    captions = [said for _, _, said in board.stops]
    assert [step.caption for step in short.steps[:24]] == captions[:24]
    assert [step.caption for step in short.steps[-24:]] == captions[-24:]
    boxes = set(short.scene.boxes)
    assert 5 < len(boxes) < 22 < len(board.scene.boxes)
    seen = {id for id in board.scene.boxes if board.folding.visible_box[id] == id}
    assert f"and {len(seen) - len(boxes)} boxes that come in between" in short.steps[24].caption
    last, whole = short.at(len(short.steps) - 1).boxes, board.at(len(board.steps) - 1).boxes
    assert {id: box.state for id, box in last.items()} == {id: whole[id].state for id in boxes}


def test_a_group_whose_inside_is_left_out_says_so():
    board = made("600 steps")
    short = cut(board, Plan(0, 1))
    lost = (board.folding.groups - short.folding.groups) & short.scene.boxes.keys()
    assert short.folding.groups and lost
    opened = Storyboard(short.scene, short.steps, opened=short.folding.groups)
    groups = [opened.at(n).boxes[id] for n in (-1, len(short.steps) - 1) for id in lost]
    assert all((box.details[-1].heading, box.details[-1].body) == ("Inside", LEFT_OUT) for box in groups)


@pytest.mark.browser
def test_what_does_not_fit_at_all_stays_an_image_and_says_so(page):
    boxes = {str(n): Box(str(n), "leaf", f"{n * 7919 % 10007} {n}", (f"{n * n % 99991}",)) for n in range(3_000)}
    html = playing(Storyboard(Scene("crowd", {id: boxes[id] for id in boxes})))
    load(page, html)
    assert page.locator("p").inner_text() == (
        'This picture is too large to play in a notebook: picture.save("picture.html") keeps all of it, and plays it.'
    )
    assert page.locator("img").count() == 1 and page.locator("script").count() == 0
    wait_until(page, "document.querySelector('img').complete")


@pytest.mark.slow
def test_a_part_of_a_picture_is_not_laid_out_anew():
    board = made("1,000 steps")
    short = cut(board, Plan(0))
    assert short.layouts and all(level is board.layouts[frame] for frame, level in short.layouts.items())
    lost = cut(board, Plan(0, 2))
    kept = [frame for frame, level in lost.layouts.items() if level is board.layouts[frame]]
    assert len(board.layouts) > len(lost.layouts) > 2 and len(kept) >= len(lost.layouts) // 2


@pytest.mark.slow
def test_only_what_a_notebook_keeps_of_a_picture_is_laid_out(monkeypatch):
    done = []
    monkeypatch.setattr(region_layouts, "region_layout", lambda *args: done.append(args[1]) or region_layout(*args))
    board = storyboard(_recorded("600 steps"))
    playing(board)
    shown = {frame for frame in board.folding.frames} | {None}
    inside = [frame for frame in done if frame not in shown]
    assert 0 < len(inside) < len(board.layouts) // 2


@pytest.mark.slow
def test_of_what_is_too_long_whatever_groups_hold_no_group_is_laid_out(monkeypatch):
    done = []
    monkeypatch.setattr(region_layouts, "region_layout", lambda *args: done.append(args[1]) or region_layout(*args))
    board = storyboard(_recorded("six layers"))
    shown = board.layout and len(done)
    (between,) = [id for id, box in board.scene.boxes.items() if box.title.startswith("4 more (2 › Linear")]
    inside = {id for id in board.folding.groups if between in paths(board.scene)[id]}
    assert len(inside) == 4 and not {between, *inside} & {*done}
    assert _packed(board, room=2_000) and len(done) == shown
    assert len(_packed(board, room=10**9)) > len(_packed(board, room=2_000)) and len(done) > shown


@pytest.mark.slow
def test_a_group_that_holds_something_else_is_not_laid_out_in_the_whole_too(monkeypatch):
    done = []
    monkeypatch.setattr(region_layouts, "region_layout", lambda *args: done.append(args[1]) or region_layout(*args))
    board = storyboard(_recorded("600 steps"))
    lost = cut(board, Plan(0, 1))
    del done[:]
    own = {frame for frame, level in lost.layouts.items() if level is not board.layouts[frame]}
    assert own and sorted(done, key=str) == sorted([*lost.layouts, *own], key=str)


def test_levels_stand_in_the_same_order_in_every_process():
    levels = [frame for frame in made("six layers").layouts if frame is not None]
    outer = {id: len(path) for id, path in paths(made("six layers").scene).items()}
    place = {id: n for n, id in enumerate(made("six layers").scene.boxes)}
    assert levels == sorted(levels, key=lambda id: (-outer[id], -place[id])) and len(levels) > 5


@pytest.mark.slow
def test_a_picture_is_shortened_with_few_trials():
    board, tries = storyboard(_recorded("600 steps")), []

    def tell(short):
        told = repr([step.caption for step in short.steps] + [*short.scene.boxes])
        tries.append(len(told))
        return told

    whole = len(tell(board))
    for part in (0.9, 0.5, 0.1, 0.01):
        del tries[:]
        text = shortened(board, tell, int(part * whole))
        assert text is None or len(text) <= part * whole
        assert len(tries) <= 6
