"""Inputs for an audit from a short text, such as `float32[3,4]` or `x=3.0`, and where none is given."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
_TENSOR = re.compile(rf"({'|'.join(_FLOATS + _INTEGERS)})(?:\[([^\]]*)\])?((?:\s+\S+)*)")
_WORDS = ("nograd", "positive")
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_LARGEST = 10_000_000  # elements
FORMS = (
    "Use a dtype with a shape ('float32[3,4]', 'float64' for a single number, 'int64[5]', with 'nograd' or 'positive' "
    "after it) or a Python value ('3.0', 'None', \"'mean'\"); 'name=' before it names the parameter."
)
DEFAULT = "float32[3,4]"


class InputError(ValueError):
    """A text that describes no input; the message says what it should be."""


def read_inputs(engine: ModuleType, target: Any, texts: Sequence[str]) -> list[Any]:
    """Return the arguments for a target: what the texts describe, in the order of its parameters.

    Args:
        engine: PyTorch or the workbench.
        target: What is called; without texts its parameters get a default.
        texts: One description per argument; those with a name come after the others.

    Raises:
        InputError: if a text describes nothing, or the target has no such parameter.
    """
    parameters = parameters_of(engine, target)
    if not texts:
        return [_default(engine, each) for each in parameters if each.default is each.empty and _is_place(each)]
    placed: list[Any] = []
    named: dict[str, Any] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        value = read_input(engine, match[2] if match else text, len(placed) + len(named))
        if match:
            named[match[1]] = value
        elif named:
            raise InputError(f"{text!r} has no name, but follows one that has. Put it first, or name it.")
        else:
            placed.append(value)
    return placed + _in_order(parameters, len(placed), named)


def _in_order(parameters: list[inspect.Parameter], taken: int, named: dict[str, Any]) -> list[Any]:
    """Return named values in the order of the parameters, with defaults between them."""
    left = dict(named)
    places = [each for each in parameters if _is_place(each)][taken:]
    known = [each.name for each in places]
    if unknown := [name for name in left if name not in known]:
        raise InputError(
            f"{unknown[0]!r} isn't a parameter that is left to give: {', '.join(known) or 'there is none'}."
        )
    made: list[Any] = []
    for each in places:
        if not left:
            break
        if each.name in left:
            made.append(left.pop(each.name))
        elif each.default is not each.empty:
            made.append(each.default)
        else:
            raise InputError(f"{each.name!r} has no value, but a parameter after it has. Give {each.name}=… too.")
    return made


def parameters_of(engine: ModuleType, target: Any) -> list[inspect.Parameter]:
    """Return the parameters of what a target calls, without `ctx`."""
    called = target
    is_function = isinstance(target, type) and issubclass(target, engine.autograd.Function)
    if is_function:
        called = target.forward  # type: ignore[attr-defined]
    elif isinstance(target, engine.nn.Module):
        called = target.forward
    try:
        found = [*inspect.signature(called).parameters.values()]
    except (TypeError, ValueError):
        return []
    base = engine.autograd.Function
    takes_ctx = is_function and inspect.getattr_static(target, "setup_context") is inspect.getattr_static(
        base, "setup_context"
    )
    return found[1:] if takes_ctx else found


def _is_place(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def _default(engine: ModuleType, parameter: inspect.Parameter) -> Any:
    """Return a value for a parameter: a matrix, or what its annotation asks for."""
    of = {"int": 2, "float": 0.5, "bool": True, "str": ""}
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return of[name] if name in of else read_input(engine, DEFAULT)


def read_input(engine: ModuleType, text: str, at: int = 0) -> Any:
    """Return the tensor or the value that a text describes; `at` varies the numbers of a tensor.

    Raises:
        InputError: if it describes nothing.
    """
    match = _TENSOR.fullmatch(text.strip())
    if match is None:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise InputError(f"{text!r} is no input. {FORMS}") from None
    kind, dims, words = match[1], match[2], match[3].split()
    dtype = getattr(engine, kind, None) if engine.__name__ == "torch" or kind != "bfloat16" else None
    if dtype is None:
        raise InputError(f"{text!r}: {engine.__name__} has no {kind}. Choose one that it has.")
    if unknown := [word for word in words if word not in _WORDS]:
        raise InputError(f"{text!r}: {unknown[0]!r} is no word of an input. The words are 'nograd' and 'positive'.")
    shape = _shape(text, dims)
    count = 1
    for each in shape:
        count *= each
    if count > _LARGEST:
        raise InputError(f"{text!r} has {count:,} elements. An audit needs small inputs: use {_LARGEST:,} at most.")
    places = engine.arange(count, dtype=engine.float64)
    if kind in _INTEGERS:
        return (places % 2).reshape(shape).to(dtype)
    values = engine.sin(places * 1.7 + 0.3 + 0.9 * at) + 0.25
    values = values.abs() + 0.1 if "positive" in words else values
    return values.reshape(shape).to(dtype).requires_grad_("nograd" not in words)


def _shape(text: str, dims: str | None) -> tuple[int, ...]:
    found = [each.strip() for each in (dims or "").split(",") if each.strip()]
    if not all(each.isascii() and each.isdigit() and len(each) < 9 for each in found):
        raise InputError(f"{text!r}: a shape is whole numbers with commas, such as [3,4].")
    return tuple(map(int, found))
