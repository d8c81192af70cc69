"""The command `workbench`: open the lessons in JupyterLab, run notebooks into pages, hand them out; trace a script."""

from __future__ import annotations

import argparse
import codecs
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import workbench
from workbench.errors import check_installed

from .errors import GRAMMAR, NO_COUNT, NO_SCRIPT_NAMED, PORT_KIND, CommandError

# What `workbench release` writes.
KINDS = {
    "student": "copies to work in: exercises to fill in, no solutions, no outputs",
    "solutions": "solved copies",
    "nbgrader": "a course folder for nbgrader: an assignment for each notebook, with points and hidden tests",
    "otter": "master notebooks for otter assign, with points and hidden tests",
}

_PAGES = ("nbformat", "nbclient", "nbconvert", "ipykernel", "tqdm")
# What a command needs of what the extra "lab" brings; the others do without.
NEEDED: dict[str, tuple[str, ...]] = {
    "lab": ("jupyterlab", "nbformat", "ipykernel"),
    "lite": ("jupyter_server", "jupyterlite_core", "jupyterlite_pyodide_kernel", "nbformat", "packaging"),
    **dict.fromkeys(("run", "book", "present", "release", "grade", "progress"), _PAGES),
}


def _unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is printed for characters that the output's encoding lacks: a name's own bytes, anything else escaped."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.backslashreplace_errors(error)


def print_any_character() -> None:
    """From now on no character, of a file's name or of a message, keeps this process from printing it."""
    codecs.register_error("workbench", _unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="workbench")


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one sentence, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(GRAMMAR.format(message, self.prog), exit_code=2)


def port_number(text: str) -> int:
    """The port that `text` names."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(PORT_KIND.format(text))
    return int(text)


def steps_from(least: int) -> Callable[[str], int]:
    """What reads a number of steps that is no less than this."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(NO_COUNT.format(text, least))
        return int(text)

    return read


def view_name(text: str) -> str:
    """The view that `text` names, of those that draw one trace."""
    from workbench.views import VIEWS

    names = sorted(name for name, view in VIEWS.items() if not view.compares)
    if text not in names:
        raise argparse.ArgumentTypeError(f"there is no view {text!r}: give one of {', '.join(names)}")
    return text


def add_trace(commands: Any) -> None:
    """The grammar of `trace`, `show` and `health`.

    Options of `trace` stand before the script, as those of Python do: what follows its name is the script's own, which
    may have a `--steps` or an `-o` too.
    """
    trace = commands.add_parser(
        "trace",
        usage="workbench trace [--until-finding] [--steps N] [--from-step N] [-o FILE] [--view NAME] "
        "SCRIPT | -m MODULE [ARGUMENT ...]",
        help="run a script as Python does, and write a page of its first training steps",
        description="Runs a script of PyTorch's or the workbench's unchanged, and writes a page of its first training "
        "steps. A step is an optimiser's step, or a backward where there is no optimiser. Options stand before the "
        "script; what stands after its name is the script's own.",
    )
    shown = commands.add_parser("show", help="write the picture of a trace that was saved as .json")
    shown.add_argument("source", type=Path, metavar="FILE.json")
    health = commands.add_parser("health", help="say what is wrong with a training, and write a page of its health")
    health.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a saved trace (.json), or what watch wrote (.jsonl), also several of these, one of each process",
    )
    trace.add_argument(
        "--until-finding",
        action="store_true",
        help="record on until something is found to be wrong, and keep the last N steps: that one and those before it",
    )
    trace.add_argument("--steps", type=steps_from(1), default=3, metavar="N", help="record N steps (3)")
    trace.add_argument("--from-step", type=steps_from(0), default=0, metavar="N", help="let N steps pass before (0)")
    for each in (trace, shown, health):
        each.add_argument(
            "-o",
            dest="output",
            type=Path,
            metavar="FILE",
            help="where to write: .html plays, .json is the trace, .svg, .png and others are pictures "
            "(the source's name and the view's, as train.html or train.health.html, in the current folder)",
        )
    for each in (trace, shown):
        each.add_argument("--view", type=view_name, metavar="NAME", help='as in trace.show("saved") (graph)')
    trace.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does")
    trace.add_argument("script", nargs=argparse.REMAINDER, help="the script, and what it is given")


def parser() -> Parser:
    """The grammar of the command line."""
    top = Parser(prog="workbench", description="See automatic differentiation, step by step.")
    top.add_argument("--version", action="version", version=f"workbench {workbench.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    lab = commands.add_parser("lab", help="open your copies of the lessons in JupyterLab (also without a command)")
    opened = lab.add_mutually_exclusive_group()
    opened.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="where your copies lie; missing ones are added, what you changed stays "
        "(workbench-lessons/ in a clone, else in the current folder)",
    )
    opened.add_argument(
        "--authors", action="store_true", help="open the notebooks/ of a clone, to write the lessons themselves"
    )
    lab.add_argument("--no-browser", dest="browser", action="store_false", help="only print the address")
    lab.add_argument("--port", type=port_number, metavar="N", help="listen on this port (8888 or the next)")

    run = commands.add_parser("run", help="execute notebooks and write them as self-contained pages")
    run.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    run.add_argument(
        "--html",
        required=True,
        type=Path,
        metavar="OUT",
        help="a folder for the pages, or for one notebook a file ending in .html",
    )

    release = commands.add_parser("release", help="write the copies of lessons that a teacher hands out")
    release.add_argument("source", type=Path, metavar="NOTEBOOK|FOLDER")
    kinds = release.add_mutually_exclusive_group(required=True)
    for kind, what in KINDS.items():
        kinds.add_argument(f"--{kind}", type=Path, metavar="DIR", help=what)

    graded = commands.add_parser("grade", help="run notebooks that were handed in, and say how many points each has")
    graded.add_argument("handed_in", type=Path, metavar="FOLDER", help="where they lie, in folders or not, or one file")
    graded.add_argument(
        "--lessons", type=Path, metavar="FOLDER", help="your own lessons with their exercises (the workbench's)"
    )
    graded.add_argument("-o", dest="output", type=Path, metavar="FILE.csv", help="also write what each answer is given")

    seen = commands.add_parser(
        "progress", help="run notebooks that were handed in, and write a page of what the class can do and gets wrong"
    )
    seen.add_argument("handed_in", type=Path, metavar="FOLDER", help="where they lie: a folder or a file for a student")
    seen.add_argument(
        "--lessons", type=Path, metavar="FOLDER", help="your own lessons with their exercises (the workbench's)"
    )
    seen.add_argument(
        "-o", dest="output", type=Path, metavar="FILE.html", help="where to write (FOLDER-progress.html, here)"
    )

    present = commands.add_parser("present", help="write a notebook as slides for a projector: NAME-slides.html, here")
    present.add_argument("notebook", type=Path, metavar="NOTEBOOK")
    present.add_argument("--handout", type=Path, metavar="FILE", help="also write it for paper: FILE.html or FILE.pdf")

    book = commands.add_parser("book", help="execute all lessons into a folder of linked pages, for a browser alone")
    book.add_argument("folder", type=Path, metavar="DIR")

    lite = commands.add_parser("lite", help="write a static site in whose pages the lessons run, with no server")
    lite.add_argument("folder", type=Path, metavar="DIR", help="a new folder, for any web server")
    lite.add_argument("--lessons", type=Path, metavar="FOLDER", help="notebooks of your own in place of the lessons")
    lite.add_argument(
        "--pyodide",
        type=Path,
        metavar="FOLDER",
        help="Python for the browser, as Pyodide releases it: then no page asks another server for anything",
    )
    lite.add_argument(
        "--graphviz", type=Path, metavar="FILE.tgz", help="Graphviz for the browser, where npm cannot fetch it"
    )
    add_trace(commands)
    return top


def check_parts(command: str) -> None:
    """Refuse, before any work, a command whose parts are not installed."""
    try:
        extra = "lite" if command == "lite" else "lab"
        check_installed(f"workbench {command}", *NEEDED.get(command, ()), extra=extra)
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from None


def trace(words: Sequence[str]) -> int:
    """Trace the script of a command line; what the script raises is raised, and its streams are as it finds them."""
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
    """Do what a command line asks; each command loads its own part, as Jupyter takes most of a second to import."""
    if asked.command == "run":
        from workbench.cli.pages import run

        run(asked.notebooks, asked.html)
    elif asked.command == "book":
        from workbench.cli.pages import book

        book(asked.folder)
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
    """Carry out one command line and return its exit code; what goes wrong is one sentence on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("--authors", "--no-browser", "--port") or words[0].startswith("--port="):
        words.insert(0, "lab")
    if words[0] == "trace":
        return trace(words)
    print_any_character()
    try:
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
