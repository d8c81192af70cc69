"""What holds for every test."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import recorded
from hypothesis import settings

if TYPE_CHECKING:
    from lab import Lab

# Shared asserts say what differed, as those in test files do.
pytest.register_assert_rewrite("browser_page", "lab", "lesson_page")

# Where everything a test can need is there, a test that skips itself is a test that is lost.
STRICT = any(os.environ.get(f"WORKBENCH_REQUIRE_{name}") == "1" for name in ("BROWSER", "ORACLE"))


# Where the whole is checked, every machine tries the same examples; elsewhere each run tries others.
settings.register_profile("same", derandomize=True)
if STRICT:
    settings.load_profile("same")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab server for all tests that need no other; each has its notebooks in a folder of its own."""
    from browser_page import require_chromium
    from lab import serve

    require_chromium()
    with serve(tmp_path_factory.mktemp("lessons"), tmp_path_factory.mktemp("home")) as lab:
        yield lab


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


def pytest_collection_finish() -> None:
    # Fifteen thousand collected tests need not be gone through again at every collection of garbage.
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    if recorded.WRITING:
        recorded.write()
