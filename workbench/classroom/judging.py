"""Judging answers: run them on the probes of their exercise, and compare with the solution and each misconception.

A probe takes an answer, runs it and returns what it found: numbers, words, tensors, lists and dicts of these. An answer
is right, and gets the points, if all probes find what they find in the solution; a partly right answer earns nothing.
An answer in which all probes find what they find in a misconception gets its hint.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .answer_errors import NOTHING_CAME, Raised, Unusable, is_result
from .answer_kind import AnswerKind, arguments_of, is_empty, is_function, kind_of, of_notebook
from .cells import Table, to_html, to_text
from .comparison import EXPECTED, compared, kind_in_words
from .evidence import STOPPED, Odd, alike, evidence
from .one_case import case_of
from .probes import Cases, Probe

NOT_A_FUNCTION = "Expected a subclass of torch.autograd.Function, got another class."
A_SOLUTION = "Show a solution"
NUDGED = "{} nudges each input and compares: one of your gradients differs from what it found."
NOT_YET = "Not yet (0 of {}). "
_LINE = 100  # characters of a line that a notebook shows
_CHECKS = {"gradcheck", "gradgradcheck"}
_VALUE = "the value"  # what an exercise without probes asks for


@dataclass(frozen=True)
class Misconception:
    """A common mistake in an exercise, with the hint that it triggers.

    Attributes:
        name: The name of the mistake.
        hint: Why the answer is wrong. The hint never says what is right.
        answer: A wrong answer that shows the mistake.
        also: More wrong answers that show the mistake.
    """

    name: str
    hint: str
    answer: Any
    also: tuple[Any, ...] = ()

    @property
    def answers(self) -> tuple[Any, ...]:
        """All answers that show this misconception."""
        return (self.answer, *self.also)

    @property
    def in_words(self) -> str:
        """The message for a student who shows this misconception."""
        first, _, _ = self.name.partition(" ")
        # The name of something in code stays as it is typed.
        name = self.name if "_" in first else self.name[0].upper() + self.name[1:]
        return f"{name}: {self.hint}"


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer: its points, the misconception that it shows, if any, and a message.

    `partly` means that the answer isn't right but passes some of the checks. The `tables` mark its wrong numbers.
    `hint` is for a second wrong answer, and `then` what `check` adds in a notebook: the exercises done, or a solution.
    """

    exercise: str
    points: float
    most: float
    says: str
    misconception: str | None = None
    answered: bool = True
    partly: bool = False
    tables: tuple[Table, ...] = field(default=(), compare=False)
    hint: str = field(default="", compare=False)
    then: Sequence[str] = field(default=(), compare=False)
    solution: str = field(default="", compare=False)

    @property
    def right(self) -> bool:
        """True if the answer gets all points."""
        return self.points == self.most

    def __repr__(self) -> str:
        said = self._paragraphs()
        return said if self.right or not self.tables else f"{said}\n{to_text(self.tables)}"

    def _repr_html_(self) -> str | None:
        if not self.tables and not self.solution:
            return None
        folded = f"<details><summary>{A_SOLUTION}</summary><pre>{escape(self.solution)}</pre></details>"
        return to_html(self._paragraphs(), self.tables) + (folded if self.solution else "")

    def _paragraphs(self) -> str:
        return "\n".join(textwrap.fill(each, _LINE) for each in (self.says, *self.then))


@dataclass(frozen=True)
class Exercise:
    """A question with its right answer, the probes that tell answers apart, and its misconceptions."""

    name: str
    asks: str
    solution: Any
    probes: Mapping[str, Probe] = field(default_factory=dict)
    misconceptions: tuple[Misconception, ...] = ()
    points: float = 1
    hints: Mapping[str, str] = field(default_factory=dict)

    def judge(self, answer: Any) -> Verdict:
        """Run the probes on an answer and return a verdict: what is right, what isn't, and why."""
        asked = self._asked
        if answer is ... or (is_empty(answer, asked.names) and not asked.is_empty):
            return Verdict(self.name, 0, self.points, f"Not answered yet ({counted(self.points)}).", None, False)
        if asked.kind != kind_of(answer):
            return self._wrong(EXPECTED.format(f"a {asked.kind}", f"a {kind_of(answer)}"))
        if asked.is_function and not is_function(answer):
            return self._wrong(NOT_A_FUNCTION)
        found = self.found_in(answer)
        right = self.right_in(found)
        if len(right) == len(found):
            said = f"Right. ({counted(self.points)})"
            return Verdict(self.name, self.points, self.points, said, tables=self._tables(found, right))
        wrong = Verdict(self.name, 0, self.points, "", partly=bool(right - _CHECKS), tables=self._tables(found, right))
        shown = zip(self.misconceptions, self._shown, strict=True)
        fitting = [each for each, outcomes in shown if any(alike(found, one) for one in outcomes)]
        if any(alike(found[aspect], self._expected[aspect]) for aspect in found if aspect not in right):
            fitting = []  # the solution ends there too, so no mistake is the reason
        # Several that end in one error are not told apart by it.
        if fitting and (len(fitting) == 1 or not any(isinstance(each, Raised) for each in found.values())):
            said, hint = self._not_yet(fitting[0].in_words), self._hint(found, right)
            return replace(wrong, says=said, misconception=fitting[0].name, hint=hint)
        said = " ".join(filter(None, (self._difference(found, right, answer), of_notebook(answer))))
        hint = self._hint(found, right)
        return replace(wrong, says=self._not_yet(said), hint="" if hint in said else hint)

    @property
    def is_code(self) -> bool:
        """True if the answer is a function or a class, which has to be run."""
        return self._asked.kind != "value"

    @cached_property
    def _asked(self) -> AnswerKind:
        return AnswerKind.of(self.solution)

    @cached_property
    def _expected(self) -> dict[str, Any]:
        return self.found_in(self.solution)

    @cached_property
    def _shown(self) -> list[list[dict[str, Any]]]:
        return [[self.found_in(answer) for answer in each.answers] for each in self.misconceptions]

    def found_in(self, answer: Any) -> dict[str, Any]:
        """Return the result of each probe for an answer, by the probe's name."""
        found: dict[str, Any] = {}
        for aspect, probe in (self.probes or {_VALUE: lambda value: value}).items():
            is_stopped = any(isinstance(each, Raised) and each.text == STOPPED for each in found.values())
            found[aspect] = Raised(Unusable.__name__, STOPPED) if is_stopped else evidence(probe, answer)
        return found

    def right_in(self, found: Mapping[str, Any]) -> set[str]:
        """Return the probes that gave what they give for the solution."""
        return {aspect for aspect, one in found.items() if is_result(one) and alike(one, self._expected[aspect])}

    def _hint(self, found: dict[str, Any], right: set[str]) -> str:
        """Return the hint for the first thing that is wrong in an answer."""
        return next((self.hints[aspect] for aspect in found if aspect not in right and aspect in self.hints), "")

    def _wrong(self, sentence: str) -> Verdict:
        return Verdict(self.name, 0, self.points, self._not_yet(sentence))

    def _not_yet(self, sentence: str) -> str:
        return f"{NOT_YET.format(counted(self.points))}{sentence}"

    def _tables(self, found: dict[str, Any], right: set[str]) -> tuple[Table, ...]:
        """Return the first case with a wrong number; if there is none, the first whose arguments are drawn."""
        for aspect, probe in self.probes.items():
            if isinstance(probe, Cases) and (aspect not in right or (probe.names and len(right) == len(found))):
                if drawn := probe.tables(aspect, found[aspect], self._expected[aspect], aspect in right):
                    return drawn
        return ()

    def _difference(self, found: dict[str, Any], right: set[str], answer: Any) -> str:
        if not self.probes:
            return _value_compared(found[_VALUE], self._expected[_VALUE])
        wrong = [aspect for aspect in found if aspect not in right]
        said = f"Not right: {_listed(wrong)}."
        # A function of ordinary operations passes gradcheck whatever it computes: no praise for that.
        if praised := [aspect for aspect in found if aspect in right and aspect not in _CHECKS]:
            said = f"Right: {_listed(praised)}. {said}"
        for aspect in wrong:
            if isinstance(found[aspect], Raised):
                return f"{said} {found[aspect].describe(aspect)}"
        if any(_lacks(found[aspect], self._expected[aspect]) for aspect in wrong):
            return f"{said} {NOTHING_CAME}"
        for aspect in wrong:
            probe = self.probes[aspect]
            cases, names = (probe.cases, probe.names) if isinstance(probe, Cases) else ((), ())
            drawn = self._tables(found, right)
            if drawn and names:  # the tables have the input, too
                return said
            names = names or arguments_of(answer)
            if case := case_of(aspect, found[aspect], self._expected[aspect], cases, names, bool(drawn)):
                return f"{said} {case}"
        if hint := self._hint(found, right):
            return f"{said} {hint}"
        return f"{said} {NUDGED.format(checks[0])}" if (checks := [each for each in wrong if each in _CHECKS]) else said


def counted(points: float) -> str:
    """Return a number of points in words."""
    return f"{points:g} point{'s' * (points != 1)}"


def _value_compared(mine: Any, right: Any) -> str:
    """Describe how a wrong value differs from the right one, without giving the right one away."""
    if isinstance(right, str | dict | list):  # words: no distance
        is_same_kind = type(mine) is type(right)
        return "That's not it." if is_same_kind else EXPECTED.format(kind_in_words(right), "something else")
    if isinstance(mine, Odd):
        return EXPECTED.format(kind_in_words(right), mine.kind)
    said = compared(mine, right, 1e-4).removeprefix("Not yet: ")
    return "Close, but not close enough." if said == "Right." else said[0].upper() + said[1:]


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _lacks(found: Any, right: Any) -> bool:
    """Return True if there is None where the solution has a value."""
    many = isinstance(right, list) or (isinstance(right, np.ndarray) and right.ndim > 0)
    if isinstance(found, list) and many and len(found) == len(right):
        return any(map(_lacks, found, right))
    return found is None and right is not None
