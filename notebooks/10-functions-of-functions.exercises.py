"""The exercises of lesson 10, functions of functions, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, exercise
from workbench.func import grad, hessian, jacrev, jvp, vmap

exercise(
    "shape-of-hessians",
    "The shape of vmap(hessian(f))(batch): five samples of four numbers each, f returns one number.",
    solution=[5, 4, 4],
    misconceptions=[
        Misconception(
            "a gradient instead of a Hessian",
            "that would be vmap(grad(f)): one row for each sample. A Hessian is the Jacobian of that row.",
            [5, 4],
        ),
        Misconception("one Hessian for all", "vmap keeps the samples separate: each has its own table.", [4, 4]),
        Misconception(
            "samples that know of each other",
            "that's the Hessian of a function of the whole batch. Inside vmap, f sees one sample.",
            [5, 4, 5, 4],
        ),
        Misconception("one table for the batch", "vmap doesn't join samples into one long vector.", [20, 20]),
    ],
)


_BATCH = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, -2.0]]


def _sample_loss(w, sample):
    return ((w * sample).sum() - 1) ** 2


def _numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def _each(answer):
    return answer(_sample_loss, _numbers([0.1, 0.2, 0.3]), _numbers(_BATCH))


def _calls_of_loss(answer):
    """Whether the loss is called, and whether less often than there are samples."""
    calls = []
    answer(lambda w, sample: calls.append(1) or _sample_loss(w, sample), _numbers([0.1, 0.2, 0.3]), _numbers(_BATCH))
    return [bool(calls), len(calls) < len(_BATCH)]


def _each_checked(answer):
    w = _numbers([0.1, 0.2, 0.3]).requires_grad_()
    return torch.autograd.gradcheck(lambda w: answer(_sample_loss, w, _numbers(_BATCH)), (w,), raise_exception=False)


exercise(
    "per-sample-gradients",
    "The gradient of loss(w, sample) with respect to w, for each sample of a batch, without a loop.",
    solution=lambda loss, w, batch: vmap(grad(loss), in_dims=(None, 0))(w, batch),
    probes={"the gradients": _each, "the calls of loss": _calls_of_loss, "gradcheck": _each_checked},
    hints={
        "the calls of loss": "The gradients should come from loss itself, so that your answer works for any loss.",
    },
    misconceptions=[
        Misconception(
            "the average of the gradients",
            "you got one gradient for the whole batch, the average. It no longer shows what each sample contributed. "
            "Where do you combine the samples?",
            lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).mean())(w),
        ),
        Misconception(
            "a loop",
            "the gradients are right, but your program runs once for each sample. One call can do the work for the "
            "whole batch: look at section 4.",
            lambda loss, w, batch: torch.stack([grad(loss)(w, sample) for sample in batch]),
            (lambda loss, w, batch: [grad(loss)(w, sample) for sample in batch],),
        ),
        Misconception(
            "the sum of the gradients",
            "you got one gradient for the whole batch: the sum over its samples.",
            lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).sum())(w),
        ),
        Misconception(
            "the weights are mapped over, too",
            "each sample was paired with one number of w. The weights are the same for all samples: say so in in_dims.",
            lambda loss, w, batch: vmap(grad(loss))(w, batch),
        ),
        Misconception(
            "the gradient of the sample",
            "grad differentiates with respect to the first argument unless you choose another; you chose the second.",
            lambda loss, w, batch: vmap(grad(loss, argnums=1), in_dims=(None, 0))(w, batch),
        ),
        Misconception(
            "grad of a vector",
            "grad wants one number at the end, and the batch gives several.",
            lambda loss, w, batch: grad(vmap(loss, in_dims=(None, 0)))(w, batch),
        ),
        Misconception(
            "losses instead of gradients",
            "those are the losses, one for each sample.",
            lambda loss, w, batch: vmap(loss, in_dims=(None, 0))(w, batch),
        ),
        Misconception(
            "the whole batch as one sample",
            "loss was written for one sample, and you gave it the whole batch. It took all the numbers as one "
            "sample, so you got one gradient.",
            lambda loss, w, batch: grad(loss)(w, batch),
        ),
    ],
    points=2,
)


_X, _V = [0.5, -1.0, 2.0], [1.0, 2.0, -0.5]


def _bowl(x):
    return x[0] ** 2 * x[1] + x[1] * x[2].sin()


def _product(answer):
    return answer(_bowl, _numbers(_X), _numbers(_V))


def _product_checked(answer):
    x = _numbers(_X).requires_grad_()
    return torch.autograd.gradcheck(lambda x: answer(_bowl, x, _numbers(_V)), (x,), raise_exception=False)


exercise(
    "hessian-times-vector",
    "The Hessian of f at x times v, by about as much work as two gradients.",
    solution=lambda f, x, v: jvp(grad(f), (x,), (v,))[1],
    probes={"the product": _product, "gradcheck": _product_checked},
    misconceptions=[
        Misconception(
            "a push through f",
            "you pushed v through f, so you got one number: the slope of f along v. Push v through the gradient "
            "instead.",
            lambda f, x, v: jvp(f, (x,), (v,))[1],
        ),
        Misconception(
            "the gradient, which does not know v",
            "jvp returns two things: the value, and how it moves. You took the value.",
            lambda f, x, v: jvp(grad(f), (x,), (v,))[0],
        ),
        Misconception(
            "element by element",
            "* multiplies element by element; a product of a table and a vector adds along each row.",
            lambda f, x, v: hessian(f)(x) * v,
        ),
        Misconception(
            "the gradient times v",
            "the first derivative isn't the second: differentiate the gradient once more.",
            lambda f, x, v: grad(f)(x) * v,
        ),
        Misconception(
            "the whole Hessian",
            "the table is there, but your answer doesn't use v yet.",
            lambda f, x, v: jacrev(grad(f))(x),
        ),
        Misconception(
            "both results of a push",
            "jvp returns two things: the value, and how it moves. You return both.",
            lambda f, x, v: jvp(grad(f), (x,), (v,)),
        ),
        Misconception(
            "a whole step instead of a small one",
            "the gradient at x + v minus the gradient at x is how the gradient changes over a whole step. How fast it "
            "moves at x is another number, if the gradient isn't a straight line.",
            lambda f, x, v: grad(f)(x + v) - grad(f)(x),
        ),
    ],
    points=2,
)
