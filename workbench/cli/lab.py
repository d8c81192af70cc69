"""Open the lessons in JupyterLab: on this machine only, behind a token, with this environment's kernel."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import signal
import socket
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import workbench
from workbench.classroom.handout import student
from workbench.classroom.registry import SUFFIX
from workbench.classroom.solutions import MARK
from workbench.cli import errors
from workbench.cli.course_page import with_opening, write_course_page, write_trusted
from workbench.cli.errors import LOOPBACK, CommandError, check_loopback
from workbench.cli.notebooks import beside, copied, for_students, read, text_of
from workbench.pictures.scene.picture import write_whole

PACKAGE = Path(workbench.__file__).parent
SHIPPED = PACKAGE / "lessons"
COPIES = "workbench-lessons"  # git ignores it in a checkout
COPIED = "Copied {count} to {place}."
RENEWED = "Updated {count} that you hadn't changed: {names}."
KEPT = "Kept your versions: {names}. To get the new ones too, rename yours; they're added at the next start."


def checkout() -> Path | None:
    """Return the clone that this package runs from, or else the current folder if it is a clone."""
    return next((place for place in (PACKAGE.parent, Path.cwd()) if _is_checkout(place)), None)


def _is_checkout(place: Path) -> bool:
    if not (place / "notebooks").is_dir():
        return False
    try:
        project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return project.get("project", {}).get("name") == "autograd-workbench"


def prepare(folder: Path | None, authors: bool = False) -> Path:
    """Return the folder to open: the reader's copies of the lessons, updated, or the lessons themselves for authors."""
    home = checkout()
    source = SHIPPED if home is None else home / "notebooks"
    if authors:
        if home is None:
            raise CommandError(errors.NO_CHECKOUT)
        return source
    place = folder or _usual_place(home)
    if place.exists() and place.samefile(source):
        raise CommandError(errors.LESSONS_THEMSELVES.format(place))
    try:
        place.mkdir(parents=True, exist_ok=True)
        handed_out = _hand_out(source, place)
    except FileExistsError:
        raise CommandError(errors.LESSONS_IN_FILE.format(place)) from None
    except OSError as error:
        raise CommandError(errors.LESSONS_NOT_WRITTEN.format(place, error.strerror)) from None
    if not os.access(place, os.W_OK):
        raise CommandError(errors.LESSONS_REFUSED.format(place))
    for names, sentence in zip(handed_out, (COPIED, RENEWED, KEPT), strict=True):
        if names:
            count = f"{len(names)} lesson{'s' * (len(names) > 1)}"
            print(sentence.format(count=count, place=place, names=", ".join(names)))
    return place


def _usual_place(home: Path | None) -> Path:
    """Return the usual folder of the copies: in a clone, else in the current folder, which may be that one itself."""
    if home is None and Path.cwd().name == COPIES:
        return Path()
    return Path(COPIES) if home is None else home / COPIES


# A copy stores the fingerprint it had when it was written: while its cells still match, the reader hasn't changed it.


def _hand_out(source: Path, place: Path) -> tuple[list[str], list[str], list[str]]:
    """Write missing lessons, and new versions of lessons that the reader hasn't changed.

    Returns:
        The names of added, updated and kept lessons. A kept one has a new version, but the reader changed the old one.
    """
    added: list[str] = []
    renewed: list[str] = []
    kept = _hand_out_files(source, place)
    for lesson in sorted(source.glob("*.ipynb")):
        given = copied(student, read(lesson), lesson)
        target, released = place / lesson.name, fingerprint(given)
        given.metadata[MARK] = released
        there = os.path.lexists(target)  # even a broken link belongs to the reader
        own = None
        with suppress(CommandError):  # a file that isn't a notebook belongs to the reader
            own = read(target) if there else None
        held = own and fingerprint(own)
        marked = own and own.metadata.get(MARK)
        if there and released in (held, marked):
            continue
        if there and (own is None or held != marked):
            kept.append(lesson.name)
            continue
        try:
            write_trusted(with_opening(given), target)
        except OSError:
            if not there:
                raise
            kept.append(lesson.name)  # protected, or open elsewhere
            continue
        (renewed if there else added).append(lesson.name)
    return added, renewed, kept


def _hand_out_files(source: Path, place: Path) -> list[str]:
    """Write the exercise files, without solutions, and the modules that the lessons import.

    A copy stores a hash of its source, and is written again only when the source has changed.

    Returns:
        The names of files that the reader has changed.
    """
    kept = []
    found = [file for lesson in source.glob("*.ipynb") for file in beside(lesson)]
    for file in sorted({*source.glob(f"*{SUFFIX}"), *found}):
        made_from, target = _sha(text_of(file)), place / file.name
        there = os.path.lexists(target)
        body, held = "", ""
        with suppress(OSError, ValueError):  # a file that can't be read belongs to the reader
            body, _, held = target.read_text(encoding="utf-8").rpartition(f"# {MARK}: ")
        if held.split()[1:] == [made_from]:
            continue
        given = for_students(file, is_tested=True)
        if held == given:
            continue
        if there and held.split()[:1] != [_sha(body)]:
            kept.append(file.name)
            continue
        try:
            write_whole(target, f"{given}# {MARK}: {_sha(given)} {made_from}\n".encode())
        except OSError:
            if not there:
                raise
            kept.append(file.name)
    return kept


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(notebook: Any) -> str:
    """Hash a notebook's text and code, without outputs and empty cells, to detect the reader's changes."""
    cells = [(cell.cell_type, cell.source, cell.get("attachments")) for cell in notebook.cells]
    worked = [cell for cell in cells if cell[1].strip() or cell[2]]
    return _sha(json.dumps(worked, sort_keys=True))


def first_lesson(folder: Path) -> str | None:
    """Return the name of the first notebook in `folder`, in alphabetical order."""
    return min((notebook.name for notebook in folder.glob("*.ipynb")), default=None)


_NOT_LISTED = ("__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~")  # what Jupyter's list of files leaves out


def _exercise_files() -> list[str]:
    """Return the names of the exercise files that readers get; those of other names are their own, and are listed."""
    home = checkout()
    source = SHIPPED if home is None else home / "notebooks"
    return sorted(file.name for file in source.glob(f"*{SUFFIX}"))


def _words(options: dict[str, Any]) -> list[str]:
    """Return options as a command line; one with several values is given several times."""
    pairs = [(name, value if isinstance(value, list) else [value]) for name, value in options.items()]
    return [f"--{name}={value}" for name, values in pairs for value in values]


# Contains labconfig/default_setting_overrides.json: only defaults, so the reader's own settings still win.
SETTINGS = Path(__file__).parent / "jupyter"


def lab(folder: Path | None, authors: bool, browser: bool, port: int | None) -> None:
    """Serve JupyterLab, opened at the course page, until it is stopped; authors get the first lesson."""
    check_loopback()
    if port is not None:
        _check_free(port)
    place = prepare(folder, authors).resolve()
    opened = None if authors else write_course_page(place, MARK, fingerprint)
    opened = opened or first_lesson(place)
    address = f"/lab/tree/{quote(os.fsencode(opened))}" if opened else "/lab"
    # This environment's kernel must win over a "python3" kernel in the reader's home folder.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    found = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(SETTINGS), *([found] if found else [])])

    from jupyterlab.labapp import LabApp

    token = secrets.token_hex(24)
    options = {
        "Application.log_level": "ERROR",
        "IdentityProvider.token": token,
        "LabApp.default_url": address,
        "MappingKernelManager.transport_encryption": "auto",
        "ServerApp.allow_root": _is_root(),
        "ServerApp.ip": LOOPBACK,
        "ServerApp.open_browser": browser,
        "ServerApp.root_dir": place,
    }
    if port is not None:
        options |= {"ServerApp.port": port, "ServerApp.port_retries": 0}
    if not authors:
        options["ContentsManager.hide_globs"] = [*_NOT_LISTED, *_exercise_files()]
    try:
        server = LabApp.initialize_server(_words(options))
    except OSError as error:
        raise CommandError(
            errors.JUPYTER_REFUSED.format(error.filename or "its settings", error.strerror or error)
        ) from None
    said = f"""The lessons in {place} are open at
    {server.local_url.partition("?")[0]}?token={token}
Press Ctrl-C to stop."""
    # The server binds its port in a callback too, so by the time this one runs, the address answers.
    server.io_loop.add_callback(print, said, flush=True)
    # Jupyter's own Ctrl-C handler asks for confirmation in a terminal and leaves kernels running elsewhere.
    signal.signal(signal.SIGINT, lambda number, frame: server.stop(from_signal=True))
    server.start()
    print("Stopped.")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        if os.name == "posix":
            # Like the server, count a port as free if only closed connections linger on it.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise CommandError(errors.PORT_TAKEN.format(port)) from None
            raise CommandError(errors.PORT_FAILED.format(port, error.strerror)) from None
