"""Exercises of a lesson: answers are checked without giving them away, and a well-known wrong one gets its hint.

To write a lesson with an exercise takes two files that lie beside each other. `cube.exercises.py` registers what the
exercises of `cube.ipynb` ask, and what is right and wrong:

    import workbench as torch
    from workbench.classroom import Misconception, checked, exercise, gradients, results


    class Cube(torch.autograd.Function):                    # the right answer
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad_output


    class GradOutputForgotten(Cube):                        # a wrong one: it shows a misconception
        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x**2


    exercise(
        "backward-of-a-cube",                               # words with hyphens between them
        "Write the backward of x**3.",
        solution=Cube,
        probes={"the value": results([2.0]), "the gradient": gradients([[2.0, -1.0]]), "gradcheck": checked([1.2])},
        misconceptions=[
            Misconception("grad_output is forgotten", "what arrives takes no part in yours.", GradOutputForgotten),
        ],
        points=2,
    )

    exercise(
        "slope-of-a-cube",
        "The slope of x**3 at x = 2.",
        solution=12,
        misconceptions=[Misconception("the value in place of the slope", "that is how high the curve is.", 8)],
    )

In the notebook an exercise is one cell. It begins with its name, and `check` ends it:

    # exercise: backward-of-a-cube
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            ### BEGIN SOLUTION
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad_output
            ### END SOLUTION


    check("backward-of-a-cube", Cube)

and another one:

    # exercise: slope-of-a-cube
    slope = None  # a number
    ### BEGIN SOLUTION
    slope = 12
    ### END SOLUTION
    check("slope-of-a-cube", slope)

That is all: `from workbench.classroom import check` in the first cell finds the file beside the notebook, and reads it
again when you change it. `workbench release cube.ipynb --student DIR` writes the copy without solutions; so do
`--nbgrader` and `--otter`, with the points. Each writes the file of the exercises beside it, *sealed*.

**Sealed.** Your file holds the solutions: keep it to yourself. A sealed one judges the same answers in the same words,
but solutions and wrong answers are not in it. In their place it has what the probes found in them, as compressed text,
and `find("slope-of-a-cube").solution` raises an error. Who wants to can decode that text. Where an exercise asks for a
value, the text holds that value; where it asks for code, it tells what the code gives, and not the code. So `release`
runs each probe on each solution and each wrong answer, and says in a sentence what it cannot seal: a probe that finds
another thing each time it runs (seed it: `torch.manual_seed(0)`), or one that uses the solution itself. Functions that
a probe needs stand apart from the solution, and remain readable. Nothing else of the file does, comments included.

**Probes.** A probe takes an answer, runs it and returns what came of it: numbers, words, tensors, lists and dicts of
these. An answer is right, and gets the points, if all probes find what they find in the solution; a part that is right
earns nothing. An answer in which all probes find what they find in a misconception gets its hint. So probe for what
tells answers apart: gradients with different weights, inputs of different signs, what backward itself returns. Each of
these takes cases, and a case is a list of arguments, in which numbers with a point and lists become tensors:
`results` (what comes out), `gradients` (of each argument), `checked` (gradcheck), `checked_twice` (gradgradcheck),
`returned` (None or a gradient, for each argument), and `slopes_of(f, ...)` (whether the answer is the backward of f),
`backward_of(f, ...)` (what a backward returns, in tables that mark wrong cells; with the solution `by_engine(f)` nobody
has to write one).
Any function of yours is a probe, too; `tensor` and `words` refuse an answer of another kind with a sentence, and so
does `raise Unusable("your code ...")`. Without probes an exercise asks for a value, which is compared.

**Misconceptions.** A name, a hint that says why it is wrong and never what is right, and a wrong answer that shows it;
more such answers may follow in a tuple.

**Cells.** The markers enclose whole bodies, or lines that give a name a value that it already has, so that the cell
runs without them: an answer that is None or ..., or a function with an empty body, is "not answered yet" (where None
itself is right, begin with `answer = ...`). A name that is checked belongs to one exercise alone: after a cell that
fails the answer of another one would be taken for its own.
"""

from .checks import check, grade, progress
from .judging import (
    Misconception,
    Unusable,
    backward_of,
    by_engine,
    checked,
    checked_twice,
    gradients,
    marked,
    on_ctx,
    results,
    returned,
    slopes_of,
    tensor,
    words,
)
from .registry import exercise

__all__ = [
    "Misconception",
    "Unusable",
    "backward_of",
    "by_engine",
    "check",
    "checked",
    "checked_twice",
    "exercise",
    "grade",
    "gradients",
    "marked",
    "on_ctx",
    "progress",
    "results",
    "returned",
    "slopes_of",
    "tensor",
    "words",
]
