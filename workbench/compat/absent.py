"""PyTorch's public names, and the message about one that the workbench doesn't implement.

`absent.txt` lists the names of PyTorch 2.13, a section per module; reading it doesn't need PyTorch. A module that the
workbench has no file for, such as torch.nn.modules.conv, is created on request from the package's parts.
`instead.txt` lists replacements in the same sections: for several names at once, or as for a function of
torch.nn.functional.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

WORKBENCH = __name__.partition(".")[0]
NO_ATTRIBUTE = "{} has no attribute {!r}"
NOT_IMPORTED = "cannot import name {!r} from {!r}: {}"
NOT_HERE = "the workbench doesn't implement {}.{}"
INSTEAD = "{}; {}."
INSTEAD_IN_PLACE = "{}; {}, and copy_ that into the tensor."


@functools.cache
def names() -> dict[str, tuple[str, ...]]:
    """Return the public names in PyTorch's modules and of its tensors, by place."""
    return {place: tuple(listed.split()) for place, listed in _sections("absent.txt")}


@functools.cache
def instead() -> dict[str, str]:
    """Return the replacements, by the full name of what is absent."""
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
    """Return the error for a missing attribute; it says whether PyTorch has it, and what to use instead."""
    said = _message(place, name)
    return AttributeError(NO_ATTRIBUTE.format(owner, name) + (said and f": {said}"), name=name)


def _message(place: str, name: str) -> str:
    """Return the message about a name that PyTorch has at a place; "" if it has none there."""
    if name not in names().get(place, ()):
        return ""
    told = NOT_HERE.format(place, name)
    others = ("torch", "torch.nn.functional") if place in ("torch", "torch.Tensor", "torch.nn.functional") else ()
    if place.startswith(("torch.nn.modules.", "torch.optim.")):
        others = (".".join(place.split(".")[:2]),)
    for where in (place, *others):  # the same operation may be a method, and in both modules
        if f"{where}.{name}" in instead():
            return INSTEAD.format(told, instead()[f"{where}.{name}"])
        if (text := instead().get(f"{where}.{name.removesuffix('_')}", "")).startswith("write "):
            return INSTEAD_IN_PLACE.format(told, text)
    return f"{told}."


def _torch(module: str) -> str:
    """Return PyTorch's name of a module of the workbench."""
    return "torch" + module.removeprefix(WORKBENCH)


def refusing(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: it refuses absent names by a sentence, and so will `from ... import`."""
    vars(sys.modules[module]).setdefault("__path__", PATH)
    return functools.partial(part, module)


def fill(module: Any) -> None:
    """Add to a module the names that PyTorch has in it and the workbench has elsewhere in the package."""
    own, package, place = vars(module), module.__name__.rpartition(".")[0], _torch(module.__name__)
    beside = [name for name in sys.modules if "." in package and name.rpartition(".")[0] == package]
    for name in names()[place]:
        for file in [sys.modules[each] for each in (package, *beside)]:
            found = own.get(name, getattr(file, name, sys))
            if not isinstance(found, type(sys)):  # optim.adam is a module, PyTorch's optim.adam.adam is none
                own[name] = found

    present = [name for name in names()[place] if name in own and not name.startswith("_")]
    own.update(__getattr__=refusing(module.__name__), __path__=PATH, __all__=present)


def part(module: str, name: str) -> Any:
    """Return a module that PyTorch has inside another one, or raise the error for a missing attribute."""
    if f"{_torch(module)}.{name}" in names():
        from importlib import import_module

        return import_module(f"{module}.{name}")
    raise refusal(f"module {module!r}", _torch(module), name)


class AbsentModules:
    """A finder that refuses to import what only PyTorch has: `from workbench import fft`, `import workbench.sparse`.

    Python looks for a module before it reports that a name can't be imported. It asks this finder because each package
    here names `absent.txt` in its `__path__`; other imports never reach it. A plain ImportError passes through `from
    ... import`, which would hide a ModuleNotFoundError. The class has no base: loading `importlib.abc` takes a tenth of
    `import workbench`.
    """

    @classmethod
    def find_spec(cls, fullname: str, target: Any = None) -> Any:
        if fullname.split(".")[1] in MOVED:
            return ModuleSpec(fullname, Moved)  # type: ignore[arg-type]
        place, _, name = fullname.rpartition(".")
        rest = place.partition(".")[2]
        files = [entry for entry in sys.modules[place].__path__ if entry not in PATH]
        if files and (spec := PathFinder.find_spec(fullname, files, target)) is not None:
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations[:0] = PATH
            return spec
        if _torch(fullname) in names() and name not in vars(sys.modules[place]):
            return ModuleSpec(fullname, cls, is_package=True)  # type: ignore[arg-type]
        said = _message(f"torch.{rest}".rstrip("."), name)
        if said and not hasattr(sys.modules.get(place), name):
            raise ImportError(NOT_IMPORTED.format(name, place, said), name=fullname)
        return None

    @staticmethod
    def create_module(spec: Any) -> None:
        """Let Python create the module."""

    @staticmethod
    def exec_module(module: Any) -> None:
        """Fill a module that the workbench has no file for."""
        module.__doc__ = f"What PyTorch has in {_torch(module.__name__)}, as far as it is here."
        fill(module)


# The parts that were in the package itself before it had groups, and where they are now.
_PICTURES = "live_recording recording scene serialization stepper tools trace views widgets"
_DIAGNOSIS = "auditing explanation health watching"
_COMPAT = "absent settings"
MOVED = {
    name: group
    for group, names_in in (("pictures", _PICTURES), ("diagnosis", _DIAGNOSIS), ("compat", _COMPAT))
    for name in names_in.split()
}


class Moved:
    """A loader for a module's earlier name: `import workbench.stepper` gives `workbench.pictures.stepper`."""

    @staticmethod
    def create_module(spec: Any) -> Any:
        """Return the module that has another name now, with its own `__spec__` kept for `exec_module`."""
        from importlib import import_module

        package, _, name = spec.name.partition(".")
        module = import_module(f"{package}.{MOVED[name.partition('.')[0]]}.{name}")
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: Any) -> None:
        """Run nothing: the module ran under its name. Return the `__spec__` that Python replaced."""
        module.__spec__ = module.__spec__.loader_state


PATH = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "absent.txt")]  # what makes Python ask AbsentModules
sys.path_importer_cache.update(dict.fromkeys(PATH, AbsentModules))  # type: ignore[arg-type]
for _name, _module in [*sys.modules.items()]:  # the packages that were loaded before this file
    if f"{_name}.".startswith(f"{WORKBENCH}.") and PATH[0] not in getattr(_module, "__path__", PATH):
        _module.__path__[:0] = PATH


class Absent:
    """A placeholder in a class for a name that PyTorch has and the workbench doesn't."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        whose = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        raise refusal(whose, "torch.Tensor", self.name)
