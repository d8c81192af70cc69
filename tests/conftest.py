"""What holds for every test."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

# Tests run on every core, so the threads of a BLAS would only wait for each other. NumPy reads this as it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import absent  # noqa: E402
import newer_torch  # noqa: E402
import pytest  # noqa: E402
import recorded  # noqa: E402
import torch_lessons  # noqa: E402
from hypothesis import settings  # noqa: E402
from tables import together  # noqa: E402

if TYPE_CHECKING:
    from lab import Lab

# Shared asserts say what differed, as those in test files do.
pytest.register_assert_rewrite("browser_page", "lab", "lesson_page")

# Where everything a test can need is there, a test that skips itself is a test that is lost. Where a browser is there,
# those that need PyTorch itself, or a program that grades, checks types or makes a site, Python for the browser, or a
# JupyterHub, are skipped where that is not required, and they alone.
KINDS = ("BROWSER", "ORACLE", "EXTRAS", "PYODIDE", "HUB")
REQUIRED = {name for name in KINDS if os.environ.get(f"WORKBENCH_REQUIRE_{name}") == "1"}
ABSENT = {
    "ORACLE": (absent.TORCH, absent.NEWER),
    "EXTRAS": (
        absent.GRADER,
        absent.CHECKER,
        absent.SITE,
        absent.LIGHTNING,
        absent.TRANSFORMERS,
        absent.MCP,
        absent.LITE,
        absent.INSTALLS,
    ),
    "PYODIDE": (absent.PYODIDE,),
    "HUB": (absent.HUB,),
}
MAY_BE_ABSENT = [why for name, several in ABSENT.items() if name not in REQUIRED for why in several]


_answers: recorded.Answers = {}  # of PyTorch's, where they are recorded: all that the workers noted

# The tests that run the cells of a lesson, whose name is in brackets.
RUNS_LESSONS = re.compile(r"test_(a_lesson_is_answered|the_students_copy).*")

_kept = ExitStack()  # the browser, while tests that follow each other open pages in it

CHECKOUT = Path(__file__).parents[1]
# The order in which the rooms' tests run: first those that everything stands on, last those that take longest.
ROOMS = ("engine", "ops", "function", "transforms", "tests", "trace", "bridges", "health", "stepper", "views", "scene")
ROOMS += ("notebooks", "classroom", "browser")
CORE = ROOMS[:4]
PROGRAM = re.compile(r"^def test_\w+\(torch\b", re.MULTILINE)

# Where the whole is checked, many examples are drawn, the same on every machine; elsewhere each run draws a few others.
settings.register_profile("few", max_examples=25, deadline=None)
settings.register_profile("same", max_examples=150, deadline=None, derandomize=True)
settings.load_profile("same" if REQUIRED else "few")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Draw the same random numbers in every run where the whole is checked."""
    for name in ("workbench", "torch") if REQUIRED else ():
        if name in sys.modules:
            sys.modules[name].manual_seed(0)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab server for all tests that need no other; each has its notebooks in a folder of its own."""
    from browser_page import require_chromium
    from lab import serve

    require_chromium()
    with serve(tmp_path_factory.mktemp("lessons"), tmp_path_factory.mktemp("home")) as lab:
        yield lab


@pytest.fixture(scope="session")
def browser_ends() -> Iterator[None]:
    """Close the browser when the session ends, even if it stops at a failure."""
    yield
    _kept.close()


@pytest.fixture(scope="module")
def one_browser(browser_ends: None) -> None:
    """Open the pages of all files that ask for this in one browser."""
    from browser_page import find_chromium, running_browser

    if find_chromium() is not None:
        _kept.enter_context(running_browser())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser before a test that opens no page: while one runs, nothing else may run an event loop here."""
    try:
        return (yield)
    finally:
        if "one_browser" not in getattr(nextitem, "fixturenames", ()):
            _kept.close()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole of a file that is named, its slow tests too; a single one runs in this process.

    The name of a part alone, as in `pytest ops`, means its folder. Where answers are recorded, every test that asks for
    one runs: what no test asked is removed.
    """
    folders = {room: str(_folder(room)) for room in ROOMS if _folder(room).is_dir()}
    config.args = [folders.get(arg, arg) for arg in config.args]
    option, named = config.option, {config.invocation_params.dir / arg.partition("::")[0] for arg in config.args}
    files = all(path.is_file() for path in named)
    if f"-m={option.markexpr}" in config.getini("addopts") and (files or recorded.WRITING):
        option.markexpr = ""
    if files and len(named) == 1 and getattr(option, "numprocesses", None) == "logical":
        option.numprocesses = 0


def _may_be_absent(reason: str) -> bool:
    return any(why in reason for why in MAY_BE_ABSENT)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if not _may_be_absent(str(reason)):
            report.outcome = "failed"
            report.longrepr = f"a skip counts as a failure here: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    if refused := [why for why in getattr(item, "skipped", ()) if REQUIRED and not _may_be_absent(why)]:
        report.outcome, report.longrepr = "failed", f"a skip counts as a failure here: {refused[0]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


def pytest_pycollect_makeitem(collector: pytest.Module, name: str, obj: object) -> object:
    """In the core's folders, compare what a test that takes `torch` shows under PyTorch and under the workbench."""
    if isinstance(obj, FunctionType) and name.startswith("test_") and _part(collector.path) in CORE:
        if obj.__code__.co_argcount and obj.__code__.co_varnames[0] == "torch":
            from oracle import same

            test = same(obj)
            setattr(collector.obj, name, test)
            return collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=test)
    return None


def pytest_make_parametrize_id(val: object) -> str | None:
    """A test that is given a long program goes by its beginning: what pytest makes of it depends on its version."""
    if isinstance(val, str) and len(val) > 100:
        return f"{ascii(val[:60])[1:-1]}... {hashlib.sha256(val.encode()).hexdigest()[:8]}"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("WORKBENCH_READABLE"):  # other lines run there than the generated ones
        left = [item for item in items if item.get_closest_marker("generated")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    if seed := os.environ.get("WORKBENCH_SHUFFLE"):
        _shuffle(items, seed)
    else:
        items.sort(key=lambda item: _place(item.path))
    paths = {item.path for item in items}
    comparing = {path for path in paths if path.suffix == ".py" and _compares(path)}
    lessons = {path.stem for path in (CHECKOUT / "notebooks").glob("*.ipynb") if torch_lessons.needs_torch(path)}
    too_new = newer_torch.too_new()
    for item in items:
        if item.path in comparing:
            item.add_marker("oracle")
        if RUNS_LESSONS.fullmatch(item.name) and any(map(item.name.count, lessons)):
            torch_lessons.mark(item)
        if item.name in too_new or item.name.partition("[")[0] in too_new:
            item.add_marker(pytest.mark.skip(reason=absent.NEWER))


def _shuffle(items: list[pytest.Item], seed: str) -> None:
    """Put the files in a random order, and the tests of each file too; every worker makes the same order.

    The entries of a table stay together, and the cells of a notebook in their order.
    """
    order = random.Random(seed)

    def test(item: pytest.Item) -> str:
        return item.nodeid.partition("::" if item.path.suffix == ".ipynb" else "[")[0]

    places = {path: order.random() for path in sorted({item.path for item in items})}
    ranks = {each: order.random() for each in sorted(map(test, items))}
    items.sort(key=lambda item: (places[item.path], ranks[test(item)]))


def _folder(room: str) -> Path:
    """The folder of a part's tests."""
    return CHECKOUT / (room if room in ("notebooks", "tests") else f"tests/{room}")


def _part(path: Path) -> str:
    """The part that a test file belongs to."""
    return path.parent.name if path.parent.name in ROOMS else "tests"


def _place(path: Path) -> int:
    """The place of a test file's room in the order in which they run: the engine first, a browser last."""
    return ROOMS.index(_part(path))


def _compares(path: Path) -> bool:
    """Whether a test file compares with PyTorch."""
    text = path.read_text(encoding="utf-8")
    asks = re.search(r"^(from|import) oracle\b", text, re.MULTILINE) or (_part(path) in CORE and PROGRAM.search(text))
    return bool(asks)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    # Nothing that is collected is garbage, and to look for some takes a third of the time.
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    # After all hooks have chosen items: an entry of a table is chosen by its own name.
    session.items[:] = together(list(session.items), pytest_runtest_setup)
    # Thousands of collected tests need not be gone through again at every collection of garbage.
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the answers of PyTorch that a worker has noted."""
    for part, answers in json.loads(getattr(node, "workeroutput", {}).get("answers", "{}")).items():
        recorded.merge(answers, _answers.setdefault(part, {}))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write down what PyTorch answered; a worker hands it over. A part is whole if all its tests ran and passed."""
    if not recorded.WRITING:
        return
    for part, answers in recorded.noted().items():
        recorded.merge(answers, _answers.setdefault(part, {}))
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["answers"] = json.dumps(_answers)
        return
    option, named = session.config.option, {session.config.invocation_params.dir / arg for arg in session.config.args}
    some = exitstatus or option.keyword or "slow" in option.markexpr
    recorded.write(_answers, {room for room in ROOMS if not some and named & {_folder(room), *_folder(room).parents}})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End a run of several parts with a table: tests, seconds and lines of each."""
    seconds, tests, seen = Counter[str](), Counter[str](), set[str]()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                part = _part(CHECKOUT / report.nodeid.partition("::")[0])
                seconds[part] += report.duration
                tests[part] += report.nodeid not in seen
                seen.add(report.nodeid)
    if len(seconds) < 3:
        return
    terminalreporter.section("parts")
    for part in sorted(seconds, key=ROOMS.index):
        pattern = "*.ipynb" if part == "notebooks" else "*.py"
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in _folder(part).glob(pattern))
        terminalreporter.line(f"{part:12}{tests[part]:7,} tests {seconds[part]:8.1f} s {lines:7,} lines")
    terminalreporter.line(f"{'together':12}{tests.total():7,} tests {seconds.total():8.1f} s on all cores")
