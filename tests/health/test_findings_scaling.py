"""What is found about the scale of a loss, and about custom backwards; and what looks like it and is meant."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, recorded, train, where

from workbench.health.training_run import TrainingRun


def regression(torch):
    return torch.randn(32, 4), torch.randn(32, 2)


def network(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def summed(torch, lr: float):
    """A loss that is a sum over all numbers."""
    net = network(torch)
    x, y = regression(torch)

    def loss_of():
        return ((net(x) - y) ** 2).sum()

    return train(torch, net, lr=lr, loss_of=loss_of)


@each_engine
def test_a_sum_is_a_question_where_updates_are_too_large(engine):
    findings = found(engine, lambda torch: summed(torch, lr=1.0))
    assert [each.rule for each in findings][0] == "large update"
    finding = next(each for each in findings if each.rule == "loss is a sum")
    assert not finding.certain and where(summed, ".sum()") in finding.sentence
    assert "a sum over 64 numbers" in finding.sentence


@each_engine
def test_a_sum_with_a_rate_that_fits_is_healthy(engine):
    assert not found(engine, lambda torch: summed(torch, lr=1e-3))


def half(torch, scale: float):
    """A model in float16 with a small loss."""
    net = torch.nn.Sequential(*[part for _ in range(3) for part in (torch.nn.Linear(8, 8), torch.nn.Tanh())]).half()
    x = torch.randn(64, 8).half()

    def loss_of():
        return scale * 1e-6 * net(x).pow(2).mean()

    return train(torch, net, lr=0.1 / scale, rounds=3, loss_of=loss_of)


@pytest.mark.oracle
def test_gradients_that_float16_cannot_hold_are_told():
    finding = next(each for each in found("torch", lambda torch: half(torch, 1.0)) if each.rule == "underflow")
    assert finding.certain and "underflow in float16" in finding.sentence and "exact zeros" in finding.sentence
    assert "GradScaler" in finding.next_step


@pytest.mark.oracle
def test_gradients_of_a_scaled_loss_do_not_underflow():
    findings = found("torch", lambda torch: half(torch, 65536.0))
    assert not [each for each in findings if each.rule == "underflow"]


def mixed(torch, order: str, scale: float = 65536.0):
    """A loss that is scaled, with gradients that are clipped before or after they are unscaled."""
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    x, y = regression(torch)

    def run():
        for _ in range(3):
            with torch.autocast("cpu", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            if order == "unscaled":
                scaler.unscale_(optimizer)
            if order == "averaged":
                for parameter in net.parameters():
                    parameter.grad.div_(4)
            else:
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()

    return run


@pytest.mark.oracle
def test_gradients_that_are_clipped_while_scaled_are_told():
    (finding,) = found("torch", lambda torch: mixed(torch, "scaled", 1024.0))
    assert finding.rule == "clipped while scaled" and finding.certain
    assert "still scaled by 1,024" in finding.sentence and where(mixed, "clip_grad_norm_") in finding.sentence
    assert "in 3 steps" in finding.sentence and "unscale_" in finding.next_step


@pytest.mark.oracle
@pytest.mark.parametrize("order", ["unscaled", "averaged"])
def test_gradients_that_are_clipped_unscaled_or_averaged_scaled_are_healthy(order):
    assert not found("torch", lambda torch: mixed(torch, order, 1024.0))


@pytest.mark.oracle
def test_overflow_in_a_step_that_a_scaler_leaves_out_is_not_told():
    """The scale begins high on purpose: the scaler halves it until gradients are finite."""
    assert not [each for each in found("torch", lambda torch: mixed(torch, "unscaled", 2.0**40)) if each.certain]


# A forward, and what its backward makes of the input and the gradient.
FUNCTIONS = {
    "wrong": (lambda x: x * x, lambda x, grad: grad * x),
    "right": (lambda x: x * x, lambda x, grad: grad * 2 * x),
    "reversed": (lambda x: x.view_as(x), lambda x, grad: -grad),
    "spiking": (lambda x: (x > 0).float(), lambda x, grad: grad / (1 + x.abs()) ** 2),
    "rounded": (lambda x: (8 * x.clamp(-1, 1)).round() / 8, lambda x, grad: grad),
    "of a row": (lambda x: x - x.mean(1, keepdim=True), lambda x, grad: grad - grad.mean(1, keepdim=True)),
}


def activation(torch, kind: str, samples: int = 12):
    """A custom Function between two layers."""
    ahead, back = FUNCTIONS[kind]

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return ahead(x)

        @staticmethod
        def backward(ctx, grad):
            return back(*ctx.saved_tensors, grad)

    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x):
            return self.last(Square.apply(self.first(x)))  # applied

    x, y = torch.randn(samples, 4), torch.randn(samples, 2)
    return train(torch, Model(), x, y, lr=0.01)


@each_engine
def test_a_backward_that_is_not_the_derivative_is_a_question(engine):
    (finding,) = found(engine, lambda torch: activation(torch, "wrong"))
    assert finding.rule == "not the derivative" and not finding.certain
    assert "They differ" in finding.sentence and "a factor of 2" in finding.sentence
    assert where(activation, "# applied") in finding.sentence and "gradcheck(Square.apply" in finding.next_step


@each_engine
def test_values_of_a_function_are_kept_up_to_512(engine):
    (finding,) = found(engine, lambda torch: activation(torch, "wrong", 64))
    assert finding.rule == "not the derivative"
    run = TrainingRun(recorded(engine, lambda torch: activation(torch, "right", 64)).events)
    nodes = [node for node in run.nodes.values() if node.made.custom]
    assert nodes
    for node in nodes:
        assert all(len(each.values) == 512 for each in (*node.inputs, *node.outputs, *node.gradients, *node.sent))
    assert all(update.names for each in run.trained for update in each.updates)


@each_engine
@pytest.mark.parametrize("kind", [kind for kind in FUNCTIONS if kind != "wrong"])
def test_backwards_that_are_right_or_another_on_purpose_are_healthy(engine, kind):
    assert not found(engine, lambda torch: activation(torch, kind))


def weighted(torch):
    """Exponentials that are finite, and small weights whose gradient they make infinite."""
    net = torch.nn.Linear(4, 3)
    torch.nn.init.constant_(net.weight, 20.0)
    weight = torch.full((3,), 1e-30, requires_grad=True)
    x = torch.ones(6, 4)

    def run():
        for _ in range(3):
            e = torch.exp(net(x))  # grows
            loss = 1e10 * (e * weight).mean()
            loss.backward()

    return run


@each_engine
def test_where_numbers_grew_is_told_with_the_overflow(engine):
    finding = found(engine, weighted)[0]
    assert finding.rule == "not finite" and "The backward of mul" in finding.sentence
    assert "which had grown to" in finding.sentence and where(weighted, "# grows") in finding.sentence
