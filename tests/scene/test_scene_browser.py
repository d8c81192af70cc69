"""Layout in a browser, emulated: JavaScript's answer is pygraphviz's, and Python starts neither program nor thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pygraphviz import AGraph
from scene_samples import deep, loss, square
from tqdm import tqdm

from workbench.pictures.scene import browser, engines
from workbench.pictures.scene.film import to_gif
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.reading import drawn_region


def no_thread(*_: Any) -> None:
    raise RuntimeError("can't start new thread")


def graphviz(dot: str) -> str:
    return AGraph(string=dot).draw(format="json0", prog="dot").decode()


@pytest.fixture
def in_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Callable[[str], str]]]:
    """Python as in a browser; what JavaScript gives is the last of this list, and what it was given is checked."""
    functions = [graphviz]

    def run_js(text: str) -> Callable[[str], str]:
        assert text == "the JavaScript"
        return functions.pop() if len(functions) > 1 else functions[0]

    code = ModuleType("pyodide.code")
    code.run_js = run_js  # type: ignore[attr-defined]
    (tmp_path / browser.PACKAGE).mkdir()
    (tmp_path / browser.PACKAGE / "__init__.py").touch()
    (tmp_path / browser.PACKAGE / browser.FILE).write_text("the JavaScript")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(engines, "start_new_thread", no_thread)
    monkeypatch.setattr(engines.subprocess, "run", no_thread)
    for name, module in {"pyodide": ModuleType("pyodide"), "pyodide.code": code, "pygraphviz": None}.items():
        monkeypatch.setitem(sys.modules, name, module)
    clear()
    yield functions
    clear()
    sys.modules.pop(browser.PACKAGE, None)


def clear() -> None:
    browser._graphviz.cache_clear()
    drawn_region.cache_clear()


@pytest.mark.parametrize("sample", [square, loss, deep])
def test_a_picture_in_a_browser_is_that_of_pygraphviz(sample, request: pytest.FixtureRequest) -> None:
    here = sample().layout
    request.getfixturevalue("in_browser")
    assert sample().layout == here


def test_a_film_is_made_without_a_thread(in_browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def warn(error: object, *_: Any, **__: Any) -> None:
        raise AssertionError(error)

    film = square()
    film.layout  # noqa: B018
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    monkeypatch.setattr(tqdm, "monitor", None)
    monkeypatch.setattr(tqdm, "monitor_interval", 10)
    monkeypatch.setattr("tqdm.std.warn", warn)
    assert to_gif(film).startswith(b"GIF89a")


def test_a_site_without_graphviz_says_how_to_build_it(in_browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "PACKAGE", "no_such_package")
    with pytest.raises(
        LayoutUnavailable, match=r"this site was built without Graphviz: build it with `workbench lite`\.$"
    ):
        square().layout  # noqa: B018


def test_after_a_crash_a_new_graphviz_answers(in_browser: list[Callable[[str], str]]) -> None:
    def crash(dot: str) -> str:
        raise ValueError("RangeError: Maximum call stack size exceeded")

    in_browser.append(crash)
    with pytest.raises(LayoutUnavailable, match="Graphviz failed in the browser: RangeError"):
        square().layout  # noqa: B018
    assert len(in_browser) == 1
    assert square().layout.boxes


def test_where_no_thread_can_start_the_library_runs_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_region.cache_clear()
    here = loss().layout
    drawn_region.cache_clear()
    monkeypatch.setattr(engines, "start_new_thread", no_thread)
    assert loss().layout == here


def test_no_text_but_a_browsers_reaches_javascript() -> None:
    assert sys.platform != "emscripten" and browser.answer("digraph { 0 }") is None


def test_a_graph_without_nodes_has_no_places() -> None:
    placed = engines.placed("digraph { }")
    assert (placed.nodes, placed.edges, placed.labels) == ([], [], [])
