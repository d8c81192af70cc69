"""A picture for people: a notebook shows it, a page plays it, `save` writes it to a file.

The page, and the part of one that a notebook stores, play in any browser, without a kernel or a network. The suffix of
a file's name sets the format.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from ...errors import check_installed
from .displays import marimo_here
from .film import to_gif, to_mp4
from .layout import LayoutUnavailable
from .matplotlib_drawing import to_pdf, to_png
from .payload import compressed, inline, library, viewing
from .player_data import flat_data, levels_data, tabs_data
from .shortening import HOW, Plan, cut, shortened
from .storyboard import Storyboard
from .svg import to_svg
from .text import to_dot, to_mermaid, to_sentence, to_text
from .theme import Theme, live_css, theme_named


class Picture:
    """A picture that a notebook plays, `print` shows as text, and `save` writes to a file.

    If the player can't run, the notebook shows a still image. A notebook stores at most 150 kB of the picture, or
    400 kB of an animation; a larger picture is shortened and says what is left out. `save` writes everything.
    """

    def __init__(self, storyboard: Storyboard) -> None:
        self.storyboard = storyboard

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write the picture to a file. The suffix of `path` chooses the format.

        | Suffix                   | The file contains                                                      |
        | ------------------------ | ---------------------------------------------------------------------- |
        | .html                    | the player, in one page that needs no kernel and no network            |
        | .gif, .mp4               | an animation of all steps                                              |
        | .svg, .png, .pdf         | a still picture of one step                                            |
        | .dot, .mmd               | the graph of one step as text, for Graphviz or Mermaid                 |
        | .json                    | the trace, which `workbench.load` reads, with the picture, which any   |
        |                          | saved page opens; the data of any other picture                        |

        Without `step`, a still picture shows the most informative step, such as the graph before backward frees any of
        it.

        Args:
            path: The file to write.
            step: The step to draw, counted from 0: the player's "5 / 7" is step 4.
            theme: "light", "dark", "projector" or "print".

        Raises:
            ValueError: if there is no such suffix, step or theme.
            ModuleNotFoundError: if a package that the format needs isn't installed; the message has the command to
                install it.
            OSError: if the file can't be written.
        """
        save_as(self.storyboard, path, step, theme)

    def to_html(self, theme: str | Theme | None = None) -> str:
        """Return a self-contained page that plays the picture.

        Without a theme, the page follows the reader's light or dark setting.
        """
        return to_html(self.storyboard, theme)

    def to_svg(self, k: int | None = None, theme: str | Theme = "light") -> str:
        """Return the picture after step `k` as an SVG document, in the colors of `theme`.

        If `k` is None, the most informative step is chosen.
        """
        return to_svg(self.storyboard, k, theme)

    def __repr__(self) -> str:
        return to_text(self.storyboard)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        text = repr(self)
        try:
            html = playing(self.storyboard)
            return {"text/plain": text, "text/html": html if marimo_here() is None else self._in_frame(html)}
        except LayoutUnavailable as problem:
            return {"text/plain": f"{text}\n\n{problem}"}

    def _in_frame(self, html: str) -> str:
        """Return it in a frame of its own, for notebooks that run no script of an output."""
        page = _FRAMED.format(policy=escape(_POLICY), html=html)
        high = max(_LEAST_FRAME, min(_MOST_FRAME, round(self.storyboard.layout.height) + _AROUND))
        style = f"display: block; width: 100%; height: {high}px; border: 0"
        return f'<iframe title="{escape(self.storyboard.title)}" srcdoc="{escape(page)}" style="{style}"></iframe>'


# The page may not load anything: a lesson mailed to a class doesn't reveal who opens it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
MOST = 150_000  # bytes of a picture in a notebook; about 48,000 of them are the library
MOST_OF_FILM = 400_000  # bytes of a film there
_LEAST_OF_TABS = 10_000  # bytes: in less no other view is worth being made
_TOO_LARGE = f"This picture is too large to play in a notebook: {HOW}, and plays it."
_LARGE = 300_000  # characters of JSON: more are packed
_PAGE_CSS = """
:root { color-scheme: var(--wb-scheme); }
body {
  margin: 0; background: var(--wb-canvas); color: var(--wb-ink);
  font: calc(16px * var(--wb-scale))/1.5 system-ui, sans-serif;
}
main { max-width: 1200px; margin: 0 auto; padding: 12px 16px; }
h1 { margin: 0 0 8px; font-size: calc(20px * var(--wb-scale)); overflow-wrap: anywhere; }
.wb-page-head { display: flex; align-items: flex-start; justify-content: space-between; gap: 16px; }
.wb-opener {
  flex: none; padding: 3px 12px; border: 1px solid var(--wb-rule); border-radius: 7px; background: var(--wb-panel);
  color: var(--wb-ink); font: inherit; font-size: calc(13px * var(--wb-scale)); cursor: pointer;
}
.wb-opener:hover { border-color: var(--wb-muted); }
.wb-opener:focus-visible { outline: 2px solid var(--wb-accent); outline-offset: 2px; }
.wb-opening { margin: 0 0 8px; font-size: calc(13px * var(--wb-scale)); overflow-wrap: anywhere; }
.wb-opening:empty { display: none; }
[data-wb-over] body { min-height: 100vh; outline: 3px dashed var(--wb-accent); outline-offset: -6px; }
@media print { .wb-opener, .wb-opening { display: none; } }
noscript img { max-width: 100%; height: auto; }
"""
_LEAST_FRAME = 400  # px: the height of a frame
_MOST_FRAME = 680
_AROUND = 190  # px of it that are around the picture
_FRAMED = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="{policy}"><title>Picture</title></head>'
    '<body style="margin: 0">{html}</body></html>'
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="player"><p>The picture appears here when the whole page has loaded.</p></div>
<noscript><style>#player {{ display: none; }}</style>{still}</noscript>
</main>
<script type="{kind}" id="storyboard">{storyboard}</script>
<script type="module">
{library}
const held = document.getElementById("storyboard");
const unpacked = () => {{
  const packed = new Blob([Uint8Array.from(atob(held.textContent), (each) => each.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}};
let storyboard = null; // of a damaged page the player says so
try {{ storyboard = JSON.parse(held.type === "application/gzip" ? await unpacked() : held.textContent); }} catch {{}}
{view}(document.getElementById("player"), storyboard, {{ theme: "{theme}", dressed: document.documentElement }});
</script>
</body>
</html>
"""


def to_html(storyboard: Storyboard, theme: str | Theme | None = None) -> str:
    """Return the storyboard as a self-contained page; it opens in the theme, or in the reader's preference."""
    chosen = "auto" if theme is None else theme_named(theme).name
    kind, data = "application/json", embedded(storyboard)
    if len(data) > _LARGE:  # the steps of a long story are much alike
        kind, data = "application/gzip", compressed(data)
    return _PAGE.format(
        policy=escape(_POLICY),
        title=escape(storyboard.title or "Autograd workbench"),
        style=live_css(":root") + _PAGE_CSS,
        still=img(storyboard, theme or "light"),
        theme=chosen,
        kind=kind,
        storyboard=data,
        library=viewing()[1],
        view=f'globalThis.workbenchLibraries["{viewing()[0]}"].view',
    )


def playing(storyboard: Storyboard) -> str:
    """Return the picture as a notebook stores it: an image, and a script that replaces it with the player.

    Where no script may run, as in an untrusted notebook, the image stays. The total has at most the bytes that a
    notebook keeps of a picture, or of an animation, and all but the image at least half of them. A story that is too
    long for that is shortened.
    """
    plots = any(box.plot is not None for box in storyboard.scene.boxes.values())  # an exploration, at every position
    large = plots or storyboard.inside is not None or any(step.chapter for step in storyboard.steps)
    image, most, placed = (
        img(storyboard),
        MOST_OF_FILM if large else MOST,
        partial(_placed, overlay=storyboard.overlay is not None),
    )
    room = max(most - len(image.encode()), most // 2) - len(placed("", ""))
    story = shortened(storyboard, partial(_packed, room=room), room)
    if story is None:
        return f"<div>{image}</div><p>{escape(_TOO_LARGE, quote=False)}</p>"
    inside = _inside(storyboard, room - len(story) - len(',""'))
    room = most - len(image.encode()) - len(placed("", story, inside)) - len(',"",[]')
    return placed(image, story, inside, _tabs(storyboard, room))


def _tabs(storyboard: Storyboard, room: int) -> list[list[str]]:
    """Return the tabs as a picture's script stores them: those that there is room for, the smallest first."""
    if not storyboard.tabs or room < _LEAST_OF_TABS:
        return []
    told = tabs_data(storyboard, partial(_packed, room=room))
    while sum(len(json.dumps(each)) + 1 for each in told) > room:
        told.remove(max(told, key=lambda each: len(each[1] or "")))
    return [[name, packed or ""] for name, packed in told] if len(told) > 1 else []


def _cut_dict(storyboard: Storyboard, plan: Plan) -> dict[str, Any]:
    return cut(storyboard, plan).to_dict()


def _inside(storyboard: Storyboard, room: int) -> str:
    """Return what boxes lead into: with all details, with none, or only in words, as there is room."""
    inside = storyboard.inside
    if inside is None:
        return ""
    for plan in (Plan(), Plan(details=0)):
        told = compressed(_as_json(inside.to_dict(partial(_cut_dict, plan=plan))))
        if len(told) <= room:
            return told
    return compressed(_as_json(inside.to_dict(None)))


def _packed(storyboard: Storyboard, room: int) -> str:
    """Return the storyboard as a picture's script stores it; if it is too long, no inside of a group is laid out."""
    flat = compressed(_as_json(flat_data(storyboard, small=False)))
    if len(flat) > room:
        return flat
    folds = bool(storyboard.folding.groups) and not storyboard.has_rows
    return compressed(_as_json(flat_data(storyboard) | ({"levels": levels_data(storyboard)} if folds else {})))


def _placed(image: str, story: str, inside: str = "", tabs: Sequence[Sequence[str]] = (), overlay: bool = False) -> str:
    version, _ = viewing() if overlay else library()
    name = f"wb-play-{_digest(version + story + inside)}"
    act = f"{inline()}({json.dumps(name)},{json.dumps(version)},"
    more = f',"{inside}"' if inside or tabs else ""
    more += "," + json.dumps(tabs, separators=(",", ":")) if tabs else ""
    return f'<div class="{name}">{image}</div><script>{act}"{_packed_library(overlay)}","{story}"{more});</script>'


@cache
def _packed_library(overlay: bool) -> str:
    return compressed((viewing() if overlay else library())[1])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def carried(storyboard: Storyboard) -> dict[str, str]:
    """Return the picture as the file of its trace carries it: with the version of the library that plays it."""
    return {"library": library()[0], "story": compressed(_as_json(storyboard.to_dict()))}


def embedded(storyboard: Storyboard) -> str:
    """Return the storyboard as JSON that no text in it can turn into markup."""
    return _as_json(storyboard.to_dict()).replace("<", "\\u003c")


def _as_json(told: dict[str, Any]) -> str:
    return json.dumps(told, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def img(storyboard: Storyboard, theme: str | Theme = "light") -> str:
    """Return an `<img>` element with the picture in it; it survives where scripts and inline SVG are removed."""
    data = base64.b64encode(to_svg(storyboard, theme=theme).encode()).decode()
    alt = escape(to_sentence(storyboard))
    return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


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

_DRAWN_BY: dict[str, tuple[str, ...]] = {
    ".png": ("matplotlib",),
    ".pdf": ("matplotlib",),
    ".gif": ("matplotlib", "PIL", "tqdm"),
    ".mp4": ("matplotlib", "tqdm"),
}


def save_as(
    storyboard: Storyboard, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None
) -> None:
    """Write the storyboard's face that the suffix names; the file is there in full or not at all.

    A still picture shows what is there after `step`, counted from 0 (None: the storyboard's choice). Without a theme a
    page is light or dark as its reader likes, and everything else light.
    """
    path = Path(path)
    suffix = check_suffix(path)
    if step is not None and suffix not in _STILL:
        raise ValueError(f"A {suffix} file holds every step, so leave `step` out, or save {_listed(list(_STILL))}.")
    if theme is not None and suffix == ".json":
        raise ValueError("A .json file stores the content of a picture, not its look, so leave `theme` out.")
    if theme is None and suffix != ".html":
        theme = "light"
    check_place(path)
    content = _FACES[suffix](storyboard, step, theme)
    write_whole(path, content.encode() if isinstance(content, str) else content)


def check_suffix(path: Path) -> str:
    """Return the suffix that selects the format, in lower case; ValueError lists the formats.

    Errors: ModuleNotFoundError, with what to type, where the package that draws it is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in _FACES:
        raise ValueError(f"Cannot save a picture as {path.name!r}: use a name that ends in {_listed(list(_FACES))}.")
    check_installed(f"A {suffix} file", *_DRAWN_BY.get(suffix, ()))
    return suffix


def check_place(path: Path) -> None:
    """Refuse, before any work, a place where no file can be written: an OSError says why and what to do."""
    try:
        found = path.stat()  # of a device too: it is never opened
    except FileNotFoundError:
        if not path.resolve().parent.is_dir():
            raise _refusal(errno.ENOENT, "the folder does not exist, so create it first", path) from None
    except NotADirectoryError:
        raise _refusal(errno.ENOTDIR, "its folder is a file, so save elsewhere", path) from None
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
    """Write a file so that readers never see half of it, even after a crash."""
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
