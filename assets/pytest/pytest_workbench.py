"""The pytest plugin: `--workbench-on-failure` saves a page for each failing test that ran a backward pass.

The fixture `golden` compares a backward pass with a file next to the test, and `audit` audits a Function. The plugin is
outside the package, so that pytest imports nothing else unless the option is given or a test uses a fixture.
"""

from __future__ import annotations

from typing import Any

OPTION = "--workbench-on-failure"
FOLDER = "workbench-failures"
HELP = f"save a page in FOLDER for each failing test that ran a backward pass, also with PyTorch (default: {FOLDER})"
NO_FOLDER = "{0} {1} would write pages to {1}. If you want that, write {0}={1}; otherwise put {0} after the tests."
GOLDEN = "--workbench-golden"
GOLDEN_HELP = "with 'update', write the files of the fixture `golden` instead of comparing with them (default: check)"


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    group = parser.getgroup("workbench")
    group.addoption(
        OPTION, dest="workbench_on_failure", nargs="?", const=FOLDER, default=None, metavar="FOLDER", help=HELP
    )
    group.addoption(GOLDEN, dest="workbench_golden", choices=("check", "update"), default="check", help=GOLDEN_HELP)


def pytest_configure(config: Any) -> None:
    """Offer the fixture, and record tests if the option is given."""
    config.pluginmanager.register(_fixtures(), "workbench-fixtures")
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


def _fixtures() -> Any:
    """Return the plugin that has the fixtures; pytest is imported when it runs, not with this file."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def golden(self, request: pytest.FixtureRequest) -> Any:
            """Compare a trace or a loss with a file beside the test: `golden(trace)`."""
            from workbench.cli.goldens import Golden

            return Golden(request)

        @pytest.fixture
        def audit(self) -> Any:
            """Audit a Function as `workbench.audit` does, and fail with the table if a check fails."""

            def audit(target: Any, *inputs: Any, checks: Any = None) -> Any:
                __tracebackhide__ = True
                import workbench

                found = workbench.audit(target, *inputs, checks=checks)
                if not found.ok:
                    pytest.fail(str(found))
                return found

            return audit

    return Fixtures()
