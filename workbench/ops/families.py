"""What each op does under the function transforms, as a table."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import lifting  # noqa: F401  (brings all rules)
from .batching import OWN
from .declare import REGISTRY, SEVERAL
from .tangents import family

FAMILIES = ("pointwise", "linear", "multilinear", "reduction", "transposed")


class Row(NamedTuple):
    """An op, how its tangent is found, and how a batch of it runs."""

    op: str
    tangent: str
    batch: str


class Report(tuple[Row, ...]):
    """A row for each op; shown as a table."""

    __slots__ = ()

    @property
    def loops(self) -> list[str]:
        """The ops that run once for each sample of a batch."""
        return [row.op for row in self if row.batch == "loop"]

    def __repr__(self) -> str:
        rows = [Row("operation", "tangent", "batch"), *self]
        wide, wider = (max([len(row[i]) for row in rows]) for i in (0, 1))
        lines = [f"{row.op:{wide}}  {row.tangent:{wider}}  {row.batch}" for row in rows]
        return "\n".join([*lines, f"run sample by sample: {', '.join(self.loops) or 'none'}"])


def report() -> Report:
    """How every op finds its tangent and runs a batch: by which family, or by a rule of its own.

    Along a dimension, ops whose samples have none beside others that have some still run one after the other.
    """
    return Report([Row(op.name, _tangent(op), _batch(op)) for op in (*REGISTRY.values(), *SEVERAL.values())])


def _tangent(op: Any) -> str:
    if not op.formulas:
        return "none"
    found = family(op)
    return found if found in FAMILIES else "formula"


def _batch(op: Any) -> str:
    if op.name in OWN:
        return "own rule"
    return f"as {op.batch}" if op.batch in REGISTRY else op.batch
