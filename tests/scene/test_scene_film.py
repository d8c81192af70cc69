"""Pictures that move, print and stand in other people's documents: GIF, MP4, PDF, Mermaid, and every theme."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from io import BytesIO

import pytest
from PIL import Image
from scene_samples import loss, square
from stand_in import write_program
from test_scene_hostile import HOSTILE

from workbench.pictures.scene import film
from workbench.pictures.scene.film import to_gif, to_mp4
from workbench.pictures.scene.matplotlib_drawing import to_pdf, to_png
from workbench.pictures.scene.model import Arrow, Box, Scene, StoryStep
from workbench.pictures.scene.picture import Picture
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_dot, to_mermaid
from workbench.pictures.scene.theme import THEMES

STILL = ["x.svg", "x.png", "x.pdf", "x.dot", "x.mmd"]


def test_a_gif_shows_every_step_once_on_one_canvas_and_then_begins_again():
    board = square()
    moving = Image.open(BytesIO(to_gif(board)))
    assert moving.n_frames == len(board.steps) and moving.info["loop"] == 0
    shown = []
    for k in range(moving.n_frames):
        moving.seek(k)
        shown.append((moving.size, moving.info["duration"]))
    assert len({size for size, _ in shown}) == 1
    assert [ms for _, ms in shown] == [900] * (len(shown) - 1) + [2700]


@pytest.mark.slow
def test_the_same_film_comes_out_each_time():
    boxes = {name: Box(name, "leaf", name) for name in "ab"}
    board = Storyboard(Scene("small", boxes, {"ab": Arrow("ab", "a", "b")}), [StoryStep("one"), StoryStep("two")])
    assert to_gif(board) == to_gif(board) and to_pdf(board) == to_pdf(board)


def test_what_has_no_steps_is_a_film_of_one_picture():
    still = Storyboard(Scene("still", {"a": Box("a", "leaf", "a")}))
    assert Image.open(BytesIO(to_gif(still))).n_frames == 1


@pytest.mark.slow
def test_a_long_caption_is_cut_and_a_picture_of_a_thousand_rows_is_made_smaller():
    boxes = {"a": Box("a", "text", "a", place=(0, 0, 200, 9000))}
    board = Storyboard(Scene("long", boxes), [StoryStep("word " * 500), StoryStep("漢" * 2000)])
    moving = Image.open(BytesIO(to_gif(board)))
    assert moving.n_frames == 2 and max(moving.size) <= 4100


def test_without_ffmpeg_a_sentence_says_what_to_do_and_nothing_is_written(tmp_path, monkeypatch):
    (tmp_path / "x.mp4").write_text("old")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"ffmpeg, which is not on the PATH\. Install it .* or save .* as a \.gif"):
        Picture(square()).save(tmp_path / "x.mp4")
    assert os.listdir(tmp_path) == ["x.mp4"] and (tmp_path / "x.mp4").read_text() == "old"


def _stand_in(folder, body: str) -> None:
    write_program(folder / "ffmpeg", f"import sys\n{body}\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_ffmpeg_gets_every_step_as_a_picture_and_its_film_is_kept(tmp_path, monkeypatch):
    _stand_in(tmp_path, "open(sys.argv[-1], 'wb').write(sys.stdin.buffer.read())")
    monkeypatch.setenv("PATH", str(tmp_path))
    frames = re.split(rb"(?=\x89PNG\r\n)", to_mp4(square()))[1:]
    sizes = {struct.unpack(">II", frame[16:24]) for frame in frames}
    assert len(frames) == len(square().steps) and len(sizes) == 1


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
@pytest.mark.parametrize("body", ["sys.exit('no room left')", "sys.stdin.buffer.read(); sys.exit('no room left')"])
def test_an_ffmpeg_that_gives_up_says_why_and_leaves_no_file(tmp_path, monkeypatch, body):
    (tmp_path / "bin").mkdir()
    _stand_in(tmp_path / "bin", body)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(RuntimeError, match="ffmpeg could not make the .mp4: no room left"):
        Picture(square()).save(tmp_path / "x.mp4")
    assert os.listdir(tmp_path) == ["bin"]


def test_the_real_ffmpeg_makes_a_film_that_it_can_read(tmp_path):
    if shutil.which("ffmpeg") is None:
        return  # what is passed to it is tested above
    Picture(square()).save(tmp_path / "x.mp4")
    subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / "x.mp4", "-f", "null", "-"], check=True)


def test_a_film_that_fails_half_way_leaves_the_old_file(tmp_path, monkeypatch):
    def half(*_):
        yield to_png(square(), 0)
        raise RuntimeError("half way")

    (tmp_path / "x.gif").write_text("old")
    monkeypatch.setattr(film, "_frames", half)
    with pytest.raises(RuntimeError, match="half way"):
        Picture(square()).save(tmp_path / "x.gif")
    assert (tmp_path / "x.gif").read_text() == "old" and os.listdir(tmp_path) == ["x.gif"]


@pytest.mark.slow
def test_a_long_export_shows_how_far_it_is(capsys, monkeypatch):
    assert 1 <= film._PATIENCE <= 5  # s
    monkeypatch.setattr(film, "_PATIENCE", 3600)
    to_gif(square())
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(film, "_PATIENCE", 0)
    to_gif(square())
    out, err = capsys.readouterr()
    assert out == "" and "Drawing the .gif" in err and f"/{len(square().steps)} " in err


def test_a_pdf_is_one_page_of_the_pictures_size():
    board = loss()
    page = to_pdf(board).decode("latin-1")
    (box,) = re.findall(r"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", page)
    assert [float(side) for side in box] == pytest.approx([board.layout.width, board.layout.height], abs=0.1)
    assert "/CreationDate" not in page and "/FontFile2" in page


def test_a_pdf_of_a_huge_picture_is_no_larger_than_readers_show():
    boxes = {"a": Box("a", "text", "a", place=(0, 0, 100, 40_000))}
    (height,) = re.findall(rb"/MediaBox \[ 0 0 [\d.]+ ([\d.]+) \]", to_pdf(Storyboard(Scene("tall", boxes))))
    assert float(height) <= 14_401


@pytest.mark.slow
@pytest.mark.parametrize("name", STILL)
def test_a_still_picture_is_of_the_step_that_is_asked_for(tmp_path, name):
    picture, kept = Picture(loss()), []
    for k in (0, None, 9):
        picture.save(tmp_path / name, step=k)
        kept.append((tmp_path / name).read_bytes())
    assert len(set(kept)) == 3
    picture.save(tmp_path / name, step=loss().start)
    assert (tmp_path / name).read_bytes() == kept[1]
    with pytest.raises(IndexError, match="There is no step 99"):
        picture.save(tmp_path / name, step=99)


@pytest.mark.parametrize("name", ["x.html", "x.gif", "x.mp4", "x.json"])
def test_what_holds_every_step_takes_none(tmp_path, name):
    with pytest.raises(ValueError, match=r"holds every step, so leave `step` out, or save \.svg, .* or \.mmd"):
        Picture(square()).save(tmp_path / name, step=0)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STILL, "x.html", "x.gif"])
def test_every_theme_looks_its_own_way(tmp_path, name):
    kept = set()
    for theme in THEMES:
        Picture(square()).save(tmp_path / name, theme=theme)
        kept.add((tmp_path / name).read_bytes())
    assert len(kept) == len(THEMES)
    with pytest.raises(ValueError, match="There is no theme named 'pink'"):
        Picture(square()).save(tmp_path / name, theme="pink")


def test_data_have_no_theme(tmp_path):
    with pytest.raises(ValueError, match="leave `theme` out"):
        Picture(square()).save(tmp_path / "x.json", theme="dark")


@pytest.mark.slow
def test_on_a_projector_the_smallest_text_has_18_px():
    board = loss()
    for theme, least in (("light", 12), ("dark", 12), ("print", 12), ("projector", 18)):
        drawn = to_svg(board, theme=theme)
        (width,) = re.findall(r'<svg [^>]* width="([\d.]+)"', drawn)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", drawn)]
        assert min(sizes) * float(width) / board.layout.width >= least
        assert min(float(size) for size in re.findall(r"fontsize=([\d.]+)", to_dot(board, theme=theme))) >= least
        assert f"font-size:{least}px" in to_mermaid(board, theme=theme)
        assert struct.unpack(">I", to_png(board, theme=theme, scale=1)[16:20])[0] == pytest.approx(float(width), abs=1)


def _ink(theme: str, board: Storyboard, k: int) -> float:
    gray = Image.open(BytesIO(to_png(board, k, theme, 1))).convert("L")
    return 1 - sum(shade * count for count, shade in gray.getcolors()) / 255 / (gray.width * gray.height)


@pytest.mark.slow
def test_on_paper_there_is_no_colour_and_little_ink():
    board = loss()
    for k in (3, 8, 13):
        image = Image.open(BytesIO(to_png(board, k, "print", 1))).convert("RGB")
        assert all(red == green == blue for _, (red, green, blue) in image.getcolors(100_000))
        assert _ink("print", board, k) < _ink("light", board, k) * (1 if k < 13 else 1.01)
    assert _ink("print", board, 13) < 0.033  # what is freed has no frame and no ground, on no screen either
    cells = [Box(f"c{n}", "cell", "", place=(20 * n, 0, 20, 20), shade=n - 4) for n in range(9)]
    assert _ink("print", Storyboard(Scene("heat", {cell.id: cell for cell in cells})), -1) < 0.2


def test_on_paper_dashes_tell_below_zero_from_above():
    def looks(shade: int) -> str:
        cell = Box("c", "cell", "1", place=(0, 0, 40, 20), shade=shade)
        return to_svg(Storyboard(Scene("", {"c": cell})), theme="print")

    assert "stroke-dasharray: 4 3" in re.search(r"\.wb-shade--2 \.wb-frame \{([^}]*)\}", looks(-2))[1]
    assert "dasharray" not in re.search(r"\.wb-shade-2 \.wb-frame \{([^}]*)\}", looks(2))[1]
    assert to_png(Storyboard(Scene("", {"c": Box("c", "cell", "", place=(0, 0, 40, 20), shade=2)})), theme="print") != (
        to_png(Storyboard(Scene("", {"c": Box("c", "cell", "", place=(0, 0, 40, 20), shade=-2)})), theme="print")
    )


def test_mermaid_tells_boxes_labels_and_the_way_of_a_gradient():
    board = loss()
    said = to_mermaid(board)
    assert said.startswith('---\ntitle: "L = (square(x) * w + b * 2).sum()"\n---\nflowchart TD\n')
    assert 'n0(["x<br/>float64 #40;3,#41;"])' in said
    assert re.search(r'n4\[\["SquareBackward<br/>x #42; x"\]\]', said)
    assert 'n0 -->|"#91;1, 2, 3#93;"| n4' in said and "n4 -.- n5" in said
    after = to_mermaid(board, 8)
    assert '==>|"gradient 6"|' in after and "done" in after and "linkStyle" in after


def test_mermaid_shows_parts_and_charts():
    boxes = {
        "r": Box("r", "region", "layer1"),
        "a": Box("a", "op", "a", region="r"),
        "b": Box("b", "op", "b", region="r"),
    }
    said = to_mermaid(Storyboard(Scene("parts", boxes, {"ab": Arrow("ab", "a", "b")})))
    assert '  subgraph r0["layer1"]\n    n0["a"]\n    n1["b"]\n  end\n' in said
    chart = {
        "h": Box("h", "heading", "Values", place=(0, 0, 200, 20)),
        "c": Box("c", "cell", "1", place=(0, 30, 20, 20)),
    }
    told = to_mermaid(Storyboard(Scene("chart", chart)))
    assert 'n0["Values"]' in told and "n1" not in told
    assert "flowchart TD" in to_mermaid(Storyboard(Scene("nothing")))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_mermaid_keeps_its_structure_whatever_a_label_says(text):
    def structure(said: str) -> list[str]:
        return [re.sub(r'"[^"]*"', '""', line) for line in said.splitlines()]

    def board(text: str) -> Storyboard:
        boxes = {
            "r": Box("r", "region", text),
            "a": Box("a", "function", text, (text,), "error", alt=text, region="r"),
            "s": Box("s", "saved", text, (text,), "freed", holder="a"),
            "b": Box("b", "leaf", text),
        }
        return Storyboard(Scene(text, boxes, {"ba": Arrow("ba", "b", "a", label=text, state="flowing")}))

    said = to_mermaid(board(text))
    if text:  # what has no label has no mark for one
        assert structure(said)[3:] == structure(to_mermaid(board("plain")))[3:]
    assert len(said.split("---\n")[1].splitlines()) == 1
    labels = re.findall(r'"([^"]*)"', said.split("---\n", 2)[2])
    for label in labels:
        assert re.fullmatch(r"(?:[\w .,+=-]|#\d+;|<br/>)*", label) and "_" not in label
    said.encode()


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_pdf_and_a_film_of_a_hostile_label_are_whole(text):
    boxes = {"a": Box("a", "function", text, (text,)), "s": Box("s", "saved", text, (text,), "freed", holder="a")}
    board = Storyboard(Scene(text, boxes), [StoryStep(text, text)])
    page = to_pdf(board)
    assert page.startswith(b"%PDF-") and page.rstrip().endswith(b"%%EOF")
    assert b"/URI" not in page and b"/JavaScript" not in page.replace(text.encode(errors="replace"), b"")
    assert Image.open(BytesIO(to_gif(board))).n_frames == 1
