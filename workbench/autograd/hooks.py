"""Hooks on tensors and nodes: functions that see gradients during a backward pass, and may replace them.

The order for one tensor: its tensor hooks, then retain_grad, then the pre-hooks of the node that takes the gradient,
the node itself, and its post-hooks. The order of registration matters only within one kind.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .. import errors
from ..events import ask, failed, listeners
from .node import Extra, Node, extra_of, target_of
from .state import local
from .tensor import Tensor, cached_grad_fn, meta_of, wrap

_ids = itertools.count()


class RemovableHandle:
    """The handle of a registered hook: `remove()` removes the hook, and so does leaving a `with` block.

    Args:
        hooks: The dict of hooks, from which to remove the entry with the handle's `id`.
    """

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.hooks = hooks
        self.id = next(_ids)

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _register(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    for level in local.modes.levels:
        level.runs_code = True
    return handle


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook` with the gradient of this tensor in each backward pass.

    The call happens once the contributions of all uses of the tensor have been added up. PyTorch:
    torch.Tensor.register_hook.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> handle = x.register_hook(lambda gradient: 10 * gradient)
        >>> (x * x).backward()
        >>> x.grad
        tensor(60.)

    Args:
        hook: A function that takes the gradient, and returns None or a tensor that replaces the gradient.

    Returns:
        A handle whose `remove()` removes the hook.
    """
    if not self.requires_grad:
        raise failed(RuntimeError(errors.HOOK_WITHOUT_GRAD), self)
    extra = extra_of(target_of(self))
    if extra.tensor_hooks is None:
        extra.tensor_hooks = {}
    return _register(extra.tensor_hooks.setdefault(self._nr, {}), hook)


def retain_grad(self: Tensor) -> None:
    """Make later backward passes store this tensor's gradient in `.grad`, as they do for a leaf."""
    if not self.requires_grad:
        raise failed(RuntimeError(errors.RETAIN_WITHOUT_GRAD), self)
    if not all([level.own for level in local.modes.levels]):
        raise failed(
            RuntimeError(
                "You are attempting to call Tensor.retain_grad() inside of a function being "
                "transformed by a functorch transform. This is unsupported, please attempt to use "
                "the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "retain_grad() outside of a function being transformed instead."
            ),
            self,
        )
    if cached_grad_fn(self) is None or self.retains_grad:
        return
    extra = extra_of(target_of(self))
    meta_of(self).retains_grad = True  # now: a view's node, if made again by then, takes over no retainer
    if extra.retainers is None:
        extra.retainers = {}
    extra.retainers[self._nr] = weakref.ref(self)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook` with this leaf tensor each time a gradient has been added to its `.grad`; it must return None."""
    if not self.requires_grad:
        raise failed(RuntimeError(errors.HOOK_WITHOUT_GRAD), self)
    if not self.is_leaf:
        raise failed(RuntimeError(errors.POST_ACCUMULATE_LEAF_ONLY), self)
    meta = meta_of(self)
    if meta.post_accumulate is None:
        meta.post_accumulate = {}
    return _register(meta.post_accumulate, hook)


def register_node_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after the node ran; if it returns a tuple, that replaces `grad_inputs`."""
    extra = extra_of(self)
    if extra.post_hooks is None:
        extra.post_hooks = {}
    return _register(extra.post_hooks, fn)


def register_node_prehook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_outputs)` before the node runs; if it returns a tuple, that replaces `grad_outputs`."""
    extra = extra_of(self)
    if extra.pre_hooks is None:
        extra.pre_hooks = {}
    return _register(extra.pre_hooks, fn)


for _kind, _name, _member in (
    (Tensor, "register_hook", register_hook),
    (Tensor, "register_post_accumulate_grad_hook", register_post_accumulate_grad_hook),
    (Tensor, "retain_grad", retain_grad),
    (
        Tensor,
        "retains_grad",
        property(
            lambda self: self._meta is not None and self._meta.retains_grad,
            doc="True if this tensor isn't a leaf but stores its gradient in `.grad`, because of `retain_grad()`.",
        ),
    ),
    (Node, "register_hook", register_node_hook),
    (Node, "register_prehook", register_node_prehook),
):
    setattr(_kind, _name, _member)


def _tensors(grads: Any) -> list[Tensor | None]:
    return [g if g is None or isinstance(g, Tensor) else wrap(g) for g in grads]


def _back(grads: list[Tensor | None], as_tensors: bool) -> list[Any]:
    return grads if as_tensors else [None if g is None else g._array for g in grads]


def _hook_name(hook: Any) -> str:
    """Return a hook's name for an error message."""
    return getattr(hook, "__name__", type(hook).__name__)


def check_value(hook: Any, before: Tensor | None, after: Any) -> None:
    """Raise TypeError or RuntimeError if the result of a hook can't replace its argument."""
    if after is not None and not isinstance(after, Tensor):
        raise TypeError(errors.HOOK_KIND.format("Variable", type(after).__name__))
    if after is None:
        return
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if after._array.dtype is not before._array.dtype:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was {before.dtype.type_name} got "
            f"{after.dtype.type_name})"
        )
    if after._array.shape != before._array.shape:
        raise RuntimeError(errors.HOOK_SIZE.format(_hook_name(hook)))


def _replaced(hook: Any, grads: list[Tensor | None], returned: Any) -> list[Tensor | None]:
    """Return the gradients after a hook, with its result checked."""
    if not isinstance(returned, tuple):
        raise TypeError(errors.HOOK_KIND.format("tuple", type(returned).__name__))
    if len(returned) != len(grads):
        raise RuntimeError(errors.HOOK_COUNT.format(_hook_name(hook), len(returned), len(grads)))
    for before, after in zip(grads, returned, strict=True):
        check_value(hook, before, after)
    return list(returned)


def run_tensor_hooks(node: Node, extra: Extra, grad: Any, task: Any) -> Any:
    """Return a gradient after the hooks of its tensors."""
    grads = _tensors(grad if node.multi else [grad])
    if extra.cast is not None:
        grads = [g if g is None or i not in extra.cast else g.to(extra.cast[i]) for i, g in enumerate(grads)]
    for nr, hooks in (extra.tensor_hooks or {}).items():
        for hook in list(hooks.values()):
            returned = ask("tensor", task, node, nr, hook, grads[nr]) if listeners else hook(grads[nr])
            if returned is not None:
                check_value(hook, grads[nr], returned)
                grads[nr] = returned
    for nr, reference in (extra.retainers or {}).items():
        t = reference()
        g = grads[nr]
        if t is not None and g is not None:
            meta = meta_of(t)
            meta.grad = g.clone() if meta.grad is None else meta.grad + g
    back = _back(grads, task.tensors)
    return back if node.multi else back[0]


def run_pre_hooks(node: Node, extra: Extra, grad: Any, task: Any) -> Any:
    """Return a node's incoming gradients after its pre-hooks."""
    grads = _tensors(grad if node.multi else [grad])
    for hook in list((extra.pre_hooks or {}).values()):
        given = tuple(grads)
        returned = ask("before", task, node, 0, hook, given) if listeners else hook(given)
        if returned is not None:
            grads = _replaced(hook, grads, returned)
    back = _back(grads, task.tensors)
    return back if node.multi else back[0]


def run_post_hooks(node: Node, extra: Extra, out: Any, grad: Any, task: Any) -> Any:
    """Return a node's outgoing gradients after its post-hooks."""
    alone = node.arity == 1
    outs = [] if node.arity == 0 else _tensors([out] if alone else out)
    incoming = tuple(_tensors(grad if node.multi else [grad]))
    for hook in list((extra.post_hooks or {}).values()):
        given = tuple(outs), incoming
        returned = ask("after", task, node, 0, hook, *given) if listeners else hook(*given)
        if returned is not None:
            outs = _replaced(hook, outs, returned)
    if node.arity == 0:
        return None
    back = _back(outs, task.tensors)
    return back[0] if alone else back
