"""Einstein's summation: operands brought into one order of dimensions, then multiplied pair by pair with bmm."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ..autograd.tensor import Tensor
from .linear import bmm
from .movement import view
from .pointwise import mul
from .refusals import kind_of
from .splitting import diagonal

Label = str | int  # a letter, or the number of a dimension that `...` stands for


def einsum(equation: str, *operands: Any) -> Tensor:
    """Products of elements summed over every label that the output does not have: `einsum("ij,jk->ik", a, b)`."""
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {kind_of(t)}")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(given):
        which = "fewer" if len(terms) > len(given) else "more"
        raise RuntimeError(f"einsum(): {which} operands were provided than specified in the equation")
    named = [_parse(term, f"operand {i}", equation) for i, term in enumerate(terms)]
    hidden = max([_hidden(labels, t, i) for i, (labels, t) in enumerate(zip(named, given, strict=True))], default=0)
    count = Counter(label for labels in named for label in labels if label != "...")
    if arrow:
        output = _parse(right, "output", equation)
        for label in output:
            if label != "..." and (output.count(label) > 1 or not count[label]):
                trouble = "appears more than once in the output"
                if not count[label]:
                    trouble = "does not appear in the equation for any input operand"
                raise RuntimeError(f"einsum(): output subscript {label} {trouble}")
    else:
        output = ["...", *sorted(label for label, n in count.items() if n == 1)]
    kept = _written_out(output, hidden, hidden)
    rest: list[Label] = [] if "..." in output else list(range(hidden))
    order = kept + rest + sorted(label for label in count if label not in kept)
    sizes: dict[Label, int] = dict.fromkeys(order, 1)
    aligned = []
    for i, (labels, t) in enumerate(zip(named, given, strict=True)):
        covered = t.ndim - len(labels) + 1
        aligned.append(_aligned(t, _written_out(labels, covered, hidden), order, sizes, i))
    return _contracted(aligned, len(kept))


def _parse(term: str, where: str, equation: str) -> list[str]:
    """The labels of one operand, `...` among them."""
    before, dots, after = term.partition("...")
    if "." in before + after:
        if dots:
            already = "but an ellipsis (...)" if where == "output" else "for which an ellipsis"
            raise RuntimeError(f"einsum(): found '.' for {where} {already} was already found")
        form = " (...)" if where == "output" else ""
        raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{form}")
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {equation.index(letter)} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
    return [*before, *([dots] if dots else []), *after]


def _hidden(labels: list[str], t: Tensor, i: int) -> int:
    """How many dimensions of an operand `...` stands for."""
    dots = "..." in labels
    letters = len(labels) - dots
    if letters > t.ndim if dots else letters != t.ndim:
        amount = "is more than" if dots else "does not match"
        end = "" if dots else " and no ellipsis was given"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({letters}) {amount} the number of dimensions "
            f"({t.ndim}) for operand {i}{end}"
        )
    return t.ndim - letters if dots else 0


def _written_out(labels: list[str], covered: int, hidden: int) -> list[Label]:
    """The labels with `...` replaced by the last `covered` of the hidden dimensions."""
    out: list[Label] = []
    for label in labels:
        out += range(hidden - covered, hidden) if label == "..." else [label]
    return out


def _aligned(t: Tensor, labels: list[Label], order: list[Label], sizes: dict[Label, int], i: int) -> Tensor:
    """The operand with its dimensions in the common order: diagonals for repeated labels, size 1 for missing ones."""
    found: dict[Label, int] = {}
    for label in labels:
        dim = len(found)
        size = t._array.shape[dim]
        if label in found:
            first = found[label]
            if size != t._array.shape[first]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                    f"{size} != {t._array.shape[first]}"
                )
            t = diagonal(t, 0, first, dim)
            back = list(range(t.ndim - 1))
            back.insert(first, t.ndim - 1)
            t = t.permute(back)
            continue
        if size != 1 and sizes[label] not in (1, size):
            raise RuntimeError(
                f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with "
                f"previously seen size {sizes[label]}"
            )
        sizes[label] = size if size != 1 else sizes[label]
        found[label] = dim
    for label in order:
        if label not in found:
            found[label] = t.ndim
            t = t.unsqueeze(t.ndim)
    return t.permute([found[label] for label in order])


def _contracted(operands: list[Tensor], kept: int) -> Tensor:
    """The aligned operands multiplied from left to right, each dimension summed when its last operand comes."""
    ndim, several = operands[0].ndim, len(operands) > 1
    uses = [sum(t._array.shape[d] != 1 for t in operands) for d in range(ndim)]
    while len(operands) > 1:
        left, right, *others = operands
        together: list[int] = []
        alone: tuple[list[int], list[int]] = ([], [])
        for d in range(kept, ndim):
            wide = [t._array.shape[d] != 1 for t in (left, right)]
            if all(wide):
                uses[d] -= 1
                if uses[d] == 1:
                    together.append(d)
                    uses[d] = 0
            elif any(wide) and uses[d] == 1:
                alone[wide.index(True)].append(d)
                uses[d] = 0
        left, right = (t.sum(dims, keepdim=True) if dims else t for t, dims in zip((left, right), alone, strict=True))
        operands = [_pair(left, right, together), *others]
    (out,) = operands
    if ndim == kept:
        return out
    return view(out, out._array.shape[:kept]) if several else out.sum(list(range(kept, ndim)))


def _pair(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """left * right summed over dimensions that both have, as one batch of matrix products; those get size 1."""
    if not summed:
        return mul(left, right)
    a, b = left._array.shape, right._array.shape
    free = [d for d in range(len(a)) if d not in summed]
    both = [d for d in free if a[d] != 1 and b[d] != 1]
    rows = [d for d in free if a[d] != 1 and b[d] == 1]
    columns = [d for d in free if a[d] == 1]
    wide = [d for d in columns if b[d] != 1]
    if rows and wide and wide[-1] < rows[0]:  # the result then lies in memory in order
        return _pair(right, left, summed)
    batch, n, k, m = (math.prod(s[d] for d in dims) for s, dims in ((a, both), (a, rows), (a, summed), (b, columns)))
    product = bmm(
        left.permute(both + rows + summed + columns).reshape(batch, n, k),
        right.permute(both + summed + columns + rows).reshape(batch, k, m),
    )
    order = both + rows + summed + columns
    sizes = [a[d] for d in both + rows] + [1] * len(summed) + [b[d] for d in columns]
    return view(product, sizes).permute([order.index(d) for d in range(len(order))])
