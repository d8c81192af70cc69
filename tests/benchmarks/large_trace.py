"""What a trace of many nodes takes: its file, and the time and the memory of loading and of opening it.

    python tests/benchmarks/large_trace.py [--nodes N]

prints a table: what is found, what is asked of 100,000 nodes, and whether it is met. The program is a chain of products
and tanh on four numbers with its backward, four events a node. Times are of the processor, each in a process of its
own; beside them stands that of a fixed work in NumPy, which tells machines apart.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NODES = 100_000
BOUNDS = {"MB": 30.0, "load": 10.0, "peak of loading": 600.0, "open": 5.0}

MADE = """
import sys
import workbench as torch
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
with torch.record() as trace:
    y = x
    for _ in range(int(sys.argv[1]) // 2):
        y = y * 0.9999
        y = y.tanh()
    y.sum().backward()
del y
with open(sys.argv[2], "wb") as file:
    file.write(trace.to_bytes())
"""
READ = """
import sys, time
import numpy as np
import workbench
sys.path.insert(0, "tests/support")
from memory_peak import peak
matrix = np.random.default_rng(0).normal(size=(600, 600))
begin = time.process_time()
for _ in range(20):
    np.tanh(matrix) @ matrix
print("a fixed work in NumPy", time.process_time() - begin)
begin = time.process_time()
trace = workbench.load(sys.argv[2])
print("load", time.process_time() - begin)
print("peak of loading", peak())
begin = time.process_time()
picture = trace.show()
picture.storyboard
print("open", time.process_time() - begin)
print("peak of opening", peak())
"""


def main() -> int:
    """Measure and print; 1 if something is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=NODES)
    nodes = parser.parse_args().nodes
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | threads | {"PYTHONPATH": str(HERE.parents[1])}
    met = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.json")
        for program in (MADE, READ):
            command = [sys.executable, "-c", program, str(nodes), str(path)]
            ran = subprocess.run(
                command, env=environment, cwd=HERE.parents[1], text=True, check=True, capture_output=True
            )
            told = [line.rsplit(maxsplit=1) for line in ran.stdout.splitlines()] or [["MB", path.stat().st_size / 1e6]]
            for what, found in told:
                bound = BOUNDS.get(what, float("inf")) * nodes / NODES
                met &= float(found) <= bound
                asked = f"at most {bound:.1f}  {'yes' if float(found) <= bound else 'NO'}" if what in BOUNDS else ""
                print(f"{what:24}{float(found):10.2f}  {asked}", flush=True)
    return not met


if __name__ == "__main__":
    sys.exit(main())
