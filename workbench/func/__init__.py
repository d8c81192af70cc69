"""Functions of functions: derivatives and batches of whole functions, nested as one likes (torch.func)."""

from .forward import hessian, jacfwd, jvp, linearize
from .reverse import grad, grad_and_value, jacrev, vjp
from .stateless import functional_call
from .vectorize import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]
