"""torch.nn.Module beside PyTorch's: what it holds, how it is printed, what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from module_samples import batch, filled, held, linear, mlp
from oracle import compare, entries, raised, same


@same
def test_what_a_model_holds(torch):
    model = mlp(torch)
    model.shared = model.head
    model.missing = None
    model.add_module("nothing", None)
    model.register_parameter("none", None)
    model.register_buffer("bare", None)
    model.own = torch.nn.Parameter(torch.ones(1))
    return [
        held(model),
        [name for name, _ in model.named_children()],
        [type(part).__name__ for part in model.children()],
        [type(part).__name__ for part in model.modules()],
        [name for name, _ in model.named_modules(remove_duplicate=False, prefix="m")],
        [name for name, _ in model.named_parameters(prefix="p", recurse=False)],
        [name for name, _ in model.named_parameters(remove_duplicate=False)],
        [name for name, _ in model.named_buffers("b")],
        len(list(model.parameters(recurse=False))),
        len(list(model.buffers())),
        [name in dir(model) for name in ("own", "layers", "scale", "bare", "0", "forward")],
        model.none,
        model.nothing,
    ]


@same
def test_attributes_move_from_kind_to_kind(torch):
    module = torch.nn.Module()
    module.x = 1
    seen = [module.x]
    module.x = torch.nn.Parameter(torch.ones(1))
    seen += [held(module), "x" in vars(module)]
    module.x = torch.nn.Identity()
    seen += [held(module)]
    module.x = None
    seen += [held(module), module.x]
    del module.x
    module.register_buffer("x", torch.zeros(1), persistent=False)
    module.x = torch.ones(1)
    seen += [held(module), list(module.state_dict())]
    del module.x
    module.register_buffer("x", torch.zeros(1))
    seen += [held(module), list(module.state_dict())]
    module.x = torch.nn.Parameter(torch.ones(1))
    seen += [held(module), raised(delattr, module, "y")]
    module.x = None
    return [*seen, held(module), module.x, raised(getattr, module, "y")]


REFUSALS = """
setattr(m, "weight", torch.ones(1)) | setattr(m, "weight", 3) | setattr(m, "weight", n.ReLU()) | setattr(s, "0", 3)
setattr(s, "0", torch.ones(1)) | setattr(b, "x", 3) | setattr(b, "x", n.ReLU) | m.register_parameter("a.b", None)
m.register_parameter("", None) | m.register_parameter(3, None) | m.register_parameter("forward", None)
m.register_parameter("a", torch.ones(1)) | m.register_parameter("a", 3) | m.register_parameter("a", n.Parameter)
m.register_parameter("a", m) | m.register_parameter("in_features", None) | b.register_buffer("a.b", None)
b.register_buffer("", None) | b.register_buffer(b"x", None) | b.register_buffer("forward", torch.ones(1))
b.register_buffer("a", 3) | b.register_buffer("a", [1.0]) | m.register_buffer("weight", None) | s.add_module("a.b", m)
s.add_module("", m) | s.add_module(3, m) | s.add_module("forward", m) | s.add_module("a", 3) | s.add_module("a", n.ReLU)
s.add_module("a", n.MultiheadAttention) | s.insert(0, n.BatchNorm2d) | setattr(m, "weight", n.Embedding(1, 1))
s.register_module("a", torch.ones(1)) | m.nope | m.train(1) | m.eval() is m | m.train(False).training | n.Module()(1)
n.Module(3) | n.Module(a=3) | n.ReLU(bad=1) | n.Sequential(3) | n.Sequential(len) | n.ModuleList(3) | s[2]
s[-3] | s["0"] | s[1.0] | s[0:1] | s[::-1] | s[5:] | s.insert(5, m) | s.insert(0, 3) | n.ModuleList([m])[1]
n.ModuleList([m, 3]) | n.ModuleList([m])(1) | n.Dropout(2) | n.Dropout(-0.5) | m(3) | m(torch.ones(3))
m(torch.ones(2), 1)
m.register_forward_hook(len, True) | m.to(torch.int64) | s(torch.ones(2, dtype=torch.float64)) | n.Linear(2)
n.MSELoss(reduction="no")(torch.ones(1), torch.ones(1)) | m.requires_grad_(3)
"""


@pytest.mark.parametrize("text", entries(REFUSALS))
def test_an_answer_or_a_refusal(text: str) -> None:
    def program(torch: Any) -> Any:
        nn = torch.nn
        m, s, b = nn.Linear(2, 1), nn.Sequential(nn.ReLU(), nn.Tanh()), nn.Module()
        b.register_buffer("x", torch.ones(1))
        return eval(text, {"torch": torch, "n": nn, "m": filled(torch, m), "s": s, "b": b, "setattr": setattr})

    compare(program)


@same
def test_before_module_is_ready(torch):
    class Early(torch.nn.Module):
        def __init__(self, what):
            what(self)

    leaf = torch.nn.Parameter(torch.ones(1))
    return [
        raised(Early, what)
        for what in (
            lambda m: setattr(m, "x", leaf),
            lambda m: setattr(m, "x", torch.nn.ReLU()),
            lambda m: m.register_buffer("x", torch.ones(1)),
            lambda m: m.register_parameter("x", leaf),
            lambda m: setattr(m, "x", 3),
            lambda m: m.x,
        )
    ] + [raised(torch.nn.Module().register_parameter, "x", leaf * 2)]


PRINTED = """
n.Linear(2, 3) | n.Linear(2, 3, bias=False) | n.ReLU() | n.ReLU(True) | n.Tanh() | n.Sigmoid() | n.Identity(3, a=4)
n.Flatten() | n.Flatten(0, 2) | n.LeakyReLU() | n.LeakyReLU(0.2, True) | n.GELU() | n.GELU("tanh") | n.Softmax(1)
n.Softmax() | n.LogSoftmax(dim=-1) | n.Dropout() | n.Dropout(0.25, True) | n.MSELoss() | n.CrossEntropyLoss()
n.NLLLoss(torch.ones(2)) | n.Sequential() | n.ModuleList() | n.Sequential(n.Linear(1, 2), n.Sequential(n.ReLU()))
n.ModuleList([n.ReLU()]) | n.ModuleList([n.Linear(1, 1), n.Linear(1, 1), n.ReLU(), n.Linear(1, 1), n.Linear(1, 1)])
n.ModuleList([n.Sequential(n.ReLU()), n.Sequential(n.ReLU())]) | n.Module() | n.ModuleList([n.Module(), None])
"""


@pytest.mark.parametrize("text", entries(PRINTED))
def test_how_a_module_prints(text: str) -> None:
    compare(lambda torch: repr(eval(text, {"torch": torch, "n": torch.nn})))


@same
def test_extra_repr(torch):
    class Said(torch.nn.Module):
        def __init__(self, text, inner=None):
            super().__init__()
            self.text = text
            if inner:
                self.inner = inner

        def extra_repr(self):
            return self.text

    texts = ["", "a=1", "a=1\nb=2"]
    return (
        [repr(Said(text)) for text in texts] + [repr(Said(text, Said("deep"))) for text in texts] + [repr(mlp(torch))]
    )


@same
def test_a_copy_is_a_model_of_its_own(torch):
    model = mlp(torch)
    model.register_forward_hook(lambda m, args, output: output + 1)
    model(batch(torch)).sum().backward()
    double = copy.deepcopy(model)
    double.head.weight.data.zero_()
    double(batch(torch)).sum().backward()
    return held(model), held(double), model(batch(torch)), double(batch(torch)), [p.grad for p in double.parameters()]


@same
def test_a_pickled_layer(torch):
    layer = pickle.loads(pickle.dumps(linear(torch, 2, 1)))
    return held(layer), repr(layer), layer(batch(torch))


CLASSES = (
    "AvgPool2d BatchNorm1d BatchNorm2d Conv2d Dropout ELU Embedding Flatten GELU GRU GRUCell HuberLoss Identity L1Loss "
    "LSTM LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax MSELoss MaxPool2d Module ModuleList MultiheadAttention RNN "
    "ReLU Sequential SiLU Sigmoid Softmax Softplus Tanh TransformerEncoder TransformerEncoderLayer"
)


@same
def test_a_refused_class_is_said_with_the_place_where_pytorch_defines_it(torch):
    kinds = [getattr(torch.nn, name) for name in CLASSES.split()]
    kinds += [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Optimizer, torch.nn.Parameter]
    refused = [raised(torch.nn.Module().add_module, "part", kind)[1] for kind in kinds]
    return [text.removesuffix(" is not a Module subclass").split(".")[1:-1][-1] for text in refused]
