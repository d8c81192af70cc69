"""The names of the views: of those that draw one trace, and of those that word a graph."""

from __future__ import annotations

from workbench.pictures.views import VIEWS
from workbench.pictures.views.flow import Flow
from workbench.pictures.views.graph import Graph

ALONE = [name for name, view in VIEWS.items() if not view.compares]
GRAPHS: dict[str, type[Graph]] = {"graph": Graph, "flow": Flow}
CHARTS = [name for name in ALONE if name not in GRAPHS]
