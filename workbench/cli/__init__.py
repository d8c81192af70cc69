"""The command `workbench`: open the lessons in JupyterLab, turn notebooks into pages, grade a class, trace a script."""

from __future__ import annotations

import argparse
import codecs
import io
import sys
from collections.abc import Sequence

from workbench.errors import check_installed

from .errors import NO_SCRIPT_NAMED, CommandError
from .grammar import KINDS, check_command, parser

_PAGES = ("nbformat", "nbclient", "nbconvert", "ipykernel", "tqdm")
# The packages that a command needs from its extra; commands that aren't listed need none.
NEEDED: dict[str, tuple[str, ...]] = {
    "lab": ("jupyterlab", "nbformat", "ipykernel"),
    "lite": ("jupyter_server", "jupyterlite_core", "jupyterlite_pyodide_kernel", "nbformat", "packaging"),
    **dict.fromkeys(("run", "present", "release", "grade", "progress"), _PAGES),
}


def _unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace a character that the output's encoding lacks: with its bytes in a file name, else with an escape."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.backslashreplace_errors(error)


def print_any_character() -> None:
    """Let this process print any character of a file name or a message, whatever the output's encoding."""
    codecs.register_error("workbench", _unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="workbench")


def check_parts(command: str) -> None:
    """Refuse a command whose packages aren't installed, before any work is done."""
    try:
        extra = "lite" if command == "lite" else "lab"
        check_installed(f"workbench {command}", *NEEDED.get(command, ()), extra=extra)
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from None


def trace(words: Sequence[str]) -> int:
    """Trace the script of a command line and return the exit code; errors of the script pass through unchanged."""
    try:
        asked = parser().parse_args(words)
        given = asked.module or asked.script
        if not given:
            raise CommandError(NO_SCRIPT_NAMED, exit_code=2)
        from workbench.cli import tracing

        program = tracing.Script(given, is_module=bool(asked.module))
        output = tracing.Output(asked.output, program.path, asked.view)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    return tracing.trace(program, output, asked.from_step, asked.steps, asked.until_finding)


def carry_out(asked: argparse.Namespace) -> None:
    """Carry out a parsed command line; each command imports its own part, because importing Jupyter takes time."""
    if asked.command == "run":
        from workbench.cli.pages import run

        run(asked.notebooks, asked.html)
    elif asked.command == "lite":
        from workbench.cli.lite import lite

        lite(asked.folder, asked.lessons, asked.pyodide, asked.graphviz)
    elif asked.command == "present":
        from workbench.cli.teacher import present

        present(asked.notebook, asked.handout)
    elif asked.command == "grade":
        from workbench.cli.grading import grade

        grade(asked.handed_in, asked.lessons, asked.output)
    elif asked.command == "progress":
        from workbench.cli.class_page import progress

        progress(asked.handed_in, asked.lessons, asked.output)
    elif asked.command == "release":
        from workbench.cli.teacher import release

        release(asked.source, *next((kind, out) for kind, out in vars(asked).items() if kind in KINDS and out))
    elif asked.command == "show":
        from workbench.cli.tracing import show

        show(asked.source, asked.output, asked.view)
    elif asked.command == "health":
        from workbench.cli.tracing import health

        health(asked.sources, asked.output)
    else:
        from workbench.cli.lab import lab

        lab(asked.folder, asked.authors, browser=asked.browser, port=asked.port)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line and return its exit code; an error is printed on stderr in one line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("--authors", "--no-browser", "--port") or words[0].startswith("--port="):
        words.insert(0, "lab")
    if words[0] == "trace":
        return trace(words)
    print_any_character()
    try:
        check_command(words[0])
        asked = parser().parse_args(words)
        check_parts(asked.command)
        carry_out(asked)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("workbench: stopped by Ctrl-C.", file=sys.stderr)
        return 130
    return 0
