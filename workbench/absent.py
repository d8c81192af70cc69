"""PyTorch's public names, and what to say of one that the workbench does not have.

`absent.txt` lists the names of PyTorch 2.13, a section for each module; nothing of PyTorch is needed to read it.
`instead.txt` says what there is instead, in the same sections: for several names at once, or as for a function of
torch.nn.functional.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

NO_ATTRIBUTE = "{} has no attribute {!r}"
NOT_IMPORTED = "cannot import name {!r} from {!r}: {}"
NOT_HERE = "PyTorch has {}.{}, the workbench has not"
INSTEAD = "{}; {}."
INSTEAD_IN_PLACE = "{}; {}, and copy_ that into the tensor."


@functools.cache
def names() -> dict[str, tuple[str, ...]]:
    """The public names of PyTorch's modules and of its tensors, by where they are."""
    return {place: tuple(listed.split()) for place, listed in _sections("absent.txt")}


@functools.cache
def instead() -> dict[str, str]:
    """What there is instead, by the full name of what is absent."""
    found = {}
    for place, listed in _sections("instead.txt"):
        for several, _, text in [line.partition(": ") for line in listed.split("\n") if line]:
            found.update({f"{place}.{name}": text for name in several.split()})
    return {name: found.get(text.replace("as ", "torch.nn.functional.", 1), text) for name, text in found.items()}


def _sections(file: str) -> list[tuple[str, str]]:
    # Not by pathlib, which would take longer to load than all names: this is a part of `import workbench`.
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as opened:
        text = opened.read().strip().removeprefix("[")
    return [(place, listed) for place, _, listed in [section.partition("]\n") for section in text.split("\n[")]]


def refusal(owner: str, place: str, name: str) -> AttributeError:
    """The error for an attribute that is not there; it says so where PyTorch has it, and what there is instead."""
    said = _said(place, name)
    return AttributeError(NO_ATTRIBUTE.format(owner, name) + (said and f": {said}"), name=name)


def _said(place: str, name: str) -> str:
    """The sentence about a name that PyTorch has at a place; nothing if it has not."""
    if name not in names().get(place, ()):
        return ""
    told = NOT_HERE.format(place, name)
    others = ("torch", "torch.nn.functional") if place in ("torch", "torch.Tensor", "torch.nn.functional") else ()
    for where in (place, *others):  # the same operation may be a method, and in both modules
        if f"{where}.{name}" in instead():
            return INSTEAD.format(told, instead()[f"{where}.{name}"])
        if (text := instead().get(f"{where}.{name.removesuffix('_')}", "")).startswith("write "):
            return INSTEAD_IN_PLACE.format(told, text)
    return f"{told}."


class AbsentModules:
    """Refuses the import of what only PyTorch has: `from workbench import optim`, `import workbench.linalg`.

    Python asks for a module before it says that a name cannot be imported, and it asks this finder after all others,
    so it is never asked for a module that exists. A plain ImportError passes through `from ... import`, which would
    hide a ModuleNotFoundError. It has no base class: to load `importlib.abc` takes a tenth of
    `import workbench`.
    """

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> None:
        place, _, name = fullname.rpartition(".")
        package, _, rest = place.partition(".")
        said = _said(f"torch.{rest}".rstrip("."), name) if package == __package__ else ""
        if said and not hasattr(sys.modules.get(place), name):
            raise ImportError(NOT_IMPORTED.format(name, place, said), name=fullname)


if AbsentModules not in sys.meta_path:
    sys.meta_path.append(AbsentModules)


class Absent:
    """A place in a class for a name that PyTorch has and the workbench has not."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        whose = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        raise refusal(whose, "torch.Tensor", self.name)
