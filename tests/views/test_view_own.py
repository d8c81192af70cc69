"""Names of what no variable holds: what an operation computed for its own backward, and the seed of a backward."""

from __future__ import annotations

import pytest

import workbench as torch
from workbench.nn import functional as F
from workbench.views import storyboard


def leaf():
    return torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]], requires_grad=True)


def notes(trace):
    """What stands beside the names of what is saved."""
    return {box.title: box.note for box in storyboard(trace).scene.boxes.values() if box.kind == "saved"}


NORMS = (lambda x: F.layer_norm(x, (3,)), lambda x: F.batch_norm(x, None, None, training=True))


@pytest.mark.parametrize("norm", NORMS)
def test_a_normalisation_saves_its_own_mean_and_rstd(norm):
    x = leaf()
    with torch.record() as trace:
        norm(x).sum().backward()
    told = notes(trace)
    assert told["saved result1"] == "its own mean" and told["saved result2"] == "its own rstd"


SAVING = (
    lambda x: x.std(),
    lambda x: x.max(dim=0)[0].sum(),
    lambda x: F.cross_entropy(x, torch.tensor([0, 1])),
    lambda x: F.layer_norm(x, (3,)).exp().sum(),
    lambda x: x.softmax(1).prod(),
    lambda x: x.cumprod(1).sum(),
)


@pytest.mark.parametrize("function", SAVING)
def test_a_saved_result_is_never_called_a_constant(function):
    x = leaf()
    with torch.record() as trace:
        function(x).backward()
    assert not [title for title, note in notes(trace).items() if "result" in title and "constant" in note]


def test_the_seed_of_a_backward_that_is_recorded_is_called_seed():
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
    boxes = storyboard(trace).scene.boxes.values()
    assert [box.title for box in boxes if box.kind == "constant"] == ["seed"]
    assert "saved self (seed)" in [box.title for box in boxes]


def test_a_seed_of_the_users_keeps_its_name():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.record() as trace:
        v = torch.tensor([1.0, 2.0])
        (g,) = torch.autograd.grad(x**3, x, v, create_graph=True)
        g.sum().backward()
    assert [box.title for box in storyboard(trace).scene.boxes.values() if box.kind == "constant"] == ["v"]
