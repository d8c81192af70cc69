"""Ctrl-C at every point of a program at which Python looks for signals, and what it leaves behind.

    python tests/support/interrupts.py [PROGRAM...]

runs each program once for every point, has a KeyboardInterrupt raised there, and prints how many points there were and
after how many of them something was left switched on.

CPython calls signal handlers when a function begins or a generator goes on, after a call, and when a loop jumps back,
so a signal is raised at these points: by a trace function, at the instruction that follows. When a plain Python
function returns, nothing is looked for; and where what follows a call has another handler, the error would be the
call's own. No context manager can do anything about a signal that comes just when its
`__exit__` begins: these points are counted apart, as are those between a constructor that switches at once
(`set_grad_enabled`, `set_detect_anomaly`) and its `with` block.
"""

from __future__ import annotations

import argparse
import contextlib
import dis
import functools
import gc
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}
SWITCHES = ("set_grad_enabled", "set_detect_anomaly")


def program(function: Program) -> Program:
    """Decorator: sweep this program."""
    PROGRAMS[function.__name__] = function
    return function


def leaf(torch: Any) -> Any:
    return torch.tensor([0.5, 1.5], requires_grad=True)


def square(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * t

    return Square


@program
def backward(torch: Any) -> None:
    x = leaf(torch)
    h = x * 2
    h.register_hook(lambda g: g * 1)
    y = (square(torch).apply(h).exp() + h).sum()
    y.grad_fn.register_prehook(lambda gs: None)
    y.grad_fn.register_hook(lambda gi, go: None)
    x.register_post_accumulate_grad_hook(lambda t: None)
    y.backward()


@program
def grad(torch: Any) -> None:
    x = leaf(torch)
    (g,) = torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    torch.autograd.grad(g.sum(), x)


@program
def backward_inside_backward(torch: Any) -> None:
    x = leaf(torch)

    def hook(g: Any) -> None:
        with torch.enable_grad():
            (x * 3).sum().backward()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()


@program
def many_gradients(torch: Any) -> None:
    x = leaf(torch)
    torch.autograd.grad(x * x, x, torch.ones(3, 2), is_grads_batched=True)


@program
def no_grad(torch: Any) -> None:
    x = leaf(torch)
    with torch.no_grad():
        x * 2
        with torch.enable_grad():
            x * 3


@program
def decorated(torch: Any) -> None:
    torch.no_grad()(lambda: leaf(torch) * 2)()

    @torch.no_grad()
    def rows() -> Iterator[Any]:
        yield leaf(torch) * 2

    list(rows())


@program
def set_grad_enabled(torch: Any) -> None:
    with torch.set_grad_enabled(False):
        leaf(torch) * 2


@program
def inference_mode(torch: Any) -> None:
    with torch.inference_mode():
        torch.ones(2) * 2


@program
def saved_tensors_hooks(torch: Any) -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = leaf(torch).exp().sum()
    y.backward()


@program
def save_on_cpu(torch: Any) -> None:
    with torch.autograd.graph.save_on_cpu():
        y = square(torch).apply(leaf(torch)).sum()
    y.backward()


@program
def disable_saved_tensors_hooks(torch: Any) -> None:
    with torch.autograd.graph.disable_saved_tensors_hooks("no"):
        leaf(torch).exp()


@program
def allow_mutation(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf(torch).clone()
        y = x.exp().sum() + (x * x).sum()
        x.mul_(2)
        y.backward()


@program
def detect_anomaly(torch: Any) -> None:
    with torch.autograd.detect_anomaly():
        (leaf(torch) * 2).sum().backward()


@program
def set_detect_anomaly(torch: Any) -> None:
    with torch.autograd.set_detect_anomaly(True):
        leaf(torch) * 2


@program
def dual_level(torch: Any) -> None:
    fwAD = torch.autograd.forward_ad
    with fwAD.dual_level():
        x = fwAD.make_dual(leaf(torch), torch.ones(2))
        y = square(torch).apply(x).exp()
        x.detach().clone().mul_(y)
        fwAD.unpack_dual(y)


@program
def func_grad(torch: Any) -> None:
    torch.func.grad(lambda x: (square(torch).apply(x) * x.exp()).sum())(torch.ones(2))


@program
def func_vjp(torch: Any) -> None:
    _, pull = torch.func.vjp(lambda x: x * x, torch.ones(2))
    pull(torch.ones(2))


@program
def func_jvp(torch: Any) -> None:
    torch.func.jvp(lambda x: square(torch).apply(x).exp(), (torch.ones(2),), (torch.ones(2),))


@program
def func_vmap(torch: Any) -> None:
    torch.func.vmap(lambda x: (x * x).sum() + x.clone().add_(1).sum())(torch.ones(3, 2))


@program
def func_hessian(torch: Any) -> None:
    torch.func.hessian(lambda x: (x * x).sum())(torch.ones(2))


@program
def checkpoint(torch: Any) -> None:
    for reentrant in (False, True):
        torch.utils.checkpoint.checkpoint(lambda x: x.exp() * 2, leaf(torch), use_reentrant=reentrant).sum().backward()


@program
def module(torch: Any) -> None:
    net = torch.nn.Linear(2, 2)
    net(torch.ones(1, 2)).sum().backward()


@program
def functional(torch: Any) -> None:
    torch.autograd.functional.jacobian(lambda x: x * x, torch.ones(2))
    torch.autograd.functional.jacobian(lambda x: x * x, torch.ones(2), strategy="forward-mode", vectorize=True)


@program
def record(torch: Any) -> None:
    with torch.record():
        (leaf(torch) * 2).sum().backward()


@program
def record_lines(torch: Any) -> None:
    with torch.record(lines=True):
        square(torch).apply(leaf(torch)).sum().backward()


@program
def step(torch: Any) -> None:
    x = leaf(torch)
    stepper = torch.step((square(torch).apply(x) * 2).sum())
    stepper.step()
    stepper.step()
    stepper.back()


@program
def scope(torch: Any) -> None:
    with torch.scope("layer"):
        leaf(torch) * 2


@program
def recorded_module(torch: Any) -> None:
    with torch.record() as trace:
        torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh())(torch.ones(1, 2))
    trace.show().to_svg()


@dataclass
class Left:
    """What one program left behind."""

    points: int = 0  # at which a KeyboardInterrupt was raised
    met: set[str] = field(default_factory=set)  # the functions in which it was raised
    wrong: list[str] = field(default_factory=list)  # where it left something switched on
    beginnings: int = 0  # of `__exit__`, and others that no context manager can mend
    after_those: list[str] = field(default_factory=list)  # where something was left there


@functools.cache
def _names(code: CodeType) -> dict[int, str]:
    return {i.offset: i.opname for i in dis.get_instructions(code)}


@functools.cache
def _handlers(code: CodeType) -> list[tuple[int, int, int]]:
    return [(e.start, e.end, e.target) for e in dis.Bytecode(code).exception_entries]


def _handler(code: CodeType, offset: int) -> int | None:
    """Where an exception of an instruction is handled."""
    return next((target for start, end, target in _handlers(code) if start <= offset < end), None)


class Interrupter:
    """A trace function that raises KeyboardInterrupt at point `at`, counted from 0, and notes all points."""

    def __init__(self, at: int, beginning: CodeType) -> None:
        self.left, self.where, self.beginning = at, "", beginning
        self.places: list[str] = []  # the function of each point
        self.excused = False
        self._before: dict[FrameType | None, tuple[str, int]] = {}  # the last instruction, and where it stands

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "call":
            if Path(frame.f_code.co_filename).name in ("_weakrefset.py", "weakref.py"):
                return None  # an error in the callback of a weak reference is printed, and reaches no caller
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            if self._before.get(frame.f_back, "")[:1] == ("CALL",) and _is_plain(frame.f_code):
                del self._before[frame.f_back]
            if frame.f_code is not self.beginning:
                self._point(frame, "begins")
        elif event == "opcode":
            name, offset = self._before.get(frame, ("", 0))
            code, now = frame.f_code, frame.f_lasti
            self._before[frame] = _names(code).get(now, ""), now
            looks = name.startswith(("CALL", "JUMP_BACKWARD")) and "INTRINSIC" not in name
            if looks and _handler(code, offset) == _handler(code, now):
                self._point(frame, f"after {name}")
        elif event == "return":
            self._before.pop(frame, None)
        return self

    def _point(self, frame: FrameType, what: str) -> None:
        code = frame.f_code
        self.places.append(code.co_qualname)
        if len(self.places) - 1 == self.left:
            self.where = f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname} {what}"
            self.excused = _is_excused(frame, what, self.beginning)
            self._before.clear()
            raise KeyboardInterrupt


def _is_plain(code: CodeType) -> bool:
    """Whether a function is run by the interpreter itself, with nothing in C between it and its caller."""
    return not code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE) and not code.co_name.startswith("__")


def _is_excused(frame: FrameType, what: str, beginning: CodeType) -> bool:
    """Whether only a `with` statement of the user's could have put things right."""
    code, caller = frame.f_code, frame.f_back
    if code.co_name == "__exit__" and what == "begins":
        return True
    if code is beginning and what != "begins":
        line = _source()[frame.f_lineno - 1]
        return any(f".{name}(" in line for name in SWITCHES)
    callers = [code.co_qualname] if caller is None else [code.co_qualname, caller.f_code.co_qualname]
    return any(name.startswith(SWITCHES) and name.endswith(("__init__", "__enter__")) for name in callers)


def _source() -> list[str]:
    return Path(__file__).read_text(encoding="utf-8").splitlines()


def sweep(
    torch: Any, run: Program, state: Callable[[], Any], stride: int = 1, first: int = 0, wanted: tuple[str, ...] = ()
) -> Left:
    """Interrupt a program at every `stride`-th point, or at those of the functions `wanted`."""
    left = Left()
    with warnings.catch_warnings(), _nothing_printed():
        warnings.simplefilter("ignore")
        sys.settrace(_ask)  # in 3.12 instructions are told of once a trace function has asked for some
        run(torch)  # what loads or compiles at first use does so now
        sys.settrace(None)
        gc.collect()
        gc.disable()
        try:
            before = state()
            places = _interrupted(torch, run, -1, state, before)[0].places
            for at in range(first, len(places), stride):
                if wanted and not places[at].endswith(wanted):
                    continue
                interrupter, found = _interrupted(torch, run, at, state, before)
                left.met.add(places[at])
                if interrupter.excused:
                    left.beginnings += 1
                    told = left.after_those
                else:
                    left.points += 1
                    told = left.wrong
                if found:
                    told.append(f"{interrupter.where}: {found}")
        finally:
            gc.enable()
    return left


def _interrupted(torch: Any, run: Program, at: int, state: Any, before: Any) -> tuple[Interrupter, str]:
    """One run, and what it left behind, while the error is still alive, as in a notebook."""
    interrupter = Interrupter(at, run.__code__)
    if sys.version_info >= (3, 13):  # a function tells of its instructions from its second traced call in a row
        sys.settrace(_ask)
        run(torch)
    sys.settrace(interrupter)
    try:
        run(torch)
        sys.settrace(None)
        found = _differs(torch, state, before)
    except KeyboardInterrupt:
        sys.settrace(None)
        found = _differs(torch, state, before)
    if found:
        reset()
    return interrupter, found


def _ask(frame: FrameType, event: str, arg: Any) -> None:
    """A trace function that only asks for the instructions of every function."""
    frame.f_trace_opcodes, frame.f_trace_lines = True, False


def _differs(torch: Any, state: Any, before: Any) -> str:
    now = state()
    different = [f"{name} is {now[name]!r}" for name in now if now[name] != before[name]]
    if not different:
        x = leaf(torch)
        ((x * x).exp().sum() * 2).backward()
        right = 4 * np.array([0.5, 1.5]) * np.exp(np.array([0.25, 2.25]))
        if not np.allclose(x.grad.detach().numpy(), right):
            return "wrong gradients"
    return ", ".join(different)


@contextlib.contextmanager
def _nothing_printed() -> Iterator[None]:
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def our_state() -> dict[str, Any]:
    """Everything that could be left switched on."""
    from workbench import events
    from workbench.autograd import scopes, state
    from workbench.pictures.trace import line_recorder
    from workbench.utils import checkpoint

    modes, stack = state.local.modes, scopes.local.stack
    return {
        **{name: _copied(getattr(modes, name)) for name in modes.__slots__ if name != "__weakref__"},
        **process_wide(),
        "dual": state.dual,
        "listeners": len(events.listeners),
        "watchers": len(line_recorder._watchers),
        "scope": (stack.entry, stack.module, stack.open),
        "overrides": dict(checkpoint._overrides),
        "geterr": np.geterr(),
        "gc": gc.isenabled(),
    }


def process_wide() -> dict[str, Any]:
    """The engine's switches that all threads share."""
    from workbench.autograd import state

    kinds = dict, int, bool
    return {name: _copied(value) for name, value in vars(state).items() if type(value) in kinds and name[0] != "_"}


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, (dict, list)) else value


def reset() -> None:
    """Put right what a program left wrong, so that the next is not blamed for it."""
    from workbench import events
    from workbench.autograd import scopes, state
    from workbench.pictures.trace import line_recorder
    from workbench.utils import checkpoint

    line_recorder._watchers.clear()
    state.local.modes = state.Modes()
    scopes.local.stack = scopes.Stack()
    events.listeners.clear()
    for name, value in process_wide().items():
        if isinstance(value, dict):
            getattr(state, name).clear()
        else:
            setattr(state, name, name == "check_nan")
    state.dual = None
    for name in checkpoint._overrides:
        checkpoint._overrides[name] = None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="all, unless some are named")
    parser.add_argument("--stride", type=int, default=1, help="only every so many-th point")
    parser.add_argument("--show", type=int, default=3, help="how many wrong ones to name for each program")
    chosen = parser.parse_args()
    import workbench as engine
    import workbench.autograd.forward_ad

    print(f"{'program':28}{'points':>8}{'wrong':>8}{'beginnings':>12}{'wrong':>8}")
    totals = [0, 0, 0, 0]
    for name, run in PROGRAMS.items():
        if chosen.programs and name not in chosen.programs:
            continue
        left = sweep(engine, run, our_state, chosen.stride)
        counts = [left.points, len(left.wrong), left.beginnings, len(left.after_those)]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        print(f"{name:28}{counts[0]:8}{counts[1]:8}{counts[2]:12}{counts[3]:8}", flush=True)
        for each in [*left.wrong[: chosen.show], *left.after_those[: chosen.show - 2]]:
            print(f"    {each[:220]}")
    print(f"{'all':28}{totals[0]:8}{totals[1]:8}{totals[2]:12}{totals[3]:8}")
