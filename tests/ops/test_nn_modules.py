"""torch.nn.Module beside PyTorch's: what it holds, how it is printed, what it refuses."""

from __future__ import annotations

import copy
import pickle

from module_samples import batch, held, linear, mlp
from oracle import raised

from workbench import nn


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
    ]


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


def test_a_copy_is_a_model_of_its_own(torch):
    model = mlp(torch)
    model.register_forward_hook(lambda m, args, output: output + 1)
    model(batch(torch)).sum().backward()
    double = copy.deepcopy(model)
    double.head.weight.data.zero_()
    double(batch(torch)).sum().backward()
    return held(model), held(double), model(batch(torch)), double(batch(torch)), [p.grad for p in double.parameters()]


def test_a_pickled_layer(torch):
    layer = pickle.loads(pickle.dumps(linear(torch, 2, 1)))
    return held(layer), repr(layer), layer(batch(torch))


CLASSES = (
    "AvgPool2d BatchNorm1d BatchNorm2d Conv2d Dropout ELU Embedding Flatten GELU GRU GRUCell HuberLoss Identity L1Loss "
    "LSTM LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax MSELoss MaxPool2d Module ModuleList MultiheadAttention RNN "
    "ReLU Sequential SiLU Sigmoid Softmax Softplus Tanh TransformerEncoder TransformerEncoderLayer"
)


def test_a_layer_is_found_in_the_file_that_older_pickles_name():
    for name in ("Linear", "ReLU", "MaxPool2d", "MSELoss"):
        older = f"cworkbench.nn.modules.layers\n{name}\n.".encode()
        assert pickle.loads(older) is getattr(nn, name)


def test_a_refused_class_is_said_with_the_place_where_pytorch_defines_it(torch):
    kinds = [getattr(torch.nn, name) for name in CLASSES.split()]
    kinds += [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Optimizer, torch.nn.Parameter]
    refused = [raised(torch.nn.Module().add_module, "part", kind)[1] for kind in kinds]
    return [text.removesuffix(" is not a Module subclass").split(".")[1:-1][-1] for text in refused]
