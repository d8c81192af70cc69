"""The exercises of lesson 3, leaves and `.grad`."""

# backward() writes `.grad`, which a type checker does not see.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import workbench as torch

from .exercise import Exercise, Misconception


def _steps(before=lambda w: None, between=lambda w: None, rate=0.1):
    """A training of three steps, with what is done to `w` before each backward, and between backward and step."""

    def three_steps(w, loss_of):
        for _ in range(3):
            before(w)
            loss_of(w).backward()
            between(w)
            with torch.no_grad():
                w -= rate * w.grad
        return w

    return three_steps


def _empty(w):
    w.grad = None


def _zero(w):
    w.grad.zero_()


def _steps_with_another_tensor(w, loss_of):
    for _ in range(3):
        loss_of(w).backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    return w


def _steps_recorded(w, loss_of):
    for _ in range(3):
        w.grad = None
        loss_of(w).backward()
        w -= 0.1 * w.grad
    return w


def _trained(answer):
    """What is returned after three steps, and what has become of the weight that was given."""
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    returned = answer(w, lambda w: ((w - torch.tensor([3.0, 0.5])) ** 2).sum())
    return [returned, w]


_POINTS = torch.tensor([1.0, 2.0, -1.0, 0.5, 3.0, -2.0], dtype=torch.float64)
_TARGET = torch.tensor([0.5, 1.0, 2.0, -1.0, 0.0, 1.5], dtype=torch.float64)


def _loss(w, points, target):
    return ((w * points - target) ** 2).mean()


def _pieces(divided=lambda loss: loss / 3, emptied=False):
    """The gradient of a batch, a pair of points at a time."""

    def in_pieces(w, points, target):
        w.grad = None
        for start in (0, 2, 4):
            if emptied:
                w.grad = None
            divided(_loss(w, points[start : start + 2], target[start : start + 2])).backward()
        return w.grad

    return in_pieces


def _gradient(answer):
    return [answer(torch.tensor(at, dtype=torch.float64, requires_grad=True), _POINTS, _TARGET) for at in (0.5, -2.0)]


def _checked(answer):
    """Whether gradcheck agrees that the answer is the gradient of the loss over the whole batch."""

    class InPieces(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w):
            ctx.save_for_backward(w)
            return _loss(w, _POINTS, _TARGET)

        @staticmethod
        def backward(ctx, grad_output):
            (w,) = ctx.saved_tensors
            with torch.enable_grad():
                return grad_output * answer(w.detach().requires_grad_(), _POINTS, _TARGET)

    point = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(InPieces.apply, (point,), raise_exception=False)


def _small(numbers):
    return (torch.tensor(numbers) * 0.1).requires_grad_()


def _retained(numbers):
    result = torch.tensor(numbers, requires_grad=True) * 0.1
    result.retain_grad()
    return result


def _kind_of_tensor(answer):
    made = answer([1.0, -2.0])
    return [made, made.is_leaf, made.requires_grad, made.retains_grad]


EXERCISES = (
    Exercise(
        "number-none-or-zero",
        'What is in .grad of w, h, u and v: "number", "None" or "zero"?',
        ["number", "None", "None", "zero"],
        misconceptions=(
            Misconception(
                ".grad of a non-leaf",
                "backward needed the gradient of h on its way, and freed it afterwards: h was computed, and nobody "
                "asked to keep its gradient.",
                ["number", "number", "None", "zero"],
            ),
            Misconception(
                "no gradient is a gradient of zero",
                "u is not in the graph of the loss, so the walk back never came there, and put nothing there.",
                ["number", "None", "zero", "zero"],
            ),
            Misconception(
                "a gradient of zero is no gradient",
                "v is used. The walk back comes to it, and brings what it has: a slope that happens to be 0.",
                ["number", "None", "None", "None"],
            ),
            Misconception(
                "a product with v moves with v",
                "v is multiplied by something. Look at what it is multiplied by: that is its slope.",
                ["number", "None", "None", "number"],
            ),
        ),
    ),
    Exercise(
        "small-leaf",
        "Make a leaf that requires a gradient from a list of numbers, each of them times 0.1.",
        _small,
        {"the tensor": _kind_of_tensor},
        (
            Misconception(
                "a result for a leaf",
                "you asked for gradients first and multiplied afterwards: so the product has a history, and the leaf "
                "is a tensor that nobody can reach any more.",
                lambda numbers: torch.tensor(numbers, requires_grad=True) * 0.1,
            ),
            Misconception(
                "retain_grad makes a leaf",
                "that keeps the gradient of a result, but it stays a result: a training step may not write into it.",
                _retained,
            ),
            Misconception(
                "nobody asked for gradients",
                "your tensor is a leaf, but it is a constant: no gradient will ever come to it.",
                lambda numbers: torch.tensor(numbers) * 0.1,
            ),
        ),
    ),
    Exercise(
        "three-steps",
        "Three training steps for w, each 0.1 times the gradient long.",
        _steps(_empty),
        {"the weight": _trained},
        (
            Misconception(
                "zero_grad is forgotten",
                "your first step is right, and the others are too long: the old gradients are still in w.grad.",
                _steps(),
            ),
            Misconception(
                "zero_grad comes too late",
                "w does not move: between backward and the step, something has emptied what backward had just brought.",
                _steps(between=_zero),
            ),
            Misconception(
                "uphill",
                "the gradient points to where the loss grows. You went with it.",
                _steps(_empty, rate=-0.1),
            ),
            Misconception(
                "another tensor in place of the leaf",
                "the numbers are right, but w = ... gives the name w to a new tensor. The weight that you were given "
                "has not moved.",
                _steps_with_another_tensor,
            ),
            Misconception(
                "a leaf is written while the engine records",
                "the step itself must not be part of the history, and the engine refuses it. Where is nothing "
                "recorded?",
                _steps_recorded,
            ),
        ),
    ),
    Exercise(
        "batch-in-pieces",
        "The gradient of the mean over six points, computed two points at a time.",
        _pieces(),
        {"the gradient": _gradient, "gradcheck": _checked},
        (
            Misconception(
                "the mean of each piece",
                "your gradient is too large by the number of pieces. Each piece has its own mean, and their gradients "
                "add: how much of the whole mean is one piece?",
                _pieces(lambda loss: loss),
            ),
            Misconception(
                "emptied between the pieces",
                "only the last piece is left: here the gradients of the pieces should add.",
                _pieces(emptied=True),
            ),
            Misconception(
                "divided twice",
                "the mean of a piece is divided by its two points already. You have divided by the number of all "
                "points once more.",
                _pieces(lambda loss: loss / 6),
            ),
            Misconception(
                "divided by the size of a piece",
                "you divided by how many points are in a piece. How many pieces are there?",
                _pieces(lambda loss: loss / 2),
            ),
        ),
        points=2,
    ),
)
