"""A module's state: kept, restored, refused; and modules as functions of their parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from module_samples import batch, filled, held, linear, mlp
from oracle import entries, raised


def test_the_state_of_a_model(torch):
    model = mlp(torch)
    model.register_buffer("passing", torch.ones(1), persistent=False)
    model.register_buffer("none", None)
    state = model.state_dict(prefix="m.")
    state["m.head.weight"].zero_()
    kept = model.state_dict(keep_vars=True)
    given: dict[str, Any] = {"old": 1}
    same = model.state_dict(destination=given) is given
    return [
        list(state.items()),
        type(state).__name__,
        dict(state._metadata),
        model.head.weight,
        kept["head.weight"] is model.head.weight,
        same,
        list(given),
    ]


def test_the_state_of_a_model_comes_back(torch):
    model, other = mlp(torch), mlp(torch)
    other(batch(torch)).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-2)
    weight = other.head.weight
    answer = other.load_state_dict(model.state_dict())
    return [
        repr(answer),
        answer,
        answer == ([], []),
        held(other),
        weight is other.head.weight,
        weight._version,
        weight.grad,
        other(batch(torch)),
    ]


STATES = """
{} | {"weight": W} | {"weight": W, "bias": B, "more": B} | {"weight": W, "bias": B, "a.b": B, "c": 3} | 3 | [1]
{"weight": B, "bias": B} | {"weight": W, "bias": 3} | {"weight": 3, "bias": None} | {"weight": W.double(), "bias": B}
{"weight": W.T, "bias": B[:0], "x": 1} | OrderedDict(weight=W, bias=B) | {"weight": W, "bias": torch.tensor([1, 2])}
{"weight": torch.nn.Parameter(W), "bias": torch.nn.Parameter(B, False)}
"""


@pytest.mark.parametrize("text", entries(STATES))
@pytest.mark.parametrize("options", [{}, {"strict": False}, {"assign": True}], ids=str)
def test_a_state_that_may_not_fit(torch: Any, text: str, options: dict[str, bool]) -> Any:
    W, B = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([7.0, 8.0])
    layer = linear(torch, 3, 2)
    state = eval(text, {"torch": torch, "W": W, "B": B, "OrderedDict": OrderedDict})
    weight = layer.weight
    answer = raised(layer.load_state_dict, state, **options)
    mine = state["weight"] is layer.weight if isinstance(state, dict) and "weight" in state else None
    return answer, held(layer), weight is layer.weight, mine


def test_states_of_parts_that_do_not_fit(torch):
    model, state = mlp(torch), mlp(torch).state_dict()
    del state["layers.0.bias"]
    state["layers.0.more"] = state["layers.9.weight"] = state["head.weight.deep"] = torch.ones(1)
    state["layers.2.bias"] = torch.ones(5)
    state["scale"] = torch.ones(1)
    return (
        raised(model.load_state_dict, state),
        model.load_state_dict(mlp(torch).state_dict(), strict=True),
        model.scale,
    )


def test_a_parameter_without_dimensions_takes_one_of_one(torch):
    module = torch.nn.Module()
    module.x = torch.nn.Parameter(torch.tensor(1.0))
    return repr(module.load_state_dict({"x": torch.tensor([3.0])})), module.x


# torch.func.functional_call


def test_a_module_with_other_parameters(torch):
    model = mlp(torch)
    given = {name: (2 * p.detach()).requires_grad_() for name, p in model.named_parameters()}
    out = torch.func.functional_call(model, given, batch(torch))
    out.sum().backward()
    part = torch.func.functional_call(model, {"scale": torch.tensor(0.5)}, (batch(torch),))
    several = torch.func.functional_call(model, ({"scale": torch.ones(3, 1)}, given), (), {"x": batch(torch)})
    grads = [tensor.grad for tensor in given.values()]
    return out, part, several, grads, [p.grad for p in model.parameters()], held(model)


def test_the_gradient_of_a_module_as_a_function(torch):
    model = mlp(torch)
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params, x):
        return (torch.func.functional_call(model, params, (x,)) ** 2).sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(params, batch(torch))
    _, tangent = torch.func.jvp(lambda p: loss(p, batch(torch)), (params,), (params,))
    return torch.func.grad(loss)(params, batch(torch)), each["head.weight"], tangent, held(model)


def test_tied_parameters_are_given_together(torch):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2)
            self.b = torch.nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    module, call = filled(torch, Tied()), torch.func.functional_call
    one, two, x = torch.ones(2, 2), torch.zeros(2, 2), batch(torch)
    return [
        call(module, {"a.weight": one}, x),
        call(module, {"b.weight": two}, x),
        call(module, {"a.weight": one}, x, tie_weights=False),
        call(module, {"a.weight": one, "b.weight": one}, x),
        raised(call, module, {"a.weight": one, "b.weight": two}, x),
        call(module, {"a.weight": one, "b.weight": two}, x, tie_weights=False),
        module.a.weight is module.b.weight,
    ]


def test_what_a_module_cannot_be_called_with(torch):
    module, call, x = linear(torch, 2, 1), torch.func.functional_call, batch(torch)
    weight, bias = torch.ones(1, 2), torch.zeros(1)
    return [
        raised(call, module, given, x, **options)
        for given, options in (
            ({"weights": weight}, {}),
            ({"a.weight": weight}, {}),
            ({"weights": weight, "weight": weight}, {"strict": True}),
            ({"weight": weight}, {"strict": True}),
            (3, {}),
            ([{"weight": weight}, 3], {}),
            ([{"weight": weight}, {"weight": weight}], {}),
            ({"weight": 3}, {}),
            ({"weight": weight, "bias": bias}, {"strict": True}),
            ({"weight": x}, {}),
        )
    ] + [held(module)]


def test_buffers_written_in_a_functional_call_are_written_in_what_was_given(torch):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.tensor(0.0))

        def forward(self, x):
            self.steps = self.steps + 1
            return x * self.steps

    module, given = Counts(), {"steps": torch.tensor(5.0)}
    out = torch.func.functional_call(module, given, torch.ones(2))
    return out, given, module.steps
