"""Bind the arguments of a Function's `apply` to the parameters of its forward."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import errors
from .state import local


def with_defaults(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return all of forward's arguments in their places, defaults included, for a Function with setup_context.

    Keyword-only arguments aren't inputs; only a rule for vmap takes them.
    """
    forward = cls.forward
    signature = inspect.signature(forward)
    if len(_names(signature)) == len(signature.parameters):
        cls._plain_forward = forward, len(signature.parameters)  # with as many arguments there is nothing to bind
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    for name in bound.kwargs if not local.modes.levels else ():
        raise TypeError(errors.FORWARD_UNEXPECTED.format(name))
    return bound.args, bound.kwargs


def _names(signature: inspect.Signature) -> list[str]:
    """Return the names of the positional parameters."""
    return [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def positional(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Move keyword arguments to their places for a forward that takes ctx; omitted defaults stay omitted."""
    names = _names(inspect.signature(forward))[1:]
    places = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in places:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        if name not in names:
            raise TypeError(errors.FORWARD_UNEXPECTED.format(name))
        places[name] = value
    for position, name in enumerate(names[: max(names.index(n) for n in places) + 1]):
        if name not in places:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return tuple([places[name] for name in names if name in places])
