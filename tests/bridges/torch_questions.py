"""Programs that people ask about in forums: what goes wrong in autograd, and what is wrongly believed to.

Each returns what it computed, an error's text included; `loss` in what it returns can be stepped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

QUESTIONS: dict[str, Callable[[], dict[str, Any]]] = {}


def question(program: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """A program by its name."""
    QUESTIONS[program.__name__] = program
    return program


def error_of(run: Callable[[], Any]) -> str:
    try:
        run()
    except RuntimeError as error:
        return str(error)
    return ""


@question
def relu_written_in_place_breaks_sigmoid():
    x = torch.randn(4, requires_grad=True)
    y = torch.sigmoid(x)
    y += 1
    loss = y.sum()
    return {"error": error_of(loss.backward)}


@question
def relu_in_place_is_fine():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    loss = net(torch.randn(2, 3)).sum()
    loss.backward(retain_graph=True)
    return {"grads": [each.grad for each in net.parameters()], "loss": loss}


@question
def a_slice_is_assigned():
    x = torch.randn(3, 3, requires_grad=True)
    y = x.clone()
    y[0] = 0
    y[:, 1] *= 2
    loss = (y**2).sum()
    loss.backward(retain_graph=True)
    return {"grad": x.grad, "loss": loss}


@question
def a_leaf_is_written():
    w = torch.randn(3, requires_grad=True)
    text = error_of(lambda: w.add_(1))
    with torch.no_grad():
        w -= 0.1
    return {"error": text, "w": w}


@question
def detach_cuts_the_graph():
    w, v = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    h = (w * 2).tanh()
    loss = (h.detach() * v + h).sum()
    loss.backward(retain_graph=True)
    return {"grads": [w.grad, v.grad], "loss": loss}


@question
def grad_of_no_leaf_is_none():
    x = torch.randn(2, requires_grad=True) * 2
    y = (x * x).sum()
    x.retain_grad()
    y.backward(retain_graph=True)
    return {"grad": x.grad, "loss": y}


@question
def a_function_with_a_wrong_gradient():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.randn(3, dtype=torch.double, requires_grad=True)
    loss = Cube.apply(x).sum()
    loss.backward(retain_graph=True)
    return {"grad": x.grad, "fits": torch.autograd.gradcheck(Cube.apply, x, raise_exception=False), "loss": loss}


@question
def a_function_that_returns_too_few_gradients():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            x, factor = ctx.saved_tensors
            return grad * factor

    x, s = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    return {"error": error_of(Scale.apply(x, s).sum().backward)}


@question
def a_straight_through_estimator():
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, grad):
            return grad.clamp(-1, 1)

    x = torch.randn(5, requires_grad=True)
    loss = (Round.apply(x) * 3).pow(2).sum() + (x + (x.round() - x).detach()).sum()
    loss.backward(retain_graph=True)
    return {"grad": x.grad, "loss": loss}


@question
def the_gradient_is_reversed():
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.weight = weight
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -ctx.weight * grad, None

    feature, domain = nn.Linear(3, 4), nn.Linear(4, 2)
    x = torch.randn(5, 3)
    loss = F.cross_entropy(domain(Reverse.apply(feature(x).relu(), 0.5)), torch.tensor([0, 1, 0, 1, 1]))
    loss.backward(retain_graph=True)
    return {"grads": [feature.weight.grad, domain.weight.grad], "loss": loss}


@question
def hooks_clip_and_print():
    net, seen = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)), []
    for parameter in net.parameters():
        parameter.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
    net[1].register_full_backward_hook(lambda module, into, out: seen.append(out[0].clone()))
    loss = net(torch.randn(4, 3)).sum()
    loss.backward(retain_graph=True)
    return {"grads": [each.grad for each in net.parameters()], "seen": seen, "loss": loss}


@question
def activations_are_kept_for_grad_cam():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
    kept = {}
    net[0].register_forward_hook(lambda module, args, out: kept.update(out=out))
    net[0].register_full_backward_hook(lambda module, into, out: kept.update(grad=out[0]))
    loss = net(torch.randn(1, 1, 8, 8))[0, 1]
    loss.backward(retain_graph=True)
    return {"map": (kept["out"] * kept["grad"].mean((2, 3), keepdim=True)).sum(1), "loss": loss}


@question
def checkpointed_layers():
    layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    x = torch.randn(2, 4, requires_grad=True)
    h = x
    for layer in layers:
        h = checkpoint(lambda h, layer=layer: layer(h).tanh(), h, use_reentrant=False)
    loss = h.sum()
    loss.backward()
    return {"grads": [x.grad, *[each.grad for each in layers.parameters()]]}


@question
def backward_twice():
    x = torch.randn(3, requires_grad=True)
    loss = (x * x).exp().sum()
    loss.backward()
    return {"error": error_of(loss.backward), "grad": x.grad}


@question
def the_first_nan():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = torch.where(x > 0, x.log(), torch.zeros(2))
    loss = (y * x.sqrt()).sum()
    loss.backward(retain_graph=True)
    with torch.autograd.set_detect_anomaly(True):
        text = error_of((x.sqrt() * 0).sum().backward)
    return {"grad": x.grad, "error": text, "loss": loss}


@question
def a_step_of_a_gan():
    maker, critic = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
    slow, fast = torch.optim.SGD(maker.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
    real, noise = torch.randn(4, 3), torch.randn(4, 2)
    fake = maker(noise)
    fast.zero_grad()
    ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
    loss_d = F.binary_cross_entropy_with_logits(critic(real), ones)
    loss_d = loss_d + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros)
    loss_d.backward()
    fast.step()
    slow.zero_grad()
    loss_g = F.binary_cross_entropy_with_logits(critic(fake), ones)
    loss_g.backward()
    slow.step()
    return {"weights": [*maker.parameters(), *critic.parameters()]}


@question
def the_hidden_state_of_an_rnn_grows():
    rnn, h, errors = nn.RNNCell(2, 3), torch.zeros(1, 3), []
    for step in range(3):
        h = rnn(torch.randn(1, 2), h)
        errors.append(error_of(h.sum().backward))
        if errors[-1] or step == 1:
            h = h.detach()
    return {"errors": errors, "grad": rnn.weight_hh.grad}


@question
def gradients_of_batches_are_accumulated():
    net, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)
    sgd = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for part in range(4):
        loss = F.mse_loss(net(x[2 * part : 2 * part + 2]), y[2 * part : 2 * part + 2]) / 4
        loss.backward(retain_graph=True)
    grad = net.weight.grad.clone()
    sgd.step()
    sgd.zero_grad(set_to_none=False)
    return {"grad": grad, "weight": net.weight}


@question
def frozen_layers():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    net[1].eval()
    loss = net(torch.randn(5, 3)).pow(2).mean()
    loss.backward(retain_graph=True)
    return {"grads": [each.grad for each in net.parameters()], "loss": loss}


@question
def tied_weights():
    embed, out = nn.Embedding(6, 3), nn.Linear(3, 6, bias=False)
    out.weight = embed.weight
    words = torch.tensor([1, 2, 2, 5])
    loss = F.cross_entropy(out(embed(words[:-1])), words[1:])
    loss.backward(retain_graph=True)
    return {"grad": embed.weight.grad, "loss": loss}


@question
def parameters_by_functional_call():
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    inner = {name: each.detach().requires_grad_() for name, each in net.named_parameters()}
    x = torch.randn(4, 3)
    loss = torch.func.functional_call(net, inner, (x,)).pow(2).sum()
    grads = torch.autograd.grad(loss, list(inner.values()), create_graph=True)
    new = {name: each - 0.1 * grad for (name, each), grad in zip(inner.items(), grads, strict=True)}
    outer = torch.func.functional_call(net, new, (x,)).sum()
    outer.backward()
    return {"grads": [each.grad for each in inner.values()]}


@question
def gradients_of_each_sample():
    net = nn.Linear(3, 1)
    params = {name: each.detach() for name, each in net.named_parameters()}

    def loss_of(params, x, y):
        return F.mse_loss(torch.func.functional_call(net, params, (x,)), y)

    each = torch.func.vmap(torch.func.grad(loss_of), (None, 0, 0))(params, torch.randn(4, 3), torch.randn(4, 1))
    return {"grads": list(each.values())}


@question
def a_hessian_vector_product():
    x, v = torch.randn(3, requires_grad=True), torch.randn(3)
    (grad,) = torch.autograd.grad((x**3).sum() + x.prod(), x, create_graph=True)
    (product,) = torch.autograd.grad(grad, x, v)
    forward = torch.func.jvp(torch.func.grad(lambda x: (x**3).sum() + x.prod()), (x.detach(),), (v,))[1]
    return {"product": product, "forward": forward, "hessian": torch.func.hessian(lambda x: x.prod())(x.detach())}


@question
def an_input_is_unused():
    x, y = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    loss = (x * 2).sum()
    text = error_of(lambda: torch.autograd.grad(loss, [x, y], retain_graph=True))
    return {"error": text, "grads": torch.autograd.grad(loss, [x, y], allow_unused=True, retain_graph=True)}


@question
def an_integer_has_no_gradient():
    scores = torch.randn(3, 4, requires_grad=True)
    text = error_of(scores.argmax(1).float().sum().backward)
    loss = (scores.softmax(1) * torch.arange(4.0)).sum()
    loss.backward(retain_graph=True)
    return {"error": text, "grad": scores.grad, "loss": loss}


@question
def an_input_is_optimised():
    net, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).requires_grad_(False), torch.zeros(1, 3)
    x.requires_grad_()
    adam = torch.optim.Adam([x], 0.1)
    for _ in range(2):
        adam.zero_grad()
        (-net(x).sum()).backward()
        adam.step()
    return {"x": x}


@question
def a_new_tensor_of_tensors_is_no_graph():
    w = torch.randn(2, requires_grad=True)
    text = error_of((torch.tensor([w[0].item(), w[1].item()]) * 2).sum().backward)
    loss = torch.stack([w[0] * 2, w[1] * 3]).sum()
    loss.backward(retain_graph=True)
    return {"error": text, "grad": w.grad, "loss": loss}


@question
def an_optimiser_writes_between_two_backwards():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    sgd = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
    out = second(first(torch.randn(3, 2)))
    out.mean().backward(retain_graph=True)
    sgd.step()
    return {"error": error_of(out.sum().backward)}


@question
def mixed_precision_with_a_scaler():
    net, x = nn.Linear(4, 2), torch.randn(3, 4)
    sgd, scaler = torch.optim.SGD(net.parameters(), 0.1), torch.amp.GradScaler("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(x).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(sgd)
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    scaler.step(sgd)
    scaler.update()
    return {"weight": net.weight, "bias": net.bias}
