"""The saved-tensor inspector: what each node keeps, how it is told, and what is wrong with tensors on ctx."""

from __future__ import annotations

import numpy as np
import pytest
from trace_samples import leaf

import workbench as torch
from workbench.recording import Trace, load, record
from workbench.utils.checkpoint import checkpoint
from workbench.views import storyboard
from workbench.views.tables import grid_of, pages_of


class Careless(torch.Function):
    """Keeps an input, an output, a number and an array as attributes."""

    @staticmethod
    def forward(ctx, x, factor):
        y = x * factor
        ctx.x, ctx.y, ctx.factor, ctx.ones = x, y, factor, np.ones(2)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


def program() -> Trace:
    with record() as trace:
        x, y = leaf(0.1, -0.2, 0.3), leaf(1.0, 2.0, 3.0)
        product = x * y
        grown = (product + 1).exp()
        grown.sum().backward()
    return trace


def at(trace, k):
    """What stands in the picture after step k: by id."""
    scene = storyboard(trace, "saved").at(k)
    return {id: box for id, box in scene.boxes.items() if box.state != "future"}


def captions(trace):
    return [step.caption for step in storyboard(trace, "saved").steps]


def cells(boxes, slot="slot0"):
    return [(box.title, box.shade) for id, box in boxes.items() if box.kind == "cell" and id.startswith(slot)]


def test_a_step_chooses_the_node_and_follows_the_trace():
    assert captions(program()) == [
        "MulBackward0 keeps other (y) and self (x).",
        "AddBackward0 keeps nothing.",
        "ExpBackward0 keeps result (grown).",
        "SumBackward0 keeps nothing.",
        "SumBackward0 runs.",
        "ExpBackward0 runs and reads what it had saved; it frees that.",
        "AddBackward0 runs.",
        "MulBackward0 runs and reads what it had saved; it frees that.",
    ]


def test_the_chosen_node_shows_its_line_and_its_values_as_a_heat_map():
    boxes = at(program(), 0)
    assert boxes["chosen"].title == "MulBackward0" and boxes["chosen"].lines[0].endswith("product = x * y")
    assert (boxes["slot0"].title, boxes["slot1"].title) == ("other (y)", "self (x)")
    assert boxes["slot1"].lines == ("(3,) float64", "at version 0 when saved and now")
    (low, first), (below, second), (high, third) = cells(boxes, "slot1")
    assert (low, below, high) == ("0.1", "-0.2", "0.3") and second < 0 < first < third == 4
    assert boxes["slot1"].alt == "self (x); (3,) float64, [0.1 -0.2 0.3]; at version 0 when saved and now"


def test_what_was_read_and_freed_has_no_values_any_more():
    boxes = at(program(), 7)
    assert (
        boxes["slot0"].title == "other (y) (freed)" and boxes["slot0"].lines[-1] == "read at step 8 and freed at step 8"
    )
    assert not cells(boxes)
    assert boxes["list.n1"].alt == "MulBackward0 (chosen): 2 freed: other (y), self (x)"


def test_the_text_lists_who_keeps_what():
    text = str(program().show("saved")).splitlines()
    assert text[1:6] == [
        "Nodes",
        "MulBackward0: 2 kept: other (y), self (x)",
        "AddBackward0: nothing",
        "ExpBackward0: 1 kept: result (grown)",
        "SumBackward0 (chosen): nothing",
    ]


def test_a_write_chooses_the_node_whose_tensor_is_out_of_date():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x.exp()
        y.mul_(2)
        with pytest.raises(RuntimeError):
            y.sum().backward()
    told = captions(trace)
    step = next(n for n, caption in enumerate(told) if caption.startswith("mul_ writes into y"))
    boxes = at(trace, step)
    assert boxes["chosen"].title == "ExpBackward0" and boxes["slot0"].title == "result (y) (out of date)"
    assert "at version 0 when saved, at version 1 now" in boxes["slot0"].lines
    assert at(trace, len(told) - 1)["list.n1"].state == "error"


def test_attributes_on_ctx_say_what_is_wrong_with_them():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = Careless.apply(x, 3)
    assert y.grad_fn is not None
    assert captions(trace)[0].endswith(", and has ctx.x and ctx.y as an attribute, which is unsafe.")
    told = {box.title: " ".join(box.lines) for id, box in at(trace, 0).items() if id.startswith("ctx.")}
    assert list(told) == ["! ctx.x = x, (2,) float64", *list(told)[1:]] and len(told) == 4
    words = list(told.values())
    assert "without an error" in words[0] and "not freed" in words[0] and "circle" in words[1]
    assert words[2] == "This is the right place for it: it is no tensor." and "until the whole graph goes" in words[3]
    assert at(trace, 0)["slot0"].lines[1] == "saved by ctx.save_for_backward(x)"


def test_hooks_and_checkpoints_say_how_it_is_kept():
    def pack(t):
        return t.to(torch.float16)

    with record() as trace:
        x = leaf(1.0, 2.0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            x.exp()
        checkpoint(lambda t: t.sin(), x, use_reentrant=False)
    packed, slot = at(trace, 0)["slot0"], at(trace, 1)["slot0"]
    assert packed.lines[0] == "(2,) float16" and packed.lines[1].startswith(
        "packed by the hook pack (test_view_saved.py"
    )
    assert slot.title == "self (x)" and slot.lines == (
        "not kept: a checkpoint will compute it again from its arguments",
    )


def test_large_arrays_have_pages_and_summaries_say_so():
    with record(limit=1000) as trace:
        leaf(*np.linspace(-1, 1, 600)).exp()
        leaf(*np.linspace(-1, 1, 1001)).exp()
    small, large = at(trace, 0), at(trace, 1)
    pages = [each for each in small["slot0"].details if each.heading.startswith("Values")]
    assert [each.heading for each in pages] == [f"Values, page {n} of 4" for n in (1, 2, 3, 4)]
    assert sum(len(line.split()) - 1 for page in pages for line in page.body.splitlines()) == 600
    assert len(cells(small)) == 40 and small["slot0.5"].title == "… +70"
    assert "1,001 values, of which only a summary was recorded" in large["slot0"].lines[-1] and not cells(large)


def test_a_heat_map_of_several_dimensions_names_its_rows():
    with record() as trace:
        torch.tensor(np.arange(8.0).reshape(2, 2, 2), requires_grad=True).sin()
    value = trace.events[0].tensors[0].value
    assert [row.label for row in grid_of(value)] == ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]
    assert pages_of(value)[0][1].splitlines()[1] == "[0, 1]  2. 3.".replace(".", "")
    with record() as trace:
        torch.tensor(np.zeros((0, 3)), requires_grad=True).sin()
        leaf(float("nan"), float("inf"), 0.0).exp()
    assert str(trace.show("saved"))


def test_many_nodes_show_those_that_keep_something():
    with record() as trace:
        t = leaf(1.0, 2.0)
        for n in range(60):
            t = t.sin() if n % 6 == 0 else t + 1
    boxes = at(trace, 59)
    listed = [box for id, box in boxes.items() if id.startswith("list.")]
    assert sum("1 kept" in box.title for box in listed) == 10 and len(listed) == 30
    assert boxes["left"].title == "… and 30 more"


def test_nothing_recorded_says_so():
    with record() as trace:
        pass
    assert "Nothing joined the graph" in str(trace.show("saved"))


def test_names_from_outside_do_no_harm_and_a_file_tells_the_same(tmp_path):
    trace = program()
    trace.save(tmp_path / "t.json")
    assert str(load(tmp_path / "t.json").show("saved")) == str(trace.show("saved"))
    data = trace.to_dict()
    for event in data["events"]:
        for seen in event.get("tensors", ()):
            seen["name"] = "</script>\u202e" + "x" * 10_000
        if event["kind"] == "NodeCreated":
            event["name"] = "<img src=x>" * 900
            event["attributes"] = [{"name": "\u202e" + "a" * 9000, "text": '"', "tensor": None, "value": None}]
    picture = Trace.from_dict(data).show("saved")
    picture.save(tmp_path / "s.svg")
    assert "\u202e" not in str(picture) and "\u202e" not in (tmp_path / "s.svg").read_text()
    assert all(len(line) <= 120 for line in str(picture).split("\n\n")[0].splitlines())
