"""The recorder of the engine's events: what it stores of each one.

It keeps small tuples, which `Reader` turns into records: creating records at once would cost ten times as much.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...events import SCHEMA, next_tag, tag
from .call_records import LevelLeft
from .forward_records import NodeCreated, OperationRan, TangentPushed
from .hook_describer import HookDescriber
from .memory_records import CheckpointDropped, CheckpointKept
from .module_names import ModuleNames
from .names import named_in
from .schema import Raw, replaced, value_of
from .stacks import Stack, called_modules, spot_of, user_frame, user_line
from .values import LIMIT
from .workbench_engine import grad_of, is_tensor, maker_of, version_of, zeros_of


class EventRecorder(HookDescriber):
    """Listen to the engine's events, and add a raw event for each."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._tasks: set[int] = set()
        self._going: list[weakref.ref[Any]] = []  # the tasks that are not over
        self._open: list[int] = []  # the levels in force, as far as they were heard to begin
        self._pushing: list[tuple[int, int | None]] = []  # the numbers of levels where tangents are being computed
        self._running = False  # whether a node is
        self._repeating = 0  # checkpoints that are run again
        self._again: list[Any] = []  # what they have kept: two nodes may save the same, which no node of the graph made
        self._outermost = ModuleNames(is_tensor, tag, self._names)
        self._met_calls: set[int] = set()  # of modules: the last of an outermost one, and those in it
        # The values recorded for arrays that a node has just sent. No user code runs before they arrive, so they
        # needn't be summarized again. The same for an array that is about to become a leaf's gradient.
        self._sent: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._arrived: Any = None

    # One method for each event; its arguments are the fields that the schema gives it.

    def on_created(self, node: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        if self._repeating:  # it is in no graph: what it saves is taken from it
            return
        if self._open:
            self._learn_names()
        found: dict[int, tuple[Any, ...]] = {}
        edges = self._edges(node.next_functions, found)
        given: list[Any] = []
        tensors: list[Any] = []
        for arg in args:
            self._note(arg, given, tensors, found)
        own, kind = self._know(node), node.__class__
        for nr, output in enumerate(outputs):
            if maker_of(output) is not node:
                self._unlinked[tag(output)] = (own, nr)
            self._describe(output, found)
        tensors += outputs
        saved = self._saved(node, tensors, found)
        attributes = zeros = ()
        if hasattr(kind, "_forward_cls"):  # the class answers sooner than the node
            attributes, zeros = self._attributes(node, found), zeros_of(node)
        pushing = self._pushing[-1][1] if self._pushing else None
        if (scope := None if node.extra is None else node.extra.scope) is not None:
            self._meet_module(scope)
        name, args, stack = node.name(), tuple(given), self.sampler.stack()
        self._put_node(own, name, kind, False, edges, args, found, saved, stack, scope, 1, attributes, zeros, pushing)

    def _meet_module(self, scope: Any) -> None:
        """Learn the names of what the outermost module holds that is being called, once in each of its calls.

        One inside, known by its class only, is registered in none: it may be in a list that is an attribute.
        """
        known, calls, met = self._met_calls, list[Any](), True  # the calls from inside
        while scope is not None:
            if scope.kind:
                calls.append(scope)
                met = met and (scope.serial in known or scope.name != scope.kind)
            scope = scope.outer
        if not calls or (met and calls[-1].serial in known):
            return
        if calls[-1].serial not in known:
            known.clear()
        for at, module in reversed([*enumerate(called_modules()[: len(calls)])]):
            call = calls[at]
            apart = call is calls[-1] or (call.name == call.kind and type(module).__name__ == call.kind)
            if apart and call.serial not in known:
                self._outermost.called(module, self.sampler.frames)
        known.update([call.serial for call in calls])

    def on_returned(self, module: Any, grad: bool) -> None:
        if not (self._running or self._open or self._pushing or self._repeating):
            self._tell_called(module, grad)

    def on_stepping(self, optimizer: Any) -> None:
        if not (self._running or self._open or self._pushing or self._repeating):
            self._begin_step(optimizer)

    def on_stepped(self, optimizer: Any) -> None:
        self._end_step()

    def on_backward(self, task: Any) -> None:
        self._sent, self._arrived = {}, None
        self._starts = frozenset([tag(leaf) for node, _ in task.roots if (leaf := self._leaf(node)) is not None])
        found: dict[int, tuple[Any, ...]] = {}
        roots = tuple(
            (self._place(node, found), nr, self._copy(seed))
            for (node, nr), seed in zip(task.roots, task.seeds, strict=True)
        )
        targets = getattr(task, "targets", None)
        if targets is not None:
            targets = tuple(self._place(node, found) for node, _ in targets)
        frame = user_frame()
        if frame is not None:
            self._learn(named_in(frame))
            self._read(frame)
        self._learn([("seed", seed) for seed in task.seeds if task.create_graph and is_tensor(seed)])
        self._tell(found)
        self._meet(getattr(task, "_waiting", ()))
        keep, create, stack = task.keep_graph, task.create_graph, self.sampler.stack()
        self._put_backward(tag(task), roots, targets, keep, create, stack)
        self._tasks.add(task._tag)
        self._going.append(weakref.ref(task))

    def on_run(self, task: Any, node: Any, grads: Any) -> None:
        self._running = True
        extra = node.extra
        if extra is not None and (extra.retainers or extra.tensor_hooks or extra.pre_hooks):
            self._retain(task, node)
            self._retaining = None
            if extra.tensor_hooks or extra.pre_hooks:
                self._sent = {}
        copies = self._copies(grads, self._sent) if grads else ()
        serial = getattr(node, "_tag", None)  # that of a leaf's node, which comes and goes, is not asked for
        if serial not in self._nodes:
            variable = getattr(node, "variable", None)
            serial = tag(node if variable is None else variable)
            if variable is not None:
                self._arrive(variable, grads, copies)
        if serial in self._marks:
            now = [(name, it, version_of(it) if is_tensor(it) else then) for name, it, then in node.saved_items()]
            self._put_rewritten(serial, now, lambda: _is_stale(node))
        self._put_started(task._tag, serial, copies)

    def on_ran(self, task: Any, node: Any, grads: Any) -> None:
        self._running = False
        # What an operation hands on as it came is not summed up again, unless code of the user's may have written it.
        users = hasattr(node.__class__, "_forward_cls") or (node.extra is not None and node.extra.post_hooks)
        copies = self._copies(grads, None if users else self._sent)
        self._sent = sent = {}
        for grad, copy in zip(grads, copies, strict=True):
            if type(copy) is tuple and type(grad) is np.ndarray:
                sent[id(grad)] = weakref.ref(grad), copy
        self._put_finished(task._tag, node._tag, copies)

    def _arrive(self, leaf: Any, grads: Any, copies: tuple[Any, ...]) -> None:
        """Record what arrives at a leaf, which is its `.grad` afterward if it has none yet."""
        meta = leaf._meta
        if leaf.grad is not None or meta is not None and meta.post_accumulate:
            self._sent = {}  # written in place, or by a hook
        elif copies and type(copies[0]) is tuple and grads[0].dtype == leaf._array.dtype:
            self._arrived = copies[0]

    def on_freed(self, node: Any) -> None:
        if tag(node) in self._nodes:
            self._marks.pop(node._tag, None)
            self._put_freed(node._tag)

    def on_accumulated(self, task: Any, node: Any, variable: Any) -> None:
        grad = variable.grad
        self._hold(variable)
        copy = self._arrived if self._arrived is not None and grad is not None else self._copy(grad)
        self._arrived = None
        self._put_accumulated(tag(task), variable._tag, copy, self._take_late(variable._tag))

    def on_regraded(self, tensor: Any) -> None:
        self._put_grad(tensor)

    def on_captured(self, task: Any, node: Any, output_nr: int, grad: Any) -> None:
        self._put_captured(tag(task), self._serial(node), output_nr, self._copy(grad))

    def on_finished(self, task: Any) -> None:
        self._end(task)
        self._put_over(tag(task))

    def _end(self, task: Any) -> None:
        self._running = False
        self._going = [each for each in self._going if each() not in (task, None)]
        if task is not None:
            self.forget(task)

    def on_unrecorded(self, name: str, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        # Gradients themselves, and what transforms look into, are no data that a gradient would come back from.
        if not (self._running or self._open or self._pushing or self._repeating):
            super().on_unrecorded(name, args, outputs)

    def on_wrote(self, tensor: Any, name: str, node: Any = None) -> None:
        if node is not None:
            self._correct(tensor, node)
        self._put_write(tensor, name)

    def on_failed(self, task: Any, node: Any, error: BaseException, tensors: tuple[Any, ...] = ()) -> None:
        if hasattr(node, "variable") and self._is_after(task, node):
            self.on_accumulated(task, node, node.variable)
        self._end(task)
        self.look_up(user_frame())
        serial = None if node is None else self._serial(node)
        if serial not in self._nodes and serial not in self._tensors:
            serial = None
        heard = None if task is None or tag(task) not in self._tasks else task._tag
        about = [each for each in tensors[:1] if is_tensor(each)] if heard is None and serial is None else []
        self._put_refused(heard, serial, error, about)

    # What checkpoints keep, and let go.

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

    # What an in-place write changes in earlier records: whose result its node saved, whose history.

    def _correct(self, written: Any, node: Any) -> None:
        """Correct the node that recorded a write: its result is the written tensor, its input the earlier one."""
        serial = tag(node)
        places = range(len(self._raw) - 1, -1, -1) if serial in self._nodes and not self._repeating else ()
        for at in places:
            created = self._raw[at]
            if created[:2] == (NodeCreated, serial):
                break
        else:
            return
        if tag(written) not in self._tensors and (given := _tensors_given(created)):
            now: dict[int, tuple[Any, ...]] = {}
            self._describe(written, now)
            seen = value_of(created, "tensors")
            was = next((each for each in seen if each[0] == given[0]), None)
            if was is not None:
                version = version_of(written) - 1
                before = (written._tag, was[1], version, *was[3:6], *now.pop(written._tag)[6:])
                created = replaced(created, tensors=(*now.values(), before, *seen))
        if getattr(node, "keeps_result", False) and written._tag in self._tensors:
            own = {each[0]: each for each in self._saved_of(node, written, {}) if each[1] == written._tag}
            created = replaced(created, saved=tuple([own.get(each[0], each) for each in value_of(created, "saved")]))
        self._raw[at] = created
        self._changed(at)

    def _put_grad(self, tensor: Any, name: str = "", stack: Stack | None = None) -> None:
        # What a hook after its accumulation does is recorded with that.
        if self._is_known(tag(tensor)) and not any([of == tensor._tag for *_, of in self._given.values()]):
            if tensor._tag not in self._tensors:  # an earlier chapter has told of it
                found: dict[int, tuple[Any, ...]] = {}
                self._describe(tensor, found)
                self._tell(found)
            self._hold(tensor)
            grad = self._copy(grad_of(tensor))
            self._put_grad_changed(tensor._tag, grad, name, stack or self.sampler.stack())

    def _saved_of(self, node: Any, written: Any, found: dict[int, Any]) -> list[tuple[Any, ...]]:
        """Return what a node saved, with the values of written tensors, which are recorded only after the write."""
        saved = self._saved(node, [written], found)
        return [
            (name, own, self._copy(written), *more) if own == written._tag else (name, own, copy, *more)
            for name, own, copy, *more in saved
        ]

    def _slices(self, written: Any, found: dict[int, Any], stack: Stack) -> int | None:
        base = None if written._meta is None else written._meta.base
        slices = None if base is None else maker_of(base)
        inner = getattr(slices, "fn", None)
        if slices is None or not hasattr(inner, "saved_items") or tag(slices) in self._nodes:
            return None
        known = self._is_known(tag(base))
        if not known and tag(inner) not in self._nodes:
            return None
        self._know(slices)
        edges = self._edges(slices.next_functions, found)
        if not known:  # a constant until now: the written tensor is recorded again, as a view of it
            self._describe(base, found)
            self._describe(written, found)
        saved = tuple(self._saved_of(slices, written, found))
        runs = tag(inner) if tag(inner) in self._nodes else None
        self._put_found(slices, edges, saved, found, stack, runs)
        return tag(slices)

    # Function transforms.

    def on_entered(self, level: Any) -> None:
        if not self._pushing:
            self._open.append(self._level(level, True, user_line()))

    def on_left(self, level: Any) -> None:
        serial = tag(level)
        if serial in self._open:
            self._open.remove(serial)
            self._raw.append((LevelLeft, serial))
        while self._pushing and self._pushing[-1][0] >= level.number:  # an error may have ended that
            self._pushing.pop()

    def on_pushing(self, op: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], level: Any) -> None:
        number = 0 if level is None else level.number
        while self._pushing and self._pushing[-1][0] <= number:  # an error ended it: within it, all is further down
            self._pushing.pop()
        if not self._pushing:
            self._operation(op, args, outputs)
        self._pushing.append((number, 0 if level is None else self._level(level)))

    def on_pushed(
        self, op: Any, outputs: tuple[Any, ...], tangents: Any, operands: Any, moved: Any, level: Any
    ) -> None:
        if self._pushing:
            self._pushing.pop()
        if self._pushing:  # tangents of what computes tangents
            return
        found: dict[int, tuple[Any, ...]] = {}
        pushed: list[Any] = []
        for output, tangent in zip(outputs, tangents, strict=True):
            if tangent is not None and is_tensor(output):
                maker = tangent.grad_fn
                maker = None if maker is None or tag(maker) not in self._nodes else tag(maker)
                if tag(output) not in self._tensors:
                    self._describe(output, found)
                pushed.append((tag(output), self._copy(tangent), maker))
        taken: list[Any] = []
        for operand, tangent in zip(operands, moved, strict=True):
            if tangent is not None:
                if tag(operand) not in self._tensors:
                    self._describe(operand, found)
                taken.append((tag(operand), self._copy(tangent)))
        if pushed:
            own = None if level is None else self._level(level)
            self._raw.append((TangentPushed, op, own, tuple(found.values()), tuple(pushed), tuple(taken)))

    def on_batched(self, op: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], level: Any) -> None:
        self._level(level)
        if not self._pushing and not self._running:
            self._operation(op, args, outputs)

    def _operation(self, op: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Record an operation, unless a node shows it."""
        outputs = tuple([output for output in outputs if is_tensor(output)])
        self._learn_names()
        if not outputs or any(self._has_node(output) for output in outputs):
            return
        found: dict[int, tuple[Any, ...]] = {}
        given: list[Any] = []
        for arg in args:
            self._note(arg, given, [], found)
        serial = next_tag()
        for output in outputs:
            self._describe(output, found)
        tensors, results = tuple(found.values()), tuple(output._tag for output in outputs)
        self._raw.append((OperationRan, serial, op, tuple(given), tensors, results, spot_of(user_frame())))

    def _has_node(self, tensor: Any) -> bool:
        """Return True if a tensor, or what it stands for, is the output of a node."""
        while tensor is not None:
            maker = maker_of(tensor)
            if maker is not None and tag(maker) in self._nodes:
                return True
            tensor = getattr(tensor, "_value", None)
        return False


# Of the class, not of each recorder: that would hold itself by them, and stay until the collector comes.
HEAR: dict[str, Callable[..., None]] = {kind: getattr(EventRecorder, f"on_{kind}") for kind in SCHEMA}


def _is_stale(node: Any) -> bool:
    """Return True if the engine knows of a write into what a node saved, or if hooks of the user's would tell."""
    if any(hasattr(each, "hook") for _, each, _ in node.saved_items()):
        return True
    try:
        getattr(node, "fn", node).check_saved()  # of a write through a view, that of the operation
    except RuntimeError:
        return True
    return False


def _tensors_given(created: Raw) -> list[int]:
    """Return the tensors that a node's operation was called with."""
    return [arg[0] for arg in value_of(created, "args") if arg.__class__ is tuple]
