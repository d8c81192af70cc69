"""A graph in groups as the program made it: loops, rounds, scopes, calls and expressions inside each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import net_samples as nets
import pytest
from golden import check_golden, programs, quoted
from text_programs import recorded
from work_done import calls

import workbench as torch
import workbench.nn.functional as F
from workbench import nn
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.metric import TITLE_COLUMNS, columns
from workbench.pictures.scene.storyboard import LEGIBLE
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.views.groups import MOST, Group
from workbench.pictures.views.opening import ROOM
from workbench.pictures.views.program_tree import program_tree


def patterns_that_repeat() -> Trace:
    """Lines whose source is not known."""
    texts = (times * line for line, times in {"y = (y * 2.0 + 1.0).sin()\n": 100, "y = y.sin()\n": 20}.items())
    codes = [compile(text, "<no source>", "exec") for text in texts]
    with record() as trace:
        for code in codes:
            exec(code, {"y": torch.ones(2, requires_grad=True)})
    return trace


GOLDEN = Path(__file__).parent / "golden" / "tree.txt"
# Programs by their names there, and which of their groups are told closed; the others are in the file, after `> `.
OUTLINES: dict[str, tuple[Callable[[], Trace], tuple[str, ...]]] = {
    "two_blocks": (nets.two_blocks, ("0", "1", "2", "4", "conv1", "conv2", "norm2", "down")),
    "resnet18": (nets.resnet18, ("0", "3", "4", "5", "6", "conv1", "conv2")),
    "attention": (nets.attention, ("for layer in (self.q, self.k, self.v): 3 iterations", "out")),
    "patterns_that_repeat": (patterns_that_repeat, ()),
    "rnn20": (nets.rnn20, ("ih", "hh", "head")),
}


def outline(trace: Trace, closed: tuple[str, ...] = ()) -> str:
    """The tree in lines: groups with a colon, nodes below by their words; of closed groups no more than that."""
    root = program_tree(trace.events)
    assert all(columns(title) <= TITLE_COLUMNS for title in root.titles.values())
    lines: list[str] = []

    def tell(group: Group, depth: int) -> None:
        for item in group.items:
            if isinstance(item, str):
                lines.append("  " * depth + root.titles[item])
                continue
            lines.append("  " * depth + f"{item.title}:")
            if item.kind == "more" or item.title in closed or item.title.partition(" › ")[0] in closed:
                lines[-1] += f" {len(list(item.nodes()))} nodes"
            else:
                tell(item, depth + 1)

    tell(root, 0)
    return "\n".join(lines)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.fc1(x))
        h = torch.relu(self.fc2(h))
        return self.fc3(h)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_outlines_of_programs_are_those_that_are_kept() -> None:
    texts = {}
    for name, program in programs(GOLDEN).items():
        if name in OUTLINES:
            make, closed = OUTLINES[name]
            texts[name] = outline(make(), closed)
        else:
            closed = eval(name.partition(" | ")[2] or "()")
            trace = recorded(program, nn=nn, F=F, MLP=MLP)
            told = outline(trace, closed)
            assert outline(Trace.from_dict(trace.to_dict()), closed) == told
            texts[name] = f"{quoted(program)}\n{told}"
    check_golden(GOLDEN, texts)


def test_a_scope_that_is_entered_again_has_two_names() -> None:
    trace = recorded(programs(GOLDEN)["a scope entered again"])
    names = [group.names for group in program_tree(trace.events).groups()]
    assert names == [("prep",), ("mix",), ("prep, 2nd call", "prep")]


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM])
def test_a_recurrent_layer_opens_with_its_rounds(layer: Any) -> None:
    net, x = layer(3, 4), torch.randn(8, 2, 3)
    with record() as trace:
        out, _state = net(x)
        (out**2).sum().backward()
    board = trace.show().storyboard
    seen = [box for id, box in board.at().boxes.items() if id not in board.opened]
    assert "loop: 8 iterations" in [box.title for box in board.at().boxes.values()] and len(seen) <= 25
    assert board.layout.width <= ROOM[0] / LEGIBLE and board.layout.height <= ROOM[1] / LEGIBLE


def test_a_loop_of_a_layer_over_layers_is_no_group_of_its_own() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), encoder)
    with record() as trace:
        net(torch.randn(5, 2, 4)).sum().backward()
    assert "loop" not in [group.kind for group in program_tree(trace.events).groups()]


@cache
def train(steps: int) -> Trace:
    w, b = torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    x, y = torch.randn(4, 4), torch.randn(4, 1)
    with record() as trace:
        for _step in range(steps):
            loss = ((x @ w + b - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
                    p.grad = None
    return trace


@pytest.mark.parametrize("steps", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_training_loop(steps: int) -> None:
    trace = train(steps)
    one = "\n    x @ w\n    x @ w + b\n    x @ w + b - y\n    (x @ w + b - y) ** 2"
    one += "\n    loss = ((… + b - y) ** 2).mean()"
    assert outline(trace) == (
        f"for _step in range(steps): {steps:,} iterations:\n  iteration 1:{one}\n"
        f"  {steps - 2} more iterations (2 to {steps - 1}): {5 * (steps - 2)} nodes\n  iteration {steps:,}:{one}"
    )


STRETCHES = {
    300: ["iterations 2 to 11", "iterations 12 to 21", "iterations 22 to 31"],
    1000: ["iterations 2 to 101", "iterations 2 to 11", "iterations 12 to 21"],
}


@pytest.mark.slow
@pytest.mark.parametrize("steps", [300, 1000])
def test_no_group_is_long_and_all_nodes_are_in_it_once(steps: int) -> None:
    trace = train(steps)
    root = program_tree(trace.events)
    assert all(len(group.items) <= MOST for group in (root, *root.groups()))
    assert list(root.nodes()) == [event.node for event in trace.events if isinstance(event, NodeCreated)]
    loop = root.items[0]
    assert isinstance(loop, Group) and isinstance(loop.items[1], Group)
    assert [group.title for group in loop.items[1].groups() if group.kind == "stretch"][:3] == STRETCHES[steps]
    assert [group.number for group in loop.groups() if group.kind == "round"] == list(range(1, steps + 1))
    assert len({group.symbol for group in loop.groups() if group.kind == "round"}) == 1


@pytest.mark.slow
def test_grouping_twice_the_steps_is_twice_the_work() -> None:
    some, twice = (train(steps).events for steps in (250, 500))
    assert calls(lambda: program_tree(twice)) < 2.3 * calls(lambda: program_tree(some))


def test_of_an_older_file_the_scopes_are_known() -> None:
    net = MLP()
    with record() as trace:
        net(torch.randn(5, 4)).sum().backward()
    data = trace.to_dict()
    del data["parts"]
    for event in data["events"]:
        event.pop("path", None)
    linear = "t\n    addmm\n"
    assert outline(Trace.from_dict(data)) == (
        f"MLP:\n  fc1:\n    {linear}  relu\n  fc2:\n    {linear}  relu, 2nd\n  fc3:\n    {linear}sum"
    )


@pytest.mark.parametrize("text", ["(" * 900, "-" * 900 + "x", "a\0b" * 99, r"f('\d', x * 2.0, y * 3.0)", "x\n" * 400])
@pytest.mark.filterwarnings("error")
def test_any_text_in_a_file_is_a_title(text: str) -> None:
    data = train(2).to_dict()
    for part in data["parts"]:
        part[2] = text if part[1] in ("expression", "call") else part[2]
    assert outline(Trace.from_dict(data))


def test_a_row_without_repetition_is_divided() -> None:
    operations = ["sin", "cos", "tanh"]
    space = {"torch": torch, "y": torch.ones(2, requires_grad=True)}
    state, lines = 1, []
    for _ in range(500):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        lines.append(f"y = torch.{operations[(state >> 16) % 3]}(y)\n")
    with record() as trace:
        exec("".join(lines), space)
    root = program_tree(trace.events)
    assert all(len(group.items) <= MOST for group in (root, *root.groups()))
    assert {group.kind for group in root.groups()} <= {"stretch", "more"}
    assert list(root.nodes()) == [f"n{number}" for number in range(1, 501)]
    titles = [box.title for box in trace.show().storyboard.at().boxes.values() if box.kind == "group"]
    assert len(titles) == 20 and titles[:2] == ["part 1 (1 to 25)", "part 2 (26 to 50)"]


def test_every_group_knows_what_it_lies_in() -> None:
    root = program_tree(train(10).events)
    groups = list(root.groups())
    assert [group.id for group in groups] == [f"g{number}" for number in range(1, len(groups) + 1)]
    assert [group.title for group in groups[1].path] == ["for _step in range(steps): 10 iterations", "iteration 1"]
    assert groups[0].parent is None
