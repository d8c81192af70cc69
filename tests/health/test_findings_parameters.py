"""What is found about parameters: no gradient, no update, twice, a broken tie; and what is meant is not told."""

from __future__ import annotations

import pytest
from both_engines import each_engine, found, train, where


def classes(torch, samples=12):
    return torch.randn(samples, 6), torch.arange(samples) % 3


def model(torch, cut="", **more):
    """An encoder and a head, between which something may happen."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8))
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
            if cut == "unused":
                self.spare(h)  # an output that nobody uses
            return self.head(torch.tanh(h))

    return Model()


@each_engine
@pytest.mark.parametrize(("cut", "line"), [("detach", "h.detach()"), ("data", "h.data"), ("no_grad", "h = h * 2")])
def test_a_cut_is_told_with_its_line(engine, cut, line):
    findings = found(engine, lambda torch: train(torch, model(torch, cut), *classes(torch)))
    assert [each.rule for each in findings] == ["no gradient"]
    sentence = findings[0].sentence
    assert findings[0].certain
    assert "encoder.0.weight" in sentence and "and 1 more" not in sentence or "net" in sentence
    assert where(model, line) in sentence and cut in sentence
    assert "in 4 backwards" in sentence


@each_engine
def test_an_output_that_nobody_uses_is_a_question(engine):
    findings = found(engine, lambda torch: train(torch, model(torch, "unused"), *classes(torch)))
    assert [each.rule for each in findings] == ["no gradient"]
    assert not findings[0].certain and "spare.weight" in findings[0].sentence
    assert where(model, "self.spare(h)") in findings[0].sentence


@each_engine
def test_a_model_whose_parts_all_train_is_healthy(engine):
    assert not found(engine, lambda torch: train(torch, model(torch), *classes(torch)))


def wrapped(torch):
    """A loss whose numbers are put into a new tensor."""
    net = model(torch)
    x, y = classes(torch)

    def loss_of():
        loss = torch.nn.functional.cross_entropy(net(x), y)
        return torch.tensor(loss.item(), requires_grad=True)

    return train(torch, net, rounds=3, loss_of=loss_of)


@each_engine
def test_a_loss_that_is_a_leaf_depends_on_nothing(engine):
    first = found(engine, wrapped)[0]
    assert first.rule == "loss depends on no weight" and first.certain
    assert where(train, "loss.backward()") in first.sentence and "loss is a leaf" in first.sentence


def part_given(torch, which):
    """An optimiser that has not all parameters, or some twice."""
    net = model(torch)
    given = {
        "encoder": lambda: net.encoder.parameters(),
        "head": lambda: net.head.parameters(),
        "all": lambda: net.parameters(),
    }

    def begin(at, optimizer):
        net.zero_grad()

    return train(torch, net, *classes(torch), rounds=3, given=given[which](), begin=begin)


@each_engine
def test_a_layer_that_is_not_in_the_optimiser(engine):
    findings = found(engine, lambda torch: part_given(torch, "encoder"))
    assert [each.rule for each in findings] == ["not in the optimiser"]
    assert findings[0].certain
    assert "head.weight and " in findings[0].sentence and where(train, "optimizer.step()") in findings[0].sentence


def zeros_for_a_layer(torch):
    """A layer that gets zeros alone, and that the optimiser does not have."""
    net = model(torch)
    x, y = classes(torch)

    def loss_of():
        net.zero_grad()
        return torch.nn.functional.cross_entropy(net.encoder(x), y) + 0 * net(x).sum()

    return train(torch, net, rounds=3, loss_of=loss_of, given=net.encoder.parameters())


@each_engine
def test_a_gradient_of_zeros_has_no_norm_to_be_told(engine):
    findings = found(engine, zeros_for_a_layer)
    first = next(each for each in findings if each.rule == "not in the optimiser")
    assert "a gradient comes to them (of zeros alone)." in first.sentence


@each_engine
def test_a_head_alone_in_the_optimiser_is_a_question(engine):
    findings = found(engine, lambda torch: part_given(torch, "head"))
    assert [(each.rule, each.certain) for each in findings] == [("not in the optimiser", False)]


@each_engine
def test_an_optimiser_with_all_is_healthy(engine):
    assert not found(engine, lambda torch: part_given(torch, "all"))


@each_engine
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_parameter_that_is_in_the_optimiser_twice(engine):
    def program(torch):
        net = model(torch)
        given = [*net.parameters(), *net.head.parameters()]
        return train(torch, net, *classes(torch), rounds=3, given=given)

    findings = found(engine, program)
    assert [each.rule for each in findings] == ["twice in the optimiser"]
    assert "net.head.weight and net.head.bias twice" in findings[0].sentence


@each_engine
@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_an_optimiser_that_writes_several_times_is_healthy(engine, kind):
    assert not found(engine, lambda torch: train(torch, model(torch), *classes(torch), kind=kind, lr=1e-3))


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


@each_engine
def test_a_tie_that_is_broken_is_asked_about(engine):
    findings = found(engine, lambda torch: language(torch, "copied"))
    assert [(each.rule, each.certain) for each in findings] == [("broken tie", False)]
    assert "words.weight and " in findings[0].sentence and "by now they differ" in findings[0].sentence


@each_engine
@pytest.mark.parametrize("tied", [True, False])
def test_a_tie_and_none_are_healthy(engine, tied):
    assert not found(engine, lambda torch: language(torch, tied))


@each_engine
def test_layers_that_are_copies_are_healthy(engine):
    def program(torch):
        import copy

        nn = torch.nn
        first = nn.Linear(6, 6)
        net = nn.Sequential(first, nn.Tanh(), copy.deepcopy(first), nn.Tanh(), nn.Linear(6, 3))
        return train(torch, net, *classes(torch))

    assert not found(engine, program)


def frozen(torch, names):
    net = torch.nn.Sequential(*[part for _ in range(4) for part in (torch.nn.Linear(6, 6), torch.nn.Tanh())])
    for name in names:
        net[name].weight.requires_grad_(False)
        net[name].bias.requires_grad_(False)
    return train(torch, net, torch.randn(12, 6), torch.arange(12) % 6)


@each_engine
def test_a_frozen_layer_between_others_is_asked_about(engine):
    findings = found(engine, lambda torch: frozen(torch, [4]))
    assert [(each.rule, each.certain) for each in findings] == [("frozen", False)]
    assert "net.4.weight" in findings[0].sentence


@each_engine
@pytest.mark.parametrize("names", [[0], [0, 2, 4], []])
def test_layers_that_are_frozen_from_the_input_on_are_healthy(engine, names):
    assert not found(engine, lambda torch: frozen(torch, names))


@each_engine
def test_low_rank_adapters_are_healthy(engine):
    def program(torch):
        nn = torch.nn

        class Adapted(nn.Module):
            def __init__(self):
                super().__init__()
                self.base = nn.Linear(6, 6)
                self.base.weight.requires_grad_(False)
                self.base.bias.requires_grad_(False)
                self.down, self.up = nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False)
                with torch.no_grad():
                    self.up.weight.zero_()

            def forward(self, x):
                return self.base(x) + self.up(self.down(x))

        net = nn.Sequential(Adapted(), nn.Tanh(), Adapted(), nn.Tanh(), Adapted())
        return train(torch, net, torch.randn(12, 6), torch.arange(12) % 6, kind="Adam", lr=1e-3)

    assert not found(engine, program)


@each_engine
def test_the_input_of_a_differential_equation_is_healthy(engine):
    def program(torch):
        nn = torch.nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.linspace(0, 1, 9).reshape(-1, 1).requires_grad_()

        def loss_of():
            u = net(x)
            (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            return ((slope - u) ** 2).mean() + (u[0] - 1).pow(2).sum()

        return train(torch, net, lr=1e-3, rounds=3, kind="Adam", loss_of=loss_of)

    assert not found(engine, program)


@each_engine
def test_a_network_that_gives_targets_is_healthy(engine):
    def program(torch):
        import copy

        net = model(torch)
        target = copy.deepcopy(net)
        x, _ = classes(torch)

        def loss_of():
            wanted = target(x).detach() + 1
            return (net(x) - wanted).pow(2).mean()

        return train(torch, net, lr=0.01, loss_of=loss_of)

    assert not found(engine, program)


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


@each_engine
def test_a_backward_that_returns_none_is_told_with_its_call(engine):
    findings = found(engine, lambda torch: without(torch, False))
    assert [(each.rule, each.certain) for each in findings] == [("no gradient", True)]
    assert "w never gets a gradient in 3 backwards: the backward of Scaled (" in findings[0].sentence
    assert where(without, "Scaled.apply") in findings[0].sentence


@each_engine
def test_a_backward_that_returns_all_is_healthy(engine):
    assert not found(engine, lambda torch: without(torch, True))


@each_engine
def test_an_image_that_is_trained_by_a_model_is_healthy(engine):
    def program(torch):
        net = model(torch)
        image = torch.randn(2, 6, requires_grad=True)

        def loss_of():
            return (net(image) - 1).pow(2).sum()

        return train(torch, net, lr=0.01, rounds=3, kind="Adam", loss_of=loss_of, given=[image])

    assert not found(engine, program)


def listed(torch, kind):
    """A model that holds its layers in a list."""
    nn = torch.nn

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = kind([nn.Linear(6, 6), nn.Linear(6, 6)])
            self.out = nn.Linear(6, 3)

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return self.out(x)

    return train(torch, Layers(), *classes(torch))


@each_engine
def test_layers_in_a_plain_list_are_asked_about(engine):
    findings = found(engine, lambda torch: listed(torch, list))
    assert [(each.rule, each.certain) for each in findings] == [("not in the optimiser", False)]
    first = {"workbench": "the (6, 6) parameter used in ", "torch": "net.layers[0].weight"}[engine]
    assert first in findings[0].sentence and "ModuleList" in findings[0].next_step


@each_engine
def test_layers_in_a_list_of_modules_are_healthy(engine):
    assert not found(engine, lambda torch: listed(torch, torch.nn.ModuleList))


def rewrapped(torch, wrong):
    """A model whose predictions are put into a new tensor, or beside whose training an input is looked at."""
    net, other = model(torch), torch.nn.Linear(6, 1)
    other.weight.requires_grad_(False)
    other.bias.requires_grad_(False)
    x, y = classes(torch)

    def loss_of():
        looked_at = torch.randn(1, 6).requires_grad_()
        other(looked_at).sum().backward()
        out = net(x)
        if wrong:
            out = torch.tensor(out.detach().numpy(), requires_grad=True)
        return torch.nn.functional.cross_entropy(out, y)

    return train(torch, net, rounds=3, loss_of=loss_of)


@each_engine
def test_predictions_in_a_new_tensor_have_no_way_back(engine):
    findings = found(engine, lambda torch: rewrapped(torch, True))
    assert findings[0].rule == "loss depends on no weight" and findings[0].certain
    assert "comes to no weight" in findings[0].sentence and "net.encoder.0.weight" in findings[0].sentence


@each_engine
def test_a_backward_to_an_input_beside_a_training_is_healthy(engine):
    assert not found(engine, lambda torch: rewrapped(torch, False))
