"""What is found about how a model is put together, and about what it keeps in memory."""

from __future__ import annotations

import pytest
from both_engines import ROOT, each_engine, found, train, where


def classes(torch, samples=12):
    return torch.randn(samples, 6), torch.arange(samples) % 3


def chances(torch, last):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), *last)
    return train(torch, net, *classes(torch))


@each_engine
def test_a_softmax_before_a_cross_entropy_is_asked_about(engine):
    findings = found(engine, lambda torch: chances(torch, [torch.nn.Softmax(-1)]))
    assert [(each.rule, each.certain) for each in findings] == [("softmax twice", False)]
    assert f"is given what softmax in {ROOT[engine]}/3" in findings[0].sentence
    assert where(train, "cross_entropy(net(x), y)") in findings[0].sentence


@each_engine
def test_scores_in_a_cross_entropy_are_healthy(engine):
    assert not found(engine, lambda torch: chances(torch, []))


def compared(torch, squeezed, samples=12, **more):
    """A loss by hand."""
    net = torch.nn.Linear(6, 1)
    x, y = torch.randn(samples, 6), torch.randn(samples)

    def loss_of():
        out = net(x).squeeze(1) if squeezed else net(x)
        return ((out - y) ** 2).mean()

    return train(torch, net, lr=0.01, rounds=3, loss_of=loss_of)


@each_engine
def test_a_target_that_is_broadcast_is_asked_about(engine):
    findings = found(engine, lambda torch: compared(torch, False))
    assert [(each.rule, each.certain) for each in findings] == [("broadcast", False)]
    assert "(12, 1) and (12,) make 12 x 12 differences" in findings[0].sentence
    assert where(compared, "(out - y)") in findings[0].sentence


@each_engine
def test_a_target_of_the_same_shape_is_healthy(engine):
    assert not found(engine, lambda torch: compared(torch, True))


@pytest.mark.slow
@each_engine
def test_one_place_that_keeps_most_of_the_memory_is_asked_about(engine):
    findings = found(engine, lambda torch: compared(torch, False, 4200))
    assert [each.rule for each in findings] == ["broadcast", "saved tensors"]
    assert "MiB for backward" in findings[1].sentence and where(compared, "(out - y)") in findings[1].sentence


def normed(torch, mode):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    if mode != "train":
        net.eval()
    if mode == "frozen":
        net[1].weight.requires_grad_(False)
        net[1].bias.requires_grad_(False)
    return train(torch, net, *classes(torch), lr=0.01)


@each_engine
def test_statistics_that_stay_while_their_layer_trains_are_asked_about(engine):
    findings = found(engine, lambda torch: normed(torch, "eval"))
    assert [(each.rule, each.certain) for each in findings] == [("eval while training", False)]
    assert f"{ROOT[engine]}/1" in findings[0].sentence


@each_engine
def test_statistics_that_move_or_are_frozen_are_healthy(engine):
    assert not found(engine, lambda torch: normed(torch, "train"))
    assert not found(engine, lambda torch: normed(torch, "frozen"))


def padded(torch, ignored, classes=9):
    """A language model of texts that are padded."""
    nn = torch.nn
    words, head = nn.Embedding(9, 5, padding_idx=0), nn.Linear(5, classes)
    texts = torch.tensor([[1, 2, 0, 0, 0], [3, 4, 5, 2, 1]])

    def loss_of():
        scores = head(words(texts[:, :-1])).flatten(0, 1)
        return nn.functional.cross_entropy(scores, texts[:, 1:].flatten(), **ignored)

    return train(torch, None, rounds=3, loss_of=loss_of, given=[*words.parameters(), *head.parameters()])


@each_engine
def test_padding_in_a_loss_is_asked_about(engine):
    findings = found(engine, lambda torch: padded(torch, {}))
    assert [(each.rule, each.certain) for each in findings] == [("padding in the loss", False)]
    assert "38% of the targets are 0" in findings[0].sentence and "all 8 are counted" in findings[0].sentence
    assert where(padded, "cross_entropy") in findings[0].sentence


@each_engine
def test_padding_that_is_left_out_is_healthy(engine):
    assert not found(engine, lambda torch: padded(torch, {"ignore_index": 0}))
    assert not found(engine, lambda torch: padded(torch, {}, 7))  # classes of another kind
