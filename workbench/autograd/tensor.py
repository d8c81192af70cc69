"""The tensor: a NumPy array with a place in the graph.

A tensor has its array, whether it requires grad, and its output of its node. What only some tensors have (a base, a
leaf's gradient) is in `Meta`; the version counter shared by all tensors over the same memory is in `Storage`. Both are
created on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from ..errors import warn
from ..events import emit, failed, listeners
from . import dtypes, state
from .state import inferring, local

if TYPE_CHECKING:
    from .node import Node


class Storage:
    """The version counter of one piece of memory."""

    __slots__ = ("version", "__weakref__")

    def __init__(self) -> None:
        self.version = 0


class Uncounted(Storage):
    """The placeholder for inference tensors' missing version counter: writes outside inference mode are refused."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    @property
    def version(self) -> int:
        """Always 0: there is no count."""
        return 0

    @version.setter
    def version(self, value: int) -> None:
        if not state.local.modes.inference:
            raise RuntimeError(errors.INFERENCE_WRITTEN)


class Meta:
    """What only some tensors have; the class attributes are the values for all others."""

    accumulator: Any = None  # weak reference to a leaf's AccumulateGrad
    grad: Tensor | None = None
    grad_dtype: Any = "own"  # what `grad` must have, if another dtype than the tensor's was set; None for any
    extra: Any = None  # a leaf's hooks, shared with its accumulators
    post_accumulate: dict[int, Any] | None = None  # a leaf's hooks that run after accumulation
    retains_grad: bool = False
    base: Tensor | None = None  # the tensor this one is a view of: always the root
    view_fn: Node | None = None  # a differentiable view's node: asked for through `grad_fn` only
    creation: str = "default"  # how a view came to be: "default", "no_grad", "custom", "multi_output"
    attr_version: int = 0  # the version for which view_fn is right
    tangent: Tensor | None = None  # of a dual tensor
    view_tangent: bool = True  # whether the tangent of a view's base is also its own


class Size(tuple):
    """The shape of a tensor: a tuple of the ints in `iterable`. Slices and sums of shapes are shapes, too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(self, other))

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return prod(self)


class TensorBase:
    """The part of a tensor that is independent of the graph."""

    __slots__ = ()
    if TYPE_CHECKING:
        _array: np.ndarray
        requires_grad: bool

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The number type of the elements."""
        return dtypes.of(self._array)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def size(self, dim: int | None = None) -> Size | int:
        """Return the shape, or the size of dimension `dim`."""
        try:
            return self.shape if dim is None else self._array.shape[dim]
        except IndexError:
            n = self._array.ndim
            raise IndexError(errors.DIM_RANGE.format(-n, n - 1, dim) if n else errors.NO_DIMS.format(dim)) from None

    def numel(self) -> int:
        """Return the number of elements."""
        return self._array.size

    def is_floating_point(self) -> bool:
        """Return True if the dtype is floating point."""
        return self._array.dtype.kind == "f"

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with {} is ambiguous".format(
                    "more than one value" if self.numel() else "no values"
                )
            )
        return bool(self._array.item())

    def item(self) -> bool | int | float:
        """Return the only element as a Python number; raise RuntimeError unless there is exactly one."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        if listeners:
            emit(("unrecorded", "item", (self,), ()))
        return self._array.item()

    def _number(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if listeners:
            emit(("unrecorded", "float", (self,), ()))
        return self._array.item()

    def __float__(self) -> float:
        if self.requires_grad:
            warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior.\nConsider using tensor.detach() first."
            )
        return float(errors.real_number(self._number(), "double"))

    def __int__(self) -> int:
        return int(errors.real_number(self._number(), "int64_t"))

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        if listeners:
            emit(("unrecorded", "tolist", (self,), ()))
        return self._array.tolist()

    def numpy(self) -> np.ndarray:
        """Return a NumPy array in the same memory; raise RuntimeError if gradients are required outside `no_grad`."""
        if self.requires_grad and state.local.modes.grad:
            raise failed(RuntimeError(errors.NUMPY_REQUIRES_GRAD), self)
        if listeners:
            emit(("unrecorded", "numpy", (self,), ()))
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)


class TensorKind(type):
    """The class of Tensor and its subclasses: calling Tensor creates a tensor from sizes or numbers."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Return a class; a user's subclass of Tensor is derived from Subclassed and registered."""
        own = body.get("__module__", "").partition(".")[0] == __name__.partition(".")[0]
        bases = bases if own else tuple([Subclassed if base is Tensor else base for base in bases])
        made = super().__new__(mcs, name, bases, body)
        if not own and mcs is TensorKind:
            subclasses.add(made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new instance; `blank` creates one for the engine, faster."""
        return cls._construct(*args, **kwargs) if cls is Tensor else super().__call__(*args, **kwargs)


subclasses: set[type] = set()  # the user's own, which dispatch asks how they are computed with
of_kind: dict[str, type] = {}  # classes for what compiled functions leave to dispatch, by the letter of the dtype


class Tensor(TensorBase, metaclass=TensorKind):
    """A multi-dimensional array that remembers how it was computed.

    Create tensors with `torch.tensor([1, 2])` or `torch.empty(2, 3)`. As in PyTorch, the class itself works too:
    `Tensor(2, 3)` has that shape and undefined values, `Tensor([1, 2])` has these numbers in the default dtype, and
    `Tensor(other)` is a view. PyTorch: torch.Tensor.
    """

    # The modules that need more of the engine add the rest: views.py adds `grad_fn`, backward.py adds `backward`, and
    # the ops add `__repr__` and the operations.
    # All but the last three slots are set where a tensor is born: calling an `__init__` costs more than all the rest.
    __slots__ = ("_array", "_rg", "_fn", "_nr", "_storage", "_meta", "_tag", "__weakref__", "__dict__")

    __array_priority__ = 1000  # NumPy operands leave the operator to us
    if TYPE_CHECKING:  # what this file reads of that
        grad_fn: Node | None
        retains_grad: bool
        detach: Callable[[], Tensor]
        clone: Callable[[], Tensor]
        _construct: Callable[..., Tensor]
        _keep_dtype: Callable[[], None]
        _set_kind: Callable[[], None]
        _cast_gradients: Callable[[dtypes.dtype | None], None]

    @property
    def requires_grad(self) -> bool:
        """True if backward computes a gradient for this tensor; it can be set on leaves only."""
        if not self._rg and self._meta is not None and self._meta.base is not None:
            return self._meta.base.requires_grad
        return self._rg

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise failed(RuntimeError(errors.FLAG_KIND), self)
        if on and cached_grad_fn(self) is not None:
            raise failed(RuntimeError(errors.CHANGE_NON_LEAF_FLAG), self)
        self._set_requires_grad(on, errors.ONLY_FLOATS_ATTRIBUTE)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError(errors.FLAG_KIND)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in place and return the tensor."""
        if not all([level.own for level in local.modes.levels]):
            raise failed(
                RuntimeError(
                    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
                    "torch.autograd.functional.* APIs) inside of a function being transformed by a "
                    "functorch transform. This is unsupported, please attempt to use the functorch "
                    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() "
                    "outside of a function being transformed instead."
                ),
                self,
            )
        if not isinstance(requires_grad, bool):
            kind = errors.kind_of(requires_grad)
            raise failed(TypeError(errors.BOOL_KIND.format("requires_grad_", "requires_grad", 1, kind)), self)
        self._set_requires_grad(requires_grad, errors.ONLY_FLOATS_METHOD)
        return self

    def _set_requires_grad(self, on: bool, refusal: str) -> None:
        if on and self._array.dtype.kind not in "fc":
            raise failed(RuntimeError(refusal), self)
        if not on and cached_grad_fn(self) is not None:
            raise failed(RuntimeError(errors.CLEAR_NON_LEAF_FLAG), self)
        self._rg = on

    @property
    def output_nr(self) -> int:
        """The position of this tensor among the outputs of its grad_fn, counted from 0."""
        return self._nr

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation computed this tensor: backward stores gradients in leaves."""
        return not self.requires_grad or self.grad_fn is None

    @property
    def data(self) -> Tensor:
        """A tensor without history in the same memory. Autograd doesn't see writes into it: gradients may be wrong."""
        out = self._detached()
        if listeners:
            emit(("unrecorded", "data", (self,), (out,)))
        return out

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise failed(TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}"), self)
        if local.modes.levels:
            local.modes.levels[-1].check_data(self, new)
        if self._rg and new._array.dtype.kind not in "fc":
            raise failed(
                RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype"),
                self,
            )
        if self._rg and new._array.dtype is not self._array.dtype:
            self._keep_dtype()
        before, self._array = self._array, new._array
        if type(self) is Tensor and type(new) is InferenceTensor:
            storage_of(self)  # which goes on counting
            self.__class__ = InferenceTensor
        elif "c" in (before.dtype.kind, self._array.dtype.kind):
            self._set_kind()
        if listeners and before is not self._array:  # `t.data -= 1` has told of its write
            emit(("wrote", self, "data", None))

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def _version(self) -> int:
        storage = self._storage
        if storage is None and self._fn is not None and self._fn.keeps_result:
            storage = self._fn.counter_result  # counted by whoever read what the node saved
        return 0 if storage is None else storage.version

    @property
    def _base(self) -> Tensor | None:
        return None if self._meta is None else self._meta.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients from all backward passes since `zero_grad()`; None before the first of them."""
        found = None if self._meta is None else self._meta.grad
        if found is None and cached_grad_fn(self) is not None and self.requires_grad and not self.retains_grad:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
                "access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
                "more information."
            )
        return found

    @grad.setter
    def grad(self, new: Tensor | None) -> None:
        if new is not None:
            if not isinstance(new, Tensor):
                raise failed(TypeError(errors.GRAD_KIND.format(type(new).__name__)), self)
            if new is self:
                raise failed(RuntimeError(errors.GRAD_ITSELF), self)
            kind = self._gradient_dtype()
            if kind not in (None, new.dtype):
                raise failed(RuntimeError(errors.GRAD_DTYPE.format(new.dtype.c_name, kind.word)), self)
            if new._array.shape != self._array.shape:
                raise failed(RuntimeError(errors.GRAD_SHAPE.format(list(new.shape), list(self.shape))), self)
        if listeners and new is not (None if self._meta is None else self._meta.grad):
            meta_of(self).grad = new
            emit(("regraded", self))
        else:
            meta_of(self).grad = new

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _gradient_dtype(self) -> dtypes.dtype | None:
        kind = "own" if self._meta is None else self._meta.grad_dtype
        return self.dtype if kind == "own" else kind

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The dtype to which gradients of this leaf are cast when they arrive; None for any."""
        if not self.is_leaf:
            raise failed(RuntimeError(errors.GRAD_DTYPE_LEAF.format("accessed")), self)
        return self._gradient_dtype()

    @grad_dtype.setter
    def grad_dtype(self, kind: dtypes.dtype | None) -> None:
        if kind is not None and not isinstance(kind, dtypes.dtype):
            raise failed(RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(kind).__name__}"), self)
        grad = self.grad  # warns where it is no leaf's, as PyTorch does
        if not self.is_leaf:
            raise failed(RuntimeError(errors.GRAD_DTYPE_LEAF.format("set")), self)
        if grad is not None and kind not in (None, grad.dtype):
            raise failed(
                RuntimeError(
                    f"Cannot set grad_dtype to '{kind.word}' because there is already a gradient with dtype "
                    f"'{grad.dtype.c_name}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
                    "ensure the new grad_dtype matches the existing gradient's dtype."
                ),
                self,
            )
        meta_of(self).grad_dtype = kind
        self._cast_gradients(kind)

    def is_inference(self) -> bool:
        """Return True if the tensor was created in inference mode."""
        return False

    def _again(self) -> Tensor:
        """Return the same memory as a new leaf."""
        return part_of(self, self._array)

    _detached = _again  # the same memory without history

    def as_subclass(self, cls: type[Tensor]) -> Tensor:
        """Return a view of the tensor as an instance of the subclass `cls`, without the subclass's own attributes."""
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(errors.NO_SUBCLASS)
        made = Tensor._construct(self)
        made.__class__ = cls
        return made

    @staticmethod
    def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
        """Return a leaf over the memory of `data`, as an instance of a subclass."""
        made = data.detach()
        made.__class__ = cls
        return made.requires_grad_(require_grad)

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if self._array.ndim else format(self.item(), spec)


class Subclassed(Tensor):
    """The common part of a user's subclasses of Tensor: how they are created, and the results of their operations."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an instance made as Tensor's are."""
        made = Tensor._construct(*args, **kwargs)
        made.__class__ = cls
        return made

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Return the result of an operation with an operand of this class: new tensors are of this class, too."""
        modes = local.modes
        before, modes.overridden = modes.overridden, False
        try:
            found = func(*args, **(kwargs or {}))
        finally:
            modes.overridden = before
        for t in found if isinstance(found, tuple) else (found,):
            if type(t) in (Tensor, *of_kind.values()) and cls in subclasses:
                t.__class__ = cls
        return found


# A tensor with no slot set, in the time that a class without a metaclass takes.
blank: Callable[[], Tensor] = type.__call__.__get__(Tensor)


class InferenceTensor(Tensor):
    """A tensor created in inference mode; a class of its own, which the compiled functions of ops leave to dispatch."""

    __slots__ = ()
    __class__ = Tensor  # what a program sees

    @property
    def _version(self) -> int:
        if storage_of(self) is UNCOUNTED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._storage.version

    def _detached(self) -> Tensor:
        out = part_of(self, self._array)
        if not local.modes.inference:  # outside inference mode PyTorch counts versions of what is detached
            out._storage = Storage()
        return out

    def _set_requires_grad(self, on: bool, refusal: str) -> None:
        if on and not local.modes.inference:
            raise failed(RuntimeError(errors.INFERENCE_FLAG), self)
        super()._set_requires_grad(on, refusal)

    def is_inference(self) -> bool:
        """Return True: the tensor was created in inference mode."""
        return True


class DetachedTensor(Tensor):
    """A tensor that `detach_` removed from its graph; it has its own class, as nodes that saved it must refuse it."""

    __slots__ = ()
    __class__ = Tensor


def tensor_method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a method of Tensor, for modules above this one."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__, function.__qualname__ = name, f"Tensor.{name}"
        setattr(Tensor, name, function)
        return function

    return add


UNCOUNTED = Uncounted()


def refuse_writes() -> None:
    """Make read-only properties raise PyTorch's error on writes; the ops call this once Tensor has all of them."""

    def closed(name: str, own: property) -> property:
        def refuse(t: Tensor, value: Any = None) -> None:
            raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

        return property(own.fget, own.fset or refuse, own.fdel or refuse, own.__doc__)

    for kind in (TensorBase, Tensor):
        for name, own in list(vars(kind).items()):
            if type(own) is property:
                setattr(kind, name, closed(name, own))


def wrap(array: np.ndarray, requires_grad: bool = False, kind: type[Tensor] | None = None) -> Tensor:
    """Return a new leaf over an array, sharing its memory: of the given class, or of the one for the current mode."""
    if kind is None:
        kind = InferenceTensor if inferring and local.modes.inference else Tensor
    array = array if type(array) is np.ndarray else np.asarray(array)
    if array.dtype.kind == "c":
        state.complex_made, kind = True, of_kind["c"] if kind is Tensor else kind
    t = blank() if kind is Tensor else kind()
    t._array = array
    t._rg = requires_grad
    t._nr = 0
    t._fn = t._storage = t._meta = None
    return t


def meta_of(t: Tensor) -> Meta:
    """Return the tensor's rare facts, created on first use."""
    if t._meta is None:
        made = Meta()
        if t._meta is None:  # no other thread can come between this and the next line: it calls nothing
            t._meta = made
    return t._meta


def storage_of(t: Tensor) -> Storage:
    """Return the tensor's version counter, created on first use.

    A node that saved this tensor as its result has only the array, to avoid a cycle; it gets the counter here.
    """
    if t._storage is None:
        made = UNCOUNTED if type(t) is InferenceTensor else Storage()
        if t._storage is None:  # as in meta_of
            t._storage = made
        node = t._fn
        if node is not None and node.keeps_result:
            if node.counter_result is None:
                node.counter_result = t._storage
            else:  # the saved tensor was read elsewhere, and its writes are counted
                t._storage = node.counter_result
    return t._storage


def bump(t: Tensor) -> None:
    """Count one write into the tensor's memory."""
    (t._storage or storage_of(t)).version += 1


def cached_grad_fn(t: Tensor) -> Node | None:
    """Return the node that computed a tensor, as of the last read; `grad_fn` creates a view's again after a write."""
    return t._fn if t._base is None else t._meta.view_fn


def alias(t: Tensor) -> Tensor:
    """Return a tensor without history over the same memory and version counter, as `detach` does."""
    out = t._detached()
    out._storage = out._storage or storage_of(t)
    if listeners:
        emit(("shares", out, t))
    return out


def part_of(t: Tensor, array: np.ndarray) -> Tensor:
    """Return a new leaf over part of a tensor's memory: an inference tensor if that is one, in any mode."""
    out = wrap(array, kind=InferenceTensor if type(t) is InferenceTensor else Tensor)
    if subclasses and type(t) in subclasses:
        out.__class__ = type(t)
    return out


def link_view(out: Tensor, source: Tensor, creation: str = "default") -> None:
    """Make `out`, whose array is a view of `source`'s, a view of it: shared version counter, `_base`."""
    out._storage = storage = source._storage or storage_of(source)
    meta, known = out._meta or meta_of(out), source._meta
    root = None if known is None else known.base  # views of views are views of it, and inherit what its may not do
    meta.base = source if root is None else root
    if root is not None and (creation == "default" or known.creation == "inference"):
        creation = known.creation
    meta.creation = creation
    meta.attr_version = storage.version


class ParameterKind(TensorKind):
    """The class of Parameter, separate because `isinstance` of any tensor would be slower."""

    def __instancecheck__(cls, thing: Any) -> bool:
        """Recognize parameters of other classes (in a transform, or in inference mode) by a mark."""
        marked = cls is Parameter and isinstance(thing, Tensor) and "_is_param" in thing.__dict__
        return marked or super().__instancecheck__(thing)


class Parameter(Tensor, metaclass=ParameterKind):
    """A tensor to train: a leaf that, as an attribute of a module, is one of the module's `parameters()`.

    `Parameter(data, requires_grad=True)` shares the memory of `data`, without its history. It requires grad by default,
    even under no_grad. PyTorch: torch.nn.Parameter.
    """

    __slots__ = ()
    __module__ = "workbench.nn.parameter"  # where users know it, as they know PyTorch's

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """Return a leaf over the memory of `data`, empty without it; RuntimeError if integers should require grad."""
        errors.check_bool(requires_grad, "_make_subclass", "require_grad", 3)
        source = wrap(np.empty(0, dtypes.get_default_dtype().np)) if data is None else data.detach()
        made = source
        if type(source) is Tensor:
            made = super().__new__(cls)
            made._array, made._storage, made._nr = source._array, source._storage, 0
            made._fn = made._meta = None
        else:
            vars(made)["_is_param"] = True
        made._rg = False
        made._set_requires_grad(requires_grad, errors.ONLY_FLOATS_CONSTRUCTOR)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a parameter with its own memory, and no gradient yet."""
        return memo.setdefault(id(self), type(self)(self.data.clone(), self.requires_grad))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Return what a pickle stores: elements, attributes and requires_grad; neither gradient nor history."""
        return type(self), (self.data, self.requires_grad), self.__dict__ or None

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
