"""The exercises of lesson 7, your own Function, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import (
    Misconception,
    checked,
    checked_twice,
    exercise,
    gradients,
    on_ctx,
    results,
    returned,
    tensor,
)


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


_CUBE = {
    "the value": results([[2.0, -1.0]]),
    "the gradient": gradients([[2.0, -1.0, 0.5]]),
    "gradcheck": checked([[1.2, -0.7]]),
    "the second derivative": checked_twice([[1.2, -0.7]]),
}


exercise(
    "cube-backward",
    "Repair the backward of x * x * x.",
    solution=Cube,
    probes=_CUBE,
    misconceptions=[
        Misconception(
            "the local slope without the chain",
            "backward gets the slope of the final result with respect to your output. Multiply it by the slope of "
            "your operation. Your answer doesn't use what arrives.",
            CubeWithoutChain,
        ),
        Misconception(
            "forward instead of its slope",
            "your backward uses the value of the function. It needs the slope: how fast the value changes when x "
            "moves.",
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
            "the gradient is right, but it doesn't know that it depends on x: what forward computed on the way, "
            "what you detached, or computed under no_grad, looks like a constant. Save an input or an output, and "
            "compute the rest in backward.",
            CubeSquareSaved,
            (CubeDetached,),
        ),
    ],
    points=2,
)


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


exercise(
    "scale-backward",
    "Give Scale, which takes a tensor and a number, the number of gradients that it has to return.",
    solution=Scale,
    probes={
        "the value": results([[2.0, -1.0], 3]),
        "what backward returns": returned([[2.0, -1.0], 3]),
        "the gradient": gradients([[2.0, -1.0], 3], [[0.5], 1.5]),
    },
    misconceptions=[
        Misconception(
            "wrong number of gradients",
            "forward takes two arguments after ctx, and backward returns a value for each of them, also for one that "
            "has no slope.",
            OneTooFew,
        ),
        Misconception(
            "gradients in another order",
            "what backward returns is matched with forward's arguments by position; the tensor is the first.",
            OtherOrder,
        ),
        Misconception(
            "a gradient for a number",
            "the factor is a plain number, and not a tensor, so it can't get a gradient. What does "
            "backward return where there is no slope to give?",
            GradientForANumber,
            (FactorForANumber, ZeroForANumber),
        ),
        Misconception(
            "the factor is forgotten",
            "a nudge of x moves x * factor by more or less than the nudge itself: by how much?",
            FactorForgotten,
        ),
    ],
)


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


exercise(
    "sigmoid-function",
    "Write the sigmoid 1 / (1 + exp(-x)) as a Function that saves its result and nothing else.",
    solution=Sigmoid,
    probes={
        "the value": results([[0.5, -1.0, 0.0]]),
        "what is saved": _sigmoid_kept,
        "the gradient": gradients([[0.5, -1.0, 0.0]]),
        "gradcheck": checked([[0.3, -0.4]]),
    },
    hints={
        "what is saved": "Look at Sigmoid.apply(x).grad_fn.saved_tensors: how many are there, and is it the one "
        "that the question asks for?",
    },
    misconceptions=[
        Misconception(
            "an output kept as an attribute of ctx",
            "the numbers are right. But a tensor that is an attribute of ctx isn't freed after backward, and writes "
            "into it aren't checked. An output stored there keeps its own node alive, so its memory is never freed.",
            SavedAsAttribute,
        ),
        Misconception(
            "the input is saved, and the formula is for the result",
            "backward uses the saved tensor as if it were the sigmoid. Which tensor did forward save?",
            SavedTheInput,
        ),
        Misconception(
            "the slope of exp",
            "this function isn't its own slope: it grows slowly where its value is near 0 or 1, and fastest in "
            "between.",
            LikeExp,
        ),
    ],
    points=2,
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
        return grad_output * (1 - result * result)


class GradientWritten(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output.mul_(1 - result * result)


class SavedWritten(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return result.mul_(result).neg_().add_(1).mul_(grad_output)


class TanhWithoutChain(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return 1 - result * result


class LikeASigmoid(Tanh):
    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result * (1 - result)


def _unchanged(answer):
    """Whether backward leaves the gradient that it gets, the output and the input as they are."""
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    out = tensor(answer.apply(x))
    arriving = torch.tensor([2.0, -3.0])
    torch.autograd.grad(out, x, arriving)
    return [arriving.tolist() == [2.0, -3.0], out._version == 0, x._version == 0]


def _failing(answer):
    """The names of the checks of an audit that fail."""
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    names = ["derivative", "gradient isn't written", "saved tensors aren't written", "backward twice"]
    return [each.name for each in torch.audit(answer, x, checks=names).failures]


exercise(
    "audited-backward",
    "Correct the backward of tanh, so that an audit finds nothing wrong.",
    solution=Tanh,
    probes={
        "the value": results([[0.5, -1.0, 0.0]]),
        "the gradient": gradients([[0.5, -1.0, 0.0]]),
        "what backward writes": _unchanged,
        "the audit": _failing,
    },
    misconceptions=[
        Misconception(
            "the gradient is written",
            "the numbers are right. But a method whose name ends in an underscore writes into its tensor, and that "
            "one isn't yours: another node may get it too. Compute a new tensor.",
            GradientWritten,
        ),
        Misconception(
            "a saved tensor is written",
            "a saved tensor is read again in the next backward pass, and other nodes may have saved it too. Compute a "
            "new tensor instead of writing into it.",
            SavedWritten,
        ),
        Misconception(
            "the local slope alone",
            "your answer doesn't use what arrives from above. Multiply it by the slope of your operation.",
            TanhWithoutChain,
        ),
        Misconception(
            "the slope of another curve",
            "that is how a sigmoid's slope follows from its result. Where is tanh steepest, and what is its result "
            "there?",
            LikeASigmoid,
        ),
    ],
)
