"""What a graph says beside its boxes and ways: which output an arrow comes from, what is the same memory as what."""

from __future__ import annotations

from dataclasses import replace

from boxes import before_backward, box_named, last, name_of
from text_programs import recorded
from trace_samples import leaf, two_outputs

import workbench as torch
from workbench.recording import record
from workbench.scene.geometry import along
from workbench.scene.images import drawn
from workbench.scene.labels import arrow_fields, box_fields
from workbench.scene.model import Scene
from workbench.scene.storyboard import Storyboard
from workbench.scene.text import graph_lines
from workbench.views import storyboard


def arrows(scene):
    """(source, target, label, alt) of every arrow, the boxes by their titles."""
    return [
        (
            name_of(scene.boxes[each.source]),
            name_of(scene.boxes[each.target]),
            each.label,
            arrow_fields(each, scene)["alt"],
        )
        for each in scene.arrows.values()
        if each.kind != "same"
    ]


# Which output.


def unbound():
    return recorded("x = leaf(1.0, 2.0, 3.0)\na, b, c = x.unbind()\ny = b * c\ny.backward()")


def test_an_arrow_from_a_node_of_several_outputs_says_which():
    scene = before_backward(storyboard(unbound()))
    labels = {each[0]: [] for each in arrows(scene)}
    for source, _, label, _ in arrows(scene):
        labels[source].append(label)
    assert labels == {"x": [""], "UnbindBackward0": ["output 1", "output 2"], "MulBackward0": [""]}
    told = "\n".join(graph_lines(scene))
    assert "x.unbind(): UnbindBackward0, a  1.0, b  2.0, c  3.0, views of x; gives output 1" in told
    assert "x.unbind() (see above); gives output 2" in told
    assert (
        "from x.unbind() to y = b * c: output 1; output_nr 1 of UnbindBackward0, whose gradient is its "
        "input_nr 1, next_functions[0] of MulBackward0"
    ) in [alt for *_, alt in arrows(scene)]


def test_it_is_said_of_the_one_output_that_is_used():
    trace = recorded("x = leaf(1.0, 2.0)\nfirst = x.unbind()[0]\ny = first.exp()")
    assert [label for *_, label, _ in arrows(storyboard(trace).at())] == ["", "output 0"]
    assert "gives output 0" in repr(torch.show(leaf(1.0, 2.0).unbind()[0].exp()))


def test_a_gradient_keeps_its_label_and_says_for_which_output_it_is():
    board = storyboard(unbound())
    labels = [label for source, _, label, _ in arrows(last(board)) if source == "UnbindBackward0"]
    assert labels == ["3.0\nfor output 1", "2.0\nfor output 2"]
    assert "gets the gradient 3.0, for output 1" in "\n".join(graph_lines(last(board)))
    assert board.steps[-4].caption == (
        "MulBackward0 receives the gradient 1.0; it sends 3.0 to UnbindBackward0 (output 1) and 2.0 to UnbindBackward0 "
        "(output 2); what it had saved is freed."
    )


def test_a_flow_says_it_too_under_what_it_says_of_the_gradient():
    labels = [label for source, _, label, _ in arrows(last(storyboard(unbound(), "flow"))) if source[:6] == "Unbind"]
    assert labels == ["3.0\nfor output 1", "2.0\nfor output 2"]


def test_an_output_without_a_gradient_is_an_output_too():
    scene = before_backward(storyboard(two_outputs()))
    seen = [(kind, label) for kind, *_, label, _ in arrows(scene) if kind == "SplitBackward"]
    assert seen == [("SplitBackward", "output 0"), ("SplitBackward", "output 1")]
    alts = [alt for *_, alt in arrows(scene)]
    assert "from Split.apply(a, 5) to p * q: output 1; output_nr 1 of SplitBackward" in alts


def test_two_uses_of_one_value_are_told_apart_in_words():
    trace = recorded("x = leaf(3.0)\nx / x")
    assert [alt for *_, alt in arrows(storyboard(trace).at())] == [
        f"from x to x / x: next_functions[{n}] of DivBackward0" for n in (0, 1)
    ]


# What is the same memory.


def lines(scene):
    """(source, target, words) of every dotted line that is drawn, the boxes by their titles."""
    there = [each for each in scene.arrows.values() if each.kind == "same" and each.state != "future"]
    return [
        (name_of(scene.boxes[each.source]), name_of(scene.boxes[each.target]), arrow_fields(each, scene)["alt"])
        for each in there
    ]


def product():
    return recorded("x = leaf(1.0, 2.0)\nw = leaf(3.0, 4.0)\ny = (x * w).exp()\nz = y * y.exp()\nz.sum().backward()")


def test_a_saved_tensor_is_joined_to_the_box_of_the_tensor_it_is():
    assert lines(before_backward(storyboard(product()))) == [
        ("w", "saved other (w)", "what MulBackward0 saved is w itself"),
        ("x", "saved self (x)", "what MulBackward0 saved is x itself"),
        ("ExpBackward0", "saved other", "what MulBackward0 saved is the result of exp itself"),
        ("ExpBackward0", "saved self (y)", "what MulBackward0 saved is y itself"),
    ]


def test_a_nodes_own_output_has_words_instead_of_a_line():
    scene = before_backward(storyboard(product()))
    words = [box_fields(each)["alt"] for each in scene.boxes.values() if each.title.startswith("saved result")]
    assert words[0].startswith("saved result (y) (saved tensor); its own output; (2,) float64")
    assert "├╌ saved result (y) (its own output): (2,) float64" in "\n".join(graph_lines(scene))
    assert "├╌ saved other (the result of exp): (2,) float64" in "\n".join(graph_lines(scene))


def test_a_line_goes_with_what_was_saved():
    board = storyboard(product())
    ends = [{target for _, target, _ in lines(board.at(k))} for k in range(len(board.steps))]
    forward = next(k for k, step in enumerate(board.steps) if step.phase == "backward") - 1
    assert ends[0] == {"saved other (w)", "saved self (x)"} and ends[forward] > ends[0]
    freed = next(k for k, step in enumerate(board.steps) if "saved is freed" in step.caption)
    assert ends[freed] == {"saved other (w)", "saved self (x)"} and not ends[-1]


def chain(length, **options):
    x = leaf(1.0, 2.0)
    with record() as trace:
        y = x
        for _ in range(length):
            y = y * x
        y.sum().backward(**options)
    return trace


def test_of_many_lines_only_those_of_the_step_are_drawn():
    board = storyboard(chain(8), depth=9)
    seen = [lines(board.at(k)) for k in range(len(board.steps))]
    assert max(map(len, seen)) == 2
    assert [len(each) for each in seen] == [2] * 8 + [0] * (len(seen) - 8)  # freed, when they have run
    assert len(lines(before_backward(storyboard(chain(4))))) == 8


def test_they_come_back_with_a_backward_that_keeps_the_graph():
    board = storyboard(chain(8, retain_graph=True), depth=9)
    running = [k for k, step in enumerate(board.steps) if step.caption.startswith("`y * x` in round")]
    assert [len(lines(board.at(k))) for k in running] == [2] * 8


def test_lines_move_no_box_and_are_in_no_still_picture():
    board = storyboard(product())
    plain = Storyboard(
        Scene("", board.scene.boxes, {id: each for id, each in board.scene.arrows.items() if each.kind != "same"}),
        [
            replace(step, arrows={id: new for id, new in step.arrows.items() if "same" not in id})
            for step in board.steps
        ],
    )
    assert plain.layout.boxes == board.layout.boxes
    assert (plain.layout.width, plain.layout.height) == (board.layout.width, board.layout.height)
    assert all(plain.layout.arrows[id] == board.layout.arrows[id] for id in plain.scene.arrows)
    assert len([each for each in board.at().arrows.values() if each.kind == "same"]) == 4
    assert not [group for group in drawn(board) if "wb-kind-same" in group.classes]


def test_a_line_avoids_boxes_where_it_can():
    board = storyboard(product())
    layout = board.layout
    for arrow in board.at().arrows.values():
        if arrow.kind == "same":
            points = along(layout.arrows[arrow.id].points)[1:-1]
            for id, place in layout.boxes.items():
                inside = [1 for x, y in points if place.x < x < place.x + place.w and place.y < y < place.y + place.h]
                assert not inside, (arrow.id, id)


def test_closed_groups_have_no_loose_ends():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x
        for part in ("first", "second"):
            with torch.scope(part):
                y = (y * x).exp()
        y.sum().backward()
    board = storyboard(trace, open=[])
    for k in range(len(board.steps)):
        assert not [each for each in board.at(k).arrows.values() if each.kind == "same"]


def viewed():
    return recorded("x = leaf(1.0, 2.0)\ny = x.reshape(2, 1)\ny[0].sin()\nd = x.detach()\nd * x")


def test_a_view_says_what_it_is_a_view_of():
    scene = storyboard(viewed()).at()
    told = {name_of(each): each.lines for each in scene.boxes.values() if each.holder is None}
    assert "view of x" in told["ViewBackward0"] and "view of x" in told["SelectBackward0"]
    select = next(each for each in scene.boxes.values() if name_of(each) == "SelectBackward0")
    assert "view of x" in box_fields(select)["alt"]
    assert [each.body for each in select.details if each.heading == "Memory"] == [
        "That of x: a write into one is a write into both, and they have one version."
    ]
    assert told["d"][-2:] == ("no gradient: detach", "shares the memory of x")


def test_a_view_of_what_it_does_not_come_from_is_joined_to_its_base():
    assert ("x", "SelectBackward0", "what SelectBackward0 gives is a view of x: the same memory") in lines(
        storyboard(viewed()).at()
    )
    ways = [(source, target) for source, target, _ in lines(storyboard(viewed()).at())]
    assert ("x", "ViewBackward0") not in ways and ("x", "d") in ways


def test_several_views_say_so_once():
    board = storyboard(recorded("x = leaf(1.0, 2.0)\na, b = x.unbind()\na + b"))
    assert box_named(board.at(), "UnbindBackward0").lines == ("UnbindBackward0", "a  1.0", "b  2.0", "views of x")


def test_a_view_that_an_operation_makes_keeps_the_name_of_what_it_views_and_counts_with_it():
    x = torch.ones(2, 3, 4)
    with record() as trace:
        A = torch.ones(4, 5, requires_grad=True)
        y = (x @ A).sum()
        y.backward()
    picture = trace.show(open=["x @ A"])
    text, forward = str(picture), "\n".join(graph_lines(before_backward(picture.storyboard)))
    assert "saved self (view of x): (6, 4)" in forward and "─ x (constant): (2, 3, 4)" in forward
    assert "─ x (constant): (2, 3, 4)" in text
    assert "mm(a view of x, A) gives" in text and "MmBackward0 joins the graph and keeps view of x for backward" in text
    assert "a constant" not in text and "view of x (constant)" not in text
    memory = str(trace.show("memory"))
    assert "MmBackward0 keeps nothing of its own until it has run; needs x, alive anyway" in memory
    assert "Alive anyway: 1 parameter or input, 96 bytes" in memory  # the memory of x, once


def test_a_view_with_a_node_keeps_the_name_too():
    x = torch.ones(2, 3, 4, requires_grad=True)
    trace = recorded("y = (x @ torch.ones(4, 5)).sum() + (x[0] * x[1]).sum()\ny.backward()", x=x)
    text = str(trace.show())
    assert "saved other (x[1])" in text and "saved self (x[0])" in text
    memory = str(trace.show("memory"))
    assert "Kept for backward: 80 bytes at most" in memory  # the temporary matrix
    assert "Alive anyway: 1 parameter or input, 96 bytes" in memory  # x once


def test_a_chip_never_shows_an_older_value_than_the_box_it_points_to():
    with record() as trace:
        w = leaf(1.0, 2.0)
        loss = (w * w).exp().sum()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            w -= 1.0
            w.detach().mul_(10.0)
        y = w * 1.0
        z = y.exp() * y
        y.add_(5.0)
        assert z.requires_grad
    board = storyboard(trace)
    joined = 0
    for k in range(len(board.steps)):
        scene = board.at(k)
        for line in [each for each in scene.arrows.values() if each.kind == "same" and each.state != "future"]:
            chip, box = scene.boxes[line.target], scene.boxes[line.source]
            if chip.holder is not None and chip.state not in ("freed", "future") and box.kind != "saved":
                held = chip.lines[0].rpartition("  ")[2]
                assert any(line.endswith(held) for line in box.lines), (k, chip, box)
                joined += 1
    assert joined > 8


def test_chips_name_the_dtype_that_is_saved():
    with record() as trace:
        x = torch.ones(3, requires_grad=True)
        loss = ((x * 2.0) * 3 * True / 0.1).sum()
        loss.backward(retain_graph=True)
    chips = [box.lines[:2] for box in storyboard(trace).at().boxes.values() if box.kind == "saved"]
    assert chips == [("float64  2.0",), ("int64  3",), ("bool  True",), ("float64  0.1",)]
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [60.0] * 3
