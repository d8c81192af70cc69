"""Random programs: lines of text over tensors, views, writes, modes, hooks and backwards, and what running them shows.

The text of a program is the same for both modules. A line that fails is part of the outcome, and the program goes on:
the name the line would have given is then another name of its first operand.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from oracle import plain, sentence

Shape = tuple[int, ...]

LEAVES = {
    "a": ("[[0.5, -1.5, 0.25], [1.0, 0.75, -0.5]]", True),
    "b": ("[1.5, -0.25, 0.5]", True),
    "c": ("[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]", False),
    "d": ("[0.0, 0.0, 0.0]", False),
}
MADE = {"p": "a.clone()", "q": "b * 1.0"}
SHAPES: dict[str, Shape] = {"a": (2, 3), "b": (3,), "c": (2, 3), "d": (3,), "p": (2, 3), "q": (3,)}

UNARY = ("tanh({x})", "sigmoid({x})", "relu({x})", "abs({x})", "-{x}", "{x} * 2.0", "1.0 - {x}", "{x}.clone()")
BINARY = ("{x} + {y}", "{x} - {y}", "{x} * {y}", "torch.maximum({x}, {y})", "{x} / ({y} * {y} + 1.0)")
WRITES = (
    "{x}.mul_(2.0)",
    "{x}.tanh_()",
    "{x}.sigmoid_()",
    "{x}.relu_()",
    "{x}.zero_()",
    "{x}.fill_(1.5)",
    "{x}.neg_()",
    "{x}.add_({y})",
    "{x}.mul_({y})",
    "{x}.copy_({y} * 1.5)",
    "{x}[...] = {y}",
    "{x} += {y}",
    "{x} *= {x}",
    "Bump.apply({x})",
)
FUNCTIONS = ("Double.apply({x})", "Keep.apply({x})", "Same.apply({x})", "Pair.apply({x})[0]", "Pair.apply({x})[1]")
HOOKS = (
    "{x}.grad_fn; {x}.register_hook(note('{x}'))",  # PyTorch crashes on a view whose grad_fn is out of date
    "{x}.grad_fn; {x}.register_hook(lambda g: g * 2)",
    "{x}.retain_grad()",
    "{x}.grad_fn.register_hook(note('after {x}'))",
    "{x}.grad_fn.register_prehook(note('before {x}'))",
    "{x}.register_post_accumulate_grad_hook(note('accumulated {x}'))",
)
FLAGS = ("{x}.requires_grad_()", "{x}.requires_grad_(False)", "{x}.detach_()", "{x}.grad = None")
BACKWARDS = (
    "{x}.sum().backward()",
    "{x}.sum().backward(retain_graph=True)",
    "{x}.sum().backward(create_graph=True)",
    "{x}.backward(torch.ones_like({x}))",
    "{x}.sum().backward(inputs=[{y}], retain_graph=True)",
    "{n} = torch.autograd.grad({x}.sum(), {y})",
    "{n} = torch.autograd.grad({x}.sum(), [{y}, a], retain_graph=True, allow_unused=True)",
    "{n} = torch.autograd.grad(({x} * {x}).sum(), {y}, create_graph=True)[0].clone()",
)
MODES = ("", "", "", "", "", "with torch.no_grad(): ", "with torch.no_grad(): ", "with torch.enable_grad(): ")


def views_of(x: str, shape: Shape) -> list[tuple[str, Shape]]:
    """Views of a tensor of that shape, as text, and their shapes."""
    found = [
        (f"{x}.detach()", shape),
        (f"{x}.view_as({x})", shape),
        (f"{x}[...]", shape),
        (f"{x}.unsqueeze(0)", (1, *shape)),
        (f"{x}.reshape(-1)", (_count(shape),)),
        (f"{x}.squeeze()", tuple(n for n in shape if n != 1)),
        (f"{x}.expand(2, *{x}.shape)", (2, *shape)),
    ]
    if shape:
        rest = shape[1:]
        found += [(f"{x}[0]", rest), (f"{x}.unbind()[0]", rest), (f"{x}.split(1)[0]", (1, *rest))]
        if shape[0] > 1:
            found += [(f"{x}[1:]", (shape[0] - 1, *rest)), (f"{x}[:1]", (1, *rest))]
            found += [(f"{x}[::2]", (-(-shape[0] // 2), *rest)), (f"{x}.narrow(0, 1, 1)", (1, *rest))]
    if len(shape) == 2:
        found += [(f"{x}.t()", shape[::-1]), (f"{x}[:, 0]", shape[:1]), (f"{x}.transpose(0, 1)", shape[::-1])]
    return found


def _count(shape: Shape) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def _fits(y: Shape, x: Shape) -> bool:
    """Whether a tensor of shape y can be broadcast to shape x."""
    return len(y) <= len(x) and all(b in (1, a) for a, b in zip(x[::-1], y[::-1], strict=False))


@dataclass
class Draft:
    """A program in the making: its lines, and of the names it has given their shapes and whose memory they may be."""

    shapes: dict[str, Shape] = field(default_factory=lambda: dict(SHAPES))
    memory: dict[str, str] = field(default_factory=lambda: {name: name for name in SHAPES})
    lines: list[str] = field(default_factory=list)

    def add(self, text: str, mode: str = "", shape: Shape | None = None, of: str | None = None) -> None:
        """One more line; with a shape it names a new tensor, which may lie in the memory of another."""
        if shape is not None:
            name = f"t{len(self.shapes) - len(SHAPES)}"
            text, self.shapes[name] = f"{name} = {text}", shape
            self.memory[name] = name if of is None else self.memory[of]
        self.lines.append(mode + text)

    def readable(self, x: str) -> list[str]:
        """What may be written into x: what PyTorch does with other parts of the same memory is not defined."""
        fitting = [n for n in self.shapes if _fits(self.shapes[n], self.shapes[x])]
        return [n for n in fitting if n == x or self.memory[n] != self.memory[x]]


@st.composite
def programs(draw: Any, longest: int = 12) -> list[str]:
    """A program of a few lines."""
    draft = Draft()
    for _ in range(draw(st.integers(1, longest))):
        names = list(draft.shapes)[::-1]  # simplest first: what was named last
        x = draw(st.sampled_from(names))
        shape = draft.shapes[x]
        mode = draw(st.sampled_from(MODES))
        kind = draw(st.sampled_from("uuubbbvvvvvvwwwwwwfhhrgggg"))
        if kind == "u":
            draft.add(draw(st.sampled_from(UNARY)).format(x=x), mode, shape)
        elif kind == "v":
            text, seen = draw(st.sampled_from(views_of(x, shape)))
            draft.add(text, mode, seen, of=x)
        elif kind == "f":
            text = draw(st.sampled_from(FUNCTIONS))
            draft.add(text.format(x=x), mode, shape, of=x)
        elif kind == "b":
            y = draw(st.sampled_from([n for n in names if _fits(draft.shapes[n], shape)]))
            draft.add(draw(st.sampled_from(BINARY)).format(x=x, y=y), mode, shape)
        elif kind == "w":
            y = draw(st.sampled_from(draft.readable(x)[::-1]))
            draft.add(draw(st.sampled_from(WRITES)).format(x=x, y=y), mode)
        elif kind == "g":
            name = f"g{len(draft.lines)}"
            draft.add(draw(st.sampled_from(BACKWARDS)).format(x=x, y=draw(st.sampled_from(names)), n=name), mode)
        else:
            draft.add(draw(st.sampled_from(HOOKS if kind == "h" else FLAGS)).format(x=x), mode)
    return draft.lines


def functions(torch: Any) -> dict[str, Any]:
    """The Functions that programs apply."""

    def made(name: str, forward: Any, backward: Any) -> Any:
        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (torch.autograd.Function,), members)

    def bump(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x.add_(1))
        return x

    def keep(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return {
        "Double": made("Double", lambda ctx, x: x * 2, lambda ctx, g: g * 2),
        "Bump": made("Bump", bump, lambda ctx, g: g * 3),
        "Keep": made("Keep", keep, lambda ctx, g: 2 * g * ctx.saved_tensors[0]),
        "Same": made("Same", lambda ctx, x: x, lambda ctx, g: g * 5),
        "Pair": made("Pair", lambda ctx, x: (x.view_as(x), x * 2), lambda ctx, g, h: g + h * 2),
    }


def executed(program: list[str], torch: Any, look_often: bool) -> list[Any]:
    """What each line of a program shows, and at the end what every tensor is."""
    seen: list[Any] = []

    def note(name: str) -> Any:
        return lambda *grads: seen.append((name, plain(grads), torch.is_grad_enabled()))

    scope = {"torch": torch, "note": note, **functions(torch)}
    scope |= {name: getattr(torch, name) for name in ("tanh", "sigmoid", "relu", "abs")}
    for name, (numbers, requires_grad) in LEAVES.items():
        scope[name] = torch.tensor(eval(numbers), dtype=torch.float64, requires_grad=requires_grad)
    scope |= {name: eval(text, scope) for name, text in MADE.items()}
    # What a backward records of itself has PyTorch's values but not, node by node, PyTorch's graph.
    graph = not any("create_graph" in line for line in program)
    for line in program:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(line, scope)
                outcome: Any = "done"
            except Exception as error:
                outcome = plain(error)
                _stand_in(line, scope)
        texts = [sentence(str(w.message)) for w in caught]
        seen.append((line, outcome, [text for text in texts if not text.startswith("Using backward()")]))
        if look_often:
            seen.append(_tensors(scope, torch, graph))
    return [*seen, _tensors(scope, torch, graph)]


def _stand_in(line: str, scope: dict[str, Any]) -> None:
    """After a line that failed: its name for its first operand."""
    name, assigned, text = line.rpartition(": ")[2].partition(" = ")
    if assigned and name.isidentifier():
        words = "".join(c if c.isalnum() else " " for c in text).split()
        scope[name] = next(scope[w] for w in words if isinstance(scope.get(w), scope["torch"].Tensor))


def _tensors(scope: dict[str, Any], torch: Any, graph: bool) -> dict[str, Any]:
    """Everything that a program can see of its tensors, and the graph behind them, its nodes in order of age."""
    named = {name: t for name, t in scope.items() if isinstance(t, torch.Tensor)}
    nodes: dict[Any, int] = {}
    shown = {}
    for name, t in named.items():
        asked = {
            "values": lambda t: t.detach().tolist(),
            "facts": lambda t: (t.requires_grad, t.is_leaf, t.output_nr, t.retains_grad, t._is_view(), tuple(t.shape)),
            "version": lambda t: t._version,
            "base": lambda t: next((n for n, other in named.items() if other is t._base), t._base is None),
            "node": lambda t: _number(t.grad_fn, nodes) if graph else None,
            "grad": lambda t: t.grad.detach() if t.is_leaf and t.grad is not None or t.retains_grad else None,
        }
        shown[name] = {what: _answer(ask, t) for what, ask in asked.items()}
    ages = sorted(n._sequence_nr() for n in nodes)
    edges = {n: [_place(edge, nodes) for edge in n.next_functions] for n in nodes}
    return shown | {"graph": [(n.name(), ages.index(n._sequence_nr()), edges[n]) for n in nodes]}


def _answer(ask: Any, t: Any) -> Any:
    try:
        return plain(ask(t))
    except Exception as error:
        return plain(error)


def _number(node: Any, nodes: dict[Any, int]) -> int | None:
    """A node's number in order of discovery, and those of all nodes behind it."""
    stack = [node]
    while stack:
        seen = stack.pop()
        if seen is not None and seen not in nodes:
            nodes[seen] = len(nodes)
            stack += [parent for parent, _ in reversed(seen.next_functions)]
    return None if node is None else nodes[node]


def _place(edge: Any, nodes: dict[Any, int]) -> Any:
    node, nr = edge
    return (None if node is None else nodes[node]), nr
