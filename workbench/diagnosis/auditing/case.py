"""What is audited: a Function, a function or a module, its inputs, and one run of it on fresh copies of these."""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import random
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ... import bridges
from .chance import Chance
from .precision import resolution


class Case:
    """A target with its inputs; `leaves` makes fresh copies of them, and `run` calls the target.

    Complex numbers are pairs of real ones in all that is compared: `inputs`, leaves, outputs and gradients have a last
    dimension for both parts. So a check of real derivatives is one of complex ones, too. Only the target sees complex
    tensors: `given`, or what `arguments` makes of leaves.

    Args:
        target: A subclass of `autograd.Function`, a function of tensors, or a module.
        inputs: Its arguments; tensors that require grad are the ones it's differentiated by.
    """

    def __init__(self, target: Any, inputs: Sequence[Any]) -> None:
        self.engine = engine_of(target, inputs)
        target = copy.deepcopy(target) if isinstance(target, self.engine.nn.Module) else target  # runs may change it
        self.target, self.given = target, tuple(inputs)
        self.complex = [i for i, each in enumerate(inputs) if self.is_tensor(each) and each.is_complex()]
        self.inputs = tuple([self._parts(each) if i in self.complex else each for i, each in enumerate(inputs)])
        is_function = isinstance(target, type) and issubclass(target, self.engine.autograd.Function)
        self.function: type | None = target if is_function else None
        self.call: Callable[..., Any] = target.apply if is_function else target
        if isinstance(target, self.engine.nn.Module) and any(True for _ in target.buffers()):
            self.call = self._call_copy
        self.seen: dict[str, Any] = {}  # what a check found that another asks for
        self.chance = Chance(self.engine, self.code_of(), self.inputs)
        self.title = getattr(target, "__name__", type(target).__name__)
        self.wanted = [i for i, each in enumerate(self.inputs) if self.is_tensor(each) and each.requires_grad]

    def _call_copy(self, *given: Any) -> Any:
        """Call a copy of the module, whose buffers are those from before."""
        return copy.deepcopy(self.target)(*given)

    def _parts(self, each: Any) -> Any:
        """Return the parts of complex numbers as a leaf."""
        return self.engine.view_as_real(each.detach().resolve_conj()).clone().requires_grad_(each.requires_grad)

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
        found = [each * 1 if self.is_tensor(each) and each.requires_grad else each for each in leaves]
        return self.joined(found)

    def joined(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves for the target: pairs of parts become complex numbers again."""
        join = self.engine.view_as_complex
        return [join(each.contiguous()) * 1 if i in self.complex else each for i, each in enumerate(leaves)]

    def called(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs for these very arguments, with the same random numbers at every call."""
        self.chance.begin()
        return self.outputs(self.call(*given))

    def graph(self, dtype: Any = None) -> tuple[list[Any], list[Any], list[Any]]:
        """Return fresh leaves, the differentiable outputs of a run on them, and a gradient for each output."""
        leaves = self.leaves(dtype)
        outputs = self.differentiable(self.run(leaves))
        return leaves, outputs, self.seeds(outputs)

    @functools.cached_property
    def resolution(self) -> str:
        """In what the target computes if it's given float64: "float64", "float32" or "half".

        It's "unsteady" if that can't be told, because two runs on equal inputs differ.
        """
        if (found := resolution(self)) != "float64" and self._is_unsteady():
            return "unsteady"
        return found

    def _is_unsteady(self) -> bool:
        """Return True if two runs on equal inputs differ."""
        once, again = [[each.tolist() for each in self.run(self.leaves())] for _ in range(2)]
        return repr(once) != repr(again)

    @functools.cached_property
    def draws_in_backward(self) -> bool:
        """Whether `backward` draws random numbers: others before it change the gradient."""
        found = []
        for seed in (1, 12345):
            leaves, outputs, seeds = self.graph()
            self.engine.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed)
            found.append([each.tolist() for each in self.gradients(outputs, leaves, seeds)])
        return repr(found[0]) != repr(found[1])

    def precise(self) -> Any:
        """Return float64 if the target takes it and computes in it, else None for the dtype of the inputs."""
        return self.engine.float64 if self.resolution == "float64" else None

    def outputs(self, found: Any) -> tuple[Any, ...]:
        """Return the tensors among what the target returned, complex ones as their parts."""
        several = found if isinstance(found, tuple | list) else (found,)
        return tuple([self.real(each) for each in several if self.is_tensor(each)])

    def real(self, t: Any) -> Any:
        """Return a complex tensor as the parts of its numbers, and any other as it is."""
        return self.engine.view_as_real(t.resolve_conj()) if t.is_complex() else t

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
        places = engine.arange(count, dtype=engine.float64, device=like.device)
        flat = engine.sin(places * 1.7 + start * 2.3) + 0.5
        return flat[: like.numel()].reshape(tuple(like.shape)).to(like.dtype)

    def gradients(self, outputs: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any], **how: Any) -> list[Any]:
        """Return the gradient of each wanted leaf for a copy of each seed; zeros where none arrives."""
        return self.gradients_of(outputs, leaves, [each.clone() for each in seeds], **how)

    def gradients_of(
        self, outputs: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any], **how: Any
    ) -> list[Any]:
        """Return the gradient of each wanted leaf for these very seeds; zeros where none arrives."""
        wanted = [leaves[i] for i in self.wanted]
        found = self.engine.autograd.grad(list(outputs), wanted, list(seeds), allow_unused=True, **how)
        return [self.engine.zeros_like(t) if g is None else g for t, g in zip(wanted, found, strict=True)]

    @property
    def is_once_differentiable(self) -> bool:
        """Whether `backward` is decorated with `once_differentiable`."""
        own: Any = getattr(self.function, "backward", None)
        return hasattr(own, "__wrapped__") and own.__code__.co_filename != own.__wrapped__.__code__.co_filename

    def defines(self, method: str) -> bool:
        """Return True if the Function has a method of its own, not only the one of its base class."""
        own = inspect.getattr_static(self.function, method, None)
        return own is not inspect.getattr_static(self.engine.autograd.Function, method, None)

    @property
    def defines_setup(self) -> bool:
        """Whether what is saved is said in `setup_context`."""
        return self.function is not None and self.defines("setup_context")

    def name(self, place: int) -> str:
        """Return the name of an input: that of `forward`'s parameter."""
        called = self.function.forward if self.function is not None else self.target  # type: ignore[attr-defined]
        called = getattr(called, "forward", called) if not inspect.isroutine(called) else called
        try:
            parameters = inspect.signature(called).parameters.values()
            names = [
                each.name for each in parameters if each.name not in ("ctx", "self") and each.kind < each.VAR_POSITIONAL
            ]
        except (TypeError, ValueError):
            names = []
        return f"`{names[place]}`" if place < len(names) else f"input {place}"

    def code_of(self) -> list[Any]:
        """Return the Python functions of the target: those of a Function's class, or the function itself."""
        if self.function is None:
            found = [self.target, getattr(type(self.target), "forward", None)]
        else:
            named = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")
            found = [getattr(self.function, name, None) for name in named]
        found = [inspect.unwrap(each) for each in found if callable(each)]
        return [each for each in found if inspect.isfunction(each)]

    def line(self, method: str) -> str:
        """Return where a method of the Function is defined; "" if that isn't known."""
        found = getattr(self.function, method, None) if self.function is not None else self.target
        try:
            code = inspect.unwrap(found).__code__  # type: ignore[union-attr]
        except AttributeError:
            return ""
        return f"{_file(code.co_filename)}, line {_def_line(code.co_filename, code.co_firstlineno)}"

    def raised_at(self, error: BaseException) -> str:
        """Return the last line of the target's own code through which an error passed; "" if there is none."""
        ours = {each.__code__ for each in self.code_of()}
        way, found = error.__traceback__, ""
        while way is not None:
            if way.tb_frame.f_code in ours:
                found = f"{_file(way.tb_frame.f_code.co_filename)}, line {way.tb_lineno}"
            way = way.tb_next
        return found


def _def_line(path: str, first: int) -> int:
    """Return the line of `def`: code begins at its first decorator."""
    if linecache.getline(path, first).lstrip().startswith("@"):
        for line in range(first + 1, first + 20):
            if linecache.getline(path, line).lstrip().startswith(("def ", "async def ")):
                return line
    return first


def _file(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def engine_of(target: Any, inputs: Sequence[Any]) -> ModuleType:
    """Return the engine that a target and its inputs are of: PyTorch or the workbench."""
    if any(bridges.is_of_torch(each) for each in (*inputs, target)) or _is_of_torch(target):
        return sys.modules["torch"]
    return sys.modules[__package__.partition(".")[0]]  # type: ignore[union-attr]


def _is_of_torch(target: Any) -> bool:
    torch = sys.modules.get("torch")
    kinds = (torch.autograd.Function, torch.nn.Module) if torch is not None and hasattr(torch, "nn") else ()
    return isinstance(target, kinds) or (isinstance(target, type) and issubclass(target, kinds))
