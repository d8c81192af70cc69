"""The words for nodes that weren't recorded, from their edges, their saved tensors and the variables' names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from ..scene.metric import TITLE_COLUMNS, columns
from ..trace.assignments import SIGNS
from ..trace.facts import Code
from ..trace.forward_records import NodeCreated, TensorsFound
from ..trace.schema import Record
from ..trace.values import Value
from .expressions import SENTENCE_CHARACTERS, UNKNOWN, fitted_text
from .written import Spelled, tree_of

_SHORT = 16  # characters of an operand in an expression that is pieced together
# How closely an operator binds: the later ones more.
_SUM = 0
_PRODUCT = 1
_POWER = 2
_ATOM = 3
# By operation: the sign that a program writes for it, and how closely that binds.
_INFIX = {
    "add": ("+", _SUM),
    "sub": ("-", _SUM),
    "mul": ("*", _PRODUCT),
    "div": ("/", _PRODUCT),
    "mm": ("@", _PRODUCT),
    "mv": ("@", _PRODUCT),
    "bmm": ("@", _PRODUCT),
    "dot": ("@", _PRODUCT),
    "pow": ("**", _POWER),
    "rsub": ("-", _SUM),
}
# PyTorch's nodes do not tell what else was given: these take nothing else.
_UNARY = frozenset(
    "abs ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 reciprocal relu rsqrt sigmoid sign silu sin sinh "
    "sqrt square tan tanh".split()
)
_WRITTEN = {
    "to_copy": "to",
    "to_copy_ordered": "to",
    "linalg_vector_norm": "norm",
    "linalg_inv_ex": "inv",
    "linalg_solve_ex": "solve",
}  # an operation -> what a program calls it

_Expression = tuple[str, int]  # its text, and how closely the operator in it binds


def found_expressions(events: Iterable[Record]) -> dict[str, str]:
    """Return, by node, the expression of each node from before the recording; `…` stands for what is unknown.

    Nodes of which too little is known are left out.
    """
    made: dict[str, NodeCreated] = {}
    tensors: dict[str, str] = {}
    names: dict[tuple[str, int], str] = {}  # (node or leaf, output) -> variable
    assigned: dict[str, list[str]] = {}
    needed: set[str] = set()  # the names of what gradients go to
    for event in events:
        for each in event.assigned if isinstance(event, TensorsFound) else ():
            assigned.setdefault(each.name, []).append(each.text)
        if isinstance(event, NodeCreated | TensorsFound):
            for seen in event.tensors:
                if seen.name:
                    tensors[seen.id] = names[seen.node or seen.id, seen.output_nr] = seen.name
                    needed |= {seen.name} if seen.requires_grad else set()
        if isinstance(event, NodeCreated) and event.found and not event.path:
            made.setdefault(event.node, event)
    known: dict[str, _Expression] = {}
    expressions: dict[str, str] = {}
    scopes = {id: node.scope for id, node in made.items()}
    spelled = Spelled(made, names, needed).read(assigned)
    own = frozenset([(text, UNKNOWN) for text in spelled.values()])
    for id, node in made.items():
        variable = names.get((id, 0)) if (id, 1) not in names else None
        begin = f"{variable} = " if variable else ""
        if id in spelled:
            text = spelled[id]
            known[id], expressions[id] = (
                (text, _binds(text)),
                begin + fitted_text(text, own, TITLE_COLUMNS - columns(begin)),
            )
            continue
        full = [_operand(node, nr, names, tensors, known, scopes) for nr in range(len(node.edges))]
        short = [each if len(each[0]) <= _SHORT else (UNKNOWN, _ATOM) for each in full]
        for operands in (full, short):
            text, _ = known[id] = _expression(node, operands)
            gaps = 1 + any(operand != UNKNOWN for operand, _ in operands)  # with which it tells more than a name
            if text.count(UNKNOWN) <= gaps and len(begin) + len(text) <= TITLE_COLUMNS:
                break
        if text.count(UNKNOWN) <= gaps and not text.startswith(f"{UNKNOWN}."):
            expressions[id] = begin + text
    return expressions


def _binds(text: str) -> int:
    """Return how strongly the operator of an expression binds."""
    tree = tree_of(text)
    if isinstance(tree, ast.BinOp):
        return next((binds for sign, binds in _INFIX.values() if sign == SIGNS.get(type(tree.op))), _SUM)
    return _PRODUCT if isinstance(tree, ast.UnaryOp) else _ATOM


@dataclass(frozen=True, slots=True)
class _Signature:
    """What the operation is called in a program, the one that ran for that, and its parameters where they are known."""

    name: str
    ran: str
    parameters: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)  # those with a formula for backward


_OPERANDS = ("self", "other")


@lru_cache(1_000)
def _signature(name: str, custom: bool, code: tuple[Code, ...]) -> _Signature:
    texts = {each.name: each.text for each in code}
    forward = texts.get("forward", "")
    if custom:
        return _Signature(f"{name}.apply", name, _arguments(forward, "setup_context" in texts))
    if (found := re.match(r"(\w+)\((.*)\)", forward)) is None:
        own = _arguments(forward, False)  # of an engine of the user's own, whose operands are called as PyTorch's
        return _Signature(_WRITTEN.get(name, name), name, [*_OPERANDS[: len(own)], *own[len(_OPERANDS) :]])
    ran, parameters = found[1], [each.partition("=")[0].strip() for each in found[2].split(",")]
    same = ran.replace("_", "") == name.replace("_", "")  # but for where the words of a node's name begin
    called = ran if same else name
    derived = re.findall(r"^(\w+):", texts.get("backward", ""), re.MULTILINE)
    return _Signature(_WRITTEN.get(called, called), ran, parameters, derived)


def _arguments(forward: str, without_ctx: bool) -> list[str]:
    """Return the arguments of a Function's `apply`, if its `forward` can be read and takes a fixed number."""
    try:
        made = ast.parse(forward).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return []
    if not isinstance(made, ast.FunctionDef) or made.args.vararg is not None:
        return []
    names = [each.arg for each in (*made.args.posonlyargs, *made.args.args)]
    return names if without_ctx else names[1:]


def _operand(
    node: NodeCreated,
    nr: int,
    names: dict[tuple[str, int], str],
    tensors: dict[str, str],
    known: dict[str, _Expression],
    scopes: dict[str, str | None],
) -> _Expression:
    """Return what comes in at an edge: a variable, a scope's result, an expression, a saved constant."""
    edge = node.edges[nr]
    if edge.target is not None:
        if named := names.get((edge.target, edge.output_nr)):
            return named, _ATOM
        if scope := _scope_left(scopes.get(edge.target), node.scope):
            return UNKNOWN if scope.isdigit() else scope, _ATOM  # the `1` of a Sequential would read as a number
        text, binds = known.get(edge.target, (UNKNOWN, _ATOM))
        return (text, binds) if not edge.output_nr else (UNKNOWN, _ATOM)
    parameters = _signature(node.operation, node.custom, node.code).parameters
    for saved in node.saved:
        if nr < len(parameters) and saved.name == parameters[nr]:
            if saved.tensor is not None:
                return tensors.get(saved.tensor, UNKNOWN), _ATOM
            return (_number(saved.value), _ATOM) if saved.value is not None else (UNKNOWN, _ATOM)
    return UNKNOWN, _ATOM


def _scope_left(scope: str | None, here: str | None) -> str:
    """Return the outermost scope that something was made in, but nothing here is."""
    parts, around = (scope or "").split("/"), (here or "").split("/")
    while parts and around and parts[0] == around[0]:
        parts, around = parts[1:], around[1:]
    return parts[0] if parts else ""


def _number(value: Value) -> str:
    return UNKNOWN if value.shape else value.brief(_SHORT)


def _expression(node: NodeCreated, operands: list[_Expression]) -> _Expression:
    called = _signature(node.operation, node.custom, node.code)
    parameters, texts = called.parameters, [text for text, _ in operands]
    if called.ran in _INFIX and len(parameters) in (0, 2) and 1 <= len(operands) <= 2:
        sign, binds = _INFIX[called.ran]
        left, right = (*operands, (UNKNOWN, _ATOM))[:2]
        if called.ran == "rsub" or (len(operands) == 1 and called.derived and called.derived == parameters[1:]):
            left, right = right, left
        first, second = _within(left, binds + (binds == _POWER)), _within(right, binds + (binds != _POWER))
        return f"{first} {sign} {second}", binds
    if called.ran == "neg" and len(operands) == 1:
        return f"-{_within(operands[0], _POWER)}", _PRODUCT
    if called.ran == "t" and len(operands) == 1:
        return f"{_within(operands[0], _ATOM)}.T", _ATOM
    # An argument may have no edge: only where the tensors come first is it known which operand is which.
    if node.custom:
        inner = ", ".join(texts) if len(parameters) <= len(texts) else UNKNOWN
    elif not parameters and len(texts) == 1:  # PyTorch does not say which
        inner = ", ".join([*texts, *([] if called.name in _UNARY else [UNKNOWN])])
    elif parameters[:1] in (["self"], ["input"]) and len(texts) <= len(parameters):
        more = len(parameters) > len(texts) or called.ran != called.name
        inner = ", ".join([*texts, *([UNKNOWN] if more else [])])
    else:
        inner = UNKNOWN
    call = f"{called.name}({inner})"
    return (call if len(call) <= SENTENCE_CHARACTERS else f"{called.name}({UNKNOWN})"), _ATOM


def _within(operand: _Expression, binds: int) -> str:
    text, own = operand
    return text if own >= binds else f"({text})"
