"""Every kind of record by name: the events as they are read."""

from __future__ import annotations

from .backward import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeFinished,
    NodeStarted,
    SavedFreed,
)
from .building import EventsLetGo, NodeCreated, NodesGone, TensorsFound, TensorShown, TensorWritten
from .facts import Record
from .hooks import HookRan, HooksFound
from .keeping import CheckpointDropped, CheckpointKept
from .levels import LevelEntered, LevelLeft, OperationRan, TangentPushed
from .methods import LineReached, MethodCalled, MethodEnded

RECORDS: dict[str, type[Record]] = {
    each.__name__: each
    for each in (
        NodeCreated,
        TensorsFound,
        TensorShown,
        EventsLetGo,
        NodesGone,
        BackwardStarted,
        NodeStarted,
        NodeFinished,
        SavedFreed,
        GradAccumulated,
        GradCaptured,
        GradChanged,
        BackwardFinished,
        TensorWritten,
        Failed,
        LevelEntered,
        LevelLeft,
        OperationRan,
        TangentPushed,
        MethodCalled,
        LineReached,
        MethodEnded,
        HooksFound,
        HookRan,
        CheckpointKept,
        CheckpointDropped,
    )
}
