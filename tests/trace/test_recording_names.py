"""What recordings call tensors: a parameter as its module does, and never after the variable of a loop."""

from __future__ import annotations

import sys

import workbench as torch
from workbench.pictures.recording import record
from workbench.pictures.trace.names import named_in


def names(trace):
    """The names of the leaves, in the order in which they were met."""
    tensors = trace.frame(len(trace.events)).tensors.values()
    return [tensor.name for tensor in tensors if tensor.node is None and tensor.requires_grad]


def params_of(count):
    return [torch.ones(2, requires_grad=True) for _ in range(count)]


def test_a_loop_over_parameters_does_not_name_them():
    net = torch.nn.Linear(2, 1)
    with record() as trace:
        for _ in range(2):
            for p in net.parameters():
                p.grad = None
            loss = net(torch.ones(1, 2)).sum()
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
    assert names(trace) == ["net.weight", "net.bias"]
    told = str(trace.show(depth=5))
    assert "`net.bias.grad` becomes" in told and " p " not in told


def test_what_a_list_or_a_dict_holds_is_called_by_its_place_there():
    params, more, alone = params_of(2), {"a": params_of(1)[0]}, params_of(1)[0]
    both = [alone]
    with record() as trace:
        for n, (p, _) in enumerate([(each, 0) for each in params]):
            (p * n).sum().backward()
        for name, q in more.items():
            (q * len(name)).sum().backward()
        (both[0] * alone).sum().backward()
    assert names(trace) == ["params[0]", "params[1]", "more['a']", "alone"]


def test_a_parameter_that_only_a_loop_holds_has_no_name_and_what_is_no_parameter_has_the_loops():
    with record() as trace:
        for p in params_of(2):
            for x in (torch.ones(2) for _ in range(1)):
                (p * x).sum().backward()
    assert names(trace) == [None, None]
    assert "x" in [tensor.name for tensor in trace.frame(len(trace.events)).tensors.values()]


def test_loops_of_earlier_cells_are_known():
    cells = [
        "params = params_of(2)",
        "for p in params:\n    p.grad = None\nfor w in params:\n    pass",
        "w = params_of(1)[0]",
    ]
    space = {"params_of": params_of, "record": record, "In": cells}
    for cell in (*cells, "with record() as trace:\n    (params[0] * params[1] * w).sum().backward()"):
        exec(cell, space)
    assert names(space["trace"]) == ["params[0]", "params[1]", "w"]


def test_a_method_of_the_users_may_loop_too():
    class Descent:
        def __init__(self, params):
            self.params = list(params)

        def step(self):
            with torch.no_grad():
                for p in self.params:
                    p -= 0.1 * p.grad

    w = torch.ones(2, requires_grad=True)
    descent = Descent([w])
    with record() as trace:
        (w * w).sum().backward()
        descent.step()
    assert names(trace) == ["w"]


def test_each_variable_is_looked_at_once():
    x = torch.ones(2)
    held, number, others = [x, 1.0], 3, {"w": x}
    asked = []
    found = named_in(sys._getframe(), lambda thing: asked.append(id(thing)) or hasattr(type(thing), "_array"))
    assert [name for name, thing in found if thing is x] == ["x", "held[0]", "others['w']"]
    assert asked.count(id(x)) == 3 and id(held) not in asked and id(number) not in asked and id(others) not in asked


def test_what_a_module_has_is_called_by_its_path_whatever_variable_holds_it_too():
    net, used = torch.nn.Sequential(torch.nn.Linear(2, 1)), torch.ones(1, requires_grad=True)
    space = {"net": net, "p": net[0].bias, "w": net[0].weight, "used": used, "x": torch.ones(1, 2), "record": record}
    exec(
        "def trained():\n    with record() as trace:\n        (net(x) * used).sum().backward()\n    return trace", space
    )
    assert sorted(names(space["trained"]())) == ["net.0.bias", "net.0.weight", "used"]
    exec("with record() as trace:\n    (w * 2).sum().backward()\n    (net(x) * used * p).sum().backward()", space)
    assert sorted(names(space["trace"])) == ["net.0.bias", "net.0.weight", "used"], "also before it is called"


def test_what_a_module_never_registered_is_called_by_the_list_or_dict_that_holds_it():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = [torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2))]
            self.heads = {"a": torch.nn.Linear(2, 1)}

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.heads["a"](x)

    net = Net()
    with record() as trace:
        for _ in range(2):
            net(torch.ones(1, 2)).sum().backward()
    modules = ("net.blocks[0]", "net.blocks[1].0", 'net.heads["a"]')
    assert sorted(names(trace)) == sorted(f"{each}.{own}" for each in modules for own in ("weight", "bias"))


def test_in_a_method_of_a_module_a_variable_is_a_better_name_than_self():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        def loss(self):
            weight = self.w
            return [name for name, tensor in named_in(sys._getframe()) if tensor is weight][0]

    assert Own().loss() == "weight"


def test_a_leaf_in_a_list_of_lists_is_called_by_its_place_and_a_result_there_is_not():
    layers, state = [params_of(2), (*params_of(1), "tanh")], [{"w": params_of(1)[0]}]
    with record() as trace:
        kept = [[layers[0][1] * 2, layers[1][0] * state[0]["w"]]]
        sum(each.sum() for each in kept[0]).backward()
        found = dict(named_in(sys._getframe()))
    assert names(trace) == ["layers[0][1]", "layers[1][0]", "state[0]['w']"]
    assert "layers[0][0]" in found and not [name for name in found if name.startswith("kept")]
