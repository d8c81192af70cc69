"""`workbench.diff` along long chains: a backward that is 0.1 % off is named at any place, and rounding at none."""

from __future__ import annotations

import itertools

import absent
import numpy as np
import pytest

import workbench
import workbench as torch
from workbench.pictures.trace.forward_records import NodeCreated

F = torch.nn.functional


class Step(torch.autograd.Function):
    """An operation of several kinds; the backward of the n-th that ran is off by a factor."""

    count, wrong, factor, splits = itertools.count(), -1, 1.0, False

    @staticmethod
    def forward(ctx, kind, *xs):
        ctx.kind, ctx.factor = kind, Step.factor if next(Step.count) == Step.wrong else 1.0
        if kind == "linear":
            y = product(xs[0], xs[1].transpose(0, 1)) + xs[2]
        elif kind == "mm":
            y = product(*xs)
        elif kind == "add":
            y = xs[0] + xs[1]
        elif kind == "norm":
            x = xs[0] - xs[0].mean(-1, keepdim=True)
            y = x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt()
        else:
            y = {"softmax": lambda x: x.softmax(-1), "tanh": torch.tanh, "relu": torch.relu}[kind](*xs)
        ctx.save_for_backward(*xs, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        *xs, y = ctx.saved_tensors
        if ctx.kind == "linear":
            flat, x = (each.reshape(-1, each.shape[-1]) for each in (grad, xs[0]))
            grads = product(grad, xs[1]), product(flat.transpose(0, 1), x), flat.sum(0)
        elif ctx.kind == "mm":
            grads = product(grad, xs[1].transpose(-1, -2)), product(xs[0].transpose(-1, -2), grad)
        elif ctx.kind == "add":
            grads = grad, grad
        elif ctx.kind == "norm":
            deviation = (xs[0].var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
            grads = ((grad - grad.mean(-1, keepdim=True) - y * (grad * y).mean(-1, keepdim=True)) / deviation,)
        elif ctx.kind == "softmax":
            grads = (y * (grad - (grad * y).sum(-1, keepdim=True)),)
        else:
            grads = (grad * (1 - y * y if ctx.kind == "tanh" else (y > 0).to(grad.dtype)),)
        return None, *[each * ctx.factor for each in grads]


def product(a, b):
    """A matrix product, perhaps in two halves, which rounds in another way."""
    half = a.shape[-1] // 2
    return a[..., half:] @ b[..., half:, :] + a[..., :half] @ b[..., :half, :] if Step.splits else a @ b


def transformer(step, p, x):
    for block in range(2):
        z = step("norm", x)
        q, k, v = (step("linear", z, p(f"w{name}{block}", 8, 8), p(f"b{name}{block}", 8)) for name in "qkv")
        attention = step("softmax", step("mm", q, k.transpose(-1, -2) / 8**0.5))
        x = step("add", x, step("linear", step("mm", attention, v), p(f"wo{block}", 8, 8), p(f"bo{block}", 8)))
        h = step("relu", step("linear", step("norm", x), p(f"wu{block}", 16, 8), p(f"bu{block}", 16)))
        x = step("add", x, step("linear", h, p(f"wd{block}", 8, 16), p(f"bd{block}", 8)))
    return x.mean(1)


def mlp(step, p, x):
    x = x.mean(1)
    for layer in range(12):
        x = step("relu" if layer % 2 else "tanh", step("linear", x, p(f"w{layer}", 8, 8), p(f"b{layer}", 8)))
    return x


def rnn(step, p, x):
    h = x[:, 0]
    for at in range(30):
        h = step("tanh", step("add", step("linear", h, p("w", 8, 8), p("b", 8)), x[:, at % 6]))
    return h


def run(program, kind="float32", scale=1.0, wrong=-1, factor=1.0, splits=False, engine=None, limit=None):
    """A recording of a forward and a backward pass, in which one backward is perhaps off."""
    Step.count, Step.wrong, Step.factor, Step.splits = itertools.count(), wrong, factor, splits
    natively, engine = engine is not None, engine or torch
    rng, made = np.random.default_rng(0), {}

    def tensor(shape, size):
        return engine.tensor((rng.normal(size=shape) * size).astype("float32").astype(kind)).requires_grad_()

    def p(name, *shape):
        if name not in made:
            made[name] = tensor(shape, scale / shape[-1] ** 0.5)
        return made[name]

    with workbench.record(None if engine is torch else engine, limit=limit) as trace:
        step = natively_in(engine) if natively else Step.apply
        out = program(step, p, tensor((4, 6, 8), 1.0))
        engine.nn.functional.cross_entropy(out, engine.tensor([3, 1, 4, 7])).backward()
    return trace


def natively_in(engine):
    """The same with the operations of an engine."""

    def step(kind, *xs):
        steps = {"add": engine.add, "mm": engine.matmul, "linear": engine.nn.functional.linear, "tanh": engine.tanh}
        steps |= {"softmax": lambda x: engine.softmax(x, -1), "relu": engine.relu}
        steps["norm"] = lambda x: engine.nn.functional.layer_norm(x, (8,))
        return steps[kind](*xs)

    return step


def misses(program, kinds, factors, every=1, **options):
    """The places whose wrong backward isn't named, of those in each recording."""
    found, count = [], 0
    for kind, factor in itertools.product(kinds, factors):
        right = run(program, kind, **options)
        steps = [each.node for each in right.events if isinstance(each, NodeCreated) and each.name == "StepBackward"]
        for at in range(count % every, len(steps), every):
            diff = workbench.diff(right, run(program, kind, wrong=at, factor=factor, **options))
            if diff.forward is not None or diff.backward is None or diff.backward.places[0] != steps[at]:
                found.append((kind, factor, at, str(diff)))
            count += 1
    assert count > 10
    return found


@pytest.mark.parametrize("program", [transformer, mlp, rnn], ids=lambda each: each.__name__)
def test_a_backward_that_is_slightly_off_is_named(program) -> None:
    assert misses(program, ["float32"], [1.001], every=2) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", [transformer, mlp, rnn], ids=lambda each: each.__name__)
def test_a_backward_that_is_off_is_named_at_every_place(program) -> None:
    assert misses(program, ["float32", "float64"], [1.001, 1.01, 1.1]) == []
    assert misses(program, ["float32"], [1.001], limit=1) == []
    for scale in (0.3, 2.0):
        assert misses(program, ["float32"], [1.001], scale=scale) == []


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("program", [transformer, mlp, rnn], ids=lambda each: each.__name__)
def test_rounding_is_no_difference_along_long_chains(program, limit: int | None) -> None:
    for scale in (0.1, 1.0, 3.0):
        options = itertools.product(("float32", "float64"), (False, True))
        runs = [run(program, kind, scale, splits=splits, limit=limit) for kind, splits in options]
        for pair in itertools.permutations(runs, 2):
            diff = workbench.diff(*pair)
            assert diff.same, diff


@pytest.mark.oracle
@pytest.mark.parametrize("program", [transformer, mlp, rnn], ids=lambda each: each.__name__)
def test_pytorch_and_the_own_engine_agree_along_long_chains(program) -> None:
    other = pytest.importorskip("torch", reason=absent.TORCH)
    for kind, scale in itertools.product(("float32", "float64"), (0.1, 1.0, 3.0)):
        traces = [run(program, kind, scale, engine=engine) for engine in (torch, other)]
        diff = workbench.diff(*traces)
        assert diff.same_values, diff
