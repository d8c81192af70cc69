"""What the help of layers says about arguments that many of them share: each sentence is written once, here."""

from __future__ import annotations

from ...ops.core.described import with_arguments
from .module import Module

SENTENCES = {
    "inplace": "If True, the result overwrites the input.",
    "device": 'The device of the parameters: None or "cpu", as there is no other device.',
    "dtype": "The dtype of the parameters. None means the default dtype, float32 unless it was changed.",
}


def explain(layer: type[Module]) -> None:
    """Add the arguments of this table to a layer's help, unless the layer explains them itself."""
    if layer.__doc__:
        layer.__doc__ = with_arguments(layer.__doc__, layer.__init__, SENTENCES)
