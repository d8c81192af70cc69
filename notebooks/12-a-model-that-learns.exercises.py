"""The exercises of lesson 12, a model that learns, with their solutions, as `check` reads them."""

import workbench as torch
from workbench import nn
from workbench.classroom import Misconception, Unusable, checked, exercise, gradients, results


def training(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _never_emptied(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _emptied_too_late(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        loss = loss_of(model)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _no_steps(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        losses.append(loss.item())
    return losses


def _graphs_kept(model, optimizer, loss_of, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses


def _trained(answer, steps=3):
    """A model after some steps, and its losses."""
    model = nn.Linear(2, 1, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5, -1.0]]))
        model.bias.fill_(0.25)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.5]], dtype=torch.float64)

    def loss_of(model):
        return ((model(x) - 1) ** 2).mean()

    optimizer, made = torch.optim.SGD(model.parameters(), lr=0.1), []
    step = optimizer.step
    vars(optimizer)["step"] = lambda *given, **named: made.append(1) or step(*given, **named)
    losses = answer(model, optimizer, loss_of, steps)
    return {"weight": model.weight, "bias": model.bias, "losses": losses, "steps": bool(made)}


def _learned(answer):
    return [[after["weight"], after["bias"]] for after in (_trained(answer), _trained(answer, 5))]


def _makes_steps(answer):
    return _trained(answer)["steps"]


def _losses(answer):
    found = [_trained(answer, steps)["losses"] for steps in (3, 5)]
    if not all(isinstance(losses, list | tuple) for losses in found):
        raise Unusable(f"your code returned {'None' if found[0] is None else 'no list'}")
    return [loss for losses in found for loss in losses]


def _are_numbers(answer):
    """Of each loss whether it is a number, and whether it has a history."""
    return [(isinstance(loss, int | float), getattr(loss, "requires_grad", False)) for loss in _losses(answer)]


exercise(
    "training-loop",
    "A training loop that returns the losses as numbers.",
    solution=training,
    probes={
        "the parameters": _learned,
        "who makes the steps": _makes_steps,
        "the losses": _losses,
        "whether each loss is a number": _are_numbers,
    },
    hints={
        "who makes the steps": "optimizer.step() changes the parameters. Does anything else in your loop?",
        "whether each loss is a number": "Print type(losses[0]). A tensor keeps its graph.",
    },
    misconceptions=[
        Misconception(
            "zero_grad is forgotten in a loop",
            "your steps contain the gradients of all steps before them. Where are they emptied? (A method without "
            "brackets isn't called.)",
            _never_emptied,
        ),
        Misconception(
            "no gradient when the step is made",
            "your parameters don't move. A step needs the gradients of the loss you just computed. Look at the order "
            "of your lines, and at what each line does to .grad.",
            _emptied_too_late,
        ),
        Misconception(
            "no step is made",
            "your parameters don't move: backward brings the gradients, and nothing uses them. (A method without "
            "brackets isn't called.)",
            _no_steps,
        ),
        Misconception(
            "losses that are tensors",
            "your loop is right. But each tensor in your list has a history, which keeps a whole graph in memory.",
            _graphs_kept,
        ),
    ],
)


def clip(grads, max_norm):
    norm = sum((grad**2).sum() for grad in grads).sqrt()
    return [grad * (max_norm / norm) if norm > max_norm else grad for grad in grads]


def _as_they_are(grads, max_norm):
    return grads


def _each_alone(grads, max_norm):
    return [grad * (max_norm / grad.norm()) if grad.norm() > max_norm else grad for grad in grads]


def _each_element(grads, max_norm):
    return [grad.clamp(-max_norm, max_norm) for grad in grads]


def _always(grads, max_norm):
    norm = sum((grad**2).sum() for grad in grads).sqrt()
    return [grad * (max_norm / norm) for grad in grads]


def _without_the_root(grads, max_norm):
    norm = sum((grad**2).sum() for grad in grads)
    return [grad * (max_norm / norm) if norm > max_norm else grad for grad in grads]


def _sum_of_norms(grads, max_norm):
    norm = sum(grad.norm() for grad in grads)
    return [grad * (max_norm / norm) if norm > max_norm else grad for grad in grads]


def _grads(scale):
    return [scale * torch.tensor([3.0, -1.0]), scale * torch.tensor([[0.5], [4.0]]), scale * torch.tensor(-2.0)]


def _clipped(scale, max_norm):
    return lambda answer: list(answer(_grads(scale), max_norm))


exercise(
    "clip-by-norm",
    "Clip a list of gradients by the norm of all of them.",
    solution=clip,
    probes={
        "gradients that are too large": lambda answer: [_clipped(2.0, max_norm)(answer) for max_norm in (1.5, 4.0)],
        "gradients that are small": _clipped(0.1, 1.5),
    },
    misconceptions=[
        Misconception(
            "each tensor is clipped alone",
            "each of your tensors is short enough by itself. Together they're longer than allowed, and their direction "
            "has changed.",
            _each_alone,
        ),
        Misconception(
            "each element is clipped",
            "that limits each number, and so the direction of the step changes. All should shrink by the same factor.",
            _each_element,
        ),
        Misconception(
            "small gradients are made larger",
            "large gradients come out right. But clipping only limits: a gradient that's short enough stays as it is.",
            _always,
        ),
        Misconception(
            "the norm without the root",
            "a sum of squares is the square of a length.",
            _without_the_root,
        ),
        Misconception(
            "nothing is clipped",
            "gradients that are too large come out as they were. (A loop that gives `grad` a new value doesn't change "
            "the list, and clip_grad_norm_ changes the .grad of parameters, not tensors in a list.)",
            _as_they_are,
        ),
        Misconception(
            "norms do not add",
            "the length of all gradients together is less than the sum of their lengths: add something else first.",
            _sum_of_norms,
        ),
    ],
    points=2,
)


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0.1 * grad_output)


class _LeakyDead(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0 * grad_output)


class _LeakyWithoutChain(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, torch.ones_like(x), 0.1 * torch.ones_like(x))


class _SignOfTheGradient(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(grad_output > 0, grad_output, 0.1 * grad_output)


class _ValueForSlope(Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, x, 0.1 * x) * grad_output


def _weighted(answer, weights):
    x = torch.tensor([2.0, -1.0, 0.5, -3.0], requires_grad=True)
    return torch.autograd.grad(answer.apply(x), x, torch.tensor(weights), allow_unused=True)[0]


exercise(
    "leaky-relu",
    "The backward of a ReLU with the slope 0.1 at the left.",
    solution=Leaky,
    probes={
        "the value": results([[2.0, -1.0, 0.5, -3.0]]),
        "the gradient": gradients([[2.0, -1.0, 0.5, -3.0]]),
        "a negative gradient": lambda answer: _weighted(answer, [-1.0, 2.0, 3.0, -4.0]),
        "gradcheck": checked([[0.7, -0.4]]),
    },
    misconceptions=[
        Misconception(
            "a dead ReLU",
            "where x is negative, your backward returns no gradient. The result moves there too, only more slowly.",
            _LeakyDead,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            _LeakyWithoutChain,
        ),
        Misconception(
            "the sign of the gradient",
            "you look at the sign of what arrives. The slope is chosen by the sign of the input.",
            _SignOfTheGradient,
        ),
        Misconception(
            "the value for the slope",
            "you multiply by the height of the curve. How steep is it?",
            _ValueForSlope,
        ),
    ],
    points=2,
)
