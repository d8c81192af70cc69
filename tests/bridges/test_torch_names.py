"""What modules and their parameters are called, wherever the program holds the model."""

from __future__ import annotations

import re
from typing import Any

from oracle import torch

import workbench
from workbench.pictures.trace.forward_records import NodeCreated

x = torch.linspace(-1, 1, 12).reshape(4, 3)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return x + torch.relu(self.conv1(x))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1, self.head = torch.nn.Sequential(Block(), Block()), torch.nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer1(x))


INSIDE = {"layer1.0.conv1", "layer1.1.conv1", "head"}


class Trainer:
    def __init__(self) -> None:
        self.net = Net()

    def step(self, x: Any) -> None:
        self.net(x).pow(2).mean().backward()

    def recorded(self) -> Any:
        with workbench.record(torch) as trace:
            self.step(x)
        return trace


class LightningLike(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()

    def training_step(self, x: Any) -> Any:
        return self.net(x).mean()


class Loop:
    """Calls the user's module as a library does."""

    def fit(self, module: Any) -> None:
        module.training_step(x).backward()


class App:
    def __init__(self) -> None:
        self.trainer = Trainer()


def named(trace: Any) -> set[str]:
    return {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.name} - {"x"}


def modules(trace: Any) -> set[str]:
    """The modules whose parameters have names, all of which must have some."""
    leaves = {
        seen.name
        for event in trace.events
        for seen in getattr(event, "tensors", ())
        if seen.requires_grad and seen.node is None
    }
    assert None not in leaves
    return {name.rpartition(".")[0] for name in leaves}


def called(trace: Any) -> set[str]:
    return {event.scope for event in trace.events if isinstance(event, NodeCreated) and event.scope}


def inside(*names: str) -> set[str]:
    return {f"{name}.{each}" for name in names for each in INSIDE}


def test_an_attribute_of_what_runs_it_names_the_model_its_parameters_and_its_calls() -> None:
    trainer = Trainer()
    for trace in (trainer.recorded(), App().trainer.recorded()):
        assert modules(trace) == inside("net")
        assert {"net/layer1/0/conv1", "net/layer1/1", "net/head"} <= called(trace)
    app = App()
    with workbench.record(torch) as trace:
        app.trainer.step(x)
    assert modules(trace) == inside("net")
    told = repr(trace.show(depth=9))
    assert "`net.layer1.0.conv1.weight.grad` becomes" in told and "unnamed" not in told


def test_lists_and_dicts_and_loops_over_them_tell_models_apart() -> None:
    nets, named = [Net(), Net()], {"a": Net()}
    with workbench.record(torch) as trace:
        for net in nets:
            net(x).sum().backward()
        named["a"](x).sum().backward()
    assert modules(trace) == inside("nets[0]", "nets[1]", 'named["a"]')
    assert {"nets[0]/head", "nets[1]/head", 'named["a"]/head'} <= called(trace)


def test_layers_that_a_module_never_registered_are_called_by_the_list_that_holds_them() -> None:
    class Listed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(3, 3))]

        def forward(self, x: Any) -> Any:
            return self.blocks[1](self.blocks[0](x))

    listed = Listed()
    with workbench.record(torch) as trace:
        listed(torch.ones(2, 3)).sum().backward()
    assert modules(trace) == {"listed.blocks[0]", "listed.blocks[1].0"}


def test_two_models_that_one_function_is_given_keep_the_names_of_who_gives_them() -> None:
    def run(model: Any) -> None:
        model(x).sum().backward()

    generator, critic = Net(), Net()
    with workbench.record(torch) as trace:
        run(generator)
        run(critic)
    assert modules(trace) == inside("generator", "critic")


def test_a_closure_and_a_module_around_it_name_the_model() -> None:
    def maker() -> Any:
        net = Net()

        def run() -> None:
            net(x).sum().backward()

        return run

    run = maker()
    with workbench.record(torch) as trace:
        run()
    assert modules(trace) == inside("net")
    lit = LightningLike()
    with workbench.record(torch) as trace:
        Loop().fit(lit)
    assert modules(trace) == inside("lit.net") and "lit/net/head" in called(trace)


def test_a_model_that_no_variable_holds_is_called_by_its_class() -> None:
    nets = frozenset([Net(), Net()])
    with workbench.record(torch) as trace:
        sum(net(x) for net in nets).sum().backward()
    assert modules(trace) == inside("Net", "Net#2")


def test_parameters_that_are_put_in_later_have_names_too_and_a_variable_renames_none() -> None:
    trainer = Trainer()
    weight = trainer.net.head.weight
    with workbench.record(torch) as trace:
        trainer.step(x)
        trainer.net.layer1[0].conv1 = torch.nn.Linear(3, 3)
        trainer.net.head.bias = torch.nn.Parameter(torch.zeros(1))
        trainer.step(x)
    assert modules(trace) == inside("net") and not {"weight", "head.weight"} & {*named(trace)}
    assert weight.grad is not None


def test_a_graph_that_nobody_recorded_is_shown_in_the_scopes_that_it_is_stepped_in() -> None:
    app = App()
    loss = app.trainer.net(x).mean()
    s = workbench.step(loss).run()
    stepped = {step.scope for step in s.steps if step.scope}
    assert {"net/layer1/0/conv1", "net/layer1/1/conv1", "net/head"} <= stepped
    told = repr(workbench.show(loss, depth=9))
    assert "net › head: net.head.weight" in told and "net.layer1.1.conv1.bias" in told
    assert "net.layer1.0.conv1.weight" in repr(s)


def test_a_model_that_no_frame_reaches_is_found_for_its_graph() -> None:
    def losses() -> Any:
        for trainer in iter([Trainer()]):
            yield trainer.net(x).mean()

    waiting = losses()
    loss = next(waiting)
    s = workbench.step(loss).run()
    assert "Net/layer1/0/conv1" in {step.scope for step in s.steps} and "Net.head.weight" in repr(s)
    assert "head" in repr(workbench.show(loss))


def test_what_a_transform_returns_is_beside_what_it_is_of_under_its_name() -> None:
    def cube(x):
        return (x**3).sum()

    x, rows = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    with workbench.record(torch) as trace:
        g = torch.func.grad(cube)(x)
    with workbench.record(torch) as batched:
        per_row = torch.func.vmap(torch.func.grad(cube))(rows)
    for each, name, value in ((trace, "g", g), (batched, "per_row", per_row)):
        boxes = each.show().storyboard.at().boxes.values()
        (found,) = [box for box in boxes if box.kind == "returned" and box.state != "future"]
        shown = [float(number) for number in re.findall(r"-?\d+\.\d*", " ".join(found.lines))]
        assert (found.title, shown) == (name, value.flatten().tolist())
