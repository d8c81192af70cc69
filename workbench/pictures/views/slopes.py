"""The local slope: what a node that runs multiplies the gradient by that it sends on, and where that comes from.

The text of the derivative is taken apart (`Formulas`), put into the names of the program, and given its value.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops.core.registry import DEFAULTS
from ..scene.metric import LABEL_COLUMNS, columns
from ..trace.frame import Frame, NodeState
from ..trace.values import Value, number
from .slope_formulas import call_of, chosen, evaluated, is_grad, is_plain, read_formulas, replaced, settled, slope
from .slope_text import expression_text, factor_of, simple
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
        if came.batch or sent.batch or "complex" in (came.dtype[:7], sent.dtype[:7]):  # formulas of real numbers only
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
        name, args = call_of(tree)
        if not args:
            return None
        if name == "times":
            by = self._values.get(args[1].id) if isinstance(args[1], ast.Name) else None
            return self._whole_matrix(args[0]) if by == 1 else None
        if name in _RESHAPING and is_grad(args[0]) and math.prod(self._came.shape) == math.prod(self._sent.shape):
            text = f"grad, reshaped to {self._sent.shape}"
            return Slope(text, f"{text} = {self._sent.text()}")
        if name in ("t", "transpose") and is_grad(args[0]):
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
        name, args = call_of(tree)
        turned = bool(args) and name in ("t", "transpose")
        inner = args[0] if turned else tree
        if not isinstance(inner, ast.Name):
            return None
        value = self._came if is_grad(inner) else self._shown.get(inner.id)
        if value is None:
            return None
        shape = (*value.shape[:-2], *value.shape[:-3:-1]) if turned else value.shape
        array = None if value.values is None else _array(value).swapaxes(-2, -1) if turned else _array(value)
        name = "grad" if is_grad(inner) else factor_of(self._named(inner))
        return f"{name}{'ᵀ' * turned} {shape}", array


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
