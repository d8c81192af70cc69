"""What `watch` costs a step of a training, as a ratio to the same step unwatched, in turns in one process.

python tests/benchmarks/watched_training.py [--rounds N] [--torch]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import workbench


def training(torch: Any, layers: int, width: int, batch: int) -> tuple[Any, Any, Callable[[], None]]:
    """A model, its optimizer, and one step."""
    torch.manual_seed(0)
    nn = torch.nn
    several = [each for _ in range(layers) for each in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*several, nn.Linear(width, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    x, y = torch.randn(batch, width), torch.randint(0, 10, (batch,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return model, optimizer, step


def seconds(step: Callable[[], None], count: int) -> float:
    """The processor's time of a step."""
    begin = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - begin) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", action="store_true", help="PyTorch's engine")
    options = parser.parse_args()
    torch: Any = workbench
    if options.torch:
        import torch

        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for layers, width, batch, count in ((1, 16, 16, 400), (8, 192, 384, 40)):
            times: dict[int, list[float]] = {every: [] for every in (0, 1, 10, 50)}
            for _ in range(options.rounds):
                for every, found in times.items():
                    model, optimizer, step = training(torch, layers, width, batch)
                    seconds(step, 5)
                    if every:
                        with workbench.watch(model, optimizer, every=every, path=Path(folder) / "run.jsonl"):
                            found.append(seconds(step, count))
                    else:
                        found.append(seconds(step, count))
            plain = median(times[0])
            ratios = ", ".join(f"every {every}: {median(times[every]) / plain:.2f}" for every in times if every)
            print(f"{layers} layers of {width}, batch {batch}: a step {1e3 * plain:.2f} ms; {ratios}", file=sys.stdout)


if __name__ == "__main__":
    main()
