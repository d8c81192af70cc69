"""Optimizers in use less than SGD and Adam: Adamax, NAdam, RAdam, ASGD and Rprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.comparison import maximum, where
from ..ops.creation import full_like, ones_like, tensor, zeros_like
from .optimizer import Group, OneByOne, _checked


def _checked_decaying(lr: Any, betas: Any, eps: float, weight_decay: float) -> dict[str, Any]:
    """Return the options that Adam's relatives share.

    Raises:
        ValueError: if one of them is out of range.
    """
    _checked("lr", lr, "learning rate")
    _checked("eps", eps, "epsilon value")
    for i, beta in enumerate(betas):
        _checked(f"betas[{i}]", beta, f"beta parameter at index {i}", 1.0)
    _checked("weight_decay", weight_decay, "weight_decay value")
    return {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}


class _Decaying(OneByOne):
    """An optimizer with two running means: of the gradients, and of their size."""

    _second = "exp_avg_sq"

    def _moved(self, param: Tensor, grad: Tensor, group: Group, **first: float) -> tuple[Tensor, dict[str, Any], float]:
        """Return the gradient with its decay, the updated state, and the number of the step."""
        state = self.state[param]
        if not state:
            state.update(step=tensor(0.0), **{name: tensor(value) for name, value in first.items()})
            state.update({name: zeros_like(param) for name in ("exp_avg", self._second)})
        state["step"] += 1
        decay, (beta1, beta2) = group["weight_decay"], group["betas"]
        if decay and group.get("decoupled_weight_decay"):
            param.mul_(1 - group["lr"] * decay)
        elif decay:
            grad = grad + param * decay
        state["exp_avg"].add_((grad - state["exp_avg"]) * (1 - beta1))
        if self._second == "exp_avg_sq":
            state["exp_avg_sq"].mul_(beta2).add_(grad * grad * (1 - beta2))
        return grad, state, state["step"].item()


class Adamax(_Decaying):
    """Adam that divides by the largest recent gradient, instead of the root of a mean square.

    Step t is `m = beta1 * m + (1 - beta1) * grad`, `v = max(beta2 * v, abs(grad) + eps)` and
    `p = p - lr / (1 - beta1 ** t) * m / v`. Unlike in Adam, v needs no correction. PyTorch: torch.optim.Adamax; see
    Kingma and Ba (2015).

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        betas: `(beta1, beta2)`: the share of the old mean gradient and of the old v that is kept in each step.
        eps: A small number added to the absolute value of each gradient, so that the step never divides by zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
    """

    _second = "exp_inf"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        ways = {"maximize": maximize, "differentiable": differentiable, "capturable": capturable}
        super().__init__(params, _checked_decaying(lr, betas, eps, weight_decay) | {"foreach": foreach} | ways)

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        grad, state, step = self._moved(param, grad, group)
        beta1, beta2 = group["betas"]
        largest = state["exp_inf"]
        largest.copy_(maximum(largest * beta2, grad.abs() + group["eps"]))
        param.sub_(state["exp_avg"] / largest * (group["lr"] / (1 - beta1**step)))


class NAdam(_Decaying):
    """Adam with Nesterov momentum, which looks one step ahead (Dozat, 2016).

    PyTorch: torch.optim.NAdam.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        betas: `(beta1, beta2)`: the share of the old mean gradient and of the old mean square that is kept in each
            step.
        eps: A small number added to the root of the mean square, so that the step never divides by zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        momentum_decay: How fast the momentum, which starts lower, approaches `beta1`.
        decoupled_weight_decay: If True, the decay shrinks the weights directly, as in AdamW, instead of being added to
            the gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _checked_decaying(lr, betas, eps, weight_decay)
        options["momentum_decay"] = _checked("momentum_decay", momentum_decay, "momentum_decay value")
        options |= {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach}
        super().__init__(params, options | {"capturable": capturable, "differentiable": differentiable})

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        grad, state, step = self._moved(param, grad, group, mu_product=1.0)
        (beta1, beta2), lr = group["betas"], group["lr"]
        now, then = (beta1 * (1.0 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (step, step + 1))
        state["mu_product"] *= now
        product = state["mu_product"].item()
        spread = (state["exp_avg_sq"] / (1 - beta2**step)).sqrt() + group["eps"]
        param.sub_(grad / spread * (lr * (1.0 - now) / (1.0 - product)))
        param.sub_(state["exp_avg"] / spread * (lr * then / (1.0 - product * then)))


class RAdam(_Decaying):
    """Adam with a correction for its unreliable early mean squares (Liu et al., 2020).

    The first steps (five, with the default betas) move by `lr` times the corrected mean gradient. After that come
    Adam's steps times a factor that grows from near 0 to 1. PyTorch: torch.optim.RAdam.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        betas: `(beta1, beta2)`: the share of the old mean gradient and of the old mean square that is kept in each
            step.
        eps: A small number added to the root of the mean square, so that the step never divides by zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        decoupled_weight_decay: If True, the decay shrinks the weights directly, as in AdamW, instead of being added to
            the gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _checked_decaying(lr, betas, eps, weight_decay) | {"maximize": maximize, "foreach": foreach}
        options |= {"capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, options | {"differentiable": differentiable})

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        grad, state, step = self._moved(param, grad, group)
        beta1, beta2 = group["betas"]
        moved = state["exp_avg"] / (1 - beta1**step) * group["lr"]
        left, most = 1 - beta2**step, 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / left
        if length > 5.0:
            sure = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
            moved = moved * (left**0.5 / (state["exp_avg_sq"].sqrt() + group["eps"])) * sure
        param.sub_(moved)


class ASGD(OneByOne):
    """SGD with shrinking steps, which also averages each parameter over all steps (Polyak and Juditsky, 1992).

    `state[parameter]["ax"]` is the average over the steps after `t0`; until then it is the parameter itself. PyTorch:
    torch.optim.ASGD.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate of the first step.
        lambd: How strongly the parameters decay toward zero, and how fast the steps shrink.
        alpha: The exponent in the learning rate after t steps, `lr / (1 + lambd * lr * t) ** alpha`.
        t0: The step after which averaging starts.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = {"lr": _checked("lr", lr, "learning rate"), "lambd": lambd, "alpha": alpha, "t0": t0}
        options["weight_decay"] = _checked("weight_decay", weight_decay, "weight_decay value")
        options |= {"foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        super().__init__(params, options | {"capturable": capturable})

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state, lr, lambd = self.state[param], float(group["lr"]), group["lambd"]
        if not state:
            state.update(step=tensor(0.0), eta=tensor(lr), mu=tensor(1.0), ax=zeros_like(param))
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad + param * group["weight_decay"]
        eta, mu, step = state["eta"].item(), state["mu"].item(), state["step"].item()
        param.mul_(1 - lambd * eta)
        param.sub_(grad * eta)
        mean = state["ax"]
        mean.copy_(param if mu == 1 else mean + (param - mean) * mu)
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))


class Rprop(OneByOne):
    """Use only the sign of each gradient: steps get longer while the sign stays, and shorter when it changes.

    PyTorch: torch.optim.Rprop; see Riedmiller (1993).

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The length of the first step of each element.
        etas: A pair of factors: steps are multiplied by the first when the sign changes, and by the second while it
            stays.
        step_sizes: A pair: the shortest and the longest step.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `capturable` are accepted for compatibility; they have no effect here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _checked("lr", lr, "learning rate")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        options = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize}
        super().__init__(params, options | {"differentiable": differentiable, "capturable": capturable})

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        state, (less, more) = self.state[param], group["etas"]
        if not state:
            state.update(step=tensor(0.0), prev=zeros_like(param), step_size=full_like(grad, float(group["lr"])))
        state["step"] += 1
        sign = (grad * state["prev"]).sign()
        size = state["step_size"]
        size.mul_(where(sign > 0, more, where(sign < 0, less, ones_like(sign)))).clamp_(*group["step_sizes"])
        grad = where(sign < 0, zeros_like(grad), grad)
        param.sub_(grad.sign() * size)
        state["prev"].copy_(grad)
