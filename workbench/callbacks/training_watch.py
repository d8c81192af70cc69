"""The common part of both callbacks: watch a training run, and record some of its steps into files."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Collection
from typing import Any

from ..diagnosis.watching import watch
from ..pictures.recording import record
from ..pictures.trace.raw_events import Ended


class TrainingWatch:
    """How a training run is watched, and which of its steps, counted from 1, are recorded."""

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
        """Start watching a training run."""
        self.end()
        self.watched = watch(model, optimizer, **self._options)

    def begin_step(self, step: int) -> None:
        """Start recording if this step is one to record."""
        if step in self._steps and self._recording is None and self.watched is not None:
            path = self.watched.path.with_name(f"{self.watched.path.stem}.step-{step}.json")
            recording = record(sys.modules["torch"])
            self._recording = recording, recording.__enter__(), path

    def end_step(self) -> None:
        """End the recording of a step, and save it."""
        if self._recording is not None:
            (recording, trace, path), self._recording = self._recording, None
            recording.__exit__(Ended, Ended(), None)
            trace.save(path)

    def end(self) -> None:
        """Stop watching: training finished or failed."""
        self.end_step()
        if self.watched is not None:
            self.watched.remove()

    def end_untold(self) -> None:
        """Stop watching when the program ends or the callback is deleted before training was reported to end."""
        self.end_step()
        if self.watched is not None:
            error = getattr(sys, "last_value", None) or RuntimeError("the training did not come to its end")
            self.watched.__exit__(type(error), error, None)


class Watches:
    """The arguments and results of a callback; the library's base class comes after it."""

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
        """The watch of the training run, once it started."""
        return self._watch.watched
