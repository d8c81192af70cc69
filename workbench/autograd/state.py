"""What is switched on, and for whom: the few flags that every operation looks at.

The straight path of an op asks two questions only: is anything unusual going on (`unusual`: a level, saved-tensor
hooks, anomaly mode, in any thread), and has any thread switched gradients off (`off` is empty when none has, so the
thread's own flag need not be read). Both may answer yes needlessly, never no wrongly.
"""

from __future__ import annotations

import threading

unusual = 0  # how many unusual modes are on, over all threads
off: dict[object, bool] = {}  # tokens of the threads in which grad mode is off


class Modes(threading.local):
    """The modes of one thread; a new thread starts with gradients on."""

    def __init__(self) -> None:
        self.grad = True
        self.token = object()


modes = Modes()


def set_grad(on: bool) -> bool:
    """Switch this thread's grad mode and return what it was."""
    was = modes.grad
    if was is not on:
        modes.grad = on
        if on:
            del off[modes.token]
        else:
            off[modes.token] = True
    return was
