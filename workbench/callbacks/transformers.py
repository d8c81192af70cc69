"""For the Trainer of Hugging Face: `Trainer(..., callbacks=[WatchTrainerCallback(every=50)])`."""

from __future__ import annotations

from typing import Any

from .training_watch import Watches

try:
    from transformers import TrainerCallback
except ImportError:
    raise ImportError("Transformers is not installed: pip install transformers[torch] brings it.") from None


class WatchTrainerCallback(Watches, TrainerCallback):  # pyright: ignore[reportGeneralTypeIssues]  it takes this file for the library
    """Watch a run of Hugging Face's Trainer as `workbench.watch` does: pass `callbacks=[WatchTrainerCallback()]`.

    `callback.watched.show()` shows the run so far. If training raises an error, the Trainer doesn't notify
    callbacks. Every line is in the file by then. The last line, which marks the end of the run, is written when the
    program ends, when the trainer is deleted, or when it trains again.

    Args:
        every, path, keep: The arguments of `workbench.watch`.
        record_steps: Steps to record completely, counted from 1. The recording of step 1 is `run.step-1.json`, next
            to the file.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        optimizer = given["optimizer"]
        self._watch.begin(given["model"], getattr(optimizer, "optimizer", optimizer))  # the one that Accelerate wraps

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._watch.begin_step(state.global_step + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._watch.end_step()

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._watch.end()
