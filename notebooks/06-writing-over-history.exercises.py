"""The exercises of lesson 6, writing over history, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, Unusable, checked, exercise, gradients, results


def _letter(answer):
    if not isinstance(answer, str):
        raise Unusable("your code didn't give a letter in quotes")
    return answer.strip().lower()


exercise(
    "read-the-error",
    "What does the error message about a SigmoidBackward's saved tensor mean? One letter.",
    solution="c",
    probes={"the letter": _letter},
    misconceptions=[
        Misconception(
            "the operation that is named has written",
            "the message names the operation that made the tensor. Its backward needs that tensor. It doesn't say "
            "which line wrote into it.",
            "a",
        ),
        Misconception(
            "backward ran twice",
            "that's a different error, about freed tensors. This one counts writes: look at the two versions.",
            "b",
        ),
        Misconception(
            "versions are steps of training",
            "a version counts the writes into one tensor, and begins at 0 with each new one.",
            "d",
        ),
    ],
)


exercise(
    "version-of-a-view",
    "[base._version, row._version] after row = base[1]; row.add_(1); base.mul_(2).",
    solution=[2, 2],
    misconceptions=[
        Misconception(
            "writing through a view",
            "you counted the writes for each name separately. Both names share one memory, which has one counter.",
            [1, 1],
        ),
        Misconception(
            "the base does not notice a view",
            "a write through the view is a write into the base.",
            [1, 2],
        ),
        Misconception(
            "a view has a counter of its own",
            "the view doesn't have its own memory, so it doesn't have its own counter.",
            [2, 1],
        ),
        Misconception(
            "a view is a copy",
            "base[1] copies nothing, so a write through either name changes both.",
            [0, 1],
        ),
    ],
)


def _through_data(x):
    y = x.exp()
    y.data.add_(1)
    return y * x


def _detached(x):
    return (x.exp().detach() + 1) * x


def _as_it_was(x):
    y = x.exp()
    y.add_(1)
    return y * x


def _one_left_out(x):
    return x.exp() * x


exercise(
    "repair-the-write",
    "Repair a function that writes over what exp has saved.",
    solution=lambda x: (x.exp() + 1) * x,
    probes={
        "the value": results([[0.5, -1.0]]),
        "the gradient": gradients([[0.5, -1.0]]),
        "gradcheck": checked([[0.5, -1.0]]),
    },
    misconceptions=[
        Misconception(
            "a write that the engine does not see",
            "the error is gone, but the gradient is wrong: .data writes without counting, so the backward of "
            "exp uses numbers that aren't its result.",
            _through_data,
        ),
        Misconception(
            "it still writes",
            "exp saves its result, and one of your lines writes into that tensor. (Under no_grad the write isn't in "
            "the graph, but it still changes the memory.) Which line could make a new tensor?",
            _as_it_was,
        ),
        Misconception(
            "detach as a cure",
            "the error is gone, but so is the gradient path: no gradient goes through a detach, or "
            "through what was computed under no_grad.",
            _detached,
        ),
        Misconception(
            "another function",
            "the error is gone, but the value has changed: what does each line do to y?",
            _one_left_out,
        ),
    ],
    points=2,
)


def _step(w, rate):
    with torch.no_grad():
        w -= rate * w.grad


def _step_recorded(w, rate):
    w -= rate * w.grad


def _step_detached(w, rate):
    w = w.detach() - rate * w.grad


def _step_elsewhere(w, rate):
    with torch.no_grad():
        w = w - rate * w.grad


def _step_uphill(w, rate):
    with torch.no_grad():
        w += rate * w.grad


def _leaf():
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    (w * w).sum().backward()
    return w


def _moved(step):
    """Where the weight is after a step; if it has not moved, whether its gradient changed, and detach was called."""

    def after(rate):
        w, detached = _leaf(), []
        assert w.grad is not None
        start, slope = w.tolist(), w.grad.tolist()
        vars(w)["detach"] = lambda: detached.append(1) or torch.Tensor.detach(w)
        step(w, rate)
        if w.tolist() != start:
            return w
        return [start, w.grad is not None and w.grad.tolist() == slope, bool(detached)]

    return [after(0.1), after(0.25)]


def _still_a_leaf(step):
    w = _leaf()
    step(w, 0.1)
    return [w.is_leaf, w.requires_grad]


exercise(
    "update-a-weight",
    "Change a leaf by a step against its gradient, so that the caller's tensor changes.",
    solution=_step,
    probes={"the weight after the step": _moved, "that it stays a leaf": _still_a_leaf},
    hints={
        "that it stays a leaf": "Print w.is_leaf and w.grad_fn after the step.",
        "the weight after the step": "With a weight of 1, a gradient of 2 and a rate of 0.1, the weight should move by "
        "0.2, against its gradient.",
    },
    misconceptions=[
        Misconception(
            "detach against no_grad",
            "detach gives another tensor, and w = ... gives the name w to it: the caller's weight hasn't moved. "
            "Under no_grad the tensor stays the same one, and what you do to it isn't recorded.",
            _step_detached,
        ),
        Misconception(
            "the weight has not moved",
            "the caller's tensor is as it was. A minus between two tensors makes a new tensor, and w = ... only "
            "gives the name w to it. Which operations write into the tensor itself?",
            _step_elsewhere,
        ),
        Misconception(
            "a leaf is written while the engine records",
            "a leaf refuses that. A training step isn't a part of the model: do it where nothing is recorded.",
            _step_recorded,
        ),
        Misconception("the step goes uphill", "the gradient points to where the loss grows.", _step_uphill),
    ],
    points=2,
)
