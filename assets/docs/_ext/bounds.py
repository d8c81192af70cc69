"""Describe the shapes, dtypes and errors of a reference entry.

A function of tensors is called with one tensor of each dtype, with shapes that don't fit, and with something that isn't
a tensor. The entry lists what it returns and what it rejects. Errors that a function, or the constructor of a class,
raises itself are read from its code, with their messages.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

NONE = "none of its own."
NO_TENSOR = "`TypeError` for an argument that isn't a tensor."
SAYS_SHAPE = re.compile(
    r"\b(shapes?|sizes?|dimensions?|matri(x|ces)|vectors?|labels?|bytes)\b|\([nbm], |\(\d|\(batch|broadcast"
)
# Of what the arguments are called, what they say of the result's shape.
BY_ARGUMENT = {
    "keepdim": "`()`, or the input's without the dimensions in `dim`; with `keepdim` these have size 1.",
    "reduction": "`()`, or that of the elements with `reduction='none'`.",
    "error_if_nonfinite": "`()`.",
    "steps": "`(steps,)`.",
    "n": "`(n,)`.",
    **dict.fromkeys(("data", "obj", "ndarray"), "that of the argument."),
    **dict.fromkeys(("min", "values", "shifts", "dims", "src"), "that of the input."),
    "size": "the requested one, as ints or as a tuple.",
}
BY_PLACE = {
    "workbench.nn.init": "unchanged.",
    "workbench.optim": "a parameter, its gradient and its optimizer state have the same shape.",
}
PYTHON = ("bool", "int", "float", "str", "None", "bytes")
TENSOR = object()
TRIED = ((2, 2), (2,), (1, 2, 2), ())


def returned(of: Any) -> str:
    with suppress(TypeError, ValueError):
        said = inspect.signature(of).return_annotation
        return "" if said is inspect.Signature.empty else str(said)
    return ""


# Shapes and dtypes.


def result(outcome: Any) -> Any:
    return result(outcome[0]) if isinstance(outcome, tuple | list) and outcome else outcome


def asked(of: Any, op: Any) -> list[Any]:
    """What a call needs: TENSOR for each tensor, and dimensions; an empty list where it needs something else."""
    if op is not None:
        needed = [(name, "Tensor" if name in op.tensors + op.kept else "int") for name in op.caller_args]
        needed *= not op.variadic
    else:
        given = [each for each in inspect.signature(of).parameters.values() if each.default is each.empty]
        needed = [(each.name, each.annotation) for each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
    call = [
        0 if name == "dim" else (0,) if name == "dims" else TENSOR if kind in ("Tensor", "Any") else None
        for name, kind in needed
    ]
    tensor = bool(needed) and (needed[0][1] == "Tensor" or needed[0][0] in ("input", "self"))
    return call if tensor and None not in call else []


def tried(of: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the error that it ends in."""
    try:
        return result(of(*given))
    except Exception as error:
        return error


class Tried:
    """What a function of tensors did in some calls: with each dtype, with unlike shapes, with no tensor."""

    def __init__(self, of: Callable[..., Any], call: list[Any]) -> None:
        import workbench
        from workbench.autograd import dtypes

        def called(shapes: Sequence[tuple[int, ...]], kind: Any) -> Any:
            left = iter(shapes)
            return tried(of, *[workbench.ones(next(left), dtype=kind) if each is TENSOR else each for each in call])

        several = call.count(TENSOR)
        alike = [(shape,) * several for shape in TRIED]
        shapes = alike + [(one, *[other] * (several - 1)) for one in TRIED for other in TRIED] * (several > 1)
        state = workbench.get_rng_state()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = (
                each
                for kind in (dtypes.float32, dtypes.int64)
                for each in shapes
                if not isinstance(called(each, kind), Exception)
            )
            self.shapes = next(fits, ())
            if self.shapes:
                self.by_dtype: dict[str, Any] = {each.name: called(self.shapes, each) for each in dtypes.ALL}
                unlike = [(*shape[:-1], 3 + place) for place, shape in enumerate(self.shapes)]
                self.unlike = called(unlike, dtypes.float32) if several > 1 and all(self.shapes) else None
                known = next(each for each in dtypes.ALL[::-1] if not isinstance(self.by_dtype[each.name], Exception))
                pairs = [((3, 1), (1, 2), (3, 2)), ((3,), (1,), (3,))] * (several == 2)
                given = [getattr(called(pair, known), "shape", None) == whole for *pair, whole in pairs]
                self.broadcasts = bool(given) and all(given)
                # Where one tensor has indices or a mask, tensors of one dtype tell of none.
                self.unlike_kinds = (
                    several > 1 and not self.broadcasts and known not in (dtypes.float64, dtypes.complex128)
                )
                self.no_tensor = tried(of, *["text" if each is TENSOR else each for each in call])
        workbench.set_rng_state(state)

    def dtypes_said(self) -> str:
        """What each dtype becomes."""
        from workbench import Tensor

        became: dict[str, list[str]] = {}
        for name, outcome in self.by_dtype.items():
            if isinstance(outcome, Tensor):
                became.setdefault(str(outcome.dtype).removeprefix("torch."), []).append(name)
        if not became:
            return ""
        if all(names == [kind] for kind, names in became.items()):
            whole = len(became) == len(self.by_dtype)
            return f"{'all' if whole else ', '.join(became)}; the result has the input's."
        if len(became) == 1:
            ((kind, names),) = became.items()
            return f"{'all' if len(names) == len(self.by_dtype) else ', '.join(names)}; the result has {kind}."
        return (
            "; ".join(f"{', '.join(names)} give{'s' * (len(names) == 1)} {kind}" for kind, names in became.items())
            + "."
        )

    def shape_said(self) -> str:
        """The shape of the result, where it is the operands'."""
        if len(self.shapes) > 1:
            return "that of the broadcast operands." if self.broadcasts else ""
        outcome = next((each for each in self.by_dtype.values() if not isinstance(each, Exception)), None)
        return "that of the input." if self.shapes[0] and getattr(outcome, "shape", None) == self.shapes[0] else ""

    def refusals(self) -> Iterator[str]:
        refused: dict[tuple[str, str], list[str]] = {}
        for name, outcome in self.by_dtype.items():
            if isinstance(outcome, Exception):
                refused.setdefault((type(outcome).__name__, without(outcome, name)), []).append(name)
        for (kind, said), names in refused.items():
            yield f"`{kind}` for {', '.join(names)}: {said}"
        if isinstance(self.unlike, Exception):
            yield f"`{type(self.unlike).__name__}` for shapes that don't fit: {first_line(self.unlike)}"
        if isinstance(self.no_tensor, Exception):
            yield NO_TENSOR.replace("TypeError", type(self.no_tensor).__name__)


def first_line(error: Exception) -> str:
    return quoted(str(error).partition("\n")[0])


def without(error: Exception, dtype: str) -> str:
    """Return the message without the dtype it names, so that dtypes rejected alike share an entry."""
    from workbench.autograd import dtypes

    word = dtypes.named(dtype).word
    return quoted(re.sub(rf"\b({word}|{dtype})\b", "…", str(error).partition("\n")[0]))


def quoted(sentence: str) -> str:
    """A sentence as code, in which nothing is markup."""
    return "`" + sentence.replace("`", "'").strip() + "`"


# Errors that are raised by name.


@cache
def code_of(of: Any) -> ast.FunctionDef | None:
    with suppress(OSError, TypeError, SyntaxError, IndentationError):
        made = ast.parse(textwrap.dedent(inspect.getsource(of))).body[0]
        return made if isinstance(made, ast.FunctionDef) else None
    return None


def raised(of: Any, depth: int = 2) -> dict[str, None]:
    """The errors that the code of a function raises, or that of a helper of its own which it calls, in their order."""
    of = inspect.unwrap(of)
    found: dict[str, None] = {}
    code, names = code_of(of), getattr(of, "__globals__", {})
    for node in ast.walk(code) if code is not None else ():
        if isinstance(node, ast.Raise) and node.exc is not None:
            found.update(dict.fromkeys(filter(None, [error_said(node.exc, names)])))
        elif isinstance(node, ast.Call) and depth and isinstance(node.func, ast.Name):
            helper = names.get(node.func.id)
            private = re.match("_[a-z]|check_", node.func.id) is not None
            if private and inspect.isfunction(helper) and helper.__module__.startswith("workbench"):
                found.update(raised(helper, depth - 1))
    return found


def error_said(exc: ast.expr, names: dict[str, Any]) -> str:
    """What is raised: the name of the error, and its sentence with a … where something is filled in."""
    call = exc if isinstance(exc, ast.Call) else None
    name = exc.func if call is not None else exc
    if not isinstance(name, ast.Name):
        return ""
    kind = names.get(name.id, getattr(builtins, name.id, None))
    if not (inspect.isclass(kind) and issubclass(kind, Exception)):
        return ""
    said = sentence(call.args[0], names) if call is not None and call.args else ""
    return f"`{name.id}`: {quoted(said)}" if re.search("[a-z]", said) else f"`{name.id}`"


def sentence(text: ast.expr, names: dict[str, Any]) -> str:
    if isinstance(text, ast.JoinedStr):
        return "".join([sentence(each, names) if isinstance(each, ast.Constant) else "…" for each in text.values])
    if isinstance(text, ast.BinOp):
        return sentence(text.left, names) + sentence(text.right, names)
    if isinstance(text, ast.Constant):
        return str(text.value)
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == "format":
        return re.sub(r"\{[^}]*\}", "…", sentence(text.func.value, names))
    if isinstance(text, ast.Attribute) and isinstance(text.value, ast.Name):
        return str(getattr(names.get(text.value.id), text.attr, "…"))
    if isinstance(text, ast.Name) and isinstance(names.get(text.id), str):
        return names[text.id]
    return "…"


# What an entry says.


def lines(full: str, of: Any, op: Any, says: str, stated: list[str]) -> list[str]:
    """Return the lines on shapes, dtypes and errors: those that the docstring states, and those found here.

    `says` is the text of the entry so far.
    """
    made = inspect.isclass(of)
    call = [] if made or not callable(of) else asked(of, op)
    found = Tried(of, call) if call else None
    if found is not None and (not found.shapes or found.unlike_kinds):
        found = None
    errors = [*found.refusals()] if found else [NO_TENSOR] * (op is not None)
    errors = stated + errors
    known = " ".join(errors)
    errors += [each for each in raised_by(of) if each.partition(": ")[2] not in known or ": " not in each]
    said = [f"- **Shape:** {shape}" for shape in [shape_of(full, of, op, found, says)] if shape]
    said += [f"- **Dtypes:** {dtypes}" for dtypes in [found.dtypes_said() if found else ""] if dtypes]
    if len(errors) == 1 or not errors:
        said += [f"- **Errors:** {errors[0] if errors else NONE}"]
    else:
        said += ["- **Errors:**", *(f"  - {each}" for each in errors)]
    return [*said, ""]


def raised_by(of: Any) -> dict[str, None]:
    if inspect.isclass(of):
        own = [
            name for name in ("__new__", "__init__", "forward", "step") if inspect.isfunction(getattr(of, name, None))
        ]
        return {said: None for name in own for said in raised(getattr(of, name))}
    return raised(of) if inspect.isfunction(of) else {}


def shape_of(full: str, of: Any, op: Any, found: Tried | None, says: str) -> str:
    """What is to be said of the result's shape, where the entry says nothing yet."""
    if SAYS_SHAPE.search(says) or not callable(of) or inspect.isclass(of):
        return ""
    back = returned(of).strip("'\"")
    if op is None and back in PYTHON:
        return "none: nothing is returned." if back == "None" else f"none: a Python {back} is returned."
    names = set() if op is not None else {*inspect.signature(of).parameters}
    by_argument = next((text for name, text in BY_ARGUMENT.items() if name in names and "Tensor" in back), "")
    if full.endswith("_") and "error_if_nonfinite" not in names:
        return "unchanged."
    by_place = next((text for place, text in BY_PLACE.items() if full.startswith(place + ".")), "")
    return (found.shape_said() if found else "") or by_argument or by_place
