"""How a recorder learns what the user's variables call the tensors."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..events import tag
from .describe import Describer, maker_of
from .records import TensorsFound
from .source import Outlook, is_users, local_variables, user_frames, variables
from .values import LIMIT

_ITEMS = 100  # of a list or a dict that are looked at
_OF_IPYTHON = ("In", "Out")
_FOR = re.compile(r"^\s*for\s+([\w\s,()*]+?)\s+in\b", re.MULTILINE)
_SET = re.compile(r"^\s*(\w+)\s*=[^=]", re.MULTILINE)
_FRAMES = 6  # functions that one transformed function may lie in, and its variables be known


class Namer(Describer):
    """Notes the first name found of each tensor."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._names: dict[int, str] = {}  # tensor -> variable

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors; one tensor keeps the first name found."""
        if frame is not None:
            self._learn(named_in(frame))

    def name(self, names: Mapping[int, str]) -> None:
        """Take these names, by the tags of tensors, for those that have none."""
        for serial, name in names.items():
            self._names.setdefault(serial, name)

    def _learn(self, named: Iterable[tuple[str, Any]]) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        for name, thing in named:
            serial = tag(thing)
            self._names.setdefault(serial, name)
            maker = maker_of(thing)
            known = serial in self._tensors and serial not in self._outdated
            if not known and maker is not None and tag(maker) in self._nodes:
                self._describe(thing, found)
        if found:
            self._raw.append(TensorsFound.Raw(tuple(found.values())))

    def _learn_names(self) -> None:
        """Inside a transform a variable is gone before anybody else asks for its name.

        What a named tensor stands for has that name too, if it has none of its own.
        """
        held = [pair for frame in islice(user_frames(), _FRAMES) for pair in variables(frame)]
        named = [(name, thing) for name, thing in held if hasattr(type(thing), "_array") and name[0] != "_"]
        named = [(name, tensor) for name, tensor in named if hasattr(tensor, "_level")]
        for name, tensor in named:
            self._names.setdefault(tag(tensor), name)
        for name, tensor in named:
            while hasattr(tensor := tensor._value, "_level"):
                self._names.setdefault(tag(tensor), name)


def _is_ours(thing: Any) -> bool:
    return hasattr(type(thing), "_array")


def _is_parameter(tensor: Any) -> bool:
    if _is_ours(tensor):
        return tensor.requires_grad and maker_of(tensor) is None
    # Of a view, to ask whether it is a leaf may make a node.
    return tensor.requires_grad and tensor._base is None and tensor.is_leaf


def named_in(frame: FrameType, is_tensor: Callable[[Any], bool] = _is_ours) -> list[tuple[str, Any]]:
    """The tensors that a frame's variables hold, each by its best name first.

    After variables come the parameters and buffers of modules, as these call them, then what lists and dicts hold. The
    variable of a loop comes last, and never names a parameter: it holds another in the next round.
    """
    held = [(name, thing) for name, thing in variables(frame) if not name.startswith("_")]
    tensors = [(name, thing) for name, thing in held if is_tensor(thing)]
    loops = _loop_variables(frame.f_code) | _loops_of_cells(held)
    named = [pair for pair in tensors if pair[0] not in loops]
    passing = [(name, t) for name, t in tensors if name in loops and not _is_parameter(t)]
    return [*named, *_parameters(held, is_tensor), *_items(held, is_tensor), *passing]


def loops_at(outlook: Outlook) -> tuple[tuple[int, dict[str, int]], ...]:
    """What tells the round of a loop from the one before, by the place of each frame of the user's that is in one.

    It is the number that a `for` variable holds, or the address of another thing: all that counts is that it changes.
    """
    told = []
    for place, frame in enumerate(outlook.frames()):
        if is_users(frame.f_code.co_filename) and (names := _loop_variables(frame.f_code)):
            held = [(name, thing) for name, thing in local_variables(frame) if name in names]
            told.append((place, {name: thing if type(thing) is int else id(thing) for name, thing in held}))
    return tuple(told)


def _parameters(named: Iterable[tuple[str, Any]], is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """What modules that are variables call their parameters and buffers: "net.layers.0.weight"."""
    for name, thing in named:
        if hasattr(type(thing), "named_parameters") and "_parameters" in getattr(thing, "__dict__", ()):
            for path, module in thing.named_modules(prefix=name):
                for held in (module._parameters, module._buffers):  # those of another engine's module are its own
                    yield from ((f"{path}.{own}", tensor) for own, tensor in held.items() if is_tensor(tensor))


def _items(held: Iterable[tuple[str, Any]], is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The tensors in lists, tuples and dicts: "params[0]", "state['w']"."""
    for name, thing in held:
        if name in _OF_IPYTHON:
            continue
        if type(thing) in (list, tuple):
            several: Iterable[tuple[Any, Any]] = enumerate(islice(thing, _ITEMS))
        elif type(thing) is dict:
            several = [pair for pair in islice(thing.items(), _ITEMS) if isinstance(pair[0], str | int)]
        else:
            continue
        yield from ((f"{name}[{key!r}]", each) for key, each in several if is_tensor(each))


@lru_cache(256)
def _loop_variables(code: CodeType) -> frozenset[str]:
    """The variables that a `for` of this code sets."""
    found: set[str] = set()
    stores = 0  # still to come after FOR_ITER
    for step in dis.get_instructions(code):
        if step.opname == "FOR_ITER":
            stores = 1
        elif stores and step.opname.startswith("UNPACK"):
            stores += (step.arg or 1) - 1 if step.opname == "UNPACK_SEQUENCE" else 1
        elif stores and step.opname.startswith("STORE_"):
            names = step.argval if type(step.argval) is tuple else (step.argval,)
            found.update(names[:stores])
            stores -= len(names)
        elif stores:
            stores = 0
    return frozenset(found)


def _loops_of_cells(held: Iterable[tuple[str, Any]]) -> set[str]:
    """The variables of loops in the cells of a notebook that ran before, unless a cell assigns them too."""
    cells = next((thing for name, thing in held if name == "In" and type(thing) is list), ())
    text = "\n".join(map(str, cells))
    return {name for loop in _FOR.findall(text) for name in re.findall(r"\w+", loop)} - {*_SET.findall(text)}
