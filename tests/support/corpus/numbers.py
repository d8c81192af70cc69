"""Numbers that vanish, explode, are zero or equal, or too small for their dtype; and custom backwards."""

from __future__ import annotations

import math

from . import ANY, QUESTIONS, fault, healthy
from .parts import classes, filled, freeze, mlp, train, weights


@fault("not finite", "the backward of sqrt", "zero everywhere", "1e-8", at=".sqrt()")
def root_of_zero(torch):
    """A distance whose root has an infinite slope at 0."""
    net, x = torch.nn.Linear(3, 2), torch.randn(4, 3)

    def loss_of():
        out = net(x)
        away = ((out - out.detach()) ** 2).sum(1).sqrt()
        return away.mean() + out.pow(2).mean()

    return train(torch, net, rounds=3, loss_of=loss_of)


@fault("not finite", "log (", "its inputs were finite (from 0 to ", "clamp", at="torch.log", beside=ANY)
def log_of_zero(torch):
    """Scores that are cut off at 0 before their logarithm."""
    net, x = torch.nn.Linear(3, 5), torch.randn(4, 3)
    return train(torch, net, rounds=3, loss_of=lambda: -torch.log(torch.relu(net(x))).mean())


MASKED = "4 of 16 values; its input had 6 infinite values"


def masked(torch, row):
    """Scores of which one row is all masked, or none."""
    net, x = torch.nn.Linear(3, 4), torch.randn(4, 3)
    mask = torch.tensor([[False, True, False, True], [row] * 4, [False] * 4, [False] * 4])

    def loss_of():
        scores = net(x).masked_fill(mask, -math.inf)
        return torch.softmax(scores, -1).pow(2).sum()

    return train(torch, net, rounds=1 if row else 3, loss_of=loss_of)


fault("not finite", "softmax (", MASKED, "unmasked", at="torch.softmax", beside=ANY)(masked, True)
healthy("a mask leaves something of each row")(masked, False)


@fault("not finite", "is not finite: 1 of 12 values", beside=ANY)
def bad_data(torch):
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    x[1, 2] = math.nan
    return train(torch, mlp(torch, 3, 4, 2), x, y)


@fault("not finite", "had already grown to", "so the run was diverging", beside=("large update",))
def too_fast(torch):
    x = torch.randn(20, 10) * 50
    return train(torch, torch.nn.Linear(10, 1), x, x.sum(1, keepdim=True), lr=1e3, rounds=14)


def deep(torch, between, layers=8, scale=1.0, head=1.0, **options):
    net = mlp(torch, *[6] * (layers + 1), 3, between=between)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(scale)
        for parameter in net[-1].parameters():
            parameter.mul_(head)
    return train(torch, net, *classes(torch), **options)


fault("vanishing", "ROOT/16", "from each of these 9 layers to the one before")(deep, "Sigmoid", lr=0.01)
fault("exploding", "from each of these 9 layers to the one before", beside=ANY)(deep, "LeakyReLU", scale=12.0, lr=1e-12)
for between in ("ReLU", "Tanh", "GELU"):
    healthy()(deep, between, 3, kind="Adam", lr=1e-3)
healthy("the head begins with zeros")(deep, "Tanh", 3, head=0.0, kind="Adam", lr=0.01)


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


fault("exploding", "from each of these 20 time steps", at="h = x[t]", beside=ANY)(recurrent, 1.0, 1e-9)
fault("vanishing", "first time steps", at="h = x[t]")(recurrent, 0.02)
healthy()(recurrent, 0.4)


def reader(torch, kind, length):
    """A usual recurrent net, which is asked about only where nothing of the past is left."""
    nn = torch.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = getattr(nn, kind)(5, 16, batch_first=True)
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.memory(x)[0][:, -1])

    return train(torch, Reader(), torch.randn(6, length, 5), torch.arange(6) % 3, kind="Adam", lr=1e-3)


fault("vanishing", "these 80 time steps", asks=True, slow=True)(reader, "RNN", 80)
healthy(slow=True)(reader, "RNN", 30)
healthy(slow=True)(reader, "GRU", 40)


def relus(torch, dead, low=-50.0, high=0.0):
    net = mlp(torch, 6, 8, 3, between="ReLU")
    with torch.no_grad():
        net[0].bias.copy_(torch.tensor([low] * dead + [high] * (8 - dead)))
    return train(torch, net, *classes(torch), lr=0.05)


def called_twice(torch):
    """Dead units of a layer that one line calls twice, as for two views of a sample."""
    net = mlp(torch, 6, 8, 3, between="ReLU")
    with torch.no_grad():
        net[0].bias.copy_(torch.tensor([-50.0] * 5 + [0.0] * 3))
    x, y = classes(torch)

    def loss_of():
        return torch.nn.functional.cross_entropy(net(x) + net(x.flip(0)), y)

    return train(torch, net, lr=0.05, loss_of=loss_of)


DEAD = "96 values in 4 calls; its inputs range from -5"
fault("dead units", "Every output of relu in ROOT/1", DEAD)(relus, 8)
fault("dead units", "5 of 8 units of relu in ROOT/1")(relus, 5)
healthy()(relus, 0)
healthy("half of a few units are off by chance where biases outweigh inputs")(relus, 4, -5.0, -0.5)
fault("dead units", "5 of 8 units of relu in ROOT/1")(called_twice)


def chained(torch, places):
    """ReLUs of which the second gives zeros: two in one line, or one line in a loop."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    filled(torch, net[1].bias, -50.0)
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


for places in ("line", "loop"):
    fault("dead units", DEAD, at="torch.relu")(chained, places)


def dying(torch, samples, below):
    """A ReLU whose outputs are more than are kept, and most of whose units are below 0 for all samples."""
    layer, head = torch.nn.Linear(8, 16, bias=False), torch.nn.Linear(16, 1)
    with torch.no_grad():
        layer.weight.mul_(0.1)
        layer.weight[:12] -= below
        layer.weight[12:] += 0.05 * below
    x, y = torch.rand(samples, 8) + 0.5, torch.randn(samples, 1)

    def loss_of():
        h = torch.relu(layer(x))  # the units
        return torch.nn.functional.mse_loss(head(h), y)

    return train(torch, None, lr=1e-3, rounds=3, loss_of=loss_of, given=weights(layer, head))


fault("dead units", "12 of 16 units of relu", "in each of 3 calls", at="# the units", beside=ANY)(dying, 200, 1.0)
healthy(unless="dead units")(dying, 200, 0.0)
healthy(unless="dead units")(dying, 5, 1.0)


@fault("zero gradient", "net.weight", at="torch.round", asks=True)
def rounded(torch):
    """A rounding on the path, whose slope is zero."""
    net, head = torch.nn.Linear(6, 3), torch.nn.Linear(3, 3)
    x, y = classes(torch)
    loss = torch.nn.functional.cross_entropy
    return train(torch, None, loss_of=lambda: loss(head(torch.round(net(x))), y), given=weights(net, head))


@fault("zero gradient", "tanh in ROOT/1", "passed on exact zeros", at="net(x)", asks=True, beside=QUESTIONS)
def inputs_not_scaled(torch):
    """Inputs so large that every tanh is saturated."""
    return train(torch, mlp(torch, 3, 16, 1), 1e5 + 1e6 * torch.rand(16, 3), torch.randn(16, 1), lr=1e-3)


def between(torch, what):
    """Zeros that no operation makes: a hook does on a tensor, a node or a module, or two gradients cancel."""
    net, head = torch.nn.Linear(6, 3), torch.nn.Linear(3, 3)
    x, y = classes(torch)
    if what == "module":
        head.register_full_backward_hook(lambda module, grads, outs: tuple(0 * grad for grad in grads))

    def loss():
        h = torch.tanh(net(x))
        if what == "tensor":
            h.register_hook(lambda grad: grad * 0)
        if what == "node":
            h.grad_fn.register_prehook(lambda grads: tuple(0 * grad for grad in grads))
        return torch.nn.functional.cross_entropy(head(h - h if what == "sum" else h), y)

    return train(torch, None, loss_of=loss, given=weights(net, head))


ZERO = "zero gradient"
fault(ZERO, "net.weight", "hook <lambda>", at="lambda grad:", asks=True, why="net.weight")(between, "tensor")
fault(ZERO, "net.weight", "pre-hook <lambda>", at="lambda grads:", asks=True, why="net.weight")(between, "node")
fault(ZERO, "net.weight", "hook", asks=True, why="net.weight")(between, "module")
fault(ZERO, "net.weight", "cancel out", at="torch.tanh", asks=True, why="net.weight")(between, "sum")


def without_data(torch, filled):
    """Data that were never filled in."""
    net, x = mlp(torch, 4, 6, 1), torch.zeros(12, 4)
    x[:, 0] = filled
    return train(torch, net, x, torch.randn(12, 1))


fault(ZERO, "x is all zeros in ROOT/0", "net.0.weight", at="net(x)", asks=True, why="net.0.weight")(without_data, 0.0)
healthy("data with columns of zeros")(without_data, 1.0)


def one_class(torch, loss):
    """A softmax over one score."""
    net, x, functional = torch.nn.Linear(4, 1), torch.randn(12, 4), torch.nn.functional
    y = torch.arange(12) % 2

    def loss_of():
        if loss == "cross_entropy":
            return functional.cross_entropy(net(x), 0 * y)  # of one
        return functional.mse_loss(net(x).softmax(1), 1.0 * y[:, None])  # of one

    return train(torch, net, loss_of=loss_of)


for loss in ("cross_entropy", "mse_loss"):
    fault(ZERO, "over a dimension of size 1", "one score per class", at="# of one", asks=True, why="net.weight")(
        one_class, loss
    )


def adapted(torch, first, second):
    """An adapter beside a frozen layer, whose two factors begin with such numbers; None is for random ones."""
    nn = torch.nn
    base, down, up = nn.Linear(6, 3), nn.Linear(6, 2, bias=False), nn.Linear(2, 3, bias=False)
    freeze(base)
    for layer, number in ((down, first), (up, second)):
        if number is not None:
            filled(torch, layer.weight, number)
    x, y = classes(torch)
    loss = nn.functional.cross_entropy
    return train(torch, None, loss_of=lambda: loss(base(x) + up(down(x)), y), given=weights(down, up))


BOTH = "all of up.weight is 0"
fault(ZERO, "down.weight is multiplied only by zeros", BOTH, "only one of two factors", at="up(down(x))", asks=True)(
    adapted, 0.0, 0.0
)
healthy("one of two factors begins with zeros")(adapted, None, 0.0)
healthy("the other of two factors begins with zeros")(adapted, 0.0, None)


@fault(ZERO, "ROOT/2", "net.2.weight", "only one of two factors", asks=True)
def all_zero(torch):
    net = mlp(torch, 4, 6, 3)
    for parameter in net.parameters():
        filled(torch, parameter, 0.0)
    return train(torch, net, *classes(torch, 4))


def equal(torch, number, wide=8):
    """Weights that all begin with one number, or that begin at random."""
    net = mlp(torch, 6, wide, 3)
    for layer in (net[0], net[2]) if number else ():
        filled(torch, layer.weight, number)
    filled(torch, net[0].bias, 0.0)
    return train(torch, net, *classes(torch))


# Of the wider the weights are known by their summaries. A power of two: some processors sum what is left over of a
# vector in another order, and units that round differently are not equal.
for wide in (8, 256):
    fault("equal units", f"All {wide} units", "net.0.weight", "same gradients in 4 backward passes", beside=ANY)(
        equal, 0.1, wide
    )
healthy()(equal, 0.0)


@healthy("weights begin at 0, and gradients of classes differ")
def scores_from_zero(torch):
    net = torch.nn.Linear(6, 5)
    for parameter in net.parameters():
        filled(torch, parameter, 0.0)
    return train(torch, net, torch.randn(20, 6), torch.arange(20) % 5)


# The scale of a loss.


def sum_of_all(torch, lr):
    """A loss that is a sum over all numbers."""
    net, x, y = mlp(torch, 4, 8, 2), torch.randn(32, 4), torch.randn(32, 2)
    return train(torch, net, lr=lr, loss_of=lambda: ((net(x) - y) ** 2).sum())


fault("large update", "adds 64 values", beside=("loss is a sum",))(sum_of_all, 1.0)
healthy()(sum_of_all, 1e-3)


def reduced(torch, loss, reduction="sum", lr=1.0):
    """A loss with its reduction."""
    functional = torch.nn.functional
    net, x = mlp(torch, 4, 8, 3), torch.randn(32, 4)
    y = torch.arange(32) % 3 if loss in ("nll_loss", "cross_entropy") else torch.rand(32, 3)

    def loss_of():
        out = net(x)
        if loss == "nll_loss":
            out = functional.log_softmax(out, 1)
        elif loss == "binary_cross_entropy":
            out = torch.sigmoid(out)
        return getattr(functional, loss)(out, y, reduction=reduction)

    return train(torch, net, lr=lr, loss_of=loss_of)


sums = fault("loss is a sum", asks=True, beside=ANY)
for kind in ("mse_loss", "l1_loss", "huber_loss", "nll_loss", "cross_entropy", "binary_cross_entropy_with_logits"):
    sums(reduced, kind, lr=10.0)
for kind in ("mse_loss", "nll_loss", "binary_cross_entropy"):
    healthy()(reduced, kind, "mean", 0.1)
    healthy("a sum with small steps")(reduced, kind, "sum", 1e-4)


def by_hand(torch, lr, power=1.0):
    """A linear model without an optimizer, of vectors."""
    w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    x = 3 * torch.randn(50, 3)
    y = x @ torch.tensor([1.0, 2.0, 3.0]) + 1

    def run():
        for at in range(8):
            loss = power**at * (x @ w + b - y).square().mean()
            loss.backward()
            with torch.no_grad():
                for each in (w, b):
                    each -= lr * each.grad
                    each.grad = None

    return run


fault("loss grows", "in 8 steps", "grows in each of the last 3 steps", asks=True, at="each -= lr")(by_hand, 0.3)
healthy()(by_hand, 0.01)
healthy("the loss has a factor that grows")(by_hand, 1e-6, power=4.0)


def half(torch, scale):
    """A model in float16 with a small loss."""
    net, x = mlp(torch, 8, 8, 8, 8).half(), torch.randn(64, 8).half()
    return train(torch, net, lr=0.1 / scale, rounds=3, loss_of=lambda: scale * 1e-6 * net(x).pow(2).mean())


fault("underflow", "underflow in float16", "exact zeros", "GradScaler", beside=ANY, engines=("torch",))(half, 1.0)
healthy(unless="underflow", engines=("torch",))(half, 65536.0)


def mixed(torch, order, scale=1024.0):
    """A loss that is scaled, with gradients that are clipped before or after they are unscaled."""
    net, x, y = mlp(torch, 4, 8, 2), torch.randn(32, 4), torch.randn(32, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)

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


CLIPPED = ("multiplied by 1,024", "in 3 steps", "unscale_")
fault("clipped while scaled", *CLIPPED, at="clip_grad_norm_", engines=("torch",))(mixed, "scaled")
for order in ("unscaled", "averaged"):
    healthy(engines=("torch",))(mixed, order)
healthy("a scaler halves a scale that begins too high", unless="certain", engines=("torch",))(
    mixed, "unscaled", 2.0**40
)

# A forward, and what its backward makes of the input and the gradient.
FUNCTIONS = {
    "wrong": (lambda x: x * x, lambda x, grad: grad * x),
    "right": (lambda x: x * x, lambda x, grad: grad * 2 * x),
    "reversed": (lambda x: x.view_as(x), lambda x, grad: -grad),
    "spiking": (lambda x: (x > 0).float(), lambda x, grad: grad / (1 + x.abs()) ** 2),
    "rounded": (lambda x: (8 * x.clamp(-1, 1)).round() / 8, lambda x, grad: grad),
    "of a row": (lambda x: x - x.mean(1, keepdim=True), lambda x, grad: grad - grad.mean(1, keepdim=True)),
}


def activation(torch, kind, samples=12):
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

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

        def forward(self, x):
            return self.last(Square.apply(self.first(x)))  # applied

    return train(torch, Model(), torch.randn(samples, 4), torch.randn(samples, 2), lr=0.01)


DIFFERS = ("doesn't match its derivative", "a factor of 2", "gradcheck(Square.apply")
fault("not the derivative", *DIFFERS, at="# applied", asks=True)(activation, "wrong")
fault("not the derivative", at="# applied", asks=True)(activation, "wrong", 64)  # of 512 numbers, as many as are kept
for kind in ("right", "reversed", "spiking", "rounded", "of a row"):
    healthy()(activation, kind)


def normalized(torch, start, kind="SGD", eps=1e-12, zeros=False):
    """Vectors of length 1, which are zero at first."""
    first, last, (x, y) = torch.nn.Linear(6, 4, bias=False), torch.nn.Linear(4, 3), classes(torch)
    with torch.no_grad():
        first.weight.mul_(start)
        x[2] *= not zeros

    def loss_of():
        h = torch.nn.functional.normalize(first(x), dim=1, eps=eps)  # of length 1
        return torch.nn.functional.cross_entropy(last(h), y)

    net = torch.nn.ModuleList([first, last])
    return train(torch, net, lr=0.1, loss_of=loss_of, kind=kind)


EXPLODES = "is huge in step 1 of 4", "div", "divides by"
fault("explodes once", *EXPLODES, "nearly zero afterward", at="# of length 1", beside=QUESTIONS)(normalized, 0.0)
fault("explodes once", *EXPLODES, at="# of length 1", beside=QUESTIONS)(normalized, 0.0, "Adam")
healthy("usual weights")(normalized, 1.0)
healthy("a sample of zeros")(normalized, 1.0, zeros=True)
healthy("small weights, and a divisor that is not small")(normalized, 0.01, eps=1e-2)


@healthy("the loss is scaled, and that of the first step by more")
def scaled_first(torch):
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    def run():
        for at in range(4):
            scale = 65536.0 if at == 0 else 1024.0
            optimizer.zero_grad()
            (torch.nn.functional.cross_entropy(net(x), y) * scale).backward()
            for each in net.parameters():
                each.grad.div_(scale)
            optimizer.step()

    return run


def product(torch, how):
    """A Function of two matrices."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ (w.sign() if how == "signs" else w)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            if how == "signs":
                return grad @ w.sign().t(), x.t() @ grad
            if how == "reversed":
                return -(grad @ w), x.t() @ grad
            return grad @ (w if how == "transposed" else w.t()), x.t() @ grad

    layer, w, x = torch.nn.Linear(4, 4), torch.nn.Parameter(torch.randn(4, 4)), torch.randn(8, 4)
    parts = torch.nn.ModuleList([layer])
    parts.w = w

    def loss_of():
        return Product.apply(layer(x).tanh(), w).square().mean()

    return train(torch, parts, lr=0.01, rounds=6, loss_of=loss_of)


SAID = "The backward of Product", "its result should change by", "gradcheck(Product.apply, inputs)"
fault("not the derivative", *SAID, at="Product.apply", asks=True)(product, "transposed")
fault("not the derivative", *SAID, at="Product.apply", asks=True)(product, "reversed")
healthy()(product, "right")
healthy("the signs of weights, straight through")(product, "signs")


# A forward of one or several tensors, and its backward: right, and with what is often forgotten.
FORMULAS = {
    "linear": (lambda x, w: x @ w.t(), lambda g, x, w: (g @ w, g.t() @ x)),
    "linear without a transpose": (lambda x, w: x @ w.t(), lambda g, x, w: (g @ w.t(), g.t() @ x)),
    "linear with the weight's transposed": (lambda x, w: x @ w.t(), lambda g, x, w: (g @ w, (g.t() @ x).t())),
    "linear with a bias": (lambda x, w, b: x @ w.t() + b, lambda g, x, w, b: (g @ w, g.t() @ x, g.sum(0))),
    "linear with the mean for a bias": (
        lambda x, w, b: x @ w.t() + b,
        lambda g, x, w, b: (g @ w, g.t() @ x, g.mean(0)),
    ),
    "scores": (lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), x.t() @ g)),
    "scores in the wrong order": (lambda x, w: x @ w, lambda g, x, w: (x.t() @ g, g @ w.t())),
    "difference": (lambda x, w: x - w, lambda g, x, w: (g, -g)),
    "difference without the sign": (lambda x, w: x - w, lambda g, x, w: (g, g)),
    "softmax": (lambda x: x.softmax(1), lambda g, x: (x.softmax(1) * (g - (g * x.softmax(1)).sum(1, keepdim=True)),)),
    "softmax by itself": (lambda x: x.softmax(1), lambda g, x: (g * x.softmax(1),)),
    "average": (lambda x: x.mean(), lambda g, x: (g / x.numel() + 0 * x,)),
    "average as a sum": (lambda x: x.mean(), lambda g, x: (g + 0 * x,)),
    "exponential": (lambda x: x.exp(), lambda g, x: (g * x.exp(),)),
    "exponential without what came": (lambda x: x.exp(), lambda g, x: (x.exp(),)),
    "swish": (
        lambda x: x * x.sigmoid(),
        lambda g, x: (g * (x.sigmoid() + x * x.sigmoid() * (1 - x.sigmoid())),),
    ),
    "sigmoid by its input": (lambda x: x.sigmoid(), lambda g, x: (g * x * (1 - x),)),
    "clipped exponential": (lambda x: x.exp(), lambda g, x: (g * x.clamp(-15, 15).exp(),)),
    "sizes": (lambda x: x.abs(), lambda g, x: (g * x.sign(),)),
    "signs": (lambda x, w: x @ w.sign(), lambda g, x, w: (g @ w.sign().t(), x.t() @ g)),
    "copy": (lambda x: x * 1.0, lambda g, x: (-0.5 * g,)),
}


def formula(torch, kind):
    """One call of a Function of square matrices, each with its own numbers."""
    ahead, back = FORMULAS[kind]

    class Formula(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            ctx.save_for_backward(*given)
            return ahead(*given)

        @staticmethod
        def backward(ctx, grad):
            return back(grad, *ctx.saved_tensors)

    shapes = [(4, 4), (4, 4), (4,)][: ahead.__code__.co_argcount]
    given = [torch.randn(shape, requires_grad=True) for shape in shapes]

    def run():
        Formula.apply(*given).square().sum().backward()

    return run


UNLIKE = ("The backward of Formula", "the formula gives", "gradcheck(Formula.apply, inputs)")
for kind, gradient in {
    "linear without a transpose": "equals `a @ b.t()`, but the gradient of a is not",
    "linear with the weight's transposed": "equals `a @ b.t()`, but the gradient of b is not",
    "linear with the mean for a bias": "equals `a @ b.t() + c`, but the gradient of c is not",
    "scores in the wrong order": "equals `a @ b`, but the gradient of a and b is not",
    "difference without the sign": "equals `a - b`, but the gradient of b is not",
    "softmax by itself": "equals `softmax(a, -1)`",
    "average as a sum": "equals `a.mean()`",
    "exponential without what came": "equals `exp(a)`",
    "sigmoid by its input": "equals `sigmoid(a)`",
}.items():
    fault("not the derivative", *UNLIKE, gradient, at="Formula.apply", asks=True)(formula, kind)
for kind in ("linear", "linear with a bias", "scores", "difference", "softmax", "average", "exponential", "swish"):
    healthy()(formula, kind)
healthy("a gradient that is kept in bounds")(formula, "clipped exponential")
healthy("a function that no formula is known of")(formula, "sizes")
healthy("the signs of weights, straight through")(formula, "signs")
healthy("a gradient of another factor and sign on purpose")(formula, "copy")


def by_hand(torch, how, scale=65536.0):
    """A loss that is scaled by hand, with gradients that are divided by the scale, or not."""
    net, x, y = torch.nn.Linear(4, 2), torch.randn(8, 4), torch.randn(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    factor = torch.tensor(scale) if how == "tensor" else scale

    def run():
        for _ in range(4):
            loss = torch.nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            (factor * loss).backward()  # scaled
            if how == "divided":
                for each in net.parameters():
                    each.grad /= factor
            optimizer.step()

    return run


SCALED = (
    "changed net.weight by",
    "multiplied by 65,536",
    "nothing divides the gradients of net.weight",
    "p.grad /= scale",
)
for how in ("number", "tensor"):
    fault("scaled loss", *SCALED, at="# scaled", asks=True, beside=ANY)(by_hand, how)
fault("scaled loss", "multiplied by 4,096", at="# scaled", asks=True, beside=ANY)(by_hand, "number", 4096.0)
healthy()(by_hand, "divided")
