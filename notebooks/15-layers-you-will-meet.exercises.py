"""The exercises of lesson 15, layers you will meet, with their solutions, as `check` reads them."""

import numpy as np

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise, results, slopes_of, tensor


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand(x.shape) >= p) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None


class _NewMask(Dropout):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        return x * ((torch.rand(x.shape) >= p) / (1 - p))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ((torch.rand(grad_output.shape) >= ctx.p) / (1 - ctx.p)), None


class _NoMaskBack(Dropout):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class _ScaleBackForgotten(Dropout):
    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * (mask > 0), None


class _NeverScaled(Dropout):
    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand(x.shape) >= p) * 1.0
        ctx.save_for_backward(mask)
        return x * mask


class _KeepsWithP(Dropout):
    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand(x.shape) < p) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask


class _KeepsWithPAndScales(Dropout):
    @staticmethod
    def forward(ctx, x, p):
        mask = (torch.rand(x.shape) < p) / p
        ctx.save_for_backward(mask)
        return x * mask


class _MaskWithoutChain(Dropout):
    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask, None


def _dropped(answer, p=0.25, numbers=4000):
    """The result of dropout on ones, and the gradient of the ones, where 2 arrives for each."""
    torch.manual_seed(0)
    x = torch.ones(numbers, requires_grad=True)
    out = tensor(answer.apply(x, p))
    if out.shape != x.shape:
        raise Unusable("your result doesn't have the shape of x")
    (grad,) = torch.autograd.grad(out, x, torch.full_like(x, 2.0), allow_unused=True)
    return out.detach().numpy(), grad


def _levels(numbers):
    """The different numbers there are; many are no mask."""
    found = np.unique(np.round(numbers, 4))
    return list(found) if len(found) <= 3 else ["many numbers"]


def _results_of_dropout(answer):
    out, _ = _dropped(answer)
    return _levels(out)


def _share_of_zeros(answer):
    return [round(float((_dropped(answer, p)[0] == 0).mean()), 1) for p in (0.2, 0.5, 0.7)]


def _gradients_of_dropout(answer):
    """The gradients where a number came through, and where it was dropped."""
    out, grad = _dropped(answer)
    if grad is None:
        return None
    grad = grad.numpy()
    return {"kept": _levels(grad[out != 0]), "dropped": _levels(grad[out == 0])}


exercise(
    "dropout-function",
    "Dropout as a Function: forward draws the mask, and backward sends the gradient through it.",
    solution=Dropout,
    probes={
        "the results": _results_of_dropout,
        "how many numbers are dropped": _share_of_zeros,
        "the gradient": _gradients_of_dropout,
    },
    misconceptions=[
        Misconception(
            "a new mask in backward",
            "your gradient also goes to places that were dropped, and misses places that weren't. backward has to "
            "know what forward has drawn.",
            _NewMask,
        ),
        Misconception(
            "dropout passes the gradient on as it is",
            "a number that was dropped takes no part in the loss: nudge it, and nothing moves.",
            _NoMaskBack,
        ),
        Misconception(
            "the factor is forgotten in backward",
            "the zeros are at the right places. But how much does the result move when a number that was kept moves "
            "by 1?",
            _ScaleBackForgotten,
        ),
        Misconception(
            "the numbers that are kept are not made larger",
            "your zeros are right. But the result is smaller on average than x, and it should be the same.",
            _NeverScaled,
        ),
        Misconception(
            "the probability to keep instead of p",
            "you drop too many numbers or too few. Of which event is p the probability?",
            _KeepsWithP,
            (_KeepsWithPAndScales,),
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            _MaskWithoutChain,
        ),
    ],
    points=2,
)


_ARRIVED = [[1.0, -2.0], [4.0, 0.5], [3.0, 7.0]]


_ROWS = [[2.0, 1.0], [-1.0, 0.5], [5.0, 3.0]]


exercise(
    "centre-backward",
    "The backward of x - x.mean(0).",
    solution=lambda grad_output, x: grad_output - grad_output.mean(0),
    probes={
        "the gradient": results([_ARRIVED, _ROWS], [_ROWS, _ARRIVED]),
        "gradcheck": slopes_of(lambda x: x - x.mean(0), [_ROWS]),
    },
    misconceptions=[
        Misconception(
            "the mean is taken for a constant",
            "that is eval mode. Here the mean is computed from x: a nudge of x moves it too.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "only the path through the mean",
            "x is also before the minus. Two paths lead to it, and their gradients add.",
            lambda grad_output, x: 0 * grad_output - grad_output.mean(0),
            (lambda grad_output, x: -grad_output.mean(0),),
        ),
        Misconception(
            "the sum instead of the mean",
            "each sample is only a part of the mean. How much does the mean move, if one of n samples moves by 1?",
            lambda grad_output, x: grad_output - grad_output.sum(0),
        ),
        Misconception(
            "the sign of the path through the mean",
            "the mean is subtracted: if it goes up, y goes down.",
            lambda grad_output, x: grad_output + grad_output.mean(0),
        ),
        Misconception(
            "a mean over the wrong numbers",
            "batch norm treats each unit separately: its mean is over the samples. Which dimension has the samples?",
            lambda grad_output, x: grad_output - grad_output.mean(),
            (lambda grad_output, x: grad_output - grad_output.mean(1)[:, None],),
        ),
        Misconception(
            "the values instead of the gradient",
            "you subtract something made from x. What goes back is made from grad_output.",
            lambda grad_output, x: grad_output - x.mean(0),
            (lambda grad_output, x: x - x.mean(0),),
        ),
    ],
    points=2,
)


def attention_backward(grad_output, scores, values):
    weights = scores.softmax(0)
    of_weights = values @ grad_output
    return weights * (of_weights - (weights * of_weights).sum()), weights[:, None] * grad_output


def _as_if_alone(grad_output, scores, values):
    weights = scores.softmax(0)
    return weights * (1 - weights) * (values @ grad_output), weights[:, None] * grad_output


def _without_the_mean(grad_output, scores, values):
    weights = scores.softmax(0)
    return weights * (values @ grad_output), weights[:, None] * grad_output


def _without_softmax(grad_output, scores, values):
    return values @ grad_output, scores.softmax(0)[:, None] * grad_output


def _plain_mean(grad_output, scores, values):
    weights = scores.softmax(0)
    of_weights = values @ grad_output
    return weights * (of_weights - of_weights.mean()), weights[:, None] * grad_output


def _all_to_each(grad_output, scores, values):
    of_scores, _ = attention_backward(grad_output, scores, values)
    return of_scores, 0 * values + grad_output


def _scores_for_weights(grad_output, scores, values):
    of_scores, _ = attention_backward(grad_output, scores, values)
    return of_scores, scores[:, None] * grad_output


_SCORES = [0.5, -1.0, 2.0]


_VALUES = [[1.0, 2.0], [-3.0, 0.5], [4.0, -1.0]]


exercise(
    "attention-backward",
    "The backward of scores.softmax(0) @ values: the gradients of scores and of values.",
    solution=attention_backward,
    probes={
        "the gradients": results([[1.0, -2.0], _SCORES, _VALUES], [[0.5, 3.0], [0.0, 1.0, 0.3], _VALUES]),
        "gradcheck": slopes_of(lambda scores, values: scores.softmax(0) @ values, [_SCORES, _VALUES]),
    },
    misconceptions=[
        Misconception(
            "softmax taken for a function of one number",
            "your gradient of the scores has only one path for each score. The sum below the fraction line holds all "
            "scores, so each score also moves the weights of the others.",
            _as_if_alone,
        ),
        Misconception(
            "the sum of the weights can grow",
            "add the gradients of your scores: if all scores go up by the same number, no weight moves, so their sum "
            "must be 0.",
            _without_the_mean,
        ),
        Misconception(
            "softmax is skipped",
            "that's the gradient of the weights. The path from a weight to its score goes through softmax.",
            _without_softmax,
        ),
        Misconception(
            "a mean in which all count alike",
            "your mean gives all positions the same weight. The mean in out has other weights.",
            _plain_mean,
        ),
        Misconception(
            "each value gets all of the gradient",
            "a nudge of a value moves out only by its weight times the nudge. A hidden value doesn't move it.",
            _all_to_each,
        ),
        Misconception(
            "scores instead of weights",
            "a score can be negative or larger than 1. What multiplies a value in forward?",
            _scores_for_weights,
        ),
    ],
    points=3,
)


def limited(h, max_norm):
    def clip(gradient):
        norm = gradient.norm()
        return gradient * (max_norm / norm) if norm > max_norm else gradient

    h.register_hook(clip)
    return h


def _nothing_returned(h, max_norm):
    def clip(gradient):
        norm = gradient.norm()
        if norm > max_norm:
            gradient = gradient * (max_norm / norm)

    h.register_hook(clip)
    return h


def _each_element(h, max_norm):
    h.register_hook(lambda gradient: gradient.clamp(-max_norm, max_norm))
    return h


def _always(h, max_norm):
    h.register_hook(lambda gradient: gradient * (max_norm / gradient.norm()))
    return h


def _values_clipped(h, max_norm):
    norm = h.norm()
    return h * (max_norm / norm) if norm > max_norm else h


def _values_of_elements_clipped(h, max_norm):
    return h.clamp(-max_norm, max_norm)


def _direction_lost(h, max_norm):
    h.register_hook(lambda gradient: torch.full_like(gradient, max_norm) if gradient.norm() > max_norm else gradient)
    return h


def _walked(answer, weights, max_norm):
    """What comes out of an answer and what arrives in front of it, where these weights arrive at its result."""
    w = torch.tensor([3.0, -1.0, 2.0], requires_grad=True)
    out = tensor(answer(2 * w, max_norm))
    arriving = torch.tensor(weights)
    if out.requires_grad:
        out.backward(arriving)
    if arriving.tolist() != torch.tensor(weights).tolist():
        raise Unusable("your code changed the gradient it received in place, but it's used elsewhere too")
    return out, w.grad


exercise(
    "clip-on-the-way",
    "A hook on h that limits the norm of its gradient.",
    solution=limited,
    probes={
        "the values": lambda answer: _walked(answer, [2.0, -4.0, 4.0], 1.5)[0],
        "gradients that are too large": lambda answer: [
            _walked(answer, [2.0, -4.0, 4.0], max_norm)[1] for max_norm in (1.5, 3.0)
        ],
        "gradients that are small": lambda answer: _walked(answer, [0.2, -0.4, 0.4], 1.5)[1],
    },
    misconceptions=[
        Misconception(
            "nothing replaces the gradient",
            "a gradient that is too large goes on as it is. Is there a hook on h when backward runs, and what does the "
            "engine do if a hook returns None?",
            _nothing_returned,
        ),
        Misconception(
            "each element is clipped",
            "that limits each number separately, so the direction of the gradient changes.",
            _each_element,
        ),
        Misconception(
            "small gradients are made larger",
            "large gradients come out right. But a gradient that's short enough goes on as it is.",
            _always,
        ),
        Misconception(
            "the values are clipped",
            "your result has other numbers than h. Limit the gradient, and leave the values as they are.",
            _values_clipped,
            (_values_of_elements_clipped,),
        ),
        Misconception(
            "the direction is lost",
            "all your numbers become equal. Only the length was too large; keep the direction.",
            _direction_lost,
        ),
    ],
    points=2,
)
