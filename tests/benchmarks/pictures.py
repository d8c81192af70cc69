"""How soon a picture is there, how large a saved page is, and how fast a player steps.

    python tests/benchmarks/pictures.py [--rounds N]

prints a table: what each takes, what is asked for, and whether it is met. The first picture of a graph is everything
that Python does from a recorded trace on: reading what was recorded, telling it, laying it out, the text and image
faces, and what the player is sent. Each is timed on a new trace in every round, in processor time as others may use the
machine too, and the least counts.

A player steps in Chromium, where there is one. From a click to its paint is what the browser itself notes of the click
of a mouse on Step (EventLatency of its trace): from the release of the button, before any script heard of it, until the
frame that shows the step was presented. It is not rounded to 8 ms, as what a page is told is; it counts style, layout
and paint, which a script that times itself leaves out; and the trace writes of input alone, for to trace layout too
makes the layout of a large picture slower. A headless browser presents 60 frames a second to no screen, and draws
without a graphics card: what a monitor adds is not there, and what a card saves is not either. Clicks come while the
dots of the step before still travel, and at any time of a frame.
Frames a second are those that come while every single frame takes a step.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from browser_page import find_chromium, open_page  # noqa: E402
from player_page import show  # noqa: E402
from playwright.sync_api import Page  # noqa: E402

import workbench as torch  # noqa: E402
from workbench import nn  # noqa: E402
from workbench.pictures.scene.matplotlib_drawing import to_png  # noqa: E402
from workbench.pictures.views.program_tree import program_tree  # noqa: E402

FIRST = {10: 0.15, 100: 0.25, 1000: 1.0}  # seconds, by nodes
LARGE, OPENS = 10_000, 2.0
ANY = 1.0  # seconds of any picture of less than 300 nodes
STILL, STEPS_OPEN = 1.5, 2.0  # seconds of a PNG of 130 boxes, and until 1,000 recorded training steps are open
PAGE = 400_000  # bytes of 100 nodes and 1,000 steps
FRAMES = 60  # a second

CLICK, STEPS = 32.0, 80  # ms, in 95 of 100 steps; how many are measured

# A step in every frame, from the start again at the end; when the frames came.
_FRAMES = """async (count) => { const times = [], last = document.querySelector(".wb-slider").max,
    step = document.querySelector('[data-action="step"]'), player = document.querySelector(".wb-player");
  while (times.length < count) { times.push(await new Promise(requestAnimationFrame));
    if (player.dataset.position === last) window.player.go(0); else step.click(); }
  return times; }"""
# What is there when this is over has been painted: the message waits behind the frame.
_PAINTED = """() => new Promise((done) => requestAnimationFrame(() => {
    const port = new MessageChannel(); port.port1.onmessage = () => done(); port.port2.postMessage(0); }))"""


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


def loop(steps: int) -> Any:
    """The trace of an unrolled RNN."""
    w, u, b = (torch.randn(*shape, requires_grad=True) for shape in ((4, 4), (3, 4), (4,)))
    xs = torch.randn(steps, 2, 3)
    with torch.record() as trace:
        h = torch.zeros(2, 4)
        for t in range(steps):
            h = torch.tanh(h @ w + xs[t] @ u + b)
        h.sum().backward()
    return trace


class Residual(nn.Module):
    """A block of two layers with a way around them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(6, 6), nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.norm(self.second(torch.relu(self.first(x)))) + x)


def model(net: nn.Module, x: Any) -> Any:
    """The trace of a model and its backward."""
    with torch.record() as trace:
        net(x).sum().backward()
    return trace


def tangle(nodes: int) -> Any:
    """The trace of a graph in which each node uses any two before it."""
    chance = random.Random(0)
    with torch.record() as trace:
        values = [torch.tensor([n + 1.0, 2.0], requires_grad=True) for n in range(4)]
        for _ in range(nodes):
            one, other = chance.choice(values), chance.choice(values)
            values.append(chance.choice([one * other, one + other, one.sin()]))
        sum(values[-5:]).sum().backward()
    return trace


def training(steps: int) -> Any:
    """The trace of a training."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    rule, x, y = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 3), torch.randn(8, 1)
    with torch.record() as trace:
        for _ in range(steps):
            rule.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            rule.step()
    return trace


PROGRAMS: dict[str, Callable[[], Any]] = {
    "an RNN of 58 steps": lambda: loop(58),
    "24 residual blocks": lambda: model(nn.Sequential(*[Residual() for _ in range(24)]), torch.randn(3, 6)),
    "4 layers of a Transformer": lambda: model(
        nn.Sequential(*[nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(4)]), torch.randn(2, 5, 8)
    ),
    "any two before each": lambda: tangle(90),
}


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
        begin = time.process_time()
        work(given)
        times.append(time.process_time() - begin)
    return min(times)


def views(trace: Any) -> None:
    """The slowest view as a notebook and a page have it."""
    picture = trace.show("flow")
    picture._repr_mimebundle_()
    picture.to_html()


def flat(trace: Any) -> Any:
    """The picture with every group open."""
    return trace.show("graph", open=[group.id for group in program_tree(trace.events).groups()])


def clicks(page: Page, steps: int) -> list[float]:
    """Milliseconds from a click on Step until its frame is presented, in order of size."""
    at = page.locator('[data-action="step"]').bounding_box()
    across, down = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    player = page.locator(".wb-player")
    last = page.locator(".wb-slider").get_attribute("max")
    page.mouse.move(across, down)
    browser = page.context.browser
    browser.start_tracing(page=page, categories=["input.scrolling"])
    for i in range(steps):
        if player.get_attribute("data-position") == last:
            page.evaluate("window.player.go(0)")
        page.wait_for_timeout(100 + i * 7 % 17)
        page.mouse.click(across, down)
    page.wait_for_timeout(500)
    begun: dict[tuple[int, str], float] = {}
    found = []
    for event in json.loads(browser.stop_tracing())["traceEvents"]:
        if event["name"] == "EventLatency":
            which = event["pid"], event["id2"]["local"]
            if event["args"].get("event_latency", {}).get("event_type") == "MOUSE_RELEASED":
                begun[which] = event["ts"]
            elif event["ph"] == "e" and which in begun:
                found.append((event["ts"] - begun.pop(which)) / 1000)
    assert len(found) == steps
    return sorted(found)


def frames(page: Page, count: int = 200) -> float:
    """Frames a second while each takes a step."""
    page.evaluate("window.player.go(0)")
    times = page.evaluate(_FRAMES, count)
    return (count - 1) * 1000 / (times[-1] - times[0])


def play(what: str, story: dict[str, Any]) -> None:
    """Open a storyboard in a browser and print how it steps."""
    with open_page() as page:
        show(page, story)
        page.evaluate("window.player.go(0)")
        page.evaluate(_PAINTED)
        found = clicks(page, STEPS)
        row(f"click to paint, {what}: median", found[len(found) // 2], None, "ms")
        row(f"click to paint, {what}: 95 of 100", found[int(0.95 * len(found))], CLICK, "ms")
        row(f"stepping, {what}", round(frames(page)), FRAMES, "/s", at_least=True)


def painted(story: dict[str, Any]) -> float:
    """Seconds from a storyboard to its player in the browser, painted."""
    with open_page() as page:
        page.goto("about:blank")
        begin = time.perf_counter()
        show(page, story)
        page.evaluate(_PAINTED)
        return time.perf_counter() - begin


def row(what: str, found: float, bound: float | None, unit: str, at_least: bool = False) -> None:
    """One line of the table."""
    met = "" if bound is None else "yes" if (found >= bound if at_least else found <= bound) else "NO"
    asked = "" if bound is None else f"{bound:10.3f} {unit:<3} {found / bound:6.2f}  {met}"
    print(f"{what:<58} {found:10.3f} {unit:<3} {asked}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    first_picture(chain(9))  # what is loaded at first use is loaded
    print(f"{'':<58} {'found':>14} {'asked':>14} {'ratio':>6}  met")
    for nodes, bound in FIRST.items():
        row(f"first picture of {nodes:,} nodes", least(rounds, lambda n=nodes: chain(n), first_picture), bound, "s")
    for what, made in PROGRAMS.items():
        row(f"first picture of {what}", least(rounds, made, first_picture), ANY, "s")
        row(f"flow of {what}, and its page", least(rounds, made, views), ANY, "s")
    drawn = flat(loop(10)).storyboard
    row(f"a PNG of {len(drawn.layout.boxes)} boxes", least(rounds, lambda: drawn, to_png), STILL, "s")
    row("show() of 1,000 training steps", least(1, lambda: training(1000), lambda t: t.show()), STEPS_OPEN, "s")
    row(f"show() of {LARGE:,} nodes", least(rounds, lambda: chain(LARGE), lambda trace: trace.show()), OPENS, "s")
    python = least(rounds, lambda: chain(LARGE), first_picture)
    row(f"first picture of {LARGE:,} nodes", python, OPENS, "s")
    picture = chain(99, backwards=9).show()
    assert len(picture.storyboard.steps) >= 1000
    row("saved page of 100 nodes and 1,000 steps", len(picture.to_html().encode()) / 1000, PAGE / 1000, "kB")
    if find_chromium() is None:
        print("How a player steps was not measured: there is no Chromium here.")
        return
    story = chain(LARGE).show().storyboard.to_dict()
    row(f"first picture of {LARGE:,} nodes, painted", python + painted(story), OPENS, "s")
    play("1,000 nodes closed", chain(1000).show().storyboard.to_dict())
    play("1,000 nodes all open", flat(chain(1000)).storyboard.to_dict())
    play(f"{LARGE:,} nodes closed", story)
    board = chain(LARGE).show().storyboard
    held = Counter(box.region for box in board.scene.boxes.values() if box.region is not None)
    opened = chain(LARGE).show("graph", open=held.most_common(1)[0][0]).storyboard
    play(f"{LARGE:,} nodes, the group that holds most open", opened.to_dict())


if __name__ == "__main__":
    main()
