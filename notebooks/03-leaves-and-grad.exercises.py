"""The exercises of lesson 3, leaves and `.grad`, with their solutions, as `check` reads them."""

from contextlib import suppress

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise, tensor, words


def _four_words(answer):
    """The four words; None without quotes says the same as the word."""
    if not isinstance(answer, list | tuple):
        raise Unusable("your code didn't give a list of four words")
    return [word.lower() for word in words(["None" if word is None else word for word in answer])]


exercise(
    "number-none-or-zero",
    'What is in .grad of w, h, u and v: "number", "None" or "zero"?',
    solution=["number", "None", "None", "zero"],
    probes={"the words": _four_words},
    misconceptions=[
        Misconception(
            ".grad of a non-leaf",
            "backward needed the gradient of h on its way, and freed it afterward: h is a result, and the program "
            "didn't ask to keep its gradient.",
            ["number", "number", "None", "zero"],
        ),
        Misconception(
            "no gradient is a gradient of zero",
            "u isn't in the graph of the loss, so backward never reached it, and stored nothing there.",
            ["number", "None", "zero", "zero"],
        ),
        Misconception(
            "a gradient of zero is no gradient",
            "v is used. Backward reaches it and brings its slope, which is 0 here.",
            ["number", "None", "None", "None"],
        ),
        Misconception(
            "a product with v moves with v",
            "v is multiplied by something. Look at what it's multiplied by: that is its slope.",
            ["number", "None", "None", "number"],
        ),
    ],
)


def _small(numbers):
    return (torch.tensor(numbers) * 0.1).requires_grad_()


def _retained(numbers):
    result = torch.tensor(numbers, requires_grad=True) * 0.1
    result.retain_grad()
    return result


def _kind_of_tensor(answer):
    made = [tensor(answer(numbers)) for numbers in ([1.0, -2.0], [0.5, 3.0, -4.0])]
    return [[each, each.is_leaf, each.requires_grad, each.retains_grad] for each in made]


exercise(
    "small-leaf",
    "Make a leaf that requires a gradient from a list of numbers, each of them times 0.1.",
    solution=_small,
    probes={"the tensor": _kind_of_tensor},
    misconceptions=[
        Misconception(
            "a result for a leaf",
            "you asked for gradients first and multiplied afterward: so the product has a history, and the leaf is a "
            "tensor without a name.",
            lambda numbers: torch.tensor(numbers, requires_grad=True) * 0.1,
        ),
        Misconception(
            "retain_grad makes a leaf",
            "that keeps the gradient of a result, but it stays a result: a training step may not write into it.",
            _retained,
        ),
        Misconception(
            "nobody asked for gradients",
            "your tensor is a leaf, but it's a constant: no gradient will ever arrive there.",
            lambda numbers: torch.tensor(numbers) * 0.1,
        ),
    ],
)


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


def _emptied(w):
    w.grad = None


def _zeroed(w):
    w.grad.zero_()


def _no_steps(w, loss_of):
    for _ in range(3):
        w.grad = None
        loss_of(w).backward()
    return w


def _steps_with_another_tensor(w, loss_of):
    for _ in range(3):
        loss_of(w).backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
    return w


def _steps_with_a_result(w, loss_of):
    for _ in range(3):
        loss_of(w).backward()
        w = w - 0.1 * w.grad
    return w


def _steps_with_a_constant(w, loss_of):
    for _ in range(3):
        loss_of(w).backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad
    return w


def _steps_recorded(w, loss_of):
    for _ in range(3):
        w.grad = None
        loss_of(w).backward()
        w -= 0.1 * w.grad
    return w


def _distance(w):
    return ((w - torch.tensor([3.0, 0.5])) ** 2).sum()


def _trained(answer):
    """What is returned after three steps, what has become of the weight, and of its .grad if the weight stays."""
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    returned = answer(w, _distance)
    return [returned, w, w.grad if w.tolist() == [1.0, -2.0] else None]


def _losses_of(answer):
    """For each loss that was asked for, whether it was that of the weight that was given, also inside `func.grad`."""
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    asked = []
    with suppress(Exception):
        answer(w, lambda given: asked.append(torch.equal(given, w)) or _distance(given))
    return asked


exercise(
    "three-steps",
    "Three training steps for w, each 0.1 times the gradient long.",
    solution=_steps(_emptied),
    probes={"the weight": _trained, "the calls of loss_of": _losses_of},
    misconceptions=[
        Misconception(
            "zero_grad is forgotten",
            "your first step is right, and the others are too long: the old gradients are still in w.grad.",
            _steps(),
        ),
        Misconception(
            "zero_grad comes too late",
            "w doesn't move: between backward and the step, one of your lines has removed what backward had just "
            "brought.",
            _steps(between=_zeroed),
        ),
        Misconception(
            "no step is made",
            "w doesn't move: backward brings the gradient, but none of your lines writes into w.",
            _no_steps,
        ),
        Misconception(
            "uphill",
            "if w moves by plus the gradient, the loss grows. Your steps move it that way.",
            _steps(_emptied, rate=-0.1),
        ),
        Misconception(
            "another tensor instead of the leaf",
            "w = ... makes a new tensor, and gives it the name w. The weight that you were given stays where it "
            "was, and what is made from a leaf has no .grad. What changes the tensor itself?",
            _steps_with_another_tensor,
            (_steps_with_a_result, _steps_with_a_constant),
        ),
        Misconception(
            "a leaf is written while the engine records",
            "the step itself must not be part of the history, and the engine refuses it. Where is nothing recorded?",
            _steps_recorded,
        ),
    ],
)


_POINTS = torch.tensor([1.0, 2.0, -1.0, 0.5, 3.0, -2.0], dtype=torch.float64)


_TARGET = torch.tensor([0.5, 1.0, 2.0, -1.0, 0.0, 1.5], dtype=torch.float64)


def _batch_loss(w, points, target):
    return ((w * points - target) ** 2).mean()


def _pieces(divided=lambda loss: loss / 3, emptied=False):
    """The gradient of a batch, a pair of points at a time."""

    def in_pieces(w, points, target):
        w.grad = None
        for start in (0, 2, 4):
            if emptied:
                w.grad = None
            divided(_batch_loss(w, points[start : start + 2], target[start : start + 2])).backward()
        return w.grad

    return in_pieces


def _batch_gradient(answer):
    return [answer(torch.tensor(at, dtype=torch.float64, requires_grad=True), _POINTS, _TARGET) for at in (0.5, -2.0)]


def _walks_back(answer):
    """The number of walks back, and whether graphs of more than two points were there at one time.

    A walk back meets a gradient of more points or keeps its graph, or more than half of the nodes were made before it.
    """
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with torch.record() as trace:
        answer(w, _POINTS, _TARGET)
    kinds = [type(event).__name__ for event in trace.events]
    walks = kinds.count("BackwardStarted")
    first = kinds[: kinds.index("BackwardStarted")] if walks else []
    started = [event for event, kind in zip(trace.events, kinds, strict=True) if kind == "NodeStarted"]
    large = any(grad and max(grad.shape, default=1) > 2 for event in started for grad in event.grads)
    kept = any(getattr(event, "keep_graph", False) for event in trace.events)
    return [walks, large or kept or 2 * first.count("NodeCreated") > kinds.count("NodeCreated")]


def _whole_batch(w, points, target):
    _batch_loss(w, points, target).backward()
    return w.grad


def _sum_of_pieces(w, points, target):
    pieces = [_batch_loss(w, points[start : start + 2], target[start : start + 2]) / 3 for start in (0, 2, 4)]
    torch.stack(pieces).sum().backward()
    return w.grad


def _graphs_first(w, points, target):
    losses = [_batch_loss(w, points[start : start + 2], target[start : start + 2]) / 3 for start in (0, 2, 4)]
    for loss in losses:
        loss.backward()
    return w.grad


def _graphs_kept(w, points, target):
    for start in (0, 2, 4):
        loss = _batch_loss(w, points[start : start + 2], target[start : start + 2]) / 3
        loss.backward(retain_graph=True)
    return w.grad


def _whole_batch_thrice(w, points, target):
    for _ in range(3):
        (_batch_loss(w, points, target) / 3).backward()
    return w.grad


def _batch_checked(answer):
    """Whether gradcheck agrees that the answer is the gradient of the loss over the whole batch."""

    class InPieces(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w):
            ctx.save_for_backward(w)
            return _batch_loss(w, _POINTS, _TARGET)

        @staticmethod
        def backward(ctx, grad_output):
            (w,) = ctx.saved_tensors
            with torch.enable_grad():
                return grad_output * answer(w.detach().requires_grad_(), _POINTS, _TARGET)

    point = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(InPieces.apply, (point,), raise_exception=False)


exercise(
    "batch-in-pieces",
    "The gradient of the mean over six points, computed two points at a time.",
    solution=_pieces(),
    probes={"the gradient": _batch_gradient, "the walks back": _walks_back, "gradcheck": _batch_checked},
    misconceptions=[
        Misconception(
            "all points at one time",
            "the gradient is right, but more than two points were in graphs at one time, and the memory is too small "
            "for that. Each backward frees its own graph: when should it run?",
            _whole_batch,
            (_sum_of_pieces, _whole_batch_thrice, _graphs_first, _graphs_kept),
        ),
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
    ],
    points=2,
)
