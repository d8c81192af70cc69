"""Adam, which divides a running mean of gradients by the root of their running mean square (Kingma and Ba, 2015).

AdamW lets the weights decay apart from that (Loshchilov and Hutter, 2019).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.comparison import maximum
from ..ops.creation import tensor, zeros_like
from . import messages
from .optimizer import Group, OneByOne, checked, checked_ways


class Adam(OneByOne):
    """Each parameter moves about `lr` a step, whatever the size of its gradients.

    `foreach`, `fused` and `capturable` choose between PyTorch's kernels, which compute the same.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        lr = checked("lr", lr, "learning rate")
        checked("eps", eps, "epsilon value")
        for i, beta in enumerate(betas):
            checked(f"betas[{i}]", beta, f"beta parameter at index {i}", 1.0)
        checked("weight_decay", weight_decay, "weight_decay value")
        if {type(beta) for beta in betas} not in ({float}, {Tensor}):
            raise ValueError(messages.BETAS)
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        checked_ways(self)

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[param]
        if not state:
            state["step"] = tensor(0.0)
            for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]:
                state[name] = zeros_like(param)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
        state["step"] += 1
        step = state["step"].item()
        if decay and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay:
            grad = grad + param * decay
        mean.add_((grad - mean) * (1 - beta1))
        square.mul_(beta2).add_(grad * grad * (1 - beta2))
        if group["differentiable"]:  # the division saves it, and the next step writes into it
            mean = mean.clone()
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], square))
        spread = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        param.sub_(mean / spread * (lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam whose weights decay by `lr * weight_decay` of themselves a step, not by way of the gradients."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state, be it one of Adam's: the weights decay as AdamW's all the same."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
