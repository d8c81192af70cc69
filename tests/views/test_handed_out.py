"""Backward passes are numbered, and a value that a pass or a transform returns has a box with its name."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as torch
from workbench import record
from workbench.pictures.views import storyboard


def cube(x):
    return (x**3).sum()


def point(requires_grad: bool = False):
    return torch.tensor([1.0, 2.0], requires_grad=requires_grad)


def returned(trace) -> dict[str, str]:
    """Return the text of each box of what the program gets back, where the picture opens."""
    board = storyboard(trace)
    there = board.at(board.start).boxes.values()
    return {box.title: " ".join(box.lines) for box in there if box.kind == "returned" and box.state != "future"}


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+\.\d*", text)]


def test_gradients_that_the_program_gets_are_beside_what_they_are_of() -> None:
    x, w = point(True), torch.tensor([3.0, 1.0], requires_grad=True)
    with record() as trace:
        y = (w * x**2).sum()
        gx, gw = torch.autograd.grad(y, (x, w))
    found = returned(trace)
    assert {name: numbers(text) for name, text in found.items()} == {"gx": gx.tolist(), "gw": gw.tolist()}
    board = storyboard(trace)
    beside = {arrow.target: arrow.source for arrow in board.scene.arrows.values() if arrow.kind == "beside"}
    boxes = board.scene.boxes
    assert {boxes[one].title: boxes[other].title for one, other in beside.items()} == {"gx": "x", "gw": "w"}


def test_a_single_gradient_has_the_name_of_what_is_taken_from_the_tuple() -> None:
    x = point(True)
    with record() as trace:
        second = torch.autograd.grad(cube(x), (x,))[0]
    assert {name: numbers(text) for name, text in returned(trace).items()} == {"second": second.tolist()}


def test_a_gradient_that_a_helper_returns_has_no_name() -> None:
    def slope(x):
        return torch.autograd.grad(cube(x), x)[0]

    with record() as trace:
        slope(point(True))
    assert list(returned(trace)) == ["returned"]


def test_gradients_in_the_graph_have_no_second_box() -> None:
    x = point(True)
    with record() as trace:
        (g,) = torch.autograd.grad(cube(x), x, create_graph=True)
        g.sum().backward()
    assert returned(trace) == {}


def test_neither_backward_nor_a_function_of_the_library_hands_out_anything() -> None:
    x = point(True)
    with record() as trace:
        jacobian = torch.autograd.functional.jacobian(lambda x: x**2, x)
        cube(x).backward(inputs=[x])
    assert jacobian.shape == (2, 2) and returned(trace) == {}


X, Y, W = torch.arange(6.0).reshape(3, 2), torch.ones(3), torch.tensor([1.0, -1.0])


def loss_of(w, x, y):
    return (x @ w - y) ** 2


def test_what_a_transform_returns_is_there_under_its_name() -> None:
    found = {}
    with record() as trace:
        g = torch.func.grad(cube)(point())
    found["g"] = g, trace
    with record() as trace:
        second = torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.0))
    found["second"] = second, trace
    with record() as trace:
        J = torch.func.jacrev(lambda x: x**3 * x.sum())(point())
    found["J"] = J, trace
    with record() as trace:
        per_sample = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(W, X, Y)
    found["per_sample"] = per_sample, trace
    with record() as trace:
        H = torch.func.hessian(cube)(point())
    found["H"] = H, trace
    with record() as trace:
        y, slope = torch.func.jvp(cube, (point(),), (torch.tensor([1.0, 0.0]),))
    found["slope"] = slope, trace
    with record() as trace:
        J = torch.func.jacfwd(lambda x: x**3 * x.sum())(point())
    found["columns of J"] = J.T, trace
    for name, (value, trace) in found.items():
        told = returned(trace)
        assert list(told) == [name], name
        shown = numbers(told[name])
        every = np.ravel(value.tolist())
        abridged = (value.tolist()[0], value.tolist()[-1]) if len(shown) < len(every) else every  # its first, its last
        assert np.allclose(shown, np.ravel(abridged), rtol=1e-3), name


def test_a_transform_whose_line_does_not_say_what_it_returns_has_no_box_for_that() -> None:
    f = torch.func.grad(cube)
    with record() as trace:
        g = f(point())
    assert g.tolist() == [3.0, 12.0] and returned(trace) == {}


def test_a_gradient_that_is_only_a_part_of_what_is_computed_does_not_have_the_name_of_the_result() -> None:
    def length(x):
        return torch.func.grad(cube)(x).norm()

    with record() as inside:
        lengths = torch.func.vmap(length)(X)
    with record() as in_a_lambda:
        lengths = torch.func.vmap(lambda x: torch.func.grad(cube)(x).norm())(X)  # noqa: F841
    with record() as doubled:
        twice = 2 * torch.func.grad(cube)(point())  # noqa: F841
    assert returned(inside) == returned(in_a_lambda) == returned(doubled) == {}


def labels(trace) -> list[str]:
    board = storyboard(trace)
    there = board.at(board.start).arrows.values()
    return [arrow.label for arrow in there if arrow.state in ("flowing", "done") and arrow.kind == "edge"]


def test_one_pass_has_no_number() -> None:
    x = point(True)
    with record() as trace:
        cube(x).backward()
    assert not any("①" in label for label in labels(trace)) and "①" not in storyboard(trace).legend


def test_two_passes_are_told_apart_by_their_numbers() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        z = g * x
        z.backward()
    marks = {label.partition(" ")[0] for label in labels(trace)}
    assert marks == {"①", "②"} and "②" in storyboard(trace).legend
    to_leaf = [label for label in labels(trace) if label.endswith("12.0")]
    assert sorted(to_leaf) == ["① 12.0", "② 12.0"]  # of the first derivative, and of z = g · x by its factor x


@pytest.mark.parametrize("view", ["graph", "flow"])
def test_a_pass_that_a_function_runs_in_its_backward_has_no_number(view: str) -> None:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                (x,) = ctx.saved_tensors
                again = x.detach().requires_grad_()
                (slope,) = torch.autograd.grad(again**2, again, grad)
            return slope

    x = torch.tensor(3.0, requires_grad=True)
    with record() as trace:
        Inner.apply(x).backward()
    board = storyboard(trace, view)
    assert not any("①" in arrow.label for step in range(len(board.steps)) for arrow in board.at(step).arrows.values())


@pytest.mark.parametrize("suffix", ["html", "svg", "png", "dot", "mmd", "json"])
def test_what_is_handed_out_is_in_every_form_of_the_picture(tmp_path, suffix: str) -> None:
    x = point(True)
    with record() as trace:
        slope = torch.autograd.grad(cube(x), x)[0]
    file = tmp_path / f"picture.{suffix}"
    trace.show().save(file)
    assert slope.tolist() == [3.0, 12.0] and file.stat().st_size
    assert suffix == "png" or "slope" in file.read_text()
