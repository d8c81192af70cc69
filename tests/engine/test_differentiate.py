"""autograd.grad and autograd.backward beside PyTorch's: what they take, what they return, what they leave behind."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
from functions import function, leaf64
from oracle import entries, raised


def ones(torch: Any, *size: int) -> Any:
    return torch.ones(*size, dtype=torch.float64)


def test_what_is_no_tensor_is_refused(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    wrong: tuple[Any, ...] = (3, [3], [None], None, "a", [x, "a"])
    return (
        [raised(grad, x.sum(), w) for w in wrong],
        [raised(grad, w, x) for w in wrong[:5]],
        [raised(backward, w) for w in wrong[:5]],
        [raised(backward, x.sum(), inputs=w) for w in wrong if w is not None],
    )


def test_inputs_may_be_any_iterable(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    grad = torch.autograd.grad
    return grad(x.sum(), (t for t in [x])), grad((t for t in [x.sum()]), x), grad(x.sum(), iter([x]))


def test_of_mappings_only_a_dict_is_taken(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    return [
        (raised(torch.autograd.grad, x.sum(), inputs), raised(x.sum().backward, inputs=inputs))
        for inputs in (OrderedDict(a=x), MappingProxyType({"a": x}), {})
    ]


def test_a_dict_names_what_is_unused(torch: Any) -> Any:
    x, y = leaf64(torch, 1.0), leaf64(torch, 2.0)
    wanted = {"b": y, "a": x}
    x.sum().backward(inputs=wanted)
    found = torch.autograd.grad(x.sum(), wanted, allow_unused=True)
    return list(found), found, torch.autograd.grad(x.sum(), wanted, materialize_grads=True), x.grad, y.grad


def test_without_outputs_nothing_is_used(torch: Any) -> Any:
    x = leaf64(torch, 1.0)
    torch.autograd.backward(())
    torch.autograd.backward((), inputs=x)
    return torch.autograd.grad((), x, allow_unused=True), raised(torch.autograd.grad, (), x), x.grad


def test_outputs_are_asked_for_their_history_before_inputs(torch: Any) -> Any:
    x, plain = leaf64(torch, 1.0, 2.0), torch.ones(2)
    return [
        raised(torch.autograd.grad, outputs, inputs)
        for outputs, inputs in ((x.sum(), plain), (plain.sum(), x), ([x.sum(), plain.sum()], plain), (plain, plain))
    ]


def test_seeds_too_many_are_left_over_too_few_are_refused(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    y, one = x * 3, ones(torch, 2)
    return (
        raised(torch.autograd.grad, [y, y], x, one),
        raised(torch.autograd.grad, [y, y], x, [one]),
        raised(torch.autograd.backward, [y, y], [one]),
        torch.autograd.grad(y, x, [one, one, 3.0]),
    )


def test_seeds_of_any_dtype_are_cast(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    seeds = [torch.ones(2), torch.ones(2, dtype=torch.int64), torch.tensor([True, False])]
    return [(torch.autograd.grad(x * 3, x, s), torch.autograd.grad(x, x, s)) for s in seeds]


def test_grad_variables_is_the_old_name(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    torch.autograd.backward(x * 2, grad_variables=ones(torch, 2))
    return raised(torch.autograd.backward, x * 2, ones(torch, 2), grad_variables=ones(torch, 2)), x.grad


def test_a_gradient_passed_on_is_the_seed_itself(torch: Any) -> Any:
    x, seed = leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    y = x * 2
    out = []
    for create_graph in (False, True):
        a, b = torch.autograd.grad(y, (y, y), seed, create_graph=create_graph)
        (c,) = torch.autograd.grad(x, x, seed, create_graph=create_graph)
        out.append((a is seed, b is seed, c is seed, a))
    a, b = torch.autograd.grad(y.sum(), (x, x))
    return out, a is b


def test_a_gradient_that_was_spread_out_is_written_as_a_whole_only(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0, 3.0)
    (g,) = torch.autograd.grad(x.sum(), x)
    x.sum().backward()
    refused = raised(g.mul_, 2.0)
    return g.stride(), g.is_contiguous(), x.grad.stride(), refused, g.zero_()


def test_grad_ends_with_the_grad_mode_it_began_with(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    y = (x * x).sum()
    with torch.no_grad():
        return torch.autograd.grad(y, x, create_graph=True), torch.is_grad_enabled()


def test_differentiating_by_the_seed(torch: Any) -> Any:
    x, v = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 1.0)
    (g,) = torch.autograd.grad(x * x, x, v, create_graph=True)
    return g, torch.autograd.grad(g.sum(), (v, x))


def test_an_error_about_an_unused_input_comes_after_the_run(torch: Any) -> Any:
    x, y = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 2.0)
    z = (x * x).sum()
    return raised(torch.autograd.grad, z, (x, y)), raised(torch.autograd.grad, z, x)


def test_backward_into_a_non_leaf(torch: Any) -> Any:
    x, y = leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    z = x * y
    w = (z * z).sum()
    w.backward(inputs=[z, x, x], retain_graph=True)
    first = (z.grad, z.retains_grad, x.grad, y.grad)
    w.backward(inputs=[z])
    return first, z.grad, x.grad


def test_backward_into_what_is_not_there(torch: Any) -> Any:
    x, y = leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    u, plain = y * 2, torch.ones(2)
    (x * x).sum().backward(inputs=[y, u])
    refused = [raised((x * x).sum().backward, inputs=i) for i in ([plain], [x, plain], [plain, 3])]
    return y.grad, u.grad, u.retains_grad, refused, x.grad


def test_backward_into_some_adds_in_place(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    (x * x).sum().backward(inputs=[x])
    g, version = x.grad, x.grad._version
    (x * x).sum().backward(inputs=x)
    return g is x.grad, g._version - version, g


@pytest.mark.parametrize("how", ["non-leaf", "its leaf", "grad", "grad of both", "unrelated"])
def test_which_nodes_run(torch: Any, how: str) -> Any:
    ran: list[str] = []

    class Named(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.append(ctx.name)
            return g * 2, None

    x, y, z = leaf64(torch, 1.0), leaf64(torch, 2.0), leaf64(torch, 3.0)
    a = Named.apply(x, "a")
    b, c = Named.apply(a, "b"), Named.apply(y, "c")
    out = (b * c).sum()
    if how.startswith("grad"):
        return ran, torch.autograd.grad(out, (a, x) if how == "grad of both" else a)
    out.backward(inputs={"non-leaf": [a], "its leaf": [x], "unrelated": [z]}[how])
    return ran, x.grad, y.grad, z.grad, a.retains_grad


def test_a_gradient_taken_on_the_way_is_the_one_before_hooks(torch: Any) -> Any:
    out = []
    for wanted in ("z", "zx", "x"):
        x = leaf64(torch, 1.0, 2.0)
        z = x * 2
        z.register_hook(lambda g: g * 10)
        z.retain_grad()
        named = {"z": z, "x": x}
        out.append((torch.autograd.grad(z.sum(), [named[name] for name in wanted]), z.grad))
    return out


def test_accumulation_copies_on_the_first_and_adds_on_the_next(torch: Any) -> Any:
    x = leaf64(torch, 1.0, 2.0)
    z = x * 3
    (z * z).sum().backward(inputs=[x, z], create_graph=True)
    first, z_first = x.grad, z.grad
    (x * x).sum().backward(create_graph=True)
    second = x.grad
    (x * x * x).sum().backward()
    return first, z_first, second is first, second, x.grad is second


def test_a_grad_that_was_set_is_added_to_in_place(torch: Any) -> Any:
    x, given = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 1.0)
    x.grad = given
    (x * 1).sum().backward()
    return x.grad is given, given._version, given.detach()


EDGES = """
(edge(s), x) | (edge(y), x, one) | (edge(y), x, torch.ones(3)) | (edge(y), x) | ([edge(s), s], x)
(s, edge(x)) | (s, [edge(y), x]) | (s, {"a": edge(y)}) | (s, edge(w)) | (s, edge(w), None, None, False, True, True)
(s, Edge(None, 0)) | (edge(x), x, one) | (edge(f), x, one) | (edge(f), x)
"""


@pytest.mark.parametrize("arguments", entries(EDGES))
def test_24_5_edges_in_place_of_tensors(torch: Any, arguments: str) -> Any:
    Twice = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, name="Twice")
    graph = torch.autograd.graph
    x, w = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 2.0)
    y = x * x
    known = {"x": x, "w": w, "y": y, "s": y.sum(), "f": Twice.apply(x), "one": ones(torch, 2), "torch": torch}
    known |= {"edge": graph.get_gradient_edge, "Edge": graph.GradientEdge}
    return torch.autograd.grad(*eval(arguments, known))


def test_24_5_backward_from_and_into_edges(torch: Any) -> Any:
    edge = torch.autograd.graph.get_gradient_edge
    x, w = leaf64(torch, 1.0, 2.0), leaf64(torch, 1.0, 2.0)
    y = x * w
    torch.autograd.backward(edge(y), torch.ones(2, dtype=torch.float64), inputs=[edge(x)])
    return x.grad, w.grad
