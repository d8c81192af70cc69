"""Real PyTorch in the workbench's pictures.

`workbench.record(torch)`, `workbench.show(tensor)`, `workbench.step(loss)` and `workbench.explain(error)` need no
import of this package. The trace of a program is that of the same program under the workbench, as far as PyTorch lets
anybody see:

- Calls of modules and parameters have the path of the outermost module that was called, `net.layer1.0.conv1.weight`,
  wherever the program holds that: in a variable, `self.net`, a list. One that nobody reaches has its class's name. Of a
  graph that nobody recorded the parameters tell which module made a node.
- Of nodes inside of one operation (of `nn.functional.linear`, or made by `create_graph`) the arguments are unknown, and
  their values unless a node has saved them or `values="all"` asks for them.
- A write through a view is told by its CopySlices node alone: PyTorch shows nobody the node that this runs.
- Hooks on tensors and nodes are told, and what each made of its gradient; one that is registered while a backward runs
  is known from the next backward on. A hook that packs what is saved is known by the function that unpacks it.
- Threads are recorded in turns: the one that began and, while it waits, one other. Where two compute at once, only one
  of them is recorded, and `findings()` says how many backward passes the other one ran. Nobody waits for a GPU until
  the trace is read. Inside of function transforms (torch.func) the graph that `grad` makes is recorded; of operations
  inside of `vmap` and `jvp` that make no node a trace says how many there were.
- PyTorch ends the process, out of stack, where a chain of some 50,000 nodes is let go at once at which anybody has
  looked from Python, as each recording and picture does.
- A call of what `torch.compile` has made is one box, `(compiled)`: it runs compiled, and nobody sees inside. A stepper
  goes back only if PyTorch can keep the graph, for a compiled part with torch._functorch.config.donated_buffer=False.
- Before PyTorch 2.12 nobody can tell whether a hook packs what a node has saved: there it is told of nodes that are
  recorded as they are made, without such hooks. Nor does anybody know there what a compiled function returns.
- A stepper tells the line of a node if a recording was around the forward, or anomaly mode was on. It shows a sparse
  gradient with its zeros, a complex one by its absolute values, and as nan what is on no device or nested.
"""

from __future__ import annotations

from .. import NO_TORCH

try:
    import torch as _torch
except ImportError:
    raise ImportError(NO_TORCH) from None

from .versions import refuse_old

refuse_old(_torch.__version__)
