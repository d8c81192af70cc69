"""What `pytest` runs, as it is typed: every room, the basic ones first, and all of a file that is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from lab import CHECKOUT

pytestmark = pytest.mark.slow  # each starts pytest, some with workers
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "WORKBENCH_"))}


def pytest_says(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=ENVIRONMENT).stdout.splitlines()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Run pytest with this project's settings on three files of small tests; the last line that it prints."""
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    for name in ("notebooks", "tests/browser", "tests/support"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("conftest.py", "browser/conftest.py", "nbval_sanitize.cfg"):
        shutil.copy(CHECKOUT / "tests" / name, tmp_path / "tests" / name)
    for path in (CHECKOUT / "tests" / "support").glob("*.py"):
        shutil.copy(path, tmp_path / "tests" / "support")
    alone = "import os\ndef test_alone(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
    slow = "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\ndef test_quick(): pass\n"
    smoke = "import pytest\n@pytest.mark.smoke\ndef test_smoke(): pass\ndef test_page(): pass\n"
    for name, text in {"test_alone.py": alone, "test_slow.py": slow, "browser/test_pages.py": smoke}.items():
        (tmp_path / "tests" / name).write_text(text)
    return lambda *arguments: pytest_says(tmp_path, *arguments)[-1].rpartition(" in ")[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "1 failed, 2 passed"),
        (["-m", ""], "1 failed, 4 passed"),
        (["tests/browser/test_pages.py", "tests/test_slow.py"], "4 passed"),
        (["tests/test_alone.py"], "1 passed"),
    ],
)
def test_what_is_named_runs_whole_and_a_single_file_in_this_process(
    run: Callable[..., str], arguments: list[str], said: str
) -> None:
    assert run(*arguments) == said


def test_every_room_is_in_the_quick_run_and_the_basic_ones_come_first() -> None:
    said = pytest_says(CHECKOUT, "--collect-only", "-n0")
    files = [file for file, _ in groupby(line.partition("::")[0] for line in said if "::" in line)]
    assert len(files) == len(set(files))
    rooms = [room for room, _ in groupby(Path(file).parent.name for file in files)]
    first = ["engine", "ops", "function", "transforms", "tests", "trace", "health"]
    last = ["stepper", "views", "scene", "notebooks", "classroom", "browser"]
    assert [room for room in rooms if room != "bridges"] == first + last
    assert sum("::" in line for line in said) > 15_000
    assert {file for file in files if file.startswith("notebooks")} == {
        f"notebooks/{path.name}" for path in (CHECKOUT / "notebooks").glob("*.ipynb")
    }
