"""Elements rounded to integers, or to decimals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import only_floats
from ..core.op import define, operation


def _whole(name: str, forward: Any, **called: Any) -> Callable[..., Tensor]:
    """Return an op that makes numbers whole; `called` says what its name may do."""
    return define(
        f"{name}(Tensor self)",
        forward,
        prepare=only_floats(f"{name}_vml_cpu", but="iu"),
        self="zeros_like(grad)",
        tangent="pointwise",
        **called,
    )


floor = _whole(
    "floor",
    np.floor,
    meaning="Return each element rounded down to an integer. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
ceil = _whole(
    "ceil",
    np.ceil,
    meaning="Return each element rounded up to an integer. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
)
trunc = _whole(
    "trunc",
    np.trunc,
    meaning="Return each element rounded toward zero. The gradient is always 0.",
    out=errors.FOUND_DTYPE,
    in_place=True,
    also=("fix",),
)
_round = _whole("round", np.round)
_round_to = define(
    "round_to(Tensor self, decimals)",
    np.round,
    node="RoundBackward1",
    prepare=lambda args: only_floats("round_cpu" if args[1] else "round_vml_cpu")(args),
    self="zeros_like(grad)",
    tangent="pointwise",
)


@operation(in_place=True)
def round(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """Return each element rounded to an integer, or to `decimals` decimals.

    The gradient is always 0. A number halfway between two others is rounded to the even one: 0.5 to
    0, and 1.5 to 2.
    """
    return _round(self) if decimals is None else _round_to(self, decimals)
