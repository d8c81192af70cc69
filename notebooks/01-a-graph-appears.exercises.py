"""The exercises of lesson 1, a graph appears, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise

exercise(
    "count-the-nodes",
    "The number of nodes of y = (x * x + w) * w - 2 * b, where x is a constant.",
    solution=4,
    misconceptions=[
        Misconception(
            "constants leave a node",
            "you counted every operation. One of them has only constants as inputs, so no slope is needed there.",
            5,
        ),
        Misconception(
            "leaves are operations",
            "w and b are in the picture, but no operation made them. Count only what was computed.",
            6,
        ),
        Misconception(
            "one line is one node",
            "the engine doesn't see lines. It sees each operation as it runs.",
            1,
        ),
        Misconception(
            "each use is a node",
            "you counted the arrows from w and b as well. A node is an operation, however many arrows it has.",
            7,
        ),
    ],
)


exercise(
    "fork-in-the-middle",
    "The gradient of a for p = a * b and y = p * p + p, at a = 2 and b = 3.",
    solution=39,
    misconceptions=[
        Misconception(
            "a forgotten fork",
            "you followed the square only. p is used once more, and that path brings a gradient too.",
            36,
        ),
        Misconception(
            "gradients overwrite instead of add",
            "you kept the gradient of one arrow. Three arrows leave p, so three gradients come back to it, and they "
            "add.",
            3,
        ),
        Misconception(
            "one arrow of two",
            "two arrows lead from p into p * p. You counted one of them, and the path through + p not at all.",
            18,
        ),
        Misconception(
            "the local slope without the chain",
            "that's the gradient of p. From there one more multiplication leads to a.",
            13,
        ),
        Misconception(
            "the value instead of the slope",
            "that's y itself. The gradient says how much y changes if a grows a little.",
            42,
        ),
    ],
)


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
        raise Unusable("your code didn't return a Value")
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in out.made_from):
        raise Unusable("made_from isn't a list of pairs, each a value and the slope with respect to it")
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


exercise(
    "maximum-routes",
    "Give your engine the operation maximum(a, b).",
    solution=maximum,
    probes={"the value": _maximum_value, "the gradients": _maximum_gradients, "gradcheck": _maximum_checked},
    misconceptions=[
        Misconception(
            "max distributes",
            "your maximum sends the gradient to both, as a sum does. Nudge the smaller one a little: does the "
            "result move?",
            _maximum_made_of(lambda a, b: (1.0, 1.0)),
        ),
        Misconception(
            "max shares",
            "in yours, each gets one half. Nudge only the larger one: does the result move by half of the nudge?",
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
            "the value instead of the slope",
            "the larger one receives its own value. A slope says how far the result moves per unit of nudge.",
            _maximum_made_of(lambda a, b: (a.data * (a.data > b.data), b.data * (b.data >= a.data))),
        ),
        Misconception("the smaller one", "your result is the minimum of the two.", _minimum),
    ],
    points=2,
)
