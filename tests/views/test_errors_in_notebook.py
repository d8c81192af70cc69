"""What a notebook shows of an error: the user's own lines, the words, and the picture below them."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient

import workbench as torch
from workbench.diagnosis.explanation import Explanation

pytest.importorskip("ipykernel")
pytest.importorskip("anywidget")

CELLS = (
    "import workbench as torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x.exp().sum()\ny.backward()",
    "def again():\n    y.backward()\nagain()",
    "class Mine(torch.Function):\n"
    "    @staticmethod\n    def forward(ctx, x): return x * 1\n"
    "    @staticmethod\n    def backward(ctx, grad): raise LookupError('mine')\n"
    "Mine.apply(x).sum().backward()",
    "torch.ones(2) + 'words'",
    "torch.ones(2).register_hook(print)",
    "trace = torch.record()\ntrace, torch.live()",
)


@pytest.mark.slow
def test_the_traceback_above_an_explained_error_has_the_users_lines_alone():
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    book = NotebookClient(nbformat.v4.new_notebook(cells=cells), allow_errors=True, kernel_name="python3").execute()
    told = []
    for cell in book.cells:
        errors = [each for each in cell.outputs if each.output_type == "error"]
        text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(line for each in errors for line in each.traceback))
        pictures = [each.data["text/plain"] for each in cell.outputs if each.output_type == "display_data"]
        told.append((text, pictures))
    text, pictures = told[1]
    assert "y.backward()" in text and "again()" in text and "a second time" in text
    assert "_run" not in text and "workbench" not in text.replace("workbench_", "")
    assert pictures[0].startswith("RuntimeError at ExpBackward0")
    text, pictures = told[2]  # the user's own backward, which the engine called, is there
    assert "raise LookupError('mine')" in text and "Mine.apply(x).sum().backward()" in text and "engine.py" not in text
    assert pictures[0].startswith("LookupError at MineBackward")
    text, pictures = told[3]  # nothing explains this one: all of it is shown
    assert "TypeError" in text and not pictures
    text, pictures = told[4]
    assert "register_hook(print)" in text and "hooks.py" not in text and "does not require grad" in pictures[0]
    assert "0x" not in str(book.cells[5].outputs[0].data["text/plain"])


def test_the_error_itself_keeps_every_frame():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert isinstance(caught.value.explain, Explanation)
    assert any("autograd" in str(frame.path) for frame in caught.traceback)
