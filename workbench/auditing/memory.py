"""What is written, read twice, or kept: gradients, saved tensors, inputs, the graph."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, failed, first_apart, shown


def gradient_unchanged(case: Case) -> Seen:
    """Look whether `backward` writes into the gradient that it's given: another branch may still need it."""
    leaves, outputs, seeds = case.graph()
    before = [each.clone() for each in seeds]
    case.gradients(outputs, leaves, seeds)
    for at, (now, then) in enumerate(zip(seeds, before, strict=True)):
        if apart(case, now, then) > 0:
            return failed(
                f"After `backward`, the gradient of output {at} is {shown(case, now)}; it was {shown(case, then)}.",
                "Compute out of place: `grad * x`, not `grad.mul_(x)`. Other nodes may get the same tensor.",
                "backward",
            )
    return PASS


def saved_unchanged(case: Case) -> Seen:
    """Look whether what was saved, the inputs and the outputs have the same numbers after `backward`."""
    kept: list[Any] = []

    def pack(tensor: Any) -> Any:
        kept.append(tensor)
        return tensor

    leaves = case.leaves()
    with case.engine.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        all_outputs = case.run(leaves)
    outputs = case.differentiable(all_outputs)
    things = [("a saved tensor", each, each.detach().clone()) for each in kept]
    things += [(f"output {i}", each, each.detach().clone()) for i, each in enumerate(all_outputs)]
    things += [(case.name(i), each, each.detach().clone()) for i, each in enumerate(leaves) if case.is_tensor(each)]
    case.gradients(outputs, leaves, case.seeds(outputs))
    for what, now, then in things:
        if apart(case, now, then) > 0:
            return failed(
                f"After `backward`, {what} is {shown(case, now)}; it was {shown(case, then)}.",
                "Don't write into what is saved, also not through `.data` or raw memory: another node may have "
                "saved it.",
                "backward",
            )
    return PASS


def twice(case: Case) -> Seen:
    """Run the same backward twice with `retain_graph=True`."""
    leaves, outputs, seeds = case.graph()
    first = [each.clone() for each in case.gradients(outputs, leaves, seeds, retain_graph=True)]
    try:
        second = case.gradients(outputs, leaves, seeds)
    except Exception as error:
        return failed(
            f"The second of two backward passes raises {type(error).__name__}: {str(error).splitlines()[0]}",
            "Leave saved tensors and attributes of ctx as they are in `backward`.",
            "backward",
        )
    if (differs := first_apart(case, second, first)) is not None:
        name, a, b = differs
        return failed(
            f"The second of two backward passes gives {shown(case, a)} for {name}, the first {shown(case, b)}.",
            "Leave saved tensors and attributes of ctx as they are in `backward`.",
            "backward",
        )
    return PASS


def unpacked_once(case: Case) -> Seen:
    """Count how often `backward` unpacks each saved tensor: a checkpoint allows it once."""
    counts: list[int] = []

    def pack(tensor: Any) -> Any:
        counts.append(0)
        return len(counts) - 1, tensor

    def unpack(packed: Any) -> Any:
        counts[packed[0]] += 1
        return packed[1]

    leaves = case.leaves()
    with case.engine.autograd.graph.saved_tensors_hooks(pack, unpack):
        outputs = case.differentiable(case.run(leaves))
    if not counts:
        raise NotApplicable("nothing is saved")
    case.gradients(outputs, leaves, case.seeds(outputs))
    if max(counts) > 1:
        return failed(
            f"`backward` unpacks a saved tensor {max(counts)} times. Under a checkpoint, the second time is an error.",
            "Read `ctx.saved_tensors` once, and keep the tuple in a variable.",
            "backward",
        )
    return PASS


def dirty(case: Case) -> Seen:
    """Look whether `forward` changes an input without `mark_dirty`."""
    given = case.arguments(case.leaves())
    before = [each.detach().clone() if case.is_tensor(each) else None for each in given]
    outputs = case.called(given)
    for place, (now, then) in enumerate(zip(given, before, strict=True)):
        if then is not None and apart(case, now, then) > 0 and not any(now is out for out in outputs):
            return failed(
                f"`forward` changed {case.name(place)} from {shown(case, then)} to {shown(case, now)}, and it "
                "isn't an output.",
                "Call `ctx.mark_dirty(...)` for what is written in place and return it, or write into a copy.",
                "forward",
            )
    return PASS


def same_again(case: Case) -> Seen:
    """Run it twice on equal inputs, with the same random numbers."""

    def once() -> list[Any]:
        leaves = case.leaves()
        outputs = case.run(leaves)
        graded = case.differentiable(outputs)
        return [*outputs, *case.gradients(graded, leaves, case.seeds(graded))]

    for a, b in zip(once(), once(), strict=True):
        if apart(case, a, b) > 0:
            return failed(
                f"Two runs on equal inputs give {shown(case, b)} and {shown(case, a)}.",
                "Look for state that is kept between calls, such as an attribute of the class.",
                "forward",
            )
    return PASS


def no_cycle(case: Case) -> Seen:
    """Look whether the graph goes when its outputs go, without the garbage collector."""
    was = gc.isenabled()
    gc.disable()
    try:
        leaves = case.leaves()
        outputs = case.run(leaves)
        graded = case.differentiable(outputs)
        case.gradients(graded, leaves, case.seeds(graded), retain_graph=True)
        watched = [weakref.ref(each) for each in outputs if each.grad_fn is not None]  # no parameter of a module
        del outputs, graded, leaves
        alive = [i for i, each in enumerate(watched) if each() is not None]
    finally:
        if was:
            gc.enable()
    if alive:
        return failed(
            f"Output {alive[0]} is still there after its last reference went: ctx, or something that it keeps, "
            "refers to it.",
            "Save outputs with `ctx.save_for_backward`, not as attributes of ctx.",
            "forward",
        )
    return PASS
