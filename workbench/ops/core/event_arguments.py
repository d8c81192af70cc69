"""What listeners are told of a call: its arguments, but for the last ones that are what they would be anyway."""

from __future__ import annotations

from typing import Any

from ... import events
from ...events import listeners

USUAL = {
    "accumulate": (False,),
    "alpha": (1,),
    "approximate": ("none",),
    "beta": (1,),
    "bias": (None,),
    "correction": (1, None),
    "diagonal": (0,),
    "dim": (None,),
    "dim1": (0,),
    "dim2": (1,),
    "eps": (1e-05,),
    "groups": (1,),
    "ignore_index": (-100,),
    "input_scale": (1,),
    "keepdim": (False,),
    "max": (None,),
    "negative_slope": (0.01,),
    "offset": (0,),
    "reduction": (1,),
    "scale": (1,),
    "threshold": (20,),
    "transposed": (False,),
    "weight": (None,),
}


def told_arguments(op: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call that need saying; all, where only scopes listen, which read none."""
    if listeners[-1:] == [events.labels]:  # it is before all others
        return values
    said = len(values)
    for name, value in zip(reversed(op.said), reversed(values), strict=True):
        if name not in USUAL or type(value) not in (bool, int, float, str, type(None)) or value not in USUAL[name]:
            break
        said -= 1
    return values[:said]
