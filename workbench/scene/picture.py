"""A picture as a person holds it: a notebook shows it, `save` keeps it.

The suffix of the file's name says which face is written.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from .diagrams import to_dot, to_mermaid
from .graphviz import LayoutUnavailable
from .html import playing, to_html
from .images import to_gif, to_mp4, to_pdf, to_png
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
        save_as(self.storyboard, path, step, theme)

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
    ".json": lambda storyboard, _k, _theme: json.dumps(storyboard.to_dict(), allow_nan=False),
}


def save_as(
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
    check_place(path)
    content = _FACES[suffix](storyboard, step, theme)
    write_whole(path, content.encode() if isinstance(content, str) else content)


def check_place(path: Path) -> None:
    """Refuse, before any work, a place where no file can be written: an OSError says why and what to do."""
    try:
        found = path.stat()  # of a device too: it is never opened
    except FileNotFoundError:
        if not path.resolve().parent.is_dir():
            raise _refusal(errno.ENOENT, "there is no such folder, so make it first", path) from None
    except NotADirectoryError:
        raise _refusal(errno.ENOTDIR, "a file stands where its folder should be, so save elsewhere", path) from None
    except OSError as error:
        hint = "the name is too long, so use a shorter one" if error.errno == errno.ENAMETOOLONG else error.strerror
        raise _refusal(error.errno, hint, path) from None
    else:
        if stat.S_ISDIR(found.st_mode):
            raise _refusal(errno.EISDIR, "a folder has this name, so use another", path)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(errno.EINVAL, "this is a pipe or a device, so give the name of a file", path)
        if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise _refusal(errno.EACCES, "the file is read-only, so make it writable or save elsewhere", path)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody, not even after a crash, sees half of it."""
    check_place(path)
    path = path.resolve()  # a link stays a link
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # Its name is known before it is there, so that no interrupt leaves it.
    draft = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode or 0o666)) as file:
            file.write(content)
        if mode is not None:
            draft.chmod(mode)
        os.replace(draft, path)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            # The user knows the file alone, not the one beside it.
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _refusal(number: int | None, sentence: str | None, path: Path) -> OSError:
    return OSError(number, sentence, str(path))


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
