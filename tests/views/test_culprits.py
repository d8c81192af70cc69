"""Which node an error of a backward left, told where nobody recorded: the one that ran, or none. Both engines."""

from __future__ import annotations

import random
import warnings
from typing import Any

import absent
import pytest
from oracle import torch as pytorch

import workbench
from workbench.pictures.trace.recorder import number_of

ENGINES = [workbench] if pytorch is None else [workbench, pytorch]
needs_pytorch = pytest.mark.skipif(pytorch is None, reason=absent.TORCH)


class Programs:
    """Random programs of an engine."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.one = (torch.sin, torch.exp, torch.tanh, lambda t: t**2, lambda t: t * t, torch.sigmoid, torch.sqrt)
        self.one += (twice(torch).apply,)
        self.two = (torch.mul, torch.add, torch.div, lambda a, b: a @ b, lambda a, b: a * b.sum())

    def grown(self, rng: random.Random) -> tuple[list[Any], list[Any]]:
        """A random graph: its leaves, and what was computed from them."""
        leaves = [self.torch.rand(2, 2, requires_grad=True) for _ in range(3)]
        made: list[Any] = [leaf * 1 for leaf in leaves]
        for _ in range(rng.randint(3, 12)):
            a, b = rng.choice(made), rng.choice(made)
            made.append(rng.choice(self.one)(a) if rng.random() < 0.6 else rng.choice(self.two)(a, b))
        return leaves, made

    def written(self, rng: random.Random) -> Ran:
        """Some of what a backward needs is written before it."""
        leaves, made = self.grown(rng)
        if rng.random() < 0.3:  # another backward ran before
            self.run(rng, total(rng, made), leaves, True)
        loss = total(rng, made)
        for each in rng.sample(made, rng.randint(1, 3)):
            rng.choice((lambda t: t.add_(1), lambda t: t.mul_(2), self.torch.relu_, zero_first))(each.detach())
        return self.run(rng, loss, leaves, rng.random() < 0.4)

    def freed(self, rng: random.Random) -> Ran:
        """Some of what a backward needs was freed by another."""
        leaves, made = self.grown(rng)
        self.run(rng, total(rng, made), leaves, False)
        return self.run(rng, total(rng, made), leaves, rng.random() < 0.4)

    def nan(self, rng: random.Random) -> Ran:
        """A backward divides zero by zero, where that is looked for."""
        torch = self.torch
        leaves, made = self.grown(rng)
        made += [torch.sqrt(rng.choice(made) * 0) for _ in range(3)]
        loss = torch.stack([torch.sqrt(each * rng.choice((0, 1))).sum() * 0 for each in made[-4:]]).sum()
        with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.run(rng, loss, leaves, rng.random() < 0.4)

    def run(self, rng: random.Random, loss: Any, leaves: list[Any], keep: bool) -> Ran:
        """Run a backward."""
        started: list[Any] = []
        handles = [
            node.register_prehook(lambda grads, node=node: started.append(node)) for node in behind(loss.grad_fn)
        ]
        inputs = rng.sample(leaves, min(2, len(leaves))) if rng.random() < 0.3 else None
        error = None
        try:
            if rng.random() < 0.3:
                self.torch.autograd.grad(loss, inputs or leaves, retain_graph=keep, allow_unused=True)
            else:
                loss.backward(retain_graph=keep, inputs=inputs)
        except RuntimeError as raised:
            error = raised
        for handle in handles:
            handle.remove()
        return started[-1] if started else None, error


Ran = tuple[Any, BaseException | None]  # the node that ran last, as the engine says, and the error


def twice(torch: Any) -> Any:
    """A Function that reads what it saved, as built-in nodes do; all of its nodes have one class."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 + x * 0

    return Twice


def zero_first(t: Any) -> None:
    t[0] = 0


def total(rng: random.Random, made: list[Any]) -> Any:
    return sum([each.sum() for each in rng.sample(made, min(3, len(made)))])


def behind(root: Any) -> list[Any]:
    """All nodes of a graph."""
    met, todo = {root: None}, [root]
    while todo:
        news = [to for to, _ in todo.pop().next_functions if to is not None and to not in met]
        met.update(dict.fromkeys(news))
        todo += news
    return list(met)


def is_named(error: Any, node: Any) -> bool:
    """Whether the right node is named; no other one may be."""
    explanation = getattr(error, "explain", None)
    if explanation is not None:  # of this package's engine, which knows
        assert explanation._serial == number_of(node)
        return True
    from workbench.bridges.torch.failure import culprit_of, failure_of

    told, failure = culprit_of(error), failure_of(error)
    assert told is None or told is node
    assert failure is not None and failure.node == ("" if told is None else told.name().rpartition("::")[2])
    return told is not None


def named(torch: Any, kind: str, words: str, tried: int = 120) -> tuple[int, int]:
    """How often the right node was named, and how often there was such an error."""
    programs, right, errors = Programs(torch), 0, 0
    for seed in range(tried):
        torch.manual_seed(seed)
        node, error = getattr(programs, kind)(random.Random(seed))
        if error is not None and words in str(error):
            errors += 1
            right += is_named(error, node)
    assert errors > tried // 4
    return right, errors


@pytest.mark.parametrize("torch", ENGINES)
def test_of_many_programs_with_a_write_the_node_that_failed_is_named(torch: Any) -> None:
    right, errors = named(torch, "written", "modified by an inplace operation")
    assert right == errors


@pytest.mark.parametrize("torch", ENGINES)
def test_of_many_second_backwards_no_other_node_than_the_one_that_failed_is_named(torch: Any) -> None:
    right, errors = named(torch, "freed", "backward through the graph a second time")
    assert right > errors // 5


@pytest.mark.parametrize("torch", ENGINES)
def test_of_many_backwards_that_met_nan_no_other_node_than_the_one_that_made_it_is_named(torch: Any) -> None:
    right, errors = named(torch, "nan", "returned nan values")
    assert right > errors // 5


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("torch", ENGINES)
def test_of_a_net_of_four_blocks_the_layer_whose_weight_was_written_is_named(torch: Any, block: int) -> None:
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(4)]
    net = torch.nn.Sequential(*blocks)
    rows, classes = torch.rand(3, 4, requires_grad=True), torch.tensor([0, 1, 2])
    loss = torch.nn.functional.cross_entropy(net(rows), classes)
    with torch.no_grad():
        blocks[block][0].weight.mul_(2)
    node, error = Programs(torch).run(random.Random(1), loss, [rows], False)
    assert error is not None and is_named(error, node) and node.name() == "AddmmBackward0"
    told = " ".join(repr(workbench.explain(error)).split())
    assert "at AddmmBackward0" in told and "AddmmBackward0 needs a tensor it saved" in told


@needs_pytorch
def test_a_backward_inside_of_a_backward_is_the_one_that_failed() -> None:
    torch = pytorch

    def block(x: Any) -> Any:
        y = x.sin()
        z = y * y
        with torch.no_grad():
            y.add_(1)
        return z.exp()

    x = torch.rand(3, requires_grad=True)
    loss = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError) as raised:
        loss.backward()
    assert "at MulBackward0" in repr(workbench.explain(raised.value))


@needs_pytorch
def test_a_node_that_nobody_can_know_is_not_named() -> None:
    torch = pytorch
    x = torch.rand(3, requires_grad=True)
    old = x.exp()
    old.sum().backward()
    with pytest.raises(RuntimeError, match="a second time") as raised:
        (old.exp() * old).sum().backward()
    told = repr(workbench.explain(raised.value))
    assert "failed here" not in told and "retain_graph=True" in told
