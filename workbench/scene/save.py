"""Saving a picture: the suffix of the file's name says which face is written."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from .dot import to_dot
from .film import to_gif, to_mp4
from .html import to_html
from .mermaid import to_mermaid
from .png import to_pdf, to_png
from .storyboard import Storyboard
from .svg import to_svg
from .theme import Theme

_Face = Callable[[Storyboard, int | None, Any], str | bytes]  # the last is a theme; only .html gets None

_STILL: dict[str, _Face] = {".svg": to_svg, ".png": to_png, ".pdf": to_pdf, ".dot": to_dot, ".mmd": to_mermaid}
_PLAYING: dict[str, _Face] = {
    ".gif": lambda storyboard, _, theme: to_gif(storyboard, theme),
    ".mp4": lambda storyboard, _, theme: to_mp4(storyboard, theme),
}
_FACES: dict[str, _Face] = {
    ".html": lambda storyboard, _, theme: to_html(storyboard, theme),
    **_STILL,
    **_PLAYING,
    ".json": lambda storyboard, *_: json.dumps(storyboard.to_dict(), allow_nan=False),
}


def save(
    storyboard: Storyboard, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None
) -> None:
    """Write the storyboard's face that the suffix names; the file is there in full or not at all.

    A still picture shows what is there after `step`, counted from 0 (None: the storyboard's choice). Without a theme a
    page is light or dark as its reader likes, and everything else light.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _FACES:
        raise ValueError(f"Cannot save a picture as {path.name!r}: use a name that ends in {_listed(list(_FACES))}.")
    if step is not None and suffix not in _STILL:
        raise ValueError(f"A {suffix} file holds every step, so leave `step` out, or save {_listed(list(_STILL))}.")
    if theme is not None and suffix == ".json":
        raise ValueError("A .json file holds what a picture shows and not how it looks, so leave `theme` out.")
    if theme is None and suffix != ".html":
        theme = "light"
    content = _FACES[suffix](storyboard, step, theme)
    write_whole(path, content.encode() if isinstance(content, str) else content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody, not even after a crash, sees half of it."""
    path = path.resolve()  # a link stays a link
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:  # of which the user knows the file alone, not the one beside it
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    # The only way to ask is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
