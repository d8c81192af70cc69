"""Random numbers that are the same at every run of a target, whoever draws them."""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np


class Chance:
    """The generators of random numbers that a target may use: the engine's, Python's, NumPy's, and its own.

    Args:
        engine: The engine.
        code: The Python functions of the target, in whose names and closures generators are looked for.
        inputs: Its arguments, which may be generators too.
    """

    def __init__(self, engine: ModuleType, code: Sequence[Any], inputs: Sequence[Any]) -> None:
        self._engine = engine
        self._own = [(each, _state(each)) for each in _generators(engine, code, inputs)]

    def begin(self) -> None:
        """Begin the same random numbers again."""
        self.seed(0)
        self._restore_own()

    def seed(self, number: int) -> None:
        """Seed the generators that all share."""
        self._engine.manual_seed(number)
        random.seed(number)
        np.random.seed(number)

    def draw(self) -> dict[str, float]:
        """Return the next number of each of these generators."""
        return {
            "the engine's": self._engine.rand(1).item(),
            "Python's": random.random(),
            "NumPy's": float(np.random.random()),
        }

    def __enter__(self) -> None:
        self._before = self._engine.get_rng_state(), random.getstate(), np.random.get_state()

    def __exit__(self, *_: object) -> None:
        of_engine, of_python, of_numpy = self._before
        self._engine.set_rng_state(of_engine)
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        self._restore_own()

    def _restore_own(self) -> None:
        for each, state in self._own:
            _put(each, state)


def _generators(engine: ModuleType, code: Sequence[Any], inputs: Sequence[Any]) -> Iterator[Any]:
    kinds = (engine.Generator, random.Random, np.random.Generator, np.random.RandomState)
    seen: set[int] = set()
    for each in (*inputs, *names_of(code)):
        if isinstance(each, kinds) and id(each) not in seen:
            seen.add(id(each))
            yield each


def names_of(code: Sequence[Any], depth: int = 3) -> Iterator[Any]:
    """Return the values of all names that functions refer to outside of themselves, and those of these functions."""
    for function in code:
        try:
            known = inspect.getclosurevars(function)
        except (TypeError, ValueError):
            continue
        values = [*known.nonlocals.values(), *known.globals.values()]
        yield from values
        if depth > 1:
            yield from names_of([each for each in values if inspect.isfunction(each)], depth - 1)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return copy.deepcopy(generator.bit_generator.state)
    for name in ("getstate", "get_state"):
        if hasattr(generator, name):
            return getattr(generator, name)()
    return None


def _put(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif hasattr(generator, "setstate"):
        generator.setstate(state)
    else:
        generator.set_state(state)
