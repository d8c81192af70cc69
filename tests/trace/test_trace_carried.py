"""A trace's file that carries its drawn picture: pages open it, and loading takes no notice of it."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys

import pytest

import workbench as torch
from workbench.pictures.scene import storyboard
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.payload import library


def recorded():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        (x * x).sum().backward()
    return trace


def test_a_pictures_file_is_its_trace_with_the_story_that_a_page_plays(tmp_path):
    trace, path = recorded(), tmp_path / "picture.json"
    trace.show("memory").save(path)
    told = json.loads(path.read_text())
    assert {name: value for name, value in told.items() if name != "picture"} == trace.to_dict()
    assert told["picture"].keys() == {"library", "story"} and told["picture"]["library"] == library()[0]
    story = json.loads(gzip.decompress(base64.b64decode(told["picture"]["story"])))
    assert story == trace.show("memory").storyboard.to_dict()


def test_it_loads_as_the_trace_whatever_its_picture_is(tmp_path):
    trace, path = recorded(), tmp_path / "picture.json"
    trace.show().save(path)
    assert type(trace).load(path).events == trace.events
    told = json.loads(path.read_text())
    for picture in (None, 3, "x" * 100, {"kind": "node created"}, [[]], {"story": 1}):
        assert type(trace).from_dict(told | {"picture": picture}).events == trace.events
    trace.save(path)
    assert "picture" not in json.loads(path.read_text())


def test_where_nothing_lays_pictures_out_the_file_is_the_trace_and_a_warning_says_so(tmp_path, monkeypatch):
    def fails(*_):
        raise LayoutUnavailable("No Graphviz.")

    trace, path = recorded(), tmp_path / "picture.json"
    picture = trace.show()
    picture.storyboard._layout = None
    monkeypatch.setattr(storyboard, "laid_out", fails)
    for name in ("density", "layouts", "sizes"):
        picture.storyboard.__dict__.pop(name, None)
    with pytest.warns(UserWarning, match="has the trace without a picture. No Graphviz."):
        picture.save(path)
    assert json.loads(path.read_text()) == trace.to_dict()


def test_the_command_makes_it_of_a_trace(tmp_path):
    recorded().save(tmp_path / "trace.json")
    command = [sys.executable, "-m", "workbench", "show", "trace.json", "-o"]
    for options in (["picture.json"], ["memory.json", "--view", "memory"]):
        ran = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (0, f"Wrote {options[0]}.\n"), ran.stderr
        assert json.loads((tmp_path / options[0]).read_text())["picture"]["story"]
