"""Checking derivatives against finite differences (torch.autograd.gradcheck).

The slow mode compares whole Jacobians, element by element: a row for each element of an input, a column for each
element of an output. The fast mode compares `u J v` for one random direction u of every input and one random weighting
v of every output. This costs one backward pass instead of one per output element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..errors import warn
from ..events import failed
from .backward import grad, gradients
from .forward_ad import dual_level, make_dual, unpack_dual
from .levels import AUTOGRAD, entered, lift, with_batch
from .tensor import Tensor, wrap

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

Parts = list[list[Tensor]]  # for each input, of each output; with the history that tangents have


class GradcheckError(RuntimeError):
    """The error that `gradcheck` raises for a wrong derivative."""

    __module__ = f"{__package__}.gradcheck"  # where users find it


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the derivatives that backward computes for `func` against finite differences; return True if they agree.

    For each input that requires grad, `gradcheck` compares the Jacobian from backward passes with one from differences:
    each input element is moved by `eps` up and down. `gradcheck` also runs backward twice, and the results must agree.
    Finally, it runs backward with incoming gradients that are zero, and with missing gradients (None). The inputs keep
    their values and `.grad`, even on errors.

    Use float64 inputs. In float32, a difference for an `eps` of 1e-6 has only one or two correct digits, so even a
    right derivative fails the check. PyTorch: torch.autograd.gradcheck.

    Example:
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, x)
        True
        >>> torch.autograd.gradcheck(lambda x: x.detach() * x, x, raise_exception=False)
        False

    Args:
        func: A function of the inputs that returns a tensor, or several. Outputs that require grad are checked.
        inputs: The arguments of `func`: a tensor, or a sequence. Those that require grad are checked.
        eps: How far each input element is moved up and down for the differences.
        atol, rtol: The tolerances: two entries may differ by `atol + rtol * abs(numeric)`.
        raise_exception: If True, the first failure raises GradcheckError. If False, the function returns False.
        nondet_tol: How much the gradients of two identical backward passes may differ.
        check_undefined_grad: If True, also check that backward treats a missing gradient (None) as zeros.
        check_grad_dtypes: No effect: gradients must have their input's dtype in any case.
        check_batched_grad: If True, also run backward passes under vmap, which must give the same gradients as one
            pass at a time. Needs `check_backward_ad`.
        check_batched_forward_grad: If True, also run forward mode under vmap, which must give the same tangents as one
            run at a time. Needs `check_forward_ad`.
        check_forward_ad: If True, also check forward mode: the tangents of the outputs.
        check_backward_ad: If True (the default), check backward mode.
        fast_mode: If True, compare the Jacobians along one random direction only, instead of element by element.
        masked: No effect: there are no sparse tensors.

    Raises:
        GradcheckError: if a check fails and `raise_exception` is True.
    """
    _check_directions(check_forward_ad, check_backward_ad, check_batched_forward_grad, check_batched_grad)
    try:
        given = as_tuple(inputs)
        check_inputs(given)
        jacobians = Jacobians(func, given, eps, atol, rtol)
        outputs, wanted = jacobians.outputs, jacobians.inputs
        if check_backward_ad and outputs:
            _check_backward(jacobians, fast_mode, nondet_tol)
        elif check_backward_ad and not jacobians.constant(fast_mode):
            raise GradcheckError(errors.GRADCHECK_CHANGES)
        if check_forward_ad:
            _check_forward(jacobians, fast_mode, check_undefined_grad, check_batched_forward_grad)
        if check_backward_ad and outputs:
            if check_batched_grad:
                check_batched_backward(outputs, wanted)
            _check_multiplied(outputs, wanted)
            if check_undefined_grad:
                _check_undefined(_differentiable(func(*given)), wanted)
    except GradcheckError as error:
        if not raise_exception:
            return False
        failed(error, *_about(str(error), given))
        raise
    return True


def _check_backward(jacobians: Jacobians, fast: bool, nondet_tol: float) -> None:
    """Compare the gradients of each part of the outputs."""
    for part in parts_of_outputs(jacobians):
        (part.compare_one_direction if fast else part.compare)(nondet_tol)


def _check_forward(jacobians: Jacobians, fast: bool, undefined: bool, batched: bool) -> None:
    """Check tangents of each part of the inputs, and as requested those for missing tangents and under vmap."""
    for part in parts_of_inputs(jacobians):
        (compare_forward_direction if fast else compare_forward)(part)
        if undefined:
            check_undefined_tangents(part.func, part.given)
    if batched:
        check_batched_forward(jacobians.func, jacobians.given)


def _check_directions(forward: bool, backward: bool, batched_forward: bool, batched_backward: bool) -> None:
    """Raise AssertionError unless some direction is checked, and batches only of a direction that is."""
    if not (forward or backward):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if batched_backward and not backward:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if batched_forward and not forward:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")


def _about(words: str, given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the inputs that are tensors, first the one that the message names."""
    named = re.search(r"with respect to input (\d+)", words)
    tensors, wanted = [t for t in given if isinstance(t, Tensor)], _requiring(given)
    first = wanted[int(named[1])] if named and int(named[1]) < len(wanted) else None
    return (first, *[t for t in tensors if t is not first]) if first is not None else tuple(tensors)


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives of `func` against finite differences; return True if they agree.

    `gradgradcheck` runs `gradcheck` on a function that computes the gradients of `func`, for the given inputs and
    `grad_outputs`. Use float64 inputs: in float32, rounding hides differences of `eps`.
    PyTorch: torch.autograd.gradgradcheck.

    Args:
        func: A function of the inputs that returns a tensor, or several.
        inputs: The arguments of `func`: a tensor, or a sequence. Those that require grad are checked.
        grad_outputs: The gradients with which the first backward pass starts. None means random numbers.
        gen_non_contig_grad_outputs: If True, the random `grad_outputs` have gaps between their elements in memory.
        eps: How far each input element is moved up and down for the differences.
        atol, rtol: The tolerances: two entries may differ by `atol + rtol * abs(numeric)`.
        raise_exception: If True, the first failure raises GradcheckError. If False, the function returns False.
        nondet_tol: How much the gradients of two identical passes may differ.
        check_undefined_grad: If True, also check that the second backward pass treats a missing gradient (None) as
            zeros.
        check_grad_dtypes: No effect: gradients must have their input's dtype in any case.
        check_batched_grad: If True, also run backward passes under vmap, which must give the same gradients as one
            pass at a time. Needs `check_rev_over_rev`.
        check_fwd_over_rev: If True, also check forward mode through the backward pass.
        check_rev_over_rev: If True (the default), check backward mode through the backward pass.
        fast_mode: If True, compare the Jacobians along one random direction only, instead of element by element.
        masked: No effect: there are no sparse tensors.

    Raises:
        GradcheckError: if a check fails and `raise_exception` is True.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        outputs = _differentiable(func(*given))
        seeds = tuple(_random_like(o, random, gen_non_contig_grad_outputs) for o in outputs)
    else:
        seeds = as_tuple(grad_outputs)

    return gradcheck(
        _gradients_of(func, given, seeds),
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _gradients_of(
    func: Callable[..., Any], given: tuple[Any, ...], seeds: tuple[Any, ...]
) -> Callable[..., tuple[Tensor, ...]]:
    """Return a function of these inputs of `func` and gradients of its outputs: the gradients of the inputs."""
    flags = [isinstance(a, Tensor) and a.requires_grad for a in given + seeds]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        for a, flag in zip(args, flags, strict=True):
            if flag:
                a.requires_grad_()  # dual tensors have lost it
        wanted = tuple(a for a, flag in zip(args[: len(given)], flags, strict=False) if flag)
        outputs = _differentiable(func(*args[: len(given)]))
        found = grad(outputs, wanted, args[len(given) :], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradients


def _random_like(t: Tensor, random: np.random.Generator, gaps: bool) -> Tensor:
    """Return a leaf of numbers from -1 to 1, with gaps between them in memory if wanted."""
    shape = t._array.shape
    wide = (*shape[:-1], 2 * shape[-1]) if gaps and t._array.size > 1 else shape
    array = random.uniform(-1, 1, wide)
    if t.is_complex():
        array = array + 1j * random.uniform(-1, 1, wide)
    array = array[..., ::2] if wide != shape else array
    return wrap(np.asarray(array).astype(t._array.dtype, copy=False), requires_grad=True)


def check_inputs(inputs: tuple[Any, ...], wants_double: bool = True) -> None:
    """Check that some input requires grad, and that each element has its own memory; warn below float64 if wanted."""
    wanted = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    for i, t in wanted:
        if wants_double and t._array.dtype not in (np.float64, np.complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        a = t._array
        if a.size and any(stride == 0 and size > 1 for stride, size in zip(a.strides, a.shape, strict=True)):
            raise failed(RuntimeError(errors.GRADCHECK_STRIDE_ZERO.format(i)), t)
    for t in inputs:
        if not isinstance(t, Tensor) and hasattr(t, "requires_grad"):
            raise TypeError(errors.GRADCHECK_OTHER.format(errors.kind_of(t)))
    if not wanted:
        raise failed(ValueError(errors.GRADCHECK_NO_INPUT), *inputs)


def _check_multiplied(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError unless gradients of zero give zeros."""
    seeds = [wrap(np.zeros_like(o._array)) for o in outputs]
    if not _all_zero(gradients(outputs, inputs, seeds, False, False)):
        raise GradcheckError("backward not multiplied by grad_output")


def _check_undefined(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError unless undefined gradients, all or one among zeros, give undefined ones or zeros."""
    which = [set(range(len(outputs)))] + [{i} for i in range(len(outputs)) if len(outputs) > 1]
    for undefined in which:
        seeds = [None if i in undefined else wrap(np.zeros_like(o._array)) for i, o in enumerate(outputs)]
        try:
            found = gradients(outputs, inputs, seeds, True, False)
        except RuntimeError as error:
            warn(errors.GRADCHECK_UNDEFINED_IS_NEW)
            raise GradcheckError(errors.GRADCHECK_UNDEFINED_REFUSED) from error
        if not _all_zero(found):
            warn(errors.GRADCHECK_UNDEFINED_IS_NEW)
            raise GradcheckError(errors.GRADCHECK_UNDEFINED_LOST)


def _all_zero(found: Sequence[Tensor | None]) -> bool:
    return all(g is None or not g._array.any() for g in found)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the arguments or results of a function as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(outputs) if o.requires_grad)


def _requiring(tensors: Any) -> list[Tensor]:
    """Return the tensors that require grad."""
    return [t for t in as_tuple(tensors) if isinstance(t, Tensor) and t.requires_grad]


def parts_of_outputs(whole: Jacobians) -> list[Jacobians]:
    """Return the checks of a function: if it has complex outputs, of their imaginary and of their real parts."""
    if not any([value.dtype.kind == "c" for value in whole.first]):
        return [whole]
    found = []
    for part in ("imag", "real"):

        def func(*args: Any, part: str = part) -> tuple[Any, ...]:
            return tuple([getattr(o, part) if o.is_complex() else o for o in as_tuple(whole.func(*args))])

        found.append(Jacobians(func, whole.given, whole.eps, whole.atol, whole.rtol))
        found[-1].prefix = errors.GRADCHECK_PART.format({"imag": "imaginary"}.get(part, part), "outputs")
        found[-1].divided = {k for k, value in enumerate(whole.first) if value.dtype.kind == "c"}
    return found


def parts_of_inputs(whole: Jacobians) -> list[Jacobians]:
    """Return the same for complex inputs, of which one part moves and the other is fixed."""
    places = [k for k, t in enumerate(whole.given) if isinstance(t, Tensor) and t.is_complex()]
    if not places:
        return [whole]
    found = []
    for part in ("imag", "real"):

        def func(*args: Any, part: str = part) -> Any:
            given = list(args)
            for k in places:
                own = whole.given[k]
                given[k] = args[k] + own.imag * 1j if part == "real" else own.real + args[k] * 1j
            return whole.func(*given)

        given = list(whole.given)
        for k in places:
            given[k] = getattr(given[k].detach(), part).clone().requires_grad_(given[k].requires_grad)
        found.append(Jacobians(func, tuple(given), whole.eps, whole.atol, whole.rtol))
        found[-1].prefix = errors.GRADCHECK_PART.format({"imag": "imaginary"}.get(part, part), "inputs")
        found[-1].divided = {j for j, t in enumerate(whole.inputs) if t.is_complex()}
    return found


class Jacobians:
    """A function at one point: how its outputs change with the inputs that require grad.

    The inputs are written in place, unseen by the engine, and get their values back, even if the function raises.
    """

    prefix = ""  # of a complaint about a part of those that are `divided`, by their place
    divided: set[int] = set()

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float) -> None:
        self.func, self.given, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self._found: list[list[np.ndarray]] | None = None
        self.inputs = _requiring(inputs)
        returned = as_tuple(func(*inputs))
        self.positions = [k for k, o in enumerate(returned) if o.requires_grad]
        self.outputs = [returned[k] for k in self.positions]
        self.first = _values(returned)
        self.floating = [k for k, value in enumerate(self.first) if value.dtype.kind in "fc"]

    @property
    def numerical(self) -> list[list[np.ndarray]]:
        """Return for each input the Jacobian of every output."""
        if self._found is None:
            self._found = [self._numerical(t) for t in self.inputs]
        return self._found

    def compare(self, nondet_tol: float) -> None:
        """Raise GradcheckError unless the Jacobians agree, output by output."""
        for i, output in enumerate(self.outputs):
            analytical = self._twice(lambda output=output: self._analytical(output), nondet_tol)
            for j, a in enumerate(analytical):
                n = self.numerical[j][self.positions[i]]
                if not self.close(a, n):
                    raise GradcheckError(self.about(i) + errors.GRADCHECK_MISMATCH.format(i, j, wrap(n), wrap(a)))

    def about(self, place: int) -> str:
        """Return how a complaint begins."""
        return self.prefix if place in self.divided else ""

    def compare_one_direction(self, nondet_tol: float) -> None:
        """Raise GradcheckError unless `u J v` agrees; u and v are random directions of each input and output."""
        random = np.random.default_rng(0)
        us, vs = ([direction(t, random) for t in tensors] for tensors in (self.inputs, self.outputs))
        numerical = [self.slopes_along(t._array, u) for t, u in zip(self.inputs, us, strict=True)]
        analytical = [
            self._twice(lambda o=o, v=v: self._dots(us, o, v), nondet_tol)
            for o, v in zip(self.outputs, vs, strict=True)
        ]
        for j, u in enumerate(us):
            for i, v in enumerate(vs):
                n, a = dot(numerical[j][self.positions[i]], v), analytical[i][j]
                if not self.close(a, n, float(np.real(u).sum()) * float(np.real(v).sum())):
                    whole = wrap(self._analytical(self.outputs[i])[j])
                    comparison = self.element_by_element(j, self.positions[i], whole)
                    sentence = self.about(i) + errors.GRADCHECK_MISMATCH.format(i, j, n.item(), a.item())
                    raise GradcheckError(sentence + comparison)

    def element_by_element(self, j: int, place: int, analytical: Tensor) -> str:
        """Return what whole Jacobians of one output by one input add to a mismatch in one direction."""
        numerical = self._numerical(self.inputs[j])[place]
        worst = apart(numerical, analytical._array)
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are "
            "computed \nin fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for "
            "more background \nabout fast mode. Below, we recompute numerical and analytical "
            "jacobians in slow mode:\n\nNumerical:\n "
            f"{wrap(numerical)}\nAnalytical:\n{analytical}\n\nThe max per-element "
            f"difference (slow mode) is: {worst.item()}.\n"
        )
        return (
            text
            + (
                "Fast gradcheck failed but element-wise differences are small. This means that the\n"
                "test might've passed in slow_mode!\n\nIf you are adding a new operator, please file "
                "an issue and then use one of the\nworkarounds. The workaround depends on how your "
                "test invokes gradcheck/gradgradcheck:\n\nIf the test\n- manually invokes "
                "gradcheck/gradgradcheck, then call gradcheck/gradgradcheck\n  with "
                "`fast_mode=False` as a keyword argument.\n- is OpInfo-based (e.g., in "
                "test_ops_gradients.py), then modify the OpInfo for the test\n  to have "
                "`gradcheck_fast_mode=False`\n- is a Module test (e.g., in common_nn.py), then "
                "modify the corresponding\n  module_test entry to have `gradcheck_fast_mode=False`"
            )
            if self.close(analytical._array, numerical)
            else text
        )

    def constant(self, fast: bool) -> bool:
        """Return True if no floating-point output changes at all."""
        random = np.random.default_rng(0)
        for t in self.inputs:
            slopes = self.slopes_along(t._array, direction(t, random)) if fast else self._numerical(t)
            if any((slope != 0).any() for slope in slopes):
                return False
        return True

    def slopes_along(self, part: np.ndarray, direction: Any, where: str = "") -> list[np.ndarray]:
        """Return the same, of a complex input with the derivative along the imaginary axis as imaginary part."""
        if part.dtype.kind != "c":
            return self.slopes(part, direction, where)
        both = [self.slopes(part, d, where) for d in (np.real(direction), 1j * np.imag(direction))]
        return [dx + 1j * dy for dx, dy in zip(*both, strict=True)]

    def slopes(self, part: np.ndarray, direction: Any, where: str = "") -> list[np.ndarray]:
        """Return the derivative of every output when part of an input moves in a direction; integers have none."""
        before = part.copy()
        wide = np.complex128 if part.dtype.kind == "c" else np.float64
        change = self.eps * np.asarray(direction, wide)
        try:
            part[...] = before.astype(wide) - change
            low = _values(self.func(*self.given))
            part[...] = before.astype(wide) + change
            high = _values(self.func(*self.given))
        finally:
            part[...] = before
        for ones, others in ((low, high), (self.first, low)):
            for one, other in zip(map(wrap, ones), map(wrap, others), strict=False):
                for what, a, b in (("shape", one.shape, other.shape), ("dtype", one.dtype, other.dtype)):
                    if a != b:
                        facts = {"what": what, "where": where, "eps": self.eps, "one": a, "other": b}
                        raise AssertionError(
                            (
                                "Expected `func` to return outputs with the same {what} when inputs are perturbed "
                                "{where}by {eps}, but got: {what}s {one} and {other}."
                            ).format(**facts)
                        )
        with np.errstate(all="ignore"):
            return [
                (b - a) / (2 * self.eps) if a.dtype.kind in "fc" else 0 * a for a, b in zip(low, high, strict=False)
            ]

    def _numerical(self, t: Tensor) -> list[np.ndarray]:
        """Return the Jacobian of every output by one input, element by element."""
        both = 1 + 1j if t.is_complex() else 1
        rows = [self.slopes_along(t._array[(*at, ...)], both, f"on index {at} ") for at in np.ndindex(t._array.shape)]
        if not rows:
            return [np.zeros((0, out.size), out.dtype) for out in self.first]
        return [np.stack([slope.ravel() for slope in column]) for column in zip(*rows, strict=True)]

    def _analytical(self, output: Tensor) -> list[np.ndarray]:
        """Return the Jacobian of one output by every input, with one backward pass per element."""
        columns = []
        for at in np.ndindex(output._array.shape):
            seed = np.zeros(output._array.shape, output._array.dtype)
            seed[at] = 1
            columns.append([g.ravel() for g in self._pulled(output, seed)])
        if not columns:
            return [np.zeros((t._array.size, 0), t._array.dtype) for t in self.inputs]
        return [np.stack(column, axis=1) for column in zip(*columns, strict=True)]

    def _pulled(self, output: Tensor, seed: np.ndarray) -> list[np.ndarray]:
        """Return the gradients of the inputs: zero where none arrived."""
        found = gradients((output,), self.inputs, [wrap(seed)], True, False)
        for g, t in zip(found, self.inputs, strict=True):
            if g is not None and g.dtype is not t.dtype:  # PyTorch says "size" of dtypes too
                raise GradcheckError("Analytical gradient has incorrect size")
        return [np.zeros_like(t._array) if g is None else g._array for g, t in zip(found, self.inputs, strict=True)]

    def _dots(self, us: list[np.ndarray], output: Tensor, v: np.ndarray) -> list[Any]:
        return [
            dot(np.real(u), np.real(g)) + 1j * dot(np.imag(u), np.imag(g)) if g.dtype.kind == "c" else dot(u, g)
            for u, g in zip(us, self._pulled(output, v), strict=True)
        ]

    @staticmethod
    def _twice(backward: Callable[[], list[Any]], nondet_tol: float) -> list[Any]:
        """Return the result of a backward pass, after a second run gave the same."""
        once, again = backward(), backward()
        for a, b in zip(once, again, strict=True):
            if np.size(a) and apart(a, b) > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output "
                    "multiple times gives different values, although analytical gradient matches "
                    f"numerical gradient.The tolerance for nondeterminism was {nondet_tol}.\n\nNOTE: If your op "
                    "relies on non-deterministic operations i.e., it is listed here:\n"
                    "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\n"
                    "this failure might be expected.\n\nIf you are adding a new operator, please file an "
                    "issue and then use one of the\nworkarounds. The workaround depends on how your "
                    "test invokes gradcheck/gradgradcheck.\nIf the test\n- manually invokes "
                    "gradcheck/gradgradcheck, then call gradcheck/gradgradcheck\n  with "
                    "`nondet_tol=<tol>` as a keyword argument.\n- is OpInfo-based (e.g., in "
                    "test_ops_gradients.py), then modify the OpInfo for the test\n  to have "
                    "`gradcheck_nondet_tol=<tol>`.\n- is a Module test (e.g., in common_nn.py), then "
                    "modify the corresponding\n  module_test entry to have `gradcheck_nondet_tol=<tol>`\n"
                )
        return once

    def close(self, a: Any, n: Any, times: float = 1.0) -> bool:
        """Return True if a formula's result is close enough to that of differences."""
        return nearly(a, n, self.rtol, self.atol * times)


def nearly(a: Any, n: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Return True if numbers are close to the expected ones."""
    with np.errstate(all="ignore"):
        return bool(np.all((a == n) | (np.isfinite(n) & (np.abs(a - n) <= atol + rtol * np.abs(n)))))


def dot(a: np.ndarray, b: np.ndarray) -> Any:
    """Return the sum of all products."""
    with np.errstate(all="ignore"):
        return (a * b).sum()


def apart(a: Any, b: Any) -> Any:
    """Return the largest difference."""
    with np.errstate(all="ignore"):
        return np.abs(a - b).max()


def _values(outputs: Any) -> list[np.ndarray]:
    return [np.array(o._array) for o in as_tuple(outputs)]


def direction(t: Tensor, random: np.random.Generator) -> np.ndarray:
    """Return random numbers of length 1 in a tensor's shape and dtype."""
    numbers = np.asarray(random.random(t._array.shape))
    if t.is_complex():
        numbers = numbers + 1j * np.asarray(random.random(t._array.shape))
    return (numbers / (np.linalg.norm(numbers) or 1.0)).astype(t._array.dtype)


def compare_forward(jacobians: Jacobians) -> None:
    """Raise GradcheckError unless dual tensors and differences give the same Jacobians, output by output."""
    if not jacobians.outputs:
        if not jacobians.constant(False):
            raise GradcheckError(errors.GRADCHECK_CHANGES)
        return
    pushed = numeric_columns(jacobians)
    for i, place in enumerate(jacobians.positions):
        for j, of_input in enumerate(jacobians.numerical):
            n, a = of_input[place], pushed[j][place]
            if not jacobians.close(a._array, n):
                raise GradcheckError(jacobians.about(j) + errors.GRADCHECK_FORWARD_MISMATCH.format(i, j, wrap(n), a))


def compare_forward_direction(jacobians: Jacobians) -> None:
    """Raise GradcheckError unless `J u` agrees; u is a random direction of each input."""
    random = np.random.default_rng(0)
    us = [direction(t, random) for t in jacobians.inputs]
    numerical = [jacobians.slopes(t._array, u) for t, u in zip(jacobians.inputs, us, strict=True)]
    pushed = numeric_columns(jacobians, us)
    for j, u in enumerate(us):
        for i, place in enumerate(jacobians.floating):
            n, a = numerical[j][place].ravel(), pushed[j][place]
            if not jacobians.close(a._array, n, float(u.sum())):
                whole = numeric_columns(jacobians)[j][place]
                sentence = jacobians.about(j) + errors.GRADCHECK_FORWARD_MISMATCH.format(i, j, wrap(n), a)
                raise GradcheckError(sentence + jacobians.element_by_element(j, place, whole))


def numeric_columns(jacobians: Jacobians, directions: list[np.ndarray] | None = None) -> Parts:
    """Return how the outputs change along each element of each input, or along one direction of each."""
    with dual_level():
        duals, moved = _duals(jacobians.given)
        found = []
        for j, t in enumerate(moved):
            whole = directions is not None
            shape = () if whole else (t._array.size,)
            parts = [wrap(np.zeros((*shape, first.size), first.dtype)) for first in jacobians.first]
            for row, at in enumerate([...] if whole else np.ndindex(t._array.shape)):
                t._array[at] = directions[j] if whole else 1
                for part, out in zip(parts, as_tuple(jacobians.func(*duals)), strict=True):
                    tangent = unpack_dual(out).tangent
                    if tangent is not None:
                        (part if whole else part[row]).copy_(tangent.reshape(-1))
                t._array[at] = 0
            found.append(parts)
    return found


def check_undefined_tangents(func: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Raise GradcheckError unless an input with a zero tangent gives the same as one without a tangent."""
    random = np.random.default_rng(0)
    with dual_level():
        duals, moved = _duals(given)
        for t in moved:
            t._array[...] = direction(t, random)
        for place, t in enumerate(given):
            if not (isinstance(t, Tensor) and t.requires_grad):
                continue
            results = []
            for instead in (make_dual(t.detach(), wrap(np.zeros_like(t._array))), t.detach()):
                outputs = as_tuple(func(*duals[:place], instead, *duals[place + 1 :]))
                results.append([unpack_dual(o).tangent for o in outputs if o._array.dtype.kind in "fc"])
            for i, (zero, none) in enumerate(zip(*results, strict=False)):
                if zero is not None and none is not None and not nearly(zero._array, none._array):
                    index, of_input, undefined, got, wanted = errors.GRADCHECK_UNDEFINED_TANGENT
                    raise GradcheckError(index, i, of_input, t, undefined, got, zero, wanted, none)


def _duals(given: tuple[Any, ...]) -> tuple[list[Any], list[Tensor]]:
    """Return the inputs, with dual tensors for those that require grad, and their tangents: zeros, to be written."""
    duals, moved = [], []
    for t in given:
        if isinstance(t, Tensor) and t.requires_grad:
            t = make_dual(t.detach(), wrap(np.zeros_like(t._array)))
            moved.append(unpack_dual(t).tangent)
        duals.append(t)
    return duals, moved


def check_batched_backward(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError unless one backward pass for two gradients of an output gives the same as two passes."""
    for i, output in enumerate(outputs):

        def pull(seed: Tensor, batched: bool = False, output: Tensor = output) -> list[np.ndarray]:
            found = grad(output, inputs, seed, True, allow_unused=True, is_grads_batched=batched)
            batch = (len(seed._array),) if batched else ()
            pairs = zip(found, inputs, strict=True)
            return [np.zeros((*batch, *t.shape), t._array.dtype) if g is None else g._array for g, t in pairs]

        seeds = _two_like(output)
        expected = [pull(wrap(seed)) for seed in seeds]
        try:
            found = pull(wrap(seeds), True)
        except RuntimeError as error:
            raise GradcheckError(errors.GRADCHECK_RAISED.format(error, errors.GRADCHECK_BACKWARD)) from error
        for j, (got, *wanted) in enumerate(zip(found, *expected, strict=True)):
            both = wrap(np.stack(wanted))
            if not nearly(got, both._array):
                sentence = errors.GRADCHECK_DIFFERENT.format(i, j, errors.GRADCHECK_BACKWARD, wrap(got), both)
                raise GradcheckError(sentence)


def check_batched_forward(func: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Raise GradcheckError unless one run of func for two tangents of an input gives the same as two runs."""
    for place, t in enumerate(given):
        if not (isinstance(t, Tensor) and t.requires_grad and t._array.dtype.kind in "fc"):
            continue
        plain = [a.detach() if isinstance(a, Tensor) else a for a in given]

        def push(tangent: Tensor, place: int = place, plain: list[Any] = plain) -> list[Tensor]:
            with dual_level():
                dual = make_dual(plain[place], tangent)
                outputs = as_tuple(func(*plain[:place], dual, *plain[place + 1 :]))
                pairs = [unpack_dual(o) for o in outputs if o is not None]
            return [primal.new_zeros(primal.shape) if t is None else t for primal, t in pairs]

        tangents = _two_like(t)
        expected = [push(wrap(tangent)) for tangent in tangents]
        try:
            with entered("vmap", len(tangents), AUTOGRAD) as level:
                found = [with_batch(t, level) for t in push(lift(wrap(tangents), level))]
        except RuntimeError as error:
            raise GradcheckError(errors.GRADCHECK_RAISED.format(error, errors.GRADCHECK_FORWARD)) from error
        for i, (got, *wanted) in enumerate(zip(found, *expected, strict=True)):
            both = wrap(np.stack([t._array for t in wanted]))
            if not nearly(got._array, both._array):
                sentence = errors.GRADCHECK_DIFFERENT.format(i, i, errors.GRADCHECK_FORWARD, wrap(got._array), both)
                raise GradcheckError(sentence)


def _two_like(t: Tensor) -> np.ndarray:
    """Return two arrays of random numbers in a tensor's shape and dtype."""
    random = np.random.default_rng(0)
    numbers = random.standard_normal((2, *t.shape))
    if t.is_complex():
        numbers = numbers + 1j * random.standard_normal((2, *t.shape))
    return numbers.astype(t._array.dtype)


def _check_old(name: str, grad_out: float) -> None:
    warn(
        (
            f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
            "deprecating it and it will be removed in a future version of PyTorch. If you have "
            "a specific use for this or feature request for this to be a stable API, please "
            "file us an issue at https://github.com/pytorch/pytorch/issues/new"
        ),
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Sequence[Any], target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """Return the Jacobian of the first output, from finite differences, for each input that requires grad.

    `fn` takes the inputs as one tuple. With `target`, its tensors are moved in place instead of the inputs; they
    may be anything that `fn` reads.
    """
    _check_old("get_numerical_jacobian", grad_out)
    found = Jacobians(lambda *given: fn(given), tuple(inputs), eps, 0, 0)
    return tuple([wrap(found._numerical(t)[0]) for t in _requiring(inputs if target is None else target)])


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """Return the Jacobian of each output with respect to one input, from finite differences."""
    perturbed = inputs[input_idx] if input is None else input
    if not perturbed.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    found = Jacobians(fn, tuple(inputs), eps, 0, 0)._numerical(perturbed)
    return tuple([wrap(jacobian) for jacobian in found[: len(outputs)]])


def _get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:
    """Return the Jacobians of every output by each input that requires grad, or by each target, from differences."""
    inputs = as_tuple(inputs)
    outputs = as_tuple(fn(*inputs)) if outputs is None else outputs
    return [
        get_numerical_jacobian_wrt_specific_input(fn, 0, inputs, outputs, eps, t, is_forward_ad)
        for t in _requiring(inputs if target is None else target)
    ]


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Return the Jacobian of an output with respect to each input that requires grad, from backward passes.

    Returns:
        The Jacobians, and three bools: whether a second backward pass gave the same gradients, and whether the
        gradients had the inputs' sizes and the inputs' dtypes.
    """
    _check_old("get_analytical_jacobian", grad_out)
    wanted = _requiring(inputs)
    shape, kind = output._array.shape, output._array.dtype
    runs: list[list[np.ndarray]] = []
    sizes_fit = dtypes_fit = True
    for _ in range(2):
        jacobians = [np.zeros((t._array.size, output._array.size), t._array.dtype) for t in wanted]
        for column, at in enumerate(np.ndindex(shape)):
            seed = np.zeros(shape, kind)
            seed[at] = 1
            found = gradients((output,), wanted, [wrap(seed)], True, False)
            for jacobian, g, t in zip(jacobians, found, wanted, strict=True):
                if g is not None:
                    sizes_fit &= g._array.shape == t._array.shape
                    dtypes_fit &= g.dtype is t.dtype
                    jacobian[:, column] = g._array.reshape(-1)
        runs.append(jacobians)
    same = all([not a.size or apart(a, b) <= nondet_tol for a, b in zip(*runs, strict=True)])
    return tuple([wrap(jacobian) for jacobian in runs[0]]), same, sizes_fit, dtypes_fit
