"""Describe the workbench's own tensors, nodes and hooks for a recorder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import FrameType
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ...events import modes_now, next_tag, tag, tag_of_new
from .cuts import CUTTING, REPLACES, makes_others, switched_off
from .engine import ACCUMULATE
from .forward_records import LevelEntered
from .listing import begin_of
from .models import ModelDescriber
from .source import OWN, Line
from .stacks import Stack, user_frames
from .values import LIMIT, Value, kept, mark_of
from .variables import class_of, variables
from .workbench_engine import (
    entry_of,
    grad_of,
    is_tensor,
    maker_of,
    memory_of,
    version_of,
    zeros_of,
)

_FRAMES = 6  # functions that one transformed function may lie in, and its variables be known
_NOWHERE: tuple[int | None, int] = None, 0  # where a leaf comes from


def _shown_by(tensor: Any) -> Any:
    """Return the tensor whose memory a view that was made without gradients shows; any other tensor itself."""
    base = None if tensor._meta is None else tensor._meta.base
    return tensor if base is None or maker_of(tensor) is not None else base


def _is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray)


def _at_end(memory: Any, known: dict[int, Any], at: int) -> Callable[[], Any]:
    """Return a callback for an array's weak reference that removes the array from `known`."""

    def forget(_: Any) -> None:
        known.pop(at, None)

    return ref(memory, forget)


class WorkbenchDescriber(ModelDescriber):
    """Describes the workbench's own tensors and nodes."""

    _arrays = (np.ndarray,)

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._nodes: set[int] = set()
        self._levels: set[int] = set()
        # Where the outputs came from that take no gradient: they do not know their node.
        self._unlinked: dict[int, tuple[int, int]] = {}
        # What shares memory with others, and of that what was written since: asked for, it has a new history.
        self._alike: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._outdated: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._shares = False  # whether these two were ever used: asking them takes long
        self._unheard = False  # whether there are nodes from before the recording whose source wasn't looked up
        self._lives: dict[ref[Any], int] | None = None  # the numbers of nodes, if their ends are recorded
        self._dead: list[ref[Any]] = []
        self._died = self._dead.append
        self._slots: dict[int, ref[Any]] = {}  # memory -> the tensor whose gradient lies there
        # Of what was saved: the array that owns its memory -> that array, and the number of the tensor or storage.
        self._storages: dict[int, tuple[Callable[[], Any], int]] = {}

    def _is_tensor(self, thing: Any) -> bool:
        return hasattr(class_of(thing), "_meta")

    def _tag(self, tensor: Any) -> int:
        try:  # as `tag`, in half the time
            serial: int = tensor._tag
        except AttributeError:
            return tag(tensor)
        return serial

    def _number(self, node: Any) -> int | None:
        serial: int | None = getattr(node, "_tag", None)
        return serial if serial in self._nodes else None

    def _maker(self, tensor: Any) -> Any:
        return maker_of(tensor)

    def _output_nr(self, tensor: Any) -> int:
        nr: int = tensor._nr
        return nr

    def _version(self, tensor: Any) -> int:
        return version_of(tensor)

    def _value(self, tensor: Any, serial: int) -> Any:
        return self._copy(tensor)

    def _is_part(self, tensor: Any) -> bool:
        return self._base(tensor) is not None or self._is_known(tensor._tag) or bool(self._sharing(tensor))

    def _tensor_of(self, grad: Any) -> Any:
        memory = memory_of(grad)
        found = self._slots.get(id(memory))
        tensor = None if found is None else found()
        return tensor if tensor is not None and memory_of(grad_of(tensor)) is memory else None

    def _weight(self, tensor: Any) -> Any:
        array = tensor._array
        plain = type(array) is np.ndarray and array.dtype.kind == "f"
        return array if plain and grad_of(tensor) is not None else None

    def _leaf(self, node: Any) -> Any:
        return node.variable if node.name() == ACCUMULATE else None

    def _copy(self, thing: Any) -> Any:
        if type(thing) is np.ndarray:
            return kept(thing, self._limit)
        if thing is None:
            return None
        return self._whole(thing) if hasattr(thing, "_level") else kept(getattr(thing, "_array", thing), self._limit)

    def _whole(self, tensor: Any) -> Value:
        """Return the values of a tensor inside a transform; of a batched tensor, those of all samples."""
        batch = 0
        while hasattr(tensor, "_level"):
            batch += tensor._level.size is not None
            tensor = tensor._value
        return Value.of(tensor._array, self._limit, batch)

    def _level(self, level: Any, heard: bool = False, line: tuple[str, int] | None = None) -> int:
        """Return the serial number of a level, and record the level when it is first heard of."""
        serial = tag(level)
        if serial not in self._levels:
            self._levels.add(serial)
            self._raw.append((LevelEntered, serial, level.kind, level.number, level.size, not heard, line))
        return serial

    def _copies(self, grads: Any, known: dict[int, tuple[Any, Any]] | None = None) -> tuple[Any, ...]:
        copies: list[Any] = []
        for grad in grads:
            seen = known.get(id(grad)) if known else None
            if seen is not None and seen[0]() is grad:
                copies.append(seen[1])
            else:
                copies.append(kept(grad, self._limit) if type(grad) is np.ndarray else self._copy(grad))
        return tuple(copies)

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        # In one function, as is PyTorch's: half a dozen questions more for each tensor cost a recorded step 3 %.
        serial = tag_of_new(tensor)
        self._tensors.add(serial)
        meta = tensor._meta
        base = None if meta is None else meta.base
        if base is not None:
            self._alike[serial], self._alike[tag(base)], self._shares = tensor, base, True
            if not self._is_known(base._tag) and (maker_of(base) is None or tag(maker_of(base)) in self._nodes):
                self._describe(base, found)  # its variable says what the view is of
        maker = tensor._fn if meta is None or base is None else meta.view_fn
        node: int | None
        grad = level = below = owner = None
        if maker is not None:
            node, nr = tag(maker), tensor._nr
        else:
            node, nr = self._unlinked.get(serial, _NOWHERE)
            if meta is not None and meta.grad is not None:
                grad = self._copy(meta.grad)
                self._hold(tensor)
        if not hasattr(class_of(tensor), "_level"):
            value = kept(tensor._array, self._limit)
        else:
            value = self._whole(tensor)
            level, under = self._level(tensor._level), tensor._value
            while hasattr(under, "_level") and tag(under) not in self._tensors:
                under = under._value
            below = tag(under) if tag(under) in self._tensors else None
        if base is not None or self._detached:
            owner = self._base(tensor)
        needs = tensor._rg if base is None else tensor.requires_grad
        cut = (
            ()
            if node is not None or (needs and serial not in self._starts)
            else self._cuts.of(serial, 0 if base is None else tag(base))
        )
        found[serial] = serial, value, version_of(tensor), needs, node, nr, grad, level, below, owner, *cut
        return serial

    def _know(self, node: Any) -> int:
        """Note that a node is recorded, and return its number."""
        serial = tag_of_new(node)
        self._nodes.add(serial)
        if self._lives is not None:
            self._lives[ref(node.lifetime_token(), self._died)] = serial
        return serial

    def _hold(self, tensor: Any) -> None:
        """Remember where a tensor's gradient is stored: a write there belongs to that tensor."""
        if (memory := memory_of(grad_of(tensor))) is not None:
            self._slots[id(memory)] = ref(tensor)

    def _base(self, tensor: Any) -> int | None:
        """Return the number of the tensor whose memory this one shows, if that is another known one."""
        meta = tensor._meta
        serial = tensor._tag if meta is None or meta.base is None else tag(meta.base)
        owner = self._detached.get(serial, serial) if self._detached else serial
        return owner if owner != tensor._tag and self._is_known(owner) else None

    def _describe_others(self, written: Any, found: dict[int, Any], stack: Stack) -> None:
        for each in self._sharing(written):
            if (maker := maker_of(each)) is not None:
                self._place(maker, found)
            self._describe(each, found)
            self._last_marks.pop(each._tag, None)
            self._outdated[each._tag] = each

    def _sharing(self, written: Any) -> list[Any]:
        """Return the other known tensors that share memory with the one that was written."""
        if not self._shares:
            return []
        known = [each for each in list(self._alike.values()) if each is not written and self._is_known(each._tag)]
        memory = memory_of(written)  # what was written through `.data` has another counter
        return [each for each in known if memory_of(each) is memory is not None]

    def _is_same(self, tensor: Any, serial: int) -> bool:
        # A leaf is looked at each time: `x.grad = None` and `x.data` change it without a word. What shares memory is no
        # more as it was told once that was written.
        told = serial in self._tensors and not (self._shares and serial in self._outdated)
        return told and maker_of(tensor) is not None

    def _saved(self, node: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """Return what a node saved: tensors, and arrays of one of `tensors`, by number; other things by value."""
        return self._kept(node, node.saved_items(), tensors, found)

    def _saved_as(self, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, int] | None:
        array = thing if type(thing) is np.ndarray else getattr(thing, "_array", thing)
        if not hasattr(array, "size"):
            return None
        for tensor in tensors:
            if tensor._array is array:
                return tensor, how
        return (thing if is_tensor(thing) else None), how

    def _mark(self, thing: Any) -> Any:
        array = getattr(thing, "_array", thing)
        return mark_of(array) if type(array) is np.ndarray else None

    def _storage(self, thing: Any, tensor: Any) -> tuple[int, int] | None:
        memory = array = getattr(thing, "_array", thing)
        if not _is_array(array):
            return None
        while _is_array(memory.base):
            memory = memory.base
        owner = None if tensor is None else self._base(tensor) or tensor._tag
        storages, at = self._storages, id(memory)
        entry = storages.get(at)
        if entry is None:
            entry = storages[at] = _at_end(memory, storages, at), next_tag() if owner is None else owner
        meta = None if tensor is None or owner == tensor._tag else tensor._meta
        base = None if meta is None else meta.base
        seen = array if base is None else base._array
        told = entry[1] == owner and memory.nbytes == seen.nbytes
        return None if told else (entry[1], memory.nbytes)

    def _packed(self, node: Any, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, ...] | None:
        if not hasattr(thing, "hook"):
            return None  # nothing is saved there, or it is freed
        packed, hook, kept = thing, thing.hook, thing.value
        array = getattr(kept, "_array", kept)
        users = hasattr(hook, "co_filename") and not hook.co_filename.startswith(OWN)
        line = begin_of(hook) if users else None
        maker = packed.fn if packed.fn is None or hasattr(packed.fn, "next_functions") else node
        own = [t for t in tensors if (maker_of(t), t._nr) == (maker, packed.nr)] if maker else []
        leaves = [t for t in tensors if packed.leaf is not None and packed.leaf.variable is t]
        of = next((t._tag for t in (*own, *leaves)), None)
        copy = self._copy(array) if isinstance(array, np.ndarray) else None
        return copy, 0, (getattr(hook, "co_name", hook), line, type(kept).__name__, of)

    def _put_on(self, node: Any) -> list[tuple[str, Any]]:
        """Return the attributes put on ctx: those that the class doesn't have; none for the engine's own Functions."""
        if node._forward_cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return []
        return [each for each in node.__dict__.items() if not hasattr(node.__class__, each[0])]

    def _find(self, node: Any) -> int:
        own, stack = tag(node), [(node, False)]
        while stack:
            node, after = stack.pop()
            if after:
                found: dict[int, Any] = {}
                edges = self._edges(node.next_functions, found)
                saved = self._saved(node, [], found)
                self._put_found(node, edges, saved, found)
            elif tag(node) not in self._nodes:
                self._know(node)
                stack.append((node, True))
                stack += [
                    (to, False) for to, _ in reversed(node.next_functions) if to is not None and to.name() != ACCUMULATE
                ]
        return own

    def _put_found(
        self,
        node: Any,
        edges: tuple[Any, ...],
        saved: tuple[Any, ...],
        found: dict[int, Any],
        stack: Stack | None = None,
        runs: int | None = None,
        line: Line = None,
    ) -> None:
        """Add the raw event of a node that was created before the recording."""
        self._unheard |= stack is None
        told = node._tag, node.name(), class_of(node), True, edges, (), found, saved, stack
        self._put_node(*told, entry_of(node), node.outputs, zeros=zeros_of(node), runs=runs, line=line)

    def _serial(self, node: Any) -> int:
        """Return the serial number of a node; for an AccumulateGrad, its leaf's."""
        serial = tag(node)
        return serial if serial in self._nodes or node.name() != ACCUMULATE else tag(node.variable)

    # What the user's variables call the tensors.

    def _read(self, frame: FrameType) -> None:
        """If there are nodes from before the recording, learn what the program assigns to its variables."""
        if self._unheard and self._names:
            self._unheard = False
            self._tell_assigned(frame)

    def name(self, names: Mapping[int, str]) -> None:
        """Take these names, by the tags of tensors, for those that have none."""
        for serial, name in names.items():
            self._names.setdefault(serial, name)

    def _is_news(self, tensor: Any, serial: int) -> bool:
        maker = maker_of(tensor)
        return maker is not None and not self._is_same(tensor, serial) and self._number(maker) is not None

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

    def _is_off(self) -> bool:
        return not modes_now().grad

    # What the engine says of memory that is shared, and of what has no node.

    def on_shares(self, tensor: Any, source: Any) -> None:
        self._share(tensor, source)
        self.on_unrecorded("detach", (source,), (tensor,))

    def _share(self, tensor: Any, source: Any) -> None:
        """Note that one tensor shows the memory of another."""
        self._alike[tag(tensor)], self._alike[tag(source)], self._shares = tensor, source, True
        if source._meta is not None and (base := source._meta.base) is not None:
            self._alike[tag(base)] = base
        self._detached[tensor._tag] = self._base(source) or source._tag

    def on_unrecorded(self, name: str, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        cuts = self._cuts
        if name == "data":
            self._share(outputs[0], args[0])
        for arg in args:  # most of what is computed without a node has nothing to do with gradients
            if not hasattr(class_of(arg), "_array"):
                if arg.__class__ in (list, tuple):
                    break
            elif arg._rg or arg._meta is not None or (cuts.known and getattr(arg, "_tag", 0) in cuts.known):
                break
        else:
            return
        lists: list[Any] = [arg if arg.__class__ in (list, tuple) else (arg,) for arg in args]
        given = [each for several in lists for each in several if is_tensor(each)]
        if not any([each.requires_grad or getattr(each, "_tag", 0) in cuts.known for each in given]):
            return
        if name in REPLACES and args[0]._base is None:
            cuts.known.pop(tag(args[0]), None)
            return
        if makes_others(name):
            return
        ways = [(tag(of), self._way(_shown_by(of))) for of in given]
        if not outputs:
            cuts.note(name, ways, None)
            self._tell_read(args[0])
        # What is written through a view, too.
        bases = [_shown_by(each) for each in outputs if any(each is arg for arg in args)]
        for each in filter(is_tensor, (*outputs, *bases)):
            if each.requires_grad and name not in CUTTING:
                continue  # a weight that is written
            integers = each._array.dtype.kind != "f"
            word = name if name in CUTTING or modes_now().grad else switched_off()
            word = "inference_mode" if modes_now().inference else word
            cuts.note(str(each._array.dtype) if integers and name not in CUTTING else word, ways, tag(each), name)
