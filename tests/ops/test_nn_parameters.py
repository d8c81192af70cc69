"""torch.nn.Parameter beside PyTorch's: a tensor that knows it is to be learnt."""

from __future__ import annotations

import copy
import pickle

from functions import function, saved
from module_samples import batch, linear
from oracle import raised


def test_a_parameter(torch):
    t = torch.tensor([1.0, 2.0])
    p = torch.nn.Parameter(t)
    with torch.no_grad():
        p.add_(1)
    q = torch.nn.Parameter(t, requires_grad=False)
    (p * 2).sum().backward()
    double = copy.deepcopy(p)
    again = pickle.loads(pickle.dumps(q))
    return [
        (repr(each), isinstance(each, torch.nn.Parameter), isinstance(each, torch.Tensor), type(each).__name__)
        for each in (p, q, t, p.data, p.detach(), p.clone(), p * 1, p.view(2), double, again, torch.nn.Parameter())
    ] + [t, t._version, p._version, p.is_leaf, p.grad, double.grad, p.add_ is not None]


def test_a_parameter_requires_grad_whatever_the_mode(torch):
    with torch.no_grad():
        p = torch.nn.Parameter(torch.ones(2))
    with torch.inference_mode():
        q = torch.nn.Parameter(torch.ones(2))
    made = torch.nn.Parameter(p * 2)
    return p, q.is_inference(), q.requires_grad, isinstance(q, torch.nn.Parameter), made.is_leaf, made.grad_fn


def test_data_of_a_parameter_is_written_unseen(torch):
    layer = linear(torch, 2, 1)
    out = layer(batch(torch)).sum()
    layer.weight.data -= 0.5
    layer.bias.data = torch.tensor([3.0])
    out.backward()
    return layer.weight, layer.bias, layer.weight.grad, layer.bias.grad, layer.weight._version


def test_parameters_in_every_operation(torch):
    p = torch.nn.Parameter(torch.tensor([0.5, 2.0]))
    x = torch.tensor([3.0, -1.0], requires_grad=True)
    out = [x * p, p * x, p * 2.0, 2 - p, p.exp(), p @ x, torch.stack([p, x]), p[0], torch.where(x > 0, p, x), p**2, -p]
    sum(each.sum() for each in out).backward(retain_graph=True)
    (twice,) = torch.autograd.grad((x * p * p).sum(), p, create_graph=True)
    twice.sum().backward()
    return out, p.grad, x.grad, [type(each).__name__ for each in out]


def test_a_function_saves_a_parameter(torch):
    Scale = function(torch, lambda ctx, x, p: x * p, saved(lambda g, x, p: (g * p, g * x)), saves=True, name="Scale")
    p = torch.nn.Parameter(torch.tensor([0.5, 2.0]))
    x = torch.tensor([3.0, -1.0], requires_grad=True)
    Scale.apply(x, p).sum().backward()
    out = Scale.apply(x, p)
    with torch.no_grad():
        p.mul_(2)
    return p.grad, x.grad, raised(out.sum().backward)
