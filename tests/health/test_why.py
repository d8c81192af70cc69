"""`workbench.why`: each reason for a gradient that is None, zero, not finite or a sum, of both engines in one sentence.

Both say the same, but for where a recording is begun.
"""

from __future__ import annotations

from types import SimpleNamespace

import absent
import pytest
from oracle import torch

import workbench

ENGINES = [
    pytest.param(workbench, id="workbench"),
    pytest.param(torch, id="torch", marks=pytest.mark.skipif(torch is None, reason=absent.TORCH)),
]
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def made(engine):
    """A weight that something goes wrong with, another one, and data."""
    engine.manual_seed(0)
    w, v = engine.randn(3, 3, requires_grad=True), engine.randn(3, requires_grad=True)
    return SimpleNamespace(w=w, v=v, x=engine.randn(4, 3))


def recorded(engine):
    return workbench.record(engine) if engine is not workbench else workbench.record()


def test_a_way_that_no_backward_has_gone(engine, made):
    w, v, x = made.w, made.v, made.x
    loss = (engine.relu(x @ w) * v).sum()
    why = workbench.why(w, loss)
    assert why.verdict == "none"
    assert why.sentences == (
        "w.grad is None, although a way leads from loss to w: "
        "SumBackward0 → MulBackward0 → ReluBackward0 → MmBackward0 → w.",
        "A backward of loss brings one; none has freed this graph so far.",
    )
    assert "`with workbench.record(" in why.advice and "trace.why(w)" in repr(why)


def test_a_backward_has_run_and_the_gradient_is_gone(engine, made):
    w = made.w
    loss = engine.relu(made.x @ w).sum()
    loss.backward()
    w.grad = None
    why = workbench.why(w, loss)
    assert "A backward has run through this graph" in why.sentences[1]
    assert why.possible[0] == "it was cleared since, as by zero_grad()"


def test_a_tensor_of_integers_takes_none(engine):
    n = engine.tensor([1, 2, 3])
    assert workbench.why(n).sentences == ("n.grad is None: n holds int64 numbers, which take no gradients.",)


def test_a_tensor_that_requires_none(engine):
    frozen = engine.ones(3)
    why = workbench.why(frozen)
    assert why.sentences == ("frozen.grad is None: frozen does not require a gradient (requires_grad is False).",)
    assert "frozen by requires_grad_(False)" in why.possible[0]


def test_a_tensor_that_requires_none_any_more(engine, made):
    w = made.w
    w.sum().backward()
    w.requires_grad_(False)
    why = workbench.why(w)
    assert why.verdict == "there" and "from before: w does not require a gradient now" in why.sentences[0]


def test_a_detached_tensor_whose_source_lives(engine, made):
    w = made.w
    h = w * 2
    d = h.detach()
    assert workbench.why(d).sentences[1] == (
        "It shows the memory of h, which does: detach(), .data, or a view made under no_grad() lies between them."
    )


def test_a_tensor_that_is_no_leaf(engine, made):
    w, v = made.w, made.v
    u = w * 2
    loss = (u * v).sum()
    loss.backward()
    why = workbench.why(u, loss)
    assert why.sentences == (
        "u.grad is None: u is not a leaf, MulBackward0 made it; a backward keeps the gradients of leaves alone.",
        "It was computed from w.",
    )
    assert why.advice == "Call u.retain_grad() before the backward to have it kept."


def test_a_parameter_that_was_converted_is_no_leaf(engine):
    w = engine.ones(3, requires_grad=True)
    u = w.to(engine.float16)
    assert workbench.why(u).sentences[0].startswith("u.grad is None: u is not a leaf, ToCopyBackward0 made it;")


def test_no_leaf_but_retained(engine, made):
    u = made.w * 2
    u.retain_grad()
    with recorded(engine) as trace:
        loss = (u * made.v).sum()
        loss.backward()
    assert workbench.why(u, loss).verdict == "there"
    assert trace.why(u).verdict == "there" and trace.why("u").sentences[0].startswith("u.grad is there and finite:")


@pytest.mark.parametrize("cut", ["detach", "data"])
def test_a_way_cut_while_the_tensor_before_it_lives(engine, made, cut):
    w, v, x = made.w, made.v, made.x
    h = engine.relu(x @ w)
    z = h.detach() if cut == "detach" else h.data
    loss = (z * v).sum()
    why = workbench.why(w, loss)
    assert why.sentences == (
        "w.grad is None: no way leads from loss to w.",
        "MulBackward0 was given the memory of h, which depends on w, as a constant: "
        "detach() or .data lies between them.",
    )
    assert not why.possible


def lost(engine, kind, w, v, x):
    """A loss whose way to w is cut so that no graph tells where."""
    if kind == "detach":
        return (engine.relu(x @ w).detach() * v).sum()
    if kind == "no_grad":
        with engine.no_grad():
            h = engine.relu(x @ w)
        return (h * v).sum()
    if kind == "item":
        return (v * (x @ w).sum().item()).sum()
    if kind == "numpy":
        return (engine.from_numpy((x @ w).detach().numpy()) * v).sum()
    if kind == "argmax":
        return ((x @ w).argmax(1).float() * v.sum()).sum()
    return (v * 2).sum()


KINDS = ["detach", "no_grad", "item", "numpy", "argmax", "not used"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_looks_alike_is_listed(engine, made, kind):
    w, v, x = made.w, made.v, made.x
    loss = lost(engine, kind, w, v, x)
    why = workbench.why(w, loss)
    assert why.sentences == ("w.grad is None: no way leads from loss to w.", "From loss ways lead to v.")
    assert why.possible == (
        "w was not used, or another tensor in its place",
        "detach() or .data lies between them, and the tensor before it is gone",
        "a part was computed under no_grad() or inference_mode()",
        "a value went through a number or another library: item(), float(), numpy(), tensor(...)",
        "a result without gradients lies between them, as of argmax or a comparison",
        "w was used before requires_grad was set",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_tells_them_apart(engine, made, kind):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        loss = lost(engine, kind, w, v, x)
        loss.backward()
    told = {
        "detach": "The way is cut between the result of relu and what MulBackward0 was given: detach() ends it at ",
        "no_grad": "The way is cut between w and what MulBackward0 was given: no_grad() ends it at line ",
        "item": "What was computed from w ends at ",
        "numpy": "What was computed from w ends at MmBackward0 ",
        "argmax": "The way is cut between the result of mm and what MulBackward0 was given: the dtype int64, which "
        "takes no gradients, ends it at line ",
        "not used": "Nothing that was recorded has used w with its gradient",
    }
    why = trace.why(w)
    assert why.sentences[0] == "w.grad is None: no way leads from loss to w."
    assert [each for each in why.sentences[1:] if each.startswith(told[kind])], repr(why)
    assert not why.possible and "record" not in why.advice


def test_a_loss_that_was_made_anew_of_a_number(engine, made):
    w, x = made.w, made.x
    loss = engine.tensor((x @ w).sum().item(), requires_grad=True)
    assert workbench.why(w, loss).sentences[1].startswith("loss is a leaf itself: it was computed from nothing")


def test_a_loss_that_takes_no_gradient(engine, made):
    w, x = made.w, made.x
    total = (x @ w).sum()
    loss = total.detach()
    why = workbench.why(w, loss)
    assert why.sentences[0] == (
        "w.grad is None: loss itself does not require a gradient, so no backward can start at it."
    )
    assert why.sentences[1].startswith("It shows the memory of total")
    with recorded(engine) as trace:
        total = (x @ w).sum()
        loss = total.detach()
    assert (
        trace.why(w, loss).sentences[1].startswith("The way is cut between total and loss: detach() ends it at line ")
    )


def test_a_parameter_that_was_replaced(engine, made):
    w, x = made.w, made.x
    loss = (x @ w).sum()
    new = engine.nn.Parameter(w.detach())
    assert workbench.why(new, loss).sentences == (
        "new.grad is None: no way leads from loss to new.",
        "loss leads to w over the same memory: another tensor than new, which was made of it or has taken its place.",
    )


def test_a_parameter_that_was_copied(engine, made):
    w, x = made.w, made.x
    loss = (x @ w).sum()
    new = engine.nn.Parameter(w.detach().clone())
    assert workbench.why(new, loss).sentences[1] == (
        "loss leads to w with the same values: perhaps new is a copy of what was used."
    )


def test_a_tensor_that_required_a_gradient_too_late(engine, made):
    v = made.v
    u = engine.ones(3)
    with recorded(engine) as trace:
        loss = (u * v).sum()
        u.requires_grad_()
        loss.backward()
    why = trace.why(u)
    assert why.sentences[1].startswith("MulBackward0 (") and "used u while it did not require a gradient yet" in str(
        why
    )
    u = engine.ones(3)
    loss = (u * v).sum()
    u.requires_grad_()
    assert "or it was used before u required a gradient" in workbench.why(u, loss).sentences[1]


def test_it_is_asked_before_anything(engine, made):
    w = made.w
    why = workbench.why(w)
    assert why.sentences == ("w.grad is None: no backward has brought it a gradient, or it was cleared since.",)
    assert "ask why(w, loss)" in why.possible[1]


def test_a_gradient_of_zeros_by_a_derivative_that_is_zero(engine, made):
    w, x = made.w, made.x
    loss = engine.round(x @ w).sum()
    loss.backward()
    why = workbench.why(w, loss)
    assert why.verdict == "zero"
    assert why.sentences[1:] == (
        "Each way from loss to w leads through what sends only zeros:",
        "RoundBackward0: the derivative of round is 0 everywhere.",
    )


def test_a_gradient_of_zeros_by_dead_units(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        h = engine.relu(x @ w - 1000)
        loss = (h + 1).sum()
        loss.backward()
    why = trace.why(w)
    assert why.verdict == "zero"
    assert why.sentences[1].startswith("ReluBackward0 (")
    assert why.sentences[1].endswith(
        "sent only zeros towards w: all its outputs are 0, where it lets no gradient through."
    )


def test_a_gradient_of_zeros_by_a_factor(engine, made):
    w, x, gate = made.w, made.x, engine.zeros(3)
    with recorded(engine) as trace:
        loss = ((x @ w) * gate).sum()
        loss.backward()
    assert trace.why(w).sentences[1].endswith("sent only zeros towards w: all of other, which it had saved, is 0.")


def test_a_factor_that_is_zero_is_not_why_its_own_gradient_is(engine, made):
    w = engine.zeros(3, requires_grad=True)
    v = engine.zeros(3, requires_grad=True)
    with recorded(engine) as trace:
        h = w * 1
        loss = (h * v).sum()
        loss.backward()
    assert trace.why(w).sentences[1].endswith("sent only zeros towards w: all of other, which it had saved, is 0.")
    assert trace.why(v).sentences[1].endswith("sent only zeros towards v: all of self, which it had saved, is 0.")
    with recorded(engine) as trace:
        v.grad = None
        loss = (v * v).sum()
        loss.backward()
    assert trace.why(v).sentences[1].endswith("all of other, which it had saved, is 0.")


def test_a_gradient_of_zeros_by_a_hook_and_by_hand(engine, made):
    w, v, x = made.w, made.v, made.x
    w.register_hook(lambda grad: grad * 0)
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        loss.backward()
        v.grad.zero_()
    assert trace.why(w).sentences[1].startswith("Hook <lambda> on w made ")
    assert trace.why(v).sentences[1].startswith("zero_ made it that at line ")


def test_gradients_that_cancel(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        loss = (x @ w).sum() - (x @ w).sum()
        loss.backward()
    assert "The gradients that came to w cancel each other." in trace.why(w).sentences


def test_zeros_that_may_have_been_set(engine, made):
    w, x = made.w, made.x
    loss = (x @ w).sum()
    loss.backward()
    w.grad.zero_()
    assert workbench.why(w, loss).possible == (
        "a backward brought zeros: what its nodes had saved, by which it would show, is freed",
        "it was cleared with zeros, as by zero_grad(set_to_none=False) or zero_()",
    )


def test_the_first_node_that_sent_what_is_not_finite(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        y = engine.sqrt(x @ w * 0)
        loss = y.sum()
        loss.backward()
    why = trace.why(w)
    assert why.verdict == "not finite"
    assert why.sentences[1].startswith("SqrtBackward0 (") and "y = engine.sqrt(x @ w * 0)" in why.sentences[1]
    assert "its result has a 0, where the derivative of sqrt has no bound" in why.sentences[1]
    loss = engine.sqrt(x @ w * 0).sum()
    loss.backward(retain_graph=True)
    assert workbench.why(w, loss).possible == (
        "SqrtBackward0 may have made it: its result has a 0, where the derivative of sqrt has no bound",
    )


def test_a_loss_that_is_not_finite_has_not_made_it_where_its_inputs_are_freed(engine, made):
    w, x = made.w, made.x
    loss = -(engine.log(x @ w * 0) * 0).sum()
    loss.backward()
    why = workbench.why(w, loss)
    assert why.sentences[1].startswith("NegBackward0")
    assert why.sentences[1].endswith(
        " has a result in forward that is not finite; what it was given is not known any more."
    )


def test_the_value_of_the_forward_that_was_not_finite(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        big = engine.exp(x @ w * 0 + 1000)
        loss = (big / big).sum()
        loss.backward()
    told = str(trace.why(w))
    assert "ExpBackward0 (" in told and "made a value in forward that is not finite" in told
    bad = engine.tensor([float("nan"), 1.0, 2.0])
    w.grad = None
    with recorded(engine) as trace:
        loss = (x @ w * bad).sum()
        loss.backward()
    assert "was given bad in forward, which is not finite" in str(trace.why(w))


def test_it_has_been_so_since_an_earlier_backward(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        engine.sqrt(x @ w * 0).sum().backward()
        (x @ w).sum().backward()
    assert trace.why(w).sentences[1].startswith("It has been so since the backward at line ")


def trained(engine, broken_in, lr=0.1):
    """Four steps of a training, in one of which the gradient of `s` is not finite."""
    net = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.Tanh(), engine.nn.Linear(4, 1))
    s, x = engine.zeros(1, requires_grad=True), engine.ones(5, 3)
    optimizer = engine.optim.SGD([*net.parameters(), s], lr=lr)
    with recorded(engine) as trace:
        for at in range(4):
            optimizer.zero_grad()
            if at == broken_in:
                loss = net(x).mean() + (s * 0).sqrt().sum()  # the cause
            else:
                loss = (net(x) * (s + 1)).mean() * 1e6
            loss.backward()
            optimizer.step()
    return trace


def test_the_first_cause_of_a_training_is_told_and_how_it_came_to_the_last_step(engine):
    trace = trained(engine, 1)
    why = trace.why("net.0.weight")
    assert why.verdict == "not finite" and len(why.sentences) == 5
    assert why.sentences[1].startswith("It has been so since the backward at line ")
    assert why.sentences[1].endswith(" in step 3 of 4.")
    assert why.sentences[2] == "It began with the gradient of s in step 2 of 4."
    assert why.sentences[3].startswith("SqrtBackward0 (") and "# the cause" in why.sentences[3]
    assert why.sentences[4].startswith("The step of SGD at line ")
    assert " made s not finite in step 2 of 4: `s + 1` in round 3 (" in why.sentences[4]
    assert [box.title for box in why.show().storyboard.at().boxes.values() if box.state == "error"]


def test_an_update_may_be_the_first_cause(engine):
    told = trained(engine, None, 1e38).why("net.0.weight").sentences
    assert told[1].endswith(" in step 2 of 4.") and len(told) == 3
    assert told[2].startswith("The step of SGD at line ")
    assert " not finite in step 1 of 4, although its gradient was finite: " in told[2]


def test_a_sum_of_two_backwards_with_a_step_between(engine, made):
    w, x = made.w, made.x
    optimizer = engine.optim.SGD([w], lr=0.1)
    with recorded(engine) as trace:
        for _ in range(2):
            loss = (x @ w).sum()
            loss.backward()
            optimizer.step()
    why = trace.why(w)
    assert why.verdict == "sum" and "(2 times)" in why.sentences[1]
    assert why.sentences[1].startswith("It is the sum of what 2 backwards brought, as nothing cleared it between them:")
    assert why.sentences[2].startswith("An optimizer took a step between them")
    assert why.advice == "Call zero_grad() before each backward."


def test_gradients_that_are_accumulated_or_cleared(engine, made):
    w, x = made.w, made.x
    optimizer = engine.optim.SGD([w], lr=0.1)
    with recorded(engine) as trace:
        (x @ w).sum().backward()
        (x @ w).mean().backward()
    why = trace.why(w)
    assert why.verdict == "sum" and why.advice == "If each backward is to count alone, call zero_grad() before it."
    with recorded(engine) as trace:
        for _ in range(2):
            optimizer.zero_grad()
            loss = (x @ w).sum()
            loss.backward()
            optimizer.step()
    why = trace.why(w)
    assert why.verdict == "there" and why.sentences[1].startswith("The backward at line ")


def test_a_gradient_from_before_the_recording(engine, made):
    w, x = made.w, made.x
    (x @ w).sum().backward()
    with recorded(engine) as trace:
        (x @ w).sum().backward()
    why = trace.why(w)
    assert why.verdict == "sum" and "which was there before what was recorded" in why.sentences[2]


def test_several_uses_add_up(engine, made):
    w, x = made.w, made.x
    with recorded(engine) as trace:
        loss = (x @ w).sum() + (w * 2).sum()
        loss.backward()
    assert trace.why(w).sentences[-1].startswith("2 nodes use w, and their gradients add up: ")


def test_cleared_captured_and_left_out(engine, made):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        loss.backward()
        w.grad = None
    assert trace.why(w).sentences[0].startswith("w.grad is None: it was cleared at line ")
    v.grad = None
    assert "it was cleared after the recording" in trace.why(v).sentences[0]
    with recorded(engine) as trace:
        loss = ((x @ w) * v).sum()
        engine.autograd.grad(loss, [w])
    assert "handed the gradient to its caller, as autograd.grad() does" in trace.why(w).sentences[0]
    assert "was asked for the gradients of w alone" in trace.why(v).sentences[0]


def test_a_function_that_returns_none_and_one_that_fails(engine, made):
    w, x = made.w, made.x

    class Half(engine.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, grad):
            return None

    class Broken(Half):
        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("broken " + 100 * "word " + "\nHint")

    with recorded(engine) as trace:
        loss = Half.apply(x @ w).sum()
        loss.backward()
    assert trace.why(w).sentences[0].startswith("w.grad is None: HalfBackward (")
    assert "received a gradient and sent None towards it" in trace.why(w).sentences[0]
    with recorded(engine) as trace:
        loss = Broken.apply(x @ w).sum()
        with pytest.raises(RuntimeError):
            loss.backward()
    [told, *_] = trace.why(w).sentences
    assert "failed at BrokenBackward (" in told and "broken word" in told
    assert told.endswith("wo…") and trace.findings()[0].sentence.endswith("wo…")


def test_of_several_backwards_the_one_that_leads_there(engine, made):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        loss = (x @ w).sum()
        loss.backward()
        other = (v * 2).sum()
        other.backward()
    told = trace.why(w).sentences
    assert told[1].endswith("brought it.") and told[2].endswith("the last, did not lead to it.")
    assert trace.why(v, loss).sentences[-1] == "The graph of loss itself does not lead to v."


def test_nothing_was_recorded_of_it(engine, made):
    w, x, y = made.w, made.x, made.x * 1
    with recorded(engine) as trace:
        y = y + 1
    assert trace.why(w).sentences[1] == "No backward was recorded."
    with recorded(engine) as trace:
        loss = (x @ w).sum()
    assert trace.why(w, loss).sentences[0].endswith("no backward of loss was recorded.")


def test_a_trace_that_was_loaded_is_asked_by_name(engine, made, tmp_path):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        h = engine.relu(x @ w)
        loss = (h.detach() * v).sum()
        loss.backward()
    trace.save(tmp_path / "trace.json")
    loaded = workbench.load(tmp_path / "trace.json")
    assert repr(loaded.why("w")) == repr(trace.why("w")) == repr(trace.why(w))
    with pytest.raises(TypeError, match="say its name"):
        loaded.why(w)
    with pytest.raises(ValueError, match=r"knows no tensor named 'q'; it has .*w"):
        loaded.why("q")


def test_a_name_without_its_root_will_do_where_one_tensor_has_it(engine):
    net = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.Sequential(engine.nn.Linear(4, 1)))
    with recorded(engine) as trace:
        net(engine.ones(2, 3)).sum().backward()
    assert repr(trace.why("0.weight")) == repr(trace.why("net.0.weight"))
    assert repr(trace.why("1.0.weight")) == repr(trace.why("net.1.0.weight"))
    with pytest.raises(ValueError, match="names end with 'weight': net.0.weight and net.1.0.weight. Say more"):
        trace.why("weight")
    with pytest.raises(ValueError, match="no tensor named '0.wieght'; near are net.0.weight"):
        trace.why("0.wieght")


def test_what_cannot_be_asked(engine, made):
    with pytest.raises(TypeError, match="why\\(\\) is asked about a tensor, but got float"):
        workbench.why(1.0)
    with pytest.raises(TypeError, match="with a tensor as loss, but got int"):
        workbench.why(made.w, 3)
    with recorded(engine) as trace:
        made.w.sum().backward()
    with pytest.raises(TypeError, match="about a tensor, or its name, but got list"):
        trace.why([])


def test_a_cut_that_it_may_lie_behind_is_possible(engine, made):
    """Of a result of several tensors the trace knows one way that is cut."""
    v, x = made.v, made.x.clone().requires_grad_()
    first = engine.nn.Linear(3, 3)
    with recorded(engine) as trace:
        with engine.no_grad():
            h = first(x)
        loss = (h * v).sum()
        loss.backward()
    told = str(trace.why(first.bias))
    assert "no way leads from loss to first.bias" in told and "no_grad()" in told


def test_a_checkpoint_hides_a_way(engine):
    layer, x = engine.nn.Linear(3, 3), engine.ones(2, 3, requires_grad=True)
    with recorded(engine) as trace:
        loss = engine.utils.checkpoint.checkpoint(layer, x, use_reentrant=True).sum()
        told = workbench.why(layer.weight, loss)
        loss.backward()
    assert "runs its part again in backward" in told.sentences[1]
    assert trace.why(layer.weight).verdict == "there"


def test_of_a_recording_of_the_last_events_what_was_let_go_is_told():
    w = workbench.ones(3, requires_grad=True)
    with workbench.record(last=60) as trace:
        for _ in range(60):
            (w * 2).sum().backward()
    why = trace.why(w)
    assert why.verdict == "sum" and why.sentences[2].startswith("It was added to [")


def test_a_loss_of_integers(engine, made):
    w = made.w
    w.sum().backward()
    why = workbench.why(w, engine.tensor([1, 2]))
    assert why.sentences[0].endswith("no way leads from this loss to w, so it came from another backward.")
    assert why.sentences[1] == "This loss itself does not require a gradient."


def test_a_notebook_shows_the_way_and_keeps_the_sentences(engine, made, tmp_path):
    w, v, x = made.w, made.v, made.x
    with recorded(engine) as trace:
        h = engine.relu(x @ w)
        loss = (h.detach() * v).sum()
        loss.backward()
    why = trace.why(w)
    told = why._repr_mimebundle_()
    assert told["text/plain"] == repr(why) and "text/html" in told
    scene = why.show().storyboard.at()
    assert [box.title for box in scene.boxes.values() if box.state == "error"] == ["h.detach() * v"]
    (cut,) = [arrow for arrow in scene.arrows.values() if arrow.kind == "cut"]
    assert scene.boxes[cut.source].title == "h = engine.relu(x @ w)" and cut.label.startswith("detach")
    why.save(tmp_path / "why.html")
    assert "no way leads from loss to w" in (tmp_path / "why.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_long_chain_is_no_recursion(engine):
    w = engine.ones(3, requires_grad=True)
    h = w
    for _ in range(5_000):
        h = h * 1.0
    loss = h.sum()
    why = workbench.why(w, loss)
    assert why.sentences[0].endswith("SumBackward0 → 5,000 × MulBackward0 → w.")
    assert "4,990 more nodes" in str(why.show())


@pytest.mark.slow
def test_a_hundred_thousand_nodes(engine):
    w = engine.ones(3, requires_grad=True)
    parts = [w]
    for _ in range(100):
        h = parts[-1]
        for _ in range(1_000):
            h = h * 1.0
        parts.append(h)
    loss = h.sum()
    assert workbench.why(w, loss).sentences[0].endswith("SumBackward0 → 100,000 × MulBackward0 → w.")
    del loss, h
    while parts:  # PyTorch overflows its stack where it lets go of a longer chain that Python has looked at
        parts.pop()
