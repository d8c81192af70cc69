"""Random programs over every kind of operation, view, write, hook, mode and error, under the workbench and PyTorch.

    python tests/support/fuzz.py --programs 20000 --seed 0

prints each difference in a value, a graph, a version or in which side fails, with the shortest program that shows it,
those of one kind together. Those in `KNOWN` are counted only: they stay, for the reasons in workbench/DIFFERENCES.md.
A program is drawn line by line: PyTorch runs each line as it is drawn, and most lines that fail are drawn again.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import program_runs  # noqa: E402
from oracle import difference, entries, torch  # noqa: E402

import workbench  # noqa: E402

LEAVES = {
    "a": "torch.tensor([[0.5, -1.5, 0.25], [1.0, 0.75, -0.5]], dtype=torch.float64, requires_grad=True)",
    "b": "torch.tensor([1.5, -0.25, 0.5], dtype=torch.float64, requires_grad=True)",
    "c": "torch.tensor([[0.125, 0.25, 0.375], [0.5, 0.625, 0.75]], requires_grad=True)",
    "s": "torch.tensor(1.25, dtype=torch.float64, requires_grad=True)",
    "k": "torch.tensor([[2.0, -1.0, 0.5], [0.25, 3.0, -2.0]], dtype=torch.float64)",
    "v": "torch.tensor([[[1.0, -2.0, 0.5], [0.25, 3.0, 2.0]], [[0.5, 0.75, -1.0], [2.0, 1.5, -0.5]]],"
    " dtype=torch.float64, requires_grad=True)",
    "w": "torch.tensor([[1.0, 0.5], [-0.5, 0.25], [0.75, -1.0]], dtype=torch.float64, requires_grad=True)",
    "e": "torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)",
    "i": "torch.tensor([2, 0, 1])",
    "j": "torch.tensor([[1, 0, 1], [0, 1, 0]])",
    "n": "torch.tensor([[3, -2, 0], [1, 5, -4]])",
    "m": "torch.tensor([[True, False, True], [False, True, True]])",
    "o": "torch.tensor([True, False, True])",
}

# {x} {y} {z}: tensors; {d} a dimension, {r} a small number, {f} a float, {u} True or False, {sh} a shape, {ix} an index
METHODS = (
    "abs acos asin atan ceil cos cosh erf exp expm1 floor log log1p neg reciprocal relu round rsqrt sigmoid sign sin "
    "sinh sqrt square tan tanh trunc clone contiguous detach t ravel flatten float double bool long squeeze isnan "
    "isfinite logical_not nonzero sum mean prod max min amax amin all any std var norm argmax argmin logsumexp"
).split()
ALONG = (
    "sum mean prod max min amax amin argmax argmin all any std var cumsum cumprod softmax log_softmax logsumexp "
    "unsqueeze squeeze size sort"
).split()
PAIRS = "add sub mul div pow maximum minimum matmul mm mv dot bmm outer".split()
IN_PLACE = "abs neg exp tanh sigmoid relu sqrt square reciprocal round zero sin log1p".split()
UNARY = (
    *(f"{{x}}.{name}()" for name in METHODS),
    *(f"{{x}}.{name}({{d}})" for name in ALONG),
    *(f"{{x}}.{name}({{d}}, keepdim={{u}})" for name in "sum mean prod max min amax amin logsumexp".split()),
    *(f"{{x}}.{name}(({{d}}, {{d}}), keepdim={{u}})" for name in "sum mean amax var std logsumexp norm".split()),
    *(f"F.{name}({{x}})" for name in "relu gelu elu leaky_relu silu softplus logsigmoid sigmoid tanh".split()),
    *entries("""
    {x}.var(unbiased={u}) | {x}.std({d}, unbiased={u}) | {x}.sum(dtype=torch.float32) | {x}.norm({f})
    {x} ** {r} | {x} ** {f} | {r} ** {x} | {f} / {x} | {x} / {r} | {x} * {f} | {x} * {r} | {r} - {x} | {x} + {u}
    {x} - {f} | -{x} | abs({x}) | {x} % {f} | {x} // {f} | {x} > {f} | {x} == {r} | ~{x} | {x}.clamp({f}, {f})
    {x}.clamp(min={f}) | {x}.clamp(max={r}) | {x}.round(decimals={r}) | {x}.to(torch.float32)
    {x}.to(torch.float64) | {x}.to(torch.int64) | {x}.type(torch.float32) | {x}.permute({d}, {d})
    {x}.permute({d}, {d}, {d}) | {x}.transpose({d}, {d}) | {x}.movedim({d}, {d}) | {x}.view({sh})
    {x}.reshape({sh}) | {x}.expand({sh}) | {x}.repeat({sh}) | {x}.sum_to_size({sh}) | {x}.flatten({d}, {d})
    {x}.unflatten({d}, {sh}) | {x}.broadcast_to({sh}) | {x}.roll({r}, {d}) | {x}.roll({r}) | {x}.flip({d})
    {x}.flip(({d}, {d})) | {x}.tril({r}) | {x}.triu({r}) | {x}.mT | {x}.T | {x}.diagonal()
    {x}.diagonal({r}, {d}, {d}) | {x}.narrow({d}, {r}, {r}) | {x}.select({d}, {r}) | {x}.chunk({r}, {d})
    {x}.split({r}, {d}) | {x}.unbind({d}) | {x}.split(({r}, {r}), {d}) | {x}.topk({r}, {d})
    {x}.topk({r}, largest={u}) | {x}.sort({d}, descending={u}) | {x}.argsort({d}) | {x}[{ix}] | {x}[{ix}, {ix}]
    {x}[{ix}, {ix}, {ix}] | {x}[{ix}] | {x}[{ix}, {ix}] | torch.zeros_like({x})
    torch.ones_like({x}, dtype=torch.float32) | {x}.new_zeros({sh}) | {x}.data | torch.full_like({x}, {f})
    torch.where({x} > {f}, {x}, {f}) | torch.where({x} > {f}, {r}, {x}) | F.softmax({x}, {d})
    F.log_softmax({x}, {d}) | F.gelu({x}, approximate='tanh') | F.elu({x}, {f}) | F.layer_norm({x}, {sh})
    F.layer_norm({x}, {x}.shape[-1:]) | F.softplus({x}, {r}) | {x}.tolist() | F.nll_loss({x}, j[0][:2])
    F.cross_entropy({x}, j[0][:2]) | F.cross_entropy({x}, i[:2], reduction='none') | F.mse_loss({x}, {x} * 2)
    F.dropout({x}, 0.0) | {x}.detach() | {x}.requires_grad_() | {x}.item()
    torch.cumsum({x}, {d}, dtype=torch.float64) | {x}.mean({d}, dtype=torch.float32)
    {x}.prod(dtype=torch.float64)
    """),
)
BINARY = (
    *(f"{{x}} {sign} {{y}}" for sign in "+ - * / ** @ % // > >= < == != & | ^".split()),
    *(f"torch.{name}({{x}}, {{y}})" for name in PAIRS),
    *entries("""
    {x}.add({y}, alpha={f}) | {x}.sub({y}, alpha={r}) | {x}.where({y} > {f}, {z}) | torch.where(m, {x}, {y})
    torch.cat([{x}, {y}], {d}) | torch.stack([{x}, {y}], {d}) | torch.cat([{x}, {y}, {z}])
    torch.vstack([{x}, {y}]) | torch.hstack([{x}, {y}]) | {x}.expand_as({y}) | {x}.view_as({y})
    {x}.reshape_as({y}) | {x}.type_as({y}) | {x}.gather({d}, j) | {x}.gather({d}, i) | {x}.index_select({d}, i)
    {x}.index_select({d}, j[0]) | {x}.scatter({d}, j, {y}) | {x}.scatter({d}, j, {f})
    {x}.scatter_add({d}, j, {y}) | {x}.index_add({d}, i, {y}) | {x}.masked_fill(m, {f})
    {x}.masked_fill(o, {y}) | {x}.masked_select(m) | {x}.masked_select({y} > {f})
    torch.einsum('ij,jk->ik', {x}, {y}) | torch.einsum('ij,ij->', {x}, {y}) | torch.einsum('i,j->ji', {x}, {y})
    torch.addmm({x}, {y}, {z}) | F.linear({x}, {y}) | F.linear({x}, {y}, {z}) | F.mse_loss({x}, {y})
    F.mse_loss({x}, {y}, reduction='sum') | torch.isclose({x}, {y}) | torch.equal({x}, {y}) | {x}[{y} > {f}]
    {x}.div({y}, rounding_mode='floor') | {x}.div({y}, rounding_mode='trunc') | {x}.clamp({y}, {z})
    Keep.apply({x}) | Same.apply({x}) | Pair.apply({x})[0] | Pair.apply({x})[1] | Own.apply({x})
    Seen.apply({x}) | Part.apply({x}) | Two.apply({x}, {y})[0] | Two.apply({x}, {y})[1]
    Some.apply({x}, {y})[1] | Inner.apply({x}) | Three.apply({x}, {y})[0] | Three.apply({x}, {y})[1]
    Once.apply({x}) | torch.logical_xor({x}, {y}) | checkpoint(lambda t: t * t.exp(), {x}, use_reentrant=False)
    checkpoint(lambda t: t * t, {x}, use_reentrant=True) | F.cross_entropy({x}, {y})
    F.layer_norm({x}, {x}.shape[-1:], {y}, {z}) | {x}.index_put((i,), {y})
    """),
)
WRITES = (
    *(f"{{x}}.{name}_()" for name in IN_PLACE),
    *(f"{{x}}.{name}_({{y}})" for name in "add sub mul div copy pow".split()),
    *(f"{{x}}.{name}_({{f}})" for name in "add sub mul div fill pow".split()),
    *entries("""
    {x} += {y} | {x} -= {f} | {x} *= {y} | {x} /= {r} | {x} **= 2 | {x}.clamp_({f}, {f})
    {x}.masked_fill_(m, {f}) | {x}.masked_fill_({x} > {f}, {y}) | {x}[{ix}] = {y} | {x}[{ix}] = {f}
    {x}[{ix}, {ix}] = {y} | {x}[{ix}] += {y} | {x}[m] = {f} | {x}[o] = {y} | {x}[{x} > {f}] = {r}
    {x}.scatter_({d}, j, {f}) | {x}.scatter_add_({d}, j, {y}) | {x}.index_add_({d}, i, {y})
    {x}.index_put_((i,), {y}, accumulate={u}) | {x}.tril_() | {x}.cumsum_({d}) | {x}.add_({y}, alpha={f})
    {x}.data.mul_({f}) | {x}.detach().add_({r}) | {x}.data = {y} | {x}.t_() | Bump.apply({x})
    Take.apply({x}, {y}) | {x}.requires_grad_({u}) | {x}.detach_() | {x}.unsqueeze_({d})
    """),
)
HOOKS = (
    "{x}.grad_fn; {x}.register_hook(note('{x}'))",
    "{x}.grad_fn; {x}.register_hook(lambda g: g * 2)",
    "{x}.grad_fn; {x}.retain_grad()",
    "{x}.grad_fn.register_hook(note('after {x}'))",
    "{x}.grad_fn.register_prehook(note('before {x}'))",
    "{x}.register_post_accumulate_grad_hook(note('accumulated {x}'))",
    "show({x}.grad_fn._saved_self)",
    "show({x}.grad_fn._saved_result)",
    "{x}.grad = None",
    "{x}.grad.zero_()",
)
BACKWARDS = (
    "{x}.sum().backward()",
    "{x}.sum().backward(retain_graph=True)",
    "{x}.backward()",
    "{x}.backward(torch.ones_like({x}), retain_graph=True)",
    "{x}.mean().backward(inputs=[{y}], retain_graph=True)",
    "{n} = torch.autograd.grad({x}.sum(), {y}, retain_graph=True)",
    "{n} = torch.autograd.grad({x}.sum(), [a, b, c, s, v, w], allow_unused=True, retain_graph=True)",
    "{n} = torch.autograd.grad(({x} * {x}).sum(), {y}, create_graph=True)[0] * 1.0",
    "{n} = torch.autograd.grad({x}.sum(), [a, b, c, s, v, w], allow_unused=True, create_graph=True)[{r}] * 2",
    "{n} = torch.autograd.grad({x}, {y}, torch.ones_like({x}), materialize_grads=True, retain_graph=True)",
    "({x} * {y}).sum().backward(create_graph=True)",
)
TRANSFORMS = (
    "func.grad(lambda t: ({e}).sum())({x})",
    "func.vmap(lambda t: {e})({x})",
    "func.jvp(lambda t: {e}, ({x},), (torch.ones_like({x}),))",
    "func.jacrev(lambda t: {e})({x})",
    "func.jacfwd(lambda t: {e})({x})",
    "func.vjp(lambda t: {e}, {x})[1](torch.ones_like({e0}))",
    "func.vmap(func.grad(lambda t: ({e}).sum()))({x})",
    "func.hessian(lambda t: ({e}).sum())({x})",
)
MODES = (*[""] * 12, *["with torch.no_grad(): "] * 2, "with torch.enable_grad(): ", "with hooked(): ")
INDICES = (
    "0 1 -1 5 : 1: ::2 None ... True False [0,1] [[0,1],[1,0]] i o m i[:2] j i[0] -1: :1 (0,1) [True,False] 0:0"
).split()
SHAPES = "(2,3) (3,) (6,) (3,2) (2,-1) (-1,) (1,2,3) (2,2,3) () (1,) (4,3) (2,1) (0,3) (1,3) (3,1) (2,2)".split()


# What stays different: its row in workbench/DIFFERENCES.md, a pattern of the line, and one of what is told.
FLAG = r"^facts\['\w+'\]\['facts'\](\[1\])?\[0\]: .*\nFalse\nand torch has\nTrue"  # PyTorch's alone requires grad
EITHER = r"^facts\['\w+'\]\['facts'\]\[0\]: "
NUMBER = r"^facts\['\w+'\]\['(values|grad)'\]"
DERIVED = r"func\.(jvp|jacfwd|jacrev|hessian|grad|vjp)|autograd\.grad|create_graph"
KNOWN = (
    ("Integers that require grad", r"(_\(|\] = |[-+*/]= )", FLAG + r"\nof torch\.(int64|bool)$"),
    ("Derivatives that depend on nothing", DERIVED, EITHER),
    (
        "Saved tensors without a gradient",
        r"hooked.*(isclose|isfinite|argsort|rounding_mode)",
        r"^hooks: [^\n]*\n\[\]",
    ),
    ("Saved tensors without a gradient", r"hooked.*(logsigmoid|layer_norm|masked_fill_|func\.)", r"^hooks"),
    ("Saved tensors without a gradient", r"^show\(\w+\.grad_fn\._saved_", r"^fails: .*'DivBackward\d' object has"),
    ("Saved tensors without a gradient", r"^show\(\w+\.grad_fn\._saved_", r"^hooks\[0\]\[1\]"),
    ("Saved tensors without a gradient", r"backward", r"^fails: 'done'.*output 0 of AsStrided"),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*\.tri[lu]\(", r"^fails: .*at least 2 dimensions"),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*\.(scatter|gather)", r"^fails: .*[Ii]ndex tensor must"),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*\.(roll|flip)\(", NUMBER),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*\.t\(\)", r"^facts\['\w+'\]\['facts'\]\[1\]"),
    ("Shapes that PyTorch sees with the batch", r"func\.(vmap|hess|jac).*\.(view|reshape|ravel|flatten)", r"^fails: "),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*(broadcast_to|layer_norm|unflatten)", r"^fails: "),
    ("Shapes that PyTorch sees with the batch", r"func\.vmap.*\[", r"^fails: "),
    ("An index that takes nothing", r"\[|index_put", r"^fails: .IndexError: index.*torch's 'done'$"),
    ("Running sums of masks in place", r"\.cum(sum|prod)_\(", r"^fails: .*can't be cast.*torch's 'done'$"),
    ("Derivatives that share their elements", r"_\(|[+*/-]= |\] = |apply", r"^fails: .*more than one element of"),
    ("What only PyTorch refuses", r"func\.|grad\(|backward", r"^fails: 'done'.*(a bool tensor|select\(\): index 0)"),
    ("What only PyTorch refuses", r"func\.|grad\(|backward", r"^fails: 'done'.*Float can't be cast"),
    ("What only PyTorch refuses", r"func\.(jacfwd|hessian)", r"^fails: 'done'.*more than one element of"),
    ("What only PyTorch refuses", r"grad\(", r"values'\]\[0\]: .*\n'\w+'\nand torch has\n'RuntimeError'"),
    ("Masks of which one sample is a number", r"func\.vmap.*(-|sub)", r"^fails: .*a bool tensor.*torch's 'done'$"),
    ("Masks of which one sample is a number", r"func\.vmap.*masked_select", r"^fails: .*must match the size"),
    ("gelu at infinity", r"gelu", NUMBER + r".*\n-?inf\nand torch has\nnan"),
    ("Derivatives at no elements and at zeros", DERIVED + r"|backward\(", NUMBER + r".*\n.*\nand torch has\nnan"),
    ("Derivatives at no elements and at zeros", DERIVED + r".*prod\(", NUMBER + r".*\nnan\nand torch has"),
    ("Derivatives at no elements and at zeros", DERIVED, r"^fails: .*ZeroDivision"),
    ("Views that derivatives made", r"", r"^facts\['\w+'\]\['(facts|grad)'\].*'O', 'u', 't', 'p'"),
    ("Views that derivatives made", r"_\(|[+*/-]= ", r"^fails: 'done'.*(Can't detach views|created in no_grad mode)"),
    ("Floor division where no gradient is needed", r"backward|grad\(", r"^fails: 'done'.*aten::floor_divide is not"),
    ("Rounding enlarged", r"//|%|rounding_mode|reciprocal|rsqrt|log|1 / |sort", NUMBER),
    ("Floats among integers", r"masked_fill", r"^fails: 'done'.*Autograd not support dtype"),
    ("Floats among integers", r"backward|grad\(", r"^fails: 'done'.*match the broadcast shape"),
    ("Masks in einsum", r"einsum", r"^fails: .*(\"bmm\" not implemented|expected scalar type).*torch's 'done'$"),
    ("Ties", r"topk|sort", NUMBER + r".*of torch\.int64$"),
    ("Ties", r"maximum|minimum|div_\(", NUMBER + r".*\n-?(inf|0\.0|nan)\nand torch has\n-?(inf|0)"),
    ("Nothing to compute", r"softmax|entropy|linear|matmul|round|cat", r"^fails: .*implemented for ..?(Long|Bool)"),
    ("Nothing to compute", r"roll|movedim|view|cat", r"^fails: .*(out of range|shape mismatch).*torch's 'done'$"),
    ("Nothing to compute", r"layer_norm", NUMBER + r".*and torch has\nnan"),
    ("The order in memory", r"ravel|flatten|view|reshape", r"\['facts'\]\[1\]\[4\]|\['base'\]"),
    ("The order in memory", r"einsum|matmul|reshape|flatten|ravel", r"^facts\['\w+'\]\['graph'\]"),
    ("A shape that changed without a record", r"backward|grad", r"\['grad'\]\[1\]|got \[\] but expected"),
    ("Tangents of another dtype", r"func\.jvp", r"^facts\['\w+'\]\['dtype'\]"),
)


class Drawer:
    """Draws lines over the names that exist in a scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def filled(self, text: str, names: list[str]) -> str:
        """A template with every blank filled."""
        pick = self.random.choice

        def one(match: re.Match[str]) -> str:
            blank = match.group(1)
            if blank in "xyz":
                return pick(names[-3:]) if self.random.random() < 0.5 else pick(names)
            fills = {
                "d": lambda: pick(["0", "1", "-1", "0", "1", "-1", "2", "-2"]),
                "r": lambda: pick(["0", "1", "2", "3", "-1"]),
                "f": lambda: pick(["0.5", "2.0", "-1.0", "0.0", "1.5"]),
                "u": lambda: pick(["True", "False"]),
                "sh": lambda: pick(SHAPES),
                "ix": lambda: pick(INDICES),
            }
            return fills[blank]() if blank in fills else match.group()

        chosen: dict[str, str] = {}  # {x} is the same tensor throughout a line
        for blank in "xyz":
            chosen[blank] = one(re.match(r"\{(\w)\}", f"{{{blank}}}"))
        text = re.sub(r"\{([xyz])\}", lambda match: chosen[match.group(1)], text)
        return re.sub(r"\{(\w+)\}", one, text)

    def line(self, names: list[str], count: int) -> str:
        """One line of a program."""
        kind = self.random.choice("uuuuuubbbbbbwwwwhgggt")
        mode = self.random.choice(MODES)
        new = f"t{count}"
        if kind in "ub":
            text = self.filled(self.random.choice(UNARY if kind == "u" else BINARY), names)
            return f"{mode}{new} = {text}"
        if kind == "w":
            return mode + self.filled(self.random.choice(WRITES), names)
        if kind == "h":
            return self.filled(self.random.choice(HOOKS), names)
        if kind == "g":
            return self.filled(self.random.choice(BACKWARDS), names).replace("{n}", new)
        inner = self.random.choice(UNARY if self.random.random() < 0.7 else BINARY)
        inner = re.sub(r"\{x\}", "t", inner)
        inner = self.filled(inner, names)
        x = self.random.choice(names)
        text = self.random.choice(TRANSFORMS).replace("{e0}", inner.replace("t", "t")).replace("{e}", inner)
        text = text.replace(f"ones_like({inner})", f"ones_like((lambda t: {inner})({x}))")
        return f"{mode}{new} = {text.replace('{x}', x)}"


def scope_of(module: Any, seen: list[Any]) -> dict[str, Any]:
    """The names a program begins with."""
    checkpoint = __import__(module.__name__ + ".utils.checkpoint", fromlist=["checkpoint"]).checkpoint

    def note(name: str) -> Any:
        return lambda *grads: seen.append((name, _without_nodes(program_runs.plain(grads))))

    def show(*saved: Any) -> None:
        seen.append(("saved", [program_runs.plain(t.detach() if isinstance(t, module.Tensor) else t) for t in saved]))

    def hooked() -> Any:
        return module.autograd.graph.saved_tensors_hooks(lambda t: (show(t), t.clone())[1], lambda t: t)

    scope = {"torch": module, "F": module.nn.functional, "func": module.func, "checkpoint": checkpoint}
    scope |= {"note": note, "show": show, "hooked": hooked, **program_runs.functions(module)}
    module.manual_seed(0)
    return scope | {name: eval(text, scope) for name, text in LEAVES.items()}


def _without_nodes(grads: Any) -> Any:
    """Plain gradients without the nodes that computed them."""
    if isinstance(grads, (tuple, list)) and len(grads) == 3 and grads[0] == "tensor":
        return (grads[0], [*grads[1][:-1], None], grads[2])
    return [_without_nodes(each) for each in grads] if isinstance(grads, (tuple, list)) else grads


def run_line(line: str, scope: dict[str, Any], module: Any) -> str:
    """Run a line; its own new name becomes a tensor, or goes."""
    before = set(scope)
    with warnings.catch_warnings(), module.set_grad_enabled(True):
        warnings.simplefilter("ignore")
        try:
            exec(line, scope)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    for name in set(scope) - before:
        if isinstance(scope[name], (tuple, list)):
            tensors = [t for t in scope[name] if isinstance(t, module.Tensor)]
            scope[name] = tensors[-1] if tensors else scope[name]
        if isinstance(scope[name], (tuple, list)) and name != "__builtins__":
            scope[name] = len(scope[name])
    return "done"


def draw(seed: int, longest: int = 9) -> list[str]:
    """A program, drawn while PyTorch runs it."""
    drawer = Drawer(seed)
    scope = scope_of(torch, [])
    lines: list[str] = []
    while len(lines) < longest:
        names = [name for name, t in scope.items() if isinstance(t, torch.Tensor) and t.numel() <= 200]
        line = drawer.line(names, len(lines))
        if any(fault in line for fault in ("inference_mode",)):
            continue
        attempt = run_line(line, scope, torch)
        if attempt == "done" or drawer.random.random() < 0.12:
            lines.append(line)
    return lines


def shown(lines: list[str], module: Any) -> list[Any]:
    """What a program shows, line by line."""
    seen: list[Any] = []
    scope = scope_of(module, seen)
    told = []
    first: dict[str, int] = {}
    derived: set[str] = set()
    for line in lines:
        outcome = run_line(line, scope, module)
        if "func." in line or "autograd.grad" in line or "create_graph" in line:
            derived.add(line.rpartition(": ")[2].partition(" = ")[0])
        # PyTorch packs what an operation saves before it finds that the operation fails
        heard = seen if outcome == "done" else [each for each in seen if each[0] != "saved"]
        told.append([line, outcome, list(heard), _facts(scope, module, first, derived)])
        seen.clear()
    return told


def _facts(scope: dict[str, Any], module: Any, first: dict[str, int], derived: set[str]) -> dict[str, Any]:
    """What the tensors of a program are, but for what differs for the reasons that workbench/DIFFERENCES.md gives.

    The version a result begins with is not compared, only how it goes on from there. Where a line had a derivative
    computed (`derived`), graphs and what is a view of what are not.
    """
    tensors = program_runs._tensors(scope, module, False)
    tensors.pop("graph", None)
    for name, facts in tensors.items():
        facts["dtype"] = str(scope[name].dtype)
        if isinstance(facts["version"], int):
            facts["version"] -= first.setdefault(name, facts["version"])
        facts.pop("node")
        if derived:
            facts.pop("base")
            facts["graph"], facts["facts"] = None, [fact for i, fact in enumerate(facts["facts"][1]) if i != 4]
        else:
            facts["graph"] = _graph(scope[name])
    others = {n: v for n, v in scope.items() if re.fullmatch(r"t\d+", n) and not isinstance(v, module.Tensor)}
    return tensors | {"others": {name: program_runs.plain(value) for name, value in others.items()}}


def _graph(t: Any) -> Any:
    try:
        nodes: dict[Any, int] = {}
        program_runs._number(t.grad_fn, nodes)
        edges = {n: [program_runs._place(edge, nodes) for edge in n.next_functions] for n in nodes}
        unused = "torch::autograd::NotImplemented"  # `//`: which of its operands have an edge is not compared
        return [(n.name(), [e for e in edges[n] if n.name() != unused or e[0] is not None]) for n in nodes]
    except Exception as error:
        return f"{type(error).__name__}"


def compared(lines: list[str], texts: bool = False) -> tuple[int, str] | None:
    """The first line after which the two differ, and how."""
    theirs, ours = shown(lines, torch), shown(lines, workbench)
    for at, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if (a[1] == "done") != (b[1] == "done"):
            return at, f"fails: {a[1]!r:.300} against torch's {b[1]!r:.300}"
        if texts and a[1] != b[1]:
            return at, f"text: {a[1]!r:.300} against torch's {b[1]!r:.300}"
        for part, name in ((2, "hooks"), (3, "facts")):
            if found := difference(json_like(a[part]), json_like(b[part]), name, tolerance=1e-4):
                name = re.match(r"facts\['(\w+)'\]", found)
                dtype = name and b[3].get(name[1], {}).get("dtype")
                return at, f"{found}\nof {dtype}" if dtype else found
    return None


def json_like(value: Any) -> Any:
    """Tuples and lists as lists, so that only what they hold is compared."""
    if isinstance(value, (tuple, list)):
        return [json_like(item) if item != "tensor" else "numbers" for item in value]  # one tolerance for all dtypes
    if isinstance(value, dict):
        return {key: json_like(item) for key, item in value.items()}
    return value


def shortened(lines: list[str], found: tuple[int, str]) -> tuple[list[str], str]:
    """The program without the lines that the difference does not need."""
    lines = lines[: found[0] + 1]
    at = len(lines) - 2
    while at >= 0:
        fewer = lines[:at] + lines[at + 1 :]
        again = compared(fewer)
        if again is not None and again[1].split(":")[0].split("[")[0] == found[1].split(":")[0].split("[")[0]:
            lines, found = fewer[: again[0] + 1], again
            at = min(at, len(lines) - 1)
        at -= 1
    return lines, found[1]


def row_of(lines: list[str], told: str) -> str | None:
    """The row of the table of known differences that this one belongs to, if any."""
    return next((row for row, line, what in KNOWN if re.search(line, lines[-1]) and re.search(what, told, re.S)), None)


def kind_of(lines: list[str], told: str) -> str:
    """Differences of one kind have one name."""
    last = re.sub(r"\bt\d+\b|\b[a-z]\b", "_", lines[-1])
    return f"{re.sub(r'[-0-9.]+', '#', last)} {told.split(' ')[0][:60]}"


def chunk(first: int, last: int, out: Path) -> None:
    """Run the programs of these seeds; each difference as one line of JSON, and the seed at work in a file."""
    with out.open("a", encoding="utf-8") as file:
        for seed in range(first, last):
            out.with_suffix(".seed").write_text(str(seed))
            lines = draw(seed)
            found = compared(lines)
            if found is not None:
                lines, told = shortened(lines, found)
                file.write(json.dumps({"seed": seed, "lines": lines, "told": told}) + "\n")
                file.flush()
    out.with_suffix(".seed").write_text(str(last))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunk", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.chunk:
        chunk(int(given.chunk[0]), int(given.chunk[1]), Path(given.chunk[2]))
        return
    kinds: dict[str, list[Any]] = collections.defaultdict(list)
    known: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "found.jsonl")
        at, last, crashed = given.seed, given.seed + given.programs, 0
        while at < last:  # PyTorch may crash: then the next seed goes on in another process
            end = min(at + 1000, last)
            subprocess.run([sys.executable, __file__, "--chunk", str(at), str(end), str(out)], check=False)
            reached = int(out.with_suffix(".seed").read_text())
            crashed += reached < end
            at = reached + (reached < end)
        for text in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
            each = json.loads(text)
            if (row := row_of(each["lines"], each["told"])) is not None:
                known[row] += 1
            else:
                kinds[kind_of(each["lines"], each["told"])].append(each)
    for kind, found in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        shortest = min(found, key=lambda each: len(each["lines"]))
        lines = [f"\n== {len(found)} × {kind}   seed {shortest['seed']}", *shortest["lines"], shortest["told"]]
        print(*lines, sep="\n   ")
    new = sum(map(len, kinds.values()))
    print(f"\n{given.programs} programs: {known.total()} differ as is known, {new} in {len(kinds)} new ways; ", end="")
    print(f"PyTorch crashed in {crashed}")
    for row, count in known.most_common():
        print(f"   {count:5} {row}")


if __name__ == "__main__":
    main()
