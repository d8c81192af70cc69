"""Draw the moving picture of the README: `python assets/hero.py`, with PyTorch, Pillow, Playwright and its Chromium."""

from __future__ import annotations

import linecache
import re
import shutil
from html import escape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import workbench

TRAIN = """\
import torch
from torch import nn, optim
import torch.nn.functional as F
import workbench

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, x):
        h = self.hidden(x).tanh()
        return self.out(h)

net = Net()
optimizer = optim.SGD(net.parameters(), 0.1)

with workbench.record(torch) as trace:
    for x, y in data:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()

print(trace.findings())
"""
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")  # None: the one that Playwright installs
WIDTH, HEIGHT, LEFT, LARGEST = 940, 500, 350, 1.0
PANEL = HEIGHT - 44  # of the picture, above the caption

FORWARD = "<b>Forward.</b> Each operation joins the graph and <i>saves</i> the tensors that its backward needs."
BACKWARD = "<b>Backward.</b> Gradients flow back up, one node per step, each with its size."
FREED = "<b>Backward.</b> A node that has run has its saved tensors <i>freed</i>."
UPDATE = "<b>Update.</b> The optimizer changes the parameters. Then the loop goes on, and …"
FOUND = "<b>Findings.</b> What went wrong, the evidence, the line, and the fix."

# What the picture shows: a step of the recording, its caption, and for how long.
BEATS = (
    (1, FORWARD, 800),
    (2, FORWARD, 500),
    (4, FORWARD, 500),
    (5, FORWARD, 600),
    (6, BACKWARD, 600),
    (7, BACKWARD, 900),
    (11, BACKWARD, 700),
    (12, FREED, 900),
    (16, FREED, 700),
    (21, UPDATE, 900),
)
LAST_MS, BLENDED, BLEND_MS = 3500, 2, 50

PAGE = """<style>
* {{ margin: 0; box-sizing: border-box; }}
body {{ width: {width}px; height: {height}px; overflow: hidden; background: #fff; font: 15px system-ui, sans-serif; }}
#code {{ position: absolute; width: {left}px; height: {panel}px;
  background: #f6f8fa; border-right: 1px solid #d9dee5; }}
#code h1 {{ font: bold 12px monospace; color: #57606a; padding: 9px 0 8px 38px; }}
#code pre {{ font: 11.2px/16.2px monospace; color: #24292f; height: 16.2px; padding-left: 6px; white-space: pre; }}
#code pre span {{ display: inline-block; width: 22px; margin-right: 10px; text-align: right; color: #8c959f; }}
#code pre.on {{ background: #ffe8cc; box-shadow: inset 3px 0 #d35f00; }}
#code pre.wrong {{ background: #ffd8b8; box-shadow: inset 3px 0 #b84a00; font-weight: bold; }}
#code pre.wrong em {{ background: #b84a00; color: #fff; font-style: normal; padding: 0 4px; margin-left: 8px; }}
#picture {{ position: absolute; left: {left}px; width: {right}px; height: {panel}px; overflow: hidden; }}
#picture svg {{ position: absolute; left: {inset}px; top: {top}px; transform: scale({scale}); transform-origin: 0 0; }}
#picture .wb-legend {{ display: none; }}
#caption {{ position: absolute; top: {panel}px; width: 100%; height: 44px; background: #1f2733; color: #fff;
  line-height: 44px; padding-left: 18px; font-size: 16px; }}
#caption b {{ color: #ffb066; }}
</style>
<div id="code"><h1>{name}</h1>{code}</div>
<div id="picture">{picture}</div>
<div id="caption">{caption}</div>"""


class Beat(NamedTuple):
    """One state of the picture: the program with the line that runs, the graph, a caption, and for how long."""

    svg: str
    line: int
    caption: str
    shown: int
    is_wrong: bool = False
    program: str = TRAIN
    name: str = "train.py"


def ran(program: str, name: str, **given: Any) -> dict[str, Any]:
    """Run a program as the file of this name, without its prints, and return its variables."""
    torch.manual_seed(1)
    names = {"__name__": "__main__", "print": lambda *texts: None, **given}
    linecache.cache[name] = len(program), None, program.splitlines(True), name
    exec(compile(program, name, "exec"), names)
    return names


def recorded() -> workbench.pictures.recording.Trace:
    """Run the program of the picture."""
    torch.manual_seed(1)
    data = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)]
    return ran(TRAIN, "train.py", data=data)["trace"]


def beats() -> list[Beat]:
    trace = recorded()
    picture = trace.show()
    made = []
    for k, caption, shown in BEATS:
        step, svg = picture.storyboard.steps[k], picture.to_svg(k)
        made.append(Beat(svg, step.cursor["line"], caption, shown))
    (finding,) = trace.findings()
    made.append(Beat(trace.show("health").to_svg(), finding.line.line, FOUND, LAST_MS, is_wrong=True))
    return made


def drawn(page: Page, beat: Beat) -> Image.Image:
    def line(number: int, text: str) -> str:
        here = number == beat.line
        kind = ("wrong" if beat.is_wrong else "on") if here else ""
        mark = "<em>1</em>" if here and beat.is_wrong else ""
        return f'<pre class="{kind}"><span>{number}</span>{escape(text)}{mark}</pre>'

    code = "".join(line(number, text) for number, text in enumerate(beat.program.splitlines(), 1))
    right = WIDTH - LEFT
    wide, high = map(float, re.findall(r'viewBox="\S+ \S+ (\S+) (\S+)"', beat.svg)[0])
    scale = min(LARGEST, right / wide, PANEL / high)  # all of it is in the frame, in the middle
    sizes = {"width": WIDTH, "height": HEIGHT, "panel": PANEL, "left": LEFT, "right": right, "scale": scale}
    middle = {"top": (PANEL - scale * high) / 2, "inset": (right - scale * wide) / 2}
    html = PAGE.format(code=code, name=beat.name, picture=beat.svg, caption=beat.caption, **sizes, **middle)
    page.set_content(html)
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def frames(states: list[Beat], scale: float = 1.0) -> list[tuple[Image.Image, int]]:
    """The frames with their times: each state is held, and the next one is blended in."""
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=scale)
        made: list[tuple[Image.Image, int]] = []
        for now, then in pairwise(states):
            made.append((drawn(page, now), now.shown))
            old, new = made[-1][0], drawn(page, then)
            made += [(Image.blend(old, new, k / (BLENDED + 1)), BLEND_MS) for k in range(1, BLENDED + 1)]
        made.append((drawn(page, states[-1]), states[-1].shown))
        browser.close()
    return made


def save(made: list[tuple[Image.Image, int]], target: Path) -> None:
    """Write the frames as a GIF."""
    held = [image for image, shown in made if shown > BLEND_MS]
    wide, high = held[0].size
    # One palette for all frames, so that what stays the same costs nothing.
    sheet = Image.new("RGB", (wide, high * len(held)))
    for k, image in enumerate(held):
        sheet.paste(image, (0, high * k))
    palette = sheet.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    first, *rest = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image, _ in made]
    shown = [each for _, each in made]
    first.save(target, "GIF", save_all=True, append_images=rest, duration=shown, loop=0, optimize=True)
    print(f"{target.name}: {target.stat().st_size:,} bytes, {len(made)} frames, {sum(shown) / 1000:.1f} s")


if __name__ == "__main__":
    save(frames(beats()), Path(__file__).with_name("hero.gif"))
