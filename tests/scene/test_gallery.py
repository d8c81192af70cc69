"""The gallery: each picture is drawn again as its command draws it, is small, tells what it must, and is current."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab import CHECKOUT

import workbench
from workbench.pictures.scene.curves import Route
from workbench.pictures.scene.geometry import Rectangle, along
from workbench.pictures.scene.metric import CHARACTER, columns
from workbench.pictures.scene.sizes import LABEL_PAD
from workbench.pictures.views import storyboard

GALLERY = CHECKOUT / "assets" / "gallery"
LARGEST = 200_000  # bytes
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")
# What the program is about, in the words of its picture.
TOLD = {
    "mlp": (
        *("net", "MLP", "fc1", "Linear", "torch.relu(self.fc1(x))", "net(x) - y", "(net(x) - y) ** 2"),
        *("loss = ((net(x) - y) ** 2).mean()", "seed 1.0"),
    ),
    "residual": (
        *("net", "Block", "fc1", "Linear", "layer_norm(fc1(…), x.shape[-1:])", "out + x", "loss = net(x).sum()", "x"),
    ),
    "attention": (
        *("net", "Attention 2 heads", "self.split(self.q(x))", "scores = q @ k.transpose(…) / … ** 0.5"),
        *("torch.softmax(scores, -1)", "mixed = (weights @ v).transpose(1, 2)…", "loss = (net(x) ** 2).mean()"),
    ),
    "rnn": (
        *("net", "RNN", "for x in xs", "20 iterations", "iteration 1: cell", "Cell", "18 more iterations (2 to 19)"),
        *("head", "Linear", "loss = (net(xs) ** 2).sum()"),
    ),
    "training": ("w", "b", "x @ w", "x @ w + b - y", "loss = ((… + b - y) ** 2).mean()"),
    "double": ("second order: recorded while backward ran", "grad 12.0", "slope", "y"),
    "function": ("y = Square.apply(x)", "SquareBackward (3,)  [1. 4. 9.]", "saved x", "(3,)  [1. -2. 3.]"),
    "error": ("What happened", "modified since it was saved"),
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pictures as the command draws them now."""
    folder = tmp_path_factory.mktemp("gallery")
    runpy.run_path(str(GALLERY / "draw.py"))["draw"](folder)
    return folder


def texts(path: Path) -> list[str]:
    """The lines that a picture says, in its order."""
    return [line for line in ElementTree.parse(path).getroot().itertext() if line.strip()]


def test_the_programs_are_those_of_the_test(drawn: Path) -> None:
    assert {path.stem for path in drawn.glob("*.svg")} == set(TOLD)
    assert {path.stem for path in GALLERY.glob("*.svg")} == set(TOLD)


@pytest.mark.parametrize("name", TOLD)
def test_a_picture_is_small_and_says_what_its_program_is_about(drawn: Path, name: str) -> None:
    path = drawn / f"{name}.svg"
    assert path.stat().st_size <= LARGEST
    said = texts(path)
    assert [words for words in TOLD[name] if words not in said] == []


def test_the_committed_pictures_are_what_the_command_draws(drawn: Path) -> None:
    # The words and numbers, not the places: those may move with the release of Graphviz, and a number's last digits
    # with the machine.
    for kept in sorted(GALLERY.glob("*.svg")):
        now, then = ("\n".join(texts(folder / kept.name)) for folder in (drawn, kept.parent))
        assert NUMBER.sub("0", now) == NUMBER.sub("0", then), f"{kept.name}: run `python assets/gallery/draw.py` again"
        pairs = zip(NUMBER.findall(now), NUMBER.findall(then), strict=True)
        assert [pair for pair in pairs if not math.isclose(*map(float, pair), rel_tol=0.01, abs_tol=1e-4)] == []


def written(way: Route, label: str) -> Rectangle:
    """Where the text of a label stands, in the room that its arrow keeps for the longest."""
    rows, room = label.split("\n"), way.label
    width, height = min(room.w, max(map(columns, rows)) * CHARACTER + 2 * LABEL_PAD), min(room.h, 16.0 * len(rows))
    left = room.x + room.w - width if way.leftward else room.x
    return Rectangle(left + 1, room.y + (room.h - height) / 2 + 1, width - 2, height - 2)


@pytest.mark.parametrize("view", ["graph", pytest.param("flow", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in ("mlp", "double"))) for name in TOLD]
)
def test_no_label_is_crossed_by_the_arrow_of_another(name: str, view: str) -> None:
    program = runpy.run_path(str(GALLERY / "draw.py"))[name]
    with workbench.record() as trace:
        program()
    for depth in (None,) if name == "rnn" else (None, 9):
        board = storyboard(trace, view, depth=depth)
        ways = board.layout.arrows
        curves = {id: along(way.points).T for id, way in ways.items()}
        clear: set[tuple[str, str, str]] = set()  # labels and curves that were looked at
        for k in range(len(board.steps)):
            drawn = [arrow for arrow in board.at(k).arrows.values() if arrow.kind != "same" and arrow.state != "future"]
            shown = {arrow.id: arrow for arrow in drawn if arrow.id in curves}
            for id, arrow in shown.items():
                if not arrow.label:
                    continue
                text = written(ways[id], arrow.label)
                for other in shown.keys() - {id}:
                    if (id, arrow.label, other) in clear:
                        continue
                    x, y = curves[other]
                    struck = (text.x < x) & (x < text.x + text.w) & (text.y < y) & (y < text.y + text.h)
                    assert not struck.any(), (k, id, other)
                    clear.add((id, arrow.label, other))
