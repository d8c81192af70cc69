"""Wrong answers that beginners give: none earns a point, none is told what is not so, none a bare error.

They were written down from what is known of beginners' mistakes and from the questions, not from the hints.
"""

from __future__ import annotations

import ast
import linecache
import re
from functools import cache
from typing import Any

import nbformat
import pytest
import wrong_costs
import wrong_engine
import wrong_engine_events
import wrong_engine_memory
import wrong_functions
import wrong_gradients
import wrong_history
import wrong_layers
import wrong_matrices
import wrong_practice
import wrong_puzzles
import wrong_solvers
from lab import CHECKOUT

import workbench as torch
from workbench.classroom.handout import name_of
from workbench.classroom.judging import _MEANINGS, TRY_IT
from workbench.classroom.registry import exercises

WRONG: dict[str, list[tuple[str, str | None]]] = {}
for module in (
    wrong_costs,
    wrong_engine,
    wrong_engine_events,
    wrong_engine_memory,
    wrong_functions,
    wrong_gradients,
    wrong_history,
    wrong_layers,
    wrong_matrices,
    wrong_practice,
    wrong_puzzles,
    wrong_solvers,
):
    WRONG |= module.WRONG
EXERCISES = exercises(CHECKOUT / "notebooks")
LEAST = 10
LEAST_OF_A_PUZZLE = 5  # of which there are many
CELL = "<a learner's cell>"
ABSENT = re.compile("import (torch|matplotlib)")  # not installed, or slow: no answer needs it
ENGINES = {
    "Value",
    "in_order",
    "Node",
    "data_of",
    "AccumulateGrad",
    "written_over",
    "freed",
}  # what answers use of the engines that lessons write
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n", re.S | re.M)
# What Python calls an error; after it there is a sentence that says what it means or what to do.
PYTHONS = re.compile(r"\b\w+Error\b|the engine refused")


@pytest.fixture(autouse=True)
def beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` finds the exercises in the current folder, and a lesson the files that it imports."""
    monkeypatch.chdir(CHECKOUT / "notebooks")
    monkeypatch.syspath_prepend(CHECKOUT / "notebooks")


@cache
def lesson_of(name: str) -> tuple[Any, dict[str, Any]]:
    """The cell of an exercise, and the names that the cells above it have given: imports, and an own engine."""
    for path in sorted((CHECKOUT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        for cell in cells:
            if cell.cell_type == "code" and name_of(cell) == name:
                return cell, names_of(cells)
    raise LookupError(name)


def names_of(cells: list[Any]) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__", "torch": torch}
    for cell in (cell for cell in cells if cell.cell_type == "code"):
        for each in ast.parse(cell.source).body:
            imports = isinstance(each, ast.Import | ast.ImportFrom) and not ABSENT.match(ast.unparse(each))
            if imports or (isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name in ENGINES):
                exec(ast.unparse(each), names)
    return names


def handed_in(name: str, written: str) -> str:
    """The cell of an exercise with what was written in place of its solution."""
    cell, _ = lesson_of(name)
    parts = iter(written.split("\n---\n"))

    def put(found: re.Match[str]) -> str:
        part = next(parts)
        if not EXERCISES[name].is_code:
            part = f"{found[2].partition(' =')[0]} = {part}"
        return "".join(f"{found[1]}{line}\n" for line in part.splitlines())

    filled = SOLUTION.sub(put, cell.source)
    assert next(parts, None) is None
    return filled


def verdict_of(name: str, written: str) -> Any:
    """What is said below the cell."""
    text = handed_in(name, written)
    *lines, last = ast.parse(text).body
    names = dict(lesson_of(name)[1])
    linecache.cache[CELL] = (len(text), None, text.splitlines(keepends=True), CELL)  # as a notebook does
    exec(compile(ast.Module(lines, []), CELL, "exec"), names)
    return eval(compile(ast.Expression(last.value), "<check>", "eval"), names)


def test_every_exercise_has_its_wrong_answers() -> None:
    assert WRONG.keys() == EXERCISES.keys()
    least = {name: LEAST_OF_A_PUZZLE if name in wrong_puzzles.WRONG else LEAST for name in WRONG}
    assert {name: len(given) for name, given in WRONG.items() if len({each[0] for each in given}) < least[name]} == {}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_earns_nothing_and_is_told_nothing_false(name: str) -> None:
    assert verdict_of(name, solution_of(name)).right
    failed = []
    for written, misconception in WRONG[name]:
        verdict = verdict_of(name, written)
        wanted = (False, 0, misconception)
        if (verdict.right, verdict.points, verdict.misconception) != wanted or bare(verdict.says):
            failed.append(f"{written}\n  -> {verdict.says}\n  wanted {wanted[1:]}")
    assert not failed, "\n" + "\n".join(failed)


# Other ways to be right than the lesson's own.
RIGHT = [
    ("who-has-a-grad", '("b", "w")'),
    ("slope-by-hand", "error = w * x + b - 7\nreturn x * error + error * x"),
    ("slope-by-hand", "return 0.2 * (w * x + b - 7) * x * 10.0"),
    ("slope-by-hand", "return torch.tensor(2 * (w * x + b - 7) * x)"),
    ("maximum-routes", "return Value(a.data, [(a, 1.0)]) if a.data > b.data else Value(b.data, [(b, 1.0), (a, 0.0)])"),
    ("bias-backward", "return grad_output * 1, torch.ones(len(rows), dtype=rows.dtype) @ grad_output"),
    ("bias-backward", "return [grad_output, grad_output.sum(0)]"),
    ("number-none-or-zero", '["Number", None, "none", "ZERO"]'),
    ("small-leaf", "return torch.tensor([number / 10 for number in numbers], requires_grad=True)"),
    (
        "three-steps",
        "for _ in range(3):\n    (slope,) = torch.autograd.grad(loss_of(w), w)\n    with torch.no_grad():\n"
        "        w.sub_(0.1 * slope)\nreturn w",
    ),
    (
        "three-steps",
        "for _ in range(3):\n    loss_of(w).backward()\n    w.data -= 0.1 * w.grad\n    w.grad.zero_()\nreturn w",
    ),
    (
        "three-steps",
        "from workbench.func import grad\nfor _ in range(3):\n    slope = grad(loss_of)(w)\n    with torch.no_grad():\n"
        "        w -= 0.1 * slope\nreturn w",
    ),
    (
        "batch-in-pieces",
        "for p, t in zip(points.split(2), target.split(2)):\n"
        "    (((w * p - t) ** 2).sum() / 6).backward()\nreturn w.grad",
    ),
    (
        "batch-in-pieces",
        "total = 0\nfor i in (4, 0, 2):\n    loss = ((w * points[[i, i + 1]] - target[[i, i + 1]]) ** 2).mean()\n"
        "    total = total + torch.autograd.grad(loss, w)[0]\nreturn total / 3",
    ),
    ("fixed-goal", "with torch.no_grad():\n    still = goal * 1\nreturn v**2 - 2 * v * still + still**2"),
    ("predict-only", "with torch.no_grad():\n    h = w * x\n    return torch.sin(h)"),
    ("predict-only", "return (w.detach() * x).sin()"),
    (
        "train-without-retaining",
        "for _ in range(steps):\n    w.grad = None\n    loss = (w * x - 1).square().sum()\n    loss.backward()\n"
        "    w.data.sub_(0.1 * w.grad)\nreturn loss.item()",
    ),
    ("read-the-error", '" C "'),
    ("repair-the-write", "return torch.exp(x) * x + x"),
    ("repair-the-write", "y = x.exp().clone() * 1\ny.add_(1)\nreturn y * x"),
    ("update-a-weight", "w.data = w.data - rate * w.grad"),
    ("update-a-weight", "with torch.no_grad():\n    w.copy_(w - rate * w.grad)\nw.grad = None"),
    ("update-a-weight", "w.detach().sub_(rate * w.grad)\nreturn w"),
    ("cube-backward", "(x,) = ctx.saved_tensors\nreturn (x * x * grad_output * 3,)"),
    ("scale-backward", "return ctx.factor * grad_output, None"),
    (
        "sigmoid-function",
        "s = torch.sigmoid(x)\nctx.save_for_backward(s)\nreturn s\n---\n"
        "s = ctx.saved_tensors[0]\nreturn (s - s**2) * grad_output",
    ),
    (
        "tanh-twice",
        "ctx.save_for_backward(x)\nreturn x.tanh()\n---\n"
        "(x,) = ctx.saved_tensors\nreturn grad_output * (1 - x.tanh() ** 2)",
    ),
    (
        "slope-penalty",
        "(slopes,) = torch.autograd.grad(out, u, torch.ones_like(out), create_graph=True)\n"
        "return (slopes - 1).square().sum() / u.numel()",
    ),
    ("sin-jvp", "(x,) = ctx.saved_tensors\nreturn x.cos() * tangent"),
    ("dual-quotient", "return [a[0] / b[0], a[1] / b[0] - a[0] * b[1] / b[0] ** 2]"),
    ("per-sample-gradients", "return jacrev(lambda w: vmap(loss, in_dims=(None, 0))(w, batch))(w)"),
    ("per-sample-gradients", "return vmap(lambda sample: grad(loss)(w, sample))(batch)"),
    ("hessian-times-vector", "return hessian(f)(x) @ v"),
    ("hessian-times-vector", "return grad(lambda x: (grad(f)(x) * v).sum())(x)"),
    ("fused-yes-or-no", "z, t = ctx.saved_tensors\nreturn grad_output * (torch.sigmoid(z) - t), -z * grad_output"),
    (
        "silu-that-keeps-one",
        "ctx.save_for_backward(x)\nreturn x * torch.sigmoid(x)\n---\n"
        "(x,) = ctx.saved_tensors\ns = 1 / (1 + (-x).exp())\nreturn grad_output * s * (1 + x * (1 - s))",
    ),
    (
        "training-loop",
        "def once():\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
        "    return float(loss)\n\nreturn [once() for _ in range(steps)]",
    ),
    (
        "training-loop",
        "def closure():\n    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    return loss\n\n"
        "return [optimizer.step(closure).item() for _ in range(steps)]",
    ),
    (
        "clip-by-norm",
        "norm = sum(grad.norm() ** 2 for grad in grads) ** 0.5\nscale = min(1.0, float(most / norm))\n"
        "return [grad * scale for grad in grads]",
    ),
    ("leaky-relu", "(x,) = ctx.saved_tensors\nreturn grad_output * torch.where(x > 0, 1.0, 0.1)"),
    ("leaky-relu", "(x,) = ctx.saved_tensors\nreturn grad_output * ((x > 0) * 0.9 + 0.1)"),
    ("write-made-new", "h = w.exp()\nreturn (h * h * (h + 1)).sum()"),
    ("linear-layer-backward", "return [grad_output.mm(w), (x.T @ grad_output).T, grad_output.T.sum(1)]"),
    (
        "linear-layer-backward",
        "ones = torch.ones(len(x), dtype=x.dtype)\nreturn grad_output @ w, grad_output.T @ x, ones @ grad_output",
    ),
    (
        "softmax-backward",
        "p, rows = torch.softmax(z, 1), []\nfor g, q in zip(grad_output, p):\n"
        "    rows.append(g * q - q * (q * g).sum())\nreturn torch.stack(rows)",
    ),
    (
        "softmax-backward",
        "a = z.exp()\ns = a.sum(1, keepdim=True)\n"
        "return a * (grad_output / s - (grad_output * a).sum(1, keepdim=True) / s**2)",
    ),
    (
        "batch-norm-backward",
        "centred = x - x.mean(0)\nstd = (centred**2).mean(0).sqrt()\n"
        "g_std = -(grad_output * centred / std**2).sum(0)\n"
        "g = grad_output / std + g_std * centred / (len(x) * std)\nreturn g - g.mean(0)",
    ),
    (
        "dropout-function",
        "kept = 1 - torch.rand_like(x) > p\nctx.save_for_backward(kept)\nctx.p = p\n"
        "return x * kept / (1 - p)\n---\nreturn grad_output / (1 - ctx.p) * ctx.saved_tensors[0], None",
    ),
    (
        "dropout-function",
        "ctx.mask = torch.nn.functional.dropout(torch.ones_like(x), p)\nreturn x * ctx.mask\n---\n"
        "return grad_output * ctx.mask, None",
    ),
    ("centre-backward", "return grad_output - grad_output.sum(0, keepdim=True) / len(x)"),
    (
        "attention-backward",
        "e = scores.exp()\nw = e / e.sum()\ntable = torch.eye(len(w), dtype=w.dtype) * w - torch.outer(w, w)\n"
        "return table @ (values @ grad_output), torch.outer(w, grad_output)",
    ),
    ("puzzle-slice", "return torch.cat([torch.zeros(2, dtype=x.dtype), grad_output])"),
    (
        "puzzle-flip",
        "dx = torch.zeros_like(x)\nfor i in range(len(x)):\n    dx[len(x) - 1 - i] = grad_output[i]\nreturn dx",
    ),
    ("puzzle-roll", "return torch.cat([grad_output[2:], grad_output[:2]])"),
    ("puzzle-diagonal", "return (torch.diag(grad_output),)"),
    ("puzzle-diagonal", "return grad_output * torch.eye(len(x), dtype=x.dtype)"),
    ("puzzle-where", "return [grad_output * keep, grad_output * (1 - keep.to(a.dtype))]"),
    ("puzzle-gather", "return torch.zeros_like(x).index_add(0, index, grad_output)"),
    (
        "puzzle-moving-average",
        "dx = torch.zeros_like(x)\nfor k in range(3):\n    dx[k : k + len(grad_output)] += grad_output / 3\nreturn dx",
    ),
    ("puzzle-cumsum", "return grad_output.flip(0).cumsum(0).flip(0)"),
    ("puzzle-cumsum", "return grad_output.sum() - grad_output.cumsum(0) + grad_output"),
    ("puzzle-clamp", "return torch.where((x < 0) | (x > 6), 0, grad_output)"),
    ("puzzle-max", "return grad_output[:, None] * (x == x.amax(1, keepdim=True))"),
    ("puzzle-sort", "return grad_output[x.argsort().argsort()]"),
    (
        "puzzle-product",
        "return torch.stack([grad_output * torch.cat([x[:j], x[j + 1 :]]).prod() for j in range(len(x))])",
    ),
    ("puzzle-outer", "return (grad_output * b).sum(1), (grad_output * a[:, None]).sum(0)"),
    (
        "puzzle-softmax",
        "y = x.exp() / x.exp().sum()\nreturn (torch.diag(y) - y[:, None] * y) @ grad_output",
    ),
    ("clip-on-the-way", "h.register_hook(lambda g: g * min(1.0, most / g.norm().item()))\nreturn h"),
    ("root-backward", "z = ctx.saved_tensors[0]\nslope = 1 / (1 + 3 * z * z)\nreturn (slope * grad_output,)"),
    (
        "fixed-point-of-many",
        "s = torch.diag(1 - z**2)\nM = torch.eye(len(z), dtype=z.dtype) - W.T @ s\n"
        "grad_x = s @ torch.linalg.solve(M, grad_output)\nreturn [grad_x, grad_x[:, None] * z]",
    ),
    (
        "fixed-point-of-many",
        "s, u = 1 - z**2, grad_output\nfor _ in range(500):\n    u = grad_output + W.T @ (s * u)\n"
        "return s * u, (s * u)[:, None] @ z[None, :]",
    ),
    (
        "adjoint-of-an-ode",
        "h = -time / steps\ny, a, g = end, grad_end, 0\nfor _ in range(steps):\n    y = y + h * -k * y**2\n"
        "    a = a - h * a * -2 * k * y\n    g = g - h * a * -(y**2)\nreturn [a, g]",
    ),
    (
        "adjoint-of-an-ode",
        "h, state = time / steps, torch.stack([end, grad_end, 0 * k])\n"
        "def speeds(s):\n    y, a, _ = s\n    return torch.stack([k * y**2, -2 * k * y * a, -a * y**2])\n"
        "for _ in range(steps):\n    half = state + h / 2 * speeds(state)\n    state = state + h * speeds(half)\n"
        "return state[1], state[2]",
    ),
    (
        "score-estimates",
        "rows = []\nfor i, (loss, draw) in enumerate(zip(losses, draws)):\n"
        "    z = logits.clone().requires_grad_()\n    (score,) = torch.autograd.grad(z.log_softmax(0)[draw], z)\n"
        "    rest = torch.cat([losses[:i], losses[i + 1 :]])\n    rows.append((loss - rest.mean()) * score)\n"
        "return torch.stack(rows)",
    ),
    ("clip-on-the-way", "h = h * 1\nh.register_hook(lambda g: g / max(1, g.norm() / most))\nreturn h"),
    ("accumulate-into-a-leaf", "self.variable.grad = (self.variable.grad or 0.0) + grad\nreturn []"),
    (
        "record-an-operation",
        "edges, wanted = [], False\nfor each in operands:\n    if isinstance(each, Value) and each.requires_grad:\n"
        "        edges.append(each.edge())\n        wanted = True\n    else:\n        edges.append(None)\n"
        'return Value(data, wanted, Node(f"{name}Backward0", edges, send) if wanted else None)',
    ),
    (
        "count-the-arrivals",
        "from collections import Counter\ncounts, seen = Counter(), set()\n\ndef visit(node):\n"
        "    if node is None or node in seen:\n        return\n    seen.add(node)\n    for to in node.edges:\n"
        "        if to:\n            counts[to] += 1\n        visit(to)\n\nvisit(root)\nreturn counts",
    ),
    (
        "walk-the-graph",
        "ready.sort(key=lambda node: node.number)\nreturn ready.pop()\n---\n"
        "missing, arrived, ready = count_arrivals(root), {root: [grad]}, [root]\nwhile len(ready) > 0:\n"
        "    node = take_next(ready)\n    for i, part in enumerate(node.run(sum(arrived[node]))):\n"
        "        to = node.edges[i]\n        if to is None:\n            continue\n"
        "        arrived.setdefault(to, []).append(part)\n"
        "        if len(arrived[to]) == missing[to]:\n            ready.append(to)",
    ),
    (
        "sum-to-a-shape",
        "while grad.dim() > len(shape):\n    grad = grad.sum(0)\nfor i, size in enumerate(shape):\n    if size == 1:\n"
        "        grad = grad.sum(i, keepdim=True)\nreturn grad",
    ),
    (
        "apply-a-function",
        "node = Node(cls, inputs)\nwith no_grad():\n    result = Tensor(cls.forward(node, *inputs).data)\n"
        "if any(node.needs_input_grad) and is_grad_enabled():\n    result.grad_fn = node\n"
        "    result.requires_grad = True\nreturn result",
    ),
    (
        "product-of-matrices",
        "ctx.save_for_backward(*(x if needs else None for x, needs in zip((b, a), ctx.needs_input_grad)))\n"
        "return Tensor(np.matmul(a.data, b.data))\n---\nb, a = ctx.saved_tensors\nof_a = of_b = None\n"
        "if ctx.needs_input_grad[0]:\n    of_a = grad @ b.T\n"
        "if ctx.needs_input_grad[1]:\n    of_b = (grad.T @ a).T\nreturn of_a, of_b",
    ),
    (
        "mean-as-a-function",
        "ctx.a = a.shape\nreturn Tensor(a.data.sum() / a.data.size)\n---\n"
        "return (Tensor(np.full(ctx.a, grad.data / prod(ctx.a))),)",
    ),
    (
        "no-work-twice",
        "*before, last = pieces\nfor each in before:\n    x = checkpoint(each, x, use_reentrant=False)\nreturn last(x)",
    ),
    (
        "best-step-down",
        "g = grad(f)(x)\nh = grad(lambda x: (grad(f)(x) * g).sum())(x)\nreturn x - g * (g**2).sum() / (g * h).sum()",
    ),
    (
        "clip-each-sample",
        "total = 0\nfor x, d in zip(a, delta):\n    each = torch.outer(d, x)\n"
        "    total = total + each * min(1.0, most / each.norm().item())\nreturn total / len(a)",
    ),
    (
        "leaky-in-place",
        "ctx.mark_dirty(x)\nctx.positive = x > 0\nreturn x.mul_(torch.where(ctx.positive, 1.0, 0.1))\n---\n"
        "return grad_output * torch.where(ctx.positive, 1.0, 0.1)",
    ),
]


@pytest.mark.parametrize(("name", "written"), RIGHT)
def test_another_right_answer_is_right(name: str, written: str) -> None:
    verdict = verdict_of(name, written)
    assert verdict.right, verdict


# What is said of a wrong answer is true of that very answer.
TOLD = [
    ("scale-backward", "return [grad_output * ctx.factor, None]", "a list is one value."),
    (
        "fused-yes-or-no",
        "z, t = ctx.saved_tensors\nreturn [(z.sigmoid() - t) * grad_output, None]",
        "a list is one value.",
    ),
    ("pushes-and-walks", "{3, 100}", "A list of 2 numbers is asked for; yours is of the type set."),
    ("tangent-of-a-cube", "60 + 0j", "A number is asked for; yours is a complex number."),
    ("tangent-of-a-cube", "10**400", "A number is asked for; yours is a number too large to compare."),
    (
        "fixed-goal",
        "goal.detach_()\nreturn (v - goal) ** 2",
        "asked for a gradient does not any more: which line did that?",
    ),
    (
        "cube-backward",
        "(x,) = ctx.saved_tensors\nreturn 3 * (x * grad_output) ** 2",
        "Right: the value. Not right: the gradient and the second derivative.",
    ),
    ("cube-backward", "(x,) = ctx.saved_tensors\nreturn 3 * x^2 * grad_output", "A power is written **"),
    ("cube-backward", "(x,) = ctx.saved_tensor\nreturn 3 * x**2 * grad_output", "There is nothing of that name in it"),
    ("update-a-weight", "w -= rate * w.grad()", "Something is called there that is no function"),
    ("small-leaf", "return (torch.tensor(numbers) * 0.1).requires_grad", "your code returned a truth value"),
    ("checkpoint-two-parts", "return checkpoint(part, checkpoint(part, x))", "give it use_reentrant=False."),
    ("sin-jvp", "(x,) = ctx.saved_tensors\ntangent *= x.cos()\nreturn tangent", "written into the tangent"),
    (
        "update-a-weight",
        "with torch.no_grad():\n    w.map_(w - rate * w.grad)",
        "compute on whole tensors. It came from",
    ),
    (
        "leaky-relu",
        "(x,) = ctx.saved_tensors\ngrad_output *= torch.where(x > 0, 1.0, 0.1)\nreturn grad_output",
        "Checked for the gradient, your code has written into the gradient that it was given, which others read, too.",
    ),
    (
        "per-sample-gradients",
        "return vmap(lambda sample: 2 * ((w * sample).sum() - 1) * sample)(batch)",
        "Right: the gradients. Not right: the calls of loss.",
    ),
    (
        "training-loop",
        "losses = []\nfor _ in range(steps):\n    optimizer.zero_grad()\n    loss = loss_of(model)\n"
        "    loss.backward()\n    with torch.no_grad():\n"
        "        for each in model.parameters():\n            each -= 0.1 * each.grad\n"
        "    losses.append(loss.item())\nreturn losses",
        "Right: the parameters, the losses and whether each loss is a number. Not right: who makes the steps.",
    ),
]


@pytest.mark.parametrize(("name", "written", "said"), TOLD)
def test_what_is_told_is_true_of_that_answer(name: str, written: str, said: str) -> None:
    verdict = verdict_of(name, written)
    assert not verdict.right and said in verdict.says


def solution_of(name: str) -> str:
    cell, _ = lesson_of(name)
    found = [
        "\n".join(line[len(each[1]) :] for line in each[2].splitlines()) for each in SOLUTION.finditer(cell.source)
    ]
    return "\n---\n".join(each if EXERCISES[name].is_code else each.partition("= ")[2] for each in found)


def bare(says: str) -> bool:
    """Whether one of Python's own errors stands there without a sentence that says what it means."""
    meant = [*(meaning for _, meaning in _MEANINGS), TRY_IT]
    return PYTHONS.search(says) is not None and not any(says.endswith(meaning) for meaning in meant)
