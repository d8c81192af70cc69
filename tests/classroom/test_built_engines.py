"""The engines that are built in four sittings: each against the workbench, and in what it refuses."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engines import engine
from lab import CHECKOUT

import workbench

TENSORS = [engine(stage) for stage in (2, 3, 4)]
WRITING = TENSORS[1:]
LAST = TENSORS[-1]


def named(engines: list[Any]) -> Any:
    return pytest.mark.parametrize("torch", engines, ids=lambda each: each.__name__)


# Of matrices x (2, 3) and w (3, 2), a row b (2) and a number c; each is written for both engines.
PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "a layer": lambda x, w, b, c: ((x @ w + b) * c).tanh().mean(),
    "every operator": lambda x, w, b, c: ((x.sum(0) - 2) / (1 + b.exp().sum()) * -c + 3 - 1 / c).sum(),
    "used twice": lambda x, w, b, c: (b * b + 3 * b - b / (b * b + 1)).sum(),
    "broadcast both ways": lambda x, w, b, c: (x.sum(1, True) * b * c).sum(),
    "powers": lambda x, w, b, c: ((x**2).mean() + (x * x + 1) ** 0.5).sum(),
    "logarithms": lambda x, w, b, c: (x * x + w.sum() * w.sum() + 1).log().sum(),
    "relu": lambda x, w, b, c: ((x @ w).relu() * b).sum(),
    "shapes": lambda x, w, b, c: (x.reshape(3, 2) * w).sum() * c + (x.T @ x).sum() + b.expand(3, 2).exp().mean(),
    "nothing for some": lambda x, w, b, c: (w * w.detach()).sum(),
}


def values() -> list[np.ndarray]:
    draws = np.random.default_rng(3)
    return [draws.normal(size=shape) for shape in ((2, 3), (3, 2), (2,), ())]


def gradients(torch: Any, program: Callable[..., Any], given: list[np.ndarray]) -> list[Any]:
    leaves = [torch.tensor(each.copy(), requires_grad=True) for each in given]
    program(*leaves).backward()
    return [None if each.grad is None else np.array(each.grad.numpy()) for each in leaves]


# What they compute.


@named(TENSORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_workbench(torch: Any, name: str) -> None:
    mine, reference = (gradients(each, PROGRAMS[name], values()) for each in (torch, workbench))
    for own, other in zip(mine, reference, strict=True):
        assert (own is None) == (other is None)
        if own is not None:
            np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-12)
            assert own.shape == other.shape and own.dtype == other.dtype


@named(TENSORS)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("every operator", "broadcast both ways")])
def test_the_nodes_are_called_as_in_pytorch(torch: Any, name: str) -> None:
    def names(kind: Any) -> list[str]:
        leaves = [kind.tensor(each.astype(np.float32), requires_grad=True) for each in values()]
        node, found, todo = PROGRAMS[name](*leaves).grad_fn, set(), []
        todo.append(node)
        while todo:
            at = todo.pop()
            if at is not None and at not in found:
                found.add(at)
                todo += at.edges if hasattr(at, "shapes") else [to for to, _ in getattr(at, "next_functions", ())]
        return sorted({each.name().rpartition("::")[2] for each in found if hasattr(each, "name")})

    shapes = {"ViewBackward0", "TBackward0", "PermuteBackward0", "ExpandBackward0", "UnsafeViewBackward0"}
    assert {*names(torch)} - shapes == {*names(workbench)} - shapes


def test_numbers_have_the_gradients_of_the_workbench() -> None:
    value = engine(1).Value
    programs: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a * a + 3 * a,
        lambda a, b: (a * b + 4 * a - b / a) ** 2,
        lambda a, b: (2 - a) * (1 / b) - -a,
        lambda a, b: (a * b).exp().tanh() + a.tanh() * (b + 1) ** 3,
    ]
    for program in programs:
        a, b = value(0.5, True), value(-1.5, True)
        one, two = (workbench.tensor(x, requires_grad=True, dtype=workbench.float64) for x in (0.5, -1.5))
        out, expected = program(a, b), program(one, two)
        out.backward()
        expected.backward()
        assert out.data == pytest.approx(expected.item())
        for own, other in ((a, one), (b, two)):
            assert (own.grad is None) == (other.grad is None)
            assert own.grad is None or own.grad == pytest.approx(other.grad.item())


def test_a_node_runs_once_when_all_has_arrived_and_the_newest_first() -> None:
    one = engine(1)
    ran: list[str] = []
    run = one.Node.run
    one.Node.run = lambda self, grad: ran.append(self.name()) or run(self, grad)
    a = one.Value(2.0, True)
    b = a * a
    c = b.exp()
    d = b + c
    (d * b).backward()
    assert ran == ["MulBackward0", "AddBackward0", "ExpBackward0", "MulBackward0"]
    assert a.grad == pytest.approx(2 * (2 * 4 + math.exp(4) * 4 + math.exp(4)) * 2)


@named([engine(1)])
def test_a_part_of_an_engine_can_be_replaced_by_another(torch: Any) -> None:
    def count(root: Any) -> dict[Any, int]:
        called.append(root)
        return original(root)

    called: list[Any] = []
    original, torch.count_arrivals = torch.count_arrivals, count
    a = torch.Value(3.0, True)
    (a * a).backward()
    assert len(called) == 1 and a.grad == 6


@named(TENSORS)
def test_gradients_add_up_until_somebody_clears_them(torch: Any) -> None:
    w = torch.tensor(2.0, requires_grad=True)
    for _ in range(3):
        (w * 4).backward()
    assert w.grad.item() == 12
    w.grad = None
    (w * w).backward(torch.tensor(10.0))
    assert w.grad.item() == 40


@named(TENSORS)
def test_where_history_stops(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        quiet = a * 2
        with torch.enable_grad():
            loud = a * 2
    assert torch.is_grad_enabled()
    assert quiet.grad_fn is None and not quiet.requires_grad and loud.requires_grad
    cut = (a * 2).detach()
    assert cut.is_leaf and not cut.requires_grad
    ((a * 3).detach() * a).sum().backward()
    assert a.grad.tolist() == [3, 6]


@named(TENSORS)
def test_what_python_gives_is_single_precision_and_numpy_keeps_its_own(torch: Any) -> None:
    assert torch.tensor([1.0]).dtype == np.float32 and torch.tensor(np.ones(1)).dtype == np.float64
    assert torch.tensor([1, 2]).dtype == np.int64 and (torch.tensor(2.0) * 3).dtype == np.float32
    assert (3 / torch.tensor(np.ones(1))).dtype == np.float64
    assert torch.ones(2, 3).shape == (2, 3) and torch.zeros(2, requires_grad=True).requires_grad


@named(TENSORS)
def test_what_is_printed(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    assert repr(a) == "tensor([1., 2.], requires_grad=True)" and repr(a.detach()) == "tensor([1., 2.])"
    assert repr(a * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert len(a) == 2 and a.dim() == 1 and a.tolist() == [1, 2]


# Functions.


def cube_of(torch: Any) -> Any:
    class Cube(torch.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, times: float = 1.0) -> Any:
            ctx.save_for_backward(x)
            ctx.times = times
            return torch.Tensor(times * x.data**3)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * ctx.times * x * x, None

        @staticmethod
        def jvp(ctx: Any, tangent: Any, *rest: Any) -> Any:
            return 3 * ctx.times * ctx.inputs[0] ** 2 * tangent

    return Cube


@named(TENSORS)
def test_a_function_of_ones_own(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = cube_of(torch).apply(x, 2.0)
    assert y.grad_fn.name() == "CubeBackward" and y.grad_fn.needs_input_grad == (True, False)
    y.sum().backward()
    assert y.tolist() == [2, 16] and x.grad.tolist() == [6, 24]
    same = type("Same", (torch.Function,), {"forward": lambda ctx, x: x, "backward": lambda ctx, grad: grad * 5})
    x.grad = None
    same.apply(x).sum().backward()
    assert x.grad.tolist() == [5, 5] and x.grad_fn is None


@named(TENSORS)
def test_a_backward_that_gives_too_little_or_another_shape_is_refused(torch: Any) -> None:
    def function(backward: Callable[..., Any]) -> Any:
        return type("Odd", (torch.Function,), {"forward": lambda ctx, a, b: a * b, "backward": backward})

    a, b = (torch.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
    for backward, said in (
        (lambda ctx, grad: grad, "incorrect number of gradients (expected 2, got 1)"),
        (lambda ctx, grad: (grad, torch.ones(7)), "at index 1 - got [7] but expected shape compatible with [3]"),
        (lambda ctx, grad: (torch.ones(1), grad), "at index 0 - got [1] but expected shape compatible with [3]"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(said)):
            function(backward).apply(a, b).sum().backward()
    function(lambda ctx, grad: (torch.ones(4, 3), None)).apply(a, b).sum().backward()
    assert a.grad.tolist() == [4, 4, 4] and b.grad is None  # the engine sums; None is no gradient


@named(TENSORS)
def test_what_cannot_be_asked_is_an_error_in_pytorchs_words(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (a * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        a.detach().sum().backward()
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


# What is saved, freed and written.


@named(WRITING)
def test_a_second_backward_needs_what_the_first_has_freed(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (a * a).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert a.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    plain = (a + 1).sum()  # has saved nothing
    plain.backward()
    plain.backward()


@named(WRITING)
def test_writing_over_what_is_saved_is_found_by_its_version(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.exp()
    loss = y.sum()
    y += 1
    assert y._version == 1
    with pytest.raises(RuntimeError, match=r"\[2\]\], which is output 0 of AddBackward0, is at version 1; expected"):
        loss.backward()
    y, x = a * 1, torch.tensor([1.0, 1.0])
    z = y * x
    x[0] = 5.0  # through a view
    with pytest.raises(RuntimeError, match="output 0 of nothing, is at version 1; expected version 0 instead"):
        z.sum().backward()
    y.detach().zero_()  # the same memory, the same version
    assert y._version == 1 and y.tolist() == [0, 0]


@named(WRITING)
def test_a_leaf_that_gets_a_gradient_is_not_written(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place"):
        a += 1
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used"):
        a[0] = 1.0
    with torch.no_grad():
        a -= 1
    assert a.tolist() == [0, 1] and a.is_leaf
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        (a * 1).add_(torch.ones(3, 2))


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "twice": lambda a, b: (a * 1).mul_(b).add_(a),
    "a product of itself": lambda a, b: (a * 1).mul_(b).mul_(b),
    "an element": lambda a, b: _set(a * 1, 1, b[0] * a[2]),
    "a slice": lambda a, b: _set(a * b, slice(1, None), a[:2] * 3),
    "a constant over history": lambda a, b: _set(a * b, 0, 5.0),
    "history over a constant": lambda a, b: _set(a.detach().clone(), 2, b[1]),
    "through a view that is kept": lambda a, b: _kept_view(a * 1, b),
    "a view of a base that was written": lambda a, b: _late_view(a * 1, b),
    "rows of a transposed view": lambda a, b: _rows(a, b),
    "zeros": lambda a, b: (a * 2).zero_() + a,
    "a view of a view": lambda a, b: _set((a * 1).view(3, 1), (slice(1, 3), 0), b[1:]),
}


def _set(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def _kept_view(x: Any, b: Any) -> Any:
    view = x[1:]
    view *= b[1:]
    return (view * view).sum() + x.sum()


def _late_view(x: Any, b: Any) -> Any:
    view = x[1:]
    x *= b
    return view * 2


def _rows(a: Any, b: Any) -> Any:
    whole = (a * 1).view(1, 3).T * b.view(1, 3)  # (3, 3)
    turned = whole.T
    turned[0] = a * 7
    turned[1, 2:] = b[0]
    return whole * whole


@named(WRITING)
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_has_the_history_of_the_workbench(torch: Any, name: str) -> None:
    def both(kind: Any) -> list[Any]:
        leaves = [kind.tensor(np.array(each), requires_grad=True) for each in ([1.0, -2.0, 3.0], [0.5, 4.0, -1.0])]
        out = WRITES[name](*leaves)
        out.sum().backward()
        return [out.tolist(), *[None if each.grad is None else each.grad.tolist() for each in leaves]]

    own, reference = both(torch), both(workbench)
    for mine, other in zip(own, reference, strict=True):
        assert (mine is None) == (other is None) or not np.any(np.array(mine or other))
        if mine is not None and other is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-12)


@named(WRITING)
def test_a_view_shares_memory_and_version(torch: Any) -> None:
    x = torch.tensor(np.arange(6.0).reshape(2, 3))
    for view in (x[0], x[:, 1:], x.T, x.view(6), x[1, 2], x.reshape(3, 2)):
        assert view._base is x and np.shares_memory(view.data, x.data)
        before = x._version
        view.add_(1)
        assert x._version == view._version == before + 1
    copy = x.T.reshape(6)
    assert not np.shares_memory(copy.data, x.data)
    with pytest.raises(RuntimeError, match="use .reshape"):
        x.T.view(6)
    assert x[0][1:]._base is x and [each.tolist() for each in x] == x.tolist()


@named(WRITING)
def test_a_write_into_a_view_gives_the_base_a_node(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = a * 1
    view = x[1:]
    node = view.grad_fn
    view *= 2
    assert x.grad_fn.name() == "CopySlices" and view.grad_fn is not node
    assert view.grad_fn.edges[0] is x.grad_fn


# Forward mode, and derivatives of derivatives.


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_those_of_the_workbench(name: str) -> None:
    given, program = values(), PROGRAMS[name]
    directions = [np.random.default_rng(4).normal(size=each.shape) for each in given]
    inputs, tangents = ([LAST.tensor(each) for each in several] for several in (given, directions))
    value, tangent = LAST.jvp(program, inputs, tangents)
    assert value.item() == pytest.approx(program(*inputs).item())
    if "nothing" not in name:
        theirs = workbench.func.jvp(program, *(tuple(map(workbench.tensor, each)) for each in (given, directions)))[1]
        assert tangent.item() == pytest.approx(theirs.item(), rel=1e-9)


def test_forward_mode_of_a_function_and_of_views_and_writes() -> None:
    x, t = LAST.tensor([1.0, 2.0]), LAST.tensor([1.0, 10.0])
    assert LAST.jvp(cube_of(LAST).apply, (x,), (t,))[1].tolist() == [3, 120]
    assert LAST.jvp(lambda x: x[1] * x[0], (x,), (t,))[1].item() == 12
    assert LAST.jvp(lambda x: (x * 1).mul_(x), (x,), (t,))[1].tolist() == [2, 40]
    assert LAST.jvp(lambda x: LAST.ones(2), (x,), (t,))[1].tolist() == [0, 0]
    no_jvp = type("Same", (LAST.Function,), {"forward": lambda ctx, x: x.clone()})
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        LAST.jvp(no_jvp.apply, (x,), (t,))
    assert LAST.jvp(lambda x: x * x, (x,), (t,))[1].tolist() == [2, 40]  # after the error as before


@pytest.mark.parametrize("name", [*PROGRAMS, *WRITES])
def test_second_derivatives_are_those_of_the_workbench(name: str) -> None:
    def second(kind: Any, grad: Any) -> Any:
        several = values() if name in PROGRAMS else [np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])]
        leaves = [kind.tensor(each, requires_grad=True) for each in several]
        out = {**PROGRAMS, **WRITES}[name](*leaves)
        firsts = grad(out.sum(), leaves)
        total = sum((each * each).sum() for each in firsts if each is not None)
        if not isinstance(total, int) and total.requires_grad:
            total.backward()
        return [each.grad for each in leaves]

    own = second(LAST, lambda out, leaves: LAST.grad(out, leaves, create_graph=True))
    theirs = second(
        workbench, lambda out, leaves: workbench.autograd.grad(out, leaves, create_graph=True, allow_unused=True)
    )
    for mine, other in zip(own, theirs, strict=True):
        one, two = (np.zeros(()) if each is None else np.array(each.tolist()) for each in (mine, other))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_gradients_that_are_asked_for_go_to_nobody_else() -> None:
    a, b = (LAST.tensor(2.0, requires_grad=True) for _ in range(2))
    y = a * b
    assert [each.item() for each in LAST.grad(y * y, (y, a), retain_graph=True)] == [8, 16]
    assert LAST.grad(y, b)[0].item() == 2 and a.grad is b.grad is None
    assert LAST.grad(a * 1, (b,)) == (None,)


def test_what_listeners_are_told() -> None:
    fresh = engine(4)
    told: list[Any] = []
    fresh.listeners.append(lambda kind, *facts: told.append(kind))
    a = fresh.tensor([1.0, 2.0], requires_grad=True)
    y = a * a
    y.sum().backward()
    recorded = [kind for kind in told if kind != "unrecorded"]
    assert recorded == [
        *("created", "created", "backward", "run", "ran", "run", "ran", "freed", "run", "accumulated", "ran"),
        "finished",
    ]
    told.clear()
    y.add_(1).detach()
    assert [kind for kind in told if kind != "unrecorded"] == ["writing", "created", "wrote", "shares"]


# How they are written.


def test_each_stage_keeps_what_it_does_not_change() -> None:
    """What has the same name in two stages is most often the same text: a reader sees what is new."""
    parts: list[dict[str, str]] = []
    for stage in (2, 3, 4):
        text = (CHECKOUT / "notebooks" / f"engine_{stage}.py").read_text(encoding="utf-8")
        body = ast.parse(text).body
        named = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        parts.append({node.name: ast.get_source_segment(text, node) or "" for node in named})
    for before, after in zip(parts, parts[1:], strict=False):
        assert before.keys() <= after.keys()
    same = [name for name in parts[0] if parts[0][name] == parts[1][name]]
    assert len(same) >= 25


@pytest.mark.parametrize("stage", [1, 2, 3, 4])
def test_an_engine_stands_on_numpy_alone(stage: int) -> None:
    text = (CHECKOUT / "notebooks" / f"engine_{stage}.py").read_text(encoding="utf-8")
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= {"math", "itertools", "numpy"}
