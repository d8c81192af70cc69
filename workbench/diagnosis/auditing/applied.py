"""Watch the Functions that a program applies, and keep copies of their inputs, to audit them afterward."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from . import audit
from .report import Audit

PER_CLASS = 3  # signatures of one class that are kept
LARGEST = 1 << 22  # elements of all inputs of a call that are copied: an audit runs a Function many times
_LIBRARIES = {"torch", "workbench", "lightning", "transformers", "accelerate"}


@dataclass(frozen=True)
class Applied:
    """A call of a Function: its class, copies of the inputs, and how they're written."""

    function: type
    inputs: tuple[Any, ...]
    signature: tuple[str, ...]

    def audit(self, checks: Sequence[str] | None = None) -> Audit:
        """Audit the Function on these inputs; the title says which."""
        with redirect_stdout(io.StringIO()):  # a forward that prints would do so a hundred times
            found = audit(self.function, *self.inputs, checks=checks)
        return replace(found, title=f"{found.title}({', '.join(self.signature)})")


class AppliedFunctions:
    """The Functions that are applied while it's entered, each once per kind of inputs; `watch` adds an engine.

    Functions of libraries are left out, and so are calls for which no input requires grad, and those inside of another
    Function.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[type, tuple[str, ...]], Applied] = {}
        self.too_large: set[type] = set()
        self._undo: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._local = threading.local()

    def __enter__(self) -> AppliedFunctions:
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()

    def __iter__(self) -> Iterator[Applied]:
        return iter([*self._found.values()])

    def watch(self, engine: ModuleType) -> None:
        """Watch `apply` of this engine's Functions."""
        base: Any = engine.autograd.Function
        own = vars(base).get("apply")
        inner = base.apply.__func__

        def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._local, "inside", False):
                return inner(cls, *args, **kwargs)
            self._local.inside = True
            try:
                if not kwargs:
                    self._keep(engine, cls, args)
                return inner(cls, *args, **kwargs)
            finally:
                self._local.inside = False

        base.apply = classmethod(apply)
        self._undo.append(lambda: setattr(base, "apply", own) if own is not None else delattr(base, "apply"))

    def _keep(self, engine: ModuleType, cls: type, args: tuple[Any, ...]) -> None:
        """Keep copies of the inputs, if this is a new kind of call; an error is none of the program's."""
        if cls.__module__.partition(".")[0] in _LIBRARIES:
            return
        try:
            tensors = [each for each in args if isinstance(each, engine.Tensor)]
            if not engine.is_grad_enabled() or not any(each.requires_grad for each in tensors):
                return
            key = cls, tuple([_kind(engine, each) for each in args])
            with self._lock:
                known = len([each for each in self._found if each[0] is cls])
                if key in self._found or known >= PER_CLASS:
                    return
                if sum(each.numel() for each in tensors) > LARGEST:
                    self.too_large.add(cls)
                    return
                with engine.no_grad():
                    copies = tuple([_copy(engine, each) for each in args])
                self._found[key] = Applied(cls, copies, key[1])
        except Exception as error:
            print(f"workbench: couldn't copy the inputs of {cls.__name__}: {error}", file=sys.stderr)


def _kind(engine: ModuleType, thing: Any) -> str:
    if isinstance(thing, engine.Tensor):
        dims = ",".join(map(str, thing.shape))
        return f"{str(thing.dtype).rpartition('.')[2]}[{dims}]{'' if thing.requires_grad else ' nograd'}"
    simple = isinstance(thing, bool | int | float | str | type(None))
    return repr(thing)[:40] if simple else type(thing).__name__


def _copy(engine: ModuleType, thing: Any) -> Any:
    if isinstance(thing, engine.Tensor):
        return thing.detach().clone().requires_grad_(thing.requires_grad)
    return thing
