"""Programs by which findings, `why()` and pictures are judged: with a planted fault, or as their authors mean them.

To add one, write a function of the engine in the file of its theme, and above it what a finding must say of it:

    @fault("dead units", "5 of 8 units", at="torch.relu(layer(x))")
    def biases_far_below_zero(torch): ...

    @healthy("biases begin at zero on purpose")
    def biases_at_zero(torch): ...

A program returns the function that is recorded; what comes before that is not. `fault(...)(program, 0.1)` is one more
entry, of a program with a parameter. Entries are chosen by tag: each has that of its file, and those it is given.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import absent
import pytest

import workbench

FOLDER = Path(__file__).parent
ENGINES = ("workbench", "torch")
ROOT = {"workbench": "Sequential", "torch": "net"}  # what scopes of the outermost `net = nn.Sequential(...)` begin with
each_engine = pytest.mark.parametrize("engine", ["workbench", pytest.param("torch", marks=pytest.mark.oracle)])
ANY = ("anything",)  # other findings, of whatever rules
QUESTIONS = ("questions",)  # other findings of other rules, none of them certain


@dataclass(frozen=True)
class Entry:
    """A program, and what is to be found in it."""

    name: str
    program: Callable[[Any], Any]
    tags: frozenset[str]
    engines: tuple[str, ...] = ENGINES
    rule: str = ""  # of the first finding; nothing where nothing may be found
    asks: bool = False  # the finding is a question
    facts: tuple[str, ...] = ()  # names and numbers in what is found, and in what `why` answers
    at: str = ""  # in the text of the finding's line
    without: str = ""  # what is not in it
    beside: tuple[str, ...] = ()  # the rules of the other findings, or one of the above
    why: str = ""  # the tensor that `why` is asked about as well
    unless: str = ""  # the one rule that finds nothing in it, or "certain"; without it none may
    looks: str = ""  # what in a healthy program looks like a fault


ENTRIES: list[Entry] = []


def _enter(program: Callable[..., Any], args: Any, options: Any, slow: bool, tags: str, **more: Any) -> None:
    values = [getattr(arg, "__name__", str(arg)) for arg in args] + [f"{key} {value}" for key, value in options.items()]
    name = " ".join([program.__name__, *values])
    own = {program.__module__.rpartition(".")[2], *tags.split(), *["slow"] * slow}

    def run(torch: Any) -> Any:
        return program(torch, *args, **options)

    ENTRIES.append(Entry(name, run if args or options else program, frozenset(own), **more))


def fault(rule: str, *facts: str, slow: bool = False, tags: str = "", **more: Any) -> Callable[..., Any]:
    """Return what enters a program with a fault: a decorator, or a function of the program and its parameters."""

    def enter(program: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
        _enter(program, args, options, slow, tags, rule=rule, facts=facts, **more)
        return program

    return enter


def healthy(looks: str = "", *, slow: bool = False, tags: str = "", **more: Any) -> Callable[..., Any]:
    """Return what enters a program in which nothing may be found."""

    def enter(program: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
        _enter(program, args, options, slow, tags, looks=looks, **more)
        return program

    return enter


def chosen(*tags: str, faulty: bool | None = None) -> list[Any]:
    """Return `pytest.param(engine, entry)` for each entry with one of the tags, and each of its engines."""
    found = [each for each in ENTRIES if each.tags & {*tags} and faulty in (None, bool(each.rule))]
    return [
        pytest.param(
            engine,
            entry,
            id=f"{entry.name} {engine}",
            marks=[pytest.mark.oracle] * (engine == "torch") + [pytest.mark.slow] * ("slow" in entry.tags),
        )
        for engine in ENGINES
        for entry in sorted(found, key=lambda entry: "slow" in entry.tags)
        if engine in entry.engines
    ]


def engine_named(engine: str) -> Any:
    """Return the engine, or skip the test where it is not installed."""
    try:
        return importlib.import_module(engine)
    except ImportError:
        pytest.skip(absent.TORCH)


def recorded(engine: str, program: Callable[[Any], Any], seed: int = 0) -> workbench.Trace:
    """Return the trace of what a program of the engine returns."""
    torch = engine_named(engine)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = program(torch)
        with workbench.record() if engine == "workbench" else workbench.record(torch) as trace:
            run()
    return trace


def files() -> Iterator[Path]:
    """Yield the files that lines of programs are in."""
    yield from FOLDER.glob("*.py")


for path in sorted(files()):
    if path.stem not in ("__init__", "parts"):
        importlib.import_module(f"{__name__}.{path.stem}")
