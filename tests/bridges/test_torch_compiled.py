"""Parts that torch.compile has compiled: one box each, and they run as they do unrecorded."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from functions import function
from made_functions import raising
from oracle import torch

import workbench
from workbench.pictures.trace.backward_records import NodeFinished
from workbench.pictures.trace.forward_records import NodeCreated


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):
        torch._dynamo.reset()
        yield
        torch._dynamo.reset()


def scaled(x: Any, w: Any) -> Any:
    return (x @ w).relu() * 2


class Counting:
    """A compiler that compiles nothing, and counts what it was asked for and what ran."""

    def __init__(self) -> None:
        self.compiled = self.ran = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.compiled += 1

        def run(*args: Any) -> Any:
            self.ran += 1
            return graph.forward(*args)

        return run


def gradient(loss: Any, w: Any) -> Any:
    """What a backward gives to a leaf, from which it is taken away."""
    loss.sum().backward()
    found, w.grad = w.grad, None
    return found


def made(trace: Any) -> list[str]:
    return [event.name for event in trace.events if isinstance(event, NodeCreated)]


def test_a_compiled_part_is_neither_compiled_again_nor_run_otherwise() -> None:
    backend = Counting()
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    compiled, module = torch.compile(scaled, backend=backend), torch.compile(net, backend=backend)
    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    plain = gradient(module(compiled(x, w)), w)
    assert (backend.compiled, backend.ran) == (2, 2)
    with warnings.catch_warnings(action="error"), workbench.record(torch) as trace:
        module(compiled(x, w)).sum().backward()
    assert (backend.compiled, backend.ran) == (2, 4) and torch.equal(plain, w.grad)
    module(compiled(x, w))
    assert (backend.compiled, backend.ran) == (2, 6)
    assert "In net (compiled): " in repr(trace.show(depth=9)) and "scaled (compiled)" in trace.to_json()
    assert "3 operations (compiled)" in repr(trace.show(open=[]))


def test_what_is_compiled_as_a_whole_is_one_box_with_what_it_takes_and_gives() -> None:
    compiled = torch.compile(scaled, backend="aot_eager")
    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    plain = gradient(compiled(x, w), w)
    with workbench.record(torch) as trace:
        y = compiled(x, w)
        y.sum().backward()
    assert torch.equal(plain, w.grad)
    assert made(trace) == ["CompiledFunctionBackward", "SumBackward0"]
    box = next(event for event in trace.events if isinstance(event, NodeCreated))
    assert not box.custom and [arg.text or arg.tensor for arg in box.args] and len(box.saved) == 2
    ran = [event.node for event in trace.events if isinstance(event, NodeFinished)]
    told = "In scaled (compiled): `y = compiled(x, w)` (CompiledFunctionBackward) gives "
    assert box.node in ran and told in repr(trace.show())


def test_modes_of_the_user_stay_and_an_error_in_a_compiled_part_is_the_users() -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            raise ValueError("not today")

        return run

    compiled = torch.compile(scaled, backend=backend)
    good = torch.compile(scaled, backend="eager")
    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    with workbench.record(torch) as trace:
        with pytest.raises(ValueError, match="not today"):
            compiled(x, w)
        with torch.device("cpu"):
            good(x, w).sum()
            modes = torch.overrides._get_current_function_mode_stack()
            assert [type(each).__name__ for each in modes] == ["OperationMode", "DeviceContext"]
        w.exp()
    assert made(trace) == ["MmBackward0", "ReluBackward0", "MulBackward0", "SumBackward0", "ExpBackward0"]
    assert torch.overrides._get_current_function_mode_stack() == []


def test_a_recording_inside_of_another_sees_the_same_and_leaves_it_going() -> None:
    apply, run = torch.autograd.Function.__dict__["apply"], torch.autograd._engine_run_backward
    compiled = torch.compile(scaled, backend="aot_eager")
    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    plain = gradient(compiled(x, w), w)
    with workbench.record(torch) as outer:
        v = w * 1
        with workbench.record(torch) as inner:
            compiled(x, v).sum().backward()
        w.exp().sum().backward()
    assert made(inner)[-2:] == ["CompiledFunctionBackward", "SumBackward0"]
    assert made(outer) == ["MulBackward0", "CompiledFunctionBackward", "SumBackward0", "ExpBackward0", "SumBackward0"]
    assert torch.allclose(w.grad, plain + w.exp())
    assert torch.autograd.Function.__dict__["apply"] is apply and torch.autograd._engine_run_backward is run
    assert torch.overrides._get_current_function_mode_stack() == []


def test_a_write_of_a_compiled_part_is_told() -> None:
    def write(x: Any) -> Any:
        x.mul_(3)
        return x + 1

    compiled = torch.compile(write, backend="aot_eager")
    w = torch.ones(2, requires_grad=True)
    with workbench.record(torch) as trace:
        y = w * 1
        compiled(y).sum().backward()
    assert "a compiled part writes into y" in repr(trace.show("versions"))


def test_all_is_put_back_and_what_is_compiled_first_while_recorded_is_a_box_too() -> None:
    code = """
import sys, torch, workbench
torch.set_num_threads(1)
assert "torch._dynamo" not in sys.modules
with workbench.record(torch) as trace:
    f = torch.compile(lambda x: x.exp() * 2, backend="aot_eager")
    x = torch.ones(2, requires_grad=True)
    f(x).sum().backward()
from torch._dynamo import eval_frame
for each in (torch.compile, eval_frame._maybe_set_eval_frame, eval_frame.OptimizedModule.__call__):
    assert "workbench" not in str(each.__module__)
print([each.name for each in trace.events if type(each).__name__ == "NodeCreated"])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "['CompiledFunctionBackward', 'SumBackward0']", done.stderr


def test_a_stepper_steps_over_a_compiled_part() -> None:
    compiled = torch.compile(scaled, backend="aot_eager")
    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    with torch._functorch.config.patch(donated_buffer=False):  # with it PyTorch itself cannot keep such a graph
        loss = compiled(x, w).sum()
        s = workbench.step(loss).run()
    assert [step.node.name() for step in s.steps if step.leaf is None] == ["SumBackward0", "CompiledFunctionBackward"]


def test_a_stepper_says_what_a_compiled_part_needs_that_gives_its_memory_away() -> None:
    words = "or set torch._functorch.config.donated_buffer=False to disable donated buffer."
    # In place of a backend whose backward reuses what is saved.
    Compiled = function(torch, lambda ctx, x: x * 2, raising(RuntimeError(words)))
    s = workbench.step(Compiled.apply(torch.ones(2, requires_grad=True)).sum())
    s.step()
    with contextlib.suppress(RuntimeError):
        s.step()
    assert s.error is not None
    assert [each for each in s.warnings if "set torch._functorch.config.donated_buffer = False before" in each]
    assert "A stepper keeps the graph" in repr(s)
