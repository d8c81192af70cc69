"""A module as a function of its parameters, and the parameters of several modules stacked (for ensembles)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..autograd.tensor import Tensor
from ..ops.join_split import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with the given tensors instead of its own parameters and buffers.

    Use it to differentiate a module with respect to its parameters, or to run it with a batch of parameters. The
    module itself stays unchanged. PyTorch: torch.func.functional_call.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> given = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.zeros(1)}
        >>> torch.func.functional_call(layer, given, torch.tensor([3.0, 4.0]))
        tensor([11.])

    Args:
        module: The module to call.
        parameter_and_buffer_dicts: A dict that maps names of parameters and buffers to tensors, or a sequence of such
            dicts.
        args: The positional arguments of the call, as a tuple. A single argument needs no tuple.
        kwargs: The keyword arguments of the call, as a dict.
        tie_weights: If True, the value given for one name of a shared tensor is used for all its names.
        strict: If True, the dicts must name every parameter and buffer of the module, and nothing else.

    Raises:
        RuntimeError: if `strict` is True and a name is missing or unexpected.
        ValueError: if two dicts give the same name, or two names of a shared tensor different values.
    """
    given = _merged_dicts(parameter_and_buffer_dicts)
    wanted = _tied(module, given) if tie_weights else given
    if strict:
        _check_names(module, wanted)
    for tensor in wanted.values():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    places = {name: _held_at(module, name) for name in wanted}
    before = {name: held[last] for name, (held, last) in places.items() if last in held}
    try:
        for name, (held, last) in places.items():
            held[last] = wanted[name]
        return module(*(() if args is None else args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for name, (held, last) in places.items():
            if name in given:  # the module may have put another there
                given[name] = held.get(last, given[name])
            if name in before:
                held[last] = before[name]
            else:
                held.pop(last, None)
        if isinstance(parameter_and_buffer_dicts, dict):
            parameter_and_buffer_dicts.update(given)


def _merged_dicts(dicts: Any) -> dict[str, Tensor]:
    """Merge one or several dicts of tensors by name.

    Raises:
        ValueError: if two dicts give the same name.
    """
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all([isinstance(each, dict) for each in dicts]):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    repeated = [name for name, times in Counter([name for each in dicts for name in each]).items() if times > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: tensor for each in dicts for name, tensor in each.items()}


def _named_tensors(module: Any) -> dict[str, Tensor]:
    """Return all parameters and buffers, under every name they have."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _tied(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the value of one name of a shared tensor to all of its names.

    Raises:
        ValueError: if two names of a tensor have different values.
    """
    names: dict[Tensor, list[str]] = {}
    for name, tensor in _named_tensors(module).items():
        names.setdefault(tensor, []).append(name)
    tied = dict(given)
    for shared in names.values():
        values = {given[name] for name in shared if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(shared)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values:
            tied.update(dict.fromkeys(shared, value))
    return tied


def _check_names(module: Any, given: dict[str, Tensor]) -> None:
    known = _named_tensors(module)
    missing, unexpected = [n for n in known if n not in given], [n for n in given if n not in known]
    problems = ["Unexpected key(s): {}.".format(", ".join(map(repr, unexpected)))] if unexpected else []
    if missing:
        problems.append("Missing key(s): {}.".format(", ".join(map(repr, missing))))
    if problems:
        raise RuntimeError(
            "Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(problems))
        )


def _held_at(module: Any, name: str) -> tuple[dict[str, Any], str]:
    """Return the dict of a module that contains an attribute (parameters, buffers or others), and the key in it."""
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
    kinds = (module._parameters, module._buffers)
    return next((held for held in kinds if last in held), module.__dict__), last


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stack the parameters and the buffers of several modules, to run all modules at once.

    The modules must be of one class. Pass the result to `functional_call` under `vmap`. PyTorch:
    torch.func.stack_module_state.

    Args:
        models: The modules, all of one class.

    Returns:
        `(parameters, buffers)`: two dicts that map names to new leaf tensors. The first dimension of each tensor has
        the size `len(models)`.

    Raises:
        RuntimeError: if the modules differ in class, in training mode, or in which parameters require grad.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any([type(model) is not type(models[0]) for model in models]):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    each = [(dict(model.named_parameters()), dict(model.named_buffers())) for model in models]
    parameters, buffers = (
        {name: _stacked_leaves(name, [named[name] for named in kind]) for name in kind[0]}
        for kind in zip(*each, strict=True)
    )
    return parameters, buffers


def _stacked_leaves(name: str, tensors: list[Tensor]) -> Tensor:
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(wanted == {True})
