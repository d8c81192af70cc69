"""Write what a teacher hands out: the student's copies, the solved copies, or a course folder for nbgrader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from workbench.classroom import handout
from workbench.cli.command import CommandError
from workbench.cli.run import read, write
from workbench.scene.picture import write_whole

# A gentle stub, and pictures in the feedback: nbconvert would take a widget's place, which is empty without a kernel.
_CONFIG = f'''c = get_config()  # noqa: F821
c.ClearSolutions.code_stub = {{"python": "{handout.YOUR_CODE}"}}
c.NbConvertBase.display_data_priority = [
    "text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain",
]
'''
_COPIES = {
    "student": handout.student,
    "solutions": handout.solved,
    "nbgrader": handout.nbgrader,
    "otter": handout.otter,
}


def release(source: Path, kind: str, out: Path) -> None:
    """Write the copies of one kind (a name in `command.KINDS`) of a notebook or of a folder's notebooks."""
    found = sorted(source.glob("*.ipynb")) if source.is_dir() else [source]
    if not found:
        raise CommandError(f"there is no notebook in {source}.")
    made = {_place(path, kind, out): _made(path, kind) for path in found}
    for path, target in zip(found, made, strict=True):
        if target.resolve() == path.resolve():
            raise CommandError(f"{target} would be written over itself: give another folder.")
    try:
        if kind == "nbgrader":
            out.mkdir(parents=True, exist_ok=True)
            if not (out / "nbgrader_config.py").exists():
                write_whole(out / "nbgrader_config.py", _CONFIG.encode())
        for target, text in made.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            write(target, text)
    except OSError as error:
        raise CommandError(f"cannot write into {out}: {error.strerror}.") from None


def _made(path: Path, kind: str) -> str:
    notebook: Any = read(path)
    try:
        return f"{nbformat.writes(_COPIES[kind](notebook))}\n"
    except handout.MarkerError as error:
        raise CommandError(f"{path}: {error}") from None


def _place(path: Path, kind: str, out: Path) -> Path:
    """Each notebook is an assignment of its own for nbgrader."""
    return out / "source" / path.stem / path.name if kind == "nbgrader" else out / path.name
