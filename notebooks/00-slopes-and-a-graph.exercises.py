"""The exercises of lesson 0, slopes and a graph, with their solutions, as `check` reads them."""

from workbench.classroom import Misconception, exercise, results, slopes_of, words

exercise(
    "slope-of-a-line",
    "The slope of 4 * x + 9 at x = 5.",
    solution=4,
    misconceptions=[
        Misconception(
            "the value instead of the slope",
            "that's the value of the line there. The slope says how much the value changes if x grows by 1.",
            29,
        ),
        Misconception(
            "the constant takes part",
            "the constant moves the whole line up. Write down the quotient: the constant is in both terms of the "
            "difference.",
            13,
        ),
        Misconception(
            "the slope times x",
            "a nudge of x is multiplied by the factor, whatever x is: a line has the same slope everywhere.",
            20,
        ),
        Misconception(
            "the slope of a parabola",
            "that rule is for x * x. Here x is only multiplied by a constant.",
            40,
        ),
    ],
)


exercise(
    "who-has-a-grad",
    'Which of "x", "w", "b", "a", "out" hold a .grad after loss.backward()?',
    solution=["w", "b"],
    probes={"the answer": lambda names: sorted(set(words(names)))},
    misconceptions=[
        Misconception(
            ".grad of a non-leaf",
            "a gradient passed through the values in the middle, but it isn't kept there. Backward puts it into "
            ".grad only at leaves, the numbers that no operation made.",
            ["w", "b", "a", "out"],
        ),
        Misconception(
            "every leaf has a .grad",
            "nothing made x, but it doesn't ask for a gradient: look at requires_grad.",
            ["x", "w", "b"],
        ),
        Misconception(
            "everything has a .grad",
            "only tensors that require a gradient get one, and only if no operation made them.",
            ["x", "w", "b", "a", "out"],
        ),
        Misconception(
            "one leaf gets all of the gradient",
            "two of these numbers require a gradient. Follow each arrow of the picture up to its end.",
            ["w"],
            (["b"],),
        ),
        Misconception(
            "only results have a .grad",
            "an operation made each of these. Backward goes through them, and goes on. Where does it end?",
            ["a", "out"],
            (["out"], ["a"]),
        ),
    ],
)


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


exercise(
    "slope-by-hand",
    "A function that computes the slope of (w * x + b - 7)**2 with respect to w.",
    solution=_w_slope,
    probes={
        "the slope": results(*_W_X_B),
        "exactness": lambda slope: bool(abs(slope(5, 3, 2) - 60) < 1e-12 and abs(slope(-1, 2, 4) + 20) < 1e-12),
        "gradcheck": lambda slope: slopes_of(_loss_of_w, [3.0], [-1.0])(_backward_of(slope)),
    },
    misconceptions=[
        Misconception(
            "the local slope without the chain",
            "that's the slope of the square with respect to what is squared. The path goes on through the product to "
            "w, and along a path slopes multiply.",
            lambda w, x, b: 2 * (w * x + b - 7),
        ),
        Misconception(
            "only the last step of the chain",
            "that's the slope of the product alone. There's a square between it and the loss.",
            lambda w, x, b: x + 0 * w,
        ),
        Misconception(
            "slopes add along a path",
            "you added the slopes of two nodes on one path. They add where paths meet; along a path they multiply.",
            lambda w, x, b: 2 * (w * x + b - 7) + x,
        ),
        Misconception(
            "nudging",
            "your number is near the slope, but it isn't the slope, because it still depends on a small step. The "
            "chain rule needs no step.",
            _nudged_slope,
        ),
        Misconception(
            "the square's factor",
            "the slope of x * x isn't x: look at section 1 again.",
            lambda w, x, b: (w * x + b - 7) * x,
        ),
        Misconception(
            "the other leaf",
            "you multiplied by w. In a product each factor receives the other one.",
            lambda w, x, b: 2 * (w * x + b - 7) * w,
        ),
    ],
    points=2,
)
