"""The names of operations: what each declaration says of its twin that writes in place, and of its second names."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...autograd.tensor import Tensor
from .codegen import under_name
from .registry import VARIANTS

FUNCTIONS: dict[str, Any] = {}  # the operations, by all names that they have


def give_names() -> None:
    """Make the names of the operations that were declared since the last call.

    Each method that is a function too becomes a function of its own: it counts its arguments without the tensor
    itself, where it refuses one.
    """
    from ..inplace import writing  # made of operations itself

    methods = vars(Tensor)
    new = {name: variants for name, variants in VARIANTS.items() if name not in FUNCTIONS}
    made = {name: variants.function for name, variants in new.items()}
    for name, variants in new.items():
        if variants.in_place and f"{name}_" not in VARIANTS:  # of index_put it is written by hand
            made[f"{name}_"] = twin = writing(variants.function, f"{name}_")
            setattr(Tensor, f"{name}_", twin)
    for name, own in list(methods.items()):
        if type(own) is FunctionType and not name.startswith("__") and not own.__qualname__.startswith("Tensor."):
            setattr(Tensor, name, under_name(own, name, "Tensor"))
    FUNCTIONS.update(made)
    for name, variants in new.items():
        for alias, own in [(also + end, name + end) for also in variants.also for end in ("", "_")]:
            if own in made:
                FUNCTIONS[alias] = under_name(made[own], alias)
            if own in methods:
                setattr(Tensor, alias, under_name(methods[own], alias, "Tensor"))
