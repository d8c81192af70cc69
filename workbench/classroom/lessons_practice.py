"""The exercises of lessons 11 to 13: a fused loss, a model that learns, and the same in PyTorch."""

# A type checker holds a sum of tensors for what sum() begins with, the number 0.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import workbench as torch
from workbench import nn

from .exercise import Exercise, Misconception, Unusable, checked, checked_twice, gradients, on_ctx, results, tensor

# Lesson 11, fuse it


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


LESSON_11 = (
    Exercise(
        "bytes-a-fused-loss-keeps",
        "The bytes that the fused cross-entropy keeps for 32 samples and 10 classes.",
        32 * 10 * 4 + 32 * 8,
        misconceptions=(
            Misconception("the targets are forgotten", "the backward reads the targets, too.", 32 * 10 * 4),
            Misconception(
                "numbers in place of bytes",
                "that is how many numbers are kept. Each of them takes more than a byte.",
                32 * 10 + 32,
            ),
            Misconception(
                "all numbers alike",
                "the probabilities and the targets do not take the same number of bytes each.",
                (32 * 10 + 32) * 4,
            ),
            Misconception(
                "every step is kept",
                "what forward computes on the way is freed when it ends, unless it is saved.",
                3 * 32 * 10 * 4 + 32 * 8,
            ),
        ),
    ),
    Exercise(
        "fused-yes-or-no",
        "Write the backward of the fused loss of a yes-or-no question.",
        YesOrNo,
        {
            "the value": _with_targets(results([[0.5, -1.5, 2.0]])),
            "the gradient": _with_targets(gradients([[0.5, -1.5, 2.0]])),
            "how many values backward returns": _values_returned,
            "gradcheck": _with_targets(checked([[0.3, -0.4, 1.2]])),
            "the gradient at large scores": _with_targets(gradients([[-800.0, 800.0, 800.0]])),
            "two walks back": _twice_back,
        },
        (
            Misconception(
                "the probability alone",
                "the right answer takes no part in your gradient. Where the answer is yes, a larger score must make "
                "the loss smaller.",
                ProbabilityAlone,
            ),
            Misconception(
                "the sign is turned",
                "nudge z up where the answer is yes: the loss falls. What is the sign of its slope?",
                Uphill,
            ),
            Misconception(
                "the score in place of the probability",
                "the slope of this loss stays between -1 and 1. A score can be any number.",
                ScoreForProbability,
            ),
            Misconception(
                "the local slope without the chain",
                "what arrives as grad_output takes no part in what you return.",
                YesOrNoWithoutChain,
            ),
            Misconception(
                "one gradient for two arguments",
                "forward takes two tensors, and backward owes a value for each, also for one that needs no gradient.",
                OneTooFew,
            ),
            Misconception(
                "the sigmoid's slope once too often",
                "your slope goes to 0 where the model is sure and wrong. The slope of the sigmoid has cancelled "
                "already.",
                SlopeOfSigmoidToo,
            ),
            Misconception(
                "the chain step by step",
                "right for small scores. For large ones you divide 0 by 0: first cancel on paper, then write what is "
                "left.",
                StepByStep,
            ),
            Misconception(
                "what was saved is written over",
                "the first walk back is right. But the saved scores are the user's own tensor, and you have changed "
                "their numbers.",
                WrittenOver,
                (WrittenOverInTheOpen,),
            ),
        ),
        points=2,
    ),
    Exercise(
        "silu-that-keeps-one",
        "Write x * sigmoid(x) as a Function that keeps one tensor.",
        Silu,
        {
            "the value": results([[0.5, -1.0, 2.0]]),
            "the gradient": gradients([[0.5, -1.0, 2.0]]),
            "gradcheck": checked([[0.3, -0.4]]),
            "gradgradcheck": checked_twice([[0.3, -0.4]]),
            "what is saved": _silu_kept,
        },
        (
            Misconception(
                "more is kept than is needed",
                "one of the tensors that you save can be computed again from the other. And to the second derivative "
                "it is a constant.",
                BothKept,
            ),
            Misconception(
                "a slope kept as a number",
                "one tensor is kept, but a part of the slope has no history: it was computed inside forward, or under "
                "no_grad, or it was detached. To the second derivative it is a constant.",
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
                "the numbers are right, but the engine does not know of a tensor that hangs on ctx: it does not free "
                "it after the backward, and does not notice a write.",
                OnAttribute,
            ),
            Misconception(
                "the local slope without grad_output",
                "slopes multiply along a path, and yours ends at your own output.",
                SiluWithoutChain,
            ),
        ),
        points=2,
    ),
)


# Lesson 12, a model that learns


def training(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _never_emptied(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _emptied_too_late(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        loss = loss_of(model)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _no_steps(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        losses.append(loss.item())
    return losses


def _graphs_kept(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses


def _trained(answer, steps=3):
    """A model after some steps, and its losses."""
    model = nn.Linear(2, 1, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5, -1.0]]))
        model.bias.fill_(0.25)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.5]], dtype=torch.float64)

    def loss_of(model):
        return ((model(x) - 1) ** 2).mean()

    optimizer, made = torch.optim.SGD(model.parameters(), lr=0.1), []
    step = optimizer.step
    vars(optimizer)["step"] = lambda *given, **named: made.append(1) or step(*given, **named)
    losses = answer(model, optimizer, loss_of, steps)
    return {"weight": model.weight, "bias": model.bias, "losses": losses, "steps": bool(made)}


def _learned(answer):
    return [[after["weight"], after["bias"]] for after in (_trained(answer), _trained(answer, 5))]


def _makes_steps(answer):
    return _trained(answer)["steps"]


def _losses(answer):
    found = [_trained(answer, steps)["losses"] for steps in (3, 5)]
    if not all(isinstance(losses, list | tuple) for losses in found):
        raise Unusable(f"your code returned {'None' if found[0] is None else 'no list'}")
    return [loss for losses in found for loss in losses]


def _are_numbers(answer):
    """Of each loss whether it is a number, and whether it has a history."""
    return [(isinstance(loss, int | float), getattr(loss, "requires_grad", False)) for loss in _losses(answer)]


def clip(grads, most):
    norm = sum((grad**2).sum() for grad in grads).sqrt()
    return [grad * (most / norm) if norm > most else grad for grad in grads]


def _each_alone(grads, most):
    return [grad * (most / grad.norm()) if grad.norm() > most else grad for grad in grads]


def _each_element(grads, most):
    return [grad.clamp(-most, most) for grad in grads]


def _always(grads, most):
    norm = sum((grad**2).sum() for grad in grads).sqrt()
    return [grad * (most / norm) for grad in grads]


def _without_the_root(grads, most):
    norm = sum((grad**2).sum() for grad in grads)
    return [grad * (most / norm) if norm > most else grad for grad in grads]


def _sum_of_norms(grads, most):
    norm = sum(grad.norm() for grad in grads)
    return [grad * (most / norm) if norm > most else grad for grad in grads]


def _grads(scale):
    return [scale * torch.tensor([3.0, -1.0]), scale * torch.tensor([[0.5], [4.0]]), scale * torch.tensor(-2.0)]


def _clipped(scale, most):
    return lambda answer: list(answer(_grads(scale), most))


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0.1 * grad_output)


class _LeakyDead(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0 * grad_output)


class _LeakyWithoutChain(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, torch.ones_like(x), 0.1 * torch.ones_like(x))


class _SignOfTheGradient(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(grad_output > 0, grad_output, 0.1 * grad_output)


class _ValueForSlope(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, x, 0.1 * x) * grad_output


def _weighted(answer, weights):
    x = torch.tensor([2.0, -1.0, 0.5, -3.0], requires_grad=True)
    return torch.autograd.grad(answer.apply(x), x, torch.tensor(weights), allow_unused=True)[0]


LESSON_12 = (
    Exercise(
        "training-loop",
        "A training loop that returns the losses as numbers.",
        training,
        {
            "the parameters": _learned,
            "who makes the steps": _makes_steps,
            "the losses": _losses,
            "whether each loss is a number": _are_numbers,
        },
        (
            Misconception(
                "zero_grad is forgotten in a loop",
                "your steps contain the gradients of all steps before them. Somebody has to empty them.",
                _never_emptied,
            ),
            Misconception(
                "no gradient when the step is made",
                "your parameters do not move. A step needs the gradients of this very loss: look at the order of your "
                "lines, and at what each of them does to .grad.",
                _emptied_too_late,
            ),
            Misconception(
                "no step is made",
                "your parameters do not move: backward brings the gradients, and no line of yours uses them.",
                _no_steps,
            ),
            Misconception(
                "losses that are tensors",
                "the training is right, but each tensor in your list has a history: with it a whole graph stays in "
                "memory.",
                _graphs_kept,
            ),
        ),
    ),
    Exercise(
        "clip-by-norm",
        "Clip a list of gradients by the norm of all of them.",
        clip,
        {
            "gradients that are too large": lambda answer: [_clipped(2.0, most)(answer) for most in (1.5, 4.0)],
            "gradients that are small": _clipped(0.1, 1.5),
        },
        (
            Misconception(
                "each tensor is clipped alone",
                "each of yours is short enough by itself. Together they are longer than allowed, and their direction "
                "has changed.",
                _each_alone,
            ),
            Misconception(
                "each element is clipped",
                "that limits each number, and so the direction of the step changes. All should shrink by one factor.",
                _each_element,
            ),
            Misconception(
                "small gradients are made larger",
                "large gradients come out right. But clipping only limits: what is short enough is to stay as it is.",
                _always,
            ),
            Misconception(
                "the norm without the root",
                "a sum of squares is the square of a length.",
                _without_the_root,
            ),
            Misconception(
                "norms do not add",
                "the length of all gradients together is less than the sum of their lengths: add something else first.",
                _sum_of_norms,
            ),
        ),
        points=2,
    ),
    Exercise(
        "leaky-relu",
        "The backward of a ReLU with the slope 0.1 at the left.",
        Leaky,
        {
            "the value": results([[2.0, -1.0, 0.5, -3.0]]),
            "the gradient": gradients([[2.0, -1.0, 0.5, -3.0]]),
            "a negative gradient": lambda answer: _weighted(answer, [-1.0, 2.0, 3.0, -4.0]),
            "gradcheck": checked([[0.7, -0.4]]),
        },
        (
            Misconception(
                "a dead ReLU",
                "where x is negative nothing comes back through yours. Its result moves there, too, only more slowly.",
                _LeakyDead,
            ),
            Misconception(
                "the local slope without the chain",
                "what arrives as grad_output takes no part in what you return.",
                _LeakyWithoutChain,
            ),
            Misconception(
                "the sign of the gradient",
                "you look at the sign of what arrives. Which side of the bend one is on depends on the input.",
                _SignOfTheGradient,
            ),
            Misconception(
                "the value for the slope",
                "you multiply by the height of the curve. How steep is it?",
                _ValueForSlope,
            ),
        ),
        points=2,
    ),
)


# Lesson 13, the same in PyTorch


def repaired(w):
    h = w.exp()
    squares = h * h
    h = h + 1
    return (squares * h).sum()


def _still_written(w):
    h = w.exp()
    squares = h * h
    h.add_(1)
    return (squares * h).sum()


def _written_unrecorded(w):
    h = w.exp()
    squares = h * h
    with torch.no_grad():
        h.add_(1)
    return (squares * h).sum()


def _written_over_a_result(w):
    h = w.exp()
    squares = h.clone() ** 2
    h.add_(1)
    return (squares * h).sum()


def _hidden(w):
    h = w.exp()
    squares = h * h
    h.data.add_(1)
    return (squares * h).sum()


def _detached(w):
    h = w.exp()
    squares = h * h
    h = h.detach() + 1
    return (squares * h).sum()


def _write_first(w):
    h = w.exp() + 1
    squares = h * h
    return (squares * h).sum()


LESSON_13 = (
    Exercise(
        "name-of-a-node",
        "The name of the node that a Function called Swish makes.",
        "SwishBackward",
        misconceptions=(
            Misconception(
                "a number behind the name of your own node",
                "PyTorch writes a number behind the names of its own nodes. Yours has none.",
                "SwishBackward0",
            ),
            Misconception(
                "the name of the class for the name of the node",
                "that is your class. The node is a part of the walk back, and its name says so.",
                "Swish",
            ),
        ),
    ),
    Exercise(
        "names-of-parameters",
        "The names of the parameters of a Sequential of Linear, ReLU and Linear.",
        ["0.weight", "0.bias", "2.weight", "2.bias"],
        misconceptions=(
            Misconception(
                "only layers with parameters are counted",
                "ReLU has no parameters, but it has a place in the Sequential, and places are counted.",
                ["0.weight", "0.bias", "1.weight", "1.bias"],
            ),
            Misconception(
                "layers are counted from one",
                "in Python the first place has another number.",
                ["1.weight", "1.bias", "3.weight", "3.bias"],
            ),
            Misconception(
                "the bias comes first",
                "the names are right. Look at how a Linear is printed, or ask one for its named_parameters().",
                ["0.bias", "0.weight", "2.bias", "2.weight"],
            ),
        ),
    ),
    Exercise(
        "write-made-new",
        "A function without the write in place that broke its backward.",
        repaired,
        {
            "the value": results([[0.5, -1.0]]),
            "the gradient": gradients([[0.5, -1.0]]),
            "gradcheck": checked([[0.3, -0.4]]),
        },
        (
            Misconception(
                "the write is still there",
                "backward still finds a tensor of another version than the one it had saved.",
                _still_written,
                (_written_unrecorded, _written_over_a_result),
            ),
            Misconception(
                "a write that nobody counts",
                "through .data the write is not counted, so no error is raised. But backward now computes with the "
                "wrong numbers, and so your gradient is wrong.",
                _hidden,
            ),
            Misconception(
                "history is cut",
                "no error any more, but a part of the gradient is missing: one factor has become a constant.",
                _detached,
            ),
            Misconception(
                "the write is moved up",
                "backward works, but of another function: the squares were made from h as it was before.",
                _write_first,
            ),
        ),
        points=2,
    ),
)
