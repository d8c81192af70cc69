"""Real PyTorch in the workbench's pictures.

`workbench.record(torch)` and `workbench.show(tensor)` need no import of this package.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise ImportError('PyTorch is not installed: pip install "autograd-workbench[torch]" brings it.') from None
