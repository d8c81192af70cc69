"""Tensors in another dtype, and tensors and the rest of Python: NumPy arrays, copies, pickles, printed numbers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.dtypes import dtype as Dtype
from ..autograd.forward_ad import unpack_dual
from ..autograd.state import local, quietly
from ..autograd.tensor import Size, Tensor, bump, subclasses, tensor_method, wrap
from ..autograd.views import geometry_of, reach, strided
from ..errors import kind_of, warn
from ..events import emit, failed, listeners
from .core import formats
from .core.checks import CPU, check_device, check_tensor, dim_index, is_int, not_a_tensor, size_of, tensors_only
from .core.checks import device as Device
from .core.described import explain_shared
from .core.formats import laid_out
from .core.op import define, dispatch_complex, method, operation
from .core.registry import REGISTRY
from .core.results import placed, steps_of
from .creation import empty, full, tensor

_to_copy = define(
    "to_copy(Tensor self, dtype; source)",
    lambda a, dtype, source: (a if dtype.rank == 3 else a.real).astype(dtype.np, "C" if 0 in a.strides else "K"),
    batch="pointwise",
    self="to_copy(grad, source, dtype)",
)


_to_format = define(
    "to_copy_ordered(Tensor self, dtype, memory_format; source)",
    lambda a, dtype, memory_format, source: laid_out(
        (a if dtype.rank == 3 else a.real).astype(dtype.np, "K"), memory_format
    ),
    node="ToCopyBackward0",
    batch="in front",
    self="to_copy(grad, source, dtype)",
)


@method()
def to(self: Tensor, *given: Any, **options: Any) -> Tensor:
    """Return the tensor in another dtype, or the tensor itself if it has that dtype already.

    Args:
        given: The dtype to convert to, or a tensor that has it. The device "cpu" is accepted too.
        options: `dtype`, `device`, `copy=True` to always copy, and `memory_format`.
    """
    if len(given) == 1 and not options:
        return _cast(self, given[0]) if isinstance(given[0], dtypes.dtype) else _cast(self, *meant(*given))
    return _cast(self, *meant(*given, **options))


def meant(
    *given: Any,
    dtype: Any = None,
    device: Any = None,
    other: Tensor | None = None,
    copy: bool = False,
    memory_format: Any = None,
    **ignored: Any,
) -> tuple[Any, bool, Any]:
    """Return the dtype requested from `to`, whether a copy is required, and the memory order."""
    rest = list(given)
    if rest and isinstance(rest[0], (str, type(CPU), type(None))):
        device = rest.pop(0)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest:
        dtype = rest.pop(0)
        if isinstance(dtype, (bool, float)) and len(rest) + 1 == len(given):  # in the first place it means its type
            dtype = type(dtype)
    if device is not None:
        check_device(device)
    return dtype if other is None else other.dtype, rest[1] if len(rest) > 1 else copy, memory_format


def _cast(self: Tensor, dtype: Any, copy: bool = False, memory_format: Any = None) -> Tensor:
    dtype = dtypes.chosen_dtype("to", dtype, self.dtype)
    if memory_format is not None and memory_format is not formats.preserve_format:
        return _cast_to_format(self, dtype, copy, memory_format)
    if self._array.dtype is dtype.np and not copy:
        return self
    recorded = dtype.rank > 1 or local.modes.levels
    if dtype.is_complex or self._array.dtype.kind == "c":
        if not dtype.is_complex and dtype is not dtypes.bool_:
            warn(errors.COMPLEX_TO_REAL)
        if recorded:
            return dispatch_complex(_to_copy.op, (self, dtype, self.dtype))
    array = self._array if dtype.rank in (0, 3) else self._array.real
    return _to_copy(self, dtype, self.dtype) if recorded else _cast_off(self, quietly(array.astype, dtype.np))


def _cast_to_format(self: Tensor, dtype: Dtype, copy: bool, memory_format: Any) -> Tensor:
    """Return the tensor in a dtype and in an order in memory: itself if it has both already, unless `copy` is set."""
    formats.check_format("to", memory_format)
    formats.check_rank(self._array.ndim, memory_format)
    kinds = [each for each in (formats.channels_last, formats.channels_last_3d) if _lies(self, formats.suggested, each)]
    if self.dtype is dtype and not copy and (kinds or [formats.contiguous_format])[0] is memory_format:
        if memory_format.order or self._array.flags.c_contiguous:
            return self
    if dtype.rank > 1 or local.modes.levels:
        return _to_format(self, dtype, memory_format, self.dtype)
    return _cast_off(self, laid_out(quietly(self._array.astype, dtype.np), memory_format))


def _cast_off(self: Tensor, array: np.ndarray) -> Tensor:
    """Return a tensor in a dtype that takes no gradients."""
    made = wrap(array)
    if listeners:
        emit(("unrecorded", "to", (self,), (made,)))
    return made


def in_dtype(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the operation with a dtype as one more argument: one node casts and computes, as in PyTorch."""
    op = function.op
    name, rest = op.name.partition("_")[0], op.signature.partition("(Tensor self")[2].removesuffix(")")
    casting = define(
        f"{op.name}_as(Tensor self{rest}, dtype; source)",
        lambda a, *given: op.forward((a if given[-2].rank == 3 else a.real).astype(given[-2].np), *given[:-2]).astype(
            given[-2].np, copy=False
        ),
        node=op.node_name,
        tangent=op.tangent,
        batch=f"{op.batch}_as" if "batch" in op.__dict__ else None,
        self=f"to_copy({op.formulas['self']}, source, dtype)",
    )

    def computed(self: Tensor, *args: Any, dtype: Any) -> Tensor:
        kind = dtypes.chosen_dtype(name, dtype, self.dtype)
        if kind is self.dtype and kind.rank > 1:
            return function(self, *args)
        if self.requires_grad and local.modes.grad and kind.rank < 2:
            raise RuntimeError(f"Autograd not support dtype: {kind.word}")
        if kind.is_complex:
            return dispatch_complex(casting.op, (self, *args, kind, self.dtype))
        return casting(self, *args, kind, self.dtype)

    return computed


for _name, _dtype in (
    ("double", dtypes.float64),
    ("float", dtypes.float32),
    ("half", dtypes.float16),
    ("long", dtypes.int64),
    ("int", dtypes.int32),
    ("byte", dtypes.uint8),
    ("bool", dtypes.bool_),
    ("cfloat", dtypes.complex64),
    ("cdouble", dtypes.complex128),
):
    setattr(
        Tensor,
        _name,
        lambda self, *, memory_format=None, _dtype=_dtype: _cast(self, _dtype, memory_format=memory_format),
    )
    getattr(Tensor, _name).__doc__ = f"Return the tensor converted to {_dtype.name}."
    explain_shared(getattr(Tensor, _name))
TYPES = {f"torch.{each.word}Tensor": each for each in dtypes.ALL}


class tensortype(type):
    """The kind of the old names of tensors of one dtype, such as FloatTensor."""

    dtype: Dtype
    layout, is_cuda, is_sparse = formats.strided, False, False

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, Tensor) and thing.dtype is cls.dtype

    def __call__(cls, *given: Any, size: Any = None, data: Any = None, device: Any = None) -> Tensor:
        _check_old_device(device)
        return wrap(np.empty(0, cls.dtype.np)).new(*given, size=size, data=data)


@method("type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> str | Tensor:
    """Return the name of the tensor's type, such as "torch.DoubleTensor", or convert it to `dtype`."""
    if dtype is None:
        return f"torch.{self.dtype.word}Tensor"
    if isinstance(dtype, tensortype):
        return _cast(self, dtype.dtype)
    if isinstance(dtype, str) and dtype not in TYPES:
        raise ValueError(f"invalid type: '{dtype}'")
    return _cast(self, TYPES.get(dtype, dtype))


@method()
@tensors_only()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype of `other`; the tensor itself if it has that dtype already."""
    return _cast(self, other.dtype)


@method()
def cpu(self: Tensor) -> Tensor:
    """Return the tensor itself, as every tensor is on the CPU."""
    return self


@method()
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raise an error: the workbench has no GPU.

    Raises:
        AssertionError: for a CUDA device, the default.
        RuntimeError: for another kind of device, or if only a number is given.
    """
    if isinstance(device, int):
        raise RuntimeError(errors.NO_ACCELERATOR)
    if device is not None and Device(device).type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    raise AssertionError(errors.NO_CUDA)


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise RuntimeError: there is no device for which memory could be pinned."""
    raise RuntimeError(errors.NO_ACCELERATOR)


@method()
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Return False: there is no device for which memory could be pinned."""
    return False


@method()
def stride(self: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """Return how far apart neighbors along each dimension, or along `dim`, are in memory.

    Distances are counted in elements: a step along the last dimension usually moves by 1.
    """
    a = self._array if self._array.size else np.broadcast_to(0, [max(n, 1) for n in self._array.shape]).copy()
    steps = tuple([s // a.itemsize for s in steps_of(a)])
    return steps if dim is None else steps[dim_index(dim, a.ndim)]


@method()
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Return True if the elements are in memory in the order of their indices.

    Args:
        memory_format: Another order to test for, such as `channels_last`.
    """
    if memory_format is None or memory_format in (formats.contiguous_format, formats.preserve_format):
        return self._array.flags.c_contiguous
    formats.check_format("is_contiguous", memory_format)
    return _lies(self, formats.lies_as, memory_format)


def _lies(self: Tensor, how: Callable[..., bool], memory_format: Any) -> bool:
    return how(self._array.shape, self.stride(), memory_format)


@method()
def data_ptr(self: Tensor) -> int:
    """Return the address in memory of the first element."""
    return self._array.__array_interface__["data"][0]


def memory_of(array: np.ndarray) -> np.ndarray:
    """Return the array whose memory this one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@method()
def storage_offset(self: Tensor) -> int:
    """Return the position of the tensor's first element in its memory."""
    memory = memory_of(self._array)
    first, start = (a.__array_interface__["data"][0] for a in (self._array, memory))
    return (first - start) // self._array.itemsize


@method()
def element_size(self: Tensor) -> int:
    """Return the size of one element in bytes."""
    return self._array.itemsize


@operation()
def is_nonzero(input: Tensor) -> bool:
    """Return True if the tensor's only element isn't zero.

    Raises:
        RuntimeError: if the tensor doesn't have exactly one element.
    """
    return bool(input)


def is_inference(input: Tensor) -> bool:
    """Return True if the tensor was made in inference mode."""
    check_tensor("is_inference", "input", 0, input)
    return input.is_inference()


@operation()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if the tensor and `other` have the same shape."""
    check_tensor("is_same_size", "other", 1, other)
    return input._array.shape == other._array.shape


Tensor.nelement, Tensor.ndimension = Tensor.numel, Tensor.dim
for _name, _property in (
    ("itemsize", property(element_size)),
    ("nbytes", property(lambda self: self._array.nbytes, doc="The number of bytes of all elements.")),
    ("device", property(lambda self: CPU, doc="Where the tensor's memory is.")),
    ("is_cpu", property(lambda self: True, doc="Always True: tensors are in the computer's own memory.")),
    ("is_cuda", property(lambda self: False, doc="Always False.")),
    ("layout", property(lambda self: formats.strided, doc="Always strided: every element is stored.")),
):
    setattr(Tensor, _name, _property)
for _name in "sparse sparse_csr quantized mkldnn meta mps xpu ipu xla maia mtia vulkan nested".split():
    setattr(Tensor, f"is_{_name}", property(lambda self: False, doc="Always False."))


@operation()
def is_complex(input: Tensor) -> bool:
    """Return True if the elements are complex numbers."""
    return input._array.dtype.kind == "c"


@operation()
def is_conj(input: Tensor) -> bool:
    """Return False: the workbench computes every conjugate immediately."""
    return False


@operation()
def is_neg(input: Tensor) -> bool:
    """Return False: the workbench computes every negation immediately."""
    return False


@operation()
def is_distributed(input: Tensor) -> bool:
    """Return False: no tensor is spread over processes."""
    return False


@operation()
def is_signed(input: Tensor) -> bool:
    """Return True if the dtype can represent negative numbers."""
    return input._array.dtype.kind in "fic"


@method()
def get_device(self: Tensor) -> int:
    """Return -1, PyTorch's number for the CPU."""
    return -1


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Return a tensor that shares the memory of the NumPy array `ndarray`.

    A write into one changes the other.
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        word = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"expected np.ndarray (got {word})")
    dtypes.of(ndarray)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with "
            "negative strides are not currently supported. (You can probably work around this "
            "by making a copy of your array  with array.copy().) "
        )
    if not ndarray.flags.writeable:
        warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You "
            "may want to copy the array to protect its data or make it writable before "
            "converting it to a tensor. This type of warning will be suppressed for the rest "
            "of this program."
        )
    return wrap(ndarray)


@placed
def as_tensor(data: Any, dtype: Dtype | None = None) -> Tensor:
    """Return `data` as a tensor, without a copy if possible.

    A tensor is returned as it is. For a NumPy array, the result shares the array's memory.

    Args:
        data: A tensor, an array, a number or nested lists of numbers.
        dtype: The dtype of the result. If `data` has another dtype, it is copied.
    """
    if not isinstance(data, (Tensor, np.ndarray)):
        return tensor(data, dtype=dtype)
    t = data if isinstance(data, Tensor) else from_numpy(data)
    return t if dtype is None else t.to(dtype)


@placed
def asarray(
    obj: Any, *, dtype: Dtype | None = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """Return `obj` as a tensor, like `as_tensor`, with control over copying and gradients.

    Args:
        obj, dtype: The same as in `as_tensor`.
        copy: If True, always copy, not only if necessary.
        requires_grad: Whether the result requires grad. False detaches a tensor from its graph.
    """
    t = as_tensor(obj)
    if requires_grad is None and t.requires_grad:
        warn(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
            "instead of False. Pass requires_grad=False explicitly to get the old behavior and "
            "silence this warning."
        )
    t = t if dtype is None else t.to(dtype)
    t = t.clone() if copy else t
    if requires_grad is None:
        return t
    return t.requires_grad_(requires_grad) if t.is_leaf else t if requires_grad else t.detach()


@method("new_tensor")
@placed
def _new_tensor(self: Tensor, data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf tensor with a copy of `data`, in this tensor's dtype unless `dtype` is given.

    No gradient flows back to `data`: to keep the graph, use `data.clone()`.

    Args:
        data: A number, nested lists, an array or a tensor.
    """
    return tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method("new")
@placed
def new(self: Tensor, *given: Any, size: Any = None, data: Any = None, other: Tensor | None = None) -> Tensor:
    """Return a tensor in the dtype of this one, for old programs.

    A shape, or `size`, gives a tensor with uninitialized elements. A sequence of numbers, or
    `data`, gives a tensor with these numbers. A tensor of the same dtype, or `other`, gives a view
    of it.
    """
    source = _one_source(given, data, other)
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        raise TypeError(
            f"expected TensorOptions(dtype={self.dtype.c_name}, device=cpu, layout=Strided, requires_grad=false "
            "(default), pinned_memory=false (default), memory_format=(nullopt)) (got "
            f"TensorOptions(dtype={source.dtype.c_name}, device=cpu, layout=Strided, requires_grad=false "
            "(default), pinned_memory=false (default), memory_format=(nullopt)))"
        )
    return _of_sizes_or_data(self.dtype, given, size, source)


@tensor_method("_construct")
def _construct(
    *given: Any, size: Any = None, data: Any = None, other: Tensor | None = None, device: Any = None, **unknown: Any
) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`: in the default dtype; of a tensor, a view in its own."""
    if unknown:
        raise TypeError(f"new() received an invalid combination of arguments - it takes no {next(iter(unknown))}")
    _check_old_device(device)
    return _of_sizes_or_data(dtypes.get_default_dtype(), given, size, _one_source(given, data, other))


def _check_old_device(device: Any) -> None:
    if device is not None and (kind := Device(device).type) != CPU.type:
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed")


def _one_source(given: tuple[Any, ...], data: Any, other: Any) -> Any:
    """Return the tensor or the sequence of numbers that a constructor was given alone."""
    return next((source for source in (data, other, *(given if len(given) == 1 else ())) if source is not None), None)


def _of_sizes_or_data(dtype: Dtype, given: tuple[Any, ...], size: Any, source: Any) -> Tensor:
    """Return what older constructors make: of whole numbers a shape, of a sequence its numbers, of a tensor a view."""
    if isinstance(source, Tensor):
        return REGISTRY["alias"].function(source)
    if size is not None or len(given) > 1 or is_int(source) or isinstance(source, Size):
        return empty(size_of("new", given, size, 0), dtype=dtype)
    if not given and source is None:
        return empty(0, dtype=dtype)
    if not isinstance(source, (np.ndarray, Sequence)):
        raise TypeError(f"new(): data must be a sequence (got {kind_of(source)})")
    return tensor(list(source) if isinstance(source, range) else source, dtype=dtype)


@method("new_full")
@placed
def _new_full(
    self: Tensor, size: Any, fill_value: float, *, dtype: Dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return a new tensor of shape `size` filled with `fill_value`, in this tensor's dtype."""
    return full(size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method("__array_wrap__")
def _from_ufunc(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """Return a NumPy function's result as a tensor; masks become bytes."""
    return from_numpy(np.asarray(array, np.uint8 if array.dtype.kind == "b" else None))


@method("__complex__")
def _complex(self: Tensor) -> complex:
    return complex(self._array.item())


@method("__contains__")
def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex, np.generic)):
        return bool((self == element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _copied(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """Return an array with the same layout in its copy of the memory as in the memory itself."""
    memory = memory_of(array)
    if not memory.flags.forc or not memory.size:
        return array.copy(order="K")
    key = id(memory)
    if key not in memo:
        memo[key] = memory.copy(order="K")
        memo.setdefault(id(memo), []).append(memory)  # alive, so that its id stays its own
    first, start = (a.__array_interface__["data"][0] for a in (array, memory))
    return np.ndarray(array.shape, array.dtype, memo[key], first - start, array.strides)


@method("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a copy of a leaf, with its own memory, gradient and attributes.

    In a copied structure, tensors that share memory share it in the copy, too.

    Raises:
        RuntimeError: if a recorded operation computed the tensor.
    """
    if not self.is_leaf:
        raise failed(RuntimeError(errors.DEEPCOPY_NON_LEAF), self)
    out = memo[id(self)] = wrap(_copied(self._array, memo), self.requires_grad)
    bump(out)
    grad = None if self._meta is None else self._meta.grad
    if grad is not None:
        out.grad = copy.deepcopy(grad, memo)
    vars(out).update(copy.deepcopy(self.__dict__, memo))
    return out


@method()
def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Let the tensor use the memory of `source` from now on, or no memory if `source` is None.

    Autograd counts this as a write into the tensor, but doesn't record it.

    Raises:
        RuntimeError: if the write would have to be recorded, because it has no derivative, or if
            the dtypes differ.
    """
    if source is None:
        source = wrap(np.empty(0, self._array.dtype))
    elif not isinstance(source, Tensor):
        kind = errors.kind_of(source)
        raise failed(TypeError(f"set_(): argument 'source' (position 1) must be Tensor, not {kind}"), self)
    if source.dtype != self.dtype:
        theirs, ours = source.dtype.c_name, self.dtype.c_name
        raise failed(RuntimeError(f"Could not set tensor of type {theirs} to a tensor of type {ours}"), self)
    if local.modes.grad and (self.requires_grad or source.requires_grad):
        leaf = self.requires_grad and self.is_leaf
        raise failed(RuntimeError(errors.LEAF_IN_PLACE if leaf else "derivative for set_ is not implemented"), self)
    self.data = source
    if self._meta is not None:
        self._meta.accumulator = None  # from now on another one
    bump(self)
    if listeners:
        emit(("wrote", self, "set_", None))
    return self


@method()
def resize_(self: Tensor, *given: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Change the shape of the tensor to `size`, in place, even to another number of elements.

    The tensor uses the same memory if that has enough elements, and new memory otherwise. New
    elements are uninitialized. Autograd treats this as a write into the tensor.

    Raises:
        RuntimeError: if the tensor requires grad.
    """
    shape = size_of("resize_", given, size, 1)
    if self.requires_grad:
        raise failed(RuntimeError("cannot resize variables that require grad"), self)
    count, old, memory = math.prod(shape), self._array, memory_of(self._array)
    ahead, width = geometry_of(old, memory)[2], old.itemsize
    there = (reach(memory) - ahead) // width
    if count <= there:
        new = strided(memory, (shape, np.empty(shape, old.dtype).strides, ahead))
    else:
        new = np.empty(shape, old.dtype)
        new.reshape(-1)[:there] = strided(memory, ((there,), (width,), ahead))
    if memory_format is not None:
        new = formats.cloned(new, memory_format)
    self._array = new
    bump(self)
    if listeners:
        emit(("wrote", self, "resize_", None))
    return self


@method()
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of `the_template`, as `resize_` does."""
    if not isinstance(the_template, Tensor):
        raise TypeError(not_a_tensor("resize_as_", "the_template", 0, the_template))
    return resize_(self, the_template.shape, memory_format=memory_format)


@method("__reduce_ex__")
def _reduce(self: Tensor, protocol: int) -> tuple[Any, ...]:
    """Return what a pickle keeps: elements, attributes, whether it requires grad; neither gradient nor history."""
    return rebuilt, (self._array, self.requires_grad), self.__dict__ or None


def rebuilt(array: np.ndarray, requires_grad: bool) -> Tensor:
    """Return a leaf from its pickle; the array has its own dtype object, which is exchanged for the shared one."""
    made = wrap(array.view(np.dtype(array.dtype.name)), requires_grad)
    bump(made)
    return made


# How a tensor prints: the numbers in columns as torch prints them, then what is worth knowing about it.
PRECISION = 4
THRESHOLD = 1000
EDGE = 3
LINE = 80


class _Column:
    """One width and one notation for all the numbers shown."""

    def __init__(self, array: np.ndarray) -> None:
        self.notation, measured = "{}", array
        if array.dtype.kind == "f":
            measured = array[np.isfinite(array) & (array != 0)]  # zeros and what is no number must make do
            self.notation = "{:.0f}."
            if measured.size:
                sizes = np.abs(measured.astype(np.float64))
                whole = bool(np.all(sizes == np.ceil(sizes)))
                low, high = float(sizes.min()), float(sizes.max())
                if high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4:
                    self.notation = f"{{:.{PRECISION}e}}"
                elif not whole:
                    self.notation = f"{{:.{PRECISION}f}}"
        self.width = max([len(self.notation.format(v)) for v in measured.ravel().tolist()], default=1)

    def text(self, value: Any) -> str:
        """Return one number, padded on the left."""
        plain = isinstance(value, float) and not math.isfinite(value)
        return (str(value) if plain else self.notation.format(value)).rjust(self.width)


class _TwoColumns(_Column):
    """The same for complex numbers: a column for each of their parts."""

    def __init__(self, array: np.ndarray) -> None:
        self.parts = _Column(np.real(array)), _Column(np.imag(array))
        self.width = self.parts[0].width + self.parts[1].width + 1

    def text(self, value: Any) -> str:
        """Return one number, padded on the left."""
        real, imag = self.parts[0].text(value.real), self.parts[1].text(value.imag).lstrip()
        return f"{real}{'' if imag[0] in '+-' else '+'}{imag}j"


def _column(array: np.ndarray) -> _Column:
    return _TwoColumns(array) if array.dtype.kind == "c" else _Column(array)


def _rows(array: np.ndarray, indent: int, column: _Column, summarize: bool) -> str:
    """Nested brackets, line by line, with the middle left out of long dimensions."""
    if not array.ndim:
        return column.text(array.item())
    cut = summarize and len(array) > 2 * EDGE
    parts = [array[:EDGE], array[-EDGE:]] if cut else [array]
    if array.ndim == 1:
        ends = [[column.text(v) for v in part.tolist()] for part in parts]
        texts = [*ends[0], " ...", *ends[1]] if cut else ends[0]
        per_line = max(1, (LINE - indent) // (column.width + 2))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    ends = [[_rows(a, indent + 1, column, summarize) for a in part] for part in parts]
    inner = [*ends[0], "...", *ends[1]] if cut else ends[0]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(inner) + "]"


def _seen(array: np.ndarray) -> np.ndarray:
    """Return what is left of an array when long dimensions are cut."""
    for axis, size in enumerate(array.shape):
        if size > 2 * EDGE:
            array = np.take(array, [*range(EDGE), *range(-EDGE, 0)], axis=axis)
    return array


def _notes(t: Any) -> list[str]:
    """Return what is worth knowing besides the numbers."""
    notes = []
    empty = not t._array.size
    if empty and t._array.ndim != 1:
        notes.append(f"size={tuple(t._array.shape)}")
    default = dtypes.get_default_dtype()
    usual = (dtypes.int64, dtypes.bool_, default.to_complex())
    if t.dtype is not default and (empty or t.dtype not in usual):
        notes.append(f"dtype={t.dtype}")
    try:
        name = t.grad_fn and t.grad_fn.name().rsplit("::", 1)[-1]
    except RuntimeError:  # a view whose history a write has invalidated
        name = "Invalid"
    if name:
        notes.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    if local.modes.dual is not None:
        tangent = unpack_dual(t).tangent
        if tangent is not None:
            notes.append(f"tangent={tangent}")
    return notes


@tensor_method("__repr__")
def tensor_text(t: Tensor) -> str:
    """Return the elements as text, such as `tensor([1., 2.], dtype=torch.float64, requires_grad=True)`."""
    array = t._array
    text = f"{type(t).__name__ if type(t) in subclasses else 'tensor'}("
    if "_is_param" in t.__dict__:
        text = "Parameter containing:\n" + text
    indent = len(text) - text.rfind("\n") - 1
    summarize = array.size > THRESHOLD
    text += _rows(array, indent, _column(_seen(array) if summarize else array), summarize) if array.size else "[]"
    line = len(text) - text.rfind("\n") + 1
    for note in _notes(t):
        if line + len(note) + 2 > LINE:
            text += ",\n" + " " * indent
            line = indent + len(note)
        else:
            text += ", "
            line += len(note) + 2
        text += note
    return text + ")"
