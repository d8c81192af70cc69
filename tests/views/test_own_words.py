"""Titles of what no expression of the user's computed alone: parts of modules, operations, constants, checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import workbench
from workbench import nn
from workbench.pictures.views import storyboard
from workbench.pictures.views.groups import Group
from workbench.pictures.views.program_tree import program_tree
from workbench.pictures.views.titles import function_title
from workbench.utils.checkpoint import checkpoint

F = nn.functional


def inside(group: Group, titles: dict[str, str]) -> Iterator[str]:
    """Yield the titles of all boxes in a group."""
    for item in group.items:
        if isinstance(item, str):
            yield titles[item]
        else:
            yield item.title
            yield from inside(item, titles)


def words(trace: Any) -> list[str]:
    root = program_tree(trace.events)
    return [*inside(root, root.titles)]


def boxes(trace: Any, kind: str) -> list[str]:
    return [box.title for box in storyboard(trace).scene.boxes.values() if box.kind == kind]


@pytest.mark.parametrize("layer", [nn.MultiheadAttention(4, 2), nn.TransformerEncoderLayer(4, 2, 8)])
def test_what_a_module_does_by_itself_is_not_called_by_the_expression_that_calls_it(layer: Any) -> None:
    x = workbench.randn(3, 1, 4)
    with workbench.record() as trace:
        h = layer(x, x, x)[0] if isinstance(layer, nn.MultiheadAttention) else layer(x)
        h.sum().backward()
    told = words(trace)
    assert not [title for title in told if "layer(" in title]
    assert {"softmax", "addmm"} <= {*told}


def test_a_module_of_several_operations_has_its_variable() -> None:
    out, emb = nn.Linear(3, 2), nn.Embedding(5, 3)
    with workbench.record() as trace:
        e = emb(workbench.tensor([1, 2]))
        y = out(e)
        y.sum().backward()
    assert words(trace)[:5] == ["e = emb › Embedding", "e = embedding", "y = out › Linear", "t", "y = addmm"]


def test_a_node_without_an_expression_has_the_name_of_a_function_above_that_of_its_class() -> None:
    x, y = workbench.randn(2, 3, requires_grad=True), workbench.tensor([0, 2])
    with workbench.record() as trace:
        loss = F.cross_entropy(x, y)
        (g,) = workbench.autograd.grad(loss, x, create_graph=True)
        g.sum().backward()
    board = storyboard(trace)
    nodes = [box for box in board.scene.boxes.values() if box.kind == "op"]
    assert [box.title for box in nodes][:2] == ["log_softmax", "loss = nll_loss"]
    assert not [box.title for box in nodes if "Backward" in box.title]
    assert [box.lines[0].partition(" ")[0] for box in nodes][:2] == ["LogSoftmaxBackward0", "NllLossBackward0"]
    told = [step.caption.partition("; its operations join the graph as ")[0] for step in board.steps]
    assert any("`loss = nll_loss`" in each for each in told)
    assert not [each for each in told if re.search(r"(?<!\()\b\w+Backward0(?!\)| joins)", each)]


@pytest.mark.parametrize(
    "name, operation, title",
    [
        ("NativeLayerNormBackward0", "native_layer_norm", "layer_norm"),
        ("MaxPool2DWithIndicesBackward0", "max_pool2d_with_indices", "max_pool2d"),
        ("UnsafeViewBackward0", "unsafe_view", "view"),
        (
            "ScaledDotProductFlashAttentionForCpuBackward0",
            "scaled_dot_product_flash_attention_for_cpu",
            "scaled_dot_product_attention",
        ),
        ("SquareBackward", "Square", "Square"),
        ("CopySlices", "copy_slices", "CopySlices"),
        ("AccumulateGrad", "accumulate_grad", "AccumulateGrad"),
    ],
)
def test_functions_have_the_names_by_which_programs_call_them(name: str, operation: str, title: str) -> None:
    assert function_title(name, operation) == title


def test_an_argument_of_a_function_has_the_name_that_the_program_has_for_it() -> None:
    x, s = workbench.ones(2, requires_grad=True), workbench.ones(2, requires_grad=True)

    def slope(y: Any, x: Any) -> Any:
        inner = (y * y).sum()
        return workbench.autograd.grad(inner, x, create_graph=True)[0]

    with workbench.record() as trace:
        u = x * s
        u_s, u_x = slope(u, s), slope(u, x)
        (u_s * u_x).sum().backward()
    assert boxes(trace, "leaf") == ["x", "s"]
    told = words(trace)
    assert "u = x * s" in told and not [title for title in told if title.startswith("y = ")]
    assert "inner = (y * y).sum()" in told, "what has a name in a function only keeps it"


def test_a_function_that_records_keeps_its_own_names() -> None:
    given = workbench.ones(2, requires_grad=True)

    def trained(x: Any) -> Any:
        with workbench.record() as trace:
            x.sum().backward()
        return trace

    assert boxes(trained(given), "leaf") == ["x"]


def test_constants_have_the_expressions_that_gave_them() -> None:
    e, z = workbench.ones(2, requires_grad=True), workbench.ones(2, requires_grad=True)
    bce, drop = nn.BCEWithLogitsLoss(), nn.Dropout(0.5)
    with workbench.record() as trace:
        q = z + (e - z).detach()
        loss = bce(q, workbench.ones(2)) + bce(e, workbench.zeros(2))
        (loss + (drop(q) * workbench.full((2,), 3.0)).sum() + F.dropout(e, 0.5).sum()).backward()
    expected = ["(e - z).detach()", "workbench.ones(2)", "workbench.zeros(2)", "dropout mask"]
    assert boxes(trace, "constant") == [*expected, "workbench.full((2,), 3.0)", "dropout mask"]
    captions = " ".join(step.caption for step in storyboard(trace).steps)
    assert "saves the dropout mask for backward" in captions


def test_a_constant_of_a_backward_pass_has_no_words_of_its_line() -> None:
    x = workbench.ones(2, requires_grad=True)
    with workbench.record() as trace:
        (g,) = workbench.autograd.grad((x**3).mean(), x, create_graph=True)
        g.sum().backward()
    assert {*boxes(trace, "constant")} == {"constant"}


def test_a_checkpoint_is_named_and_the_module_that_it_runs() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = workbench.ones(1, 2, requires_grad=True)
    with workbench.record() as trace:
        h = checkpoint(net, x, use_reentrant=False)
        h.sum().backward()
    assert words(trace)[0] == "checkpoint › net › Sequential"


def test_each_operand_that_takes_gradients_shows_where_it_is_cut() -> None:
    w, v = workbench.ones(2, requires_grad=True), workbench.ones(2, requires_grad=True)
    with workbench.record() as trace:
        with workbench.no_grad():
            scale = w * v
        (w * v * scale).sum().backward()
    scene = storyboard(trace).scene
    named = {id: box.title for id, box in scene.boxes.items()}
    cuts = [(named[each.source], named[each.target]) for each in scene.arrows.values() if each.kind == "cut"]
    assert cuts == [("w", "scale"), ("v", "scale")]


def test_a_call_that_is_assigned_has_its_variable() -> None:
    w = workbench.ones(2, requires_grad=True)

    def loss_of(w: Any) -> Any:
        return ((w * 2 - 1) ** 2).mean()

    def both(w: Any) -> Any:
        return (w * 2).exp(), (w * 3).sin()

    with workbench.record() as trace:
        inner = loss_of(w)
        a, b = both(w)
        total = inner + loss_of(w) + (a * b).sum()
        total.backward()
    titles = [group.title for group in program_tree(trace.events).groups()]
    assert "inner = loss_of(w)" in titles and "a, b = both(w)" in titles
    assert "loss_of(w)" in titles, "an expression around it has the variable"
