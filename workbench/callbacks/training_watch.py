"""What both callbacks do: watch a training, and record some of its steps into files beside the watch's own."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Collection
from typing import Any

from ..recording import record
from ..trace.raw_events import Ended
from ..watching import watch


class TrainingWatch:
    """What a callback is told: how a training is watched, and which of its steps, counted from 1, are recorded."""

    def __init__(
        self, every: int, path: str | os.PathLike[str], keep: int, record_steps: Collection[int], name: str
    ) -> None:
        wrong = [step for step in record_steps if type(step) is not int or step < 1]
        if wrong:
            raise ValueError(f"{name}(record_steps=...) takes steps counted from 1, but got {wrong[0]!r}.")
        self._options = {"every": every, "path": path, "keep": keep}
        self._steps = frozenset(record_steps)
        self._recording: Any = None
        self.watched: watch | None = None

    def begin(self, model: Any, optimizer: Any) -> None:
        """The training begins."""
        self.end()
        self.watched = watch(model, optimizer, **self._options)

    def begin_step(self, step: int) -> None:
        """A step begins."""
        if step in self._steps and self._recording is None and self.watched is not None:
            path = self.watched.path.with_name(f"{self.watched.path.stem}.step-{step}.json")
            recording = record(sys.modules["torch"])
            self._recording = recording, recording.__enter__(), path

    def end_step(self) -> None:
        """A step is over: its recording is saved."""
        if self._recording is not None:
            (recording, trace, path), self._recording = self._recording, None
            recording.__exit__(Ended, Ended(), None)
            trace.save(path)

    def end(self) -> None:
        """The training is over, or has failed."""
        self.end_step()
        if self.watched is not None:
            self.watched.remove()

    def end_untold(self) -> None:
        """The program ends, or the callback is gone, and nobody has told of an end: an error has stopped it."""
        self.end_step()
        if self.watched is not None:
            error = getattr(sys, "last_value", None) or RuntimeError("the training did not come to its end")
            self.watched.__exit__(type(error), error, None)


class Watches:
    """What a user gives a callback, and gets of it; the library's own base class stands behind it."""

    def __init__(
        self,
        every: int = 50,
        path: str | os.PathLike[str] = "run.jsonl",
        keep: int = 3,
        record_steps: Collection[int] = (),
    ) -> None:
        self._watch = TrainingWatch(every, path, keep, record_steps, type(self).__name__)
        weakref.finalize(self, self._watch.end_untold)  # Hugging Face's Trainer tells no callback of an error

    @property
    def watched(self) -> watch | None:
        """The watch of the training, once that has begun."""
        return self._watch.watched
