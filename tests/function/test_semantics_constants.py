"""mark_non_differentiable and set_materialize_grads (rows 5.x and 6.x of the semantics), under both engines."""

from __future__ import annotations

from typing import Any

from oracle import raised, same


def marking(torch: Any, mark: Any, forward: Any = None, materialize: Any = None) -> type:
    """A Function of two outputs, of which `mark(ctx, x, outputs)` says something; it shows the gradients it gets."""

    class Marks(torch.autograd.Function):
        seen: list[Any] = []

        @staticmethod
        def forward(ctx, x):
            outputs = (x * 2, x * 3) if forward is None else forward(x)
            if materialize is not None:
                ctx.set_materialize_grads(materialize)
            mark(ctx, x, outputs)
            return outputs

        @staticmethod
        def backward(ctx, *grads):
            Marks.seen.append(grads)
            return sum(g for g in grads if g is not None and g.dtype == torch.float32) * 1.0

    return Marks


def second(ctx, x, outputs):
    """Mark the second output."""
    ctx.mark_non_differentiable(outputs[1])


@same
def test_5_1_a_marked_output_is_a_constant(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, constant = marking(torch, second).apply(x)
    z = constant * x
    (y + z).sum().backward()
    return y, constant, constant.is_leaf, constant.output_nr, z.grad_fn.next_functions[0], x.grad


@same
def test_5_2_it_gets_zeros_of_its_shape_and_dtype(torch: Any) -> None:
    def forward(x):
        return x * 2, (x * 3).double()[:1], x.long(), x > 1

    def mark(ctx, x, outputs):
        ctx.mark_non_differentiable(*outputs[1:])

    told = []
    for materialize in (None, True, False):
        F = marking(torch, mark, forward, materialize)
        F.apply(torch.tensor([1.0, 2.0], requires_grad=True))[0].sum().backward()
        told.append(F.seen)
    return told


@same
def test_5_3_integers_and_masks_never_require_grad(torch: Any) -> None:
    F = marking(torch, lambda *_: None, lambda x: (x * 2, x.argsort(), x > 1, x.int()))
    outputs = F.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    outputs[0].sum().backward()
    return outputs, [o.output_nr for o in outputs], F.seen


@same
def test_5_4_all_marked_is_no_node(torch: Any) -> None:
    F = marking(torch, lambda ctx, x, outputs: ctx.mark_non_differentiable(*outputs))
    a, b = F.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    return a, b, raised(a.sum().backward), raised(torch.autograd.grad, a.sum() + b.sum(), a)


@same
def test_5_5_the_second_call_replaces_the_first(torch: Any) -> None:
    def mark(ctx, x, outputs):
        ctx.mark_non_differentiable(*outputs)
        ctx.mark_non_differentiable(outputs[0])

    return marking(torch, mark).apply(torch.tensor([1.0, 2.0], requires_grad=True))


@same
def test_5_6_what_is_no_tensor(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return [
        raised(marking(torch, lambda ctx, x, outputs, what=what: ctx.mark_non_differentiable(*what)).apply, t)
        for what in ((3,), (None,), ([x],), (x, "a"), ())
        for t in (x, x.detach())
    ]


@same
def test_5_7_a_marked_tensor_that_is_not_returned(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    F = marking(torch, lambda ctx, x, outputs: ctx.mark_non_differentiable(x * 2))
    y, z = F.apply(x)
    (y + z).sum().backward()
    return y, z, x.grad


@same
def test_5_8_a_marked_input_that_is_returned(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    F = marking(torch, lambda ctx, x, outputs: ctx.mark_non_differentiable(x), lambda x: (x * 2, x))
    y, alias = F.apply(x)
    facts = alias is x, alias, alias._base is None, x.requires_grad
    y.sum().backward()
    return facts, F.seen, x.grad


@same
def test_5_9_a_marked_view_of_an_input(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    F = marking(torch, second, lambda x: (x * 2, x[:1]))
    _, view = F.apply(x)
    return view.requires_grad, view.is_leaf, view._base is x


@same
def test_6_1_missing_gradients_become_zeros(torch: Any) -> None:
    def forward(x):
        return x * 2, (x * 3).double().reshape(2, 1)

    told = []
    for create_graph in (False, True):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        F = marking(torch, lambda *_: None, forward)
        torch.autograd.grad(F.apply(x)[0].sum(), x, create_graph=create_graph)
        told.append(F.seen)
    return told


@same
def test_6_2_or_stay_none(torch: Any) -> None:
    F = marking(torch, lambda *_: None, materialize=False)
    F.apply(torch.tensor([1.0, 2.0], requires_grad=True))[1].sum().backward()
    return F.seen


@same
def test_6_3_the_last_call_wins_also_in_setup_context(torch: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            for value in calls:
                ctx.set_materialize_grads(value)

        @staticmethod
        def backward(ctx, g, h):
            seen.append((g, h))
            return g

    seen: list[Any] = []
    for calls in ((True, False), (False, True), (False, False, True), ()):  # noqa: B007  setup_context reads it
        F.apply(torch.tensor([1.0, 2.0], requires_grad=True))[0].sum().backward()
    return seen


@same
def test_6_4_what_is_no_bool(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    values = (1, 0.0, "no", None, x)
    return [
        raised(marking(torch, lambda ctx, *_, v=v: ctx.set_materialize_grads(v)).apply, t)
        for v in values
        for t in (x, x.detach())
    ]


@same
def test_6_5_it_cannot_be_read(torch: Any) -> None:
    told = []
    F = marking(torch, lambda ctx, *_: told.append(raised(lambda: ctx.materialize_grads)[0]), materialize=False)
    F.apply(torch.tensor([1.0, 2.0], requires_grad=True))
    return told


@same
def test_6_6_outputs_that_are_no_tensors_always_get_none(torch: Any) -> None:
    told = []
    for materialize in (True, False):
        F = marking(torch, lambda *_: None, lambda x: (3, x * 2, None, "text", [x]), materialize)
        outputs = F.apply(torch.tensor([1.0, 2.0], requires_grad=True))
        outputs[1].sum().backward()
        told.append((outputs[0], outputs[2:4], outputs[1].output_nr, F.seen))
    return told


@same
def test_6_7_an_undefined_gradient_from_downstream(torch: Any) -> None:
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    told = []
    for materialize in (True, False):
        x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
        F = marking(torch, lambda *_: None, lambda x: (x * 2,), materialize)
        (middle,) = F.apply(x)
        Stop.apply((middle * 3).exp() + y * 1).sum().backward() if materialize else None
        told.append((F.seen, x.grad, y.grad))
    leaf = torch.tensor([1.0], requires_grad=True)
    Stop.apply(leaf.exp() * 2).backward()
    return told, leaf.grad


@same
def test_6_7_none_is_handed_through_when_nothing_is_materialised(torch: Any) -> None:
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    class Shows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(g)
            return g

    seen: list[Any] = []
    x = torch.tensor([1.0], requires_grad=True)
    Stop.apply(Shows.apply(x).exp()).backward()
    return seen, x.grad


@same
def test_5_10_zeros_for_constants_can_be_switched_off(torch: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, several):
            ctx._materialize_non_diff_grads = False
            order = x.argsort()
            if several:
                ctx.mark_non_differentiable(order)
            return (x * 2, order, x * 3, x > 0, 5) if several else x * 2

        @staticmethod
        def backward(ctx, *grads):
            seen.append(grads)
            return sum(g for g in grads if g is not None), None

    seen: list[Any] = []
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    F.apply(x, True)[0].sum().backward()
    F.apply(x, False).sum().backward()
    Stop = type("Stop", (torch.autograd.Function,), {"forward": lambda ctx, x: x * 1, "backward": lambda ctx, g: None})
    Stop.apply(F.apply(x, False)).sum().backward()
    return seen, x.grad


@same
def test_6_8_hooks_see_none_before_zeros_are_made(torch: Any) -> None:
    told = []
    for materialize in (True, False):
        F = marking(torch, lambda *_: None, None, materialize)
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        first, _ = F.apply(x)
        seen: list[Any] = []
        first.grad_fn.register_prehook(lambda grads, seen=seen: seen.append(("pre", grads)))
        first.grad_fn.register_hook(lambda ins, outs, seen=seen: seen.append(("post", ins, outs)))
        first.sum().backward()
        told.append((seen, F.seen, x.grad))
    return told
