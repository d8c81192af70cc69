"""Hooks on a module's backward pass: the nodes before and after it that call them (torch.utils.hooks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ... import errors
from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...autograd.tensor import Tensor
from ...errors import warn


class BackwardHookFunction(Function):
    """Pass tensors on as they are, through a node."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        """Return all arguments."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return all gradients."""
        return args


class BackwardHook:
    """The hooks of one call of a module: `before` gets the outputs' gradients, `after` also the inputs'."""

    places: Any  # the numbers of the arguments that are behind a node; None where there is no node
    kept: Any  # those of the outputs

    def __init__(self, module: Any, after: Iterable[Callable[..., Any]], before: Iterable[Callable[..., Any]]) -> None:
        self.module, self.after, self.before = module, list(after), list(before)
        self.grads: Any = None  # the outputs' gradients, from when they arrive to when the inputs' are known

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, behind a node that calls the hooks with the gradients of both sides."""
        args, self.places, self.count = *_behind_a_node(args, self._on_inputs), len(args)
        return args

    def outputs(self, result: Any) -> Any:
        """Return the result, behind a node that stores its gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
        several = result if isinstance(result, tuple) else (result,)
        found, self.kept, self.results = *_behind_a_node(several, self._on_outputs), len(several)
        return found if isinstance(result, tuple) else found[0]

    def _on_outputs(self, _: Any, arrived: tuple[Any, ...]) -> Any:
        grads = _in_places(self.kept, arrived, self.results)
        for hook in self.before:
            changed = hook(self.module, grads)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(changed)}, but expected {len(grads)}"
                    )
                grads = changed
        if self.places is None:  # no node around the inputs
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook "
                "for more details."
            )
            for hook in self.after:
                changed = hook(self.module, (None,) * self.count, grads)
                if changed is not None and not (isinstance(changed, tuple) and all([c is None for c in changed])):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return "
                        "None or None for all gradients."
                    )
        else:
            self.grads = grads
        return tuple([grads[i] for i in self.kept])

    def _on_inputs(self, arrived: tuple[Any, ...], _: Any) -> Any:
        if self.grads is None:  # the gradient came round the outputs
            return None
        grads = _in_places(self.places, arrived, self.count)
        for hook in self.after:
            changed = hook(self.module, grads, self.grads)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(errors.MODULE_HOOK_COUNT.format(len(changed), len(grads)))
                grads = changed
        self.grads = None
        return tuple([grads[i] for i in self.places])


def _in_places(places: list[int], values: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Return values at their places among `n`, with None at the others."""
    found = dict(zip(places, values, strict=False))
    return tuple([found.get(i) for i in range(count)])


def _behind_a_node(args: tuple[Any, ...], seen: Callable[..., Any]) -> tuple[Any, list[int] | None]:
    """Return the arguments with their tensors behind one node that calls `seen`, and their places, if any."""
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not is_grad_enabled() or not any([args[i].requires_grad for i in places]):
        return args, None
    behind = BackwardHookFunction.apply(*[args[i] for i in places])

    def hook(*grads: Any) -> Any:  # under the name that errors about it say
        return seen(*grads)

    next(t.grad_fn for t in behind if t.requires_grad).register_hook(hook)
    new = list(args)
    for i, t in zip(places, behind, strict=True):
        new[i] = t
    return tuple(new) if type(args) is tuple else type(args)(*new), places
