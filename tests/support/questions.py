"""What a question to PyTorch is known by, wherever it is asked: its program's code, and the values it is given.

The code is that of the program, and of all that it names in the files of the tests, and of what that names, as Python's
parser sees it: without comments, docstrings, annotations and layout, and without the program's own name. So a program
can move to another file, and neither the engine, nor the version of Python, nor what ran before changes what it is
known by. What belongs to an engine or to another package counts by its name alone.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
LABEL = 50  # characters of a question that its key begins with
LITERALS = (bool, int, float, complex, str, bytes, slice, range, type(None), type(...))
UNSEEN = {"annotation", "returns", "type_comment", "type_params", "kind", "ctx"}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Place = tuple["Source", ast.AST]  # a file, and a statement or a function in it


class Source:
    """A file of the tests: its functions by name and line, its classes by name, its statements by what they bind."""

    def __init__(self, path: Path) -> None:
        self.functions: dict[tuple[str, int], list[Any]] = {}
        self.classes: dict[str, list[ast.AST]] = {}
        self.bound: dict[str, list[ast.stmt]] = {}
        tree = ast.parse(path.read_bytes())
        self._enter(tree, "")
        for statement in tree.body:
            for name in _bound(statement):
                self.bound.setdefault(name, []).append(statement)

    def _enter(self, node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = child.name if isinstance(child, SCOPES) else "<lambda>"
            if isinstance(child, ast.ClassDef):
                self.classes.setdefault(inside + name, []).append(child)
                self._enter(child, f"{inside}{name}.")
            elif isinstance(child, (*SCOPES, ast.Lambda)):
                line = min([child.lineno, *(each.lineno for each in getattr(child, "decorator_list", ()))])
                self.functions.setdefault((name, line), []).append(child)
                self._enter(child, f"{inside}{name}.<locals>.")
            else:
                self._enter(child, inside)

    def function(self, code: types.CodeType) -> ast.AST:
        """The function that has this code: of several lambdas in a line, the innermost that holds all its positions."""
        found = self.functions[code.co_name, code.co_firstlineno]
        if len(found) > 1:
            places = [(a, c, b, d) for a, b, c, d in code.co_positions() if a and d and (a, c) < (b, d)]
            first, last = min(place[:2] for place in places), max(place[2:] for place in places)
            found = [each.body for each in found]
            found = [each for each in found if _begin(each) <= first and last <= (each.end_lineno, each.end_col_offset)]
        return max(found, key=_begin)

    def places(self, name: str) -> Iterator[Place]:
        """The statements that bind a name of this file, in the file where they are."""
        for statement in self.bound.get(name, ()):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                yield self, statement
            elif isinstance(statement, ast.ImportFrom) and (other := _source(sys.modules.get(statement.module or ""))):
                for alias in statement.names:
                    if name == (alias.asname or alias.name):
                        yield from other.places(alias.name)


def _begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module binds or changes a part of."""
    if isinstance(statement, SCOPES):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in statement.names}
    targets = [each for node in ast.walk(statement) for each in (*getattr(node, "targets", ()), _target(node))]
    inner = [_bound(each) for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]
    return {n.id for target in targets if target for n in ast.walk(target) if isinstance(n, ast.Name)}.union(*inner)


def _target(node: ast.AST) -> ast.AST | None:
    return getattr(node, "target", None) if isinstance(node, ast.stmt) else None


@cache
def _file(path: str) -> Source | None:
    return Source(Path(path)) if Path(path).resolve().is_relative_to(TESTS) else None


def _source(module: types.ModuleType | None) -> Source | None:
    return _file(module.__file__) if module and getattr(module, "__file__", None) else None


class Code:
    """A piece of code as Python's parser sees it: a digest, the same in every version, and the names in it.

    A program counts without its own name and decorators.
    """

    def __init__(self, node: ast.AST, is_program: bool = False) -> None:
        self.methods: list[str] = []
        self._used, self._own = set[str](), set[str]()
        self._without = UNSEEN | {"name", "decorator_list"} if is_program else UNSEEN
        tree = json.dumps(self._fields(node), sort_keys=True)
        self.digest = hashlib.sha256(tree.encode()).hexdigest()
        self.names = self._used - self._own  # those that it takes from outside of it

    def _tree(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._tree(each) for each in node]
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, ast.Name):
            (self._used if isinstance(node.ctx, ast.Load) else self._own).add(node.id)
        elif isinstance(node, ast.Attribute):
            self.methods.append(node.attr)
        elif isinstance(node, ast.arg):
            self._own.add(node.arg)
        elif isinstance(node, (ast.alias, *SCOPES)):
            self._own.add(getattr(node, "asname", None) or node.name)
        return self._fields(node)

    def _fields(self, node: ast.AST) -> list[Any]:
        without, self._without = self._without, UNSEEN
        fields = {
            name: value for name, value in ast.iter_fields(node) if name not in without and value not in (None, [])
        }
        if isinstance(node, SCOPES) and ast.get_docstring(node, clean=False) is not None:
            fields["body"] = node.body[1:]
        return [type(node).__name__, {name: self._tree(value) for name, value in fields.items()}]


_code = cache(Code)


@cache
def _reached(source: Source, program: ast.AST, given: tuple[str, ...] = ()) -> frozenset[str]:
    """All code that a program names, and what that names; some of its names are given."""
    seen = set[ast.AST]()
    todo = [place for name in _code(program, True).names.difference(given) for place in source.places(name)]
    while todo:
        where, found = todo.pop()
        if found not in seen:
            seen.add(found)
            todo += [place for name in _code(found).names for place in where.places(name)]
    return frozenset(_code(each).digest for each in seen)


class _Question:
    """One walk through a program and what it is given."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self.texts: list[str] = []
        self.code: list[Code] = []
        self.above: list[int] = []  # those that are being walked through

    def known(self, value: Any) -> Any:
        """What a value is known by."""
        if isinstance(value, str):
            self.texts.append(value)
        if isinstance(value, LITERALS):
            return repr(value)
        if id(value) in self.above:
            return "itself"
        self.above.append(id(value))
        try:
            return self._known(value)
        finally:
            self.above.pop()

    def _known(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, *map(self.known, value)]
        if isinstance(value, (set, frozenset)):
            return ["set", *sorted(json.dumps(self.known(each)) for each in value)]
        if isinstance(value, dict):
            return ["dict", *([self.known(key), self.known(each)] for key, each in value.items())]
        if isinstance(value, (np.ndarray, np.generic)):
            return [str(value.dtype), self.known(value.tolist())]
        if isinstance(value, partial):
            return ["partial", *map(self.known, (value.func, value.args, value.keywords))]
        if isinstance(value, (staticmethod, classmethod, types.MethodType)):
            return [type(value).__name__, self.known(value.__func__), self.known(getattr(value, "__self__", None))]
        source = _file(value.__code__.co_filename) if isinstance(value, types.FunctionType) else None
        if source:
            return self._function(source, value)
        of = value if isinstance(value, type) else type(value)
        source = _source(sys.modules.get(of.__module__))
        if source and value is of:
            return self._class(source, of)
        if source:
            return ["object", self.known(of), self.known(getattr(value, "__dict__", None))]
        return getattr(value, "__name__", of.__name__)

    def _function(self, source: Source, function: types.FunctionType) -> Any:
        code = function.__code__
        node = source.function(code)
        self.code.append(_code(node, True))
        self.reached |= _reached(source, node, code.co_freevars)
        defaults = self.known(function.__defaults__), self.known(function.__kwdefaults__)
        return ["function", _code(node, True).digest, *defaults, self._cells(function)]

    def _cells(self, function: Any) -> Any:
        """What a function finds in the functions around it; what is not created yet counts as nothing."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return {name: self.known(cell.cell_contents) for name, cell in cells.items() if cell != types.CellType()}

    def _class(self, source: Source, of: type) -> Any:
        """A class by its statement and what its methods find around them; one without a statement by its parts."""
        statements = source.classes.get(of.__qualname__, [])
        for each in statements:
            self.reached |= _reached(source, each)
        if not statements:
            return [of.__name__, *map(self.known, (of.__bases__, {n: v for n, v in vars(of).items() if callable(v)}))]
        methods = [getattr(each, "__func__", each) for each in vars(of).values()]
        cells = [self._cells(each) for each in methods if isinstance(each, types.FunctionType)]
        return ["class", *(_code(each).digest for each in statements), *cells, self.known(of.__bases__)]

    def label(self) -> str:
        """Some words for a reader: the first text that the program is given, or the methods that it calls."""
        words = self.texts[0].split() if self.texts else []
        words = words or [method for code in self.code for method in code.methods]
        return " ".join(islice(words, LABEL))[:LABEL].strip()


def key(program: Callable[..., Any], *args: Any) -> str:
    """What a question is known by: some words of it, and a digest of the whole."""
    question = _Question()
    whole = [question.known(program), question.known(args), sorted(question.reached)]
    return f"{question.label()} {hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]}"
