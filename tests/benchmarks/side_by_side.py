"""What recording and watching cost a step of four real trainings of PyTorch's, as ratios to the same step alone.

python tests/benchmarks/side_by_side.py [--rounds N] [MODEL...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn
from watched_training import seconds

import workbench

sys.path.insert(0, str(Path(__file__).parents[1] / "bridges"))

from torch_models import ResNet18  # noqa: E402


class GPT2(nn.Module):
    """GPT-2 small, of a smaller vocabulary."""

    def __init__(self, words: int = 5_000, width: int = 768, layers: int = 12, heads: int = 12) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(64, width))
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, ids: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.blocks(self.words(ids) + self.places[: ids.shape[1]], mask) @ self.words.weight.T


class Tagger(nn.Module):
    """An LSTM of two layers, and what it says of each place."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(32, 64, 2, batch_first=True), nn.Linear(64, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0])


# A model, what goes in and what is to come out, and how many steps are measured together.
MODELS: dict[str, Callable[[], tuple[Any, Any, Any, int]]] = {
    "ResNet-18": lambda: (ResNet18(), torch.randn(2, 3, 64, 64), torch.tensor([1, 3]), 2),
    "GPT-2 small": lambda: (GPT2(), torch.randint(0, 5_000, (1, 16)), torch.randint(0, 5_000, (1, 16)), 1),
    "tiny MLP": lambda: (
        nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10)),
        *(torch.randn(16, 16), torch.randint(0, 10, (16,)), 100),
    ),
    "LSTM": lambda: (Tagger(), torch.randn(8, 20, 32), torch.randint(0, 5, (8, 20)), 50),
}


def training(name: str) -> tuple[Any, Any, Callable[[], None], int]:
    """A model, its optimizer, one step, and how many are measured together."""
    torch.manual_seed(0)
    model, x, y, count = MODELS[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        out = model(x)
        nn.functional.cross_entropy(out.flatten(0, -2), y.flatten()).backward()
        optimizer.step()

    return model, optimizer, step, count


def measured(name: str, rounds: int, path: Path) -> str:
    """What a model's step takes, and the ratios; what one watched step in 50 costs is reckoned where steps are few."""
    model, optimizer, step, count = training(name)
    seconds(step, 2)
    ways: dict[str, Callable[[], Any]] = {
        "plain": nullcontext,
        "watched every 50": lambda: workbench.watch(model, optimizer, every=50, path=path),
        "watched every 1": lambda: workbench.watch(model, optimizer, every=1, path=path),
        "recorded": lambda: workbench.record(torch),
    }
    if count < 50:
        del ways["watched every 50"]
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, around in ways.items():
            with around():
                times[way].append(seconds(step, count))
    plain = median(times["plain"])
    ratios = {way: median(found) / plain for way, found in times.items() if way != "plain"}
    ratios.setdefault("watched every 50 (reckoned)", 1 + (ratios["watched every 1"] - 1) / 50)
    if count >= 50:
        del ratios["watched every 50 (reckoned)"]
    told = ", ".join(f"{way} {ratio:.2f}" for way, ratio in ratios.items())
    return f"{name}: a step {1e3 * plain:.2f} ms; {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            print(measured(name, options.rounds, Path(folder) / "run.jsonl"), flush=True)


if __name__ == "__main__":
    main()
