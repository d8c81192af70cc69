"""What every op adds to: the ops, the names they are called by, the words of formulas; and what arguments usually are.

A formula such as `grad * cos(self)` runs on plain arrays and on tensors, so that each word has a meaning for both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

# What a declaration may say of an op's name, beyond yes. `out`: no other dtype than the result's is written to, in
# PyTorch's usual sentence or in one of its own. `in_place`: the twin writes some elements only: those named by an index
# along a dimension, by several index tensors or masks, by one mask, or those outside a triangle.
Out = bool | str
InPlace = bool | Literal["along", "indices", "mask", "triangle"]
REGISTRY: dict[str, Any] = {}  # each an Op, which is made of what imports this
SEVERAL: dict[str, Any] = {}  # the operations with several outputs


class Variants:
    """A function that users call by its name, and what else the name may do; `give_names` (names.py) makes it."""

    __slots__ = ("function", "in_place", "also")

    def __init__(self, function: Callable[..., Any], in_place: InPlace, also: tuple[str, ...]) -> None:
        self.function, self.in_place, self.also = function, in_place, also

    @property
    def out(self) -> bool:
        """Return True if the function takes `out`, as its op's declaration or its parameters say."""
        op: Any = getattr(self.function, "op", None)
        return "out" in inspect.signature(self.function).parameters if op is None else bool(op.out)


VARIANTS: dict[str, Variants] = {}  # by name
WRITES: dict[str, InPlace] = {}  # by the name of a twin that writes some elements only: which
DIMS = ("dim", "dim0", "dim1", "dim2", "dims")  # what arguments are called that number dimensions
SIZES = ("size", "input_sizes")  # and those that list the sizes of the result
DEFAULTS = {  # of arguments by their names: listeners are not told of what has its default
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
    "memory_format": (None,),
    "negative_slope": (0.01,),
    "offset": (0,),
    "reduction": (1,),
    "scale": (1,),
    "threshold": (20,),
    "transposed": (False,),
    "weight": (None,),
}
ABBREVIATIONS: dict[str, tuple[str, str]] = {}  # by name: how it is called, and what it stands for
# The words of formulas, for arrays and for tensors.
ARRAYS: dict[str, Any] = {"__name__": __name__}
TENSORS: dict[str, Any] = {"__name__": __name__}


def declare_variants(name: str, function: Callable[..., Any], in_place: InPlace, also: tuple[str, ...]) -> None:
    """Note what the name of a function that users call may do."""
    VARIANTS[name] = Variants(function, in_place, also)
    if type(in_place) is str:
        WRITES[f"{name}_"] = in_place


def in_formulas(name: str, arrays: Any, tensors: Any = None) -> None:
    """Let formulas say `name`: a function or a number for arrays, and for tensors another one or the same."""
    ARRAYS[name] = arrays
    TENSORS[name] = arrays if tensors is None else tensors


def explained(signature: str, text: str) -> str:
    """Note for readers of formulas that the function `signature` computes `text`; return the function's name."""
    name = signature[: signature.index("(")]
    ABBREVIATIONS[name] = signature, text
    return name


def abbreviation(signature: str, text: str) -> None:
    """Let formulas say `signature` for `text`, on arrays and on tensors: `abbreviation("half(x)", "x / 2")`."""
    name, parameters = explained(signature, text), signature[signature.index("(") + 1 : -1]
    for words in (ARRAYS, TENSORS):

        def first(*args: Any, words: dict[str, Any] = words) -> Any:
            words[name] = eval(f"lambda {parameters}: {text}", words)
            return words[name](*args)

        words[name] = first


def non_default_arguments(op: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a call that need saying."""
    count = len(values)
    for name, value in zip(reversed(op.caller_args), reversed(values), strict=True):
        plain = type(value) in (bool, int, float, str, type(None))
        if not plain or value not in DEFAULTS.get(name, ()):
            break
        count -= 1
    return values[:count]
