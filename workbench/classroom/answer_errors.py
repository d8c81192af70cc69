"""The errors that answers raise, explained to readers who haven't met them yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

NOTHING_CAME = (
    "Your code gave None instead of a number. Is a `return` missing, or is the result cut off from the graph?"
)
NOT_OF_THE_KIND = "your code returned the wrong type. Print the result and reread the question."
TRY_IT = "Call your code with your own numbers in a new cell: the traceback will point to the error."
CHECKED = "When checked for {}, "


@dataclass(frozen=True)
class Raised:
    """The error that an answer raised instead of returning a result.

    `line` is the answer's own line that raised it: empty without its text, None if it was raised afterward.
    """

    kind: str
    text: str
    line: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" if self.text else self.kind

    def describe(self, aspect: str) -> str:
        """Explain what happened while this aspect of the answer was checked, where, and what it means."""
        if self.kind == Unusable.__name__:
            return _ended(f"{CHECKED.format(aspect)}{self.text}")
        if self.line is None and self.kind in _PYTHONS:  # about a line that the reader has not written
            return self._from_outside(aspect)
        said = _ended(f"{CHECKED.format(aspect)}your code raised {self}")
        if self.line is None and self.kind in _ENGINES:
            said = _ended(f"{CHECKED.format(aspect)}the engine raised an error: {self.text}")
        if self.line:
            said += f" It came from your line `{self.line}`."
        return f"{said} {self._meaning()}"

    def _from_outside(self, aspect: str) -> str:
        if re.search(_CALLED_OTHERWISE, self.text):
            return _ended(f"{CHECKED.format(aspect)}your code can't be called as described: {self.text}")
        return NOTHING_CAME if "NoneType" in self.text else f"{CHECKED.format(aspect)}{NOT_OF_THE_KIND}"

    def _meaning(self) -> str:
        return next((meaning for pattern, meaning in _MEANINGS if re.search(pattern, str(self))), TRY_IT)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence.rstrip('.')}."


def is_result(found: Any) -> bool:
    """Return False for an error that the answer's own code didn't raise: it shows nothing about the answer.

    Otherwise a probe that fails for the solution, too, would accept every answer.
    """
    return not isinstance(found, Raised) or (found.line is not None and found.kind != Unusable.__name__)


class Unusable(Exception):
    """The error that a probe raises if it can't use an answer's result.

    The text says why, as a sentence without its full stop.
    """


_PYTHONS = {"TypeError", "AttributeError", "IndexError", "KeyError", "ValueError", "AssertionError"}
_ENGINES = {"RuntimeError", "NotImplementedError"}
_CALLED_OTHERWISE = r"(missing \d+ required|takes .*argument|unexpected keyword)"
# What the error messages of Python and of the engine mean, for readers who haven't met them yet.
_MEANINGS = (
    ("context manager", "`with` needs a context manager. Are parentheses missing after its name?"),
    ("the workbench (has not|doesn't implement)", "Write it with the operations that exist here."),
    (r"bitwise_xor|type\(s\) for \^", "Write a power with **; ^ is a different operation."),
    ("object is not callable", "That line calls something that isn't a function. Print its type."),
    ("use_reentrant=True", "The older kind of checkpoint can't be checked here. Pass use_reentrant=False."),
    (
        "'(method|function|builtin_function_or_method)'",
        "Did you forget to call something? Check for missing parentheses.",
    ),
    (
        "step must be greater than zero",
        "A tensor can't be sliced backwards: x.flip(0) turns its first dimension around.",
    ),
    ("NoneType", "Something is None there. Print what that line reads. (A function without a return gives None too.)"),
    (f"^TypeError: .*{_CALLED_OTHERWISE}", "A call on that line has too few or too many arguments."),
    ("^(NameError|UnboundLocalError)", "That name has no value there. Is it mistyped, or is an import missing?"),
    ("values to unpack", "The number of names before the = doesn't match the number of values after it."),
    ("'tuple'", "You got a tuple. Take the value out, even if there's only one: `(g,) = ...`."),
    ("^AttributeError: attribute .* not writable", "That attribute can be read but not set."),
    ("^AttributeError", "It has no attribute of that name. Look for a typo, or print its type."),
    ("^TypeError", "A value on that line has the wrong type. Print its type."),
    ("^ZeroDivisionError", "Your code divides by 0 there. Which numbers came in?"),
    ("^KeyError", "A dict doesn't have that key, or no longer has it. Print its keys before that line."),
    ("^IndexError", "That index or dimension doesn't exist. Print the length or the shape."),
    ("One of the differentiated", "A tensor that required a gradient no longer does. Which line changed that?"),
    ("does not require grad", "That result has no history. Look for detach, no_grad, item() or a constant before it."),
    ("a second time", "The first backward freed that graph's saved tensors. Where does your code build the graph?"),
    ("leaf Variable .* in-place", "Your code changes a leaf in place while the engine records."),
    ("only for scalar outputs", "backward() starts from one number, but this tensor has several."),
    ("by an inplace operation", "A tensor saved for backward was changed in place before backward read it."),
    (
        "incorrect number of gradients",
        "backward must return one value per forward argument. (A list counts as one value.)",
    ),
    ("invalid gradient", "A gradient must have the shape of its input."),
    ("expected Variable or None", "A gradient or tangent must be a tensor or None."),
    ("cannot be converted to Scalar", "item() and float() need a single number, but there are several."),
    ("^RuntimeError: Boolean value", "`if`, max() and the like need a single boolean, but there are several."),
    ("must match|shapes", "Two shapes don't match. Print both."),
    ("forward gradient that has a different size", "A tangent must have the shape of its tensor."),
    ("its forward grad to be floating", "A tangent must be a tensor of floating-point numbers. Is a return missing?"),
    ("invalid number of forward gradients", "jvp must return one tangent per output of forward."),
    ("Expected primals to be a tuple", "jvp takes its inputs as a tuple, and the directions too, even if there's one."),
    (r"to return a scalar Tensor", "grad needs a function that returns one number, but this one returns several."),
    ("Got in_dim=", "vmap maps over a dimension of each argument, but one of them has none left. Which one?"),
)
