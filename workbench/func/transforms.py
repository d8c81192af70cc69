"""Derivatives of functions: reverse mode (grad, vjp, jacrev), forward mode (jvp, linearize, jacfwd), and hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..autograd.backward import gradients, seeds_of
from ..autograd.forward_ad import check_size, set_tangent, tangent_of
from ..autograd.graph import disable_saved_tensors_hooks
from ..autograd.levels import Level, Lifted, below, entered, lift, value_below, without_finished_levels
from ..autograd.pytree import tree_flatten, tree_map, tree_unflatten
from ..autograd.state import local, slow_path_reasons
from ..autograd.tensor import Tensor
from ..autograd.unit_vectors import unit_vectors
from ..events import failed
from ..ops.core.registry import TENSORS
from ..ops.creation import ones_like, zeros_like
from ..ops.join_split import cat
from .batches import vmap

Argnums = int | tuple[int, ...]
ALL = object()  # in place of argnums: all arguments


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`.

    An argument that `func` doesn't use gets a gradient of zeros. PyTorch: torch.func.grad.

    Example:
        >>> cube = lambda x: x**3
        >>> torch.func.grad(cube)(torch.tensor(2.0))
        tensor(12.)
        >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.0))
        tensor(12.)

    Args:
        func: A function that returns a zero-dimensional tensor, such as a loss.
        argnums: The position of the argument to differentiate with respect to. Negative positions count from the end.
            For a tuple of positions, the gradient is a tuple.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object. The new function then
            returns `(gradient, aux)`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient and the value of `func` in one run.

    PyTorch: torch.func.grad_and_value.

    Args:
        func: A function that returns a zero-dimensional tensor, such as a loss.
        argnums: The position of the argument to differentiate with respect to. Negative positions count from the end.
            For a tuple of positions, the gradient is a tuple.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object.

    Returns:
        A function that returns `(gradient, value)`, or `(gradient, (value, aux))` with `has_aux`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def _grad_and_value(func: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Any]:
    with disable_saved_tensors_hooks(errors.FUNC_SAVED_HOOKS), entered("grad") as level:
        args, leaves, structure = _watched(args, argnums, level)
        output = func(*args, **lifted(kwargs, level))
        aux = None
        if has_aux:
            output, aux = with_aux(output, errors.FUNC_GRAD)
        if not isinstance(output, Tensor):
            raise failed(RuntimeError(errors.FUNC_GRAD_KIND.format(type(output))))
        if output.ndim:
            raise failed(RuntimeError(errors.FUNC_GRAD_SCALAR.format(output.ndim)))
        if output.is_complex():
            raise failed(RuntimeError(errors.ONLY_REAL_SEED.format(output.dtype)))
        if level.runs_code:  # which sees what PyTorch records at this level
            seed = ones_like(output).detach()
            gradient = lowered(tree_unflatten(pulled([output], leaves, [seed], True, True), structure), level)
        else:
            with below(level):
                seed = ones_like(output).detach()  # a batch has one for each sample
                found = pulled([output], leaves, [seed], True, _looked_into([output], [seed]))
            gradient = tree_unflatten(found, structure)
        value = lowered(output, level)
        return gradient, (value, lowered(aux, level)) if has_aux else value


def _watched(args: tuple[Any, ...], argnums: Any, level: Level) -> tuple[tuple[Any, ...], list[Tensor], Any]:
    """Lift the arguments to the level; return them, the leaves to differentiate by, and the structure of these.

    The leaves require grad. An argument that isn't differentiated by may be anything.
    """
    places = range(len(args)) if argnums is ALL else chosen_arguments(args, argnums)
    watch = functools.partial(_leaf, level=level)
    args = tuple([tree_map(watch, a) if i in places else lifted(a, level) for i, a in enumerate(args)])
    return args, *tree_flatten(args if argnums is ALL else _picked(args, argnums))


def _picked(args: tuple[Any, ...], argnums: Any) -> Any:
    """Return the argument that `argnums` names, or a tuple of arguments for several."""
    places = chosen_arguments(args, argnums)
    return args[places[0]] if isinstance(argnums, int) else tuple([args[i] for i in places])


def _leaf(t: Any, level: Level) -> Tensor:
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    if t._array.dtype.kind not in "fc":
        raise RuntimeError(errors.ONLY_FLOATS_METHOD)
    return lift(t, level, requires_grad=True)


def pulled(outputs: list[Tensor], inputs: list[Tensor], seeds: Any, keep_graph: bool, create_graph: bool) -> Any:
    """Return the gradients of the inputs: zeros where the outputs don't depend on them."""
    pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=False) if out.requires_grad]
    found: list[Tensor | None] = [None] * len(inputs)
    if pairs and inputs:
        outs = [out for out, _ in pairs]
        checked = seeds_of(outs, [seed for _, seed in pairs])
        before = ("pulled", local.modes) in slow_path_reasons
        slow_path_reasons["pulled", local.modes] = True  # the graph holds tensors of a level that is over
        try:
            found = gradients(outs, inputs, checked, keep_graph, create_graph)
        finally:
            if not before:
                del slow_path_reasons["pulled", local.modes]
    return [zeros_like(t).detach() if g is None else g for t, g in zip(inputs, found, strict=True)]


def _looked_into(outputs: list[Tensor], seeds: list[Any]) -> bool:
    """Return True if this backward pass may be differentiated itself: by other levels, or by a graph outside."""
    if local.modes.levels or not local.modes.grad:
        return local.modes.grad
    values = [t._value if type(t) is Lifted else t for t in (*outputs, *seeds)]
    return any([isinstance(t, Tensor) and t.requires_grad for t in values])


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Run `func`, and return its output and a function that computes vector-Jacobian products.

    PyTorch: torch.func.vjp.

    Example:
        >>> output, pull = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
        >>> pull(torch.tensor([1.0, 10.0]))  # the gradient, if the output's gradient is [1, 10]
        (tensor([ 2., 40.]),)

    Args:
        func: A function of tensors, or of dicts, lists and tuples of tensors.
        primals: The arguments of `func`: the point at which to compute the products. The product contains a gradient
            for each of them.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object.

    Returns:
        `(output, pull)`, or `(output, pull, aux)` with `has_aux`. `pull` takes gradients with the structure and the
        shapes of the output. It returns a tuple with a gradient for each of `primals`. You can call `pull` several
        times.
    """
    return _vjp(func, primals, ALL, has_aux)


def _vjp(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Any, has_aux: bool) -> Any:
    """Compute vjp with respect to the arguments that `argnums` names."""
    with disable_saved_tensors_hooks(errors.FUNC_SAVED_HOOKS), entered("grad") as level:
        args, leaves, structure = _watched(primals, argnums, level)
        outputs, out_structure, aux = _returned(func(*args), "vjp(f, *primals)", level, has_aux)
        value = tree_unflatten([value_below(out, level) for out in outputs], out_structure)
        for out in outputs:
            if out._array.dtype.kind not in "fc":
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {out.dtype}"
                )

    def wrapper(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, got = tree_flatten(cotangents)
        if got != out_structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {got.pretty()}, primal output: {out_structure.pretty()}"
            )
        if create_graph is None:
            looked_into = level.outer_grad and not level.runs_code
            create_graph = _looked_into(outputs, seeds) if looked_into else local.modes.grad
        return tree_unflatten(pulled(outputs, leaves, seeds, retain_graph, create_graph), structure)

    return (value, wrapper, aux) if has_aux else (value, wrapper)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in reverse mode, one row per element of the output.

    For each tensor of the output, the Jacobian contains a tensor for each argument of `argnums`. Its shape is the
    output's shape followed by the argument's shape. PyTorch: torch.func.jacrev.

    Example:
        >>> torch.func.jacrev(lambda x: x * x.sum())(torch.tensor([1.0, 2.0]))
        tensor([[4., 1.],
                [2., 5.]])

    Args:
        func: A function of tensors, or of dicts, lists and tuples of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object. The new function then
            returns `(jacobian, aux)`.
        chunk_size: The maximum number of rows that are computed at once. None computes all rows at once.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        output, pull, *aux = _vjp(func, args, argnums, has_aux)
        outputs, out_structure = tree_flatten(output)
        primals, structure = tree_flatten(_picked(args, argnums))
        _only_real("jacrev", "input", primals)
        _only_real("jacrev", "output", outputs)
        runs = []
        for basis in unit_vectors(outputs, chunk_size):
            if chunk_size == 1:
                pulled_back = pull(tree_unflatten([b[0] for b in basis], out_structure))
                runs.append([g.unsqueeze(0) for g in tree_flatten(pulled_back)[0]])
            else:
                runs.append(tree_flatten(vmap(pull)(tree_unflatten(basis, out_structure)))[0])
        columns = [run[0] if len(run) == 1 else cat(run, 0) for run in zip(*runs, strict=True)]
        sizes = [out._array.size for out in outputs]
        rows = [column.split(sizes, 0) for column in columns]
        blocks = [
            tree_unflatten(
                [row[k].reshape(out.shape + t.shape) for row, t in zip(rows, primals, strict=True)], structure
            )
            for k, out in enumerate(outputs)
        ]
        jacobian = tree_unflatten(blocks, out_structure)
        return (jacobian, *aux) if has_aux else jacobian

    return wrapper


def _only_real(name: str, what: str, tensors: Sequence[Any]) -> None:
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what}s to be real but received complex tensor at flattened {what} idx: {i}"
            )


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Run `func`, and return its output and its directional derivative along `tangents`.

    This derivative is the product of the Jacobian with `tangents`: how fast the output changes if the arguments move in
    this direction. PyTorch: torch.func.jvp.

    Example:
        >>> x, direction = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
        >>> torch.func.jvp(torch.square, (x,), (direction,))
        (tensor([1., 4.]), tensor([2., 0.]))

    Args:
        func: A function of tensors, or of dicts, lists and tuples of tensors.
        primals: The arguments of `func`, as a tuple.
        tangents: The direction: a tuple with the structure and the shapes of `primals`.
        strict: If True, raise RuntimeError for an output that doesn't depend on the primals. If False, such an output
            gets a tangent of zero.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object.

    Returns:
        `(output, tangent)`, or `(output, tangent, aux)` with `has_aux`.
    """
    return _jvp(func, primals, tangents, None, strict, has_aux)


def _jvp(func: Any, primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> Any:
    if not isinstance(primals, tuple):
        raise RuntimeError(errors.FUNC_PRIMALS_KIND)
    places = range(len(primals)) if argnums is None else chosen_arguments(primals, argnums)
    flat_primals, structure = tree_flatten(tuple([primals[i] for i in places]))
    flat_tangents, got = tree_flatten(tangents)
    if structure != got:
        raise RuntimeError(errors.FUNC_STRUCTURES.format(structure, got))
    for name, leaves in (("primals", flat_primals), ("tangents", flat_tangents)):
        _check_tensors(name, leaves)
    with entered("jvp") as level:
        duals = tree_unflatten(
            [_dual(p, t, level) for p, t in zip(flat_primals, flat_tangents, strict=True)], structure
        )
        args = dict(zip(places, duals, strict=True))
        output = func(*[args[i] if i in args else lifted(p, level) for i, p in enumerate(primals)])
        outputs, out_structure, aux = _returned(output, errors.FUNC_JVP, level, has_aux)
        moved = [_tangent_below(out, level, strict) for out in outputs]
        with below(level):  # never what was given
            results = [TENSORS["alias"](value_below(out, level)) for out in outputs]
    pair = tree_unflatten(results, out_structure), tree_unflatten(moved, out_structure)
    return (*pair, aux) if has_aux else pair


def _check_tensors(name: str, leaves: list[Any]) -> None:
    if not leaves:
        raise RuntimeError(errors.FUNC_NO_TENSOR.format(name))
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(errors.FUNC_NOT_ONLY_TENSORS.format(name, type(leaf)))


def _dual(primal: Tensor, tangent: Tensor, level: Any) -> Tensor:
    for name, t in (("primal", primal), ("tangent", tangent)):
        if t._array.dtype.kind not in "fc":
            raise ValueError(errors.DUAL_KIND.format(name, t.dtype))
    check_size(primal, tangent)
    dual = lift(primal, level)
    set_tangent(dual, tangent)
    return dual


def _tangent_below(out: Tensor, level: Any, strict: bool) -> Tensor:
    """Return the tangent of an output as it is one level below; zeros if the output has none."""
    out = without_finished_levels(out, level)
    tangent = tangent_of(out) if getattr(out, "_level", None) is level else None
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        with below(level):
            tangent = zeros_like(value_below(out, level))
    return tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Run `func` at `primals`, and return its output and a function that computes Jacobian-vector products there.

    If you need the products for several tangents at the same point, this is cheaper than calling `jvp` for each
    tangent, which runs `func` again each time. PyTorch: torch.func.linearize.

    Example:
        >>> output, push = torch.func.linearize(torch.square, torch.tensor([1.0, 2.0]))
        >>> push(torch.tensor([1.0, 0.0])), push(torch.tensor([0.0, 1.0]))
        (tensor([2., 0.]), tensor([0., 4.]))

    Args:
        func: A function of tensors, or of dicts, lists and tuples of tensors.
        primals: The arguments of `func`: the point at which to compute the products.

    Returns:
        `(output, push)`. `push` takes tangents with the structure and the shapes of `primals`, and returns the tangent
        of the output.
    """
    output = func(*primals)
    leaves, structure = tree_flatten(primals)
    outputs, out_structure = tree_flatten(output)
    moving = [_moves(o) for o in outputs]

    def moved(*tangents: Tensor) -> list[Tensor]:
        """Return the tangents of the outputs that have one."""
        with entered("jvp") as level:
            # a copy: no tangent could lie in memory as an expanded tensor does
            duals = [_dual(p.clone(), t, level) for p, t in zip(leaves, tangents, strict=True)]
            again, _ = tree_flatten(func(*tree_unflatten(duals, structure)))
            return [_tangent_below(o, level, False) for o in again if _moves(o)]

    if any(moving):
        zeros, pull = vjp(moved, *[zeros_like(t) for t in leaves])
        _, push = vjp(pull, zeros)

    def jvp_fn(*tangents: Any) -> Any:
        """Return the tangent of the output for these tangents of the arguments."""
        flat, got = tree_flatten(tangents)
        if got != structure:
            raise RuntimeError(f"Expected the tangents {got} to have the same argspec as the primals {structure}")
        for i, (t, p) in enumerate(zip(flat, leaves, strict=True)):
            for what in ("shape", "dtype"):
                have, want = getattr(t, what), getattr(p, what)
                if have != want:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {have} in flattened pytree doesn't match the {what} {want} "
                        "of the corresponding primal."
                    )
        found = iter(push(tuple(flat))[0] if any(moving) else ())
        still = [zeros_like(o) if isinstance(o, Tensor) else o for o in outputs]
        return tree_unflatten([next(found) if m else o for m, o in zip(moving, still, strict=True)], out_structure)

    return output, jvp_fn


def _moves(t: Any) -> bool:
    return isinstance(t, Tensor) and t._array.dtype.kind in "fc"


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in forward mode, one column per element of the arguments.

    The result is the same as that of `jacrev`. Forward mode is cheaper if the arguments have fewer elements than the
    output. PyTorch: torch.func.jacfwd, which returns zeros for negative `argnums` (2.13).

    Args:
        func: A function of tensors, or of dicts, lists and tuples of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: Set this if `func` returns a pair `(output, aux)`, where `aux` is any object. The new function then
            returns `(jacobian, aux)`.
        randomness: How random numbers in `func` are drawn for the columns: "error", "different" or "same", as for
            `vmap`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        places = range(len(args)) if argnums is None else chosen_arguments(args, argnums)
        primals, structure = tree_flatten(tuple([args[i] for i in places]))
        _only_real("jacfwd", "input", primals)
        (basis,) = unit_vectors(primals)

        def push(basis: Any) -> Any:
            _, *rest = _jvp(func, args, basis, argnums, False, has_aux)
            return tuple(rest) if has_aux else rest[0]

        pushed = vmap(push, randomness=randomness)(tree_unflatten(basis, structure))
        aux = None
        if has_aux:
            pushed, aux = pushed
        outputs, out_structure = tree_flatten(pushed)
        _only_real("jacfwd", "output", outputs)
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
    """Return a function that computes the Hessian of `func`, which contains its second derivatives.

    The Hessian is computed as `jacfwd(jacrev(func))`. Its shape is the output's shape, followed by the argument's shape
    twice. PyTorch: torch.func.hessian.

    Args:
        func: A function of tensors.
        argnums: The position of the argument to differentiate with respect to, or a tuple of positions.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def chosen_arguments(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """Return the positions that `argnums` names, where negative ones count from the end.

    Raises:
        RuntimeError: if a position doesn't exist, or isn't an int.
    """
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    count = len(args)
    places = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
        places.append(n % count)
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(places)}")
    return tuple(places)


def lifted(tree: Any, level: Level) -> Any:
    """Lift the tensors of a tree to a level."""
    return tree_map(lambda leaf: lift(leaf, level) if isinstance(leaf, Tensor) else leaf, tree)


def lowered(tree: Any, level: Level) -> Any:
    """Return a tree of tensors as they are one level below.

    Raises:
        RuntimeError: if the tree contains anything but tensors.
    """
    leaves, structure = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return tree_unflatten([value_below(leaf, level) for leaf in leaves], structure)


def with_aux(returned: Any, name: str) -> tuple[Any, Any]:
    """Return the output and the auxiliary output of a function.

    Raises:
        RuntimeError: if the function returned no auxiliary output.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return returned


def _returned(output: Any, name: str, level: Level, has_aux: bool) -> tuple[list[Tensor], Any, Any]:
    """Return the leaves of an output, their structure, and the auxiliary output one level below.

    Raises:
        RuntimeError: if there is no leaf, or a leaf isn't a tensor.
    """
    aux = None
    if has_aux:
        output, aux = with_aux(output, name)
        aux = lowered(aux, level)
    leaves, structure = tree_flatten(output)
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    return leaves, structure, aux
