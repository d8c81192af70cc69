"""What a recorder knows of modules and optimizers, to record them when they change."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any

from .describer import Describer
from .identity import ByIdentity, named_parts
from .module_names import ModuleNames
from .stacks import user_line
from .values import distance

_RANDOM = "Drop"  # in the class's name of what leaves out values while it is training
_CHANCES = ("p", "drop_prob")
_FLAG = re.compile("require[sd]?_?grad(ient)?s?(?<!requires_grad)", re.IGNORECASE)  # what is meant for requires_grad
_ROOM = 16_000_000  # values of weights that are copied before a step, all together


class Models:
    """Hold the last recorded state of each module and optimizer."""

    def __init__(self) -> None:
        self._called: ByIdentity[tuple[Any, ...]] = ByIdentity()
        self._groups: ByIdentity[tuple[Any, ...]] = ByIdentity()
        self._numbers: ByIdentity[int] = ByIdentity()
        self._copies: ByIdentity[dict[int, Any]] = ByIdentity()
        self._count = 0
        self.asked: set[int] = set()  # tensors of optimizers whose names were searched for in the program

    def forget(self) -> None:
        """Tell of all again."""
        self._called.clear()
        self._groups.clear()

    def is_called_anew(self, module: Any, grad: bool) -> bool:
        """Return True if something has changed that the record of a module's call contains."""
        facts: list[Any] = [grad, module.training]
        for part in parts_of(module):
            own = part.__dict__
            facts += map(id, own.get("_parameters", {}).values())
            if is_moody(part):
                facts.append(part.training)
        told = tuple(facts)
        if self._called.get(module) == told:
            return False
        self._called[module] = told
        return True

    def has_other_groups(self, optimizer: Any, rates: tuple[Any, ...]) -> bool:
        """Return True if an optimizer has other parameters, or other learning rates, than at the step before."""
        told = rates, *[id(each) for group in optimizer.param_groups for each in (group, *group["params"])]
        if self._groups.get(optimizer) == told:
            return False
        self._groups[optimizer] = told
        return True

    def copies_of(self, optimizer: Any) -> dict[int, Any]:
        """Return memory for the weights of an optimizer as they were before a step."""
        return self._copies.setdefault(optimizer, {})

    def number_of(self, optimizer: Any) -> int:
        """Return the number that distinguishes an optimizer, starting at 1."""
        if optimizer not in self._numbers:
            self._count += 1
        return self._numbers.setdefault(optimizer, self._count)


def parts_of(module: Any) -> list[Any]:
    """Return a module and all modules in it, each once."""
    found = {id(module): module}
    todo = [module]
    while todo:
        for part in todo.pop().__dict__.get("_modules", {}).values():
            if part is not None and id(part) not in found:
                found[id(part)] = part
                todo.append(part)
    return [*found.values()]


def is_moody(module: Any) -> bool:
    """Return True if a module computes differently in training: it drops values, or averages statistics."""
    own = module.__dict__
    if own.get("_buffers", {}).get("running_mean") is not None:
        return True
    return _RANDOM in type(module).__name__ and any([bool(own.get(name)) for name in _CHANCES])


def _settings(module: Any) -> str:
    """Return the probability with which a module drops a value: `p 0.5`."""
    own = module.__dict__
    return next((f"p {own[name]:g}" for name in _CHANCES if type(own.get(name)) in (int, float)), "")


def held_by_one(module: Any) -> list[Any]:
    """Return the parameters of a module and of those in it."""
    parts = [part.__dict__.get("_parameters", {}) for part in parts_of(module)]
    return [tensor for part in parts for tensor in part.values() if tensor is not None]


def held_by(module: Any, is_tensor: Callable[[Any], bool]) -> dict[str, Any]:
    """Return the parameters of a module and its submodules, by path, each by its first one."""
    found: dict[int, tuple[str, Any]] = {}
    for path, part in named_parts(module):
        for name, tensor in part.__dict__.get("_parameters", {}).items():
            if is_tensor(tensor):
                found.setdefault(id(tensor), (f"{path}.{name}" if path else name, tensor))
    return dict(found.values())


def _idle_flags(module: Any, held: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the attributes that were set to freeze something and that nothing reads, each with its path."""
    for path, tensor in held.items():
        own = getattr(tensor, "__dict__", {}) if tensor.requires_grad else {}
        yield from ((path, name) for name, set_to in own.items() if _FLAG.fullmatch(name) and set_to is False)
    for path, part in named_parts(module):
        if part.__dict__.get("requires_grad") is False and any(each.requires_grad for each in held_by_one(part)):
            yield path, "requires_grad"


class ModelDescriber(Describer):
    """Record the calls of outermost modules, and the groups of optimizers, when they change."""

    _outermost: ModuleNames

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._models = Models()
        self._weights: dict[int, Any] = {}  # as they were before the step that goes on, those that are not kept whole
        self._has_moved = False  # whether any of them was written since

    def _weight(self, tensor: Any) -> Any:
        """Return the array of a weight that has a gradient, if its numbers are at hand."""
        raise NotImplementedError

    def _begin_step(self, optimizer: Any) -> None:
        """Record the groups of an optimizer, and remember the weights that it is about to change."""
        self._tell_groups(optimizer)
        copies, room = self._models.copies_of(optimizer), _ROOM
        for tensor in [each for group in optimizer.param_groups for each in group["params"]]:
            array = self._weight(tensor)
            if array is None or not self._limit < array.size <= room:
                continue
            room -= array.size
            serial = self._tag(tensor)
            held = copies.get(serial)
            if held is None or held.shape != array.shape or held.dtype != array.dtype:
                held = copies[serial] = array.copy()
            else:
                held[...] = array  # new memory at each step would take longer than all else here
            self._weights[serial] = held

    def _end_step(self) -> None:
        """They are of use no more."""
        self._weights, self._has_moved = {}, False

    def _put_backward(self, *told: Any, **named: Any) -> None:
        """Record a backward pass inside a step, after which a weight that moved already takes another direction."""
        if self._has_moved:
            self._end_step()
        super()._put_backward(*told, **named)

    def _moved(self, tensor: Any, serial: int) -> float | None:
        before = self._weights.get(serial)
        if before is None:
            return None
        now = self._weight(tensor)
        if now is None or now.shape != before.shape:
            return None
        self._has_moved = True
        moved = distance(now, before)
        return moved if math.isfinite(moved) else None

    def _tell_called(self, module: Any, grad: bool) -> None:
        """Record the call of an outermost module that has returned; `grad`: operations were recorded."""
        if not self._models.is_called_anew(module, grad):
            return
        held = held_by(module, self._is_tensor)
        if not held:  # a loss
            return
        name = self._outermost.called_anew(module, self.sampler.frames)
        found: dict[int, Any] = {}
        parameters = tuple([(path, self._met(tensor, found)) for path, tensor in held.items()])
        modes = tuple(
            [
                (path, type(part).__name__, _settings(part), bool(part.training))
                for path, part in named_parts(module)
                if is_moody(part)
            ]
        )
        flags = tuple([*_idle_flags(module, held)])
        line, kind = user_line(), type(module).__name__
        self._put_called(name, kind, found, parameters, grad, bool(module.training), modes, line, flags)

    def _tell_groups(self, optimizer: Any) -> None:
        """Record the groups of an optimizer that begins a step."""
        groups = optimizer.param_groups
        rates = tuple([self._rate(group.get("lr")) for group in groups])
        if not self._models.has_other_groups(optimizer, rates):
            return
        asked = self._models.asked
        tensors = {self._tag(tensor): tensor for group in groups for tensor in group["params"]}
        unnamed = {serial for serial in tensors if serial not in self._names and serial not in asked}
        if unnamed:
            asked |= unnamed
            self._outermost.find(unnamed, self.sampler.frames())
        found: dict[int, Any] = {}
        told = [
            (rate, tuple([self._met(tensor, found) for tensor in group["params"]]))
            for rate, group in zip(rates, groups, strict=True)
        ]
        number, line = self._models.number_of(optimizer), user_line()
        self._put_groups(type(optimizer).__name__, number, found, tuple(told), line)

    def _met(self, tensor: Any, found: dict[int, Any]) -> int:
        """Record a tensor that has no record yet, and return its serial number."""
        serial = self._tag(tensor)
        return serial if serial in self._tensors else self._describe(tensor, found)

    def _rate(self, lr: Any) -> float | None:
        """Return a learning rate as a number; None on another device, because waiting for it would take time."""
        if isinstance(lr, Real):
            return float(lr)
        if self._is_tensor(lr) and getattr(lr, "is_cpu", True):
            return float(getattr(lr, "_array", lr))
        return None
