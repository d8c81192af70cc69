"""How a notebook shows a thing: `displays[its class]` creates what shows it.

The caller is in a lower layer than the function that shows, so that is loaded by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

displays: dict[type, Callable[..., Any]] = {}

_FILLS = "workbench.pictures.views.stepper_picture"
_FILLS_IN_NOTEBOOKS = "workbench.pictures.widgets"


def display_of(kind: type) -> Callable[..., Any] | None:
    """Return the function that shows instances of a class; None without the widget packages or outside a notebook."""
    if "IPython" in sys.modules:
        with suppress(ImportError):
            import_module(_FILLS_IN_NOTEBOOKS)
    if kind not in displays:
        import_module(_FILLS)
    return displays.get(kind)


def marimo_here() -> Any:
    """Return the module marimo if this code runs in one of its notebooks, else None."""
    marimo = sys.modules.get("marimo")
    return marimo if marimo is not None and marimo.running_in_notebook() else None
