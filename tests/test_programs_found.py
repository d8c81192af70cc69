"""What random programs found: each a case of a row of the map, or beside one."""

from __future__ import annotations

from typing import Any

from oracle import chain, raised, same, warned


def function(torch: Any, forward: Any, backward: Any) -> Any:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (torch.autograd.Function,), members)


def facts(t: Any) -> Any:
    try:
        version = t._version
    except RuntimeError:
        version = None
    return t.is_inference(), t._is_view(), t.requires_grad, t.is_leaf, version, t.tolist()


@same
def test_3_1_a_written_input_loses_its_gradient(torch: Any) -> Any:
    bump = function(torch, lambda ctx, x: (ctx.mark_dirty(x.add_(1)), x)[1], lambda ctx, g: g)
    leaf = torch.ones(2, requires_grad=True)
    x = leaf * 1
    x.retain_grad()
    x.sum().backward()
    before, _ = x.grad, bump.apply(x)
    view = leaf[:1]
    view.retain_grad()
    view.sum().backward()
    return before, x.grad, x.retains_grad, raised(bump.apply, view), view.grad


@same
def test_4_7_a_view_once_made_in_inference_mode(torch: Any) -> Any:
    told = []
    modes = {"inference": torch.inference_mode, "no_grad": torch.no_grad, "normal": torch.enable_grad}
    for outer in modes.values():
        for inner in modes.values():
            x = torch.ones(2, 2, requires_grad=True) * 1
            with outer():
                view = x[0]
            with inner():
                of_view, one = view.view_as(view), view.unbind()[0]
            x.mul_(2)
            texts = [str(raised(lambda t=t: t.grad_fn)) for t in (view, of_view, one)]
            told += [(text.split(" view ")[0][-20:], *[name for name in modes if name in text]) for text in texts]
    return told


@same
def test_6_7_a_node_without_a_gradient_reads_what_it_saved(torch: Any) -> Any:
    stop = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None)

    def ended(spoil: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x * 1.5
        z = y.exp() * y
        end = stop.apply(z).sum()
        spoil(y, z)
        return raised(end.backward), x.grad

    return [ended(spoil) for spoil in (lambda y, z: None, lambda y, z: y.mul_(2), lambda y, z: z.sum().backward())]


@same
def test_23_11_the_gradient_of_a_view_that_came_to_require_it(torch: Any) -> Any:
    x, plain = torch.ones(2, requires_grad=True), torch.zeros(2)
    view, other = plain[:1], plain[1:]
    plain.mul_(x)
    other.grad_fn  # noqa: B018  from here on it is known where it comes from
    late = (x * 1).unbind()[0]
    return warned(lambda: view.grad), warned(lambda: other.grad), warned(lambda: late.grad)


@same
def test_23_13_a_root_that_is_alone_is_not_counted_among_several(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    z = x * 2
    torch.autograd.graph.register_multi_grad_hook([z, x, y], lambda grads: seen.append(list(grads)))
    z.backward(torch.ones(2), retain_graph=True)
    seen.append("two roots")
    torch.autograd.backward([z, y * 3], [torch.ones(2)] * 2, retain_graph=True)
    seen.append("inputs")
    z.backward(torch.ones(2), inputs=[x], retain_graph=True)
    seen.append("the leaf itself")
    x.backward(torch.ones(2))
    return seen


@same
def test_26_7_inference_tensors_outside(torch: Any) -> Any:
    as_it_is = function(torch, lambda ctx, x: x, lambda ctx, g: g)
    plain = torch.ones(2)
    with torch.inference_mode():
        x, inside = torch.ones(2), as_it_is.apply(plain)
    told: list[Any] = [raised(x.mul_, 2), x.tolist()]  # it is written all the same
    told += [raised(torch.autograd.graph.increment_version, x)]
    told += [facts(t) for t in (inside, x.data, x.detach(), x.detach().add_(1), as_it_is.apply(x))]
    with torch.inference_mode():
        told += [facts(t) for t in (x.data, x.detach(), plain.data, plain.data.add_(1), as_it_is.apply(x))]
    return told


@same
def test_26_7_a_gradient_that_came_in_inference_mode(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = (x * 3).sum()
    with torch.inference_mode():
        y.backward(retain_graph=True)
        y.backward(retain_graph=True)
    return facts(x.grad), raised(y.backward), x.grad


@same
def test_26_8_detaching_in_inference_mode_does_nothing(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    view = y[0]
    with torch.inference_mode():
        same = [t.detach_() is t for t in (x, y, view)]
    return same, x, y, view


@same
def test_2_11_a_view_that_leads_nowhere_makes_nothing_be_saved(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.no_grad():
        view = x[:]
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.tolist()), t)[1], lambda t: t):
        made = [view * (x * 5), view.exp(), torch.maximum(view, torch.ones(2))]
    return seen, [chain(t.grad_fn) for t in made]


@same
def test_4_8_elements_that_are_one_may_be_written_by_index(torch: Any) -> Any:
    told = []
    for write in (
        lambda t: t.masked_fill_(t > 9, 1.0),
        lambda t: t.__setitem__(t < 9, 2.0),
        lambda t: t.__setitem__(torch.tensor([0, 1]), 3.0),
        lambda t: t.index_put_((torch.tensor([0]),), torch.ones(3)),
        lambda t: t.__setitem__((0, slice(None)), 4.0),
    ):
        t = torch.zeros(3).expand(2, 3)
        told += [[text[:22] for _, text in warned(write, t)], t.tolist()]
    return told, raised(torch.zeros(3).expand(2, 3).add_, 1)


@same
def test_4_8_one_truth_value_is_a_mask_over_a_dimension_made_for_it(torch: Any) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y, z = x * 1, (x * 1)[0]
    parts = y[True], y[False], y[0, True], z[z > 0], z[True], y[torch.tensor(True)]
    told = [(t.tolist(), chain(t.grad_fn.next_functions[0][0])[0]) for t in parts]
    z[z > 0] = 5.0
    y[True] = 7.0
    y[False] = 9.0
    return told, [(t.tolist(), t._version, chain(t.grad_fn)) for t in (y, z)], raised(lambda: z[True, 0])
