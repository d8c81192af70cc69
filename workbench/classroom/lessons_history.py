"""The exercises of lessons 4 to 6: where history stops, what backward remembers, and writing over it."""

# backward() writes `.grad`, which a type checker does not see.
# pyright: reportOperatorIssue=false
from __future__ import annotations

import workbench as torch
from workbench.utils.checkpoint import checkpoint

from .exercise import Exercise, Misconception, Unusable, checked, gradients, results, tensor, words

# Lesson 4, where history stops


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


def _afterwards(predict):
    """Whether the weight still learns, and what a training step that uses the result brings to it."""
    out, w, _ = _predicted(predict)
    wanted = w.requires_grad
    (w.requires_grad_() * out).sum().backward()
    return [wanted, w.grad]


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


LESSON_4 = (
    Exercise(
        "half-detached",
        "x.grad for y = x * x and z = y.detach() * y at x = 2.",
        16,
        misconceptions=(
            Misconception(
                "a gradient passes a detach",
                "that is the slope of x**4. One of the two factors is a constant here: nothing goes back through it.",
                32,
            ),
            Misconception(
                "detach stops everything",
                "it cuts one tensor off, and y itself is still there: the second factor has its history.",
                0,
            ),
            Misconception(
                "the local slope without the chain",
                "this is what arrives at y. From y to x the walk back makes one more step.",
                4,
            ),
        ),
    ),
    Exercise(
        "frozen-in-the-middle",
        'Which of "w1", "w2", "w3" get a gradient, if w2 is frozen in w3 * (w2 * (w1 * x))?',
        ["w1", "w3"],
        {"the answer": lambda names: sorted(set(words(names)))},
        (
            Misconception(
                "a frozen weight stops the gradient",
                "the gradient goes through the product on its way to the other factor, whether or not the weight gets "
                "one itself.",
                ["w3"],
            ),
            Misconception(
                "what comes later is frozen, too",
                "the last layer is nearest to the loss. Its gradient does not come by way of the frozen weight.",
                ["w1"],
            ),
            Misconception(
                "freezing does nothing",
                "requires_grad_(False) says that no gradient is to be computed for this leaf.",
                ["w1", "w2", "w3"],
            ),
            Misconception(
                "one frozen weight freezes the model",
                "only that leaf said that it wants no gradient. What is asked of the others?",
                [],
            ),
        ),
    ),
    Exercise(
        "fixed-goal",
        "The squared distance of a guess from a goal, where only the guess learns.",
        _fixed,
        {"the value": results(*_GOALS), "the gradients": gradients(*_GOALS), "gradcheck": _guess_checked},
        (
            Misconception(
                "the goal learns, too",
                "a gradient comes to the goal: it would move towards the guess.",
                _moving,
            ),
            Misconception(
                "the guess is held still",
                "only the goal gets a gradient. Which of the two is to learn?",
                _other_fixed,
            ),
            Misconception(
                "detach against no_grad",
                "your loss has no history at all. In a no_grad block nothing is recorded, and a detached difference "
                "is cut off from both. Here one tensor should count as a constant, and the rest should be recorded.",
                _without_grad,
            ),
        ),
        points=2,
    ),
    Exercise(
        "predict-only",
        "Compute (w * x).sin() for later use, with nothing recorded and nothing saved.",
        _predict,
        {"the value": _prediction, "what is recorded": _prediction_recorded, "what comes after": _afterwards},
        (
            Misconception(
                "everything is recorded",
                "the result has a history, and tensors were saved for a backward that will never come.",
                _predict_recorded,
            ),
            Misconception(
                "detach against no_grad",
                "the result has no history, but first it had one: the tensors for a backward were saved. "
                "Nothing should be recorded in the first place.",
                _predict_detached,
            ),
            Misconception(
                "inference_mode where the result is used again",
                "that mode promises that no operation will save the result for a backward. Here one does, in the next "
                "training step.",
                _predict_promised,
            ),
            Misconception(
                "the weight stays frozen",
                "the weight that you were given does not require a gradient any more: the next training step will not "
                "change it.",
                _predict_frozen,
            ),
        ),
    ),
)


# Lesson 5, what backward remembers


def _train(w, x, steps):
    for _ in range(steps):
        loss = ((w * x - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return loss


def _train_retaining(w, x, steps):
    loss = ((w * x - 1) ** 2).sum()
    for _ in range(steps):
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return loss


def _train_retaining_each(w, x, steps):
    for _ in range(steps):
        loss = ((w * x - 1) ** 2).sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return loss


def _train_once(w, x, steps):
    loss = ((w * x - 1) ** 2).sum()
    for _ in range(steps):
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return loss


def _train_adding(w, x, steps):
    for _ in range(steps):
        loss = ((w * x - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return loss


def _trained(train, steps=3):
    w = torch.tensor(0.2, requires_grad=True)
    return w, train(w, torch.tensor([1.0, 0.5]), steps)


def _graph_freed(train):
    _, loss = _trained(train)
    if isinstance(loss, float):  # by item()
        return True
    try:
        tensor(loss).backward()
    except RuntimeError:
        return True
    return False


def _part(t):
    for _ in range(4):
        t = t.sin()
    return t


def _saved_in_parts(run):
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(1) or t, lambda t: t):
        run(_part, torch.tensor([0.1, 0.5], requires_grad=True))
    return len(kept)


def _parts_checked(run):
    x = torch.tensor([0.1, 0.5], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda x: run(_part, x), (x,), raise_exception=False)


def _two_parts(part, x):
    halfway = checkpoint(part, x, use_reentrant=False)
    return checkpoint(part, halfway, use_reentrant=False)


LESSON_5 = (
    Exercise(
        "count-what-is-saved",
        "How many tensors do (x.sin() + x).exp() keep for backward?",
        2,
        misconceptions=(
            Misconception(
                "every operation keeps its inputs",
                "an operation keeps what its formula for backward reads, and no more. Which of the three have a slope "
                "that does not depend on numbers?",
                4,
            ),
            Misconception(
                "every operation keeps one tensor",
                "write the slope of each operation beside it. One of them is the same whatever the numbers are.",
                3,
            ),
            Misconception(
                "only the last operation keeps something",
                "sin stands before it: what is its slope, and which number does that need?",
                1,
            ),
        ),
    ),
    Exercise(
        "train-without-retaining",
        "Repair a training loop that fails at its second backward.",
        _train,
        {
            "the trained weight": lambda train: [_trained(train, steps)[0] for steps in (3, 5)],
            "the returned loss": lambda train: [_trained(train, steps)[1] for steps in (3, 5)],
            "that nothing stays saved": _graph_freed,
        },
        (
            Misconception(
                "retain_graph everywhere",
                "the error is gone, and the weight is wrong: the graph is that of the first step, so each backward "
                "walks over the numbers of the first step. A step needs the loss of the weights as they are now.",
                _train_retaining,
            ),
            Misconception(
                "retain_graph where nothing is walked twice",
                "the weight is right, but what was saved is never freed. Each step has a graph of its own, and walks "
                "over it once.",
                _train_retaining_each,
            ),
            Misconception(
                "backward twice over one graph",
                "the second walk finds what was saved already freed. Where in the loop is the graph made?",
                _train_once,
            ),
            Misconception(
                "gradients overwrite instead of add",
                "the gradients of earlier steps are still in w.grad, and backward adds to them.",
                _train_adding,
            ),
        ),
        points=2,
    ),
    Exercise(
        "checkpoint-two-parts",
        "Run part(part(x)) so that only the inputs of the two parts are kept.",
        _two_parts,
        {
            "the value": lambda run: run(_part, torch.tensor([0.1, 0.5])),
            "the number of saved tensors": _saved_in_parts,
            "gradcheck": _parts_checked,
        },
        (
            Misconception("nothing is checkpointed", "every sin keeps its input here.", lambda part, x: part(part(x))),
            Misconception(
                "one checkpoint around both",
                "only one tensor is kept, but then backward must compute everything again at once, and holds it all "
                "at the same time. Two parts are asked for.",
                lambda part, x: checkpoint(lambda t: part(part(t)), x, use_reentrant=False),
            ),
            Misconception(
                "detach in place of a checkpoint",
                "nothing is kept, and nothing comes back either: detach and no_grad cut the way back. A checkpoint "
                "keeps the input and computes the part again.",
                lambda part, x: part(part(x.detach())),
            ),
            Misconception(
                "only one part is checkpointed",
                "the other part still keeps a tensor for every operation.",
                lambda part, x: part(checkpoint(part, x, use_reentrant=False)),
            ),
            Misconception(
                "one part is missing",
                "the part runs once in your program, and should run twice.",
                lambda part, x: checkpoint(part, x, use_reentrant=False),
            ),
        ),
        points=2,
    ),
)


# Lesson 6, writing over history


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


def _letter(answer):
    if not isinstance(answer, str):
        raise Unusable("a letter in quotes is asked for")
    return answer.strip().lower()


LESSON_6 = (
    Exercise(
        "read-the-error",
        "What does the sentence about a SigmoidBackward's saved tensor say? One letter.",
        "c",
        {"the letter": _letter},
        (
            Misconception(
                "the operation that is named has written",
                "the sentence names the operation that made the tensor, and whose backward needs it. Who wrote into "
                "it is not said.",
                "a",
            ),
            Misconception(
                "backward ran twice",
                "that is another error, about freed tensors. This one counts writes: look at the two versions.",
                "b",
            ),
            Misconception(
                "versions are steps of training",
                "a version counts the writes into one tensor, and begins at 0 with each new one.",
                "d",
            ),
        ),
    ),
    Exercise(
        "version-of-a-view",
        "[base._version, row._version] after row = base[1]; row.add_(1); base.mul_(2).",
        [2, 2],
        misconceptions=(
            Misconception(
                "writing through a view",
                "you counted for each name the writes by that name. Both names are one memory, and have one counter.",
                [1, 1],
            ),
            Misconception(
                "the base does not notice a view",
                "a write through the view is a write into the base.",
                [1, 2],
            ),
            Misconception(
                "a view has a counter of its own",
                "the view has no memory of its own that could be counted.",
                [2, 1],
            ),
            Misconception(
                "a view is a copy",
                "nothing is copied by base[1]; a write through either name is seen by both.",
                [0, 1],
            ),
        ),
    ),
    Exercise(
        "repair-the-write",
        "Repair a function that writes over what exp has saved.",
        lambda x: (x.exp() + 1) * x,
        {
            "the value": results([[0.5, -1.0]]),
            "the gradient": gradients([[0.5, -1.0]]),
            "gradcheck": checked([[0.5, -1.0]]),
        },
        (
            Misconception(
                "a write that the engine does not see",
                "there is no error any more, and the gradient is wrong: .data writes without counting, so exp walks "
                "back with numbers that are not its own.",
                _through_data,
            ),
            Misconception(
                "it still writes",
                "exp keeps its result, and a line of yours writes into that very tensor. (no_grad would keep the write "
                "out of the graph, not out of the memory.) Which line could make a new tensor?",
                _as_it_was,
            ),
            Misconception(
                "detach as a cure",
                "the error is gone because the way back is gone: no gradient passes a detach, or what was computed "
                "under no_grad.",
                _detached,
            ),
            Misconception(
                "another function",
                "there is no error any more, but the value is another one: what does each line do to y?",
                _one_left_out,
            ),
        ),
        points=2,
    ),
    Exercise(
        "update-a-weight",
        "Change a leaf by a step against its gradient, so that the caller's tensor changes.",
        _step,
        {"the weight after the step": _moved, "that it stays a leaf": _still_a_leaf},
        (
            Misconception(
                "detach against no_grad",
                "detach gives another tensor, and w = ... gives the name w to it: the caller's weight has not moved. "
                "no_grad leaves the tensor as it is, and keeps what you do to it out of the graph.",
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
                "a leaf refuses that. A training step is not a part of the model: do it outside of history.",
                _step_recorded,
            ),
            Misconception("the step goes uphill", "the gradient points to where the loss grows.", _step_uphill),
        ),
        points=2,
    ),
)
