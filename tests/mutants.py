"""Deliberate bugs in the engine, one at a time: which of them the quick tests catch, and which only the whole suite.

    python tests/mutants.py [COUNT] [--seed N]

draws COUNT places (60) in the engine and in the core of the operations, changes each in a copy of this commit, and runs
the quick tests of the rooms that stand on them until one fails; where none does, those that `pytest` leaves out. A test
that runs for ever counts as one that fails. It takes an hour or more.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
WHERE = ("workbench/autograd", "workbench/ops/core")
# What stands on the engine, a few rooms at a time: most mutants are caught in the first. No picture and no page: they
# take minutes for each mutant.
ROOMS = (("engine", "function"), ("transforms", "ops"), ("trace", "stepper"))
RUNS = {"quick": "not slow and not browser", "whole": "slow and not browser"}
PATIENCE = 1800  # seconds for some rooms
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


def drawn(count: int, seed: int) -> list[tuple[str, ast.AST, str]]:
    """So many mutants of all that can be made: the file, the place and the new text."""
    found = []
    for path in sorted(path for folder in WHERE for path in (CHECKOUT / folder).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        name = str(path.relative_to(CHECKOUT))
        found += [(name, *mutant) for mutant in mutants(source) if _compiles(changed(source, *mutant))]
    return random.Random(seed).sample(found, count)


def _compiles(source: str) -> bool:
    try:
        compile(source, "a mutant", "exec")
    except SyntaxError:
        return False
    return True


def is_caught(copy: Path, run: str, rooms: tuple[str, ...]) -> str:
    """The first test that fails, or nothing."""
    plugins = [f"-pno:{name}" for name in ("cacheprovider", "nbval", "xdist")]
    command = [sys.executable, "-m", "pytest", "-oaddopts=", "-x", "-q", "--tb=no", *plugins, "-m", RUNS[run]]
    command += [f"tests/{room}" for room in rooms]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTEST_ADDOPTS": ""}
    try:
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "a test that runs for ever"
    if ended.returncode in (0, NO_TEST):
        return ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else "the start"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        left, caught = drawn(options.count, options.seed), Counter()
        for run, rooms in product(RUNS, ROOMS):
            assert not (failed := is_caught(copy, run, rooms)), f"without a mutant, too: {failed}"
            left = [mutant for mutant in left if not tell(copy, run, rooms, *mutant)]
            caught[run] = options.count - len(left)
    print(f"{caught['quick']} of the {caught['whole']} that all tests catch are caught by the quick ones")


def tell(copy: Path, run: str, rooms: tuple[str, ...], name: str, node: ast.AST, text: str) -> bool:
    """Print and return whether these rooms catch this mutant."""
    path, source = copy / name, (CHECKOUT / name).read_text(encoding="utf-8")
    path.write_text(changed(source, node, text), encoding="utf-8")
    os.utime(path, (node.col_offset, node.lineno))  # so that no compiled file of another mutant is taken for its own
    test = is_caught(copy, run, rooms)
    path.write_text(source, encoding="utf-8")
    place = f"{name}:{node.lineno} {ast.unparse(node)[:60]!r} -> {text[:60]!r}"
    print(f"{run} {'/'.join(rooms)} {'catch' if test else 'miss'} {place} {test[:120]}", flush=True)
    return bool(test)


if __name__ == "__main__":
    main()
