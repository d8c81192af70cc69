"""Where a gradient path ends although the data continue: what a recorder knows of tensors beyond such a place."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from .facts import Cut
from .source import Line, is_users
from .stacks import user_line
from .values import code

_MOST = 10_000  # tensors: of more, the oldest are forgotten, as most of them are gone
_MOST_ENDS = 200  # places whose ways end at one cut

# Library functions that compute without gradients: a part of their module's name, their own name, the word for them.
_SWITCHES = (("distributions", "sample", "sample"), ("checkpoint", "forward", "checkpoint"))
_RUNS = "checkpoint"  # the one that runs code of the user's


# What ends the way of a gradient by itself: it is done for that, or copies numbers alone.
CUTTING = frozenset(("data", "detach", "detach_", "tensor", "new_tensor", "grad"))
_ON_PURPOSE = ("detach", "data")
_MODES = ("no_grad", "inference_mode")
_MIXES = frozenset("add sub rsub mul div iadd isub imul radd rmul".split())  # values of both sides go into each result
# What takes numbers from one tensor where others, integers or booleans, say: the numbers aren't theirs.
_CHOOSING = frozenset(
    "index index_add index_copy index_fill index_put index_select gather scatter scatter_add embedding embedding_bag "
    "take take_along_dim masked_fill masked_select masked_scatter where one_hot getitem".split()
)
REPLACES = frozenset(("zero_", "fill_"))  # what leaves nothing of what was there before
# What reads the numbers of a tensor, and what a sentence calls it.
NUMBERS = {"item": "item", "tolist": "tolist", "numpy": "numpy", "__float__": "float", "__int__": "int"}


def makes_others(name: str) -> bool:
    """Return True if an operation takes only shape or kind from its arguments: `zeros_like`, `new_ones`."""
    return name.endswith("_like") or (name.startswith("new_") and name != "new_tensor")


def is_dtype(word: str) -> bool:
    """Return True if the word for a cut is a dtype, whose numbers take no gradients."""
    return word.startswith(("int", "uint", "bool"))


def cut_words(cut: Cut) -> str:
    """Return what ends a gradient path, as a sentence names it: `detach()`, or the operation that gives integers."""
    if is_dtype(cut.word):
        dot = "." if (written := _written(cut)) in _CONVERSIONS else ""
        return code(f"{dot}{written}()") if cut.operation.isidentifier() else f"the dtype {cut.word}"
    return "`.data`" if cut.word == "data" else code(f"{cut.word}()")


def in_effect(cut: Cut) -> str:
    """Return `, in effect` for a mode that another line switched: the cut's line doesn't name it."""
    is_mode = cut.word in _MODES and cut.source is not None and cut.word not in cut.source.text
    return ", in effect" if is_mode else ""


def cut_said(cut: Cut, at: str, cuts: str, so: str) -> str:
    """Return that a cut, `at` a line, `cuts` something; or that it gives integers, and what follows (`so`)."""
    if not is_dtype(cut.word):
        mode = in_effect(cut) if at else ""
        return f"{cut_words(cut)}{mode}{at}{',' if mode else ''} {cuts}"
    gives = (
        f"{cut_words(cut)}{at} returns {cut.word} values"
        if cut.operation.isidentifier()
        else (f"there are {cut.word} values{at}")
    )
    return f"{gives}, which can't carry gradients, so {so}"


_INSTEAD = {
    "no_grad": "Move this computation out of the `no_grad()` block.",
    "inference_mode": "Move this computation out of the `inference_mode()` block.",
    "tensor": "Use `torch.stack()` on a list of tensors, or `clone()` on a single one.",
    "new_tensor": "Use `clone()` instead.",
    "sample": "Use `rsample()` instead.",
    "checkpoint": "Call `checkpoint` with `use_reentrant=False`.",
    "grad": "Call `autograd.grad()` with `create_graph=True`.",
}
_UPDATE = re.compile(r"^([\w.\[\]]+) = \1 ([-+]) (.*\.grad\b.*)$")  # by hand, which makes another tensor
_CONVERSIONS = frozenset("long int short char byte bool".split())  # methods that `to` is called by
# The operations of the own engine that others call, and those by which a line names them.
_OUTER = {
    "foremost": ("topk", "kthvalue"),
    "places_of": ("bucketize", "searchsorted"),
    "argmax": ("argmax", "max"),
    "argmin": ("argmin", "min"),
    "ne": ("ne", "count_nonzero"),
}
_COMPARISONS = frozenset("eq ne gt ge lt le isclose logical_and logical_or logical_not logical_xor".split())
# What to use instead of operations that give integers.
_DIFFERENTIABLE = {
    **dict.fromkeys(
        ("argmax", "argmin"),
        "Use a differentiable loss, such as `cross_entropy` on the scores; inside a model, `softmax` of the scores.",
    ),
    **dict.fromkeys(
        ("argsort", "sort", "topk", "kthvalue", "max", "min", "median", "mode", "cummax", "cummin"),
        "Compute with the values that it sorts or selects, not with their indices.",
    ),
    **dict.fromkeys(
        _COMPARISONS,
        "Use a differentiable measure instead of the comparison, such as the difference, or `sigmoid` of it.",
    ),
    "multinomial": "Use the log-probability of the sample, or `gumbel_softmax`.",
    "one_hot": "Use the probabilities themselves, such as `softmax` of the scores.",
}


def instead(cut: Cut) -> str:
    """Return what to do about a cut."""
    if cut.word in _MODES and cut.source and (update := _UPDATE.match(cut.source.text)):
        name, sign, change = update.groups()
        return (
            f"Update in place: `{name} {sign}= {change}`. The assignment makes a new tensor that doesn't require grad, "
            f"and calls it `{name}`."
        )
    if not is_dtype(cut.word):
        return _INSTEAD.get(cut.word, f"Remove the {cut_words(cut)}.")
    written = _written(cut)
    if written in _CONVERSIONS or cut.operation in ("to", "_to_copy", "to_copy", "type"):
        return f"Leave out {cut_words(cut)}."
    return _DIFFERENTIABLE.get(written, f"Compute with the input of {cut_words(cut)} instead.")


def _written(cut: Cut) -> str:
    """Return the operation by the name that its line has: `long` of `x.long()`, which is a `to`."""
    text = "" if cut.source is None else cut.source.text
    if re.search(rf"\b{re.escape(cut.operation)}\(", text):
        return cut.operation
    if outer := _OUTER.get(cut.operation):
        return next((each for each in outer if re.search(rf"\b{each}\(", text)), outer[0])
    found = {each for each in re.findall(r"\.(\w+)\(\)", text) if each in _CONVERSIONS}
    return found.pop() if cut.operation in ("to", "_to_copy", "to_copy", "type") and len(found) == 1 else cut.operation


def switched_off() -> str:
    """Return what switched gradients off for a result without a node: the user's `no_grad`, or a library's function."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    within = True  # of a library
    while frame is not None:
        name = frame.f_code.co_name
        within = within and not is_users(frame.f_code.co_filename)
        for part, function, word in _SWITCHES:
            if name == function and (within or word == _RUNS):
                if part in frame.f_globals.get("__name__", "").split("."):
                    return word
        frame = frame.f_back
    return "no_grad"


class Way(NamedTuple):
    """Where the gradient of a tensor goes: to an output of a node (None: one that is not known), or to a leaf."""

    place: int | None
    output_nr: int
    is_leaf: bool


class RawCut(NamedTuple):
    """The last place that a gradient would have reached, the word for what ends its path, and the line."""

    way: Way
    word: str
    line: Line
    operation: str = ""  # whose result is of a dtype that takes no gradients
    others: tuple[int, ...] = ()  # the other places whose ways end there


class Cuts:
    """Where tensors that take no gradient, computed from one that does, were cut off."""

    def __init__(self) -> None:
        self.known: dict[int, RawCut] = {}
        self.number: RawCut | None = None  # where a number was last read of what takes a gradient, as by `item()`

    def of(self, tensor: int, base: int) -> tuple[RawCut, ...]:
        """Return the cut upstream of a tensor, or of the tensor it is a view of, if there is one."""
        cut = self.known.get(tensor) or self.known.get(base)
        return () if cut is None else (cut,)

    def note(self, word: str, given: Iterable[tuple[int, Way | None]], result: int | None, operation: str = "") -> None:
        """Note that a result is computed from what was `given`, each with where its gradient goes (None: it takes none)

        What a node gave tells more than a parameter; of two alike, the first. No `result` is a number.
        """
        given = list(given)
        news = [RawCut(way, word, None) for _, way in given if way is not None]
        olds = [self.known[tensor] for tensor, way in given if way is None and tensor in self.known]
        if operation.strip("_") in _CHOOSING and not is_dtype(word):
            olds = [cut for cut in olds if not is_dtype(cut.word)]
        mixed = operation.strip("_") in _MIXES  # a program detaches on purpose, and rarely means to compare
        cut = min([*news, *olds], key=lambda cut: (cut.way.is_leaf, mixed and cut.word in _ON_PURPOSE), default=None)
        if cut is not None:
            if cut in news:
                cut = cut._replace(line=user_line(), operation=operation)
            if len(news) + len(olds) > 1:
                ends = [each for old in (*news, *olds) for each in (old.way.place, *old.others)]
                others = dict.fromkeys([each for each in ends if each not in (None, cut.way.place)])
                cut = cut._replace(others=tuple(islice(others, _MOST_ENDS)))
            if result is None:
                self.number = cut._replace(word=word, line=user_line())
                return
            self.known[result] = cut
        if len(self.known) > _MOST:
            for old in list(islice(self.known, _MOST // 10)):
                del self.known[old]

    def forget(self, before: int, known: Iterable[int]) -> None:
        """Forget tensors with lower numbers, but for those that are `known`."""
        kept = {*known}
        self.known = {each: cut for each, cut in self.known.items() if each >= before or each in kept}
