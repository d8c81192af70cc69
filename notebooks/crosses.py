"""The picture of lesson 14: which cells of your gradients are wrong."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt


def compare(mine: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Draw a grid for each gradient, with a cross in each wrong cell; return which cells are wrong, by name."""
    _, places = plt.subplots(2, 6, figsize=(9, 4), layout="constrained")
    wrong = {name: ((mine[name] - right[name]).abs() > 1e-6).reshape(-1, right[name].shape[-1]) for name in mine}
    for place in places.flat:
        place.axis("off")
    for place, (name, cells) in zip(places.flat, wrong.items(), strict=False):
        place.imshow(cells.tolist(), cmap="Oranges", vmin=0, vmax=2)
        place.set_title(f"{name}: {int(cells.sum())} of {cells.numel()}")
        for i, row in enumerate(cells.tolist()):
            for j, cell in enumerate(row):
                place.text(j, i, "×" if cell else "·", ha="center", va="center")
    plt.show()
    return wrong
