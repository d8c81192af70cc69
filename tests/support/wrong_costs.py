"""Wrong answers that beginners give in lesson 18; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_ALL = "for piece in pieces:\n    x = checkpoint(piece, x, use_reentrant=False)\nreturn x"
_LINE = "slope = grad(f)(x)\n_, change = jvp(grad(f), (x,), (slope,))\n"
_NORMS = "norms = a.norm(dim=1) * delta.norm(dim=1)\nfactors = (most / norms).clamp(max=1.0)\n"
_WRITE = "x[x <= 0] *= 0.1\nctx.mark_dirty(x)\nctx.save_for_backward(x)\nreturn x\n---\n(x,) = ctx.saved_tensors\n"
_SLOPE = "(x,) = ctx.saved_tensors\nreturn torch.where(x > 0, grad_output, 0.1 * grad_output)"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "no-work-twice": [
        (_ALL, "every piece in a checkpoint"),
        ("for piece in pieces:\n    x = piece(x)\nreturn x", "no checkpoint at all"),
        (
            "x = pieces[0](x)\nfor piece in pieces[1:]:\n    x = checkpoint(piece, x, use_reentrant=False)\nreturn x",
            "the first piece is left out of the checkpoints",
        ),
        (
            "def whole(x):\n    for piece in pieces:\n        x = piece(x)\n    return x\n\n"
            "return checkpoint(whole, x, use_reentrant=False)",
            "one checkpoint around many pieces",
        ),
        (
            "def before(x):\n    for piece in pieces[:-1]:\n        x = piece(x)\n    return x\n\n"
            "return pieces[-1](checkpoint(before, x, use_reentrant=False))",
            "one checkpoint around many pieces",
        ),
        (
            "with torch.no_grad():\n    for piece in pieces[:-1]:\n        x = piece(x)\nreturn pieces[-1](x)",
            "nothing is recorded",
        ),
        (_ALL.replace("in pieces", "in pieces[:-1]"), "a piece does not run"),
        ("with torch.no_grad():\n    for piece in pieces:\n        x = piece(x)\nreturn x", "nothing is recorded"),
        (_ALL.replace("in pieces", "in pieces[1:]"), None),
        (_ALL.replace("in pieces", "in pieces[::-1]"), None),
        ("for piece in pieces[:-1]:\n    checkpoint(piece, x, use_reentrant=False)\nreturn pieces[-1](x)", None),
        (_ALL.replace("    x = ", "    return "), None),
        (
            "for piece in pieces[:-1]:\n    x = checkpoint(piece, x.detach(), use_reentrant=False)\n"
            "return pieces[-1](x)",
            None,
        ),
    ],
    "best-step-down": [
        (_LINE + "return x + (slope @ slope) / (slope @ change) * slope", "a step up"),
        (_LINE + "return x - (slope @ change) / (slope @ slope) * slope", "the fraction is turned over"),
        (
            _LINE + "return x - 2 / ((slope @ change) / (slope @ slope)) * slope",
            "the limit for the rate in place of the best rate",
        ),
        (
            _LINE + "return x - slope / (slope @ change)",
            "the direction is taken for a vector of length 1",
        ),
        (
            _LINE + "return x - slope.norm() / (slope @ change) * slope",
            "the direction is taken for a vector of length 1",
        ),
        (_LINE + "return -(slope @ slope) / (slope @ change) * slope", "not the new point"),
        (_LINE + "return (slope @ slope) / (slope @ change)", "not the new point"),
        (_LINE + "return x - slope * slope / change", "each coordinate for itself"),
        (
            "slope = grad(f)(x)\nreturn x - slope / jvp(grad(f), (x,), (torch.ones_like(x),))[1]",
            "each coordinate for itself",
        ),
        ("return x - grad(f)(x)", "the curvature takes no part"),
        (_LINE + "return x - 0.1 * slope", None),
        (_LINE + "return x - change", None),
        (_LINE + "return x - (slope @ slope) / (change @ change) * slope", None),
        (_LINE + "return x - (slope @ change) / (change @ change) * slope", None),
        ("slope = grad(f)(x)\nreturn x - slope / slope.norm()", None),
        ("return x", None),
    ],
    "clip-each-sample": [
        (
            "whole = delta.T @ a / len(a)\nreturn whole * (most / whole.norm()).clamp(max=1.0)",
            "the mean is clipped",
        ),
        ("return delta.T @ a / len(a)", "the limit takes no part"),
        (
            "factors = (most / delta.norm(dim=1)).clamp(max=1.0)\nreturn (delta * factors[:, None]).T @ a / len(a)",
            "a part of the gradient is clipped",
        ),
        (
            "factors = (most / a.norm(dim=1)).clamp(max=1.0)\nreturn (delta * factors[:, None]).T @ a / len(a)",
            "a part of the gradient is clipped",
        ),
        (
            "return (delta[:, :, None] * a[:, None, :]).clamp(-most, most).mean(0)",
            "each element is clipped",
        ),
        (
            "factors = most / (a.norm(dim=1) * delta.norm(dim=1))\nreturn (delta * factors[:, None]).T @ a / len(a)",
            "small gradients are made larger",
        ),
        (_NORMS + "return (delta * factors[:, None]).T @ a", "the sum in place of the mean"),
        (_NORMS + "return a.T @ (delta * factors[:, None]) / len(a)", "rows and columns are exchanged"),
        (
            _NORMS + "return (delta * (factors == 1)[:, None]).T @ a / len(a)",
            "large samples are left out",
        ),
        (_NORMS + "return (delta * factors).T @ a / len(a)", None),
        (_NORMS + "return delta[:, :, None] * a[:, None, :] * factors[:, None, None]", None),
        (_NORMS + "return (delta * norms[:, None]).T @ a / len(a)", None),
        ("norm = a.norm() * delta.norm()\nreturn delta.T @ a / len(a) * (most / norm).clamp(max=1.0)", None),
        (_NORMS + "return (delta * factors[:, None]).mean(0)", None),
        (_NORMS + "return (delta * factors[:, None]).T @ (a * factors[:, None]) / len(a)", None),
    ],
    "leaky-in-place": [
        (
            "x[x <= 0] *= 0.1\nctx.save_for_backward(x)\nreturn x\n---\n" + _SLOPE,
            "the engine is not told of the write",
        ),
        (
            "ctx.save_for_backward(x)\nreturn torch.where(x > 0, x, 0.1 * x)\n---\n" + _SLOPE,
            "a new tensor in place of a write",
        ),
        (_WRITE + "return grad_output", "the gradient goes on as it is"),
        (_WRITE + "return grad_output * (x > 0)", "no gradient for negative numbers"),
        (_WRITE + "return torch.where(x > 0, 1.0, 0.1)", "the local slope without the chain"),
        (
            _WRITE + "return torch.where(grad_output > 0, grad_output, 0.1 * grad_output)",
            "the sign of the gradient is asked",
        ),
        (_WRITE + "return grad_output * x", "the value in place of the slope"),
        (_WRITE + "return 0.1 * grad_output", None),
        (_WRITE + "return torch.where(x > 0, 0.1 * grad_output, grad_output)", None),
        (_WRITE + "return torch.where(x > 0.1, grad_output, 0)", "no gradient for negative numbers"),
        (_WRITE + "return grad_output, None", "the gradient goes on as it is"),
        (_WRITE + "grad_output[x <= 0] *= 0.1", None),
        ("x[x <= 0] *= 0.1\nctx.mark_dirty(x)\nctx.save_for_backward(x)\n---\n" + _SLOPE, None),
        ("ctx.mark_dirty(x)\nctx.save_for_backward(x)\nreturn x\n---\n" + _SLOPE, None),
        ("x[x < 0] = 0\nctx.mark_dirty(x)\nctx.save_for_backward(x)\nreturn x\n---\n" + _SLOPE, None),
    ],
}
