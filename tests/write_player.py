"""Join the player's modules and stylesheets, and make them small with esbuild: python tests/write_player.py

It writes `player.min.js`, `inline.min.js` and `viewing.min.js` next to the modules in
`workbench/pictures/widgets/static`. The package sends these to browsers. `autograd-player.js`, for any other page, goes
to `assets/docs/_static`. It needs Node, whose npx fetches esbuild; using the package needs neither. The first line of
each file is the version, a hash of everything that it was made of, and a hash of the rest of the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

from workbench.pictures.scene.theme import live_css, overlay_css, picture_css

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "workbench" / "pictures" / "widgets" / "static"
ESBUILD = "esbuild@0.28.2"
RULES = STATIC.parents[1] / "scene" / "static" / "folding.json"  # read by a module
# The built files: a function that every picture carries; the player; the part for saved pages and overlays; and all of
# it as an element for any page.
PLACES = {
    "inline.min.js": STATIC,
    "player.min.js": STATIC,
    "viewing.min.js": STATIC,
    "autograd-player.js": ROOT / "assets" / "docs" / "_static",
}
FILES = tuple(PLACES)


def modules() -> list[Path]:
    """The scripts as they are written."""
    return sorted(path for path in STATIC.glob("*.js") if path.name not in FILES)


def stylesheet() -> str:
    """The whole stylesheet of every player, as it is written; `&` is the class of the version."""
    own = (STATIC.joinpath(name).read_text(encoding="utf-8") for name in ("player.css", "stepper.css"))
    return "\n".join([live_css("&.wb-player"), picture_css(), *own])


def more_styles() -> str:
    """The stylesheet of what `viewing.js` adds, as it is written."""
    return "\n".join([overlay_css(), STATIC.joinpath("viewing.css").read_text(encoding="utf-8")])


def version() -> str:
    """The class that the roots of these players have: it tells all that the files are made of, and how."""
    texts = [path.read_text(encoding="utf-8") for path in (*modules(), RULES, Path(__file__))]
    return f"wb-{digest(chr(0).join([*texts, stylesheet(), more_styles()]))}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def headed(text: str) -> str:
    """A file's text under the line that says what it was made of."""
    return f"// {version()} {digest(text)}: made by tests/write_player.py\n{text}"


def made() -> dict[str, str]:
    """The texts of the files, by name."""
    style = _esbuild("--minify", "--loader=css", text=f".{version()} {{\n{stylesheet()}\n}}")
    joined = _esbuild("--minify", "--bundle", "--format=iife", "--global-name=library", str(STATIC / "library.js"))
    once = f'(globalThis.workbenchLibraries ??= {{}})["{version()}"]'
    names = f"const LIBRARY_VERSION = {json.dumps(version())}, LIBRARY_STYLE = {json.dumps(style)};"
    own = "const LIBRARY_SOURCE = workbenchLibrary.toString();"  # for pages that it saves
    library = f"{once} ??= (function workbenchLibrary() {{{names}{own}{joined}return library;}})();\n"
    # Its syntax stays: of a function that nobody calls nothing would be left.
    small = ("--minify-whitespace", "--minify-identifiers")
    inline = _esbuild(*small, text=(STATIC / "inline.js").read_text(encoding="utf-8")).rstrip(";\n")
    assert "</script" not in library and "<!--" not in library and "<" not in inline  # they stand in pages
    # Its rules come before those of the library in a page, and win: its class counts twice.
    style = _esbuild("--minify", "--loader=css", text=f".{version()}.{version()} {{\n{more_styles()}\n}}")
    names = f"const LIBRARY_VERSION = {json.dumps(version())}, VIEWING_STYLE = {json.dumps(style)};"
    options = ("--minify", "--bundle", "--format=iife")
    viewing = _esbuild(*options, "--global-name=viewing", str(STATIC / "viewing.js"))
    viewing = (
        f'globalThis.workbenchLibraries["{version()}-viewing"] ??= (() => {{{names}{viewing}return viewing;}})();\n'
    )
    element = f"{library}(() => {{{names}{_esbuild(*options, str(STATIC / 'element.js'))}}})();\n"
    # Another page may have another encoding. Only texts and patterns have characters outside ASCII.
    element = re.sub(r"[^\x00-\x7f]", lambda sign: json.dumps(sign[0])[1:-1], element)
    assert "</script" not in viewing and "<!--" not in viewing
    texts = (f"{inline}\n", library, viewing, element)
    return {name: headed(text) for name, text in zip(FILES, texts, strict=True)}


def can_make() -> bool:
    """Whether esbuild can be run with nothing to fetch."""
    npx = shutil.which("npx")
    return npx is not None and not subprocess.run([npx, "--no", ESBUILD, "--version"], capture_output=True).returncode


def _esbuild(*options: str, text: str | None = None) -> str:
    npx = shutil.which("npx")
    if npx is None:
        raise SystemExit("esbuild runs in Node: install Node.js, then run this again.")
    ran = subprocess.run(
        [npx, "--yes", ESBUILD, "--charset=utf8", *options],
        input=text, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return ran.stdout.rstrip("\n")


def main() -> None:
    for name, text in made().items():
        PLACES[name].joinpath(name).write_text(text, encoding="utf-8", newline="\n")
        print(f"Wrote {name}: {len(text.encode()):,} bytes.")


if __name__ == "__main__":
    main()
