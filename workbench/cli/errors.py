"""What a command is refused with, or fails with."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"

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
MOVE_TO_FILE = (
    "A cell of the notebook registers {}, but graders trust the file alone: move each `exercise(...)` into {}, with "
    "what it needs."
)
NOT_SEALED = "{}: {}."
NOT_EARNED = "{}: its own solution of {} does not get all points. {}"
UNGRADED = "{} of {} notebooks could not be graded: what is said of each stands above."
UNCHECKED = "{}: the cell of {} has no check({!r}, ...), so what answers it is not known."
NO_LESSON = "it has no exercise of a lesson in {}: --lessons names another folder of lessons."
NO_LESSONS = "there is no notebook in {} with a file of exercises beside it."
HANDOUT_SUFFIX = "{} does not end in .html or .pdf."
NO_BROWSER = "no Chromium, Chrome or Edge is found to print a PDF: give FILE.html, and print it from any browser."
NOT_PRINTED = "{} could not print the PDF: {}"

LITE_FAILED = "JupyterLite could not build the site: {}."
NOT_INSTALLED = "{} is not installed, and the site needs it."
NO_RECORD = "{0} does not tell its files, so no wheel of it can be made: pip install --force-reinstall {0} mends that."
SITE_IN_FILE = "{} is a file: give a folder for the site."
SITE_NOT_EMPTY = "{} is not empty: give a new folder for the site."
NO_NPM = (
    "Graphviz for the browser comes from npm, which is not installed: install it, or give with --graphviz the file "
    "that `npm pack {}` writes elsewhere."
)
NPM_FAILED = "npm could not fetch {}, which is Graphviz for the browser: give its file with --graphviz."
OTHER_GRAPHVIZ = "npm gave another {} than this version of the workbench knows: give the file with --graphviz."
NO_PYODIDE = "{} is no folder of Pyodide: there is no {} in it that can be read."
NOT_IN_PYODIDE = "{} does not hold {} as its pyodide-lock.json says: {} is missing or another."

NO_SCRIPT = "there is no script {}."
SCRIPT_IS_FOLDER = "{} is a folder: give the script in it that is to run."
NO_SCRIPT_NAMED = "say which script to trace, as in workbench trace train.py"
OVER_SOURCE = "{} would be written over itself: give another name with -o."
NOT_OURS = "{} is there already and is no page of the workbench: give another name with -o."
NO_VIEW_IN_DATA = "{} holds the trace itself, so leave --view out, or give a name that ends in .html."
NO_COUNT = "{!r} is not a number of steps: give a whole number from {} up"
NO_TRACE = "there is no file {}."
NOT_OF_WATCH = "{} is no .jsonl file of watch: give one other file, or several of these, one of each process."
WATCHED = "{} is what watch wrote: workbench health shows it."


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
