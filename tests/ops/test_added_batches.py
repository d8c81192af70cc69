"""What was found by a reader: places under `vmap`, a seed in a state, and values that old programs give first."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from oracle import compare


def quietly(program: Any) -> Any:
    """Without PyTorch's own warnings of speed."""

    def run(torch: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(torch)

    return run


def rows(torch: Any) -> Any:
    return torch.tensor([[1, 2, 2, 0], [3, 1, 1, 1]])


@pytest.mark.parametrize(
    "program",
    [
        lambda torch: torch.vmap(lambda t: torch.isin(torch.tensor([1, 2]), t))(rows(torch)),
        lambda torch: torch.vmap(lambda t: torch.isin(t, torch.tensor([1, 2]), invert=True))(rows(torch)),
        lambda torch: torch.vmap(lambda t: torch.searchsorted(torch.tensor([0, 1, 2]), t))(rows(torch)),
        lambda torch: torch.vmap(lambda e: torch.searchsorted(e, torch.tensor([0.5, 1.5])))(
            torch.tensor([[0.0, 1.0], [1.0, 2.0]])
        ),
        lambda torch: torch.vmap(lambda t, e: torch.searchsorted(e, t, right=True))(
            torch.tensor([[[0.5]], [[1.0]]]), torch.tensor([[[0.0, 1.0]], [[1.0, 2.0]]])
        ),
        lambda torch: torch.vmap(torch.vmap(lambda t: torch.bucketize(t, torch.tensor([0.0, 0.5]))))(
            torch.arange(24.0).reshape(2, 3, 4) / 20
        ),
        lambda torch: torch.vmap(torch.func.grad(lambda t: torch.bucketize(t, torch.tensor([0.0, 0.5])) * t))(
            torch.tensor([0.1, 0.6])
        ),
        lambda torch: torch.vmap(torch.unique)(rows(torch)),
    ],
)
def test_places_of_each_sample(program: Any) -> None:
    compare(quietly(program))


def test_a_state_has_its_seed(torch: Any) -> Any:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        torch.manual_seed(9)
    seeds = [torch.initial_seed()]
    torch.manual_seed(9)
    torch.set_rng_state(state)
    other = torch.Generator().set_state(torch.Generator().manual_seed(5).get_state())
    return [*seeds, torch.initial_seed(), other.initial_seed()]


@pytest.mark.parametrize("text", ["x.addcmul(0.5, y, y)", "x.addcdiv_(0.5, y, y)", "torch.addcmul(x, 2, y, y)"])
def test_old_programs_give_the_value_first(text: str) -> None:
    compare(lambda torch: eval(text, {"torch": torch, "x": torch.ones(2), "y": torch.tensor([1.0, 4.0])}))
