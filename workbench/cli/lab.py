"""Open the lessons in JupyterLab: on this machine only, behind a token, with this environment's kernel."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
from pathlib import Path
from urllib.parse import quote

from workbench.cli import lessons
from workbench.cli.command import LOOPBACK, CommandError, check_loopback

# Holds labconfig/default_setting_overrides.json: defaults only, the reader's own settings still win.
SETTINGS = Path(__file__).parent / "jupyter"


def lab(folder: Path | None, browser: bool, port: int | None) -> None:
    """Serve JupyterLab on the first lesson until it is stopped."""
    check_loopback()
    if port is not None:
        _check_free(port)
    place = lessons.prepare(folder).resolve()
    first = lessons.first(place)
    address = f"/lab/tree/{quote(first)}" if first else "/lab"
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
            f"Jupyter cannot write {error.filename or 'its settings'} ({error.strerror or error}): "
            "set HOME to a folder of your own."
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
                raise CommandError(f"port {port} is taken: give another one with --port.") from None
            raise CommandError(f"cannot listen on port {port}: {error.strerror}.") from None
