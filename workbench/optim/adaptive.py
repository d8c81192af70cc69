"""Optimizers that divide each gradient by a measure of the earlier ones: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.creation import full_like, tensor, zeros_like
from .optimizer import Group, OneByOne, _checked, _checked_ways


class RMSprop(OneByOne):
    """Move each parameter against its gradient, divided by the gradient's recent size (Hinton, 2012).

    The size is the root of v, a running mean of squares: `v = alpha * v + (1 - alpha) * grad**2`. The step is
    `p = p - lr * grad / (sqrt(v) + eps)`. PyTorch: torch.optim.RMSprop.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        alpha: The share of the old running mean that is kept in each step.
        eps: A small number added to the root, so that the step never divides by zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        momentum: The share of the previous step that is added to each step. The learning rate multiplies the sum.
        centered: If True, the step divides by an estimate of the gradient's standard deviation, `sqrt(v - mean**2)`,
            where `mean` is a running mean of the gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
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
    """Move each parameter against its gradient, in steps that shrink as gradients add up (Duchi et al., 2011).

    Each step adds to a sum of squares, `s = s + grad**2`, and then computes `p = p - lr * grad / (sqrt(s) + eps)`.
    PyTorch: torch.optim.Adagrad.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate of the first step.
        lr_decay: How fast the learning rate falls: in step n, it is `lr / (1 + (n - 1) * lr_decay)`.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        initial_accumulator_value: The value of the sum of squares before the first step.
        eps: A small number added to the root, so that the step never divides by zero.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `fused` are accepted for compatibility; they have no effect here.
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
    """Move each parameter by about the size of its recent steps, against the gradient (Zeiler, 2012).

    `step = sqrt(d + eps) / sqrt(v + eps) * grad`, where v and d are running means of `grad**2` and `step**2`, and then
    `p = p - lr * step`. PyTorch: torch.optim.Adadelta.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The factor by which each step is multiplied.
        rho: The share of the two old running means that is kept in each step.
        eps: A small number added to both running means, so that the first steps aren't zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
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
