"""What magics of IPython's, exec and generators run has lines, and findings quote them."""

from __future__ import annotations

import pytest
from cells import CELLS, lines_are_told

import workbench as torch
from workbench.pictures.trace.source import file_of, keep_text, line_text

pytest.importorskip("IPython")


@pytest.mark.parametrize("cell", CELLS)
def test_every_line_of_a_notebook_has_a_text(cell):
    lines_are_told(*CELLS[cell], torch)


def test_equal_texts_are_kept_once_and_others_apart():
    first, other = keep_text("<string>", "a\nb"), keep_text("<string>", "a\nc")
    assert keep_text("<string>", "a\nb") == first != other
    assert [line_text(first, 2), line_text(other, 2), line_text(first, 3)] == ["b", "c", ""]
    assert file_of(first) == file_of(other) == "<string>"


def test_two_timed_cells_are_told_apart():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns.update(torch=torch)
    begun = "recording = torch.record()\ntrace = recording.__enter__()\nw = torch.ones(2, requires_grad=True)"
    for cell in (begun, "%%time\na = w * 2", "%%time\nb = w * 3", "recording.__exit__(None, None, None)"):
        shell.run_cell(cell, store_history=True).raise_error()
    made = [each.source.text for each in shell.user_ns["trace"].events if type(each).__name__ == "NodeCreated"]
    assert made == ["a = w * 2", "b = w * 3"]


def test_an_error_in_a_timed_cell_is_explained_at_its_line():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns.update(torch=torch)
    cell = "%%time\nw = torch.ones(2, requires_grad=True)\nloss = (w * 2).detach().sum()\nloss.backward()\n"
    outcome = shell.run_cell(cell, store_history=True)
    told = " ".join(str(torch.explain(outcome.error_in_exec)).split())
    assert "(cell:3 `loss = (w * 2).detach().sum()`) cut it off?" in told
