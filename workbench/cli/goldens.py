"""The pytest fixture `golden`: the figures of a backward pass, compared with a file beside the test."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.cli.failing_tests import file_name
from workbench.diagnosis.diffing.golden import GoldenRow, gradients_of, loss_row, moved, read, rows_of, written
from workbench.diagnosis.diffing.run import RecordedRun
from workbench.pictures.scene.picture import write_whole
from workbench.pictures.trace.timeline import Timeline
from workbench.pictures.trace.values import Value

NOT_GIVEN = "golden() takes a trace from record(), or a loss: a tensor of PyTorch or the workbench. It got {}."
NO_GRAPH = "golden() needs the graph of this loss, but {}. Call it before backward(), or pass a trace."
NOTHING = "golden() found no operation and no gradient in this trace, so there is nothing to compare."
TWICE = "This test has two goldens named {!r}. Give each its own name: golden(trace, name=...)."
MISSING = "No golden {} yet. To write it, run:\n  {}"
DAMAGED = "Cannot read the golden {}: {}. To write it again, run:\n  {}"
MOVED = "golden {}: {}\n\nIf the change is intended, run:\n  {}"


class Golden:
    """Call it in a test with a trace or a loss: `golden(trace)`."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._updates = request.config.getoption("workbench_golden") == "update"
        self._folder = request.path.with_name(f"{request.path.stem}.golden")
        self._test = request.node.nodeid.partition("::")[2]
        self._command = f"pytest {shlex.quote(request.node.nodeid)} --workbench-golden=update"
        self._names: set[str | None] = set()

    def __call__(self, trace: Any, name: str | None = None) -> None:
        """Compare a trace, or the gradients of a loss, with the golden; fail if something moved.

        Args:
            trace: A trace from `record()`, or a loss whose gradients to compute; `.grad` isn't changed.
            name: A name, if a test has several goldens.

        Raises:
            TypeError: if it is neither a trace nor a tensor.
            ValueError: if a name is used twice, or there is nothing to compare.
        """
        __tracebackhide__ = True
        if name in self._names:
            raise ValueError(TWICE.format(name or ""))
        self._names.add(name)
        rows = rows_of(trace) if isinstance(trace, Timeline) else _rows_of_loss(trace)
        if not rows:
            raise ValueError(NOTHING)
        test = self._test if name is None else f"{self._test}.{name}"
        path = self._folder / f"{file_name(test).removesuffix('.html')}.json"
        shown = f"{path.parent.name}/{path.name}"
        if self._updates:
            self._write(path, rows)
            return
        problem = ""
        try:
            golden = read(path.read_text("utf-8"))
        except FileNotFoundError:
            problem = MISSING.format(shown, self._command)
        except (OSError, ValueError) as error:
            problem = DAMAGED.format(shown, error, self._command)
        else:
            if lines := moved(golden, rows):
                problem = MOVED.format(shown, "\n  ".join(lines), self._command)
        if problem:
            pytest.fail(problem, pytrace=False)

    def _write(self, path: Path, rows: list[GoldenRow]) -> None:
        text = written(rows)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, text.encode())
            print(f"Wrote {path.parent.name}/{path.name}.")


def _rows_of_loss(loss: Any) -> list[GoldenRow]:
    """Return the figures of a loss and of its gradients, which aren't added to any `.grad`."""
    engine: Any
    if isinstance(loss, workbench.Tensor):
        engine = workbench
    elif type(loss).__module__.partition(".")[0] == "torch" and hasattr(loss, "grad_fn"):
        import torch

        engine = torch
    else:
        raise TypeError(NOT_GIVEN.format(type(loss).__name__))
    if loss.grad_fn is None:
        raise ValueError(NO_GRAPH.format("no gradient leads from it"))
    leaves = _leaves(loss.grad_fn)
    with workbench.record(None if engine is workbench else engine) as trace:
        try:
            engine.autograd.grad(loss, leaves, retain_graph=True)
        except RuntimeError as error:
            raise ValueError(NO_GRAPH.format(str(error).partition(".")[0])) from None
    value = Value.of(loss.detach().double().numpy())
    return [loss_row(replace(value, dtype=str(loss.dtype).removeprefix("torch."))), *gradients_of(RecordedRun(trace))]


def _leaves(node: Any) -> list[Any]:
    """Return the leaves that a node leads to, in the order of its edges."""
    found: dict[int, Any] = {}
    seen: set[Any] = set()
    left = [node]
    while left:
        each = left.pop()
        if each is None or each in seen:
            continue
        seen.add(each)
        if hasattr(each, "variable"):
            found[id(each.variable)] = each.variable
        left += [next for next, _ in reversed(each.next_functions)]
    return list(found.values())
