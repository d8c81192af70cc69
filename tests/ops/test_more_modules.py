"""Losses of pairs, triplets and distributions, optimisers and schedules beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

LOSSES = """
F.margin_ranking_loss(x, y, s) | F.margin_ranking_loss(x, y, s, 0.5, reduction="sum")
n.MarginRankingLoss(0.25)(x, y, s)
F.margin_ranking_loss(x, y, s[0]) | F.margin_ranking_loss(x, y, s, reduction="none") | n.MarginRankingLoss().margin
F.margin_ranking_loss(x, y, s, reduction="a") | F.triplet_margin_loss(x, y, z)
F.triplet_margin_loss(x, y, z, 2.0, 1.0)
F.triplet_margin_loss(x, y, z, swap=True, reduction="none") | F.triplet_margin_loss(x, y, z, margin=0)
F.triplet_margin_loss(x, y, z[0]) | n.TripletMarginLoss(3.0, reduction="sum")(x, y, z) | n.TripletMarginLoss(0)
F.triplet_margin_loss(x[0], y[0], z[0]) | F.cosine_embedding_loss(x, y, s[:, 0]) | F.cosine_embedding_loss(x, y, s)
F.cosine_embedding_loss(x, y, s[:, 0], 0.25, reduction="none") | F.cosine_embedding_loss(x[0], y[0], s[0, 0])
F.cosine_embedding_loss(x, y, s[0, 0]) | F.cosine_embedding_loss(x[0], y, s[:, 0])
n.CosineEmbeddingLoss(0.5, reduction="sum")(x, y, s[:, 0]) | F.hinge_embedding_loss(x, s)
n.HingeEmbeddingLoss()(x, s)
F.hinge_embedding_loss(x, s, 0.25, reduction="none") | F.hinge_embedding_loss(x, s[0]) | n.HingeEmbeddingLoss().margin
F.poisson_nll_loss(x, c) | F.poisson_nll_loss(x.exp(), c, log_input=False) | F.poisson_nll_loss(x, c, full=True)
F.poisson_nll_loss(x, c, reduction="none") | F.poisson_nll_loss(x, c, reduction="a")
n.PoissonNLLLoss(full=True)(x, c)
n.PoissonNLLLoss(False, eps=0.5, reduction="sum")(x.exp(), c) | F.poisson_nll_loss(x, y.exp() + 1, full=True)
F.gaussian_nll_loss(x, y, z.exp()) | F.gaussian_nll_loss(x, y, z[0].exp())
F.gaussian_nll_loss(x, y, z[:, :1].exp())
F.gaussian_nll_loss(x, y, z[:, 0].exp()) | F.gaussian_nll_loss(x, y, 0.5, full=True) | F.gaussian_nll_loss(x, y, -0.5)
F.gaussian_nll_loss(x, y, z) | F.gaussian_nll_loss(x, y, z.exp(), eps=1.0)
F.gaussian_nll_loss(x, y, 0.5, reduction="a")
n.GaussianNLLLoss(full=True, reduction="none")(x, y, z.exp()) | F.soft_margin_loss(x, s) | n.SoftMarginLoss()(x, s)
F.soft_margin_loss(x, s, reduction="none") | F.soft_margin_loss(x, s, reduction="sum") | F.soft_margin_loss(x, y)
F.soft_margin_loss(x, s[0]) | F.soft_margin_loss(x, c) | F.multilabel_soft_margin_loss(x, o)
F.multilabel_soft_margin_loss(x, o, weight=o[0] + 1) | n.MultiLabelSoftMarginLoss(reduction="none")(x, o)
F.multilabel_soft_margin_loss(x[0], o[0]) | F.multilabel_soft_margin_loss(x, o, reduction="a") | n.SoftMarginLoss()
F.multilabel_soft_margin_loss(x, o, reduction="sum") | F.margin_ranking_loss(x, y, s, reduce=False)
F.multilabel_soft_margin_loss(x, o, size_average=False) | F.poisson_nll_loss(x, c, size_average=False)
"""


@pytest.mark.parametrize("text", entries(LOSSES))
def test_a_loss(text: str) -> None:
    def program(torch: Any) -> Any:
        def number(rows: list[list[float]]) -> Any:
            return torch.tensor(rows, dtype=torch.float64, requires_grad=True)

        x, y = number([[0.5, -1.25, 2.0], [0.25, 0.75, -0.75]]), number([[0.75, 0.5, 1.0], [-0.25, 0.5, 0.375]])
        z, known = number([[-0.5, 0.25, 1.5], [1.0, -0.5, 0.25]]), {"n": torch.nn, "F": torch.nn.functional}
        known["s"] = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]], dtype=torch.float64)
        known["c"], known["o"] = torch.tensor([[0, 1, 3], [2, 0, 5]]), (known["s"] > 0).double()
        out = eval(text, known | {"x": x, "y": y, "z": z})
        if not isinstance(out, torch.Tensor):
            return out if isinstance(out, float) else repr(out)
        if out.requires_grad:
            (out * out).sum().backward()
        return out, out.grad_fn and out.grad_fn.name(), x.grad, y.grad, z.grad

    compare(program)


WALKS = """
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
def test_a_walk(text: str) -> None:
    def program(torch: Any) -> Any:
        p = [torch.nn.Parameter(torch.tensor(n, dtype=torch.float64)) for n in ([1.0, -2.0, 0.5], [[0.25, 3.0]])]
        optimizer, seen = eval(f"torch.optim.{text}", {"torch": torch, "p": p}), []
        for _ in range(8):
            optimizer.zero_grad()
            loss = (p[0] ** 2).sum() + ((p[1] - 1) ** 2).sum() * 0.5 + p[0].sum() * p[1].sum() * 0.25
            loss.backward()
            optimizer.step()
            seen.append([each.detach().clone() for each in p])
        state = optimizer.state_dict()
        return seen, str(state["param_groups"]), state["state"]

    compare(program)


SCHEDULES = """
s.ConstantLR(o) | s.ConstantLR(o, 0.5, 3) | s.ConstantLR(o, 2.0) | s.PolynomialLR(o) | s.PolynomialLR(o, 4, 2.0)
s.PolynomialLR(3) | s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.5)], [3])
s.SequentialLR(o, [s.LinearLR(o), s.CosineAnnealingLR(o, 4), s.StepLR(o, 1)], [2, 5]) | s.SequentialLR(o, [], [])
s.SequentialLR(o, [s.StepLR(o, 1)], [1]) | s.SequentialLR(o, [3], []) | s.SequentialLR(a, [s.StepLR(o, 1)], [])
s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []) | s.ChainedScheduler([s.ConstantLR(o), s.ExponentialLR(o, 0.5)])
s.SequentialLR(o, [s.ChainedScheduler([s.ConstantLR(o), s.StepLR(o, 1)]), s.ExponentialLR(o, 0.5)], [2])
s.ChainedScheduler([]) | s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(a, 1)]) | s.ChainedScheduler([3], o)
s.ChainedScheduler([s.ReduceLROnPlateau(o)]) | s.ChainedScheduler([s.StepLR(o, 1)], a) | s.CyclicLR(o, 0.1, 1.0, 2)
s.CyclicLR(o, 0.1, 1.0, 2, 3, "triangular2") | s.CyclicLR(o, 0.1, [0.5, 1.0], 2, mode="exp_range", gamma=0.5)
s.CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda n: 1 / n) | s.CyclicLR(a, 0.1, 1.0, 2) | s.CyclicLR(g, 0.1, 1.0, 2)
s.CyclicLR(g, 0.1, 1.0, 2, cycle_momentum=False) | s.CyclicLR(o, 0.1, 1.0, mode="a") | s.CyclicLR(3, 0.1, 1.0)
s.CyclicLR(o, [0.1], 1.0) | s.CyclicLR(o, 0.1, 1.0, 2, base_momentum=0.5, max_momentum=[0.75, 0.625])
s.CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda n: 0.5**n, scale_mode="iterations")
"""


@pytest.mark.parametrize("text", entries(SCHEDULES))
def test_a_schedule(text: str) -> None:
    def program(torch: Any) -> Any:
        p = [torch.nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2)]
        o = torch.optim.SGD([{"params": p[:1]}, {"params": p[1:], "lr": 0.5}], lr=1.0, momentum=0.5)
        a, g = torch.optim.Adam(p), torch.optim.Adagrad(p)
        schedule = eval(text, {"s": torch.optim.lr_scheduler, "o": o, "a": a, "g": g})
        rates = [schedule.get_last_lr()]
        for _ in range(9):
            schedule.optimizer.step()
            schedule.step()
            rates.append((schedule.get_last_lr(), [group.get("momentum") for group in schedule.optimizer.param_groups]))
        state = schedule.state_dict()
        schedule.load_state_dict(state)
        schedule.step()
        return rates, schedule.get_last_lr(), sorted({*state} - {"_scale_fn_custom"}), state.get("last_epoch")

    compare(program)


SYNCED = """
n.SyncBatchNorm(2)(x) | n.SyncBatchNorm(2).eval()(x) | n.SyncBatchNorm(2)(x[..., None]) | n.SyncBatchNorm(2)(x[0])
n.SyncBatchNorm(2, affine=False, track_running_stats=False)(x) | n.SyncBatchNorm(0)(x[:, :0]) | n.SyncBatchNorm(2)
n.SyncBatchNorm.convert_sync_batchnorm(n.BatchNorm1d(2, momentum=None))
n.SyncBatchNorm.convert_sync_batchnorm(n.Sequential(n.Linear(2, 2), n.Sequential(n.BatchNorm2d(2, affine=False))))
n.SyncBatchNorm.convert_sync_batchnorm(n.Linear(1, 1)) | list(n.SyncBatchNorm(2).state_dict())
n.SyncBatchNorm.convert_sync_batchnorm(n.BatchNorm1d(2).eval()).training | n.SyncBatchNorm(2).process_group
"""


@pytest.mark.parametrize("text", entries(SYNCED))
def test_a_batch_over_processes(text: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], requires_grad=True)
        out = eval(text, {"n": torch.nn, "x": x})
        if not isinstance(out, torch.Tensor):
            return repr(out)
        (out * out * out).sum().backward()
        return out, x.grad, out.grad_fn.name()

    compare(program)


ASKED = """
[l, l.mean, l.mode, l.variance, l.stddev, l.entropy(), l.cdf(x), l.icdf(p), l.log_prob(x), l.support] | l.log_prob(2.0)
D.Laplace(0.0, -1.0) | D.Laplace(0.0, 1.0) | l.rsample((4,)).shape | l.expand([3, 2]).batch_shape | l.sample().dtype
[h.probs, h.logits, h.mean, h.mode, h.variance, h.entropy(), h.param_shape, h.event_shape, h.batch_shape, h.support]
h.log_prob(o) | h.log_prob(o * 2) | h.log_prob(o[:, :2]) | h.sample((5,)).shape | h.sample((5,)).sum(-1)
h.enumerate_support() | h.enumerate_support(False) | D.OneHotCategorical() | D.OneHotCategorical(t.tensor(1.0))
D.OneHotCategorical(t.tensor([-1.0, 2.0])) | D.OneHotCategorical(logits=t.zeros(2)).probs
D.Independent(l, 1).log_prob(x)
"""


@pytest.mark.parametrize("text", entries(ASKED))
def test_what_a_distribution_says(text: str) -> None:
    def program(torch: Any) -> Any:
        D, loc = torch.distributions, torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
        given = {"t": torch, "D": D, "x": torch.tensor([0.5, -2.0], dtype=torch.float64)}
        given["l"] = D.Laplace(loc, torch.tensor([1.0, 2.0], dtype=torch.float64))
        given["h"] = D.OneHotCategorical(torch.tensor([[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]))
        given["o"], given["p"] = torch.eye(3)[:2], torch.tensor([0.25, 0.75])
        found = eval(text, given)
        if isinstance(found, torch.Tensor) and found.requires_grad:
            found.sum().backward()
        plain = (int, float, torch.Tensor, torch.Size)
        shown = [each if isinstance(each, plain) else str(each) for each in (found if type(found) is list else [found])]
        return shown, loc.grad

    compare(program)
