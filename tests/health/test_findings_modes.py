"""What is asked about the mode of a module: an evaluation in training mode, a training in evaluation mode."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, where

LAYERS = {"dropout": ["Dropout"], "batch norm": ["BatchNorm1d"], "both": ["BatchNorm1d", "Dropout"], "none": ["Tanh"]}


def model(torch, which):
    nn = torch.nn
    made = {"Dropout": lambda: nn.Dropout(0.25), "BatchNorm1d": lambda: nn.BatchNorm1d(6), "Tanh": nn.Tanh}
    return nn.Sequential(nn.Linear(4, 6), *[made[each]() for each in LAYERS[which]], nn.Linear(6, 2))


def program(torch, which, evaluates="", modes="tttt"):
    """A training with an evaluation after each step; `modes` of the steps: t is train(), e is eval()."""
    net = model(torch, which)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def run():
        for mode in modes:
            net.train(mode == "t")
            out = net(x)  # in the training
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(out, y).backward()
            optimizer.step()
            if evaluates:
                net.train(evaluates == "train")
                with torch.no_grad():
                    net(x)  # in the evaluation

    return run


@each_engine
@pytest.mark.parametrize(
    ("which", "effect"),
    [
        ("dropout", "net.1 (p 0.25) then leaves out values at random."),
        ("batch norm", "net.1 then averages over the batch, and changes its running statistics by it."),
    ],
)
def test_an_evaluation_in_training_mode_is_asked_about(engine, which, effect):
    findings = found(engine, lambda torch: program(torch, which, "train"))
    assert [(each.rule, each.certain) for each in findings] == [("train mode without gradients", False)]
    assert where(program, "# in the evaluation") in findings[0].sentence and effect in findings[0].sentence


@each_engine
@pytest.mark.parametrize("which", ["dropout", "both", "none"])
def test_an_evaluation_in_evaluation_mode_is_healthy(engine, which):
    assert not found(engine, lambda torch: program(torch, which, "eval"))


@each_engine
def test_a_model_without_dropout_may_be_in_either_mode(engine):
    assert not found(engine, lambda torch: program(torch, "none", "train", "teet"))


@each_engine
@pytest.mark.parametrize("which", ["dropout", "batch norm", "both"])
def test_a_training_that_goes_on_after_eval_is_asked_about(engine, which):
    findings = found(engine, lambda torch: program(torch, which, modes="tee"))
    assert [(each.rule, each.certain) for each in findings] == [("eval while training", False)]
    assert where(program, "# in the training") in findings[0].sentence
    assert "before that it was in training mode" in findings[0].sentence


@each_engine
@pytest.mark.parametrize("which", ["dropout", "batch norm"])
def test_a_training_that_is_never_in_training_mode_is_asked_about_once(engine, which):
    findings = found(engine, lambda torch: program(torch, which, modes="eee"))
    assert [(each.rule, each.certain) for each in findings] == [("eval while training", False)]


@each_engine
def test_a_model_that_is_looked_at_after_its_training_is_healthy(engine):
    def looked_at(torch):
        net = model(torch, "both")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        x, y = torch.randn(8, 4), torch.randn(8, 2)

        def run():
            for _ in range(3):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(net(x), y).backward()
                optimizer.step()
            net.eval()
            seen = x.clone().requires_grad_()
            torch.autograd.grad(net(seen).sum(), seen)

        return run

    assert not found(engine, looked_at)
