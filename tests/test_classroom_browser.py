"""A lesson as it is handed out, in a real JupyterLab: left empty, answered wrong and right, saved and opened again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from browser_page import open_page, wait_until
from lab import CHECKOUT, Lab, assert_clean

from workbench.classroom.assignment import name_of, solution, student

NAME = "06-writing-over-history"
WRONG = {
    "read-the-error": ('letter = "a"', "letter", "The operation that is named has written: "),
    "version-of-a-view": ("versions = [1, 1]", "versions", "Writing through a view: "),
    "repair-the-write": (
        "def program(x):\n    y = x.exp()\n    y.data.add_(1)\n    return y * x",
        "program",
        "A write that the engine does not see: ",
    ),
    "update-a-weight": (
        "def step(w, rate):\n    w = w.detach() - rate * w.grad",
        "step",
        "Detach against no_grad: ",
    ),
}
RUN = """async ([name, code]) => {
  const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
  const sources = notebook.widgets.map((cell) => cell.model.sharedModel.getSource());
  const at = sources.findIndex((source) => source.includes(`# exercise: ${name}\\n`));
  notebook.activeCellIndex = at;
  notebook.activeCell.model.sharedModel.setSource(code);
  await app.commands.execute("notebook:run-cell");
  return notebook.widgets[at].outputArea.node.innerText;
}"""
SAID = """(name) => {
  const { widgets } = window.jupyterapp.shell.currentWidget.content;
  const cell = widgets.find((each) => each.model.sharedModel.getSource().includes(`# exercise: ${name}\\n`));
  return JSON.stringify(cell.model.outputs.toJSON());
}"""


@pytest.fixture(scope="module")
def lesson() -> Any:
    return nbformat.read(CHECKOUT / "notebooks" / f"{NAME}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def page(lab: Lab, lesson: Any) -> Iterator[Any]:
    """The student's copy, all of whose cells were run."""
    (lab.folder / "handed-out").mkdir()
    nbformat.write(student(lesson), lab.folder / "handed-out" / f"{NAME}.ipynb")
    with open_page((1400, 900)) as page:
        lab.open(page, f"handed-out/{NAME}.ipynb")
        lab.run_all(page)
        yield page
        assert_clean(page)
        lab.close()


def shown(page: Any, name: str) -> str:
    """All that stands below an exercise."""
    outputs = json.loads(page.evaluate(SAID, name))
    return " ".join("".join(output.get("data", {}).get("text/plain", output.get("text", ""))) for output in outputs)


def test_what_is_not_answered_says_one_quiet_line(page: Any, lab: Lab) -> None:
    for name in WRONG:
        assert shown(page, name).startswith("Not answered yet (") and "\n" not in shown(page, name)
    assert not (lab.folder / "handed-out" / "workbench-progress.json").exists()


@pytest.mark.parametrize("name", WRONG)
def test_a_misconception_is_named_and_a_solution_is_right(page: Any, lesson: Any, name: str) -> None:
    typed, checked, said = WRONG[name]
    page.evaluate(RUN, [name, f'# exercise: {name}\n{typed}\ncheck("{name}", {checked})'])
    wait_until(page, f"({SAID})({name!r}).includes('Not yet')")
    assert said in " ".join(shown(page, name).split())
    (cell,) = (cell for cell in lesson.cells if name_of(cell) == name)
    last = cell.source.splitlines()[-1]
    page.evaluate(RUN, [name, f"{solution(cell)}\n\n\n{last}"])
    wait_until(page, f"({SAID})({name!r}).includes('Right.')")


def test_what_is_done_is_drawn_and_there_when_the_lesson_is_opened_again(page: Any, lab: Lab) -> None:
    draw = """async () => {
      const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
      notebook.activeCellIndex = notebook.widgets.length - 1;
      await app.commands.execute("notebook:insert-cell-below");
      notebook.activeCell.model.sharedModel.setSource("from workbench.classroom import progress\\nprogress()");
      await app.commands.execute("notebook:run-cell");
      await app.commands.execute("docmanager:save");
    }"""
    page.evaluate(draw)
    picture = "document.querySelector('img[alt^=\"6 of \"]')"
    wait_until(page, f"{picture}?.naturalWidth > 400")
    assert "● read-the-error: 1 of 1 point" in page.evaluate(f"{picture}.alt")
    kept = json.loads((lab.folder / "handed-out" / "workbench-progress.json").read_text())
    assert kept["exercises"].keys() == WRONG.keys()
    lab.open(page, f"handed-out/{NAME}.ipynb")
    wait_until(page, f"{picture}?.naturalWidth > 400")
    for name in WRONG:
        assert shown(page, name).startswith("Right. (")
