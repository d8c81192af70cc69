"""Optimisers beside PyTorch's: where parameters go over several steps, the state they keep, and what they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from module_samples import batch, mlp
from oracle import entries, raised, warned

import workbench


def quadratic(torch: Any) -> tuple[list[Any], Any]:
    """Two parameters and a loss of them that is not the same in all directions; a third that has no gradient."""
    w = torch.nn.Parameter(torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]], dtype=torch.float64))
    b = torch.nn.Parameter(torch.tensor([0.5, -2.0], dtype=torch.float64))
    idle = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

    def loss() -> Any:
        x = torch.tensor([1.0, -0.5, 0.25], dtype=torch.float64)
        return ((w @ x + b - 1) ** 2 * torch.tensor([1.0, 3.0], dtype=torch.float64)).sum() + (w**4).sum() / 50

    return [w, b, idle], loss


def walked(torch: Any, optimizer: Any, params: list[Any], loss: Any, steps: int = 5) -> list[Any]:
    """Where a few steps lead, what is kept by then, and how often the parameters were written."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return [losses, params, [p._version for p in params], optimizer.state_dict()]


WALKS = """
SGD(p, 0.05) | SGD(p, lr=0.05, momentum=0.9) | SGD(p, 0.05, 0.5, 0.25) | SGD(p, 0.05, 0.9, nesterov=True) | SGD(p)
SGD(p, 0.05, weight_decay=0.1) | SGD(p, 0.05, 0.9, 0.1, 0.2, maximize=True) | SGD(p, torch.tensor(0.05), momentum=0.9)
SGD(p, 0.05, 0.9, foreach=True) | SGD(p, 0.05, fused=True) | SGD(p, 0.05, weight_decay=torch.tensor(0.1)) | Adam(p)
Adam(p, 0.1) | Adam(p, 0.1, (0.5, 0.75), 1e-3) | Adam(p, 0.1, weight_decay=0.5) | Adam(p, 0.1, amsgrad=True)
Adam(p, 0.1, maximize=True) | Adam(p, 0.1, foreach=True, amsgrad=True, weight_decay=0.1) | Adam(p, torch.tensor(0.1))
Adam(p, 0.1, weight_decay=0.5, decoupled_weight_decay=True) | AdamW(p) | AdamW(p, 0.1, weight_decay=0.5)
AdamW(p, 0.1, (0.8, 0.9), 1e-2, 0.1, True, maximize=True) | Adam(p, 0.1, tuple(torch.tensor([0.9, 0.99]).double()))
SGD(dict(params=x, lr=i / 10) for i, x in enumerate(p))
Adam([dict(params=p[:2], betas=(0.5, 0.5)), dict(params=p[2])]) | SGD([("w", p[0]), ("b", p[1])], 0.05)
SGD([dict(params=[("w", p[0])], lr=0.1), dict(params=[("b", p[1])])]) | RMSprop(p) | RMSprop(p, 0.05, 0.9, 1e-3, 0.1)
RMSprop(p, 0.05, momentum=0.5, centered=True, maximize=True) | Adagrad(p) | Adagrad(p, 0.5, 0.1, 0.2, 0.3, 1e-3)
Adagrad(p, 0.5, maximize=True) | Adadelta(p) | Adadelta(p, 0.5, 0.5) | Adadelta(p, 2.0, 0.8, 1e-3, 0.1, maximize=True)
Adamax(p) | Adamax(p, 0.1, (0.5, 0.75), 1e-3, 0.1) | Adamax(p, 0.1, maximize=True) | Adamax(p, 0.1, foreach=True)
NAdam(p) | NAdam(p, 0.1, (0.5, 0.75), 1e-3, 0.1, 0.5) | NAdam(p, 0.1, weight_decay=0.5, decoupled_weight_decay=True)
NAdam(p, 0.1, maximize=True) | RAdam(p) | RAdam(p, 0.1, (0.5, 0.75), 1e-3, 0.1) | RAdam(p, 0.1, (0.5, 0.99))
RAdam(p, 0.1, weight_decay=0.5, decoupled_weight_decay=True, maximize=True) | ASGD(p) | ASGD(p, 0.1, 0.5, 0.5, 2, 0.25)
ASGD(p, 0.1, maximize=True) | Rprop(p) | Rprop(p, 0.5) | Rprop(p, 0.1, (0.25, 2.0), (0.05, 0.5)) | Adamax(p, -1.0)
Adamax(p, eps=-1.0) | NAdam(p, betas=(1.0, 0.5)) | NAdam(p, momentum_decay=-1.0) | RAdam(p, weight_decay=-1.0)
ASGD(p, weight_decay=-1.0) | ASGD(p, torch.ones(2)) | Rprop(p, etas=(1.5, 2.0)) | Rprop(p, -1.0)
Rprop(p, maximize=True)
"""


@pytest.mark.parametrize("text", entries(WALKS))
def test_a_walk(torch: Any, text: str) -> Any:
    params, loss = quadratic(torch)
    optimizer = eval(f"torch.optim.{text}", {"torch": torch, "p": params})
    losses, params, versions, state = walked(torch, optimizer, params, loss, 8)
    return losses, params, versions if "fused" not in text else None, str(state["param_groups"]), state["state"]


REFUSED = """
SGD(p, -1) | SGD(p, momentum=-0.5) | SGD(p, weight_decay=-1.0) | SGD(p, nesterov=True) | SGD(p, 1, 1, 1, 0, True)
SGD([]) | SGD(p[0]) | SGD([p[0] * 1]) | SGD([1]) | SGD([(p[0], "w")]) | SGD({p[0]}) | SGD([dict(params={p[0]})])
SGD(p, torch.ones(2)) | SGD([dict(params=p), 3]) | SGD([dict(params=p), dict(params=p[:1])]) | SGD([("w", p[0]), p[1]])
SGD(dict(w=p[0])) | SGD([dict(params=p[:1]), dict(params=[("b", p[1])])])
SGD([dict(params=[("b", p[1])]), dict(params=p[:1])]) | SGD(p, fused=True, differentiable=True)
SGD(p, fused=True, foreach=True) | Adam(p, -1.0) | Adam(p, eps=-1.0) | Adam(p, betas=(1.0, 0.5))
Adam(p, betas=(0.5, -0.5)) | Adam(p, weight_decay=-1.0) | Adam(p, torch.ones(2)) | SGD([None])
Adam(p, betas=(0.5, torch.tensor(0.5))) | Adam(p, betas=(0, 0.5)) | AdamW(p, fused=True, differentiable=True)
RMSprop(p, -1.0) | RMSprop(p, eps=-1.0) | RMSprop(p, alpha=-1.0) | RMSprop(p, momentum=-1.0) | Adagrad(p, -1.0)
Adagrad(p, lr_decay=-1.0) | Adagrad(p, initial_accumulator_value=-1.0) | Adagrad(p, fused=True, foreach=True)
Adadelta(p, -1.0) | Adadelta(p, rho=1.5) | Adadelta(p, eps=-1.0) | Adadelta(p, weight_decay=-1.0)
AdamW(p, -2.0) | Optimizer(p, {}).step() | SGD(p).add_param_group(p) | SGD(p).add_param_group({})
SGD(p).add_param_group(dict(params=p[0])) | SGD(p).add_param_group(dict(params=[])) | SGD([[]])
SGD(p).load_state_dict(SGD(p[:1]).state_dict()) | SGD(p).load_state_dict(SGD([dict(params=x) for x in p]).state_dict())
"""


@pytest.mark.parametrize("text", entries(REFUSED))
def test_what_is_refused(torch: Any, text: str) -> Any:
    params, _ = quadratic(torch)
    eval(f"torch.optim.{text}", {"p": params, "torch": torch} | vars(torch.optim))


def test_how_optimisers_are_printed(torch):
    params, _ = quadratic(torch)
    two = [{"params": params[:1], "lr": 0.5}, {"params": params[1:], "note": "mine"}]
    return [str(torch.optim.SGD(params)), repr(torch.optim.Adam(two)), str(torch.optim.AdamW(params))]


def test_a_parameter_given_twice(torch):
    params, _ = quadratic(torch)
    return warned(lambda: torch.optim.SGD([params[0], params[0]]))


def test_a_group_that_is_added_later(torch):
    params, loss = quadratic(torch)
    optimizer = torch.optim.Adam(params[:1], 0.1)
    seen = [walked(torch, optimizer, params, loss, 2)[0]]
    optimizer.add_param_group({"params": (p for p in params[1:2]), "lr": 0.2})
    return [*seen, *walked(torch, optimizer, params, loss, 2)]


@pytest.mark.parametrize("name", ["SGD(p, 0.1, 0.9)", "Adam(p, 0.1, amsgrad=True)", "AdamW(p, 0.1)"])
def test_a_state_that_is_loaded_goes_on_as_the_first(torch: Any, name: str) -> Any:
    params, loss = quadratic(torch)
    optimizer = eval(f"torch.optim.{name}", {"torch": torch, "p": params})
    walked(torch, optimizer, params, loss, 2)
    state = copy.deepcopy(optimizer.state_dict())
    others, other_loss = quadratic(torch)
    with torch.no_grad():
        for other, param in zip(others, params, strict=True):
            other.copy_(param)
    other = eval(f"torch.optim.{name.replace('0.1', '5.0')}", {"torch": torch, "p": others})
    other.load_state_dict(state)
    assert list(state) == ["state", "param_groups"]
    first, second = walked(torch, optimizer, params, loss, 3), walked(torch, other, others, other_loss, 3)
    assert first[0] == second[0]
    return second[0], str(second[3]["param_groups"]), type(other.state).__name__


def test_a_loaded_state_takes_the_dtype_of_its_parameter(torch):
    p, q = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    p.grad, q.grad = torch.ones(2), torch.ones(2, dtype=torch.float64)
    first, second = torch.optim.Adam([p]), torch.optim.AdamW([q])
    first.step()
    second.load_state_dict(first.state_dict())
    seen = {name: value.dtype == torch.float64 for name, value in second.state[q].items()}
    second.step()
    return seen, q, second.param_groups[0]["decoupled_weight_decay"], second.param_groups[0]["params"][0] is q


def test_gradients_are_cleared_or_zeroed(torch):
    params, loss = quadratic(torch)
    optimizer = torch.optim.SGD(params)
    loss().backward(create_graph=True)
    grads = [p.grad for p in params]
    optimizer.zero_grad(set_to_none=False)
    seen = [[p.grad is g for p, g in zip(params, grads, strict=True)], params[0].grad, params[0].grad.requires_grad]
    optimizer.zero_grad()
    return [*seen, [p.grad for p in params]]


def test_a_closure_computes_the_loss_anew(torch):
    params, loss = quadratic(torch)
    optimizer, modes = torch.optim.SGD(params, 0.01), []

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        modes.append((torch.is_grad_enabled(), value.requires_grad))
        return value

    with torch.no_grad():
        losses = [optimizer.step(closure).item() for _ in range(3)]
    return losses, modes, optimizer.step(), torch.is_grad_enabled()


def test_a_graph_that_saved_a_parameter_refuses_a_backward_after_the_step(torch):
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    torch.optim.Adam([w]).step()
    error = raised(loss.backward)
    return "modified by an inplace operation" in str(error), "is at version 1; expected version 0" in str(error)


def test_hooks_around_a_step(torch):
    params, loss = quadratic(torch)
    optimizer, seen = torch.optim.SGD(params, 0.01), []
    first = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", o is optimizer, len(args))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", sorted(kwargs))))
    optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": loss}))
    value = optimizer.step(closure=None).item()
    first.remove()
    optimizer.step()
    return value, seen


def test_an_optimiser_of_ones_own(torch):
    class Signs(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.state[p]["count"] = self.state[p].get("count", 0) + 1
                        p -= group["lr"] * p.grad.sign()

    params, loss = quadratic(torch)
    optimizer, seen = Signs(params), []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(1))
    return walked(torch, optimizer, params, loss, 3), seen, str(optimizer)


@pytest.mark.parametrize("name", ["SGD([w], lr, 0.9, nesterov=True", "Adam([w], lr", "AdamW([w], lr"])
def test_a_step_can_be_differentiated(torch: Any, name: str) -> Any:
    start = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    w = start.clone()
    optimizer = eval(f"torch.optim.{name}, differentiable=True)", {"torch": torch, "w": w, "lr": 0.1})
    torch.set_default_dtype(torch.float64)  # that of the count of steps
    try:
        for _ in range(2):
            (w.grad,) = torch.autograd.grad((w.clone() ** 4).sum(), w, create_graph=True)
            optimizer.step()
    finally:
        torch.set_default_dtype(torch.float32)
    (w * w).sum().backward()
    return w.detach(), start.grad


def test_a_learning_rate_that_is_learned() -> None:
    torch = workbench
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    start = torch.tensor([1.0, -2.0], dtype=torch.float64)
    w = start.clone().requires_grad_() * 1
    w.grad = 2 * w.detach()
    torch.optim.SGD([w], rate, differentiable=True).step()
    (w * w).sum().backward()
    assert rate.grad.item() == pytest.approx((2 * (start - 0.1 * 2 * start) * -2 * start).sum().item())


def test_a_model_learns_with_adam(torch):
    model, loss_of = mlp(torch), torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    target = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    return walked(torch, optimizer, list(model.parameters()), lambda: loss_of(model(batch(torch)), target), 4)[:3]


SCHEDULES = """
StepLR(o, 2) | StepLR(o, 3, 0.5) | ExponentialLR(o, 0.5) | LambdaLR(o, lambda e: 1 / (1 + e))
LambdaLR(o, [lambda e: 0.5**e, lambda e: 2**e]) | LambdaLR(o, [abs]) | StepLR(3, 2)
ExponentialLR(o, 0.5, last_epoch=2) | MultiStepLR(o, [2, 4, 4]) | MultiStepLR(o, (1,), 0.5) | LinearLR(o)
LinearLR(o, 0.5, 0.1, 3) | LinearLR(o, 0.0) | LinearLR(o, 0.5, 2.0) | CosineAnnealingLR(o, 4)
CosineAnnealingLR(o, 2, 0.1) | CosineAnnealingLR(o, 4, last_epoch=2) | LinearLR(o, last_epoch=2)
MultiStepLR(o, [1], last_epoch=2) | ConstantLR(o) | ConstantLR(o, 0.5, 3) | ConstantLR(o, 2.0) | PolynomialLR(o)
PolynomialLR(o, 4, 2.0) | PolynomialLR(3) | SequentialLR(o, [ConstantLR(o, 0.5, 2), ExponentialLR(o, 0.5)], [3])
SequentialLR(o, [LinearLR(o), CosineAnnealingLR(o, 4), StepLR(o, 1)], [2, 5]) | SequentialLR(o, [], [])
SequentialLR(o, [StepLR(o, 1)], [1]) | SequentialLR(o, [3], []) | SequentialLR(a, [StepLR(o, 1)], [])
SequentialLR(o, [ReduceLROnPlateau(o)], []) | ChainedScheduler([ConstantLR(o), ExponentialLR(o, 0.5)])
SequentialLR(o, [ChainedScheduler([ConstantLR(o), StepLR(o, 1)]), ExponentialLR(o, 0.5)], [2]) | ChainedScheduler([])
ChainedScheduler([StepLR(o, 1), StepLR(a, 1)]) | ChainedScheduler([3], o) | ChainedScheduler([ReduceLROnPlateau(o)])
ChainedScheduler([StepLR(o, 1)], a) | CyclicLR(o, 0.1, 1.0, 2) | CyclicLR(o, 0.1, 1.0, 2, 3, "triangular2")
CyclicLR(o, 0.1, [0.5, 1.0], 2, mode="exp_range", gamma=0.5) | CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda n: 1 / n)
CyclicLR(a, 0.1, 1.0, 2) | CyclicLR(g, 0.1, 1.0, 2) | CyclicLR(g, 0.1, 1.0, 2, cycle_momentum=False)
CyclicLR(o, 0.1, 1.0, mode="a") | CyclicLR(3, 0.1, 1.0) | CyclicLR(o, [0.1], 1.0)
CyclicLR(o, 0.1, 1.0, 2, base_momentum=0.5, max_momentum=[0.75, 0.625])
CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda n: 0.5**n, scale_mode="iterations") | ReduceLROnPlateau(o, patience=1)
ReduceLROnPlateau(o, "max", 0.5, 0, 0.01, "abs", 2, [0.3, 0.01]) | ReduceLROnPlateau(o, "min", 0.5, 0, 0.5, "rel", 1)
ReduceLROnPlateau(o, "max", 0.5, 1, 0.1) | ReduceLROnPlateau(o, "a") | ReduceLROnPlateau(o, factor=1.0)
ReduceLROnPlateau(o, threshold_mode="a") | ReduceLROnPlateau(o, min_lr=[1]) | ReduceLROnPlateau(3)
ReduceLROnPlateau(o, "min", 0.5, 0, 0.1, "abs", 0, 0.2) | CosineAnnealingWarmRestarts(o, 3)
CosineAnnealingWarmRestarts(o, 2, 2, 0.1) | CosineAnnealingWarmRestarts(o, 0) | CosineAnnealingWarmRestarts(o, 2, 0)
CosineAnnealingWarmRestarts(o, 2, eta_min="a") | CosineAnnealingWarmRestarts(3, 2) | OneCycleLR(o, 1.0, 10)
OneCycleLR(o, [1.0, 2.0], epochs=3, steps_per_epoch=4, anneal_strategy="linear")
OneCycleLR(o, 1.0, 9, three_phase=True) | OneCycleLR(a, 1.0, 10, pct_start=0.5, div_factor=2.0, final_div_factor=4.0)
OneCycleLR(o, 1.0, 4) | OneCycleLR(o, 1.0) | OneCycleLR(o, 1.0, 0) | OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=-1)
OneCycleLR(o, 1.0, 10, pct_start=2.0) | OneCycleLR(o, 1.0, 10, anneal_strategy="a") | OneCycleLR(3, 1.0, 10)
OneCycleLR(o, [1.0], 10) | OneCycleLR(g, 1.0, 10) | OneCycleLR(g, 1.0, 10, cycle_momentum=False)
"""
UNKEPT = {"_scale_fn_custom", "_phases", "_schedule_phases"}
HELD = "best num_bad_epochs cooldown_counter min_lrs T_cur T_i last_epoch".split()


@pytest.mark.parametrize("text", entries(SCHEDULES))
def test_a_schedule(torch: Any, text: str) -> Any:
    p, _ = quadratic(torch)
    o = torch.optim.SGD([{"params": p[0], "lr": 0.5}, {"params": p[1:], "lr": 2.0}], momentum=0.5)
    known = {**vars(torch.optim.lr_scheduler), "o": o, "a": torch.optim.Adam(p), "g": torch.optim.Adagrad(p)}
    schedule, rates = eval(text, known), []

    def stepped(measures: Any) -> None:
        for measure in measures:
            schedule.optimizer.step()
            schedule.step(*[torch.tensor(measure)] * ("Plateau" in text))
            groups = schedule.optimizer.param_groups
            moved = [(group["lr"], group.get("momentum", group.get("betas"))) for group in groups]
            rates.append((schedule.get_last_lr(), moved))

    stepped((3.0, 2.0, 2.5, 2.0, 2.0, 1.9, 4.0, 4.0, 5.0))
    state, printed = schedule.state_dict(), str(schedule.optimizer)
    schedule = eval(text, known)
    schedule.load_state_dict(state)
    for epoch in (0.5, 7, 9.25) if "WarmRestarts" in text else ():
        schedule.step(epoch)
        rates.append(schedule.get_last_lr())
    stepped((4.0,))
    return rates, sorted({*state} - UNKEPT), {name: state.get(name) for name in HELD}, printed


def test_what_a_schedule_warns_of(torch):
    params, _ = quadratic(torch)
    optimizer = torch.optim.SGD(params, 1.0)
    optimizer.step()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    seen = [warned(schedule.step), warned(schedule.step), warned(schedule.get_lr), warned(lambda: schedule.step(5))]
    seen += [schedule.get_last_lr()]
    optimizer.step()
    return seen, warned(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5).step), optimizer.param_groups[0]["lr"]


def test_a_hook_on_all_optimisers_hears_of_each_step_after_its_own_hooks() -> None:
    from workbench.optim.optimizer import register_optimizer_step_post_hook

    seen: list[object] = []
    first, second = [workbench.optim.SGD([workbench.ones(1, requires_grad=True)]) for _ in range(2)]
    first.register_step_post_hook(lambda *given: seen.append("own"))
    handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: seen.append((optimizer, args, kwargs)))
    first.step()
    second.step()
    handle.remove()
    second.step()
    assert seen == ["own", (first, (first,), {}), (second, (second,), {})]


def test_an_optimiser_that_only_wraps_another(torch):
    class Twice(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups, self.defaults = inner, inner.param_groups, inner.defaults

        def step(self, closure=None):
            self.inner.step()
            return self.inner.step()

    params, loss = quadratic(torch)
    optimizer = Twice(torch.optim.SGD(params, 0.05))
    loss().backward()
    return optimizer.step(), params


MINIMIZED = """
LBFGS(p) | LBFGS(p, 0.5, 4) | LBFGS(p, 0.1, 6, history_size=2) | LBFGS(p, max_eval=3) | LBFGS(p, tolerance_grad=100.0)
LBFGS(p, tolerance_change=0.1) | LBFGS(p, -1.0) | LBFGS([{"params": p[:1]}, {"params": p[1:]}])
LBFGS(p, line_search_fn="other")
"""


@pytest.mark.parametrize("text", entries(MINIMIZED))
def test_lbfgs(torch: Any, text: str) -> Any:
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
