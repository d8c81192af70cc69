"""How fast the engine is, beside PyTorch (CPU, one thread), HIPS autograd and mygrad.

    python tests/benchmarks/run.py [WORK...] [--rounds N]

prints a table: what each work costs, how many times PyTorch's cost that is, what is asked for and whether it is met.
The contestants run in turn, round after round, each in a process of its own that stays alive; garbage is collected
before each timed part and the least of all rounds counts. Memory is measured in fresh processes. All get the same
malloc settings: with glibc's own, freed pages go back to the system at every step and come anew at the next. What is
not installed (`pip install torch autograd mygrad`) is named below the table.

The works are in works.py; beside them `import` times `import workbench` and `import numpy` in fresh processes, and
`guards` compares the engine with a copy of itself in which nobody can listen.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contestant import CONTESTANTS, installed
from works import WORKS, Work  # the contestants have put all works into the registry

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "PYTHONHASHSEED": "0",
}
RIVALS = ("torch", "autograd", "mygrad")


CACHE = Path(tempfile.gettempdir()) / "workbench-benchmark-cache"


def environment(root: Path) -> dict[str, str]:
    """What every process gets; the package is taken from `root`."""
    # Compiled modules are kept, as on a user's machine, but not beside the sources.
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **SETTINGS, "PYTHONPATH": str(root), "PYTHONPYCACHEPREFIX": str(CACHE)}


class Contestant:
    """A process that answers questions about works."""

    def __init__(self, name: str, root: Path = CHECKOUT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "contestant.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(root),
        )
        self.missing: str | None = None

    def measure(self, work: Work, in_earnest: bool = True) -> dict[str, Any]:
        """One round of one work."""
        self.process.stdin.write(json.dumps([work.name, in_earnest]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args[-1]} ended in the middle of {work.name!r}; see above.")
        return json.loads(answer)

    def close(self) -> None:
        """Let the process go."""
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def contestants(*named: tuple[str, str, Path]) -> Iterator[dict[str, Contestant]]:
    """Several of them by name, each given as (name, module, root)."""
    started = {name: Contestant(module, root) for name, module, root in named}
    try:
        yield started
    finally:
        for each in started.values():
            each.close()


class Table:
    """The lines of the table, printed as they come."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.failed = 0
        print(f"{'':58}{'workbench':>10}{'ratio':>8}{'at most':>9}{'':>5}" + "".join(f"{r:>10}" for r in RIVALS))

    def line(self, title: str, ours: float, theirs: float | None, bound: float | None, others: dict[str, Any]) -> None:
        """One line; `theirs` is what the bound is set against, None if it is absolute."""
        ratio = ours if theirs is None else ours / theirs
        met = "" if bound is None else "yes" if ratio <= bound else "NO"
        self.failed += met == "NO"
        shown = "" if theirs is None else f"{ratio:.2f}"
        asked = "" if bound is None else f"{bound:.2f}" if theirs is not None else f"{bound:.0f}"
        rivals = "".join(f"{others[r]:10,.0f}" if r in others else f"{'':10}" for r in RIVALS)
        print(f"{title:58}{ours:10,.0f}{shown:>8}{asked:>9}{met:>5}{rivals}", flush=True)


def title_of(work: Work, part: str) -> str:
    """How a part is called in the table."""
    return f"{work.title}{', ' if part else ''}{part}{f' ({work.unit})' if work.unit != 'ns' else ''}"


def least(work: Work, rivals: dict[str, Contestant], rounds: int, table: Table) -> dict[str, list[float]]:
    """The least of all rounds for each contestant that can do the work, part by part."""
    found: dict[str, list[list[float]]] = {}
    for turn in range(rounds + 1):
        for name, contestant in rivals.items():
            answer = contestant.measure(work, turn > 0)  # the first, a small one, loads and compiles
            if "missing" in answer:
                if turn == 0:
                    table.notes.append(answer["missing"] + f" ({work.name}).")
            elif turn:
                found.setdefault(name, []).append(answer["parts"])
                if work.against == "ns":
                    found["events"] = [answer["numbers"]]
    return {name: [min(parts) for parts in zip(*every, strict=True)] for name, every in found.items()}


def report(work: Work, found: dict[str, list[float]], table: Table) -> None:
    """A line for each part."""
    if work.against == "ns":  # what an event costs: the parts that were heard less those that were not
        quiet, heard = found["workbench"][:2], found["workbench"][3:]
        for i, part in enumerate(("forward", "backward")):
            cost = (heard[i] - quiet[i]) / found["events"][i]
            table.line(title_of(work, part), cost, None, work.bounds[i], {})
        return
    for i, part in enumerate(work.parts):
        costs = {name: parts[i] / work.per for name, parts in found.items()}
        theirs = costs.get("hand" if work.against == "by hand" else work.against)
        bound = work.bounds[i] if theirs is not None else None
        table.line(title_of(work, part), costs["workbench"], theirs, bound, costs)


def run_work(work: Work, rivals: dict[str, Contestant], rounds: int | None, table: Table) -> None:
    """Measure one work and print it."""
    rounds = rounds or work.rounds
    if work.against == "ns":
        report(work, least(work, {"workbench": rivals["workbench"]}, rounds, table), table)
    elif work.meter == "clock":
        report(work, least(work, rivals, rounds, table), table)
    else:
        names = [*rivals, *(["hand"] if work.against == "by hand" else [])]
        every: dict[str, list[list[float]]] = {}
        for name in names * min(rounds, work.rounds):
            with contestants((name, name, CHECKOUT)) as fresh:
                for contestant_name, parts in least(work, fresh, 1, table).items():
                    every.setdefault(contestant_name, []).append(parts)
        report(work, {name: [min(p) for p in zip(*parts, strict=True)] for name, parts in every.items()}, table)


def run_import(table: Table, rounds: int) -> None:
    """`import workbench` beside `import numpy`, both from bytecode; the interpreter's start is not counted."""
    code = "import time; t = time.process_time_ns(); import {}; print(time.process_time_ns() - t)"
    found: dict[str, list[int]] = {"numpy": [], "workbench": []}
    with tempfile.TemporaryDirectory() as bytecode:
        settings = {**environment(CHECKOUT), "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(rounds):
            for name, times in found.items():
                command = [sys.executable, "-c", code.format(name)]
                done = subprocess.run(command, capture_output=True, text=True, env=settings, check=True)
                times.append(int(done.stdout))
    ours, theirs = (min(found[name]) / 1000 for name in ("workbench", "numpy"))
    table.line("import workbench against import numpy (µs)", ours, theirs, 1.25, {})


def copy_without_guards(root: Path) -> None:
    """Copy the package to where nobody can listen to the engine: `if listeners:` and what it guards are gone."""
    shutil.copytree(CHECKOUT / "workbench", root / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*(root / "workbench" / "autograd").rglob("*.py"), *(root / "workbench" / "ops").rglob("*.py")):
        text = path.read_text()
        text = re.sub(r"^( *)if listeners:\n(?:\1    .*\n)+", "", text, flags=re.MULTILINE)
        text = text.replace(" or listeners", "")
        path.write_text(text)


def run_guards(table: Table, rounds: int) -> None:
    """What asking whether anybody listens costs when nobody does."""
    with tempfile.TemporaryDirectory() as folder:
        copy_without_guards(Path(folder))
        pair = (("workbench", "workbench", CHECKOUT), ("without", "workbench", Path(folder)))
        with contestants(*pair) as both:
            for name in ("elementwise", "custom"):
                work = WORKS[name]
                found = least(work, both, rounds, table)
                for i, part in enumerate(work.parts):
                    ours, theirs = (found[each][i] / work.per for each in ("workbench", "without"))
                    table.line(f"guards: {title_of(work, part)}", ours, theirs, 1.03, {})


EXTRA = {"import": (run_import, 40), "guards": (run_guards, 100)}


def main() -> None:
    """Run the works named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"any of: {', '.join([*WORKS, *EXTRA])}")
    parser.add_argument("--rounds", type=int, help="how many rounds; by default what a work asks for")
    asked = parser.parse_args()
    chosen = asked.works or [*WORKS, *EXTRA]
    unknown = [name for name in chosen if name not in WORKS and name not in EXTRA]
    if unknown:
        parser.error(f"there is no work called {unknown[0]!r}; there are: {', '.join([*WORKS, *EXTRA])}")
    table = Table()
    there = [name for name in ("workbench", *RIVALS) if installed(name)]
    table.notes += [f"{CONTESTANTS[name].title} is not installed." for name in RIVALS if name not in there]
    with contestants(*[(name, name, CHECKOUT) for name in there]) as rivals:
        for name in chosen:
            if name in WORKS:
                run_work(WORKS[name], rivals, asked.rounds, table)
    for name in chosen:
        if name in EXTRA:
            command, rounds = EXTRA[name]
            command(table, asked.rounds or rounds)
    print("\nLeast of all rounds; nanoseconds (per op, use, node, step) where no other unit is named.")
    for note in dict.fromkeys(table.notes):
        print(note)


if __name__ == "__main__":
    main()
