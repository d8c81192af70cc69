"""What holds for tests of recordings of PyTorch: without it their files are skipped, and none is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import absent
import pytest


class Unavailable(pytest.Module):
    """A file whose tests need PyTorch."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        pytest.skip(absent.TORCH, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip the files of PyTorch where it is not installed."""
    if module_path.name.startswith("test_torch_") and find_spec("torch") is None:
        return Unavailable.from_parent(parent, path=module_path)
    return None


@pytest.fixture(autouse=True)
def distributions_check_their_arguments() -> Iterator[None]:
    """Let PyTorch's distributions check their arguments again: whatever compiles first in a process ends that."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].distributions.Distribution.set_default_validate_args(True)
