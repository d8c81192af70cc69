"""What a module is called by the program that calls it, wherever that holds it, and its parameters by that.

Only the outermost module needs a name: those in it have the path by which it holds them. Its own is that of a variable
or an attribute in a frame that led to its call, `net` of `self.net`; of one that no frame holds it is its class's, as
its calls have in their scope, since any other word would be one that the program does not have.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from .identity import ByIdentity, named_parts
from .listing import listing
from .variables import class_of, variables

_MOST = 2_000  # things that are looked at in the variables of one frame
_ITEMS = 100  # of a list, a dict or an object
_DEPTH = 3  # attributes and items in each other: `app.trainer.nets[0]`
_PLAIN = frozenset(
    (ModuleType, FunctionType, BuiltinFunctionType, MethodType, FrameType, type, bool, int, float, str, bytes)
    + (type(None),)
)
_SEVERAL = frozenset((list, tuple, dict))
_LIBRARIES = ("torch", __name__.partition(".")[0])
OWNERS = ("self", "cls")  # what a method calls the one that it is of: no name of the program's


class ModuleNames:
    """Gives each outermost module a name, no two of them the same, and its parameters theirs, which go into `names`."""

    def __init__(
        self, is_tensor: Callable[[Any], bool], number_of: Callable[[Any], int], names: dict[int, str]
    ) -> None:
        self._is_tensor, self._number_of, self._names = is_tensor, number_of, names
        self._modules: ByIdentity[str] = ByIdentity()

    def called(self, module: Any, frames: Callable[[], list[FrameType]]) -> str:
        """Return the name of a called outermost module: at first, its name in the first of these frames that holds it.

        One that lies in another which was called before has that one's name for it.
        Its parameters may be others than at its last call, whoever put them there.
        """
        name = self._modules.get(module)
        if name is not None:
            first = next((each for _, part in named_parts(module) for each in _weights(part)), None)
            if first is not None and self._number_of(first) not in self._names:
                self._learn(name, module)
            return name
        around = frames()
        taken = {*self._modules.values()}
        inside = (_dotted(outer, path) for each, outer in self._modules.items() for path in _paths(each, module))
        names = chain(inside, (name for frame in around for name in names_in(frame, module)))
        name = next((each for each in names if each not in taken), None) or _apart(type(module).__name__, taken)
        self._modules[module] = name
        self._learn(name, module)
        return name

    def called_anew(self, module: Any, frames: Callable[[], list[FrameType]]) -> str:
        """Return the name of an outermost module whose contents changed, and name the new ones too."""
        name = self.called(module, frames)
        self._learn(name, module)
        return name

    def find(self, unnamed: Iterable[int], frames: Iterable[FrameType]) -> None:
        """Name tensors held by modules that weren't called, if one of these frames leads to them."""
        left = {*unnamed}
        for way in (way for frame in frames for way in _ways(frame)):
            if _is_module(way.thing) and way.short:
                for path, tensor in parameters_of(way.short, way.thing, self._is_tensor):
                    if (number := self._number_of(tensor)) in left:
                        left.discard(number)
                        self._names.setdefault(number, path)
            if not left:
                return

    def learn(self) -> None:
        """Learn what the modules hold by now."""
        for module, name in [*self._modules.items()]:
            self._learn(name, module)

    def _learn(self, name: str, module: Any) -> None:
        """Name what a module holds."""
        for path, tensor in parameters_of(name, module, self._is_tensor):
            self._names.setdefault(self._number_of(tensor), path)


def _apart(name: str, taken: set[str]) -> str:
    """Return a class's name, with a number if another module has it."""
    number = 2
    found = name
    while found in taken:
        found, number = f"{name}#{number}", number + 1
    return found


def parameters_of(name: str, module: Any, is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Return the names of a module's parameters and buffers: `net.layers.0.weight`."""
    if "_parameters" in getattr(module, "__dict__", ()):
        for path, part in named_parts(module, name):
            for held in (part._parameters, part._buffers):  # those of another engine's module are its own
                yield from ((f"{path}.{own}", tensor) for own, tensor in held.items() if is_tensor(tensor))
            if (
                type(part).__module__.partition(".")[0] not in _LIBRARIES
            ):  # it may hold tensors that it never registered
                others = ((own, thing) for own, thing in part.__dict__.items() if own[:1] != "_" and is_tensor(thing))
                yield from ((f"{path}.{own}", tensor) for own, tensor in others)


def modules_holding(tensors: Iterable[Any], frames: Iterable[FrameType], kind: type) -> list[tuple[str, Any]]:
    """Return the outermost modules of this kind that hold one of these parameters, each with its name.

    Those come first that a frame holds. Nothing leads from a parameter to a module that none does: for that, all that
    the program has is gone through once.
    """
    left = {id(tensor) for tensor in tensors}
    found: list[tuple[str, Any]] = []

    def take(name: str, module: Any) -> None:
        held = {id(each) for _, part in named_parts(module) for each in _held(part)}
        if left & held:
            left.difference_update(held)
            found.append((_apart(name or type(module).__name__, {each for each, _ in found}), module))

    for way in (way for frame in frames if left for way in _ways(frame)):
        if left and issubclass(type(way.thing), kind):
            take(way.short, way.thing)
    if left:
        modules = [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]
        inner = {id(part) for module in modules for part in _attributes(module).get("_modules", {}).values()}
        for module in modules:
            if id(module) not in inner:
                take("", module)
    return found


def _weights(module: Any) -> list[Any]:
    return [each for each in _attributes(module).get("_parameters", {}).values() if each is not None]


def _held(module: Any) -> list[Any]:
    own = _attributes(module)
    return [each for held in ("_parameters", "_buffers") for each in own.get(held, {}).values()]


class _Way(NamedTuple):
    """How a thing is reached: its name in the program there, the whole path, and the path's length."""

    thing: Any
    short: str
    whole: str
    depth: int


def names_in(frame: FrameType, module: Any) -> Iterator[str]:
    """Yield a module's names by a frame's variables and what these hold, the shortest first."""
    for way in _ways(frame):
        if way.thing is module:
            yield from dict.fromkeys([name for name in (way.short, way.whole) if name])
        elif _is_module(way.thing):
            yield from (_dotted(way.short, path) for path in _paths(way.thing, module))


def _paths(outer: Any, module: Any) -> list[str]:
    """Return a module's names in one that holds it."""
    return [path for path, part in named_parts(outer) if part is module]


def _ways(frame: FrameType) -> Iterator[_Way]:
    """Yield what a frame's variables hold, and what is inside that, the nearest first."""
    names = [("" if name in OWNERS else name, thing) for name, thing in _held_by(frame)]
    todo = deque([_Way(thing, name, name, 0) for name, thing in names])
    met: set[int] = set()
    while todo and len(met) < _MOST:
        way = todo.popleft()
        if type(way.thing) not in _PLAIN:
            yield way
            if id(way.thing) not in met and way.depth < _DEPTH:
                met.add(id(way.thing))
                todo += _within(way)


def _held_by(frame: FrameType) -> list[tuple[str, Any]]:
    """Return a frame's variables with permanent names: a loop variable holds another thing in the next iteration."""
    passing = listing(frame.f_code).loop_names
    return [(name, thing) for name, thing in variables(frame) if name not in passing and name[:1] != "_"]


def _within(way: _Way) -> Iterator[_Way]:
    """Yield what is inside a thing: items of a list, tuple or dict, or attributes of anything else."""
    thing, depth = way.thing, way.depth + 1
    if type(thing) not in _SEVERAL:
        is_module = _is_module(thing)  # of which more than its parts may be held in its attributes
        for name, each in [*_attributes(thing).items()][:_ITEMS]:
            if isinstance(name, str) and name[:1] != "_":
                yield _Way(each, _dotted(way.short, name) if is_module else name, _dotted(way.whole, name), depth)
    elif way.whole:
        several: Any = thing
        pairs: Any = several.items() if class_of(thing) is dict else enumerate(several)
        for key, each in [*islice(pairs, _ITEMS)]:
            if isinstance(key, str | int):
                item = f'["{key}"]' if isinstance(key, str) and '"' not in key else f"[{key!r}]"  # as it is written
                yield _Way(each, way.short + item, way.whole + item, depth)


def _is_module(thing: Any) -> bool:
    return hasattr(class_of(thing), "named_modules") and "_modules" in _attributes(thing)


def _dotted(name: str, path: str) -> str:
    return f"{name}.{path}" if name and path else name or path


def _attributes(thing: Any) -> dict[Any, Any]:
    """Return an object's attributes, without running code of its class."""
    try:
        found: dict[Any, Any] = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if type(found) is dict else {}
