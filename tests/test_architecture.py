"""The page that leads through the code names what is there, in the order that is guarded; its picture is current."""

from __future__ import annotations

import re
import runpy

import pytest
from lab import CHECKOUT
from test_house import PACKAGE, READING_PATH, imports

from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.text import to_text

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


def test_a_phase_of_a_layout_knows_only_those_above_it() -> None:
    table = PAGE[PAGE.index("| phase | file |") :].partition("\n\n")[0]
    phases = [re.findall(r"`(\w+)\.py`", line) for line in table.splitlines()[2:]]
    known = [name for phase in phases for name in phase]
    assert len(known) > 10 and len({*known}) == len(known)
    for at, name in enumerate(known):
        for module, line in imports(PACKAGE / "pictures" / "scene" / f"{name}.py"):
            target = module.removeprefix("workbench.pictures.scene.")
            assert target not in known[at:], f"{name}.py imports {target}.py in line {line}"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.(?:py|txt))`", PAGE))))
def test_a_file_that_the_page_names_is_there(name: str) -> None:
    places = [root / name for root in (PACKAGE, CHECKOUT)] + [*PACKAGE.glob(f"*/{name}"), *PACKAGE.glob(f"*/*/{name}")]
    assert any(place.exists() for place in places)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("ops/core/op.py", "define"),
        ("autograd/engine.py", "GraphTask"),
        ("pictures/trace/describer.py", "_kept"),
        ("pictures/trace/event_recorder.py", "_saved_of"),
        ("pictures/trace/reader.py", "Reader"),
        ("pictures/trace/paths.py", "Paths"),
        ("pictures/trace/forward_records.py", "NodeCreated"),
        ("pictures/trace/schema.py", "Known"),
        ("pictures/trace/memory_records.py", "SavedFreed"),
        ("pictures/trace/schema.py", "kind_of_event"),
        ("pictures/views/links.py", "Links"),
        ("pictures/views/group_summary.py", "GroupSummary"),
        ("pictures/views/node_boxes.py", "chip"),
        ("pictures/views/node_boxes.py", "held_now"),
        ("pictures/views/node_boxes.py", "saved_name"),
        ("pictures/views/saved_words.py", "slot_rows"),
        ("pictures/views/value_display.py", "label_of"),
        ("pictures/trace/values.py", "_summary"),
        ("pictures/trace/names.py", "named_in"),
        ("pictures/trace/tensor_records.py", "TensorWritten"),
        ("pictures/trace/backward_records.py", "NodeStarted"),
        ("autograd/function.py", "_pack"),
        ("pictures/widgets/stepper.py", "_do"),
        ("pictures/scene/picture.py", "save_as"),
        ("classroom/comparison.py", "compared"),
        ("pictures/views/expressions.py", "fitted_text"),
        ("pictures/views/placement.py", "placed"),
        ("pictures/views/program_tree.py", "program_tree"),
        ("pictures/views/titles.py", "title_of"),
        ("pictures/views/__init__.py", "VIEWS"),
    ],
)
def test_a_name_that_the_page_gives_is_in_its_file(path: str, name: str) -> None:
    assert re.search(rf"`{name}`", PAGE)
    assert re.search(rf"^\s*(?:def |class )?{name}\b", (PACKAGE / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_what_a_contributor_is_told_to_run_is_there() -> None:
    scripts = re.findall(r"python ((?:tests|assets)/\S+\.py)", CONTRIBUTING)
    assert scripts
    assert [script for script in scripts if not (CHECKOUT / script).exists()] == []
