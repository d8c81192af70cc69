"""The text of a derivative taken apart: what a gradient is multiplied by, in the names of a program, and its value."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..trace.schema import Code
from ..trace.values import number

_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PI = {"pi": ast.Constant(math.pi)}
_ONE, _ZERO = ast.Constant(1), ast.Constant(0)
# Functions that pass the gradient on as it is, in another shape: repeated, summed, or in another dtype.
_SHAPING = ("expand", "put_back", "sum_to", "to_copy", "restored")
_LONGEST, _LARGEST, _DEEPEST = 1500, 600, 60  # characters, parts and levels: a file may say whatever it likes


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
_OPERATORS: dict[type, Callable[..., Any]] = {
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
def read(code: tuple[Code, ...]) -> Formulas | None:
    """The formulas of an operation as a node tells them; None where there are none that can be read."""
    texts = {each.name: each.text for each in code}
    if texts.keys() != {"forward", "backward"} or max(map(len, texts.values())) > _LONGEST:
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
    """The expression with each part changed, the innermost first; what a function is called and a shape stay."""
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


def _name_of(tree: ast.expr) -> str:
    """What a call calls; empty for anything else."""
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def _expanded(tree: ast.expr, helpers: Mapping[str, tuple[list[str], ast.expr]], depth: int = 0) -> ast.expr:
    """The formula with every abbreviation replaced by what it stands for; ValueError for one that grows too large."""
    if depth > _DEEPEST or _depth(tree) > _DEEPEST:
        raise ValueError("nested too deeply")

    def expand(part: ast.expr) -> ast.expr:
        names, body = helpers.get(_name_of(part), ((), part))
        if body is part or len(names) != len(part.args):
            return part
        return _expanded(replaced(body, dict(zip(names, part.args, strict=True))), helpers, depth + 1)

    expanded = rebuilt(tree, expand)
    if sum(1 for _ in ast.walk(expanded)) > _LARGEST:
        raise ValueError("too large")
    return expanded


def _depth(tree: ast.AST) -> int:
    """How deeply an expression is nested."""
    depth, level = 0, [tree]
    while level and depth <= _DEEPEST:
        depth, level = depth + 1, [child for each in level for child in ast.iter_child_nodes(each)]
    return depth


def replaced(tree: ast.expr, by: Mapping[str, ast.expr]) -> ast.expr:
    """The formula with other expressions in place of names."""
    return rebuilt(tree, lambda part: by.get(part.id, part) if isinstance(part, ast.Name) else part)


def value_of(tree: ast.expr, known: Mapping[str, Any]) -> Any:
    """What an expression comes to, in float64; ValueError where that is not known."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float | str):
        return float(tree.value) if type(tree.value) is int else tree.value
    if isinstance(tree, ast.Name) and tree.id in known:
        return known[tree.id]
    if isinstance(tree, ast.Attribute) and ast.unparse(tree) in known:  # the shape of an operand
        return known[ast.unparse(tree)]
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        return _OPERATORS[type(tree.op)](value_of(tree.left, known), value_of(tree.right, known))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -value_of(tree.operand, known)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPERATORS:
        left, right = value_of(tree.left, known), value_of(tree.comparators[0], known)
        return left == right if isinstance(left, str) else _OPERATORS[type(tree.ops[0])](left, right)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS:
        return _FUNCTIONS[tree.func.id](*[value_of(each, known) for each in tree.args])
    raise ValueError("not known")


def settled(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """The formula for these operands: what depends on a number or a shape alone is decided; ValueError if unknown."""

    def settle(part: ast.expr) -> ast.expr:
        if isinstance(part, ast.IfExp):
            return part.body if value_of(part.test, known) else part.orelse
        if _name_of(part) == "count_of":  # so many values share one gradient
            return ast.Constant(known["count"])
        return ast.Constant(int(value_of(part, known))) if _name_of(part) == "numel" else part

    return rebuilt(tree, settle)


def chosen(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """The slope with `where` decided, if all elements are in the same case and that has a formula of its own."""

    def choose(part: ast.expr) -> ast.expr:
        if _name_of(part) == "where" and len(part.args) == 3:
            held = np.asarray(value_of(part.args[0], known))
            if held.all() or not held.any():
                branch = part.args[1] if held.all() else part.args[2]
                return part if isinstance(branch, ast.Constant) else branch
        return part

    try:
        return rebuilt(tree, choose)
    except ValueError:
        return tree


def is_plain(tree: ast.expr) -> bool:
    """Whether an expression reads nothing but numbers, operands and functions that any reader knows."""
    called = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    names = {each.func.id for each in called if isinstance(each.func, ast.Name)}
    return names <= _FUNCTIONS.keys() and not any(isinstance(each, ast.Attribute) for each in ast.walk(tree))


@lru_cache(1000)
def slope(tree: ast.expr) -> ast.expr | None:
    """What a gradient is multiplied by, element by element; None where it is not so."""
    if isinstance(tree, ast.Name) and tree.id == "grad":
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
            return _ZERO
        if name == "where" and len(args) == 3 and not _has_grad(args[0]):
            branches = [slope(each) if _has_grad(each) else _nothing(each) for each in args[1:]]
            return None if None in branches else ast.Call(tree.func, [args[0], *branches], [])
    return None


def _nothing(tree: ast.expr) -> ast.expr | None:
    return _ZERO if isinstance(tree, ast.Constant) and tree.value == 0 else None


def _has_grad(tree: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "grad" for each in ast.walk(tree))


def simple(tree: ast.expr) -> ast.expr:
    """The expression without what changes nothing: numbers computed, no times 1, no to the power of 1."""
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
    if not isinstance(tree, ast.BinOp):
        return tree
    left, right = simple(tree.left), simple(tree.right)
    one, two, op = _constant(left), _constant(right), type(tree.op)
    if one is not None and two is not None and op in _OPERATORS:
        with np.errstate(all="ignore"):
            value = float(_OPERATORS[op](float(one), float(two)))
        return ast.Constant(value) if math.isfinite(value) else ast.BinOp(left, tree.op, right)
    if op is ast.Mult and 1 in (one, two):
        return right if one == 1 else left
    if op is ast.Mult and -1 in (one, two):
        return simple(ast.UnaryOp(ast.USub(), right if one == -1 else left))
    if op is ast.Mult and 0 in (one, two):
        return _ZERO
    if op in (ast.Div, ast.Pow) and two == 1:
        return left
    if op is ast.Mult and isinstance(left, ast.UnaryOp):
        return ast.UnaryOp(left.op, simple(ast.BinOp(left.operand, tree.op, right)))
    if op is ast.Mult and ast.dump(left) == ast.dump(right):
        return ast.BinOp(left, ast.Pow(), ast.Constant(2))
    if op is ast.Div and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
        return simple(ast.BinOp(left.left, left.op, ast.BinOp(left.right, ast.Mult(), right)))
    return ast.BinOp(left, tree.op, right)


def _constant(tree: ast.expr) -> float | None:
    value = tree.value if isinstance(tree, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_of(tree: ast.expr) -> str:
    """The expression as a reader likes it: `1 − h²`, `2 · x`."""
    return re.sub(r" \*\* ([2-9])(?![\w.])", lambda found: _RAISED[int(found[1])], _unparsed(tree))


def factor_of(tree: ast.expr) -> str:
    """The expression as it stands behind a ×: in brackets, if it needs them."""
    text = text_of(tree)
    raised = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow) and text[-1] in _RAISED
    whole = isinstance(tree, ast.Name | ast.Call | ast.Subscript | ast.Constant) and not text.startswith("-")
    return text if whole or raised else f"({text})"


def _unparsed(tree: ast.expr) -> str:
    text = ast.unparse(rebuilt(tree, _shortened))
    for plain, nice in ((" * ", " · "), (" - ", " − "), (" <= ", " ≤ "), (" >= ", " ≥ "), (" == ", " = ")):
        text = text.replace(plain, nice)
    return text


def _shortened(part: ast.expr) -> ast.expr:
    if isinstance(part, ast.Constant) and isinstance(part.value, float):
        return ast.Name(number(part.value))
    name = _name_of(part)
    if name == "where" and len(part.args) == 3:
        condition, yes, no = map(_unparsed, part.args)
        return ast.Name(f"({yes} where {condition}, else {no})")
    if name == "log_number":
        return ast.Call(ast.Name("log"), part.args[:1], [])
    return part.args[1] if name == "same_sign" and len(part.args) == 2 else part
