"""How a result is used: in part, thrown away, written in place; what is computed and not used."""

from __future__ import annotations

import inspect
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, failed, first_apart, shown, tolerance
from .intended import intended
from .memory import shares


def none_and_zero(case: Case) -> Seen:
    """Use one output at a time, whose others get no gradient; give zeros, for which zeros come back."""
    leaves, outputs, seeds = case.graph()
    for at in range(len(outputs)) if len(outputs) > 1 else ():
        leaves, outputs, _ = case.graph()
        zeros = [seed if i == at else case.engine.zeros_like(seed) for i, seed in enumerate(seeds)]
        expected = case.gradients(outputs, leaves, zeros)
        leaves, outputs, _ = case.graph()
        found = case.gradients([outputs[at]], leaves, [seeds[at]])
        if (differs := first_apart(case, found, expected)) is not None:
            name, a, b = differs
            return failed(
                f"If only output {at} is used, the gradient of {name} is {a}; with zeros for the others it is {b}.",
                "With `set_materialize_grads(False)`, a gradient that is None counts as zeros.",
                "backward",
            )
    leaves, outputs, _ = case.graph()
    zeros = [case.engine.zeros_like(seed) for seed in seeds]
    leaves_of_same, outputs_of_same, _ = case.graph()
    same = dict(zip(case.wanted, case.gradients(outputs_of_same, leaves_of_same, seeds), strict=True))
    for place, grad in zip(case.wanted, case.gradients(outputs, leaves, zeros), strict=True):
        finite = case.engine.where(case.engine.isfinite(grad), grad, case.engine.zeros_like(grad))
        if apart(case, finite, case.engine.zeros_like(grad)) > tolerance(case, grad):
            evidence = f"For a gradient of zeros, the gradient of {case.name(place)} is {shown(case, grad)}."
            advice = "Multiply by the gradient that arrives: what comes back is proportional to it."
            if apart(case, grad, same[place]) <= tolerance(case, grad) and not _passes_another(case, place):
                return failed(f"{evidence} It's the same for any gradient that arrives.", advice, "backward")
            if why := intended(case, place, grad, case.engine.zeros_like(grad), None):
                return "question", f"{evidence} Is this intentional? {why}.", advice, "backward"
            return failed(evidence, advice, "backward")
    return PASS


def _passes_another(case: Case, place: int) -> bool:
    """Return True if an output is another input as it is: a loss may be attached to it on purpose."""
    leaves = case.leaves()
    others = [each for i, each in enumerate(leaves) if i != place and case.is_float(each)]
    return any(not apart(case, out, each) for out in case.run(leaves) for each in others)


def only_what_is_needed(case: Case) -> Seen:
    """Note gradients that are computed for inputs that need none."""
    if len(tensors := [i for i, each in enumerate(case.inputs) if case.is_float(each)]) < 2:
        raise NotApplicable("it has one differentiable input")
    for place in case.wanted:
        returned = returned_by_backward(case, [place])
        spare = [i for i in tensors if i != place and i < len(returned) and returned[i] is not None]
        if spare:
            return (
                "note",
                f"If only {case.name(place)} requires grad, `backward` still computes a gradient for "
                f"{case.name(spare[0])}.",
                "Ask `ctx.needs_input_grad` before computing it.",
                "backward",
            )
    return PASS


def kinds(case: Case) -> Seen:
    """Look at the shapes and dtypes of what `backward` itself returns, before the engine converts it."""
    for place, grad in enumerate(returned_by_backward(case, case.wanted)):
        if place not in case.wanted or not case.is_tensor(grad):
            continue
        like = case.given[place]
        if (tuple(grad.shape), grad.dtype) != (tuple(like.shape), like.dtype):
            return (
                "note",
                f"`backward` returns {grad.dtype} of shape {tuple(grad.shape)} for {case.name(place)}, which is "
                f"{like.dtype} of shape {tuple(like.shape)}. The engine converts it.",
                "Return a gradient of the input's own shape and dtype.",
                "backward",
            )
    return PASS


def returned_by_backward(case: Case, wanted: list[int]) -> list[Any]:
    """Return what `backward` itself returns if these inputs require grad."""
    own: Any = getattr(case.function, "backward", None)
    if case.function is None or not inspect.isfunction(own) or not case.defines("backward"):
        raise NotApplicable("it has no `backward` of its own")
    returned: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        found = own(ctx, *grads)
        returned[:] = found if isinstance(found, tuple | list) else [found]
        return found

    watched: Any = type(case.function.__name__, (case.function,), {"backward": staticmethod(backward)})
    leaves = case.leaves(wanted=wanted)
    case.chance.begin()
    outputs = case.differentiable(case.outputs(watched.apply(*case.arguments(leaves))))
    if outputs:
        places = [leaves[i] for i in wanted]
        case.engine.autograd.grad(outputs, places, case.seeds(outputs), allow_unused=True)
    return returned


def shared_outputs(case: Case) -> Seen:
    """Write into an output that shares memory with an input, which only the engine may allow or refuse."""
    given = case.arguments(case.leaves(wanted=[]))
    outputs = case.called(given)
    for place, each in enumerate(given):
        if not case.is_float(each) or not each.numel():
            continue
        for at, out in enumerate(outputs):
            if out is each or not out.is_floating_point() or not shares(case, out, each):
                continue
            given = case.arguments(case.leaves())
            outputs = case.called(given)
            if not outputs[at].requires_grad or outputs[at] is given[place]:
                continue
            version, before = given[place]._version, given[place].detach().clone()
            try:
                outputs[at].mul_(2)
            except RuntimeError:
                kind = f"Output {at} is a view of {case.name(place)}: writing into it in place is refused."
                return "note", kind, "Return a copy if callers may write into it.", "forward"
            if apart(case, given[place], before) > 0 and given[place]._version == version:
                return failed(
                    f"Output {at} shares memory with {case.name(place)}, and the engine doesn't know: writing into "
                    "the output changes the input, and its version stays.",
                    "Return a copy, or a view that the engine knows: `x.view(…)`.",
                    "forward",
                )
    return PASS


def thrown_away(case: Case) -> Seen:
    """Use an input that was written in place by its old name: it has the gradient that the result has."""
    leaves = case.leaves()
    given = case.arguments(leaves)
    before = [each.detach().clone() if case.is_tensor(each) else None for each in given]
    outputs = case.called(given)
    for place in case.wanted:
        now = given[place]
        equal = [
            at for at, out in enumerate(outputs) if tuple(out.shape) == tuple(now.shape) and not apart(case, out, now)
        ]
        if not apart(case, now, before[place]) or not equal:
            continue
        seeds = case.seeds([now])
        found = case.gradients([now], leaves, seeds)
        leaves = case.leaves()
        expected = case.gradients([case.called(case.arguments(leaves))[equal[0]]], leaves, seeds)
        if (differs := first_apart(case, found, expected)) is not None:
            name, a, b = differs
            return failed(
                f"By the old name of {case.name(place)}, the gradient of {name} is {a}; by the result it is {b}.",
                "Call `ctx.mark_dirty(…)` for what is written in place, and return it.",
                "forward",
            )
        return PASS
    raise NotApplicable("it writes no input in place and returns it")
