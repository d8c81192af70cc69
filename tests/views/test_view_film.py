"""A training loop is a film: its steps share the same places, and each says how it changes the parameters."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import inf

import pytest
from boxes import name_of, there
from kept_story import kept_story
from text_programs import recorded
from trace_samples import leaf
from view_names import GRAPHS
from work_done import calls

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.model import Box
from workbench.pictures.scene.picture import MOST_OF_FILM, playing
from workbench.pictures.scene.shortening import LEFT_OUT, Plan, cut
from workbench.pictures.scene.storyboard import LEGIBLE, Storyboard
from workbench.pictures.trace.alignment import Aligner
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.frame import Frame
from workbench.pictures.views import storyboard
from workbench.pictures.views.player_steps import tell


class Losing:
    """A loop that counts what the parameter is after each of its steps."""

    def __init__(self, steps: int, clear: str = "first") -> None:
        w, x, self.after = leaf(2.0), torch.tensor([1.0, 3.0], dtype=torch.float64), []
        with record() as self.trace:
            for _ in range(steps):
                if clear == "first":
                    w.grad = None
                loss = ((w * x) ** 2).sum()
                loss.backward()
                with torch.no_grad():
                    w -= 0.01 * w.grad
                self.after.append(w.item())
                if clear == "last":
                    w.grad = None


def parts(board: Storyboard) -> list[tuple[str, range]]:
    """The parts of a film: the title of each, and its steps."""
    begins = [at for at, step in enumerate(board.steps) if step.chapter]
    ends = [*begins[1:], len(board.steps)]
    return [(board.steps[at].chapter, range(at, end)) for at, end in zip(begins, ends, strict=True)]


def named(board: Storyboard, k: int, title: str) -> Box:
    (box,) = [box for box in there(board, k).values() if box.title == title and box.kind in ("leaf", "constant")]
    return box


def number(box: Box) -> float:
    """The value on the first line of a box."""
    return float(box.lines[0].split()[-1])


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_all_steps_stand_in_the_same_places(view):
    board = storyboard(Losing(5).trace, view)
    titles = [title for title, _ in parts(board)]
    assert titles == [f"step {n} of 5" for n in range(1, 6)]
    ends = [there(board, steps[-1]) for _, steps in parts(board)]
    assert all(end.keys() == ends[0].keys() for end in ends)
    assert len(ends[0]) == len(board.scene.boxes)  # there are no others
    scenes = [board.at(steps[-1]) for _, steps in parts(board)]
    ways = [{id for id, arrow in scene.arrows.items() if arrow.state != "future"} for scene in scenes]
    assert all(way == ways[0] for way in ways)
    assert board.layout.width < 962


@pytest.mark.parametrize("clear", ["first", "last", "never"])
def test_parameters_are_right_in_every_step(clear):
    losing = Losing(6, clear)
    board = storyboard(losing.trace)
    before = [2.0, *losing.after]
    for n, (_, steps) in enumerate(parts(board)):
        begin, end = named(board, steps[2], "w"), named(board, steps[-1], "w")
        assert number(begin) == pytest.approx(before[n], rel=1e-3)
        assert number(end) == pytest.approx(before[n + 1], rel=1e-3)
        grad = [line for line in begin.lines if line.startswith("grad")]
        assert bool(grad) == (clear == "never" and n > 0)  # what is not cleared is carried on


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_steps_open_like_ten(count):
    ten, many = (storyboard(Losing(n).trace) for n in (10, count))
    assert len(many.steps) <= 1.5 * len(ten.steps)
    assert many.layout.width == pytest.approx(ten.layout.width, abs=40)
    titles = [title for title, _ in parts(many)]
    assert titles[:3] == [f"step {n} of {count:,}" for n in (1, 2, 3)]
    assert titles[-1] == f"step {count:,} of {count:,}"
    first = parts(many)[3][1][0]
    assert re.search(r"\(steps 4 to \d+ are left out; show\(step=4\) shows step 4\)\.", many.steps[first].caption)


def test_the_step_that_is_asked_is_told_and_shown():
    losing = Losing(200)
    board = storyboard(losing.trace, step=100)
    assert board.chapter() == "step 100 of 200" and board.start == board.still
    assert board.steps[board.start].phase == "update"
    assert number(named(board, board.still, "w")) == pytest.approx(losing.after[99], rel=1e-3)
    with pytest.raises(ValueError, match=r"no training step 201 in this trace, which has the steps 1 to 200"):
        storyboard(losing.trace, step=201)
    with record() as trace:
        leaf(1.0) * 2
    with pytest.raises(ValueError, match="no training step 1 in this trace, which has no training loop"):
        storyboard(trace, step=1)


def odd() -> tuple[Trace, list[float]]:
    """Of eight steps the fifth has a penalty in its loss, and the last a smaller batch."""
    w, x = leaf(0.5), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    losses = []
    with record() as trace:
        for n in range(8):
            batch = x if n < 7 else x[:2]
            loss = (w * batch).sin().sum()
            if n == 4:
                loss = loss + w.abs()
            loss.backward()
            losses.append(loss.item())
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    return trace, losses


def test_a_step_of_another_structure_has_what_only_it_has():
    trace, losses = odd()
    board = storyboard(trace)
    ends = [there(board, steps[-1]).keys() for _, steps in parts(board)]
    assert ends[0] == ends[1] == ends[7] < board.scene.boxes.keys()
    assert ends[4] - ends[0]
    titles = [[name_of(box) for box in there(board, steps[-1]).values()] for _, steps in parts(board)]
    assert "AbsBackward0" in titles[4]
    assert not any("AbsBackward0" in each for n, each in enumerate(titles) if n != 4)
    for loss, (_, steps) in zip(losses, parts(board), strict=True):  # the value of each is right
        made = next(
            step.caption
            for step in board.steps[steps[0] : steps[-1]]
            if f"gives {loss:.4g};" in step.caption and step.caption.startswith("`loss = ")
        )
        assert made
    assert "(2,)" in " ".join(line for box in there(board, parts(board)[7][1][-1]).values() for line in box.lines)


def test_arrows_lead_from_what_was_used_in_each_step():
    board = storyboard(odd()[0])
    for n, (_, steps) in enumerate(parts(board)):
        scene = board.at(steps[-1])
        seen = {id for id, box in scene.boxes.items() if box.state != "future"}
        ways = [arrow for arrow in scene.arrows.values() if arrow.state != "future"]
        assert all({arrow.source, arrow.target} <= seen for arrow in ways)
        output = next(box.id for box in scene.boxes.values() if box.kind == "output" and box.id in seen)
        reached, stack = set(), [output]
        while stack:
            at = stack.pop()
            reached.add(at)
            stack += [arrow.source for arrow in ways if arrow.target == at and arrow.source not in reached]
        hanging = {id for id in seen if scene.boxes[id].holder is not None}
        assert reached == seen - hanging, n


def descend(w, x):
    w.grad = None
    loss = (w * x) ** 2
    loss.backward()
    with torch.no_grad():
        w.sub_(0.01 * w.grad)


def step_by_step(w):
    for _ in range(3):
        first = w * 1.0
        first.backward()
        second = w * 2.0
        second.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None


EPOCHS = "for {} in range(2):\n    for x in (1.0, 2.0, 3.0):\n        descend(w, x)"
AROUND = "for _run in range(2):\n  for step, _ in enumerate('ab'):\n    for epoch, _data in enumerate('ab'):\n"
AROUND += "      for x in (1.0, 2.0):\n        descend(w, x)"


def test_many_loops_around_are_told_by_words_only():
    titles = [title for title, _ in parts(storyboard(recorded(AROUND, w=leaf(0.5), descend=descend)))]
    assert titles[0] == "iteration 1, iteration 1, epoch 1, step 1 (1 of 16)"
    assert titles[-1] == "iteration 2, iteration 2, epoch 2, step 2 (16 of 16)"


# Loops, and what one of their steps says of others.
SAID = [
    (
        EPOCHS.format("epoch").replace("2)", "30)", 1).replace(", 3.0", ""),
        "(12 of 60; epoch 2, step 2 to epoch 6, step 1 are left out; show(step=4) shows epoch 2, step 2).",
    ),
    (
        "for epoch in range(2):\n    for x in (1.0, 2.0):\n        (w * x).backward()",
        "Backward adds to `w.grad`, still there from epoch 1, step 1 to epoch 2, step 1.",
    ),
    ("step_by_step(w)", "`w.grad` was 1.0 and becomes 3.0"),
]


@pytest.mark.parametrize(("program", "said"), SAID)
def test_a_step_is_told_with_others_by_their_loops(program, said):
    board = storyboard(recorded(program, w=leaf(0.5), descend=descend, step_by_step=step_by_step))
    assert said in " ".join(step.caption for step in board.steps)


def test_steps_that_hang_together_are_told_together():
    w, total = leaf(1.0), torch.tensor(0.0, dtype=torch.float64)
    with record() as trace:
        for _ in range(4):
            total = total + w * 2
            total.backward(retain_graph=True)
    board = storyboard(trace)
    assert not any(step.chapter for step in board.steps)
    assert sum(name_of(box) == "AddBackward0" for box in board.scene.boxes.values()) == 4
    with pytest.raises(ValueError, match="each continues the graph of an earlier one"):
        storyboard(trace, step=2)


def test_of_the_last_events_the_steps_keep_their_numbers():
    w = leaf(1.0)
    with record(last=120) as trace:
        for _ in range(60):
            loss = (w * 2).sin()
            loss.backward()
            w.grad = None
    titles = [title for title, _ in parts(storyboard(trace))]
    assert titles[-1].startswith("step ")
    number, total = (int(each) for each in re.findall(r"\d+", titles[-1]))
    assert number == total
    assert len(titles) > 3


def test_of_many_steps_the_first_the_last_and_even_places_between_are_told():
    titles = [title for title, _ in parts(storyboard(Losing(60).trace))]
    assert titles == [f"step {n} of 60" for n in (1, 2, 3, 12, 19, 27, 34, 42, 49, 58, 59, 60)]


def test_a_notebook_keeps_the_first_and_last_steps_of_a_long_film():
    board = storyboard(Losing(12).trace)
    second = parts(board)[2][1].start
    short = cut(board, Plan(steps=second))
    titles = [title for title, _ in parts(short)]
    assert titles[:2] == ["step 1 of 12", "step 2 of 12"] and titles[-2:] == ["step 11 of 12", "step 12 of 12"]
    gap = next(step for step in short.steps if step.stands > 1)
    assert re.match(r"Step 3 of 12 to step \d+ of 12 are left out to keep the notebook small", gap.caption)
    assert sum(step.stands for step in short.steps) == len(board.steps)
    for k in (parts(short)[0][1][-1], len(short.steps) - 1):  # what is kept is as it was
        old = sum(step.stands for step in short.steps[: k + 1]) - 1
        kept, whole = ({id: box.lines for id, box in there(*at).items()} for at in ((short, k), (board, old)))
        assert kept == whole
    assert "too large" not in playing(board)


def learning(steps: int, clears: bool = True, batches: int = 1, wide: bool = False) -> Trace:
    """A network of two or three layers and an optimizer; with several batches its loop lies in one over epochs."""
    torch.manual_seed(0)
    middle = [torch.nn.Linear(8, 8), torch.nn.ReLU()] if wide else []
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), *middle, torch.nn.Linear(8, 1))
    rule, data = torch.optim.SGD(net.parameters(), lr=0.1), [(torch.randn(16, 4), torch.randn(16, 1))] * batches

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        if clears:
            rule.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        rule.step()

    with record() as trace:
        if batches > 1:
            for epoch in range(steps):  # noqa: B007
                for x, y in data:
                    step(x, y)
        else:
            for _ in range(steps):
                step(*data[0])
    return trace


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "wide"), [(4, False), (10, False), (30, False), (40, True)])
def test_a_notebook_keeps_every_step_of_a_training_with_all_that_clicks_show(steps, wide):
    board = storyboard(learning(steps, wide=wide))
    html = playing(board)
    assert len(html.encode()) <= MOST_OF_FILM
    assert LEFT_OUT not in str(kept_story(html)) and len(kept_story(html)["steps"]) == len(board.steps)


def plain(caption: str, words: dict[str, str]) -> str:
    """What a step says, without what only a film says, and each node by its name."""
    told = re.sub(r"^Step [\d,]+ of [\d,]+( \([^)]*\(step=\d+\)[^)]*\))?\. ", "", caption)
    told = re.sub(r"; in this step .* changed from .*?(?=\.$)", "", told)
    for each in sorted(words, key=len, reverse=True):
        told = told.replace(each, words[each])
    told = re.sub(r"(Backward\w*)(, \d+\w\w)?( in iteration \d+)?", r"\1", told)
    return re.sub(r"\d+ nodes? (was|were) freed: nothing references (it|them); ", "", told)


def accumulating() -> Trace:
    w, b = leaf(1.0, 2.0), leaf(0.5)
    with record() as trace:
        for n in range(6):
            loss = ((w * b).tanh() * (n + 1.0)).sum()
            loss.backward()
            if n % 2:
                with torch.no_grad():
                    for p in (w, b):
                        p -= 0.1 * p.grad
                        p.grad.zero_()
    return trace


def penalized() -> Trace:
    w = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(3):
            w.grad = None
            loss = (w**3).sum()
            (slope,) = torch.autograd.grad(loss, w, create_graph=True)
            (loss + (slope * slope).sum()).backward()
            with torch.no_grad():
                w -= 0.001 * w.grad
    return trace


@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize(
    "program",
    [lambda: odd()[0], accumulating, penalized, lambda: Losing(5, "last").trace],
    ids=["odd", "add", "grad", "plain"],
)
@pytest.mark.slow
def test_a_film_says_what_is_said_of_all_steps_together(program, view):
    trace = program()
    film, together = storyboard(trace, view, depth=9), tell(trace, GRAPHS[view](trace.events))
    assert film.steps[0].chapter
    names = {event.node: event.name for event in trace.events if isinstance(event, NodeCreated)}
    known = GRAPHS[view](trace.events).program.told_as
    which = re.compile(r"^In iteration \d+: | in iteration \d+")  # a film's chapter says it
    words = {which.sub("", each): names[node] for node, each in known.items() if "`" in each}
    one, other = ([plain(which.sub("", step.caption), words) for step in board.steps] for board in (film, together))
    added = r"Backward adds to [^:]*, still there from steps? [\d to]*\. "
    assert [re.sub(added, "", each) for each in one] == other
    assert [step.cursor for step in film.steps] == [step.cursor for step in together.steps]


@pytest.mark.parametrize("program", [lambda: odd()[0], accumulating, penalized], ids=["odd", "add", "grad"])
def test_boxes_hold_the_values_of_their_step(program):
    trace = program()
    film = storyboard(trace, depth=9)
    frame, begin = Frame(), 0
    for k, end in enumerate(trace.steps):
        for event in trace.events[begin:end]:
            event.apply(frame)
        begin = end
        for name in ("w", "b"):
            known = [each for each in frame.tensors.values() if each.name == name and each.role == "leaf"]
            boxes = [box for box in there(film, k).values() if box.title == name and box.kind == "leaf"]
            for box in boxes:
                assert known[-1].value.brief(32) in " ".join(box.lines)
                grad = [line for line in box.lines if line.startswith("grad ")]
                assert bool(grad) == (known[-1].grad is not None)
                assert not grad or grad[0] == f"grad {known[-1].grad.brief(27)}"


def test_what_is_saved_has_the_steps_of_the_loop_too():
    trace = Losing(4).trace
    board = storyboard(trace, "saved")
    assert [title for title, _ in parts(board)] == [f"step {n} of 4" for n in range(1, 5)]
    nodes = [board.at(steps[0]).boxes["chosen"].title for _, steps in parts(board)]
    assert nodes == ["MulBackward0"] * 4
    asked = storyboard(trace, "saved", step=3)
    assert asked.chapter(asked.start) == "step 3 of 4"
    with pytest.raises(ValueError, match="no training step 9"):
        storyboard(trace, "saved", step=9)


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_what_a_backward_records_lies_in_one_region_in_every_step(view):
    a = leaf(2.0)
    with record() as trace:
        for n in range(3):
            if n == 1:
                (a * 2).backward()
            (slope,) = torch.autograd.grad(a**3, a, create_graph=True)
            slope.backward()
    board = storyboard(trace, view)
    told = board.to_dict()
    regions = [box["id"] for box in told["boxes"] if box["kind"] == "region"]
    assert len(regions) <= 1
    assert [title for title, _ in parts(board)] == ["step 1 of 3", "step 2 of 3", "step 3 of 3"]


@pytest.mark.parametrize("view", ["graph", "flow"])
@pytest.mark.parametrize("opened", [None, []])
def test_a_net_whose_gradients_were_not_cleared_says_so_where_the_film_opens_though_its_layers_are_closed(view, opened):
    board = storyboard(learning(3, clears=False), view, open=opened)
    first, last, said = next(stop for stop in board.stops if stop[0] <= board.start <= stop[1])
    assert "Backward adds to 4 gradients, still there from step 1. " in said
    assert board.chapter() == "step 2 of 3" and board.start == board.still
    closed = {box.title: box.lines for box in board.at(last).boxes.values() if box.kind == "group"}
    layers = ["0 › Linear", "2 › Linear"]
    assert [*closed] == (layers if opened is None else ["net › Sequential"])
    count = 2 if opened is None else 4
    assert all(f"{count} grads include those of step 1" in lines for lines in closed.values())
    told = " ".join(said for _, _, said in board.stops)
    if opened is not None:
        names = "`net.0.weight`, `net.0.bias`, `net.2.weight` and `net.2.bias`"
        assert told.count(f"Sequential`: SGD changes {names}.") == 3 and "sub_" not in told
    after = board.at(next(last for _, last, said in reversed(board.stops) if "SGD changes" in said))
    changed = [box.lines[-1] for box in after.boxes.values() if box.title in closed]
    assert len(changed) == len(closed) and all(re.fullmatch(r"changed by norm [\d.]+", line) for line in changed)


ZEROING = {
    "in place": lambda w, optimizer: w.grad.zero_(),
    "by a factor": lambda w, optimizer: w.grad.mul_(0),
    "by other zeros": lambda w, optimizer: setattr(w, "grad", torch.zeros_like(w)),
    "by an optimizer": lambda w, optimizer: optimizer.zero_grad(set_to_none=False),
    "not at all": lambda w, optimizer: None,
}


@pytest.mark.parametrize("name", ZEROING)
@pytest.mark.parametrize("first", [False, True])
def test_a_gradient_that_was_set_to_zero_is_not_added_to(name: str, first: bool) -> None:
    w = leaf(1.0, 2.0)
    w.grad = torch.zeros(2, dtype=w.dtype)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with record() as trace:
        for _ in range(3):
            if first:
                ZEROING[name](w, optimizer)
            (w * 2).sum().backward()
            optimizer.step()
            if not first:
                ZEROING[name](w, optimizer)
    board = storyboard(trace)
    told = " ".join(step.caption for step in board.steps)
    boxes = [line for k in range(len(board.steps)) for box in board.at(k).boxes.values() for line in box.lines]
    held = ["still there from" in told, any("includes the gradient" in line for line in boxes)]
    assert held == [name == "not at all"] * 2


@pytest.mark.parametrize("forgotten", [False, True])
def test_gradients_that_are_cleared_between_two_backwards_of_a_step_are_cleared(forgotten):
    made, judge, x = leaf(1.0, 2.0), leaf(0.5, -0.5), torch.tensor([3.0, -1.0])
    with record() as trace:
        for _ in range(3):
            fake = made * x
            judge.grad = None
            (fake.detach() * judge).exp().sum().backward()
            if not forgotten:
                made.grad = None
            (fake * judge).sin().sum().backward()
            with torch.no_grad():
                made -= 0.1 * made.grad
                judge -= 0.1 * judge.grad
    board = storyboard(trace)
    told = " ".join(step.caption for step in board.steps)
    if forgotten:
        assert "Backward adds to `made.grad`, still there from step 1." in told
    assert ("still there from" in told) == forgotten and "`judge.grad`, still there" not in told
    assert board.chapter(board.start) == ("step 2 of 3" if forgotten else "step 3 of 3")


def test_a_step_of_the_second_epoch_is_told_by_the_loops_variable():
    w, batches = leaf(0.5), [torch.tensor(x) for x in (1.0, 2.0, 3.0)]
    with record() as trace:
        for epoch in range(2):  # noqa: B007
            for batch in batches:
                descend(w, batch)
    board = storyboard(trace, step=5)
    titles = [title for title, _ in parts(board)]
    assert board.chapter() == titles[4] and board.start == board.still == parts(board)[4][1][-1]
    assert board.steps[board.start].phase == "update"
    for (_, steps), data in zip(parts(board), [*batches, *batches], strict=True):  # which come again in each epoch
        said = " ".join(board.steps[at].caption for at in steps)
        gives = re.search(r"`w \* \w+` \(MulBackward0\) gives ([\d.]+);", said)
        assert gives and float(gives[1]) == pytest.approx(float(data) * number(named(board, steps[0], "w")), rel=1e-3)
    saved = [step.chapter for step in storyboard(trace, "saved").steps if step.chapter]
    assert saved == titles


@pytest.mark.slow
def test_a_long_training_whose_parameters_are_made_anew_is_told_in_linear_time():
    def work(count):
        with record() as trace:
            w = leaf(1.0)
            for _ in range(count):
                loss = (w * w - 1) ** 2
                loss.backward()
                w = (w - 0.01 * w.grad).detach().requires_grad_()
        return calls(lambda: storyboard(trace))

    work(20)
    assert work(800) < 4.5 * work(200)


def test_a_step_that_leads_to_a_leaf_it_does_not_tell_of_is_not_told_alone():
    with record() as trace:
        (leaf(1.0, 2.0) * 2).sum().backward()
    events = list(trace.events)
    without = [replace(event, tensors=()) if isinstance(event, NodeCreated) else event for event in events]
    assert Aligner().take(events, Frame(), 0, ()) is not None
    assert Aligner().take(without, Frame(), 0, ()) is None


@pytest.mark.slow
def test_a_film_keeps_its_parts_whatever_groups_are_left_out():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    rule, x, y = torch.optim.Adam(net.parameters(), lr=0.05), torch.randn(12, 2), torch.randn(12, 1)
    with record() as trace:
        for _ in range(2):
            for at in (0, 4, 8):
                rule.zero_grad()
                ((net(x[at : at + 4]) - y[at : at + 4]) ** 2).mean().backward()
                rule.step()
    for step in range(1, 7):
        board = trace.show(step=step).storyboard
        for depth in range(3):
            whole, short = (cut(board, Plan(0, depth, steps)) for steps in (inf, 30))
            assert [title for title, _ in parts(whole)] == [title for title, _ in parts(board)]
            told = [title for title, _ in parts(short)]
            assert parts(short)[0][1].start == 0 and (told[0], told[-1]) == (parts(board)[0][0], parts(board)[-1][0])
        assert "<script" in playing(board)


def test_a_film_opens_as_much_as_can_be_read_whole():
    def model(value):
        value = value * 1.5
        value = value.sin()
        value = value.exp()
        value = value.cos()
        value = value.tanh()
        return value.exp()

    def loss_of(value):
        value = value - 1.5
        value = value**2
        value = value.log()
        value = value.cos()
        return value + 3

    w = torch.tensor(0.5, requires_grad=True)
    with record() as trace:
        for _ in range(3):
            loss = loss_of(model(w))
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    board = trace.show().storyboard
    (call,) = [id for id, box in board.scene.boxes.items() if box.title == "model(w)"]
    (other,) = [id for id, box in board.scene.boxes.items() if box.title.startswith("loss = loss_of")]
    assert board.opened == {call} and board.layout.height <= 558 / LEGIBLE
    assert board.with_open({call, other}).layout.height > 558 / LEGIBLE


def curve_lines(trace: Trace, view: str = "graph") -> list[str]:
    return [line for line in str(trace.show(view)).splitlines() if re.match("[a-z_]+ of steps 1 to ", line)]


@pytest.mark.parametrize("view", ["graph", "flow", "saved"])
def test_the_losses_of_a_training_are_told_in_one_line(view):
    assert curve_lines(Losing(3).trace, view) == ["loss of steps 1 to 3: 40, 25.6, 16.38"]


def test_losses_of_steps_that_are_left_out_are_known_too():
    trace = Losing(60).trace
    board = trace.show().storyboard
    losses = board.curves.numbers["loss"]
    assert len(losses) == 60 and losses[0] == 40.0
    assert all(after == pytest.approx(0.64 * before, rel=1e-5) for before, after in pairwise(losses))
    told = board.to_dict()["curves"]["told"]
    assert told["step 1 of 60"] == 0 and told["step 60 of 60"] == 59 and len(told) == 12
    (line,) = curve_lines(trace)
    assert line.startswith("loss of steps 1 to 60: 40, 25.6, 16.38, 10.49, …, ")
    assert line.endswith(f"; least {losses[-1]:.4g} in step 60")


def test_two_steps_and_losses_of_several_numbers_make_no_curve():
    assert Losing(2).trace.show().storyboard.curves is None
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        for _ in range(4):
            (w * w).backward(torch.ones(2))
    assert trace.show().storyboard.curves is None
