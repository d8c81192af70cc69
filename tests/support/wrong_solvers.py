"""Wrong answers that beginners give in lesson 17; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_SAVED = "(z,) = ctx.saved_tensors\n"
_MANY = "s = 1 - z**2\nM = torch.eye(len(z), dtype=z.dtype) - s[:, None] * W\n"
_SOLVED = _MANY + "grad_x = s * torch.linalg.solve(M.T, grad_output)\n"
_OUTER = "return grad_x, torch.outer(grad_x, z)"
_START = "h = time / steps\ny, a, g = end, grad_end, torch.zeros_like(k)\nfor _ in range(steps):\n"
_END = "return a, g"
_SCORES = (
    "n, m = len(losses), len(logits)\np = logits.softmax(0)\nhot = F.one_hot(draws, m)\n"
    "others = (losses.sum() - losses) / (n - 1)\n"
)

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "root-backward": [
        (_SAVED + "return grad_output * (3 * z**2 + 1)", "how a moves with z"),
        (_SAVED + "return grad_output * 3 * z**2 + grad_output", "how a moves with z"),
        (_SAVED + "return grad_output / (3 * z**2)", "one of two terms is forgotten"),
        ("return grad_output", "one of two terms is forgotten"),
        (_SAVED + "return -grad_output / (3 * z**2 + 1)", "the sign is turned"),
        (_SAVED + "return 1 / (3 * z**2 + 1)", "the local slope without the chain"),
        (_SAVED + "s = 3 * z**2 + 1\nreturn grad_output * s / (1 - s)", "the formula of a fixed point"),
        (_SAVED + "return grad_output / (z**3 + z)", "the value in place of the slope"),
        (_SAVED + "return grad_output / (3 * z + 1)", None),
        (_SAVED + "return grad_output / (z**2 + 1)", None),
        (_SAVED + "return grad_output / 3 * z**2 + 1", None),
        (_SAVED + "return grad_output / (1 - 3 * z**2)", None),
        (_SAVED + "return grad_output * (1 - z**2)", None),
        (_SAVED + "s = 1 - z**2\nreturn grad_output * s / (1 - s)", None),
        (_SAVED + "return grad_output / 3 * z**2", None),
        (_SAVED + "grad_output / (3 * z**2 + 1)", None),
        (_SAVED + "return grad_output * z", None),
        ("a, z = ctx.saved_tensors\nreturn grad_output / (3 * z**2 + 1)", None),
        (_SAVED + "return None, grad_output / (3 * z**2 + 1)", None),
    ],
    "fixed-point-of-many": [
        (
            _MANY + f"grad_x = s * torch.linalg.solve(M, grad_output)\n{_OUTER}",
            "the equation of a nudge for that of a gradient",
        ),
        (_MANY + f"grad_x = s * (M.T @ grad_output)\n{_OUTER}", "multiplied and not solved"),
        (f"grad_x = grad_output * (1 - z * z)\n{_OUTER}", "the last round only"),
        (_MANY + f"grad_x = torch.linalg.solve(M.T, grad_output)\n{_OUTER}", "the slope of tanh is forgotten"),
        (
            "M = torch.eye(len(z), dtype=z.dtype) - W\n"
            f"grad_x = (1 - z**2) * torch.linalg.solve(M.T, grad_output)\n{_OUTER}",
            "the slope of tanh is forgotten",
        ),
        (
            "s = 1 - z**2\nM = torch.eye(len(z), dtype=z.dtype) - W * s\n"
            f"grad_x = s * torch.linalg.solve(M.T, grad_output)\n{_OUTER}",
            "the slopes multiply columns",
        ),
        (_SOLVED + "return grad_x, torch.outer(z, grad_x)", "the gradient of W is turned"),
        (_SOLVED + "return grad_x, grad_x * z", None),
        (_SOLVED + "return grad_x, z * grad_x[:, None] * s", None),
        (_SOLVED + "return torch.outer(grad_x, z), grad_x", None),
        (_SOLVED + "return grad_x", None),
        ("s = 1 - z**2\ngrad_x = grad_output * s / (1 - W * s)\nreturn grad_x, grad_x * z", None),
        (
            "s = 1 - z**2\nM = torch.eye(len(z), dtype=z.dtype) + s[:, None] * W\n"
            f"grad_x = s * torch.linalg.solve(M.T, grad_output)\n{_OUTER}",
            None,
        ),
        (f"s = 1 - z**2\ngrad_x = s * torch.linalg.solve((1 - s[:, None] * W).T, grad_output)\n{_OUTER}", None),
        (
            _MANY + f"grad_x = torch.linalg.solve(M.T, s * grad_output)\n{_OUTER}",
            "the two steps in the order of forward",
        ),
        (
            _MANY + f"grad_x = torch.linalg.solve(M, s * grad_output)\n{_OUTER}",
            "the equation of a nudge for that of a gradient",
        ),
        (
            _MANY + f"grad_x = s * (torch.linalg.inv(M) @ grad_output)\n{_OUTER}",
            "the equation of a nudge for that of a gradient",
        ),
        ("return grad_output, torch.outer(grad_output, z)", None),
        (
            "s = z.tanh()\nM = torch.eye(len(z), dtype=z.dtype) - s[:, None] * W\n"
            f"grad_x = s * torch.linalg.solve(M.T, grad_output)\n{_OUTER}",
            None,
        ),
        (_MANY + f"grad_x = s * torch.linalg.solve(grad_output, M.T)\n{_OUTER}", None),
        (_SOLVED + "return grad_x, torch.outer(grad_output, z)", None),
    ],
    "adjoint-of-an-ode": [
        (_START + f"    g = g - h * a * y**2\n    y = y + h * k * y**2\n{_END}", "the adjoint does not move"),
        (
            _START + f"    g = g - h * a * y**2\n    a = a + h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            "the adjoint moves the wrong way",
        ),
        (_START + f"    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n{_END}", "the path stays at its end"),
        (
            _START + f"    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y - h * k * y**2\n{_END}",
            "the path goes on forwards",
        ),
        (
            _START + f"    g = g - h * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            "the adjoint takes no part in the gradient of k",
        ),
        (
            _START + f"    g = g - a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            "a step is as long as 1",
        ),
        (
            _START + f"    g = g + h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            "the sign of the gradient of k",
        ),
        (_START + f"    g = -h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}", None),
        (_START + f"    g = g - h * a * y**2\n    a = a - h * 2 * k * y\n    y = y + h * k * y**2\n{_END}", None),
        (_START + f"    g = g - h * a * y**2\n    a = a - h * a * k * y\n    y = y + h * k * y**2\n{_END}", None),
        (
            _START + "    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\nreturn g, a",
            None,
        ),
        (_START + "    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\nreturn a", None),
        (
            _START
            + "    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n    return a, g",
            None,
        ),
        (
            _START + f"    g = g - h * a * k * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            None,
        ),
        (
            _START + f"    g = g + h * a * y * (1 - y)\n    a = a + h * a * k * (1 - 2 * y)\n"
            f"    y = y - h * k * y * (1 - y)\n{_END}",
            None,
        ),
        (
            "h = -time / steps\ny, a, g = end, grad_end, torch.zeros_like(k)\nfor _ in range(steps):\n"
            f"    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            None,
        ),
        (
            "h = time\ny, a, g = end, grad_end, torch.zeros_like(k)\nfor _ in range(steps):\n"
            f"    g = g - h * a * y**2\n    a = a - h * a * 2 * k * y\n    y = y + h * k * y**2\n{_END}",
            None,
        ),
        ("return grad_end, -time * grad_end * end**2", None),
        ("return grad_end * end, grad_end * k", None),
        ("y, a, g = end, grad_end, 0\nreturn a, g", None),
    ],
    "score-estimates": [
        (_SCORES + "return losses[:, None] * (hot - p)", "no baseline"),
        (
            _SCORES + "return (losses - losses.mean())[:, None] * (hot - p)",
            "the draw's own loss is in its baseline",
        ),
        (_SCORES + "return (losses - others)[:, None] * (p - hot)", "the score is turned"),
        (_SCORES + "return (others - losses)[:, None] * (hot - p)", "the score is turned"),
        (_SCORES + "return (losses - others)[:, None] * hot", "the score of the drawn class alone"),
        (_SCORES + "return (losses - others)[:, None] * (hot - p) * p[draws, None]", "the slope of the probability"),
        (_SCORES + "return ((losses - others)[:, None] * (hot - p)).mean(0)", "one row for all draws"),
        (_SCORES + "return ((losses - others)[:, None] * (hot - p)).sum(0)", "one row for all draws"),
        (_SCORES + "return (losses - others) * (hot - p)", None),
        (_SCORES + "return hot - p", None),
        (_SCORES + "return (losses - losses.sum())[:, None] * (hot - p)", None),
        (_SCORES + "return (losses - others * (n - 1) / n)[:, None] * (hot - p)", None),
        (_SCORES + "return (losses + others)[:, None] * (hot - p)", None),
        (_SCORES + "return losses[:, None] * (p - hot)", None),
        (_SCORES + "return others[:, None] * (hot - p)", None),
        (_SCORES + "return (losses - others)[:, None] * (hot - logits)", None),
        (_SCORES + "return (losses - others)[:, None] * (1 - p)", None),
        (_SCORES + "return (losses - others) * p.log()[draws]", None),
        (_SCORES + "return ((losses - others)[:, None] * (hot - p)).T", None),
        (_SCORES + "return losses[:, None] * hot", None),
        (_SCORES + "(losses - others)[:, None] * (hot - p)", None),
    ],
}
