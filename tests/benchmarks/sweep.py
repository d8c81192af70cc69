"""How fast every kind of call is on small arrays, beside PyTorch on one thread: in the default dtype, then in float64.

    python tests/benchmarks/sweep.py [CALL...] [--dtype float32|float64] [--rounds N] [--before PATH]

prints for each call of calls.py how many times PyTorch's time the workbench takes, forward alone and with backward, and
how many times that of NumPy by hand where that says something; then the geometric means, and how many are over 2.
`--before` names another checkout, whose ratios stand beside. Each contestant is a process of its own, they take turns
round by round, and the least of all rounds counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from typing import Any

from calls import BY_HAND, CALLS, SETUP, Call

TURN = 400_000  # ns that a call is repeated for in a round
ASKED = {"all": 0.62, "forward": 0.90, "with backward": 0.42}
KINDS = ("float32", "float64")  # the default dtype is what most people compute in
_REPEAT = """
def repeat(times):
    global z  # for `z += 1`
    begin = clock()
    for _ in range(times):
        {}
    return clock() - begin
"""
_BACKWARD = """result = {}
        result.backward(seed)
        for each in leaves:
            each.grad = None"""


def main() -> None:
    """Measure what the command line names, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("calls", nargs="*", metavar="CALL", help="names in calls.py; by default all")
    parser.add_argument("--dtype", choices=KINDS, help="by default both")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    asked = parser.parse_args()
    unknown = [name for name in asked.calls if name not in {call.name for call in CALLS}]
    if unknown:
        parser.error(f"there is no call {unknown[0]!r}; there are: {', '.join(call.name for call in CALLS)}")
    from run import CHECKOUT

    places = {"workbench": CHECKOUT, "torch": CHECKOUT, "hand": CHECKOUT}
    if asked.before:
        places["before"] = asked.before.resolve()
    for kind in [asked.dtype] if asked.dtype else KINDS:
        print(f"\n{kind}")
        print_table(least(places, asked.calls, asked.rounds, kind), list(places))


def least(places: dict[str, Path], names: list[str], rounds: int, kind: str) -> dict[tuple[str, str], dict[str, float]]:
    """The least time of each call and way, by contestant."""
    from run import environment

    started = {}
    for name, root in places.items():
        module = "workbench" if name == "before" else name
        command = [sys.executable, __file__, "--contestant", module, kind]
        started[name] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(root)
        )
    found: dict[tuple[str, str], dict[str, float]] = {}
    for call in CALLS:
        if names and call.name not in names:
            continue
        for _ in range(rounds):
            for name, process in started.items():
                process.stdin.write(call.name + "\n")
                process.stdin.flush()
                for way, time_taken in json.loads(process.stdout.readline()).items():
                    times = found.setdefault((call.name, way), {})
                    times[name] = min(times.get(name, time_taken), time_taken)
    for process in started.values():
        process.stdin.close()
        process.wait()
    return found


def print_table(found: dict[tuple[str, str], dict[str, float]], places: list[str]) -> None:
    """A line for each figure, then what they come to."""
    ours = [name for name in ("workbench", "before") if name in places]
    heads = "".join(f"{name:>11}" for name in ours)
    print(f"{'× torch':40}{heads}{'× NumPy':>11}{'ns':>10}{'torch':>10}")
    ratios: dict[str, dict[str, list[float]]] = {name: {"forward": [], "with backward": []} for name in ours}
    for (call, way), times in found.items():
        for name in ours:
            ratios[name][way].append(times[name] / times["torch"])
        figures = "".join(f"{times[name] / times['torch']:11.2f}" for name in ours)
        hand = f"{times['workbench'] / times['hand']:11.2f}" if "hand" in times else " " * 11
        print(f"{call + ('' if way == 'forward' else ', with backward'):40}{figures}{hand}"
              f"{times['workbench']:10,.0f}{times['torch']:10,.0f}")  # fmt: skip
    for name in ours:
        every = {"all": [each for way in ratios[name].values() for each in way], **ratios[name]}
        print(f"\n{name}:")
        for kind, figures in every.items():
            if figures:
                mean = exp(sum(map(log, figures)) / len(figures))
                print(f"  geometric mean, {kind}: {mean:.2f} (asked {ASKED[kind]:.2f})")
        print(f"  over 2: {sum(each > 2 for each in every['all'])} of {len(every['all'])} (asked at most 6)")
        print(f"  most: {max(every['all']):.2f} (asked at most 3)")


class Contestant:
    """One module, and its calls ready to be repeated."""

    def __init__(self, module: str, kind: str) -> None:
        self.names: dict[str, Any] = {"clock": time.thread_time_ns}  # of this thread alone: others may be busy
        self.by_hand = module == "hand"
        if module == "torch":
            import torch

            torch.set_num_threads(1)
            self.names |= {"t": torch, "F": torch.nn.functional, "kind": getattr(torch, kind)}
        elif module == "workbench":
            import workbench
            import workbench.nn.functional

            self.names |= {"t": workbench, "F": workbench.nn.functional, "kind": getattr(workbench, kind)}
        else:
            self.names["kind"] = kind
        exec(BY_HAND if self.by_hand else SETUP, self.names)
        self._ready: dict[str, dict[str, tuple[Callable[[int], int], int]]] = {}
        gc.freeze()  # what is imported stays: to look through it before each measurement takes longer than measuring

    def measure(self, call: Call) -> dict[str, float]:
        """Nanoseconds of one call, each way that it has."""
        if call.name not in self._ready:
            self._ready[call.name] = self._prepared(call)
        gc.collect()
        return {way: repeat(times) / times for way, (repeat, times) in self._ready[call.name].items()}

    def _prepared(self, call: Call) -> dict[str, tuple[Callable[[int], int], int]]:
        ways = {"forward": call.by_hand if self.by_hand else call.source}
        names = dict(self.names)
        if not self.by_hand:
            exec(call.before, names)
            if call.backward is not None:
                source = call.backward or call.source
                output = eval(source, names)
                names["seed"] = names["t"].ones_like(output.detach())
                output.backward(names["seed"])
                names["leaves"] = [each for each in names["leaves"] if each.grad is not None]
                ways["with backward"] = _BACKWARD.format(source)
        ready = {}
        for way, source in ways.items():
            if source:
                exec(_REPEAT.format(source), names)
                repeat = names["repeat"]
                repeat(20)
                ready[way] = repeat, max(1, round(TURN / max(1, repeat(50) / 50)))
        return ready


def answer(module: str, kind: str) -> None:
    """Measure the call that each line names, until there are no more."""
    contestant, calls = Contestant(module, kind), {call.name: call for call in CALLS}
    for line in sys.stdin:
        print(json.dumps(contestant.measure(calls[line.strip()])), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contestant"]:
        answer(*sys.argv[2:4])
    else:
        main()
