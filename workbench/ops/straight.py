"""The straight path: each op's function, written for that op alone.

It runs the op and records its node where nothing unusual is going on; everything else goes through the door, and both
give the same node. A dispatcher that serves all ops would double the time of each.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..autograd.node import edge_of, sequence
from ..autograd.state import local, off, unusual
from ..autograd.tensor import Parameter, Tensor, link_view
from ..events import emit, listeners
from .compile import compiled
from .out import into
from .telling import USUAL, told

NAMES: dict[str, Any] = {
    "__name__": __name__,
    "local": local,
    "off": off,
    "unusual": unusual,
    "listeners": listeners,
    "sequence": sequence,
    **{thing.__name__: thing for thing in (Tensor, Parameter, np.ndarray, np.asarray, emit, edge_of, link_view, told)},
    "into": into,
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
}


def straight(op: Any, door: Any, takes_out: bool = False) -> Any:
    """The op's function: a stub that compiles the straight path at its first call and becomes it.

    Only what a user calls by the function's name takes `out`: calls of what may take it are slower.
    """
    namespace = dict(NAMES, OP=op, forward=op.forward, door=door)

    def first(*args: Any, **kwargs: Any) -> Any:
        namespace["NODE"], namespace["NUMBERS"] = op.node, op.numbers
        built = compiled(_text(op, takes_out), op.name, namespace, op)
        # PyTorch's functions call `input` what its formulas, and so ours, call `self`
        names = tuple(["input" if name == "self" else name for name in built.__code__.co_varnames])
        for face in faces:
            face.__kwdefaults__ = built.__kwdefaults__
            face.__defaults__ = built.__defaults__  # first: the code needs them, and another thread may be calling
            face.__code__ = built.__code__.replace(co_varnames=names, co_qualname=face.__qualname__)
        return function(*args, **kwargs)

    namespace["first"] = first
    function = types.FunctionType(_stub.__code__, namespace, op.name)
    function.__qualname__, function.__doc__ = op.name, op.doc
    faces = namespace["faces"] = [function]
    return function


def face(function: Any, name: str, owner: str = "") -> Any:
    """The same function under another name, as a method or an alias: it says that name where it refuses arguments."""
    qualname = f"{owner}.{name}" if owner else name
    if owner and hasattr(function, "op"):
        function = function.op.function  # without out
    code = function.__code__.replace(co_qualname=qualname)
    other = types.FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    other.__kwdefaults__, other.__doc__, other.__qualname__ = function.__kwdefaults__, function.__doc__, qualname
    other.__annotations__, other.__module__ = function.__annotations__, function.__module__
    other.__dict__.update(function.__dict__)
    if hasattr(function, "op") and function.__globals__.get("OP") is function.op:
        function.__globals__["faces"].append(other)
    return other


def _stub(*args: Any, **kwargs: Any) -> Any:
    return first(*args, **kwargs)  # noqa: F821  the name is in the namespace the function is made with


def _text(op: Any, takes_out: bool) -> str:
    """The function's source: `a0`, `a1` are the operands' arrays, `rg0`, `rg1` whether they require grad."""
    refuse = f"return door(OP, ({op.names},))"
    if not op.simple:
        return _function(op, takes_out, [refuse])
    first, second = (*op.tensors, None)[:2]
    out = [f"if unusual or type({first}) is not Tensor and type({first}) is not Parameter:", f"    {refuse}"]
    for name in op.kept:
        given = name if name in op.lists else f"({name},)"
        odd = "type(kept) is not Tensor and kept is not None and type(kept) is not Parameter"
        out += [f"for kept in {given}:", f"    if {odd}:", f"        {refuse}"]
    out += [f"a0 = {first}._array", f"rg0 = {first}._rg"]
    if second is not None:
        out += _second_operand(op, first, second, refuse)
    unmeasured = "a0.dtype is not f64 and a0.dtype is not f32" if op.meets or op.prepare is not None else "False"
    if not op.formulas:
        return _function(op, takes_out, out + [f"if {unmeasured}:", f"    {refuse}"] + _result(op, refuse) + UNRECORDED)
    # Views remember how they were made, and one may not know yet that its base requires grad since it was written.
    odd = f"{first}._meta is not None" + (f" or (a1 is not saved and {second}._meta is not None)" if second else "")
    wanted = "(rg0 or rg1)" if second else "rg0"
    out += [f"if not {wanted} and ({odd} or {unmeasured}):", f"    {refuse}"]
    out += [f"if not {wanted} or (off and not local.modes.grad):"]
    out += _indented([refuse] if op.kind == "view" else _result(op, refuse) + UNRECORDED)
    out += ["node = NODE()", *_result(op, refuse)]
    out += ["t._rg = True", "t._fn = node", "node.extra = None"]
    out += ["node.seq = next(sequence)  # before the edges, as PyTorch does: a view's may only now be made anew"]
    for i, name in enumerate(op.tensors):
        out += _edge(f"rg{i}" if second else None, i, name if name in op.reads else None)
    for name in op.node.saved_names:
        out += _save(op, name, first, second)
    out += [f"node.z_{name} = a{op.tensors.index(name)}.shape" for name in op.node.shape_names]
    out += [f"node.a_{name} = {name}" for name in op.node.argument_names]
    if op.fits and second is None:
        out += ["node.fit = None"]
    elif op.fits:
        number = "a1 is saved or " if op.numbers is not None else ""
        fit = ", ".join(f"(a{i}.shape, a{i}.dtype) if rg{i} else None" for i in (0, 1))
        out += [f"node.fit = None if {number}a0.shape == a1.shape else ({fit})"]
    if op.kind == "view":
        out += ["t._fn = None", f"link_view(t, {first})", "t._meta.view_fn = node"]
    said = f"({', '.join(op.said)},)"
    if {*op.said} & {*USUAL}:
        said = f"told(OP, {said})"
    out += ["if listeners:", f"    emit(('created', node, {said}, (t,)))", "return t"]
    return _function(op, takes_out, out)


def _function(op: Any, takes_out: bool, body: list[str]) -> str:
    parameters = op.parameters
    if takes_out:
        parameters += ", *, out=None"
        body = ["if out is not None:", f"    return into(OP.name, out, OP.function, {op.names})", *body]
    return "\n".join([f"def {op.name}({parameters}):", *_indented(body)]) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _second_operand(op: Any, first: str, second: str, refuse: str) -> list[str]:
    """`a1` and `rg1`, and what would be saved: the tensor, or a number's array."""
    other = f"({first} if rg1 else {second})"
    # A view need not know yet that its base requires grad since somebody wrote into it.
    differ = f"a0.dtype is not a1.dtype or (rg0 is not rg1 and {other}._meta is not None and {other}.requires_grad)"
    tensor = [f"a1 = {second}._array", f"rg1 = {second}._rg", f"saved = {second}", f"if {differ}:", f"    {refuse}"]
    if op.numbers is None:
        return [f"if type({second}) is not Tensor and type({second}) is not Parameter:", f"    {refuse}", *tensor]
    number = ["a1 = saved = NUMBERS.get(other)", "if a1 is None:", "    a1 = saved = NUMBERS.add(other)", "rg1 = False"]
    return [
        f"if type({second}) is Tensor:",
        *_indented(tensor),
        f"elif a0.dtype is f64 and (type({second}) is float or type({second}) is int):",
        *_indented([line.replace("other", second) for line in number]),
        f"elif type({second}) is Parameter:",
        *_indented(tensor),
        "else:",
        f"    {refuse}",
    ]


UNRECORDED = ["t._rg = False", "t._fn = None", "return t"]


def _result(op: Any, refuse: str) -> list[str]:
    """Run the op; `t` is its result, but for its place in the graph."""
    given = [f"a{op.tensors.index(name)}" if name in op.tensors else name for name in op.order]
    for i, name in enumerate(op.order):
        if name in op.lists:
            given[i] = f"tuple([None if kept is None else kept._array for kept in {name}])"
        elif name in op.kept:
            given[i] = f"{name}._array"
    run = [f"r = forward({', '.join(given)})"]
    if op.meets and len(op.tensors) > 1:  # shapes that do not broadcast: the door says so
        run = ["try:", *_indented(run), "except ValueError:", f"    {refuse}"]
    run += ["if type(r) is not ndarray:", "    r = asarray(r)"]
    return run + ["t = Tensor()", "t._array = r", "t._nr = 0", "t._storage = None", "t._meta = None"]


def _edge(wanted: str | None, i: int, name: str | None) -> list[str]:
    """The edge to operand `i`, if it is differentiable at all (`name`) and wanted now (a flag; None: always)."""
    if name is None:
        return [f"node.p{i} = None", f"node.n{i} = 0"]
    edge = [f"p = {name}._fn", f"node.p{i} = edge_of({name}) if p is None else p", f"node.n{i} = {name}._nr"]
    if wanted is None:
        return edge
    return [f"if {wanted}:", *_indented(edge), "else:", f"    node.p{i} = None", f"    node.n{i} = 0"]


def _save(op: Any, name: str, first: str, second: str | None) -> list[str]:
    """What the formulas read of `name`, if one that reads it is wanted."""
    if name == "result":
        return ["node.s_result = r", "node.c_result = None", "node.v_result = 0"]
    if name in op.lists:
        versions = "0 if kept is None or kept._storage is None else kept._storage.version"
        return [f"node.s_{name} = {name}", f"node.v_{name} = tuple([{versions} for kept in {name}])"]
    version = f"0 if {name}._storage is None else {name}._storage.version"
    if name == second and op.numbers is not None:
        version = f"{name} if a1 is saved else {version}"
    save = [f"node.s_{name} = {'saved' if name == second else name}", f"node.v_{name} = {version}"]
    readers = [i for i, t in enumerate(op.tensors) if t in op.reads and name in op.reads[t].tensors]
    if len(readers) == len(op.tensors):
        return save
    return [f"if rg{readers[0]}:", *_indented(save), "else:", f"    node.s_{name} = None"]
