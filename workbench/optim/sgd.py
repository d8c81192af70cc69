"""Stochastic gradient descent (torch.optim.sgd)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.tensor import Tensor
from . import messages
from .optimizer import Group, OneByOne, checked, checked_ways


class SGD(OneByOne):
    """Each parameter moves against its gradient, or with `momentum` against a decaying sum of its gradients.

    `foreach` and `fused` choose between PyTorch's kernels, which compute the same.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": checked("lr", lr, "learning rate"),
            "momentum": checked("momentum", momentum, "momentum value"),
            "dampening": dampening,
            "weight_decay": checked("weight_decay", weight_decay, "weight_decay value"),
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(messages.NESTEROV)
        super().__init__(params, defaults)
        checked_ways(self)

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        if group["weight_decay"] != 0:
            grad = grad + param * group["weight_decay"]
        if (momentum := group["momentum"]) != 0:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                state["momentum_buffer"] = buffer = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad + momentum * buffer if group["nesterov"] else buffer
        param.sub_(grad * group["lr"])
