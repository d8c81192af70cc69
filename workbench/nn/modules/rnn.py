"""Recurrent networks: layers over sequences, and their single steps (torch.nn.modules.rnn).

All are built from one step: a linear layer of the input (`i`) and one of the state (`h`) give the next state. A state
is a tuple; its first tensor is the output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import errors
from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...ops.creation import empty, zeros
from ...ops.join_split import cat, stack
from .. import functional as F
from .. import init
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]

State = tuple[Tensor, ...]
Kind = dict[str, Any]


def _tanh_step(i: Tensor, h: Tensor, state: State) -> State:
    return ((i + h).tanh(),)


def _relu_step(i: Tensor, h: Tensor, state: State) -> State:
    return ((i + h).relu(),)


def _lstm_step(i: Tensor, h: Tensor, state: State) -> State:
    let_in, keep, new, let_out = (i + h).chunk(4, -1)
    cell = keep.sigmoid() * state[1] + let_in.sigmoid() * new.tanh()
    return let_out.sigmoid() * cell.tanh(), cell


def _gru_step(i: Tensor, h: Tensor, state: State) -> State:
    (reset_i, keep_i, new_i), (reset_h, keep_h, new_h) = i.chunk(3, -1), h.chunk(3, -1)
    new = (new_i + (reset_i + reset_h).sigmoid() * new_h).tanh()
    return ((state[0] - new) * (keep_i + keep_h).sigmoid() + new,)


Step = Callable[[Tensor, Tensor, State], State]
STEPS: dict[str, tuple[Step, int]] = {  # and how many times the size of the state the linear layers give
    "RNN_TANH": (_tanh_step, 1),
    "RNN_RELU": (_relu_step, 1),
    "LSTM": (_lstm_step, 4),
    "GRU": (_gru_step, 3),
}


class _Recurrent(Module):
    """The common part of layers and steps: parameters drawn evenly from ±1/√hidden_size."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Draw all parameters again, uniformly between -1/√hidden_size and 1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)


class RNNBase(_Recurrent):
    """Common part of RNN, LSTM and GRU: recurrent layers over sequences."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}"
            )
        for name, value, kind in (
            ("bias", bias, bool),
            ("batch_first", batch_first, bool),
            ("input_size", input_size, int),
            ("hidden_size", hidden_size, int),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        size, gates = proj_size or hidden_size, STEPS[mode][1] * hidden_size
        for layer in range(num_layers):
            width = size * (1 + bidirectional) if layer else input_size
            for suffix in self._suffixes(layer):
                shapes = {"weight_ih": (gates, width), "weight_hh": (gates, size)}
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        """Return the ends of the names of a layer's parameters, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        suffixes = [suffix for layer in range(self.num_layers) for suffix in self._suffixes(layer)]
        named: Any = self._parameters.items()  # an RNN has all of its parameters
        return [[p for name, p in named if name[name.index("_l") :] == s] for s in suffixes]

    def flatten_parameters(self) -> None:
        """Do nothing: one piece of memory for all parameters only helps GPUs."""

    def _run(self, input: Tensor, states: State) -> tuple[Tensor, State]:
        """Return the outputs of the last layer and the last states of all layers, for a sequence (length, batch, …)."""
        own: Any = self._parameters
        step, last = STEPS[self.mode][0], []
        for layer in range(self.num_layers):
            ways = []
            for suffix in self._suffixes(layer):
                w_ih, w_hh, b_ih, b_hh, w_hr = (
                    own.get(name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
                )
                turn = -1 if suffix.endswith("reverse") else 1
                state, outputs = tuple([s[len(last)] for s in states]), []
                for i in F.linear(input, w_ih, b_ih).unbind(0)[::turn]:
                    state = step(i, F.linear(state[0], w_hh, b_hh), state)
                    if w_hr is not None:
                        state = F.linear(state[0], w_hr), *state[1:]
                    outputs.append(state[0])
                last.append(state)
                ways.append(stack(outputs[::turn]))
            input = ways[0] if len(ways) == 1 else cat(ways, -1)
            if layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout, self.training)
        return input, tuple(map(stack, zip(*last, strict=True)))

    def _over(self, input: Tensor, states: State | None, state_name: str) -> tuple[Tensor, State]:
        """Check the arguments, and run over a batch, which may be a single sequence."""
        name = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(
                "{}: Expected input to be 2D or 3D, got {}D{} instead".format(
                    name, input.dim(), " tensor" if name == "RNN" else ""
                )
            )
        batched = input.dim() == 3
        if states is not None and any([s.dim() != input.dim() for s in states]):
            kinds = ("batched 3-D", "3-D") if batched else ("unbatched 2-D", "2-D")
            found = [f"{s.dim()}-D" for s in states]
            got = f"({', '.join(found)}) tensors" if self.mode == "LSTM" else f"{found[0]} tensor"
            raise RuntimeError(f"For {kinds[0]} input, {state_name} should also be {kinds[1]} but got {got}")
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            states = None if states is None else tuple([s.unsqueeze(1) for s in states])
        if input.dtype != (own := self.weight_ih_l0.dtype):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert input: "
                f"input.to({own}), or convert model: model.to({input.dtype})"
            )
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        sequence = input.transpose(0, 1) if self.batch_first else input
        rows = self.num_layers * (1 + self.bidirectional), sequence.size(1)
        shapes = [(*rows, self.proj_size or self.hidden_size), (*rows, self.hidden_size)]
        if states is None:
            count = 2 if self.mode == "LSTM" else 1
            states = tuple([zeros(shape, dtype=input.dtype) for shape in shapes[:count]])
        for k, (s, shape) in enumerate(zip(states, shapes, strict=False)):
            if tuple(s.shape) != shape:
                which = f"hidden[{k}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(s.shape)}")
        output, last = self._run(sequence, states)
        output = output.transpose(0, 1) if self.batch_first else output
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), tuple([s.squeeze(1) for s in last])
        return output, last

    def extra_repr(self) -> str:
        """Return the two sizes, and the options that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        for name, value in {**usual, "bidirectional": False}.items():
            text += "" if getattr(self, name) == value else f", {name}={getattr(self, name)}"
        return text


class _Single(RNNBase):
    """Recurrent layers whose state is one tensor."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return all outputs of the last layer, and the last state of each layer and direction.

        Args:
            input: A batch of sequences, of shape (length, batch, input_size), or (batch, length, input_size) with
                `batch_first`. Or a single sequence, of shape (length, input_size).
            hx: The state of each layer and direction before the first step, of shape (num_layers * directions, batch,
                hidden_size). For a single sequence, its shape is (num_layers * directions, hidden_size). None means
                zeros. `directions` is 2 with `bidirectional`, otherwise 1.

        Returns:
            `(output, last)`. `output` has the shape of `input`, but with `directions * hidden_size` features. `last`
            has the shape of `hx`.
        """
        output, (last,) = self._over(input, None if hx is None else (hx,), "hx")
        return output, last


class RNN(_Single):
    """Read sequences step by step: each step computes a new state from an input element and the old state.

    With the input element `x` and the old state `h`, the new state is `h = tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)`
    (Elman, 1990). PyTorch: torch.nn.RNN.

    Args:
        input_size: The number of features of each input element.
        hidden_size: The number of features of the state.
        num_layers: The number of layers. The first one reads the input, and each other layer reads the outputs of the
            layer before it.
        nonlinearity: The function that computes the new state: "tanh" or "relu".
        bias: If True, the biases `b_ih` and `b_hh` are learned. Otherwise, there are none.
        batch_first: If True, the input and the output have the shape (batch, length, features), otherwise
            (length, batch, features).
        dropout: The probability with which each output between two layers is set to zero in training mode.
        bidirectional: If True, each layer also reads the sequences backward, and outputs have `2 * hidden_size`
            features.
        proj_size: Not available: only `LSTM` has projections.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int | None = None,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        options = num_layers, bias, batch_first, dropout, bidirectional
        super().__init__(mode, input_size, hidden_size, *options, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class GRU(_Single):
    """Read sequences step by step, with gates that decide how much of the state to replace (Cho et al., 2014).

    Each time step computes, from the input element `x` and the old state `h`:

        r = sigmoid(W_ir @ x + b_ir + W_hr @ h + b_hr)      # how much of the old state the candidate reads
        z = sigmoid(W_iz @ x + b_iz + W_hz @ h + b_hz)      # how much of the old state to keep
        n = tanh(W_in @ x + b_in + r * (W_hn @ h + b_hn))   # the candidate
        h = (1 - z) * n + z * h                             # the new state

    PyTorch: torch.nn.GRU.

    Args:
        input_size: The number of features of each input element.
        hidden_size: The number of features of the state.
        num_layers: The number of layers. The first one reads the input, and each other layer reads the outputs of the
            layer before it.
        bias: If True, the biases `b_...` are learned. Otherwise, there are none.
        batch_first: If True, the input and the output have the shape (batch, length, features), otherwise
            (length, batch, features).
        dropout: The probability with which each output between two layers is set to zero in training mode.
        bidirectional: If True, each layer also reads the sequences backward, and outputs have `2 * hidden_size`
            features.
        proj_size: Not available: only `LSTM` has projections.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int | None = None,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        _refuse_projection(proj_size)
        options = num_layers, bias, batch_first, dropout, bidirectional
        super().__init__("GRU", input_size, hidden_size, *options, device=device, dtype=dtype)


class LSTM(RNNBase):
    """Read sequences step by step, with a memory cell and gates (Hochreiter and Schmidhuber, 1997).

    Each time step computes, from the input element `x`, the old state `h` and the old cell `c`:

        i = sigmoid(W_ii @ x + b_ii + W_hi @ h + b_hi)   # how much of the candidate to add
        f = sigmoid(W_if @ x + b_if + W_hf @ h + b_hf)   # how much of the old cell to keep
        g = tanh(W_ig @ x + b_ig + W_hg @ h + b_hg)      # the candidate
        o = sigmoid(W_io @ x + b_io + W_ho @ h + b_ho)   # how much of the cell to output
        c = f * c + i * g                                # the new cell
        h = o * tanh(c)                                  # the new state, which is the output

    PyTorch: torch.nn.LSTM.

    Example:
        >>> lstm = nn.LSTM(input_size=3, hidden_size=5, batch_first=True)
        >>> output, (state, cell) = lstm(torch.zeros(2, 7, 3))  # two sequences of seven elements
        >>> output.shape, state.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))

    Args:
        input_size: The number of features of each input element.
        hidden_size: The number of features of the state and of the cell.
        num_layers: The number of layers. The first one reads the input, and each other layer reads the outputs of the
            layer before it.
        bias: If True, the biases `b_...` are learned. Otherwise, there are none.
        batch_first: If True, the input and the output have the shape (batch, length, features), otherwise
            (length, batch, features).
        dropout: The probability with which each output between two layers is set to zero in training mode.
        bidirectional: If True, each layer also reads the sequences backward, and outputs have the features of both
            directions.
        proj_size: If not 0, a learned matrix projects the state to this many features.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        options = num_layers, bias, batch_first, dropout, bidirectional, proj_size
        super().__init__("LSTM", input_size, hidden_size, *options, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, State]:
        """Return all outputs of the last layer, and the last state and cell of each layer and direction.

        Args:
            input: A batch of sequences, of shape (length, batch, input_size), or (batch, length, input_size) with
                `batch_first`. Or a single sequence, of shape (length, input_size).
            hx: A pair: the states and the cells before the first step. The states have the shape
                (num_layers * directions, batch, out_size), the cells (num_layers * directions, batch, hidden_size).
                For a single sequence, both are without the batch dimension. None means zeros. `directions` is 2 with
                `bidirectional`, otherwise 1. `out_size` is `proj_size`, or `hidden_size` if `proj_size` is 0.

        Returns:
            `(output, (state, cell))`. `output` has the shape of `input`, but with `directions * out_size` features.
            `state` and `cell` have the shapes of the pair `hx`.
        """
        return self._over(input, hx, "hx and cx")


def _refuse_projection(proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNNCellBase(_Recurrent):
    """Common part of RNNCell, LSTMCell and GRUCell: one step of a recurrent layer."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, bias: bool, device: Any, dtype: Dtype | None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self._mode = input_size, hidden_size, bias, mode
        gates, kind = STEPS[mode][1] * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(empty((gates, input_size), **kind))
        self.weight_hh = Parameter(empty((gates, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(gates, **kind)) if bias else None)
        self.reset_parameters()

    def _step(self, input: Tensor, state: State | None) -> State:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(errors.CELL_DIMS.format(name, "input", input.dim()))
        for k, s in enumerate(state or ()):
            if s.dim() not in (1, 2):
                which = f"hx[{k}]" if self._mode == "LSTM" else "hidden"
                raise ValueError(errors.CELL_DIMS.format(name, which, s.dim()))
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
            state = None if state is None else tuple([s.unsqueeze(0) for s in state])
        if state is None:
            state = (zeros(input.size(0), self.hidden_size, dtype=input.dtype),) * (2 if self._mode == "LSTM" else 1)
        self._check(input, state)
        i = F.linear(input, self.weight_ih, self.bias_ih)
        after = STEPS[self._mode][0](i, F.linear(state[0], self.weight_hh, self.bias_hh), state)
        return tuple([s.squeeze(0) for s in after]) if single else after

    def _check(self, input: Tensor, state: State) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for k, s in enumerate(state):
            if s.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{k} batch size {s.size(0)}")
            if s.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{k} has inconsistent hidden_size: got {s.size(1)}, expected {self.hidden_size}"
                )

    def extra_repr(self) -> str:
        """Return the two sizes, and the options that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        chosen = getattr(self, "nonlinearity", "tanh")
        return text + ("" if chosen == "tanh" else f", nonlinearity={chosen}")


class RNNCell(RNNCellBase):
    """Compute one time step of an RNN: `h = tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)`.

    PyTorch: torch.nn.RNNCell.

    Args:
        input_size: The number of features of the input `x`.
        hidden_size: The number of features of the state `h`.
        bias: If True, the biases `b_ih` and `b_hh` are learned. Otherwise, there are none.
        nonlinearity: The function that computes the new state: "tanh" or "relu".
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode if mode in STEPS else "RNN_TANH", input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state, of shape (batch, hidden_size), for an input of shape (batch, input_size).

        `hx` is the old state. None means zeros. The batch dimension may be omitted everywhere.
        """
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """Compute one time step of an LSTM: the new state and the new cell.

    With the input `x`, the old state `h` and the old cell `c`:

        i = sigmoid(W_ii @ x + b_ii + W_hi @ h + b_hi)   # how much of the candidate to add
        f = sigmoid(W_if @ x + b_if + W_hf @ h + b_hf)   # how much of the old cell to keep
        g = tanh(W_ig @ x + b_ig + W_hg @ h + b_hg)      # the candidate
        o = sigmoid(W_io @ x + b_io + W_ho @ h + b_ho)   # how much of the cell to output
        c = f * c + i * g                                # the new cell
        h = o * tanh(c)                                  # the new state

    PyTorch: torch.nn.LSTMCell.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state and of the cell.
        bias: If True, the biases `b_...` of the formulas are learned. Otherwise, there are none.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> State:
        """Return the next state and cell, each of shape (batch, hidden_size), for an input (batch, input_size).

        `hx` is a pair of the old state and cell. None means zeros. The batch dimension may be omitted everywhere.
        """
        return self._step(input, hx)


class GRUCell(RNNCellBase):
    """Compute one time step of a GRU: the new state, from an input and the old state.

    With the input `x` and the old state `h`:

        r = sigmoid(W_ir @ x + b_ir + W_hr @ h + b_hr)      # how much of the old state the candidate reads
        z = sigmoid(W_iz @ x + b_iz + W_hz @ h + b_hz)      # how much of the old state to keep
        n = tanh(W_in @ x + b_in + r * (W_hn @ h + b_hn))   # the candidate
        h = (1 - z) * n + z * h                             # the new state

    PyTorch: torch.nn.GRUCell.

    Args:
        input_size: The number of features of the input.
        hidden_size: The number of features of the state.
        bias: If True, the biases `b_...` of the formulas are learned. Otherwise, there are none.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state, of shape (batch, hidden_size), for an input of shape (batch, input_size).

        `hx` is the old state. None means zeros. The batch dimension may be omitted everywhere.
        """
        return self._step(input, None if hx is None else (hx,))[0]
