"""The nodes of built-in operations, how their saved tensors are read back, and a backward through them alone."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from .. import errors
from ..events import failed, listeners
from . import state
from .engine import GraphTask, add_gradient, push_ready
from .node import AccumulateGrad, Node, Scoped, edge_of, run_by_hand
from .saved_tensors import FREED, Packed, SavedTensor, packed, saved_output, stale, unpacked
from .state import local, off, set_grad
from .tensor import DetachedTensor, Size, Tensor, wrap

FURTHER: dict[str, Callable[[Any], Any] | None] = {}  # "AddBackward0._saved_alpha": told by a function; None: hidden


class Unfit(Exception):
    """A hook unpacked another shape or dtype than was packed: the formulas for arrays do not see to that."""


def read_array(node: Node, name: str) -> Any:
    """A built-in node's saved tensor as an array, or list of these, after the version check: the unhurried way."""
    saved = getattr(node, f"s_{name}")
    if type(saved) is tuple:
        arrays: list[Any] = []
        for t, version in zip(saved, getattr(node, f"v_{name}"), strict=True):
            if type(t) is not Tensor or (t._storage is not None and t._storage.version != version):
                break
            arrays.append(t._array)
        else:
            return tuple(arrays)
    found = read_tensor(node, name)
    for t, s in zip(found, saved, strict=True) if type(saved) is tuple else ((found, saved),):
        if type(s) is Packed and s.kind != (t._array.shape, t._array.dtype):
            s.value, s.unpack = t, lambda t: t  # a hook may refuse to be asked again
            raise Unfit
    if type(found) is tuple:
        return tuple([None if t is None else t._array for t in found])
    return None if found is None else found._array


def read_tensor(node: Any, name: str) -> Any:
    """A built-in node's saved tensor or list of these, with its history, after the version check."""
    saved = getattr(node, f"s_{name}")
    if saved is None:
        return None
    if saved is FREED:
        raise RuntimeError(errors.SECOND_BACKWARD)
    if type(saved) is tuple:
        pairs = zip(saved, getattr(node, f"v_{name}"), strict=True)
        return tuple([None if t is None else _checked(node, name, t, version) for t, version in pairs])
    if type(saved) is Packed or isinstance(saved, Tensor):
        return _checked(node, name, saved, getattr(node, f"v_{name}"))
    if name == "result" and node.keeps_result:
        storage = node.c_result
        if storage is not None and storage.version != node.v_result:
            raise stale(node, saved, storage, node.v_result)
        return saved_output(node, saved, storage, 0)
    return wrap(saved)


def number_as_given(saved: Any, version: Any) -> tuple[Any, int]:
    """A saved operand and its version; a Python number, computed with in the tensor's dtype, as PyTorch keeps it."""
    return (np.asarray(version), 0) if type(saved) is np.ndarray else (saved, version)


def _checked(node: Any, name: str, saved: Tensor | Packed, version: int) -> Tensor:
    found = unpacked(node, saved, version)
    if type(saved) is DetachedTensor and saved.grad_fn is None and _came_from_a_node(node, name):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with "
            ".detach_().This is not supported, please use out-of-place `.detach()` instead"
        )
    return found


def _came_from_a_node(node: Any, name: str) -> bool:
    """Whether what a node saved under that name had a grad_fn at the time."""
    if name not in node.op.tensors:
        return False
    parent, _ = node.edges()[node.op.tensors.index(name)]
    return parent is not None and type(parent) is not AccumulateGrad


class OpNode(Node):
    """A built-in operation's node. Its class says what is saved; the slots are written where the op is declared.

    Slots: `p0, n0, p1, n1 ...` edges; `s_x, v_x` a saved tensor and its version, or a number's array and the number;
    `c_result` the version counter of a saved result; `z_x` a saved shape; `y_x` the strides of a factor, in
    bytes; `a_x` another argument; `fit` how gradients must be reshaped to the inputs.
    """

    __slots__ = ()

    built_in = True
    op: Any  # what it is an application of
    shape_names: tuple[str, ...] = ()
    argument_names: tuple[str, ...] = ()
    factor_names: tuple[str, ...] = ()

    def _saved(self, name: str) -> Any:
        """What is saved under a name, a number too as a tensor."""
        kept = getattr(self, f"s_{name}")
        if type(kept) is np.ndarray and name in self.op.tensors:
            return wrap(number_as_given(kept, getattr(self, f"v_{name}"))[0])
        return read_tensor(self, name)

    def _raw(self, name: str) -> SavedTensor | tuple[SavedTensor, ...]:
        """Handles on what is saved under a name."""
        slot = f"s_{name}"
        if name not in self.op.lists:

            def put(hooks: Any) -> None:
                setattr(self, slot, packed(read_tensor(self, name), self, hooks))

            return SavedTensor(lambda: getattr(self, slot), put, lambda: read_tensor(self, name))
        if getattr(self, slot) is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return tuple([self._raw_of(name, i) for i in range(len(getattr(self, slot)))])

    def _raw_of(self, name: str, i: int) -> SavedTensor:
        slot = f"s_{name}"

        def get() -> Any:
            saved = getattr(self, slot)
            return saved if saved is FREED else saved[i]

        def read() -> Any:
            return _checked(self, name, get(), getattr(self, f"v_{name}")[i])

        def put(hooks: Any) -> None:
            saved = list(getattr(self, slot))
            saved[i] = packed(read(), self, hooks)
            setattr(self, slot, tuple(saved))

        return SavedTensor(get, put, read)

    __call__ = run_by_hand

    def is_freed(self) -> bool:
        """Whether an earlier backward freed what the next one has to read."""
        return any([getattr(self, f"s_{name}") is FREED for name in self.saved_names])

    def check_saved(self) -> None:
        """Read what is saved, as PyTorch does even where no gradient arrived: it may be freed, or out of date."""
        for name in self.saved_names:
            read_tensor(self, name)


def tells_saved(kind: Any) -> Any:
    """A class of nodes with PyTorch's names of what is saved: `_saved_self`, `_saved_self_sym_sizes`, `_saved_dim`.

    They are properties, because a `__getattr__` would make every attribute of a node slow to read.
    """
    told: dict[str, Any] = {}
    for name in kind.saved_names:
        told[f"_saved_{name}"] = methodcaller("_saved", name)
        told[f"_raw_saved_{name}"] = methodcaller("_raw", name)
    told |= {f"_saved_{name}_sym_sizes": attrgetter(f"z_{name}") for name in kind.shape_names}
    told |= {f"_saved_{name}": attrgetter(f"a_{name}") for name in kind.argument_names if name not in kind.op.found}
    own = f"{kind.op.node_name}."
    told |= {name.removeprefix(own): tell for name, tell in FURTHER.items() if name.startswith(own)}
    for name, tell in told.items():
        if tell is not None:
            setattr(kind, name, property(tell))
    return kind


class Node1(OpNode):
    """One tensor input."""

    __slots__ = ("p0", "n0")
    arity = 1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the input's gradient goes."""
        return ((self.p0, self.n0),)

    def leads_to(self) -> tuple[Node | None, ...]:
        """The nodes that the gradients go to."""
        return (self.p0,)


class Node2(OpNode):
    """Two tensor inputs."""

    __slots__ = ("p0", "n0", "p1", "n1")
    arity = 2

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return ((self.p0, self.n0), (self.p1, self.n1))

    def leads_to(self) -> tuple[Node | None, ...]:
        """The nodes that the gradients go to."""
        return (self.p0, self.p1)


class Node3(OpNode):
    """Three tensor inputs."""

    __slots__ = ("p0", "n0", "p1", "n1", "p2", "n2")
    arity = 3

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return ((self.p0, self.n0), (self.p1, self.n1), (self.p2, self.n2))

    def leads_to(self) -> tuple[Node | None, ...]:
        """The nodes that the gradients go to."""
        return (self.p0, self.p1, self.p2)


class NodeN(OpNode):
    """A list of tensor inputs."""

    __slots__ = ("parents",)
    arity = -1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return self.parents


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda node: value


def _of_saved(name: str, fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A fact of something that the node saved; AttributeError if it did not have to."""

    def tell(node: Any) -> Any:
        saved = read_tensor(node, name)
        if saved is None:
            raise AttributeError(f"'{type(node).__name__}' object has not saved {name!r}, which nothing reads here")
        return fact(saved)

    return tell


def _matrices(node: str, *names: str) -> None:
    for name in names:
        FURTHER[f"{node}._saved_{name}_sym_sizes"] = _of_saved(name, lambda t: tuple(t.shape))
        FURTHER[f"{node}._saved_{name}_sym_strides"] = _of_saved(name, lambda t: t.stride())


for _node in ("AddBackward0", "SubBackward0", "RsubBackward0", "RsubBackward1"):
    FURTHER[f"{_node}._saved_alpha"] = lambda node: getattr(node, "a_alpha", 1)
for _node in ("MeanBackward0", "MeanBackward1"):
    FURTHER[f"{_node}._saved_self_sym_numel"] = lambda node: Size(node.z_self).numel()
_matrices("MmBackward0", "self", "mat2")
_matrices("AddmmBackward0", "mat1", "mat2")
FURTHER |= {
    "GatherBackward0._saved_sparse_grad": _constant(False),
    "IndexAddBackward0._saved_source_dim": _of_saved("source", lambda t: t.ndim),
    "EluBackward0._saved_scale": _constant(1),
    "EmbeddingBackward0._saved_scale_grad_by_freq": _constant(False),
    "EmbeddingBackward0._saved_sparse": _constant(False),
    "EmbeddingBackward0._saved_weight_sym_argsize_0": lambda node: node.z_weight[0],
    "EluBackward0._saved_input_scale": _constant(1),
    "LogSigmoidBackward0._saved_buffer": _of_saved("self", lambda t: (-wrap(t._array).abs()).exp()),
    "NllLossBackward0._saved_ignore_index": lambda node: node.a_ignore_index % 2**64,
    "ConvolutionBackward0._saved_transposed": _constant(False),
    "ConvolutionBackward0._saved_output_padding": _constant((0, 0)),
}
for _name in (
    "ProdBackward1._saved_self_sym_sizes",
    "AddmmBackward0._saved_self_sym_sizes",
    "UnbindBackward0._saved_self_sym_sizes",
    "ScatterBackward0._saved_src_sym_sizes",
    "ScatterAddBackward0._saved_src_sym_sizes",
    "ToCopyBackward0._saved_dtype",
    "NativeLayerNormBackward0._saved_eps",
    "MseLossBackward0._saved_self_sym_sizes",
    "SmoothL1LossBackward0._saved_self_sym_sizes",
    "BinaryCrossEntropyBackward0._saved_self_sym_sizes",
    "BinaryCrossEntropyWithLogitsBackward0._saved_self_sym_sizes",
    "EmbeddingBackward0._saved_weight_sym_sizes",
    "ConvolutionBackward0._saved_input_sym_sizes",
    "ConvolutionBackward0._saved_weight_sym_sizes",
):
    FURTHER[_name] = None


def ran_without_task(output: Any, gradient: Any, keep_graph: bool | None) -> bool:
    """Run a backward through built-in nodes and Functions that nobody looks at: as a task does, in half its time.

    False, with nothing run, for any other graph, and for a gradient that is not just as the output. A Function's
    backward finds a task all the same; where it makes somebody look, that task runs the rest.
    """
    if listeners or state.anomaly or Packed.exist or type(output) is not Tensor:
        return False
    if keep_graph is not None and type(keep_graph) is not bool:
        return False
    modes, array = local.modes, output._array
    if modes.levels or modes.task is not None or state.dual is not None:
        return False
    if type(gradient) is Tensor:
        seed = gradient._array
        if seed.dtype is not array.dtype or seed.shape != array.shape:
            return False
    elif gradient is None and array.size == 1:
        seed = np.empty(array.shape, array.dtype)
        seed.fill(1)
    else:
        return False
    root: Any = edge_of(output)
    found = _inputs_of_plain_nodes(root)
    if found is None:
        return False
    inputs, users = found
    if not users:
        _walk(root, output._nr, seed, bool(keep_graph), inputs, None)
        return True
    task = GraphTask([], [], bool(keep_graph), False)
    task.roots, task.seeds = [(root, output._nr)], [seed]
    del task._waiting
    task._begun, task.outer = True, None
    before, depth = modes.grad, modes.depth
    try:
        modes.depth = depth + 1
        set_grad(False)
        modes.task = task
        _walk(root, output._nr, seed, bool(keep_graph), inputs, task)
    finally:
        modes.task, modes.depth = None, depth
        modes.grad = before
        if before:
            off.pop(modes, None)
        else:
            off[modes] = True
    if task.callbacks:
        task.run(0)  # nothing is left but to call back
    return True


def _walk(root: Any, nr: int, seed: Any, keep_graph: bool, inputs: dict[Any, Any], task: GraphTask | None) -> None:
    """Run the nodes one after the other, and the leaves as soon as they are reached."""
    order = sorted(inputs, key=_SEQ, reverse=True) if len(inputs) > 1 else [*inputs]
    node, grad, first = root, seed, order[0]
    if root.multi:
        grad = [grad if i == nr else None for i in range(root.outputs)]
    out: Any
    try:
        while node is not first:  # one after the other
            if task is not None and _is_watched(task, node):
                _go_on(task, {node: grad}, [*_chain(node, first), *order])
                return
            if grad is not None or node.takes_undefined:
                out = node.vjp(grad)
                grad, out = out if node.arity == 1 else out[node.p0 is None], None
            else:
                node.check_saved()
            if not keep_graph:
                node.release()
            node = node.p1 if node.p0 is None else node.p0
        buffers: dict[Any, Any] = {node: grad}
        for place, node in enumerate(order):
            if task is not None and _is_watched(task, node):
                _go_on(task, buffers, order[place:])
                return
            grad = buffers.pop(node, None)
            arity = node.arity
            if grad is None and not node.takes_undefined:
                node.check_saved()
                grads = [None] * len(inputs[node])
            else:
                out = node.vjp(grad)
                grads = [out] if arity == 1 else [*out[::-1]]
            if not keep_graph:
                node.release()
            out = grad = None  # a leaf keeps a gradient that nobody else holds
            watched = _deliver(node, inputs[node], grads, buffers, task)
            if watched and task is not None:
                _go_on(task, buffers, [*order[place + 1 :], *watched])
                return
    except BaseException as error:
        # alive in this frame for whoever explains the error
        task = task or GraphTask([(root, nr)], [seed], keep_graph, False)
        said = errors.of_shapes(error)
        failed(said or error, task=task, node=node)
        if said is not None:
            raise said from None
        raise


def _deliver(node: Any, parents: Any, grads: list[Any], buffers: dict[Any, Any], task: GraphTask | None) -> list[Any]:
    """Hand a node's gradients, the last first in the list, on; the leaves at which hooks have been put meanwhile."""
    watched: list[Any] = []
    for parent in parents:
        grad = grads.pop()
        if parent is None:
            continue
        if not parent.arity:
            if task is not None and (parent.extra is not None or parent.variable._meta.post_accumulate):
                buffers[parent] = grad
                watched.append(parent)
            else:
                parent.vjp(grad)
        elif parent.multi:
            add_gradient(buffers, parent, node.edges()[-1 - len(grads)][1], grad)
        elif grad is not None:
            have = buffers.get(parent)
            buffers[parent] = grad if have is None else have + grad
    return watched


def _is_watched(task: GraphTask, node: Any) -> bool:
    """Whether a Function's backward has made somebody look at what comes next, which else is a node like the others."""
    task.node = node
    return bool(listeners) or state.anomaly or type(node.extra) not in _USUAL


def _go_on(task: GraphTask, buffers: dict[Any, Any], left: list[Any]) -> None:
    """Have a task run the rest of a backward that was begun without it: these nodes, with what arrived at them."""
    task._waiting = waiting = dict.fromkeys(left, 0)
    for node in left:
        for parent in node.leads_to():
            if parent is not None:
                waiting[parent] = waiting.get(parent, 0) + 1
    task._buffers = buffers
    for node in left:
        if not waiting[node]:
            push_ready(task._ready, node)
    local.modes.task = None  # no task lies around it, and not it around itself
    task.run()


def _chain(node: Any, first: Any) -> list[Any]:
    """The nodes that follow each other one by one, up to the first that does not."""
    nodes = []
    while node is not first:
        nodes.append(node)
        node = node.p1 if node.p0 is None else node.p0
    return nodes


_SEQ = attrgetter("seq")
_USUAL = {type(None), Scoped}  # the extra of a node that nobody looks at


def _inputs_of_plain_nodes(root: Any) -> tuple[dict[Any, Any], bool] | None:
    """The nodes of a backward, which run in the order of their making, each with those its gradients go to.

    And whether there are Functions among them. None if a hook runs, if a leaf waits for several gradients, and where
    what led to a node was made after it, as a view's node may be. Nodes that follow each other one by one from the root
    on are left out.
    """
    node, users = root, False
    while node is not None and type(node.extra) in _USUAL and (node.built_in or node.of_function):
        users = users or node.of_function
        arity, parent = node.arity, node.p0 if node.arity in (1, 2) else None
        if arity == 2 and node.p1 is not None:
            parent = node.p1 if parent is None else None
        if parent is None or not parent.arity or parent.multi:
            break
        node = parent
    else:
        return None
    inputs: dict[Any, Any] = {node: node.leads_to()}
    leaves: set[Any] = set()
    stack: list[Any] = [node]
    while stack:
        node = stack.pop()
        for parent in inputs[node]:
            if parent is None:
                continue
            arity = parent.arity
            if arity:
                if parent.seq > node.seq:
                    return None
                if parent not in inputs:
                    if type(parent.extra) not in _USUAL or not (parent.built_in or parent.of_function):
                        return None
                    users = users or parent.of_function
                    inputs[parent] = parent.leads_to()
                    stack.append(parent)
            elif parent in leaves or parent.extra is not None or parent.variable._meta.post_accumulate:
                return None
            else:
                leaves.add(parent)
    return inputs, users
