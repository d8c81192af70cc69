"""Modules and parameters by name or in a row, beside PyTorch's: what they hold, print and refuse."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, same

ASKED = """
d | [list(d), len(d), "a" in d, list(d.keys()), [type(m).__name__ for m in d.values()], [k for k, _ in d.items()]]
[n for n, _ in d.named_parameters()] | n.ModuleDict([["x", n.ReLU()]]) | n.ModuleDict(3) | n.ModuleDict([3])
n.ModuleDict([[1, 2, 3]]) | n.ModuleDict({"a": 3}) | [d.pop("b"), d] | d["z"] | n.ModuleDict() | d(1) | [d.clear(), d]
n.ModuleDict({"a.b": n.ReLU()}) | n.ModuleDict({"keys": n.ReLU()}) | p | [p.extend([t.ones(1)]), len(p), p(1)]
[len(p), [type(x).__name__ for x in p], [name for name, _ in p.named_parameters()], list(p.state_dict())]
p[-1] | p[3]
p[:2] | n.ParameterList(3) | n.ParameterList(t.ones(2)) | p(1) | p.append(t.ones(1)) | n.ParameterList() | q | q[3]
[list(q), len(q), "a" in q, list(q.keys()), list(q.items())]
[list(q.values()), [name for name, _ in q.named_parameters()]]
n.ParameterDict(3) | n.ParameterDict([3]) | n.ParameterDict([[1, 2, 3]])
[q.pop("a"), q, q.get("z", 7), q.get("z")]
q(1) | q["zz"] | n.ParameterDict()
"""


@pytest.mark.parametrize("text", entries(ASKED))
def test_what_a_container_says(text: str) -> None:
    def program(torch: Any) -> Any:
        n = torch.nn
        d = n.ModuleDict({"a": n.Linear(1, 1), "b": n.ReLU()})
        p = n.ParameterList([n.Parameter(torch.ones(2)), torch.zeros(3, 1), 5])
        q = n.ParameterDict({"a": torch.ones(2), "b": n.Parameter(torch.ones(1)), "c": "x"})
        d.requires_grad_(False)
        found = eval(text, {"t": torch, "n": n, "d": d, "p": p, "q": q})
        return [
            str(each) if isinstance(each, n.Module) else each for each in (found if type(found) is list else [found])
        ]

    compare(program)


@same
def test_what_is_held_is_trained(torch):
    held = torch.nn.ModuleDict({"w": torch.nn.ParameterList([torch.ones(2), torch.ones(2)])})
    held["b"] = torch.nn.ParameterDict({"b": torch.zeros(2)})
    held["w"][1] = torch.full((2,), 2.0)
    optimizer = torch.optim.SGD(held.parameters(), 0.5)
    (held["w"][0] * held["w"][1] + held["b"]["b"]).sum().backward()
    optimizer.step()
    del held["b"]
    return [(name, p, p.grad) for name, p in held.named_parameters()], list(held.state_dict())
