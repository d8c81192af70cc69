"""Real PyTorch in the workbench's pictures.

`workbench.record(torch)`, `workbench.show(tensor)`, `workbench.step(loss)` and `workbench.explain(error)` need no
import of this package. A trace is that of the same program under the workbench, as far as PyTorch exposes it:

- Calls of modules and parameters have the path of the outermost called module, `net.layer1.0.conv1.weight`, whether a
  variable, `self.net` or a list holds it. A module that can't be reached has its class's name. Without a recording, the
  parameters show which module created a node.
- For nodes inside one operation (of `nn.functional.linear`, or created by `create_graph`) arguments are unknown, and
  their values unless a node saved them or `values="all"` is set.
- A write through a view is only known by its CopySlices node: PyTorch doesn't expose the node that this one runs.
- Hooks on tensors and nodes are recorded, with their gradients before and after; one that is registered during a
  backward pass is known from the next pass on. A pack hook is named by the function that unpacks.
- Threads take turns: the one that started and, while it waits, one other. If two compute at once, only one of them is
  recorded, and `findings()` reports how many backward passes the other ran. A recording doesn't wait for a GPU until
  the trace is read. Inside function transforms (torch.func), the graph of `grad` is recorded; for operations inside
  `vmap` and `jvp` without a node, a trace contains their number.
- PyTorch overflows the stack and ends the process when it frees a chain of about 50,000 nodes at once that Python code
  has looked at, as each recording and picture does.
- A call of a compiled part is one box, `(compiled)`: it runs compiled, and its inside is hidden. A stepper only goes
  back if PyTorch can keep the graph; for a compiled part this needs torch._functorch.config.donated_buffer=False.
- Before PyTorch 2.12, it isn't known whether a hook packs what a node saves: only nodes recorded as they are created,
  without such hooks, show it. Nor is it known there what a compiled function returns.
- A stepper shows the line of a node if a recording was around the forward, or anomaly mode was on. It shows a sparse
  gradient with its zeros, and one on no device or a nested one as nan.
"""

from __future__ import annotations

from .. import NO_TORCH

try:
    import torch as _torch
except ImportError:
    raise ImportError(NO_TORCH) from None

from .versions import refuse_old

refuse_old(_torch.__version__)
