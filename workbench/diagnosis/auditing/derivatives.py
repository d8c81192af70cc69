"""Derivatives beside central differences: first, second, forward, and of a batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .case import Case
from .chance import names_of
from .comparing import PASS, NotApplicable, Seen, apart, both, failed, in_a_line, tolerance
from .evidence import wrong_gradient
from .intended import intended

STEP = 1e-5  # in float64
_COARSE_STEP = 1e-2  # in float32
_MOST = 40  # elements of an input that are moved
_FEW = 8  # of a large one
_SMOOTH = 1e-5  # by which the slopes on both sides may always differ
_STEEP = 100.0  # a slope that may be a jump
_LARGE = 4096  # elements of all tensors


def derivative(case: Case) -> Seen:
    """Compare `backward` with central differences, in float64 if it takes that, input by input."""
    if "derivative" not in case.seen:
        case.seen["derivative"] = _derivative(case)
    return case.seen["derivative"]


def _derivative(case: Case) -> Seen:
    _check_resolution(case)
    leaves, outputs, seeds = case.graph(case.precise())
    found = case.gradients(outputs, leaves, seeds)

    def by_differences(place: int, seeds: Sequence[Any]) -> Any:
        return _differences(case, leaves, place, lambda given: _weighted(case, given, seeds))

    for place, grad in zip(case.wanted, found, strict=True):
        if (seen := _nan(case, leaves, outputs, place, grad)) is not None:
            return seen
        expected = by_differences(place, seeds)
        if not _misses(case, grad, expected):
            continue
        evidence = wrong_gradient(case, place, grad, expected, by_differences)
        if why := intended(case, place, grad, expected, seeds[0] if len(seeds) == 1 else None):
            advice = "If so, the rest of the audit holds. If not, derive it again."
            return "question", f"{evidence} Is this intentional? {why}.", advice, "backward"
        return failed(evidence, "Derive it again, and compare each factor; save what the formula needs.", "backward")
    return PASS


def _nan(case: Case, leaves: list[Any], outputs: list[Any], place: int, grad: Any) -> Seen | None:
    """Return the failure of a gradient that is nan, which no derivative is, where all numbers are finite."""
    finite = [each for each in (*leaves, *outputs) if case.is_float(each)]
    if not bool((grad != grad).any()) or any(not bool(case.engine.isfinite(each).all()) for each in finite):
        return None
    at, _ = both(case, grad, case.engine.zeros_like(grad))
    return failed(
        f"The gradient of {case.name(place)} is {at}, and the result is finite.",
        "Look for 0 / 0 or 0 * inf: compute with a safe number there, and choose the gradient.",
        "backward",
    )


def _check_resolution(case: Case) -> None:
    if case.resolution == "unsteady":
        raise NotApplicable("two runs on equal inputs differ")
    if case.resolution == "half":
        raise NotApplicable("it computes in half precision, whose rounding hides differences")


def _weighted(case: Case, given: list[Any], seeds: Sequence[Any]) -> list[Any]:
    """Return each output times its seed, in float64."""
    outputs = case.differentiable(case.run(given))
    double = case.engine.float64
    return [out.detach().to(double) * seed.to(double) for out, seed in zip(outputs, seeds, strict=True)]


def _differences(case: Case, leaves: list[Any], place: int, value: Callable[[list[Any]], list[Any]]) -> Any:
    """Return the slope of a sum by each element of an input; nan at a kink, and where nothing was moved.

    Of an input of many elements, only some are moved. In float32, a slope counts if two steps agree about it.
    """
    engine, at = case.engine, leaves[place].detach()
    is_precise = case.precise() is not None
    wanted = [i for i, each in enumerate(leaves) if case.is_tensor(each) and each.requires_grad]

    def moved(by: Any) -> list[Any]:
        given = [each.detach().clone() if case.is_tensor(each) else each for each in leaves]
        given[place] = by.reshape(tuple(at.shape))
        return value([each.requires_grad_() if i in wanted else each for i, each in enumerate(given)])

    flat = at.reshape(-1)
    slopes = [float("nan")] * flat.numel()
    middle = moved(flat.clone())

    def ends(i: int, step: float) -> list[float]:
        found = []
        for sign in (1, -1):
            other = flat.clone()
            other[i] += sign * step
            gone = (other[i] - flat[i]).item()  # what rounding left of the step
            rise = sum((a - b).sum().item() for a, b in zip(moved(other), middle, strict=True))
            found.append(rise / gone if gone else float("nan"))
        return found

    for i in _places(case, leaves, flat.numel()):
        step = STEP if is_precise else _COARSE_STEP * max(1.0, abs(flat[i].item()))
        sides = ends(i, step)
        gap = _gap(sides)
        if not is_precise:
            sides += ends(i, 2 * step)
            is_kink = not max(sides) - min(sides) <= 0.05 * max(1.0, *map(abs, sides))
        else:  # of a smooth function, half the step has half the gap
            is_kink = not gap <= _SMOOTH * max(1.0, *map(abs, sides)) and not _gap(ends(i, step / 2)) < 0.75 * gap
            if not is_kink and max(map(abs, sides)) > _STEEP:  # a jump looks steeper the smaller the step
                is_kink = max(map(abs, ends(i, step / 2))) > 1.5 * max(map(abs, sides))
        if not is_kink:
            slopes[i] = (sides[0] + sides[1]) / 2
    return engine.tensor(slopes, dtype=engine.float64, device=at.device).reshape(tuple(at.shape))


def _gap(sides: list[float]) -> float:
    return abs(sides[0] - sides[1])


def _places(case: Case, leaves: list[Any], count: int) -> list[int]:
    """Return the elements that are moved: all of a small input, some of a large one, spread over it."""
    total = sum(each.numel() for each in leaves if case.is_tensor(each))
    most = _MOST if total <= _LARGE else _FEW
    if count <= most:
        return list(range(count))
    return sorted({(k * count) // most + (k * 7) % max(1, count // most) for k in range(most)})


def _misses(case: Case, found: Any, expected: Any) -> bool:
    """Return True if a gradient differs from differences, but for kinks."""
    unknown = expected != expected
    found = found.detach().to(case.engine.float64)
    if tuple(found.shape) != tuple(expected.shape):
        return True
    clean = case.engine.where(unknown, case.engine.zeros_like(expected), expected)
    kept = case.engine.where(unknown, case.engine.zeros_like(expected), found)
    return apart(case, kept, clean) > (1e-4 if case.precise() is not None else 5e-2)


def second_derivative(case: Case) -> Seen:
    """Compare the second derivative with differences of the first."""
    engine = case.engine
    _check_resolution(case)
    if case.precise() is None:
        raise NotApplicable("it doesn't compute in float64")
    if case.is_once_differentiable:
        raise NotApplicable("its `backward` is `once_differentiable`")
    leaves, _, seeds = case.graph(engine.float64)

    def slope_at(given: list[Any], **how: Any) -> Any:
        grads = case.gradients(case.differentiable(case.run(given)), given, seeds, **how)
        return sum((g * w).sum() for g, w in zip(grads, case.seeds(grads, 1), strict=True))

    wanted = [leaves[i] for i in case.wanted]
    found: Any = [None] * len(wanted)
    try:
        total = slope_at(leaves, create_graph=True)
        if total.requires_grad:
            found = engine.autograd.grad(total, wanted, allow_unused=True)
    except Exception as error:
        return (
            "question",
            f"A second derivative raises {in_a_line(error)} Is none ever wanted?",
            "If so, decorate `backward` with `once_differentiable`.",
            "backward",
        )
    for place, grad in zip(case.wanted, found, strict=True):
        expected = _differences(case, leaves, place, lambda given: [slope_at(given).detach()])
        second = engine.zeros_like(expected) if grad is None else grad
        if _misses(case, second, expected):
            a, b = both(case, second, expected)
            a = "0, because there is no graph to it" if grad is None else a
            evidence = f"The second derivative by {case.name(place)} is {a}, but by differences {b}."
            advice = (
                "Compute in `backward` from saved inputs and outputs only: save an intermediate as an output, or "
                "recompute it. If second derivatives aren't wanted, decorate `backward` with `once_differentiable`."
            )
            if grad is not None and (inner := _inner(case)):
                advice = f"`backward` applies `{inner}`: derive the `backward` of that again."
            if why := intended(case, place, second, expected, None):
                return "question", f"{evidence} Is this intentional? {why}.", advice, "backward"
            return failed(evidence, advice, "backward")
    return PASS


def _inner(case: Case) -> str:
    """Return the name of the Function that `backward` applies; "" if there is none."""
    base, own = case.engine.autograd.Function, getattr(case.function, "backward", None)
    for each in names_of([inspect.unwrap(own)] if own else [], depth=1):
        if isinstance(each, type) and issubclass(each, base) and each not in (base, case.function):
            return each.__name__
    return ""


def declares_jvp(case: Case) -> Seen:
    """Compare `jvp` with differences, if the Function has one."""
    if case.function is None or not case.defines("jvp"):
        raise NotApplicable("it defines no `jvp`")
    engine = case.engine
    _check_resolution(case)
    if case.precise() is None:
        raise NotApplicable("it doesn't compute in float64")
    leaves = case.leaves(engine.float64)
    primals = [leaves[i].detach() for i in case.wanted]
    tangents = case.seeds(primals, 2)
    forward = engine.autograd.forward_ad
    with forward.dual_level():
        duals = [forward.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
        found = [forward.unpack_dual(each).tangent for each in _at(case, duals, engine.float64)]
    moved = [[p + sign * STEP * t for p, t in zip(primals, tangents, strict=True)] for sign in (1, -1)]
    ends = [_at(case, each, engine.float64) for each in moved]
    for at, (tangent, up, down) in enumerate(zip(found, *ends, strict=True)):
        expected = (up - down) / (2 * STEP)
        tangent = engine.zeros_like(expected) if tangent is None else tangent
        if apart(case, tangent, expected) > 1e-4:
            a, b = both(case, tangent, expected)
            evidence = f"The tangent of output {at} is {a}, but by differences {b}."
            advice = "Derive `jvp` again; it takes the tangents in the order of the arguments of `forward`."
            for place in case.wanted:
                if why := intended(case, place, tangent, expected, None):
                    return "question", f"{evidence} Is this intentional? {why}.", advice, "jvp"
            return failed(evidence, advice, "jvp")
    if case.defines_setup:
        return PASS
    return (
        "question",
        "It has no `setup_context`, so `torch.func` refuses it in spite of its `jvp`. Is it only used without?",
        "Move what `forward` saves to `setup_context`, and leave `ctx` out of `forward`.",
        "forward",
    )


def declares_vmap(case: Case) -> Seen:
    """Compare `vmap` with a loop, if the Function supports it."""
    rule = case.function is not None and getattr(case.function, "generate_vmap_rule", False)
    if case.function is None or not (rule or case.defines("vmap")):
        raise NotApplicable("it defines no `vmap`, and asks for no generated rule")
    leaves = case.leaves(wanted=[])
    batches = [case.engine.stack([leaves[i], leaves[i] * 0.5, leaves[i] + 0.25]) for i in case.wanted]
    for dims in _ways_to_batch([each.ndim for each in batches]):
        given = [
            each[0] if dim is None else each.movedim(0, dim).contiguous()
            for each, dim in zip(batches, dims, strict=True)
        ]
        try:
            seen = _unlike_loop(case, given, dims)
        except Exception as error:
            if set(dims) <= {0, None}:
                raise
            evidence = f"With `in_dims={dims}`, it raises {in_a_line(error)}"
            if isinstance(error, NotImplementedError | AssertionError):
                return "question", f"{evidence} Is it never called so?", _BATCH_ADVICE, "vmap"
            return failed(evidence, _BATCH_ADVICE, "vmap" if case.defines("vmap") else "forward")
        if seen is not None:
            return seen
    return _per_sample(case, batches)


_BATCH_ADVICE = "Move the batch dimension of every batched input, and return the dimension of each output."


def _ways_to_batch(dims: Sequence[int]) -> list[tuple[int | None, ...]]:
    """Return the `in_dims` to try: all in front, all second, and one input alone in front or second."""
    second = [min(1, each - 1) for each in dims]
    places = range(len(dims))
    ways: list[tuple[int | None, ...]] = [(0,) * len(dims), tuple(second)]
    if len(dims) > 1:  # one input is a batch, and the others are the same for each sample
        ways += [tuple([0 if i == at else None for i in places]) for at in places]
        ways += [tuple([second[i] if i == at else None for i in places]) for at in places]
    return [*dict.fromkeys(ways)]


def _unlike_loop(case: Case, given: list[Any], dims: tuple[int | None, ...]) -> Seen | None:
    """Return the failure of a batch whose outputs differ from those of a loop over its samples."""
    engine = case.engine
    found = engine.func.vmap(lambda *some: _at(case, some), in_dims=dims)(*given)
    loop = [
        _at(case, [each if d is None else each.select(d, i) for each, d in zip(given, dims, strict=True)])
        for i in range(3)
    ]
    for at, out in enumerate(found):
        expected = engine.stack([each[at] for each in loop])
        if apart(case, out, expected) > tolerance(case, out):
            how = "" if set(dims) == {0} else f" with `in_dims={dims}`"
            if None in dims:
                (place,) = [i for i, dim in enumerate(dims) if dim is not None]
                how = f" in which only {case.name(case.wanted[place])} is batched, in dimension {dims[place]},"
            a, b = both(case, out, expected)
            return failed(
                f"Output {at} of a batch{how} is {a}, but sample by sample {b}.",
                _BATCH_ADVICE,
                "vmap" if case.defines("vmap") else "forward",
            )
    return None


def _per_sample(case: Case, batches: list[Any]) -> Seen:
    """Compare the gradients of each sample with a loop."""
    if not case.defines("setup_context"):
        return PASS
    engine = case.engine
    places = tuple(range(len(batches)))

    def total(*some: Any) -> Any:
        return sum((each * each).sum() for each in _at(case, some) if each.is_floating_point())

    slopes = engine.func.grad(total, places)
    found = engine.func.vmap(slopes)(*batches)
    loop = [slopes(*[each[i] for each in batches]) for i in range(3)]
    for at, (place, grads) in enumerate(zip(case.wanted, found, strict=True)):
        expected = engine.stack([each[at] for each in loop])
        if apart(case, grads, expected) > tolerance(case, grads):
            a, b = both(case, grads, expected)
            return failed(
                f"The gradient of {case.name(place)} in a batch is {a}, but sample by sample {b}.",
                "Let `backward` and `vmap` treat each sample alone.",
                "vmap" if case.defines("vmap") else "backward",
            )
    return PASS


def _at(case: Case, some: Sequence[Any], dtype: Any = None) -> tuple[Any, ...]:
    """Return the outputs with other values for the wanted inputs."""
    given = case.leaves(dtype, wanted=[])
    for place, each in zip(case.wanted, some, strict=True):
        given[place] = each
    return case.outputs(case.call(*case.joined(given)))
