"""The exercises of lessons 0 to 3: slopes, graphs, backward, and `.grad`."""

# backward() writes `.grad`, which a type checker does not see.
# pyright: reportOperatorIssue=false
from __future__ import annotations

from contextlib import suppress

import workbench as torch

from .exercise import Exercise, Misconception, Unusable, results, slopes_of, tensor, words

# Lesson 0, slopes and a graph

_W_X_B = ([3.0, 2.0, 0.4], [1.0, -2.0, 4.0], [0.5, 3.0, -1.0])  # w, x, b


def _w_slope(w, x, b):
    return 2 * (w * x + b - 7) * x


def _nudged_slope(w, x, b):
    h = 1e-6
    return (((w + h) * x + b - 7) ** 2 - (w * x + b - 7) ** 2) / h


def _loss_of_w(w):
    return (w * 2.0 + 0.5 - 7) ** 2


def _backward_of(slope):
    return lambda grad_output, w: grad_output * slope(w, 2.0, 0.5)


LESSON_0 = (
    Exercise(
        "slope-of-a-line",
        "The slope of 4 * x + 9 at x = 5.",
        4,
        misconceptions=(
            Misconception(
                "the value in place of the slope",
                "that is how high the line is there. The slope asks how much higher it gets per unit of step.",
                29,
            ),
            Misconception(
                "the constant takes part",
                "the constant lifts the whole line. Write down the quotient: it stands in both terms, and cancels.",
                13,
            ),
            Misconception(
                "the slope times x",
                "a nudge is multiplied by the factor, not by the place where you stand: a line is equally steep "
                "everywhere.",
                20,
            ),
            Misconception(
                "the slope of a parabola",
                "that rule is for x * x. Here x stands alone, multiplied by a constant.",
                40,
            ),
        ),
    ),
    Exercise(
        "who-has-a-grad",
        'Which of "x", "w", "b", "a", "out" hold a .grad after loss.backward()?',
        ["w", "b"],
        {"the answer": lambda names: sorted(set(words(names)))},
        (
            Misconception(
                ".grad of a non-leaf",
                "a gradient passed through the values in the middle, but it is not kept there. Backward fills .grad "
                "of leaves, the numbers that no operation made.",
                ["w", "b", "a", "out"],
            ),
            Misconception(
                "every leaf has a .grad",
                "nothing made x, but nobody asked for its gradient: look at requires_grad.",
                ["x", "w", "b"],
            ),
            Misconception(
                "everything has a .grad",
                "only tensors that asked for a gradient get one, and of those only the ones that no operation made.",
                ["x", "w", "b", "a", "out"],
            ),
        ),
    ),
    Exercise(
        "slope-by-hand",
        "A function that computes the slope of (w * x + b - 7)**2 with respect to w.",
        _w_slope,
        {
            "the slope": results(*_W_X_B),
            "exactness": lambda slope: bool(abs(slope(5, 3, 2) - 60) < 1e-12 and abs(slope(-1, 2, 4) + 20) < 1e-12),
            "gradcheck": lambda slope: slopes_of(_loss_of_w, [3.0], [-1.0])(_backward_of(slope)),
        },
        (
            Misconception(
                "the local slope without the chain",
                "that is the slope of the square with respect to what is squared. The path goes on, through the "
                "product, until it is at w: along a path slopes multiply.",
                lambda w, x, b: 2 * (w * x + b - 7),
            ),
            Misconception(
                "only the last step of the chain",
                "that is the slope of the product alone. Between it and the loss stands a square.",
                lambda w, x, b: x + 0 * w,
            ),
            Misconception(
                "slopes add along a path",
                "you added the slopes of two nodes on one path. They add where paths meet; along a path they multiply.",
                lambda w, x, b: 2 * (w * x + b - 7) + x,
            ),
            Misconception(
                "nudging",
                "your number is near the slope, and not the slope: a step, however small, stays in it. The chain rule "
                "needs no step.",
                _nudged_slope,
            ),
            Misconception(
                "the square's factor",
                "x * x had a slope of more than x: remember section 1.",
                lambda w, x, b: (w * x + b - 7) * x,
            ),
            Misconception(
                "the other leaf",
                "you multiplied by w. In a product each factor receives the other one.",
                lambda w, x, b: 2 * (w * x + b - 7) * w,
            ),
        ),
        points=2,
    ),
)


# Lesson 1, a graph appears


class Value:
    """The lesson's own engine, as far as an operation needs it."""

    def __init__(self, data, made_from=(), operation="leaf"):
        self.data = data
        self.made_from = made_from
        self.operation = operation
        self.grad = 0.0


def _own_backward(result):
    result.grad = 1.0
    for value in reversed(_in_order(result, [])):
        for source, slope in value.made_from:
            source.grad += slope * value.grad


def _in_order(value, found):
    if value not in found:
        for source, _ in value.made_from:
            _in_order(source, found)
        found.append(value)
    return found


def maximum(a, b):
    """The larger of two values: its gradient goes to that one."""
    return Value(max(a.data, b.data), [(a, float(a.data > b.data)), (b, float(b.data >= a.data))], "max")


def _maximum_made_of(slopes):
    return lambda a, b: Value(max(a.data, b.data), list(zip((a, b), slopes(a, b), strict=True)), "max")


def _minimum(a, b):
    return Value(min(a.data, b.data), [(a, float(a.data < b.data)), (b, float(b.data <= a.data))], "max")


def _through_maximum(answer, *numbers):
    """The result of the answer for these numbers, and the gradients of its inputs where 3 times the result arrives."""
    own = getattr(answer, "__globals__", {}).get("Value", Value)  # the class of the learner's notebook
    inputs = [own(number) for number in numbers]
    out = answer(*inputs)
    if not isinstance(out, own):
        raise Unusable("your code returned no Value")
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in out.made_from):
        raise Unusable("made_from is not a list of pairs: a value, and the slope with respect to it")
    _own_backward(own(3.0 * out.data, [(out, 3.0)]))
    return out.data, [each.grad for each in inputs]


_MAXIMUM_OF = ((2.0, -1.5), (-4.0, 0.5), (-1.25, -3.0))


def _maximum_value(answer):
    return [_through_maximum(answer, *pair)[0] for pair in _MAXIMUM_OF]


def _maximum_gradients(answer):
    return [_through_maximum(answer, *pair)[1] for pair in _MAXIMUM_OF]


def _maximum_checked(answer):
    """Whether gradcheck agrees with the learner's operation in the learner's engine."""

    class ByOwnEngine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return torch.tensor(_through_maximum(answer, a.item(), b.item())[0], dtype=torch.float64)

        @staticmethod
        def backward(ctx, grad_output):
            _, grads = _through_maximum(answer, *(each.item() for each in ctx.saved_tensors))
            return tuple(grad_output * grad / 3.0 for grad in grads)

    def agrees(*numbers):
        point = tuple(torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in numbers)
        return torch.autograd.gradcheck(ByOwnEngine.apply, point, raise_exception=False)

    return [agrees(*pair) for pair in _MAXIMUM_OF]


LESSON_1 = (
    Exercise(
        "count-the-nodes",
        "The number of nodes of y = (x * x + w) * w - 2 * b, where x is a constant.",
        4,
        misconceptions=(
            Misconception(
                "constants leave a node",
                "you counted every operation. One of them has only constants for its inputs, and nobody will ask for a "
                "slope there.",
                5,
            ),
            Misconception(
                "leaves are operations",
                "w and b are in the picture, but no operation made them. Count only what was computed.",
                6,
            ),
            Misconception(
                "one line is one node",
                "the engine does not see lines. It sees each operation as it runs.",
                1,
            ),
            Misconception(
                "each use is a node",
                "you counted the arrows from w and b as well. A node is an operation, however many arrows it has.",
                7,
            ),
        ),
    ),
    Exercise(
        "fork-in-the-middle",
        "The gradient of a for p = a * b and y = p * p + p, at a = 2 and b = 3.",
        39,
        misconceptions=(
            Misconception(
                "a forgotten fork",
                "you followed the square only. p is used once more, and that path brings a gradient, too.",
                36,
            ),
            Misconception(
                "gradients overwrite instead of add",
                "you kept what came along one arrow. Three arrows leave p, and what they bring back adds.",
                3,
            ),
            Misconception(
                "one arrow of two",
                "two arrows lead from p into p * p. You counted one of them, and the path through + p not at all.",
                18,
            ),
            Misconception(
                "the local slope without the chain",
                "that is the gradient of p. From there one more multiplication leads to a.",
                13,
            ),
            Misconception("the value in place of the slope", "that is y itself, not how fast it moves with a.", 42),
        ),
    ),
    Exercise(
        "maximum-routes",
        "Give your engine the operation maximum(a, b).",
        maximum,
        {"the value": _maximum_value, "the gradients": _maximum_gradients, "gradcheck": _maximum_checked},
        (
            Misconception(
                "max distributes",
                "your maximum sends the gradient to both, as a sum does. Nudge the smaller one a little: does the "
                "result move?",
                _maximum_made_of(lambda a, b: (1.0, 1.0)),
            ),
            Misconception(
                "max shares",
                "each of yours gets a half. Nudge only the larger one: does the result move by half of the nudge?",
                _maximum_made_of(lambda a, b: (0.5, 0.5)),
            ),
            Misconception(
                "the smaller one gets the gradient",
                "the gradient goes to the smaller one. Which of the two does the result move with?",
                _maximum_made_of(lambda a, b: (float(a.data < b.data), float(b.data <= a.data))),
            ),
            Misconception(
                "max swaps",
                "each receives the value of the other one: that is the pattern of a product.",
                _maximum_made_of(lambda a, b: (b.data, a.data)),
            ),
            Misconception(
                "the value in place of the slope",
                "the larger one receives its own value. A slope says how far the result moves per unit of nudge.",
                _maximum_made_of(lambda a, b: (a.data * (a.data > b.data), b.data * (b.data >= a.data))),
            ),
            Misconception("the smaller one", "your result is the minimum of the two.", _minimum),
        ),
        points=2,
    ),
)


# Lesson 2, backward one node at a time

_ARRIVED = [[1.0, 2.0, 3.0], [4.0, 0.5, -1.0]]
_TALL = [[1.0, -2.0], [0.5, 3.0], [2.0, 0.25], [4.0, 1.0]]

LESSON_2 = (
    Exercise(
        "grad-at-a-fork",
        "a.grad for y = a * b + 4 * a at a = 2, b = 5.",
        9,
        misconceptions=(
            Misconception(
                "a forgotten fork",
                "you followed one way from a to y. a stands in two products: what comes back by either way adds.",
                5,
            ),
            Misconception(
                "a forgotten product",
                "you followed only the second product. a stands in the first one, too.",
                4,
            ),
            Misconception(
                "slopes multiply where paths meet",
                "along one path slopes multiply; these are two paths.",
                20,
            ),
            Misconception("the value in place of the slope", "that is y itself, not how fast it moves with a.", 18),
        ),
    ),
    Exercise(
        "three-backwards",
        "w.grad after three times (w * 4).backward(), each with a new graph, and nothing between.",
        12,
        misconceptions=(
            Misconception(
                "gradients overwrite instead of add",
                "backward does not replace what is in .grad. It adds to it, each time, until somebody clears it.",
                4,
            ),
            Misconception("gradients multiply", "each run brings its gradient once more, and it is added.", 64),
            Misconception(
                "the value of w matters",
                "the slope of w * 4 is the same wherever w stands.",
                24,
            ),
        ),
    ),
    Exercise(
        "bias-backward",
        "The backward of rows + bias: from the gradient of the result, the gradients of rows and bias.",
        lambda grad_output, rows, bias: (grad_output, grad_output.sum(0)),
        {
            "the gradients": results([_ARRIVED, _ARRIVED, [0.1, 0.2, 0.3]], [_TALL, _TALL, [0.5, -1.0]]),
            "gradcheck": slopes_of(lambda rows, bias: rows + bias, [_ARRIVED, [0.1, 0.2, 0.3]]),
        },
        (
            Misconception(
                "broadcasting needs no sum",
                "your second gradient has the shape of rows. The bias was repeated for each row, so its gradient has "
                "the shape of the bias, and collects what comes back from every copy. (The engine would sum for you "
                "here; rely on that, and the first shape that does not fit is an error.)",
                lambda grad_output, rows, bias: (grad_output, grad_output),
            ),
            Misconception(
                "summed along the wrong dimension",
                "one element of the bias went down a column. Which dimension does rows have that bias does not?",
                lambda grad_output, rows, bias: (grad_output, grad_output.sum(1)),
            ),
            Misconception(
                "the average of the copies",
                "a nudge of the bias moves every copy in full, not its share; what comes back from copies adds.",
                lambda grad_output, rows, bias: (grad_output, grad_output.mean(0)),
            ),
            Misconception(
                "one copy of many",
                "only one row was asked. The bias reaches the result by way of every row.",
                lambda grad_output, rows, bias: (grad_output, grad_output[0]),
            ),
            Misconception(
                "summed to one number",
                "the bias has several numbers, and each gets a gradient of its own.",
                lambda grad_output, rows, bias: (grad_output, grad_output.sum()),
            ),
            Misconception(
                "gradients that arrive are ignored",
                "that is right only if every gradient that arrives is 1. Use grad_output.",
                lambda grad_output, rows, bias: (0 * rows + 1, 0 * bias + len(rows)),
            ),
        ),
        points=2,
    ),
)


# Lesson 3, leaves and `.grad`


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


def _small(numbers):
    return (torch.tensor(numbers) * 0.1).requires_grad_()


def _retained(numbers):
    result = torch.tensor(numbers, requires_grad=True) * 0.1
    result.retain_grad()
    return result


def _kind_of_tensor(answer):
    made = [tensor(answer(numbers)) for numbers in ([1.0, -2.0], [0.5, 3.0, -4.0])]
    return [[each, each.is_leaf, each.requires_grad, each.retains_grad] for each in made]


def _four_words(answer):
    """The four words; None without quotes says the same as the word."""
    if not isinstance(answer, list | tuple):
        raise Unusable("a list of four words is asked for")
    return [word.lower() for word in words(["None" if word is None else word for word in answer])]


LESSON_3 = (
    Exercise(
        "number-none-or-zero",
        'What is in .grad of w, h, u and v: "number", "None" or "zero"?',
        ["number", "None", "None", "zero"],
        {"the words": _four_words},
        (
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
        _steps(_emptied),
        {"the weight": _trained, "the calls of loss_of": _losses_of},
        (
            Misconception(
                "zero_grad is forgotten",
                "your first step is right, and the others are too long: the old gradients are still in w.grad.",
                _steps(),
            ),
            Misconception(
                "zero_grad comes too late",
                "w does not move: between backward and the step, something has emptied what backward had just brought.",
                _steps(between=_zeroed),
            ),
            Misconception(
                "no step is made",
                "w does not move: backward brings the gradient, and no line of yours writes into w.",
                _no_steps,
            ),
            Misconception(
                "uphill",
                "the gradient points to where the loss grows. You went with it.",
                _steps(_emptied, rate=-0.1),
            ),
            Misconception(
                "another tensor in place of the leaf",
                "w = ... makes a new tensor, and gives it the name w. The weight that you were given stays where it "
                "was, and what is made from a leaf has no .grad. What changes the tensor itself?",
                _steps_with_another_tensor,
                (_steps_with_a_result, _steps_with_a_constant),
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
        {"the gradient": _batch_gradient, "the walks back": _walks_back, "gradcheck": _batch_checked},
        (
            Misconception(
                "all points at one time",
                "the gradient is right, but more than two points were in graphs at one time, and the memory is too "
                "small for that. A graph is freed by its own backward: when should that run?",
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
        ),
        points=2,
    ),
)
