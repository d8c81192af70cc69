"""What a trace of many nodes takes: the time of recording, its file, and the time and memory of loading and opening it.

    python tests/benchmarks/large_trace.py [--nodes N] [--engine workbench|torch]

prints a table: what is found, what is asked of 100,000 nodes, and whether it is met. The program is a chain of products
and tanh on four numbers with its backward, four events a node. It is recorded with half of the nodes too: twice as many
take twice the time. Times are of the processor, each in a process of its own; beside them stands that of a fixed work
in NumPy, which tells machines apart.
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
BOUNDS = {"record": 16.0, "MB": 30.0, "load": 10.0, "peak of loading": 600.0, "open": 5.0, "load and open": 8.0}

MADE = """
import importlib, sys, time
import workbench
torch = importlib.import_module(sys.argv[3])
other = () if torch is workbench else (torch,)

def run(count):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with workbench.record(*other) as trace:
        begin = time.process_time()
        y = x
        for _ in range(count // 2):
            y = y * 0.9999
            y = y.tanh()
        y.sum().backward()
        return trace, time.process_time() - begin

nodes = int(sys.argv[1])
run(200)
print("record half of them", run(nodes // 2)[1])
trace, taken = run(nodes)
print("record", taken)
begin = time.process_time()
trace.events
print("read what was recorded", time.process_time() - begin)
with open(sys.argv[2], "wb") as file:
    print("MB", file.write(trace.to_bytes()) / 1e6)
"""
READ = """
import sys, time
import numpy as np
import workbench, workbench.pictures.views
sys.path.insert(0, "tests/support")
from memory_peak import peak
matrix = np.random.default_rng(0).normal(size=(600, 600))
begin = time.process_time()
for _ in range(20):
    np.tanh(matrix) @ matrix
print("a fixed work in NumPy", time.process_time() - begin)
begin = time.process_time()
trace = workbench.load(sys.argv[2])
load = time.process_time() - begin
print("load", load)
print("peak of loading", peak())
begin = time.process_time()
picture = trace.show()
picture.storyboard
opened = time.process_time() - begin
print("open", opened)
print("load and open", load + opened)
print("peak of opening", peak())
begin = time.process_time()
page = picture.to_html()
print("write a page", time.process_time() - begin)
print("MB of the page", len(page.encode()) / 1e6)
"""


def main() -> int:
    """Measure and print; 1 if something is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--engine", choices=("workbench", "torch"), default="workbench")
    asked = parser.parse_args()
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | threads | {"PYTHONPATH": str(HERE.parents[1])}
    met = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.json")
        for program in (MADE, READ):
            command = [sys.executable, "-c", program, str(asked.nodes), str(path), asked.engine]
            ran = subprocess.run(
                command, env=environment, cwd=HERE.parents[1], text=True, check=True, capture_output=True
            )
            for what, found in [line.rsplit(maxsplit=1) for line in ran.stdout.splitlines()]:
                bound = BOUNDS.get(what, float("inf")) * asked.nodes / NODES
                met &= float(found) <= bound
                told = f"at most {bound:.1f}  {'yes' if float(found) <= bound else 'NO'}" if what in BOUNDS else ""
                print(f"{what:24}{float(found):10.2f}  {told}", flush=True)
    return not met


if __name__ == "__main__":
    sys.exit(main())
