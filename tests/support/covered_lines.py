"""A plugin of pytest that notes which lines of the package each test runs, for `mutants.py`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = str(CHECKOUT / "workbench") + os.sep
covered: dict[str, tuple[float, dict[str, set[int]]]] = {}  # test -> seconds, file -> lines
running: dict[str, set[int]] = {}
failed: set[str] = set()


def line(code: CodeType, number: int) -> Any:
    """Note a line, once a test."""
    if code.co_filename.startswith(PACKAGE):
        running.setdefault(code.co_filename, set()).add(number)
    return sys.monitoring.DISABLE


def pytest_configure() -> None:
    """Listen to each line that is run."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutants")
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)


def pytest_runtest_logstart() -> None:
    """A test begins: each line is told of once more."""
    running.clear()
    sys.monitoring.restart_events()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note what a part of a test ran, if it passed; all of a function's parameters are one test."""
    test = item.nodeid.split("[")[0]
    if call.excinfo is not None:
        failed.add(test)
    seconds, files = covered.get(test, (0.0, {}))
    for name, numbers in running.items():
        files.setdefault(Path(name).relative_to(CHECKOUT).as_posix(), set()).update(numbers)
    covered[test] = seconds + call.duration, files


def pytest_sessionfinish() -> None:
    """Write it down: each worker what it ran, and whoever started them all of it."""
    sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
    kept = Path(os.environ["WORKBENCH_COVERED_LINES"])
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        passed = {test: noted for test, noted in covered.items() if test not in failed}
        kept.with_suffix(f".{worker}").write_text(json.dumps(passed, default=sorted), encoding="utf-8")
        return
    together: dict[str, tuple[float, dict[str, set[int]]]] = {}
    for path in kept.parent.glob(f"{kept.stem}.gw*"):
        for test, (seconds, files) in json.loads(path.read_text(encoding="utf-8")).items():
            before, known = together.get(test, (0.0, {}))
            for name, numbers in files.items():
                known.setdefault(name, set()).update(numbers)
            together[test] = before + seconds, known
        path.unlink()
    kept.write_text(json.dumps(together, default=sorted), encoding="utf-8")
