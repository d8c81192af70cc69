"""Write the commands of `workbench` into the page that has `MARK`, as their parsers describe them."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from typing import Any

MARK = "<!-- commands -->"


def lines() -> Iterator[str]:
    """Yield the page's text: each command with its description, its examples, its usage and its options."""
    from workbench.cli import parser

    commands = next(each for each in parser()._actions if isinstance(each, argparse._SubParsersAction))
    helped = {each.dest: each.help for each in commands._choices_actions}
    for name, command in commands.choices.items():
        yield from [f"## `workbench {name}`", "", sentence(command.description or helped[name] or ""), ""]
        examples = textwrap.dedent((command.epilog or "").partition("\n")[2])
        yield from ["```sh", *examples.strip().splitlines(), "```", ""]
        usage = re.sub(r"\s+", " ", command.format_usage().removeprefix("usage: ")).strip()
        yield from [f"Usage: `{usage}`", ""]
        rows = [(called(each), each.help) for each in command._actions if each.help and each.dest != "help"]
        if rows:
            yield from ["| Argument | What it does |", "|---|---|"]
            yield from [f"| {argument} | {sentence(text)} |" for argument, text in rows]
            yield ""


def called(action: argparse.Action) -> str:
    """Return how an argument is written: `-o FILE`, or `SCRIPT`."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return f"`{value}`"
    takes = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{option}{takes}`" for option in action.option_strings)


def sentence(text: str) -> str:
    """Return a help text with a capital letter, a full stop, and no bar that would end a table's cell."""
    text = text.strip().replace("|", "\\|")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def fill(app: Any, page: str, source: list[str]) -> None:
    """Put the commands into the page that asks for them, as Sphinx reads it."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(lines()))


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
