"""The local slope: what a node that runs multiplies the gradient by that it sends on, and where that comes from.

The text of the derivative is taken apart (`Formulas`), put into the names of the program, and given its value.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..ops.core.registry import DEFAULTS
from ..scene.labels import LABEL_COLUMNS, columns
from ..trace.facts import Code
from ..trace.frame import Frame, NodeState
from ..trace.values import Value, number
from .value_display import norm_of

_LONGEST = 24  # columns of an expression that stands for a tensor without a name
_WIDEST = 60  # columns of a slope
_LISTS = ("dim", "dims", "size", "input_sizes", "repeats", "shifts", "indices", "geometry", "layout", "padding")
_UNNAMED = {"self": ast.Name("input")}
_RESHAPING = ("reshape", "squeeze", "unsqueeze", "view")
_UNKNOWN = (ValueError, TypeError, KeyError, IndexError, OverflowError, ZeroDivisionError)
_NEAR = 2e-3  # how far, relatively, a product may lie from the gradient it is said to be: float16 has 3 digits


@dataclass(frozen=True, slots=True)
class Slope:
    """How a gradient came about: on an arrow's label, and in a sentence. `product` says that it ends in the result."""

    label: str
    sentence: str
    product: bool = False


class Slopes:
    """Find the slopes of one trace; each is found once, because a node's box is drawn again and again.

    `whole` are the nodes that gave an expression of the program its value, and not a part on the path to that.
    """

    def __init__(self, whole: Collection[str]) -> None:
        self._whole = whole
        self._known: dict[str, tuple[Value | None, Value | None, Slope | None]] = {}

    def __call__(self, frame: Frame, key: str) -> Slope | None:
        """Return the slope of an edge that a gradient went along; None if it isn't known for certain."""
        edge = frame.edges[key]
        node = frame.nodes.get(edge.target or "")
        if node is None or edge.grad is None or len(node.received) != 1 or node.received[0] is None or node.hooked:
            return None
        came, sent, found = self._known.get(key, (None, None, None))
        if came is not node.received[0] or sent is not edge.grad:
            came, sent = node.received[0], edge.grad
            with np.errstate(all="ignore"):
                found = _Finder(frame, node, self._whole).slope(int(key.rpartition(".")[2]), came, sent)
            self._known[key] = came, sent, found
        return found


class _Finder:
    """What is known of one node's operands: their values, and what they are called."""

    def __init__(self, frame: Frame, node: NodeState, whole: Collection[str]) -> None:
        self._frame, self._node, self._whole = frame, node, whole
        made = node.made
        self._formulas = None if made.custom else read_formulas(made.code)
        self._values: dict[str, Any] = {}
        self._names: dict[str, ast.expr] = {}
        self._shown: dict[str, Value] = {}
        if self._formulas is None:
            return
        plain = all(arg.tensor is None or arg.text in ("", "{}") for arg in made.args)
        args = list(zip(made.args, node.given, strict=True)) if plain else []
        for name, (arg, given) in zip(self._formulas.parameters, args, strict=False):
            if name in _LISTS:  # of several numbers each is an argument of its own: what follows has another place
                break
            if arg.tensor is None:
                self._take_text(name, arg.text)
            elif given is not None:
                self._take(name, arg.tensor, given)
        for name in self._formulas.parameters[len(made.args) :] if plain and made.args else ():
            usual = DEFAULTS.get(name, (None,))[0]
            if isinstance(usual, int | float | str):
                self._take_text(name, str(usual))
        for saved, value in zip(made.saved, node.saved, strict=True):
            if value is not None and saved.packed is None:
                self._take(saved.name, saved.tensor, value)

    def _take(self, name: str, tensor: str | None, value: Value) -> None:
        """Note an operand, or the result."""
        self._shown[name], self._values[f"{name}.shape"] = value, value.shape
        if value.values is not None and not value.batch:
            self._values[name] = np.array(value.values).reshape(value.shape)
        if tensor is None:
            if not value.shape and value.values is not None:
                self._names[name] = ast.Constant(value.values[0])
        elif (called := self._called(tensor)) is not None:
            self._names[name] = called

    def _take_text(self, name: str, text: str) -> None:
        """Note an operand that isn't a tensor."""
        try:
            value = ast.literal_eval(text) if len(text) <= _WIDEST else None
        except (ValueError, SyntaxError):
            value = text
        if isinstance(value, bool | int | float | str):
            self._values[name] = value if isinstance(value, str) else float(value)
            self._names[name] = ast.Constant(value)
        elif isinstance(value, tuple):
            self._values[name] = value

    def _called(self, tensor: str) -> ast.expr | None:
        """Return a tensor's variable, or the expression that computed it."""
        frame = self._frame
        name = frame.variable(tensor)
        state = frame.tensors[tensor]
        if name is None and state.node is not None and state.node in self._whole:
            name = frame.nodes[state.node].made.path[-1].title
        if name is None or columns(name) > _LONGEST:
            return None
        try:
            return ast.parse(name, mode="eval").body
        except (SyntaxError, ValueError):
            return ast.Name(name)  # such as leaves[0]'s, where it is no expression

    def slope(self, index: int, came: Value, sent: Value) -> Slope | None:
        """Return how the gradient of the index-th input came about."""
        if came.batch or sent.batch:
            return None
        self._came, self._sent = came, sent
        formula = self._formula(index)
        factor = None if formula is None else slope(formula)
        if factor is not None and is_plain(factor):
            return self._by(chosen(factor, self._values))
        if formula is not None and (found := self._whole_matrix(formula)) is not None:
            return found
        return self._scalar(None, None)

    def _formula(self, index: int) -> ast.expr | None:
        """Return the derivative for one input, for these operands."""
        if self._formulas is None:
            return None
        tensors = [name for name in self._formulas.parameters if name in self._formulas.of]
        if len(tensors) != len(self._node.made.edges) or index >= len(tensors):
            return None
        self._values[f"{tensors[index]}.shape"] = self._sent.shape
        self._values["count"] = math.prod(self._sent.shape) // max(1, math.prod(self._came.shape))
        try:
            return settled(self._formulas.of[tensors[index]], self._values)
        except _UNKNOWN:
            return None

    def _by(self, factor: ast.expr) -> Slope | None:
        """Return the slope if it is one number, or one for each element."""
        came, sent = self._came, self._sent
        try:
            value = evaluated(factor, self._values)
        except _UNKNOWN:
            value = None
        if math.prod(came.shape) == math.prod(sent.shape) == 1:
            return self._scalar(factor, value)
        if value is not None and came.values is not None and sent.values is not None:
            if not _gives(_array(came), value, _array(sent)):
                return None
        elif isinstance(value, float) and came.shape == sent.shape and not _near(came.norm * abs(value), sent.norm):
            return None
        named = self._named(factor)
        text, alone = expression_text(named), isinstance(named, ast.Constant)
        words = {"1": "grad", "-1": "−grad"}.get(text, f"grad × {factor_of(named)}")
        ends = ", unchanged" if text == "1" else "" if alone else ", elementwise" if self._reads_arrays(factor) else ""
        sizes = math.prod(sent.shape) - math.prod(came.shape)
        if came.shape != sent.shape and not (sizes > 0 and self._reads_arrays(factor)):
            ends = f", {'summed to' if sizes < 0 else 'broadcast to' if sizes else 'as'} {sent.shape or 'one number'}"
        label = words + ends if columns(words + ends) <= LABEL_COLUMNS else words
        filled = "" if alone else factor_of(self._filled(factor))
        if filled and "…" not in filled + came.text() and "from " not in filled + came.text():
            told = f"{words}{ends} = {came.text()} × {filled} = {sent.text()}"
        else:
            told = f"{words}{ends}: {norm_of(came.norm)} becomes {norm_of(sent.norm)}"
        return Slope(label, told) if columns(words) <= _WIDEST else None

    def _scalar(self, factor: ast.expr | None, value: Any) -> Slope | None:
        """Return the product of two numbers, and where the second comes from."""
        came, sent = self._came, self._sent
        if not came.values or not sent.values or len(came.values) != 1 or len(sent.values) != 1:
            return None
        (grad,), (result,) = came.values, sent.values
        known = None if value is None or np.size(value) != 1 else float(np.ravel(value)[0])
        if not grad:
            by = known if not result else None
        else:
            by = result / grad
            if known is not None and not _near(known * grad, result):
                return None
        if by is None or not math.isfinite(by) or not math.isfinite(grad) or not math.isfinite(result):
            return None
        named = None if factor is None or known is None else self._named(factor)
        origin = "" if named is None or isinstance(named, ast.Constant) else expression_text(named)
        origin = origin if columns(origin) <= _WIDEST else ""
        start, by_text, end = came.text(), number(by, ".0"), sent.text()
        label = f"{start} × {by_text} ({origin}) = {end}" if origin else f"{start} × {by_text} = {end}"
        if columns(label) > LABEL_COLUMNS and origin:
            label = f"{start} × {by_text} = {end}\n{by_text}: {origin}"
        if not origin or factor is None or named is None:
            return Slope(label, label, product=True)
        filled = factor_of(self._filled(factor))
        told = f"grad × {factor_of(named)} = {start} × {filled}"
        told += "" if filled == by_text else f" = {start} × {by_text}"
        return Slope(label, f"{told} = {end}", product=True)

    def _named(self, tree: ast.expr) -> ast.expr:
        """Return an expression in the program's names."""
        return simple(replaced(tree, _UNNAMED | self._names))

    def _filled(self, tree: ast.expr) -> ast.expr:
        """Return an expression with the values of its operands."""
        by = {name: ast.Name(value.text(line=_LONGEST)) for name, value in self._shown.items()}
        return simple(replaced(tree, self._names | by))

    def _reads_arrays(self, tree: ast.expr) -> bool:
        """Return True if an expression reads operands with several elements."""
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        return any(math.prod(self._shown[name].shape) > 1 for name in names & self._shown.keys())

    def _whole_matrix(self, tree: ast.expr) -> Slope | None:
        """Return a matrix product, or the gradient in another order or shape; None for anything else."""
        name, args = _call(tree)
        if not args:
            return None
        if name == "times":
            by = self._values.get(args[1].id) if isinstance(args[1], ast.Name) else None
            return self._whole_matrix(args[0]) if by == 1 else None
        if name in _RESHAPING and _is_grad(args[0]) and math.prod(self._came.shape) == math.prod(self._sent.shape):
            text = f"grad, reshaped to {self._sent.shape}"
            return Slope(text, f"{text} = {self._sent.text()}")
        if name in ("t", "transpose") and _is_grad(args[0]):
            text = f"gradᵀ, of the shape {self._sent.shape}"
            return Slope(text, f"{text} = {self._sent.text()}")
        if name not in ("mm", "bmm", "mv") or len(args) != 2:
            return None
        one, other = self._side(args[0]), self._side(args[1])
        if one is None or other is None:
            return None
        (left, a), (right, b) = one, other
        if a is not None and b is not None and self._sent.values is not None:
            near = _NEAR * float(np.max(np.abs(a) @ np.abs(b), initial=0.0))
            if not np.allclose(a @ b, _array(self._sent), rtol=_NEAR, atol=near):
                return None
        return Slope(f"{left} @ {right}", f"{left} @ {right} = {self._sent.text()}")

    def _side(self, tree: ast.expr) -> tuple[str, Any] | None:
        """Return one factor of a matrix product: its name and shape, and its values if they are known."""
        name, args = _call(tree)
        turned = bool(args) and name in ("t", "transpose")
        inner = args[0] if turned else tree
        if not isinstance(inner, ast.Name):
            return None
        value = self._came if _is_grad(inner) else self._shown.get(inner.id)
        if value is None:
            return None
        shape = (*value.shape[:-2], *value.shape[:-3:-1]) if turned else value.shape
        array = None if value.values is None else _array(value).swapaxes(-2, -1) if turned else _array(value)
        name = "grad" if _is_grad(inner) else factor_of(self._named(inner))
        return f"{name}{'ᵀ' * turned} {shape}", array


def _is_grad(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id == "grad"


def _array(value: Value) -> np.ndarray:
    return np.array(value.values, float).reshape(value.shape)


def _near(one: float, other: float) -> bool:
    return math.isfinite(one) and abs(one - other) <= _NEAR * max(abs(one), abs(other))


def _gives(grad: np.ndarray, by: Any, result: np.ndarray) -> bool:
    """Return True if the gradient times the slope is the result, broadcast or summed to its shape."""
    ways = [grad.shape]
    if grad.ndim < result.ndim and np.size(by) == 1:  # the dimensions that it lacks may be any of the result's
        for kept in itertools.combinations(range(result.ndim), grad.ndim):
            if tuple(result.shape[d] for d in kept) == grad.shape:
                ways.append(tuple(result.shape[d] if d in kept else 1 for d in range(result.ndim)))
    for way in ways:
        try:
            product = grad.reshape(way) * by
            if product.size < result.size:
                product = np.broadcast_to(product, result.shape)
        except ValueError:
            continue
        product = product[(None,) * (result.ndim - product.ndim)]
        near = _NEAR * float(np.abs(product).max(initial=0.0))
        ahead = tuple(range(product.ndim - result.ndim))
        alike = tuple(d for d, size in enumerate(result.shape) if size == 1 != product.shape[d + len(ahead)])
        total = product.sum(axis=ahead) if ahead else product
        total = total.sum(axis=alike, keepdims=True) if alike else total
        if total.shape == result.shape and np.allclose(total, result, rtol=_NEAR, atol=near * 1e-2, equal_nan=True):
            return True
    return False


_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PI = {"pi": ast.Constant(math.pi)}
_ONE = ast.Constant(1)
_ZERO = ast.Constant(0)
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


def _call(tree: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the function name of a call, and its arguments; empty for anything else."""
    return (tree.func.id, tree.args) if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ("", [])


def _expanded(tree: ast.expr, helpers: Mapping[str, tuple[list[str], ast.expr]], depth: int = 0) -> ast.expr:
    """Return the formula with every abbreviation expanded; ValueError if it is too deep or large."""
    if depth > _DEEPEST or _depth(tree) > _DEEPEST:
        raise ValueError

    def expand(part: ast.expr) -> ast.expr:
        name, args = _call(part)
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
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        return _OPERATORS[type(tree.op)](evaluated(tree.left, known), evaluated(tree.right, known))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -evaluated(tree.operand, known)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPERATORS:
        left, right = evaluated(tree.left, known), evaluated(tree.comparators[0], known)
        return left == right if isinstance(left, str) else _OPERATORS[type(tree.ops[0])](left, right)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS:
        return _FUNCTIONS[tree.func.id](*[evaluated(each, known) for each in tree.args])
    raise ValueError


def settled(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """Return the formula for these operands: conditions on numbers and shapes are decided; ValueError if unknown."""

    def settle(part: ast.expr) -> ast.expr:
        if isinstance(part, ast.IfExp):
            return part.body if evaluated(part.test, known) else part.orelse
        if _call(part)[0] == "count_of":  # so many values share one gradient
            return ast.Constant(known["count"])
        return ast.Constant(int(evaluated(part, known))) if _call(part)[0] == "numel" else part

    return rebuilt(tree, settle)


def chosen(tree: ast.expr, known: Mapping[str, Any]) -> ast.expr:
    """Return the slope with `where` decided, if all elements are in the same case and that has its own formula."""

    def choose(part: ast.expr) -> ast.expr:
        name, args = _call(part)
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
            known = [each for each in branches if each is not None]
            return ast.Call(tree.func, [args[0], *known], []) if len(known) == len(branches) else None
    return None


def _nothing(tree: ast.expr) -> ast.expr | None:
    return _ZERO if isinstance(tree, ast.Constant) and tree.value == 0 else None


def _has_grad(tree: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "grad" for each in ast.walk(tree))


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
    if one is not None and two is not None and type(op) in _OPERATORS:
        with np.errstate(all="ignore"):
            value = float(_OPERATORS[type(op)](float(one), float(two)))
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
        return _ZERO
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
    name, args = _call(part)
    if name == "where" and len(args) == 3:
        condition, yes, no = map(_unparsed, args)
        return ast.Name(f"({yes} where {condition}, else {no})")
    if name == "log_number":
        return ast.Call(ast.Name("log"), args[:1], [])
    return args[1] if name == "same_sign" and len(args) == 2 else part
