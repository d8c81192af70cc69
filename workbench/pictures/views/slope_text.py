"""The expression of a slope as a person writes it: simplified, with `·` and raised exponents."""

from __future__ import annotations

import ast
import math
import re

import numpy as np

from ..trace.values import number
from .slope_formulas import OPERATORS, ZERO, call_of, rebuilt

_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def simple(tree: ast.expr) -> ast.expr:
    """Return the expression without no-ops: numbers computed, no factor 1, no exponent 1."""
    if isinstance(tree, ast.Call):
        return ast.Call(tree.func, [simple(each) for each in tree.args], [])
    if isinstance(tree, ast.Compare):
        return ast.Compare(simple(tree.left), tree.ops, [simple(each) for each in tree.comparators])
    if isinstance(tree, ast.UnaryOp):
        inner = simple(tree.operand)
        if (value := _constant(inner)) is not None:
            return ast.Constant(-value)
        if isinstance(inner, ast.UnaryOp):
            return inner.operand
        return ast.UnaryOp(tree.op, inner)
    return _simple_pair(simple(tree.left), tree.op, simple(tree.right)) if isinstance(tree, ast.BinOp) else tree


def _simple_pair(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    """Return two simple expressions joined by an operator: a number if both are."""
    one, two = _constant(left), _constant(right)
    if one is not None and two is not None and type(op) in OPERATORS:
        with np.errstate(all="ignore"):
            value = float(OPERATORS[type(op)](float(one), float(two)))
        return ast.Constant(value) if math.isfinite(value) else ast.BinOp(left, op, right)
    if isinstance(op, ast.Mult):
        return _simple_product(left, op, right)
    if isinstance(op, ast.Div | ast.Pow) and two == 1:
        return left
    if isinstance(op, ast.Div) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
        return simple(ast.BinOp(left.left, op, ast.BinOp(left.right, ast.Mult(), right)))  # a / b / c = a / (b · c)
    return ast.BinOp(left, op, right)


def _simple_product(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    """Return the product of two simple expressions, not both numbers: one of them, a leading minus, or a square."""
    factors = _constant(left), _constant(right)
    if 1 in factors:
        return right if factors[0] == 1 else left
    if -1 in factors:
        return simple(ast.UnaryOp(ast.USub(), right if factors[0] == -1 else left))
    if 0 in factors:
        return ZERO
    if isinstance(left, ast.UnaryOp):
        return ast.UnaryOp(left.op, simple(ast.BinOp(left.operand, op, right)))
    if ast.dump(left) == ast.dump(right):
        return ast.BinOp(left, ast.Pow(), ast.Constant(2))
    return ast.BinOp(left, op, right)


def _constant(tree: ast.expr) -> float | None:
    value = tree.value if isinstance(tree, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def expression_text(tree: ast.expr) -> str:
    """Return the expression in readable form: `1 − h²`, `2 · x`."""
    return re.sub(r" \*\* ([2-9])(?![\w.])", lambda found: _RAISED[int(found[1])], _unparsed(tree))


def factor_of(tree: ast.expr) -> str:
    """Return the expression as it is after a ×: in brackets, if it needs them."""
    text = expression_text(tree)
    raised = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow) and text[-1] in _RAISED
    whole = isinstance(tree, ast.Name | ast.Call | ast.Subscript | ast.Constant) and not text.startswith("-")
    return text if whole or raised else f"({text})"


def _unparsed(tree: ast.expr) -> str:
    text = ast.unparse(rebuilt(tree, _shortened))
    for plain, nice in ((" * ", " · "), (" - ", " − "), (" <= ", " ≤ "), (" >= ", " ≥ "), (" == ", " = ")):
        text = text.replace(plain, nice)
    return text


def _bracketed(operand: ast.expr) -> ast.expr:
    """Return a signed or complex number as it is written next to an operator."""
    if isinstance(operand, ast.Name) and re.fullmatch(r"-?[\d.]\S*j|-.+", operand.id):
        return ast.Name(f"({operand.id})")
    return operand


def _shortened(part: ast.expr) -> ast.expr:
    if isinstance(part, ast.Constant) and isinstance(part.value, float):
        return ast.Name(number(part.value))
    if isinstance(part, ast.UnaryOp):
        return ast.UnaryOp(part.op, _bracketed(part.operand))
    if isinstance(part, ast.BinOp):
        left = _bracketed(part.left) if isinstance(part.op, ast.Pow) else part.left
        return ast.BinOp(left, part.op, part.right if isinstance(part.op, ast.Pow) else _bracketed(part.right))
    name, args = call_of(part)
    if name == "where" and len(args) == 3:
        condition, yes, no = map(_unparsed, args)
        return ast.Name(f"({yes} where {condition}, else {no})")
    if name == "log_number":
        return ast.Call(ast.Name("log"), args[:1], [])
    return args[1] if name == "same_sign" and len(args) == 2 else part
