"""`pytest --workbench-on-failure`: a page for each failing test that ran a backward, and nothing where nobody asks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lab import CHECKOUT

from workbench.cli.failing_tests import NAME_LENGTH, file_name

pytest_plugins = ("pytester",)

TESTS = """
import functools, unittest
import pytest, workbench as torch

def decorated(function):
    @functools.wraps(function)
    def call(*args, **options):
        return function(*args, **options)
    return call

def backward():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()

def test_passes(): backward()

@pytest.mark.parametrize("what", ["a/b", "c"])
@decorated
def test_fails(what):
    backward()
    assert what is None

def test_without_backward(): assert False

@pytest.mark.xfail
def test_expected(): backward(); assert False

def test_skipped(): backward(); pytest.skip()

class TestCase(unittest.TestCase):
    def test_in_a_class(self):
        backward()
        self.assertTrue(False)
"""
ARGUMENTS = ("-p", "pytest_workbench", "-p", "no:cacheprovider")


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tests, of which pytest runs in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "assets" / "pytest")]))
    pytester.makepyfile(test_some=TESTS)
    return pytester.path


@pytest.mark.slow
def test_each_failing_test_that_ran_a_backward_has_its_page(folder: Path, pytester: pytest.Pytester) -> None:
    for processes in ((), ("-n", "2")):  # the second run writes the same pages again
        result = pytester.runpytest_subprocess(*ARGUMENTS, *processes, "--workbench-on-failure=kept/pages")
        result.assert_outcomes(passed=1, failed=4, xfailed=1, skipped=1)
        told = re.findall(r"^Recorded from the workbench: (.*)$", result.stdout.str(), re.M)
        pages = sorted((folder / "kept" / "pages").iterdir())
        assert sorted(map(Path, told)) == pages
        names = [file_name(f"test_some.py::{test}") for test in ("TestCase::test_in_a_class", "test_fails[a/b]")]
        assert [page.name for page in pages] == sorted([*names, "test_some.py+test_fails[c].html"])
    assert "x * x" in pages[-1].read_text()


@pytest.mark.slow
def test_the_folder_has_a_usual_name_and_takes_no_test_for_it(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess(*ARGUMENTS, "test_some.py", "--workbench-on-failure")
    assert len(list((folder / "workbench-failures").iterdir())) == 3
    result = pytester.runpytest_subprocess(*ARGUMENTS, "--workbench-on-failure", "test_some.py")
    result.stderr.fnmatch_lines("*If you want that, write --workbench-on-failure=test_some.py;*")


@pytest.mark.slow
def test_a_page_that_cannot_be_written_fails_nothing_else(folder: Path, pytester: pytest.Pytester) -> None:
    (folder / "taken").touch()
    result = pytester.runpytest_subprocess(*ARGUMENTS, "--workbench-on-failure=taken")
    result.assert_outcomes(passed=1, failed=4, xfailed=1, skipped=1)
    result.stdout.fnmatch_lines("It ran a backward pass, but cannot create the folder *taken: File exists.")


@pytest.mark.slow
def test_where_it_is_not_asked_for_nothing_is_imported(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_some="import sys\ndef test_it(): assert not {'workbench', 'numpy', 'torch'} & set(sys.modules)"
    )
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1)
    code = "import sys, pytest_workbench; print({'pytest', 'workbench', 'numpy'} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert seen.stdout == "set()\n", seen.stderr


AUDITED = """
import workbench as torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

class Wrong(Square):
    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad

X = torch.tensor([1.0, -2.0], requires_grad=True)

def test_right(audit):
    assert audit(Square, X).ok

def test_wrong(audit):
    audit(Wrong, X)

def test_one_check(audit):
    assert len(audit(Wrong, X, checks=["backward twice"]).checks) == 1
"""


@pytest.mark.slow
def test_the_fixture_audits_a_function(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_some=AUDITED)
    result = pytester.runpytest_subprocess(*ARGUMENTS)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Audit of Wrong: *", "*✗ derivative *by differences*"])
    assert "found = workbench.audit" not in result.stdout.str()


def test_each_test_has_a_file_of_its_own_name() -> None:
    assert file_name("tests/test_a.py::test_b[1-x]") == "tests+test_a.py+test_b[1-x].html"
    odd = ["a.py::test[ü]", "a.py::test[ö]", "a.py::test[A]", "a.py::test[a]", "a.py::test[..]", 'a.py::test["<|>?*\\]']
    odd += ["a.py::test[\ud800]", f"a.py::test[{'x' * 300}]", f"a.py::test[{'x' * 301}]", "a.py::test[a/b]"]
    names = [file_name(each) for each in odd]
    assert len({name.lower() for name in names}) == len(odd)
    assert all(re.fullmatch(r"[A-Za-z0-9_.,=\[\]+-]+\.html", name) for name in names)
    assert max(map(len, names)) <= NAME_LENGTH + 14
