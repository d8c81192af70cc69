"""Draw the README's picture: `python assets/draw.py`."""

from pathlib import Path

import workbench
import workbench as torch


class Square(torch.autograd.Function):
    """x * x, written as in PyTorch."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
with workbench.record() as trace:
    y = Square.apply(x)
    loss = (y * w).sum()
    loss.backward()

picture = trace.show()
steps = picture.storyboard.steps
square = next(k for k, step in enumerate(steps) if "(SquareBackward) receives" in step.caption)
Path(__file__).with_name("square.svg").write_text(picture.to_svg(square), encoding="utf-8")
