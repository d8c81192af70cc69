"""The version check (rows 2.x of the semantics), each program under both engines."""

from __future__ import annotations

import pytest
from functions import function, leaf, saved
from oracle import entries, keeping, raised


@pytest.mark.parametrize("several", [False, True])
def test_2_1_checked_at_each_read_and_never_otherwise(torch, several):
    told, saves = [], (lambda x, out: (x, out)) if several else True
    for backward in (lambda ctx, g: g * ctx.saved_tensors[0], lambda ctx, g: g):
        y = (leaf(torch) * 1).add_(1)
        result = function(torch, lambda ctx, x: x * 2, backward, saves=saves).apply(y)
        told.append(result.grad_fn.saved_tensors)
        with torch.no_grad():
            y.add_(1)
        told.append(raised(lambda node=result.grad_fn: node.saved_tensors))
        told.append(raised(result.sum().backward))
    return told


def test_2_2_the_text(torch):
    y = leaf(torch, dtype="float64") * 2
    z = y.sin()
    y.add_(1)
    z.sum().backward()


MADE = entries("""
x | x.sum() | x.double()[None] | x * 2 | x.exp() | A @ A | bump(x) | bump(x).reshape(2, 1) | pair(x)[1] | A[0]
x.max(0)[0] | x - 1 | 1 - x | x ** 2 | x ** x | A.sum(0) | x.clamp(0, 1) | torch.cat([x, x])
x.detach().requires_grad_()
""")


@pytest.mark.parametrize("made", MADE)
def test_2_3_the_parts_of_the_text(torch, made):
    bump = function(torch, lambda ctx, x: x + 1, lambda ctx, g: g, name="Bump").apply
    pair = function(torch, lambda ctx, x: (x + 1, x + 2), lambda ctx, g, h: g + h, name="Pair").apply
    A = torch.ones(2, 2, requires_grad=True)
    y = eval(made, {"torch": torch, "x": leaf(torch), "A": A, "bump": bump, "pair": pair})
    z = y.sin()
    with torch.no_grad():
        y.add_(1)
    z.sum().backward()


@pytest.mark.parametrize("made", ["x.exp()", "x.sqrt()", "x.tanh()", "x.sigmoid()", "x.relu()", "Exp(x)[0]"])
def test_2_3_a_saved_output(torch, made):
    slope = saved(lambda g, h, result: g * result + h)
    Exp = function(torch, lambda ctx, x: (x.exp(), x * 2), slope, saves=lambda x, out: out[:1]).apply
    y = eval(made, {"x": leaf(torch), "Exp": Exp})
    with torch.no_grad():
        y.zero_()
    y.sum().backward()


def test_2_4_under_anomaly_mode(torch):
    told, x = [], leaf(torch)
    for custom in (True, False):
        y = x + 1
        out = keeping(torch, lambda ctx, x, r: (x,)).apply(y) if custom else y.sin()
        y.mul_(2)
        with torch.autograd.set_detect_anomaly(True):
            told.append(raised(torch.autograd.grad, out.sum(), x))
        told.append(raised(torch.autograd.grad, out.sum(), x))
    return told


WRITES = entries("""
t.add_(1) | t.sub_(other) | t.mul_(2) | t.div_(other) | t.pow_(2) | t.zero_() | t.fill_(3.0) | t.copy_(other) | t.exp_()
t.neg_() | t.sqrt_() | t.relu_() | t.clamp_(0, 1) | t.index_add_(0, torch.tensor([1]), other[:1])
t.__setitem__(0, 5.0) | t.__setitem__(slice(None), other) | t.__iadd__(1) | t.__imul__(other)
""")


@pytest.mark.parametrize("write", WRITES)
def test_2_5_what_counts_as_a_write(torch, write):
    def written(t):
        return eval(write, {"torch": torch, "t": t, "other": torch.tensor([0.5, 2.0])}) is t, t, t._version

    x = leaf(torch, 1.0, 4.0)
    told = [written(x.detach().clone()), written(x * 1)]
    with torch.no_grad():
        return told, written(x)


def test_2_6_who_shares_the_counter(torch):
    x = torch.ones(2, 3)
    views = [x.view(6), x[0], x[:, 1:], x.T, x.reshape(3, 2), x.unsqueeze(0), x.expand(2, 2, 3), x.detach(), x[0][1:]]
    others = [x.data, x.clone(), x * 1, x.T.reshape(6), x[[0]], x.float().double(), x.contiguous().exp()]
    x.add_(1)
    first = [t._version for t in (x, *views, *others)]
    views[0].mul_(2)
    views[-1].zero_()
    return first, [t._version for t in (x, *views, *others)]


def test_2_6_data_keeps_its_own_counter(torch):
    x, y = torch.ones(2), torch.zeros(2)
    x.add_(1)
    y.add_(1).add_(1)
    x.data = y
    first = x._version, y._version, x
    x.add_(1)
    return first, x._version, y._version, y


def test_2_8_increment_version(torch):
    increment, x = torch.autograd.graph.increment_version, leaf(torch)
    y = x * 1
    view, out = y[0], y.sin()
    told = [increment(y), y._version, view._version, increment([y, view]), y._version, increment(x), x._version]
    told += [raised(out.sum().backward), raised(increment, 3), raised(increment, [x, 3]), x._version]
    return told, increment(iter([x])), x._version


def test_2_9_a_write_inside_backward_and_a_second_read(torch):
    def backward(ctx, g):
        ctx.saved_tensors[0].detach().add_(1)
        return g * ctx.saved_tensors[0]

    keeping(torch, lambda ctx, x, r: (x,), backward).apply(leaf(torch)).sum().backward()


ONE = entries("""
exp(a) | relu(a) | tanh(a) | sigmoid(a) | sqrt(a) | sin(a) | cos(a) | log(a) | abs(a) | a.pow(2) | sum(a) | a.mean()
a.reshape(2, 1) | neg(a) | clone(a) | a * 3 | a / 3 | 3 / a | a + 1 | a.clamp(0, 1) | a[0] | a.max() | a.max(0)[0]
a.sort()[0] | a.reciprocal()
""")
TWO = entries(
    "mul(a, b) | add(a, b) | sub(a, b) | div(a, b) | maximum(a, b) | dot(a, b) | cat([a, b]) | where(a > 0, a, b)"
)
NEEDS = (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("how", "needs"), [*[(how, (True,)) for how in ONE], *[(how, needs) for how in TWO for needs in NEEDS]]
)
def test_2_11_what_built_in_operations_save(torch, how, needs):
    told = []
    for written in range(len(needs) + 1):
        values = [torch.tensor([0.5, 2.0], requires_grad=needed) * 1 for needed in needs]
        out = eval(how, vars(torch) | dict(zip("ab", values, strict=False)))
        with torch.no_grad():
            [*values, out][written].mul_(2)
        told.append(raised(out.sum().backward) == "nothing was raised")
    return told


def test_a_write_into_what_a_node_saved_of_its_result_is_counted(torch):
    x, seen = torch.ones(2, requires_grad=True), []
    for write in ("t.detach().add_(1)", "t.data.add_(1)", "t.mul_(2)", "t[:1].detach().zero_()"):
        y = x.exp()
        saved = y.grad_fn._saved_result
        eval(write, {"t": saved})
        seen.append((y._version, saved._version, saved is y, raised(torch.autograd.grad, y.sum(), x)[1][:60]))
        with torch.no_grad():
            y.zero_()
        seen.append((y._version, saved._version))
    base = torch.ones(3, requires_grad=True) * 1
    part = base[:2].exp()
    saved = part.grad_fn._saved_result
    with torch.no_grad():
        part.zero_()
    return seen, saved, saved._version
