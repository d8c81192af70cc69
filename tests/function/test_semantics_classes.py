"""More semantics of classes, nodes and names, and of what ctx shows; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function
from oracle import chain, entries, names, raised


def twice(torch: Any, **members: Any) -> Any:
    """A Function that doubles, with other members."""
    made = {"forward": lambda ctx, x: x * 2, "backward": lambda ctx, g: g * 2, "name": "Twice"}
    return function(torch, **(made | members))


def test_15_1_only_node_classes_are_numbered(torch: Any) -> Any:
    F = twice(torch)
    child = type("Child", (F,), {})
    difference = child._backward_cls._autograd_function_id - F._backward_cls._autograd_function_id
    return hasattr(F, "_autograd_function_id"), difference, F._backward_cls.__name__, child._backward_cls.__name__


def test_15_3_how_tensors_name_their_node(torch: Any) -> Any:
    out = twice(torch).apply(torch.ones(1, requires_grad=True))
    return repr(out), repr(out * 2), repr(out[0]), type(out.grad_fn).__qualname__


def test_15_4_flags_are_gone_after_apply(torch: Any) -> Any:
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable()
        ctx.set_materialize_grads(True)
        return x * 2

    node = twice(torch, forward=forward).apply(torch.ones(1, requires_grad=True)).grad_fn
    flags = [getattr(node, name) for name in ("to_save", "dirty_tensors", "non_differentiable", "saved_for_forward")]
    return flags, raised(lambda: node.nothing), raised(lambda: node.materialize_grads)


def test_15_5_apply_jvp(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    F = twice(torch, jvp=lambda ctx, t: t * 7)
    plain = twice(torch).apply(x).grad_fn
    return F.apply(x).grad_fn.apply_jvp(torch.ones(1)), raised(plain.apply_jvp, torch.ones(1)), raised(F.jvp, None, 1)


def test_15_5_apply_gives_what_backward_returns(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    results = [[1], (None, 2), "text", None]
    return [twice(torch, backward=lambda ctx, g, r=r: r).apply(x).grad_fn.apply(x) for r in results]


def test_15_7_edges_of_what_was_given(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    values, indices = x.max(0)
    first, second = x.split([1, 2])
    F = twice(torch, forward=lambda ctx, *xs: sum(x.sum() for x in xs if hasattr(x, "sum")))
    out = F.apply(second, 3, values, "text", indices, first, None, second[0])
    return chain(out.grad_fn), out.grad_fn.needs_input_grad


def test_15_9_the_metadata_of_a_leaf(torch: Any) -> Any:
    node = torch.ones(2, dtype=torch.float64, requires_grad=True).view(2).grad_fn.next_functions[0][0]
    return [(list(m.shape), str(m.dtype)) for m in node._input_metadata]


# Built-in nodes have no `_input_metadata` here: the shape of the result alone would make each a tenth larger.
def test_15_9_the_metadata_of_outputs(torch: Any) -> Any:
    F = twice(torch, forward=lambda ctx, x: (x * 2, x.sum(), x.to(torch.float32), 5, x > 0))
    found = F.apply(torch.ones(2, 3, dtype=torch.float64, requires_grad=True))[0].grad_fn._input_metadata
    return [(list(m.shape), str(m.dtype)) for m in found[:3]]


def test_15_9_where_no_gradient_can_arrive(torch: Any) -> None:
    def facts(node: Any) -> Any:
        return [(m.shape, str(m.dtype), m.is_nested_tensor, m.is_cpp_nested_tensor) for m in node._input_metadata]

    def forward(ctx, x):
        told.append(facts(ctx))
        constant = x * 3
        ctx.mark_non_differentiable(constant)
        return x * 2, constant, x > 0, 5, x.double()

    told: list[Any] = []
    F = function(torch, forward, lambda ctx, *grads: told.append(facts(ctx)) or grads[0])
    x = torch.ones(2, 3, requires_grad=True)
    node = F.apply(x)[0].grad_fn
    single = twice(torch).apply(x).grad_fn
    F.apply(x)[0].sum().backward()
    return told, facts(node), facts(single), raised(setattr, node, "_input_metadata", ())


@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_gradients_come_as_one_list_where_they_are_boxed(torch, several, materialize):
    arrived = []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return (x * 2, x * 3) if several else x * 2

    def backward(ctx, grads):
        arrived.append([type(grads).__name__, *[g if g is None else g.tolist() for g in grads]])
        return grads[0] * 5

    told, boxed = [], function(torch, forward, backward, boxed_grads_call=True).apply
    for create_graph in (False, True):
        x = torch.ones(2, requires_grad=True)
        out = boxed(x)
        told += torch.autograd.grad((out[0] if several else out).sum(), x, create_graph=create_graph)
    return arrived, [g.tolist() for g in told]


@pytest.mark.parametrize("flag", ["boxed_grads_call", "clear_saved_tensors_on_access"])
@pytest.mark.parametrize("value", [1, "yes", None, True])
def test_a_flag_that_is_neither_true_nor_false(torch, flag, value):
    F = function(torch, lambda ctx, x: x * 2)
    setattr(F, flag, value)
    seen = [raised(F.apply, torch.ones(2, requires_grad=True)), raised(F.apply, torch.ones(2))]
    with torch.no_grad():
        seen.append(raised(F.apply, torch.ones(2, requires_grad=True)))
    return seen


def test_gradients_in_one_list(torch):
    seen: list[Any] = []

    def backward(ctx, *grads):
        seen.append(grads)
        first = grads[0][0] if isinstance(grads[0], list) else grads[0]
        if isinstance(grads[0], list):
            grads[0].clear()
        return first * 2

    F = function(
        torch,
        lambda x: (x * 2, x * 3),
        backward,
        setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
        boxed_grads_call=True,
    )
    x = torch.ones(2, requires_grad=True)
    out = F.apply(x)[0]
    out.grad_fn.register_hook(lambda *given: seen.append(given))
    out.sum().backward()
    F.apply(x)[0].grad_fn.apply(torch.ones(2), None)
    grad = torch.func.grad(lambda x: F.apply(x)[0].sum())(torch.ones(2))
    return seen, x.grad, grad


# PyTorch's names of what built-in nodes keep, where ours keep it in other words (row 15.12).
KEPT = """
x + y; alpha, self, other | x + 2; alpha | torch.add(x, y, alpha=2); alpha | x - y; alpha
torch.sub(x, y, alpha=2); alpha
2 - x; alpha | a.mean(); self_sym_numel, self_sym_sizes | a.mean(1); self_sym_numel, dim, keepdim
a @ M; self, mat2, self_sym_sizes, self_sym_strides, mat2_sym_sizes, mat2_sym_strides
a @ a.t(); mat2_sym_sizes, mat2_sym_strides, self_sym_strides
torch.addmm(c, a, M); mat1, mat1_sym_sizes, mat1_sym_strides, mat2_sym_sizes, self_sym_sizes, alpha, beta
a.prod(1); self_sym_sizes, dim, keepdim, result | a.unbind()[0]; self_sym_sizes, dim
x.gather(0, i); sparse_grad, dim, index, self | x.scatter(0, i, y); src_sym_sizes, index
x.scatter_add(0, i, y); src_sym_sizes, index | x.index_add(0, i, y); source_dim, alpha, dim, source
x.float(); dtype | torch.nn.functional.elu(x); scale, input_scale, alpha, is_result
torch.nn.functional.logsigmoid(x); buffer, self | torch.nn.functional.layer_norm(a, (3,)); eps, normalized_shape
torch.nn.functional.mse_loss(x, y); self_sym_sizes, reduction
torch.nn.functional.nll_loss(a, j[:2]); ignore_index, reduction, weight
torch.nn.functional.conv2d(A[None], A[None, :, :1, :1]); transposed, output_padding, stride, input_sym_sizes
"""


@pytest.mark.parametrize("text", entries(KEPT))
def test_15_12_names_of_what_is_kept(torch, text):
    op, asked = text.split("; ")
    node = eval(op, names(torch)).grad_fn
    kept = [(name, hasattr(node, f"_saved_{name}")) for name in asked.split(", ")]
    return [(name, known, getattr(node, f"_saved_{name}") if known else None) for name, known in kept]


@pytest.mark.parametrize("text", ["x.exp(); result", "x.sum(); self_sym_sizes"])
def test_15_12_when_it_is_freed(torch, text):
    op, name = text.split("; ")
    out, told = eval(op, names(torch)), []
    for run in (out.grad_fn, out.backward):  # a call of the node alone frees nothing
        run(torch.ones_like(out))
        told.append(raised(getattr, out.grad_fn, f"_saved_{name}"))
    return told


NUMBERS = """
x * 2.0 | x * 2 | x * 0.1 | x * True | 2.0 * x | x / 3.0 | x / 3 | x.float() * 0.1 | x.float() / 3
x.mul(2.0) | x.clone().mul_(0.1) | x.clone().div_(2) | x.float() * torch.tensor(2.0, dtype=torch.float64)
"""


@pytest.mark.parametrize("text", entries(NUMBERS))
def test_15_12_a_number_is_kept_in_a_dtype_of_its_own(torch, text):
    kept = eval(text, names(torch)).grad_fn._saved_other
    return kept, str(kept.dtype), kept.item()
