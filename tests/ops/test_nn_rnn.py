"""Recurrent layers and their single steps beside PyTorch's, with the same state: outputs, states and gradients."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import filled
from oracle import compare, entries, same, warned

import workbench as w
from workbench.autograd.scopes import scope_of

LAYERS = """
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


@pytest.mark.parametrize("text", entries(LAYERS))
def test_a_recurrent_layer(text: str) -> None:
    made, _, call = text.partition(")(")
    made, eval_mode, _ = made.partition(").eval(")

    def program(torch: Any) -> Any:
        named = {
            "x": (torch.arange(16, dtype=torch.float64).reshape(4, 2, 2) * 5 % 7 / 4 - 0.75).requires_grad_(),
            "h": (torch.arange(6, dtype=torch.float64).reshape(1, 2, 3) / 4 - 0.5).requires_grad_(),
            "c": (torch.arange(6, dtype=torch.float64).reshape(1, 2, 3) / 3 - 1).requires_grad_(),
        }
        layer = filled(torch, eval(f"torch.nn.{made})", {"torch": torch}).double())
        out = eval(f"layer({call}", named | {"layer": layer.eval() if eval_mode else layer})
        tensors = [
            t
            for part in (out if isinstance(out, tuple) else (out,))
            for t in (part if isinstance(part, tuple) else (part,))
        ]
        loss = sum(
            (t * t * torch.arange(1, t.numel() + 1).reshape(t.shape)).sum() * k for k, t in enumerate(tensors, 1)
        )
        loss.backward()
        grads = [p.grad.sum() + (p.grad * p.grad).sum() for p in layer.parameters()]
        return [t.detach() for t in tensors], grads, [t.grad for t in named.values()]

    compare(program)


REPRS = """
RNN(2, 3) | RNN(2, 3, 2, "relu", False, True, 0.5, True) | LSTM(2, 3) | LSTM(2, 3, 2, dropout=0.5, proj_size=1)
GRU(2, 3, bidirectional=True) | RNNCell(2, 3) | RNNCell(2, 3, False, "relu") | LSTMCell(2, 3, bias=False)
GRUCell(2, 3) | LSTM(2, 3, 2, False, bidirectional=True, proj_size=2)
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as_and_holds(text: str) -> None:
    def program(torch: Any) -> Any:
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        shapes = {name: tuple(t.shape) for name, t in layer.state_dict().items()}
        return repr(layer), shapes, [[tuple(p.shape) for p in each] for each in getattr(layer, "all_weights", [])]

    compare(program)


@same
def test_dropout_after_the_last_layer_is_none(torch):
    return warned(lambda: torch.nn.LSTM(2, 3, dropout=0.5))


@same
def test_a_second_derivative_through_time(torch):
    layer = filled(torch, torch.nn.GRU(1, 2)).double()
    x = torch.tensor([[[0.5]], [[-1.0]], [[2.0]]], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
    first.square().sum().backward()
    return first.detach(), x.grad, layer.weight_hh_l0.grad


@pytest.mark.parametrize("text", ["LSTM(2, 16)", "GRU(2, 16, 2, bidirectional=True)", "RNNCell(2, 16)"])
def test_weights_begin_evenly_between_pytorchs_bounds(text: str) -> None:
    w.manual_seed(1)
    largest = [p.abs().max().item() for p in eval(f"w.nn.{text}").parameters()]
    assert max(largest) <= 0.25 and min(largest) > 0.17


def test_the_nodes_of_a_layer_lie_in_its_scope() -> None:
    class Model(w.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory, self.head = w.nn.LSTM(2, 3), w.nn.Linear(3, 1)

        def forward(self, x: w.Tensor) -> w.Tensor:
            return self.head(self.memory(x)[0])

    out = Model()(w.ones(2, 1, 2))
    found, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and "Accumulate" not in node.name():
            found.add(scope_of(node))
            waiting += [parent for parent, _ in node.next_functions]
    assert found == {"Model/memory", "Model/head"}
