"""For the Trainer of Hugging Face: `Trainer(..., callbacks=[WatchTrainerCallback(every=50)])`."""

from __future__ import annotations

from typing import Any

from .training_watch import Watches

try:
    from transformers import TrainerCallback
except ImportError:
    raise ImportError("Transformers is not installed: pip install transformers[torch] brings it.") from None


class WatchTrainerCallback(Watches, TrainerCallback):  # pyright: ignore[reportGeneralTypeIssues]  it takes this file for the library
    """Watch a training run as `workbench.watch` does, with its `every`, `path` and `keep`.

    The steps in `record_steps`, counted from 1 as in that file, are recorded as a whole, in `run.step-1.json` next to
    the file. `callback.watched.show()` shows the run so far.

    When training raises an error, the Trainer doesn't notify callbacks. Every line is in the file by then. The last
    line, which marks the end of the run, is written when the program ends, the trainer is deleted, or it trains again.
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
