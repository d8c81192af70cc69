"""What magics of IPython's, exec and generators run has lines in a recording of PyTorch, too."""

from __future__ import annotations

import pytest
from cells import CELLS, lines_are_told
from oracle import torch

pytest.importorskip("IPython")


@pytest.mark.parametrize("cell", CELLS)
def test_every_line_of_a_notebook_has_a_text(cell: str) -> None:
    lines_are_told(*CELLS[cell], torch, "torch")
