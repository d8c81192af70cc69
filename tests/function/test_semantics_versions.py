"""The version check (rows 2.x of the semantics), each program under both engines."""

from __future__ import annotations

from typing import Any

from oracle import keeping, raised, same


@same
def test_2_1_checked_at_each_read_and_never_otherwise(torch: Any) -> None:
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    told = []
    for reads in (True, False):
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        out = keeping(torch, lambda ctx, x, r: (x,), backward if reads else lambda ctx, g: g)
        if not reads:
            out.backward = staticmethod(lambda ctx, g: g)
        result = out.apply(y)
        with torch.no_grad():
            y.add_(1)
        told.append(raised(lambda node=result.grad_fn: node.saved_tensors))
        told.append(raised(result.sum().backward))
    return told


@same
def test_2_2_the_text(torch: Any) -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = x * 2
    z = y.sin()
    y.add_(1)
    z.sum().backward()


@same
def test_2_3_the_parts_of_the_text(torch: Any) -> None:
    class Bump(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1, x + 2

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    def leaf(*shape, dtype=torch.float32):
        return torch.ones(*shape, dtype=dtype, requires_grad=True)

    def written(y):
        z = y.sin()
        with torch.no_grad():
            y.add_(1)
        return z

    made = [
        leaf(2),
        leaf(()),
        leaf(2, 3, dtype=torch.float64),
        leaf(2) * 2,
        leaf(2).exp(),
        leaf(2, 2) @ leaf(2, 2),
        Bump.apply(leaf(2)),
        Bump.apply(leaf(2)).reshape(2, 1),
        Pair.apply(leaf(2))[1],
        leaf(3).sum(),
        leaf(2, 2)[0],
        leaf(2).max(0)[0],
        leaf(2) - 1,
        1 - leaf(2),
        leaf(2) ** 2,
        leaf(2) ** leaf(2),
        leaf(2, 2).sum(0),
        leaf(2).clamp(0, 1),
        torch.cat([leaf(1), leaf(1)]),
    ]
    return [raised(written(y).sum().backward) for y in made]


@same
def test_2_3_a_saved_output(torch: Any) -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g * ctx.saved_tensors[0] + h

    told = []
    for how in (lambda t: t.exp(), lambda t: t.sqrt(), lambda t: t.tanh(), lambda t: t.sigmoid(), lambda t: t.relu()):
        y = how(torch.ones(2, requires_grad=True))
        with torch.no_grad():
            y.zero_()
        told.append(raised(y.sum().backward))
    y, _ = Exp.apply(torch.ones(2, requires_grad=True))
    with torch.no_grad():
        y.mul_(2)
    return told, raised(y.sum().backward)


def writes(torch: Any) -> list[Any]:
    """Every way to write in place."""
    other = torch.tensor([0.5, 2.0])

    def item(t):
        t[0] = 5.0

    def part(t):
        t[:] = other

    def plus(t):
        t += 1

    def times(t):
        t *= other

    return [
        lambda t: t.add_(1),
        lambda t: t.sub_(other),
        lambda t: t.mul_(2),
        lambda t: t.div_(other),
        lambda t: t.pow_(2),
        lambda t: t.zero_(),
        lambda t: t.fill_(3.0),
        lambda t: t.copy_(other),
        lambda t: t.exp_(),
        lambda t: t.neg_(),
        lambda t: t.sqrt_(),
        lambda t: t.relu_(),
        lambda t: t.clamp_(0, 1),
        lambda t: t.index_add_(0, torch.tensor([1]), other[:1]),
        item,
        part,
        plus,
        times,
    ]


@same
def test_2_5_what_counts_as_a_write(torch: Any) -> None:
    told = []
    for write in writes(torch):
        plain, leaf = torch.tensor([1.0, 4.0]), torch.tensor([1.0, 4.0], requires_grad=True)
        result = leaf * 1
        write(plain)
        with torch.no_grad():
            write(leaf)
        write(result)
        told.append([(t, t._version) for t in (plain, leaf, result)])
    t = torch.ones(2)
    told.append((t.requires_grad_()._version, t.detach()._version, (t * 2)._version, t.requires_grad_(False)._version))
    return told


@same
def test_2_5_a_write_returns_the_tensor_itself(torch: Any) -> None:
    told = []
    for write in writes(torch)[:14]:
        t = torch.tensor([1.0, 4.0])
        told.append(write(t) is t)
    return told


@same
def test_2_6_who_shares_the_counter(torch: Any) -> None:
    x = torch.ones(2, 3)
    views = [x.view(6), x[0], x[:, 1:], x.T, x.reshape(3, 2), x.unsqueeze(0), x.expand(2, 2, 3), x.detach(), x[0][1:]]
    others = [x.data, x.clone(), x * 1, x.T.reshape(6), x[[0]], x.float().double(), x.contiguous().exp()]
    x.add_(1)
    first = [t._version for t in (x, *views, *others)]
    views[0].mul_(2)
    views[-1].zero_()
    return first, [t._version for t in (x, *views, *others)]


@same
def test_2_6_data_keeps_its_own_counter(torch: Any) -> None:
    x, y = torch.ones(2), torch.zeros(2)
    x.add_(1)
    y.add_(1).add_(1)
    x.data = y
    first = x._version, y._version, x
    x.add_(1)
    return first, x._version, y._version, y


@same
def test_2_6_numpy_writes_do_not_count(torch: Any) -> None:
    x = torch.ones(2)
    x.numpy()[0] = 5
    return x, x._version


@same
def test_2_7_the_counter_cannot_be_set(torch: Any) -> None:
    return raised(setattr, torch.ones(2), "_version", 3)[0]


@same
def test_2_9_a_write_inside_backward_and_a_second_read(torch: Any) -> None:
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x.detach().add_(1)
        return g * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    keeping(torch, lambda ctx, x, r: (x,), backward).apply(x).sum().backward()


@same
def test_2_11_what_built_in_operations_save(torch: Any) -> None:
    def survives(how, *requires_grad):
        xs = [torch.tensor([0.5, 2.0], requires_grad=rg) for rg in requires_grad]
        told = []
        for written in range(len(xs) + 1):
            values = [x * 1 for x in xs]
            out = how(*values)
            target = [*values, out][written]
            with torch.no_grad():
                target.mul_(2)
            told.append(raised(out.sum().backward) == "nothing was raised")
        return told

    one = [torch.exp, torch.relu, torch.tanh, torch.sigmoid, torch.sqrt, torch.sin, torch.cos, torch.log, torch.abs]
    one += [lambda t: t.pow(2), torch.sum, lambda t: t.mean(), lambda t: t.reshape(2, 1), torch.neg, torch.clone]
    one += [lambda t: t * 3, lambda t: t / 3, lambda t: 3 / t, lambda t: t + 1, lambda t: t.clamp(0, 1), lambda t: t[0]]
    one += [lambda t: t.max(), lambda t: t.max(0)[0], lambda t: t.sort()[0], lambda t: t.reciprocal()]
    two = [torch.mul, torch.add, torch.sub, torch.div, torch.maximum, torch.dot]
    two += [lambda a, b: torch.cat([a, b]), lambda a, b: torch.where(a > 0, a, b)]
    return (
        [survives(how, True) for how in one],
        [survives(how, *rg) for how in two for rg in ((True, True), (True, False), (False, True))],
    )


@same
def test_2_4_under_anomaly_mode(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    told = []
    for custom in (True, False):
        y = x + 1
        out = keeping(torch, lambda ctx, x, r: (x,)).apply(y) if custom else y.sin()
        y.mul_(2)
        with torch.autograd.set_detect_anomaly(True):
            told.append(raised(torch.autograd.grad, out.sum(), x))
        told.append(raised(torch.autograd.grad, out.sum(), x))
    return told


@same
def test_2_8_increment_version(torch: Any) -> None:
    increment = torch.autograd.graph.increment_version
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    view, out = y[0], y.sin()
    told = [increment(y), y._version, view._version, increment([y, view]), y._version, increment(x), x._version]
    return (
        told,
        raised(out.sum().backward),
        raised(increment, 3),
        raised(increment, [x, 3]),
        x._version,
        increment(iter([x])),
        x._version,
    )


@same
def test_a_write_into_what_a_node_saved_of_its_result_is_counted(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    for write in (
        lambda t: t.detach().add_(1),
        lambda t: t.data.add_(1),
        lambda t: t.mul_(2),
        lambda t: t[:1].detach().zero_(),
    ):
        y = x.exp()
        saved = y.grad_fn._saved_result
        write(saved)
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
