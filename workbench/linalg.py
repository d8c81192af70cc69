"""Linear algebra of matrices and batches of them (torch.linalg)."""

from typing import Any as _Any

from .absent import PATH as _PATH
from .absent import refusal as _refusal
from .errors import LinAlgError
from .ops.library.linalg import (
    cholesky,
    cond,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
    vecdot,
    vector_norm,
)
from .ops.library.linalg import linalg_cross as cross
from .ops.library.linalg import linalg_diagonal as diagonal
from .ops.library.linalg import linalg_norm as norm
from .ops.linear import matmul

__path__ = _PATH  # so that `from ... import` of an absent name is refused by a sentence (absent.py)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.linalg", name)
