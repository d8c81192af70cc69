"""The messages that a command is refused or fails with."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"

NO_LOOPBACK = "this machine can't connect to itself at {} ({}). Turn on its loopback network."
GRAMMAR = "{}; see {} --help."
NO_COMMAND = "no command {!r}.{} Commands: {}."
NO_VIEW = "no view {!r}.{} Views: {}"
PORT_KIND = "{!r} isn't a port. Use a number from 1 to 65535"
PORT_TAKEN = "port {} is in use. Choose another one with --port."
PORT_FAILED = "cannot listen on port {}: {}."
NO_NOTEBOOK = "no notebook {}."
NO_NOTEBOOKS = "no notebooks in {}."
NOT_A_NOTEBOOK = "{} isn't a notebook."
NOT_READ = "cannot read {}: {}."
IN_LINE = " ({}, line {})"
NOT_WRITTEN = "cannot write {}: {}."
NOT_WRITTEN_INTO = "cannot write into {}: {}."
NOT_MADE = "cannot create the folder {}: {}."
OVER_ITSELF = "{} would overwrite itself. Choose another folder."
CELL = "{}, code cell {}: {}"
KERNEL_DIED = "the kernel died."
ONE_PAGE = "{} can hold only one notebook, not {}. Use a folder."
SAME_NAME = "two notebooks have the same name. Write them to different folders."
PAGES_IN_FILE = "{} is a file. Use a folder for the pages."
PAGES_REFUSED = "cannot write into {}. Use a folder of your own for the pages."
PAGE_IS_FOLDER = "{} is a folder, so no page can be written there."
LESSONS_IN_FILE = "{} is a file. Use a folder for the lessons."
LESSONS_REFUSED = "cannot write into {}. Use a folder of your own for the lessons."
LESSONS_NOT_WRITTEN = "cannot write the lessons into {}: {}."
LESSONS_THEMSELVES = "{} contains the original lessons, with solutions. To edit them, run workbench lab --authors."
NO_CHECKOUT = "--authors opens notebooks/ of a clone of the project, and this isn't one."
JUPYTER_REFUSED = "Jupyter can't write {} ({}). Set HOME to a folder of your own."
MARKERS = "{}: {}"
UNREGISTERED = "{} checks {}, but {} registers no such exercise, so no answer could be checked."
MOVE_TO_FILE = (
    "A cell of the notebook registers {}, but graders read only the file. Move each `exercise(...)` into {}, with "
    "everything it needs."
)
NOT_SEALED = "{}: {}."
NOT_EARNED = "{}: the solution of {} doesn't get full points. {}"
UNGRADED = "{} of {} notebooks couldn't be graded. See their lines above."
UNCHECKED = "{}: the cell of {} never calls check({!r}, ...), so its answer can't be found."
NO_LESSON = "it has no exercise from the lessons in {}. For other lessons, use --lessons FOLDER."
NO_LESSONS = "no notebook in {} has an exercise file next to it."
HANDOUT_SUFFIX = "{} doesn't end in .html or .pdf."
NO_BROWSER = "no Chromium, Chrome or Edge found to print a PDF. Use FILE.html and print it from any browser."
NOT_PRINTED = "{} couldn't print the PDF: {}"

LITE_FAILED = "JupyterLite couldn't build the site: {}."
NOT_INSTALLED = "the site needs {}, which isn't installed."
NO_RECORD = "the installed {0} doesn't list its files, so it can't be packed. Run: pip install --force-reinstall {0}"
SITE_IN_FILE = "{} is a file. Use a new folder for the site."
SITE_NOT_EMPTY = "{} isn't empty. Use a new folder for the site."
NO_NPM = (
    "Graphviz for the browser is downloaded with npm, which isn't installed. Install npm, or run `npm pack {}` on "
    "another machine and pass its file with --graphviz."
)
NPM_FAILED = "npm couldn't download {} (Graphviz for the browser). Pass its file with --graphviz."
OTHER_GRAPHVIZ = "npm's {} isn't the file that this version of the workbench expects. Pass the file with --graphviz."
NO_PYODIDE = "{} isn't a Pyodide release: it has no readable {}."
NOT_IN_PYODIDE = "{} doesn't contain {} as listed in its pyodide-lock.json: {} is missing or differs."

NO_SCRIPT = "no script {}."
SCRIPT_IS_FOLDER = "{} is a folder. Name the script in it that should run."
NO_SCRIPT_NAMED = "which script should be traced? For example: workbench trace train.py"
OVER_SOURCE = "{} would overwrite itself. Choose another name with -o."
NOT_OURS = "{} already exists and isn't a page of the workbench. Choose another name with -o."
NO_VIEW_IN_DATA = "{} stores the trace, not a view. Leave out --view, or use a name that ends in .html."
NO_QUIZ_FORMAT = "{} isn't a quiz. Give a file that ends in {}."
NO_QUESTIONS = "no questions about {}: it isn't a recording with a backward pass."
NO_SECONDS = "{!r} isn't a number of seconds. Use a whole number from 1 to {}"
NO_COUNT = "{!r} isn't a number of {}. Use a whole number, {} or more"
NO_TRACE = "no file {}."
NOT_OF_WATCH = "{} isn't a .jsonl log of watch(). Use several of these, one per process, or one file of another kind."
NO_LINES = "{} is a log of watch(), which has no lines of code. Leave out --sarif, or use a recording (.json)."
WATCHED_TWICE = "{} is a log of watch(). Compare two recordings (.json) that `trace.save` or `workbench trace` wrote."
NOT_COMPARED = "cannot compare {} and {}: {}. This is a bug: please report it, with both files."
NO_TOLERANCE = "{!r} isn't a tolerance. Use a number, 0 or more, such as 1e-4"
WATCHED = "{0} is a log of watch(). Run: workbench health {0}"

NO_AUDIT_NAMED = "what should be audited? For example: workbench audit ops.py:Square, or workbench audit train.py"
NO_CHECK = "no check {!r}. Checks: {}."
NO_NAME_IN = "{} has no {!r}.{}"
NOT_AUDITABLE = "{} is of type {}. Name a Function, a function of tensors or a module."
NOT_IMPORTED = "{} can't be imported: {}: {}"
AUDIT_TAKES_NO_MORE = "{} is all that is audited, but {!r} follows it. Describe inputs with --input."
INPUT_OF_SCRIPT = "--input needs FILE:NAME. {} is run as a script, and its Functions are audited with their own inputs."
GIVE_INPUT = "Describe one with --input, for example: --input 'float32[3,4]'"
DEFAULT_FAILED = (
    "{} can't be called with float32[3,4] for each tensor. {} Describe its inputs with --input, one for each "
    "parameter, for example: {}"
)
NOTHING_APPLIED = "{} applied no Function of its own to a tensor that requires grad, so there is nothing to audit."
SCRIPT_FAILED = "{} failed. The audits are those of what it applied before."
TOO_LARGE = "{} was called with more than {} elements, so that call isn't audited. Run the script with smaller inputs."


class CommandError(Exception):
    """A command that can't be carried out; its text is the one line that the user reads."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def check_loopback() -> None:
    """Refuse a command that needs a kernel if this machine can't connect to itself: Jupyter would wait forever."""
    try:
        with socket.create_server((LOOPBACK, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        raise CommandError(NO_LOOPBACK.format(LOOPBACK, error.strerror or error)) from None
