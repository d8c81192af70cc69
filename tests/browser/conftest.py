"""What holds for every test that opens a page in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("browser")


@pytest.fixture(scope="module", autouse=True)
def every_page_in_one_browser(one_browser: None) -> None:
    """All files of this folder have their pages in one browser each."""
