"""The command `workbench`: open the lessons in JupyterLab, run notebooks into pages, hand them out."""

from __future__ import annotations

import argparse
import codecs
import io
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import workbench

LOOPBACK = "127.0.0.1"
# What `workbench release` writes.
KINDS = {
    "student": "copies to work in: exercises to fill in, no solutions, no outputs",
    "solutions": "solved copies",
    "nbgrader": "a course folder for nbgrader: an assignment for each notebook, with points and hidden tests",
    "otter": "master notebooks for otter assign, with points and hidden tests",
}

# What a command is refused with, or fails with.
NO_LOOPBACK = "this machine cannot reach itself at {} ({}): turn its loopback network on."
GRAMMAR = "{}; see {} --help."
PORT_KIND = "{!r} is not a port: give a number from 1 to 65535"
PORT_TAKEN = "port {} is taken: give another one with --port."
PORT_FAILED = "cannot listen on port {}: {}."
NO_NOTEBOOK = "there is no notebook {}."
NO_NOTEBOOKS = "there is no notebook in {}."
NOT_A_NOTEBOOK = "{} is not a notebook."
NOT_READ = "cannot read {}: {}."
NOT_WRITTEN = "cannot write {}: {}."
NOT_WRITTEN_INTO = "cannot write into {}: {}."
NOT_MADE = "cannot make the folder {}: {}."
OVER_ITSELF = "{} would be written over itself: give another folder."
CELL = "{}, code cell {}: {}"
KERNEL_DIED = "the kernel died."
ONE_PAGE = "{} can hold one notebook, not {}: give a folder."
SAME_NAME = "two of the notebooks have the same name: give each its own folder of pages."
PAGES_IN_FILE = "{} is a file: give a folder for the pages."
PAGES_REFUSED = "cannot write into {}: give a folder of your own for the pages."
PAGE_IS_FOLDER = "{} is a folder: a page cannot be written there."
LESSONS_IN_FILE = "{} is a file: give a folder for the lessons."
LESSONS_REFUSED = "cannot write into {}: choose a folder of your own for the lessons."
LESSONS_NOT_WRITTEN = "cannot write the lessons into {}: {}."
LESSONS_THEMSELVES = "{} holds the lessons themselves, solved: to change them there, type workbench lab --authors."
NO_CHECKOUT = "--authors opens the notebooks/ of a clone, and there is none here."
JUPYTER_REFUSED = "Jupyter cannot write {} ({}): set HOME to a folder of your own."
MARKERS = "{}: {}"
UNREGISTERED = "{} checks {}, which {} does not register: nobody could check an answer."
HANDOUT_SUFFIX = "{} does not end in .html or .pdf."
NO_BROWSER = "no Chromium, Chrome or Edge is found to print a PDF: give FILE.html, and print it from any browser."
NOT_PRINTED = "{} could not print the PDF: {}"


class CommandError(Exception):
    """A command that cannot be carried out; its text is the one sentence the user reads."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def check_loopback() -> None:
    """Refuse what needs a kernel where this machine cannot reach itself: Jupyter would wait for ever."""
    try:
        with socket.create_server((LOOPBACK, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        raise CommandError(NO_LOOPBACK.format(LOOPBACK, error.strerror or error)) from None


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

    present = commands.add_parser("present", help="write a notebook as slides for a projector: NAME-slides.html, here")
    present.add_argument("notebook", type=Path, metavar="NOTEBOOK")
    present.add_argument("--handout", type=Path, metavar="FILE", help="also write it for paper: FILE.html or FILE.pdf")

    book = commands.add_parser("book", help="execute all lessons into a folder of linked pages, for a browser alone")
    book.add_argument("folder", type=Path, metavar="DIR")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line and return its exit code; what goes wrong is one sentence on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("--authors", "--no-browser", "--port") or words[0].startswith("--port="):
        words.insert(0, "lab")
    print_any_character()
    try:
        asked = parser().parse_args(words)
        # Jupyter takes most of a second to import, so each command loads its own part.
        if asked.command == "run":
            from workbench.cli.pages import run

            run(asked.notebooks, asked.html)
        elif asked.command == "book":
            from workbench.cli.pages import book

            book(asked.folder)
        elif asked.command == "present":
            from workbench.cli.teacher import present

            present(asked.notebook, asked.handout)
        elif asked.command == "release":
            from workbench.cli.teacher import release

            release(asked.source, *next((kind, out) for kind, out in vars(asked).items() if kind in KINDS and out))
        else:
            from workbench.cli.lab import lab

            lab(asked.folder, asked.authors, browser=asked.browser, port=asked.port)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("workbench: stopped by Ctrl-C.", file=sys.stderr)
        return 130
    return 0
