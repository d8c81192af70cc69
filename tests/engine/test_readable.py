"""Readable mode: what runs are the lines that ARCHITECTURE.md names, and they do what generated code does."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import workbench as torch
from workbench import events
from workbench.autograd import state

PACKAGE = Path(torch.__file__).parent


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * grad * x


def lines(program: Any) -> list[tuple[str, str]]:
    """Run a program; return the file and the text of each line of the package that ran, as a debugger has them."""
    found: list[tuple[str, str]] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        inside = file.startswith(str(PACKAGE))
        if event == "line" and (inside or file.startswith("<workbench")):
            name = Path(file).relative_to(PACKAGE).as_posix() if inside else file
            found.append((name, linecache.getline(file, frame.f_lineno).strip()))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(before)
    return found


def test_a_debugger_stops_where_the_page_says() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()  # so that code is generated, which may not run below
    with torch.readable():
        Square.apply(x).sum().backward()
        x.grad = None
        ran = lines(lambda: Square.apply(x).sum().backward())
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    files = dict.fromkeys(name for name, _ in ran)  # in the order in which the debugger first stops in them
    page = (PACKAGE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.split("| file | what to look for |")[1].split("\n\n")[0]
    named = [row.split("`")[1] for row in table.splitlines() if row.startswith("| `")]
    assert len(named) > 8 and [name for name in files if name in named] == named
    # Of generated code only the function of an operation is left, which leads to dispatch.
    generated = {text for name, text in ran if name.startswith("<")}
    doors = ("if slow_path_reasons", "return dispatch(")
    assert generated and all(text.startswith(doors) for text in generated), generated
    formulas = {text for name, text in ran if name == "ops/reduction.py" and "grad" in text}
    assert len(formulas) == 1 and formulas.pop().endswith('self="expand(grad, self.shape)")')


def test_it_ends_with_the_block_also_where_an_error_ends_it() -> None:
    on = dict(state.slow_path_reasons)
    with torch.readable(), torch.readable():
        pass
    with pytest.raises(KeyError), torch.readable():
        raise KeyError
    assert on == state.slow_path_reasons

    @torch.readable()
    def inside() -> bool:
        return bool(state.readable)

    assert inside() and on == state.slow_path_reasons


def test_it_is_on_for_all_threads() -> None:
    found: list[list[tuple[str, str]]] = []
    x = torch.ones(2, requires_grad=True)
    with torch.readable():
        thread = threading.Thread(target=lambda: found.append(lines(lambda: (x * x).sum().backward())))
        thread.start()
        thread.join()
    assert "autograd/engine.py" in dict(found[0])


@pytest.mark.parametrize(
    "name, file, formulas",
    [
        ("atan", "ops/library/elementary.py", {'"grad / (self * self + 1)",'}),
        ("mul", "ops/arithmetic.py", {'self="grad * other",', 'other="grad * self",'}),
    ],
)
def test_a_debugger_stops_at_the_formulas_of_each_kind_of_declaration(name: str, file: str, formulas: Any) -> None:
    x = torch.tensor([0.5], requires_grad=True)
    with torch.readable():
        y = x.atan() if name == "atan" else x * x
        ran = lines(y.backward)
    assert {text for found, text in ran if found == file and "grad" in text} == formulas


def test_an_error_in_a_formula_names_the_line_of_its_declaration() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 1).exp()
    y.add_(1)
    with torch.readable(), pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("value, on", [("1", True), ("0", False), ("", False)])
def test_a_variable_switches_it_on(value: str, on: bool) -> None:
    code = "import workbench; from workbench.autograd import state; print(bool(state.readable))"
    given = {**os.environ, "WORKBENCH_READABLE": value}
    said = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(on)


def test_the_same_events_are_sent() -> None:
    def program() -> None:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        x = torch.ones(2, 3)
        model(x).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            x.add_(1).sin_()
        (torch.arange(3) * x).sum()

    def heard() -> list[str]:
        kinds: list[str] = []
        listener = lambda event: kinds.append(" ".join([event[0], *(each for each in event[1:] if type(each) is str)]))  # noqa: E731
        events.listeners.append(listener)
        try:
            program()
        finally:
            events.listeners.remove(listener)
        return kinds

    usual = heard()
    with torch.readable():
        assert heard() == usual
    assert len(usual) > 20


def test_blocks_leave_no_code_behind() -> None:
    x = torch.ones(2, requires_grad=True)

    def step() -> int:
        with torch.readable():
            (x * x).exp().sum().backward()
        (x * x).exp().sum().backward()
        return len(linecache.cache)

    before = step()
    assert [step() for _ in range(3)] == [before] * 3
