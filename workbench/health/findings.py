"""What is wrong with a recorded training: the findings of all rules, what is certain first.

A rule is a function from a `TrainingRun` to what it finds, in the file of its theme, and a line of `RULES` here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..trace.timeline import Timeline
from ..trace.values import series
from . import causes, functions, layers, loop, losses, memory, numbers, parameters, scaling, units, updates
from .finding import Finding, plural
from .training_run import TrainingRun

Rule = Callable[[TrainingRun], Iterable[Finding]]

# Causes stand before what follows from them: of several findings this is the order.
RULES: dict[str, Rule] = {
    "an error": loop.stopped,
    "numbers that are not finite": numbers.not_finite,
    "a loss that depends on no weight": parameters.no_way,
    "parameters without a gradient": parameters.never_reached,
    "layers before which gradients are off": causes.without_gradients,
    "parameters that no step changes": parameters.never_updated,
    "a training that updates nothing": loop.no_updates,
    "parameters twice in an optimiser": parameters.twice_in_optimizer,
    "parameters in two optimisers": updates.two_steps,
    "steps that are taken back": updates.taken_back,
    "gradients that are not cleared": loop.not_cleared,
    "updates that change nothing": loop.unchanged,
    "gradients clipped while they are scaled": scaling.clipped_scaled,
    "gradients too small for float16": scaling.underflow,
    "updates larger than their weights": loop.large_updates,
    "a loss that is a sum": scaling.summed_loss,
    "graphs that grow": loop.growing_graph,
    "graphs that are kept": loop.kept_graphs,
    "units that stay equal": units.equal_units,
    "dead units": numbers.dead_units,
    "backwards of Functions": functions.not_the_derivative,
    "gradients that vanish or explode": numbers.trends,
    "gradients of exactly zero": numbers.zero_gradients,
    "a softmax of a softmax": layers.softmax_twice,
    "a sigmoid of a sigmoid": losses.scores_twice_squashed,
    "chances without a logarithm": losses.chances_without_log,
    "chances over a batch": losses.over_the_batch,
    "a loss without its minus": losses.without_minus,
    "targets that are broadcast": layers.broadcast_target,
    "padding in a loss": layers.padded_targets,
    "statistics that stay in a training": layers.statistics_stay,
    "ties that are broken": parameters.broken_tie,
    "frozen weights between others": parameters.frozen_between,
    "saved tensors that dominate memory": memory.saved_tensors,
}


class Findings(list[Finding]):
    """Findings as a list that prints as sentences; `looked_at` says what was looked at."""

    def __init__(self, found: Iterable[Finding] = (), looked_at: str = "") -> None:
        super().__init__(found)
        self.looked_at = looked_at

    def __str__(self) -> str:
        if not self:
            return f"No findings: {self.looked_at}."
        lines: list[str] = []
        for number, each in enumerate(self, 1):
            if not each.certain and (number == 1 or self[number - 2].certain):
                lines.append("Perhaps meant:")
            lines += [f"{number}. {each.sentence}", f"   {each.next_step}"]
        return "\n".join(lines)

    __repr__ = __str__

    def to_list(self) -> list[dict[str, Any]]:
        """The findings as JSON's own types."""
        return [each.to_dict() for each in self]


def findings(trace: Timeline) -> Findings:
    """What is wrong in a recorded training, certain things first, then what may be meant; nothing without evidence."""
    return findings_of(TrainingRun(trace.events))


def findings_of(run: TrainingRun) -> Findings:
    """The same of a training that was gathered already."""
    found = [each for rule in RULES.values() for each in rule(run)]
    found.sort(key=lambda each: not each.certain)
    return Findings(found, _looked_at(run))


def _looked_at(run: TrainingRun) -> str:
    """`3 steps with 6 parameters and 24 nodes were looked at for …`, and what could not be told."""
    weights = [each for each in run.trained if each.is_held or each.updates] or run.trained
    updates = sum(len(each.updates) for each in weights)
    counts = {"backward": len(run.backwards), "parameter": len(weights), "node": len(run.nodes), "update": updates}
    counted = series([plural(count, word) for word, count in counts.items()])
    said = f"{counted} were looked at, for {series([*RULES])}"
    if not run.backwards:
        said += "; no backward was recorded, so that little could be told"
    elif len(run.steps) < 3:
        said += "; what does not change, and what grows, is told of three steps or more"
    return said
