"""What can be typed after `workbench`, and how it is refused."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import NoReturn

import workbench

LOOPBACK = "127.0.0.1"
# What `workbench release` writes.
KINDS = {
    "student": "copies to work in: exercises to fill in, no solutions",
    "solutions": "solved copies",
    "nbgrader": "a course folder for nbgrader: an assignment for each notebook, with points and hidden tests",
    "otter": "master notebooks for otter assign, with points and hidden tests",
}


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
        raise CommandError(
            f"this machine cannot reach itself at {LOOPBACK} ({error.strerror or error}): turn its loopback network on."
        ) from None


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one sentence, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see {self.prog} --help.", exit_code=2)


def port_number(text: str) -> int:
    """The port that `text` names."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 1 to 65535")
    return int(text)


def parser() -> Parser:
    """The grammar of the command line."""
    top = Parser(prog="workbench", description="See automatic differentiation, step by step.")
    top.add_argument("--version", action="version", version=f"workbench {workbench.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    lab = commands.add_parser("lab", help="open the lessons in JupyterLab (also when no command is given)")
    lab.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="where the lessons lie, or are copied to (a checkout's notebooks/, else ./workbench-lessons)",
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
