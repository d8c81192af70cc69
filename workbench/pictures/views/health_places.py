"""Where findings are in a health picture: the rows that each is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...diagnosis.health.finding import Finding
from ...diagnosis.health.table import HealthRow, HealthTable
from ...diagnosis.health.training_run import TrainingRun
from ...diagnosis.health.watched import called
from .health_rows import ShownRow


class HealthPlace(NamedTuple):
    """What a finding is about: a row of the table, or where there is none, the modules that it happened in."""

    path: tuple[str, ...]
    row: HealthRow | None = None


Places = Callable[[Finding], Sequence[HealthPlace]]


def places_in(run: TrainingRun, table: HealthTable) -> Places:
    """Yield the places of a recorded run's findings, by the nodes and tensors that they name."""
    rows = {id: row for row in table.rows for id in row.ids if id is not None}

    def place_of(id: str) -> HealthPlace | None:
        id = id if id in rows else run.places.get(id, id)
        if id in rows:
            return HealthPlace(rows[id].path, rows[id])
        node, parameter = run.nodes.get(id), run.parameters.get(id)
        scope = node.made.scope if node is not None else parameter.scope if parameter is not None else ""
        return HealthPlace(tuple(scope.split("/"))) if scope else None

    return lambda found: [*dict.fromkeys([place for id in found.ids if (place := place_of(id)) is not None])]


def places_named(table: HealthTable) -> Places:
    """Yield the places of findings that only name them, such as those in a file of `watch`."""
    named = [(_whole(called(_name_of(row))), HealthPlace(row.path, row)) for row in table.rows]
    return lambda found: [place for pattern, place in named if pattern.search(found.sentence)]


def _name_of(row: HealthRow) -> str:
    return ".".join([*row.path, *(() if row.kind == "output" else (row.name,))])


def _whole(name: str) -> re.Pattern[str]:
    """Return a pattern for the name without an adjacent letter or dot, which would make it another name."""
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")


def rows_at(places: Sequence[HealthPlace], rows: Sequence[ShownRow]) -> Iterator[int]:
    """Return the picture's rows at these places: the row itself, or the innermost module around it that has one."""
    own = {id(each.own.rows[0]): at for at, each in enumerate(rows) if each.own is not None and each.own.rows}
    modules = {each.path: at for at, each in enumerate(rows) if each.path}
    for place in places:
        at = own.get(id(place.row))
        depth = len(place.path)
        while at is None and depth:
            at = modules.get(place.path[:depth])
            depth -= 1
        if at is not None:
            yield at


def modules_around(several: Iterable[int], rows: Sequence[ShownRow]) -> Iterator[int]:
    """Return the modules around these rows, the innermost first."""
    for at in several:
        holder = rows[at].holder
        while holder is not None:
            yield holder
            holder = rows[holder].holder
