"""What a custom Function computes, if its recorded results equal a product, a sum or a quotient of its inputs.

Its derivative is then known from a single call, and is compared with the gradients that backward sent.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ...pictures.trace.values import Value
from .graph import RecordedNode

_EXACT = 1e-4  # as a share of the norm, by which a result may differ: it's rounding
_WRONG = 0.05  # by which a gradient may not
_NUMBERS = 3  # of different size, by which a function of single numbers is known

Array = Any


class _Form(NamedTuple):
    """A formula of some inputs, and the inputs' gradients from the result's gradient."""

    text: str
    result: Callable[..., Array]
    gradients: Callable[..., Sequence[Array]]


class Equal(NamedTuple):
    """The formula that a result equals, and the inputs whose gradients differ from those of the formula."""

    text: str
    wrong: tuple[str, ...]
    expected: tuple[Array, ...]  # of each of these
    sent: tuple[Array, ...]


def _t(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


_OF_NUMBERS = (  # functions of single numbers
    _Form("exp({0})", lambda a: np.exp(a), lambda g, a: [g * np.exp(a)]),
    _Form("{0} ** 2", lambda a: a * a, lambda g, a: [g * 2 * a]),
    _Form("{0} ** 3", lambda a: a**3, lambda g, a: [g * 3 * a * a]),
    _Form("sqrt({0})", lambda a: np.sqrt(a), lambda g, a: [g * 0.5 / np.sqrt(a)]),
    _Form("log({0})", lambda a: np.log(a), lambda g, a: [g / a]),
    _Form("1 / {0}", lambda a: 1 / a, lambda g, a: [-g / a / a]),
    _Form("sin({0})", lambda a: np.sin(a), lambda g, a: [g * np.cos(a)]),
    _Form("cos({0})", lambda a: np.cos(a), lambda g, a: [-g * np.sin(a)]),
    _Form("tanh({0})", lambda a: np.tanh(a), lambda g, a: [g * (1 - np.tanh(a) ** 2)]),
    _Form("sigmoid({0})", lambda a: _sigmoid(a), lambda g, a: [g * _sigmoid(a) * _sigmoid(-a)]),
    _Form("{0} * sigmoid({0})", lambda a: a * _sigmoid(a), lambda g, a: [g * _sigmoid(a) * (1 + a * _sigmoid(-a))]),
    _Form("log(1 + exp({0}))", lambda a: np.logaddexp(a, 0), lambda g, a: [g * _sigmoid(a)]),
)
_FORMS: dict[int, tuple[_Form, ...]] = {
    1: (
        _Form("{0}.sum()", lambda a: a.sum(), lambda g, a: [g + 0 * a]),
        _Form("{0}.mean()", lambda a: a.mean(), lambda g, a: [g / a.size + 0 * a]),
        _Form("{0} @ {0}.t()", lambda a: a @ _t(a), lambda g, a: [(g + _t(g)) @ a]),
        _Form("{0} @ {0}", lambda a: a @ a, lambda g, a: [g @ _t(a) + _t(a) @ g]),
        _Form("{0}.sum(-1)", lambda a: a.sum(-1), lambda g, a: [g[..., None] + 0 * a]),
        _Form("{0}.mean(-1)", lambda a: a.mean(-1), lambda g, a: [g[..., None] / a.shape[-1] + 0 * a]),
        _Form("softmax({0}, -1)", lambda a: _softmax(a), lambda g, a: [_centered(g, _softmax(a)) * _softmax(a)]),
    ),
    2: (
        _Form("{0} @ {1}", lambda a, b: a @ b, lambda g, a, b: [g @ _t(b), _t(a) @ g]),
        _Form("{0} @ {1}.t()", lambda a, b: a @ _t(b), lambda g, a, b: [g @ b, _t(g) @ a]),
        _Form("{0}.t() @ {1}", lambda a, b: _t(a) @ b, lambda g, a, b: [b @ _t(g), a @ g]),
        _Form("{0} * {1}", lambda a, b: a * b, lambda g, a, b: [g * b, g * a]),
        _Form("{0} + {1}", lambda a, b: a + b, lambda g, a, b: [g, g]),
        _Form("{0} - {1}", lambda a, b: a - b, lambda g, a, b: [g, -g]),
        _Form("{0} / {1}", lambda a, b: a / b, lambda g, a, b: [g / b, -g * a / b / b]),
    ),
    3: (
        _Form("{0} @ {1} + {2}", lambda a, b, c: a @ b + c, lambda g, a, b, c: [g @ _t(b), _t(a) @ g, g]),
        _Form("{0} @ {1}.t() + {2}", lambda a, b, c: a @ _t(b) + c, lambda g, a, b, c: [g @ b, _t(g) @ a, g]),
        _Form("{0} * {1} + {2}", lambda a, b, c: a * b + c, lambda g, a, b, c: [g * b, g * a, g]),
    ),
}


def _sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _centered(g: Array, y: Array) -> Array:
    return g - (g * y).sum(-1, keepdims=True)


def equal_of(node: RecordedNode) -> Equal | None:
    """Return the formula of a call's result; if several fit, the one whose gradients differ least."""
    given, (result, grad) = _arrays(node.inputs), (_arrays(node.outputs), _arrays(node.gradients))
    sent = [None if value is None else _array(value) for value in node.sent]
    if not given or len(result) != 1 or len(grad) != 1 or len(sent) != len(given):
        return None
    if not np.any(grad[0]) or any(each.shape == result[0].shape and _is_near(each, result[0]) for each in given):
        return None  # passed on: another gradient may be the purpose
    names, found = _names(node), []
    with np.errstate(all="ignore"):
        for order, form, expected in _fitting(given, result[0], grad[0]):
            pairs = [(at, each, sent[at]) for at, each in zip(order, expected, strict=True) if sent[at] is not None]
            wrong = [(names[at], one, other) for at, one, other in pairs if not _is_near(one, other, _WRONG)]
            rows = [*zip(*wrong, strict=True)] or [(), (), ()]
            found.append(Equal(form.text.format(*[names[at] for at in order]), rows[0], rows[1], rows[2]))
    return min(found, key=lambda each: len(each.wrong)) if found else None


def _fitting(
    given: Sequence[Array], result: Array, grad: Array
) -> Iterator[tuple[tuple[int, ...], _Form, list[Array]]]:
    """Return the formulas that give the result, each with the order of its inputs, and their gradients."""
    known = _OF_NUMBERS if len(given) == 1 and _tells_apart(given[0]) else ()
    for form in (*_FORMS.get(len(given), ()), *known):
        for order in permutations(range(len(given))):
            inputs = [given[at] for at in order]
            with suppress(ValueError):  # shapes that don't fit
                value = form.result(*inputs)
                if value.shape == result.shape and np.any(value) and _is_near(value, result):
                    grads = form.gradients(grad, *inputs)
                    yield order, form, [_summed(each, to.shape) for each, to in zip(grads, inputs, strict=True)]


def _tells_apart(given: Array) -> bool:
    """Return True if there are enough numbers to know a function by: at 0 and 1 many give the same."""
    return len({abs(number) for number in given.flat} - {0.0, 1.0}) >= _NUMBERS


def _summed(grad: Array, shape: tuple[int, ...]) -> Array:
    ahead = grad.ndim - len(shape)
    over = tuple([at for at in range(grad.ndim) if at < ahead or shape[at - ahead] == 1 != grad.shape[at]])
    return grad.sum(over).reshape(shape) if over else grad


def _arrays(values: Sequence[Value | None]) -> list[Array]:
    """Return the values as arrays; an empty list if some aren't known."""
    found = [None if value is None else _array(value) for value in values]
    return [] if any(each is None for each in found) else found


def _array(value: Value) -> Array:
    known = value.values is not None and not value.nonfinite and value.dtype in ("float32", "float64")
    return np.array(value.values, dtype="float64").reshape(value.shape) if known else None


def _is_near(one: Array, other: Array, share: float = _EXACT) -> bool:
    if one.shape != other.shape:
        return False
    return bool(np.linalg.norm(one - other) <= share * max(np.linalg.norm(one), np.linalg.norm(other)))


def _names(node: RecordedNode) -> list[str]:
    """Return forward's names for its tensors; `a`, `b` and `c` if they aren't known."""
    text = next((each.text for each in node.made.code if each.name == "forward"), "")
    names: list[str] = []
    with suppress(SyntaxError, StopIteration):
        function = next(each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef))
        names = [each.arg for each in function.args.args] if function.args.vararg is None else []
    names = names[1:] if len(names) == len(node.made.args) + 1 else names  # without ctx
    tensors = [at for at, arg in enumerate(node.made.args) if arg.tensor is not None]
    if len(names) == len(node.made.args) and len(tensors) == len(node.inputs):
        return [names[at] for at in tensors]
    return ["a", "b", "c"][: len(node.inputs)]
