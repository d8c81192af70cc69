"""What a program of the set is: what was planted in it, what a finding about it must say, and how it is recorded."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import cleandoc, isgeneratorfunction, unwrap
from pathlib import Path
from typing import Any

import torch

import workbench

Steps = Callable[[], Any]


@dataclass(frozen=True)
class Entry:
    """A training run of three to six steps under PyTorch."""

    name: str
    program: Callable[[], Any]
    prepared: bool
    """Whether the program makes model and optimizer, and returns the function that trains."""

    @property
    def path(self) -> str:
        """The file of the program."""
        return unwrap(self.program).__code__.co_filename


@dataclass(frozen=True)
class Bug(Entry):
    """A training run in which one fault was planted."""

    what: str
    """The fault in plain words."""
    words: tuple[str, ...]
    """A finding that names the fault has one of these, in whatever case."""
    places: tuple[str, ...]
    """And one of these, if there are any, unless its line is that of the fault."""
    raises: type[Exception] | None
    """The error with which the program ends."""

    @property
    def marker(self) -> str:
        return f"# planted: {self.name}"

    @cached_property
    def line(self) -> int:
        """The line of the fault, or of the first that shows it."""
        lines = Path(self.path).read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if line.endswith(self.marker))

    def is_named_by(self, sentence: str, line: int | None = None) -> bool:
        """Whether a finding, in these words and about this line, names the fault."""
        said = sentence.replace(self.marker, "").replace(self.name, "").casefold()  # as a line or a function is quoted
        if not any(_is_in(word, said) for word in self.words):
            return False
        return not self.places or line == self.line or any(_is_in(place, said) for place in self.places)


def _is_in(word: str, said: str) -> bool:
    """Whether a sentence has a word, or the part of one; "lr=0" is in "lr=0.0" and not in "lr=0.1"."""
    whole_number = r"(\.0+)?(?!\.?\d)" if word[-1].isdigit() else ""
    return re.search(re.escape(word.casefold()) + whole_number, said) is not None


@dataclass(frozen=True)
class Healthy(Entry):
    """A training run that is as its author means it."""

    awkward: str
    """What in it looks like a fault and is meant; nothing if it is plain."""


# What findings of the commonest kinds may say.
NOT_UPDATED = ("not in the optimi", "not in any optimi", "no optimi", "outside the optimi", "missing from the optimi")
NOT_UPDATED += ("never updated", "not updated", "never written", "never changed", "not given to", "no step wr")
NO_GRADIENT = ("no gradient", "never got", "got none", "does not reach", "never reached", "cut off", "does not depend")
NOT_FINITE = ("nan", "not finite", "non-finite", "infinit", "-inf", " inf")
NOT_THE_DERIVATIVE = ("disagree", "differ", "gradcheck", "check(", "does not agree", "do not agree", "does not match")
NOT_THE_DERIVATIVE += ("doesn't agree", "don't agree", "doesn't match", "don't match")
NOT_THE_DERIVATIVE += ("do not match", "not the derivative", "wrong sign", "wrong factor", "wrong derivative")

BUGS: list[Bug] = []
HEALTHY: list[Healthy] = []


def _prepared(program: Steps) -> tuple[str, Steps, bool]:
    """Return the name of a program, and it as one that returns its training where it yields after what it prepares."""
    if not isgeneratorfunction(program):
        return program.__name__, program, False

    @wraps(program)
    def prepared() -> Steps:
        parts = program()
        next(parts)
        return lambda: next(parts, None)

    return program.__name__, prepared, True


def planted(
    *words: str, places: tuple[str, ...] = (), raises: type[Exception] | None = None
) -> Callable[[Steps], Steps]:
    """Enter a program with a fault, which its docstring says."""

    def enter(program: Steps) -> Steps:
        BUGS.append(Bug(*_prepared(program), cleandoc(program.__doc__ or ""), words, places, raises))
        return program

    return enter


def healthy(awkward: str = "") -> Callable[[Steps], Steps]:
    """Enter a program without a fault."""

    def enter(program: Steps) -> Steps:
        HEALTHY.append(Healthy(*_prepared(program), awkward))
        return program

    return enter


def take_step(optimizer: Any, loss: Any) -> None:
    """Take a training step as any tutorial writes it."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def run(entry: Entry) -> tuple[workbench.Trace, Exception | None]:
    """The trace of a program, and the error with which it ended.

    Of a program that is prepared the training alone is recorded: the recording begins after model and optimizer were
    made, as a user records a loop.
    """
    error = None
    train = entry.program() if entry.prepared else entry.program
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small programs are faster so
    with warnings.catch_warnings(), workbench.record(torch) as trace:
        warnings.simplefilter("ignore")
        try:
            train()
        except Exception as caught:
            error = caught
    torch.set_num_threads(threads)
    return trace, error
