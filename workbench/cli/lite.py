"""A static site in which the lessons run: JupyterLite, whose kernel is Python in the reader's browser.

JupyterLite builds the site. The workbench adds the readers' copies, wheels of itself and its dependencies, Graphviz,
and a module that starts the kernel with all of this.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from workbench.classroom.course import PAGE
from workbench.classroom.handout import student
from workbench.classroom.registry import SUFFIX
from workbench.classroom.solutions import MARK, SOLUTIONS, solutions_in
from workbench.cli import errors
from workbench.cli.course_page import course_page, with_opening
from workbench.cli.errors import CommandError
from workbench.cli.graphviz_wheel import graphviz_wheel
from workbench.cli.lab import SHIPPED, checkout, first_lesson
from workbench.cli.lite_wheels import installed_wheels, own_wheel
from workbench.cli.notebooks import copied, for_students, modules_of, read, text_of

_STARTS = "workbench"  # the site's folder with what starts the kernel
_PLUGIN = "@jupyterlite/pyodide-kernel-extension"
_GRAPHVIZ = "@viz-js/viz@3.31.0"
_SHA256 = "7dc0189874849cca2fed7cbe88bf334cd0e6e012db16657794a812ad6f2b8c70"  # of its archive
_SECONDS = 120  # that npm may take
# What the kernel and the pictures need beside the workbench; all else is Pyodide's.
_PACKAGES = ("anywidget", "comm", "graphviz", "ipython", "ipywidgets", "jedi", "tqdm")
_OF_THE_SITE = ("autograd-workbench", "ipykernel", "jupyterlab-widgets", "numpy", "widgetsnbextension")
_NEEDED = ("micropip", "numpy")  # of Pyodide's packages
_WELCOME = ("matplotlib", "pillow")  # where Pyodide's folder has them
_CORE = ("pyodide.mjs", "pyodide-lock.json", "pyodide.asm.wasm", "python_stdlib.zip")
_STARTED = ("comm", "ipykernel", "ipython", "jedi", "micropip", "piplite", "pyodide-kernel")  # by our module already
_TORCH = re.compile(r"^[ \t]*(?:import|from) torch\b", re.M)
_NO_TORCH = (
    "**In this page the cells below end in an error:** the lesson needs PyTorch, which does not run in a browser. Read "
    "it here, and run it where PyTorch is installed: `pip install torch`, and `workbench` opens the lessons."
)
_SETTINGS: dict[str, Any] = {
    # What is typed is in the browser's own storage a few seconds later.
    "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 5},
    "@jupyterlab/apputils-extension:notification": {"checkForUpdates": False, "fetchNews": "false"},
    "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": False},
}
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Autograd Workbench</title>
<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{{}}</script>
<meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">The lessons</a> run in this browser. They need JavaScript.</p>
</html>
"""


def lite(out: Path, lessons: Path | None, pyodide: Path | None, graphviz: Path | None) -> None:
    """Write the site into the folder `out`, which is new or empty; if the build fails, nothing is left of it."""
    home = checkout()
    source = lessons or (SHIPPED if home is None else home / "notebooks")
    if first_lesson(source) is None:
        raise CommandError(errors.NO_NOTEBOOKS.format(source))
    _check_place(out)
    if pyodide:
        _check_pyodide(pyodide)
    try:
        whole = out.resolve()  # a link, and the current folder, stay what they are: the site goes into them
        parent = whole if whole.exists() else whole.parent
        parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=parent, prefix=".workbench-lite-") as place:
            site = _built(Path(place), source, graphviz, is_practice=lessons is None)
            _add_start(site, PAGE, pyodide)
            whole.mkdir(exist_ok=True)
            for each in [*site.iterdir()]:
                each.rename(whole / each.name)
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN_INTO.format(out, error.strerror or error)) from None
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
    if pyodide and "matplotlib" not in _lock(out / "pyodide")["packages"]:
        print(f"{pyodide} has no whole matplotlib: cells that plot with it end in an error, and pictures are drawn.")
    print(f"The site is in {out}: {size:.0f} MB of files for any web server. To look at it here, type")
    named = shlex.quote(str(out)) if os.name == "posix" else f'"{out}"'
    print(f"    {Path(sys.executable).name} -m http.server --bind 127.0.0.1 --directory {named}")
    print("and open http://127.0.0.1:8000/ in a browser.")


def _check_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise CommandError(errors.SITE_IN_FILE.format(out))
    if out.is_dir() and any(out.iterdir()):
        raise CommandError(errors.SITE_NOT_EMPTY.format(out))


def _built(place: Path, source: Path, graphviz: Path | None, is_practice: bool = False) -> Path:
    """Return the site as JupyterLite builds it in a temporary folder, with the lessons and the wheels in it.

    A site for practice has the solutions; a teacher's own lessons never do.
    """
    contents, exercises, wheels = place / "contents", place / "exercises", place / "wheels"
    for folder in (contents, exercises, wheels):
        folder.mkdir()
    for path in sorted(source.glob("*.ipynb")):
        _write_notebook(contents / path.name, _copy(path))
    modules = {file for path in source.glob("*.ipynb") for file in modules_of(path, read(path))}
    for file in {*source.glob(f"*{SUFFIX}"), *modules}:
        text = for_students(file) + (f"# {MARK}: site\n" if is_practice and file.name.endswith(SUFFIX) else "")
        (exercises / file.name).write_text(text, encoding="utf-8")
    if is_practice:
        solved = {name: code for path in source.glob("*.ipynb") for name, code in solutions_in(path).items()}
        _write_json(exercises / SOLUTIONS, solved)
    for file in modules:  # a reader reads them, and may write others in their place
        (contents / file.name).write_text(text_of(file), encoding="utf-8")
    if not (contents / PAGE).exists():
        page = course_page(contents, exercises)
        page.metadata["language_info"] = {"name": "python"}
        _write_notebook(contents / PAGE, page)
    try:
        graphviz_wheel(graphviz or _fetched_graphviz(place), wheels)
    except ValueError as error:
        raise CommandError(str(error)) from None
    own_wheel(wheels)
    installed_wheels(_PACKAGES, _OF_THE_SITE, wheels)
    _run_jupyterlite(place)
    return place / "site"


def _write_notebook(file: Path, notebook: NotebookNode) -> None:
    file.write_text(f"{nbformat.writes(notebook)}\n", encoding="utf-8")


def _fetched_graphviz(place: Path) -> Path:
    """Return Graphviz for a browser, from npm in the version named here."""
    npm = shutil.which("npm")
    if npm is None:
        raise CommandError(errors.NO_NPM.format(_GRAPHVIZ))
    command = [npm, "pack", "--silent", "--pack-destination", str(place), _GRAPHVIZ]
    try:
        subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_SECONDS)
        (found,) = place.glob("*.tgz")
    except (OSError, ValueError, subprocess.SubprocessError):
        raise CommandError(errors.NPM_FAILED.format(_GRAPHVIZ)) from None
    if hashlib.sha256(found.read_bytes()).hexdigest() != _SHA256:
        raise CommandError(errors.OTHER_GRAPHVIZ.format(_GRAPHVIZ))
    return found


def _copy(path: Path) -> NotebookNode:
    """Return a reader's copy of a lesson; if it needs PyTorch, with a first cell that says so."""
    made = with_opening(copied(student, read(path), path))
    if any(cell.cell_type == "code" and _TORCH.search(cell.source) for cell in made.cells):
        made.cells.insert(min(1, len(made.cells)), new_markdown_cell(_NO_TORCH, id="no-torch-here"))
    # By its language the page knows which kernel to take: "python3", which a downloaded copy has again, is not there.
    made.metadata.setdefault("language_info", {"name": "python"})
    return made


def _run_jupyterlite(place: Path) -> None:
    settings = {
        "pyodideUrl": f"./{_STARTS}/lite.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": _STARTED},
    }
    page = {"appName": "Autograd Workbench", "litePluginSettings": {f"{_PLUGIN}:kernel": settings}}
    config = {
        "LiteBuildConfig": {
            "apps": ["lab"],
            "contents": ["contents"],
            "federated_extensions": list(_extensions()),
            "ignore_sys_prefix": True,
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
            "output_dir": str(place / "site"),
            "settings_overrides": ["overrides.json"],
        },
        "PipliteAddon": {"piplite_urls": ["wheels"]},
    }
    _write_json(place / "jupyter-lite.json", {"jupyter-lite-schema-version": 0, "jupyter-config-data": page})
    _write_json(place / "jupyter_lite_config.json", config)
    _write_json(place / "overrides.json", _SETTINGS)
    # Neither settings of JupyterLite's that are made elsewhere nor its own site of this user's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTERLITE_")}
    environment["JUPYTER_CONFIG_DIR"] = str(place / "settings")
    ran = subprocess.run(
        [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(place)],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode:
        said = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()] or ["it said nothing"]
        raise CommandError(errors.LITE_FAILED.format(said[-1].strip().rstrip(".")))


def _extensions() -> Iterator[str]:
    """Return the folders of the JupyterLab extensions that show pictures and run Python in the browser."""
    from jupyter_core.paths import jupyter_path

    for name in (_PLUGIN, "@jupyter-widgets/jupyterlab-manager", "anywidget"):
        found = [folder for root in jupyter_path("labextensions") if (folder := Path(root, name)).is_dir()]
        if not found:
            raise CommandError(errors.NOT_INSTALLED.format(name))
        yield str(found[0])


def _add_start(site: Path, opened: str, pyodide: Path | None) -> None:
    """Add the code that starts the kernel, Pyodide's files if given, and the page that opens the course page."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL

    (site / _STARTS).mkdir()
    shutil.copyfile(Path(__file__).parent / "static" / "lite.mjs", site / _STARTS / "lite.mjs")
    folders = (site / "pypi", site / "extensions" / _PLUGIN / "static" / "pypi")
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("*.whl"))]
    start = {
        "pyodide": "../pyodide/" if pyodide else f"{PYODIDE_CDN_URL}/",
        "packages": _NEEDED,
        "wheels": [f"../{wheel.relative_to(site).as_posix()}" for wheel in wheels if not wheel.match("widgetsnb*")],
        "exercises": {file.name: text_of(file) for file in sorted((site.parent / "exercises").iterdir())},
    }
    _write_json(site / _STARTS / "site.json", start)
    if pyodide:
        _copy_pyodide(pyodide, site / "pyodide")
    address = escape(f"lab/index.html?path={quote(opened)}")
    (site / ".nojekyll").touch()  # GitHub Pages hands out all files as they are
    (site / "index.html").write_text(_PAGE.format(address=address), encoding="utf-8")


# Pyodide from a folder.


def _check_pyodide(folder: Path) -> None:
    missing = [name for name in _CORE if not (folder / name).is_file()]
    if missing:
        raise CommandError(errors.NO_PYODIDE.format(folder, missing[0]))
    lock = _lock(folder)
    for name in _NEEDED:
        if name not in _there(folder, lock, [name]):
            raise CommandError(errors.NOT_IN_PYODIDE.format(folder, name, _file(lock, name)))


def _copy_pyodide(folder: Path, place: Path) -> None:
    """Copy the kernel's files and the packages that the workbench uses, with a list of only these."""
    place.mkdir()
    for file in folder.glob("py*"):
        if file.name in _CORE or re.fullmatch(r"pyodide(\.asm)?\.m?js", file.name):
            shutil.copyfile(file, place / file.name)
    lock = _lock(folder)
    lock["packages"] = _there(folder, lock, [*_NEEDED, *_WELCOME])
    _write_json(place / "pyodide-lock.json", lock)
    for each in lock["packages"].values():
        shutil.copyfile(folder / each["file_name"], place / each["file_name"])


def _lock(folder: Path) -> dict[str, Any]:
    try:
        lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
        for each in dict(lock["packages"]).values():
            each["file_name"], each["sha256"], [*each["depends"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise CommandError(errors.NO_PYODIDE.format(folder, "pyodide-lock.json")) from None
    return lock


def _file(lock: dict[str, Any], name: str) -> str:
    return lock["packages"].get(name, {}).get("file_name", f"{name}-*.whl")


def _there(folder: Path, lock: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the packages whose files, and whose dependencies' files, are in the folder, with these dependencies."""
    found: dict[str, Any] = {}
    for name in names:
        whole, waiting = {}, [name]
        while waiting:
            each = waiting.pop()
            if each not in whole and each in lock["packages"]:
                whole[each] = lock["packages"][each]
                waiting += whole[each]["depends"]
        if name in whole and all(_is_whole(folder / each["file_name"], each["sha256"]) for each in whole.values()):
            found |= whole
    return found


def _is_whole(file: Path, sha256: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
