"""An error that isn't autograd's: which call, layer or line raised it, and the shapes that it was given.

All of this is in the error's traceback, whether or not anything was recorded.
"""

from __future__ import annotations

import re
from contextlib import suppress
from types import TracebackType
from typing import Any

from .error_frames import users_frames
from .facts import Called
from .listing import listing
from .missing_gradient import held_by, is_any_tensor, without_gradient
from .source import is_users
from .values import series, shortened
from .variables import class_of, local_variables, variables

# What such an error is called, by words that both engines raise it with.
_KINDS = (
    ("outside one value", r"Expected more than 1 value per channel when training"),
    ("outside one position", r"Expected more than 1 spatial element when training"),
    (
        "outside product",
        r"shapes cannot be multiplied|inconsistent tensor size, expected|size mismatch, got |batch2 tensor to be:",
    ),
    (
        "outside broadcast",
        r"must match the size of tensor b|cannot be broadcast|einsum\(\): sub|The expanded size of the",
    ),
    ("outside reshape", r"shape '\[.*\]' is invalid for input of size"),
    ("outside joined", r"Sizes of tensors must match except in dimension|stack expects each tensor to be equal size"),
    ("outside channels", r"Given groups=\d+, .*expected input|running_mean should contain \d+ elements"),
    (
        "outside width",
        r"Given normalized_shape=.*expected input|input\.size\(-1\) must be equal to input_size|"
        r"size does not match weight size|expecting embedding dimension of",
    ),
    (
        "outside target",
        r"Expected input batch_size \(\d+\) to match|[Tt]arget size \(.*input size|multi-target not supported",
    ),
    ("outside class", r"Target -?\d+ is out of bounds"),
    ("outside index", r"index out of range in self"),
    ("outside probability", r"all elements of (input|target) should be between 0 and 1"),
    ("outside tensors", r"'\w+' object has no attribute 'backward'"),
    (
        "outside dtype",
        r"have the same dtype|expected scalar type \w+ but found|expected target dtype|Found dtype \w+ but expected|"
        r"one of the following scalar types",
    ),
)
_NAMES = re.compile(r"(?<![\w.)\]])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TEXT = 60  # characters of an expression, or of a layer's repr, that a sentence shows
_MOST = 4  # tensors whose shapes it gives


def known_outside(error: BaseException | None) -> tuple[Called, tuple[str, int]] | None:
    """Return what an operation's or a layer's error in forward means, and the user's line; None if it is unknown."""
    if error is None:
        return None
    with suppress(Exception):  # a recording that ends here must pass on the user's error, not one of its own
        if (missing := without_gradient(error)) is not None:
            return missing
        called, users = outside(error), users_frames(error)
        if users and called.kind in dict(_KINDS):
            return called, users[-1][1]
    return None


def outside(error: BaseException) -> Called:
    """Return what raised an error that isn't autograd's; its `name` is how a sentence calls it, with the shapes."""
    ways = _ways(error)
    users = [at for at, way in enumerate(ways) if is_users(way.tb_frame.f_code.co_filename)]
    if not users:
        return Called("outside")
    way, inner = ways[users[-1]], ways[users[-1] + 1 :]
    words = str(error)
    kind = next((kind for kind, pattern in _KINDS if re.search(pattern, words)), "")
    read = listing(way.tb_frame.f_code)
    at = read.start(way.tb_lasti)
    if not inner and read.raises(at):
        return Called("outside own code", _code(way))
    text = read.text(at)
    layer = _layer(inner)
    if layer is not None and (kind or len(inner) > 1):
        return Called(kind or "outside call", f"{_called(layer[0], way)}{_got(layer[1], kind)}")
    given = _tensors(way, text)
    what = f"`{shortened(text, _TEXT)}`" if text else "the line"
    if kind or inner:
        return Called(kind or "outside call", f"{what}{_said(given, kind)}")
    return Called("outside line", f"{what}{_said(given, kind)}")


def _ways(error: BaseException) -> list[TracebackType]:
    found: list[TracebackType] = []
    way = error.__traceback__
    while way is not None:
        found.append(way)
        way = way.tb_next
    return found


def _code(way: TracebackType) -> str:
    """Return `Net.forward`, or `the program` for a module's own code outside functions."""
    name = getattr(way.tb_frame.f_code, "co_qualname", way.tb_frame.f_code.co_name).rpartition("<locals>.")[2]
    return "the program" if name.startswith("<module") else "a lambda" if name == "<lambda>" else name


def _layer(inner: list[TracebackType]) -> tuple[Any, Any] | None:
    """Return the innermost module whose forward a library ran, and the tensor passed to it."""
    for way in reversed(inner):
        told = dict(local_variables(way.tb_frame))
        names = way.tb_frame.f_code.co_varnames
        if way.tb_frame.f_code.co_name == "forward" and len(names) > 1 and _is_module(told.get("self")):
            given = told.get(names[1])
            return (told["self"], given) if is_any_tensor(given) else None
    return None


def _is_module(thing: Any) -> bool:
    return hasattr(class_of(thing), "named_modules")


def _called(layer: Any, way: TracebackType) -> str:
    """Return the layer by the user's variable, and what it is: "net.1 (BatchNorm1d)", each as code."""
    kind = type(layer).__name__
    with suppress(Exception):  # a repr may be the user's
        told = repr(layer)
        kind = told if len(told) <= _TEXT and "\n" not in told else kind
    for name, thing in variables(way.tb_frame):
        if _is_module(thing):
            with suppress(Exception):
                path = next((path for path, each in thing.named_modules() if each is layer), None)
                if path is not None:
                    return f"`{name}{path and '.'}{path}` (`{kind}`)"
    return f"`{kind}`"


def _tensors(way: TracebackType, text: str) -> list[tuple[str, Any]]:
    """Return the tensors that an expression names, each once."""
    found: dict[str, Any] = {}
    for written in _NAMES.findall(text):
        while written and not is_any_tensor(held_by(way.tb_frame, written)):
            written = written.rpartition(".")[0]  # the tensor of a method
        if written:
            found[written] = held_by(way.tb_frame, written)
    return [*found.items()]


def _said(given: list[tuple[str, Any]], kind: str) -> str:
    """` (x is (4, 3) and w is (5, 2))`, or their dtypes; nothing where none is known."""
    told: list[str] = []
    for name, tensor in given[:_MOST]:
        with suppress(Exception):
            told.append(f"`{name}` is {_looks(tensor, kind)}")
    return f" ({series(told)})" if told else ""


def _got(tensor: Any, kind: str) -> str:
    """Return what a layer's input was."""
    with suppress(Exception):
        return f" with an input of {'dtype' if kind == 'outside dtype' else 'shape'} {_looks(tensor, kind)}"
    return ""


def _looks(tensor: Any, kind: str) -> str:
    return str(tensor.dtype).rpartition(".")[2] if kind == "outside dtype" else str(tuple(map(int, tensor.shape)))
