"""Wrong answers that beginners give in lesson 14; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_P = "p = z.exp() / z.exp().sum(1, keepdim=True)\n"
_NORM = "std = x.std(0, correction=0)\nnormed = (x - x.mean(0)) / std\n"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "linear-layer-backward": [
        ("return grad_output @ w.T, x.T @ grad_output, grad_output.sum(0)", "the layer of section 4"),
        ("return grad_output @ w, x.T @ grad_output, grad_output.sum(0)", "the gradient of w is turned"),
        ("return grad_output @ w, grad_output.T @ x, grad_output", "the gradient of b is not summed"),
        ("return grad_output @ w, grad_output.T @ x, grad_output.mean(0)", "the gradient of b is a mean"),
        ("return grad_output @ w, grad_output.T @ x / len(x), grad_output.sum(0)", "the gradient of w is a mean"),
        (
            "ones = torch.ones_like(grad_output)\nreturn ones @ w, ones.T @ x, ones.sum(0)",
            "gradients that arrive are ignored",
        ),
        ("return grad_output @ w, grad_output.T @ x, grad_output.sum(1)", None),
        ("return grad_output @ w, grad_output.T @ x, grad_output.sum()", None),
        ("return grad_output * w, grad_output * x, grad_output", None),
        ("return w, x, torch.ones_like(b)", None),
        ("return w @ grad_output, grad_output @ x, grad_output.sum(0)", None),
        ("return grad_output.T @ x, grad_output @ w, grad_output.sum(0)", None),
        ("return grad_output @ w, grad_output.T @ x", None),
        ("return grad_output @ w, grad_output.T @ x, None", None),
        ("gx, gw = grad_output @ w, grad_output.T @ x", None),
        ("return grad_output @ w, grad_output.T @ x, torch.ones_like(b)", None),
    ],
    "softmax-backward": [
        (_P + "return grad_output * p * (1 - p)", "only the diagonal of the Jacobian"),
        (_P + "return grad_output * p", "the sum below the line is taken as fixed"),
        (_P + "return p * (grad_output - (grad_output * p).sum(0))", "summed over the batch"),
        (_P + "return p * (grad_output - (grad_output * p).sum())", "summed over the batch"),
        (_P + "return p * (grad_output - (grad_output * p).mean(1, keepdim=True))", "the mean in place of the sum"),
        (
            _P + "return p * (grad_output - grad_output.sum(1, keepdim=True))",
            "the probabilities take no part in the sum",
        ),
        (_P + "return p - grad_output", "the rule for a loss in place of one for softmax"),
        (_P + "return p * (grad_output - (grad_output * p).sum(1))", None),
        (_P + "return p * (1 - p)", None),
        (_P + "return grad_output - (grad_output * p).sum(1, keepdim=True)", None),
        (_P + "return p", None),
        ("return z.exp() * grad_output", None),
        ("return grad_output", None),
        ("p = z.exp() / z.exp().sum()\nreturn p * (grad_output - (grad_output * p).sum())", None),
        (_P + "result = p * (grad_output - (grad_output * p).sum(1, keepdim=True))", None),
        (_P + "return p * (grad_output + (grad_output * p).sum(1, keepdim=True))", None),
    ],
    "batch-norm-backward": [
        ("return grad_output / x.std(0, correction=0)", "mean and standard deviation are taken as fixed"),
        (
            "return (grad_output - grad_output.mean(0)) / x.std(0, correction=0)",
            "the standard deviation is taken as fixed",
        ),
        (_NORM + "return (grad_output - normed * (grad_output * normed).mean(0)) / std", "the mean is taken as fixed"),
        (
            _NORM + "return (grad_output - grad_output.sum(0) - normed * (grad_output * normed).sum(0)) / std",
            "sums in place of means",
        ),
        (
            _NORM + "return (grad_output - grad_output.mean(0) - normed * (grad_output * normed).mean(0)) * std",
            "multiplied by the standard deviation",
        ),
        (
            _NORM + "return grad_output - grad_output.mean(0) - normed * (grad_output * normed).mean(0)",
            "the division is forgotten",
        ),
        (_NORM + "return (grad_output - grad_output.mean() - normed * (grad_output * normed).mean()) / std", None),
        ("return grad_output", None),
        ("return grad_output - grad_output.mean(0)", None),
        ("return 1 / x.std(0, correction=0)", None),
        (_NORM + "return (grad_output - grad_output.mean(0)) / std - normed", None),
        (_NORM + "return (grad_output - grad_output.mean(0) + normed * (grad_output * normed).mean(0)) / std", None),
        (_NORM + "return grad_output * normed", None),
        (_NORM + "return (grad_output - grad_output.mean(1) - normed * (grad_output * normed).mean(1)) / std", None),
        (_NORM + "result = (grad_output - grad_output.mean(0)) / std", None),
        (
            "std = x.std(0)\nnormed = (x - x.mean(0)) / std\n"
            "return (grad_output - grad_output.mean(0) - normed * (grad_output * normed).mean(0)) / std",
            "the standard deviation with n - 1",
        ),
        (
            "centred = x - x.mean(0)\nnormed = centred / (centred**2).mean(0).sqrt()\n"
            "return (grad_output - grad_output.mean(0) - normed * (grad_output * normed).mean(0)) / x.std(0)",
            "the standard deviation with n - 1",
        ),
        (
            "centred = x - x.mean(0)\nstd = x.std(0, correction=0)\ng_std = -(grad_output * centred / std**2).sum(0)\n"
            "g = grad_output / std + g_std * centred / (6 * std)\nreturn g - g.mean(0)",
            "the batch of section 7",
        ),
        (
            "centred = x - x.mean(0)\nstd = x.std(0, correction=0)\ng_std = -(grad_output * centred / std**2).sum(0)\n"
            "g = grad_output / std + g_std * centred / (6 * std)\nreturn g - g.sum(0) / 6",
            "the batch of section 7",
        ),
    ],
}
