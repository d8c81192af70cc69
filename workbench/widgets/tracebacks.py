"""Under the traceback of an engine's error, its picture: where a notebook shows the one, it shows the other."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any

from IPython import get_ipython
from IPython.display import display

from ..explanation import Explanation, explanation_of
from ..trace.source import OWN

_MARK = "_workbench_shows_errors"


def show_errors() -> None:
    """From now on this notebook shows the picture of each error that ends a cell, below the user's own lines.

    What the engine's frames say, the picture says better; they are still in the error's `__traceback__`.
    """
    shell = get_ipython()
    if hasattr(shell, "kernel") and not hasattr(shell, _MARK):
        setattr(shell, _MARK, True)
        shell.events.register("post_run_cell", _show)
        if not shell.custom_exceptions:  # else somebody else shows errors in a way of his own
            shell.set_custom_exc((Exception,), _show_traceback)


def _show_traceback(shell: Any, kind: Any, error: Any, way: Any, tb_offset: int | None = None) -> Any:
    """Show an error as the notebook does; of one that can be explained without the engine's frames."""
    if isinstance(getattr(error, "explain", None), Explanation) or hasattr(error, "_workbench_failure"):
        way = users_part(way) or way
    told = shell.InteractiveTB.structured_traceback(kind, error, way, tb_offset=tb_offset)
    shell._showtraceback(kind, error, told)
    return told


def users_part(way: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package."""
    frames = []
    while way is not None:
        if not way.tb_frame.f_code.co_filename.startswith(OWN):
            frames.append(way)
        way = way.tb_next
    for each in reversed(frames):
        way = TracebackType(way, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return way


def _show(result: Any) -> None:
    with suppress(Exception):  # whatever is wrong with the picture, the error was told
        if (explain := explanation_of(result.error_in_exec)) is not None:
            display(explain())
