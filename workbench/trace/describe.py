"""What a recorder puts down of tensors, nodes and hooks, and what the user's variables call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ..events import next_tag, tag, tag_of_new
from .assignments import loops_of
from .call_records import HookRan, HooksFound
from .cuts import Way
from .describer import Describer, class_of
from .listing import listing
from .module_names import parameters_of
from .records import CheckpointDropped, CheckpointKept, LevelEntered, NodeCreated
from .schema import Raw, value_of
from .source import OWN
from .stacks import Stack, user_frames, variables
from .values import LIMIT, Value, kept


def is_tensor(thing: object) -> bool:
    """Whether it is one of the engine's tensors."""
    return hasattr(type(thing), "_meta")


def maker_of(tensor: Any) -> Any:
    """The node that made a tensor: of a view the one it had when the user last asked, as asking makes it a new one."""
    meta = tensor._meta
    return tensor._fn if meta is None or meta.base is None else meta.view_fn


def version_of(tensor: Any) -> int:
    """How often a tensor was written; nobody counts that of one made in inference mode."""
    if tensor._storage is None and (tensor._fn is None or not tensor._fn.keeps_result):
        return 0  # most have never been written
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


Hooks = tuple[tuple[Any, ...], ...]  # of each its kind, which output it is on, its name and line

ACCUMULATE = "torch::autograd::AccumulateGrad"
_type_of: Callable[[object], type[object]] = type  # a type checker does not know what `type` is of anything
_CUTTING = frozenset(("data", "detach", "detach_"))  # what is done to end the way of a gradient
_NOWHERE: tuple[int | None, int] = None, 0  # where a leaf comes from


def _is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray)


def _at_end(memory: Any, known: dict[int, Any], at: int) -> Callable[[], Any]:
    """A weak reference to an array; when that is gone, it is not `known` any more."""

    def forget(_: Any) -> None:
        known.pop(at, None)

    return ref(memory, forget)


class WorkbenchDescriber(Describer):
    """Describes the workbench's own tensors and nodes."""

    _arrays = (np.ndarray,)

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._nodes: set[int] = set()
        self._before: list[set[int]] = []  # the tensors that earlier chapters have told of
        self._levels: set[int] = set()
        # Where the outputs came from that take no gradient: they do not know their node.
        self._unlinked: dict[int, tuple[int, int]] = {}
        # What shares memory with others, and of that what was written since: asked for, it has a new history.
        self._alike: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._outdated: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._shares = False  # whether these two were ever used: asking them takes long
        self._unheard = False  # whether there are nodes whose birth nobody heard, and no source was looked up for them
        self._lives: dict[ref[Any], int] | None = None  # the numbers of nodes, where deaths are told
        self._dead: list[ref[Any]] = []
        self._died = self._dead.append
        self._slots: dict[int, ref[Any]] = {}  # memory -> the tensor whose gradient lies there
        # Of what was saved: the array that owns its memory -> that array, and the number of the tensor or storage.
        self._storages: dict[int, tuple[Callable[[], Any], int]] = {}
        self._repeating = 0  # checkpoints that are run again
        self._again: list[Any] = []  # what they have kept: two nodes may save the same, which no node of the graph made
        self._hooks: dict[int, Hooks] = {}  # place -> what was put down of its hooks
        # By task and node: a hook, what it has been given, and the leaf whose gradient that is.
        self._given: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._after: list[Raw] = []  # what hooks did after an accumulation that is still to be told
        self._retaining: tuple[int, int] | None = None  # the node whose tensors are said to keep what has come

    def _is_tensor(self, thing: Any) -> bool:
        return hasattr(_type_of(thing), "_meta")

    def _tag(self, tensor: Any) -> int:
        return tag(tensor)

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
        """Put down a tensor as it is now."""
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
        if not hasattr(_type_of(tensor), "_level"):
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
        cut = () if needs or node is not None else self._cuts.of(serial, 0 if base is None else tag(base))
        found[serial] = serial, value, version_of(tensor), needs, node, nr, grad, level, below, owner, *cut
        return serial

    def _know(self, node: Any) -> int:
        """Note that a node is put down; its number."""
        serial = tag_of_new(node)
        self._nodes.add(serial)
        if self._lives is not None:
            self._lives[ref(node.life(), self._died)] = serial
        return serial

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

    def _argument(self, tensor: Any, found: dict[int, Any]) -> int:
        serial = tag(tensor)
        # A leaf is looked at each time: `x.grad = None` and `x.data` change it without a word.
        if serial not in found and (maker_of(tensor) is None or not self._is_as_told(serial)):
            self._describe(tensor, found)
        return serial

    def _is_as_told(self, tensor: int) -> bool:
        """Whether a tensor is known, and nothing that shares its memory was written since."""
        return tensor in self._tensors and not (self._shares and tensor in self._outdated)

    def _place(self, node: Any, found: dict[int, Any]) -> int:
        """The serial number of where a gradient goes: the node's, or the leaf's for its AccumulateGrad."""
        if getattr(node, "_tag", None) in self._nodes:
            return tag(node)
        if node.name() == ACCUMULATE:
            variable = node.variable
            return tag(variable) if tag(variable) in found else self._describe(variable, found)
        self._find(node)
        return tag(node)

    def _edges(self, node: Any, found: dict[int, Any]) -> tuple[Any, ...]:
        edges: list[tuple[int | None, int]] = []
        for to, nr in node.next_functions:
            serial = None if to is None else getattr(to, "_tag", None)
            edges.append((serial if to is None or serial in self._nodes else self._place(to, found), nr))
        return tuple(edges)

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
            own = next((tensor for tensor in tensors if tensor._array is array), None)
            known = None if own is None else own._tag
            if own is None and is_tensor(thing):
                own, known = thing, tag(thing)
                if known not in self._tensors:
                    self._describe(thing, found)
            copy, storage = self._copy(array) if own is None else None, self._storage(array, own)
            saved.append((name, known, copy, version, None, storage))
        return tuple(saved)

    def _storage(self, array: Any, tensor: Any) -> tuple[int, int] | None:
        """The number of the storage that a saved array shows, and its bytes, unless its tensor, if known, tells it."""
        if not _is_array(array):
            return None
        memory = array
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

    def _put_on(self, node: Any) -> list[tuple[str, Any]]:
        """What is not the engine's own has no place in the class."""
        if node._forward_cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return []
        return [each for each in node.__dict__.items() if not hasattr(node.__class__, each[0])]

    def _find(self, node: Any) -> None:
        """Put down a node that was born unheard, after all it came from."""
        stack = [(node, False)]
        while stack:
            node, after = stack.pop()
            if after:
                found: dict[int, Any] = {}
                edges = self._edges(node, found)
                saved = self._saved(node, [], found)
                self._put_found(node, edges, saved, found)
            elif tag(node) not in self._nodes:
                self._know(node)
                stack.append((node, True))
                stack += [
                    (to, False) for to, _ in reversed(node.next_functions) if to is not None and to.name() != ACCUMULATE
                ]

    def _put_found(
        self,
        node: Any,
        edges: tuple[Any, ...],
        saved: tuple[Any, ...],
        found: dict[int, Any],
        stack: Stack | None = None,
        runs: int | None = None,
    ) -> None:
        """Add the raw event of a node whose birth nobody heard."""
        self._unheard |= stack is None
        told = node._tag, node.name(), class_of(node), True, edges, (), tuple(found.values()), saved, stack
        self._raw.append((NodeCreated, *told, None, (), entry_of(node), node.outputs, runs, zeros_of(node)))

    def _serial(self, node: Any) -> int:
        """The serial number under which a node is known: the leaf's for its AccumulateGrad."""
        serial = tag(node)
        return serial if serial in self._nodes or node.name() != ACCUMULATE else tag(node.variable)

    # What the user's variables call the tensors.

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors, and the hooks on these; one keeps the first name found."""
        if frame is not None:
            self._learn(named_in(frame))
            self._meet_those_of([thing for _, thing in variables(frame) if is_tensor(thing)])
            self._read(frame)

    def _read(self, frame: FrameType) -> None:
        """Where there are nodes whose birth nobody heard, learn what the program assigns to its variables."""
        if self._unheard and self._names:
            self._unheard = False
            self._tell_assigned(frame)

    def name(self, names: Mapping[int, str]) -> None:
        """Take these names, by the tags of tensors, for those that have none."""
        for serial, name in names.items():
            self._names.setdefault(serial, name)

    def _is_news(self, tensor: Any, serial: int) -> bool:
        maker = maker_of(tensor)
        return maker is not None and not self._is_as_told(serial) and tag(maker) in self._nodes

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
        if source._meta is not None and (base := source._meta.base) is not None:
            self._alike[tag(base)] = base
        self._detached[tensor._tag] = self._base(source) or source._tag
        self.on_unrecorded("detach", (source,), (tensor,))

    def on_unrecorded(self, name: str, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        cuts = self._cuts
        for arg in args:  # most of what is computed without a node has nothing to do with gradients
            if not hasattr(_type_of(arg), "_array"):
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
        for each in filter(is_tensor, outputs):
            integers = each._array.dtype.kind != "f"
            word = name if name in _CUTTING else str(each._array.dtype) if integers else "no_grad"
            cuts.note(word, [(tag(of), self._way(of)) for of in given], tag(each))

    def _way(self, tensor: Any) -> Way | None:
        """Where a tensor's gradient goes."""
        if not tensor.requires_grad:
            return None
        maker = maker_of(tensor)
        if maker is None:
            return Way(tag(tensor), 0, True)
        serial = getattr(maker, "_tag", None)
        return Way(serial if serial in self._nodes else None, tensor._nr, False)

    def on_keeps(self, node: Any, items: list[Any]) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        saved = self._kept(node, items, self._again, found)
        if self._repeating:
            self._again += [thing for _, thing, _ in items if is_tensor(thing)]
        self._raw.append((CheckpointKept, tag(node), tuple(found.values()), saved, bool(self._repeating)))

    def on_drops(self, node: Any, name: Any) -> None:
        if hasattr(node, "_tag"):
            self._raw.append((CheckpointDropped, node._tag, None if name is None else str(name)))

    def on_repeats(self, node: Any, begins: bool) -> None:
        self._repeating = max(0, self._repeating + (1 if begins else -1))
        if not self._repeating:
            self._again = []

    # Which hooks are where, whenever that has changed, and what they do.

    def _meet(self, nodes: Iterable[Any]) -> None:
        """Put down the hooks of these nodes, where they are others than before."""
        news: list[tuple[int, Hooks]] = []
        for node in nodes:
            if not _has_hooks(node.extra) and (node.arity or not _told_by(node)):
                if not self._hooks:
                    continue
                hooks: Hooks = ()
            else:
                hooks = hooks_of(node)
            serial = self._serial(node)
            if hooks != self._hooks.get(serial, ()) and (serial in self._nodes or serial in self._tensors):
                self._hooks[serial] = hooks
                news.append((serial, hooks))
        if news:
            self._raw.append((HooksFound, tuple(news)))

    def _meet_those_of(self, tensors: Iterable[Any]) -> None:
        """The same of the nodes of tensors, and of leaves, which may have no node yet."""
        nodes: list[Any] = []
        for tensor in tensors:
            if (maker := maker_of(tensor)) is not None:
                nodes.append(maker)
            elif tensor._meta is not None:
                nodes.append(_Leaf(tensor))
        self._meet(nodes)

    def on_asks(self, task: Any, node: Any, kind: str, output_nr: int, hook: Any, given: Any) -> None:
        if kind == "before":
            self._retain(task, node)
        of = tag(given) if kind == "accumulated" else None
        self._given[tag(task), tag(node)] = (kind, output_nr, *name_of(hook)), self._carried(kind, given), of

    def on_asked(self, task: Any, node: Any, given: Any, returned: Any) -> None:
        hook, before, _ = self._given.pop((tag(task), tag(node)), (None, (), None))
        serial = self._serial(node)
        if hook is None or not (serial in self._nodes or serial in self._tensors):
            return
        several: Any = returned
        fits = is_tensor(returned) or (type(returned) is tuple and len(several) == len(before))
        after = self._carried(hook[0], returned if fits and hook[0] != "accumulated" else given)
        told = (HookRan, task._tag, serial, hook, before, after)
        if hook[0] == "accumulated":
            self._after.append(told)
        else:
            self._raw.append(told)

    def _retain(self, task: Any, node: Any) -> None:
        """Put down once what tensors keep of the gradient that has come to their node, before its own hooks run."""
        if node.extra is None or not node.extra.retainers or self._retaining == (tag(task), tag(node)):
            return
        self._retaining = tag(task), tag(node)
        for nr, own in node.extra.retainers.items():
            if (tensor := own()) is not None:
                which, kept = ("retained", nr, "retain_grad", None), (self._copy(tensor.grad),)
                self._raw.append((HookRan, task._tag, self._serial(node), which, kept, kept))

    def _is_after(self, task: Any, node: Any) -> bool:
        """Whether a leaf's node that fails does so in a hook after the accumulation, which then was done."""
        asked = self._given.get((tag(task), tag(node)))
        told = [each for each in self._after if each[1:3] == (tag(task), self._serial(node))]
        return bool(told) or (asked is not None and asked[0][0] == "accumulated")

    def _take_after(self, leaf: int) -> list[Raw]:
        """What hooks did since a gradient was added to a leaf's."""
        told, self._after = [each for each in self._after if value_of(each, "node") == leaf], []
        return told

    def forget(self, task: Any) -> None:
        """Forget what hooks had begun in a task that is over."""
        serial = tag(task)
        self._after = [each for each in self._after if value_of(each, "task") != serial]
        for key in [key for key in self._given if key[0] == serial]:
            del self._given[key]

    def _carried(self, kind: str, given: Any) -> tuple[Any, ...]:
        """What is put down of what a hook is called with: gradients, or the leaf that has one."""
        if kind == "accumulated":
            return (self._copy(given.grad),)
        several: Any = given if given.__class__ is tuple else (given,)
        return tuple([self._copy(each) for each in several])


_ITEMS = 100  # of a list or a dict that are looked at
_OF_IPYTHON = ("In", "Out")
_SEVERAL = frozenset((list, tuple, dict))
# What most variables hold that are no tensors.
_NO_TENSORS = frozenset((ModuleType, FunctionType, BuiltinFunctionType, type, bool, int, float, str, type(None)))
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
    held = [pair for pair in variables(frame) if _type_of(pair[1]) not in _NO_TENSORS and pair[0][:1] != "_"]
    for name, thing in held:
        kind = _type_of(thing)
        if kind in _SEVERAL:
            if name not in _OF_IPYTHON:
                items += _items(name, thing, is_tensor)
            elif name == "In" and kind is list:
                cells = cells or thing
        elif is_tensor(thing):
            named.append((name, thing))
        elif hasattr(kind, "named_parameters"):
            parameters += parameters_of(name, thing, is_tensor)
    if loops := listing(frame.f_code).loop_names | loops_of(cells):
        passing = [(name, t) for name, t in named if name in loops and not _is_parameter(t)]
        named = [pair for pair in named if pair[0] not in loops]
        return [*named, *parameters, *items, *passing]
    return [*named, *parameters, *items]


def _items(name: str, thing: Any, is_tensor: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The tensors in a list, a tuple or a dict: "params[0]", "state['w']"."""
    if thing.__class__ is dict:
        pairs: Iterable[tuple[Any, Any]] = islice(thing.items(), _ITEMS)
        yield from ((f"{name}[{k!r}]", each) for k, each in pairs if is_tensor(each) and isinstance(k, str | int))
    else:
        several: Iterable[Any] = islice(thing, _ITEMS)
        yield from ((f"{name}[{at}]", each) for at, each in enumerate(several) if is_tensor(each))


class _Leaf:
    """A leaf as the node that takes its gradient, which comes and goes."""

    arity = 0

    def __init__(self, variable: Any) -> None:
        self.variable, self.extra, self._tag = variable, variable._meta.extra, tag(variable)

    def name(self) -> str:
        return ACCUMULATE


def _has_hooks(extra: Any) -> bool:
    """Whether there are any among the rare facts of a node."""
    return extra is not None and bool(extra.tensor_hooks or extra.retainers or extra.pre_hooks or extra.post_hooks)


def hooks_of(node: Any) -> Hooks:
    """The hooks at a node, and those on the tensors that it made, or on its leaf, in the order in which they run."""
    extra: Any = node.extra
    found: list[tuple[Any, ...]] = []
    if extra is not None:
        for nr, hooks in _all(extra.tensor_hooks).items():
            found += [("tensor", nr, *name_of(hook)) for hook in hooks.values()]
        kept = [nr for nr, tensor in _all(extra.retainers).items() if tensor() is not None]
        found += [("retained", nr, "retain_grad", None) for nr in kept]
        found += [("before", 0, *name_of(hook)) for hook in _all(extra.pre_hooks).values()]
        found += [("after", 0, *name_of(hook)) for hook in _all(extra.post_hooks).values()]
    if not node.arity and (told := _told_by(node)):
        found += [("accumulated", 0, *name_of(hook)) for hook in told.values()]
    return tuple(found)


def _all(hooks: dict[int, Any] | None) -> dict[int, Any]:
    return hooks or {}


def reached_from(node: Any) -> list[Any]:
    """A node and all that its gradients can go to."""
    reached = {node: None}
    stack = [node]
    while stack:
        for to, _ in stack.pop().next_functions:
            if to is not None and to not in reached:
                reached[to] = None
                stack.append(to)
    return list(reached)


def _told_by(node: Any) -> Any:
    """The hooks after an accumulation of what may be the node of a leaf."""
    meta = node.variable._meta if node.name() == ACCUMULATE else None
    return None if meta is None else meta.post_accumulate


def name_of(hook: Any) -> tuple[str, tuple[str, int] | None]:
    """What a hook is called, and the line of the user's where it is defined."""
    hook = getattr(hook, "__wrapped__", hook)
    hook = getattr(hook, "func", hook)
    code = getattr(hook, "__code__", None)
    if code is not None:
        users = not code.co_filename.startswith(OWN)
        return code.co_name, (code.co_filename, code.co_firstlineno) if users else None
    call = getattr(type(hook).__call__, "__code__", None)  # of an object that can be called
    name = getattr(hook, "__name__", type(hook).__name__)
    if call is None or call.co_filename.startswith(OWN):
        return name, None
    return name, (call.co_filename, call.co_firstlineno)
