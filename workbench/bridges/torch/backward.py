"""Recording a PyTorch backward pass, node by node.

The nodes that a backward pass will run get a hook each at its start, and have none at its end. A hook after a node
records what the node received and sent. Nodes with code of a Function, where anything may happen, also have a hook
before that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import torch

from ...events import next_tag
from ...pictures.trace.advised import known_error
from ...pictures.trace.backward_records import GradAccumulated, NodeFinished
from ...pictures.trace.call_records import HookRan
from ...pictures.trace.cuts import Way
from ...pictures.trace.error_frames import can_be
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.hooks import name_of, retained
from ...pictures.trace.schema import value_of
from ...pictures.trace.source import OWN
from ...pictures.trace.stacks import user_frame
from ...pictures.trace.values import Value, read
from .describe import (
    WHOLE,
    AccumulateGrad,
    NodeKind,
    _sequence,
    kept_of,
    kind_of_node,
    maker_of,
    raw_saved,
    version_of,
)
from .operations import OperationRecorder, tensors_in, unobserved, warn_lost

__tracebackhide__ = True  # of what fails in a test, pytest shows no frame of this file

_task_id = torch._C._current_graph_task_id
_UNUSED = "appears to not have been used"  # in what PyTorch says of an input that is in no graph
_LEAF = NodeKind(False, False, ())  # of what takes a leaf's gradient


class Task:
    """A running backward pass."""

    def __init__(self, serial: int, keeps: bool, creates: bool) -> None:
        self.serial, self.keeps, self.creates = serial, keeps, creates
        self.id = -1  # the engine's own number of it, once the first hook has run
        self.roots: list[tuple[int, int, Any]] = []  # place, output, and what was recorded of the gradient
        self.hooks: list[tuple[Any, Any]] = []  # of the recording: those of which node, and its key among them
        self.wrapped: list[_HookOfUser] = []
        self.queue: Queue | None = None  # where it matters when all gradients of a place have come
        self.captures: dict[tuple[int, int], list[int]] = {}  # place and output -> what is wanted of it, by index
        self.captured: dict[int, int] = {}  # index -> where that is recorded
        self.running: int | None = None
        self.retained: int | None = None  # the node whose incoming gradients tensors may retain
        self.last: int | None = None  # that has run


class Queue:
    """What a backward pass still has to run, as far as the nodes that ran show."""

    def __init__(self, roots: list[tuple[int, int, Any]]) -> None:
        self.waiting: dict[int, int] = {}  # place -> gradients still to come
        self.order: dict[int, int] = {}  # place -> its number in the order of creation
        self.next: dict[int, list[tuple[int, int]]] = {}  # node -> where its gradients go: place and output, or -1
        self.came: dict[int, dict[int, Any]] = {}  # place -> by output what was recorded of the gradients that came
        for place, nr, seed in roots:
            self.came.setdefault(place, {})[nr] = seed
        self.ready: dict[int, None] = {}

    def add(self, place: int, number: int, goes: list[tuple[int, int]]) -> None:
        """Add a node or a leaf that can run."""
        self.order[place], self.next[place] = number, goes
        for to, _ in goes:
            if to >= 0:
                self.waiting[to] = self.waiting.get(to, 0) + 1

    def begin(self) -> None:
        """Start, once everything that can run is known."""
        self.ready = dict.fromkeys([place for place in self.came if not self.waiting.get(place)])

    def ran(self, node: int, copies: tuple[Any, ...]) -> list[int]:
        """Note what a node or a leaf sent; return the places that have received everything now."""
        self.ready.pop(node, None)
        complete = []
        for (place, output), copy in zip(self.next.get(node, ()), copies, strict=False):
            if place < 0:
                continue
            came = self.came.setdefault(place, {})
            if copy is not None:
                came[output] = _sum_of(read(came[output])) if came.get(output) is not None else copy
            self.waiting[place] -= 1
            if not self.waiting[place]:
                self.ready[place] = None
                complete.append(place)
        return complete

    def first(self) -> int | None:
        """Return the one that the engine takes next."""
        return max(self.ready, key=lambda place: self.order.get(place, 0), default=None)


class BackwardRecorder(OperationRecorder):
    """A recorder that adds a raw tuple for each event of a backward pass."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._going: list[Task] = []
        self._sent: dict[int, tuple[Any, int, Any]] = {}  # what was recorded of the gradients that a node has just sent
        self.hooks_on_nodes = False  # whether anybody has registered one since the recording began
        self._retaining: dict[int, list[tuple[int, Any]]] = {}  # node -> outputs that keep their gradient
        self.failed: tuple[int, str, Any] | None = None  # a hook that raised: its place and kind, what it was given

    def run_backward(self, inner: Any, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run and record a backward pass."""
        _, keeps, creates, *_ = args
        task = Task(next_tag(), bool(keeps), bool(creates))
        if refused := [each for each in (*outputs, *(args[3] or ())) if not _has_graph(each)]:
            return self.asked(inner, (outputs, *args), kwargs, refused)
        try:
            with unobserved():
                self._start(task, outputs, *args)
        except Exception as error:
            self._remove_hooks(task)
            warn_lost("the beginning of a backward", error)
            return inner(outputs, *args, **kwargs)
        self._going.append(task)
        try:
            found = inner(outputs, *args, **kwargs)
        except BaseException as error:
            self._end(task)
            try:
                with unobserved():
                    self._failed(task, outputs, args[3], error)
            except Exception as problem:
                warn_lost("an error", problem)
            raise
        self._end(task)
        try:
            with unobserved():
                self._finish(task, found)
        except Exception as problem:
            warn_lost("the end of a backward", problem)
        return found

    def _start(self, task: Task, outputs: Any, grads: Any, keep: Any, create: Any, inputs: Any, *more: Any) -> None:
        self._flush_deaths()
        self._sent = {}
        tensors = [each for each in outputs if isinstance(each, torch.Tensor)]
        self._starts = frozenset([self._tag(each) for each in tensors if maker_of(each) is None])
        found: dict[int, tuple[Any, ...]] = {}
        roots = []
        for output, seed in zip(outputs, grads, strict=True):
            roots.append((*self._place_of(output, found), self._copy(seed)))
        task.roots = roots
        targets = None
        if inputs:
            targets = []
            for at, each in enumerate(inputs):
                place, nr = self._place_of(each, found)
                targets.append(place)
                task.captures.setdefault((place, nr), []).append(at)
        self.look_up(user_frame())
        self._tell(found)
        known = self._can_run(outputs)
        if task.captures:
            task.queue = self._queue(task, known)
        self._note_hooks(self._register_hooks(task, known))
        self._wrap_hooks(task)
        stack = self.sampler.stack(3)
        self._note_rewritten(known)
        wanted = None if targets is None else tuple(targets)
        self._put_backward(task.serial, tuple(roots), wanted, task.keeps, task.creates, stack)

    def _note_rewritten(self, known: list[tuple[Any, int]]) -> None:
        """Record writes into what the nodes saved that PyTorch doesn't know of."""
        for node, serial in known:
            if serial in self._marks and (items := raw_saved(node, kind_of_node(type(node)))):
                saved = [
                    (name, thing, version_of(thing))
                    for name, thing, hook in items
                    if hook is None and thing is not None
                ]
                self._put_rewritten(serial, saved)

    def _place_of(self, thing: Any, found: dict[int, Any]) -> tuple[int, int]:
        """Return where the gradient of a tensor or an edge arrives: a node or a leaf, and its output."""
        if not isinstance(thing, torch.Tensor):
            return self._place(thing.node, found), thing.output_nr
        if (made := maker_of(thing)) is not None:
            return self._place(made, found), thing.output_nr
        serial = self._tag(thing)
        return (serial if serial in found else self._describe(thing, found)), 0

    def _register_hooks(self, task: Task, known: list[tuple[Any, int]]) -> dict[int, list[tuple[Any, ...]]]:
        """Put a hook on every node that can run; return the user's current hooks by place."""
        users: dict[int, list[tuple[Any, ...]]] = {}
        everywhere, begin = self.hooks_on_nodes, self._begin
        for node, serial in known:
            if serial in self._hooks:
                users[serial] = []
            is_leaf = type(node) is AccumulateGrad
            kind = _LEAF if is_leaf else kind_of_node(type(node))
            own = _Arrived(self, task, serial, node) if is_leaf else _After(self, task, serial, kind)
            hooks = self._put(task, node.register_hook, own)
            after = [each for each in hooks.items() if _is_users(each[1])] if len(hooks) > 1 else []
            if not (everywhere or is_leaf or after or kind.is_python or node._sequence_nr() < begin):
                continue
            first = _Before(self, task, serial, kind.is_compiled)
            hooks_before = self._put(task, node.register_prehook, first)
            before = [each for each in hooks_before.items() if _is_users(each[1])]
            if not (before or after or kind.is_python):
                task.hooks.pop()
                hooks_before.pop(first, None)
                continue
            for name, found, among in (("before", before, hooks_before), ("after", after, hooks)):
                for key, hook in found:
                    users.setdefault(serial, []).append(self._wrap(task, serial, (name, 0), among, key, hook))
        return users

    def _put(self, task: Task, register: Callable[[Any], Any], hook: Any) -> Any:
        """Put a hook of the recording on a node, and return all hooks there."""
        made = register(hook)
        hooks, key = (made, hook) if type(made) is OrderedDict else (made.hooks_dict_ref(), made.id)
        task.hooks.append((hooks, key))
        return hooks

    def _wrap(self, task: Task, place: int, which: tuple[str, int], hooks: Any, key: int, hook: Any) -> tuple[Any, ...]:
        """Wrap a user's hook so that it reports what it does; return what is recorded of it."""
        told = *which, *name_of(hook)
        if not (isinstance(hook, _HookOfUser) and hook._recorder is self):
            hooks[key] = each = _HookOfUser(self, place, told, hooks, key, hook)
            task.wrapped.append(each)
        return told

    def _wrap_hooks(self, task: Task) -> None:
        """Wrap the user's hooks on tensors so that they report what they do."""
        for place, nr, tensor, hooks in self._with_hooks():
            after = None if tensor is None else tensor._post_accumulate_grad_hooks
            for kind, found in (("tensor", hooks), ("accumulated", after)):
                for key, hook in [each for each in (found or {}).items() if _is_users(each[1])]:
                    self._wrap(task, place, (kind, nr), found, key, hook)

    def _with_hooks(self) -> list[tuple[int, int, torch.Tensor | None, Any]]:
        """Return for each tensor with hooks its place and output, the tensor if it still exists, and the hooks."""
        found = []
        for serial, known in list(self._hooked.items()):
            tensor = known.own()
            if tensor is not None and not self._may_be_stale(tensor):
                self._note_hooked(tensor, serial)
                known = self._hooked[serial]
            hooks = None if known.hooks is None else known.hooks()
            if tensor is None and hooks is None:
                del self._hooked[serial]
            elif known.place is not None and (known.place != serial or serial in self._tensors):
                found.append((known.place, known.output_nr, tensor, hooks))
        return found

    def _remove_hooks(self, task: Task) -> None:
        """Leave only the user's hooks, in their places."""
        for hooks, key in task.hooks:
            hooks.pop(key, None)
        for each in task.wrapped:
            each.remove()

    def _can_run(self, outputs: Any) -> list[tuple[Any, int]]:
        """Return the nodes that a backward pass from these can run, and their numbers."""
        found: dict[Any, int] = {}
        todo = [_node_of(each) for each in outputs]
        key = self._key
        while todo:
            node = todo.pop()
            if node is None or node in found:
                continue
            token = node.metadata.get(key)
            serial = self._serial(node) if token is None else token.serial
            if serial is not None:
                found[node] = serial
                for to, _ in node.next_functions:
                    todo.append(to)
        return list(found.items())

    def _queue(self, task: Task, known: list[tuple[Any, int]]) -> Queue:
        """Return everything that a backward pass has to run, before it starts."""
        queue = Queue(task.roots)
        numbers = dict(known)
        for node, serial in known:
            goes = [(-1 if to is None else numbers.get(to, -1), nr) for to, nr in node.next_functions]
            queue.add(serial, node._sequence_nr(), goes)
        queue.begin()
        return queue

    def _end(self, task: Task) -> None:
        self._remove_hooks(task)
        self.resume()
        if task in self._going:
            del self._going[self._going.index(task) :]

    def _is_on(self, task: Task) -> bool:
        """Return True if a hook is called for this backward pass, not for one inside it."""
        if task.id == -1:
            if not self._going or self._going[-1] is not task:
                return False
            task.id = _task_id()
        return task.id == _task_id()

    def is_in_backward(self) -> bool:
        """Return True if this thread runs a node of a recorded backward pass with a hook that was called."""
        number = _task_id() if self._going else -1
        return number != -1 and any([task.id == number for task in self._going])

    def is_on_now(self) -> bool:
        """Return True if the running code is part of the innermost recorded backward pass."""
        return bool(self._going) and self._is_on(self._going[-1])

    # What hooks tell.

    def starts(self, task: Task, serial: int, grads: Any) -> None:
        """Record that a node is about to run."""
        self._flush_deaths()
        task.running = serial
        if task.creates:
            self._note_nodes_of(grads)
        self._note_retained(task, serial)
        self._put_started(task.serial, serial, self._copies(grads, limit=self._limit_of(serial)))

    def ends(self, task: Task, serial: int, saves: bool, sent: Any, received: Any) -> None:
        """Record that a node ran."""
        if self._dead:
            self._flush_deaths()
        if task.creates:
            self._note_nodes_of(received)
        if task.running != serial:
            if self._retaining:
                self._note_retained(task, serial)
            self._put_started(task.serial, serial, self._copies(received, limit=self._limit_of(serial)))
        if task.creates:
            self._note_nodes_of(sent)
        task.running, task.last = None, serial
        copies = self._copies(sent, True, self._limit_of(serial))
        self._put_finished(task.serial, serial, copies)
        if saves and not task.keeps:
            self._put_freed(serial)
        if task.queue is not None:
            for place in task.queue.ran(serial, copies):
                self._note_captured(task, place)

    def _note_nodes_of(self, grads: Any) -> None:
        """Record the nodes of gradients, if the backward pass records a graph."""
        for grad in grads:
            if grad is not None and (made := maker_of(grad)) is not None and self._token(made) is None:
                self._note_nodes(made, (), [grad], self.sampler.stack(4), 0, self._entry)

    def hook_runs(self, place: int, which: tuple[Any, ...]) -> None:
        """Record that a user's hook is about to run."""
        if which[0] == "before" and self._going:
            self._note_retained(self._going[-1], place)

    def hook_ran(self, place: int, which: tuple[Any, ...], before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        """Record that a user's hook ran."""
        self._sent = {}  # it may have written into what was sent
        if self._going:
            self._put_hook(self._going[-1].serial, place, which, before, after)

    def _note_retained(self, task: Task, serial: int) -> None:
        """Record the gradients that tensors retain when they reach the nodes that computed the tensors."""
        if task.retained == serial:
            return
        task.retained = serial
        self._put_retained(task.serial, serial, self._retaining.get(serial, ()))

    def arrives(self, task: Task, serial: int, leaf: torch.Tensor, received: Any) -> None:
        """Record a leaf's new gradient."""
        self._flush_deaths()
        copies = self._copies(received)
        grad = leaf.grad
        before = self._grads.get(serial)
        self._grads[serial] = id(grad)
        self._versions.pop(serial, None)
        copy, late = None, self._take_late(serial)
        if grad is not None:
            self._hold(leaf, grad)
            first = before == id(None) and received[0] is not None and grad.dtype is received[0].dtype
            if late:  # as it was before these
                copy = value_of(late[0], "before")[0]
                copies = (copy,) if first else copies
            else:
                copy = copies[0] if first else self._copy(grad)
        if task.running != serial:
            self._put_started(task.serial, serial, copies)
        self._put_accumulated(task.serial, serial, copy, late)
        task.running, task.last = None, serial

    def _limit_of(self, serial: int) -> int:
        """Return how many values are stored of a node's gradients."""
        return WHOLE if serial in self._functions else self._limit

    def _copies(self, grads: Any, sent: bool = False, limit: int = 0) -> tuple[Any, ...]:
        """Return what is stored of gradients, without a second copy of one just sent, and if these are sent now."""
        limit = limit or self._limit
        copies: list[Any] = []
        memory = self._sent
        for grad in grads:
            copy = None
            if grad is not None:
                at = id(grad)
                known = memory.get(at)
                whole = limit > self._limit and self._limit < grad.numel() <= limit
                if known is not None and known[0]() is grad and known[1] == version_of(grad) and not whole:
                    copy = known[2]
                else:
                    copy = kept_of(grad, limit)
                    if sent:
                        memory[at] = ref(grad), version_of(grad), copy
            copies.append(copy)
        return tuple(copies)

    def _note_captured(self, task: Task, place: int) -> None:
        """Record that all gradients of a place have arrived, some of which go to the caller."""
        for (at, nr), wanted in task.captures.items():
            if at == place:
                task.captured[wanted[0]] = len(self._raw)
                self._put_captured(task.serial, place, nr, None)

    # The end.

    def _finish(self, task: Task, found: Any) -> None:
        self._flush_deaths()
        for (place, nr), wanted in task.captures.items() if found else ():
            at, end = task.captured.get(wanted[0]), len(self._raw)
            self._note_nodes_of([found[wanted[0]]])
            self._put_captured(task.serial, place, nr, self._copy(found[wanted[0]]))
            if at is not None:  # the place where it was captured
                news = self._raw[end:]
                self._raw[end:] = []
                self._raw[at : at + 1] = news
                later = {index: where + len(news) - 1 for index, where in task.captured.items() if where > at}
                task.captured.update(later)
                self._changed(at)
            self._note_cut_gradient(task, found[wanted[0]])
        self._put_over(task.serial)

    def _note_cut_gradient(self, task: Task, grad: torch.Tensor | None) -> None:
        """Record that a gradient which the caller gets has no graph."""
        if grad is not None and not grad.requires_grad:
            ways = [(0, Way(place, nr, False)) for place, nr, _ in task.roots]
            self._cuts.note("grad", ways, self._tag(grad), "grad")

    def asked(self, run: Callable[..., Any], args: Any, kwargs: dict[str, Any], about: Sequence[Any] = ()) -> Any:
        """Call a function that runs a backward pass; record an early error, and `about` which tensors it is."""
        try:
            return run(*args, **kwargs)
        except Exception as error:
            try:
                with unobserved():
                    if not hasattr(error, "_workbench_failure"):
                        self.look_up(user_frame())
                        self._note_failure(None, None, error, [*about, *tensors_in(args[:1])][:1])
            except Exception as problem:
                warn_lost("an error", problem)
            raise

    def refused(self, error: Exception, given: Any) -> None:
        """Record an operation with these arguments that was refused, if autograd refused it."""
        if hasattr(error, "_workbench_failure") or known_error(words := str(error)) is None:
            return
        try:
            with unobserved():
                self.look_up(user_frame())
                about = [each for each in tensors_in(given) if can_be(words, each)]
                self._note_failure(None, None, error, about[:1])
        except Exception as problem:
            warn_lost("an error", problem)

    def _failed(self, task: Task, outputs: Any, inputs: Any, error: BaseException) -> None:
        self._flush_deaths()
        at, hook, self.failed = task.running, self.failed, None
        if hook is not None:
            at, kind, given = hook
            late = self._take_late(at)
            if kind == "accumulated" or late:
                came = value_of(late[0], "before") if late else given
                if task.running != at:
                    self._put_started(task.serial, at, came)
                self._put_accumulated(task.serial, at, came[0] if came else None, late)
        elif at is None and "returned nan values in its" in str(error):
            at = task.last
        elif at is None:
            queue = self._queue(task, self._can_run(outputs))
            for raw in self._raw:
                if raw[:2] == (NodeFinished, task.serial):
                    queue.ran(*raw[2:])
                elif raw[:2] == (GradAccumulated, task.serial):
                    queue.ran(raw[2], ())
            at = queue.first()
            last = self._raw[-1]
            misfits = last[0] is HookRan and value_of(last, "node") == at and "hook" in str(error)  # what it returned
            if at is not None and not misfits:
                came = queue.came.get(at, {})
                copies = tuple([came.get(nr) for nr in range(max(came, default=0) + 1)])
                self._put_started(task.serial, at, copies)
        self._forget_late(task.serial)
        self.look_up(user_frame())
        about = []
        if _UNUSED in str(error):
            able = dict(self._can_run(outputs))
            about = [each for each in inputs or () if isinstance(each, torch.Tensor) and _node_of(each) not in able]
            at = None
        self._note_failure(task.serial, at, error, about)

    def _note_failure(self, task: int | None, at: int | None, error: BaseException, about: Sequence[Any] = ()) -> None:
        self._put_refused(task, at, error, about)
        if not hasattr(error, "_workbench_failure"):  # otherwise a backward pass inside this one failed
            name = next((value_of(raw, "name") for raw in self._raw if raw[:2] == (NodeCreated, at)), "")
            with suppress(AttributeError):  # of a type that has no room for it
                error._workbench_failure = self, self.count, name.rpartition("::")[2]  # type: ignore[attr-defined]

    # The user's hooks.

    def _note_hooks(self, on_nodes: dict[int, list[tuple[Any, ...]]]) -> None:
        """Record the hooks on tensors and nodes that changed."""
        self._retaining = {}
        kinds: dict[str, dict[int, list[tuple[Any, ...]]]] = {"tensor": {}, "retained": {}, "accumulated": {}}
        for place, nr, tensor, own in self._with_hooks():
            after = None if tensor is None else tensor._post_accumulate_grad_hooks
            for kind, hooks in (("tensor", own), ("accumulated", after)):
                found = [(kind, nr, *name_of(hook)) for hook in (hooks or {}).values() if _is_users(hook)]
                kinds[kind].setdefault(place, []).extend(found)
            if tensor is not None and tensor.retains_grad and place != self._have(tensor):
                kinds["retained"].setdefault(place, []).append(retained(nr))
                self._retaining.setdefault(place, []).append((nr, ref(tensor)))
        looked_at = set(kinds["tensor"])
        for place, before in self._hooks.items():  # those of a node that can't run weren't read
            on_nodes.setdefault(place, [each for each in before if each[0] in ("before", "after")])
            for kind, places in kinds.items():
                if place not in looked_at:
                    places[place] = [each for each in before if each[0] == kind]
        order = (kinds["tensor"], kinds["retained"], on_nodes, kinds["accumulated"])  # in which they run
        all_places = dict.fromkeys([each for places in order for each in places])
        self._put_hooks([(at, tuple([hook for places in order for hook in places.get(at, ())])) for at in all_places])


def _sum_of(one: Value) -> Value:
    """Return what is known of the sum of several gradients."""
    return Value.unknown(one.shape, one.dtype)


def _has_graph(thing: Any) -> bool:
    """Return whether there is a graph, without being recorded; if not, PyTorch refuses a backward pass at once."""
    with torch._C.DisableTorchFunction():
        return has_graph(thing)


def has_graph(thing: Any) -> bool:
    """Return True if a gradient can reach an output or an input of a backward pass; None stands for no input."""
    return not isinstance(thing, torch.Tensor) or thing.requires_grad


def _node_of(thing: Any) -> Any:
    """Return the node that a gradient arrives at."""
    return (torch.autograd.graph.get_gradient_edge(thing) if isinstance(thing, torch.Tensor) else thing).node


class _HookOfUser:
    """A wrapper that replaces a user's hook on a tensor or a node during a backward pass."""

    __slots__ = ("_recorder", "_place", "_which", "_hooks", "_key", "_hook")

    def __init__(
        self, recorder: BackwardRecorder, place: int, which: tuple[Any, ...], hooks: Any, key: int, hook: Any
    ) -> None:
        self._recorder, self._place, self._which = recorder, place, which
        self._hooks, self._key, self._hook = hooks, key, hook

    def __getattr__(self, name: str) -> Any:
        """Return the hook's attributes, because PyTorch's errors contain its name."""
        return getattr(self._hook, name)

    def __call__(self, *given: Any) -> Any:
        recorder = self._recorder
        if not recorder.is_on_now():  # a backward pass in another thread
            return self._hook(*given)
        before = self._copies(given[0], True)
        recorder.hooks_of = self._place
        try:
            returned = self._hook(*given)
        except BaseException:
            recorder.failed = self._place, self._which[0], before
            raise
        finally:
            recorder.hooks_of = None
        replaced = isinstance(returned, torch.Tensor) or (type(returned) is tuple and len(returned) == len(before))
        after = self._copies(returned if replaced else given[0], False)
        try:
            recorder.hook_ran(self._place, self._which, before, after)
        except Exception as error:
            warn_lost("a hook", error)
        return returned

    def _copies(self, given: Any, first: bool) -> tuple[Any, ...]:
        """Return what is recorded of a hook's arguments: gradients, or the leaf that has one."""
        recorder, kind = self._recorder, self._which[0]
        try:
            with unobserved():
                if first:
                    recorder.hook_runs(self._place, self._which)
                if kind == "accumulated":
                    given = given.grad
                return tuple([recorder._copy(each) for each in (given if type(given) is tuple else (given,))])
        except Exception as error:
            warn_lost("a hook", error)
            return ()

    def remove(self) -> None:
        """Put the user's hook back, unless it was removed."""
        if self._hooks.get(self._key) is self:
            self._hooks[self._key] = self._hook


def _is_users(hook: Any) -> bool:
    """Return True unless a hook belongs to a recording or a stepper."""
    if isinstance(hook, _OwnHook):
        return False
    code = getattr(hook, "__code__", None)
    return code is None or not code.co_filename.startswith(OWN)


class _OwnHook:
    """A hook of a recording."""

    __slots__ = ()


class _Before(_OwnHook):
    """A hook before a node."""

    __slots__ = ("_recorder", "_task", "_serial", "_suspends")

    def __init__(self, recorder: BackwardRecorder, task: Task, serial: int, suspends: bool) -> None:
        self._recorder, self._task, self._serial, self._suspends = recorder, task, serial, suspends

    def __call__(self, grads: Any) -> None:
        try:
            if self._recorder._is_on(self._task):
                with unobserved():
                    self._recorder.starts(self._task, self._serial, grads)
                if self._suspends:
                    self._recorder.suspend()
        except Exception as error:
            warn_lost("the start of a node", error)


class _After(_OwnHook):
    """A hook after a node."""

    __slots__ = ("_recorder", "_task", "_serial", "_kind")

    def __init__(self, recorder: BackwardRecorder, task: Task, serial: int, kind: NodeKind) -> None:
        self._recorder, self._task, self._serial, self._kind = recorder, task, serial, kind

    def __call__(self, sent: Any, received: Any) -> None:
        recorder, task, kind = self._recorder, self._task, self._kind
        try:
            if task.id == _task_id() or recorder._is_on(task):
                if kind.is_compiled:
                    recorder.resume()
                with unobserved():
                    recorder.ends(task, self._serial, bool(kind.saves), sent, received)
        except Exception as error:
            warn_lost("the end of a node", error)


class _Arrived(_OwnHook):
    """A hook after a gradient was added to a leaf's."""

    __slots__ = ("_recorder", "_task", "_serial", "_leaf")

    def __init__(self, recorder: BackwardRecorder, task: Task, serial: int, node: Any) -> None:
        self._recorder, self._task, self._serial, self._leaf = recorder, task, serial, ref(node.variable)

    def __call__(self, sent: Any, received: Any) -> None:
        try:
            leaf = self._leaf()
            if leaf is not None and self._recorder._is_on(self._task):
                with unobserved():
                    self._recorder.arrives(self._task, self._serial, leaf, received)
        except Exception as error:
            warn_lost("a leaf's gradient", error)


class Wrappers:
    """Wrappers of `Function.apply` and of every start of a backward pass that notify a recorder.

    `remove` removes them.
    """

    def __init__(self, recorder: BackwardRecorder, mode: Any) -> None:
        places: tuple[Any, ...] = torch.autograd.Function, torch.autograd, torch.autograd.graph
        function, autograd, graph = places
        self._apply = function.__dict__["apply"]
        self._had = function.__dict__.get("_register_hook")
        register_hook = function._register_hook
        self._run = graph._engine_run_backward

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder.hears():
                return self._apply.__get__(None, cls)(*args, **kwargs)
            since = _sequence()
            try:
                out = self._apply.__get__(None, cls)(*args, **kwargs)
            except Exception as error:
                recorder.refused(error, [args, *kwargs.values()])
                raise
            try:
                with unobserved():
                    recorder.applied((*args, *kwargs.values()), out, since)
            except Exception as error:
                warn_lost(f"a call of {cls.__name__}", error)
            return out

        def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder.hears_backward():
                return self._run(outputs, *args, **kwargs)
            if mode in torch.overrides._get_current_function_mode_stack():
                return recorder.run_backward(self._run, outputs, args, kwargs)
            with mode:  # `loss.backward()` is an operation itself, inside of which nothing would be recorded
                return recorder.run_backward(self._run, outputs, args, kwargs)

        def register(hooks: Any, hook: Any) -> Any:
            """Register a hook among those of a node."""
            if not isinstance(hook, _OwnHook):
                recorder.hooks_on_nodes = True
                return register_hook(hooks, hook)
            hooks = OrderedDict() if hooks is None else hooks  # a handle takes more time than all else
            hooks[hook] = hook
            return hooks, hooks

        function.apply = classmethod(apply)
        function._register_hook = staticmethod(register)
        self._own = run
        autograd._engine_run_backward = graph._engine_run_backward = run

    def remove(self) -> None:
        """Restore the originals, unless other code has replaced the wrappers since."""
        function: Any = torch.autograd.Function
        function.apply = self._apply
        if self._had is None:
            del function._register_hook
        else:
            function._register_hook = self._had
        places: tuple[Any, ...] = (torch.autograd, torch.autograd.graph)
        for place in places:
            if place._engine_run_backward is self._own:
                place._engine_run_backward = self._run
