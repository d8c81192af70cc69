"""A progress line below a notebook's cell, which overwrites itself."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

_PAUSE = 0.5  # seconds between two updates: a reader sees no more, and a notebook's server has others to serve


class ProgressLine:
    """Show the step, the norm of all gradients and the findings; outside a notebook, do nothing.

    It is a single output of its cell, regardless of how long the run is.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._norm = self._last = ""
        self._found = 0
        self._next = 0.0  # when it may be written again
        self._handle = _handle(f"{name}: no step yet")

    def tell(self, steps: int) -> None:
        """Show the number of steps taken."""
        if self._handle is not None and time.monotonic() >= self._next:
            self._write(f"step {steps:,}")

    def watched(self, step: int, norm: float) -> None:
        """Show the norm of all gradients in a watched step."""
        if self._handle is not None:
            self._norm = f" · norm of all gradients {norm:.3g} in step {step:,}"

    def found(self, sentence: str) -> None:
        """Show a finding."""
        self._found, self._last, self._next = self._found + 1, sentence, 0.0

    def end(self, steps: int) -> None:
        """Show that watching ended after this number of steps."""
        if self._handle is not None:
            self._write(f"ended after step {steps:,}")

    def _write(self, how_far: str) -> None:
        found = f" · findings: {self._found:,}, the last of {self._last}" if self._found else " · no findings"
        self._next = time.monotonic() + _PAUSE
        self._handle.update(_Line(f"{self._name}: {how_far}{self._norm}{found}"))


class _Line:
    """A line of text, on a page in a font whose digits keep their places."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<div style="font-variant-numeric: tabular-nums">{html.escape(self._text)}</div>'


def _handle(text: str) -> Any:
    """Return a handle that overwrites an output of the running cell; None outside a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display(_Line(text), display_id=True)
