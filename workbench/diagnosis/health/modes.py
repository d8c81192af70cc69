"""Rules about the mode of modules: evaluation in training mode, training in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...pictures.trace.model_records import ModeOfModule, ModuleCalled
from ...pictures.trace.values import code
from .finding import Finding, asked, listed, place
from .training_run import TrainingRun

_AVERAGES = "Norm"  # in the class's name of what averages over a batch


def training_without_gradients(run: TrainingRun) -> Iterator[Finding]:
    """Find a trained model that is called under `no_grad` while its dropout or batch norm is in training mode."""
    if not run.is_training:
        return
    for name, calls in _by_module(run).items():
        quiet = [(at, event) for at, event in calls if not event.grad and any(each.training for each in event.modes)]
        if not quiet or not any(event.grad for _, event in calls) or not _is_updated(run, quiet[0][1], 0):
            continue
        at, event = quiet[0]
        moody = [each for each in event.modes if each.training]
        yield Finding(
            "train mode without gradients",
            False,
            asked(
                f"{code(name)} is called in training mode (`train()`) under `no_grad` ({place(event.source)}). "
                f"{_effects(name, moody)}"
            ),
            "Call `model.eval()` before an evaluation, and `model.train()` after it.",
            event.source,
            at,
            tuple([each.tensor for each in event.parameters]),
        )


def evaluates_while_training(run: TrainingRun) -> Iterator[Finding]:
    """Find a model that is trained after `eval()`, or whose dropout is off in the whole run."""
    for name, calls in _by_module(run).items():
        given = [(at, event) for at, event in calls if event.grad and event.modes]
        if not given:
            continue
        at, event = given[-1]
        if any(each.training for each in event.modes) or not _is_updated(run, event, at):
            continue
        switched = any(each.training for _, before in given for each in before.modes)
        if not switched and any(_AVERAGES in each.module for each in event.modes):
            continue  # what batch norm computes tells it
        since = "is in effect" if switched else "was in effect from the start"
        yield Finding(
            "eval while training",
            False,
            asked(
                f"`eval()` {since}, so at {place(event.source)} {_off(name, event.modes)}, although the weights are "
                f"updated.{f' Earlier, {code(name)} was in training mode.' if switched else ''}"
            ),
            "Call `model.train()` before the training steps: `eval()` stays in effect until then.",
            event.source,
            at,
            tuple([each.tensor for each in event.parameters]),
        )


def _by_module(run: TrainingRun) -> dict[str, list[tuple[int, ModuleCalled]]]:
    found: dict[str, list[tuple[int, ModuleCalled]]] = {}
    for at, event in run.called:
        found.setdefault(event.name, []).append((at, event))
    return found


def _is_updated(run: TrainingRun, event: ModuleCalled, after: int) -> bool:
    """Return True if a module's parameters change after an event."""
    held = [run.parameters[each.tensor] for each in event.parameters if each.tensor in run.parameters]
    return any(update.event > after for each in held for update in each.updates)


def _path(name: str, mode: ModeOfModule) -> str:
    return f"{name}.{mode.path}" if mode.path else name


def _effects(name: str, moody: Sequence[ModeOfModule]) -> str:
    """Return what modules in training mode do."""
    random = [each for each in moody if _AVERAGES not in each.module]
    averaging = [each for each in moody if _AVERAGES in each.module]
    told: list[str] = []
    if random:
        first = f" ({random[0].settings})" if random[0].settings else ""
        told.append(f"{listed([_path(name, each) for each in random])}{first} then drops values at random.")
    if averaging:
        paths = listed([_path(name, each) for each in averaging])
        told.append(f"{paths} then uses the statistics of the batch, and updates its running statistics with them.")
    return " ".join(told)


def _off(name: str, moody: Sequence[ModeOfModule]) -> str:
    """Return the modules that aren't in training mode."""
    random = [_path(name, each) for each in moody if _AVERAGES not in each.module]
    averaging = [_path(name, each) for each in moody if _AVERAGES in each.module]
    told = [f"dropout ({listed(random)}) drops nothing"] * bool(random)
    told += [f"batch norm ({listed(averaging)}) uses its running statistics, which never update"] * bool(averaging)
    return " and ".join(told)
