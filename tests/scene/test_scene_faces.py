"""Text, SVG, DOT and PNG all show the scene that they are given, and the same each time."""

from __future__ import annotations

import re
import struct
from collections import Counter
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.image
import pygraphviz
import pytest
from scene_samples import deep, loss, square

from workbench.pictures.scene import matplotlib_drawing
from workbench.pictures.scene.matplotlib_drawing import to_png
from workbench.pictures.scene.model import Arrow, Box, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_digraph, to_dot, to_sentence, to_text

SVG = "{http://www.w3.org/2000/svg}"
SQUARE_TEXT = """\
y = Square.apply(x)
y (output): float64 (3,), [1, 4, 9]
└─ SquareBackward (custom Function): y = x * x
   ├╌ saved x: float64 (3,), [1, 2, 3]
   └─ x (leaf): float64 (3,); gives [1, 2, 3]

4 steps, 1 forward and 3 backward; the graph is shown after step 1:
1. Square.apply(x) makes y and keeps x
2. backward() starts at y with the gradient [1, 1, 1]
3. SquareBackward runs and lets its saved x go
4. x.grad is now [2, 4, 6]"""


def _groups(svg: str) -> dict[str, list[str]]:
    """The texts of each box and arrow in the SVG, by its title."""
    root = ElementTree.fromstring(svg)
    return {
        group.find(f"{SVG}title").text: [text.text for text in group.iter(f"{SVG}text")]
        for group in root.iter(f"{SVG}g")
    }


def test_text_reads_as_a_person_would_tell_it():
    assert to_text(square()) == SQUARE_TEXT


def test_text_names_a_box_once_and_then_refers_to_it():
    boxes = {"x": Box("x", "leaf", "x"), "n": Box("n", "op", "MulBackward0")}
    board = Storyboard(Scene("", boxes, {"a": Arrow("a", "x", "n"), "b": Arrow("b", "x", "n")}))
    assert to_text(board) == "MulBackward0\n├─ x (leaf)\n└─ x (leaf, see above)"


def test_text_of_hundreds_of_steps_and_boxes_stays_readable():
    boxes = {f"n{n}": Box(f"n{n}", "op", f"AddBackward{n}") for n in range(500)}
    arrows = {f"{n}": Arrow(f"{n}", f"n{n}", f"n{n + 1}") for n in range(499)}
    lines = to_text(Storyboard(Scene("", boxes, arrows), [StoryStep(f"step {n}") for n in range(1, 401)])).split("\n")
    assert len(lines) < 60 and max(map(len, lines)) < 130
    assert "… and 485 more boxes" in lines and "… 378 more steps …" in lines
    assert lines[-1] == "400. step 400"


def test_text_of_wide_pictures_ends():
    boxes = {f"n{n}": Box(f"n{n}", "leaf", f"x{n}") for n in range(5000)} | {"out": Box("out", "op", "StackBackward0")}
    board = Storyboard(Scene("", boxes, {id: Arrow(id, id, "out") for id in boxes if id != "out"}))
    assert to_text(board).endswith("more boxes") and to_text(board).count("\n") < 100


def test_text_tells_what_became_of_everything():
    board = Storyboard(loss().at(10), title="later")
    text = to_text(board)
    assert "MulBackward0 (running): self * other" in text and "saved self (freed)" in text
    assert "w (leaf, ready): float64 (3,); receives the gradient [1, 4, 9], norm 9.899" in text


def test_a_sentence_stands_for_the_image():
    assert to_sentence(square()) == (
        "y = Square.apply(x): y (output): float64 (3,), [1, 4, 9]; "
        "SquareBackward (custom Function): y = x * x; saved x: float64 (3,), [1, 2, 3]; "
        "x (leaf): float64 (3,); gives [1, 2, 3]"
    )
    assert len(to_sentence(deep(100))) <= 1000


def test_svg_is_one_accessible_document_that_needs_nothing():
    svg = to_svg(loss())
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and root.get("aria-label") == "L = (square(x) * w + b * 2).sum()"
    assert root.find(f"{SVG}title").text == root.get("aria-label")
    assert "SquareBackward (custom Function)" in root.find(f"{SVG}desc").text
    assert not re.search(r"href|url\(|@import|http(?!://www\.w3\.org/2000/svg)|var\(", svg)


def test_svg_shows_every_box_with_its_texts():
    groups = _groups(to_svg(loss()))
    assert groups["MulBackward0 (operation); self * other"] == ["MulBackward0", "self * other"]
    assert groups["other = w (saved tensor); float64 (3,); [0.5, -1, 2]"] == [
        "other = w",
        "float64 (3,)",
        "[0.5, -1, 2]",
    ]
    assert groups["from x to SquareBackward: [1, 2, 3]"] == ["[1, 2, 3]"]


def test_svg_leaves_out_what_is_not_there_yet():
    assert _groups(to_svg(loss(), -1)) == {}
    assert to_svg(loss(), 0).count("<g ") == 4  # x, the node, what it saved, and the arrow between
    assert to_svg(loss()).count("<g ") == 13 + 9


def test_svg_marks_what_runs_and_tells_what_was_freed_in_a_word():
    root = ElementTree.fromstring(to_svg(square(), 2))
    shapes = {group.get("class"): Counter(shape.get("class") for shape in group) for group in root.iter(f"{SVG}g")}
    assert shapes["wb-box wb-kind-function wb-state-running"].keys() >= {"wb-glow", "wb-disc", "wb-sign"}
    assert shapes["wb-box wb-kind-saved wb-state-freed"]["wb-word"] == 1
    assert shapes["wb-arrow wb-kind-edge wb-state-flowing"]["wb-pill"] == 1


def test_a_value_points_down_and_a_gradient_up():
    def tip(k: int) -> float:
        root = ElementTree.fromstring(to_svg(square(), k))
        arrow = next(
            group for group in root.iter(f"{SVG}g") if "back to x" in group[0].text or "from x" in group[0].text
        )
        head = next(shape for shape in arrow if shape.get("class") == "wb-head")
        return float(re.match(r"M[\d.]+,([\d.]+)", head.get("d"))[1])

    places = square().layout.boxes
    assert tip(0) == pytest.approx(places["n1"].y, abs=0.2)
    assert tip(2) == pytest.approx(places["x"].y + places["x"].h, abs=0.2)


@pytest.mark.parametrize("face", [to_text, to_sentence, to_svg, to_dot, to_png])
def test_every_face_is_the_same_each_time(face):
    assert face(loss()) == face(loss())


@pytest.mark.parametrize("face", [to_svg, to_dot, to_png])
def test_every_drawing_differs_by_step_and_theme(face):
    board = square()
    assert len({face(board, k, theme) for k in range(4) for theme in ("light", "dark")}) == 8


def test_dot_says_what_the_picture_shows():
    board = loss()
    graph = pygraphviz.AGraph(string=to_dot(board, 10))
    assert set(graph.nodes()) == set(board.scene.boxes)
    assert {(a, b) for a, b in graph.edges()} == {(a.source, a.target) for a in board.scene.arrows.values()} | {
        ("n1", "s1"),
        ("n2", "s2"),
        ("n2", "s3"),
    }
    assert graph.get_node("s2").attr["label"] == r"self (freed)\nfloat64 (3,)\n[1, 4, 9]"
    assert graph.get_node("n2").attr["penwidth"] == "4"
    assert graph.get_edge("w", "n2").attr["dir"] == "back" and graph.get_edge("c", "n3").attr["style"] == "dashed"


def test_dot_is_an_object_of_the_graphviz_package():
    digraph = to_digraph(square())
    digraph.node("mine")
    assert "mine" in pygraphviz.AGraph(string=digraph.source)


def test_png_has_the_pictures_size_at_any_scale():
    board = square()
    for scale in (1, 2, 3):
        width, height = struct.unpack(">II", to_png(board, scale=scale)[16:24])
        assert (width, height) == (board.layout.width * scale, board.layout.height * scale)


def test_png_has_the_themes_colours_where_the_boxes_are(tmp_path):
    board = square()
    (tmp_path / "x.png").write_bytes(to_png(board, 0, scale=1))
    image = matplotlib.image.imread(tmp_path / "x.png")[:, :, :3]
    place = board.layout.boxes["n1"]
    inside = image[int(place.y + 6), int(place.x + place.w / 2)]
    assert tuple(round(255 * part) for part in inside) == (0x00, 0x69, 0xA6)
    assert tuple(image[2, 2]) == (1, 1, 1)


@pytest.mark.slow
def test_the_bands_of_a_png_join_without_a_seam(monkeypatch):
    def points(band):
        monkeypatch.setattr(matplotlib_drawing, "_BAND", band)
        return matplotlib.image.imread(BytesIO(to_png(loss(), scale=1.5)), format="png")

    one, several = points(10**9), points(40_000)
    assert one.shape == several.shape and one.shape[0] * one.shape[1] > 200_000
    assert abs(one - several).max() < 0.02


def test_a_png_of_a_huge_picture_is_drawn_smaller():
    boxes = {"a": Box("a", "text", "a", place=(0, 0, 100, 40_000))}
    width, height = struct.unpack(">II", to_png(Storyboard(Scene("", boxes)))[16:24])
    assert height <= 30_000 and width > 0


def test_a_picture_of_nothing_is_drawn_too():
    nothing = Storyboard(Scene("Nothing yet"))
    assert "<title>Nothing yet</title>" in to_svg(nothing) and to_png(nothing).startswith(b"\x89PNG")
