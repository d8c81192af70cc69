"""Functions that are right, some of them retyped by idea from public code: an audit fails none of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def result(inputs: Any, out: Any) -> Any:
    return (out,)


def rms(x: Any, w: Any) -> Any:
    wide = x.float()
    return (wide * (wide.pow(2).mean(-1, keepdim=True) + 1e-6) ** -0.5).to(x.dtype) * w


def rms_slopes(grad: Any, x: Any, w: Any) -> Any:
    wide, by = x.float(), (grad * w).float()
    r = (wide.pow(2).mean(-1, keepdim=True) + 1e-6) ** -0.5
    slope = r * by - wide * r**3 * (by * wide).mean(-1, keepdim=True)
    return slope.to(x.dtype), (grad * (wide * r).to(x.dtype)).sum(0)


def entropy(x: Any, labels: Any) -> Any:
    return (x.logsumexp(1) - x.gather(1, labels.unsqueeze(1)).squeeze(1)).mean()


def entropy_slopes(grad: Any, x: Any, labels: Any) -> Any:
    hot = (x * 0).scatter(1, labels.unsqueeze(1), 1.0)
    return grad * (x.softmax(1) - hot) / x.shape[0], None


def normed(x: Any, w: Any, running: Any) -> Any:
    running.mul_(0.9).add_(x.detach().mean(0).to(running.dtype) * 0.1)
    return (x - x.mean(0)) * w


def fixed_point(a: Any) -> Any:
    z = a * 0
    for _ in range(60):
        z = (0.5 * z + a).tanh()
    return z


def relu_(ctx: Any, x: Any) -> Any:
    x.clamp_(min=0)
    ctx.mark_dirty(x)
    ctx.save_for_backward(x)
    return x


def contiguous(x: Any) -> Any:
    assert x.is_contiguous(), "x must be contiguous"
    return x * x


def correct_functions(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Each Function with its inputs, by name."""
    once = torch.autograd.function.once_differentiable

    def leaf(*shape: int, at: float = 0.0) -> Any:
        count = int(np.prod(shape))
        values = torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + at) * 1.1 + 0.13
        return values.reshape(shape).to(torch.float32).requires_grad_()

    def function(forward: Any, backward: Any, **more: Any) -> Any:
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
        return type("Right", (torch.autograd.Function,), methods)

    def saving(compute: Any, keep: Any = lambda inputs, out: inputs) -> Any:
        def forward(ctx: Any, *inputs: Any) -> Any:
            out = compute(*inputs)
            ctx.save_for_backward(*[each for each in keep(inputs, out) if isinstance(each, torch.Tensor)])
            return out

        return forward

    def of(compute: Any, slopes: Any, keep: Any = lambda inputs, out: inputs) -> Any:
        return function(saving(compute, keep), lambda ctx, grad: slopes(grad, *ctx.saved_tensors))

    def recomputed(ctx: Any, grad: Any) -> Any:
        x, w = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            y = torch.tanh(x @ w) @ w
        return torch.autograd.grad(y, [x, w], grad)

    def masked(draw: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            mask = torch.tensor((draw(*x.shape) > 0.3).tolist())
            ctx.save_for_backward(mask)
            return x * mask

        return function(forward, lambda ctx, grad: grad * ctx.saved_tensors[0])

    x, rows = leaf(3, 4), torch.tensor([0, 2, 2])
    step = leaf(1).detach()[0].requires_grad_()
    own = np.random.default_rng(3)
    return {
        "sigmoid by its result": (of(torch.sigmoid, lambda g, r: g * r * (1 - r), result), x),
        "a scale": (of(lambda x, by: x * by, lambda g, x: (2.5 * g, None)), x, 2.5),
        "a norm that computes in float32": (of(rms, once(rms_slopes)), x, leaf(4, at=1.0)),
        "cross entropy": (of(entropy, entropy_slopes), x, rows),
        "log-sum-exp": (
            of(
                lambda x: torch.logsumexp(x, -1),
                lambda g, x, r: g.unsqueeze(-1) * (x - r.unsqueeze(-1)).exp(),
                lambda inputs, out: (*inputs, out),
            ),
            x,
        ),
        "recomputed": (function(saving(lambda x, w: torch.tanh(x @ w) @ w), once(recomputed)), x, leaf(4, 4, at=1.0)),
        "in place": (function(relu_, lambda ctx, g: g * (ctx.saved_tensors[0] > 0).to(g.dtype)), x),
        "an embedding": (
            of(lambda w, i: w[i], lambda g, i: (torch.zeros(3, 4, dtype=g.dtype).index_add(0, i, g), None), _second),
            x,
            rows,
        ),
        "a fixed point": (of(fixed_point, lambda g, z: g * (1 - z * z) / (1 - 0.5 * (1 - z * z)), result), leaf(3)),
        "a buffer": (
            of(normed, lambda g, x, w, _: ((g - g.mean(0)) * w, (g * (x - x.mean(0))).sum(0), None)),
            x,
            leaf(4, at=1.0),
            torch.zeros(4),
        ),
        "a root at zero": (of(torch.sqrt, lambda g, r: g / (2 * r), result), torch.tensor([0.0, 4.0]).requires_grad_()),
        "a kink": (of(torch.relu, lambda g, x: g * (x > 0)), torch.tensor([0.0, 1.0, -1.0]).requires_grad_()),
        "a large input": (of(lambda x: (x * x).sum(1), lambda g, x: 2 * x * g.unsqueeze(1)), leaf(60, 40)),
        "contiguous inputs only": (of(contiguous, lambda g, x: 2 * x * g), x),
        "NumPy's random numbers": (masked(np.random.rand), x),
        "a generator's random numbers": (masked(lambda *shape: own.random(shape)), x),
        # Not the derivative on purpose.
        "straight-through": (of(torch.round, lambda g, x: g), x),
        "a sign, clipped": (of(torch.sign, lambda g, x: g * (x.abs() <= 1)), x),
        "a sign with a scale": (of(lambda x: x.sign() * x.abs().mean(), lambda g, x: g * (x.abs() <= 1)), x),
        "gradient reversal": (of(lambda x: x.view_as(x), lambda g, x: -0.5 * g), x),
        "a clipped gradient": (of(lambda x: x.clone(), lambda g, x: g.clamp(-0.1, 0.1)), x),
        "a clamp, passed through": (of(lambda x: x.clamp(-0.5, 0.5), lambda g, x: g), x),
        "a spike": (of(lambda x: (x > 0).to(x.dtype), lambda g, x: g / (1 + 10 * x.abs()) ** 2), x),
        "a learned step": (
            of(lambda x, s: (x / s).round() * s, lambda g, x, s: (g, (g * ((x / s).round() - x / s)).sum())),
            x,
            step,
        ),
    }


def _second(inputs: Any, out: Any) -> Any:
    return inputs[1:]
