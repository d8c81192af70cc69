"""Numbers that a reader types, and how close a guess at a gradient came."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from . import messages

RIGHT = 0.005  # a guess this close, relative to the gradient's norm, is right: nobody types more than 3 digits
_MOST = 10_000  # characters
_SIGNS = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def typed(text: str) -> Any:
    """The number or list of numbers that a text says, as in `0.5`, `1/3`, `[1, -2e-3]`; ValueError for all else."""
    try:
        if len(text) > _MOST:
            raise ValueError
        found = _number(ast.parse(text.strip(), mode="eval").body)
        np.array(found, dtype=np.float64)  # as many numbers in each row
    except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError, TypeError):
        short = text if len(text) <= 40 else f"{text[:39]}…"
        raise ValueError(messages.NO_NUMBERS.format(short)) from None
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


def closeness(guess: Any, gradient: Any) -> str:
    """How close a guess came: right, off by 10 %, wrong sign, another shape."""
    mine = np.asarray(guess, dtype=np.float64)
    if gradient is None:
        return "there is no gradient"
    truth = np.asarray(gradient, dtype=np.float64)
    if mine.shape != truth.shape:
        return f"another shape: yours has {_sizes(mine)}, it has {_sizes(truth)}"
    if not (np.isfinite(mine).all() and np.isfinite(truth).all()):
        return "right" if np.array_equal(mine, truth, equal_nan=True) else "not finite where the other is"
    scale = float(np.linalg.norm(truth.ravel()))
    error = float(np.linalg.norm((mine - truth).ravel()))
    if error <= RIGHT * scale:
        return "right"
    if not scale:
        return "wrong: it is zero"
    if float(np.linalg.norm((mine + truth).ravel())) <= RIGHT * scale:
        return "wrong sign"
    if truth.size == 1 and (mine * truth < 0).all():
        return "wrong sign, and another size"
    percent = 100 * error / scale
    return f"off by {percent:.0f} %" if percent < 1000 else f"off by a factor of {error / scale:.2g}"


def _sizes(array: np.ndarray) -> str:
    return f"{array.shape}" if array.shape else "none, a single number"
