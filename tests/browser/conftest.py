"""What holds for every test that opens a page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_page import find_chromium, running_browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("browser")


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Iterator[None]:
    """The pages of one file's tests open in one browser."""
    if find_chromium() is None:
        yield
        return
    with running_browser():
        yield
