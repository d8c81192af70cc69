"""An audit of functions of complex tensors: derivatives by both parts, and the same checks as of real ones."""

from __future__ import annotations

from typing import Any

import pytest
from test_audit import function, torch  # noqa: F401  a fixture

import workbench


def given(torch: Any) -> tuple[Any, Any]:  # noqa: F811
    a = torch.tensor([[1 + 2j, -0.5 + 1j], [0.3j, 2.0]], requires_grad=True)
    return a, torch.tensor([[0.5 - 1j, 2 + 1j], [1j, 1.0]], requires_grad=True)


def product(torch: Any, backward: Any, write: bool = False) -> Any:  # noqa: F811
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        if write:
            a.mul_(2)
        return a * b

    return function(torch, forward, lambda ctx, grad: backward(grad, *ctx.saved_tensors))


RIGHT = {
    "a product": lambda engine: product(engine, lambda g, a, b: (g * b.conj(), g * a.conj())),
    "a spectrum": lambda engine: lambda a, b: engine.fft.fft(a * b).abs(),
    "real and complex": lambda _: lambda a, b: (a.real * b, (a * b.conj()).imag.sum()),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(torch: Any, name: str) -> None:  # noqa: F811
    found = workbench.audit(RIGHT[name](torch), *given(torch))
    assert not found.failures and not found.questions, str(found)


WRONG = {
    "no conjugate": (lambda g, a, b: (g * b, g * a.conj()), "derivative", "but by differences"),
    "the real part alone": (lambda g, a, b: (g * b.conj(), (g * a.conj()).real), "derivative", "`b` is"),
    "the other sign of i": (lambda g, a, b: ((g * b.conj()).conj(), g * a.conj()), "derivative", "`a` is"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_part_is_named(torch: Any, name: str) -> None:  # noqa: F811
    backward, check, said = WRONG[name]
    found = workbench.audit(product(torch, backward), *given(torch))
    (entry,) = [each for each in found.failures if each.name == check]
    assert said in entry.evidence, str(found)


def test_a_real_gradient_of_a_complex_input_and_an_undeclared_write_are_seen(torch: Any) -> None:  # noqa: F811
    text = str(workbench.audit(product(torch, lambda g, a, b: (g * b.conj(), (g * a.conj()).real)), *given(torch)))
    assert "`backward` returns torch.float32 of shape (2, 2) for `b`, which is" in text
    text = str(workbench.audit(product(torch, lambda g, a, b: (g * b.conj(), g * a.conj()), True), *given(torch)))
    assert "`forward` changed `a` from [1+2j, -0.5+1j, 0+0.3j, 2+0j] to [2+4j," in text
