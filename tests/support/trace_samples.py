"""Programs whose traces the tests look at: each runs in a recording and returns its trace."""

from __future__ import annotations

import sys

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.recorder import Recorder


class Square(torch.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class Halved(Square):
    """A square whose backward forgets the factor 2."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x * grad


class Split(torch.Function):
    """Two outputs, the second without a gradient; missing gradients come as None."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.set_materialize_grads(False)
        order = x.argsort()
        ctx.mark_non_differentiable(order)
        return x * factor, order

    @staticmethod
    def backward(ctx, grad, _):
        return grad, None


def leaf(*values: float):
    """A float64 leaf that requires grad; a number alone makes a 0-d one, and no number two."""
    values = values or (1.0, 2.0)
    return torch.tensor(values[0] if len(values) == 1 else list(values), dtype=torch.float64, requires_grad=True)


def square_line() -> Trace:
    """A custom Function, a product, a constant, a sum, and the backward."""
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        w = leaf(2.0, 2.0, 2.0)
        b = torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64)
        y = Square.apply(x)
        z = y * w + b
        loss = z.sum()
        loss.backward()
    return trace


def twice() -> Trace:
    """A tensor used twice, and two backwards through one graph."""
    with record() as trace:
        c = leaf(2.0)
        e = c * c
        e.backward(retain_graph=True)
        e.backward()
    return trace


def double_backward() -> Trace:
    """The backward's own graph, and a backward through it."""
    with record() as trace:
        x = leaf(3.0)
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward()
    return trace


def written() -> Trace:
    """A saved tensor is written in place; the backward refuses."""
    trace = None
    try:
        with record() as trace:
            x = leaf(1.0, 2.0)
            y = x * 2
            z = y * y
            y.add_(1)
            z.sum().backward()
    except RuntimeError:
        pass
    return trace


def two_outputs() -> Trace:
    """A Function of two outputs, one of them a constant for what comes after."""
    with record() as trace:
        a = leaf(3.0, 1.0)
        p, q = Split.apply(a, 5)
        s = (p * q).sum()
        s.backward()
    return trace


def descent() -> Trace:
    """Two steps of gradient descent, the gradient cleared between them."""
    with record() as trace:
        w = leaf(3.0)
        loss = w * w
        loss.backward()
        with torch.no_grad():
            w -= 0.25 * w.grad
        w.grad = None
        loss = w * w
        loss.backward()
        with torch.no_grad():
            w -= 0.25 * w.grad
        w.grad = None
    return trace


def one_target() -> Trace:
    """Only one of two gradients is asked for, and it is not finite."""
    with record() as trace:
        a = leaf(0.0, 1.0)
        b = leaf(1.0, 1.0)
        s = (a.log() * b).sum()
        torch.autograd.grad(s, [b])
    return trace


def from_before() -> Trace:
    """The graph was made before anybody listened."""
    x = leaf(1.0, 2.0)
    h = Square.apply(x)
    loss = (h * 3).sum()
    with record() as trace:
        loss.backward()
    return trace


PROGRAMS = (square_line, twice, double_backward, written, two_outputs, descent, one_target, from_before)


def kinds(trace):
    """The names of a trace's events, in order."""
    return [type(event).__name__ for event in trace.events]


def of_kind(trace, kind):
    """A trace's events of one kind."""
    return [event for event in trace.events if type(event).__name__ == kind]


def nodes_of(tensor):
    """Every node behind a tensor."""
    found, todo = [], [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.append(node)
            todo += [parent for parent, _ in node.next_functions]
    return found


def graph_of(tensor):
    """The trace of a tensor's graph, as show() makes it."""
    recorder = Recorder()
    recorder.show(tensor, sys._getframe(1))
    return Trace(recorder)
