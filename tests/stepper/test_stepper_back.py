"""Going back in a stepped backward, and on from there with other gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from stepped import leaf
from trace_samples import nodes_of

import workbench as w


class Product(w.autograd.Function):
    """Counts on ctx how often it ran."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        ctx.runs = 0
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.runs += 1
        x, y = ctx.saved_tensors
        return g * y, g * x


def state_of(s: Any, nodes: list[Any], leaves: list[Any]) -> Any:
    """Everything of the engine's state that a user can see, with identities."""
    grads = [(t.grad, None if t.grad is None else (t.grad.tolist(), t.grad._version)) for t in leaves]
    saved = [[(name, id(item), version) for name, item, version in node.saved_items()] for node in nodes]
    notes = [getattr(node, "runs", None) for node in nodes]
    waiting = [(p.node, p.input_nr, p.missing, None if p.grad is None else p.grad.tolist()) for p in s.pending]
    captured = None if s._inputs is None else [None if g is None else g.tolist() for g in s.grads.values()]
    return [(id(g), told) for g, told in grads], saved, notes, waiting, list(s.ready), captured


def wide() -> tuple[Any, list[Any]]:
    x, y = leaf(0.5, -1.5), leaf(1.0, 2.0)
    x.grad = w.ones_like(x)
    h = Product.apply(x, y)
    z = h.clone()
    z[0] *= y[1]
    first, second = w.stack([z, h.exp()]).unbind()
    middle = first.tanh()
    middle.retain_grad()
    return (middle * second + x).sum(), [x, y, middle]


@pytest.mark.parametrize("options", [{}, {"retain_graph": True}, {"create_graph": True}], ids=str)
@pytest.mark.parametrize("captured", [False, True])
def test_going_back_restores_every_state_on_the_way(options: Any, captured: bool) -> None:
    loss, leaves = wide()
    nodes = nodes_of(loss)
    s = w.step(loss, leaves[1:] if captured else None, **options)
    states = [state_of(s, nodes, leaves)]
    keep = []  # what identities are told by must not be made again at the same address
    while not s.done:
        s.step()
        keep += [t.grad for t in leaves]
        states.append(state_of(s, nodes, leaves))
    for position in reversed(range(len(states) - 1)):
        s.back()
        assert state_of(s, nodes, leaves) == states[position]
    s.run()
    assert [t for _, t in state_of(s, nodes, leaves)[0]] == [t for _, t in states[-1][0]]
    s.back(s.position)
    assert state_of(s, nodes, leaves) == states[0]


def test_what_was_freed_is_there_again_and_is_freed_again() -> None:
    x = leaf(2.0)
    y = x.exp() * x
    s = w.step(y.sum()).run()
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn._saved_self  # noqa: B018
    s.back(s.position)
    assert y.grad_fn._saved_self.tolist() == [math.exp(2)]
    assert x.grad is None
    s.run()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_a_gradient_that_was_there_is_the_same_tensor_with_its_old_values_and_version() -> None:
    x = leaf(2.0, 3.0)
    (x * x).sum().backward()
    before, version = x.grad, x.grad._version
    seen = before.detach()
    s = w.step((x * 10).sum()).run()
    assert seen.tolist() == [14.0, 16.0]
    assert before._version == version + 1
    s.back()
    assert x.grad is before
    assert seen.tolist() == [4.0, 6.0], "views of it see it, too"
    assert before._version == seen._version == version


def test_going_back_too_far_is_refused() -> None:
    s = w.step(leaf(1.0).sum()).step()
    with pytest.raises(ValueError, match="Can't go back 2 steps: only 1 step so far"):
        s.back(2)
    with pytest.raises(ValueError, match="back\\(\\) expected a number of steps"):
        s.back(-1)


def test_what_if_this_gradient_were_zero() -> None:
    x, y = leaf(2.0), leaf(3.0)
    product, wave = x * y, x.sin()
    s = w.step((product + wave).sum()).run(until=product)
    s.edit(product, 0, 0).run()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([2.0]))
    assert y.grad.tolist() == [0.0]
    assert [b.name for b in s.branches] == ["main"], "nothing else was run from there"


def test_a_branch_is_kept_beside_the_old_one() -> None:
    x, y = leaf(2.0), leaf(3.0)
    product, wave = x * y, x.sin()
    s = w.step((product + wave).sum()).run()
    whole = s.position
    s.back(s.position).run(until=product).edit("mul", 0, [10.0]).run()
    main, other = s.branches
    assert (main.name, other.name, s.branch) == ("main", "branch 1", other)
    assert len(main.steps) == len(other.steps) == whole
    shared = other.start
    assert main.steps[:shared] == other.steps[:shared]
    assert repr(other) == f"<branch 1: {whole} steps, with MulBackward0[0] changed>"
    assert [value.tolist() for value in other.edits.values()] == [[10.0]]
    found = s.compare("main", "branch 1")
    assert {d.node.name().rpartition("::")[2] for d in found} == {"MulBackward0", "AccumulateGrad"}
    assert {d.leaf: (d.first.tolist(), d.second.tolist()) for d in found if d.leaf is not None} == {
        x: ([3.0 + math.cos(2.0)], [30.0 + math.cos(2.0)]),
        y: ([2.0], [20.0]),
    }
    assert [repr(d) for d in s.compare(main) if d.leaf is None] == ["<MulBackward0: [1.] against [10.]>"]
    with pytest.raises(ValueError, match="No branch named 'third'. Branches: main, branch 1."):
        s.compare("third")


def test_going_back_and_on_without_an_edit_comes_back_to_the_branch_that_has_none() -> None:
    x = leaf(2.0)
    h = x.exp()
    s = w.step((h * h).sum()).run()
    plain = x.grad.tolist()
    s.back(s.position).step(2).edit(h, 0, 1.0).run()
    edited = x.grad.tolist()
    assert s.branch.name == "branch 1"
    s.back(2).run()
    assert (s.branch.name, x.grad.tolist()) == ("main", plain), "an edit is undone by going back to before the step"
    s.back(s.position).step(2).edit(h, 0, 1.0).run()
    assert (s.branch.name, x.grad.tolist()) == ("branch 1", edited), "the same edit leads to the same branch"
    s.back(2).edit(h, 0, 5.0).edit(h, 0, 2.0).run()
    assert (s.branch.name, x.grad.tolist()) == ("branch 2", [2 * e for e in edited]), "the last edit counts"
    s.back(2).edit(h, 0, 7.0).back(0)
    assert s.pending[0].grad.tolist() != [7.0], "back(0) takes back what was edited here"
    assert [len(b.steps) for b in s.branches] == [s.position + 2] * 3


def test_edits_of_one_of_several_outputs() -> None:
    x = leaf(1.0, 2.0)
    first, second = x.unbind()
    s = w.step(first * 2 + second * 3).run(until="unbind")
    s.edit("unbind", 1, w.tensor(50.0, dtype=w.float64))
    s.run()
    assert x.grad.tolist() == [2.0, 50.0]
    s.back(2)
    assert [p.grad.tolist() for p in s.pending] == [2.0, 3.0]


def test_an_edit_of_a_recorded_backward_may_have_a_history() -> None:
    x, scale = leaf(2.0), leaf(5.0)
    h = x.exp()
    s = w.step(h.sum(), x, create_graph=True).step()
    s.edit(h, 0, scale * scale).run()
    s.grads[x].sum().backward()
    np.testing.assert_allclose(scale.grad.numpy(), [10 * math.exp(2)])


def test_two_steppers_take_turns_and_go_back_in_turn() -> None:
    x = leaf(2.0)
    shared = x.exp()
    one, two = w.step(shared.sum(), retain_graph=True), w.step((shared * 3).sum())
    while not (one.done and two.done):
        one.step()
        two.step()
    np.testing.assert_allclose(x.grad.numpy(), [4 * math.exp(2)])
    two.back()
    np.testing.assert_allclose(x.grad.numpy(), [math.exp(2)])
    one.back(one.position)
    assert x.grad is None
    assert one.warnings == two.warnings == []


def test_a_gradient_that_others_changed_meanwhile_is_not_lost_silently() -> None:
    x, y = leaf(2.0), leaf(3.0)
    x.grad = w.tensor([1.0], dtype=w.float64)
    before = x.grad
    loss = (x * y).sum()
    one = w.step(loss, retain_graph=True).run()
    w.step(loss).run()
    assert x.grad.tolist() == [7.0]
    one.back(one.position)
    assert (x.grad is before, x.grad.tolist(), y.grad) == (True, [1.0], None)
    assert one.warnings == [
        "y.grad was changed by other code after step 4. That change is lost: it is None again.",
        "x.grad was changed by other code after step 3. That change is lost: it is [1.] again.",
    ]
    assert repr(one).endswith(one.warnings[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda x: setattr(x, "grad", None),
        lambda x: setattr(x, "grad", w.ones_like(x)),
        lambda x: x.grad.zero_(),
        lambda x: x.grad[:1].mul_(2),
        lambda x: (x * 2).sum().backward(),
    ],
)
def test_every_way_of_changing_a_gradient_is_seen(change: Any) -> None:
    x = leaf(2.0, 3.0)
    s = w.step((x * x).sum()).run()
    change(x)
    assert len(s.back().warnings) == 1
    assert x.grad is None
    assert len(s.run().back().warnings) == 1, "nobody changed it this time"


def test_a_hook_that_empties_the_gradient_is_no_other_code() -> None:
    x = leaf(2.0)

    def update(t: Any) -> None:
        t.grad = None

    x.register_post_accumulate_grad_hook(update)
    s = w.step((x * x).sum()).run().back()
    assert [sentence for sentence in s.warnings if "other code" in sentence] == []
