"""What two runs differ in besides values: operations, gradient paths, dtypes, hooks, writes, errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...pictures.trace.backward_records import Failed
from ...pictures.trace.values import shortened
from ..health.finding import plural
from .backward import Origins
from .origins import DiffOrigin
from .run import RecordedRun
from .words import at_line, called, line, listed

_SIDES = "first", "second"


@dataclass(frozen=True, slots=True)
class StructureFound:
    """A difference in structure: a sentence, and the places and lines on both sides."""

    kind: str
    sentence: str
    one: str | None = None
    two: str | None = None
    lines: tuple[str, str] = ("", "")


class Structure:
    """The differences in structure between two runs."""

    def __init__(self, origins: Origins) -> None:
        self._origins, self._pairs = origins, origins.pairs
        self._runs = origins.runs

    def __iter__(self) -> Iterator[StructureFound]:
        """Yield each difference once, with how often it occurs."""
        known = {(each.kind, *self._lines(each)) for each in self._origins.found}
        found: dict[StructureFound, tuple[StructureFound, int]] = {}  # by what is the same in each step
        for each in self._all():
            if (each.kind, *each.lines) not in known or each.lines == ("", ""):
                key = replace(each, one=None, two=None)
                first, count = found.get(key, (each, 0))
                found[key] = first, count + 1
        for each, count in found.values():
            yield replace(each, sentence=f"{each.sentence}; {count:,} times") if count > 1 else each

    def _lines(self, origin: DiffOrigin) -> tuple[str, str]:
        pair = zip(self._runs, (origin.one, origin.two), strict=True)
        one, two = [line(run.source(id)) if id is not None else "" for run, id in pair]
        return one, two

    def _all(self) -> Iterator[StructureFound]:
        steps = [run.steps for run in self._runs]
        if steps[0] != steps[1] and all(steps):
            told = [plural(count, "training step") for count in steps]
            yield StructureFound("steps", f"The first has {told[0]}, the second {told[1]}")
        paths = list(self._edges())
        yield from paths
        for side in (0, 1):
            for group in self._origins.alone[side]:
                if not group.has_effect:
                    yield self.group(group)
        yield from self._replaced()
        yield from self._dtypes()
        if steps[0] == steps[1]:  # else it follows from that
            yield from self._passes(not paths)
            yield from self._writes()
        yield from self._hooks()
        yield from self._errors()

    def group(self, group: DiffOrigin) -> StructureFound:
        """Describe operations that only one run has."""
        side = 0 if group.two is None else 1
        run, first = self._runs[side], group.ids[0]
        told = called(run, first) + at_line(run.source(first))
        if len(group.ids) > 1:
            told = f"{plural(len(group.ids), 'operation')}, from {told} to {called(run, group.ids[-1])}"
        lines = ("", line(run.source(first))) if side else (line(run.source(first)), "")
        return StructureFound("only here", f"Only the {_SIDES[side]} has {told}", group.one, group.two, lines)

    def _found(self, kind: str, sentence: str, one: str, two: str, lines: bool = True) -> StructureFound:
        places = (line(self._runs[0].source(one)), line(self._runs[1].source(two))) if lines else ("", "")
        return StructureFound(kind, sentence, one, two, places)

    def _replaced(self) -> Iterator[StructureFound]:
        effective = {each.one for each in self._origins.found}
        for one, two in self._pairs.replaced.items():
            if one not in effective:
                told = [called(run, id) + at_line(run.source(id)) for run, id in self._both(one, two)]
                yield self._found("replaced", f"Where the first has {told[0]}, the second has {told[1]}", one, two)

    def _both(self, one: str, two: str) -> list[tuple[RecordedRun, str]]:
        return list(zip(self._runs, (one, two), strict=True))

    def _edges(self) -> Iterator[StructureFound]:
        """Yield where a gradient path exists in one run only, or leads elsewhere."""
        there = self._pairs.there
        for one in self._runs[0].operations:
            two = there.get(one)
            if two is None or one in self._pairs.replaced:
                continue
            edges = [run.edges(id) for run, id in self._both(one, two)]
            if len(edges[0]) != len(edges[1]):
                continue
            for mine, other in zip(*edges, strict=True):
                if (mine.target is None) != (other.target is None):
                    side, target = (0, mine.target) if other.target is None else (1, other.target)
                    run = self._runs[side]
                    to = called(run, target or "")
                    told = f"{called(self._runs[0], one)}{at_line(run.source((one, two)[side]))}"
                    sentence = f"Only in the {_SIDES[side]}, gradients go from {told} to {to}"
                    yield self._found("path", sentence, one, two)
                elif mine.target is not None and mine.target in there and other.target in self._pairs.back:
                    if there[mine.target] != other.target:
                        origins_seen = [called(run, id) for run, id in self._both(mine.target, other.target or "")]
                        told = f"{called(self._runs[0], one)}{at_line(self._runs[0].source(one))}"
                        sentence = f"{told} is computed from {origins_seen[0]}, in the second from {origins_seen[1]}"
                        yield self._found("sources", sentence, one, two)

    def _dtypes(self) -> Iterator[StructureFound]:
        """Yield operations that give another dtype though they were given the same ones."""
        for one in self._runs[0].operations:
            two = self._pairs.there.get(one)
            if two is None:
                continue
            ours, theirs = self._runs[0].outputs.get(one, {}), self._runs[1].outputs.get(two, {})
            given = [
                {each.value.dtype for each in run.inputs[id] if each.value is not None}
                for run, id in self._both(one, two)
            ]
            for nr in sorted(ours.keys() & theirs.keys()):
                kinds = ours[nr].dtype, theirs[nr].dtype
                if kinds[0] != kinds[1] and given[0] == given[1] and given[0]:
                    told = called(self._runs[0], one) + at_line(self._runs[0].source(one))
                    yield self._found("dtype", f"{told} gives {kinds[0]}, in the second {kinds[1]}", one, two)
                    break

    def _passes(self, with_operations: bool) -> Iterator[StructureFound]:
        """Yield what backward passes reach in one run only."""
        counts = [{id: len(rows) for id, rows in run.received.items()} for run in self._runs]
        captured = [run.captured for run in self._runs]
        for side in (0, 1):
            own, other = counts[side], counts[1 - side]
            across = self._pairs.back if side else self._pairs.there
            run = self._runs[side]
            more = [id for id in own if id in across and own[id] > other.get(across[id], 0)]
            more += [
                id
                for id, rows in captured[side].items()
                if id not in own and id in across and len(rows) > len(captured[1 - side].get(across[id], ()))
            ]
            if not more:
                continue
            leaves = [called(run, id).strip("`") for id in more if id not in run.names]
            nodes = [id for id in more if id in run.names and with_operations]
            if not leaves and not nodes:
                continue
            parts: list[str] = []
            if leaves:
                parts.append(f"{listed(leaves)} {'gets' if len(leaves) == 1 else 'get'} a gradient")
            if nodes:
                parts.append(
                    f"backward runs {called(run, nodes[0])}" + f" and {len(nodes) - 1:,} more" * (len(nodes) > 1)
                )
            often = " more often" if all(other.get(across[id], 0) for id in more) else ""
            first = more[0]
            one, two = (across[first], first) if side else (first, across[first])
            yield self._found("missing", f"Only in the {_SIDES[side]}, {' and '.join(parts)}{often}", one, two)

    def _writes(self) -> Iterator[StructureFound]:
        """Yield tensors that are written, or whose gradients are cleared, more often in one run."""
        rows: dict[str, dict[tuple[int, int], list[str]]] = {"written to": {}, "changed": {}, "cleared": {}}
        for one, two in self._pairs.there.items():
            if one in self._runs[0].names:
                continue
            first, second = self._runs
            for what, pair in (
                ("written to", (len(first.writes.get(one, ())), len(second.writes.get(two, ())))),
                ("changed", (len(first.sets.get(one, ())), len(second.sets.get(two, ())))),
                ("cleared", (first.clears.get(one, 0), second.clears.get(two, 0))),
            ):
                if pair[0] != pair[1]:
                    rows[what].setdefault(pair, []).append(one)
        for what, found in rows.items():
            for (ours, theirs), ids in found.items():
                names = [called(self._runs[0], id).strip("`") for id in ids]
                names = [f"{name}.grad" for name in names] if what != "written to" else names
                is_are = "is" if len(names) == 1 else "are"
                times = [f"{count} time{'' if count == 1 else 's'}" for count in (ours, theirs)]
                sentence = f"{listed(names)} {is_are} {what} {times[0]}, in the second {times[1]}"
                kind = {"written to": "write", "changed": "set", "cleared": "clear"}[what]
                yield self._found(kind, sentence, ids[0], self._pairs.there[ids[0]])

    def _hooks(self) -> Iterator[StructureFound]:
        """Yield places with other hooks."""
        for one, two in self._pairs.there.items():
            hooks = [[hook.title for hook in run.frame.place(id).hooks] for run, id in self._placed(one, two)]
            if len(hooks) == 2 and hooks[0] != hooks[1]:
                told = [listed(each) or "no hook" for each in hooks]
                sentence = f"{called(self._runs[0], one)} has {told[0]}, in the second {told[1]}"
                yield self._found("hook", sentence, one, two)

    def _placed(self, one: str, two: str) -> list[tuple[RecordedRun, str]]:
        return [(run, id) for run, id in self._both(one, two) if id in run.frame.nodes or id in run.frame.tensors]

    def _errors(self) -> Iterator[StructureFound]:
        """Yield the first error, if only one run has it or both have different ones."""
        errors = [next((event for event in run.trace.events if isinstance(event, Failed)), None) for run in self._runs]
        told = [f"{each.error}: {shortened(each.message, 120)}" if each else "" for each in errors]
        if told[0] != told[1]:
            ends = [f"fails with {each}" if each else "doesn't fail" for each in told]
            lines = [line(each.source) if each else "" for each in errors]
            sentence = f"The first {ends[0]}; the second {ends[1]}"
            yield StructureFound("error", sentence, None, None, (lines[0], lines[1]))
