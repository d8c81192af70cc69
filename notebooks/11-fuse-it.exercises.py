"""The exercises of lesson 11, fuse it, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, checked, checked_twice, exercise, gradients, on_ctx, results, tensor

exercise(
    "bytes-a-fused-loss-keeps",
    "The bytes that the fused cross-entropy saves for 32 samples and 10 classes.",
    solution=32 * 10 * 4 + 32 * 8,
    misconceptions=[
        Misconception("the targets are forgotten", "the backward reads the targets too.", 32 * 10 * 4),
        Misconception(
            "numbers instead of bytes",
            "that's how many numbers are saved. Each of them takes more than a byte.",
            32 * 10 + 32,
        ),
        Misconception(
            "all numbers alike",
            "the probabilities and the targets don't take the same number of bytes each.",
            (32 * 10 + 32) * 4,
        ),
        Misconception(
            "every step is kept",
            "what forward computes on the way is freed when it ends, unless it is saved.",
            3 * 32 * 10 * 4 + 32 * 8,
        ),
    ],
)


class YesOrNo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, t):
        ctx.save_for_backward(z, t)
        return z.clamp(min=0) - z * t + (-z.abs()).exp().log1p()

    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return (z.sigmoid() - t) * grad_output, None


class ProbabilityAlone(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return z.sigmoid() * grad_output, None


class Uphill(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return (t - z.sigmoid()) * grad_output, None


class ScoreForProbability(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return (z - t) * grad_output, None


class YesOrNoWithoutChain(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return z.sigmoid() - t, None


class OneTooFew(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        return (z.sigmoid() - t) * grad_output


class SlopeOfSigmoidToo(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        p = z.sigmoid()
        return (p - t) * p * (1 - p) * grad_output, None


class StepByStep(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        p = z.sigmoid()
        return ((1 - t) / (1 - p) - t / p) * p * (1 - p) * grad_output, None


class WrittenOver(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        with torch.no_grad():
            z.sigmoid_().sub_(t)
        return z * grad_output, None


class WrittenOverInTheOpen(YesOrNo):
    @staticmethod
    def backward(ctx, grad_output):
        z, t = ctx.saved_tensors
        z.sigmoid_()
        return (z - t) * grad_output, None


def _with_targets(probe):
    """A probe of the loss as a function of the scores alone, with a yes, a no and a yes."""

    def run(answer):
        t = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
        return probe(lambda z: answer.apply(z, t))

    return run


def _values_returned(answer):
    """How many values backward returns for its two arguments: none, one, or one for each; a list is told as that."""
    z, t = (torch.tensor(numbers, dtype=torch.float64) for numbers in ([0.5, -1.5], [1.0, 0.0]))
    out = tensor(answer.apply(z.requires_grad_(), t))
    found = answer.backward(out.grad_fn, torch.ones_like(out))
    if isinstance(found, list):
        return "a list"
    return 0 if found is None else min(len(found), 2) if isinstance(found, tuple) else 1


def _twice_back(answer):
    """The gradients of two walks back through one graph, and the scores after them."""
    z, t = (torch.tensor(numbers, dtype=torch.float64) for numbers in ([0.5, -1.5], [1.0, 0.0]))
    out = (answer.apply(z.requires_grad_(), t) * torch.tensor([2.0, 2.5], dtype=torch.float64)).sum()
    first = torch.autograd.grad(out, z, retain_graph=True, allow_unused=True)
    return [*first, *torch.autograd.grad(out, z, allow_unused=True), z]


exercise(
    "fused-yes-or-no",
    "Write the backward of the fused loss of a yes-or-no question.",
    solution=YesOrNo,
    probes={
        "the value": _with_targets(results([[0.5, -1.5, 2.0]])),
        "the gradient": _with_targets(gradients([[0.5, -1.5, 2.0]])),
        "how many values backward returns": _values_returned,
        "gradcheck": _with_targets(checked([[0.3, -0.4, 1.2]])),
        "the gradient at large scores": _with_targets(gradients([[-800.0, 800.0, 800.0]])),
        "two walks back": _twice_back,
    },
    misconceptions=[
        Misconception(
            "the probability alone",
            "your gradient doesn't use the right answer. Where the answer is yes, a larger score must make "
            "the loss smaller.",
            ProbabilityAlone,
        ),
        Misconception(
            "the sign is turned",
            "nudge z up where the answer is yes: the loss falls. What is the sign of its slope?",
            Uphill,
        ),
        Misconception(
            "the score instead of the probability",
            "the slope of this loss stays between -1 and 1. A score can be any number.",
            ScoreForProbability,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            YesOrNoWithoutChain,
        ),
        Misconception(
            "one gradient for two arguments",
            "forward takes two tensors, and backward returns a value for each, even for one that needs no gradient.",
            OneTooFew,
        ),
        Misconception(
            "the sigmoid's slope once too often",
            "your slope goes to 0 where the model is sure and wrong. The slope of the sigmoid has canceled already.",
            SlopeOfSigmoidToo,
        ),
        Misconception(
            "the chain step by step",
            "right for small scores. For large ones you divide 0 by 0: first cancel on paper, then write what is left.",
            StepByStep,
        ),
        Misconception(
            "what was saved is written over",
            "the first walk back is right. But the saved scores are the user's own tensor, and you have changed "
            "their numbers.",
            WrittenOver,
            (WrittenOverInTheOpen,),
        ),
    ],
    points=2,
)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return (s + x * s * (1 - s)) * grad_output


class BothKept(Silu):
    @staticmethod
    def forward(ctx, x):
        s = x.sigmoid()
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return (s + x * s * (1 - s)) * grad_output


class SlopeKept(Silu):
    @staticmethod
    def forward(ctx, x):
        s = x.sigmoid()
        ctx.save_for_backward(s + x * s * (1 - s))
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


class OnePathOnly(Silu):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x.sigmoid() * grad_output


class OtherPathOnly(Silu):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return x * s * (1 - s) * grad_output


class OnAttribute(Silu):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad_output):
        s = ctx.x.sigmoid()
        return (s + ctx.x * s * (1 - s)) * grad_output


class SiluWithoutChain(Silu):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return s + x * s * (1 - s)


def _silu_kept(answer):
    """How many tensors the node keeps in the engine's care, and how many out of it."""
    node = tensor(answer.apply(torch.tensor([0.5, -1.0], requires_grad=True))).grad_fn
    return [len(node.saved_tensors), on_ctx(node)]


exercise(
    "silu-that-keeps-one",
    "Write x * sigmoid(x) as a Function that saves one tensor.",
    solution=Silu,
    probes={
        "the value": results([[0.5, -1.0, 2.0]]),
        "the gradient": gradients([[0.5, -1.0, 2.0]]),
        "gradcheck": checked([[0.3, -0.4]]),
        "gradgradcheck": checked_twice([[0.3, -0.4]]),
        "what is saved": _silu_kept,
    },
    misconceptions=[
        Misconception(
            "more is kept than is needed",
            "one of the tensors that you save can be computed again from the other. And to the second derivative "
            "it's a constant.",
            BothKept,
        ),
        Misconception(
            "a slope kept as a number",
            "one tensor is saved, but a part of the slope has no history: it was computed inside forward, or under "
            "no_grad, or it was detached. To the second derivative it's a constant.",
            SlopeKept,
        ),
        Misconception(
            "a path is forgotten",
            "x is used twice: as a factor, and inside the sigmoid. Gradients add where two paths meet.",
            OnePathOnly,
        ),
        Misconception(
            "the other path is forgotten",
            "you have the path through the sigmoid. x is also a factor of the product.",
            OtherPathOnly,
        ),
        Misconception(
            "a tensor kept out of the engine's sight",
            "the numbers are right, but the engine doesn't know a tensor that's an attribute of ctx. It doesn't free "
            "the tensor after backward, and doesn't notice writes into it.",
            OnAttribute,
        ),
        Misconception(
            "the local slope without grad_output",
            "slopes multiply along a path, and yours ends at your own output.",
            SiluWithoutChain,
        ),
    ],
    points=2,
)
