"""Read from an error's frames which user function the engine had called, and which tensor the error is about.

The records name the node that was running. Often something else raised the error: a hook, or a function that checkpoint
runs again. The frames identify both, in this engine and in PyTorch's, with or without a recording.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from types import FrameType
from typing import Any

from ... import errors
from .facts import Called
from .listing import begin_of, listing
from .source import OWN, is_users, line_text, lines_of, source, tree_of
from .variables import local_variables, variable

_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
_CHECKPOINT = ("utils/checkpoint.py",)
# Where autograd's own Python code is, in either engine, without the tensors' own methods.
_AUTOGRAD = re.compile(
    r"(autograd/(?!tensor\.py|dtypes\.py)|/func/|_functorch/|utils/(checkpoint|hooks)\.py)[^/]*(\.py)?$"
)
_WORDS = re.compile(r"[^\W\d][\w.]*")  # names, those of attributes too


def frames_of(error: BaseException) -> list[tuple[FrameType, tuple[str, int]]]:
    """Return the frames that an error went through, the outermost first, each with its line."""
    found: list[tuple[FrameType, tuple[str, int]]] = []
    way = error.__traceback__
    while way is not None:
        told = listing(way.tb_frame.f_code, [frame for frame, _ in reversed(found)])
        found.append((way.tb_frame, told.at(way.tb_lineno)))
        way = way.tb_next
    return found


def users_frames(error: BaseException) -> list[tuple[FrameType, tuple[str, int]]]:
    """Return those of the frames that run the user's code, each with the line it was at."""
    return [each for each in frames_of(error) if is_users(each[0].f_code.co_filename)]


def called_in(error: BaseException) -> Called | None:
    """Return what the engine had called when it raised; None for a Function's method, or if it called no user code."""
    frames = [frame for frame, _ in frames_of(error)]
    if not frames:
        return None
    engines = [at for at, frame in enumerate(frames) if _is_engine(frame)]
    if engines:
        found = _in_backward(frames[engines[-1] + 1 :], error)
    else:
        found = _hook_of_module(frames) or _pack_hook(frames_of(error))
    inner = next((each for each in reversed(frames) if not _is_library(each)), frames[-1])
    return found or _refused(inner, error, bool(engines))


def _in_backward(inner: list[FrameType], error: BaseException) -> Called | None:
    for at, frame in enumerate(inner):
        if frame.f_code.co_filename.replace("\\", "/").endswith(_CHECKPOINT):
            function = _checkpointed(inner[at:])
            return None if function is None else _called("again", function)
        if is_users(frame.f_code.co_filename):
            if hasattr(_first_argument(frame), "next_functions"):  # the ctx of a Function's own method
                if type(error).__name__ != "CheckpointError":
                    return None
                continue
            return _function_of("hook", frame)
    return None


def _function_of(kind: str, frame: FrameType) -> Called:
    code = frame.f_code
    return Called(kind, _name_of(getattr(code, "co_qualname", code.co_name)), source(begin_of(code)))


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not is_users(file) and not _AUTOGRAD.search(file)


def _file_of(frame: FrameType) -> str:
    return frame.f_code.co_filename.replace("\\", "/")


def _is_engine(frame: FrameType) -> bool:
    code = frame.f_code
    own = code.co_filename.startswith(OWN[0]) and "autograd" in code.co_filename
    return code.co_name == "_engine_run_backward" or (
        own and code.co_filename.endswith(("engine.py", "plain_backward.py"))
    )


def _hook_of_module(frames: list[FrameType]) -> Called | None:
    """Return the hook that a module's call ran."""
    for caller, frame in pairwise(frames):
        code, module = frame.f_code, dict(local_variables(caller)).get("self")
        if is_users(code.co_filename) and not is_users(caller.f_code.co_filename) and hasattr(module, "__dict__"):
            hooks: list[Any] = [each for name in _HOOKS for each in vars(module).get(name, {}).values()]
            if any(code is _code_of(getattr(hook, "function", hook)) for hook in hooks):
                return _function_of("module", frame)
    return None


def _pack_hook(frames: list[tuple[FrameType, tuple[str, int]]]) -> Called | None:
    """Return the pack hook that an operation called with what it saves.

    The own engine's frame is between the two. PyTorch leaves none: there the block around the operation names it.
    """
    caller, passed = None, False
    for frame, line in frames:
        if not is_users(frame.f_code.co_filename):
            passed |= _file_of(frame).endswith("/autograd/saved_tensors.py") and "hooks" in dict(local_variables(frame))
            continue
        if passed or (caller is not None and frame.f_code in _packing_at(*caller)):
            return _function_of("pack", frame)
        caller = frame, line
    return None


def _packing_at(frame: FrameType, line: tuple[str, int]) -> Iterable[Any]:
    """Yield the code of each pack hook that a `with saved_tensors_hooks(...)` around a line names or defines."""
    file, number = line
    tree = tree_of(file) if any("saved_tensors_hooks" in text for text in lines_of(file)) else None
    for block in ast.walk(tree) if tree is not None else ():
        if isinstance(block, ast.With) and block.lineno <= number <= (block.end_lineno or 0):
            for call in [item.context_expr for item in block.items]:
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("saved_tensors_hooks"):
                    yield from _codes_of(call.args[:1], frame)


def _codes_of(arguments: list[ast.expr], frame: FrameType) -> Iterable[Any]:
    for each in arguments:
        if isinstance(each, ast.Name):
            yield _code_of(variable(frame, each.id))
        elif isinstance(each, ast.Lambda):
            codes = [one for one in frame.f_code.co_consts if getattr(one, "co_name", "") == "<lambda>"]
            yield from [one for one in codes if begin_of(one)[1] == each.lineno]


def _refused(frame: FrameType, error: BaseException, backward: bool) -> Called | None:
    """Return which of autograd's own Python code raised an error; the message may be Python's, or the user's."""
    file, name = _file_of(frame), frame.f_code.co_name
    if file.endswith("/autograd/function.py") and isinstance(error, TypeError) and name != "__call__":
        return Called("backward's arguments" if backward else "forward's arguments")
    if file.endswith("/autograd/graph.py") and name in ("__enter__", "disable_saved_tensors_hooks"):
        return Called("no hooks")
    if backward:
        hook = file.endswith("/utils/hooks.py") and isinstance(error, TypeError)
        return Called("hook's result") if hook else None
    return Called("refused") if _AUTOGRAD.search(file) and not is_users(frame.f_code.co_filename) else None


def _code_of(function: Any) -> Any:
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _first_argument(frame: FrameType) -> Any:
    code = frame.f_code
    return dict(local_variables(frame)).get(code.co_varnames[0]) if code.co_argcount else None


def _checkpointed(frames: Iterable[FrameType]) -> Any:
    """Return the function that checkpoint runs again, as its own frames' variables hold it."""
    for frame in frames:
        told = dict(local_variables(frame))
        for holder in (told.get("frame"), getattr(told.get("self"), "region", None), told.get("self"), told.get("ctx")):
            again = getattr(holder, "recompute_fn", None)
            if again is not None:
                cells = dict(zip(again.__code__.co_freevars, again.__closure__ or (), strict=False))
                with suppress(KeyError, ValueError):
                    return cells["fn"].cell_contents
            if callable(function := getattr(holder, "function", None) or getattr(holder, "run_function", None)):
                return function
    return None


def _called(kind: str, function: Any) -> Called:
    plain = getattr(function, "__func__", function)
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    code = getattr(plain, "__code__", None)
    if code is None:  # a module, or a function of the engine's
        return Called(kind, _name_of(getattr(function, "__qualname__", "") or type(function).__name__))
    begins = source(begin_of(code)) if is_users(code.co_filename) else None
    return Called(kind, _name_of(plain.__qualname__), begins)


def _name_of(qualified: str) -> str:
    name = qualified.rpartition("<locals>.")[2]
    return name if "<lambda>" not in name else "lambda"


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
    (("Variable data has to be", "data set to a tensor", "attempting to assign a gradient"), _requires_grad),
    (("nference tensor",), lambda tensor: bool(tensor.is_inference())),
    (
        (errors.HOOK_WITHOUT_GRAD, errors.RETAIN_WITHOUT_GRAD, errors.NO_GRADIENT_EDGE, "dtype can require gradients"),
        lambda tensor: not tensor.requires_grad,
    ),
)


def can_be(words: str, tensor: Any) -> bool:
    """Return True if an error with this message can be about a tensor."""
    with suppress(RuntimeError):  # of a view whose history is out of date
        fits = next((fits for sentences, fits in _KINDS if any(each in words for each in sentences)), None)
        return fits is not None and fits(tensor)
    return False


def blamed(words: str, line: tuple[str, int], named: Iterable[tuple[str, Any]]) -> Any:
    """Return the tensor that a line names and that an error message can be about; None unless there is exactly one."""
    text = line_text(*line)
    on_line = {*_WORDS.findall(text)}
    on_line |= {word.rpartition(".")[0] for word in on_line}  # the tensor of a method
    found: dict[int, Any] = {}
    for name, tensor in named:
        if name in on_line and can_be(words, tensor):
            found[id(tensor)] = tensor
    return next(iter(found.values())) if len(found) == 1 else None
