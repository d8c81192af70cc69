"""What `help` shows of a declared operation: its signature, its meaning and its gradients."""

from __future__ import annotations

import inspect
import re
from typing import Any

BROADCAST = "The operands are broadcast to one shape"
# What becomes of operands, by the kind of an operation and their number.
CONVERTED = {
    ("pointwise", 2): f"{BROADCAST} and converted to one dtype. `other` may be a number.",
    ("tensors", 2): f"{BROADCAST} and converted to one dtype.",
    ("float", 2): f"{BROADCAST} and converted to one floating-point dtype.",
    ("float", 1): "Integers are converted to the default floating-point dtype.",
}


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
