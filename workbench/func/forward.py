"""Transforms that differentiate forwards: jvp, linearize, jacfwd, and hessian on top of both directions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import errors
from ..autograd.backward import unit_vectors
from ..autograd.forward_ad import check_size, set_tangent, tangent_of
from ..autograd.levels import at, below, entered, lift, value_below
from ..autograd.pytree import tree_flatten, tree_map, tree_unflatten
from ..autograd.tensor import Tensor
from ..ops.core.registry import TENSORS
from ..ops.creation import zeros_like
from . import messages
from .arguments import check_output, chosen_arguments, lifted, lowered, with_aux
from .reverse import Argnums, jacrev, vjp
from .vectorize import vmap


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`(output, tangent)`: what `func` returns for `primals`, and how that changes along `tangents`.

    Both are tuples, alike in structure; the tangent of an output that does not depend on the primals is zero, or with
    `strict` a RuntimeError. With `has_aux`, `func` returns `(output, aux)` and jvp `(output, tangent, aux)`
    (torch.func.jvp).
    """
    return _jvp(func, primals, tangents, None, strict, has_aux)


def _jvp(func: Any, primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> Any:
    if not isinstance(primals, tuple):
        raise RuntimeError(messages.PRIMALS_KIND)
    places = range(len(primals)) if argnums is None else chosen_arguments(primals, argnums)
    flat_primals, structure = tree_flatten(tuple([primals[i] for i in places]))
    flat_tangents, got = tree_flatten(tangents)
    if structure != got:
        raise RuntimeError(messages.STRUCTURES.format(structure, got))
    for name, leaves in (("primals", flat_primals), ("tangents", flat_tangents)):
        _check_tensors(name, leaves)
    with entered("jvp") as level:
        duals = tree_unflatten(
            [_dual(p, t, level) for p, t in zip(flat_primals, flat_tangents, strict=True)], structure
        )
        args = dict(zip(places, duals, strict=True))
        returned = func(*[args[i] if i in args else lifted(p, level) for i, p in enumerate(primals)])
        aux = None
        if has_aux:
            returned, aux = with_aux(returned, messages.JVP)
            aux = lowered(aux, level)
        outputs, out_structure = tree_flatten(returned)
        check_output(outputs, messages.JVP)
        moved = [_tangent_below(out, level, strict) for out in outputs]
        with below(level):  # never what was given
            results = [TENSORS["alias"](value_below(out, level)) for out in outputs]
    pair = tree_unflatten(results, out_structure), tree_unflatten(moved, out_structure)
    return (*pair, aux) if has_aux else pair


def _check_tensors(name: str, leaves: list[Any]) -> None:
    if not leaves:
        raise RuntimeError(messages.NO_TENSOR.format(name))
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(messages.NOT_ONLY_TENSORS.format(name, type(leaf)))


def _dual(primal: Tensor, tangent: Tensor, level: Any) -> Tensor:
    for name, t in (("primal", primal), ("tangent", tangent)):
        if not t.is_floating_point():
            raise ValueError(errors.DUAL_KIND.format(name, t.dtype))
    check_size(primal, tangent)
    dual = lift(primal, level)
    set_tangent(dual, tangent)
    return dual


def _tangent_below(out: Tensor, level: Any, strict: bool) -> Tensor:
    """The tangent of what a function returned, as it is one level below; zeros where it has none."""
    out = at(out, level)
    tangent = tangent_of(out) if getattr(out, "_level", None) is level else None
    if tangent is None:
        if strict:
            raise RuntimeError(messages.INDEPENDENT)
        with below(level):
            tangent = zeros_like(value_below(out, level))
    return tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`(output, push)`: what `func` returns for `primals`, and the linear function that its jvp is there.

    `push` takes tangents like the primals and does not run `func` again: the tangents were recorded as they moved
    through it, and a linear function transposed twice is itself (torch.func.linearize).
    """
    output = func(*primals)
    leaves, structure = tree_flatten(primals)
    outputs, out_structure = tree_flatten(output)
    moving = [_moves(o) for o in outputs]

    def moved(*tangents: Tensor) -> list[Tensor]:
        """The tangents of those outputs that have any."""
        with entered("jvp") as level:
            duals = [_dual(p, t, level) for p, t in zip(leaves, tangents, strict=True)]
            again, _ = tree_flatten(func(*tree_unflatten(duals, structure)))
            return [_tangent_below(o, level, False) for o in again if _moves(o)]

    if any(moving):
        zeros, pull = vjp(moved, *[zeros_like(t) for t in leaves])
        _, push = vjp(pull, zeros)

    def jvp_fn(*tangents: Any) -> Any:
        """The tangent of the output."""
        flat, got = tree_flatten(tangents)
        if got != structure:
            raise RuntimeError(messages.LINEAR_STRUCTURE.format(got, structure))
        for i, (t, p) in enumerate(zip(flat, leaves, strict=True)):
            for what in ("shape", "dtype"):
                have, want = getattr(t, what), getattr(p, what)
                if have != want:
                    raise RuntimeError(messages.LINEAR_FACT.format(i=i, what=what, got=have, want=want))
        found = iter(push(tuple(flat))[0] if any(moving) else ())
        still = [zeros_like(o) if isinstance(o, Tensor) else o for o in outputs]
        return tree_unflatten([next(found) if m else o for m, o in zip(moving, still, strict=True)], out_structure)

    return output, jvp_fn


def _moves(t: Any) -> bool:
    return isinstance(t, Tensor) and t.is_floating_point()


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` forwards, a column for each element of the arguments.

    The result is jacrev's; it is the cheaper of the two where there are fewer arguments than outputs. In PyTorch 2.13
    it is zero for negative `argnums`; here it is right (torch.func.jacfwd).
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        places = range(len(args)) if argnums is None else chosen_arguments(args, argnums)
        primals, structure = tree_flatten(tuple([args[i] for i in places]))
        (basis,) = unit_vectors(primals)

        def push(basis: Any) -> Any:
            _, *rest = _jvp(func, args, basis, argnums, False, has_aux)
            return tuple(rest) if has_aux else rest[0]

        pushed = vmap(push, randomness=randomness)(tree_unflatten(basis, structure))
        aux = None
        if has_aux:
            pushed, aux = pushed
        outputs, out_structure = tree_flatten(pushed)
        sizes = [t._array.size for t in primals]
        jacobian = []
        for out in outputs:
            columns = out.permute(*range(1, out.ndim), 0).split(sizes, -1)
            blocks = [c.reshape(c.shape[:-1] + p.shape) for c, p in zip(columns, primals, strict=True)]
            jacobian.append(tree_unflatten(blocks, structure))
        if isinstance(argnums, int):
            jacobian = [block[0] for block in jacobian]
        whole = tree_unflatten(jacobian, out_structure)
        return (whole, tree_map(lambda t: t[0], aux)) if has_aux else whole

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of `func`: forwards over backwards, `jacfwd(jacrev(func))`.

    (torch.func.hessian)
    """
    return jacfwd(jacrev(func, argnums), argnums)
