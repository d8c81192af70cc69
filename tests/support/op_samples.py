"""The samples of every operation in the registry: its arguments, and one test an operation over all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
from expressions import EXPRESSIONS, Expression
from op_arguments import SAMPLES

import workbench as w
from workbench.autograd.tensor import Tensor
from workbench.ops import REGISTRY

STEP = 1e-6
NOT_IMPLEMENTED = "torch::autograd::NotImplemented"  # the nodes of what PyTorch has no derivative of
DIFFERENTIABLE = [op for op in REGISTRY.values() if op.formulas and op.node_name != NOT_IMPLEMENTED]


def samples_of(op: Any) -> list[str]:
    """The texts of an operation's samples."""
    return [text.strip() for text in SAMPLES.get(op.name, "").split(";") if text.strip()]


def each_sample(
    ops: Iterable[Any], skipping: Callable[[Any, str], bool] = lambda op, text: False, more: Any = None
) -> Any:
    """Decorator: one test for each operation, which runs `check(op, text, ...)` on every sample and names what fails.

    `more` has further samples by the names of operations.
    """
    texts: dict[str, list[str]] = {}
    found = {op.name: op for op in ops}
    for op in found.values():
        several = [*samples_of(op), *(more or {}).get(op.name, ())]
        if kept := [text for text in several if not skipping(op, text)]:
            texts[op.name] = kept

    def decorate(check: Callable[..., None]) -> Any:
        def test(op: Any, **fixtures: Any) -> None:
            for text in texts[op.name]:
                try:
                    check(op, text, **fixtures)
                except BaseException as error:
                    error.add_note(f"The sample is {op.name}({text}).")
                    raise

        parameters = [p for p in inspect.signature(check).parameters.values() if p.name != "text"]
        test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        test.pytestmark = getattr(check, "pytestmark", [])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("op", [found[name] for name in texts], ids=lambda op: op.name)(test)

    return decorate


@cache
def error_inputs() -> dict[str, list[Expression]]:
    """The expressions that call a function, by its name: some are refused, as OpInfo's `error_inputs` are."""
    found: dict[str, list[Expression]] = {}
    for text in EXPRESSIONS:
        for name in dict.fromkeys(re.findall(r"\.(\w+)\(", text)):
            found.setdefault(name, []).append(text)
    return found


def has_a_tie(op: Any, text: str) -> bool:
    """Whether a sample lies on a kink, or has to stay symmetric: a difference across one means nothing.

    Tests beside PyTorch tell its slope.
    """
    return "tie()" in text or "sym(" in text or "tri(" in text


def arguments(op: Any, text: str) -> list[Any]:
    """A sample's arguments: the same numbers at every call."""
    random = np.random.default_rng(len(op.name) + len(text))

    def leaf(array: np.ndarray) -> Tensor:
        return w.tensor(np.asarray(array), requires_grad=True)

    def invertible(*shape: int) -> np.ndarray:
        return random.standard_normal((*shape, shape[-1])) + 3 * np.eye(shape[-1])

    def positive(*shape: int) -> np.ndarray:
        a = invertible(*shape)
        return a @ a.swapaxes(-1, -2) + 9 * np.eye(shape[-1])

    names = {
        "inv": lambda *shape: leaf(invertible(*shape)),
        "tri": lambda *shape: leaf(np.tril(invertible(*shape))),
        "sym": lambda *shape: leaf(positive(*shape)),
        "r": lambda *shape: leaf(random.standard_normal(shape)),
        "p": lambda *shape: leaf(random.uniform(0.5, 2.0, shape)),
        "b": lambda *shape: w.tensor(np.asarray(random.random(shape) < 0.5)),
        "tie": lambda: leaf(np.array([1.0, 3.0, -2.0, 3.0, -2.0])),
        "ones": lambda *shape: w.ones(*shape, dtype=w.float64),
        "w": w,
        "np": np,
    }
    return list(eval(f"({text},)", names))


def leaves(args: list[Any]) -> list[Tensor]:
    """The tensors that the op is differentiated by."""
    flat = [a for arg in args for a in (arg if isinstance(arg, list) else [arg])]
    return [a for a in flat if isinstance(a, Tensor) and a.requires_grad]


def replaced(args: list[Any], new: list[Tensor]) -> list[Any]:
    """The arguments with other tensors where the op is differentiated."""
    rest = iter(new)

    def other(a: Any) -> Any:
        if isinstance(a, list):
            return [other(e) for e in a]
        return next(rest) if isinstance(a, Tensor) and a.requires_grad else a

    return [other(a) for a in args]


def slopes(f: Callable[[], float], t: Tensor) -> np.ndarray:
    """Central differences of a number by each element of a tensor."""
    out = np.zeros(t._array.shape)
    for place in np.ndindex(*t._array.shape):
        kept = t._array[place]
        t._array[place] = kept + STEP
        above = f()
        t._array[place] = kept - STEP
        out[place] = (above - f()) / (2 * STEP)
        t._array[place] = kept
    return out


def weights(t: Tensor, seed: int = 7) -> Tensor:
    """Fixed random numbers in the shape of a tensor, to make one number of it."""
    return w.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, t._array.shape))


def weighted(t: Tensor, by: Tensor) -> Tensor:
    """One number made of a tensor."""
    return (t * by).sum()
