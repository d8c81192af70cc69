"""Traces made to take long, to take much memory, or to be wrong in one place: whether each is refused or shown in time.

    python tests/support/hostile.py wrong [RECORD...]
    python tests/support/hostile.py compact
    python tests/support/hostile.py large [--megabytes 10] [--seconds 10] [CASE...]

All are made from the records themselves: their fields and the types of these. `wrong` puts every wrong value into
every field of every record of a sound trace, and every record before all others and after them, or twice. `compact`
does the same with what the events of a compact trace have in common, and with their rows. `large`
fills a file with each record: with many that differ or do not, with lists and texts as long as they may be, and with
such as refer to what came before. For each it prints the longest time that any of loading, a view, or a face took, and
the most memory.

A trace must be refused with a ValueError of at most 400 characters, or every view of it be drawn.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import itertools
import json
import math
import subprocess
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import trace_samples as samples

import workbench as torch
from workbench.recording import Trace, record
from workbench.trace.json import Writer
from workbench.trace.schema import RECORDS, Record
from workbench.utils.checkpoint import checkpoint
from workbench.views import VIEWS

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
IDS += ("slices", "outputs", "targets", "nodes", "pushing")


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
            there = _at(event, way)
            what = (kind, *[each for each in way if isinstance(each, str)], type(there), there in ([], ""))
            if what in seen:
                continue
            seen.add(what)
            for wrong in WRONG:
                changed = copy.deepcopy(event)
                _at(changed, way[:-1])[way[-1]] = wrong
                yield (
                    f"{kind}.{'.'.join(map(str, way))} = {repr(wrong)[:40]}",
                    [*events[:at], changed, *events[at + 1 :]],
                )
            if isinstance(there, list) and there:
                changed = copy.deepcopy(event)
                _at(changed, way).extend(copy.deepcopy(there))
                yield f"{kind}.{'.'.join(map(str, way))} twice", [*events[:at], changed, *events[at + 1 :]]
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


def _at(data: Any, way: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda part, key: part[key], way, data)


def compact() -> dict[str, Any]:
    """A sound trace in the compact form, which large ones have."""
    return json.loads(Writer().text(everything().events, format="workbench-trace", version=2) or "")


def compact_wrongs() -> Iterator[tuple[str, str]]:
    """Every wrong compact trace and what it is called."""
    sound = compact()
    seen: set[tuple[Any, ...]] = set()
    for table in ("parts", "kinds", "values", "forms", "events"):
        yield f"no {table}", json.dumps({name: it for name, it in sound.items() if name != table})
        yield f"{table} backwards", json.dumps(sound | {table: sound[table][::-1]})
        for at, row in enumerate(sound[table]):
            ways = [(*way,) for way in places(row)] + [(place,) for place in range(1, len(row))] * isinstance(row, list)
            for way in [(), *ways]:
                there = _at(row, way)
                form = row.get("kind") if isinstance(row, dict) else row[0] if table == "events" else len(row)
                if isinstance(row, dict) and table == "events":
                    continue  # as in a plain trace
                what = (table, form, *[each for each in way if isinstance(each, str) or table != "forms"], type(there))
                if what in seen:
                    continue
                seen.add(what)
                for wrong in (*WRONG, *HOLES):
                    changed = copy.deepcopy(sound)
                    _at(changed[table], (at, *way)[:-1])[(at, *way)[-1]] = wrong
                    yield f"{table} {form} {way} = {repr(wrong)[:40]}", json.dumps(changed)


HOLES: tuple[Any, ...] = ({"n": 1}, {"t": 1}, {"value": 1}, {"part": 1}, {"number": 1}, {"n": 0}, {"n": -1}, {"n": 999})


def trouble(events: list[Event] | str, faces: bool = False) -> str:
    """What is wrong with how a trace is taken; nothing if it is refused in few words, or drawn."""
    whole = events if isinstance(events, str) else text(events)
    for view in ("load", *EVERY_VIEW):
        try:
            if view == "load":
                trace = Trace.from_dict(json.loads(whole))
                continue
            picture = trace.show(view, **({"against": trace} if VIEWS[view].compares else {}))
            str(picture)
            if faces:
                json.dumps(picture.storyboard.to_dict(), allow_nan=False)
        except ValueError as refusal:
            told = str(refusal)
            if len(told) > LONGEST or "\n" in told or not told.endswith("."):
                return f"{view}: refused with {len(told)} characters: {told[:200]}"
            if view == "load":
                return ""
        except Exception as error:
            return f"{view}: {type(error).__name__}: {str(error)[:200]}"
    return ""


# Many megabytes of one record.

MOST = {"name": 19_000}  # characters of a text, by its field; of others
LONG, MANY = 900_000, 9_000  # characters, items of a list


def larges(kinds: typing.Collection[str] = RECORDS) -> Iterator[tuple[str, Callable[[int], Event], list[Event]]]:
    """What each large trace is called, what makes its n-th event, and the events that come before these."""
    events = sound()[0]
    for kind in kinds:
        # The fullest of its kind has something in every field, if any has.
        at = max((len(text([event])), -at, at) for at, event in enumerate(events) if event["kind"] == kind)[2]
        before, event = events[:at], events[at]
        known = {value for each in before for value in _ids(each)}
        own = [id for id in dict.fromkeys(_ids(event)) if id not in known]
        fresh = functools.partial(_fresh, event, own)
        yield f"{kind} again", lambda n, event=event: event, before
        yield f"{kind} anew", fresh, before
        yield f"{kind} anew, each after the other", functools.partial(_chained, event, own, known), before
        for way in places(event):
            there, name = _at(event, way), f"{kind}.{'.'.join(map(str, way))}"
            field = next(each for each in reversed(way) if isinstance(each, str))
            if isinstance(there, str) and field not in (*IDS, "kind", "transform", "method"):
                length = MOST.get(field, LONG)
                yield (
                    f"{name} long",
                    functools.partial(_with, fresh, way, lambda n, long=length: "x y" * (long // 3)),
                    before,
                )
                yield f"{name} different", functools.partial(_with, fresh, way, lambda n: f"x{n}"), before
                if field == "scope":
                    yield f"{name} deep", functools.partial(_with, fresh, way, lambda n: "/".join(f"{n}" * 90)), before
            elif isinstance(there, str):
                others = sorted(id for id in known if id[0] == there[0])
                if others:
                    chosen = lambda n, others=others: others[n % len(others)]  # noqa: E731
                    yield f"{name} of many", functools.partial(_with, fresh, way, chosen), before
            elif type(there) is int:
                yield f"{name} counting", functools.partial(_with, fresh, way, lambda n: n + 1), before
                yield f"{name} huge", functools.partial(_with, fresh, way, lambda n: 10**6 - 1 - n), before
            elif isinstance(there, list) and there and field not in ("shape", "values"):
                yield f"{name} many", functools.partial(_with, fresh, way, lambda n, there=there: there * MANY), before
                if isinstance(there[0], dict):
                    each = functools.partial(_each_anew, there[0], own)
                    yield f"{name} many anew", functools.partial(_with, fresh, way, each), before
            elif isinstance(there, list) and field == "values" and way[-2] == "value":
                some = {"shape": [30, 30], "values": [1.5] * 900}
                yield f"{name} many", functools.partial(_values, fresh, way[:-1], some), before
            elif isinstance(there, list) and field == "shape" and way[-2] == "value":
                some = {"shape": [1] * 60, "values": [1.5], "batch": 0}
                yield f"{name} many", functools.partial(_values, fresh, way[:-1], some), before
                some = {"shape": [9**9] * 60, "values": None, "batch": 59}
                yield f"{name} huge", functools.partial(_values, fresh, way[:-1], some), before


def _ids(data: Any, field: str = "") -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _ids(value, key)
    elif isinstance(data, list):
        for each in data:
            yield from _ids(each, field)
    elif _is_id(field, data):
        yield data


def _named(data: Any, names: dict[str, str], field: str = "") -> Any:
    """A copy in which some ids are others."""
    if isinstance(data, dict):
        return {key: _named(value, names, key) for key, value in data.items()}
    if isinstance(data, list):
        return [_named(each, names, field) for each in data]
    return names.get(data, data) if _is_id(field, data) else data


def _fresh(event: Event, own: list[str], n: int) -> Event:
    return _named(event, {id: f"{id}{n:06}" for id in own})


def _chained(event: Event, own: list[str], known: set[str], n: int) -> Event:
    """What it refers to is what the event before made."""
    names = {id: f"{id}{n:06}" for id in own}
    before = {id[0]: f"{id}{n - 1:06}" for id in own} if n else {}
    return _named(event, names | {id: before[id[0]] for id in known if id[0] in before})


def _with(make: Callable[[int], Event], way: tuple[Any, ...], what: Callable[[int], Any], n: int) -> Event:
    event = copy.deepcopy(make(n))
    _at(event, way[:-1])[way[-1]] = what(n)
    return event


def _each_anew(item: Event, own: list[str], n: int) -> list[Event]:
    ids = [*own, *_ids(item)] if "id" in item else own
    return [_named(item, {id: f"{id}{n:03}{k:05}" for id in ids}) for k in range(MANY)]


def _values(make: Callable[[int], Event], way: tuple[Any, ...], some: Event, n: int) -> Event:
    event = copy.deepcopy(make(n))
    _at(event, way).update(some)
    return event


def write(path: Path, make: Callable[[int], Event], before: list[Event], size: int) -> int:
    """A file of nearly so many bytes; how many events it has."""
    lines = [json.dumps(each) for each in before]
    total = sum(map(len, lines))
    for n in itertools.count():
        line = json.dumps(make(n))
        total += len(line) + 2
        if total > size and n:
            break
        lines.append(line)
    path.write_text(f"{_head()}[\n" + ",\n".join(lines) + "\n]}")
    return len(lines)


MEASURED = """
import resource, sys, time
import workbench
from workbench.scene.picture import to_html
from workbench.scene.images import to_svg
from workbench.views import VIEWS
sys.path.insert(0, "tests/support")
from memory_peak import peak
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2])))
done = {}
def timed(name, act, *args, **options):
    print("began", name, flush=True)
    began = time.process_time()
    try:
        return act(*args, **options)
    except ValueError as refusal:
        told = str(refusal)
        print("refused", name, len(told), told[:150], flush=True)
        return None
    finally:
        print("took", name, round(time.process_time() - began, 2), peak(), flush=True)
trace = timed("load", workbench.load, sys.argv[1])
for view in VIEWS if trace is not None else ():
    options = {"against": trace} if VIEWS[view].compares else {}
    picture = timed(view, trace.show, view, **options)
    for face, act in (("text", str), ("svg", to_svg), ("html", to_html)) if picture is not None else ():
        timed(f"{view}.{face}", act, picture if face == "text" else picture.storyboard)
"""


def measured(path: Path, seconds: int) -> tuple[float, str, int, str]:
    """The longest time of what was done with a file and which that was, the peak in MB, and what went wrong."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(seconds)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    lines = [line.split(maxsplit=3) for line in ran.stdout.splitlines()]
    took = [(float(line[2]), line[1], int(line[3])) for line in lines if line[0] == "took"]
    longest, what, _ = max(took, default=(0.0, "nothing", 0))
    wrong = [
        f"{line[1]} refused in {line[2]} characters"
        for line in lines
        if line[0] == "refused" and int(line[2]) > LONGEST
    ]
    begun = [line[1] for line in lines if line[0] == "began"]
    if ran.returncode:
        wrong.append(f"{begun[-1] if begun else 'import'} ended with {ran.returncode}: {ran.stderr.strip()[-200:]}")
    return longest, what, max((peak for *_, peak in took), default=0), "; ".join(wrong)


def wrong(kinds: typing.Collection[str]) -> None:
    count = bad = 0
    for name, events in wrongs(kinds):
        count += 1
        if said := trouble(events):
            bad += 1
            print(f"{name}: {said}", flush=True)
    print(f"{bad} of {count} traces were neither refused nor drawn")


def wrong_compact() -> None:
    count = bad = 0
    for name, whole in compact_wrongs():
        count += 1
        if said := trouble(whole):
            bad += 1
            print(f"{name}: {said}", flush=True)
    print(f"{bad} of {count} compact traces were neither refused nor drawn")


def large(cases: typing.Collection[str], megabytes: float, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.json")
        for name, make, before in larges():
            if cases and not any(case in name for case in cases):
                continue
            count = write(path, make, before, int(megabytes * 1e6))
            longest, what, peak, said = measured(path, int(20 * seconds))
            over = "OVER" if said or longest > seconds or peak > 1_000 else ""
            print(f"{name:60}{count:8} events{longest:8.1f} s {what:16}{peak:6} MB {over} {said}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["wrong", "compact", "large"])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of records, or parts of names of large traces")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_intermixed_args()
    if chosen.what == "wrong":
        wrong(chosen.cases or RECORDS)
    elif chosen.what == "compact":
        wrong_compact()
    else:
        large(chosen.cases, chosen.megabytes, chosen.seconds)
