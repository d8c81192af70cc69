"""A graph in groups as the program made it: loops, rounds, scopes, calls and expressions inside each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import net_samples as nets
import pytest
from golden import check_golden
from work_done import calls

import workbench as torch
import workbench.nn.functional as F
from workbench import nn
from workbench.recording import Trace, record
from workbench.trace.records import NodeCreated
from workbench.views.groups import MOST, Group
from workbench.views.opening import ROOM
from workbench.views.program_tree import program_tree

OUTLINES: dict[str, tuple[Callable[[], Trace], tuple[str, ...]]] = {
    "two_blocks": (nets.two_blocks, ("0", "1", "2", "4", "conv1", "conv2", "norm2", "down")),
    "resnet18": (nets.resnet18, ("0", "3", "4", "5", "6", "conv1", "conv2")),
    "attention": (nets.attention, ("for layer in (self.q, self.k, self.v): 3 rounds", "out")),
    "rnn20": (nets.rnn20, ("ih", "hh", "head")),
}


def outlined(*closed: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Keep the outline of what a function computes, with some groups closed."""

    def keep(body: Callable[[], Any]) -> Callable[[], Any]:
        def program() -> Trace:
            with record() as trace:
                body()
            return trace

        OUTLINES[body.__name__] = program, closed
        return body

    return keep


def outline(trace: Trace, closed: tuple[str, ...] = ()) -> str:
    """The tree in lines: groups with a colon, nodes below by their words; of closed groups no more than that."""
    root = program_tree(trace.events)
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


@outlined()
def expression_alone() -> None:
    w, b = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    loss = ((w * 3.0 + b) - 7.0) ** 2
    loss.backward()


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.fc1(x))
        h = torch.relu(self.fc2(h))
        return self.fc3(h)


@outlined()
def mlp() -> None:
    net, x, y = MLP(), torch.randn(5, 4), torch.randn(5, 3)
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()


class Stem(nn.Module):
    """Small modules before a large one, and a line of two results, neither of which needs the other."""

    def __init__(self, large: int) -> None:
        super().__init__()
        self.first, self.act, self.second = nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)
        self.body = nn.Sequential(*[layer for _ in range(large) for layer in (nn.Linear(4, 4), nn.ReLU())])
        self.left, self.right = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        x = self.act(x)
        x = self.second(x)
        x = self.body(x)
        left, right = self.left(x), self.right(x)
        return left * right


@outlined("first", "second", "body", "left", "right")
def small_modules_before_a_large_one() -> None:
    net, x = Stem(3), torch.randn(5, 4)
    net(x).sum().backward()


class Double(nn.Module):
    """More than a line has room for: a module of the user's own."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(wide, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        x = torch.tanh(self.first(x))
        return torch.tanh(self.second(x))


class Skips(nn.Module):
    """Large modules, what is computed for them in the lines that call them, and a function of several lines."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom, self.up = Double(4), Double(4), Double(4), Double(8)

    def forward(self, x: Any) -> Any:
        skip = self.down1(x)
        x = self.down2(2 * skip)
        x = self.bottom(F.relu(x))
        x = self.up(torch.cat([twice(x), skip], 1))
        return self.up(torch.cat([self.down2(x), x], 1))  # two large ones


@outlined("down1", "down2", "bottom", "up")
def lines_around_one_large_module() -> None:
    net, x = Skips(), torch.randn(5, 4)
    net(x).sum().backward()


def twice(x: Any) -> Any:
    y = x.exp()
    return y + y


@outlined()
def few_operations_without_runs() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    y = (x * w + 1).exp()
    z = (y * 2 + w).sin()
    loss = (z - 1).pow(2).mean()
    loss.backward()


@outlined("y = (x * w + 1).exp()")
def more_operations_in_lines() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    y = (x * w + 1).exp()
    z = (y * 2 + w).sin()
    u = (z * 3 + w).cos()
    v = (u * 4 + w).tanh()
    loss = (v - 1).pow(2).mean()
    loss.backward()


@outlined()
def a_scope_entered_again() -> None:
    a = torch.randn(3, requires_grad=True)
    with torch.scope("prep"):
        u = (a * 2).sin()
    with torch.scope("mix"):
        v = (u + a).cos()
    with torch.scope("prep"):
        z = (v * 3).sin()
    (z * u).sum().backward()


@outlined()
def around_one_thing() -> None:
    w = torch.ones(2, requires_grad=True)
    act = nn.Sequential(nn.Tanh())

    def once(x: Any) -> Any:
        return doubled(x)

    def doubled(x: Any) -> Any:
        y = x * 2.0
        return y * 2.0

    def single(x: Any) -> Any:
        return x.exp()

    act(w)
    once(w)
    single(w)
    with torch.scope("head"):
        w + 1.0
    for _ in range(1):
        w - 1.0
    for x in (1.0, 2.0):
        w * x


@outlined()
def calls_of_helpers() -> None:
    w = torch.ones(2, requires_grad=True)

    def act(x: Any) -> Any:
        return (x * 2.0).exp()

    y = act(w)
    y = act(y) + act(y)


@outlined()
def patterns_that_repeat() -> None:
    exec("y = (y * 2.0 + 1.0).sin()\n" * 100, {"y": torch.ones(2, requires_grad=True)})
    exec("w = w.sin()\n" * 20, {"w": torch.ones(2, requires_grad=True)})
    exec("w = w.sin().cos()\n" * 20, {"w": torch.ones(2, requires_grad=True)})


@outlined("0 › Linear", "5 › Linear", "10 › Linear")
def layers_that_are_alike() -> None:
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(6)])
    net(torch.ones(1, 2))
    turns = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(2, 2), nn.Sigmoid())])
    turns(torch.ones(1, 2))


@outlined()
def rounds_that_differ() -> None:
    w = torch.ones(2, requires_grad=True)
    for n in range(9):
        y = w * 2.0
        if n == 0:
            y = y + 1.0
        y.sin()


@outlined()
def long_expressions() -> None:
    w, größe = torch.ones(2, requires_grad=True), 2.0
    (w * größe) + torch.cos(w * größe + w.sum()) * 1234567890.1234567890 - w.exp()


@outlined()
def few_derivatives_of_derivatives() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()


@outlined("y = (… * (x + 1).log() ** 3 / …).sum()", "grad(y, x, create_graph=True)")
def many_derivatives_of_derivatives() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * x.exp().sin().tanh() * x.cos() * x.sigmoid() * (x + 1).log() ** 3 / x.sqrt()).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()


@outlined()
def hooks_and_custom_backward() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    x = torch.ones(2, requires_grad=True)
    y = Cube.apply(x)
    y.register_hook(lambda grad: grad * x)
    y.sum().backward(create_graph=True)


@outlined()
def what_was_there_before() -> None:
    x, z = torch.ones(2, requires_grad=True), torch.zeros(3)
    v = z[:2]
    v.mul_(x)
    z.sum().backward()
    v.sum()


@outlined()
def recurrent_layers() -> None:
    rnn, lstm, x = nn.RNN(3, 4), nn.LSTM(3, 4), torch.randn(8, 2, 3)
    _out, _h = rnn(x)
    _out, (_h, _c) = lstm(x)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_outlines_of_programs_are_those_that_are_kept() -> None:
    texts = {name: outline(program(), closed) for name, (program, closed) in OUTLINES.items()}
    check_golden(Path(__file__).parent / "golden" / "tree.txt", texts)


def test_a_scope_that_is_entered_again_has_two_names() -> None:
    trace, _ = OUTLINES["a_scope_entered_again"]
    names = [group.names for group in program_tree(trace().events).groups()]
    assert names == [("prep",), ("mix",), ("prep, 2nd call", "prep")]


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM])
def test_a_recurrent_layer_opens_with_its_rounds(layer: Any) -> None:
    net, x = layer(3, 4), torch.randn(8, 2, 3)
    with record() as trace:
        out, _state = net(x)
        (out**2).sum().backward()
    board = trace.show().storyboard
    seen = [box for id, box in board.at().boxes.items() if id not in board.opened]
    assert "loop: 8 rounds" in [box.title for box in board.at().boxes.values()] and len(seen) <= 25
    assert board.layout.width <= ROOM[0] / 0.6 and board.layout.height <= ROOM[1] / 0.6


def test_layers_and_directions_of_a_recurrent_layer_are_rounds_around_those_of_time() -> None:
    x = torch.randn(6, 2, 3)
    with record() as trace:
        _last = nn.GRU(3, 4, num_layers=2, bidirectional=True)(x)
    loops = [group for group in program_tree(trace.events).groups() if group.kind == "loop"]
    depths = [sum(group.kind == "loop" for group in loop.path) for loop in loops]
    assert [(loop.title, depth) for loop, depth in zip(loops, depths, strict=True)] == [
        ("loop: 2 rounds", 1),
        *[("loop: 2 rounds", 2), ("loop: 6 rounds", 3), ("loop: 6 rounds", 3)] * 2,
    ]


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
        f"for _step in range(steps): {steps:,} rounds:\n  round 1:{one}\n"
        f"  {steps - 2} more rounds (2 to {steps - 1}): {5 * (steps - 2)} nodes\n  round {steps:,}:{one}"
    )


STRETCHES = {
    300: ["rounds 2 to 11", "rounds 12 to 21", "rounds 22 to 31"],
    1000: ["rounds 2 to 101", "rounds 2 to 11", "rounds 12 to 21"],
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
    linear = "TBackward0\n    AddmmBackward0\n"
    assert outline(Trace.from_dict(data)) == (
        f"MLP:\n  fc1:\n    {linear}  ReluBackward0\n  fc2:\n    {linear}  ReluBackward0, 2nd\n"
        f"  fc3:\n    {linear}SumBackward0"
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
    assert [group.title for group in groups[1].path] == ["for _step in range(steps): 10 rounds", "round 1"]
    assert groups[0].parent is None
