"""The version, and what it was built with (torch.version)."""

from __future__ import annotations

import sys

__version__: str = sys.modules[__package__ or ""].__version__
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
debug = False
