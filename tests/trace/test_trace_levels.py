"""Recording function transforms: levels, tangents, whole batches; nothing heard is lost."""

from __future__ import annotations

import json
import warnings

import pytest
import transform_samples as samples
from trace_samples import of_kind, square_line

import workbench as torch
from workbench.func import grad, jvp
from workbench.pictures.recording import Trace, record
from workbench.pictures.views import storyboard


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            each, marks=[pytest.mark.slow] * (each not in (samples.pushed, samples.per_sample)), id=each.__name__
        )
        for each in samples.PROGRAMS
    ],
)
def test_a_recorded_transform_loses_no_event_and_has_every_face(program):
    with warnings.catch_warnings(action="error"):
        trace = program()
        board = storyboard(trace)
    again = Trace.from_dict(json.loads(trace.to_json()))
    assert again.events == trace.events
    assert repr(again.show()) == repr(trace.show())
    assert board.to_dict() == storyboard(again).to_dict()
    assert board.layout.width and trace.show().to_svg(len(board.steps) - 1)


def test_a_trace_without_transforms_is_written_as_it_always_was():
    trace = square_line().to_dict()
    assert trace["version"] == 1
    created = trace["events"][0]
    assert not {"pushing"} & created.keys()
    assert not {"level", "below"} & created["tensors"][0].keys()
    assert "batch" not in created["tensors"][0]["value"]


def test_levels_are_entered_and_left():
    trace = samples.per_sample()
    entered = of_kind(trace, "LevelEntered")
    assert [(each.transform, each.number, each.size) for each in entered] == [("vmap", 1, 5), ("grad", 2, None)]
    stacks = [trace.frame(k).inside for k in range(len(trace.events) + 1)]
    assert list(dict.fromkeys(stacks)) == [
        "",
        "vmap of 5 (level 1)",
        "vmap of 5 (level 1) › grad (level 2)",
    ]
    assert stacks[-1] == ""


def test_a_level_is_left_by_an_error_too():
    def wrong(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), record() as trace:
        grad(wrong)(samples.values(1.0))
    assert trace.frame(len(trace.events)).stack == ()


def test_a_batched_tensor_is_kept_whole():
    trace = samples.per_sample()
    mul = of_kind(trace, "NodeCreated")[0]
    (result,) = [seen for seen in mul.tensors if seen.node == mul.node]
    assert (result.value.shape, result.value.batch) == ((5, 3), 1)
    assert result.value.kind == "a batch of 5: each (3,)"
    assert result.value.values == tuple(float(n * (n % 3 + 1)) for n in range(15))
    grads = of_kind(trace, "NodeFinished")[-1].grads
    assert [grad.shape for grad in grads if grad] == [(5, 3)]


def test_tangents_are_kept_beside_what_they_belong_to():
    trace = samples.pushed()
    sin, mul = of_kind(trace, "OperationRan")
    assert (sin.name, mul.name) == ("sin", "mul")
    of_sin, of_mul = of_kind(trace, "TangentPushed")
    assert [each.tensor for each in of_sin.outputs] == list(sin.outputs)
    assert of_sin.code[0].text == "self_t * cos(self)"
    assert of_mul.code[0].text == "self_t * other + other_t * self"
    assert [each.tensor for each in of_mul.operands] == [sin.outputs[0], sin.args[0].tensor]
    assert of_mul.outputs[0].value.values == pytest.approx((0.0, 2 * 0.5403023058681398 + 2 * 0.8414709848078965))


def test_a_custom_jvp_is_told_with_its_code():
    trace = samples.custom()
    cube = of_kind(trace, "TangentPushed")[0]
    assert cube.name == "Cube" and cube.outputs[0].value.values == (3.0, 24.0)
    assert [code.name for code in cube.code] == ["jvp"] and "3 * x * x * tangent" in cube.code[0].text


def test_an_error_while_tangents_are_computed_does_not_silence_what_follows():
    class Wrong(samples.Cube):
        @staticmethod
        def jvp(ctx, tangent):
            raise ZeroDivisionError

    x = samples.values(1.0, 2.0)
    with record() as trace:
        with pytest.raises(ZeroDivisionError):
            jvp(Wrong.apply, (x,), (x,))
        jvp(torch.sin, (x,), (x,))
    assert [each.name for each in of_kind(trace, "TangentPushed")] == ["sin"]


def test_a_caption_says_how_many_samples_ran_at_once_and_which_graph_a_node_joins():
    captions = [step.caption for step in storyboard(samples.batch()).steps]
    assert captions[2] == (
        "Inside vmap of 4 (level 1): `(x * 2).exp()` gives [[7.389 7.389] … [7.389 7.389]] for a batch of 4 at once."
    )
    twice = [step.caption for step in storyboard(samples.twice()).steps]
    assert twice[2].startswith(
        "Inside grad (level 1) › grad (level 2): `y**3` (PowBackward0) gives [1. 8.]; it joins the"
    )
    assert [text.partition("the graph of ")[2][:7] for text in twice[2:4]] == ["level 1", "level 2"]


def test_forward_over_reverse_is_one_step_for_each_operation():
    captions = [step.caption for step in storyboard(samples.forward_over_reverse()).steps]
    assert captions[2] == (
        "Inside jvp (level 1) › grad (level 2): `x.sin()` (SinBackward0) gives [0. 0.8415]; it joins the graph of "
        "level 2 and saves `x` for backward; the tangent of the result of `x.sin()` is [1. 1.081], from that of `x`."
    )


def test_what_else_a_variable_holds_may_be_called_like_a_tensors_level():
    class Gauge:
        def _level(self):
            return 3

    gauge = Gauge()
    with warnings.catch_warnings(action="error"), record() as trace:  # a listener that fails warns
        grad(lambda x: (x * gauge._level()).sum())(samples.values(1.0, 2.0))
    assert [node.name for node in of_kind(trace, "NodeCreated")] == ["MulBackward0", "SumBackward0"]
