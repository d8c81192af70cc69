"""Every lesson as it is handed out, in a real JupyterLab: left empty, answered wrong and right, saved, opened again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from browser_page import open_page, these_first, wait_until
from lab import CHECKOUT, Lab, assert_clean

from workbench.classroom.handout import name_of, solution, student
from workbench.classroom.registry import exercises
from workbench.cli.notebooks import beside

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
EXERCISES = exercises(CHECKOUT / "notebooks")
FOLDER = "handed-out"
# What a learner types into the cell of an exercise, and runs.
RUN = """async ([name, code]) => {
  const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
  const sources = notebook.widgets.map((cell) => cell.model.sharedModel.getSource());
  notebook.activeCellIndex = sources.findIndex((source) => source.includes(`# exercise: ${name}\\n`));
  notebook.activeCell.model.sharedModel.setSource(code);
  await app.commands.execute("notebook:run-cell");
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map((cell) =>
  [cell.model.sharedModel.getSource(), cell.model.outputs?.toJSON() ?? []])"""
DRAW = """async () => {
  const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.length - 1;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell.model.sharedModel.setSource("from workbench.classroom import progress\\nprogress()");
  await app.commands.execute("notebook:run-cell");
  await app.commands.execute("docmanager:save");
}"""
# Each picture is looked at: it is in the page when its cell is in sight.
BLIND = """async () => {
  const notebook = window.jupyterapp.shell.currentWidget.content, blind = [];
  for (const [number, cell] of notebook.widgets.entries()) {
    if (!/data:image|image\\/png/.test(JSON.stringify(cell.model.outputs?.toJSON() ?? []))) continue;
    await notebook.scrollToItem(number);
    const wide = (each) => each.getBoundingClientRect().width > 50;
    const seen = () => [...cell.outputArea.node.querySelectorAll("img, svg")].some(wide);
    for (let tries = 0; tries < 100 && !seen(); tries++) await new Promise((go) => setTimeout(go, 50));
    if (!seen()) blind.push(number);
  }
  return blind;
}"""


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Any]:
    (lab.folder / FOLDER).mkdir()
    with open_page((1400, 900)) as page:
        yield page


def said(page: Any, name: str = "") -> list[str]:
    """What stands below an exercise, or below every cell, output by output."""
    cells = [outputs for source, outputs in page.evaluate(OUTPUTS) if f"# exercise: {name}" in source or not name]
    return ["".join(told(output)) for outputs in cells for output in outputs]


def told(output: Any) -> Any:
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return output.get("data", {}).get("text/plain", output.get("text", ""))


# Lessons that have every kind of exercise between them: a prediction, a Function, a training run, puzzles.
FEW = ("00-", "07-", "12-", "16-")


@pytest.mark.parametrize("stem", these_first([path.stem for path in NOTEBOOKS], FEW))
def test_a_lesson_is_answered_in_jupyterlab(page: Any, lab: Lab, stem: str) -> None:
    path = NOTEBOOKS[0].with_name(f"{stem}.ipynb")
    lesson = nbformat.read(path, as_version=4)
    cells = {name: cell for cell in lesson.cells if (name := name_of(cell))}
    place, kept = f"{FOLDER}/{path.name}", lab.folder / FOLDER / "workbench-progress.json"
    kept.unlink(missing_ok=True)
    nbformat.write(student(lesson), lab.folder / place)
    for file in beside(path):
        shutil.copy(file, lab.folder / FOLDER)
    lab.open(page, place)
    lab.run_all(page)

    # Left empty: one quiet line each, and nothing is kept. An error stands where the lesson wants one.
    wanted = [cell.source for cell in lesson.cells if "raises-exception" in cell.metadata.get("tags", [])]
    for source, outputs in page.evaluate(OUTPUTS):
        failed = [told(output) for output in outputs if output["output_type"] == "error"]
        assert bool(failed) == (source in wanted), failed
    for name in cells:
        line = said(page, name)[-1]  # an exercise may print before its check
        first, done = line.split("\n")
        assert first.startswith("Not answered yet (") and done.startswith("0 of ")
    assert not kept.exists()

    # Each misconception has its hint, and the solution, typed as it stands in the lesson, is right.
    for name, cell in cells.items():
        wrong = EXERCISES[name].misconceptions
        answers = f'(check("{name}", each.answer) for each in find("{name}").misconceptions)'
        code = f"from workbench.classroom.registry import find\ndisplay(*{answers})"
        page.evaluate(RUN, [name, f"# exercise: {name}\n{code}"])
        hints = [" ".join(line.split()) for line in said(page, name)]
        assert [each.name for each, hint in zip(wrong, hints, strict=True) if each.hint not in hint] == []
        page.evaluate(RUN, [name, f"{solution(cell)}\n\n\n{cell.source.splitlines()[-1]}"])
        assert said(page, name)[-1].startswith("Right. ("), said(page, name)

    # Saved and opened again: all answers and pictures are there, and what is done is drawn.
    page.evaluate(DRAW)
    before = said(page)
    lab.open(page, place)
    assert said(page) == before and page.evaluate(BLIND) == []
    points = sum(EXERCISES[name].points for name in cells)
    wait_until(page, f"document.querySelector('img[alt^=\"{points:g} of \"]')?.naturalWidth > 400")
    assert json.loads(kept.read_text())["exercises"].keys() == cells.keys()
    assert_clean(page)
    lab.close()
