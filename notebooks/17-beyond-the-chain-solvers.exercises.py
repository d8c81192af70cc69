"""The exercises of lesson 17, solvers and estimators, with their solutions, as `check` reads them."""

from typing import Any

import workbench as torch
from workbench.classroom import Misconception, Unusable, checked, exercise, gradients, results


class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        z = torch.zeros_like(a)
        for _ in range(150):
            z = z + 0.2 * (a - z**3 - z)
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output / (3 * z**2 + 1)


class _SlopeOfTheEquation(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output * (3 * z**2 + 1)


class _CubeAlone(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output / (3 * z**2)


class _ZAlone(Root):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 1


class _Turned(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return -grad_output / (3 * z**2 + 1)


class _WithoutChain(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return 1 / (3 * z**2 + 1)


class _LikeAFixedPoint(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        s = 3 * z**2 + 1
        return grad_output * s / (1 - s)


class _ValueOfTheEquation(Root):
    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output / (z**3 + z)


exercise(
    "root-backward",
    "The backward of a Function that solves z**3 + z = a.",
    solution=Root,
    probes={
        "the value": results([[0.5, 3.0, -2.0]]),
        "the gradient": gradients([[0.5, 3.0, -2.0]]),
        "gradcheck": checked([[0.5, -2.0]]),
    },
    misconceptions=[
        Misconception(
            "how a moves with z",
            "that's how far a moves if z moves by 1. Here a is nudged, and z follows.",
            _SlopeOfTheEquation,
        ),
        Misconception(
            "one of two terms is forgotten",
            "z is in the equation twice. Both terms move when z moves.",
            _CubeAlone,
            (_ZAlone,),
        ),
        Misconception(
            "the sign is turned",
            "if a goes up, both z**3 and z have to become larger. Which way does z go?",
            _Turned,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            _WithoutChain,
        ),
        Misconception(
            "the formula of a fixed point",
            "that formula is for an equation with only z on one side. Write down how both sides of this equation move.",
            _LikeAFixedPoint,
        ),
        Misconception(
            "the value instead of the slope",
            "you divide by the left side itself. How fast does it change when z moves?",
            _ValueOfTheEquation,
        ),
    ],
    points=2,
)


def _parts(z, W):
    """The slopes of tanh, and the matrix before dz."""
    s = 1 - z**2
    return s, torch.eye(len(z), dtype=z.dtype) - s[:, None] * W


def fixed_point_backward(grad_output, z, W):
    s, before = _parts(z, W)
    grad_x = s * torch.linalg.solve(before.T, grad_output)
    return grad_x, torch.outer(grad_x, z)


def _not_transposed(grad_output, z, W):
    s, before = _parts(z, W)
    grad_x = s * torch.linalg.solve(before, grad_output)
    return grad_x, torch.outer(grad_x, z)


def _of_a_nudge(grad_output, z, W):
    s, before = _parts(z, W)
    grad_x = torch.linalg.solve(before, s * grad_output)
    return grad_x, torch.outer(grad_x, z)


def _slope_first(grad_output, z, W):
    s, before = _parts(z, W)
    grad_x = torch.linalg.solve(before.T, s * grad_output)
    return grad_x, torch.outer(grad_x, z)


def _multiplied(grad_output, z, W):
    s, before = _parts(z, W)
    grad_x = s * (before.T @ grad_output)
    return grad_x, torch.outer(grad_x, z)


def _one_round(grad_output, z, W):
    grad_x = (1 - z**2) * grad_output
    return grad_x, torch.outer(grad_x, z)


def _slope_outside_forgotten(grad_output, z, W):
    _, before = _parts(z, W)
    grad_x = torch.linalg.solve(before.T, grad_output)
    return grad_x, torch.outer(grad_x, z)


def _slope_inside_forgotten(grad_output, z, W):
    grad_x = (1 - z**2) * torch.linalg.solve((torch.eye(len(z), dtype=z.dtype) - W).T, grad_output)
    return grad_x, torch.outer(grad_x, z)


def _columns(grad_output, z, W):
    s = 1 - z**2
    grad_x = s * torch.linalg.solve((torch.eye(len(z), dtype=z.dtype) - s * W).T, grad_output)
    return grad_x, torch.outer(grad_x, z)


def _turned(grad_output, z, W):
    grad_x, grad_w = fixed_point_backward(grad_output, z, W)
    return grad_x, grad_w.T


_G = [1.0, -2.0, 0.5]
_Z = [0.3, -0.5, 0.8]
_W = [[0.2, 0.4, -0.3], [0.1, -0.5, 0.6], [0.7, 0.0, 0.3]]


def _agrees_with_nudging(answer: Any) -> list[bool]:
    """Whether gradcheck agrees with the answer as the backward of a loop that finds the fixed point."""

    class ByHand(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, W: Any) -> Any:
            z = torch.zeros_like(x)
            for _ in range(100):
                z = (W @ z + x).tanh()
            ctx.save_for_backward(z, W)
            return z

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            found = answer(grad_output, *ctx.saved_tensors)
            return tuple(found) if isinstance(found, list) else found

    return checked([[0.2, -0.4, 1.0], _W])(ByHand)


exercise(
    "fixed-point-of-many",
    "The backward of a vector z that solves z = tanh(W @ z + x): the gradients of x and of W.",
    solution=fixed_point_backward,
    probes={"the gradients": results([_G, _Z, _W]), "gradcheck": _agrees_with_nudging},
    misconceptions=[
        Misconception(
            "the equation of a nudge for that of a gradient",
            "you solve for how z moves. A gradient goes the other way through the same matrix.",
            _not_transposed,
            (_of_a_nudge,),
        ),
        Misconception(
            "the two steps in the order of forward",
            "from dx to dz, the slope of tanh comes first. A gradient takes the same two steps in reverse.",
            _slope_first,
        ),
        Misconception(
            "multiplied and not solved",
            "you multiply by the matrix. But it multiplies the unknown, so you have to solve for it.",
            _multiplied,
        ),
        Misconception(
            "the last round only",
            "that's one round of the loop. The z on the right side of the equation moves too.",
            _one_round,
        ),
        Misconception(
            "the slope of tanh is forgotten",
            "both dx and W @ dz go through tanh, so its slope is a factor of both.",
            _slope_outside_forgotten,
            (_slope_inside_forgotten,),
        ),
        Misconception(
            "the slopes multiply columns",
            "row i of W makes the number i of the result, and so it has the slope number i.",
            _columns,
        ),
        Misconception(
            "the gradient of W is turned",
            "your gradient of W has rows and columns exchanged. Row i of W belongs to the result i.",
            _turned,
        ),
    ],
    points=3,
)


def _integrated(end, grad_end, k, time, steps, to_y=-1.0, to_a=1.0, to_k=1.0, with_adjoint=True, with_h=True):
    """The gradients of the first y and of k by Euler backward in time, where each of the three goes its own way."""
    h = time / steps
    y, a, grad_k = end, grad_end, torch.zeros_like(k)
    for _ in range(steps):
        part = -(y**2) * (a if with_adjoint else 1.0)
        grad_k = grad_k + to_k * part * (h if with_h else 1.0)
        a, y = a + to_a * h * a * (-2 * k * y), y + to_y * h * (-k * y**2)
    return a, grad_k


def adjoint(end, grad_end, k, time, steps):
    h = time / steps
    y, a, grad_k = end, grad_end, torch.zeros_like(k)
    for _ in range(steps):
        grad_k = grad_k - h * a * y**2
        a, y = a - h * a * 2 * k * y, y + h * k * y**2
    return a, grad_k


def _adjoint_with(**changed):
    return lambda end, grad_end, k, time, steps: _integrated(end, grad_end, k, time, steps, **changed)


# The last y, its gradient, k, the time and the steps: y starts at 2 and at 0.5.
_ENDS = [(1.0, 10.4, 0.5, 1.0), (0.3125, -20.0, 0.6, 2.0)]


def _with_steps(steps: int):
    def probe(answer: Any) -> list[Any]:
        found = []
        for *numbers, time in _ENDS:
            both = answer(*(torch.tensor(each, dtype=torch.float64) for each in numbers), time, steps)
            if not isinstance(both, tuple | list) or len(both) != 2:
                raise Unusable("your code must return two gradients, for the first y and for k")
            # Whoever updates the three numbers in another order is off by the error of a step.
            found += [None if each is None else round(float(each), 1) for each in both]
        return found

    return probe


exercise(
    "adjoint-of-an-ode",
    "The adjoint of dy/dt = -k * y**2 by Euler's method: the gradients of the first y and of k.",
    solution=adjoint,
    probes={"the gradients": _with_steps(2000)},
    misconceptions=[
        Misconception(
            "the adjoint does not move",
            "a nudge of the first y isn't the same at the end: each step multiplies it by its slope.",
            _adjoint_with(to_a=0.0),
        ),
        Misconception(
            "the adjoint moves the wrong way",
            "here, two values of y that start near each other get even closer over time. Is the adjoint at the start "
            "larger or smaller than at the end?",
            _adjoint_with(to_a=-1.0),
        ),
        Misconception(
            "the path stays at its end",
            "the slope of a step needs the y of that step, and y wasn't at its end all the time.",
            _adjoint_with(to_y=0.0),
        ),
        Misconception(
            "the path goes on forward",
            "your y goes on after the end. backward needs the values that it had before.",
            _adjoint_with(to_y=1.0),
        ),
        Misconception(
            "the adjoint takes no part in the gradient of k",
            "a nudge of k moves y in each step. How much does the loss change when y moves by that much?",
            _adjoint_with(with_adjoint=False),
        ),
        Misconception(
            "a step is as long as 1",
            "your gradient of k grows with the number of steps. How far does y move in one step of the time h?",
            _adjoint_with(with_h=False),
        ),
        Misconception(
            "the sign of the gradient of k",
            "the gradient of y is right. But if k goes up, y falls faster.",
            _adjoint_with(to_k=-1.0),
        ),
    ],
    points=3,
)


def _scores(draws, logits):
    return torch.nn.functional.one_hot(draws, len(logits)) - logits.softmax(0)


def _others(losses):
    return (losses.sum() - losses) / (len(losses) - 1)


def estimates(losses, draws, logits):
    others = (losses.sum() - losses) / (len(losses) - 1)
    scores = torch.nn.functional.one_hot(draws, len(logits)) - logits.softmax(0)
    return (losses - others)[:, None] * scores


def _without_probabilities(losses, draws, logits):
    return (losses - _others(losses))[:, None] * torch.nn.functional.one_hot(draws, len(logits))


def _of_the_probability(losses, draws, logits):
    return estimates(losses, draws, logits) * logits.softmax(0)[draws][:, None]


_LOSSES = [4.0, 9.0, -1.0, 2.5]
_DRAWS = torch.tensor([0, 2, 0, 1])
_LOGITS = [0.5, -1.0, 0.2]


exercise(
    "score-estimates",
    "The score-function estimates of the gradient of logits, a row for each draw, with the others' mean as a baseline.",
    solution=estimates,
    probes={
        "the estimates": results([_LOSSES, _DRAWS, _LOGITS], [[1.0, 3.0], torch.tensor([1, 1]), [0.0, 2.0]]),
    },
    misconceptions=[
        Misconception(
            "no baseline",
            "the mean of your estimates is right, but they are farther apart than they need be.",
            lambda losses, draws, logits: losses[:, None] * _scores(draws, logits),
        ),
        Misconception(
            "the draw's own loss is in its baseline",
            "your baseline depends on the draw that it is subtracted from, so the mean of the estimates is no "
            "longer the slope.",
            lambda losses, draws, logits: (losses - losses.mean())[:, None] * _scores(draws, logits),
        ),
        Misconception(
            "the score is turned",
            "if a draw has a larger loss than the others, its class should become less likely. Which sign does the "
            "gradient of its logit need, and which has yours?",
            lambda losses, draws, logits: -estimates(losses, draws, logits),
        ),
        Misconception(
            "the score of the drawn class alone",
            "a logit that wasn't drawn moves the probability of the draw too: it's in the sum of softmax.",
            _without_probabilities,
        ),
        Misconception(
            "the slope of the probability",
            "a likely class is also drawn more often, so its probability is in the mean already.",
            _of_the_probability,
        ),
        Misconception(
            "one row for all draws",
            "the question asks for one row per draw. You joined them.",
            lambda losses, draws, logits: estimates(losses, draws, logits).mean(0),
            (lambda losses, draws, logits: estimates(losses, draws, logits).sum(0),),
        ),
    ],
    points=3,
)
