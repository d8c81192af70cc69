"""What the user's variables call tensors, those of the workbench or of another engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

from .assignments import loops_of
from .listing import listing
from .module_names import OWNERS, parameters_of
from .variables import class_of, variables
from .workbench_engine import is_tensor, maker_of

_ITEMS = 100  # of a list or a dict that are looked at
_OF_IPYTHON = ("In", "Out")
_SEVERAL = frozenset((list, tuple, dict))
# What most variables hold that are no tensors.
_NO_TENSORS = frozenset((ModuleType, FunctionType, BuiltinFunctionType, type, bool, int, float, str, type(None)))

# Of an engine that is driven: by the class of its tensors what gives the workbench's own that stands for one.
stands_for: dict[type, Callable[[Any], Any]] = {}


def own_of(thing: Any) -> Any:
    """Return the workbench's own tensor for one of another engine; any other thing itself."""
    mirror = stands_for.get(class_of(thing)) if stands_for else None
    return thing if mirror is None else mirror(thing)


def _is_parameter(tensor: Any) -> bool:
    if is_tensor(tensor):
        return tensor.requires_grad and maker_of(tensor) is None
    # Of a view, to ask whether it is a leaf may make a node.
    return tensor.requires_grad and tensor._base is None and tensor.is_leaf


def named_in(frame: FrameType, is_tensor: Callable[[Any], bool] = is_tensor) -> list[tuple[str, Any]]:
    """Return the tensors that a frame's variables hold, each by its best name first.

    After variables come the parameters and buffers of modules, then the contents of lists and dicts. A module's tensors
    have the module's names for them, even if a variable holds them too. A loop variable comes last, and never names a
    parameter: it holds another one in the next iteration.
    """
    named: list[tuple[str, Any]] = []
    parameters: list[tuple[str, Any]] = []
    items: list[tuple[str, Any]] = []
    cells: Any = ()
    held = [pair for pair in variables(frame) if class_of(pair[1]) not in _NO_TENSORS and pair[0][:1] != "_"]
    for name, held_thing in held:
        thing = own_of(held_thing)
        kind = class_of(thing)
        if kind in _SEVERAL:
            if name not in _OF_IPYTHON:
                items += _items(name, thing, is_tensor)
            elif name == "In" and kind is list:
                cells = cells or thing
        elif is_tensor(thing):
            named.append((name, thing))
        elif hasattr(kind, "named_parameters"):
            parameters += parameters_of(name, thing, is_tensor)
    if parameters and named:
        paths = {id(each): path for path, each in reversed(parameters) if path.partition(".")[0] not in OWNERS}
        named = [(paths.get(id(each), name), each) for name, each in named]
    if loops := listing(frame.f_code).loop_names | loops_of(cells):
        passing = [(name, t) for name, t in named if name in loops and not _is_parameter(t)]
        named = [pair for pair in named if pair[0] not in loops]
        return [*named, *parameters, *items, *passing]
    return [*named, *parameters, *items]


def named_outside(
    named: list[tuple[str, Any]], frames: Sequence[FrameType], is_tensor: Callable[[Any], bool] = is_tensor
) -> list[tuple[str, Any]]:
    """Return the names in the innermost of these frames, with those that outer ones have for its arguments.

    A function calls whatever it is given by its own words, another tensor in each call. The outermost frame, which
    comes first, has the words of the program; what is no variable there keeps its name.
    """
    code = frames[-1].f_code if len(frames) > 1 else None
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    if not any([name in arguments for name, _ in named]):
        return named
    outer: dict[int, str] = {}
    for frame in frames[:-1]:
        passing = listing(frame.f_code).loop_names
        for name, thing in variables(frame):
            if class_of(thing) not in _NO_TENSORS and name[:1] != "_" and name not in passing:
                own = own_of(thing)
                if is_tensor(own):
                    outer.setdefault(id(own), name)
    return [(outer.get(id(each), name) if name in arguments else name, each) for name, each in named]


def _items(name: str, thing: Any, is_tensor: Callable[[Any], bool], inner: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a list, tuple or dict, "params[0]", "state['w']", and the nested ones, "layers[0][1]"."""
    several: Any = thing
    pairs: Any = several.items() if class_of(thing) is dict else enumerate(several)
    for key, each in islice(pairs, _ITEMS):
        if not isinstance(key, str | int):
            continue
        each = own_of(each)
        if is_tensor(each):
            if not inner or _is_parameter(each):  # what a computation gives has names of its own
                yield f"{name}[{key!r}]", each
        elif not inner and class_of(each) in _SEVERAL and is_tensor(_first(each)):  # rows of data are many
            yield from _items(f"{name}[{key!r}]", each, is_tensor, inner=True)


def _first(several: Any) -> Any:
    return next(iter(several.values() if class_of(several) is dict else several), None)
