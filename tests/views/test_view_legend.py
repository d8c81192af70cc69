"""Every view says in one sentence how to read it, in every face, unless that is switched off."""

from __future__ import annotations

import re

import pytest
import trace_samples as samples
from scene_samples import square
from trace_samples import Square, leaf
from view_names import ALONE

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.pictures.scene.film import to_gif
from workbench.pictures.scene.matplotlib_drawing import to_pdf, to_png
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_text
from workbench.pictures.tools.jacobian import check, jacobian
from workbench.pictures.views import VIEWS, storyboard

EVERY = sorted(VIEWS)


def program() -> Trace:
    with record(lines=True) as trace:
        y = Square.apply(leaf(1.0, 2.0)).exp()
        y.mul_(2)
        with pytest.raises(RuntimeError):
            y.sum().backward()
    return trace


def board_of(view: str, **options) -> Storyboard:
    return storyboard(program(), view, **({"against": program()} if VIEWS[view].compares else {}), **options)


@pytest.mark.parametrize("view", EVERY)
def test_every_view_has_one_sentence_that_every_face_shows_once(view):
    board = board_of(view)
    assert re.fullmatch(r"[A-Z][^.]{40,118}\.", board.legend), "one sentence, on one line of the text face"
    assert to_text(board).splitlines()[1] == board.legend and to_text(board).count(board.legend) == 1
    assert board.to_dict()["legend"] == board.legend
    svg = to_svg(board)
    drawn = re.findall('<text class="wb-legend"[^>]*>([^<]*)</text>', svg)
    assert " ".join(drawn).replace("&#x27;", "'") == board.legend


@pytest.mark.parametrize("view", EVERY)
def test_it_can_be_switched_off(view):
    board = board_of(view, legend=False)
    assert board.legend == "" and "legend" not in board.to_dict()
    assert "wb-legend" not in to_svg(board).partition("</style>")[2]
    assert {**board_of(view).to_dict(), "legend": None} == {**board.to_dict(), "legend": None}


@pytest.mark.parametrize("draw", [jacobian, check])
def test_pictures_of_jacobians_have_one_too(draw):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    board, without = draw(torch.exp, x).storyboard, draw(torch.exp, x, legend=False).storyboard
    assert re.fullmatch(r"[A-Z][^.]{40,118}\.", board.legend) and to_text(board).splitlines()[1] == board.legend
    assert without.legend == "" and {**without.to_dict(), "legend": board.legend} == board.to_dict()


def test_it_stands_below_the_picture_and_inside_the_image():
    for view in EVERY:
        board = board_of(view)
        svg, layout = to_svg(board), board.shown()[0].layout
        left, _, width, height = map(float, re.search('viewBox="([^"]*)"', svg)[1].split())
        places = re.findall(r'<text class="wb-legend" x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)<', svg)
        for x, y, text in places:
            assert layout.height <= float(y) <= height - 8
            assert left <= float(x) and float(x) + 7.25 * len(text.replace("&#x27;", "'")) <= left + width
        assert width >= layout.width and left <= 0 <= left + width - layout.width


@pytest.mark.slow
def test_png_and_pdf_have_room_for_it_and_a_film_has_captions_in_its_place():
    small, with_one = square(), square()
    with_one.legend = "A sentence that says how to read it."
    assert len(to_png(with_one)) > len(to_png(small)) and to_pdf(with_one) != to_pdf(small)
    assert to_gif(with_one) == to_gif(small)


def test_what_shows_nothing_has_none():
    with record() as trace:
        pass
    assert all(storyboard(trace, view).legend == "" for view in ALONE)


def test_a_trace_is_shown_without_it():
    trace = samples.twice()
    assert trace.show("flow").storyboard.legend and not trace.show("flow", legend=False).storyboard.legend
