"""Both kinds of checkpoint beside PyTorch's (rows 30.1 to 30.3 of the semantic map)."""

from __future__ import annotations

import threading
from typing import Any

from functions import function, leaf64
from oracle import chain, raised


def noting(runs: list[str], name: str = "f") -> Any:
    """sin, then exp, with a note at each run."""

    def f(x):
        runs.append(name)
        return x.sin().exp()

    return f


def both(torch: Any, program: Any) -> list[Any]:
    return [program(use_reentrant) for use_reentrant in (True, False)]


def test_30_1_the_two_kinds(torch):
    def program(use_reentrant):
        runs, x = [], leaf64(torch, 1.0, 2.0)
        y = torch.utils.checkpoint.checkpoint(noting(runs), x, use_reentrant=use_reentrant)
        y.sum().backward()
        return y, chain(y.grad_fn), x.grad, runs

    return both(torch, program)


def test_30_2_reentrant_runs_unrecorded_then_once_in_each_backward(torch):
    modes, x = [], leaf64(torch, 1.0)

    def f(x):
        modes.append((torch.is_grad_enabled(), x.is_leaf))
        return x * x

    y = torch.utils.checkpoint.checkpoint(f, x * 1, use_reentrant=True)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return modes, x.grad, raised(y.sum().backward)


def test_30_2_reentrant_refuses_grad_and_inputs(torch):
    x = leaf64(torch, 1.0)

    def backward(ctx, grad):
        with torch.enable_grad():
            z = torch.ones(1, dtype=torch.float64, requires_grad=True)
            torch.utils.checkpoint.checkpoint(lambda z: z * z, z, use_reentrant=True).sum().backward()
        return grad * z.grad

    Inside = function(torch, lambda ctx, x: x * 2, backward, name="Inside")
    y = torch.utils.checkpoint.checkpoint(lambda x: x * x, x, use_reentrant=True).sum()
    refused = [raised(torch.autograd.grad, y, x), raised(y.backward, inputs=[x])]
    refused.append(raised(torch.autograd.grad, Inside.apply(x).sum(), x))
    Inside.apply(x).sum().backward()
    return refused, x.grad


def test_30_2_reentrant_without_gradients(torch):
    checkpoint, x = torch.utils.checkpoint.checkpoint, torch.ones(1)
    with torch.no_grad():
        unrecorded = checkpoint(lambda x: x * 2, leaf64(torch, 1.0), use_reentrant=True)
        checkpoint(lambda x: x * 2, x, use_reentrant=True)
    return (
        unrecorded,
        checkpoint(lambda x: x * 2, x, use_reentrant=True),
        checkpoint(lambda n: n, 3, use_reentrant=True),
    )


def test_30_2_reentrant_returns(torch):
    def run(f):
        x = leaf64(torch, 1.0, 2.0)
        out = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=True)
        first = out[0] if isinstance(out, tuple) else out
        return out, raised(first.sum().backward), x.grad, out is x

    functions = [lambda x: x, lambda x: (x * x, 3, None), lambda x: (x * x, torch.arange(2)), lambda x: (x.sin(), x)]
    return [run(f) for f in [*functions, lambda x: (x * x, x.detach() * 2)]]


def test_30_3_keywords_nests_and_closures(torch):
    x, w, v = leaf64(torch, 3.0), leaf64(torch, 2.0), leaf64(torch, 0.5)

    def f(x, *, scale):
        return x * scale["w"], [x, {"sin": (x * v).sin()}]

    y = torch.utils.checkpoint.checkpoint(f, x, scale={"w": w}, use_reentrant=False)
    (y[0] + y[1][1]["sin"]).sum().backward()
    z = torch.utils.checkpoint.checkpoint(lambda: (v * v).sin(), use_reentrant=False)
    z.sum().backward()
    return y, y[1][0] is x, z, x.grad, w.grad, v.grad


def test_30_3_grad_inputs_and_second_derivatives(torch):
    runs, x, z = [], leaf64(torch, 1.0), leaf64(torch, 2.0)

    def f(x, z):
        runs.append("f")
        return x.sin() * (x * z).exp()

    y = torch.utils.checkpoint.checkpoint(f, x, z, use_reentrant=False).sum()
    y.backward(inputs=[x], retain_graph=True)
    first = torch.autograd.grad(y, [x, z], create_graph=True)
    second = torch.autograd.grad(first[0].sum(), [x, z], create_graph=True)
    third = torch.autograd.grad(second[0].sum(), x)
    return x.grad, z.grad, first, second, third, runs


def test_30_3_recomputing_begins_at_the_first_read_and_ends_at_the_last_save(torch):
    story = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            story.append("forward")
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            story.append("backward")
            (x,) = ctx.saved_tensors
            story.append("read")
            return 2 * grad * x

    def f(x):
        y = Square.apply(x * 1)
        story.append("after")
        return y * 1

    x = leaf64(torch, 3.0)
    torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
    return story, x.grad


def test_30_3_saved_tensors_read_by_name(torch):
    x = leaf64(torch, 2.0)
    y = torch.utils.checkpoint.checkpoint(lambda x: (x * 1).sin().exp(), x, use_reentrant=False)
    saved = y.grad_fn._saved_result, y.grad_fn._saved_result, y.grad_fn.next_functions[0][0]._saved_self
    y.sum().backward()
    return saved, x.grad, raised(lambda: y.grad_fn._saved_result)


def test_22_2_an_operation_reads_what_it_saved_once(torch):
    x, w, story = leaf64(torch, 1.0, -2.0), leaf64(torch, 3.0, 0.5), []

    def f(x, w):
        y = torch.where(x > w, x / w, w * x)
        y = (y * 1).exp_() + (x * 1).mul_(w).neg_() + (w * 1).sqrt_()
        return y.pow(2) / (w - x) + w**x

    def noted(t):
        story.append(t.detach().clone())
        return t

    torch.utils.checkpoint.checkpoint(f, x, w, use_reentrant=False).sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(noted, lambda t: t):
        y = (torch.where(x > w, x / w, w * x).exp_() + w**x).sum()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, noted):
        z = (torch.where(x > w, x / w, w * x).exp_() + w**x).sum()
    (y + z).backward()
    return story, x.grad, w.grad


def test_30_3_without_gradients_there_is_nothing_to_recompute(torch):
    runs, x = [], torch.ones(1)
    y = torch.utils.checkpoint.checkpoint(noting(runs), x, use_reentrant=False)
    with torch.no_grad():
        z = torch.utils.checkpoint.checkpoint(noting(runs), leaf64(torch, 1.0), use_reentrant=False)
    return y, z, runs


def test_30_3_nested(torch):
    checkpoint = torch.utils.checkpoint.checkpoint

    def program(kinds):
        runs, x = [], leaf64(torch, 3.0)

        def outer(x):
            runs.append("outer")
            return checkpoint(middle, x.cos(), use_reentrant=kinds[1]).tanh()

        def middle(x):
            runs.append("middle")
            return checkpoint(noting(runs, "inner"), x.cos(), use_reentrant=kinds[2]).tanh()

        y = checkpoint(outer, x, use_reentrant=kinds[0])
        runs.append("backward")
        y.sum().backward()
        return x.grad, runs

    pair = True, False
    return [program((a, b, c)) for a in pair for b in pair for c in pair]


def test_30_3_a_backward_inside_the_function(torch):
    def program(early_stop):
        runs, x = [], leaf64(torch, 3.0)

        def f(x):
            runs.append("f")
            y = x.sin().exp()
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            runs.append("g")
            return g * y

        y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False, early_stop=early_stop)
        y.sum().backward()
        return x.grad, runs

    return program(True), program(False)


def test_30_3_threads_recompute_each_for_itself(torch):
    x, results = leaf64(torch, 2.0), []
    y = torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum()

    def differentiate():
        results.append(torch.autograd.grad(y, x, retain_graph=True))

    threads = [threading.Thread(target=differentiate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_saved_tensor_without_gradient_is_the_same_object(torch):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *others):
            ctx.save_for_backward(x, *others)
            return x * others[0]

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.saved_tensors)
            return g * ctx.saved_tensors[1], None, None, None

    made = []

    def f(x, c):
        made.append(c * 2)  # without gradient, and made anew by the second run
        return Keep.apply(x * 1, c, far, made[-1])

    seen, x, c, far = [], leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0).detach(), torch.ones(2, dtype=torch.float64)
    far.note = "the caller's"
    torch.utils.checkpoint.checkpoint(f, x, c, use_reentrant=False).sum().backward()
    product = torch.utils.checkpoint.checkpoint(lambda x: x * far, x, use_reentrant=False)
    own, first, second, last = seen[0]
    given = first is c, second is far, second.note, product.grad_fn._saved_other is far
    return own.requires_grad, given, last is made[0], last is made[1]
