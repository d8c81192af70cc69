"""Hooks in a box: a badge for each kind, and in the details where each is defined and what it did."""

from __future__ import annotations

from ..scene.metric import TEXT_COLUMNS, cut
from ..scene.model import Detail
from ..trace.facts import Hook, Saved, is_slot
from ..trace.frame import Frame, Place

SIGN = "↪"  # before the name of a hook
AGAIN = "not saved: a checkpoint will recompute it from its arguments"
_BADGES = {
    "tensor": "hook",
    "retained": "retains its grad",
    "before": "pre-hook",
    "after": "post-hook",
    "accumulated": "post-accumulate hook",
}


def badges(frame: Frame, id: str) -> list[str]:
    """Return a line for each kind of hook at a node or leaf, and for each output that has hooks."""
    place = frame.place(id)
    several = len({hook.output_nr for hook in place.hooks if hook.kind in ("tensor", "retained")}) > 1
    several |= len(getattr(place, "outputs", ())) > 1
    lines: dict[str, list[str]] = {}
    for hook in place.hooks:
        on = f" on {_output(frame, id, hook)}" if several and hook.kind == "tensor" else ""
        if hook.kind == "retained":
            whose = f"{_output(frame, id, hook)} " if several else ""
            lines.setdefault(whose + _BADGES[hook.kind], [])
        else:
            lines.setdefault(_BADGES.get(hook.kind, hook.kind) + on, []).append(hook.name)
    texts = [f"{SIGN} {head}: {', '.join(names)}" if names else f"{SIGN} {head}" for head, names in lines.items()]
    return [cut(text, TEXT_COLUMNS) for text in texts]


def _output(frame: Frame, id: str, hook: Hook) -> str:
    return frame.output(id, hook.output_nr).replace("`", "")


def hook_details(place: Place) -> list[Detail]:
    """Return each hook with the line it is defined in, and what hooks did in this backward pass."""
    return [
        *[Detail("Hook", "text", _defined(hook)) for hook in place.hooks],
        *[Detail("What a hook did", "text", f"{text}.") for text in place.hooked],
    ]


def _defined(hook: Hook) -> str:
    line = hook.source
    if line is None:
        return hook.title
    return f"{hook.title}, {line.file}, line {line.line}: {line.text}".removesuffix(": ")


def packed_line(saved: Saved) -> list[str]:
    """Return a line on a saved thing, if a hook replaced it."""
    return [] if saved.packed is None or is_slot(saved) else [f"{SIGN} packed by {saved.packed.hook}"]


def packed_details(frame: Frame, saved: Saved) -> list[Detail]:
    """Return which hook packed it, where it is defined, and what it made of what."""
    packed = saved.packed
    if packed is None:
        return []
    if is_slot(saved):
        return [Detail("Checkpoint", "text", f"{AGAIN[:1].upper()}{AGAIN[1:]}.")]
    line = packed.source
    at = "" if line is None else f", {line.file}, line {line.line}: {line.text}".removesuffix(": ")
    of = "" if packed.tensor is None else f" instead of {frame.called(packed.tensor)}"
    return [Detail("Hook", "text", f"pack hook {packed.hook}{at}; it saves a {packed.kept}{of}.")]
