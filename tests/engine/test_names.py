"""Names: those that moved code needs, those that load late, and what is said of PyTorch's that are not here."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from functions import function
from oracle import chain, compare, entries

import workbench
from workbench.compat.absent import instead, names

PLACES = {
    "torch": workbench,
    "torch.nn": workbench.nn,
    "torch.nn.functional": workbench.nn.functional,
    "torch.autograd": workbench.autograd,
    "torch.func": workbench.func,
    "torch.linalg": workbench.linalg,
    "torch.Tensor": workbench.Tensor,
    "torch.nn.Module": workbench.nn.Linear(1, 1),
    "torch.nn.parameter": workbench.nn.parameter,
    "torch.utils": workbench.utils,
    "torch.optim": workbench.optim,
    "torch.optim.lr_scheduler": workbench.optim.lr_scheduler,
    "torch.nn.utils": workbench.nn.utils,
    "torch.utils.data": workbench.utils.data,
    "torch.distributions": workbench.distributions,
    "torch.amp": workbench.amp,
    "torch.backends": workbench.backends,
    "torch.compiler": workbench.compiler,
    "torch.cuda": workbench.cuda,
    "torch.cuda.amp": workbench.cuda.amp,
    "torch.jit": workbench.jit,
    "torch.random": workbench.random,
    "torch.nn.parallel": workbench.nn.parallel,
    "torch.nn.utils.rnn": workbench.nn.utils.rnn,
    "torch.nn.utils.parametrizations": workbench.nn.utils.parametrizations,
    "torch.nn.utils.parametrize": workbench.nn.utils.parametrize,
}
ABSENT = {
    "torch.hub": "module 'workbench' has no attribute 'hub': the workbench doesn't implement torch.hub.",
    "torch.cuda.nvtx": "module 'workbench.cuda' has no attribute 'nvtx': the workbench doesn't implement "
    "torch.cuda.nvtx; tensors are always in the computer's own memory.",
    "torch.jit.freeze": "module 'workbench.jit' has no attribute 'freeze': the workbench doesn't implement "
    "torch.jit.freeze; call the function itself: there is nothing to compile.",
    "torch.backends.mha": "module 'workbench.backends' has no attribute 'mha': the workbench doesn't implement "
    "torch.backends.mha.",
    "torch.nn.LocalResponseNorm": "module 'workbench.nn' has no attribute 'LocalResponseNorm': the workbench doesn't "
    "implement torch.nn.LocalResponseNorm; there are layer_norm and group_norm.",
    "torch.ones(1).logit": "'Tensor' object has no attribute 'logit': the workbench doesn't implement "
    "torch.Tensor.logit; write (x / (1 - x)).log().",
    "torch.ones(1).logit_": "'Tensor' object has no attribute 'logit_': the workbench doesn't implement "
    "torch.Tensor.logit_; write (x / (1 - x)).log(), and copy_ that into the tensor.",
    "torch.group_norm": "module 'workbench' has no attribute 'group_norm': the workbench doesn't implement "
    "torch.group_norm; there is the function of torch.nn.functional.",
    "torch.Tensor.logit": "type object 'Tensor' has no attribute 'logit': the workbench doesn't implement "
    "torch.Tensor.logit; write (x / (1 - x)).log().",
    "torch.nn.Parameter(torch.ones(1)).bfloat16": "'Parameter' object has no attribute 'bfloat16': the workbench "
    "doesn't implement torch.Tensor.bfloat16; there are bool, uint8, int32, int64, float16, float32, float64, "
    "complex64 and complex128.",
    "torch.nn.functional.ctc_loss": "module 'workbench.nn.functional' has no attribute 'ctc_loss': the workbench "
    "doesn't implement torch.nn.functional.ctc_loss.",
    "torch.autograd.profiler": "module 'workbench.autograd' has no attribute 'profiler': the workbench doesn't "
    "implement torch.autograd.profiler; there is workbench.record.",
    "torch.nn.Linear(1, 1).half": "'Linear' object has no attribute 'half': the workbench doesn't implement "
    "torch.nn.Module.half; write .to(torch.float16).",
    "torch.nn.Linear(1, 1).nonsense": "'Linear' object has no attribute 'nonsense'",
    "torch.utils.benchmark": "module 'workbench.utils' has no attribute 'benchmark': the workbench doesn't implement "
    "torch.utils.benchmark; there is timeit.",
    "torch.optim.Muon": "module 'workbench.optim' has no attribute 'Muon': the workbench doesn't implement "
    "torch.optim.Muon; there are SGD, Adam and AdamW.",
    "torch.nn.parameter.UninitializedParameter": "module 'workbench.nn.parameter' has no attribute "
    "'UninitializedParameter': the workbench doesn't implement torch.nn.parameter.UninitializedParameter.",
    "torch.nonsense": "module 'workbench' has no attribute 'nonsense'",
    "torch.ones(1).nonsense": "'Tensor' object has no attribute 'nonsense'",
    "torch.func.nonsense": "module 'workbench.func' has no attribute 'nonsense'",
}


@pytest.mark.parametrize("text", ABSENT)
def test_a_name_that_is_not_there(text: str) -> None:
    with pytest.raises(AttributeError) as caught:
        eval(text, {"torch": workbench})
    assert str(caught.value) == ABSENT[text]
    assert caught.value.name == text.rpartition(".")[2]


LACK = "the workbench doesn't implement {}"
IMPORTS = {
    "from torch import special": ("special", LACK.format("torch.special")),
    "from torch.optim import SGD, Muon": ("Muon", LACK.format("torch.optim.Muon")),
    "from torch import ones, sparse": ("sparse", LACK.format("torch.sparse")),
    "import torch.sparse": ("sparse", LACK.format("torch.sparse")),
    "from torch.linalg import inv, eig": ("eig", LACK.format("torch.linalg.eig")),
    "import torch.special.helpers as helpers": ("special", LACK.format("torch.special")),
    "from torch.optim.lr_scheduler import MultiplicativeLR": (
        "MultiplicativeLR",
        LACK.format("torch.optim.lr_scheduler.MultiplicativeLR"),
    ),
    "from torch.nn import Linear, CTCLoss": ("CTCLoss", LACK.format("torch.nn.CTCLoss")),
    "from torch.nn.utils import weight_norm": ("weight_norm", LACK.format("torch.nn.utils.weight_norm")),
    "from torch.utils.data import StackDataset": ("StackDataset", LACK.format("torch.utils.data.StackDataset")),
    "from torch.nn.functional import pdist": ("pdist", LACK.format("torch.nn.functional.pdist")),
    "from torch.nn.parameter import is_lazy": ("is_lazy", LACK.format("torch.nn.parameter.is_lazy")),
    "from torch.autograd import profiler": ("profiler", LACK.format("torch.autograd.profiler")),
    "from torch import nonsense": ("nonsense", ""),
    "import torch.nonsense": ("nonsense", ""),
    "import torch.vmap": ("vmap", ""),  # a name that is there, but no module
}


@pytest.mark.parametrize("text", IMPORTS)
def test_an_import_of_what_is_not_there(text: str) -> None:
    name, said = IMPORTS[text]
    with pytest.raises(ImportError) as caught:
        exec(text.replace("torch", "workbench"), {})
    place = said.removeprefix(LACK.format(""))
    text = instead().get(place)
    assert said in str(caught.value) and name in str(caught.value)
    assert not text or str(caught.value).endswith(f"; {text}.")
    assert bool(said) == (LACK.format("") in str(caught.value))


def test_an_import_of_what_is_there_asks_no_other_finder() -> None:
    code = "import sys, workbench.nn.functional; from workbench import einsum, func; from workbench.nn import *; "
    code += "from workbench.nn.functional import *; from workbench.autograd import gradcheck; print('special' in dir())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
    assert not hasattr(workbench, "special") and "workbench.special" not in sys.modules


@pytest.mark.parametrize("place", PLACES)
def test_every_public_name_is_there_or_says_that_it_is_not(place: str) -> None:
    present, owner = 0, PLACES[place]
    for name in names()[place]:
        try:
            getattr(owner, name)
            present += 1
        except AttributeError as error:
            assert f"the workbench doesn't implement {place}.{name}" in str(error)
            assert not hasattr(owner, name)
    assert present >= {
        "torch.nn.parameter": 1,
        "torch.utils": 3,
        "torch.nn.parallel": 1,
        "torch.nn.utils.rnn": 3,
        "torch.nn.utils.parametrizations": 2,
        "torch.backends": 3,
        "torch": 250,
    }.get(place, 4)


def test_what_is_there_instead_is_said_of_names_that_are_not_there() -> None:
    for full in instead():
        place, _, name = full.rpartition(".")
        assert name in names()[place], full
        assert not hasattr(PLACES[place], name), full


def test_dir_shows_what_loads_late_and_nothing_that_is_absent() -> None:
    code = "import workbench as w; print(*dir(w)); print(*dir(w.autograd)); print(*dir(w.ones(1)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert {"record", "show", "vmap", "func", "nn", "utils", "einsum", "ones"} <= set(shown[0].split())
    assert {"functional", "gradcheck", "gradgradcheck", "backward"} <= set(shown[1].split())
    assert {"sum", "backward", "grad"} <= set(shown[2].split())
    assert not {"logit", "bfloat16"} & set(shown[2].split())


def test_names_need_no_torch() -> None:
    code = "import sys, workbench; hasattr(workbench, 'fft'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_a_node_is_printed_as_pytorch_prints_it(torch: Any) -> Any:
    Twice = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, name="Twice")
    x = torch.ones(3, requires_grad=True)
    written = x * 1
    written[0] = x[1]
    nodes = [(x * x).grad_fn, written.grad_fn, (x + 1).grad_fn.next_functions[0][0], Twice.apply(x).grad_fn]
    return [re.sub("0x[0-9a-f]+", "0x", text) for text in (*map(repr, nodes), *map(str, nodes))]


MOVED = """
torch.func.stack_module_state([]) | torch.func.stack_module_state([nn.Linear(2, 1), nn.ReLU()])
torch.func.stack_module_state([nn.ReLU().train(), nn.ReLU().eval()]) | torch.func.stack_module_state(nn.ReLU())
torch.func.stack_module_state([nn.Linear(2, 1), nn.Linear(3, 1)])
torch.func.stack_module_state([nn.Linear(2, 1).requires_grad_(False), nn.Linear(2, 1)])
{k: (v.shape, v.requires_grad, v.is_leaf) for k, v in torch.func.stack_module_state([nn.Linear(2, 1)] * 3)[0].items()}
torch.is_inference(3) | torch.is_inference(torch.ones(2)) | torch.autograd.SavedTensor()
torch.autograd.NestedIOFunction is torch.autograd.function.NestedIOFunction
[c.__name__ for c in torch.autograd.Function.__mro__[:2]] | torch.autograd.function.custom_function_call(Double, x)
square.grad_fn._raw_saved_self.data | square.grad_fn._raw_saved_self.unpack()
square.grad_fn._raw_saved_self.unpack_hook | isinstance(square.grad_fn._raw_saved_self, torch.autograd.SavedTensor)
double.grad_fn._raw_saved_tensors[0].data
"""


@pytest.mark.parametrize("text", entries(MOVED))
def test_a_name_of_moved_code(torch: Any, text: str) -> Any:
    Double = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, saves=True, name="Double")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    known = {"torch": torch, "nn": torch.nn, "Double": Double, "x": x, "square": x * x, "double": Double.apply(x)}
    return eval(text, known)


def test_what_a_freed_node_says_of_what_it_saved(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    y.sum().backward()
    assert saved.data is None
    return saved.unpack()


def test_what_hooks_packed_is_unpacked(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: 3, lambda n: torch.ones(2) * n)
    return saved.unpack(), saved.unpack_hook(4)


def test_whether_backward_may_use_threads(torch: Any) -> Any:
    ask, say = torch.autograd.is_multithreading_enabled, torch.autograd.set_multithreading_enabled
    seen = [ask()]
    with say(False):
        seen.append(ask())
        with say(True):
            seen.append(ask())
        seen.append(ask())
    seen.append(ask())
    say(False)
    seen.append(ask())
    say(True)
    return seen, [say(False)(ask)(), ask()], say(True) and None


def test_a_single_level_function(torch: Any) -> Any:
    class Double(torch.autograd.function._SingleLevelFunction):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Double.apply(x)
    y.sum().backward()
    return y, x.grad, chain(y.grad_fn)


def test_an_ensemble_of_modules(torch: Any) -> Any:
    models = [torch.nn.Linear(2, 1) for _ in range(2)]
    for i, model in enumerate(models):
        model.load_state_dict({"weight": torch.tensor([[1.0, i]]), "bias": torch.tensor([2.0 * i])})
    parameters, buffers = torch.func.stack_module_state(models)
    run = torch.func.vmap(lambda p, x: torch.func.functional_call(models[0], p, (x,)), in_dims=(0, None))
    out = run(parameters, torch.ones(3, 2))
    out.sum().backward()
    return out.detach(), parameters["weight"].grad, buffers


# `x` and `y` are to be written too, `m` is a mask of their shape.
SECOND = """
torch.absolute(x) | torch.arccos(x) | torch.arcsin(x) | torch.arctan(x) | torch.clip(x, -0.25, 0.5) | torch.fix(x)
torch.concat([x, y]) | torch.concatenate((x, y), dim=0) | torch.divide(x, y) | torch.true_divide(x, y) | torch.ger(x, y)
torch.divide(x, y, rounding_mode="floor") | torch.greater(x, y) | torch.greater_equal(x, 0) | torch.less(x, y)
torch.less_equal(x, y) | torch.not_equal(x, y) | torch.multiply(x, y) | torch.multiply(x, 2) | torch.negative(x)
torch.subtract(x, y, alpha=3) | torch.row_stack([x, y]) | torch.moveaxis(x, 0, 0) | torch.swapaxes(x[None], 0, 1)
torch.multiply(x.detach(), 2, out=o) | torch.swapdims(x[None], 0, 1) | torch.clip_(v, 0, 1) | torch.negative_(v)
torch.arccos_(v) | torch.arcsin_(v) | torch.arctan_(v) | torch.fix_(v) | x.absolute() | x.arccos() | x.arcsin()
x.arctan() | x.clip(0) | x.clip(max=0.25) | x.fix() | x.divide(y) | x.true_divide(2) | x.ger(y) | x.greater(y)
x.greater_equal(y) | x.less(0) | x.less_equal(y) | x.not_equal(y) | x.multiply(y) | x.negative() | x.subtract(y)
x.moveaxis(0, 0) | x[None].swapaxes(0, 1) | x[None].swapdims(0, 1) | v.absolute_() | v.clip_(0, 1) | v.divide_(y)
v.true_divide_(2) | v.multiply_(y) | v.subtract_(y) | v.negative_() | v.fix_() | v.arctan_() | v.arccos_()
torch.bitwise_and(i, i) | torch.bitwise_or(i, 1) | torch.bitwise_xor(i, 3) | torch.bitwise_not(i)
hasattr(torch, "absolute_") | hasattr(torch, "multiply_") | hasattr(torch.Tensor, "concat") | hasattr(x, "moveaxis_")
"""


@pytest.mark.parametrize("text", entries(SECOND))
def test_a_second_name_is_the_same_operation(torch: Any, text: str) -> Any:
    x = torch.tensor([0.5, -0.25, 0.75], requires_grad=True)
    y = torch.tensor([0.5, 0.75, -0.5], requires_grad=True)
    known = {"torch": torch, "x": x, "y": y, "v": x.clone(), "o": torch.zeros(3)}
    known["i"] = torch.tensor([1, 2, 3])
    result = eval(text, known)
    if isinstance(result, bool) or not result.requires_grad:
        return result
    result.sum().backward()
    return result, result.grad_fn.name(), x.grad, y.grad, known["v"]._version


# Calls of what is absent, and what its formula's names then stand for.
CALLS = """
dist(a, b) | float_power(x, y): x=q | heaviside(x, values) | isneginf(x): x=h | isposinf(x): x=h | ldexp(x, y)
logcumsumexp(x, dim) | logit(x): x=p | nanmedian(x): x=g | logspace(start, end, steps, base): start=0.0, end=1.0
rsub(x, y) | signbit(x) | tril_indices(n, m): n=2, m=3 | triu_indices(n, m): n=2, m=3 | vander(x): n=3
F.rms_norm(x, (3,), eps=eps)
"""
STAND_FOR = {
    "x": [0.5, -1.5, 2.0],
    "y": [1.5, 0.25, -3.0],
    "a": [0.5, 1.0, -0.25],
    "b": [2.0, -0.5, 0.75],
    "q": [1.5, 2.0, 3.0],
    "u": [0.5, -0.25, 0.75],
    "p": [0.5, 0.25, 0.75],
    "g": [0.5, math.nan, -1.0],
    "h": [math.inf, 1.0, -math.inf],
    "M": [[0.5, -1.0, 2.0], [3.0, 0.25, -0.75], [1.0, 1.5, -0.5]],
    "X": [-4.0, -0.5, 0.25, 7.0],
    "n": [2, 0, 2],
    "k": [0, 1],
    "index": [0, 2],
    "source": [7.0, 8.0],
    "mask": [True, False, True],
    "boundaries": [-1.0, 0.5, 1.5],
    "values": [0.25, 0.5, 3.0],
    "target": [0.5, 0.25, 0.75],
    "var": [1.0, 0.5, 2.0],
    "weight": [0.25],
}


@pytest.mark.parametrize("text", entries(CALLS))
def test_what_there_is_instead_gives_the_same(text: str) -> None:
    call, _, stand_for = text.partition(": ")
    place, _, name = ("torch." + call.partition("(")[0].replace("F.", "nn.functional.")).rpartition(".")
    assert not hasattr(PLACES[place], name), f"{name} is there: it needs no other"

    def program(torch: Any) -> Any:
        known: dict[str, Any] = {name: torch.tensor(numbers) for name, numbers in STAND_FOR.items()}
        known |= {"A": torch.stack([known["M"], known["M"] + 1]), "torch": torch, "math": math, "nn": torch.nn}
        known |= {"I": torch.arange(16.0).reshape(1, 1, 4, 4).sin(), "F": torch.nn.functional, "Tensor": torch.Tensor}
        known |= {"value": 0.75, "input": known["M"], "least": 0.0, "most": 1.0, "dim": 0, "steps": 4, "base": 10.0}
        known |= {"margin": 0.5, "threshold": 0.1, "eps": 1e-5, "classes": 3, "size": 2, "step": 1}
        exec(f"known.update({stand_for})", known | {"known": known})
        if torch is not workbench:
            formula = call if call[:2] in ("F.", "Te") else f"torch.{call}"
        else:
            formula = instead()[f"{place}.{name}"].removeprefix("write ")
            formula = re.split(" for windows| for an? | with ", formula)[0]
        if name.endswith("_"):
            exec(formula, known)
            formula = "x"
        result = eval(formula, known)
        return result if isinstance(result, bool) else (result + 0.0).tolist()

    compare(program)


def test_an_operation_is_written_once_for_all_its_names() -> None:
    """A name that still asked for the code at each call would be slow."""
    x = workbench.ones(2)
    for name in ("absolute", "abs", "arccos", "mul"):
        function = getattr(workbench.Tensor, name)
        function(*[x] * (2 if name == "mul" else 1))
        assert function.__code__.co_names[:1] != ("first",), name


def test_every_module_that_refuses_a_name_refuses_its_import_too() -> None:
    """`from torch.linalg import ldl_solve` says as much as `torch.linalg.ldl_solve`."""
    for place, absent in names().items():
        if place == "torch.Tensor" or not place.startswith("torch"):
            continue
        try:
            module = import_module(place.replace("torch", "workbench", 1))
        except ImportError:
            continue
        for name in absent[:200]:
            try:
                getattr(module, name)
            except AttributeError as error:
                _, _, said = str(error).partition(": ")
                if said:
                    with pytest.raises(ImportError, match=re.escape(said)):
                        exec(f"from {module.__name__} import {name}")
                    break


def test_the_names_that_parts_had_before_they_were_grouped_still_import_them() -> None:
    code = (
        "import sys, workbench.scene.svg, workbench.stepper\n"
        "from workbench.diagnosis import Why\n"
        "from workbench.health.findings import Findings\n"
        "from workbench.recording import Trace\n"
        "from workbench.compat.absent import MOVED\n"
        "now = {name: sys.modules[name] for name in sys.modules if name.startswith('workbench.pictures')}\n"
        "assert now['workbench.pictures.scene.svg'] is workbench.scene.svg\n"
        "for name, module in now.items():\n"
        "    assert module.__name__ == module.__spec__.name == name\n"
        "for name in MOVED:\n"
        "    __import__(f'workbench.{name}')\n"
        "import workbench.trace.nothing\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'workbench.pictures.trace.nothing'"
