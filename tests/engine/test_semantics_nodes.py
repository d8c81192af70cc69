"""Classes, nodes and names (rows 15.x of the semantics), each program under both engines."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, leaf
from oracle import chain, entries, names, raised


def mul(torch: Any) -> type:
    """A Function of two tensors and a number."""

    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, scale=1.0):
            ctx.save_for_backward(a, b)
            ctx.scale = scale
            ctx.notes = ["forward"]
            return a * b * scale

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            ctx.notes.append("backward")
            return (g * b * ctx.scale, g * a * ctx.scale, None)[: len(ctx.needs_input_grad)]

    return Mul


def test_15_1_the_metaclass_makes_a_node_class_for_each_function(torch: Any) -> None:
    F = mul(torch)

    class Sub(F):
        pass

    module = torch.autograd.function
    node, sub = F._backward_cls, Sub._backward_cls
    return (
        type(F) is module.FunctionMeta,
        [c.__name__ for c in (node, sub)],
        [c.__bases__ == (module.BackwardCFunction,) for c in (node, sub)],
        [node._forward_cls is F, sub._forward_cls is Sub],
        Sub._backward_cls._autograd_function_id - F._backward_cls._autograd_function_id,
        F._autograd_function_id == node._autograd_function_id if hasattr(F, "_autograd_function_id") else True,
    )


def test_15_2_ctx_is_the_node(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx)
            return g

    y = F.apply(leaf(torch))
    y.sum().backward()
    ctx = seen[0]
    module = torch.autograd.function
    return (
        seen[0] is seen[1] is y.grad_fn,
        isinstance(ctx, module.BackwardCFunction),
        isinstance(ctx, module.FunctionCtx),
        isinstance(ctx, F),
        type(ctx) is F._backward_cls,
    )


def test_15_3_names(torch: Any) -> None:
    y = mul(torch).apply(leaf(torch), leaf(torch))
    return y.grad_fn.name(), type(y.grad_fn).__name__, repr(y), type(y.grad_fn).__qualname__


def test_15_4_attributes_live_on_the_node(torch: Any) -> None:
    y = mul(torch).apply(leaf(torch), leaf(torch), 3.0)
    node = y.grad_fn
    node.added = "later"
    y.sum().backward()
    flags = [getattr(node, name) for name in ("to_save", "dirty_tensors", "non_differentiable")]
    return node.scale, node.notes, node.added, flags, raised(lambda: node.missing)


def test_15_5_applying_the_node_runs_backward(torch: Any) -> None:
    y = mul(torch).apply(leaf(torch), leaf(torch) * 2)
    out = y.grad_fn.apply(torch.ones(2))
    return type(out).__name__, out, y.grad_fn.notes, raised(y.grad_fn.apply)[0]


def test_15_6_calling_other_nodes(torch: Any) -> Any:
    x = leaf(torch)
    written = x * 1
    written[0] = 1.0
    accumulate, slices = (x * 2).grad_fn.next_functions[0][0], written.grad_fn
    joined, piece = torch.cat([x, torch.ones(2)]).grad_fn, x.split(1)[0].grad_fn
    ones = torch.ones(2)
    told = [accumulate(ones), x.grad, accumulate(None), accumulate(ones * x), x.grad, slices(ones), slices(None)]
    told += [joined(torch.ones(4)), piece(None, torch.ones(1)), piece(None, None), (x * x).grad_fn(None)]
    told += [x.view(2).grad_fn(None), raised(joined, 3), raised(joined, 3, 3), raised(piece, None, "text")]
    out = x.exp()
    out.sum().backward()
    written.sum().backward()
    return told, raised(slices, ones), raised(out.grad_fn, None)


def test_15_7_one_edge_per_tensor_argument(torch: Any) -> None:
    x, plain = leaf(torch), torch.ones(2)
    F = mul(torch)
    made = [F.apply(x, plain, 2.0), F.apply(plain, x * 2), F.apply(x, x), x * 2, 2 * x, x * plain, plain - x]
    made += [x / x, torch.where(x > 1, x, plain), torch.cat([plain, x]), x.sum(), x[0], torch.stack([x, x * 1])]
    return [[(node, nr) for node, nr in y.grad_fn.next_functions] for y in made]


def test_15_7_output_numbers(torch: Any) -> None:
    Pair = function(torch, lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: g + 2 * h, name="Pair")
    a, b = Pair.apply(leaf(torch))
    return chain((a * b + b).grad_fn), a.output_nr, b.output_nr


def test_15_8_node_is_a_virtual_base_class(torch: Any) -> None:
    Node = torch.autograd.graph.Node
    x = leaf(torch)
    y = mul(torch).apply(x, x)
    accumulator = y.grad_fn.next_functions[0][0]
    found = [isinstance(n, Node) for n in (y.grad_fn, (x * 2).grad_fn, accumulator, x, 3)]
    return found, issubclass(type(y.grad_fn), Node), issubclass(int, Node)


def test_15_9_metadata(torch: Any) -> None:
    x = leaf(torch)
    told = []
    for node in (mul(torch).apply(x, x).grad_fn, (x * 2).grad_fn):
        node.metadata["note"] = 3
        told.append((type(node.metadata).__name__, node.metadata["note"]))
    custom = mul(torch).apply(x, x).grad_fn
    return told, [(tuple(m.shape), m.dtype) for m in custom._input_metadata]


def test_15_10_accumulate_grad(torch: Any) -> None:
    x = leaf(torch)
    one, two = (x * 2).grad_fn.next_functions[0], (x * 3).grad_fn.next_functions[0]
    return one[0].name(), one[0] is two[0], one[1], one[0].variable is x, one[0].next_functions, type(one[0]).__name__


# What a learner looks for with dir(), for some kinds of nodes.
LISTED = """
x.exp() | x * y | x * 2 | x - 1 | x**3 | x**y | x.std() | x.sum() | a.sum(0) | x.mean() | a.view(3, 2) | x[1:] | x[i]
x.softmax(0) | x.norm() | a @ M[:, :3] | torch.cat([x, x]) | x.prod() | x.gather(0, i) | x.masked_fill(m, 0) | x.float()
torch.stack([x, y]) | x.max() | a.permute(1, 0) | torch.addmm(a[:, :2], a, a.T) | x.cumsum(0) | x.index_select(0, i)
torch.nn.functional.embedding(i, M) | torch.nn.functional.smooth_l1_loss(x, y) | torch.where(m, x, y)
torch.nn.functional.binary_cross_entropy_with_logits(x, y) | torch.nn.functional.mse_loss(x, y)
"""


@pytest.mark.parametrize("text", entries(LISTED))
def test_15_12_what_a_node_saved_is_listed(torch: Any, text: str) -> Any:
    node = eval(text, names(torch)).grad_fn
    listed = [name for name in dir(node) if "_saved_" in name]
    return node.name(), type(node).__name__, listed, [name for name in listed if not hasattr(node, name)]


def test_15_12_reading_saved_tensors_once(torch: Any) -> None:
    class Once(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors  # noqa: B018
            return g * ctx.saved_tensors[0]

    Once.apply(leaf(torch)).sum().backward()
