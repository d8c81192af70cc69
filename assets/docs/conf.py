"""How Sphinx makes a site of the pages: `sphinx-build -W assets/docs DIR` runs their cells."""

project = "Autograd Workbench"
author = "the Autograd Workbench authors"
copyright = author
extensions = ["myst_nb"]

# Each build runs every cell, and a cell that raises ends it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_merge_streams = True

# Players are HTML of their own. Nothing comes from another host.
nb_mime_priority_overrides = [("html", "text/html", 0)]
nb_ipywidgets_js = {}

html_theme = "furo"
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = project
html_copy_source = False
html_show_sourcelink = False
