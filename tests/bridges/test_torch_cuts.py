"""Where the way of a gradient ends in a PyTorch program, it is told as of the workbench's own engine."""

from __future__ import annotations

from oracle import torch

import workbench


def cuts(trace) -> list[tuple[str, str, str]]:
    """Of each arrow with a mark the boxes at its ends, by their titles, and its label's word."""
    scene = trace.show("graph", open=[]).storyboard.at()
    arrows = [arrow for arrow in scene.arrows.values() if arrow.kind == "cut" and arrow.state != "future"]
    return [(scene.boxes[a.source].title, scene.boxes[a.target].title, a.label.partition(",")[0]) for a in arrows]


def test_each_word_stands_between_the_two_sides():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with workbench.record(torch) as trace:
        h = w * 3
        t = h.detach()
        with torch.no_grad():
            a = (h * 2).exp()
        b = h > 3
        d = h.data
        first = t[0] + 1
        k = h * 2
        s = k.sum()
        k.detach_()
        loss = (w * t).sum() + (w * a).sum() + (w * b).sum() + (w * d).sum() + (w * first).sum() + (w * k).sum() + s
        loss.backward()
    assert cuts(trace) == [
        ("h = w * 3", "t", "detach"),
        ("h = w * 3", "a", "no_grad"),
        ("h = w * 3", "d", "data"),
        ("h = w * 3", "first", "detach"),
        ("k = h * 2", "loss = (w * t).sum() + (w * a).sum() + …", "detach_"),
    ]


def test_a_target_that_a_network_computes_is_joined_to_the_network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    with workbench.record(torch) as trace:
        with torch.no_grad():
            target = 0.9 * net(torch.ones(4, 2))
        loss = ((net(torch.zeros(4, 2)) - target) ** 2).mean()
        loss.backward()
    assert cuts(trace) == [("net › Sequential", "target", "no_grad")]


def test_what_is_drawn_in_the_shape_of_a_tensor_is_no_cut():
    x = torch.randn(4, requires_grad=True)
    with workbench.record(torch) as trace:
        loss = (x * torch.randn_like(x) + torch.zeros_like(x) + torch.rand(x.shape)).sum()
        loss.backward()
    assert cuts(trace) == [] and not trace.findings() and "no_grad" not in str(trace.show())
