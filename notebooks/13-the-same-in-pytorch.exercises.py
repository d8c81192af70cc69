"""The exercises of lesson 13, the same in PyTorch, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, checked, exercise, gradients, results

exercise(
    "name-of-a-node",
    "The name of the node that a Function called Swish makes.",
    solution="SwishBackward",
    misconceptions=[
        Misconception(
            "a number behind the name of your own node",
            "PyTorch adds a number to the names of its built-in nodes. Your node's name has none.",
            "SwishBackward0",
        ),
        Misconception(
            "the name of the class for the name of the node",
            "that is your class. The node is a part of the walk back, and its name says so.",
            "Swish",
        ),
        Misconception(
            "what is printed for the name",
            "print shows more of a node than its name: first comes the module that its class is in.",
            "torch.autograd.function.SwishBackward",
            ("<torch.autograd.function.SwishBackward>",),
        ),
    ],
)


exercise(
    "names-of-parameters",
    "The names of the parameters of a Sequential of Linear, ReLU and Linear.",
    solution=["0.weight", "0.bias", "2.weight", "2.bias"],
    misconceptions=[
        Misconception(
            "only layers with parameters are counted",
            "ReLU has no parameters, but it has a place in the Sequential, and places are counted.",
            ["0.weight", "0.bias", "1.weight", "1.bias"],
        ),
        Misconception(
            "every layer has parameters",
            "ReLU learns nothing: it has no weight and no bias. But it has a place in the Sequential.",
            ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"],
        ),
        Misconception(
            "a model knows its variable",
            "a model doesn't know the name of the variable that holds it. It knows its own parts.",
            ["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"],
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
    ],
)


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


exercise(
    "write-made-new",
    "A function without the write in place that broke its backward.",
    solution=repaired,
    probes={
        "the value": results([[0.5, -1.0]]),
        "the gradient": gradients([[0.5, -1.0]]),
        "gradcheck": checked([[0.3, -0.4]]),
    },
    misconceptions=[
        Misconception(
            "the write is still there",
            "backward still finds a tensor of another version than the one it had saved.",
            _still_written,
            (_written_unrecorded, _written_over_a_result),
        ),
        Misconception(
            "a write that nobody counts",
            "through .data the write isn't counted, so no error is raised. But backward now computes with the "
            "wrong numbers, and so your gradient is wrong.",
            _hidden,
        ),
        Misconception(
            "history is cut",
            "the error is gone, but a part of the gradient is missing: one factor has become a constant.",
            _detached,
        ),
        Misconception(
            "the write is moved up",
            "backward works, but for a different function: the squares should use h as it was before the write.",
            _write_first,
        ),
    ],
    points=2,
)
