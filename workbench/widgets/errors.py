"""Under the traceback of an engine's error, its picture: where a notebook shows the one, it shows the other."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from IPython import get_ipython
from IPython.display import display

from ..explaining import Explanation

_MARK = "_workbench_shows_errors"


def show_errors() -> None:
    """From now on this notebook shows the picture of each error that ends a cell; its traceback stays as it is."""
    shell = get_ipython()
    if hasattr(shell, "kernel") and not hasattr(shell, _MARK):
        setattr(shell, _MARK, True)
        shell.events.register("post_run_cell", _show)


def _show(result: Any) -> None:
    explain = getattr(result.error_in_exec, "explain", None)
    if isinstance(explain, Explanation):
        with suppress(Exception):  # whatever is wrong with the picture, the error was told
            display(explain())
