"""Schedules of the learning rate and L-BFGS beside PyTorch's: rates, numbers of each step, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

SCHEDULES = """
ReduceLROnPlateau(o, patience=1) | ReduceLROnPlateau(o, "max", 0.5, 0, 0.01, "abs", 2, [0.3, 0.01])
ReduceLROnPlateau(o, "min", 0.5, 0, 0.5, "rel", 1) | ReduceLROnPlateau(o, "max", 0.5, 1, 0.1)
ReduceLROnPlateau(o, "a") | ReduceLROnPlateau(o, factor=1.0) | ReduceLROnPlateau(o, threshold_mode="a")
ReduceLROnPlateau(o, min_lr=[1])
ReduceLROnPlateau(3) | ReduceLROnPlateau(o, "min", 0.5, 0, 0.1, "abs", 0, 0.2) | CosineAnnealingWarmRestarts(o, 3)
CosineAnnealingWarmRestarts(o, 2, 2, 0.1) | CosineAnnealingWarmRestarts(o, 0) | CosineAnnealingWarmRestarts(o, 2, 0)
CosineAnnealingWarmRestarts(o, 2, eta_min="a") | CosineAnnealingWarmRestarts(3, 2)
"""


@pytest.mark.parametrize("text", entries(SCHEDULES))
def test_a_schedule(text: str) -> None:
    def program(torch: Any) -> Any:
        p = [torch.nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2)]
        o = torch.optim.SGD([{"params": p[:1]}, {"params": p[1:], "lr": 0.5}], lr=1.0)
        schedule = eval(text, {**vars(torch.optim.lr_scheduler), "o": o})
        rates = []
        for measure in (3.0, 2.0, 2.5, 2.0, 2.0, 1.9, 4.0, 4.0, 5.0):
            o.step()
            schedule.step(*[torch.tensor(measure)] * ("Plateau" in text))
            rates.append(schedule.get_last_lr())
        state = schedule.state_dict()
        schedule.load_state_dict(state)
        for epoch in () if "Plateau" in text else (0.5, 7, 9.25):
            schedule.step(epoch)
            rates.append(schedule.get_last_lr())
        names = ("best", "num_bad_epochs", "cooldown_counter", "min_lrs", "T_cur", "T_i", "last_epoch")
        return rates, {name: state[name] for name in names if name in state}

    compare(program)


CYCLES = """
OneCycleLR(o, 1.0, 10) | OneCycleLR(o, [1.0, 2.0], epochs=3, steps_per_epoch=4, anneal_strategy="linear")
OneCycleLR(o, 1.0, 9, three_phase=True) | OneCycleLR(a, 1.0, 10, pct_start=0.5, div_factor=2.0, final_div_factor=4.0)
OneCycleLR(o, 1.0, 4) | OneCycleLR(o, 1.0) | OneCycleLR(o, 1.0, 0) | OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=-1)
OneCycleLR(o, 1.0, 10, pct_start=2.0) | OneCycleLR(o, 1.0, 10, anneal_strategy="a") | OneCycleLR(3, 1.0, 10)
OneCycleLR(o, [1.0], 10) | OneCycleLR(g, 1.0, 10) | OneCycleLR(g, 1.0, 10, cycle_momentum=False)
"""


@pytest.mark.parametrize("text", entries(CYCLES))
def test_one_cycle(text: str) -> None:
    def program(torch: Any) -> Any:
        p = [torch.nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2)]
        groups = [{"params": p[:1]}, {"params": p[1:], "lr": 0.5}]
        o = torch.optim.SGD(groups, lr=1.0, momentum=0.5)
        a, g = torch.optim.Adam(p), torch.optim.Adagrad(p)
        schedule = eval(text, {**vars(torch.optim.lr_scheduler), "o": o, "a": a, "g": g})
        rates = []
        for _ in range(9):
            schedule.optimizer.step()
            schedule.step()
            moved = [group.get("momentum", group.get("betas")) for group in schedule.optimizer.param_groups]
            rates.append((schedule.get_last_lr(), moved))
        return rates

    compare(program)


WALKS = """
LBFGS(p) | LBFGS(p, 0.5, 4) | LBFGS(p, 0.1, 6, history_size=2) | LBFGS(p, max_eval=3) | LBFGS(p, tolerance_grad=100.0)
LBFGS(p, tolerance_change=0.1) | LBFGS(p, -1.0) | LBFGS([{"params": p[:1]}, {"params": p[1:]}])
LBFGS(p, line_search_fn="other")
"""


@pytest.mark.parametrize("text", entries(WALKS))
def test_lbfgs(text: str) -> None:
    def program(torch: Any) -> Any:
        values = ([0.5, -1.0, 2.0], [1.5], [1.0])
        p = [torch.nn.Parameter(torch.tensor(v, dtype=torch.float64)) for v in values]
        optimizer = eval(text, {"LBFGS": torch.optim.LBFGS, "p": p})
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (p[0] ** 2 * torch.tensor([1.0, 3.0, 0.5], dtype=torch.float64)).sum() + (p[0].sum() - p[1]) ** 4
            loss.sum().backward()
            losses.append(loss.item())
            return loss

        found = [optimizer.step(closure).item() for _ in range(3)]
        state = optimizer.state[p[0]]
        return found, losses, [x.detach() for x in p], state["func_evals"], state["n_iter"]

    compare(program)
