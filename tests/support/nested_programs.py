"""Random programs of nested loops, functions, modules, scopes and backwards, with the truth about their loops.

Each statement that computes has a text of its own, and notes in which rounds it ran: `noted["h * 1.07"]` has the
numbers of the rounds of all loops around it, from the outermost, for each time. The same text runs in both engines.
"""

from __future__ import annotations

import linecache
import random
from typing import Any

SHAPE = "(2, 3)"
HEAD = """
def leaf(n):
    return (torch.arange(6.0).reshape(2, 3) / 7 + n / 10).requires_grad_()

w, u, v = leaf(1), leaf(2), leaf(3)
ws = [w, u, leaf(4)]
weights = [*ws, v]
named = torch.ones(2, 3) / 2
cs = [torch.ones(2, 3) / (n + 2) for n in range(4)]
rows = torch.ones(8, 2, 3) / 3

class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.inner = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    def forward(self, h, x):
        z = torch.sigmoid(self.gate(h + x))
        return z * h + (1 - z) * torch.tanh(self.inner(h * x))

class Stack(torch.nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.cells = torch.nn.ModuleList(cells)
    def forward(self, h, x):
        for cell in self.cells:
            h = cell(h, x)
        return h

cells = [Cell(), Cell()]
stack = Stack([*cells, Cell()])
for module in [*cells, stack]:
    for at, parameter in enumerate(module.parameters()):
        parameter.data.copy_(torch.arange(float(parameter.numel())).reshape(parameter.shape) / (9 + at))
    weights += module.parameters()
"""


class Draft:
    """A program in the making."""

    def __init__(self, seed: int, trains: bool | None = None) -> None:
        self.choose = random.Random(seed)
        self.functions: list[str] = []
        self.made = 0  # functions
        self.loops = 0
        self.statements = 0
        self.trains = self.choose.random() < 0.4 if trains is None else trains

    def operation(self) -> str:
        """An expression with a number that no other has."""
        self.statements += 1
        n = f"{self.statements}.0"
        forms = [
            f"h * (1 / {n}) + w",
            f"h + u / {n}",
            f"torch.tanh(h * {n})",
            f"h * torch.full({SHAPE}, 1 / {n})",
            f"h + named / {n}",
            f"h * cs[{self.choose.randrange(4)}] / {n}",
            f"h + rows[{self.choose.randrange(8)}] * v / {n}",
            f"(h * w + ws[1] / {n}).sigmoid()",
            f"h + held / {n}",
            f"torch.stack([h, w]).mean(0) / {n}",
            f"sum(torch.split(h / {n}, 1)) + h",
        ]
        return self.choose.choice(forms)

    def block(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        """A few statements; `rounds` are the variables that count the loops around them."""
        lines: list[str] = []
        for _ in range(self.choose.choice([1, 1, 2, 2, 3])):
            kind = self.choose.choice("ooollllfmskt" if depth < 3 else "ooom")
            lines += getattr(self, f"_{kind}")(depth, rounds, indent)
        return lines

    def _o(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        text = self.operation()
        return [f"{indent}h = {text}", f"{indent}note({text!r}, (*r, {''.join(f'{each}, ' for each in rounds)}))"]

    def _l(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        """A loop; at least one statement of its body runs in every round."""
        self.loops += 1
        i, count = f"i{self.loops}", self.choose.choice([1, 2, 2, 3, 5])
        heads = [
            f"for {i} in range({count}):",
            f"for {i}, c{i} in enumerate([w] * {count}):",
            f"for {i}, (a{i}, b{i}) in enumerate(zip(cs[:{min(count, 4)}], ws * 2)):",
            f"for {i}, x{i} in enumerate(rows[:{count}]):",
        ]
        inner = self.block(depth + 1, (*rounds, i), indent + "    ")
        return [indent + self.choose.choice(heads), *inner]

    def _f(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        """A call of a function of its own."""
        name = f"f{self.made}"
        self.made += 1
        body = self.block(depth + 1, (), "    ")
        self.functions += [f"def {name}(h, r, held):", *body, "    return h", ""]
        return [f"{indent}h = {name}(h, (*r, {''.join(f'{each}, ' for each in rounds)}), held)"]

    def _m(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        module = self.choose.choice(["cells[0]", "cells[1]", "stack"])
        x = self.choose.choice(["w", "named", "cs[0]", "rows[1]", "held", f"torch.ones{SHAPE}"])
        return [f"{indent}h = {module}(h, {x})"]

    def _s(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        name = self.choose.choice(["encoder", "decoder", "head"])
        return [f"{indent}with scope({name!r}):", *self.block(depth + 1, rounds, indent + "    ")]

    def _k(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        """A constant without a name that several of the next blocks are given."""
        text = self.choose.choice([f"torch.ones{SHAPE} / 5", "rows[2]", "cs[1] * 2", "held"])
        return [f"{indent}held = {text}", *self._o(depth, rounds, indent)]

    def _t(self, depth: int, rounds: tuple[str, ...], indent: str) -> list[str]:
        if not self.trains:
            return self._o(depth, rounds, indent)
        ways = {
            "backward": ["(h * h).mean().backward()"],
            "update": ["(h * h).mean().backward()", "update(weights)"],
            "again": ["h.mean().backward(retain_graph=True)", "(h * h).mean().backward()"],
            "grad": [
                "(g,) = torch.autograd.grad((h * h).mean(), [w], create_graph=True, allow_unused=True)",
                "h = h if g is None else h + g",
            ],
            "nothing": [],
        }
        way = self.choose.choice(list(ways))
        cut = [] if way == "grad" else [f"{indent}h = w + h.detach() / 2"]
        return [*self._o(depth, rounds, indent), *[indent + line for line in ways[way]], *cut]

    def text(self) -> str:
        """The program."""
        lines = self.block(0, (), "    ")
        end = ["    if h.requires_grad:", "        loss = (h * h).mean()", "        loss.backward()"]
        body = ["def main(h, r, held):", *lines, *end, "    return h"]
        update = ["def update(weights):", "    with torch.no_grad():", "        for each in weights:"]
        update += ["            if each.grad is not None:", "                each -= each.grad / 50"]
        update += ["                each.grad = None", ""]
        return "\n".join([HEAD, *update, *self.functions, *body, ""])


def recorded(
    seed: int, torch: Any, scope: Any, record: Any, trains: bool | None = None
) -> tuple[Any, dict[str, list[tuple[int, ...]]], dict[str, Any]]:
    """The trace of a random program, the rounds in which each statement ran, and the program's variables."""
    text, file = Draft(seed, trains).text(), f"<program {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    noted: dict[str, list[tuple[int, ...]]] = {}
    there: dict[str, Any] = {"torch": torch, "scope": scope}
    there["note"] = lambda text, rounds: noted.setdefault(text, []).append(tuple([each + 1 for each in rounds]))
    torch.manual_seed(0)
    exec(compile(text, file, "exec"), there)
    with record() as trace:
        there["main"](there["w"] * 1, (), torch.ones(2, 3) / 4)
    return trace, noted, there
