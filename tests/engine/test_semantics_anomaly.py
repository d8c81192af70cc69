"""Semantics of anomaly mode; each test is named after its row in the map."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from functions import function
from oracle import compare, raised, warned


def returning(torch: Any, grads: Any, name: str = "Bad") -> Any:
    """A Function of two arguments whose backward returns what `grads` makes of the gradient."""

    F = function(torch, lambda ctx, x, y: x * y, lambda ctx, g: grads(g))
    return type(name, (F,), {})


def test_27_1_the_warning(torch: Any) -> Any:
    detect, switch = torch.autograd.detect_anomaly, torch.autograd.set_detect_anomaly
    manager: list[Any] = []
    texts = warned(lambda: manager.append(detect())), warned(lambda: switch(False))
    states = [torch.is_anomaly_enabled()]
    with manager[0]:
        states.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        with switch(False):
            states.append(torch.is_anomaly_enabled())
        with switch(True, check_nan=False):
            states.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        states.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
    states.append(torch.is_anomaly_enabled())
    switch(True)
    states.append(torch.is_anomaly_enabled())
    switch(False)
    return texts, states, torch.is_anomaly_enabled()


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("check_nan", [True, False])
@pytest.mark.parametrize("first", [1.0, NAN, INF])
@pytest.mark.parametrize("second", [1.0, NAN])
def test_27_2_nan(torch: Any, first: float, second: float, check_nan: bool) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=check_nan):
        out = returning(torch, lambda g: (g * first, g * second)).apply(x, y).sum()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what = raised(out.backward)
    return what, x.grad, y.grad, torch.is_anomaly_enabled()


def test_27_2_nan_from_a_built_in_op(torch: Any) -> Any:
    x = torch.tensor([0.0, -1.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = [
            raised(x.sqrt().sum().backward),
            raised((x * NAN).sum().backward),
            raised(x.sum().backward, torch.tensor(NAN)),
            raised(torch.autograd.grad, (x.log() * 0).sum(), x),
            raised(x.sqrt().sum().backward, create_graph=True),
        ]
    return seen, x.grad


def told(program: Any) -> Any:
    """The beginnings of warnings, and which of the program's own lines they quote."""
    texts = [text for _, text in warned(program)]
    return [(text.split(". ", 1)[0], re.findall(r"#\s*(line \w+)", text)) for text in texts]


def test_27_3_the_line_of_the_forward(torch: Any) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def fail(g):
        raise ValueError("no")

    seen = []
    with torch.autograd.set_detect_anomaly(True):
        out = returning(torch, fail, "Fail").apply(x, y)  # line one
        total = out.sum()  # line two
        text = told(lambda: seen.append(raised(total.backward)))
    return text, seen, x.grad


def test_27_3_the_line_of_a_built_in_op(torch: Any) -> Any:
    x = torch.tensor([-1.0], requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x * 2  # line one
        z = y.sqrt()  # line two
        text = told(lambda: seen.append(raised(z.backward)))
    return text, seen


def test_27_3_no_information(torch: Any) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def fail(g):
        raise ValueError("no")

    out = returning(torch, fail, "Fail").apply(x, y).sum()
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        text = warned(lambda: seen.append(raised(out.backward)))
    return text, seen


def test_27_3_a_gradient_of_the_wrong_shape(torch: Any) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        out = returning(torch, lambda g: (g[:1], g), "Short").apply(x, y)  # line one
        text = told(lambda: seen.append(raised(out.sum().backward)))
    return text, seen


def test_27_3_a_stale_saved_tensor(torch: Any) -> Any:
    x = torch.tensor([1.0], requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        z = y * y  # line one
        y.add_(1)
        text = told(lambda: seen.append(raised(z.backward)))
    return text, seen


def test_27_3_an_error_of_the_second_backward(torch: Any) -> Any:
    x = torch.tensor([-1.0], requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x.abs().sqrt() ** 0.5  # line one
        (g,) = torch.autograd.grad(y, x, create_graph=True)  # line two
        bad = (g * 0).sqrt()  # line three
        texts = warned(lambda: seen.append(raised(bad.backward)))
    return [text.split(". ", 1)[0] for _, text in texts], seen


def twice(torch: Any) -> Any:
    """A Function whose backward runs another one, whose own backward fails."""

    def fail(ctx, g):
        raise ValueError("no")

    def backward(ctx, g):
        return inner.apply(g * ctx.saved_tensors[0])  # line inner

    inner = function(torch, lambda ctx, x: x * 1, fail, name="Inner")
    return function(torch, lambda ctx, x: x * 1, backward, saves=True, name="Outer")


@pytest.mark.parametrize("known", [True, False])
def test_27_3_what_induced_the_calculation(torch: Any, known: bool) -> Any:
    x = torch.ones(2, requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(known):
        y = twice(torch).apply(x)  # line one
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)  # line two
        text = told(lambda: seen.append(raised(g.sum().backward)))  # line three
        found = g.grad_fn.metadata["parent_"].name(), list(g.sum().grad_fn.metadata)
    return text, seen, found


def test_27_3_and_what_induced_that(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x**3  # line one
        (g,) = torch.autograd.grad(y, x, create_graph=True)  # line two
        (h,) = torch.autograd.grad(g, x, create_graph=True)  # line three

        def fail(grad):
            raise ValueError("no")

        h.register_hook(fail)
        text = told(lambda: seen.append(raised(h.backward)))
    return text, seen


def test_27_3_a_node_made_by_a_hook(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    made, seen = [], []

    def hook(grad):
        with torch.enable_grad():
            made.append((x - 2).sqrt())  # line hook

    with torch.autograd.set_detect_anomaly(True):
        y = x * 3  # line one
        y.register_hook(hook)
        y.sum().backward()  # line two
        text = told(lambda: seen.append(raised(made[0].sum().backward)))
    return text, seen


def test_27_3_the_lines_are_in_the_metadata(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        base = x * 2
        view = base[:1]
        view.mul_(2)
        nodes = [base.grad_fn, view.grad_fn, x.unbind()[0].grad_fn, base.grad_fn.next_functions[0][0]]
        seen = []
        torch.func.grad(lambda t: (seen.append((t * 2).grad_fn), t.sum())[1])(x)
    plain = (x * 2).grad_fn
    return [(node.name(), list(node.metadata)) for node in (*nodes, *seen, plain)]


def test_27_3_an_error_at_a_leaf(torch: Any) -> Any:
    def fail(t):
        raise ValueError("no")

    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(fail)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        out = (x * 2).sum()  # line one
        text = told(lambda: seen.append(raised(out.backward)))
    return text, seen


def test_27_3_where_warnings_are_errors_the_original_error_is_raised(capsys: pytest.CaptureFixture[str]) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            (g,) = torch.autograd.grad(twice(torch).apply(x).sum(), x, create_graph=True)
            seen = raised(g.sum().backward)
        # PyTorch quotes its own lines as well, and says where in C++ it warned
        return seen, re.findall(r"UserWarning:\s*((?:Error|Previous)[^.]*)\.", capsys.readouterr().err)

    compare(program)


def test_nan_is_looked_for_after_the_hooks_and_for_inputs_without_gradient(torch: Any) -> Any:
    x, c = torch.ones(1, requires_grad=True), torch.ones(1)

    def run(y: Any, hook: Any) -> Any:
        y.grad_fn.register_hook(hook)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return raised(y.backward)

    bad = returning(torch, lambda g: (g, g * NAN))
    with torch.autograd.set_detect_anomaly(True):
        unwanted = run(bad.apply(x, c), lambda inputs, outputs: None)
        healed = run(bad.apply(x, c), lambda inputs, outputs: (inputs[0], inputs[0]))
        made = run(x * 2, lambda inputs, outputs: (inputs[0] * NAN, *inputs[1:]))
    return unwanted, healed, made, x.grad
