"""Write `llms.txt` at the root of the site: each page with its title and first sentence, for assistants.

The order and the parts are those of the tables of contents, and nothing is written twice: the texts are the pages' own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.M | re.S)
_INCLUDED = re.compile(r"^```\{include\} (\S+)$", flags=re.M)
_FRONT = re.compile(r"\A---\n.*?^---\n", flags=re.M | re.S)
_FENCED = re.compile(r"^(`{3,}).*?^\1`*$", flags=re.M | re.S)
_LONGEST = 240  # characters of a description


def lines(docs: Path) -> Iterator[str]:
    """Yield the lines of the file."""
    index = (docs / "index.md").read_text(encoding="utf-8")
    title, said = about(docs / "index.md")
    yield from [f"# {title}", "", f"> {said}"]
    for block in _TOCTREE.findall(index):
        caption = re.search(r"^:caption: (.+)$", block, flags=re.M)
        if caption:
            yield from ["", f"## {caption[1]}", ""]
        for name in pages(block):
            yield entry(docs, name)
            inner = (docs / f"{name}.md").read_text(encoding="utf-8")
            folder = name.rpartition("/")[0]
            for each in [page for part in _TOCTREE.findall(inner) for page in pages(part)]:
                if (docs / folder / f"{each}.md").is_file():  # a lesson's page is made when the site is
                    yield entry(docs, f"{folder}/{each}")


def pages(block: str) -> list[str]:
    """Return the pages that a table of contents names."""
    return [line for line in block.splitlines() if line and not line.startswith(":") and "*" not in line]


def entry(docs: Path, name: str) -> str:
    """Return the line of a page."""
    title, said = about(docs / f"{name}.md")
    return f"- [{title}]({name}.html){f': {said}' if said else ''}"


def about(page: Path) -> tuple[str, str]:
    """Return a page's title and the first sentence below it, without markup; empty if there's no sentence."""
    text = page.read_text(encoding="utf-8")
    if included := _INCLUDED.match(text):
        text = (page.parent / included[1]).read_text(encoding="utf-8")
    text = _FENCED.sub("## Code", _FRONT.sub("", text))
    title = re.search(r"^# (.+)$", text, flags=re.M)
    begin = text[title.end() if title else 0 :].partition("\n## ")[0]
    paragraphs = [" ".join(each.split()) for each in begin.split("\n\n")]
    prose = [each for each in paragraphs if each and each[0] not in "#<|!:-"]
    plain = re.sub(r"\[([^\]]+)\]\([^)\s]*\)", r"\1", prose[0] if prose else "").replace("**", "")
    first = re.match(r".+?[.?!](?= [A-Z`]|$)", plain)
    return (title[1] if title else page.stem).replace("`", ""), (first[0] if first else plain)[:_LONGEST]


def write(app: Any, error: Exception | None) -> None:
    """Write the file once the pages are built."""
    if error is None and app.builder.format == "html":
        text = "\n".join(lines(Path(app.srcdir)))
        (Path(app.outdir) / "llms.txt").write_text(f"{text}\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
