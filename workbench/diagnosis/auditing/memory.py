"""What is written, read twice, or kept: gradients, saved tensors, inputs, the graph."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, both, failed, first_apart, in_a_line, shown


def gradient_unchanged(case: Case) -> Seen:
    """Look whether `backward` writes into the gradient that it's given: another branch may still need it."""
    leaves, outputs, seeds = case.graph()
    before = [each.clone() for each in seeds]
    case.gradients_of(outputs, leaves, seeds)
    for at, (now, then) in enumerate(zip(seeds, before, strict=True)):
        if apart(case, now, then) > 0:
            a, b = both(case, now, then)
            return failed(
                f"After `backward`, the gradient of output {at} is {a}; it was {b}.",
                "Compute out of place: `grad * x`, not `grad.mul_(x)`. Other nodes may get the same tensor.",
                "backward",
            )
    return PASS


def saved_unchanged(case: Case) -> Seen:
    """Look whether what was saved, the inputs and the outputs have the same numbers after `backward`."""
    kept: list[Any] = []

    def pack(tensor: Any) -> Any:
        if case.function is not None or tensor.dtype != case.engine.uint8:  # bytes may be an operation's own workspace
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
            a, b = both(case, now, then)
            return failed(
                f"After `backward`, {what} is {a}; it was {b}.",
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
            f"The second of two backward passes raises {in_a_line(error)}",
            "Leave saved tensors and attributes of ctx as they are in `backward`.",
            "backward",
        )
    if (differs := first_apart(case, second, first)) is not None:
        name, a, b = differs
        return failed(
            f"The second of two backward passes gives {a} for {name}, the first {b}.",
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
        if then is None or not apart(case, now, then) > 0 or any(now is out for out in outputs):
            continue
        is_returned = any(tuple(out.shape) == tuple(now.shape) and shares(case, out, now) for out in outputs)
        what = "marked dirty" if is_returned else "an output"
        seen = (
            f"`forward` changed {case.name(place)} from {shown(case, then)} to {shown(case, now)}, and it isn't {what}."
        )
        advice = "Call `ctx.mark_dirty(...)` for what is written in place and return it, or write into a copy."
        if place not in case.wanted:
            return "question", f"{seen} Is it a buffer, which no other operation has saved?", advice, "forward"
        return failed(seen, advice, "forward")
    return PASS


def written_later(case: Case) -> Seen:
    """Write into an input or an output between forward and backward: what was saved notices it."""
    if case.resolution == "unsteady":
        raise NotApplicable("two runs on equal inputs differ")
    leaves, outputs, seeds = case.graph()
    expected = case.gradients(outputs, leaves, seeds)
    things = [("input", place) for place in case.wanted]
    things += [("output", at) for at in range(len(outputs)) if case.function is not None]
    for kind, at in things:
        leaves = case.leaves()
        given = case.arguments(leaves)
        outputs = case.differentiable(case.called(given))
        thing = given[at] if kind == "input" else outputs[at]
        others = outputs if kind == "input" else [given[place] for place in case.wanted]
        if any(each is thing or shares(case, each, thing) for each in others):
            continue
        try:
            with case.engine.no_grad():
                thing.mul_(0.5).add_(0.3)
            found = case.gradients(outputs, leaves, seeds)
        except Exception:  # it's noticed
            continue
        if (differs := first_apart(case, found, expected)) is not None:
            what = case.name(at) if kind == "input" else f"output {at}"
            return (
                "question",
                f"If {what} is written in place after `forward`, no error is raised, and the gradient of {differs[0]} "
                f"is {differs[1]} instead of {differs[2]}. It's kept on ctx or elsewhere, not saved: is it never "
                "written?",
                "Save it with `ctx.save_for_backward`, which notices a later write.",
                "forward" if not case.defines_setup else "setup_context",
            )
    return PASS


def shares(case: Case, a: Any, b: Any) -> bool:
    """Return True if writing into one changes the other; both keep their numbers."""
    before, other = a.detach().clone(), b.detach().clone()
    try:
        with case.engine.no_grad():
            a.detach().add_(1)
            found = apart(case, b, other) > 0
            a.detach().copy_(before)
    except RuntimeError:  # an expanded output, which can't be written
        return False
    return found


def same_again(case: Case) -> Seen:
    """Run it twice on equal inputs, with the same random numbers."""

    def once() -> list[Any]:
        leaves = case.leaves()
        outputs = case.run(leaves)
        graded = case.differentiable(outputs)
        return [*outputs, *case.gradients(graded, leaves, case.seeds(graded))]

    for a, b in zip(once(), once(), strict=True):
        if apart(case, a, b) > 0:
            a, b = both(case, a, b)
            return failed(
                f"Two runs on equal inputs give {a} and {b}.",
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
            f"Output {alive[0]} is still there after its last reference went. Something still refers to it: "
            "ctx, the class or a global name.",
            "Save outputs with `ctx.save_for_backward`, not as attributes of ctx or of the class.",
            "forward",
        )
    return PASS
