"""Parameters that are computed when a layer reads them (torch.nn.utils.parametrize).

The layer gets a class of its own, in which the parameter's name is a property.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...compat.absent import refusing
from ..modules.containers import ModuleDict
from ..modules.module import Module, ModuleList

__getattr__ = refusing(__name__)  # refuses absent names by a sentence
__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]
CHANGED = (
    "Registering a parametrization may not change the {0} of the tensor, unless `unsafe` flag is enabled.\n"
    "unparametrized {0}: {1}\nparametrized {0}: {2}"
)
_open = 0  # how many `cached` blocks are open
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside the `with` block, run the parametrizations of each parameter only once: when it is first read."""
    global _open
    _open += 1
    try:
        yield
    finally:
        _open -= 1
        if not _open:
            _cache.clear()


def _hold(module: Module, name: str, t: Tensor) -> None:
    if isinstance(t, Parameter):
        module.register_parameter(name, t)
    else:
        module.register_buffer(name, t)


class ParametrizationList(ModuleList):
    """The modules that compute one parameter, each from the result of the one before it.

    The first one gets `original`, or `original0`, `original1`, ... if its inverse returns several tensors.

    Args:
        modules: The modules, in the order in which they run.
        original: The parameter to compute. The modules' inverses find the values from which to compute it.
        unsafe: If True, the parameter's shape and dtype may change, and nothing is checked.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            found: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        found = module.right_inverse(found)
                    except NotImplementedError:
                        break
        if not isinstance(found, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(found).__name__}"
            )
        self.is_tensor = isinstance(found, Tensor)
        self.ntensors = 1 if self.is_tensor else len(found)
        if isinstance(found, Tensor):
            if found is not original:
                with no_grad():
                    original.set_(found)
            _hold(self, "original", original)
        else:
            for i, t in enumerate(found):
                _hold(self, f"original{i}", Parameter(t, original.requires_grad))
        if not unsafe:
            self._check(original.dtype, original.shape if self.is_tensor else found[0].shape, self())

    def _check(self, dtype: Any, shape: Any, found: Any) -> None:
        if not isinstance(found, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        if found.dtype is not dtype:
            raise ValueError(CHANGED.format("dtype", dtype, found.dtype))
        if self.is_tensor and found.shape != shape:
            raise ValueError(CHANGED.format("shape", shape, found.shape))

    def originals(self) -> list[Tensor]:
        """Return the arguments of the first module."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parameter is `value`; every module must define `right_inverse`."""
        with no_grad():
            found: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                found = module.right_inverse(found)
            for own, new in zip(self.originals(), [found] if self.is_tensor else found, strict=True):
                own.set_(new)

    def forward(self) -> Tensor:
        """Return the parameter."""
        first, *others = list(self)
        found = first(*self.originals())
        for module in others:
            found = module(found)
        return found


def _property(name: str) -> property:
    def read(module: Any) -> Tensor:
        if not _open:
            return module.parametrizations[name]()
        key = id(module), name
        if key not in _cache:
            _cache[key] = module.parametrizations[name]()
        return _cache[key]

    def write(module: Any, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(read, write)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if the module has a parameter with parametrizations, or if `tensor_name` is one."""
    held = vars(module).get("_modules", {}).get("parametrizations")
    return held is not None and (len(held) > 0 if tensor_name is None else tensor_name in held)


def type_before_parametrizations(module: Module) -> type:
    """Return the class of the module before it had computed parameters."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer of `module` by the output of `parametrization`, and return `module`.

    `parametrization` runs each time the parameter is read: `module.weight` is then `parametrization(original)`, where
    `original` is the parameter that is trained. PyTorch: torch.nn.utils.parametrize.register_parametrization.

    Args:
        module: The module that has the parameter.
        tensor_name: The name of the parameter or buffer.
        parametrization: A module that takes the original and returns the parameter. If it defines the inverse function,
            `right_inverse`, you can also assign to the parameter.
        unsafe: If True, the parametrization may change the shape and the dtype.

    Raises:
        ValueError: if the shape or dtype changes and `unsafe` is False.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known: Any = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            known._check(value.dtype, value.shape, parametrization(value))
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            kind = type(module)
            module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parameter with parametrizations an ordinary parameter again, and return the module.

    Args:
        module: The module that has the parameter.
        tensor_name: The name of the parameter.
        leave_parametrized: If True, the parameter keeps the value that its parametrizations compute. If False, it gets
            the original value.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known: Any = module.parametrizations[tensor_name]
    if not known.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    kept = known.originals()[0]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name)
            if known.is_tensor:
                kept.set_(value)
            else:
                kept = Parameter(value, kept.requires_grad) if isinstance(kept, Parameter) else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _hold(module, tensor_name, kept)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module
