"""The command `workbench`: lessons in JupyterLab, pages of notebooks, grades of a class, traces of scripts, audits."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import sys
from collections.abc import Sequence

from workbench.errors import check_installed

from .errors import NO_AUDIT_NAMED, NO_SCRIPT_NAMED, CommandError
from .grammar import KINDS, check_command, is_name_in_file, parser

_PAGES = ("nbformat", "nbclient", "nbconvert", "ipykernel", "tqdm")
# The packages that a command needs from its extra; commands that aren't listed need none.
NEEDED: dict[str, tuple[str, ...]] = {
    "lab": ("jupyterlab", "nbformat", "ipykernel"),
    "lite": ("jupyter_server", "jupyterlite_core", "jupyterlite_pyodide_kernel", "nbformat", "packaging"),
    "mcp": ("mcp",),
    **dict.fromkeys(("run", "present", "release", "grade", "progress", "quiz"), _PAGES),
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
        extra = command if command in ("lite", "mcp") else "lab"
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
        from workbench.cli.answers import Answering, TraceAnswer

        program = tracing.Script(given, is_module=bool(asked.module))
        output = tracing.Output(asked.output, program.path, asked.view)
        answer = TraceAnswer(Answering.of(asked, [program.path]), program.name, program.path)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    recorded = (asked.from_step, asked.steps, asked.until_finding)
    return answer.after(lambda: tracing.trace(program, output, *recorded, answer))


def audit(words: Sequence[str]) -> int:
    """Audit what a command line names, and return the exit code: 0 if all is right, 1 if not, 2 if it can't be run."""
    asked = parser().parse_args(words)
    if asked.target and is_name_in_file(asked.target[0]) and len(asked.target) > 1:  # its options may come after it
        rest = asked.target[1:]
        again = parser().parse_args(["audit", *rest])
        if not again.target:
            again.target = asked.target[:1]
            again.inputs, again.checks = asked.inputs + again.inputs, asked.checks + again.checks
            again.json = asked.json or again.json
            asked = again
    if not asked.target:
        raise CommandError(NO_AUDIT_NAMED, exit_code=2)
    from workbench.cli.auditing import audit_command

    return audit_command(asked.target, asked.inputs, asked.checks, asked.json)


def carry_out(asked: argparse.Namespace) -> int:
    """Carry out a parsed command line and return its exit status.

    Each command imports its own part, because importing Jupyter takes time.
    """
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

        grade(asked.handed_in, asked.lessons, asked.output, asked.timeout)
    elif asked.command == "progress":
        from workbench.cli.class_page import progress

        progress(asked.handed_in, asked.lessons, asked.output, asked.timeout)
    elif asked.command == "quiz":
        from workbench.cli.quiz import quiz

        quiz(asked.source, asked.output, asked.questions, asked.seed)
    elif asked.command == "release":
        from workbench.cli.teacher import release

        release(asked.source, *next((kind, out) for kind, out in vars(asked).items() if kind in KINDS and out))
    elif asked.command == "show":
        from workbench.cli.answers import Answering
        from workbench.cli.tracing import show

        show(asked.source, asked.output, asked.view, Answering.of(asked))
    elif asked.command == "health":
        from workbench.cli.answers import Answering
        from workbench.cli.tracing import health

        return health(asked.sources, asked.output, Answering.of(asked, asked.sources))
    elif asked.command == "mcp":
        from workbench.cli.mcp_server import serve

        serve()
    elif asked.command == "diff":
        from workbench.cli.diffing import compare

        return compare((asked.first, asked.second), asked.output, asked.rtol, asked.atol, asked.json)
    else:
        from workbench.cli.lab import lab

        lab(asked.folder, asked.authors, browser=asked.browser, port=asked.port)
    return 0


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
        if words[0] == "audit":
            return audit(words)
        asked = parser().parse_args(words)
        check_parts(asked.command)
        return carry_out(asked)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("workbench: stopped by Ctrl-C.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # its reader has read enough, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit doesn't raise
        return 141
