"""Bridges to other engines: their programs give the same traces and pictures."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Made = TypeVar("Made")

# The sentences of this part's errors and warnings.
NO_TORCH = 'PyTorch is not installed: pip install "autograd-workbench[torch]" brings it.'
TOO_OLD = "The workbench records PyTorch from {} on, and this is {}."
NO_NUMBERS = "The stepper takes no numbers of a tensor of {}: what it puts in are floating-point or complex gradients."
NOT_RUN = "PyTorch has not run {}."
WRONG_VALUES = 'values= is "seen" (what operations return) or "all", and not {!r}.'
LOST = "The recording lost {}: {}: {}"
MIXED = "{} mixes tensors of PyTorch with those of this package: compute with one of them only."
FAILED_THERE = "{} uses PyTorch, and there it failed: {}"

_STRANGE = re.compile(r"\bTensor\b.*\b(?:not|got) (?:torch\.)?Tensor\b")  # an engine was given the other one's tensor


def nodes_of_torch() -> int | None:
    """Return how many nodes PyTorch has created in this thread; None if it isn't loaded."""
    torch = sys.modules.get("torch")
    count = getattr(getattr(getattr(torch, "_C", None), "_autograd", None), "_get_sequence_nr", None)
    return None if count is None else int(count())


def with_torch(run: Callable[..., Made], f: Callable[..., Any], given: Sequence[Any], name: str) -> Made:
    """Return `run(f, given)`; a PyTorch function `f` is wrapped in one of the workbench's that runs it there.

    An input or the function shows that, or a TypeError of a function that takes tensors of one kind only.
    """
    if any(map(is_of_torch, given)) or _runs_torch(f):
        return _run_in_torch(run, f, given, name)
    try:
        return run(f, given)
    except (TypeError, RuntimeError) as error:
        if "torch" not in sys.modules or not isinstance(error.__cause__ or error, TypeError):
            raise
        try:
            return _run_in_torch(run, f, given, name)
        except Exception as in_torch:  # any kind: it may not be a PyTorch function
            if not _STRANGE.search(str(error)):
                raise error from error.__cause__
            mixed = _STRANGE.search(str(in_torch))
            raise TypeError(MIXED.format(name) if mixed else FAILED_THERE.format(name, in_torch)) from None


def _run_in_torch(run: Callable[..., Made], f: Callable[..., Any], given: Sequence[Any], name: str) -> Made:
    from .torch.functions import in_torch, own_of_torch

    return run(in_torch(f, name), [own_of_torch(each) if is_of_torch(each) else each for each in given])


def _runs_torch(f: Any) -> bool:
    """Return True for a PyTorch module or a compiled function, which would compile the workbench's own code too."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "nn"):
        return False
    compiled = getattr(f, "_torchdynamo_orig_callable", None) is not None
    return compiled or isinstance(f, (torch.nn.Module, torch.jit.ScriptFunction))


def is_of_torch(thing: Any) -> bool:
    """Return True if it is a PyTorch tensor; PyTorch isn't loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, "Tensor", ()))
