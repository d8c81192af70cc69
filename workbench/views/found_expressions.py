"""What a node that nobody recorded computes, as far as its edges, its saved tensors and the variables' names tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..trace.records import NodeCreated, TensorsFound
from ..trace.schema import Record
from ..trace.values import Value

UNKNOWN = "…"
_LONG = 16  # characters of an operand that is an expression of its own: a longer one is left out
_LINE = 40  # characters of the whole
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how closely an operator binds
# By how many edges there are: the operands, what binds them, and how closely.
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
}

Said = tuple[str, int]  # an expression, and how closely the operator in it binds


def found_expressions(events: Iterable[Record]) -> dict[str, str]:
    """By node the expression of each that was there before anybody listened; `…` stands for what is not known.

    One of which too little is known is left out.
    """
    made: list[NodeCreated] = []
    tensors: dict[str, str] = {}
    names: dict[tuple[str, int], str] = {}  # (node or leaf, output) -> variable
    for event in events:
        if isinstance(event, NodeCreated | TensorsFound):
            for seen in event.tensors:
                if seen.name:
                    tensors[seen.id] = names[seen.node or seen.id, seen.output_nr] = seen.name
        if isinstance(event, NodeCreated) and event.found and not event.path:
            made.append(event)
    known: dict[str, Said] = {}
    telling: set[str] = set()  # the nodes whose expression tells more than their name
    scopes = {node.node: node.scope for node in made}
    for node in made:
        operands = [_operand(node, nr, names, tensors, known, scopes) for nr in range(len(node.edges))]
        known.setdefault(node.node, _said(node, operands))
        text, gaps = known[node.node][0], known[node.node][0].count(UNKNOWN)
        if gaps < 2 + any(word not in UNKNOWN for word, _ in operands) and not text.startswith(f"{UNKNOWN}."):
            telling.add(node.node)
    told = {node: text for node, (text, _) in known.items() if node in telling}
    return {
        node: f"{names[node, 0]} = {text}" if (node, 0) in names and (node, 1) not in names else text
        for node, text in told.items()
    }


def _signature(node: NodeCreated) -> tuple[str, list[str]]:
    """What the operation is called, and its parameters where they are known."""
    if not node.custom and node.code and (found := re.match(r"(\w+)\((.*)\)", node.code[0].text)):
        return found[1], [each.partition("=")[0].strip() for each in found[2].split(",")]
    return node.operation, []


def _operand(
    node: NodeCreated,
    nr: int,
    names: dict[tuple[str, int], str],
    tensors: dict[str, str],
    known: dict[str, Said],
    scopes: dict[str, str | None],
) -> Said:
    """What comes in at an edge: a variable, a scope's result, a short expression, a constant that is saved."""
    edge = node.edges[nr]
    if edge.target is not None:
        if named := names.get((edge.target, edge.output_nr)):
            return named, _ATOM
        if scope := _left(scopes.get(edge.target), node.scope):
            return scope, _ATOM
        text, binds = known.get(edge.target, (UNKNOWN, _ATOM))
        return (text, binds) if len(text) <= _LONG and not edge.output_nr else (UNKNOWN, _ATOM)
    parameters = _signature(node)[1]
    for saved in node.saved:
        if nr < len(parameters) and saved.name == parameters[nr]:
            if saved.tensor is not None:
                return tensors.get(saved.tensor, UNKNOWN), _ATOM
            return (_number(saved.value), _ATOM) if saved.value is not None else (UNKNOWN, _ATOM)
    return UNKNOWN, _ATOM


def _left(scope: str | None, here: str | None) -> str:
    """The outermost scope that something was made in, but nothing here is."""
    parts, around = (scope or "").split("/"), (here or "").split("/")
    while parts and around and parts[0] == around[0]:
        parts, around = parts[1:], around[1:]
    return parts[0] if parts else ""


def _number(value: Value) -> str:
    return UNKNOWN if value.shape else value.brief(_LONG)


def _said(node: NodeCreated, operands: list[Said]) -> Said:
    operation, parameters = _signature(node)
    texts = [text for text, _ in operands]
    if operation in _INFIX and len(parameters) == 2 and len(operands) <= 2:
        sign, binds = _INFIX[operation]
        left, right = (*operands, (UNKNOWN, _ATOM))[:2]
        first, second = _within(left, binds + (binds == _POWER)), _within(right, binds + (binds != _POWER))
        return f"{first} {sign} {second}", binds
    if operation == "neg" and len(operands) == 1:
        return f"-{_within(operands[0], _POWER)}", _PRODUCT
    if operation == "t" and len(operands) == 1:
        return f"{_within(operands[0], _ATOM)}.T", _ATOM
    # A constant may have no edge: only where the tensors come first is it known which operand is which.
    if node.custom or (parameters[:1] in (["self"], ["input"]) and len(operands) <= len(parameters)):
        inner = ", ".join([*texts, *([UNKNOWN] if len(parameters) > len(texts) else [])])
    else:
        inner = UNKNOWN
    told = f"{operation}({inner})"
    return (told if len(told) <= _LINE else f"{operation}({UNKNOWN})"), _ATOM


def _within(operand: Said, binds: int) -> str:
    text, own = operand
    return text if own >= binds else f"({text})"
