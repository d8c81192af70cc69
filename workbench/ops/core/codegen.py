"""From a declared op to code: its function, its node class and its backwards.

An op's derivative is a text such as `grad * cos(self)`. The node saves what the text reads. The text is compiled twice:
for plain arrays in an ordinary backward pass, and for tensors with create_graph=True.

Each op has its own function, which runs the op and records its node if nothing unusual is going on, and leaves
everything else to `dispatch`; both create the same node. One dispatcher for all ops would take twice the time. All code
is compiled on first use, so that importing stays quick, and kept in `linecache`, so that a traceback shows it.
"""

from __future__ import annotations

import ast
import linecache
import re
import types
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...autograd import state
from ...autograd.builtin_node import (
    Node1,
    Node2,
    Node3,
    NodeN,
    UnpackedMismatch,
    number_as_given,
    read_array,
    read_tensor,
    tells_saved,
)
from ...autograd.node import edge_of, in_scope, sequence
from ...autograd.saved_tensors import FREED, Packed, SavedOutput, save_results
from ...autograd.state import again_quietly, compute, local, no_grad_threads, scope_threads, slow_path_reasons
from ...autograd.tensor import Meta, Parameter, Tensor, blank, link_view
from ...events import emit, listeners
from .nodes import METHODS
from .registry import ARRAYS, DEFAULTS, TENSORS, non_default_arguments
from .results import into
from .scalars import SCALARS

ARRAYS |= {
    "FREED": FREED,
    **{
        thing.__name__: thing
        for thing in (Tensor, Parameter, SavedOutput, np.ndarray, number_as_given, read_array, UnpackedMismatch)
    },
}
TENSORS |= {"read_tensor": read_tensor, "Packed": Packed}
BACKWARDS = ("vjp", "vjp_tensors")
METHODS_OF_SAVED = ("release", "saved_items")
COMPILED: Counter[str] = Counter()  # how often code of one name was
BASES = {1: Node1, 2: Node2, 3: Node3, -1: NodeN}


def in_order(names: Iterable[str], op: Any) -> list[str]:
    """Return the names of saved tensors as PyTorch saves and reads them: first arguments, then results, by name."""
    last = (*op.found, *op.results)
    return sorted(names, key=lambda name: (name.startswith("result") or name in last, name))


class Reads:
    """What a formula reads: tensors (by name), shapes of tensors, other arguments; and its text with shapes renamed.

    For arrays, a product has the memory layout of the operand whose gradient it is.
    """

    def __init__(self, formula: str, tensors: list[str], op: Any, operand: str = "") -> None:
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
        self.text = self.on_arrays = ast.unparse(tree)
        self.is_product = bool(operand) and op.kind == "product" and "mm" in names
        if self.is_product:
            self.on_arrays = re.sub(r"\bmm\(", f"mm_laid_out(node.strides_{operand}, ", self.text)
        self.tensors = in_order([t for t in (*tensors, "result") if t in names], op)
        self.shapes = sorted(shapes)
        self.arguments = [a for a in op.arguments if a in names]


def node_class(op: Any) -> type:
    """Return the class of an op's nodes, with a slot for each edge and each thing its formulas read."""
    saved = in_order({t for r in op.reads.values() for t in r.tensors}, op)
    shapes = sorted({s for r in op.reads.values() for s in r.shapes})
    arguments = list(dict.fromkeys(a for r in op.reads.values() for a in r.arguments))
    factors = tuple([name for name, reads in op.reads.items() if reads.is_product])
    slots = [f"{what}_{name}" for name in saved for what in ("saved", "version")]
    slots += [f"shape_{name}" for name in shapes] + [f"arg_{name}" for name in arguments]
    slots += [f"strides_{name}" for name in factors]
    slots += ["counter_result"] if "result" in saved else []
    slots += ["fit"] if op.broadcasts else []
    slots += ["outputs"] if op.several else []
    body = {
        "__slots__": tuple(slots),
        "__module__": __name__,
        "saved_names": tuple(saved),
        "shape_names": tuple(shapes),
        "argument_names": tuple(arguments),
        "factor_names": factors,
        "keeps_result": "result" in saved,
        "multi": op.several,
        "forward_text": op.shown,
        "backward_text": op.formula_text,
        "op": op,
    }
    if "::" in op.node_name:
        body["name"] = lambda node: op.node_name
    arity = -1 if op.variadic else len(op.tensors)
    kind = tells_saved(type(op.node_name.rpartition("::")[2], (BASES[arity],), body))
    late_methods(op, kind)
    return kind


def late_methods(op: Any, kind: type) -> None:
    """Give a class of nodes methods that compile themselves at their first call."""
    for method in (*BACKWARDS, *METHODS_OF_SAVED) if kind.saved_names else BACKWARDS:  # type: ignore[attr-defined]
        setattr(kind, method, _late(op, method))


def _late(op: Any, method: str) -> Any:
    """Return a method that compiles itself at its first call; in readable mode, it is written out in nodes.py."""

    def first(node: Any, *given: Any) -> Any:
        if state.readable:
            return METHODS[method](node, *given)
        function = op.methods.get(method)
        if function is None:
            text = _backward_text(op, method) if method in BACKWARDS else _saved_text(op, method)
            function = op.methods[method] = compiled(text, method, TENSORS if "tensors" in method else ARRAYS, op)
        setattr(op.node, method, function)
        if state.readable:  # another thread has begun it between these lines
            setattr(op.node, method, first)
        return function(node, *given)

    return first


def compiled(text: str, name: str, namespace: dict[str, Any], op: Any) -> Any:
    what = f"{op.name}.{name}"
    COMPILED[what] += 1  # a traceback shows the line that runs, not that of a variant of the function
    filename = f"<workbench {what}{f' {COMPILED[what]}' if COMPILED[what] > 1 else ''}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    found: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), namespace, found)
    return found[name]


def _backward_text(op: Any, method: str) -> str:
    """Return the backward of a node: each wanted input's formula over what was saved.

    Where it is given the nodes that lead to what was asked for, it leaves the other inputs out. It reads all that was
    saved even so, as PyTorch does: something that was written since is an error, whoever needs it. Reading comes
    first, and once, because it may run the user's hook.
    """
    arrays, several = method == "vjp", len(op.tensors) > 1
    lines = [f"def {method}(node, grad, needed=None):"]
    lines += ["    " + line for line in _loads(op.node.saved_names, arrays, op.lists)]
    for i, name in enumerate(op.tensors):
        reads = op.reads.get(name)
        if reads is None:
            lines.append(f"    g{i} = None")
            continue
        indent = "    "
        if not op.variadic:
            wanted = f"needed is None or node.next{i} in needed"
            lines += [
                f"    g{i} = None",
                f"    if node.next{i} is not None and ({wanted}):" if several else f"    if {wanted}:",
            ]
            indent = "        "
        loads = [f"{s}_shape = node.shape_{s}" for s in reads.shapes] + [f"{a} = node.arg_{a}" for a in reads.arguments]
        lines += [indent + line for line in (*loads, f"g{i} = {reads.on_arrays if arrays else reads.text}")]
    gs = ", ".join(f"g{i}" for i in range(len(op.tensors)))
    if op.broadcasts:
        fitted = gs if several else gs + ","
        lines.append("    if node.fit is not None:")
        lines.append(f"        {fitted} = fit_{'arrays' if arrays else 'tensors'}(node.fit, {gs})")
    unpacked = [f"type(node.saved_{t}) is Packed" for t in op.node.saved_names if t not in op.lists]
    if unpacked and not arrays:
        lines += [f"    if {' or '.join(unpacked)}:", f"        return fit_unpacked(node, grad, {gs})"]
    lines.append(f"    return {gs}")
    if arrays and op.node.saved_names:
        body = ["    " + line for line in lines[1:]]
        lines = [
            lines[0],
            "    try:",
            *body,
            "    except UnpackedMismatch:",
            "        return refit(node, grad, needed)",
        ]
    return "\n".join(lines) + "\n"


def _saved_text(op: Any, method: str) -> str:
    """Tell what is saved, or let it go."""
    lines = [f"def {method}(node):", *(["    items = []"] if method == "saved_items" else [])]
    for name in op.node.saved_names:
        lines += [f"    if node.saved_{name} is not None and node.saved_{name} is not FREED:"]
        free, tell = f"node.saved_{name} = FREED", f"items.append(({name!r}, node.saved_{name}, node.version_{name}))"
        if op.numbers and name in op.tensors:
            tell = f"items.append(({name!r}, *number_as_given(node.saved_{name}, node.version_{name})))"
        if name in op.results:
            array = f"node.saved_{name}.array if type(node.saved_{name}) is SavedOutput else node.saved_{name}"
            tell = f"items.append(({name!r}, {array}, node.version_{name}))"
        if name in op.lists:
            pairs = f"zip(node.saved_{name}, node.version_{name})"
            each = f"({name!r} + f'[{{i}}]', t, v) for i, (t, v) in enumerate({pairs})"
            tell = f"items += [{each} if t is not None]"
        lines += [f"        {free if method == 'release' else tell}"]
    return "\n".join([*lines, f"    return {method == 'release' or 'items'}"]) + "\n"


def _loads(tensors: Sequence[str], arrays: bool, lists: list[str]) -> list[str]:
    lines = []
    for t in tensors:
        if not arrays or t in lists:
            lines.append(f"{t} = read_{'array' if arrays else 'tensor'}(node, {t!r})")
        elif t == "result":
            lines += [
                "result, counter = node.saved_result, node.counter_result",
                "if type(result) is not ndarray or (counter is not None and counter.version != node.version_result):",
                "    result = read_array(node, 'result')",
            ]
        else:
            current = f"({t}._storage is None or {t}._storage.version == node.version_{t})"
            lines += [
                f"{t} = node.saved_{t}",
                f"if type({t}) is Tensor and {current}:",
                f"    {t} = {t}._array",
                f"elif {t} is not None and type({t}) is not ndarray:",
                f"    {t} = {t}._array if type({t}) is Parameter and {current} else read_array(node, {t!r})",
            ]
    return lines


_THINGS = (
    *(Tensor, Parameter, Meta, np.ndarray, np.asarray, emit, edge_of, in_scope, link_view, non_default_arguments),
    *(again_quietly, save_results),
)
NAMES: dict[str, Any] = {
    "__name__": __name__,
    "local": local,
    "no_grad_threads": no_grad_threads,
    "scope_threads": scope_threads,
    "listeners": listeners,
    "sequence": sequence,
    **{thing.__name__: thing for thing in _THINGS},
    "blank": blank,
    "compute": compute,
    "into": into,
    "SCALARS": SCALARS,
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
}


def op_function(
    op: Any, dispatch: Any, takes_out: bool = False, slow_path_reasons: dict[Any, bool] = slow_path_reasons
) -> Any:
    """Return the op's function: a stub that compiles its code at the first call and becomes it.

    Only what a user calls by the function's name takes `out`: calls of what may take it are slower.
    `slow_path_reasons` isn't empty while the function has to leave every call to `dispatch`.
    """
    namespace = dict(NAMES, OP=op, forward=op.forward, dispatch=dispatch, slow_path_reasons=slow_path_reasons)

    def first(*args: Any, **kwargs: Any) -> Any:
        namespace["NODE"] = op.node
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
    """Return the same function under another name, as a method or an alias; its error messages use that name."""
    qualname = f"{owner}.{name}" if owner else name
    if owner and hasattr(function, "op"):
        function = function.op.function  # without out
    stub = function.__code__.co_name == _stub.__name__  # what replaces it has no annotations
    code = function.__code__.replace(co_qualname=qualname)
    other = types.FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    other.__kwdefaults__, other.__doc__, other.__qualname__ = function.__kwdefaults__, function.__doc__, qualname
    other.__dict__.update(function.__dict__)
    if stub:
        function.__globals__["copies"].append(other)
    else:
        other.__annotations__ = function.__annotations__
    return other


def _stub(*args: Any, **kwargs: Any) -> Any:
    return first(*args, **kwargs)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]  the name is in the namespace the function is made with


def _text(op: Any, takes_out: bool) -> str:
    """Return the function's source: `a0`, `a1` are the operands' arrays, `rg0`, `rg1` whether they require grad."""
    out = [*_leave(op, "slow_path_reasons"), *_check_kept(op), *_load(op)]
    wanted = "wanted" if op.variadic else " or ".join([f"rg{i}" for i in range(len(op.tensors))])
    out += [f"recorded = {wanted if op.formulas else False}"]
    unmeasured = "(a0.dtype is not f64 and a0.dtype is not f32)"
    measures = op.kind == "float" or op.prepare is not None  # the others run on what they are given
    if op.simple:  # what is recorded is floating point, and is not asked about further
        conditions = _unsure_operands(op) + [unmeasured] * measures
        out += _leave(op, f"not recorded and ({' or '.join(conditions)})") if conditions else []
    else:
        kinds = [f"a0.dtype is not a{i}.dtype" for i in range(1, len(op.tensors)) if op.promotes]
        if kinds or measures:
            out += _leave(op, " or ".join([*kinds, *[unmeasured] * measures]))
        if not measures and not op.variadic:  # what some forwards write must not be written twice
            out += _leave(op, f"recorded and {unmeasured}")
    out += ["if no_grad_threads and not local.modes.grad:", "    recorded = False"] if op.formulas else []
    out += _run(op)
    result = "outs" if op.several else "t"
    unrecorded = [*_tell_unrecorded(op), f"return {result}"]
    out += ["if not recorded:", *_indented(unrecorded)] if op.formulas else unrecorded
    out += [*_record(op), *_tell_recorded(op), f"return {result}"] if op.formulas else []
    return _function(op, takes_out, out)


def _leave(op: Any, condition: str) -> list[str]:
    """Leave the call to dispatch on this condition."""
    return [f"if {condition}:", f"    return dispatch(OP, ({op.names},))"]


def _odd(name: str, optional: bool = False) -> str:
    """Return the condition that an argument isn't a plain tensor."""
    return (
        f"type({name}) is not Tensor and type({name}) is not Parameter{f' and {name} is not None' if optional else ''}"
    )


def _unsure(name: str) -> str:
    """Return the condition that a tensor is a view that need not know yet that its base requires grad."""
    return f"{name}._meta is not None and {name}.requires_grad"


def _unsure_operands(op: Any) -> list[str]:
    """Return that condition for each operand of a simple op, where none requires grad."""
    if not op.formulas:
        return []
    number = "a1 is not saved and " * op.numbers
    return [f"({number * bool(i)}{_unsure(name)})" for i, name in enumerate(op.tensors)]


def _check_kept(op: Any) -> list[str]:
    """Leave the call to dispatch where what has no edge is neither None nor a plain tensor."""
    out: list[str] = []
    for name in op.kept:
        if name in op.lists:
            out += [f"for kept in {name}:", *_indented(_leave(op, _odd("kept", True)))]
        else:
            out += _leave(op, _odd(name, True))
    return out


def _load(op: Any) -> list[str]:
    """Take the operands' arrays, and whether they require grad."""
    if op.variadic:
        each = [*_leave(op, _odd("t")), "if t._rg:", "    wanted = True", *_leave(op, _unsure("t"))]
        each[-2] = "el" + each[-2]
        return [
            "arrays, wanted = [], False",
            f"for t in {op.tensors[0]}:",
            *_indented([*each, "arrays.append(t._array)"]),
        ]
    out: list[str] = []
    for i, name in enumerate(op.tensors):
        load = [f"a{i} = {name}._array", f"rg{i} = {name}._rg"]
        check = [] if op.simple or not op.formulas else _leave(op, f"not rg{i} and {_unsure(name)}")
        if op.simple and i:
            unsure = f" or (rg0 is not rg1 and {_unsure(f'({op.tensors[0]} if rg1 else {name})')})"
            check = _leave(op, "a0.dtype is not a1.dtype" + unsure * bool(op.formulas))
        if i and op.numbers:
            out += _number_or_tensor(op, name, [*load, f"saved = {name}", *check])
            continue
        load = [*_leave(op, _odd(name)), *load, *check]
        out += [f"if {name} is None:", f"    a{i}, rg{i} = None, False", "else:"] if name in op.optional else []
        out += _indented(load) if name in op.optional else load
    return out


def _number_or_tensor(op: Any, name: str, load: list[str]) -> list[str]:
    """Return the second operand, of which `saved` is what would be saved: the tensor, or a number's array."""
    return [
        f"if type({name}) is Tensor:",
        *_indented(load),
        f"elif (kinds := SCALARS.get(type({name}))) is not None and (numbers := kinds.get(a0.dtype)) is not None:",
        f"    a1 = saved = numbers[{name}]",
        "    rg1 = False",
        f"elif type({name}) is Parameter:",
        *_indented(load),
        "else:",
        f"    return dispatch(OP, ({op.names},))",
    ]


def _run(op: Any) -> list[str]:
    """Run the op; `t` or `outs` is its result, but for its place in the graph."""
    given = []
    for name in op.order:
        if op.variadic and name == op.tensors[0]:
            given.append("arrays")
        elif name in op.tensors:
            given.append(f"a{op.tensors.index(name)}")
        elif name in op.lists:
            given.append(f"tuple([None if kept is None else kept._array for kept in {name}])")
        elif name in op.kept:
            given.append(f"None if {name} is None else {name}._array" if name in op.optional else f"{name}._array")
        else:
            given.append(name)
    results, call = ", ".join(["r", *(f"r_{name}" for name in op.extras)]), f"forward, {', '.join(given)})"
    run = ["try:", f"    {results} = compute({call}"]
    if not op.simple or len(op.tensors) > 1:  # dispatch says what does not fit
        run += ["except ValueError:", *_leave(op, "True")[1:]]
    run += ["except RuntimeError as error:", f"    {results} = again_quietly(error, {call}"]
    birth = ["t = blank()", "t._array = r", "t._rg = recorded", "t._fn = t._storage = t._meta = None"]
    if op.kind in ("view", "views"):
        birth[-1:] = ["t._fn = t._storage = None", "t._meta = Meta()"]
    kind = f"'no_grad' if no_grad_threads and not local.modes.grad else '{'multi_output' if op.several else 'default'}'"
    link = f"link_view(t, {op.tensors[0]}, {kind})"
    if op.several:
        birth += ["t._nr = nr if recorded else 0", *[link] * (op.kind == "views"), "outs.append(t)", "nr += 1"]
        return [
            *run,
            "outs, nr = [], 0",
            "for r in r:",
            *_indented(birth),
            "outs = tuple(outs)",
            *_leave(op, "not outs"),
        ]
    return [*run, "if type(r) is not ndarray:", "    r = asarray(r)", *birth, "t._nr = 0"] + [link] * (
        op.kind == "view"
    )


def _tell_unrecorded(op: Any) -> list[str]:
    """Report a result without a node to listeners."""
    operands, outs = (op.tensors[0] if op.variadic else f"({', '.join(op.tensors)},)"), "outs" if op.several else "(t,)"
    return ["if listeners:", f"    emit(('unrecorded', OP.name, tuple({operands}), {outs}))"]


def _record(op: Any) -> list[str]:
    """Record the node of a usual call; `record_node` does it for any operands."""
    out: list[str] = []
    for name in op.extras:
        out += [f"{name} = blank()", f"{name}._array = asarray(r_{name})", f"{name}._rg = False", f"{name}._nr = 0"]
        out += [f"{name}._fn = {name}._storage = {name}._meta = None"]
    out += ["node = NODE()", "node.extra = in_scope() if scope_threads else None"]
    out += ["node.seq = next(sequence)  # before the edges, as in PyTorch: reading a view's edge may create its node"]
    if op.variadic:
        edges = "(edge_of(t) if t._fn is None else t._fn, t._nr) if t._rg else (None, 0)"
        out += [f"node.parents = tuple([{edges} for t in {op.tensors[0]}])"]
    else:
        for i, name in enumerate(op.tensors):
            out += _edge(op, i, name)
    for name in op.node.saved_names:
        out += _save(op, name) if name not in op.results else []
    loaded = {name: f"a{i}" for i, name in enumerate(op.tensors)}
    for name in op.node.shape_names:
        out += [f"node.shape_{name} = {loaded.get(name, f'{name}._array')}.shape"]
    out += [f"node.arg_{name} = {name}" for name in op.node.argument_names]
    out += [f"node.strides_{name} = {loaded.get(name, f'{name}._array')}.strides" for name in op.node.factor_names]
    out += _fit(op) if op.broadcasts else []
    if op.several:
        own = "t._meta.view_fn" if op.kind == "views" else "t._fn"
        out += ["node.outputs = len(outs)", "for t in outs:", f"    {own} = node"]
        return [*out, "save_results(node, outs)"] if op.results else out
    return [*out, "t._meta.view_fn = node" if op.kind == "view" else "t._fn = node"]


def _tell_recorded(op: Any) -> list[str]:
    """Report a node to listeners."""
    arguments = f"({', '.join(op.caller_args)},)"
    if {*op.caller_args} & {*DEFAULTS}:
        arguments = f"non_default_arguments(OP, {arguments})"
    return ["if listeners:", f"    emit(('created', node, {arguments}, {'outs' if op.several else '(t,)'}))"]


def _edge(op: Any, i: int, name: str) -> list[str]:
    """Return the edge to operand `i`, if it is differentiable at all and wanted now."""
    none = [f"node.next{i} = None", f"node.nr{i} = 0"]
    if name not in op.reads:
        return none
    edge = [f"p = {name}._fn", f"node.next{i} = edge_of({name}) if p is None else p", f"node.nr{i} = {name}._nr"]
    return edge if len(op.tensors) == 1 else [f"if rg{i}:", *_indented(edge), "else:", *_indented(none)]


def _save(op: Any, name: str) -> list[str]:
    """Save what the wanted formulas read of `name`; nothing is saved for an input without a gradient, as in PyTorch."""
    if name == "result":
        return ["node.saved_result = r", "node.counter_result = None", "node.version_result = 0"]
    version = "0 if {0}._storage is None else {0}._storage.version"
    if name in op.lists:
        save = [f"node.saved_{name} = tuple({name})"]
        save += [f"node.version_{name} = tuple([0 if kept is None or {version[5:].format('kept')} for kept in {name}])"]
    else:
        number = op.numbers and name == op.tensors[1]
        version = f"0 if {name} is None or {version[5:]}" if name in op.optional else version
        version = f"{name} if a1 is saved else {version}" if number else version
        save = [f"node.saved_{name} = {'saved' if number else name}", f"node.version_{name} = {version.format(name)}"]
    readers = [i for i, t in enumerate(op.tensors) if t in op.reads and name in op.reads[t].tensors]
    if len(readers) != 1 or len(op.tensors) == 1:
        return save
    asks_flag = len(op.reads) == 1 or op.simple
    wanted = f"rg{readers[0]}" if asks_flag else f"node.next{readers[0]} is not None"
    return [f"if {wanted}:", *_indented(save), "else:", f"    node.saved_{name} = None"]


def _fit(op: Any) -> list[str]:
    """Return what each wanted gradient must be made into; None where all fit already."""
    arrays = [f"a{i}" for i in range(len(op.tensors))]
    shapes = [*arrays[1:], *(f"{name}._array" for name in op.kept if name not in op.lists)]
    same = [f"a0.shape == {each}.shape" for each in shapes]
    same += ["False"] if op.lists else []  # what is looked up may have any shape
    same += [] if op.promotes else [f"{each}.dtype is r.dtype" for each in arrays]
    if not same:
        return ["node.fit = None"]
    fit = ", ".join([f"({each}.shape, {each}.dtype) if rg{i} else None" for i, each in enumerate(arrays)])
    if op.numbers:
        same[0] = f"(a1 is saved or {same[0]})"
    return [f"node.fit = None if {' and '.join(same)} else ({fit},)"]


def _function(op: Any, takes_out: bool, body: list[str]) -> str:
    parameters = op.parameters
    if takes_out:
        parameters += ", *, out=None"
        exact = "" if op.out is True else f", exact={op.out == 'exact' or op.out!r}"
        body = ["if out is not None:", f"    return into(OP.name, out, OP.function, {op.names}{exact})", *body]
    return "\n".join([f"def {op.name}({parameters}):", *_indented(body)]) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
