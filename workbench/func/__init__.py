"""Function transforms: derivatives and batches of whole functions, nested as deep as you like (torch.func)."""

from ..compat.absent import refusing as _refusing
from .batches import vmap
from .module_state import functional_call, stack_module_state
from .transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
