"""A picture as a person holds it: a notebook shows it, `save` keeps it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .graphviz import LayoutUnavailable
from .html import playing, to_html
from .save import save
from .storyboard import Storyboard
from .svg import to_svg
from .text import to_text
from .theme import Theme


class Picture:
    """A storyboard with all its faces: in a notebook the player, an image where that cannot run, and always text.

    A notebook keeps at most 35 kB of it beside the image, and says what of a larger one is left out; `save` keeps all.
    """

    def __init__(self, storyboard: Storyboard) -> None:
        self.storyboard = storyboard

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write a file by its suffix: a page, film, still picture, graph in text, or data.

        .html, .gif and .mp4 play; .svg, .png, .pdf, .dot and .mmd (Mermaid) show what the view is about at one glance
        (a graph before backward frees any of it), or one step (counted from 0: what a player calls "5 / 7" is step 4);
        .json is data. `theme` is light, dark, projector or print.
        """
        save(self.storyboard, path, step, theme)

    def to_html(self, theme: str | Theme | None = None) -> str:
        """A page that plays the picture with no kernel and no network (theme None: as its reader likes)."""
        return to_html(self.storyboard, theme)

    def to_svg(self, k: int | None = None, theme: str | Theme = "light") -> str:
        """The picture after step k (None: its own choice, as `save` makes it) as a standalone SVG document."""
        return to_svg(self.storyboard, k, theme)

    def __repr__(self) -> str:
        return to_text(self.storyboard)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        text = repr(self)
        try:
            return {"text/plain": text, "text/html": playing(self.storyboard)}
        except LayoutUnavailable as problem:
            return {"text/plain": f"{text}\n\n{problem}"}
