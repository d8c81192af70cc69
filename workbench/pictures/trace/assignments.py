"""What the user's code assigns to its variables."""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import textwrap
from collections.abc import Collection
from functools import lru_cache
from types import FrameType
from typing import Any, cast

from .loops import for_variables
from .source import LONGEST, NAMELESS, joined, parsed, source_lines

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
}
# What an operator calls.
OPERATIONS = {
    "+": ("add",),
    "-": ("sub", "rsub"),
    "*": ("mul",),
    "/": ("div",),
    "@": ("mm", "mv", "bmm", "dot"),
    "**": ("pow",),
}
_CELLS = 50  # cells of a notebook that are read, the last ones
_ASSIGNED = 200  # assignments that are kept
_LIBRARIES = ("torch", "workbench", "F", "nn", "functional", "linalg")
_NUMBERS = ("float", "int", "bool", "len")
_LOSS = re.compile(r"(loss|entropy(_with_logits)?)$")


def assignments(frame: FrameType, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return what a frame's file or notebook, and its function, assign to variables of these names, in order."""
    code, cells = frame.f_code, cast("Any", frame.f_globals.get("In"))
    if cells.__class__ is list:
        texts = [_without_magic(cell) for cell in cells[-_CELLS:]]
    else:
        texts = [] if code.co_filename in NAMELESS else ["".join(linecache.getlines(code.co_filename))]
    found = [pair for text in texts for pair in _assigned(text, False)]
    if code.co_name != "<module>":
        with contextlib.suppress(OSError, TypeError):
            found += _assigned(textwrap.dedent("".join(source_lines(code)[0])), True)
    return tuple(dict.fromkeys([pair for pair in found if pair[0] in names]))[-_ASSIGNED:]


def loops_of(cells: Collection[Any]) -> set[str]:
    """Return the loop variables in a notebook's earlier cells, except those that a cell assigns too."""
    found = [_looped(_without_magic(cell)) for cell in cells]
    return {name for looped, _ in found for name in looped} - {name for _, assigned in found for name in assigned}


@lru_cache(1_000)
def _looped(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that a cell's `for` loops set, and those that it assigns."""
    nodes = [*ast.walk(parsed(text) or ast.Module([], []))]
    looped = [name for node in nodes if isinstance(node, ast.For | ast.AsyncFor) for name in for_variables(node)]
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    return frozenset(looped), frozenset([target.id for target in targets if isinstance(target, ast.Name)])


def _without_magic(cell: Any) -> str:
    return re.sub("(?m)^[%!].*", "", str(cell))


@lru_cache(1_000)
def _assigned(text: str, in_function: bool) -> tuple[tuple[str, str], ...]:
    """Return the variables that source code assigns outside functions, or inside its function, each with the text."""
    tree = parsed(text)
    todo: list[ast.AST] = [*tree.body] if tree is not None else []
    if in_function:
        todo = [*getattr(todo[0], "body", ())] if todo else []
    todo.reverse()
    found: list[tuple[str, str]] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            told = joined(ast.get_source_segment(text, node.value) or "")
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if 0 < len(told) <= LONGEST:
                found += [(each.id, told) for each in targets if isinstance(each, ast.Name)]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            todo += [*ast.iter_child_nodes(node)][::-1]
    return tuple(found)


def _expression(text: str) -> ast.expr | None:
    """Return the syntax tree of a text that is an expression; None for anything else."""
    tree = parsed(text)
    return tree.body[0].value if tree is not None and tree.body and isinstance(tree.body[0], ast.Expr) else None


@lru_cache(1_000)
def sides_of(text: str) -> tuple[str, ...]:
    """Return both sides of an expression with an operator, `a` and `f(x)` of `a @ f(x)`; nothing for others."""
    whole = _expression(text)
    if not isinstance(whole, ast.BinOp):
        return ()
    return tuple([ast.get_source_segment(text, each) or "" for each in (whole.left, whole.right)])


@lru_cache(10_000)
def taken_of(text: str, variable: str) -> str:
    """Return the one operand of an expression that is a part or reshape of a variable: `x[t]` in `x[t] @ w`; or ""."""
    whole = _expression(text)
    operands: list[ast.expr] = []
    if isinstance(whole, ast.BinOp):
        operands = [whole.left, whole.right]
    elif isinstance(whole, ast.Call):
        operands = [*whole.args, *([whole.func.value] if isinstance(whole.func, ast.Attribute) else [])]
    found: list[str] = []
    for operand in operands:
        inner: ast.expr = operand
        while isinstance(inner, ast.Subscript | ast.Attribute | ast.Call):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
            if ast.get_source_segment(text, inner) == variable:
                found.append(ast.get_source_segment(text, operand) or "")
                break
    return found[0] if len(found) == 1 else ""


@lru_cache(10_000)
def function_of(text: str) -> str:
    """Return the name of the function that an expression is a call of: `dropout` of `F.dropout(x, 0.5)`; or ""."""
    whole = _expression(text)
    called = whole.func if isinstance(whole, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


@lru_cache(10_000)
def operand_of(text: str, at: int, count: int, operation: str, module: str = "") -> str:
    """Return the operand of an expression that is tensor number `at` of the `count` of its operation; "" if unknown.

    Most operations of a function that is written with several have others: only what the expression itself computes is
    asked. Of an expression that calls a `module`, only a loss has the same operands as its operation.
    """
    whole = _expression(text)
    if isinstance(whole, ast.BinOp):
        operands, computes = [whole.left, whole.right], operation in OPERATIONS.get(SIGNS.get(type(whole.op), ""), ())
    elif isinstance(whole, ast.Call) and (not module or module.endswith("Loss")):
        operands, called = [*whole.args, *[each.value for each in whole.keywords]], whole.func
        name = function_of(text)
        computes = name.rstrip("_") in (operation, "apply") or bool(
            _LOSS.search(operation) and (module or _LOSS.search(name))
        )
        if not module and isinstance(called, ast.Attribute) and not _has_functions(called):
            operands = [called.value, *operands]
    else:
        return ""
    tensors = [each for each in operands if not _is_no_tensor(each)]
    return ast.get_source_segment(text, tensors[at]) or "" if computes and len(tensors) == count else ""


def _has_functions(called: ast.Attribute) -> bool:
    """Return True if what has this attribute is no tensor: `F` of `F.mse_loss`, `Round` of `Round.apply`."""
    return called.attr == "apply" or ast.unparse(called.value).split(".")[0] in _LIBRARIES


def _is_no_tensor(operand: ast.expr) -> bool:
    if isinstance(operand, ast.UnaryOp):
        return _is_no_tensor(operand.operand)
    if isinstance(operand, ast.Call) and isinstance(operand.func, ast.Name):
        return operand.func.id in _NUMBERS
    return isinstance(operand, ast.Constant | ast.Tuple | ast.List)
