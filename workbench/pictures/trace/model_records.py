"""The records of modules and optimizers: which parameters they hold, and in which mode a module is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from .frame import Frame
from .schema import Building, Located, Reading, Tensors, kind_of_event


class _Found(Building):
    """An event that doesn't change the graph, and may describe tensors."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note the tensors; those without other records are in no picture."""
        for seen in getattr(self, "tensors", ()):
            known = frame.tensors.get(seen.id)
            frame.see(seen)
            frame.tensors[seen.id].held = known is None or known.held


@dataclass(frozen=True, slots=True)
class HeldParameter:
    """A parameter, and the path by which a module holds it: `layers.0.weight`."""

    path: str
    tensor: str


@dataclass(frozen=True, slots=True)
class ModeOfModule:
    """A module that computes otherwise while it is training, as dropout does: its path, its class and its numbers."""

    path: str
    module: str
    settings: str
    training: bool


def _held(at: Reading, parameters: tuple[tuple[str, int], ...]) -> tuple[HeldParameter, ...]:
    return tuple([HeldParameter(path, at.ids[tensor]) for path, tensor in parameters])


@dataclass(frozen=True, slots=True)
class IdleFlag:
    """An attribute set to False on a parameter or a module, which nothing reads: its path, and the attribute."""

    path: str
    name: str


def _flags(at: Reading, flags: tuple[tuple[str, str], ...]) -> tuple[IdleFlag, ...]:
    return tuple([IdleFlag(*each) for each in flags])


def _modes(at: Reading, modes: tuple[tuple[Any, ...], ...]) -> tuple[ModeOfModule, ...]:
    return tuple([ModeOfModule(*each) for each in modes])


@kind_of_event
@dataclass(frozen=True, slots=True)
class ModuleCalled(_Found):
    """An outermost module has returned, at its first call, or at one for which any of this has changed.

    It is called `name` and is a `module` of this class. `grad` is whether operations were recorded then. It holds the
    `parameters`, used or not. `modes` are those in it which compute otherwise while they are `training`.
    """

    name: str
    module: str
    tensors: Tensors
    parameters: Annotated[tuple[HeldParameter, ...], _held]
    grad: bool
    training: bool
    modes: Annotated[tuple[ModeOfModule, ...], _modes]
    source: Located = None
    flags: Annotated[tuple[IdleFlag, ...], _flags] = ()


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """An optimizer's parameter group: its learning rate, if it is known, and its parameters."""

    lr: float | None
    parameters: tuple[str, ...]


def _groups(at: Reading, groups: tuple[tuple[float | None, tuple[int, ...]], ...]) -> tuple[ParameterGroup, ...]:
    return tuple([ParameterGroup(lr, tuple([at.ids[each] for each in tensors])) for lr, tensors in groups])


@kind_of_event
@dataclass(frozen=True, slots=True)
class OptimizerFound(_Found):
    """Record an optimizer's first step, or the first with other parameters or another learning rate than before.

    `optimizer` is its class, and `number` distinguishes it from others. Its groups include parameters without a
    gradient.
    """

    optimizer: str
    number: int
    tensors: Tensors
    groups: Annotated[tuple[ParameterGroup, ...], _groups]
    source: Located = None
