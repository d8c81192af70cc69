"""Parameters: no gradient, no update, twice, a broken tie; what modules hold and optimizers have."""

from __future__ import annotations

import copy

from . import ANY, fault, healthy
from .parts import classes, filled, freeze, mlp, train, weights


def by_a_library(torch, cut, h):
    """Return what a function of a library makes of h without its graph."""
    if cut == "sample":
        h = torch.distributions.Normal(h, 1.0).sample()
    elif cut == "new_tensor":
        h = h.new_tensor(h)
    elif cut == "inference_mode":
        with torch.inference_mode():
            h = h * 3
        h = h.clone()
    elif cut == "like":
        h = torch.randn_like(h)
    return h


def model(torch, cut=""):
    """An encoder and a head, between which something may happen."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = mlp(torch, 6, 8, 8)
            self.head = nn.Linear(8, 3)
            if cut == "unused":
                self.spare = nn.Linear(8, 2)

        def forward(self, x):
            h = self.encoder(x)
            if cut == "detach":
                h = h.detach()  # the cut
            elif cut == "data":
                h = h.data
            elif cut == "no_grad":
                with torch.no_grad():
                    h = h * 2  # out of sight
            h = by_a_library(torch, cut, h)
            if cut == "unused":
                self.spare(h)  # an output that nobody uses
            return self.head(torch.tanh(h))

    return Model()


def cut_model(torch, cut):
    return train(torch, model(torch, cut), *classes(torch))


for cut, line in {"detach": "h.detach()", "data": "h.data", "no_grad": "h = h * 2"}.items():
    fault("no gradient", "encoder.0.weight", f"`{cut}`" if cut != "data" else ".data", "in 4 backward passes", at=line)(
        cut_model, cut
    )
CUT = "no gradient", "encoder.0.weight"
fault(*CUT, "sample() at", "rsample()", at="Normal(h, 1.0)")(cut_model, "sample")
fault(*CUT, "new_tensor() at", "clone()", at="h.new_tensor", engines=("torch",))(cut_model, "new_tensor")
fault(*CUT, "inference_mode(), in effect at", at="h = h * 3", engines=("torch",))(cut_model, "inference_mode")
fault(*CUT, "the loss doesn't depend on what", asks=True, without="no_grad")(cut_model, "like")
fault("no gradient", "spare.weight", at="self.spare(h)", asks=True)(cut_model, "unused")
healthy()(cut_model, "")


@fault("loss depends on no weight", "starts from loss, which is a leaf", at="loss.backward()", beside=ANY)
def wrapped(torch):
    """A loss whose numbers are put into a new tensor."""
    net, (x, y) = model(torch), classes(torch)

    def loss_of():
        loss = torch.nn.functional.cross_entropy(net(x), y)
        return torch.tensor(loss.item(), requires_grad=True)

    return train(torch, net, rounds=3, loss_of=loss_of)


def rewrapped(torch, wrong):
    """A model whose predictions are put into a new tensor, or beside whose training an input is looked at."""
    net, other = model(torch), torch.nn.Linear(6, 1)
    freeze(other)
    x, y = classes(torch)

    def loss_of():
        looked_at = torch.randn(1, 6).requires_grad_()
        other(looked_at).sum().backward()
        out = net(x)
        if wrong:
            out = torch.tensor(out.detach().numpy(), requires_grad=True)
        return torch.nn.functional.cross_entropy(out, y)

    return train(torch, net, rounds=3, loss_of=loss_of)


fault("loss depends on no weight", "reaches no weights", "net.encoder.0.weight", beside=ANY)(rewrapped, True)
healthy()(rewrapped, False)


def part_given(torch, which):
    """An optimizer that has not all parameters, or some twice."""
    net = model(torch)
    head, encoder = weights(net.head), weights(net.encoder)
    given = {"encoder": encoder, "head": head, "all": [*encoder, *head], "twice": [*encoder, *head, *head]}[which]
    return train(torch, net, *classes(torch), rounds=3, given=given, begin=lambda at, optimizer: net.zero_grad())


fault("not in the optimizer", "head.weight and ", at="optimizer.step()")(part_given, "encoder")
fault("not in the optimizer", asks=True)(part_given, "head")
fault("twice in the optimizer", "net.head.weight and net.head.bias twice")(part_given, "twice")
healthy()(part_given, "all")


@fault("not in the optimizer", "they get gradients (only zeros)", beside=ANY)
def zeros_for_a_layer(torch):
    """A layer that gets zeros alone, and that the optimizer does not have."""
    net, (x, y) = model(torch), classes(torch)

    def loss_of():
        net.zero_grad()
        return torch.nn.functional.cross_entropy(net.encoder(x), y) + 0 * net(x).sum()

    return train(torch, net, rounds=3, loss_of=loss_of, given=net.encoder.parameters())


def several_writes(torch, kind):
    return train(torch, model(torch), *classes(torch), kind=kind, lr=1e-3)


for kind in ("Adam", "AdamW"):
    healthy("a step writes several times")(several_writes, kind)


def language(torch, tied):
    """A model whose first and last weights are meant to be one."""
    nn = torch.nn

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(7, 5)
            self.middle = nn.Linear(5, 5)
            self.out = nn.Linear(5, 7, bias=False)
            if tied == "copied":
                with torch.no_grad():
                    self.out.weight.copy_(self.words.weight)
            elif tied:
                self.out.weight = self.words.weight

        def forward(self, x):
            return self.out(torch.tanh(self.middle(self.words(x))))

    x = torch.arange(6)
    return train(torch, Words(), x, (x + 1) % 7)


fault("broken tie", "words.weight and ", "have since diverged", asks=True)(language, "copied")
for tied in (True, False):
    healthy()(language, tied)


@healthy("layers begin as copies")
def copied_layers(torch):
    nn, first = torch.nn, torch.nn.Linear(6, 6)
    net = nn.Sequential(first, nn.Tanh(), copy.deepcopy(first), nn.Tanh(), nn.Linear(6, 3))
    return train(torch, net, *classes(torch))


def frozen(torch, *layers):
    net = mlp(torch, 6, 6, 6, 6, 6, last=("Tanh",))
    freeze(*[net[layer] for layer in layers])
    return train(torch, net, *classes(torch, count=6))


fault("frozen", "net.4.weight", asks=True)(frozen, 4)
for layers in ((0,), (0, 2, 4), ()):
    healthy()(frozen, *layers)


def toggled(torch, clears, judged_first):
    """A judge is frozen while the maker trains."""
    maker, other, judge = mlp(torch, 2, 8, 2), mlp(torch, 2, 8, 2), mlp(torch, 2, 8, 1)
    makes, judges = torch.optim.Adam(weights(maker, other), 1e-3), torch.optim.Adam(judge.parameters(), 1e-3)
    real = torch.randn(8, 2) + 2

    def make(x):
        judge.requires_grad_(False)
        made = maker(x)
        makes.zero_grad()
        ((judge(made) - 1).square().mean() + (other(made) - x).abs().mean()).backward()
        makes.step()
        judge.requires_grad_(True)
        return made.detach()

    def run():
        made = real - 2
        for _ in range(4):
            made = made if judged_first else make(torch.randn(8, 2))
            if clears:
                judges.zero_grad()
            ((judge(real) - 1).square().mean() + judge(made).square().mean()).backward()
            judges.step()  # the judge
            made = make(torch.randn(8, 2)) if judged_first else made

    return run


for first in (False, True):
    healthy("each half of a GAN is frozen while the other trains")(toggled, True, first)
    fault("gradients not cleared", "judge.0.weight, judge.0.bias", at="# the judge")(toggled, False, first)


def unfrozen(torch, is_given):
    """A layer trains from the fourth round on."""
    net, (x, y) = mlp(torch, 6, 8, 3), classes(torch)
    freeze(net[0])
    given = net.parameters() if is_given else [each for each in net.parameters() if each.requires_grad]

    def begin(at, optimizer):
        net[0].requires_grad_(at > 2)

    return train(torch, net, x, y, rounds=6, given=given, begin=begin)


healthy("a layer is unfrozen later")(unfrozen, True)
fault("not in the optimizer", "net.0.weight and net.0.bias", "are unfrozen", without="ModuleList")(unfrozen, False)


def frozen_by_a_prefix(torch, prefix):
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
    return train(torch, net, *classes(torch))


ALIKE = "start with net.blocks.1, which doesn't train either"
fault("frozen", ALIKE, asks=True, beside=ANY)(frozen_by_a_prefix, "blocks.1")
fault("frozen", asks=True, without=ALIKE, beside=ANY)(frozen_by_a_prefix, "blocks.11.")


@healthy("low-rank adapters beside frozen layers")
def adapters(torch):
    nn = torch.nn

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(6, 6)
            freeze(self.base)
            self.down, self.up = nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False)
            filled(torch, self.up.weight, 0.0)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    net = nn.Sequential(Adapted(), nn.Tanh(), Adapted(), nn.Tanh(), Adapted())
    return train(torch, net, *classes(torch, count=6), kind="Adam", lr=1e-3)


@healthy("the input of a differential equation requires a gradient")
def equation(torch):
    net = mlp(torch, 1, 8, 1)
    x = torch.linspace(0, 1, 9).reshape(-1, 1).requires_grad_()

    def loss_of():
        u = net(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        return ((slope - u) ** 2).mean() + (u[0] - 1).pow(2).sum()

    return train(torch, net, lr=1e-3, rounds=3, kind="Adam", loss_of=loss_of)


@healthy("a copy of the network gives targets")
def target_network(torch):
    net, (x, _) = model(torch), classes(torch)
    target = copy.deepcopy(net)

    def loss_of():
        wanted = target(x).detach() + 1
        return (net(x) - wanted).pow(2).mean()

    return train(torch, net, lr=0.01, loss_of=loss_of)


@healthy("an image is trained by a model")
def image(torch):
    net, image = model(torch), torch.randn(2, 6, requires_grad=True)
    optimizer = {"lr": 0.01, "kind": "Adam", "given": [image]}
    return train(torch, net, rounds=3, loss_of=lambda: (net(image) - 1).pow(2).sum(), **optimizer)


def without(torch, given):
    """A function of the user's whose backward leaves out the weight."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad if given else None

    nn = torch.nn
    w, head = nn.Parameter(torch.randn(6, 8)), nn.Linear(8, 3)
    optimizer = torch.optim.SGD([w, *head.parameters()], lr=0.01)
    x, y = classes(torch)

    def run():
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(Scaled.apply(x, w)), y).backward()
            optimizer.step()

    return run


NONE = "w got no gradient in 3 backward passes: the backward of Scaled ("
fault("no gradient", NONE, at="Scaled.apply")(without, False)
healthy()(without, True)


def listed(torch, kind):
    """A model that holds its layers in a list."""
    nn = torch.nn

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.Linear(6, 6), nn.Linear(6, 6)]
            self.layers = layers if kind == "list" else nn.ModuleList(layers)
            self.out = nn.Linear(6, 3)

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return self.out(x)

    return train(torch, Layers(), *classes(torch))


fault("not in the optimizer", "net.layers[0].weight", "ModuleList", asks=True)(listed, "list")
healthy()(listed, "ModuleList")


def own_tensor(torch, is_parameter):
    """A module with a tensor of its own, which takes gradients, as an attribute or as a parameter."""

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, scale = torch.nn.Linear(6, 3), torch.ones(3)
            self.scale = torch.nn.Parameter(scale) if is_parameter else scale.requires_grad_()

        def forward(self, x):
            return self.linear(x) * self.scale

    net = Scaled()
    return train(torch, net, *classes(torch))


fault("not in the optimizer", "net.scale", "Make it an nn.Parameter")(own_tensor, False)
healthy()(own_tensor, True)


@healthy(
    "gradients of an input alone, then a curvature that weights of the last layer have no part in", unless="certain"
)
def curvature_of_relu(torch):
    net, x = mlp(torch, 1, 8, 1, between="ReLU"), torch.randn(5, 1, requires_grad=True)

    def run():
        for _ in range(3):
            (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            (curvature,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
            (curvature - 1).square().mean().backward()

    return run


def cached(torch, is_frozen, into=""):
    """A head that trains on what an encoder gives under no_grad, in new memory or in a buffer."""
    encoder, head = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
    if is_frozen:
        freeze(encoder)
    x, y = classes(torch)
    buffer = torch.zeros(len(x), 8)

    def loss_of():
        with torch.no_grad():
            h = torch.tanh(encoder(x))  # under no_grad
            h = buffer.copy_(h) if into else h
        return torch.nn.functional.cross_entropy(head(h), y)

    return train(torch, head, rounds=3, loss_of=loss_of)


fault("under no_grad", at="# under no_grad", asks=True)(cached, False)
fault("under no_grad", at="# under no_grad", asks=True)(cached, False, "a buffer")
healthy()(cached, True)
healthy()(cached, True, "a buffer")


def checkpointed(torch, asks_for_input, rounds=4):
    """Layers in a checkpoint of the old kind, which goes back only where an input takes a gradient."""
    body, head = mlp(torch, 6, 8), torch.nn.Linear(8, 3)
    x, y = classes(torch)
    x.requires_grad_(asks_for_input)

    def loss_of():
        made = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=True)
        return torch.nn.functional.cross_entropy(head(made), y)

    return train(torch, None, loss_of=loss_of, given=weights(body, head), rounds=rounds)


for rounds in (4, 1):
    fault("under no_grad", "use_reentrant=True", "use_reentrant=False", at="made = ", asks=True)(
        checkpointed, False, rounds
    )
healthy("an input takes a gradient for the sake of the checkpoint")(checkpointed, True)


@healthy("a state is warmed up without gradients, by the weights that train")
def warmed_up(torch):
    cell, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 3)
    x, y = classes(torch, 8)

    def loss_of():
        with torch.no_grad():
            state = torch.tanh(cell(x))
        for _ in range(3):
            state = torch.tanh(cell(state))
        return torch.nn.functional.cross_entropy(head(state), y)

    return train(torch, None, loss_of=loss_of, given=weights(cell, head))


# What modules hold and optimizers have.


def net_of(torch, second=""):
    """A net that maybe has a second layer, which it does not use."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 6)
            self.drop = nn.Dropout(0.25)
            self.last = nn.Linear(6, 2)
            if second:
                self.second = nn.Linear(6, 6)
            if second == "frozen":
                freeze(self.second)

        def forward(self, x):
            return self.last(self.drop(torch.tanh(self.first(x))))

    return Net()


def optimized(torch, of="all", second="", rounds=3, clears=True, lr=0.05):
    """A training whose optimizer has all of the model, a part, or another model's parameters."""
    net, old = net_of(torch, second), net_of(torch)
    groups = {
        "all": [{"params": weights(net)}],
        "first": [{"params": weights(net.first)}],
        "still": [{"params": weights(net.first)}, {"params": weights(net.last), "lr": 0.0}],
        "old": [{"params": weights(old)}],
    }
    optimizer, spare = (torch.optim.SGD(groups[each], lr=lr) for each in (of.split()[0], "old"))
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def run():
        for _ in range(rounds):
            if clears:
                optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()  # the training
            optimizer.step()  # of the optimizer
        if of == "all and old":
            spare.step()
        return old

    return run


ALL = "net.first.weight, net.first.bias, net.last.weight and net.last.bias"
for clears in (True, False):
    fault(
        *("optimizer of another model", ALL, "never cleared: the norm of net.first.weight.grad was "),
        at="# of the optimizer",
        beside=ANY,
    )(optimized, "old", clears=clears)
healthy("an optimizer beside the one of the model")(optimized, "all and old")
fault("never used", "net.second.weight and net.second.bias", "in 3 backward passes", "has it too.", asks=True)(
    optimized, second="unused"
)
healthy()(optimized, second="frozen")
healthy()(optimized)
healthy()(optimized, second="unused", rounds=1)
fault("step changes nothing", "the learning rate (lr) is 0")(optimized, lr=0.0)
fault("step changes nothing", "The learning rate (lr) of this group is 0.", asks=True)(optimized, "still")
fault("not in the optimizer", "they are in no parameter group of SGD")(optimized, "first")


def scheduled(torch, rates):
    """A training run whose scheduler sets these learning rates, one per iteration."""
    net = net_of(torch)
    optimizer = torch.optim.SGD(weights(net), lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: rates[min(at, len(rates) - 1)])
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def run():
        for _ in rates:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()  # with the scheduled rate
            scheduler.step()

    return run


fault("step changes nothing", "in the last 3 of 5 steps", "became 0", at="# with the scheduled", asks=True)(
    scheduled, (0.1, 0.01, 0.0, 0.0, 0.0)
)
healthy("a rate that ends at 0")(scheduled, (0.1, 0.01, 0.001, 0.0))
healthy("a warm-up from 0")(scheduled, (0.0, 0.01, 0.1, 0.1))


def created_in_forward(torch, where):
    """A layer that each call of the model creates."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 4)
            if where == "init":
                self.head = nn.Linear(4, 1)

        def forward(self, x):
            head = nn.Linear(4, 1) if where == "forward" else self.head
            return head(self.body(x))

    net = Net()
    x = torch.randn(6, 4)
    return train(torch, net, loss_of=lambda: net(x).square().mean())


fault("not in the optimizer", "each to new tensors", "in `__init__`", without="ModuleList", asks=True)(
    created_in_forward, "forward"
)
healthy()(created_in_forward, "init")


def wide(torch, kind, lr):
    """A layer whose numbers are too many to be kept."""
    net, x = torch.nn.Linear(40, 40), torch.randn(8, 40)
    return train(torch, net, lr=lr, rounds=3, kind=kind, loss_of=lambda: net(x).square().mean())


fault("large update", " times its own norm", without="at least", beside=ANY)(wide, "SGD", 3000.0)
fault("step changes nothing", "weight")(wide, "SGD", 0.0)
healthy()(wide, "AdamW", 0.01)


def copied_each_time(torch, how, kind="SGD"):
    """Each round computes with a new copy of what the optimizer has."""
    nn = torch.nn
    net, (x, y) = nn.Linear(6, 3), classes(torch)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.1)

    def scores():
        if how == "clone":
            w, b = (each.detach().clone().requires_grad_() for each in net.parameters())
            return x @ w.t() + b, [w, b]
        if how == "node":
            w, b = (each.clone().detach().requires_grad_() for each in net.parameters())
            return x @ w.t() + b, [w, b]
        if how == "parameter":
            w, b = (nn.Parameter(each.data) for each in net.parameters())
            return nn.functional.linear(x, w, b), [w, b]
        work = nn.Linear(6, 3) if how == "new" else copy.deepcopy(net)
        if how == "data":
            for own, each in zip(work.parameters(), net.parameters(), strict=True):
                own.data = each.data
        return work(x), [*work.parameters()]

    def run():
        for _ in range(4):
            out, used = scores()
            optimizer.zero_grad()
            nn.functional.cross_entropy(out, y).backward()
            if how == "handed":
                for each, own in zip(net.parameters(), used, strict=True):
                    each.grad = own.grad.clone()
            optimizer.step()

    return run


for how in ("clone", "parameter", "new", "data", "copy"):
    fault("optimizer of another model", "SGD", "updates nothing", "In each of 4 backward passes", "new tensors")(
        copied_each_time, how
    )
fault("optimizer of another model", "SGD", "updates nothing", "4 backward passes", beside=ANY)(copied_each_time, "node")
healthy("the gradients of a copy are given to the weights")(copied_each_time, "handed")


def follows(torch, how, name="target"):
    """A Q-learner whose target network is a copy: trained with it by mistake, or as it is meant."""
    q = mlp(torch, 4, 6, 2)
    copied = copy.deepcopy(q)
    agent = torch.nn.ModuleDict({"q": q, name: copied})
    mine = [] if how in ("detached", "not in the optimizer") else copied.parameters()
    optimizer = torch.optim.Adam([*q.parameters(), *mine], lr=0.01)

    def values(x):
        if how in ("detached", "registered"):
            with torch.no_grad():
                return agent[name](x).max(1).values
        return agent[name](x).max(1).values  # the target's values

    def run():
        for _ in range(4):
            x, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
            loss = (agent["q"](x).max(1).values - reward - 0.9 * values(after)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if how == "averaged":
                with torch.no_grad():
                    for slow, fast in zip(copied.parameters(), q.parameters(), strict=True):
                        slow.mul_(0.9).add_(fast, alpha=0.1)

    return run


FOLLOWS = ("starts as a copy of", "in 4 backward passes", "torch.no_grad()")
TRAINED = ("are in the optimizer, which changes", "take its parameters out of the optimizer")
for name in ("target", "q_tgt", "teacher"):
    fault("target trained", *FOLLOWS, *TRAINED, name, at="# the target's values", asks=True)(follows, "trained", name)
fault("target trained", *FOLLOWS, *TRAINED, at="# the target's values", asks=True)(follows, "averaged")
fault("target trained", *FOLLOWS, at="# the target's values", asks=True, without="take its", beside=ANY)(
    follows, "not in the optimizer"
)
healthy()(follows, "detached")
healthy("an optimizer has it, and it never gets a gradient")(follows, "registered")
healthy("an ensemble that begins as copies")(follows, "trained", "second")


@healthy("another encoder begins as a copy, and only it is trained", unless="target trained")
def adapted(torch):
    source_encoder = mlp(torch, 4, 6, 2)
    target_encoder, judge = copy.deepcopy(source_encoder), torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(target_encoder.parameters(), lr=0.1)
    judges = torch.optim.SGD(judge.parameters(), lr=0.1)

    def run():
        for _ in range(3):
            x, other = torch.randn(8, 4), torch.randn(8, 4)
            with torch.no_grad():
                real = source_encoder(x)
            judges.zero_grad()
            (judge(target_encoder(other).detach()).sigmoid().mean() - judge(real).sigmoid().mean()).backward()
            judges.step()
            optimizer.zero_grad()
            (-judge(target_encoder(other)).sigmoid().mean()).backward()
            optimizer.step()

    return run


def frozen_by_flag(torch, how):
    """A part is to be frozen, by an attribute that may be another."""
    body, head = mlp(torch, 6, 8, 8), torch.nn.Linear(8, 3)
    net = torch.nn.Sequential(body, head)
    for each in body.parameters():
        if how == "typo":
            each.require_grad = False
        elif how == "right":
            each.requires_grad = False
    if how in ("module", "right"):
        body.requires_grad = False
    x, y = classes(torch)
    return train(torch, net, lr=0.1, loss_of=lambda: torch.nn.functional.cross_entropy(net(x), y))


fault("flag without effect", "net.0.0.weight", "`require_grad = False`")(frozen_by_flag, "typo")
fault("flag without effect", "net.0 has", "`net.0.requires_grad_(False)`", asks=True)(frozen_by_flag, "module")
healthy("it is frozen by both")(frozen_by_flag, "right")


@healthy("two vocabularies of one size")
def translated(torch):
    src_embed, tgt_embed, head = torch.nn.Embedding(9, 4), torch.nn.Embedding(9, 4), torch.nn.Linear(4, 9)
    net = torch.nn.ModuleDict({"src": src_embed, "tgt": tgt_embed, "head": head})
    words, said = torch.arange(8), torch.arange(8) + 1

    def loss_of():
        return torch.nn.functional.cross_entropy(net["head"](net["src"](words) + net["tgt"](words)), said)

    return train(torch, net, lr=0.1, loss_of=loss_of)
