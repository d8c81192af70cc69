"""Backwards that autograd refuses: what cut the loss off, what joins two rounds, which step wrote in between."""

from __future__ import annotations

import contextlib

from . import fault
from .parts import freeze, mlp

NO_GRAPH = "does not require grad"


def refused(torch, compute, *, net=None, back=None):
    """A backward from what `compute` makes of a net and data, which fails and is caught."""
    net = mlp(torch, 3, 4, 2) if net is None else net
    x, y = torch.randn(5, 3), torch.arange(5) % 2

    def run():
        loss = compute(net, x, y)
        with contextlib.suppress(RuntimeError):
            loss.backward() if back is None else back(loss, x, y)

    return run


def cut_off(at: str, *facts: str, **more):
    """Enter a program whose loss was cut off at a line, named by a comment."""
    return fault("stopped", NO_GRAPH, *facts, at=at, asks=True, **more)


@cut_off("# no gradients", "no_grad(), in effect at", "net.2.weight", why="net.0.weight")
def loss_under_no_grad(torch):
    def compute(net, x, y):
        with torch.no_grad():
            h = net(x)  # no gradients
        return torch.nn.functional.cross_entropy(h, y)

    return refused(torch, compute)


@cut_off("# off", "Gradients are still off where backward() is called", why="net.2.bias")
def backward_under_no_grad(torch):
    def run():
        net = mlp(torch, 3, 4, 2)
        with contextlib.suppress(RuntimeError), torch.no_grad():
            net(torch.randn(5, 3)).mean().backward()  # off

    return run


@cut_off("grad(", "grad() at", "create_graph=True", why="net.0.weight")
def penalty_alone(torch):
    def compute(net, x, y):
        (g,) = torch.autograd.grad(net(x).sum(), net[0].weight)
        return g.square().mean()

    return refused(torch, compute)


def drawn(torch, how):
    """What is drawn, counted or found by probabilities has no gradient."""
    ways = {
        "multinomial": lambda p: p.multinomial(1).float().mean(),
        "nonzero": lambda p: p.nonzero().float().mean(),
        "topk": lambda p: p.topk(1)[1].float().mean(),
        "max": lambda p: p.max(1)[1].float().mean(),
        "bucketize": lambda p: torch.bucketize(p, torch.tensor([0.2, 0.5])).float().mean(),
        "count_nonzero": lambda p: p.count_nonzero().float(),
    }
    return refused(torch, lambda net, x, y: ways[how](net(x).softmax(1)))


for how in ("multinomial", "nonzero", "topk", "max", "bucketize", "count_nonzero"):
    cut_off(f"{how}(", f"{how}() at", "can't carry gradients", why="net.0.weight")(drawn, how)


@cut_off("detach()", "detach() at")
def loss_of_what_was_detached(torch):
    return refused(torch, lambda net, x, y: net(x).detach().square().mean())


@cut_off("argmax", "argmax() at", "int64", why="net.0.weight")
def accuracy_as_loss(torch):
    return refused(torch, lambda net, x, y: (net(x).argmax(1) != y).float().mean())


@cut_off("one_hot", "argmax() at")
def loss_of_one_hot(torch):
    return refused(torch, lambda net, x, y: torch.nn.functional.one_hot(net(x).argmax(1), 2).float().sum())


@cut_off(".long()", "int64 values")
def loss_of_whole_numbers(torch):
    return refused(torch, lambda net, x, y: net(x).long().float().sum())


@cut_off("# a number", "item() read a number at")
def loss_of_a_number(torch):
    def compute(net, x, y):
        total = 0.0
        for each in x:
            total += net(each).square().mean().item()  # a number
        return torch.tensor(total)

    return refused(torch, compute)


@cut_off("torch.tensor(losses)", "tensor() at", "stack()")
def loss_of_a_list(torch):
    def compute(net, x, y):
        losses = [net(x).square().mean(), net(x).exp().mean()]
        total = torch.tensor(losses).sum()
        return total

    return refused(torch, compute)


@cut_off("# buffer", "no_grad(), in effect at", why="net.2.weight")
def loss_of_a_buffer(torch):
    memory = torch.zeros(5, 2)

    def compute(net, x, y):
        with torch.no_grad():
            memory[:, 0] = net(x)[:, 0]  # buffer
        return memory.sum()

    return refused(torch, compute)


@cut_off("loss.backward()", "has no gradient history", without="no_grad")
def loss_of_a_buffer_that_was_cleared(torch):
    memory = torch.zeros(5, 2)

    def compute(net, x, y):
        with torch.no_grad():
            memory.copy_(net(x))
        memory.zero_()
        return (memory + x[:, :2]).sum()

    return refused(torch, compute)


@cut_off("# again", "checkpoint() at", "use_reentrant=False")
def checkpoint_of_the_old_kind(torch):
    def compute(net, x, y):
        def part(x):
            return net(x) * 2  # again

        return torch.utils.checkpoint.checkpoint(part, x, use_reentrant=True).sum()

    return refused(torch, compute)


@cut_off("sample()", "sample() at", "rsample()")
def loss_of_a_sample(torch):
    return refused(torch, lambda net, x, y: torch.distributions.Normal(net(x)[:, 0], 1.0).sample().sum())


@cut_off("loss.backward()", "has no gradient history", "net.0.weight, net.0.bias")
def frozen_model(torch):
    net = mlp(torch, 3, 4, 2)
    freeze(net)
    return refused(torch, lambda net, x, y: net(x).sum(), net=net)


@fault(
    "stopped",
    "appears to not have been used",
    "no path from the differentiated result to w",
    "detach() at",
    at="h.detach()",
    asks=True,
)
def unused_behind_a_cut(torch):
    w = torch.ones(3, requires_grad=True)

    def compute(net, x, y):
        h = w * 2
        return (net(x) * h.detach().sum()).sum()

    return refused(torch, compute, back=lambda loss, x, y: torch.autograd.grad(loss, w))


SECOND = "a second time"


@fault(
    "stopped",
    SECOND,
    "h carries the graph of an earlier iteration",
    "h = h.detach()",
    without="again in each",
    at="h = cell(",
    asks=True,
)
def state_carried_along(torch):
    cell, out = torch.nn.RNNCell(1, 4), torch.nn.Linear(4, 1)

    def run():
        h = torch.zeros(2, 4)
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                h = cell(torch.randn(2, 1), h)
                loss = out(h).square().mean()
                loss.backward()

    return run


@fault(
    "stopped",
    SECOND,
    "weights carries the graph of an earlier iteration",
    "weights again",
    without="detach",
    at="weights = ",
    asks=True,
)
def computed_once_before_the_loop(torch):
    scores = torch.randn(4, requires_grad=True)

    def run():
        weights = scores.softmax(0)
        with contextlib.suppress(RuntimeError):
            for _ in range(2):
                (weights * torch.randn(4)).sum().backward()

    return run


@fault(
    "stopped", SECOND, "Both losses are computed from one graph", "retain_graph=True", at="first.backward", asks=True
)
def two_losses_of_one_graph(torch):
    net = mlp(torch, 3, 4, 2)

    def run():
        h = net(torch.randn(5, 3))
        first, second = h.exp().mean(), h.square().mean()
        first.backward()
        with contextlib.suppress(RuntimeError):
            second.backward()

    return run


@fault("stopped", SECOND, "belongs to a graph that the backward", "made.detach()", at="made = maker(", asks=True)
def second_loss_through_the_first(torch):
    maker, judge = mlp(torch, 2, 3, 3), mlp(torch, 3, 4, 1)

    def run():
        made = maker(torch.randn(6, 2))
        judge(made).exp().mean().backward()
        with contextlib.suppress(RuntimeError):
            (-judge(made)).exp().mean().backward()

    return run


@fault("stopped", "modified by an inplace", "he step of SGD", "net.2.weight", at="optimizer.step()", asks=True)
def step_between_two_backwards(torch):
    net = mlp(torch, 3, 4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def run():
        loss = net(torch.randn(5, 3)).square().mean()
        loss.backward(retain_graph=True)
        optimizer.step()
        with contextlib.suppress(RuntimeError):
            loss.backward()

    return run


@fault("stopped", "modified by an inplace", "carries the graph of an earlier iteration", asks=True)
def state_carried_over_a_step(torch):
    cell, out = torch.nn.RNNCell(1, 4), torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)

    def run():
        h = torch.zeros(2, 4)
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                h = cell(torch.randn(2, 1), h)
                loss = out(h).square().mean()
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()

    return run


@fault("stopped", "modified by an inplace", "scores carries", "scores again", without="detach", asks=True)
def scores_of_old_weights(torch):
    net = mlp(torch, 3, 4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

    def run():
        scores = net(torch.randn(5, 3))
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                optimizer.zero_grad()
                (scores * torch.randn(5, 2)).mean().backward(retain_graph=True)
                optimizer.step()

    return run


@fault("stopped", "modified by an inplace", "The update at", "changed w after", at="w -= ", asks=True)
def update_by_hand_between(torch):
    def run():
        w = torch.ones(3, requires_grad=True)
        loss = (w**3).sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad
        with contextlib.suppress(RuntimeError):
            loss.backward()

    return run


@fault("stopped", NO_GRAPH, "no_grad(), in effect at", "cuts loss off from w", at="w = w - 0.1 * w.grad", asks=True)
def update_by_hand_makes_a_new_tensor(torch):
    def run():
        w = torch.ones(3, requires_grad=True)
        with contextlib.suppress(RuntimeError):
            for _ in range(2):
                loss = (w**3).sum()
                loss.backward()
                with torch.no_grad():
                    w = w - 0.1 * w.grad

    return run


@fault("stopped", SECOND, "c and h carry the graph of an earlier iteration", "c = c.detach()", asks=True)
def two_states_carried_along(torch):
    cell = torch.nn.LSTMCell(1, 4)

    def run():
        h, c = torch.zeros(2, 4), torch.zeros(2, 4)
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                h, c = cell(torch.randn(2, 1), (h, c))
                h.square().mean().backward()

    return run


@fault("stopped", SECOND, "self.memory carries the graph of an earlier iteration", "self.memory.detach()", asks=True)
def memory_of_a_module(torch):
    class Memory(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.Linear(3, 3)
            self.memory = torch.zeros(5, 3)

        def forward(self, x):
            self.memory = 0.9 * self.memory + self.mix(x)
            return self.memory

    def run():
        net = Memory()
        with contextlib.suppress(RuntimeError):
            for _ in range(2):
                net(torch.randn(5, 3)).square().mean().backward()

    return run


@fault("stopped", "modified by an inplace", "hidden[1] carry the graph", "tuple([each.detach() for each in", asks=True)
def state_that_a_lstm_returns(torch):
    lstm, out = torch.nn.LSTM(2, 3, batch_first=True), torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam([*lstm.parameters(), *out.parameters()], lr=0.01)

    def run():
        hidden = None
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                told, hidden = lstm(torch.randn(2, 4, 2), hidden)
                optimizer.zero_grad()
                out(told[:, -1]).square().mean().backward(retain_graph=True)  # the state itself takes no part in it
                optimizer.step()

    return run


@fault("stopped", SECOND, "old carries", "old = old.detach()", "compute old again", at="old = net(x)", asks=True)
def chances_of_the_old_policy(torch):
    net, x = mlp(torch, 3, 4, 2), torch.randn(5, 3)

    def run():
        old = net(x).log_softmax(1)
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                (net(x).log_softmax(1) - old).exp().mean().backward()

    return run


@fault("stopped", SECOND, "create_graph=True", without="detach", at="out = net(x)", asks=True)
def penalty_without_the_graph_of_its_gradient(torch):
    net = mlp(torch, 3, 4, 1)

    def run():
        x = torch.randn(5, 3, requires_grad=True)
        out = net(x)
        (slope,) = torch.autograd.grad(out.sum(), x)
        with contextlib.suppress(RuntimeError):
            (out.mean() + (slope.norm(dim=1) - 1).square().mean()).backward()

    return run


@fault(
    "stopped",
    SECOND,
    "The result of (states.of[-1] + w).exp() carries the graph of an earlier iteration",
    "call detach() on the result of (states.of[-1] + w).exp()",
    without="h = h",
    at="states.of.append(",
    asks=True,
)
def states_in_a_queue(torch):
    w = torch.ones(2, requires_grad=True)

    def run():
        states = type("Queue", (), {"of": [torch.zeros(2)]})()
        with contextlib.suppress(RuntimeError):
            for _ in range(3):
                states.of.append((states.of[-1] + w).exp())
                states.of[-1].sum().backward()

    return run


@cut_off("# a third power", "computed its gradient from tensors that don't require grad", engines=("workbench",))
def second_derivative_of_a_constant(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach()
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.x**2 * grad

    def run():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        out = Cube.apply(x)  # a third power
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        with contextlib.suppress(RuntimeError):
            slope.square().sum().backward()

    return run


@fault("stopped", "appears to not have been used", "both computed from xt", "create x first", at="x = xt[", asks=True)
def slope_by_a_slice_that_was_made_later(torch):
    net = mlp(torch, 2, 4, 1)

    def run():
        xt = torch.rand(5, 2, requires_grad=True)
        u = net(xt)
        x = xt[:, 0:1]
        with contextlib.suppress(RuntimeError):
            torch.autograd.grad(u.sum(), x)

    return run
