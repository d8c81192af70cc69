"""Programs that are hard to record: transforms, checkpoints, hooks, writes, dtypes, modes, compiled parts, errors.

Each returns what it computed. Recorded or not, that is the same.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch import nn
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

HARD: dict[str, Callable[[], Any]] = {}


def hard(program: Callable[[], Any]) -> Callable[[], Any]:
    """One of the programs."""
    HARD[program.__name__] = program
    return program


def leaf(*shape: int) -> Any:
    return torch.randn(*shape, requires_grad=True)


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Sq2(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class TwoOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.set_materialize_grads(False)
        i = x.argsort()
        ctx.mark_non_differentiable(i)
        return x * k, i

    @staticmethod
    def backward(ctx, g, _):
        return g, None


@hard
def func_grad():
    return grad(lambda x: (x**3).sum())(torch.ones(3))


@hard
def grad_rg():
    x = leaf(3)
    y = grad(lambda x: (x**3).sum())(x).sum()
    y.backward()
    return x.grad


@hard
def func_vmap():
    return vmap(lambda x: (x * x).sum())(torch.randn(4, 3))


@hard
def vmapgrad():
    return vmap(grad(lambda x: (x**3).sum()))(torch.randn(4, 3))


@hard
def func_jvp():
    return jvp(lambda x: x.sin(), (torch.ones(3),), (torch.ones(3),))[1]


@hard
def hess():
    return hessian(lambda x: (x**3).sum())(torch.ones(3))


@hard
def jac():
    return jacrev(torch.sin)(torch.ones(3)) + jacfwd(torch.sin)(torch.ones(3))


@hard
def fwad():
    with fwAD.dual_level():
        d = fwAD.make_dual(torch.ones(3), torch.ones(3))
        return fwAD.unpack_dual(d.sin() * 2).tangent


@hard
def functional_hess():
    return torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.ones(3))


@hard
def functional_jac():
    return torch.autograd.functional.jacobian(lambda x: x**3, torch.ones(3), vectorize=True)


@hard
def batched():
    x = leaf(3)
    y = x**2
    return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)[0]


@hard
def sq2():
    x = leaf(3)
    Sq2.apply(x).sum().backward()
    return x.grad


@hard
def sq2_vmap():
    return vmap(grad(lambda x: Sq2.apply(x).sum()))(torch.randn(2, 3))


@hard
def two():
    x = leaf(3)
    y, i = TwoOut.apply(x, 2.0)
    (y * i).sum().backward()
    return x.grad


@hard
def ckpt():
    layer = nn.Linear(3, 3)
    x = leaf(2, 3)
    checkpoint(lambda x: torch.tanh(layer(x)).sin(), x, use_reentrant=False).sum().backward()
    return x.grad


@hard
def ckpt_re():
    layer = nn.Linear(3, 3)
    x = leaf(2, 3)
    checkpoint(lambda x: torch.tanh(layer(x)).sin(), x, use_reentrant=True).sum().backward()
    return x.grad


@hard
def savedhooks():
    x = leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), lambda a: torch.from_numpy(a)):
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@hard
def savecpu():
    x = leaf(3)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@hard
def copyslices():
    x = leaf(4)
    y = x * 1
    y[:2].mul_(3)
    y[2] = 0
    v = y[1:3]
    v.add_(x[0])
    (y**2).sum().backward()
    return x.grad


@hard
def padding():
    """A view made without gradients whose memory was written: PyTorch refuses to say which node made it."""
    table = torch.nn.EmbeddingBag(4, 2)
    with torch.no_grad():
        row = table.weight[0]
    table.weight.data.mul_(2)
    with torch.no_grad():
        row.fill_(0)
    loss = torch.nn.Embedding(4, 2, padding_idx=0, sparse=True)(torch.tensor([0, 3])).sum()
    loss = loss + table(torch.tensor([[0, 1]])).pow(2).sum()
    loss.backward()
    return loss, table.weight.grad, row


@hard
def leafview():
    x = torch.zeros(4)
    w = leaf(2)
    x[:2] = w
    (x**2).sum().backward()
    return w.grad


@hard
def unbindwrite():
    x = leaf(2, 2)
    y = x * 1
    try:
        for r in y.unbind():
            r.mul_(2)
    except RuntimeError as e:
        return str(e)


@hard
def anomaly():
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        try:
            (torch.sqrt(x * 0) * 0).sum().backward()
        except RuntimeError as e:
            return str(e)[:80]


@hard
def all_hooks():
    x = leaf(3)
    seen = []
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    y.grad_fn.register_prehook(lambda g: (g[0] * 3,))
    y.grad_fn.register_hook(lambda i, o: (i[0] * 2, None))
    y.sum().backward()
    return x.grad, y.grad


@hard
def mm_hook():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    x = leaf(2, 2)
    m(x).sum().backward()
    return x.grad


@hard
def complex_numbers():
    x = torch.randn(3, dtype=torch.cfloat, requires_grad=True)
    (x * x.conj()).real.sum().backward()
    return x.grad


@hard
def bf16():
    x = torch.randn(300, dtype=torch.bfloat16, requires_grad=True)
    (x * x).sum().backward()
    return x.grad


@hard
def half_():
    x = torch.randn(300, dtype=torch.half, requires_grad=True)
    (x * x).sum().backward()
    return x.grad


@hard
def meta_():
    x = torch.randn(3, device="meta", requires_grad=True)
    (x * x).sum().backward()
    return torch.tensor(x.grad.shape)


@hard
def sparse():
    e = nn.Embedding(5, 3, sparse=True)
    e(torch.tensor([1, 2])).sum().backward()
    return e.weight.grad.to_dense()


@hard
def inference():
    with torch.inference_mode():
        y = torch.ones(3) * 2
        y.add_(1)
    return y


@hard
def nograd_encoder():
    m = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad():
        return m(torch.ones(2, 3, 8))


@hard
def sgd_foreach():
    m = nn.Linear(3, 3)
    o = torch.optim.Adam(m.parameters(), foreach=True)
    m(torch.ones(3)).sum().backward()
    nn.utils.clip_grad_norm_(m.parameters(), 0.1, foreach=True)
    o.step()
    o.zero_grad()
    return m.weight.detach()


@hard
def fused():
    m = nn.Linear(3, 3)
    o = torch.optim.Adam(m.parameters(), fused=True)
    m(torch.ones(3)).sum().backward()
    o.step()
    o.zero_grad()
    return m.weight.detach()


@hard
def dataset():
    x = leaf(3)
    x.data.mul_(2)
    y = x * 2
    x.data = torch.ones(3)
    y.sum().backward()
    return x.grad


@hard
def dblback():
    x = leaf(3)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (g2,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    g2.sum().backward()
    return x.grad


@hard
def nested_backward():
    class B(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.detach() ** 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                d = x.detach().requires_grad_()
                y = d**2
                (r,) = torch.autograd.grad(y, d, g)
            return r

    x = leaf(3)
    B.apply(x * 2).sum().backward()
    return x.grad


@hard
def compile_eager():
    m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    c = torch.compile(m, backend="aot_eager")
    x = leaf(2, 3)
    c(x).sum().backward()
    return x.grad


@hard
def weights_norm():
    m = torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    m(torch.ones(3)).sum().backward()
    return m.parametrizations.weight.original0.grad


@hard
def rnn_gru():
    m = nn.GRU(3, 4, bidirectional=True)
    m(torch.ones(5, 2, 3))[0].sum().backward()
    return m.weight_hh_l0.grad


@hard
def ctc():
    lp = torch.randn(5, 1, 4).log_softmax(2).requires_grad_()
    F.ctc_loss(lp, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])).backward()
    return lp.grad


@hard
def subclass():
    class S(torch.Tensor):
        pass

    x = torch.randn(3).as_subclass(S).requires_grad_()
    (x * 2).sum().backward()
    return x.grad


@hard
def nestedt():
    n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, requires_grad=True)
    (n * 2).sum().backward() if hasattr(n.sum(), "backward") else 0
    return torch.ones(1)


@hard
def jit_():
    @torch.jit.script
    def f(x):
        return (x * 2).tanh()

    x = leaf(3)
    f(x).sum().backward()
    return x.grad


@hard
def usererror():
    class E(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")

    x = leaf(3)
    try:
        E.apply(x).sum().backward()
    except ValueError as e:
        return str(e)


@hard
def multi():
    x = leaf(3)
    torch.autograd.backward([x.sum(), (x * x).sum()])
    return x.grad


@hard
def gradedge():
    x = leaf(3)
    y = x * 2
    e = torch.autograd.graph.get_gradient_edge(y)
    return torch.autograd.grad(y.sum(), [e])[0]


@hard
def leafroot():
    x = leaf(1)
    x.backward()
    return x.grad


@hard
def deepchain():
    x = leaf(1)
    y = x
    for _ in range(3000):
        y = y + 1
    y.backward()
    return x.grad


@hard
def other_threads():
    r = []

    def w():
        x = torch.ones(3, requires_grad=True)
        (x * 2).sum().backward()
        r.append(x.grad)

    t = threading.Thread(target=w)
    t.start()
    t.join()
    return r[0]


@hard
def gradcheck():
    return torch.tensor(torch.autograd.gradcheck(Sq.apply, torch.ones(2, dtype=torch.double, requires_grad=True)))


@hard
def fx():
    from torch.fx import symbolic_trace

    m = symbolic_trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    x = leaf(2, 3)
    m(x).sum().backward()
    return x.grad


@hard
def deepcopy():
    m = nn.Linear(3, 3)
    c = copy.deepcopy(m)
    c(torch.ones(3)).sum().backward()
    return c.weight.grad


@hard
def dispatchmode():
    class M(TorchDispatchMode):
        n = 0

        def __torch_dispatch__(s, f, t, a=(), k=None):
            s.n += 1
            return f(*a, **(k or {}))

    x = leaf(3)
    with M() as m:
        (x * 2).sum().backward()
    return x.grad, torch.tensor(m.n)


@hard
def flop():
    x = leaf(3, 3)
    with FlopCounterMode(display=False) as m:
        (x @ x).sum().backward()
    return torch.tensor(m.get_total_flops())
