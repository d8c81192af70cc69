"""What a recorder asks of tensors and nodes, how it describes them, and what the user's variables call them."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any
from weakref import KeyedRef, WeakValueDictionary, ref

import numpy as np

from ..events import tag
from .call_records import LevelEntered
from .records import CheckpointDropped, CheckpointKept, NodeCreated, TensorsFound
from .schema import Raw
from .source import OWN, Outlook, is_users, local_variables, text_of, user_frames, variables
from .values import LIMIT, Value, kept


def class_of(thing: object) -> Any:
    """Its class: `__class__` may say another."""
    return type(thing)


def is_tensor(thing: object) -> bool:
    """Whether it is one of the engine's tensors."""
    return hasattr(type(thing), "_array")


def maker_of(tensor: Any) -> Any:
    """The node that made a tensor: of a view the one it had when the user last asked, as asking makes it a new one."""
    meta = tensor._meta
    return tensor._fn if meta is None or meta.base is None else meta.view_fn


def version_of(tensor: Any) -> int:
    """How often a tensor was written; nobody counts that of one made in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def entry_of(node: Any) -> Any:
    """The entry of the innermost scope that a node was made in (autograd/scopes.py)."""
    return getattr(getattr(node, "extra", None), "scope", None)


def grad_of(tensor: Any) -> Any:
    """The gradient that a tensor has; `grad` itself may warn."""
    return None if tensor._meta is None else tensor._meta.grad


def memory_of(tensor: Any) -> Any:
    """The array that owns the memory a tensor shows, if it is one that can be asked for it."""
    array = getattr(tensor, "_array", None)
    return array if type(array) is not np.ndarray or array.base is None else array.base


def zeros_of(node: Any) -> tuple[int, ...]:
    """The outputs of a custom node for which it is given zeros where no gradient arrives."""
    hands = getattr(node.__class__, "hands_zeros", None)
    return () if hands is None else tuple([nr for nr in range(node.outputs) if hands(node, nr)])


ACCUMULATE = "torch::autograd::AccumulateGrad"
_PLAIN = (int, float, bool, str, type(None))
_NOWHERE: tuple[int | None, int] = None, 0  # where a leaf comes from


class Describer:
    """Puts down what it is shown, each thing under its serial number, in raw events that `reader` makes records of."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self.outlook = Outlook()
        self._raw: list[Raw] = []
        self._nodes: set[int] = set()
        self._tensors: set[int] = set()
        self._before: list[set[int]] = []  # the tensors that earlier chapters have told of
        self._levels: set[int] = set()
        # Where the outputs came from that take no gradient: they do not know their node.
        self._unlinked: dict[int, tuple[int, int]] = {}
        self._detached: dict[int, int] = {}  # tensor -> the one that it was detached from
        # What shares memory with others, and of that what was written since: asked for, it has a new history.
        self._alike: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._outdated: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._shares = False  # whether these two were ever used: asking them takes long
        self._lives: dict[int, KeyedRef[int, Any]] | None = None  # by the numbers of nodes, where deaths are told
        self._dead: list[KeyedRef[int, Any]] = []
        self._slots: dict[int, ref[Any]] = {}  # memory -> the tensor whose gradient lies there
        self._names: dict[int, str] = {}  # tensor -> the first variable found that holds it
        self._repeating = 0  # checkpoints that are run again
        self._again: list[Any] = []  # what they have kept: two nodes may save the same, which no node of the graph made

    def _copy(self, thing: Any) -> Any:
        if type(thing) is np.ndarray:
            return kept(thing, self._limit)
        if thing is None:
            return None
        return self._whole(thing) if hasattr(thing, "_level") else kept(getattr(thing, "_array", thing), self._limit)

    def _whole(self, tensor: Any) -> Value:
        """The value of a tensor that a transform looks into: of a batched one, of all samples."""
        batch = 0
        while hasattr(tensor, "_level"):
            batch += tensor._level.size is not None
            tensor = tensor._value
        return Value.of(tensor._array, self._limit, batch)

    def _level(self, level: Any, heard: bool = False, line: tuple[str, int] | None = None) -> int:
        """The serial number of a level, which is put down when it is first heard of."""
        serial = tag(level)
        if serial not in self._levels:
            self._levels.add(serial)
            self._raw.append(LevelEntered.Raw(serial, level.kind, level.number, level.size, heard, line))
        return serial

    def _copies(self, grads: Any, known: dict[int, tuple[Any, Any]] | None = None) -> tuple[Any, ...]:
        if not known:
            return tuple([self._copy(grad) for grad in grads])
        copies: list[Any] = []
        for grad in grads:
            its, copy = known.get(id(grad), (_nothing, None))
            copies.append(copy if its() is grad is not None else self._copy(grad))
        return tuple(copies)

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor as it is now."""
        serial = tag(tensor)
        self._tensors.add(serial)
        if tensor._meta is not None and (base := tensor._meta.base) is not None:
            self._alike[serial], self._alike[tag(base)], self._shares = tensor, base, True
            if not self._is_known(base._tag) and (maker_of(base) is None or tag(maker_of(base)) in self._nodes):
                self._describe(base, found)  # its variable says what the view is of
        maker = maker_of(tensor)
        node: int | None
        if maker is not None:
            node, nr, grad = tag(maker), tensor.output_nr, None
        else:
            node, nr = self._unlinked.get(serial, _NOWHERE)
            grad = self._copy(tensor.grad)
            self._hold(tensor)
        level = below = None
        if not hasattr(tensor, "_level"):
            value = kept(tensor._array, self._limit)
        else:
            value = self._whole(tensor)
            level, under = self._level(tensor._level), tensor._value
            while hasattr(under, "_level") and tag(under) not in self._tensors:
                under = under._value
            below = tag(under) if tag(under) in self._tensors else None
        found[serial] = (
            serial,
            value,
            version_of(tensor),
            tensor.requires_grad,
            node,
            nr,
            grad,
            level,
            below,
            self._base(tensor),
        )
        return serial

    def _know(self, node: Any) -> None:
        """Note that a node is put down."""
        serial = tag(node)
        self._nodes.add(serial)
        if self._lives is not None:
            self._lives[serial] = KeyedRef(node.life(), self._dead.append, serial)

    def _hold(self, tensor: Any) -> None:
        """Remember where a tensor's gradient lies: a write there is told of that tensor."""
        if (memory := memory_of(grad_of(tensor))) is not None:
            self._slots[id(memory)] = ref(tensor)

    def _base(self, tensor: Any) -> int | None:
        """The number of the tensor whose memory this one shows, if that is another which is known."""
        meta = tensor._meta
        serial = tensor._tag if meta is None or meta.base is None else tag(meta.base)
        owner = self._detached.get(serial, serial) if self._detached else serial
        return owner if owner != tensor._tag and self._is_known(owner) else None

    def _is_known(self, tensor: int) -> bool:
        """Whether this chapter of the recording has told of a tensor, or one before it."""
        return tensor in self._tensors or (bool(self._before) and any([tensor in known for known in self._before]))

    def _describe_others(self, written: Any, found: dict[int, Any]) -> None:
        """Put down what shares the memory that was written: it has new values by that, and perhaps a new history."""
        for each in self._sharing(written):
            if (maker := maker_of(each)) is not None:
                self._place(maker, found)
            self._describe(each, found)
            self._outdated[each._tag] = each

    def _sharing(self, written: Any) -> list[Any]:
        """The other known tensors that show the memory of the one that was written."""
        if not self._shares:
            return []
        known = [each for each in list(self._alike.values()) if each is not written and self._is_known(each._tag)]
        return [each for each in known if each._storage is written._storage is not None]

    def _note(self, arg: object, given: list[Any], tensors: list[Any], found: dict[int, Any]) -> None:
        """Put down an argument: a tensor's serial number, or what can be said of anything else."""
        kind = type(arg)
        if hasattr(kind, "_array"):
            tensors.append(arg)
            serial = tag(arg)
            # A leaf is looked at each time: `x.grad = None` and `x.data` change it without a word.
            if serial not in found and (not self._is_as_told(serial) or maker_of(arg) is None):
                self._describe(arg, found)
            given.append((serial,))
        elif issubclass(kind, (list, tuple)):
            self._note_several(arg, given, tensors, found)
        elif kind.__name__ == "dtype":
            given.append(str(arg))
        else:
            given.append(arg if isinstance(arg, _PLAIN) else kind)

    def _note_several(self, args: Any, given: list[Any], tensors: list[Any], found: dict[int, Any]) -> None:
        several: list[Any] = []
        for each in args:
            self._note(each, several, tensors, found)
        given += several if len(several) < 2 else in_brackets(several)

    def _is_as_told(self, tensor: int) -> bool:
        """Whether a tensor is known, and nothing that shares its memory was written since."""
        return tensor in self._tensors and not (self._shares and tensor in self._outdated)

    def _place(self, node: Any, found: dict[int, Any]) -> int:
        """The serial number of where a gradient goes: the node's, or the leaf's for its AccumulateGrad."""
        serial = tag(node)
        if serial in self._nodes:
            return serial
        if node.name() == ACCUMULATE:
            variable = node.variable
            return tag(variable) if tag(variable) in found else self._describe(variable, found)
        self._find(node)
        return serial

    def _edges(self, node: Any, found: dict[int, Any]) -> tuple[Any, ...]:
        return tuple([(None if to is None else self._place(to, found), nr) for to, nr in node.next_functions])

    def _saved(self, node: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """What a node has saved: a tensor by its number, as is an array of one of `tensors`; others by value."""
        return self._kept(node, node.saved_items(), tensors, found)

    def _kept(self, node: Any, items: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        saved: list[Any] = []
        for name, thing, version in items:
            array = thing if type(thing) is np.ndarray else getattr(thing, "_array", thing)
            if not hasattr(array, "size"):
                if hasattr(thing, "hook"):
                    saved.append((name, None, *self._packed(node, thing, tensors)))
                continue  # else nothing is saved there, or it is freed
            known = None
            for tensor in tensors:
                if tensor._array is array:
                    known = tensor._tag
                    break
            if known is None and array is not thing:
                known = tag(thing)
                if known not in self._tensors:
                    self._describe(thing, found)
            saved.append((name, known, self._copy(array) if known is None else None, version))
        return tuple(saved)

    def _packed(self, node: Any, packed: Any, tensors: list[Any]) -> tuple[Any, ...]:
        """What a hook returned, the version, and the hook and the tensor it was given, if that is one of `tensors`."""
        hook, kept = packed.hook, packed.value
        array = getattr(kept, "_array", kept)
        users = hasattr(hook, "co_filename") and not hook.co_filename.startswith(OWN)
        line = (hook.co_filename, hook.co_firstlineno) if users else None
        maker = packed.fn if packed.fn is None or hasattr(packed.fn, "next_functions") else node
        own = [t for t in tensors if (maker_of(t), t._nr) == (maker, packed.nr)] if maker else []
        leaves = [t for t in tensors if packed.leaf is not None and packed.leaf.variable is t]
        of = next((t._tag for t in (*own, *leaves)), None)
        copy = self._copy(array) if isinstance(array, np.ndarray) else None
        return copy, 0, (getattr(hook, "co_name", hook), line, type(kept).__name__, of)

    def _attributes(self, node: Any, found: dict[int, Any]) -> tuple[Any, ...]:
        """What forward put on `ctx`: what is not the engine's own has no place in the class."""
        told: list[tuple[Any, ...]] = []
        if node._forward_cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return ()
        for name, thing in node.__dict__.items():
            if hasattr(node.__class__, name):
                continue
            several: Any = thing if issubclass(class_of(thing), list | tuple) else (thing,)
            for index, each in enumerate(several):
                called = name if each is thing else f"{name}[{index}]"
                text = each if isinstance(each, _PLAIN) else class_of(each)
                if is_tensor(each):
                    own = tag(each)
                    if own not in self._tensors:
                        self._describe(each, found)
                    told.append((called, text, own, None))
                else:
                    copy = self._copy(each) if issubclass(class_of(each), np.ndarray) else None
                    told.append((called, text, None, copy))
        return tuple(told)

    def _find(self, node: Any) -> None:
        """Put down a node that was born unheard, after all it came from."""
        stack = [(node, False)]
        while stack:
            node, after = stack.pop()
            if after:
                found: dict[int, Any] = {}
                edges = self._edges(node, found)
                saved = self._saved(node, [], found)
                tensors = tuple(found.values())
                self._raw.append(
                    NodeCreated.Raw(
                        node=node._tag,
                        name=node.name(),
                        cls=type(node),
                        found=True,
                        edges=edges,
                        args=(),
                        tensors=tensors,
                        saved=saved,
                        stack=None,
                        entry=entry_of(node),
                        outputs=node.outputs,
                        zeros=zeros_of(node),
                    )
                )
            elif tag(node) not in self._nodes:
                self._know(node)
                stack.append((node, True))
                stack += [
                    (to, False) for to, _ in reversed(node.next_functions) if to is not None and to.name() != ACCUMULATE
                ]

    def _serial(self, node: Any) -> int:
        """The serial number under which a node is known: the leaf's for its AccumulateGrad."""
        serial = tag(node)
        return serial if serial in self._nodes or node.name() != ACCUMULATE else tag(node.variable)

    # What the user's variables call the tensors.

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
            if maker is not None and not self._is_as_told(serial) and tag(maker) in self._nodes:
                self._describe(thing, found)
        if found:
            self._raw.append(TensorsFound.Raw(tuple(found.values())))

    def _learn_names(self) -> None:
        """Inside a transform a variable is gone before anybody else asks for its name.

        What a named tensor stands for has that name too, if it has none of its own.
        """
        held = [pair for frame in islice(user_frames(), _FRAMES) for pair in variables(frame)]
        named = [(name, thing) for name, thing in held if is_tensor(thing) and name[0] != "_"]
        named = [(name, tensor) for name, tensor in named if hasattr(tensor, "_level")]
        for name, tensor in named:
            self._names.setdefault(tag(tensor), name)
        for name, tensor in named:
            while hasattr(tensor := tensor._value, "_level"):
                self._names.setdefault(tag(tensor), name)

    # What the engine says of memory that is shared, and of what checkpoints keep.

    def on_shares(self, tensor: Any, source: Any) -> None:
        self._alike[tag(tensor)], self._alike[tag(source)], self._shares = tensor, source, True
        self._detached[tensor._tag] = self._base(source) or source._tag

    def on_keeps(self, node: Any, items: list[Any]) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        saved = self._kept(node, items, self._again, found)
        if self._repeating:
            self._again += [thing for _, thing, _ in items if is_tensor(thing)]
        self._raw.append(CheckpointKept.Raw(tag(node), saved, tuple(found.values()), bool(self._repeating)))

    def on_drops(self, node: Any, name: Any) -> None:
        if hasattr(node, "_tag"):
            self._raw.append(CheckpointDropped.Raw(node._tag, name))

    def on_repeats(self, node: Any, begins: bool) -> None:
        self._repeating = max(0, self._repeating + (1 if begins else -1))
        if not self._repeating:
            self._again = []


def _nothing() -> None:
    """A weak reference to nothing."""


def in_brackets(several: list[Any]) -> list[Any]:
    """A list's arguments: its tensors, if there are any, bear the brackets and what is said between them."""
    named: list[Any] = []
    text = "("
    for arg in several:
        if arg.__class__ is tuple:
            named.append((arg[0], text + (arg[1] if len(arg) > 1 else "{}")))
            text = ""
        else:
            text += f"{text_of(arg)}, "
    if not named:
        return several
    serial, last = named[-1]
    return [*named[:-1], (serial, ", ".join([last, *text.split(", ")[:-1]]) + ")")]


_ITEMS = 100  # of a list or a dict that are looked at
_OF_IPYTHON = ("In", "Out")
_SEVERAL = frozenset((list, tuple, dict))
# What most variables hold that are no tensors.
_NO_TENSORS = frozenset((ModuleType, FunctionType, BuiltinFunctionType, type, bool, int, float, str, type(None)))
_FOR = re.compile(r"^\s*for\s+([\w\s,()*]+?)\s+in\b", re.MULTILINE)
_SET = re.compile(r"^\s*(\w+)\s*=[^=]", re.MULTILINE)
_FRAMES = 6  # functions that one transformed function may lie in, and its variables be known


def _is_parameter(tensor: Any) -> bool:
    if is_tensor(tensor):
        return tensor.requires_grad and maker_of(tensor) is None
    # Of a view, to ask whether it is a leaf may make a node.
    return tensor.requires_grad and tensor._base is None and tensor.is_leaf


def named_in(frame: FrameType, is_tensor: Callable[[Any], bool] = is_tensor) -> list[tuple[str, Any]]:
    """The tensors that a frame's variables hold, each by its best name first.

    After variables come the parameters and buffers of modules, as these call them, then what lists and dicts hold. The
    variable of a loop comes last, and never names a parameter: it holds another in the next round.
    """
    named: list[tuple[str, Any]] = []
    parameters: list[tuple[str, Any]] = []
    items: list[tuple[str, Any]] = []
    cells: Any = ()
    for name, thing in variables(frame):
        kind = class_of(thing)
        if kind in _NO_TENSORS or name.startswith("_"):
            continue
        if kind in _SEVERAL:
            if name not in _OF_IPYTHON:
                items += _items(name, thing, is_tensor)
            elif name == "In" and kind is list:
                cells = cells or thing
        elif is_tensor(thing):
            named.append((name, thing))
        elif hasattr(kind, "named_parameters"):
            parameters += _parameters(name, thing, is_tensor)
    loops = _loop_variables(frame.f_code)
    if cells:
        loops |= _loops_of_cells(cells)
    if loops:
        passing = [(name, t) for name, t in named if name in loops and not _is_parameter(t)]
        named = [pair for pair in named if pair[0] not in loops]
        return [*named, *parameters, *items, *passing]
    return [*named, *parameters, *items]


def loops_at(outlook: Outlook) -> tuple[tuple[int, dict[str, int]], ...]:
    """What tells the round of a loop from the one before, by the place of each frame of the user's that is in one.

    It is the number that a `for` variable holds, or the address of another thing: all that counts is that it changes.
    """
    told: list[tuple[int, dict[str, int]]] = []
    for place, frame in enumerate(outlook.frames()):
        if is_users(frame.f_code.co_filename) and (names := _loop_variables(frame.f_code)):
            held = [(name, thing) for name, thing in local_variables(frame) if name in names]
            told.append((place, {name: thing if type(thing) is int else id(thing) for name, thing in held}))
    return tuple(told)


def _parameters(name: str, thing: Any, is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """What a module that is a variable calls its parameters and buffers: "net.layers.0.weight"."""
    if "_parameters" in getattr(thing, "__dict__", ()):
        for path, module in thing.named_modules(prefix=name):
            for held in (module._parameters, module._buffers):  # those of another engine's module are its own
                yield from ((f"{path}.{own}", tensor) for own, tensor in held.items() if is_tensor(tensor))


def _items(name: str, thing: Any, is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The tensors in a list, a tuple or a dict: "params[0]", "state['w']"."""
    if thing.__class__ is dict:
        pairs: Iterable[tuple[Any, Any]] = islice(thing.items(), _ITEMS)
        yield from ((f"{name}[{k!r}]", each) for k, each in pairs if isinstance(k, str | int) and is_tensor(each))
    else:
        several: Iterable[Any] = islice(thing, _ITEMS)
        yield from ((f"{name}[{at}]", each) for at, each in enumerate(several) if is_tensor(each))


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
            names = step.argval if step.argval.__class__ is tuple else (step.argval,)
            found.update(names[:stores])
            stores -= len(names)
        elif stores:
            stores = 0
    return frozenset(found)


def _loops_of_cells(cells: Iterable[Any]) -> set[str]:
    """The variables of loops in the cells of a notebook that ran before, unless a cell assigns them too."""
    text = "\n".join(map(str, cells))
    return {name for loop in _FOR.findall(text) for name in re.findall(r"\w+", loop)} - {*_SET.findall(text)}
