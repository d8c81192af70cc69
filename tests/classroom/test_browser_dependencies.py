"""What a browser is asked to install with the workbench: nothing that needs a process, a socket or a compiler."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

CHECKOUT = Path(__file__).parents[2]
# As packaging says it in Pyodide.
BROWSER = {"sys_platform": "emscripten", "platform_machine": "wasm32", "platform_system": "Emscripten", "extra": ""}
HAS = {"anywidget", "graphviz", "ipywidgets", "matplotlib", "numpy", "tqdm"}  # pure Python, or Pyodide's own


def test_a_browser_is_asked_for_what_it_has() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [Requirement(each) for each in [*project["dependencies"], *extras["graphviz"]]]
    names = {each.name for each in asked if each.marker is None or each.marker.evaluate(BROWSER)}
    assert names <= HAS and "numpy" in names
