"""Whatever a label says, it stays text: in a page, in an image, in DOT, in JSON and on a terminal."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pygraphviz
import pytest
from kept_story import kept_story

from workbench.pictures.scene.matplotlib_drawing import to_png
from workbench.pictures.scene.metric import clean, columns, cut
from workbench.pictures.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.pictures.scene.picture import Picture, to_html
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_digraph, to_dot, to_text

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "markup": "<b onclick='x()'>bold</b> & \"quoted\" 'too' &lt; &#60;",
    "comment": "<!-- ]]> --> <![CDATA[",
    "address": 'javascript:alert(1)" href="javascript:alert(1)',
    "html label": "<<b>bold</b>>",
    "escapes": r'\N \G \E \L \n \l \" \\" \ ',
    "break out": '"]; evil [label="',
    "lines": "first\nsecond\r\nthird\u2028fourth\tend",
    "mathtext": r"$\frac{1}{2$ \alpha_{$",
    "long": "y" * 10_000,
    "long wide": "漢" * 5_000,
    "right to left": "\u202eשלום \u05e2\u05d5\u05dc\u05dd\u2066 مرحبا",
    "not text": "\x00\x1b[31m\ud800\ufffe\x7f",
    "marks": "e" + "\u0301" * 200,
    "not a number": "nan",
    "empty": "",
    "style": "</style><style>*{display:none}",
    "percent": "%s {0} {title} ${x} `x`",
}


DOT_ATTRIBUTES = {*"color fillcolor fontcolor fontname fontsize label penwidth shape style".split()}


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE.keys())
def text(request) -> str:
    return request.param


@pytest.fixture
def board(text) -> Storyboard:
    value = {"name": text, "shape": text, "dtype": text, "text": text, "norm": float("nan")}
    details = (Detail(text, "code", text), Detail(text, "value", value))
    boxes = {
        "x": Box("x", "leaf", text, (text, text), details=details),
        "n:p": Box("n:p", "function", text, (text,), "error", alt=text),
        "s": Box("s", "saved", text, (text, text), "freed", holder="n:p"),
    }
    arrows = {"a": Arrow("a", "x", "n:p", label=text, state="flowing")}
    cursor = {"file": text, "line": 1, "text": text}
    return Storyboard(Scene(text, boxes, arrows), [StoryStep(text, cursor=cursor), StoryStep(text, "backward")])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def _structure(html: str) -> tuple[list[str], list[str]]:
    reader = _Reader()
    reader.feed(html)
    return reader.tags, [name for name, _ in reader.attributes]


def _plain() -> Storyboard:
    boxes = {"x": Box("x", "leaf", "x", ("1", "2")), "n": Box("n", "function", "n", ("1",), "error")}
    boxes["s"] = Box("s", "saved", "s", ("1", "2"), "freed", holder="n")
    arrow = Arrow("a", "x", "n", label="1", state="flowing")
    return Storyboard(Scene("plain", boxes, {"a": arrow}), [StoryStep("one"), StoryStep("two", "backward")])


def test_a_page_keeps_its_structure(board):
    html = to_html(board)
    assert _structure(html) == _structure(to_html(_plain()))
    packed, told = re.search(
        r'<script type="application/(\w+)" id="storyboard">(.*?)</script>', html, re.DOTALL
    ).groups()
    told = gzip.decompress(base64.b64decode(told)) if packed == "gzip" else told
    assert json.loads(told) == board.to_dict()
    html.encode()


def test_an_image_keeps_its_structure(board, text):
    root, plain = (ElementTree.fromstring(to_svg(each)) for each in (board, _plain()))
    shapes = [[(shape.tag, *shape.keys()) for shape in each.iter()] for each in (root, plain)]
    lines = len(clean(text, keep_lines=True).splitlines())  # each has an element of its own in an arrow's label
    bare = 3 if lines == 0 else 0  # a label has no pill then, and the boxes of one line no text at the right
    assert len(shapes[0]) == len(shapes[1]) + lines - 1 - bare
    assert set(shapes[0]) == set(shapes[1])


def test_dot_keeps_its_structure(board):
    graph = pygraphviz.AGraph(string=to_dot(board))
    assert len(graph.nodes()) == 3 and len(graph.edges()) == 2
    assert {name for node in graph.nodes() for name in node.attr} <= DOT_ATTRIBUTES
    assert "label=<" not in to_dot(board)


@pytest.mark.parametrize("name", ["markup", "html label", "escapes", "break out", "mathtext", "address"])
def test_graphviz_shows_a_label_as_it_stands(name):
    text = HOSTILE[name]
    board = Storyboard(Scene("", {"x": Box("x", "leaf", text[:34])}))
    drawn = pygraphviz.AGraph(string=to_digraph(board).source).draw(format="svg", prog="dot").decode()
    shown = [node.text for node in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "".join(shown).replace("\xa0", " ") == text[:34]


def test_text_and_json_hold_no_control_characters(board):
    for told in (to_text(board), json.dumps(board.to_dict(), ensure_ascii=False)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", told)
        told.encode()


def test_png_draws_it(board):
    assert to_png(board, scale=1).startswith(b"\x89PNG")


def test_a_notebook_gets_an_image_and_a_script_with_no_text_of_the_picture(board):
    bundle = Picture(board)._repr_mimebundle_()
    assert _structure(bundle["text/html"]) == (["div", "img", "script"], ["class", "alt", "style", "src"])
    assert kept_story(bundle["text/html"]) == json.loads(json.dumps(board.to_dict()))


@pytest.mark.parametrize("name", ["long", "long wide"])
def test_long_text_is_cut_in_the_box_and_whole_in_its_description(name):
    (shown,) = Storyboard(Scene("", {"x": Box("x", "leaf", HOSTILE[name])})).to_dict()["boxes"]
    assert shown["title"].endswith("…") and columns(shown["title"]) <= 34
    assert HOSTILE[name] in shown["alt"] and shown["w"] < 400


def test_a_text_is_cut_by_the_room_it_takes():
    assert cut("abcdef", 6) == "abcdef" and cut("abcdefg", 6) == "abcde…"
    assert cut("漢漢漢漢", 6) == "漢漢…" and columns("漢漢…") == 5
    assert columns("e\u0301") == 1 and cut("e\u0301" * 6, 6) == "e\u0301" * 6
