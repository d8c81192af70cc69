"""One contestant in a process of its own: reads a work's name a line, measures it, answers with a line of JSON.

`python contestant.py workbench|torch|autograd|mygrad|hand`. A contestant is its module behind the few names that the
works use; what a module cannot do, it says in a sentence.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import transforming  # noqa: F401  (puts its works into the registry)
from rivals import HIPS, Missing, MyGrad, Pull
from watching import peak_by_hand
from works import WORKS, Work


class Torch:
    """PyTorch, and whatever has its names."""

    title, package = "torch", "torch"

    @cached_property
    def module(self) -> Any:
        """The module itself, in float64 and on one thread."""
        import torch

        torch.set_num_threads(1)
        return torch

    def __getattr__(self, name: str) -> Any:  # sin, tanh, exp ... are the module's own
        return getattr(self.module, name)

    def leaf(self, values: Any) -> Any:
        """A tensor that takes a gradient."""
        return self.constant(values).requires_grad_()

    def constant(self, values: Any) -> Any:
        """A tensor that takes none."""
        return self.module.tensor(values, dtype=self.module.float64)

    def numbers(self, *tensors: Any) -> list[np.ndarray]:
        """The arrays of tensors."""
        return [t.detach().numpy() for t in tensors]

    def run(self, function: Callable[..., Any], *leaves: Any) -> tuple[Any, Pull]:
        """The output, and what takes its gradient back to the leaves."""
        y = function(*leaves)

        def pull(seed: Any) -> list[Any]:
            y.backward(seed)
            return [leaf.grad for leaf in leaves]

        return y, pull

    @property
    def func(self) -> Any:
        """The function transforms."""
        return self.module.func

    @property
    def library(self) -> Any:
        """The module itself, for works that are written in PyTorch's names."""
        return self.module

    def grad_of_grad(self, function: Callable[..., Any], x: Any, seed: Any) -> tuple[Any, Any]:
        """The gradient, and the gradient of that."""
        grad = self.module.autograd.grad
        (first,) = grad(function(x), x, seed, create_graph=True)
        return first, grad(first, x, seed)[0]

    def descend(self, parameters: list[Any], grads: list[Any], rate: float) -> list[Any]:
        """One step down, in place."""
        with self.module.no_grad():
            for p, g in zip(parameters, grads, strict=True):
                p -= rate * g
                p.grad = None
        return parameters

    def custom(self, kind: str) -> Callable[[Any], Any]:
        """A Function of the user's."""
        Function = self.module.autograd.Function

        class Scale(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * 0.9

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                (x,) = ctx.saved_tensors
                return grad * 0.9

        class ScaleInTwoSteps(Scale):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 0.9

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                (x,) = inputs
                ctx.save_for_backward(x)

        return {"forward(ctx, x)": Scale, "setup_context": ScaleInTwoSteps}[kind].apply


class Workbench(Torch):
    """The workbench."""

    title, package = "workbench", "workbench"

    @cached_property
    def module(self) -> Any:
        """The module itself."""
        import workbench

        return workbench

    @property
    def listeners(self) -> list[Any]:
        """Who listens to the engine."""
        from workbench.events import listeners

        return listeners

    def recorder(self) -> Any:
        """What `record()` listens with."""
        from workbench.pictures.trace.recorder import Recorder

        return Recorder()


class Hand:
    """Plain NumPy, by hand: only where a bound is set against it."""

    title, package = "by hand", "numpy"


CONTESTANTS: dict[str, Any] = {"workbench": Workbench, "torch": Torch, "autograd": HIPS, "mygrad": MyGrad, "hand": Hand}


def installed(name: str) -> bool:
    """Whether a contestant's module is there."""
    return importlib.util.find_spec(CONTESTANTS[name].package) is not None


def clock() -> Iterator[float]:
    """Nanoseconds of the processor: others may be busy."""
    before = time.process_time_ns()
    yield 0
    yield time.process_time_ns() - before


def _status(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.partition(f"{field}:")[2].split()[0])


def resident() -> Iterator[float]:
    """Bytes by which the process has grown."""
    before = _status("VmRSS")
    yield 0
    yield _status("VmRSS") - before


def peak() -> Iterator[float]:
    """Bytes by which it had grown when it was largest."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest so far
    before = _status("VmRSS")
    yield 0
    yield _status("VmHWM") - before


METERS = {"clock": clock, "resident": resident, "peak": peak}


def measure(work: Work, m: Any, size: tuple[Any, ...]) -> tuple[list[float], list[np.ndarray]]:
    """Each part as its meter says, garbage collected before; and the numbers the work came to."""
    steps = (peak_by_hand if isinstance(m, Hand) else work.steps)(m, *size)
    next(steps)
    parts: list[float] = []
    while True:
        gc.collect()
        meter = METERS[work.meter]()
        next(meter)
        try:
            next(steps)
        except StopIteration as end:
            return parts, end.value
        parts.append(next(meter))


def main() -> None:
    """Answer until there is no more question."""
    m = CONTESTANTS[sys.argv[1]]()
    for line in sys.stdin:
        name, in_earnest = json.loads(line)
        work = WORKS[name]
        try:
            parts, numbers = measure(work, m, work.sizes[0 if in_earnest else 1])
            answer = {"parts": parts, "numbers": numbers[-1].tolist() if work.against == "ns" else None}
        except Missing as reason:
            answer = {"missing": str(reason)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
