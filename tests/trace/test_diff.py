"""`workbench.diff`: one changed line names exactly one operation or gradient, and what follows is only counted."""

from __future__ import annotations

import contextlib
import itertools
import json
import math

import absent
import numpy as np
import pytest
import wrong_traces

import workbench
import workbench as torch
from workbench.diagnosis.diffing import Diff
from workbench.diagnosis.diffing.closeness import EXACT, Tolerance, compared
from workbench.pictures.recording import Trace
from workbench.pictures.trace.backward_records import GradAccumulated, NodeStarted
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.values import Value

nn, F = torch.nn, torch.nn.functional


class Wrong(torch.autograd.Function):
    """A product whose backward can be changed."""

    factor = 1.0

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a * Wrong.factor


def trained(**changed):
    """A recording of two steps of a small training, in which one line is changed."""
    options = dict(
        act=lambda h: h.relu(), reduce=lambda e: e.mean(), eps=1e-5, target=lambda t: t.detach(), after=lambda h: h
    )
    options |= dict(lr=0.1, zero=True, hook=None, dtype=None, seed=0, noise=0, decay=0.0, factor=1.0, steps=2)
    options |= dict(clip=False, frozen=False, data=1.0)
    given = options | changed
    torch.manual_seed(given["seed"])
    first, second = nn.Linear(4, 8), nn.Linear(8, 3)
    x, y = torch.randn(5, 4), torch.randn(5, 3)
    x = x * given["data"]
    if given["dtype"] is not None:
        first, second, x, y = (each.to(given["dtype"]) for each in (first, second, x, y))
    first.bias.requires_grad_(not given["frozen"])
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=given["lr"], weight_decay=given["decay"])
    if given["hook"] is not None:
        second.weight.register_hook(given["hook"])
    Wrong.factor = given["factor"]
    torch.manual_seed(given["noise"])
    with workbench.record() as trace:
        for _ in range(given["steps"]):
            if given["zero"]:
                optimizer.zero_grad()
            h = F.layer_norm(first(x), (8,), eps=given["eps"])
            h = given["act"](h)
            h = given["after"](h)
            h = F.dropout(h, 0.5)
            out = Wrong.apply(second(h), torch.ones(5, 3, dtype=h.dtype).requires_grad_())
            error = (out - y - given["target"](h.mean(1, keepdim=True))) ** 2
            loss = given["reduce"](error)
            loss.backward()
            if given["clip"]:
                for parameter in parameters:
                    parameter.grad.mul_(0.5)
            optimizer.step()
    return trace


# A change, and what should be found: forward, backward, and a part of the structure. A sentence begins with the name.
CHANGES = {
    "another activation": (dict(act=lambda h: h.tanh()), ("replaced", "`relu`"), ("gradient", "`pow`"), None),
    "another reduction": (dict(reduce=lambda e: e.sum()), ("replaced", "`mean`"), ("gradient", "`mean`"), None),
    "another epsilon": (dict(eps=1e-3), ("operation", "`native_layer_norm`"), ("gradient", "`pow`"), None),
    "one operation more": (dict(after=lambda h: h * 2), ("only here", "`mul`"), ("gradient", "`pow`"), None),
    "a neutral operation": (dict(after=lambda h: h * 1), None, None, "Only the second has `mul`"),
    "a detach is missing": (dict(target=lambda t: t), None, ("missing", "`sub`"), "Only in the second, gradients go"),
    "another rate": (dict(lr=0.2), ("write", "SGD"), ("gradient", "`pow`"), None),
    "weight decay": (dict(decay=0.1), ("write", "SGD"), ("gradient", "`pow`"), None),
    "gradients not cleared": (dict(zero=False), None, ("accumulation", "`second.bias`"), "cleared 1 time"),
    "a hook": (dict(hook=lambda grad: grad * 2), None, ("hook", "`second.weight`"), "has no hook, in the second hook"),
    "clipped": (dict(clip=True), None, ("set", "`mul_`"), "are changed 0 times, in the second 2 times"),
    "frozen": (dict(frozen=True), None, ("missing", "`addmm` in first"), "Only in the first, gradients go"),
    "a wrong backward": (dict(factor=1.5), None, ("gradient", "`Wrong`"), None),
    "other data": (dict(data=1.5), ("input", "`x`"), ("gradient", "`pow`"), None),
    "another seed": (dict(seed=1), ("input", "The inputs differ already"), ("gradient", "`pow`"), None),
    "other noise": (dict(noise=1), ("input", "the dropout mask"), ("gradient", "`pow`"), None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_line_is_named_and_nothing_else(name: str) -> None:
    changed, forward, backward, structure = CHANGES[name]
    diff = workbench.diff(trained(), trained(**changed))
    for found, told in ((diff.forward, forward), (diff.backward, backward)):
        assert (found is None) == (told is None), diff
        if found is not None:
            assert found.kind == told[0] and told[1] in found.sentence, diff
    assert diff.others == () or name == "other noise", diff  # each step has a mask of its own
    assert [structure in each.sentence for each in diff.structure] == [True] * (structure is not None), diff
    assert bool(diff) and not diff.same and diff.same_values == (forward is backward is None)


@pytest.mark.parametrize("name", ["another activation", "another reduction", "another epsilon", "one operation more"])
def test_what_differs_has_both_lines_of_the_program(name: str) -> None:
    diff = workbench.diff(trained(), trained(**CHANGES[name][0]))
    assert all(each.startswith("test_diff.py:") for each in diff.forward.lines)
    assert diff.forward.step == "step 1"


def chain(change: float, at: int, length: int = 8):
    """A recording of a chain of operations, one of which is changed."""
    x = torch.linspace(0.1, 0.9, 6).requires_grad_()
    with workbench.record() as trace:
        h = x
        for place in range(length):
            h = h * (1.1 + (change if place == at else 0.0))
            h = h.sin()
        h.sum().backward()
    return trace


def apart(one: Value, two: Value) -> bool:
    return not np.allclose(one.values, two.values, rtol=1e-4, atol=0)


@pytest.mark.parametrize("at", [0, 3, 7])
def test_consequences_are_as_many_as_a_comparison_event_by_event_finds(at: int) -> None:
    a, b = chain(0.0, at), chain(0.2, at)
    pairs = list(zip(a.events, b.events, strict=True))
    frames = a.frame(len(a.events)), b.frame(len(b.events))
    nodes = [one.node for one, _ in pairs if isinstance(one, NodeCreated)]
    results = [[frame.nodes[node].outputs[0][1] for node in nodes] for frame in frames]
    differ = [node for node, one, two in zip(nodes, *results, strict=True) if apart(one, two)]
    grads = [
        (one.node, two.node) for one, two in pairs if isinstance(one, NodeStarted) and apart(one.grads[0], two.grads[0])
    ]
    sums = [one for one, two in pairs if isinstance(one, GradAccumulated) and apart(one.grad, two.grad)]
    diff = workbench.diff(a, b)
    assert diff.forward.places == (differ[0], differ[0])
    assert diff.consequences["operations"] == len(differ) - 1
    assert diff.consequences["gradients"] == len(grads) + len(sums)


def test_the_same_program_twice_is_the_same() -> None:
    diff = workbench.diff(trained(), trained())
    assert diff.same and not diff and diff.forward is diff.backward is None
    assert str(diff).startswith("The two traces are the same: ") and "\n" not in str(diff)
    assert workbench.diff(trained(), trained(), rtol=0, atol=0).same


def test_rounding_is_no_difference_but_where_it_begins_is_told() -> None:
    diff = workbench.diff(trained(), trained(eps=1.01e-5))
    assert diff.same
    assert any("not bit by bit, beginning with the result of `native_layer_norm`" in note for note in diff.notes)
    exact = workbench.diff(trained(), trained(eps=1.01e-5), rtol=0, atol=0)
    assert exact.forward.kind == "operation" and "`native_layer_norm`" in exact.forward.sentence


def in_two_dtypes():
    """Recordings of one program in float32 and float16."""
    found = []
    for dtype in (torch.float32, torch.float16):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).to(dtype)
        w = torch.linspace(-0.5, 0.7, 8).reshape(4, 2).to(dtype).requires_grad_()
        with workbench.record() as trace:
            (x @ w).tanh().sum().backward()
        found.append(trace)
    return found


def test_a_note_says_that_dtypes_differ_and_an_operation_that_changes_one_is_structure() -> None:
    diff = workbench.diff(*in_two_dtypes())
    assert diff.same and any(each.startswith("The dtypes differ: float32 and float16") for each in diff.notes)

    def program(dtype):
        x = torch.ones(3, requires_grad=True)
        with workbench.record() as trace:
            x.to(dtype).exp().sum().backward()
        return trace

    (found,) = workbench.diff(program(torch.float64), program(torch.float16)).structure
    assert found.kind == "dtype" and "gives float64, in the second float16" in found.sentence


def test_a_missing_step_is_told_as_one() -> None:
    diff = workbench.diff(trained(steps=3), trained(steps=2))
    assert diff.same_values and not diff.same
    kinds = [each.kind for each in diff.structure]
    assert kinds == ["steps", "only here"]
    assert diff.structure[0].sentence == "The first has 3 training steps, the second 2 training steps"


def small(*values, limit=None):
    x = torch.tensor(values, requires_grad=True)
    with workbench.record(limit=limit) as trace:
        (x * 2).log().sum().backward()
    return trace


def test_nan_equals_nan_and_differs_from_inf() -> None:
    assert workbench.diff(small(-1.0, 2.0), small(-1.0, 2.0)).same
    assert workbench.diff(small(0.0, 2.0), small(0.0, 2.0)).same
    diff = workbench.diff(small(-1.0, 2.0), small(0.0, 2.0))
    assert diff.forward.kind == "input"
    exact = Tolerance()
    nan, inf, minus = (Value.of(np.array([each, 1.0])) for each in (math.nan, math.inf, -math.inf))
    assert compared(nan, nan, exact) == compared(inf, inf, exact) == EXACT
    for one, two in ((nan, inf), (inf, minus), (nan, Value.of(np.array([0.0, 1.0])))):
        assert compared(one, two, exact).apart.index == (0,)
        summaries = [
            Value(each.shape, each.dtype, None, each.norm, each.min, each.max, each.mean, each.nonfinite)
            for each in (one, two)
        ]
        if one.nonfinite != two.nonfinite or not (one is nan or two is nan):
            assert compared(*summaries, exact).apart is not None or {one.norm, two.norm} == {math.inf}


def test_the_first_element_that_differs_has_its_index() -> None:
    one, two = np.zeros((3, 4)), np.zeros((3, 4))
    one[1, 2], two[1, 2], two[2, 3] = 1.0, 2.0, 0.5
    found = compared(Value.of(one), Value.of(two), Tolerance()).apart
    assert (found.index, found.pair, found.count, found.largest) == ((1, 2), (1.0, 2.0), 2, 1.0)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e20])
def test_the_tolerance_fits_values_of_any_size(scale: float) -> None:
    rng = np.random.default_rng(0)
    one = (rng.normal(size=100) * scale).astype(np.float32)
    near, far = one * np.float32(1 + 2e-6), one * np.float32(1 + 2e-4)
    assert compared(Value.of(one), Value.of(near), Tolerance()).apart is None
    assert compared(Value.of(one), Value.of(far), Tolerance()).apart is not None
    # What is close element by element is close in its summary.
    assert compared(Value.of(one, 0), Value.of(near, 0), Tolerance()).apart is None
    assert compared(Value.of(one, 0), Value.of(far, 0), Tolerance()).apart is not None


def test_where_no_values_were_recorded_it_says_so() -> None:
    a, b = small(*[1.0] * 50, limit=10), small(*[1.0] * 49, 1.5, limit=10)
    diff = workbench.diff(a, b)
    assert diff.forward.index is None
    assert "only norm, mean, min and max were recorded" in str(diff)
    assert any(note.startswith("Of ") and "record with a higher `limit`" in note for note in diff.notes)


def test_another_shape_differs() -> None:
    diff = workbench.diff(small(1.0, 2.0), small(1.0, 2.0, 3.0))
    assert diff.forward.kind == "input" and diff.forward.values[1]["shape"] == [3]


def test_an_error_on_one_side_is_told() -> None:
    def program(breaks):
        x = torch.ones(2, requires_grad=True)
        with workbench.record() as trace:
            y = x.exp()
            if breaks:
                y.data.mul_(1)
                y.mul_(1)
            with pytest.raises(RuntimeError) if breaks else workbench.enable_grad():
                y.sum().backward()
        return trace

    diff = workbench.diff(program(False), program(True))
    assert any(
        each.kind == "error" and "doesn't fail; the second fails with" in each.sentence for each in diff.structure
    )


def test_branches_in_another_order_are_no_difference() -> None:
    def program(first, second):
        x = torch.tensor([0.3, 0.7], requires_grad=True)
        with workbench.record() as trace:
            results = {name: getattr(x, name)() for name in (first, second)}
            (results["exp"] + results["sin"]).sum().backward()
        return trace

    diff = workbench.diff(program("exp", "sin"), program("sin", "exp"))
    assert diff.same, diff


def test_layers_in_another_order_are_told_as_such_and_not_as_rounding() -> None:
    def program(swaps):
        torch.manual_seed(0)
        first, second = nn.Linear(4, 4), nn.Linear(4, 4)
        act = nn.Tanh()
        with workbench.record() as trace:
            h = first(torch.ones(2, 4) / 4)
            h = second(act(act(h))) if swaps else act(second(act(h)))
            h.sum().backward()
        return trace

    told = workbench.diff(program(False), program(True)).forward.sentence
    assert "it is computed from `tanh`" in told and "in the second from `tanh`" in told, told
    assert "Small differences" not in told and "the same" not in told


class ScaledBack(torch.autograd.Function):
    factor = 1.0

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * ScaledBack.factor


def scaled_back(factor, end):
    torch.manual_seed(0)
    ScaledBack.factor = factor
    x, first, second = torch.randn(4, 6), nn.Linear(6, 6), nn.Linear(6, 4)
    with workbench.record() as trace:
        end(second(ScaledBack.apply(first(x)))).backward()
    return trace


@pytest.mark.parametrize(
    "end",
    [
        lambda h: F.nll_loss(F.pad(h, (0, 2996)).log_softmax(-1), torch.tensor([2999, 3, 2, 2998])),
        lambda h: (h + torch.tensor([-1e9, 0.0, 0.0, 0.0])).softmax(-1).square().mean(),
        lambda h: h.masked_fill(torch.ones(4, 4).triu(1).bool(), -1e9).softmax(-1).square().mean(),
    ],
    ids=["large labels", "added mask", "filled mask"],
)
def test_neither_labels_nor_masks_widen_the_tolerance(end) -> None:
    assert workbench.diff(scaled_back(1.0, end), scaled_back(1.0, end)).same
    diff = workbench.diff(scaled_back(1.0, end), scaled_back(1.1, end))
    assert diff.forward is None and "The gradient that `ScaledBack` sends" in diff.backward.sentence, diff


def test_several_tensors_written_to_more_often_are_told_as_several() -> None:
    def detached(h):
        return h.detach()

    texts = str(workbench.diff(trained(steps=3), trained(steps=3, after=detached)))
    assert " and " in texts and "is written to" not in texts, texts


def test_a_diff_is_data_text_and_pages(tmp_path) -> None:
    a, b = trained(), trained(act=lambda h: h.tanh())
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for trace, path in zip((a, b), paths, strict=True):
        trace.save(path)
    diff = workbench.diff(*paths)
    assert isinstance(diff, Diff) and diff.names == ("a.json", "b.json")
    data = json.loads(diff.to_json())
    assert data["forward"]["kind"] == "replaced" and data["same"] is False
    assert data["forward"]["values"][0]["norm"] == pytest.approx(diff.forward.values[0]["norm"])
    assert str(diff) == str(workbench.diff(*paths)) == repr(diff)
    diff.save(tmp_path / "diff.html")
    page = (tmp_path / "diff.html").read_text("utf-8")
    assert "Where the first has `relu`" in page and 'id="storyboard"' in page and str(tmp_path) not in page
    diff.save(tmp_path / "diff.json")
    assert json.loads((tmp_path / "diff.json").read_text("utf-8")) == data
    assert "text/html" in diff._repr_mimebundle_() and list(workbench.diff(a, a)._repr_mimebundle_()) == ["text/plain"]


def test_a_picture_marks_what_differs_first() -> None:
    diff = workbench.diff(chain(0.0, 3), chain(0.2, 3))
    board = diff.show().storyboard
    marked = [id for id, box in board.at(0).boxes.items() if box.state == "differs"]
    assert {id.partition(".")[0] for id in marked} == {"a", "b"}
    assert len(marked) == 4  # the first forward and the first backward, on both sides
    assert board.steps[1].caption.startswith("The result of mul is the first that differs")


def test_what_cannot_be_compared_is_refused(tmp_path) -> None:
    a = small(1.0)
    with pytest.raises(TypeError, match="diff\\(\\) compares two traces from record\\(\\), or the paths"):
        workbench.diff(a, 3)
    with workbench.record() as empty:
        pass
    with pytest.raises(ValueError, match="nothing to compare: second has no operation"):
        workbench.diff(a, empty)
    x = torch.ones(2, requires_grad=True)
    with workbench.record() as other:
        x.cosh()
    with pytest.raises(ValueError, match="nothing in common: no operation of first"):
        workbench.diff(a, other)
    for bad in (-1.0, math.nan, math.inf, "0"):
        with pytest.raises(ValueError, match="needs rtol to be a number"):
            workbench.diff(a, a, rtol=bad)
    path = tmp_path / "bad.json"
    for content in ("", "[]", '{"format": "workbench-trace"}', "\x1f\x8b" + "x" * 20, '{"a": ' * 5000):
        path.write_text(content, "utf-8")
        with pytest.raises(ValueError, match=r"trace|format|version"):
            workbench.diff(path, path)


def test_with_a_tensor_it_is_what_pytorch_calls_diff() -> None:
    x = torch.tensor([1.0, 3.0, 6.0])
    assert torch.diff(x).tolist() == [2.0, 3.0] and torch.diff(input=x, n=2).tolist() == [1.0]
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.diff(3)


def test_it_takes_long_recordings_whose_structure_differs() -> None:
    def program(more):
        x = torch.tensor([0.5, 0.2], requires_grad=True)
        with workbench.record() as trace:
            h = x
            for place in range(600):
                h = (h * 1.01).sin()
                if more and place % 2:
                    h = h + 0.0
            h.sum().backward()
        return trace

    diff = workbench.diff(program(False), program(True))
    assert diff.same_values and len(diff.structure) == 1
    assert diff.structure[0].sentence.endswith("; 300 times")


MODEL = """
h = torch.nn.functional.layer_norm(x @ w + b, (6,))
h = torch.nn.functional.dropout(h, 0.0)
s = (h @ h.transpose(0, 1)).softmax(-1) @ h
loss = torch.nn.functional.cross_entropy(torch.tanh(s) @ v, y)
loss.backward()
"""


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_pytorch_and_the_own_engine_agree(kind: str) -> None:
    other = pytest.importorskip("torch", reason=absent.TORCH)
    rng = np.random.default_rng(0)
    arrays = {"x": (8, 4), "w": (4, 6), "b": (6,), "v": (6, 3)}
    given = {name: rng.normal(size=shape).astype(kind) for name, shape in arrays.items()}
    traces = []
    for engine, changes in ((torch, 1.0), (other, 1.0), (other, 1.1)):
        names = {name: engine.tensor(each).requires_grad_(name != "x") for name, each in given.items()}
        names |= {"torch": engine, "y": engine.tensor([0, 1, 2, 0, 1, 2, 0, 1])}
        program = MODEL.replace("torch.tanh(s)", f"torch.tanh(s * {changes})") if changes != 1.0 else MODEL
        with workbench.record(None if engine is torch else engine) as trace:
            exec(compile(program, "model.py", "exec"), names)
        traces.append(trace)
    diff = workbench.diff(*traces[:2])
    assert diff.same_values, diff
    changed = workbench.diff(traces[0], traces[2])
    assert changed.forward.kind == "only here" and "`mul`" in changed.forward.sentence, changed


OPERATIONS = ("sin", "exp", "tanh", "relu", "sigmoid", "cos", "abs")


def random_program(seed: int, change: int | None = None, factor: float = 1.25, kind: str = "float32"):
    """A recording of a random graph, and its number of steps; the result of one step may be changed."""
    rng = np.random.default_rng(seed)
    pool = [torch.tensor(rng.normal(size=(3, 4)).astype("float32")).to(getattr(torch, kind)) for _ in range(2)]
    pool = [each.requires_grad_() for each in pool]
    plan = [(rng.integers(5), *rng.integers(0, 1000, 2), rng.choice(OPERATIONS)) for _ in range(rng.integers(4, 14))]
    with workbench.record() as trace:
        for at, (which, a, b, name) in enumerate(plan):
            u, v = pool[a % len(pool)], pool[b % len(pool)]
            if which == 0:
                w = u * v
            elif which == 1:
                w = u + v
            elif which == 2:
                w = getattr(u.tanh(), name)()
            elif which == 3:
                w = u.mean(0, keepdim=True) + v
            else:
                w = (u @ v.transpose(0, 1)).softmax(-1) @ v
            if at == change:
                w = w * factor
            pool.append(w)
        sum(each.mean() for each in pool[2:]).backward()
    return trace, len(plan)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_the_same_twice_and_one_change_is_found(seed: int) -> None:
    program, steps = random_program(seed)
    assert workbench.diff(program, random_program(seed)[0], rtol=0, atol=0).same
    for factor in (1.25, 1.001):
        diff = workbench.diff(program, random_program(seed, seed % steps, factor)[0])
        assert diff.forward.kind == "only here" and "`mul`" in diff.forward.sentence, diff
        assert "w = w * factor" in diff.forward.sentence and diff.others == ()
    double = workbench.diff(program, random_program(seed, kind="float64")[0])
    assert double.same_values, double


def test_a_trace_with_every_kind_of_record_is_compared() -> None:
    trace = wrong_traces.everything()
    assert workbench.diff(trace, trace).same and workbench.diff(trace, trace, rtol=0).same


@pytest.mark.slow
def test_a_damaged_trace_that_loads_is_compared_or_refused() -> None:
    def load(events):
        return Trace.from_dict(json.loads(wrong_traces.text(events)))

    base, count = load(wrong_traces.sound()[0]), 0
    for _, events in itertools.islice(wrong_traces.wrongs(), 0, None, 29):
        try:
            other = load(events)
        except ValueError:
            continue
        count += 1
        for pair in ((base, other), (other, base)):
            with contextlib.suppress(ValueError):
                found = workbench.diff(*pair)
                assert str(found) and json.loads(found.to_json())["same"] in (True, False)
    assert count > 50
