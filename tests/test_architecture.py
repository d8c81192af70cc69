"""The page that leads through the code names what is there, in the order that is guarded; its picture is current."""

from __future__ import annotations

import re
import runpy

import pytest
from lab import CHECKOUT
from test_house import PACKAGE, READING_PATH

from workbench.scene.images import to_svg
from workbench.scene.text import to_text

PAGE = (PACKAGE / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (CHECKOUT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_picture_of_the_layers_is_current() -> None:
    board = runpy.run_path(str(CHECKOUT / "assets" / "layers.py"))["layers"]()
    assert "views: frames to pictures" in to_text(board)
    # Its description has all boxes and arrows; their places may move with the release of Graphviz.
    now, then = (
        re.findall("<desc>(.*?)</desc>", text, re.DOTALL)
        for text in (to_svg(board), (CHECKOUT / "assets" / "layers.svg").read_text(encoding="utf-8"))
    )
    assert now and now == then, "run `python assets/layers.py` again"


def test_the_page_leads_along_the_reading_path() -> None:
    assert tuple(re.findall(r"^\| `(\S+\.py)` \|", PAGE, re.MULTILINE)) == READING_PATH


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.(?:py|txt))`", PAGE))))
def test_a_file_that_the_page_names_is_there(name: str) -> None:
    assert any((root / name).exists() for root in (PACKAGE, CHECKOUT)) or list(PACKAGE.glob(f"*/{name}"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("ops/core/op.py", "define"),
        ("autograd/engine.py", "GraphTask"),
        ("trace/describe.py", "_kept"),
        ("trace/recorder.py", "_saved_of"),
        ("trace/recorder.py", "Reader"),
        ("trace/source.py", "Paths"),
        ("trace/records.py", "NodeCreated"),
        ("trace/records.py", "Raw"),
        ("trace/records.py", "SavedFreed"),
        ("trace/schema.py", "kind_of_event"),
        ("views/graph.py", "chip"),
        ("views/graph.py", "held_now"),
        ("views/graph.py", "saved_name"),
        ("views/saved.py", "slot_rows"),
        ("views/value_display.py", "label_of"),
        ("trace/values.py", "_summary"),
        ("trace/describe.py", "named_in"),
        ("trace/records.py", "TensorWritten"),
        ("trace/records.py", "NodeStarted"),
        ("autograd/function.py", "_pack"),
        ("widgets/stepper.py", "_do"),
        ("scene/picture.py", "save_as"),
        ("classroom/exercise.py", "compared"),
        ("views/groups.py", "program_tree"),
        ("views/__init__.py", "CHARTS"),
        ("views/__init__.py", "VIEWS"),
    ],
)
def test_a_name_that_the_page_gives_is_in_its_file(path: str, name: str) -> None:
    assert re.search(rf"`{name}`", PAGE)
    assert re.search(rf"^\s*(?:def |class )?{name}\b", (PACKAGE / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_what_a_contributor_is_told_to_run_is_there() -> None:
    scripts = re.findall(r"python ((?:tests|assets)/\S+\.py)", CONTRIBUTING)
    assert scripts
    assert [script for script in scripts if not (CHECKOUT / script).exists()] == []
