"""The exercises of lesson 5, what backward remembers, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, exercise, tensor
from workbench.utils.checkpoint import checkpoint

exercise(
    "count-what-is-saved",
    "How many tensors do (x.sin() + x).exp() save for backward?",
    solution=2,
    misconceptions=[
        Misconception(
            "every operation keeps its inputs",
            "an operation saves what its formula for backward reads, and no more. Which of the three have a slope "
            "that doesn't depend on numbers?",
            4,
        ),
        Misconception(
            "every operation keeps one tensor",
            "write the slope of each operation next to it. One of the slopes is the same for all numbers.",
            3,
        ),
        Misconception(
            "only the last operation keeps something",
            "there's a sin before it: what is its slope, and which number does that need?",
            1,
        ),
    ],
)


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


exercise(
    "train-without-retaining",
    "Repair a training loop that fails at its second backward.",
    solution=_train,
    probes={
        "the trained weight": lambda train: [_trained(train, steps)[0] for steps in (3, 5)],
        "the returned loss": lambda train: [_trained(train, steps)[1] for steps in (3, 5)],
        "that nothing stays saved": _graph_freed,
    },
    misconceptions=[
        Misconception(
            "retain_graph everywhere",
            "the error is gone, but the weight is wrong: every backward goes through the graph of the first step, "
            "and uses its numbers. Each step needs the loss of the present weights.",
            _train_retaining,
        ),
        Misconception(
            "retain_graph where nothing is walked twice",
            "the weight is right, but the saved tensors are never freed. Each step has its own graph and needs only "
            "one backward pass over it.",
            _train_retaining_each,
        ),
        Misconception(
            "backward twice over one graph",
            "when the second backward runs, the saved tensors are gone already. Where in the loop is the graph made?",
            _train_once,
        ),
        Misconception(
            "gradients overwrite instead of add",
            "the gradients of earlier steps are still in w.grad, and backward adds to them.",
            _train_adding,
        ),
    ],
    points=2,
)


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


exercise(
    "checkpoint-two-parts",
    "Run part(part(x)) so that only the inputs of the two parts are saved.",
    solution=_two_parts,
    probes={
        "the value": lambda run: run(_part, torch.tensor([0.1, 0.5])),
        "the number of saved tensors": _saved_in_parts,
        "gradcheck": _parts_checked,
    },
    misconceptions=[
        Misconception("nothing is checkpointed", "every sin saves its input here.", lambda part, x: part(part(x))),
        Misconception(
            "one checkpoint around both",
            "only one tensor is saved, but then backward must compute everything again at once, and holds all of it at "
            "the same time. Use two parts.",
            lambda part, x: checkpoint(lambda t: part(part(t)), x, use_reentrant=False),
        ),
        Misconception(
            "detach instead of a checkpoint",
            "nothing is saved, but no gradient comes back: detach and no_grad stop it. A checkpoint "
            "saves the input and computes the part again.",
            lambda part, x: part(part(x.detach())),
        ),
        Misconception(
            "only one part is checkpointed",
            "the other part still saves a tensor for every operation.",
            lambda part, x: part(checkpoint(part, x, use_reentrant=False)),
        ),
        Misconception(
            "one part is missing",
            "the part runs once in your program, and should run twice.",
            lambda part, x: checkpoint(part, x, use_reentrant=False),
        ),
    ],
    points=2,
)
