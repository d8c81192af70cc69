"""The map of the course has each lesson and what it needs, wherever it stands, and the three paths add up."""

from __future__ import annotations

import base64
import re
import runpy
from xml.etree import ElementTree

import nbformat
import pytest
from lab import CHECKOUT

MAP = runpy.run_path(str(CHECKOUT / "assets" / "course_map.py"))
LESSONS = MAP["lessons"]()
FIRST = nbformat.read(min((CHECKOUT / "notebooks").glob("*.ipynb")), as_version=4).cells
INDEX = (CHECKOUT / "assets" / "docs" / "lessons" / "index.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.parse(MAP["PICTURE"]).iter(f"{SVG}g") if each.get("class") == kind]


def title_of(part: ElementTree.Element) -> str:
    return part.findtext(f"{SVG}title") or ""


def test_a_box_stands_for_each_lesson_with_its_number_and_title() -> None:
    boxes = {title_of(box): " ".join(text.text or "" for text in box.iter(f"{SVG}text")) for box in drawn("node")}
    assert boxes == {str(number): f"{number} · {title}" for number, (title, _) in LESSONS.items()}


def test_the_arrows_lead_from_what_a_lesson_needs() -> None:
    assert {title_of(arrow) for arrow in drawn("edge")} == {f"{a}->{b}" for a, b in MAP["arrows"](LESSONS)}
    # Whoever follows the arrows back from a lesson comes by all that it names.
    before: dict[int, set[int]] = {number: set() for number in LESSONS}
    for a, b in sorted(MAP["arrows"](LESSONS), key=lambda pair: pair[1]):
        before[b] |= {a} | before[a]
    assert before == {number: needed for number, (_, needed) in LESSONS.items()}


def test_lesson_0_has_the_same_picture_as_jupyterlab_can_show_it() -> None:
    (cell,) = [cell for cell in FIRST if "attachments" in cell]
    assert base64.b64decode(cell.attachments[MAP["ATTACHED"]]["image/png"]).startswith(b"\x89PNG")
    assert f"](attachment:{MAP['ATTACHED']})" in cell.source
    assert cell.metadata["course_map"] == MAP["digest"](MAP["PICTURE"].read_text(encoding="utf-8"))


def test_the_page_of_the_course_has_the_table_of_the_lessons() -> None:
    assert MAP["TABLE"].findall(INDEX) == [MAP["table"]()]


@pytest.mark.parametrize("text", ["\n".join(cell.source for cell in FIRST), INDEX], ids=["lesson 0", "index"])
def test_each_path_has_what_its_lessons_need_and_its_minutes_add_up(text: str) -> None:
    paths = re.findall(r"^- \*\*(An? \w+):\*\* (all lessons|lessons [\d, ]+) \((\d+) minutes\)", text, re.M)
    assert [path[0] for path in paths] == ["An afternoon", "A week", "A term"]
    time = {
        int(path.name[:2]): int(re.findall(r"\*\*Time:\*\* about (\d+) minutes", path.read_text(encoding="utf-8"))[0])
        for path in (CHECKOUT / "notebooks").glob("*.ipynb")
    }
    for _, named, minutes in paths:
        chosen = [*LESSONS] if named == "all lessons" else [int(number) for number in re.findall(r"\d+", named)]
        assert all(LESSONS[number][1] <= {*chosen} for number in chosen)
        assert int(minutes) == sum(time[number] for number in chosen)
