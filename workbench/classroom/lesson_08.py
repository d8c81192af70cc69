"""The exercises of lesson 8, differentiating the derivative."""

# backward() writes `.grad`, which a type checker does not see.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import workbench as torch
from workbench.autograd.function import once_differentiable

from .exercise import Exercise, Misconception
from .probes import checked, checked_twice, gradients, results


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return (1 - result * result) * grad_output


class IntermediateSaved(Tanh):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(1 - result * result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


class Detached(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        result = result.detach()
        return (1 - result * result) * grad_output


class Once(Tanh):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return (1 - result * result) * grad_output


class LocalSlope(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return 1 - result * result


def _saved(answer):
    """Whether what the node keeps is an input or an output, and nothing else."""
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    out = answer.apply(x)
    return [torch.equal(each, x) or torch.equal(each, out) for each in out.grad_fn.saved_tensors]


def _second(answer):
    """The second derivative of x times the Function, by a backward that visits every node."""
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad((answer.apply(x) * x).sum(), x, create_graph=True)
    slope.sum().backward()
    return x.grad


def penalty(out, u):
    (slopes,) = torch.autograd.grad(out.sum(), u, create_graph=True)
    return ((slopes - 1) ** 2).mean()


def _constant_penalty(out, u):
    (slopes,) = torch.autograd.grad(out.sum(), u)
    return ((slopes - 1) ** 2).mean()


def _backward_penalty(out, u):
    u.grad = None
    out.sum().backward(create_graph=True)
    return ((u.grad - 1) ** 2).mean()


def _penalty_of_the_output(out, u):
    return ((out - 1) ** 2).mean()


def _detached_penalty(out, u):
    (slopes,) = torch.autograd.grad(out.sum(), u, create_graph=True)
    return ((slopes.detach() - 1) ** 2 + 0 * out).mean()


def _penalty_of_the_mean(out, u):
    (slopes,) = torch.autograd.grad(out.mean(), u, create_graph=True)
    return ((slopes - 1) ** 2).mean()


def _model(w, u):
    return w * u * u + (w * u).sin()


def _value(answer):
    w, u = _leaves()
    return answer(_model(w, u), u)


def _leaves():
    return [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (0.7, [1.3, -0.4, 2.0])]


def _learned(answer):
    """What a backward of the penalty brings to the weight."""
    w, u = _leaves()
    answer(_model(w, u), u).backward()
    return w.grad


def _checked(answer):
    """Whether gradcheck agrees with how the penalty moves with the weight."""
    w, u = _leaves()
    return torch.autograd.gradcheck(lambda w: answer(_model(w, u), u), (w,), raise_exception=False)


EXERCISES = (
    Exercise(
        "second-derivative",
        "The second derivative of x**3 - x**2 at x = 3.",
        16,
        misconceptions=(
            Misconception(
                "one derivative too few",
                "that is the slope. How fast does the slope itself move with x?",
                21,
            ),
            Misconception("one derivative too many", "you differentiated once more than was asked.", 6),
            Misconception(
                "the square of the slope",
                "to differentiate twice is not to multiply the slope by itself: apply the rule to the slope.",
                441,
            ),
            Misconception("the value in place of the slope", "that is the height of the curve there.", 18),
        ),
    ),
    Exercise(
        "tanh-twice",
        "Write tanh as a Function whose second derivative is right.",
        Tanh,
        {
            "the value": results([[0.5, -1.0, 0.0]]),
            "the gradient": gradients([[0.5, -1.0, 0.0]]),
            "gradcheck": checked([[0.3, -0.4]]),
            "what is saved": lambda answer: all(_saved(answer)),
            "gradgradcheck": checked_twice([[0.3, -0.4]]),
            "the second derivative": _second,
        },
        (
            Misconception(
                "an intermediate breaks double backward",
                "what is saved was computed inside forward, where nothing is recorded: to the second derivative it is "
                "a constant. What does the engine know the history of?",
                IntermediateSaved,
            ),
            Misconception(
                "history is cut in backward",
                "you save the right thing, and then cut it off from its history: backward is to be recorded as well.",
                Detached,
            ),
            Misconception(
                "refused in place of computed",
                "once_differentiable refuses the second derivative. Better than a wrong one, but here it should exist.",
                Once,
            ),
            Misconception(
                "the local slope without the chain",
                "what arrives as grad_output takes no part in what you return.",
                LocalSlope,
            ),
        ),
        points=2,
    ),
    Exercise(
        "slope-penalty",
        "The mean of (slope - 1) ** 2 over the slopes of all elements of out with respect to u.",
        penalty,
        {"the value": _value, "the weight's gradient": _learned, "gradcheck": _checked},
        (
            Misconception(
                "the slope has no history",
                "the value is right, but it is a constant: the walk back was not recorded, so no weight can learn from "
                "it.",
                _constant_penalty,
            ),
            Misconception(
                "backward fills every leaf",
                "backward brings gradients of out to the weights as well, and they stay there: the gradient of the "
                "penalty is added to them. There is a way to ask for one gradient, and to leave every .grad alone.",
                _backward_penalty,
            ),
            Misconception(
                "the output in place of its slope",
                "you punish what the model says. How steep it is was to be punished.",
                _penalty_of_the_output,
            ),
            Misconception(
                "a stopped slope",
                "the slope was recorded, and then detached: no gradient passes from the penalty to the weight.",
                _detached_penalty,
            ),
            Misconception(
                "the slope of the mean",
                "the mean of the outputs moves less with each input than the output of that input does. Each slope "
                "counts whole; only the penalties are averaged.",
                _penalty_of_the_mean,
            ),
        ),
        points=2,
    ),
)
