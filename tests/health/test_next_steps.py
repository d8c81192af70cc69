"""What a finding says to look at next can be typed, or pressed, as it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Entry, chosen, each_engine, recorded

import workbench
from workbench import nn, optim
from workbench.pictures.recording import Trace
from workbench.pictures.views import VIEWS

HEALTH = Path(workbench.__file__).parent / "diagnosis" / "health"
_QUOTED = re.compile(r"`([^`]+)`")
_PRESSED = re.compile(r"press `/` and type `(\w+)`")

# What the words of a program in such a text stand for.
ROOTS = {
    "trace": Trace,
    "workbench": workbench,
    "torch": workbench,
    "nn": nn,
    "model": nn.Module,
    "optimizer": optim.Optimizer,
    "autograd": workbench.autograd,
    "ctx": workbench.autograd.function.FunctionCtx,
    "array": np.ndarray,
    **dict.fromkeys(["w", "loss", "state", "target", "prediction"], workbench.Tensor),
}


def texts() -> Iterator[str]:
    """Each string of the rules; in place of what is filled in later stands `x`."""
    for path in sorted(HEALTH.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in ast.walk(each)}
        docs = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for each in ast.walk(tree):
            if isinstance(each, ast.JoinedStr):
                yield "".join([part.value if isinstance(part, ast.Constant) else "x" for part in each.values])
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in {*inner, *docs}:
                yield each.value


@cache
def calls() -> list[str]:
    """All calls that rules write down, each once; a word alone, as `eval()`, names a method of something."""
    quoted = [code for text in texts() for code in _QUOTED.findall(text) if "(" in code]
    return sorted(
        {code for code in quoted if not code.startswith(("with ", "x", ".")) and "." in code.partition("(")[0]}
    )


def test_rules_write_such_calls() -> None:
    assert len(calls()) > 8 and 'trace.show("memory")' in calls()


@pytest.mark.parametrize("code", calls())
def test_a_call_in_a_text_is_there(code: str) -> None:
    tree = ast.parse(code)
    call = next(each for each in ast.walk(tree) if isinstance(each, ast.Call))
    names = ast.unparse(call.func).split(".")
    if names[0] not in ROOTS:
        assert code in ("(x + 1e-8).sqrt()", "scaler.unscale_(optimizer)")  # of any tensor, and of a GradScaler
        return
    found: Any = ROOTS[names[0]]
    for name in names[1:]:
        found = getattr(found, name)
    if names == ["trace", "show"]:
        view = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else "graph"
        assert view in VIEWS and {each.arg for each in call.keywords} <= {*VIEWS[str(view)].options}


def follow(trace: Trace, text: str) -> int:
    """Do what a text says, as far as it says so in calls of this package, and in what is to be pressed; how much."""
    done = 0
    for code in _QUOTED.findall(text):
        if code.startswith(("trace.", "workbench.")):
            board = eval(code, {"trace": trace, "workbench": workbench}).storyboard
            done += 1
            for sought in _PRESSED.findall(text):
                boxes = [" ".join([box.title, *box.lines]) for box in board.scene.boxes.values()]
                assert any(sought in words for words in boxes), (sought, boxes)
    return done


def infinite(torch: Any, way: str) -> Any:
    """A hyperbolic sine that is infinite: in one step of a loop, in each, or where no step stands alone."""
    net, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    before: list[Any] = []

    def run() -> None:
        if way == "alone":
            torch.relu(torch.sinh(net(x).abs() + 1000)).sum().backward()
            return
        for at in range(4):
            optimizer.zero_grad()
            h = net(x).abs() + (1000 if at == 1 else 1)
            if way == "chained" and before:
                h = h + before[-1] * 0.1
            before.append(h)
            torch.relu(torch.sinh(h)).sum().backward(retain_graph=True)
            optimizer.step()

    return run


@each_engine
@pytest.mark.parametrize(
    ("way", "shown"), [("loop", "`trace.show(step=2)`"), ("alone", "`trace.show()`"), ("chained", "`trace.show()`")]
)
def test_the_picture_of_what_is_not_finite_can_be_asked_for(engine: str, way: str, shown: str) -> None:
    trace = recorded(engine, lambda torch: infinite(torch, way))
    text = next(each.next_step for each in trace.findings() if each.rule == "not finite")
    assert text == f"Look at its inputs: open {shown}, press `/` and type `SinhBackward0`."
    assert follow(trace, text) == 1


LOOKED_AT = ("stopped", "saved tensors")
SAID = [each for each in chosen("loop", "layers") if {each.values[1].rule, *each.values[1].beside} & {*LOOKED_AT}]


@pytest.mark.parametrize(("engine", "entry"), SAID)
def test_what_a_finding_says_to_look_at_can_be_looked_at(engine: str, entry: Entry) -> None:
    trace = recorded(engine, entry.program)
    (found,) = [each for each in trace.findings() if each.rule in LOOKED_AT]
    assert follow(trace, found.next_step) == 1
    if found.rule == "stopped":
        assert "error" in {box.state for box in trace.show("error").storyboard.at().boxes.values()}
