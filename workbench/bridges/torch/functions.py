"""A function of PyTorch tensors as one of the workbench's, for tools that run a function themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...autograd.function import Function
from ...autograd.tensor import Tensor
from ...ops.creation import tensor


def own_of_torch(given: torch.Tensor) -> Tensor:
    """Return the same numbers as a leaf of the workbench's, with the same `requires_grad`."""
    plain = given.detach().cpu()
    found = tensor((plain if plain.dtype != torch.bfloat16 else plain.float()).numpy().copy())
    return found.requires_grad_(given.requires_grad)


def in_torch(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function of the workbench's tensors that runs `f` on PyTorch's, with PyTorch's derivatives."""

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        names = [*kwargs]
        plain = len(args)

        def called(*given: Any) -> Any:
            with torch.enable_grad():
                return f(*given[:plain], **dict(zip(names, given[plain:], strict=True)))

        return kind.apply(called, *args, *kwargs.values())

    kind = type(name, (_Run,), {})
    run.__name__ = name
    return run


class _Run(Function):
    @staticmethod
    def forward(ctx: Any, called: Callable[..., Any], *given: Any) -> Any:
        """Run it, and store PyTorch's graph."""
        leaves = [_leaf(each) if isinstance(each, Tensor) else each for each in given]
        for each in leaves:
            if isinstance(each, torch.Tensor) and each.is_floating_point():
                each.requires_grad_()  # each, as one may have a tangent alone
        out = called(*leaves)
        ctx.called, ctx.leaves = called, leaves
        ctx.outs = outs = out if isinstance(out, tuple) else (out,)
        ctx.set_materialize_grads(False)
        if not all(isinstance(each, torch.Tensor) for each in outs):
            raise TypeError(f"{type(ctx).__name__} returned {type(out).__name__} and no tensor")
        own = tuple([own_of_torch(each).detach() for each in outs])
        ctx.mark_non_differentiable(*[mine for mine, each in zip(own, outs, strict=True) if not each.requires_grad])
        return own if isinstance(out, tuple) else own[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return the gradients that PyTorch sends."""
        pairs = [(out, grad) for out, grad in zip(ctx.outs, grads, strict=True) if grad is not None]
        wanted = [each for each in ctx.leaves if isinstance(each, torch.Tensor) and each.requires_grad]
        outs, seeds = [out for out, _ in pairs], [_leaf(grad) for _, grad in pairs]
        found = torch.autograd.grad(outs, wanted, seeds, retain_graph=True, allow_unused=True) if outs else ()
        sent = dict(zip(map(id, wanted), found, strict=False))
        return None, *[None if (got := sent.get(id(each))) is None else own_of_torch(got) for each in ctx.leaves]

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        """Return the tangents that PyTorch pushes forward."""
        given = tuple([each.detach() if isinstance(each, torch.Tensor) else each for each in ctx.leaves])
        moved = tuple(
            [torch.zeros_like(each) if t is None else _leaf(t) for each, t in zip(given, tangents, strict=True)]
        )
        found = torch.func.jvp(ctx.called, given, moved)[1]
        return tuple(map(own_of_torch, found)) if isinstance(found, tuple) else own_of_torch(found)


def _leaf(given: Tensor) -> torch.Tensor:
    return torch.from_numpy(np.array(given._array))
