"""Names kept from the days of Function instances, beside PyTorch's (rows 19 of the semantic map)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from functions import leaf64
from oracle import entries, raised

Pair = namedtuple("Pair", "a b")


class Thing:
    """A value of a kind that nesting does not know."""


def nested(torch: Any) -> Any:
    """An instance of a Function over nested tensors that returns its input, and remembers what it saw."""

    class Nested(torch.autograd.function.NestedIOFunction):
        def forward_extended(self, *input):
            self.seen = input
            return input[0]

        def backward_extended(self, *grad_output):
            self.seen = grad_output
            return [grad_output[0], None]

    return Nested()


def test_19_3_inplace_functions_are_a_base(torch):
    class Double(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace):
            ctx.inplace = inplace
            if inplace:
                ctx.mark_dirty(x)
            else:
                x = x.clone()
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad, None

    x = leaf64(torch, 1.0, 3.0)
    copied, written = Double.apply(x * 1, False), Double.apply(x * 1, True)
    (copied + written).sum().backward()
    return x.grad, copied, written, written.grad_fn.inplace, written.grad_fn.name()


def test_19_6_mixins(torch):
    function = torch.autograd.function
    hooks, first = function._HookMixin._register_hook(None, len)
    again, second = function._HookMixin._register_hook(hooks, max)
    before = list(hooks.values())
    second.remove()
    kinds = type(hooks).__name__, type(first).__name__
    return function._ContextMethodMixin is function.FunctionCtx, again is hooks, kinds, before, list(hooks.values())


NESTED = (1, [1, 2], (1, [2]), {"a": 1, "b": [2]}, None, (), Pair(1, 2), [None, 1])
REFUSED = ("s", [1, "s"], 1.5, {1}, range(3), Thing(), Thing, np.ones(1), len)
PLACES = (([1, 2, 3], (0, [0, 0])), ([1, 2], 0), ([1, 2], None), ([1, 2], (None, 0)), ([1], {"a": 0}), ([], ()))
CALLS = """
type(Old(1, key=2)).__name__ | Old()(x) | [A.inplace for A in (Writing(inplace=True), Writing(True), Writing())]
(lambda ctx: (ctx.mark_shared_storage((x, x)), vars(ctx)))(old.FunctionCtx()) | sorted(old.__all__)
[issubclass(kind, old.FunctionCtx) for kind in (old.Function, old.BackwardCFunction)]
(lambda a: (a.save_for_backward(1), a.mark_dirty(2), a.to_save, a.dirty_tensors))(Old())
(lambda a: (a.mark_non_differentiable(3), a.save_for_forward(None), a.non_differentiable, a.saved_for_forward))(Old())
(setattr(f, "_nested_input", ([x, (y, None)],)), f.forward(x, y), f.seen, f._nested_output, hasattr(f, "_nested_input"))
(setattr(f, "_nested_input", ({"x": x, "rest": Pair(y, None)},)), f.forward(x, y), f._nested_output)
(setattr(f, "_nested_output", ([x, (y, None)],)), f.backward(x, y), f.seen)
(f.save_for_backward([x, (y, None)], y), f.to_save, f._to_save_nested)
(f.mark_dirty([x], (y,), also=y), f.dirty_tensors)
(f.mark_non_differentiable({"x": x}, y, also=None), f.non_differentiable)
f.save_for_backward(1) | f.mark_dirty(x, also="s") | f.mark_non_differentiable(2.0) | Bare().forward_extended(1)
Bare().backward_extended(1) | f.saved_tensors | (f.save_for_backward(x), raised(lambda: f.saved_tensors)) | f(x)
f([x, (x,)]) | f("s") | f.forward(x) | f.backward(x) | type(f).apply(x) | f._do_forward(x) | f._do_backward((x,), False)
[plus(n) for n in NESTED] | [raised(g, r) for g in (plus, bare) for r in (*REFUSED, x)]
[list(strict(n)) for n in NESTED] | [raised(list, walk("s")) for walk in (strict, loose, opening)]
list(lenient([1, ("s", None)]))
list(opening([{2, 1}, 3])) | [old._unflatten(*case) for case in PLACES] | old._unflatten([1], [0, 0])
old._unflatten(iter([1, 2]), [0, 0]) | list(old._iter_tensors([x, {"y": (x, None)}])) | list(old._iter_tensors("s"))
list(old._iter_None_tensors([x, {"y": (x, None)}])) | list(old._iter_None_tensors("s"))
list(old._iter_tensors_permissive([x, "s"])) | old._map_tensor_data([x * 2, (x, None)]) | old._map_tensor_data("s")
"""


def whole(o: Any) -> bool:
    """Whether a part of a nest is an int."""
    return isinstance(o, int)


@pytest.mark.parametrize("text", entries(CALLS))
def test_19_instances_and_nests(torch: Any, text: str) -> Any:
    old = torch.autograd.function
    known = {"f": nested(torch), "x": leaf64(torch, 1.0), "Bare": type("A", (old.NestedIOFunction,), {})}
    known |= {"y": leaf64(torch, 2.0), "Old": type("A", (old.Function,), {}), "Pair": Pair}
    known["Writing"] = type("A", (old.InplaceFunction,), {})
    known |= {"raised": raised, "NESTED": NESTED, "REFUSED": REFUSED, "PLACES": PLACES}
    known |= {"plus": old._nested_map(whole, lambda o: o + 1, "ints"), "bare": old._nested_map(whole, lambda o: o + 1)}
    known |= {"strict": old._iter_filter(whole, condition_msg="ints"), "loose": old._iter_filter(whole), "old": old}
    known["lenient"] = old._iter_filter(whole, allow_unknown=True)
    known["opening"] = old._iter_filter(whole, conversion=lambda o: sorted(o) if isinstance(o, set) else o)
    return eval(text, known)
