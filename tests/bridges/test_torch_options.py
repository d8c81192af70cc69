"""What a recording of a PyTorch program can be asked for besides: lines of Functions, values within, limits."""

from __future__ import annotations

import math
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from oracle import torch
from small_programs import square_of
from test_optim_recording import OPTIMIZERS, assert_told_by_its_class
from torch_models import made

import workbench
from workbench.bridges.torch.describe import kept_of
from workbench.pictures.trace.call_records import LineReached
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.values import read
from workbench.pictures.views.memory_sizes import bytes_of


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_update_is_told_by_the_class_of_its_optimiser(kind: str, tmp_path: Path) -> None:
    assert_told_by_its_class(torch, kind, tmp_path)


def square(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    square_of(torch).apply(x).sum().backward()


def test_the_lines_of_a_function_are_told_as_the_workbench_tells_its_own() -> None:
    pictures = []
    for engine in (workbench, torch):
        with workbench.record(engine, lines=True) as trace:
            square(engine)
        assert [event for event in trace.events if isinstance(event, LineReached)]
        pictures.append(repr(trace.show("function")))
    assert pictures[0] == pictures[1]


def test_the_card_of_a_function_has_its_code_what_it_saved_and_its_attributes() -> None:
    with workbench.record(torch) as trace:
        square(torch)
    (made,) = [event for event in trace.events if isinstance(event, NodeCreated) and event.custom]
    assert [code.name for code in made.code] == ["forward", "backward"] and "ctx.factor = 2" in made.code[0].text
    assert [saved.name for saved in made.saved] == ["saved_tensors[0]"]
    assert [(each.name, each.text) for each in made.attributes] == [("factor", "2")]


def known(values: str) -> tuple[int, int]:
    """How many outputs of nodes there are, and of how many the values are known."""
    with workbench.record(torch, values=values) as trace:
        made("encoder")()
    nodes = trace.frame(len(trace.events)).nodes.values()
    outputs = [value for node in nodes for _, value in node.outputs.values()]
    return len(outputs), sum(value.is_known for value in outputs)


def test_values_inside_of_operations_are_told_as_unknown_or_looked_at_where_asked_for() -> None:
    count, seen = known("seen")
    assert 0 < seen < count
    assert known("all") == (count, count)
    with workbench.record(torch) as trace:
        torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum()
    inner = trace.events[0]
    assert isinstance(inner, NodeCreated) and "TBackward0 joins the graph" in inner.sentence(trace.frame(1))
    assert "t() gives values unknown" in inner.sentence(trace.frame(1))
    with pytest.raises(ValueError, match="values= is"):
        workbench.record(torch, values="some")


def test_large_tensors_are_summed_up_and_what_has_no_numbers_is_told_by_its_kind() -> None:
    with workbench.record(torch, limit=4) as trace:
        (torch.arange(6.0, requires_grad=True) * 2).sum().backward()
        (torch.ones(3, dtype=torch.bfloat16, requires_grad=True) * 2).sum()
        (torch.ones(2, dtype=torch.complex64, requires_grad=True) * 3j).abs().sum()
        (torch.ones(2, device="meta", requires_grad=True) * 2).sum()
    values = {seen.value for event in trace.events if isinstance(event, NodeCreated) for seen in event.tensors}
    told = {(value.dtype, value.values, value.max) for value in values}
    assert ("float32", None, 10.0) in told
    assert ("bfloat16", (2.0, 2.0, 2.0), 2.0) in told
    assert ("complex64", (3.0, 3.0), 3.0) in told and (3j, 3j) in {value.complex_values for value in values}
    assert ("float32 on meta", None, None) in told


SIZES = {"bfloat16": 2, "float16": 2, "complex64": 8, "complex128": 16, "float64": 8}


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("count", [3, 200, 3000])
def test_tensors_of_any_dtype_are_summed_up_and_their_bytes_counted(dtype: str, count: int) -> None:
    numbers = torch.arange(count).to(getattr(torch, dtype)) / count
    x = numbers.clone().requires_grad_()
    with workbench.record(torch) as trace:
        (x * x).abs().sum().backward()
    made = next(event for event in trace.events if isinstance(event, NodeCreated))
    value = next(seen.value for seen in made.tensors if seen.name == "x")
    plain = numbers.abs().double()
    assert (value.shape, value.dtype, value.values is None) == ((count,), dtype, count > 100)
    assert value.norm == pytest.approx(float(plain.norm()), rel=1e-3)
    assert (value.min, value.max) == (float(plain.min()), float(plain.max()))
    assert value.mean == pytest.approx(float(plain.mean()), rel=1e-3) and value.nonfinite == 0
    assert bytes_of(value) == count * SIZES[dtype]


def test_what_is_not_finite_is_counted_in_every_dtype_and_a_meta_tensor_has_a_size() -> None:
    with workbench.record(torch) as trace:
        for dtype in (torch.bfloat16, torch.float16, torch.complex64, torch.float32):
            for count in (4, 4000):
                x = torch.ones(count, dtype=dtype)
                x[0], x[1] = float("nan"), float("inf")
                (x.requires_grad_() * 1).detach()
        (torch.ones(7, device="meta", requires_grad=True) * 2).sum().backward()
    made = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert [event.tensors[-1].value.nonfinite for event in made[:8]] == [2] * 8
    meta = made[8].tensors[-1].value
    assert not meta.is_known and bytes_of(meta) == 28


def test_where_torch_tells_of_births_the_line_of_a_node_that_nobody_saw_made_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[Any] = []

    @contextmanager
    def stand_in(callback: Any) -> Any:
        heard.append(callback)
        yield
        heard.append("over")

    monkeypatch.setattr(torch.autograd.graph, "node_creation_hook", stand_in, raising=False)
    x = torch.ones(2, requires_grad=True)
    with workbench.record(torch) as trace:
        with torch._C.DisableTorchFunction():
            y = x * 2
            heard[0](y.grad_fn)
        y.sum()
    assert heard[1:] == ["over"]
    made = next(event for event in trace.events if isinstance(event, NodeCreated) and event.name == "MulBackward0")
    assert made.source is not None and made.source.text == "heard[0](y.grad_fn)"


def test_a_recording_of_the_workbench_does_not_mind_a_module_of_torch_beside_it() -> None:
    layer = torch.nn.Linear(1, 1)  # whose parameters are no tensors of the workbench's
    with workbench.record() as trace:
        x = workbench.tensor([1.0], requires_grad=True)
        (x * 2).backward()
    assert x.grad is not None and layer is not None
    assert [type(event).__name__ for event in trace.events][1:2] == ["BackwardStarted"]


def test_what_hooks_make_of_gradients_is_told_and_they_stay_as_they_are() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    handles: list[Any] = []

    def once(grad: Any) -> Any:
        handles.pop().remove()
        return grad * 2

    def clip(leaf: Any) -> None:
        leaf.grad.clamp_(max=1.0)

    handles.append(x.register_hook(once))  # before the recording
    x.register_post_accumulate_grad_hook(clip)
    with workbench.record(torch) as trace:
        (x * 3).sum().backward()
    told = repr(trace.show())
    assert "hook once on `x` changed [3. 3.] to [6. 6.]; `x` receives the gradient [6. 6.]" in told
    assert "`x.grad` becomes [6. 6.]; post-accumulate hook clip of `x` changed `x.grad` [6. 6.] to [1. 1.]" in told
    assert not x._backward_hooks and list(x._post_accumulate_grad_hooks.values()) == [clip]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_view_that_was_written_gets_its_new_node_when_the_program_asks_and_not_before() -> None:
    def number_of_view(record: bool) -> int:
        x = torch.ones(4, requires_grad=True)
        begin = torch._C._autograd._get_sequence_nr()
        with workbench.record(torch) if record else nullcontext() as trace:
            y = x * 1
            v = y[1:3]
            y.mul_(2)
            z = x.exp()
            z.sum().backward()  # which looks up what variables hold
            number = v.grad_fn._sequence_nr() - begin
            (v * 3).sum().backward()
        if trace is not None:
            made = [event.name for event in trace.events if isinstance(event, NodeCreated)]
            assert made.count("AsStridedBackward0") == 1
            assert "mul_ writes into y: now version 1" in repr(trace.show("versions"))
        return number

    assert number_of_view(True) == number_of_view(False)


def test_another_engine_is_refused_and_torch_is_loaded_only_by_the_user() -> None:
    with pytest.raises(TypeError, match="but not those of sys"):
        workbench.record(sys)
    with pytest.raises(TypeError, match="live\\(\\) records the programs of this package only, not those of torch"):
        workbench.live(torch)
    with workbench.record(workbench) as trace:
        workbench.ones(1, requires_grad=True) * 2
    assert len(trace.events) > 0
    loads = "import workbench, sys; workbench.record(); workbench.show(workbench.ones(1))"
    code = f"{loads}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_a_sentence_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import workbench.bridges.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        'ImportError: PyTorch is not installed: pip install "autograd-workbench[torch]" brings it.'
    )


TENSORS = """
torch.arange(6.0).reshape(2, 3) | torch.arange(6.0).reshape(2, 3).T | torch.arange(6.0)[2:4] | torch.arange(8.0)[::3]
torch.tensor(2.5) | torch.zeros(0, 3) | torch.tensor([True, False]) | torch.tensor([[1], [-2]], dtype=torch.int16)
torch.tensor([0.5, math.inf], dtype=torch.float16) | torch.nn.Parameter(torch.arange(150.0).double())
"""


@pytest.mark.parametrize("text", [each.strip() for each in TENSORS.strip().replace("\n", "|").split("|")])
def test_what_is_kept_of_a_tensor_is_what_it_holds(text: str) -> None:
    tensor = eval(text)
    found, want = read(kept_of(tensor, 100)), tensor.detach().clone()
    few = tuple(want.flatten().tolist()) if want.numel() <= 100 else None
    assert (found.shape, found.dtype, found.values) == (tuple(want.shape), str(want.dtype)[6:], few)
    finite = [each for each in want.flatten().tolist() if math.isfinite(each)]
    assert (found.min, found.max) == ((min(finite), max(finite)) if finite else (None, None))


@pytest.mark.parametrize(
    "make", [lambda: torch.tensor([1 + 2j]).conj().imag, lambda: torch._efficientzerotensor(2)], ids=["negated", "0"]
)
def test_a_tensor_whose_memory_holds_other_numbers_is_unknown(make: Any) -> None:
    assert not read(kept_of(make(), 100)).is_known
