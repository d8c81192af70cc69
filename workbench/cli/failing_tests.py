"""Write a page for each failing test that ran a backward pass: `pytest --workbench-on-failure`."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from workbench.cli import errors
from workbench.cli.errors import CommandError
from workbench.cli.first_steps import FirstSteps
from workbench.cli.tracing import Output
from workbench.pictures.recording import Trace

SECTION = "backward"
KEPT = "Recorded from {}: {}"
NOT_KEPT = "It ran a backward pass, but {}"
NAME_LENGTH = 120  # characters: far below what a file system takes, whatever the folder
_PLAIN = re.compile(r"[a-z0-9_.,=\[\]/:-]+")

_steps = pytest.StashKey[FirstSteps]()


class FailingTests:
    """Record each test, and write a page of it if it fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Record the test from its first line on."""
        code = _code_of(item)
        if code is None:
            yield
            return
        steps = FirstSteps()
        steps.begin_with(lambda frame: frame.f_code is code)
        try:
            yield
        finally:
            steps.leave()
            item.stash[_steps] = steps

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Write the page and report its path."""
        outcome: Any = yield
        if call.when != "call" or _steps not in item.stash:
            return
        steps = item.stash[_steps]
        del item.stash[_steps]
        report = outcome.get_result()
        engine = steps.most if report.failed else None
        if engine is not None and engine.trace is not None:
            report.sections.append((SECTION, self._write(item.nodeid, engine.name, engine.trace)))

    def _write(self, test: str, engine: str, trace: Trace) -> str:
        """Write the page of a test and return the message about it."""
        path = self.folder / file_name(test)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            Output(path).write(trace)
        except OSError as error:
            return NOT_KEPT.format(errors.NOT_MADE.format(self.folder, error.strerror))
        except CommandError as error:
            return NOT_KEPT.format(error)
        return KEPT.format(engine, path)


def _code_of(item: pytest.Item) -> CodeType | None:
    """Return the code of a test function or method, without its decorators."""
    function = inspect.unwrap(item.obj) if hasattr(item, "obj") and callable(item.obj) else None  # type: ignore[attr-defined]
    return getattr(getattr(function, "__func__", function), "__code__", None)


def file_name(test: str) -> str:
    """Return the name of a test's page: readable, unique, and allowed in every file system."""
    name = re.sub(r"[^A-Za-z0-9_.,=\[\]+-]+", "_", test.replace("::", "+").replace("/", "+"))
    if len(name) > NAME_LENGTH or not _PLAIN.fullmatch(test):  # where "A" and "a" are one file, too
        name = f"{name[:NAME_LENGTH]}-{hashlib.sha256(test.encode(errors='replace')).hexdigest()[:8]}"
    return f"{name}.html"
