"""What holds for every test that opens a page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from browser_page import open_page, resize
from player_page import show
from playwright.sync_api import Page

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == FOLDER:
            item.add_marker("browser")


@pytest.fixture(scope="module", autouse=True)
def in_one_browser(one_browser: None) -> None:
    """Open all pages of this folder in one browser."""


@pytest.fixture(scope="module")
def browser_tab(request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of a file's tests, cut off from the network where the file says OFFLINE."""
    with open_page(_size(request), offline=hasattr(request.module, "OFFLINE")) as page:
        yield page


@pytest.fixture
def page(request: pytest.FixtureRequest, browser_tab: Page) -> Iterator[Page]:
    """Yield that page as every test finds it: of the file's SIZE, with its STORY, without motion where it says CALM."""
    said = len(browser_tab.console_errors)
    calm = "reduce" if hasattr(request.module, "CALM") else "null"
    browser_tab.emulate_media(reduced_motion=calm, color_scheme="null", media="null")
    resize(browser_tab, *_size(request))
    if hasattr(request.module, "STORY"):
        show(browser_tab, request.module.STORY)
    yield browser_tab
    assert browser_tab.console_errors[said:] == [] and browser_tab.requests_outside == []


def _size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return getattr(request.module, "SIZE", (1280, 900))


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
