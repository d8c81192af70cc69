"""What an exercise asks, which answers are right, and the well-known wrong ones with a hint for each.

A lesson's exercises stand in a module of their own beside this one, `lesson_07.py` for the notebook `07-….ipynb`, as a
tuple `EXERCISES`; a name is used once in the whole course. Whoever writes one writes as a user does, through the front
door (`import workbench as torch`):

    class Cube(torch.autograd.Function): ...            # the right answer

    class GradOutputForgotten(Cube):                    # a wrong one: an implementation that shows a misconception
        @staticmethod
        def backward(ctx, grad_output): ...

    EXERCISES = (
        Exercise(
            "cube-backward",                            # words with hyphens between them
            "Write the backward of x**3.",
            solution=Cube,
            probes={"the value": results([2.0]), "the gradient": gradients([2.0, -1.0]), "gradcheck": checked([1.2])},
            misconceptions=(
                Misconception("grad_output is forgotten", "A nudge of ... (says why, not what)", GradOutputForgotten),
            ),
            points=2,
        ),
    )

A probe takes an answer, runs it and returns what came of it: numbers, words, tensors, lists and dicts of these. An
answer is right where all probes find what they find in the solution; each probe has its share of the points. An answer
in which they find what they find in a misconception gets its hint. So probe for what tells answers apart: gradients
with different weights, inputs of different signs. Without probes an exercise asks for a value, which is compared.

In the notebook the exercise is one cell. The markers enclose whole bodies, or lines that give a name a value that it
already has, so that the cell runs without them: an answer that is None or ..., or a function with an empty body, is
"not answered yet". A name that is checked belongs to one exercise alone: after a cell that fails the answer of another
one would be taken for its own.

    # exercise: cube-backward
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            ### BEGIN SOLUTION
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad_output
            ### END SOLUTION


    check("cube-backward", Cube)

    # exercise: grad-at-a-fork
    a_grad = None  # a number
    ### BEGIN SOLUTION
    a_grad = 7
    ### END SOLUTION
    check("grad-at-a-fork", a_grad)
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any

from .prediction import compared
from .probes import Odd, Probe, Raised, alike, evidence

_LINE = 100  # characters of a line that a notebook shows
_VALUE = "the value"  # what an exercise without probes asks for


@dataclass(frozen=True)
class Misconception:
    """A well-known way to be wrong: its name, why it is wrong (never what is right), and an answer that shows it."""

    name: str
    hint: str
    answer: Any


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer: its points, the misconception that it shows, if any, and a sentence."""

    exercise: str
    points: float
    most: float
    says: str
    misconception: str | None = None
    answered: bool = True

    @property
    def right(self) -> bool:
        """Whether nothing is wrong with the answer."""
        return self.points == self.most

    def __repr__(self) -> str:
        return textwrap.fill(self.says, _LINE)


@dataclass(frozen=True)
class Exercise:
    """A question with its right answer, the probes that tell answers apart, and its misconceptions."""

    name: str
    asks: str
    solution: Any
    probes: Mapping[str, Probe] = field(default_factory=dict)
    misconceptions: tuple[Misconception, ...] = ()
    points: float = 1

    def judge(self, answer: Any) -> Verdict:
        """Run the probes on an answer, and say what is right, what is not, and why."""
        if _is_empty(answer):
            return Verdict(self.name, 0, self.points, f"Not answered yet ({counted(self.points)}).", None, False)
        if (kind := _kind(self.solution)) != _kind(answer):
            return self._wrong(0, f"A {kind} is asked for; yours is a {_kind(answer)}.")
        found = self._evidence(answer)
        right = {aspect for aspect in found if alike(found[aspect], self._expected[aspect])}
        if len(right) == len(found):
            return Verdict(self.name, self.points, self.points, f"Right. ({counted(self.points)})")
        points = round(self.points * len(right) / len(found), 2)
        for each, shown in zip(self.misconceptions, self._shown, strict=True):
            if alike(found, shown):
                return self._wrong(points, f"{each.name[0].upper()}{each.name[1:]}: {each.hint}", each.name)
        return self._wrong(points, self._difference(found, right))

    @property
    def is_code(self) -> bool:
        """Whether the answer is a function or a class, which is run."""
        return callable(self.solution)

    @cached_property
    def _expected(self) -> dict[str, Any]:
        return self._evidence(self.solution)

    @cached_property
    def _shown(self) -> list[dict[str, Any]]:
        return [self._evidence(each.answer) for each in self.misconceptions]

    def _evidence(self, answer: Any) -> dict[str, Any]:
        probes = self.probes or {_VALUE: lambda value: value}
        return {aspect: evidence(probe, answer) for aspect, probe in probes.items()}

    def _wrong(self, points: float, sentence: str, misconception: str | None = None) -> Verdict:
        says = f"Not yet ({points:g} of {counted(self.points)}). {sentence}"
        return Verdict(self.name, points, self.points, says, misconception)

    def _difference(self, found: dict[str, Any], right: set[str]) -> str:
        if not self.probes:
            return _distance(found[_VALUE], self._expected[_VALUE])
        wrong = [aspect for aspect in found if aspect not in right]
        said = f"Not right: {_listed(wrong)}."
        if right:
            said = f"Right: {_listed([aspect for aspect in found if aspect in right])}. {said}"
        for aspect in wrong:
            if isinstance(found[aspect], Raised):
                return f"{said} Probed for {aspect}, your code raised {found[aspect]}".rstrip(".") + "."
        return f"{said} Your code returned None." if any(found[aspect] is None for aspect in wrong) else said


def counted(points: float) -> str:
    """So many points, in words."""
    return f"{points:g} point{'s' * (points != 1)}"


def _distance(mine: Any, right: Any) -> str:
    """How a wrong value differs from the right one, without telling the right one."""
    if isinstance(right, str | dict | list):  # words: no distance
        return "That is not it." if type(mine) is type(right) else "Another kind of value is asked for."
    said = compared(None if isinstance(mine, Odd) else mine, right, 1e-4).removeprefix("Not yet: ")
    return "That is close, and not close enough." if said == "Right." else said[0].upper() + said[1:]


def _kind(value: Any) -> str:
    return "class" if isinstance(value, type) else "function" if callable(value) else "value"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _is_empty(answer: Any) -> bool:
    """Whether nobody has written this answer yet."""
    if answer is None or answer is ...:
        return True
    if isinstance(answer, type):
        methods = [getattr(each, "__func__", each) for each in vars(answer).values()]
        return any(_is_empty(method) for method in methods if isinstance(method, FunctionType))
    if isinstance(answer, list | tuple):
        return any(each is None or each is ... for each in answer)
    if not isinstance(answer, FunctionType) or answer.__code__.co_code not in _EMPTY:
        return False
    return all(each is None or each == answer.__doc__ for each in answer.__code__.co_consts)


def _nothing() -> None: ...


def _nothing_but_words() -> None:
    """Words."""


_EMPTY = {_nothing.__code__.co_code, _nothing_but_words.__code__.co_code}
