"""What works with the core alone, and how a missing part of the extra "lab" is told: in a sentence, before any work."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook
from packaging.requirements import Requirement

from workbench.cli import NEEDED

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
CORE = {Requirement(each).name for each in PROJECT["dependencies"]}
LAB = {Requirement(each).name for each in PROJECT["optional-dependencies"]["lab"]}
# Under these names those packages, and what they bring along, are imported.
OF_LAB = LAB | {"PIL", "jinja2", "jupyter_client", "jupyter_core"}
OF_CORE = CORE | {"pygraphviz", "traitlets", "IPython"}
OTHERS = [each for extra, several in PROJECT["optional-dependencies"].items() if extra != "lab" for each in several]
OPTIONAL = {Requirement(each).name.replace("-", "_") for each in OTHERS} | {"pytorch_lightning", "pydantic", "pyodide"}

HIDE = """
import sys
from importlib.util import find_spec
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {!r} else found(name, *rest)
"""
# Each command where one package after the other is hidden, as if none had been loaded: what it says and writes.
REFUSING = """
import io, json, os
from contextlib import redirect_stderr, redirect_stdout
real, missing, said = PathFinder.find_spec, set(), []
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in missing else real(name, *rest)
for package, words in json.loads(sys.argv[1]):
    missing.clear()
    missing.add(package)
    for name in [name for name in sys.modules if name.startswith(package) or name.startswith("workbench.cli")]:
        del sys.modules[name]
    from workbench.cli import main
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        said.append([main(words), out.getvalue(), errors.getvalue(), os.listdir()])
print(json.dumps(said))
"""
CORE_ALONE = "import runpy\nrunpy.run_path(sys.argv[1], run_name='__main__')"


def ran(program: str, hidden: set[str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a program says where these packages are not installed."""
    command = [sys.executable, "-c", HIDE.format(sorted(hidden)) + program, *arguments]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def told(what: str, package: str, extra: str = "lab") -> str:
    return f'{what} needs {package}, which isn\'t installed. Run: pip install "autograd-workbench[{extra}]"'


def test_engine_recording_and_pictures_run_on_the_core_alone(tmp_path: Path) -> None:
    seen = ran(CORE_ALONE, OF_LAB, tmp_path, str(CHECKOUT / "tests" / "support" / "core_alone.py"))
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.endswith("the core alone: all of it ran\n") and "SquareBackward" in seen.stdout
    assert "SquareBackward" in (tmp_path / "square.svg").read_text("utf-8")


MAIN = "from workbench.cli import main\nsys.exit(main())"
COMMANDS = {
    "lab": ["lab", "copies"],
    "lite": ["lite", "site"],
    "run": ["run", "lesson.ipynb", "--html", "pages"],
    "present": ["present", "lesson.ipynb"],
    "grade": ["grade", "lesson.ipynb", "-o", "points.csv"],
    "progress": ["progress", "lesson.ipynb", "-o", "class.html"],
    "quiz": ["quiz", "run.json", "-o", "quiz.html"],
    "mcp": ["mcp"],
    "release": ["release", "lesson.ipynb", "--student", "copies"],
}


@pytest.mark.slow
def test_a_command_without_its_parts_is_one_sentence_and_writes_nothing(tmp_path: Path) -> None:
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")]), tmp_path / "lesson.ipynb")
    asked = [(name, each) for name, several in NEEDED.items() for each in several]
    seen = ran(REFUSING, set(), tmp_path, json.dumps([(package, COMMANDS[name]) for name, package in asked]))
    assert seen.returncode == 0, seen.stderr
    for (command, package), said in zip(asked, json.loads(seen.stdout), strict=True):
        extra = command if command in ("lite", "mcp") else "lab"
        # Where the extra is not installed, the first part that is missing is named.
        package = next(name for name in NEEDED[command] if name == package or find_spec(name) is None)
        assert said == [1, "", f"workbench: {told(f'workbench {command}', package, extra)}\n", ["lesson.ipynb"]]


def test_the_command_alone_says_what_opens_the_lessons(tmp_path: Path) -> None:
    seen = ran(MAIN, OF_LAB, tmp_path)
    assert (seen.returncode, seen.stderr) == (1, f"workbench: {told('workbench lab', 'jupyterlab')}\n")


@pytest.mark.slow
def test_commands_about_traces_need_the_core_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import workbench as torch\nw = torch.tensor(1.0, requires_grad=True)\n"
        "for _ in range(3):\n    (w * w).backward()\n"
    )
    for words in (
        ["--version"],
        ["trace", "-o", "train.json", "train.py"],
        ["show", "train.json"],
        ["health", "train.json"],
    ):
        seen = ran(MAIN, OF_LAB, tmp_path, *words)
        assert seen.returncode == 0, seen.stderr
    assert {"train.json", "train.html", "train.health.html"} <= {*os.listdir(tmp_path)}
    seen = ran(MAIN, OF_LAB, tmp_path, "trace", "-o", "train.png", "train.py")
    assert (seen.returncode, seen.stderr) == (1, f"workbench: {told('A .png file', 'matplotlib')}\n")


DRAW = """
import workbench
x = workbench.tensor(2.0, requires_grad=True)
for suffix in sys.argv[1:]:
    try:
        workbench.show(x * x).save(f"picture.{suffix}")
    except ModuleNotFoundError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffixes", "package", "name"),
    [("png pdf gif mp4", "matplotlib", "matplotlib"), ("gif", "PIL", "Pillow"), ("gif mp4", "tqdm", "tqdm")],
)
def test_a_picture_that_another_package_draws_names_it(suffixes: str, package: str, name: str, tmp_path: Path) -> None:
    seen = ran(DRAW, {package}, tmp_path, *suffixes.split())
    assert (seen.stdout.splitlines(), seen.stderr) == ([told(f"A .{each} file", name) for each in suffixes.split()], "")
    assert os.listdir(tmp_path) == []


def imported(path: Path) -> set[str]:
    """The packages that a file imports, also inside of functions, but not for a type checker alone."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"workbench"}


@pytest.mark.slow
def test_only_the_command_and_drawn_images_import_what_lab_brings() -> None:
    package = CHECKOUT / "workbench"
    found = {path.relative_to(package).as_posix(): imported(path) for path in package.rglob("*.py")}
    everything = set().union(*found.values())
    assert everything - OF_CORE - OF_LAB - OPTIONAL == set()
    users = {path for path, names in found.items() if names & OF_LAB}
    assert {path for path in users if not path.startswith("cli/")} == {
        "pictures/scene/film.py",
        "pictures/scene/matplotlib_drawing.py",
    }


def test_the_first_line_and_the_tests_bring_the_lab() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    assert re.search(r'^python3 -m venv .*pip install -e "\.\[lab\]" && workbench$', readme, flags=re.M)
    assert "autograd-workbench[lab]" in PROJECT["optional-dependencies"]["test"]
    assert CORE == {"anywidget", "graphviz", "ipywidgets", "numpy"}
