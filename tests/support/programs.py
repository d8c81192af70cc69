"""Random programs: lines of text over tensors, views, writes, modes, hooks and backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Shape = tuple[int, ...]

SHAPES: dict[str, Shape] = {"a": (2, 3), "b": (3,), "c": (2, 3), "d": (3,), "p": (2, 3), "q": (3,)}

UNARY = (
    *("tanh({x})", "sigmoid({x})", "relu({x})", "abs({x})", "-{x}", "{x} * 2.0", "1.0 - {x}", "{x}.clone()"),
    *("{x}.exp()", "{x} ** 2", "1.0 / ({x} + 9.0)", "{x}.clamp(-1.0, 1.0)", "torch.stack([{x}, {x}])[0]"),
    *("{x}.softmax(0)", "{x}.cumsum(0)", "{x} - {x}.mean()", "{x}.where({x} > 0, {x} * 3)"),
    *("{x} * {x}.data", "{x}.to(torch.float32).to(torch.float64)"),
)
BINARY = (
    *("{x} + {y}", "{x} - {y}", "{x} * {y}", "torch.maximum({x}, {y})", "{x} / ({y} * {y} + 1.0)"),
    *("torch.where({y} > 0, {x}, {y})", "{y} - {x}", "torch.stack([{x}, {x} + {y}]).sum(0)", "Two.apply({x}, {y})[0]"),
    *("Three.apply({x}, {y})[0]", "Three.apply({x}, {y})[1]", "Some.apply({x}, {y})[0]", "Some.apply({x}, {y})[1]"),
)
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
    "{x}.exp_()",
    "{x}.clamp_(-1.0, 1.0)",
    "{x}.div_({y} * {y} + 1.0)",
    "{x}.masked_fill_({x} > 0, 0.5)",
    "{x}[{x} > 0] = 0.25",
    "{x}.data.mul_(3.0)",
    "{x}.detach().mul_(0.5)",
    "Take.apply({x}, {y})",
    "torch.autograd.graph.increment_version({x})",
)
FUNCTIONS = (
    *("Double.apply({x})", "Keep.apply({x})", "Same.apply({x})", "Pair.apply({x})[0]", "Pair.apply({x})[1]"),
    *("Own.apply({x})", "Inner.apply({x})", "Once.apply({x})", "Seen.apply({x})", "Bad.apply({x})"),
)
HOOKS = (
    "{x}.grad_fn; {x}.register_hook(note('{x}'))",  # PyTorch crashes on a view whose grad_fn is out of date
    "{x}.grad_fn; {x}.register_hook(lambda g: g * 2)",
    "{x}.retain_grad()",
    "{x}.grad_fn.register_hook(note('after {x}'))",
    "{x}.grad_fn.register_prehook(note('before {x}'))",
    "{x}.register_post_accumulate_grad_hook(note('accumulated {x}'))",
    "{x}.grad_fn.register_hook(lambda i, o: tuple(g if g is None else g * 2 for g in i))",
    "{x}.grad_fn.register_prehook(lambda o: tuple(g if g is None else g * 3 for g in o))",
    "{x}.grad_fn; torch.autograd.graph.register_multi_grad_hook([{x}, a, b], note('several of {x}'))",
    "{x}.grad_fn; torch.autograd.graph.register_multi_grad_hook([{x}, p], note('any of {x}'), mode='any')",
    "{x}.grad_fn; h = {x}.register_hook(note('gone {x}'))",
    "h.remove()",
    "{x}.grad_fn; {x}.register_hook(lambda g: (b * b).sum().backward())",
    "e = torch.autograd.graph.get_gradient_edge({x})",
)
FLAGS = (
    *("{x}.requires_grad_()", "{x}.requires_grad_(False)", "{x}.detach_()", "{x}.grad = None"),
    *("{x}.grad.zero_()", "show(*{x}.grad_fn.saved_tensors)", "show({x}.grad_fn._saved_self)"),
    *("show({x}.grad_fn._saved_result)", "show({x}.grad_fn._saved_other)"),
    *("{x}.data = {x}.data * 2", "{x}.grad = torch.ones_like({x})"),
)
BACKWARDS = (
    "{x}.sum().backward()",
    "{x}.sum().backward(retain_graph=True)",
    "{x}.sum().backward(create_graph=True)",
    "{x}.backward(torch.ones_like({x}))",
    "{x}.sum().backward(inputs=[{y}], retain_graph=True)",
    "{n} = torch.autograd.grad({x}.sum(), {y})",
    "{n} = torch.autograd.grad({x}.sum(), [{y}, a], retain_graph=True, allow_unused=True)",
    "{n} = torch.autograd.grad(({x} * {x}).sum(), {y}, create_graph=True)[0] + 0.0",
    "{n} = torch.autograd.grad({x}.sum(), e, retain_graph=True)",
    "torch.autograd.backward([{x}, {y}], [torch.ones_like({x}), torch.ones_like({y})], retain_graph=True)",
    "{n} = torch.autograd.grad({x}.sum(), {y}, materialize_grads=True, retain_graph=True)",
    "{x}.sum().backward(inputs=[{y}, a])",
)
MODES = (
    *("", "", "", "", "", "", "with torch.no_grad(): ", "with torch.no_grad(): ", "with torch.enable_grad(): "),
    *("with torch.inference_mode(): ", "with hooked(): "),
)

# After a line with the one, not the others: PyTorch computes on inference tensors by writing, which shows, and crashes
# where a leaf that no longer requires grad is written by a Function.
FAULTS = {
    "inference_mode": ("{x}.clone()", "abs({x})"),
    ".requires_grad_(False)": ("Bump.apply({x})", "Take.apply({x}, {y})"),
    ".detach_()": ("Bump.apply({x})", "Take.apply({x}, {y})"),
}


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
        (f"{x}.view({x}.shape)", shape),
        (f"Part.apply({x})", shape),
        (f"{x}.contiguous()", shape),
        (f"{x}.to({x}.dtype)", shape),
        (f"{x}.data", shape),
    ]
    if shape:
        rest = shape[1:]
        found += [(f"{x}[0]", rest), (f"{x}.unbind()[0]", rest), (f"{x}.split(1)[0]", (1, *rest))]
        if shape[0] > 1:
            found += [(f"{x}[1:]", (shape[0] - 1, *rest)), (f"{x}[:1]", (1, *rest))]
            found += [(f"{x}[::2]", (-(-shape[0] // 2), *rest)), (f"{x}.narrow(0, 1, 1)", (1, *rest))]
    if len(shape) == 2:
        found += [(f"{x}.t()", shape[::-1]), (f"{x}[:, 0]", shape[:1]), (f"{x}.transpose(0, 1)", shape[::-1])]
        found += [(f"{x}.diagonal()", (min(shape),)), (f"{x}.chunk(2)[0]", (-(-shape[0] // 2), shape[1]))]
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

    def has(self, text: str) -> bool:
        """Whether some line has this in it."""
        return any(text in line for line in self.lines)

    def allowed(self, texts: Sequence[str]) -> list[str]:
        """Those of the texts that do not meet a fault of PyTorch's after the lines there are."""
        refused = [text for before, texts in FAULTS.items() if self.has(before) for text in texts]
        return [text for text in texts if text not in refused]

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
        if "inference" in mode and kind in "hr" or "hooked" in mode and (kind == "g" or draft.has("inference_mode")):
            mode = ""  # PyTorch cannot find leaves' nodes there, saves what it likes for second derivatives, or in part
        if kind == "u":
            draft.add(draw(st.sampled_from(draft.allowed(UNARY))).format(x=x), mode, shape)
        elif kind == "v":
            text, seen = draw(st.sampled_from(views_of(x, shape)))
            draft.add(text, mode, seen, of=x)
        elif kind == "f":
            text = draw(st.sampled_from(FUNCTIONS))
            draft.add(text.format(x=x), mode, shape, of=x)
        elif kind == "b":
            y = draw(st.sampled_from([n for n in names if _fits(draft.shapes[n], shape)]))
            draft.add(draw(st.sampled_from(BINARY)).format(x=x, y=y), mode, shape, of=x)
        elif kind == "w":
            y = draw(st.sampled_from(draft.readable(x)[::-1]))
            draft.add(draw(st.sampled_from(draft.allowed(WRITES))).format(x=x, y=y), mode)
        elif kind == "g":
            name = f"g{len(draft.lines)}"
            draft.add(draw(st.sampled_from(BACKWARDS)).format(x=x, y=draw(st.sampled_from(names)), n=name), mode)
        else:
            draft.add(draw(st.sampled_from(HOOKS if kind == "h" else FLAGS)).format(x=x), mode)
    return draft.lines
