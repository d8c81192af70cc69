"""From a declared op to code: its node class and its two backwards.

An op's derivative is a text such as `grad * cos(self)`. What the text reads is what the node saves. It is compiled
twice: over plain arrays for the ordinary backward, and over tensors for create_graph=True. All of it is compiled at
first use, so that importing stays quick, and kept in `linecache`, so that a traceback shows it.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.builtin_node import (
    Node1,
    Node2,
    Node3,
    NodeN,
    Unfit,
    as_given,
    read_array,
    read_tensor,
)
from ..autograd.saved_tensors import FREED, Packed
from ..autograd.tensor import Parameter, Tensor

# `__name__` is what a NumPy warning is filed under: the package's filter knows it
ARRAYS: dict[str, Any] = {
    "__name__": __name__,
    "FREED": FREED,
    **{thing.__name__: thing for thing in (Tensor, Parameter, np.ndarray, as_given, read_array, Unfit)},
}
TENSORS: dict[str, Any] = {"__name__": __name__, "read_tensor": read_tensor, "Packed": Packed}
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
        "backward_text": op.told,
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
            tell = f"items.append(({name!r}, *as_given(node.s_{name}, node.v_{name})))"
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
