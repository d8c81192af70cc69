"""What the help of layers says about arguments that many of them share: each sentence is written once, here."""

from __future__ import annotations

import re
from inspect import cleandoc

from .module import Module

SENTENCES = {
    "inplace": "If True, the result overwrites the input.",
    "device": 'The device of the parameters: None or "cpu", as there is no other device.',
    "dtype": "The dtype of the parameters. None means the default dtype, float32 unless it was changed.",
}
_ARGS = re.compile(r"^Args:\n(?: {4}.*(?:\n|\Z))+", flags=re.MULTILINE)


def explain(layer: type[Module]) -> None:
    """Add the arguments of this table to a layer's help, unless the layer explains them itself."""
    code, text = layer.__init__.__code__, layer.__doc__
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    lines = [
        f"    {name}: {said}\n"
        for name, said in SENTENCES.items()
        if name in given and f" {name}: " not in (text or "")
    ]
    if text is None or not lines:
        return
    text = cleandoc(text) + "\n"
    found = _ARGS.search(text)
    if found is None:
        layer.__doc__ = f"{text}\nArgs:\n{''.join(lines)}"
    else:
        layer.__doc__ = f"{text[: found.end()]}{''.join(lines)}{text[found.end() :]}"
