"""The user's hooks in pictures: where they are, which line made them, and what they made of the gradients."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from boxes import box_named as box
from golden_programs import hooked
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import Trace, load, record
from workbench.pictures.trace.call_records import HookRan, HooksFound
from workbench.pictures.views import storyboard


def double(grad):
    return grad * 2


def look(grad):
    pass


def captions(trace):
    return [step.caption for step in storyboard(trace).steps]


def product(*set_up):
    """x * w, with what `set_up` does to its parts before the backward."""
    with record() as trace:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x * w
        for each in set_up:
            each(x, w, y)
        y.sum().backward()
    return trace


def test_every_kind_has_a_badge_where_gradients_flow_too():
    for title in ("MulBackward0", "x", "w", "SumBackward0"):
        graph, flow = (box(storyboard(hooked(), view).at(), title).lines for view in ("graph", "flow"))
        badges = [line for line in graph if "↪" in line]
        assert [line for line in flow if "↪" in line] == badges and bool(badges) == (title != "SumBackward0")
        assert title != "MulBackward0" or [badge.partition(": ")[0] for badge in badges] == [
            *("↪ hook", "↪ retains its grad", "↪ pre-hook", "↪ post-hook")
        ]


def test_show_has_the_badges_too():
    x = leaf(1.0, 2.0)
    y = (x * 2).exp()
    y.register_hook(double)
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: None)
    told = repr(torch.show(y))
    assert "↪ pre-hook: <lambda>" in told and "↪ hook: double" in told


def test_a_saved_trace_has_them_and_an_old_one_is_read(tmp_path):
    trace = product(lambda x, w, y: y.register_hook(double), lambda x, w, y: w.register_post_accumulate_grad_hook(look))
    trace.save(tmp_path / "trace.json")
    assert storyboard(load(tmp_path / "trace.json")).to_dict() == storyboard(trace).to_dict()
    old = trace.to_dict()
    old["events"] = [each for each in old["events"] if each["kind"] not in ("HooksFound", "HookRan")]
    assert "`y = x * w` (MulBackward0) receives the gradient [2. 2.]" in "\n".join(captions(Trace.from_dict(old)))


@pytest.mark.parametrize("damage", [{"hook": 3}, {"before": [1]}])
def test_a_damaged_one_is_refused_in_a_sentence(damage):
    data = product(lambda x, w, y: y.register_hook(double)).to_dict()
    next(each for each in data["events"] if each["kind"] == "HookRan").update(damage)
    with pytest.raises(ValueError, match=r"^Event \d+ of this trace "):
        Trace.from_dict(data)


def test_a_recording_keeps_no_hook_alive():
    class Noting:
        def __call__(self, grad):
            pass

    hook = Noting()
    trace = product(lambda x, w, y, hook=hook: y.register_hook(hook))
    gone = weakref.ref(hook)
    (found,) = [each for event in trace.events if isinstance(event, HooksFound) for each in event.places]
    assert [(each.name, each.source.text) for each in found.hooks] == [("Noting", "def __call__(self, grad):")]
    del hook
    gc.collect()
    assert gone() is None and any(isinstance(event, HookRan) for event in trace.events)


def test_gradients_with_hooks_are_the_same_with_and_without_a_recording():
    def sevenfold(tensor):
        tensor.grad.mul_(7)

    def run():
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x * w
        y.register_hook(double)
        y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
        y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 5, ins[1]))
        w.register_post_accumulate_grad_hook(sevenfold)
        y.sum().backward()
        return np.concatenate([x.grad.numpy(), w.grad.numpy()])

    plain = run()
    with record():
        recorded = run()
    np.testing.assert_array_equal(plain, recorded)


@pytest.mark.parametrize("answer", ["raises", "returns"])
def test_a_hook_that_fails_after_the_accumulation_leaves_the_gradient(answer):
    def refuse(tensor):
        tensor.grad.mul_(0.5)
        if answer == "raises":
            raise ValueError("no")
        return tensor.grad

    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(refuse)
    with record() as trace, pytest.raises((ValueError, RuntimeError)):
        x.sum().backward()
    (told,) = [each for each in trace.frame(len(trace.events)).tensors.values() if each.name == "x"]
    assert x.grad.tolist() == [0.5, 0.5] and told.grad.values == (0.5, 0.5)
    assert "`x.grad` becomes" in captions(trace)[-2] and captions(trace)[-1].startswith("`x` fails with")


def test_what_a_hook_records_in_a_loop_stays_in_its_group():
    x = leaf(0.5, 1.5)

    def hook(grad):
        grad = grad * x
        for k in range(3):
            grad = grad * x + k
        return grad

    with record() as trace:
        y = x.exp()
        y.register_hook(hook)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward()
    whole = trace.show().storyboard
    groups = [box.title for box in whole.scene.boxes.values() if box.kind == "group"]
    assert groups == ["for k in range(3): 3 iterations", "iteration 1", "iteration 2", "iteration 3"]
    for opened in ([], groups[:1], groups):
        board = trace.show(open=opened).storyboard
        for k in range(-1, len(board.steps)):
            seen = board.at(k)
            assert all(box.region is None or box.region in seen.boxes for box in seen.boxes.values())
