"""What every picture that needs the kernel has in common: its place in the page, and what is saved of it."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

import anywidget
import traitlets


class Live(anywidget.AnyWidget):
    """A widget that draws in every element of the class `place`, in which a saved notebook keeps its image.

    No view of it is shown: reopened with no kernel, a notebook has nothing but an error in the place of a view.
    """

    place = traitlets.Unicode(read_only=True).tag(sync=True)

    @traitlets.default("place")
    def _anywhere(self) -> str:
        # Notebooks of several kernels may be open in one page.
        return f"wb-live-{secrets.token_hex(8)}"

    def faces(self, text: str, still: str) -> dict[str, Any]:
        """What a notebook is given to show, and keeps: words, an image, and the place to draw in."""
        data = {"text/plain": text, "text/html": f'<div class="wb-live {self.place}">{still}</div>'}
        if _is_only_viewed():
            data = (super()._repr_mimebundle_() or ({}, {}))[0] | data
        return data

    def close(self) -> None:
        """End it, and its layout, which is a widget of its own."""
        if self.comm is not None:
            self.layout.close()
        super().close()


def _is_only_viewed() -> bool:
    """Whether this notebook's page knows of a widget only when a view of it is shown: in VS Code, and in Colab.

    VS Code shows the image where the kernel has no such widget any more.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    in_code = "VSCODE_PID" in os.environ or "__vsc_ipynb_file__" in getattr(shell, "user_ns", {})
    return in_code or "google.colab" in sys.modules
