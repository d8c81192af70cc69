"""What a describer asks of an engine. An engine with answers to these questions can be recorded and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

ACCUMULATE = "torch::autograd::AccumulateGrad"  # what both engines call the node that takes a leaf's gradient


class Engine(Protocol):
    """The questions about tensors and nodes; `describe.py` answers for the workbench, bridges/torch for PyTorch."""

    def _is_tensor(self, thing: Any) -> bool:
        """Return True if it is one of the engine's tensors."""
        raise NotImplementedError

    def _tag(self, tensor: Any) -> int:
        """Return the serial number of a tensor."""
        raise NotImplementedError

    def _number(self, node: Any) -> int | None:
        """Return the serial number of a recorded node; None for others, and for a node that takes a leaf's gradient."""
        raise NotImplementedError

    def _maker(self, tensor: Any) -> Any:
        """Return the node that made a tensor, if one did, without changing anything."""
        raise NotImplementedError

    def _output_nr(self, tensor: Any) -> int:
        """Return the number of this output of that node."""
        raise NotImplementedError

    def _leaf(self, node: Any) -> Any:
        """Return the leaf whose gradient a node takes; None for other nodes."""
        raise NotImplementedError

    def _is_same(self, tensor: Any, serial: int) -> bool:
        """Return True if a tensor is still as recorded."""
        raise NotImplementedError

    def _version(self, tensor: Any) -> int:
        """Return how often a tensor was written."""
        raise NotImplementedError

    def _value(self, tensor: Any, serial: int) -> Any:
        """Return what is kept of a tensor's current values."""
        raise NotImplementedError

    def _is_part(self, tensor: Any) -> bool:
        """Return True if an unrecorded tensor is related to the graph, by its memory or by what made it."""
        raise NotImplementedError

    def _tensor_of(self, grad: Any) -> Any:
        """Return the tensor whose gradient this is, or shares memory with; None if there is none."""
        raise NotImplementedError

    def _copy(self, thing: Any) -> Any:
        """Return what is kept of the values of a tensor or an array."""
        raise NotImplementedError

    def _saved_as(self, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, int] | None:
        """Return the tensor that a node saved, if the trace knows it, and its version; None for what a hook packed.

        It may be one of `tensors`. `how` is the engine's description of the saving.
        """
        raise NotImplementedError

    def _packed(self, node: Any, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return a copy of what a hook packed, its version, and what `Packing` says; None if nothing is saved there."""
        raise NotImplementedError

    def _storage(self, thing: Any, tensor: Any) -> tuple[int, int] | None:
        """Return the storage number and bytes of a saved thing, unless its known tensor says the same."""
        raise NotImplementedError

    def _is_news(self, tensor: Any, serial: int) -> bool:
        """Return True if a tensor that a variable holds should be recorded: the node that made it is known."""
        raise NotImplementedError

    def _put_on(self, node: Any) -> Iterable[tuple[str, Any]]:
        """Return what the user's forward put on `ctx`, by name."""
        raise NotImplementedError
