"""Describe hooks, and the nodes where they may be, for a recorder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .listing import begin_of
from .source import is_users


def name_of(hook: Any) -> tuple[str, tuple[str, int] | None]:
    """Return a hook's name, and the line of user code that defines it."""
    hook = _of_module(getattr(hook, "__wrapped__", hook))
    hook = getattr(hook, "func", hook)
    code = getattr(hook, "__code__", None)
    if code is not None:
        users = is_users(code.co_filename)
        return code.co_name, begin_of(code) if users else None
    call = getattr(type(hook).__call__, "__code__", None)  # of an object that can be called
    name = getattr(hook, "__name__", type(hook).__name__)
    if call is None or not is_users(call.co_filename):
        return name, None
    return name, begin_of(call)


def _of_module(hook: Any) -> Any:
    """Return the user's hook of a module where a hook on a node only calls that; otherwise the hook itself."""
    for cell in getattr(hook, "__closure__", None) or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        owner = getattr(held, "__self__", held)
        if type(owner).__name__ == "BackwardHook":
            of_inputs = "grad_input" in hook.__code__.co_varnames[:1] or getattr(held, "__name__", "") == "_on_inputs"
            names = ("user_hooks", "after") if of_inputs else ("user_pre_hooks", "before")  # PyTorch's, and the own
            return next((each for name in names for each in getattr(owner, name, ())), hook)
    return hook


def retained(nr: int) -> tuple[Any, ...]:
    """Return what is recorded of `retain_grad` on an output, as if it were a hook."""
    return "retained", nr, "retain_grad", None


def nodes_behind(starts: Iterable[Any]) -> list[Any]:
    """Return these nodes and all nodes that their gradients can reach."""
    met = {node: None for node in starts if node is not None}
    todo = list(met)
    while todo:
        for to, _ in todo.pop().next_functions:
            if to is not None and to not in met:
                met[to] = None
                todo.append(to)
    return list(met)
