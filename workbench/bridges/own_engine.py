"""An engine that somebody wrote themselves, in the workbench's pictures: `drive(engine)`.

Its tensors and nodes are mirrored one to one by the workbench's own, which share their memory, and what it tells its
listeners becomes the events of `workbench.events`. So all that looks at a program of the workbench looks at one of the
engine's. assets/docs/guides/your-own-engine.md says what an engine has to have.
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
from ..autograd.state import scoped
from ..autograd.tensor import Storage, Tensor, wrap
from ..trace.names import stands_for
from ..trace.source import leave_out

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
    """The version counter of a tensor of the engine's, which counts its own writes."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    @property
    def version(self) -> int:
        """As often as its engine says."""
        return int(getattr(self.of, "_version", 0))

    @version.setter
    def version(self, value: int) -> None:
        pass  # what a mirror counts is not asked


class OwnNode(Node):
    """Stands for a node of the engine's: what it sends is what that sends."""

    __slots__ = ("real", "driver", "parents", "names", "fn", "__weakref__")

    arity = -1

    def __init__(self, real: Any, driver: OwnEngine) -> None:
        self.real, self.driver, self.extra = real, driver, None
        self.seq = next(driver.numbers) if (number := getattr(real, "number", None)) is None else int(number)
        # Of each thing that it has saved what it is called, and whether it is an operand or the result.
        self.names: tuple[tuple[str, bool], ...] = ()
        self.fn: Node | None = None  # of a write through a view: the node that the write made

    def name(self) -> str:
        """The node's name, as its engine says it."""
        return _full_name(_ask(self.real, "name")())

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """What stands for where it leads."""
        found: tuple[tuple[Node | None, int], ...] = self.parents
        return found

    def vjp(self, grad: Any, needed: Any = None) -> Any:
        """What the engine's own node sends."""
        with self.driver.alone():
            sent = _ask(self.real, "run")(None if grad is None else self.driver.new(grad))
        return tuple([None if each is None else self.driver.array(each) for each in sent[: len(self.parents)]])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What it has saved."""
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
        """Whether an earlier backward freed what it had saved."""
        return getattr(self.real, "saved", ()) is None

    def release(self) -> bool:
        """Let it free what it has saved, if its engine can."""
        had = bool(_saved(self.real))
        if had and hasattr(self.real, "free"):
            with self.driver.alone():
                self.real.free()
        return had and self.is_freed()


def _full_name(name: str) -> str:
    """A node's name with the namespace in which PyTorch has it, by which the pictures know what a leaf's node is."""
    return f"torch::autograd::{name}" if name in ("AccumulateGrad", "CopySlices", "CopyBackwards") else name


def _saved(real: Any) -> Sequence[Any]:
    """What a node of the engine's has saved: as `saved`, with versions, or else as `saved_tensors`."""
    found = real.saved if hasattr(real, "saved") else getattr(real, "saved_tensors", ())
    return tuple(found or ())


def _ask(thing: Any, name: str) -> Any:
    """An attribute of a tensor or a node of the engine's; AttributeError says what all of them need."""
    try:
        return getattr(thing, name)
    except AttributeError:
        if hasattr(type(thing), name):
            raise  # it is there, and failed
        raise AttributeError(NOT_THERE.format(name, type(thing).__name__)) from None


class _Task:
    """A backward that the engine runs, as events tell of one."""

    def __init__(self, roots: Any, seeds: Any, keep_graph: bool, create_graph: bool, targets: Any) -> None:
        self.roots, self.seeds, self.keep_graph, self.create_graph = roots, seeds, keep_graph, create_graph
        self.targets = targets


class OwnEngine:
    """Listens to one engine; `on_...` is called with what it tells of an event of that kind."""

    def __init__(self, engine: ModuleType) -> None:
        self.engine, self.tensor_type = engine, engine.Tensor
        self.numbers = count()
        self.muted = False  # while a stepper runs the nodes: it tells of them itself
        self._tasks: list[_Task] = []
        self._writing: tuple[Any, Tensor] | None = None  # a tensor that is being written, and what it was before
        self._recorded: tuple[Any, tuple[Any, ...], Any] | None = None  # the node of that, its operands and result
        self._kinds: dict[Any, type[OwnNode]] = {}  # by Function

    def is_tensor(self, thing: Any) -> bool:
        """Whether it is one of the engine's tensors."""
        return isinstance(thing, self.tensor_type)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While a stepper runs a part of the engine: nothing is recorded, and the stepper tells what happens."""
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
        """A new tensor of the engine's."""
        return self.tensor_type(np.array(getattr(numbers, "_array", numbers)))

    # What stands for its things.

    def mirror(self, place: Any) -> Any:
        """What stands for a tensor or a node; all else as it is."""
        if self.is_tensor(place):
            return self.tensor(place)
        if isinstance(place, getattr(self.engine, "Node", ())):
            return self.node(place)
        return place

    def own_leaf(self, node: Node) -> Any:
        """The engine's own leaf."""
        return node.variable._storage.of

    def link(self, own: Any, mirror: Tensor) -> None:
        """From now on this stands for a tensor."""
        vars(own)[_TENSOR], mirror._array = mirror, self.array(own)
        mirror._storage = _Versions(own)

    def array(self, own: Any) -> Any:
        """A tensor's numbers."""
        return np.asarray(_ask(own, "data"))

    def tensor(self, own: Any) -> Tensor:
        """What stands for a tensor, as that is now."""
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
        """What stands for a node, and for all that it leads to."""
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
        """The class of what stands for a node: one for each Function, which says what it computes."""
        function = getattr(real, "function", None)
        if function is None:
            return OwnNode
        if function not in self._kinds:
            brought = getattr(function, "__module__", None) == self.engine.__name__
            facts = {"__slots__": (), "computes": function} if brought else {"_forward_cls": function}
            self._kinds[function] = type(f"{function.__name__}Backward", (OwnNode,), facts)
        return self._kinds[function]

    def given(self, thing: Any) -> Any:
        """What stands for an argument, if it is a tensor."""
        return self.tensor(thing) if self.is_tensor(thing) else thing

    def _carried(self, grad: Any) -> Any:
        """A gradient as events tell it: its numbers, or its tensor where the backward records a graph of it."""
        if grad is None:
            return None
        return self.tensor(grad) if self._tasks and self._tasks[-1].create_graph else self.array(grad)

    # What it tells.

    def __call__(self, kind: str, *facts: Any) -> None:
        hear = getattr(self, f"on_{kind}", None)
        if hear is not None and not self.muted:
            hear(*facts)

    def on_created(self, node: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """A node was made."""
        mirror = self.node(node)
        mirror.extra = in_scope() if scoped else None
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
        """An operation made no node."""
        if events.listeners and not self._tasks and self._writing is None:
            given = tuple([self.given(each) for each in inputs])
            events.emit(("unrecorded", name, given, (self.tensor(output),)))

    def on_writing(self, tensor: Any) -> None:
        """A tensor is about to be written."""
        mirror = self.tensor(tensor)
        before = wrap(mirror._array.copy(), mirror._rg)
        before._fn = mirror._fn if mirror._meta is None or mirror._meta.base is None else mirror._meta.view_fn
        self._writing, self._recorded = (tensor, before), None

    def on_wrote(self, tensor: Any, name: str, node: Any) -> None:
        """It was."""
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
        """A tensor was detached from another one."""
        new, old = self.tensor(tensor), self.tensor(source)
        new._storage = old._storage
        if events.listeners:
            events.emit(("shares", new, old))

    def on_backward(
        self, tensor: Any, gradient: Any, retain_graph: bool, create_graph: bool, inputs: Iterable[Any] | None = None
    ) -> None:
        """A backward begins."""
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
        """A node is about to run."""
        if hasattr(node, "variable"):
            self.tensor(node.variable)
        self._tell("run", self._task(), self.node(node), (self._carried(grad),))

    def on_ran(self, node: Any, grads: Iterable[Any]) -> None:
        """It has run; a leaf's node has told that otherwise."""
        if not hasattr(node, "variable"):
            mirror: Any = self.node(node)
            sent = [self._carried(each) for each in grads][: len(mirror.parents)]
            self._tell("ran", self._task(), mirror, tuple(sent))

    def on_freed(self, node: Any) -> None:
        """A node has freed what it had saved."""
        self._tell("freed", self.node(node))

    def on_accumulated(self, node: Any, leaf: Any) -> None:
        """A leaf has a gradient."""
        self._tell("accumulated", self._task(), self.node(node), self.tensor(leaf))

    def on_captured(self, node: Any, grad: Any) -> None:
        """A gradient was taken for who asked."""
        self._tell("captured", self._task(), self.node(node), 0, self._carried(grad))

    def on_finished(self) -> None:
        """A backward is over."""
        if self._tasks:
            self._tell("finished", self._tasks.pop())

    def on_failed(self, node: Any, error: BaseException) -> None:
        """It ends with an error."""
        task = self._tasks.pop() if self._tasks else None
        events.failed(error, task=task, node=None if node is None else self.node(node))

    def _task(self) -> Any:
        return self._tasks[-1] if self._tasks else None

    def _tell(self, *event: Any) -> None:
        if events.listeners:
            events.emit(event)


def _names(saved: Sequence[Any], inputs: tuple[Any, ...], output: Any) -> Iterator[tuple[str, bool]]:
    """What PyTorch calls what a node has saved: by the operand or the result that it is.

    What is neither is a number that the operation was given, which became a tensor.
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
    """How many operands a Function has to be given: others, as a dimension, have no place in the graph."""
    forward: Callable[..., Any] | None = getattr(function, "forward", None)
    if forward is None:
        return sys.maxsize
    parameters = [*inspect.signature(forward).parameters.values()][1:]
    return len([each for each in parameters if each.default is each.empty]) or 1


def _as_called(function: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a Function without those at the end that are what `forward` takes if it is given none."""
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
    """Let an engine that you wrote drive the pictures: `record()`, `show()` and `step()` take its tensors from now on.

    `engine` is its module. It has a class `Tensor`, with `data`, `grad`, `requires_grad` and `grad_fn`. A node has
    `name()`, `edges` (for each operand the node that gets its gradient, or None) and `run(gradient)`. A recording
    hears what the engine tells the functions in its list `listeners`: each is called as `listener(kind, *facts)` when
    a node is made, run or freed, and so on. Without that list `show()` and `step()` work all the same. To call this
    again for the same engine changes nothing.
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
