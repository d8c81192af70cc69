"""The memory view: what is held after each event, by whom, and two runs over each other."""

from __future__ import annotations

from typing import get_args

import pytest
from trace_samples import leaf

import workbench as torch
from workbench.recording import Trace, load, record
from workbench.scene.labels import box_fields
from workbench.scene.model import BoxKind
from workbench.trace.records import CheckpointKept
from workbench.utils.checkpoint import checkpoint
from workbench.views import storyboard
from workbench.views.memory import Ledger


def chain(t):
    for _ in range(4):
        t = t.sin()
    return t


def shown(program) -> list[str]:
    """How much is held after each point, as the bars say it."""
    with record() as trace:
        program()
    return bars(storyboard(trace, "memory"))


def bars(board, kind="bar"):
    return [box.alt.partition(": ")[2] for id, box in board.scene.boxes.items() if id[: len(kind)] == kind]


def captions(trace):
    return [step.caption for step in storyboard(trace, "memory").steps]


def exp_of_product() -> Trace:
    with record() as trace:
        x, y = leaf(1.0, 2.0, 3.0), leaf(1.0, 2.0, 3.0)
        total = (x * y + 1).exp().sum()
        total.backward()
    return trace


def test_what_is_held_grows_while_the_program_runs_and_falls_while_backward_does():
    trace = exp_of_product()
    board = storyboard(trace, "memory")
    assert [bar.removesuffix(" held") for bar in bars(board)] == [
        *("48 bytes", "48 bytes", "72 bytes", "72 bytes"),
        *("72 bytes", "48 bytes", "48 bytes", "0 bytes"),
    ]
    assert board.scene.boxes["peak"].title == "Peak 72 bytes, where forward ends"
    assert captions(trace) == [
        "MulBackward0 joins the graph and keeps y and x: 48 bytes more, 48 bytes held.",
        "AddBackward0 joins the graph and keeps nothing: still 48 bytes held.",
        "ExpBackward0 joins the graph and keeps the result of exp: 24 bytes more, 72 bytes held.",
        "SumBackward0 joins the graph and keeps nothing: still 72 bytes held.",
        "SumBackward0 has run and had nothing to free: still 72 bytes held.",
        "ExpBackward0 has run and frees what it had saved: 24 bytes less, 48 bytes held.",
        "AddBackward0 has run and had nothing to free: still 48 bytes held.",
        "MulBackward0 has run and frees what it had saved: 48 bytes less, 0 bytes held.",
    ]
    assert [step.phase for step in board.steps] == ["forward"] * 4 + ["backward"] * 4


def test_the_text_says_who_holds_what():
    text = str(exp_of_product().show("memory"))
    lives = "which lives anyway"
    assert f"MulBackward0 holds y, {lives}, x, {lives}: nothing of its own, until it has run" in text
    assert f"x is a parameter or an input, {lives}: 24 bytes, kept for a backward until all who need it" in text
    assert "48 bytes of it are parameters and inputs, alive anyway; 24 bytes are kept only for the backward" in text
    assert "ExpBackward0 holds the result of exp: 24 bytes, until it has run" in text


def test_a_bar_of_a_holder_goes_from_its_birth_to_its_end():
    board = storyboard(exp_of_product(), "memory")
    curve = [box.place for id, box in board.scene.boxes.items() if id.startswith("bar")]
    held = board.scene.boxes["n3.0"].place  # the exponential, which is held from the third bar to the fifth
    assert held[0] == curve[2][0] and curve[4][0] < held[0] + held[2] <= curve[5][0]


def test_memory_that_two_nodes_share_counts_once():
    def program():
        x = leaf(1.0, 2.0)
        kept = [x * x, x.exp() * x, x[:1] * 2 * x[1:]]
        assert kept

    assert shown(program)[:3] == ["16 bytes held", "32 bytes held", "32 bytes held"]


def test_what_is_kept_with_retain_graph_stays_until_the_next_backward():
    with record() as trace:
        x = leaf(2.0)
        square = x * x
        square.backward(retain_graph=True)
        square.backward()
    assert captions(trace)[1:] == [
        "MulBackward0 has run and keeps what it saved: still 8 bytes held.",
        "MulBackward0 has run and frees what it had saved: 8 bytes less, 0 bytes held.",
    ]


def test_hooks_change_how_much_is_held():
    def half(t):
        return t.to(torch.float16)

    with record() as trace, torch.autograd.graph.saved_tensors_hooks(half, lambda t: t.to(torch.float64)):
        kept = [[leaf(1.0, 2.0).exp()]]
    assert kept and captions(trace) == [
        "ExpBackward0 joins the graph and keeps the result of exp packed by half: 4 bytes more, 4 bytes held."
    ]


class Careless(torch.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad


def test_what_is_put_on_ctx_is_never_freed():
    with record() as trace:
        x = leaf(1.0, 2.0)
        loss = Careless.apply(x).sum()
        loss.backward()
    board = storyboard(trace, "memory")
    assert board.scene.boxes["peak"].title.endswith("; 16 bytes left at the end")
    (holder,) = [box for box in board.scene.boxes.values() if "holds ctx.x, which lives anyway" in box.alt]
    assert holder.alt.endswith("to the end") and holder.details[-1].heading == "Never freed"


def test_a_graph_that_is_let_go_without_a_backward_holds_nothing():
    x = torch.ones(1000, requires_grad=True)
    with record() as trace:
        for _ in range(5):
            y = (x * x).exp().sum()
    assert y.requires_grad
    assert captions(trace)[6] == "3 nodes are gone, as nothing holds them any more: 3.906 KiB less, 7.812 KiB held."
    board = storyboard(trace, "memory")
    assert bars(board)[-1] == "7.812 KiB held"  # 8,000 bytes: of x, and of the last exponential
    assert board.scene.boxes["peak"].title == "Peak 11.72 KiB, in forward; 7.812 KiB left at the end"
    alts = [box.alt for box in board.scene.boxes.values() if box.alt.startswith("ExpBackward0 holds")]
    assert [alt.rpartition(", ")[2] for alt in alts] == ["until it is gone"] * 4 + ["to the end"]


def test_rows_add_up_to_the_peak_or_say_why_not():
    def rows(board):
        return [box.title for id, box in board.scene.boxes.items() if id.endswith(".most")]

    with record() as trace:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        h = (x * w).sigmoid()
        loss = (h * w).sum()  # h is kept by two, and w
        loss.backward()
    board = storyboard(trace, "memory")
    assert rows(board) == ["16 bytes", "16 bytes", "0 bytes", "16 bytes", "0 bytes"]  # x, w, and what the nodes add
    assert "sum" not in board.scene.boxes
    assert "peak 48 bytes" in board.scene.boxes["peak"].title.lower()
    with record() as trace:
        for _ in range(2):
            w.exp().sum().backward()
    said = storyboard(trace, "memory").scene.boxes["sum"].title
    assert said == "The rows add up to 32 bytes, as not all hold their most at the same time."


@pytest.fixture(scope="module")
def runs():
    start = torch.linspace(0, 1, 1000, dtype=torch.float64, requires_grad=True)
    with record() as plain:
        chain(chain(start)).sum().backward()
    with record() as checkpointed:
        halfway = checkpoint(chain, start, use_reentrant=False)
        checkpoint(chain, halfway, use_reentrant=False).sum().backward()
    return plain, checkpointed


def test_a_checkpoint_holds_its_argument_and_fills_up_again_in_backward(runs):
    held = [bar.removesuffix(" held") for bar in bars(storyboard(runs[1], "memory"))]
    kib = [float(each.split()[0]) / 7.8125 if "KiB" in each else 0 for each in held]
    assert [round(each) for each in kib] == [
        *(1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2),
        *(2, 2, 3, 4, 5, 4, 3, 2, 2, 2, 3, 4, 5, 4, 3, 2, 2, 1, 0),
    ]


def test_what_two_nodes_save_of_a_part_that_runs_again_counts_once():
    def part(x, w):
        h = x * w
        return h * h.sigmoid()  # the sigmoid and the product save the same tensor

    x, w = leaf(1.0, 2.0, 3.0), leaf(1.0, 2.0, 3.0)
    with record() as trace:
        checkpoint(part, x, w, use_reentrant=False).sum().backward()
    board = storyboard(trace, "memory")
    assert board.scene.boxes["peak"].title == "Peak 96 bytes, in backward"  # x, w, h and the sigmoid
    assert bars(board)[-1] == "0 bytes held"


def test_two_runs_lie_over_each_other_with_backward_at_the_same_place(runs):
    plain, checkpointed = runs
    picture = plain.show("memory", against=checkpointed)
    boxes = storyboard(plain, "memory", against=checkpointed).scene.boxes
    assert {box.kind for box in boxes.values()} <= {*get_args(BoxKind)}
    starts = [next(b.place[0] for id, b in boxes.items() if id.startswith(k) and "backward" in b.alt) for k in KINDS]
    assert starts[0] == starts[1]
    assert "This run: peak 62.5 KiB, where forward ends" in str(picture)
    assert "The other: peak 39.06 KiB, in backward" in str(picture)


KINDS = ("bar", "ghost")


def loop(times):
    """A training loop in which each pass makes two nodes and runs two."""
    weight = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(times):
            (weight * weight).sum().backward()
            with torch.no_grad():
                weight -= 0.1 * weight.grad
            weight.grad = None
    return trace


def test_each_forward_of_a_loop_is_one_and_the_axis_says_where_it_begins():
    trace = loop(3)
    board = storyboard(trace, "memory")
    assert [step.phase for step in board.steps] == (["forward"] * 2 + ["backward"] * 2) * 3
    joins = [step.phase for step in board.steps if "joins the graph" in step.caption]
    assert joins == ["forward"] * 6
    boxes = board.scene.boxes
    curve = [box.place[0] for id, box in boxes.items() if id.startswith("bar")]
    turns = {box.alt: box.place[0] for id, box in boxes.items() if id.startswith("turn")}
    assert list(turns) == ["where backward begins", "where forward begins"]
    lines = [box.place[0] for id, box in boxes.items() if id.startswith("turn")]
    assert [curve.index(x + 3.5) for x in lines] == [2, 4, 6, 8, 10]
    labels = [box.title for id, box in boxes.items() if id.startswith("phase")]
    assert labels == ["forward", "backward"] * 3
    assert boxes["peak"].title == "Peak 16 bytes, where forward ends"


def test_where_there_is_no_room_for_every_mark_the_axis_says_so_once():
    boxes = storyboard(loop(80), "memory").scene.boxes
    assert not [id for id in boxes if id.startswith("turn")]
    assert [box.title for id, box in boxes.items() if id.startswith("phase")] == ["forward and backward take turns"]


def test_what_was_there_before_the_recording_is_counted_without_what_comes_after():
    x = leaf(1.0, 2.0)
    before = x * x
    with record() as trace:
        kept = [[before.exp()]]
    assert kept and captions(trace) == [
        "1 node was there before the recording: 16 bytes more, 16 bytes held.",
        "ExpBackward0 joins the graph and keeps the result of exp: 16 bytes more, 32 bytes held.",
    ]


def test_a_checkpoint_holds_its_arguments_from_its_beginning_on():
    with record() as trace:
        result = checkpoint(chain, leaf(1.0, 2.0), use_reentrant=False)
    first = captions(trace)[0]
    assert first == "Checkpoint 1 keeps its arguments: an unnamed leaf: 16 bytes more, 16 bytes held."
    assert result.requires_grad
    assert bars(storyboard(trace, "memory")) == ["16 bytes held"] * 5


def test_a_long_run_has_as_many_bars_as_can_be_seen():
    with record() as trace:
        t = leaf(1.0, 2.0)
        for _ in range(700):
            t = t.sin()
        t.sum().backward()
    board = storyboard(trace, "memory")
    widths = [box.place[2] for id, box in board.scene.boxes.items() if id.startswith("bar")]
    assert 100 < len(widths) <= 225 and min(widths) >= 3 and len(board.steps) == len(widths)
    assert board.scene.boxes["bucket"].title == "each bar is the most of 13 events"
    assert "and 678 more" in board.scene.boxes["more"].title
    told = board.steps[0].caption
    assert told.count("joins the graph") == 3 and told.endswith(" And 10 more before that.")


@pytest.mark.parametrize("length", [1, 6, 30, 900])
def test_it_fits_the_width_that_jupyterlab_has_for_it(length):
    with record() as trace:
        t = leaf(1.0, 2.0)
        for _ in range(length):
            t = t.sin()
        t.sum().backward()
    board = storyboard(trace, "memory")
    assert board.layout.width <= 840  # at 1280 px, and beside what a player needs
    texts = [box for box in board.scene.boxes.values() if box.title]
    assert all(box_fields(box)["title"] == box.title for box in texts)


def test_a_short_backward_after_a_long_forward_fits_too():
    with record() as trace:
        x = leaf(1.0, 2.0)
        results = [x + 1 for _ in range(300)]
        results[0].sum().backward()
    assert storyboard(trace, "memory").layout.width <= 840


def test_nothing_recorded_says_so():
    with record() as trace:
        pass
    assert "Nothing joined the graph" in str(trace.show("memory"))


def test_names_from_outside_do_no_harm(tmp_path):
    trace = exp_of_product()
    data = trace.to_dict()
    for event in data["events"]:
        for seen in event.get("tensors", ()):
            seen["name"] = "</script>\u202e" + "x" * 10_000
        if event["kind"] == "NodeCreated":
            event["name"] = '"><img src=x>' * 100
    hostile = Trace.from_dict(data)
    hostile.show("memory").save(tmp_path / "m.html")
    assert "</script>\u202e" not in (tmp_path / "m.html").read_text().replace("\\u003c", "<")
    assert all(len(line) <= 120 for line in str(hostile.show("memory")).splitlines()[:12])
    trace.save(tmp_path / "t.json")
    assert str(load(tmp_path / "t.json").show("memory")) == str(trace.show("memory"))


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
        checkpoint(torch.exp, leaf(1.0), use_reentrant=False).sum().backward()
    at, kept = next((n, event) for n, event in enumerate(trace.events) if isinstance(event, CheckpointKept))
    few, many = (Ledger(trace.part([*trace.events[:at], *[kept] * count])).points[-1] for count in (3, 1_000))
    assert len(few.largest) == 3 and many.largest == ()


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_chart_is_no_wider_than_a_small_projector_shows(rounds):
    """In JupyterLab, beside its files and at 1024 x 768, 595 px have room with text of 11 px."""
    x = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(rounds):
            (x.exp() * x).tanh().sum().backward()
    board = storyboard(trace, "memory")
    assert board.layout.width <= 595
    assert len(board.scene.boxes["anyway"].lines) == 1  # what does not fit stands below, whole
    assert board.scene.boxes["anyway"].alt.endswith("kept only for the backward")
