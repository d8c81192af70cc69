"""Deliberate bugs, one at a time: which of them the tests catch.

    python tests/mutants.py [COUNT] [--seed N] [--rooms ROOM ...] [--lines FILE]

draws COUNT places (60) in the rooms of the package (all of them, or those that are named) and changes each in a copy of
this commit. The tests that need no browser and are not slow are run once, to learn which of them runs which line
(`--lines` keeps that, for another draw). A mutant is given to the tests that run its line, the quickest first, until
one fails that passes without it. A test that runs for ever counts as one that fails. What a test runs in another
process is not learnt: where no test is known to run a line, those that run its file are taken. What is compared with
PyTorch is caught where PyTorch is installed.
It needs Python 3.12 or a later one.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
CHOICE = "not slow and not scheduled and not browser"
PATIENCE = 1800  # seconds for the tests of a mutant
FIRST = 60  # tests that are tried before all others
TABLE = " entries failed: "  # in what a table of tests says
NO_TEST = 5  # what pytest ends with where no test is chosen
OTHERWISE = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Pow: "*"},
    **{ast.BitAnd: "|", ast.BitOr: "&", ast.And: "or", ast.Or: "and"},
}


def mutants(source: str) -> Iterator[tuple[ast.AST, str]]:
    """Each place of a file that can be changed, and what is to stand there."""
    text, tree = ast.unparse, ast.parse(source)
    types = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    unread = {id(each) for root in types if root is not None for each in ast.walk(root)}
    for node in ast.walk(tree):
        match node:
            case _ if id(node) in unread:
                continue
            case ast.Compare(left, [op], [right]) | ast.BinOp(left, op, right) if type(op) in OTHERWISE:
                yield node, f"({text(left)} {OTHERWISE[type(op)]} {text(right)})"
            case ast.BoolOp(op, values):
                yield node, "(" + f" {OTHERWISE[type(op)]} ".join(f"({text(each)})" for each in values) + ")"
            case ast.UnaryOp(ast.Not(), operand):
                yield node, f"bool({text(operand)})"
            case ast.If(test) | ast.IfExp(test):
                yield test, f"(not ({text(test)}))"
            case ast.Constant(bool() as value):
                yield node, str(not value)
            case ast.Constant(int() as value):
                yield node, str(value + 1)
            case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
                yield value, "None"
            case ast.Expr(ast.Call()) | ast.AugAssign():
                yield node, "pass"
            case ast.Break():
                yield node, "continue"


def changed(source: str, node: ast.AST, text: str) -> str:
    """The file with other text in the place of a node."""
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + text.encode() + after).decode()


def drawn(count: int, seed: int, rooms: list[str]) -> list[tuple[str, ast.AST, str]]:
    """So many mutants of all that can be made: the file, the place and the new text."""
    found: list[Any] = []
    for path in sorted(path for room in rooms for path in (CHECKOUT / "workbench" / room).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(CHECKOUT).as_posix()
        found += [(name, source, *mutant) for mutant in mutants(source)]
    random.Random(seed).shuffle(found)
    possible = ((name, *mutant) for name, source, *mutant in found if _compiles(changed(source, *mutant)))
    return list(islice(possible, count))


def _compiles(source: str) -> bool:
    try:
        compile(source, "a mutant", "exec")
    except SyntaxError:
        return False
    return True


class Tests:
    """The tests of a copy of the checkout, and which of them runs which line."""

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, list[str]]] = {}  # file -> line -> tests
        self.alone: dict[str, str] = {}  # what those that failed with a mutant say without one
        self.unsound: set[str] = set()  # of these, those that fail without one too, and aren't tables

    def learn(self, kept: Path) -> None:
        """Run all tests, and note what they run; or read it from a file that an earlier draw kept."""
        if not kept.exists():
            folders = sorted(f"tests/{path.parent.name}" for path in (self.copy / "tests").glob("*/test_*.py"))
            options = ["-n2", "-pcovered_lines", *dict.fromkeys(folders)]
            self._pytest(options, None, {"WORKBENCH_COVERED_LINES": str(kept)})
        for test, (seconds, covered) in json.loads(kept.read_text(encoding="utf-8")).items():
            self.seconds[test] = seconds
            for name, numbers in covered.items():
                lines = self.lines.setdefault(name, {})
                for number in numbers:
                    lines.setdefault(number, []).append(test)

    def run(self, tests: list[str]) -> str:
        """The first test that fails, or nothing."""
        try:
            ended = self._pytest(["-x", "-pno:xdist", *tests], PATIENCE, {})
        except subprocess.TimeoutExpired:
            return "a test that runs for ever"
        if ended.returncode in (0, NO_TEST):
            return ""
        failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else "the start"

    def _pytest(
        self, options: list[str], timeout: int | None, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-oaddopts=", "-q", "--tb=no", "-pno:cacheprovider", "-pno:nbval"]
        paths = os.pathsep.join(str(self.copy / each) for each in (".", "assets/pytest", "tests/support"))
        whole = {"COLUMNS": "1000000"}  # which entries of a table fail is not cut
        told = os.environ | {"PYTHONPATH": paths, "PYTEST_ADDOPTS": ""} | whole | environment
        command += ["-m", CHOICE, *options]
        return subprocess.run(command, cwd=self.copy, env=told, capture_output=True, text=True, timeout=timeout)

    def that_run(self, name: str, node: Any) -> list[str]:
        """The tests that run a place, the quickest first; where none is known to, those that run its file."""
        lines = self.lines.get(name, {})
        numbers = [number for number in range(node.lineno, node.end_lineno + 1) if number in lines]
        found = {test for number in numbers or lines for test in lines[number]} - self.unsound
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def is_caught(self, name: str, node: Any, text: str) -> str:
        """The first test that fails with a mutant, and not without it."""
        path, source = self.copy / name, (CHECKOUT / name).read_text(encoding="utf-8")
        tests = self.that_run(name, node)
        while True:
            path.write_text(changed(source, node, text), encoding="utf-8")
            os.utime(path, (node.col_offset, node.lineno))  # so that no compiled file is taken for another mutant's
            caught = next(filter(None, (self.run(some) for some in (tests[:FIRST], tests[FIRST:]) if some)), "")
            path.write_text(source, encoding="utf-8")
            test = caught.partition(" ")[2].partition("[")[0].partition(" - ")[0]
            if test not in self.seconds:
                return caught
            if test not in self.alone:
                self.alone[test] = self.run([test])
            # A table tells which of its entries fail: more may with a mutant than without one.
            if not self.alone[test] or (TABLE in caught and caught != self.alone[test]):
                return caught
            if TABLE not in caught:
                self.unsound.add(test)
            tests.remove(test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rooms = sorted(path.parent.name for path in (CHECKOUT / "workbench").glob("*/__init__.py"))
    parser.add_argument("count", nargs="?", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", choices=rooms, default=rooms)
    parser.add_argument("--lines", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        tests = Tests(copy)
        tests.learn(options.lines or copy / "covered.json")
        caught = [tell(tests, *mutant) for mutant in drawn(options.count, options.seed, options.rooms)]
    print(f"caught {sum(caught)} of {len(caught)}")


def tell(tests: Tests, name: str, node: ast.AST, text: str) -> bool:
    """Print and return whether a mutant is caught."""
    test = tests.is_caught(name, node, text)
    place = f"{name}:{node.lineno} {ast.unparse(node)[:60]!r} -> {text[:60]!r}"
    print(f"{'catch' if test else 'miss'} {place} {test[:120]}", flush=True)
    return bool(test)


if __name__ == "__main__":
    main()
