"""Three submissions of a lesson with players and steppers, and what graders are to give them."""

from __future__ import annotations

from pathlib import Path

import nbformat

from workbench.classroom.handout import name_of

LESSON = "02-backward-one-node-at-a-time"
SUBMISSIONS = {
    "right": {
        "grad-at-a-fork": "a_grad = 9",
        "three-backwards": "w_grad = 12",
        "bias-backward": "def add_backward(grad_output, rows, bias):\n    return grad_output, grad_output.sum(0)",
    },
    "wrong": {
        "grad-at-a-fork": "a_grad = 5",
        "three-backwards": "w_grad = 1 / 0",
        "bias-backward": "def add_backward(grad_output, rows, bias):\n    return grad_output, grad_output",
    },
    "empty": {},
}
SCORES = {"right": [1, 1, 2], "wrong": [0, 0, 0], "empty": [0, 0, 0]}


def submit(released: Path, student: str, place: Path) -> None:
    """Write what this student hands in of a released notebook, beside exercises that are not to count."""
    notebook = nbformat.read(released, as_version=4)
    for cell in notebook.cells:
        if (name := name_of(cell)) in SUBMISSIONS[student]:
            cell.source = f"# exercise: {name}\n{SUBMISSIONS[student][name]}"
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)
    place.with_name(f"{LESSON}.exercises.py").write_text("1 / 0")
