"""Python numbers as arrays without dimension: a ufunc takes half the time with one as with the number itself.

They are remembered for each dtype in which a tensor and a number meet without changing the tensor's: floating-point
ones with an int or a float, integers with an int.
"""

from __future__ import annotations

import numpy as np

from ...autograd.state import quietly

MOST = 1000  # numbers that are remembered for a dtype


def scalar_array(number: float, dtype: np.dtype) -> np.ndarray:
    """Return a number as an array of a dtype, into whose range integers are taken: -1 is 255 among bytes."""
    if dtype.kind != "f":
        return np.array(number).astype(dtype)
    return quietly(np.array, number, dtype) if number else np.array(number, dtype)  # 0 is not remembered


class ScalarCache(dict):
    """Numbers as arrays of one dtype, made on first use."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def __missing__(self, number: float) -> np.ndarray:
        array = scalar_array(number, self.dtype)
        if number and number == number:  # 0.0 and -0.0 are one key, and each nan is another
            if len(self) >= MOST:
                self.clear()
            self[number] = array
        return array


_FLOATS = {
    dtype: ScalarCache(dtype) for dtype in map(np.dtype, ("float16", "float32", "float64", "complex64", "complex128"))
}
_INTEGERS = {dtype: ScalarCache(dtype) for dtype in map(np.dtype, ("uint8", "int32", "int64"))}
# By the number's type and the tensor's dtype. True is no key: its type is neither.
SCALARS: dict[type, dict[np.dtype, ScalarCache]] = {
    float: _FLOATS,
    int: _FLOATS | _INTEGERS,
    complex: {dtype: cache for dtype, cache in _FLOATS.items() if dtype.kind == "c"},
}
