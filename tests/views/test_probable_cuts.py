"""What cut a loss off is asked by the source where nobody recorded; what takes no gradient is never taken for a cut."""

from __future__ import annotations

import pytest
from corpus import each_engine, engine_named

import workbench


def net_of(torch, frozen=False):
    return torch.nn.Linear(3, 2).requires_grad_(not frozen), torch.ones(4, 3), torch.arange(4) % 2


def explained(engine, program):
    torch = engine_named(engine)
    with pytest.raises(RuntimeError) as raised:
        program(torch)
    return " ".join(repr(workbench.explain(raised.value)).split())


def under_no_grad(torch):
    net, x, y = net_of(torch)
    with torch.no_grad():
        h = net(x)
    loss = torch.nn.functional.cross_entropy(h, y)
    loss.backward()


def detached(torch):
    net, x, _ = net_of(torch)
    hidden = net(x).detach()
    (hidden * 2).sum().backward()


def accuracy(torch):
    net, x, y = net_of(torch)
    guesses = net(x).argmax(1)
    correct = (guesses == y.long()).float()
    correct.mean().backward()


def numbers(torch):
    net, x, _ = net_of(torch)
    losses = []
    for row in x:
        losses.append(net(row).sum().item())
    total = torch.tensor(losses).sum()
    torch.autograd.backward([total])


class Trainer:
    def __init__(self, torch):
        self.net, self.x, _ = net_of(torch)

    def loss(self, x):
        return self.net(x).data.sum()

    def fit(self):
        loss = self.loss(self.x)
        loss.backward()


def in_a_method(torch):
    Trainer(torch).fit()


def decorated(torch):
    @torch.no_grad()
    def step():
        net, x, _ = net_of(torch)
        loss = net(x).sum()
        loss.backward()

    step()


CUTS = {
    under_no_grad: ("`loss` doesn't require grad. Does no_grad() (", "with torch.no_grad():"),
    detached: ("Does detach() (", "hidden = net(x).detach()"),
    accuracy: ("Does argmax() (", "guesses = net(x).argmax(1)"),
    numbers: ("Does item() (", "losses.append(net(row).sum().item())"),
    in_a_method: ("`loss` doesn't require grad. Does `.data` (", "return self.net(x).data.sum()"),
    decorated: ("Does no_grad() (", "@torch.no_grad()"),
}


@each_engine
@pytest.mark.parametrize("program", CUTS, ids=lambda each: each.__name__)
def test_the_line_that_probably_cuts_is_asked_about(engine, program):
    text = explained(engine, program)
    assert [each for each in (*CUTS[program], "cut it off?", "record()") if each not in text] == [], text


def frozen(torch):
    net, x, y = net_of(torch, frozen=True)
    loss = torch.nn.functional.cross_entropy(net(x), y.long())
    loss.backward()


def constant(torch):
    weights = torch.ones(3)
    target = torch.tensor([1.0, 2.0, 3.0]).detach()
    loss = ((weights > 0).float() - target).sum()
    loss.backward()


@each_engine
@pytest.mark.parametrize(("program", "says"), [(frozen, "no parameter of `net` does"), (constant, "Look for what")])
def test_what_takes_no_gradient_is_no_cut(engine, program, says):
    text = explained(engine, program)
    assert says in text and "cut it off?" not in text and "`loss` " in text
