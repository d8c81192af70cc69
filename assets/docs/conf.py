"""How Sphinx makes a site of the pages: `sphinx-build -W assets/docs DIR` runs their cells, and the lessons."""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Autograd Workbench"
author = "the Autograd Workbench authors"
copyright = author
extensions = ["myst_nb", "api", "commands", "lessons", "llms", "accessible", "formulas"]
exclude_patterns = ["_ext"]

WITH_TORCH = ["guides/real-pytorch.md", "get-started/debug-a-run.md"]

# Each build runs every cell, and a cell that raises ends it. The lessons were run before they are read, and what needs
# PyTorch is shown without its outputs where that is not installed.
nb_execution_excludepatterns = ["lessons/*"] + WITH_TORCH * (find_spec("torch") is None)
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_merge_streams = True

# Players are HTML of their own. Nothing comes from another host.
nb_mime_priority_overrides = [("html", "text/html", 0)]
nb_ipywidgets_js = {}

# A formula stands between dollar signs, and is drawn (_ext/formulas.py).
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "drawn"

# A link to a heading is its words; what is indented in a docstring is text as it stands.
myst_heading_anchors = 3
highlight_language = "text"
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True

html_theme = "furo"
html_theme_options = {
    # The accent is that of the players.
    "light_css_variables": {
        "color-brand-primary": "#0069a6",
        "color-brand-content": "#0069a6",
        "color-brand-visited": "#5b4bb5",
        "color-code-background": "#f4f6f9",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        "mystnb-source-margin-color": "#0069a6",
        "mystnb-source-border-color": "#d5dbe3",
        "mystnb-source-bg-color": "#f4f6f9",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cbcf0",
        "color-brand-content": "#6cbcf0",
        "color-brand-visited": "#b6abf5",
        "color-code-background": "#171d27",
        "mystnb-source-margin-color": "#6cbcf0",
        "mystnb-source-border-color": "#333d4b",
        "mystnb-source-bg-color": "#171d27",
    },
}
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_favicon = html_logo = "_static/mark.svg"
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
html_title = project
html_copy_source = False
html_show_sourcelink = False
