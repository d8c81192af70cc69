"""What `help` shows of an operation: its signature, its meaning, its gradients, and arguments that many have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

BROADCAST = "The operands are broadcast to one shape"
# What becomes of operands, by the kind of an operation and their number.
CONVERTED = {
    ("pointwise", 2): f"{BROADCAST} and converted to one dtype. `other` may be a number.",
    ("tensors", 2): f"{BROADCAST} and converted to one dtype.",
    ("float", 2): f"{BROADCAST} and converted to one floating-point dtype.",
    ("float", 1): "Integers are converted to the default floating-point dtype.",
}
# What an argument means wherever it occurs, unless the docstring itself says it.
SHARED = {
    "dtype": "The elements are converted to this dtype before the computation.",
    "generator": "The random number generator to draw from. By default, it is the global one.",
    "inplace": "Write the result into the input itself, and return the input.",
    "keepdim": "Keep each reduced dimension, with size 1.",
    "memory_format": "The order of the elements in memory, such as `channels_last`.",
    "non_blocking": "Accepted for compatibility; it has no effect.",
    "requires_grad": "Whether `backward()` computes a gradient for the result.",
}
MADE = {"dtype": "The dtype of the result."}  # by a function that makes a tensor
_OWN = ("Returns:", "Raises:", "Example:", "In the backward pass,")  # sections below the arguments
# A base returns a copy, its twin changes the tensor itself.
_VERBS = {"written": "Write", "added": "Add", "replaced": "Replace"}
_COPY = re.compile(rf"Return a copy with (.+?),? ({'|'.join(_VERBS)})\b", re.DOTALL)
_NOT_OF_TWIN = ("Returns:", "Example:", "In the backward pass,", "The result never", CONVERTED["float", 1])
_OPERANDS = {
    CONVERTED["pointwise", 2]: "`other` is broadcast to the tensor's shape. It may be a number.",
    CONVERTED["tensors", 2]: "The other operand is broadcast to the tensor's shape.",
    CONVERTED["float", 2]: "The other operand is broadcast to the tensor's shape.",
}
_WRITTEN = "The result is written into the tensor itself, which is returned. Its shape and dtype stay\nthe same."
_REFUSED = [
    "RuntimeError: if the result doesn't fit the tensor's shape or dtype.",
    "RuntimeError: if the tensor is a leaf that requires grad, except under `no_grad()`.",
]


def described(op: Any, meaning: str) -> str:
    """Return what `help` shows: the meaning, what happens to shapes and dtypes, and the gradients."""
    if not meaning:
        return f"The operation {op.signature}; its node is {op.node_name}."
    said = [meaning, CONVERTED.get((op.kind, op.signature.count("Tensor ")), "")]
    lines = "".join([f"\n    {line}" for line in op.formula_text.splitlines()])
    if not lines:
        said += ["The result never requires grad."]
    elif "_backward(" in lines:  # what that is, readers of the meaning know
        said += [f"Its node in the graph is {op.node_name}."]
    else:
        said += [f"In the backward pass, {op.node_name} turns `grad`, the gradient of the result, into::"]
        said += [re.sub(r"\bself\b(?!.* = )", "input", lines[1:])]
    return "\n\n".join(filter(None, said))


def signature_of(op: Any, out: bool = False) -> inspect.Signature:
    """Return the parameters as callers name them: the function has them only once its code is compiled."""
    inside = op.signature[op.signature.index("(") + 1 : -1].partition(";")[0]
    given = []
    for place, each in enumerate(inside.split(", ")):
        mark, _, word = each.rpartition(" ")
        name, equals, _ = word.partition("=")
        number = " | float" if place and op.promotes and op.kind != "tensors" else ""
        given.append(
            inspect.Parameter(
                "input" if name == "self" else name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=None if equals else inspect.Parameter.empty,
                annotation=f"Tensor{number}" if mark else "Any",
            )
        )
    if out:
        given.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None"))
    return inspect.Signature(given, return_annotation="Tensor")


def with_arguments(doc: str, function: Callable[..., Any], meanings: dict[str, str]) -> str:
    """Return the docstring with those of the function's arguments that the table explains and the text doesn't name."""
    code = inspect.unwrap(function).__code__
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    added = [name for name in given if name in meanings and not re.search(rf"`{name}\b|\b{name}:", doc)]
    if not doc or not added:
        return doc
    return _with_lines(inspect.cleandoc(doc), "Args:", [f"{name}: {meanings[name]}" for name in added])


def explain_shared(function: Callable[..., Any], also: dict[str, str] | None = None) -> Callable[..., Any]:
    """Return the function. Arguments that many have are added to its docstring where it doesn't name them."""
    if function.__doc__:
        function.__doc__ = with_arguments(function.__doc__, function, {**SHARED, **(also or {})})
    return function


def _with_lines(doc: str, section: str, lines: list[str]) -> str:
    """Return the docstring with the lines at the end of a section, which is added where there is none."""
    parts = doc.split("\n\n")
    text = "".join([f"\n    {line}" for line in lines])
    for place, part in enumerate(parts):
        if part.startswith(section):
            parts[place] = part + text
            break
    else:
        below = _OWN if section == "Args:" else _OWN[2:]
        ends = [place for place, part in enumerate(parts) if part.startswith(below)]
        parts.insert(min(ends, default=len(parts)), section + text)
    return "\n\n".join(parts)


def described_in_place(doc: str, tensor: str = "self") -> str:
    """Return what `help` shows of a method that writes into its tensor what the function with this docstring gives."""
    parts, dropped = [], False
    for part in inspect.cleandoc(doc).split("\n\n"):
        dropped = part.startswith(_NOT_OF_TWIN) if not part.startswith(" ") else dropped
        if not dropped:
            parts.append(_OPERANDS.get(part, part))
    meaning = _COPY.sub(lambda found: f"{_VERBS[found[2]]} {found[1]}", parts[0])
    parts[:1] = [re.sub(r"^Return ", "Compute ", meaning), _WRITTEN]
    said = _with_lines("\n\n".join(parts), "Raises:", _REFUSED)
    return re.sub(r"`[^`]*`", lambda code: re.sub(r"\b(input|out)\b", tensor, code[0]), said)
