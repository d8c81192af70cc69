"""A fork while other threads are at work: the child has the modes of the thread that forked, and waits for nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork.")

BEGINNING = """
    import os, signal, sys, threading, warnings
    import workbench as torch
    from workbench import events
    from workbench.autograd import node, scopes, state
    from workbench.ops import creation
    from workbench.pictures.trace import line_recorder

    warnings.simplefilter("ignore", DeprecationWarning)

    def in_child(check):
        # Fork, and end with the child's word; one that hangs is killed.
        pid = os.fork()
        if pid == 0:
            signal.alarm(90)
            try:
                check()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"the child ended with {status}"

    def works():
        x = torch.ones(3, requires_grad=True)
        with torch.record(lines=True) as trace:
            (x * x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0]
        assert len(trace.events) > 3
        torch.randn(2)

    def beside(work):
        # Run `work(inside)` in another thread, which calls `inside()` when it is where it should be at the fork.
        there, over = threading.Event(), threading.Event()
        def inside():
            there.set()
            over.wait()
        thread = threading.Thread(target=work, args=(inside,), daemon=True)
        thread.start()
        there.wait()
        return lambda: (over.set(), thread.join())
"""


def run(program: str) -> None:
    text = textwrap.dedent(BEGINNING) + textwrap.dedent(program)
    end = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode == 0, end.stderr


@pytest.mark.slow
def test_no_lock_is_held_in_the_child() -> None:
    run("""
    torch.randn(1)

    def hold(inside):
        with node._accumulating, line_recorder.recording_lock, creation.generator().bit_generator.lock:
            inside()

    finish = beside(hold)
    in_child(works)
    finish()
    """)


@pytest.mark.generated
def test_the_modes_of_other_threads_are_gone() -> None:
    run(
        """
    def work(inside):
        x = torch.ones(2, requires_grad=True)
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
        with torch.inference_mode(), torch.no_grad(), hooks:
            with torch.scope("other"), torch.record():
                torch.func.vmap(lambda t: inside())(torch.ones(2))

    def check():
        assert not state.no_grad_threads and not state.slow_path_reasons
        assert not state.inferring and not events.listeners
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        assert (torch.ones(1, requires_grad=True) * 2).grad_fn is not None
        works()

    try:
        finish = beside(work)
        in_child(check)
    finally:
        finish()
    """.replace("lambda t: inside()", "lambda t: (inside(), t)[1]")
    )


def test_a_backward_of_another_thread_is_not_the_childs() -> None:
    run("""
    def work(inside):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: inside())
        y.sum().backward()

    def check():
        assert state.local.modes.task is None and not state.no_grad_threads
        works()

    finish = beside(work)
    in_child(check)
    finish()
    """)


@pytest.mark.generated
def test_what_the_forking_thread_has_switched_on_stays() -> None:
    run("""
    packed = []
    x = torch.ones(2, requires_grad=True)

    def check():
        assert not torch.is_grad_enabled()
        assert (x * 2).grad_fn is None
        assert len(state.no_grad_threads) == 1
        with torch.enable_grad():
            before = len(packed)
            y = (x * x).sum()
            assert len(packed) == before + 2
            assert scopes.scope_of(y.grad_fn) == "mine"
        assert len(trace.events) > count
        assert not torch.func.vmap(lambda t: t)(torch.ones(2)).requires_grad

    def hooked(t):
        packed.append(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(hooked, lambda t: t), torch.scope("mine"), torch.record() as trace:
        x.exp()
        count = len(trace.events)
        with torch.no_grad():
            in_child(check)

    def inside(t):
        in_child(lambda: check_level(t))
        return t.sum()

    def check_level(t):
        assert len(state.local.modes.levels) == 1
        assert (t * 2).requires_grad

    torch.func.grad(inside)(torch.ones(2))
    with torch.inference_mode():
        in_child(lambda: [torch.ones(1).is_inference() or sys.exit("no inference tensor")])
    assert not state.no_grad_threads and not state.slow_path_reasons and not events.listeners
    """)


def test_forks_while_another_thread_runs_backward() -> None:
    run("""
    over = False
    big = torch.ones(300_000, requires_grad=True)

    def work():
        while not over:
            (big * 2).sum().backward()
            with torch.no_grad():
                big * 2

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    def check():
        assert not state.no_grad_threads
        (big * 2).sum().backward()
    try:
        for _ in range(20):
            in_child(check)
    finally:
        over = True
        thread.join()
    """)


@pytest.mark.slow
def test_a_fork_waits_for_a_drawing() -> None:
    run("""
    def draw(inside):
        from workbench.pictures.scene import engines
        with engines._lock:
            inside()

    with torch.record() as trace:
        (torch.ones(1, requires_grad=True) * 2).backward()
    trace.show().to_svg()
    finish = beside(draw)
    threading.Timer(0.5, finish).start()
    in_child(lambda: trace.show().to_svg())
    """)
