"""The findings of all rules for a recorded training run, certain ones first.

A rule is a function that takes a `TrainingRun` and returns findings. It is in the file of its theme, and `RULES` below
lists it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import escape
from typing import Any

from ...pictures.trace.gap_records import lost_said
from ...pictures.trace.timeline import Timeline
from ...pictures.trace.values import series
from . import (
    behind,
    causes,
    functions,
    infinities,
    layers,
    loop,
    losses,
    memory,
    modes,
    numbers,
    parameters,
    registered,
    scaling,
    second,
    spikes,
    targets,
    units,
    updates,
)
from .finding import Finding, plural
from .training_run import TrainingRun

Rule = Callable[[TrainingRun], Iterable[Finding]]

# Causes stand before what follows from them: of several findings this is the order.
RULES: tuple[Rule, ...] = (
    loop.stopped,
    loop.large_updates,
    infinities.not_finite,
    parameters.no_way,
    parameters.never_reached,
    causes.without_gradients,
    registered.idle_flags,
    parameters.never_updated,
    registered.other_model,
    targets.target_trained,
    targets.attached_target,
    loop.no_updates,
    loop.no_backward,
    updates.new_each_step,
    parameters.twice_in_optimizer,
    updates.two_steps,
    updates.taken_back,
    updates.changed_after_use,
    updates.changed_zeros,
    loop.not_cleared,
    loop.unchanged,
    loop.rate_became_zero,
    behind.saved_written,
    behind.gradient_written,
    scaling.clipped_scaled,
    scaling.underflow,
    spikes.explodes_once,
    loop.diverges,
    scaling.summed_loss,
    scaling.scaled_loss,
    loop.growing_graph,
    loop.kept_graphs,
    units.equal_units,
    numbers.dead_units,
    functions.not_the_derivative,
    second.second_lost,
    numbers.trends,
    numbers.zero_gradients,
    layers.softmax_twice,
    losses.scores_twice_squashed,
    losses.chances_without_log,
    losses.over_the_batch,
    losses.without_minus,
    losses.constant_term,
    layers.broadcast_target,
    layers.padded_targets,
    layers.statistics_stay,
    modes.evaluates_while_training,
    modes.training_without_gradients,
    parameters.broken_tie,
    parameters.frozen_between,
    registered.never_used,
    memory.saved_tensors,
)

# What these miss may have been to come when an error ended the program.
_OF_WHOLE_STEPS: frozenset[Rule] = frozenset(
    (
        parameters.no_way,
        parameters.never_reached,
        causes.without_gradients,
        parameters.never_updated,
        registered.other_model,
        loop.no_updates,
        layers.statistics_stay,
        parameters.frozen_between,
        registered.never_used,
    )
)

_CHECKED = "Checked for non-finite, cut, uncleared, vanishing and exploding gradients, dead units, lost updates."


class Findings(list[Finding]):
    """A list of findings that prints as readable text: certain findings first, then possible issues.

    Attributes:
        looked_at: What was checked, for the sentence that is printed if there are no findings.
        lost: What the trace didn't record, so that it couldn't be checked.
        functions: The names of the Functions whose backward was checked.
    """

    def __init__(self, found: Iterable[Finding] = (), looked_at: str = "", lost: str = "", functions: str = "") -> None:
        super().__init__(found)
        self.looked_at, self.lost, self.functions = looked_at, lost, functions

    def __str__(self) -> str:
        lines = [f"{self.lost}."] if self.lost else []
        last = [f"{self.functions}."] if self.functions else []
        if not self:
            return "\n".join([*lines, f"No findings in {self.looked_at}", *last])
        for number, each in enumerate(self, 1):
            if not each.certain and (number == 1 or self[number - 2].certain):
                lines.append("Possibly intentional:")
            lines += [f"{number}. {each}".replace("\n", "\n   ")]
        return "\n".join([*lines, *last])

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """Return the same sentences with a link from each finding to its entry, or None where there are no links."""
        if not any(each.entry for each in self):
            return None
        items = [
            f"<li>{_html(str(each))} "
            f'<a href="{escape(each.entry)}" target="_blank" rel="noopener">More about “{escape(each.rule)}”</a></li>'
            for each in self
        ]
        if questions := [at for at, each in enumerate(self) if not each.certain]:
            start = questions[0]
            items.insert(start, f'</ol><p>Possibly intentional:</p><ol start="{start + 1}">')
        first = f"<p>{escape(self.lost)}.</p>" if self.lost else ""
        last = f"<p>{escape(self.functions)}.</p>" if self.functions else ""
        return f"{first}<ol>{''.join(items)}</ol>{last}".replace("<ol></ol>", "")

    def to_list(self) -> list[dict[str, Any]]:
        """Return the findings as a list of dicts that can be written as JSON."""
        return [each.to_dict() for each in self]

    def to_dict(self) -> dict[str, Any]:
        """Return the findings, and what was looked at, as a dict that can be written as JSON.

        Its keys are `findings`, `looked_at`, `lost` and `functions`.
        """
        return {
            "findings": self.to_list(),
            "looked_at": self.looked_at,
            "lost": self.lost,
            "functions": self.functions,
        }


def _html(text: str) -> str:
    """Return a text with what is in backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def findings(trace: Timeline) -> Findings:
    """Return the findings for a recorded training run, certain ones first, then possible issues."""
    found = trace.kept(findings_of, of=TrainingRun)
    return Findings(found, found.looked_at, lost_said(trace.events), found.functions)  # a caller may change the list


def findings_of(run: TrainingRun) -> Findings:
    """Return the findings for a training run that is gathered already."""
    rules = [rule for rule in RULES if not (run.is_cut_short and rule in _OF_WHOLE_STEPS)]
    found = [each for rule in rules for each in rule(run)]
    if run.is_partly_seen:
        found = [replace(each, certain=False) for each in found]
    found.sort(key=lambda each: not each.certain)
    return Findings(found, _looked_at(run), functions=functions.compared(run))


def _looked_at(run: TrainingRun) -> str:
    """Return `3 backward passes, 6 parameters, …`, what was checked, and what couldn't be."""
    weights = [each for each in run.trained if each.is_held or each.updates] or run.trained
    updates = sum(len(each.updates) for each in weights)
    counts = {"backward pass": len(run.backwards), "parameter": len(weights), "node": len(run.nodes), "update": updates}
    said = f"{series([plural(count, word) for word, count in counts.items()])}. {_CHECKED}"
    if not run.backwards:
        said += " No backward pass was recorded, so there was little to check."
    elif len(run.steps) < 3:
        said += " Record at least three steps to also find weights that never change and values that grow."
    return said
