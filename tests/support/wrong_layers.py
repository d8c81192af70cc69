"""Wrong answers that beginners give in lesson 15; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_DRAW = "mask = (torch.rand(x.shape) >= p) / (1 - p)\n"
_KEEP = "ctx.save_for_backward(mask)\nreturn x * mask\n---\n"
_FORWARD = _DRAW + _KEEP + "(mask,) = ctx.saved_tensors\n"
_WEIGHTS = "weights = scores.softmax(0)\ng = values @ grad_output\n"
_VALUES = "weights[:, None] * grad_output"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "dropout-function": [
        (
            "ctx.p = p\nmask = (torch.rand(x.shape) >= p) / (1 - p)\nreturn x * mask\n---\n"
            "mask = (torch.rand(grad_output.shape) >= ctx.p) / (1 - ctx.p)\nreturn grad_output * mask, None",
            "a new mask in backward",
        ),
        (_FORWARD + "return grad_output, None", "dropout passes the gradient on as it is"),
        (_FORWARD + "return grad_output * (mask != 0), None", "the factor is forgotten in backward"),
        (
            "mask = (torch.rand(x.shape) >= p).to(x.dtype)\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            "the numbers that are kept are not made larger",
        ),
        (
            "mask = (torch.rand(x.shape) <= p) / (1 - p)\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            "the probability to keep in place of p",
        ),
        (
            "mask = (torch.rand(x.shape) < p) / p\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            "the probability to keep in place of p",
        ),
        (_FORWARD + "return mask, None", "the local slope without the chain"),
        (_FORWARD + "return grad_output * mask", None),
        (_FORWARD + "return None, grad_output * mask", None),
        (_FORWARD + "return grad_output * mask * mask, None", None),
        (_FORWARD + "return grad_output / mask, None", None),
        (_FORWARD + "return grad_output * (1 - mask), None", None),
        (_FORWARD + "return -grad_output * mask, None", None),
        (
            "mask = (torch.rand(x.shape) >= p) * (1 - p)\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            None,
        ),
        (
            "mask = (torch.rand(x.shape) >= p) / p\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            None,
        ),
        (
            "mask = torch.rand(x.shape)\n" + _KEEP + "(mask,) = ctx.saved_tensors\nreturn mask * grad_output, None",
            None,
        ),
        (
            "mask = (torch.rand(1) >= p) / (1 - p)\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            None,
        ),
        (
            "mask = (torch.randn(x.shape) >= p) / (1 - p)\n" + _KEEP + "(mask,) = ctx.saved_tensors\n"
            "return mask * grad_output, None",
            None,
        ),
        (_DRAW + "return x * mask\n---\n(mask,) = ctx.saved_tensors\nreturn mask * grad_output, None", None),
    ],
    "centre-backward": [
        ("return grad_output", "the mean is taken for a constant"),
        ("return grad_output - x.mean(0)", "the values in place of the gradient"),
        ("return x - x.mean(0)", "the values in place of the gradient"),
        ("return 0 * x - grad_output.mean(0)", "only the path through the mean"),
        ("return -grad_output.mean(0)", "only the path through the mean"),
        ("return grad_output - grad_output.sum(0)", "the sum in place of the mean"),
        ("return grad_output + grad_output.mean(0)", "the sign of the path through the mean"),
        ("return grad_output - grad_output.mean()", "a mean over the wrong numbers"),
        ("return grad_output - grad_output.mean(1, keepdim=True)", "a mean over the wrong numbers"),
        ("return grad_output - grad_output.mean(1)", None),
        ("return grad_output * (1 - 1 / len(x))", None),
        ("return 0 * grad_output", None),
        ("return grad_output.mean(0)", None),
        ("return grad_output.mean(0) - grad_output", None),
        ("return 1 - 1 / len(x)", None),
        ("return grad_output - 1 / len(x)", None),
        ("return grad_output - grad_output.mean(0) / len(x)", None),
        ("return grad_output.sum(0) - grad_output.mean(0)", None),
        ("return (grad_output - grad_output.mean(0)) / grad_output.std(0)", None),
        ("return grad_output - grad_output.mean(2)", None),
        ("return grad_output * x - grad_output.mean(0)", None),
        ("x.grad = grad_output - grad_output.mean(0)", None),
    ],
    "attention-backward": [
        (_WEIGHTS + f"return weights * (1 - weights) * g, {_VALUES}", "softmax taken for a function of one number"),
        (_WEIGHTS + f"return (weights - weights**2) * g, {_VALUES}", "softmax taken for a function of one number"),
        (_WEIGHTS + f"return weights * g, {_VALUES}", "the sum of the weights can grow"),
        (_WEIGHTS + f"return g, {_VALUES}", "softmax is skipped"),
        (_WEIGHTS + f"return weights * (g - g.mean()), {_VALUES}", "a mean in which all count alike"),
        (
            _WEIGHTS + "return weights * (g - weights @ g), grad_output.expand(values.shape)",
            "each value gets all of the gradient",
        ),
        (
            _WEIGHTS + "return weights * (g - weights @ g), scores[:, None] * grad_output",
            "scores in place of weights",
        ),
        (_WEIGHTS + f"return {_VALUES}, weights * (g - weights @ g)", None),
        (_WEIGHTS + "return weights * (g - weights @ g), weights * grad_output", None),
        (_WEIGHTS + "return weights * (g - weights @ g)", None),
        (_WEIGHTS + f"return weights * (g - g.sum()), {_VALUES}", None),
        (_WEIGHTS + f"return g - weights @ g, {_VALUES}", None),
        (_WEIGHTS + f"return weights * (weights @ g - g), {_VALUES}", None),
        (_WEIGHTS + f"return weights * (g + weights @ g), {_VALUES}", None),
        (_WEIGHTS + f"return weights * (values.sum(1) - weights @ values.sum(1)), {_VALUES}", None),
        (_WEIGHTS + "return weights * (g - weights @ g), weights[:, None]", None),
        (_WEIGHTS + f"return scores * (g - scores @ g), {_VALUES}", None),
        (_WEIGHTS + "return weights * (g - weights @ g), weights[:, None] * values", None),
        (
            f"weights = scores.softmax(0)\ng = values.T @ grad_output\nreturn weights * (g - weights @ g), {_VALUES}",
            None,
        ),
        ("return scores.softmax(0), values", None),
        ("return grad_output, grad_output", None),
    ],
    "clip-on-the-way": [
        (
            "def clip(g):\n    if g.norm() > most:\n        g = g * most / g.norm()\n\nh.register_hook(clip)\nreturn h",
            "nothing replaces the gradient",
        ),
        ("return h", "nothing replaces the gradient"),
        ("h.register_hook(lambda g: g.clamp(-most, most))\nreturn h", "each element is clipped"),
        ("h.register_hook(lambda g: most * g / g.norm())\nreturn h", "small gradients are made larger"),
        ("return h * (most / h.norm()) if h.norm() > most else h", "the values are clipped"),
        ("return h.clamp(-most, most)", "the values are clipped"),
        (
            "h.register_hook(lambda g: g * 0 + most if g.norm() > most else g)\nreturn h",
            "the direction is lost",
        ),
        ("h.register_hook(lambda g: g * most if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g / g.norm() if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g * (g.norm() / most) if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g * (most / g.sum()) if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g * (most / (g**2).sum()) if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g * (most / g.norm()) if g.norm() < most else g)\nreturn h", None),
        ("h.register_hook(lambda g: 0 * g if g.norm() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: g * (most / g.max()) if g.max() > most else g)\nreturn h", None),
        ("h.register_hook(lambda g: min(g.norm(), most))\nreturn h", None),
        ("h.register_hook(lambda g: g.mul_(most / g.norm()) if g.norm() > most else g)\nreturn h", None),
        ("return h.register_hook(lambda g: g * (most / g.norm()) if g.norm() > most else g)", None),
        ("h.register_hook(lambda g: g * (most / g.norm()) if g.norm() > most else g)", None),
        ("torch.nn.utils.clip_grad_norm_([h], most)\nreturn h", "nothing replaces the gradient"),
        ("h.grad = h.grad * (most / h.grad.norm())\nreturn h", None),
        (
            "h.register_hook(lambda g: g * (most / g.norm()) if g.norm() > most else g).remove()\nreturn h",
            "nothing replaces the gradient",
        ),
    ],
}
