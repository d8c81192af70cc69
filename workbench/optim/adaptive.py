"""Optimizers that divide each gradient by a measure of the earlier ones: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.creation import full_like, tensor, zeros_like
from .optimizer import Group, OneByOne, _checked, _checked_ways


class RMSprop(OneByOne):
    """Divide each gradient by the root of a running mean of its squares (Hinton, 2012).

    `v = alpha * v + (1 - alpha) * grad**2`, then `p = p - lr * grad / (sqrt(v) + eps)`. PyTorch: torch.optim.RMSprop.

    Args:
        params: Tensors, pairs (name, tensor), or a dict per group: the tensors in "params", and options for them.
        lr: The learning rate.
        alpha: How much of the running mean each step keeps.
        eps: Added to the root, so that it isn't zero.
        weight_decay: Add this times the parameter to its gradient, which pulls the parameter toward zero.
        momentum: Add this times the previous step to each step, both before the learning rate.
        centered: Divide by an estimate of the standard deviation instead: `sqrt(v - mean**2)`.
        maximize: Move along the gradient instead of against it.
        differentiable: Record the step, so that gradients flow through it.

    `foreach` and `capturable` choose among PyTorch's kernels, which compute the same.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        lr, eps = _checked("lr", lr, "learning rate"), _checked("eps", eps, "epsilon value")
        defaults = {
            "lr": lr,
            "momentum": _checked("momentum", momentum, "momentum value"),
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": _checked("weight_decay", weight_decay, "weight_decay value"),
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        _checked("alpha", alpha, "alpha value")
        super().__init__(params, defaults)

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[param]
        if not state:
            wanted = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
            state["step"] = tensor(0.0)
            state.update({name: zeros_like(param) for name, kept in wanted.items() if kept})
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad + param * group["weight_decay"]
        square, alpha = state["square_avg"], group["alpha"]
        square.mul_(alpha).add_(grad * grad * (1 - alpha))
        if group["centered"]:
            mean = state["grad_avg"]
            mean.add_((grad - mean) * (1 - alpha))
            spread = (square - mean * mean).sqrt() + group["eps"]
        else:
            spread = square.sqrt() + group["eps"]
        moved = grad / spread
        if group["momentum"] > 0:
            moved = state["momentum_buffer"].mul_(group["momentum"]).add_(moved)
        param.sub_(moved * group["lr"])


class Adagrad(OneByOne):
    """Divide each gradient by the root of the sum of all its squares so far (Duchi et al., 2011).

    `s = s + grad**2`, then `p = p - lr * grad / (sqrt(s) + eps)`. PyTorch: torch.optim.Adagrad.

    Args:
        params: Tensors, pairs (name, tensor), or a dict per group: the tensors in "params", and options for them.
        lr: The learning rate of the first step.
        lr_decay: The learning rate of step n is `lr / (1 + (n - 1) * lr_decay)`.
        weight_decay: Add this times the parameter to its gradient, which pulls the parameter toward zero.
        initial_accumulator_value: The value of s at the start.
        eps: Added to the root, so that it isn't zero.
        maximize: Move along the gradient instead of against it.
        differentiable: Record the step, so that gradients flow through it.

    `foreach` and `fused` choose among PyTorch's kernels, which compute the same.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        first = initial_accumulator_value
        checked = {
            "lr": _checked("lr", lr, "learning rate"),
            "lr_decay": _checked("lr_decay", lr_decay, "lr_decay value"),
        }
        _checked("weight_decay", weight_decay, "weight_decay value")
        _checked("initial_accumulator_value", first, "initial_accumulator_value value")
        defaults = checked | {
            "eps": _checked("eps", eps, "epsilon value"),
            "weight_decay": weight_decay,
            "initial_accumulator_value": first,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        _checked_ways(self)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = {"step": tensor(0.0), "sum": full_like(param, group["initial_accumulator_value"])}

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[param]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad + param * group["weight_decay"]
        state["sum"].add_(grad * grad)
        rate = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
        param.sub_(grad / (state["sum"].sqrt() + group["eps"]) * rate)


class Adadelta(OneByOne):
    """Divide each gradient by its root mean square, and multiply it by that of the steps so far (Zeiler, 2012).

    `step = sqrt(d + eps) / sqrt(v + eps) * grad`, where v and d are running means of `grad**2` and `step**2`. Then `p =
    p - lr * step`. PyTorch: torch.optim.Adadelta.

    Args:
        params: Tensors, pairs (name, tensor), or a dict per group: the tensors in "params", and options for them.
        lr: A factor for each step.
        rho: How much of both running means each step keeps.
        eps: Added to both means, so that the first steps aren't zero.
        weight_decay: Add this times the parameter to its gradient, which pulls the parameter toward zero.
        maximize: Move along the gradient instead of against it.
        differentiable: Record the step, so that gradients flow through it.

    `foreach` and `capturable` choose among PyTorch's kernels, which compute the same.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        lr = _checked("lr", lr, "learning rate")
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": _checked("eps", eps, "epsilon value"),
            "weight_decay": _checked("weight_decay", weight_decay, "weight_decay value"),
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[param]
        if not state:
            state.update(step=tensor(0.0), square_avg=zeros_like(param), acc_delta=zeros_like(param))
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad + param * group["weight_decay"]
        rho, eps = group["rho"], group["eps"]
        state["square_avg"].mul_(rho).add_(grad * grad * (1 - rho))
        delta = (state["acc_delta"] + eps).sqrt() / (state["square_avg"] + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).add_(delta * delta * (1 - rho))
        param.sub_(delta * group["lr"])
