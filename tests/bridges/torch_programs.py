"""Programs that are hard to record, and those that people ask about in forums; each returns what it computed.

Recorded or not, that is the same. What is called `loss` in it can be stepped.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from functions import function, saved, square
from made_functions import raising
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.fx import symbolic_trace
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

PROGRAMS: dict[str, Callable[[], Any]] = {}


def leaf(*shape: int, **options: Any) -> Any:
    return torch.randn(*shape, requires_grad=True, **options)


def error_of(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as error:
        return str(error)[:80]
    return ""


def cube(x: Any) -> Any:
    return (x**3).sum()


Square = square(torch)
WrongCube = function(torch, lambda ctx, x: x**3, saved(lambda g, x: 2 * x * g), saves=True)
Round = function(torch, lambda ctx, x: x.round(), lambda ctx, g: g.clamp(-1, 1))
Reverse = function(torch, lambda ctx, x, weight: x.view_as(x), lambda ctx, g: (-0.5 * g, None))
TooFew = function(torch, lambda ctx, x, factor: x * factor, saved(lambda g, x, factor: g * factor), saves=True)


def _again(g: Any, x: Any) -> Any:
    """A backward that runs another."""
    with torch.enable_grad():
        inner = x.detach().requires_grad_()
        return torch.autograd.grad(inner**2, inner, g)[0]


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


# What is computed with nothing to run backward.
PROGRAMS |= {
    "grad of a function": lambda: grad(cube)(torch.ones(3)),
    "vmap": lambda: vmap(lambda x: (x * x).sum())(torch.randn(4, 3)),
    "vmap of grad": lambda: vmap(grad(cube))(torch.randn(4, 3)),
    "vmap of a Function": lambda: vmap(grad(lambda x: Square.apply(x).sum()))(torch.randn(2, 3)),
    "jvp": lambda: jvp(lambda x: x.sin(), (torch.ones(3),), (torch.ones(3),))[1],
    "hessian": lambda: hessian(cube)(torch.ones(3)),
    "jacobians": lambda: jacrev(torch.sin)(torch.ones(3)) + jacfwd(torch.sin)(torch.ones(3)),
    "functional hessian": lambda: torch.autograd.functional.hessian(cube, torch.ones(3)),
    "functional jacobian": lambda: torch.autograd.functional.jacobian(lambda x: x**3, torch.ones(3), vectorize=True),
    "gradcheck": lambda: torch.autograd.gradcheck(Square.apply, leaf(2, dtype=torch.double)),
    "wrong gradcheck": lambda: torch.autograd.gradcheck(
        WrongCube.apply, leaf(2, dtype=torch.double), raise_exception=False
    ),
    "batched grads": lambda: [
        torch.autograd.grad(x**2, x, torch.eye(3), is_grads_batched=True)[0] for x in [torch.ones(3).requires_grad_()]
    ],
}


def _backward(loss_of: Callable[[Any], Any], *shape: int, retain: bool = False, **options: Any) -> Callable[[], Any]:
    """Make the program that computes a loss of a leaf, and its gradient; one that is retained is stepped as well."""

    def run() -> Any:
        x = leaf(*(shape or (3,)), **options)
        loss = loss_of(x)
        loss.backward(retain_graph=retain)
        return {"grad": x.grad, "loss": loss} if retain else x.grad

    return run


def _layers(*more: nn.Module) -> Any:
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), *more)


PROGRAMS |= {
    "a gradient as a value": _backward(lambda x: grad(cube)(x).sum()),
    "a Function": _backward(lambda x: Square.apply(x).sum()),
    "checkpoint": _backward(lambda x: checkpoint(_layers(), x, use_reentrant=False).sum(), 2, 3),
    "reentrant checkpoint": _backward(lambda x: checkpoint(_layers(), x, use_reentrant=True).sum(), 2, 3),
    "complex numbers": _backward(lambda x: (x * x.conj()).real.sum(), dtype=torch.cfloat),
    "bfloat16": _backward(lambda x: (x * x).sum(), 300, dtype=torch.bfloat16),
    "half": _backward(lambda x: (x * x).sum(), 300, dtype=torch.half),
    "compiled": _backward(lambda x: torch.compile(_layers(), backend="aot_eager")(x).sum(), 2, 3),
    "symbolic trace": _backward(lambda x: symbolic_trace(_layers())(x).sum(), 2, 3),
    "a leaf as the root": _backward(lambda x: x, 1),
    "a backward in a backward": _backward(
        lambda x: function(torch, lambda ctx, x: x.detach() ** 2, saved(_again), saves=True).apply(x * 2).sum()
    ),
    "three derivatives": _backward(
        lambda x: torch.autograd.grad(
            torch.autograd.grad(cube(x), x, create_graph=True)[0].sum(), x, create_graph=True
        )[0].sum()
    ),
    "a wrong Function": _backward(lambda x: WrongCube.apply(x).sum(), retain=True),
    "straight through": _backward(
        lambda x: (Round.apply(x) * 3).pow(2).sum() + (x + (x.round() - x).detach()).sum(), 5, retain=True
    ),
    "a reversed gradient": _backward(
        lambda x: F.cross_entropy(Reverse.apply(x.relu(), 0.5), torch.tensor([0, 1, 0])), 3, 2, retain=True
    ),
    "relu in place": _backward(lambda x: nn.Sequential(nn.Linear(3, 4), nn.ReLU(True))(x).sum(), 2, 3, retain=True),
    "a detached branch": _backward(lambda x: ((x * 2).tanh().detach() * x + x.exp()).sum(), retain=True),
    "stacked parts": _backward(lambda x: torch.stack([x[0] * 2, x[1] * 3]).sum(), retain=True),
}


def _trained(make: Callable[[], tuple[Any, Any]]) -> Callable[[], Any]:
    """Make the program that computes the gradients of a module's parameters."""

    def run() -> Any:
        model, x = make()
        out = model(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()
        grads = [each.grad for each in model.parameters()]
        return [each.to_dense() if each is not None and each.is_sparse else each for each in grads]

    return run


def _hooked() -> Any:
    model = nn.Linear(2, 2)
    model.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    return model


PROGRAMS |= {
    "a hook of a module": _trained(lambda: (_hooked(), leaf(2, 2))),
    "a sparse embedding": _trained(lambda: (nn.Embedding(5, 3, sparse=True), torch.tensor([1, 2]))),
    "weight norm": _trained(lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), torch.ones(3))),
    "gru": _trained(lambda: (nn.GRU(3, 4, bidirectional=True), torch.ones(5, 2, 3))),
    "a copied module": _trained(lambda: (copy.deepcopy(nn.Linear(3, 3)), torch.ones(3))),
}


def _updated(**options: Any) -> Callable[[], Any]:
    """Make a step of Adam."""

    def run() -> Any:
        model = nn.Linear(3, 3)
        adam = torch.optim.Adam(model.parameters(), **options)
        model(torch.ones(3)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        adam.step()
        adam.zero_grad()
        return [each.detach() for each in model.parameters()]

    return run


PROGRAMS |= {"foreach": _updated(foreach=True), "fused": _updated(fused=True)}


class Others:
    """Programs of several statements."""

    def forward_mode():
        with fwAD.dual_level():
            dual = fwAD.make_dual(torch.ones(3), torch.ones(3))
            return fwAD.unpack_dual(dual.sin() * 2).tangent

    def two_outputs():
        x = leaf(3)
        y, i = TwoOut.apply(x, 2.0)
        (y * i).sum().backward()
        return x.grad

    def saved_elsewhere():
        x = leaf(3)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), lambda a: torch.from_numpy(a)):
            y = (x * x).exp()
        with torch.autograd.graph.save_on_cpu():
            y = (y * x).exp()
        y.sum().backward()
        return x.grad

    def written_in_parts():
        x = leaf(4)
        y = x * 1
        y[:2].mul_(3)
        y[2] = 0
        v = y[1:3]
        v.add_(x[0])
        loss = (y**2).sum()
        loss.backward(retain_graph=True)
        return {"grad": x.grad, "loss": loss}

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

    def a_view_of_a_constant_is_written():
        x, w = torch.zeros(4), leaf(2)
        x[:2] = w
        (x**2).sum().backward()
        return w.grad

    def errors():
        """A write that breaks a backward, views that are written, too few gradients, and others that are refused."""
        x, w = leaf(4), leaf(3)
        y, v = torch.sigmoid(x), leaf(2, 2) * 1
        y += 1
        loss = (x * x).exp().sum()
        loss.backward()
        with torch.autograd.set_detect_anomaly(True):
            nan = error_of((torch.zeros(2, requires_grad=True).sqrt() * 0).sum().backward)
        return [
            error_of(y.sum().backward),
            error_of(lambda: [row.mul_(2) for row in v.unbind()]),
            error_of(TooFew.apply(w, leaf(3)).sum().backward),
            error_of(function(torch, lambda ctx, x: x * 1, raising(ValueError("mine"))).apply(w).sum().backward),
            error_of(lambda: w.add_(1)),
            error_of(loss.backward),
            error_of(x.argmax().float().backward),
            error_of((torch.tensor([w[0].item()]) * 2).sum().backward),
            error_of(lambda: torch.autograd.grad((x * 2).sum(), [x, w])),
            nan,
            torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True),
        ]

    def all_hooks():
        x, seen = leaf(3), []
        y = x * 2
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        x.register_hook(lambda g: g + 1)
        x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
        y.grad_fn.register_prehook(lambda g: (g[0] * 3,))
        y.grad_fn.register_hook(lambda i, o: (i[0] * 2, None))
        y.sum().backward()
        return x.grad, y.grad, seen

    def on_meta():
        x = leaf(3, device="meta")
        (x * x).sum().backward()
        return x.grad.shape

    def without_gradients():
        with torch.inference_mode():
            y = torch.ones(3) * 2
            y.add_(1)
        model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        with torch.no_grad():
            return y, model(torch.ones(2, 3, 8))

    def through_data():
        x = leaf(3)
        x.data.mul_(2)
        y = x * 2
        x.data = torch.ones(3)
        y.sum().backward()
        return x.grad

    def ctc():
        lp = torch.randn(5, 1, 4).log_softmax(2).requires_grad_()
        F.ctc_loss(lp, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])).backward()
        return lp.grad

    def subclass():
        class S(torch.Tensor):
            pass

        x = torch.randn(3).as_subclass(S).requires_grad_()
        (x * 2).sum().backward()
        return x.grad

    def nested():
        n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, requires_grad=True)
        (n * 2).sum().backward() if hasattr(n.sum(), "backward") else 0
        return torch.ones(1)

    def scripted():
        @torch.jit.script
        def f(x):
            return (x * 2).tanh()

        x = leaf(3)
        f(x).sum().backward()
        return x.grad

    def several_roots_and_an_edge():
        x = leaf(3)
        torch.autograd.backward([x.sum(), (x * x).sum()])
        y = x * 2
        edge = torch.autograd.graph.get_gradient_edge(y)
        return x.grad, torch.autograd.grad(y.sum(), [edge])[0]

    def deep_chain():
        x = leaf(1)
        y = x
        for _ in range(3000):
            y = y + 1
        y.backward()
        return x.grad

    def other_threads():
        found = []

        def work():
            x = torch.ones(3, requires_grad=True)
            (x * 2).sum().backward()
            found.append(x.grad)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found

    def dispatch_modes():
        class Mode(TorchDispatchMode):
            n = 0

            def __torch_dispatch__(self, f, t, a=(), k=None):
                self.n += 1
                return f(*a, **(k or {}))

        x, square = leaf(3), leaf(3, 3)
        with Mode() as mode:
            (x * 2).sum().backward()
        with FlopCounterMode(display=False) as flops:
            (square @ square).sum().backward()
        return x.grad, mode.n, flops.get_total_flops()

    def grad_of_no_leaf():
        x = torch.randn(2, requires_grad=True) * 2
        loss = (x * x).sum()
        x.retain_grad()
        loss.backward(retain_graph=True)
        return {"grad": x.grad, "loss": loss}

    def activations_are_kept_for_grad_cam():
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
        kept = {}
        net[0].register_forward_hook(lambda module, args, out: kept.update(out=out))
        net[0].register_full_backward_hook(lambda module, into, out: kept.update(grad=out[0]))
        loss = net(torch.randn(1, 1, 8, 8))[0, 1]
        loss.backward(retain_graph=True)
        return {"map": (kept["out"] * kept["grad"].mean((2, 3), keepdim=True)).sum(1), "loss": loss}

    def the_first_nan():
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = (torch.where(x > 0, x.log(), torch.zeros(2)) * x.sqrt()).sum()
        loss.backward(retain_graph=True)
        return {"grad": x.grad, "loss": loss}

    def the_hidden_state_of_an_rnn_grows():
        rnn, h, errors = nn.RNNCell(2, 3), torch.zeros(1, 3), []
        for step in range(3):
            h = rnn(torch.randn(1, 2), h)
            errors.append(error_of(h.sum().backward))
            if errors[-1] or step == 1:
                h = h.detach()
        return {"errors": errors, "grad": rnn.weight_hh.grad}

    def parameters_by_functional_call():
        net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
        inner = {name: each.detach().requires_grad_() for name, each in net.named_parameters()}
        x = torch.randn(4, 3)
        loss = functional_call(net, inner, (x,)).pow(2).sum()
        grads = torch.autograd.grad(loss, list(inner.values()), create_graph=True)
        new = {name: each - 0.1 * grad for (name, each), grad in zip(inner.items(), grads, strict=True)}
        functional_call(net, new, (x,)).sum().backward()
        return {"grads": [each.grad for each in inner.values()]}

    def a_hessian_vector_product():
        x, v = torch.randn(3, requires_grad=True), torch.randn(3)
        (slope,) = torch.autograd.grad(cube(x) + x.prod(), x, create_graph=True)
        (product,) = torch.autograd.grad(slope, x, v)
        return product, jvp(grad(lambda x: cube(x) + x.prod()), (x.detach(),), (v,))[1]

    def an_input_is_optimised():
        net, x = _layers(nn.Linear(3, 1)).requires_grad_(False), torch.zeros(1, 3)
        x.requires_grad_()
        adam = torch.optim.Adam([x], 0.1)
        for _ in range(2):
            adam.zero_grad()
            (-net(x).sum()).backward()
            adam.step()
        return x

    def an_optimiser_writes_between_two_backwards():
        first, second = nn.Linear(2, 2), nn.Linear(2, 1)
        sgd = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
        out = second(first(torch.randn(3, 2)))
        out.mean().backward(retain_graph=True)
        sgd.step()
        return error_of(out.sum().backward)


PROGRAMS.update({name: each for name, each in vars(Others).items() if not name.startswith("_")})
