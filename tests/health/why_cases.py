"""Reasons for a gradient that is None, zero, not finite or a sum: each asks `why` and returns what it answers.

`@asks("none", "relu")` says the verdict of the last answer, and names that all answers together must have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from functions import function
from made_functions import raising

import workbench
from workbench import why

Case = Callable[..., Any]
CASES: dict[Case, tuple[str, tuple[str, ...]]] = {}  # the verdict, and names


def asks(verdict: str, *names: str) -> Callable[[Case], Case]:
    """Enter a case: a function of the engine, two weights and data."""

    def enter(case: Case) -> Case:
        CASES[case] = verdict, names
        return case

    return enter


def recorded(engine):
    return workbench.record(engine) if engine is not workbench else workbench.record()


def of_recording(engine, w, loss_of):
    """Record the backward of a loss, and ask about a weight."""
    with recorded(engine) as trace:
        loss = loss_of()
        loss.backward()
    return [trace.why(w)]


# Asked of the graph alone.


@asks(
    "none",
    "SumBackward0 → MulBackward0 → ReluBackward0 → MmBackward0 → w",
    "loss.backward() will fill it.",
    "record(",
    "trace.why(w)",
)
def no_backward_yet(engine, w, v, x):
    loss = (engine.relu(x @ w) * v).sum()
    return [why(w), why(w, loss)]


@asks("none", "A backward pass has run through this graph", "zero_grad()")
def cleared_since(engine, w, v, x):
    loss = engine.relu(x @ w).sum()
    loss.backward()
    w.grad = None
    return [why(w, loss)]


@asks("none", "int64", "frozen doesn't require grad", "requires_grad_(False)")
def takes_none(engine, w, v, x):
    n, frozen = engine.tensor([1, 2, 3]), engine.ones(3)
    return [why(n), why(frozen)]


@asks("there", "from before: w doesn't require grad now", "There's no path from this loss to w")
def requires_none_any_more(engine, w, v, x):
    w.sum().backward()
    of_integers = why(w, engine.tensor([1, 2]))
    w.requires_grad_(False)
    return [of_integers, why(w)]


@asks("none", "It shares memory with h")
def detached_from_what_lives(engine, w, v, x):
    h = w * 2
    d = h.detach()
    return [why(d)]


@asks(
    "none",
    "u isn't a leaf (the multiplication",
    "It was computed from w.",
    "u.retain_grad()",
    "(the conversion computed it)",
)
def no_leaf(engine, w, v, x):
    converted = w.to(engine.float16)
    u = w * 2
    loss = (u * v).sum()
    loss.backward()
    return [why(converted), why(u, loss)]


@asks("there", "u.grad exists and is finite:")
def no_leaf_but_retained(engine, w, v, x):
    u = w * 2
    u.retain_grad()
    with recorded(engine) as trace:
        loss = (u * v).sum()
        loss.backward()
    return [trace.why("u"), trace.why(u), why(u, loss)]


@asks("none", "The multiplication uses the values of h, which depends on w, but not its history")
def cut_while_what_is_before_lives(engine, w, v, x):
    h = engine.relu(x @ w)
    detached, data = h.detach(), h.data
    return [why(w, (detached * v).sum()), why(w, (data * v).sum())]


def lost(engine, kind, w, v, x):
    """A loss whose way to w is cut so that no graph tells where."""
    if kind == "detach":
        return (engine.relu(x @ w).detach() * v).sum()
    if kind == "no_grad":
        with engine.no_grad():
            h = engine.relu(x @ w)
        return (h * v).sum()
    if kind == "item":
        return (v * (x @ w).sum().item()).sum()
    if kind == "numpy":
        return (engine.from_numpy((x @ w).detach().numpy()) * v).sum()
    if kind == "argmax":
        return ((x @ w).argmax(1).float() * v.sum()).sum()
    return (v * 2).sum()


# What a recording tells of each; without one they look alike.
LOST = {
    "detach": "cuts the input of `engine.relu(x @ w).detach() * v` off from the result of `engine.relu(x @ w)`.",
    "no_grad": "cuts the input of `h * v` off from `w`.",
    "item": "The computation from `w` ends at ",
    "numpy": "The computation from `w` ends at `x @ w` (",
    "argmax": ".float() * v.sum()` isn't connected to the result of `x @ w`.",
    "not used": "No recorded operation that can carry a gradient used `w`",
}


@asks(
    "none",
    "(From loss there's a path to v.)",
    "detach()",
    "no_grad()",
    "item()",
    "argmax",
    "before requires_grad was set",
)
def cut_where_no_graph_tells(engine, w, v, x):
    answers = []
    for kind in LOST:
        loss = lost(engine, kind, w, v, x)
        answers.append(why(w, loss))
    assert len({repr(each) for each in answers}) == 1 and len(answers[0].possible) == 6
    return answers[:1]


@asks("none", *LOST.values())
def cut_in_a_recording(engine, w, v, x):
    answers = []
    for kind in LOST:
        with recorded(engine) as trace:
            loss = lost(engine, kind, w, v, x)
            loss.backward()
        answers.append(trace.why(w))
        assert not answers[-1].possible and "record" not in answers[-1].advice
        assert LOST[kind] in repr(answers[-1]), (kind, answers[-1])
    return answers


@asks(
    "none",
    "loss is itself a leaf",
    "loss itself doesn't require grad",
    "total",
    "detach() at why_cases.py:",
    "cuts loss off from total.",
)
def loss_without_a_way(engine, w, v, x):
    loss = engine.tensor((x @ w).sum().item(), requires_grad=True)
    answers = [why(w, loss)]
    total = (x @ w).sum()
    loss = total.detach()
    answers.append(why(w, loss))
    with recorded(engine) as trace:
        total = (x @ w).sum()
        loss = total.detach()
    return [*answers, trace.why(w, loss)]


@asks("none", "which shares memory with new but is a different tensor", "new may be a copy")
def replaced_or_copied(engine, w, v, x):
    loss = (x @ w).sum()
    new = engine.nn.Parameter(w.detach())
    replaced = why(new, loss)
    new = engine.nn.Parameter(w.detach().clone())
    return [replaced, why(new, loss)]


@asks(
    "none", "used u before it required grad", "Call u.requires_grad_() before", "or it was used before u required grad"
)
def required_too_late(engine, w, v, x):
    u = engine.ones(3)
    with recorded(engine) as trace:
        loss = (u * v).sum()
        u.requires_grad_()
        loss.backward()
    of_trace = trace.why(u)
    u = engine.ones(3)
    loss = (u * v).sum()
    u.requires_grad_()
    return [of_trace, why(u, loss)]


@asks(
    "none",
    "produced first and other results. loss depends only on second and third.",
    "No recorded operation that can carry",
)
def only_siblings_used(engine, w, v, x):
    with recorded(engine) as trace:
        first, second, third = (x @ w).unbind(1)
        first.retain_grad()
        loss = (second * third).sum()
        loss.backward()
    return [trace.why(first)]


@asks("none", "produced kept and other results.", "depends only on rest.", "end = kept * 3")
def only_sibling_of_an_end(engine, w, v, x):
    with recorded(engine) as trace:
        kept, rest = (x @ w).split(2)
        kept.retain_grad()
        end = kept * 3
        rest.sum().backward()
    del end
    return [trace.why(kept)]


@asks("none", "detach() at why_cases.py:", "off from values.")
def sibling_used_and_own_detached(engine, w, v, x):
    with recorded(engine) as trace:
        values, others = (x @ w).chunk(2, 1)
        values.retain_grad()
        (values.detach().sum() * others).sum().backward()
    return [trace.why(values)]


@asks("none", "produced values and other results.", "depends only on others.")
def sibling_detached(engine, w, v, x):
    with recorded(engine) as trace:
        values, others = (x @ w).chunk(2, 1)
        values.retain_grad()
        (others.detach().sum() * others).sum().backward()
    return [trace.why(values)]


# Zero.


@asks("zero", "round: the derivative of round is 0 wherever it exists.")
def zero_derivative(engine, w, v, x):
    loss = engine.round(x @ w).sum()
    loss.backward()
    return [why(w, loss)]


@asks("zero", "sent only zeros toward w, because all its outputs are 0")
def zero_by_dead_units(engine, w, v, x):
    return of_recording(engine, w, lambda: (engine.relu(x @ w - 1000) + 1).sum())


@asks("zero", "sent only zeros toward w, because the other factor is all zeros.")
def zero_by_a_factor(engine, w, v, x):
    gate = engine.zeros(3)
    return of_recording(engine, w, lambda: ((x @ w) * gate).sum())


@asks("zero", "toward w, because the other factor, v, is all zeros", "toward v, because the other factor, h,")
def zero_factors_of_each_other(engine, w, v, x):
    w, v = (engine.zeros(3, requires_grad=True) for _ in range(2))
    with recorded(engine) as trace:
        h = w * 1
        loss = (h * v).sum()
        loss.backward()
    answers = [trace.why(w), trace.why(v)]
    v.grad = None
    with recorded(engine) as trace:
        loss = (v * v).sum()
        loss.backward()
    return [*answers, trace.why(v)]


@asks("zero", "The hook <lambda> on w (why_cases.py:", "zero_ (why_cases.py:")
def zero_by_a_hook_and_by_hand(engine, w, v, x):
    w.register_hook(lambda grad: grad * 0)
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        loss.backward()
        v.grad.zero_()
    return [trace.why(w), trace.why(v)]


@asks("zero", "The gradients that reach w cancel out.")
def zero_as_they_cancel(engine, w, v, x):
    return of_recording(engine, w, lambda: (x @ w).sum() - (x @ w).sum())


@asks("zero", "a backward pass brought zeros", "zero_grad(set_to_none=False), zero_() or the like")
def zeros_that_may_have_been_set(engine, w, v, x):
    loss = (x @ w).sum()
    loss.backward()
    w.grad.zero_()
    return [why(w, loss)]


# Not finite.


@asks("not finite", "y = engine.sqrt(x @ w * 0)", "slope of sqrt is infinite at 0", "sqrt may have made it: one of its")
def root_of_zero(engine, w, v, x):
    with recorded(engine) as trace:
        y = engine.sqrt(x @ w * 0)
        loss = y.sum()
        loss.backward()
    of_trace = trace.why(w)
    loss = engine.sqrt(x @ w * 0).sum()
    loss.backward(retain_graph=True)
    return [of_trace, why(w, loss)]


@asks("zero", "it only looked up the row of its padding_idx")
def only_padding(engine, w, v, x):
    layer = engine.nn.Embedding(4, 3, padding_idx=0)
    with recorded(engine) as trace:
        layer(engine.tensor([0, 0])).sum().backward()
    return [trace.why(layer.weight)]


@asks(
    "not finite",
    "The first known nan on the path is the result of the negation: its inputs are unknown.",
)
def loss_not_finite_of_what_is_freed(engine, w, v, x):
    loss = -(engine.log(x @ w * 0) * 0).sum()
    loss.backward()
    return [why(w, loss)]


@asks(
    "not finite",
    "engine.exp(x @ w * 0 + 1000)",
    "The first inf on the path comes from exp (",
    "bad, an input of the multiplication (",
)
def forward_not_finite(engine, w, v, x):
    with recorded(engine) as trace:
        big = engine.exp(x @ w * 0 + 1000)
        loss = (big / big).sum()
        loss.backward()
    of_exp = trace.why(w)
    bad = engine.tensor([float("nan"), 1.0, 2.0])
    w.grad = None
    with recorded(engine) as trace:
        loss = (x @ w * bad).sum()
        loss.backward()
    return [of_exp, trace.why(w)]


@asks("not finite", "It first happened in step 1 of 2, in the backward pass at why_cases.py:")
def not_finite_since_an_earlier_backward(engine, w, v, x):
    with recorded(engine) as trace:
        engine.sqrt(x @ w * 0).sum().backward()
        (x @ w).sum().backward()
    return [trace.why(w)]


def trained(engine, broken_in, lr=0.1):
    """Four steps of a training, in one of which the gradient of `s` is not finite."""
    net = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.Tanh(), engine.nn.Linear(4, 1))
    s, x = engine.zeros(1, requires_grad=True), engine.ones(5, 3)
    optimizer = engine.optim.SGD([*net.parameters(), s], lr=lr)
    with recorded(engine) as trace:
        for at in range(4):
            optimizer.zero_grad()
            if at == broken_in:
                loss = net(x).mean() + (s * 0).sqrt().sum()  # the cause
            else:
                loss = (net(x) * (s + 1)).mean() * 1e6
            loss.backward()
            optimizer.step()
    return trace


@asks(
    "not finite",
    " in step 3 of 4,",
    "the gradient of s in step 2 of 4.",
    "(s * 0).sqrt()",
    "then used s in step 3 of 4.",
)
def first_cause_of_a_training(engine, w, v, x):
    answer = trained(engine, 1).why("net.0.weight")
    assert len(answer.sentences) == 5 and "made `s` not finite" in answer.sentences[4]
    assert [box.title for box in answer.show().storyboard.at().boxes.values() if box.state == "error"]
    return [answer]


@asks("not finite", " in step 2 of 4,", "SGD.step() at why_cases.py:", ", in step 1. Its gradient was finite.")
def first_cause_is_an_update(engine, w, v, x):
    return [trained(engine, None, 1e38).why("net.0.weight")]


# Sums.


@asks(
    "sum",
    "sum of 2 backward passes",
    ": 2 times at why_cases.py:",
    "Gradients accumulate across updates: w is updated",
    "Call optimizer.zero_grad() once per update, before its first",
)
def sum_with_a_step_between(engine, w, v, x):
    optimizer = engine.optim.SGD([w], lr=0.1)
    with recorded(engine) as trace:
        for _ in range(2):
            loss = (x @ w).sum()
            loss.backward()
            optimizer.step()
    return [trace.why(w)]


@asks(
    "there",
    "To count each backward pass alone, set w.grad = None before it, or call zero_grad()",
    "It came from the backward pass at why_cases.py:",
)
def accumulated_or_cleared(engine, w, v, x):
    optimizer = engine.optim.SGD([w], lr=0.1)
    with recorded(engine) as trace:
        (x @ w).sum().backward()
        (x @ w).mean().backward()
    accumulated = trace.why(w)
    assert accumulated.verdict == "sum"
    with recorded(engine) as trace:
        for _ in range(2):
            optimizer.zero_grad()
            loss = (x @ w).sum()
            loss.backward()
            optimizer.step()
    return [accumulated, trace.why(w)]


@asks("sum", "which was there before the recording")
def gradient_from_before(engine, w, v, x):
    (x @ w).sum().backward()
    return of_recording(engine, w, lambda: (x @ w).sum())


@asks("there", "2 operations use w, and their gradients add up: ")
def several_uses(engine, w, v, x):
    return of_recording(engine, w, lambda: (x @ w).sum() + (w * 2).sum())


# What became of it.


@asks(
    "none",
    "it was cleared at why_cases.py:",
    "cleared after the recording",
    "as autograd.grad() does",
    "only asked for the gradients of w.",
)
def cleared_captured_and_left_out(engine, w, v, x):
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        loss.backward()
        w.grad = None
    v.grad = None
    answers = [trace.why(w), trace.why(v)]
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        engine.autograd.grad(loss, [w])
    return [*answers, trace.why(w), trace.why(v)]


@asks(
    "none",
    "received a gradient and passed on None",
    "failed at ",
    "broken word",
    "wo…",
)
def functions_that_return_none_or_fail(engine, w, v, x):
    broken = raising(RuntimeError("broken " + 100 * "word " + "\nHint"))
    answers = []
    for name, backward in (("Half", lambda ctx, grad: None), ("Broken", broken)):
        with contextlib.suppress(RuntimeError), recorded(engine) as trace:
            own = function(engine, lambda ctx, a: a * 1, backward, name=name)
            loss = own.apply(x @ w).sum()
            loss.backward()
        answers.append(trace.why(w))
    assert trace.findings()[0].sentence.endswith("wo…")
    return answers


@asks("there", "It came from", "the last one, didn't lead to it.", "The graph of loss itself doesn't lead to v.")
def several_backwards(engine, w, v, x):
    with recorded(engine) as trace:
        loss = (x @ w).sum()
        loss.backward()
        other = (v * 2).sum()
        other.backward()
    return [trace.why(w), trace.why(v, loss)]


@asks("none", "No backward pass was recorded.", "No backward pass of loss was recorded.")
def nothing_recorded(engine, w, v, x):
    with recorded(engine) as trace:
        x = x + 1
    nothing = trace.why(w)
    with recorded(engine) as trace:
        loss = (x @ w).sum()
    return [nothing, trace.why(w, loss)]


@asks("none", "there's no path from loss to first.bias", "no_grad()")
def cut_of_several_tensors(engine, w, v, x):
    """Of a result of several tensors the trace knows one way that is cut."""
    x, first = x.clone().requires_grad_(), engine.nn.Linear(3, 3)
    with recorded(engine) as trace:
        with engine.no_grad():
            h = first(x)
        loss = (h * v).sum()
        loss.backward()
    return [trace.why(first.bias)]


@asks("there", "A checkpoint on the path reruns its forward during backward")
def hidden_by_a_checkpoint(engine, w, v, x):
    layer, x = engine.nn.Linear(3, 3), engine.ones(2, 3, requires_grad=True)
    with recorded(engine) as trace:
        loss = engine.utils.checkpoint.checkpoint(layer, x, use_reentrant=True).sum()
        before = why(layer.weight, loss)
        loss.backward()
    return [before, trace.why(layer.weight)]
