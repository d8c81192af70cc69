"""What modules hold and optimizers have, as both engines record it."""

from __future__ import annotations

from corpus import each_engine, recorded
from corpus.parameters import net_of, optimized

from workbench.pictures.trace.model_records import ModuleCalled, OptimizerFound


def of_kind(trace, kind):
    return [event for event in trace.events if isinstance(event, kind)]


@each_engine
def test_a_call_records_once_what_a_module_holds(engine):
    trace = recorded(engine, lambda torch: optimized(torch, second="unused"))
    (call,) = of_kind(trace, ModuleCalled)
    assert (call.name, call.module, call.grad, call.training) == ("net", "Net", True, True)
    paths = ["first.weight", "first.bias", "last.weight", "last.bias", "second.weight", "second.bias"]
    assert [held.path for held in call.parameters] == paths
    assert [(each.path, each.module, each.settings, each.training) for each in call.modes] == [
        ("drop", "Dropout", "p 0.25", True)
    ]
    assert [seen.name for seen in call.tensors] == ["net.second.weight", "net.second.bias"]
    assert "# the training" in call.source.text
    known = {tensor.id for event in trace.events for tensor in getattr(event, "tensors", ())}
    assert {held.tensor for held in call.parameters} <= known


@each_engine
def test_a_call_is_recorded_again_when_the_mode_or_what_it_holds_is_another(engine):
    def program(torch):
        net, x = net_of(torch), torch.randn(8, 4)

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
def test_a_loss_and_what_a_module_calls_are_not_recorded(engine):
    def program(torch):
        net, loss_of = torch.nn.Sequential(net_of(torch)), torch.nn.MSELoss()
        return lambda: loss_of(net(torch.randn(8, 4)), torch.randn(8, 2)).backward()

    assert [call.module for call in of_kind(recorded(engine, program), ModuleCalled)] == ["Sequential"]


@each_engine
def test_the_groups_of_an_optimizer_are_recorded_when_they_change(engine):
    def program(torch):
        net, x = net_of(torch), torch.randn(8, 4)
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
