"""What is wrong in the steps that `watch` watches, from their statistics only."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from statistics import median
from typing import Any

from .finding import phrases, plural

SPIKE = 10  # times the usual norm of all gradients that is reported
_USUAL = 5  # watched steps before anything is called usual
_DEAD = 0.95  # the share of dead units from which a layer is reported
_PATIENCE = 3  # watched steps in a row without a gradient, or with a learning rate of 0, before that is reported
_NO_STEP = "the learning rate"  # told, but another step would show no more


class WatchedSteps:
    """For each step, from its line in a file of `watch`, what is wrong and wasn't before.

    `optimized` are the places of the parameters that the optimizer should change.
    """

    def __init__(self, layers: Sequence[str], parameters: Sequence[str], optimized: Collection[int]) -> None:
        self._layers, self._parameters, self._optimized = layers, parameters, optimized
        self._reported: set[str] = set()
        self._usual: deque[float] = deque(maxlen=20)
        self._without: dict[int, int] = dict.fromkeys(optimized, 0)  # watched steps in a row without a gradient
        self._still = 0  # watched steps in a row with a learning rate of 0

    def wrong(self, line: dict[str, Any]) -> tuple[list[str], bool]:
        """Return the sentences, and whether a recorded step would show more."""
        news = {**self._not_finite(line), **self._dead(line), **self._spike(line)}
        news |= {**self._without_gradient(line), **self._without_rate(line)}
        found = {name: text for name, text in news.items() if name not in self._reported}
        self._reported = {*news}  # what is over may be told again
        return list(found.values()), any(name != _NO_STEP for name in found)

    def is_news(self, norms: Sequence[float]) -> bool:
        """Return True if norms of outputs aren't finite in an unfinished step, and were before."""
        return "not finite" not in self._reported and not all(math.isfinite(norm) for norm in norms)

    def _not_finite(self, line: dict[str, Any]) -> dict[str, str]:
        parts = (
            ("output", "the norm of the output of {} is {}", self._layers),
            ("own", "the norm of the gradient of {} is {} in this process alone", self._parameters),
            ("grad", "the norm of the gradient of {} is {}", self._parameters),
            ("weight", "the norm of {} is {}", self._parameters),
        )
        for part, text, names in parts:
            norms = [*zip(names, line.get(part, ()), strict=False)]
            for name, norm in reversed(norms) if part in ("own", "grad") else norms:  # as the backward goes
                if norm is not None and not math.isfinite(norm):
                    return {"not finite": text.format(called(name), norm)}
        return {}

    def _dead(self, line: dict[str, Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part, text in (("dead", "{}"), ("dead_before", "the ReLU before {}")):
            for name, share in zip(self._layers, line.get(part, ()), strict=False):
                if share is not None and share >= _DEAD:
                    of = text.format(called(name))
                    found[f"{part} {name}"] = f"{share:.0%} of the units of {of} are zero for the whole batch"
        return found

    def _spike(self, line: dict[str, Any]) -> dict[str, str]:
        total = total_of(line["grad"])
        if not math.isfinite(total):
            return {}
        was = median(self._usual) if len(self._usual) >= _USUAL else math.inf
        self._usual.append(total)
        if total <= SPIKE * was:
            return {}
        return {"spike": f"the norm of all gradients is {total:.3g}, and {was:.3g} in the usual step"}

    def _without_gradient(self, line: dict[str, Any]) -> dict[str, str]:
        for at in self._optimized:
            self._without[at] = self._without[at] + 1 if line["grad"][at] is None else 0
        names = [self._parameters[at] for at, count in self._without.items() if count >= _PATIENCE]
        if not names:
            return {}
        have = "has" if len(names) == 1 else "have"
        said = f"{phrases(names)} {have} had no gradient in the last {_PATIENCE} watched steps, and the optimizer has"
        return {f"no gradient {names}": f"{said} {'it' if len(names) == 1 else 'them'} to update"}

    def _without_rate(self, line: dict[str, Any]) -> dict[str, str]:
        rates = line.get("lr") or [1.0]
        self._still = 0 if any(rates) else self._still + 1
        if self._still < _PATIENCE:
            return {}
        steps = plural(_PATIENCE, "watched step")
        return {_NO_STEP: f"the learning rate is 0, as in the {steps} up to this one: nothing is trained"}


def total_of(norms: Sequence[float | None]) -> float:
    """Return the norm of all gradients together."""
    return math.sqrt(sum(norm * norm for norm in norms if norm is not None))


def called(name: str) -> str:
    """Return the name of a module or a parameter in a sentence; layers of a `Sequential` have numbers as names."""
    return f"layer {name}" if name.isdigit() else name or "the model"
