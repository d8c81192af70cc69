"""An executed notebook as one HTML file that needs no kernel, no server and no network."""

from __future__ import annotations

import logging
from pathlib import Path

from nbconvert import HTMLExporter
from nbformat import NotebookNode

# nbconvert's own page loads RequireJS, MathJax and Mermaid from elsewhere. The policy makes the promise
# whole: whatever a cell's output asks for, the page cannot fetch it.
TEMPLATE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'
 blob: data:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; frame-src
 data: blob:">
{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def page(notebook: NotebookNode, path: Path) -> str:
    """The executed `notebook`, read from `path`, as the text of a page."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # A widget lives in a kernel; its other faces say the same without one.
            output.get("data", {}).pop(WIDGET, None)
    notebook.metadata.pop("widgets", None)
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    exporter = HTMLExporter(raw_template=TEMPLATE, embed_images=True)
    resources = {"metadata": {"name": path.stem, "path": str(path.resolve().parent)}}
    text, _ = exporter.from_notebook_node(notebook, resources)
    return text
