"""A backward whose nodes run in another thread, as those of a GPU do, and tensors that lie on another device."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from oracle import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import workbench
from workbench.bridges.torch import describe
from workbench.pictures.trace.values import read


def elsewhere(run: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a backward in a thread of its own, to which modes are handed on, as the engine does for a device's."""

    def run_there(*args: Any, **kwargs: Any) -> Any:
        modes = torch.overrides._get_current_function_mode_stack()
        outcome: list[Any] = []

        def there() -> None:
            for mode in modes:
                torch.overrides._push_mode(mode)
            try:
                outcome.append(run(*args, **kwargs))
            except BaseException as error:
                outcome.extend((None, error))

        thread = threading.Thread(target=there, name="a device")
        thread.start()
        thread.join()
        if len(outcome) > 1:
            raise outcome[1]
        return outcome[0]

    return run_there


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that runs a backward runs it elsewhere."""
    there = elsewhere(torch.autograd.graph._engine_run_backward)
    monkeypatch.setattr(torch.autograd.graph, "_engine_run_backward", there)
    monkeypatch.setattr(torch.autograd, "_engine_run_backward", there)


class Net(torch.nn.Module):
    def __init__(self, reentrant: bool | None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
        self._reentrant = reentrant

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        if self._reentrant is None:
            return self.last(self.inner(x))
        return self.last(checkpoint(self.inner, x, use_reentrant=self._reentrant))


def trained(reentrant: bool | None) -> tuple[Any, list[Any]]:
    net = Net(reentrant)
    with workbench.record(torch) as trace:
        net(torch.ones(2, 3)).pow(2).mean().backward()
    return trace, [each.grad for each in net.parameters()]


def told(trace: Any) -> list[Any]:
    """What a trace tells but of when nodes are gone, which the collector decides."""
    kept = [each for each in trace.events if type(each).__name__ != "NodesGone"]
    return [(type(each).__name__, getattr(each, "name", ""), getattr(each, "scope", "")) for each in kept]


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_what_runs_in_a_devices_thread_is_recorded_as_in_ones_own(reentrant: bool | None, request: Any) -> None:
    here, plain = trained(reentrant)
    request.getfixturevalue("device")
    there, grads = trained(reentrant)
    assert told(here) == told(there)
    assert all(torch.equal(a, b) for a, b in zip(plain, grads, strict=True))
    if reentrant:
        assert "net/inner/0" in {each.scope for each in there.events if hasattr(each, "scope")}


def test_a_backward_in_a_devices_thread_is_stepped(device: None) -> None:
    net = Net(False)
    loss = net(torch.ones(2, 3)).pow(2).mean()
    loss.backward(retain_graph=True)
    plain = [each.grad.clone() for each in net.parameters()]
    net.zero_grad()
    s = workbench.step(loss).run(until="tanh")
    other = torch.autograd.grad(loss, net.first.weight, retain_graph=True)[0]  # passes through the same nodes meanwhile
    s.run()
    assert s.done and torch.equal(other, plain[0])
    assert all(torch.equal(a, b.grad) for a, b in zip(plain, net.parameters(), strict=True))
    s.back(4)
    s.edit(s.current, 0, 0.0).run()
    assert s.done and s.error is None
    unfinished = workbench.step(loss)
    unfinished.step()
    del unfinished
    assert not [each for each in threading.enumerate() if each.name == "a device"]


def test_a_backward_inside_of_a_step_is_none_of_the_stepped() -> None:
    """Its hook runs another backward through the same nodes, in the same thread."""
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    inner: list[Any] = []

    def hook(grad: Any) -> None:
        if not inner:
            inner.append(None)
            with torch.enable_grad():
                inner[0] = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]

    y.register_hook(hook)
    s = workbench.step((y * y).sum()).run()
    assert s.done and x.grad.tolist() == [18.0, 18.0] and inner[0].tolist() == [3.0, 3.0]


class Waits(TorchDispatchMode):
    """Counts what has to wait for a device, and the copies of larger dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[str] = []
        self.wide: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(func)
        if any(each in name for each in ("_local_scalar_dense", "nonzero", "masked_select", "equal")) or (
            "_to_copy" in name and (kwargs or {}).get("device") is not None
        ):
            self.waited.append(name)
        outs = out if isinstance(out, tuple | list) else [out]
        self.wide += [
            name for each in outs if isinstance(each, torch.Tensor) and each.dtype is torch.float64 and each.numel() > 9
        ]
        return out


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "complex64", "int64"])
@pytest.mark.parametrize("size", [10, 5_000])
def test_nobody_waits_for_a_device_while_it_is_recorded(dtype: str, size: int) -> None:
    tensor = torch.linspace(-3, 7, size).to(getattr(torch, dtype))
    with Waits() as mode:
        kept = describe._elsewhere(tensor, 100)
    assert mode.waited == [] and mode.wide == []
    asked: list[int] = []

    class Asked:
        def __init__(self, there: Any) -> None:
            self._there = there

        def cpu(self) -> Any:
            asked.append(1)
            return self._there.cpu()

    kept._there = Asked(kept._there)
    value, again = read(kept), read(kept)
    assert asked == [1] and value is again
    plain = tensor.abs() if tensor.is_complex() else tensor
    plain = plain.double()
    assert value.norm == pytest.approx(float(plain.norm()), rel=2e-3)
    assert (value.min, value.max) == (float(plain.min()), float(plain.max()))
    assert value.mean == pytest.approx(float(plain.mean()), rel=1e-3) and value.nonfinite == 0
    assert (value.values is None) == (size > 100)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_what_is_not_finite_is_counted_there(bad: float) -> None:
    tensor = torch.ones(1_000)
    tensor[:3] = bad
    value = read(describe._elsewhere(tensor, 100))
    assert (value.nonfinite, value.min, value.max, value.mean) == (3, 1.0, 1.0, 1.0)
    assert math.isnan(value.norm) if math.isnan(bad) else value.norm == math.inf
    nothing = read(describe._elsewhere(torch.full((1_000,), bad), 100))
    assert (nothing.nonfinite, nothing.min, nothing.mean) == (1_000, None, None)


@pytest.mark.parametrize("scale", [1e30, 1e-30, 0.0])
def test_huge_and_tiny_values_keep_their_norm(scale: float) -> None:
    value = read(describe._elsewhere(torch.ones(1_024) * scale, 100))
    assert value.norm == pytest.approx(32 * scale) and value.mean == pytest.approx(scale)


def test_what_has_no_numbers_of_its_own_is_not_asked_for_them() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(1_000, dtype=torch.bfloat16)
        assert not read(describe.kept_of(fake, 100)).is_known
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(describe.kept_of(x, 10))
        return x

    torch.func.vmap(f)(torch.ones(3, 4, dtype=torch.bfloat16))
    assert len(found) == 1 and read(found[0]).shape in ((4,), (3, 4))
