"""Code that is written for each op: every function has a file of its own, whose lines a traceback shows."""

from __future__ import annotations

import linecache
import re
import traceback
from types import CodeType
from typing import Any

import pytest

import workbench as torch
from workbench.ops.core import codegen
from workbench.ops.core.registry import REGISTRY


def call_everything() -> None:
    """Programs that have several variants of a function written: its `out=` form, and its backward on tensors."""
    x, y = torch.randn(3, requires_grad=True), torch.rand(3, requires_grad=True)
    for name in "maximum minimum add mul sub div pow atan2 hypot exp log sin tanh sigmoid sqrt abs neg".split():
        function = getattr(torch, name)
        args = (x, y) if name in "maximum minimum add mul sub div pow atan2 hypot".split() else (x,)
        function(*args)
        function(*[each.detach() for each in args], out=torch.empty(3))
        (g,) = torch.autograd.grad(function(*args).sum(), x, create_graph=True)
        if g.requires_grad:
            g.sum().backward()


def codes() -> dict[str, list[CodeType]]:
    """The code that was written, by its file."""
    found: dict[str, list[CodeType]] = {}
    for op in REGISTRY.values():
        functions = [op.function, vars(op).get("record"), *[vars(op.node).get(each) for each in codegen.BACKWARDS]]
        for function in functions if "node" in vars(op) else [op.function]:
            code: Any = getattr(function, "__code__", None)
            if code is not None and code.co_filename.startswith("<workbench "):
                found.setdefault(code.co_filename, []).append(code)
    return found


def test_a_file_has_the_code_of_one_function() -> None:
    call_everything()
    files = codes()
    assert len(files) > 30
    for file, written in files.items():
        assert len({code.co_code for code in written}) == 1, file
        lines = linecache.getlines(file)
        assert lines[written[0].co_firstlineno - 1].startswith("def "), file
        assert {line for *_, line in written[0].co_lines() if line} <= {*range(1, len(lines) + 1)}, file


def test_the_name_says_which_op_and_which_variant() -> None:
    call_everything()
    for file in codes():
        named = re.fullmatch(r"<workbench (\w+)\.(\w+)( \d+)?>", file)
        assert named, file
        assert named[1] in REGISTRY
        assert named[2] in (named[1], "record", *codegen.BACKWARDS)


@pytest.mark.parametrize("out", [False, True])
def test_a_traceback_shows_the_line_that_ran(out: bool) -> None:
    call_everything()
    given = {"out": torch.empty(2, 2)} if out else {}
    with pytest.raises(RuntimeError) as caught:
        torch.maximum(torch.ones(2), torch.ones(3), **given)
    frames = [each for each in traceback.extract_tb(caught.value.__traceback__) if each.filename.startswith("<work")]
    assert frames
    for frame in frames:
        assert "dispatch(" in str(frame.line) or "into(" in str(frame.line) or "compute(" in str(frame.line)
