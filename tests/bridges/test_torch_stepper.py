"""PyTorch's own engine, stepped: forwards, back, and sideways."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from functions import function, saved
from oracle import torch
from torch_models import are_equal, gradients, made, nodes_behind

import workbench
from workbench.pictures.views.stepper_picture import Stage


def net_and_loss() -> tuple[Any, Any]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    return net, net(torch.randn(5, 3)).pow(2).mean()


def grads(net: Any) -> list[Any]:
    return gradients([*net.parameters()])


def threads() -> int:
    return len([each for each in threading.enumerate() if each.name == "a stepped backward"])


def test_all_steps_are_the_backward_bit_by_bit_and_in_its_order() -> None:
    net, loss = net_and_loss()
    order: list[str] = []
    for node in nodes_behind(loss):
        node.register_prehook(lambda grads, node=node: order.append(node.name()))
    loss.backward(retain_graph=True)
    plain, hooked = grads(net), list(order)
    net.zero_grad()
    s = workbench.step(loss)
    while not s.done:
        s.step()
    assert [step.node.name() for step in s.steps if step.leaf is None] == hooked
    assert are_equal(plain, grads(net))
    assert threads() == 0


@pytest.mark.parametrize("name", ["encoder", "gru_cells", "lstm", "attention", "autocast"])
def test_what_others_wrote_is_stepped_to_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, parameters = made(name)()
    plain = [each.grad.clone() for each in parameters]
    stepped: list[Any] = []

    def step(self: Any) -> None:
        stepped.append(workbench.step(self).run())

    monkeypatch.setattr(torch.Tensor, "backward", step)
    _, parameters = made(name)()
    assert stepped[0].done
    assert are_equal(plain, [each.grad for each in parameters])


def test_between_steps_all_is_as_the_engine_has_it() -> None:
    net, loss = net_and_loss()
    s = workbench.step(loss)
    s.run(until=net[0].weight)
    assert net[0].weight.grad is None and net[0].bias.grad is not None
    assert s.current.name() == "torch::autograd::AccumulateGrad" and s.grads[net[0].weight] is None
    s.step()
    assert torch.equal(s.grads[net[0].weight], net[0].weight.grad)


def test_an_edited_gradient_is_what_the_engine_goes_on_with() -> None:
    net, loss = net_and_loss()
    s = workbench.step(loss).run(until="tanh").edit("tanh", 0, 0.0).run()
    assert [float(each.grad.abs().sum()) > 0 for each in net.parameters()] == [False, False, True, True]
    s.back(s.position)
    assert [each.grad for each in net.parameters()] == [None] * 4
    s.run()
    assert [float(each.grad.abs().sum()) > 0 for each in net.parameters()] == [True] * 4
    assert len(s.branches) == 2 and "TanhBackward0" in repr(s.compare("main"))


def test_back_runs_again_up_to_there_and_says_so() -> None:
    net, loss = net_and_loss()
    loss.backward(retain_graph=True)
    before = grads(net)
    s = workbench.step(loss).run()
    s.back(3)
    assert torch.equal(net[0].weight.grad, before[0]) and torch.equal(net[2].bias.grad, 2 * before[3])
    assert "PyTorch's backward pass was stopped and run again up to here" in repr(s)
    s.run()
    assert are_equal(grads(net), [2 * old for old in before])


def test_breakpoints_watch_and_conditions_take_tensors_and_nodes_of_torch() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    loss = (y * y + y).sum()
    s = workbench.step(loss)
    s.breakpoint(y)
    s.run()
    assert s.current.name() == y.grad_fn.name() and s.reason is not None
    assert [number for number, _ in s.watch(y)] == [2, 3]
    s = workbench.step(loss).run(until=lambda step: any(norm > 10 for norm in step.norms))
    assert 0 < s.position and not s.done
    s.run()


class Residual(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1, self.layer2 = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return x + self.layer2(torch.tanh(self.layer1(x)))


def test_a_run_goes_over_the_modules_that_the_variables_hold() -> None:
    net = torch.nn.Sequential(Residual(), torch.nn.ReLU(), Residual())
    loss = net(torch.randn(5, 3)).pow(2).mean()
    s = workbench.step(loss)
    scopes = [(step.op, step.scope) for step in s.run().steps if step.leaf is None]
    assert ("tanh", "net/0") in scopes and ("tanh", "net/2") in scopes and ("relu", "net") in scopes
    assert ("addmm", "net/0/layer1") in scopes and ("t", "net/2/layer2") in scopes and ("mean", None) in scopes
    s.back(s.position)
    s.over("net/2/layer2")
    assert [each.op for each in s.steps if each.leaf is None][-1] == "t" and s.steps[-1].scope == "net/2/layer2"
    assert not any(each.scope == "net/2/layer1" for each in s.steps)
    s.over("layer1")
    assert sum(each.scope in ("net/0/layer1", "net/2/layer1") for each in s.steps) == 4
    s.back(s.position)
    s.run("layer1")
    assert s.reason == "layer1" and s.current.name() == "AddmmBackward0"
    assert s.steps[-1].op == "tanh"
    with pytest.raises(ValueError, match="Scopes: net, net/0, net/0/layer1, net/0/layer2, net/2"):
        s.over("layer3")


back = saved(lambda grad, x, weight: (grad @ weight, grad.T @ x))
Product = function(torch, lambda ctx, x, weight: x @ weight.T, back, saves=True, name="Product")


def test_a_function_is_not_told_as_the_module_whose_parameters_it_takes() -> None:
    layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    s = workbench.step((Product.apply(x, layer.weight) * layer(x)).sum())
    boxes = Stage(s).scene.boxes.values()
    (own,) = [box for box in boxes if box.kind == "function"]
    assert own.title == "Product.apply(…, layer.weight)" and own.region is None
    assert {step.op: step.scope for step in s.run().steps}["addmm"] == "layer"
    assert [step.scope for step in s.steps if step.op == "Product"] == [None]


def test_a_tensor_of_another_graph_is_refused() -> None:
    _, loss = net_and_loss()
    s = workbench.step(loss)
    with pytest.raises(ValueError, match="^This tensor's node isn't a node of this backward"):
        s.edit(torch.ones(2, requires_grad=True).exp(), 0, 1.0)


def test_what_no_module_made_has_no_scope_and_one_called_twice_is_one() -> None:
    w = torch.ones(3, 3, requires_grad=True)
    assert all(step.scope is None for step in workbench.step((w @ w).sum()).run().steps)
    cell, h = torch.nn.Linear(3, 3), torch.ones(1, 3)
    for _ in range(3):
        h = torch.tanh(cell(h))
    s = workbench.step(h.sum()).run()
    assert [step.scope for step in s.steps if step.op == "addmm"] == ["cell"] * 3


def test_gradients_are_handed_to_the_caller_as_grad_does() -> None:
    net, loss = net_and_loss()
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    for root, given in ((loss, net[0].weight), ((z * z).real.sum(), z)):
        (plain,) = torch.autograd.grad(root, given, retain_graph=True)
        s = workbench.step(root, inputs=[given])
        assert s.grads[given] is None
        assert torch.equal(s.run().grads[given], plain) and given.grad is None


def test_hooks_run_and_what_they_make_of_gradients_is_told() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: grad + 1)
    loss = y.sum()
    s = workbench.step(loss).run()
    assert x.grad.tolist() == [21.0, 21.0]
    assert [step.incoming[0].tolist() for step in s.steps[1:]] == [[10.0, 10.0], [21.0, 21.0]]
    assert "[21. 21.]" in repr(s)


def test_an_error_in_a_node_is_the_users_and_back_goes_on() -> None:
    class Bad(torch.autograd.Function):
        fails = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if Bad.fails:
                raise ValueError("not today")
            return grad

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    s = workbench.step(Bad.apply(x * 2).sum())
    with pytest.raises(ValueError, match="not today"):
        s.run()
    assert isinstance(s.error, ValueError)
    Bad.fails = False
    s.back().run()
    assert s.done and x.grad.tolist() == [2.0, 2.0]


def test_another_backward_meanwhile_works_even_through_the_same_graph() -> None:
    net, loss = net_and_loss()
    s = workbench.step(loss).step(2)
    other = torch.ones(3, requires_grad=True)
    (other * other).sum().backward()
    assert other.grad.tolist() == [2.0, 2.0, 2.0]
    (grad,) = torch.autograd.grad(loss, net[0].bias, retain_graph=True)
    s.run()
    assert torch.equal(net[0].bias.grad, grad)


def test_leaving_a_stepper_ends_its_thread_and_keeps_what_has_come() -> None:
    net, loss = net_and_loss()
    s = workbench.step(loss).run(until="tanh")
    assert threads() == 1
    del s
    gc.collect()
    assert threads() == 0
    assert net[2].bias.grad is not None and net[0].bias.grad is None
    loss.backward()  # the graph is still good


def test_an_interrupt_while_a_node_runs_leaves_the_stepper_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    net, loss = net_and_loss()
    loss.backward(retain_graph=True)
    plain = grads(net)
    net.zero_grad()
    s = workbench.step(loss).step(3)
    here = s._driver._here

    class Interrupted:
        release = here.release

        def acquire(self) -> None:
            monkeypatch.setattr(s._driver, "_here", here)
            raise KeyboardInterrupt

    s._driver._here = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        s.step()
    s.run()
    assert s.done and are_equal(plain, grads(net))


def test_what_cannot_be_stepped_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="don't pass create_graph=True"):
        workbench.step(net_and_loss()[1], create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        workbench.step(torch.ones(1))
    s = workbench.step(net_and_loss()[1])
    with pytest.raises(TypeError, match="floating-point or complex gradients"):
        s.edit("mean", 0, torch.tensor(1))


def test_a_sparse_gradient_is_stepped_through_as_its_numbers() -> None:
    net = torch.nn.Embedding(4, 2, sparse=True)

    def loss() -> Any:
        return (net(torch.tensor([1, 2, 1])) * 3).sum()

    loss().backward()
    (plain,) = grads(net)
    for start in (None, plain.clone()):  # the second adds to a gradient that is there
        net.weight.grad = start
        s = workbench.step(loss()).run()
        want = plain.to_dense() * (1 if start is None else 2)
        assert net.weight.grad.is_sparse and torch.equal(net.weight.grad.to_dense(), want)
        assert "EmbeddingBackward0" in str(s) and s.back(2).run().done
        assert torch.equal(net.weight.grad.to_dense(), want)


def test_a_recording_around_the_forward_tells_the_lines_and_so_does_anomaly_mode() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    x = torch.ones(2, 3)
    s = workbench.step(net(x).sum())
    assert s.line() is None and "line:    unknown: record the forward" in repr(s)
    with workbench.record(torch):
        loss = net(x).sum()  # recorded
        within = workbench.step(loss)
    with torch.autograd.set_detect_anomaly(True):
        loss = net(x).sum()  # detected
    for s, mark in ((within, "# recorded"), (workbench.step(loss), "# detected")):
        assert s.line() is not None and s.line().text.endswith(mark) and s.line().file == "test_torch_stepper.py"
        s.step()
        assert f"line:    TanhBackward0 was created at test_torch_stepper.py:{s.line('tanh').line}: loss" in repr(s)
        assert s.line(net[0].weight) is None
        assert {step.scope for step in s.run().steps if step.op == "addmm"} == {"net/0"}


def test_a_trace_that_is_kept_tells_the_lines_later() -> None:
    net = torch.nn.Linear(3, 4)
    with workbench.record(torch) as trace:
        loss = net(torch.ones(2, 3)).sum()
    s = workbench.step(loss).run()
    shown = [event for event in s._graph.records() if type(event).__name__ == "NodeCreated"]
    assert {each.source.text for each in shown} == {"loss = net(torch.ones(2, 3)).sum()"} and trace.events
    assert "loss = net(torch.ones(2, 3)).sum()" in str(workbench.show(loss).storyboard.scene.boxes)


def embedded() -> tuple[Any, list[Any]]:
    table, linear = torch.nn.Embedding(6, 3, sparse=True), torch.nn.Linear(3, 2)
    loss = linear(table(torch.tensor([1, 1, 4]))).pow(2).sum() + table(torch.tensor([2])).sum()
    return loss, [*table.parameters(), *linear.parameters()]


def transformed() -> tuple[Any, list[Any]]:
    z, w = torch.randn(3, dtype=torch.complex64, requires_grad=True), torch.randn(3, requires_grad=True)
    y = torch.fft.fft(z * w)
    return y.abs().pow(2).sum() + (z * z).imag.sum(), [z, w]


def jagged() -> tuple[Any, list[Any]]:
    w = torch.randn(3, 3, requires_grad=True)
    return (torch.nested.as_nested_tensor([w, w[:2]], layout=torch.jagged) * 2).values().sum(), [w]


def dense(grad: Any) -> Any:
    return grad.to_dense() if grad.is_sparse else grad


@pytest.mark.parametrize(
    ("program", "warning"),
    [(embedded, ""), (transformed, ""), (jagged, "shown as nan")],
)
def test_sparse_complex_and_nested_gradients_are_stepped_to_the_same_bits(program: Any, warning: str) -> None:
    torch.manual_seed(0)
    loss, leaves = program()
    loss.backward()
    torch.manual_seed(0)
    other, stepped = program()
    s = workbench.step(other).run()
    s.back(3)
    s.run()
    assert s.done and s.error is None and warning in repr(s)
    assert [each.grad.layout for each in leaves] == [each.grad.layout for each in stepped]
    assert are_equal([dense(each.grad) for each in leaves], [dense(each.grad) for each in stepped])
    Stage(s)


def test_a_leaf_without_numbers_is_stepped_as_nan() -> None:
    w = torch.randn(3, 3, device="meta", requires_grad=True)
    s = workbench.step((w * 2).sum()).run()
    assert s.done and w.grad.is_meta and "nan" in repr(s)


def test_a_compiled_part_that_gives_its_memory_away_is_stepped_once() -> None:
    class CompiledFunction(torch.autograd.Function):  # as PyTorch names it
        metadata = type("Metadata", (), {"bw_donated_idxs": [0]})

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if torch._C._autograd._get_current_graph_task_keep_graph():
                raise RuntimeError("set torch._functorch.config.donated_buffer=False")
            return 2 * grad * ctx.saved_tensors[0]

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    s = workbench.step(CompiledFunction.apply(x).sum())
    s.run()
    assert s.done and x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="donated_buffer = False before you compile"):
        s.back()
