"""The formulas of derivatives: read from the text that a node has, decided for its operands, and evaluated.

`slope` finds what a formula multiplies the gradient by.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..trace.facts import Code

_PI = {"pi": ast.Constant(math.pi)}
_ONE = ast.Constant(1)
ZERO = ast.Constant(0)
# Functions that pass the gradient on as it is, in another shape: repeated, summed, or in another dtype.
_SHAPING = ("expand", "put_back", "sum_to", "to_copy", "restored")
# A file may say whatever it likes.
_LONGEST_TEXT = 1500  # characters of an operation's formulas
_LARGEST = 600  # parts of one formula
_DEEPEST = 60  # levels of parts within each other


def _sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(0.5 * np.asarray(x, float)) + 1)


# What a formula may compute with: nothing here takes long or much room, whatever it is given.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "sign")},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "where": np.where,
    "same_sign": lambda name, slope: slope,
    "log_number": lambda base, exponent: np.log(base) if base else np.where(exponent >= 0, 0.0, -np.inf),
    "numel": math.prod,
}
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.Pow: np.power,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Formulas:
    """An operation's parameters, and the formula of each that takes a gradient, with nothing left to look up."""

    parameters: tuple[str, ...]
    of: Mapping[str, ast.expr]


@lru_cache(1000)
def read_formulas(code: tuple[Code, ...]) -> Formulas | None:
    """Return an operation's formulas as a node gives them; None if there are none that can be read."""
    texts = {each.name: each.text for each in code}
    if texts.keys() != {"forward", "backward"} or max(map(len, texts.values())) > _LONGEST_TEXT:
        return None
    parameters = tuple(re.findall(r"[(,]\s*(\w+)", texts["forward"]))
    formulas: dict[str, ast.expr] = {}
    helpers: dict[str, tuple[list[str], ast.expr]] = {}
    try:
        for line in texts["backward"].splitlines():
            if found := re.fullmatch(r"(\w+): (.*)", line):
                formulas[found[1]] = ast.parse(found[2], mode="eval").body
            elif found := re.fullmatch(r"(\w+)\(([\w, ]*)\) = (.*)", line):
                helpers[found[1]] = found[2].split(", "), ast.parse(found[3], mode="eval").body
        expanded = {name: replaced(_expanded(each, helpers), _PI) for name, each in formulas.items()}
        return Formulas(parameters, expanded)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def rebuilt(tree: ast.expr, change: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """Return the expression with each part changed, the innermost first; called functions and shapes stay."""
    if isinstance(tree, ast.BinOp):
        left, right = rebuilt(tree.left, change), rebuilt(tree.right, change)
        if left is not tree.left or right is not tree.right:
            tree = ast.BinOp(left, tree.op, right)
    elif isinstance(tree, ast.UnaryOp):
        inner = rebuilt(tree.operand, change)
        tree = tree if inner is tree.operand else ast.UnaryOp(tree.op, inner)
    elif isinstance(tree, ast.Call):
        args = [rebuilt(each, change) for each in tree.args]
        tree = tree if args == tree.args else ast.Call(tree.func, args, [])
    elif isinstance(tree, ast.Compare):
        left, others = rebuilt(tree.left, change), [rebuilt(each, change) for each in tree.comparators]
        if left is not tree.left or others != tree.comparators:
            tree = ast.Compare(left, tree.ops, others)
    elif isinstance(tree, ast.IfExp):
        parts = [rebuilt(each, change) for each in (tree.test, tree.body, tree.orelse)]
        tree = tree if parts == [tree.test, tree.body, tree.orelse] else ast.IfExp(*parts)
    return change(tree)


def call_of(tree: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the function name of a call, and its arguments; empty for anything else."""
    return (tree.func.id, tree.args) if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ("", [])


def _expanded(tree: ast.expr, helpers: Mapping[str, tuple[list[str], ast.expr]], depth: int = 0) -> ast.expr:
    """Return the formula with every abbreviation expanded; ValueError if it is too deep or large."""
    if depth > _DEEPEST or _depth(tree) > _DEEPEST:
        raise ValueError

    def expand(part: ast.expr) -> ast.expr:
        name, args = call_of(part)
        names, body = helpers.get(name, ((), part))
        if body is part or len(names) != len(args):
            return part
        return _expanded(replaced(body, dict(zip(names, args, strict=True))), helpers, depth + 1)

    expanded = rebuilt(tree, expand)
    if sum(1 for _ in ast.walk(expanded)) > _LARGEST:
        raise ValueError
    return expanded


def _depth(tree: ast.AST) -> int:
    """Return how deeply an expression is nested."""
    depth, level = 0, [tree]
    while level and depth <= _DEEPEST:
        depth, level = depth + 1, [child for each in level for child in ast.iter_child_nodes(each)]
    return depth


def replaced(tree: ast.expr, by: Mapping[str, ast.expr]) -> ast.expr:
    """Return the formula with names replaced by other expressions."""
    return rebuilt(tree, lambda part: by.get(part.id, part) if isinstance(part, ast.Name) else part)


def evaluated(tree: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression in float64; ValueError if it is unknown."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | str):
        return float(tree.value) if type(tree.value) is int else tree.value
    if isinstance(tree, ast.Name) and tree.id in known:
        return known[tree.id]
    if isinstance(tree, ast.Attribute) and ast.unparse(tree) in known:  # the shape of an operand
        return known[ast.unparse(tree)]
    if isinstance(tree, ast.BinOp) and type(tree.op) in OPERATORS:
        return OPERATORS[type(tree.op)](evaluated(tree.left, known), evaluated(tree.right, known))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -evaluated(tree.operand, known)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in OPERATORS:
        left, right = evaluated(tree.left, known), evaluated(tree.comparators[0], known)
        return left == right if isinstance(left, str) else OPERATORS[type(tree.ops[0])](left, right)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS:
        return _FUNCTIONS[tree.func.id](*[evaluated(each, known) for each in tree.args])
    raise ValueError


def settled(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """Return the formula for these operands: conditions on numbers and shapes are decided; ValueError if unknown."""

    def settle(part: ast.expr) -> ast.expr:
        if isinstance(part, ast.IfExp):
            return part.body if evaluated(part.test, known) else part.orelse
        if call_of(part)[0] == "count_of":  # so many values share one gradient
            return ast.Constant(known["count"])
        return ast.Constant(int(evaluated(part, known))) if call_of(part)[0] == "numel" else part

    return rebuilt(tree, settle)


def chosen(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """Return the slope with `where` decided, if all elements are in the same case and that has its own formula."""

    def choose(part: ast.expr) -> ast.expr:
        name, args = call_of(part)
        if name == "where" and len(args) == 3:
            held = np.asarray(evaluated(args[0], known))
            if held.all() or not held.any():
                branch = args[1] if held.all() else args[2]
                return part if isinstance(branch, ast.Constant) else branch
        return part

    try:
        return rebuilt(tree, choose)
    except ValueError:
        return tree


def is_plain(tree: ast.expr) -> bool:
    """Return True if an expression only reads numbers, operands and functions that any reader knows."""
    called = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    names = {each.func.id for each in called if isinstance(each.func, ast.Name)}
    return names <= _FUNCTIONS.keys() and not any(isinstance(each, ast.Attribute) for each in ast.walk(tree))


@lru_cache(1000)
def slope(tree: ast.expr) -> ast.expr | None:
    """Return what a gradient is multiplied by, element by element; None for other formulas."""
    if is_grad(tree):
        return _ONE
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = slope(tree.operand)
        return None if inner is None else ast.UnaryOp(ast.USub(), inner)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div):
        left, right = _has_grad(tree.left), _has_grad(tree.right)
        if left and right or right and isinstance(tree.op, ast.Div):
            return None
        inner = slope(tree.left if left else tree.right)
        if inner is None:
            return None
        return ast.BinOp(inner, tree.op, tree.right) if left else ast.BinOp(tree.left, tree.op, inner)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        name, args = tree.func.id, tree.args
        if name in _SHAPING and args and not any(map(_has_grad, args[1:])):
            return slope(args[0])
        if name == "times" and len(args) == 2 and not _has_grad(args[1]):
            inner = slope(args[0])
            return None if inner is None else ast.BinOp(inner, ast.Mult(), args[1])
        if name == "zeros_like":
            return ZERO
        if name == "where" and len(args) == 3 and not _has_grad(args[0]):
            branches = [slope(each) if _has_grad(each) else _nothing(each) for each in args[1:]]
            known = [each for each in branches if each is not None]
            return ast.Call(tree.func, [args[0], *known], []) if len(known) == len(branches) else None
    return None


def _nothing(tree: ast.expr) -> ast.expr | None:
    return ZERO if isinstance(tree, ast.Constant) and tree.value == 0 else None


def is_grad(tree: ast.AST) -> bool:
    """Return True if an expression is the gradient itself."""
    return isinstance(tree, ast.Name) and tree.id == "grad"


def _has_grad(tree: ast.expr) -> bool:
    return any(map(is_grad, ast.walk(tree)))
