"""Semantics of hooks on nodes, and of the order of all hooks; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, two
from oracle import entries, raised


@pytest.mark.parametrize("used", ["both", "first", "second"])
def test_23_1_a_pre_hook_gets_a_tuple(torch: Any, used: str) -> Any:
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    a, b = two(torch).apply(x, y)
    a.grad_fn.register_prehook(lambda grads: seen.append((type(grads).__name__, grads)))
    {"both": a + b, "first": a, "second": b}[used].backward()
    return seen, x.grad, y.grad


def test_23_1_a_pre_hook_replaces(torch: Any) -> Any:
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    a, b = two(torch).apply(x, y)
    a.grad_fn.register_prehook(lambda grads: (grads[0] * 10, None))
    (a + b).backward()
    z = torch.ones(1, requires_grad=True)
    out = z.exp()
    out.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    out.backward()
    return x.grad, y.grad, z.grad


RETURNS = {
    "too many": lambda t: (t, t),
    "too few": lambda t: (),
    "a tensor": lambda t: t,
    "a number": lambda t: 5,
    "a list": lambda t: [t],
    "a string within": lambda t: ("text",),
    "another shape": lambda t: (t.sum(),),
    "another dtype": lambda t: (t.double(),),
    "none within": lambda t: (None,),
}


@pytest.mark.parametrize("returned", RETURNS)
@pytest.mark.parametrize("pre", [True, False])
def test_23_1_and_23_2_what_node_hooks_may_return(torch: Any, returned: str, pre: bool) -> Any:
    x = torch.ones(2, requires_grad=True)
    out = x.exp()
    node = out.grad_fn

    def named(*grads):
        return RETURNS[returned](grads[0][0])

    (node.register_prehook if pre else node.register_hook)(named)
    return raised(out.sum().backward), x.grad


def test_23_2_a_post_hook_sees_both_sides(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    out = x * y
    out.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    out.grad_fn.register_hook(lambda ins, outs: seen.append((type(ins).__name__, ins, type(outs).__name__, outs)))
    out.grad_fn.register_hook(lambda ins, outs: (ins[0] * 2, None))
    out.backward()
    return seen, x.grad, y.grad


def test_23_2_on_an_accumulator(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    out = x * 3
    node = out.grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: seen.append(("pre", grads, x.grad)))
    node.register_hook(lambda ins, outs: seen.append(("post", ins, outs, x.grad)))
    out.backward()
    return seen, x.grad


def test_23_3_in_order_of_registration(torch: Any) -> Any:
    seen: list[Any] = []

    def times(k):
        def hook(*grads):
            seen.append((k, grads))
            return grads[0] * k if hasattr(grads[0], "dtype") else (grads[0][0] * k,)

        return hook

    x = torch.tensor([2.0], requires_grad=True)
    out = x.exp()
    for k in (2, 3, 5):
        out.register_hook(times(k))
        out.grad_fn.register_prehook(times(k))
        out.grad_fn.register_hook(times(k))
    out.backward()
    return seen, x.grad


@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "post accumulate"])
@pytest.mark.parametrize("leaf", [True, False])
def test_23_3_removal_during_backward(torch: Any, kind: str, leaf: bool) -> Any:
    seen: list[Any] = []
    handles: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    out = x.exp() * 2
    t = x if leaf else out.grad_fn.next_functions[0][0]
    node = out.grad_fn.next_functions[0][0].next_functions[0][0] if leaf else t

    def removing(*grads):
        seen.append("removing")
        for handle in handles:
            handle.remove()

    def removed(*grads):
        seen.append("removed")

    if kind == "tensor":
        t = x if leaf else x.exp()
        out = t * 2
        register = t.register_hook
    elif kind == "post accumulate":
        register = x.register_post_accumulate_grad_hook
    else:
        register = node.register_prehook if kind == "pre" else node.register_hook
    handles += [register(removing), register(removed)]
    register(lambda *g: seen.append("kept"))
    out.backward()
    return seen


def test_23_3_removal_of_a_later_node_s_hook(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    y = x.exp()
    out = y * 2
    handle = x.register_hook(lambda g: seen.append("removed"))
    out.register_hook(lambda g: handle.remove())
    y.register_hook(lambda g: x.register_hook(lambda g: seen.append("added")) and None)
    out.backward()
    return seen


def test_23_4_on_ctx_in_forward(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx, x):
        ctx.register_hook(lambda ins, outs: seen.append(("post", ins, outs)))
        ctx.register_prehook(lambda grads: seen.append(("pre", grads)))
        return x * 2

    F = function(torch, forward, lambda ctx, g: g * 2)
    x = torch.ones(1, requires_grad=True)
    F.apply(x).backward()
    return seen


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("how", ["backward", "grad", "inputs"])
def test_23_5_and_23_6_the_order_on_one_tensor(torch: Any, leaf: bool, how: str) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    t = x if leaf else x.exp()
    node = torch.autograd.graph.get_gradient_edge(t).node

    def note(what):
        return lambda *grads: seen.append((what, grads, t.grad if leaf or t.retains_grad else None))

    node.register_hook(note("post"))
    node.register_prehook(note("pre"))
    if leaf:
        t.register_post_accumulate_grad_hook(note("accumulated"))
    else:
        t.retain_grad()
    t.register_hook(note("first"))
    t.register_hook(lambda g: g * 10)
    node.register_prehook(lambda grads: (grads[0] * 2,))
    t.register_hook(note("last"))
    out = t * 3
    if how == "backward":
        out.backward()
    elif how == "inputs":
        out.backward(inputs=[t])
    else:
        seen.append(torch.autograd.grad(out, t))
    return seen, x.grad, t.grad


def test_23_6_on_the_way_to_another_input(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: seen.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda g: seen.append(("pre", g)))
    y.grad_fn.register_hook(lambda a, b: seen.append(("post", a, b)))
    x.register_post_accumulate_grad_hook(lambda x: seen.append("accumulated"))
    return torch.autograd.grad(y * 3, [y, x]), seen, x.grad


@pytest.mark.parametrize("inputs", ["x", "y", "xy", "middle"])
def test_23_2_gradients_that_nobody_asked_for(torch: Any, inputs: str) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    middle = x * y
    custom = two(torch).apply(middle, y)
    out = sum(custom) * middle.exp()
    for node in (middle.grad_fn, custom[0].grad_fn, out.grad_fn):
        node.register_hook(lambda ins, outs: seen.append(ins))
    out.backward(inputs={"x": [x], "y": [y], "xy": [x, y], "middle": [middle]}[inputs])
    return seen, x.grad, y.grad


def returning(torch: Any, *grads: Any) -> Any:
    """A Function of two arguments whose backward returns the gradient times each of these; what is None stays so."""

    return function(
        torch,
        lambda ctx, x, y: x * 2,
        lambda ctx, g: tuple([factor if factor is None else g * factor for factor in grads]),
    )


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wanted", [0, 1])
def test_a_post_hook_sees_what_backward_returned_for_inputs_without_gradient(torch, wanted, create_graph):
    seen: list[Any] = []

    def run(F: Any, other: Any, hook: Any = None) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = F.apply(*((x, other), (other, x))[wanted])
        if hook is not None:
            y.grad_fn.register_hook(hook)
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs))
        (grad,) = torch.autograd.grad(y.sum(), x, create_graph=create_graph)
        return grad

    given = torch.ones(2)
    found = [run(returning(torch, 3, 5), given), run(returning(torch, 3, 5), given.double())]
    odd = torch.ones(3, 2)  # neither shape nor dtype is looked at
    found.append(run(returning(torch, 3, 5), odd[0]))
    found.append(run(returning(torch, *((3, odd.double()), (odd.double(), 3))[wanted]), given))
    found.append(run(returning(torch, *((3, None), (None, 3))[wanted]), given))
    found.append(run(returning(torch, 3, 5), given, lambda inputs, outputs: tuple([g * 10 for g in inputs])))
    return [[g and (g.dtype, g.tolist()) for g in pair] for pair in seen], [g.tolist() for g in found]


@pytest.mark.parametrize(
    "expression",
    entries(
        """
        a * b | a + b | a @ b | torch.cat([a, b]) | torch.stack([a, b]) | torch.where(a > 0, a, b) | torch.maximum(a, b)
        torch.outer(a, b) | a.index_put((torch.tensor([0]),), b[:1] * 1) | (a * 1).copy_(b) | (a * 1).mul_(b)
        """
    ),
)
def test_what_a_post_hook_of_a_built_in_node_sees(torch: Any, expression: str) -> Any:
    seen: list[Any] = []
    for first in (True, False):
        a, b = [torch.ones(2, requires_grad=need) for need in (first, not first)]
        y = eval(expression, {"a": a, "b": b, "torch": torch})
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append([g is None for g in inputs]))
        y.sum().backward()
    return seen


def test_hooks_of_an_accumulating_node_end_with_it(torch: Any) -> Any:
    """Those of the tensor stay."""

    def node(p: Any) -> Any:
        return torch.autograd.graph.get_gradient_edge(p).node

    seen: list[str] = []
    p = torch.ones(2, requires_grad=True)
    p.register_hook(lambda g: seen.append("tensor"))
    p.register_post_accumulate_grad_hook(lambda p: seen.append("after"))
    node(p).register_hook(lambda *given: seen.append("lost"))
    node(p).register_prehook(lambda *given: seen.append("lost"))
    node(p).metadata["lost"] = 1
    (p * 2).sum().backward()
    y = (p * 2).sum()
    node(p).register_hook(lambda *given: seen.append("node"))
    y.backward()
    del y
    (p * 2).sum().backward()
    return seen, node(p).metadata, p.grad


def test_any_graph_keeps_the_hooks_of_an_accumulating_node(torch: Any) -> Any:
    def node(p: Any) -> Any:
        return p.expand_as(p).grad_fn.next_functions[0][0]

    seen: list[str] = []
    p = torch.ones(2, requires_grad=True)
    graphs = [(p * 2).sum() for _ in range(2)]
    node(p).register_prehook(lambda given: seen.append("before"))
    node(p).register_hook(lambda *given: seen.append(f"behind {[len(each) for each in given]}"))
    p.register_post_accumulate_grad_hook(lambda p: seen.append(f"after {p.grad.tolist()}"))
    p.register_hook(lambda g: seen.append("tensor"))
    graphs[0].backward(retain_graph=True)
    torch.autograd.grad(graphs[1], p, retain_graph=True)
    seen.append("graph 2")
    del graphs[0]
    p.requires_grad_(False).requires_grad_(True)
    graphs[0].backward()
    graphs.clear()
    seen.append("no graph")
    (p * 2).sum().backward()
    kept = node(p)
    kept.register_hook(lambda *given: seen.append("held"))
    (p * 2).sum().backward()
    return seen, kept is node(p), kept.variable is p, p.grad


def test_another_memory_has_another_accumulating_node(torch: Any) -> Any:
    seen: list[str] = []
    p = torch.ones(2, requires_grad=True)
    node = torch.autograd.graph.get_gradient_edge(p).node
    node.register_hook(lambda *given: seen.append("node"))
    p.register_hook(lambda g: seen.append("tensor"))
    y = (p * 2).sum()
    p.data = torch.zeros(2)
    told = [torch.autograd.graph.get_gradient_edge(p).node is node]
    with torch.no_grad():
        p.set_(torch.zeros(2))
    told.append(torch.autograd.graph.get_gradient_edge(p).node is node)
    y.backward()
    seen.append("then")
    (p * 3).sum().backward()
    return told, seen, p.grad


def test_saved_tensor_hooks_within_a_hook(torch: Any) -> Any:
    seen: list[str] = []
    x = torch.ones(2, requires_grad=True)
    y = x * x

    def hook(g: Any) -> None:
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: seen.append("pack") or t, lambda t: seen.append("unpack") or t
        ):
            with torch.enable_grad():
                (x * x).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    (x * x).sum().backward()
    return seen, x.grad
