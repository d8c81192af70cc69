"""What an audit finds and says, fault by fault: rows of planted faults beside the check and the words."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

import absent
import pytest

import workbench

ENGINES = ["workbench", pytest.param("torch", marks=pytest.mark.oracle)]


@pytest.fixture(params=ENGINES)
def torch(request: pytest.FixtureRequest) -> Any:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(absent.TORCH)
    return importlib.import_module(request.param)


def leaf(torch: Any, *shape: int, at: float = 0.0, dtype: Any = None) -> Any:
    count = 1
    for each in shape:
        count *= each
    values = torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + at) * 1.1 + 0.13
    return values.reshape(shape).to(dtype or torch.float32).requires_grad_()


def of(torch: Any, compute: Any, slopes: Any, **more: Any) -> Any:
    """A Function that saves its tensors, and whose backward is given them after the gradient."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*[each for each in inputs if isinstance(each, torch.Tensor)])
        return compute(*inputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        return slopes(*grads, *ctx.saved_tensors)

    return type("Mine", (torch.autograd.Function,), {"forward": forward, "backward": staticmethod(backward), **more})


def entropy(x: Any, labels: Any) -> Any:
    return (x.logsumexp(1) - x.gather(1, labels.unsqueeze(1)).squeeze(1)).mean()


def entropy_slope(x: Any, labels: Any) -> Any:
    return x.softmax(1) - (x * 0).scatter(1, labels.unsqueeze(1), 1.0)


def found_in(target: Any, *inputs: Any, check: str) -> Any:
    (found,) = workbench.audit(target, *inputs, checks=[check]).checks
    return found


def test_a_loss_that_a_common_shift_leaves_is_not_constant(torch: Any) -> None:
    labels = torch.tensor([0, 2, 2])
    whole = of(torch, entropy, lambda g, x, labels: (g * entropy_slope(x, labels), None))
    found = found_in(whole, leaf(torch, 3, 4), labels, check="derivative")
    assert found.outcome == "fail" and "3 times" in found.evidence, found


def test_a_backward_that_ignores_its_gradient_fails(torch: Any) -> None:
    labels = torch.tensor([0, 2, 2])
    deaf = of(torch, entropy, lambda g, x, labels: (entropy_slope(x, labels) / 3, None))
    audit = workbench.audit(deaf, leaf(torch, 3, 4), labels, checks=["derivative", "gradients None and zero"])
    assert [each.outcome for each in audit.checks] == ["fail", "fail"], audit
    assert "isn't proportional to the gradient that arrives" in audit.checks[0].evidence
    flat = of(torch, lambda x: x.round(), lambda g, x: x * 0 + 1)
    found = found_in(flat, leaf(torch, 3, 4), check="gradients None and zero")
    assert found.outcome == "fail" and "the same for any gradient" in found.evidence, found


def test_a_loss_attached_to_another_input_is_asked_about(torch: Any) -> None:
    attached = of(torch, lambda x, loss: x.view_as(x), lambda g, x, loss: (g, loss * 0 + 1))
    audit = workbench.audit(attached, leaf(torch, 3, 4), leaf(torch, 1))
    assert audit.ok and audit.questions, audit


def twice_the_first(torch: Any) -> Any:
    def slopes(of_sin: Any, of_cos: Any, x: Any) -> Any:
        return of_sin * x.cos() + of_cos * x.sin()

    return of(torch, lambda x: (x.sin(), x.cos()), slopes)


def product(*slopes: Any) -> Any:
    return lambda torch: of(torch, lambda a, b: a * b, lambda g, a, b: tuple([each(g, a, b) for each in slopes]))


WORDS = {
    "a factor": (product(lambda g, a, b: 3 * g * b, lambda g, a, b: g * a), "It is 3 times the other."),
    "swapped": (product(lambda g, a, b: g * a, lambda g, a, b: g * b), "It is that of `b`."),
    "none": (
        product(lambda g, a, b: g * b, lambda g, a, b: None),
        "`backward` returns None for `b`, but by differences its gradient is ",
    ),
    "clipped": (
        product(lambda g, a, b: g.clamp(-0.5, 0.5) * b, lambda g, a, b: g * a),
        "It isn't proportional to the gradient that arrives.",
    ),
    "one entry": (product(lambda g, a, b: g * b + g * (a == a.max()), lambda g, a, b: g * a), " at ["),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_evidence_says_what_kind_of_mistake_it_is(torch: Any, name: str) -> None:
    make, words = WORDS[name]
    target = make(torch)
    target.forward = staticmethod(lambda ctx, a, b: (ctx.save_for_backward(a, b), a * b)[1])
    found = found_in(target, leaf(torch, 3, 4), leaf(torch, 3, 4, at=1.0), check="derivative")
    assert found.outcome == "fail" and words in found.evidence, found


def test_the_evidence_names_the_output_that_is_wrong(torch: Any) -> None:
    found = found_in(twice_the_first(torch), leaf(torch, 3, 4), check="derivative")
    assert found.outcome == "fail" and "Only what comes by output 1 is wrong." in found.evidence, found


def test_entries_at_a_kink_are_left_out_and_counted(torch: Any) -> None:
    kinked = of(torch, lambda x: x.abs(), lambda g, x: 2 * g * x.sign())
    found = found_in(kinked, torch.tensor([0.0, 1.0, -2.0], requires_grad=True), check="derivative")
    assert found.outcome == "fail" and "1 of 3 entries are left out" in found.evidence and "nan" not in found.evidence


def log_sum_exp(torch: Any) -> Any:
    return of(
        torch,
        lambda x: torch.logsumexp(x, -1),
        lambda g, x: g.unsqueeze(-1) * x.exp() / x.exp().sum(-1, keepdim=True),
    )


def test_a_gradient_that_overflows_in_its_own_dtype_fails(torch: Any) -> None:
    large = torch.tensor([[90.0, 1.0], [2.0, 100.0]], requires_grad=True)
    found = found_in(log_sum_exp(torch), large, check="gradient in its own dtype")
    assert found.outcome == "fail" and "In float32" in found.evidence and "float64" in found.evidence, found
    assert found_in(log_sum_exp(torch), leaf(torch, 2, 2), check="gradient in its own dtype").outcome == "pass"


def test_a_gradient_that_rounding_spoils_is_asked_about(torch: Any) -> None:
    def slope(g: Any, x: Any) -> Any:
        return g * 2 * x * ((x * 0 + 1e8 + 1) - 1e8)

    found = found_in(of(torch, lambda x: x * x, slope), leaf(torch, 3, 4), check="gradient in its own dtype")
    assert found.outcome == "question" and "In float32" in found.evidence, found


def batched(torch: Any, vmap: Any) -> Any:
    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.cumsum(-1)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.flip((-1,)).cumsum(-1).flip((-1,))

    Rows.vmap = staticmethod(lambda info, in_dims, x: vmap(Rows.apply, in_dims, x))
    return Rows


@pytest.mark.parametrize(
    "vmap",
    [
        lambda apply, dims, x: (apply(x), 0),
        lambda apply, dims, x: (apply(x.movedim(dims[0], 0)), dims[0]),
    ],
    ids=["ignored in_dims", "another out_dim"],
)
def test_a_batch_in_another_dimension(torch: Any, vmap: Any) -> None:
    found = found_in(batched(torch, vmap), leaf(torch, 3, 3), check="vmap")
    assert found.outcome == "fail" and "in_dims=(1,)" in found.evidence, found
    right = batched(torch, lambda apply, dims, x: (apply(x.movedim(dims[0], 0)), 0))
    assert found_in(right, leaf(torch, 3, 3), check="vmap").outcome == "pass"


def test_an_input_on_ctx_is_asked_about(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x * x

    kept = type(
        "Mine",
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: 2 * g * ctx.x)},
    )
    found = found_in(kept, leaf(torch, 3, 4), check="inputs written later")
    assert found.outcome == "question" and "kept on ctx or elsewhere, not saved" in found.evidence, found

    def masked(ctx: Any, x: Any) -> Any:
        ctx.mask = x > 0
        return x * ctx.mask

    mask = type(
        "Mine",
        (torch.autograd.Function,),
        {"forward": staticmethod(masked), "backward": staticmethod(lambda ctx, g: g * ctx.mask)},
    )
    assert found_in(mask, leaf(torch, 3, 4), check="inputs written later").outcome == "pass"


def test_another_batch_size(torch: Any) -> None:
    def squeezed(g: Any, x: Any, w: Any) -> Any:
        return (g.unsqueeze(-1) * w).squeeze(), (g.unsqueeze(-1) * x).squeeze().sum(0)

    target = of(torch, lambda x, w: (x * w).sum(-1), squeezed)
    found = found_in(target, leaf(torch, 3, 4), leaf(torch, 4), check="other batch sizes")
    assert found.outcome == "fail" and "a batch of 1" in found.evidence, found
    fixed = of(torch, lambda x: (x * x).mean(), lambda g, x: 2 * x * g / 16)
    found = found_in(fixed, leaf(torch, 4, 4), check="other batch sizes")
    assert found.outcome == "fail" and "With a batch of 1: the gradient" in found.evidence, found


def test_a_backward_that_draws_is_said_to_draw(torch: Any) -> None:
    def drawn(x: Any) -> Any:
        return x * (torch.rand(*x.shape) > 0.5)

    target = of(torch, drawn, lambda g, x: g * (torch.rand(*g.shape) > 0.5))
    audit = workbench.audit(target, leaf(torch, 3, 4))
    assert audit.failures and all("draws random numbers" in each.evidence for each in audit.failures), audit
    assert not any("contiguous" in each.advice for each in audit.failures)


def test_what_differs_between_two_runs_isnt_called_half_precision(torch: Any) -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x * (1.0 if len(calls) % 2 else 0.5)

    audit = workbench.audit(of(torch, counted, lambda g, x: g), leaf(torch, 3, 4))
    told = [each.evidence for each in audit.checks if each.name in ("derivative", "second derivative")]
    assert told == ["two runs on equal inputs differ"] * 2, audit


def test_the_words_of_unmarked_and_kept_tensors(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x.add_(1)

    unmarked = type(
        "Mine", (torch.autograd.Function,), {"forward": forward, "backward": staticmethod(lambda ctx, g: g)}
    )
    unmarked.forward = staticmethod(forward)
    found = found_in(unmarked, leaf(torch, 3, 4), check="inputs written in place")
    assert found.outcome != "fail" or "it isn't marked dirty" in found.evidence, found


def test_wrong_alone_isnt_computed_for_nothing(torch: Any) -> None:
    class Alone(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            found = [grad * b] if ctx.needs_input_grad[0] else []
            found += [grad * a] if ctx.needs_input_grad[1] else []
            return tuple(found + [None] * (2 - len(found)))

    audit = workbench.audit(Alone, leaf(torch, 3, 3), leaf(torch, 3, 3, at=1.0))
    checks = {each.name: each for each in audit.checks}
    assert checks["each input alone"].outcome == "fail"
    assert checks["only what is needed"].outcome == "not applicable"
    line = Alone.backward.__code__.co_firstlineno + 1
    assert checks["each input alone"].line == f"test_audit_findings.py, line {line}"


def test_warnings_of_its_own_runs_stay_inside(torch: Any, recwarn: pytest.WarningsRecorder) -> None:
    def warned(x: Any) -> Any:
        warnings.warn("from forward", UserWarning, stacklevel=1)
        return x * x

    workbench.audit(of(torch, warned, lambda g, x: 2 * g * x), leaf(torch, 3, 4), checks=["derivative"])
    assert not [each for each in recwarn if "from forward" in str(each.message)]
