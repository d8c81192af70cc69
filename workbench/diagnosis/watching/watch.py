"""`watch()`: its hooks, and the lines it writes."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from ...nn import Module
from ...optim import Optimizer
from ...pictures.recording import record
from ...pictures.scene.picture import Picture
from ...pictures.trace.raw_events import Ended
from ...pictures.views.health import health_of_log
from ..health.finding import shortened
from ..health.log import FORMAT, VERSION, of_this_process, rank_of_process, read_log
from ..health.watched import WatchedSteps, total_of
from .progress import ProgressLine
from .statistics import WorkbenchStatistics

_WORDS = 120  # characters of an error that are kept
_WITH_UNITS = ("ReLU", "ReLU6")  # layers whose units are dead where they give zeros


class watch:  # named as what a user writes: `with watch(model, optimizer):`
    """Watch a long training run: every `every` steps, append a line of statistics to a file.

    A step is a call of `optimizer.step()`, and the first is step 1. Watching ends with the `with` block, or with
    `remove()`:

        with workbench.watch(model, optimizer, every=50) as watched:
            train(model, optimizer)
        watched.show()  # a row for each layer and parameter; you can also call it during training

    Each line of the file contains:

    - for each parameter, the norms of the parameter, of its gradient, and of the optimizer's change to the parameter;
    - the norm of each layer's output;
    - the learning rates;
    - for each ReLU (a module, or a `relu` call directly before a layer), the share of units that are
      zero for the whole batch.

    Each line is written at once, so nothing is lost if the program crashes. If the file exists, new lines are appended.

    `watch` looks for these problems:

    - a norm that isn't finite;
    - a gradient norm (over all parameters) that is more than ten times its median over the last 20 watched steps, once
      there are five;
    - a ReLU with 95 % or more of its units zero for the whole batch;
    - a parameter in the optimizer without a gradient in three watched steps in a row;
    - a learning rate of 0 in three watched steps in a row.

    When a problem occurs, `watch` prints a message to standard error and records the next step in a file of its own
    next to `path`; open that file with `workbench.load`. If a layer's output is NaN or infinite and the model was
    called as `model(x)`, `watch` doesn't wait: it records the backward pass of the current step, without source lines
    for the forward pass.

    With several processes, such as those of `torchrun`, each process writes its own file: `run.rank0.jsonl`,
    `run.rank1.jsonl` and so on. `workbench health run.rank*.jsonl` shows them side by side. With
    DistributedDataParallel, the file also has the norms before averaging. In a notebook, one line below the cell
    shows the progress.

    Args:
        model: A module of PyTorch or of this package.
        optimizer: An optimizer of the same package.
        every: Watch step 1, then every `every`-th step: with 50, steps 1, 51, 101 and so on.
        path: The file to which lines are appended.
        keep: The maximum number of steps to record because of problems.

    Raises:
        TypeError: if `model` isn't a module, or `optimizer` isn't an optimizer.
        ValueError: if `every` is less than 1, or `keep` less than 0.
        OSError: if the file can't be written.
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
        self._every, self._keep, self.path = every, keep, of_this_process(Path(path))
        self._model, self._optimizer = model, optimizer
        self._parameters = list(model.named_parameters())
        self._layers = [(name, module) for name, module in model.named_modules() if not [*module.children()]]
        self._is_averaged = self._statistics.is_averaged(model)
        self._steps, self._started = 0, time.monotonic()  # taken so far
        self._hooks: list[Any] = []  # of the model, in a step that is watched
        self._forget_step()
        given = {id(each) for group in optimizer.param_groups for each in group["params"]}
        trained = [at for at, (_, each) in enumerate(self._parameters) if id(each) in given and each.requires_grad]
        self._judge = WatchedSteps([name for name, _ in self._layers], [name for name, _ in self._parameters], trained)
        self._recording: Any = None
        self._file: TextIO | None = self.path.open("a", encoding="utf-8")
        self._write(self._header())
        self._progress = ProgressLine(self.path.name)
        self._ends = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
        self._hook_model()

    def __repr__(self) -> str:
        return f"<watch: {self._steps:,} steps, every {self._every:,} of them in {self.path.name}>"

    def __enter__(self) -> watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end("" if kind is None else shortened(" ".join(f"{kind.__name__}: {error}".split()), _WORDS))

    def remove(self) -> None:
        """Stop watching, and close the file."""
        self._end("")

    def _end(self, error: str) -> None:
        for hook in [*self._ends, *self._hooks]:
            hook.remove()
        self._ends, self._hooks = [], []
        self._forget_step()
        self._save_recording()
        if self._file is not None:
            self._write({"ended": self._steps, "at": round(time.time(), 3), "error": error})
            self._file.close()
            self._file = None
            self._progress.end(self._steps)

    def show(self, **options: Any) -> Picture:
        """Return the "health" picture of the file so far; you can call this while training runs, and afterward."""
        return show_log(self.path, **options)

    # A step that is watched.

    def _forget_step(self) -> None:
        self._outputs: list[tuple[int, Any]] = []  # of layers, the norms of their outputs
        self._looked_at = 0  # how many of them are known to be finite, or not
        self._dead: list[tuple[str, int, Any]] = []  # which ReLU of which layer, and its share of dead units
        self._own: list[tuple[int, Any]] = []  # of parameters, the norms of gradients that are to be averaged
        self._relus: set[int] = set()  # ids of what layers with units gave
        self._before: tuple[Any, ...] | None = None  # the statistics from before the optimizer's step

    def _hook_model(self) -> None:
        """Add hooks to the layers if this step is watched, and remove them otherwise."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._steps % self._every:
            return
        for at, (_, module) in enumerate(self._layers):
            self._hooks.append(module.register_forward_hook(self._output_of(at, type(module).__name__)))
        if self._is_averaged and self._recording is None:
            with self._statistics.unobserved():
                trained = [(at, each) for at, (_, each) in enumerate(self._parameters) if each.requires_grad]
                self._hooks += [each.register_hook(self._own_of(at)) for at, each in trained]
        if self._keep > 0 and self._recording is None:
            self._hooks.append(self._model.register_forward_hook(self._after_forward))

    def _output_of(self, at: int, kind: str) -> Any:
        statistics, has_units = self._statistics, kind in _WITH_UNITS

        def hook(module: Any, args: Any, output: Any) -> None:
            thing = output[0] if isinstance(output, tuple) and output else output
            given = args[0] if args else None
            with statistics.unobserved():
                if statistics.is_summed_up(thing):
                    self._outputs.append((at, statistics.norms([thing])[0]))
                    if has_units:
                        self._relus.add(id(thing))
                        self._dead.append(("dead", at, statistics.dead_share(thing)))
                if id(given) not in self._relus and statistics.is_of_relu(given):
                    self._dead.append(("dead_before", at, statistics.dead_share(given)))

        return hook

    def _own_of(self, at: int) -> Any:
        statistics = self._statistics

        def hook(grad: Any) -> None:
            with statistics.unobserved():
                self._own.append((at, statistics.norms([grad])[0]))

        return hook

    def _after_forward(self, model: Any, args: Any, output: Any) -> None:
        """Record the backward pass of this step if the output of a layer isn't finite."""
        statistics, news = self._statistics, self._outputs[self._looked_at :]
        self._looked_at = len(self._outputs)
        with statistics.unobserved():
            norms = statistics.read([norm for _, norm in news])
        if self._recording is None and self._judge.is_news(norms):
            self._record(is_late=True)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.sum_up_before_step()

    def sum_up_before_step(self) -> None:
        """Store statistics of gradients and weights now, for a loop that calls backward inside `optimizer.step()`."""
        if self._steps % self._every:
            return
        statistics = self._statistics
        with statistics.unobserved():
            have = [(at, each.grad) for at, (_, each) in enumerate(self._parameters) if each.grad is not None]
            every = [each for _, each in self._parameters]
            grads = zip([at for at, _ in have], statistics.norms([grad for _, grad in have]), strict=True)
            rates = [float(group.get("lr", 1.0)) for group in self._optimizer.param_groups]
            self._before = [*grads], statistics.norms(every), statistics.copies(every), rates

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        recorded = self._save_recording()
        found, more = self._sum_up() if self._before is not None else ([], False)
        self._steps += 1
        if found:
            self._tell(found, more, recorded)
        self._progress.tell(self._steps)
        self._hook_model()

    def _sum_up(self) -> tuple[list[str], bool]:
        """Write the line of this step; return what is wrong, and whether to record a step for it."""
        assert self._before is not None
        grads, weights, copies, rates = self._before
        own, outputs, dead = self._own, self._outputs, [each for each in self._dead if each[2] is not None]
        self._forget_step()
        statistics = self._statistics
        with statistics.unobserved():
            updates = statistics.changes([each for _, each in self._parameters], copies)
            places = [("grad", at, norm) for at, norm in grads]
            places += [("weight", at, norm) for at, norm in enumerate(weights)]
            places += [("update", at, norm) for at, norm in enumerate(updates)]
            places += [("output", at, norm) for at, norm in outputs]  # of several calls the last counts
            places += [*dead, *[("own", at, norm) for at, norm in own]]
            numbers = statistics.read([each for _, _, each in places])
        line: dict[str, Any] = {"step": self._steps + 1, "seconds": round(time.monotonic() - self._started, 3)}
        for part in ("grad", "weight", "update", *["own"] * bool(own)):
            line[part] = [None] * len(weights)
        for part in ("output", "dead", *["dead_before"] * any(part == "dead_before" for part, _, _ in dead)):
            line[part] = [None] * len(self._layers)
        for (part, at, _), number in zip(places, numbers, strict=True):
            if part != "own" or line[part][at] is None or math.isfinite(line[part][at]):  # of several backwards
                line[part][at] = number
        line["lr"] = rates
        self._write({name: _plain(value) for name, value in line.items()})
        self._progress.watched(self._steps + 1, total_of(line["grad"]))
        return self._judge.wrong(line)

    def _tell(self, found: list[str], more: bool, recorded: str) -> None:
        """Print what is wrong, and record the next step if it shows more than this one's recording."""
        step = self._steps
        if more and not recorded and self._keep > 0:
            recorded = f" Step {step + 1} is recorded in {self._record()}."
        self._write({"step": step, "found": found})
        said = f"step {step}: {'; '.join(found)}.{recorded}"
        self._progress.found(said)
        print(f"watch: {said}", file=sys.stderr, flush=True)

    def _record(self, is_late: bool = False) -> str:
        """Record until the end of the current step; return the name of the file that will be written."""
        self._keep -= 1
        path = self.path.with_name(f"{self.path.stem}.step-{self._steps + 1}.json")
        recording = record(*self._engine)
        self._recording = recording, recording.__enter__(), path, is_late
        return path.name

    def _save_recording(self) -> str:
        """End the recording of a step and save it; return the message about it, unless it was printed already."""
        if self._recording is None:
            return ""
        (recording, trace, path, is_late), self._recording = self._recording, None
        recording.__exit__(Ended, Ended(), None)
        trace.save(path)
        return f" Its backward is recorded in {path.name}." if is_late else ""

    # The file.

    def _header(self) -> dict[str, Any]:
        parts = self._statistics.parts_of(self._model)
        parameters = [
            {"name": name, "shape": list(each.shape), **({"part": True} if part else {})}
            for (name, each), part in zip(self._parameters, parts, strict=True)
        ]
        layers = [{"name": name, "kind": type(module).__name__} for name, module in self._layers]
        rank = rank_of_process()
        return {
            **{"format": FORMAT, "version": VERSION, "every": self._every, "averaged": self._is_averaged},
            **({} if rank is None else {"rank": rank}),
            **{"parameters": parameters, "layers": layers},
        }

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()


def show_log(path: str | os.PathLike[str], open: Collection[str] | None = None, depth: int | None = None) -> Picture:
    """Return the "health" picture of the last run in a file that `watch` writes.

    Args:
        path: The file.
        open: The names of the modules to open.
        depth: Open all modules down to this depth.

    Raises:
        ValueError: if `watch` didn't write the file.
    """
    return Picture(health_of_log(read_log(path), open, depth))


def _plain(value: Any) -> Any:
    """Round numbers to four significant digits; those that aren't finite become text, as JSON has no such numbers."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
    return value


def _engine_of(model: Any, optimizer: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the arguments that make `record` record this model's engine, and the statistics of its tensors."""
    torch = sys.modules.get("torch")
    if isinstance(model, Module) and isinstance(optimizer, Optimizer):
        return (), WorkbenchStatistics()
    if torch is not None and isinstance(model, torch.nn.Module) and isinstance(optimizer, torch.optim.Optimizer):
        from ...bridges.torch.statistics import TorchStatistics

        return (torch,), TorchStatistics()
    raise TypeError(
        "watch() takes a Module and an Optimizer, both of PyTorch or both of this package, but got "
        f"{type(model).__name__} and {type(optimizer).__name__}."
    )
