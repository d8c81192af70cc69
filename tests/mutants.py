"""Deliberate bugs, one at a time: which of them the quick tests catch, and which only the whole suite.

    python tests/mutants.py [COUNT] [--seed N] [--quick] [--rooms ROOM ...]

draws COUNT places (60) in the rooms of the package (all of them, or those that are named), changes each in a copy of
this commit, and runs the quick tests of the folders that stand on its room until one fails; where none does, those that
`pytest` leaves out, unless only the `--quick` ones are asked. No browser test runs: they take minutes for each mutant.
A test that runs for ever counts as one that fails. It takes an hour or more.
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
from itertools import islice, product
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
# The folders of tests that stand on a room of the package, a few at a time: most mutants are caught by the first.
ENGINE = (("engine", "function"), ("transforms", "ops"), ("trace", "stepper"))
PICTURES = (("scene",), ("views",))
FOLDERS = {
    **dict.fromkeys(("autograd", "ops", "func", "nn", "optim", "utils"), ENGINE),
    "trace": (("trace",), ("views", "stepper"), ("bridges",)),
    "bridges": (("bridges",), ("stepper",)),
    "stepper": (("stepper",),),
    **dict.fromkeys(("views", "scene"), PICTURES),
    **dict.fromkeys(("widgets", "tools"), (("stepper", "scene"), ("views", "engine"))),
    **dict.fromkeys(("classroom", "cli"), (("classroom",),)),
}
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
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rooms", nargs="+", choices=sorted(FOLDERS), default=sorted(FOLDERS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        caught: Counter[str] = Counter()
        checked: set[tuple[str, tuple[str, ...]]] = set()
        for mutant in drawn(options.count, options.seed, options.rooms):
            folders = FOLDERS[mutant[0].split("/")[1]]
            first = "none"
            for run, some in product(["quick"] if options.quick else RUNS, folders):
                if (run, some) not in checked:
                    assert not (failed := is_caught(copy, run, some)), f"without a mutant, too: {failed}"
                    checked.add((run, some))
                if tell(copy, run, some, *mutant):
                    first = run
                    break
            caught[first] += 1
    print(", ".join(f"{first}: {count}" for first, count in caught.items()))


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
