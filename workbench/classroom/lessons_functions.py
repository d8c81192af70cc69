"""The exercises of lessons 7 to 10: your own Function, derivatives of derivatives, tangents, and transforms."""

# backward() writes `.grad`, which a type checker does not see.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import workbench as torch
from workbench.autograd.function import once_differentiable
from workbench.func import grad, hessian, jacrev, jvp, vmap

from .exercise import (
    Exercise,
    Misconception,
    Unusable,
    checked,
    checked_twice,
    gradients,
    on_ctx,
    results,
    returned,
    tensor,
)

# Lesson 7, your own Function


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


class CubeWithoutChain(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2


class CubeValueForSlope(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x**3 * grad_output


class CubeOnePowerTooFew(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * grad_output


class CubeAdded(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 + grad_output


class CubeSquareSaved(Cube):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, grad_output):
        (square,) = ctx.saved_tensors
        return 3 * square * grad_output


class CubeDetached(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x.detach() ** 2 * grad_output


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor: float):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


class OneTooFew(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor


class OtherOrder(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.factor


class GradientForANumber(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, grad_output


class FactorForANumber(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, float(ctx.factor)


class ZeroForANumber(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, 0


class FactorForgotten(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = 1 / (1 + (-x).exp())
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result * (1 - result)


class SavedAsAttribute(Sigmoid):
    @staticmethod
    def forward(ctx, x):
        ctx.result = 1 / (1 + (-x).exp())
        return ctx.result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.result * (1 - ctx.result)


class SavedTheInput(Sigmoid):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / (1 + (-x).exp())


class LikeExp(Sigmoid):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def _sigmoid_kept(answer):
    """Whether a node of this Function keeps one tensor, its output itself, in the engine's care, and none out of it."""
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    out = tensor(answer.apply(x))
    saved = out.grad_fn.saved_tensors
    return [len(saved) == 1, all(each.grad_fn is out.grad_fn for each in saved), on_ctx(out.grad_fn) == 0]


_CUBE = {
    "the value": results([[2.0, -1.0]]),
    "the gradient": gradients([[2.0, -1.0, 0.5]]),
    "gradcheck": checked([[1.2, -0.7]]),
    "the second derivative": checked_twice([[1.2, -0.7]]),
}

LESSON_7 = (
    Exercise(
        "cube-backward",
        "Repair the backward of x * x * x.",
        Cube,
        _CUBE,
        (
            Misconception(
                "the local slope without the chain",
                "backward gets the slope of the final result with respect to your output. The slope with respect to "
                "the input is that one times the slope of your operation; what arrives takes no part in yours.",
                CubeWithoutChain,
            ),
            Misconception(
                "forward in place of its slope",
                "backward gives what the function itself gives, times grad_output. It needs how fast the function "
                "changes when x moves.",
                CubeValueForSlope,
            ),
            Misconception(
                "one power too few",
                "your slope grows in proportion to x. Nudge x at 2 and at 4: how much faster does the cube grow?",
                CubeOnePowerTooFew,
            ),
            Misconception(
                "the chain adds",
                "slopes multiply along a path; they add only where paths meet. grad_output is on the same path.",
                CubeAdded,
            ),
            Misconception(
                "an intermediate breaks double backward",
                "the gradient is right, but it does not know that it depends on x: what forward computed on the way, "
                "what you detached, or computed under no_grad, looks like a constant. Save an input or an output, and "
                "compute the rest in backward.",
                CubeSquareSaved,
                (CubeDetached,),
            ),
        ),
        points=2,
    ),
    Exercise(
        "scale-backward",
        "Give Scale, which takes a tensor and a number, the number of gradients that it owes.",
        Scale,
        {
            "the value": results([[2.0, -1.0], 3]),
            "what backward returns": returned([[2.0, -1.0], 3]),
            "the gradient": gradients([[2.0, -1.0], 3], [[0.5], 1.5]),
        },
        (
            Misconception(
                "wrong number of gradients",
                "forward takes two arguments after ctx, and backward owes a value for each of them, also for one that "
                "can have no slope.",
                OneTooFew,
            ),
            Misconception(
                "gradients in another order",
                "what backward returns is matched with forward's arguments by position; the tensor is the first.",
                OtherOrder,
            ),
            Misconception(
                "a gradient for a number",
                "the factor is a plain number: no tensor stands behind it to which a gradient could go. What does "
                "backward return where there is no slope to give?",
                GradientForANumber,
                (FactorForANumber, ZeroForANumber),
            ),
            Misconception(
                "the factor is forgotten",
                "a nudge of x moves x * factor by more or less than the nudge itself: by how much?",
                FactorForgotten,
            ),
        ),
    ),
    Exercise(
        "sigmoid-function",
        "Write the sigmoid 1 / (1 + exp(-x)) as a Function that saves its result and nothing else.",
        Sigmoid,
        {
            "the value": results([[0.5, -1.0, 0.0]]),
            "what is saved": _sigmoid_kept,
            "the gradient": gradients([[0.5, -1.0, 0.0]]),
            "gradcheck": checked([[0.3, -0.4]]),
        },
        (
            Misconception(
                "an output kept as an attribute of ctx",
                "the numbers are right, but a tensor kept on ctx is never freed after backward and not checked against "
                "writes: an output there holds its own node, and the memory leaks. Tensors belong elsewhere.",
                SavedAsAttribute,
            ),
            Misconception(
                "the input is saved, the formula wants the result",
                "backward uses the saved tensor as if it were the sigmoid. Which tensor did forward hand to it?",
                SavedTheInput,
            ),
            Misconception(
                "the slope of exp",
                "this function is not its own slope: it grows slowly near 0 and near 1, and fastest between.",
                LikeExp,
            ),
        ),
        points=2,
    ),
)


# Lesson 8, differentiating the derivative


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


LESSON_8 = (
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
            "what is saved": _tanh_saved,
            "gradgradcheck": checked_twice([[0.3, -0.4]]),
            "the second derivative": _tanh_second,
        },
        (
            Misconception(
                "an intermediate breaks double backward",
                "what is saved was computed inside forward, where nothing is recorded: to the second derivative it is "
                "a constant. What does the engine know the history of?",
                TanhSlopeSaved,
            ),
            Misconception(
                "history is cut in backward",
                "you save the right thing, and then cut it off from its history: backward is to be recorded as well.",
                TanhDetached,
                (TanhUnrecorded,),
            ),
            Misconception(
                "refused in place of computed",
                "once_differentiable refuses the second derivative. Better than a wrong one, but here it should exist.",
                TanhOnce,
            ),
            Misconception(
                "the local slope without the chain",
                "what arrives as grad_output takes no part in what you return.",
                TanhWithoutChain,
            ),
        ),
        points=2,
    ),
    Exercise(
        "slope-penalty",
        "The mean of (slope - 1) ** 2 over the slopes of all elements of out with respect to u.",
        penalty,
        {"the value": _penalty_value, "the weight's gradient": _penalty_learned, "gradcheck": _penalty_checked},
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
                (_backward_penalty_as_it_comes,),
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


# Lesson 9, pushing forward


class Sin(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.cos()

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x.cos()


class TangentForgotten(Sin):
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return x.cos()


class SlopeForgotten(Sin):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 1


class SinPushed(Sin):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent.sin()


class SinWrongSign(Sin):
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return -tangent * x.cos()


def _sin_tangents(answer):
    x, t = torch.tensor([0.5, -1.0]), torch.tensor([2.0, -3.0])
    pushed = jvp(answer.apply, (x,), (t,))[1]
    if t.tolist() != [2.0, -3.0]:
        raise Unusable("your code has written into the tangent that it was given, which is not its own")
    return pushed


def _sin_checked(answer):
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(answer.apply, (x,), check_forward_ad=True, raise_exception=False)


def _quotient(a, b):
    (value, tangent), (by, moves) = a, b
    return value / by, (tangent * by - value * moves) / (by * by)


_PAIRS = ([(6.0, 1.0), (2.0, 0.0)], [(6.0, 0.0), (2.0, 1.0)], [(3.0, 2.0), (-4.0, 0.5)])

LESSON_9 = (
    Exercise(
        "tangent-of-a-cube",
        "The tangent of x * x * x at x = 2, moving at speed 5.",
        60,
        misconceptions=(
            Misconception(
                "the tangent starts at 1",
                "that is the slope, the tangent of an input that moves at speed 1. This input moves faster.",
                12,
            ),
            Misconception(
                "value times speed",
                "the result moves by its slope times the speed, not by its value times the speed.",
                40,
            ),
            Misconception("only one of the factors moves", "all three factors are x, and all of them move.", 20),
            Misconception("the tangent is cubed", "the tangent is pushed on by multiplying it with slopes.", 125),
        ),
    ),
    Exercise(
        "pushes-and-walks",
        "[pushes, walks back] for the whole Jacobian of a program with 3 inputs and 100 outputs.",
        [3, 100],
        misconceptions=(
            Misconception(
                "pushes and walks are mixed up",
                "a push moves one input, and asks how all outputs move; a walk back starts at one output.",
                [100, 3],
            ),
            Misconception("one is enough", "one push fills one column of the table, one walk back one row.", [1, 1]),
            Misconception(
                "one push for all inputs",
                "if all inputs move at once, their columns arrive mixed. To tell them apart each moves alone.",
                [1, 100],
            ),
            Misconception(
                "one for each number of the table",
                "one push tells about all outputs at once, one walk back about all inputs at once.",
                [300, 300],
            ),
        ),
    ),
    Exercise(
        "sin-jvp",
        "Teach a Function for sin to push: write its jvp.",
        Sin,
        {"the tangent": _sin_tangents, "gradcheck": _sin_checked},
        (
            Misconception(
                "the local slope without the chain",
                "your jvp returns the same whatever speed arrives. A tangent that goes on is the tangent that came, "
                "times the slope.",
                TangentForgotten,
            ),
            Misconception("the slope is forgotten", "the tangent goes on as it came.", SlopeForgotten),
            Misconception(
                "the function of the tangent",
                "you sent the tangent through sin itself. What travels beside the value is multiplied by sin's slope.",
                SinPushed,
            ),
            Misconception("the sign of the slope", "sin grows at 0: its slope there is positive.", SinWrongSign),
        ),
        points=2,
    ),
    Exercise(
        "dual-quotient",
        "The quotient of two dual numbers, each a pair (value, tangent).",
        _quotient,
        {"the value": lambda f: [f(*pair)[0] for pair in _PAIRS], "the tangent": lambda f: [f(*p)[1] for p in _PAIRS]},
        (
            Misconception(
                "the quotient of the tangents",
                "values divide, tangents do not: ask for each of the two numbers how the quotient moves if it alone "
                "moves, and add.",
                lambda a, b: (a[0] / b[0], a[1] / (b[1] or 1.0)),
            ),
            Misconception(
                "the divisor stands still",
                "if the divisor moves, the quotient moves as well, even if the number above stays.",
                lambda a, b: (a[0] / b[0], a[1] / b[0]),
            ),
            Misconception(
                "a larger divisor makes more",
                "if the divisor grows, does the quotient grow or shrink? Look at the sign between your two terms.",
                lambda a, b: (a[0] / b[0], (a[1] * b[0] + a[0] * b[1]) / (b[0] * b[0])),
            ),
            Misconception(
                "divided once",
                "the two terms are right. By what are they divided? Try 6 / 2 with a divisor that stands still.",
                lambda a, b: (a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0]),
            ),
        ),
    ),
)


# Lesson 10, functions of functions

_BATCH = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, -2.0]]
_X, _V = [0.5, -1.0, 2.0], [1.0, 2.0, -0.5]


def _sample_loss(w, sample):
    return ((w * sample).sum() - 1) ** 2


def _bowl(x):
    return x[0] ** 2 * x[1] + x[1] * x[2].sin()


def _numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def _each(answer):
    return answer(_sample_loss, _numbers([0.1, 0.2, 0.3]), _numbers(_BATCH))


def _calls_of_loss(answer):
    """Whether the loss is called, and whether less often than there are samples."""
    calls = []
    answer(lambda w, sample: calls.append(1) or _sample_loss(w, sample), _numbers([0.1, 0.2, 0.3]), _numbers(_BATCH))
    return [bool(calls), len(calls) < len(_BATCH)]


def _each_checked(answer):
    w = _numbers([0.1, 0.2, 0.3]).requires_grad_()
    return torch.autograd.gradcheck(lambda w: answer(_sample_loss, w, _numbers(_BATCH)), (w,), raise_exception=False)


def _product(answer):
    return answer(_bowl, _numbers(_X), _numbers(_V))


def _product_checked(answer):
    x = _numbers(_X).requires_grad_()
    return torch.autograd.gradcheck(lambda x: answer(_bowl, x, _numbers(_V)), (x,), raise_exception=False)


LESSON_10 = (
    Exercise(
        "shape-of-hessians",
        "The shape of vmap(hessian(f))(batch): five samples of four numbers each, f returns one number.",
        [5, 4, 4],
        misconceptions=(
            Misconception(
                "a gradient in place of a Hessian",
                "that would be vmap(grad(f)): one row for each sample. A Hessian is the Jacobian of that row.",
                [5, 4],
            ),
            Misconception("one Hessian for all", "vmap keeps the samples apart: each has a table of its own.", [4, 4]),
            Misconception(
                "samples that know of each other",
                "that is the Hessian of a function of the whole batch. Inside vmap, f sees one sample.",
                [5, 4, 5, 4],
            ),
            Misconception("one table for the batch", "vmap does not join samples into one long vector.", [20, 20]),
        ),
    ),
    Exercise(
        "per-sample-gradients",
        "The gradient of loss(w, sample) with respect to w, for each sample of a batch, without a loop.",
        lambda loss, w, batch: vmap(grad(loss), in_dims=(None, 0))(w, batch),
        {"the gradients": _each, "the calls of loss": _calls_of_loss, "gradcheck": _each_checked},
        (
            Misconception(
                "the average of the gradients",
                "one gradient came out for the whole batch, the average: which sample pulled where is lost. Where do "
                "you put the samples together?",
                lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).mean())(w),
            ),
            Misconception(
                "a loop",
                "the gradients are right, but your program runs once for each sample. One call can do the work for "
                "the whole batch: section 4 has the function that widens a program.",
                lambda loss, w, batch: torch.stack([grad(loss)(w, sample) for sample in batch]),
                (lambda loss, w, batch: [grad(loss)(w, sample) for sample in batch],),
            ),
            Misconception(
                "the sum of the gradients",
                "one gradient came out for the whole batch, and the samples added up in it.",
                lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).sum())(w),
            ),
            Misconception(
                "the weights are mapped over, too",
                "each sample was paired with one number of w. The weights are the same for all samples: say so in "
                "in_dims.",
                lambda loss, w, batch: vmap(grad(loss))(w, batch),
            ),
            Misconception(
                "the gradient of the sample",
                "grad differentiates with respect to the first argument unless it is told otherwise; you asked for "
                "the second.",
                lambda loss, w, batch: vmap(grad(loss, argnums=1), in_dims=(None, 0))(w, batch),
            ),
            Misconception(
                "grad of a vector",
                "grad wants one number at the end, and the batch gives several.",
                lambda loss, w, batch: grad(vmap(loss, in_dims=(None, 0)))(w, batch),
            ),
            Misconception(
                "losses in place of gradients",
                "those are the losses, one for each sample.",
                lambda loss, w, batch: vmap(loss, in_dims=(None, 0))(w, batch),
            ),
        ),
        points=2,
    ),
    Exercise(
        "hessian-times-vector",
        "The Hessian of f at x times v, by about as much work as two gradients.",
        lambda f, x, v: jvp(grad(f), (x,), (v,))[1],
        {"the product": _product, "gradcheck": _product_checked},
        (
            Misconception(
                "a push through f",
                "that is the slope of f along v, one number: what comes out if v is pushed through f. Push it through "
                "the gradient.",
                lambda f, x, v: jvp(f, (x,), (v,))[1],
            ),
            Misconception(
                "the gradient, which does not know v",
                "jvp returns two things: the value, and how it moves. You took the value.",
                lambda f, x, v: jvp(grad(f), (x,), (v,))[0],
            ),
            Misconception(
                "element by element",
                "* multiplies element by element; a product of a table and a vector adds along each row.",
                lambda f, x, v: hessian(f)(x) * v,
            ),
            Misconception(
                "the gradient times v",
                "the first derivative is not the second: differentiate the gradient once more.",
                lambda f, x, v: grad(f)(x) * v,
            ),
            Misconception(
                "the whole Hessian", "the table is there; v has no part in it yet.", lambda f, x, v: jacrev(grad(f))(x)
            ),
        ),
        points=2,
    ),
)
