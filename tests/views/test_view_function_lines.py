"""The lines of a Function's card: a mark before the lit one, and all code in one column."""

from __future__ import annotations

import linecache
import re

from test_view_function import Two, recorded

import workbench as torch
from workbench.autograd import forward_ad as fw
from workbench.pictures.recording import record


def test_the_lit_line_is_marked_and_the_code_stands_in_one_column():
    source = (
        "class Short(torch.Function):\n"
        + "\n" * 6
        + (
            "    @staticmethod\n    def forward(ctx, x):\n        return x * 1\n"
            "    @staticmethod\n    def backward(ctx, grad):\n        return grad\n"
        )
    )
    names = {"torch": torch}
    lines = source.splitlines(keepends=True)
    linecache.cache["short.py"] = len(source), None, lines, "short.py"
    exec(compile(source, "short.py", "exec"), names)
    trace = recorded(lambda: names["Short"].apply(torch.ones(1, requires_grad=True)).backward())
    board = trace.show("function").storyboard
    for k in range(len(board.steps)):
        shown = [box for box in board.at(k).boxes.values() if box.kind == "line"]
        starts = {re.sub(r"^[→…×\xa0]\xa0", "", box.title)[:4] for box in shown}
        assert starts == {"\xa08\xa0\xa0", "\xa09\xa0\xa0", *(f"{n}\xa0\xa0" for n in range(10, 14))}
        assert [box.state for box in shown if box.title.startswith("→")] == ["running"] * (k not in (1, 3, 4))


class Wide(torch.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_of_the_output):
        x, w = ctx.saved_tensors
        return grad_of_the_output @ w.t(), x.t() @ grad_of_the_output


def test_wide_code_has_its_panels_below_so_that_a_notebook_shows_it_whole():
    x, w = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    with torch.record(lines=True) as trace:
        Wide.apply(x, w).sum().backward()
    board = trace.show("function").storyboard
    places = {box.id: box.place for box in board.scene.boxes.values()}
    lowest = max(y + h for id, (_, y, _, h) in places.items() if board.scene.boxes[id].kind == "line")
    variables, ctx = places["f0.variables"], places["f0.ctx"]
    assert variables[1] == ctx[1] >= lowest and ctx[0] > variables[0] + variables[2]
    assert board.layout.width <= 840


def test_ctx_holds_what_was_saved_for_forward_until_forward_is_over_and_nothing_of_the_engines():

    with record(lines=True) as trace, fw.dual_level():
        x = torch.tensor([1.0], requires_grad=True)
        Two.apply(fw.make_dual(x, torch.ones(1))).backward()
    board = trace.show("function").storyboard
    told = repr(trace.show("function"))
    assert "saved_for_forward" not in told
    assert told.endswith("The node has run: ctx frees output.")
    captions = [step.caption for step in board.steps]
    held = {}
    for method in ("jvp", "backward"):
        k = next(k for k, caption in enumerate(captions) if f"Two.{method} begins" in caption)
        boxes = [box for box in board.at(k).boxes.values() if box.title.startswith("ctx")]
        held[method] = [line.partition(" = ")[0] for box in boxes for line in box.lines]
    assert held["jvp"] == ["saved output", "save_for_forward", "needs_input_grad"]
    assert held["backward"] == ["saved output", "needs_input_grad"]
