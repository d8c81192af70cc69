"""The oracle: one program run under PyTorch and under the workbench, and everything it shows compared.

    @same
    def test_12_1_a_tensor_stays_a_tensor(torch):
        ...
        return what, the, program, saw

A program gets the module it runs under, so its text is the same for both. What is compared: the value it returns,
or the type and the whole message of what it raises, and every warning. Floats may differ by rounding.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import workbench

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)
    torch.set_warn_always(True)

ABSENT = (
    "torch is not installed, so the workbench has nothing to be compared with: "
    'pip install -e ".[oracle]" brings it.'
)
needs_torch = pytest.mark.skipif(torch is None, reason=ABSENT)

# Said once per process by both; whoever comes second is silent.
ONCE = "Using backward() with create_graph=True"


@dataclass(frozen=True)
class Seen:
    """What a program showed: its value or its exception, and its warnings."""

    value: Any
    error: tuple[str, str] | None
    warned: list[tuple[str, str]]


def run(program: Callable[..., Any], module: Any, *args: Any) -> Seen:
    """Run a program under one module, which is left in its usual state."""
    value = error = None
    with warnings.catch_warnings(record=True) as caught, module.set_grad_enabled(True):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"workbench\.")  # as the package does
        try:
            value = plain(program(module, *args))
        except Exception as raised:
            error = (type(raised).__name__, spoken(raised))
    told = [(w.category.__name__, sentence(str(w.message))) for w in caught]
    return Seen(value, error, [w for w in told if not w[1].startswith(ONCE)])


def compare(program: Callable[..., Any], *args: Any) -> None:
    """Fail where the program shows something else under the workbench than under PyTorch."""
    ours = run(program, workbench, *args)
    if torch is None:
        pytest.skip(ABSENT)
    theirs = run(program, torch, *args)
    assert ours.error == theirs.error
    assert ours.warned == theirs.warned
    different = difference(ours.value, theirs.value)
    assert different is None, different


def same(program: Callable[..., Any]) -> Callable[[], None]:
    """Decorator: make a program a test of its own."""

    def test() -> None:
        compare(program)

    test.__name__, test.__doc__, test.__module__ = program.__name__, program.__doc__, program.__module__
    return test


def spoken(error: BaseException) -> str:
    """An exception's message."""
    return sentence(str(error))


def sentence(text: str) -> str:
    """A message without what differs from run to run: addresses, and the place in C++ that it came from."""
    text = re.sub(r" \(Triggered internally at .*\)$", "", text, flags=re.S)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[str, str] | str:
    """The type and message of what a call raises, for programs that go on afterwards."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, spoken(error)
    return "nothing was raised"


def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
    """What a call warns of, for programs that go on afterwards."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return [(w.category.__name__, sentence(str(w.message))) for w in caught]


def chain(node: Any, seen: int = 0) -> Any:
    """The graph behind a node as nested names."""
    if node is None:
        return None
    return (node.name(), [(chain(parent), nr) for parent, nr in node.next_functions])


def plain(value: Any) -> Any:
    """A value in terms that both sides share."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, (workbench.Tensor, *(() if torch is None else (torch.Tensor,)))):
        facts = (
            str(value.dtype),
            tuple(value.shape),
            value.requires_grad,
            value.is_leaf,
            None if value.grad_fn is None else value.grad_fn.name(),
        )
        numbers = value.detach()
        if getattr(numbers, "_is_zerotensor", bool)():  # PyTorch's zeros without memory
            numbers = torch.zeros(numbers.shape)
        return ("tensor", facts, numbers.tolist())
    if hasattr(value, "next_functions"):
        return ("node", value.name())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, [plain(item) for item in value])
    if isinstance(value, BaseException):
        return (type(value).__name__, spoken(value))
    return sentence(repr(value))


def difference(ours: Any, theirs: Any, where: str = "value") -> str | None:
    """Where two plain values differ, and how; None where they do not."""
    if isinstance(ours, (tuple, list)) and isinstance(theirs, (tuple, list)) and len(ours) == len(theirs):
        parts = enumerate(zip(ours, theirs, strict=True))
        return next((d for i, (a, b) in parts if (d := difference(a, b, f"{where}[{i}]"))), None)
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return next((d for k in ours if (d := difference(ours[k], theirs[k], f"{where}[{k!r}]"))), None)
    if type(ours) is type(theirs):
        if isinstance(ours, float):
            close = math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
            if close or (ours != ours and theirs != theirs):
                return None
        elif ours == theirs:
            return None
    return f"{where}: the workbench has {ours!r}, torch has {theirs!r}"


TOLERANCE = 2e-6  # float32 rounds each step to 6e-8 of its value
