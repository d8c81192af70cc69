"""Make a film of two minutes to send to a colleague: `python assets/film.py film.gif`, or .mp4 where ffmpeg is.

Each chapter is a program that runs and is recorded while the film is made, step by step with the captions that a
player shows. It needs what hero.py needs. The file isn't committed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from hero import FOUND, TRAIN, Beat, frames, ran, recorded, save

from workbench.pictures.scene.picture import Picture

GRAPH = """\
import workbench as torch

x = torch.tensor(2.0)
w = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)

with workbench.record() as trace:
    a = w * x
    out = a + b
    loss = (out - 7.0) ** 2
    loss.backward()

trace.show()
"""
FUNCTION = """\
import workbench as torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

x = torch.tensor([1.0, 3.0],
                 requires_grad=True)
with workbench.record(lines=True) as trace:
    Square.apply(x).sum().backward()

trace.show("function")
"""
ERROR = """\
import workbench as torch

w = torch.tensor([1.0, 2.0],
                 requires_grad=True)
h = w.exp()
loss = (h * w).sum()
h += 1
try:
    loss.backward()
except RuntimeError as error:
    picture = workbench.explain(error)
"""
WRONG = """\
import workbench as torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * x * grad

x = torch.tensor([1.0, 2.0],
                 requires_grad=True)
found = workbench.audit(Cube, x)
"""
TITLE = """<svg viewBox="0 0 590 456"><foreignObject width="590" height="456"><div xmlns="http://www.w3.org/1999/xhtml"
 style="padding: 130px 40px; font: 34px/1.35 system-ui, sans-serif; color: #1f2733">{}</div></foreignObject></svg>"""
READ_MS, TITLE_MS, PER_LETTER_MS, LEAST_MS = 5000, 3500, 50, 1800  # a caption is on for as long as one reads it
LONGEST = 100  # letters of a caption


class Chapter(NamedTuple):
    """A title, the program with its file's name, and the pictures that it gives."""

    title: str
    program: str
    name: str
    pictures: Callable[[dict[str, Any]], list[Picture]]


CHAPTERS = (
    Chapter("What does <b>backward()</b> do?", GRAPH, "graph.py", lambda names: [names["trace"].show()]),
    Chapter(
        "Your own <b>Function</b>, line by line",
        FUNCTION,
        "square.py",
        lambda names: [names["trace"].show("function")],
    ),
    Chapter("An error, <b>explained</b>", ERROR, "error.py", lambda names: [names["picture"]]),
    Chapter(
        "A wrong backward, <b>audited</b>: both Jacobians",
        WRONG,
        "cube.py",
        lambda names: [names["found"].picture],
    ),
)


def steps(chapter: Chapter) -> Iterator[Beat]:
    """Return the beats of a chapter: its title, then each step with its caption."""
    program, name = chapter.program, chapter.name
    yield Beat(TITLE.format(chapter.title), 0, "", TITLE_MS, program=program, name=name)
    for picture in chapter.pictures(ran(program, name)):
        for k, step in enumerate(picture.storyboard.steps):
            caption = said(step.caption)
            shown = max(LEAST_MS, PER_LETTER_MS * len(caption))
            line = (step.cursor or {}).get("line", 0)
            yield Beat(picture.to_svg(k), line, _html(caption), shown, program=program, name=name)


def said(caption: str) -> str:
    """Return as much of a caption as fits on a line: its first sentence, or the first part of that."""
    sentence = re.split(r"(?<=[^\d])\. (?=[A-Z])", caption)[0].rstrip(".")
    while len(sentence) > LONGEST and re.search("[;:,] ", sentence):
        sentence = re.sub("[;:,] [^;:,]*$", "", sentence)
    return f"{sentence}."


def _html(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def training() -> Iterator[Beat]:
    """Return the beats of a training run in PyTorch that goes wrong."""
    trace = recorded()
    (finding,) = trace.findings()
    yield Beat(TITLE.format("Why doesn't this <b>PyTorch</b> program learn?"), 0, "", TITLE_MS)
    yield Beat(trace.show("health").to_svg(), finding.line.line, FOUND, READ_MS, is_wrong=True)
    text = _html(str(finding).partition("\n")[0])
    yield Beat(TITLE.replace("34px", "22px").format(text), finding.line.line, FOUND, READ_MS, is_wrong=True)


def film() -> list[Beat]:
    """Return all beats."""
    made = [beat for chapter in CHAPTERS for beat in steps(chapter)]
    last = "24 lessons, from a slope to an engine of your own.<br><br><b>pip install autograd-workbench</b>"
    return [*made, *training(), Beat(TITLE.format(last), 0, "", READ_MS, program=TRAIN)]


def save_mp4(made: list[tuple[Any, int]], target: Path) -> None:
    """Write the frames as an MP4 with ffmpeg."""
    with tempfile.TemporaryDirectory() as place:
        listed = []
        for k, (image, shown) in enumerate(made):
            image.save(Path(place, f"{k}.png"))
            listed.append(f"file '{k}.png'\nduration {shown / 1000}")
        Path(place, "list.txt").write_text("\n".join([*listed, f"file '{len(made) - 1}.png'"]), encoding="utf-8")
        form = ("-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2,format=yuv420p", "-movflags", "+faststart")
        given = ("-f", "concat", "-safe", "0", "-i", str(Path(place, "list.txt")))
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *given, *form, str(target)], check=True)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "film.gif")
    if target.suffix == ".mp4":
        if shutil.which("ffmpeg") is None:
            sys.exit("film.py needs the program ffmpeg for an .mp4: install it, or name a file that ends in .gif.")
        save_mp4(frames(film(), scale=2), target)
    else:
        save(frames(film()), target)
