"""For the Trainer of Hugging Face: `Trainer(..., callbacks=[WatchTrainerCallback(every=50)])`."""

from __future__ import annotations

from typing import Any

from .training_watch import Watches

try:
    from transformers import TrainerCallback
except ImportError:
    raise ImportError("Transformers is not installed: pip install transformers[torch] brings it.") from None


class WatchTrainerCallback(Watches, TrainerCallback):  # pyright: ignore[reportGeneralTypeIssues]  it takes this file for the library
    """Watches a training as `workbench.watch` does, with its `every`, `path` and `keep`.

    The steps `record_steps` (from 1, as in that file) are recorded as a whole, in `run.step-1.json` beside the
    file. `callback.watched.show()` shows what there is up to now.

    When a training raises, the Trainer tells nobody. Each line is in the file by then; the last one, which says that it
    has ended, comes when the program ends, the trainer is gone, or trains again.
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
