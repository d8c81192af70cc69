"""Running a stepped backward to where something is to be seen, and what is told there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepped import leaf

import workbench as w


def tree() -> Any:
    x, y = leaf(0.5, -1.5), leaf(1.0, 2.0)
    a = (x * y).exp()
    return (a * x.sin() + a / y + (a + x).tanh()).sum(), x, y


def test_running_over_a_scope_runs_all_of_its_nodes() -> None:
    x = leaf(0.5, 1.5)
    with w.scope("first"):
        h = (x * x).exp()
    with w.scope("second"), w.scope("inner"):
        loss = (h.sin() * h).sum()
    s = w.step(loss).over("second")
    assert [step.scope for step in s.steps] == ["second/inner"] * 3
    assert s.current.name() == "ExpBackward0"
    assert s.over("second").position == 3, "nothing of it is left"
    assert [step.name for step in s.over("first").steps[3:]] == ["ExpBackward0", "MulBackward0"]
    with pytest.raises(ValueError, match='inside `with workbench.scope\\("third"\\)`. Scopes: first, second/inner'):
        s.over("third")


def test_a_run_stops_before_a_place_and_goes_on_from_there() -> None:
    loss, x, _ = tree()
    s = w.step(loss)
    assert s.run(until="SumBackward0").position == 0, "it is the first"
    assert s.run(until="tanh").current.name() == "TanhBackward0"
    assert s.reason == "tanh"
    mul = loss.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0]
    assert s.run(until=mul).current is mul
    assert s.run(until=x).current.name() == "torch::autograd::AccumulateGrad"
    assert s.run().done
    assert s.reason is None


def test_leaves_are_named_as_their_variables_are() -> None:
    weight, bias = leaf(1.0, 2.0), leaf(0.5, 0.25)
    s = w.step((weight * weight + bias).sum())
    assert s.run(until="weight").current.variable is weight
    assert s.reason == "weight"
    s.back(s.position)
    assert s.run(until=bias).reason == "bias"
    assert [str(s.breakpoint(place)) for place in (weight, "weight", "mul")] == ["weight", "weight", "mul"]
    s.run()
    assert (s.current.name(), s.run().current.variable) == ("MulBackward0", weight)
    s.edit("weight", 0, [5.0, 6.0]).run()
    assert weight.grad.tolist() == [5.0, 6.0]
    with pytest.raises(
        ValueError, match="named 'wait' in this backward pass. Nodes: A.*SumBackward0. Leaves: bias, weight. Scopes: "
    ):
        s.run(until="wait")
    with pytest.raises(ValueError, match="No gradient is waiting at AccumulateGrad of bias"):
        s.edit("bias", 0, 1.0)


def test_a_leaf_called_like_an_operation_is_a_place_beside_it() -> None:
    mul = leaf(1.0, 2.0)
    s = w.step((mul * mul).sum())
    assert [s.run(until="mul").current.name(), s.run(until="mul").current.variable] == ["MulBackward0", mul]
    assert s.run(until="mul").done


def test_a_run_stops_after_the_step_for_which_a_function_is_true() -> None:
    loss, *_ = tree()
    s = w.step(loss)
    s.run(until=lambda step: step.op == "div")
    assert s.steps[-1].name == "DivBackward0"
    assert s.steps[-1].outs[0].shape == (2,)


def test_breakpoints_by_what_gradients_are() -> None:
    x = leaf(0.0, 4.0)
    loss = (x.sqrt() * 10.0).sum()
    s = w.step(loss)
    broken = s.breakpoint(nonfinite=True)
    assert s.run().steps[-1].name == "SqrtBackward0"
    assert s.reason == "a gradient that is not finite"
    s.back(s.position)
    s.breakpoints.remove(broken)
    s.breakpoint(over=14.0)
    assert s.run().steps[-1].name == "MulBackward0"
    s.back(s.position)
    s.breakpoints[:] = []
    s.breakpoint("mul", under=2.0)
    assert s.run().steps[-1].name == "MulBackward0"
    s.breakpoint(x)
    assert s.run().current.variable is x
    assert s.run().done


def test_stepping_counts_nodes_and_stops_at_the_end() -> None:
    loss, *_ = tree()
    s = w.step(loss)
    assert s.step(0).position == 0
    assert s.step(2).position == 2
    assert s.step(100).done
    assert s.step() is s
    assert s.current is None
    assert s.ready == []


def test_what_waits_where() -> None:
    x = leaf(2.0)
    a, b = x.exp(), x.sin()
    s = w.step((a * b).sum()).step(3)
    assert [node.name() for node in s.ready] == ["ExpBackward0"]
    first, second = s.pending
    assert (first.node, first.missing) == (a.grad_fn, 0)
    assert (second.node.variable, second.missing) == (x, 1)
    np.testing.assert_allclose(second.grad.numpy(), np.exp(2) * np.cos(2))
    assert repr(second).endswith("waits at AccumulateGrad of x for 1 more>")
    with pytest.raises(ValueError, match="read-only"):
        second.grad.zero_()


def test_the_ready_queue_is_in_the_engines_order() -> None:
    x, y, z = leaf(2.0), leaf(3.0), leaf(4.0)
    s = w.step((x.exp() + y.sin() * z.cos() + x * y * z + z).sum())
    s.step(2)
    while not s.done:
        expected = s.ready[0]
        assert s.step().steps[-1].node is expected


def test_watching_a_tensor() -> None:
    x = leaf(1.0, 2.0)
    h = x * 3
    loss = (h * 2 + h.exp() * 0 + h).sum()
    h.register_hook(lambda g: g * 10)
    s = w.step(loss)
    assert s.watch(h) == []
    s.run()
    numbers = [(step, value.tolist()) for step, value in s.watch(h)]
    assert [value for _, value in numbers] == [[1.0, 1.0], [1.0, 1.0], [3.0, 3.0], [30.0, 30.0]]
    assert [s.steps[step - 1].name for step, _ in numbers[:3]] == ["AddBackward0", "ExpBackward0", "MulBackward0"]
    assert [value.tolist() for _, value in s.watch(loss)] == [1.0]
    assert [value.tolist() for _, value in s.watch(x)] == [[90.0, 90.0]]
    with pytest.raises(ValueError, match="does not require grad"):
        s.watch(w.ones(2))
    with pytest.raises(ValueError, match="isn't a node of this backward pass"):
        s.watch(leaf(1.0))


@pytest.mark.parametrize(
    ("text", "last", "stopped"),
    [
        ("not finite", "SqrtBackward0", "a gradient that is not finite"),
        (" norm > 1e1 ", "MulBackward0", "a norm over 10"),
        ("norm<100", "SumBackward0", "a norm under 100"),
    ],
)
def test_a_condition_is_said_in_words_in_python_too(text: str, last: str, stopped: str) -> None:
    s = w.step((leaf(0.0, 4.0).sqrt() * 10.0).sum())
    assert s.run(until=text).steps[-1].name == last and s.reason == stopped
    s.back(s.position)
    s.breakpoint(text)
    assert s.run().steps[-1].name == last
    with pytest.raises(ValueError, match="Type a number such as 0.5"):
        s.run(until="norm > many")
