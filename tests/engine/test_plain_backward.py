"""A backward that nobody looks at runs without the bookkeeping of a task: it must leave what a task leaves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import workbench as torch
from workbench.autograd.backward import make_task
from workbench.autograd.engine import GraphTask
from workbench.autograd.saved_tensors import Packed
from workbench.autograd.state import local
from workbench.events import listeners

pytestmark = pytest.mark.generated

LEAVES = {"x": (3, 4), "y": (3, 4), "w": (4, 4), "v": (4,), "s": ()}
# Each leaf once: of one that is used twice the task counts in which memory its gradient is summed.
PROGRAMS = """
x.exp() | x + y | x * v | x.sum(0) | x.t() @ y | (x @ w + v).tanh() | x.clone().add_(y) | x.clone().mul_(y).exp()
h * h | h + h.exp() | (h * v).sum() - h.exp().sum() * s | h.chunk(2, 1)[0] | h.chunk(2, 1)[0] * h.chunk(2, 1)[1] * s
a + c + v | a * c + c.exp() * a.sin() | torch.cat([a, c, a]) | torch.stack([h, y]).sum(0) | h.max(1).values * s
put(h, v) | put(h * 1, s) @ w | torch.nn.functional.layer_norm(h, (4,), v, v.detach()) | h.t().reshape(-1) * s
Doubled.apply(x) | Doubled.apply(Doubled.apply(x)) * y | Doubled.apply(a).sum() + Doubled.apply(c * a) * v
Both.apply(x, y)[0] | Both.apply(a, c)[1] * s | sum(Both.apply(a, c)) + a | Both.apply(Doubled.apply(a), a.sum())[1]
Both.apply(Both.apply(h, v)[0].exp(), w[0])[1] @ c.t() | Both.apply(x.detach(), y)[0] + h | Doubled.apply(h.t())
h.unbind()[0] + h.unbind()[2] * v | h.detach() * y + h | torch.where(h > 0.5, h, y) | h.expand(2, 3, 4).sum((0, 2))
torch.nn.functional.cross_entropy(h @ w, torch.tensor([0, 3, 1])) | torch.nn.functional.linear(h, w, v).relu().sum()
"""


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b, a + 1

    @staticmethod
    def backward(ctx: Any, left: Any, right: Any) -> Any:
        a, b = ctx.saved_tensors
        return left * b + right, (left * a).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None


class Acting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, act: Callable[[], None]) -> Any:
        ctx.act = act
        return a * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        ctx.act()
        return grad * 2, None


engine = torch.autograd.Variable._execution_engine


def put(t: Any, value: Any) -> Any:
    t[1] = value
    return t


def built(program: Callable[[dict[str, Any]], Any]) -> tuple[dict[str, Any], Any]:
    """The leaves, and what the program makes of them."""
    leaves = {}
    for number, (name, shape) in enumerate(LEAVES.items()):
        values = torch.arange(12 if len(shape) == 2 else 4, dtype=torch.float64) * 0.37 + number
        values = torch.sin(torch.cat([values, values]))[: torch.zeros(shape).numel()].reshape(shape)
        leaves[name] = (values * 0.4 + 0.8).requires_grad_()
    return leaves, program(leaves)


def evaluated(text: str) -> Callable[[dict[str, Any]], Any]:
    def program(leaves: dict[str, Any]) -> Any:
        names = {**leaves, "torch": torch, "put": put, "Doubled": Doubled, "Both": Both}
        names["h"] = leaves["x"] * 1.5
        names["a"], names["c"] = leaves["x"].exp(), leaves["y"].exp()
        return eval(text, names)

    return program


def facts(leaves: dict[str, Any], out: Any) -> list[Any]:
    """All that a backward leaves behind: gradients, how they lie and were written, and which nodes are freed."""
    arrived = [t.grad for t in leaves.values()]
    grads = [None if g is None else (g.tolist(), g._version, g.stride()) for g in arrived]
    freed, left, seen = [], [out.grad_fn], set()
    while left:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            freed.append((node.name(), node.is_freed()))
            left += [parent for parent, _ in node.next_functions]
    return [grads, freed]


def by_task(out: Any, seed: Any, keep: bool) -> None:
    make_task([out], [seed], keep, False).run()


def check_same(program: Callable[[dict[str, Any]], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for times in (1, 2):
        (ours, out), (theirs, want) = built(program), built(program)
        for turn in range(times):
            keep = turn + 1 < times
            with monkeypatch.context() as patch:
                patch.setattr(GraphTask, "run", None)  # a task would fail
                out.backward(torch.ones_like(out.detach()), retain_graph=keep)
            by_task(want, torch.ones_like(want.detach()), keep)
        assert facts(ours, out) == facts(theirs, want)


@pytest.fixture(autouse=True)
def no_hook_of_another_test_has_packed_a_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Packed, "exist", False)  # else every backward runs in a task


@pytest.mark.parametrize("text", [text.strip() for line in PROGRAMS.strip().splitlines() for text in line.split("|")])
def test_it_leaves_what_a_task_leaves(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_same(evaluated(text), monkeypatch)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each leaf is used once, what is computed from it as often as it happens."""

    def program(leaves: dict[str, Any]) -> Any:
        random = Random(seed)
        known = [leaves["x"] * 0.9, leaves["y"].exp(), leaves["v"] * leaves["s"]]
        for _ in range(random.randrange(2, 14)):
            a, b = random.choice(known), random.choice(known)
            kind = random.randrange(6)
            made = (a + b, a * b, a.sin(), b.tanh() - a, torch.stack([a * 1, a, a.cos()])[random.randrange(3)], -b)
            known.append(made[kind])
        return sum([t.sum() for t in random.sample(known, 3)])

    check_same(program, monkeypatch)


def test_nodes_that_are_not_in_the_order_of_their_making_run_in_a_task() -> None:
    def program(leaves: dict[str, Any]) -> Any:
        whole = leaves["x"] * 1.5
        part = whole[:2]
        put(whole, leaves["v"])
        return part * whole.sum() * leaves["s"]  # only now the view's node is made, after that of the product

    (ours, out), (theirs, want) = built(program), built(program)
    out.backward(torch.ones_like(out.detach()))
    by_task(want, torch.ones_like(want.detach()), False)
    assert facts(ours, out) == facts(theirs, want)


@pytest.mark.parametrize("keep", [False, True])
def test_what_fails_on_the_way_leaves_what_a_task_leaves(keep: bool) -> None:
    def program(leaves: dict[str, Any]) -> Any:
        spoiled = (leaves["x"] * 2).exp()
        out = spoiled + leaves["y"] * leaves["v"]
        spoiled.add_(1)
        return out

    (ours, out), (theirs, want) = built(program), built(program)
    said, seed = [], torch.ones(3, 4, dtype=torch.float64)
    for run in (lambda: out.backward(seed, keep), lambda: by_task(want, seed, keep)):
        with pytest.raises(RuntimeError) as error:
            run()
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "modified by an inplace operation" in said[0]
    assert facts(ours, out) == facts(theirs, want)


@pytest.mark.parametrize(
    "program", [lambda leaves: leaves["x"] * leaves["x"], lambda leaves: Doubled.apply(leaves["x"]) + leaves["x"]]
)
def test_leaves_used_twice_run_in_a_task(
    program: Callable[[dict[str, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out = built(program)
    monkeypatch.setattr(GraphTask, "run", lambda task: ran.append(task))
    ran: list[Any] = []
    out.backward(torch.ones_like(out.detach()))
    assert len(ran) == 1


@pytest.mark.parametrize("where", ["x", "h", "out"])
def test_hooks_run_in_a_task(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, _ = built(evaluated("x"))
    h = leaves["x"].exp()
    out = h * leaves["y"]
    {"x": leaves["x"], "h": h, "out": out}[where].register_hook(lambda grad: grad * 2)
    out.sum().backward()
    plain, want = built(evaluated("a * y"))
    want.sum().backward()
    assert leaves["x"].grad.tolist() == (plain["x"].grad * 2).tolist()


Log = list[Any]


def _nested(t: dict[str, Any], log: Log) -> None:
    z = torch.ones(2, requires_grad=True)
    with torch.enable_grad():
        Doubled.apply(z.exp()).sum().backward()
        log.append(torch.autograd.grad((z * z).sum(), z)[0].tolist())
    log.append((z.grad.tolist(), torch.is_grad_enabled()))


def _fail(t: dict[str, Any], log: Log) -> None:
    raise ValueError("by the user")


def _hears(t: dict[str, Any], log: Log) -> None:
    def listener(event: Any) -> None:
        if event[0] in ("run", "finished"):
            log.append((event[0], event[2].name()) if len(event) > 2 else event[0])

    t["heard"].append(listener)
    listeners.append(listener)


ACTS: dict[str, Callable[[dict[str, Any], Log], Any]] = {
    "grad mode": lambda t, log: log.append(torch.is_grad_enabled()),
    "a hook of a tensor": lambda t, log: t["h"].register_hook(lambda grad: log.append(grad.tolist()) or grad * 3),
    "a hook of the next": lambda t, log: t["k"].register_hook(lambda grad: grad * 3),
    "a hook of a node": lambda t, log: t["h"].grad_fn.register_hook(lambda *grads: log.append(len(grads))),
    "a hook before a node": lambda t, log: t["h"].grad_fn.register_prehook(lambda grads: (grads[0] * 2,)),
    "a hook of a leaf": lambda t, log: t["x"].register_hook(lambda grad: grad * 5),
    "a hook of another leaf": lambda t, log: t["y"].register_hook(lambda grad: grad * 5),
    "a hook after a leaf": lambda t, log: t["x"].register_post_accumulate_grad_hook(lambda x: log.append(x.tolist())),
    "retained": lambda t, log: t["h"].retain_grad(),
    "a callback": lambda t, log: engine.queue_callback(lambda: log.append(t["x"].grad.tolist())),
    "backwards inside": _nested,
    "an error": _fail,
    "a listener": _hears,
}


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("act", ACTS)
def test_what_a_functions_backward_does_is_seen_by_what_comes_next(act: str, chain: bool) -> None:
    def outcome(run: Callable[[Any, Any], None]) -> Any:
        log: Log = []
        tensors: dict[str, Any] = {"heard": []}

        def program(leaves: dict[str, Any]) -> Any:
            h = leaves["x"].exp()
            k = h.sin() if chain else h * leaves["y"]
            tensors.update(leaves, h=h, k=k)
            return Acting.apply(k, lambda: ACTS[act](tensors, log)).cos()

        leaves, out = built(program)
        try:
            run(out, torch.ones_like(out.detach()))
        except ValueError as error:
            log.append(str(error))
        finally:
            for listener in tensors["heard"]:
                listeners.remove(listener)
        assert torch.is_grad_enabled()
        assert local.modes.task is None
        kept = None if act != "retained" else tensors["h"].grad.tolist()
        return log, kept, facts(leaves, out)

    assert outcome(lambda out, seed: out.backward(seed)) == outcome(lambda out, seed: by_task(out, seed, False))


def test_one_functions_backward_needs_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, out = built(lambda leaves: Doubled.apply(leaves["x"]))
    monkeypatch.setattr(GraphTask, "run", None)
    out.sum().backward()
    assert leaves["x"].grad.tolist() == [[2.0] * 4] * 3


def test_a_checkpoint_below_what_a_backward_began_to_watch_finds_no_task_around_its_own() -> None:
    class Watching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.node = x.grad_fn
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            ctx.node.register_prehook(lambda grads: seen.append(grads[0].tolist()))
            return grad

    seen: list[float] = []
    x = torch.tensor(3.0, requires_grad=True)
    Watching.apply(torch.utils.checkpoint.checkpoint(torch.square, x, use_reentrant=True)).backward()
    assert (seen, x.grad.tolist()) == ([1.0], 6.0)
