"""Formulas of the site, drawn as in every page of the workbench: Sphinx's own way loads MathJax from another host."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from workbench.cli.formulas import as_svg


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(as_svg(node.astext()))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(as_svg(node.astext(), block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("drawn", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
