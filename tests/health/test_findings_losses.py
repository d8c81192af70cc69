"""What is found about losses that are given chances where they take scores, or their logarithms."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, where

CLASSES = 3


def trained(torch, loss_of, samples=12):
    """Three steps with a loss of scores, of classes, and of what is true of each."""
    net = torch.nn.Linear(6, CLASSES)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(samples, 6), torch.arange(samples) % CLASSES
    truths = (torch.randn(samples, CLASSES) > 0).float()

    def run():
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(torch.nn.functional, net(x), y, truths).backward()
            optimizer.step()

    return run


def sigmoid_twice(F, scores, y, truths):
    return F.binary_cross_entropy_with_logits(scores.sigmoid(), truths)


def sigmoid_once(F, scores, y, truths):
    return F.binary_cross_entropy_with_logits(scores, truths) + F.binary_cross_entropy(scores.sigmoid(), truths)


def no_logarithm(F, scores, y, truths):
    return F.nll_loss(F.softmax(scores, 1), y)


def over_the_batch(F, scores, y, truths):
    return F.nll_loss(F.log_softmax(scores, dim=0), y)


def logarithm(F, scores, y, truths):
    return F.nll_loss(F.log_softmax(scores, dim=1), y) + F.nll_loss(scores.log_softmax(-1), y)


def no_minus(F, scores, y, truths):
    return F.log_softmax(scores, 1).gather(1, y[:, None]).mean()


def minus(F, scores, y, truths):
    return -F.log_softmax(scores, 1).gather(1, y[:, None]).mean()


def weighted(F, scores, y, truths):
    """As in a policy gradient, whose advantages may be negative."""
    return (F.log_softmax(scores, 1).gather(1, y[:, None]) * truths[:, :1]).mean()


FAULTS = {
    sigmoid_twice: ("sigmoid twice", True, "takes scores and is given what sigmoid", "scores.sigmoid()"),
    no_logarithm: ("no logarithm", True, "is given the chances of softmax", "F.nll_loss"),
    over_the_batch: ("softmax over the batch", True, "1 over the 12 samples of the batch, and not over the 3", "dim=0"),
    no_minus: ("no minus", False, "without a minus? gather", "gather"),
}


@each_engine
@pytest.mark.parametrize("loss", FAULTS, ids=lambda loss: loss.__name__)
def test_a_loss_that_is_given_something_else_is_told(engine, loss):
    rule, certain, words, line = FAULTS[loss]
    findings = found(engine, lambda torch: trained(torch, loss))
    assert [(each.rule, each.certain) for each in findings] == [(rule, certain)]
    assert words in findings[0].sentence
    assert where(loss, line) in findings[0].sentence


@each_engine
@pytest.mark.parametrize("loss", [sigmoid_once, logarithm, minus, weighted], ids=lambda loss: loss.__name__)
def test_a_loss_that_is_given_what_it_takes_is_healthy(engine, loss):
    assert not found(engine, lambda torch: trained(torch, loss))


@each_engine
def test_where_samples_are_as_many_as_classes_it_is_asked(engine):
    findings = found(engine, lambda torch: trained(torch, over_the_batch, CLASSES))
    assert [(each.rule, each.certain) for each in findings] == [("softmax over the batch", False)]
