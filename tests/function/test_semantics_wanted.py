"""Only gradients that lead to what was asked for are computed: what node hooks, graphs and root hooks see of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from functions import function
from oracle import entries, raised

import workbench

SHAPES = {"a": (3, 2), "b": (3, 2), "w": (2, 4), "v": (2,), "u": (4,), "i": (2, 3, 4, 4), "k": (2, 3, 2, 2), "s": ()}
EXPRESSIONS = entries(
    """
    a + v | a - b | a * v | a / b | a ** b | a @ w | a @ v | v @ v | torch.maximum(a, v) | torch.where(a > b, a, b)
    torch.addmm(u, a, w) | F.linear(a, w.T, u) | F.layer_norm(a, (2,), v, v) | F.batch_norm(a, None, None, v, v, True)
    F.conv2d(i, k, v) | torch.outer(v, u) | F.mse_loss(a, b) | a.index_add(0, torch.tensor([0, 1, 2]), b)
    a.scatter(0, torch.tensor([[0, 1]]), b) | a.index_put((torch.tensor([0, 1, 2]),), b) | (a * 1).copy_(v)
    a.masked_fill(torch.tensor([True, False]), s) | torch.cat([a, b]) | torch.stack([a, v + b]) | torch.bmm(i[0], i[1])
    a - b * 2 | (a * 1).mul_(b) | (a * 1).add_(b * v)
    """
)


def leaves(torch: Any) -> dict[str, Any]:
    def numbers(shape: tuple[int, ...]) -> Any:
        count = workbench.ones(shape).numel()
        return (torch.arange(1.0, 1.0 + count, dtype=torch.float64).reshape(shape) / 7).requires_grad_()

    return {name: numbers(shape) for name, shape in SHAPES.items()} | {"torch": torch, "F": torch.nn.functional}


def watched(seen: list[Any]) -> Callable[[Any, Any], None]:
    """A node hook that notes which gradients there are."""
    return lambda grads, arrived: seen.append(tuple([g is not None for g in grads]))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_node_computes_what_leads_to_an_input_that_was_asked_for(torch, expression, create_graph):
    seen: list[Any] = []
    named = leaves(torch)
    asked = [name for name in SHAPES if name in expression.replace("torch", "").replace("mask", "")]
    for some in itertools.chain(*[itertools.combinations(asked, n) for n in (1, 2)]):
        y = eval(expression, named)
        y.grad_fn.register_hook(watched(seen))
        wanted = [named[name] for name in some]
        grads = torch.autograd.grad(y.sum(), wanted, create_graph=create_graph, allow_unused=True)
        seen.append([g is not None and round(float(g.detach().sum()), 6) for g in grads])
    return str(seen)


def test_gradients_of_a_list_are_computed_all_or_none(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for join in (torch.cat, torch.stack, torch.hstack):
        joined = join([x, y, torch.ones(2), y * 2])
        joined.grad_fn.register_hook(watched(seen))
        torch.autograd.grad(joined.sum(), y)
    return seen


def test_a_custom_function_is_told_what_its_inputs_need_whatever_was_asked_for(torch):
    seen: list[Any] = []

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        seen.append(ctx.needs_input_grad)
        return g * y, g * x

    Product = function(torch, lambda ctx, x, y: x * y, backward, saves=True)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    out = Product.apply(x, y)
    out.grad_fn.register_hook(watched(seen))
    torch.autograd.grad(out.sum(), x, retain_graph=True)
    out.sum().backward(inputs=[y], retain_graph=True)
    (out * 1).sum().backward(inputs=[out])
    return seen, x.grad, y.grad, out.grad


def test_a_tensor_that_is_asked_for_has_its_node_run_which_computes_nothing(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for middle in (x * y, x.tanh()):
        middle.grad_fn.register_prehook(lambda grads: seen.append(grads))
        middle.grad_fn.register_hook(watched(seen))
        (middle * y).sum().backward(inputs=[middle])
        seen.append(middle.grad)
    return seen, x.grad, y.grad


def test_a_tensor_on_the_way_to_another_is_captured_and_run(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    middle = x * y
    middle.grad_fn.register_hook(watched(seen))
    out = (middle * middle).sum()
    every = torch.autograd.grad(out, [middle, x, y], retain_graph=True)  # every path ends in one of these
    return every, torch.autograd.grad(out, [middle, y], retain_graph=True), torch.autograd.grad(out, middle), seen


def test_what_is_saved_is_checked_whoever_needs_it(torch):
    seen = []
    for written in (0, 1):
        for asked in (0, 1):
            pair = [torch.ones(2, requires_grad=True) for _ in range(2)]
            out = (pair[0] * pair[1]).sum()
            with torch.no_grad():
                pair[written].mul_(2)
            seen.append(raised(torch.autograd.grad, out, pair[asked])[1][:90])
    return seen


def test_what_is_saved_is_unpacked_whoever_needs_it(torch):
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.full((1,), 2.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append(t.item()) or t):
        out = x * y
    return torch.autograd.grad(out, x), seen


def test_a_write_through_a_view_computes_what_leads_on(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    for base in (x * 1, torch.ones(2)):
        base[:1].mul_(y[:1])
        base.grad_fn.register_hook(watched(seen))
        for create_graph in (False, True):
            for wanted in (x, y):
                seen.append(
                    torch.autograd.grad(
                        base.sum(), wanted, retain_graph=True, create_graph=create_graph, allow_unused=True
                    )
                )
    return seen


def test_a_write_through_a_view_that_is_asked_for(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    base = x * 1
    view = base[:1]
    old = torch.autograd.graph.get_gradient_edge(view)
    before = view * 2
    view.mul_(y[:1])
    base.grad_fn.register_hook(watched(seen))
    out = base.sum() + before.sum()
    return torch.autograd.grad(out, old), seen


def test_a_long_run_of_writes_into_one_tensor(torch):
    x, y = torch.ones(4, requires_grad=True), torch.full((4,), 3.0, requires_grad=True)
    base = x * 1
    for i in range(40):
        base[i % 4] = base[(i + 1) % 4] * y[i % 4]
    return [torch.autograd.grad(base.sum(), each, retain_graph=True) for each in (x, y)]


def test_the_hooks_of_a_lone_root_run_where_it_leads_to_no_input(torch):
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    root = (x * 2).sum()
    root.retain_grad()
    root.register_hook(lambda g: seen.append(("tensor", g)) or g * 2)
    root.grad_fn.register_prehook(lambda grads: seen.append("before the node"))
    root.grad_fn.register_hook(lambda grads, arrived: seen.append("after the node"))
    grads = torch.autograd.grad(root, y, allow_unused=True, retain_graph=True)
    seen.append(root.grad)
    root.backward(inputs=[y], retain_graph=True)
    seen.append(root.grad)
    torch.autograd.grad([root, (x * x).sum()], y, allow_unused=True)  # none of these two
    return grads, seen, root.grad, x.grad, y.grad


def test_the_hooks_of_a_lone_root_that_is_a_leaf(torch):
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    grads = torch.autograd.grad(x, y, allow_unused=True)
    x.backward(inputs=[y])
    return grads, seen, x.grad


def test_what_the_hook_of_a_root_that_leads_nowhere_raises(torch):
    def fail(g: Any) -> None:
        raise ValueError("the hook")

    x, y = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
    root = x * 2
    root.register_hook(fail)
    return raised(torch.autograd.grad, root, y, allow_unused=True), torch.is_grad_enabled()


def test_a_node_called_by_hand_inside_a_backward_computes_what_that_asks_for(torch):
    seen: list[Any] = []
    x, y = torch.ones(1, requires_grad=True), torch.full((1,), 3.0, requires_grad=True)
    out = x * 2
    other = x * y

    def by_hand(g: Any) -> None:
        seen.append(other.grad_fn(torch.ones(1)))

    out.register_hook(by_hand)
    torch.autograd.grad(out, x, retain_graph=True)
    torch.autograd.grad(out + other * 0, y, retain_graph=True, allow_unused=True)
    out.backward()
    by_hand(None)
    return seen


def test_a_double_backward_records_no_node_that_nobody_asked_for(torch):
    def nodes_now() -> int:
        return (torch.ones(1, requires_grad=True) * 1).grad_fn._sequence_nr()

    x = torch.ones(1, 2, requires_grad=True)
    w1, w2 = torch.ones(2, 3, requires_grad=True), torch.ones(3, 1, requires_grad=True)
    counts = []
    for wanted in ([x], [w1], [w2], [w1, w2], [x, w1, w2]):
        loss = (torch.tanh(x @ w1) @ w2).sum()
        before = nodes_now()
        torch.autograd.grad(loss, wanted, create_graph=True)
        counts.append(nodes_now() - before)
    return counts


def test_a_picture_of_a_double_backward_has_no_node_that_nobody_asked_for() -> None:
    x = workbench.ones(1, 2)
    w1, w2 = workbench.ones(2, 3, requires_grad=True), workbench.ones(3, 1, requires_grad=True)
    with workbench.record() as trace:
        loss = (workbench.tanh(x @ w1) @ w2).sum()
        (grad,) = workbench.autograd.grad(loss, w1, create_graph=True)
        (grad * grad).sum().backward()
    made = [event.name for event in trace.events if type(event).__name__ == "NodeCreated"]
    first, second = "MmBackward0 TanhBackward0 MmBackward0 SumBackward0", "MulBackward0 SumBackward0"
    backward = "TBackward0 MmBackward0 TanhBackwardBackward0 MmBackward0"
    assert [name for name in made if name != "TBackward0"] == [
        name for name in f"{first} {backward} {second}".split() if name != "TBackward0"
    ]


def test_a_gradient_that_nobody_asked_for_takes_no_memory() -> None:
    import tracemalloc

    x, w = workbench.ones(1, 4, requires_grad=True), workbench.ones(4, 100_000, requires_grad=True)
    out = (x @ w).sum()
    workbench.autograd.grad(out, x, retain_graph=True)
    tracemalloc.start()
    workbench.autograd.grad(out, x, retain_graph=True)
    alone = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    workbench.autograd.grad(out, [x, w])
    both = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert both - alone > 0.9 * w.numel() * w.element_size()


def test_where_every_path_ends_in_an_input_the_backward_keeps_no_set() -> None:
    from workbench.autograd.backward import make_task

    x, y = workbench.ones(2, requires_grad=True), workbench.ones(2, requires_grad=True)
    out = (x * y).sum()
    assert make_task([out], [None], False, False, [x, y])._needed is None
    assert make_task([out], [None], False, False, [x])._needed is not None
