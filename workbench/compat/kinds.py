"""What a kind of number can hold, how kinds meet, and the old names of tensors of one kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor
from ..errors import kind_of, warn
from ..ops.convert import TYPES, tensortype
from ..ops.core.checks import one_number, wrong


def _kind(function: str, argument: str, position: int, given: Any) -> Dtype:
    """Return the dtype that is given, or meant by a Python type; TypeError for what is none."""
    if isinstance(given, Dtype):
        return given
    if given in (bool, int, float):
        return dtypes.chosen_dtype(function, given, dtypes.float32)
    raise TypeError(wrong(function, argument, position, f"torch.dtype, not {kind_of(given)}"))


class finfo:
    """Give the limits of a floating-point dtype `type`, the default one if none is named.

    Attributes are `bits`; `max` and `min`; `eps`, the distance from 1 to the next number;
    `smallest_normal` or `tiny`, the smallest positive number with full precision; and `resolution`,
    10 to the power of minus the number of decimal digits. Integer dtypes raise TypeError.
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None) -> None:
        kind = dtypes.get_default_dtype() if type is None else _kind("finfo", "type", 0, type)
        kind = kind.to_real()
        if not kind.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        facts = np.finfo(kind.np)
        self.bits, self.dtype, self.eps = facts.bits, kind.name, float(facts.eps)
        self.max, self.min = float(facts.max), float(facts.min)
        self.smallest_normal = self.tiny = float(facts.smallest_normal)
        self.resolution = float(f"1e-{facts.precision}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __repr__(self) -> str:
        said = [f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps")]
        said += [f"{name}={self.tiny:g}" for name in ("smallest_normal", "tiny")]
        return f"finfo({', '.join(said)}, dtype={self.dtype})"


class iinfo:
    """Give the limits of an integer dtype `type`: `bits`, `max` and `min`.

    Floating-point dtypes and bool raise TypeError.
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        kind = _kind("iinfo", "type", 0, type)
        if kind.rank == 0:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if kind.rank > 1:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        facts = np.iinfo(kind.np)
        self.bits, self.dtype, self.max, self.min = facts.bits, kind.name, int(facts.max), int(facts.min)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def promote_types(type1: Dtype, type2: Dtype) -> Dtype:
    """Return the dtype of a result whose operands have the dtypes `type1` and `type2`.

    For example, int64 and float16 give float16.
    """
    return dtypes.promote(_kind("promote_types", "type1", 0, type1), _kind("promote_types", "type2", 1, type2))


def can_cast(from_: Dtype, to: Dtype) -> bool:
    """Return True if results of dtype `from_` may be written into a tensor of dtype `to`.

    Floating-point numbers may not be written into integers, and only bool may be written into bool.
    """
    return _kind("can_cast", "from_", 0, from_).rank <= _kind("can_cast", "to", 1, to).rank


def result_type(tensor1: Tensor | float, tensor2: Tensor | float) -> Dtype:
    """Return the dtype of the result of an operation on `tensor1` and `tensor2`, tensors or numbers.

    A number or a tensor without dimensions changes the dtype only if its kind is higher (bool, int,
    float): a float32 vector and a float64 tensor without dimensions give float32.
    """
    operands = []
    for given in (tensor1, tensor2):
        if isinstance(given, Tensor):
            operands.append((given.dtype, 2 if given._array.ndim else 1))
        elif (number := one_number(given)) is not None:
            operands.append((dtypes.of_number(number), 0))
        else:
            raise TypeError(
                f"result_type() received an invalid combination of arguments - got ({kind_of(tensor1)}, "
                f"{kind_of(tensor2)}), but expected tensors or numbers"
            )
    return dtypes.result_type(operands)


def _type_named(name: str, meaning: str) -> Any:
    """Return the class of an old name."""
    kind = TYPES[f"torch.{name}"]
    return tensortype(name, (), {"__module__": __name__, "__doc__": meaning, "dtype": kind, "__slots__": ()})


MADE = "Make a tensor of {} on a `device` from a shape `size` or numbers `data`; isinstance recognizes such tensors."
FloatTensor = _type_named("FloatTensor", MADE.format("float32"))
DoubleTensor = _type_named("DoubleTensor", MADE.format("float64"))
HalfTensor = _type_named("HalfTensor", MADE.format("float16"))
LongTensor = _type_named("LongTensor", MADE.format("int64"))
IntTensor = _type_named("IntTensor", MADE.format("int32"))
ByteTensor = _type_named("ByteTensor", MADE.format("uint8"))
BoolTensor = _type_named("BoolTensor", MADE.format("bool"))


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, given as a tensor type `t` such as FloatTensor or "torch.FloatTensor".

    This function is deprecated, and warns. Use `set_default_dtype`.
    """
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        kind = TYPES.get(t)
    elif isinstance(t, tensortype):
        kind = t.dtype
    else:
        kind = None
    if kind is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind)
