"""Execute lessons and write them back with fresh outputs: python tests/refresh_notebooks.py [NOTEBOOK...]"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbval.plugin import get_sanitize_patterns

from workbench.classroom.checks import FILE
from workbench.cli import CommandError
from workbench.cli.notebooks import read
from workbench.cli.pages import execute
from workbench.pictures.scene.picture import write_whole

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
# What a picture has beside its image is compared by nbval as little as it is kept.
_, _, *BESIDE_IMAGES = get_sanitize_patterns(Path(__file__).with_name("nbval_sanitize.cfg").read_text(encoding="utf-8"))
WIDGET = "application/vnd.jupyter.widget-view+json"
# Left by an editor or by a run: they say when and where, not what.
VOLATILE = ("ExecuteTime", "collapsed", "execution", "scrolled", "trusted")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def clean(notebook: NotebookNode) -> None:
    """Take out of an executed notebook all that a second run would give otherwise."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        for key in VOLATILE:
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop(WIDGET, None)
            for pattern, instead in BESIDE_IMAGES if "text/html" in data else ():
                data["text/html"] = re.sub(pattern, instead, data["text/html"])
            if output.output_type == "error":
                # A traceback names files of one machine and lines of one release.
                output.traceback = [f"{output.ename}: {output.evalue}"]


def refresh(path: Path) -> None:
    """Execute one notebook and write it back, or leave it as it was if a cell fails."""
    notebook = read(path)
    mine, aside = path.with_name(FILE), path.with_name(f".{FILE}")  # so the outputs are a beginner's
    if mine.exists():
        mine.rename(aside)
    try:
        execute(notebook, path)
    finally:
        mine.unlink(missing_ok=True)
        if aside.exists():
            aside.rename(mine)
    clean(notebook)
    write_whole(path, f"{nbformat.writes(notebook)}\n".encode())


def main() -> int:
    paths = [Path(word) for word in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb"))
    try:
        for path in paths:
            refresh(path)
            print(f"Refreshed {path}.")
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
