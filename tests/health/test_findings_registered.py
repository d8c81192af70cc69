"""What is found by what modules hold and optimisers have: both engines record it, and what is meant is not told."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, recorded, where

from workbench.recording import Trace
from workbench.trace.model_records import ModuleCalled, OptimizerFound


def model(torch, more=False):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 6)
            self.drop = nn.Dropout(0.25)
            self.last = nn.Linear(6, 2)
            if more:
                self.second = nn.Linear(6, 6)

        def forward(self, x):
            return self.last(self.drop(torch.tanh(self.first(x))))

    return Net()


def trained(torch, optimizer_of, more=False, rounds=3, clears=True):
    """A training whose optimiser is made by a function of the model."""
    net = model(torch, more)
    optimizer = optimizer_of(net)
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def run():
        for _ in range(rounds):
            if clears:
                optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()  # the training
            optimizer.step()  # of the optimiser

    return run


def sgd(torch, lr=0.05):
    return lambda net: torch.optim.SGD(net.parameters(), lr=lr)


def of_kind(trace, kind):
    return [event for event in trace.events if isinstance(event, kind)]


@each_engine
def test_a_call_tells_once_what_a_module_holds(engine):
    trace = recorded(engine, lambda torch: trained(torch, sgd(torch), more=True))
    (call,) = of_kind(trace, ModuleCalled)
    assert (call.name, call.module, call.grad, call.training) == ("net", "Net", True, True)
    paths = ["first.weight", "first.bias", "last.weight", "last.bias", "second.weight", "second.bias"]
    assert [held.path for held in call.parameters] == paths
    assert [(each.path, each.module, each.settings, each.training) for each in call.modes] == [
        ("drop", "Dropout", "p 0.25", True)
    ]
    assert [seen.name for seen in call.tensors] == ["net.second.weight", "net.second.bias"]
    assert where(trained, "# the training").startswith(f"{call.source.file}:{call.source.line} ")
    known = {tensor.id for event in trace.events for tensor in getattr(event, "tensors", ())}
    assert {held.tensor for held in call.parameters} <= known


@each_engine
def test_a_call_is_told_again_when_the_mode_or_what_it_holds_is_another(engine):
    def program(torch):
        net, x = model(torch), torch.randn(8, 4)

        def run():
            net(x)
            net(x)
            net.eval()
            with torch.no_grad():
                net(x)
                net(x)
            net.last = torch.nn.Linear(6, 3)
            net(x)

        return run

    calls = of_kind(recorded(engine, program), ModuleCalled)
    assert [(call.grad, call.training) for call in calls] == [(True, True), (False, False), (True, False)]
    held = [[each.tensor for each in call.parameters] for call in calls]
    assert held[0] == held[1] and held[0][:2] == held[2][:2] and held[0][2] != held[2][2]
    assert {seen.name for seen in calls[2].tensors} <= {"net.last.weight", "net.last.bias"}


@each_engine
def test_a_loss_and_what_a_module_calls_are_not_told(engine):
    def program(torch):
        net, loss_of = torch.nn.Sequential(model(torch)), torch.nn.MSELoss()
        return lambda: loss_of(net(torch.randn(8, 4)), torch.randn(8, 2)).backward()

    assert [call.module for call in of_kind(recorded(engine, program), ModuleCalled)] == ["Sequential"]


@each_engine
def test_the_groups_of_an_optimiser_are_told_when_they_change(engine):
    def program(torch):
        net, x = model(torch), torch.randn(8, 4)
        groups = [{"params": net.first.parameters()}, {"params": net.last.parameters(), "lr": 0.5}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)

        def run():
            for _ in range(4):
                optimizer.zero_grad()
                net(x).sum().backward()
                optimizer.step()
                schedule.step()

        return run

    trace = recorded(engine, program)
    found = of_kind(trace, OptimizerFound)
    assert [(each.optimizer, each.number) for each in found] == [("SGD", 1)] * 2
    assert [[group.lr for group in each.groups] for each in found] == [[0.1, 0.5], [0.05, 0.25]]
    (call,) = of_kind(trace, ModuleCalled)
    held = {each.tensor: each.path for each in call.parameters}
    assert [[held[id] for id in group.parameters] for group in found[0].groups] == [
        ["first.weight", "first.bias"],
        ["last.weight", "last.bias"],
    ]


@each_engine
def test_what_models_and_optimisers_are_told_to_hold_is_in_files(engine, tmp_path):
    trace = recorded(engine, lambda torch: trained(torch, sgd(torch), more=True))
    trace.save(tmp_path / "t.json")
    read = Trace.load(tmp_path / "t.json")
    for kind in (ModuleCalled, OptimizerFound):
        assert of_kind(read, kind) == of_kind(trace, kind) != []


def other(torch, clears=True):
    """An optimiser of a copy of the model."""

    def optimizer_of(net):
        old = model(torch)
        optimizer = torch.optim.SGD(old.parameters(), lr=0.1)
        optimizer.old = old
        return optimizer

    return trained(torch, optimizer_of, clears=clears)


@each_engine
@pytest.mark.parametrize("clears", [True, False])
def test_an_optimiser_of_another_model_is_told(engine, clears):
    first = found(engine, lambda torch: other(torch, clears))[0]
    assert (first.rule, first.certain) == ("optimiser of another model", True)
    assert where(trained, "# of the optimiser") in first.sentence
    assert "net.first.weight, net.first.bias, net.last.weight and net.last.bias" in first.sentence
    assert "never cleared: the norm of net.first.weight.grad is " in first.sentence


@each_engine
def test_an_optimiser_beside_the_one_of_the_model_is_healthy(engine):
    def program(torch):
        spare = torch.optim.SGD(model(torch).parameters(), lr=0.1)
        train = trained(torch, sgd(torch))

        def run():
            train()
            spare.step()

        return run

    assert not found(engine, program)


@each_engine
def test_a_layer_that_is_never_used_is_asked_about(engine):
    findings = found(engine, lambda torch: trained(torch, sgd(torch), more=True))
    assert [(each.rule, each.certain) for each in findings] == [("never used", False)]
    assert "Is net.second meant to take no part?" in findings[0].sentence
    assert "net.second.weight and net.second.bias" in findings[0].sentence
    assert "in 3 backwards" in findings[0].sentence and "The optimiser has it too." in findings[0].sentence


@each_engine
@pytest.mark.parametrize("how", ["frozen", "sometimes", "short"])
def test_a_layer_that_is_frozen_or_used_sometimes_is_healthy(engine, how):
    def program(torch):
        run = trained(torch, sgd(torch), more=how != "sometimes", rounds=1 if how == "short" else 3)
        if how != "frozen":
            return run
        net = next(cell.cell_contents for cell in run.__closure__ if isinstance(cell.cell_contents, torch.nn.Module))
        net.second.requires_grad_(False)
        return run

    assert not found(engine, program)


@each_engine
def test_a_learning_rate_of_zero_is_told_as_such(engine):
    findings = found(engine, lambda torch: trained(torch, sgd(torch, 0.0)))
    assert [(each.rule, each.certain) for each in findings] == [("step changes nothing", True)]
    assert "the learning rate (lr) is 0" in findings[0].sentence


@each_engine
def test_a_group_with_a_learning_rate_of_zero_is_asked_about(engine):
    def program(torch):
        def optimizer_of(net):
            return torch.optim.SGD(
                [{"params": net.first.parameters()}, {"params": net.last.parameters(), "lr": 0.0}], lr=0.1
            )

        return trained(torch, optimizer_of)

    findings = found(engine, program)
    assert [(each.rule, each.certain) for each in findings] == [("step changes nothing", False)]
    assert "The learning rate (lr) of its group is 0." in findings[0].sentence


@each_engine
def test_what_is_in_no_group_is_told_by_that(engine):
    findings = found(engine, lambda torch: trained(torch, lambda net: torch.optim.SGD(net.first.parameters(), lr=0.1)))
    assert [(each.rule, each.certain) for each in findings] == [("not in the optimiser", True)]
    assert "net.last.weight and net.last.bias are never updated: they are in no group of SGD" in findings[0].sentence
