"""A picture as a person holds it: a notebook shows it, a page plays it, `save` keeps it.

The page, and the part of one that a notebook keeps, play in any browser, with no kernel and no network. The suffix of a
file's name says which face is written.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from html import escape
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from .images import to_gif, to_mp4, to_pdf, to_png, to_svg
from .layout import LayoutUnavailable
from .messages import (
    FILE_AS_FOLDER,
    HOLDS_EVERY_STEP,
    HOLDS_NO_LOOK,
    IS_DEVICE,
    IS_FOLDER,
    LONG_NAME,
    NO_FOLDER,
    READ_ONLY,
    UNKNOWN_SUFFIX,
)
from .model import PLACED
from .payload import (
    HOW,
    Plan,
    asset,
    bare,
    bare_css,
    compressed,
    cut,
    dense,
    packed_levels,
    packed_story,
    script,
    shortened,
    with_short_names,
)
from .storyboard import Storyboard
from .text import to_dot, to_mermaid, to_sentence, to_text
from .theme import THEMES, Theme, live_css, theme_named


class Picture:
    """A storyboard with all its faces: in a notebook the player, an image where that cannot run, and always text.

    A notebook keeps at most 46 kB of it beside the image, of most about 31, and says what of a larger one is left out;
    `save` keeps all.
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


# Nothing may be loaded from anywhere: a lesson that was mailed to a class tells nobody who opens it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
MOST = 46_000  # characters that a picture adds to a notebook beside its image; the player takes up to 34,600 of them
_WIRE = 10  # characters at least of each piece of an arrow's way, where groups open
_FEW_PARTS = 5  # of a film
_RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")
_OF_CHARTS = rf"kind-(?:{'|'.join(PLACED)})(?![\w-])|shade-"  # classes that only charts have
_OF_FLOW = "tone-|weight-"  # and only arrows whose breadth says how large a gradient is
_TOO_LARGE = f"This picture is too large to be played in a notebook: {HOW}, and plays it."
_LARGE = 300_000  # characters of JSON: more are packed
_PAGE_CSS = """
:root { color-scheme: var(--wb-scheme); }
body {
  margin: 0; background: var(--wb-canvas); color: var(--wb-ink);
  font: calc(16px * var(--wb-scale))/1.5 system-ui, sans-serif;
}
main { max-width: 1200px; margin: 0 auto; padding: 12px 16px; }
h1 { margin: 0 0 8px; font-size: calc(20px * var(--wb-scale)); overflow-wrap: anywhere; }
noscript img { max-width: 100%; height: auto; }
"""
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
{player}
const held = document.getElementById("storyboard");
const unpacked = () => {{
  const packed = new Blob([Uint8Array.from(atob(held.textContent), (each) => each.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}};
let storyboard = null; // of a damaged page the player says so
try {{ storyboard = JSON.parse(held.type === "application/gzip" ? await unpacked() : held.textContent); }} catch {{}}
mount(document.getElementById("player"), storyboard, {{ theme: "{theme}", dressed: document.documentElement }});
</script>
</body>
</html>
"""


def to_html(storyboard: Storyboard, theme: str | Theme | None = None) -> str:
    """The storyboard as a page that holds everything it needs; it opens in the theme, or as its reader likes it."""
    chosen = "auto" if theme is None else theme_named(theme).name
    kind, data = "application/json", embedded(storyboard)
    if len(data) > _LARGE:  # the steps of a long story are much alike
        kind, data = "application/gzip", compressed(data)
    return _PAGE.format(
        policy=escape(_POLICY),
        title=escape(storyboard.title or "Autograd workbench"),
        style=live_css(":root") + asset("player.css") + _PAGE_CSS,
        still=img(storyboard, theme or "light"),
        theme=chosen,
        kind=kind,
        storyboard=data,
        player=_player(),
    )


def playing(storyboard: Storyboard, most: int = MOST) -> str:
    """The picture as a notebook keeps it: an image, and a script that puts the player in its place.

    Where no script may run, as in a notebook that nobody trusts, the image stays. Both of them, without the image, have
    at most so many characters: a story that is too long for that is told in part, and one that is so even then not.
    """
    room = most - len(_placed(storyboard, "", ""))
    story = shortened(storyboard, lambda short: _in_columns(short, room), room)
    image = img(storyboard)
    if story is None:
        return f"<div>{image}</div><p>{escape(_TOO_LARGE, quote=False)}</p>"
    return _placed(storyboard, image, story)


def has_room(storyboard: Storyboard, most: int) -> bool:
    """Whether a notebook keeps every step of the picture, if not every detail, in so many characters."""
    room = most - len(_placed(storyboard, "", ""))
    story = _in_columns(cut(storyboard, Plan(0, 0)), room)
    return isinstance(story, str) and len(story) <= room


def _placed(storyboard: Storyboard, image: str, story: str) -> str:
    scene, changes = storyboard.scene, (change for step in storyboard.steps for change in step.arrows.values())
    there = {
        _OF_CHARTS: any(box.kind in PLACED for box in scene.boxes.values()),
        _OF_FLOW: any(arrow.weight for arrow in scene.arrows.values()) or any("weight" in each for each in changes),
    }
    absent = "|".join(styles for styles, used in there.items() if not used)
    name, (library, player) = f"wb-play-{_digest(story)}", _library(_left_out(storyboard), absent)
    act = f"{inline()}({json.dumps(name)},{json.dumps(library)},"
    return f'<div class="{name}">{image}</div><script>{act}"{player}","{story}");</script>'


def _in_columns(storyboard: Storyboard, room: float = inf) -> str | int:
    """The storyboard in columns, or about how long it is, if that is too long whatever is laid out inside of groups."""
    told = storyboard.flat_dict()
    story = packed_story(told)
    if storyboard.folding.groups:
        # dense() needs 15 characters for 16 of compressed().
        length = len(compressed(_as_json(story))) * 15 // 16 + _WIRE * storyboard.levels.wires
        if length > room:
            return length
        story["levels"] = packed_levels(told, storyboard.levels_dict())
    return dense(_as_json(story))


@cache
def inline() -> str:
    """What plays a picture in the notebook's page: a function, as text."""
    return with_short_names(bare(asset("inline.js")))


def _left_out(storyboard: Storyboard) -> tuple[str, ...]:
    """The player's modules that a picture does without."""
    parts = sum(step.chapter != "" for step in storyboard.steps)
    boxes = storyboard.scene.boxes.values()
    leads = any("goto" in change for step in storyboard.steps for change in step.boxes.values())
    needed = {
        "fold.js": bool(storyboard.folding.groups),
        "rounds.js": parts > 0,
        "stacked.js": leads or any(box.goto is not None or box.plot or box.kind == "story" for box in boxes),
        # A long film has no room for it: more of its steps are kept.
        "compact.js": parts <= _FEW_PARTS
        and all(not box.plot and (box.kind == "story" or box.kind not in PLACED) for box in boxes),
    }
    return tuple(name for name, yes in needed.items() if not yes)


@cache
def _library(without: tuple[str, ...], absent: str) -> tuple[str, str]:
    """The player as a script that sets itself as `mount` on its own element, packed, and the name that it goes by.

    It has no styles of the classes that are `absent`.
    """
    # Each theme's values stand nine times in the stylesheet, and their names with them: here once, and as numbers.
    style = bare_css(live_css(".wb-player", lambda name: f"@{name}@") + asset("player.css"))
    if absent:
        style = _RULE.sub(partial(_without, re.compile(rf"\.wb-(?:{absent})")), style)
    names = {name: f"--wb-{number}" for number, name in enumerate(THEMES["light"].values)}
    values = {name: [theme.values[each] for each in names] for name, theme in THEMES.items()}
    text = (
        f"(()=>{{'use strict';const themes={json.dumps(values)};"
        "const style=document.createElement('style'),declared=(_,name)=>"
        "themes[name].map((value,i)=>`--wb-${i}:${value}`).join(';');"
        f"style.textContent={json.dumps(style)}.replace(/@(\\w+)@/g,declared);document.head.append(style);"
        f"{script('player.js', 'unpacking.js', without=without)}"
        "document.currentScript.mount=(el,told)=>mount(el,unpacked(told));})()"
    )
    text = re.sub(r"--wb-([\w-]+)", lambda found: names.get(found[1], found[0]), text)
    data = dense(text)
    return _digest(data), data


def _without(classes: re.Pattern[str], rule: re.Match[str]) -> str:
    """A rule of a stylesheet without what has one of these classes."""
    kept = [each for each in re.split(r",(?![^(]*\))", rule[1]) if not classes.search(each)]
    return ",".join(kept) + rule[2] if kept else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def embedded(storyboard: Storyboard) -> str:
    """The storyboard as JSON that no text in it can turn into markup."""
    return _as_json(storyboard.to_dict()).replace("<", "\\u003c")


def _as_json(told: dict[str, Any]) -> str:
    return json.dumps(told, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def img(storyboard: Storyboard, theme: str | Theme = "light") -> str:
    """An `<img>` element with the picture in it; it survives where scripts and inline SVG are taken out."""
    data = base64.b64encode(to_svg(storyboard, theme=theme).encode()).decode()
    alt = escape(to_sentence(storyboard))
    return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _player() -> str:
    # No text in it may end the script element.
    return script("player.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")


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
        raise ValueError(UNKNOWN_SUFFIX.format(path.name, _listed(list(_FACES))))
    if step is not None and suffix not in _STILL:
        raise ValueError(HOLDS_EVERY_STEP.format(suffix, _listed(list(_STILL))))
    if theme is not None and suffix == ".json":
        raise ValueError(HOLDS_NO_LOOK)
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
            raise _refusal(errno.ENOENT, NO_FOLDER, path) from None
    except NotADirectoryError:
        raise _refusal(errno.ENOTDIR, FILE_AS_FOLDER, path) from None
    except OSError as error:
        hint = LONG_NAME if error.errno == errno.ENAMETOOLONG else error.strerror
        raise _refusal(error.errno, hint, path) from None
    else:
        if stat.S_ISDIR(found.st_mode):
            raise _refusal(errno.EISDIR, IS_FOLDER, path)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(errno.EINVAL, IS_DEVICE, path)
        if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise _refusal(errno.EACCES, READ_ONLY, path)


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
