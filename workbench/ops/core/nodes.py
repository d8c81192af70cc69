"""What codegen.py generates for a node, written out: how it is recorded, and how its backward reads the formulas.

`dispatch` records every node by `record_node`. The rest runs in readable mode only (readable.py), in which a debugger
stops at these lines and at the line of the formula itself.
"""

from __future__ import annotations

import ast
import linecache
from typing import Any

from ...autograd import state
from ...autograd.anomaly_mode import remember
from ...autograd.builtin_node import UnpackedMismatch, number_as_given, read_array, read_tensor
from ...autograd.node import edge_of, in_scope, sequence
from ...autograd.saved_tensors import FREED, Packed, SavedOutput, save_results
from ...autograd.state import scope_threads
from ...autograd.tensor import Tensor
from .complex_rule import node_for
from .registry import ARRAYS, TENSORS
from .saving import fit_of, saved_as

Tensors = tuple[Tensor, ...]


class Slots:
    """The names of a node's slots, made once for each op: `next0`, `nr0`, `saved_self`, `shape_self`, `arg_dim` ..."""

    def __init__(self, op: Any) -> None:
        kind = op.node
        # For each operand: its edge's slots, and whether a formula gives it a gradient.
        self.edges = [(f"next{i}", f"nr{i}", name in op.reads) for i, name in enumerate(op.tensors)]
        # What is saved, its slots, and the operand whose formula alone reads it.
        kept = [name for name in kind.saved_names if name not in ("result", *op.results)]
        self.saved = [(name, f"saved_{name}", f"version_{name}", _reader(op, name)) for name in kept]
        self.shapes = [(name, f"shape_{name}") for name in kind.shape_names]
        self.arguments = [(name, f"arg_{name}") for name in kind.argument_names]
        self.strides = [(name, f"strides_{name}") for name in kind.factor_names]


def _reader(op: Any, name: str) -> int | None:
    readers = [i for i, tensor in enumerate(op.tensors) if tensor in op.reads and name in op.reads[tensor].tensors]
    return readers[0] if len(readers) == 1 < len(op.tensors) else None


def record_node(
    op: Any, given: dict[str, Any], operands: list[Any], extras: Tensors, outs: Tensors, needs: list[bool]
) -> Any:
    """Make the node of one call of an op, and return it.

    Args:
        op: What was called.
        given: Its arguments by name.
        operands: Those that have an edge.
        extras: What else its forward found out, such as the indices of a maximum.
        outs: The outputs, which get the node as their `grad_fn`.
        needs: For each operand, whether a gradient is wanted.
    """
    node = node_for(op, operands, outs) if state.complex_made else op.node()
    node.extra = in_scope() if scope_threads else None
    node.seq = next(sequence)  # before the edges, as in PyTorch: reading a view's edge may create its node
    if op.variadic:
        pairs = zip(operands, needs, strict=True)
        node.parents = tuple([(edge_of(t), t._nr) if need else (None, 0) for t, need in pairs])
    else:
        for t, need, (edge, nr, has_formula) in zip(operands, needs, op.slots.edges, strict=True):
            leads = need and has_formula
            setattr(node, edge, edge_of(t) if leads else None)
            setattr(node, nr, t._nr if leads else 0)
    _save(op, node, given | dict(zip(op.extras, extras, strict=True)) if extras else given, needs, outs[0]._array)
    if op.broadcasts:
        node.fit = fit_of(operands, [given[name] for name in op.kept], needs, outs[0]._array)
    is_view = op.kind in ("view", "views")
    for nr, t in enumerate(outs):
        if is_view:
            t._meta.view_fn = node
        else:
            t._fn = node
        t._rg, t._nr = True, nr
    if op.several:
        node.outputs = len(outs)
    if op.results:
        save_results(node, outs)
    if state.anomaly:
        remember(node)
    return node


def _save(op: Any, node: Any, given: dict[str, Any], needs: list[bool], result: Any) -> None:
    """Save what the formulas read; nothing if the only formula that reads it isn't wanted, as in PyTorch."""
    slots, is_only = op.slots, len(op.reads) == 1
    for name, slot, version, reader in slots.saved:
        if reader is None or (needs[reader] if is_only else getattr(node, slots.edges[reader][0]) is not None):
            saved, counted = saved_as(given[name], result.dtype)
            setattr(node, slot, saved)
            setattr(node, version, counted)
        else:
            setattr(node, slot, None)
    if node.keeps_result:
        node.saved_result, node.counter_result, node.version_result = result, None, 0
    for name, slot in slots.shapes:
        setattr(node, slot, given[name]._array.shape)
    for name, slot in slots.arguments:
        setattr(node, slot, given[name])
    for name, slot in slots.strides:
        setattr(node, slot, given[name]._array.strides)


def vjp(node: Any, grad: Any, needed: Any = None) -> Any:
    """Return the gradient of each input, as arrays: each formula over what the node saved.

    Args:
        node: What runs.
        grad: The gradient of its output; a list if it has several outputs.
        needed: The nodes that lead to what was asked for; the gradients of other inputs are None. None means all.
    """
    try:
        return _backward(node, grad, needed, "vjp", _saved(node, read_array))
    except UnpackedMismatch:  # a hook gave something of another shape or dtype: operations on tensors check that
        return ARRAYS["refit"](node, grad, needed)


def vjp_tensors(node: Any, grad: Any, needed: Any = None) -> Any:
    """Return the same as tensors, with a graph of their own."""
    return _backward(node, grad, needed, "vjp_tensors", _saved(node, read_tensor))


def _saved(node: Any, read: Any) -> dict[str, Any]:
    """Return all that was saved, by name: PyTorch reads it even if no wanted formula does."""
    return {name: read(node, name) for name in node.saved_names}


def _backward(node: Any, grad: Any, needed: Any, method: str, saved: dict[str, Any]) -> Any:
    op, words = node.op, ARRAYS if method == "vjp" else TENSORS
    given = saved | {"node": node, "grad": grad}
    given |= {f"{name}_shape": getattr(node, f"shape_{name}") for name in node.shape_names}
    given |= {name: getattr(node, f"arg_{name}") for name in node.argument_names}
    found: list[Any] = []
    for i, name in enumerate(op.tensors):
        wanted = name in op.reads and (op.variadic or _is_wanted(op, getattr(node, f"next{i}"), needed))
        found.append(written(op, name, method, words)(**given) if wanted else None)
    if op.broadcasts and node.fit is not None:
        found = [*words[f"fit_{'arrays' if words is ARRAYS else 'tensors'}"](node.fit, *found)]
    if words is TENSORS and any([type(getattr(node, f"saved_{name}")) is Packed for name in saved]):
        return words["fit_unpacked"](node, grad, *found)
    return found[0] if len(found) == 1 else tuple(found)


def _is_wanted(op: Any, parent: Any, needed: Any) -> bool:
    return (parent is not None or len(op.tensors) == 1) and (needed is None or parent in needed)


def written(op: Any, name: str, method: str, words: dict[str, Any]) -> Any:
    """Return a formula as a function of all that a node knows; a debugger stops at its line of the declaration.

    A formula that is computed, or written over several lines, has the line where the declaration begins.
    """
    known = op.written
    if (name, method) not in known:
        reads = op.reads[name]
        text = reads.on_arrays if words is ARRAYS else reads.text
        names = dict.fromkeys(["grad", "node", *reads.tensors, *(f"{s}_shape" for s in reads.shapes), *reads.arguments])
        tree = ast.parse(f"lambda {', '.join(names)}, **others: {text}", mode="eval")
        file, first = op.declared
        ast.increment_lineno(tree, _line_of(file, first, f'"{op.formulas[name]}"', f"{name}=") - 1)
        known[name, method] = eval(compile(tree, file, "eval"), words)
    return known[name, method]


def _line_of(file: str, first: int, formula: str, argument: str) -> int:
    """Return the line of a formula: the first with its text from where the op is declared, else where that begins."""
    lines = linecache.getlines(file)[first - 1 : first + 29]
    places = [[i for i, line in enumerate(lines) if text in line] for text in (argument + formula, formula)]
    return first + min(places[0] or places[1], default=0)


def release(node: Any) -> bool:
    """Free what a node saved; True, as there was something."""
    for name in node.saved_names:
        if getattr(node, f"saved_{name}") is not None:
            setattr(node, f"saved_{name}", FREED)
    return True


def saved_items(node: Any) -> list[tuple[str, Any, Any]]:
    """Return what a node has saved: the name, what is saved, and its version."""
    op, items = node.op, []
    for name in node.saved_names:
        saved = getattr(node, f"saved_{name}")
        if saved is None or saved is FREED:
            continue
        version = getattr(node, f"version_{name}")
        if name in op.lists:
            pairs = zip(saved, version, strict=True)
            items += [(f"{name}[{i}]", t, v) for i, (t, v) in enumerate(pairs) if t is not None]
        elif op.numbers and name in op.tensors:
            items.append((name, *number_as_given(saved, version)))
        else:
            items.append((name, saved.array if type(saved) is SavedOutput else saved, version))
    return items


METHODS = {each.__name__: each for each in (vjp, vjp_tensors, release, saved_items)}
