"""What a diff calls the places of a run: an operation, a leaf, a line, a value."""

from __future__ import annotations

from collections.abc import Sequence

from ...pictures.trace.facts import SourceLine
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.values import Value, number, series
from .run import RecordedRun

_TEXT = 60  # characters of a line of the program


def called(run: RecordedRun, id: str) -> str:
    """Return what an operation or a tensor is called: `layer_norm` in net.body.1, or `w`."""
    if id in run.names:
        made = run.made(id)
        name = made.operation if isinstance(made, NodeCreated) else made.name
        where = _module(made) if isinstance(made, NodeCreated) else ""
        return f"`{name}`{where}"
    told = run.frame.describe(id)
    return told if told.startswith(("`", "the ", "a ", "an ")) else f"`{told}`"


def _module(made: NodeCreated) -> str:
    """Return the module that an operation belongs to, as ` in net.body.1`."""
    names: list[str] = []
    for part in made.path:
        if part.kind == "scope":
            names.append(part.variable or part.title.partition(" › ")[0])
    names = names or (made.scope or "").split("/")
    return f" in {'.'.join(names)}" if any(names) else ""


def line(source: SourceLine | None) -> str:
    """Return a line as `train.py:12`; empty if it is unknown."""
    return "" if source is None else f"{source.file}:{source.line}"


def at_line(source: SourceLine | None) -> str:
    """Return a line with its text: ` at train.py:12 "h = h.relu()"`; empty if it is unknown."""
    if source is None:
        return ""
    text = source.text.strip()
    text = text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
    return f" at {line(source)}" + (f" `{text}`" if text else "")


def summed(value: Value | None) -> str:
    """Return a value as one line of figures."""
    if value is None:
        return "no gradient"
    kind = f"{value.shape} {value.dtype}"
    if not value.is_known:
        return f"{kind}, values unknown"
    if value.shape == () and value.numbers is not None:
        first = value.numbers[0]
        return f"{kind}, {number(first if value.is_complex else float(first.real), digits=6)}"
    figures = [("norm", value.norm), ("mean", value.mean), ("max", value.max)]
    told = [f"{name} {number(float(each), digits=6)}" for name, each in figures if each is not None]
    return ", ".join([kind, *told, *[value.trouble] * bool(value.trouble)])


def figures(value: Value | None) -> dict[str, object] | None:
    """Return the same as data; what isn't finite is text, as JSON has no number for it."""
    if value is None:
        return None
    rows = {name: getattr(value, name) for name in ("norm", "mean", "min", "max")}
    told = {name: each if each is None or abs(each) < float("inf") else str(each) for name, each in rows.items()}
    return {"shape": list(value.shape), "dtype": value.dtype, **told, "nonfinite": value.nonfinite}


def listed(words: Sequence[str], most: int = 4) -> str:
    """Return `a, b and c`; of many, the first and the number of the others."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} and {len(words) - most + 1:,} more"
    return series(words)
