"""The backward pass as an object: which node may run next, and the gradients waiting for the others.

A node is ready when every use of its outputs has delivered its gradient. Among ready nodes, the one created last runs
first, and a leaf's accumulation before all others. `run(1)` is one step; `run()` is a whole backward pass. There is no
recursion, so a chain may be as long as memory allows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from operator import call
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import errors
from ..events import emit, failed, listeners
from . import state
from .anomaly_mode import refuse_nan, warn_of_forward
from .hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from .node import REFERENCES_IF_HELD_ONCE, Extra, Node, ScopeOnlyExtra, count, is_dense, owns_memory
from .saved_tensors import Packed
from .state import Modes, again_quietly, compute, local, no_grad_threads, quietly, set_grad, silent, total

Roots = list[tuple[Node, int]]


def count_uses(roots: Roots) -> dict[Node, int]:
    """Return the number of edges to each node within reach of the roots."""
    uses: dict[Node, int] = {}
    stack: list[Node] = []
    for node, _ in roots:
        if node not in uses:
            uses[node] = 0
            stack.append(node)
    while stack:
        node = stack.pop()
        for parent in node.leads_to():
            if parent in uses:
                uses[parent] += 1
            elif parent is not None:
                uses[parent] = 1
                stack.append(parent)
    return uses


def nodes_towards(targets: set[Node], roots: Roots, uses: dict[Node, int]) -> set[Node] | None:
    """Return the targets and the nodes between the roots and a target; None if that is every node within reach."""
    if all([node in targets or any(node.leads_to()) for node in uses]):
        return None
    needed, left = set(targets), uses.copy()
    order = [node for node in dict.fromkeys(node for node, _ in roots) if not left[node]]
    for node in order:  # grows: a node comes after all its uses, whatever their sequence numbers
        for parent in node.leads_to():
            if parent is not None:
                left[parent] -= 1
                if not left[parent]:
                    order.append(parent)
    for node in reversed(order):
        if not needed.isdisjoint(node.leads_to()):
            needed.add(node)
    return needed


def push_ready(heap: list[Node], node: Node) -> None:
    """Add a node."""
    heap.append(node)
    _sift_up(heap, len(heap) - 1, node)


def pop_ready(heap: list[Node]) -> Node:
    """Take out the node to run next."""
    first, last = heap[0], heap.pop()
    size = len(heap)
    if size:
        hole = child = 0
        while child < (size - 1) // 2:
            child = 2 * (child + 1)
            if heap[child].seq < heap[child - 1].seq:
                child -= 1
            heap[hole] = heap[child]
            hole = child
        if size % 2 == 0 and child == (size - 2) // 2:
            child = 2 * (child + 1)
            heap[hole] = heap[child - 1]
            hole = child - 1
        _sift_up(heap, hole, last)
    return first


def _sift_up(heap: list[Node], hole: int, node: Node) -> None:
    while hole and heap[(hole - 1) // 2].seq < node.seq:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = node


def add_gradient(buffers: dict[Node, Any], node: Node, nr: int, grad: Any) -> None:
    """Add a gradient to those waiting at a node; a sum is a new array."""
    have = buffers.get(node)
    if node.multi:
        if have is None:
            have = buffers[node] = [None] * node.outputs  # the gradients of its outputs
        if grad is not None:
            have[nr] = grad if have[nr] is None else total(have[nr], grad)
    elif grad is not None:
        buffers[node] = grad if have is None else total(have, grad)


def beside_hooks(vjp: Any, grad: Any, needed: Container[Node] | None) -> Any:
    """Run a built-in node where hooks may unpack what it saved: they find the user's context variables."""
    if not any([type(saved) in (Packed, tuple) for _, saved, _ in vjp.__self__.saved_items()]):
        return quietly(vjp, grad, needed)
    with np.errstate(all="ignore"):
        return vjp(grad, needed)


DEEPEST = 50  # backwards inside each other on one stack
NOTHING = object()  # what a node gives that did not run, or that is a leaf's


def carries_tensors(create_graph: bool) -> bool:
    """Return True if gradients are tensors with a graph: when it is recorded, or when a transform needs them."""
    return create_graph or bool(local.modes.levels) or local.modes.dual is not None


class GraphTask:
    """One backward in progress.

    The life of a node in it::

        _waiting    counts the gradients that are still to come; what came is added up in _buffers
           |        the last one comes (_deliver)
        _ready      the queue, if several nodes are ready
           |        its turn comes (_run_ready)
        _run_node   only if something is unusual: the hooks of its tensors, captures, pre-hooks; vjp; post-hooks
        vjp         else at once
           |        release: its saved tensors are freed, unless keep_graph
        _deliver    the gradient of each input to the node that it is for; a leaf's vjp adds it to `.grad`

    `roots` are (node, output_nr) pairs and `seeds` their gradients: arrays, or tensors if `tensors`. With
    `targets` (pairs again) only the nodes on a path to them run, and `captured` holds what arrived there; nothing if
    `accumulate`: the targets' own nodes run too, which accumulates at leaves.
    """

    targets: list[tuple[Node, int]] | None = None
    accumulate = False
    outer: Any = None  # the task that runs around it
    node: Node | None = None  # the one that is running
    _captures: Mapping[Node, list[tuple[int, int]]] = MappingProxyType({})
    _needed: set[Node] | None = None
    _begun = _over = False
    # Made when first asked for: what is to be called in the end; what others keep for as long as this backward, a list
    # or dict for each; how often a gradient was added in place to the first that came to a leaf.
    callbacks: list[Any]
    kept: dict[Any, Any]
    sums: dict[Node, int]

    def __init__(
        self,
        roots: list[tuple[Node, int]],
        seeds: list[Any],
        keep_graph: bool,
        create_graph: bool,
        targets: list[tuple[Node, int]] | None = None,
        accumulate: bool = False,
    ) -> None:
        self.roots, self.seeds = roots, seeds
        self.keep_graph, self.create_graph = keep_graph, create_graph
        self.tensors = carries_tensors(create_graph)
        self.captured: list[Any] = [None] * len(targets or ())  # what arrived at each target
        self._buffers: dict[Node, Any] = {}
        self._ready: list[Node] = []
        self._waiting = count_uses(roots)  # how many deliveries each reachable node waits for
        if targets is not None:
            self.targets, self.accumulate = targets, accumulate
            self._needed = nodes_towards({node for node, _ in targets}, roots, self._waiting)
            captures: dict[Node, list[tuple[int, int]]] = {}
            for index, (node, nr) in enumerate(() if accumulate else targets):
                captures.setdefault(node, []).append((nr, index))
            self._captures = captures

    @classmethod
    def detached_task(cls, root: Node, nr: int, seed: Any, keep_graph: bool) -> GraphTask:
        """Return the task of a backward pass that runs elsewhere, in its own order, for anyone who asks what runs."""
        task = object.__new__(cls)
        task.roots, task.seeds = [(root, nr)], [seed]
        task.keep_graph, task.create_graph, task.tensors = keep_graph, False, False
        task._buffers, task._ready, task.captured, task._begun = {}, [], [], True
        return task

    def __getattr__(self, name: str) -> Any:
        if name == "_waiting":  # of a backward pass that runs elsewhere: counted on request
            self._waiting = count_uses(self.roots)
        elif name in ("callbacks", "kept", "sums"):
            setattr(self, name, [] if name == "callbacks" else {})
        return object.__getattribute__(self, name)

    def begin(self) -> None:
        """Deliver the seeds."""
        self._begun = True
        if listeners:
            emit(("backward", self))
        if len(self.roots) == 1:
            ((node, nr),), (seed,) = self.roots, self.seeds
            add_gradient(self._buffers, node, nr, seed)
            # A lone root's tensor hooks run even if it leads to no target.
            if self._needed is None or node in self._needed or node.extra is not None:
                self._ready.append(node)
            return
        for (node, nr), seed in zip(self.roots, self.seeds, strict=True):
            self._add(node, nr, seed)
        for node in dict.fromkeys([node for node, _ in self.roots]):
            if not self._waiting[node] and (self._needed is None or node in self._needed):
                push_ready(self._ready, node)

    def _add(self, node: Node, nr: int, grad: Any) -> None:
        """Add a gradient to those waiting at a node.

        A sum is a new array. At a leaf it overwrites the first gradient, as in PyTorch, if nothing else refers to that.
        """
        have = None if node.arity or self.tensors else self._buffers.get(node)
        if have is None or grad is None or count(have) > REFERENCES_IF_HELD_ONCE:
            add_gradient(self._buffers, node, nr, grad)
            return
        times, is_array = self.sums.get(node, 0), type(have) is np.ndarray
        if times or not is_array or (is_dense(have) and owns_memory(have)):
            self.sums[node] = times + 1
            if is_array and not listeners:
                try:
                    compute(np.add, have, grad, have)
                except RuntimeError as error:
                    again_quietly(error, np.add, have, grad, have)
                return
        self._buffers[node] = total(have, grad)  # a listener may know what it was

    def step(self) -> bool:
        """Run exactly one node; False when there was none left. Grad mode is left as it was found."""
        return self.run(1)

    def run(self, limit: int = -1) -> bool:
        """Run `limit` nodes, or all that are left; False when nothing was left to run."""
        modes = local.modes
        depth = modes.depth
        if depth >= DEEPEST:
            ran = self._run_in_thread(modes, limit)
            if ran is not None:
                return ran
        modes.depth = depth + 1
        try:
            return self._run(modes, limit)
        except RecursionError:
            if depth == DEEPEST:
                raise RecursionError(errors.NO_FRESH_STACK.format(DEEPEST)) from None
            raise
        finally:
            modes.depth = depth

    def _run_in_thread(self, modes: Modes, limit: int) -> bool | None:
        """Run on a fresh stack, so that deeply nested backward passes don't end in a RecursionError.

        Return None if no thread can start, as in a browser; nothing has run then.
        """
        results: list[bool] = []
        failures: list[BaseException] = []

        def on_fresh_stack() -> None:
            local.modes = modes.copy()
            try:
                results.append(self.run(limit))
            except BaseException as error:
                failures.append(error)
            finally:
                no_grad_threads.pop(local.modes, None)

        thread = threading.Thread(target=on_fresh_stack)
        try:
            thread.start()
            thread.join()
        except BaseException as error:
            if thread.ident is not None:  # an interrupt: it still runs, and what it was asked for is not done
                thread.join()
            elif isinstance(error, RuntimeError):
                return None
            raise
        if failures:
            raise failures[0]
        return results[0]

    def _run(self, modes: Modes, limit: int) -> bool:
        """Run the loop in the grad mode that it asks for; explain an error; tell the end."""
        if not self._begun:
            self.begin()
        before = modes.grad
        set_grad(self.create_graph)
        self.outer, modes.task = modes.task, self
        try:
            ran = silent().run(self._run_ready, limit, True) if self._is_quiet() else self._run_ready(limit, False)
        except BaseException as error:
            shape_error = errors.of_shapes(error)
            if state.anomaly and self.node is not None:
                warn_of_forward(self.node)
            failed(shape_error or error, task=self, node=self.node)
            if shape_error is not None:
                raise shape_error from None
            raise
        finally:
            modes.task, self.outer, self.node = self.outer, None, None
            modes.grad = before
            if before:
                no_grad_threads.pop(modes, None)
            else:
                no_grad_threads[modes] = True
        if not self._ready and not self._over:
            self._over = True
            self._call_back(modes)
            if listeners:
                emit(("finished", self))
        return ran

    def _is_quiet(self) -> bool:
        """Return True if no code of the user's runs in this backward pass, so that NumPy can be silent in all of it."""
        if self.tensors or listeners or Packed.exist:
            return False
        others: list[Any] = [node for node in self._waiting if node.extra is not None or not node.built_in]
        return not any([each.arity or each.extra or each.variable._meta.post_accumulate for each in others])

    def _runner(self) -> Callable[..., Any]:
        """Return the function that runs built-in nodes; operations on tensors set NumPy's error state themselves."""
        if self.tensors:
            return call
        return beside_hooks if Packed.exist else silent().run

    def _run_ready(self, limit: int, is_quiet: bool) -> bool:
        """Run the ready nodes: those without hooks and captures here, the others by `_run_node`.

        The only node that is ready needs no queue.
        """
        ready, buffers, captures = self._ready, self._buffers, self._captures
        keep, tensors, needed, heard = self.keep_graph, self.tensors, self._needed, listeners
        left, run = limit, call if is_quiet else self._runner()
        node: Any = None
        grad: Any = None
        out: Any
        while left:
            if node is None:
                if not ready:
                    break
                node = pop_ready(ready)
                grad = buffers.pop(node, None)
            self.node = node
            left -= 1
            unusual = node.extra is not None and type(node.extra) is not ScopeOnlyExtra
            if unusual or grad is None or state.anomaly or node in captures:
                buffers[node], grad = grad, None  # a leaf keeps a gradient that nothing else refers to
                out = self._run_node(node)
            else:
                if heard:
                    emit(("run", self, node, grad if node.multi else (grad,)))
                vjp = node.vjp_tensors if tensors else node.vjp
                out = vjp(grad, needed) if is_quiet or not node.built_in else run(vjp, grad, needed)
                if heard:
                    self._tell_ran(node, out)
                if not keep and node.release() and heard:
                    emit(("freed", node))
            if out is NOTHING or not node.arity:
                node = grad = None
                continue
            grads, out, grad = [out] if node.arity == 1 else [*out[::-1]], None, None
            node, grad = self._deliver(node, grads)
        if node is not None:  # the limit is reached: it is the next one's turn at the next step
            buffers[node] = grad
            push_ready(ready, node)
        return left != limit

    def _deliver(self, node: Node, grads: list[Any]) -> tuple[Node | None, Any]:
        """Hand gradients, the last first in the list, to the nodes they are for; return the only one that is ready.

        Return it with its gradient, or (None, None): then the next one comes from the queue.
        """
        waiting, buffers, ready, needed = self._waiting, self._buffers, self._ready, self._needed
        alone, held = None, None
        for parent in node.leads_to():
            grad = grads.pop()
            if parent is None or (needed is not None and parent not in needed):
                continue
            uses = waiting[parent]
            if uses > 1 or parent.multi or parent in buffers:
                self._add(parent, node.edges()[-1 - len(grads)][1] if parent.multi else 0, grad)
                if uses > 1:
                    waiting[parent] = uses - 1
                    continue
            elif alone is None and not ready:
                alone, held = parent, grad
                continue
            else:
                buffers[parent] = grad
            if alone is not None:  # not the only one
                buffers[alone] = held
                push_ready(ready, alone)
                alone = held = None
            push_ready(ready, parent)
        return alone, held

    def _run_node(self, node: Node) -> Any:
        """Run a node, with everything unusual about it; what it gives its inputs, or NOTHING."""
        grad = self._buffers.pop(node, None)
        extra, needed, arity = node.extra, self._needed, node.arity
        if (extra is not None and type(extra) is not ScopeOnlyExtra) or self._captures:
            runs, grad = self._receive(node, extra, grad)
            if not runs:
                return NOTHING
        if listeners:
            emit(("run", self, node, grad if node.multi else (grad,)))
        if grad is None and not node.takes_undefined:
            node.check_saved()
            out = None if 0 <= arity < 2 else (None,) * len(node.edges())
        else:
            vjp = node.vjp_tensors if self.tensors else node.vjp
            out = self._runner()(vjp, grad, needed) if node.built_in else vjp(grad, needed)
        if extra is not None and extra.post_hooks:
            out = run_post_hooks(node, extra, out, grad, self)
        if state.anomaly and state.check_nan and arity:
            refuse_nan(node, [out] if arity == 1 else out)
        if listeners:
            self._tell_ran(node, out)
        if arity == 0:
            return NOTHING
        if not self.keep_graph and node.release() and listeners:
            emit(("freed", node))
        return out

    def _tell_ran(self, node: Node, out: Any) -> None:
        arity = node.arity
        if arity:
            emit(("ran", self, node, (out,) if arity == 1 else out))
        else:
            emit(("accumulated", self, node, node.variable))

    def _call_back(self, modes: Modes) -> None:
        """Run what was to be called in the end, of which each may ask for more; an error drops the rest."""
        if not self.__dict__.get("callbacks"):
            return
        outer, before = modes.task, modes.grad
        try:
            self.outer, modes.task = outer, self
            set_grad(self.create_graph)
            while self.callbacks:
                self.callbacks.pop(0)()
        except BaseException as error:
            failed(error, task=self)
            raise
        finally:
            modes.task, self.outer, self.callbacks = outer, None, []
            modes.grad = before
            if before:
                no_grad_threads.pop(modes, None)
            else:
                no_grad_threads[modes] = True

    def needed(self) -> Container[Node]:
        """Return the nodes that run, or whose gradient is captured."""
        return self._waiting if self._needed is None else self._needed

    def will_run(self, node: Node) -> bool:
        """Return True if a gradient will reach this node, but not for a lone root; RuntimeError for a captured leaf."""
        if len(self.roots) == 1 and node is self.roots[0][0]:
            return False
        if node in self._captures and not node.arity:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running "
                "autograd.grad(). This is currently not supported."
            )
        return node in self._waiting and node in self.needed()

    def _receive(self, node: Node, extra: Extra | None, grad: Any) -> tuple[bool, Any]:
        """Return whether the node should run, and the gradient after hooks."""
        wanted = node in self._captures
        runs = not wanted and (self._needed is None or node in self._needed)
        if wanted and self._continues(node):  # PyTorch then takes the gradient before the tensor's hooks
            self._capture(node, grad)
            wanted, runs = False, True
        if extra is not None and (extra.tensor_hooks or extra.retainers or extra.cast):
            grad = run_tensor_hooks(node, extra, grad, self)
        if wanted:
            self._capture(node, grad)
        elif runs and extra is not None and extra.pre_hooks:
            grad = run_pre_hooks(node, extra, grad, self)
        return runs, grad

    def _capture(self, node: Node, grad: Any) -> None:
        for nr, index in self._captures[node]:
            taken = (grad[nr] if grad is not None else None) if node.multi else grad
            self.captured[index] = taken
            if listeners:
                emit(("captured", self, node, nr, taken))

    def _continues(self, node: Node) -> bool:
        """Return True if a captured node must run too, because the path to another target goes through it."""
        needed = self.needed()
        return any(parent in needed for parent, _ in node.edges() if parent is not None)
