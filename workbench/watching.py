"""`watch()`: statistics of a training of hours, a line in a file for each step that is watched."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, TextIO

import numpy as np

from .health.log import FORMAT, VERSION, read_log
from .nn import Module
from .optim import Optimizer
from .recording import record
from .scene.picture import Picture
from .trace.values import axes_beside_units
from .views.health import health_of_log

SPIKE = 10  # times the usual norm of all gradients that is told
_USUAL = 5  # watched steps before anything is called usual
_DEAD = 0.95  # the share of dead units from which a layer is told
_WITH_UNITS = ("ReLU", "ReLU6")  # layers whose units are dead where they give zeros


class WorkbenchStatistics:
    """Sums up the workbench's own tensors."""

    def unobserved(self) -> Any:
        """What is computed inside of it the program does not see: nothing here is an operation."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass

    def is_summed_up(self, thing: Any) -> bool:
        """Whether it is a tensor of numbers that have a norm."""
        return hasattr(type(thing), "_array") and thing._array.dtype.kind == "f"

    def copies(self, tensors: Iterable[Any]) -> list[Any]:
        """The values as they are now."""
        return [tensor._array.copy() for tensor in tensors]

    def norms(self, tensors: Iterable[Any]) -> list[Any]:
        """The norm of each."""
        return [_norm(tensor._array) for tensor in tensors]

    def changes(self, tensors: Iterable[Any], before: list[Any]) -> list[Any]:
        """The norm of how far each is from what it was."""
        return [_norm(tensor._array - then) for tensor, then in zip(tensors, before, strict=True)]

    def dead_share(self, output: Any) -> Any:
        """The share of units that are zero for the whole batch; None where there is no batch."""
        values = output._array
        axes = axes_beside_units(values.ndim)
        return np.mean(values.max(axes) == 0) if axes and values.size else None

    def read(self, values: Sequence[Any]) -> list[float]:
        """The numbers."""
        return [float(each) for each in values]


def _norm(array: Any) -> Any:
    flat = array.reshape(-1)
    return np.sqrt(np.dot(flat, flat.astype(np.float32) if flat.dtype == np.float16 else flat))


class watch:  # named as what a user writes: `with watch(model, optimizer):`
    """Watch a training of hours: a line of statistics is added to a file in every so many steps.

    A step is a call of `optimizer.step()`. Of each `every`-th step, from the first on, the file has the norm of each
    parameter's gradient, of the parameter itself and of its update, the norm of each layer's output, and the share of
    each ReLU's units that are zero for the whole batch. Each line is written at once, so that a crash loses none; a
    file that is there is added to. Where several processes train, as `torchrun` starts them, each has a file of its
    own: `run.rank0.jsonl`.

    When a norm is not finite, all gradients together are ten times as large as usual or a ReLU's units are dead, a
    sentence on the standard error output says so, and the next step is recorded as a whole, in a trace beside the file
    that `workbench.load` reads. At most `keep` steps are recorded.

    `model` and `optimizer` are both of PyTorch, or both of this package. It ends with the `with` block, or by
    `remove()`:

        with workbench.watch(model, optimizer, every=50) as watched:
            train(model, optimizer)
        watched.show()  # a row for each layer and parameter; also while the training runs

    Errors: TypeError for what is no model or no optimiser, ValueError unless `every` is at least 1 and `keep` at least
    0, OSError if the file cannot be written.
    """

    def __init__(
        self, model: Any, optimizer: Any, every: int = 50, path: str | os.PathLike[str] = "run.jsonl", keep: int = 3
    ) -> None:
        self._engine, self._statistics = _engine_of(model, optimizer)
        for name, value, least in (("every", every, 1), ("keep", keep, 0)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"watch({name}=...) takes a whole number, but got {type(value).__name__}.")
            if value < least:
                raise ValueError(f"watch({name}=...) takes a whole number from {least} up, but got {value}.")
        self._every, self._keep, self.path = every, keep, _of_this_process(Path(path))
        self._parameters = list(model.named_parameters())
        self._layers = [(name, module) for name, module in model.named_modules() if not [*module.children()]]
        self._step, self._started = 0, time.monotonic()
        self._hooks: list[Any] = []  # of the layers, in a step that is watched
        self._outputs: list[tuple[int, Any, Any]] = []  # the layer, the norm of its output, its share of dead units
        self._before: tuple[Any, ...] | None = None  # what was summed up before the optimiser's step
        self._told: set[str] = set()
        self._usual: deque[float] = deque(maxlen=20)
        self._recording: Any = None
        self._file: TextIO | None = self.path.open("a", encoding="utf-8")
        self._write(self._header())
        self._ends = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
        self._hook_layers()

    def __repr__(self) -> str:
        return f"<watch: {self._step:,} steps, every {self._every:,} of them in {self.path.name}>"

    def __enter__(self) -> watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Watch no longer, and close the file."""
        for hook in [*self._ends, *self._hooks]:
            hook.remove()
        self._ends, self._hooks, self._before = [], [], None
        self._save_recording()
        if self._file is not None:
            self._file.close()
            self._file = None

    def show(self, **options: Any) -> Picture:
        """What the file has up to now, as the view of health: also while the training runs, and after it."""
        return show_log(self.path, **options)

    # A step that is watched.

    def _hook_layers(self) -> None:
        """Look at the outputs of layers in this step, if it is watched, and not in others."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._step % self._every == 0:
            for at, (_, module) in enumerate(self._layers):
                self._hooks.append(module.register_forward_hook(self._output_of(at, type(module).__name__)))

    def _output_of(self, at: int, kind: str) -> Any:
        statistics = self._statistics

        def hook(module: Any, args: Any, output: Any) -> None:
            thing = output[0] if isinstance(output, tuple) and output else output
            if statistics.is_summed_up(thing):
                with statistics.unobserved():
                    share = statistics.dead_share(thing) if kind in _WITH_UNITS else None
                    self._outputs.append((at, statistics.norms([thing])[0], share))

        return hook

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.sum_up_before_step()

    def sum_up_before_step(self) -> None:
        """Sum up gradients and weights as they are now: for who runs the backward within `optimizer.step()`."""
        if self._step % self._every:
            return
        statistics = self._statistics
        with statistics.unobserved():
            have = [(at, each.grad) for at, (_, each) in enumerate(self._parameters) if each.grad is not None]
            every = [each for _, each in self._parameters]
            grads = [at for at, _ in have], statistics.norms([grad for _, grad in have])
            self._before = grads, statistics.norms(every), statistics.copies(every)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._save_recording()
        found = self._sum_up() if self._before is not None else []
        self._step += 1
        self._hook_layers()
        if found:
            self._tell(found)

    def _sum_up(self) -> list[str]:
        """Write the line of this step; what is wrong."""
        assert self._before is not None
        (have, grads), weights, copies = self._before
        outputs, self._outputs, self._before = self._outputs, [], None
        statistics = self._statistics
        with statistics.unobserved():
            updates = statistics.changes([each for _, each in self._parameters], copies)
            shares = [share for _, _, share in outputs if share is not None]
            norms = [norm for _, norm, _ in outputs]
            numbers = iter(statistics.read([*grads, *weights, *updates, *norms, *shares]))
        line: dict[str, Any] = {"step": self._step, "seconds": round(time.monotonic() - self._started, 3)}
        line["grad"] = [None] * len(weights)
        for at in have:
            line["grad"][at] = next(numbers)
        line["weight"] = [next(numbers) for _ in weights]
        line["update"] = [next(numbers) for _ in weights]
        line["output"], line["dead"] = [None] * len(self._layers), [None] * len(self._layers)
        for at, _, _ in outputs:  # of a layer that is called several times the last call counts
            line["output"][at] = next(numbers)
        for at, _, share in outputs:
            if share is not None:
                line["dead"][at] = next(numbers)
        self._write({name: _plain(value) for name, value in line.items()})
        return self._wrong(line)

    def _wrong(self, line: dict[str, Any]) -> list[str]:
        """What is wrong in this step and was not in an earlier one, in sentences."""
        news: dict[str, str] = {}
        layers, parameters = [name for name, _ in self._layers], [name for name, _ in self._parameters]
        for part, text in (("output", "of the output of {}"), ("grad", "of the gradient of {}"), ("weight", "of {}")):
            names = layers if part == "output" else parameters
            for name, norm in zip(names, line[part], strict=True):
                if norm is not None and not math.isfinite(norm):
                    news.setdefault("not finite", f"the norm {text.format(_called(name))} is {norm}")
        for name, share in zip(layers, line["dead"], strict=True):
            if share is not None and share >= _DEAD:
                news[f"dead {name}"] = f"{share:.0%} of the units of {_called(name)} are zero for the whole batch"
        total = math.sqrt(sum(norm * norm for norm in line["grad"] if norm is not None))
        if math.isfinite(total):
            if len(self._usual) >= _USUAL and total > SPIKE * median(self._usual):
                was = median(self._usual)
                news["spike"] = f"the norm of all gradients is {total:.3g}, and {was:.3g} in the usual step"
            self._usual.append(total)
        found = [text for name, text in news.items() if name not in self._told]
        self._told = {*news}  # what is over may be told again
        return found

    def _tell(self, found: list[str]) -> None:
        """Say what is wrong, and record the next step."""
        recorded = ""
        if self._keep > 0 and self._recording is None:
            self._keep -= 1
            path = self.path.with_name(f"{self.path.stem}.step-{self._step}.json")
            recording = record(*self._engine)
            self._recording = recording, recording.__enter__(), path
            recorded = f" Step {self._step} is recorded in {path.name}."
        self._write({"step": self._step - 1, "found": found})
        print(f"watch: step {self._step - 1}: {'; '.join(found)}.{recorded}", file=sys.stderr, flush=True)

    def _save_recording(self) -> None:
        """End the recording of a step, and save it."""
        if self._recording is None:
            return
        (recording, trace, path), self._recording = self._recording, None
        recording.__exit__(None, None, None)
        trace.save(path)

    # The file.

    def _header(self) -> dict[str, Any]:
        parameters = [{"name": name, "shape": list(each.shape)} for name, each in self._parameters]
        layers = [{"name": name, "kind": type(module).__name__} for name, module in self._layers]
        return {
            **{"format": FORMAT, "version": VERSION, "every": self._every},
            **{"parameters": parameters, "layers": layers},
        }

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()


def show_log(path: str | os.PathLike[str], open: Collection[str] | None = None, depth: int | None = None) -> Picture:
    """The last run of a file that `watch` has written, or is writing, as the view of health.

    Of a large model it shows the modules `open`, or all down to a `depth`. Errors: ValueError for what is no such file.
    """
    return Picture(health_of_log(read_log(path), open, depth))


def _called(name: str) -> str:
    """What a sentence calls a module or a parameter: the layers of a `Sequential` have numbers for names."""
    return f"layer {name}" if name.isdigit() else name or "the model"


def _of_this_process(path: Path) -> Path:
    """The file of this process, where the environment says that several train together."""
    if os.environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in os.environ:
        return path
    return path.with_name(f"{path.stem}.rank{os.environ['RANK']}{path.suffix}")


def _plain(value: Any) -> Any:
    """Numbers to four significant digits; those that are not finite as text, which JSON has no number for."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
    return value


def _engine_of(model: Any, optimizer: Any) -> tuple[tuple[Any, ...], Any]:
    """What `record` takes to record this model's engine, and what sums up its tensors."""
    torch = sys.modules.get("torch")
    if isinstance(model, Module) and isinstance(optimizer, Optimizer):
        return (), WorkbenchStatistics()
    if torch is not None and isinstance(model, torch.nn.Module) and isinstance(optimizer, torch.optim.Optimizer):
        from .bridges.torch.statistics import TorchStatistics

        return (torch,), TorchStatistics()
    raise TypeError(
        "watch() takes a Module and an Optimizer, both of PyTorch or both of this package, but got "
        f"{type(model).__name__} and {type(optimizer).__name__}."
    )
