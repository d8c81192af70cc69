"""What is kept in place of a tensor, told in the same words by every view: packed by a hook, or a checkpoint's slot."""

from __future__ import annotations

import pytest
from golden_programs import checkpointed, packed, part
from trace_samples import leaf

from workbench.recording import record
from workbench.utils.checkpoint import checkpoint
from workbench.views import storyboard


def captions(trace, view):
    return [step.caption for step in storyboard(trace, view).steps]


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_a_checkpoint_keeps_slots_and_its_arguments_and_runs_again(view):
    told = captions(checkpointed(), view)
    assert told[0].startswith("Checkpoint 1 keeps its arguments: x; sin(x) gives ")
    assert told[0].endswith("; SinBackward0 joins the graph and keeps a slot for x for backward.")
    assert told[1].endswith("; MulBackward0 joins the graph and keeps other for backward.")
    assert told[2].endswith("; ExpBackward0 joins the graph and keeps a slot for result for backward.")
    again = "; checkpoint 1 runs its part again; checkpoint 1 hands out what it computed again; it sends "
    (first,) = [caption for caption in told if "runs its part again" in caption]
    assert first.startswith("ExpBackward0 receives ") and again in first and first.count("runs its part") == 1
    assert first.endswith("; its slot is freed.")
    (last,) = [caption for caption in told if caption.startswith("SinBackward0 receives ")]
    assert "; checkpoint 1 hands out what it computed again; it sends " in last


def test_the_inspector_tells_slots_from_what_is_kept():
    boxes = storyboard(checkpointed(), "saved").at(3).boxes
    listed = [boxes[f"list.{n}"].alt.partition(": ")[2] for n in range(3)]
    assert listed == ["1 kept, 8 bytes: other", "1 slot: self (x)", "1 slot: result (the result of exp)"]


def test_a_slot_on_a_node_says_that_it_will_be_computed_again():
    chip = storyboard(checkpointed(), "graph", depth=9).at(3).boxes["n1.saved0"]
    assert chip.lines == ("a slot, to be computed again",)
    assert [detail.body for detail in chip.details] == [
        "Not kept: a checkpoint will compute it again from its arguments."
    ]


def test_what_a_hook_packed_is_said_to_be_packed_by_it():
    joins = "ExpBackward0 joins the graph and keeps "
    assert captions(packed(), "graph")[0].endswith(f"; {joins}result packed by half for backward.")
    assert captions(packed(), "saved")[0] == "ExpBackward0 keeps result (the result of exp) packed by half."
    assert captions(packed(), "memory")[0].startswith(f"{joins}the result of exp packed by half: ")
    assert storyboard(packed(), "saved").at(1).boxes["list.0"].alt.partition(": ")[2].startswith("2 packed, 8 bytes: ")


def test_a_checkpoint_in_another_tells_each_run_once():
    def outer(t):
        return checkpoint(part, t * 2, use_reentrant=False).log()

    with record() as trace:
        x = leaf(0.5, 0.25)
        checkpoint(outer, x, use_reentrant=False).sum().backward()
    told = captions(trace, "graph")
    assert "Checkpoint 2 keeps its arguments: a slot for " in told[1]
    (run,) = [caption for caption in told if "checkpoint 1 runs its part again" in caption]
    assert run.count("runs its part again") == 1 and "; inside of that, checkpoint 3 keeps its arguments; " in run
    memory = captions(trace, "memory")
    assert sum(each.startswith("Inside of that, checkpoint 3 keeps its arguments: ") for each in memory) == 1
    assert not any(each.startswith("Checkpoint 3 runs") for each in memory)
