"""What holds for every test that opens a page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from browser_page import find_chromium, running_browser

FOLDER = Path(__file__).parent
_kept = ExitStack()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == FOLDER:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser_ends() -> Iterator[None]:
    """Close the browser when the session ends, even if it stops at a failure."""
    yield
    _kept.close()


@pytest.fixture(scope="module", autouse=True)
def one_browser(browser_ends: None) -> None:
    """Open all pages of this folder in one browser, and close it before a test elsewhere runs an event loop."""
    if find_chromium() is not None:
        _kept.enter_context(running_browser())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path.parent != FOLDER:
            _kept.close()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Rerun a browser test once if it fails, with new fixtures and a new browser, and report the rerun."""
    if not item.get_closest_marker("browser"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = next((report for report in reports if report.failed), None)
    if failed is not None:
        with suppress(Exception):  # what is broken may not end well
            item.session._setupstate.teardown_exact(None)
        why = getattr(getattr(failed.longrepr, "reprcrash", None), "message", failed.longreprtext)
        item.warn(pytest.PytestWarning(f"rerun: {item.nodeid} failed at first: {why[:300]}"))
        failed.outcome = "rerun"  # counted in the last line of the summary
        item.ihook.pytest_runtest_logreport(report=failed)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
