"""From a declared op to code: its function, its node class and its backwards.

An op's derivative is a text such as `grad * cos(self)`. What the text reads is what the node saves. It is compiled
twice: over plain arrays for the ordinary backward, and over tensors for create_graph=True.

The function of an op is written for that op alone: it runs the op and records its node where nothing unusual is going
on, and leaves everything else to `dispatch`; both give the same node. A dispatcher that serves all ops would double
the time of each. All code is compiled at first use, so that importing stays quick, and kept in `linecache`, so that a
traceback shows it.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...autograd.builtin_node import (
    Node1,
    Node2,
    Node3,
    NodeN,
    Unfit,
    number_as_given,
    read_array,
    read_tensor,
)
from ...autograd.node import edge_of, sequence
from ...autograd.saved_tensors import FREED, Packed
from ...autograd.state import local, off, unusual
from ...autograd.tensor import Parameter, Tensor, link_view
from ...events import emit, listeners
from .event_arguments import USUAL, told_arguments
from .registry import ARRAYS, TENSORS
from .results import into

ARRAYS |= {
    "FREED": FREED,
    **{thing.__name__: thing for thing in (Tensor, Parameter, np.ndarray, number_as_given, read_array, Unfit)},
}
TENSORS |= {"read_tensor": read_tensor, "Packed": Packed}
BACKWARDS = ("vjp", "vjp_tensors", "vjp_towards", "vjp_tensors_towards")
BASES = {1: Node1, 2: Node2, 3: Node3, -1: NodeN}


def in_order(names: Iterable[str], op: Any) -> list[str]:
    """The names of saved tensors as PyTorch saves and reads them: first arguments, then results, by name."""
    return sorted(names, key=lambda name: (name.startswith("result") or name in op.found, name))


class Reads:
    """What a formula reads: tensors (by name), shapes of tensors, other arguments; and its text with shapes renamed."""

    def __init__(self, formula: str, tensors: list[str], op: Any) -> None:
        tree = ast.parse(formula, mode="eval")
        shapes: set[str] = set()

        class Shapes(ast.NodeTransformer):
            def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
                if isinstance(node.value, ast.Name) and node.attr == "shape" and node.value.id in tensors:
                    shapes.add(node.value.id)
                    return ast.copy_location(ast.Name(f"{node.value.id}_shape", ast.Load()), node)
                return self.generic_visit(node)

        tree = Shapes().visit(tree)
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        self.text = ast.unparse(tree)
        self.tensors = in_order([t for t in (*tensors, "result") if t in names], op)
        self.shapes = sorted(shapes)
        self.arguments = [a for a in op.arguments if a in names]


def node_class(op: Any) -> type:
    """The class of an op's nodes, with a slot for each edge and each thing its formulas read."""
    saved = in_order({t for r in op.reads.values() for t in r.tensors}, op)
    shapes = sorted({s for r in op.reads.values() for s in r.shapes})
    arguments = list(dict.fromkeys(a for r in op.reads.values() for a in r.arguments))
    slots = [f"{letter}_{name}" for name in saved for letter in "sv"]
    slots += [f"z_{name}" for name in shapes] + [f"a_{name}" for name in arguments]
    slots += ["c_result"] if "result" in saved else []
    slots += ["fit"] if op.fits else []
    slots += ["outputs"] if op.several else []
    body = {
        "__slots__": tuple(slots),
        "__module__": __name__,
        "saved_names": tuple(saved),
        "shape_names": tuple(shapes),
        "argument_names": tuple(arguments),
        "keeps_result": "result" in saved,
        "multi": op.several,
        "forward_text": op.shown,
        "backward_text": op.formula_text,
        "op": op,
        **{method: _late(op, method) for method in BACKWARDS},
    }
    if saved:
        body |= {"release": _late(op, "release"), "saved_items": _late(op, "saved_items")}
    if "::" in op.node_name:
        body["name"] = lambda node: op.node_name
    arity = -1 if op.variadic else len(op.tensors)
    return type(op.node_name.rpartition("::")[2], (BASES[arity],), body)


def _late(op: Any, method: str) -> Any:
    """A method that compiles itself at its first call."""

    def first(node: Any, *given: Any) -> Any:
        text = _backward_text(op, method) if method in BACKWARDS else _saved_text(op, method)
        function = compiled(text, method, TENSORS if "tensors" in method else ARRAYS, op)
        setattr(op.node, method, function)
        return function(node, *given)

    return first


def compiled(text: str, name: str, namespace: dict[str, Any], op: Any) -> Any:
    filename = f"<workbench {op.node_name}.{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    found: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), namespace, found)
    return found[name]


def _backward_text(op: Any, method: str) -> str:
    """The backward of a node: each wanted input's formula over what was saved.

    `vjp_towards` is given the nodes that lead to what was asked for, and leaves the other inputs out. It reads all
    that was saved even so, as PyTorch does: something that was written since is an error, whoever needs it.
    """
    arrays, partly = "tensors" not in method, "towards" in method
    several = len(op.tensors) > 1
    # What several formulas read is read once, because reading may run the user's hook: None if none of them is wanted.
    # A result is read even where its formula is not wanted, because PyTorch notices then too that it was written.
    readers = {t: sum(t in reads.tensors for reads in op.reads.values()) for t in op.node.saved_names}
    all_first = partly or len(op.tensors) > 2
    shared = [t for t, count in readers.items() if count > 1 or (t == "result" and several) or all_first]
    given = "node, grad, needed" if partly else "node, grad"
    lines = [f"def {method}({given}):", *("    " + line for line in _loads(shared, arrays, op.lists))]
    for i, name in enumerate(op.tensors):
        reads = op.reads.get(name)
        if reads is None:
            lines.append(f"    g{i} = None")
            continue
        indent = "    "
        if several or (partly and not op.variadic):
            wanted = f"node.p{i} in needed" if partly else f"node.p{i} is not None"
            lines += [f"    g{i} = None", f"    if {wanted}:"]
            indent = "        "
        loads = _loads([t for t in reads.tensors if t not in shared], arrays, op.lists)
        loads += [f"{s}_shape = node.z_{s}" for s in reads.shapes] + [f"{a} = node.a_{a}" for a in reads.arguments]
        lines += [indent + line for line in (*loads, f"g{i} = {reads.text}")]
    gs = ", ".join(f"g{i}" for i in range(len(op.tensors)))
    if op.fits:
        fitted = gs if several else gs + ","
        lines.append("    if node.fit is not None:")
        lines.append(f"        {fitted} = fit_{'arrays' if arrays else 'tensors'}(node.fit, {gs})")
    unpacked = [f"type(node.s_{t}) is Packed" for t in op.node.saved_names if t not in op.lists]
    if unpacked and not arrays:
        lines += [f"    if {' or '.join(unpacked)}:", f"        return fit_unpacked(node, grad, {gs})"]
    lines.append(f"    return {gs}")
    if arrays and op.node.saved_names:
        body = ["    " + line for line in lines[1:]]
        lines = [lines[0], "    try:", *body, "    except Unfit:", f"        return refit({given})"]
    return "\n".join(lines) + "\n"


def _saved_text(op: Any, method: str) -> str:
    """Tell what is saved, or let it go."""
    lines = [f"def {method}(node):", *(["    items = []"] if method == "saved_items" else [])]
    for name in op.node.saved_names:
        lines += [f"    if node.s_{name} is not None and node.s_{name} is not FREED:"]
        free, tell = f"node.s_{name} = FREED", f"items.append(({name!r}, node.s_{name}, node.v_{name}))"
        if op.numbers is not None and name in op.tensors:
            tell = f"items.append(({name!r}, *number_as_given(node.s_{name}, node.v_{name})))"
        if name in op.lists:
            each = f"({name!r} + f'[{{i}}]', t, v) for i, (t, v) in enumerate(zip(node.s_{name}, node.v_{name}))"
            tell = f"items += [{each} if t is not None]"
        lines += [f"        {free if method == 'release' else tell}"]
    return "\n".join([*lines, f"    return {method == 'release' or 'items'}"]) + "\n"


def _loads(tensors: list[str], arrays: bool, lists: list[str]) -> list[str]:
    lines = []
    for t in tensors:
        if not arrays or t in lists:
            lines.append(f"{t} = read_{'array' if arrays else 'tensor'}(node, {t!r})")
        elif t == "result":
            lines += [
                "result, counter = node.s_result, node.c_result",
                "if type(result) is not ndarray or (counter is not None and counter.version != node.v_result):",
                "    result = read_array(node, 'result')",
            ]
        else:
            current = f"({t}._storage is None or {t}._storage.version == node.v_{t})"
            lines += [
                f"{t} = node.s_{t}",
                f"if type({t}) is Tensor and {current}:",
                f"    {t} = {t}._array",
                f"elif type({t}) is not ndarray:",
                f"    {t} = {t}._array if type({t}) is Parameter and {current} else read_array(node, {t!r})",
            ]
    return lines


_THINGS = Tensor, Parameter, np.ndarray, np.asarray, emit, edge_of, link_view, told_arguments
NAMES: dict[str, Any] = {
    "__name__": __name__,
    "local": local,
    "off": off,
    "unusual": unusual,
    "listeners": listeners,
    "sequence": sequence,
    **{thing.__name__: thing for thing in _THINGS},
    "into": into,
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
}


def op_function(op: Any, dispatch: Any, takes_out: bool = False) -> Any:
    """The op's function: a stub that compiles its code at the first call and becomes it.

    Only what a user calls by the function's name takes `out`: calls of what may take it are slower.
    """
    namespace = dict(NAMES, OP=op, forward=op.forward, dispatch=dispatch)

    def first(*args: Any, **kwargs: Any) -> Any:
        namespace["NODE"], namespace["NUMBERS"] = op.node, op.numbers
        built = compiled(_text(op, takes_out), op.name, namespace, op)
        # PyTorch's functions call `input` what its formulas, and so ours, call `self`
        names = tuple(["input" if name == "self" else name for name in built.__code__.co_varnames])
        for each in copies:
            each.__kwdefaults__ = built.__kwdefaults__
            each.__defaults__ = built.__defaults__  # first: the code needs them, and another thread may be calling
            each.__code__ = built.__code__.replace(co_varnames=names, co_qualname=each.__qualname__)
        return function(*args, **kwargs)

    namespace["first"] = first
    function = types.FunctionType(_stub.__code__, namespace, op.name)
    function.__qualname__, function.__doc__ = op.name, op.doc
    copies = namespace["copies"] = [function]
    return function


def under_name(function: Any, name: str, owner: str = "") -> Any:
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
        function.__globals__["copies"].append(other)
    return other


def _stub(*args: Any, **kwargs: Any) -> Any:
    return first(*args, **kwargs)  # noqa: F821  the name is in the namespace the function is made with


def _text(op: Any, takes_out: bool) -> str:
    """The function's source: `a0`, `a1` are the operands' arrays, `rg0`, `rg1` whether they require grad."""
    refuse = f"return dispatch(OP, ({op.names},))"
    if not op.simple:
        return _function(op, takes_out, _wide(op, refuse))
    first, second = (*op.tensors, None)[:2]
    out = [f"if unusual or {_odd(first)}:", f"    {refuse}", *_check_kept(op, refuse)]
    out += [f"a0 = {first}._array", f"rg0 = {first}._rg"]
    if second is not None:
        out += _second_operand(op, first, second, refuse)
    unmeasured = "a0.dtype is not f64 and a0.dtype is not f32" if op.meets or op.prepare is not None else "False"
    if not op.formulas:
        return _function(op, takes_out, out + [f"if {unmeasured}:", f"    {refuse}"] + _result(op, refuse) + UNRECORDED)
    # Views remember how they were made, and one may not know yet that its base requires grad since it was written.
    odd = f"{first}._meta is not None" + (f" or (a1 is not saved and {second}._meta is not None)" if second else "")
    wanted = "(rg0 or rg1)" if second else "rg0"
    late = f"{first}._meta is not None and {first}.requires_grad" if op.kind == "view" else odd
    out += [f"if not {wanted} and ({late} or {unmeasured}):", f"    {refuse}"]
    out += [f"if not {wanted} or (off and not local.modes.grad):"]
    unrecorded = _result(op, refuse) + UNRECORDED
    if op.kind == "view":
        kind = "'no_grad' if off and not local.modes.grad else 'default'"
        unrecorded[-1:] = [f"link_view(t, {first}, {kind})", "return t"]
    out += _indented(unrecorded)
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
        said = f"told_arguments(OP, {said})"
    out += ["if listeners:", f"    emit(('created', node, {said}, (t,)))", "return t"]
    return _function(op, takes_out, out)


def _wide(op: Any, refuse: str) -> list[str]:
    """The body for an op with lists of tensors, several outputs, more than two operands or some that may be None."""
    out = ["if unusual:", f"    {refuse}", *_check_kept(op, refuse)]
    refuse = f"    {refuse}"
    # A view need not know yet that its base requires grad since somebody wrote into it.
    late = "{0}._meta is not None and {0}.requires_grad"
    if op.variadic:
        arrays, wanted = "arrays", ["wanted"]
        out += ["arrays, wanted = [], False", f"for t in {op.tensors[0]}:", f"    if {_odd('t')}:", f"    {refuse}"]
        out += ["    if t._rg:", "        wanted = True", f"    elif {late.format('t')}:", f"    {refuse}"]
        out += ["    arrays.append(t._array)"]
    else:
        wanted = [f"rg{i}" for i in range(len(op.tensors))]
        for i, name in enumerate(op.tensors):
            out += [f"if {name} is None:", f"    a{i}, rg{i} = None, False", "else:"] if name in op.optional else []
            load = [f"if {_odd(name)}:", refuse, f"a{i}, rg{i} = {name}._array, {name}._rg"]
            load += [f"if not rg{i} and {late.format(name)}:", refuse]
            out += _indented(load) if name in op.optional else load
    if op.meets:
        kinds = [f"a0.dtype is not a{i}.dtype" for i in range(1, len(op.tensors))]
        out += [f"if {' or '.join([*kinds, '(a0.dtype is not f64 and a0.dtype is not f32)'])}:", refuse]
    elif op.prepare is not None:
        out += ["if a0.dtype is not f64 and a0.dtype is not f32:", refuse]
    given = [f"a{op.tensors.index(name)}" if name in op.tensors else name for name in op.order]
    for i, name in enumerate(op.order):
        if name in op.lists:
            given[i] = f"tuple([None if t is None else t._array for t in {name}])"
        elif name in op.kept:
            given[i] = f"None if {name} is None else {name}._array" if name in op.optional else f"{name}._array"
        elif op.variadic and name == op.tensors[0]:
            given[i] = arrays
    out += [f"recorded = ({' or '.join(wanted)}) and not (off and not local.modes.grad)"]
    if not op.variadic:  # what some forwards write must not be written twice
        out += ["if recorded and a0.dtype is not f64 and a0.dtype is not f32:", refuse]
    results = ", ".join(["r", *(f"r_{name}" for name in op.extras)])
    out += ["try:", f"    {results} = forward({', '.join(given)})", "except ValueError:", refuse]
    birth = ["t = Tensor()", "t._array = r", "t._rg = recorded", "t._fn = t._storage = t._meta = None"]
    if op.several:
        out += ["outs, nr, kind = [], 0, 'no_grad' if off and not local.modes.grad else 'multi_output'", "for r in r:"]
        out += _indented(
            [
                *birth,
                "t._nr = nr if recorded else 0",
                f"link_view(t, {op.tensors[0]}, kind)",
                "outs.append(t)",
                "nr += 1",
            ]
        )
        out += ["outs = tuple(outs)", "if not outs:", refuse]
    else:
        out += ["if type(r) is not ndarray:", "    r = asarray(r)", *birth, "t._nr = 0"]
    result = "outs" if op.several else "t"
    out += ["if not recorded:", f"    return {result}"] if op.formulas else [f"return {result}"]
    if not op.formulas:
        return out
    for name in op.extras:
        out += [f"{name} = Tensor()", f"{name}._array = asarray(r_{name})", f"{name}._rg = False", f"{name}._nr = 0"]
        out += [f"{name}._fn = {name}._storage = {name}._meta = None"]
    out += ["node = NODE()", "node.extra = None", "node.seq = next(sequence)  # before the edges, as PyTorch does"]
    if op.variadic:
        edges = "(edge_of(t) if t._fn is None else t._fn, t._nr) if t._rg else (None, 0)"
        out += [f"node.parents = tuple([{edges} for t in {op.tensors[0]}])"]
    else:
        for i, name in enumerate(op.tensors):
            out += _edge(f"rg{i}", i, name if name in op.reads else None)
    for name in op.node.saved_names:
        out += _save_wide(op, name)
    out += [f"node.z_{name} = {name}._array.shape" for name in op.node.shape_names]
    out += [f"node.a_{name} = {name}" for name in op.node.argument_names]
    if op.fits:
        arrays = [f"a{i}" for i in range(len(op.tensors))]
        shapes = [*arrays[1:], *(f"{name}._array" for name in op.kept if name not in op.lists)]
        same = [f"a0.shape == {each}.shape" for each in shapes] + [f"{each}.dtype is r.dtype" for each in arrays]
        if op.lists:
            same.append(
                " and ".join([f"all([t is None or t._array.shape == a0.shape for t in {n}])" for n in op.lists])
            )
        fit = ", ".join([f"({each}.shape, {each}.dtype) if rg{i} else None" for i, each in enumerate(arrays)])
        out += [f"node.fit = None if {' and '.join(same)} else ({fit},)"]
    if op.several:
        out += ["node.outputs = len(outs)", "for t in outs:", "    t._meta.view_fn = node"]
    else:
        out += ["t._fn = node"]
    said = f"told_arguments(OP, ({', '.join(op.said)},))"
    return out + [
        "if listeners:",
        f"    emit(('created', node, {said}, {'outs' if op.several else '(t,)'}))",
        f"return {result}",
    ]


def _check_kept(op: Any, refuse: str) -> list[str]:
    """Leave the call to dispatch where what has no edge is neither None nor a plain tensor."""
    out: list[str] = []
    for name in op.kept:
        given = name if name in op.lists else f"({name},)"
        out += [f"for kept in {given}:", f"    if {_odd('kept', True)}:", f"        {refuse}"]
    return out


def _odd(name: str, optional: bool = False) -> str:
    """Whether a compiled function leaves an argument to dispatch: what is no plain tensor."""
    return (
        f"type({name}) is not Tensor and type({name}) is not Parameter{f' and {name} is not None' if optional else ''}"
    )


def _save_wide(op: Any, name: str) -> list[str]:
    """What the formulas read of `name`, if one that reads it is wanted; what leads nowhere is not, as in PyTorch."""
    if name == "result":
        return ["node.s_result = r", "node.c_result = None", "node.v_result = 0"]
    version = "0 if {0} is None or {0}._storage is None else {0}._storage.version"
    save = [f"node.s_{name} = {name}", f"node.v_{name} = {version.format(name)}"]
    if name in op.lists:
        save = [f"node.s_{name} = tuple({name})"]
        save += [f"node.v_{name} = tuple([{version.format('t')} for t in {name}])"]
    readers = [i for i, t in enumerate(op.tensors) if t in op.reads and name in op.reads[t].tensors]
    if len(readers) != 1 or op.variadic:
        return save
    wanted = f"node.p{readers[0]} is not None" if len(op.reads) > 1 else f"rg{readers[0]}"
    return [f"if {wanted}:", *_indented(save), "else:", f"    node.s_{name} = None"]


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
        return [f"if {_odd(second)}:", f"    {refuse}", *tensor]
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
    if op.meets and len(op.tensors) > 1:  # shapes that do not broadcast: dispatch says so
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
