"""What a closed group shows: what is in it, what comes in and goes out, and what it saves for backward."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..scene.labels import title_parts
from ..scene.metric import GROUP_COLUMNS, TEXT_COLUMNS, columns
from ..scene.model import Box, BoxState, Detail, Family
from ..trace.forward_records import COMPILED
from ..trace.frame import Frame, Key, NodeState
from ..trace.values import Value
from .families import family_of
from .gradient_totals import EdgeBundle, norms_of
from .graph import Graph
from .groups import Group
from .memory_sizes import bytes_said, kept_of
from .node_boxes import rows_of
from .value_display import norm_of

FREED = ": freed"  # behind what was kept
_ROWS = 4  # parameters of a module that its box tells one by one
_NUMBER = 20  # columns of one
_CALLED = re.compile(r"(?:\w+ = )?(?:\w+\.)*(\w+)\(")  # a function, in the code of a title


@dataclass(slots=True)
class NodeDelta:
    """What is new of several nodes: those that were made, their states, and what they keep for backward."""

    made: list[str] = field(default_factory=list)
    output: str = ""  # one of these that backward starts at
    operations: list[str] = field(default_factory=list)  # of these
    compiled: int = 0  # how many of them torch.compile made
    counts: dict[str, int] = field(default_factory=dict)  # how many more, or fewer, have a state
    kept: list[tuple[str, int, int]] = field(default_factory=list)  # whose memory, its bytes, and 1 more or -1
    gone: int = 0
    error: str = ""


@dataclass(slots=True)
class GroupSummary:
    """What a closed group holds so far, with its final number of operations and of repetitions."""

    group: Group
    count: int
    times: int
    titles: dict[str, str]  # of nodes
    skips: int = 0  # values that are added to what is computed from them
    held: int = 0  # operations
    last: str = ""  # of the nodes
    output: str = ""  # the node whose result backward starts at
    counts: Counter[str] = field(default_factory=Counter)  # of the states
    operations: Counter[str] = field(default_factory=Counter)
    holders: dict[str, int] = field(default_factory=dict)  # how many keep what is kept
    leaves: dict[str, int] = field(default_factory=dict)  # and the numbers in those that are parameters of a module
    shares: bool = False  # whether one of these is used elsewhere, too, so that its gradient is not this group's alone
    # The names of tensors that boxes inside refer to, by id, and of tensors that arrows lead from into it.
    referred: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    entering: dict[tuple[int, ...], None] = field(default_factory=dict)  # the shapes of the data that come in
    leaving: dict[tuple[str, int], Value] = field(default_factory=dict)  # what goes out of it, by where it is made
    differentiated: bool = False  # a recorded backward pass takes more out, of what it knows, that isn't its result
    kept: int = 0  # tensors that were saved
    saved: int = 0  # bytes
    most: int = 0
    error: str = ""
    tangents: dict[str, None] = field(default_factory=dict)
    lifted: dict[str, None] = field(default_factory=dict)  # operations without a node
    gone: int = 0  # nodes
    compiled: int = 0  # the operations that torch.compile made
    details: tuple[Detail, ...] = ()  # what is in it, when all is there

    def lift(self, frame: Frame, key: Key) -> None:
        """Count an operation without a node, or a tangent."""
        if key.kind == "tangent":
            self.tangents[key.id] = None
        elif key.id not in self.lifted:
            self.lifted[key.id] = None
            self.held += 1
            self.counts["idle"] += 1
            self.operations[frame.operations[key.id].made.name] += 1

    def note(self, news: NodeDelta) -> None:
        """Note that this is new for the nodes in it."""
        if news.made:
            self.held += len(news.made)
            self.last = news.made[-1]
            self.output = news.output or self.output
            self.operations.update(news.operations)
            self.compiled += news.compiled
        self.gone += news.gone
        self.error = news.error or self.error
        for state, count in news.counts.items():
            self.counts[state] += count
        holders = self.holders
        for owner, size, more in news.kept:
            if more > 0:
                self.kept += more
            holders[owner] = held = holders.get(owner, 0) + more
            if not held:
                self.saved -= size
            elif more == held == 1:
                self.saved += size
                if self.saved > self.most:
                    self.most = self.saved

    def meet(self, frame: Frame, source: str, nr: int, leaving: bool) -> None:
        """Note the shape of what comes into the group from this place, unless it is a parameter, or goes out of it."""
        value = None
        if source in frame.nodes:
            value = frame.nodes[source].outputs.get(nr, ("", None))[1]
        elif source in frame.tensors and "." not in (frame.tensors[source].name or ""):
            value = frame.tensors[source].value
        if value is not None and leaving:
            self.leaving[source, nr] = value
        elif value is not None:
            self.entering[value.shape] = None

    def _results(self, frame: Frame) -> list[Value]:
        """Return what it gives: what something outside uses, or else what its last node has computed."""
        if self.leaving or self.differentiated:
            return list(self.leaving.values())
        last = frame.nodes.get(self.output or self.last) if self.held == self.count else None
        return [last.outputs[0][1]] if last is not None and 0 in last.outputs else []

    def shapes(self, frame: Frame) -> str:
        """Return `(3, 4) → (3, 2)`, or as much as is known.

        A single number is shown, `(3, 2) → 0.5`, if an expression of numbers gives it, or if nothing uses it: a loss.
        """
        results = self._results(frame)
        shapes = dict.fromkeys(value.shape for value in results)
        of_numbers = not any((*self.entering, *shapes))
        told = _shapes(shapes) if shapes and not of_numbers else ""
        alone = not self.leaving or (of_numbers and self.group.kind == "expression")
        if len(results) == 1 and not results[0].shape and alone:
            told = results[0].brief(_NUMBER)
        entering = f"{_shapes(self.entering)} " if self.entering and not of_numbers else ""
        return f"{entering}→ {told}" if told else ""

    @property
    def parameters(self) -> list[str]:
        """Return the parameters of modules that are used in it, including those that are shown elsewhere."""
        own = [id for id, count in self.leaves.items() if count]
        return own + [id for id, name in self.referred.items() if "." in name and id not in self.leaves]

    def counts_of_operations(self) -> list[str]:
        """`12 operations`, `3 operations × 4` of what repeats."""
        if not self.held:
            return []
        count = counted(self.held, "operation")
        if 1 < self.times < self.count == self.held and not self.group.rounds:
            count = f"{counted(self.count // self.times, 'operation')} × {self.times:,}"
        if self.skips and self.held == self.count:
            count += " with a skip" if self.skips == 1 else f" with {self.skips} skips"
        return [count + (COMPILED if 0 < self.compiled == self.held else "")]

    def facts(self, frame: Frame) -> list[str]:
        """`7 operations`, `1,184 parameters`."""
        return [*self.counts_of_operations(), *self.holds(frame)]

    def gives(self, frame: Frame) -> str:
        """Return the shape that goes out of it, or the number; empty if neither is known yet."""
        results = self._results(frame)
        if len(results) == 1 and not results[0].shape:
            return results[0].brief(_NUMBER)
        return _shapes(dict.fromkeys(value.shape for value in results if value.shape))

    def holds(self, frame: Frame) -> list[str]:
        """`1,234 parameters`, `2 leaves`, `3 tangents`."""
        elsewhere = [id for id, name in self.referred.items() if "." in name and id not in self.leaves]
        numbers = sum(self.leaves.values()) + sum([math.prod(frame.tensors[id].value.shape) for id in elsewhere])
        others = sum(not numbers for numbers in self.leaves.values())
        told = [(numbers, "parameter"), (others, "leaf"), (len(self.tangents), "tangent")]
        return [counted(n, what) for n, what in told if n]

    def gradient(self, frame: Frame) -> list[str]:
        """`grad norm 0.31`: of all its modules' parameters together, if they get gradients from nothing else."""
        if self.shares:
            return []
        grads = [grad.norm for id in self.leaves if self.leaves[id] and (grad := frame.tensors[id].grad) is not None]
        return [f"grad {norm_of(math.hypot(*grads))}"] if grads else []

    def saves(self, several: bool = False) -> list[str]:
        """Return what it saves for backward, or did: `saved 1.2 KiB`, with the tensors' number if `several` or one."""
        if not self.most:
            return []
        count = f"{counted(self.kept, 'tensor')}, " if several or self.group.single else ""
        return [f"saved {count}{bytes_said(self.saved or self.most)}{'' if self.saved else FREED}"]

    def inside(self, frame: Frame) -> tuple[Detail, ...]:
        """Return what is in the group, in words, which stay once all of it is there."""
        if self.details:
            return self.details
        known, items, is_whole = self.titles, self.group.items, self.held == self.count
        inside = [item.title if isinstance(item, Group) else known.get(item) or name_in(frame, item) for item in items]
        details = [Detail("Inside", "text", ", ".join(inside))]
        if len(inside) < self.held and is_whole:  # else these are the nodes themselves, or there are more to come
            operations = [f"{name} {count:,}" for name, count in self.operations.most_common()]
            details.append(Detail("Operations", "text", ", ".join(operations)))
        name = (self.group.names or (self.group.id,))[0]
        details.append(Detail("To open it here", "code", f'trace.show("graph", open=[{name!r}])'))
        if is_whole:
            self.details = tuple(details)
        return tuple(details)

    @property
    def state(self) -> BoxState:
        """Return the most urgent state inside."""
        for state in ("error", "running", "ready", "pending"):
            if self.counts[state]:
                return state
        if self.gone == self.held > 0:
            return "over"
        return "done" if self.counts["done"] else "idle"


def kept_by(frame: Frame, id: str, node: NodeState) -> list[tuple[str, int]]:
    """Return the memory that a node saves for backward: its owner and its size."""
    kept = []
    for index, (saved, value) in enumerate(zip(node.made.saved, node.saved, strict=True)):
        if value is not None:
            kept.append(kept_of(frame, f"{id}.{index}", saved, value)[:2])
    return kept


def listed(counts: Counter[str]) -> str:
    """`mul 4, add 4, sin 4`, as far as a line has room."""
    text = ""
    for name, count in counts.most_common():
        more = f"{text}, {name} {count:,}" if text else f"{name} {count:,}"
        if columns(more) > TEXT_COLUMNS - 3:
            return f"{text}, …"
        text = more
    return text


def closed_box(frame: Frame, summary: GroupSummary, came: EdgeBundle, went: EdgeBundle, view: Graph) -> Box:
    """Return a closed group: its contents and what they save; a module of one operation names its parameters.

    If the view is about gradients, it shows leaves with theirs instead, and not the saved memory.
    """
    group, told = summary.group, view.of_leaves(frame, summary.leaves)
    gone = f"{summary.gone:,} freed" if 0 < summary.gone < summary.held else ""
    saves = [] if view.shows_gradients else summary.saves()
    if group.single and 0 < len(summary.parameters) <= _ROWS:
        told = [line for line in told if not line.startswith("grad norm")]  # a row has it
        lines = [summary.shapes(frame), *rows_of(frame, summary.parameters), *saves, *told, gone]
    elif view.shows_gradients and summary.leaves:
        lines = [", ".join([*summary.holds(frame), *told[:1]]), *told[1:], gone]
    else:
        used = [name for id, name in summary.referred.items() if id not in summary.given and "." not in name]
        held = summary.facts(frame)
        longest = [f"{each.removesuffix(FREED)}{FREED}" for each in saves]
        if not _fit([*held, *longest]):
            saves, longest = [], []
        if gone and _fit([*held, *longest, gone]):
            held, gone = [held[0], gone, *held[1:]], ""
        lines = [summary.shapes(frame), _using(", ".join([*held, *saves]), used), *told, gone]
    if summary.gone and summary.gone == summary.held:
        lines.append("freed: no references left")
    gradients = [
        f"{way} {view.mark(each.task)}{norms_of(frame, each)[0] or f'{each.total.moved:,} gradients'}"
        for way, each in (("in", came), ("out", went))
        if each.total.moved
    ]
    if not (came.total.finite and went.total.finite):
        lines.append(f"gradient NOT FINITE {', '.join(gradients)}")
    details = [Detail("Error", "text", summary.error)] if summary.error else []
    details += summary.inside(frame)
    details += [Detail("Shapes", "text", shapes)] if (shapes := summary.shapes(frame)) else []
    details += [Detail("Parameters", "text", row) for row in rows_of(frame, summary.parameters[:_ROWS])]
    details += [Detail("Gradient", "text", ", ".join(gradients))] if gradients else []
    details += [Detail("Saved for backward", "text", line) for line in summary.saves(several=True)]
    facts = [", ".join([*([] if group.single else summary.facts(frame)), *summary.gradient(frame)])]
    brief = [summary.gives(frame), *facts, *told[1:]]
    brief += [line for line in lines if line.startswith("gradient NOT FINITE")]
    return Box(
        group.id,
        "group",
        group.title,
        tuple(filter(None, lines)),
        summary.state,
        details=tuple(details),
        brief=None if view.shows_gradients else tuple(brief),
        family=_family(group.title),
        skips=summary.skips,
    )


def _family(title: str) -> Family:
    """Return the family of a module by its class, or of the function that the code of a title calls."""
    name, kind, _ = title_parts(title)
    called = _CALLED.match(name)
    return family_of(kind.split(" ")[0] or (called[1] if called else ""))


def _fit(parts: Iterable[str]) -> bool:
    """Return True if a line of a closed group has room for these."""
    return columns(", ".join(parts)) <= GROUP_COLUMNS


def _shapes(shapes: Iterable[tuple[int, ...]]) -> str:
    """`(3, 4), (3,)`, as far as half a line has room."""
    first, *others = map(str, shapes or [""])
    if others and columns(", ".join([first, *others])) > TEXT_COLUMNS // 2 - 2:
        return f"{first}, …"
    return ", ".join([first, *others])


def _using(inside: str, names: Sequence[str]) -> str:
    """`5 operations, uses Wx, Wh, b`, as far as a line has room."""
    text = inside
    for n, name in enumerate(names):
        longer = f"{text}, {name}" if n else f"{text}, uses {name}"
        if columns(longer) > GROUP_COLUMNS - (3 if name is not names[-1] else 0):
            return f"{text}, …" if n else text
        text = longer
    return text


def name_in(frame: Frame, id: str) -> str:
    """Return the name of a node or an operation, if it is there already."""
    if id in frame.operations:
        return frame.operations[id].made.name
    return frame.nodes[id].made.name if id in frame.nodes else id


def counted(count: int, what: str) -> str:
    """`3 leaves`."""
    several = "leaves" if what == "leaf" else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"
