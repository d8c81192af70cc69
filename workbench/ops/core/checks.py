"""What the ops refuse, in PyTorch's words and order, and how arguments are read: second names, sizes, dims, devices."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ...autograd.views import check_distinct
from ...errors import kind_of, warn
from .registry import VARIANTS, WRITES

OTHERS = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take `axis` for `dim` and `keepdims` for `keepdim` (a decorator)."""

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        if "axis" in options or "keepdims" in options:
            options = {OTHERS.get(name, name): value for name, value in options.items()}
        return function(*args, **options)

    renamed.__dict__["unnamed"] = function  # what it runs where no argument is named
    return renamed


def named(function: Any, name: str) -> None:
    """Call a function made for several names by one of them, in errors and tracebacks too."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)


Shape = tuple[int, ...]


HERE = __name__.partition(".")[0] + "."


def wrong(function: str, argument: str, position: int | None, must_be: str) -> str:
    """Return the message for a wrong argument: `position` counts from 0, and is None for a keyword.

    The sentence counts from 1, and in a method without the tensor itself; the name is the one that the caller used. A
    right call pays for none of it: what was called is read from the frames.
    """
    owner, called = called_as()
    plain = called.removesuffix("_")
    own = function in (called, plain) or (function in VARIANTS and plain in VARIANTS[function].also)  # not its caller's
    place = "" if position is None else f" (position {position + (owner != 'Tensor' or not own)})"
    return f"{called if own else function}(): argument '{argument}'{place} must be {must_be}"


def called_as() -> tuple[str, str]:
    """Return the class and the name by which the caller of this, or what it is a part of, was called from outside."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").startswith(HERE):
        frame = frame.f_back
    owner, _, called = frame.f_code.co_qualname.rpartition(".")
    return owner, called


def not_a_tensor(function: str, argument: str, position: int, given: Any) -> str:
    """Return the sentence for an argument that should have been a tensor, or for what a method was called on."""
    owner, called = called_as()
    if owner == "Tensor" and not position:
        return (
            f"descriptor '{called}' for 'torch._C.TensorBase' objects doesn't apply to a "
            f"'{type(given).__name__}' object"
        )
    return wrong(function, argument, position, f"Tensor, not {kind_of(given)}")


def check_tensor(function: str, argument: str, position: int, given: Any) -> None:
    """Raise TypeError for an argument that isn't a tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(not_a_tensor(function, argument, position, given))


def tensors_only(torch_name: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Reject, by its name, an argument that is annotated as a tensor and isn't one (a decorator).

    A right call pays for no check. `torch_name`: what PyTorch's message calls the function, where that is another name.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except AttributeError:
                wrong = _first_that_is_no_tensor(function, args, kwargs)
                if wrong is None:
                    raise
                name, position, given = wrong
            raise TypeError(not_a_tensor(torch_name or function.__name__, name, position, given))

        return checked

    return decorate


def _first_that_is_no_tensor(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, int, Any] | None:
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    for position, (name, kind) in enumerate(function.__annotations__.items()):
        is_right = isinstance(given.get(name), Tensor) or (name not in given or given[name] is None) and "None" in kind
        if kind in ("Tensor", "Tensor | None") and name in given and not is_right:
            return name, position, given[name]
    return None


def check_broadcast(shapes: list[Shape]) -> None:
    """Raise RuntimeError if shapes can't be broadcast together; name the last dimension that differs."""
    common = shapes[0]
    for shape in shapes[1:]:
        if shape == common:
            continue
        if (refused := errors.no_broadcast(common, shape)) is not None:
            raise refused from None
        common = np.broadcast_shapes(common, shape)


def check_width(have: tuple[int, ...], got: tuple[int, ...]) -> None:
    """Raise RuntimeError if what should be written to a shape has another one."""
    if have != got:
        raise RuntimeError(errors.WRITE_TOO_WIDE.format(list(have), list(got)))


def _steps(a: np.ndarray) -> list[int]:
    """Return the number of dimensions, and the strides of those that have more than one element."""
    return [a.ndim, *(step for n, step in zip(a.shape, a.strides, strict=True) if n != 1)]


def _owner(a: np.ndarray) -> np.ndarray | None:
    """Return the array whose memory it lies in; None where that is not known to belong to one array alone."""
    owner = a if a.base is None else a.base
    return owner if type(owner) is np.ndarray and owner.base is None else None


def check_overlap(t: Tensor, args: tuple[Any, ...], name: str) -> None:
    """Raise RuntimeError if a read partly overlaps the written memory, or written elements share memory."""
    a, which = t._array, WRITES.get(name)
    if 0 in a.strides and which != "triangle":  # of which PyTorch does not look whether they write an element twice
        try:
            check_distinct(a.shape, a.strides)
        except RuntimeError:
            if which not in ("indices", "mask"):
                raise
            part = "indices] = tensor" if which == "indices" else "mask] = scalar"
            warn(
                f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
                f"performing this operation. This also applies to advanced indexing e.g. tensor[{part}"
            )
    own = _owner(a)
    if tuple in map(type, args):
        args = tuple([one for given in args for one in (given if type(given) is tuple else (given,))])
    for arg in args:
        if isinstance(arg, Tensor) and (other := _owner(arg._array)) is not own and own is not None is not other:
            continue  # it lies in the memory of another array
        if arg is t and (which == "along" or (which == "indices" and a.size)):  # "along" of no elements too
            raise RuntimeError(errors.OVERLAP)
        if not isinstance(arg, Tensor) or not np.may_share_memory(a, arg._array):
            continue
        b = arg._array
        ends = [(x.__array_interface__["data"][0], x.nbytes, _steps(x)) for x in (a, b)]
        whole = all(x.size and (x.flags.c_contiguous or x.flags.f_contiguous) for x in (a, b))
        # by index, an element is read after others have been written
        if whole and (ends[0] != ends[1] or which in ("along", "indices")):
            raise RuntimeError(errors.OVERLAP)


def promoted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tensor and numbers: the tensor in the dtype in which they meet."""
    t, *numbers = args
    standing = [(dtypes.of_number(n), 0) for n in numbers if n is not None]
    return (t.to(dtypes.result_type([(t.dtype, 1), *standing])), *numbers)


def fitting_scale(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise RuntimeError if `alpha` is a fraction and all that it scales are integers."""
    *operands, alpha = args
    floats = [a.dtype.rank > 1 if isinstance(a, Tensor) else isinstance(a, (float, complex)) for a in operands]
    if isinstance(alpha, float) and not any(floats):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return args


def no_bools(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise RuntimeError for a subtraction of or from a mask."""
    bools = [a.dtype is dtypes.bool_ if isinstance(a, Tensor) else isinstance(a, bool) for a in args[:2]]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
            "`^` or `logical_xor()` operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return args


def no_mask(sentence: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a check that raises RuntimeError for a mask."""

    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        if isinstance(args[0], Tensor) and args[0].dtype is dtypes.bool_:
            raise RuntimeError(sentence)
        return args

    return check


def only_floats(kernel: str, but: str = "") -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a check that raises NotImplementedError for integers and masks, except allowed kinds ("iu": integers)."""

    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        t = args[0]
        if isinstance(t, Tensor) and t._array.dtype.kind not in "f" + but:
            raise NotImplementedError(errors.NO_KERNEL.format(kernel, t.dtype.word))
        return args

    return check


def check_tensors(function: str, tensors: Any) -> None:
    """Refuse anything but a list of tensors, for cat and stack."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(wrong(function, "tensors", 0, f"tuple of Tensors, not {type(tensors).__name__}"))
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(errors.LIST_KIND.format(i, errors.kind_of(t)))


def check_cat(shapes: list[Shape], dim: int) -> None:
    """Raise RuntimeError if tensors differ in a dimension other than the one that joins them."""
    full = [(i, shape) for i, shape in enumerate(shapes) if shape != (0,)]
    for i, shape in full:
        first = full[0][1]
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (want, got) in enumerate(zip(first, shape, strict=True)):
            if d != dim and want != got:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {want} but got size "
                    f"{got} for tensor number {i} in the list."
                )


def expanded(t: Tensor, size: Shape) -> Shape:
    """Return the size to which a tensor is repeated, where -1 keeps one; RuntimeError where it cannot be."""
    shape = t._array.shape
    if len(size) < len(shape):
        kind, counts = t.dtype.type_name, (len(size), len(shape))
        raise RuntimeError(
            (
                "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or "
                "equal to the number of dimensions in the tensor ({})"
            ).format(kind, list(shape), list(size), *counts)
        )
    return _expanded_shape(shape, *size)


@functools.lru_cache(1000, typed=True)
def _expanded_shape(shape: Shape, *size: int) -> Shape:
    """Return the shape that `expand(*size)` gives; -1 keeps a dimension."""
    have = (1,) * (len(size) - len(shape)) + shape
    for dim in range(len(size) - 1, -1, -1):
        if dim < len(size) - len(shape) and size[dim] < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({size[dim]}) isn't allowed in a leading, "
                f"non-existing dimension {dim}"
            )
        if size[dim] not in (-1, have[dim]) and have[dim] != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size[dim]}) must match the existing size ({have[dim]}) at "
                f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple([have[dim] if n == -1 else n for dim, n in enumerate(size)])


def word(dtype: Any) -> str:
    """Return what C++ calls a dtype (of NumPy's or ours)."""
    words = {"float64": "double", "float32": "float", "float16": "c10::Half", "int64": "long int", "int32": "int"}
    words |= {"uint8": "unsigned char", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}
    name: str = dtype.name
    return words.get(name, name)


def no_kernel(kernel: str, a: np.ndarray) -> None:
    """Raise NotImplementedError for a mask."""
    if a.dtype.kind == "b":
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, "Bool"))


def check_dot(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless both are vectors of one size and dtype."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype is not b.dtype:
        found = f"{dtypes.of(a).word} and {dtypes.of(b).word}"
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {found}")
    if a.size != b.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same "
            f"number of elements, but got {a.size} and {b.size} elements respectively"
        )
    no_kernel("dot", a)


def check_mm(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless both are matrices of one dtype that can be multiplied."""
    for name, array in (("self", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if a.shape[1] != b.shape[0]:
        (m, k), (n, p) = a.shape, b.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {n}x{p})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {word(a.dtype)} != {word(b.dtype)}")
    no_kernel("addmm_impl_cpu_", a)


def check_mv(a: np.ndarray, b: np.ndarray, added: np.ndarray | None = None) -> None:
    """Raise RuntimeError unless a matrix and a vector of one dtype can be multiplied, and added to a third."""
    ndim, size = (1, len(a) if a.ndim else 1) if added is None else (added.ndim, added.size)
    if a.ndim != 2 or b.ndim != 1 or ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {ndim}, {a.ndim}, {b.ndim}")
    words = [dtypes.of(x).word for x in (b if added is None else added, a, b)]
    if len(set(words)) > 1:
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*words))
    if a.shape[1] != b.size or size not in (1, len(a)):
        m, k = a.shape
        raise RuntimeError(f"size mismatch, got input ({size}), mat ({m}x{k}), vec ({b.size})")
    no_kernel("addmv_impl_cpu", a)


def check_dtypes(self: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    """Raise RuntimeError unless the matrices of a product, and what it is added to, have one dtype."""
    for name, t in (("self", self), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {t.dtype.word} and {mat2.dtype.word}"
            )


def check_bmm(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless both are batches of matrices of one dtype that can be multiplied."""
    check_batches(a, b)
    check_inner(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(errors.SCALAR_TYPE.format(dtypes.of(a).word, dtypes.of(b).word))
    no_kernel("bmm", a)


def check_batches(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless both are batches of matrices."""
    for name, array in (("batch1", a), ("batch2", b)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")


def check_inner(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless the matrices of two batches can be multiplied."""
    want, got = [a.shape[0], a.shape[2]], list(b.shape[:2])
    if want != got:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: {got}.")


def is_vector(a: Any, b: Any) -> bool:
    """Return True if the right side of a system is one vector for each matrix."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))


def is_int(n: Any) -> bool:
    """Return True for an integer, which may be a tensor of one element, but not for a bool."""
    if type(n) is int:
        return True
    if isinstance(n, Tensor):
        return not n._array.ndim and n._array.dtype.kind in "iu"
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def size_of(function: str, given: tuple[Any, ...], size: Any = None, position: int = 0) -> tuple[int, ...]:
    """Return a shape given as ints or as one sequence; TypeError for anything else, RuntimeError for less than 0."""
    for n in given:
        if type(n) is not int or n < 0:
            break
    else:
        if given and size is None:
            return given
    shape = ints_of(function, "size", given, size, position)
    if shape and min(shape) < 0:
        if function == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        negative = next(n for n in shape if n < 0)
        raise RuntimeError(errors.NEGATIVE_SIZE.format(negative, list(shape)))
    return shape


def ints_of(
    function: str, argument: str, given: tuple[Any, ...], named: Any = None, position: int = 1
) -> tuple[int, ...]:
    """Whole numbers given one by one, or as one sequence, which may be named; TypeError for anything else.

    `position` is that of the first: 1 where a tensor comes before it, else 0.
    """
    many = given[0] if len(given) == 1 and type(given[0]) is not int else given
    if given and named is None and isinstance(many, (tuple, list)):
        for n in many:
            if type(n) is not int:
                break
        else:
            return tuple(many)
    if not given and named is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    if given and named is not None:
        raise TypeError(f"{function}() got multiple values for argument '{argument}'")
    if len(given) > 1 and not is_int(given[0]):
        raise TypeError(f"{function}() takes 1 positional argument but {len(given)} were given")
    every: Any = named
    if given:
        every = given if len(given) > 1 or is_int(given[0]) else given[0]
    found = "" if isinstance(every, (list, tuple)) else f"not {kind_of(every)}"
    if not found and every and not is_int(every[0]):
        found = f"but found element of type {kind_of(every[0])} at pos 0"
    if found:
        must_be = f"tuple of ints, {found}"
        named_only = f"{function}(): argument '{argument}' must be {must_be}"
        raise TypeError(wrong(function, argument, position, must_be) if given else named_only)
    shape = []
    for i, n in enumerate(every):
        try:
            shape.append(index(n))
        except TypeError:
            raise TypeError(errors.UNPACK_SIZE.format(function, argument, i + 1, kind_of(n))) from None
    return tuple(shape)


def dim_index(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front; IndexError out of range, TypeError for anything but an integer."""
    span = ndim or 1
    if type(dim) is not int:
        if not is_int(dim):
            raise TypeError(_no_dim(dim))
        dim = index(dim)
    if not -span <= dim < span:
        raise IndexError(errors.DIM_RANGE.format(-span, span - 1, dim))
    return dim % span


def _no_dim(given: Any, must_be: str = "int") -> str:
    """Return the sentence for a dimension that is none, under the name by which it was given."""
    frame = sys._getframe(2)
    function, argument, position = "dim", "dim", 0
    while frame is not None and not errors.is_users(frame):
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        held = [i for i, name in enumerate(names) if frame.f_locals.get(name) is given]
        if held:
            place = held[1] if len(held) > 1 and held[0] == 0 else held[0]  # of a tensor that is its own dimension
            function, argument, position = code.co_qualname.rpartition(".")[2], names[place], place
        frame = frame.f_back
    many = isinstance(given, (tuple, list)) and must_be != "int"
    at = next((i for i, n in enumerate(given) if not is_int(n)), 0) if many else 0
    if at:
        return errors.UNPACK_SIZE.format(function, argument, at + 1, kind_of(given[at]))
    found = f"but found element of type {kind_of(given[at])} at pos {at}" if many else f"not {kind_of(given)}"
    return wrong(function, argument, position, f"{must_be}, {found}")


def python_number(n: Any) -> Any:
    """Return a NumPy scalar as the Python number it is, which does not widen a float32; all else as it is."""
    return n.item() if isinstance(n, np.generic) else n


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the reduced dimensions, counted from the front; all of them for None or ()."""
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if type(dim) is tuple and len(dim) == 1 and type(dim[0]) is int and ndim:
        return (dim_index(dim[0], ndim),)
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    if dim is None or not given:
        return tuple(range(ndim))
    if not all([is_int(d) for d in given]):
        raise TypeError(_no_dim(dim, "tuple of ints"))
    dims = tuple([dim_index(d, ndim) for d in given])
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims if ndim else ()


def int_of(function: str, argument: str, position: int, n: Any) -> int:
    """Return the argument as an int; TypeError unless it is one."""
    if type(n) is int:
        return n
    if not is_int(n):
        raise TypeError(wrong(function, argument, position, f"int, not {kind_of(n)}"))
    return int(n)


def bool_of(function: str, argument: str, position: int, given: Any) -> bool:
    """Return the argument; TypeError unless it is True or False."""
    if given is False or given is True:
        return given
    raise TypeError(wrong(function, argument, position, f"bool, not {kind_of(given)}"))


def number_of(function: str, argument: str, position: int | None, given: Any, kind: str = "Number") -> Any:
    """Return the argument as a Python number; TypeError unless it is one."""
    if type(given) is float or type(given) is int:
        return given
    number = one_number(given)
    if number is None:
        raise TypeError(wrong(function, argument, position, f"{kind}, not {kind_of(given)}"))
    return number


def one_number(given: Any) -> Any:
    """Return what was given as a Python number, a tensor of no dimensions perhaps; None if it is none."""
    if isinstance(given, np.generic) or (isinstance(given, Tensor) and not (given._array.ndim or given.requires_grad)):
        given = given.item()
    return given if isinstance(given, (bool, int, float, complex)) else None


def fitting(value: float, dtype: dtypes.dtype, word: str = "") -> Any:
    """Return a number that the dtype can hold; RuntimeError where it cannot."""
    kind = dtype.np
    if kind.kind == "c" or isinstance(value, complex):
        return _fitting_complex(value, dtype, word)
    limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind) if kind.kind in "iu" else None
    if limits is None:  # a bool: NumPy's own integers, which may have 32 bits, are left out
        return bool(value) if abs(value) < 2**63 else value
    if kind.kind == "f" and not math.isfinite(value):
        return value
    low, high = -limits.max if kind.kind == "u" else limits.min, limits.max
    if not (low <= value <= high if kind.kind in "iu" else float(low) <= float(value) <= float(high)):
        word = word or {"uint8": "uint8_t", "int64": "int64_t"}.get(dtype.name, dtype.c_name)
        raise RuntimeError(errors.OVERFLOW.format(word))
    return int(value) % (limits.max + 1) if kind.kind == "u" else value


def _fitting_complex(value: complex, dtype: dtypes.dtype, word: str) -> Any:
    """Return the same where the number or the dtype is complex: a real dtype holds no imaginary part."""
    if dtype.is_complex:
        return value
    word = word or {"uint8": "uint8_t", "int64": "int64_t"}.get(dtype.name, dtype.c_name)
    return fitting(errors.real_number(value, word), dtype, word)


def held(value: float, dtype: dtypes.dtype) -> Any:
    """Return the same, in less time where it is plain."""
    usual = (dtype is dtypes.float32 or dtype is dtypes.float64) and type(value) is not complex
    return value if usual and not 3e38 < abs(value) < math.inf else fitting(value, dtype)


INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FEW = 50  # elements: of no more Python or a product computes much sooner than NumPy's own functions


def all_within(places: np.ndarray, size: int) -> bool:
    """Return True if all 64-bit indices are from 0 up to `size`, with one comparison: negative ones look very large.

    For other dtypes, return False.
    """
    if places.dtype is not INT64:
        return False
    if places.size > FEW or not places.size:
        return not (places.view(UINT64) >= size).any()
    every = places.ravel().tolist()
    return min(every) >= 0 and max(every) < size


TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """Where a tensor's memory is. The only device here is `device("cpu")`."""

    __slots__ = ("type", "index")

    def __init__(self, type: str | device, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        kind, _, number = type.partition(":")
        if kind not in TYPES.split(", "):
            raise RuntimeError(f"Expected one of {TYPES} device type at start of device string: {type}")
        self.type, self.index = kind, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + ("" if self.index is None else f", index={self.index}") + ")"


CPU = device("cpu")


def check_device(given: Any) -> None:
    """AssertionError for another device than the one there is."""
    kind = device(given).type
    if kind == "cuda":
        raise AssertionError(errors.NO_CUDA)
    if kind != "cpu":
        raise AssertionError(f"the workbench computes on the cpu alone: leave device={kind!r} out")
