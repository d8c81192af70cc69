"""What the frames on an error's way say: which function of the user's the engine had called, and about which tensor.

The records name the node that was running. Often something else has raised: a hook, or a function that checkpoint runs
again. Both are told by who called whom, in this engine and in PyTorch's, whether or not anybody recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

from .. import errors
from .source import OWN, is_users, line_text

_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
_CHECKPOINT = ("utils/checkpoint.py",)
_WORDS = re.compile(r"[^\W\d][\w.]*")  # names, those of attributes too


@dataclass(frozen=True, slots=True)
class Called:
    """A function of the user's that the engine called: a hook or callback, one of a module, or one to run again."""

    kind: Literal["hook", "module", "again"]
    name: str
    line: tuple[str, int] | None = None  # where it begins


def frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames on an error's way, the outermost first, each with the line it was at."""
    found: list[tuple[FrameType, int]] = []
    way = error.__traceback__
    while way is not None:
        found.append((way.tb_frame, way.tb_lineno))
        way = way.tb_next
    return found


def called_in(error: BaseException) -> Called | None:
    """What the engine had called when it raised; None where that was a Function's method, or nothing of the user's."""
    frames = [frame for frame, _ in frames_of(error)]
    engines = [at for at, frame in enumerate(frames) if _is_engine(frame)]
    if not engines:
        return _hook_of_module(frames)
    inner = frames[engines[-1] + 1 :]
    for at, frame in enumerate(inner):
        if frame.f_code.co_filename.replace("\\", "/").endswith(_CHECKPOINT):
            function = _checkpointed(inner[at:])
            return None if function is None else _called("again", function)
        if is_users(frame.f_code.co_filename):
            if hasattr(_first_argument(frame), "next_functions"):  # the ctx of a Function's own method
                if type(error).__name__ != "CheckpointError":
                    return None
                continue
            code = frame.f_code
            return Called("hook", _name_of(getattr(code, "co_qualname", code.co_name)), _begin_of(code))
    return None


def _is_engine(frame: FrameType) -> bool:
    code = frame.f_code
    own = code.co_filename.startswith(OWN[0]) and "autograd" in code.co_filename
    return code.co_name == "_engine_run_backward" or (own and code.co_filename.endswith(("engine.py", "backward.py")))


def _hook_of_module(frames: list[FrameType]) -> Called | None:
    """The hook that a module's call ran."""
    for caller, frame in zip(frames, frames[1:], strict=False):
        code, module = frame.f_code, caller.f_locals.get("self")
        if is_users(code.co_filename) and not is_users(caller.f_code.co_filename) and hasattr(module, "__dict__"):
            hooks: list[Any] = [each for name in _HOOKS for each in vars(module).get(name, {}).values()]
            if any(code is _code_of(getattr(hook, "function", hook)) for hook in hooks):
                return Called("module", _name_of(getattr(code, "co_qualname", code.co_name)), _begin_of(code))
    return None


def _code_of(function: Any) -> Any:
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _first_argument(frame: FrameType) -> Any:
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def _checkpointed(frames: Iterable[FrameType]) -> Any:
    """The function that checkpoint runs again, as the variables of its own frames have it."""
    for frame in frames:
        told = frame.f_locals
        for holder in (told.get("frame"), getattr(told.get("self"), "region", None), told.get("self"), told.get("ctx")):
            again = getattr(holder, "recompute_fn", None)
            if again is not None:
                cells = dict(zip(again.__code__.co_freevars, again.__closure__ or (), strict=False))
                with suppress(KeyError, ValueError):
                    return cells["fn"].cell_contents
            if callable(function := getattr(holder, "function", None) or getattr(holder, "run_function", None)):
                return function
    return None


def _called(kind: Literal["again"], function: Any) -> Called:
    plain = getattr(function, "__func__", function)
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    code = getattr(plain, "__code__", None)
    if code is None:  # a module, or a function of the engine's
        return Called(kind, _name_of(getattr(function, "__qualname__", "") or type(function).__name__))
    return Called(kind, _name_of(plain.__qualname__), _begin_of(code) if is_users(code.co_filename) else None)


def _name_of(qualified: str) -> str:
    name = qualified.rpartition("<locals>.")[2]
    return name if "<lambda>" not in name else "lambda"


def _begin_of(code: Any) -> tuple[str, int]:
    return code.co_filename, code.co_firstlineno


# Which tensor an error is about.


def _is_leaf(tensor: Any) -> bool:
    return bool(tensor.requires_grad and tensor.is_leaf)


def _is_computed(tensor: Any) -> bool:
    return not tensor.is_leaf


def _requires_grad(tensor: Any) -> bool:
    return bool(tensor.requires_grad)


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Any], bool]], ...] = (
    ((errors.VIEW_OF_LEAF_IN_PLACE, *errors.VIEW_REASONS.values()), lambda tensor: bool(tensor._is_view())),
    ((errors.LEAF_IN_PLACE, errors.LEAF_DIRTY), _is_leaf),
    (
        (errors.DEEPCOPY_NON_LEAF, errors.CHANGE_NON_LEAF_FLAG, errors.POST_ACCUMULATE_LEAF_ONLY, "a non-leaf Tensor"),
        _is_computed,
    ),
    ((errors.NUMPY_REQUIRES_GRAD, "cannot resize variables", "arguments don't support automatic"), _requires_grad),
    (("nference tensor",), lambda tensor: bool(tensor.is_inference())),
    (
        (errors.HOOK_WITHOUT_GRAD, errors.RETAIN_WITHOUT_GRAD, errors.NO_GRADIENT_EDGE, "dtype can require gradients"),
        lambda tensor: not tensor.requires_grad,
    ),
)


def can_be(words: str, tensor: Any) -> bool:
    """Whether an error of these words can be about a tensor."""
    with suppress(RuntimeError):  # of a view whose history is out of date
        fits = next((fits for sentences, fits in _KINDS if any(each in words for each in sentences)), None)
        return fits is not None and fits(tensor)
    return False


def blamed(words: str, line: tuple[str, int], named: Iterable[tuple[str, Any]]) -> Any:
    """The tensor that a line names and an error of these words can be about; None where none or several can be."""
    text = line_text(*line)
    on_line = {*_WORDS.findall(text)}
    on_line |= {word.rpartition(".")[0] for word in on_line}  # the tensor of a method
    found: dict[int, Any] = {}
    for name, tensor in named:
        if name in on_line and can_be(words, tensor):
            found[id(tensor)] = tensor
    return next(iter(found.values())) if len(found) == 1 else None
