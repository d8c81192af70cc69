"""The oracle: one program run under PyTorch and under the workbench, and everything it shows compared.

    def test_12_1_a_tensor_stays_a_tensor(torch):
        ...
        return what, the, program, saw

In the core's folders (`engine/`, `ops/`, `function/`, `transforms/`) a test that takes `torch` is such a program. Other
folders decorate it with `@same`.

A program gets the module it runs under, so its text is the same for both. What is compared: the value it returns,
or the type and the whole message of what it raises, and every warning. Floats may differ by rounding.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import questions
import recorded
from differences import difference as difference

import workbench

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)
    torch.set_warn_always(True)
    with warnings.catch_warnings():  # what PyTorch loads for its first dual tensor warns
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))

TENSORS = (workbench.Tensor,) if torch is None else (workbench.Tensor, torch.Tensor)

# Said once per process by both; whoever comes second is silent.
ONCE = "Using backward() with create_graph=True"


@dataclass(frozen=True)
class Seen:
    """What a program showed: its value or its exception, and its warnings, in terms that both sides share."""

    value: Any
    raised: Any
    warned: list[Any]
    error: Exception | None


def run(program: Callable[..., Any], module: Any, *args: Any) -> Seen:
    """Run a program under one module, whose grad mode is left as it was."""
    value = error = None
    with warnings.catch_warnings(record=True) as caught, module.set_grad_enabled(True):
        warnings.simplefilter("always")
        try:
            value = plain(program(module, *args))
        except Exception as caught_error:
            error = caught_error
    return Seen(value, plain(error), told(caught), error)


def compare(program: Callable[..., Any], *args: Any) -> None:
    """Fail where the program shows something else under the workbench than under PyTorch, now or when it was asked."""
    key = questions.key(program, *args) if torch is None or recorded.WRITING else ""
    ours = run(program, workbench, *args)
    theirs = Seen(*recorded.recall(key), None) if torch is None else run(program, torch, *args)
    if recorded.WRITING:
        recorded.keep(key, [theirs.value, theirs.raised, theirs.warned])
    for part in ("raised", "warned", "value"):
        mine, kept = getattr(ours, part), getattr(theirs, part)
        if torch is None:
            mine = recorded.as_kept(mine, kept)
        if different := difference(mine, kept, part):
            raise AssertionError(different) from ours.error


NUMBERS = {
    "x": [0.5, -1.5, 2.0],
    "y": [1.5, 0.25, -3.0],
    "p": [0.75, 1.25, 3.0],
    "tie": [3.0, -1.0, 3.0, -1.0],
    "a": [[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]],
    "q": [[0.5, 1.0, 2.0], [3.0, 0.25, 0.75]],
    "c": [[1.5], [-2.5]],
    "s": 1.25,
    "M": [[1.0, 2.0, 0.5, -1.0], [0.0, -3.0, 1.5, 0.25], [2.0, 1.0, -0.5, 4.0]],
    "A": [[[1.0, 2.0, 0.5], [0.5, -3.0, 1.5]], [[2.0, 1.0, -0.5], [1.0, 0.0, 4.0]]],
    "z": [0.0, 1.0, -2.0],
    "e": [],
}


def names(module: Any) -> dict[str, Any]:
    """The tensors that expressions are about: leaves that require grad, a mask, and integers."""
    named = {k: module.tensor(v, dtype=module.float64, requires_grad=True) for k, v in NUMBERS.items()}
    named["m"] = module.tensor([True, False, True])
    named["n"] = module.tensor([3, -1, 2])
    named["i"] = module.tensor([2, 0, 0])
    named["j"] = module.tensor([0, 1, 1])
    return named | {"torch": module, "np": np}


def keeping(module: Any, pick: Any, backward: Any = None) -> type:
    """A Function that saves what `pick(ctx, x, result)` names and shows what backward then sees."""

    class Keep(module.autograd.Function):
        seen: list[Any] = []

        @staticmethod
        def forward(ctx, x):
            result = x * 2
            ctx.save_for_backward(*pick(ctx, x, result))
            return result

        @staticmethod
        def backward(ctx, g):
            Keep.seen.append(ctx.saved_tensors)
            return g if backward is None else backward(ctx, g)

    return Keep


def entries(table: str) -> list[str]:
    """A table's entries; ` | ` alone separates, so that the operator `|` is written inside brackets."""
    return [entry.strip() for line in table.strip().splitlines() for entry in line.split(" | ") if entry.strip()]


def same(program: Callable[..., Any]) -> Callable[..., None]:
    """Decorator: make a program a test of its own, parametrized by what it takes besides the module."""
    parameters = list(inspect.signature(program).parameters.values())[1:]

    def test(**given: Any) -> None:
        compare(program, *[given[parameter.name] for parameter in parameters])

    test.__signature__ = inspect.Signature(parameters)
    test.__name__, test.__doc__, test.__module__ = program.__name__, program.__doc__, program.__module__
    test.pytestmark = [*getattr(program, "pytestmark", ())]
    return test


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call raises, for programs that go on afterward."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return plain(error)
    return "nothing was raised"


def warned(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """What a call warns of, for programs that go on afterward."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return told(caught)


def chain(node: Any) -> Any:
    """The graph behind a node as nested names."""
    return node and (node.name(), [(chain(parent), nr) for parent, nr in node.next_functions])


def told(caught: list[warnings.WarningMessage]) -> list[Any]:
    """Warnings as (category, text)."""
    texts = [(w.category.__name__, sentence(str(w.message))) for w in caught]
    return [(category, text) for category, text in texts if not text.startswith(ONCE)]


def sentence(text: str) -> str:
    """A message without what differs from run to run: addresses, and the place in C++ that it came from."""
    text = re.sub(r" \(Triggered internally at .*\)$", "", text, flags=re.S)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def plain(value: Any) -> Any:
    """A value in terms that both sides share."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, TENSORS):
        made_by = None if value.grad_fn is None else value.grad_fn.name()
        facts = (str(value.dtype), tuple(value.shape), value.requires_grad, value.is_leaf, made_by)
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
        return (type(value).__name__, sentence(str(value)))
    return sentence(repr(value))
