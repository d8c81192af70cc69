"""An executed notebook as one HTML file that needs no kernel, no server and no network."""

from __future__ import annotations

import json
import logging
from html import escape
from pathlib import Path
from typing import Any

from nbconvert import HTMLExporter
from nbformat import NotebookNode

STATIC = Path(__file__).parent / "static"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def page(notebook: NotebookNode, path: Path) -> str:
    """The executed `notebook`, read from `path`, as the text of a page."""
    widgets = _take_widgets(notebook)
    # It would complain about each picture without a text of its own.
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    exporter = HTMLExporter(raw_template=(STATIC / "page.html.j2").read_text("utf-8"), embed_images=True)
    resources: dict[str, Any] = {"metadata": {"name": path.stem, "path": str(path.resolve().parent)}}
    if widgets["widgets"]:
        # No text inside may end the script element it lies in.
        resources["widgets"] = json.dumps(widgets, separators=(",", ":")).replace("<", "\\u003c")
        resources["widgets_js"] = (STATIC / "widgets.js").read_text("utf-8")
    text, _ = exporter.from_notebook_node(notebook, resources)
    return text


def _take_widgets(notebook: NotebookNode) -> dict[str, list[Any]]:
    """Put a place for a widget over its still picture, and give what a page needs to bring it to life.

    A widget whose front end is a module of its own lives on in a page; of any other the still picture stays.
    """
    models = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    modules: dict[str, int] = {}
    styles: dict[str, None] = {}
    widgets: list[Any] = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        view = data.pop(WIDGET, None)
        state = dict(models.get(view["model_id"], {}).get("state", {})) if view else {}
        if "_esm" not in state:
            continue
        module = modules.setdefault(state.pop("_esm"), len(modules))
        styles[state.pop("_css", "")] = None
        still = data.get("text/html", f"<pre>{escape(data.get('text/plain', ''))}</pre>")
        data["text/html"] = f'<div data-widget="{len(widgets)}">{still}</div>'
        widgets.append({"module": module, "state": state})
    return {"modules": list(modules), "styles": list(styles), "widgets": widgets}
