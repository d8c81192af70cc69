"""Where a checkpointed function did something else when it ran again: by the error's words, and by the records."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .backward_records import BackwardStarted, Failed
from .facts import SourceLine
from .forward_records import NodeCreated
from .schema import Record

_SAVED = re.compile(r"during forward: (\d+)\nNumber of tensors saved during recomputation: (\d+)")
_SHAPES = re.compile(r"saved metadata: (.*)\nrecomputed metadata: (.*)")
_SHAPE = re.compile(r"torch\.Size\(\[([\d, ]*)\]\)")
_DTYPE = re.compile(r"torch\.([a-z]+\d+)")


def difference(events: Sequence[Record], failed: Failed) -> str:
    """Return what the second run did and the first hadn't done, as a part of a sentence."""
    return _recorded(events, failed) or _by_words(failed.message)


def _by_words(message: str) -> str:
    if counts := _SAVED.search(message):
        then, now = int(counts[1]), int(counts[2])
        return f"{now} tensor{'s' * (now != 1)} {'was' if now == 1 else 'were'} saved, but forward had saved {then}"
    if shapes := _SHAPES.search(message):
        then, now = (_described(each) for each in shapes.groups())
        if then != now:
            return f"it saved a tensor {now}, but forward had saved one {then}"
    return "it saved other tensors" if shapes else "it saved more tensors"


def _described(metadata: str) -> str:
    shape, dtype = _SHAPE.search(metadata), _DTYPE.search(metadata)
    return f"of shape ({shape[1] if shape else '?'}) and dtype {dtype[1] if dtype else '?'}"


def _recorded(events: Sequence[Record], failed: Failed) -> str:
    """Return the first node of the second run that differs from the first run's, in kind or shape."""
    begun = [at for at, each in enumerate(events) if isinstance(each, BackwardStarted) and each.task == failed.task]
    if not begun:
        return ""
    first = [each for each in events[: begun[-1]] if isinstance(each, NodeCreated)]
    again = [each for each in events[begun[-1] :] if isinstance(each, NodeCreated)]
    if not again:
        return ""
    starts = [at for at, each in enumerate(first) if (each.name, each.source) == (again[0].name, again[0].source)]
    found: list[tuple[int, str]] = []
    for start in starts:
        for at, (then, now) in enumerate(zip(first[start:], again, strict=False)):
            if (told := _differs(then, now)) is not None:
                found.append((at, told))
                break
        else:
            return ""  # as far as the second run came it was the first
    return max(found, default=(0, ""))[1]


def _differs(then: NodeCreated, now: NodeCreated) -> str | None:
    where, before = _place(now.source), _place(then.source)
    if then.name != now.name:
        return f"{now.name}{where} ran, but in forward it was {then.name}{before}"
    shapes = [[tuple(each.value.shape) for each in node.tensors if each.node == node.node] for node in (then, now)]
    if all(shapes) and shapes[0] != shapes[1]:
        return f"{now.name}{where} gave {shapes[1][0]}, but in forward it gave {shapes[0][0]}"
    return None


def _place(at: SourceLine | None) -> str:
    return "" if at is None else f" ({at.file}, line {at.line})"
