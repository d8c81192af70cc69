"""What is audited: a Function, a function or a module, its inputs, and one run of it on fresh copies of these."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .. import bridges


class Case:
    """A target with its inputs; `leaves` makes fresh copies of them, and `run` calls the target.

    Args:
        target: A subclass of `autograd.Function`, a function of tensors, or a module.
        inputs: Its arguments; tensors that require grad are the ones it's differentiated by.
    """

    def __init__(self, target: Any, inputs: Sequence[Any]) -> None:
        self.engine = engine_of(target, inputs)
        target = copy.deepcopy(target) if isinstance(target, self.engine.nn.Module) else target  # runs may change it
        self.target, self.inputs = target, tuple(inputs)
        is_function = isinstance(target, type) and issubclass(target, self.engine.autograd.Function)
        self.function: type | None = target if is_function else None
        self.call: Callable[..., Any] = target.apply if is_function else target
        self.title = getattr(target, "__name__", type(target).__name__)
        self.wanted = [i for i, each in enumerate(self.inputs) if self.is_tensor(each) and each.requires_grad]

    def is_tensor(self, thing: Any) -> bool:
        """Return True if it's a tensor of the engine."""
        return isinstance(thing, self.engine.Tensor)

    def is_float(self, thing: Any) -> bool:
        """Return True if it's a tensor of floating-point numbers."""
        return self.is_tensor(thing) and thing.is_floating_point()

    def leaves(self, dtype: Any = None, wanted: Sequence[int] | None = None) -> list[Any]:
        """Return the arguments with fresh leaves for tensors; `wanted` are the places that require grad."""
        made = []
        for i, each in enumerate(self.inputs):
            if self.is_tensor(each):
                copy = each.detach().clone()
                copy = copy.to(dtype) if dtype is not None and self.is_float(copy) else copy
                is_wanted = i in (self.wanted if wanted is None else wanted)
                made.append(copy.requires_grad_() if is_wanted and self.is_float(copy) else copy)
            else:
                made.append(each)
        return made

    def run(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Call the target; return its outputs that are tensors."""
        return self.called(self.arguments(leaves))

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Return what the target is given: never a leaf that requires grad, which may not be written in place."""
        return [each * 1 if self.is_tensor(each) and each.requires_grad else each for each in leaves]

    def called(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs for these very arguments, with the same random numbers at every call."""
        self.engine.manual_seed(0)
        return self.outputs(self.call(*given))

    def graph(self, dtype: Any = None) -> tuple[list[Any], list[Any], list[Any]]:
        """Return fresh leaves, the differentiable outputs of a run on them, and a gradient for each output."""
        leaves = self.leaves(dtype)
        outputs = self.differentiable(self.run(leaves))
        return leaves, outputs, self.seeds(outputs)

    def precise(self) -> Any:
        """Return float64 if the target takes it and keeps it, else None for the dtype of the inputs."""
        if not hasattr(self, "_precise"):
            self._precise = None
            try:
                outputs = self.differentiable(self.run(self.leaves(self.engine.float64)))
                if outputs and all(each.dtype == self.engine.float64 for each in outputs):
                    self._precise = self.engine.float64
            except Exception:  # the checks in the dtype of the inputs say what is wrong
                self._precise = None
        return self._precise

    def outputs(self, found: Any) -> tuple[Any, ...]:
        """Return the tensors among what the target returned."""
        several = found if isinstance(found, tuple | list) else (found,)
        return tuple(each for each in several if self.is_tensor(each))

    def differentiable(self, outputs: Sequence[Any]) -> list[Any]:
        """Return the outputs that have a gradient."""
        return [each for each in outputs if each.requires_grad]

    def seeds(self, outputs: Sequence[Any], at: int = 0) -> list[Any]:
        """Return a gradient for each output: numbers that differ from each other, the same for the same `at`."""
        return [self.numbers(each, 0.3 + 0.17 * i + at) for i, each in enumerate(outputs)]

    def numbers(self, like: Any, start: float) -> Any:
        """Return a tensor like another one, with values between -1.5 and 1.5 that all differ."""
        engine = self.engine
        count = max(1, like.numel())
        flat = engine.sin(engine.arange(count, dtype=engine.float64) * 1.7 + start * 2.3) + 0.5
        return flat[: like.numel()].reshape(tuple(like.shape)).to(like.dtype)

    def gradients(self, outputs: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any], **how: Any) -> list[Any]:
        """Return the gradient of each wanted leaf; zeros where none arrives."""
        wanted = [leaves[i] for i in self.wanted]
        found = self.engine.autograd.grad(list(outputs), wanted, list(seeds), allow_unused=True, **how)
        return [self.engine.zeros_like(t) if g is None else g for t, g in zip(wanted, found, strict=True)]

    @property
    def is_once_differentiable(self) -> bool:
        """Whether `backward` is decorated with `once_differentiable`."""
        own: Any = getattr(self.function, "backward", None)
        return hasattr(own, "__wrapped__") and own.__code__.co_filename != own.__wrapped__.__code__.co_filename

    def name(self, place: int) -> str:
        """Return the name of an input: that of `forward`'s parameter."""
        called = self.function.forward if self.function is not None else self.target  # type: ignore[attr-defined]
        called = getattr(called, "forward", called) if not inspect.isroutine(called) else called
        try:
            names = [each for each in inspect.signature(called).parameters if each not in ("ctx", "self")]
        except (TypeError, ValueError):
            names = []
        return f"`{names[place]}`" if place < len(names) else f"input {place}"

    def line(self, method: str) -> str:
        """Return where a method of the Function is defined; "" if that isn't known."""
        found = getattr(self.function, method, None) if self.function is not None else self.target
        try:
            code = inspect.unwrap(found).__code__  # type: ignore[union-attr]
        except AttributeError:
            return ""
        return f"{code.co_filename.rpartition('/')[2]}, line {code.co_firstlineno}"


def engine_of(target: Any, inputs: Sequence[Any]) -> ModuleType:
    """Return the engine that a target and its inputs are of: PyTorch or the workbench."""
    if any(bridges.is_of_torch(each) for each in (*inputs, target)) or _is_of_torch(target):
        return sys.modules["torch"]
    return sys.modules[__package__.partition(".")[0]]  # type: ignore[union-attr]


def _is_of_torch(target: Any) -> bool:
    torch = sys.modules.get("torch")
    kinds = (torch.autograd.Function, torch.nn.Module) if torch is not None and hasattr(torch, "nn") else ()
    return isinstance(target, kinds) or (isinstance(target, type) and issubclass(target, kinds))
