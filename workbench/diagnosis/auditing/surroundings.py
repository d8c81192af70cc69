"""Where a target runs: under a checkpoint, twice at once, in threads, under autocast."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress
from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, both, failed, first_apart, in_a_line

_PATIENCE = 10.0  # seconds for a backward pass in a thread
_TWICE = "already unpacked"  # in the error of a checkpoint


def in_checkpoint(case: Case) -> Seen:
    """Run it under a checkpoint, which runs `forward` again in the backward pass."""
    try:
        checkpoint: Any = importlib.import_module(f"{case.engine.__name__}.utils.checkpoint").checkpoint
    except (ImportError, AttributeError):
        raise NotApplicable("there is no checkpoint") from None
    leaves, outputs, seeds = case.graph()
    expected = case.gradients(outputs, leaves, seeds)
    try:
        found = _checkpointed(case, checkpoint, seeds, is_seeded=True)
    except RuntimeError as error:
        if _TWICE in str(error):
            raise NotApplicable("a saved tensor is read twice, which a checkpoint refuses") from None
        return failed(
            f"Under a checkpoint, `backward` raises {in_a_line(error)}",
            "Let `forward` depend on its arguments only: a checkpoint runs it again.",
            "forward",
        )
    if (differs := first_apart(case, found, expected)) is not None:
        name, a, b = differs
        return failed(
            f"Under a checkpoint, the gradient of {name} is {a} instead of {b}.",
            "Keep what `backward` needs on ctx, and nothing elsewhere: `forward` runs again before it.",
            "forward",
        )
    found = _checkpointed(case, checkpoint, seeds, is_seeded=False)
    if (differs := first_apart(case, found, expected)) is not None:
        return (
            "question",
            f"Under a checkpoint, the gradient of {differs[0]} is of other random numbers than its result.",
            "Draw them from the engine's generator, whose state a checkpoint restores.",
            "forward",
        )
    return PASS


def _checkpointed(case: Case, checkpoint: Any, seeds: list[Any], is_seeded: bool) -> list[Any]:
    """Return the gradients under a checkpoint; all random numbers begin again when `forward` does if `is_seeded`."""
    leaves = case.leaves()
    places = [i for i, each in enumerate(leaves) if case.is_tensor(each)]

    def part(*tensors: Any) -> Any:
        given = list(leaves)
        for place, each in zip(places, tensors, strict=True):
            given[place] = each * 1 if place in case.wanted else each.clone()
        if is_seeded:
            case.chance.begin()
        return case.differentiable(case.outputs(case.call(*case.joined(given))))

    case.chance.begin()
    outputs = checkpoint(part, *[leaves[i] for i in places], use_reentrant=False)
    return case.gradients(outputs, leaves, seeds)


def two_at_once(case: Case) -> Seen:
    """Run forward twice, on other numbers, before the first backward; then two backward passes in two threads."""
    leaves, outputs, seeds = case.graph()
    expected = case.gradients(outputs, leaves, seeds)
    leaves = case.leaves()
    all_outputs = case.run(leaves)
    before, outputs = [each.detach().clone() for each in all_outputs], case.differentiable(all_outputs)
    _call_on_others(case)
    for at, (now, then) in enumerate(zip(all_outputs, before, strict=True)):
        if apart(case, now, then) > 0:
            a, b = both(case, now, then)
            return failed(
                f"After another call with other numbers, output {at} of the first is {a} instead of {b}.",
                "Return a new tensor: the next call writes into a buffer that is kept for all.",
                "forward",
            )
    if (differs := first_apart(case, case.gradients(outputs, leaves, seeds), expected)) is not None:
        name, a, b = differs
        return failed(
            f"After another call with other numbers, the gradient of {name} is {a} instead of {b}.",
            "Keep what `backward` needs on ctx, not on the class or in a global name: calls share these.",
            "backward",
        )
    return _in_threads(case, seeds, expected)


def _call_on_others(case: Case) -> None:
    """Call the target on other numbers; it may refuse them."""
    for factor in (0.5, -0.5):  # a sign may be what is kept
        leaves = case.leaves()
        for place in case.wanted:
            leaves[place] = (leaves[place].detach() * factor + 0.1).requires_grad_()
        with suppress(Exception):
            case.run(leaves)


def _in_threads(case: Case, seeds: list[Any], expected: list[Any]) -> Seen:
    graphs = [case.graph()[:2] for _ in range(2)]
    found: list[Any] = [None, None]
    begin = threading.Barrier(2)

    def backward(at: int) -> None:
        try:
            leaves, outputs = graphs[at]
            begin.wait(_PATIENCE)
            found[at] = case.gradients(outputs, leaves, seeds)
        except Exception as error:
            found[at] = error

    threads = [threading.Thread(target=backward, args=(at,), daemon=True) for at in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(_PATIENCE)
    for each in found:
        if isinstance(each, threading.BrokenBarrierError) or each is None:
            raise NotApplicable("two threads didn't finish in time")
        if isinstance(each, Exception):
            seen = f"In one of two threads at once, `backward` raises {in_a_line(each)}"
        elif (differs := first_apart(case, each, expected)) is not None:
            name, a, b = differs
            seen = (
                f"In two threads at once, a gradient of {name} is {a} instead of {b}: does "
                "`backward` draw random numbers?"
            )
        else:
            continue
        return "question", seen, "Share nothing between two backward passes that is written.", "backward"
    return PASS


def random_state(case: Case) -> Seen:
    """Run it after other random numbers: those that follow it differ, unless it seeds a generator for all."""
    for method in ("forward", "backward"):
        after: list[dict[str, float]] = []
        for seed in (1, 12345):
            leaves, outputs, seeds = case.graph()
            case.chance.seed(seed)
            if method == "backward":
                case.gradients(outputs, leaves, seeds)
            else:
                case.call(*case.arguments(case.leaves()))
            after.append(case.chance.draw())
        if same := [name for name in after[0] if after[0][name] == after[1][name]]:
            return failed(
                f"`{method}` seeds {same[0]} random generator: whatever was drawn before it, the numbers after it "
                "are the same.",
                "Use a generator of its own, or save the state and restore it.",
                method,
            )
    return PASS


def under_autocast(case: Case) -> Seen:
    """Run it under PyTorch's autocast in bfloat16, which gives `backward` other dtypes than it may expect."""
    engine = case.engine
    if engine.__name__ != "torch":
        raise NotApplicable("the workbench has no autocast")
    if any(case.inputs[i].dtype != engine.float32 or case.inputs[i].device.type != "cpu" for i in case.wanted):
        raise NotApplicable("autocast computes for float32 inputs")
    decorated = hasattr(getattr(case.function, "forward", None), "__wrapped__")  # as custom_fwd leaves it
    leaves = case.leaves()
    try:
        with engine.autocast("cpu", engine.bfloat16):
            outputs = case.differentiable(case.run(leaves))
            seeds = case.seeds(outputs)
    except Exception as error:
        return "question", f"Under autocast, `forward` raises {in_a_line(error)}", _ADVICE, "forward"
    try:
        case.gradients(outputs, leaves, seeds)
    except Exception as error:
        seen = f"Under autocast in bfloat16, `backward` raises {in_a_line(error)}"
        if decorated:
            return failed(seen, "Decorate `backward` with `torch.amp.custom_bwd` too.", "backward")
        return "question", f"{seen} Is it ever run under autocast?", _ADVICE, "forward"
    return PASS


_ADVICE = "Decorate `forward` with `torch.amp.custom_fwd` and `backward` with `torch.amp.custom_bwd`."
