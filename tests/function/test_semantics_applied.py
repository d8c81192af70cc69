"""All that one application of a Function shows (rows 1.x, 3.x, 5.x, 6.x, 9.x and 12.x), one forward a line.

Each forward runs on a leaf, a result, a plain tensor, views, and under no_grad. What is compared is what comes out and
what that is, the inputs afterward, what was saved, and the gradients that backward gets and gives.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest
from functions import function, seen_of

Point = namedtuple("Point", ["left", "right"])


def added(seen: list[Any], inputs: int) -> Any:
    """A backward that notes its gradients and what was saved, and gives their sum to each input."""

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append((grads, ctx.needs_input_grad, ctx.saved_tensors))
        total = sum(g.sum() for g in grads if hasattr(g, "sum") and g.is_floating_point())
        whole = hasattr(total, "sum")
        return tuple([(total * n).float().expand(2).clone() if whole else None for n in range(1, inputs + 1)])

    return backward


def rows(table: str) -> list[str]:
    return table.strip().splitlines()


def of_one(torch: Any, row: str) -> Any:
    """What the Function of a row shows, applied to one input."""

    def made(seen):
        names = {"torch": torch, "Point": Point, "note": seen.append}
        return function(torch, eval(f"lambda ctx, x: {row.partition(': ')[2]}", names), added(seen, 1))

    return seen_of(torch, made), torch.is_grad_enabled()


SAVED = """
1.1 the last call: ctx.save_for_backward(x) or ctx.save_for_backward(y := x * 2, x) or note(ctx.to_save[1] is x) or y
1.2 in order: ctx.save_for_backward(y := x * 2, x, y) or y
1.2 nothing: ctx.save_for_backward() or x * 2
1.2 never called: x * 2
1.3 None keeps its place: ctx.save_for_backward(None, x, None) or x * 2
1.4 a number too: ctx.save_for_backward(x, 3) or x * 2
1.4 a number: ctx.save_for_backward(3) or x * 2
1.4 a list: ctx.save_for_backward(x, None, [x]) or x * 2
1.4 a string: ctx.save_for_backward("a") or x * 2
1.4 two numbers: ctx.save_for_backward(x, 2.5, 3) or x * 2
1.4 a tuple: ctx.save_for_backward((x,)) or x * 2
1.5 reading in forward: ctx.save_for_backward(x) or note(ctx.saved_tensors) or x * 2
1.7 outputs: ctx.save_for_backward(y := x.exp(), z := x + 1) or (y, z)
1.8 intermediates: ctx.save_for_backward(x + 1, (y := x * 2) * 2) or y
1.10 grad mode: note((torch.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad)) or x * 2
1.17 integers and masks: ctx.save_for_backward(x.sort()[1], x > 0) or x * 2
"""


@pytest.mark.parametrize("row", rows(SAVED))
def test_1_1_to_1_17_what_forward_saves(torch, row):
    return of_one(torch, row)


WRITTEN = """
3.1 written and marked: x.add_(1) is ctx.mark_dirty(x) or x
3.2 neither: x
3.2 not marked: x.add_(1)
3.2 not written: ctx.mark_dirty(x) or x
3.3 marked before: ctx.mark_dirty(x) or x.add_(1)
3.7 not returned: ctx.mark_dirty(x) or x + 1
3.8 a new tensor: ctx.mark_dirty(y := x * 3) or y
3.8 a view of the input: ctx.mark_dirty(y := x.view(2)) or y
3.8 a view of something else: ctx.mark_dirty(y := torch.zeros(3)[:2]) or y
3.9 None: ctx.mark_dirty(None) or x * 1
3.9 a number: ctx.mark_dirty(1) or x * 1
3.9 a string: ctx.mark_dirty("x") or x * 1
3.9 a list: ctx.mark_dirty([1.0]) or x * 1
3.12 a view and another output: ctx.mark_dirty(x.mul_(2)) or (x, x + 1)
3.15 returned twice: ctx.mark_dirty(x.add_(1)) or (x, x)
3.18 past autograd: (x.data.mul_(10), x)[1]
3.19 dirty and non-differentiable: ctx.mark_dirty(x.add_(1)) or ctx.mark_non_differentiable(x) or x
"""


@pytest.mark.parametrize("row", rows(WRITTEN))
def test_3_1_to_3_19_what_forward_writes(torch, row):
    return of_one(torch, row)


MARKED = """
5.1 a marked output: ctx.mark_non_differentiable(y := x * 3) or (x * 2, y)
5.2 of any shape and dtype: ctx.mark_non_differentiable(*(y := ((x * 3).double()[:1], x.long(), x > 1))) or (x * 2, *y)
5.2 not materialized: ctx.set_materialize_grads(False) or ctx.mark_non_differentiable(y := x * 3) or (x * 2, y)
5.3 integers and masks: (x * 2, x.argsort(), x > 1, x.int())
5.4 all marked: ctx.mark_non_differentiable(*(y := (x * 2, x * 3))) or y
5.5 the second call: ctx.mark_non_differentiable(*(y := (x * 2, x * 3))) or ctx.mark_non_differentiable(y[0]) or y
5.6 a number: ctx.mark_non_differentiable(3) or x * 2
5.6 None: ctx.mark_non_differentiable(None) or x * 2
5.6 a list: ctx.mark_non_differentiable([x]) or x * 2
5.6 a string too: ctx.mark_non_differentiable(x, "a") or x * 2
5.6 nothing: ctx.mark_non_differentiable() or x * 2
5.7 not returned: ctx.mark_non_differentiable(x * 2) or (x * 2, x * 3)
5.8 an input: ctx.mark_non_differentiable(x) or (x * 2, x)
5.9 a view of an input: ctx.mark_non_differentiable(y := x[:1]) or (x * 2, y)
5.10 no zeros for one output: setattr(ctx, "_materialize_non_diff_grads", False) or x * 2
5.10 no zeros for constants: setattr(ctx, "_materialize_non_diff_grads", False) or (x * 2, x.argsort(), x * 3, x > 0, 5)
6.1 zeros of another shape and dtype: (x * 2, (x * 3).double().reshape(2, 1))
6.2 or None: ctx.set_materialize_grads(False) or (x * 2, x * 3)
6.3 off at last: ctx.set_materialize_grads(True) or ctx.set_materialize_grads(False) or (x * 2, x * 3)
6.3 on at last: ctx.set_materialize_grads(False) or ctx.set_materialize_grads(True) or (x * 2, x * 3)
6.4 an int: ctx.set_materialize_grads(1) or x * 2
6.4 a float: ctx.set_materialize_grads(0.0) or x * 2
6.4 a string: ctx.set_materialize_grads("no") or x * 2
6.4 None: ctx.set_materialize_grads(None) or x * 2
6.4 a tensor: ctx.set_materialize_grads(x) or x * 2
6.5 it cannot be read: ctx.materialize_grads
6.6 no tensors: (3, x * 2, None, "text", [4])
6.6 not materialized: ctx.set_materialize_grads(False) or (3, x * 2, None, "text", [4])
"""


@pytest.mark.parametrize("row", rows(MARKED))
def test_5_1_to_6_6_what_forward_marks(torch, row):
    return of_one(torch, row)


RETURNED = """
12.1 one in a tuple: (x * 2,)
12.1 a pair: (x * 2, x * 3)
12.2 an empty tuple: ()
12.2 a namedtuple: Point(x * 2, x * 3)
12.3 None: None
12.3 a number: 3.5
12.3 text and a tensor: ("a", x * 2)
12.3 None, a tensor and a number: (None, x * 2, 3)
12.3 a size: x.shape
12.4 a list: [x * 2, x * 3]
12.4 a dict: {"a": x * 2}
12.4 a pair in a pair: ((x * 2, x * 3), x * 4)
12.4 a list among others: (x * 2, [x * 3])
12.5 the same new tensor twice: ((y := x * 2), x * 3, y)
12.6 an input among others: (x * 2, x)
12.8 a captured tensor: torch.ones(2)
12.8 a captured leaf: torch.ones(2, requires_grad=True)
12.8 a captured result: torch.enable_grad()(lambda: torch.ones(2, requires_grad=True) * 2)()
12.9 a graph built inside: torch.enable_grad()(lambda: x.exp().sin())()
12.10 a view: x[:1]
12.10 two views: (x[:1], x[1:])
12.13 integers and a mask alone: (x.long(), x > 0)
"""


@pytest.mark.parametrize("row", rows(RETURNED))
def test_12_1_to_12_13_what_forward_returns(torch, row):
    return of_one(torch, row)


TWO = """
1.6 inputs: ctx.save_for_backward(x, y) or x + y
3.6 a plain leaf beside one that requires grad: ctx.mark_dirty(x.add_(y)) or x
3.10 the second call: ctx.mark_dirty(x) or ctx.mark_dirty(y) or (x * 1, y)
3.11 a view takes a value: ctx.mark_dirty(x.copy_(y)) or x
3.12 a view and another output: ctx.mark_dirty(x.mul_(2)) or (x, y + 1)
3.20 swapped: ctx.mark_dirty(x, y) or (x.add_(y), y.add_(x), (y, x))[2]
12.7 the second as it is: (x * 2, y)
12.16 a product: ctx.save_for_backward(x, y) or x * y
13.1 what the inputs need: note(ctx.needs_input_grad) or x * y
"""
OTHERS = {
    "a leaf": lambda torch: torch.full((2,), 3.0, requires_grad=True),
    "a result": lambda torch: torch.full((2,), 3.0, requires_grad=True) * 1,
    "a plain tensor": lambda torch: torch.full((2,), 3.0),
}


@pytest.mark.parametrize("row", rows(TWO))
@pytest.mark.parametrize("other", OTHERS)
def test_of_two_inputs(torch, row, other):
    def made(seen):
        forward = eval(f"lambda ctx, x, y: {row.partition(': ')[2]}", {"torch": torch, "note": seen.append})
        return function(torch, forward, added(seen, 2))

    return seen_of(torch, made, others=lambda: [OTHERS[other](torch)])


SETUP = """
6.3 the last call: (x * 2, x * 3); [ctx.set_materialize_grads(value) for value in (False, False, True)]
6.3 no zeros: (x * 2, x * 3); ctx.set_materialize_grads(False)
9.5 a tensor: x * 2; note((type(output).__name__, output, [output is i for i in inputs]))
9.5 one in a tuple: (x * 2,); note((type(output).__name__, output))
9.5 a pair: (x * 2, x * 3); note((type(output).__name__, output))
9.5 the input: x; note((type(output).__name__, output, output is inputs[0]))
9.5 a view: x.view(-1); note((type(output).__name__, output, output is inputs[0]))
9.5 a number: 5; note((type(output).__name__, output))
9.6 grad mode: note(torch.is_grad_enabled()) or x * 2; note((torch.is_grad_enabled(), output.requires_grad))
9.6 needs: x * 2; note((ctx.needs_input_grad, inputs[0].requires_grad))
9.7 what it returns: x * 2; "nonsense"
9.8 an input that was returned: x; ctx.save_for_backward(inputs[0])
9.8 among others: (x * 2, x); ctx.save_for_backward(inputs[0])
9.8 as a view: x.view_as(x); ctx.save_for_backward(inputs[0])
9.8 a view itself: x.view_as(x); ctx.save_for_backward(output)
9.8 in a list: [x]; ctx.save_for_backward(inputs[0])
9.10 what it computed: x**3; ctx.save_for_backward(inputs[0] ** 2)
"""


@pytest.mark.parametrize("row", rows(SETUP))
def test_9_5_to_9_10_what_setup_context_does(torch, row):
    forward, setup = row.partition(": ")[2].split("; ")

    def made(seen):
        names = {"torch": torch, "note": seen.append}
        setup_context = eval(f"lambda ctx, inputs, output: {setup}", names)
        return function(torch, eval(f"lambda x: {forward}", names), added(seen, 1), setup_context=setup_context)

    return seen_of(torch, made)
