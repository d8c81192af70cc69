"""Threads that use the workbench for the first time all at once, in a fresh process.

    python tests/support/first_use.py 100

runs 100 processes of 8 threads each and says how many failed. Each thread runs every part of the workbench that loads
or compiles something at first use, half of them in the same order; all must find the same numbers.
"""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = 8


def operations(torch: Any) -> Any:
    x = torch.tensor([0.5, 1.5, 0.25], requires_grad=True)
    w = torch.tensor([[1.0, 2.0, 0.5], [0.5, 1.0, 1.5]], requires_grad=True)
    h = torch.tanh(w @ x).exp() + torch.erf(x).sum() * torch.sigmoid(x).prod()
    h = torch.cat([h, x.sin() / (x.cos() + 2), x.log().abs().sqrt()]).cumsum(0)
    out = torch.softmax(h, 0)[1:].reshape(-1, 1).flatten().clamp(0.0, 0.5).pow(1.5).mean() + torch.einsum("i,i", x, x)
    out.backward()
    return out.item(), x.grad.tolist(), w.grad.tolist()


def twice(torch: Any) -> Any:
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    (g,) = torch.autograd.grad((x.exp() * x.sin()).sum() / x.prod(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * torch.log1p(x)).sum(), x)
    return g.tolist(), h.tolist()


def function(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = torch.tensor([0.5, 1.5], requires_grad=True, dtype=torch.float64)
    Cube.apply(x).sum().backward()
    return x.grad.tolist(), torch.autograd.gradcheck(Cube.apply, (x,))


def transforms(torch: Any) -> Any:
    x = torch.tensor([0.5, 1.5])

    def f(t: Any) -> Any:
        return (t.exp() * t.flip(0)).sum()

    per_sample = torch.vmap(torch.func.grad(f))(torch.stack([x, x + 1]))
    pushed = torch.func.jvp(f, (x,), (x,))
    hessian = torch.func.hessian(f)(x)
    jacobian = torch.autograd.functional.jacobian(f, x, vectorize=True)
    return [t.tolist() for t in (per_sample, *pushed, hessian, jacobian)]


def duals(torch: Any) -> Any:
    import workbench.autograd.forward_ad as forward_ad

    return forward_ad.unpack_dual(torch.ones(2)).primal.tolist()


def network(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.25)
    x = torch.ones(4, 3)
    loss = (
        torch.nn.functional.mse_loss(model(x), torch.zeros(4, 1))
        + torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum()
    )
    loss.backward()
    return [p.grad.tolist() for p in model.parameters()], torch.randn(2).shape[0]


def picture(torch: Any) -> Any:
    with torch.record() as trace:
        x = torch.tensor([0.5, 1.5], requires_grad=True)
        (x * x).sum().backward()
    shown = trace.show()
    with torch.no_grad():
        still = torch.show((x * 2).detach().requires_grad_().exp())
    return x.grad.tolist(), len(trace.events) >= 4, "<svg" in shown.to_svg(), "x" in str(still)


PARTS: tuple[Callable[[Any], Any], ...] = (operations, twice, function, transforms, duals, network, picture)


def run() -> None:
    """What one process does; it ends with the failures on standard error, and a status that tells."""
    sys.setswitchinterval(1e-6)
    barrier = threading.Barrier(THREADS)
    failures: list[str] = []
    found: list[Any] = []

    def use(k: int) -> None:
        first = k // 2 % len(PARTS)
        parts = PARTS if k % 2 else PARTS[first:] + PARTS[:first]
        barrier.wait()
        try:
            import workbench

            found.append({part.__name__: part(workbench) for part in parts})
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=use, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures += [f"Another result:\n{each}\n{found[0]}\n" for each in found if not same(each, found[0])]
    sys.stderr.write("\n".join(failures))
    raise SystemExit(bool(failures))


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal but for rounding, which in NumPy depends on where an array lies in memory."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6) if isinstance(one, float) else one == other


def fresh() -> subprocess.CompletedProcess[str]:
    """One run in a process of its own."""
    return subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300, check=False)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    if len(sys.argv) < 2:
        run()
    ends = [fresh() for _ in range(int(sys.argv[1]))]
    failed = [end.stderr for end in ends if end.returncode]
    print(f"{len(failed)} of {len(ends)} processes failed")
    for text in failed[:3]:
        print(text[-3000:])
