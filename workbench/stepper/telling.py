"""Where a stepper stands, in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.node import AccumulateGrad, Node
from ..trace.values import Value, said
from .moments import counted, name_of, numbers_of

if TYPE_CHECKING:
    from .standing import Standing

FEW = 5  # items named on one line


def told(s: Standing) -> str:
    """What ran, what is ready, what waits, and which gradients are there."""
    whole = len(s._to_run())
    lines = [f"Stepper on {s.branch.name}: {s.position} of {counted(whole, 'node')} run"]
    if s.position:
        lines.append(f"ran:     {_few([_called(s, step.node) for step in s.steps], last=True)}")
    if s.error is not None:
        lines.append(f"failed:  {s.steps[-1].name} raised {type(s.error).__name__}: {s.error}")
    elif s.ready:
        lines.append(f"ready:   {_few([_called(s, node) for node in s.ready])}")
    else:
        lines.append("ready:   nothing, the backward is over")
    partly = dict.fromkeys([w.node for w in s.pending if w.missing])
    if partly:
        missing = {w.node: w.missing for w in s.pending}
        lines.append(f"waiting: {_few([f'{_called(s, node)} for {missing[node]} more' for node in partly])}")
    if s._edits:
        places = [f"{_called(s, node)}[{nr}] = {_value(new)}" for (node, nr), (_, new) in s._edits.items()]
        lines.append(f"edited:  {_few(places)}")
    lines += _gradients(s)
    if s.reason is not None:
        lines.append(f"stopped: {s.reason}")
    others = [branch for branch in s.branches if branch is not s.branch]
    if others:
        lines.append(f"beside:  {_few([f'{b.name} of {len(b.steps)}' for b in others])}")
    return "\n".join(lines + [f"warning: {sentence}" for sentence in s.warnings])


def _gradients(s: Standing) -> list[str]:
    """One line for each gradient that is there, and one for those that are not."""
    if s._inputs is None:
        rows: list[tuple[str, Any]] = [(_leaf(s, node), node.variable.grad) for node in s._leaves()]
    else:
        names = [name or f"input {i}" for i, name in enumerate(s._input_names)]
        rows = list(zip(names, s._task.captured, strict=True))
    lines = [f"grad:    {name}: {_value(g)}" for name, g in rows if g is not None]
    without = [name for name, g in rows if g is None]
    return lines + ([f"no grad: {_few(without)}"] if without else [])


def _value(gradient: Any) -> str:
    return said(Value.of(numbers_of(gradient)))


def _few(words: list[str], last: bool = False) -> str:
    """The first (or last) few of several words."""
    if len(words) <= FEW:
        return ", ".join(words)
    return f"{len(words) - FEW} more, then {', '.join(words[-FEW:])}" if last else f"{', '.join(words[:FEW])}, …"


def _called(s: Standing, node: Node) -> str:
    """A node in words: its name, the leaf it accumulates into, the scope it was made in."""
    if type(node) is AccumulateGrad:
        return f"AccumulateGrad of {_leaf(s, node)}"
    scope = node.extra.scope if node.extra is not None else None
    return name_of(node) + (f" in {scope}" if scope else "")


def _leaf(s: Standing, node: AccumulateGrad) -> str:
    return s._leaf_names.get(node) or f"a leaf of shape {tuple(node.variable._array.shape)}"
