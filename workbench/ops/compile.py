"""From a declared op to code: its straight path, its node class and its two backwards.

An op's derivative is a text such as `grad * cos(self)`. What the text reads is what the node saves. It is compiled
twice: over plain arrays for the ordinary backward, and over tensors for create_graph=True. All of it is compiled at
first use, so that importing stays quick, and kept in `linecache`, so that a traceback shows it.
"""

from __future__ import annotations

import ast
import linecache
import types
from typing import Any

import numpy as np

from ..autograd import state
from ..autograd.node import edge_of, sequence
from ..autograd.opnode import Node1, Node2, Node3, NodeN, read_array, read_tensor
from ..autograd.tensor import Tensor, link_view, meta_of
from ..events import listeners

# `__name__` is what a NumPy warning is filed under: the package's filter knows it
ARRAYS: dict[str, Any] = {
    "__name__": __name__,
    "Tensor": Tensor,
    "ndarray": np.ndarray,
    "read_array": read_array,
}
TENSORS: dict[str, Any] = {"__name__": __name__, "read_tensor": read_tensor}
STRAIGHT: dict[str, Any] = {
    "__name__": __name__,
    "S": state,
    "local": state.local,
    "off": state.off,
    "listeners": listeners,
    "Tensor": Tensor,
    "ndarray": np.ndarray,
    "asarray": np.asarray,
    "sequence": sequence,
    "edge_of": edge_of,
    "link_view": link_view,
    "meta_of": meta_of,
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
}
BASES = {1: Node1, 2: Node2, 3: Node3, -1: NodeN}


class Reads:
    """What a formula reads: tensors (by name), shapes of tensors, other arguments; and its text with shapes renamed."""

    def __init__(self, formula: str, tensors: list[str], arguments: list[str]) -> None:
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
        self.tensors = [t for t in (*tensors, "result") if t in names]  # in the order of the signature
        self.shapes = sorted(shapes)
        self.arguments = [a for a in arguments if a in names]


def node_class(op: Any) -> type:
    """The class of an op's nodes, with a slot for each edge and each thing its formulas read."""
    saved = sorted({t for r in op.reads.values() for t in r.tensors}, key=lambda t: (t == "result", t))
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
        "backward_text": "\n".join(f"{name}: {text}" for name, text in op.formulas.items()),
        "op": op,
        "vjp": _late(op, "vjp"),
        "vjp_tensors": _late(op, "vjp_tensors"),
    }
    if "::" in op.node_name:
        body["name"] = lambda node: op.node_name
    arity = -1 if op.variadic else len(op.tensors)
    return type(op.node_name.rpartition("::")[2], (BASES[arity],), body)


def _late(op: Any, method: str) -> Any:
    """A method that compiles itself at its first call."""

    def first(node: Any, grad: Any) -> Any:
        if method not in op.compiled:
            op.compiled.add(method)
            setattr(op.node, method, _compile(_backward_text(op, method), method, ARRAYS_OR_TENSORS[method], op))
        return getattr(node, method)(grad)

    return first


ARRAYS_OR_TENSORS = {"vjp": ARRAYS, "vjp_tensors": TENSORS}


def _compile(text: str, name: str, namespace: dict[str, Any], op: Any) -> Any:
    filename = f"<workbench {op.node_name}.{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    found: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), namespace, found)
    return found[name]


def _backward_text(op: Any, method: str) -> str:
    """The backward of a node: each wanted input's formula over what was saved."""
    arrays = method == "vjp"
    several = len(op.tensors) > 1
    # What several formulas read is read once, because reading may run the user's hook: None if none of them is wanted.
    shared = [t for t in op.node.saved_names if sum(t in reads.tensors for reads in op.reads.values()) > 1]
    lines = [f"def {method}(node, grad):", *("    " + line for line in _loads(shared, arrays))]
    for i, name in enumerate(op.tensors):
        reads = op.reads.get(name)
        if reads is None:
            lines.append(f"    g{i} = None")
            continue
        indent = "    "
        if several:
            lines += [f"    g{i} = None", f"    if node.p{i} is not None:"]
            indent = "        "
        loads = _loads([t for t in reads.tensors if t not in shared], arrays)
        loads += [f"{s}_shape = node.z_{s}" for s in reads.shapes] + [f"{a} = node.a_{a}" for a in reads.arguments]
        lines += [indent + line for line in (*loads, f"g{i} = {reads.text}")]
    if op.variadic:
        lines.append("    return g0")
        return "\n".join(lines) + "\n"
    gs = ", ".join(f"g{i}" for i in range(len(op.tensors)))
    if op.fits:
        fitted = gs if several else gs + ","
        lines.append("    if node.fit is not None:")
        lines.append(f"        {fitted} = fit_{'arrays' if arrays else 'tensors'}(node.fit, {gs})")
    lines.append(f"    return {gs}")
    return "\n".join(lines) + "\n"


def _loads(tensors: list[str], arrays: bool) -> list[str]:
    lines = []
    for t in tensors:
        if not arrays:
            lines.append(f"{t} = read_tensor(node, {t!r})")
        elif t == "result":
            lines += [
                "result, counter = node.s_result, node.c_result",
                "if type(result) is not ndarray or (counter is not None and counter.version != node.v_result):",
                "    result = read_array(node, 'result')",
            ]
        else:
            lines += [
                f"{t} = node.s_{t}",
                f"if type({t}) is Tensor and ({t}._storage is None or {t}._storage.version == node.v_{t}):",
                f"    {t} = {t}._array",
                f"elif type({t}) is not ndarray:",
                f"    {t} = read_array(node, {t!r})",
            ]
    return lines


def straight(op: Any, door: Any) -> Any:
    """The op's function: a stub that compiles the straight path at its first call and becomes it."""
    namespace = dict(STRAIGHT, OP=op, forward=op.forward, door=door, NUMBERS=op.numbers)

    def first(*args: Any, **kwargs: Any) -> Any:
        namespace["NODE"] = op.node
        built = _compile(_forward_text(op), op.name, namespace, op)
        function.__code__, function.__defaults__ = built.__code__, built.__defaults__
        return function(*args, **kwargs)

    namespace["first"] = first
    function = types.FunctionType(_stub.__code__, namespace, op.name)
    function.__qualname__, function.__doc__ = op.name, op.doc
    return function


def _stub(*args: Any, **kwargs: Any) -> Any:
    return first(*args, **kwargs)  # noqa: F821  the name is in the namespace the function is made with


def _forward_text(op: Any) -> str:
    """The straight path: run, and record if wanted; anything unusual goes through the door."""
    refuse = f"return door(OP, ({op.names},))"
    if not op.simple:
        return f"def {op.name}({op.parameters}):\n    {refuse}\n"
    first, *rest = op.tensors
    inexact = op.meets or op.prepare is not None
    out = [f"def {op.name}({op.parameters}):"]
    out += [f"    if S.unusual or listeners or type({first}) is not Tensor:", f"        {refuse}"]
    out += [f"    a0 = {first}._array", f"    rg = {first}._rg"]
    call = ["a0"]
    if rest:
        (second,) = rest
        call.append("a1")
        # A view need not know yet that its base requires grad since somebody wrote into it.
        other = f"({first} if rg1 else {second})"
        unaware = f"rg is not rg1 and {other}._meta is not None and {other}.requires_grad"
        if op.numbers is not None:
            out += [f"    if type({second}) is Tensor:"]
            out += [f"        a1 = {second}._array", f"        rg1 = {second}._rg"]
            out += [
                f"        if a0.dtype is not a1.dtype or {unaware}:",
                f"            {refuse}",
                f"        saved = {second}",
            ]
            out += [f"    elif a0.dtype is f64 and (type({second}) is float or type({second}) is int):"]
            out += [f"        a1 = saved = NUMBERS.get({second})", "        if a1 is None:"]
            out += [f"            a1 = saved = NUMBERS.add({second})", "        rg1 = False"]
            out += ["    else:", f"        {refuse}"]
        else:
            out += [f"    if type({second}) is not Tensor or a0.dtype is not {second}._array.dtype:"]
            out += [f"        {refuse}", f"    a1 = {second}._array", f"    rg1 = {second}._rg"]
            out += [f"    if {unaware}:", f"        {refuse}", f"    saved = {second}"]
    run = [f"    r = forward({', '.join(call + op.arguments)})"]
    if op.meets and rest:  # shapes that do not broadcast: the door says so
        run = ["    try:", "    " + run[0], "    except ValueError:", f"        {refuse}"]
    born = [
        *run,
        "    if type(r) is not ndarray:",
        "        r = asarray(r)",
        "    t = Tensor()",
        "    t._array = r",
        "    t._nr = 0",
        "    t._storage = None",
        "    t._meta = None",
    ]
    plain = ["    t._rg = False", "    t._fn = None", "    return t"]
    unmeasured = "a0.dtype is not f64 and a0.dtype is not f32"
    if not op.formulas:
        check = [f"    if {unmeasured}:", f"        {refuse}"] if inexact else []
        return "\n".join(out + check + born + plain) + "\n"
    wanted = "rg" if not rest else "(rg or rg1)"
    out += [f"    if not {wanted} or (off and not local.modes.grad):"]
    odd = f"{first}._meta is not None" + (f" or (a1 is not saved and {rest[0]}._meta is not None)" if rest else "")
    if inexact:
        odd += f" or ({unmeasured})"
    if op.kind == "view":
        odd = "True"
    out += [f"        if {odd}:", f"            {refuse}"]
    out += ["        node = None", "    else:", "        node = NODE()", *born]
    out += ["    if node is None:"] + ["    " + line for line in plain]
    out += ["    t._rg = True", "    t._fn = node", "    node.seq = next(sequence)", "    node.extra = None"]
    for i, name in enumerate(op.tensors):
        if name not in op.reads:
            out += [f"    node.p{i} = None", f"    node.n{i} = 0"]
            continue
        test = "" if not rest else (" if rg else None" if i == 0 else " if rg1 else None")
        tensor = name
        out += [f"    p = {tensor}._fn" + (" if rg1 else None" if i else "")]
        guard = "p is None" + ("" if not rest else (" and rg" if i == 0 else " and rg1"))
        out += [f"    if {guard}:", f"        p = edge_of({tensor})"]
        out += [
            f"    node.p{i} = p",
            f"    node.n{i} = " + (f"{tensor}._nr{'' if not test else ' if p is not None else 0'}"),
        ]
    for s in op.node.saved_names:
        if s == "result":
            out += ["    node.s_result = r", "    node.c_result = None", "    node.v_result = 0"]
            continue
        value, array = (s, "a0") if s == first else ("saved", "a1")
        readers = [i for i, name in enumerate(op.tensors) if name in op.reads and s in op.reads[name].tensors]
        flags = " or ".join(("rg", "rg1")[i] for i in readers)
        always = len(op.tensors) == 1 or len(readers) == 2
        version = f"0 if {s}._storage is None else {s}._storage.version"
        if s != first and op.numbers is not None:
            version = f"0 if {array} is saved or {s}._storage is None else {s}._storage.version"
        indent = "    "
        if not always:
            out += [f"    if {flags}:"]
            indent = "        "
        out += [f"{indent}node.s_{s} = {value}", f"{indent}node.v_{s} = {version}"]
        if not always:
            out += ["    else:", f"        node.s_{s} = None"]
    out += [f"    node.z_{s} = a{op.tensors.index(s)}.shape" for s in op.node.shape_names]
    out += [f"    node.a_{a} = {a}" for a in op.node.argument_names]
    if op.fits:
        same = "None" if not rest else "None if a0.shape == a1.shape or a1 is saved and not a1.shape else "
        if rest:
            if op.numbers is None:
                same = "None if a0.shape == a1.shape else "
            same += "((a0.shape, a0.dtype) if rg else None, (a1.shape, a1.dtype) if rg1 else None)"
        out += [f"    node.fit = {same}"]
    if op.kind == "view":
        out += ["    t._fn = None", f"    link_view(t, {first})", "    t._meta.view_fn = node"]
    out += ["    return t"]
    return "\n".join(out) + "\n"
