"""Running a lesson as a test would notice a wrong output, and refreshing one keeps nothing of a machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from lab import CHECKOUT
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from refresh_notebooks import main, refresh


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    """All outputs, from top to bottom."""
    return [output for cell in notebook.cells for output in cell.outputs]


PICTURE = """
import os
class Picture:
    def _repr_mimebundle_(self, **kwargs):
        return {
            "text/plain": "x to mul to y",
            "text/html": '<div class="wb-play-1f"><img alt="x to mul to y" src="data:image/svg+xml;base64,QUJD"></div>'
            + '<script>(() => 1)("H4sI+/A=");</script>' + f'<div class="wb-live wb-live-{os.urandom(8).hex()}">z</div>',
            "application/vnd.jupyter.widget-view+json": {"model_id": "1", "version_major": 2, "version_minor": 0},
        }
Picture()"""


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A refreshed notebook of a print and a picture with all its faces."""
    path = tmp_path_factory.mktemp("refreshed") / "picture.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print(2 + 2)"), new_code_cell(PICTURE)]), path)
    refresh(path)
    return path


@pytest.fixture(scope="module")
def error(picture: Path) -> Path:
    """A refreshed notebook that shows an error."""
    cell = new_code_cell("import json\njson.loads('x')", metadata={"tags": ["raises-exception"]})
    path = picture.with_name("error.ipynb")
    nbformat.write(new_notebook(cells=[cell]), path)
    refresh(path)
    return path


# What is changed in the file of the picture, and what becomes of its two cells.
CHANGES = {
    "as_it_is": (("", ""), "passed passed"),
    "placed_otherwise": (('QUJD\\"><div', 'WFla\\"><div'), "passed passed"),
    "another_number": (("4\\n", "5\\n"), "failed passed"),
    "other_words": (('"x to mul to y"', '"x to add to y"'), "passed failed"),
}


@pytest.fixture(scope="module")
def outcomes(picture: Path, error: Path) -> dict[str, list[str]]:
    """What this project's pytest settings say of each cell of these notebooks."""
    text = picture.read_text()
    for name, ((old, new), _) in CHANGES.items():
        assert not old or text.count(old) == 1
        picture.with_name(f"{name}.ipynb").write_text(text.replace(old, new))
    report = picture.with_name("report.xml")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "-c", "pyproject.toml"]
    subprocess.run([*command, f"--junitxml={report}", str(picture.parent)], capture_output=True, cwd=CHECKOUT)
    said: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname").removesuffix(".ipynb").rpartition(".")[2]
        said.setdefault(name, []).append("passed" if len(case) == 0 else "failed")
    return said


def test_a_refreshed_notebook_keeps_no_trace_of_a_widget_or_a_player(picture: Path) -> None:
    _, shown = outputs(nbformat.read(picture, as_version=4))
    assert shown.data == {
        "text/plain": "x to mul to y",
        "text/html": '<img alt="x to mul to y" src="data:image/svg+xml;base64,QUJD"><div class="wb-live">z</div>',
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_an_output_that_is_not_true_fails_and_a_picture_may_be_placed_otherwise(
    outcomes: dict[str, list[str]], name: str
) -> None:
    assert outcomes[name] == CHANGES[name][1].split()


def test_refreshing_twice_changes_nothing(picture: Path) -> None:
    once = picture.read_bytes()
    refresh(picture)
    assert picture.read_bytes() == once


@pytest.mark.slow
def test_refreshing_keeps_an_error_but_no_path_of_the_machine(error: Path, outcomes: dict[str, list[str]]) -> None:
    (output,) = outputs(nbformat.read(error, as_version=4))
    assert output.ename == "JSONDecodeError"
    assert output.traceback == ["JSONDecodeError: Expecting value: line 1 column 1 (char 0)"]
    assert outcomes["error"] == ["passed"]


@pytest.mark.slow
def test_refreshing_leaves_a_notebook_whose_cell_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    monkeypatch.setattr(sys, "argv", ["refresh_notebooks.py", str(path)])
    assert main() == 1
    assert capsys.readouterr().err == f"{path}, code cell 1: ZeroDivisionError: division by zero\n"
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("browser", "oracle", "ending", "refused"),
    [
        ("0", "0", "4 skipped, 1 xfailed", set()),
        ("1", "0", "1 failed, 2 skipped, 1 xfailed, 1 error", {"no tool", "no module"}),
        ("0", "1", "1 failed, 1 skipped, 1 xfailed, 2 errors", {"no tool", "no module", "torch is not installed"}),
    ],
)
def test_a_skip_fails_where_nothing_may_be_skipped(
    tmp_path: Path, browser: str, oracle: str, ending: str, refused: set[str]
) -> None:
    for path in (CHECKOUT / "tests" / "conftest.py", *(CHECKOUT / "tests" / "support").glob("*.py")):
        shutil.copy(path, tmp_path)
    (tmp_path / "test_one.py").write_text(
        "import pytest\nimport absent\ndef test_it():\n    pytest.skip('no tool')\n"
        "@pytest.mark.skipif(True, reason=absent.TORCH)\ndef test_compared(): pass\n"
        "@pytest.mark.skipif(True, reason=absent.GRADER)\ndef test_graded(): pass\n"
    )
    (tmp_path / "test_two.py").write_text("import pytest\npytest.skip('no module', allow_module_level=True)\n")
    (tmp_path / "test_three.py").write_text("import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert 0\n")
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", str(tmp_path)]
    asked = {"WORKBENCH_REQUIRE_BROWSER": browser, "WORKBENCH_REQUIRE_ORACLE": oracle, "PYTEST_ADDOPTS": ""}
    environment = os.environ | asked
    seen = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert seen.stdout.splitlines()[-1].startswith(ending)
    assert set(re.findall(r"a skip counts as a failure here: (?:Skipped: )?([a-z ]+)", seen.stdout)) == refused
