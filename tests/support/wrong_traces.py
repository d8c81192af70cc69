"""Traces that are wrong in one place: whether each is refused, or drawn by every view.

    python tests/support/wrong_traces.py [RECORD...]

All are made from the records themselves: their fields and the types of these. Every wrong value is put into every
field of every record of a sound trace, and every record before all others and after them, or twice. A trace must be
refused with a ValueError of at most 400 characters, or every view of it be drawn.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import trace_samples as samples

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.schema import RECORDS, Record
from workbench.pictures.views import VIEWS
from workbench.utils.checkpoint import checkpoint

EVERY_VIEW = tuple(VIEWS)
LONGEST = 400  # characters of a refusal
Event = dict[str, Any]

# Sound traces that have every kind of record.


def everything() -> Trace:
    """A program in which all that a record can tell of happens."""

    class Scaled(torch.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.factor, ctx.x = factor, x
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * ctx.factor + 0 * x, None

    x, y, before = samples.leaf(1.0, 2.0), samples.leaf(3.0, 4.0), samples.leaf(5.0).exp()
    try:
        with record(lines=True) as trace:
            h = Scaled.apply(x, 3.0) * before
            h.register_hook(lambda g: 2 * g)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, 1), lambda p: p[0]):
                h = h * h
            z = h * 1.0
            z[0].mul_(2.0)
            z = z + checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
            z.sum().backward(retain_graph=True)
            torch.autograd.grad(z.sum(), [x, y], allow_unused=True)
            torch.func.vmap(torch.func.grad(lambda x: (x * x).sin().sum()))(torch.ones(2, 3))
            torch.func.jvp(lambda x: x.sin() * x, (torch.ones(2),), (torch.ones(2),))
            del h, z
            x.grad = None
            net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Dropout(0.5))
            net(torch.ones(1, 2)).sum().backward()
            torch.optim.SGD(net.parameters(), lr=0.5).step()
            with torch.no_grad():
                y.mul_(2)
            w = (y * 1.0).exp()
            w.add_(1)
            w.sum().backward()
    except RuntimeError:
        pass
    return trace


@functools.cache
def sound() -> tuple[list[Event], list[Any]]:
    """Its events with all fields, also those that have their default, and its table of parts."""
    trace = everything()
    written = trace.to_dict()
    events = [_whole(event) | told for event, told in zip(trace.events, written["events"], strict=True)]
    shown = samples.graph_of(samples.leaf(1.0) * 2).events
    first = [{"kind": "EventsLetGo", "count": 3}, {"kind": "OperationsUnseen", "transform": "vmap", "count": 3}]
    first += [{"kind": "EventLost", "lost": "HookRan"}, {"kind": "FailuresCaught"}]
    first += [{"kind": "BackwardsUnseen", "thread": "Thread-1 (train)", "count": 3}]
    first += [{"kind": "EngineUnseen", "engine": "PyTorch", "nodes": 3}]
    whole = [*first, *events, *_renamed([_whole(event) for event in shown])]
    missing = RECORDS.keys() - {event["kind"] for event in whole}
    assert not missing, f"no program here makes {missing}"
    return whole, written["parts"]


def _whole(fact: Any) -> Any:
    if dataclasses.is_dataclass(fact):
        kind = {"kind": type(fact).__name__} if isinstance(fact, Record) else {}
        return kind | {
            each.name: _whole(getattr(fact, each.name)) for each in dataclasses.fields(fact) if each.name != "path"
        }
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    return [_whole(each) for each in fact] if isinstance(fact, tuple) else fact


def _renamed(data: Any) -> Any:
    """The same with ids that no other trace has."""
    if isinstance(data, dict):
        return {key: f"{value}00" if _is_id(key, value) else _renamed(value) for key, value in data.items()}
    return [_renamed(each) for each in data] if isinstance(data, list) else data


def _is_id(field: str, value: Any) -> bool:
    return isinstance(value, str) and field in IDS and value[:1] in set("ntblokcm") and value[1:].isdigit()


IDS = ("id", "node", "tensor", "target", "task", "level", "below", "base", "op", "call", "ctx", "checkpoint", "runs")
IDS += ("slices", "outputs", "targets", "nodes", "pushing", "parameters")


def _head() -> str:
    return f'{{"format": "workbench-trace", "version": 1, "parts": {json.dumps(sound()[1])}, "events": '


def text(events: Any) -> str:
    return f"{_head()}{json.dumps(list(events))}}}"


# One wrong value in one place.

HUGE = 2**62
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, HUGE, 10**30, 0.5, -1e300, "nan", "-inf", "", "x", "forward", "n1", "n2", "t1", "t2", "b1",
    "l1", "o1", "k1", "m1", "c1", "n999", "t999", "a/b", "{}{}", "\ud800", "x" * 30_000, [], [[]],
    [None], {}, {"id": 1},
)  # fmt: skip


def places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything in an event; of each list its first item alone."""
    items = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for key, value in items:
        yield (*way, key)
        yield from places(value, (*way, key))


def wrongs(kinds: typing.Collection[str] = RECORDS) -> Iterator[tuple[str, list[Event]]]:
    """Every wrong trace and what it is called."""
    events = sound()[0]
    seen: set[tuple[Any, ...]] = set()
    for at, event in enumerate(events):
        kind = event["kind"]
        if kind not in kinds:
            continue
        for way in places(event):
            # The same place of another record of the kind is no other case, unless there is something else in it.
            there = found_at(event, way)
            what = (kind, *[each for each in way if isinstance(each, str)], type(there), there in ([], ""))
            if what in seen:
                continue
            seen.add(what)
            for wrong in WRONG:
                name = f"{kind}.{'.'.join(map(str, way))} = {repr(wrong)[:40]}"
                yield name, [*events[:at], changed(event, way, wrong), *events[at + 1 :]]
            if isinstance(there, list) and there:
                twice = changed(event, way, there * 2)
                yield f"{kind}.{'.'.join(map(str, way))} twice", [*events[:at], twice, *events[at + 1 :]]
        if (kind, "order") not in seen:
            seen.add((kind, "order"))
            rest = [*events[:at], *events[at + 1 :]]
            yield f"{kind} left out", rest
            yield f"{kind} twice", [*events[: at + 1], event, *events[at + 1 :]]
            yield f"{kind} alone", [event]
            for to in range(0, len(rest) + 1, max(1, len(rest) // 12)):
                yield f"{kind} as event {to + 1}", [*rest[:to], event, *rest[to:]]
    for length in range(1, len(events)):
        yield f"the first {length}", events[:length]
        yield f"the last {length}", events[-length:]
    if set(kinds) == set(RECORDS):
        yield "backwards", events[::-1]


def found_at(data: Any, way: tuple[Any, ...]) -> Any:
    """What stands there."""
    return functools.reduce(lambda part, key: part[key], way, data)


def changed(event: Event, way: tuple[Any, ...], thing: Any) -> Event:
    """A copy of an event with something else there."""
    copied = copy.deepcopy(event)
    found_at(copied, way[:-1])[way[-1]] = thing
    return copied


def trouble(events: list[Event]) -> str:
    """What is wrong with how a trace is taken; nothing if it is refused in few words, or drawn."""
    whole = text(events)
    for view in ("load", *EVERY_VIEW):
        try:
            if view == "load":
                trace = Trace.from_dict(json.loads(whole))
                continue
            picture = trace.show(view, **({"against": trace} if VIEWS[view].compares else {}))
            str(picture)
        except ValueError as refusal:
            told = str(refusal)
            if len(told) > LONGEST or "\n" in told or not told.endswith("."):
                return f"{view}: refused with {len(told)} characters: {told[:200]}"
            if view == "load":
                return ""
        except Exception as error:
            return f"{view}: {type(error).__name__}: {str(error)[:200]}"
    return ""


def main(kinds: typing.Collection[str]) -> None:
    """Print what is neither refused nor drawn."""
    count = bad = 0
    for name, events in wrongs(kinds):
        count += 1
        if said := trouble(events):
            bad += 1
            print(f"{name}: {said}", flush=True)
    print(f"{bad} of {count} traces were neither refused nor drawn")


if __name__ == "__main__":
    main(sys.argv[1:] or RECORDS)
