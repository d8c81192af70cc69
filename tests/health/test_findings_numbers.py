"""What is found about numbers: not finite, vanishing, exploding, dead units; and nothing where nothing is wrong."""

from __future__ import annotations

import math

import pytest
from both_engines import ROOT, each_engine, found, train, where


def classes(torch, features=6, samples=12):
    return torch.randn(samples, features), torch.arange(samples) % 3


def root_of_zero(torch):
    """A distance whose root has an infinite slope at 0."""
    net = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)

    def loss_of():
        out = net(x)
        away = ((out - out.detach()) ** 2).sum(1).sqrt()
        return away.mean() + out.pow(2).mean()

    return train(torch, net, rounds=3, loss_of=loss_of)


@each_engine
def test_the_root_of_zero_is_told_where_its_backward_made_inf(engine):
    first, *rest = found(engine, root_of_zero)
    assert first.rule == "not finite" and first.certain
    assert "The backward of sqrt" in first.sentence and where(root_of_zero, ".sqrt()") in first.sentence
    assert "zero everywhere" in first.sentence and "1e-8" in first.next_step
    assert not rest


def log_of_zero(torch):
    """Scores that are cut off at 0 before their logarithm."""
    net = torch.nn.Linear(3, 5)
    x = torch.randn(4, 3)

    def loss_of():
        chances = torch.relu(net(x))
        return -torch.log(chances).mean()

    return train(torch, net, rounds=3, loss_of=loss_of)


@each_engine
def test_the_log_of_zero_is_told_where_it_gave_inf(engine):
    first = found(engine, log_of_zero)[0]
    assert first.rule == "not finite"
    assert first.sentence.startswith("log (") and where(log_of_zero, "torch.log") in first.sentence
    assert "its inputs were finite (from 0 to " in first.sentence
    assert "clamp" in first.next_step


def masked_rows(torch):
    """A row of scores that are all masked."""
    net = torch.nn.Linear(3, 4)
    x = torch.randn(4, 3)
    mask = torch.tensor([[False, True, False, True], [True] * 4, [False] * 4, [False] * 4])

    def run():
        scores = net(x).masked_fill(mask, -math.inf)
        weights = torch.softmax(scores, -1)
        weights.pow(2).sum().backward()

    return run


@each_engine
def test_a_row_that_is_all_masked_is_told_at_the_softmax(engine):
    first = found(engine, masked_rows)[0]
    assert first.sentence.startswith("softmax (") and where(masked_rows, "torch.softmax") in first.sentence
    assert "is the first to give nan: 4 of 16 values; its input had 6 infinite values" in first.sentence
    assert "unmasked" in first.next_step


@each_engine
def test_a_mask_that_leaves_something_is_healthy(engine):
    def program(torch):
        net = torch.nn.Linear(3, 4)
        x = torch.randn(4, 3)
        mask = torch.tensor([[False, True, False, True], [False] * 4, [False] * 4, [False] * 4])

        def loss_of():
            return torch.softmax(net(x).masked_fill(mask, -math.inf), -1).pow(2).sum()

        return train(torch, net, rounds=3, loss_of=loss_of)

    assert not found(engine, program)


def bad_data(torch):
    """A value of the data that is nan."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    x[1, 2] = math.nan
    return train(torch, net, x, y)


@each_engine
def test_data_that_are_not_finite_are_told_as_such(engine):
    first = found(engine, bad_data)[0]
    assert "is not finite already: 1 of 12 values" in first.sentence


def too_fast(torch):
    net = torch.nn.Linear(10, 1)
    x = torch.randn(20, 10) * 50
    return train(torch, net, x, x.sum(1, keepdim=True), lr=1e3, rounds=14)


@each_engine
def test_an_overflow_is_told_with_how_large_its_inputs_had_grown(engine):
    found_ = found(engine, too_fast)
    assert found_[0].rule == "not finite"
    assert "had grown to" in found_[0].next_step
    assert "large update" in [each.rule for each in found_]


def deep(torch, kind, layers=8, scale=1.0):
    nn = torch.nn
    parts = [part for _ in range(layers) for part in (nn.Linear(6, 6), kind())]
    net = nn.Sequential(*parts, nn.Linear(6, 3))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(scale)
    return net


@each_engine
def test_sigmoids_in_many_layers_let_the_gradient_vanish(engine):
    findings = found(engine, lambda torch: train(torch, deep(torch, torch.nn.Sigmoid), *classes(torch), lr=0.01))
    assert [each.rule for each in findings] == ["vanishing"]
    assert f"{ROOT[engine]}/16" in findings[0].sentence and "a layer over 9 layers" in findings[0].sentence


@each_engine
@pytest.mark.parametrize("kind", ["ReLU", "Tanh", "GELU"])
def test_a_few_layers_are_healthy(engine, kind):
    def program(torch):
        return train(torch, deep(torch, getattr(torch.nn, kind), 3), *classes(torch), kind="Adam", lr=1e-3)

    assert not found(engine, program)


@each_engine
def test_large_weights_in_many_layers_let_the_gradient_explode(engine):
    def program(torch):
        return train(torch, deep(torch, torch.nn.LeakyReLU, scale=12.0), *classes(torch), lr=1e-12)

    findings = found(engine, program)
    assert findings[0].rule == "exploding"
    assert "a layer over 9 layers" in findings[0].sentence


def recurrent(torch, scale, lr=1e-3, rounds=20):
    nn = torch.nn
    w = nn.Parameter(torch.randn(5, 5) * scale)
    head = nn.Linear(5, 3)
    x, y = torch.randn(rounds, 4, 5), torch.tensor([0, 1, 2, 0])

    def loss_of():
        h = torch.zeros(4, 5)
        for t in range(rounds):
            h = x[t] + h @ w
        return nn.functional.cross_entropy(head(h), y)

    return train(torch, None, lr=lr, rounds=3, loss_of=loss_of, given=[w, *head.parameters()])


@each_engine
def test_a_recurrence_explodes_with_its_factor_a_round(engine):
    findings = found(engine, lambda torch: recurrent(torch, 1.0, 1e-9))
    assert findings[0].rule == "exploding"
    assert where(recurrent, "h = x[t]") in findings[0].sentence and " a round over 20 rounds" in findings[0].sentence


@each_engine
def test_a_recurrence_forgets_everything(engine):
    findings = found(engine, lambda torch: recurrent(torch, 0.02))
    assert [each.rule for each in findings] == ["vanishing"]
    assert "first rounds" in findings[0].sentence


@each_engine
def test_a_recurrence_of_the_usual_size_is_healthy(engine):
    assert not found(engine, lambda torch: recurrent(torch, 0.4))


def relus(torch, bias, lr=0.05):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        net[0].bias.copy_(bias)
    return train(torch, net, *classes(torch), lr=lr)


@each_engine
def test_a_layer_that_is_dead_is_told_with_what_it_gets(engine):
    findings = found(engine, lambda torch: relus(torch, torch.full((8,), -50.0)))
    assert [each.rule for each in findings] == ["dead units"]
    assert f"Every output of relu in {ROOT[engine]}/1" in findings[0].sentence
    assert "96 of 96 in 4 calls: what it gets is from -5" in findings[0].sentence


@each_engine
def test_units_that_are_dead_are_counted(engine):
    findings = found(engine, lambda torch: relus(torch, torch.tensor([-50.0] * 5 + [0.0] * 3)))
    assert [each.rule for each in findings] == ["dead units"]
    assert f"5 of 8 units of relu in {ROOT[engine]}/1" in findings[0].sentence


def chained(torch, places):
    """ReLUs of which the second gives zeros: two in one line, or one line in a loop."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    with torch.no_grad():
        net[1].bias.fill_(-50.0)
    x, y = classes(torch)

    def loss_of():
        if places == "line":
            h = torch.relu(net[1](torch.relu(net[0](x))))
        else:
            h = x
            for layer in (net[0], net[1]):
                h = torch.relu(layer(h))
        return nn.functional.cross_entropy(net[2](h), y)

    return train(torch, net, lr=0.05, loss_of=loss_of)


@each_engine
@pytest.mark.parametrize("places", ["line", "loop"])
def test_a_dead_relu_beside_a_living_one_of_the_same_line(engine, places):
    findings = found(engine, lambda torch: chained(torch, places))
    assert [each.rule for each in findings] == ["dead units"]
    assert "96 of 96 in 4 calls: what it gets is from -5" in findings[0].sentence


@each_engine
def test_living_units_are_healthy(engine):
    assert not found(engine, lambda torch: relus(torch, torch.zeros(8)))


def rounded(torch):
    """A rounding on the way, whose slope is zero."""
    net = torch.nn.Linear(6, 3)
    head = torch.nn.Linear(3, 3)
    x, y = classes(torch)

    def loss_of():
        codes = torch.round(net(x))
        return torch.nn.functional.cross_entropy(head(codes), y)

    return train(torch, None, loss_of=loss_of, given=[*net.parameters(), *head.parameters()])


@each_engine
def test_a_rounding_passes_no_gradient(engine):
    findings = found(engine, rounded)
    assert [each.rule for each in findings] == ["zero gradient"]
    assert where(rounded, "torch.round") in findings[0].sentence and "net.weight" in findings[0].sentence


@each_engine
def test_a_head_that_begins_with_zeros_is_healthy(engine):
    def program(torch):
        net = deep(torch, torch.nn.Tanh, 3)
        with torch.no_grad():
            net[6].weight.zero_()
            net[6].bias.zero_()
        return train(torch, net, *classes(torch), kind="Adam", lr=0.01)

    assert not found(engine, program)


@pytest.mark.slow
@each_engine
@pytest.mark.parametrize(("kind", "length", "rules"), [("RNN", 30, []), ("RNN", 80, ["vanishing"]), ("GRU", 40, [])])
def test_the_usual_recurrent_nets_are_asked_about_only_where_nothing_of_the_past_is_left(engine, kind, length, rules):
    def program(torch):
        nn = torch.nn

        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.memory = getattr(nn, kind)(5, 16, batch_first=True)
                self.head = nn.Linear(16, 3)

            def forward(self, x):
                return self.head(self.memory(x)[0][:, -1])

        return train(torch, Reader(), torch.randn(6, length, 5), torch.arange(6) % 3, kind="Adam", lr=1e-3)

    findings = found(engine, program)
    assert [each.rule for each in findings] == rules
    assert not any(each.certain for each in findings)
    assert all(f"over {length} rounds" in each.sentence for each in findings)


def dying(torch, samples, below):
    """A ReLU whose outputs are more than are kept, and most of whose units lie below 0 for all samples."""
    layer = torch.nn.Linear(8, 16, bias=False)
    head = torch.nn.Linear(16, 1)
    with torch.no_grad():
        layer.weight.mul_(0.1)
        layer.weight[:12] -= below
        layer.weight[12:] += 0.05 * below
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=1e-3)
    x, y = torch.rand(samples, 8) + 0.5, torch.randn(samples, 1)

    def run():
        for _ in range(3):
            optimizer.zero_grad()
            h = torch.relu(layer(x))  # the units
            torch.nn.functional.mse_loss(head(h), y).backward()
            optimizer.step()

    return run


@each_engine
def test_dead_units_are_counted_at_a_relu_whose_outputs_are_not_kept(engine):
    (finding,) = [each for each in found(engine, lambda torch: dying(torch, 200, 1.0)) if each.rule == "dead units"]
    assert finding.certain and "12 of 16 units of relu" in finding.sentence and "in each of 3 calls" in finding.sentence
    assert where(dying, "# the units") in finding.sentence


@each_engine
@pytest.mark.parametrize(("samples", "below"), [(200, 0.0), (5, 1.0)])
def test_a_relu_of_living_units_and_one_of_few_samples_are_healthy(engine, samples, below):
    findings = found(engine, lambda torch: dying(torch, samples, below))
    assert "dead units" not in [each.rule for each in findings]


def divided(torch, side):
    """A constant that is made of constants, and is infinite where it is divided by 0, in a function that is over."""
    net, x = torch.nn.Linear(3, 2), torch.ones(2, 3)

    def weighted(h):
        far = torch.ones(2) / torch.tensor([1.0, 0.0]) - torch.ones(2) / torch.tensor([1.0, 0.0])
        return far * h if side == "left" else h - far  # the input

    def run():
        for _ in range(2):
            loss = weighted(net(x)).sum()
            loss.backward()

    return run


@each_engine
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_constant_that_is_not_finite_is_named_by_what_the_program_writes(engine, side):
    first = found(engine, lambda torch: divided(torch, side))[0]
    assert first.rule == "not finite" and first.certain
    assert first.sentence.startswith(f"`far`, which {'mul' if side == 'left' else 'sub'} ")
    assert "is not finite already: 1 of 2 values" in first.sentence and where(divided, "# the input") in first.sentence
