"""The memory view: what is kept after each event, by whom, what lives anyway, and two runs over each other."""

from __future__ import annotations

from functools import partial
from typing import get_args

import pytest
from golden_programs import careless, exp_of_product, losing
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.labels import box_fields
from workbench.pictures.scene.model import BoxKind
from workbench.pictures.trace.memory_records import CheckpointKept
from workbench.pictures.trace.timeline import Timeline
from workbench.pictures.views import storyboard
from workbench.pictures.views.memory_ledger import Ledger
from workbench.utils.checkpoint import checkpoint


def chain(t):
    for _ in range(4):
        t = t.sin()
    return t


def bars(board, kind="bar"):
    return [box.alt.partition(": ")[2] for id, box in board.scene.boxes.items() if id[: len(kind)] == kind]


def test_a_bar_of_a_holder_goes_from_its_birth_to_its_end():
    board = storyboard(exp_of_product(), "memory")
    curve = [box.place for id, box in board.scene.boxes.items() if id.startswith("bar")]
    held = board.scene.boxes["n3.0"].place  # the exponential, which is held from the third bar to the fifth
    assert held[0] == curve[2][0] and curve[4][0] < held[0] + held[2] <= curve[5][0]


def sines(length):
    """A chain of this length, and its backward."""
    with record() as trace:
        t = leaf(1.0, 2.0)
        for _ in range(length):
            t = t.sin()
        t.sum().backward()
    return trace


def aside():
    """A short backward after a long forward."""
    with record() as trace:
        x = leaf(1.0, 2.0)
        results = [x + 1 for _ in range(300)]
        results[0].sum().backward()
    return trace


# At 1280 px 840 px have room beside what a player needs; at 1024 x 768 a small program has 595.
WIDTHS = [(partial(sines, length), 840) for length in (1, 6, 30, 900)] + [(aside, 840)]
WIDTHS += [(partial(losing, steps), 595) for steps in (1, 3)]


@pytest.mark.parametrize(("program", "most"), WIDTHS)
def test_it_fits_the_width_that_jupyterlab_has_for_it(program, most):
    board = storyboard(program(), "memory")
    assert board.layout.width <= most
    texts = [box for box in board.scene.boxes.values() if box.title]
    assert all(box_fields(box)["title"] == box.title for box in texts)


def test_what_is_put_on_ctx_is_never_freed():
    boxes = storyboard(careless(), "memory").scene.boxes.values()
    (holder,) = [box for box in boxes if " holds 16 bytes to the end: " in box.alt]
    assert holder.details[-1].heading == "Never freed"


@pytest.fixture(scope="module")
def runs():
    start = torch.linspace(0, 1, 1000, dtype=torch.float64, requires_grad=True)
    with record() as plain:
        chain(chain(start)).sum().backward()
    with record() as checkpointed:
        halfway = checkpoint(chain, start, use_reentrant=False)
        checkpoint(chain, halfway, use_reentrant=False).sum().backward()
    return plain, checkpointed


def test_two_runs_lie_over_each_other_with_backward_at_the_same_place(runs):
    plain, checkpointed = runs
    picture = plain.show("memory", against=checkpointed)
    boxes = storyboard(plain, "memory", against=checkpointed).scene.boxes
    assert {box.kind for box in boxes.values()} <= {*get_args(BoxKind)}
    starts = [next(b.place[0] for id, b in boxes.items() if id.startswith(k) and "backward" in b.alt) for k in KINDS]
    assert starts[0] == starts[1]
    assert "This run holds 54.69 KiB at most, at the end of forward" in str(picture)
    assert "The other run holds 31.25 KiB at most, in backward" in str(picture)


def test_a_run_can_be_compared_with_one_that_keeps_nothing():
    big = torch.linspace(0, 1, 1000, requires_grad=True)
    with record() as recorded:
        kept = (big.sin() * big).sum()
    with record() as silent, torch.no_grad():
        (big.sin() * big).sum()
    said = str(recorded.show("memory", against=silent))
    assert kept.grad_fn and "The other run holds nothing" in said and "This run holds 3.906 KiB at most" in said
    assert "held" in str(silent.show("memory")) or "nothing" in str(silent.show("memory")).lower()


KINDS = ("bar", "ghost")


def test_what_lived_anyway_counts_with_its_node_once_it_is_computed_in_place():
    with record() as trace:
        w, x = torch.ones(3, requires_grad=True), torch.zeros(3)
        (w * x).sum().backward()
        x.add_(w)
        (x * x).sum().backward()  # which saves x twice, and nothing but that
    ledger = Ledger(trace)
    assert max(ledger.holders[node].most for node in ledger.holders if node.startswith("n")) == 12
    assert "saves x: 12 bytes more, 12 bytes held" in str(trace.show("memory"))


def test_each_forward_of_a_loop_is_one_and_the_axis_says_where_it_begins():
    board = storyboard(losing(3), "memory")
    assert [step.phase for step in board.steps] == (["forward"] * 3 + ["backward"] * 3) * 3
    boxes = board.scene.boxes
    curve = [box.place[0] for id, box in boxes.items() if id.startswith("bar")]
    turns = {id: box for id, box in boxes.items() if id.startswith("turn")}
    assert {box.alt for box in turns.values()} == {"where backward begins", "where forward begins"}
    assert [curve.index(box.place[0] + 3.5) for box in turns.values()] == [3, 6, 9, 12, 15]
    assert [box.title for id, box in boxes.items() if id.startswith("phase")] == ["forward", "backward"] * 3


def test_where_there_is_no_room_for_every_mark_the_axis_says_so_once():
    boxes = storyboard(losing(80), "memory").scene.boxes
    assert not [id for id in boxes if id.startswith("turn")]
    assert [box.title for id, box in boxes.items() if id.startswith("phase")] == ["forward and backward alternate"]


def test_a_long_run_has_as_many_bars_as_can_be_seen():
    board = storyboard(sines(700), "memory")
    widths = [box.place[2] for id, box in board.scene.boxes.items() if id.startswith("bar")]
    assert 90 < len(widths) <= 225 and min(widths) >= 3 and len(board.steps) == len(widths)
    assert board.scene.boxes["bucket"].title == "each bar is the maximum of 15 events"
    assert "and 689 more" in board.scene.boxes["more"].title
    told = board.steps[0].caption
    assert told.count("joins the graph") == 3 and told.endswith(" 12 more events came before.")


def test_a_narrow_bar_says_whole_words_or_none():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    with record() as trace:
        for _ in range(5):
            net(torch.ones(32, 4)).pow(2).mean().backward()
    bars = [box for box in storyboard(trace, "memory").scene.boxes.values() if box.kind == "bar"]
    cut = [box.title for box in bars if box.title.endswith("…") and not box.title.endswith(" …")]
    assert len(bars) > 20 and cut == []


def test_one_that_holds_very_much_is_not_asked_at_every_point_what_it_holds():
    with record() as trace:
        checkpoint(torch.exp, leaf(1.0).exp(), use_reentrant=False).sum().backward()
    at, kept = next((n, event) for n, event in enumerate(trace.events) if isinstance(event, CheckpointKept))
    few, many = (Ledger(Timeline([*trace.events[:at], *[kept] * count])).points[-1] for count in (3, 1_000))
    assert len(few.largest) == 4 and many.largest == ()
