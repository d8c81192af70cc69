"""What is found about updates: taken back, made twice, never made; equal units; gradients that are off."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, train, where


def classes(torch, samples=12):
    return torch.randn(samples, 6), torch.arange(samples) % 3


def network(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def averaged(torch, back: bool, share: float = 1.0):
    """An average of the weights, which is maybe written back, after it was used or for good."""
    net, mean = network(torch), network(torch)
    mean.load_state_dict(net.state_dict())

    def end(optimizer):
        with torch.no_grad():
            pairs = list(zip(net.parameters(), mean.parameters(), strict=True))
            own = [fast.clone() for fast, _ in pairs]
            for fast, slow in pairs:
                slow.mul_(0.99).add_(fast, alpha=0.01)
                fast.mul_(1 - share).add_(slow, alpha=share)  # over the weights
            for (fast, _), kept in zip(pairs, own, strict=True):
                if not back:
                    fast.copy_(kept)

    return train(torch, net, *classes(torch), end=end)


@each_engine
def test_a_step_that_is_taken_back_is_a_question(engine):
    (finding,) = found(engine, lambda torch: averaged(torch, back=True))
    assert finding.rule == "step taken back" and not finding.certain
    assert where(averaged, "fast.mul_") in finding.sentence and where(train, "optimizer.step()") in finding.sentence
    assert "99% of the change is undone, in each of 4 steps" in finding.sentence


@each_engine
@pytest.mark.parametrize(("back", "share"), [(False, 1.0), (True, 0.5)])
def test_weights_that_are_swapped_or_drawn_half_way_are_meant(engine, back, share):
    assert not found(engine, lambda torch: averaged(torch, back, share))


def two(torch, apart: bool):
    """Two optimisers, of which one has weights that the other has too, or which take turns."""
    net = network(torch)
    first = torch.optim.SGD(net[0].parameters() if apart else net.parameters(), lr=0.05)
    second = torch.optim.Adam(net[2].parameters(), lr=1e-3)
    x, y = classes(torch)

    def run():
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            first.zero_grad()
            second.zero_grad()
            loss.backward()
            first.step()
            second.step()

    return run


@each_engine
def test_weights_in_two_optimisers_are_told_with_both(engine):
    (finding,) = found(engine, lambda torch: two(torch, apart=False))
    assert finding.rule == "two optimisers" and finding.certain
    assert "net.2.weight and net.2.bias are changed twice by the same gradient" in finding.sentence
    assert where(two, "first.step()") in finding.sentence and where(two, "second.step()") in finding.sentence


@each_engine
def test_weights_that_two_optimisers_share_out_are_healthy(engine):
    assert not found(engine, lambda torch: two(torch, apart=True))


def in_turn(torch):
    """Two optimisers of the same weights, each with a gradient of its own."""
    net, x, y = network(torch), *classes(torch)
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.05), torch.optim.Adam(net.parameters(), lr=1e-3)]

    def run():
        for _ in range(3):
            optimizers[0].zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizers[0].step()
            optimizers[1].zero_grad()
            net(x).pow(2).mean().backward()
            optimizers[1].step()

    return run


@each_engine
def test_two_optimisers_that_take_turns_are_healthy(engine):
    assert not found(engine, in_turn)


def filled(torch, number: float, wide: int = 8):
    """Weights that all begin with one number, or that begin at random."""
    net = torch.nn.Sequential(torch.nn.Linear(6, wide), torch.nn.Tanh(), torch.nn.Linear(wide, 3))
    if number:
        torch.nn.init.constant_(net[0].weight, number)
        torch.nn.init.constant_(net[2].weight, number)
    torch.nn.init.zeros_(net[0].bias)
    return net


@each_engine
# Of the wider the weights are known by their summaries. A power of two: some processors sum what is left over of a
# vector in another order, and units that round differently are not equal.
@pytest.mark.parametrize("wide", [8, 256])
def test_units_that_begin_equal_and_stay_so_are_told(engine, wide):
    findings = found(engine, lambda torch: train(torch, filled(torch, 0.1, wide), *classes(torch)))
    finding = next(each for each in findings if each.rule == "equal units")
    assert finding.certain
    assert f"All {wide} units" in finding.sentence and "net.0.weight" in finding.sentence
    assert "equal gradients in 4 backwards" in finding.sentence


def scores_from_zero(torch):
    """A regression whose weights begin at 0: gradients of classes differ."""
    net = torch.nn.Linear(6, 5)
    torch.nn.init.zeros_(net.weight)
    torch.nn.init.zeros_(net.bias)
    return train(torch, net, torch.randn(20, 6), torch.arange(20) % 5)


@each_engine
def test_units_that_gradients_tell_apart_are_healthy(engine):
    assert not found(engine, scores_from_zero)
    assert not found(engine, lambda torch: train(torch, filled(torch, 0.0), *classes(torch)))


def cached(torch, frozen: bool):
    """A head that trains on what an encoder gives under no_grad."""
    encoder, head = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
    if frozen:
        encoder.requires_grad_(False)
    x, y = classes(torch)

    def loss_of():
        with torch.no_grad():
            h = torch.tanh(encoder(x))  # under no_grad
        return torch.nn.functional.cross_entropy(head(h), y)

    return train(torch, head, rounds=3, loss_of=loss_of)


@each_engine
def test_what_is_computed_without_gradients_before_a_layer_is_a_question(engine):
    (finding,) = found(engine, lambda torch: cached(torch, frozen=False))
    assert finding.rule == "under no_grad" and not finding.certain
    assert "no_grad" in finding.sentence and where(cached, "# under no_grad") in finding.sentence


@each_engine
def test_a_frozen_encoder_under_no_grad_is_healthy(engine):
    assert not found(engine, lambda torch: cached(torch, frozen=True))


def frozen_by_a_prefix(torch, prefix: str):
    """Twelve blocks, of which those are frozen whose name begins so."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(6, 6) for _ in range(12)])
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            for block in self.blocks:
                x = x + torch.tanh(block(x))
            return self.head(x)

    net = Model()
    for name, parameter in net.named_parameters():
        if name.startswith(("blocks.0", prefix)):
            parameter.requires_grad_(False)
    return net


@each_engine
@pytest.mark.parametrize(("prefix", "is_told"), [("blocks.1", True), ("blocks.11.", False)])
def test_a_prefix_that_freezes_more_than_one_layer_is_told(engine, prefix, is_told):
    findings = found(engine, lambda torch: train(torch, frozen_by_a_prefix(torch, prefix), *classes(torch)))
    finding = next(each for each in findings if each.rule == "frozen")
    assert not finding.certain
    assert ("begin as that of net.blocks.1, which does not train either" in finding.sentence) == is_told


def warmed_up(torch):
    """A state that is computed without gradients first, by the weights that train."""
    cell, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 3)
    x, y = torch.randn(12, 8), torch.arange(12) % 3

    def loss_of():
        with torch.no_grad():
            state = torch.tanh(cell(x))
        for _ in range(3):
            state = torch.tanh(cell(state))
        return torch.nn.functional.cross_entropy(head(state), y)

    return train(torch, None, loss_of=loss_of, given=[*cell.parameters(), *head.parameters()])


@each_engine
def test_a_state_that_is_warmed_up_without_gradients_is_healthy(engine):
    assert not found(engine, warmed_up)
