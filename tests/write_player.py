"""Join the player's modules and stylesheets, and make them small with esbuild: python tests/write_player.py

It writes `player.min.js` and `inline.min.js` beside the modules in `workbench/widgets/static`, which are what the
package sends to browsers. It needs Node, whose npx fetches esbuild; who only uses the package needs neither. The first
line of each file tells the version, which is a hash of all that it was made of, and a hash of the rest of the file.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from workbench.scene.theme import live_css, picture_css

STATIC = Path(__file__).resolve().parents[1] / "workbench" / "widgets" / "static"
ESBUILD = "esbuild@0.28.2"
RULES = STATIC.parents[1] / "scene" / "static" / "folding.json"  # read by a module
# What is made, by its name: one function, which stands in every picture, and all the rest.
FILES = ("inline.min.js", "player.min.js")


def modules() -> list[Path]:
    """The scripts as they are written."""
    return sorted(path for path in STATIC.glob("*.js") if path.name not in FILES)


def stylesheet() -> str:
    """The whole stylesheet of every player, as it is written; `&` is the class of the version."""
    own = (STATIC.joinpath(name).read_text(encoding="utf-8") for name in ("player.css", "stepper.css"))
    return "\n".join([live_css("&.wb-player"), picture_css(), *own])


def version() -> str:
    """The class that the roots of these players have: it tells all that the files are made of, and how."""
    texts = [path.read_text(encoding="utf-8") for path in (*modules(), RULES, Path(__file__))]
    return f"wb-{digest(chr(0).join([*texts, stylesheet()]))}"


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
    return {"inline.min.js": headed(f"{inline}\n"), "player.min.js": headed(library)}


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
        STATIC.joinpath(name).write_text(text, encoding="utf-8", newline="\n")
        print(f"Wrote {name}: {len(text.encode()):,} bytes.")


if __name__ == "__main__":
    main()
