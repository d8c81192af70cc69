"""What lessons say in general about the engine, each sentence beside a small program that shows whether it is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from lab import CHECKOUT

import workbench
import workbench as torch
from workbench import nn
from workbench.autograd.function import once_differentiable
from workbench.classroom import check
from workbench.distributions import Bernoulli
from workbench.pictures.views.memory_ledger import Ledger
from workbench.utils.checkpoint import checkpoint


def leaf(number: float = 2.0) -> Any:
    return torch.tensor(number, requires_grad=True)


def works(program: Callable[[], Any]) -> bool:
    try:
        program()
    except RuntimeError:
        return False
    return True


def made_in(mode: Any) -> Any:
    with mode():
        return torch.tensor(3.0) * 1


WAYS = {
    "no_grad()": lambda: made_in(torch.no_grad),
    "inference_mode()": lambda: made_in(torch.inference_mode),
    "detach()": lambda: (leaf(3.0) * 1).detach(),
    "requires_grad_(False)": lambda: leaf(3.0).requires_grad_(False),
}


def test_the_table_of_lesson_4_says_which_results_a_later_graph_can_use() -> None:
    rows = re.findall(r"^\| `(.+)` \|.*\| (.+?) \|$", said("04-where-history-stops"), re.M)
    assert {name for name, _ in rows} == WAYS.keys()
    for name, later in rows:
        result, w = WAYS[name](), leaf()
        assert later.startswith("yes") and works(lambda: (w + result).backward()) and w.grad == 1  # noqa: B023
        saved = works(lambda: (leaf() * result).backward())  # noqa: B023
        assert saved is ("clone" not in later), name
        assert works(lambda: (leaf() * result.clone()).backward()), name  # noqa: B023


def unsaved_result_of_inference() -> bool:
    w, r = leaf(), made_in(torch.inference_mode)
    return works(lambda: (r + w).backward()) and not works(lambda: (r * w).backward())


def uncounted_in_inference() -> bool:
    outside = torch.ones(2)
    with torch.inference_mode():
        inside = torch.ones(2).add_(1)
        outside.add_(1)
    return not works(lambda: inside._version) and outside._version == 1


def counted_under_no_grad() -> bool:
    with torch.no_grad():
        return torch.ones(2).add_(1)._version == 1


def leaf_under_no_grad() -> bool:
    with torch.no_grad():
        return leaf().requires_grad


def walked_twice() -> bool:
    kept, nothing_kept = leaf() ** 2, leaf() + 1
    kept.backward()
    nothing_kept.backward()
    return not works(kept.backward) and works(nothing_kept.backward)


def unseen_writes() -> bool:
    by_data, by_numpy = torch.ones(2), torch.ones(2)
    by_data.data.fill_(5.0)
    by_numpy.numpy()[0] = 5.0
    return [by_data[0], by_numpy[0]] == [5, 5] and by_data._version == by_numpy._version == 0


def other_reasons_for_none() -> bool:
    given, left_out = leaf(), leaf()
    (given * left_out).backward(inputs=[given])
    return left_out.grad is None


def numbers_outside() -> bool:
    h = leaf() * 3
    again = (torch.tensor(h.item()), torch.tensor(h.tolist()), torch.tensor(float(h)), torch.tensor(h))
    return not any(each.requires_grad for each in again)


def a_part_of_the_second_derivative() -> bool:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_output: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * grad_output

    x = leaf()
    (slope,) = torch.autograd.grad(Cube.apply(x) * x, x, create_graph=True)
    (part,) = torch.autograd.grad(slope, x, retain_graph=True)
    return part == 3 * x**2 and not works(slope.backward)


def zeros_for_an_output_without_slope() -> bool:
    seen = Doubled.which("mark")
    seen.apply(leaf())[0].backward()
    return seen.arrived[1] == 0


def the_order_of_the_factors() -> bool:
    def both(v: Any) -> Any:
        return torch.stack([v[0] * v[1], v[1] + v[2] * v[2]])

    v, along, back = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -2.0, 0.5]), torch.tensor([2.0, -1.0])
    table = torch.func.jacrev(both)(v)
    pushed, pulled = torch.func.jvp(both, (v,), (along,))[1], torch.func.vjp(both, v)[1](back)[0]
    return torch.equal(pushed, table @ along) and torch.equal(pulled, back @ table)


class Fused(torch.autograd.Function):
    """A loss that keeps the probabilities, as lesson 11 writes it."""

    @staticmethod
    def forward(ctx: Any, z: Any, target: Any) -> Any:
        p = z.softmax(1)
        ctx.save_for_backward(p, target)
        return -p[torch.arange(len(target)), target].log().mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Any) -> Any:
        p, target = ctx.saved_tensors
        return (p - nn.functional.one_hot(target, p.shape[1])) * grad_output / len(target), None


def bars_that_go_up_once() -> bool:
    target = torch.arange(8)

    def in_steps(z: Any, target: Any) -> Any:
        p = z.exp() / z.exp().sum(1, keepdim=True)
        return -(nn.functional.one_hot(target, 10).to(z.dtype) * p.log()).sum(1).mean()

    def kept(loss: Callable[[Any, Any], Any]) -> list[int]:
        x, w = torch.ones(8, 4), torch.ones(4, 10, requires_grad=True)
        with torch.record() as trace:
            loss(x @ w, target).backward()
        told = re.findall(r"^(?:forward|backward) \d+: (\d+) bytes held$", repr(trace.show("memory")), re.M)
        return [int(number) for number in told]

    fused = kept(Fused.apply)
    return fused == [0, 320, 0, 0] and max(kept(in_steps)) > 2 * max(fused)


def a_bias_behind_dead_units() -> bool:
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    with torch.no_grad():
        model[0].bias.fill_(-10.0)
    model(torch.zeros(3, 1)).sum().backward()
    first, last = model[0], model[2]
    zero = [each.grad.any().item() for each in (first.weight, first.bias, last.weight)]
    return zero == [False, False, False] and last.bias.grad == 3


def emptied() -> bool:
    model = nn.Linear(1, 1)
    model(torch.ones(1, 1)).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).zero_grad()
    return model.bias.grad is None


def step_before_backward() -> bool:
    w = leaf()
    square = w * w
    with torch.no_grad():
        w -= 0.1
    return not works(square.backward)


def only_single_numbers() -> bool:
    try:
        (leaf() * torch.ones(3)).backward()
    except RuntimeError as error:
        return "grad can be implicitly created only for scalar outputs" in str(error)
    return False


def weights_in_place_of_a_gradient() -> bool:
    v, one, other = torch.tensor([1.0, 10.0, 100.0]), leaf(), leaf()
    (one ** torch.tensor([1.0, 2.0, 3.0])).backward(gradient=v)
    (v * other ** torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return one.grad == other.grad == 1 + 40 + 1200


def samples_that_a_batch_norm_joins() -> bool:
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    ((x - x.mean()) / x.std(correction=0))[0].backward()
    return bool((x.grad != 0).all())


def moved_under_no_grad() -> bool:
    layer = nn.BatchNorm1d(1)
    with torch.no_grad():
        layer(torch.tensor([[3.0], [5.0]]))
    moved = layer.running_mean.item()
    layer.eval()(torch.tensor([[3.0], [5.0]]))
    return moved != 0 and layer.running_mean.item() == moved


def recorded_in_eval_mode() -> bool:
    model = nn.Sequential(nn.BatchNorm1d(1), nn.Dropout(0.5)).eval()
    with torch.no_grad():
        unrecorded = model(torch.ones(2, 1))
    return model(torch.ones(2, 1)).requires_grad and not unrecorded.requires_grad


def replaced_by_a_hook() -> bool:
    x, other = leaf(), leaf()
    for each, hook in ((x, lambda gradient: None), (other, lambda gradient: 10 * gradient)):
        result = 3 * each
        result.register_hook(hook)
        result.backward()
    return (x.grad, other.grad) == (3, 30)


def attention_in_one_call() -> bool:
    torch.manual_seed(0)
    query, keys, values = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)
    mask = torch.tensor([0.0, 0.0, float("-inf")])
    by_hand = (query @ keys.T / 2 + mask).softmax(1) @ values
    return torch.allclose(by_hand, nn.functional.scaled_dot_product_attention(query, keys, values, mask.expand(3, 3)))


def three_operations_of_tanh() -> bool:
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda *given: None)
    node, names = layer(leaf() * 1).grad_fn, []
    while node.next_functions[0][0].name() != "torch::autograd::AccumulateGrad":
        names.append(node.name())
        node = node.next_functions[0][0]
    return names == ["BackwardHookFunctionBackward", "TanhBackward0", "BackwardHookFunctionBackward"]


class Doubled(torch.autograd.Function):
    """Twice `x`, and how much that is more, where its backward reads the first gradient only."""

    calls: tuple[str, ...] = ()
    arrived: Any = None

    @classmethod
    def which(cls, *calls: str) -> Any:
        return type("Which", (cls,), {"calls": calls})

    @classmethod
    def forward(cls, ctx: Any, x: Any) -> Any:
        more = x * 1
        if "mark" in cls.calls:
            ctx.mark_non_differentiable(more)
        if "none" in cls.calls:
            ctx.set_materialize_grads(False)
        return 2 * x, more

    @classmethod
    def backward(cls, ctx: Any, grad: Any, grad_of_more: Any) -> Any:
        cls.arrived = grad, grad_of_more
        return None if grad is None else 2 * grad


def an_unmarked_output_gets_a_wrong_gradient() -> bool:
    x, marked = leaf(), Doubled.which("mark").apply(leaf())[1]
    Doubled.which().apply(x)[1].backward()
    return x.grad == 0 and not marked.requires_grad


def none_for_an_output_without_slope() -> bool:
    zeros, nothing = Doubled.which("mark"), Doubled.which("mark", "none")
    for each in (zeros, nothing):
        each.apply(leaf())[0].backward()
    return zeros.arrived[1] == 0 and nothing.arrived[1] is None


def none_for_all_in_gradcheck() -> bool:
    seen = Doubled.which("mark", "none")
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda x: seen.apply(x)[0], x) and seen.arrived == (None, None)


def no_way_back_from_a_rounded_one() -> bool:
    y = torch.sigmoid(torch.tensor(40.0, dtype=torch.float64))
    return y.item() == 1.0 and (y * (1 - y)).item() == 0.0


def straight_through_has_no_bias_on_a_line() -> bool:
    logit = leaf()
    p = logit.sigmoid()
    (exact,) = torch.autograd.grad(7 * p + 2 * (1 - p), logit)  # 5 * b + 2
    mean = 0.0
    for b, share in ((1.0, p), (0.0, 1 - p)):
        through = logit.sigmoid()
        (estimate,) = torch.autograd.grad(5 * (b + through - through.detach()) + 2, logit)
        mean = mean + share.item() * estimate
    return torch.allclose(exact, mean)


def told_by_hooks(**results: Any) -> list[str]:
    """The names of these tensors, in the order in which a backward comes to them; `y` is the last."""
    order: list[str] = []
    for name, each in results.items():
        each.register_hook(lambda gradient, name=name: order.append(name))
    results["y"].backward()
    return order


def newest_first() -> bool:
    a = leaf()
    v = a + 3.0
    u = a * 2.0
    w = u - 1.0
    return told_by_hooks(v=v, u=u, w=w, y=v * w) == ["y", "w", "u", "v"]


def a_leaf_as_soon_as_it_is_ready() -> bool:
    a, b = leaf(), leaf()
    h = a * 2.0
    return told_by_hooks(h=h, b=b, a=a, y=h + b) == ["y", "b", "h", "a"]


class Itself(torch.autograd.Function):
    recorded: list[bool] = []

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Itself.recorded.append((x * x).requires_grad)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def another_object_than_the_input() -> bool:
    x = leaf()
    result = Itself.apply(x)
    return result is not x and x.grad_fn is None and result.grad_fn is not None


def chain_of(pieces: int, length: int = 16) -> tuple[int, int]:
    """How often a chain in checkpoints is computed again, and its peak in tensors of 1 KiB, without its input."""
    runs: list[str] = []

    def piece(t: Any) -> Any:
        for _ in range(length // pieces):
            runs.append("sin")
            t = t.sin()
        return t

    start = torch.linspace(0, 1, 256, requires_grad=True)
    with workbench.record() as trace:
        end = start
        for _ in range(pieces):
            end = checkpoint(piece, end, use_reentrant=False)
        total = end.sum()
        runs.clear()
        total.backward()
    return len(runs), Ledger(trace).peak // 1024


def too_large_a_rate() -> bool:
    def end(rate: float) -> float:
        t = leaf(1.0)
        for _ in range(50):
            (slope,) = torch.autograd.grad(3 * t**2 / 2, t)
            t = (t - rate * slope).detach().requires_grad_()
        return abs(t.item())

    return end(0.95 * 2 / 3) < 1 < end(1.05 * 2 / 3)


def norms_of_an_outer_product() -> bool:
    a, b = torch.tensor([3.0, -4.0]), torch.tensor([1.0, 2.0, 2.0])
    return torch.outer(a, b).norm() == 15


def marked_leaf() -> bool:
    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return 2 * grad_output

    saved = leaf().exp()
    return not works(lambda: Marked.apply(leaf())) and not works(lambda: Marked.apply(saved).backward())


def safe_before_the_root() -> bool:
    x = leaf(0.0)
    torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0).backward()
    return x.grad == 0


def both_knobs_turned() -> bool:
    w, b = torch.tensor(3.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    ((w * 2.0 + b - 7.0) ** 2).backward()
    return check(7, (w - 0.1 * w.grad) * 2.0 + b - 0.1 * b.grad) == "Right."


def flipped_losses() -> list[str]:
    """The losses of a machine with one knob, each of whose steps goes along the gradient."""
    losses, knob = [], 3.0
    for _ in range(5):
        losses.append(f"{(knob * 2 - 7) ** 2:.3g}")
        knob += 0.05 * 4 * (knob * 2 - 7)
    return losses


CLAIMS = [
    ("00", "a second `backward()` over this graph is refused", walked_twice),
    ("00", "Exactly 7.", both_knobs_turned),
    ("07", "1, 1.96, 3.84, 7.53, 14.8", lambda: flipped_losses() == "1, 1.96, 3.84, 7.53, 14.8".split(", ")),
    ("03", "the reason is nearly always one of these five", other_reasons_for_none),
    ("04", "will never be saved for backward*", unsaved_result_of_inference),
    ("04", "`(r + w).backward()` works", unsaved_result_of_inference),
    ("04", "So the writes into it are not counted", uncounted_in_inference),
    ("04", "Under `no_grad` the engine still counts the writes into every tensor", counted_under_no_grad),
    ("04", "still requires a gradient", leaf_under_no_grad),
    ("04", "You can only freeze a leaf", lambda: not works(lambda: (leaf() * 2).requires_grad_(False))),
    ("04", "`.item()`, `.tolist()`, `float(...)` and `torch.tensor(old)` all do that", numbers_outside),
    ("05", "A graph that has saved nothing allows a second backward", walked_twice),
    ("05", "a second backward that reads them needs `retain_graph=True`", walked_twice),
    (
        "06",
        "`requires_grad_` writes no number, only a flag",
        lambda: torch.ones(2).requires_grad_()._version == 0 and torch.ones(2).zero_()._version == 1,
    ),
    ("06", "If you write through `.data` or NumPy, the counter doesn't count the write", unseen_writes),
    ("06", "its backward now raises an error", step_before_backward),
    ("07", "the engine passes zeros there", zeros_for_an_output_without_slope),
    ("08", "returns a part of the second derivative", a_part_of_the_second_derivative),
    ("09", "forward mode computes `J @ tangent`, and backward computes `grad_output @ J`", the_order_of_the_factors),
    (
        "10",
        "It brings -0.03125 to `x`",
        lambda: torch.func.grad(torch.func.grad(lambda x: x.sqrt()))(torch.tensor(4.0)) == -1 / (4 * 4 * 2) == -0.03125,
    ),
    ("11", "so its bars go up once and come down once", bars_that_go_up_once),
    ("12", "Only the bias of that layer still learns", a_bias_behind_dead_units),
    ("12", "Rounding has no slope", lambda: not works(lambda: torch.tensor(float(round(leaf(2.4).item()))).backward())),
    ("12", "`zero_grad()` empties their `.grad`", emptied),
    ("14", "*grad can be implicitly created only for scalar outputs*", only_single_numbers),
    ("14", "This is the same as `(v * y).sum().backward()`", weights_in_place_of_a_gradient),
    ("14", "After a batch norm, the loss of one sample depends on all samples", samples_that_a_batch_norm_joins),
    ("15", "`no_grad` does not keep it from moving: only eval mode does", moved_under_no_grad),
    ("15", "and the engine still records", recorded_in_eval_mode),
    ("15", "If it returns a tensor, that tensor goes on instead of the gradient", replaced_by_a_hook),
    ("15", "does all of it in one call", attention_in_one_call),
    ("15", "its own, and two that the hook has put around it", three_operations_of_tanh),
    ("17", "A loss made from it would get a wrong gradient without an error", an_unmarked_output_gets_a_wrong_gradient),
    ("17", "so `backward` gets `None`. Without this call the engine makes a tensor", none_for_an_output_without_slope),
    ("17", "(`gradcheck` tries this.)", none_for_all_in_gradcheck),
    ("17", "There the speed is 0, so no solver gets back to 0.5", no_way_back_from_a_rounded_one),
    ("17", "`Bernoulli(p).sample()` does not require grad", lambda: not Bernoulli(leaf(0.5)).sample().requires_grad),
    ("17", "If the loss is a straight line in `b`, this bias is 0", straight_through_has_no_bias_on_a_line),
    ("19", "The engine takes the **newest**", newest_first),
    ("19", "it runs as soon as it is ready", a_leaf_as_soon_as_it_is_ready),
    (
        "20",
        "while `forward` runs, nothing is recorded",
        lambda: Itself.apply(leaf()).requires_grad and not Itself.recorded.pop(),
    ),
    (
        "20",
        "If `forward` returns one of its inputs itself, the result is a new `Tensor`",
        another_object_than_the_input,
    ),
    (
        "18",
        "Each `sin` is computed again once, no matter how you cut the chain",
        lambda: all(chain_of(pieces)[0] == 16 for pieces in (1, 2, 4, 8, 16)),
    ),
    ("18", "So the bars reach 6 KiB", lambda: chain_of(4)[1] == 6),
    (
        "18",
        "**the inputs of all pieces**, and **what one piece holds**",
        lambda: all(chain_of(pieces)[1] + 1 == pieces + 16 // pieces - 1 for pieces in (1, 2, 4, 8, 16)),
    ),
    ("18", "So the rate must be smaller than $2 / c$", too_large_a_rate),
    (
        "18",
        "The norm of an outer product is the norm of one vector times the norm of the other",
        norms_of_an_outer_product,
    ),
    ("18", "A leaf that requires a gradient must not be written over", marked_leaf),
    ("18", "So choose a safe number *before* `sqrt`", safe_before_the_root),
]


def said(lesson: str) -> str:
    (path,) = (CHECKOUT / "notebooks").glob(f"{lesson}*.ipynb")
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("lesson", "sentence", "shows"), CLAIMS)
def test_a_sentence_of_a_lesson_is_so(lesson: str, sentence: str, shows: Callable[[], bool]) -> None:
    assert sentence in said(lesson)
    assert shows()
