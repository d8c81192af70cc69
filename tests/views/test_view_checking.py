"""A check's picture: both Jacobians, the entries that disagree, and how far apart they are."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from golden import check_golden
from trace_samples import Halved

import workbench as torch
from workbench.autograd import gradcheck


class Crooked(torch.Function):
    """Its backward forgets the factor 2 of one element."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * x + w.sum()

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        slope = 2 * x
        slope[1] = x[1]
        return grad * slope, grad.sum().expand(w.shape)


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def wrong(picture):
    """The ids of the outlined cells."""
    board = picture.storyboard
    return [id for id, box in board.at().boxes.items() if box.state == "error"]


MODES = ("reverse", "forward")


def by_hand(x):
    return torch.stack([x[0] * x[1], x[1] ** 2 * -3, x.sum()])


def test_wrong_entries_are_outlined_on_both_sides_and_the_largest_difference_is_said():
    picture = torch.check(Crooked.apply, (leaf(1.0, 3.0), leaf(4.0, 5.0)))
    assert wrong(picture) == ["p0.0a.1.1", "p0.0n.1.1"]
    assert picture.storyboard.at().boxes["p0.0a.1.1"].alt == "d y[1] / d x[1] is wrong: analytic 3, numeric 6"
    jacobians = {f"jacobian, {mode}": str(torch.jacobian(by_hand, torch.tensor([1.0, 2.0]), mode)) for mode in MODES}
    check_golden(Path(__file__).parent / "golden" / "tools.txt", {**jacobians, "check": str(picture)})


def test_first_one_side_is_known_then_the_other_then_what_is_wrong():
    board = torch.check(Crooked.apply, (leaf(1.0, 3.0), leaf(4.0, 5.0))).storyboard
    seen = [[board.at(k).boxes[f"p0.0{side}.1.1"].title for side in "an"] for k in range(3)]
    assert seen == [["3", ""], ["3", "6"], ["3", "6"]]
    assert [sum(box.state == "error" for box in board.at(k).boxes.values()) for k in range(3)] == [0, 0, 2]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.exp(),
        lambda x: (x * x, x.sum()),
        lambda x: x.detach() * 2,
        lambda x: x.detach().round(),
        lambda x: x.reshape(1, 2).softmax(1),
    ],
)
def test_entries_are_wrong_where_gradcheck_fails(function, mode):
    x = leaf(0.3, 0.7)
    fine = gradcheck(
        function, x, raise_exception=False, check_forward_ad=mode == "forward", check_backward_ad=mode == "reverse"
    )
    assert (not wrong(torch.check(function, x, mode))) == fine


def test_tolerances_decide():
    rough = lambda x: x.detach() * 1e-4 + x  # noqa: E731
    assert wrong(torch.check(rough, leaf(1.0))) == []
    assert len(wrong(torch.check(rough, leaf(1.0), atol=0.0, rtol=1e-6))) == 2


def test_several_outputs_and_inputs_each_have_a_pair():
    picture = torch.check(lambda y0, c, k: (y0 * c + k, y0.sum()), (leaf(1.0, 2.0), leaf(3.0, 4.0), 5.0))
    headings = [box.title for box in picture.storyboard.at().boxes.values() if box.kind == "heading"]
    assert headings == ["output_y0 by y0", "output_y0 by c", "y1 by y0", "y1 by c"]


def test_what_is_not_finite_is_wrong():
    picture = torch.check(lambda x: x.sqrt(), leaf(0.0, 1.0))
    assert "p0.0a.0.0" in wrong(picture)


def test_large_ones_are_compared_whole_and_shown_in_part():
    def late(x):
        return x.detach() * torch.tensor(np.arange(50) > 47) + x

    picture = torch.check(late, torch.tensor(np.ones(50), requires_grad=True))
    assert wrong(picture) == [] and "2 of 2500 entries are wrong" in repr(picture)
    assert "d y[48] / d x[48]: analytic 1, numeric 2" in repr(picture)


def test_what_computes_in_single_precision_is_warned_of_and_nothing_to_check_is_an_error():
    with pytest.warns(UserWarning, match="not a double precision"):
        torch.check(lambda x: x.float() * 2, torch.tensor([1.0], requires_grad=True), eps=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.check(lambda x: x * 2, torch.tensor([1.0], requires_grad=True))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        torch.check(lambda x: x * 2, torch.tensor([1.0]))
    with pytest.raises(ValueError, match="There is no mode 'both'"):
        torch.check(lambda x: x * 2, leaf(1.0), "both")


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient and is not a double precision")
@pytest.mark.parametrize("dtype, kept", [(torch.float32, 7), (torch.float16, 3)])
def test_at_less_than_double_precision_entries_differ_and_are_not_called_wrong(dtype, kept):
    picture = torch.check(lambda a: a.to(dtype) ** 2, torch.tensor([2.0, 3.0], dtype=dtype, requires_grad=True))
    name, boxes = str(dtype).removeprefix("torch."), picture.storyboard.at().boxes
    assert wrong(picture) == []
    assert [id for id, box in boxes.items() if box.state == "differs"] == [
        f"p0.0{s}.{i}.{i}" for s in "an" for i in (0, 1)
    ]
    assert boxes["p0.0a.0.0"].alt.startswith(f"d y[0] / d a[0] differs, at {name}: analytic 4, numeric ")
    assert f"2 of 4 differ, but at {name} that may be rounding: the largest difference is " in repr(picture)
    why = f"f computes in {name} whatever its inputs are: {name} keeps about {kept} digits, "
    why += "so a difference of 1e-06 is mostly rounding there: check with float64 inputs."
    last = picture.storyboard.steps[-1].caption
    assert "2 of 4 entries differ, outlined; " in last and last.endswith(f"That need not be wrong: {why}")
    assert picture.storyboard.steps[1].caption.endswith(f"no derivative is used. {why}")


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient and is not a double precision")
def test_a_float32_output_of_a_float64_input_is_blurred_too():
    assert "1 of 1 differ, but at float32 that may be rounding" in repr(
        torch.check(lambda a: a.float() ** 2, leaf(3.0))
    )
    single = torch.tensor([3.0], requires_grad=True)
    assert "All 1 entries agree" in repr(torch.check(lambda a: a.double() ** 2, single))


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
def test_where_a_difference_is_large_enough_for_float32_a_wrong_entry_is_wrong():
    x, w = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([4.0, 5.0], requires_grad=True)
    picture = torch.check(Crooked.apply, (x, w), eps=0.125)
    assert wrong(picture) == ["p0.0a.1.1", "p0.0n.1.1"] and "float32" not in repr(picture)


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
@pytest.mark.parametrize("dtype, step", [(torch.float32, 0.005), (torch.float16, 0.1)])
@pytest.mark.parametrize("value", [0.5, 3.0, 10.0])
def test_a_backward_that_is_wrong_by_a_factor_of_2_is_wrong_at_any_precision(dtype, step, value):
    picture = torch.check(lambda x: Halved.apply(x.to(dtype)), torch.tensor([value], dtype=dtype, requires_grad=True))
    assert wrong(picture) == ["p0.0a.0.0", "p0.0n.0.0"]
    name, last = str(dtype).removeprefix("torch."), picture.storyboard.steps[-1].caption
    assert last.startswith("1 of 1 entries is wrong, outlined; ")
    assert last.endswith(f". So say differences of {step}, which suit {name}.")
    analytic, numeric = [float(found) for found in re.findall(r"(?:analytic|numeric) (\d+\.?\d*)", last)]
    assert numeric == pytest.approx(2 * analytic, rel=2e-3 if dtype is torch.float32 else 0.05)
    assert picture.storyboard.steps[1].caption.endswith("so a difference of 1e-06 is mostly rounding there.")
    assert "float64" not in repr(picture)  # nothing is gained by checking again what is plainly wrong


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
def test_only_the_entries_that_rounding_cannot_explain_are_wrong():
    x, w = torch.tensor([1.1, 3.3], requires_grad=True), torch.tensor([4.3, 5.7], requires_grad=True)
    picture = torch.check(lambda x, w: Crooked.apply(x.float(), w.float()), (x, w))
    assert wrong(picture) == ["p0.0a.1.1", "p0.0n.1.1"]
    assert "1 of 4 wrong, 1 of 4 differ, but at float32 that may be rounding: " in repr(picture)
    assert "4 of 4 differ, but at float32 that may be rounding: " in repr(picture)
    *_, numeric, last = [step.caption for step in picture.storyboard.steps]
    assert last.startswith("1 of 8 entries is wrong, outlined; ") and "float64" not in numeric
    assert last.endswith(" Of the others 5 may differ by rounding alone: check these with float64 inputs.")


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
@pytest.mark.parametrize("f", [torch.relu, torch.sqrt, lambda x: (x * 1000).sin(), lambda x: x + 1000 - 1000])
def test_what_is_right_is_not_called_wrong_because_the_step_is_large(f):
    x = torch.tensor([0.001, 0.0015, 0.3], requires_grad=True)
    assert wrong(torch.check(f, x)) == []


class Tilted(torch.Function):
    """A square whose derivative is told too large, by a factor."""

    factor = 1.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * 0.5

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * Tilted.factor


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("factor", [1.174, 1.01, 0.98, -1.0])  # 1.085 for 0.924, as a learner had it
def test_a_backward_that_is_a_little_wrong_is_wrong_at_any_precision(monkeypatch, dtype, factor):
    monkeypatch.setattr(Tilted, "factor", factor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = torch.check(Tilted.apply, torch.tensor([0.924, -2.0, 31.0], dtype=dtype, requires_grad=True))
    assert sorted(wrong(picture)) == [f"p0.0{s}.{i}.{i}" for s in "an" for i in range(3)]
    numeric, last = [step.caption for step in picture.storyboard.steps[1:]]
    assert numeric.startswith("Numeric, in float64: ") and "rounding" not in numeric + last


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_right_backward_is_never_called_wrong_at_less_than_double_precision(dtype):
    random = np.random.default_rng(0)
    for f in (torch.exp, torch.tanh, torch.sqrt, lambda x: (x * 40).sin(), lambda x: x.cumsum(0).log(), torch.square):
        for size in (0.01, 1.0, 5.0):
            x = torch.tensor(size * (0.1 + random.random(4)), dtype=dtype, requires_grad=True)
            assert wrong(torch.check(f, x)) == []


def test_rounding_of_the_derivatives_alone_is_told_as_such():
    f = lambda x: (x * x + 3e3) / 3e3 - 1  # noqa: E731
    x = torch.tensor([5.0], dtype=torch.float16, requires_grad=True)
    picture = torch.check(lambda x: (f(x) * 1e3).sin() * 10, x)
    last = picture.storyboard.steps[-1].caption
    assert wrong(picture) == [] and last.endswith("float16 keeps about 3 digits; in float64 both agree.")


def test_what_rounds_inside_is_not_called_wrong():
    x = torch.tensor([1.1, 3.3], requires_grad=True)
    picture = torch.check(lambda x: x.float().double() ** 2 + x, x)
    assert wrong(picture) == []
    assert picture.storyboard.steps[-1].caption.endswith("f rounds to fewer digits itself.")


def test_what_refuses_float64_is_checked_as_it_is_and_the_picture_says_so():
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = torch.tensor([[1.0, 3.0]], requires_grad=True)
    with pytest.warns(UserWarning, match="not a double precision"):
        picture = torch.check(lambda x: x @ weight, x, eps=0.01)
    assert wrong(picture) == [] and picture.storyboard.steps[1].caption.startswith("Numeric: ")
    with pytest.warns(UserWarning, match="not a double precision"):
        picture = torch.check(lambda x: x @ weight, x)
    assert "f does not take float64 (RuntimeError): float32 keeps" in picture.storyboard.steps[1].caption


def test_an_empty_input_is_a_picture_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "All 0 entries agree" in repr(torch.check(lambda x: x * 2, leaf()))


def test_the_inputs_are_left_alone():
    x = leaf(1.0, 2.0)
    torch.check(lambda x: x.exp(), x)
    assert x.grad is None and x.tolist() == [1.0, 2.0]
