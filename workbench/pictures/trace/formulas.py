"""What an operation or a Function computes: its formulas, or the code that the user wrote."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from .facts import Code
from .source import source_lines
from .values import number

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")


def text_of(arg: Any) -> str:
    """Return a plain argument as text, or for another the name of its type."""
    return arg.__name__ if isinstance(arg, type) else number(arg)


def code_of(cls: type) -> tuple[Code, ...]:
    """Return the code of a node: the user's methods if a Function made it, else the operation's formulas.

    In an engine of the user's own a Function makes all nodes.
    """
    function = getattr(cls, "_forward_cls", getattr(cls, "computes", None))
    if function is None:
        formulas = [(name, getattr(cls, f"{name}_text", "")) for name in ("forward", "backward")]
        return tuple(Code(name, text) for name, text in formulas if text)
    return methods_of(function)


def methods_of(function: type) -> tuple[Code, ...]:
    """Return the methods that the user wrote in a Function."""
    code: list[Code] = []
    for name in METHODS:
        owner = next((each for each in function.__mro__ if name in vars(each)), object)
        if owner is object or owner.__module__.partition(".")[0] in (__name__.partition(".")[0], "torch"):
            continue  # not written by the user
        try:
            lines, _ = source_lines(getattr(owner, name))
        except (OSError, TypeError):  # typed at a prompt, or made by exec
            continue
        code.append(Code(name, textwrap.dedent("".join(lines)).rstrip()))
    return tuple(code)


def name_of(what: Any) -> str:
    """Return the name of an operation or a Function."""
    return what.__name__ if isinstance(what, type) else what.shown.partition("(")[0]


def formula_of(op: Any) -> str:
    """Return how an operation's tangent comes from those of its operands; `x_t` is that of x."""
    if op.tangent in ("linear", "multilinear"):
        together = [op.tensors] if op.tangent == "linear" else [[name] for name in op.tensors]
        return " + ".join(re.sub(rf"(?<=[(, ])({'|'.join(names)})\b", r"\1_t", op.shown) for names in together)
    terms = {name: re.sub(r"\bgrad\b", f"{name}_t", text) for name, text in op.formulas.items()}
    if op.tangent == "transposed":
        return "the formula of backward, transposed"
    if op.tangent in ("pointwise", "reduction"):
        total = " + ".join(terms.values())
        return total if op.tangent == "pointwise" else f"sum of {total}"
    return op.tangent or ""
