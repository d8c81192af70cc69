"""The exercises of lesson 8, differentiating the derivative, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.autograd.function import once_differentiable
from workbench.classroom import Misconception, checked, checked_twice, exercise, gradients, results, tensor

exercise(
    "second-derivative",
    "The second derivative of x**3 - x**2 at x = 3.",
    solution=16,
    misconceptions=[
        Misconception(
            "one derivative too few",
            "that's the slope. How fast does the slope itself move with x?",
            21,
        ),
        Misconception("one derivative too many", "you differentiated once more than was asked.", 6),
        Misconception(
            "the square of the slope",
            "differentiating twice doesn't mean multiplying the slope by itself: apply the rule to the slope.",
            441,
        ),
        Misconception("the value instead of the slope", "that's the height of the curve there.", 18),
    ],
)


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


class TanhSlopeSaved(Tanh):
    @staticmethod
    def forward(ctx, x):
        result = x.tanh()
        ctx.save_for_backward(1 - result * result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


class TanhDetached(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        result = result.detach()
        return (1 - result * result) * grad_output


class TanhUnrecorded(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        with torch.no_grad():
            return (1 - result * result) * grad_output


class TanhOnce(Tanh):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return (1 - result * result) * grad_output


class TanhWithoutChain(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return 1 - result * result


def _tanh_saved(answer):
    """Whether the node keeps something, and all of it is an input or an output with its history."""
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    out = tensor(answer.apply(x))
    kept = out.grad_fn.saved_tensors
    known = [each.requires_grad and any(torch.equal(each, end) for end in (x, out)) for each in kept]
    return bool(known) and all(known)


def _tanh_second(answer):
    """The second derivative of x times the Function, by a backward that visits every node."""
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad((answer.apply(x) * x).sum(), x, create_graph=True)
    slope.sum().backward()
    return x.grad


exercise(
    "tanh-twice",
    "Write tanh as a Function whose second derivative is right.",
    solution=Tanh,
    probes={
        "the value": results([[0.5, -1.0, 0.0]]),
        "the gradient": gradients([[0.5, -1.0, 0.0]]),
        "gradcheck": checked([[0.3, -0.4]]),
        "what is saved": _tanh_saved,
        "gradgradcheck": checked_twice([[0.3, -0.4]]),
        "the second derivative": _tanh_second,
    },
    hints={
        "what is saved": "What backward reads should come from ctx.saved_tensors. Only then does the engine know "
        "how it depends on x.",
    },
    misconceptions=[
        Misconception(
            "an intermediate breaks double backward",
            "what is saved has no history: it was computed inside forward, where nothing is recorded, or it was "
            "detached. To the second derivative it's a constant. Of which tensors does the engine know the history?",
            TanhSlopeSaved,
        ),
        Misconception(
            "history is cut in backward",
            "you save the right thing, and then cut it off from its history: backward must be recorded as well.",
            TanhDetached,
            (TanhUnrecorded,),
        ),
        Misconception(
            "refused instead of computed",
            "once_differentiable refuses the second derivative. Better than a wrong one, but here it should exist.",
            TanhOnce,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            TanhWithoutChain,
        ),
    ],
    points=2,
)


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


def _backward_penalty_as_it_comes(out, u):
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


def _penalized(w, u):
    return w * u * u + (w * u).sin()


def _penalty_value(answer):
    w, u = _penalty_leaves()
    return answer(_penalized(w, u), u)


def _penalty_leaves():
    return [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (0.7, [1.3, -0.4, 2.0])]


def _penalty_learned(answer):
    """What a backward of the penalty brings to the weight."""
    w, u = _penalty_leaves()
    answer(_penalized(w, u), u).backward()
    return w.grad


def _penalty_checked(answer):
    """Whether gradcheck agrees with how the penalty moves with the weight."""
    w, u = _penalty_leaves()
    return torch.autograd.gradcheck(lambda w: answer(_penalized(w, u), u), (w,), raise_exception=False)


exercise(
    "slope-penalty",
    "The mean of (slope - 1) ** 2 over the slopes of all elements of out with respect to u.",
    solution=penalty,
    probes={"the value": _penalty_value, "the weight's gradient": _penalty_learned, "gradcheck": _penalty_checked},
    misconceptions=[
        Misconception(
            "the slope has no history",
            "the value is right, but it's a constant: the walk back wasn't recorded, or its result was detached. No "
            "weight can learn from a constant.",
            _constant_penalty,
        ),
        Misconception(
            "backward fills every leaf",
            "backward brings gradients of out to the weights as well, and they stay there: the gradient of the "
            "penalty is added to them. One function returns a gradient and doesn't change any .grad.",
            _backward_penalty,
            (_backward_penalty_as_it_comes,),
        ),
        Misconception(
            "the output instead of its slope",
            "your penalty grows with what the model says. It should grow with how steep the model is.",
            _penalty_of_the_output,
        ),
        Misconception(
            "a stopped slope",
            "the slope was recorded, and then detached: no gradient passes from the penalty to the weight.",
            _detached_penalty,
        ),
        Misconception(
            "the slope of the mean",
            "if you nudge one input, the mean of the outputs moves less than that input's own output. So your slopes "
            "are too small. Which mean does the question want?",
            _penalty_of_the_mean,
        ),
    ],
    points=2,
)
