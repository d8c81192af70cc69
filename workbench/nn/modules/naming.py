"""Names of modules within the module that calls them, and names of classes in error messages."""

from __future__ import annotations

import functools
from typing import Any

from ...autograd.tensor import Tensor
from ...compat.absent import names


@functools.cache
def _places() -> dict[str, str]:
    """Return where PyTorch defines what is in another file here: a message names a class with its place."""
    files = {
        place: found for place, found in names().items() if place.startswith(("torch.nn.modules.", "torch.optim."))
    }
    return {name: f"{place}.{name}" for place, found in files.items() for name in found}


def typename(thing: Any) -> str:
    """Return the name of an argument's type for a message: a tensor's dtype, or a class with its module."""
    if isinstance(thing, Tensor):
        return str(thing.type())
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    name = kind.__qualname__ if kind is thing else kind.__name__
    where = getattr(kind, "__module__", None)
    if where in (None, "builtins"):
        return name
    ours = __name__.partition(".")[0]
    if not where.startswith(f"{ours}."):
        return f"{where}.{name}"
    return _places().get(name, f"torch.{where.removeprefix(ours)[1:]}.{name}")


changes = 0  # how often any module came to hold other modules


def changed() -> None:
    """Note that a module's modules changed, so that all cached names are out of date."""
    global changes
    changes += 1


NOTHING: tuple[int, int, dict[int, str]] = (-1, -1, {})


def _names_in(caller: Any) -> dict[int, str]:
    """Return the names of the modules in a module, by identity: a class may define another equality."""
    found: dict[int, str] = {}
    todo = [("", caller)]
    while todo:
        path, part = todo.pop()
        if part is not None and id(part) not in found:
            found[id(part)] = path
            todo += [(f"{path}/{name}" if path else name, each) for name, each in part._modules.items()][::-1]
    del found[id(caller)]
    return found


def name_within(caller: Any, module: Any) -> str:
    """Return the name of a called module: its path in the module that calls it, such as "layers/0", or its class.

    Names are cached at the first call until the modules of any module change. A copy of a module copies the cache,
    which isn't about the copy: that's why the cache is by identity.
    """
    if caller is not None:
        when, of, names = caller.__dict__.get("_names_within", NOTHING)
        if when != changes or of != id(caller):
            names = _names_in(caller)
            caller.__dict__["_names_within"] = changes, id(caller), names
        name = names.get(id(module))
        if name is not None:
            return name
    return module._get_name()
