"""What an operation's name may do: `out=`, a twin that writes in place, second names; each that PyTorch has is here."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

import pytest
from oracle import entries, raised

import workbench
from workbench.compat.absent import names
from workbench.ops import REGISTRY
from workbench.ops.core.registry import VARIANTS

# PyTorch's functions that write into `out`, and here do not: few programs use it (DIFFERENCES.md).
WITHOUT_OUT = """
index_copy nanmean take
addbmm addmm addmv addr all amax amin any argmax argmin argsort baddbmm bitwise_and bitwise_not bitwise_or bitwise_xor
bucketize column_stack diag diff dstack floor_divide fmod gather hstack index_add index_select inner isin kron lerp
log_softmax logical_and logical_not logical_or logical_xor logsumexp masked_select msort multinomial nonzero norm
outer remainder round scatter scatter_add searchsorted softmax square std take_along_dim tensordot tril triu var
vstack
""".split()
# PyTorch's twins that are not here: they write answers over the numbers that were asked about, and bits are written by
# operators (`&=`).
WITHOUT_TWIN = """
eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
as_strided
""".split()
TWIN_FUNCTIONS = {"as_strided"}  # of these, twins that PyTorch has as functions, too
# Ops that others are made of; users call `2 - x`, `x[i]` or `layer_norm` where PyTorch has these names too.
INNER = """
binary_cross_entropy_with_logits channel_shuffle convolution embedding fill hardshrink index max_pool2d
native_batch_norm native_group_norm native_layer_norm pixel_shuffle pixel_unshuffle rsub
""".split()


def test_an_op_of_a_name_that_pytorch_has_can_be_called_by_it() -> None:
    """Otherwise it lacks `method=True`, or one of the words that say so too."""
    places = (("torch", workbench), ("torch.Tensor", workbench.Tensor))
    lacking = {
        name for place, here in places for name in names()[place] if name in REGISTRY and not hasattr(here, name)
    }
    assert sorted(lacking) == INNER


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_what_a_name_may_do(torch: Any, name: str) -> Any:
    if torch is workbench:
        assert not (VARIANTS[name].out and name in WITHOUT_OUT)
        out, also = VARIANTS[name].out or name in WITHOUT_OUT, VARIANTS[name].also
    else:
        out, also = takes_out(torch, name), second_names(torch).get(name, ())
    there = {"out=": out}
    for each in [own + end for own in (name, *also) for end in ("", "_")]:
        there |= {f"torch.{each}": hasattr(torch, each), f"Tensor.{each}": hasattr(torch.Tensor, each)}
    if torch is workbench and name in WITHOUT_TWIN:
        places = ("Tensor", "torch") if name in TWIN_FUNCTIONS else ("Tensor",)
        twins = {f"{place}.{own}_": True for place in places for own in (name, *also)}
        assert not any(there[twin] for twin in twins)
        there |= twins
    return there


# What twins of more than one tensor are called with, `t` being the tensor that is written.
ARGUMENTS = {
    **dict.fromkeys("add sub mul div pow remainder fmod".split(), "2 | t | t.t()"),
    **dict.fromkeys(("scatter", "scatter_add"), "0, i, t | 0, i, t.t() | 0, i, t + 1"),
    "copysign": "2 | t | t.t()",
    "renorm": "2, 0, 1.0",
    "addbmm": "t[None] + 1, t[None] + 2",
    **dict.fromkeys(("addcdiv", "addcmul"), "t, t + 1 | t.t(), t"),
    "addmm": "t + 1, t + 2",
    "addr": "t[0] + 1, t[1] + 2",
    "clamp": "1, 2 | t, t.t()",
    **dict.fromkeys(("clamp_max", "clamp_min"), "1 | t | t.t()"),
    "lerp": "t, 0.5 | t.t(), 0.5 | t + 1, t",
    "cumprod": "0",
    "cumsum": "0",
    "index_add": "0, i[0], t | 0, i[0], t.t() | 0, i[0], t + 1",
    "index_put": "(i[0],), t | (i[0],), t[:1] + 1 | (m,), t[0, 0] | (m,), torch.tensor(1.0)",
    **dict.fromkeys(("atan2", "hypot", "xlogy"), "t | t.t()"),
    "index_copy": "0, i[0], t | 0, i[0], t.t() | 0, i[0], t + 1",
    "index_fill": "0, i[0], 1.0 | 0, i[0], torch.tensor(1.0)",
    "masked_scatter": "m, t | m, t + 1",
    "put": "i, t[:1] + 1",
    "masked_fill": "m, 1.0 | m, t[0, 0] | m, torch.tensor(1.0)",
}
OF_OTHER_SHAPES = ("addmv", "baddbmm")


@pytest.mark.parametrize(
    "name", sorted([name for name in VARIANTS if VARIANTS[name].in_place and name not in OF_OTHER_SHAPES])
)
@pytest.mark.parametrize("written", ["a", "a.t()", "a[:1].expand(3, 3)"])
def test_what_a_twin_reads_where_it_writes(torch: Any, name: str, written: str) -> list[Any]:
    """Elements that are one, and arguments that lie where it writes: its declaration says what it minds."""
    seen = []
    for text in entries(ARGUMENTS.get(name, "")) or [""]:
        a = torch.arange(9.0).reshape(3, 3) / 8
        i, m = torch.tensor([[0, 2, 1]]), torch.eye(3, dtype=torch.bool)
        t = eval(written, {"a": a})
        what = raised(eval, f"t.{name}_({text})", {"torch": torch, "t": t, "i": i, "m": m})
        assert "TypeError" not in what
        seen.append((text, what, a))
    return seen


def takes_out(torch: Any, name: str) -> bool:
    """Whether PyTorch's function takes `out`: its parameters say so, or how it refuses one that is no tensor."""
    function, one = getattr(torch, name), torch.tensor(1)  # which passes for a tensor and for an int
    try:
        return "out" in inspect.signature(function).parameters
    except ValueError:  # it is not written in Python
        refused = [_refusal(function, *[given] * count) for given in (one, [one]) for count in range(1, 5)]
        return any(re.search(r"argument 'out'.* must be|\bout = None", text) for text in refused)


def _refusal(function: Any, *args: Any) -> str:
    try:
        function(*args, out="")
    except TypeError as error:
        return str(error)
    return ""


@functools.cache
def second_names(torch: Any) -> dict[str, list[str]]:
    """PyTorch's names whose docstrings say that they are other names of a function, by that."""
    found: dict[str, list[str]] = {}
    for name in names()["torch"]:
        said = re.search(r"Alias (?:for|of) :func:`torch\.(\w+)`", str(getattr(torch, name).__doc__))
        if said:
            found.setdefault(said[1], []).append(name)
    return found
