"""The flow view's legend holds: a leaf's grad is the sum of its arrows, without those that say why they are no part."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as torch
from workbench.pictures.recording import Trace
from workbench.pictures.views import grouped_graph, storyboard

LOST = ("handed to the caller", "cleared since", "mul_ changed grad since", "replaced since")


def leaf(number: float) -> torch.Tensor:
    return torch.tensor(number, requires_grad=True)


def kept(trace: Trace) -> dict[str, float]:
    """By leaf the sum of its arrows that are told to be part of its grad, and of what no arrow brought."""
    board = storyboard(trace, "flow", depth=9)
    scene = board.at(len(board.steps) - 1)
    sums = {}
    for box in scene.boxes.values():
        if box.kind != "leaf" or box.state == "future" or box.refers:  # it is of another step of a loop
            continue
        by_none = re.findall(r"includes (\S+) from (?:before|earlier steps)", "\n".join(box.lines))
        sums[box.title] = sum(map(float, by_none))
        for arrow in scene.arrows.values():
            if box.id not in (arrow.source, scene.boxes[arrow.source].refers) or arrow.state == "future":
                continue
            words = arrow.label.split("\n")
            pale = arrow.weight == 1 and arrow.tone == "faint" and words[-1] != "zero"
            gone = any(word in LOST for word in words)
            assert pale == gone, "what is no part of grad is pale, and says why"
            numbers = [word for word in words if re.fullmatch(r"-?[\d.]+", word)]
            sums[box.title] += 0.0 if gone else sum(map(float, numbers))
            sums[box.title] += sum(float(number) for number in re.findall(r"(-?[\d.]+) earlier", arrow.label))
    return sums


@pytest.mark.parametrize("opens", [True, False])
def test_what_goes_into_a_closed_group_is_pale_too(opens, monkeypatch):
    if not opens:  # as if so many groups came before that a reader cannot open these any more
        monkeypatch.setattr(grouped_graph, "_INSIDES", 0)
    x = leaf(2.0)

    def step():
        x.grad = None
        with torch.scope("twice"):
            y = x * 2 + x * 3
        (y.exp() * 2.0).backward()

    with torch.record() as trace:
        step()
        step()
    board = storyboard(trace, "flow", open=[])
    scene = board.at(len(board.steps) - 1)
    arrows = [each for each in scene.arrows.values() if each.source == "t1"]
    assert [scene.boxes[arrow.target].title for arrow in arrows] == ["step()", "step(), 2nd call"]
    assert [arrow.tone for arrow in arrows] == ["faint", "plus"]
    total = f"{x.grad.item():.4g}"  # of the two gradients into each
    assert [arrow.label for arrow in arrows] == [f"① {total}\ncleared since", f"② {total}"]


ACTIONS = ("forward", "again", "hand out", "second order", "clear", "zero", "halve", "set")


@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(1, 4), st.booleans()), min_size=1, max_size=7))
def test_the_arrows_that_are_kept_add_up_to_grad(actions):
    a, b = leaf(2.0), leaf(4.0)
    y = None
    with torch.record() as trace:
        for action, number, first in actions:
            x, other = (a, b) if first else (b, a)
            if action == "forward" or y is None:
                y = x * number + x * other
                y.backward(retain_graph=True)
            elif action == "again":
                y.backward(retain_graph=True)
            elif action == "hand out":
                torch.autograd.grad(y, x, retain_graph=True)
            elif action == "second order":
                (g,) = torch.autograd.grad(x**2 * number, x, create_graph=True)
                (g * 2.0).backward()
            elif action == "clear":
                x.grad = None
            elif x.grad is not None and action == "zero":
                x.grad.zero_()
            elif x.grad is not None and action == "halve":
                with torch.no_grad():
                    x.grad.mul_(0.5)
            elif action == "set":
                x.grad = torch.tensor(float(number))
    grads = {"a": a, "b": b}
    for name, total in kept(trace).items():
        grad = grads[name].grad
        assert total == (0.0 if grad is None else float(grad))
