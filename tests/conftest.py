"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import recorded

# Shared asserts say what differed, as those in test files do.
pytest.register_assert_rewrite("browser_page", "lab", "lesson_page")

# Where everything a test can need is there, a test that skips itself is a test that is lost.
STRICT = any(os.environ.get(f"WORKBENCH_REQUIRE_{name}") == "1" for name in ("BROWSER", "ORACLE"))


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"a skip counts as a failure here: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


def pytest_sessionfinish() -> None:
    if recorded.WRITING:
        recorded.write()
