"""What autograd does not see: memory and gradients that are written between their making and their use."""

from __future__ import annotations

import numpy as np

from . import fault, healthy
from .parts import classes, mlp, train


def through_data(torch, write, op="sigmoid"):
    """A result is written before backward."""
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(5, 3)

    def run():
        for _ in range(2):
            out = getattr(torch, op)(x @ w)
            write(out, torch)
            out.sum().backward()

    return run


def halved(out, torch):
    out.data.mul_(0.5)  # through data


def first_row(out, torch):
    out.data[0] = 0.25  # through data


def filled_part(out, torch):
    out.data[1:].fill_(0.3)  # through data


def as_it_was(out, torch):
    kept = out.data.clone()
    out.data.zero_()
    out.data.copy_(kept)


def by_nothing(out, torch):
    out.data.mul_(1.0)


for write in (halved, first_row, filled_part):
    fault("saved memory written", "sigmoid", "through .data", at="# through data")(through_data, write)
fault("saved memory written", "tanh", "through .data", at="# through data")(through_data, halved, "tanh")
healthy("a ReLU needs only where it let something through")(through_data, halved, "relu")
healthy("it is put back before backward")(through_data, as_it_was)
healthy("nothing is another by it")(through_data, by_nothing)


def through_numpy(torch, how):
    """Memory that NumPy shares is written: between forward and backward, or when no graph needs it."""
    buffer = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    layer, x = torch.nn.Linear(3, 2), torch.from_numpy(buffer)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

    def run():
        for count in range(3):
            if how == "filled before":
                buffer[:] = count + 1
            out = layer(x)
            out = out.relu() if how == "relu" else out.exp() if how == "result" else out
            loss = out.sum() if how in ("result", "relu") else out.square().mean()
            if how == "between":
                buffer[:] = count + 5  # through NumPy
            elif how == "result":
                out.detach().numpy()[0] = 3.0  # through NumPy
            elif how == "weight":
                layer.weight.data = torch.ones(2, 3)  # other memory
            elif how == "put back":
                kept = buffer.copy()
                buffer[:] = 9
                buffer[:] = kept
            elif how == "relu":
                out.detach().numpy()[...] *= 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if how == "filled after":
                buffer[:] = count + 1
            elif how == "by hand":
                layer.weight.detach().numpy()[...] -= 0.1 * layer.weight.grad.numpy()
            elif how == "by data":
                layer.weight.data = layer.weight.data - 0.1 * layer.weight.grad

    return run


fault("saved memory written", "saved x", "something else wrote")(through_numpy, "between")
fault("saved memory written", "exp", "something else wrote")(through_numpy, "result")
for how in ("filled before", "filled after", "put back", "relu", "by hand", "by data", "weight"):
    # A first layer sends nothing on to its input: its backward reads no weight.
    healthy("memory is written when no graph needs it")(through_numpy, how)


def factor_replaced(torch):
    """A factor gets other memory before the backward that reads it."""
    w, x = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)

    def run():
        loss = (w * x).sum()
        w.data = torch.full((3,), 4.0)  # other memory
        loss.backward()

    return run


fault("saved memory written", "mul", "an assignment to `.data`", at="# other memory")(factor_replaced)


def weights_between(torch, when):
    """Weights are clipped through .data, before the backward or after it."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    rate = 0.1

    def clip():
        for parameter in net.parameters():
            parameter.data.clamp_(-0.1, 0.1)  # the clip

    def run():
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            if when == "before":
                clip()
            net.zero_grad()
            loss.backward()
            for parameter in net.parameters():
                parameter.data.add_(parameter.grad, alpha=-rate)
            if when == "after":
                clip()

    return run


fault("saved memory written", "net.2.weight", at="# the clip")(weights_between, "before")
healthy("weights are written through .data after each backward")(weights_between, "after")
healthy()(weights_between, "")


@healthy("binary weights in forward and backward, and the real ones in the step")
def binary(torch):
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def run():
        for _ in range(4):
            kept = [each.data.clone() for each in net.parameters()]
            for each in net.parameters():
                each.data.copy_(each.data.sign() * 0.3)
            loss = torch.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            for each, own in zip(net.parameters(), kept, strict=True):
                each.data.copy_(own)
            optimizer.step()

    return run


@healthy("the ascent step of SAM, and back")
def ascent(torch):
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    def run():
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            moves = [0.05 * each.grad.clone() for each in net.parameters()]
            for each, move in zip(net.parameters(), moves, strict=True):
                each.data.add_(move)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            for each, move in zip(net.parameters(), moves, strict=True):
                each.data.sub_(move)
            optimizer.step()

    return run


def writing(torch, how):
    """The backward of a Function writes into what it is given, or a hook does."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 0.5

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(0.5) if how in ("method", "alone", "residual") else grad * 0.5

    def in_place(grad):
        return grad.mul_(2.0)

    class Halved(Scaled):
        @staticmethod
        def backward(ctx, grad):
            grad[0] *= 0.5
            return grad

    layer, other, x = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.randn(6, 4)

    def loss_of():
        if how == "residual":
            h = other(x)
            return ((h + Scaled.apply(layer(h))) * torch.arange(4.0)).square().sum()
        h = 0 if how == "alone" else other(x)  # its node runs after that of the Function
        g = (Halved if how == "item" else Scaled).apply(layer(x))
        if how == "hook":
            g.register_hook(in_place)
        out = g * 2 if how == "alone" else g + h
        return (out * torch.arange(4.0)).square().sum()

    both = torch.nn.ModuleList([layer] if how == "alone" else [layer, other])
    return train(torch, both, lr=0.001, loss_of=loss_of)


def twice(torch, how):
    """A Function is differentiated twice, for a gradient penalty."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3 if how != "mask" else x * (x > 0)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            if how == "mask":
                return grad * (x > 0)
            return (
                grad
                * 3
                * (x.data if how == "data" else torch.from_numpy(x.detach().numpy() ** 1) if how == "numpy" else x) ** 2
            )

    w, x = torch.linspace(0.5, 1.5, 5).requires_grad_(), torch.linspace(-1.0, 1.0, 5).requires_grad_()

    def run():
        out = Cube.apply(w * x)
        (grad,) = torch.autograd.grad(out.sum(), x, create_graph=how != "once")
        if how != "once":
            grad.square().sum().backward()

    return run


fault("second derivative lost", "Cube", asks=True)(twice, "data")
fault("second derivative lost", "Cube", asks=True)(twice, "numpy")
for how in ("graph", "mask", "once"):
    healthy("a Function is differentiated twice, or with no graph")(twice, how)


WRITES = "overwrites the gradient that it receives"
fault("gradient written", "The backward of Halved", WRITES, "with `grad[0] *= 0.5`")(writing, "item")
fault("gradient written", "The backward of Scaled", WRITES)(writing, "method")
fault("gradient written", "The backward of Scaled", WRITES, "which is not the sum")(writing, "residual")
fault("gradient written", "hook in_place", WRITES)(writing, "hook")
healthy()(writing, "new")
healthy("nobody else has the gradient that is written")(writing, "alone")
