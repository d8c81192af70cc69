"""The saved-tensor inspector: what each node keeps, how it is told, and what is wrong with tensors on ctx."""

from __future__ import annotations

import numpy as np
import pytest
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.labels import box_fields
from workbench.pictures.views import storyboard
from workbench.pictures.views.value_display import grid_of, pages_of


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


def at(trace, k):
    """What stands in the picture after step k: by id."""
    scene = storyboard(trace, "saved").at(k)
    return {id: box for id, box in scene.boxes.items() if box.state != "future"}


def captions(trace):
    return [step.caption for step in storyboard(trace, "saved").steps]


def cells(boxes, slot="slot0"):
    return [(box.title, box.shade) for id, box in boxes.items() if box.kind == "cell" and id.startswith(slot)]


def test_the_still_shows_all_that_was_ever_kept_each_tensor_counted_once():
    with record() as trace:
        x = leaf(0.1, -0.2, 0.3)
        y = x.exp()
        (y * y.sin()).sum().backward()
    board = storyboard(trace, "saved")
    told = {id: box for id, box in board.at().boxes.items()}
    assert told["total"].title == "3 of 4 nodes save 48 bytes for backward"  # y, which three keep, and its sine
    bars = {id: box.place[2] for id, box in told.items() if box.kind in ("bar", "cell")}
    assert bars["own0"] == bars["rest0"] == bars["own1"] == bars["rest2"] and "own2" not in bars
    assert "counted with ExpBackward0" in told["node2"].alt and all("freed" not in box.title for box in told.values())
    assert not any(box.title.startswith("2 of") for box in board.at(len(board.steps) - 1).boxes.values())


def test_the_still_of_many_nodes_shows_those_that_keep_the_most():
    with record() as trace:
        x = leaf(*range(40))
        for n in range(1, 41):
            x[:n].exp()
    told = storyboard(trace, "saved").at().boxes
    assert len([id for id in told if id.startswith("node")]) == 23
    assert told["more"].title == "… and 17 more, each with at most 136 bytes"
    assert told["nothing"].title == "40 nodes save nothing"
    sizes = [told[f"node{n}"].alt.partition(" saves ")[2].partition(":")[0] for n in (0, 22)]
    assert sizes == ["320 bytes", "144 bytes"]


def spoiled() -> Trace:
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x.exp()
        y.mul_(2)
        with pytest.raises(RuntimeError):
            y.sum().backward()
    return trace


def test_large_arrays_have_pages_and_summaries_say_so():
    with record(limit=1000) as trace:
        leaf(*np.linspace(-1, 1, 600)).exp()
        leaf(*np.linspace(-1, 1, 1001)).exp()
    small, large = at(trace, 0), at(trace, 1)
    pages = [each for each in small["slot0"].details if each.heading.startswith("Values")]
    assert [each.heading for each in pages] == [f"Values, page {n} of 4" for n in (1, 2, 3, 4)]
    assert sum(len(line.split()) - 1 for page in pages for line in page.body.splitlines()) == 600
    assert len(cells(small)) == 40 and small["slot0.5"].title == "… +70"
    assert "1,001 values, of which only a summary was recorded" in " ".join(large["slot0"].lines) and not cells(large)


def test_a_higher_limit_gives_every_page_of_a_larger_array():
    with record(limit=10_000) as trace:
        x = leaf(*np.arange(1200.0))
        (x * x).sum().backward()
    pages = [each for each in at(trace, 0)["slot0"].details if each.heading.startswith("Values")]
    assert [each.heading for each in pages] == [f"Values, page {n} of 8" for n in range(1, 9)]
    assert pages[-1].body.split()[-1].rstrip(".") == "1199"
    assert all(grad.values for event in trace.events for grad in getattr(event, "grads", ()))


def test_a_heat_map_of_several_dimensions_names_its_rows():
    with record() as trace:
        torch.tensor(np.arange(8.0).reshape(2, 2, 2), requires_grad=True).sin()
    value = trace.events[0].tensors[0].value
    assert [row.label for row in grid_of(value)] == ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]
    assert pages_of(value)[0][1].splitlines()[1] == "[0, 1]  2. 3.".replace(".", "")
    with record() as trace:
        torch.tensor(np.arange(12.0).reshape(2, 2, 3), requires_grad=True).sin()
    assert [row.begin for row in grid_of(trace.events[0].tensors[0].value)] == [0, 3, 6, 9]
    with record() as trace:
        torch.tensor(np.zeros((0, 3)), requires_grad=True).sin()
        leaf(float("nan"), float("inf"), 0.0).exp()
    assert str(trace.show("saved"))


def long(length: int = 300) -> Trace:
    with record() as trace:
        t = leaf(1.0, 2.0)
        for n in range(length):
            t = t.sin() if n % 6 == 0 else t + 1
        t.sum().backward()
    return trace


def rows(boxes):
    return [box for id, box in boxes.items() if id.startswith("list.")]


@pytest.fixture(scope="module")
def board():
    """Of 301 nodes that are made, and then run from the last to the first."""
    return storyboard(long(), "saved")


def there(board, step):
    return {id: box for id, box in board.at(step).boxes.items() if box.state != "future"}


@pytest.mark.parametrize("step", [0, 1, 20, 150, 299, 300, 301, 421, 455, 600, 602])
def test_the_list_stands_around_the_chosen_node(board, step):
    boxes = there(board, step)
    (lit,) = [box for box in rows(boxes) if box.state == "running"]
    keeps = "slot0" in boxes
    assert lit.title.startswith(f"→ {boxes['chosen'].title} " if keeps else "→ ")
    assert keeps or lit.title.endswith(("save nothing", "saves nothing"))
    assert lit.goto == step and len(rows(boxes)) <= 16
    at = rows(boxes).index(lit)
    assert not keeps or 2 <= at <= 13 or step < 12 or step > 590 or step == 301


@pytest.mark.parametrize("step", [0, 7, 30, 301, 500, 602])
def test_a_line_of_the_list_leads_to_its_node(board, step):
    for row in rows(there(board, step)):
        assert row.goto <= step  # to what is known now
        if "…" not in row.title:
            (lit,) = [box for box in rows(there(board, row.goto)) if box.state == "running"]
            assert lit.alt.partition(" (")[0] == row.alt.partition(":")[0].partition(" (")[0]


def test_the_list_tells_the_player_where_its_lines_lead(board):
    told = board.to_dict()
    assert all(("goto" in box) == box["id"].startswith("list.") for box in told["boxes"])
    assert any("goto" in change for step in told["steps"] for change in step["boxes"].values())


def test_the_ends_of_a_long_list_lead_on(board):
    step, seen = 294, []
    while (first := rows(there(board, step))[0]).title.endswith(" before"):
        seen.append(first.title)
        step = first.goto
    assert step < 90 and 3 <= len(seen) < 20
    *_, more, nothing = rows(there(board, board.start))
    assert more.title.strip() == "… 36 more" and nothing.title.strip() == "251 nodes save nothing"
    assert rows(there(board, board.start))[0].state == "running"  # all keep the same: the first of them


@pytest.mark.parametrize("array", [np.linspace(-1, 1, 30), np.ones((9, 30)) * -1.234e-5, np.ones((2, 3, 4))])
def test_it_fits_the_width_that_jupyterlab_has_for_it(array):
    with record() as trace:
        x = torch.tensor(array, requires_grad=True)
        Careless.apply((x.exp() * x).sin(), 3).sum().backward()
    board = storyboard(trace, "saved")
    assert board.layout.width <= 840  # at 1280 px, and beside what a player needs
    for k in range(len(board.steps)):
        for box in board.at(k).boxes.values():
            if box.state != "future" and box.kind != "heading":
                shown = box_fields(box)
                assert (shown["title"], shown["lines"]) == (box.title, list(box.lines))
                assert box.place[1] + 20 + 16 * len(box.lines) <= box.place[1] + box.place[3] + 4


def test_nothing_covers_what_failed():
    trace = spoiled()
    boxes = at(trace, len(captions(trace)) - 1)
    failed = boxes["slot0"]
    x, y, w, h = failed.place
    assert (failed.kind, failed.state) == ("frame", "error")
    for box in boxes.values():
        u, v, wide, high = box.place
        inside = u >= x + 6 and v >= y + 6 and u + wide <= x + w - 6 and v + high <= y + h - 6
        apart = u + wide <= x - 6 or u >= x + w + 6 or v + high <= y - 6 or v >= y + h + 6
        assert box is failed or inside or apart, box.id


def test_a_trace_that_ends_anywhere_is_shown():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    found = x.exp()
    with record() as trace:
        doubled = x * 2
        _ = found * doubled
    whole = trace.to_dict()
    for end in range(1, len(whole["events"]) + 1):
        assert str(Trace.from_dict({**whole, "events": whole["events"][:end]}).show("saved"))
