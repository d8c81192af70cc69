"""The exercises of lesson 4, where history stops, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, checked, exercise, gradients, results, tensor, words

exercise(
    "half-detached",
    "x.grad for y = x * x and z = y.detach() * y at x = 2.",
    solution=16,
    misconceptions=[
        Misconception(
            "a gradient passes a detach",
            "that's the slope of x**4. One of the two factors is a constant here: nothing goes back through it.",
            32,
        ),
        Misconception(
            "detach stops everything",
            "it cuts one tensor off, and y itself is still there: the second factor has its history.",
            0,
        ),
        Misconception(
            "the local slope without the chain",
            "this is what arrives at y. From y to x, backward makes one more step.",
            4,
        ),
    ],
)


exercise(
    "frozen-in-the-middle",
    'Which of "w1", "w2", "w3" get a gradient, if w2 is frozen in w3 * (w2 * (w1 * x))?',
    solution=["w1", "w3"],
    probes={"the answer": lambda names: sorted(set(words(names)))},
    misconceptions=[
        Misconception(
            "a frozen weight stops the gradient",
            "the gradient goes through the product on its way to the other factor, whether or not the weight gets "
            "one itself.",
            ["w3"],
        ),
        Misconception(
            "what comes later is frozen, too",
            "the last layer is closest to the loss. Its gradient doesn't pass through the frozen weight.",
            ["w1"],
        ),
        Misconception(
            "freezing does nothing",
            "requires_grad_(False) says that this leaf gets no gradient.",
            ["w1", "w2", "w3"],
        ),
        Misconception(
            "one frozen weight freezes the model",
            "only that leaf was frozen. Do the others still require a gradient?",
            [],
        ),
        Misconception(
            "frozen is taken for learning",
            "a frozen weight stays as it is, so no gradient is computed for it. What about the other weights?",
            ["w2"],
        ),
    ],
)


def _fixed(v, goal):
    return (v - goal.detach()) ** 2


def _moving(v, goal):
    return (v - goal) ** 2


def _other_fixed(v, goal):
    return (v.detach() - goal) ** 2


def _without_grad(v, goal):
    with torch.no_grad():
        return (v - goal) ** 2


_GOALS = ([[3.0, -1.0], [2.5, 0.5]], [[0.5, 2.0], [-1.0, 2.5]])


def _guess_checked(answer):
    """Whether gradcheck agrees with the gradient of the guess; the goal stays where it is."""
    goal = torch.tensor([2.5, 0.5], dtype=torch.float64)
    return checked([[3.0, -1.0]])(lambda v: answer(v, goal))


exercise(
    "fixed-goal",
    "The squared distance of a guess from a goal, where only the guess learns.",
    solution=_fixed,
    probes={"the value": results(*_GOALS), "the gradients": gradients(*_GOALS), "gradcheck": _guess_checked},
    misconceptions=[
        Misconception(
            "the goal learns, too",
            "a gradient reaches the goal, so the goal would move toward the guess.",
            _moving,
        ),
        Misconception(
            "the guess is held still",
            "in yours, only the goal gets a gradient. Which of the two should learn?",
            _other_fixed,
        ),
        Misconception(
            "detach against no_grad",
            "your loss has no history at all. In a no_grad block nothing is recorded, and a detached difference "
            "is cut off from both. Here one tensor should count as a constant, and the rest should be recorded.",
            _without_grad,
        ),
    ],
    points=2,
)


def _predict(w, x):
    with torch.no_grad():
        return (w * x).sin()


def _predict_detached(w, x):
    return (w * x).sin().detach()


def _predict_promised(w, x):
    with torch.inference_mode():
        return (w * x).sin()


def _predict_frozen(w, x):
    w.requires_grad_(False)
    return (w * x).sin()


def _predict_recorded(w, x):
    return (w * x).sin()


def _predicted(predict):
    w = torch.tensor([0.5, -1.0], requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = predict(w, torch.tensor([2.0, 3.0]))
    return tensor(out), w, kept


def _prediction(predict):
    return _predicted(predict)[0]


def _prediction_recorded(predict):
    """Whether the result has a history, and how many tensors were saved while it was computed."""
    out, _, kept = _predicted(predict)
    return [out.requires_grad, len(kept)]


def _afterward(predict):
    """Whether the weight still learns, and what a training step that uses the result brings to it."""
    out, w, _ = _predicted(predict)
    wanted = w.requires_grad
    (w.requires_grad_() * out).sum().backward()
    return [wanted, w.grad]


exercise(
    "predict-only",
    "Compute (w * x).sin() for later use, with nothing recorded and nothing saved.",
    solution=_predict,
    probes={"the value": _prediction, "what is recorded": _prediction_recorded, "what comes after": _afterward},
    hints={
        "what is recorded": "Is the result recorded, or a step on the way to it? Print requires_grad of each.",
        "the value": "Compare it with (w * x).sin() for numbers of your own.",
    },
    misconceptions=[
        Misconception(
            "everything is recorded",
            "the result has a history, and tensors were saved for a backward pass that never runs.",
            _predict_recorded,
        ),
        Misconception(
            "detach against no_grad",
            "the result has no history, but at first it had one: tensors were saved for a backward pass. "
            "Here nothing should be recorded at any time.",
            _predict_detached,
        ),
        Misconception(
            "inference_mode where the result is used again",
            "that mode promises that no operation will save the result for backward. Here one does, in the next "
            "training step.",
            _predict_promised,
        ),
        Misconception(
            "the weight stays frozen",
            "the weight that you were given no longer requires a gradient: the next training step won't change it.",
            _predict_frozen,
        ),
    ],
)
