"""The lessons as they are committed, and that running them as tests would notice a wrong output."""

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
from refresh_notebooks import METADATA, WIDGET, main, refresh

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|opt|work|var|Users|private)/|\b[A-Z]:\\\\?Users")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def lesson(request: pytest.FixtureRequest) -> NotebookNode:
    return nbformat.read(request.param, as_version=4)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that hold code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    """All outputs, from top to bottom."""
    return [output for cell in code(notebook) for output in cell.outputs]


def test_every_code_cell_was_run_once_from_top_to_bottom(lesson: NotebookNode) -> None:
    cells = code(lesson)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


def test_an_error_is_shown_only_where_the_lesson_wants_it(lesson: NotebookNode) -> None:
    for cell in code(lesson):
        failed = any(output.output_type == "error" for output in cell.outputs)
        assert failed == ("raises-exception" in cell.metadata.get("tags", [])), cell.source


def test_no_cell_is_kept_from_being_compared(lesson: NotebookNode) -> None:
    for cell in code(lesson):
        assert not re.search(r"^\s*#\s*(NBVAL|PYTEST_VALIDATE)_", cell.source, re.MULTILINE), cell.source
        assert not [tag for tag in cell.metadata.get("tags", []) if tag.startswith("nbval-")], cell.source


def test_no_state_of_a_kernel_or_a_machine_is_kept(lesson: NotebookNode) -> None:
    assert lesson.metadata == METADATA
    for output in outputs(lesson):
        assert WIDGET not in output.get("data", {})
        assert not re.search("<script|wb-(live|play)-", output.get("data", {}).get("text/html", ""))
        said = str({key: value for key, value in output.get("data", output).items() if "image/" not in key})
        assert (MACHINE_PATH.findall(said), ADDRESS.findall(said)) == ([], [])


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
