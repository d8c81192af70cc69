"""A plugin of pytest: lessons that import PyTorch itself have the mark `oracle`, and are skipped without PyTorch.

`pyproject.toml` loads it, because `pytest notebooks` reads no `conftest.py` of tests.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import absent
import pytest


def needs_torch(lesson: Path) -> bool:
    """Return whether a lesson imports PyTorch itself."""
    return '"import torch' in lesson.read_text(encoding="utf-8")


def mark(item: pytest.Item) -> None:
    """Mark a test that runs such a lesson."""
    item.add_marker("oracle")
    if find_spec("torch") is None:
        item.add_marker(pytest.mark.skip(reason=absent.TORCH))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = {path: needs_torch(path) for path in {item.path for item in items} if path.suffix == ".ipynb"}
    for item in items:
        if found.get(item.path):
            mark(item)
