"""A weight as its norm and direction, or with spectral norm 1 (torch.nn.utils.parametrizations)."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Tensor
from ...compat.absent import refusing
from ..functional import normalize
from ..modules.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization

__getattr__ = refusing(__name__)  # refuses absent names by a sentence
__all__ = ["spectral_norm", "weight_norm"]


def _lengths(v: Tensor, dim: int) -> Tensor:
    """Return the norm of each part along a dimension; of the whole if it is -1."""
    others = [d for d in range(v.ndim) if d != dim]
    return v.norm() if dim == -1 else v.norm(2, others, keepdim=True) if others else v.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the direction of `weight_v` with the norm `weight_g`."""
        return weight_v * (weight_g / _lengths(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the norm and the direction."""
        return _lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by a learned length and a learned direction: `weight = length * direction / norm(direction)`.

    PyTorch: torch.nn.utils.parametrizations.weight_norm; see Salimans and Kingma (2016).

    Args:
        module: The module that has the weight. It is changed in place and returned.
        name: The name of the weight.
        dim: The dimension along which each index has its own length. None means one length for the whole weight.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % ndim, eps, n_power_iterations
        if ndim > 1:
            rows = self._rows(weight)
            for name, size in zip(("_u", "_v"), rows.shape, strict=True):
                drawn = rows.new_empty(size).normal_(0, 1)
                self.register_buffer(name, normalize(drawn, dim=0, eps=eps))
            self._improve(rows, 15)

    def _rows(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _improve(self, rows: Tensor, times: int) -> None:
        """Move the two singular vectors closer to those of the largest singular value."""
        with no_grad():
            for _ in range(times):
                self._u.copy_(normalize(rows.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(rows.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight divided by its largest singular value."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        rows = self._rows(weight)
        if self.training:
            self._improve(rows, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # which the next call writes
        return weight / u.dot(rows.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value, which may have any norm."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, so that the layer stretches no vector.

    PyTorch: torch.nn.utils.parametrizations.spectral_norm; see Miyato et al. (2018).

    Args:
        module: The module that has the weight. It is changed in place and returned.
        name: The name of the weight.
        n_power_iterations: How many steps of power iteration improve the estimate of the singular value in each forward
            pass in training mode.
        eps: The smallest norm to divide by. A smaller norm counts as `eps`.
        dim: The dimension of the weight that has an index for each output. None means 1 for transposed convolutions,
            and 0 for all other modules.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
