"""Where two runs begin to differ: what differs on its own, and what only follows from that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from ...pictures.trace.values import Value
from .closeness import Apart, Outcome, Tolerance, coarsest, compared
from .pairing import Pairs
from .run import RecordedRun

ROUNDING = "rounding"
_AMPLIFIED = 64  # how much larger rounding may become in one operation

# Operations that only show the memory of what they get: their unknown results are known by that.
VIEWS = ("T", "Transpose", "View", "UnsafeView", "ReshapeAlias", "Permute", "Unsqueeze", "Squeeze", "Expand", "Alias")


@dataclass(eq=False)
class DiffOrigin:
    """Something that differs though what it depends on doesn't; `one` and `two` are its places on both sides.

    The kinds are "input", "operation", "replaced", "only here", "write", "seed", "hook", "gradient", "missing" (a
    gradient on one side only), "accumulation", "set" (a write into a `.grad`), and "rounding", which grew past the
    tolerance. `values` are of both sides, and `given` says how far apart was what it depends on. For operations that
    only one run has, `ids` are all of them, and `shown` are the operations whose result is the first to differ after
    them.
    """

    kind: str
    one: str | None
    two: str | None
    at: int
    apart: Apart | None = None
    values: tuple[Value | None, Value | None] = (None, None)
    nr: int = 0
    given: float = 0.0
    is_backward: bool = False
    is_sent: bool = False
    ids: tuple[str, ...] = ()
    shown: tuple[str, str] | None = None
    shown_at: int = 0
    of: DiffOrigin | None = None  # of a gradient: what it follows from

    @property
    def has_effect(self) -> bool:
        """Return True if values differ because of it."""
        return self.apart is not None


@dataclass
class Counts:
    """How much was compared, how, and what differs as a consequence."""

    compared: int = 0
    summarized: int = 0
    unknown: int = 0
    operations: int = 0
    gradients: int = 0
    writes: int = 0
    dtypes: Counter[tuple[str, str]] = field(default_factory=Counter)


class Walk:
    """What is known while both runs are followed, in the order of the first.

    `state` has why a node or tensor differs now, for each side, and `share` how far it is apart, within the tolerance
    or not. `gap` has by how much what is equal but for rounding is apart, by places of the first run.
    """

    def __init__(self, first: RecordedRun, second: RecordedRun, tolerance: Tolerance) -> None:
        self.runs = first, second
        self.tolerance = replace(tolerance, whole=coarsest(first.dtypes | second.dtypes))
        self.pairs = Pairs(first, second)
        self.found: list[DiffOrigin] = []
        self.counts = Counts()
        self.first_gradient: DiffOrigin | None = None
        self.first_inexact: tuple[str, str] | None = None
        self.alone = self._groups()
        self.state: tuple[dict[str, DiffOrigin], dict[str, DiffOrigin]] = ({}, {})
        self.share: tuple[dict[str, float], dict[str, float]] = ({}, {})
        self.gap: dict[str, float] = {}
        self._by_id = [{id: group for group in groups for id in group.ids} for groups in self.alone]
        self._rounding: DiffOrigin | None = None

    def _groups(self) -> tuple[list[DiffOrigin], list[DiffOrigin]]:
        """Return the operations that only one run has; those that follow each other are together."""
        sides: tuple[list[DiffOrigin], list[DiffOrigin]] = ([], [])
        for side, run in enumerate(self.runs):
            known = self.pairs.back if side else self.pairs.there
            at = {moment.id: moment.at for moment in run.moments if moment.kind == "operation"}
            last = -2
            for index, id in enumerate(run.operations):
                if id in known:
                    continue
                if index == last + 1:
                    sides[side][-1].ids += (id,)
                else:
                    pair = (None, id) if side else (id, None)
                    sides[side].append(DiffOrigin("only here", *pair, at[id], ids=(id,)))
                last = index
        return sides

    def both(self, one: str, two: str) -> list[tuple[RecordedRun, str]]:
        """Return both runs, each with the id of a place in it."""
        return list(zip(self.runs, (one, two), strict=True))

    def group_of(self, side: int, id: str) -> DiffOrigin | None:
        """Return the operations of one run alone that this is one of."""
        return self._by_id[side].get(id)

    def compare(
        self, one: Value | None, two: Value | None, given: float = 0.0, scale: float = 0.0, carried: float = 0.0
    ) -> Outcome:
        """Compare two values, and count that."""
        result, counts = compared(one, two, self.tolerance, given, scale, carried), self.counts
        counts.compared += 1
        counts.unknown += result.is_unknown
        if one is not None and two is not None:
            counts.summarized += not result.is_unknown and (one.values is None or two.values is None)
            counts.dtypes[one.dtype, two.dtype] += 1
        return result

    def add(self, origin: DiffOrigin) -> DiffOrigin:
        """Note an origin."""
        self.found.append(origin)
        return origin

    def blamed(self, origin: DiffOrigin, share: float) -> DiffOrigin:
        """Return the origin, or that of all rounding if the difference is only what became of smaller ones."""
        if not 0 < origin.given < float("inf") or share > _AMPLIFIED * origin.given:
            return self.add(origin)
        if self._rounding is None and self.found:
            self._rounding = self.found[0]  # what it became so small after
        elif self._rounding is None:
            self._rounding = origin
            origin.kind = ROUNDING
            self.add(origin)
        return self._rounding
