"""The callbacks that watch trainings of Lightning and of Hugging Face's Trainer, in trainings that these run."""

from __future__ import annotations

import contextlib
import gc
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import absent
import pytest
from oracle import torch

import workbench
from workbench.pictures.trace.backward_records import BackwardStarted

os.environ.setdefault("WANDB_MODE", "disabled")


def net_of() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def rows() -> list[Any]:
    torch.manual_seed(1)
    return [(x, x.sum(0, keepdim=True)) for x in torch.randn(12, 3)]


def by_lightning(folder: Path, callbacks: list[Any]) -> Any:
    """Train for six steps, and give the trained network."""
    lightning = pytest.importorskip("lightning.pytorch", reason=absent.LIGHTNING)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = net_of()

        def training_step(self, batch: Any, index: int) -> Any:
            return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.05)

    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    options = {"max_epochs": 2, "accelerator": "cpu", "devices": 1, "logger": False, "default_root_dir": folder}
    module = Module()
    lightning.Trainer(callbacks=callbacks, **options, **quiet).fit(
        module, torch.utils.data.DataLoader(rows(), batch_size=4)
    )
    return module.net


def by_transformers(folder: Path, callbacks: list[Any]) -> Any:
    """Train for six steps, and give the trained network."""
    transformers = pytest.importorskip("transformers", reason=absent.TRANSFORMERS)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net_of()

        def forward(self, x: Any, labels: Any) -> Any:
            out = self.net(x)
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    quiet = {"disable_tqdm": True, "report_to": [], "save_strategy": "no", "logging_strategy": "no"}
    options = {"num_train_epochs": 2, "per_device_train_batch_size": 4, "learning_rate": 0.05, "use_cpu": True}
    asked = transformers.TrainingArguments(output_dir=str(folder / "out"), **options, **quiet)
    data = [{"x": x, "labels": y} for x, y in rows()]
    module = Module()
    transformers.Trainer(model=module, args=asked, train_dataset=data, callbacks=callbacks).train()
    return module.net


TRAININGS = {"lightning": by_lightning, "transformers": by_transformers}


def callback_of(library: str, folder: Path, **options: Any) -> Any:
    if library == "lightning":
        pytest.importorskip("lightning.pytorch", reason=absent.LIGHTNING)
        from workbench.callbacks.lightning import WatchCallback
    else:
        pytest.importorskip("transformers", reason=absent.TRANSFORMERS)
        from workbench.callbacks.transformers import WatchTrainerCallback as WatchCallback  # type: ignore[assignment]
    return WatchCallback(path=folder / "run.jsonl", **options)


@pytest.mark.parametrize("library", TRAININGS)
def test_a_training_is_watched_and_its_steps_are_recorded(library: str, tmp_path: Path) -> None:
    callback = callback_of(library, tmp_path, every=2, record_steps=(2, 5))
    watched = TRAININGS[library](tmp_path, [callback])
    plain = TRAININGS[library](tmp_path, [])
    for one, other in zip(watched.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)
    head, *lines, end = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert "step" not in end
    assert [each["name"] for each in head["parameters"]] == [
        f"net.{at}.{kind}" for at in "02" for kind in ("weight", "bias")
    ]
    assert [line["step"] for line in lines] == [1, 3, 5]
    assert all(None not in line["grad"] and 0 not in line["update"] for line in lines)
    if library == "lightning":  # plain gradient descent: the update is the gradient of this very step
        assert lines[1]["update"] == pytest.approx([0.05 * norm for norm in lines[1]["grad"]], rel=1e-3)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["run.step-2.json", "run.step-5.json"]
    trace = workbench.load(tmp_path / "run.step-5.json")
    assert sum(isinstance(event, BackwardStarted) for event in trace.events) == 1
    assert not [each for each in trace.findings() if each.certain]
    assert "3 steps; the picture is shown after" in str(callback.watched.show())


def test_a_training_that_fails_is_watched_no_longer(tmp_path: Path) -> None:
    callback = callback_of("lightning", tmp_path, record_steps=(1,))
    lightning = pytest.importorskip("lightning.pytorch", reason=absent.LIGHTNING)

    class Stop(lightning.Callback):
        def on_after_backward(self, trainer: Any, module: Any) -> None:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        by_lightning(tmp_path, [callback, Stop()])
    assert callback.watched._file is None and (tmp_path / "run.step-1.json").exists()


def test_a_trainer_that_fails_and_tells_nobody_has_its_end_in_the_file(tmp_path: Path) -> None:
    callback = callback_of("transformers", tmp_path, every=1, record_steps=(3,))
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if state.global_step == 2:
                raise RuntimeError("stopped")

    with contextlib.suppress(RuntimeError):
        by_transformers(tmp_path, [callback, Stop()])
    assert [*json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])][0] == "step"
    assert "2 steps" in str(callback.watched.show())
    del callback
    gc.collect()
    last = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])
    assert last["ended"] == 2 and last["error"]
    trace = workbench.load(tmp_path / "run.step-3.json")
    assert sum(isinstance(event, BackwardStarted) for event in trace.events) == 1


@pytest.mark.parametrize("library", TRAININGS)
@pytest.mark.parametrize(("steps", "told"), [((0,), "0"), (("2",), "'2'"), ((True,), "True")])
def test_steps_that_are_none_are_refused(library: str, steps: Collection[Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"Callback\(record_steps=...\) takes .* but got {told}\."):
        callback_of(library, tmp_path, record_steps=steps)
