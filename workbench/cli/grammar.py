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
    "student": "write student copies to DIR: exercises to fill in, without solutions or outputs",
    "solutions": "write solved copies to DIR: every exercise with its solution",
    "nbgrader": "write an nbgrader course to DIR: one assignment per notebook, with points and hidden tests",
    "otter": "write notebooks for `otter assign` to DIR: exercises with points and hidden tests",
}

# The views that draw a single trace; importing `workbench.views` for each command line would take too long.
VIEW_NAMES = {
    "graph": "operations and gradients",
    "flow": "gradient sizes",
    "saved": "what each operation keeps for backward",
    "memory": "how much that takes, over time",
    "versions": "in-place writes",
    "function": "each line of your own Function",
    "error": "where backward failed",
    "health": "norms of each layer, per step",
}

HELP = {
    "lab": Help(
        "open your copies of the lessons in JupyterLab (default command)",
        "Open your own copies of the lessons in JupyterLab. Missing lessons are added. Lessons you haven't edited are "
        "updated to the latest version. A lesson you've edited is never overwritten.",
        {
            "workbench": "open the lessons (the same as workbench lab)",
            "workbench lab my-course --no-browser": "keep the copies in my-course/, and don't open a browser",
        },
    ),
    "run": Help(
        "run notebooks and save each as a self-contained HTML page",
        "Run notebooks from top to bottom and save each as an HTML page that you can open offline. If a cell fails, "
        "the command stops. Your notebooks aren't changed.",
        {
            "workbench run lesson.ipynb --html lesson.html": "save one notebook as one page",
            "workbench run week-1.ipynb week-2.ipynb --html pages": "save one page per notebook, in the folder pages/",
        },
    ),
    "release": Help(
        "prepare a lesson for students, nbgrader or Otter",
        "Make copies of a lesson to hand out to students, or to load into a grading system. The lesson's exercise file "
        "(NAME.exercises.py, next to NAME.ipynb) is copied too. Its solutions are removed, except with --solutions.",
        {
            "workbench release cube.ipynb --student handout": "write the copy for students to handout/",
            "workbench release lessons --nbgrader course": "turn all notebooks in lessons/ into nbgrader assignments",
        },
    ),
    "grade": Help(
        "run submitted notebooks and report their points",
        "Run submitted notebooks and print one line per notebook: its points, and the exercises that are wrong or "
        "missing. Warning: this executes your students' code. Use a sandbox: a container, or an account without access "
        "to your files and network.",
        {
            "workbench grade submissions": "grade every notebook in submissions/ and its subfolders",
            "workbench grade submissions --lessons my-lessons -o points.csv": "use your own lessons, and write a table",
        },
    ),
    "progress": Help(
        "run submitted notebooks and write a class report",
        "Run submitted notebooks and write a class report: each student's results, and the most common misconceptions. "
        "Warning: this executes your students' code. Use a sandbox: a container, or an account without access to your "
        "files and network.",
        {
            "workbench progress submissions": "write submissions-progress.html",
            "workbench progress submissions -o monday.html": "choose the name of the report",
        },
    ),
    "present": Help(
        "turn a notebook into slides",
        "Run a notebook and turn it into slides. NAME.ipynb becomes NAME-slides.html in the current folder, with a new "
        "slide at each heading.",
        {
            "workbench present lesson.ipynb": "write lesson-slides.html",
            "workbench present lesson.ipynb --handout lesson.pdf": "also write a printable handout",
        },
    ),
    "lite": Help(
        "build a static site where lessons run in the browser (JupyterLite)",
        "Build a static site where the lessons run in the reader's browser, with JupyterLite. You can publish the site "
        "on any static web server.",
        {
            "workbench lite site": "build the site in the new folder site/",
            "workbench lite site --lessons my-lessons": "use your own notebooks instead of the lessons",
        },
    ),
    "trace": Help(
        "run a script and record its first training steps",
        "Run a script that uses PyTorch or workbench, record its first training steps, and save them as a web page. "
        "You don't have to change the script. One step is one call of `optimizer.step()`, or one backward pass if "
        "there is no optimizer. Put options before SCRIPT: everything after it goes to your script.",
        {
            "workbench trace train.py": "save three steps as the page train.html",
            "workbench trace --steps 5 -o run.json train.py --epochs 2": (
                "save five steps as JSON; --epochs is passed to train.py"
            ),
            "workbench trace --until-finding -m project.train": "run a module until a problem is found",
        },
    ),
    "show": Help(
        "turn a saved recording (.json) into a page or a picture",
        "Turn a saved recording into a page or a picture. `trace.save` and `workbench trace -o FILE.json` save "
        "recordings.",
        {
            "workbench show run.json": "write run.html, an interactive page",
            "workbench show run.json --view memory -o memory.svg": "draw another view as a still picture",
        },
    ),
    "health": Help(
        "diagnose a training run and write a health report",
        "Diagnose a training run: print its findings and write a health report. FILE is a saved recording (.json) or a "
        "log that workbench.watch() wrote (.jsonl).",
        {
            "workbench health run.json": "print the findings and write run.health.html",
            "workbench health run.rank*.jsonl": "write one report of a distributed run, from the log of each process",
        },
    ),
}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Print descriptions and examples as they are, and the name of what `-m` takes."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        takes = super()._format_args(action, default_metavar)
        return f"{action.metavar} {takes}" if takes == "..." and action.metavar else takes


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
    if text not in VIEW_NAMES:
        raise argparse.ArgumentTypeError(NO_VIEW.format(text, did_you_mean(text, VIEW_NAMES), ", ".join(VIEW_NAMES)))
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
        description="See how PyTorch computes gradients, step by step. Take the lessons, find bugs in your training "
        "script, or teach a class.",
        epilog="Without a command, workbench opens the lessons. For details and examples, run `workbench COMMAND "
        "--help`.",
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
        formatter_class=Formatter,
    )


def _add_lessons(made: dict[str, Parser]) -> None:
    """Add the arguments of the commands that open lessons and make pages and sites of them."""
    opened = made["lab"].add_mutually_exclusive_group()
    opened.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="folder for your copies (default: workbench-lessons/, in your clone of the project if you installed from "
        "one, else in the current folder)",
    )
    opened.add_argument(
        "--authors",
        action="store_true",
        help="for lesson authors: open the originals in notebooks/ of your clone, not copies",
    )
    made["lab"].add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address, but don't open a browser"
    )
    made["lab"].add_argument(
        "--port", type=port_number, metavar="N", help="port to listen on (default: 8888, or the next free one)"
    )
    made["run"].add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK", help="notebook to run (.ipynb)")
    made["run"].add_argument(
        "--html",
        required=True,
        type=Path,
        metavar="OUT",
        help="where to save (required): a folder, or FILE.html for a single notebook",
    )
    made["present"].add_argument("notebook", type=Path, metavar="NOTEBOOK", help="notebook to present (.ipynb)")
    made["present"].add_argument(
        "--handout", type=Path, metavar="FILE", help="also write a printable handout; FILE ends in .html or .pdf"
    )
    lite = made["lite"]
    lite.add_argument("folder", type=Path, metavar="DIR", help="new folder for the site")
    lite.add_argument(
        "--lessons", type=Path, metavar="FOLDER", help="folder with your own lessons (default: the built-in course)"
    )
    lite.add_argument(
        "--pyodide",
        type=Path,
        metavar="FOLDER",
        help="an unpacked Pyodide release (Python for the browser) to include in the site (default: each reader's "
        "browser downloads Pyodide)",
    )
    lite.add_argument(
        "--graphviz",
        type=Path,
        metavar="FILE.tgz",
        help="a copy of the npm package @viz-js/viz (Graphviz for the browser), made with `npm pack` (default: "
        "download it)",
    )


def _add_classes(made: dict[str, Parser]) -> None:
    """Add the arguments of the commands for a teacher: releasing lessons, grading, the class report."""
    made["release"].add_argument(
        "source", type=Path, metavar="NOTEBOOK|FOLDER", help="the lesson, or a folder of lessons"
    )
    kinds = made["release"].add_mutually_exclusive_group(required=True)
    for kind, what in KINDS.items():
        kinds.add_argument(f"--{kind}", type=Path, metavar="DIR", help=what)
    for name, output, written in (
        ("grade", "FILE.csv", "also write a CSV file with the result of each exercise"),
        ("progress", "FILE.html", "name of the report (default: FOLDER-progress.html in the current folder)"),
    ):
        made[name].add_argument(
            "handed_in",
            type=Path,
            metavar="FOLDER",
            help="a submitted notebook, or a folder of them (subfolders are searched too)",
        )
        made[name].add_argument(
            "--lessons", type=Path, metavar="FOLDER", help="folder with your own lessons (default: the built-in course)"
        )
        made[name].add_argument("-o", dest="output", type=Path, metavar=output, help=written)


def _add_recordings(made: dict[str, Parser]) -> None:
    """Add the arguments of `trace`, `show` and `health`.

    Options of `trace` come before the script, like Python's own: a script may have a `--steps` or an `-o` too.
    """
    trace, shown, health = made["trace"], made["show"], made["health"]
    trace.usage = (
        "workbench trace [--until-finding] [--steps N] [--from-step N] [-o OUT] [--view NAME]\n"
        "                       SCRIPT | -m MODULE [ARGUMENT ...]"
    )
    shown.add_argument("source", type=Path, metavar="FILE.json", help="the saved recording")
    health.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a saved recording (.json) or a log of workbench.watch() (.jsonl); for a distributed run, list the "
        "logs of all processes",
    )
    trace.add_argument(
        "--until-finding",
        action="store_true",
        help="record until a problem is found, and keep only the last steps, as many as --steps says",
    )
    trace.add_argument(
        "--steps", type=steps_from(1), default=3, metavar="N", help="number of steps to record (default: 3)"
    )
    trace.add_argument(
        "--from-step",
        type=steps_from(0),
        default=0,
        metavar="N",
        help="skip the first N steps, then start recording (default: 0)",
    )
    for each, page, name in (
        (trace, "interactive page), .json (the recording", "SCRIPT.html"),
        (shown, "interactive page), .json (a copy of the recording", "FILE.html"),
        (health, "interactive report", "FILE.health.html"),
    ):
        each.add_argument(
            "-o",
            dest="output",
            type=Path,
            metavar="OUT",
            help=f"output file; its suffix sets the format: .html ({page}), .svg, .png, .pdf, .gif, .mp4, .dot "
            f"or .mmd (default: {name} in the current folder)",
        )
    for each in (trace, shown):
        each.add_argument(
            "--view",
            type=view_name,
            metavar="NAME",
            help=f"view to draw (default: graph): {', '.join(f'{view} ({what})' for view, what in VIEW_NAMES.items())}",
        )
    trace.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module, as `python -m` does"
    )
    trace.add_argument(
        "script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="the script, followed by its own arguments"
    )
