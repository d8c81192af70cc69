"""Where a stepper stands, in a few lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.node import AccumulateGrad, Node
from ..autograd.scopes import scope_of
from .steps import Branch, Difference, Step, counted, differences, name_of, norm_of, numbers_of, value_of

if TYPE_CHECKING:
    from .stepper import Standing

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
    lines += _differences(s)
    return "\n".join(lines + [f"warning: {sentence}" for sentence in s.warnings])


def ran_of(s: Standing) -> list[Step]:
    """The steps whose node ran: all but one that failed."""
    return [step for step in s.steps if step.error is None]


def beside(s: Standing) -> Branch | None:
    """The branch that the one it is on is compared with, if there is another: the first, or, of the first, the last."""
    if len(s.branches) == 1:
        return None
    return s.branches[-1 if s.branch is s.branches[0] else 0]


def differing(s: Standing, called: Callable[[Node], str]) -> list[Difference]:
    """What came out otherwise so far than on the branch beside, in the order of the steps; `called` names the nodes."""
    other = beside(s)
    return differences(Branch(s.branch.name, steps=s.steps), other, called) if other is not None else []


def against(each: Difference, other: Branch, value: Callable[[Any], str] = value_of) -> str:
    """What a node receives here and on another branch, in words; `value` tells a gradient."""
    here, there = value(each.first), value(each.second)
    told = f"{each.called}: {here} here, {there} on {other.name}"
    if here != there:
        return told
    with np.errstate(invalid="ignore"):  # infinite on both
        return f"{told}, {norm_of(numbers_of(each.first) - numbers_of(each.second)):.2g} apart"


def _differences(s: Standing) -> list[str]:
    """One line for each of the first differences."""
    other = beside(s)
    if other is None:
        return []

    def named(node: Node) -> str:
        return leaf_called(s, node) if type(node) is AccumulateGrad else name_of(node)

    found = differing(s, named)
    few = found if len(found) <= FEW + 1 else found[:FEW]
    told = [f"differs: {'' if i else 'first at '}{against(each, other)}" for i, each in enumerate(few)]
    return told if few is found else [*told, f"differs: and {len(found) - FEW} more"]


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
