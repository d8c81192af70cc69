"""The training loop: gradients not cleared, nothing changed, too large, graphs that grow or are kept."""

from __future__ import annotations

import contextlib

from . import QUESTIONS, fault, healthy
from .parts import classes, mlp, train, weights


def loop(torch, clear="before", rounds=4, lr=0.05, kind="SGD", gathered=1):
    """A training whose gradients are cleared before, after or never, or whose updates gather several backwards."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=lr)

    def run():
        for at in range(rounds):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            if clear == "before":
                optimizer.zero_grad()
            loss.backward()
            if (at + 1) % gathered == 0:
                optimizer.step()  # the update
                if clear == "after":
                    optimizer.zero_grad(set_to_none=False)
                for parameter in net.parameters():
                    if clear == "by hand":
                        parameter.grad = None
                    elif clear == "in place":
                        parameter.grad.zero_()
                    elif clear == "data":
                        parameter.grad.data.zero_()

    return run


NEVER = "net.0.weight, net.0.bias, net.2.weight and net.2.bias are updated"
fault("gradients not cleared", NEVER, at="# the update", why="net.0.weight")(loop, "never")
for clear in ("before", "after", "by hand", "in place"):
    healthy()(loop, clear, kind="Adam", lr=1e-3)
healthy(engines=("torch",))(loop, "data", kind="Adam", lr=1e-3)  # ours has no .data of a gradient
healthy("gradients are gathered on purpose")(loop, "after", rounds=8, gathered=2)
fault("step changes nothing", "SGD.step()", "over 4 steps", "learning rate", at="# the update")(loop, lr=0.0)
fault("large update", "Adam.step()", "in step 1", "the loss went from", at="# the update")(loop, lr=30.0, kind="Adam")


@healthy("the other half of a GAN gets gradients, too")
def gan(torch):
    nn = torch.nn
    maker, judge = mlp(torch, 3, 6, 6), mlp(torch, 6, 8, 1)
    makes, judges = (torch.optim.Adam(each.parameters(), lr=1e-3) for each in (maker, judge))
    real, ones, zeros = torch.randn(5, 6), torch.ones(5, 1), torch.zeros(5, 1)
    error = nn.functional.binary_cross_entropy_with_logits

    def run():
        for _ in range(4):
            made = maker(torch.randn(5, 3))
            judges.zero_grad()
            (error(judge(real), ones) + error(judge(made.detach()), zeros)).backward()
            judges.step()
            makes.zero_grad()
            error(judge(made), ones).backward()
            makes.step()

    return run


@healthy("a warm-up begins with a rate of zero")
def warm_up(torch):
    def begin(at, optimizer):
        optimizer.param_groups[0]["lr"] = 0.01 * at

    return train(torch, mlp(torch, 6, 8, 3), *classes(torch), begin=begin)


@healthy("large steps by which the loss falls")
def large_steps(torch):
    x = torch.randn(40, 10)
    return train(torch, torch.nn.Linear(10, 1), x, 3 * x.sum(1, keepdim=True), lr=0.3, rounds=8)


def state(torch, detached):
    """A state that goes on from one step to the next."""
    nn = torch.nn
    cell, head = nn.Linear(9, 5), nn.Linear(5, 3)
    optimizer = torch.optim.SGD(weights(cell, head), lr=0.01)
    x, y = torch.randn(5, 2, 4), torch.tensor([0, 2])

    def run():
        h = torch.zeros(2, 5)
        for t in range(5):
            if detached:
                h = h.detach()
            h = torch.tanh(cell(torch.cat([x[t], h], 1)))  # the state
            loss = nn.functional.cross_entropy(head(h), y)
            optimizer.zero_grad()
            loss.backward(retain_graph=not detached)
            if detached:  # elsewhere a step is not possible
                optimizer.step()

    return run


fault("graph grows", "The result of tanh", at="# the state", beside=("no updates",))(state, False)
healthy()(state, True)


def summed(torch, how):
    """Losses that are summed up over the steps for a report."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def run():
        total, losses = 0, []
        for _ in range(6):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if how == "sum":
                total = total + loss  # a tensor
            elif how == "list":
                losses.append(loss)
            else:
                losses.append(loss.item())
        return total, losses

    return run


fault("graphs kept", "item()", at="# a tensor")(summed, "sum")
fault("graphs kept", "item()", at="cross_entropy")(summed, "list")
healthy()(summed, "item")


@fault("stopped", "in the backward of the multiplication", "modified by an inplace", asks=True)
def written_in_place(torch):
    w = torch.ones(3, requires_grad=True)

    def run():
        with contextlib.suppress(RuntimeError):
            h = w * 2
            out = h * h
            h.add_(1)
            out.sum().backward()

    return run


@fault("stopped", "inplace", "saved gate (its result)", "gate = gate.clone()", at="gate *= 2", asks=True)
def gate_that_is_doubled(torch):
    net = mlp(torch, 3, 4)

    def run():
        def forward(x):
            gate = torch.sigmoid(net(x))
            gate *= 2
            return gate * x[:, :1]

        with contextlib.suppress(RuntimeError):
            forward(torch.randn(5, 3)).mean().backward()

    return run


def scaled_by_hand(torch, scale):
    """A loss that is scaled for float16, and never scaled back."""
    net, x = torch.nn.Linear(4, 1), torch.randn(8, 4)
    return train(torch, net, lr=0.01, loss_of=lambda: scale * (net(x) - x[:, :1]).square().mean())


fault("large update", "too large", "net.weight", at="optimizer.step()", beside=("scaled loss",))(
    scaled_by_hand, 65536.0
)
healthy("a weight of four numbers")(scaled_by_hand, 1.0)


def made_each_time(torch, kind, what, steps=1):
    """An optimizer, or the whole model, that is made in the loop."""
    net, (x, y) = torch.nn.Linear(6, 3), classes(torch)

    def run():
        model = net
        for _ in range(4):
            if what == "model":
                model = torch.nn.Linear(6, 3)
            optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
            for _ in range(steps):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()  # of the new

    return run


NEW = "In each of 4 steps a new "
fault("new optimizer", NEW + "Adam", "without the averages of earlier gradients", at="# of the new", asks=True)(
    made_each_time, "Adam", "optimizer"
)
fault("new optimizer", NEW + "SGD", "no weight is updated twice", at="# of the new", asks=True)(
    made_each_time, "SGD", "model"
)
healthy("plain steps have no memory")(made_each_time, "SGD", "optimizer")
healthy("an optimizer for each task")(made_each_time, "Adam", "optimizer", 3)
healthy("a model for each fold")(made_each_time, "Adam", "model", 3)


def idle(torch, order):
    """A training whose weights are never updated, or whose gradients are cleared before that."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def run():
        for _ in range(4):
            if order != "cleared":
                optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            if order not in ("no backward", "step first"):
                loss.backward()
            if order == "cleared":
                optimizer.zero_grad()
            if order != "none":
                optimizer.step()
            if order == "step first":
                loss.backward()

    return run


fault("no updates", "between `backward()`", at="loss.backward()", asks=True)(idle, "cleared")
fault("no updates", "Call `optimizer.step()`", at="loss.backward()", asks=True)(idle, "none")
fault("no updates", "Call `optimizer.step()` after `backward()`", at="loss.backward()", asks=True)(idle, "step first")
fault("no updates", "no backward pass was recorded", "net.0.weight", at="optimizer.step()", asks=True)(
    idle, "no backward"
)


@healthy("what an input does is asked")
def saliency(torch):
    net = mlp(torch, 6, 8, 3)

    def run():
        for _ in range(4):
            x = torch.randn(1, 6).requires_grad_()
            net.zero_grad()
            net(x).sum().backward()

    return run


def by_hand(torch, how):
    """Weights that the program writes itself."""
    w, x = torch.zeros(3, 1, requires_grad=True), torch.randn(20, 3)
    y = x.sum(1, keepdim=True)

    def run():
        for _ in range(4):
            ((x @ w - y) ** 2).mean().backward()
            if how == "data":
                w.data -= 0.1 * w.grad.data
                w.grad.data.zero_()
                continue
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
            w.grad.zero_()

    return run


healthy()(by_hand, "no_grad")
healthy(engines=("torch",))(by_hand, "data")


# Updates: taken back, or made twice.


def averaged(torch, back, share=1.0):
    """An average of the weights, which is maybe written back, after it was used or for good."""
    net, mean = mlp(torch, 6, 8, 3), mlp(torch, 6, 8, 3)
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


BACK = "undoes 99% of the change in each of 4 steps"
fault("step taken back", BACK, "`optimizer.step()`", at="# over the weights", asks=True)(averaged, True)
healthy("weights are swapped")(averaged, False)
healthy("weights are drawn half way back")(averaged, True, 0.5)


def two(torch, apart):
    """Two optimizers, of which one has weights that the other has too, or which take turns."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    first = torch.optim.SGD(net[0].parameters() if apart else net.parameters(), lr=0.05)
    second = torch.optim.Adam(net[2].parameters(), lr=1e-3)

    def run():
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(net(x), y)
            first.zero_grad()
            second.zero_grad()
            loss.backward()
            first.step()
            second.step()

    return run


fault("two optimizers", "net.2.weight and net.2.bias are updated twice", "`first.step()`", at="second.step()")(
    two, False
)
healthy()(two, True)


@healthy("two optimizers of the same weights take turns")
def in_turn(torch):
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
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


# No training, and errors that the program caught.


@healthy("the graphs of examples below each other are each larger than the one before")
def examples(torch):
    def run():
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        (x * 2).sum().backward()
        (x * 2).exp().sin().sum().backward()

    return run


@healthy("variables hold the graphs of examples")
def held_examples(torch):
    def run():
        x = torch.ones(2, requires_grad=True)
        one = x.sum()
        one.backward()
        two = (x * 2).sum()
        two.backward()
        three = (x * 2).exp().sum()
        three.backward()
        four = (x * 2).exp().sin().sum()
        four.backward()

    return run


@healthy("a second backward is refused, and the program goes on")
def caught_refusal(torch):
    def run():
        w = torch.ones(3, requires_grad=True)
        y = (w * w).sum()
        y.backward()
        with contextlib.suppress(RuntimeError):
            y.backward()

    return run


@healthy("gradcheck refuses a wrong derivative on purpose")
def caught_gradcheck(torch):
    def run():
        w = torch.ones(3, requires_grad=True, dtype=torch.float64)
        with contextlib.suppress(RuntimeError):
            torch.autograd.gradcheck(lambda x: x.detach() * x, (w,))

    return run


@healthy("results are written into a tensor that is made anew, which begins as a leaf")
def mixture_of_experts(torch):
    expert, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*weights(expert), *weights(head)], 1e-2)

    def run():
        for step in range(6):
            x = torch.randn(12, 4)
            y, mask = torch.zeros(12, 4), x[:, 0] > 0
            y[mask] = expert(x[mask]) * (step + 1)
            y[~mask] = x[~mask] * 2
            optimizer.zero_grad()
            (head(y) - x.sum(1, keepdim=True) * step).square().mean().backward()
            optimizer.step()

    return run


@fault("stopped", "modified by an inplace", asks=True)  # and of the maker, whose step never came, nothing
def step_before_a_backward(torch):
    maker, judge = mlp(torch, 2, 3, 3), mlp(torch, 3, 4, 1)
    makes, judges = (torch.optim.Adam(each.parameters(), 1e-3) for each in (maker, judge))

    def run():
        score = judge(maker(torch.randn(6, 2)))
        score.exp().mean().backward(retain_graph=True)
        judges.step()
        makes.zero_grad()
        with contextlib.suppress(RuntimeError):
            (-score).exp().mean().backward()
            makes.step()

    return run


def written_in_parts(torch, last):
    """A weight that is updated by hand, one part after the other."""
    w, x, y = torch.zeros(4, requires_grad=True), torch.randn(16, 4), torch.randn(16)

    def run():
        for step in range(4):
            (x @ w - y).square().mean().backward()
            with torch.no_grad():
                w[0] -= 0.1 * w.grad[0]
                w[1:3] -= 0.1 * w.grad[1:3]
                w[3:] = w[3:] - (last if step == 2 else 0.1) * w.grad[3:]
            if last != 0:
                w.grad = None

    return run


fault("not finite", "in step 3", at="w[3:] =", beside=QUESTIONS)(written_in_parts, float("inf"))
fault("gradients not cleared", "w.grad", "`w.grad = None`", at="w[0] -= ", beside=QUESTIONS)(written_in_parts, 0)
healthy()(written_in_parts, 0.1)


def clipped(torch, when, to_none=True):
    """Training steps that clip their gradients before or after the backward pass."""
    net, x, y = mlp(torch, 4, 8, 2), torch.randn(16, 4), torch.randn(16, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def clip(now):
        if now == when:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)

    def run():
        for _ in range(4):
            loss = torch.nn.functional.mse_loss(net(x), y)
            clip("before clearing")
            optimizer.zero_grad(set_to_none=to_none)
            clip("before backward")
            loss.backward()
            clip("before step")
            optimizer.step()

    return run


fault("change not used", "in 3 steps", asks=True, at="clip_grad_norm_")(clipped, "before clearing")
fault("change not used", "while they are zero", asks=True, at="clip_grad_norm_")(clipped, "before backward", False)
healthy()(clipped, "before step")
healthy()(clipped, "before step", False)


@healthy("a weight that each second step leaves out has a gradient of zeros, which is clipped too")
def clipped_zeros(torch):
    one, other, x = mlp(torch, 4, 8, 2), mlp(torch, 4, 8, 2), torch.randn(16, 4)
    weights = [*one.parameters(), *other.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.1)

    def run():
        for step in range(6):
            net = other if step % 2 else one
            loss = net(x).square().mean()
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()

    return run


def q_learning(torch, target_of):
    """Q-learning, whose target has a graph, or is detached."""
    net = mlp(torch, 4, 8, 2)
    state, after, reward, action = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8), torch.arange(8) % 2

    def loss_of():
        best = net(after).max(1).values
        best = best.detach() if target_of == "detached" else best
        target = reward + 0.9 * best
        chosen = net(state).gather(1, action.unsqueeze(1)).squeeze(1)
        if target_of == "squared by hand":
            return (target - chosen).square().mean()
        return torch.nn.functional.smooth_l1_loss(chosen, target)

    return train(torch, net, lr=0.05, loss_of=loss_of)


for kind in ("attached", "squared by hand"):
    fault("target not detached", "in 4 forward passes", "net.0.weight", asks=True, at="target = ")(q_learning, kind)
healthy()(q_learning, "detached")


def critic(torch, target_of):
    """An actor and a critic, whose target `r + gamma * V(next)` has a graph, or is detached."""
    policy, value = mlp(torch, 4, 8, 2), mlp(torch, 4, 8, 1)
    states, rewards, goes_on = torch.randn(9, 4), torch.randn(8), (torch.arange(8) % 4 > 0).float()
    optimizer = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.05)

    def run():
        for _ in range(4):
            after = value(states[1:]).squeeze(1)
            after = after.detach() if target_of == "detached" else after
            target = rewards + 0.9 * after * goes_on
            if target_of == "the mean":
                target = rewards + 0.9 * value(states[1:]).mean()
            advantage = target - value(states[:-1]).squeeze(1)
            chosen = policy(states[:-1]).log_softmax(1)[:, 0]
            loss = advantage.square().mean() - (chosen * advantage.detach()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return run


for kind in ("attached", "the mean"):
    fault("target not detached", "in 4 forward passes", "value.0.weight", asks=True, at="target = ")(critic, kind)
healthy()(critic, "detached")


def weighted_margin(torch):
    """A triplet loss whose margin is added to a weighted distance."""
    net, x = mlp(torch, 4, 8, 2), torch.randn(3, 8, 4)

    def loss_of():
        anchor, positive, negative = [net(each) for each in x]
        near, far = (anchor - positive).square().sum(1), (anchor - negative).square().sum(1)
        return (0.2 + 0.5 * near - far).relu().mean()

    return train(torch, net, loss_of=loss_of)


healthy("both distances have a graph, and the margin is a constant")(weighted_margin)


def steps_of_a_flow(torch):
    """Two outputs of the form `x + h * net(x)` are compared with each other."""
    net, x = mlp(torch, 4, 8, 4), torch.randn(8, 4)
    other, mse = x + 0.1, torch.nn.functional.mse_loss
    return train(torch, net, loss_of=lambda: mse(x + 0.1 * net(x), other + 0.1 * net(other)))


healthy("both sides of the comparison have the form of a target")(steps_of_a_flow)


def consistent(torch):
    """A model compared with its own maximum under noise: a consistency loss on purpose."""
    net, x = mlp(torch, 4, 8, 2), torch.randn(8, 4)
    losses = torch.nn.functional
    return train(torch, net, loss_of=lambda: losses.mse_loss(net(x).max(1).values, net(x + 0.1).max(1).values))


healthy("both sides of a consistency loss have a graph")(consistent)
