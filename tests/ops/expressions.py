"""Expressions that PyTorch and the workbench are asked about, and the tensors that they are of.

A table is one string: its entries are separated by ` | ` and by the ends of lines.
"""

from __future__ import annotations

import array
import collections
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from module_samples import batch, filled
from oracle import entries, names

World = Callable[[Any], dict[str, Any]]


class Expression(str):
    """An expression, and what makes the tensors that its names are."""

    world: World


def wave(torch: Any, *shape: int) -> Any:
    """A leaf of certain numbers of both signs."""
    count = torch.arange(math.prod(shape), dtype=torch.float64)
    return ((count * 7 + 3).remainder(11) / 4 - 1.25).reshape(shape).requires_grad_()


def distinct(torch: Any, *shape: int) -> Any:
    """Certain numbers of both signs, of which no two are alike."""
    return wave(torch, *shape).detach() + torch.arange(math.prod(shape)).reshape(shape) / 64


def number(torch: Any, values: Any, dtype: str = "float64") -> Any:
    """A leaf."""
    return torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)


def basic(torch: Any) -> dict[str, Any]:
    """The tensors of the oracle, and some at the edges.

    `w` has one nan, `u` nothing else, `O` two rows of no classes, `R` no rows of three classes, `f` and `g` fractions
    of both signs; `B` is a mask of bytes, `E` no index, `o` one index, `k` one of nothing, `v` a matrix of indices.
    """
    nan, named = float("nan"), names(torch)
    named |= {"F": torch.nn.functional, "nn": torch.nn, "func": torch.func, "collections": collections}
    named |= {
        "D": torch.float64,
        "H": torch.float32,
        "L": torch.int64,
        "h": number(torch, [[1, 2], [0.5, 3]], "float32"),
    }
    named |= {
        "w": number(torch, [1.0, nan, -2.0, 0.0]),
        "u": number(torch, [nan, nan]),
        "f": number(torch, [5.5, -5.5, 4]),
    }
    named |= {"V": number(torch, [[1.0, nan, nan], [2, 1, 3]]), "g": number(torch, [2.0, 3.0, -3.0])}
    named |= {"O": torch.zeros(2, 0, dtype=torch.float64, requires_grad=True), "B": named["m"].to(torch.uint8)}
    named |= {"R": torch.zeros(0, 3, dtype=torch.float64, requires_grad=True), "E": torch.tensor([], dtype=torch.int64)}
    return named | {"o": torch.tensor(1), "k": torch.tensor([5]), "v": named["i"][None]}


def single(torch: Any) -> dict[str, Any]:
    """Float32: a matrix, a vector, a number, a batch of matrices, two images of four channels."""
    named = basic(torch)
    named |= {name: named[name].detach().float().requires_grad_() for name in ("a", "x", "s")}
    return named | {"A": torch.ones(2, 3, 4), "im": torch.ones(2, 4, 5, 5)}


def plain(torch: Any) -> dict[str, Any]:
    """Nothing requires grad, but `wanted`; this, `two` and `part` have no dimensions, `one` has a dimension."""
    named = {"x": torch.tensor([0.5, -1.0, 2.0]), "y": torch.tensor([1.0, 2.0, 3.0]), "i": torch.tensor([0, 2, 1])}
    named |= {"two": torch.tensor(2), "part": torch.tensor(0.3), "wanted": torch.tensor(0.3, requires_grad=True)}
    named |= {"one": torch.tensor([2]), "torch": torch, "F": torch.nn.functional, "np": np}
    return named | {"m": named["x"][None], "j": torch.tensor([0])}


def windows(torch: Any) -> dict[str, Any]:
    """Images, columns of windows, a sequence, a number, a vector, one with a nan, indices and a mask."""
    shapes = {"x": (2, 3, 4, 5), "c": (2, 12, 12), "s": (2, 6), "o": ()}
    named = {name: wave(torch, *shape) for name, shape in shapes.items()}
    named |= {"v": number(torch, [0.5, -1.5, 2.0, 0.75]), "w": number(torch, [[0.5, math.nan, 2.0], [0.0, 1.5, -1.0]])}
    named |= {"i": torch.tensor([0, 2]), "m": torch.tensor([True, False, True, True])}
    return named | {"F": torch.nn.functional, "n": torch.nn, "torch": torch}


def borders(torch: Any) -> dict[str, Any]:
    """An image, a sequence, a volume, a number, whole numbers and masks like the sequence."""
    shapes = {"x": (1, 2, 3, 4), "s": (2, 3, 4), "v": (1, 2, 3, 4, 2), "o": ()}
    whole = (torch.arange(24) * 7 % 11).reshape(2, 3, 4)
    named = {"F": torch.nn.functional, "n": torch.nn, "i": whole, "b": whole > 5}
    return named | {name: wave(torch, *shape) for name, shape in shapes.items()}


def sizes(torch: Any) -> dict[str, Any]:
    """An image, a sequence of it, a volume, whole numbers like the sequence."""
    named = {"F": torch.nn.functional, "n": torch.nn, "i": (torch.arange(10) * 7 % 11).reshape(1, 2, 5)}
    shapes = {"x": (1, 2, 5, 4), "s": (1, 2, 5), "v": (1, 2, 3, 4, 2)}
    return named | {name: wave(torch, *shape) for name, shape in shapes.items()}


def pieces(torch: Any) -> dict[str, Any]:
    """A matrix, a vector, a copy to be written, infinities and nan, whole numbers."""
    x = number(torch, [[0.5, -1.5, 2.0, -0.25], [3.5, -3.5, 0.75, -0.75]])
    edge = torch.tensor([[math.inf, -math.inf, 0.0, 1.0], [math.nan, 1.0, 0.0, 1.0]], dtype=torch.float64)
    named = {"F": torch.nn.functional, "n_": torch.nn, "x": x, "y": number(torch, [0.25, -0.5, 1.5, 0.75]), "b": x * 1}
    return named | {"e": edge, "n": torch.tensor([[1, 5, -3, 2], [7, 0, 2, -9]])}


def grids(torch: Any) -> dict[str, Any]:
    """Two vectors and a matrix of float32."""
    named = {"x": number(torch, [0.5, -1.0, 2.0], "float32"), "y": number(torch, [3.0, 4.0], "float32")}
    return named | {"t": torch, "a": torch.arange(6.0).reshape(2, 3).requires_grad_()}


def likely(torch: Any) -> dict[str, Any]:
    """Logarithms, probabilities, and zeros among numbers."""
    a = number(torch, [[-1.0, -2.0, -0.5], [-0.1, -3.0, -1.0]], "float32")
    b = number(torch, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], "float32")
    z = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    return {"t": torch, "f": torch.nn.functional, "n": torch.nn, "a": a, "b": b, "z": z}


def targets(torch: Any) -> dict[str, Any]:
    """Scores, what they should be, probabilities, classes that are or are not."""
    x, t = (number(torch, v) for v in ([[0.5, -1.25, 2.0], [0.0, 0.25, -0.75]], [[0.75, 0.25, 1.0], [0.0, 0.25, 0.5]]))
    known = {"n": torch.nn, "F": torch.nn.functional, "x": x, "t": t, "p": x.sigmoid(), "b": (t > 0.4).double()}
    return known | {"d": t.detach(), "e": known["b"] * (x > 0)}


def classes(torch: Any) -> dict[str, Any]:
    """A batch of float32, another, and their classes."""
    x = batch(torch).requires_grad_()
    return {"torch": torch, "n": torch.nn, "x": x, "y": batch(torch).flip(0), "c": torch.tensor([0, 1, 1])}


def pairs(torch: Any) -> dict[str, Any]:
    """Three matrices, signs, counts, and whether the sign is one."""
    x, y = (
        number(torch, [[0.5, -1.25, 2.0], [0.25, 0.75, -0.75]]),
        number(torch, [[0.75, 0.5, 1.0], [-0.25, 0.5, 0.375]]),
    )
    s = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]], dtype=torch.float64)
    known = {
        "n": torch.nn,
        "F": torch.nn.functional,
        "x": x,
        "y": y,
        "z": number(torch, [[-0.5, 0.25, 1.5], [1, -0.5, 0.25]]),
    }
    return known | {"s": s, "c": torch.tensor([[0, 1, 3], [2, 0, 5]]), "o": (s > 0).double()}


def images(torch: Any) -> dict[str, Any]:
    """Two images of two channels, and classes."""
    return {"F": torch.nn.functional, "i": torch.tensor([2, 0, 2]), "x": wave(torch, 2, 2, 4, 5)}


def edges(torch: Any) -> dict[str, Any]:
    """Infinities, nan, zeros, and numbers too large to exponentiate."""
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1000.0, -1000.0, 1.0, -0.5]
    return {"x": number(torch, values), "F": torch.nn.functional, "torch": torch}


RANDOM = np.random.default_rng(3)
SQUARE = RANDOM.standard_normal((2, 3, 3)) + 3 * np.eye(3)  # so that rounding stays small
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(3)
TALL, WIDE, RIGHT, VECTOR = (RANDOM.standard_normal(shape) for shape in ((4, 3), (3, 4), (3, 2), (3,)))
ARRAYS = {
    "A": SQUARE[0],
    "S": SQUARE,
    "P": POSITIVE,
    "T": TALL,
    "W": WIDE,
    "B": RIGHT,
    "v": VECTOR,
    "R4": TALL[:, :2] ** 2,
}


def corners(torch: Any) -> dict[str, Any]:
    """Points of the plane, limits, and matrices of one number, at zeros, infinities and nan."""
    points = [
        (0, 0),
        (0, -0.0),
        (-0.0, 1),
        (1e-30, 0),
        (0, -1e-30),
        (1e-200, 0),
        (1e-23, 0),
        (math.inf, 1),
        (0, math.nan),
    ]
    values = {"y": [y for y, _ in points], "x": [x for _, x in points], "e": [0, 1, math.inf, math.nan, -math.inf]}
    values |= {
        "f": [math.inf] * 5,
        "g": [math.inf, 1, math.nan, 0, 2],
        "h": [math.inf, math.nan, 0, 1, 2],
        "k": [-math.inf] * 5,
    }
    values |= {"z": [0], "Z": [[0]], "R": [[1, math.inf, math.nan]], "C": [[1], [math.inf]], "B": [[[1], [math.inf]]]}
    named = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in values.items()}
    return named | {"torch": torch, "F": torch.nn.functional}


def matrices(torch: Any) -> dict[str, Any]:
    """Matrices of every kind."""
    return {k: torch.tensor(a, requires_grad=True) for k, a in ARRAYS.items()} | {
        "L": torch.linalg,
        "m": torch,
        "inf": math.inf,
    }


def empty(torch: Any) -> dict[str, Any]:
    """A matrix, and no elements."""
    return {"a": torch.arange(6.0).reshape(2, 3), "z": torch.zeros(0)}


def shared(torch: Any) -> dict[str, Any]:
    """Tensors that are written with what is read of them, indices, and biases that are added in place."""
    named = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(3), "c": torch.ones(2, 3), "n": torch.arange(4)}
    named |= {"A": torch.ones(2, 3, 3), "M": torch.ones(3, 3), "d": torch.tensor(1.0, dtype=torch.float64)}
    named |= {"i": torch.tensor([2, 0, 1]), "j": torch.tensor([[1, 0, 1], [0, 1, 0]]), "e": torch.zeros(0, 3)}
    return named | {"none": torch.zeros(0, dtype=torch.int64), "rows": torch.zeros(0, 3, dtype=torch.int64)}


def hollow(torch: Any) -> dict[str, Any]:
    """Leaves without elements, and indices."""
    named = {"torch": torch, "F": torch.nn.functional, "i": torch.tensor([0, 1])}
    return named | {"e": torch.zeros(0, requires_grad=True), "E": torch.zeros(2, 0, requires_grad=True)}


def frozen(torch: Any) -> dict[str, Any]:
    """Two of the tensors require no grad: what multiplies a batch may be folded into one product."""
    named = names(torch) | {"F": torch.nn.functional}
    return named | {name: named[name].detach() for name in ("M", "c")}


CLASS_METHODS = ("from_pretrained", "convert_sync_batchnorm")  # which make layers, too


class Made:
    """Layers by the names of their classes: float64, their parameters certain numbers, and kept in `layers`."""

    def __init__(self, torch: Any, layers: list[Any], double: bool = True) -> None:
        self.torch, self.layers, self.double = torch, layers, double

    def __getattr__(self, name: str) -> Callable[..., Any]:
        kind = getattr(self.torch.nn, name)

        def make(*args: Any, **how: Any) -> Any:
            layer = filled(self.torch, kind(*args, **how))
            self.layers.append(layer.double() if self.double else layer)
            return layer

        vars(make).update({each: getattr(kind, each) for each in CLASS_METHODS if hasattr(kind, each)})
        return make


def layered(torch: Any, **leaves: Any) -> dict[str, Any]:
    """Leaves, what was computed of them and may be written, and what makes layers."""
    layers: list[Any] = []
    named = {f"{name}0": leaf for name, leaf in leaves.items()} | {name: leaf * 1 for name, leaf in leaves.items()}
    named |= {"n": Made(torch, layers), "layers": layers, "torch": torch, "nn": torch.nn, "inf": math.inf}
    return named | {"F": torch.nn.functional, "twice": lambda layer: lambda *args: (layer(*args), layer(*args))}


def layers(torch: Any) -> dict[str, Any]:
    """Two images of two channels, and indices."""
    named = layered(torch, x=distinct(torch, 2, 2, 4, 5).requires_grad_())
    return named | {"i": torch.tensor([[0, 4, 1], [1, 1, 3]])}


def shaped(torch: Any) -> dict[str, Any]:
    """Images, a sequence of them, volumes, one image without a batch."""
    shapes = {"x": (2, 4, 5, 3), "s": (2, 4, 5), "v": (2, 4, 2, 3, 3), "o": (4, 5, 3), "k": (4, 2, 3), "b": (4,)}
    return layered(torch, **{name: wave(torch, *shape) for name, shape in shapes.items()})


def rows(torch: Any) -> dict[str, Any]:
    """A sequence of four in two batches, and two states."""
    named = layered(torch, x=wave(torch, 4, 2, 2), h=wave(torch, 1, 2, 3), c=wave(torch, 1, 2, 3))
    return named | {name: getattr(named["n"], name) for name in "RNN LSTM GRU RNNCell LSTMCell GRUCell".split()}


def attention(torch: Any) -> dict[str, Any]:
    """Sequences of three and five, two batches, four numbers; masks of both kinds; what is made of them."""
    named = layered(torch, x=wave(torch, 3, 2, 4), y=wave(torch, 5, 2, 4), z=wave(torch, 5, 2, 3))
    causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
    named |= {"causal": causal, "padding": torch.tensor([[False, False, True], [False, True, True]])}
    named |= {"added": causal.double() * -1.5, "q": named["x"], "k": named["x"] * 0.5, "v": named["x"] + 1}
    named |= {"S": torch.nn.functional.scaled_dot_product_attention, "H": named["n"].MultiheadAttention}
    return named | {"E": named["n"].TransformerEncoderLayer}


def decoders(torch: Any) -> dict[str, Any]:
    """Two sequences of three in three batches, and masks."""
    named = layered(torch, a=wave(torch, 3, 3, 8), b=wave(torch, 3, 3, 8).flip(0).detach().requires_grad_())
    m, p = torch.ones(3, 3).triu(1) > 0, torch.arange(9).reshape(3, 3) % 9 == 8

    def quietly(*args: Any, **how: Any) -> Any:  # PyTorch hints at nested tensors
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return named["n"].Transformer(*args, **how)

    named |= {
        "T": quietly,
        "mask": torch.nn.Transformer.generate_square_subsequent_mask,
        "D": named["n"].TransformerDecoder,
        "L": named["n"].TransformerDecoderLayer,
    }
    return named | {"t": torch, "m": m, "p": p, "q": m.T}


def batches(torch: Any) -> dict[str, Any]:
    """Three rows of two numbers, of float32."""
    named = layered(torch, x=batch(torch).requires_grad_())
    return named | {"n": Made(torch, named["layers"], double=False)}


class Pair:
    """A sequence of its own kind."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return [0, 1][i]


class One:
    """A number of its own kind."""

    def __index__(self) -> int:
        return 1


def put(t: Any, index: Any, value: Any) -> Any:
    """A copy with something written into it."""
    t = t * 1
    t[index] = value
    return t


def sequences(torch: Any) -> dict[str, Any]:
    """A matrix and a number, and what makes sequences of all kinds."""
    named = {name: t for name, t in names(torch).items() if name in ("M", "s", "np")}
    named |= {"tt": torch.tensor, "array": array, "collections": collections, "slice": slice}
    return named | {"Pair": Pair, "One": One, "put": put}


def caught(call: Any) -> Any:
    """What a call raises."""
    try:
        call()
    except Exception as error:
        return error


def unfit(torch: Any) -> dict[str, Any]:
    """Matrices that a decomposition refuses, by kind, shape or rank."""
    named = {
        "i": torch.ones(2, 2, dtype=torch.int64),
        "h": torch.ones(2, 2, dtype=torch.float16),
        "r": torch.ones(2, 3),
    }
    named |= {
        "R": torch.tensor(TALL, requires_grad=True),
        "v": torch.ones(3),
        "z": torch.zeros(2, 2),
        "q": torch.eye(3),
    }
    named |= {"s": torch.tensor([[1.0, 2.0], [2.0, 4.0]]), "b": torch.stack([torch.eye(2), torch.zeros(2, 2)])}
    named |= {"e": torch.zeros(0, 0), "t": torch.tensor([[1.0, 2.0], [2.0, 1.0]]), "nan": math.nan, "caught": caught}
    return named | {"L": torch.linalg, "m": torch}


def drawn(torch: Any) -> dict[str, Any]:
    """One distribution of each kind."""
    D, loc = torch.distributions, number(torch, [0.0, 1.0])
    given = {"t": torch, "D": D, "x": torch.tensor([0.5, -2.0], dtype=torch.float64), "loc": loc}
    given["n"] = D.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    given["c"] = D.Categorical(torch.tensor([[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]))
    given |= {"b": D.Bernoulli(torch.tensor([0.2, 0.5])), "i": D.Independent(given["n"], 1), "u": D.Uniform(0.0, 2.0)}
    given["l"] = D.Laplace(loc, torch.tensor([1.0, 2.0], dtype=torch.float64))
    given["h"] = D.OneHotCategorical(torch.tensor([[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]))
    return given | {"o": torch.eye(3)[:2], "p": torch.tensor([0.25, 0.75])}


def modules(torch: Any) -> dict[str, Any]:
    """A layer, a row of two, one with a buffer; and what holds modules or parameters."""
    n = torch.nn
    d = n.ModuleDict({"a": n.Linear(1, 1), "b": n.ReLU()}).requires_grad_(False)
    p = n.ParameterList([n.Parameter(torch.ones(2)), torch.zeros(3, 1), 5])
    q = n.ParameterDict({"a": torch.ones(2), "b": n.Parameter(torch.ones(1)), "c": "x"})
    named = {"torch": torch, "n": n, "m": filled(torch, n.Linear(2, 1)), "s": n.Sequential(n.ReLU(), n.Tanh())}
    named |= {"t": torch, "d": d, "p": p, "q": q, "b": n.Module(), "setattr": setattr}
    named["b"].register_buffer("x", torch.ones(1))
    return named


ARITHMETIC = """
x + y | x + 2 | 2 + x | x + 2.5 | a + x | a + c | s + x | x + s | x + n | n + x | torch.add(x, y) | x.add(y, alpha=3)
torch.add(x, 2, alpha=0.5) | x - y | x - 2 | 2 - x | 2.5 - x | a - x | c - a | x - n | n - x | torch.sub(x, y, alpha=2)
x.sub(1) | x * y | x * 2 | 2 * x | x * 0.5 | a * x | c * a | s * a | x * n | n * x | torch.mul(x, 3) | x.mul(y) | x / y
x / 2 | 2 / x | 1.5 / x | a / p | c / q | x / n | n / p | torch.div(x, y) | x.div(4) | -x | x.neg() | torch.neg(a) | +x
abs(x) | x.abs() | torch.abs(z) | x.reciprocal() | torch.reciprocal(p) | x.exp() | torch.exp(a) | p.log() | torch.log(q)
x.sin() | torch.sin(s) | x.cos() | torch.cos(a) | x.tanh() | torch.tanh(a) | p.sqrt() | torch.sqrt(q) | z.sqrt()
x.sigmoid() | torch.sigmoid(a * 30) | x.relu() | torch.relu(z) | x.sign() | torch.sign(z) | torch.maximum(x, y)
torch.maximum(a, x) | x.maximum(x.detach()) | torch.maximum(x, x) | torch.max(x, y) | torch.min(x, y)
torch.minimum(x, y) | x ** 2 | x ** 3 | p ** 0.5 | p ** -1 | x ** 1 | x ** 0 | z ** 2 | p ** x | q ** x | 2 ** x
2.5 ** a | torch.pow(x, 2) | torch.pow(p, y) | torch.pow(2, x) | x.pow(3) | z.relu() ** p | x ** n | z ** 0.5 | z ** 1
torch.where(m, x, y) | torch.where(m, x, 0.0) | torch.where(m, 2.5, y) | torch.where(m, a, x) | x.where(m, y)
torch.where(m, s, y) | torch.where(x > 0, x, y) | x.clamp(-1, 1) | x.clamp(min=0) | x.clamp(max=0.5)
torch.clamp(z, -2, 1) | torch.clamp(a, min=0.25) | x.clamp(y, p) | x.clamp(y) | x.clamp(min=y) | x.clamp(max=p)
torch.clamp(x, min=s) | torch.clamp(x, max=y, min=p) | x @ y | a @ M | a @ x | x @ M | A @ M | A @ x
torch.matmul(a, M) | torch.mm(a, M) | torch.mv(a, x) | torch.dot(x, y) | torch.bmm(A, A.transpose(1, 2))
A @ A.transpose(-1, -2) | M @ M.t() | M.mm(M.T) | a.mv(x) | x.dot(y) | A.bmm(A.transpose(1, 2)) | a.matmul(M)
A.unsqueeze(1) @ M | x.sum() | a.sum() | s.sum() | a.sum(0) | a.sum(1, keepdim=True) | a.sum(dim=(0, 1)) | a.sum(-1)
A.sum((0, 2)) | a.sum(()) | torch.sum(a, 1) | torch.sum(a) | n.sum() | e.sum() | a.mean() | a.mean(0)
a.mean(-1, keepdim=True) | torch.mean(a) | torch.mean(A, (0, 1)) | a.max() | tie.max() | tie.min() | torch.max(a)
a.min() | a.max(1) | a.min(0) | tie.max(0) | tie.min(0) | torch.max(a, 0) | torch.max(a, dim=1, keepdim=True)
torch.min(a, -1) | a.max(1).values | a.max(1)[0] | a.argmax() | a.argmax(1) | torch.argmax(a, dim=0, keepdim=True)
tie.argmax() | a.reshape(6) | a.reshape(3, 2) | a.reshape((3, -1)) | a.reshape(-1) | a.T.reshape(6)
torch.reshape(a, (6,)) | a.reshape(2, 3) | a.view(6) | a.view(3, 2) | a.view(-1) | a.view_as(q) | a.T | a.t()
torch.t(a) | x.t() | x.T | a.transpose(0, 1) | torch.transpose(A, 0, 2) | A.transpose(-1, 1) | A.permute(2, 0, 1)
torch.permute(A, (1, 2, 0)) | A.permute(-1, 0, 1) | x.expand(2, 3) | c.expand(2, 3) | c.expand(-1, 4) | s.expand(2)
x.unsqueeze(0) | x.unsqueeze(-1) | torch.unsqueeze(a, 1) | c.squeeze(1) | c.squeeze(0) | c.squeeze()
torch.squeeze(c, -1) | a.squeeze() | x[0] | x[-1] | a[1] | a[0, 2] | a[:, 1] | a[1, :] | a[..., 0] | x[1:] | x[:-1]
a[:, 1:] | a[0, ::2] | a[:, None] | a[None] | x[:, None] | a[...] | x[:] | x[i] | a[j] | a[:, i] | a[j, i] | x[m]
a[:, m] | a[a > 0] | x[[0, 2, 0]] | a[[0, 1], [1, 2]] | a[0, i] | a[0, m] | x[n > 0] | A[0, :, 1] | A[:, 0, 1:]
A[1, ..., 0] | x[x > 0] * 2 | x[1:1] | a[j, 1:] | A[:, j] | A[j, :, i] | A[:, j, i] | A[j[:, None], i]
x[torch.tensor(1)] | x[None, i] | a[i[1:], None] | torch.cat([x, y]) | torch.cat((x, y, x)) | torch.cat([a, q], 1)
torch.cat([a, q], dim=-1) | torch.cat([x, n]) | torch.cat([x, y.detach()]) | torch.stack([x, y])
torch.stack((x, y), 1) | torch.stack([a, q], dim=-1) | torch.stack([s, s]) | torch.stack([x, n]) | x.clone()
torch.clone(x) | x.detach() | torch.detach(x) | x.detach().clone() | x.contiguous() | a.T.contiguous()
x.to(torch.float32) | x.float() | x.double() | x.half() | x.long() | x.int() | x.bool() | n.double()
n.float() * x.float() | x.to(torch.float64) | x.sort() | a.sort(0) | torch.sort(a, 1) | torch.sort(a, descending=True)
x.sort().values | x.argsort() | torch.argsort(a, 1) | a.sort(-1, True) | x.eq(y) | x == y | x != 0.5 | x < y | x <= 2
x > 0 | x >= n | torch.ones_like(x) | torch.zeros_like(a) | a.sum_to_size(3) | a.sum_to_size(2, 1) | (x > 0) & m | m
~m | m ^ m | m & (x > 0) | (m|(x < 0)) | n & 1 | (n|4) | n ^ 1 | ~n | (x * y).sum() / 3 + s | (x.exp() * y).sum().sqrt()
((a @ M).tanh() ** 2).mean() | torch.sum(x * x) | x * x | x * x * x | (x + x) * x | x.sin().cos().exp() | x.detach() * x
s * s | s + 1 | s ** 2 | -s | s.exp() | s.item() | x.tolist() | a.shape | a.size() | a.size(1) | a.dim() | a.ndim
a.numel() | len(a) | int(s) | bool(s) | x.is_leaf | x.requires_grad | x.dtype | x.is_floating_point() | n.dtype
a.stride() | a.T.stride() | a[None].stride() | a[:, None].stride() | a[..., None].stride() | a.T[None].stride()
a.T[:, None, :, None].stride() | s[None].stride() | s[None, None].stride() | x.expand(1, 3).stride()
x[::2][None].stride() | a[:, :1].stride() | a.is_contiguous() | a.T.is_contiguous() | a.element_size() | (x > 0).any()
(x > 0).all() | m.all() | m.any() | torch.is_tensor(x) | torch.is_tensor(1) | x.mean().reshape(1, 1)
x.reshape(3, 1) * y | e * 2 | e + e | e.exp() | x[1:1].sum() | a[0] * a[1] | (a[0] + s).sum() | x.log() | z.log()
torch.sqrt(x) | x ** 0.5 | z / z | 1 / z | torch.where(z == 0, z, 1 / z) | (z / z).sum() | torch.abs(z).sum()
p ** y | p ** y.detach() | p ** n | p.detach() ** y | p ** 2 | F.linear(a, q, x[:2]) | torch.logsumexp(a, 1)
torch.softmax(a, 1) | F.leaky_relu(x * 1, 0.1, inplace=True) | F.leaky_relu(x * 1, inplace=True)
F.leaky_relu(x * 1, 0.0, inplace=True) | F.leaky_relu(x * 1, -0.1, inplace=True) | F.elu(x * 1, inplace=True)
F.elu(x * 1, 1.5, inplace=True) | F.elu(x * 1, -1.5, inplace=True) | F.elu(x * 1, 0.0, True) | F.relu(x * 1, True)
1 - x | x ** y | x.clamp(0, 1) | x.sum(0) | x.max() | a.min(0)[0] | x.double().float() | (x * 1).fill_(2)
(x * 1).copy_(y) | (x * 1).add_(1) | (x * 1).zero_() | (x * 1).mul_(y) | (x * 1).exp_() | x.mean() | x.mean(0)
x.sort()[0] | x.sqrt() | (x * 1).fill_(1) | (x * 1).add_(y) | (x * 1).mul_(2) | x.view(3, 1) | x.view(3, 1).expand(3, 3)
x.view(1, 3).squeeze(0) | x.view(1, 3).squeeze() | x.view(1, 3).t() | x.view(1, 3).transpose(0, 1)
x.view(1, 3).permute(1, 0) | x[None] | x.min() | x.min(0)[0] | x.amax(0) | x.var() | x.std() | x.rsqrt() | x.view_as(y)
x[...] | x[x > 0] | torch.sum(x) | x.view(1, 3).tril() | x.masked_fill(x > 0, 1.0) | x.gather(0, torch.tensor([0]))
x.index_select(0, torch.tensor([0])) | x.roll(1) | x.norm(1) | x.sub(y, alpha=2) | x.add(y, alpha=2) | x[::2]
x.unbind()[1] | x.split(1)[1] | x.chunk(2)[0] | x.narrow(0, 0, 1) | x.select(0, 1) | x.view(1, 3).diagonal()
x.detach().requires_grad_()[0] | x.reshape(3, 1).T.reshape(3) | x.view(3).view(1, 3)[0] | tie.max(0)[0] | tie.min(0)[0]
torch.maximum(tie, tie.flip(0)) | z.relu() | z.abs() | torch.minimum(x, x * 1) | torch.clamp(tie, -1, 3)
torch.clamp(tie, min=3) | torch.clamp(tie, max=-1) | z.relu().sqrt() | z.sign() | torch.where(z > 0, z, z / z)
torch.where(z == 0, z * 0, 1 / z) | z.relu() ** 0.5 | z ** 0 | z.relu() ** x | torch.where(z > 0, z.log(), z)
tie.sort()[0] | torch.maximum(z, z * 0) | z.clamp(min=0) | z.clamp(max=0) | z.clamp(0, 0)
"""

FURTHER = """
p.rsqrt() | torch.rsqrt(q) | x.square() | torch.square(a) | p.log1p() | torch.log1p(q) | x.expm1() | x.tan()
(x / 4).asin() | (x / 4).acos() | x.atan() | x.sinh() | x.cosh() | x.erf() | torch.erf(a) | s.erf() | n.erf()
n.rsqrt() | m.erf() | n.expm1() | n.tan() | m.square() | n.square() | x.floor() | x.ceil() | x.round() | x.trunc()
n.floor() | n.ceil() | n.round() | n.trunc() | (x * 1.234).round(decimals=2) | (x * 10).round(decimals=-1)
torch.round(a, decimals=1) | (z * 0.5).round() | e.erf() | a.T.erf() | a.T.rsqrt() | x.cumsum(0) | a.cumsum(1)
a.cumsum(-2) | s.cumsum(0) | n.cumsum(0) | m.cumsum(0) | e.cumsum(0) | a.T.cumsum(1) | torch.cumsum(A, dim=1)
x.cumprod(0) | a.cumprod(1) | z.cumprod(0) | s.cumprod(0) | n.cumprod(0) | (a * z).cumprod(1) | (a * z).cumprod(0)
torch.cumprod(A, dim=2) | x.prod() | a.prod() | z.prod() | (z * x * z).prod() | s.prod() | n.prod() | e.prod()
m.prod() | a.prod(0) | a.prod(1, keepdim=True) | (a * z).prod(1) | (a * z).prod(0) | (a * z).prod() | torch.prod(a, 1)
torch.prod(a) | a.T.prod(1) | s.prod(0) | a.var() | a.std() | a.var(1) | a.std(0) | a.var(1, unbiased=False)
a.std(0, False) | a.var(False) | a.var(1, False, True) | a.var(dim=1, correction=0) | a.var((0, 1), correction=1.5)
a.std(correction=0, keepdim=True) | torch.var(a, 1, keepdim=True) | torch.std(A, dim=(0, 2)) | a.std(0, correction=2)
s.var() | s.std() | x[:1].var() | x[:1].std(unbiased=False) | e.var() | (x * 0).std() | (a * 0).std(1) | a.T.var(0)
a.var(0, correction=2) | a.var(correction=6) | x.norm() | a.norm() | torch.norm(a) | a.norm(1) | a.norm(2, 1)
a.norm(dim=1) | a.norm(float('inf')) | a.norm(-float('inf'), 1) | a.norm(3, 0) | a.norm(1.5, 1, True) | a.norm(0.5)
a.norm(0) | a.norm(p=1, dim=1, keepdim=True) | a.norm('fro', (0, 1)) | torch.norm(x, p=2) | torch.norm(a, 'fro', dim=0)
(x * 0).norm() | (x * 0).norm(3) | (x * 0).norm(1) | z.norm(3) | z.norm(0.5) | z.norm(1.5) | s.norm() | e.norm()
tie.norm(float('inf')) | (z * 0).norm(float('inf')) | a.T.norm(3, 1) | a.amax() | a.amax(1) | a.amin((0, 1))
a.amin(dim=1, keepdim=True) | tie.amax() | tie.amin(0) | torch.amax(a, 0) | torch.amin(a, dim=(0, 1)) | s.amax()
n.amax() | m.amin() | a.topk(2) | a.topk(2, 0) | a.topk(1, 1, False)
torch.topk(a, 2, dim=1, largest=True, sorted=True) | s.topk(1) | n.topk(2) | tie.topk(1).values | a.T.topk(2)
x.flip(0) | a.flip(0, 1) | a.flip((1,)) | torch.flip(a, [0]) | s.flip(0) | a.flip(()) | a.flip(-1) | n.flip(0)
a.roll(1) | a.roll((1, 2), (0, 1)) | a.roll(-1, dims=-1) | torch.roll(a, shifts=1, dims=0) | s.roll(1)
A.roll((1, 1), (0, 0)) | x.repeat(2) | x.repeat((2, 2)) | a.repeat(2, 1) | a.repeat(0, 2) | s.repeat(3)
a.repeat(2, 1, 2) | n.repeat(2) | s.repeat(()) | a.tril() | a.triu(1) | a.triu(diagonal=-1) | torch.tril(A)
torch.triu(A, 1) | (a > 0).tril() | a.narrow(1, 1, 2) | a.narrow(1, -2, 2) | torch.narrow(a, 0, 1, 1) | a.select(1, 0)
torch.select(a, 0, 1) | a.narrow(1, 1, 0) | a.diagonal() | a.diagonal(1) | a.diagonal(-1) | a.diagonal(-5)
A.diagonal(0, 1, 2) | torch.diagonal(A, 1, 2, 0) | a.T.diagonal() | n.reshape(3, 1).diagonal() | a.split(1)
a.split(2, 1) | a.split([1, 2], 1) | a.split((1, 0, 2), -1) | torch.split(a, 1, dim=1) | torch.split(a, [1, 1])
x.split(5) | e.split(2) | n.split(2) | a.chunk(2) | a.chunk(2, 1) | a.chunk(5, -1) | torch.chunk(x, 2) | e.chunk(2)
a.unbind() | a.unbind(1) | torch.unbind(A, dim=-1) | e.unbind() | n.unbind() | a.split(1)[1] | a.split(2, 1)[1] * 2
a.split([1, 2], 1)[0] | a.chunk(2)[0] | a.unbind()[1] | a.unbind(1)[2] + 1 | list(x)[1] | list(a)[0] * x
[r.sum() for r in a][1] | torch.stack([r * r for r in a]) | a.split(1)[0] + a.split(1)[1] | x.split(2)[0].sum() * x
torch.cat(a.T.split(2)) | torch.stack(a.unbind(1)) | a.chunk(3, 1)[1].unbind()[0] | x.clone().split(1)[2]
next(iter(a)) | sum(list(x)) | a.split(1)[0]._base | a.split(1)[0]._is_view() | a.unbind()[1].output_nr
a.split(2, 1)[1].shape | [o.output_nr for o in a.split(1)] | a.split(1)[1].grad_fn is a.split(1)[0].grad_fn
a.split(2, 1)[1].grad_fn._saved_split_size | a.split([1, 2], 1)[1].grad_fn._saved_split_sizes
a.diagonal(1).grad_fn._saved_offset | a.split(1)[0].grad_fn._saved_dim | a.unbind(1)[0].grad_fn._saved_dim
a.split(1)[1].grad_fn._saved_self_sym_sizes | a.mT | x.gather(0, i) | a.gather(1, torch.tensor([[0, 1, 0], [1, 0, 2]]))
a.gather(0, torch.tensor([[0, 1]])) | torch.gather(a, 1, torch.tensor([[0], [1]]))
a.gather(0, torch.tensor([[0, 1], [1, 1], [0, 0]])) | s.gather(0, torch.tensor(0)) | n.gather(0, i)
a.T.gather(0, torch.tensor([[2, 1]])) | x.gather(0, i.int()) | a.gather(1, torch.zeros(2, 0, dtype=torch.int64))
s.gather(0, i * 0) | a.scatter(1, torch.tensor([[0, 1]]), q) | a.scatter(1, torch.tensor([[0, 1]]), 5)
torch.scatter(a, 1, torch.tensor([[0], [1]]), src=q) | torch.scatter(a, 1, torch.tensor([[0], [1]]), value=3)
s.scatter(0, torch.tensor(0), 2.) | a.scatter(1, torch.tensor([[0, 1, 2], [2, 1, 0]]), q)
x.scatter(0, torch.tensor([1]), s.reshape(1)) | a.scatter(-1, torch.tensor([[0], [2]]), 1.5)
n.scatter(0, torch.tensor([0]), 2.5) | a.scatter_add(1, torch.tensor([[0, 0, 1], [1, 2, 2]]), q)
torch.scatter_add(a, 1, torch.tensor([[0, 0, 1], [1, 2, 2]]), src=q) | s.scatter_add(0, torch.tensor(0), s * 2)
x.scatter_add(0, i, y) | a.scatter_add(0, torch.tensor([[0, 0, 1]]), x.unsqueeze(0)) | x.masked_fill(m, 1)
a.masked_fill(m, 2.5) | x.masked_fill(m, s) | a.masked_fill(m, s) | c.masked_fill(m, s) | c.masked_fill(m, 1)
n.masked_fill(m, 2) | n.masked_fill(m, 1.5) | torch.masked_fill(x, x > 0, 0) | s.masked_fill(m, 2)
n.masked_fill(m, s.detach()) | m.masked_fill(m, False) | x.masked_fill(m, torch.tensor(3.0))
x.float().masked_fill(m, s) | x.masked_select(m) | a.masked_select(m) | x.masked_select(a > 0)
torch.masked_select(a, a > 0) | c.masked_select(m) | n.masked_select(m) | s.masked_select(m) | s.masked_select(s > 0)
a.T.masked_select(a.T > 0)
(lambda b: (b.mul_(x), torch.autograd.grad(b.sum(), x)))(torch.ones(3, dtype=torch.float64) * 2)
(lambda b: (b.add_(y, alpha=2), torch.autograd.grad(b.sum(), y)))(x.clone())
(lambda b: (b.clamp_(min=0), b.grad_fn, b._version))(x.clone()) | x.clone().square_() | p.clone().log_()
x.clone().sin_() | x.clone().sigmoid_() | x.clone().abs_() | x.clone().floor_() | x.clone().round_(decimals=1)
x.clone().tan_() | p.clone().rsqrt_() | x.clone().expm1_() | x.clone().erf_() | x.clone().cosh_() | x.clone().neg_()
p.clone().reciprocal_() | x.clone().sign_() | x.clone().cumsum_(0) | x.clone().cumprod_(0) | a.clone().tril_()
a.clone().triu_(1) | x.clone().masked_fill_(m, 2.) | x.clone().masked_fill_(m, s)
x.clone().scatter_(0, torch.tensor([0]), x[:1]) | x.clone().scatter_(0, torch.tensor([0]), 3)
x.clone().scatter_add_(0, i, y) | torch.exp_(x.clone()) | torch.relu_(x.clone()) | torch.clamp_(x.clone(), 0, 1)
torch.fill_(x.clone(), 2) | torch.zero_(x.clone()) | x.clone().clamp_(-1, 1)
x.clone().index_put_((torch.tensor([0]),), s) | x.clone().index_put_((i,), y, accumulate=True)
torch.index_put(x, (torch.tensor([0, 1]),), y[:2]) | x.index_put((i,), y, True)
a.index_put((torch.tensor([0, 1]), torch.tensor([2, 1])), x[:2]) | x.clone().pow_(2) | x.clone().pow_(y.detach())
p.clone().pow_(y) | torch.index_put_(x.clone(), (torch.tensor([0]),), s) | x.clone().sub_(y, alpha=3)
x.clone().div_(2) | x.clone().mul_(x)
(lambda b: (b[0].masked_fill_(m, 5), b, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.diagonal().sigmoid_(), torch.autograd.grad((b * a).sum(), a)))(a.clone())
"""

NETWORKS = """
x.softmax(0) | a.softmax(1) | a.softmax(-2) | s.softmax(0) | torch.softmax(A, 1) | a.T.softmax(1) | e.softmax(0)
(a * 1000).softmax(1) | torch.softmax(n, 0, dtype=torch.float64) | x.log_softmax(0) | a.log_softmax(1)
torch.log_softmax(A, -1) | s.log_softmax(0) | (a * 1000).log_softmax(1) | a.T.log_softmax(0) | x.logsumexp(0)
a.logsumexp(1) | torch.logsumexp(a, (0, 1)) | a.logsumexp(0, True) | n.logsumexp(0) | e.logsumexp(0)
(a * 1000).logsumexp(1) | s.logsumexp(0) | torch.addmm(x, a, M[:, :3]) | torch.addmm(M, M[:, :3], M, beta=2, alpha=3)
torch.addmm(c, a, M) | M.addmm(M[:, :3], M) | torch.addmm(s, a, M) | torch.addmm(x, a, A[0].T @ A[1])
torch.outer(x, y) | x.outer(y) | torch.outer(n, x) | x.outer(e) | torch.outer(x, x) | torch.einsum('ij,jk->ik', a, M)
torch.einsum('ij,kj->ik', a, q) | torch.einsum('i,i', x, y) | torch.einsum('i,i->i', x, y)
torch.einsum('i,j->ij', x, y) | torch.einsum('ij->ji', a) | torch.einsum('ij->', a) | torch.einsum('ij->i', a)
torch.einsum('ji', a) | torch.einsum('ii->i', M[:, :3]) | torch.einsum('ii', M[:, :3])
torch.einsum('...j,j->...', a, x) | torch.einsum('...j', a) | torch.einsum('...ij->...ji', A)
torch.einsum('bij,bjk->bik', A, A.mT) | torch.einsum('ij,ij', a, q) | torch.einsum('ij,k->ijk', a, x)
torch.einsum('i,ij,j', x, M[:, :3], y) | torch.einsum('i j, j k -> i k', a, M) | torch.einsum('ij,jk->ik', [a, M])
torch.einsum('', s) | torch.einsum(',->', s, s) | torch.einsum('IJ,iJ->Ii', a, q) | torch.einsum('bij,bij->b', A, A)
torch.einsum('bij,j->bi', A, x) | torch.einsum('...ij,...jk->...ik', A, M) | torch.einsum('ij,ij->j', a, c)
torch.einsum('ij,jk,kl->il', a, M, M.T) | torch.einsum('iij->j', M[:, :3].unsqueeze(2)) | torch.einsum('i...->...', A)
torch.einsum('ij,...->ij...', a, s) | torch.einsum('ij,k->', a, x) | torch.einsum('aij,aik->jk', A, A)
torch.einsum('ij,jk->ki', n.reshape(1, 3), n.reshape(3, 1)) | torch.einsum('i,i->', e, e) | F.softplus(x)
F.softplus(a * 20) | F.silu(a) | F.silu(s) | F.gelu(a) | F.gelu(a, approximate='tanh') | F.leaky_relu(a)
F.leaky_relu(z, 0.2) | F.elu(a) | F.logsigmoid(a * 30) | F.relu(z) | F.sigmoid(x) | F.tanh(x) | F.softmax(a, 1)
F.softmax(a) | F.softmax(A) | F.log_softmax(a) | F.log_softmax(a, dim=0) | F.relu(x.clone(), inplace=True)
F.silu(x.clone(), inplace=True) | F.relu(n) | F.linear(a, M.T) | F.linear(a, M.T, M[0]) | F.linear(x, M.T)
F.linear(x, M.T, M[0]) | F.linear(A, M.T, M[0]) | F.linear(A, M.T) | F.linear(A.transpose(0, 1), M.T, M[0])
F.linear(a, x) | F.linear(x, y) | F.linear(x, y, s) | F.linear(A.unsqueeze(0), M.T, M[0]) | F.layer_norm(a, (3,))
F.layer_norm(a, [3], x, y) | F.layer_norm(a, (2, 3)) | F.layer_norm(A, (2, 3), a, q, 0.1) | F.layer_norm(a, (3,), x)
F.layer_norm(a.T, (2,)) | F.batch_norm(a, None, None, training=True) | F.batch_norm(a, None, None, x, y, True)
F.batch_norm(a, y.detach(), p.detach(), x, y) | F.batch_norm(A, None, None, x[:2], y[:2], True)
F.batch_norm(a, y.detach(), p.detach()) | F.batch_norm(M.reshape(1, 3, 2, 2), None, None, x, None, True, 0.1, 0.5)
(lambda r, v: (F.batch_norm(a, r, v, x, y, True, 0.3), r, v, r._version))(y.detach(), p.detach())
F.dropout(a, 0.5, False) | F.dropout(a, 0.0) | F.dropout(a, 1.0) | F.dropout(a, 0.5, False) is a | F.mse_loss(x, y)
F.mse_loss(a, q, reduction='none') | F.mse_loss(a, q, reduction='sum') | F.mse_loss(a, x) | F.mse_loss(x, n)
F.mse_loss(a, a) | F.mse_loss(s, s.detach()) | F.mse_loss(x, y, size_average=False)
F.nll_loss(a, torch.tensor([0, 2])) | F.nll_loss(a, torch.tensor([0, -100])) | F.nll_loss(a, torch.tensor([-100, -100]))
F.nll_loss(a, torch.tensor([0, 2]), p.detach()) | F.nll_loss(a, torch.tensor([0, 2]), reduction='none')
F.nll_loss(a, torch.tensor([0, 2]), reduction='sum') | F.nll_loss(a, torch.tensor([0, 2]), ignore_index=2)
F.nll_loss(x, torch.tensor(1)) | F.nll_loss(x, torch.tensor(1), reduction='none')
F.nll_loss(A, torch.tensor([[0, 1, 1], [1, 0, 0]]))
F.nll_loss(A, torch.tensor([[0, 1, 1], [1, 0, 0]]), reduction='none')
F.nll_loss(A.unsqueeze(2), torch.tensor([[[0, 1, 1]], [[1, 0, 0]]]))
F.nll_loss(A, torch.tensor([[0, 1, -100], [1, 0, 0]]), x[:2].detach(), reduction='sum')
F.cross_entropy(a, torch.tensor([0, 2])) | F.cross_entropy(x, torch.tensor(1)) | F.cross_entropy(a, q.softmax(1))
F.cross_entropy(a, q.detach(), reduction='none') | F.cross_entropy(a, q.softmax(1), p.detach(), reduction='sum')
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, -100]), p.detach(), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='sum', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='none', label_smoothing=.1)
F.cross_entropy(A, torch.tensor([[0, 1, 1], [1, 0, 0]])) | F.cross_entropy(a, q.detach(), label_smoothing=.2)
F.cross_entropy(x, y.softmax(0))
F.cross_entropy(A, torch.tensor([[0, 1, 1], [1, 0, 0]]), x[:2].detach(), label_smoothing=.1)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2)) | F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), x)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 2, 1), y, stride=2, padding=1)
F.conv2d(A.unsqueeze(1), M.reshape(12, 1, 1, 1)[:3], x, stride=(1, 2), padding=(1, 0))
F.conv2d(A.unsqueeze(0), M.reshape(6, 1, 1, 2), groups=2) | F.conv2d(A, M.reshape(3, 2, 1, 2), x)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), dilation=2)
F.conv2d(A.repeat(2, 1, 2, 2), M[:2].reshape(2, 2, 2, 1), c.squeeze(1), (2, 1), (1, 2), (2, 1))
F.conv2d(A.unsqueeze(0), M[:2, :2].reshape(1, 2, 2, 1), padding='valid')
F.conv2d(A.unsqueeze(0), M.reshape(2, 2, 1, 3), padding='same')
F.conv2d(A.unsqueeze(0).transpose(2, 3), M.reshape(3, 2, 1, 2))
F.conv2d(A.unsqueeze(0).float(), M.reshape(3, 2, 1, 2).float()) | F.softplus(x, beta=2, threshold=1.5)
F.elu(a, alpha=0.5) | F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), padding='same')
F.softmax(n, 0, dtype=torch.float64)
"""

ADDED = """
torch.copysign(x, y) | torch.copysign(x, -2) | x.copysign(a) | torch.copysign(n, x) | torch.copysign(n, -1.0)
F.gumbel_softmax(a.detach(), hard=True).sum(1) | F.gumbel_softmax(a.detach(), 0.5, dim=0).sum(0)
torch.copysign(m, -1) | (x * 1).copysign_(y) | torch.copysign(z, -1) | torch.logaddexp2(x, y) | torch.logaddexp2(n, n)
torch.logaddexp2(a, x) | torch.cummax(a, 1) | torch.cummin(a, 0) | tie.cummax(0) | tie.cummin(-1) | torch.cummax(s, 0)
torch.cummax(s, 1) | torch.cummin(n, 0) | torch.cummax(m, 0) | torch.cummax(a, 2)
torch.renorm(a, 1, 0, 2) | torch.renorm(a, 2, 1, 0.5) | a.renorm(3, -1, 1) | torch.renorm(A, 1e9, 1, 1.5)
torch.renorm(a, 0, 0, 1) | torch.renorm(x, 2, 0, 1) | torch.renorm(a, 2, 0, -1) | (a * 1).renorm_(2, 0, 1)
a.as_strided((2, 2), (1, 2)) | a.as_strided((2, 2), (1, 1), 1) | torch.as_strided(a.t(), (3,), (2,))
a[1:].as_strided((2,), (1,)) | a.as_strided((3, 3), (3, 1)) | a.as_strided((3,), (-1,)) | a.as_strided((3, 2), (1,))
a.as_strided((3,), (1,), -1) | a.as_strided(3, 1) | a.resize_(2)
x.expand(2, 3).as_strided((2, 3), (0, 1)) | n.clone().resize_(1) | n.clone().resize_as_(n[:2])
n.clone().resize_((1, 2)) | torch.ones(2, 3).t().resize_(3, 2)
x.clamp_min(0.5) | x.clamp_min(y) | x.clamp_max(0) | torch.clamp_max(a, x) | n.clamp_min(0.5) | n.clamp_max(x)
torch.clamp_min(n, 1) | m.clamp_min(1) | m.clamp_min(True) | e.clamp_max(1) | s.clamp_min(x) | s.clamp_max(1)
(x * 1).clamp_min_(y) | (x * 1).clamp_max_(0) | (x * 1).clamp_min_(a) | (n * 1).clamp_max_(x)
torch.clamp_min_(x * 1, 0) | x.float().clamp_max(0.3) | tie.clamp_min(3.0) | torch.clamp_max(x, max=y)
torch.addcmul(x, y, p) | torch.addcmul(x, y, p, value=2) | x.addcmul(a, p, value=-0.5) | torch.addcmul(s, x, c)
torch.addcmul(n, n, n, value=2.5) | torch.addcmul(m, m, m) | torch.addcmul(x, 2.0, y) | torch.addcmul(n, x, x)
torch.addcmul(x, y, p, value='x') | torch.addcmul(x, y, tie) | torch.addcmul(e, e, e) | (x * 1).addcmul_(y, p, value=2)
(n * 1).addcmul_(x, y) | (x * 1).addcmul_(a, a) | torch.addcdiv(x, y, p) | torch.addcdiv(x, y, q, value=2)
torch.addcdiv(n, n, n) | torch.addcdiv(x, n, n) | torch.addcdiv(m, m, m) | torch.addcdiv(s, x, p, value=3)
(x * 1).addcdiv_(y, p) | (x * 1).addcdiv_(n, n) | torch.addcdiv(x, y, p, value='x') | torch.addcdiv(x.float(), y, 2)
torch.lerp(x, y, 0.3) | torch.lerp(x, y, p) | x.lerp(y, 1) | torch.lerp(x, a, 0.75) | x.lerp(y, s)
torch.lerp(n, n, 0.5) | torch.lerp(n, n, n) | torch.lerp(x, y.float(), 0.5) | x.lerp(y, p.float())
(x * 1).lerp_(y, 0.3) | (x * 1).lerp_(a, 0.3) | torch.lerp(e, e, 0.5) | x.lerp(y, s.float().detach())
x.float().lerp(y.float(), 0.25) | torch.addmv(x[:2], a, y) | torch.addmv(s, a, y, beta=2, alpha=3)
torch.addmv(x, x, x) | torch.addmv(tie, a, x) | torch.addmv(x[:2], a, tie) | torch.addmv(x[:2], a.float(), y)
torch.addmv(n[:2], n.expand(2, 3), n, beta=1.5) | torch.addmv(x[:2], a, 2.0) | torch.addmv(x[:2], a, y, beta='x')
torch.addmv(x[:2] * float('nan'), a, y, beta=0) | (x[:2] * 1).addmv_(a, y) | (s * 1).addmv_(a, y)
torch.addr(a, x[:2], y) | torch.addr(x, x[:2], y, beta=0.5, alpha=2) | torch.addr(a, a, y) | torch.addr(a, x, y)
torch.addr(n, n, n, alpha=1.5) | torch.addr(n, n, n, beta=2) | torch.addr(m, m, m) | (a * 1).addr_(x[:2], y)
torch.baddbmm(s, A, A.mT) | torch.baddbmm(y[:2], A, A.mT, beta=0.5, alpha=2) | torch.baddbmm(A, A, A.mT)
torch.baddbmm(A, A, A) | torch.baddbmm(A.float(), A, A.mT) | torch.baddbmm(x, a, 2.0) | (A @ A.mT).baddbmm_(A, A.mT)
(a * 1).baddbmm_(A, A.mT) | torch.addbmm(s, A, A.mT) | torch.addbmm(c, A, A.mT, beta=2, alpha=3)
torch.addbmm(a, A, A.mT) | torch.addbmm(s, A, A) | torch.addbmm(s, A[:1], A.mT) | torch.addbmm(s.float(), A, A.mT)
(a[:, :2] * 1).addbmm_(A, A.mT) | (a * 1).addmm_(a[:, :2], a) | (x * 1).addmm_(a.T, a)
torch.addmm(a * float('nan'), a[:, :2], a, beta=0) | torch.addmm(x, a, M[:, :3], beta=0) | torch.diag(x) | torch.diag(a)
a.diag(1) | x.diag(-1) | torch.diag(A) | torch.diag(s) | torch.diag(a, 5) | torch.diag(n) | torch.diagflat(a)
torch.diagflat(s, 1) | x.diagflat(-1) | torch.diagflat(x, 'x') | torch.diag_embed(x) | torch.diag(e)
torch.diag_embed(a, 1, 0, 2) | a.diag_embed(-1) | torch.diag_embed(s) | torch.diag_embed(x, 0, 0, 0) | a.T.diag_embed()
torch.diag_embed(x, 0, 0, 5) | torch.diag_embed(a, dim1=1, dim2=0) | a.trace() | A.trace() | M.trace()
n.expand(3, 3).trace() | m.expand(3, 3).trace() | torch.diag(x, 'x') | torch.selu(x) | torch.selu_(x * 1)
torch.celu(x) | torch.celu_(x * 1) | torch.threshold(x, 0, 1) | torch.threshold_(x * 1, 0, 1) | torch.rrelu(x)
torch.rrelu_(x * 1) | torch.hardshrink(x) | torch.prelu(x, s) | F.relu_(x * 1) | F.leaky_relu_(x * 1, 0.25)
F.elu_(x * 1, 0.5) | F.selu_(x * 1) | F.celu_(x * 1, 2.0) | F.hardtanh_(x * 1, -0.75, 0.75) | F.threshold_(x * 1, 0, 2)
F.rrelu_(x * 1) | F.relu_(x) | torch.selu_(x) | torch.exp2(a) | torch.log2(q) | torch.log10(p) | torch.asinh(a)
torch.acosh(p + 1) | torch.atanh(x / 4) | n.exp2() | torch.frac(a) | torch.frac(n) | torch.frac(-x) | torch.deg2rad(a)
torch.rad2deg(n) | torch.atan2(x, y) | a.atan2(x) | torch.atan2(n, n) | torch.hypot(x, y) | torch.hypot(a, x)
torch.hypot(n, n) | torch.logaddexp(x, a) | s.logaddexp(x) | torch.logaddexp(n, n) | torch.nan_to_num(x / z)
torch.nan_to_num(x / z * 0 + x, 1.0, 2.0, 3.0) | torch.nan_to_num(n) | (x * 1).atan2_(y) | (x * 1).hypot_(y)
(x * 1).frac_() | (x / z).nan_to_num_(posinf=7) | e.exp2() | s.log2() | F.pixel_shuffle(A.reshape(1, 4, 3, 1), 2)
F.pixel_shuffle(A.reshape(4, 3, 1), 2) | F.pixel_shuffle(A, 2) | F.pixel_unshuffle(M[:, :2].reshape(1, 1, 2, 3), 2)
F.pixel_unshuffle(M.reshape(1, 2, 6), 2) | F.pixel_shuffle(a, 2) | F.pixel_shuffle(A, 0) | F.pixel_unshuffle(A, 0)
nn.PixelShuffle(2)(A.reshape(4, 3, 1)) | nn.PixelUnshuffle(1)(A) | repr(nn.PixelShuffle(2)) | repr(nn.PixelUnshuffle(3))
repr(nn.CosineSimilarity()) | repr(nn.PairwiseDistance()) | F.cosine_similarity(a, q) | F.cosine_similarity(x, y, 0)
F.cosine_similarity(x * 0, y, 0) | F.cosine_similarity(A, A + 1, 2) | nn.CosineSimilarity(0)(a, q) | torch.tile(x, (2,))
a.tile(2) | a.tile((2, 1, 1)) | torch.flipud(a) | torch.fliplr(a) | torch.fliplr(x) | torch.flipud(s) | torch.msort(a)
torch.take_along_dim(a, torch.tensor([[1], [0]]), 1) | a.take_along_dim(i) | torch.take_along_dim(a, i, 0)
torch.cartesian_prod(x, y) | torch.cartesian_prod(x) | torch.cartesian_prod(x, n, y) | torch.inner(x, y)
torch.inner(a, A) | torch.inner(s, a) | torch.inner(x, tie) | torch.kron(a, c) | torch.kron(x, a)
torch.tensordot(a, M, 1) | torch.tensordot(a, A, ([1], [2])) | torch.tensordot(A, a, dims=([1, 2], [0, 1]))
torch.tensordot(x, y, 0) | torch.tensordot(x, y, 1) | torch.diff(x) | torch.diff(a, 2) | torch.diff(m) | torch.diff(s)
torch.diff(n, prepend=torch.tensor([0])) | torch.diff(a, 1, 0, append=a[:1]) | torch.diff(x, -1) | torch.diff(x, 9)
torch.argwhere(z) | torch.count_nonzero(z) | torch.count_nonzero(a > 0, 1) | torch.bincount(j) | torch.bincount(n)
torch.bincount(j, minlength=4) | torch.bincount(j, p.detach()) | torch.bincount(x) | torch.bincount(j, minlength=-1)
torch.searchsorted(torch.tensor([1, 3, 5]), n) | torch.searchsorted(torch.tensor([1, 3, 5]), 3, right=True)
torch.searchsorted(torch.tensor([1, 3, 5]), 3, side='right') | torch.searchsorted(torch.tensor([1, 3]), 3, side='x')
torch.searchsorted(torch.tensor([[1, 3], [2, 4]]), torch.tensor([[3], [1]])) | torch.bucketize(n, torch.tensor([0, 2]))
torch.bucketize(n, torch.tensor([0, 2]), right=True, out_int32=True) | torch.bucketize(a, a) | torch.isin(n, j)
torch.isin(n, 2) | torch.isin(n, j, invert=True) | torch.unique(i) | torch.unique(i, return_counts=True) | i.unique()
torch.unique(i, return_inverse=True, return_counts=True) | torch.unique(x) | torch.unique(x, dim=0)
torch.unique(torch.tensor([[1, 2], [1, 2], [0, 3]]), dim=0, return_inverse=True) | torch.unique(tie.detach())
"""

ANSWERS = """
a.narrow(1,1,3) | a.narrow(1,5,1) | a.narrow(2,0,1) | a.narrow(1,0,-1) | s.narrow(0,0,1) | a.select(1,3) | a.select(2,0)
s.select(0,0) | a.diagonal(0,1,1) | x.diagonal() | a.split(0) | a.split(-1) | a.split((1,1),1) | a.split((1,-1),1)
s.split(1) | a.split(1, 2) | a.chunk(0) | s.chunk(1) | a.unbind(2) | s.unbind() | list(s)
x.clone().split(1)[0].add_(1) | x.clone().unbind()[0].mul_(2) | x.clone().split([1,2])[0].mul_(2)
x.clone().chunk(2)[0].add_(1) | list(x.clone())[1].add_(1) | x.detach().split(1)[0].add_(1) | x.split(1)[0].add_(1)
(lambda b: (lambda v: (b.mul_(2), v[0].grad_fn))(b.split(1)))(x.clone())
(lambda b: (lambda v: (b.mul_(2), v[0].grad_fn))(b.diagonal()))(a.clone())
(lambda b: (b.diagonal().mul_(2), b.grad_fn, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.narrow(1,0,2).mul_(2), b.select(0,1).exp_(), b.grad_fn, torch.autograd.grad(b.sum(), a)))(a.clone())
(lambda b: (b.detach().split(1)[0].add_(1), b, b._version))(a.clone()) | a.gather(1, n)
a.gather(0, torch.tensor([[0,1,1],[2,0,0]])) | a.gather(1, torch.tensor([[0,3]])) | a.gather(1, torch.tensor([[0,1.]]))
a.gather(1, torch.tensor([[0,-1]])) | a.gather(2, torch.tensor([[0,1]]))
a.gather(1, torch.zeros(3,1,dtype=torch.int64)) | a.scatter(1, torch.tensor([[0,3]]), 5)
a.scatter(1, torch.tensor([[0,1,2]]), torch.ones(1,2).double()) | a.scatter(1, torch.tensor([[0,1]]), torch.ones(1,2))
a.scatter(1, n, 5) | a.scatter(1, torch.tensor([[0.]]), 5) | a.scatter(1, torch.tensor([[0]]), torch.ones(1).double())
a.scatter(0, torch.tensor([[0,1,1,0]]), 5) | a.scatter_add(1, torch.tensor([[0,0,1,1]]), torch.ones(2,2).double())
a.scatter_add(1, n, x) | a.scatter_add(1, torch.tensor([[0,9]]), torch.ones(2,2).double())
a.scatter(1, torch.tensor([[0],[1]]), s) | a.scatter_add(1, torch.tensor([[0],[0],[0]]), torch.ones(3,3).double())
torch.autograd.grad(a.scatter_add(1, torch.tensor([[0]]), q).sum(), q)
torch.autograd.grad(a.scatter(1, torch.tensor([[0]]), q).sum(), q) | x.masked_fill(n, 2)
x.masked_fill(m, torch.ones(2)) | a.masked_fill(torch.tensor([True,False]),1) | x.masked_select(n)
a.masked_select(torch.tensor([True,False])) | x.masked_fill(torch.tensor([True,False]),1)
a.scatter(1,torch.empty(0,2,dtype=torch.int64),2.) | n.sqrt_() | n.clone().masked_fill_(m, 2.5)
x[:1].detach().clone().masked_fill_(m,3) | x.detach().clone().masked_fill_(a>0,3) | n.clone().floor_() | x.sigmoid_()
x[0:1].sigmoid_() | n.rsqrt_() | n.cumsum_(0) | n.clone().mul_(2.5)
(lambda b: (b.exp(), b.mul_(2), torch.autograd.grad(b.sum(), x)))(x.clone())
(lambda b: (lambda r: (b.mul_(2), torch.autograd.grad(r.sum(), x)))(b.sin()))(x.clone())
(lambda b: (lambda r: (b.mul_(2), torch.autograd.grad(r.sum(), x)))(b.tan()))(x.clone())
(lambda b: (lambda r: (r.mul_(2), torch.autograd.grad(r.sum(), x)))(b.tan()))(x.clone())
x.clone().scatter_(0, torch.tensor([5]), 3) | a.clone().add_(A) | x.clone().masked_fill_(n, 2) | a.all() | a.all(1)
a.any(1,keepdim=True) | a.any(dim=(0,1)) | torch.all(a>0,dim=0) | torch.any(a>0) | n.any()
torch.tensor([2],dtype=torch.uint8).all() | torch.tensor([2],dtype=torch.uint8).all(0) | e.all() | e.any() | a.all(2)
torch.logical_and(x,n) | torch.logical_or(m,m) | x.logical_not() | m.logical_xor(x>0) | torch.logical_and(m,True)
x.isnan() | torch.isnan(n) | torch.isinf(x/0) | x.isinf() | torch.isfinite(x) | n.isfinite() | m.isnan()
torch.equal(x,x) | torch.equal(x,a) | torch.equal(x,x.double()) | x.equal(x.clone()) | torch.equal(n,n.float())
torch.allclose(x,x+1e-9) | torch.allclose(x,x+1) | torch.allclose(x,a) | torch.allclose(x,x.double())
torch.allclose(n,n) | torch.allclose(x,n) | x.allclose(x,rtol=0,atol=1) | torch.allclose(x/0,x/0)
torch.allclose(x*float('nan'),x*float('nan'),equal_nan=True) | torch.isclose(x,x+1e-9) | a.nonzero() | n.nonzero()
torch.nonzero(m) | a.nonzero(as_tuple=True) | torch.nonzero(a>0,as_tuple=True) | s.nonzero() | s.nonzero(as_tuple=True)
e.nonzero() | a.argmin() | a.argmin(1) | torch.argmin(a,dim=0,keepdim=True) | m.argmin() | e.argmin() | e.argmin(0)
torch.zeros(0,2).argmin(1) | torch.zeros(0,2).argmin(0) | a.argmin(3) | s.argmin(0) | torch.zeros(2,0).argmax(1)
torch.equal(x,2) | torch.allclose(x,2) | torch.logical_and(x,2) | torch.isnan(2.) | x.mT | s.mT | x.tril() | x.triu(1)
a.flip((0, 0)) | a.flip(2) | a.roll((1, 2), 0) | a.roll(1, (0, 1)) | s.roll(1, 0) | a.repeat(2) | x.repeat(-1)
a.cumsum(2) | n.var() | n.norm() | e.amax() | e.amax(0) | a.amax((0, 0)) | torch.topk(a, 5) | m.topk(1) | m.floor()
n.round(decimals=1) | m.ceil() | m.argmax() | torch.maximum(x, 1) | torch.minimum(1, x)
torch.maximum(x, np.float64(3)) | torch.maximum(x, None) | torch.maximum(input=x, other=y) | torch.maximum(x, n)
torch.maximum(m, m) | torch.maximum(e, e) | torch.max(x, other=y) | torch.max(input=x) | torch.max(a, dim=0)
torch.tensor([]).max(0) | torch.tensor([]).min(0) | torch.tensor([]).max() | torch.tensor([]).argmax()
torch.tensor([]).argmin(0) | torch.zeros(2, 0).max(1) | torch.zeros(2, 0).max(0) | torch.zeros(2, 0).min(1)
torch.zeros(2, 0).argmax(0) | torch.abs(m) | m.abs() | torch.abs(n) | torch.sign(m) | m.relu() | n.relu() | -m | +m
torch.where(m) | torch.where(n) | torch.where(a > 0) | torch.where(torch.tensor(True)) | torch.where(n > 5)
torch.where(condition=m, input=x, other=y) | torch.where(m.to(torch.uint8), x.detach(), y.detach())
torch.where(n, x, y)
x.where(condition=m, other=y) | torch.where(m, n, 2.5) | torch.where(torch.ones(4) > 0, x, y)
torch.where(torch.ones(4, 1, 2) > 0, x, 0.5) | torch.where(m, True, 2) | 2 ** torch.tensor([-1])
torch.tensor([2]) ** -1 | torch.tensor([2]) ** torch.tensor([-1]) | n ** -2 | m ** -1
torch.pow(2, torch.tensor([-1, 3])) | torch.tensor([-1, 1, 0, 2, -1]) ** torch.tensor([-1, -1, -1, -2, -2]) | n ** n
torch.tensor([-1]).pow(-3) | (-1) ** torch.tensor([-3, -2]) | n.int() ** torch.tensor(-1) | n ** -1.0 | m ** m | m ** 2
torch.pow(input=x, exponent=2) | torch.add(input=x, other=y, alpha=2) | torch.sub(input=x, other=y) | torch.exp(input=x)
torch.mul(input=x, other=y) | torch.sum(input=x) | torch.matmul(input=a, other=M) | torch.clamp(input=x, min=0)
x.add(y, alpha="a") | n.add(n, alpha=0.5) | n.add(1, alpha=0.5) | n.add(x, alpha=0.5) | m.add(m, alpha=True)
m.add(m, alpha=2) | n.sub(n, alpha=2.5) | n.sub(n, alpha=2) | x & y | m & 1.5 | m & m | n | x.sum(None)
x.sum(dim=None, keepdim=True) | x.mean(None) | x.mean(None, True) | torch.eq(x, 0.5) | torch.ne(x, y) | torch.gt(a, 0)
torch.lt(x, y) | torch.ge(x, 2) | torch.le(n, 2) | torch.dot(m, m) | torch.mm(a > 0, M > 0) | torch.mv(a > 0, m)
torch.bmm(A > 0, A.transpose(1, 2) > 0) | m @ m | torch.addmm(c > 0, a > 0, M > 0) | m.clamp(True)
m.clamp(False, True) | m.clamp(max=False) | m.clamp(0) | m.sort(descending=True) | m.argsort(descending=True)
n.to(torch.uint8).sort(descending=True) | torch.tensor([-(2**63), 5]).sort(descending=True) | n.to(torch.uint8).topk(2)
n.cumsum(0, dtype=torch.int32) | n.cumprod(0, dtype=torch.uint8) | x.cumsum(0, dtype=torch.float32)
x.norm(dtype=torch.float32) | x.norm(2, 0, dtype=torch.int64) | x.float().norm(dtype=torch.float64)
e.norm(float("inf")) | e.norm(-float("inf")) | e.norm(float("inf"), 0) | e.norm(-1)
torch.ones(0, 2).norm(float("inf"), 1) | True - x | x - True | m - 1 | n.to(torch.uint8) + -1 | n.to(torch.uint8) * -1
n.to(torch.uint8) - 3 | torch.where(m, n.to(torch.uint8), -1) | torch.nn.functional.nll_loss(n[None], i[:1])
c.squeeze((0, 1)) | c.squeeze((1,)) | c.squeeze(()) | c.squeeze(dim=(-1, 0)) | c.squeeze((1, 1)) | c.squeeze((2,))
torch.squeeze(c, (0, 1)) | s.squeeze((0,)) | e.reshape(-1, 0) | e.view(0, -1) | e.reshape(-1) | e.view(-1, 3)
x.view_as(1) | torch.nn.functional.linear(a, 1) | torch.nn.functional.linear(1, a) | n.clone().fill_(float("nan"))
n.clone().fill_(1e30) | n.clone().fill_(2.7) | n.to(torch.uint8).fill_(-1) | n.to(torch.uint8).fill_(300)
x.clone().fill_(True) | x.clone().copy_(1) | n.clone().copy_(2.5) | a.size(2) | a.size(-3) | s.size(0) | a.size(-1)
torch.nn.functional.gelu(x, "tanh") | a.tril(1.0) | a.triu("a")
torch.nn.functional.batch_norm(x, None, None, training=True)
torch.nn.functional.cross_entropy(a, j, label_smoothing=2.0)
"""

REFUSED = """
torch.exp(2) | torch.dot(x, 2) | torch.mm(a, None) | torch.mv(2, x) | torch.bmm(A, "s") | torch.maximum(x, 2)
torch.minimum(None, x) | torch.addmm(None, a, M) | torch.cat([x, 2]) | torch.stack([x, None]) | torch.softmax(2, 0)
torch.nn.functional.linear(x, 2) | torch.nn.functional.linear(2, a) | torch.cumsum(None, 0) | torch.mul(None, x)
torch.mul(x, "s") | torch.add(x, None) | torch.div("s", x) | torch.sum(None) | torch.matmul(x, 2) | torch.unbind(2)
torch.matmul(None, x) | torch.permute(2, (0,)) | torch.reshape(None, (2,)) | torch.diagonal(2) | torch.tril(None)
torch.sort(2) | torch.topk(None, 1) | torch.prod(2) | torch.logsumexp(2, 0) | torch.roll(2, 1) | torch.flip(None, (0,))
torch.nn.functional.elu(2) | torch.nn.functional.gelu(2) | x.index_add(0, i, 2) | x.view_as(None) | torch.addmm(a, a, 3)
torch.nn.functional.linear(a, q, 3) | torch.nn.functional.layer_norm(3, (3,))
torch.nn.functional.layer_norm(a, (3,), 3) | torch.nn.functional.layer_norm(a, (3,), None, 3) | torch.outer(x, 3)
x.outer(3) | torch.nn.functional.nll_loss(a, 3) | torch.nn.functional.nll_loss(3, i) | x.expand_as(3) | x.type_as(3)
torch.nn.functional.dropout(3) | torch.nn.functional.cross_entropy(a, 3) | x.reshape_as(3) | torch.einsum("ij->i", 3)
x.argmax("a") | torch.argmin(a, "a") | a.argmax(n) | a.argmax(True) | torch.argmax(a, 1.5) | a.cumsum("a")
torch.cumprod(a, True) | a.amax("a") | torch.amin(a, x) | a.logsumexp(x) | a.transpose("a", 1) | a.transpose(0, 1.0)
torch.transpose(a, 0, "a") | a.unsqueeze("a") | a.unsqueeze(1.0) | a.flatten("a") | a.flatten(0, True) | a.unbind("a")
a.unbind(1.0) | a.gather("a", n) | a.chunk("a") | a.chunk(2.0) | a.chunk(True) | a.chunk(2, "a") | a.topk("a")
a.topk(1.5) | a.topk(1, "a") | a.split("a") | a.split(1.5) | a.split(None) | a.split([1, "a"]) | a.split(n)
torch.split(a, torch.tensor(1)) | a.sum(torch.tensor(1)) | a.amax(torch.tensor(1)) | a.argmax(np.int64(1))
a.sum(np.int64(1)) | a.softmax("a") | torch.softmax(a, 1.5) | a.log_softmax(True) | a.select("a", 0)
torch.allclose(x, torch.ones(2)) | torch.isclose(x, torch.ones(2)) | torch.logical_and(x, torch.ones(2))
torch.logical_or(a, torch.ones(2)) | torch.logical_xor(x, torch.ones(4)) | torch.einsum("ij") | torch.einsum(a)
torch.nn.functional.binary_cross_entropy_with_logits(x, y, torch.ones(2))
torch.nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=torch.ones(2))
torch.nn.functional.embedding(n, x) | torch.nn.functional.embedding(n, torch.tensor(1.0))
torch.tensor([True, False]).clamp(torch.tensor(2.0)) | n.clamp(min=torch.tensor([0.5, 0.5, 0.5])) | a.sum(0, None)
a.sum(0, torch.ones(2)) | torch.sum(a, 0, 1) | a.mean((0, 1), None) | a.mean(0, (0, 1)) | a.argmin(1, 1)
a.prod(0, None) | a.median(0, None) | torch.norm(a, 2, 0, 1) | a.max(0, None) | torch.logsumexp(a, 0, None)
a.amax(0, 1) | torch.nn.functional.layer_norm(a, [torch.ones(2), torch.ones(2)])
torch.nn.functional.layer_norm(a, [3, "a"]) | x.clamp(torch.tensor(0.5), 1) | x.clamp(0, torch.tensor(0.5))
a.roll(-1, None) | x.detach().copy_(y, True) | torch.randint(5, (2.0,)) | torch.any(x, 7) | torch.std(x, 7)
torch.threshold(None, 1, 2) | torch.vdot(x, x[:2]) | torch.normal(x, -1.0) | torch.atan2(x, y[:2])
torch.xlogy(x, y[:2]) | torch.eq(x, y[:2]) | torch.ne(x, y[:2]) | torch.ge(x, y[:2]) | torch.gt(x, y[:2])
torch.le(x, y[:2]) | torch.lt(x, y[:2]) | torch.bitwise_and(i, torch.arange(5)) | torch.bitwise_or(i, torch.arange(5))
torch.bitwise_xor(i, torch.arange(5)) | x + a[:, :2] | x + M | torch.add(x, 'a') | x + 'a' | x + None | x + [1, 2, 3]
'a' + x | x * None | x / None | x ** None | None ** x | x - [1] | x < None | x < 'a' | a @ x[:2] | a @ a | x @ y[:2]
x @ 2 | 2 @ x | s @ x | x @ s | x @ n | a @ M.float() | torch.mm(a, a) | torch.mm(x, y) | torch.mm(a, x)
torch.mv(a, a) | torch.mv(a, x[:2]) | torch.mv(x, x) | torch.dot(a, a) | torch.dot(x, y[:2]) | torch.dot(x, n)
torch.bmm(a, a) | torch.bmm(A, A) | torch.mm(a, M.float()) | torch.matmul(a, 2) | A @ A | A @ M[:2] | x.sum(1)
x.sum(dim=3) | a.sum((0, 0)) | x.mean(1) | n.mean() | m.mean() | e.max() | e.min() | x.max(1) | x.argmax(2) | x.sort(1)
x.argsort(2) | a.reshape(4) | a.reshape(-1, -1) | a.reshape(0, -1) | a.reshape(4, -1) | a.view(4) | a.T.view(6) | A.t()
x.transpose(0, 1) | a.permute(0, 0) | a.permute(0, 2) | x.expand(4) | x.expand(2, 4) | a.expand(3) | x.expand(-1, 3)
x.expand(-2) | x.unsqueeze(3) | x.squeeze(2) | x[3] | x[-4] | a[0, 3] | x[0, 0] | s[0] | x[1.5] | x[torch.tensor([0.5])]
x[torch.tensor([7])] | x[torch.tensor([True])] | a[[0, 1], [0, 1, 2]] | x[::-1] | torch.cat([]) | torch.cat([x, 1])
torch.cat([x, a]) | torch.cat([s, s]) | torch.cat([a, M]) | torch.cat([x, y], 1) | torch.cat(x)
torch.cat([a, q[:, :2]]) | torch.cat([a, q[:1]], 1) | torch.stack([]) | torch.stack([x, 1]) | torch.stack([x, y[:2]])
torch.stack([x, a]) | torch.stack([x, y], 2) | torch.where(x, x, y) | torch.where(m, x, y[:2]) | x.clamp()
torch.clamp(x) | torch.exp(2.0) | torch.sin([1.0]) | torch.relu(1) | torch.matmul(2, x) | torch.sum([x]) | torch.sum(3)
torch.abs(-1) | 1 - m | x - m | m - m | n ** -1 | torch.tensor([[1, 2], [3]]) | torch.tensor('a') | torch.tensor(['a'])
torch.tensor(None) | torch.tensor([None]) | torch.tensor([1, 2], requires_grad=True)
torch.tensor([True], requires_grad=True) | torch.tensor([[1.0], 2.0]) | torch.tensor([1.0, [2.0]])
torch.tensor([x, x]) | torch.tensor({}) | torch.tensor({1, 2}) | torch.tensor(2**70)
torch.zeros(2, dtype=torch.int64, requires_grad=True) | torch.arange(5, 1) | torch.arange(0, 1, 0)
torch.arange(3, requires_grad=True) | torch.ones_like(n, requires_grad=True) | x.item() | e.item() | float(x) | int(x)
float(e) | bool(x) | bool(e) | x.numpy() | n.requires_grad_() | m.requires_grad_() | x.backward()
x.sum().backward('a') | x.sum().backward(2.0) | x.backward(torch.ones(2, dtype=torch.float64)) | n.sum().backward()
torch.tensor(1.0).backward() | x.detach().sum().backward() | torch.autograd.grad(x, x) | torch.autograd.grad(x.sum(), y)
torch.autograd.grad(x.sum(), n) | torch.autograd.grad(x.sum(), []) | torch.autograd.grad(x.sum(), x, 2.0)
torch.autograd.grad(x, x, []) | torch.autograd.grad([x, y], x, [x]) | torch.autograd.backward(x)
torch.autograd.backward([x.sum(), y.sum()], [None]) | x.grad.sum() | len(s) | range(3)[n] | range(3)[n[0]] | range(3)[s]
x.foo | y in [x] | x and y | not x | x.shape[3] | setattr(x * 2, 'requires_grad', False)
setattr(n, 'requires_grad', True) | setattr(x, 'grad', 3.0) | setattr(x, 'grad', x) | setattr(x, 'grad', y[:2].detach())
setattr(x, 'grad', y.detach().float()) | n.retain_grad() | torch.set_grad_enabled()
torch.set_default_dtype(torch.int64) | x.add_(1) | x[0].add_(1) | x.detach().add_(M) | n.add_(1.5) | m.add_(1)
x.detach().copy_(M) | x.__setitem__(0, 1.0) | x.detach().__setitem__(3, 1.0) | x.fill_(1) | x.zero_() | (x * 2).add_(M)
torch.tensor([torch.tensor([1., 2.])]) | torch.tensor([[1], [2, 3]]) | torch.tensor([[1, 2], 3]) | torch.tensor([['a']])
torch.tensor([1, None]) | torch.tensor([1.0, None]) | torch.tensor([{}]) | torch.tensor(object) | torch.tensor([2**70])
torch.tensor([1.5], dtype='float64') | torch.tensor([1.5], dtype=np.float64) | torch.arange(1, 5, -1)
torch.autograd.grad(x.sum(), 'a') | torch.autograd.grad('a', x) | torch.autograd.backward('a') | setattr(x, 'grad', n)
setattr(x, 'data', 1) | torch.ones_like([1]) | torch.zeros_like(3) | x.add_(x[0]) | x.detach().add_(x.detach()[0])
x.detach().expand(2, 3).mul_(2) | x.detach().sum().copy_(x) | s.detach()[1:] | (x * 1).copy_((x * 1)[:2])
torch.mean([1.0]) | torch.sum(2) | torch.reshape([1], (1,)) | torch.transpose(2, 0, 1) | a @ None | a @ 'a'
setattr(x, 'grad', torch.tensor(1.0).double()) | setattr(x, 'grad', 'a') | setattr(x, 'grad', [1.0])
setattr(x[:1], 'requires_grad', False) | setattr(m, 'requires_grad', True) | n.requires_grad_(False) is n
x.requires_grad_(np.True_) | x.view(3, 1).exp_() | x[0].fill_(3.0) | x[:1].mul_(2) | setattr(x, 'data', n)
setattr(x, 'data', m) | x.maximum(1) | torch.Tensor.sum(5) | torch.Tensor.exp(5) | torch.Tensor.clone(5)
torch.Tensor.mm(5, torch.ones(2, 2)) | torch.Tensor.abs(5) | torch.Tensor.prod(5) | torch.Tensor.squeeze(5)
torch.Tensor.neg(5) | F.leaky_relu(x.detach().clone(), -0.5, True) | F.elu(x.detach().clone(), 1.0, True)
F.elu(n.clone(), 1.0, True) | x.new([1, 2]) | x.new(2, 3).shape | x.new(torch.Size([2, 3])).shape | x.new((2, 3))
x.new([[1, 2], [3, 4]]) | n.new([1.5, 2]) | x.double().new([1]) | x.new(x) | x.new(n) | x.new(x.double()) | n.new(x)
x.new(3).shape | x.new([]) | x.new(0) | x.new(-1) | x.new(2, -1) | x.new(2.5) | x.new(None)
x.new([1, 2], device='cpu') | x.new(2, 3, device='cpu').shape | x.new(size=(2,)).shape | x.new(data=[1])
(x * x).new(2).requires_grad | x.new(x) is x | x.new(x).data_ptr() == x.data_ptr() | (x > 1).new([0, 2])
(x > 1).new(2).dtype | x.new(device='cpu') | x.new(['a']) | x.new([[1], [1, 2]]) | x.new(range(3)) | x.new((1.5, 2))
torch.func.vmap(lambda x: x.new([2.0]))(x)
"""

SURFACE = """
torch.from_numpy(np.broadcast_to(np.arange(3.0), (3,)))
[(k.dtype, type(k.item()).__name__) for k in [(x.float() * n).grad_fn._saved_other for n in (2, 2.0, 2)]]
x.to("cpu") | x.to(torch.device("cpu")) | x.to(n).dtype | x.to(y) is x | x.to("cpu") is x | x.to(torch.float64) is x
x.to(torch.float64, copy=True) | x.to(dtype=torch.float32) | x.to(device="cpu") | x.to("cpu", torch.float32)
x.to("cpu", torch.float32, True) | x.to("cpu", copy=True) | x.to(y, copy=True) | x.to()
x.to(torch.float32, non_blocking=True) | x.to(torch.float32, True, True) | x.to("float") | x.to("cuda")
n.to(torch.float32, copy=True) | n.to(torch.int64, copy=True) | x.to(copy=True) | x.type() | m.type() | x.type_as(n)
x.type(torch.float32) | x.type("torch.FloatTensor") | x.type(torch.float64) is x | x.type_as(x.float()) | x.byte()
x.cpu() is x | x.cuda() | x.type("float") | x.device | str(x.device) | x.device.type | x.device.index
x.device == torch.device("cpu") | torch.device("cpu", 0) | torch.device("cuda") | torch.device("cpu:0")
torch.device("nope") | torch.device(x.device) | {x.device: 1}[x.device] | torch.tensor([1.0], device="cpu")
torch.zeros(2, device="cpu") | torch.zeros_like(x, device="cpu") | torch.ones(2, device=x.device, dtype=torch.float64)
torch.arange(3, device="cpu") | torch.eye(2, device="cpu") | torch.full((2,), 1.0, device="cpu")
torch.linspace(0, 1, 3, device="cpu") | x.new_zeros(2, device="cpu") | torch.as_tensor([1.0], device="cpu")
torch.randint(0, 1, (2,), device="cpu") | torch.zeros(2, device="cuda") | x.new_full((2,), 3, device="cpu")
x.new_tensor([1, 2], device="cpu") | x.is_cpu | x.is_cuda | x.get_device() | str(torch.device("cpu:0"))
f"{torch.device('cpu', 0)}" | str(torch.device("cuda")) | str(torch.device("cuda", 1)) | A.flatten() | A.flatten(1)
A.flatten(0, 1) | A.flatten(start_dim=1) | A.flatten(1, 0) | A.flatten(5) | s.flatten() | x.flatten() is x
a.t().flatten() | a.expand(2, 2, 3).flatten() | torch.flatten(A, 1, 2) | e.flatten() | A.ravel()
A.transpose(0, 1).ravel() | s.ravel() | x.ravel() is x | torch.ravel(a) | A.swapaxes(0, 1) | A.swapdims(0, 1)
torch.swapaxes(A, 0, 1) | a.unflatten(1, (3, 1)) | x.unflatten(0, (1, -1)) | torch.unflatten(x, 0, (3, 1))
x.unflatten(0, (2, 2)) | x.unflatten(0, ()) | x.expand_as(a) | x.reshape_as(a[:1]) | a.view(size=(6,)) | s.T
torch.moveaxis(A, -1, 0) | A.moveaxis(0, 1) | A.movedim((0, 1), (1, 2)) | a.reshape(shape=(6,)) | x.broadcast_to((2, 3))
torch.broadcast_to(x, (2, 3)) | A.mT | a.sum(axis=0) | a.sum(axis=(0, 1), keepdims=True) | a.mean(axis=1, keepdims=True)
a.max(axis=1) | a.min(axis=1) | a.argmax(axis=1) | a.prod(axis=1) | a.cumsum(axis=0) | a.softmax(axis=1)
a.logsumexp(axis=0) | a.std(axis=0) | a.var(axis=0) | a.amax(axis=0) | a.amin(axis=0, keepdims=True) | a.squeeze(axis=0)
a.unsqueeze(axis=0) | a.sort(axis=0) | a.argsort(axis=0) | a.topk(1, axis=0) | a.gather(axis=0, index=j[None])
a.index_select(axis=0, index=j) | a.unbind(axis=0) | a.chunk(2, axis=0) | a.select(axis=0, index=0)
a.narrow(axis=0, start=0, length=1) | a.all(axis=0) | a.any(axis=0) | torch.cat([a, a], axis=1)
torch.stack([a, a], axis=1) | torch.sum(a, axis=1) | torch.mean(a, axis=1) | torch.cat([e, x]) | torch.cat([x, e])
torch.cat([e, a]) | torch.cat([a, e]) | torch.cat([a, e, a], 1) | torch.cat([e, e]) | torch.cat([e.long(), a.float()])
torch.cat([e, a.float()]) | torch.cat([torch.zeros(0, 2), a]) | torch.cat([e, a], 1) | torch.cat([e, a], 2)
torch.cat([x, s]) | torch.cat([a, x]) | torch.cat([a, a.t()]) | torch.concat([x, y]) | torch.stack([e, e])
torch.concatenate([x, y], axis=0) | torch.stack([x, y], dim=-2) | torch.stack(x) | torch.hstack([x, y]) | x.nelement()
x.ndimension() | x.itemsize | x.nbytes | x.is_complex() | n.is_signed() | m.is_signed() | x.stride(0) | a.stride(-1)
x.is_same_size(y) | x.is_nonzero() | s.is_nonzero() | torch.is_nonzero(s) | x.retains_grad | x.round(decimals=0)
x.round(decimals=-1) | n.round(decimals=0) | m % x | F.mse_loss(x, m) | F.mse_loss(m, m) | m.clamp(m, m)
func.grad(lambda t: F.mse_loss(t, m))(x.detach()) | n.__setitem__(n, 2.0) | s.argmin(-2) | s.argmax(1) | s.argmax(-1)
a[..., ...] | a[..., 0, ...] | m % z | x[True] | x[False] | x[0, True] | s[s > 0] | s[True] | x[torch.tensor(True)]
s[True, 0] | (lambda b: (b.__setitem__(True, 7.0), b, b._version))(x * 1)
(lambda b: (b.__setitem__(False, 9.0), b, b._version))(x * 1)
(lambda b: (b.__setitem__(b > 0, 5.0), b, b._version))(s * 1)
(lambda b: (b.__setitem__((..., ...), 2.0), b, b._version))(a * 1)
(lambda b: (b.__setitem__(True, b), b, b._version))(y.detach().clone())
(lambda b: (b.__setitem__(None, b), b, b._version))(m.clone()) | s.prod(-1) | s.prod(0, keepdim=True) | s.amax(0)
s.std(0) | s.norm(dim=0) | torch.cat([h, a[:, :2]]) | torch.stack([h, a[:, :2]]) | torch.hstack([h, a[:, :2]])
F.mse_loss(h, a[:, :2]) | torch.cat([h, i[:2].expand(2, 2)]) | torch.stack([h, i[:2].expand(2, 2)])
torch.hstack([h, i[:2].expand(2, 2)]) | F.mse_loss(h, i[:2].expand(2, 2)) | x * x + x.exp() + x * 3 + x | repr(x)
str(x) | f"{x}" | f"{s}"
f"{s:.2f}" | f"{n[0]:d}" | "%s" % x | f"{x!r}" | repr(x * y) | repr(x[0]) | repr(x.exp()) | repr(a @ M) | repr(a.sum())
repr(a.T) | repr(x.detach()) | repr(x > 0) | repr(n) | repr(x.float()) | repr(x.shape) | repr(x.dtype) | repr(a.max(0))
repr(a.sort()) | repr(torch.Size([])) | repr(x.grad) | repr([x, s]) | repr({"x": x}) | repr(x.float().detach())
repr((x * y).grad_fn.name()) | type(x * y).__name__ | type((x * y).grad_fn).__name__ | repr(torch.float64)
str(torch.bool)
"""

CREATED = """
torch.ones() | torch.zeros() | torch.empty() | torch.ones(size=(2,)) | torch.zeros(size=(2, 3)) | x.new_zeros(size=(2,))
torch.ones(-1) | torch.zeros(2, -3) | torch.empty(2, -3) | torch.randn(-1) | torch.full((-1,), 2.0) | x.new_ones(-1)
torch.ones(True) | torch.ones(2.0) | torch.ones("a") | torch.ones(None) | torch.ones((2, "a")) | torch.ones(2, "a")
torch.ones((2.0,)) | torch.ones([True, 3]) | torch.ones(2, True) | torch.ones((2,), (3,)) | torch.ones(2, size=(3,))
torch.ones(torch.tensor(2)) | torch.ones(torch.tensor([2, 3])) | torch.ones(np.int64(2), 3) | torch.ones(size=3)
torch.ones([torch.tensor(2), 3]) | torch.ones(range(3)) | torch.rand(2.0) | torch.rand(size=(2, 3)).shape
torch.rand(2, dtype=torch.int64) | torch.randn(2, dtype=torch.bool) | torch.rand_like(n) | torch.randint(0, 5)
torch.randint(5, 2) | torch.randint(0, 5, (-2,)) | torch.randint(3.0, (2,)).shape | torch.randint(0, 1, (2,))
torch.randint(1, (2,)) | torch.randint(1, 1, (2,)) | torch.randperm(-1) | torch.randperm(3.0) | torch.randperm(1)
torch.full(2, 1.5) | torch.full([2], 1) | torch.full((2,), "a") | torch.full((2,), None) | torch.full("ab", 1)
torch.full((2.0,), 1) | torch.full(None, 1) | torch.full((2,), x[0]) | torch.full((2,), x[0].detach())
torch.full((2,), x) | torch.full((2,), np.float32(2.5)) | torch.full((2,), True)
torch.full((2,), 300, dtype=torch.uint8) | torch.full((2,), -1, dtype=torch.uint8) | torch.full_like(n, 3.7)
torch.full((2,), 1e10, dtype=torch.int32) | torch.full((2,), 1e5, dtype=torch.float16) | torch.full_like(n, "a")
torch.full((2,), float("nan"), dtype=torch.int64) | torch.full((2,), float("inf"))
torch.full((2,), 2, dtype=torch.bool) | torch.full_like(n, 300, dtype=torch.uint8)
torch.tensor([300], dtype=torch.uint8) | torch.tensor([-1], dtype=torch.uint8) | torch.tensor([1e10], dtype=torch.int32)
torch.tensor([2.5], dtype=torch.int64) | torch.tensor(1e6, dtype=torch.float16)
torch.tensor(np.array([300]), dtype=torch.uint8) | torch.tensor([float("nan")], dtype=torch.bool) | torch.eye(2.0)
torch.eye("a") | torch.eye(-1) | torch.eye(2, -1) | torch.eye(True) | torch.eye(torch.tensor(2)) | torch.eye(n=2, m=3)
torch.linspace(0, 1, torch.tensor(3)) | torch.linspace(0, 1, -1) | torch.linspace(s.detach(), 2, 3)
torch.arange(end=3) | torch.arange(start=1, end=3) | torch.arange(0, 5, 2.5) | torch.arange(1, 3, step=0.5)
torch.arange(1, end=3) | torch.arange("a") | torch.arange(None) | torch.arange(torch.tensor(3))
torch.arange(np.int64(3)) | torch.arange(True) | torch.arange(float("inf")) | torch.arange(float("nan"))
torch.arange(2.5, dtype=torch.int64) | torch.arange(-2.5, 2.5, dtype=torch.int64)
torch.arange(0.5, 5, 1, dtype=torch.int32) | torch.arange(5, dtype=torch.bool) | torch.arange(10, 0, -3)
torch.arange(0, 3, 0) | torch.arange(3, 0) | torch.arange(0, -0.0) | torch.arange(n)
torch.tensor([1.0, 2], requires_grad=True) | torch.tensor([x[0], 2.0]) | torch.tensor(x) | torch.tensor(x[0])
torch.tensor(range(3)) | torch.tensor(collections.deque([1.0, 2])) | torch.tensor([collections.deque([1]), range(2, 3)])
torch.tensor(()) | torch.tensor([]) | torch.tensor([[]]) | torch.tensor([[], []]) | torch.tensor(3)
torch.tensor(2**40) | torch.tensor(True) | torch.tensor([1, 2.5]) | torch.tensor([True, 2]) | torch.tensor([True, 2.5])
torch.tensor(1e400) | torch.tensor(-1, dtype=torch.uint8) | torch.tensor(1.7, dtype=torch.int64)
torch.tensor([1.7, -1.7], dtype=torch.int32) | torch.tensor(2, dtype=torch.bool) | torch.tensor(1.5, dtype=float)
torch.ones(2, dtype=float) | torch.ones(2, dtype=int) | torch.ones(2, dtype=bool) | torch.ones(2).to(int)
torch.ones(()) | torch.ones([2, 3]) | torch.ones((2,)) | torch.ones(2, 3) | torch.ones(0)
torch.zeros(2, requires_grad=True) | torch.full((2,), 1.5) | torch.full((2,), 1)
torch.full((2,), 3, dtype=torch.float64) | torch.full([2, 2], 3.0, requires_grad=True) | torch.arange(5)
torch.arange(1, 5) | torch.arange(1, 5, 2) | torch.arange(5, 1, -1) | torch.arange(0, 1, 0.25) | torch.arange(3.0)
torch.arange(1, 2.5) | torch.arange(3, dtype=torch.float64) | torch.arange(3.0, requires_grad=True)
torch.zeros_like(x, dtype=torch.float32) | torch.ones_like(x, requires_grad=True) | torch.is_tensor(3)
torch.tensor([np.float64(1.5)]) | torch.tensor([np.float64(1.5), 2.0]) | torch.tensor([2.0, np.float64(1.5)])
torch.tensor([np.float32(1.5)]) | torch.tensor(np.float32(1.5)) | torch.tensor([np.int32(1)])
torch.tensor([np.int64(1), 2.5]) | torch.tensor([np.bool_(True)])
torch.tensor([torch.tensor(1., dtype=torch.float64), 2.0]) | torch.tensor([2.0, torch.tensor(1., dtype=torch.float64)])
torch.tensor([torch.tensor(1), 2.0]) | torch.tensor([torch.tensor(1, dtype=torch.int32), 2])
torch.tensor([torch.tensor([1.]), 2.0]) | torch.tensor([torch.tensor([1.]), torch.tensor([2.])])
torch.tensor([[torch.tensor(1.)], [torch.tensor(2.)]]) | torch.tensor([range(3)]) | torch.tensor((1, (2)))
torch.tensor(((1, 2), (3, 4))) | torch.tensor(np.array([1, 2]))
torch.tensor(np.array([1, 2], dtype=np.float32), dtype=torch.float64)
torch.tensor(np.array([1., 2.]), requires_grad=True) | torch.tensor([], dtype=torch.int64)
torch.tensor([1.5], dtype=float) | torch.tensor([1.5], dtype=int) | torch.tensor([1.5], dtype=bool)
torch.tensor([1.5], dtype=torch.int64) | torch.tensor([1, 2], dtype=torch.float16) | torch.tensor(x, requires_grad=True)
torch.tensor(x, dtype=torch.float32) | torch.tensor([x[0].detach(), 2.0]) | torch.zeros(2, dtype=int)
torch.full((2,), 1, dtype=float) | torch.full((), 2.5) | torch.arange(3, dtype=float) | torch.ones_like(x, dtype=int)
torch.zeros_like(x, dtype=float) | torch.ones(2).to(float) | torch.ones(2).to(bool) | torch.arange(3.5)
torch.arange(1, 2, 0.1).shape | torch.arange(0.0, 3) | torch.ones(x.shape) | torch.ones(*x.shape) | torch.ones(2, 0)
torch.ones((2, 3), requires_grad=True) | torch.full(size=(2,), fill_value=1.5) | torch.full((2,), fill_value=1.5)
torch.full((2,), torch.tensor(1.5)) | torch.randn(2, 3).shape | torch.randn((2, 3)).shape
torch.randn(2, requires_grad=True).requires_grad | torch.rand(2).dtype | torch.randn(2, dtype=torch.float64).dtype
torch.manual_seed(0) is not None | torch.is_tensor(x), torch.is_tensor(2) | torch.get_default_dtype()
torch.float64.itemsize, torch.bool.itemsize, torch.float16.is_floating_point
torch.float is torch.float32, torch.long is torch.int64
torch.double is torch.float64, torch.int is torch.int32, torch.half is torch.float16
torch.Size([2, 3]), torch.Size([2, 3]).numel(), x.shape == (3,), x.shape + (2,), torch.Size((2,)) == torch.Size([2])
torch.tensor(3.0).size(), torch.tensor(3.0).numel() | torch.Tensor() | torch.Tensor(2, 3).shape | torch.Tensor(3).shape
torch.Tensor(2, 0).shape | torch.Tensor((2, 3)) | torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor(size=(2, 3)).shape | torch.Tensor(np.int64(3), 2).shape | torch.Tensor(torch.tensor(3), 2).shape
torch.Tensor(torch.tensor(3)) | torch.Tensor(-1) | torch.Tensor(2, -3) | torch.Tensor([1, 2])
torch.Tensor([[1.0, 2], [3, 4]]) | torch.Tensor([]) | torch.Tensor([[]]) | torch.Tensor([True]) | torch.Tensor(range(3))
torch.Tensor(data=[1, 2]) | torch.Tensor([torch.tensor(1.0), torch.tensor(2)]) | torch.Tensor(np.array([1, 2]))
torch.Tensor(np.ones(2)).dtype | torch.Tensor(np.array(2.0)) | torch.Tensor([[1, 2], [3]]) | torch.Tensor(1.5)
torch.Tensor(None) | torch.Tensor('a') | torch.Tensor(True) | torch.Tensor({1, 2}) | torch.Tensor(["a"])
torch.Tensor(np.float64(3)) | torch.Tensor(2, 3.0) | torch.Tensor(2, None) | torch.Tensor([1], device='cpu')
torch.Tensor(2, device='cuda') | torch.Tensor(1, device='meta') | torch.Tensor(x) | torch.Tensor(other=n)
torch.Tensor(n).data_ptr() == n.data_ptr() | torch.Tensor(x * 2).sum().backward()
type(torch.Tensor([1])) is torch.Tensor | torch.nn.Parameter(torch.Tensor(2, 3)).shape | x.new(np.ones(2, int))
x.new('a') | x.new(2, -3) | x.new(True) | x.new(torch.tensor(3), 2).shape | x.new() | x == None | x != None | x == 'a'
e.mean() | a.t().t().view(6) | torch.add(1, x) | torch.mul(2, x) | m + m | n ** 2.0 | n ** 0.5 | m * 2 | m + 1
n.numpy().tolist() | x.T.T | hash(x) == hash(x) | x in [x] | x.size(-1) | x.dim() | setattr(x, 'requires_grad', False)
setattr(x, 'grad', None) | n.copy_(x) | x.shape[0:1], x.shape[-1], tuple(x.shape), len(x.shape), [*a.shape]
isinstance(x, torch.Tensor), type(x).__name__ | torch.eye(2, 3) | torch.eye(2, dtype=torch.int64)
torch.eye(2, requires_grad=True) | torch.empty(2, 3, dtype=torch.int64).shape | torch.empty_like(a).requires_grad
torch.empty_like(2) | torch.full_like(a, 3) | torch.full_like(n, 2.5) | torch.full_like(a, 3, dtype=torch.int64)
torch.full_like(n, True) | torch.linspace(0, 1, 5) | torch.linspace(0, 1, 1)
torch.linspace(0, 5, 4, dtype=torch.int64) | torch.linspace(0, 1, 0) | torch.linspace(3, 1, 5, dtype=torch.float64)
torch.linspace(-5, 5, 6, dtype=torch.int64) | torch.randint(5, (2,)).dtype | torch.randint(1, 3, (2, 2)).shape
torch.randint(3, 3, (2,)) | torch.randperm(4).dtype | torch.randint(2, 5, size=(3,)).shape
torch.randint(high=5, size=(3,)).shape | torch.randint(0, 5, (2,), requires_grad=True) | torch.randn_like(a).shape
torch.rand_like(a, dtype=torch.float32).dtype | torch.randn_like(n) | torch.randn(2, dtype=torch.int64)
x.new_zeros(2, 3) | x.new_zeros((2,), dtype=torch.int64) | n.new_ones(2) | x.new_ones(2, requires_grad=True)
x.new_full((2,), 1.5) | n.new_full((2,), 1.5) | x.new_tensor([1, 2]) | n.new_tensor([1.5, 2]) | x.new_empty(2).dtype
torch.from_numpy(np.arange(3)) | torch.from_numpy([1, 2]) | torch.from_numpy(np.array(3.0))
torch.from_numpy(np.float64(3.0)) | torch.from_numpy(np.arange(3)[::-1]) | torch.as_tensor([1, 2.0])
torch.as_tensor(np.float64(2)) | torch.asarray([1, 2]) | torch.as_tensor(x) is x
torch.asarray(np.arange(3), dtype=torch.float32) | torch.asarray(x).requires_grad
torch.asarray([1.0], requires_grad=True) | torch.asarray(x, requires_grad=False) | torch.asarray(x * 2)
torch.asarray(x, copy=True) | torch.asarray(x, dtype=torch.float32) | torch.asarray(x.detach(), requires_grad=True)
"""

LAYOUTS = """
a.t().clone() | A.permute(2, 0, 1).clone() | A[:, :, ::2].transpose(0, 1).clone() | x.expand(2, 3).clone() | a.t() * 2
a.expand(2, 2, 3).clone() | a.t().contiguous() | a.t().exp() | a.t() + a.t() | a.t() + x[:2] | -a.t() | a.t().relu()
a.t() ** 2 | a.t().erf() | a.t().float() | a.t() > 0 | a.t().clamp(0, 1) | a.t().masked_fill(a.t() > 0, 1.0) | 1 / a.t()
torch.where(a.t() > 0, a.t(), 0.0) | A.permute(2, 0, 1) * 2 | A.permute(2, 0, 1) + a[0][:, None, None] | a.t().flip(0)
a.t().cumsum(0) | a.t().cumprod(1) | a.t().softmax(0) | a.t().log_softmax(1) | a.t().roll(1, 0) | a.t().tril()
A.permute(2, 0, 1).sum(1) | A.permute(2, 0, 1).sum(1, keepdim=True) | A.permute(2, 0, 1).mean(1)
A.permute(2, 0, 1).amax(1) | A.permute(2, 0, 1).max(1) | A.permute(2, 0, 1).prod(1) | A.permute(2, 0, 1).norm(3, 1)
A.permute(2, 0, 1).var(1) | A.permute(2, 0, 1).std(1, keepdim=True) | A.permute(2, 0, 1).logsumexp(1)
A.permute(2, 0, 1).argmax(1) | torch.cat([a.t(), a.t()]) | torch.stack([a.t(), a.t()], 1) | a.t() @ a
torch.nn.functional.layer_norm(a.t(), (2,)) | torch.nn.functional.batch_norm(a.t(), None, None, training=True)
torch.zeros_like(a.t()) | torch.ones_like(A.permute(2, 0, 1), dtype=torch.int64) | torch.full_like(a.t(), 2)
torch.zeros_like(x.expand(2, 3)) | a.t().reshape(2, 3) | torch.zeros(0, 3) | torch.zeros(3, 0, 2).sum(0)
torch.zeros(0) | torch.autograd.grad((a.t() * 2).sum(), a)[0] | torch.autograd.grad((a @ M).sum(), M)[0]
"""

CORNERS = """
w.sign() | w.abs() | w.max() | w.min() | u.max() | u.min() | w.max(0) | w.min(0) | u.max(0) | w.amax() | w.amin(0)
u.amax() | V.amax(1) | V.amin((0, 1)) | V.max(1) | w.median() | u.median() | V.median(1) | x.median() | a.median(1)
a.median(0, True) | s.median() | s.median(0) | e.median() | e.median(0) | a[:0].median(1) | a[:0].median(0) | m.median()
m.median(0) | n.median() | n.median(1) | torch.median(a) | w.argmax() | w.sort() | w.topk(2) | w.sort(descending=True)
w.argsort(descending=True) | w.topk(3, largest=False) | torch.maximum(w, y.detach()[:1])
torch.maximum(y.detach()[:1], w) | torch.minimum(y.detach()[:1], w) | w.clamp(0, 2) | w.clamp(min=0)
w.clamp(min=w.detach()) | w.relu() | F.leaky_relu(w) | F.elu(w) | F.elu(w * 1, inplace=True) | F.gelu(w) | F.softplus(w)
F.silu(w) | F.logsigmoid(w) | w.softmax(0) | w.logsumexp(0) | w.std() | w.norm() | w.norm(1) | w.norm(float('inf'))
u.norm(float('inf')) | V.norm(float('inf'), 1) | w.norm(3) | w.prod() | w.cumsum(0) | w ** 2 | w ** 0 | 2 ** w
w.round() | w.floor() | w > 0 | w == w | torch.isnan(w) | F.mse_loss(w, y.detach()[:1].expand(4)) | (w * 1).sign_()
(w * 1).abs_() | (w * 1).relu_() | a.sum_to_size(2, 3) is a | a.sum_to_size(2, 3) | a.sum_to_size(1, 3)
a.sum_to_size((3,)) | a.sum_to_size(()) | a.sum_to_size() | a.sum_to_size(2, 4) | a.sum_to_size(4, 2, 3)
a.sum_to_size(-1, 3) | a.sum_to_size(2.0, 3) | a.sum_to_size([1, 1]) | a.sum_to_size(size=(1, 1)) | a.sum_to_size('a')
a.sum_to_size(2, 1, 3) | s.sum_to_size(()) | s.sum_to_size(1) | s.sum_to_size(()) is s | n.sum_to_size(1)
s.movedim(0, 0) | s.movedim((), ()) | s.movedim(-1, 0) | s.moveaxis(0, 0) | s.movedim(1, 0) | s.movedim((0, 0), (0, 0))
a.movedim((), ()) | a.movedim(0, 0) | a.movedim((0, 0), (0, 1)) | a.movedim((0, 1), (0, 0)) | s.swapaxes(0, 0)
s.transpose(0, -1) | s.t() | s.flip(()) | s.permute() | s.permute(()) | a.permute() | a.permute(())
a.permute(dims=(1, 0)) | a.permute((1, 0)) | torch.permute(a, (1, 0)) | torch.permute(a) | torch.permute(a, dims=(1, 0))
a.permute('a') | a.permute(1.0, 0) | a.permute(0, 5) | a.permute(range(2)) | a.view() | a.reshape() | s.view()
s.reshape() | s.reshape(()) | s.view(()) | s.expand(()) | s.expand() | a.expand() | a.repeat() | a.flip()
a.flip(dims=(0,)) | a.repeat(repeats=(1, 2)) | s.expand(size=(2,)) | a.reshape(shape=(3, 2)) | a.reshape('a')
a.view(size=(3, 2)) | torch.zeros(2.0, 3) | torch.ones('a', 3) | F.cross_entropy(O, i[1:])
F.cross_entropy(O, O.detach()) | F.cross_entropy(O, O.detach(), label_smoothing=0.1)
F.cross_entropy(O, O.detach(), reduction='none') | F.cross_entropy(O, O.detach(), reduction='sum')
F.cross_entropy(O[:0], i[:0]) | F.cross_entropy(R, i[:0]) | F.cross_entropy(R, R.detach())
F.cross_entropy(R, R.detach(), y.detach()) | F.cross_entropy(O[0], O[0].detach()) | F.cross_entropy(O[0], i[0])
F.cross_entropy(O, torch.tensor([-100, -100])) | F.cross_entropy(O, torch.tensor([-100, -100]), reduction='sum')
F.cross_entropy(O, i[1:], reduction='none') | F.nll_loss(O, torch.tensor([-100, -100])) | F.nll_loss(O, i[1:])
F.nll_loss(O, torch.tensor([-100, -100]), reduction='none') | O.softmax(1) | O.log_softmax(0) | O.logsumexp(1)
torch.bitwise_not(x) | ~x | torch.add(n.byte(), n.byte(), alpha=-1) | torch.add(n.byte(), n.byte(), alpha=300)
n.byte().sub_(n.byte(), alpha=-1) | torch.addmm(n, n[None], n[:, None], beta=0.5, alpha=2.5) | a.permute(0)
s.unbind(0) | s.unbind(1) | e[i] | A[:, :0][:, i] | torch.index_put(e, (i,), x) | F.mse_loss(n, m) | F.huber_loss(n, n)
F.smooth_l1_loss(n, n) | F.smooth_l1_loss(n, x) | F.binary_cross_entropy_with_logits(n, n)
F.binary_cross_entropy_with_logits(x, n) | F.binary_cross_entropy_with_logits(x, m)
F.binary_cross_entropy(z[:2], z[:2].detach())
func.grad(lambda t: F.binary_cross_entropy(z[:2].detach(), t))(x[:2] / 4) | F.avg_pool2d((A * 8).long(), 2)
F.avg_pool2d(A.int(), 2) | F.avg_pool2d((A * 8).long(), 2, padding=1) | F.linear(m, m[None], m[:1])
F.linear(m[None], m[None], m[:1]) | F.scaled_dot_product_attention(a, a, a.float())
F.batch_norm(a, None, None, x.float(), training=True) | F.batch_norm(a, None, None, x, x.float(), True)
F.batch_norm(a.float(), None, None, x, training=True)
F.batch_norm(a.half(), None, None, x.float(), training=True).sum()
F.batch_norm(a.float(), x.detach().float(), p.detach(), x.float()) | F.max_pool2d(A > 0, 1)
F.max_pool2d(A[None][:0], 2) | torch.vstack([x, y]) | torch.vstack([a, x]) | torch.vstack([s, s]) | torch.vstack([])
torch.vstack(3) | torch.vstack(a) | torch.hstack([s, s]) | torch.hstack([x, s]) | torch.hstack([a, a])
torch.hstack([]) | torch.hstack(a) | torch.dstack([s, s]) | torch.dstack([x, y]) | torch.dstack([a, a])
torch.dstack([A, A]) | torch.dstack([]) | torch.column_stack([s, s]) | torch.column_stack([x, y])
torch.column_stack([a, c]) | torch.column_stack([A, A]) | torch.column_stack([]) | torch.row_stack([a, x])
torch.atleast_1d(s) | torch.atleast_2d(x) | torch.atleast_3d(x) | torch.atleast_3d(s) | torch.atleast_3d(a)
torch.atleast_1d(x) is x | torch.atleast_2d(s, x) | torch.atleast_2d([s, x]) | h.sum(dtype=D) | h.sum(dtype=H)
h.sum(0, dtype=D) | h.sum((0, 1), True, dtype=D) | h.mean(dtype=D) | h.mean(0, dtype=D) | h.prod(dtype=D)
h.prod(0, dtype=D) | h.cumsum(0, dtype=D) | h.cumprod(1, dtype=D) | h.softmax(0, dtype=D) | h.sum(dtype=L)
h.sum(0, dtype=L) | h.prod(dtype=L) | h.prod(0, dtype=L) | h.cumsum(0, dtype=L) | h.cumprod(0, dtype=L)
h.sum(0, dtype=torch.bool) | h.mean(dtype=L) | h.mean(0, dtype=L) | h.sum(dtype=torch.float16) | n.sum(dtype=H)
n.mean(dtype=H) | n.prod(dtype=H) | n.cumsum(0, dtype=H) | n.sum(dtype=torch.int32) | n.sum(dtype=torch.bool)
n.prod(dtype=torch.uint8) | h.detach().sum(dtype=L) | h.detach().cumsum(0, dtype=L) | h.detach().prod(0, dtype=L)
func.grad(lambda h: h.sum(dtype=D))(h) | func.vmap(lambda h: h.sum(dtype=D))(h)
func.vmap(lambda h: h.sum(0, dtype=D))(h) | func.vmap(lambda h: h.prod(dtype=D))(h.detach())
func.vmap(lambda h: h.median())(h.detach()) | func.jvp(lambda h: h.prod(dtype=D), (h.detach(),), (h.detach(),))
func.jvp(lambda h: h.cumsum(0, dtype=D), (h.detach(),), (h.detach(),)) | f % 3 | f % -3 | f.fmod(3) | f.fmod(-3) | f % g
f.fmod(g) | f % g[:1] | f % x[0] | torch.remainder(f, 3) | torch.fmod(f, g) | torch.remainder(7, f) | 7 % f | 7 % n
7 // n | n % 3 | n // 3 | n.fmod(3) | n % 2.5 | n // 2.5 | n % 0 | n // 0 | n.fmod(0) | (f // 3).sum().backward()
repr(f // 3) | (7 // f).grad_fn | f // 3 | f // g | 7 // f | f.floor_divide(g) | torch.floor_divide(7, f) | f % 0
f // 0 | f.fmod(0) | f % float('inf') | f // float('inf') | f % float('-inf') | f.fmod(float('inf')) | w % 2 | w // 2
m % 2 | m // 2 | m % m | m // m | m.fmod(m) | m.fmod(2) | m % True | f % 'a' | f // None | 'a' % f | [1] // f
divmod(f, 2) | f % x | f // x | n.byte() % 3 | n.byte() // -1 | torch.tensor(5.0) % n | n % torch.tensor(2.5)
np.float32(7) % f.detach() | f % np.float64(3) | (f * 1).remainder_(3) | (f * 1).remainder_(g) | (f * 1).fmod_(3)
(f * 1).floor_divide_(3).sum().backward() | f.detach().floor_divide_(3) | f.remainder_(3) | n.remainder_(2.5)
n.floor_divide_(2.5) | n.clone().remainder_(2) | n.clone().floor_divide_(2) | (f * 1).__imod__(3)
(f * 1).detach().__ifloordiv__(3) | f.div(2, rounding_mode='trunc') | f.div(g, rounding_mode='floor')
n.div(2, rounding_mode='trunc') | n.div(0, rounding_mode='trunc') | n.div(2, rounding_mode='up') | n.div(2)
m.div(m, rounding_mode='floor') | m.div(m, rounding_mode='trunc') | (f * 1).div_(2, rounding_mode='floor')
n.clone().div_(2, rounding_mode='floor') | n.clone().div_(2) | func.jvp(lambda f: f % 2, (f.detach(),), (f.detach(),))
func.jvp(lambda f: f % f, (f.detach(),), (f.detach(),)) | func.jvp(lambda f: f // 2, (f.detach(),), (f.detach(),))
func.grad(lambda f: (f % 2).sum())(f.detach()) | func.grad(lambda f: (f // 2).sum())(f.detach())
func.vmap(lambda f: (f // 2, f % 2, 7 % f))(f.detach()) | x.storage_offset() | x[2:].storage_offset()
M[1, 1:].storage_offset() | M[::2].storage_offset() | s.storage_offset() | M[1:].clone().storage_offset()
M.t().storage_offset() | M.t()[1].storage_offset() | M.flip(0).storage_offset() | M.detach()[1].storage_offset()
M[1].data.storage_offset() | M[1][1:].storage_offset() | M[1].detach().storage_offset() | 0 ** h | 0.0 ** h
0 ** (h - 1) | torch.pow(0, h) | 2 ** h | func.grad(lambda h: (0 ** h).sum())(h.detach()) | torch.matmul(a[None], M)
torch.matmul(a[None, :, :2], M[:2]) | torch.matmul(a[:, None], M) | torch.matmul(a.T[None], c)
torch.matmul(M.T, a.T[None]) | torch.matmul(M[:, 0], a.T[None]) | torch.matmul(a[None], M[:, 0]) | A[:, :1] @ M
A.transpose(0, 1) @ M | F.linear(a[None, :, :2], M[:2].T) | a[:, None].expand(2, 4, 3) @ M
"""

INDICES = """
x.index_add(0, i, n) | x.index_add(0, i, y.float()) | x.index_add(0, B, y) | x.index_add(0, m, y) | x.index_add(0, x, y)
x.index_add(0, k, y[:1]) | a.index_add(0, k, a[:1]) | a.index_add(1, k, a[:, :1], alpha=2) | A.index_add(1, k, A[:, :1])
A.index_add(2, k, A[:, :, :1]) | s.index_add(0, k, s) | x.index_add(0, -i, y) | x.index_add(0, o, y[0])
x.index_add(0, o, y[:1]) | s.index_add(0, i[:1], s) | s.index_add(0, i[:1], y[:1]) | s.index_add(0, i[:2], y[:2])
x.index_add(0, i, y[:2]) | x.index_add(0, v, y) | x.index_add(0, v.double(), y) | a.index_add(0, i[:1], x)
a.index_add(1, i[:1], a[:1, :1]) | a.index_add(0, i[:1], a) | a.index_add(1, i, x) | n.index_add(0, i, n, alpha=2.5)
m.index_add(0, i, m) | x.index_add(0, i, y, alpha=2.5) | x.index_add(0, 3, y) | x.index_add(0, i, y, alpha="a")
(x * 1).index_add_(0, i, n) | x.index_add(0, E, e) | x.index_select(0, m) | x.index_select(0, B) | x.index_select(0, x)
x.index_select(0, i.int()) | x.index_select(0, k) | x.index_select(0, -i) | x.index_select(0, o)
x.index_select(0, o + 3) | a.index_select(0, o) | a.index_select(1, o) | a.index_select(1, k) | a.index_select(0, k)
a.t().index_select(1, k) | A.index_select(1, k) | A.index_select(2, k) | s.index_select(0, i[1:2])
s.index_select(0, o - o) | s.index_select(0, k) | s.index_select(0, i) | s.index_select(0, E) | x.index_select(0, e)
x.index_select(0, v) | x.index_select(0, v.double()) | x.index_select(0, 1) | e.index_select(0, o)
a[:0].index_select(0, o) | a[:0].index_select(1, o) | a[:, :0].index_select(0, o) | a[:, :0].index_select(1, o)
a[:0].index_select(1, k) | a[:, :0].index_select(0, k) | m.index_select(0, k) | x.index_select(0, E) | x[B] | x[B[:2]]
a[B[:2]] | a[:, B] | a[B[:2], B] | a[(a > 0).to(torch.uint8)] | a[B] | x[B[0]] | x[B[1]] | x[B[None]]
x[np.array([1, 0, 1], np.uint8)] | x[np.array(1, np.uint8)] | x[np.uint8(1)] | x[[1, 0, 1]] | x[[]] | x[E] | x[e]
x.index_put((B,), y[0]) | (x * 1).index_put_((B,), y[:2]) | (x * 1).index_put_((B,), y[:1], accumulate=True)
(x * 1).__setitem__(B, 2.0) | (x * 1).__setitem__(B[0], y) | (a * 1).__setitem__((0, B), 2.0)
(a * 1).__setitem__((i[1:2], B), 2.0) | x.masked_fill(B, 1.0) | x.masked_fill(n.int(), 1.0) | x.masked_select(B)
x.gather(0, E) | x.gather(0, e) | a.gather(0, E) | a.gather(1, E) | a.gather(5, E) | s.gather(0, E) | a.gather(0, 3)
a.gather(1, torch.zeros(0, 3, dtype=torch.int64)) | a.gather(1, torch.zeros(2, 0)) | a.scatter(0, E, 2.0)
a.scatter(0, E, a) | a.scatter(0, E, x) | a.scatter(0, e, x) | a.scatter(0, E, x.float()) | a.scatter_add(0, E, a)
a.scatter_add(0, E, x) | a.scatter_add(0, e, x) | a.scatter_add(0, e, x.float()) | x.index_put((i,), n)
x.index_put((i,), n[:2]) | x.index_put((k,), n[:2]) | x.index_put((k,), y[:2]) | x.index_put((k,), y[:1])
x.index_put((k,), n[:1]) | x.index_put((k,), y[:1], accumulate=True) | x.index_put((e,), e)
x.index_put((v.double(),), y) | x.index_put((i, i), y) | x.index_put((m, m), y) | x.index_put((m, i), n)
x.index_put((m[:2],), n) | x.index_put((m,), y) | x.index_put((m,), n) | x.index_put((m,), n[0])
x.index_put((m,), n[:1], accumulate=True) | a.index_put((i[:2], i), n) | a.index_put((i[:2], i), x)
a.index_put((m,), y) | a.index_put((i,), a) | a.index_put((j[:2],), a[None]) | a.index_put((j[:2],), a[None].float())
s.index_put((i,), s) | a.index_put((j[:2],), a[:, :1]) | a.index_put((E,), a[:, :1]) | a.index_put((E,), a[:1])
x.index_put(i, y) | x.index_put((2,), y) | x.index_put((i,), 2.0) | (a * 1).index_put_((None, i), x)
(x * 1).index_put_(7, y) | (x * 1).__setitem__(k, y[:2]) | (x * 1).__setitem__(k, n[:2]) | (x * 1).__setitem__(i, n)
(a * 1).__setitem__(i, a)
"""

OTHER_NODES = """
torch.sum(x, dtype=torch.float32) | x @ A.permute(0, 2, 1) | a @ A.transpose(1, 2) | 0 ** p | (x ** 2).sum() * x
list(x)[1] * list(a)[0] | [row.sum() for row in a][1] | torch.stack([row * row for row in a]) | torch.max(x, dim=0)[0]
torch.var_mean(a) | torch.var_mean(a, 1) | torch.std_mean(a, 0, keepdim=True) | torch.std_mean(a, correction=0)
torch.var_mean(a, False) | torch.trapezoid(x) | torch.trapezoid(a, dx=2, dim=0) | torch.trapezoid(x, y)
torch.trapezoid(a, x) | torch.cumulative_trapezoid(x) | torch.cumulative_trapezoid(a, x) | F.pairwise_distance(a, q)
F.pairwise_distance(x, y, 1.0, keepdim=True) | nn.PairwiseDistance(3.0)(a, q) | torch.cdist(a, M[:, :3])
torch.cdist(A, A + 1, 1.0) | torch.cdist(x, a) | torch.cdist(a, M) | torch.diff(x, 0)
"""
SINGLE = """
a.softmax(3) | n.softmax(0) | a.long().softmax(0) | n.log_softmax(0) | a.logsumexp(4) | a.logsumexp((0, 0))
m.softmax(0) | s.long().softmax(0) | torch.addmm(x, a, M) | torch.addmm(M, a, M) | torch.addmm(x, a, x)
torch.addmm(x, x, a) | torch.addmm(x, a, a) | torch.addmm(x.float(), a, M) | torch.addmm(A, a, M)
torch.addmm(x, a, M.float()) | torch.outer(a, x) | torch.outer(x, a) | F.linear(a, M) | F.linear(a, M.T, x)
F.linear(a, M.T.float()) | F.linear(s, M) | F.linear(A, a, x.float()) | F.linear(A, a.float(), x)
F.linear(A, a.float(), x.float()) | torch.einsum('ij,jk->ik', a, a) | torch.einsum('ii', a) | torch.einsum('i->ii', x)
torch.einsum('i->k', x) | torch.einsum('ij,jk', a) | torch.einsum('ij', a, a) | torch.einsum('ijk', a)
torch.einsum('i1', a) | torch.einsum('i.j', a) | torch.einsum('..i', a) | torch.einsum('ij->i1', a)
torch.einsum('ij,jk->ik', a, M.float()) | torch.einsum('ij...', x) | torch.einsum('i......', a)
torch.einsum('ij->i.', a) | F.conv2d(im, torch.ones(6, 2, 3, 3), groups=2).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=2, padding=1, dilation=2).shape
F.conv2d(im, torch.ones(6, 4, 3, 2), padding='same').shape | F.conv2d(im, torch.ones(6, 4, 4, 2), padding='same').shape
F.conv2d(im, torch.ones(6, 4, 3, 2), padding='valid').shape | F.conv2d(im, torch.ones(6, 4, 3, 2), padding='foo').shape
F.conv2d(im, torch.ones(6, 4, 3, 2), stride=2, padding='same').shape | F.conv2d(im[0], torch.ones(6, 4, 3, 2)).shape
F.conv2d(im[0, 0], torch.ones(6, 4, 3, 2)).shape | F.conv2d(im, torch.ones(6, 3, 3, 2)).shape
F.conv2d(im, torch.ones(6, 4, 6, 2)).shape | F.conv2d(im, torch.ones(6, 4, 3, 2), torch.ones(5)).shape
F.conv2d(im, torch.ones(5, 2, 3, 3), groups=2).shape | F.conv2d(im, torch.ones(6, 4, 3, 3).double()).shape
F.conv2d(im.double(), torch.ones(6, 4, 3, 3)).shape | F.conv2d(im, torch.ones(6, 4, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=0).shape | F.conv2d(im, torch.ones(6, 4, 3, 3), padding=-1).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), dilation=0).shape | F.conv2d(im, torch.ones(6, 4, 3, 3), stride=(1, 2, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=(1, 2)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), torch.ones(6).double()).shape
F.conv2d(im.long(), torch.ones(6, 4, 3, 3).long()).shape | F.conv2d(im[:0], torch.ones(6, 4, 3, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), groups=0).shape | F.layer_norm(a, 3) | F.layer_norm(a, (2, 3))
F.layer_norm(a, [3], torch.ones(3), torch.zeros(3), 0.1) | F.layer_norm(a, (2, )) | F.layer_norm(a, (4, ))
F.layer_norm(a, ()) | F.layer_norm(a, (3, ), torch.ones(2)) | F.layer_norm(a, (3, ), None, torch.ones(2))
F.layer_norm(a.double(), (3, ), x) | F.layer_norm(a.double(), (3, ), None, x) | F.layer_norm(n, (3, ), x, x)
F.layer_norm(a.double(), (3, ), x, x.double()) | F.layer_norm(a.double(), (3, ), x.double(), x)
F.layer_norm(a, (3, ), n, n) | F.layer_norm(a, (3, ), x, n) | F.layer_norm(a, (3, ), x.half(), x.half())
F.layer_norm(n, (3, ), n, n) | F.layer_norm(a.double(), (3, ), x[:2]) | F.layer_norm(s.double(), (3, ), x, x)
F.linear(torch.zeros(0), torch.ones(2, 0), torch.ones(2)) | F.linear(torch.zeros(0), torch.ones(2, 3), torch.ones(2))
F.linear(torch.zeros(2, 2, 0), torch.ones(2, 0), x[:2]) | F.linear(torch.zeros(0, 2, 0), torch.ones(2, 0), x[:2])
F.linear(torch.zeros(2, 2, 0), torch.ones(2, 3), torch.ones(2)) | F.linear(torch.zeros(0, 3), torch.ones(2, 3), x[:2])
F.layer_norm(a, (3, ), torch.ones(3).double()) | F.layer_norm(n, (3, )) | F.layer_norm(s, ())
F.batch_norm(a, None, None) | F.batch_norm(a, None, None, training=True)
F.batch_norm(a, torch.zeros(3), torch.ones(3)) | F.batch_norm(a, torch.zeros(2), torch.ones(3))
F.batch_norm(a, torch.zeros(3), torch.ones(3), torch.ones(2))
F.batch_norm(a[:1], torch.zeros(3), torch.ones(3), training=True) | F.batch_norm(x, torch.zeros(3), torch.ones(3))
F.batch_norm(a, None, torch.ones(3), training=True) | F.batch_norm(a, torch.zeros(3), None, training=False)
F.batch_norm(s, None, None, training=True) | F.batch_norm(n.reshape(1, 3), torch.zeros(3), torch.ones(3))
F.dropout(a, 1.5) | F.dropout(a, -.1) | F.dropout(n, 0.5) | F.nll_loss(a, torch.tensor([0, 2]))
F.nll_loss(a, torch.tensor([0, 3])) | F.nll_loss(a, torch.tensor([0, -100])) | F.nll_loss(a, torch.tensor([-100, -100]))
F.nll_loss(a, torch.tensor([0, 1, 2])) | F.nll_loss(a, torch.tensor([0., 1.]))
F.nll_loss(a, torch.tensor([0, 1], dtype=torch.int32)) | F.nll_loss(a, torch.tensor([0, 1], dtype=torch.uint8))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2.]))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]).double())
F.nll_loss(a, torch.tensor([0, 2]), reduction='none') | F.nll_loss(a, torch.tensor([0, 2]), reduction='sum')
F.nll_loss(a, torch.tensor([0, 2]), reduction='foo') | F.nll_loss(a, torch.tensor([0, 2]), ignore_index=2)
F.nll_loss(x, torch.tensor(1)) | F.nll_loss(x.detach(), torch.tensor([1])) | F.nll_loss(s, torch.tensor(1))
F.nll_loss(A, torch.zeros(2, 4, dtype=torch.int64)) | F.nll_loss(A, torch.zeros(2, 3, dtype=torch.int64))
F.nll_loss(im, torch.zeros(2, 5, 5, dtype=torch.int64))
F.nll_loss(im, torch.zeros(2, 5, 5, dtype=torch.int64), reduction='none').shape
F.nll_loss(a[:0], torch.tensor([], dtype=torch.int64)) | F.cross_entropy(a, torch.tensor([0, 2]))
F.cross_entropy(x, torch.tensor(1)) | F.cross_entropy(a, torch.ones(2, 3)/3)
F.cross_entropy(a, torch.ones(2, 3)/3, reduction='none')
F.cross_entropy(a, torch.ones(2, 3)/3, torch.tensor([1., 2., 3.]))
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=1.1)
F.cross_entropy(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='sum', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='none', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2, 1])) | F.cross_entropy(a, torch.tensor([0., 2.]))
F.cross_entropy(a, torch.tensor([0, 5])) | F.mse_loss(a, a*2) | F.mse_loss(a, x) | F.mse_loss(a, x[:2])
F.mse_loss(a, a*2, reduction='none') | F.mse_loss(a, a*2, reduction='sum') | F.mse_loss(a, a*2, reduction='foo')
F.mse_loss(a, a.double()) | F.mse_loss(n, n) | F.mse_loss(x, n) | F.mse_loss(a, 2.)
F.mse_loss(a, a, size_average=False) | x * np.float64(2) | np.float64(2) * x | np.float32(2) * x | np.int64(2) * x
x * np.int64(2) | x + np.float32(1) | x - np.float64(1) | np.float64(1) - x | np.float32(1) - x | np.int64(1) - x
np.float64(1) / x | np.int64(1) / x | x / np.float64(2) | x ** np.float64(2) | x ** np.int64(2) | np.float64(2) ** x
np.int64(2) ** x | np.float32(2) ** x | x > np.float64(0) | np.float64(0) < x | x == np.float64(0.5) | n * np.float64(2)
np.float64(2) * n | np.float32(1) - n | np.bool_(True) * x | torch.add(x, np.float64(2))
x.clamp(np.float64(0), np.float64(1)) | torch.pow(x, np.float64(2)) | torch.pow(np.float64(2), x) | x.add(np.int64(1))
torch.where(m, x, np.float64(1)) | torch.full((2,), np.float64(2)) | torch.full((2,), np.int64(2)) | x.sum(np.int64(0))
x.reshape(np.int64(3), 1) | x[np.int64(1)] | x[np.array([1, 0])] | a[np.array([True, False])] | a[:, np.int64(1)]
torch.zeros(np.int64(2)) | a.transpose(np.int64(0), np.int64(1)) | a.sum((np.int64(0),))
x.masked_fill(m, np.float64(2)) | a.unsqueeze(np.int64(0)) | x.pow(np.float64(2)) | x.clone().add_(np.float64(1))
x.clone().fill_(np.float64(3)) | a.detach().norm(np.float64(3)) | x * np.array(2.0) | x + np.array([1.0, 2.0, 3.0])
np.array([1.0, 2.0, 3.0]) * x | np.array([1.0, 2.0, 3.0]) + x.detach() | x @ np.ones(3)
torch.mul(x, np.array([1, 2, 3])) | torch.exp(np.float64(2)) | np.sin(x) | np.asarray(x) | 2 in n | 7 in n | x[0] in x
np.int64(3) in n | 'a' in x | [1] in n | None in x | f"{s}" | f"{s:.3f}" | f"{x}" | f"{x:.2f}" | f"{n[0]:d}" | format(s)
list(n) | len(a) | [1, 2, 3][n[2]] | np.ones(3)[n[2]] | max([x[0], x[1]]).item() | sorted([x[0], x[1]])[0].item()
np.stack([x.detach(), y.detach()]).tolist() | float(s)
"""
PLAIN = """
x.add(None) | torch.add(x, None) | x.add_(None) | x.mul("a") | torch.mul(x, "a") | x.mul_([1]) | x.sub(None)
x.div("a") | x.sub_(None) | x.div_(None) | x.mm(None) | torch.mm(x, None) | x.matmul(None) | torch.matmul(x, None)
x.dot(None) | x.bmm("a") | x.mv(None) | x.maximum(2) | torch.maximum(x, 2) | torch.maximum(2, x) | x.minimum(None)
x.equal(3) | torch.equal(x, 3) | x.isclose(None) | x.allclose("a") | torch.allclose(x, "a") | x.logical_and(None)
torch.logical_or(x, None) | x.masked_select(None) | torch.masked_select(x, None) | x.addmm(1, x) | torch.addmm(x, 1, x)
x.index_select(0, None) | torch.index_select(x, 0, None) | x.index_add(0, j, None) | x.index_add_(0, j, None)
x.index_add(0, 1, x) | torch.index_add(x, 0, j, None) | x.gather(0, None) | torch.gather(x, 0, None)
x.scatter_add(0, j, None) | torch.scatter_add(x, 0, j, 2) | x.scatter_add_(0, None, torch.ones(2)) | x.expand_as(None)
x.reshape_as("a") | x.view_as(None) | torch.ger(x, 3) | x.ger(3) | torch.concat(3) | x.reshape("a")
torch.reshape(x, "a") | x.permute("a") | torch.permute(x, "a") | x.flip(None) | torch.flip(x, None) | x.expand("a")
x.repeat("a") | x.sum_to_size("a") | x.new_zeros("a") | torch.zeros("a") | m.tril("a") | torch.tril(m, "a")
x.index_put_(3, x) | torch.index_put(x, 3, x) | x.index_put_((j,), 3) | torch.index_put(x, (j,), 3) | x.type_as(None)
torch.concatenate((x, 3)) | torch.row_stack(3) | torch.negative(3) | torch.square(x).mul(None)
(lambda t: t.add(None))(x) | torch.func.grad(lambda t: t.mul(None))(x) | torch.vmap(lambda t: torch.mul(t, None))(x)
torch.nn.functional.linear(x, None) | torch.exp("a") | torch.absolute("a") | torch.add(x, 2, y) | torch.sub(x, 2, y)
torch.add(x, 2.5, y) | torch.add(x, two, y) | torch.add(x, part, y) | torch.add(x, wanted, y) | torch.add(2, 2, y)
torch.add(i, 2.5, y) | torch.add(i, 2.5, i) | x.add(2, y) | x.add_(2, y) | x.sub(2, y) | x.sub_(2, y)
(x.add_(2, y), x._version) | torch.add(wanted, 2, y) | torch.add(x, 2, 3) | torch.add(x, y, 2) | torch.add(x, y, y)
torch.add(x, True, y) | torch.add(x, y, alpha=True) | x.add(True, y) | torch.add(x > 0, y > 0, alpha=True)
torch.add(x, 2, y, out=y) | torch.add(x, 2, y, alpha=3) | torch.add(x, "a", y) | torch.add(x, None, y)
torch.add(x, y, alpha=part) | torch.add(x, y, alpha=wanted) | torch.add(x, y, alpha=one) | torch.add(x, y, alpha="a")
x.add_(y, alpha=part) | x.add(y, alpha=None) | x.sub(y, alpha=np.float32(2)) | x.to(True) | x.to(False) | x.to(1.5)
x.to(True, True) | x.to(1.5, False, True) | x.to(None) | x.to(x, True) | F.leaky_relu(x, part) | F.leaky_relu(x, wanted)
F.leaky_relu(x, one) | F.leaky_relu(x, "a") | F.leaky_relu(x, None) | F.leaky_relu(x, two, True)
F.leaky_relu(x, one, True) | F.softplus(x, part) | F.softplus(x, part, part) | F.softplus(x, 2, "a")
F.softplus(x, None) | F.elu(x, part) | F.elu(x, x) | F.elu(x, one) | F.elu(x, "a", True) | F.elu(x, part, True)
F.elu(wanted, part).grad_fn._saved_alpha | torch.nn.LeakyReLU(part)(x) | torch.nn.ELU(two)(x)
F.leaky_relu(wanted, part).grad_fn._saved_negative_slope | torch.split(x, one) | torch.split(x, two) | x.split(one)
torch.split(x, part) | torch.split(x, torch.tensor([1.5])) | torch.split(x, torch.tensor(True)) | torch.split(x, wanted)
torch.split(x, torch.tensor([[-1]])) | x.split(i) | F.layer_norm(x, (3,), eps=part) | F.layer_norm(x, (3,), eps="a")
F.huber_loss(x, y, delta=part) | F.huber_loss(x, y, delta="a") | F.huber_loss(x, y, delta=wanted) | x.norm(part)
F.smooth_l1_loss(x, y, beta=part) | F.smooth_l1_loss(x, y, beta="a") | F.smooth_l1_loss(x, y, beta=None)
F.batch_norm(x[:, None], None, None, training=True, eps=part) | torch.isclose(x, y, "a") | torch.isclose(x, y, part)
torch.index_add(x, 0, i, y, alpha=part) | torch.index_add(x, 0, i, y, alpha=wanted) | x.norm(2, 0, 1) | x.norm(one)
torch.addmm(x[None], x[None], x[:, None], beta=part, alpha=two) | torch.norm(x, 2, 0, 1) | F.normalize(x, part, 0)
x.sum((0, 1.5)) | x.mean((0, "a")) | torch.amax(x, (0, None)) | x.roll(1, 1.5) | x.roll(1.5, 1) | x.roll(two)
x.roll((1, 1.5), (0, 1)) | x.roll("a") | x.roll(1, []) | x.unflatten(0, (3, 1.5)) | x.unflatten(0, "a")
x.movedim((0, 0), (1, 1.5)) | x.movedim(two * 0, two * 0)
"""
WINDOWS = """
F.unfold(x, 2) | F.unfold(x[0], 2) | F.unfold(x[0, 0], 2) | F.unfold(x[0, 0, 0], 2) | F.unfold(o, 2)
F.unfold(x[None], 2) | F.unfold(x, (2, 2, 2)) | F.unfold(x, (2,)) | F.unfold(x, [2, 3], padding=(1,)) | F.unfold(x, 2.0)
F.unfold(x, (2, 3), (2, 1), (1, 0), (2, 1)) | F.unfold(x, 0) | F.unfold(x, 2, 0) | F.unfold(x, 2, 1, -1)
F.unfold(x, 2, 1, 0, 0) | F.unfold(x, 7) | F.unfold(x, (5, 1)) | F.unfold(x[:0], 2) | F.unfold(x[:, :0], 2)
F.unfold(x[:, :, :0], 2, 1, 2) | F.unfold(x.long(), 2) | F.unfold(x > 0, 2) | F.unfold([1], 2) | F.unfold(x.float(), 3)
F.unfold(x, 2, 0, -1, 0) | F.unfold(x, 2, 1, -1, 0) | F.unfold(x, (2, 2.0)) | F.unfold(x, "a")
F.unfold(x.transpose(1, 2), 2) | n.Unfold((2, 3), padding=1, stride=2)(x) | F.unfold(x, (4, 5)) | F.fold(c, (4, 5), 2)
F.fold(c[0], (4, 5), 2) | F.fold(c[0, 0], (4, 5), 2) | F.fold(c[:, :11], (4, 5), 2) | F.fold(c[:, :, :11], (4, 5), 2)
F.fold(c[0][:, :11], (4, 5), 2) | F.fold(c, (4, 5, 1), 2) | F.fold(c, (4,), 2) | F.fold(c, 4, 2) | F.fold(c, (4, 5), 0)
F.fold(c, (4, 5), 2, 0) | F.fold(c, (4, 5), 2, 1, -1) | F.fold(c, (4, 5), 2, 1, 0, 0) | F.fold(c, (4, 5), 7)
F.fold(c, (1, 1), 2) | F.fold(c, (0, 5), 2) | F.fold(c[:0], (4, 5), 2) | F.fold(c[:, :0], (4, 5), 2)
F.fold(c[:, :, :0], (4, 5), 2) | F.fold(c.long(), (4, 5), 2) | F.fold(c > 0, (4, 5), 2) | F.fold([1], (4, 5), 2)
F.fold(c, None, 2) | F.fold(c.mT, (4, 5), 2) | F.fold(c[..., :6], (3, 5), (2, 3), (1, 1), 1, (2, 2))
n.Fold((4, 5), (2, 2))(c) | F.fold(F.unfold(x, 3), (4, 5), 3) | x.unfold(2, 2, 1) | x.unfold(-1, 5, 2)
x.unfold(0, 3, 1) | x.unfold(0, -1, 1) | x.unfold(0, 0, 1) | x.unfold(0, 1, 0) | x.unfold(4, 1, 1) | o.unfold(0, 1, 1)
o.unfold(0, 0, 1) | o.unfold(0, 2, 1) | o.unfold(1, 2, 1) | x.unfold(0, 1.0, 1) | x.unfold(dimension=0, size=1, step=1)
s.unfold(1, 3, 1) | s.unfold(1, 2, 3) | s.unfold(1, 4, 2) | s.t().unfold(0, 3, 2) | s.unfold(1, 3, 1).unfold(1, 2, 1)
s[:, ::2].unfold(1, 2, 1) | s[:0].unfold(1, 2, 1) | (s > 0).unfold(1, 3, 1) | F.dropout2d(x, 0.0) | F.dropout2d(x, 1.0)
F.dropout2d(x, 0.5, False) | F.dropout1d(x[0, 0], 0.0) | F.dropout1d(x[0, 0], 1.0) | F.dropout1d(x, 0.5)
F.dropout2d(s[0], 0.5) | F.dropout2d(s, 1.0) | F.dropout2d(x[0], 1.0) | F.dropout3d(x, 1.0) | F.dropout3d(x[0], 0.0)
F.dropout3d(s, 1.0) | F.dropout3d(x[None], 1.0) | F.dropout2d(x[:0], 0.5) | F.dropout2d(x.long(), 0.5)
F.dropout2d(x.long(), 0.0) | F.dropout2d(x.long(), 1.0) | F.dropout2d(x, 1.5) | F.dropout2d(x * 1, 1.0, True, True)
F.dropout1d(x[0, 0] * 1, 1.0, True, True) | F.alpha_dropout(x, 0.5) | F.alpha_dropout(x, 0.0, True)
F.alpha_dropout(x, 1.0, True) | F.alpha_dropout(x, -1) | F.alpha_dropout(x[:0], 0.5, True)
F.alpha_dropout(x.long(), 0.5, True) | F.alpha_dropout(x.long(), 1.0, True) | F.alpha_dropout(x * 1, 1.0, True, True)
F.feature_alpha_dropout(s[0], 0.5, True) | F.alpha_dropout([1], 0.5, True) | F.feature_alpha_dropout(x, 1.0, True)
F.feature_alpha_dropout([1], 0.5, True) | F.dropout2d(o, 0.5) | n.Dropout2d(1.5) | n.Dropout1d(1.0)(s)
n.Dropout2d(1.0)(x) | n.Dropout3d(1.0)(x) | n.AlphaDropout(1.0)(x) | n.FeatureAlphaDropout(1.0)(x)
n.AlphaDropout(0.5).eval()(x) | F.adaptive_max_pool2d(x, 2) | F.adaptive_max_pool2d(x, (2, None))
F.adaptive_max_pool2d(x, (2,)) | F.adaptive_max_pool2d(x, [3, 7], True) | F.adaptive_max_pool2d(x[0], 2)
F.adaptive_max_pool2d(x[0, 0], 2) | F.adaptive_max_pool2d(x.detach(), 0) | F.adaptive_max_pool2d(x, -1)
F.adaptive_max_pool2d(x[:0], 2) | F.adaptive_max_pool2d(x[:, :0], 2) | F.adaptive_max_pool2d(x[:, :, :0], 2)
F.adaptive_max_pool2d(x.long(), 2) | F.adaptive_max_pool2d(x > 0, 2) | F.adaptive_max_pool2d(x, (2, 2, 2))
F.adaptive_max_pool2d(x[0, 0], (2, 2)) | F.adaptive_max_pool2d(x.log(), 2, True)[1]
F.adaptive_max_pool2d(x.float(), 3) | F.adaptive_max_pool2d(x[0][:0], 2) | F.adaptive_max_pool1d(x[0], 2, True)
F.adaptive_max_pool1d(s, 4) | F.adaptive_max_pool1d(x[0], (2,)) | F.adaptive_max_pool1d(x[0], (2, 2))
F.adaptive_max_pool1d(x[0], None) | F.adaptive_max_pool1d(x, 2) | F.adaptive_max_pool1d(s[0], 2)
F.adaptive_max_pool1d(x[0].detach(), 0) | F.adaptive_max_pool1d(x[0, :, :0], 2) | F.adaptive_max_pool1d(x[:0, 0], 2)
F.adaptive_max_pool1d(x[0].long(), 2) | F.adaptive_max_pool1d([1], 2) | F.adaptive_max_pool1d(x[0], 2.0)
F.adaptive_max_pool1d(x[0], -1) | n.AdaptiveMaxPool1d(2)(s) | n.AdaptiveMaxPool2d((2, None), return_indices=True)(x)
n.AdaptiveMaxPool2d(2)(x) | s.index_fill(1, i, 2.0) | s.index_fill(1, i, o) | s.index_fill(1, i, v)
s.index_fill(0, i, 1.0) | s.index_fill(1, i.int(), 1.0) | s.index_fill(1, i[None], 1.0) | s.index_fill(1, i[0], 1.0)
s.index_fill(1, -i, 1.0) | o.index_fill(0, i[:1], 1.0) | s.index_fill(2, i, 1.0) | s.long().index_fill(1, i, 1.5)
s.index_fill(1, i, True) | s.index_fill(1, m, 1.0) | (s * 1).index_fill_(1, i, 2.0) | (s * 1).index_fill_(1, i, o)
s.index_fill_(1, i, o) | torch.index_fill(s, 1, i, 0.5) | torch.index_copy(s, 1, i, s[:, 1:3])
s.index_copy(1, i, s[:, :2]) | s.index_copy(1, i, s) | s.index_copy(1, i, o) | s.index_copy(1, i[0], o)
s.index_copy(1, i[:1], v[:2]) | s.index_copy(0, i, s[:, :2].T) | s.index_copy(0, i, s)
s.index_copy(1, i.int(), s[:, :2]) | s.index_copy(1, i, s[:, :2].float()) | s.index_copy(1, i[None], s[:, :2])
s.index_copy(1, i - 5, s[:, :2]) | o.index_copy(0, i[:1], o) | o.index_copy(0, i[:1], v[:1])
s.index_copy(1, i[:0], s[:, :0]) | (s * 1).index_copy_(1, i, s[:, :2]) | (s * 1).index_copy_(1, i, s)
v.masked_scatter(m, s) | s.T.masked_scatter(m[:2], v) | v.masked_scatter(m, s[0, :2]) | v.masked_scatter(m, s.float())
v.masked_scatter(m.long(), s) | s.masked_scatter(m, v) | v.masked_scatter(m, 2.0) | v.masked_scatter([True], s)
o.masked_scatter(m[0], v) | o.masked_scatter(m, v) | (v * 1).masked_scatter_(m, s) | v[:3].masked_scatter(m, s)
v.take(i) | s.take(torch.tensor([[0, 5], [-1, 2]])) | s.take(torch.tensor(19)) | s.take(i.int()) | s.take(i.double())
s[:0].take(i) | s[:0].take(i[:0]) | o.take(i[:1]) | s.take([0]) | torch.take(s.T, i) | s.take(torch.tensor(1))
(s * 1).put_(i, v[:2]) | (s * 1).put_(i, v[:2], True) | s.put(i, v[:2]) | s.put(i, v) | s.put(i.int(), v[:2])
s.put(i + 15, v[:2]) | s.put(i, v[:2].float()) | s.put(i, o) | s[:0].put(i, v[:2]) | s.T.put(i, v[:2]) | w.nansum()
w.nansum(0) | w.nansum((0, 1), True) | w.nansum(None) | w.nansum(2) | w.detach().nansum(dtype=torch.float32)
w.detach().nansum(0, dtype=torch.float32) | s.long().nansum() | (s > 0).nansum() | w[:0].nansum(0) | w.nanmean()
w.nanmean(1, True) | s.long().nanmean() | w.detach().nanmean(0, dtype=torch.float32) | w.nanmean(dtype=torch.int64)
w.nansum(keepdim=True) | torch.nansum(s, 1) | torch.nanmean(s, dim=0) | w.kthvalue(1) | w.kthvalue(2, 0, True)
w.kthvalue(0) | w.kthvalue(4) | w.kthvalue(2.0) | w.kthvalue(2, 3) | (s > 0).kthvalue(1) | s.long().kthvalue(1)[0]
o.kthvalue(1) | o.kthvalue(2) | s[:, :0].kthvalue(1) | s[:0].kthvalue(1) | torch.kthvalue(s, 3, 1) | w.sinc()
s.long().sinc() | s.sinc() | s.erfc() | s.long().erfc() | (s * 4).erfc() | F.channel_shuffle(x, 3)
F.channel_shuffle(x, 2) | F.channel_shuffle(x, 0) | F.channel_shuffle(x, -1) | F.channel_shuffle(x[0, 0], 2)
F.channel_shuffle(x[0].mT, 5) | F.channel_shuffle(x[:0], 3) | F.channel_shuffle(x, 2.0) | F.channel_shuffle([1], 2)
F.channel_shuffle(c, 4) | F.channel_shuffle(c.long(), 6) | n.ChannelShuffle(2)(c) | F.upsample(x, 3)
F.upsample(x, scale_factor=2, mode="bilinear", align_corners=True) | (s * 1).sinc_() | (s * 1).erfc_() | o.sinc()
torch.put(s * 1, i, v[:2], accumulate=True) | (s * 1).T.put_(i, v[:2])
"""
BORDERS = """
F.pad(s, (1, 2)) | F.pad(s, [1, 2, 0, 1, 2, 0], value=1.5) | F.pad(s, (-1, 3)) | F.pad(s, (-2, -1)) | F.pad(s, ())
F.pad(s, (-2, -2)) | F.pad(s, (-2, -3)) | F.pad(s, (5, -5)) | F.pad(s, (1,)) | F.pad(s, (1,) * 8) | F.pad(s, 1)
F.pad(s, (1.0, 1)) | F.pad(s, (1, 1), "other") | F.pad(s, (1, 1), value="a") | F.pad([1], (1, 1)) | F.pad(o, ())
F.pad(o, (1, 1)) | F.pad(i, (1, 1), value=2.5) | F.pad(i, (1, -1), value=2) | F.pad(b, (1, 1))
F.pad(b, (1, 1), value=1) | F.pad(s[:0], (1, 1)) | F.pad(s.float(), (1, 1), value=0.1) | F.pad(s, (0, 0))
F.pad(s, (1, 1), MODE) | F.pad(s, (1, 2), mode=MODE) | F.pad(s[0], (2, 1), mode=MODE)
F.pad(x, (2, 1, 0, 1), mode=MODE) | F.pad(x[0], (2, 1, 1, 1), mode=MODE) | F.pad(v, (1, 0, 1, 2, 1, 1), mode=MODE)
F.pad(v[0], (1,) * 6, mode=MODE) | F.pad(s, (-1, 2), mode=MODE) | F.pad(x, (-1, 1, 2, -1), mode=MODE)
F.pad(v, (0, -1, 1, 0, -1, 1), mode=MODE) | F.pad(s, (4, 1), mode=MODE) | F.pad(s, (1, 5), mode=MODE)
F.pad(x, (0, 0, 3, 0), mode=MODE) | F.pad(v, (0, 0, 0, 0, 3, 0), mode=MODE) | F.pad(s, (1,), mode=MODE)
F.pad(s, (1, 1, 1), mode=MODE) | F.pad(s, (-3, -3), mode=MODE) | F.pad(s, (-2, -2), mode=MODE)
F.pad(s[:0], (1, 1), mode=MODE) | F.pad(s[:, :0], (1, 1), mode=MODE) | F.pad(s[..., :0], (1, 1), mode=MODE)
F.pad(x[..., :0], (1,) * 4, mode=MODE) | F.pad(s[0], (1,) * 4, mode=MODE) | F.pad(s[0, 0], (1, 1), mode=MODE)
F.pad(s, (), mode=MODE) | F.pad(s, (0, 0), mode=MODE) | F.pad(s, (1, 1), mode=MODE, value=1.0)
F.pad(s, (1, 1), mode=MODE, value=0.0) | F.pad(i, (1, 2), mode=MODE) | F.pad(b, (1, 2), mode=MODE)
F.pad(s.float(), (1, 2), mode=MODE) | n.ConstantPad1d((1, 2), 3.5)(s) | n.ConstantPad2d(1, -1)(x)
n.ConstantPad3d((1, 0, 2, 0, 0, 1), 2)(v) | n.ZeroPad1d(2)(s) | n.ZeroPad2d((1, 0, -1, 2))(x) | n.ZeroPad3d(1)(v)
n.ReflectionPad1d(2)(s) | n.ReflectionPad2d((1, 0, 2, 1))(x) | n.ReflectionPad3d(1)(v) | n.ReplicationPad1d((1, 5))(s)
n.ReplicationPad2d(2)(x) | n.ReplicationPad3d(1)(v) | n.CircularPad1d(2)(s) | n.CircularPad2d((1, 2, 0, 1))(x)
n.CircularPad3d(1)(v) | n.ReflectionPad1d((1, 1))(x) | n.ReflectionPad2d(1)(s[0]) | n.CircularPad1d(1)(v)
"""
SIZES = """
F.avg_pool1d(s, 2) | F.avg_pool1d(s, 3, 2, 1) | F.avg_pool1d(s, (3,), 2, 1, True, False) | F.avg_pool1d(s[0], 2)
F.avg_pool1d(s, 2, padding=2) | F.avg_pool1d(s, 7) | F.avg_pool1d(x, 2) | F.avg_pool1d(s, 2, 0) | F.avg_pool1d(i, 2)
F.avg_pool2d(i[..., None], (2, 1)) | F.avg_pool2d(x[:0], 2) | F.avg_pool3d(v, 2)
F.avg_pool3d(v, (2, 3, 1), 1, (0, 1, 0)) | F.avg_pool3d(v, 2, 1, 1, True, False)
F.avg_pool3d(v, 2, divisor_override=3) | F.avg_pool3d(v, 2, divisor_override=0) | F.avg_pool3d(v, 4)
F.avg_pool3d(v, 2, padding=2) | F.avg_pool3d(s[0], 2) | F.adaptive_avg_pool1d(s, 3) | F.adaptive_avg_pool1d(s, (1,))
F.adaptive_avg_pool1d(s, (2, 2)) | F.adaptive_avg_pool1d(x, 2) | F.adaptive_avg_pool1d(i, 2)
F.adaptive_avg_pool2d(x, 2) | F.adaptive_avg_pool2d(x, (7, None)) | F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x[0], 3) | F.adaptive_avg_pool2d(x, (2,)) | F.adaptive_avg_pool2d(x, -1)
F.adaptive_avg_pool2d(x.detach(), 0) | F.adaptive_avg_pool2d(s[0], 2) | F.adaptive_avg_pool2d(x[:, :, :0], 2)
F.adaptive_avg_pool2d(x[:0], 2) | F.adaptive_avg_pool3d(v, (2, 3, 1)) | F.adaptive_avg_pool3d(v, 1)
F.adaptive_avg_pool3d(s[0], 2) | F.interpolate(s, scale_factor=2) | F.interpolate(x, 3)
F.interpolate(x, scale_factor=(1.7, 0.6)) | F.interpolate(v, size=(2, 5, 3)) | F.interpolate(x, 7, mode="nearest-exact")
F.interpolate(s, scale_factor=1.3, mode="nearest-exact") | F.interpolate(v, scale_factor=1.7, mode="nearest-exact")
F.interpolate(s, scale_factor=1.7, mode="linear") | F.interpolate(s, 8, None, "linear", True)
F.interpolate(x, scale_factor=2, mode="bilinear") | F.interpolate(x, scale_factor=1.7, mode="bilinear")
F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
F.interpolate(x, 3, None, "bilinear", True) | F.interpolate(x, 1, None, "bilinear", True)
F.interpolate(x, (5, 9), None, "bicubic") | F.interpolate(x, 3, None, "bicubic", True)
F.interpolate(v, scale_factor=1.5, mode="trilinear") | F.interpolate(v, 4, None, "trilinear", True)
F.interpolate(x, 3, mode="area") | F.interpolate(s, 2, mode="area") | F.interpolate(v, 2, mode="area")
F.interpolate(x[:0], 3, mode="bilinear") | F.interpolate(s) | F.interpolate(s, 3, 2) | F.interpolate(s, (3, 3))
F.interpolate(s, scale_factor=(2, 2)) | F.interpolate(s[0], 3) | F.interpolate(s, 3, mode="bilinear")
F.interpolate(x, 3, mode="linear") | F.interpolate(x, 3, mode="other") | F.interpolate(x, 3, align_corners=True)
F.interpolate(x, 0) | F.interpolate(x, 3, antialias=True) | F.interpolate(x, 3, recompute_scale_factor=True)
F.interpolate(i, 4, mode="linear") | F.interpolate(i, 4) | n.AvgPool1d(2)(s) | n.AvgPool1d(3, 1, 1)(s)
n.AvgPool3d(2, 1)(v) | n.AdaptiveAvgPool1d(2)(s) | F.max_pool1d(s, 2) | F.max_pool1d(s, 3, 2, 1, 2)
F.max_pool1d(s[0], 2, ceil_mode=True) | F.max_pool1d(s, 2, 0) | F.max_pool1d(s, 2, padding=2) | F.max_pool1d(s, 7)
F.max_pool1d(s, (2, 2)) | F.max_pool1d(x, 2) | n.MaxPool1d(2, 1)(s) | F.max_pool1d(s[:0], 2)
F.max_pool1d(s.detach(), 2, return_indices=True) | F.max_pool2d(x[:0], 2) | n.AdaptiveAvgPool2d((3, None))(x)
n.AdaptiveAvgPool3d(2)(v) | n.Upsample(scale_factor=2)(x) | n.Upsample((7, 7), mode="bilinear")(x)
n.UpsamplingNearest2d(3)(x) | n.UpsamplingBilinear2d(scale_factor=2)(x)
"""
PIECES = """
F.hardtanh(x) | F.hardtanh(x, -2, 0.5) | F.hardtanh(b, inplace=True) | F.relu6(x * 4) | F.relu6(b, True)
F.hardsigmoid(x) | F.hardsigmoid(b, True) | F.hardswish(x) | F.hardswish(b, True) | F.hardshrink(x)
F.hardshrink(x, 1.25) | F.softshrink(x) | F.softshrink(x, 1) | F.threshold(x, 0.1, 2.0) | F.threshold(b, 1, 20, True)
F.mish(x) | F.mish(b, True) | F.celu(x) | F.celu(x, 1.5) | F.celu(b, 1.5, True) | F.celu(b, -1.5, True) | F.selu(x)
F.selu(b, True) | F.glu(x) | F.glu(x, 0) | F.prelu(x, y) | F.prelu(x, y[:1]) | F.prelu(x, y[0]) | F.softsign(x)
F.tanhshrink(x) | F.softmin(x, 0) | F.softmin(x) | F.rrelu(x) | F.rrelu(x, 0.5, 0.75) | F.rrelu(x, 0.5, 0.5, True)
F.rrelu(b, 0.5, 0.5, True, True) | F.glu(x[:0]) | F.hardtanh(x, 3, 0) | F.hardtanh(n) | F.hardtanh(n > 0) | F.relu6(n)
F.hardswish(n) | F.hardsigmoid(n) | F.hardshrink(n) | F.softshrink(n) | F.softshrink(x, -1) | F.threshold(n, 2, 20)
F.threshold(n, 2, 2.5) | F.mish(n) | F.celu(n) | F.selu(n) | F.celu(x, 0.0) | F.glu(n) | F.glu(x[:, :3])
F.glu(x[0, 0]) | F.glu(x, 5) | F.prelu(n, n[0, :1]) | F.prelu(x, y[:2]) | F.prelu(x, y[:, None]) | F.prelu(x, y.float())
F.prelu(x[0, 0], y) | F.prelu(x[0], y) | F.softsign(n) | F.tanhshrink(n) | F.rrelu(n) | F.rrelu(x, 0.5, 0.1)
F.hardtanh([1]) | F.mish([1]) | F.mish(x * e) | F.celu(x * e, 1.5) | F.hardtanh(x * e) | F.hardswish(x * e)
F.hardsigmoid(x * e) | F.hardshrink(x * e) | F.softshrink(x * e) | F.threshold(x * e, 1.0, 2.0) | F.selu(x * e)
n_.Hardtanh(2, 1)(x) | n_.Softmax2d()(x) | n_.Softmax2d()(x[None]) | n_.PReLU(4).double()(x)
n_.PReLU(init=0.5).double()(x) | n_.GLU(0)(x) | n_.Softmin(1)(x) | n_.ReLU6()(x) | n_.Hardtanh()(x)
n_.Hardsigmoid()(x) | n_.Hardswish(True)(b) | n_.Hardshrink(1.0)(x) | n_.Softshrink()(x) | n_.Threshold(1, 2)(x)
n_.Mish()(x) | n_.CELU(2.0)(x) | n_.SELU(True)(b) | n_.Softsign()(x) | n_.Tanhshrink()(x) | n_.RReLU().eval()(x)
"""
GRIDS = """
t.meshgrid(x, y, indexing="ij") | t.meshgrid(x, y, indexing="xy") | t.meshgrid([x, y, x], indexing="xy")
t.meshgrid(x.sum(), y, indexing="ij") | t.meshgrid(x, indexing="xy") | t.meshgrid() | t.meshgrid(x, y, indexing="zz")
t.meshgrid(x, x.double(), indexing="ij") | t.meshgrid(x[:0], y, indexing="ij") | t.broadcast_tensors(x, a)
t.broadcast_tensors() | t.broadcast_tensors(x, y) | t.broadcast_tensors(x, x.sum())
t.broadcast_tensors(a[:, :1], a[:1]) | x.repeat_interleave(2) | a.repeat_interleave(2) | a.repeat_interleave(2, dim=1)
a.repeat_interleave(0, 0) | a.repeat_interleave(t.tensor([1, 2, 0]), dim=1) | x.repeat_interleave(t.tensor([1, 2, 0]))
t.repeat_interleave(t.tensor([1, 2, 0])) | x.repeat_interleave(-1) | x.repeat_interleave(t.tensor([1, 2]))
a.repeat_interleave(t.tensor([2]), dim=0) | x.repeat_interleave(t.tensor([1.0, 2.0, 0.0]))
x.sum().repeat_interleave(3) | x.repeat_interleave(2, output_size=6) | x.repeat_interleave(t.tensor([1, -2, 0]))
a.repeat_interleave(2, -1) | x.repeat_interleave(t.ones(2, 2, dtype=t.int64)) | x.repeat_interleave(t.tensor(2))
t.repeat_interleave(a, 3, dim=0) | x.repeat_interleave(t.tensor([1, 2, 0]), output_size=3) | x.is_sparse
t.arange(3).repeat_interleave(2)
"""
LIKELY = """
f.kl_div(a, b) | f.kl_div(a, b, reduction="batchmean") | f.kl_div(a, b.log(), log_target=True, reduction="sum")
f.kl_div(a, b * 0, reduction="none") | f.kl_div(a, b, reduction="zz") | f.kl_div(a, b, size_average=False)
f.kl_div(a[0], b[0], reduction="batchmean") | f.kl_div(a, z, reduction="sum") | n.KLDivLoss(reduction="sum")(a, b)
n.KLDivLoss(reduction="batchmean", log_target=True)(a, b.log()) | n.KLDivLoss()(a, b)
f.kl_div(a, b[:1], reduction="none") | t.xlogy(b, b) | z.xlogy(b) | t.xlogy(b, -b) | t.xlogy(z, z)
t.xlogy(z * 0, z / 0) | b.clone().xlogy_(b)
"""
TARGETS = """
n.L1Loss()(x, t) | n.L1Loss(reduction="sum")(x, t) | n.L1Loss(reduction="none")(x, t) | n.L1Loss()(x, t[:1])
n.L1Loss()(x, x) | n.SmoothL1Loss()(x, t) | n.SmoothL1Loss(beta=0.25)(x, t) | n.SmoothL1Loss(beta=0.0)(x, t)
n.SmoothL1Loss(reduction="sum", beta=2.0)(x, t) | n.HuberLoss()(x, t) | n.HuberLoss(delta=0.25)(x, t)
n.HuberLoss("none", 2.0)(x, t) | n.HuberLoss(delta=0)(x, t) | n.SmoothL1Loss(beta=-1)(x, t) | n.BCELoss()(p, t)
n.BCELoss(reduction="sum")(p, t) | n.BCELoss(weight=d + 1)(p, t) | n.BCELoss(weight=d[0] + 1, reduction="none")(p, t)
n.BCELoss()(x, t) | n.BCELoss()(p, x) | n.BCELoss()(p, t[:1]) | n.BCELoss()(e, b) | n.BCELoss(reduction="no")(p, t)
n.BCELoss(False)(p, t) | n.BCEWithLogitsLoss()(x, t) | n.BCEWithLogitsLoss(reduction="sum")(x * 100, t)
n.BCEWithLogitsLoss(pos_weight=d[0] + 2)(x, t) | n.BCEWithLogitsLoss(d + 1, reduction="none", pos_weight=d[0])(x, t)
n.BCEWithLogitsLoss()(x, t[0]) | n.BCEWithLogitsLoss(reduce=False)(x, t) | F.binary_cross_entropy(p, b)
F.binary_cross_entropy_with_logits(x, b) | F.l1_loss(x, t, reduction="x") | F.huber_loss(x, t[0], "sum", 0.5)
F.smooth_l1_loss(x, t, reduction="none") | F.l1_loss(x, t, reduce=False)
n.BCEWithLogitsLoss(pos_weight=t[0]).state_dict() | n.L1Loss() | n.HuberLoss() | n.BCELoss()
n.SmoothL1Loss(reduction="sum").reduction | n.BCEWithLogitsLoss(t[0]).state_dict()
"""
CLASSES = """
n.MSELoss()(x, y) | n.MSELoss(reduction="sum")(x, y) | n.MSELoss(reduction="none")(x, y) | n.MSELoss(False)(x, y)
n.CrossEntropyLoss()(x, c) | n.CrossEntropyLoss(torch.tensor([1.0, 3.0]))(x, c) | n.CrossEntropyLoss()(x, y.softmax(1))
n.CrossEntropyLoss(label_smoothing=0.1, reduction="sum")(x, c) | n.CrossEntropyLoss(ignore_index=1)(x, c)
n.NLLLoss()(x.log_softmax(1), c) | n.NLLLoss(reduce=False)(x, c) | n.MSELoss()(x, y[:1]) | n.CrossEntropyLoss()(x, x[0])
n.CrossEntropyLoss(torch.ones(2)).state_dict() | n.CrossEntropyLoss().weight | n.MSELoss(size_average=True).reduction
n.LSTM(2, 3, dropout=0.5).dropout
"""
PAIRS = """
F.margin_ranking_loss(x, y, s) | F.margin_ranking_loss(x, y, s, 0.5, reduction="sum")
n.MarginRankingLoss(0.25)(x, y, s) | F.margin_ranking_loss(x, y, s[0])
F.margin_ranking_loss(x, y, s, reduction="none") | n.MarginRankingLoss().margin
F.margin_ranking_loss(x, y, s, reduction="a") | F.triplet_margin_loss(x, y, z)
F.triplet_margin_loss(x, y, z, 2.0, 1.0) | F.triplet_margin_loss(x, y, z, swap=True, reduction="none")
F.triplet_margin_loss(x, y, z, margin=0) | F.triplet_margin_loss(x, y, z[0])
n.TripletMarginLoss(3.0, reduction="sum")(x, y, z) | n.TripletMarginLoss(0) | F.triplet_margin_loss(x[0], y[0], z[0])
F.cosine_embedding_loss(x, y, s[:, 0]) | F.cosine_embedding_loss(x, y, s)
F.cosine_embedding_loss(x, y, s[:, 0], 0.25, reduction="none") | F.cosine_embedding_loss(x[0], y[0], s[0, 0])
F.cosine_embedding_loss(x, y, s[0, 0]) | F.cosine_embedding_loss(x[0], y, s[:, 0])
n.CosineEmbeddingLoss(0.5, reduction="sum")(x, y, s[:, 0]) | F.hinge_embedding_loss(x, s) | n.HingeEmbeddingLoss()(x, s)
F.hinge_embedding_loss(x, s, 0.25, reduction="none") | F.hinge_embedding_loss(x, s[0]) | n.HingeEmbeddingLoss().margin
F.poisson_nll_loss(x, c) | F.poisson_nll_loss(x.exp(), c, log_input=False) | F.poisson_nll_loss(x, c, full=True)
F.poisson_nll_loss(x, c, reduction="none") | F.poisson_nll_loss(x, c, reduction="a") | n.PoissonNLLLoss(full=True)(x, c)
n.PoissonNLLLoss(False, eps=0.5, reduction="sum")(x.exp(), c) | F.poisson_nll_loss(x, y.exp() + 1, full=True)
F.gaussian_nll_loss(x, y, z.exp()) | F.gaussian_nll_loss(x, y, z[0].exp()) | F.gaussian_nll_loss(x, y, z[:, :1].exp())
F.gaussian_nll_loss(x, y, z[:, 0].exp()) | F.gaussian_nll_loss(x, y, 0.5, full=True) | F.gaussian_nll_loss(x, y, -0.5)
F.gaussian_nll_loss(x, y, z) | F.gaussian_nll_loss(x, y, z.exp(), eps=1.0)
F.gaussian_nll_loss(x, y, 0.5, reduction="a") | n.GaussianNLLLoss(full=True, reduction="none")(x, y, z.exp())
F.soft_margin_loss(x, s) | n.SoftMarginLoss()(x, s) | F.soft_margin_loss(x, s, reduction="none")
F.soft_margin_loss(x, s, reduction="sum") | F.soft_margin_loss(x, y) | F.soft_margin_loss(x, s[0])
F.soft_margin_loss(x[0], s) | F.soft_margin_loss(x[:, :1], s, reduction="none") | F.soft_margin_loss(x, s[:, :2])
F.soft_margin_loss(x, c) | F.multilabel_soft_margin_loss(x, o) | F.multilabel_soft_margin_loss(x, o, weight=o[0] + 1)
n.MultiLabelSoftMarginLoss(reduction="none")(x, o) | F.multilabel_soft_margin_loss(x[0], o[0])
F.multilabel_soft_margin_loss(x, o, reduction="a") | n.SoftMarginLoss()
F.multilabel_soft_margin_loss(x, o, reduction="sum") | F.margin_ranking_loss(x, y, s, reduce=False)
F.multilabel_soft_margin_loss(x, o, size_average=False) | F.poisson_nll_loss(x, c, size_average=False)
"""
IMAGES = """
F.one_hot(i) | F.one_hot(i, 4) | F.one_hot(i, 2) | F.one_hot(i - 1, 2) | F.one_hot(i.float(), 3) | F.one_hot(i[:0])
F.one_hot(i[:0], 3) | F.one_hot(i[0]) | F.normalize(x[:, 0]) | F.normalize(x, dim=-1, p=1.0)
F.normalize(x * 0, eps=0.5) | F.normalize(x, 3, (1, 2)) | F.embedding(i, x[0, 0]) | F.embedding(i, x[0, 0], -1)
F.embedding(i, x[0, 0], 7) | F.embedding(i, x) | F.embedding([1], x[0, 0]) | F.embedding(i, x[0, 0], 1, 1.0, 1.0)
"""
EDGES = """
x.relu() | x.sigmoid() | x.tanh() | x.exp() | x.log() | x.sqrt() | x.rsqrt() | x.reciprocal() | x.square() | x.sin()
x.cos() | x.tan() | x.asin() | x.acos() | x.atan() | x.sinh() | x.cosh() | x.erf() | x.log1p() | x.expm1() | x.floor()
x.round() | x.trunc() | x ** 2 | (x * x) ** 0.5 | x ** -1 | x ** 0 | 2.0 ** x | x.clamp(-1, 1) | x.clamp(min=0)
x.clamp(max=0) | F.leaky_relu(x) | F.silu(x) | F.elu(x[:3]) | F.elu(x[3:6]) | F.elu(x[6:]) | F.elu(x[:3], 1.5)
F.elu(x[3:6], 1.5) | F.elu(x[6:], 1.5) | F.softplus(x) | F.softplus(x, 2.0, 3.0) | F.logsigmoid(x) | F.gelu(x)
F.gelu(x, approximate='tanh') | F.softmax(x, 0) | F.log_softmax(x, 0) | x.logsumexp(0) | torch.maximum(x, x.flip(0))
torch.minimum(x, x * 2) | torch.maximum(x, torch.zeros_like(x)) | torch.where(x > 0, x, x * 2) | x / x | x / 0.0
1.0 / x | x * x | x ** x | F.softmax(x.reshape(3, 3), 1) | F.log_softmax(x.reshape(3, 3), 1)
x.reshape(3, 3).logsumexp(1) | x.clamp(torch.ones_like(x), torch.zeros_like(x)) | x.clamp(1.0, 0.0)
F.softmax(x[1:3], 0) | F.log_softmax(x[2:5], 0) | x[1:3].log_softmax(0) | x[2:3].softmax(0) | x[2:3].log_softmax(0)
x[2:3].logsumexp(0) | x[1:3].logsumexp(0)
"""
CORNERS_OF_SEVERAL = """
torch.atan2(y, x) | torch.atan2(y.float(), x.float()) | torch.clamp(e, min=f) | torch.clamp(e, max=k)
torch.clamp(e, min=k) | torch.clamp(e, max=f) | torch.clamp(e, f, f) | torch.clamp(e, g, h) | torch.clamp(e, h, g)
Z @ R | C @ Z | (C @ Z) * C | Z.float() @ R.float() | z @ R | C @ z | Z @ z | torch.dot(z, z / z) | F.linear(z, C)
F.linear(z, C, C[:, 0]) | F.linear(Z, C, C[:, 0]) | F.linear(Z, C) * C.T | torch.outer(z, R[0])
torch.einsum('ij,jk->ik', Z, R) | torch.addmm(R, Z, R)
torch.addmm(Z, Z, R, alpha=0) | torch.addmm(Z, Z, R, beta=0, alpha=0) | torch.addmv(z, C, z)
torch.addmv(z, C, z / z, alpha=0) | torch.addr(Z, z, R[0], alpha=0) | torch.addbmm(C, B, Z[None])
torch.addbmm(C, B, Z[None], alpha=0) | torch.baddbmm(B, B, Z[None]) | torch.baddbmm(B, B, Z[None], alpha=0)
"""
MATRICES = """
L.inv(A) | L.inv(S) | m.inverse(A) | A.inverse() | L.solve(A, B) | L.solve(A, v) | L.solve(S, B) | L.solve(S, S)
L.solve(A, B.mT, left=False) | L.solve(S, S[:, 0]) | L.solve(S, v) | L.cholesky(P) | L.cholesky(P, upper=True)
L.det(A) | L.det(S) | m.det(A) | A.det() | L.slogdet(A)[0] | L.slogdet(S)[1] | m.slogdet(A)[1] | A.slogdet()[1]
m.logdet(P) | P.logdet() | L.svdvals(T) | L.svdvals(W) | L.svdvals(S) | L.svd(T)[1] | L.svd(T, False)[0].abs()
L.svd(W, False)[2].abs() | L.svd(S)[0].square() | (L.svd(T, False)[0] * L.svd(T, False)[1]) @ L.svd(T, False)[2]
m.svd(T)[2].abs() | m.svd(T)[0].square() | T.svd().S | L.eigh(P)[0] | L.eigh(P)[1].square() | L.eigh(P, "U")[0]
L.eigvalsh(P) | L.eigvalsh(P[0], UPLO="U") | L.qr(T)[0].abs() | L.qr(T)[1].abs() | L.qr(W)[1].abs() | L.qr(W)[0].abs()
L.qr(S)[0].square() | L.qr(A, "complete")[1].abs() | L.qr(T)[0] @ L.qr(T)[1] | L.pinv(T) | L.pinv(W) | L.pinv(S)
L.pinv(P, hermitian=True) | m.pinverse(T) | T.pinverse() | L.lstsq(T, R4)[0] | L.lstsq(W, B)[0] | L.lstsq(A, B)[0]
L.lstsq(T, R4, driver="gelsd")[1] | L.lstsq(T, R4[:, 0]).solution | L.solve_triangular(A, B, upper=True)
L.solve_triangular(S, B, upper=False) | L.solve_triangular(A, B, upper=True, unitriangular=True)
L.solve_triangular(A, B.mT, upper=False, left=False) | L.solve_triangular(A, B.mT, upper=True, left=False)
m.cholesky_inverse(A) | m.cholesky_inverse(S, True) | m.cholesky_solve(B, A) | m.cholesky_solve(B, S, upper=True)
L.matrix_power(A, 0) | L.matrix_power(A, 1) | L.matrix_power(A, 2) | L.matrix_power(A, 3) | L.matrix_power(S, 7)
L.matrix_power(A, -1) | L.matrix_power(A, -2) | m.matrix_power(A, 4) | A.matrix_power(5) | L.norm(A) | L.norm(A, 2)
L.norm(A, "nuc") | L.norm(A, inf) | L.norm(A, -inf) | L.norm(A, 1) | L.norm(A, -1) | L.norm(A, -2) | L.norm(A, "fro")
L.norm(v, 3) | L.norm(v) | L.norm(S, dim=0) | L.norm(S, 2, dim=(0, 2)) | L.norm(S, "nuc", dim=(2, 0), keepdim=True)
L.norm(S, 1, dim=(1, 2), keepdim=True) | L.norm(S, inf, dim=(0, 1)) | L.matrix_norm(S) | L.matrix_norm(S, 2)
L.vector_norm(S, 1.5, dim=(0, 1)) | L.vector_norm(A, inf) | L.cond(A) | L.cond(A, -2) | m.vdot(v, v)
L.multi_dot([T, A, B]) | L.multi_dot([v, A, B]) | L.multi_dot([v, A, v]) | L.vecdot(v, A) | L.vecdot(v, v)
L.cross(v, v * v) | L.cross(A, S[0]) | m.cross(A, A.T, dim=0) | A.cross(A * A, 1) | L.diagonal(S) | L.matmul(A, B)
"""
UNFIT = """
L.inv(i) | L.inv(h) | L.inv(r) | L.inv(v) | L.inv(z) | L.inv(s) | L.inv(b) | L.inv(e) | L.inv([1]) | m.inverse(r)
L.solve(i, i) | L.solve(r, r) | L.solve(v, v) | L.solve(z, z) | L.solve(b, b) | L.solve(q, r) | L.solve(q, v[:2])
L.solve(q, q.double()) | L.solve(q, v, left=False) | L.solve(h, h) | L.solve(q, v[0]) | L.cholesky(i) | L.cholesky(r)
L.cholesky(t) | L.cholesky(m.stack([m.eye(2), t])) | L.cholesky(v) | L.cholesky(h) | m.cholesky(t) | m.cholesky(q)
L.det(i) | L.det(r) | L.det(v) | L.det(z) | L.det(e) | L.det(h) | L.slogdet(z) | L.slogdet(e) | L.slogdet(r)
m.logdet(-q) | m.logdet(z) | L.svd(i) | L.svd(v) | L.svd(h) | L.svd(e) | L.svdvals(i) | L.svd(m.full((2, 2), nan))
m.svd(v) | L.qr(i) | L.qr(v) | L.qr(q, mode="x") | L.qr(h) | L.qr(m.zeros(0, 3)) | L.qr(q, "r") | m.qr(q) | L.eigh(i)
L.eigh(r) | L.eigh(v) | L.eigh(q, UPLO="x") | L.eigh(m.full((2, 2), nan)) | L.eigvalsh(r) | L.eigh(h) | L.pinv(i)
L.pinv(v) | L.lstsq(i, i) | L.lstsq(v, v) | L.lstsq(r, m.ones(3, 1)) | L.lstsq(q, q, driver="x")
L.lstsq(q, q.double()) | L.lstsq(m.ones(2, 2), m.ones(2, 1)) | L.lstsq(q, m.ones(3, 1), driver="gelsd")
L.solve_triangular(q, v, upper=True) | L.solve_triangular(r, r, upper=True) | L.solve_triangular(i, i, upper=True)
L.solve_triangular(z, z, upper=True) | L.solve_triangular(q, m.ones(2, 2), upper=True) | m.cholesky_inverse(r)
m.cholesky_inverse(v) | m.cholesky_inverse(i) | m.cholesky_solve(r, r) | m.cholesky_solve(v, q)
m.cholesky_solve(m.ones(2, 2), q) | L.matrix_power(r, 2) | L.matrix_power(v, 2) | L.matrix_power(z, -1)
L.matrix_power(i, 3) | L.matrix_power(q, 0.5) | L.matrix_power(i, -1) | L.norm(q, "x") | L.norm(q, 0) | L.norm(v, "fro")
L.norm(v, "nuc") | L.norm(i) | L.norm(q, 3) | L.norm(m.ones(2, 2, 2), 2) | L.norm(m.ones(2, 2, 2)) | L.norm(q, 2, dim=0)
L.norm(m.tensor(2.0)) | L.matrix_norm(v) | L.matrix_norm(q, dim=(0, 0)) | L.matrix_norm(q, 5) | L.vector_norm(i)
L.vector_norm(q, "fro") | L.vector_norm(q, dim=(0, 1), keepdim=True) | L.norm(q, 2, dtype=m.float64)
L.matrix_norm(q, "nuc", dtype=m.float64) | L.norm(e, 2) | L.cond(q, "x") | L.cond(v) | L.cond(z) | L.cond(z, 1)
L.cond(r, 1) | L.cond(q, 1) | L.matrix_rank(z) | L.matrix_rank(r) | L.matrix_rank(v) | L.matrix_rank(q, hermitian=True)
L.matrix_rank(q, tol=2.0) | L.matrix_rank(q, atol=2.0) | L.matrix_rank(i) | L.multi_dot([q]) | L.multi_dot([v, q, v])
L.multi_dot([v, v]) | L.multi_dot([q, r]) | L.multi_dot([]) | L.cross(v, r) | L.cross(v[:2], v[:2]) | m.cross(z, z)
L.multi_dot([m.ones(2, 3, 3), q]) | L.multi_dot([q, m.ones(2, 3, 3), q]) | L.multi_dot([q, q, m.ones(2, 3, 3)])
L.multi_dot([q, q[0, 0], q]) | L.multi_dot([q, v, q]) | L.multi_dot([m.tensor(1.0), q, q])
L.multi_dot([q, q.double()]) | L.multi_dot([q, q, m.tensor(1.0)]) | L.multi_dot([q, 3]) | L.multi_dot(q)
L.multi_dot([q, v[:2], q.double()])
L.cross(v, v, dim=1) | m.cross(q, q) | L.cross(i, i) | L.cross(i[:, :0], i) | L.vecdot(v, v[:2]) | L.vecdot(q, v)
L.inv(A=q) | L.inv(q, out=m.empty(3, 3)) | L.svd(q, False) | L.svd(z, out=(m.empty(0), m.empty(0))) | L.eigh(q, "U")
L.LinAlgError is type(caught(lambda: L.inv(z))) | issubclass(L.LinAlgError, RuntimeError)
m.autograd.grad(L.qr(R, "r")[1].sum(), R) | m.autograd.grad(L.qr(R, "complete")[1].sum(), R) | L.slogdet(q)
m.slogdet(q) | m.svd(q) | L.qr(q) | L.eigh(q)
"""
DRAWN = """
n | n.log_prob(t.tensor(0.5)) | n.cdf(t.tensor(0.5)) | n.entropy() | D.Normal(0.0, 1.0) | D.Normal(0.0, -1.0)
n.log_prob(2.0) | n.log_prob(t.ones(3)) | n.log_prob(t.tensor([float("nan"), 1.0])) | D.Normal(0, 1)
D.Normal(t.ones(2, 1), t.ones(3)) | [n.mean, n.stddev, n.variance, n.mode, n.batch_shape, n.event_shape]
D.Normal("a", 1.0) | n.expand([3, 2]) | D.Normal(t.zeros(2), 1.0, validate_args=False).log_prob(t.tensor(float("nan")))
[c, c.probs, c.logits, c.entropy(), c.log_prob(t.tensor([0, 2])), c.mean, c.variance, c.mode]
[c.perplexity(), c.param_shape] | c.log_prob(t.tensor([3, 0])) | D.Categorical() | D.Categorical(t.tensor(1.0))
D.Categorical(t.tensor([-1.0, 2.0])) | D.Categorical(logits=t.tensor([1.0, 2.0])).probs
D.Categorical(logits=t.tensor([1.0, float("nan")])) | c.enumerate_support() | c.enumerate_support(False)
c.log_prob(t.tensor([[0], [1], [2]])) | c.log_prob(t.ones(3))
[c.sample((5,)).shape, c.sample().dtype, D.Categorical(t.tensor([0.0, 1.0, 0.0])).sample((4,))]
[b, b.logits, b.mode, b.mean, b.variance, b.entropy(), b.log_prob(t.tensor([1.0, 0.0])), b.log_prob(t.tensor(1.0))]
b.log_prob(t.tensor([0.5, 0.5])) | D.Bernoulli(1.5) | D.Bernoulli(logits=t.tensor([1.0, -2.0])).probs | D.Bernoulli(0.3)
[D.Bernoulli(t.tensor([0.0, 1.0])).sample((2,)), b.sample().dtype] | D.Bernoulli(0.5, logits=0.5)
[i, i.log_prob(t.zeros(4, 2)), i.entropy(), i.event_shape, i.batch_shape, i.mean, i.variance, i.mode]
D.Independent(n, 2) | i.log_prob(t.zeros(3)) | i.rsample((2,)).shape | D.kl_divergence(n, D.Normal(0.0, 1.0))
i.support | D.kl_divergence(c, D.Categorical(t.tensor([0.0, 1.0, 1.0])))
D.kl_divergence(b, D.Bernoulli(t.tensor([1.0, 0.3])))
D.kl_divergence(i, D.Independent(D.Normal(t.zeros(2), t.ones(2)), 1)) | D.kl_divergence(c, i)
[u, u.mean, u.variance, u.stddev, u.log_prob(t.tensor(1.0)), u.cdf(t.tensor(0.5)), u.entropy(), u.sample((2, 3)).shape]
u.log_prob(t.tensor(3.0)) | D.Uniform(1.0, 0.0) | D.Uniform(t.zeros(2), 1.0, False).log_prob(t.tensor([0.5, 3.0]))
[D.Normal.arg_constraints, D.Categorical.arg_constraints, c.support, b.support, u.support]
[l, l.mean, l.mode, l.variance, l.stddev, l.entropy(), l.cdf(x), l.icdf(p), l.log_prob(x), l.support] | l.log_prob(2.0)
D.Laplace(0.0, -1.0) | D.Laplace(0.0, 1.0) | l.rsample((4,)).shape | l.expand([3, 2]).batch_shape | l.sample().dtype
[h.probs, h.logits, h.mean, h.mode, h.variance, h.entropy(), h.param_shape, h.event_shape, h.batch_shape, h.support]
h.log_prob(o) | h.log_prob(o * 2) | h.log_prob(o[:, :2]) | h.sample((5,)).shape | h.sample((5,)).sum(-1)
h.enumerate_support() | h.enumerate_support(False) | D.OneHotCategorical() | D.OneHotCategorical(t.tensor(1.0))
D.OneHotCategorical(t.tensor([-1.0, 2.0])) | D.OneHotCategorical(logits=t.zeros(2)).probs
D.Independent(l, 1).log_prob(x)
"""
EMPTY = """
a[z[:, None] > 0] | a[z > 0] | a[:, z > 0] | a[(z > 0)[:, None].expand(0, 3)] | a[(z > 0)[None].expand(2, 0)]
a[None, z > 0] | a.index_put((z > 0,), z) | a.index_put((z > 0,), z, accumulate=True) | (a * 1).__setitem__(z > 0, 2.0)
(a * 1).__setitem__((0, z > 0), z) | z[z > 0] | z.index_put((z > 0,), z)
"""
SHARED = """
x.index_put_((i,), x) | x.index_put_((i,), x, accumulate=True) | (x.__setitem__(i, x), x) | c.scatter_add_(1, j, c)
c.scatter_(1, j, c) | c.index_add_(0, j[0, :2], c) | c.index_add_(1, i, c.t().t()) | c.masked_fill_(c > 0, c[0, 0])
c.copy_(c[0]) | c.scatter_add_(1, j, c[:, :1].expand(2, 3) * 1) | torch.ones(1).expand(2, 3).tril_()
torch.ones(1).expand(2, 3).triu_() | torch.ones(1).expand(2, 3).neg_() | e.index_add_(-1, i, e)
e.index_add_(0, none, e) | e.scatter_(0, rows, e) | e.scatter_add_(0, rows, e) | n[::2].index_add_(0, i[1:], n[::2])
F.linear(x, x, d) | F.linear(A, M, A.double()) | F.linear(A, M, d) | F.linear(n, n, torch.tensor(1.0))
F.linear(A, M, torch.tensor(1.0))._version | F.linear(A, M, torch.ones(5))
"""
HOLLOW = """
e.roll(1, 1) | e.roll((1, 2), (0, 3)) | e.roll(1, -3) | torch.cat([e, e], 1) | torch.cat([e], 5) | torch.cat([e, e], -2)
torch.cat([e, torch.ones(2)], 1) | torch.cat([e, torch.ones(2, 2)], 1) | F.embedding(i, E) | F.embedding(i[:0], E)
F.embedding(i[0], E) | F.embedding(i, E.T) | F.embedding(i[:0], E.T)
"""
MODULES = """
n.Parameter([1.0]) | n.Parameter(t.tensor([1])) | n.Parameter(t.ones(1), 3) | n.Parameter(t.tensor([1]), False)
b.register_parameter("a", m.weight * 2)
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
n.Module(3) | n.Module(a=3) | n.ReLU(bad=1) | n.Sequential(3) | n.Sequential(len) | n.ModuleList(3) | s[2] | s[-3]
s["0"] | s[1.0] | s[0:1] | s[::-1] | s[5:] | s.insert(5, m) | s.insert(0, 3) | n.ModuleList([m])[1]
n.ModuleList([m, 3]) | n.ModuleList([m])(1) | n.Dropout(2) | n.Dropout(-0.5) | m(3) | m(torch.ones(3))
m(torch.ones(2), 1) | m.register_forward_hook(len, True) | m.to(torch.int64) | s(torch.ones(2, dtype=torch.float64))
n.Linear(2) | n.MSELoss(reduction="no")(torch.ones(1), torch.ones(1)) | m.requires_grad_(3) | d
[list(d), len(d), "a" in d, list(d.keys()), [type(m).__name__ for m in d.values()], [k for k, _ in d.items()]]
[n for n, _ in d.named_parameters()] | n.ModuleDict([["x", n.ReLU()]]) | n.ModuleDict(3) | n.ModuleDict([3])
n.ModuleDict([[1, 2, 3]]) | n.ModuleDict({"a": 3}) | [d.pop("b"), d] | d["z"] | n.ModuleDict() | d(1) | [d.clear(), d]
n.ModuleDict({"a.b": n.ReLU()}) | n.ModuleDict({"keys": n.ReLU()}) | p | [p.extend([t.ones(1)]), len(p), p(1)]
[len(p), [type(x).__name__ for x in p], [name for name, _ in p.named_parameters()], list(p.state_dict())] | p[-1] | p[3]
p[:2] | n.ParameterList(3) | n.ParameterList(t.ones(2)) | p(1) | p.append(t.ones(1)) | n.ParameterList() | q | q[3]
[list(q), len(q), "a" in q, list(q.keys()), list(q.items())]
[list(q.values()), [name for name, _ in q.named_parameters()]] | n.ParameterDict(3) | n.ParameterDict([3])
n.ParameterDict([[1, 2, 3]]) | [q.pop("a"), q, q.get("z", 7), q.get("z")] | q(1) | q["zz"] | n.ParameterDict()
"""
FROZEN = """
torch.matmul(a[None], M) | torch.matmul(a[None, :, :2], M[:2]) | torch.matmul(a[:, None], M)
torch.matmul(a.T[None], c) | torch.matmul(M.T, a.T[None]) | torch.matmul(M[:, 0], a.T[None])
torch.matmul(a[None], M[:, 0]) | A @ M | A[:, :1] @ M | A.transpose(0, 1) @ M | F.linear(a[None, :, :2], M[:2].T)
a[:, None].expand(2, 4, 3) @ M
"""
LAYERS = """
n.Conv2d(2, 3, 2)(x) | n.Conv2d(2, 4, (2, 3), stride=(2, 1), padding=1, dilation=(1, 2), groups=2)(x)
n.Conv2d(2, 3, 3, padding="same", bias=False)(x) | n.Conv2d(2, 3, 2, padding="valid")(x) | n.Conv2d(2, 1, 2)(x[0])
n.Conv2d(3, 3, 2)(x) | n.Conv2d(2, 3, 9)(x) | n.Conv2d(2, 3, 2, groups=0)(x) | n.Conv2d(3, 4, 2, groups=2)(x)
n.Conv2d(4, 3, 2, groups=2)(x) | n.Conv2d(2, 3, 2, 2, "same")(x) | n.MaxPool2d(2)(x) | n.MaxPool2d(2, 1)(x)
n.MaxPool2d((3, 2), padding=(1, 0))(x) | n.MaxPool2d(2, dilation=2)(x[0]) | n.MaxPool2d(3, 2, ceil_mode=True)(x)
n.MaxPool2d(2, return_indices=True)(x) | n.MaxPool2d(9)(x) | n.MaxPool2d(2)(x[0, 0])
n.MaxPool2d(3, 2, 1, 1, True, True)(x) | n.MaxPool2d(2, padding=2)(x) | n.MaxPool2d(2, 0)(x)
n.MaxPool2d(2, 3, ceil_mode=True)(x) | n.AvgPool2d(2)(x) | n.AvgPool2d(2, 1)(x) | n.AvgPool2d((3, 2), padding=(1, 0))(x)
n.AvgPool2d(3, 2, ceil_mode=True)(x) | n.AvgPool2d(3, 2, 1, count_include_pad=False)(x) | n.AvgPool2d(3, 2, 1, True)(x)
n.AvgPool2d(3, 2, 1, True, False)(x) | n.AvgPool2d(2, divisor_override=3)(x[0]) | n.AvgPool2d(9)(x)
n.AvgPool2d(2, divisor_override=0)(x) | n.AvgPool2d(2, padding=2)(x) | n.Embedding(5, 3)(i)
n.Embedding(5, 3, padding_idx=-1)(i) | n.Embedding(5, 2, 0)(i[0, 0]) | twice(n.Embedding(5, 3, max_norm=1.0))(i)
twice(n.Embedding(5, 3, max_norm=1.0, norm_type=1))(i) | n.Embedding(4, 3)(i) | n.Embedding(5, 3)(i - 1)
n.Embedding(5, 3)(x) | n.Embedding(5, 3, 9)(i) | n.Embedding.from_pretrained(x[0, 0])(i[:1] // 3)
n.Embedding.from_pretrained(x[0, 0], False, 1)(i[:1] // 3) | n.Embedding.from_pretrained(x)(i) | n.LayerNorm(5)(x)
(lambda e: (e(i[:1] // 3).sum().backward(), e.weight.grad))(n.Embedding.from_pretrained(x[0, 0], False, 1))
n.LayerNorm((4, 5), eps=0.1)(x) | n.LayerNorm([5], elementwise_affine=False)(x) | n.LayerNorm(5, bias=False)(x)
n.LayerNorm(4)(x) | twice(n.BatchNorm2d(2))(x) | twice(n.BatchNorm2d(2, 0.1, 0.5))(x)
twice(n.BatchNorm2d(2, affine=False))(x) | twice(n.BatchNorm2d(2, momentum=None))(x)
twice(n.BatchNorm2d(2, track_running_stats=False))(x) | twice(n.BatchNorm2d(2).eval())(x)
twice(n.BatchNorm2d(2, track_running_stats=False).eval())(x) | twice(n.BatchNorm1d(4))(x[:, 0])
twice(n.BatchNorm1d(5))(x[:, 0, 0]) | twice(n.BatchNorm1d(2))(x) | twice(n.BatchNorm2d(2))(x[0])
twice(n.BatchNorm2d(3))(x) | twice(n.BatchNorm2d(2, bias=False))(x) | n.SiLU()(x) | n.SiLU(True)(x) | n.ELU()(x)
n.ELU(0.5, inplace=True)(x) | n.Softplus(2.0, 1.0)(x) | n.LogSigmoid()(x) | n.Softplus()(x)
"""
SHAPED = """
n.Conv1d(4, 2, 3)(s) | n.Conv1d(4, 4, 2, 2, 1, 2, 2)(s) | n.Conv1d(4, 3, 3, padding="same")(s)
n.Conv1d(4, 3, 2, padding="same", dilation=3, bias=False)(s) | n.Conv1d(4, 3, 2, padding="valid")(s[0])
n.Conv1d(3, 3, 2)(s) | n.Conv1d(4, 3, 9)(s) | n.Conv1d(4, 3, 2)(x) | n.Conv1d(4, 3, (2, 2))(s)
n.Conv1d(4, 3, 2)(s[:0]) | n.Conv3d(4, 2, 2)(v) | n.Conv3d(4, 2, (1, 2, 3), (2, 1, 1), (1, 0, 1), (1, 2, 1), 2)(v)
n.Conv3d(4, 2, 3)(v) | n.Conv3d(4, 1, 3, padding="same")(v) | n.Conv3d(4, 1, 1)(v[0]) | n.Conv3d(4, 1, 1)(x)
n.Conv3d(4, 1, 1, (1, 2))(v) | n.Conv3d(4, 3, 1, groups=2)(v) | n.Conv3d(4, 2, 1, 2, "same")(v)
n.ConvTranspose1d(4, 3, 3)(s) | n.ConvTranspose1d(4, 4, 2, 3, 1, 2, 2, dilation=2)(s) | n.ConvTranspose1d(4, 3, 2)(s[0])
n.ConvTranspose1d(4, 3, 2, 2)(s, output_size=[11]) | n.ConvTranspose1d(4, 3, 2, 2)(s, output_size=[12])
n.ConvTranspose1d(4, 3, 2, output_padding=1)(s) | n.ConvTranspose1d(3, 3, 2)(s) | n.ConvTranspose1d(4, 3, 2)(s[:0])
n.ConvTranspose2d(4, 3, 2)(x) | n.ConvTranspose2d(4, 2, (3, 2), (2, 1), (1, 0), (1, 0), 2)(x)
n.ConvTranspose2d(4, 3, 2)(o) | n.ConvTranspose2d(4, 3, 3, 2, 1)(x, output_size=(10, 6))
n.ConvTranspose2d(4, 3, 2, 2)(x, output_size=(2, 3, 11, 7)) | n.ConvTranspose2d(4, 3, 2, 2)(x, output_size=(11,))
n.ConvTranspose2d(4, 3, 2, padding=-1)(x) | n.ConvTranspose2d(4, 3, 2, output_padding=-1)(x)
n.ConvTranspose2d(4, 3, 2, 2, 0, (1, 2))(x) | n.ConvTranspose2d(4, 3, 2)(s[..., None][:, :, :0])
n.ConvTranspose2d(4, 3, 2, padding_mode="circular")(x) | n.ConvTranspose2d(4, 3, 2, groups=3)(x)
n.ConvTranspose2d(4, 3, 2, groups=2)(x) | n.ConvTranspose2d(4, 3, 2)(x[0, 0])
n.ConvTranspose2d(4, 2, 2, bias=False)(x) | n.ConvTranspose3d(4, 2, 2)(v)
n.ConvTranspose3d(4, 2, (1, 2, 2), 2, (0, 1, 1), 1, 2, True, 2)(v) | n.ConvTranspose3d(4, 2, 2, output_padding=1)(v)
n.ConvTranspose3d(4, 3, 1)(v[0]) | n.ConvTranspose3d(4, 3, 1)(x) | n.GroupNorm(2, 4)(x) | n.GroupNorm(4, 4)(s)
n.GroupNorm(1, 4, 0.1)(v) | n.GroupNorm(2, 4, affine=False)(s) | n.GroupNorm(2, 4, bias=False)(x)
n.GroupNorm(2, 4)(s[:, :, 0]) | n.GroupNorm(4, 4)(s[:1, :, 0]) | n.GroupNorm(2, 4)(s[:0])
n.GroupNorm(2, 4, affine=False)(s[:, :, :0]) | n.GroupNorm(3, 4)(x) | n.GroupNorm(1, 3)(x) | n.GroupNorm(2, 6)(x)
n.GroupNorm(2, 4)(s[0, 0]) | n.GroupNorm(2, 4)(s.float()) | n.GroupNorm(2, 4, affine=False)(s.long())
twice(n.InstanceNorm1d(4))(s) | twice(n.InstanceNorm1d(4, affine=True))(s)
twice(n.InstanceNorm1d(4, 0.1, 0.3, True, True))(s) | twice(n.InstanceNorm1d(4, track_running_stats=True).eval())(s)
twice(n.InstanceNorm1d(4, affine=True))(s[0]) | twice(n.InstanceNorm1d(3))(s)
twice(n.InstanceNorm1d(4, momentum=None, track_running_stats=True))(s) | twice(n.InstanceNorm1d(3, affine=True))(s)
twice(n.InstanceNorm1d(4))(x) | twice(n.InstanceNorm1d(4))(s[:, :, :1]) | twice(n.InstanceNorm1d(4))(s[:0])
twice(n.InstanceNorm2d(4, affine=True))(x) | twice(n.InstanceNorm2d(4))(o)
twice(n.InstanceNorm2d(4, track_running_stats=True))(x) | twice(n.InstanceNorm2d(4))(s[0])
twice(n.InstanceNorm2d(4))(v) | twice(n.InstanceNorm3d(4, affine=True, track_running_stats=True))(v)
twice(n.InstanceNorm3d(4))(s) | twice(n.InstanceNorm3d(4, affine=True))(v[0]) | twice(n.BatchNorm3d(4))(v)
twice(n.BatchNorm3d(4, affine=False))(v) | twice(n.BatchNorm3d(4))(x) | F.conv1d(s, k, b, 2, 1, 1, 2)
F.conv_transpose1d(s, k, b[:2], 2, 1, 1) | F.group_norm(s, 2, b + 1, b) | F.instance_norm(s, None, None, b + 1, b)
n.Conv1d(4, 1, 3, padding=1, padding_mode=MODE)(s) | n.Conv1d(4, 1, 2, padding="same", padding_mode=MODE)(s)
n.Conv1d(4, 1, 2, padding="valid", padding_mode=MODE)(s) | n.Conv1d(4, 1, 2, padding=9, padding_mode=MODE)(s)
n.Conv2d(4, 1, 3, padding=1, padding_mode=MODE)(x) | n.Conv2d(4, 1, 2, padding="same", padding_mode=MODE)(x)
n.Conv2d(4, 1, 2, padding="valid", padding_mode=MODE)(x) | n.Conv2d(4, 1, 2, padding=9, padding_mode=MODE)(x)
n.Conv3d(4, 1, 3, padding=1, padding_mode=MODE)(v) | n.Conv3d(4, 1, 2, padding="same", padding_mode=MODE)(v)
n.Conv3d(4, 1, 2, padding="valid", padding_mode=MODE)(v) | n.Conv3d(4, 1, 2, padding=9, padding_mode=MODE)(v)
"""
ROWS = """
RNN(2, 3)(x) | RNN(2, 3, nonlinearity="relu")(x) | RNN(2, 3, 2, "relu")(x) | RNN(2, 3, bias=False)(x)
RNN(2, 3)(x[:, 0]) | RNN(2, 3, batch_first=True)(x) | RNN(2, 3, batch_first=True)(x[0])
RNN(2, 3, 2, bidirectional=True)(x) | RNN(2, 3)(x, h) | RNN(2, 3)(x[:, 0], h[:, 0]) | RNN(2, 3, 2)(x, h)
RNN(2, 3)(x, h[0]) | RNN(2, 3)(x[:, 0], h) | RNN(2, 3)(x[0, 0]) | RNN(3, 3)(x) | RNN(2, 3, nonlinearity="sin")(x)
RNN(2, 3, proj_size=1)(x) | RNN(2, 3)(x.float()) | RNN(2, 0)(x) | RNN(2, 3, 0)(x) | RNN(2, 3, bias=1)(x)
RNN(2.0, 3)(x) | RNN(0, 3)(x) | RNN(2, 3, dropout=2)(x) | RNN(2, 3, 2, dropout=True)(x) | RNN(2, 3, batch_first=1)(x)
GRU(2, 3)(x) | GRU(2, 3, 2, bias=False, batch_first=True, bidirectional=True)(x) | GRU(2, 3)(x[:, 0]) | GRU(2, 3)(x, h)
GRU(2, 3)(x, h[0]) | GRU(2, 3, proj_size=1)(x) | GRU(2, 3, 2)(x, h) | GRU(2, 3)(x[0, 0]) | GRU(2, 3)(x[:, 0], h[:, 0])
LSTM(2, 3)(x) | LSTM(2, 3, 2, False, True)(x) | LSTM(2, 3, bidirectional=True, num_layers=2)(x)
LSTM(2, 3, proj_size=1)(x) | LSTM(2, 3)(x, (h, c)) | LSTM(2, 3, 2, proj_size=2, bidirectional=True, bias=False)(x)
LSTM(2, 3)(x[:, 0], (h[:, 0], c[:, 0])) | LSTM(2, 3)(x[:, 0]) | LSTM(2, 3)(x, (h, c[0])) | LSTM(2, 3)(x[:, 0], (h, c))
LSTM(2, 3)(x, (h, c[:, :1])) | LSTM(2, 3)(x, (h[:, :1], c)) | LSTM(2, 3, proj_size=3)(x) | LSTM(2, 3, proj_size=-1)(x)
LSTM(2, 3)(x[0, 0]) | LSTM(2, 3, batch_first=True)(x, (h, c)) | LSTM(2, 3, 2, dropout=0.5).eval()(x)
LSTM(2, 3, 2, dropout=1.0)(x) | RNNCell(2, 3)(x[0]) | RNNCell(2, 3, nonlinearity="relu")(x[0], h[0])
RNNCell(2, 3, False)(x[0, 0]) | RNNCell(2, 3)(x[0, 0], h[0, 0]) | RNNCell(2, 3)(x) | RNNCell(2, 3)(x[0], h)
RNNCell(2, 3, nonlinearity="sin")(x[0]) | RNNCell(3, 3)(x[0]) | RNNCell(2, 3)(x[0], h[0, :1])
RNNCell(2, 2)(x[0], h[0]) | LSTMCell(2, 3)(x[0]) | LSTMCell(2, 3, bias=False)(x[0], (h[0], c[0]))
LSTMCell(2, 3)(x[0, 0], (h[0, 0], c[0, 0])) | LSTMCell(2, 3)(x) | LSTMCell(2, 3)(x[0], (h, c))
LSTMCell(2, 3)(x[0], (h[0, :1], c[0])) | LSTMCell(2, 3)(x[0], (h[0], c[0, :1])) | LSTMCell(4, 3)(x[0])
GRUCell(2, 3)(x[0]) | GRUCell(2, 3, False)(x[0], h[0]) | GRUCell(2, 3)(x[0, 0], h[0, 0]) | GRUCell(2, 3)(x)
GRUCell(2, 3)(x[0], h) | GRUCell(2, 4)(x[0], h[0])
"""
ATTENTION = """
S(q, k, v) | S(q, k, v, causal) | S(q, k, v, ~causal) | S(q, k, v, added.double()) | S(q, k, v, is_causal=True)
S(q, k, v, scale=0.1) | S(q, y, y) | S(q, y, y, is_causal=True) | S(q[0], k[0], v[0])
S(q, k, v, ~causal, is_causal=True) | S(q[0, 0], k[0], v[0]) | S(q, k, v, causal & False) | S(q, k, v, causal[0])
S(q, k, v, dropout_p=1.0) | S(q, k, v, torch.full((3, 3), -inf, dtype=torch.float64)) | S(q, y, z) | H(4, 2)(x, x, x)
H(4, 1)(x, x, x) | H(4, 2, bias=False)(x, x, x) | H(4, 2)(x, y, y) | H(4, 2)(x, y, y * 2)
H(4, 2)(x[:, 0], x[:, 0], x[:, 0]) | H(4, 2, batch_first=True)(x, x, x) | H(4, 2, batch_first=True)(x, y[:3], y[:3])
H(4, 2, batch_first=True)(x[0], x[0], x[0]) | H(4, 2, add_bias_kv=True)(x, x, x) | H(4, 2, add_zero_attn=True)(x, x, x)
H(4, 2, vdim=3)(x, y, z) | H(4, 2, kdim=3, bias=False)(x, z, y) | H(4, 2)(x, x, x, need_weights=False)
H(4, 2)(x, x, x, average_attn_weights=False) | H(4, 2)(x, x, x, attn_mask=causal) | H(4, 2)(x, x, x, attn_mask=added)
H(4, 2)(x, x, x, attn_mask=causal, need_weights=False)
H(4, 2)(x, x, x, attn_mask=causal, is_causal=True, need_weights=False) | H(4, 2)(x, x, x, padding)
H(4, 2)(x, x, x, padding, False) | H(4, 2)(x, x, x, padding, attn_mask=causal)
H(4, 2)(x, x, x, padding, attn_mask=added)
H(4, 2, add_bias_kv=True, add_zero_attn=True)(x, x, x, padding, attn_mask=causal)
H(4, 2)(x, x, x, attn_mask=causal.expand(4, 3, 3)) | H(4, 2)(x[:, 0], x[:, 0], x[:, 0], padding[0])
H(4, 2)(x[:, 0], x[:, 0], x[:, 0], attn_mask=causal.expand(2, 3, 3), need_weights=False)
H(4, 2, dropout=1.0)(x, x, x, need_weights=False) | H(4, 3)(x, x, x) | H(0, 2)(x, x, x)
H(4, 2)(x, x, x, is_causal=True) | H(4, 2)(x[0, 0], x, x) | H(4, 2)(x, x[0], x) | H(4, 2)(x[0], x, x)
H(4, 2)(x, x, x, padding[0]) | H(4, 2)(x, x, x, attn_mask=causal[0]) | H(4, 2)(x, x, x, attn_mask=causal[:2])
H(4, 2)(x, x, x, attn_mask=causal[None]) | H(4, 2)(x, x, x, attn_mask=causal.long()) | H(4, 2)(x, x, x, padding.long())
H(4, 2)(x, x, x, padding[:1]) | H(4, 2)(x, x, x, padding[:, :2]) | E(4, 2, 6, 0.0)(x) | E(4, 2, 6, 0.0, "gelu")(x)
E(4, 2, 6, 0.0, norm_first=True)(x) | E(4, 2, 6, 0.0, "gelu", batch_first=True, bias=False)(x)
E(4, 2, 6, 0.0, torch.tanh, 0.1)(x) | E(4, 2, 6).eval()(x) | E(4, 2, 6, 0.0)(x, causal)
E(4, 2, 6, 0.0)(x, causal, padding) | E(4, 2, 6, 0.0)(x[0]) | E(4, 2, 6, 0.0)(x, causal, is_causal=True)
E(4, 2, 6, 0.0, torch.nn.GELU())(x, added) | E(4, 2, 6, 0.0, "sin")(x) | E(4, 3)(x) | E(4, 2, 6, 0.0)(x, added, padding)
n.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 3, 0.0), 2, None, enable_nested_tensor=False)(x, causal, padding)
n.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 3, 0.0), 2, nn.LayerNorm(4), False)(x, causal, padding)
"""
DECODERS = """
T(8, 2, 1, 1, 12, 0.0)(a, b) | T(8, 2, 1, 2, 12, 0.0, batch_first=True, norm_first=True, activation="gelu")(a, b)
T(8, 2, 1, 1, 12, 0.0)(a, b, tgt_mask=mask(3, dtype=t.float64), tgt_is_causal=True)
T(8, 2, 1, 1, 12, 0.0)(a, b, src_key_padding_mask=p, memory_key_padding_mask=p, tgt_mask=m)
T(8, 2, 1, 1, 12, 0.0)(a[0], b[0]) | T(8, 2, 1, 1, 12, 0.0, bias=False)(a, b) | T(8, 2, 1, 1)(a[:, :1], b)
T(8, 2, 1, 1, batch_first=True)(a[:1], b) | T(6, 2, 1, 1)(a, b) | T(8, 2, 1, 1, activation="tanh")
D(L(8, 2, 12, 0.0), 2)(b, a) | D(L(8, 2, 12, 0.0), 1, n.LayerNorm(8))(b, a, m) | L(8, 2, 12, 0.0)(b, a, memory_mask=q)
T(8, 2, custom_encoder=n.Identity(), num_decoder_layers=1, dim_feedforward=4)
"""
BATCHES = """
n.ReLU()(x) | n.ReLU(inplace=True)(x) | n.Tanh()(x) | n.Sigmoid()(x) | n.LeakyReLU(0.3)(x) | n.GELU()(x)
n.Softmax(1)(x) | n.Identity()(x) | n.LogSoftmax(0)(x) | n.Softmax()(x) | n.LogSoftmax()(x) | n.Flatten(0)(x)
n.Flatten()(x) | n.Dropout(0.5).eval()(x) | n.Dropout(0.0)(x) | n.Dropout(1.0)(x) | n.Sequential()(x)
n.Linear(2, 3)(x) | n.Linear(2, 3, bias=False)(x) | n.Linear(2, 1, dtype=torch.float32)(x) | n.SyncBatchNorm(2)(x)
n.SyncBatchNorm(2).eval()(x) | n.SyncBatchNorm(2)(x[..., None]) | n.SyncBatchNorm(2)(x[0])
n.SyncBatchNorm(2, affine=False, track_running_stats=False)(x) | n.SyncBatchNorm(0)(x[:, :0]) | n.SyncBatchNorm(2)
n.SyncBatchNorm.convert_sync_batchnorm(n.BatchNorm1d(2, momentum=None))
n.SyncBatchNorm.convert_sync_batchnorm(n.Sequential(n.Linear(2, 2), n.Sequential(n.BatchNorm2d(2, affine=False))))
n.SyncBatchNorm.convert_sync_batchnorm(n.Linear(1, 1)) | list(n.SyncBatchNorm(2).state_dict())
n.SyncBatchNorm.convert_sync_batchnorm(n.BatchNorm1d(2).eval()).training | n.SyncBatchNorm(2).process_group
"""
PRINTED = """
TransformerEncoder(TransformerEncoderLayer(4, 2, 3, 0.0), 2, LayerNorm(4), enable_nested_tensor=False)
Linear(2, 3) | Linear(2, 3, bias=False) | ReLU() | ReLU(True) | Tanh() | Sigmoid() | Identity(3, a=4) | Flatten()
Flatten(0, 2) | LeakyReLU() | LeakyReLU(0.2, True) | GELU() | GELU("tanh") | Softmax(1) | Softmax() | LogSoftmax(dim=-1)
Dropout() | Dropout(0.25, True) | MSELoss() | CrossEntropyLoss() | NLLLoss(torch.ones(2)) | Sequential() | ModuleList()
Sequential(Linear(1, 2), Sequential(ReLU())) | ModuleList([ReLU()])
ModuleList([Linear(1, 1), Linear(1, 1), ReLU(), Linear(1, 1), Linear(1, 1)])
ModuleList([Sequential(ReLU()), Sequential(ReLU())]) | Module() | ModuleList([Module(), None])
ConstantPad1d((1, 2), 3.5) | ConstantPad2d(1, 0) | ZeroPad1d(1) | ZeroPad2d(2) | ZeroPad3d((1, 2, 3, 4, 5, 6))
ReflectionPad1d(1) | ReflectionPad3d(1) | ReplicationPad2d((1, 2, 3, 4)) | CircularPad2d(1) | CircularPad3d(2)
Conv2d(1, 2, 3, padding=1, padding_mode="reflect") | Dropout1d() | Dropout2d(0.2, True) | Dropout3d(0.1)
AlphaDropout(0.2, True) | FeatureAlphaDropout() | ChannelShuffle(3) | AdaptiveMaxPool1d(2, return_indices=True)
AdaptiveMaxPool2d((2, None)) | Unfold((2, 3), padding=1) | Fold(4, (2, 3), stride=2) | ReLU6() | ReLU6(True)
Hardtanh(-2, 2) | Hardtanh(inplace=True) | Hardsigmoid(True) | Hardswish() | Hardshrink() | Softshrink(1)
Threshold(1, 2) | Threshold(1, 2, True) | Mish() | Mish(True) | CELU() | CELU(2.0, True) | SELU(True) | GLU() | PReLU(3)
Softsign() | Tanhshrink() | RReLU() | RReLU(0.1, 0.2, True) | Softmin(1) | Softmax2d() | MaxPool1d(2) | AvgPool1d(2)
AvgPool1d(2, 1, 1) | AvgPool3d(2) | AvgPool3d((1, 2, 2), 1) | AdaptiveAvgPool1d(3) | AdaptiveAvgPool2d((1, None))
AdaptiveAvgPool3d(1) | Upsample(3) | Upsample(scale_factor=2) | Upsample(scale_factor=(2, 3), mode="bilinear")
UpsamplingNearest2d((3, 4)) | UpsamplingBilinear2d(scale_factor=1.5) | RNN(2, 3)
RNN(2, 3, 2, "relu", False, True, 0.5, True) | LSTM(2, 3) | LSTM(2, 3, 2, dropout=0.5, proj_size=1)
GRU(2, 3, bidirectional=True) | RNNCell(2, 3) | RNNCell(2, 3, False, "relu") | LSTMCell(2, 3, bias=False)
GRUCell(2, 3) | LSTM(2, 3, 2, False, bidirectional=True, proj_size=2) | MultiheadAttention(4, 2)
MultiheadAttention(4, 2, bias=False, add_bias_kv=True, vdim=3) | TransformerEncoderLayer(4, 2, 8)
TransformerEncoderLayer(4, 2, 8, activation=torch.nn.GELU()) | MultiheadAttention(4, 2, kdim=2) | Conv2d(1, 2, 3)
Conv2d(2, 4, (1, 2), 2, (1, 0), 3, 2, False) | Conv2d(1, 1, 2, padding="same") | Conv2d(1, 1, 2, [1, 2], padding=[0, 0])
MaxPool2d(2) | MaxPool2d((1, 2), 3, 1, 2, ceil_mode=True) | AvgPool2d(2) | AvgPool2d(2, (1, 2), 1) | Embedding(2, 3)
Embedding(4, 3, -1, 2.0, 1.5) | LayerNorm(3) | LayerNorm((2, 3), 0.1, False) | LayerNorm(2, bias=False) | BatchNorm1d(3)
BatchNorm2d(3, 0.1, None, False, False) | BatchNorm1d(3, bias=False) | ELU() | ELU(0.5, True) | SiLU() | SiLU(True)
Softplus(2) | Softplus() | LogSigmoid() | Conv1d(1, 2, 3) | Conv3d(2, 4, (1, 2, 3), 2, (1, 0, 0), 3, 2, False)
Conv1d(1, 1, 2, padding="same") | Conv1d(2, 3, 2, padding=1, padding_mode="circular")
Conv3d(2, 3, (1, 2, 3), padding="same", padding_mode="reflect") | ConvTranspose1d(2, 3, 2, 2, 1, 1, 1, False, 2)
ConvTranspose2d(2, 4, 3, groups=2) | ConvTranspose3d(1, 2, (1, 2, 3)) | GroupNorm(2, 4) | GroupNorm(2, 4, 0.1, False)
GroupNorm(2, 4, bias=False) | InstanceNorm1d(4) | InstanceNorm2d(4, affine=True)
InstanceNorm3d(4, 0.1, None, True, True) | InstanceNorm2d(4, affine=True, bias=False) | BatchNorm3d(2)
"""
# Indices of a matrix of 3 x 4; `tt` makes a tensor.
SEQUENCES = """
[0, 1] | [[0, 2], [1, 1]] | [[0, 2]] | [0, 2], [1, 1] | [] | [[]] | [[], []] | [True, False, True] | [True, False]
[[True, False, True, False]] * 3 | [slice(None), 0] | [slice(None), [0, 1]] | [None, 0] | [..., 0] | [...] | [None]
[0, tt([1, 2])] | [0, tt(1)] | [tt(0), tt(1)] | [tt([0, 1])] | [tt([True, False, True])] | [0, (1, 2)] | ((0, 1),)
[(0, 1), (1, 2)] | [0, [1, 2]] | (slice(1, None), [0, 2]) | ([0, 2], slice(1, None)) | [slice(1, 2)] | [()] | ()
([[0, 2], [1, 0]], slice(1, None)) | (slice(None), [[0, 2], [1, 0]]) | ([0, 2], None) | (..., [0, 2]) | ([], 1)
(1, []) | (slice(None), []) | ([True, False, True], 1) | (1, [True, False, True, False]) | [0, True] | [0.5, 1] | ['a']
'a' | b'ab' | 1.0 | (1.5, 0) | [0, 5] | [0, -3] | [0, -4] | [[0, 1], [2]] | [[0, 1, 2], [0, 1]] | [[[0, 1], [1, 0]]]
[[0], [1], [2]] | [[0, 1]] * 40 | [0, 1] * 20 | range(2) | (range(2), 1) | [range(2)] | {0} | [[tt(0), tt(1)]]
([tt(0), 1], 1) | np.array([0.5, 2.0]) | [np.array([0, 2]), np.array([1, 1])] | np.array(1)
np.array([True, False, True]) | np.array([[0, 2], [1, 1]]) | [np.int64(1), np.int64(0)] | np.int64(1) | {0: 1}
([1.0, 0.0], [2, 1]) | ([0, 1], [[0], [1, 2]]) | ([0, 1], [0, 'a']) | ([0, 1], [None, 1]) | bytearray(2)
array.array('i', [0, 1]) | collections.deque([0, 1]) | Pair() | One() | (slice(One(), None), One()) | [One(), One()]
slice(None, None, 0) | slice(None, None, -1) | slice([0, 1], None) | [2**70] | 2**70 | ([0, 1], []) | ([], [])
"""
# What PyTorch answers with a list of signatures.
SIGNATURES = """
a.sum('a') | a.sum(1.5) | a.sum(a) | a.mean('a') | a.mean(1.5) | a.mean(a) | a.max('a') | a.max(1.5) | a.sort('a')
a.sort(1.5) | a.sort(a) | a.squeeze('a') | a.squeeze(1.5) | a.squeeze(a) | a.std('a') | a.std(1.5) | a.std(a) | a.all(a)
a.all('a') | a.all(1.5) | a.masked_fill(a > 0, 'a') | a.scatter(0, i[None], 'a') | torch.where(True, x, x)
torch.where(m, x) | torch.where(m, 'a', x) | torch.clamp(x, 'a') | torch.clamp(x, x, 1) | torch.clamp(x, 0, x)
torch.pow(x, 'a') | torch.pow(2, 3) | torch.sum(x, keepdim=True) | torch.mean(x, keepdim=True)
"""
# Functions of one tensor refuse what is none.
ONE_TENSOR = """
acos acosh argsort asin asinh atan atanh cos cosh deg2rad erf erfc exp2 expm1 isfinite isinf log log10 log1p log2
logical_not nan_to_num neg rad2deg reciprocal sigmoid sign sinc sinh tanh trunc
""".split()


def modes(table: str) -> list[str]:
    """The entries of a table, those with `MODE` once for each kind of border."""
    kinds = ("reflect", "replicate", "circular")
    return [
        each for text in entries(table) for each in dict.fromkeys(text.replace("MODE", repr(kind)) for kind in kinds)
    ]


def of(world: World, *tables: str) -> list[Expression]:
    """The expressions of tables, with what makes their tensors."""
    found = [Expression(text) for table in tables for text in modes(table)]
    for each in found:
        each.world = world
    return found


BASIC = [ARITHMETIC, FURTHER, NETWORKS, ADDED, ANSWERS, REFUSED, SURFACE, CREATED, LAYOUTS, CORNERS, INDICES]
BASIC.append(OTHER_NODES)
OTHERS = {single: SINGLE, plain: PLAIN, windows: WINDOWS, borders: BORDERS, sizes: SIZES, pieces: PIECES, grids: GRIDS}
OTHERS |= {likely: LIKELY, targets: TARGETS, classes: CLASSES, pairs: PAIRS, images: IMAGES, edges: EDGES}
OTHERS |= {
    corners: CORNERS_OF_SEVERAL,
    matrices: MATRICES,
    unfit: UNFIT,
    drawn: DRAWN,
    modules: MODULES,
    empty: EMPTY,
    frozen: FROZEN,
    shared: SHARED,
    hollow: HOLLOW,
}
OTHERS |= {layers: LAYERS, shaped: SHAPED, rows: ROWS, attention: ATTENTION, decoders: DECODERS, batches: BATCHES}
OTHERS[sequences] = "\n".join(f"M[{index}] | put(M, ({index}), s)" for index in entries(SEQUENCES))
EXPRESSIONS = [*of(basic, *BASIC), *[each for world, table in OTHERS.items() for each in of(world, table)]]
EXPRESSIONS += of(basic, *[f"torch.{name}(None)" for name in ONE_TENSOR])

# Of what these functions are made of, only the last node is PyTorch's, and its second derivatives may be zeros or None.
COARSE = (windows, borders, sizes, pieces, pairs, images, matrices)
COARSE += (layers, shaped, rows, batches)
FIRST = (attention, decoders)  # PyTorch has no second derivatives of attention

# What is not asked of these, as DIFFERENCES.md has it; where not all derivatives are the same, values and slopes are.
APART = {
    "derivatives": """
torch.cat([e, e], 1) | torch.cat([e], 5) | torch.cat([e, e], -2) | torch.cat([e, torch.ones(2, 2)], 1)
F.embedding(i[:0], E) | F.embedding(i[:0], E.T)
torch.cat([e, x]) | torch.cat([x, e]) | torch.cat([e, a]) | torch.cat([a, e]) | torch.cat([a, e, a], 1)
torch.cat([e, e]) | torch.cat([e, a.float()]) | torch.cat([e, a], 1)
torch.renorm(a, 1, 0, 2) | torch.renorm(a, 2, 1, 0.5) | a.renorm(3, -1, 1) | torch.renorm(A, 1e9, 1, 1.5)
(a * 1).renorm_(2, 0, 1) | x.expand(2, 3).as_strided((2, 3), (0, 1))
torch.threshold(x, 0, 1) | torch.threshold_(x * 1, 0, 1) | torch.rrelu(x) | torch.rrelu_(x * 1) | torch.hardshrink(x)
F.hardtanh_(x * 1, -0.75, 0.75) | F.threshold_(x * 1, 0, 2) | F.rrelu_(x * 1) | torch.nan_to_num(x / z)
torch.nan_to_num(x / z * 0 + x, 1.0, 2.0, 3.0) | (x / z).nan_to_num_(posinf=7)
x.float().norm(dtype=torch.float64) | w.amax() | w.amin(0) | u.amax() | V.amax(1) | V.amin((0, 1))
F.elu(w * 1, inplace=True) | F.max_pool2d(A[None][:0], 2)
0 ** h | 0.0 ** h | 0 ** (h - 1) | torch.pow(0, h) | 0 ** p | torch.var_mean(a) | torch.var_mean(a, 1)
torch.std_mean(a, 0, keepdim=True) | torch.std_mean(a, correction=0) | torch.var_mean(a, False) | torch.trapezoid(x)
torch.trapezoid(a, dx=2, dim=0) | torch.trapezoid(x, y) | torch.trapezoid(a, x) | torch.cumulative_trapezoid(x)
torch.cumulative_trapezoid(a, x) | F.pairwise_distance(a, q) | F.pairwise_distance(x, y, 1.0, keepdim=True)
nn.PairwiseDistance(3.0)(a, q) | torch.cdist(a, M[:, :3]) | torch.cdist(A, A + 1, 1.0) | torch.diff(x, 0)
F.hardsigmoid(x) | F.hardsigmoid(b, True) | F.hardtanh(x * e) | F.hardswish(x * e) | F.hardsigmoid(x * e)
F.hardshrink(x * e) | F.softshrink(x * e) | F.threshold(x * e, 1.0, 2.0) | n_.Hardsigmoid()(x) | n.SmoothL1Loss()(x, t)
n.SmoothL1Loss(beta=0.25)(x, t) | n.HuberLoss()(x, t) | n.HuberLoss(delta=0.25)(x, t)
F.smooth_l1_loss(x, t, reduction="none")
F.batch_norm(a.half(), None, None, x.float(), training=True).sum()
RNN(2, 3, batch_first=True)(x) | GRU(2, 3, 2, bias=False, batch_first=True, bidirectional=True)(x)
""",
    "saved": """
torch.renorm(a, 1, 0, 2) | torch.renorm(a, 2, 1, 0.5) | a.renorm(3, -1, 1) | torch.renorm(A, 1e9, 1, 1.5)
(a * 1).renorm_(2, 0, 1)
(lambda b: (b.mul_(x), torch.autograd.grad(b.sum(), x)))(torch.ones(3, dtype=torch.float64) * 2) | F.logsigmoid(a * 30)
F.layer_norm(a, [3], x, y) | F.layer_norm(A, (2, 3), a, q, 0.1) | torch.rrelu(x) | torch.rrelu_(x * 1) | F.rrelu_(x * 1)
F.logsigmoid(w) | F.max_pool2d(A[None][:0], 2) | f.div(2, rounding_mode='trunc') | f.div(g, rounding_mode='floor')
(f * 1).div_(2, rounding_mode='floor') | torch.std_mean(a, 0, keepdim=True) | torch.std_mean(a, correction=0)
torch.trapezoid(x) | torch.trapezoid(a, dx=2, dim=0) | torch.trapezoid(x, y) | torch.trapezoid(a, x)
torch.cumulative_trapezoid(a, x) | torch.cdist(a, M[:, :3]) | torch.cdist(A, A + 1, 1.0) | F.layer_norm(a, (2, 3))
F.layer_norm(a, [3], torch.ones(3), torch.zeros(3), 0.1) | F.cross_entropy(a, torch.tensor([0, 2]))
F.cross_entropy(x, torch.tensor(1))
""",
    "writes": """
F.layer_norm(a, [3], x, y) | F.layer_norm(A, (2, 3), a, q, 0.1) | F.max_pool2d(A[None][:0], 2)
f.div(g, rounding_mode='floor') | torch.cdist(a, M[:, :3]) | torch.cdist(A, A + 1, 1.0)
""",
    "tangents": """
F.mse_loss(x, m) | F.mse_loss(h, a[:, :2]) | F.mse_loss(h, i[:2].expand(2, 2))
x.expand(2, 3).as_strided((2, 3), (0, 1))
e.logsumexp(0) | F.silu(a) | F.silu(s) | F.silu(x.clone(), inplace=True) | F.mse_loss(x, y) | F.mse_loss(a, x)
F.mse_loss(x, n) | F.mse_loss(s, s.detach()) | torch.rrelu_(x * 1) | F.rrelu_(x * 1) | torch.nan_to_num(x / z)
torch.nan_to_num(x / z * 0 + x, 1.0, 2.0, 3.0) | (x / z).nan_to_num_(posinf=7)
x.float().norm(dtype=torch.float64) | w.max() | w.min() | u.max() | u.min() | w.median() | u.median()
torch.maximum(w, y.detach()[:1]) | w.clamp(min=w.detach()) | F.elu(w) | F.elu(w * 1, inplace=True) | F.silu(w)
w.norm(float('inf')) | V.norm(float('inf'), 1) | F.mse_loss(w, y.detach()[:1].expand(4))
F.cross_entropy(O, torch.tensor([-100, -100])) | F.cross_entropy(O, torch.tensor([-100, -100]), reduction='sum')
F.nll_loss(O, torch.tensor([-100, -100])) | F.nll_loss(O, torch.tensor([-100, -100]), reduction='none') | O.logsumexp(1)
F.smooth_l1_loss(n, x) | F.binary_cross_entropy(z[:2], z[:2].detach())
F.batch_norm(a.half(), None, None, x.float(), training=True).sum() | h.cumprod(1, dtype=D) | torch.cdist(a, M[:, :3])
torch.cdist(A, A + 1, 1.0) | F.nll_loss(a, torch.tensor([0, 1], dtype=torch.uint8)) | F.mse_loss(a, a.double())
""",
}
