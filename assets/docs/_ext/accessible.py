"""Add what axe requires and the theme lacks: caption levels, sidebar names, a heading on the search page."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

INSTEAD = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-label="This page">',
    '</noscript>\n\n<div id="search-results">': '</noscript>\n<h1>Search</h1>\n<div id="search-results">',
}


def fix(app: Sphinx, failed: Exception | None) -> None:
    """Fix the written pages."""
    for page in Path(app.outdir).rglob("*.html") if failed is None and app.builder.format == "html" else ():
        text = made = page.read_text(encoding="utf-8")
        for old, new in INSTEAD.items():
            made = made.replace(old, new)
        if made != text:
            page.write_text(made, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", fix)
    return {"parallel_read_safe": True}
