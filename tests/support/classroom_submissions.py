"""Three submissions of a lesson with players and steppers, and what graders are to give them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat

from workbench.classroom.handout import name_of

CHECKOUT = Path(__file__).resolve().parents[2]
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


def ran(program: str, folder: Path, *words: str) -> None:
    """Carry out a command of a grader in a folder, which is its home."""
    beside = str(Path(sys.executable).parent)  # where its own tools are
    places = {"PATH": f"{beside}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT), "HOME": str(folder)}
    command = [sys.executable, "-m", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ | places)
    assert done.returncode == 0, done.stdout + done.stderr


def submit(released: Path, student: str, place: Path) -> None:
    """Write what this student hands in of a released notebook, beside exercises that are not to count."""
    notebook = nbformat.read(released, as_version=4)
    for cell in notebook.cells:
        if (name := name_of(cell)) in SUBMISSIONS[student]:
            cell.source = f"# exercise: {name}\n{SUBMISSIONS[student][name]}"
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)
    place.with_name(f"{LESSON}.exercises.py").write_text("1 / 0")
