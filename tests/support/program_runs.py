"""What running a random program shows.

The text of a program is the same for both modules. A line that fails is part of the outcome, and the program goes on:
the name the line would have given is then another name of its first operand.
"""

from __future__ import annotations

import warnings
from typing import Any

from oracle import plain, sentence

LEAVES = {
    "a": ("[[0.5, -1.5, 0.25], [1.0, 0.75, -0.5]]", True),
    "b": ("[1.5, -0.25, 0.5]", True),
    "c": ("[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]", False),
    "d": ("[0.0, 0.0, 0.0]", False),
}
MADE = {"p": "a.clone()", "q": "b * 1.0"}


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

    def own(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def inner(ctx: Any, x: Any) -> Any:
        ctx.half = x * 0.5
        ctx.save_for_backward(x, ctx.half)
        return ctx.half * x

    def some(ctx: Any, x: Any, y: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, y * 3

    def three(ctx: Any, x: Any, y: Any) -> Any:
        kept = x * 3
        ctx.mark_non_differentiable(kept)
        ctx.save_for_backward(x, y)
        return x * y, kept

    def take(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.save_for_backward(x, y)
        return x.mul_(y)

    def of_take(ctx: Any, g: Any) -> Any:
        _, y = ctx.saved_tensors
        return g * y, (g * 2).sum_to_size(y.shape)

    once = torch.autograd.function.once_differentiable
    return {
        "Double": made("Double", lambda ctx, x: x * 2, lambda ctx, g: g * 2),
        "Bump": made("Bump", bump, lambda ctx, g: g * 3),
        "Keep": made("Keep", keep, lambda ctx, g: 2 * g * ctx.saved_tensors[0]),
        "Same": made("Same", lambda ctx, x: x, lambda ctx, g: g * 5),
        "Pair": made("Pair", lambda ctx, x: (x.view_as(x), x * 2), lambda ctx, g, h: g + h * 2),
        "Own": made("Own", own, lambda ctx, g: g * ctx.saved_tensors[0]),
        "Inner": made("Inner", inner, lambda ctx, g: g * (ctx.saved_tensors[0] + ctx.saved_tensors[1])),
        "Once": made("Once", lambda ctx, x: x * 2, once(lambda ctx, g: g * 2)),
        "Seen": made("Seen", lambda ctx, x: x.detach(), lambda ctx, g: g * 2),
        "Bad": made("Bad", lambda ctx, x: x + 1, lambda ctx, g: (g, g)),
        "Part": made("Part", lambda ctx, x: x.view_as(x), lambda ctx, g: g * 7),
        "Two": made("Two", lambda ctx, x, y: (x, x * y), lambda ctx, g, h: (g, None)),
        "Some": made("Some", some, lambda ctx, g, h: (g, None if h is None else h * 3)),
        "Three": made("Three", three, lambda ctx, g, h: (g * ctx.saved_tensors[1], None)),
        "Take": made("Take", take, of_take),
    }


def executed(program: list[str], torch: Any, look_often: bool) -> list[Any]:
    """What each line of a program shows, and at the end what every tensor is."""
    seen: list[Any] = []

    def note(name: str) -> Any:
        return lambda *grads: seen.append((name, plain(grads), torch.is_grad_enabled()))

    def hooked() -> Any:
        return torch.autograd.graph.saved_tensors_hooks(lambda t: (show(t), t.clone())[1], lambda t: t)

    def show(*saved: Any) -> None:
        seen.append(("saved", [plain(t.tolist() if isinstance(t, torch.Tensor) else t) for t in saved], None))

    scope = {"torch": torch, "note": note, "show": show, "hooked": hooked, **functions(torch)}
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
