"""Where the way of a gradient ends although the data go on: what a recorder knows of tensors behind such a place."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from .source import Line
from .stacks import line_of, user_frame

_MOST = 10_000  # tensors: of more, the oldest are forgotten, as most of them are gone


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
