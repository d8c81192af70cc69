"""What is found about the loop: not cleared, nothing changed, too large, graphs that grow or are kept."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, recorded, train, where

import workbench


def small(torch, out=3):
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, out))


def classes(torch, samples=12):
    return torch.randn(samples, 6), torch.arange(samples) % 3


def loop(torch, clear="before", rounds=4, lr=0.05, kind="SGD", gathered=1):
    """A training whose gradients are cleared before, after or never, or whose updates gather several backwards."""
    net = small(torch)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=lr)
    x, y = classes(torch)

    def run():
        for at in range(rounds):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            if clear == "before":
                optimizer.zero_grad()
            loss.backward()
            if (at + 1) % gathered == 0:
                optimizer.step()  # the update
                if clear == "after":
                    optimizer.zero_grad(set_to_none=False)
                for parameter in net.parameters():
                    if clear == "by hand":
                        parameter.grad = None
                    elif clear == "in place":
                        parameter.grad.zero_()
                    elif clear == "data":
                        parameter.grad.data.zero_()

    return run


@each_engine
def test_gradients_that_are_never_cleared(engine):
    findings = found(engine, lambda torch: loop(torch, "never"))
    assert [each.rule for each in findings] == ["gradients not cleared"]
    sentence = findings[0].sentence
    assert "net.0.weight, net.0.bias, net.2.weight and net.2.bias are updated" in sentence
    assert where(loop, "optimizer.step()") in sentence
    norms = [float(each) for each in sentence.rpartition(" was ")[2].rstrip(".").split(", ")]
    assert len(norms) == 4 and norms == sorted(norms)


@each_engine
@pytest.mark.parametrize("clear", ["before", "after", "by hand", "in place"])
def test_gradients_that_are_cleared_are_healthy(engine, clear):
    assert not found(engine, lambda torch: loop(torch, clear, kind="Adam", lr=1e-3))


@pytest.mark.oracle  # ours has no .data of a gradient
def test_gradients_that_are_cleared_through_data_are_healthy():
    assert not found("torch", lambda torch: loop(torch, "data", kind="Adam", lr=1e-3))


@each_engine
def test_gradients_that_are_gathered_on_purpose_are_healthy(engine):
    assert not found(engine, lambda torch: loop(torch, "after", rounds=8, gathered=2))


@each_engine
def test_the_other_half_of_a_gan_is_healthy(engine):
    def program(torch):
        nn = torch.nn
        maker, judge = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 6)), small(torch, 1)
        makes = torch.optim.Adam(maker.parameters(), lr=1e-3)
        judges = torch.optim.Adam(judge.parameters(), lr=1e-3)
        real, ones, zeros = torch.randn(5, 6), torch.ones(5, 1), torch.zeros(5, 1)
        error = nn.functional.binary_cross_entropy_with_logits

        def run():
            for _ in range(4):
                made = maker(torch.randn(5, 3))
                judges.zero_grad()
                (error(judge(real), ones) + error(judge(made.detach()), zeros)).backward()
                judges.step()
                makes.zero_grad()
                error(judge(made), ones).backward()
                makes.step()

        return run

    assert not found(engine, program)


@each_engine
def test_a_step_of_rate_zero_changes_nothing(engine):
    findings = found(engine, lambda torch: loop(torch, lr=0.0))
    assert [each.rule for each in findings] == ["step changes nothing"]
    assert findings[0].certain
    assert f"The step of SGD ({where(loop, 'optimizer.step()')}" in findings[0].sentence
    assert "in 4 steps" in findings[0].sentence and "learning rate" in findings[0].next_step


@each_engine
def test_a_warm_up_that_begins_with_zero_is_healthy(engine):
    def program(torch):
        def begin(at, optimizer):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * at

        return train(torch, small(torch), *classes(torch), begin=begin)

    assert not found(engine, program)


@each_engine
def test_an_update_that_is_larger_than_its_weight(engine):
    findings = found(engine, lambda torch: loop(torch, lr=30.0, kind="Adam"))
    assert findings[0].rule == "large update"
    assert "The step of Adam" in findings[0].sentence and where(loop, "optimizer.step()") in findings[0].sentence
    assert "in step 1" in findings[0].sentence and "the loss goes from" in findings[0].sentence


@each_engine
def test_a_loss_that_falls_by_large_steps_is_healthy(engine):
    def program(torch):
        net = torch.nn.Linear(10, 1)
        x = torch.randn(40, 10)
        return train(torch, net, x, 3 * x.sum(1, keepdim=True), lr=0.3, rounds=8)

    assert not found(engine, program)


def recurrent(torch, detached):
    """A state that goes on from one step to the next."""
    nn = torch.nn
    cell, head = nn.Linear(9, 5), nn.Linear(5, 3)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    x, y = torch.randn(5, 2, 4), torch.tensor([0, 2])

    def run():
        h = torch.zeros(2, 5)
        for t in range(5):
            if detached:
                h = h.detach()
            h = torch.tanh(cell(torch.cat([x[t], h], 1)))  # the state
            loss = nn.functional.cross_entropy(head(h), y)
            optimizer.zero_grad()
            loss.backward(retain_graph=not detached)
            if detached:
                optimizer.step()

    return run


@each_engine
def test_a_graph_that_grows_is_told_with_what_leads_to_the_steps_before(engine):
    findings = found(engine, lambda torch: recurrent(torch, False))
    assert [each.rule for each in findings] == ["graph grows", "no updates"]  # a step is not possible
    assert "The graph grows with every step" in findings[0].sentence
    assert f"the result of tanh ({where(recurrent, 'torch.tanh')}" in findings[0].sentence


@each_engine
def test_a_state_that_is_detached_is_healthy(engine):
    assert not found(engine, lambda torch: recurrent(torch, True))


def summed(torch, how):
    """Losses that are summed up over the steps for a report."""
    net = small(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = classes(torch)

    def run():
        total, losses = 0, []
        for _ in range(6):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if how == "sum":
                total = total + loss  # a tensor
            elif how == "list":
                losses.append(loss)
            else:
                losses.append(loss.item())
        return total, losses

    return run


@each_engine
@pytest.mark.parametrize("how", ["sum", "list"])
def test_losses_that_keep_their_graphs(engine, how):
    findings = found(engine, lambda torch: summed(torch, how))
    assert [each.rule for each in findings] == ["graphs kept"]
    line = "total = total" if how == "sum" else "cross_entropy"
    assert where(summed, line) in findings[0].sentence and "item()" in findings[0].next_step


@each_engine
def test_numbers_in_a_list_are_healthy(engine):
    assert not found(engine, lambda torch: summed(torch, "item"))


@each_engine
def test_an_error_is_told_first_with_its_node(engine):
    def program(torch):
        w = torch.ones(3, requires_grad=True)

        def run():
            with pytest.raises(RuntimeError):
                h = w * 2
                out = h * h
                h.add_(1)
                out.sum().backward()

        return run

    findings = found(engine, program)
    assert [each.rule for each in findings] == ["stopped"]
    assert "in the backward of mul" in findings[0].sentence and "modified by an inplace" in findings[0].sentence


@each_engine
def test_findings_print_as_text_and_are_data(engine):
    findings = found(engine, lambda torch: loop(torch, "never"))
    assert str(findings).startswith("1. Gradients are not cleared") and repr(findings) == str(findings)
    [data] = findings.to_list()
    assert data["rule"] == "gradients not cleared" and data["file"] == "test_findings_loop.py"
    trace = recorded(engine, lambda torch: loop(torch, "never"))
    assert trace.frame(data["event"] + 1).tensors.keys() >= {*data["ids"]}
    empty = str(found(engine, loop))
    assert empty.startswith("No findings: 4 backwards, 4 parameters, ") and "not finite, cut off" in empty
    assert len(empty) < 180 and "\n" not in empty


def idle(torch, order):
    """A training whose weights are never updated, or whose gradients are cleared before that."""
    net = small(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = classes(torch)

    def run():
        for _ in range(4):
            if order != "cleared":
                optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            if order == "cleared":
                optimizer.zero_grad()
                optimizer.step()

    return run


@each_engine
@pytest.mark.parametrize(
    ("order", "advice"), [("cleared", "between `backward()`"), ("none", "`optimizer.step()` miss")]
)
def test_a_training_without_updates_is_asked_about(engine, order, advice):
    findings = found(engine, lambda torch: idle(torch, order))
    assert [(each.rule, each.certain) for each in findings] == [("no updates", False)]
    assert advice in findings[0].next_step and where(idle, "loss.backward()") in findings[0].sentence


@each_engine
def test_asking_what_an_input_does_is_healthy(engine):
    def program(torch):
        net = small(torch)

        def run():
            for _ in range(4):
                x = torch.randn(1, 6).requires_grad_()
                net.zero_grad()
                net(x).sum().backward()

        return run

    assert not found(engine, program)


@each_engine
def test_weights_that_are_written_by_hand_are_healthy(engine):
    def program(torch):
        w = torch.zeros(3, 1, requires_grad=True)
        x = torch.randn(20, 3)
        y = x.sum(1, keepdim=True)

        def run():
            for _ in range(4):
                ((x @ w - y) ** 2).mean().backward()
                with torch.no_grad():
                    w.sub_(0.1 * w.grad)
                w.grad.zero_()

        return run

    assert not found(engine, program)


@pytest.mark.oracle
def test_weights_that_are_written_through_data_are_healthy():
    def program(torch):
        w = torch.zeros(3, 1, requires_grad=True)
        x = torch.randn(20, 3)
        y = x.sum(1, keepdim=True)

        def run():
            for _ in range(4):
                ((x @ w - y) ** 2).mean().backward()
                w.data -= 0.1 * w.grad.data
                w.grad.data.zero_()

        return run

    assert not found("torch", program)


@each_engine
def test_a_trace_from_a_file_has_the_same_findings(engine, tmp_path):
    trace = recorded(engine, lambda torch: loop(torch, "never"))
    trace.save(tmp_path / "trace.json")
    assert workbench.load(tmp_path / "trace.json").findings() == trace.findings() != []


def test_of_the_last_events_of_a_long_training_no_false_thing_is_told():
    torch = workbench
    net = small(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = classes(torch)
    with workbench.record(last=150) as trace:
        for _ in range(20):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    assert not trace.findings()
