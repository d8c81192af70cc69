"""A finding: a sentence with its place, and the next step; and the phrases that sentences share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..trace.assignments import sides_of
from ..trace.facts import SourceLine
from ..trace.source import without_comment
from ..trace.values import Value, number, series, shortened
from .entries import address_of
from .graph import RecordedNode
from .measures import size_of
from .training_run import TrainedParameter

_NAMED = 3  # parameters that a sentence names
_TEXT = 60  # characters of a line that a sentence shows
_CALLED = {"unsafe_view": "matmul"}  # what PyTorch ends a product of batches with, which no program writes


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a training run: a certain one, or a possible issue that ends with a question (`certain` is False).

    `rule` is a short name such as "not finite". `sentence` says what happened and where, with numbers; `next_step` says
    what to do. `line` is the line of your code. `trace.frame(event + 1)` is the graph at that moment, and `ids` are the
    nodes and tensors that the finding is about.
    """

    rule: str
    certain: bool
    sentence: str
    next_step: str
    line: SourceLine | None
    event: int
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.fix}"

    @property
    def fix(self) -> str:
        """Return the advice as a line that begins with "Fix:"."""
        return f"Fix: {self.next_step}"

    @property
    def entry(self) -> str:
        """The address of the documentation's entry about this rule; empty while the project has no address."""
        return address_of(self.rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON types."""
        line = self.line
        return {
            "rule": self.rule,
            "certain": self.certain,
            "sentence": self.sentence,
            "next_step": self.next_step,
            "file": line and line.file,
            "line": line and line.line,
            "event": self.event,
            "ids": list(self.ids),
        }


def asked(sentence: str, certain: bool = False) -> str:
    """Return the sentence of a finding, with the question whether it is intentional unless it is certain."""
    return sentence if certain else f"{sentence} Is this intentional?"


def place(line: SourceLine | None) -> str:
    r"""Return `train.py:18 \`h = self.fc(x)\``, or that the line isn't known."""
    if line is None:
        return "an unknown line"
    text = shortened(without_comment(line.text).strip(), _TEXT)
    return f"{line.file}:{line.line} `{text}`" if text else f"{line.file}:{line.line}"


def told(node: RecordedNode) -> str:
    r"""Return `sqrt in Net/head (train.py:18 \`h = x.sqrt()\`)`."""
    scope = f" in {node.made.scope}" if node.made.scope else ""
    operation = _CALLED.get(node.made.operation, node.made.operation)
    return f"{operation}{scope} ({place(node.line)})"


def written_as(node: RecordedNode, id: str) -> str:
    """Return the code for an input that no variable holds any longer: `a` of `a @ f(x)`."""
    text = node.made.path[-1].title if node.made.path and node.made.path[-1].kind == "expression" else ""
    sides, given = sides_of(text), [arg.tensor for arg in node.made.args if arg.tensor is not None]
    return f"`{sides[given.index(id)]}`" if len(sides) == len(given) and id in given else ""


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Return `a`, `a and b`, or `a, b, c and 4 more`."""
    all = list(dict.fromkeys(names))
    return series(all) if len(all) <= most + 1 else f"{', '.join(all[:most])} and {len(all) - most:,} more"


def named(parameters: Sequence[TrainedParameter]) -> str:
    """Return the names of parameters; of many, the first ones."""
    return listed([each.name for each in parameters])


def span(value: Value) -> str:
    """Return `from -1 to 3`, or `zero everywhere`."""
    if not size_of(value):
        return "no values at all"
    if value.min is None or value.max is None:
        return "not finite"
    if value.min == value.max:
        return "zero everywhere" if value.min == 0 else f"{number(value.min)} everywhere"
    ends = number(value.min), number(value.max)
    return f"about {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"


def plural(count: int, word: str) -> str:
    """Return `1 step`, `3 steps`, `3 passes`."""
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"
