"""Calling a module with other parameters than it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .. import errors
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
    """What a module returns with the given tensors in place of its parameters and buffers of these names.

    So transforms can differentiate a module, or batch it, as a function of its parameters. Names of one tensor are all
    given the same, unless `tie_weights` is False; with `strict`, RuntimeError unless the names are all that there are.
    """
    given = _merged(parameter_and_buffer_dicts)
    wanted = _tied(module, given) if tie_weights else given
    if strict:
        _check_names(module, wanted)
    for tensor in wanted.values():
        if not isinstance(tensor, Tensor):
            raise TypeError(errors.FUNC_NOT_A_TENSOR.format(tensor))
    places = {name: _place(module, name) for name in wanted}
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


def _merged(dicts: Any) -> dict[str, Tensor]:
    """The tensors by name, from one dictionary or several; ValueError for a name in two of them."""
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(errors.FUNC_CALL_KIND.format(type(dicts)))
    if not all([isinstance(each, dict) for each in dicts]):
        raise ValueError(errors.FUNC_CALL_KINDS)
    repeated = [name for name, times in Counter([name for each in dicts for name in each]).items() if times > 1]
    if repeated:
        raise ValueError(errors.FUNC_CALL_REPEATED.format(repeated))
    return {name: tensor for each in dicts for name, tensor in each.items()}


def _named(module: Any) -> dict[str, Tensor]:
    """All parameters and buffers, under every name they have."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _tied(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """What is given for one name of a tensor, given for all of its names; ValueError where they disagree."""
    names: dict[Tensor, list[str]] = {}
    for name, tensor in _named(module).items():
        names.setdefault(tensor, []).append(name)
    tied = dict(given)
    for shared in names.values():
        values = {given[name] for name in shared if name in given}
        if len(values) > 1:
            raise ValueError(errors.FUNC_CALL_TIED.format(sorted(shared)))
        for value in values:
            tied.update(dict.fromkeys(shared, value))
    return tied


def _check_names(module: Any, given: dict[str, Tensor]) -> None:
    known = _named(module)
    missing, unexpected = [n for n in known if n not in given], [n for n in given if n not in known]
    problems = [errors.FUNC_CALL_UNEXPECTED.format(", ".join(map(repr, unexpected)))] if unexpected else []
    if missing:
        problems.append(errors.FUNC_CALL_MISSING.format(", ".join(map(repr, missing))))
    if problems:
        raise RuntimeError(errors.FUNC_CALL_NAMES.format(module._get_name(), "\n\t".join(problems)))


def _place(module: Any, name: str) -> tuple[dict[str, Any], str]:
    """The dictionary in which a module holds a parameter, a buffer or what is neither, and under which name."""
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            raise AttributeError(errors.FUNC_CALL_NO_ATTRIBUTE.format(module._get_name(), part))
        module = getattr(module, part)
    kinds = (module._parameters, module._buffers)
    return next((held for held in kinds if last in held), module.__dict__), last


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters, and the buffers, of several modules of one class, each stacked: for vmap over `functional_call`.

    What is stacked is new leaves; RuntimeError where the modules differ in class, mode or what requires grad.
    """
    if len(models) == 0:
        raise RuntimeError(errors.FUNC_STACK_NONE)
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError(errors.FUNC_STACK_MODES)
    if any([type(model) is not type(models[0]) for model in models]):
        raise RuntimeError(errors.FUNC_STACK_CLASSES)
    each = [(dict(model.named_parameters()), dict(model.named_buffers())) for model in models]
    parameters, buffers = (
        {name: _stacked(name, [named[name] for named in kind]) for name in kind[0]} for kind in zip(*each, strict=True)
    )
    return parameters, buffers


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(errors.FUNC_STACK_GRADS.format(name))
    return stack(tensors).detach().requires_grad_(wanted == {True})
