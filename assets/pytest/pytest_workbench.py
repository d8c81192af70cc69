"""The pytest plugin: `pytest --workbench-on-failure` saves a page for each failing test that ran a backward pass.

It is outside the package, so that pytest imports nothing else unless the option is given.
"""

from __future__ import annotations

from typing import Any

OPTION = "--workbench-on-failure"
FOLDER = "workbench-failures"
HELP = f"save a page in FOLDER for each failing test that ran a backward pass, also with PyTorch (default: {FOLDER})"
NO_FOLDER = "{0} {1} would write pages to {1}. If you want that, write {0}={1}; otherwise put {0} after the tests."


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    group = parser.getgroup("workbench")
    group.addoption(
        OPTION, dest="workbench_on_failure", nargs="?", const=FOLDER, default=None, metavar="FOLDER", help=HELP
    )


def pytest_configure(config: Any) -> None:
    """Record tests if the option is given."""
    folder = config.getoption("workbench_on_failure")
    if folder is None:
        return
    words = [str(each) for each in config.invocation_params.args]
    if (OPTION, folder) in zip(words, words[1:], strict=False) and not hasattr(config, "workerinput"):
        import pytest

        raise pytest.UsageError(NO_FOLDER.format(OPTION, folder))
    from workbench.cli.failing_tests import FailingTests

    plugin = FailingTests(config.invocation_params.dir / folder)
    config.option.workbench_on_failure = str(plugin.folder)  # as a worker of pytest-xdist gets it
    config.pluginmanager.register(plugin, "workbench-failing-tests")
