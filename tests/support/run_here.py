"""The cells of a notebook in this process: for tests of what is made of their outputs, where no kernel is needed."""

from __future__ import annotations

import contextlib
import io
import sys
from types import SimpleNamespace
from typing import Any

import IPython.display
import pytest
from nbformat.v4 import new_output

from workbench.classroom import registry
from workbench.cli import grading


def grade_here(patch: pytest.MonkeyPatch) -> None:
    """Let notebooks that are graded run in this process, one after the other."""
    patch.setattr(grading, "_run", run_here)
    patch.setattr(grading, "_together", map)


def run_here(notebook: Any, place: str, timeout: float = 0) -> None:
    """Run all cells as `workbench.cli.grading` does; a cell that fails gets the output of its error."""
    shell = SimpleNamespace(register_magic_function=lambda *given, **options: None)
    names: dict[str, Any] = {"__name__": "__main__", "get_ipython": lambda: shell}
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(place):
        patch.syspath_prepend(place)
        patch.setattr(registry, "_cells", {})  # what a cell registers is forgotten
        patch.setattr(registry, "_registering", [registry._cells])
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = outputs = []
                patch.setattr(
                    IPython.display,
                    "display",
                    lambda data, raw, outputs=outputs: outputs.append(new_output("display_data", data=data)),
                )
                source = "".join(line for line in cell.source.splitlines(True) if not line.startswith("%"))
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(source, "cell.py", "exec"), names)
                except Exception as error:
                    outputs.append(new_output("error", ename=type(error).__name__, evalue=str(error)))
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(place):
            del sys.modules[name]
