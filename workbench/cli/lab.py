"""Open the lessons in JupyterLab: on this machine only, behind a token, with this environment's kernel."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import tomllib
from pathlib import Path
from urllib.parse import quote

import nbformat

import workbench
from workbench import cli
from workbench.classroom.handout import student
from workbench.cli import LOOPBACK, CommandError, check_loopback

PACKAGE = Path(workbench.__file__).parent
SHIPPED = PACKAGE / "lessons"
COPIED_TO = "workbench-lessons"


def checkout() -> Path | None:
    """The checkout this package runs from, or that the current folder is, if any."""
    return next((place for place in (PACKAGE.parent, Path.cwd()) if _is_checkout(place)), None)


def _is_checkout(place: Path) -> bool:
    if not (place / "notebooks").is_dir():
        return False
    try:
        project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return project.get("project", {}).get("name") == "autograd-workbench"


def prepare(folder: Path | None) -> Path:
    """The folder to work in: a checkout's own notebooks, else `folder` with the missing lessons copied in."""
    home = checkout()
    if home is not None and (folder is None or folder.resolve() == (home / "notebooks").resolve()):
        return home / "notebooks"
    place = Path(COPIED_TO) if folder is None else folder
    try:
        copied = _copy(SHIPPED if home is None else home / "notebooks", place)
    except FileExistsError:
        raise CommandError(cli.LESSONS_IN_FILE.format(place)) from None
    except OSError as error:
        raise CommandError(cli.LESSONS_NOT_WRITTEN.format(place, error.strerror)) from None
    if not os.access(place, os.W_OK):
        raise CommandError(cli.LESSONS_REFUSED.format(place))
    if copied:
        print(f"Copied {copied} lesson{'s' * (copied > 1)} into {place}.")
    return place


def _copy(source: Path, target: Path) -> int:
    """Copy the lessons that `target` does not have yet, without their solutions, and say how many."""
    target.mkdir(parents=True, exist_ok=True)
    copied = 0
    for lesson in sorted(source.glob("*.ipynb")):
        given = student(nbformat.reads(lesson.read_text(encoding="utf-8"), as_version=4))
        text = f"{nbformat.writes(given)}\n".encode()
        try:
            # "x" creates the file or fails: a reader's own work is never opened for writing.
            file = open(target / lesson.name, "xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(text)
        except BaseException:
            # Half a lesson would be kept for ever, as if it were the reader's.
            Path(file.name).unlink()
            raise
        copied += 1
    return copied


def first_lesson(folder: Path) -> str | None:
    """The name of the first notebook in `folder`, in order of name."""
    return min((notebook.name for notebook in folder.glob("*.ipynb")), default=None)


# Holds labconfig/default_setting_overrides.json: defaults only, the reader's own settings still win.
SETTINGS = Path(__file__).parent / "jupyter"


def lab(folder: Path | None, browser: bool, port: int | None) -> None:
    """Serve JupyterLab on the first lesson until it is stopped."""
    check_loopback()
    if port is not None:
        _check_free(port)
    place = prepare(folder).resolve()
    opened = first_lesson(place)
    address = f"/lab/tree/{quote(opened)}" if opened else "/lab"
    # A "python3" kernel that the reader keeps in the home folder must not stand before this environment's.
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
    try:
        server = LabApp.initialize_server([f"--{name}={value}" for name, value in options.items()])
    except OSError as error:
        raise CommandError(
            cli.JUPYTER_REFUSED.format(error.filename or "its settings", error.strerror or error)
        ) from None
    said = f"""The lessons in {place} are open at
    {server.local_url.partition("?")[0]}?token={token}
Press Ctrl-C to stop."""
    # The server binds its port by a callback too: by the time ours runs, the address answers.
    server.io_loop.add_callback(print, said, flush=True)
    # Jupyter's own Ctrl-C asks back in a terminal, and elsewhere leaves the kernels running.
    signal.signal(signal.SIGINT, lambda number, frame: server.stop(from_signal=True))
    server.start()
    print("Stopped.")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        if os.name == "posix":
            # As the server itself does: a port whose last connections linger is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise CommandError(cli.PORT_TAKEN.format(port)) from None
            raise CommandError(cli.PORT_FAILED.format(port, error.strerror)) from None
