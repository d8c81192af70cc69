"""The HTML faces: a page, and a part of one, that play the storyboard in any browser, with no kernel and no network."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from typing import Any

from .notebook_story import HOW, Plan, cut, packed_story, shortened
from .script import asset, bare, bare_css, compressed, dense, script, with_short_names
from .storyboard import Storyboard
from .svg import to_svg
from .text import to_sentence
from .theme import THEMES, Theme, live_css, theme_named

# Nothing may be loaded from anywhere: a lesson that was mailed to a class tells nobody who opens it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
MOST = 47_000  # characters that a picture adds to a notebook beside its image; the player takes 31,000 of them
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
    story = shortened(storyboard, _in_columns, most - len(_placed(storyboard, "", "")))
    image = img(storyboard)
    if story is None:
        return f"<div>{image}</div><p>{escape(_TOO_LARGE, quote=False)}</p>"
    return _placed(storyboard, image, story)


def has_room(storyboard: Storyboard, most: int) -> bool:
    """Whether a notebook keeps every step of the picture, if not every detail, in so many characters."""
    return len(_in_columns(cut(storyboard, Plan(0, 0)))) <= most - len(_placed(storyboard, "", ""))


def _placed(storyboard: Storyboard, image: str, story: str) -> str:
    name, (library, player) = f"wb-play-{_digest(story)}", _library(*_needed(storyboard))
    act = f"{inline()}({json.dumps(name)},{json.dumps(library)},"
    return f'<div class="{name}">{image}</div><script>{act}"{player}","{story}");</script>'


def _in_columns(storyboard: Storyboard) -> str:
    return dense(_as_json(packed_story(storyboard.to_dict())))


@cache
def inline() -> str:
    """What plays a picture in the notebook's page: a function, as text."""
    return with_short_names(bare(asset("inline.js")))


def _needed(storyboard: Storyboard) -> tuple[bool, bool]:
    """Whether the player needs the part that opens and closes groups, and the one for the parts of a film."""
    return bool(storyboard.folding.groups), bool(storyboard.chapter())


@cache
def _library(folds: bool, filmed: bool) -> tuple[str, str]:
    """The player as a script that sets itself as `mount` on its own element, packed, and the name that it goes by."""
    without = (*["fold.js"] * (not folds), *["rounds.js"] * (not filmed))
    # Each theme's values stand nine times in the stylesheet, and their names with them: here once.
    style = bare_css(live_css(".wb-player", lambda name: f"@{name}@") + asset("player.css"))
    names = list(THEMES["light"].values)
    values = {name: [theme.values[each] for each in names] for name, theme in THEMES.items()}
    text = (
        f"(()=>{{'use strict';const themes={json.dumps(values)},names={json.dumps(names)};"
        "const style=document.createElement('style'),declared=(_,name)=>"
        "names.map((each,i)=>`--wb-${each}:${themes[name][i]}`).join(';');"
        f"style.textContent={json.dumps(style)}.replace(/@(\\w+)@/g,declared);document.head.append(style);"
        f"{script('player.js', 'unpacking.js', without=without)}"
        "document.currentScript.mount=(el,told)=>mount(el,unpacked(told));})()"
    )
    data = dense(text)
    return _digest(data), data


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def embedded(storyboard: Storyboard) -> str:
    """The storyboard as JSON that no text in it can turn into markup."""
    return _as_json(storyboard.to_dict()).replace("<", "\\u003c")


def _as_json(told: dict[str, Any]) -> str:
    return json.dumps(told, allow_nan=False, separators=(",", ":"))


def img(storyboard: Storyboard, theme: str | Theme = "light") -> str:
    """An `<img>` element with the picture in it; it survives where scripts and inline SVG are taken out."""
    data = base64.b64encode(to_svg(storyboard, theme=theme).encode()).decode()
    alt = escape(to_sentence(storyboard))
    return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _player() -> str:
    # No text in it may end the script element.
    return script("player.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")
