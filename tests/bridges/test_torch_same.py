"""The same small program under both engines gives the same trace, but for rounding and the text of formulas."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from newer_torch import version
from oracle import torch
from small_programs import PROGRAMS, expressions, leaves

import workbench
from workbench.pictures.trace.backward_records import NodeStarted
from workbench.pictures.trace.memory_records import NodesGone
from workbench.pictures.trace.schema import Known, Record
from workbench.pictures.trace.values import Value

# Where the workbench's node tells more than the call had: what an argument is by default, or which power a square is.
TELLS_MORE = ("x.square()", "x.norm()", "torch.stack([x, y])", "torch.cat([x, y])")


def facts(thing: Any) -> Any:
    """A record as dicts and lists, without the formulas that the workbench alone has of its operations."""
    if dataclasses.is_dataclass(thing):
        fields = {each.name: facts(getattr(thing, each.name)) for each in dataclasses.fields(thing)}
        if not fields.get("custom", True):
            fields.pop("code", None)
        if isinstance(thing, NodesGone) and version() < (2, 13):  # which lets a graph go in another order
            fields["nodes"] = sorted(fields["nodes"])
        return fields | {"kind": type(thing).__name__}
    return [facts(each) for each in thing] if isinstance(thing, tuple | list) else thing


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two records differ by more than rounding."""
    if isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6) and not (math.isnan(one) and math.isnan(other)):
            yield f"{place}: {one} and {other}"
    elif isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, its, f"{place}[{index}]")
    elif one != other:
        yield f"{place}: {one} and {other}"


def recorded(program: Callable[[Any], None], engine: Any) -> list[Any]:
    with workbench.record(engine) as trace:
        program(engine)
    return facts(trace.events)


def of_expression(text: str) -> Callable[[Any], None]:
    """The program that sums up an expression and runs the backward."""

    def run(torch: Any) -> None:
        result = eval(text, {"torch": torch}, leaves(torch))
        (result.sum() if result.dim() else result).backward()

    return run


def check(program: Callable[[Any], None], more: bool = False) -> None:
    ours, theirs = recorded(program, workbench), recorded(program, torch)
    assert [each["kind"] for each in ours] == [each["kind"] for each in theirs]
    if more:
        for event in (*ours, *theirs):
            event.pop("args", None)
    assert list(differences(ours, theirs)) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_same_trace_under_both_engines(name: str) -> None:
    check(PROGRAMS[name])


@pytest.mark.parametrize("text", expressions())
def test_an_expression_has_the_same_trace_under_both_engines(text: str) -> None:
    check(of_expression(text), text in TELLS_MORE)


@dataclasses.dataclass(frozen=True, slots=True)
class GradientScaled(Record):
    """An event that neither engine has."""

    node: Known
    factor: float
    grad: Value | None


@pytest.mark.parametrize("engine", [workbench, torch], ids=["workbench", "torch"])
def test_an_event_that_is_added_is_read_alike_of_both_engines(engine: Any) -> None:
    with workbench.record(engine) as trace:
        x = engine.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
    recorder: Any = trace._source
    started = [raw for raw in recorder._raw if raw[0] is NodeStarted]
    for _, _, node, grads in started:
        recorder._raw.append((GradientScaled, node, 0.5, grads[0]))
    ran = [event for event in trace.events if isinstance(event, NodeStarted)]
    assert trace.events[-len(ran) :] == [GradientScaled(each.node, 0.5, each.grads[0]) for each in ran]
    assert trace.events[-1].sentence(trace.frame(len(trace.events))).endswith(": gradient scaled")
