"""The set by which findings are judged: forty trainings with a planted fault, and thirty healthy ones.

`run(entry)` records one of them. Each is written as an engineer writes it. Whoever wrote them did not know what the
findings look for. Without PyTorch the set has those of the workbench's own engine alone.
"""

from __future__ import annotations

from importlib.util import find_spec

import engine_bugs  # noqa: F401
import engine_healthy  # noqa: F401
from planted_entries import BUGS as BUGS
from planted_entries import HEALTHY as HEALTHY
from planted_entries import Bug as Bug
from planted_entries import Entry as Entry
from planted_entries import Healthy as Healthy
from planted_entries import run as run

if find_spec("torch") is not None:
    import torch_bugs  # noqa: F401
    import torch_healthy  # noqa: F401
