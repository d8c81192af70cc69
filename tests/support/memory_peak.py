"""The most memory that this process had; what measures it runs in a process of its own."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak() -> int:
    """The most memory at once, in MB, of this program alone."""
    if STATUS.exists():  # on Linux getrusage() tells the peak of the process that began this one too
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
        assert found is not None
        return int(found[1]) // 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
