"""What the core alone can do, as a program: it runs in an environment that has a wheel and nothing else.

What it writes goes into the current folder. It prints a picture in words, and at its end one line.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import workbench
import workbench as torch
from workbench.classroom import progress


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


def main() -> None:
    """Compute, record, draw and save."""
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    with workbench.record() as trace:
        Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, -4.0, 6.0]
    picture = trace.show()
    print(picture)
    for suffix in ("svg", "html", "json", "dot", "mmd"):
        picture.save(f"square.{suffix}")
        assert "Square" in Path(f"square.{suffix}").read_text(encoding="utf-8")
    trace.save("trace.json")
    assert len(workbench.load("trace.json").events) == len(trace.events)
    for view in ("flow", "saved", "memory", "versions", "function", "health"):
        assert "<svg" in trace.show(view).to_svg()
    print(trace.findings(), workbench.why(x), progress(), sep="\n")
    print(workbench.step(Square.apply(x).sum()))
    try:
        Square.apply(x).backward()
    except RuntimeError as error:
        error.explain().save("error.html")  # pyright: ignore[reportAttributeAccessIssue]
    in_a_notebook(picture, Square.apply(x).sum())


def in_a_notebook(picture, loss) -> None:
    """What a notebook is given to show."""
    import IPython  # noqa: F401, by which pictures know that there may be one

    for each in (picture, workbench.step(loss), workbench.explore(lambda x: x * x, x=2.0)):
        assert each._repr_mimebundle_()["text/html"]
    assert "workbench.pictures.widgets" in sys.modules


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # which it may not have on Windows, where it is no terminal
    main()
    more = [name for name in ("ipykernel", "jupyterlab", "matplotlib", "nbconvert", "tqdm") if find_spec(name)]
    print(f"all of it ran, and these are here, too: {', '.join(more)}" if more else "the core alone: all of it ran")
