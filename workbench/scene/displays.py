"""Who shows a thing in a notebook: `displays[its class]` makes what shows it.

Who asks lies below who shows, so that is loaded by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

displays: dict[type, Callable[..., Any]] = {}

_FILLS = "workbench.views.stepper_picture"
_FILLS_IN_NOTEBOOKS = "workbench.widgets"


def display_of(kind: type) -> Callable[..., Any] | None:
    """What shows things of a class; None where the packages of the widgets are missing, or nobody is in a notebook."""
    if "IPython" in sys.modules:
        with suppress(ImportError):
            import_module(_FILLS_IN_NOTEBOOKS)
    if kind not in displays:
        import_module(_FILLS)
    return displays.get(kind)
