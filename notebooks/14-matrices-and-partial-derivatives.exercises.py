"""The exercises of lesson 14, matrices and partial derivatives, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, exercise, results, slopes_of


def _linear(x, w, b):
    return x @ w.T + b


_X = [[1.0, -2.0, 0.5], [3.0, 0.25, -1.0], [0.1, 2.0, 4.0], [-0.5, 1.5, 2.5]]
_W = [[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]]
_B = [0.1, -0.2]
_G = [[1.0, 2.0], [-0.5, 3.0], [4.0, 0.25], [2.0, -1.0]]
_SQUARE = [[1.0, 2.0], [-3.0, 0.5]]


exercise(
    "linear-layer-backward",
    "The backward of x @ w.T + b, with x of the shape (n, k), w of the shape (m, k) and b of the shape (m,).",
    solution=lambda grad_output, x, w, b: (grad_output @ w, grad_output.T @ x, grad_output.sum(0)),
    probes={
        "the gradients": results([_G, _X, _W, _B]),
        "the gradients of a square layer": results([[[1.0, -2.0], [0.5, 4.0]], [[2.0, 1.0], [0.3, -1.0]], _SQUARE, _B]),
        "gradcheck": slopes_of(_linear, [_X, _W, _B]),
    },
    misconceptions=[
        Misconception(
            "the layer of section 4",
            "that's right for x @ w. Here rows and columns of w are exchanged before it's multiplied. Write down the "
            "shapes of grad_output, x and w, and see which products there are.",
            lambda grad_output, x, w, b: (grad_output @ w.T, x.T @ grad_output, grad_output.sum(0)),
        ),
        Misconception(
            "the gradient of w is turned",
            "your gradient of w has the numbers, but not the shape of w. A gradient has the shape of its tensor.",
            lambda grad_output, x, w, b: (grad_output @ w, x.T @ grad_output, grad_output.sum(0)),
        ),
        Misconception(
            "the gradient of b is not summed",
            "b was repeated for each row of x. The gradients from all rows belong to this one b.",
            lambda grad_output, x, w, b: (grad_output @ w, grad_output.T @ x, grad_output),
        ),
        Misconception(
            "the gradient of b is a mean",
            "a nudge of b moves every row by all of the nudge, not by a part of it.",
            lambda grad_output, x, w, b: (grad_output @ w, grad_output.T @ x, grad_output.mean(0)),
        ),
        Misconception(
            "the gradient of w is a mean",
            "a loss that is a mean has the division in its own gradient: it's in grad_output already.",
            lambda grad_output, x, w, b: (grad_output @ w, grad_output.T @ x / len(x), grad_output.sum(0)),
            (lambda grad_output, x, w, b: (grad_output @ w, grad_output.T @ x / len(x), grad_output.mean(0)),),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad_output.",
            lambda grad_output, x, w, b: (
                torch.ones_like(grad_output) @ w,
                torch.ones_like(grad_output).T @ x,
                torch.ones_like(grad_output).sum(0),
            ),
        ),
    ],
    points=2,
)


def _softmax(z):
    powers = z.exp()
    return powers / powers.sum(1, keepdim=True)


_Z = [[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]]
_GZ = [[1.0, 2.0, -0.5], [3.0, 0.25, 4.0]]


def _softmax_backward(grad_output, z):
    p = _softmax(z)
    return p * (grad_output - (grad_output * p).sum(1, keepdim=True))


exercise(
    "softmax-backward",
    "The backward of softmax over each row of z.",
    solution=_softmax_backward,
    probes={"the gradient": results([_GZ, _Z]), "gradcheck": slopes_of(_softmax, [_Z])},
    misconceptions=[
        Misconception(
            "only the diagonal of the Jacobian",
            "a score moves its own probability, and all others of its row too. Each of these brings a gradient back.",
            lambda grad_output, z: grad_output * _softmax(z) * (1 - _softmax(z)),
        ),
        Misconception(
            "the sum below the line is taken as fixed",
            "that's the slope of exp(z) divided by a fixed number. A score moves the sum as well.",
            lambda grad_output, z: grad_output * _softmax(z),
        ),
        Misconception(
            "summed over the batch",
            "each row is its own sample. The rows don't share a sum, so nothing adds over them.",
            lambda grad_output, z: _softmax(z) * (grad_output - (grad_output * _softmax(z)).sum(0)),
            (lambda grad_output, z: _softmax(z) * (grad_output - (grad_output * _softmax(z)).sum()),),
        ),
        Misconception(
            "the mean instead of the sum",
            "gradients that arrive along several paths add. Nothing divides the sum by the number of paths.",
            lambda grad_output, z: _softmax(z) * (grad_output - (grad_output * _softmax(z)).mean(1, keepdim=True)),
        ),
        Misconception(
            "the probabilities take no part in the sum",
            "the gradients that come back through the sum below the line aren't equal: each has a probability "
            "as a factor.",
            lambda grad_output, z: _softmax(z) * (grad_output - grad_output.sum(1, keepdim=True)),
        ),
        Misconception(
            "the rule for a loss instead of one for softmax",
            "that rule holds for softmax and cross-entropy together. Here any gradient may arrive.",
            lambda grad_output, z: _softmax(z) - grad_output,
        ),
    ],
    points=2,
)


def _norm(x):
    centered = x - x.mean(0)
    return centered / (centered**2).mean(0).sqrt()


def _by_parts(grad_output, x):
    """The columns' std, the normed x, and what arrives without its mean."""
    return x.std(0, correction=0), _norm(x), grad_output - grad_output.mean(0)


def _norm_backward(grad_output, x):
    std, normed, arrived = _by_parts(grad_output, x)
    return (arrived - normed * (grad_output * normed).mean(0)) / std


def _std_fixed(grad_output, x):
    std, _, arrived = _by_parts(grad_output, x)
    return arrived / std


def _mean_fixed(grad_output, x):
    std, normed, _ = _by_parts(grad_output, x)
    return (grad_output - normed * (grad_output * normed).mean(0)) / std


def _summed(grad_output, x):
    std, normed, _ = _by_parts(grad_output, x)
    return (grad_output - grad_output.sum(0) - normed * (grad_output * normed).sum(0)) / std


def _multiplied(grad_output, x):
    return _norm_backward(grad_output, x) * x.std(0, correction=0) ** 2


def _undivided(grad_output, x):
    return _norm_backward(grad_output, x) * x.std(0, correction=0)


def _six_samples(grad_output, x):
    std, normed, _ = _by_parts(grad_output, x)
    of_std = -(grad_output * normed / std).sum(0)
    of_centered = grad_output / std + of_std * normed / 6
    return of_centered - of_centered.sum(0) / 6


def _six_in_std(grad_output, x):
    std, normed, _ = _by_parts(grad_output, x)
    of_centered = (grad_output - normed * (grad_output * normed).sum(0) / 6) / std
    return of_centered - of_centered.mean(0)


def _std_of_a_sample(grad_output, x):
    std = x.std(0)
    normed = (x - x.mean(0)) / std
    return (grad_output - grad_output.mean(0) - normed * (grad_output * normed).mean(0)) / std


def _std_of_a_sample_below(grad_output, x):
    _, normed, arrived = _by_parts(grad_output, x)
    return (arrived - normed * (grad_output * normed).mean(0)) / x.std(0)


_TALL = [[1.0, -2.0], [0.5, 3.0], [2.0, 0.25], [4.0, 1.0]]

exercise(
    "batch-norm-backward",
    "The backward of (x - mean) / std, with the mean and the standard deviation of each column of x.",
    solution=_norm_backward,
    probes={"the gradient": results([_G, _TALL]), "gradcheck": slopes_of(_norm, [_TALL])},
    misconceptions=[
        Misconception(
            "mean and standard deviation are taken as fixed",
            "both are computed from x. A nudge of one x moves them, and so it moves all results of its column.",
            lambda grad_output, x: grad_output / x.std(0, correction=0),
        ),
        Misconception(
            "the standard deviation is taken as fixed",
            "the path through the mean is there. A nudge of x moves the standard deviation too.",
            _std_fixed,
        ),
        Misconception(
            "the mean is taken as fixed",
            "the path through the standard deviation is there. A nudge of x moves the mean too.",
            _mean_fixed,
        ),
        Misconception(
            "sums instead of means",
            "the mean divides by the number of rows, so its slope for each x is smaller than 1.",
            _summed,
        ),
        Misconception(
            "multiplied by the standard deviation",
            "forward divides x by this number. So how large is a nudge of x after the division?",
            _multiplied,
        ),
        Misconception(
            "the division is forgotten",
            "forward divides by the standard deviation. So a nudge of x doesn't reach the result in full.",
            _undivided,
        ),
        Misconception(
            "the batch of section 7",
            "your rule holds for a batch of six samples, as in section 7. Another batch has another number of rows.",
            _six_samples,
            (_six_in_std,),
        ),
        Misconception(
            "the standard deviation with n - 1",
            "your standard deviation divides the sum of the squares by the number of rows minus 1. Forward took the "
            "mean of the squares.",
            _std_of_a_sample,
            (_std_of_a_sample_below,),
        ),
    ],
    points=3,
)
