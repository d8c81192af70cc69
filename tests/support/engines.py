"""The engines of "Build the engine", as a notebook beside them imports them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from lab import CHECKOUT

from workbench.bridges import own_engine
from workbench.pictures.trace.names import stands_for


def engine(stage: int) -> ModuleType:
    """The engine after a sitting, anew."""
    name = f"engine_{stage}"
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / "notebooks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@contextmanager
def driven(stage: int = 4) -> Iterator[Any]:
    """An engine that drives the pictures meanwhile, and that `import` finds."""
    made = engine(stage)
    before = sys.modules.get(made.__name__)
    sys.modules[made.__name__] = made
    try:
        own_engine.drive(made)
        yield made
    finally:
        if before is None:
            del sys.modules[made.__name__]
        else:
            sys.modules[made.__name__] = before
        own_engine.drivers.pop(made.Tensor, None)
        stands_for.pop(made.Tensor, None)
