"""Descriptions for the records of a PyTorch program: its tensors and nodes as they are now.

Nothing in the program is kept alive or changed. A tensor is known by a weak reference, a node by a token in its
`metadata`, which dies with it. All numbers of a small tensor are stored, and a summary of a large one. One in main
memory is read through NumPy, which no mode of PyTorch sees. One on another device is summarized there, never copied as
a whole beyond the limit, and waited for when it is read.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from ctypes import c_char
from functools import cache, lru_cache
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ...events import next_tag
from ...pictures.trace.engine import ACCUMULATE
from ...pictures.trace.facts import TensorSeen
from ...pictures.trace.listing import begin_of
from ...pictures.trace.models import ModelDescriber
from ...pictures.trace.names import named_in
from ...pictures.trace.reader import Reader
from ...pictures.trace.stacks import Stack
from ...pictures.trace.values import Pending, Value, counts_of, kept, mark_of, read
from .versions import TELLS_SAVED, is_packing, kept_in, read_from

_RESULTS = ("result", "output")  # what a node calls its own output where it has saved that
_IN_TORCH = torch.__name__ + "."
_c: Any = torch._C  # its stubs leave out most of what it has
_sequence = _c._autograd._get_sequence_nr
AccumulateGrad = _c._functions.AccumulateGrad
_Output = _c._autograd._InputMetadata

LIMIT = 100  # values of one tensor that are kept unless the user says otherwise: a training step stays below 20 MB
WHOLE = 512  # values of what Functions are given and give that are kept, so that their backward can be judged

_LARGE = 1000  # values up to which a copy takes less time than what sums them up
_FLOATS = (torch.float32, torch.float64)
_PLAIN = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
    torch.float16: "float16",
}
_FEW_BYTES = 4 * _LARGE
_memory_at: dict[int, Any] = {}  # what gives the memory at an address, by its size
_numpy = torch.Tensor.numpy
_functorch, _keys = _c._functorch, _c.DispatchKey
_TRANSFORMS = _c.DispatchKeySet(_keys.FuncTorchDynamicLayerFrontMode) | _c.DispatchKeySet(
    _keys.FuncTorchDynamicLayerBackMode
)
_is_wrapped = _functorch.is_functorch_wrapped_tensor
_data: Any = torch.Tensor.data
_any_tensor: Any = torch.Tensor
_dispatch = _any_tensor.__torch_dispatch__  # what a tensor has that is not another class's in disguise
_detach = _data.__get__  # unlike `detach()`, no dispatch mode of the user's sees it


class Token:
    """A placeholder of a node that dies with it and reports that."""

    __slots__ = ("serial", "_died")

    def __init__(self, serial: int, died: Callable[[int], None]) -> None:
        self.serial, self._died = serial, died

    def forget(self) -> None:
        """Let another token stand for the node from now on."""
        self._died = _nobody

    def __del__(self) -> None:
        self._died(self.serial)


def _nobody(serial: int) -> None:
    """Ignore a death."""


def is_tensor(thing: Any) -> bool:
    """Return True if it is a PyTorch tensor."""
    return isinstance(thing, torch.Tensor)


def is_python(node: Any) -> bool:
    """Return True if a node runs code of a Function."""
    return kind_of_node(type(node)).is_python


class NodeKind(NamedTuple):
    """What all nodes of one type have in common."""

    is_python: bool  # they run code of a Function
    is_compiled: bool  # that code is what `torch.compile` has made
    saves: tuple[tuple[str, str], ...]  # what they save: the attribute with what is kept, and the name


# A node that was met: its number, its edges, what it has saved, its kind.
_Met = tuple[Any, int, Any, list[tuple[str, Any, Any]], NodeKind]


class HookedTensor(NamedTuple):
    """A tensor with hooks; these stay at its node when the tensor is gone."""

    own: weakref.ref[torch.Tensor]
    hooks: weakref.ref[Any] | None
    place: int | None
    output_nr: int


_kinds: dict[type, NodeKind] = {}


def kind_of_node(type_: type) -> NodeKind:
    """Return what nodes of this type have in common."""
    found = _kinds.get(type_)
    if found is None:
        start = "_raw_saved_"
        names = [name[len(start) :] for name in dir(type_) if name.startswith(start)]
        names.sort(key=lambda name: (name.startswith("result"), name))
        saves = tuple([(start + name, name) for name in names])
        found = NodeKind(hasattr(type_, "_forward_cls"), type_.__name__ == "CompiledFunctionBackward", saves)
        if not found.is_python:  # a class of the user's is not kept
            _kinds[type_] = found
    return found


def version_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was modified; it isn't counted for one created in inference mode."""
    try:
        return tensor._version
    except RuntimeError:
        return 0


def address_of(tensor: torch.Tensor) -> int:
    """Return the address of its numbers; 0 if unknown, as for a tensor inside a function transform."""
    try:
        return tensor.data_ptr()
    except RuntimeError:
        return 0


def maker_of(tensor: torch.Tensor) -> Any:
    """Return the node that computed a tensor; None if PyTorch refuses to return it.

    It refuses for a view created without gradients, once its memory is modified with them.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def is_leaf(tensor: torch.Tensor) -> bool:
    """Return True if no node computed it; False if PyTorch refuses to say, as in `maker_of`."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False


def memory_of(tensor: torch.Tensor) -> int | None:
    """Return an id of its memory, if it is known."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None


class _Reader(Reader):
    """A reader of what PyTorch's nodes report of outputs that can't be inspected."""

    def seen(self, tensors: tuple[Any, ...]) -> tuple[TensorSeen, ...]:
        """Return the tensors that are new, or changed since they were last seen."""
        return super().seen(tuple([(t[0], unknown(t[1]), *t[2:]) if type(t[1]) is _Output else t for t in tensors]))


_STORAGES = 1_000


class TorchDescriber(ModelDescriber):
    """Describe PyTorch tensors and nodes for a recording."""

    _reading = _Reader

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._key = f"workbench recording {next_tag()}"
        self.inside: list[torch.Tensor] = []  # results inside the running operation, if InnerValues shows them
        self._old_keys: list[str] = []  # of earlier chapters
        self._birth = f"{self._key}: birth"
        self._entry: Any = None  # of the innermost module that is being called
        self._born: dict[Any, tuple[Any, Any]] = {}  # of nodes that it did not hear of: line and scope, if found out
        self._begin = _sequence()  # nodes with a lower number were there before
        # Of tensors, by their addresses: a weak reference, the serial number, and the version when last looked at.
        self._known: dict[int, tuple[Any, int]] = {}
        self._versions: dict[int, int] = {}
        self._made: dict[int, tuple[int | None, int]] = {}  # tensor -> the node that it was said to come from
        self._values: dict[int, tuple[int, Any]] = {}  # tensor -> its version, and what was kept of it
        # Of tensors that an operation has just written, what they were: version, values, and where they came from.
        self._before: dict[int, tuple[Any, ...]] = {}
        self._grads: dict[int, int] = {}  # leaf -> the address of its gradient when last looked at
        self._taking: set[int] = set()  # leaves that took a gradient when last looked at
        self._grad_owners: dict[int, tuple[Any, Any]] = {}  # address of a gradient -> weak: itself, its leaf
        self._inner: dict[tuple[int, int], int] = {}  # outputs: node and number -> tensor
        self._dead: list[int] = []  # nodes that have died since the last event
        self._hooked: dict[int, HookedTensor] = {}  # tensors that hooks were registered on
        # What shares memory with others, which a write changes too.
        self._sharers: dict[int, Any] = {}  # weakly
        # Of what was saved: the storage, which keeps its address as long as it is known here, and its number.
        self._storages: dict[int, tuple[StorageWeakRef, int]] = {}
        self._most_storages = _STORAGES  # of more, those that are gone are forgotten
        self._functions: set[int] = set()  # nodes that run code of a Function, where more of their values is kept

    def _flush_deaths(self) -> None:
        """Record the nodes that died since the last event."""
        if self._dead:
            dead = [self._dead.pop(0) for _ in range(len(self._dead))]
            self._functions.difference_update(dead)
            for node in dead:
                self._marks.pop(node, None)
            self._put_gone(dead)

    def _is_tensor(self, thing: Any) -> bool:
        return isinstance(thing, torch.Tensor)

    # Serial numbers.

    def _have(self, tensor: torch.Tensor) -> int | None:
        """Return the serial number of a tensor, if it has one."""
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def ids_of(self, tensors: Iterable[torch.Tensor]) -> list[str]:
        """Return the ids of tensors in the records, for those that are known."""
        known = [serial for each in tensors if (serial := self._have(each)) is not None]
        return [id for serial in known if (id := self.id_of(serial)) is not None]

    def _tag(self, tensor: torch.Tensor) -> int:
        known = self._known.get(id(tensor))
        serial = known[1] if known is not None and known[0]() is tensor else None
        if serial is None:
            if self._inner and (made := maker_of(tensor)) is not None and (token := self._token(made)) is not None:
                serial = self._inner.get((token.serial, tensor.output_nr))
            serial = next_tag() if serial is None else serial
            self._known[id(tensor)] = weakref.ref(tensor), serial
        return serial

    def _token(self, node: Any) -> Token | None:
        token: Token | None = node.metadata.get(self._key)
        return token

    def _number(self, node: Any) -> int | None:
        token: Token | None = None if type(node) is AccumulateGrad else node.metadata.get(self._key)
        return None if token is None else token.serial

    def _maker(self, tensor: torch.Tensor) -> Any:
        return maker_of(tensor)

    def _output_nr(self, tensor: torch.Tensor) -> int:
        return tensor.output_nr

    def _version(self, tensor: torch.Tensor) -> int:
        return version_of(tensor)

    def _weight(self, tensor: torch.Tensor) -> Any:
        kind: Any = type(tensor)
        plain = tensor.is_cpu and tensor.dtype in _FLOATS and kind.__torch_dispatch__ is _dispatch
        return _numpy(_detach(tensor)) if plain and is_leaf(tensor) and tensor.grad is not None else None

    def _leaf(self, node: Any) -> Any:
        return node.variable if type(node) is AccumulateGrad else None

    def _serial(self, node: Any) -> int | None:
        """Return the serial number of a node; an AccumulateGrad has its leaf's."""
        token = self._token(node)
        if token is not None:
            return token.serial
        return self._have(node.variable) if node.name() == ACCUMULATE else None

    # Tensors.

    def _copy(self, tensor: torch.Tensor | None) -> Any:
        return None if tensor is None else kept_of(tensor, self._limit)

    def _describe(self, tensor: torch.Tensor, found: dict[int, Any], node: int | None = None, nr: int = 0) -> int:
        """Record the state of a tensor; one that doesn't require grad doesn't know its `node`."""
        serial = self._tag(tensor)
        self._tensors.add(serial)
        base = tensor._base
        if (
            base is not None
            and not self._is_recorded(base)
            and (is_leaf(base) or self._token(base.grad_fn) is not None)
        ):
            self._describe(base, found)
        made, grad = maker_of(tensor), None
        if made is not None:
            token = self._token(made)
            node, nr = None if token is None else token.serial, tensor.output_nr
            if node is not None:  # what a node has saved of its own output is another object, and the same tensor
                self._inner.setdefault((node, nr), serial)
        else:
            own = tensor.grad if is_leaf(tensor) else None
            self._grads[serial] = id(own)
            (self._taking.add if tensor.requires_grad else self._taking.discard)(serial)
            if own is not None:
                self._hold(tensor, own)
                grad = self._copy(own)
        self._made[serial] = node, nr
        self._versions[serial] = version = version_of(tensor)
        value = self._value(tensor, serial)
        requires = tensor.requires_grad
        owner = self._base(tensor, serial) if base is not None or self._detached else None
        whole = None if base is None else self._have(base)
        cut = () if node is not None or (requires and serial not in self._starts) else self._cuts.of(serial, whole or 0)
        found[serial] = serial, value, version, requires, node, nr, grad, None, None, owner, *cut
        if tensor._backward_hooks or tensor._post_accumulate_grad_hooks or tensor.retains_grad:
            self._note_hooked(tensor, serial)
        if base is not None:
            self._note_sharer(tensor, serial)
            self._note_sharer(base, self._tag(base))
        return serial

    def _note_sharer(self, tensor: torch.Tensor, serial: int) -> None:
        self._sharers[serial] = self._known[id(tensor)][0]

    def _note_hooked(self, tensor: torch.Tensor, serial: int) -> None:
        """Note that a tensor has hooks."""
        hooks, made = tensor._backward_hooks, maker_of(tensor)
        place = serial if made is None else self._serial(made)
        held = None if hooks is None else weakref.ref(hooks)
        self._hooked[serial] = HookedTensor(weakref.ref(tensor), held, place, tensor.output_nr)

    def _describe_view(self, view: torch.Tensor, found: dict[int, Any]) -> None:
        """Record the state of a view whose memory was modified, with the origin it had before.

        Reading its `grad_fn` would make PyTorch create a node, which the program itself may need later or never.
        """
        serial, version = self._tag(view), version_of(view)
        node, nr = self._made.get(serial, (None, 0))
        value, base = self._value(view, serial), self._base(view, serial)
        found[serial] = serial, value, version, view.requires_grad, node, nr, None, None, None, base
        self._versions.pop(serial, None)  # it is recorded again as an argument

    def _may_be_stale(self, tensor: torch.Tensor) -> bool:
        """Return True if reading its `grad_fn` may make PyTorch create a node."""
        return tensor._base is not None and self._versions.get(self._have(tensor) or 0) != version_of(tensor)

    def _value(self, tensor: torch.Tensor, serial: int) -> Any:
        """Return what is stored of a tensor, once per version."""
        version = version_of(tensor)
        known = self._values.get(serial)
        if known is None or known[0] != version:
            known = self._values[serial] = version, kept_of(tensor, self._limit)
        return known[1]

    def _keep_whole(self, tensors: Iterable[torch.Tensor]) -> None:
        """Store all values of tensors that aren't large, even if a summary was recorded before."""
        for tensor in tensors:
            if self._limit < tensor.numel() <= WHOLE and not (is_leaf(tensor) and tensor.requires_grad):
                serial = self._tag(tensor)
                self._values[serial] = version_of(tensor), kept_of(tensor, WHOLE)
                self._versions.pop(serial, None)

    def _is_recorded(self, tensor: torch.Tensor) -> bool:
        return self._have(tensor) in self._tensors

    def _base(self, tensor: torch.Tensor, serial: int) -> int | None:
        """Return the number of the known tensor whose memory this one shares, if there is one."""
        base = tensor._base
        owner = serial if base is None else self._have(base)
        owner = self._detached.get(owner, owner) if owner is not None else None
        return owner if owner != serial and owner in self._tensors else None

    def _hold(self, leaf: torch.Tensor, grad: torch.Tensor) -> None:
        """Note which tensor has this gradient, so that a write into it is recorded for the leaf."""
        self._grad_owners[id(grad)] = weakref.ref(grad), weakref.ref(leaf)

    def _is_same(self, tensor: torch.Tensor, serial: int) -> bool:
        """Return True if a recorded tensor is unchanged since."""
        if serial not in self._tensors:
            return False
        if version_of(tensor) != self._versions.get(serial):
            return False
        if not is_leaf(tensor):
            return True
        return self._grads.get(serial) == id(tensor.grad) and tensor.requires_grad == (serial in self._taking)

    def _argument(self, tensor: torch.Tensor, found: dict[int, Any]) -> int:
        if self._before and (serial := self._tag(tensor)) in self._before:
            return self._as_before(serial, found)
        return super()._argument(tensor, found)

    def _as_before(self, serial: int, found: dict[int, Any]) -> int:
        """Record a modified tensor as it was before, because the operation that modified it read that."""
        copy = next_tag()
        version, value, *rest = self._before[serial]
        self._tensors.add(copy)
        found[copy] = copy, value, version, *rest, None, None, None, None
        return copy

    # Nodes.

    def _note_nodes(
        self,
        made: Any,
        args: tuple[Any, ...],
        outs: list[torch.Tensor],
        stack: Stack | None,
        since: int,
        entry: Any,
        taken: bool = True,
        written: Sequence[torch.Tensor] = (),
    ) -> None:
        """Record an unknown node after everything upstream of it; `args` are its own arguments, if given.

        A tensor that it has `written` is recorded by the write; here a copy stands for it, as for what existed before.
        """
        order = self._in_order(made, since)
        inner = self._outputs_saved(order) if len(order) > 1 else {}
        begin = self._begin
        for node, serial, goes, items, kind in order:
            number = node._sequence_nr()
            born: Any = (stack, entry) if number >= since else node.metadata.get(self._birth, (None, None))
            if node is made and taken:
                given, own, wrote = args, outs, written
            else:
                given, own, wrote = (), (), ()
            self._note_node(node, serial, goes, items, kind, given, own, born[0], born[1], number < begin, inner, wrote)

    def _in_order(self, made: Any, since: int) -> list[_Met]:
        """Return a node after all unknown ones upstream of it, and number them.

        Those from `since` on were created just now.
        """
        is_packed = not TELLS_SAVED and is_packing()
        order: list[_Met] = []
        todo = [made]
        key, died, kinds = self._key, self._dead.append, _kinds
        while todo:
            node = todo.pop()
            if type(node) is tuple:
                order.append(node)
                continue
            about = node.metadata
            if key in about:
                continue
            about[key] = token = Token(self._serial_before(about) if self._old_keys else next_tag(), died)
            goes = node.next_functions
            kind = kinds.get(type(node)) or kind_of_node(type(node))
            first = len(todo)
            todo.append((node, token.serial, goes, _saved_in(node, kind, since, is_packed), kind))
            for to, _ in goes:
                if to is not None and type(to) is not AccumulateGrad and key not in to.metadata:
                    todo.append(to)
            if len(todo) == first + 1:
                order.append(todo.pop())
            elif len(todo) > first + 2:
                todo[first + 1 :] = todo[:first:-1]
        return order

    def _serial_before(self, about: Any) -> int:
        """Return a node's number in an earlier chapter, whose token is gone, or a new one."""
        for key in self._old_keys:
            token: Token | None = about.pop(key, None)
            if token is not None:
                token.forget()
                return token.serial
        return next_tag()

    def _outputs_saved(self, order: list[_Met]) -> dict[tuple[int, int], torch.Tensor]:
        """Return the saved tensors that nodes computed, by number and output of the node."""
        found: dict[tuple[int, int], torch.Tensor] = {}
        kept = [thing for _, _, _, items, _ in order for _, thing, hook in items if hook is None]
        for thing in (*kept, *self.inside):
            maker: Any = maker_of(thing) if isinstance(thing, torch.Tensor) else None
            if maker is not None and (token := maker.metadata.get(self._key)) is not None:
                found[token.serial, thing.output_nr] = thing
        return found

    def node_made(self, node: Any) -> None:
        """Note where a node was created, for its record once something leads to it."""
        node.metadata[self._birth] = self.sampler.stack(3), self._entry

    def _note_node(
        self,
        node: Any,
        serial: int,
        goes: Any,
        items: list[tuple[str, Any, Any]],
        kind: NodeKind,
        args: tuple[Any, ...],
        outs: Sequence[torch.Tensor],
        stack: Stack | None,
        entry: Any,
        old: bool,
        inner: dict[tuple[int, int], torch.Tensor],
        written: Sequence[torch.Tensor],
    ) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        edges = self._edges(goes, found)
        given: list[Any] = []
        if kind.is_python and not kind.is_compiled and self._limit >= LIMIT:
            self._functions.add(serial)
            self._keep_whole([each for each in (*args, *outs) if isinstance(each, torch.Tensor)])
        for arg in args:
            self._note(arg, given, [], found)
        places = node._input_metadata
        for nr, out in enumerate(outs):
            made: Any = maker_of(out)
            if made is None or self._token(made) is None or made.metadata[self._key].serial == serial:
                self._describe(out, found, serial, nr)
        for each in written:
            copy = next_tag()
            self._tensors.add(copy)
            value = self._value(each, self._tag(each))
            found[copy] = copy, value, 0, True, serial, each.output_nr, None, None, None, None
        if not outs and not written:
            self._note_unseen(serial, places, items, inner, found)
        saved = self._kept(node, items, outs, found) if items else ()
        attributes = self._attributes(node, found) if kind.is_python else ()
        zeros = zeros_of(node) if kind.is_python else ()
        cls = None if kind.is_compiled else type(node)
        line, entry = (None, entry) if stack is not None else self._born.get(node, (None, None))
        told = serial, node.name(), cls, old, edges, tuple(given), found, saved, None if old else stack, entry
        self._put_node(*told, len(places), attributes, zeros, line=line)

    def _note_unseen(
        self,
        serial: int,
        places: Any,
        items: list[tuple[str, Any, Any]],
        inner: dict[tuple[int, int], torch.Tensor],
        found: dict[int, Any],
    ) -> None:
        """Record the outputs of a node that weren't seen: as they were saved, otherwise by their kinds."""
        result = None
        for name, thing, hook in items:
            if hook is None and name in _RESULTS and isinstance(thing, torch.Tensor):
                result = thing
        outputs = self._inner
        for nr, place in enumerate(places):
            output = serial, nr
            known = inner.get(output) if inner else None
            if known is not None:
                own = self._describe(known, found)
            elif (own := outputs.get(output, 0)) == 0:
                own = outputs[output] = next_tag()
                self._tensors.add(own)
                # Its values are known if a node saved it, otherwise only its kind, computed on first use.
                value = place if result is None or nr else kept_of(result, self._limit)
                found[own] = own, value, 0, True, serial, nr, None, None, None, None
            if result is not None and nr == 0 and self._have(result) is None:
                self._known[id(result)] = weakref.ref(result), own  # for as long as it is looked at here

    def _find(self, node: Any) -> int:
        self._note_nodes(node, (), [], None, 1 << 64, None, False)
        token: Token = node.metadata[self._key]
        return token.serial

    def _saved_as(self, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, int] | None:
        if how is not None or not isinstance(thing, torch.Tensor):
            return None
        tensor = thing
        if tensors and self._have(thing) is None and thing.grad_fn is None:  # of an output the memory alone
            place = address_of(thing)
            own = [each for each in tensors if place and address_of(each) == place and each.shape == thing.shape]
            tensor = own[0] if own else thing
        known = self._have(tensor) is not None or self._comes_from_known(tensor)
        return tensor if known else None, version_of(tensor)

    def _mark(self, thing: Any) -> Any:
        return mark_in(thing)

    def _forget_value(self, tensor: int) -> None:
        self._values.pop(tensor, None)

    def _packed(self, node: Any, thing: Any, how: Any, tensors: Sequence[Any]) -> tuple[Any, ...] | None:
        if how is None:
            return None
        copy = self._copy(thing) if isinstance(thing, torch.Tensor) else None
        return copy, 0, _packing(how, thing), self._storage(thing, None) if copy is not None else None

    def _comes_from_known(self, tensor: torch.Tensor) -> bool:
        """Return True if it's worth describing: its node is known, or it's a view of a tensor without a node."""
        if (made := maker_of(tensor)) is not None:
            return self._token(made) is not None
        base = tensor._base
        return base is not None and base.grad_fn is None

    def _storage(self, thing: Any, tensor: Any) -> tuple[int, int] | None:
        serial = None if tensor is None else self._tag(tensor)
        tensor = thing if tensor is None else tensor
        if _is_wrapped(tensor):
            return None
        try:
            storage = tensor.untyped_storage()
            size, at = storage.nbytes(), storage._cdata
        except (RuntimeError, NotImplementedError):
            return None
        base = tensor._base
        owner = self._base(tensor, serial or 0) or serial
        entry = self._storages.get(at)
        if entry is None:
            if len(self._storages) >= self._most_storages:
                self._storages = {at: each for at, each in self._storages.items() if not each[0].expired()}
                self._most_storages = 2 * len(self._storages) + _STORAGES
            entry = self._storages[at] = StorageWeakRef(storage), next_tag() if owner is None else owner
        seen = tensor if base is None or owner == serial else base
        return None if (entry[1], size) == (owner, seen.nbytes) else (entry[1], size)

    def _put_on(self, node: Any) -> list[tuple[str, Any]]:
        return [] if node._forward_cls.__module__.startswith(_IN_TORCH) else [*vars(node).items()]

    # Names.

    def look_up(self, frame: FrameType | None) -> None:
        """Look up which of a frame's variables hold tensors."""
        self._learn(() if frame is None else named_in(frame, is_tensor))

    def _is_news(self, tensor: torch.Tensor, serial: int) -> bool:
        if serial in self._tensors or self._may_be_stale(tensor):
            return False
        made = maker_of(tensor)
        return made is not None and self._token(made) is not None


def _saved_in(node: Any, kind: NodeKind, since: int, is_packed: bool) -> Any:
    """Return what a node saved, as far as it is known for one created before `since`, or after it."""
    if TELLS_SAVED or not kind.saves:
        return raw_saved(node, kind) if kind.saves else ()
    return just_saved(node, kind) if node._sequence_nr() >= since and not is_packed else ()


def just_saved(node: Any, kind: NodeKind) -> list[tuple[str, Any, Any]]:
    """Return the tensors that a node saved without a pack hook."""
    saves = [(attribute, "saved_tensors" if kind.is_python else name) for attribute, name in kind.saves]
    return [(name + at, thing, None) for attribute, name in saves for at, thing in read_from(node, attribute)]


def raw_saved(node: Any, kind: NodeKind) -> list[tuple[str, Any, Any]]:
    """Return what a node saved: the name, the tensor or what a hook packed, and the hook that unpacks it.

    It is empty in a version of PyTorch that doesn't expose it.
    """
    kept: list[tuple[str, Any, Any]] = []
    if not TELLS_SAVED:
        return kept
    for attribute, name in kind.saves:
        try:
            raw = getattr(node, attribute)
        except RuntimeError:  # freed
            continue
        if isinstance(raw, tuple | list):
            name = "saved_tensors" if kind.is_python else name
            kept += [(f"{name}[{at}]", *kept_in(each)) for at, each in enumerate(raw) if each is not None]
        elif raw is not None:
            kept.append((name, *kept_in(raw)))
    return kept


def _packing(hook: Any, kept: Any) -> tuple[Any, ...]:
    """Describe a packed object: the unpack hook, where that is defined, and the object's type."""
    code = getattr(hook, "__code__", None)
    checkpoint = getattr(hook, "__module__", "") == "torch.utils.checkpoint"
    line = None if code is None or checkpoint else begin_of(code)
    kind = "_Slot" if checkpoint and type(kept).__name__ == "_Holder" else type(kept).__name__
    return getattr(hook, "__name__", type(hook).__name__), line, kind, None


def zeros_of(node: Any) -> tuple[int, ...]:
    """Return the outputs for which a custom node gets zeros if no gradient arrives."""
    try:
        wanted = bool(node.materialize_grads)
    except (AttributeError, RuntimeError):
        wanted = True
    return tuple(range(len(node._input_metadata))) if wanted else ()


# The numbers of a tensor.


def kept_of(tensor: torch.Tensor, limit: int) -> Any:
    """Return what is stored of a tensor: as `trace.values.kept`, or a Value with only shape and dtype."""
    dtype = tensor.dtype
    kind = _PLAIN.get(dtype)
    try:
        if kind is not None and tensor.is_cpu:
            size = tensor.nbytes
            if size <= _FEW_BYTES and not tensor.is_neg():
                if address := tensor.data_ptr():  # ten times as fast as NumPy, which reads the rest
                    shape, strides = tensor.shape, None
                    if not tensor.is_contiguous():
                        strides, size = _spread(tensor, shape)
                    if size <= _FEW_BYTES:
                        memory = (_memory_at.get(size) or _memory_of(size))(address).raw
                        return memory, kind, limit, shape, strides
            array = _numpy(_detach(tensor) if tensor.requires_grad else tensor)
            size = array.size
            if size <= limit:
                return array.copy()
            if size <= _LARGE:
                return (array.copy(),)  # summed up when it is read
            summary = _summed_up(array) if dtype in _FLOATS else None
            if summary is None:
                return kept(array, limit)
            return array.shape, name_of(dtype), None, *summary, 0, *counts_of(array, summary[1], summary[2])
        return _elsewhere(tensor, limit)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):  # fake, sparse, of a transform
        return _inside(tensor, limit) if _is_wrapped(tensor) else unknown(tensor)


def mark_in(tensor: torch.Tensor) -> Any:
    """Return a number that is another after a write into a tensor's memory; None if NumPy can't read it.

    Memory that processes share is written by the others on purpose.
    """
    try:
        if tensor.dtype not in _PLAIN or not tensor.is_cpu or tensor.is_neg():
            return None
        size = tensor.nbytes
        if size <= _FEW_BYTES and tensor.is_contiguous():
            return (
                hash((_memory_at.get(size) or _memory_of(size))(address).raw)
                if (address := tensor.data_ptr())
                else None
            )
        if not tensor.untyped_storage().nbytes():
            return None
        return mark_of(_numpy(_detach(tensor) if tensor.requires_grad else tensor))
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return None


def _memory_of(size: int) -> Any:
    found = _memory_at[size] = (c_char * size).from_address
    return found


def _spread(tensor: torch.Tensor, shape: Any) -> tuple[tuple[int, ...], int]:
    """Return the bytes between a tensor's values in each dimension, and from the first to after the last."""
    item = tensor.element_size()
    strides = tuple([item * step for step in tensor.stride()])
    return strides, item + sum([(count - 1) * step for count, step in zip(shape, strides, strict=True)])


def _inside(tensor: torch.Tensor, limit: int) -> Any:
    """Return the numbers of a tensor that a function transform wraps, for vmap those of all samples at once."""
    batched: list[int] = []
    try:
        while _is_wrapped(tensor):
            if _functorch.is_batchedtensor(tensor):
                batched.append(_functorch.maybe_get_bdim(tensor))
            tensor = _functorch.get_unwrapped(tensor)
        with torch._C._ExcludeDispatchKeyGuard(_TRANSFORMS):
            array = _numpy(_detach(tensor)).copy()
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return unknown(tensor)
    for at, dim in enumerate(reversed(batched)):  # the outermost vmap's samples come first
        array = np.moveaxis(array, dim + at, at)
    return Value.of(array, limit, len(batched))


def unknown(thing: Any) -> tuple[Any, ...]:
    """Return what is known of a tensor or an output that can't be inspected; varying sizes count as none."""
    dtype, device = thing.dtype, thing.device
    try:
        return _unknown(tuple(thing.shape), dtype, device)
    except TypeError:  # some sizes that vary are not to be compared
        return _unknown(_plain_sizes(thing.shape), dtype, device)
    except (RuntimeError, AttributeError):  # of a nested tensor
        return _unknown((), dtype, device)


@lru_cache(1000)
def _unknown(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> tuple[Any, ...]:
    return _plain_sizes(shape), _kind(dtype, device), None, math.nan, None, None, None, 0


def _plain_sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([size if type(size) is int else 0 for size in shape])


def _summed_up(array: Any) -> tuple[Any, ...] | None:
    """Return only norm, minimum, maximum and mean of an array if all values are finite; else None."""
    flat = array.reshape(-1)  # a view, or a copy of the same dtype
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
        if not 1e-30 < squares < 1e30:
            return None
        return math.sqrt(squares), float(flat.min()), float(flat.max()), float(flat.mean(dtype=flat.dtype)), 0


def _elsewhere(tensor: torch.Tensor, limit: int) -> Any:
    """Describe a tensor with a dtype that NumPy lacks, or on another device, without waiting for it."""
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or tensor.is_quantized:
        return unknown(tensor)
    if _is_wrapped(tensor):
        return _inside(tensor, limit)
    kind: Any = type(tensor)
    if kind.__torch_dispatch__ is not _dispatch:
        return unknown(tensor)  # fake, or spread over processes: to ask later may wait for the others in vain
    return _Elsewhere(tensor, limit)


class _Elsewhere(Pending):
    """The values of a small tensor, or a summary of a large one, on its device until they are read."""

    __slots__ = ("_shape", "_kind", "_there", "_is_whole", "_value")

    def __init__(self, tensor: torch.Tensor, limit: int) -> None:
        self._shape, self._kind = tuple(tensor.shape), _kind(tensor.dtype, tensor.device)
        self._value: Value | None = None
        with torch.no_grad():
            plain = _detach(tensor)
            self._is_whole = plain.numel() <= limit
            is_complex = plain.is_complex()
            if self._is_whole:
                self._there = plain.resolve_conj().clone() if is_complex else plain.clone()
            else:
                self._there = _sums(plain.abs() if is_complex else plain)

    def value(self) -> Value:
        """Return what is known of the tensor; this waits until its device has computed it."""
        if self._value is None:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
                self._value = self._read()
            del self._there
        return self._value

    def _read(self) -> Value:
        there = self._there.cpu()
        if self._is_whole:
            if there.is_complex():
                there = there.to(torch.complex64) if there.dtype is torch.complex32 else there
            elif there.dtype not in _PLAIN:
                there = there.float() if there.is_floating_point() else there.double()
            return read((there.numpy(), self._kind))
        count, scaled, total, peak, low, high, is_nan = there.tolist()
        others = math.prod(self._shape) - int(count)
        norm = math.nan if is_nan else math.inf if others else scaled * peak
        if not count:
            return Value(self._shape, self._kind, None, norm, None, None, None, others)
        return Value(self._shape, self._kind, None, norm, low, high, total / count * peak, others)


def _sums(plain: torch.Tensor) -> torch.Tensor:
    """Return sums over the finite values: count, norm, sum, maximum, both ends, and whether one is nan.

    Norm and sum are divided by the maximum, so that squares stay in range. No copy has 64 bits unless the values do.
    """
    exact = torch.float32 if plain.device.type == "mps" else torch.float64
    plain = plain if plain.dtype in _FLOATS else plain.float()
    finite = plain.isfinite()
    low = plain.where(finite, math.inf).amin()
    high = plain.where(finite, -math.inf).amax()
    peak = torch.maximum(low.abs(), high.abs())
    scaled = plain.where(finite, 0) / peak.where(peak > 0, 1)
    found = finite.sum(), torch.linalg.vector_norm(scaled), scaled.sum(), peak, low, high, plain.isnan().any()
    return torch.stack([each.to(exact) for each in found])


@cache
def name_of(dtype: torch.dtype) -> str:
    """Return the dtype's name, such as `float32`."""
    return str(dtype).rpartition(".")[2]


@cache
def _kind(dtype: torch.dtype, device: torch.device) -> str:
    """Return the dtype, and the device if it isn't the usual one: `float32 on cuda:0`."""
    name = name_of(dtype)
    return name if device.type == "cpu" else f"{name} on {device}"
