"""Exercises in notebooks: `check` says what is wrong with an answer, without giving the right one away.

A lesson with exercises is two files next to each other. `cube.exercises.py` registers the exercises of `cube.ipynb`:
the questions, the right answers and the wrong ones:

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
        misconceptions=[Misconception("the value instead of the slope", "that is how high the curve is.", 8)],
    )

In the notebook, an exercise is one cell. It starts with its name and ends with `check`:

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

The second exercise asks for a number:

    # exercise: slope-of-a-cube
    slope = None  # a number
    ### BEGIN SOLUTION
    slope = 12
    ### END SOLUTION
    check("slope-of-a-cube", slope)

That's all. `from workbench.classroom import check` in the first cell finds the file next to the notebook, and reads it
again when you change it. `workbench release cube.ipynb --student DIR` writes the version without solutions;
`--nbgrader` and `--otter` write assignments with points. Each also writes the exercise file, *sealed*.

**Sealed.** Your exercise file contains the solutions: keep it to yourself. A sealed file judges the same answers with
the same messages, but contains neither solutions nor wrong answers. Instead it has the results of the probes for them,
as compressed text, and `find("slope-of-a-cube").solution` raises an error. Anyone can decode that text. If an exercise
asks for a value, the text contains the value; if it asks for code, the text contains the code's results, and not the
code. So `release` runs each probe on each solution and each wrong answer. It reports what it can't seal: a probe with
different results each time (seed it: `torch.manual_seed(0)`), or one that uses the solution itself. Functions that a
probe needs must be separate from the solution, and remain readable. Nothing else in the file remains readable, not even
comments.

**Probes.** A probe takes an answer, runs it and returns the result: numbers, words, tensors, lists and dicts of these.
An answer is right, and gets the points, if all probes return the same as for the solution; a partly right answer earns
nothing. An answer for which all probes return the same as for a misconception gets its hint. So choose probes that
distinguish answers: gradients with different weights, inputs of different signs, the result of backward itself. Each
probe below takes cases. A case is a list of arguments, in which floats and lists become tensors:

- `results`: the results of the answer,
- `gradients`: the gradient of each argument,
- `checked` and `checked_twice`: the outcomes of gradcheck and gradgradcheck,
- `returned`: for each argument, whether backward returns None or a gradient,
- `slopes_of(f, ...)`: whether the answer is the backward of f,
- `backward_of(f, ...)`: the gradients that the answer returns, in tables that mark wrong cells. The solution
  `by_engine(f)` saves you from writing one.

Any function of yours can be a probe, too. `tensor` and `words` reject an answer of another kind with a message, and so
does `raise Unusable("your code ...")`. Without probes an exercise asks for a value, which is compared.

**Hints.** `hints={"the value": "Print ..."}` has a sentence for each probe. A second wrong answer gets the sentence of
what is wrong in it. Without one, it gets the question again. After a third wrong answer, the copies of the lessons that
`workbench lab` made offer the solution, and `solution("backward-of-a-cube")` shows it at any time. What you release has
no solutions. An answer that isn't done after 20 seconds is stopped.

**Misconceptions.** A misconception has a name, a hint that says why it is wrong and never what is right, and a wrong
answer that shows it; a tuple holds several such answers.

**Cells.** The markers enclose whole bodies, or lines that assign a name that already has a value, so that the cell
runs without them. An answer that is None or ..., or a function with an empty body, is "not answered yet"; if None
itself is right, start with `answer = ...`. Each checked name belongs to one exercise only: after a failing cell, the
answer of another exercise would be taken for its own.
"""

from .answer_errors import Unusable
from .cells import marked
from .checks import check, grade, progress
from .course import course
from .judging import Misconception
from .probes import (
    backward_of,
    by_engine,
    checked,
    checked_twice,
    gradients,
    on_ctx,
    results,
    returned,
    slopes_of,
    tensor,
    words,
)
from .registry import exercise
from .slope_picture import show_slope
from .solutions import solution

__all__ = [
    "Misconception",
    "Unusable",
    "backward_of",
    "by_engine",
    "check",
    "checked",
    "checked_twice",
    "course",
    "exercise",
    "grade",
    "gradients",
    "marked",
    "on_ctx",
    "progress",
    "results",
    "returned",
    "show_slope",
    "slopes_of",
    "solution",
    "tensor",
    "words",
]
