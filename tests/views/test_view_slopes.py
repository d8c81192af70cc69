"""The local slope on an arrow: what it says is so, to the digits it shows; of what is not certain it says nothing."""

from __future__ import annotations

import ast
import itertools
import re
import warnings

import numpy as np
import pytest
from boxes import name_of
from op_samples import DIFFERENTIABLE, arguments, each_sample, samples_of, weights
from trace_samples import leaf
from work_done import calls

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.backward_records import NodeFinished
from workbench.pictures.trace.facts import Code
from workbench.pictures.trace.frame import Frame
from workbench.pictures.trace.values import number
from workbench.pictures.views import storyboard
from workbench.pictures.views.graph import Graph
from workbench.pictures.views.slope_formulas import evaluated, read_formulas, settled, slope
from workbench.pictures.views.slope_text import expression_text, simple
from workbench.pictures.views.stepper_picture import Stage

NUMBER = r"-?[\d.]+(?:e[+-]\d+)?"
WORDS = {"·": "*", "−": "-", "≤": "<=", "≥": ">=", "×": "*", "ᵀ": ".swapaxes(-2, -1)"}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def found_in(trace):
    """Each slope that is found, with what came, what was sent, and the values that its names stand for."""
    view, frame, told = Graph(trace.events), Frame(), []
    for event in trace.events:
        event.apply(frame)
        if isinstance(event, NodeFinished) and event.node in frame.nodes:
            for key, edge in frame.edges_of(event.node):
                if edge.grad is not None and (known := view.slopes(frame, key)) is not None:
                    told.append((known, array(frame.nodes[event.node].received[0]), array(edge.grad)))
    return told


def array(value):
    return None if value is None or value.values is None else np.array(value.values).reshape(value.shape)


def computed(text, names):
    """What the words on an arrow come to, read as a person reads them."""
    text = re.sub(r" \((\d+(?:, \d+)*,?)\)(?= @|$)", "", text)  # the shapes of a product
    for word, code in WORDS.items():
        text = text.replace(word, code)
    text = re.sub("[²³⁴-⁹]", lambda power: f"**{'⁰¹²³⁴⁵⁶⁷⁸⁹'.index(power[0])}", text)
    text = re.sub(r"(?<![<>=!]) = ", " == ", text)
    while found := re.search(
        r"\(([^()]*(?:\([^()]*\)[^()]*)*) where ([^()]*), else ([^()]*(?:\([^()]*\)[^()]*)*)\)", text
    ):
        text = text.replace(found[0], f"np.where(({found[2]}), ({found[1]}), ({found[3]}))")
    functions = {"rsqrt": lambda x: x**-0.5, "sigmoid": sigmoid, "erf": np.vectorize(__import__("math").erf)}
    functions |= {name: getattr(np, name) for name in "sin cos tan sinh cosh exp log sqrt sign".split()}
    functions |= {"ln2": np.log(2), "ln10": np.log(10)}
    with np.errstate(all="ignore"):
        return eval(text, {"np": np, **functions, **names})


def agrees(known, came, sent, names):
    """Whether what an arrow says of a gradient is what happened."""
    if known.product:
        numbers = re.match(rf"({NUMBER}) × ({NUMBER})(?: \((.*)\))? = ({NUMBER})$", known.label.partition("\n")[0])
        grad, by, origin, result = numbers.groups()
        origin = origin or known.label.partition("\n")[2].partition(": ")[2]
        assert float(grad) * float(by) == pytest.approx(float(result), rel=2e-3)
        assert (float(grad), float(result)) == (
            pytest.approx(came.item(), rel=1e-3),
            pytest.approx(sent.item(), rel=1e-3),
        )
        return not origin or computed(origin, names).item() == pytest.approx(float(by), rel=2e-3)
    words = re.sub(r", (elementwise|unchanged|summed to .*|broadcast to .*|as .*)$", "", known.label)
    if words.startswith(("grad, reshaped", "gradᵀ, of")):
        turned = came if words.startswith("grad,") else came.T if came.ndim == 2 else None
        return turned is None or np.allclose(turned.reshape(sent.shape), sent)
    got = computed(words.replace("−grad", "-grad"), names | {"grad": came})
    for _ in range(max(0, np.ndim(got) - sent.ndim)):
        got = got.sum(0)
    for axis, size in enumerate(sent.shape):
        if np.ndim(got) == sent.ndim and size == 1 != got.shape[axis]:
            got = got.sum(axis, keepdims=True)
    if np.size(got) < sent.size and "broadcast to" in known.label:
        lacking = [tuple(n if n in came.shape else 1 for n in sent.shape)] if came.ndim else [()]
        got = np.reshape(got, lacking[0] if np.prod(lacking[0]) == np.size(got) else np.shape(got))
    return np.allclose(
        np.broadcast_to(got, sent.shape) if np.ndim(got) <= sent.ndim else got, sent, rtol=2e-3, atol=1e-12
    )


@pytest.mark.slow
@each_sample(DIFFERENTIABLE)
def test_what_the_arrows_of_every_operation_say_is_so(op, text):
    args = arguments(op, text)
    with record() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = op.function(*args)
        result = out.detach().clone()
        out.backward(weights(out))
    names = {"args": [np.array(a.detach().numpy()) if isinstance(a, torch.Tensor) else a for a in args]}
    names |= {"out": np.array(result.numpy()), "result": np.array(result.numpy())}
    names["input"] = next((each for each in names["args"] if isinstance(each, np.ndarray)), None)
    names["other"] = np.array([1.0, 0.0, 1.0, 0.0]) if op.name.startswith("cumprod") else np.array([1.0, 0.0, 1.0, 1.0])
    names["other"] = np.array([1.0, 0.0, 0.0]) if op.name.startswith("prod_dim") else names["other"]
    for known, came, sent in found_in(trace):
        assert agrees(known, came, sent, names), (known, came, sent)
        assert len(known.label) <= 120


def test_every_plain_operation_says_its_slope():
    silent = set()
    for op, text in [(each, text) for each in DIFFERENTIABLE for text in samples_of(each)]:
        args = arguments(op, text)
        with record() as trace:
            out = op.function(*args)
            out.backward(weights(out))
        if op.tangent == "pointwise" and op.kind in ("pointwise", "float") and not found_in(trace):
            silent.add(op.name)
    alone = {"clamp_min_alone", "clamp_max_alone"}  # the other limit stands for none
    assert silent == {"clamp_tensors", "sinc", *alone}, "whose conditions are longer than a label"


def told(program, *values, view="graph"):
    """The labels of the arrows that bring something, step by step."""
    with record() as trace:
        program(*values)
    return labels(trace, view)


def labels(trace, view="graph"):
    board, found = storyboard(trace, view), []
    for k in range(len(board.steps)):
        scene = board.at(k)
        flowing = [arrow for arrow in scene.arrows.values() if arrow.state == "flowing" and ".seed" not in arrow.id]
        found += [(name_of(scene.boxes[arrow.source]), arrow.label) for arrow in flowing]
    return found


def line() -> Trace:
    with record() as trace:
        w, x, b = leaf(3.0).sum(), torch.tensor(2.0), torch.tensor(0.5, requires_grad=True)
        w = torch.tensor(3.0, requires_grad=True)
        out = w * x + b
        loss = (out - 7.0) ** 2
        loss.backward()
    return trace


NEGATIVE = {
    "a quotient": lambda a, b: a / (b - 1),
    "a cube": lambda a, b: a**3 * b,
    "a power": lambda a, b: b**-2 - a,
    "a square root": lambda a, b: (a * b).sqrt() / b,
    "a hyperbola": lambda a, b: a.tanh() / b**2,
    "a root of squares": lambda a, b: torch.hypot(a, b) * a,
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_an_equation_with_negative_numbers_holds_as_it_is_written(name):
    with record() as trace:
        NEGATIVE[name](leaf(-2.0), leaf(-3.0)).backward()
    board = storyboard(trace, "graph")
    every = (box.details or () for k in range(len(board.steps)) for box in board.at(k).boxes.values())
    told = {each.body for details in every for each in details if each.heading == "Local slope"}
    assert len(told) > 2
    for equation in told:
        sides = [each for each in equation.partition(": ")[2].split(" = ") if "grad" not in each]
        python = [re.sub("[·−×²]", lambda m: "**2" if m[0] == "²" else WORDS[m[0]], each) for each in sides]
        values = [eval(each, {"__builtins__": {}}) for each in python]
        assert len(values) > 1 and np.allclose(values, values[-1], rtol=2e-3), equation


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (1, 1), (2, 1, 3), (1,), (1, 4, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_a_mean_over_any_dimensions_even_of_one_element_says_its_slope(shape, keepdim):
    everything = range(len(shape))
    for dims in (each for n in (1, 2, 3) for each in itertools.combinations(everything, n)):
        x = torch.tensor(np.arange(1.0, np.prod(shape) + 1).reshape(shape), requires_grad=True)
        found = dict(told(lambda x, dims=dims: (x.mean(dims, keepdim=keepdim) * 2).sum().backward(), x))
        factor = 1 / np.prod([shape[dim] for dim in dims])
        assert f" × {number(factor)}" in found["x"] or (factor == 1 and "grad" in found["x"]), (dims, found["x"])


def test_a_stepper_says_it_too():
    x = torch.tensor(2.0, requires_grad=True)
    s = torch.step((x * 3.0).sin())
    s.step()
    flowing = [arrow for arrow in Stage(s).scene.arrows.values() if arrow.state == "flowing"]
    assert [arrow.label for arrow in flowing] == ["1.0 × 0.9602 (cos(input)) = 0.9602"]


HOSTILE = [
    "self: grad * 9 ** 9 ** 9 ** 9",
    "self: grad * (" + "-" * 1200 + "self)",
    "self: " + "(" * 300 + "grad" + ")" * 300,
    "self: grad * a(self)\n"
    + "\n".join(f"{c}(x) = {d}(x) * {d}(x) * {d}(x)" for c, d in zip("abcdefghijkl", "bcdefghijklm", strict=True)),
    "self: grad * a(self)\na(x) = a(x)",
    "self: grad * __import__('os').getpid()",
    "self: grad * self.__class__",
    "self: grad * [x for x in self]",
    "self: grad * where(self)",
    "self: lambda: grad",
    "self: grad if self else",
    "self: grad * numel(self)",
    "self: grad * 'a' * 99999999",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_of_a_file_cannot_harm(text):
    data = line().to_dict()
    usual = calls(lambda: storyboard(Trace.from_dict(data)))
    for event in data["events"]:
        for code in event.get("code", ()):
            code["text"] = text if code["name"] == "backward" else "mul(self)"
    boards = []
    assert calls(lambda: boards.append(storyboard(Trace.from_dict(data)))) < 10 * usual
    assert boards[0].steps and boards[0].to_dict()


def test_what_a_formula_says_of_its_functions_is_what_they_compute():
    from workbench.ops.core.registry import ABBREVIATIONS, ARRAYS

    x, y = np.array([-1.5, -0.2, 0.0, 0.3, 2.0]), np.array([0.5, -1.0, 2.0, 1.0, -3.0])
    for name in ("tanh_backward", "sigmoid_backward", "threshold_backward", "leaky_relu_backward"):
        signature, text = ABBREVIATIONS[name]
        parameters = signature[signature.index("(") + 1 : -1].split(", ")
        args = [y, x, 0.1][: len(parameters)]
        told = evaluated(ast.parse(text, mode="eval").body, dict(zip(parameters, args, strict=True)))
        assert np.allclose(told, ARRAYS[name](*args))


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("grad * other", "other"),
        ("-grad * (self / other / other)", "-(self / other²)"),
        ("grad * (2 * self ** (2 - 1))", "2 · self"),
        ("0.5 * grad * self * self", "0.5 · self · self"),
        ("expand(grad, self.shape) / 4", "0.25"),
        ("where(self > 0, grad, 0)", "(1 where self > 0, else 0)"),
        ("zeros_like(grad)", "0"),
        ("grad - grad * self", None),
        ("other / grad", None),
        ("mm(grad, self)", None),
        ("where(self > 0, grad, self)", None),
    ],
)
def test_the_gradient_is_taken_out_of_a_formula(formula, said):
    formulas = read_formulas((Code("forward", "f(self, other)"), Code("backward", f"self: {formula}")))
    factor = slope(settled(formulas.of["self"], {}))
    assert (None if factor is None else expression_text(simple(factor))) == said


def test_a_call_names_no_result_of_the_modules_that_it_runs():
    """The operations of each have the text of the one call that runs them all."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Linear(2, 2), nn.Sigmoid(), nn.Linear(2, 1))
    x = torch.ones(3, 2)
    with record() as trace:
        pred = model(x)
        pred.sum().backward()
    view, frame = Graph(trace.events), Frame()
    names = []
    for event in trace.events:
        event.apply(frame)
        if isinstance(event, NodeFinished) and event.node in frame.nodes:
            names += [known.label for key, _ in frame.edges_of(event.node) if (known := view.slopes(frame, key))]
    assert names
    assert not [label for label in names if "model(x)" in label]
