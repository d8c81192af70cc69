"""What is kept in place of a tensor, told in the same words by every view: packed by a hook, or a checkpoint's slot."""

from __future__ import annotations

import pytest
from golden_programs import checkpoint_in_checkpoint, checkpointed

from workbench.views import storyboard


@pytest.mark.parametrize(("program", "runs"), [(checkpointed, 1), (checkpoint_in_checkpoint, 2)])
@pytest.mark.parametrize("view", ["graph", "flow"])
def test_each_run_of_a_checkpoint_is_told_once(view, program, runs):
    told = " ".join([step.caption for step in storyboard(program(), view).steps])
    assert told.lower().count("checkpoint 1 runs its part again") == 1
    assert told.lower().count("inside of that, checkpoint 3 keeps its arguments") == runs - 1


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
