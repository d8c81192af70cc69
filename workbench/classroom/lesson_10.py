"""The exercises of lesson 10, functions of functions."""

from __future__ import annotations

import workbench as torch
from workbench.func import grad, hessian, jacrev, jvp, vmap

from .exercise import Exercise, Misconception

_BATCH = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, -2.0]]
_X, _V = [0.5, -1.0, 2.0], [1.0, 2.0, -0.5]


def _loss(w, sample):
    return ((w * sample).sum() - 1) ** 2


def _bowl(x):
    return x[0] ** 2 * x[1] + x[1] * x[2].sin()


def _numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def _each(answer):
    return answer(_loss, _numbers([0.1, 0.2, 0.3]), _numbers(_BATCH))


def _each_checked(answer):
    w = _numbers([0.1, 0.2, 0.3]).requires_grad_()
    return torch.autograd.gradcheck(lambda w: answer(_loss, w, _numbers(_BATCH)), (w,), raise_exception=False)


def _product(answer):
    return answer(_bowl, _numbers(_X), _numbers(_V))


def _product_checked(answer):
    x = _numbers(_X).requires_grad_()
    return torch.autograd.gradcheck(lambda x: answer(_bowl, x, _numbers(_V)), (x,), raise_exception=False)


EXERCISES = (
    Exercise(
        "shape-of-hessians",
        "The shape of vmap(hessian(f))(batch): five samples of four numbers each, f returns one number.",
        [5, 4, 4],
        misconceptions=(
            Misconception(
                "a gradient in place of a Hessian",
                "that would be vmap(grad(f)): one row for each sample. A Hessian is the Jacobian of that row.",
                [5, 4],
            ),
            Misconception("one Hessian for all", "vmap keeps the samples apart: each has a table of its own.", [4, 4]),
            Misconception(
                "samples that know of each other",
                "that is the Hessian of a function of the whole batch. Inside vmap, f sees one sample.",
                [5, 4, 5, 4],
            ),
            Misconception("one table for the batch", "vmap does not join samples into one long vector.", [20, 20]),
        ),
    ),
    Exercise(
        "per-sample-gradients",
        "The gradient of loss(w, sample) with respect to w, for each sample of a batch, without a loop.",
        lambda loss, w, batch: vmap(grad(loss), in_dims=(None, 0))(w, batch),
        {"the gradients": _each, "gradcheck": _each_checked},
        (
            Misconception(
                "the average of the gradients",
                "one gradient came out for the whole batch: which sample pulled where is lost. Map over samples "
                "outside of grad, not inside.",
                lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).mean())(w),
            ),
            Misconception(
                "the sum of the gradients",
                "one gradient came out for the whole batch, and the samples added up in it.",
                lambda loss, w, batch: grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).sum())(w),
            ),
            Misconception(
                "the weights are mapped over, too",
                "each sample was paired with one number of w. The weights are the same for all samples: say so in "
                "in_dims.",
                lambda loss, w, batch: vmap(grad(loss))(w, batch),
            ),
            Misconception(
                "the gradient of the sample",
                "grad differentiates with respect to the first argument unless it is told otherwise; you asked for "
                "the second.",
                lambda loss, w, batch: vmap(grad(loss, argnums=1), in_dims=(None, 0))(w, batch),
            ),
            Misconception(
                "grad of a vector",
                "grad wants one number at the end, and the batch gives several.",
                lambda loss, w, batch: grad(vmap(loss, in_dims=(None, 0)))(w, batch),
            ),
            Misconception(
                "losses in place of gradients",
                "those are the losses, one for each sample.",
                lambda loss, w, batch: vmap(loss, in_dims=(None, 0))(w, batch),
            ),
        ),
        points=2,
    ),
    Exercise(
        "hessian-times-vector",
        "The Hessian of f at x times v, by about as much work as two gradients.",
        lambda f, x, v: jvp(grad(f), (x,), (v,))[1],
        {"the product": _product, "gradcheck": _product_checked},
        (
            Misconception(
                "a push through f",
                "you pushed v through f: that is the slope of f along v, one number. Push it through the gradient.",
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
                "the first derivative is not the second: differentiate the gradient once more.",
                lambda f, x, v: grad(f)(x) * v,
            ),
            Misconception(
                "the whole Hessian", "the table is there; v has no part in it yet.", lambda f, x, v: jacrev(grad(f))(x)
            ),
        ),
        points=2,
    ),
)
