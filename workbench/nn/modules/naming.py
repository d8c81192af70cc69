"""What things are called: a module as the one that calls it holds it, and in sentences that refuse something."""

from __future__ import annotations

import functools
from typing import Any

from ...absent import names
from ...autograd.tensor import Tensor


@functools.cache
def _places() -> dict[str, str]:
    """Where PyTorch defines what is in another file here: a refusal says a class with its place."""
    files = {
        place: found for place, found in names().items() if place.startswith(("torch.nn.modules.", "torch.optim."))
    }
    return {name: f"{place}.{name}" for place, found in files.items() for name in found}


def typename(thing: Any) -> str:
    """What a refused thing is called: a tensor by its dtype, another by its class and where that is defined."""
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
    """Note that a module holds other modules than before, so that names under which any knew them are out of date."""
    global changes
    changes += 1


NOTHING: tuple[int, int, dict[int, str]] = (-1, -1, {})


def _names_in(caller: Any) -> dict[int, str]:
    """What a module calls those in it; told apart by identity, as a class may compare its objects otherwise."""
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
    """What a module that is called is named: as the module that calls it holds it, "layers/0", or by its class.

    Names are noted at the first call and until any module comes to hold others. A copy of a module has a copy of the
    notes, which are not about it: hence the identity in them.
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
