"""What operations return that find two things at once."""

from __future__ import annotations

from collections import namedtuple


def pair(op: str) -> type:
    """The type of an op's (values, indices)."""

    class Pair(namedtuple(op, ["values", "indices"])):
        __slots__ = ()

        def __repr__(self) -> str:
            return f"torch.return_types.{op}(\nvalues={self.values!r},\nindices={self.indices!r})"

    Pair.__name__ = Pair.__qualname__ = op
    Pair.__module__ = "torch.return_types"
    return Pair
