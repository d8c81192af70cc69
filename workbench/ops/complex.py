"""Complex tensors: made of two real ones and taken apart again, and ops whose formulas aren't holomorphic.

These have their formulas as PyTorch writes them, for the gradient dL/dx + 1j * dL/dy; the rule for all others is in
`core/complex_rule.py`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..autograd import dtypes
from ..autograd.complex_tensor import is_complex
from ..autograd.tensor import Tensor
from .core.checks import check_tensor
from .core.complex_rule import OWN
from .core.op import define, dispatch_complex, operation
from .core.registry import REGISTRY, SEVERAL, in_formulas
from .core.results import into
from .creation import ones_like
from .powers import _pow_base


def own(name: str, signature: str, forward: Any, node: str = "", **options: Any) -> Any:
    """Declare an op for complex tensors: it replaces `name` for them, or only they have it."""
    made = OWN[name] = define(signature, forward, node=node, **options).op
    del (SEVERAL if made.several else REGISTRY)[made.name]  # which list what runs on real numbers
    return made


def _split(a: np.ndarray) -> np.ndarray:
    """Return the parts of complex numbers as a last dimension of size 2, in the same memory."""
    parts = np.real(a)
    if a.flags.c_contiguous and a.ndim:
        return a[..., None].view(parts.dtype)
    return as_strided(parts, (*a.shape, 2), (*a.strides, parts.itemsize))


def _joined(a: np.ndarray) -> np.ndarray:
    """Return pairs in the last dimension as complex numbers, in the same memory."""
    return a.view(f"c{2 * a.itemsize}")[..., 0]


CONJ = own("conj", "conj(Tensor self)", np.conj, self="conj(grad)", tangent="linear", batch="pointwise")
in_formulas("conj", lambda a: np.asarray(a.conj()), lambda t: conj(t))
VIEW_AS_REAL = own("view_as_real", "view_as_real(Tensor self)", _split, kind="view", self="from_parts(grad)")
VIEW_AS_COMPLEX = own("view_as_complex", "view_as_complex(Tensor self)", _joined, kind="view", self="to_parts(grad)")
in_formulas(
    "from_parts",
    lambda a: _joined(np.ascontiguousarray(a)),
    lambda t: view_as_complex(t.contiguous()),
)
in_formulas("to_parts", _split, lambda t: view_as_real(t))
in_formulas(
    "along_directions",
    lambda a, slope: None if slope is None else _sgn(a) * slope,
    lambda t, slope: None if slope is None else sgn(t) * slope,
)
in_formulas("real_part", lambda a: np.array(a.real), lambda t: real(t))
in_formulas("imag_part", lambda a: np.array(a.imag), lambda t: imag(t))
in_formulas("zero_where", lambda a, zero: np.where(zero, a.dtype.type(0), a), lambda t, zero: t.masked_fill(zero, 0))
in_formulas("times_i", lambda a: a * a.dtype.type(1j), lambda t: t * 1j)


def _sgn(a: np.ndarray) -> np.ndarray:
    size = np.abs(a)
    return np.divide(a, size, out=np.zeros_like(a), where=size != 0)


own(
    "sgn",
    "sgn(Tensor self)",
    _sgn,
    self="zero_where((grad - real_part(grad * conj(result)) * result) / abs(self), self == 0)",
    tangent="pointwise",
)
own("abs", "abs_of_complex(Tensor self)", np.abs, node="AbsBackward0", self="grad * sgn(self)",
    tangent="real_part(conj(sgn(self)) * self_t)", batch="pointwise")  # fmt: skip
own("angle", "angle(Tensor self)", np.angle, self="zero_where(times_i(grad * sgn(self)) / abs(self), self == 0)",
    tangent="zero_where(imag_part(self_t * conj(sgn(self))) / abs(self), self == 0)", batch="pointwise")  # fmt: skip
REAL_ANGLE = own(
    "angle_of_real",
    "angle_of_real(Tensor self)",
    lambda a: np.where(a != a, a, np.where(a < 0, a.dtype.type(np.pi), a.dtype.type(0))),
    node="AngleBackward0",
    self="zeros_like(grad)",
    tangent="pointwise",
)


def _complex_of(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), f"c{2 * real.itemsize}")
    out.real, out.imag = real, imag
    return out


COMPLEX = own(
    "complex",
    "complex(Tensor real, Tensor imag)",
    _complex_of,
    kind="pointwise",
    real="real_part(grad)",
    imag="imag_part(grad)",
    tangent="linear",
)
POLAR = own(
    "polar",
    "polar(Tensor abs, Tensor angle)",
    lambda size, angle: _complex_of(size * np.cos(angle), size * np.sin(angle)),
    kind="pointwise",
    abs="real_part(grad * conj(sgn(result)))",
    angle="real_part(grad * conj(times_i(result)))",
    tangent="abs_t * polar(zeros_like(angle) + 1, angle) + times_i(result) * angle_t",
)
own(
    "vdot",
    "vdot_of_complex(Tensor self, Tensor other)",
    lambda a, b: np.vdot(a, b),
    node="VdotBackward0",
    self="conj(grad) * other",
    other="grad * self",
    tangent="vdot_of_complex(self_t, other) + vdot_of_complex(self, other_t)",
)


def of_modulus(name: str) -> None:
    """Declare an op that sees complex numbers by their absolute values: its real formula, along their directions."""
    op = REGISTRY[name]
    formula = re.sub(r"\bself\b", "abs(self)", op.formulas["self"])
    signature = op.signature.replace(f"{name}(", f"{name}_of_complex(", 1)
    own(name, signature, lambda a, *rest: op.forward(np.abs(a), *rest), node=op.node_name,
        self=f"along_directions(self, {formula})", tangent="transposed")  # fmt: skip


def as_it_is(name: str) -> None:
    """Declare an op whose formulas hold for complex numbers without conjugations: they have their own."""
    op = SEVERAL.get(name) or REGISTRY[name]
    signature = op.signature.replace(f"{name}(", f"{name}_of_complex(", 1)
    own(name, signature, op.forward, node=op.node_name, kind=op.kind, results=op.results, tangent="transposed",
        batch=op.__dict__.get("batch"), **op.formulas)  # fmt: skip


def _not_negative(x: Any) -> Any:
    return (x.real >= 0) & (x.imag == 0) if is_complex(x) or getattr(x, "dtype", x) in KINDS else x >= 0


KINDS = (np.dtype("complex64"), np.dtype("complex128"))
in_formulas("not_negative", _not_negative)
in_formulas("as_result", lambda a, r: a.astype(r.dtype, copy=False), lambda t, r: t.to(r.dtype))
in_formulas("log_of", lambda n: np.log(n + 0j).item())
# Of a real base that is negative, the conjugate of its logarithm is wanted: it has none itself.
own(
    "pow",
    "pow_of_complex(Tensor self, Tensor exponent)",
    np.power,
    node="PowBackward1",
    kind="pointwise",
    self="where(exponent == 0, 0, grad * conj(exponent * as_result(self, grad) ** (exponent - 1)))",
    exponent="where((self == 0) & not_negative(exponent), 0, grad * conj(result * log(as_result(self, grad))))",
    tangent="transposed",
)
own(
    "pow_base",
    "pow_base_of_complex(self, Tensor exponent)",
    lambda base, exponent: np.power(exponent.dtype.type(base), exponent),
    node="PowBackward2",
    prepare=_pow_base.op.prepare,
    exponent="grad * conj(result * log_of(self)) if self else zeros_like(grad)",
    tangent="transposed",
)


@operation()
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate of each element: imaginary parts with the other sign.

    A real tensor is returned as it is. The result is a new tensor; in PyTorch it's a view whose
    elements are computed when they are read.
    """
    return dispatch_complex(CONJ, (input,)) if input._array.dtype.kind == "c" else input


@operation()
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex conjugate of each element; a real tensor is returned as it is."""
    if out is not None:
        return into("conj_physical", out, conj_physical, input)
    return conj(input)


@operation()
def conj_physical_(input: Tensor) -> Tensor:
    """Write the complex conjugate of each element in place; a real tensor stays as it is."""
    return input.copy_(conj(input)) if input._array.dtype.kind == "c" else input


@operation()
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: conjugates are always computed here."""
    return input


@operation()
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: negations are always computed here."""
    return input


@operation(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """Return a view of a complex tensor as real numbers.

    Its last dimension has the real and the imaginary part.
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return dispatch_complex(VIEW_AS_REAL, (input,))


@operation(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Return a view of a real tensor as complex numbers.

    Their parts are the last dimension, of size 2.
    """
    a = input._array
    if a.dtype.kind != "f":
        got = f"but got a tensor of scalar type: {input.dtype.word}"
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, {got}")
    if a.dtype.itemsize < 4:
        raise RuntimeError(dtypes.NO_HALVES)
    if not a.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    steps = [s // a.itemsize for s in a.strides]
    if steps[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any([s % 2 for s in steps[:-1]]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return dispatch_complex(VIEW_AS_COMPLEX, (input,))


@operation(method=False)
def real(input: Tensor) -> Tensor:
    """Return a view of the real parts, of the same shape; a real tensor is returned as it is."""
    return view_as_real(input).select(-1, 0) if input._array.dtype.kind == "c" else input


@operation(method=False)
def imag(input: Tensor) -> Tensor:
    """Return a view of the imaginary parts of a complex tensor, of the same shape."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


def _set_part(part: Any) -> Any:
    return lambda self, value: part(self).copy_(value if isinstance(value, Tensor) else self.new_tensor(value).real)


for _name, _part, _what in (("real", real, "real"), ("imag", imag, "imaginary")):
    setattr(Tensor, _name, property(_part, _set_part(_part), doc=f"A view of the {_what} parts."))


def _two_real(name: str, first: Tensor, second: Tensor, names: tuple[str, str]) -> None:
    for place, (argument, t) in enumerate(zip(names, (first, second), strict=True)):
        check_tensor(name, argument, place, t)
    one, other = first.dtype.word, second.dtype.word
    if not (first.is_floating_point() and second.is_floating_point()):
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {one} and {other}")
    if first.dtype is not second.dtype:
        got = f"but got scalar type {other} for second argument"
        raise RuntimeError(f"Expected object of scalar type {one} {got}")
    if first.dtype is dtypes.float16:
        raise RuntimeError(dtypes.NO_HALVES)


@operation(method=False, checked=False)
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers with the real parts `real` and the imaginary parts `imag`.

    Both are tensors of one dtype, float32 or float64. Their shapes are broadcast.
    """
    if out is not None:
        return into("complex", out, complex, real, imag)
    _two_real("complex", real, imag, ("real", "imag"))
    return dispatch_complex(COMPLEX, (real, imag))


@operation(method=False, checked=False)
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers with the absolute values `abs` and the angles `angle`, in radians.

    Both are tensors of one dtype, float32 or float64. Their shapes are broadcast.
    """
    if out is not None:
        return into("polar", out, polar, abs, angle)
    _two_real("polar", abs, angle, ("abs", "angle"))
    return dispatch_complex(POLAR, (abs, angle))


@operation()
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle of each element in radians: of a real number 0, or pi if it is negative."""
    if out is not None:
        return into("angle", out, angle, input)
    if input._array.dtype.kind == "c":
        return dispatch_complex(OWN["angle"], (input,))
    floats = input if input.is_floating_point() else input.to(dtypes.get_default_dtype())
    return REAL_ANGLE.function(floats)


@operation(in_place=True)
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element divided by its absolute value, 0 for 0; of real numbers this is the sign."""
    if out is not None:
        return into("sgn", out, sgn, input)
    return dispatch_complex(OWN["sgn"], (input,)) if input._array.dtype.kind == "c" else input.sign()


@operation()
def isreal(input: Tensor) -> Tensor:
    """Return a mask that is True where the imaginary part is 0."""
    return imag(input) == 0 if input._array.dtype.kind == "c" else ones_like(input, dtype=dtypes.bool_)


@operation()
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of matrices, the last two dimensions."""
    return _adjoint_of(input, "adjoint()")


def _adjoint_of(t: Tensor, name: str) -> Tensor:
    if t._array.ndim < 2:
        got = f"Got {t._array.ndim}-D tensor."
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. {got}")
    return conj(t.transpose(-2, -1))


def _h(self: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix."""
    if (ndim := self._array.ndim) not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{more}")
    return conj(self.transpose(0, 1) if self._array.ndim else self)


def _mh(self: Tensor) -> Tensor:
    """Return the conjugate transposes of matrices."""
    return _adjoint_of(self, "mH")


for _name, _getter in (("H", _h), ("mH", _mh)):
    setattr(Tensor, _name, property(_getter, doc=_getter.__doc__))
