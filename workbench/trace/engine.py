"""What a describer asks of an engine. Whoever answers these questions for an engine has it recorded and drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Engine(Protocol):
    """The questions about tensors and nodes; `describe.py` answers for the workbench, bridges/torch for PyTorch."""

    def _is_tensor(self, thing: Any) -> bool:
        """Whether it is one of the engine's tensors."""
        raise NotImplementedError

    def _tag(self, tensor: Any) -> int:
        """The serial number of a tensor."""
        raise NotImplementedError

    def _number(self, node: Any) -> int | None:
        """The serial number of a node that was put down; None of any other, and of what takes a leaf's gradient."""
        raise NotImplementedError

    def _maker(self, tensor: Any) -> Any:
        """The node that made a tensor, if one did; who asks changes nothing."""
        raise NotImplementedError

    def _output_nr(self, tensor: Any) -> int:
        """Which output of that node it is."""
        raise NotImplementedError

    def _leaf(self, node: Any) -> Any:
        """The leaf whose gradient a node takes; None of any other node."""
        raise NotImplementedError

    def _is_same(self, tensor: Any, serial: int) -> bool:
        """Whether a tensor is as it was told of."""
        raise NotImplementedError

    def _copy(self, thing: Any) -> Any:
        """What is kept of the values of a tensor, or of an array."""
        raise NotImplementedError

    def _is_news(self, tensor: Any, serial: int) -> bool:
        """Whether a tensor that a variable holds is to be told of: the node that made it is known."""
        raise NotImplementedError

    def _put_on(self, node: Any) -> Iterable[tuple[str, Any]]:
        """What the user's forward has put on `ctx`, by its names."""
        raise NotImplementedError
