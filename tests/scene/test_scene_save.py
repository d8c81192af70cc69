"""A picture is saved whole or not at all, and a notebook shows it as well as it can."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys

import pytest
from scene_samples import square

from workbench.pictures.scene import picture
from workbench.pictures.scene.picture import Picture
from workbench.pictures.scene.reading import drawn_region
from workbench.pictures.scene.text import to_sentence, to_text

STARTS = {
    "x.html": b"<!doctype html>",
    "x.svg": b"<svg ",
    "x.png": b"\x89PNG",
    "x.dot": b"digraph ",
    "x.pdf": b"%PDF-1.4",
    "x.mmd": b"---\ntitle: ",
    "x.gif": b"GIF89a",
    "x.json": b'{"format": "workbench-storyboard"',
    "X.SVG": b"<svg ",
}


@pytest.mark.parametrize(("name", "start"), STARTS.items())
def test_the_suffix_says_what_is_written(tmp_path, name, start):
    Picture(square()).save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_json_holds_the_storyboard(tmp_path):
    Picture(square()).save(str(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text()) == square().to_dict()


@pytest.mark.parametrize("name", ["x.svg", "x.dot", "x.png", "x.mmd"])
def test_a_step_that_is_no_number_is_refused_in_a_sentence(tmp_path, name):
    with pytest.raises(TypeError, match="^`step` is the number of a step, counted from 0, but got 'flow'.$"):
        Picture(square()).save(tmp_path / name, "flow")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["x.bmp", "x", "x.html.bak"])
def test_an_unknown_suffix_is_refused_in_a_sentence(tmp_path, name):
    endings = r"\.html, \.svg, \.png, \.pdf, \.dot, \.mmd, \.gif, \.mp4 or \.json\."
    with pytest.raises(ValueError, match=r"Cannot save .*: use a name that ends in " + endings):
        Picture(square()).save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_face_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("half way")

    (tmp_path / "x.svg").write_text("old")
    monkeypatch.setitem(picture._FACES, ".svg", fails)
    with pytest.raises(RuntimeError):
        Picture(square()).save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text() == "old" and os.listdir(tmp_path) == ["x.svg"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "x.svg").write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk is gone")))
    with pytest.raises(OSError, match="disk is gone"):
        Picture(square()).save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text() == "old" and os.listdir(tmp_path) == ["x.svg"]


def test_a_folder_that_is_not_there_is_an_error_of_its_own(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        Picture(square()).save(tmp_path / "nowhere" / "x.svg")
    # Not the file beside it that is written first.
    assert raised.value.filename == str(tmp_path / "nowhere" / "x.svg")


@pytest.mark.skipif(os.name == "nt", reason="modes and links are of POSIX systems")
def test_modes_and_links_are_kept(tmp_path):
    Picture(square()).save(tmp_path / "new.svg")
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE((tmp_path / "new.svg").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    (tmp_path / "new.svg").chmod(0o600)
    (tmp_path / "link.svg").symlink_to("new.svg")
    Picture(square()).save(tmp_path / "link.svg")
    assert (tmp_path / "link.svg").is_symlink()
    assert stat.S_IMODE((tmp_path / "new.svg").stat().st_mode) == 0o600


def test_a_notebook_gets_text_and_an_image():
    bundle = Picture(square())._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(Picture(square())) == to_text(square())
    assert f'alt="{to_sentence(square())}"' in bundle["text/html"] and "max-width:100%" in bundle["text/html"]
    image = base64.b64decode(bundle["text/html"].split("base64,")[1].split('"')[0])
    assert image.decode() == Picture(square()).to_svg()


def test_without_graphviz_a_notebook_gets_the_text_and_what_to_install(monkeypatch, tmp_path):
    drawn_region.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    bundle = Picture(square())._repr_mimebundle_()
    assert bundle.keys() == {"text/plain"}
    assert bundle["text/plain"].startswith("y = Square.apply(x)\n")
    assert bundle["text/plain"].endswith("put its program `dot` on the PATH.")
