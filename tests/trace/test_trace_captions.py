"""A recorded call reads as the user wrote it: its arguments in their order, lists of tensors in brackets."""

from __future__ import annotations

import functions
import pytest
from made_functions import function
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.scene.text import graph_lines
from workbench.pictures.views import storyboard

CAPTIONS = {
    "x[i]": "index(x, i)",
    "x[m]": "index(x, m)",
    "a[j, j]": "index(a, (j, j))",
    "a[:, j]": "index(a, (None, j))",
    "a[None, j]": ["unsqueeze(a, 0)", "index(the result of unsqueeze, (None, j))"],
    "torch.cat((x, x), 0)": "cat((x, x), 0)",
    "torch.cat([x, x, y])": "cat((x, x, y), 0)",
    "torch.cat([x])": "cat(x, 0)",
    "torch.stack([x, y], 1)": "stack((x, y), 1)",
    "x.gather(0, i)": "gather(x, 0, i)",
    "x.scatter(0, i, y)": "scatter(x, 0, i, y)",
    "x.scatter_add(0, i, y)": "scatter_add(x, 0, i, y)",
    "x.index_select(0, i)": "index_select(x, 0, i)",
    "x.index_add(0, i, y, alpha=2)": "index_add(x, 0, i, y, 2)",
    "torch.index_put(x, (i,), y)": "index_put(x, i, y)",
    "torch.index_put(a, (j, j), y[0])": ["select(y, 0, 0)", "index_put(a, (j, j), the result of select)"],
    "x.masked_fill(m, 2.0)": "masked_fill(x, m, 2)",
    "torch.where(m, x, y)": "where(m, x, y)",
    "torch.where(m, 1.5, y)": "where(m, 1.5, y)",
    "x.sort(0)[0]": "sort(x, 0)",
    "x.topk(2, 0)[0]": "topk(x, 2, 0)",
    "a.max(1)[0]": "max(a, 1)",
    "a.max(1, True)[0]": "max(a, 1, True)",
    "a.sum(0)": "sum(a, 0)",
    "a.var()": "var(a)",
    "torch.addmm(x, a, torch.ones(3, 3))": "addmm(x, a, torch.ones(3, 3))",
    "x.index_add(0, i, y)": "index_add(x, 0, i, y)",
    "torch.nn.functional.elu(x)": "elu(x)",
    "x.to(torch.float64)": "to_copy(x, torch.float64)",
    "2 ** x": "pow(2, x)",
    "x ** 2": "pow(x, 2)",
    "x * 2": "mul(x, 2)",
    "torch.nn.functional.elu(x, 2.0)": "elu(x, 2)",
    "torch.nn.functional.layer_norm(a, (3,))": "native_layer_norm(a, 3)",
    "a.permute(1, 0)": "permute(a, 1, 0)",
    "Several.apply(x, [y, 3, [m, None]])": "Several.apply(x, (y, 3, (m, None)))",
    "Several.apply(x, [1, y])": "Several.apply(x, (1, y))",
    "Several.apply(x, [1, 2])": "Several.apply(x, 1, 2)",
    "x.clone().copy_(y)": ["clone(x)", "copy(kept, y)"],
}


Several = function("Several", lambda x, others: x * 2, lambda grad: (grad * 2, None))


@pytest.mark.parametrize("call", CAPTIONS)
def test_a_caption_reads_as_the_call(call):
    with record() as trace:
        x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        a = torch.ones(2, 3, requires_grad=True)
        i, j, m = torch.tensor([2, 0, 1]), torch.tensor([0, 1]), torch.tensor([True, False, True])
        kept = eval(call, {"torch": torch, "Several": Several, "x": x, "y": y, "a": a, "i": i, "j": j, "m": m})
    assert kept is not None
    captions = []
    for k, event in enumerate(trace.events, 1):
        if type(event).__name__ == "NodeCreated":
            captions.append(event.sentence(trace.frame(k)).partition(" gives ")[0])
    expected = CAPTIONS[call]
    assert captions == (expected if isinstance(expected, list) else [expected])


def test_index_tensors_are_shown_as_constants_that_are_saved():
    with record() as trace:
        x, i = torch.ones(3, requires_grad=True), torch.tensor([2, 0])
        y = x[i]
    (made,) = [event for event in trace.events if type(event).__name__ == "NodeCreated"]
    frame = trace.frame(len(trace.events))
    assert y.shape == (2,)
    assert [(saved.name, frame.tensors[saved.tensor].name) for saved in made.saved] == [("indices[0]", "i")]
    assert made.sentence(frame).endswith("saves `i` for backward")
    assert [edge.differentiable for edge in frame.edges.values()] == [True, False]


# It saves what it was given, and what it has computed itself.
Inner = functions.function(
    torch,
    lambda ctx, x, weight: x * weight,
    lambda ctx, grad: (grad, None),
    saves=lambda x, weight, output: (x, weight, torch.sigmoid(x)),
)


def test_what_a_function_saves_of_its_own_is_no_constant():
    with record() as trace:
        x = torch.ones(2, requires_grad=True)
        Inner.apply(x, torch.ones(2)).sum().backward()
    board = trace.show("graph").storyboard
    forward = next(k for k, step in enumerate(board.steps) if step.phase != "forward") - 1
    texts = [repr(trace.show(view)) for view in ("saved", "memory", "versions")]
    for told in (texts[0], "\n".join(graph_lines(board.at(forward)))):
        assert "torch.ones(2)" in told and "saved[2] (a tensor from inside forward)" in told
    assert all("a tensor from inside forward" in told and "torch.ones(2)" in told for told in texts[1:])


def test_of_a_graph_made_before_the_recording_nobody_knows_what_was_given():
    x = torch.ones(2, requires_grad=True)
    told = repr(torch.show(Inner.apply(x, torch.ones(2)).sum()))
    assert "from inside forward" not in told and "saved[2] (a constant)" in told


def test_the_same_expression_again_is_told_with_its_place():
    with record() as trace:
        y = leaf(2.0)
        for _ in range(2):
            y = y * 3.0
        with torch.scope("late"):
            y = y.sin()
        y = y.sin()
        y.backward()
    told = " ".join(step.caption for step in storyboard(trace).steps[5:])
    for place, words in (("", "`y = y.sin()`"), ("In late: ", "`late`"), ("In iteration 1: ", "`y * 3.0`")):
        assert f"{place}{words} (" in told
    assert "In iteration 2: `y * 3.0` (MulBackward0) receives the gradient" in told
