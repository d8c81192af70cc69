"""The family of an operation or a module: its box has a strip in the family's color."""

from __future__ import annotations

import re
from functools import cache

from ..scene.model import Family

# Of a name without underscores and digits, as in `NativeBatchNormBackward0`, `BatchNorm2d` or `batch_norm`.
_FAMILIES: tuple[tuple[Family, str], ...] = (
    ("loss", r".*loss|crossentropy|binarycrossentropy.*|kldiv"),
    ("attention", r".*attention.*"),
    ("convolution", r"(lazy|miopen|cudnn|slow|thnn|mkldnn)?conv(olution|transpose)?(overrid\w*)?d?"),
    ("norm", r"(native|cudnn|lazy|sync|fused)?(batch|layer|group|instance|rms|localresponse)norm(d|impl)?"),
    (
        "activation",
        r"(log)?(soft(max|min|plus|sign|shrink)d?|sigmoid)|tanh(shrink)?|hard(tanh|swish|sigmoid|shrink)"
        r"|(leaky|p|r)?r?relu|[sc]?elu|gelu|silu|mish|glu|threshold|swish",
    ),
)
_KNOWN: list[tuple[Family, re.Pattern[str]]] = [(family, re.compile(pattern)) for family, pattern in _FAMILIES]


@cache
def family_of(name: str) -> Family:
    """Return the family of a node's name, of a module's class, or of a function; "" if it is in none."""
    plain = re.sub(r"backward\d*$", "", name.lower())
    plain = re.sub(r"[\d_]", "", plain)
    for family, pattern in _KNOWN:
        if pattern.fullmatch(plain):
            return family
    return ""
