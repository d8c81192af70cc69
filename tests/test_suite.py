"""What `pytest` runs as it is typed: every part, the basic ones first, and the whole of a file that is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import CHECKOUT

ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "WORKBENCH_"))}


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
    marked = "import pytest\n@pytest.mark.{0}\ndef test_{0}(): pass\n"
    slow = marked.format("slow") + marked.format("scheduled") + "def test_quick(): pass\n"
    smoke = marked.format("smoke") + "def test_page(): pass\n"
    for name, text in {"test_alone.py": alone, "test_slow.py": slow, "browser/test_pages.py": smoke}.items():
        (tmp_path / "tests" / name).write_text(text)

    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        seen = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
        return seen.stdout.splitlines()[-1].rpartition(" in ")[0]

    return said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "1 failed, 2 passed"),
        (["tests/browser/test_pages.py", "tests/test_slow.py"], "5 passed"),
        (["browser"], "1 passed"),
        (["tests/test_alone.py"], "1 passed"),
    ],
)
def test_what_is_named_runs_whole_and_a_single_file_in_this_process(
    run: Callable[..., str], arguments: list[str], said: str
) -> None:
    assert run(*arguments) == said


def test_every_part_has_its_place_in_the_order(request: pytest.FixtureRequest) -> None:
    plugin: Any = request.config.pluginmanager.get_plugin(str(CHECKOUT / "tests" / "conftest.py"))
    parts = {path.parent.name for path in (CHECKOUT / "tests").glob("*/test_*.py")} | {"tests", "notebooks"}
    assert sorted(plugin.ROOMS) == sorted(parts)
    assert plugin.ROOMS[:4] == ("engine", "ops", "function", "transforms") and plugin.ROOMS[-1] == "browser"
