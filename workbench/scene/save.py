"""Saving a picture: the suffix of the file's name says which face is written."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from .dot import to_dot
from .html import to_html
from .png import to_png
from .storyboard import Storyboard
from .svg import to_svg

_FACES: dict[str, Callable[[Storyboard], str | bytes]] = {
    ".html": to_html,
    ".svg": to_svg,
    ".png": to_png,
    ".dot": to_dot,
    ".json": lambda storyboard: json.dumps(storyboard.to_dict(), allow_nan=False),
}


def save(storyboard: Storyboard, path: str | PathLike[str]) -> None:
    """Write the storyboard's face that the suffix names; the file is there in full or not at all."""
    path = Path(path)
    face = _FACES.get(path.suffix.lower())
    if face is None:
        raise ValueError(f"Cannot save a picture as {path.name!r}: use a name that ends in {_listed(list(_FACES))}.")
    content = face(storyboard)
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
