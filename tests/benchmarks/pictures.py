"""How soon a picture is there, how large a saved page is, and how fast a player steps.

    python tests/benchmarks/pictures.py [--rounds N]

prints a table: what each takes, what is asked for, and whether it is met. The first picture of a graph is everything
that Python does from a recorded trace on: reading what was recorded, telling it, laying it out, the text and image
faces, and what the player is sent. Each is timed on a new trace in every round and the least counts. A player steps in
Chromium, where there is one: what a step takes of the time of a frame, in 95 of 100 steps.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

import workbench as torch  # noqa: E402

FIRST = {10: 0.15, 100: 0.25, 1000: 1.0}  # seconds, by nodes
LARGE, OPENS = 10_000, 2.0
PAGE = 400_000  # bytes of 100 nodes and 1,000 steps
FRAMES = 60  # a second

# Steps to and fro; how long the script of each took; a frame is painted in between.
_STEP = """async (count) => { const times = [], painted = () => new Promise((done) => requestAnimationFrame(() => {
    const port = new MessageChannel(); port.port1.onmessage = done; port.port2.postMessage(0); }));
  for (let i = 0; i < count; i++) { const begin = performance.now();
    window.player.go(i % window.steps); times.push(performance.now() - begin); await painted(); }
  return times; }"""


def chain(nodes: int, backwards: int = 1) -> Any:
    """The trace of a chain of `mul, add, sin` and of backwards through it."""
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with torch.record() as trace:
        y = x
        for _ in range(nodes // 3):
            y = (y * 1.01 + 0.1).sin()
        total = y.sum()
        for _ in range(backwards):
            total.backward(retain_graph=True)
    return trace


def first_picture(trace: Any) -> None:
    """All that Python does until a notebook has the picture."""
    picture = trace.show()
    picture._repr_mimebundle_()
    json.dumps(picture.storyboard.to_dict())


def least(rounds: int, prepare: Callable[[], Any], work: Callable[[Any], Any]) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        given = prepare()
        gc.collect()
        begin = time.perf_counter()
        work(given)
        times.append(time.perf_counter() - begin)
    return min(times)


def slowest_step(story: dict[str, Any], steps: int) -> float | None:
    """Milliseconds of script per step, of 95 in 100 steps; None without a browser."""
    try:
        from browser_page import find_chromium, open_page
        from player_page import show
    except ImportError:
        return None
    if find_chromium() is None:
        return None
    with open_page() as page:
        show(page, story)
        page.evaluate(f"window.steps = {len(story['steps'])}")
        times = sorted(page.evaluate(_STEP, steps))
    return times[int(0.95 * len(times))]


def row(what: str, found: float | None, bound: float, unit: str) -> None:
    """One line of the table."""
    said = "not measured: no Chromium here" if found is None else f"{found:10.3f} {unit:<3}"
    met = "" if found is None else "yes" if found <= bound else "NO"
    print(f"{what:<52} {said} {bound:10.3f} {unit:<3} {found / bound if found else 0:6.2f}  {met}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    first_picture(chain(9))  # what is loaded at first use is loaded
    print(f"{'':<52} {'found':>14} {'asked':>14} {'ratio':>6}  met")
    for nodes, bound in FIRST.items():
        row(f"first picture of {nodes:,} nodes", least(rounds, lambda n=nodes: chain(n), first_picture), bound, "s")
    row(f"show() of {LARGE:,} nodes", least(rounds, lambda: chain(LARGE), lambda trace: trace.show()), OPENS, "s")
    row(f"first picture of {LARGE:,} nodes", least(rounds, lambda: chain(LARGE), first_picture), OPENS, "s")
    picture = chain(99, backwards=9).show()
    assert len(picture.storyboard.steps) >= 1000
    row("saved page of 100 nodes and 1,000 steps", len(picture.to_html().encode()) / 1000, PAGE / 1000, "kB")
    story = chain(LARGE).show().storyboard.to_dict()
    row(f"a step in the player, {LARGE:,} nodes closed", slowest_step(story, 200), 1000 / FRAMES, "ms")
    inside = max(story["insides"].values(), key=lambda each: len(each["boxes"]))
    row("a step in the player, inside a group", slowest_step(inside, 200), 1000 / FRAMES, "ms")


if __name__ == "__main__":
    main()
