"""Optimizers: groups of parameters, their state, and the step over all of them; SGD, Adam and AdamW (torch.optim).

A step runs under no_grad and writes into the parameters in place. The write raises their versions, so a later backward
pass through a graph that saved one of them is refused.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..autograd.hooks import RemovableHandle
from ..autograd.tensor import Tensor
from ..errors import warn
from ..events import emit, listeners
from ..nn.modules.module import clear_grads
from ..nn.modules.naming import typename
from ..ops.comparison import maximum
from ..ops.complex import view_as_complex, view_as_real
from ..ops.creation import tensor, zeros_like

# What optimizers reject, with PyTorch's exact messages (PyTorch 2.13).
PARAMS_KIND = "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {}"
PARAMS_EMPTY = "optimizer got an empty parameter list"
GROUP_KIND = "param_group must be a dict, but got {}"
PARAMS_SET = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
    "change between runs. Please use a list instead."
)
SOME_NAMES = "all optimizer params should be with/without names. Some param names are missing"
GROUP_NAMES = (
    "all optimizer param groups should be with/without names. cannot add param group {} names to the optimizer"
)
PARAM_KIND = "optimizer can only optimize Tensors, but one of the params is {}"
NON_LEAF = "can't optimize a non-leaf Tensor"
TWICE_IN_GROUP = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
    "github.com/pytorch/pytorch/issues/40967 for more information"
)
TWICE = "some parameters appear in more than one parameter group"
STATE_GROUPS = "loaded state dict has a different number of parameter groups"
STATE_GROUP = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
HOOK_RESULT = "{} must return None or a tuple of (new_args, new_kwargs), but got {}."

INVALID = "Invalid {}: {}"
TENSOR_NUMBER = "Tensor {} must be 1-element"
NESTEROV = "Nesterov momentum requires a momentum and zero dampening"
BETAS = "betas must be either both floats or both Tensors"
FUSED = "`fused` does not support `differentiable`"
FUSED_FOREACH = "`fused` and `foreach` cannot be `True` together."

Group = dict[str, Any]

_post_hooks_of_all: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return _registered(_post_hooks_of_all, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step in the optimizer's hooks."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # one that wraps another, and never called __init__
            return step(self, *args, **kwargs)
        given = (self, *args)
        for hook in tuple(self._optimizer_step_pre_hooks.values()):
            changed = hook(self, given, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(HOOK_RESULT.format(step, changed))
                given, kwargs = changed
        if self._opt_called is not None:
            self._opt_called = True
        if listeners:
            emit(("stepping", self))
        result = step(*given, **kwargs)
        if listeners:
            emit(("stepped", self))
        for hook in (*self._optimizer_step_post_hooks.values(), *_post_hooks_of_all.values()):
            hook(self, given, kwargs)
        return result

    return hooked


class Optimizer:
    """Base class of all optimizers: a subclass defines `step`, which changes the parameters.

    The parameters are in groups, each with its own options.

    PyTorch: torch.optim.Optimizer.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        defaults: The values of options that a group doesn't set itself.
    """

    _opt_called: bool | None = None  # whether there was a step since a schedule of the learning rate first asked

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._optimizer_step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError(PARAMS_KIND.format(typename(params)))
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError(PARAMS_EMPTY)
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters.

        Args:
            param_group: A dict with the parameters in "params", and the group's own options. The optimizer's defaults
                fill in the other options.
        """
        if not isinstance(param_group, dict):
            raise TypeError(GROUP_KIND.format(type(param_group)))
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(PARAMS_SET)
        listed = [given] if isinstance(given, Tensor) else list(given)
        names = [each[0] for each in listed if isinstance(each, tuple)]
        params = param_group["params"] = [each[1] if isinstance(each, tuple) else each for each in listed]
        if names:
            if len(names) != len(params):
                raise ValueError(SOME_NAMES)
            param_group["param_names"] = names
        self._check(params)
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        if len(set(params)) < len(params):
            warn(TWICE_IN_GROUP)
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(GROUP_NAMES.format("with" if named else "without"))
        if not set(params).isdisjoint(self._params()):
            raise ValueError(TWICE)
        self.param_groups.append(param_group)

    def _check(self, params: list[Any]) -> None:
        """Raise an error unless the optimizer can change all of these."""
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(PARAM_KIND.format(typename(param)))
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError(NON_LEAF)

    def _params(self) -> Iterator[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters, using their gradients; a subclass overrides it.

        Args:
            closure: A function that computes the loss and its gradients, and returns the loss. If given, it is called
                first, and `step` returns its result.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the parameters' gradients to None, or write zeros into them if `set_to_none` is False."""
        clear_grads(self._params(), set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options of all groups; parameters are numbered in the order of the groups."""
        number = {param: i for i, param in enumerate(dict.fromkeys(self._params()))}
        groups = [
            {name: value for name, value in group.items() if name != "params"}
            | {"params": [number[param] for param in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": {number.get(key, key): kept for key, kept in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the `state_dict` of an optimizer with groups of the same sizes."""
        loaded = deepcopy(state_dict["param_groups"])
        if len(loaded) != len(self.param_groups):
            raise ValueError(STATE_GROUPS)
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(loaded, self.param_groups, strict=True)):
            raise ValueError(STATE_GROUP)
        meant = {}
        for new, old in zip(loaded, self.param_groups, strict=True):
            meant.update(zip(new["params"], old["params"], strict=True))
            new["params"] = old["params"]
            if "param_names" in old:
                new.setdefault("param_names", old["param_names"])
        self.state = defaultdict(dict)
        for key, kept in state_dict["state"].items():
            if key in meant:
                kept = {name: _fitted(name, value, meant[key]) for name, value in kept.items()}
            self.state[meant.get(key, key)] = kept
        self.param_groups = loaded

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return a new pair `(args, kwargs)`."""
        return _registered(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _registered(self._optimizer_step_post_hooks, hook)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            lines = [f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"]
            text += f"\nParameter Group {i}\n" + "".join(lines)
        return text + ")"


class OneByOne(Optimizer):
    """An optimizer that changes each parameter using only its own gradient; a subclass does it in `_update`."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient; return the loss if a `closure` that computes it is given."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(self.defaults["differentiable"]):
            for group in self.param_groups:
                for param in group["params"]:
                    if (grad := param.grad) is not None:
                        grad = -grad if group["maximize"] else grad
                        (self._update_parts if param.is_complex() else self._update)(param, grad, group)
        return loss

    def _update_parts(self, param: Tensor, grad: Tensor, group: Group) -> None:
        """Update the real and the imaginary parts as if each were a parameter."""
        view, state = view_as_real(param), self.state[param]
        self.state[view] = {k: view_as_real(t) if _is_complex(t) else t for k, t in state.items()}
        self._update(view, view_as_real(grad), group)
        parts = self.state.pop(view)
        state |= {
            k: view_as_complex(t) if isinstance(t, Tensor) and t.shape == view.shape else t for k, t in parts.items()
        }

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        """Write a parameter's new value into it."""
        raise NotImplementedError


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_complex()


def _registered(hooks: OrderedDict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _fitted(name: str, value: Any, param: Tensor) -> Any:
    """Return a part of a loaded state in the parameter's dtype; the step count keeps its own dtype."""
    casts = isinstance(value, Tensor) and name != "step" and param.is_floating_point()
    return value.to(dtype=param.dtype) if casts else value


def _checked(name: str, value: Any, text: str, below: float = math.inf) -> Any:
    """Return an option.

    Raises:
        ValueError: if it's a tensor of several numbers, negative, or not below the limit.
    """
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(TENSOR_NUMBER.format(name))
    if not 0.0 <= value < below:
        raise ValueError(INVALID.format(text, value))
    return value


def _checked_ways(optimizer: Optimizer) -> None:
    """Raise RuntimeError if the options ask for kernels that exclude each other."""
    ways = optimizer.defaults
    if ways["fused"] and ways["differentiable"]:
        raise RuntimeError(FUSED)
    if ways["fused"] and ways["foreach"]:
        raise RuntimeError(FUSED_FOREACH)


class SGD(OneByOne):
    """Move each parameter p against its gradient: `p = p - lr * grad`.

    With `momentum`, each step moves against v, a decaying sum of the gradients so far. The sum starts as the first
    gradient. After that, `v = momentum * v + (1 - dampening) * grad` and `p = p - lr * v`. PyTorch: torch.optim.SGD.

    Example:
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> for step in range(3):
        ...     optimizer.zero_grad()
        ...     (w * w).sum().backward()
        ...     optimizer.step()
        >>> w
        tensor([0.5120], requires_grad=True)

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        momentum: The share of the sum v that is kept in each step.
        dampening: The share of each gradient, after the first one, that isn't added to v.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        nesterov: If True, use Nesterov momentum: the step moves against `grad + momentum * v`.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach` and `fused` are accepted for compatibility; they have no effect here.
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
            "lr": _checked("lr", lr, "learning rate"),
            "momentum": _checked("momentum", momentum, "momentum value"),
            "dampening": dampening,
            "weight_decay": _checked("weight_decay", weight_decay, "weight_decay value"),
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(NESTEROV)
        super().__init__(params, defaults)
        _checked_ways(self)

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


class Adam(OneByOne):
    """Move each element by up to about `lr` per step, whatever the scale of its gradients (Kingma and Ba, 2015).

    In step t, the running means `m = beta1 * m + (1 - beta1) * grad` and `v = beta2 * v + (1 - beta2) * grad**2` are
    corrected for their start at zero: `m_hat = m / (1 - beta1**t)`, and `v_hat = v / (1 - beta2**t)`. Then
    `p = p - lr * m_hat / (sqrt(v_hat) + eps)`. PyTorch: torch.optim.Adam.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        betas: `(beta1, beta2)`: the share of the old `m` and of the old `v` that is kept in each step.
        eps: A small number added to the root, so that the step never divides by zero.
        weight_decay: How strongly each step pulls a parameter p toward zero: `weight_decay * p` is added to its
            gradient.
        amsgrad: If True, the step divides by the root of the largest v so far, instead of the current one.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.
        decoupled_weight_decay: If True, the decay shrinks the weights directly, as in AdamW, instead of being added to
            the gradient.

    `foreach`, `fused` and `capturable` are accepted for compatibility; they have no effect here.
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
        lr = _checked("lr", lr, "learning rate")
        _checked("eps", eps, "epsilon value")
        for i, beta in enumerate(betas):
            _checked(f"betas[{i}]", beta, f"beta parameter at index {i}", 1.0)
        _checked("weight_decay", weight_decay, "weight_decay value")
        if {type(beta) for beta in betas} not in ({float}, {Tensor}):
            raise ValueError(BETAS)
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
        _checked_ways(self)

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
    """Adam with decoupled weight decay, which shrinks the weights directly instead of being added to the gradient.

    Each step begins with `p = p * (1 - lr * weight_decay)`. It then moves p as Adam does, by m and v, the running means
    of the gradients and of their squares. See Loshchilov and Hutter (2019). PyTorch: torch.optim.AdamW.

    Args:
        params: The parameters to change: an iterable of tensors or of pairs (name, tensor). To use other options for
            some parameters, pass a list of dicts, one for each group: its parameters in "params", and its own options.
        lr: The learning rate.
        betas: `(beta1, beta2)`: the share of the old `m` and of the old `v` that is kept in each step.
        eps: A small number added to the root, so that the step never divides by zero.
        weight_decay: How strongly each step shrinks the parameters: the factor in the formula above.
        amsgrad: If True, the step divides by the root of the largest v so far, instead of the current one.
        maximize: If True, step along the gradient instead of against it, to make the objective larger.
        differentiable: If True, autograd tracks the step, so that you can differentiate through it.

    `foreach`, `fused` and `capturable` are accepted for compatibility; they have no effect here.
    """

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
        """Continue from `state_dict`, the state of an AdamW or Adam optimizer; weight decay stays decoupled."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
