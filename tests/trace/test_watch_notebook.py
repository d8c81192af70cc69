"""`watch` in a notebook: one line below the cell that is written over, and the view from another cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from watched import model_of, train

import workbench
from workbench.diagnosis.watching import progress

CELLS = (
    "import sys, workbench\nsys.path.insert(0, {support!r})\nfrom watched import model_of, train\n"
    "model, optimizer = model_of(workbench)",
    "with workbench.watch(model, optimizer, every=10, path={path!r}, keep=0) as watched:\n"
    "    train(workbench, model, optimizer, 3000, lambda step: float('nan') if step == 2500 else 1.0)\n"
    "    raise KeyboardInterrupt",
    "print(type(watched.show()).__name__)\nwatched.show()",
)


@pytest.mark.slow
def test_a_long_training_leaves_one_line_that_says_how_far_it_is(tmp_path: Path) -> None:
    given = {"support": str(Path(__file__).parents[1] / "support"), "path": str(tmp_path / "run.jsonl")}
    cells = [nbformat.v4.new_code_cell(source.format(**given)) for source in CELLS]
    book = NotebookClient(nbformat.v4.new_notebook(cells=cells), allow_errors=True, kernel_name="python3").execute()
    _, trained, shown = book.cells
    assert [each.output_type for each in trained.outputs] == ["display_data", "stream", "error"]
    line, told, _ = trained.outputs
    found = "step 2501: the norm of the output of layer 0 is nan."
    assert told.text == f"watch: {found}\n"
    said = f"norm of all gradients nan in step 2,991 · findings: 1, the last of {found}"
    assert line.data["text/plain"] == f"run.jsonl: ended after step 3,000 · {said}"
    assert "ended after step 3,000" in line.data["text/html"]
    printed, picture = shown.outputs
    assert printed.text.endswith("Picture\n")
    assert "Step 2,501" in picture.data["text/html"] or "Step 2501" in picture.data["text/html"]


class _Handle:
    """Keeps what is written over an output."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def update(self, line: Any) -> None:
        self.said.append(repr(line))


def test_it_is_written_over_at_most_twice_a_second(monkeypatch: Any) -> None:
    handle, now = _Handle(), 100.0
    monkeypatch.setattr(progress, "_handle", lambda text: handle)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    line = progress.ProgressLine("run.jsonl")
    for step in range(1, 1001):
        now += 0.01
        line.watched(step, 1.5)
        line.tell(step)
    assert len(handle.said) == 20
    assert handle.said[-1] == "run.jsonl: step 951 · norm of all gradients 1.5 in step 951 · no findings"
    line.found("step 1000: the norm of <w> is nan.")
    line.tell(1000)
    assert handle.said[-1].endswith(" · findings: 1, the last of step 1000: the norm of <w> is nan.")
    html = progress._Line("<w>")._repr_html_()
    assert "&lt;w&gt;" in html


def test_outside_of_a_notebook_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, optimizer = model_of(workbench)
    with workbench.watch(model, optimizer, every=1, path=tmp_path / "run.jsonl"):
        train(workbench, model, optimizer, 20)
    assert capsys.readouterr() == ("", "")
