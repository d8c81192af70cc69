"""What random programs found: each a case of a row of the map, or beside one."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from functions import function
from oracle import chain, entries, raised, warned


def facts(t: Any) -> Any:
    try:
        version = t._version
    except RuntimeError:
        version = None
    return t.is_inference(), t._is_view(), t.requires_grad, t.is_leaf, version, t.tolist()


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


def test_23_11_the_gradient_of_a_view_that_came_to_require_it(torch: Any) -> Any:
    x, plain = torch.ones(2, requires_grad=True), torch.zeros(2)
    view, other = plain[:1], plain[1:]
    plain.mul_(x)
    other.grad_fn  # noqa: B018  from here on it is known where it comes from
    late = (x * 1).unbind()[0]
    return warned(lambda: view.grad), warned(lambda: other.grad), warned(lambda: late.grad)


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


def test_26_7_a_gradient_that_came_in_inference_mode(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = (x * 3).sum()
    with torch.inference_mode():
        y.backward(retain_graph=True)
        y.backward(retain_graph=True)
    return facts(x.grad), raised(y.backward), x.grad


def test_26_8_detaching_in_inference_mode_does_nothing(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    view = y[0]
    with torch.inference_mode():
        same = [t.detach_() is t for t in (x, y, view)]
    return same, x, y, view


def test_2_11_a_view_that_leads_nowhere_makes_nothing_be_saved(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.no_grad():
        view = x[:]
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.tolist()), t)[1], lambda t: t):
        made = [view * (x * 5), view.exp(), torch.maximum(view, torch.ones(2))]
    return seen, [chain(t.grad_fn) for t in made]


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


def test_a_truth_value_is_packed_as_the_index_it_stands_for(torch: Any) -> Any:
    seen: list[Any] = []
    b, s = torch.tensor([1.5, -0.25], requires_grad=True), torch.tensor(1.25, requires_grad=True)
    mask = torch.tensor([True, False])
    y = b * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        made = s[s > 2.0], s[s > 1], b[mask[0]], b[True], b[False], b[0, True], b[[True, False]]
        y[mask[0]] = 5.0
    return seen, [t.tolist() for t in made], y


@pytest.mark.parametrize("weight", [(3,), (4, 3)])
@pytest.mark.parametrize("bias", [(4,), (), (1,), (1, 4), (2, 4)])
def test_linear_adds_its_bias_as_its_shape_has_it(torch: Any, weight: tuple[int, ...], bias: tuple[int, ...]) -> Any:
    def linear(shape: tuple[int, ...]) -> Any:
        made = torch.nn.functional.linear(*(torch.ones(each, requires_grad=True) for each in (shape, weight, bias)))
        return tuple(made.shape), made._is_view(), chain(made.grad_fn)

    return [_outcome(linear, shape) for shape in ((3,), (2, 3), (2, 2, 3))]


def _outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except RuntimeError as error:
        return str(error)


def test_the_detached_in_a_transform_shares_its_version(torch: Any) -> Any:
    b = torch.ones(3, requires_grad=True)
    made = torch.func.vmap(lambda t: t.detach())(b)
    with torch.no_grad():
        made.add_(1)
    return b, b._version, made._version


@pytest.mark.parametrize("part", [":", "0:", "-3:", "-5:", "0:3", "0:5", "1:", "0:0", ":0", "None:None", ":-1", "2:1"])
def test_a_slice_of_all_is_a_view_as_it_is_written(torch: Any, part: str) -> Any:
    told = []
    for x in (torch.ones(3, 4, requires_grad=True) * 1, torch.ones(0, 3, requires_grad=True) * 1):
        for index in (part, f"{part},0", f"{part},{part}", f"...,{part}"):
            made = eval(f"x[{index}]", {"x": x})
            told.append((tuple(made.shape), str(chain(made.grad_fn)).count("Slice"), made.grad_fn.name()))
    return told


def test_a_view_made_in_place_without_gradients_is_made_anew_from_its_base(torch: Any) -> Any:
    x = torch.ones(3, 4, requires_grad=True) * 1
    row, part = x[0], x.unbind()[1]
    with torch.no_grad():
        row.unsqueeze_(0)
        part.unsqueeze_(0)
    return chain(row.grad_fn), tuple(row.shape), raised(lambda: part.grad_fn)


MASKS = """
m[m] = False | m[m] = 0.0 | m[m] = m[m] | m[m,] = torch.tensor([False, False]) | m[m.clone()] = m[:1] | M[M] = False
M[M[0]] = False | M[:, M[0]] = False | M[M[0], 0] = False | M[M.t()] = False | M[0][M[1]] = True | m[[m]] = True
"""


@pytest.mark.parametrize("text", entries(MASKS))
def test_a_mask_may_choose_what_is_written_in_itself(torch: Any, text: str) -> Any:
    known = {"torch": torch, "m": torch.tensor([True, False, True]), "M": torch.tensor([[True, False]] * 2)}
    exec(text, known)
    return known["m"], known["M"], known["m"]._version, known["M"]._version


BEFORE = """
v.zero_() | v.fill_(0.0) | b[:1] = 0.0 | b[:1] = y | v.mul_(0.0) | v.mul_(1e-30) | v.mul_(y * 1e-30) | v.copy_(y)
v.clamp_(3.0, 3.0) | v.masked_fill_(v > 0, 0.0) | v[v > 0] = 0.0 | v.unsqueeze(0).zero_() | b.view(3, 1)[:1].zero_()
"""


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("after", ["b.sqrt().sum()", "b.clone().rsqrt_().sum()", "b.view(3).log().sum()", "b.sum()"])
@pytest.mark.parametrize("text", entries(BEFORE))
def test_what_arrives_at_a_written_part_is_replaced_whatever_its_size(torch, text, after, create_graph):
    x, y = (torch.tensor(v, requires_grad=True, dtype=torch.float64) for v in ([1.0, 2.0, 0.5], [0.25]))
    known = {"b": (b := x * 1), "v": b[:1], "y": y}
    exec(text, known)
    options = {"create_graph": create_graph, "allow_unused": True, "materialize_grads": True}
    grads = torch.autograd.grad(eval(after, known), (x, y), **options)
    if create_graph:
        grads += torch.autograd.grad(sum(g.sum() for g in grads if g.grad_fn), (x, y), **options)
    return [g.tolist() for g in grads]


PLACES = "[0, 0] | [[0], [0]] | [] | [[0, 0], [0, 0]] | [False]"


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("places", entries(PLACES))
@pytest.mark.parametrize("shape", [(1,), (1, 2), (2, 2)])
def test_a_value_put_in_several_places_has_their_gradients_sum(torch, shape, places, accumulate):
    kind = torch.bool if "False" in places else torch.int64
    x, where, func = torch.ones(shape, dtype=torch.float64), torch.tensor(eval(places), dtype=kind), torch.func

    def put(x: Any, v: Any) -> Any:
        return x.index_put((where,), v, accumulate) * 3

    def tried(run: Any) -> Any:
        return [list(t.shape) + [t.tolist()] for t in run]

    leaves = [x.clone().requires_grad_() for _ in range(2)]
    put(*leaves).sum().backward()
    batch = torch.stack([x, x])
    return (
        tried([t.grad for t in leaves]),
        tried(func.grad(lambda *t: put(*t).sum(), (0, 1))(x, x)),
        tried(func.jacrev(put, (0, 1))(x, x)),
        tried(func.jvp(put, (x, x), (x, x * 2))),
        None if "False" in places else tried(func.vmap(func.grad(lambda *t: put(*t).sum(), (0, 1)))(batch, batch)),
    )


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
@pytest.mark.parametrize("source", [(), (1,), (3,)])
@pytest.mark.parametrize("index", ["0", "[0]", "[]", "[0, 0]", "[[0]]"])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_places_without_dimensions_take_the_first_elements(torch, shape, index, source, name):
    x = torch.ones(shape, requires_grad=True)
    src = torch.arange(1.0, 1.0 + torch.Size(source).numel()).reshape(source).requires_grad_()
    places = torch.tensor(eval(index), dtype=torch.int64)
    out = getattr(x, name)(0, places, src)
    return out.tolist(), raised(lambda: (out * 3).sum().backward()), x.grad, src.grad


def test_masks_and_integers_are_written_by_their_operators(torch: Any) -> Any:
    told = []
    for values, other in (([[1, 2], [3, 4]], 6), ([[True, True], [False, True]], torch.tensor([True, False]))):
        for write in ("v &= o", "v |= o", "v ^= o"):
            x = torch.tensor(values)
            known = {"v": x[0], "o": other}
            was = known["v"]
            exec(write, known)
            told.append((x, known["v"] is was, x._version))
    mask = torch.tensor([True, False])
    refused = [raised(mask.__iand__, 2), mask.__ior__("a")]
    powers = [mask**True, mask**False, True ** mask.long(), mask**2, raised(lambda: mask**mask), mask.pow(True)]
    mask **= False
    return told, refused, powers, mask, torch.tensor(True).clamp(mask), mask.clamp(max=torch.tensor(False))


def test_a_batch_that_took_another_shape_in_place_has_it(torch: Any) -> Any:
    calls = ("squeeze_()", "unsqueeze_(0)", "transpose_(0, 2)", "unsqueeze_(-1).mul_(2)", "squeeze_().t_()")
    x, told = torch.arange(12.0).reshape(3, 2, 1, 2), []
    for dim in (0, 1, 3):
        for call in calls:

            def shaped(t: Any, call: str = call) -> Any:
                t = t.clone()
                eval(f"t.{call}", {"t": t})
                return t.sin()

            out = torch.func.vmap(shaped, in_dims=dim)(x)
            told.append((list(out.shape), out.tolist()))
    return told


@pytest.mark.parametrize("name", ["mm", "mv", "dot", "bmm"])
def test_products_of_other_dimensions_in_a_batch(torch: Any, name: str) -> Any:
    shapes, told = ((), (2,), (2, 2), (2, 2, 2)), []
    for left in shapes:
        for right in shapes:
            a, b = torch.ones(3, *left), torch.ones(3, *right)
            for given, dims in (((a, b), 0), ((a, b[0]), (0, None)), ((a[0], b), (None, 0))):
                told.append(raised(lambda *t: torch.func.vmap(getattr(torch, name), in_dims=t[0])(*t[1]), dims, given))
    return told


VALUES = "inf | -inf | nan | 1e40 | -1 | 2**40 | 300 | 2.75 | True | 65520.0"
NUMBERS_WRITTEN = """
t.masked_fill(t > 0, v) | t.clone().masked_fill_(t > 0, v) | t.clone().__setitem__(0, v)
t.clone().__setitem__(t > 0, v) | t.scatter(0, i, v) | t.clone().scatter_(0, i, v) | t.clone().__setitem__(i, v)
"""


@pytest.mark.parametrize("text", entries(NUMBERS_WRITTEN))
def test_a_number_that_the_dtype_cannot_hold_is_refused(torch: Any, text: str) -> Any:
    known = {"inf": float("inf"), "nan": float("nan"), "i": torch.tensor([0])}
    told = []
    for kind in (torch.int64, torch.int32, torch.uint8, torch.float16, torch.float32, torch.float64, torch.bool):
        for value in entries(VALUES):
            if value != "1e40" or "__setitem__" not in text or not kind.is_floating_point:
                known |= {"t": torch.tensor([1, 2], dtype=kind), "v": eval(value, known)}
                told.append(raised(eval, text, known))
    return told


def test_what_a_mask_takes_of_a_number_has_a_second_derivative_in_transforms(torch: Any) -> Any:
    x, func = torch.tensor(2.0), torch.func
    told = []
    with warnings.catch_warnings():  # PyTorch's warn of their speed
        warnings.simplefilter("ignore")
        for select in (lambda t: t.masked_select(t > 0), lambda t: t.masked_select(t < 0), lambda t: t[t > 0]):
            told += [func.jacrev(select)(x), func.hessian(lambda t, select=select: (select(t) ** 2).sum())(x)]
    return told


def test_shapes_that_do_not_fit_in_a_batch(torch: Any) -> Any:
    def tried(*size: int) -> Any:
        return raised(torch.func.vmap(lambda a: torch.ones(3).add_(a)), torch.ones(4, *size))

    return tried(3, 2), tried(2), tried(3), raised(torch.tensor(1.0).unflatten, 0, (1,))[1].splitlines()[:2]
