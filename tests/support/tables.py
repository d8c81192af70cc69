"""One item for a table: the entries of a parametrized test run together, and all that fail are reported together.

Thousands of entries take milliseconds each. As an item of its own each would cost another millisecond, and some time of
the process that hands items out. An entry is still chosen by its name: `pytest FILE -k sin` or `"FILE::test[sin]"`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import pytest
from _pytest.python import get_direct_param_fixture_func

FEWEST = 5  # entries; fewer stay items of their own
SHOWN = 10  # failures that are printed with their traceback; the others are named


class EntriesFailed(Exception):
    """Some entries of a table failed."""

    def __init__(self, failures: dict[str, pytest.ExceptionInfo[BaseException]], count: int) -> None:
        super().__init__(f"{len(failures)} of {count} entries failed: {', '.join(failures)}")
        self.failures = failures


class Table(pytest.Item):
    """All entries of one parametrized test."""

    def __init__(self, *, entries: list[pytest.Function], before_each: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entries, self.before_each = entries, before_each
        self.skipped: list[str] = []  # why entries were skipped
        self.own_markers = list(entries[0].own_markers)
        self.keywords.update(entries[0].keywords)

    def runtest(self) -> None:
        """Run each entry, the others too where one fails."""
        failures: dict[str, pytest.ExceptionInfo[BaseException]] = {}
        name = os.environ["PYTEST_CURRENT_TEST"]
        for entry in self.entries:
            # Recorded answers are noted by the entry that asks.
            os.environ["PYTEST_CURRENT_TEST"] = f"{entry.nodeid} (call)"
            try:
                self.before_each()
                with warnings.catch_warnings():
                    entry.obj(**{name: entry.callspec.params[name] for name in entry._fixtureinfo.argnames})
            except pytest.skip.Exception as skip:
                self.skipped.append(str(skip))
            except (KeyboardInterrupt, pytest.exit.Exception):
                raise
            except BaseException:
                failures[entry.callspec.id] = pytest.ExceptionInfo.from_current()
        os.environ["PYTEST_CURRENT_TEST"] = name
        if failures:
            raise EntriesFailed(failures, len(self.entries))
        if len(self.skipped) == len(self.entries):
            pytest.skip(self.skipped[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show each failing entry, from the test's own line on."""
        error = excinfo.value
        if not isinstance(error, EntriesFailed):
            return super().repr_failure(excinfo, style)
        shown = [str(error)]
        for name, failure in list(error.failures.items())[:SHOWN]:
            failure.traceback = failure.traceback.cut(path=self.path)
            shown.append(f"[{name}]\n{failure.getrepr(style='short')}")
        return "\n\n".join(shown)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where the test is written."""
        path, line, _ = self.entries[0].reportinfo()
        return path, line, self.name


def together(items: list[pytest.Item], before_each: Callable[[], None]) -> Iterator[pytest.Item]:
    """Yield the items with the entries of each table as one."""
    for (parent, name, _), group in groupby(items, _table):
        entries: list[Any] = list(group)
        if name and len(entries) >= FEWEST:
            yield Table.from_parent(parent, name=name, entries=entries, before_each=before_each)
        else:
            yield from entries


def _table(item: pytest.Item) -> tuple[Any, str, Any]:
    """The table that an item is an entry of, by the file, the test's name and its marks; or nothing but itself."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return item, "", None
    if any(mark.name in ("skip", "skipif", "xfail", "usefixtures", "browser") for mark in item.iter_markers()):
        return item, "", None
    for name in item.fixturenames:
        made = item._fixtureinfo.name2fixturedefs.get(name)
        if not made or made[-1].func is not get_direct_param_fixture_func:
            return item, "", None
    return item.parent, item.originalname, sorted(mark.name for mark in item.iter_markers())
