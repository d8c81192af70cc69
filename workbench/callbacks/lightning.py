"""`WatchCallback` for Lightning: `Trainer(callbacks=[WatchCallback(every=50)])`."""

from __future__ import annotations

from typing import Any

from .training_watch import Watches

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback  # type: ignore[no-redef]
    except ImportError:
        raise ImportError("Lightning is not installed: pip install lightning brings it.") from None


class WatchCallback(Watches, Callback):  # pyright: ignore[reportGeneralTypeIssues]  it comes from one of two libraries
    """Watch a Lightning training run as `workbench.watch` does: `Trainer(callbacks=[WatchCallback(every=50)])`.

    With several optimizers, the first one is watched. `callback.watched.show()` shows the run so far.

    Args:
        every, path, keep: The arguments of `workbench.watch`.
        record_steps: Steps to record completely, counted from 1. The recording of step 1 is `run.step-1.json`, next
            to the file.
    """

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._watch.begin(pl_module, trainer.optimizers[0])

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._watch.begin_step(trainer.global_step + 1)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self.watched is not None and optimizer is trainer.optimizers[0]:
            self.watched.sum_up_before_step()  # the optimizer's step runs backward, so its own hook came before

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._watch.end_step()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._watch.end()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._watch.end()
