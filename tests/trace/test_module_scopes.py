"""Every call of a module is a scope named as its caller holds it, and pictures have a box for each module."""

from __future__ import annotations

import copy
import gc
import re
import threading
import weakref
from typing import Any

import pytest
from module_samples import batch, mlp
from patience import PATIENCE

import workbench as w
from workbench import nn
from workbench.autograd.scopes import current_scope, scope_of
from workbench.autograd.state import scope_threads
from workbench.events import listeners
from workbench.pictures.trace.forward_records import NodeCreated


def scopes(out: Any) -> list[str]:
    """The scopes of the nodes behind a tensor, leaves left out, in the order in which the nodes were made."""
    found, waiting = {}, [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found and node.name() != "torch::autograd::AccumulateGrad":
            found[node] = scope_of(node)
            waiting += [parent for parent, _ in node.next_functions]
    return [found[node] for node in sorted(found, key=lambda node: node._sequence_nr())]


class Net(nn.Module):
    """Layers in a list, an activation that is used after each, and something of its own."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2, bias=False) for _ in range(layers)])
        self.act = nn.Tanh()

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = self.act(layer(x))
        return x * 2


def test_a_module_is_named_as_its_caller_holds_it_and_has_one_name_if_it_is_called_twice() -> None:
    layers = ["layers/0"] * 2 + ["layers/1"] + ["layers/2"] * 2 + ["layers/3"]
    assert scopes(mlp(w)(batch(w))) == [*[f"MLP/{each}" for each in (*layers, "head", "head")], "MLP"]
    rounds = [f"Net/{each}" for n in (0, 1) for each in (f"layers/{n}", f"layers/{n}", "act")]
    assert scopes(Net()(batch(w))) == [*rounds, "Net"]


def test_a_root_is_named_by_its_class_inside_open_scopes() -> None:
    with w.scope("first"):
        out = nn.Sequential(nn.Linear(2, 1, bias=False))(batch(w))
        assert current_scope() == "first"
    assert scopes(out) == ["first/Sequential/0"] * 2
    assert scopes(nn.MSELoss()(batch(w).requires_grad_(), batch(w))) == ["MSELoss"]


def test_a_scope_inside_forward_lies_between_module_and_part() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Tanh())

        def forward(self, x: Any) -> Any:
            with w.scope("inner"):
                return self.net(x) + self.net[0](x) + nn.Sigmoid()(x)

    out = Model()(batch(w).requires_grad_())
    assert scopes(out) == [f"Model/inner{part}" for part in ("/net/0", "/net/0", "", "/Sigmoid", "")]


def test_a_shared_module_has_the_name_of_the_caller_that_calls_it() -> None:
    shared = nn.Tanh()
    one, other = nn.Sequential(nn.Identity(), shared, shared), nn.Module()
    other.own = shared
    other.forward = lambda x: other.own(x)
    x = batch(w).requires_grad_()
    assert scopes(one(x)) == ["Sequential/1"] * 2
    assert scopes(other(x)) == ["Module/own"]
    assert scopes(shared(x)) == ["Tanh"]


def test_names_follow_what_a_module_holds() -> None:
    net = Net(1)
    assert scopes(net(batch(w)))[2] == "Net/act"
    net.relu, net.act = net.act, nn.Identity()
    net.layers.append(net.relu)
    assert scopes(net(batch(w))) == [*["Net/layers/0"] * 2, "Net/layers/1", "Net"]
    del net.layers[0]
    assert scopes(net(batch(w).requires_grad_())) == ["Net/layers/0", "Net"]
    assert scopes(net.requires_grad_()(batch(w).requires_grad_())) == ["Net/layers/0", "Net"]


def test_a_copy_has_its_own_names() -> None:
    net = Net()
    net(batch(w))
    assert scopes(copy.deepcopy(net)(batch(w))) == scopes(net(batch(w)))


def test_a_module_that_calls_itself_or_its_holder() -> None:
    class Again(nn.Module):
        def forward(self, x: Any, times: int) -> Any:
            return self(x, times - 1).sin() if times else x.cos()

    assert scopes(Again()(batch(w).requires_grad_(), 1)) == ["Again/Again", "Again"]


def test_hooks_run_in_the_scope_and_an_error_closes_it() -> None:
    net, seen = nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 3)), []
    net[0].register_forward_pre_hook(lambda *_: seen.append(current_scope()))
    net[0].register_forward_hook(lambda *_: seen.append(current_scope()))
    with pytest.raises(RuntimeError):
        net(batch(w))
    assert seen == ["Sequential/0"] * 2
    assert current_scope() is None and not scope_threads
    assert set(scopes(net[0](batch(w)))) == {"Linear"}


def test_each_thread_has_its_own_modules() -> None:
    meet, found = threading.Barrier(2), {}

    class Waits(nn.Module):
        def forward(self, x: Any) -> Any:
            meet.wait(PATIENCE)
            out = x.sin()
            meet.wait(PATIENCE)
            return out

    class Also(Waits):
        pass

    def run(kind: type) -> None:
        found[kind] = scopes(kind()(batch(w).requires_grad_()))

    threads = [threading.Thread(target=run, args=(kind,)) for kind in (Waits, Also)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {Waits: ["Waits"], Also: ["Also"]} and not scope_threads


def test_scopes_left_out_of_order_end_all_the_same() -> None:
    def inside() -> Any:
        with w.scope("inner"):
            yield

    made = inside()
    with w.scope("outer"):
        next(made)
    assert scope_threads
    made.close()
    assert not scope_threads and current_scope() is None


def test_an_open_scope_is_no_listener() -> None:
    with w.scope("quiet"):
        assert scope_threads and not listeners


def test_a_later_write_through_a_view_leaves_the_scope_of_the_first() -> None:
    base = w.ones(3, requires_grad=True) * 2
    view = base[:2]
    with w.scope("first"):
        view.mul_(3)
    outside = w.ones(3, requires_grad=True) * 2
    outside[:2].mul_(3)
    with w.scope("later"), w.no_grad():
        outside.detach()[:2].zero_()
        view.zero_()
    assert (scope_of(outside.grad_fn), scope_of(base.grad_fn)) == (None, "first")


def test_a_transform_of_a_module_names_its_nodes() -> None:
    net, seen = Net(), []
    net.act.register_forward_hook(lambda module, args, out: seen.append(scope_of(out.grad_fn)))
    params = {name: p.detach() for name, p in net.named_parameters()}
    w.func.grad(lambda p: w.func.functional_call(net, p, batch(w)).sum())(params)
    assert seen == ["Net/act"] * 2


def test_show_has_the_modules_of_a_model_that_was_not_recorded() -> None:
    loss = nn.MSELoss()(mlp(w)(batch(w)), batch(w))
    picture = w.show(loss, depth=9)
    boxes = picture.storyboard.at().boxes
    regions = [box for box in boxes.values() if box.kind == "region"]
    frames = [(box.title, boxes[box.region].title if box.region else None) for box in regions]
    layers = [("0 › Linear", "layers"), ("2 › Linear", "layers")]
    assert frames == [("MLP", None), ("layers", "MLP"), *layers, ("head", "MLP")]
    assert "MLP › head: leaf, t, layers @ ….T" in repr(picture).splitlines()


def deep(layers: int) -> Any:
    net = Net(layers)
    with w.record() as trace:
        net(batch(w)).sum().backward()
    return trace


@pytest.mark.slow
def test_modules_of_a_large_model_are_boxes_that_open() -> None:
    trace = deep(60)
    assert {event.scope for event in trace.events if isinstance(event, NodeCreated)} >= {"Net/layers/59", "Net/act"}
    (whole,) = [box for box in trace.show("graph", open=[]).storyboard.at().boxes.values() if box.kind == "group"]
    assert whole.title == "net › Net" and whole.lines == (
        "(3, 2) → (3, 2)",
        "181 operations, 240 parameters, saved 2.359 KiB: freed",
    )
    loop = ("for layer in self.layers: 60 iterations", "180 operations, 240 parameters, saved 2.352 KiB: freed")
    rounds = [
        ("iteration 1", "3 operations, 4 parameters, saved 48 bytes: freed"),
        ("58 more iterations (2 to 59)", "3 operations × 58, 232 parameters, saved 2.289 KiB: freed"),
        ("iteration 60", "3 operations, 4 parameters, saved 64 bytes: freed"),
    ]
    for options, around, inner in (({"open": ["Net"]}, [], [loop]), ({"open": [loop[0]]}, [loop[0]], rounds)):
        boxes = trace.show("graph", **options).storyboard.at().boxes
        frames = [id for id, box in boxes.items() if box.kind == "region"]
        assert [boxes[id].title for id in frames] == ["net › Net", *around]
        groups = [box for box in boxes.values() if box.kind == "group" and box.region == frames[-1]]
        assert [(box.title, box.lines[1]) for box in groups] == inner
    boxes = trace.show("graph", open=["iteration 1"]).storyboard.at().boxes.values()
    (layer,) = [box for box in boxes if box.title == "layers.0 › Linear"]  # which has no bias
    assert re.fullmatch(r"weight \(2, 2\), grad norm [-e\d.]+", layer.lines[1])
    frames = [box.title for box in trace.show("graph", open=["Net/layers/7"]).storyboard.at().boxes.values()]
    assert {"iteration 9"} <= set(frames) and any("layers.7 › Linear" in title for title in frames)


def test_the_stepper_runs_over_a_module_and_stops_before_one() -> None:
    s = w.step(nn.MSELoss()(mlp(w)(batch(w)), batch(w)))
    s.run(until="MLP/layers/2")
    assert {step.scope for step in s.steps} == {"MSELoss", "MLP", "MLP/head", "MLP/layers/3", None}
    s.over("MLP/layers/2")
    assert [step.scope for step in s.steps].count("MLP/layers/2") == 2
    assert "MLP/layers/1" not in {step.scope for step in s.steps}
    s.over("layers/0")
    assert {step.scope for step in s.steps} >= {"MLP/layers/1", "MLP/layers/0"}


@pytest.mark.parametrize("name", ["/", "a/b", "</script>", " ", "\u202e", "x" * 5000])
def test_parts_with_odd_names_are_shown_all_the_same(name: str) -> None:
    net = nn.Sequential()
    net.add_module(name, nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    out = net(batch(w))
    assert scope_of(out.grad_fn) == f"Sequential/{name}/1"
    assert "TanhBackward0" in repr(w.show(out))


def test_a_parameter_makes_the_nodes_that_any_tensor_makes() -> None:
    for requires_grad in (True, False):
        x, t = batch(w).double().requires_grad_(), w.tensor([2.0, 3.0], dtype=w.float64, requires_grad=requires_grad)
        p = nn.Parameter(t.detach(), requires_grad)
        for run in (lambda x, t: x * t, lambda x, t: t + x, lambda x, t: x @ t, lambda x, t: t.exp() * x):
            one, other = run(x, t), run(x, p)
            assert type(other) is w.Tensor and type(one.grad_fn) is type(other.grad_fn)
            assert [node and node.name() for node, _ in one.grad_fn.next_functions] == [
                node and node.name() for node, _ in other.grad_fn.next_functions
            ]
            one.sum().backward()
            other.sum().backward()
        assert (t.grad is p.grad is None) or w.equal(t.grad, p.grad)


def test_nothing_is_kept_of_calls_that_are_over() -> None:
    net = Net()
    out = net(batch(w))
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None and scopes(out)[-1] == "Net"


class Trainer:
    """Holds its model as no variable does."""

    def __init__(self) -> None:
        self.net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))

    def step(self) -> None:
        self.net(batch(w)).sum().backward()


def test_parameters_are_named_wherever_the_model_is_held() -> None:
    trainers = [Trainer(), Trainer()]
    with w.record() as trace:
        for trainer in trainers:
            trainer.step()
    names = {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.requires_grad}
    assert {"net.0.weight", "net.1.bias", "trainers[1].net.0.weight", "trainers[1].net.1.bias"} <= names


def test_parameters_are_named_by_the_module_that_has_them() -> None:
    net, x = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1))), batch(w)
    weight = net[0].weight
    with w.record() as trace:
        net(x).sum().backward()
    leaves = {box.title for box in trace.show().storyboard.scene.boxes.values() if box.kind == "leaf"}
    assert leaves == {"net.0.weight", "net.0.bias", "net.1.0.weight", "net.1.0.bias"}
    assert net[0].bias.grad is not None and weight.grad is not None
    s = w.step(net(x).sum())
    assert s.run(until="net.1.0.bias").reason == "net.1.0.bias"
