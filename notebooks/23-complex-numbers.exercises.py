"""The exercises of lesson 23, complex numbers, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise
from workbench.classroom.probes import checked, gradients

exercise(
    "slope-of-a-square",
    "The gradient of abs(z)**2 at z = 3 + 4j, as a complex number.",
    solution=6 + 8j,
    misconceptions=[
        Misconception(
            "half of the gradient",
            "some books define a derivative that's half of it. Here, the real part is the slope along 1: how fast does "
            "a * a grow?",
            3 + 4j,
        ),
        Misconception(
            "the slope along i with the wrong sign",
            "if b grows a little, does a * a + b * b grow or shrink?",
            6 - 8j,
        ),
        Misconception("one direction only", "that's the slope along 1. You can nudge z along i as well.", 6),
        Misconception(
            "the size of the gradient",
            "that's how fast the loss grows in the best direction. z.grad also has the direction, in its two parts.",
            10,
        ),
        Misconception("the value instead of the slope", "that's the loss itself.", 25),
    ],
)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b.conj(), grad_output * a.conj()


def _with(backward):
    """The product with another backward, which gets grad_output, a and b."""

    class Product(_Product):
        @staticmethod
        def backward(ctx, grad_output):
            return backward(grad_output, *ctx.saved_tensors)

    return Product


_COMPLEX = ([1 + 2j, -1j], [3 - 1j, 0.5 + 1j])


exercise(
    "complex-product",
    "A Function that multiplies two complex tensors, with its backward.",
    solution=_Product,
    probes={"the gradients": gradients(_COMPLEX), "gradcheck": checked(_COMPLEX)},
    misconceptions=[
        Misconception(
            "no conjugate",
            "with real numbers you'd be right. A push turns by the angle of the other factor, so which way must the "
            "walk back turn?",
            _with(lambda grad, a, b: (grad * b, grad * a)),
        ),
        Misconception(
            "the conjugate of everything",
            "only the factor gets a conjugate. The gradient that arrives is used as it is.",
            _with(lambda grad, a, b: ((grad * b).conj(), (grad * a).conj())),
        ),
        Misconception(
            "the conjugate of the gradient",
            "you turned the gradient that arrives. What has to turn back is the other factor.",
            _with(lambda grad, a, b: (grad.conj() * b, grad.conj() * a)),
        ),
        Misconception(
            "each factor with itself",
            "nudge a by a little: the product moves by that much times which number?",
            _with(lambda grad, a, b: (grad * a.conj(), grad * b.conj())),
        ),
        Misconception(
            "the local slope without the chain",
            "a later step of the program may multiply the product by another number. Where does your backward use "
            "grad_output?",
            _with(lambda grad, a, b: (b.conj(), a.conj())),
        ),
        Misconception(
            "the real part only",
            "you dropped the slopes along i: both factors are complex, and so are their gradients.",
            _with(lambda grad, a, b: ((grad * b.conj()).real, (grad * a.conj()).real)),
        ),
    ],
    points=2,
)


def step_down(loss_of, z, rate):
    (slope,) = torch.autograd.grad(loss_of(z), z)
    return (z - rate * slope).detach()


def _distance(z):
    return (z - (3 + 1j)).abs() ** 2


def _product(z):
    return ((0.5 + 1j) * z + 0.5).abs() ** 2


def _stepped(answer):
    found = []
    for loss_of, start, rate in ((_distance, 1 + 2j, 0.25), (_product, 1 - 1j, 0.1)):
        z = torch.tensor(start, dtype=torch.complex128, requires_grad=True)
        new = answer(loss_of, z, rate)
        if z.item() != start:
            raise Unusable("your code changed z in place: return the new number instead")
        found.append(new)
    return found


def _has_history(answer):
    z = torch.tensor(1 + 2j, dtype=torch.complex128, requires_grad=True)
    return "a history" if getattr(answer(_distance, z, 0.25), "requires_grad", False) else "no history"


exercise(
    "complex-step",
    "A training step of a complex parameter: z minus the rate times its gradient.",
    solution=step_down,
    probes={"the new z": _stepped, "the history": _has_history},
    misconceptions=[
        Misconception(
            "a step up",
            "z.grad points to where the loss grows. Which way do you want to go?",
            lambda loss_of, z, rate: (z + rate * torch.autograd.grad(loss_of(z), z)[0]).detach(),
        ),
        Misconception(
            "the conjugate of the gradient",
            "the gradient is the steepest direction already. With its conjugate, z moves the wrong way along i.",
            lambda loss_of, z, rate: (z - rate * torch.autograd.grad(loss_of(z), z)[0].conj()).detach(),
        ),
        Misconception(
            "the real part only",
            "your z moves along 1 only. The gradient has a slope along i, too.",
            lambda loss_of, z, rate: (z - rate * torch.autograd.grad(loss_of(z), z)[0].real).detach(),
        ),
        Misconception(
            "the size of the gradient",
            "abs() takes the direction away: which way should z move?",
            lambda loss_of, z, rate: (z - rate * torch.autograd.grad(loss_of(z), z)[0].abs()).detach(),
        ),
        Misconception(
            "the rate is forgotten",
            "the direction is right. How long is the step?",
            lambda loss_of, z, rate: (z - torch.autograd.grad(loss_of(z), z)[0]).detach(),
        ),
        Misconception(
            "the gradient instead of the step",
            "that's the gradient. Where is z after the step?",
            lambda loss_of, z, rate: torch.autograd.grad(loss_of(z), z)[0],
        ),
    ],
    points=2,
)
