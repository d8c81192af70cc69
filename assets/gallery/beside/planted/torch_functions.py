"""Custom Functions of PyTorch with one fault each, beside the same without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.autograd import Function


@dataclass(frozen=True)
class Planted:
    """A fault, and by which words a message names it."""

    what: str
    wrong: type[Function]
    right: type[Function]
    words: tuple[str, ...]
    inputs: Callable[[], list[Any]]


def leaf(*shape: int, seed: int = 0) -> Any:
    """Random numbers that require grad."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


class TenInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 10

    @staticmethod
    def backward(ctx, g):
        return g.mul_(10)


class Ten(TenInPlace):
    @staticmethod
    def backward(ctx, g):
        return g * 10


class SquareInto(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x.data.mul_(2).mul_(g)
        return x


class SquareOut(SquareInto):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class SquareTwice(Function):
    @staticmethod
    def forward(ctx, x):
        m = 2 * x
        ctx.save_for_backward(m)
        return m * m

    @staticmethod
    def backward(ctx, g):
        (m,) = ctx.saved_tensors
        return g * 4 * m


class SquareAgain(SquareTwice):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (2 * x) ** 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 8 * x


class ByStride(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = torch.as_strided(g, g.shape, (g.shape[1], 1))
        return g @ w.t(), x.t() @ g


class ByContiguous(ByStride):
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = torch.as_strided(g.contiguous(), g.shape, (g.shape[1], 1))
        return g @ w.t(), x.t() @ g


class ReadTwice(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0]
        w = ctx.saved_tensors[1]
        return g * w, g * x


class ReadOnce(ReadTwice):
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, g * x


class CrossEntropyFixedSeed(Function):
    @staticmethod
    def forward(ctx, logits, target):
        logp = logits.log_softmax(-1)
        grad = logp.exp()
        grad[torch.arange(len(target)), target] -= 1
        ctx.save_for_backward(grad / len(target))
        return F.nll_loss(logp, target)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (grad,) = ctx.saved_tensors
        return grad, None


class CrossEntropyFused(CrossEntropyFixedSeed):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (grad,) = ctx.saved_tensors
        return grad * g, None


class RMSNormConstant(Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        return x * r * weight

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)
        gw = (g * x * r).sum(0)
        return g * weight * r, gw, None


class RMSNorm(RMSNormConstant):
    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)
        gw = (g * x * r).sum(0)
        u = g * weight
        return r * (u - x * r * r * (u * x).mean(-1, keepdim=True)), gw, None


class LinearWrongNeed(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = g @ w if ctx.needs_input_grad[0] else None
        gw = g.t() @ x if ctx.needs_input_grad[1] else None
        gb = g.sum(0) if ctx.needs_input_grad[1] else None
        return gx, gw, gb


class LinearRight(LinearWrongNeed):
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = g @ w if ctx.needs_input_grad[0] else None
        gw = g.t() @ x if ctx.needs_input_grad[1] else None
        gb = g.sum(0) if ctx.needs_input_grad[2] else None
        return gx, gw, gb


class ScanNoLast(Function):
    @staticmethod
    def forward(ctx, a, x):
        h, ys = torch.zeros_like(x[0]), []
        for at, xt in zip(a, x, strict=True):
            h = at * h + xt
            ys.append(h)
        y = torch.stack(ys)
        ctx.save_for_backward(a, y)
        return y, h.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gy, glast):
        a, y = ctx.saved_tensors
        dh, da, dx = torch.zeros_like(gy[0]), torch.zeros_like(a), torch.zeros_like(gy)
        for t in reversed(range(len(a))):
            dh = dh + gy[t]
            dx[t] = dh
            da[t] = dh * y[t - 1] if t else 0
            dh = dh * a[t]
        return da, dx


class Scan(ScanNoLast):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gy, glast):
        a, y = ctx.saved_tensors
        dh, da, dx = glast.clone(), torch.zeros_like(a), torch.zeros_like(gy)
        for t in reversed(range(len(a))):
            dh = dh + gy[t]
            dx[t] = dh
            da[t] = dh * y[t - 1] if t else 0
            dh = dh * a[t]
        return da, dx


class DropoutTwice(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        return x * (torch.rand_like(x) >= p) / (1 - p)

    @staticmethod
    def backward(ctx, g):
        return g * (torch.rand_like(g) >= ctx.p) / (1 - ctx.p), None


class DropoutSaved(Function):
    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand_like(x) >= p) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask, None


class LogSumExpNaive(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.logsumexp(-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = x.exp()
        return g.unsqueeze(-1) * e / e.sum(-1, keepdim=True)


class LogSumExpStable(LogSumExpNaive):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * x.softmax(-1)


class MaskOnClass(Function):
    @staticmethod
    def forward(ctx, x):
        MaskOnClass.mask = x > 0
        return x * MaskOnClass.mask

    @staticmethod
    def backward(ctx, g):
        return g * MaskOnClass.mask


class MaskSaved(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask


FUNCTIONS = {
    "gradient_written": Planted(
        "`backward` multiplies the incoming gradient in place, which another branch of the graph gets too.",
        TenInPlace,
        Ten,
        ("gradient of output",),
        lambda: [leaf(4)],
    ),
    "saved_input_written": Planted(
        "`backward` writes its result into the saved input through `.data`, which leaves the version as it is.",
        SquareInto,
        SquareOut,
        ("saved tensor",),
        lambda: [leaf(5)],
    ),
    "intermediate_saved": Planted(
        "`forward` saves an intermediate, so a second derivative takes it for a constant.",
        SquareTwice,
        SquareAgain,
        ("second derivative", "Jacobian mismatch"),
        lambda: [leaf(4)],
    ),
    "gradient_read_as_contiguous": Planted(
        "`backward` reads the incoming gradient as if it were contiguous.",
        ByStride,
        ByContiguous,
        ("sliced", "contiguous"),
        lambda: [leaf(3, 4), leaf(4, 2, seed=1)],
    ),
    "saved_read_twice": Planted(
        "`backward` reads `ctx.saved_tensors` twice, which is an error under a checkpoint.",
        ReadTwice,
        ReadOnce,
        ("unpacks",),
        lambda: [leaf(4), leaf(4, seed=1)],
    ),
    "loss_without_its_gradient": Planted(
        "A fused cross-entropy returns its gradient without multiplying it by the incoming one.",
        CrossEntropyFixedSeed,
        CrossEntropyFused,
        ("gradient that arrives", "not multiplied by grad_output"),
        lambda: [leaf(4, 5), torch.tensor([1, 0, 4, 2])],
    ),
    "norm_as_a_constant": Planted(
        "The backward of an RMSNorm takes the norm for a constant.",
        RMSNormConstant,
        RMSNorm,
        ("by differences", "Jacobian mismatch"),
        lambda: [leaf(3, 8), leaf(8, seed=1), 1e-6],
    ),
    "need_of_another_input": Planted(
        "The bias gets a gradient only if the weight requires one: a wrong index of `ctx.needs_input_grad`.",
        LinearWrongNeed,
        LinearRight,
        ("If only `b` requires grad",),
        lambda: [leaf(3, 4), leaf(2, 4, seed=1), leaf(2, seed=2)],
    ),
    "last_state_ignored": Planted(
        "The backward of a scan ignores the gradient of its second output, the last state.",
        ScanNoLast,
        Scan,
        ("output 1",),
        lambda: [leaf(5, 3), leaf(5, 3, seed=1)],
    ),
    "mask_drawn_again": Planted(
        "A dropout draws another mask in `backward`.",
        DropoutTwice,
        DropoutSaved,
        ("draws random numbers",),
        lambda: [leaf(6, 6), 0.5],
    ),
    "exp_that_overflows": Planted(
        "`backward` takes `exp` of the logits as they are: nan in float32 from 89 on.",
        LogSumExpNaive,
        LogSumExpStable,
        ("nan or infinite",),
        lambda: [torch.tensor([[95.0, 94.0, 90.0], [1.0, 2.0, 0.5]], requires_grad=True)],
    ),
    "mask_on_the_class": Planted(
        "`forward` keeps its mask on the class, so a second call before `backward` replaces it.",
        MaskOnClass,
        MaskSaved,
        ("another call",),
        lambda: [leaf(3, 4)],
    ),
}
