"""How a model is put together, what it keeps in memory, and what losses are given."""

from __future__ import annotations

from . import fault, healthy
from .parts import classes, freeze, mlp, train, weights

CLASSES = 3


def scores(torch, *last):
    return train(torch, mlp(torch, 6, 8, 3, between="ReLU", last=last), *classes(torch))


fault("softmax twice", "the output of softmax in ROOT/3", at="cross_entropy(net(x), y)", asks=True)(scores, "Softmax")
healthy()(scores)


def compared(torch, squeezed, samples=12):
    """A loss by hand."""
    net = torch.nn.Linear(6, 1)
    x, y = torch.randn(samples, 6), torch.randn(samples)

    def loss_of():
        out = net(x).squeeze(1) if squeezed else net(x)
        return ((out - y) ** 2).mean()

    return train(torch, net, lr=0.01, rounds=3, loss_of=loss_of)


fault("broadcast", "(12, 1) and (12,) broadcast to 12 x 12 differences", at="(out - y)", asks=True)(compared, False)
fault("broadcast", "MiB for backward", at="(out - y)", asks=True, beside=("saved tensors",), slow=True)(
    compared, False, 4200
)
healthy()(compared, True)


def normed(torch, mode):
    net = mlp(torch, 6, 8, 3, between="ReLU")
    net.insert(1, torch.nn.BatchNorm1d(8))
    net.train(mode == "train")
    if mode == "frozen":
        freeze(net[1])
    return train(torch, net, *classes(torch), lr=0.01)


fault("eval while training", "ROOT/1", asks=True)(normed, "eval")
for mode in ("train", "frozen"):
    healthy()(normed, mode)


def padded(torch, outputs=9, **ignored):
    """A language model of texts that are padded."""
    nn = torch.nn
    words, head = nn.Embedding(9, 5, padding_idx=0), nn.Linear(5, outputs)
    texts = torch.tensor([[1, 2, 0, 0, 0], [3, 4, 5, 2, 1]])

    def loss_of():
        logits = head(words(texts[:, :-1])).flatten(0, 1)
        return nn.functional.cross_entropy(logits, texts[:, 1:].flatten(), **ignored)

    return train(torch, None, rounds=3, loss_of=loss_of, given=weights(words, head))


fault("padding in the loss", "3 of its 8 targets (38%) are 0", at="cross_entropy", asks=True)(padded)
healthy()(padded, ignore_index=0)
healthy("classes of another kind")(padded, 7)


def lost(torch, loss_of, samples=12):
    """Three steps with a loss of scores, of classes, and of what is true of each."""
    net, (x, y) = torch.nn.Linear(6, CLASSES), classes(torch, samples=samples)
    truths = (torch.randn(samples, CLASSES) > 0).float()
    losses = torch.nn.functional
    return train(torch, net, rounds=3, loss_of=lambda: loss_of(losses, net(x), y, truths))


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


fault("sigmoid twice", "expects logits but gets probabilities from sigmoid", at="scores.sigmoid()")(lost, sigmoid_twice)
fault("no logarithm", "gets probabilities from softmax", at="F.nll_loss")(lost, no_logarithm)
fault("softmax over the batch", "over the 12 samples", "not over the 3", at="dim=0")(lost, over_the_batch)
fault("softmax over the batch", at="dim=0", asks=True)(lost, over_the_batch, CLASSES)  # as many samples as classes
fault("no minus", "gather", at="gather", asks=True)(lost, no_minus)
for loss in (sigmoid_once, logarithm, minus, weighted):
    healthy()(lost, loss)


def penalized(torch, creates, rounds=2):
    """A critic with a gradient penalty, whose gradient has a graph or not."""
    critic, x = mlp(torch, 2, 6, 1), torch.randn(8, 2, requires_grad=True)

    def loss_of():
        (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=creates)  # of the input
        penalty = ((g.norm(dim=1) - 1) ** 2).mean()
        return critic(x).mean() + 10 * penalty

    return train(torch, critic, loss_of=loss_of, rounds=rounds)


fault("constant term", "the addition", "create_graph=True", at="# of the input", asks=True)(penalized, False)
healthy()(penalized, True)


@healthy("gradients without a graph, as a step of the weights")
def first_order(torch):
    w, x = torch.randn(3, 1, requires_grad=True), torch.randn(10, 3)

    def loss_of():
        (g,) = torch.autograd.grad((x @ w).square().mean(), w)
        return ((x @ (w - 0.1 * g)) - 1).square().mean() + (w * g).square().mean()

    return train(torch, None, loss_of=loss_of, given=[w], lr=0.01)


# The mode of a module: an evaluation in training mode, a training in evaluation mode.


def evaluated(torch, layers, evaluates="", modes="tttt"):
    """A training with an evaluation after each step; `modes` of the steps: t is train(), e is eval()."""
    nn = torch.nn
    made = {"Dropout": lambda: nn.Dropout(0.25), "BatchNorm1d": lambda: nn.BatchNorm1d(6), "Tanh": nn.Tanh}
    net = nn.Sequential(nn.Linear(4, 6), *[made[each]() for each in layers.split()], nn.Linear(6, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def run():
        for mode in modes:
            net.train(mode == "t")
            out = net(x)  # in the training
            optimizer.zero_grad()
            nn.functional.mse_loss(out, y).backward()
            optimizer.step()
            if evaluates in ("train", "eval"):
                net.train(evaluates == "train")
                with torch.no_grad():
                    net(x)  # in the evaluation
        if evaluates == "afterward":
            net.eval()
            seen = x.clone().requires_grad_()
            torch.autograd.grad(net(seen).sum(), seen)

    return run


BOTH = "BatchNorm1d Dropout"
fault("train mode without gradients", "net.1 (p 0.25) ", at="# in the evaluation", asks=True)(
    evaluated, "Dropout", "train"
)
fault("train mode without gradients", "net.1 then uses the statistics", at="# in the evaluation", asks=True)(
    evaluated, "BatchNorm1d", "train"
)
for layers in ("Dropout", "BatchNorm1d", BOTH):
    fault("eval while training", "Earlier, net was in training mode", at="# in the training", asks=True)(
        evaluated, layers, modes="tee"
    )
for layers in ("Dropout", "BatchNorm1d"):
    fault("eval while training", asks=True)(evaluated, layers, modes="eee")
for layers in ("Dropout", BOTH, "Tanh"):
    healthy()(evaluated, layers, "eval")
healthy("a model without dropout may be in either mode")(evaluated, "Tanh", "train", "teet")
healthy("a model is looked at in evaluation mode after its training")(evaluated, BOTH, "afterward")
