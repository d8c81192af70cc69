"""The calls that lessons and small models are made of, on small arrays: the same source under every contestant.

`t` is the module of a contestant and `F` its `nn.functional`. `x`, `y` and `w` require gradients; for NumPy by hand
the same names are arrays. `kind` is the dtype that is measured; the tensors that `e` stands for are empty, `s` and `q`
have no dimension.
"""

from __future__ import annotations

from dataclasses import dataclass

SETUP = """
import math
def leaf(*shape, scale=0.1):
    values = t.arange(math.prod(shape), dtype=kind).reshape(shape)
    return (t.sin(values + 1.0) * scale + 0.7).requires_grad_()
x, y, w, b = leaf(3, 4), leaf(3, 4), leaf(4, 5), leaf(5)
v, u = leaf(4), leaf(4)
batch, other = leaf(2, 3, 4), leaf(2, 4, 5)
image, kernel = leaf(1, 2, 5, 5), leaf(3, 2, 3, 3)
s, q, e = leaf(), leaf(), leaf(0, 3)
leaves = (x, y, w, b, v, u, batch, other, image, kernel, s, q, e)
c, z = x.detach().clone(), y.detach().clone()
mask = t.tensor([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
rows, where = t.tensor([2, 0, 1]), t.tensor([[0, 1, 2, 0], [2, 0, 1, 1], [1, 1, 0, 2]])
target = t.tensor([1, 0, 3])
running = t.zeros(4, dtype=kind), t.ones(4, dtype=kind)
"""
BY_HAND = """
import numpy as np
def leaf(*shape, scale=0.1):
    return (np.sin(np.arange(np.prod(shape)) + 1.0).reshape(shape) * scale + 0.7).astype(kind)
x, y, w, b = leaf(3, 4), leaf(3, 4), leaf(4, 5), leaf(5)
v, u = leaf(4), leaf(4)
batch, other = leaf(2, 3, 4), leaf(2, 4, 5)
s, q, e = leaf(), leaf(), leaf(0, 3)
leaves = ()
c, z = x.copy(), y.copy()
mask = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
rows, where = np.array([2, 0, 1]), np.array([[0, 1, 2, 0], [2, 0, 1, 1], [1, 1, 0, 2]])
"""


@dataclass(frozen=True)
class Call:
    """One call: its source, the same by hand, and its source with a backward where that is another."""

    name: str
    source: str
    by_hand: str = ""
    backward: str | None = ""  # "" is the source itself, None if there is none
    before: str = ""  # what is defined once


_FUNCTIONS = """
class Double(t.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2.0
    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * 2.0
class Twice(t.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, grad):
        return 2 * grad
class Both(t.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b, a * b
    @staticmethod
    def backward(ctx, left, right):
        return left + right, left - right
"""

CALLS = [
    # elementwise
    Call("add", "x + y", "x + y"),
    Call("add number", "x + 1.5", "x + 1.5"),
    Call("sub", "x - y", "x - y"),
    Call("rsub", "1.0 - x", "1.0 - x"),
    Call("mul", "x * y", "x * y"),
    Call("mul broadcast", "x * v", "x * v"),
    Call("div", "x / y", "x / y"),
    Call("neg", "-x", "-x"),
    Call("square", "x ** 2", "x ** 2"),
    Call("pow", "x ** y", "x ** y"),
    Call("exp", "x.exp()", "np.exp(x)"),
    Call("log", "x.log()", "np.log(x)"),
    Call("sqrt", "x.sqrt()", "np.sqrt(x)"),
    Call("sin", "x.sin()", "np.sin(x)"),
    Call("abs", "x.abs()", "np.abs(x)"),
    Call("tanh", "t.tanh(x)", "np.tanh(x)"),
    Call("sigmoid", "t.sigmoid(x)", "1.0 / (1.0 + np.exp(-x))"),
    Call("relu", "t.relu(x)", "np.maximum(x, 0.0)"),
    Call("gelu", "F.gelu(x)"),
    Call("softplus", "F.softplus(x)", "np.logaddexp(x, 0.0)"),
    Call("clamp", "x.clamp(0.6, 0.75)", "np.minimum(np.maximum(x, 0.6), 0.75)"),
    Call("maximum", "t.maximum(x, y)", "np.maximum(x, y)"),
    Call("where", "t.where(mask, x, y)", "np.where(mask, x, y)"),
    Call("masked_fill", "x.masked_fill(mask, 0.0)", "np.where(mask, 0.0, x)"),
    Call("greater", "x > y", "x > y", None),
    Call("equal number", "x == 0.5", "x == 0.5", None),
    # with a number, of either kind and on either side
    Call("mul number", "x * 2.0", "x * 2.0"),
    Call("mul int", "x * 2", "x * 2"),
    Call("rmul", "2.0 * x", "2.0 * x"),
    Call("add int", "x + 1", "x + 1"),
    Call("add function", "t.add(x, 1.5)", "x + 1.5"),
    Call("sub int", "x - 1", "x - 1"),
    Call("sub method", "x.sub(0.5)", "x - 0.5"),
    Call("rsub int", "1 - x", "1 - x"),
    Call("div number", "x / 2.0", "x / 2.0"),
    Call("div int", "x / 2", "x / 2"),
    Call("rdiv", "1.0 / x", "1.0 / x"),
    Call("add zero", "x + 0.0", "x + 0.0"),
    Call("pow number", "x ** 3.0", "x ** 3.0"),
    Call("pow method", "x.pow(2)", "x ** 2"),
    Call("pow half", "x ** 0.5", "x ** 0.5"),
    Call("rpow", "2.0 ** x", "2.0 ** x"),
    Call("add alpha", "x.add(y, alpha=0.5)", "x + 0.5 * y"),
    Call("where number", "t.where(mask, x, 0.0)", "np.where(mask, x, 0.0)"),
    Call("where method int", "x.where(mask, 1)", "np.where(mask, x, 1)"),
    Call("masked_fill int", "x.masked_fill(mask, 1)", "np.where(mask, 1, x)"),
    Call("clamp keyword", "t.clamp(x, min=0.7)", "np.maximum(x, 0.7)"),
    Call("clamp int", "x.clamp(0, 1)", "np.minimum(np.maximum(x, 0), 1)"),
    Call("greater number", "x > 0.7", "x > 0.7", None),
    Call("less int", "x < 1", "x < 1", None),
    Call("not equal zero", "x != 0", "x != 0", None),
    Call("leaky_relu", "F.leaky_relu(x, 0.1)", "np.where(x > 0, x, 0.1 * x)"),
    Call("elu", "F.elu(x)", "np.where(x > 0, x, np.expm1(x))"),
    Call("a line", "x * 2.0 + 1", "x * 2.0 + 1"),
    # without a dimension, and without an element
    Call("0-d mul", "s * q", "s * q"),
    Call("0-d by number", "s * 2.0", "s * 2.0"),
    Call("0-d from an int", "1 - s", "1 - s"),
    Call("0-d by tensor", "x * s", "x * s"),
    Call("0-d exp", "s.exp()", "np.exp(s)"),
    Call("0-d sum", "s.sum()", "s.sum()"),
    Call("0-d greater", "s > 0.5", "s > 0.5", None),
    Call("0-d item", "s.item()", "s.item()", None),
    Call("empty mul", "e * e", "e * e"),
    Call("empty by number", "e * 2.0", "e * 2.0"),
    Call("empty sum", "e.sum()", "e.sum()"),
    Call("empty sum of a dim", "e.sum(0)", "e.sum(0)"),
    # reductions
    Call("sum", "x.sum()", "x.sum()"),
    Call("sum of a dim", "x.sum(1)", "x.sum(1)"),
    Call("sum keepdim", "x.sum(0, keepdim=True)", "x.sum(0, keepdims=True)"),
    Call("mean", "x.mean()", "x.mean()"),
    Call("mean of a dim", "x.mean(-1)", "x.mean(-1)"),
    Call("max", "x.max()", "x.max()"),
    Call("max of a dim", "x.max(1).values", "x.max(1)"),
    Call("min", "x.min()", "x.min()"),
    Call("argmax", "x.argmax(1)", "x.argmax(1)", None),
    Call("prod", "x.prod()", "x.prod()"),
    Call("var", "x.var()", "x.var(ddof=1)"),
    Call("std of a dim", "x.std(1)", "x.std(1, ddof=1)"),
    Call("norm", "x.norm()", "np.linalg.norm(x)"),
    Call("logsumexp", "x.logsumexp(1)", "np.logaddexp.reduce(x, 1)"),
    Call("cumsum", "x.cumsum(1)", "x.cumsum(1)"),
    Call("any", "mask.any()", "mask.any()", None),
    Call("sum keyword", "t.sum(x, dim=-1)", "x.sum(-1)"),
    Call("sum of two dims", "batch.sum(dim=(0, 2))", "batch.sum((0, 2))"),
    Call("mean keyword", "x.mean(dim=1, keepdim=True)", "x.mean(1, keepdims=True)"),
    Call("amax", "x.amax(dim=1)", "x.max(1)"),
    Call("var of a dim", "x.var(dim=1, unbiased=False)", "x.var(1)"),
    Call("var correction", "t.var(x, -1, correction=0)", "x.var(-1)"),
    Call("std", "x.std()", "x.std(ddof=1)"),
    Call("norm of a dim", "x.norm(dim=1)", "np.linalg.norm(x, axis=1)"),
    Call("argmax of all", "t.argmax(x)", "x.argmax()", None),
    Call("softmax method", "x.softmax(-1)"),
    Call("all", "mask.all()", "mask.all()", None),
    # linear algebra
    Call("matmul", "x @ w", "x @ w"),
    Call("matrix by vector", "x @ v", "x @ v"),
    Call("dot", "v @ u", "v @ u"),
    Call("batched matmul", "batch @ other", "batch @ other"),
    Call("batch by matrix", "batch @ w", "batch @ w"),
    Call("addmm", "t.addmm(b, x, w)", "b + x @ w"),
    Call("linear", "F.linear(x, w.t(), b)", "x @ w + b"),
    Call("outer", "t.outer(v, b)", "np.outer(v, b)"),
    Call("einsum", "t.einsum('ij,jk->ik', x, w)", "np.einsum('ij,jk->ik', x, w)"),
    Call("mm", "t.mm(x, w)", "x @ w"),
    Call("bmm", "t.bmm(batch, other)", "batch @ other"),
    Call("matmul function", "t.matmul(batch, other)", "batch @ other"),
    Call("dot function", "t.dot(v, u)", "v.dot(u)"),
    Call(
        "Linear",
        "layer(x)",
        "",
        "",
        "layer = t.nn.Linear(4, 5, dtype=kind)\n"
        "layer.weight.data.copy_(w.detach().t())\n"
        "layer.bias.data.copy_(b.detach())",
    ),
    # views
    Call("t", "x.t()", "x.T"),
    Call("transpose", "batch.transpose(1, 2)", "batch.swapaxes(1, 2)"),
    Call("permute", "batch.permute(2, 0, 1)", "batch.transpose(2, 0, 1)"),
    Call("reshape", "x.reshape(4, 3)", "x.reshape(4, 3)"),
    Call("view", "x.view(2, 6)", "x.reshape(2, 6)"),
    Call("flatten", "x.flatten()", "x.reshape(-1)"),
    Call("unsqueeze", "x.unsqueeze(1)", "x[:, None]"),
    Call("squeeze", "image.squeeze(0)"),
    Call("expand", "v.expand(3, 4)", "np.broadcast_to(v, (3, 4))"),
    Call("diagonal", "x.diagonal()", "x.diagonal()"),
    Call("narrow", "x.narrow(1, 1, 2)", "x[:, 1:3]"),
    Call("detach", "x.detach()", "x.view()", None),
    Call("clone", "x.clone()", "x.copy()"),
    Call("contiguous", "x.t().contiguous()", "np.ascontiguousarray(x.T)"),
    Call("to float32", "x.float()", "x.astype(np.float32)"),
    Call("T", "x.T", "x.T"),
    Call("reshape tuple", "t.reshape(x, (2, -1))", "x.reshape(2, -1)"),
    Call("flatten keyword", "batch.flatten(start_dim=1)", "batch.reshape(2, -1)"),
    Call("unsqueeze function", "t.unsqueeze(x, -1)", "x[..., None]"),
    Call("transpose negative", "batch.transpose(-1, -2)", "batch.swapaxes(-1, -2)"),
    Call("movedim", "batch.movedim(0, -1)", "np.moveaxis(batch, 0, -1)"),
    Call("view_as", "x.view_as(y)", "x.reshape(y.shape)"),
    # indexing
    Call("index by int", "x[1]", "x[1]"),
    Call("index by two ints", "x[1, 2]", "x[1, 2]"),
    Call("index by slice", "x[1:]", "x[1:]"),
    Call("index by column", "x[:, 2]", "x[:, 2]"),
    Call("index by None", "x[:, None]", "x[:, None]"),
    Call("index by tensor", "x[rows]", "x[rows]"),
    Call("index by mask", "x[mask]", "x[mask]"),
    Call("gather", "x.gather(0, where)", "np.take_along_axis(x, where, 0)"),
    Call("index_select", "x.index_select(0, rows)", "x.take(rows, 0)"),
    Call("scatter_add", "x.scatter_add(0, where, y)"),
    Call("topk", "x.topk(2).values"),
    Call("sort", "x.sort().values", "np.sort(x)"),
    Call("index by ellipsis", "x[..., 0]", "x[..., 0]"),
    Call("index by step", "x[::2, 1:3]", "x[::2, 1:3]"),
    Call("gather keyword", "t.gather(x, dim=1, index=where)", "np.take_along_axis(x, where, 1)"),
    Call("topk keyword", "t.topk(x, k=2, dim=-1).values"),
    Call("argsort", "x.argsort()", "np.argsort(x)", None),
    # joining and splitting
    Call("cat", "t.cat([x, y])", "np.concatenate([x, y])"),
    Call("stack", "t.stack([x, y])", "np.stack([x, y])"),
    Call("chunk", "x.chunk(2, 1)[0]"),
    Call("split", "x.split(1)[1]"),
    Call("unbind", "x.unbind()[1]"),
    Call("cat of a dim", "t.cat((x, y), dim=-1)", "np.concatenate([x, y], -1)"),
    Call("stack of a dim", "t.stack((x, y), dim=1)", "np.stack([x, y], 1)"),
    Call("split sizes", "x.split([1, 3], dim=1)[1]"),
    # rearranging
    Call("roll", "x.roll(1)", "np.roll(x, 1)"),
    Call("roll of a dim", "t.roll(x, shifts=1, dims=0)", "np.roll(x, 1, 0)"),
    Call("roll of two dims", "x.roll((1, -1), (0, 1))", "np.roll(x, (1, -1), (0, 1))"),
    Call("flip of two", "t.flip(x, dims=(0, 1))", "x[::-1, ::-1].copy()"),
    Call("flip", "x.flip(0)", "np.flip(x, 0)"),
    Call("tril", "x.tril()", "np.tril(x)"),
    Call("repeat", "v.repeat(3, 1)", "np.tile(v, (3, 1))"),
    # in place
    Call("add_", "z.add_(c)", "np.add(z, c, z)", "x.clone().add_(y)"),
    Call("isub", "z.sub_(0.0)", "np.subtract(z, 0.0, z)", "x.clone().sub_(y)"),
    Call("mul_", "z.mul_(1.0)", "np.multiply(z, 1.0, z)", "x.clone().mul_(y)"),
    Call("zero_", "z.zero_()", "z.fill(0.0)", "x.clone().zero_()"),
    Call("fill_", "z.fill_(0.5)", "z.fill(0.5)", "x.clone().fill_(0.5)"),
    Call("copy_", "z.copy_(c)", "np.copyto(z, c)", "x.clone().copy_(y)"),
    Call("relu_", "z.relu_()", "np.maximum(z, 0.0, out=z)", "x.clone().relu_()"),
    Call(
        "set an int",
        "z[1] = 0.5",
        "z[1] = 0.5",
        "put(x.clone(), v)",
        "def put(a, value):\n    a[1] = value\n    return a",
    ),
    Call(
        "set a slice",
        "z[1:] = c[1:]",
        "z[1:] = c[1:]",
        "put(x.clone(), y[1:])",
        "def put(a, value):\n    a[1:] = value\n    return a",
    ),
    Call(
        "set by mask",
        "z[mask] = 0.5",
        "z[mask] = 0.5",
        "put(x.clone(), 0.5)",
        "def put(a, value):\n    a[mask] = value\n    return a",
    ),
    Call(
        "write through a view",
        "z[0].mul_(1.0)",
        "np.multiply(z[0], 1.0, z[0])",
        "put(x.clone())",
        "def put(a):\n    a[0].mul_(v)\n    return a",
    ),
    Call(
        "update under no_grad", "update()", "", None, "def update():\n    with t.no_grad():\n        x.sub_(0.0 * c)\n"
    ),
    Call("iadd number", "z += 0.0", "z += 0.0", "plus(x.clone())", "def plus(a):\n    a += 1.0\n    return a"),
    Call("iadd int", "z += 0", "z += 0", "plus(x.clone())", "def plus(a):\n    a += 1\n    return a"),
    Call("imul number", "z *= 1.0", "z *= 1.0", "tripled(x.clone())", "def tripled(a):\n    a *= 3.0\n    return a"),
    Call("idiv int", "z /= 1", "z /= 1", "over(x.clone())", "def over(a):\n    a /= 2\n    return a"),
    Call("add_ alpha", "z.add_(c, alpha=0.0)", "np.add(z, 0.0 * c, z)", "x.clone().add_(y, alpha=0.5)"),
    Call("clamp_", "z.clamp_(0.0, 1.0)", "np.clip(z, 0.0, 1.0, z)", "x.clone().clamp_(0.6, 0.75)"),
    Call("masked_fill_", "z.masked_fill_(mask, 0.5)", "z[mask] = 0.5", "x.clone().masked_fill_(mask, 0.5)"),
    Call(
        "isub of a row",
        "rows_off()",
        "",
        "less(x.clone())",
        "def rows_off():\n    z[1] -= 0.0\ndef less(a):\n    a[1] -= 0.5\n    return a",
    ),
    Call(
        "set a column",
        "z[:, 1] = 0.5",
        "z[:, 1] = 0.5",
        "put(x.clone())",
        "def put(a):\n    a[:, 1] = 0.5\n    return a",
    ),
    # layers and losses
    Call("softmax", "t.softmax(x, 1)"),
    Call("log_softmax", "t.log_softmax(x, 1)", "x - np.logaddexp.reduce(x, 1, keepdims=True)"),
    Call("cross_entropy", "F.cross_entropy(x, target)"),
    Call("nll_loss", "F.nll_loss(x, target)"),
    Call("mse_loss", "F.mse_loss(x, y)", "np.square(x - y).mean()"),
    Call("layer_norm", "F.layer_norm(x, (4,), v, u)"),
    Call("batch_norm", "F.batch_norm(x, *running, v, u, training=True)"),
    Call("dropout", "F.dropout(x, 0.5)"),
    Call("conv2d", "F.conv2d(image, kernel)"),
    Call("log_softmax function", "F.log_softmax(x, dim=-1)"),
    Call("CrossEntropyLoss", "loss(x, target)", "", "", "loss = t.nn.CrossEntropyLoss()"),
    Call("MSELoss", "loss(x, c)", "", "", "loss = t.nn.MSELoss()"),
    Call("LayerNorm", "norm(x)", "", "", "norm = t.nn.LayerNorm(4, dtype=kind)"),
    Call("ReLU", "act(x)", "", "", "act = t.nn.ReLU()"),
    Call("nll of log_softmax", "F.nll_loss(F.log_softmax(x, 1), target)"),
    Call("l1_loss", "F.l1_loss(x, y)", "np.abs(x - y).mean()"),
    Call("binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(x, c)"),
    # creation and reading
    Call("zeros", "t.zeros(3, 4)", "np.zeros((3, 4), np.float32)", None),
    Call("ones_like", "t.ones_like(x)", "np.ones(x.shape)", None),
    Call("arange", "t.arange(5)", "np.arange(5)", None),
    Call("tensor of a list", "t.tensor([1.0, 2.0, 3.0])", "np.array([1.0, 2.0, 3.0], np.float32)", None),
    Call("item", "c[1, 2].item()", "float(c[1, 2])", None),
    Call("tolist", "c.tolist()", "c.tolist()", None),
    Call("no_grad", "quiet()", "", None, "def quiet():\n    with t.no_grad():\n        pass"),
    # of the user's own
    Call("Function", "Double.apply(x)", "", "", _FUNCTIONS),
    Call("Function by number", "Twice.apply(x)", "", "", _FUNCTIONS),
    Call("Functions in a chain", "Double.apply(Double.apply(v))", "", "", _FUNCTIONS),
    Call("Function between", "(Double.apply(x * y)).sum()", "", "", _FUNCTIONS),
    Call("Function of two outputs", "Both.apply(x, y)[1]", "", "", _FUNCTIONS),
    Call(
        "hook",
        "hooked()",
        "",
        "",
        "def hooked():\n    a = x * 2.0\n    a.register_hook(lambda grad: grad * 0.5)\n    return a",
    ),
]
