"""The state of a module by name: saving and loading."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from .tree import Parts


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The names that load_state_dict found no tensor for, and those that the module doesn't have."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


class Stateful(Parts):
    """A module whose state can be saved and loaded."""

    _version = 1  # of the format of the state, which subclasses may count on

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return a dict of all parameters and persistent buffers by name.

        The tensors share memory with the module.

        Args:
            destination: The dict to fill. None means a new one.
            prefix: A text with which all names begin, such as "encoder.".
            keep_vars: If True, the dict contains the parameters themselves, instead of tensors without history.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        for name, tensor in self._state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of `state_dict` into the parameters and buffers of the same names.

        With `assign`, the tensors of `state_dict` replace the parameters and buffers instead.

        Returns:
            A pair of lists: `missing_keys` and `unexpected_keys`.

        Raises:
            RuntimeError: if a tensor has another shape, or if `strict` is True and a name is missing or unexpected.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys, problems = _IncompatibleKeys([], []), []
        self._load(dict(state_dict), "", assign, keys, problems)
        if strict:
            for sentence, names in (
                ("Unexpected key(s) in state_dict: {}. ", keys.unexpected_keys),
                ("Missing key(s) in state_dict: {}. ", keys.missing_keys),
            ):
                if names:
                    problems.insert(0, sentence.format(", ".join([f'"{name}"' for name in names])))
        if problems:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(self._get_name(), "\n\t".join(problems))
            )
        return keys

    def _state(self) -> dict[str, Tensor]:
        """Return this module's own parameters and persistent buffers."""
        buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in (self._parameters | buffers).items() if tensor is not None}

    def _load(
        self, given: dict[str, Any], prefix: str, assign: bool, keys: _IncompatibleKeys, problems: list[str]
    ) -> None:
        """Load what starts with a prefix into this module and those in it, and collect the errors."""
        state = self._state()
        for name, tensor in state.items():
            if prefix + name in given:
                problems += self._take(name, tensor, prefix + name, given[prefix + name], assign)
            else:
                keys.missing_keys.append(prefix + name)
        for key in given:
            first, *deeper = key.removeprefix(prefix).split(".", 1)
            if first not in (self._modules if deeper else state):
                keys.unexpected_keys.append(key)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in given.items() if key.startswith(inner)}
                module._load(part, inner, assign, keys, problems)

    def _take(self, name: str, tensor: Tensor, key: str, given: Any, assign: bool) -> list[str]:
        """Set one parameter or buffer, and return a list of what prevents it."""
        if not isinstance(given, Tensor):
            return [
                (
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                    f"object from checkpoint but received {type(given)}"
                )
            ]
        if not tensor.shape and given.shape == (1,):
            given = given[0]
        if given.shape != tensor.shape:
            return [
                (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                    f"current model is {tensor.shape}."
                )
            ]
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(given)
                elif isinstance(tensor, Parameter) and not isinstance(given, Parameter):
                    setattr(self, name, Parameter(given, tensor.requires_grad))
                else:
                    setattr(self, name, given.requires_grad_(tensor.requires_grad))
        except Exception as problem:
            return [
                (
                    f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                    f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {problem.args}."
                )
            ]
        return []
