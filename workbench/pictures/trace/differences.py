"""The differences of two traces, each in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .alignment import opcodes
from .backward_records import NodeStarted
from .frame import Frame, NodeState
from .timeline import Timeline
from .values import Value, format_value, series

_CLOSE = {
    "float64": 1e-9,
    "float32": 1e-5,
    "float16": 1e-2,
    "complex128": 1e-9,
    "complex64": 1e-5,
}  # relative: less is rounding
_ORDER = ("only here", "part", "operation", "sources", "value", "saved", "runs", "order", "gradient", "error")


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """One difference in a sentence; its kind, and the place it is at in the first and in the second trace."""

    kind: str
    sentence: str
    first: str | None
    second: str | None


class Side:
    """One of the traces, as it ended."""

    def __init__(self, trace: Timeline) -> None:
        events = trace.events
        self.frame: Frame = trace.frame(len(events))
        self.runs = [event.node for event in events if isinstance(event, NodeStarted)]
        self.leaves = [id for id, tensor in self.frame.tensors.items() if tensor.role is not None]

    def called(self, id: str) -> str:
        """Return what a place is called, and the variable that holds its result, if there is one."""
        name = self.frame.called(id)
        if id not in self.frame.nodes or 0 not in self.frame.nodes[id].outputs:
            return name
        variable = self.frame.variable(self.frame.nodes[id].outputs[0][0])
        return f"{name} ({variable})" if variable else name

    def rank(self, id: str) -> str:
        """When a place ran."""
        number = self.runs.index(id) + 1
        ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{number}{ending}"


class Differences:
    """What is not the same in two traces: first in how they are built, then what is in them, then what ran."""

    def __init__(self, first: Timeline, second: Timeline) -> None:
        self.first, self.second = Side(first), Side(second)
        self.pairs = self._paired()

    def _paired(self) -> dict[str, str]:
        """Return the places of the second trace that those of the first are compared with."""
        one, two = self.first.frame, self.second.frame
        left = [id for id in self.first.leaves if one.tensors[id].name is None]
        right = [id for id in self.second.leaves if two.tensors[id].name is None]
        names = {two.tensors[id].name: id for id in reversed(self.second.leaves)}
        found: dict[str, str] = {}
        for id in self.first.leaves:
            name = one.tensors[id].name
            if name is not None and name in names:
                found[id] = names.pop(name)
        taken = set(found.values())
        left += [id for id in self.first.leaves if id not in found and id not in left]
        right += [id for id in self.second.leaves if id not in taken and id not in right]
        found |= dict(zip(left, right, strict=False))
        ours, theirs = list(one.nodes), list(two.nodes)
        kinds = [[frame.nodes[id].made.name for id in ids] for frame, ids in ((one, ours), (two, theirs))]
        blocks = list(opcodes(*kinds))
        for tag, i, to_i, j, to_j in blocks:
            if tag == "equal":
                found |= dict(zip(ours[i:to_i], theirs[j:to_j], strict=True))
        taken = set(found.values())
        moved: dict[str, list[str]] = {}
        for id, kind in zip(theirs, kinds[1], strict=True):
            if id not in taken:
                moved.setdefault(kind, []).append(id)
        for id, kind in zip(ours, kinds[0], strict=True):
            if id not in found and moved.get(kind):
                found[id] = moved[kind].pop(0)
        taken = set(found.values())
        for _, i, to_i, j, to_j in blocks:  # one operation in the place of another
            left = [id for id in ours[i:to_i] if id not in found]
            right = [id for id in theirs[j:to_j] if id not in taken]
            found |= dict(zip(left, right, strict=False))
        return found

    def __iter__(self) -> Iterator[TraceDifference]:
        return iter(sorted(self._all(), key=lambda each: _ORDER.index(each.kind)))

    def _all(self) -> Iterator[TraceDifference]:
        one, two, pairs = self.first, self.second, self.pairs
        for id in [*one.leaves, *one.frame.nodes]:
            if id not in pairs:
                yield TraceDifference("only here", f"Only the first has {one.called(id)}", id, None)
            elif id in one.frame.nodes:
                yield from self._nodes(id, pairs[id])
            else:
                yield from self._leaves(id, pairs[id])
        for id in [*two.leaves, *two.frame.nodes]:
            if id not in pairs.values():
                yield TraceDifference("only here", f"Only the second has {two.called(id)}", None, id)
        yield from self._order()

    def _leaves(self, one: str, two: str) -> Iterator[TraceDifference]:
        ours, theirs, name = self.first.frame.tensors[one], self.second.frame.tensors[two], self.first.called(one)
        if ours.role != theirs.role:
            yield TraceDifference("part", f"{name} is a {ours.role}, in the second a {theirs.role}", one, two)
        if unlike := _unlike(ours.value, theirs.value):
            yield TraceDifference("value", f"{name} is {unlike}", one, two)
        if unlike := _unlike(ours.grad, theirs.grad):
            yield TraceDifference("gradient", f"{name}.grad is {unlike}", one, two)

    def _nodes(self, one: str, two: str) -> Iterator[TraceDifference]:
        ours, theirs, name = self.first.frame.nodes[one], self.second.frame.nodes[two], self.first.called(one)
        if ours.made.name != theirs.made.name:
            other = self.second.called(two)
            yield TraceDifference("operation", f"Where the first has {name}, the second has {other}", one, two)
        if sources := self._sources(ours, theirs):
            told = f"{name} is computed from {sources[0]}, in the second from {sources[1]}"
            yield TraceDifference("sources", told, one, two)
        for nr in sorted(ours.outputs.keys() & theirs.outputs.keys()):
            if unlike := _unlike(ours.outputs[nr][1], theirs.outputs[nr][1]):
                yield TraceDifference("value", f"{name} gives {unlike}", one, two)
        yield from self._kept(one, two, name)
        for ours_in, theirs_in in zip(ours.received, theirs.received, strict=False):
            if unlike := _unlike(ours_in, theirs_in):
                yield TraceDifference("gradient", f"{name} receives the gradient {unlike}", one, two)
        if ours.error != theirs.error:
            what = [f"fails with {each.error}" if each.error else "does not fail" for each in (ours, theirs)]
            yield TraceDifference("error", f"{name} {what[0]}; in the second it {what[1]}", one, two)

    def _sources(self, ours: NodeState, theirs: NodeState) -> tuple[str, str] | None:
        """Return what both are computed from, unless that is the same, or a part of it is only in one trace."""
        left = [edge.target for edge in ours.made.edges]
        right = [edge.target for edge in theirs.made.edges]
        known = self.pairs.keys(), set(self.pairs.values())
        for ids, there in zip((left, right), known, strict=True):
            if any(id is not None and id not in there for id in ids):
                return None
        if [id and self.pairs[id] for id in left] == right:
            nrs = [[edge.output_nr for edge in each.made.edges] for each in (ours, theirs)]
            if nrs[0] == nrs[1]:
                return None
        sources: list[str] = []
        for side, state in ((self.first, ours), (self.second, theirs)):
            edges = [(edge.target, edge.output_nr) for edge in state.made.edges if edge.target is not None]
            sources.append(series([side.frame.output(id, nr).replace("`", "") for id, nr in edges]) or "only constants")
        return sources[0], sources[1]

    def _kept(self, one: str, two: str, name: str) -> Iterator[TraceDifference]:
        ours, theirs = self.first.frame.nodes[one], self.second.frame.nodes[two]
        kept = [
            series([side.frame.variable(saved.tensor) or saved.name for saved in each.made.saved]) or "nothing"
            for side, each in ((self.first, ours), (self.second, theirs))
        ]
        if kept[0] != kept[1]:
            yield TraceDifference("saved", f"{name} saves {kept[0]}, in the second {kept[1]}", one, two)
        else:
            for saved, mine, other in zip(ours.made.saved, ours.saved, theirs.saved, strict=False):
                if mine is not None and other is not None:
                    unlike = _unlike(mine, other)
                else:
                    whose = ["the result of a hook" if each is None else format_value(each) for each in (mine, other)]
                    unlike = "" if mine is other else ", in the second ".join(whose)
                if unlike:
                    yield TraceDifference("saved", f"{name} saves as {saved.name} {unlike}", one, two)
        if ours.freed != theirs.freed and ours.made.saved and theirs.made.saved:
            what = ["are freed" if each.freed else "are held" for each in (ours, theirs)]
            yield TraceDifference(
                "saved", f"The saved tensors of {name} {what[0]}, in the second they {what[1]}", one, two
            )

    def _order(self) -> Iterator[TraceDifference]:
        ours = [id for id in self.first.runs if id in self.pairs]
        back = {two: one for one, two in self.pairs.items()}
        theirs = [back[id] for id in self.second.runs if id in back]
        counts = Counter(ours), Counter(theirs)
        for id in dict.fromkeys([*ours, *theirs]):
            if counts[0][id] != counts[1][id]:
                times = [{0: "never", 1: "once", 2: "twice"}.get(count[id], f"{count[id]} times") for count in counts]
                told = f"{self.first.called(id)} runs {times[0]}, in the second {times[1]}"
                yield TraceDifference("runs", told, id, self.pairs[id])
        ours, theirs = ([id for id in ids if counts[0][id] == counts[1][id]] for ids in (ours, theirs))
        kept = {at for tag, i, to_i, *_ in opcodes(ours, theirs) if tag == "equal" for at in range(i, to_i)}
        for id in dict.fromkeys(id for at, id in enumerate(ours) if at not in kept):
            when = self.first.rank(id), self.second.rank(self.pairs[id])
            told = f"{self.first.called(id)} runs {when[0]}, in the second {when[1]}"
            yield TraceDifference("order", told, id, self.pairs[id])


def _unlike(one: Value | None, two: Value | None) -> str:
    """Return both values, if they differ by more than rounding."""
    if one is None or two is None:
        return "" if one is two else f"{format_value(one)}, in the second {format_value(two)}"
    if (one.shape, one.dtype) != (two.shape, two.dtype):
        return f"{one.kind}: {format_value(one)}, in the second {two.kind}: {format_value(two)}"
    if one.values is None or two.values is None:
        parts = [np.array([v.norm, v.min, v.max, v.mean, v.nonfinite], float) for v in (one, two)]
    else:
        parts = [np.array(value.numbers) for value in (one, two)]
    close = _CLOSE.get(one.dtype, 0.0)
    least = close * 1e-3 * max(one.norm, 1e-300) if close else 0
    if np.allclose(parts[0], parts[1], rtol=close, atol=least, equal_nan=True):
        return ""
    told = format_value(one), format_value(two)
    apart = f" (they differ by {one.norm and abs(parts[0] - parts[1]).max():.2g})" if told[0] == told[1] else ""
    return f"{told[0]}, in the second {told[1]}{apart}"
