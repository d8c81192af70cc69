"""A program as on Windows, as far as that can be had elsewhere: no call or module of POSIX alone, an old encoding.

    python -c "import other_system; ..."

Importing this takes from `os` and `signal` what Windows has not, and refuses modules that are not there; `run` starts a
program so. What `sys.platform` and `os.name` say stays: the libraries' compiled parts are this system's.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib.abc import MetaPathFinder
from typing import Any

MODULES = {"crypt", "fcntl", "grp", "nis", "posix_ipc", "pty", "pwd", "resource", "syslog", "termios", "tty"}
CALLS = """
chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid getpgrp getpriority getsid getuid killpg
lchown mkfifo mknod nice openpty register_at_fork sched_getaffinity setegid seteuid setgid setpgid setpriority setsid
setuid statvfs sync sysconf ttyname wait wait3 wait4 O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK
""".split()
SIGNALS = """
SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 alarm pause setitimer
""".split()


class Refusing(MetaPathFinder):
    """Finds no module of POSIX alone."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def become() -> None:
    """Take away what Windows has not."""
    for module, names in ((os, CALLS), (signal, SIGNALS)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Refusing())
