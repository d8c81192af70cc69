"""What registering a hook returns (torch.utils.hooks)."""

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
