"""An engine that you wrote, in the workbench's pictures: `drive(engine)`.

The workbench's own tensors and nodes mirror those of the engine one to one, and share their memory. The engine's calls
of its listeners become the events of `workbench.events`, so every tool for the workbench's programs works on the
engine's. assets/docs/guides/your-own-engine.md lists what an engine needs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from operator import itemgetter
from types import ModuleType
from typing import Any

import numpy as np

from .. import events
from ..autograd.node import AccumulateGrad, Node, accumulator, in_scope, meta_of
from ..autograd.state import scope_threads
from ..autograd.tensor import Storage, Tensor, wrap
from ..pictures.trace.names import stands_for
from ..pictures.trace.source import leave_out

# The sentences of this part's errors.
NO_ENGINE = "drive() needs an engine, a module that has a class Tensor, but got {}, which has none."
NOT_THERE = (
    "The pictures ask for the {} of a {}, which has none: of a tensor they ask data, grad, requires_grad and grad_fn, "
    "of a node name(), edges and run()."
)
NO_RECORDING = "A stepped backward of your engine records no graph of its own: leave create_graph away."

# Where a thing of the engine keeps what stands for it.
_TENSOR = "_mirror_of_tensor"
_NODE = "_mirror_of_node"
_LEAF = "_node_of_leaf"
_SAVED_NAMES = ("self", "other")  # what PyTorch calls what an operation keeps of its operands


class _Versions(Storage):
    """The version counter of a tensor of the engine, which counts its own writes."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    @property
    def version(self) -> int:
        """The version that the engine reports."""
        return int(getattr(self.of, "_version", 0))

    @version.setter
    def version(self, value: int) -> None:
        pass  # what a mirror counts is not asked


class OwnNode(Node):
    """The mirror of an engine's node: it sends what that node sends."""

    __slots__ = ("real", "driver", "parents", "names", "fn", "__weakref__")

    arity = -1

    def __init__(self, real: Any, driver: OwnEngine) -> None:
        self.real, self.driver, self.extra = real, driver, None
        self.seq = next(driver.numbers) if (number := getattr(real, "number", None)) is None else int(number)
        # Of each thing that it has saved what it is called, and whether it is an operand or the result.
        self.names: tuple[tuple[str, bool], ...] = ()
        self.fn: Node | None = None  # of a write through a view: the node that the write made

    def name(self) -> str:
        """Return the node's name, as its engine reports it."""
        return _full_name(_ask(self.real, "name")())

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the mirrors of the nodes that its gradients go to."""
        found: tuple[tuple[Node | None, int], ...] = self.parents
        return found

    def vjp(self, grad: Any, needed: Any = None) -> Any:
        """Return what the engine's node sends."""
        with self.driver.alone():
            sent = _ask(self.real, "run")(None if grad is None else self.driver.new(grad))
        return tuple([None if each is None else self.driver.array(each) for each in sent[: len(self.parents)]])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """Return what the engine's node saved."""
        found = []
        names = self.fn.names if isinstance(self.fn, OwnNode) else self.names
        for at, each in enumerate(_saved(self.real)):
            tensor = getattr(each, "tensor", each)
            if tensor is not None and self.driver.is_tensor(tensor):
                version = getattr(each, "version", getattr(tensor, "_version", 0))
                name, is_part = names[at] if at < len(names) else (f"saved_tensors[{at}]", True)
                found.append((name, self.driver.tensor(tensor) if is_part else self.driver.array(tensor), version))
        return sorted(found, key=itemgetter(0))  # "other" before "self", as the formulas of the workbench read them

    def is_freed(self) -> bool:
        """Return True if an earlier backward pass freed what it saved."""
        return getattr(self.real, "saved", ()) is None

    def release(self) -> bool:
        """Let the engine's node free what it saved, if it can."""
        had = bool(_saved(self.real))
        if had and hasattr(self.real, "free"):
            with self.driver.alone():
                self.real.free()
        return had and self.is_freed()


def _full_name(name: str) -> str:
    """Return a node's name with PyTorch's namespace, by which the pictures recognize the node of a leaf."""
    return f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices", "CopyBackwards") else name


def _saved(real: Any) -> Sequence[Any]:
    """Return what a node of the engine saved, from `saved`, with versions, or else from `saved_tensors`."""
    found = real.saved if hasattr(real, "saved") else getattr(real, "saved_tensors", ())
    return tuple(found or ())


def _ask(thing: Any, name: str) -> Any:
    """Return an attribute of an engine's tensor or node; the AttributeError lists what all of them need."""
    try:
        return getattr(thing, name)
    except AttributeError:
        if hasattr(type(thing), name):
            raise  # it is there, and failed
        raise AttributeError(NOT_THERE.format(name, type(thing).__name__)) from None


class _Task:
    """A backward pass of the engine, in the form of events."""

    def __init__(self, roots: Any, seeds: Any, keep_graph: bool, create_graph: bool, targets: Any) -> None:
        self.roots, self.seeds, self.keep_graph, self.create_graph = roots, seeds, keep_graph, create_graph
        self.targets = targets


class OwnEngine:
    """A listener to one engine; `on_...` is called for its events of that kind."""

    def __init__(self, engine: ModuleType) -> None:
        self.engine, self.tensor_type = engine, engine.Tensor
        self.numbers = count()
        self.muted = False  # no events while a stepper runs the nodes: it sends them
        self._tasks: list[_Task] = []
        self._writing: tuple[Any, Tensor] | None = None  # a tensor that is being written, and what it was before
        self._recorded: tuple[Any, tuple[Any, ...], Any] | None = None  # the node of that, its operands and result
        self._kinds: dict[Any, type[OwnNode]] = {}  # by Function

    def is_tensor(self, thing: Any) -> bool:
        """Return True if it is one of the engine's tensors."""
        return isinstance(thing, self.tensor_type)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Record nothing while a stepper runs a part of the engine: the stepper reports it."""
        self.muted = True
        try:
            with getattr(self.engine, "no_grad", nullcontext)():
                yield
        finally:
            self.muted = False

    def accumulate(self, node: AccumulateGrad, grad: Any) -> None:
        """Run the engine's own node of a leaf."""
        leaf = self.own_leaf(node)
        with self.alone():
            vars(leaf)[_LEAF].run(self.new(grad))

    def new(self, numbers: Any) -> Any:
        """Return a new tensor of the engine."""
        return self.tensor_type(np.array(getattr(numbers, "_array", numbers)))

    # What stands for its things.

    def mirror(self, place: Any) -> Any:
        """Return the mirror of a tensor or a node, and anything else unchanged."""
        if self.is_tensor(place):
            return self.tensor(place)
        if isinstance(place, getattr(self.engine, "Node", ())):
            return self.node(place)
        return place

    def own_leaf(self, node: Node) -> Any:
        """Return the engine's own leaf."""
        return node.variable._storage.of

    def link(self, own: Any, mirror: Tensor) -> None:
        """Make this the mirror of a tensor from now on."""
        vars(own)[_TENSOR], mirror._array = mirror, self.array(own)
        mirror._storage = _Versions(own)

    def array(self, own: Any) -> Any:
        """Return a tensor's numbers."""
        return np.asarray(_ask(own, "data"))

    def tensor(self, own: Any) -> Tensor:
        """Return the mirror of a tensor in its current state."""
        mirror: Tensor | None = vars(own).get(_TENSOR)
        if mirror is None:
            mirror = wrap(self.array(own))
            self.link(own, mirror)
        elif mirror._array is not own.data:
            mirror._array = self.array(own)
        grad_fn = own._node if hasattr(own, "_node") else _ask(own, "grad_fn")  # asking a view's changes that
        node = None if grad_fn is None else self.node(grad_fn)
        mirror._rg = bool(_ask(own, "requires_grad"))
        base = getattr(own, "_base", None)
        if base is None:
            mirror._fn = node
        else:
            meta, whole = meta_of(mirror), self.tensor(base)
            meta.base, meta.view_fn, mirror._storage = whole, node, whole._storage
            meta.attr_version = mirror._storage.version
        grad = _ask(own, "grad")
        if grad is not None or mirror._meta is not None:
            meta_of(mirror).grad = None if grad is None else self.tensor(grad)
        return mirror

    def node(self, real: Any) -> Node:
        """Return the mirror of a node, and create those of all nodes upstream."""
        todo = [real]
        while todo:  # no recursion: a chain may be long
            at = todo[-1]
            if vars(at).get(_NODE) is not None:
                todo.pop()
                continue
            if hasattr(at, "variable"):
                vars(at)[_NODE], vars(at.variable)[_LEAF] = accumulator(self._leaf(at.variable)), at
                continue
            missing = [to for to in _ask(at, "edges") if to is not None and vars(to).get(_NODE) is None]
            inner = getattr(at, "node", None)
            if inner is not None and vars(inner).get(_NODE) is None:
                missing.append(inner)
            if missing:
                todo += missing
                continue
            mirror = self._kind(at)(at, self)
            leads = [None if to is None else vars(to)[_NODE] for to in at.edges]
            while len(leads) > _required(getattr(at, "function", None)) and leads[-1] is None:
                leads.pop()
            mirror.parents = tuple([(to, 0) for to in leads])
            mirror.fn = None if inner is None else vars(inner)[_NODE]
            vars(at)[_NODE] = mirror
        found: Node = vars(real)[_NODE]
        return found

    def _leaf(self, own: Any) -> Tensor:
        return vars(own).get(_TENSOR) or self.tensor(own)

    def _kind(self, real: Any) -> type[OwnNode]:
        """Return the class of a node's mirror: one for each Function, with the operation's name."""
        function = getattr(real, "function", None)
        if function is None:
            return OwnNode
        if function not in self._kinds:
            brought = getattr(function, "__module__", None) == self.engine.__name__
            facts = {"__slots__": (), "computes": function} if brought else {"_forward_cls": function}
            self._kinds[function] = type(f"{function.__name__}Backward", (OwnNode,), facts)
        return self._kinds[function]

    def given(self, thing: Any) -> Any:
        """Return the mirror of an argument, if it is a tensor."""
        return self.tensor(thing) if self.is_tensor(thing) else thing

    def _carried(self, grad: Any) -> Any:
        """Return a gradient for events: its numbers, or its tensor if the backward pass records a graph of it."""
        if grad is None:
            return None
        return self.tensor(grad) if self._tasks and self._tasks[-1].create_graph else self.array(grad)

    # What it tells.

    def __call__(self, kind: str, *facts: Any) -> None:
        hear = getattr(self, f"on_{kind}", None)
        if hear is not None and not self.muted:
            hear(*facts)

    def on_created(self, node: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Record that a node was created."""
        mirror = self.node(node)
        mirror.extra = in_scope() if scope_threads else None
        if isinstance(mirror, OwnNode):
            mirror.names = tuple(_names(_saved(node), inputs, output))
        if self._writing is not None:
            self._recorded = node, inputs, output
        elif events.listeners:
            self._tell_created(node, inputs, self.tensor(output))

    def _tell_created(self, node: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        args = [self.given(each) for each in _as_called(getattr(node, "function", None), inputs)]
        if self._writing is not None:
            written, before = self._writing
            args = [before if each is vars(written).get(_TENSOR) else each for each in args]
        events.emit(("created", self.node(node), tuple(args), (output,)))

    def on_unrecorded(self, name: str, inputs: tuple[Any, ...], output: Any) -> None:
        """Record that an operation created no node."""
        if events.listeners and not self._tasks and self._writing is None:
            given = tuple([self.given(each) for each in inputs])
            events.emit(("unrecorded", name, given, (self.tensor(output),)))

    def on_writing(self, tensor: Any) -> None:
        """Note that a tensor is about to be modified."""
        mirror = self.tensor(tensor)
        before = wrap(mirror._array.copy(), mirror._rg)
        before._fn = mirror._fn if mirror._meta is None or mirror._meta.base is None else mirror._meta.view_fn
        self._writing, self._recorded = (tensor, before), None

    def on_wrote(self, tensor: Any, name: str, node: Any) -> None:
        """Record that a tensor was modified."""
        recorded, written = self._recorded, self.tensor(tensor)
        if events.listeners:
            if recorded is not None:
                made, inputs, result = recorded
                is_view = getattr(tensor, "_base", None) is not None
                self._tell_created(made, inputs, self.tensor(result) if is_view else written)
            self._writing = None
            events.emit(("wrote", written, name, None if node is None else self.node(node)))
        self._writing = self._recorded = None

    def on_shares(self, tensor: Any, source: Any) -> None:
        """Record that a tensor was detached from another one."""
        new, old = self.tensor(tensor), self.tensor(source)
        new._storage = old._storage
        if events.listeners:
            events.emit(("shares", new, old))

    def on_backward(
        self, tensor: Any, gradient: Any, retain_graph: bool, create_graph: bool, inputs: Iterable[Any] | None = None
    ) -> None:
        """Record that a backward pass starts."""
        targets = None if inputs is None else [(self._place(each), 0) for each in inputs]
        seed = self.tensor(gradient) if create_graph else self.array(gradient)
        task = _Task([(self._place(tensor), 0)], [seed], bool(retain_graph), bool(create_graph), targets)
        self._tasks.append(task)
        self._tell("backward", task)

    def _place(self, own: Any) -> Node:
        mirror = self.tensor(own)
        found = mirror._fn if mirror._meta is None or mirror._meta.base is None else mirror._meta.view_fn
        return accumulator(mirror) if found is None else found

    def on_run(self, node: Any, grad: Any) -> None:
        """Record that a node is about to run."""
        if hasattr(node, "variable"):
            self.tensor(node.variable)
        self._tell("run", self._task(), self.node(node), (self._carried(grad),))

    def on_ran(self, node: Any, grads: Iterable[Any]) -> None:
        """Record that a node ran; a leaf's node sends `accumulated` instead."""
        if not hasattr(node, "variable"):
            mirror: Any = self.node(node)
            sent = [self._carried(each) for each in grads][: len(mirror.parents)]
            self._tell("ran", self._task(), mirror, tuple(sent))

    def on_freed(self, node: Any) -> None:
        """Record that a node freed what it saved."""
        self._tell("freed", self.node(node))

    def on_accumulated(self, node: Any, leaf: Any) -> None:
        """Record that a leaf has a gradient."""
        self._tell("accumulated", self._task(), self.node(node), self.tensor(leaf))

    def on_captured(self, node: Any, grad: Any) -> None:
        """Record that a gradient was returned to the caller."""
        self._tell("captured", self._task(), self.node(node), 0, self._carried(grad))

    def on_finished(self) -> None:
        """Record that a backward pass has finished."""
        if self._tasks:
            self._tell("finished", self._tasks.pop())

    def on_failed(self, node: Any, error: BaseException) -> None:
        """Record that a backward pass ends with an error."""
        task = self._tasks.pop() if self._tasks else None
        events.failed(error, task=task, node=None if node is None else self.node(node))

    def _task(self) -> Any:
        return self._tasks[-1] if self._tasks else None

    def _tell(self, *event: Any) -> None:
        if events.listeners:
            events.emit(event)


def _names(saved: Sequence[Any], inputs: tuple[Any, ...], output: Any) -> Iterator[tuple[str, bool]]:
    """Return PyTorch's names for what a node saved, by the operand or the result that each is.

    Anything else is a number that the operation got, and that became a tensor.
    """
    for at, each in enumerate(saved):
        tensor = getattr(each, "tensor", each)
        places = [i for i, operand in enumerate(inputs) if operand is tensor]
        place = at if at in places else next(iter(places), None)
        if tensor is output:
            yield "result", True
        else:
            number = at if place is None else place
            known = number < len(_SAVED_NAMES)
            yield (_SAVED_NAMES[number] if known else f"saved_tensors[{at}]"), place is not None


def _required(function: Any) -> int:
    """Return how many operands a Function requires: others, such as a dimension, aren't in the graph."""
    forward: Callable[..., Any] | None = getattr(function, "forward", None)
    if forward is None:
        return sys.maxsize
    parameters = [*inspect.signature(forward).parameters.values()][1:]
    return len([each for each in parameters if each.default is each.empty]) or 1


def _as_called(function: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands of a Function without those at the end that equal forward's defaults."""
    forward: Callable[..., Any] | None = getattr(function, "forward", None)
    if forward is None:
        return inputs
    defaults = [each.default for each in inspect.signature(forward).parameters.values()][1 : len(inputs) + 1]
    last = len(inputs)
    while last and last <= len(defaults) and inputs[last - 1] is defaults[last - 1]:
        last -= 1
    return inputs[:last]


drivers: dict[type, OwnEngine] = {}  # by the class of an engine's tensors


def drive(engine: ModuleType) -> None:
    """Register your own autograd engine, so that `record()`, `show()` and `step()` accept its tensors.

    The engine is a module with a class `Tensor`, whose instances have `data`, `grad`, `requires_grad` and
    `grad_fn`. Each node needs three members: `name()`, `run(gradient)`, and `edges`, which has for each operand the
    node that gets the operand's gradient, or None.

    `record()` also needs a list named `listeners` in the module. The list holds functions. The engine calls each of
    them as `listener(kind, *facts)` when it creates, runs or frees a node. A second call of `drive` for the same
    engine has no effect.

    Args:
        engine: The module of the engine.
    """
    if not isinstance(engine, ModuleType) or not isinstance(getattr(engine, "Tensor", None), type):
        raise TypeError(NO_ENGINE.format(engine))
    if engine.Tensor in drivers:
        return
    driver = OwnEngine(engine)
    drivers[driver.tensor_type] = driver
    stands_for[driver.tensor_type] = driver.tensor
    if (file := getattr(engine, "__file__", None)) is not None and engine is not sys.modules.get("__main__"):
        leave_out(file)
    if hasattr(engine, "listeners"):
        engine.listeners.append(driver)
