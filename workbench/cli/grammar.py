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

from .answers import FAIL_ON, FOUND
from .errors import GRAMMAR, NO_COMMAND, NO_COUNT, NO_SECONDS, NO_TOLERANCE, NO_VIEW, PORT_KIND, CommandError


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


_LONGEST_TIMEOUT = 86_400  # seconds

# What `workbench release` writes.
KINDS = {
    "student": "write student copies to DIR: exercises to fill in, without solutions or outputs",
    "solutions": "write solved copies to DIR: every exercise with its solution",
    "nbgrader": "write an nbgrader course to DIR: one assignment per notebook, with points and hidden tests",
    "otter": "write notebooks for `otter assign` to DIR: exercises with points and hidden tests",
}

# The views that draw a single trace; importing `workbench.pictures.views` for each command line would take too long.
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
    "quiz": Help(
        "write questions about a saved recording",
        "Write multiple-choice questions about a saved recording: which node runs next, what a gradient is, what is "
        "freed, why a .grad is None. The answers come from the recording, the wrong ones from common misconceptions.",
        {
            "workbench quiz run.json -o quiz.ipynb": "write a notebook with exercises, and its exercise file",
            "workbench quiz run.json -o quiz.html": "write a page for the projector; quiz.gift is for Moodle",
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
            "workbench health --fail-on certain run.json": "end with status 3 if a finding is certain",
        },
    ),
    "mcp": Help(
        "answer an assistant's questions about recordings (Model Context Protocol)",
        "Serve the tools of this command line to an assistant, with the Model Context Protocol over standard input and "
        "output. Start it in the folder of your project: the tools only take files below this folder. Warning: two of "
        "them run your code, record_script and audit_function.",
        {"workbench mcp": "serve the current folder; an assistant's program starts this command itself"},
    ),
    "diff": Help(
        "compare two saved recordings: what differs first",
        "Compare two saved recordings (.json): print the first operation and the first gradient that differ, with "
        "both values and lines. What follows from them is only counted. The exit status is 0 if the recordings are the "
        "same, 1 if they differ, and 2 if they can't be compared.",
        {
            "workbench diff main.json branch.json": "print what differs first",
            "workbench diff main.json branch.json -o diff.html": "also write a page with both graphs",
            "workbench diff a.json b.json --rtol 0 --atol 0": "compare bit by bit",
        },
    ),
    "audit": Help(
        "check a custom autograd Function, or all that a script uses",
        "Check a custom autograd.Function of PyTorch or workbench: its derivatives, and how it copes with other memory "
        "layouts, a second backward pass, checkpoints and more. Given a script, run it, and check every Function of "
        "its own that it applies, with copies of the inputs it had. The exit code is 0 if no check fails, 1 if one "
        "fails, and 2 if the audit can't be run; questions and notes don't change it. Warning: this executes the file.",
        {
            "workbench audit ops.py:Square": "audit a Function with a small matrix for each tensor",
            "workbench audit ops.py:Scale --input 'float64[5]' --input factor=3.0": "describe the inputs, in order",
            "workbench audit train.py --epochs 1": "run a script, and audit the Functions that it applies",
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


def seconds(text: str) -> float:
    """Return the number of seconds that `text` names: at least 1."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _LONGEST_TIMEOUT:
        raise argparse.ArgumentTypeError(NO_SECONDS.format(text, _LONGEST_TIMEOUT))
    return float(text)


def count_from(least: int, what: str = "steps") -> Callable[[str], int]:
    """Return a function that reads a number of steps, or of something else, and refuses one below `least`."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(NO_COUNT.format(text, what, least))
        return int(text)

    return read


def tolerance(text: str) -> float:
    """Return the tolerance that `text` names."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(NO_TOLERANCE.format(text))
    return number


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


def is_name_in_file(text: str) -> bool:
    """Return True for FILE:NAME or MODULE:NAME."""
    place, _, name = text.rpartition(":")
    return bool(place) and name.replace(".", "_").isidentifier() and not Path(text).exists()


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
    _add_audit(made["audit"])
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
    asked = made["quiz"]
    asked.add_argument("source", type=Path, metavar="FILE.json", help="the saved recording")
    asked.add_argument(
        "-o",
        dest="output",
        type=Path,
        required=True,
        metavar="OUT",
        help="file to write (required): .ipynb (a notebook), .html (a page for the projector) or .gift (for Moodle)",
    )
    asked.add_argument(
        "--questions",
        type=count_from(1, "questions"),
        default=10,
        metavar="N",
        help="at most N questions (default: 10)",
    )
    asked.add_argument(
        "--seed", type=count_from(0, "seeds"), default=0, metavar="N", help="choose other questions (default: 0)"
    )
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
        made[name].add_argument(
            "--timeout",
            type=seconds,
            default=30.0,
            metavar="SECONDS",
            help="stop a cell that runs longer than this (default: 30)",
        )
        made[name].add_argument("-o", dest="output", type=Path, metavar=output, help=written)


def _add_recordings(made: dict[str, Parser]) -> None:
    """Add the arguments of `trace`, `show`, `health` and `diff`.

    Options of `trace` come before the script, like Python's own: a script may have a `--steps` or an `-o` too.
    """
    trace, shown, health = made["trace"], made["show"], made["health"]
    trace.usage = (
        "workbench trace [--until-finding] [--steps N] [--from-step N] [-o OUT] [--view NAME]\n"
        "                       [--json] [--sarif FILE] [--fail-on WHAT] SCRIPT | -m MODULE [ARGUMENT ...]"
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
        "--steps", type=count_from(1), default=3, metavar="N", help="number of steps to record (default: 3)"
    )
    trace.add_argument(
        "--from-step",
        type=count_from(0),
        default=0,
        metavar="N",
        help="skip the first N steps, then start recording (default: 0)",
    )
    for each, page, name in (
        (trace, "interactive page), .json (the recording", "SCRIPT.html"),
        (shown, "interactive page), .json (the recording with its picture, for the web", "FILE.html"),
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
    _add_answers(trace, health, shown)
    _add_diff(made["diff"])
    trace.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module, as `python -m` does"
    )
    trace.add_argument(
        "script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="the script, followed by its own arguments"
    )


def add_json(command: Parser) -> None:
    """Add `--json`; the command prints with `Answering.put`."""
    command.add_argument(
        "--json", action="store_true", help="print the answer as one JSON object, and all else on standard error"
    )


def _add_answers(trace: Parser, health: Parser, shown: Parser) -> None:
    """Add the options for programs: JSON, SARIF and exit statuses."""
    for each in (trace, health, shown):
        add_json(each)
    for each in (trace, health):
        each.add_argument(
            "--sarif",
            type=Path,
            metavar="FILE",
            help="also write the findings as SARIF, which code hosts show on the lines of a pull request",
        )
        each.add_argument(
            "--fail-on",
            choices=tuple(FAIL_ON),
            default="never",
            metavar="WHAT",
            help=f"exit with status {FOUND} if there are findings that count: "
            f"{', '.join(f'{word} ({what})' for word, what in FAIL_ON.items())} (default: never)",
        )


def _add_diff(diff: Parser) -> None:
    """Add the arguments of `diff`."""
    for name, which in (("first", "the one to compare with"), ("second", "the other one")):
        diff.add_argument(name, type=Path, metavar=f"{name.upper()}.json", help=f"a saved recording: {which}")
    for name, default in (
        (
            "--rtol",
            "relative tolerance (default: that of the dtype with the lower precision, such as 1e-5 for float32)",
        ),
        ("--atol", "absolute tolerance (default: the relative one times the largest value of both arrays)"),
    ):
        diff.add_argument(name, type=tolerance, metavar="X", help=default)
    add_json(diff)
    diff.add_argument(
        "-o",
        dest="output",
        type=Path,
        metavar="OUT",
        help="also write this file; its suffix sets the format: .html (page with both graphs), .json (the data), .svg, "
        ".png, .pdf, .dot or .mmd",
    )


def _add_audit(audit: Parser) -> None:
    """Add the arguments of `audit`. Like those of `trace`, its options come before a script; or after FILE:NAME."""
    audit.usage = (
        "workbench audit [--input INPUT]... [--check NAME]... [--json] FILE:NAME\n"
        "       workbench audit [--check NAME]... [--json] SCRIPT [ARGUMENT ...]"
    )
    audit.add_argument(
        "--input",
        dest="inputs",
        action="append",
        default=[],
        metavar="INPUT",
        help="an input, once for each parameter: a dtype with a shape, such as 'float32[3,4]' or 'int64[5]', with "
        "'nograd' or 'positive' after it, or a Python value, such as 3.0; NAME=INPUT names the parameter (default: "
        "'float32[3,4]' for each tensor)",
    )
    audit.add_argument(
        "--check",
        dest="checks",
        action="append",
        default=[],
        metavar="NAME",
        help="run only this check; can be repeated (default: all)",
    )
    add_json(audit)
    audit.add_argument(
        "target",
        nargs=argparse.REMAINDER,
        metavar="FILE:NAME|SCRIPT",
        help="a Function, function or module in a file or module, or a script with its own arguments",
    )
