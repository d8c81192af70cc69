"""A backward pass in PyTorch's own engine that stops before each node, and its graph as nodes of the workbench's.

The real backward pass runs in a thread. A hook holds it before each node; PyTorch calls the hook in that thread or in
that of a device. A mirror of its graph lets every tool for the workbench's backward passes work on this one: a mirror's
gradients are those that the real node sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from ...autograd.node import AccumulateGrad, Node, accumulator, meta_of
from ...autograd.tensor import Tensor, wrap
from ...pictures.trace.engine import ACCUMULATE
from ...pictures.trace.hooks import nodes_behind
from .. import NO_NUMBERS, NOT_RUN
from .describe import is_python, kind_of_node, raw_saved, unknown, version_of
from .operations import unobserved
from .threads import ours

task_id: Callable[[], int] = torch._C._current_graph_task_id  # type: ignore[attr-defined]
_PLAIN = (torch.float16, torch.float32, torch.float64)


class _Stopped(Exception):
    """Ends a backward pass that isn't stepped any longer."""


class Mirror(Node):
    """The mirror of a PyTorch node: it returns what that node returned."""

    __slots__ = ("real", "parents", "outputs", "multi", "driver", "seq", "__weakref__")

    arity = -1
    takes_undefined = True
    outputs: int
    multi: bool
    __call__ = None  # type: ignore[assignment]

    def name(self) -> str:
        """Return the node's name, as PyTorch reports it."""
        return str(self.real.name())

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the mirrors of the nodes that its gradients go to."""
        found: tuple[tuple[Node | None, int], ...] = self.parents
        return found

    def vjp(self, grad: Any, needed: Any = None) -> Any:
        """Return what the real node sent, or raise its error."""
        return self.driver.sent(self)

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """Return the saved tensors, without those that a hook packed."""
        found = []
        for name, thing, hook in raw_saved(self.real, kind_of_node(type(self.real))):
            if hook is None and isinstance(thing, torch.Tensor) and thing.dtype in _PLAIN:
                found.append((name, array_of(thing), version_of(thing)))
        return found


del Mirror.__call__


@cache
def _mirror_of_function(function: type) -> type[Mirror]:
    return type(function.__name__ + "Backward", (Mirror,), {"__slots__": (), "_forward_cls": function})


def array_of(tensor: torch.Tensor) -> Any:
    """Return a tensor's numbers: a sparse one with its zeros, nan if unreadable.

    PyTorch never computes with these.
    """
    with unobserved():
        try:
            plain = tensor.detach() if tensor.layout is torch.strided else tensor.detach().to_dense()
            if plain.is_complex():
                plain = plain.to(torch.promote_types(plain.dtype, torch.complex64)).resolve_conj()
            elif plain.dtype not in _PLAIN:
                plain = plain.float() if plain.is_floating_point() else plain.double()
            return plain.cpu().numpy()
        except (RuntimeError, TypeError, NotImplementedError):  # on no device, nested, fake, of a transform
            return np.broadcast_to(np.float32(np.nan), unknown(tensor)[0])


def numbers_of(tensor: torch.Tensor) -> Any:
    """Return the numbers of a gradient that the user gives.

    Raises:
        TypeError: unless they are floating-point or complex numbers.
    """
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.device.type == "meta":
        raise TypeError(NO_NUMBERS.format(tensor.dtype))
    return array_of(tensor)


class Driver:
    """One PyTorch backward pass, node by node; `begin` starts it, again if needed."""

    def __init__(self, outputs: Sequence[Any], run: Callable[[], Any]) -> None:
        self._run = run  # runs the whole backward
        self._leaves: list[tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]] = []
        self.mirrors: dict[Any, Node] = {}
        self.tensors: dict[int, tuple[torch.Tensor, Tensor]] = {}  # leaves and outputs, with what stands for them
        reals = nodes_behind([node_of(each) for each in outputs])
        self._reals = reals
        self.gives_away = any(_gives_away(real) for real in reals)  # memory that it needs to run again
        places = [place for real in reals for place in real._input_metadata]
        self.has_unknown = any(place.device.type == "meta" or place.is_nested_tensor for place in places)
        for real in reals:
            self.mirrors[real] = self._leaf(real) if real.name() == ACCUMULATE else self._mirror(real)
        for real in reals:
            mirror = self.mirrors[real]
            if isinstance(mirror, Mirror):
                mirror.parents = tuple(
                    [(None if to is None else self.mirrors[to], nr) for to, nr in real.next_functions]
                )
        self._thread: threading.Thread | None = None
        self._task = self._before = -1  # the engine's own numbers of this backward, and of one before it
        self._go, self._here = threading.Semaphore(0), threading.Semaphore(0)
        self._stopping = self._let = self._over = False
        self._at: Any = None  # the real node it is held before, and what came to that
        self._came: tuple[Any, ...] = ()
        self._edited: tuple[Any, ...] | None = None
        self._sent: dict[Any, tuple[Any, ...]] = {}
        self._error: BaseException | None = None
        self.result: Any = None  # what the whole backward has returned

    # The mirror of the graph.

    def _mirror(self, real: Any) -> Mirror:
        mirror = (_mirror_of_function(real._forward_cls) if is_python(real) else Mirror)()
        mirror.real, mirror.driver, mirror.seq, mirror.extra = real, self, real._sequence_nr(), None
        mirror.outputs = max(1, len(real._input_metadata))
        mirror.multi = mirror.outputs > 1
        return mirror

    def _leaf(self, real: Any) -> AccumulateGrad:
        leaf = real.variable
        grad = leaf.grad
        self._leaves.append((leaf, grad, None if grad is None else grad.detach().clone()))
        tensor = wrap(array_of(leaf), True)
        if grad is not None:
            meta_of(tensor).grad = wrap(array_of(grad).copy())
        self.tensors[id(leaf)] = leaf, tensor
        return accumulator(tensor)

    def tensor(self, real: torch.Tensor) -> Tensor | None:
        """Return the mirror of a tensor of this graph; None for any other."""
        known = self.tensors.get(id(real))
        if known is None and real.grad_fn in self.mirrors:
            made = wrap(array_of(real), True)
            made._fn, made._nr = self.mirrors[real.grad_fn], real.output_nr
            known = self.tensors[id(real)] = real, made
        return None if known is None else known[1]

    # The real backward.

    def begin(self) -> None:
        """Run up to the first node."""
        self._stopping = self._let = self._over = False
        self._error, self._edited, self._sent, self._at, self.result = None, None, {}, None, None
        self._go, self._here = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._backward, name="a stepped backward", daemon=True)
        ours.add(self._thread)
        self._thread.start()
        self._here.acquire()

    def _backward(self) -> None:
        handles: list[Any] = []
        try:
            for real in self._reals:
                handles.append(real.register_prehook(lambda grads, real=real: self._hold(real, grads)))
                if real.name() != ACCUMULATE:
                    handles.append(real.register_hook(lambda sent, came, real=real: self._note(real, sent)))
            self._task, self._before = -1, _number_of_a_backward()
            self.result = self._run()
        except BaseException as error:
            if not self._stopping:
                self._error = error
        finally:
            for handle in handles:
                handle.remove()
            self._at, self._over = None, True
            self._here.release()

    def _is_own(self) -> bool:
        """Return True if a hook is called for this backward pass; a device has its own thread.

        Its number is the first after that of the pass that was run to find it.
        """
        number = task_id()
        if self._task == -1 and number > self._before:
            self._task = number
        return number == self._task

    def _hold(self, real: Any, grads: Any) -> Any:
        if not self._is_own():
            return None  # another backward through the same nodes
        self._at, self._came = real, grads
        self._here.release()
        self._go.acquire()
        if self._stopping:
            raise _Stopped
        edited, self._edited = self._edited, None
        return edited

    def _note(self, real: Any, sent: Any) -> None:
        if self._is_own():
            self._sent[real] = sent

    @property
    def leaves(self) -> list[torch.Tensor]:
        """Return the leaves that get gradients."""
        return [leaf for leaf, _, _ in self._leaves]

    def came(self, node: Node) -> tuple[Any, ...]:
        """Return the gradients that this mirror's real node is about to run with, if it is held before that."""
        if self._let or self._real(node) is not self._at:
            return ()
        return tuple([None if each is None else array_of(each) for each in self._came])

    def settle(self, node: Node) -> None:
        """Set the gradient of a leaf's mirror to the leaf's: hooks may have changed it."""
        if type(node) is AccumulateGrad:
            real, own = self._real(node).variable.grad, node.variable.grad
            if real is not None and own is not None and not np.array_equal(array_of(real), own._array, equal_nan=True):
                own._array[...] = array_of(real)

    def take(self, node: Node, edits: dict[int, Any]) -> None:
        """Run this mirror's real node, with other gradients for some outputs; `sent` raises its error."""
        real = self._real(node)
        if not self._let:
            if real is not self._at:
                return  # its gradient is handed to the caller, and it does not run
            if edits:
                new = list(self._came)
                for nr, value in edits.items():
                    old = new[nr]
                    numbers = torch.from_numpy(np.array(getattr(value, "_array", value)))
                    new[nr] = numbers.to(old.dtype).to(old.device) if old is not None else numbers
                self._edited = tuple(new)
            self._at = None
            self._let = True
            self._go.release()
        self._here.acquire()  # an interrupt may come here: whoever asks again waits for the same
        self._let = False

    def sent(self, mirror: Mirror) -> tuple[Any, ...]:
        """Return what a running node sent, or raise its error."""
        sent = self._sent.get(mirror.real)
        if sent is None:
            error, self._error = self._error, None
            raise error if error is not None else RuntimeError(NOT_RUN.format(mirror.name()))
        return tuple([None if each is None else array_of(each).copy() for each in sent])

    def _real(self, node: Node) -> Any:
        if isinstance(node, Mirror):
            return node.real
        return next(real for real, mirror in self.mirrors.items() if mirror is node)

    def again(self, steps: Iterable[tuple[Node, dict[int, Any]]]) -> None:
        """Stop, restore the leaves' gradients, and run these steps again."""
        self.stop()
        for leaf, grad, values in self._leaves:
            if grad is not None and values is not None:
                with torch.no_grad():
                    grad.copy_(values)
            leaf.grad = grad
        self.begin()
        for node, edits in steps:
            self.take(node, edits)

    def stop(self) -> None:
        """End the thread; the leaves keep the gradients so far."""
        thread = self._thread
        if thread is not None and not self._over:
            self._stopping = True
            self._go.release()
            if threading.current_thread() is not thread:
                thread.join(timeout=5)


def _number_of_a_backward() -> int:
    """Return the engine's number for a backward pass run now, in any thread: later ones have larger numbers."""
    found: list[int] = []
    leaf = torch.zeros((), requires_grad=True)
    leaf.register_hook(lambda grad: found.append(task_id()))
    torch.autograd.backward(leaf)
    return found[0]


def _gives_away(node: Any) -> bool:
    """Return True if a compiled part reuses the memory of its saved tensors: its graph can't be kept."""
    of_torch: Any = torch  # its stubs leave this out
    if not kind_of_node(type(node)).is_compiled or not of_torch._functorch.config.donated_buffer:
        return False
    return getattr(getattr(node._forward_cls, "metadata", None), "bw_donated_idxs", []) != []


def node_of(output: Any) -> Any:
    """Return the node that a tensor's gradient arrives at."""
    return (torch.autograd.graph.get_gradient_edge(output) if isinstance(output, torch.Tensor) else output).node
