"""A training loop is drawn in time that grows as its number of steps does, and what is over is not drawn anew."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from trace_samples import leaf
from work_done import calls

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.frame import EdgeState, Frame
from workbench.pictures.trace.values import Value
from workbench.pictures.views import storyboard
from workbench.pictures.views.gradient_totals import EdgeBundle, PassTotal


def trained(steps: int, keep: bool = False, retain: bool = False) -> Trace:
    """A network of two layers, whose matrices are used by views of them; `keep` keeps all losses."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    given, wanted, losses = torch.ones(2, 4), torch.zeros(2, 1), []
    with record() as trace:
        for _ in range(steps):
            net.zero_grad()
            loss = ((net(given) - wanted) ** 2).mean()
            loss.backward(retain_graph=retain)
            losses += [loss] * keep
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
    return trace


def trained_by_hand(steps: int) -> Trace:
    """Parameters that nodes save themselves."""
    w, b = leaf(1.0, 2.0), leaf(0.5)
    with record() as trace:
        for _ in range(steps):
            loss = ((w * w * b).exp() + w).sum()
            loss.backward()
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.01 * p.grad
                    p.grad = None
    return trace


LOOPS: dict[str, Callable[[int], Trace]] = {
    "a network": trained,
    "whose losses are kept": lambda steps: trained(steps, keep=True),
    "whose graphs are retained for nothing": lambda steps: trained(steps, retain=True),
    "by hand": trained_by_hand,
}


@pytest.mark.slow
@pytest.mark.parametrize("view", ["graph", "flow", "memory"])
def test_twice_the_steps_are_twice_the_work(view) -> None:
    storyboard(trained_by_hand(3), view)  # what is done once is done
    some, twice = (trained_by_hand(steps) for steps in (35, 70))
    assert calls(lambda: storyboard(twice, view)) < 2.3 * calls(lambda: storyboard(some, view))


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_step_changes_nothing_of_the_steps_long_before_it(loop) -> None:
    trace, frame = loop(30), Frame()
    most = 0
    for event in trace.events:
        frame.touched = {}
        event.apply(frame)
        most = max(most, len(frame.touched))
    assert most < 40


def test_what_goes_along_many_edges_is_that_of_the_last_pass_alone():
    bundle, edges, passes = EdgeBundle(""), {}, []
    draw = random.Random(0)
    for _ in range(2_000):
        key, task = f"n{draw.randrange(300)}.0", f"b{draw.randrange(3)}"
        grad = draw.choice([None, Value.of(draw.random()), Value.of([1.0, draw.random()]), Value.of([np.inf, np.nan])])
        state = draw.choice(["idle", "flowing", "done"])
        before = edges.get(key)
        edges[key] = edge = EdgeState("t1", key, draw.randrange(2), state=state, grad=grad, task=task)
        bundle.note(key, edge)
        told_already = before is not None and before.state != "idle" and before.task == task and before.grad is grad
        passes = [each for each in passes if any(e.task == each and e.state != "idle" for e in edges.values())]
        if state != "idle" and not told_already:
            passes = [*[each for each in passes if each != task], task]
        last = passes[-1] if passes else ""
        moved = {key: edge.grad for key, edge in edges.items() if edge.state != "idle" and edge.task == last}
        grads = [grad for grad in moved.values() if grad is not None]
        assert bundle.task == last
        assert list(bundle.keys) == list(edges)
        assert bundle.flowing.keys() == {key for key, edge in edges.items() if edge.state == "flowing"}
        assert (bundle.total.moved, bundle.total.grads) == (len(moved), len(grads))
        assert bundle.total.finite == (not any(grad.nonfinite for grad in grads))
        finite = [grad.norm for grad in grads if not grad.nonfinite]
        if len(finite) == len(grads):
            largest = max(finite, default=None)
            assert (moved[bundle.total.largest].norm if finite else bundle.total.grad) == largest


def test_a_pass_adds_each_edge_once_however_many_there_are(monkeypatch):
    added = []
    add = PassTotal.add
    monkeypatch.setattr(PassTotal, "add", lambda self, *edge: added.append(1) or add(self, *edge))
    bundle = EdgeBundle("")
    for number in range(1_000):
        edge = EdgeState("t1", f"n{number}", 0, state="flowing", grad=Value.of(1.0), task="b1")
        for edge.state in ("flowing", "done"):
            bundle.note(f"n{number}.0", edge)
            assert bundle.total.moved == number + 1
    assert len(added) == 1_000


def test_a_film_opens_where_the_gradients_of_its_last_step_have_come_to_the_leaves():
    flow, graph = storyboard(trained(3), "flow"), storyboard(trained(3))
    assert flow.chapter() == graph.chapter() == "step 3 of 3"
    for board in (flow, graph):
        assert board.start == board.still and board.steps[board.start].phase in ("backward", "update")
        assert not any("is cleared" in step.caption for step in board.steps[board.start :])
        edges = [arrow for arrow in board.at().arrows.values() if arrow.kind == "edge"]
        assert edges and all(arrow.label for arrow in edges)
