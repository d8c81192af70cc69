"""Seal an exercise file: the released file judges answers as the teacher's file does, but contains no solution.

The probes stay as they are. Solutions and wrong answers are removed, with everything that only they use, and replaced
by the probes' results.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

import workbench as torch

from .answer_kind import AnswerKind
from .evidence import Odd, alike
from .judging import Exercise
from .registry import SUFFIX, run
from .sealed import Sealed, Unrecordable, packed, written

BY_CHANCE = (
    "the probe for {!r} gives varying results for {} of {!r}: they depend on chance or on what ran before. Start the "
    "probe with torch.manual_seed(0)"
)
NOT_RECORDED = (
    "the probe for {!r} returns a result for the solution of {!r} that can't be saved: {}. Let it return numbers, "
    "words, or lists and dicts of these"
)
STILL_THERE = (
    "the solution of {!r} would remain in the released file, because {} uses it. Give the probes a separate function"
)
NOT_TAKEN_OUT = (
    "the solution of {!r} is a value that couldn't be removed. Call exercise(...) outside functions and loops, with "
    "the value in the call"
)
STARRED = "a call of {} passes its arguments with a star. Write them out, so that the solution can be removed"
NEEDS_MORE = (
    "without its solution {!r} is judged differently: the probe for {!r} gives another result. Define everything that "
    "the probes use separately from solutions and wrong answers"
)
NOT_SEALED = "without the solutions the file doesn't run: {}"
_DOCSTRING = """The exercises of {}, as `check` judges them, without the solutions.

The text below contains the probes' results for the solutions and for well-known wrong answers. It is compressed, so
that you don't read it by accident. It can be decoded: where points matter, teachers look at how an answer was found."""
_WIDE = 110  # characters of a line
_ANSWER = 2  # the place of the answer among the arguments of both
_CALLS = {"exercise": "solution", "Misconception": "answer"}
_Definition = ast.FunctionDef | ast.ClassDef


class NotSealed(ValueError):
    """A file that can't be sealed; the text says why, without its full stop."""


def seal_folder(source: Path, place: Path) -> None:
    """Write the exercise files of a folder to another one, as students get them."""
    for file in sorted(source.glob(f"*{SUFFIX}")):
        (place / file.name).write_text(sealed(file.read_text(encoding="utf-8"), file), encoding="utf-8")


def sealed(text: str, path: Path, is_tested: bool = False) -> str:
    """Return the student version of an exercise file; a file that is sealed or has no exercises stays as it is.

    The same text gives the same version.

    Args:
        text: The text of the file.
        path: The place of the file.
        is_tested: The file is known to seal well, so don't run its probes a second time to compare their results.

    Raises:
        NotSealed: if the file can't be sealed; the text says why.
    """
    found, names = run(text, path)
    if all(isinstance(each, Sealed) for each in found.values()):
        return text
    tree, name = ast.parse(text), _free_name(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    right = {each.name: _nodes_of(each.solution, tree, functions, names) for each in found.values()}
    shown = [one for each in found.values() for misconception in each.misconceptions for one in misconception.answers]
    rights = set[ast.AST]().union(*right.values())
    wrongs = set[ast.AST]().union(*(_nodes_of(each, tree, functions, names) for each in shown))
    cut = _Cut(name)
    cut.visit(tree)
    _prune(tree)
    if not (rights | wrongs).isdisjoint(ast.walk(tree)):  # given to a function of the file, which registers them
        _Cut(name, rights, wrongs).visit(tree)
        _prune(tree)
    _check_cut(tree, found, right, cut)
    with _seeded(0):
        outcomes = {each.name: _recorded(each) for each in found.values()}
    made = _unparsed(tree, name, outcomes, path)
    if not is_tested:
        _check_same(made, found, path)
    return made


# The file without its answers.


class _Cut(ast.NodeTransformer):
    """Replace each answer by a name: the arguments of `exercise` and `Misconception`, or the given nodes."""

    def __init__(self, name: str, rights: Iterable[ast.AST] = (), wrongs: Iterable[ast.AST] = ()) -> None:
        self._name = name
        self._rights = {*rights}
        self._nodes = {*rights, *wrongs}
        self._calls = dict(_CALLS)
        self._inside = 0  # of functions, classes and loops
        self.given: dict[str, ast.expr] = {}  # by exercise a solution that the call itself has

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        self._calls |= {each.asname: _CALLS[each.name] for each in node.names if each.asname and each.name in _CALLS}
        return node

    def visit(self, node: ast.AST) -> Any:
        if self._rights or self._nodes:
            return self._without_nodes(node)
        inner = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.For | ast.While | ast.comprehension)
        self._inside += inner
        try:
            return super().visit(node)
        finally:
            self._inside -= inner

    def _without_nodes(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Lambda):
            return ast.Name(self._name, ast.Load()) if node in self._nodes else node
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            defined = {each.name for each in self._nodes if isinstance(each, _Definition)}
            return ast.Name(self._name, ast.Load()) if node.id in defined else node
        if isinstance(node, _Definition) or (isinstance(node, ast.keyword) and node.arg == "probes"):
            return node  # what it refers to, it needs
        if isinstance(node, ast.Assign | ast.AnnAssign):  # a wrong answer may be what a probe compares with
            every, self._nodes = self._nodes, self._rights
            try:
                return super().generic_visit(node)
            finally:
                self._nodes = every
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called not in self._calls:
            return node
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise NotSealed(STARRED.format(called))
        answer = self._calls[called]
        if len(node.args) > _ANSWER:
            self._note(node, node.args[_ANSWER])
            node.args[_ANSWER] = ast.Name(self._name, ast.Load())
        for each in node.keywords:
            if each.arg == answer:
                self._note(node, each.value)
                each.value = ast.Name(self._name, ast.Load())
        if answer == "answer":
            del node.args[_ANSWER + 1 :]
            node.keywords = [each for each in node.keywords if each.arg != "also"]
        return node

    def _note(self, call: ast.Call, solution: ast.expr) -> None:
        name = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "name"), None)
        if isinstance(name, ast.Constant) and not self._inside:
            self.given[str(name.value)] = solution


def _free_name(text: str) -> str:
    """Return a name that the file doesn't use."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    name = "SEALED"
    while name in used:
        name += "_"
    return name


def _prune(tree: ast.Module) -> None:
    """Remove what the file defines but doesn't use."""
    needed: set[str] = set()
    kept: set[ast.stmt] = set()
    waiting = [each for each in tree.body if not _given_by(each)]
    while waiting:
        for each in waiting:
            kept.add(each)
            needed |= _names_in(each)
        waiting = [each for each in tree.body if each not in kept and needed & _given_by(each)]
    body = [each for each in tree.body if each in kept]
    for each in body:
        if isinstance(each, ast.Import | ast.ImportFrom) and getattr(each, "module", None) != "__future__":
            each.names = [name for name in each.names if name.name == "*" or _imported(name) in needed]
    tree.body = body


def _given_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement only exists to define; none if it does something else."""
    if isinstance(statement, _Definition):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        names = {_imported(each) for each in statement.names}
        return set() if getattr(statement, "module", None) == "__future__" or "*" in names else names
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return set().union(*map(_roots, targets))
    return set()


def _imported(name: ast.alias) -> str:
    return name.asname or name.name.partition(".")[0]


def _roots(target: ast.expr) -> set[str]:
    """Return the names of what is assigned to, or into."""
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*map(_roots, target.elts))
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        target = target.value
    return {target.id} if isinstance(target, ast.Name) else set()


# The place of an answer in the file.


def _nodes_of(answer: Any, tree: ast.Module, functions: Sequence[ast.AST], names: Mapping[str, Any]) -> set[ast.AST]:
    """Return the parts of the file that define a function or a class; none for a value."""
    if not isinstance(answer, type):
        return _nodes_of_code(answer, functions, names)
    held = {node for node in tree.body if isinstance(node, ast.ClassDef) and names.get(node.name) is answer}
    return held.union(*(_nodes_of_code(each, functions, names) for each in vars(answer).values()))


def _nodes_of_code(answer: Any, functions: Sequence[ast.AST], names: Mapping[str, Any]) -> set[ast.AST]:
    function = getattr(answer, "__func__", answer)
    if not isinstance(function, FunctionType) or function.__code__.co_filename != names["__file__"]:
        return set()
    code = function.__code__
    found = [node for node in functions if _may_be(node, code)]
    if len(found) > 1:  # several on one line: the innermost that has all of the code
        found = [node for node in found if _encloses(node, code)]
        found = sorted(found, key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset))[:1]  # pyright: ignore
    return {*found}


def _may_be(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    return min([node.lineno, *(each.lineno for each in node.decorator_list)]) == code.co_firstlineno


def _encloses(node: Any, code: CodeType) -> bool:
    begins, ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    places = [each for each in code.co_positions() if None not in each and each[3] != each[2]]
    return all(begins <= (line, first) and (last, end) <= ends for line, last, first, end in places)  # pyright: ignore


def _check_cut(tree: ast.Module, found: Mapping[str, Exercise], right: Mapping[str, set[ast.AST]], cut: _Cut) -> None:
    """Refuse a file that still contains a solution."""
    held = {*ast.walk(tree)}
    for name, exercise in found.items():
        given = cut.given.get(name)
        if not held.isdisjoint(right[name]):
            raise NotSealed(STILL_THERE.format(name, _user_of(tree, right[name])))
        if isinstance(given, ast.Name) and any(given.id in _given_by(each) for each in tree.body):
            raise NotSealed(STILL_THERE.format(name, _user_of(tree, set(), given.id)))
        if given is None and not right[name] and not isinstance(exercise, Sealed):
            raise NotSealed(NOT_TAKEN_OUT.format(name))


def _user_of(tree: ast.Module, nodes: set[ast.AST], given: str = "") -> str:
    """Return what uses a definition, in words."""
    held = [each for each in tree.body if any(node in nodes for node in ast.walk(each)) or given in _given_by(each)]
    own = {given}.union(*map(_given_by, held))
    users = [each for each in tree.body if each not in held and own & _names_in(each)]
    named = sorted(name for each in users for name in _given_by(each))
    return named[0] if named else "a probe"


def _names_in(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


# What the probes find.


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed all random numbers, and restore their states afterward."""
    own, numpys, pythons = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        yield
    finally:
        torch.set_rng_state(own)
        np.random.set_state(numpys)
        random.setstate(pythons)


def _recorded(exercise: Exercise) -> dict[str, Any]:
    """Return what the probes find in the answers of an exercise, to be packed."""
    asked, right = AnswerKind.of(exercise.solution), exercise.found_in(exercise.solution)
    for aspect, each in right.items():
        if odd := _odd_in(each):
            raise NotSealed(NOT_RECORDED.format(aspect, exercise.name, odd))
    try:
        return {
            "asked": [asked.kind, asked.is_function, asked.is_empty, sorted(asked.names)],
            "right": {aspect: written(each) for aspect, each in right.items()},
            "wrong": [
                [{aspect: written(each) for aspect, each in exercise.found_in(one).items()} for one in shown.answers]
                for shown in exercise.misconceptions
            ],
        }
    except Unrecordable as error:
        raise NotSealed(NOT_RECORDED.format(" and ".join(right), exercise.name, error)) from None


def _odd_in(found: Any) -> str:
    """Return the part of a result that is like nothing else, not even like itself; empty if there is none."""
    if isinstance(found, Odd):
        return found.kind
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return next(filter(None, map(_odd_in, parts)), "")


def _check_same(made: str, found: Mapping[str, Exercise], path: Path) -> None:
    """Refuse a file whose probes don't reproduce what was recorded, for any random numbers."""
    try:
        again, _ = run(made, path)
    except Exception as error:
        raise NotSealed(NOT_SEALED.format(f"{type(error).__name__}: {error}".rstrip("."))) from None
    for name, exercise in found.items():
        answers = [("the solution", exercise.solution, again[name]._expected)]
        for shown, recorded in zip(exercise.misconceptions, again[name]._shown, strict=True):
            answers += [
                (f"the misconception {shown.name!r}", *each) for each in zip(shown.answers, recorded, strict=True)
            ]
        for what, answer, expected in answers:
            with _seeded(1):
                seen = again[name].found_in(answer)
            for aspect in (each for each in seen if not _same(seen[each], expected[each])):
                with _seeded(1):
                    before = exercise.found_in(answer)[aspect]
                if _same(before, expected[aspect]):
                    raise NotSealed(NEEDS_MORE.format(name, aspect))
                raise NotSealed(BY_CHANCE.format(aspect, what, name))


def _same(one: Any, other: Any) -> bool:
    return bool(_odd_in(one) and _odd_in(other)) or alike(one, other)


def _unparsed(tree: ast.Module, name: str, outcomes: Mapping[str, Any], path: Path) -> str:
    """Return the text of the file, with the results at the end of the docstring."""
    body = tree.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    future = [each for each in body if isinstance(each, ast.ImportFrom) and each.module == "__future__"]
    rest = [each for each in body if each not in future]
    text = packed(outcomes)
    lines = [f'    "{text[n : n + _WIDE]}"' for n in range(0, len(text), _WIDE)]
    docstring = _DOCSTRING.format(path.name.removesuffix(SUFFIX) + ".ipynb")
    parts = [
        f'"""{docstring}\n"""',
        *map(ast.unparse, future),
        "from workbench.classroom.sealed import Outcomes",
        f"{name} = Outcomes(\n" + "\n".join(lines) + "\n)",
        *map(ast.unparse, map(ast.fix_missing_locations, rest)),
    ]
    return "\n\n".join(parts) + "\n"
