"""Products of matrices and vectors, and Einstein's summation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from ..errors import kind_of
from .arithmetic import mul
from .core import checks
from .core.op import define, operation
from .core.registry import ARRAYS
from .core.results import into, steps_of
from .dimensions import _permute, _t
from .join_split import diagonal
from .shape import _expand, _unsafe_view, _unsqueeze, _view, reshape, view

Shape = tuple[int, ...]
MASK = np.dtype(bool)


def _product(ndim: tuple[int, int], last: int, check: Callable[..., None]) -> Callable[..., Any]:
    """np.matmul between arrays of these numbers of dimensions; `check` says what is wrong where it cannot be."""

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if (a.ndim, b.ndim) != ndim or a.dtype is not b.dtype or a.shape[-1] != b.shape[last] or a.dtype is MASK:
            check(a, b)
        return np.matmul(a, b) if a.ndim == 3 else dotted(a, b)

    return product


def dotted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.matmul of vectors and matrices, in half its time; `dot` leaves out what one number 0 is to be times."""
    return np.matmul(a, b) if a.size == 1 or b.size == 1 else a.dot(b)


_DOT_OUT = "result dtype {} does not match input dtype {}"
mm = define(
    "mm(Tensor self, Tensor mat2)",
    _product((2, 2), 0, checks.check_mm),
    meaning="Return the product of a matrix (n, m) and a matrix (m, p): a matrix (n, p).",
    kind="product",
    self="mm(grad, t(mat2))",
    mat2="mm(t(self), grad)",
    out="exact",
)


def _mm_laid_out(strides: tuple[int, int], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b, column by column in memory if `strides` are so, as PyTorch computes a factor's gradient."""
    by_columns = strides[0] == a.itemsize and strides[1] == len(a) * a.itemsize
    return dotted(b.T, a.T).T if by_columns else dotted(a, b)


ARRAYS["mm_laid_out"] = _mm_laid_out
dot = define(
    "dot(Tensor self, Tensor tensor)",
    _product((1, 1), 0, checks.check_dot),
    meaning="Return the dot product of two vectors (n,): the sum of `input[i] * tensor[i]`.",
    self="grad * tensor",
    tensor="grad * self",
    out=_DOT_OUT,
)
mv = define(
    "mv(Tensor self, Tensor vec)",
    _product((2, 1), 0, checks.check_mv),
    meaning="Return the product of a matrix (n, m) and a vector (m,): a vector (n,).",
    self="unsqueeze(grad, 1) * vec",
    vec="mv(t(self), grad)",
    out="exact",
)
bmm = define(
    "bmm(Tensor self, Tensor mat2)",
    _product((3, 3), 1, checks.check_bmm),
    meaning="Return the matrix products of two batches: (b, n, m) and (b, m, p) give (b, n, p).",
    self="bmm(grad, transpose(mat2, 1, 2))",
    mat2="bmm(transpose(self, 1, 2), grad)",
    out="exact",
)
_squeeze_own = define("squeeze_own(Tensor self, dim)", np.squeeze, node="SqueezeBackward4", self="unsqueeze(grad, dim)")


@operation()
def matmul(self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product of two tensors, as `input @ other`.

    Matrices (n, m) and (m, p) give (n, p). Dimensions before the last two are batch dimensions, and
    are broadcast. A vector on the left counts as one row, and a vector on the right as one column.
    This row or column is removed from the result, so two vectors give a number.

    For matrices, the gradient of `input` is `grad @ other.mT` and that of `other` is
    `input.mT @ grad`, where `grad` is the gradient of the result. Both are summed over broadcast
    batch dimensions.

    Raises:
        RuntimeError: if the inner sizes (m) or the dtypes differ.

    Example:
        >>> (torch.ones(2, 3) @ torch.ones(3, 4)).shape, (torch.ones(2, 3) @ torch.ones(3)).shape
        (torch.Size([2, 4]), torch.Size([2]))
        >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
        torch.Size([5, 2, 4])
    """
    if out is not None:
        exact = _DOT_OUT if self._array.ndim == other._array.ndim == 1 else True
        return into("matmul", out, matmul, self, other, exact=exact)
    if not isinstance(other, Tensor):
        raise TypeError(checks.not_a_tensor("matmul", "other", 1, other))
    a, b = self._array, other._array
    if not a.ndim or not b.ndim:
        raise RuntimeError(errors.AT_LEAST_1D.format("matmul", a.ndim, b.ndim))
    if a.ndim == b.ndim == 1:
        return dot(self, other)
    if b.ndim == 1 and a.ndim == 2:
        return mv(self, other)
    if a.ndim == b.ndim == 2:
        return mm(self, other)
    if a.ndim == 1 and b.ndim == 2:
        return _squeeze_own(mm(self.unsqueeze(0), other), -2)
    if a.ndim == b.ndim == 3 and a.shape[0] != b.shape[0]:  # the one of two batches that would be repeated
        if a.shape[0] == 1 and self.requires_grad:
            return matmul(self.squeeze(0), other)
        if b.shape[0] == 1 and other.requires_grad:
            return matmul(self, other.squeeze(0))
    return _folded(self, other) if _folds(self, other) else _in_batches(self, other)


def _folds(self: Tensor, other: Tensor) -> bool:
    """Return True if a batch times one vector or matrix is computed as one product, as PyTorch decides it."""
    a, b = self._array, other._array
    many, one = (a, other) if a.ndim >= b.ndim else (b, self)
    if one._array.ndim > 2:
        return False
    if one.requires_grad:  # which were else repeated, and its gradient as large as the batch
        return True
    if a.ndim == 2:
        return False
    *outer, row, column = zip(steps_of(many), many.shape, strict=True)
    dims = [*outer, row if one is other else column]
    return not many.size or all([step == inner * size for (step, _), (inner, size) in pairwise(dims)])


def _folded(self: Tensor, other: Tensor) -> Tensor:
    """Return the product of a batch and one vector or matrix, the batch folded into the rows of a matrix."""
    turned = other._array.ndim > self._array.ndim
    many, one = (other.mT, self.t() if self._array.ndim == 2 else self) if turned else (self, other)
    *rows, inner = many._array.shape
    out = matmul(many.reshape(math.prod(rows), inner), one)
    out = _unsafe_view(out, (*rows, *one._array.shape[1:]))
    return out.mT.contiguous() if turned and one._array.ndim == 2 else out


def _in_batches(self: Tensor, other: Tensor) -> Tensor:
    """Return the product of two batches, which are repeated to one size; a vector is one row, or one column."""
    a, b = self._array.shape, other._array.shape
    if a[:-2] == b[:-2]:
        batch = a[:-2]
    else:
        checks.check_broadcast([a[:-2], b[:-2]])
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    count = math.prod(batch)
    left = a[-2:] if len(a) > 1 else (1, *a)
    rows = _as_batch(_expand(self, (*batch, *left)), (count, *left))
    columns = _as_batch(_expand(other, (*batch, *b[-2:])), (count, *b[-2:]))
    if len(b) == 1:
        return _unsafe_view(bmm(rows, columns.unsqueeze(2)).squeeze(-1), (*batch, left[0]))
    return _unsafe_view(bmm(rows, columns), (*batch, *a[-2:-1], b[-1]))


def _as_batch(t: Tensor, size: Shape) -> Tensor:
    return _view(t, size) if t._array.flags.c_contiguous else reshape(t, size)


Tensor.__matmul__ = lambda self, other: matmul(self, other) if isinstance(other, Tensor) else NotImplemented
Tensor.__rmatmul__ = lambda self, other: matmul(other, self) if isinstance(other, Tensor) else NotImplemented


def _addmm_of(a: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: float, alpha: float) -> np.ndarray:
    product = dotted(mat1, mat2)
    if alpha == beta == 1:
        product += a
        return product
    return added_to(a, product, beta, alpha)


def added_to(a: np.ndarray, product: np.ndarray, beta: float, alpha: float, reads: bool = False) -> np.ndarray:
    """Return beta * a + alpha * product; a factor of 0 skips its operand, and so that operand's nan.

    If `reads`, a product times 0 keeps its nan, as in those PyTorch kernels that don't call BLAS.
    """
    scaled = product if alpha == 1 else alpha * product if alpha or reads else np.zeros_like(product)
    return scaled + (a if beta == 1 else beta * a) if beta else scaled + np.zeros_like(a)


def _no_masks(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if args[0]._array.dtype.kind == "b":
        raise NotImplementedError(errors.NO_KERNEL.format("addmm_impl_cpu_", "Bool"))
    return args


_addmm = define(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, beta, alpha)",
    _addmm_of,
    kind="product",
    prepare=_no_masks,
    self="times(sum_to(grad, self.shape), beta)",
    mat1="times(mm(grad, t(mat2)), alpha)",
    mat2="times(mm(t(mat1), grad), alpha)",
    tangent="times(mm(mat1_t, mat2), alpha) + times(mm(mat1, mat2_t), alpha) + times(self_t, beta)",
)


def _check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    """Raise RuntimeError for anything but matrices, and for shapes or dtypes that don't fit."""
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t._array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t._array.ndim}-D tensor")
    checks.check_dtypes(input, mat1, mat2)
    checks.check_mm(mat1._array, mat2._array)
    checks.expanded(input, (mat1._array.shape[0], mat2._array.shape[1]))


@operation(in_place=True)
@checks.tensors_only()
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return `beta * input + alpha * (mat1 @ mat2)` for matrices (n, m) and (m, p).

    The input broadcasts to (n, p). If `beta` is 0, nan and inf in the input have no effect.
    """
    a, m, n = input._array, mat1._array, mat2._array
    is_row = m.ndim == n.ndim == 2 and m.shape[1] == n.shape[0] and a.shape == n.shape[1:]
    if not is_row or not a.dtype is m.dtype is n.dtype or a.dtype.kind != "f":  # which always fit
        _check_addmm(input, mat1, mat2)
    if type(beta) is not int or type(alpha) is not int:
        beta, alpha = checks.number_of("addmm", "beta", None, beta), checks.number_of("addmm", "alpha", None, alpha)
        if a.dtype.kind not in "fc":  # a number among integers loses its fraction
            beta, alpha = int(beta), int(alpha)
    return _addmm(input, mat1, mat2, beta, alpha)


@operation(also=("ger",))
@checks.tensors_only()
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """Return the outer product of two vectors: the product of each pair of their elements.

    Vectors (n,) and (m,) give a matrix (n, m), in which `out[i, j]` is `input[i] * vec2[j]`.
    """
    for name, t in (("self", self), ("vec2", vec2)):
        if t._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t._array.ndim}-D")
    return mul(_as_batch(self, (self._array.size, 1)), vec2)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input @ weight.T + bias`, the output of a linear layer.

    Args:
        input: A tensor (..., in features).
        weight: A matrix (out features, in features).
        bias: A vector (out features,), or None.

    Returns:
        A tensor (..., out features).

    Example:
        >>> F.linear(torch.ones(5, 3), torch.ones(2, 3), torch.zeros(2)).shape
        torch.Size([5, 2])
    """
    try:
        a, w, b = input._array, weight._array, None if bias is None else bias._array
    except AttributeError:
        given = ("input", input), ("weight", weight), ("bias", bias)
        position, name, t = next((i, name, t) for i, (name, t) in enumerate(given) if not isinstance(t, Tensor))
        raise TypeError(checks.not_a_tensor("linear", name, position, t)) from None
    if not a.ndim or not w.ndim:
        raise RuntimeError(errors.AT_LEAST_1D.format("linear", a.ndim, w.ndim))
    if bias is None or b is None:
        return matmul(input, weight.t())
    if a.ndim == 2:
        sizes = a.ndim == w.ndim and b.ndim == 1 and a.shape[1] == w.shape[1] and len(b) == len(w)
        if sizes and a.dtype is w.dtype is b.dtype:  # what addmm would look at once more
            return _addmm(bias, input, _t(weight), 1, 1)
        return addmm(bias, input, weight.t())
    is_row = b.ndim == 1 or sum([n != 1 for n in b.shape]) == 1
    if is_row and (a.ndim == 1 or a.flags.c_contiguous):
        rows = input.view(math.prod(a.shape[:-1]), a.shape[-1])
        return addmm(bias, rows, weight.t()).view(*a.shape[:-1], w.shape[0])
    return matmul(input, weight.t()).add_(bias)


Label = str | int  # a letter, or the number of a dimension that `...` stands for


@operation(method=False)
def einsum(equation: str, *operands: Any) -> Tensor:
    """Multiply tensors and sum the products, as described by an equation in Einstein notation.

    The equation has one letter for each dimension of each operand. Dimensions with the same letter
    must have the same size; they share one index. For each combination of indices, the elements of
    the operands are multiplied. The products are summed over every letter that doesn't appear after
    the arrow.

    Args:
        equation: For example "ij,jk->ik" for a matrix product, "ii->i" for a diagonal, or "bij->b"
            for a sum per sample. Without an arrow, the result has the letters that occur once, in
            alphabetical order. `...` represents dimensions that broadcast.
        operands: The tensors, one for each term before the arrow.

    Example:
        >>> a, b = torch.ones(2, 3), torch.ones(3, 4)
        >>> torch.einsum("ij,jk->ik", a, b).shape, torch.einsum("ij,jk->", a, b)
        (torch.Size([2, 4]), tensor(24.))
        >>> torch.einsum("bi,bi->b", a, a)
        tensor([3., 3.])
    """
    if not isinstance(equation, str) or not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least "
            "one operand and its subscripts list"
        )
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {kind_of(t)}")
    ndim, alignments = _plan(equation, tuple([t._array.shape for t in given]))
    aligned = []
    for t, (diagonals, missing, order) in zip(given, alignments, strict=True):
        for first, dim, back in diagonals:
            t = _permute(diagonal(t, 0, first, dim), back)
        for _ in range(missing):
            t = _unsqueeze(t, t._array.ndim)
        aligned.append(_permute(t, order))
    return _contracted(aligned, ndim)


Diagonals = list[tuple[int, int, Shape]]
Alignment = tuple[Diagonals, int, Shape]


@lru_cache(500)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> tuple[int, list[Alignment]]:
    """Return the result's number of dimensions, and how to bring operands of these shapes into one common order.

    The result's dimensions come first in it. RuntimeError if the equation or a shape is wrong.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise RuntimeError(
            "einsum(): fewer operands were provided than specified in the equation"
            if len(terms) > len(shapes)
            else "einsum(): more operands were provided than specified in the equation"
        )
    named = [_parse(term, f"operand {i}", equation) for i, term in enumerate(terms)]
    hidden = max([_hidden(labels, len(s), i) for i, (labels, s) in enumerate(zip(named, shapes, strict=True))])
    count = Counter(label for labels in named for label in labels if label != "...")
    if arrow:
        output = _parse(right, "output", equation)
        for label in output:
            if label != "..." and not count[label]:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
            if label != "..." and output.count(label) > 1:
                raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    else:
        output = ["...", *sorted(label for label, n in count.items() if n == 1)]
    result = _written_out(output, hidden, hidden)
    rest: list[Label] = [] if "..." in output else list(range(hidden))
    order = result + rest + sorted(label for label in count if label not in result)
    sizes: dict[Label, int] = dict.fromkeys(order, 1)
    alignments = []
    for i, (labels, shape) in enumerate(zip(named, shapes, strict=True)):
        covered = len(shape) - len(labels) + 1
        alignments.append(_alignment(shape, _written_out(labels, covered, hidden), order, sizes, i))
    return len(result), alignments


def _parse(term: str, where: str, equation: str) -> list[str]:
    """Return the labels of one operand, `...` among them."""
    before, dots, after = term.partition("...")
    if "." in before + after:
        if where == "output":
            raise RuntimeError(
                "einsum(): found '.' for output but an ellipsis (...) was already found"
                if dots
                else "einsum(): found '.' for output that is not part of any ellipsis (...)"
            )
        raise RuntimeError(
            (
                "einsum(): found '.' for {} for which an ellipsis was already found"
                if dots
                else "einsum(): found '.' for {} that is not part of any ellipsis"
            ).format(where)
        )
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(letter)} in the equation "
                "string, subscripts "
                "must be in [a-zA-Z]"
            )
    return [*before, *([dots] if dots else []), *after]


def _hidden(labels: list[str], ndim: int, i: int) -> int:
    """Return how many dimensions of an operand `...` stands for."""
    dots = "..." in labels
    letters = len(labels) - dots
    if letters > ndim if dots else letters != ndim:
        raise RuntimeError(
            (
                (
                    "einsum(): the number of subscripts in the equation ({}) is more than the number "
                    "of dimensions ({}) for operand {}"
                )
                if dots
                else (
                    "einsum(): the number of subscripts in the equation ({}) does not match the number "
                    "of dimensions ({}) for operand {} and no ellipsis was given"
                )
            ).format(letters, ndim, i)
        )
    return ndim - letters if dots else 0


def _written_out(labels: list[str], covered: int, hidden: int) -> list[Label]:
    """Return the labels with `...` replaced by the last `covered` of the hidden dimensions."""
    out: list[Label] = []
    for label in labels:
        out += range(hidden - covered, hidden) if label == "..." else [label]
    return out


def _alignment(shape: Shape, labels: list[Label], order: list[Label], sizes: dict[Label, int], i: int) -> Alignment:
    """Return how to bring an operand into the common order: diagonals for repeated labels, size 1 for missing ones."""
    found: dict[Label, int] = {}
    diagonals: Diagonals = []
    left = list(shape)  # the sizes of the dimensions that are left
    for label in labels:
        dim = len(found)
        size = left[dim]
        if label in found:
            first = found[label]
            if size != left[first]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't "
                    f"match, {size} != {left[first]}"
                )
            del left[dim]
            back = list(range(len(left) - 1))
            back.insert(first, len(left) - 1)
            diagonals.append((first, dim, tuple(back)))
            continue
        if size != 1 and sizes[label] not in (1, size):
            raise RuntimeError(
                f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with "
                f"previously seen size {sizes[label]}"
            )
        sizes[label] = size if size != 1 else sizes[label]
        found[label] = dim
    missing = [label for label in order if label not in found]
    for label in missing:
        found[label] = len(found)
    return diagonals, len(missing), tuple([found[label] for label in order])


def _contracted(operands: list[Tensor], ndim: int) -> Tensor:
    """Return the aligned operands multiplied from left to right, each dimension summed when its last operand comes."""
    out, *others = operands
    for right, (alone, products) in zip(others, _steps(tuple([t._array.shape for t in operands]), ndim), strict=True):
        left, right = [t.sum(dims, keepdim=True) if dims else t for t, dims in zip((out, right), alone, strict=True)]
        out = mul(left, right) if products is None else _pair(left, right, *products)
    if out._array.ndim == ndim:
        return out
    return view(out, out._array.shape[:ndim]) if others else out.sum(list(range(ndim, out._array.ndim)))


@lru_cache(500)
def _steps(shapes: tuple[Shape, ...], ndim: int) -> list[tuple[Any, Any]]:
    """Return for each product of two operands: the dimensions that each sums before, and how both sum together."""
    left, *others = shapes
    uses = [sum([shape[d] != 1 for shape in shapes]) for d in range(len(left))]
    steps = []
    for right in others:
        together: list[int] = []
        alone: tuple[list[int], list[int]] = ([], [])
        for d in range(ndim, len(left)):
            wide = [shape[d] != 1 for shape in (left, right)]
            if all(wide):
                uses[d] -= 1
                if uses[d] == 1:
                    together.append(d)
                    uses[d] = 0
            elif any(wide) and uses[d] == 1:
                alone[wide.index(True)].append(d)
                uses[d] = 0
        a, b = (
            [1 if d in dims else n for d, n in enumerate(shape)]
            for shape, dims in zip((left, right), alone, strict=True)
        )
        steps.append((alone, _products(a, b, together) if together else None))
        left = tuple([1 if d in together else m if n == 1 else n for d, (n, m) in enumerate(zip(a, b, strict=True))])
    return steps


Products = tuple[bool, Shape, Shape, Shape, Shape, Shape, Shape]


def _products(a: list[int], b: list[int], summed: list[int]) -> Products:
    """Return how the product of two shapes, summed over shared dimensions, becomes a batch of matrix products."""
    free = [d for d in range(len(a)) if d not in summed]
    both = [d for d in free if a[d] != 1 and b[d] != 1]
    rows = [d for d in free if a[d] != 1 and b[d] == 1]
    columns = [d for d in free if a[d] == 1]
    wide = [d for d in columns if b[d] != 1]
    if rows and wide and wide[-1] < rows[0]:  # the result then lies in memory in order
        return (True, *_products(b, a, summed)[1:])
    batch, n, k, m = (math.prod([s[d] for d in dims]) for s, dims in ((a, both), (a, rows), (a, summed), (b, columns)))
    order = both + rows + summed + columns
    sizes = [a[d] for d in both + rows] + [1] * len(summed) + [b[d] for d in columns]
    orders = (*both, *rows, *summed, *columns), (*both, *summed, *columns, *rows)
    return False, orders[0], (batch, n, k), orders[1], (batch, k, m), tuple(sizes), _inverse(order)


def _inverse(order: list[int]) -> Shape:
    return tuple([order.index(d) for d in range(len(order))])


def _pair(
    left: Tensor, right: Tensor, swapped: bool, rows: Shape, first: Shape, columns: Shape, second: Shape, *back: Shape
) -> Tensor:
    """left * right summed over dimensions that both have, as one batch of matrix products; those get size 1."""
    left, right = (right, left) if swapped else (left, right)
    product = bmm(_as_batch(_permute(left, rows), first), _as_batch(_permute(right, columns), second))
    return _permute(view(product, back[0]), back[1])
