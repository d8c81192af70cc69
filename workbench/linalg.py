"""Linear algebra of matrices and batches of them (torch.linalg)."""

from .compat.absent import refusing as _refusing
from .errors import LinAlgError
from .ops.library.linalg import (
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    matrix_power,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from .ops.library.linalg_norms import cond, matrix_norm, multi_dot, vecdot, vector_norm
from .ops.library.linalg_norms import linalg_cross as cross
from .ops.library.linalg_norms import linalg_diagonal as diagonal
from .ops.library.linalg_norms import linalg_norm as norm
from .ops.linear import matmul

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

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
