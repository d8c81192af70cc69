"""Start a student's server: bring the lessons up to date, then become `jupyterhub-singleuser`.

Lessons in which nothing was changed are replaced by newer ones; what a student has changed stays.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

# A check of addresses in JSON schemas, of which Jupyter has none: its grammar takes a second and 16 MiB in each server.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

HERE = Path(__file__).resolve().parent
LESSONS = "lessons"  # in the student's home


def bring_lessons() -> int:
    """Bring the lessons up to date; 1, with a sentence, where they stay as they are."""
    from workbench.cli.errors import CommandError
    from workbench.cli.lab import prepare

    try:
        prepare(Path.home() / LESSONS)
    except (CommandError, OSError) as error:
        print(f"The lessons stay as they were: {error}", file=sys.stderr)
        return 1
    return 0


def settings() -> list[str]:
    """The folders of settings that a server reads: the class's, the workbench's, and those that were named before."""
    spec = find_spec("workbench")  # found, and not imported: a server needs no engine
    assert spec is not None and spec.origin is not None
    ours = [HERE / "settings", Path(spec.origin).parent / "cli" / "jupyter"]
    found = os.environ.get("JUPYTER_CONFIG_PATH")
    return [*map(str, ours), *([found] if found else [])]


def serve() -> None:
    """Be the server, with the words that the hub gives it."""
    # In a process of its own: what this imports would stay in memory. Students get at their work whatever comes of it.
    subprocess.run([sys.executable, __file__, LESSONS])
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(settings())
    # A kernel that a student has installed at home does not stand before this environment's.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # Kernels are spoken to by sockets that are files: a network's file system has none, and their paths must be short.
    with tempfile.TemporaryDirectory(prefix="class-", ignore_cleanup_errors=True) as sockets:
        os.environ["JUPYTER_RUNTIME_DIR"] = sockets
        from jupyterhub.singleuser import main

        main()


if __name__ == "__main__":
    if sys.argv[1:] == [LESSONS]:
        sys.exit(bring_lessons())
    serve()
