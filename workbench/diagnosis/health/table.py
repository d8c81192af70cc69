"""A training run as a table: a row for each layer's output and for each parameter, a cell for each step.

Rows are in their modules, in the order of the model. `table_of` makes the table of a trace; a log of `watch` gives one
of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...pictures.trace.values import Value
from .graph import RecordedNode
from .measures import share_of_zeros
from .training_run import TrainedParameter, TrainingRun, TrainingStep


@dataclass(frozen=True, slots=True)
class HealthCell:
    """The numbers of a row in a step; None if unknown or missing.

    `norm` is that of the row's `measured` tensor, `value` that of the parameter or of the layer's output, `update` that
    of the optimizer's change. `zeros` is the share of exact zeros in a parameter's gradient or in a layer's output, or
    the share of units that are zero for the whole batch. `nonfinite` is "gradient" or "value" if that isn't finite.
    """

    norm: float | None = None
    value: float | None = None
    update: float | None = None
    zeros: float | None = None
    nonfinite: str = ""

    @property
    def ratio(self) -> float | None:
        """The norm of the update relative to that of the weight."""
        if self.update is None or not self.value:
            return None
        return self.update / self.value


@dataclass(frozen=True, slots=True)
class HealthRow:
    """A layer's output or a parameter: its modules, the outermost first, and a cell for each step."""

    name: str
    kind: Literal["output", "parameter"]
    path: tuple[str, ...]
    cells: tuple[HealthCell | None, ...]
    shape: tuple[int, ...] = ()
    measured: Literal["gradient", "output"] = "gradient"
    ids: tuple[str | None, ...] = ()  # of a trace: in each step the node or the tensor that it tells of


@dataclass(slots=True)
class HealthTable:
    """The rows in the order of the model, the numbers of the steps, and each step's event, if there are events."""

    steps: list[int]
    rows: list[HealthRow]
    events: list[int] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)


def table_of(run: TrainingRun) -> HealthTable:
    """Return the table of a recorded training run."""
    steps = run.steps
    outputs: dict[str, list[HealthCell | None]] = {}
    nodes: dict[str, list[str | None]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    rows: list[HealthRow] = []
    paths: dict[str, tuple[str, ...]] = {}
    for at, step in enumerate(steps):
        for name, node in run.activations(step):
            cells = outputs.setdefault(name, [None] * len(steps))
            cells[at] = _output_cell(node)
            nodes.setdefault(name, [None] * len(steps))[at] = node.id
            if name not in paths:
                paths[name] = tuple(node.made.scope.split("/")) if node.made.scope else ()
                shapes[name] = node.outputs[0].shape if node.outputs else ()
    for name, cells in outputs.items():
        path = paths[name]
        own = name.removeprefix("/".join(path)).strip() or "output"
        rows.append(HealthRow(own, "output", path, tuple(cells), shapes[name], ids=tuple(nodes[name])))
    for parameter in run.trained:
        path, cells, ids = _path(parameter), _cells(parameter, steps), (parameter.id,) * len(steps)
        rows.append(HealthRow(_last_name(parameter), "parameter", path, cells, parameter.shape, ids=ids))
    return HealthTable(
        [step.number for step in steps],
        in_modules(rows),
        [step.begin for step in steps],
        [step.loss for step in steps],
    )


def in_modules(rows: Sequence[HealthRow]) -> list[HealthRow]:
    """Return the rows grouped by module, at the place of the first of each group."""
    first: dict[tuple[str, ...], int] = {}
    for at, row in enumerate(rows):
        for depth in range(1, len(row.path) + 1):
            first.setdefault(row.path[:depth], at)

    def place(at: int) -> list[int]:
        path = rows[at].path
        return [*[first[path[:depth]] for depth in range(1, len(path) + 1)], at]

    return [rows[at] for at in sorted(range(len(rows)), key=place)]


def _output_cell(node: RecordedNode) -> HealthCell:
    value = node.outputs[0] if node.outputs else None
    came = next((each for each in node.gradients if each is not None), None)
    wrong = "value" if value is not None and value.nonfinite else "gradient" if came and came.nonfinite else ""
    zeros = None if value is None else share_of_zeros(value)
    return HealthCell(_norm(came), _norm(value), None, zeros, wrong)


def _cells(parameter: TrainedParameter, steps: Sequence[TrainingStep]) -> tuple[HealthCell | None, ...]:
    cells: list[HealthCell | None] = []
    for step in steps:
        grad, update = step.gradients.get(parameter.id), step.updates.get(parameter.id)
        value = update.before if update is not None else parameter.value
        wrong = "gradient" if grad is not None and grad.nonfinite else "value" if value.nonfinite else ""
        zeros = None if grad is None else share_of_zeros(grad)
        cells.append(HealthCell(_norm(grad), _norm(value), None if update is None else update.size, zeros, wrong))
    return tuple(cells)


def _norm(value: Value | None) -> float | None:
    return None if value is None else value.norm


def _last_name(parameter: TrainedParameter) -> str:
    return (parameter.seen.name or f"a {parameter.shape} parameter").rpartition(".")[2]


def _path(parameter: TrainedParameter) -> tuple[str, ...]:
    """Return the modules that contain it: those that used it first, or those in its name."""
    if parameter.scope:
        return tuple(parameter.scope.split("/"))
    return tuple((parameter.seen.name or "").split(".")[:-1])
