"""Functions in a few lines, and all that applying one shows, for the semantics of `autograd.Function`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from oracle import chain, raised

Method = Callable[..., Any] | None


def function(torch: Any, forward: Method = None, backward: Method = None, *, saves: Any = None, **members: Any) -> Any:
    """A Function of these methods and attributes.

    `saves` is what forward(ctx, ...) saves for backward: of its inputs and its output, or True for all inputs.
    """
    run = forward

    def saving(ctx: Any, *inputs: Any) -> Any:
        output = run(ctx, *inputs)
        ctx.save_for_backward(*(inputs if saves is True else saves(*inputs, output)))
        return output

    methods = {"forward": saving if saves else forward, "backward": backward} | members
    made = {name: staticmethod(m) if callable(m) else m for name, m in methods.items() if m is not None}
    return type(made.pop("name", "F"), (torch.autograd.Function,), made)


def leaf(torch: Any, *values: float, dtype: str = "float32") -> Any:
    """A leaf of these values that requires grad."""
    return torch.tensor(values or (1.0, 2.0), dtype=getattr(torch, dtype), requires_grad=True)


def leaf64(torch: Any, *values: float) -> Any:
    """A leaf of these values in float64."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def wide(torch: Any, value: Any, requires_grad: bool = False) -> Any:
    """A tensor in float64."""
    return torch.tensor(value, dtype=torch.float64, requires_grad=requires_grad)


def saved(slope: Callable[..., Any]) -> Callable[..., Any]:
    """A backward or a jvp: `slope` of the gradients or tangents, followed by what was saved."""
    return lambda ctx, *given: slope(*given, *ctx.saved_tensors)


def nothing(ctx: Any, inputs: Any, output: Any) -> None:
    """A setup_context."""


def save_inputs(ctx: Any, inputs: Any, output: Any) -> None:
    """A setup_context that saves all inputs, for backward and for jvp."""
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


def doubling(torch: Any, **members: Any) -> Any:
    """x * 2, with setup_context, and what else is given."""
    made = {"forward": lambda x: x * 2, "setup_context": nothing, "backward": lambda ctx, g: g * 2}
    return function(torch, **(made | members))


def square(torch: Any) -> Any:
    """x * x, with all that a transform asks for."""
    slope = saved(lambda g, x: 2 * x * g)
    return function(torch, lambda x: x * x, slope, setup_context=save_inputs, jvp=slope, generate_vmap_rule=True)


def saving_four(torch: Any) -> Any:
    """x * x, which saves an input, nothing, an intermediate and its output."""

    def forward(ctx, x):
        ctx.kept = x + 1
        half, result = x * 0.5, x * x
        ctx.save_for_backward(x, None, half, result)
        return result

    return function(torch, forward, saved(lambda g, x, _, half, result: g * (x + half * 2) + 0 * result))


def two(torch: Any) -> Any:
    """A Function with two inputs and two outputs."""

    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y * 3

    return function(torch, forward, lambda ctx, a, b: (None if a is None else a * 2, None if b is None else b * 3))


def product(torch: Any) -> Any:
    """a * b, with all that a transform asks for."""
    return function(
        torch,
        lambda a, b: a * b,
        saved(lambda g, a, b: (g * b, g * a)),
        setup_context=save_inputs,
        jvp=saved(lambda s, t, a, b: s * b + a * t),
        generate_vmap_rule=True,
    )


KINDS = {  # of two numbers: what is given to a Function, made of a leaf
    "a leaf": lambda torch, leaf: leaf,
    "a result": lambda torch, leaf: leaf * 1,
    "a written result": lambda torch, leaf: (leaf * 1).add_(1),
    "a plain tensor": lambda torch, leaf: leaf.detach().clone(),
    "under no_grad": lambda torch, leaf: leaf * 1,
    "a leaf under no_grad": lambda torch, leaf: leaf,
    "a view": lambda torch, leaf: torch.cat([leaf, leaf])[1:3],
    "a view of a leaf": lambda torch, leaf: leaf[:2],
    "a view of a plain tensor": lambda torch, leaf: torch.zeros(3)[1:],
    "one of several": lambda torch, leaf: torch.cat([leaf, leaf]).split(2)[0],
}


def seen_of(torch: Any, make: Callable[[list[Any]], Any], others: Any = tuple) -> Any:
    """All that the Function `make(seen)` shows, for each kind of first input; the others come after it."""
    told = {}
    for kind in KINDS:
        x, seen = leaf(torch), list[Any]()
        inputs = (KINDS[kind](torch, x), *others())
        used = inputs[0] * inputs[0]
        with torch.set_grad_enabled("no_grad" not in kind):
            told[kind] = [attempt(apply_and_note, torch, make(seen), inputs, seen), seen]
            told[kind].append([attempt(facts, torch, i, inputs) for i in inputs])
        if used.requires_grad:
            told[kind].append([attempt(torch.autograd.grad, used.sum(), x), x.grad])
    return told


def attempt(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a call returns or raises."""
    try:
        return function(*args, **options)
    except Exception as error:
        return error


def apply_and_note(torch: Any, function: Any, inputs: Any, seen: list[Any]) -> None:
    """Note the outputs and what they are, and then the gradients that each leads to, alone and with the others."""
    output = function.apply(*inputs)
    outputs = output if isinstance(output, tuple) else (output,)
    tensors = [o for o in outputs if isinstance(o, torch.Tensor)]
    seen += [type(output).__name__, output, [facts(torch, o, (*inputs, *tensors)) for o in tensors]]
    leading = [o for o in tensors if o.requires_grad]
    leaves = [i for i in inputs if isinstance(i, torch.Tensor) and i.requires_grad]
    if leading and leaves and leading[0].grad_fn is not None:
        node = leading[0].grad_fn
        seen.append(attempt(lambda: (node.needs_input_grad, kept(node, inputs, outputs))))
        for some, again in itertools.product((*[[o] for o in leading], leading), (False, True)):
            total = sum(o.sum() * (n + 2) for n, o in enumerate(some))
            pull = functools.partial(torch.autograd.grad, total, leaves, None, True, again, allow_unused=True)
            seen.append(attempt(pull))
        seen.append([raised(sum(o.sum() for o in leading).backward), [i.grad for i in leaves if i.is_leaf]])


def facts(torch: Any, t: Any, others: Any) -> Any:
    """A tensor beside others: its values, its node, and which of them it is, or is a view of."""
    if not isinstance(t, torch.Tensor):
        return t
    bases = t._base is None, [t._base is o for o in others]
    return t, t._version, t.output_nr, chain(t.grad_fn), [t is o for o in others], bases


def kept(ctx: Any, inputs: Any, outputs: Any) -> Any:
    """What a node saved, and of each tensor whether it is an input or an output, or comes from the node."""
    told = []
    for t in ctx.saved_tensors:
        same = [t is o for o in (*inputs, *outputs)]
        told.append(t if t is None else (t, t._version, t.output_nr, t.grad_fn is ctx, same))
    return told
