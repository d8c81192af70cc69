"""What a trace knows of memory: who shares it, which line wrote into it, what hooks and `ctx` keep of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from trace_samples import leaf, of_kind

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.text import to_text
from workbench.pictures.views import storyboard
from workbench.utils.checkpoint import checkpoint


class Careless(torch.Function):
    """Keeps what it needs on ctx."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.x, ctx.factor, ctx.both = x, factor, [x, np.ones(2)]
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


def names_of_those_sharing(frame, tensor):
    return {each.name for each in frame.tensors.values() if frame.owner(each.id) == frame.owner(tensor)}


def test_a_write_has_its_line_and_counts_for_all_that_share_the_memory():
    with record() as trace:
        x = leaf(1.0, 2.0, 3.0)
        y = x.exp()
        d = y.detach()
        square = y * y
        d.mul_(2)
    (write,) = of_kind(trace, "TensorWritten")
    frame = trace.frame(len(trace.events))
    assert write.source.text == "d.mul_(2)" and names_of_those_sharing(frame, write.tensor) == {"y", "d"}
    (product,) = [node for node in frame.nodes if frame.nodes[node].made.name == "MulBackward0"]
    assert frame.stale(product, 0) and product in frame.stale_holders(write.tensor)
    assert square.grad_fn is not None


def test_a_write_through_a_view_tells_the_new_values_and_history_of_its_base():
    with record() as trace:
        h = leaf(1.0, 2.0) * 1.0
        h[0].mul_(10)
    frame = trace.frame(len(trace.events))
    (base,) = [tensor for tensor in frame.tensors.values() if tensor.name == "h"]
    assert base.value.values == (10.0, 2.0) and frame.version(base.id) == 1
    assert frame.nodes[base.node].made.name == "CopySlices"


def test_writes_through_views_of_what_takes_no_gradient_are_heard():
    with record() as trace:
        x, m = leaf(1.0, 2.0), torch.ones(2, dtype=torch.float64)
        y = x * m
        m[0] = 5.0
    (write,) = of_kind(trace, "TensorWritten")
    frame = trace.frame(len(trace.events))
    assert frame.tensors[frame.tensors[write.tensor].base].name == "m" and write.source.text == "m[0] = 5.0"
    assert frame.stale(*frame.nodes, 0) and y._version == 0


def test_what_a_hook_packed_is_told_with_the_hook_and_its_line():
    def pack(t):
        return t.to(torch.float16)

    with record() as trace, torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x = leaf(1.0, 2.0)
        x.exp()
    (saved,) = of_kind(trace, "NodeCreated")[0].saved
    assert (saved.packed.hook, saved.packed.kept, saved.value.dtype) == ("pack", "Tensor", "float16")
    assert saved.packed.source.text == "def pack(t):" and saved.tensor is None
    assert saved.packed.tensor == of_kind(trace, "NodeCreated")[0].tensors[1].id
    with record() as trace, torch.autograd.graph.saved_tensors_hooks(lambda t: "elsewhere", lambda t: t):
        leaf(1.0, 2.0).exp()
    assert of_kind(trace, "NodeCreated")[0].saved[0].packed.kept == "str"
    assert "a hook saved a str" in str(trace.show())


def test_what_is_put_on_ctx_is_told():
    with record() as trace:
        Careless.apply(leaf(1.0, 2.0), 3)
    (made,) = of_kind(trace, "NodeCreated")
    told = [(each.name, each.text, each.tensor, each.value and each.value.shape) for each in made.attributes]
    x = made.args[0].tensor
    assert told == [
        ("x", "Tensor", x, None),
        ("factor", "3", None, None),
        ("both[0]", "Tensor", x, None),
        ("both[1]", "ndarray", None, (2,)),
    ]


def test_a_checkpoint_tells_what_it_keeps_and_what_it_makes_again():
    def part(t):
        return t.sin().sin()

    with record() as trace:
        x = leaf(1.0, 2.0)
        y = checkpoint(part, x, use_reentrant=False)
        y.sum().backward()
        del y
    told = [
        (type(each).__name__, getattr(each, "name", None), getattr(each, "again", None))
        for each in trace.events
        if type(each).__name__.startswith("Checkpoint")
    ]
    assert told == [
        ("CheckpointKept", None, False),
        ("CheckpointKept", None, True),
        ("CheckpointKept", None, True),
        ("CheckpointDropped", "1", None),
        ("CheckpointDropped", "0", None),
        ("CheckpointDropped", None, None),
    ]
    assert [node.name for node in of_kind(trace, "NodeCreated")] == ["SinBackward0", "SinBackward0", "SumBackward0"]


def test_a_trace_from_before_these_facts_is_read():
    with record() as trace:
        x = leaf(1.0, 2.0)
        y = x.exp()
        y.mul_(2)
    data = trace.to_dict()
    for event in data["events"]:
        event.pop("source", None) if event["kind"] == "TensorWritten" else None
        for seen in event.get("tensors", ()):
            seen.pop("base", None)
    (write,) = of_kind(Trace.from_dict(data), "TensorWritten")
    assert write.source is None and write.version == 1


def test_a_view_that_refuses_to_say_its_grad_fn_is_recorded_without_asking():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(action="error"), record() as trace:  # a listener that fails warns
        base = x * 1
        with torch.no_grad():
            view = base.view(2)
        base.mul_(2.0)
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            _ = view.grad_fn
        (base * base).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [8.0, 16.0]
    assert [failed.error for failed in of_kind(trace, "Failed")] == ["RuntimeError"]
    assert torch.step((base * 1).sum(), retain_graph=True).pending


class ByNumpy(torch.Function):
    """Adds one to its argument behind the back of all operations."""

    @staticmethod
    def forward(ctx, x):
        x.detach().numpy()[...] += 1
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


@pytest.mark.parametrize(
    "name, write", [("increment_version", torch.autograd.graph.increment_version), ("ByNumpy", ByNumpy.apply)]
)
def test_a_write_that_no_operation_tells_of_is_told_where_it_is_reported(name, write):
    with record() as trace:
        h = leaf(1.0, 2.0) * 1.0
        square = h * h
        write(h)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            square.sum().backward()
    (told,) = of_kind(trace, "TensorWritten")
    assert told.source.text == "write(h)" and told.version == 1 and told.name == name
    last = to_text(storyboard(trace, "versions")).rstrip().splitlines()[-1]
    assert last.endswith("(line " + f"{told.source.line}: write(h)) made it version 1: backward fails.")


def test_a_written_tensor_has_new_values_in_all_that_show_its_memory():
    with record() as trace:
        h = leaf(1.0, 2.0) * 1.0
        view, detached = h[0], h.detach()
        before = view * 1
        h.mul_(3)
        after = view * 5
    frame = trace.frame(len(trace.events))
    values = {each.name: each.value.values for each in frame.tensors.values()}
    assert (values["h"], values["view"]) == (tuple(detached.tolist()), (view.item(),))
    assert (values["before"], values["after"]) == ((before.item(),), (after.item(),)) == ((1.0,), (15.0,))
    text = to_text(storyboard(trace))
    assert "view = h[0]: SelectBackward0 float64  1.0" in text, "what it was when this node made it"
    assert "view = as_strided: AsStridedBackward0 float64  3.0" in text


def test_a_write_is_heard_although_only_a_view_was_known():
    with record() as trace:
        constant = torch.tensor([1.0, 2.0], dtype=torch.float64)
        part = constant[0]
        product = leaf(1.0, 2.0) * part
        constant.mul_(2)
    (write,) = of_kind(trace, "TensorWritten")
    frame = trace.frame(len(trace.events))
    assert frame.stale_holders(write.tensor) == [*frame.nodes] and product.requires_grad
    assert names_of_those_sharing(frame, write.tensor) == {"constant", "part"}


def test_inference_tensors_are_told_of_although_nobody_counts_their_versions():
    with warnings.catch_warnings(action="error"), record() as trace:  # a listener that fails warns
        with torch.inference_mode():
            constant = torch.ones(2, dtype=torch.float64)
            twice = constant * 1
        leaf(1.0, 2.0) + twice
        with torch.inference_mode():
            twice.add_(1)
    assert "twice" in [seen.name for seen in of_kind(trace, "NodeCreated")[0].tensors]
    (write,) = of_kind(trace, "TensorWritten")
    assert write.value.values == (2.0, 2.0) and write.version == 0


def test_a_write_into_what_was_detached_from_a_view_that_nothing_used_is_one_into_its_base():
    with record() as trace:
        x = leaf(1.0, 2.0)
        with torch.no_grad():
            view = x.view_as(x)
        y = x * 3
        view.detach().mul_(0.5)
    frame = trace.frame(len(trace.events))
    (told,) = [each for each in frame.tensors.values() if each.name == "x"]
    assert (told.value.values, frame.version(told.id)) == ((0.5, 1.0), 1)
    assert y.tolist() == [3.0, 6.0]
