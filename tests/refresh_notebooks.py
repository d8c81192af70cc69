"""Execute lessons and write them back with fresh outputs: python tests/refresh_notebooks.py [NOTEBOOK...]"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from workbench.cli.command import CommandError
from workbench.cli.execute import execute, read
from workbench.scene.save import write_whole

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
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
            output.get("data", {}).pop(WIDGET, None)
            if output.output_type == "error":
                # A traceback names files of one machine and lines of one release.
                output.traceback = [f"{output.ename}: {output.evalue}"]


def refresh(path: Path) -> None:
    """Execute one notebook and write it back, or leave it as it was if a cell fails."""
    notebook = read(path)
    execute(notebook, path)
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
