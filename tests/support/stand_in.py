"""A program on the PATH that a test writes itself, in the place of one of the system's."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write_program(path: Path, code: str) -> None:
    """Make a file that can be run and runs Python code; `sys.argv[1:]` are its arguments.

    A first line that names this Python would not do: its path may have a space in it.
    """
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
