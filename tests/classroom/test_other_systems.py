"""The core and the command as on Windows, as far as that can be tried here: no call of POSIX alone, an old encoding."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook
from other_system import CALLS, MODULES, SIGNALS

from workbench.cli import teacher
from workbench.cli.errors import CommandError
from workbench.cli.notebooks import place_to_run

PACKAGE = CHECKOUT / "workbench"
AS_THERE = """
import importlib.util, runpy, sys
for name in ("numpy", "nbclient", "nbconvert"):  # which ask what the system is
    importlib.util.find_spec(name) and importlib.import_module(name)
import other_system
other_system.become()
"""


def ran(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a program says where nothing of POSIX alone is, and where what is printed goes out in an old encoding."""
    support = CHECKOUT / "tests" / "support"
    environment = os.environ | {"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{support}", "PYTHONUTF8": "0"}
    environment |= {"PYTHONIOENCODING": "cp1252", "PYTHONWARNDEFAULTENCODING": "1"}
    command = [sys.executable, "-W", "error::EncodingWarning:workbench", "-c", AS_THERE + program, *words]
    return subprocess.run(command, capture_output=True, encoding="cp1252", cwd=folder, env=environment)


@pytest.mark.slow
def test_the_core_runs_without_what_posix_alone_has(tmp_path: Path) -> None:
    core = str(CHECKOUT / "tests" / "support" / "core_alone.py")
    seen = ran("runpy.run_path(sys.argv[1], run_name='__main__')", tmp_path, core)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert "all of it ran" in seen.stdout.splitlines()[-1]


TRAIN = """import workbench as torch
größe = torch.tensor(1.0, requires_grad=True)
for _ in range(3):
    (größe * größe).backward()
"""


@pytest.mark.scheduled
def test_the_command_runs_without_what_posix_alone_has(tmp_path: Path) -> None:
    (tmp_path / "größe ∂.py").write_text(TRAIN, encoding="utf-8")
    program = "from workbench.cli import main\nsys.exit(main())"
    for words in (
        ["--version"],
        ["trace", "-o", "tracé ∂.json", "größe ∂.py"],
        ["show", "tracé ∂.json"],
        ["health", "tracé ∂.json"],
        ["grade", "nowhere"],
        ["release", "nowhere", "--student", "copies"],
    ):
        seen = ran(program, tmp_path, *words)
        assert "Traceback" not in seen.stderr, seen.stderr
        assert seen.returncode == ("nowhere" in words), seen.stderr
    assert {"tracé ∂.json", "tracé ∂.html", "tracé ∂.health.html"} <= {*os.listdir(tmp_path)}
    nbformat.write(new_notebook(cells=[new_code_cell("print('∂größe → ∞')")]), tmp_path / "größe ∂.ipynb")
    seen = ran(program, tmp_path, "release", "größe ∂.ipynb", "--student", "copies")
    assert (seen.returncode, os.listdir(tmp_path / "copies")) == (0, ["größe ∂.ipynb"]), seen.stderr


@pytest.mark.slow
def test_what_posix_alone_has_is_asked_for_before_it_is_used() -> None:
    unasked = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {getattr(node, "module", None), *(each.name for each in node.names)}
                unasked += [(path.name, node.lineno, each) for each in names & MODULES]
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in ("os", "signal")
            ):
                posix = node.attr in (CALLS if node.value.id == "os" else SIGNALS)
                if posix and f'hasattr({node.value.id}, "{node.attr}")' not in text:
                    unasked.append((path.name, node.lineno, node.attr))
    assert unasked == []


def test_a_folder_that_windows_still_keeps_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(*_: object, **__: object) -> None:
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")

    with monkeypatch.context() as patch, place_to_run(tmp_path / "lesson.ipynb") as place:
        patch.setattr(os, "rmdir", kept)
    assert Path(place).is_dir()
    Path(place).rmdir()


def test_a_browser_that_speaks_another_encoding_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run

    def run(command: list[str], **how: object) -> subprocess.CompletedProcess[str]:
        program = r"import sys; sys.stderr.buffer.write(b'kein Zugriff: \xff\x81')"
        return real([sys.executable, "-c", program], **how)  # pyright: ignore[reportCallIssue,reportArgumentType]

    monkeypatch.setattr(teacher.subprocess, "run", run)
    with pytest.raises(CommandError, match="a browser couldn't print the PDF: kein Zugriff: "):
        teacher._print_to_pdf("a browser", "<p>", tmp_path / "page.pdf")
