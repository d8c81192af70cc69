"""What a graph says beside its boxes and ways: which output an arrow comes from, what is the same memory as what."""

from __future__ import annotations

from trace_samples import leaf, two_outputs

from workbench.recording import record
from workbench.scene.shown import arrow_fields
from workbench.scene.text import graph_lines
from workbench.views import storyboard


def last(board):
    return board.at(len(board.steps) - 1)


def arrows(scene):
    """(source, target, label, alt) of every arrow, the boxes by their titles."""
    return [
        (scene.boxes[each.source].title, scene.boxes[each.target].title, each.label, arrow_fields(each, scene)["alt"])
        for each in scene.arrows.values()
    ]


# Which output.


def unbound():
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        a, b, c = x.unbind()
        y = b * c
        y.backward()
    return trace


def test_an_arrow_from_a_node_of_several_outputs_says_which():
    scene = storyboard(unbound()).at()
    labels = {each[0]: [] for each in arrows(scene)}
    for source, _, label, _ in arrows(scene):
        labels[source].append(label)
    assert labels == {"x": [""], "UnbindBackward0": ["output 1", "output 2"], "MulBackward0": [""]}
    told = "\n".join(graph_lines(scene))
    assert "UnbindBackward0: a () 1.0, b () 2.0, c () 3.0; gives output 1" in told
    assert "UnbindBackward0 (see above); gives output 2" in told
    assert (
        "from UnbindBackward0 to MulBackward0: output 1; output_nr 1 of UnbindBackward0, whose gradient is its "
        "input_nr 1, next_functions[0] of MulBackward0"
    ) in [alt for *_, alt in arrows(scene)]


def test_it_is_said_of_the_one_output_that_is_used():
    with record() as trace:
        x = leaf(1.0, 2.0)
        first = x.unbind()[0]
        first.exp()
    assert [label for *_, label, _ in arrows(storyboard(trace).at())] == ["", "output 0"]


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
    seen = [(kind, label) for kind, *_, label, _ in arrows(storyboard(two_outputs()).at()) if kind == "SplitBackward"]
    assert seen == [("SplitBackward", "output 0"), ("SplitBackward", "output 1")]
    alts = [alt for *_, alt in arrows(storyboard(two_outputs()).at())]
    assert "from SplitBackward to MulBackward0: output 1; output_nr 1 of SplitBackward" in alts


def test_two_uses_of_one_value_are_told_apart_in_words():
    with record() as trace:
        x = leaf(3.0)
        x / x
    assert [alt for *_, alt in arrows(storyboard(trace).at())] == [
        "from x to DivBackward0: next_functions[0] of DivBackward0",
        "from x to DivBackward0: next_functions[1] of DivBackward0",
    ]
