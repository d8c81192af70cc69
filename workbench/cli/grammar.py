"""The grammar of the command line: its commands, what each takes, and the help that `--help` prints."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import workbench
from workbench.errors import did_you_mean

from .errors import GRAMMAR, NO_COMMAND, NO_COUNT, NO_VIEW, PORT_KIND, CommandError


@dataclass(frozen=True)
class Help:
    """What `--help` prints about a command: a line in the list, a description, and examples with their meaning."""

    line: str
    description: str
    examples: dict[str, str]

    @property
    def epilog(self) -> str:
        """The examples, each below a line that explains it."""
        return "\n".join(["examples:", *(f"  # {what}\n  {typed}" for typed, what in self.examples.items())])


# What `workbench release` writes.
KINDS = {
    "student": "copies to work in: exercises to fill in, without solutions or outputs",
    "solutions": "copies with the solutions filled in",
    "nbgrader": "an nbgrader course folder: one assignment per notebook, with points and hidden tests",
    "otter": "master notebooks for `otter assign`, with points and hidden tests",
}

HELP = {
    "lab": Help(
        "open your copies of the lessons in JupyterLab (default command)",
        "Open your own copies of the lessons in JupyterLab. Missing lessons are added and new versions replace lessons "
        "you haven't changed; your changes are always kept.",
        {
            "workbench": "open the lessons (the same as workbench lab)",
            "workbench lab my-course --no-browser": "keep the copies in my-course/ and only print the address",
        },
    ),
    "run": Help(
        "run notebooks and save each as a self-contained HTML page",
        "Run notebooks from top to bottom and save each as an HTML page that needs no server and no network. The first "
        "cell that fails stops the command; the notebooks themselves aren't changed.",
        {
            "workbench run lesson.ipynb --html lesson.html": "one notebook, one page",
            "workbench run week-1.ipynb week-2.ipynb --html pages": "several notebooks, a page for each in pages/",
        },
    ),
    "release": Help(
        "create student, solution, nbgrader or Otter versions of a lesson",
        "Create the versions of a lesson that you give to students or to a grading system. The exercise file goes "
        "along without its solutions, except in the solution version.",
        {
            "workbench release cube.ipynb --student handout": "a version to work in, in handout/",
            "workbench release lessons --nbgrader course": "all notebooks of lessons/ as nbgrader assignments",
        },
    ),
    "grade": Help(
        "run submitted notebooks and report their points",
        "Run submitted notebooks and print a line for each: its points, and the exercises that aren't right.",
        {
            "workbench grade submissions": "grade every notebook in submissions/ and its subfolders",
            "workbench grade submissions --lessons my-lessons -o points.csv": "use your own lessons and write a CSV",
        },
    ),
    "progress": Help(
        "run submitted notebooks and write a class report",
        "Run submitted notebooks and write a class report: each student's results, and the most common misconceptions.",
        {
            "workbench progress submissions": "write submissions-progress.html",
            "workbench progress submissions -o monday.html": "choose the name of the report",
        },
    ),
    "present": Help(
        "turn a notebook into slides (NAME-slides.html in the current folder)",
        "Run a notebook and write it as slides for a projector, NAME-slides.html in the current folder. A slide starts "
        "at each heading.",
        {
            "workbench present lesson.ipynb": "write lesson-slides.html",
            "workbench present lesson.ipynb --handout lesson.pdf": "write a paper version as well",
        },
    ),
    "book": Help(
        "build a static site of all lessons, with outputs",
        "Run all lessons and build a static site from them: linked pages with every output, playing pictures and a "
        "search.",
        {"workbench book site": "build the site in site/; open site/index.html"},
    ),
    "lite": Help(
        "build a static site where lessons run in the browser (JupyterLite)",
        "Build a static site where the lessons run in the reader's browser, with JupyterLite. It needs a web server "
        "for static files, and nothing else.",
        {
            "workbench lite site": "build the site in the new folder site/",
            "workbench lite site --lessons my-lessons": "use your own notebooks",
        },
    ),
    "trace": Help(
        "run a script and record its first training steps",
        "Run a PyTorch or workbench script unchanged and record its first training steps as a page. A step is an "
        "optimizer step, or a backward pass if there is no optimizer. Options go before the script; whatever follows "
        "its name is passed to the script.",
        {
            "workbench trace train.py": "record three steps in train.html",
            "workbench trace --steps 5 -o run.json train.py --epochs 2": "five steps as data; --epochs is the script's",
            "workbench trace --until-finding -m project.train": "run a module until a problem is found",
        },
    ),
    "show": Help(
        "render a saved trace (.json)",
        "Render a trace that trace.save() or `workbench trace -o FILE.json` has saved.",
        {
            "workbench show run.json": "write the player run.html",
            "workbench show run.json --view memory -o memory.svg": "another view, as a picture",
        },
    ),
    "health": Help(
        "diagnose a training run and write a health report",
        "Diagnose a training run: print its findings and write a health report. The source is a saved trace (.json) or "
        "a log that watch() has written (.jsonl).",
        {
            "workbench health run.json": "print the findings and write run.health.html",
            "workbench health run.rank*.jsonl": "one report of a distributed run, from the log of each rank",
        },
    ),
}


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(GRAMMAR.format(message, self.prog), exit_code=2)


def port_number(text: str) -> int:
    """Return the port that `text` names."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(PORT_KIND.format(text))
    return int(text)


def steps_from(least: int) -> Callable[[str], int]:
    """Return a function that reads a number of steps and refuses one below `least`."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(NO_COUNT.format(text, least))
        return int(text)

    return read


def view_name(text: str) -> str:
    """Return `text` if it names a view that draws a single trace."""
    from workbench.views import VIEWS

    names = sorted(name for name, view in VIEWS.items() if not view.compares)
    if text not in names:
        raise argparse.ArgumentTypeError(NO_VIEW.format(text, did_you_mean(text, names), ", ".join(names)))
    return text


def check_command(word: str) -> None:
    """Refuse a word that isn't a command, with the nearest one that is."""
    if not word.startswith("-") and word not in HELP:
        near = f" Did you mean 'workbench trace {word}'?" if word.endswith(".py") else did_you_mean(word, HELP)
        raise CommandError(NO_COMMAND.format(word, near, ", ".join(HELP)), exit_code=2)


def parser() -> Parser:
    """Build the parser of the whole command line."""
    top = Parser(
        prog="workbench",
        description="See automatic differentiation, step by step: take the lessons, record and diagnose your own "
        "training script, teach a class.",
        epilog="Without a command, workbench opens the lessons. `workbench COMMAND --help` explains a command, with "
        "examples.",
    )
    top.add_argument("--version", action="version", version=f"workbench {workbench.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    made = {name: _added(commands, name) for name in HELP}
    _add_lessons(made)
    _add_classes(made)
    _add_recordings(made)
    return top


def _added(commands: Any, name: str) -> Parser:
    about = HELP[name]
    return commands.add_parser(
        name,
        help=about.line,
        description=textwrap.fill(about.description, 78),
        epilog=about.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_lessons(made: dict[str, Parser]) -> None:
    """Add the arguments of the commands that open lessons and make pages and sites of them."""
    opened = made["lab"].add_mutually_exclusive_group()
    opened.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="folder of your copies (default: workbench-lessons/, in a clone of the project or the current folder)",
    )
    opened.add_argument(
        "--authors", action="store_true", help="open notebooks/ of a clone, to write the lessons themselves"
    )
    made["lab"].add_argument("--no-browser", dest="browser", action="store_false", help="only print the address")
    made["lab"].add_argument(
        "--port", type=port_number, metavar="N", help="port to listen on (default: 8888, or the next free one)"
    )
    made["run"].add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK", help="notebook to run (.ipynb)")
    made["run"].add_argument(
        "--html",
        required=True,
        type=Path,
        metavar="OUT",
        help="folder for the pages; for a single notebook, a file name ending in .html works too",
    )
    made["present"].add_argument("notebook", type=Path, metavar="NOTEBOOK", help="notebook to present (.ipynb)")
    made["present"].add_argument(
        "--handout", type=Path, metavar="FILE", help="also write a version for paper: FILE.html or FILE.pdf"
    )
    made["book"].add_argument("folder", type=Path, metavar="DIR", help="folder for the site")
    lite = made["lite"]
    lite.add_argument("folder", type=Path, metavar="DIR", help="new folder for the site")
    lite.add_argument("--lessons", type=Path, metavar="FOLDER", help="your own notebooks, instead of the lessons")
    lite.add_argument(
        "--pyodide",
        type=Path,
        metavar="FOLDER",
        help="an unpacked Pyodide release (Python for the browser); the site then needs no other server",
    )
    lite.add_argument(
        "--graphviz", type=Path, metavar="FILE.tgz", help="Graphviz for the browser, if npm can't download it"
    )


def _add_classes(made: dict[str, Parser]) -> None:
    """Add the arguments of the commands for a teacher: releasing lessons, grading, the class report."""
    made["release"].add_argument(
        "source", type=Path, metavar="NOTEBOOK|FOLDER", help="the lesson, or a folder of lessons"
    )
    kinds = made["release"].add_mutually_exclusive_group(required=True)
    for kind, what in KINDS.items():
        kinds.add_argument(f"--{kind}", type=Path, metavar="DIR", help=f"write to DIR {what}")
    for name, output, written in (
        ("grade", "FILE.csv", "also write a CSV with the result of each answer"),
        ("progress", "FILE.html", "output file (default: FOLDER-progress.html in the current folder)"),
    ):
        made[name].add_argument(
            "handed_in",
            type=Path,
            metavar="FOLDER",
            help="submissions: a folder (nested or flat) or one notebook",
        )
        made[name].add_argument(
            "--lessons", type=Path, metavar="FOLDER", help="folder with your lessons (default: the built-in course)"
        )
        made[name].add_argument("-o", dest="output", type=Path, metavar=output, help=written)


def _add_recordings(made: dict[str, Parser]) -> None:
    """Add the arguments of `trace`, `show` and `health`.

    Options of `trace` come before the script, like Python's own: a script may have a `--steps` or an `-o` too.
    """
    trace, shown, health = made["trace"], made["show"], made["health"]
    trace.usage = (
        "workbench trace [--until-finding] [--steps N] [--from-step N] [-o FILE] [--view NAME]\n"
        "                       SCRIPT | -m MODULE [ARGUMENT ...]"
    )
    shown.add_argument("source", type=Path, metavar="FILE.json", help="saved trace")
    health.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="saved trace (.json), or log of watch() (.jsonl); for a distributed run, the log of each process",
    )
    trace.add_argument(
        "--until-finding", action="store_true", help="record until a problem is found; keep the last N steps"
    )
    trace.add_argument(
        "--steps", type=steps_from(1), default=3, metavar="N", help="number of steps to record (default: 3)"
    )
    trace.add_argument(
        "--from-step", type=steps_from(0), default=0, metavar="N", help="skip the first N steps (default: 0)"
    )
    for each, name in ((trace, "SCRIPT.html"), (shown, "FILE.html"), (health, "FILE.health.html")):
        each.add_argument(
            "-o",
            dest="output",
            type=Path,
            metavar="FILE",
            help="output file; the suffix sets the format: .html (player), .json (trace), .svg, .png and others "
            f"(default: {name} in the current folder)",
        )
    for each in (trace, shown):
        each.add_argument(
            "--view", type=view_name, metavar="NAME", help="view to render: graph, flow, saved, ... (default: graph)"
        )
    trace.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does")
    trace.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="the script and its arguments")
