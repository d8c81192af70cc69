"""A graph in groups as the program made it: loops, rounds, scopes, calls and expressions inside each other."""

from __future__ import annotations

from functools import cache
from textwrap import dedent
from typing import Any

import pytest
from work_done import calls

import workbench as torch
import workbench.nn.functional as F
from workbench import nn
from workbench.recording import Trace, record
from workbench.trace.records import NodeCreated
from workbench.views.groups import MOST, Group
from workbench.views.opening import ROOM
from workbench.views.program_tree import program_tree


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


def tree(text: str) -> str:
    return dedent(text).strip("\n")


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.fc1(x))
        h = torch.relu(self.fc2(h))
        return self.fc3(h)


class Norm(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(n)), nn.Parameter(torch.zeros(n))

    def forward(self, x: Any) -> Any:
        mean = x.mean(0)
        var = ((x - mean) ** 2).mean(0)
        return (x - mean) / torch.sqrt(var + 1e-5) * self.gain + self.bias


class Block(nn.Module):
    def __init__(self, n: int, norm: bool = False, down: bool = False) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Linear(n, n), nn.Linear(n, n)
        self.norm1, self.norm2 = (Norm(n), Norm(n)) if norm else (None, None)
        self.down = nn.Linear(n, n) if down else None

    def forward(self, x: Any) -> Any:
        out = self.conv1(x)
        if self.norm1:
            out = self.norm1(out)
        out = torch.relu(out)
        out = self.conv2(out)
        if self.norm2:
            out = self.norm2(out)
        short = self.down(x) if self.down else x
        return torch.relu(out + short)


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
        self.layer1, self.layer2 = Block(4, norm=True), Block(4, norm=True, down=True)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        x = self.layer1(x)
        x = self.layer2(x)
        return self.head(x)


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.fc = nn.Linear(4, 4), nn.Linear(4, 3)
        self.layer1 = nn.Sequential(Block(4), Block(4))
        self.layer2 = nn.Sequential(Block(4, down=True), Block(4))
        self.layer3 = nn.Sequential(Block(4, down=True), Block(4))
        self.layer4 = nn.Sequential(Block(4, down=True), Block(4))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        return self.fc(x)


class Attention(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.out = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x: Any) -> Any:
        B, T, D = x.shape

        def heads(y: Any) -> Any:
            return y.reshape(B, T, self.h, D // self.h).transpose(1, 2)

        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        scores = q @ k.transpose(-2, -1) / (D // self.h) ** 0.5
        weights = torch.softmax(scores, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(B, T, D)
        return self.out(mixed)


class Cell(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.ih, self.hh = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x: Any, h: Any) -> Any:
        return torch.tanh(self.ih(x) + self.hh(h))


class RNN(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.cell, self.head = Cell(n), nn.Linear(n, 1)

    def forward(self, xs: Any) -> Any:
        h = torch.zeros(1, 3)
        for x in xs:
            h = self.cell(x, h)
        return self.head(h)


def test_an_expression_alone() -> None:
    w, b = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    with record() as trace:
        loss = ((w * 3.0 + b) - 7.0) ** 2
        loss.backward()
    assert outline(trace) == "w * 3.0\nw * 3.0 + b\n(w * 3.0 + b) - 7.0\nloss = ((w * 3.0 + b) - 7.0) ** 2"


def test_mlp() -> None:
    net, x, y = MLP(), torch.randn(5, 4), torch.randn(5, 3)
    with record() as trace:
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
    assert outline(trace) == tree("""
        net › MLP:
          fc1 › Linear:
            TBackward0
            AddmmBackward0
          torch.relu(self.fc1(x))
          fc2 › Linear:
            TBackward0
            AddmmBackward0
          torch.relu(self.fc2(h))
          fc3 › Linear:
            TBackward0
            AddmmBackward0
        net(x) - y
        (net(x) - y) ** 2
        loss = ((net(x) - y) ** 2).mean()
        """)


def test_two_residual_blocks() -> None:
    net, x = Two(), torch.randn(5, 4)
    with record() as trace:
        net(x).sum().backward()
    assert outline(trace, ("conv1", "conv2", "norm2")) == tree("""
        net › Two:
          x = torch.relu(self.stem(x)):
            stem › Linear:
              TBackward0
              AddmmBackward0
            torch.relu(self.stem(x))
          layer1 › Block:
            conv1 › Linear: 2 nodes
            norm1 › Norm:
              x.mean(0)
              x - mean
              (x - mean) ** 2
              ((x - mean) ** 2).mean(0)
              x - mean, 2nd
              var + 1e-5
              torch.sqrt(var + 1e-5)
              (x - mean) / sqrt(var + 1e-5)
              (x - mean) / sqrt(…) * self.gain
              … / … * self.gain + self.bias
            torch.relu(out)
            conv2 › Linear: 2 nodes
            norm2 › Norm: 10 nodes
            return torch.relu(out + short):
              out + short
              torch.relu(out + short)
          layer2 › Block:
            conv1 › Linear: 2 nodes
            norm1 › Norm:
              x.mean(0)
              x - mean
              (x - mean) ** 2
              ((x - mean) ** 2).mean(0)
              x - mean, 2nd
              var + 1e-5
              torch.sqrt(var + 1e-5)
              (x - mean) / sqrt(var + 1e-5)
              (x - mean) / sqrt(…) * self.gain
              … / … * self.gain + self.bias
            torch.relu(out)
            conv2 › Linear: 2 nodes
            norm2 › Norm: 10 nodes
            down › Linear:
              TBackward0
              AddmmBackward0
            return torch.relu(out + short):
              out + short
              torch.relu(out + short)
          head › Linear:
            TBackward0
            AddmmBackward0
        net(x).sum()
        """)


def test_resnet18() -> None:
    net, x, y = ResNet18(), torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    with record() as trace:
        F.cross_entropy(net(x), y).backward()
    block = "conv1 › Linear: 2 nodes\n      torch.relu(out)\n      conv2 › Linear: 2 nodes\n      "
    layers = "".join(
        f"  layer{n} › Sequential:\n    0 › Block:\n      "
        f"{block}{'down › Linear: 2 nodes' * (n > 1)}\n      out + short\n      torch.relu(out + short)\n"
        f"    1 › Block:\n      {block}out + short\n      torch.relu(out + short)\n"
        for n in (1, 2, 3, 4)
    ).replace("      \n", "")
    assert outline(trace, ("conv1", "conv2", "down", "stem", "fc")) == (
        f"net › ResNet18:\n  x = torch.relu(self.stem(x)):\n    stem › Linear: 2 nodes\n    torch.relu(self.stem(x))\n"
        f"{layers}  fc › Linear: 2 nodes\n"
        "F.cross_entropy(net(x), y):\n  LogSoftmaxBackward0\n  NllLossBackward0"
    )


def test_attention() -> None:
    net, x = Attention(8, 2), torch.randn(2, 3, 8)
    with record() as trace:
        (net(x) ** 2).mean().backward()
    heads = "".join(
        f"  {part} › Linear: 3 nodes\n  heads(self.{part}(x)):\n"
        "    y.reshape(B, T, …, D // self.h)\n    ….transpose(1, 2)\n"
        for part in "qkv"
    )
    assert (
        outline(trace, ("q", "k", "v", "out"))
        == f"net › Attention:\n{heads}"
        + """\
  scores = q @ … / (D // self.h) ** 0.5:
    k.transpose(-2, -1)
    q @ k.transpose(-2, -1):
      ExpandBackward0
      CloneBackward0
      UnsafeViewBackward0
      ExpandBackward0, 2nd
      CloneBackward0, 2nd
      UnsafeViewBackward0, 2nd
      BmmBackward0
      UnsafeViewBackward0, 3rd
    q @ … / (D // self.h) ** 0.5
  torch.softmax(scores, -1)
  mixed = ….transpose(1, 2).reshape(…):
    weights @ v:
      ExpandBackward0
      ViewBackward0
      ExpandBackward0, 2nd
      CloneBackward0
      UnsafeViewBackward0
      BmmBackward0
      UnsafeViewBackward0, 2nd
    (weights @ v).transpose(1, 2)
    ….transpose(1, 2).reshape(B, T, D):
      CloneBackward0
      UnsafeViewBackward0
  out › Linear: 4 nodes
(net(x) ** 2).mean():
  net(x) ** 2
  (net(x) ** 2).mean()"""
    )


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


def stem(large: int) -> str:
    net, x = Stem(large), torch.randn(5, 4)
    with record() as trace:
        net(x).sum().backward()
    return outline(trace, ("first", "second", "body", "left", "right"))


def test_small_modules_before_a_large_one_are_one_run_and_a_line_of_independent_parts_is_none() -> None:
    assert stem(3) == tree("""
        net › Stem:
          first … second:
            first › Linear: 2 nodes
            act › Tanh
            second › Linear: 2 nodes
          body › Sequential: 9 nodes
          left › Linear: 2 nodes
          right › Linear: 2 nodes
          left * right
        net(x).sum()
        """)


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


def twice(x: Any) -> Any:
    y = x.exp()
    return y + y


def test_a_line_around_one_large_module_is_one_thing_with_what_it_computes_for_it() -> None:
    net, x = Skips(), torch.randn(5, 4)
    with record() as trace:
        net(x).sum().backward()
    assert outline(trace, ("down1", "down2", "bottom", "up")) == tree("""
        net › Skips:
          down1 › Double: 6 nodes
          x = self.down2(2 * skip):
            2 * skip
            down2 › Double: 6 nodes
          x = self.bottom(F.relu(x)):
            F.relu(x)
            bottom › Double: 6 nodes
          x = self.up(cat([twice(x), skip], 1)):
            twice(x):
              x.exp()
              y + y
            torch.cat([twice(x), skip], 1)
            up › Double: 6 nodes
          down2 › Double: 6 nodes
          torch.cat([self.down2(x), x], 1)
          up › Double: 6 nodes
        net(x).sum()
        """)


def test_a_row_of_few_operations_has_neither_runs_nor_lines() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    with record() as few:
        y = (x * w + 1).exp()
        z = (y * 2 + w).sin()
        loss = (z - 1).pow(2).mean()
        loss.backward()
    assert [group.title for group in program_tree(few.events).groups()] == []
    with record() as many:
        y = (x * w + 1).exp()
        z = (y * 2 + w).sin()
        u = (z * 3 + w).cos()
        v = (u * 4 + w).tanh()
        loss = (v - 1).pow(2).mean()
        loss.backward()
    assert outline(many, ("y = (x * w + 1).exp()",)) == tree("""
        y = (x * w + 1).exp(): 3 nodes
        z = (y * 2 + w).sin():
          y * 2
          y * 2 + w
          z = (y * 2 + w).sin()
        u = (z * 3 + w).cos():
          z * 3
          z * 3 + w
          u = (z * 3 + w).cos()
        v = (u * 4 + w).tanh():
          u * 4
          u * 4 + w
          v = (u * 4 + w).tanh()
        loss = (v - 1).pow(2).mean():
          v - 1
          (v - 1).pow(2)
          loss = (v - 1).pow(2).mean()
        """)


@pytest.mark.parametrize("steps", [20, 100])
def test_an_unrolled_rnn(steps: int) -> None:
    net, xs = RNN(3), [torch.randn(1, 3) for _ in range(steps)]
    with record() as trace:
        (net(xs) ** 2).sum().backward()
    sum = "self.ih(x) + self.hh(h)"
    one = f"\n      ih › Linear: 2 nodes\n      hh › Linear: 2 nodes\n      {sum}\n      tanh({sum})"
    assert outline(trace, ("ih", "hh", "head")) == (
        f"net › RNN:\n  for x in xs × {steps}:\n    round 1: cell › Cell:{one}\n"
        f"    {steps - 2} more rounds (2 to {steps - 1}): {6 * (steps - 2)} nodes\n"
        f"    round {steps}: cell › Cell:{one}\n  head › Linear: 2 nodes\n"
        "(net(xs) ** 2).sum():\n  net(xs) ** 2\n  (net(xs) ** 2).sum()"
    )


CELL = "      F.linear(state[0], w_hh, b_hh): 2 nodes\n"
GATES = (
    "      i + h\n      (i + h).chunk(4, -1)\n      keep.sigmoid()\n      keep.sigmoid() * state[1]\n"
    "      let_in.sigmoid()\n      new.tanh()\n      let_in.sigmoid() * new.tanh()\n"
    "      … * state[1] + … * new.tanh()\n      let_out.sigmoid()\n      cell.tanh()\n"
    "      let_out.sigmoid() * cell.tanh()"
)


@pytest.mark.parametrize(
    "layer, line, one",
    [
        (nn.RNN, "out, h = net › RNN", f"{CELL}      i + h\n      (i + h).tanh()"),
        (nn.LSTM, "out, (h, c) = net › LSTM", CELL + GATES),
    ],
)
def test_the_time_steps_of_a_recurrent_layer_are_rounds(layer: Any, line: str, one: str) -> None:
    net, x = layer(3, 4), torch.randn(8, 2, 3)
    with record() as trace:
        if layer is nn.LSTM:
            out, (h, c) = net(x)
        else:
            out, h = net(x)
        (out**2).sum().backward()
    told = outline(trace, ("F.linear(input, w_ih, b_ih)", "F.linear(state[0], w_hh, b_hh)"))
    each = one.count("\n") + 2
    assert told.startswith(
        f"{line}:\n  F.linear(input, w_ih, b_ih): 3 nodes\n  linear(…, w_ih, b_ih).unbind(0)\n"
        f"  loop × 8:\n    round 1:\n{one}\n"
        f"    6 more rounds (2 to 7): {6 * each} nodes\n    round 8:\n{one}\n  out = stack(outputs[::turn])\n"
    )
    loss = "(out**2).sum()"
    assert told.endswith(f"\n{loss}:\n  out**2\n  (out**2).sum()")
    board = trace.show().storyboard
    seen = [box for id, box in board.at().boxes.items() if id not in board.opened]
    assert "loop × 8" in [box.title for box in board.at().boxes.values()] and len(seen) <= 25
    assert board.layout.width <= ROOM[0] / 0.6 and board.layout.height <= ROOM[1] / 0.6
    groups = [box for box in trace.show(open=[]).storyboard.at().boxes.values() if box.kind == "group"]
    assert [group.title for group in groups] == [line, loss]


def test_layers_and_directions_of_a_recurrent_layer_are_rounds_around_those_of_time() -> None:
    x = torch.randn(6, 2, 3)
    with record() as trace:
        _last = nn.GRU(3, 4, num_layers=2, bidirectional=True)(x)
    loops = [group for group in program_tree(trace.events).groups() if group.kind == "loop"]
    depths = [sum(group.kind == "loop" for group in loop.path) for loop in loops]
    assert [(loop.title, depth) for loop, depth in zip(loops, depths, strict=True)] == [
        ("loop × 2", 1),
        *[("loop × 2", 2), ("loop × 6", 3), ("loop × 6", 3)] * 2,
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
        f"for _step in range(steps) × {steps:,}:\n  round 1:{one}\n"
        f"  {steps - 2} more rounds (2 to {steps - 1}): {5 * (steps - 2)} nodes\n  round {steps:,}:{one}"
    )


STRETCHES = {
    300: ["rounds 2 to 11", "rounds 12 to 21", "rounds 22 to 31"],
    1000: ["rounds 2 to 101", "rounds 2 to 11", "rounds 12 to 21"],
}


@pytest.mark.parametrize("steps", [300, pytest.param(1000, marks=pytest.mark.slow)])
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


def test_a_scope_that_is_entered_again_is_a_second_call() -> None:
    a = torch.randn(3, requires_grad=True)
    with record() as trace:
        with torch.scope("prep"):
            u = (a * 2).sin()
        with torch.scope("mix"):
            v = (u + a).cos()
        with torch.scope("prep"):
            z = (v * 3).sin()
        (z * u).sum().backward()
    assert outline(trace) == tree("""
        prep:
          a * 2
          u = (a * 2).sin()
        mix:
          u + a
          v = (u + a).cos()
        prep, 2nd call:
          v * 3
          z = (v * 3).sin()
        z * u
        (z * u).sum()
        """)
    assert [group.names for group in program_tree(trace.events).groups()] == [
        ("prep",),
        ("mix",),
        ("prep, 2nd call", "prep"),
    ]


def test_what_is_around_one_thing_is_that_thing() -> None:
    w = torch.ones(2, requires_grad=True)
    act = nn.Sequential(nn.Tanh())

    def once(x: Any) -> Any:
        return twice(x)

    def twice(x: Any) -> Any:
        y = x * 2.0
        return y * 2.0

    def single(x: Any) -> Any:
        return x.exp()

    with record() as trace:
        act(w)
        once(w)
        single(w)
        with torch.scope("head"):
            w + 1.0
        for _ in range(1):
            w - 1.0
        for x in (1.0, 2.0):
            w * x
    assert outline(trace) == tree("""
        act.0 › Tanh
        once(w):
          x * 2.0
          y * 2.0
        single(w)
        head
        w - 1.0
        for x in (1.0, 2.0) × 2:
          round 1: w * x
          round 2: w * x
        """)


def test_a_program_in_one_function_begins_inside_it() -> None:
    w = torch.ones(2, requires_grad=True)

    def main() -> None:
        (w * 2.0).sum().backward()

    with record() as trace:
        main()
    assert outline(trace) == "w * 2.0\n(w * 2.0).sum()"


def test_calls_of_helpers_are_groups_with_the_words_of_the_call() -> None:
    w = torch.ones(2, requires_grad=True)

    def act(x: Any) -> Any:
        return (x * 2.0).exp()

    with record() as trace:
        y = act(w)
        y = act(y) + act(y)
    one = ":\n  x * 2.0\n  (x * 2.0).exp()\n"
    assert outline(trace) == f"act(w){one}act(y){one}act(y), 2nd call{one}y = act(y) + act(y)"


def test_patterns_of_several_repeat() -> None:
    space = {"y": torch.ones(2, requires_grad=True)}
    with record() as trace:
        exec("y = (y * 2.0 + 1.0).sin()\n" * 100, space)
        space["y"].sum()
    root = program_tree(trace.events)
    (call, last) = root.items
    assert isinstance(call, Group) and call.kind == "call" and isinstance(last, str)
    titles = [item.title if isinstance(item, Group) else root.titles[item] for item in call.items]
    assert titles == [
        *["MulBackward0", "AddBackward0", "SinBackward0", "98 more of mul, add, sin"],
        *["MulBackward0, 100th", "AddBackward0, 100th", "SinBackward0, 100th"],
    ]
    assert all(len(group.items) <= MOST for group in root.groups())


def test_layers_that_are_alike() -> None:
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(6)])
    with record() as trace:
        net(torch.ones(1, 2))
    assert outline(trace, ("0 › Linear", "5 › Linear")) == (
        "net › Sequential:\n  0 › Linear: 2 nodes\n  4 more (1 to 4 › Linear): 8 nodes\n  5 › Linear: 2 nodes"
    )


def test_rounds_that_differ_stand_for_themselves() -> None:
    w = torch.ones(2, requires_grad=True)
    with record() as trace:
        for n in range(9):
            y = w * 2.0
            if n == 0:
                y = y + 1.0
            y.sin()
    plain, last = "\n    w * 2.0\n    y.sin()", "\n    y = w * 2.0\n    y.sin()"
    assert outline(trace) == (
        "for n in range(9) × 9:\n  round 1:\n    w * 2.0\n    y + 1.0\n    y.sin()\n"
        f"  round 2:{plain}\n  6 more rounds (3 to 8): 12 nodes\n  round 9:{last}"
    )


def test_long_expressions_leave_out_what_has_a_box_of_its_own() -> None:
    w, größe = torch.ones(2, requires_grad=True), 2.0
    with record() as trace:
        (w * größe) + torch.cos(w * größe + w.sum()) * 1234567890.1234567890 - w.exp()
    assert outline(trace).splitlines() == [
        "w * größe",
        "w * größe, 2nd",
        "w.sum()",
        "w * größe + w.sum()",
        "torch.cos(w * größe + w.sum())",
        "cos(w * größe + w.sum()) * …",
        "… + cos(w * größe + w.sum()) * …",
        "w.exp()",
        "(w * größe) + … - w.exp()",
    ]


def test_derivatives_of_derivatives_are_in_the_expression_that_asks_for_them_if_they_are_many() -> None:
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
    own = "PowBackward0\nMulBackward0\nMulBackward0, 2nd"
    assert outline(trace) == f"x**3\ny = (x**3).sum()\n{own}\ng.sum()"
    with record() as trace:
        y = (x * x.exp().sin().tanh() * x.cos() * x.sigmoid() * (x + 1).log() ** 3 / x.sqrt()).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
    line, group = program_tree(trace.events).groups()
    assert line.kind == "line" and line.title == "y = (… * (x + 1).log() ** 3 / …).sum()" and len(line.items) == 15
    assert group.kind == "call" and group.names[0] == "torch.autograd.grad(y, x, create_graph=True)"
    assert len(group.items) > 20


def test_what_a_hook_and_a_custom_backward_compute_has_its_own_words() -> None:
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
    with record() as trace:
        y = Cube.apply(x)
        y.register_hook(lambda grad: grad * x)
        y.sum().backward(create_graph=True)
    told = outline(trace).splitlines()
    assert {"grad * x", "grad * 3", "x**2", "grad * 3 * x**2"} <= {*told}


def test_what_was_there_before_splits_nothing() -> None:
    x = torch.ones(2, requires_grad=True)

    def write() -> None:
        z = torch.zeros(3)
        v = z[:2]
        v.mul_(x)
        z.sum().backward()
        v.sum()

    with record() as trace:
        write()
    assert outline(trace) == "MulBackward0\nCopySlices\nz.sum()\nas_strided(z, …)\nv.sum()"


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


def test_a_saved_trace_has_the_same_tree() -> None:
    trace = train(10)
    assert outline(Trace.from_dict(trace.to_dict())) == outline(trace)


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


def test_every_group_knows_what_it_lies_in() -> None:
    root = program_tree(train(10).events)
    groups = list(root.groups())
    assert [group.id for group in groups] == [f"g{number}" for number in range(1, len(groups) + 1)]
    assert [group.title for group in groups[1].path] == ["for _step in range(steps) × 10", "round 1"]
    assert groups[0].parent is None


def between(trace: Any) -> list[str]:
    return [group.title for group in program_tree(trace.events).groups() if group.kind == "more"]


def test_what_lies_between_the_first_and_the_last_is_told_by_what_it_is() -> None:
    x, w = torch.rand(8, 1, 2), torch.ones(2, requires_grad=True)
    with record() as steps:
        nn.RNN(2, 3)(x)
    with record() as layers:
        nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(2, 2), nn.Sigmoid())])(x[0])
    space = {"w": w}
    with record() as alike:
        exec("w = w.sin()\n" * 20, space)
    with record() as turns:
        exec("w = w.sin().cos()\n" * 20, {"w": w})
    assert between(steps) == ["6 more rounds (2 to 7)"]
    assert between(turns) == ["18 more of sin, cos"]
    assert between(layers) == ["4 more (2 › Linear to 9 › Sigmoid)"]
    assert between(alike) == ["18 more of sin"]
