"""One line below a notebook's cell that says how far a training is, written over itself."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

_PAUSE = 0.5  # seconds between two updates: a reader sees no more, and a notebook's server has others to serve


class ProgressLine:
    """Tells the step, the norm of all gradients and what was found; outside of a notebook it does nothing.

    It is one output of its cell, however long the training is.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._norm = self._last = ""
        self._found = 0
        self._next = 0.0  # when it may be written again
        self._handle = _handle(f"{name}: no step yet")

    def tell(self, steps: int) -> None:
        """So many steps were taken."""
        if self._handle is not None and time.monotonic() >= self._next:
            self._write(f"step {steps:,}")

    def watched(self, step: int, norm: float) -> None:
        """The norm of all gradients in a step that was watched."""
        if self._handle is not None:
            self._norm = f" · norm of all gradients {norm:.3g} in step {step:,}"

    def found(self, sentence: str) -> None:
        """What was found."""
        self._found, self._last, self._next = self._found + 1, sentence, 0.0

    def end(self, steps: int) -> None:
        """Nothing is watched any more, after so many steps."""
        if self._handle is not None:
            self._write(f"ended after step {steps:,}")

    def _write(self, how_far: str) -> None:
        found = f" · findings: {self._found:,}, the last of {self._last}" if self._found else " · no findings"
        self._next = time.monotonic() + _PAUSE
        self._handle.update(_Line(f"{self._name}: {how_far}{self._norm}{found}"))


class _Line:
    """A line of text, in a page in a font whose digits keep their places."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<div style="font-variant-numeric: tabular-nums">{html.escape(self._text)}</div>'


def _handle(text: str) -> Any:
    """What writes over an output of the cell that runs; None outside of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display(_Line(text), display_id=True)
