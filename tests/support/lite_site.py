"""A site that `workbench lite` has written, on a web server of this machine and under a path of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import absent
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# For a Pyodide without matplotlib, which is large: what a lesson plots with does nothing, and all else is as it is.
PYPLOT = """from unittest.mock import MagicMock
subplots = lambda *_, **__: (MagicMock(), MagicMock())
show = lambda: None
"""


def given_pyodide() -> Path:
    """The folder with Pyodide; the test is skipped where there is none, or no JupyterLite."""
    if find_spec("jupyterlite_core") is None:
        pytest.skip(absent.LITE)
    folder = os.environ.get("WORKBENCH_PYODIDE")
    if not folder:
        pytest.skip(absent.PYODIDE)
    return Path(folder)


def with_matplotlib(folder: Path, place: Path) -> Path:
    """The folder of Pyodide with a matplotlib: where it has none, a copy of it with one that draws nothing."""
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    name = lock["packages"].get("matplotlib", {}).get("file_name", "missing")
    if (folder / name).is_file():
        return folder
    shutil.copytree(folder, place)
    wheel = place / "matplotlib-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("matplotlib/__init__.py", "")
        packed.writestr("matplotlib/pyplot.py", PYPLOT)
        packed.writestr("matplotlib-0.dist-info/METADATA", "Metadata-Version: 2.1\nName: matplotlib\nVersion: 0\n")
        packed.writestr("matplotlib-0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    lock["packages"]["matplotlib"] = lock["packages"]["micropip"] | {
        "name": "matplotlib",
        "version": "0",
        "file_name": wheel.name,
        "imports": ["matplotlib"],
        "depends": [],
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
    }
    (place / "pyodide-lock.json").write_text(json.dumps(lock))
    return place


def build(site: Path, pyodide: Path, *options: str) -> str:
    """Write the site as a teacher does; gives what is printed."""
    archive = next(pyodide.glob("viz-js-viz-*.tgz"), None)
    graphviz = ["--graphviz", str(archive)] if archive else []
    command = [sys.executable, "-m", "workbench", "lite", str(site), "--pyodide", str(pyodide), *graphviz, *options]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    # What a test asks the page for by name: nothing else differs from a reader's.
    config = json.loads((site / "jupyter-lite.json").read_text())
    config["jupyter-config-data"]["exposeAppInBrowser"] = True
    (site / "jupyter-lite.json").write_text(json.dumps(config))
    return ran.stdout


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(root: Path) -> Iterator[str]:
    """The address of the files in this folder, on a plain server that sets no header of its own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
