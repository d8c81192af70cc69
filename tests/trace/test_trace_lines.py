"""The line that a record names is the user's: not one of the standard library's on the way to the engine."""

from __future__ import annotations

import copy
import json
import linecache
import runpy
import threading
from functools import cached_property
from pathlib import Path

import pytest
from functions import function

import workbench as torch
from workbench.autograd import forward_ad as fw
from workbench.pictures.recording import record

HERE = Path(__file__).name


def lines(trace):
    """The file and the text of each event's line."""
    found = [getattr(event, "source", None) for event in trace.events]
    return {(source.file, source.text) for source in found if source is not None}


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


class Stubborn:
    """What cannot be copied."""

    def __reduce_ex__(self, protocol):
        return copy.copy, ()  # a call that lacks its argument


class Held:
    """Computes in a property that the library remembers."""

    def __init__(self, x):
        self.x = x

    @cached_property
    def square(self):
        return self.x * self.x


def test_what_is_printed_is_computed_at_the_line_that_prints():
    with record() as trace, fw.dual_level():
        dual = fw.unpack_dual(fw.make_dual(leaf(), torch.ones(2)) * 2)
        str(dual)
    assert {text for _, text in lines(trace)} == {
        "dual = fw.unpack_dual(fw.make_dual(leaf(), torch.ones(2)) * 2)",
        "str(dual)",
    }


def test_what_a_sorted_list_or_a_deep_copy_computes_is_computed_at_the_users_line():
    x = leaf().sum()
    with record() as trace:
        copy.deepcopy(Copied(x))
    assert lines(trace) == {(HERE, "return Copied(self.x * 2)")}
    with record() as trace:
        Held(x).square.backward()
    assert lines(trace) == {(HERE, "return self.x * self.x"), (HERE, "Held(x).square.backward()")}


class Copied:
    """Computes when it is copied."""

    def __init__(self, x):
        self.x = x

    def __deepcopy__(self, memo):
        return Copied(self.x * 2)


def test_in_a_thread_it_is_the_users_line_or_else_the_librarys():
    for target, file in ((lambda: leaf().sum().backward(), HERE), (leaf().sum().backward, "threading.py")):
        with record() as trace:
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        assert {at for at, _ in lines(trace)} == {file}


def test_a_program_that_the_library_runs_is_the_users(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import workbench as torch\ntorch.ones(2).requires_grad_().sum().backward()\n")
    with record() as trace:
        runpy.run_path(str(program), run_name="__main__")
    assert lines(trace) == {("program.py", "torch.ones(2).requires_grad_().sum().backward()")}
    with record() as trace:
        exec("import workbench as torch\ntorch.ones(2).requires_grad_().sum().backward()\n", {})
    assert lines(trace) == {("<string>", "torch.ones(2).requires_grad_().sum().backward()")}


def test_code_without_a_file_is_not_told_by_the_source_of_another(monkeypatch):
    # So Python 3.13 keeps what `python -c` runs; every other text that is executed has the same name.
    other = "if True:\n    another = program\n    def forward(ctx, x): return another\n    y = f(1)\n    z = g(2)\n" * 3
    monkeypatch.setitem(linecache.cache, "<string>", (len(other), None, other.splitlines(keepends=True), "<string>"))
    program = """import workbench as torch
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, grad): return grad * 2
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda grad: None)
for _ in range(3):
    x = Twice.apply(x * 2 + 1)
x.sum().backward()
"""
    with record() as trace:
        exec("pass\n" + program, {})  # a text that nobody holds
    assert {text for _, text in lines(trace)} == {'exec("pass\\n" + program, {})  # a text that nobody holds'}
    for view in ("graph", "flow", "function"):
        told = trace.show(view).storyboard.to_dict()
        assert "another" not in json.dumps(told) and "f(1)" not in json.dumps(told)


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_package_is_not_the_library(folder):
    from workbench.pictures.trace.source import is_users

    library = Path(copy.__file__).parent
    assert not is_users(copy.__file__) and is_users(str(library / folder / "package" / "module.py"))


def test_an_error_is_raised_at_the_users_line():
    Fails = function(torch, lambda ctx, x: x * 2, lambda ctx, grad: copy.deepcopy(Stubborn()))  # below the library
    y = Fails.apply(leaf()).sum()
    with pytest.raises(TypeError) as caught:
        y.backward()
    told = repr(caught.value.explain())
    assert f"The error was raised ({HERE}, line " in told and "copy.py" not in told
