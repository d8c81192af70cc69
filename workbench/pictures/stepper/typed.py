"""Parsing what a reader types: numbers, and conditions on gradients at which a run stops."""

from __future__ import annotations

import ast
import operator
import re
from typing import Any

import numpy as np

_NO_NUMBERS = "Type a number such as 0.5, -2e-3 or 1/3, or a list of numbers such as [1, 2], not {!r}."
_LONGEST = 10_000  # characters of what a reader types
_SIGNS = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def condition(text: str) -> dict[str, Any]:
    """Return the breakpoint arguments of `not finite` or a bound such as `norm > 10`; {} for other texts."""
    bound = re.fullmatch(r"\s*norm\s*([<>])\s*(\S+)\s*", text)
    if bound:
        return {"over" if bound[1] == ">" else "under": typed(bound[2])}
    return {"nonfinite": True} if text.strip() == "not finite" else {}


def typed(text: str) -> Any:
    """Return the number or list of numbers in a text, such as `0.5`, `1/3`, `[1, -2e-3]`.

    Raises:
        ValueError: for any other text.
    """
    try:
        if len(text) > _LONGEST:
            raise ValueError
        found = _number(ast.parse(text.strip(), mode="eval").body)
        np.array(found, dtype=np.float64)  # as many numbers in each row
    except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError, TypeError):
        short = text if len(text) <= 40 else f"{text[:39]}…"
        raise ValueError(_NO_NUMBERS.format(short)) from None
    return found


def _number(part: ast.expr) -> Any:
    if isinstance(part, ast.Constant) and type(part.value) in (int, float):
        return float(part.value)  # pyright: ignore[reportArgumentType]  its type was just looked at
    if isinstance(part, ast.Name) and part.id in ("nan", "inf"):
        return float(part.id)
    if isinstance(part, ast.UnaryOp) and type(part.op) in _SIGNS:
        return _SIGNS[type(part.op)](_number(part.operand))
    if isinstance(part, ast.BinOp) and type(part.op) in _OPERATORS:
        return _OPERATORS[type(part.op)](_single(part.left), _single(part.right))
    if isinstance(part, ast.List | ast.Tuple):
        return [_number(each) for each in part.elts]
    raise ValueError


def _single(part: ast.expr) -> float:
    value = _number(part)
    if isinstance(value, list):
        raise ValueError
    return value
