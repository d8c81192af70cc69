"""Anomaly mode: a failing backward pass names the forward line that created its node (torch.autograd.anomaly_mode)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import errors
from ..errors import check_bool, users_frames, warn
from . import state

TRACE = "traceback_"  # under these names a node's metadata has them
PARENT = "parent_"


class AnomalyNode(Protocol):
    """The part of a node used here: its name, and where it was created."""

    @property
    def metadata(self) -> dict[str, Any]: ...

    def name(self) -> str: ...


class set_detect_anomaly:
    """Switch anomaly mode on or off immediately. Used with `with`, the change ends with the block.

    Args:
        mode: True switches anomaly mode on, False switches it off.
        check_nan: If True, raise RuntimeError when a node's gradient contains nan.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (state.anomaly, state.check_nan)
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass  # the switch was made when the object was

    def __exit__(self, *exc: object) -> None:
        state.anomaly, state.check_nan = self._before
        if state.anomaly:
            state.slow_path_reasons["anomaly"] = True
        else:
            state.slow_path_reasons.pop("anomaly", None)


class detect_anomaly:
    """Inside the `with` block, find the operation that causes a nan in a backward pass.

    Every node remembers the lines that created it. At the first gradient with a nan, the backward pass warns with these
    lines, then raises RuntimeError. Run the forward pass inside the block, too. Otherwise, there are no lines to show.
    PyTorch: torch.autograd.detect_anomaly.

    Args:
        check_nan: If True, raise RuntimeError when a node's gradient contains nan. If False, nan is ignored, and the
            lines are shown only if a node's backward raises an error.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and "
            "should only be enabled for debugging."
        )

    def __enter__(self) -> None:
        self._before = (state.anomaly, state.check_nan)
        _set(True, self.check_nan)

    __exit__ = set_detect_anomaly.__exit__


def is_anomaly_enabled() -> bool:
    """Return True if anomaly mode is on."""
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if anomaly mode checks for nan."""
    return state.check_nan


def _set(mode: bool, check_nan: bool) -> None:
    check_bool(mode, "set_anomaly_enabled", "enabled")
    check_bool(check_nan, "set_anomaly_enabled", "check_nan", 2)
    state.anomaly, state.check_nan = (True, check_nan) if mode else (False, check_nan)
    if mode:
        state.slow_path_reasons["anomaly"] = True
    else:
        state.slow_path_reasons.pop("anomaly", None)


def remember(node: AnomalyNode) -> None:
    """Store the running user lines as those that created this node, and the node that runs at the same time."""
    import traceback  # here, because importing it takes as long as a tenth of the engine

    summary = traceback.StackSummary.extract((f, f.f_lineno) for f in reversed(list(users_frames())))
    node.metadata[TRACE] = summary.format()
    task = state.local.modes.task
    if task is not None and task.node is not None:
        node.metadata[PARENT] = task.node


def warn_of_forward(node: AnomalyNode | None) -> None:
    """Warn about the forward lines of a failed node, and then about those of the nodes that created it."""
    text = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
    while node is not None:
        lines = node.metadata.get(TRACE)
        _warn(
            (
                (
                    "Error detected in {}. No forward pass information available. Enable detect "
                    "anomaly during forward pass for more information."
                )
                if lines is None
                else text
            ).format(node.name(), "".join(lines or ()))
        )
        node, text = (
            node.metadata.get(PARENT),
            (
                "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced "
                "the previous calculation:\n{}"
            ),
        )


def _warn(text: str) -> None:
    """Warn; if warnings are errors, print this one instead, because another error is on its way."""
    try:
        warn(text)
    except UserWarning as warning:
        import traceback

        traceback.print_exception(type(warning), warning, None, chain=False)


def refuse_nan(node: AnomalyNode, grads: Any) -> None:
    """Raise RuntimeError if a node's gradient contains nan."""
    for i, grad in enumerate(grads):
        if grad is not None and np.isnan(getattr(grad, "_array", grad)).any():
            raise RuntimeError(errors.ANOMALY_NAN.format(node.name(), i))
