"""What the reference says of a name: its signature, its docstring, and of an operation what its declaration says.

A page asks for it by `{api}`:

    ```{api} workbench.func: grad vjp
    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    ```

The block contains the example of these names. `tests/test_docs.py` runs it, and requires that every public name has
such a block and is used in an example on its page. The option `members` selects members of a class.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import bounds

# Whose names are public: what `__all__` lists, or what a module without it defines.
PLACES = (
    "workbench",
    "workbench.autograd",
    "workbench.autograd.function",
    "workbench.autograd.graph",
    "workbench.autograd.forward_ad",
    "workbench.autograd.functional",
    "workbench.func",
    "workbench.linalg",
    "workbench.distributions",
    "workbench.amp",
    "workbench.backends.cuda",
    "workbench.backends.cudnn",
    "workbench.backends.mps",
    "workbench.compiler",
    "workbench.cuda",
    "workbench.cuda.amp",
    "workbench.jit",
    "workbench.random",
    "workbench.nn",
    "workbench.nn.functional",
    "workbench.nn.init",
    "workbench.nn.utils",
    "workbench.optim",
    "workbench.optim.lr_scheduler",
    "workbench.utils.checkpoint",
    "workbench.utils.data",
    "workbench.utils.hooks",
    "workbench.pictures.stepper",
    "workbench.pictures.widgets",
    "workbench.classroom",
)
# Classes whose instances come from calls: programs don't construct them.
GIVEN = (
    "workbench.pictures.recording.Trace",
    "workbench.pictures.scene.picture.Picture",
    "workbench.diagnosis.health.findings.Findings",
    "workbench.diagnosis.health.finding.Finding",
    "workbench.diagnosis.asking.Why",
    "workbench.pictures.tools.explore.Exploration",
)
BLOCK = re.compile(r"^```\{api\} ([\w.]+):?([\w. \n]*?)\n((?::members:[^\n]*\n)?)(.*?)^```$", re.M | re.S)
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Examples?):\n((?:    .*(?:\n|\Z))+)\n?", re.M)  # of a docstring
OPERATIONS = "workbench"  # where functions are listed together with their variants


class Raw:
    """A text that appears in a signature without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@cache
def public() -> dict[str, Any]:
    """Every public name and what it names; modules are places of their own."""
    found: dict[str, Any] = {}
    for place in PLACES:
        module = import_module(place)
        own = [name for name, each in vars(module).items() if getattr(each, "__module__", "") == place]
        for name in getattr(module, "__all__", [each for each in own if not each.startswith("_")]):
            each = getattr(module, name)
            if not isinstance(each, ModuleType) and name != "annotations":
                found[f"{place}.{name}"] = each
    return found


def named(full: str) -> Any:
    """What a dotted name names: a module, or an attribute of one, or of a class."""
    head, _, last = full.rpartition(".")
    if not head or full in PLACES:
        return import_module(full)
    try:
        return getattr(named(head), last)
    except AttributeError:
        return import_module(full)


@cache
def told_with() -> dict[str, list[str]]:
    """The other names that an entry tells of, by its own: second names, and those that write in place."""
    from workbench.ops.core.registry import VARIANTS

    names, with_it = public(), {}
    for name, variants in VARIANTS.items():
        both = [name, *variants.also]
        others = [*variants.also, *(f"{each}_" for each in both)]
        with_it[f"{OPERATIONS}.{name}"] = [f"{OPERATIONS}.{each}" for each in others if f"{OPERATIONS}.{each}" in names]
    seen: dict[int, str] = {}
    for full, each in names.items():
        if not (inspect.isfunction(each) or inspect.isclass(each)):
            continue
        first = seen.setdefault(id(each), full)
        if first != full:
            with_it.setdefault(first, []).append(full)
    return with_it


def entries(head: str, rest: str) -> list[str]:
    """The full names that a block lists: one name, or several of a place."""
    return [f"{head}.{name}" for name in rest.split()] or [head]


def blocks(page: str) -> Iterator[tuple[list[str], str]]:
    """The names of each block of a page, and the example in it."""
    for head, rest, _, example in BLOCK.findall(page):
        yield entries(head, rest), example


def declared(of: Any) -> Any:
    """The operation that a function is, if it is one."""
    return getattr(of, "op", None) if inspect.isfunction(of) else None


def signature(full: str, of: Any, own: bool = False) -> str:
    """How it is called, with what each argument may be; nothing of what cannot be called."""
    if inspect.isclass(of):
        made = next((vars(each)["__init__"] for each in of.__mro__ if "__init__" in vars(each)), None)
        if not inspect.isfunction(made) or issubclass(of, BaseException):
            return ""
        of, own = made, True
    if not callable(of):
        return ""
    try:
        said = inspect.signature(of)
    except (TypeError, ValueError):
        return "()"
    given = list(said.parameters.values())
    if own and given and given[0].name in ("self", "cls"):
        given = given[1:]
    elif given and given[0].name == "self":
        given[0] = given[0].replace(name="input")  # an operation, which is a function and a method
    given = [each for each in given if each.name[0] != "_" and (each.name != "out" or not writes(full))]
    returned = said.return_annotation
    plain = said.replace(
        parameters=[bare(each) for each in given],
        return_annotation=said.empty if returned in ("None", None, said.empty) else Raw(returned),
    )
    return str(plain)


def bare(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter whose annotation has no quotes, and whose default can be read."""
    kind, default = parameter.annotation, parameter.default
    if kind is not parameter.empty:
        parameter = parameter.replace(annotation=Raw(kind if isinstance(kind, str) else inspect.formatannotation(kind)))
    if default is not parameter.empty and repr(default).startswith("<"):
        parameter = parameter.replace(default=Raw(getattr(default, "__name__", "...")))
    return parameter


def called_as(full: str, of: Any) -> Any:
    """What has the arguments of a function: of one that writes in place, the function that does not."""
    return public().get(f"{OPERATIONS}.{full.rpartition('.')[2][:-1]}", of) if writes(full) else of


def writes(full: str) -> bool:
    """Whether it is the twin of an operation that writes in place."""
    return full.endswith("_") and full.rpartition(".")[0] in (OPERATIONS, f"{OPERATIONS}.Tensor")


NUMBERS = {
    "e": "Euler's number, 2.71828....",
    "pi": "The ratio of a circle's circumference to its diameter, 3.14159....",
    "inf": "Infinity.",
    "nan": "Not a number.",
    "contiguous_format": "The memory order in which the elements of the last dimension are adjacent.",
    "channels_last": "The memory order of images `(n, c, h, w)` in which the channels of a pixel are adjacent.",
    "channels_last_3d": "The same for volumes `(n, c, d, h, w)`.",
    "preserve_format": "The memory order that a tensor already has.",
    "strided": "The layout of all tensors in this package: every element is stored.",
}


def constant(name: str, of: Any) -> str:
    """What a dtype or a number is: neither has a docstring."""
    if name in NUMBERS:
        return NUMBERS[name]
    if name != of.name:
        return f"The same as {of.name}."
    if not of.rank:
        return "Booleans, as in a mask."
    bits = f"{8 * of.itemsize} bits"
    if of.is_floating_point:
        return f"Floating point with {bits}{', the default for Python floats' * (bits == '32 bits')}."
    return (
        f"{'Unsigned i' if of.np.kind == 'u' else 'I'}ntegers with {bits}"
        f"{', the default for Python ints' * (bits == '64 bits')}."
    )


def docstring(full: str, of: Any) -> list[str]:
    """The docstring as Markdown, in which what is indented is a program as it stands."""
    text = (inspect.getdoc(of) if of is not None else "") or ""
    # Two stars are no emphasis; in a piece of code, or a program, they are themselves.
    text = re.sub(r"(`[^`]*`|^    .*$)|\*\*", lambda found: found[1] or r"\*\*", text, flags=re.M)
    text = SECTION.sub(listed, re.sub(r"::$", ":", text, flags=re.M))
    return [*re.sub(r"^(\S.*:)\n(    )", r"\1\n\n\2", text, flags=re.M).splitlines(), ""]


def listed(section: re.Match[str]) -> str:
    """Return a section of a docstring as an item of a list; arguments and errors are items of their own below it."""
    name, body = section[1], inspect.cleandoc(section[2])
    if name.startswith("Example"):
        return f"\n```pycon\n{body}\n```\n"
    if name == "Returns":
        return f"- **Returns:** {' '.join(body.split())}\n"
    body = re.sub(r"^(?! )([^:\n]*): ", r"- `\1`: ", body, flags=re.M)
    return f"- **{'Errors' if name == 'Raises' else name}:**\n" + "".join(f"  {line}\n" for line in body.splitlines())


def members(of: type) -> list[str]:
    """The public methods and properties of a class, and of those it stands on that have no entry of their own."""
    told = [each for each in public().values() if inspect.isclass(each) and each is not of]
    elsewhere = {base for each in of.__mro__ if each in told for base in each.__mro__}
    found = {}
    for base in reversed(of.__mro__):
        if base not in elsewhere and base.__module__.partition(".")[0] == "workbench":
            found.update({name: each for name, each in vars(base).items() if not name.startswith("_")})
    kinds = (property, staticmethod, classmethod)
    return [
        name for name, each in found.items() if isinstance(each, kinds) or inspect.isfunction(each) and each.__doc__
    ]


def kind_of(of: Any) -> str:
    if inspect.isclass(of):
        return "exception" if issubclass(of, BaseException) else "class"
    return "function" if callable(of) and not isinstance(of, type) and hasattr(of, "__name__") else "data"


def entry(full: str, chosen: list[str] | None) -> list[str]:
    """An entry as MyST: a directive of Sphinx's Python domain."""
    of = named(full)
    place, _, name = full.rpartition(".")
    if inspect.isclass(named(place)):
        return member(full, of)
    kind = kind_of(of)
    how = "" if full in GIVEN else signature(full, of)
    lines = [f"``````{{py:{kind}}} {full}{how}", "", *said(full, of)]
    if kind == "class":
        for each in members(of) if chosen is None else chosen:
            if inspect.getdoc(getattr(of, each, None)):
                lines += member(f"{full}.{each}", getattr(of, each))
    lines += ["``````", ""]
    for other in told_with().get(full, []):
        how = signature(other, called_as(other, named(other)))
        words = f"{name}, written into the tensor itself." if writes(other) else f"The same as {name}."
        lines += [f"``````{{py:{kind}}} {other}{how}", "", words, "``````", ""]
    return lines


def said(full: str, of: Any) -> list[str]:
    if kind_of(of) == "data":
        return [constant(full.rpartition(".")[2], of), ""]
    lines = docstring(full, of)
    if full in GIVEN or kind_of(of) == "exception":
        return lines
    text, _, stated = "\n".join(lines).partition("- **Errors:**\n")  # those that the code names come after them
    errors = [each.strip() for each in re.split(r"^  - ", stated, flags=re.M) if each.strip()]
    return [*text.splitlines(), *[""] * (not stated), *bounds.lines(full, of, declared(of), text, errors)]


def member(full: str, of: Any) -> list[str]:
    """A method or a property of a class."""
    place, _, name = full.rpartition(".")
    owner = named(place)
    static = inspect.getattr_static(owner, name)
    if isinstance(static, property):
        return [f"`````{{py:property}} {full}", "", *docstring(full, static), "`````", ""]
    if not callable(of):
        return [f"`````{{py:attribute}} {full}", "", *docstring(full, None), "`````", ""]
    own = not isinstance(static, staticmethod | classmethod)
    kind = "method" if own else "staticmethod" if isinstance(static, staticmethod) else "classmethod"
    like = called_as(full, of)
    op = declared(like)
    how = signature(full, like, own=own and op is None)
    if op is not None:
        how = how.replace("input: Tensor, ", "").replace("input: Tensor", "")
    return [f"`````{{py:{kind}}} {full}{how}", "", *docstring(full, of), "`````", ""]


def same_methods() -> list[str]:
    """The names of a tensor's methods that functions have, too."""
    import workbench

    both = [each for each in tensor_names() if f"{OPERATIONS}.{each}" in public()]
    return [each for each in both if callable(getattr(workbench.Tensor, each))]


def tensor_names() -> list[str]:
    """The public methods and attributes that tensors have here."""
    import workbench

    return [each for each in dir(workbench.ones(1)) if not each.startswith("_")]
