"""What a notebook shows of an error of PyTorch's: the words, and the picture below them."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

CELLS = (
    "import torch, workbench\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y * y\nworkbench.show(z)",
    "y.add_(1)\nz.sum().backward()",
    "with workbench.record(torch):\n    y = x * 2\n    z = y * y\n    y.add_(1)\n    z.sum().backward()",
    "torch.ones(2) @ torch.ones(3)",
)


def test_below_an_error_of_a_backward_is_its_picture_recorded_or_not() -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    book = NotebookClient(nbformat.v4.new_notebook(cells=cells), allow_errors=True, kernel_name="python3").execute()
    shown = [
        [each.data["text/plain"] for each in cell.outputs if each.output_type == "display_data"] for cell in book.cells
    ]
    assert [len(pictures) for pictures in shown[1:]] == [1, 1, 0]
    assert "failed here)" in shown[1][0] and "saved other (y) (out of date)" in shown[1][0]
    assert "add_ wrote into y: version 1 (cell, line 4): y.add_(1)" in shown[2][0]
