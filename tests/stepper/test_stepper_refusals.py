"""What a stepper refuses: with a sentence, at once, and nothing has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepped import leaf

import workbench as w


def test_edits_that_cannot_be() -> None:
    x = leaf(1.0, 2.0)
    h = x.exp()
    s = w.step((h * h.sin() + x.exp()).sum()).step(2)
    at_exp = "No gradient is waiting at ExpBackward0 \\(input_nr 0\\).*wait at Exp"
    for edit, error, sentence in [
        (lambda: s.edit(h, 0, [1.0]), ValueError, at_exp),
        (lambda: s.edit(s.current, 1, 1.0), ValueError, "input_nr 1"),
        (lambda: s.edit(s.current, 0, [1.0]), ValueError, "has shape \\[2\\], but the new value has \\[1\\]"),
        (lambda: s.edit(s.current, 0, "many"), TypeError, "as the new gradient, but got str"),
        (lambda: s.edit("tanh", 0, 1.0), ValueError, "No node or scope named 'tanh' in this backward pass"),
        (lambda: s.edit(7, 0, 1.0), TypeError, "Expected a place "),
        (lambda: s.edit(x.detach(), 0, 1.0), ValueError, "does not require grad"),
        (lambda: s.edit(leaf(1.0), 0, 1.0), ValueError, "AccumulateGrad isn't a node of this backward pass"),
    ]:
        with pytest.raises(error, match=sentence):
            edit()
    with pytest.raises(ValueError, match="Gradients wait at 2 nodes named 'mul'"):
        w.step(((x * 2) * (x * 3)).sum()).step(2).edit("mul", 0, 1.0)


def powers() -> tuple[Any, Any]:
    x = leaf(1.0, 2.0)
    return x, w.step((x**2 * 3).sum()).run(until="pow")


@pytest.mark.parametrize(
    ("nr", "value", "error", "sentence"),
    [
        ("a", 1.0, TypeError, "number of a node's output, an int, but got 'a'"),
        (1.0, 1.0, TypeError, "number of a node's output, an int, but got 1.0"),
        (-1, 1.0, ValueError, r"No gradient is waiting at PowBackward0 \(input_nr -1\)"),
        (0, [[1.0], [1.0, 2.0]], ValueError, r"in rows of equal length, but got \[\[1.0\], \[1.0, 2.0\]\]"),
        (0, ["1", "2"], ValueError, "Expected numbers as the new gradient"),
        (0, [None, 1.0], ValueError, "Expected numbers as the new gradient"),
        (0, np.array([1j, 2]), ValueError, "Expected numbers as the new gradient"),
        (0, 10**400, ValueError, "Expected numbers as the new gradient"),
        (0, np.ones((2, 1)), ValueError, r"has shape \[2\], but the new value has \[2, 1\]"),
        (0, {1.0}, TypeError, "a number, an array or a tensor as the new gradient, but got set"),
        (0, w.ones(2), TypeError, r"torch.float64, .* torch.float32. Convert it with .to\(torch.float64\)"),
        (0, w.tensor([1, 2]), TypeError, "new tensor is torch.int64"),
    ],
)
def test_what_no_gradient_can_be_changed_to(nr: Any, value: Any, error: Any, sentence: str) -> None:
    x, s = powers()
    with pytest.raises(error, match=sentence):
        s.edit("pow", nr, value)
    assert "edited" not in repr(s)
    assert [each.grad.tolist() for each in s.pending] == [[3.0, 3.0]]
    assert s.run() and x.grad.tolist() == [6.0, 12.0]


@pytest.mark.parametrize(
    "value",
    [2, True + True, np.float32(2), np.int8(2), [2, 2], (2.0, 2.0), np.array([2, 2]), np.array([2, 2], np.float16)],
)
def test_numbers_and_arrays_become_the_gradients_own_dtype(value: Any) -> None:
    x, s = powers()
    s.edit("pow", np.int64(0), value).run()
    assert (x.grad.dtype, x.grad.tolist()) == (w.float64, [4.0, 8.0])


def test_an_array_that_was_given_may_be_written_afterwards() -> None:
    for mine in (np.array([2.0, 2.0]), w.tensor([2.0, 2.0], dtype=w.float64)):
        x, s = powers()
        s.edit("pow", 0, mine)
        mine[0] = 100.0
        assert s.run() and x.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("bounds", [{"over": "x"}, {"under": [1.0]}, {"over": w.ones(2)}])
def test_bounds_are_numbers(bounds: Any) -> None:
    x, s = powers()
    with pytest.raises(TypeError, match="over= and under= are bounds on a gradient's norm: expected a number, but got"):
        s.breakpoint("pow", **bounds)
    assert s.breakpoints == []
    assert s.run().done


def test_bounds_may_be_numbers_of_numpy() -> None:
    _, s = powers()
    s.back(s.position)
    s.breakpoint(over=np.float32(4.0))
    assert s.run().steps[-1].name == "MulBackward0"
    assert s.reason == "a norm over 4"
