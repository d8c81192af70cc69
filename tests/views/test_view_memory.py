"""The memory view: what is kept after each event, by whom, what lives anyway, and two runs over each other."""

from __future__ import annotations

from typing import get_args

import pytest
from golden_programs import exp_of_product, retained
from trace_samples import leaf

import workbench as torch
from workbench.recording import Trace, load, record
from workbench.scene.labels import box_fields
from workbench.scene.model import BoxKind
from workbench.trace.records import CheckpointKept
from workbench.trace.timeline import Timeline
from workbench.utils.checkpoint import checkpoint
from workbench.views import storyboard
from workbench.views.memory import Ledger


def chain(t):
    for _ in range(4):
        t = t.sin()
    return t


def shown(program) -> list[str]:
    """How much is kept after each point, as the bars say it."""
    with record() as trace:
        program()
    return bars(storyboard(trace, "memory"))


def bars(board, kind="bar"):
    return [box.alt.partition(": ")[2] for id, box in board.scene.boxes.items() if id[: len(kind)] == kind]


def captions(trace):
    return [step.caption for step in storyboard(trace, "memory").steps]


def test_what_is_kept_grows_while_the_program_runs_and_falls_while_backward_does():
    trace = exp_of_product()
    board = storyboard(trace, "memory")
    assert [bar.removesuffix(" kept") for bar in bars(board)] == [
        *("0 bytes", "0 bytes", "24 bytes", "24 bytes"),
        *("24 bytes", "0 bytes", "0 bytes", "0 bytes"),
    ]
    assert board.scene.boxes["peak"].title == "Kept for backward: 24 bytes at most, where forward ends"
    assert [step.phase for step in board.steps] == ["forward"] * 4 + ["backward"] * 4


def small_net(wide=2):
    """A model whose modules have long names, and its input."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_projection = torch.nn.Linear(wide, wide)

        def forward(self, x):
            return torch.relu(self.attention_projection(x)) * 2

    return torch.nn.Sequential(*(Layer() for _ in range(3))), torch.ones(3, wide)


def test_rows_are_named_by_modules_and_parameters_and_no_two_the_same():
    encoder, x = small_net()
    with record() as trace:
        encoder(x).sum().backward()
    boxes = storyboard(trace, "memory").scene.boxes
    names = {id.removesuffix(".name"): box.title for id, box in boxes.items() if id.endswith(".name")}
    anyway = {
        id: box.alt.partition(":")[0] for id, box in boxes.items() if id.endswith(".0") and "alive anyway," in box.alt
    }
    weights = {told: names[id[:-2]] for id, told in anyway.items() if told != "x"}
    assert len(weights) == len({*weights.values()}) == 2  # of the first no gradient goes further
    assert [weights[f"encoder.{n}.attention_projection.weight"] for n in (1, 2)] == [
        "…1.atten…ojection.weight",
        "…2.atten…ojection.weight",
    ]
    kept = [box.alt.partition(" (")[0] for id, box in boxes.items() if id.endswith(".0") and " keeps " in box.alt]
    assert {"encoder.0 · relu", "encoder.1 · relu", "encoder.2 · relu"} <= {*kept}
    assert "encoder.2.attention_projection" in kept
    assert max(len(name) for name in names.values()) <= 24


def test_what_a_loop_keeps_in_each_round_is_one_row():
    encoder, x = small_net()
    with record() as trace:
        for _ in range(4):
            encoder(x).sum().backward()
    boxes = storyboard(trace, "memory").scene.boxes
    names = [box.title for id, box in boxes.items() if id.endswith(".name")]
    assert names.count("encoder.0 · relu") == 1 and "sum" not in boxes
    (y,) = {box.place[1] for box in boxes.values() if box.alt.startswith("encoder.0 · relu")}
    assert len([box for box in boxes.values() if box.kind == "bar" and box.place[1] == y]) == 4
    told = str(trace.show("memory"))
    assert "\n4 times: encoder.0 · relu (ReluBackward0) keeps 24 bytes until it has run: the result of relu\n" in told


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

    assert shown(program)[:3] == ["0 bytes kept", "16 bytes kept", "16 bytes kept"]


def test_what_is_kept_with_retain_graph_stays_until_the_next_backward():
    board = storyboard(retained(), "memory")
    assert bars(board) == ["8 bytes kept", "8 bytes kept", "0 bytes kept"]
    assert ["keeps what it saved" in step.caption for step in board.steps] == [False, True, False]


def test_hooks_change_how_much_is_held():
    def half(t):
        return t.to(torch.float16)

    with record() as trace, torch.autograd.graph.saved_tensors_hooks(half, lambda t: t.to(torch.float64)):
        kept = [[leaf(1.0, 2.0).exp()]]
    assert kept and captions(trace) == [
        "ExpBackward0 joins the graph and keeps the result of exp packed by half: 4 bytes more, 4 bytes kept."
    ]


class Careless(torch.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.twice = x, 2 * x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return ctx.twice * grad


def test_what_is_put_on_ctx_is_never_freed():
    with record() as trace:
        x = leaf(1.0, 2.0)
        loss = Careless.apply(x).sum()
        loss.backward()
    board = storyboard(trace, "memory")
    assert board.scene.boxes["anyway"].alt.startswith("16 bytes are left at the end. ")
    (holder,) = [box for box in board.scene.boxes.values() if " keeps 16 bytes to the end: ctx.twice; " in box.alt]
    assert holder.alt.endswith("needs ctx.x, alive anyway") and holder.details[-1].heading == "Never freed"


def test_a_graph_that_is_let_go_without_a_backward_holds_nothing():
    x = torch.ones(1000, requires_grad=True)
    with record() as trace:
        for _ in range(5):
            y = (x * x).exp().sum()
    assert y.requires_grad
    assert captions(trace)[6] == "3 nodes are gone, as nothing holds them any more: 3.906 KiB less, 3.906 KiB kept."
    board = storyboard(trace, "memory")
    assert bars(board)[-1] == "3.906 KiB kept"  # 4,000 bytes, of the last exponential
    assert board.scene.boxes["peak"].title == "Kept for backward: 7.812 KiB at most, in forward"
    assert board.scene.boxes["anyway"].alt == (
        "3.906 KiB are left at the end. Backward also needs 3.906 KiB of parameters and inputs, which live anyway."
    )
    alts = [box.alt for box in board.scene.boxes.values() if box.alt.startswith("ExpBackward0 keeps 3.906 KiB ")]
    ends = [alt.removeprefix("ExpBackward0 keeps 3.906 KiB ").partition(":")[0] for alt in alts]
    assert sorted(ends) == ["to the end"] + ["until it is gone"] * 4


def test_rows_add_up_to_the_peak_or_say_why_not():
    def rows(board):
        return [box.title for id, box in board.scene.boxes.items() if id.endswith(".most")]

    with record() as trace:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        h = (x * w).sigmoid()
        loss = (h * w).sum()  # h is kept by two, and w
        loss.backward()
    board = storyboard(trace, "memory")
    assert rows(board) == ["16 bytes", "0 bytes", "0 bytes", "16 bytes", "16 bytes"]  # h, two nodes with nothing, w, x
    assert "sum" not in board.scene.boxes
    assert "Kept for backward: 16 bytes at most" in board.scene.boxes["peak"].title
    assert board.scene.boxes["lives"].title == "Alive anyway: 2 parameters and inputs, 32 bytes"
    with record() as trace:
        w.exp().sum().backward()
        w.sigmoid().sum().backward()
    said = storyboard(trace, "memory").scene.boxes["sum"].title
    assert said == "The rows add up to 32 bytes, as not all keep their most at the same time."


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
    held = [bar.removesuffix(" kept") for bar in bars(storyboard(runs[1], "memory"))]
    kib = [float(each.split()[0]) / 7.8125 if "KiB" in each else 0 for each in held]
    assert [round(each) for each in kib] == [
        *(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1),
        *(1, 1, 2, 3, 4, 3, 2, 1, 1, 1, 2, 3, 4, 3, 2, 1, 1, 0),
    ]


def test_what_two_nodes_save_of_a_part_that_runs_again_counts_once():
    def part(x, w):
        h = x * w
        return h * h.sigmoid()  # the sigmoid and the product save the same tensor

    x, w = leaf(1.0, 2.0, 3.0), leaf(1.0, 2.0, 3.0)
    with record() as trace:
        checkpoint(part, x, w, use_reentrant=False).sum().backward()
    board = storyboard(trace, "memory")
    assert board.scene.boxes["peak"].title == "Kept for backward: 48 bytes at most, in backward"  # h, sigmoid
    assert bars(board)[-1] == "0 bytes kept"


def test_two_runs_lie_over_each_other_with_backward_at_the_same_place(runs):
    plain, checkpointed = runs
    picture = plain.show("memory", against=checkpointed)
    boxes = storyboard(plain, "memory", against=checkpointed).scene.boxes
    assert {box.kind for box in boxes.values()} <= {*get_args(BoxKind)}
    starts = [next(b.place[0] for id, b in boxes.items() if id.startswith(k) and "backward" in b.alt) for k in KINDS]
    assert starts[0] == starts[1]
    assert "This run keeps 54.69 KiB at most, where forward ends" in str(picture)
    assert "The other keeps 31.25 KiB at most, in backward" in str(picture)


def test_a_run_can_be_compared_with_one_that_keeps_nothing():
    big = torch.linspace(0, 1, 1000, requires_grad=True)
    with record() as recorded:
        kept = (big.sin() * big).sum()
    with record() as silent, torch.no_grad():
        (big.sin() * big).sum()
    said = str(recorded.show("memory", against=silent))
    assert kept.grad_fn and "The other keeps nothing" in said and "This run keeps 3.906 KiB at most" in said
    assert "kept" in str(silent.show("memory")) or "nothing" in str(silent.show("memory")).lower()


KINDS = ("bar", "ghost")


def loop(times):
    """A training loop in which each pass makes two nodes and runs two."""
    weight = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(times):
            weight.exp().sum().backward()
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
    assert boxes["peak"].title == "Kept for backward: 16 bytes at most, where forward ends"


def test_where_there_is_no_room_for_every_mark_the_axis_says_so_once():
    boxes = storyboard(loop(80), "memory").scene.boxes
    assert not [id for id in boxes if id.startswith("turn")]
    assert [box.title for id, box in boxes.items() if id.startswith("phase")] == ["forward and backward take turns"]


def test_what_was_there_before_the_recording_is_counted_without_what_comes_after():
    x = leaf(1.0, 2.0)
    before = x.sigmoid()
    with record() as trace:
        kept = [[before.exp()]]
    assert kept and captions(trace) == [
        "1 node was there before the recording: 16 bytes more, 16 bytes kept.",
        "ExpBackward0 joins the graph and keeps the result of exp: 16 bytes more, 32 bytes kept.",
    ]


def test_a_checkpoint_holds_its_arguments_from_its_beginning_on():
    with record() as trace:
        x = leaf(1.0, 2.0)
        result = checkpoint(chain, x + 1, use_reentrant=False)
    first = captions(trace)[1]
    assert first == "Checkpoint 1 keeps its arguments: the result of add: 16 bytes more, 16 bytes kept."
    assert result.requires_grad
    assert bars(storyboard(trace, "memory")) == ["0 bytes kept"] + ["16 bytes kept"] * 5


def test_a_long_run_has_as_many_bars_as_can_be_seen():
    with record() as trace:
        t = leaf(1.0, 2.0)
        for _ in range(700):
            t = t.sin()
        t.sum().backward()
    board = storyboard(trace, "memory")
    widths = [box.place[2] for id, box in board.scene.boxes.items() if id.startswith("bar")]
    assert 90 < len(widths) <= 225 and min(widths) >= 3 and len(board.steps) == len(widths)
    assert board.scene.boxes["bucket"].title == "each bar is the most of 15 events"
    assert "and 689 more" in board.scene.boxes["more"].title
    told = board.steps[0].caption
    assert told.count("joins the graph") == 3 and told.endswith(" And 12 more before that.")


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
        checkpoint(torch.exp, leaf(1.0).exp(), use_reentrant=False).sum().backward()
    at, kept = next((n, event) for n, event in enumerate(trace.events) if isinstance(event, CheckpointKept))
    few, many = (Ledger(Timeline([*trace.events[:at], *[kept] * count])).points[-1] for count in (3, 1_000))
    assert len(few.largest) == 4 and many.largest == ()


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_chart_is_no_wider_than_a_small_projector_shows(rounds):
    """In JupyterLab, beside its files and at 1024 x 768, 595 px have room with text of 11 px."""
    x = leaf(1.0, 2.0)
    with record() as trace:
        for _ in range(rounds):
            (x.exp() * x).tanh().sum().backward()
    board = storyboard(trace, "memory")
    assert board.layout.width <= 595
    assert (
        board.scene.boxes["anyway"].alt == "Backward also needs 16 bytes of parameters and inputs, which live anyway."
    )
