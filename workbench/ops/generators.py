"""Where random numbers come from: a seed, and how far they have come since (torch.Generator)."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor, wrap
from .core.checks import CPU, check_device
from .core.checks import device as Device

SEEDS = 2**64


class Generator(np.random.Generator):
    """Produce random numbers independently of the default ones: the same seed gives the same numbers.

    Pass it as `generator` to functions that draw numbers. The numbers are NumPy's, not PyTorch's.
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        super().__init__(np.random.PCG64(0))
        self._seed = 0

    @property
    def device(self) -> Device:
        """Return the device that produces the numbers: the CPU."""
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed, and return the generator itself.

        Raises:
            RuntimeError: if the seed isn't an int.
            ValueError: if it has more than 64 bits.
        """
        try:
            number = operator.index(seed)
        except TypeError:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}") from None
        if not -SEEDS // 2 <= number < SEEDS:
            raise ValueError(errors.LONG_OVERFLOW)
        self._seed = number % SEEDS
        self.bit_generator.state = np.random.PCG64(self._seed).state
        return self

    def seed(self) -> int:
        """Restart from a random seed, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return its seed."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return the generator's state, as bytes for set_state."""
        state: Any = self.bit_generator.state
        # The seed lies beside a flag, which needs one bit of its sixteen bytes.
        numbers = (*state["state"].values(), state["has_uint32"] | self._seed << 64, state["uinteger"])
        return wrap(np.frombuffer(b"".join(n.to_bytes(16, "little") for n in numbers), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore the state `new_state`, which `get_state` returned, and return the generator.

        Raises:
            TypeError: if the state isn't a tensor of bytes.
            RuntimeError: if the bytes aren't a state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state._array.size != 64:
            raise RuntimeError(f"Expected an RNG state of size 64 but found one of size {new_state._array.size}")
        data = new_state._array.tobytes()
        state, inc, flag, uinteger = [int.from_bytes(data[i : i + 16], "little") for i in range(0, 64, 16)]
        has_uint32, self._seed = flag & 1, flag >> 64
        inner = {"state": state, "inc": inc}
        whole = {"bit_generator": "PCG64", "state": inner, "has_uint32": has_uint32, "uinteger": uinteger}
        self.bit_generator.state = whole
        return self

    def clone_state(self) -> Generator:
        """Return another generator in the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> Any:
        return _restored, (self.get_state(),)


def _restored(state: Tensor) -> Generator:
    return Generator().set_state(state)
