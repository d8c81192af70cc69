"""Find where a program's source probably cuts a loss off from tensors that require grad, without a recording.

The lines that made the loss are followed back through the assignments of its function. A cut is only named if what it
is applied to takes gradients, as the variables show; even then, it is a question.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, cast

from .listing import begin_of
from .source import is_users, tree_of
from .variables import variables

_MODES = ("no_grad", "inference_mode")
_METHODS = frozenset("detach item tolist numpy argmax argmin argsort long int bool tensor as_tensor from_numpy".split())
_FUNCTIONS = ("float", "int")
_DEEP = 2  # calls of the user's functions that are followed
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ProbableCut(NamedTuple):
    """What cuts, as the program writes it, and its line; the variable that is cut off, and frozen modules before it.

    The word is empty where the source shows no cut.
    """

    word: str
    line: tuple[str, int] | None
    name: str
    frozen: tuple[str, ...] = ()


def probable_cut(frame: Any, line: tuple[str, int]) -> ProbableCut | None:
    """Return what probably cuts off the loss that a line of a frame differentiates; None where nothing shows it."""
    file, number = line
    scope = _scope_at(file, frame.f_code.co_name, number)
    call = None if scope is None else _backward_at(scope, number)
    if scope is None or call is None:
        return None
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and not call.args
    starts = [call.func.value] if is_method and isinstance(call.func, ast.Attribute) else call.args
    loss = next(iter(starts), None)
    if loss is None:
        return None
    search = _Search(file, dict(reversed(variables(frame))))
    name = ast.unparse(loss) if isinstance(loss, ast.Name) else ""
    word, cut = search.behind(scope, loss, number, 0) or ("", None)
    return ProbableCut(word, cut, name, () if word else tuple(search.frozen))


def _scope_at(file: str, name: str, number: int) -> ast.AST | None:
    """Return the function of a name around a line, or the whole file."""
    if (tree := tree_of(file)) is None:
        return None
    around = [each for each in ast.walk(tree) if isinstance(each, _Function) and each.name == name]
    around = [each for each in around if _first(each) <= number <= (each.end_lineno or 0)]
    return max(around, key=_first) if around else tree if name == "<module>" else None


def _first(function: _Function) -> int:
    return min([function.lineno, *[each.lineno for each in function.decorator_list]])


def _backward_at(scope: ast.AST, number: int) -> ast.Call | None:
    for each in ast.walk(scope):
        if isinstance(each, ast.Call) and each.lineno <= number <= (each.end_lineno or 0):
            if isinstance(each.func, ast.Attribute) and each.func.attr in ("backward", "grad"):
                return each
    return None


class _Search:
    """The assignments of a function and what its variables hold."""

    def __init__(self, file: str, variables: Mapping[str, Any], unknown: bool = False) -> None:
        self.file, self.variables, self.unknown = file, variables, unknown
        self.frozen: dict[str, None] = {}  # modules of which no parameter takes gradients

    def behind(self, scope: ast.AST, value: ast.expr, before: int, deep: int) -> tuple[str, tuple[str, int]] | None:
        """Return what cuts off a value that a line uses, the last cut first."""
        if isinstance(scope, _Function):
            for each in scope.decorator_list:
                if (mode := _mode_of(each)) is not None:
                    return mode, (self.file, each.lineno)
        if (found := self._in(scope, value, deep)) is not None:
            return found
        names = _names(value)
        for target, assigned in sorted(_assignments(scope), key=lambda each: -each[1].lineno):
            if assigned.lineno < before and names & {*_names(target)}:
                if (found := self._in(scope, assigned, deep)) is not None:
                    return found
                names |= _names(assigned)
        return None

    def _in(self, scope: ast.AST, value: ast.expr, deep: int) -> tuple[str, tuple[str, int]] | None:
        """Return what cuts inside an expression, or around it."""
        if self._takes_gradients(value):
            for block in ast.walk(scope):
                mode = None
                if isinstance(block, ast.With) and block.lineno <= value.lineno <= (block.end_lineno or 0):
                    mode = next(filter(None, [_mode_of(item.context_expr) for item in block.items]), None)
                elif isinstance(block, ast.Call) and block.lineno < value.lineno:
                    mode = _switch_of(block)
                if mode is not None and isinstance(block, ast.With | ast.Call):
                    return mode, (self.file, block.lineno)
        for each in ast.walk(value):
            given = _cut_of(each)
            if given is not None and any(self._takes_gradients(operand) for operand in given[1]):
                return given[0], (self.file, each.lineno if isinstance(each, ast.expr) else value.lineno)
            if isinstance(each, ast.Call) and deep < _DEEP and (found := self._called(each, deep)) is not None:
                return found
        return None

    def _called(self, call: ast.Call, deep: int) -> tuple[str, tuple[str, int]] | None:
        """Return what cuts inside a user function that is called."""
        function = getattr(self._value_of(call.func), "__func__", self._value_of(call.func))
        code = getattr(function, "__code__", None)
        if code is None or not is_users(code.co_filename):
            return None
        file, first = begin_of(code)
        scope = _scope_at(file, code.co_name, first)
        if not isinstance(scope, _Function):
            return None
        given = [self._value_of(each) for each in call.args]
        if isinstance(call.func, ast.Attribute) and not isinstance(
            owner := self._value_of(call.func.value), ModuleType
        ):
            given.insert(0, owner)
        named = dict(zip([each.arg for each in scope.args.args], given, strict=False))
        unknown = self._takes_gradients(call) or self.unknown
        within = _Search(file, {**function.__globals__, **named}, unknown)
        for each in ast.walk(scope):
            if isinstance(each, ast.Return) and each.value is not None:
                if (found := within.behind(scope, each.value, each.lineno + 1, deep + 1)) is not None:
                    return found
        return None

    def _takes_gradients(self, value: ast.expr) -> bool:
        return any(self._requires(each) for each in ast.walk(value) if isinstance(each, ast.Name | ast.Attribute))

    def _requires(self, name: ast.expr) -> bool:
        """Return True if a variable is a tensor, or has parameters, that take gradients; a function's own may."""
        value = self._value_of(name)
        if value is None:
            return self.unknown and isinstance(name, ast.Name)
        parameters: Any = getattr(value, "parameters", None)
        if callable(parameters) and not isinstance(value, type):
            try:
                flags = [bool(each.requires_grad) for each in cast(Any, parameters())]
            except Exception:  # an object of the user's
                return False
            if flags and not any(flags):
                self.frozen[ast.unparse(name)] = None
            return any(flags)
        return getattr(value, "requires_grad", False) is True

    def _value_of(self, name: ast.expr) -> Any:
        """Return what a variable holds, or an attribute that is simply stored; None if unknown."""
        if isinstance(name, ast.Name):
            return self.variables.get(name.id)
        if isinstance(name, ast.Attribute) and (owner := self._value_of(name.value)) is not None:
            own: dict[str, Any] = getattr(owner, "__dict__", {})
            held: dict[str, Any] = {**own, **own.get("_modules", {}), **own.get("_parameters", {})}
            return held.get(name.attr, getattr(cast(object, type(owner)), name.attr, None))
        return None


def _names(value: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}


def _assignments(scope: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    for each in ast.walk(scope):
        if isinstance(each, ast.Assign):
            yield from [(target, each.value) for target in each.targets]
        elif isinstance(each, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and each.value is not None:
            yield each.target, each.value
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "append":
            yield from [(each.func.value, argument) for argument in each.args]


def _mode_of(expression: ast.expr) -> str | None:
    called = expression.func if isinstance(expression, ast.Call) else expression
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name if name in _MODES else None


def _switch_of(call: ast.Call) -> str | None:
    is_switch = isinstance(call.func, ast.Attribute) and call.func.attr == "set_grad_enabled"
    is_off = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is False
    return "set_grad_enabled(False)" if is_switch and is_off else None


def _cut_of(node: ast.AST) -> tuple[str, list[ast.expr]] | None:
    """Return what cuts, and what it is applied to."""
    if isinstance(node, ast.Attribute) and node.attr in ("data", "indices"):
        return f".{node.attr}", [node.value]
    if isinstance(node, ast.Compare):
        return "comparison", [node.left, *node.comparators]
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return f"{node.func.attr}()", [node.func.value, *node.args]
    if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return f"{node.func.id}()", [*node.args]
    return None
