"""What is named of a graph with closed groups: where a gradient goes, and which groups there are."""

from __future__ import annotations

from typing import Any

import absent
import pytest

import workbench
import workbench as torch
from workbench import nn
from workbench.pictures.recording import Trace, record


def test_of_many_groups_an_error_names_some_and_counts_the_rest():
    with record() as trace:
        y = torch.ones(2, requires_grad=True)
        for name in "abcdefghijklmnopqrst":
            with torch.scope(name):
                y = (y * 2).tanh()
        y.sum().backward()
    with pytest.raises(ValueError, match=r"named 'nope'; its groups are 'for name in .*', 'a', .*'k' and 9 more\."):
        trace.show(open=["nope"])


def test_modules_of_one_class_are_told_apart_by_the_variables_that_call_them():
    G, D = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    with record() as trace:
        fake = G(torch.ones(3, 2))
        (D(torch.zeros(3, 2)) + D(fake)).sum().backward()
    for each in (trace, Trace.from_dict(trace.to_dict())):
        board = each.show(open=["D"]).storyboard
        titles = {box.title for box in board.scene.boxes.values() if box.kind == "group"}
        assert {"G › Sequential", "D › Sequential", "D › Sequential, 2nd call"} <= titles
        captions = " ".join([step.caption for step in board.steps])
        assert all(f"In `0 › Linear` in `{which}:" in captions for which in ("G › Sequential`", "D › Sequential`"))
        assert "In `D › Sequential`, 2nd call: `1 › ReLU` (ReluBackward0) gives" in captions


def titles_of_different_modules(torch: Any, recording: Any) -> tuple[list[str], list[str]]:
    """The titles of the groups that are seen if all are closed, and of those that lie in none other or in a line."""
    linear, x = torch.nn.Linear, torch.ones(3, 2)
    to_mu, heads, parts = linear(2, 2), [linear(2, 2), linear(2, 2)], {"q": linear(2, 2), "k": linear(2, 2)}
    with recording as trace:
        mu = to_mu(x)
        both = heads[0](mu) * heads[-1](mu)
        (parts["q"](both) * parts["k"](mu)).sum().backward()
    seen = [box.title for box in trace.show(open=[]).storyboard.at().boxes.values() if box.kind == "group"]
    inside = [box.title for box in trace.show().storyboard.scene.boxes.values() if "Linear" in box.title]
    return seen, inside


DIFFERENT = (
    # A line of several modules is told by these, if its words have no room.
    ["mu = to_mu › Linear", "both = heads[0](mu) * heads[-1](mu)", 'parts["q"] … parts["k"]'],
    [
        "mu = to_mu › Linear",
        *["heads[0] › Linear", "heads[-1] › Linear"],
        *['parts["q"] › Linear', 'parts["k"] › Linear'],
    ],
)


@pytest.mark.oracle
def test_different_modules_of_pytorch_are_no_calls_of_one():
    torch = pytest.importorskip("torch", reason=absent.TORCH)
    assert titles_of_different_modules(torch, workbench.record(torch)) == DIFFERENT


@pytest.mark.oracle
def test_what_a_function_of_pytorch_calls_is_not_called_by_its_name():
    torch = pytest.importorskip("torch", reason=absent.TORCH)
    net, x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), torch.ones(3, 2)
    with workbench.record(torch) as trace:
        (torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False) + net(x)).sum().backward()
    told = {box.title for box in trace.show(depth=9).storyboard.scene.boxes.values() if "Sequential" in box.title}
    assert told == {"checkpoint › net › Sequential", "net › Sequential"}  # the function around it, and its variable


def titles_of_checkpoints(torch, checkpoint, recording, program, reentrant):
    """Return the titles of the boxes around what a checkpoint computes, and computes again."""
    net, head = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), torch.nn.Linear(3, 1)

    def part(t):
        return (t * 2).sin().exp()

    def outer(t):
        return checkpoint(part, t, use_reentrant=reentrant).cos()

    x = torch.ones(2, 3, requires_grad=True)
    with recording() as trace:
        for _ in range(2 if program == "in a loop" else 1):
            h = checkpoint({"a function": part, "within another": outer}.get(program, net), x, use_reentrant=reentrant)
            h = checkpoint(part, h, use_reentrant=reentrant) if program == "a second" else h
            head(h).sum().backward()
    boxes = trace.show(depth=9).storyboard.scene.boxes.values()
    return [box.title for box in boxes if box.kind == "group" and box.title.startswith("checkpoint ›")] or [
        box.title for box in boxes if box.kind == "group" and box.title == "checkpoint"
    ]


CHECKPOINTED = ["a module", "a function", "within another", "in a loop", "a second"]


@pytest.mark.parametrize("program", CHECKPOINTED)
def test_what_a_checkpoint_computes_again_has_a_box_of_its_own(program):
    found = titles_of_checkpoints(workbench, workbench.utils.checkpoint.checkpoint, record, program, True)
    of_module = program in ("a module", "in a loop", "a second")
    assert found == ["checkpoint › Sequential" if of_module else "checkpoint"]


@pytest.mark.oracle
@pytest.mark.parametrize("program", CHECKPOINTED)
def test_what_a_checkpoint_of_pytorch_computes_again_has_a_box_of_its_own(program):
    torch = pytest.importorskip("torch", reason=absent.TORCH)
    first, again = "checkpoint › net › Sequential", "checkpoint › net.0 › Linear"  # PyTorch stops once it has enough
    for reentrant, told in ((False, [first, again]), (True, [first])):  # which has no nodes the first time
        found = titles_of_checkpoints(
            torch, torch.utils.checkpoint.checkpoint, lambda: workbench.record(torch), program, reentrant
        )
        of_module = program in ("a module", "in a loop")
        assert found == (told if of_module else [first] if program == "a second" else ["checkpoint"])
