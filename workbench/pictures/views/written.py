"""Find which nodes of an unrecorded graph an assignment in the program made: those whose operations it spells."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..trace.assignments import OPERATIONS, SIGNS
from ..trace.forward_records import NodeCreated

_TURNED = ("t", "transpose", "permute", "numpy_t")  # what `x.T` calls
_TAKEN = ("select", "slice", "index", "getitem")  # what `x[0]` calls
_CALLING = frozenset({"jvp", "linearize", "vjp"})  # what calls a function that it is given, as `jvp(f, …)`
# What makes one that does, as `vmap(f)(x)`: `grad(y, x)` is another function of this name.
_MAKING = frozenset({"grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "vmap"})

_Tree = tuple[str, ast.expr]  # an expression, and what it says


@lru_cache(10_000)
def tree_of(text: str) -> ast.expr | None:
    """Return an expression's syntax tree; None if it isn't an expression."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def computes(whole: ast.expr | None, operation: str) -> bool:
    """Return True if an expression is that of an operation, by its sign or its name."""
    if isinstance(whole, ast.BinOp):
        return operation in OPERATIONS.get(SIGNS.get(type(whole.op), ""), ())
    if isinstance(whole, ast.UnaryOp):
        return isinstance(whole.op, ast.USub) and operation == "neg"
    if isinstance(whole, ast.Subscript):
        return operation in _TAKEN
    if isinstance(whole, ast.Attribute):
        return whole.attr in ("T", "mT") and operation in _TURNED
    called = whole.func if isinstance(whole, ast.Call) else None
    names = [called.id] if isinstance(called, ast.Name) else []
    if isinstance(called, ast.Attribute):  # `x.sin`, `torch.sin`, `Square.apply`
        names = [called.attr, *([called.value.id] if isinstance(called.value, ast.Name) else [])]
    return operation in names or operation.replace("_", "") in names


def transforms(whole: ast.expr | None) -> bool:
    """Return True if an expression calls a function transform, whose result isn't that of what it runs: `jvp(f, …)`."""
    names = _CALLING
    while isinstance(whole, ast.Call):
        called = whole.func
        if name_of(called) in names and name_of(getattr(called, "value", None)) != "autograd":
            return True
        whole, names = called, _CALLING | _MAKING
    return False


def made_by(whole: ast.expr) -> list[str]:
    """Return the transforms that make the function which an expression calls, the outer ones first.

    `vmap` and `grad` of `vmap(grad(f), in_dims=(None, 0))(w, x)`; none for anything else.
    """
    made = whole.func if isinstance(whole, ast.Call) else None
    found: list[str] = []
    while isinstance(made, ast.Call) and made.args and (name := name_of(made.func)) in _MAKING:
        found.append(name)
        made = made.args[0]
    return found


def name_of(called: ast.expr | None) -> str:
    """Return the name of what is called: `grad` of `torch.func.grad`; "" for anything else."""
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


@dataclass(slots=True)
class Spelled:
    """Nodes with the expressions that made them, found by what their results are called."""

    made: Mapping[str, NodeCreated]
    names: Mapping[tuple[str, int], str]  # (node or leaf, output) -> variable
    differentiable: Collection[str]  # the variables that gradients go to
    found: dict[str, str] = field(default_factory=dict)

    def read(self, assigned: Mapping[str, list[str]]) -> dict[str, str]:
        """Return, by node, its expression, if the graph has all that the program assigns."""
        for (id, nr), name in self.names.items():
            for text in reversed(assigned.get(name, ()) if nr == 0 and id in self.made else ()):
                parts: dict[str, str] = {}
                if (tree := tree_of(text)) is not None and self._is((text, tree), id, 0, parts):
                    self.found |= parts
                    break
        return self.found

    def _is(self, said: _Tree, id: str | None, nr: int, parts: dict[str, str]) -> bool:
        """Return True if an expression gives a node's output, or a leaf; note in `parts` which node each part gives."""
        text, tree = said
        if id is None:  # no gradient goes there: it may be any number or data, but not a variable of the graph
            return not any([isinstance(each, ast.Name) and each.id in self.differentiable for each in ast.walk(tree)])
        told = ast.get_source_segment(text, tree) or ""
        if parts and self.names.get((id, nr)) == told:
            return True
        node = self.made.get(id)
        if parts and node is not None and isinstance(tree, ast.Call) and self._is_modules(node, next(iter(parts))):
            return True
        if node is None or nr or not computes(tree, node.operation):
            return False
        inner = self._operands(tree)
        edges = [(edge.target, edge.output_nr) for edge in node.edges]
        parts[id] = told
        for operands in self._orders(inner, node.operation, len(edges)):
            mine = dict(parts)
            if all([self._is((text, each), *edge, mine) for each, edge in zip(operands, edges, strict=False)]):
                parts |= mine
                return True
        return False

    def _is_modules(self, node: NodeCreated, root: str) -> bool:
        """Return True if a called module made a node, and not a part of the expression."""
        around = f"{self.made[root].scope}/" if self.made[root].scope else ""
        own = f"{node.scope}/" if node.scope else ""
        return own != around and own.startswith(around)

    @staticmethod
    def _operands(tree: ast.expr) -> list[ast.expr]:
        if isinstance(tree, ast.BinOp):
            return [tree.left, tree.right]
        if isinstance(tree, ast.UnaryOp):
            return [tree.operand]
        if isinstance(tree, ast.Subscript | ast.Attribute):
            return [tree.value]
        assert isinstance(tree, ast.Call)
        return [*([tree.func.value] if isinstance(tree.func, ast.Attribute) else []), *tree.args]

    @staticmethod
    def _orders(operands: list[ast.expr], operation: str, edges: int) -> list[list[ast.expr]]:
        """Return the orders in which operands may be those of the edges: numbers and packages have no edge."""
        rest = operands[1:]
        orders = [operands[::-1]] if operation == "rsub" else [operands]
        if operation in ("add", "mul", "pow", "div") and len(operands) == 2:
            orders.append(operands[::-1] if operation in ("add", "mul") else rest)
        elif rest:
            orders.append(rest)
        return [each for each in orders if len(each) >= edges > 0]
