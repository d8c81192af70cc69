"""Recording what a PyTorch program computes: operations, writes, calls of modules and of Functions.

By default it only observes. A TorchFunctionMode sees calls from Python, and the graph of each result is walked to find
what an operation created inside. Global module hooks report calls of modules. A wrapper replaces `Function.apply`,
which nothing reports, and another one the call of parts that `torch.compile` compiled. All of it is removed after the
`with`.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as modules
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.hooks import RemovableHandle

from ...autograd.scopes import Entry, place, settings_of
from ...events import next_tag
from ...pictures.trace.call_records import OperationsUnseen
from ...pictures.trace.cuts import NUMBERS, REPLACES, Way, makes_others, switched_off
from ...pictures.trace.forward_records import COMPILED
from ...pictures.trace.identity import ByIdentity, named_parts
from ...pictures.trace.module_names import ModuleNames
from ...pictures.trace.stacks import Stack
from .. import LOST
from .describe import (
    TorchDescriber,
    _functorch,
    _sequence,
    is_leaf,
    is_python,
    is_tensor,
    maker_of,
    memory_of,
    version_of,
)
from .threads import Turns
from .versions import COMPILED_CALLS

__tracebackhide__ = True  # of what fails in a test, pytest shows no frame of this file

_level, _innermost = _functorch.maybe_current_level, _functorch.peek_interpreter_stack

_READ = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))  # attributes that are tensors of their own
_SHARE = frozenset(("detach", "data", "detach_"))
_HOOKS = frozenset(("register_hook", "register_post_accumulate_grad_hook", "retain_grad"))
_QUIET = frozenset(  # they give no tensor of the graph and write none
    "size dim stride numel is_contiguous element_size data_ptr is_floating_point is_complex type "
    "storage_offset untyped_storage __repr__ __len__ __hash__ "
    "is_same_size _set_grad_enabled".split()
)
_EVAL_FRAME = "torch._dynamo.eval_frame"


def warn_lost(what: str, error: Exception) -> None:
    """Warn that an error of this package cost an event; never raise."""
    try:
        warnings.warn(LOST.format(what, type(error).__name__, error), RuntimeWarning, stacklevel=2)
    except Exception:  # where warnings are errors: the program is not to know
        pass


class _Unobserved:
    """A block in which the recorder itself reads tensors, unseen by any mode."""

    def __init__(self) -> None:
        self._guards = torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch()

    def __enter__(self) -> None:
        for each in self._guards:
            each.__enter__()

    def __exit__(self, *exc: Any) -> None:
        for each in reversed(self._guards):
            each.__exit__(*exc)


def unobserved() -> Any:
    """Return such a block; without a dispatch mode, the part of it that is needed."""
    return _Unobserved() if torch._C._len_torch_dispatch_stack() else torch._C.DisableTorchFunction()


class OperationRecorder(TorchDescriber):
    """A recorder that adds a raw tuple for each operation, write and new gradient."""

    asked: Callable[[Any, Any, dict[str, Any]], Any]  # calls a function that runs a backward pass
    refused: Callable[[Exception, Any], None]  # records the error of an operation, with its arguments
    _news_come: Callable[[], None]  # something is about to be recorded
    suspend: Callable[[], None]  # nothing of the recording is there until `resume`
    resume: Callable[[], None]

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._thread = threading.get_ident()
        self._turns: Turns | None = None  # while the recording goes on
        self._calls: list[tuple[Any, Entry | None]] = []  # the modules being called, and the entry before each
        self._module_names: ByIdentity[dict[int, str]] = ByIdentity()
        self._outermost = ModuleNames(is_tensor, self._tag, self._names)
        self.hooks_of: int | None = None  # the leaf or node whose hook is being called

    def hears(self) -> bool:
        """Return True if this thread's events are part of the recording."""
        turns = self._turns
        return turns is not None and (self.is_in_backward() or turns.hears())

    def hears_backward(self) -> bool:
        """Return True if a backward pass that starts now is part of the recording."""
        turns = self._turns
        return turns is not None and (self.is_in_backward() or turns.hears_backward())

    def is_in_backward(self) -> bool:
        """Return True if this thread runs a node of a recorded backward pass; a device has its own thread."""
        return False

    # Operations.

    def before(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        """Return a tensor that may be modified, its version, and its origin."""
        version = version_of(tensor)
        if not self._is_recorded(tensor):
            return tensor, version
        made = maker_of(tensor)
        token = None if made is None else self._token(made)
        return tensor, version, tensor.requires_grad, None if token is None else token.serial, tensor.output_nr

    def ran(self, name: str, args: Any, kwargs: Any, out: Any, since: int, before: list[tuple[Any, ...]]) -> None:
        """Record the nodes that an operation created, and what it modified."""
        outs = tensors_in(out)
        if not before and not self._calls:
            self._news_come()
        if name in _SHARE and outs and isinstance(args[0], torch.Tensor):
            self._share(outs[0], args[0])
        written = _first_of_each_memory([each for each in before if version_of(each[0]) != each[1]])
        if name == _UNSCALES:
            written = before[: len(args[0])]
        outs += [each for each, *_ in written if not any(each is other for other in outs)]  # `y[i] = ...` returns none
        new = []
        key = self._key
        for each in outs:
            made = maker_of(each)
            if made is not None and made not in new and key not in made.metadata:
                new.append(made)
        self._note_cuts(name, [args, kwargs], outs, before)
        if not new and not written:
            return
        self._flush_deaths()
        stack = self.sampler.stack(3)
        given = (*args, *[each for each in kwargs.values() if each is not None]) if kwargs else args
        for tensor, was, *made in written:  # as it was told of before, it is an argument
            serial = self._have(tensor)
            known = self._values.get(serial or 0)
            if new and serial in self._tensors and known is not None and known[0] == was:
                self._before[serial] = was, known[1], *made
        wrote = {id(tensor) for tensor, *_ in written}
        results = [each for each in outs if id(each) not in wrote]
        for made in new:
            own = results if len(new) == 1 else [each for each in results if maker_of(each) is made]
            wrote_into = [each for each in outs if id(each) in wrote and maker_of(each) is made]
            self._note_nodes(made, given, own, stack, since, self._entry, written=wrote_into)
        self._before = {}
        for tensor, *_ in written:
            self._put_write(tensor, name, stack)

    def _note_cuts(self, name: str, given: Any, outs: list[torch.Tensor], before: list[tuple[Any, ...]]) -> None:
        """Record where gradient paths end: at results that don't require grad, though an argument does."""
        cut = [each for each in outs if not each.requires_grad]
        for tensor, *_ in before:  # a view through which its base is written
            if tensor._base is not None and not tensor._base.requires_grad and any(tensor is each for each in cut):
                cut.append(tensor._base)
        if not cut:
            return
        was = {id(tensor): Way(node, nr, node is None) for tensor, _, needs, node, nr in _recorded_of(before) if needs}
        ways: list[tuple[int, Way | None]] = []
        for each in tensors_in(given):
            if id(each) in was and not each.requires_grad:
                ways.append((0, was[id(each)]))
            elif each.requires_grad or self._have(each) in self._cuts.known:
                base = each._base  # of a view that was made without gradients the way is its base's
                ways.append((self._tag(each), self._way(each if base is None or maker_of(each) else base)))
        if name in REPLACES and cut[0]._base is None:
            self._cuts.known.pop(self._tag(cut[0]), None)
            return
        if not ways or makes_others(name):
            return
        for each in cut:
            number = each.is_floating_point() or each.is_complex()
            if number and len(cut) < len(outs) and torch.is_grad_enabled():
                continue  # computed of what takes no gradient, as one of several that were broadcast
            word = str(each.dtype).removeprefix("torch.")
            self._cuts.note(name if name in _SHARE else _ending(name) if number else word, ways, self._tag(each), name)

    def _is_off(self) -> bool:
        return not torch.is_grad_enabled()

    def number_read(self, name: str, tensor: torch.Tensor) -> None:
        """Record that a number was read from a tensor: results computed from it have no history."""
        if tensor.requires_grad or self._have(tensor) in self._cuts.known:
            self._cuts.note(NUMBERS[name], [(self._tag(tensor), self._way(tensor))], None)
            self._tell_read(tensor)

    def not_seen(self) -> None:
        """Count an operation inside function transforms without a node: a transform computes its derivative."""
        kind = str(_innermost().key()).rpartition(".")[2].lower()
        if kind not in ("vmap", "jvp"):
            return
        if self._raw and self._raw[-1][:2] == (OperationsUnseen, kind):
            self._raw[-1] = OperationsUnseen, kind, self._raw[-1][2] + 1
            self._changed(len(self._raw) - 1)
        else:
            self._raw.append((OperationsUnseen, kind, 1))

    def _share(self, tensor: torch.Tensor, source: torch.Tensor) -> None:
        serial, of = self._tag(tensor), self._tag(source)
        if serial != of:
            base = source._base
            self._note_sharer(tensor, serial)
            self._note_sharer(source, of)
            self._detached[serial] = of if base is None or not self._is_recorded(base) else self._tag(base)

    def _put_write(self, tensor: torch.Tensor, name: str, stack: Stack | None = None) -> None:
        super()._put_write(tensor, name, stack)
        serial = self._tag(tensor)
        if serial in self._tensors and is_leaf(tensor):
            self._versions.pop(serial, None)  # it is recorded again as an argument
        elif serial in self._tensors:
            self._versions[serial] = version_of(tensor)

    def _is_part(self, tensor: torch.Tensor) -> bool:
        made = maker_of(tensor) is not None or self._base(tensor, self._tag(tensor)) is not None
        return made or self._is_known(self._have(tensor) or 0) or bool(self._sharing(tensor))

    def _slices(self, written: torch.Tensor, found: dict[int, Any], stack: Stack) -> int | None:
        made = None if written._base is None else maker_of(written._base)
        return self._number(made) if made is not None and made.name().endswith("CopySlices") else None

    def _describe_others(self, written: torch.Tensor, found: dict[int, Any], stack: Stack) -> None:
        for other in self._sharing(written):
            self._values.pop(self._tag(other), None)  # written through `.data`, it has the same version
            self._last_marks.pop(self._tag(other), None)
            if other._base is not None:
                self._describe_view(other, found)
                continue
            if (made := maker_of(other)) is not None and self._token(made) is None:
                self._note_nodes(made, (), [], stack, 1 << 64, self._entry, False)
            self._describe(other, found)

    def _sharing(self, written: torch.Tensor) -> list[torch.Tensor]:
        """Return the other known tensors that share the modified memory."""
        others = []
        for serial, own in list(self._sharers.items()):
            if (other := own()) is None:
                del self._sharers[serial]
            elif other is not written and self._is_recorded(other):
                others.append(other)
        if not others:
            return []
        memory = memory_of(written)
        return [each for each in others if memory is not None and memory_of(each) == memory]

    # Gradients.

    def hooked(self, tensor: torch.Tensor) -> None:
        """Record that a hook was registered on a tensor."""
        self._note_hooked(tensor, self._tag(tensor))

    def grad_set(self, tensor: torch.Tensor) -> None:
        """Record that a tensor's `.grad` was set, unless reading it would make PyTorch warn."""
        if (tensor.is_leaf or tensor.retains_grad) and self._is_known(self._have(tensor) or 0):
            self._flush_deaths()
            self._put_grad(tensor, "", self.sampler.stack(3))

    def data_set(self, tensor: torch.Tensor, memory: int) -> None:
        """Record new memory of a tensor, as in `p.data = p.data - g`; `p.data -= g` is recorded as a write."""
        if tensor.data_ptr() != memory and self._is_known(serial := self._have(tensor) or 0):
            self._flush_deaths()
            self._values.pop(serial, None)  # it has the same version
            self._put_write(tensor, "data", self.sampler.stack(3))

    def _put_grad(self, tensor: torch.Tensor, name: str = "", stack: Stack | None = None) -> None:
        serial, grad = self._tag(tensor), tensor.grad
        if serial not in self._tensors:  # an earlier chapter has told of it
            found: dict[int, tuple[Any, ...]] = {}
            self._describe(tensor, found)
            self._tell(found)
            self._grads.pop(serial)
        if self._grads.get(serial) == id(None) and grad is None:
            return  # it had none: zero_grad() clears all
        self._grads[serial] = id(grad)
        self._versions.pop(serial, None)
        if grad is not None:
            self._hold(tensor, grad)
        self._put_grad_changed(serial, self._copy(grad), name, stack or self.sampler.stack(4))

    def _tensor_of(self, grad: torch.Tensor) -> torch.Tensor | None:
        held, leaf = self._grad_owners.get(id(grad), (None, None))
        tensor = None if leaf is None else leaf()
        if tensor is None or held is None or held() is not grad or tensor.grad is not grad:
            return None
        told = self.hooks_of is not None and self._have(tensor) == self.hooks_of  # of the hook
        return None if told else tensor

    # Functions and modules.

    def applied(self, args: tuple[Any, ...], out: Any, since: int) -> None:
        """Record that a Function was applied."""
        outs = tensors_in(out)
        new = [made for each in outs if (made := maker_of(each)) is not None and self._token(made) is None]
        if not new:
            return
        self._flush_deaths()
        stack = self.sampler.stack(3)
        made = next((each for each in new if is_python(each)), new[0])
        own = [each for each in outs if not _is_of_another(each, made)]
        self._note_nodes(made, args, own, stack, since, self._entry)
        for each in new:
            if self._token(each) is None:  # a view's, of what forward returned
                self._note_nodes(each, (), [out for out in outs if maker_of(out) is each], stack, since, self._entry)

    def enter(self, module: Any, suffix: str = "") -> None:
        """Record that a module or a compiled function is called."""
        if not self._calls:
            self._news_come()
        name = self._name_of(module) + suffix
        outer = self._entry
        self._calls.append((module, outer))
        path = name if outer is None else f"{outer.path}/{name}"
        told = (_class_of(module), settings_of(module)) if isinstance(module, torch.nn.Module) else ("", "")
        self._entry = Entry((path, name, next_tag(), outer, *place(3), *told))

    def leave(self, module: Any) -> None:
        """Record that the call has returned or raised an error."""
        if any(each is module for each, _ in self._calls):
            while True:
                last, self._entry = self._calls.pop()
                if last is module:
                    break
            if not self._calls and isinstance(module, torch.nn.Module) and _level() is None:
                if not self.is_in_backward():
                    self._flush_deaths()
                    self._tell_called(module, torch.is_grad_enabled())

    def steps(self, optimizer: Any) -> None:
        """Record that an optimizer is about to step."""
        self._flush_deaths()
        self._begin_step(optimizer)

    def stepped(self) -> None:
        """Record that the optimizer has stepped."""
        self._end_step()

    def _name_of(self, module: Any) -> str:
        """Return the name of a module: its path in the module that calls it, `layers/0`, or in the program."""
        if self._calls:
            caller = self._calls[-1][0]
            names = self._module_names.get(caller)
            if names is None or id(module) not in names:
                names = {id(part): path.replace(".", "/") for path, part in named_parts(caller) if path}
                self._module_names[caller] = names
            if id(module) in names:
                return names[id(module)]
        if isinstance(module, torch.nn.Module):
            return self._outermost.called(module, self.sampler.frames).replace(".", "/")
        return _class_of(module)


def _class_of(module: Any) -> str:
    """Return the class of a module; for a compiled function, its name."""
    return str(module._get_name() if isinstance(module, torch.nn.Module) else module.__name__)


def _is_of_another(tensor: torch.Tensor, made: Any) -> bool:
    return maker_of(tensor) not in (None, made)


def tensors_in(thing: Any) -> list[torch.Tensor]:
    """Return the tensors that an operation returned or was given, including those in lists."""
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, tuple | list):
        return [each for part in thing for each in tensors_in(part)]
    return []


def _recorded_of(before: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the recorded tensors among those that may be modified, with their origins."""
    return [each for each in before if len(each) > 2]


def _first_of_each_memory(written: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the modified tensors among those with a new version: others share the memory, as in `w[0] += 1`."""
    if len(written) < 2:
        return written
    by_memory = {memory_of(each[0]) or -at: each for at, each in reversed([*enumerate(written, 1)])}
    return list(by_memory.values())[::-1]


def _ending(name: str) -> str:
    """Return what ends gradient paths if an operation creates no node, even though its result is a number."""
    if torch.is_inference_mode_enabled():
        return "inference_mode"
    if torch.is_grad_enabled() and _level() is None:
        return name  # `tensor`, say, which copies numbers alone
    return switched_off()


_UNSCALES = "_amp_foreach_non_finite_check_and_unscale_"  # of gradients, whose versions it leaves as they are
_kinds: dict[Any, tuple[str, str, bool]] = {}  # of what is called: what it does, its name, whether it may write


def _kind_of(func: Any) -> tuple[str, str, bool]:
    try:
        return _kinds[func]
    except KeyError:
        pass
    name = getattr(func, "__name__", "")
    kind, writes = "op", name.endswith("_") or name == "__setitem__" or name.startswith("__i")
    if name in ("__get__", "__set__"):
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        kind = "op" if attribute in _READ else "quiet"
        if name == "__set__":
            kind = attribute if attribute in ("grad", "data") else "quiet"
        name = attribute
        writes = False
    elif name in _HOOKS:
        kind = "hook"
    elif name in ("backward", "grad"):
        kind = "backward"
    elif name in NUMBERS:
        kind = "number"
    elif name in _QUIET or getattr(func, "__module__", "") in ("torch._ops.profiler", "torch._C"):
        kind = "quiet"
    elif hasattr(func, "__code__"):  # written in Python: it may call anything
        writes = True
    found = _kinds[func] = kind, name, writes
    return found


class OperationMode(TorchFunctionMode):
    """A mode that reports every operation called from Python to a recorder."""

    def __init__(self, recorder: OperationRecorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it, then report it."""
        kind, name, writes = _kind_of(func)
        recorder = self.recorder
        kwargs = kwargs or {}
        if kind == "quiet" or not recorder.hears():
            return func(*args, **kwargs)
        if kind == "backward":
            return recorder.asked(func, args, kwargs)
        since, before = _sequence(), []
        memory = args[0].data_ptr() if kind == "data" else 0
        recorder.inside.clear()
        if writes or "out" in kwargs:
            try:
                before = [recorder.before(each) for each in tensors_in([kwargs.get("out"), args])]
            except Exception as error:
                warn_lost(name, error)
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            recorder.refused(error, [args, *kwargs.values()])
            raise
        try:
            with unobserved():
                if kind == "grad":
                    recorder.grad_set(args[0])
                elif kind == "data":
                    recorder.data_set(args[0], memory)
                elif kind == "hook":
                    recorder.hooked(args[0])
                elif kind == "number":
                    recorder.number_read(name, args[0])
                else:
                    known = recorder.count
                    recorder.ran(name, args, kwargs, out, since, before)
                    if _level() is not None and recorder.count == known:
                        recorder.not_seen()
        except Exception as error:
            warn_lost(name, error)
        return out


# Without gradients they run one fused operation, unless a mode observes every operation.
_FAST = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer, torch.nn.TransformerEncoder)


def _is_left_alone(module: Any) -> bool:
    """Return True if a module behaves differently while a mode is active."""
    return isinstance(module, _FAST) and not module.training and not torch.is_grad_enabled()


class InnerValues(TorchDispatchMode):
    """A mode that shows a recorder the results inside an operation; under it PyTorch creates other nodes."""

    def __init__(self, recorder: OperationRecorder, mode: OperationMode) -> None:
        super().__init__()
        self._recorder = recorder
        self.__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it, and show its result."""
        out = func(*args, **(kwargs or {}))
        if func is not torch.ops.aten.detach.default:
            self._recorder.inside += tensors_in(out)
        return out

    def remove(self) -> None:
        """Stop showing results."""
        self.__exit__(None, None, None)


class BirthHook:
    """A hook that reports each node as it is created, from PyTorch 2.14 on."""

    def __init__(self, recorder: OperationRecorder, mode: OperationMode) -> None:
        self._recorder = recorder
        hook = getattr(torch.autograd.graph, "node_creation_hook", None)
        self._hook = None if hook is None else hook(self._node_made)
        if self._hook is not None:
            self._hook.__enter__()

    def _node_made(self, node: Any) -> None:
        try:
            self._recorder.node_made(node)
        except Exception as error:
            warn_lost("where a node was made", error)

    def remove(self) -> None:
        """Stop reporting."""
        if self._hook is not None:
            self._hook.__exit__(None, None, None)


class ModuleHooks:
    """Hooks that report calls of modules; the mode is off inside those left alone."""

    def __init__(self, recorder: OperationRecorder, mode: OperationMode) -> None:
        self._recorder, self._mode = recorder, mode
        self._alone: tuple[Any, int] | None = None  # the module, and the number that its first node has
        self._handles = [
            modules.register_module_forward_pre_hook(self._enter),
            modules.register_module_forward_hook(self._leave, always_call=True),
        ]

    def _enter(self, module: Any, args: Any) -> None:
        if not self._recorder.hears():
            return
        try:
            with unobserved():
                self._recorder.enter(module)
                stack = torch.overrides._get_current_function_mode_stack()
                alone = bool(stack) and stack[-1] is self._mode and _is_left_alone(module)
            if alone:
                self._mode.__exit__(None, None, None)
                self._alone = module, _sequence()
        except Exception as error:
            warn_lost("a module's name", error)

    def _leave(self, module: Any, args: Any, out: Any) -> None:
        if not self._recorder.hears():
            return
        try:
            alone = self._alone
            if alone is not None and alone[0] is module:
                self._alone = None
                self._mode.__enter__()
            with unobserved():
                if alone is not None and alone[0] is module:
                    self._recorder.ran(type(module).__name__, args, {}, out, alone[1], [])
                self._recorder.leave(module)
        except Exception as error:
            warn_lost("a module's end", error)

    def remove(self) -> None:
        """Stop reporting."""
        for handle in self._handles:
            handle.remove()


class StepHook:
    """Hooks that report each step of an optimizer, before and after it."""

    def __init__(self, recorder: OperationRecorder, mode: OperationMode) -> None:
        self._recorder = recorder
        self._begins = register_optimizer_step_pre_hook(self._begin)
        # Hooks must stay as they are while PyTorch goes through them, and a recording may begin or end in one. So each
        # optimizer has one of its own, the last, put there before its step.
        self._ends: ByIdentity[RemovableHandle] = ByIdentity()
        self._going: ByIdentity[bool] = ByIdentity()

    def _begin(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._recorder.hears():
            return
        try:
            with unobserved():
                if (before := self._ends.get(optimizer)) is not None:
                    before.remove()
                self._ends[optimizer] = optimizer.register_step_post_hook(self._end)
                self._going[optimizer] = True
                self._recorder.steps(optimizer)
        except Exception as error:
            warn_lost("the groups of an optimizer", error)

    def _end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._going.pop(optimizer)
        if self._recorder.hears():
            self._recorder.stepped()

    def remove(self) -> None:
        """Stop reporting; a hook that PyTorch hasn't reached yet stays, and does nothing."""
        self._begins.remove()
        for optimizer, handle in self._ends.items():
            if optimizer not in self._going:
                handle.remove()


class _CompiledCall(NamedTuple):
    """A running call of a compiled part."""

    owner: Any
    args: tuple[Any, ...]
    since: int
    before: list[tuple[Any, ...]]


class CompiledCalls:
    """Report each call of a compiled part to a recorder as one box, and suspend the recorder meanwhile.

    While a compiled part runs, forward or backward, no other part of the recording is active: no mode, hook or wrapper
    that would make PyTorch compile it again, or differently. PyTorch doesn't report such a call. Two private names are
    wrapped for it, only here: `_maybe_set_eval_frame`, with which a call of a compiled function starts and ends, and
    the call of an OptimizedModule, which warns if there are hooks on all modules.
    """

    def __init__(self, recorder: OperationRecorder) -> None:
        self._recorder = recorder
        self._frame: FrameType | None = None  # of the outermost compiled function that is being called
        self._call: _CompiledCall | None = None
        self._depth = 0
        self._compile: Any = None
        self._dynamo = sys.modules.get(_EVAL_FRAME)
        if self._dynamo is not None:
            self._wrap()
        else:  # nothing is compiled yet
            self._compile = inner = torch.compile

            def compile(*args: Any, **kwargs: Any) -> Any:
                made = inner(*args, **kwargs)
                if self._dynamo is None:
                    self._dynamo = sys.modules.get(_EVAL_FRAME)
                    self._wrap()
                return made

            self._own_compile = torch.compile = compile

    def _wrap(self) -> None:
        dynamo: Any = self._dynamo
        self._set, self._module_call = dynamo._maybe_set_eval_frame, dynamo.OptimizedModule.__call__

        def set_eval_frame(callback: Any) -> Any:
            if self._recorder.hears():
                frame: FrameType | None = sys._getframe(1)
                while frame is not None and frame.f_code is set_eval_frame.__code__:  # of a recording inside this one
                    frame = frame.f_back
                if frame is not None and frame.f_code.co_name in COMPILED_CALLS:
                    return self._switch(frame, callback)
            return self._set(callback)

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            eager = dynamo._stance.stance == "force_eager"
            if eager or not self._recorder.hears():
                return self._module_call(module, *args, **kwargs)
            self._begin(module._orig_mod, args, kwargs)
            out = None
            try:
                out = self._module_call(module, *args, **kwargs)
                return out
            finally:
                self._end(out)

        self._own_set, self._own_call = set_eval_frame, call
        dynamo._maybe_set_eval_frame, dynamo.OptimizedModule.__call__ = set_eval_frame, call

    def _switch(self, frame: FrameType, callback: Any) -> Any:
        """Handle the start and the end of a compiled function, so that none of the recorder's code is compiled."""
        if self._frame is frame:
            before, self._frame = self._set(callback), None
            self._end(frame.f_locals.get("result"))  # PyTorch 2.12 and later have it; before, it isn't known
            return before
        if self._frame is None and not self._depth and callable(callback):
            self._frame = frame
            held = frame.f_locals
            self._begin(held["fn"], held["args"], held["kwargs"])
        return self._set(callback)

    def _begin(self, thing: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        try:
            with unobserved():
                owner = getattr(thing, "__self__", thing)  # of a module's method the module
                given = (*args, *kwargs.values())
                before = [self._recorder.before(each) for each in tensors_in(given)]
                self._recorder.enter(owner, COMPILED)
                self._call = _CompiledCall(owner, given, _sequence(), before)
        except Exception as error:
            warn_lost("the call of a compiled part", error)
        self._recorder.suspend()

    def _end(self, out: Any) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._recorder.resume()
        call, self._call = self._call, None
        if call is None:
            return
        try:
            with unobserved():
                self._recorder.ran("a compiled part", call.args, {}, out, call.since, call.before)
                self._recorder.leave(call.owner)
        except Exception as error:
            warn_lost("the call of a compiled part", error)

    def remove(self) -> None:
        """Restore the originals, unless other code has replaced the wrappers since."""
        dynamo: Any = self._dynamo
        if self._compile is not None and torch.compile is self._own_compile:
            torch.compile = self._compile
        if dynamo is not None:
            if dynamo._maybe_set_eval_frame is self._own_set:
                dynamo._maybe_set_eval_frame = self._set
            if dynamo.OptimizedModule.__call__ is self._own_call:
                dynamo.OptimizedModule.__call__ = self._module_call
