"""What it costs to record a training: the time of a step, and the memory of a long run.

    python tests/benchmarks/recording.py [--rounds N] [--steps N]

prints a table: what is found, what is asked for, and whether it is met. The step is that of the MLP in works.py; plain
and recorded ones take turns in one process, on one thread, and the ratio of the least times of the processor counts, as
others may be busy on it. The recording goes on over all rounds and keeps the last events only, as in a training that
has been going on for a while. Memory is what Python has allocated (tracemalloc) after a step of a training recorded
with `last`: the most in the first tenth of the steps, the most in all of them, and in the end per event that is kept.
"""

from __future__ import annotations

import os

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import argparse  # noqa: E402
import gc  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import tracemalloc  # noqa: E402
from pathlib import Path  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support"), str(HERE)]

from contestant import Workbench  # noqa: E402
from works import WORKS  # noqa: E402

import workbench as torch  # noqa: E402
from workbench.events import listeners  # noqa: E402

OVERHEAD = {32: 2.0, 1024: 1.3}  # times the plain step, by the size of the batch
GROWTH = 1.2  # times the memory after the first steps
LAST = 2_000

m = Workbench()


def step(batch: int) -> float:
    """Seconds of one training step."""
    steps = WORKS["mlp32"].steps(m, batch, (64, 128, 128, 10), 1, 0)
    next(steps)
    begin = time.process_time()
    next(steps)
    return time.process_time() - begin


def overhead(batch: int, rounds: int, limit: int) -> tuple[float, float]:
    """The least seconds of a plain step, and of a recorded one."""
    plain, recorded = [], []
    with torch.record(limit=limit, last=2_000):
        (recorder,) = listeners
        for _ in range(rounds):
            listeners[:] = []
            plain.append(step(batch))
            listeners[:] = [recorder]
            recorded.append(step(batch))
    return min(plain), min(recorded)


def memory(steps: int) -> tuple[int, int, float]:
    """The most bytes after one step in the first tenth, after any, and the bytes per event in the end."""
    inputs, labels = torch.randn(32, 64), torch.randn(32, 10)
    weights = [torch.randn(64, 128), torch.randn(128, 128), torch.randn(128, 10)]
    for w in weights:
        w.requires_grad_()
    after = []
    gc.collect()
    tracemalloc.start()
    with torch.record(limit=0, last=LAST) as trace:
        for _ in range(steps):
            hidden = ((inputs @ weights[0]).relu() @ weights[1]).relu()
            ((hidden @ weights[2] - labels) ** 2).mean().backward()
            with torch.no_grad():
                for w in weights:
                    w -= 1e-4 * w.grad
                    w.grad = None
            after.append(tracemalloc.get_traced_memory()[0])
        del w, hidden
    held = tracemalloc.get_traced_memory()[0]
    count = len(trace.events)
    del trace
    gc.collect()
    held -= tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return max(after[: len(after) // 10]), max(after), held / count


def row(what: str, found: str, ratio: float, bound: float) -> bool:
    """One line of the table, and whether it is met."""
    met = ratio <= bound
    print(f"{what:<56}{found:>26}{ratio:8.2f}{bound:8.2f}  {'yes' if met else 'NO'}", flush=True)
    return met


def main() -> int:
    """Measure and print; 1 if something is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--steps", type=int, default=1_000)
    asked = parser.parse_args()
    print(f"{'':<56}{'found':>26}{'ratio':>8}{'at most':>8}")
    met = []
    for batch, rounds in ((1024, asked.rounds // 4), (32, asked.rounds)):
        for limit, what in ((0, "all arrays summed up"), (1000, "those of up to 1,000 values kept")):
            plain, recorded = overhead(batch, max(2, rounds), limit)
            found = f"{recorded * 1e6:,.0f} for {plain * 1e6:,.0f} µs"
            met.append(row(f"MLP step, batch {batch:,}, {what}", found, recorded / plain, OVERHEAD[batch]))
    first, most, each = memory(asked.steps)
    found = f"{most / 1e6:.2f} for {first / 1e6:.2f} MB"
    met.append(
        row(f"memory: {asked.steps:,} steps, last={LAST:,}, for {asked.steps // 10:,}", found, most / first, GROWTH)
    )
    print(f"an event that is kept takes {each:,.0f} bytes")
    return not all(met)


if __name__ == "__main__":
    sys.exit(main())
