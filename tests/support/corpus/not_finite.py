"""The first that was not finite is named, in findings and by `why`, and never what took it up later."""

from __future__ import annotations

import math

from . import ANY, QUESTIONS, fault, healthy
from .parts import filled, freeze, mlp, train

FIT = 0.01  # a learning rate


def net_and_data(torch):
    return torch.nn.Linear(3, 2), torch.ones(4, 3)


def not_finite(*facts, at="", certain=True, **more):
    """Return what enters a program in which nothing else is certain."""
    return fault("not finite", *facts, at=at, asks=not certain, beside=QUESTIONS, **more)


OVERFLOW = "The first inf comes from exp ("


@not_finite(
    *("exp (", OVERFLOW, "its inputs were finite (from ", ". The subtraction (", "subtract the maximum"),
    "The first inf on the path comes from exp (",
    at="# overflows",
    why="net.weight",
)
def grows_in_the_third_step(torch):
    """A contrast normalized by its mean, whose exponentials overflow in the third step."""
    net, x = net_and_data(torch)
    scale = [1.0, 1.0, 1000.0, 1.0]

    def loss_of():
        away = torch.exp((net(x) * scale[0]).abs())  # overflows
        contrast = away - away.mean()  # inf - inf
        return contrast.pow(2).mean()

    def begin(at, optimizer):
        scale[0] = (1.0, 1.0, 1000.0, 1.0)[at]

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@not_finite(
    *("the multiplication (", "; it was given the number inf, and its inputs were finite (from ", "Check that number"),
    "The first inf on the path comes from the multiplication (",
    at="# the number",
    why="net.weight",
)
def by_a_number(torch):
    """The weight of a penalty that is switched off by an infinite temperature."""
    net, x = net_and_data(torch)

    def loss_of():
        hot = net(x) * float("inf")  # the number
        return torch.relu(hot + 1).mean()

    return train(torch, net, lr=FIT, loss_of=loss_of)


def weight_of(torch, number, given=1.0):
    """Two layers, one of whose first has a weight that is not finite."""
    net, x = mlp(torch, 3, 4, 2), torch.ones(4, 3)
    with torch.no_grad():
        net[0].weight[1, 2] = number
    x[:, 2] = given
    return train(torch, net, x, torch.tensor([0, 1, 0, 1]), lr=FIT)


FROM = "net.0.weight is not finite before the first step"
not_finite(
    *(f"{FROM}: 1 of 12 values", " nan; ", " is the first to use it."),
    "not finite).\nIt first happened in step 1 of 4, in the backward pass at ",
    at="loss = losses.cross_entropy(net(x), y)",
    why="net.2.weight",
)(weight_of, math.nan)
not_finite(f"{FROM}: 1 of 12 values", certain=False)(weight_of, math.inf)
not_finite(f"{FROM}: 1 of 12 values")(weight_of, math.inf, 0.0)


@not_finite("exp (", at="# overflows")
def kept_for_the_next_step(torch):
    """A scale for the next step, which is the mean of this one's exponentials."""
    net, x = net_and_data(torch)
    scale, by = [torch.ones(2)], [1.0]

    def loss_of():
        h = net(x)
        far = torch.exp((h * by[0]).abs())  # overflows
        loss = (h * scale[0]).sum()
        scale[0] = far.detach() * 0.1
        return loss

    def begin(at, optimizer):
        by[0] = 1000.0 if at == 1 else 1.0

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@not_finite(
    *("`scale`, an input of the multiplication (", ", is not finite: 8 of 8", "; it was computed under `no_grad` ("),
    *("net.weight.grad is not finite", "scale = torch.exp("),
    why="net.weight",
)
def computed_without_gradients(torch):
    """A scale that is infinite, computed of the weights under `no_grad`."""
    net, x = net_and_data(torch)

    def loss_of():
        h = net(x)
        with torch.no_grad():
            scale = torch.exp(h.abs() + 1000)  # overflows
        return (h * scale).sum()

    return train(torch, net, lr=FIT, loss_of=loss_of)


def written(torch, what):
    """A weight of the loss, or a layer's own, that the program divides by 0 after the second step."""
    net, x = net_and_data(torch)
    scale = torch.ones(2)

    def end(optimizer):
        with torch.no_grad():
            if what == "constant":
                scale.div_(0.0)  # written
            else:
                net.weight.div_(0.0)  # the weight

    return train(torch, net, lr=FIT, loss_of=lambda: (net(x) * scale).sum(), end=end)


not_finite(
    *("div_ (", " makes `scale` not finite: 2 of 2 values; the multiplication ("),
    "not finite).\nIt first happened in step 2 of 4, in the backward pass at ",
    at="# written",
    why="net.weight",
)(written, "constant")
not_finite("The program at ", " makes net.weight not finite: 6 of 6 values", at="# the weight")(written, "weight")


def masked_entropy(torch, mask):
    """The entropy of chances some of which a mask of -inf has made 0, whose logarithms are -inf."""
    net, x = torch.nn.Linear(3, 4), torch.ones(2, 3)
    off = torch.tensor([[False, True, False, False]] * 2)
    far = torch.tensor([[0.0, -math.inf, 0.0, 0.0]] * 2)

    def loss_of():
        scores = net(x) + far if mask == "add" else net(x).masked_fill(off, -math.inf)  # the mask
        logs = torch.log_softmax(scores, -1)
        return -(logs.exp() * logs).sum()  # 0 * -inf

    return train(torch, net, lr=FIT, loss_of=loss_of)


OF_MASK = "2 of 8 values; its input had 2 infinite values of 8, from "
for mask in ("add", "fill"):
    not_finite("the multiplication (", OF_MASK, "`scores = net(x) + far", at="# 0 * -inf")(masked_entropy, mask)


def hooked(torch, what):
    """A gradient that a hook, or the caller of `backward`, makes infinite."""
    net, x = net_and_data(torch)

    def run():
        h = net(x)
        if what == "hook":
            h.register_hook(lambda grad: grad * math.inf)  # the hook
        h.sum().backward(torch.tensor(math.inf if what == "seed" else 1.0))  # the seed

    return run


not_finite(" turns a finite gradient into a non-finite one.", at="# the hook")(hooked, "hook")
not_finite("The backward pass at ", " starts from a gradient that is not finite.", at="# the seed")(hooked, "seed")


@not_finite(
    *("softmax (", "eave at least one position of each row unmasked", "The first nan on the path comes from softmax ("),
    at="# no position",
    why="net.weight",
)
def attention(torch):
    """Attention in which the third step leaves a row without a position that it may look at."""
    net, x = torch.nn.Linear(4, 4), torch.ones(2, 3, 4)
    rows = [torch.zeros(2, 3, 3).bool(), torch.ones(2, 3, 3).bool()]
    off = [rows[0]]

    def loss_of():
        scores = (net(x) @ net(x).transpose(-2, -1)).masked_fill(off[0], -math.inf)
        return (scores.softmax(-1) @ net(x)).mean()  # no position left

    def begin(at, optimizer):
        off[0] = rows[at == 2]

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@not_finite("the division (", at="# by 0")
def stopped_before_its_backward(torch):
    """A training that stops at a result which is nan, and begins no backward there."""
    net, x = net_and_data(torch)

    def run():
        for at in range(3):
            h = net(x)
            if at == 2:
                h = (h / (h - h.detach())) * 0  # by 0
                return
            h.mean().backward()

    return run


@healthy("a step whose loss is infinite is left out", unless="not finite")
def left_out(torch):
    net, x = net_and_data(torch)

    def run():
        for at in range(4):
            loss = net(x).pow(2).mean()
            if at == 2:
                loss = loss / 0.0
            if math.isfinite(loss.item()):
                loss.backward()

    return run


@not_finite("the backward of sqrt (")
def gathered(torch):
    """Gradients of two batches a step, one of which is nan in the first step: weights that stay nan are no updates."""
    net, x = net_and_data(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=FIT)

    def run():
        for at in range(2):
            optimizer.zero_grad()
            for part in range(2):
                h = net(x)
                loss = h.pow(2).mean()
                if at == 0 and part == 1:
                    loss = loss + (h * 0).sum().sqrt()  # infinite at 0
                loss.backward()
            optimizer.step()

    return run


@not_finite(
    *("An input of ", "is not finite: 5 of 20"),
    " net.0.weight, which takes no gradient, contains nan too: 1 of 12 values.",
)
def frozen_layer(torch):
    """The first layer takes no gradient, and one of its weights is nan."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    freeze(net[0])
    with torch.no_grad():
        net[0].weight[0, 0] = math.nan
    return train(torch, net, lr=FIT, loss_of=lambda: net(torch.ones(5, 3)).pow(2).mean())


def of_a_gradient(torch, what, when=2, by=0.0):
    """A gradient that the program divides, or a rate that is nan, in one step."""
    net, x = net_and_data(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=FIT)

    def run():
        for at in range(4):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            if at == when and what == "gradient":
                net.weight.grad.div_(by)  # written
            optimizer.param_groups[0]["lr"] = math.nan if at == when and what == "rate" else FIT
            optimizer.step()

    return run


IN_STEP = " makes the gradient of net.weight not finite in step 3: 6 of 6 values"
not_finite("div_ (", IN_STEP, at="# written")(of_a_gradient, "gradient")
not_finite("Check what sets its learning rate (lr), which was nan.")(of_a_gradient, "rate")


@not_finite("mean (", ": its input is empty.", "the result for no values is nan")
def of_nothing(torch):
    """The mean of what a mask has left, which is nothing."""
    net, x = net_and_data(torch)
    return train(torch, net, lr=FIT, loss_of=lambda: net(x)[torch.zeros(4).bool()].mean())


@not_finite("The first inf comes from", at="# overflows", without="view (")
def product_of_batches(torch):
    """Scores of a batch that overflow: the product, not the view that ends it."""
    net, x = torch.nn.Linear(4, 4), torch.ones(2, 3, 4)

    def loss_of():
        many = net(x) * 1e30
        return (many @ many.transpose(-2, -1)).mean()  # overflows

    return train(torch, net, lr=FIT, loss_of=loss_of)


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


for side, operation in {"left": "the multiplication", "right": "the subtraction"}.items():
    fault(
        *("not finite", f"`far`, an input of {operation} ", "is not finite: 1 of 2 values"),
        at="# the input",
        beside=ANY,
    )(divided, side)


@fault("not finite", "the backward of the multiplication", "it had grown to", "`e = torch.exp(net(x))`", beside=ANY)
def weighted_exponentials(torch):
    """Exponentials that are finite, and small weights whose gradient they make infinite."""
    net, x = torch.nn.Linear(4, 3), torch.ones(6, 4)
    filled(torch, net.weight, 20.0)
    weight = torch.full((3,), 1e-30, requires_grad=True)

    def run():
        for _ in range(3):
            e = torch.exp(net(x))  # grows
            loss = 1e10 * (e * weight).mean()
            loss.backward()

    return run


def outside(torch, operation, *values, by=()):
    """An operation where it, or its derivative, is not finite: what to do depends on the input."""
    x = torch.tensor(values, requires_grad=True)

    def run():
        y = getattr(x * 1, operation)(*by)
        y.sum().backward()

    return run


for advice, operation, values, by in (
    ("has no root", "sqrt", (-1.0, 4.0), ()),
    ("x + 1e-8", "sqrt", (0.0, 4.0), ()),
    ("(x + 1e-8).rsqrt()", "rsqrt", (0.0, 4.0), ()),
    ("has no logarithm", "log", (-1.0, 4.0), ()),
    ("Keep its input above 0", "log", (0.0, 4.0), ()),
    ("no fractional power", "pow", (-1.0, 4.0), (0.5,)),
    ("At 0 a negative power is infinite", "pow", (-1.0, 0.0), (-1,)),
    ("leaves the range from -1 to 1", "acos", (2.0, 0.5), ()),
):
    fault("not finite", advice, at="operation", beside=ANY)(outside, operation, *values, by=by)


def chosen_by_where(torch, first):
    """A root of which a `where` chooses the numbers that have one, before or after it was taken."""
    x = torch.tensor([4.0, 0.0, -1.0], requires_grad=True)

    def run():
        if first:
            y = torch.where(x > 0, torch.where(x > 0, x, torch.ones_like(x)).sqrt(), torch.zeros_like(x))
        else:
            y = torch.where(x > 0, (x * 1).sqrt(), torch.zeros_like(x))
        y.sum().backward()

    return run


fault("not finite", "sqrt (", "safe = torch.where(x > 0, x, 1.0)", "is too late", at="(x * 1).sqrt()", why="x")(
    chosen_by_where, False
)
healthy("a where before the root")(chosen_by_where, True)


@fault("not finite", "differences between eigenvalues", at="eigh", beside=ANY)
def equal_eigenvalues(torch):
    """Eigenvectors of a matrix whose eigenvalues are equal."""
    x = torch.eye(2, requires_grad=True)

    def run():
        vectors = torch.linalg.eigh(x * 1)[1]
        (vectors[:, 0] * torch.arange(2.0)).sum().backward()

    return run


def summed_over_mask(torch, lay_over):
    """A `logsumexp` over rows of which the last is masked altogether."""
    w = torch.ones(2, 3, requires_grad=True)
    mask = torch.tensor([[False, True, False], [True, True, True]])

    def run():
        scores = lay_over(w * 2.0, mask)
        torch.logsumexp(scores, 1).sum().backward()  # all of a row

    return run


def masked_out(scores, mask):
    return scores.masked_fill(mask, float("-inf"))


def mask_added(scores, mask):
    return scores + (~mask).to(scores.dtype).log()


SUMMED = ("logsumexp (", " gives -inf (1 of 2 values): all that it sums there is -inf, from ", "unmasked")
for lay_over in (masked_out, mask_added):
    not_finite(*SUMMED, at="# all of a row", why="w")(summed_over_mask, lay_over)
