"""Modules that compute, beside PyTorch's: rows, layers, losses, hooks around them, and a model that learns."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from module_samples import batch, linear, mlp
from oracle import raised, warned


def test_a_model_learns_as_pytorchs(torch):
    model, loss_of = mlp(torch), torch.nn.MSELoss()
    target, losses = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), []
    for _ in range(4):
        model.zero_grad()
        loss = loss_of(model(batch(torch)), target)
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
        losses.append(loss.item())
    return losses, [parameter for _, parameter in model.named_parameters()]


def test_a_row_of_modules(torch):
    nn = torch.nn
    row = nn.Sequential(OrderedDict([("a", linear(torch, 2, 3)), ("b", nn.Tanh()), ("c", linear(torch, 3, 1))]))
    seen = [
        row[0] is row.a,
        row[-1] is row.c,
        len(row),
        [type(m).__name__ for m in row],
        repr(row[1:]),
        row(batch(torch)),
    ]
    row[1] = nn.ReLU()
    seen += [repr(row), row(batch(torch))]
    row.append(nn.Sigmoid()).extend([nn.Identity(), nn.Tanh()]).insert(0, nn.Identity())
    seen += [repr(row)]
    del row[0], row[-2:]
    seen += [repr(row), repr(row.pop(1)), list(row.state_dict())]
    seen += [[name for name in dir(row) if name.isdigit()]]
    return seen


def test_a_list_of_modules(torch):
    nn = torch.nn
    row = nn.ModuleList([linear(torch, 2, 2) for _ in range(3)])
    row += [nn.ReLU()]
    row.insert(1, nn.Tanh())
    row.append(nn.Sigmoid()).extend(iter([nn.Identity()]))
    seen = [repr(row), repr(row[1:3]), repr(row + [nn.ReLU()]), len(row), list(row.state_dict())]
    del row[1]
    row[0] = nn.Identity()
    return [*seen, repr(row), repr(row.pop(-1)), repr(row[::2]), [name for name, _ in row.named_parameters()]]


def test_modes_and_gradients_of_all_parts(torch):
    model = mlp(torch)
    model(batch(torch)).sum().backward()
    seen = [[m.training for m in model.eval().modules()], [m.training for m in model.train().modules()]]
    model.layers.eval()
    seen += [[m.training for m in model.modules()]]
    grads = [p.grad for p in model.parameters()]
    model.zero_grad(set_to_none=False)
    seen += [grads, [p.grad is g for p, g in zip(model.parameters(), grads, strict=True)]]
    model.zero_grad()
    seen += [[p.grad for p in model.parameters()], model.requires_grad_(False) is model]
    seen += [[p.requires_grad for p in model.parameters()], model(batch(torch)).requires_grad]
    visited = []
    seen += [model.apply(lambda m: visited.append(type(m).__name__)) is model, visited]
    return seen


def test_zeroing_gradients_that_have_a_history(torch):
    layer = linear(torch, 2, 1)
    (layer(batch(torch)) ** 2).sum().backward(create_graph=True)
    seen = [layer.weight.grad]
    layer.zero_grad(set_to_none=False)
    return [*seen, layer.weight.grad, layer.weight.grad.requires_grad]


def test_another_dtype(torch):
    model = mlp(torch)
    model.register_buffer("steps", torch.tensor(3))
    model(batch(torch)).sum().backward()
    before = model.head.weight
    seen = [model.double() is model, before is model.head.weight, before, before.grad, model.scale, model.steps]
    model.zero_grad()
    model(batch(torch).double()).sum().backward()
    seen += [model.head.weight.grad, model.to(torch.float32).head.weight.dtype, model.to("cpu").scale.dtype]
    seen += [model.to(torch.ones(1, dtype=torch.float64)).scale, model.float().scale, model.cpu() is model]
    return seen


def test_hooks_around_forward(torch):
    layer, x, seen = linear(torch, 2, 1), batch(torch), []

    def note(what, result=None):
        return lambda module, *given: seen.append((what, type(module).__name__, given)) or result

    first = layer.register_forward_pre_hook(note("before"))
    layer.register_forward_pre_hook(note("before that", x * 2), prepend=True)
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"input": args[0]})[:0] or None, with_kwargs=True)
    layer.register_forward_hook(note("after"))
    last = layer.register_forward_hook(note("after that", torch.ones(1)), prepend=True)
    layer.register_forward_hook(note("with all"), with_kwargs=True)
    out = [layer(x)]
    first.remove()
    last.remove()
    out += [layer(input=x) if False else layer(x)]
    with layer.register_forward_hook(lambda m, args, output: output * 0):
        out += [layer(x)]
    return out, layer(x), seen


def test_hooks_may_change_keywords_and_be_wrong_about_it(torch):
    class Takes(torch.nn.Module):
        def forward(self, x, *, factor=1):
            return x * factor

    module = Takes()
    handle = module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": 3}), with_kwargs=True)
    seen = [module(torch.ones(2)), module(torch.ones(2), factor=5)]
    handle.remove()
    module.register_forward_pre_hook(lambda m, args: args[0] * 4)
    seen += [module(torch.ones(2))]
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    return [*seen, raised(module, torch.ones(2))]


def test_hooks_that_are_always_called(torch):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("no way")

    seen, module = [], Fails()
    module.register_forward_hook(lambda m, args, output: seen.append("never"))
    module.register_forward_hook(lambda m, args, output: seen.append((args, output)), always_call=True)
    answer = [raised(module, 3)]
    module.register_forward_hook(lambda m, args, output: 1 / 0, always_call=True)
    return [*answer, seen, warned(lambda: raised(module, 4))]


def test_weights_at_the_beginning(torch):
    layer = torch.nn.Linear(100, 50)
    bounded = [bool((p.abs() <= 0.1).all()) and bool(p.abs().max() > 0.05) for p in layer.parameters()]
    versions = [p._version for p in layer.parameters()]
    layer.reset_parameters()
    empty = []
    told = warned(lambda: empty.append(torch.nn.Linear(0, 2)))
    return bounded, versions, [p._version for p in layer.parameters()], told, empty[0].bias, layer.weight.is_leaf


def test_an_embedding_that_is_told_all_by_place(torch):
    table = torch.nn.Embedding(3, 2, 1, None, 2.0, False, False, torch.tensor([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]))
    rows = torch.nn.functional.embedding(torch.tensor([2, 0]), table.weight, None, None, 2.0, False, False)
    return table(torch.tensor([0, 1])), rows, table.scale_grad_by_freq, table.sparse, str(table)


def test_gradients_by_frequency_and_sparse_ones_are_refused() -> None:
    import workbench

    for name, words in (("scale_grad_by_freq", "sums the gradients of a row"), ("sparse", "no sparse tensors")):
        with pytest.raises(NotImplementedError, match=words):
            workbench.nn.Embedding(3, 2, **{name: True})(workbench.tensor([0]))
