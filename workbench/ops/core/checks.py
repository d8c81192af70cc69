"""What the ops refuse, in PyTorch's words, and how their arguments are read: second names, sizes, numbers, devices."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ...autograd.views import check_distinct
from ...autograd.warnings import warn

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "row_stack": "vstack",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
}
OTHERS = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let a function take `axis` for `dim` and `keepdims` for `keepdim`."""

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        if options:
            options = {OTHERS.get(name, name): value for name, value in options.items()}
        return function(*args, **options)

    return renamed


Shape = tuple[int, ...]


def kind_of(given: Any) -> str:
    """What a refused argument is called."""
    kind = type(given)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


HERE = __name__.partition(".")[0] + "."


def wrong(function: str, argument: str, position: int, must_be: str) -> str:
    """The sentence for a wrong argument: `position` counts a function's arguments from 0.

    The sentence counts from 1, and in a method without the tensor itself; the name is the one that the caller used. A
    right call pays for none of it: what was called is read from the frames.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").startswith(HERE):
        frame = frame.f_back
    owner, _, called = frame.f_code.co_qualname.rpartition(".")
    if function in (plain := called.removesuffix("_"), ALIASES.get(plain)):
        function = called
    return f"{function}(): argument '{argument}' (position {position + (owner != 'Tensor')}) must be {must_be}"


def not_a_tensor(function: str, argument: str, position: int, given: Any) -> str:
    """The sentence for an argument that should have been a tensor."""
    return wrong(function, argument, position, f"Tensor, not {kind_of(given)}")


def tensors_only(torch_name: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: an argument annotated as a tensor that is none is refused by name, where the function trips over it.

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
    """RuntimeError where shapes cannot be broadcast together; the last dimension that differs is named."""
    common: Shape = ()
    for shape in shapes:
        ndim = max(len(common), len(shape))
        for back in range(1, min(len(common), len(shape)) + 1):
            a, b = common[-back], shape[-back]
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{ndim - back}"
                ) from None
        common = np.broadcast_shapes(common, shape)


EXPANDED = {"index_put_": "indices] = tensor", "masked_fill_": "mask] = scalar"}  # may write elements that are one
BY_INDEX = ("index_add_", "index_put_", "scatter_", "scatter_add_")  # read one element after others are written
OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
FOLDED = ("tril_", "triu_")  # PyTorch does not look whether they write an element twice


def check_width(have: tuple[int, ...], got: tuple[int, ...]) -> None:
    """RuntimeError where what is to be written into a shape has another."""
    if have != got:
        raise RuntimeError(f"output with shape {list(have)} doesn't match the broadcast shape {list(got)}")


def _steps(a: np.ndarray) -> list[int]:
    """The strides of the dimensions that have more than one element."""
    return [step for n, step in zip(a.shape, a.strides, strict=True) if n != 1]


def check_overlap(t: Tensor, args: tuple[Any, ...], name: str) -> None:
    """RuntimeError where what is read lies partly in the memory that is written, or elements written are one."""
    a = t._array
    try:
        if name not in FOLDED:
            check_distinct(a.shape, a.strides)
    except RuntimeError:
        if name not in EXPANDED:
            raise
        warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
            f"operation. This also applies to advanced indexing e.g. tensor[{EXPANDED[name]}",
        )
    for arg in [one for given in args for one in (given if isinstance(given, tuple) else (given,))]:
        if arg is t and name in ("index_add_", "scatter_", "scatter_add_"):  # of no elements too
            raise RuntimeError(OVERLAP)
        if not isinstance(arg, Tensor) or not np.may_share_memory(a, arg._array):
            continue
        b = arg._array
        ends = [(x.__array_interface__["data"][0], x.nbytes, _steps(x)) for x in (a, b)]
        whole = all(x.size and (x.flags.c_contiguous or x.flags.f_contiguous) for x in (a, b))
        if whole and (ends[0] != ends[1] or name in BY_INDEX):
            raise RuntimeError(OVERLAP)


def promoted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A tensor and numbers: the tensor in the dtype in which they meet."""
    t, *numbers = args
    standing = [(dtypes.of_number(n), 0) for n in numbers if n is not None]
    return (t.to(dtypes.result_type([(t.dtype, 1), *standing])), *numbers)


def fitting_scale(function: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """TypeError unless `alpha` is a number, RuntimeError if it is a fraction and all that it scales are integers."""
    *operands, alpha = args
    if not isinstance(alpha, (bool, int, float)):
        raise TypeError(f"{function}(): argument 'alpha' must be Number, not {kind_of(alpha)}")
    floats = [a.dtype.is_floating_point if isinstance(a, Tensor) else isinstance(a, float) for a in operands]
    if isinstance(alpha, float) and not any(floats):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return args


def no_bools(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """RuntimeError for a subtraction of or from a mask."""
    bools = [a.dtype is dtypes.bool_ if isinstance(a, Tensor) else isinstance(a, bool) for a in args[:2]]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return args


def no_mask(sentence: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """RuntimeError for a mask."""

    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        if isinstance(args[0], Tensor) and args[0].dtype is dtypes.bool_:
            raise RuntimeError(sentence)
        return args

    return check


def only_floats(kernel: str, but: str = "") -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """NotImplementedError for tensors of integers or masks, but for the kinds allowed ("iu": integers)."""

    def check(args: tuple[Any, ...]) -> tuple[Any, ...]:
        t = args[0]
        if isinstance(t, Tensor) and t._array.dtype.kind not in "f" + but:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{t.dtype.word}'")
        return args

    return check


def check_tensors(function: str, tensors: Any) -> None:
    """Refuse what is no list of tensors, for cat and stack."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(wrong(function, "tensors", 0, f"tuple of Tensors, not {type(tensors).__name__}"))
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")


def check_cat(tensors: list[Tensor], dim: int) -> None:
    """RuntimeError where tensors differ in another dimension than the one they are put together along."""
    shapes = [(i, t._array.shape) for i, t in enumerate(tensors) if t._array.shape != (0,)]
    for i, shape in shapes:
        first = shapes[0][1]
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (want, got) in enumerate(zip(first, shape, strict=True)):
            if d != dim and want != got:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {want} but got size {got} "
                    f"for tensor number {i} in the list."
                )


def check_expand(t: Tensor, size: Shape) -> None:
    """RuntimeError where a tensor cannot be repeated to `size`."""
    shape = t._array.shape
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({t.dtype.type_name}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    for dim in range(len(size) - 1, -1, -1):
        want, have = size[dim], shape[dim - lead] if dim >= lead else 1
        if dim < lead and want < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) isn't allowed in a leading, non-existing dimension {dim}"
            )
        if want not in (-1, have) and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton "
                f"dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )


def check_permute(t: Tensor, dims: Shape) -> None:
    """RuntimeError where `dims` does not name every dimension once."""
    if len(dims) != t._array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {t._array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")


def word(dtype: Any) -> str:
    """What C++ calls a dtype (of NumPy's or ours)."""
    words = {"float64": "double", "float32": "float", "float16": "c10::Half", "int64": "long int", "int32": "int"}
    words["uint8"] = "unsigned char"
    return words.get(dtype.name, dtype.name)


def _no_kernel(kernel: str, a: np.ndarray) -> None:
    if a.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def check_dot(a: np.ndarray, b: np.ndarray) -> None:
    """RuntimeError unless both are vectors of one size and dtype."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype is not b.dtype:
        found = f"{dtypes.of(a).word} and {dtypes.of(b).word}"
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {found}")
    if a.size != b.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of "
            f"elements, but got {a.size} and {b.size} elements respectively"
        )
    _no_kernel("dot", a)


def check_mm(a: np.ndarray, b: np.ndarray) -> None:
    """RuntimeError unless both are matrices of one dtype that can be multiplied."""
    for name, array in (("self", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if a.shape[1] != b.shape[0]:
        (m, k), (n, p) = a.shape, b.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {n}x{p})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {word(a.dtype)} != {word(b.dtype)}")
    _no_kernel("addmm_impl_cpu_", a)


def check_mv(a: np.ndarray, b: np.ndarray) -> None:
    """RuntimeError unless they are a matrix and a vector of one dtype that can be multiplied."""
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.dtype is not b.dtype:
        matrix, vector = dtypes.of(a).word, dtypes.of(b).word
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {vector}, {matrix}, and {vector}")
    if a.shape[1] != b.size:
        m, k = a.shape
        raise RuntimeError(f"size mismatch, got input ({m}), mat ({m}x{k}), vec ({b.size})")
    _no_kernel("addmv_impl_cpu", a)


def check_bmm(a: np.ndarray, b: np.ndarray) -> None:
    """RuntimeError unless both are batches of matrices of one dtype that can be multiplied."""
    for name, array in (("batch1", a), ("batch2", b)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    want, got = [a.shape[0], a.shape[2]], list(b.shape[:2])
    if want != got:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: {got}.")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {dtypes.of(a).word} but found {dtypes.of(b).word}")
    _no_kernel("bmm", a)


def _is_int(n: Any) -> bool:
    if isinstance(n, Tensor):
        return not n._array.ndim and n._array.dtype.kind in "iu"
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def size_of(function: str, given: tuple[Any, ...], size: Any = None, position: int = 0) -> tuple[int, ...]:
    """A shape given as ints or as one sequence; TypeError for anything else, RuntimeError for less than 0."""
    if len(given) == 1 and type(given[0]) is int and given[0] >= 0 and size is None:
        return given
    shape = ints_of(function, "size", given, size, position)
    if shape and min(shape) < 0:
        if function == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        negative = next(n for n in shape if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {list(shape)}")
    return shape


def ints_of(
    function: str, argument: str, given: tuple[Any, ...], named: Any = None, position: int = 1
) -> tuple[int, ...]:
    """Whole numbers given one by one, or as one sequence, which may be named; TypeError for anything else.

    `position` is that of the first: 1 where a tensor comes before it, else 0.
    """
    many = given[0] if len(given) == 1 and type(given[0]) is not int else given
    if given and named is None and type(many) is tuple and all([type(n) is int for n in many]):
        return many
    if not given and named is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    if given and named is not None:
        raise TypeError(f"{function}() got multiple values for argument '{argument}'")
    if len(given) > 1 and not _is_int(given[0]):
        raise TypeError(f"{function}() takes 1 positional argument but {len(given)} were given")
    if given:
        named = given if len(given) > 1 or _is_int(given[0]) else given[0]
    found = "" if isinstance(named, (list, tuple)) else f"not {kind_of(named)}"
    if not found and named and not _is_int(named[0]):
        found = f"but found element of type {kind_of(named[0])} at pos 0"
    if found:
        must_be = f"tuple of ints, {found}"
        named_only = f"{function}(): argument '{argument}' must be {must_be}"
        raise TypeError(wrong(function, argument, position, must_be) if given else named_only)
    shape = []
    for i, n in enumerate(named):
        try:
            shape.append(index(n))
        except TypeError:
            raise TypeError(
                f"{function}(): argument '{argument}' failed to unpack the object at pos {i + 1} with error "
                f'"type must be tuple of ints,but got {kind_of(n)}"'
            ) from None
    return tuple(shape)


def int_of(function: str, argument: str, position: int, n: Any) -> int:
    """The argument as an int; TypeError unless it is one."""
    if not _is_int(n):
        raise TypeError(wrong(function, argument, position, f"int, not {kind_of(n)}"))
    return int(n)


def number_of(function: str, argument: str, position: int, given: Any) -> Any:
    """The argument as a Python number; TypeError unless it is one."""
    if type(given) is float or type(given) is int:
        return given
    number = given
    if isinstance(given, np.generic) or (isinstance(given, Tensor) and not (given._array.ndim or given.requires_grad)):
        number = given.item()
    if not isinstance(number, (bool, int, float)):
        raise TypeError(wrong(function, argument, position, f"Number, not {kind_of(given)}"))
    return number


def fitting(value: float, dtype: dtypes.dtype, word: str = "") -> Any:
    """A number that the dtype can hold; RuntimeError where it cannot."""
    kind = dtype.np
    limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind) if kind.kind in "iu" else None
    if limits is None or (kind.kind == "f" and not math.isfinite(value)):
        return value
    if not (-limits.max if kind.kind == "u" else limits.min) <= value <= limits.max:
        word = word or {"uint8": "uint8_t", "int64": "int64_t"}.get(dtype.name, dtype.c_name)
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")
    return int(value) % (limits.max + 1) if kind.kind == "u" else value


TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """Where a tensor's memory is: device("cpu")."""

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
        raise AssertionError("Torch not compiled with CUDA enabled")
    if kind != "cpu":
        raise AssertionError(f"the workbench computes on the cpu alone: leave device={kind!r} out")
