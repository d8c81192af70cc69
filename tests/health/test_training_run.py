"""A training gathered from its records: parameters, gradients, updates, calls and steps, of both engines alike."""

from __future__ import annotations

import math

import pytest
from corpus import ROOT, each_engine, recorded
from corpus.loop import loop
from corpus.not_finite import of_a_gradient

import workbench
from workbench.diagnosis.health.measures import distance, is_nothing, is_same, is_zero, share_of_zeros
from workbench.diagnosis.health.training_run import TrainingRun
from workbench.pictures.trace.values import Value


def mlp(torch, rounds=3):
    """A training of two layers with an optimizer, and of a third with none, by hand."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    w = torch.randn(2, requires_grad=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])

    def run():
        for _ in range(rounds):
            loss = nn.functional.cross_entropy(net(x) * w, y)
            optimizer.zero_grad()
            w.grad = None
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                w.sub_(0.1 * w.grad)

    return run


@each_engine
def test_parameters_stand_in_the_order_of_the_model_with_all_that_came_to_them(engine):
    run = TrainingRun(recorded(engine, mlp).events)
    assert [each.shape for each in run.trained] == [(4, 3), (4,), (2, 4), (2,), (2,)]
    for parameter in run.trained:
        assert len(parameter.gradients) == len(parameter.updates) == 3
        for arrived, update in zip(parameter.gradients, parameter.updates, strict=True):
            assert arrived.before is None
            assert is_same(arrived.own, arrived.after)
            assert is_same(update.grad, arrived.after)
            assert math.isclose(update.size, 0.1 * arrived.own.norm, rel_tol=1e-3)
        assert {update.optimizer for update in parameter.updates} == ({None} if parameter.name == "w" else {"SGD"})


@each_engine
def test_each_round_is_a_step_with_its_loss_gradients_and_updates(engine):
    trace = recorded(engine, mlp)
    run = TrainingRun(trace.events)
    assert [step.number for step in run.steps] == [1, 2, 3]
    for step in run.steps:
        assert len(step.backwards) == 1
        assert len(step.gradients) == len(step.updates) == 5
        assert step.loss > 0
        names = [name for name, _ in run.activations(step)]
        calls = [f"{ROOT[engine]}/{at}" for at in range(3)]
        assert names == [*calls, "mul", "log_softmax", "nll_loss"]
    values = [node.outputs[0].shape for _, node in run.activations(run.steps[-1])]
    assert values[:3] == [(5, 4), (5, 4), (5, 2)]


@each_engine
def test_gradients_gathered_over_several_rounds_are_one_step(engine):
    run = TrainingRun(recorded(engine, lambda torch: loop(torch, "after", gathered=2)).events)
    assert [len(step.backwards) for step in run.steps] == [2, 2]
    first, second = run.trained[0].gradients[:2]
    assert first.before is None and is_same(second.before, first.after)


@each_engine
def test_steps_without_a_loop_end_with_the_update(engine):
    def program(torch):
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def run():
            (w * w).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            (w * w * w).sum().backward()
            optimizer.step()

        return run

    run = TrainingRun(recorded(engine, program).events)
    assert [(len(step.backwards), len(step.updates)) for step in run.steps] == [(1, 1), (1, 1)]


@each_engine
def test_an_input_that_is_differentiated_is_no_weight(engine):
    def program(torch):
        net = torch.nn.Linear(2, 1)
        x = torch.ones(3, 2, requires_grad=True)

        def run():
            net(x).sum().backward()

        return run

    run = TrainingRun(recorded(engine, program).events)
    assert len(run.parameters) == 3
    assert [each.name for each in run.trained] == ["net.weight", "net.bias"]


def parts_written(torch):
    """A weight of which parts are written, and a leaf that shares its memory."""
    w = torch.ones(3, requires_grad=True)

    def run():
        (w**3).sum().backward()
        with torch.no_grad():
            w[0] += 1e-3
            w.view(3)[1:].mul_(0.5)
            w.narrow(0, 0, 2).fill_(2.0)
        part = w.detach()[1:].requires_grad_()
        (part * 2).sum().backward()

    return run


@each_engine
def test_a_part_of_a_weight_is_a_weight_of_its_own_only_if_it_collects_gradients(engine):
    run = recorded(engine, parts_written).kept(TrainingRun)
    assert [(each.name, len(each.gradients)) for each in run.parameters.values()] == [("w", 1), ("part", 1)]
    assert run.parameters[next(iter(run.parameters))].updates


@each_engine
def test_a_cut_is_known_with_its_line(engine):
    def program(torch):
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)

        def run():
            ((w * 2).detach() * v).sum().backward()

        return run

    run = TrainingRun(recorded(engine, program).events)
    [(_, cut)] = run.cuts.values()
    assert cut.word == "detach" and "detach()" in cut.source.text
    assert not run.trained[0].gradients and run.trained[1].gradients


def test_what_a_summary_tells_is_a_lower_bound():
    one, other = Value.of([1.0, 2.0, 3.0]), Value.of([3.0, 2.0, 1.0])
    assert distance(one, other) == math.sqrt(8)
    summaries = [Value.of([1.0, 2.0, 3.0], 0), Value.of([1.0, 2.0, 6.0], 0)]
    assert 2.9 < distance(*summaries) <= 3
    assert not is_same(*summaries)
    assert share_of_zeros(Value.of([0.0, 1.0])) == 0.5
    assert share_of_zeros(Value.of([0.0, 1.0] * 9, 0)) == 0.5
    assert share_of_zeros(Value.of([2.0, 1.0] * 9, 0)) == 0
    assert share_of_zeros(Value.of([0.0, -1.0, 1.0], 0)) is None
    assert share_of_zeros(Value.of([0.0] * 9, 0)) == 1


def test_an_array_of_zeros_is_zero_and_no_gradient_is_nothing():
    zeros, unknown, empty = Value.of([0.0, 0.0]), Value.unknown((2,), "float32"), Value.of([])
    assert is_zero(zeros) and not is_zero(unknown) and not is_zero(empty)
    assert is_nothing(None) and is_nothing(zeros) and not is_nothing(unknown)


def test_a_trace_gathers_its_run_once_and_anew_when_it_has_grown(monkeypatch):
    gathered = []
    begin = TrainingRun.__init__
    monkeypatch.setattr(TrainingRun, "__init__", lambda run, events: gathered.append(len(events)) or begin(run, events))
    step = mlp(workbench, rounds=1)
    with workbench.record() as trace:
        step()
        trace.findings()
        trace.show("health")
        assert trace.why("net.0.weight").verdict == "there" and len(gathered) == 1
        (workbench.ones(2, requires_grad=True) * 2).sum().backward()
        assert len(trace.kept(TrainingRun).backwards) == 2 and len(gathered) == 2
    trace.findings()
    trace.findings()
    assert len(gathered) <= 3 and gathered[-1] == len(trace.events)  # names, maybe, were learned at the end


def test_rules_look_at_a_trace_once_and_anew_when_it_has_grown(monkeypatch):
    looked = []
    monkeypatch.setattr(
        "workbench.diagnosis.health.findings.RULES", (lambda run: looked.append(len(run.events)) or [],)
    )
    step = mlp(workbench, rounds=1)
    with workbench.record() as trace:
        step()
        trace.findings().append("mine")
        assert trace.findings() == [] and len(looked) == 1
        trace.show("health")
        assert len(looked) == 1
        (workbench.ones(2, requires_grad=True) * 2).sum().backward()
        trace.findings()
        assert len(looked) == 2 and looked[1] > looked[0]


@each_engine
@pytest.mark.parametrize("when", [0, 2, 3])
def test_a_write_in_one_step_only_ends_no_step_before_its_updates(engine, when):
    run = TrainingRun(recorded(engine, lambda torch: of_a_gradient(torch, "gradient", when, 2.0)).events)
    assert [(len(step.backwards), len(step.updates)) for step in run.steps] == [(1, 2)] * 4


def blocks_in_a_list(torch):
    """Blocks of a list, which is not called itself."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(2)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    net = Net()
    return lambda: net(torch.ones(2, 3)).sum().backward()


@each_engine
def test_calls_in_a_list_are_called_as_their_nodes_are(engine):
    run = TrainingRun(recorded(engine, blocks_in_a_list).events)
    root = {"workbench": "Net", "torch": "net"}[engine]
    assert {call.scope for call in run.calls.values()} >= {root, f"{root}/blocks/0", f"{root}/blocks/1/1"}
    assert {node.made.scope for node in run.nodes.values() if node.made.scope} <= {
        call.scope for call in run.calls.values()
    }


def _assigned(w):
    w.data = w.data - 0.1 * w.grad


def _added(w):
    w.data.add_(w.grad, alpha=-0.1)


def _subtracted(w):
    w.data -= 0.1 * w.grad


def _put(w):
    w.data[:] = w.data - 0.1 * w.grad


def _moved(w):
    w.data = w.data.clone()


def by_hand(torch, update, rounds=3):
    """A training without an optimizer, whose last line is an update through `.data`."""
    w = torch.ones(3, requires_grad=True)

    def run():
        for _ in range(rounds):
            w.grad = None
            (w * w).sum().backward()
            update(w)

    return run


@each_engine
@pytest.mark.parametrize("update", [_assigned, _added, _subtracted, _put])
@pytest.mark.parametrize("rounds", [1, 3])
def test_each_update_through_data_is_counted_and_the_last_one_too(engine, update, rounds):
    (parameter,) = TrainingRun(recorded(engine, lambda torch: by_hand(torch, update, rounds)).events).trained
    assert len(parameter.updates) == rounds
    assert all(math.isclose(each.size, 0.2 * each.before.norm, rel_tol=1e-3) for each in parameter.updates)


def _by_rows(w):
    w[0] -= 0.1 * w.grad[0]
    w[1] -= 0.1 * w.grad[1]
    for at in (2, 3):
        w[at] -= 0.1 * w.grad[at]


def _by_rows_of_data(w):
    w.data[0] -= 0.1 * w.grad[0]
    w.data[1:] = w.data[1:] - 0.1 * w.grad[1:]


@each_engine
@pytest.mark.parametrize("update", [_by_rows, _by_rows_of_data])
def test_writes_into_parts_of_a_weight_are_one_update_of_their_sum(engine, update):
    def program(torch):
        w = torch.randn(4, 3, requires_grad=True)

        def run():
            for _ in range(3):
                w.grad = None
                (w * w).sum().backward()
                with torch.no_grad():
                    update(w)

        return run

    run = TrainingRun(recorded(engine, program).events)
    (parameter,) = run.trained
    assert len(parameter.updates) == len(run.steps) == 3
    assert all(math.isclose(each.size, 0.2 * each.before.norm, rel_tol=1e-3) for each in parameter.updates)
    if engine == "torch" and update is _by_rows:
        assert all("w[0] -= " in each.source.text for each in parameter.updates)


@each_engine
def test_memory_with_the_same_numbers_is_no_update(engine):
    (parameter,) = TrainingRun(recorded(engine, lambda torch: by_hand(torch, _moved)).events).trained
    assert not parameter.updates
