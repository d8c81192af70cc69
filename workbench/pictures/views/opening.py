"""Which groups of a picture are open at first: from the model's outermost inwards, as far as it can be read whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..scene.dot import ASIDE
from ..scene.model import LOOSE, paths
from ..scene.storyboard import LEGIBLE, ROOM, Storyboard
from .crowded_rows import is_around_module
from .groups import Group

_MODEL = 0.3  # of all nodes, in a group that is part of what a program does
_NEARLY = 0.8  # of all nodes, in a group that is never closed
_MOST = 60  # boxes: more of them have no room in any window
_TRIALS = 12  # lines that are tried
_LINES = ("line", "run", "expression")  # kinds of groups that open last, as layers do
_CLOSED = (*_LINES, "more", "stretch")  # kinds of groups that stay closed while others open


@dataclass(frozen=True, slots=True)
class GroupSet:
    """Groups that open together because they are alike.

    They are open `always` if they hold nearly everything, and aren't part of one that does; `first` are the outermost
    that hold much of it, and what holds nearly all. Lines contain this many `modules`; lines `around` a large one open
    all or none.
    """

    groups: frozenset[str]
    always: bool = False
    first: bool = False
    modules: int | None = None
    around: bool = False


def in_order(whole: Group, leaves: Mapping[int, int]) -> list[GroupSet]:
    """Return the groups to open, one after the other: outer ones first, then the largest, single lines last.

    The first iteration of a loop comes before the others, and a transform's additions to the picture after them. A
    module of one operation stays closed, and so do stretches of a long row and those between the first and the last of
    what repeats. `leaves` is the number of leaves in a group, by its identity: lines that hide some come first.
    """
    parts: list[GroupSet] = []
    total, count = len(whole.nodes()), len(whole.items)
    level, reached = [whole], [whole]
    while level:
        alike: dict[tuple[str, ...], list[Group]] = {}
        for group in level:
            for inner in group.items:
                if isinstance(inner, Group) and not _stays_closed(inner, total):
                    alike.setdefault((str(inner.number == 1), *_shape(inner)), []).append(inner)
        level = []
        for several in sorted(alike.values(), key=lambda several: (several[0].kind == "part", -_held(several))):
            more = sum(len(group.items) - 1 for group in several)
            if count + more > _MOST and len(several) > 1:
                several, more = several[:1], len(several[0].items) - 1
            part = _held(several) / total
            if count + more > _MOST and part < _NEARLY:
                continue
            count += more
            outermost = not any(before.first for before in parts) or several[0].parent is whole
            nearly = len(several) == 1 and part >= _NEARLY and not any(before.always for before in parts)
            first = part >= (_MODEL if outermost else _NEARLY)
            around = is_around_module(several[0])
            modules = _modules(several[0]) if around else None
            parts.append(
                GroupSet(frozenset(group.id for group in several), nearly and not around, first, modules, around)
            )
            level += several
        reached += level
    lines = [group for outer in reached for group in outer.items if isinstance(group, Group) and _is_line(group)]
    alike = {}
    for group in sorted(lines, key=lambda group: (-_modules(group), not leaves.get(id(group), 0))):
        alike.setdefault((str(_modules(group)), *_shape(group)), []).append(group)
    for several in [*alike.values()][:_TRIALS]:
        more = sum(len(group.items) - 1 for group in several)
        if count + more <= _MOST:
            count += more
            parts.append(GroupSet(frozenset(group.id for group in several), modules=_modules(several[0])))
    return parts


def _is_line(group: Group) -> bool:
    return not group.single and (group.kind in _LINES or group.layer) and not is_around_module(group)


def _held(several: Sequence[Group]) -> int:
    return sum(len(group.nodes()) for group in several)


def _modules(group: Group) -> int:
    """Return the number of modules that are side by side in a line or a run."""
    return sum(isinstance(item, Group) and item.kind == "scope" for item in group.items)


def _stays_closed(group: Group, total: int) -> bool:
    """Return True if it stays closed at first: not a layer that is nearly everything, nor an expression with groups."""
    if group.aside or group.single or (group.layer and _held([group]) < _NEARLY * total):
        return True
    if is_around_module(group):
        return False
    holds = any([isinstance(item, Group) for item in group.items])
    return group.kind in _CLOSED and not group.layer and not (group.kind == "expression" and holds)


def _shape(group: Group) -> Iterator[str]:
    """Yield what two groups have in common that open together: their contents, regardless of names."""
    for item in group.items:
        yield "node" if isinstance(item, str) else f"group of {len(item.items)}"


def fitted(board: Storyboard, parts: Sequence[GroupSet]) -> Storyboard:
    """Return the picture with as many parts open, one after the other, as remain readable as a whole.

    Its boxes tell all that they can only where this closes nothing; in a wide picture they are narrow.
    """
    found = _fitted(board.with_density("rows"), parts)
    if found.layout.width > ROOM[0] / LEGIBLE:
        narrow = _fitted(board.with_density("columns"), parts)
        found = narrow if narrow.fits() or not found.fits() else found
    whole = found.with_density("full")
    return whole if whole.fits() else found


def _fitted(board: Storyboard, parts: Sequence[GroupSet]) -> Storyboard:
    """Return the picture with as many parts open as remain readable, with boxes that tell as much as they do."""
    boards: dict[frozenset[str], Storyboard] = {}  # each is laid out once

    def opened_as(opened: Collection[str]) -> Storyboard:
        found = boards[frozenset(opened)] = boards.get(frozenset(opened)) or board.with_open(opened)
        return found

    around = paths(board.scene)
    opened = frozenset().union(*[part.groups for part in parts if part.always])
    fitting, order = opened_as(opened), [opened]
    closed = 0  # modules in a line that has no room: then none with fewer opens
    for part in parts:
        if part.modules is not None and part.modules < closed:
            continue
        wide, high = (max(room / LEGIBLE, own) for room, own in zip(ROOM, fitting.layout.size, strict=True))
        if fitting.layout.height >= ROOM[1] / LEGIBLE:  # whatever opens makes it higher
            continue
        refused = False
        one = frozenset([min(part.groups, key=lambda id: int(id[1:]))])  # of what repeats the first, at least
        for groups in dict.fromkeys([part.groups] if part.around else [part.groups, one]):
            if opened >= groups or not all(opened.issuperset(around[group]) for group in groups):
                continue
            more = opened_as(opened | groups)
            if _least_width(more) <= wide and more.layout.width <= wide and more.layout.height <= high:
                if part.first:
                    order[0] |= groups
                else:
                    order.append(groups - opened)
                opened, fitting = opened | groups, more
                break
            refused = True
        else:
            # Nor does arithmetic while a module, a loop or a call has no room: a picture has one depth.
            closed = max(closed, part.modules or 0, part.modules is None and refused)
    return fitting.with_order([groups for groups in order if groups])


def _least_width(board: Storyboard) -> float:
    """Return a width below which the picture can't be laid out: the leaves of one operation are side by side."""
    seen, widths = board.drawn_folding.seen(board.drawn_scene), board.sizes[0]
    flowing = [arrow for arrow in seen.arrows.values() if arrow.kind not in LOOSE]
    targets: dict[str, set[str]] = defaultdict(set)
    for arrow in flowing:
        targets[arrow.source].add(arrow.target)
    made = {arrow.target for arrow in flowing}
    rows: dict[str, float] = defaultdict(float)
    for source, (target, *others) in targets.items():
        if not others and source not in made and seen.boxes[source].region == seen.boxes[target].region:
            rows[target] += widths[source][0] + ASIDE
    return max(rows.values(), default=0.0) - ASIDE
