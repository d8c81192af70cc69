"""Where the way of a gradient ends although the data go on: what a recorder knows of tensors behind such a place."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from .source import Line, is_users
from .stacks import line_of, user_frame

_MOST = 10_000  # tensors: of more, the oldest are forgotten, as most of them are gone

# Library functions that compute without gradients: a part of their module's name, their own name, the word for them.
_SWITCHES = (("distributions", "sample", "sample"), ("checkpoint", "forward", "checkpoint"))


def makes_others(name: str) -> bool:
    """Whether an operation takes no values of what it is given, but its shape or kind: `zeros_like`, `new_ones`."""
    return name.endswith("_like") or (name.startswith("new_") and name != "new_tensor")


def is_dtype(word: str) -> bool:
    """Whether the word for a cut is a dtype, whose numbers take no gradients."""
    return word.startswith(("int", "uint", "bool"))


_INSTEAD = {
    "tensor": "Use clone() in its place",
    "new_tensor": "Use clone() in its place",
    "sample": "Use rsample() in its place",
    "checkpoint": "Call checkpoint with use_reentrant=False",
}


def instead(word: str) -> str:
    """What to do about a cut, as the beginning of a sentence."""
    return _INSTEAD.get(word, "Take that out")


def switched_off() -> str:
    """Who has switched gradients off where a result makes no node: the user's `no_grad`, or a library's function."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not is_users(frame.f_code.co_filename):
        module, name = frame.f_globals.get("__name__", "").split("."), frame.f_code.co_name
        for part, function, word in _SWITCHES:
            if name == function and part in module:
                return word
        frame = frame.f_back
    return "no_grad"


class Way(NamedTuple):
    """Where the gradient of a tensor goes: to an output of a node (None: one that is not known), or to a leaf."""

    place: int | None
    output_nr: int
    is_leaf: bool


class RawCut(NamedTuple):
    """The last place that a gradient would have reached, the word for what ends its way, and the line."""

    way: Way
    word: str
    line: Line


class Cuts:
    """Of tensors that take no gradient, and were computed from one that does, where that way was cut."""

    def __init__(self) -> None:
        self.known: dict[int, RawCut] = {}

    def of(self, tensor: int, base: int) -> tuple[RawCut, ...]:
        """The cut that a tensor lies behind, or what it is a view of, if there is one."""
        cut = self.known.get(tensor) or self.known.get(base)
        return () if cut is None else (cut,)

    def note(self, word: str, given: Iterable[tuple[int, Way | None]], result: int) -> None:
        """A result is computed from what was `given`, each with where its gradient goes (None: it takes none).

        What a node gave tells more than a parameter; of two alike, the later.
        """
        given = list(given)
        news = [RawCut(way, word, None) for _, way in given if way is not None]
        olds = [self.known[tensor] for tensor, way in given if way is None and tensor in self.known]
        cut = min([*news, *olds], key=lambda cut: cut.way.is_leaf, default=None)
        if cut is not None:
            self.known[result] = cut if cut in olds else cut._replace(line=line_of(user_frame()))
        if len(self.known) > _MOST:
            for old in list(islice(self.known, _MOST // 10)):
                del self.known[old]

    def forget(self, before: int, known: Iterable[int]) -> None:
        """Forget tensors with lower numbers, but for those that are `known`."""
        kept = {*known}
        self.known = {each: cut for each, cut in self.known.items() if each >= before or each in kept}
