"""A diff as a file: a page with its text above the picture of both graphs, or data."""

from __future__ import annotations

import html
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ...pictures.scene.picture import check_suffix, write_whole

if TYPE_CHECKING:
    from .report import Diff

_TEXT = '<pre style="white-space: pre-wrap; overflow-wrap: anywhere">{}</pre>\n'
_END = "</h1>\n"  # of a page's heading, below which the text stands
_ALONE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Diff</title>
<style>:root {{ color-scheme: light dark; }} main {{ max-width: 1200px; margin: 0 auto; padding: 12px 16px; }}</style>
</head>
<body>
<main>
<h1>Diff</h1>
{text}<p>{why}</p>
</main>
</body>
</html>
"""


def save(diff: Diff, path: str | PathLike[str]) -> None:
    """Write the diff: data for ".json", a page for ".html", else a picture."""
    suffix = check_suffix(Path(path))
    if suffix == ".json":
        write_whole(Path(path), f"{diff.to_json()}\n".encode())
    elif suffix == ".html":
        write_whole(Path(path), page(diff).encode())
    else:
        diff.show().save(path)


def page(diff: Diff) -> str:
    """Return the page of a diff; graphs that are too large to draw are left out."""
    text = _TEXT.format(html.escape(str(diff)))
    try:
        drawn = diff.show().to_html()
    except ValueError as error:
        return _ALONE.format(text=text, why=html.escape(str(error)))
    return drawn.replace(_END, _END + text, 1)
