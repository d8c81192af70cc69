"""Where a stepper stands, in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.node import AccumulateGrad, Node
from ..autograd.scopes import scope_of
from .moments import Branch, Step, at_output, counted, differences, name_of, value_of

if TYPE_CHECKING:
    from .standing import Standing

FEW = 5  # items named on one line, and differences told


def told(s: Standing) -> str:
    """What ran, what is ready, what waits, and which gradients are there."""
    ran, whole = ran_of(s), len(s._to_run())
    lines = [f"Stepper on {s.branch.name}: {len(ran)} of {counted(whole, 'node')} run"]
    if ran:
        lines.append(f"ran:     {_few([called(s, step.node) for step in ran], last=True)}")
    if s.error is not None:
        lines.append(f"failed:  {s.steps[-1].name} raised {type(s.error).__name__}: {s.error}")
    elif s.ready:
        lines.append(f"ready:   {_few([called(s, node) for node in s.ready])}")
    else:
        lines.append("ready:   nothing, the backward is over")
    partly = dict.fromkeys([w.node for w in s.pending if w.missing])
    if partly:
        missing = {w.node: w.missing for w in s.pending}
        lines.append(f"waiting: {_few([f'{called(s, node)} for {missing[node]} more' for node in partly])}")
    edits = [(place, step.replaced[place], new) for step in s.steps for place, new in step.edits.items()]
    edits += [(place, old, new) for place, (old, new) in s._edits.items()]
    if edits:
        places = [f"{called(s, node)}[{nr}] = {value_of(new)}, was {value_of(old)}" for (node, nr), old, new in edits]
        lines.append(f"edited:  {_few(places, last=True)}")
    lines += _gradients(s)
    if s.reason is not None:
        lines.append(f"stopped: {s.reason}")
    others = [branch for branch in s.branches if branch is not s.branch]
    if others:
        lines.append(f"beside:  {_few([f'{b.name} of {len(b.steps)}' for b in others])}")
    lines += [f"differs: {sentence}" for sentence in differing(s)]
    return "\n".join(lines + [f"warning: {sentence}" for sentence in s.warnings])


def ran_of(s: Standing) -> list[Step]:
    """The steps whose node ran: all but one that failed."""
    return [step for step in s.steps if step.error is None]


def differing(s: Standing) -> list[str]:
    """What came out otherwise so far than on the first branch, or, of the first, than on the last: few sentences."""
    others = [branch for branch in s.branches if branch is not s.branch]
    if not others:
        return []
    other = others[-1 if s.branch is s.branches[0] else 0]
    found = differences(Branch(s.branch.name, steps=s.steps), other)
    few = found if len(found) <= FEW + 1 else found[:FEW]
    sentences = []
    for each in few:
        place = leaf_called(s, each.node) if each.leaf is not None else name_of(each.node)
        place = at_output(place, each.node, each.input_nr)
        sentences.append(f"{place} receives {value_of(each.first)} here, {value_of(each.second)} on {other.name}")
    return sentences if few is found else [*sentences, f"and {len(found) - FEW} more"]


def _gradients(s: Standing) -> list[str]:
    """One line for each gradient that is there, and one for those that are not."""
    if s._inputs is None:
        rows: list[tuple[str, Any]] = [(leaf_called(s, node), node.variable.grad) for node in s._leaves()]
    else:
        names = [name or f"input {i}" for i, name in enumerate(s._input_names)]
        rows = list(zip(names, s._task.captured, strict=True))
    lines = [f"grad:    {name}: {value_of(g)}" for name, g in rows if g is not None]
    without = [name for name, g in rows if g is None]
    return lines + ([f"no grad: {_few(without)}"] if without else [])


def _few(words: list[str], last: bool = False) -> str:
    """The first (or last) few of several words."""
    if len(words) <= FEW:
        return ", ".join(words)
    return f"{len(words) - FEW} more, then {', '.join(words[-FEW:])}" if last else f"{', '.join(words[:FEW])}, …"


def called(s: Standing, node: Node) -> str:
    """A node in words: its name, the leaf it accumulates into, the scope it was made in."""
    if type(node) is AccumulateGrad:
        return f"AccumulateGrad of {leaf_called(s, node)}"
    scope = scope_of(node)
    return name_of(node) + (f" in {scope}" if scope else "")


def leaf_called(s: Standing, node: AccumulateGrad) -> str:
    """A leaf by its variable's name."""
    return s._leaf_names.get(node) or f"a leaf of shape {tuple(node.variable._array.shape)}"
