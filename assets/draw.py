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
with workbench.record() as trace:
    loss = Square.apply(x).sum()
    loss.backward()

trace.save(Path(__file__).with_name("square.svg"))
