"""What checkpoints hold in memory, and what the workbench does about them in its own way."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench


def leaf(*values: float) -> Any:
    return workbench.tensor(values, dtype=workbench.float64, requires_grad=True)


@pytest.fixture
def counted() -> Iterator[None]:
    """Nothing but reference counting frees memory."""
    gc.disable()
    yield
    gc.enable()


def alive(arrays: list[weakref.ref[np.ndarray]]) -> int:
    return sum(array() is not None for array in arrays)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_intermediates_are_not_held(counted: None, use_reentrant: bool) -> None:
    arrays: list[weakref.ref[np.ndarray]] = []

    def f(x: Any) -> Any:
        for _ in range(10):
            x = x.sin()
            arrays.append(weakref.ref(x._array))
        return x

    x = leaf(1.0)
    kept = f(x)
    assert alive(arrays) == 10
    del kept
    arrays.clear()
    y = workbench.utils.checkpoint.checkpoint(f, x, use_reentrant=use_reentrant)
    assert alive(arrays) == 1  # the result
    total = y.sum()
    for _ in range(2):
        total.backward(retain_graph=True)
        assert alive(arrays) == 1
    del y, total
    assert alive(arrays) == 0
    freed = weakref.ref(x)
    del x
    assert freed() is None


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_failure_leaves_nothing_behind(counted: None, use_reentrant: bool) -> None:
    x = leaf(1.0)
    freed = weakref.ref(x)
    with pytest.raises(ZeroDivisionError):
        workbench.utils.checkpoint.checkpoint(lambda x: x.sin() / (1 // 0), x, use_reentrant=use_reentrant)
    y = x.sin()
    assert y.grad_fn._saved_self is x  # hooks are off again
    del x, y
    assert freed() is None


def test_inner_inputs_are_recomputed_too(counted: None) -> None:
    checkpoint = workbench.utils.checkpoint.checkpoint
    arrays: list[weakref.ref[np.ndarray]] = []

    def outer(x: Any) -> Any:
        for _ in range(3):
            x = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
            arrays.append(weakref.ref(x._array))
        return x

    x = leaf(1.0)
    y = checkpoint(outer, x, use_reentrant=False)
    assert alive(arrays) == 1
    y.sum().backward()
    assert alive(arrays) == 1


def test_debug_is_switched_for_all() -> None:
    module, x = workbench.utils.checkpoint, leaf(1.0)

    def run(debug: bool) -> Any:
        runs: list[Any] = []

        def f(x: Any) -> Any:
            runs.append(x)
            return x.sin().exp() if len(runs) == 1 else x.sin()

        return module.checkpoint(f, x, use_reentrant=False, debug=debug)

    with module.set_checkpoint_debug_enabled(True):
        forced = run(False)
    for y in (run(True), forced):
        with pytest.raises(module.CheckpointError, match="you passed `debug=True`"):
            y.sum().backward()
    with module.set_checkpoint_debug_enabled(False), pytest.raises(module.CheckpointError, match="Tip"):
        run(True).sum().backward()


def test_the_debug_log_holds_no_tensor(counted: None) -> None:
    made: list[weakref.ref[Any]] = []

    def f(x: Any) -> Any:
        for _ in range(3):
            x = x.sin()
            made.append(weakref.ref(x._array))
        return x

    y = workbench.utils.checkpoint.checkpoint(f, leaf(1.0), use_reentrant=False, debug=True)
    assert alive(made) == 1
    y.sum().backward()


def test_the_debug_log_is_of_one_thread() -> None:
    module, x, runs = workbench.utils.checkpoint, leaf(1.0), []

    def f(x: Any) -> Any:
        runs.append(x)
        thread = threading.Thread(target=lambda: leaf(2.0).cos())
        thread.start()
        thread.join()
        return x.sin().exp() if len(runs) == 1 else x.sin()

    with pytest.raises(module.CheckpointError) as caught:
        module.checkpoint(f, x, use_reentrant=False, debug=True).sum().backward()
    assert "aten.sin" in str(caught.value) and "aten.cos" not in str(caught.value)


def test_an_early_end_is_no_exception_of_the_users() -> None:
    def f(x: Any) -> Any:
        try:
            return x.sin().exp()
        except Exception:
            pytest.fail("the function sees the end of its recomputation")

    x = leaf(1.0)
    workbench.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
    assert x.grad is not None
