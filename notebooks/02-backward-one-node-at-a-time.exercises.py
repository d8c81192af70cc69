"""The exercises of lesson 2, backward one node at a time, with their solutions, as `check` reads them."""

from workbench.classroom import Misconception, exercise, results, slopes_of

exercise(
    "grad-at-a-fork",
    "a.grad for y = a * b + 4 * a at a = 2, b = 5.",
    solution=9,
    misconceptions=[
        Misconception(
            "a forgotten fork",
            "you followed one path from a to y. a is in two products, and the gradients of both paths are added.",
            5,
        ),
        Misconception(
            "a forgotten product",
            "you followed only the second product. a is in the first one too.",
            4,
        ),
        Misconception(
            "slopes multiply where paths meet",
            "along one path slopes multiply; these are two paths.",
            20,
        ),
        Misconception(
            "the value instead of the slope",
            "that's y itself. The gradient says how much y changes if a grows a little.",
            18,
        ),
    ],
)


exercise(
    "three-backwards",
    "w.grad after three times (w * 4).backward(), each with a new graph, and nothing between.",
    solution=12,
    misconceptions=[
        Misconception(
            "gradients overwrite instead of add",
            "backward doesn't replace what's in .grad. Each time, it adds to it, until your program empties it.",
            4,
        ),
        Misconception("gradients multiply", "each run brings its gradient once more, and it's added.", 64),
        Misconception(
            "the value of w matters",
            "the slope of w * 4 is the same for every w.",
            24,
        ),
    ],
)


_ARRIVED = [[1.0, 2.0, 3.0], [4.0, 0.5, -1.0]]


_TALL = [[1.0, -2.0], [0.5, 3.0], [2.0, 0.25], [4.0, 1.0]]


exercise(
    "bias-backward",
    "The backward of rows + bias: from the gradient of the result, the gradients of rows and bias.",
    solution=lambda grad_output, rows, bias: (grad_output, grad_output.sum(0)),
    probes={
        "the gradients": results([_ARRIVED, _ARRIVED, [0.1, 0.2, 0.3]], [_TALL, _TALL, [0.5, -1.0]]),
        "gradcheck": slopes_of(lambda rows, bias: rows + bias, [_ARRIVED, [0.1, 0.2, 0.3]]),
    },
    misconceptions=[
        Misconception(
            "broadcasting needs no sum",
            "your second gradient has the shape of rows. The bias was repeated for each row, so its gradient has the "
            "shape of the bias, and combines the gradients from all copies. (Here the engine would sum for you. "
            "But in other places the wrong shape is an error.)",
            lambda grad_output, rows, bias: (grad_output, grad_output),
        ),
        Misconception(
            "summed along the wrong dimension",
            "one element of the bias went down a column. Which dimension does rows have that bias doesn't?",
            lambda grad_output, rows, bias: (grad_output, grad_output.sum(1)),
        ),
        Misconception(
            "the average of the copies",
            "a nudge of the bias moves every copy by the full nudge, not by a part of it. So the gradients "
            "from the copies add.",
            lambda grad_output, rows, bias: (grad_output, grad_output.mean(0)),
        ),
        Misconception(
            "one copy of many",
            "you used one row only. A nudge of the bias moves every row of the result.",
            lambda grad_output, rows, bias: (grad_output, grad_output[0]),
        ),
        Misconception(
            "summed to one number",
            "the bias has several numbers, and each gets its own gradient.",
            lambda grad_output, rows, bias: (grad_output, grad_output.sum()),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad_output.",
            lambda grad_output, rows, bias: (0 * rows + 1, 0 * bias + len(rows)),
        ),
    ],
    points=2,
)
