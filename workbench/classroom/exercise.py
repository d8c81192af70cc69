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

import difflib
import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

import numpy as np

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
            return _value_compared(found[_VALUE], self._expected[_VALUE])
        wrong = [aspect for aspect in found if aspect not in right]
        said = f"Not right: {_listed(wrong)}."
        if right:
            said = f"Right: {_listed([aspect for aspect in found if aspect in right])}. {said}"
        for aspect in wrong:
            if isinstance(found[aspect], Raised):
                return f"{said} Probed for {aspect}, your code raised {found[aspect]}".rstrip(".") + "."
        return f"{said} Your code returned None." if any(found[aspect] is None for aspect in wrong) else said


@cache
def lessons() -> dict[int, tuple[Exercise, ...]]:
    """The exercises of each lesson, by the lesson's number."""
    modules = [module.name for module in iter_modules([os.path.dirname(__file__)])]
    names = sorted(name for name in modules if name.startswith("lesson_"))
    return {int(name[7:]): import_module(f"{__package__}.{name}").EXERCISES for name in names}


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name."""
    return {exercise.name: exercise for lesson in lessons().values() for exercise in lesson}


def find(name: str) -> Exercise:
    """The exercise of this name; a ValueError suggests the nearest ones."""
    known = exercises()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 3)
    meant = f": did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise ValueError(f"There is no exercise called {name!r}{meant}")


def counted(points: float) -> str:
    """So many points, in words."""
    return f"{points:g} point{'s' * (points != 1)}"


def _value_compared(mine: Any, right: Any) -> str:
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


def compared(prediction: Any, truth: Any, tolerance: float) -> str:
    """Whether a prediction is right, and how far off it is if not, in a sentence that does not tell the answer."""
    if truth is None:
        return "There is nothing to compare with yet: run the cells above first."
    right = _read(truth)
    asked = "Either True or False" if isinstance(right, bool) else _kind_in_words(right)
    if prediction is None:
        what = "answer" if isinstance(right, bool | str) else "list of numbers" if right.ndim else "number"
        return f"No prediction yet: replace None by your {what}, and run again from there."
    try:
        mine = _read(prediction)
    except Exception:  # whatever a learner can write, and whatever its conversion raises
        return f"{asked} is asked for; yours is {_oddity(prediction)}."
    if isinstance(right, bool | str):
        if type(mine) is not type(right):
            return f"{asked} is asked for."
        return "Right." if mine == right else "Not yet: it is the other way round."
    if isinstance(mine, bool | str) or bool(mine.ndim) != bool(right.ndim):
        yours = _kind_in_words(mine)
        return f"{asked} is asked for; yours is {yours[0].lower()}{yours[1:]}."
    if mine.shape != right.shape:
        return f"A value of shape {list(right.shape)} is asked for; yours has shape {list(mine.shape)}."
    return _numbers_compared(mine, right, tolerance)


def _numbers_compared(mine: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    largest = float(np.max(np.abs(right[np.isfinite(right)]), initial=1.0))
    with np.errstate(invalid="ignore"):
        close = np.abs(mine - right) <= tolerance * largest
    wrong = ~(close | (mine == right) | (np.isnan(mine) & np.isnan(right)))
    if not wrong.any():
        return "Right."
    if right.ndim:
        places = ", ".join(str(list(int(i) for i in place)) for place in np.argwhere(wrong)[:5])
        return f"Not yet: {int(wrong.sum())} of {right.size} elements differ, at {places}."
    if np.isnan(mine):
        return "Not yet: yours is nan, which is no number."
    if np.isnan(right):
        return "Not yet: yours is a number, and no number comes out."
    return "Not yet: the sign is wrong." if mine * right < 0 else f"Not yet: yours is too {_side(mine, right)}."


def _read(value: Any) -> bool | str | np.ndarray:
    """A word, a truth value, or numbers as an array; whatever is none of these raises."""
    array = np.asarray(_detached(value))
    if not array.ndim and array.dtype.kind in "Ub":
        return array.item()
    if array.dtype.kind not in "biufO" or any(each is None for each in array.flat):
        raise TypeError
    return array.astype(np.float64)


def _detached(value: Any) -> Any:
    if hasattr(type(value), "detach"):
        return value.detach().numpy()
    return [_detached(each) for each in value] if isinstance(value, list | tuple | range) else value


def _kind_in_words(value: bool | str | np.ndarray) -> str:
    """What a value is, in words that begin a sentence."""
    if isinstance(value, bool):
        return "A truth value"
    if isinstance(value, str):
        return "A word in quotes"
    if value.ndim > 1:
        return f"An array of shape {list(value.shape)}"
    return f"A list of {value.size} number{'s' * (value.size != 1)}" if value.ndim else "A number"


def _oddity(value: Any) -> str:
    """What a value is of which no numbers can be made."""
    if isinstance(value, list | tuple):
        lengths = {len(each) if isinstance(each, list | tuple) else None for each in value}
        return "a list with rows of different lengths" if len(lengths) > 1 else "a list of other things than numbers"
    if isinstance(value, int):
        return "a number too large to compare"
    if isinstance(value, complex):
        return "a complex number"
    return "a function" if callable(value) else f"of the type {type(value).__name__}"


def _side(mine: np.ndarray, right: np.ndarray) -> str:
    return "large" if mine > right else "small"
