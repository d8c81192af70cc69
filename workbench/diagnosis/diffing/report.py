"""The result of `workbench.diff`: what differs first, as text, as data and as a picture."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...pictures.trace.differences import TraceDifference
from ...pictures.trace.timeline import Timeline
from ..health.finding import plural
from .backward import Origins
from .closeness import Apart, coarsest
from .origins import ROUNDING, DiffOrigin
from .run import RecordedRun, Write
from .structure import Structure, StructureFound
from .words import at_line, called, figures, line, listed, summed

if TYPE_CHECKING:
    from ...pictures.scene.picture import Picture

_WIDE = 110  # columns of a text
_MOST = 8  # differences in structure, and further origins, in a text


@dataclass(frozen=True)
class DiffEntry:
    """One difference between two traces.

    Attributes:
        kind: "input", "operation", "replaced", "only here", "write", "seed", "gradient", "missing", "accumulation",
            "hook", "path", "sources", "dtype", "clear" or "error".
        sentence: What differs, in one sentence.
        lines: The line of the program in the first and in the second trace, as "train.py:12"; empty if unknown.
        step: The training step it is in; empty outside a training loop.
        values: Both values as data: shape, dtype, norm, mean, min, max, and how many aren't finite.
        index: The index of the first element that differs; None if the values weren't recorded.
        elements: That element on both sides.
        largest: The largest difference of two elements, or of the norms; None if unknown.
        tolerance: The tolerance used, in words.
        details: What the text says about it, line by line.
        places: Its places in the two traces: the ids of nodes or tensors.
    """

    kind: str
    sentence: str
    lines: tuple[str, str] = ("", "")
    step: str = ""
    values: tuple[dict[str, Any] | None, dict[str, Any] | None] | None = None
    index: tuple[int, ...] | None = None
    elements: tuple[complex, complex] | None = None
    largest: float | None = None
    tolerance: str = ""
    details: tuple[str, ...] = ()
    places: tuple[str | None, str | None] = (None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as data that JSON can hold; a number that isn't finite is text."""
        return _plain(asdict(self))


@dataclass(frozen=True)
class Diff:
    """The differences between two traces; `print(diff)` shows them, and `diff.show()` draws them.

    A `Diff` is true if the traces differ, so `assert not workbench.diff(a, b)` is a test.

    Attributes:
        forward: The first operation, input or write whose values differ; None if none does.
        backward: The first gradient that differs; None if none does.
        others: Further values that differ on their own: what they depend on is equal.
        structure: Differences besides values: operations, gradient paths, dtypes, hooks, writes, errors.
        consequences: How many operations and gradients differ only because of these.
        notes: What limits the comparison, such as values that weren't recorded.
        names: What the two traces are called: the names of their files, or "first" and "second".
    """

    forward: DiffEntry | None
    backward: DiffEntry | None
    others: tuple[DiffEntry, ...]
    structure: tuple[DiffEntry, ...]
    consequences: dict[str, int]
    notes: tuple[str, ...]
    tolerance: str
    names: tuple[str, str] = ("first", "second")
    summary: str = ""
    _traces: tuple[Timeline, Timeline] = field(default=(Timeline(), Timeline()), repr=False, compare=False)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.same_values and not self.structure

    @property
    def same_values(self) -> bool:
        """Whether all values and gradients that both traces have are equal, whatever computed them."""
        return self.forward is None and self.backward is None and not self.others

    def __bool__(self) -> bool:
        return not self.same

    def to_dict(self) -> dict[str, Any]:
        """Return the diff as data: `same`, `forward`, `backward`, `others`, `structure`, `consequences`."""
        one = {name: each and each.to_dict() for name, each in (("forward", self.forward), ("backward", self.backward))}
        several = {
            name: [each.to_dict() for each in found]
            for name, found in (("others", self.others), ("structure", self.structure))
        }
        head = {"same": self.same, "names": list(self.names), "tolerance": self.tolerance}
        return {**head, **one, **several, "consequences": dict(self.consequences), "notes": list(self.notes)}

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def show(self) -> Picture:
        """Return a picture of both graphs, with the boxes that differ first marked.

        Raises:
            ValueError: if the graphs are too large to draw.
        """
        from ...pictures.scene.picture import Picture
        from ...pictures.views.compare import compared

        found: list[TraceDifference] = []
        firsts = [each for each in (self.forward, self.backward) if each is not None]
        for each in (*firsts, *self.others, *self.structure):
            words = " ".join([each.sentence, *each.details]).replace("`", "")
            found.append(TraceDifference(_MARKS.get(each.kind, each.kind), words, *each.places))
        return Picture(compared(*self._traces, found, self.summary.replace("`", "")))

    def save(self, path: Any) -> None:
        """Write the diff to a file: ".json" is the data, ".html" a page with the text and the picture."""
        from .page import save

        save(self, path)

    def __str__(self) -> str:
        lines = [self.summary]
        for head, each in (("Forward", self.forward), ("Backward", self.backward)):
            if each is not None:
                lines += _told(head, each)
        for each in self.others[:_MOST]:
            lines += _told("Also", each)
        lines += _more(len(self.others))
        if self.structure:
            lines.append("Structure:")
            for each in self.structure[:_MOST]:
                lines += textwrap.wrap(f"{each.sentence}.", _WIDE, initial_indent="  - ", subsequent_indent="    ")
            lines += _more(len(self.structure))
        follow = [plural(count, what.removesuffix("s")) for what, count in self.consequences.items() if count]
        if follow:
            verb = "differ" if sum(self.consequences.values()) > 1 else "differs"
            lines.append(f"As a consequence, {listed(follow)} {verb} too.")
        lines += [line for note in self.notes for line in textwrap.wrap(note, _WIDE)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": str(self)}
        if self.same:
            return bundle
        try:
            picture = self.show()._repr_mimebundle_()
        except ValueError:
            return bundle
        text = f'<pre style="white-space: pre-wrap">{html.escape(str(self))}</pre>'
        return {**picture, "text/plain": str(self), "text/html": text + picture.get("text/html", "")}


_TOGETHER = ("input", "write", "accumulation", "set")  # kinds of which several are one entry
# How a box is marked.
_MARKS = {"missing": "gradient", "accumulation": "gradient", "seed": "gradient", "input": "value", "write": "value"}


def _told(head: str, each: DiffEntry) -> list[str]:
    step = f" ({each.step})" if each.step else ""
    end = "" if each.sentence.endswith("?") else "."
    first, *rest = textwrap.wrap(f"{head}{step}: {each.sentence}{end}", _WIDE, subsequent_indent="  ")
    return [first, *rest, *[f"    {detail}" for detail in each.details]]


def _more(count: int) -> list[str]:
    return [f"  … and {count - _MOST:,} more"] if count > _MOST else []


def _plain(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {name: _plain(each) for name, each in thing.items()}
    if isinstance(thing, list | tuple):
        return [_plain(each) for each in thing]
    if isinstance(thing, complex) or (isinstance(thing, float) and not abs(thing) < float("inf")):
        return str(thing)
    return thing


class DiffReport:
    """Puts into words what two runs differ in."""

    def __init__(self, origins: Origins, names: tuple[str, str]) -> None:
        self._origins, self._tolerance, self._names = origins, origins.tolerance, names
        self._runs, self._pairs = origins.runs, origins.pairs
        self._structure = Structure(origins)

    def diff(self) -> Diff:
        """Return the whole diff."""
        groups = self._grouped()
        forward = next((each for each in groups if not each[0].is_backward), None)
        backward = self._origins.first_gradient
        with_backward = next((each for each in groups if backward in each), [])
        rest: list[list[DiffOrigin]] = []
        again: dict[object, int] = {self._key(each): 0 for each in (forward, with_backward) if each}
        for each in groups:
            if each is not forward and backward not in each:
                if self._key(each) in again:
                    again[self._key(each)] += 1
                else:
                    again[self._key(each)] = 0
                    rest.append(each)
        structure = tuple([self._structural(each) for each in self._structure])
        told = Diff(
            self._described(forward[0], forward, again) if forward is not None else None,
            self._described(backward, with_backward or [backward], again) if backward is not None else None,
            tuple([self._described(each[0], each, again, is_first=False) for each in rest]),
            structure,
            {what: getattr(self._origins.counts, what) for what in ("operations", "gradients", "writes")},
            tuple(self._notes()),
            self._tolerance.text(self._tolerance.whole, float(self._is_rounded)),
            self._names,
            _traces=(self._runs[0].trace, self._runs[1].trace),
        )
        object.__setattr__(told, "summary", self._summary(told))
        return told

    def _grouped(self) -> list[list[DiffOrigin]]:
        """Return the origins; those of one kind, line and step are together, such as an optimizer's writes."""
        groups: list[list[DiffOrigin]] = []
        for each in self._origins.found:
            last = groups[-1][-1] if groups else None
            alike = last is not None and each.kind == last.kind and each.kind in _TOGETHER
            if last is not None and alike and self._spot(each) == self._spot(last):
                groups[-1].append(each)
            else:
                groups.append([each])
        return groups

    def _key(self, together: list[DiffOrigin]) -> object:
        """Return what is the same if the same differs in another step: its kind, its lines, and what it is called."""
        first = together[0]
        sides = [(called(run, id), line(run.source(id))) for run, id in self._places(first) if id is not None]
        return first.kind, *sides

    def _spot(self, origin: DiffOrigin) -> object:
        """Return the line and the step of a write, or the step of another origin."""
        step = self._runs[0].step_of(origin.at)
        row = self._write_of(origin)
        return step, None if row is None else row.source

    def _write_of(self, origin: DiffOrigin) -> Write | None:
        """Return the write that an origin is."""
        if origin.kind not in ("write", "set") or origin.one is None or origin.two is None:
            return None
        side = int(origin.kind == "set" and origin.nr < 0)
        rows = getattr(self._runs[side], "sets" if origin.kind == "set" else "writes")
        found = rows.get((origin.one, origin.two)[side], [])
        return found[max(0, origin.nr)] if found else None

    @property
    def _is_rounded(self) -> bool:
        """Return True if anything was compared that was computed from rounded values."""
        return any(share > 0 for share in self._origins.share[0].values())

    def _summary(self, diff: Diff) -> str:
        names = " and ".join(self._names) if self._names != ("first", "second") else "The two traces"
        count = f"{plural(self._origins.counts.compared, 'value')} compared {diff.tolerance}"
        if diff.same:
            return f"{names} are the same: {count}."
        if diff.same_values:
            return f"{names} have the same values, but not the same structure: {count}."
        return f"{names} differ: {count}."

    def _notes(self) -> Iterator[str]:
        """Yield what limits the comparison."""
        counts = self._origins.counts
        if counts.summarized:
            tensors = plural(counts.summarized, "value")
            yield f"Of {tensors}, only norm, mean, min and max were compared: record with a higher `limit` for more."
        if counts.unknown:
            yield f"{plural(counts.unknown, 'value')} couldn't be compared: the recording has only shape and dtype."
        for run, name in zip(self._runs, self._names, strict=True):
            if run.dropped:
                yield f"The {name} trace has dropped its first {plural(run.dropped, 'event')} (`last`)."
        mixed = {pair: count for pair, count in counts.dtypes.items() if pair[0] != pair[1]}
        if mixed:
            told = listed([f"{one} and {two}" for one, two in mixed])
            yield f"The dtypes differ: {told}. They were compared with the tolerance of the lower precision."
        if self._origins.first_inexact is not None and not self._origins.found:
            yield f"Equal within the tolerance, but not bit by bit, {self._inexact}."

    @property
    def _inexact(self) -> str:
        """Return where rounding begins."""
        one = self._origins.first_inexact[0] if self._origins.first_inexact is not None else ""
        share = self._origins.share[0].get(one, 0.0)
        run = self._runs[0]
        return (
            f"beginning with the result of {called(run, one)}{at_line(run.source(one))} (by {share:.1g})" if one else ""
        )

    def _structural(self, found: StructureFound) -> DiffEntry:
        return DiffEntry(found.kind, found.sentence, found.lines, places=(found.one, found.two))

    def _described(
        self, origin: DiffOrigin, together: list[DiffOrigin], again: Mapping[object, int], is_first: bool = True
    ) -> DiffEntry:
        """Return an origin in words and as data; those that differ `together` are one difference.

        `again` says how often the same differs later.
        """
        one, two = origin.shown or (origin.one, origin.two)
        assert one is not None and two is not None
        sources = self._runs[0].source(one), self._runs[1].source(two)
        whose = f"{called(self._runs[0], one)} " if len(together) > 1 else ""
        wide = max(len(name) for name in self._names)
        details = [
            f"{side:{wide}}  {whose}{summed(value)}{at_line(source)}"
            for side, source, value in zip(self._names, sources, origin.values, strict=True)
        ]
        apart = origin.apart
        assert apart is not None
        details += self._evidence(origin, apart)
        sentence, places = self._sentence(origin, together, is_first), (origin.one, origin.two)
        if count := again.get(self._key(together), 0):
            details.append(f"the same differs {plural(count, 'more time')}, later")
        values = figures(origin.values[0]), figures(origin.values[1])
        dtype = coarsest([each.dtype for each in origin.values if each is not None])
        tolerance = self._tolerance.text(dtype, origin.given)
        lines = line(sources[0]), line(sources[1])
        step = self._runs[0].step_of(origin.shown_at or origin.at)
        largest = apart.largest if apart.largest == apart.largest else None
        return DiffEntry(
            origin.kind,
            sentence,
            lines,
            step,
            values,
            apart.index,
            apart.pair,
            largest,
            tolerance,
            tuple(details),
            places,
        )

    def _evidence(self, origin: DiffOrigin, apart: Apart) -> list[str]:
        details = [apart.told] if apart.told else []
        if apart.kind == "summary":
            details = [f"{apart.told}; only norm, mean, min and max were recorded".removeprefix("; ")]
        if 0 < origin.given < float("inf") and self._origins.first_inexact is not None:
            details.append(f"what it gets is apart by {origin.given:.1g} of its size, {self._inexact}")
        return details

    def _sentence(self, origin: DiffOrigin, together: list[DiffOrigin], is_first: bool) -> str:
        run = self._runs[0]
        name = called(run, origin.one) if origin.one is not None else ""
        names = listed(list(dict.fromkeys([called(run, each.one) for each in together if each.one is not None])))
        differs = "is the first that differs" if is_first else "differs"
        if origin.kind == "input":
            several = len(together) > 1
            if not is_first:
                return f"The input{'s' * several} {names} {'differ' if several else 'differs'}, too"
            return (
                f"The inputs differ already, so no operation is to blame: {names}. Are the seed and the data the same?"
            )
        if origin.kind == ROUNDING:
            rows = run.writes.get(origin.one or "", [])
            who = f" as {rows[0].who} writes it" if rows else ""
            return f"Small differences have grown past the tolerance at {name}{who}"
        if origin.kind == "only here":
            shown = called(run, origin.shown[0]) if origin.shown else ""
            after = "the first result that differs" if is_first else "the next result that differs"
            return f"{self._structure.group(origin).sentence}; {after} after it is that of {shown}"
        if origin.kind == "replaced" and origin.two is not None:
            return (
                f"Where the first has {name}, the second has {called(self._runs[1], origin.two)}, with another result"
            )
        if origin.kind == "operation":
            shape = " in shape" if origin.apart is not None and origin.apart.kind == "shape" else ""
            told = f"The result of {name} {differs}{shape}"
            if origin.given == float("inf"):
                return f"{told}; {self._other_inputs(origin)}"
            return f"{told}, though what it gets is the same{self._random(origin)}"
        return self._written(origin, names, len(together)) or self._gradient_sentence(origin, name, names, differs)

    def _written(self, origin: DiffOrigin, names: str, count: int) -> str:
        """Describe a write, or a hook; empty if it is something else."""
        row = self._write_of(origin)
        if origin.kind == "write" and origin.nr < 0:
            counts = [len(run.writes.get(id or "", ())) for run, id in self._places(origin)]
            times = [plural(count, "time") for count in counts]
            are = "are" if count > 1 else "is"
            return f"{names} {are} written to {times[0]} in all, in the second {times[1]}"
        if origin.kind == "write" and row is not None:
            return f"{row.who} writes other values into {names}{at_line(row.source)}, though the gradients are the same"
        if origin.kind == "set" and row is not None:
            sides = [len(run.sets.get(id or "", ())) for run, id in self._places(origin)]
            only = (
                "" if sides[0] == sides[1] else " only in the first" if sides[0] > sides[1] else " only in the second"
            )
            return f"`{row.who.strip('`')}` changes the gradient of {names}{only}{at_line(row.source)}"
        if origin.kind == "seed":
            return f"The backward pass starts with another gradient of {names}"
        if origin.kind == "hook":
            hooks = [run.hooks.get(id or "", []) for run, id in self._places(origin)]
            title = next((rows[0].hook.title for rows in hooks if rows), "a hook")
            if len(hooks[0]) != len(hooks[1]):
                which = "second" if len(hooks[1]) > len(hooks[0]) else "first"
                return f"The gradient of {names} differs after `{title}`, which only the {which} has"
            return f"`{title}` at {names} makes another gradient, though it gets the same"
        return ""

    def _places(self, origin: DiffOrigin) -> list[tuple[RecordedRun, str | None]]:
        return list(zip(self._runs, (origin.one, origin.two), strict=True))

    def _random(self, origin: DiffOrigin) -> str:
        """Return a hint if the operation draws random numbers."""
        made = self._runs[0].made(origin.one or "")
        words = f"{made.name} {getattr(made.source, 'text', '')}".lower()
        words += " ".join(f"{part.title} {part.module}" for part in getattr(made, "path", ())[-2:]).lower()
        is_random = any(each in words for each in ("dropout", "bernoulli", "rand", "normal_", "multinomial", "noise"))
        return "; it draws random numbers, so compare its settings and the seeds" if is_random else ""

    def _other_inputs(self, origin: DiffOrigin) -> str:
        """Return what an operation gets in the two runs, if that isn't the same."""
        edges = [run.edges(id or "") for run, id in self._places(origin)]
        for mine, other in zip(*edges, strict=False):
            if mine.target is not None and other.target is not None:
                if self._pairs.there.get(mine.target) != other.target:
                    origins_seen = [
                        called(run, id) for run, id in zip(self._runs, (mine.target, other.target), strict=True)
                    ]
                    return f"it is computed from {origins_seen[0]}, in the second from {origins_seen[1]}"
        return "it gets other inputs"

    def _gradient_sentence(self, origin: DiffOrigin, name: str, names: str, differs: str) -> str:
        if origin.kind == "accumulation":
            return f"The .grad of {names} {differs}, though what was added to it is the same"
        if origin.is_sent:
            told = f"The gradient that {name} sends{self._receiver(origin)} {differs}"
        else:
            told = f"The gradient that arrives at {name} {differs}"
        if origin.apart is not None and origin.apart.kind == "shape":
            told += " in shape"
        if origin.of is not None:
            return told if origin.of.is_backward and origin.of.kind != ROUNDING else f"{told}, as a consequence"
        return told + (", though the values forward are the same" if origin.is_sent else "")

    def _receiver(self, origin: DiffOrigin) -> str:
        """Return where a gradient goes, in the run in which it goes anywhere."""
        for run, id in self._places(origin):
            edges = run.frame.nodes[id].made.edges if id in run.frame.nodes else ()
            if origin.nr < len(edges) and (target := edges[origin.nr].target) is not None:
                return f" to {called(run, target)}"
        return ""
