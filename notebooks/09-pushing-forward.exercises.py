"""The exercises of lesson 9, pushing forward, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise
from workbench.func import jvp

exercise(
    "tangent-of-a-cube",
    "The tangent of x * x * x at x = 2, moving at speed 5.",
    solution=60,
    misconceptions=[
        Misconception(
            "the tangent starts at 1",
            "that's the slope, the tangent of an input that moves at speed 1. This input moves faster.",
            12,
        ),
        Misconception(
            "value times speed",
            "the result moves by its slope times the speed, not by its value times the speed.",
            40,
        ),
        Misconception("only one of the factors moves", "all three factors are x, and all of them move.", 20),
        Misconception("the tangent is cubed", "a tangent is only ever multiplied by slopes. Here you cubed it.", 125),
    ],
)


exercise(
    "pushes-and-walks",
    "[pushes, walks back] for the whole Jacobian of a program with 3 inputs and 100 outputs.",
    solution=[3, 100],
    misconceptions=[
        Misconception(
            "pushes and walks are mixed up",
            "a push moves one input, and asks how all outputs move; a walk back starts at one output.",
            [100, 3],
        ),
        Misconception("one is enough", "one push fills one column of the table, one walk back one row.", [1, 1]),
        Misconception(
            "one push for all inputs",
            "if all inputs move at once, their columns arrive mixed. To separate them, move one input at a time.",
            [1, 100],
        ),
        Misconception(
            "one for each number of the table",
            "one push covers all outputs at once, one walk back covers all inputs at once.",
            [300, 300],
        ),
    ],
)


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
        raise Unusable("your code changed the tangent it received in place, but it's used elsewhere too")
    return pushed


def _sin_checked(answer):
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(answer.apply, (x,), check_forward_ad=True, raise_exception=False)


exercise(
    "sin-jvp",
    "Teach a Function for sin to push: write its jvp.",
    solution=Sin,
    probes={"the tangent": _sin_tangents, "gradcheck": _sin_checked},
    misconceptions=[
        Misconception(
            "the local slope without the chain",
            "your jvp returns the same number for every speed. Multiply the tangent that arrives by the slope.",
            TangentForgotten,
        ),
        Misconception("the slope is forgotten", "your jvp returns the tangent unchanged.", SlopeForgotten),
        Misconception(
            "the function of the tangent",
            "you sent the tangent through sin itself. A tangent is multiplied by sin's slope.",
            SinPushed,
        ),
        Misconception("the sign of the slope", "sin grows at 0: its slope there is positive.", SinWrongSign),
    ],
    points=2,
)


def _quotient(a, b):
    (value, tangent), (by, moves) = a, b
    return value / by, (tangent * by - value * moves) / (by * by)


_PAIRS = ([(6.0, 1.0), (2.0, 0.0)], [(6.0, 0.0), (2.0, 1.0)], [(3.0, 2.0), (-4.0, 0.5)])


exercise(
    "dual-quotient",
    "The quotient of two dual numbers, each a pair (value, tangent).",
    solution=_quotient,
    probes={
        "the value": lambda f: [f(*pair)[0] for pair in _PAIRS],
        "the tangent": lambda f: [f(*p)[1] for p in _PAIRS],
    },
    misconceptions=[
        Misconception(
            "the quotient of the tangents",
            "values divide, tangents don't: for each of the two numbers, find out how the quotient moves if only "
            "this number moves. Then add.",
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
            "the two terms are right. What are they divided by? Try 6 / 2 with a divisor that doesn't move.",
            lambda a, b: (a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0]),
        ),
    ],
)
