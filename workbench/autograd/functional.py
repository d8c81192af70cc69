"""Jacobians, Hessians, and their products with vectors, of a function at a point (torch.autograd.functional).

Inputs and results are a tensor or a tuple of tensors. The inputs need not require grad. The results have no history
unless `create_graph`. An output that doesn't depend on an input gives zeros, or an error with `strict`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..events import failed, listeners
from .backward import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .grad_mode import enable_grad
from .levels import AUTOGRAD, entered, lift, with_batch
from .tensor import Tensor, wrap
from .unit_vectors import unit_vectors

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Parts = list[list[Tensor]]


def need_history(tensors: Sequence[Tensor | None], refusal: str, strict: bool) -> None:
    """Raise RuntimeError for a tensor without history, in strict mode."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(errors.FUNCTIONAL_INDEPENDENT.format("output", i, ""))
        if not t.requires_grad:
            raise RuntimeError(refusal.format(i))


def filled(
    grads: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, create_graph: bool, missing: str, flat: str
) -> tuple[Tensor, ...]:
    """Replace missing gradients by zeros.

    `strict` refuses that (with the message `missing`), and a gradient without history (`flat`).
    """
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(missing.format(i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(flat.format(i))
    return tuple(wrap(np.zeros_like(t._array)) if g is None else g for g, t in zip(grads, like, strict=True))


def rows_at_once(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], pull: Callable[..., Sequence[Tensor | None]]
) -> Parts:
    """Return the Jacobian row by row; `pull(flat outputs, seeds)` runs a backward pass for a batch of seeds."""
    if not outputs:
        raise AssertionError("Expected at least one tensor")
    flat = [out.reshape(-1) for out in outputs]
    (seeds,) = unit_vectors(flat)
    sizes = [t.numel() for t in flat]
    found = [
        wrap(np.zeros_like(t._array)).expand(sum(sizes), *t.shape) if g is None else g
        for g, t in zip(pull(flat, seeds), inputs, strict=True)
    ]
    parts = zip(*[rows.split(sizes) for rows in found], strict=True)
    return [
        [rows.view(out.shape + t.shape) for rows, t in zip(row, inputs, strict=True)]
        for row, out in zip(parts, outputs, strict=True)
    ]


def columns_at_once(run: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor]) -> Parts:
    """Return the Jacobian column by column; `run` returns the outputs for dual tensors."""
    (basis,) = unit_vectors(inputs)
    sizes = [t.numel() for t in inputs]
    with entered("vmap", sum(sizes), AUTOGRAD) as level:
        with dual_level():
            duals = [make_dual(t, lift(columns, level)) for t, columns in zip(inputs, basis, strict=True)]
            pairs = [unpack_dual(out) for out in run(*duals)]
            moved = [primal.new_zeros(primal.shape) if t is None else t for primal, t in pairs]
        found = [with_batch(t, level) for t in moved]
    return [
        [
            columns.permute((*range(1, columns.ndim), 0)).reshape(out.primal.shape + t.shape)
            for columns, t in zip(all_columns.split(sizes), inputs, strict=True)
        ]
        for all_columns, out in zip(found, pairs, strict=True)
    ]


def _tuple(value: Any, name: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether the value was a tuple, and the value as one.

    Raises:
        TypeError: if it contains anything but tensors.
    """
    several = isinstance(value, tuple)
    for i, t in enumerate(value if several else (value,)):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if several else f"given {name}"
            raise failed(TypeError(errors.FUNCTIONAL_NOT_TENSORS.format(name, function, where, type(t))))
    return several, value if several else (value,)


def _arguments(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Return the inputs for the function: new leaves, or one operation downstream of the caller's graph."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _vector(
    v: Any, like: tuple[Tensor, ...], several: bool, create_graph: bool, function: str, missing: str
) -> tuple[Tensor, ...] | None:
    """Return the vector of a product, checked against the other factor; None stands for the number 1."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {missing} a single Tensor with a single element.")
        return None
    _, vs = _tuple(v, "v", function)
    if several and len(vs) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}.")
    if not several and len(vs) != 1:
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (have, want) in enumerate(zip(vs, like, strict=True)):
        if have.shape != want.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {want.shape} but got {have.shape}.")
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach() for t in vs)


def _grads(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor] | None,
    create_graph: bool,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of the outputs that have history."""
    pairs = zip(outputs, seeds or (None,) * len(outputs), strict=True)
    differentiable = [(o, seed) for o, seed in pairs if o is not None and o.requires_grad]
    if not differentiable:
        return (None,) * len(inputs)
    outs, given = zip(*differentiable, strict=True)
    options = {"allow_unused": True, "is_grads_batched": batched}
    return grad(outs, inputs, given, retain_graph, create_graph, **options)


def _seeds(like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return initial gradients that can be differentiated by; their values don't matter."""
    if any(t._array.dtype.kind not in "fc" for t in like):
        raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
    return tuple(wrap(np.zeros_like(t._array), requires_grad=True) for t in like)


def _result(values: Any, several: bool, create_graph: bool) -> Any:
    """Return a result as a tensor or a tuple, like its inputs, without history unless it is wanted."""
    results = tuple(values if create_graph else [t.detach() for t in values])
    return results if several else results[0]


@enable_grad()
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return a pair: the outputs of `func`, and the product of the vector `v` and the Jacobian.

    One backward pass computes the product, which has the inputs' shapes. PyTorch: torch.autograd.functional.vjp.

    Args:
        func: A function of the inputs that returns a tensor or a tuple of tensors.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        v: The vector: a tensor or a tuple of tensors with the shapes of the outputs. You can omit it if the output is a
            single number.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if an output doesn't depend on an input. If False, the derivative is zero.
    """
    several, given = _tuple(inputs, "inputs", "vjp")
    given = _arguments(given, create_graph)
    many, outputs = _tuple(func(*given), errors.FUNCTIONAL_OUTPUTS, "vjp")
    need_history(outputs, errors.FUNCTIONAL_DETACHED, strict)
    vs = _vector(v, outputs, many, create_graph, "vjp", "user-provided function returns")
    missing = errors.FUNCTIONAL_INDEPENDENT.format("output", "{}", "")
    products = filled(
        _grads(outputs, given, vs, create_graph), given, strict, create_graph, missing, errors.FUNCTIONAL_FLAT_JACOBIAN
    )
    return _result(outputs, many, create_graph), _result(products, several, create_graph)


@enable_grad()
def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return a pair: the outputs of `func`, and the product of the Jacobian and the vector `v`.

    The product has the outputs' shapes. It says how fast the outputs change if the inputs move along `v`. Computing the
    product takes two backward passes: the second one differentiates the first with respect to the gradient that the
    first one starts with. `torch.func.jvp` needs only one forward pass. PyTorch: torch.autograd.functional.jvp.

    Args:
        func: A function of the inputs that returns a tensor or a tuple of tensors.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        v: The vector: a tensor or a tuple of tensors with the shapes of the inputs. You can omit it if the input is a
            single number.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if an output doesn't depend on an input. If False, the derivative is zero.
    """
    several, given = _tuple(inputs, "inputs", "jvp")
    given = _arguments(given, create_graph)
    vs = _vector(v, given, several, create_graph, "jvp", "input to the user-provided function is")
    many, outputs = _tuple(func(*given), errors.FUNCTIONAL_OUTPUTS, "jvp")
    need_history(outputs, errors.FUNCTIONAL_DETACHED, strict)
    seeds = _seeds(outputs)
    pulled = _grads(outputs, given, seeds, create_graph=True)
    need_history(pulled, errors.FUNCTIONAL_SEED_ALONE, strict)
    found = _grads(pulled, seeds, vs, create_graph)
    products = filled(
        found, outputs, strict, create_graph, errors.FUNCTIONAL_SEED_IGNORED, errors.FUNCTIONAL_FLAT_JACOBIAN
    )
    return _result(outputs, many, create_graph), _result(products, many, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of `func`: the derivative of every output element with respect to every input element.

    The Jacobian's shape is the output's shape followed by the input's shape. If there are several outputs or several
    inputs, the result is a tuple with a Jacobian for each. If there are several of both, `result[i][j]` is the Jacobian
    of output i with respect to input j. PyTorch: torch.autograd.functional.jacobian.

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x * x.sum(), torch.tensor([1.0, 2.0]))
        tensor([[4., 1.],
                [2., 5.]])

    Args:
        func: A function of the inputs that returns a tensor or a tuple of tensors.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if an output doesn't depend on an input. If False, the derivative is zero.
        vectorize: If True, a single batched pass computes the derivatives of all elements, instead of one pass for
            each.
        strategy: "reverse-mode" for backward passes. "forward-mode" pushes tangents forward instead; it requires
            `vectorize`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            errors.FUNCTIONAL_STRATEGY
            + (
                ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be '
                'more performant. Otherwise, prefer to use "reverse-mode".'
            )
        )
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        several, given = _tuple(inputs, "inputs", "jacobian")
        given = _arguments(given, create_graph)
        many, outputs = _tuple(func(*given), errors.FUNCTIONAL_OUTPUTS, "jacobian")
        need_history(outputs, errors.FUNCTIONAL_DETACHED, strict)
        if strict and vectorize:
            raise RuntimeError(
                errors.FUNCTIONAL_NOT_TOGETHER.format("strict", "vectorized=True", "", "vectorize=False")
            )
        if vectorize:
            parts = rows_at_once(
                outputs, given, lambda outs, seeds: _grads(outs, given, seeds, create_graph, None, True)
            )
        else:
            if (out := next((out for out in outputs if out.is_complex()), None)) is not None:
                raise RuntimeError(errors.ONLY_REAL_SEED.format(out.dtype))
            parts = [_rows(i, out, given, create_graph, strict) for i, out in enumerate(outputs)]
        found = tuple([_result(part, several, create_graph) for part in parts])
    return found if many else found[0]


def _rows(i: int, out: Tensor, given: tuple[Tensor, ...], create_graph: bool, strict: bool) -> list[Tensor]:
    """Return the Jacobian of one output by every input, one backward pass after another."""
    missing = errors.FUNCTIONAL_IGNORES.format(i, "{}")
    flat = errors.FUNCTIONAL_FLAT_JACOBIAN.format(i)  # PyTorch names the output there
    rows = []
    seen = create_graph or bool(listeners) or not out.requires_grad
    elements = out.reshape(-1) if seen else out
    for k in range(elements.numel()):
        if seen:
            row = _grads((elements[k],), given, None, create_graph, retain_graph=True)
        else:  # the first gradient of a backward pass through one element's selection
            seed = np.zeros(out._array.size, out._array.dtype)
            seed[k] = 1
            row = _grads((out,), given, (wrap(seed.reshape(out._array.shape)),), False, retain_graph=True)
        rows.append(filled(row, given, strict, create_graph, missing, flat))
    joined = [Tensor._stack([row[j] for row in rows]) for j in range(len(given))]
    return [rows.view((*out.shape, *t.shape)) for rows, t in zip(joined, given, strict=True)]


def _jacobian_forward(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """Return the Jacobian by dual tensors; for several inputs PyTorch returns lists."""
    if create_graph:
        raise NotImplementedError(errors.FUNCTIONAL_NOT_TOGETHER.format("create_graph", *errors.FUNCTIONAL_FORWARD))
    if strict:
        raise RuntimeError(errors.FUNCTIONAL_NOT_TOGETHER.format("strict", *errors.FUNCTIONAL_FORWARD))
    several, given = _tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    many = []

    def run(*duals: Tensor) -> tuple[Tensor, ...]:
        is_tuple, outputs = _tuple(func(*duals), "outputs", "None")
        many.append(is_tuple)
        return outputs

    parts = columns_at_once(run, given)
    if not several:
        parts = tuple([part[0] for part in parts])
    return parts if many[0] else parts[0]


def _single(func: Callable[..., Any], given: tuple[Tensor, ...], function: str, strict: bool) -> Tensor:
    """Return func's only output, which has one element."""
    many, outputs = _tuple(func(*given), errors.FUNCTIONAL_OUTPUTS, function)
    need_history(outputs, errors.FUNCTIONAL_DETACHED, strict)
    if many:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of `func`: the second derivatives of a function that returns a single number.

    The Hessian's shape is the input's shape, twice in a row. If there are several inputs, the result is a tuple of
    tuples: `result[i][j]` contains the derivatives with respect to inputs i and j. PyTorch:
    torch.autograd.functional.hessian.

    Args:
        func: A function of the inputs that returns a tensor with one element.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if a gradient doesn't depend on an input. If False, the derivative is zero.
        vectorize: If True, a single batched pass differentiates all elements of the gradient, instead of one pass for
            each.
        outer_jacobian_strategy: "reverse-mode", or "forward-mode" to push tangents through the backward pass.
            "forward-mode" requires `vectorize`.
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(errors.FUNCTIONAL_STRATEGY)
    several, given = _tuple(inputs, "inputs", "hessian")

    forward = outer_jacobian_strategy == "forward-mode"

    def gradient(*arguments: Tensor) -> tuple[Tensor, ...]:
        if forward:
            arguments = tuple([t.requires_grad_() for t in arguments])
        found = jacobian(lambda *xs: _single(func, xs, "hessian", strict).squeeze(), arguments, create_graph=True)
        need_history(found, errors.FUNCTIONAL_LINEAR, strict)
        return found

    found = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    if forward:  # PyTorch leaves a history here, of inputs that nothing else refers to
        found = [[t.detach() for t in row] for row in found]
    return found if several else found[0][0]


def _gradient_and_vector(
    func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool, function: str
) -> tuple[bool, tuple[Tensor, ...], tuple[Tensor, ...] | None, Tensor, tuple[Any, ...]]:
    """Return the parts of a Hessian product.

    These are whether there are several inputs, the inputs, the vector, func's output, and its gradient.
    """
    several, given = _tuple(inputs, "inputs", function)
    given = _arguments(given, create_graph)
    vs = _vector(v, given, several, create_graph, function, "input to the user-provided function is")
    output = _single(func, given, function, strict)
    gradient = _grads((output,), given, None, create_graph=True)
    need_history(gradient, errors.FUNCTIONAL_LINEAR, strict)
    return several, given, vs, output, gradient


@enable_grad()
def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return a pair: the output of `func`, and the product of the vector `v` and the Hessian.

    The product has the inputs' shapes. The whole Hessian is never computed. PyTorch: torch.autograd.functional.vhp.

    Args:
        func: A function of the inputs that returns a tensor with one element.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        v: The vector: a tensor or a tuple of tensors with the shapes of the inputs. You can omit it if the input is a
            single number.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if a result doesn't depend on an input. If False, the derivative is zero.
    """
    several, given, vs, output, gradient = _gradient_and_vector(func, inputs, v, create_graph, strict, "vhp")
    missing = errors.FUNCTIONAL_INDEPENDENT.format("jacobian", "{}", "")
    products = filled(
        _grads(gradient, given, vs, create_graph), given, strict, create_graph, missing, errors.FUNCTIONAL_FLAT_HESSIAN
    )
    return _result((output,), False, create_graph), _result(products, several, create_graph)


@enable_grad()
def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return a pair: the output of `func`, and the product of the Hessian and the vector `v`.

    The product has the inputs' shapes. The Hessian is symmetric if the second derivatives are continuous, so `vhp`
    gives the same product. `vhp` is faster, because `hvp` needs one more backward pass. PyTorch:
    torch.autograd.functional.hvp.

    Args:
        func: A function of the inputs that returns a tensor with one element.
        inputs: The arguments of `func`: a tensor, or a tuple of tensors.
        v: The vector: a tensor or a tuple of tensors with the shapes of the inputs. You can omit it if the input is a
            single number.
        create_graph: If True, record this computation too, so that you can differentiate the results again.
        strict: If True, raise RuntimeError if a result doesn't depend on an input. If False, the derivative is zero.
    """
    several, given, vs, output, gradient = _gradient_and_vector(func, inputs, v, create_graph, strict, "hvp")
    seeds = _seeds(given)
    pulled = _grads(gradient, given, seeds, create_graph=True)
    need_history(pulled, errors.FUNCTIONAL_QUADRATIC, strict)
    found = _grads(pulled, seeds, vs, create_graph)
    products = filled(
        found, given, strict, create_graph, errors.FUNCTIONAL_INNER_SEED_IGNORED, errors.FUNCTIONAL_FLAT_HESSIAN
    )
    return _result((output,), False, create_graph), _result(products, several, create_graph)
