"""The kind of an answer: a value, a function or a class, and whether it is written yet."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import workbench as torch

FROM_NOTEBOOK = "The {0} in your {1} is the notebook's own {0}: your {1} never defines that name."


@dataclass(frozen=True)
class AnswerKind:
    """The kind of the right answer, with the messages for answers of another kind and for missing ones."""

    kind: str  # value, function or class
    is_function: bool  # a class made from torch.autograd.Function
    is_empty: bool
    names: frozenset[str]  # what a class gives a value, its methods among them

    @classmethod
    def of(cls, solution: Any) -> AnswerKind:
        """Return the kind of this answer."""
        names = frozenset(vars(solution)) if isinstance(solution, type) else frozenset[str]()
        return cls(kind_of(solution), is_function(solution), is_empty(solution), names)


def kind_of(value: Any) -> str:
    """Return what an answer is, in a word."""
    return "class" if isinstance(value, type) else "function" if callable(value) else "value"


def is_function(value: Any) -> bool:
    """Return True for a custom Function."""
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def is_empty(answer: Any, asked: Collection[str] = ()) -> bool:
    """Return True if this answer, or a method that it must have, isn't written yet."""
    if answer is None or answer is ...:
        return True
    if isinstance(answer, type):
        methods = [getattr(each, "__func__", each) for name, each in vars(answer).items() if name in asked]
        return any(is_empty(method) for method in methods if isinstance(method, FunctionType))
    if isinstance(answer, list | tuple):
        return any(each is ... for each in answer) or bool(answer and all(each is None for each in answer))
    if not isinstance(answer, FunctionType) or answer.__code__.co_code not in _EMPTY or answer.__name__ == "<lambda>":
        return False
    only_words = all(each is None or each == answer.__doc__ for each in answer.__code__.co_consts)
    return only_words and not _says_return(answer)


def _says_return(answer: FunctionType) -> bool:
    """Return True if a function whose code does nothing returns explicitly: `return None` is an answer, `...` isn't."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, SyntaxError):
        return False
    return any(isinstance(each, ast.Return) for each in ast.walk(tree))


def arguments_of(answer: Any) -> tuple[str, ...]:
    """Return the names of the arguments that an answer is called with; none if they can't be read."""
    function = getattr(answer, "forward", answer) if isinstance(answer, type) else answer
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()
    takes_ctx = is_function(answer) and "setup_context" not in vars(answer)
    return names[1:] if takes_ctx else names


def of_notebook(answer: Any) -> str:
    """Return a hint if a method reads a notebook's tensor that is named as an argument of another method, else ""."""
    bases = [each for each in type.mro(answer) if each is not object] if isinstance(answer, type) else []
    parts = [part for each in bases for part in vars(each).values()] if bases else [answer]
    methods = [each for part in parts if isinstance(each := getattr(part, "__func__", part), FunctionType)]
    arguments = {name for each in methods for name in each.__code__.co_varnames[: each.__code__.co_argcount]}
    for method in methods:
        for read in dis.get_instructions(method):
            value = method.__globals__.get(read.argval) if read.opname == "LOAD_GLOBAL" else None
            if read.argval in arguments and hasattr(type(value), "requires_grad"):
                return FROM_NOTEBOOK.format(read.argval, method.__name__)
    return ""


def _nothing() -> None: ...


def _nothing_but_words() -> None:
    """Words."""


_EMPTY = {_nothing.__code__.co_code, _nothing_but_words.__code__.co_code}
