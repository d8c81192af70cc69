"""Number types under PyTorch's names, and how two of them meet."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


class dtype:
    """The type of a tensor's elements, such as `torch.float32`."""

    __slots__ = ("name", "np", "is_floating_point", "is_complex", "rank", "type_name", "word", "c_name")

    def __init__(self, name: str, rank: int, word: str, c_name: str) -> None:
        self.name = name
        self.np = np.dtype(name)
        self.is_floating_point, self.is_complex = rank == 2, rank == 3
        self.rank = rank  # 0 bool, 1 integer, 2 floating, 3 complex: type promotion goes to the higher one
        self.word, self.c_name = word, c_name
        self.type_name = f"CPU{word}Type" if rank in (0, 3) else f"torch.{word}Tensor"  # as PyTorch's errors have it

    @property
    def is_signed(self) -> bool:
        """True if the dtype has negative numbers."""
        return self.np.kind in "fic"

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.np.itemsize

    def to_complex(self) -> dtype:
        """Return the dtype of complex numbers whose parts have this one."""
        return self if self.is_complex else complex128 if self is float64 else complex64

    def to_real(self) -> dtype:
        """Return the dtype of the parts of complex numbers."""
        return _by_np[np.dtype(f"f{self.itemsize // 2}")] if self.is_complex else self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


NO_HALVES = "the workbench has no complex32: convert to float32 first."
bool_ = dtype("bool", 0, "Bool", "bool")
uint8 = dtype("uint8", 1, "Byte", "unsigned char")
int32 = dtype("int32", 1, "Int", "int")
int64 = dtype("int64", 1, "Long", "long int")
float16 = dtype("float16", 2, "Half", "c10::Half")
float32 = dtype("float32", 2, "Float", "float")
float64 = dtype("float64", 2, "Double", "double")

complex64 = dtype("complex64", 3, "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", 3, "ComplexDouble", "c10::complex<double>")

ALL = (bool_, uint8, int32, int64, float16, float32, float64, complex64, complex128)
_by_name = {d.name: d for d in ALL}
_by_np = {d.np: d for d in ALL}
_default = float32


def named(name: str) -> dtype:
    """Return the dtype of that name."""
    return _by_name[name]


def of(array: np.ndarray) -> dtype:
    """Return an array's dtype; TypeError if the workbench has no such dtype."""
    try:
        return _by_np[array.dtype]
    except KeyError:
        raise TypeError(
            (
                "the workbench has no tensors of dtype {}; it has {}: convert the array first, "
                "e.g. with array.astype('float64')."
            ).format(array.dtype, ", ".join(d.name for d in ALL))
        ) from None


_python = {bool: bool_, int: int64, float: float64, complex: complex128}


def chosen_dtype(function: str, given: Any, default: dtype) -> dtype:
    """Return the requested dtype, given as a dtype or a Python type, or else the default."""
    if given is None:
        return default
    if isinstance(given, dtype):
        return given
    if given in (bool, int, float, complex):
        return _python[given]
    raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")


def get_default_dtype() -> dtype:
    """Return the dtype of tensors that are created from Python floats."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Create tensors from Python floats with dtype `d` from now on; raise TypeError if `d` isn't floating point."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def of_number(value: complex) -> dtype:
    """Return the dtype of a Python number."""
    if isinstance(value, complex):
        return _default.to_complex()
    return bool_ if isinstance(value, bool) else int64 if isinstance(value, int) else _default


def promote(a: dtype, b: dtype) -> dtype:
    """Return the common dtype of `a` and `b`: the higher category wins, and within one category the wider type."""
    if a is b:
        return a
    if a.rank + b.rank == 5:  # a floating and a complex one
        return complex128 if a.to_real() is float64 or b.to_real() is float64 else complex64
    if a.rank != b.rank:
        return a if a.rank > b.rank else b
    return _by_np[np.promote_types(a.np, b.np)]


def result_type(operands: list[tuple[dtype, int]]) -> dtype:
    """Return the dtype of an op's result; each operand is (dtype, rank): 2 with dimensions, 1 without, 0 a number.

    Dimensioned tensors decide within their category; a zero-dim tensor or a number only lifts the category.
    """
    return _result_type(tuple(operands))


@lru_cache(1000)
def _result_type(operands: tuple[tuple[dtype, int], ...]) -> dtype:
    result: dtype | None = None
    for standing in (2, 1, 0):
        group: dtype | None = None
        for d, s in operands:
            if s == standing:
                group = d if group is None else promote(group, d)
        if group is not None and (result is None or group.rank > result.rank):
            result = result.to_complex() if group.rank == 3 and result is not None and result.rank == 2 else group
    assert result is not None
    return result
