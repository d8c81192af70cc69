"""Each section of lessons 14 and 17 to 23 has a figure before its code, drawn by the script as it is now."""

from __future__ import annotations

import base64
import re
import runpy

import nbformat
import pytest
from lab import CHECKOUT

SCRIPT = runpy.run_path(str(CHECKOUT / "assets" / "lesson_figures.py"))
FIGURES = SCRIPT["figures"]()
LESSONS = (14, 17, 18, 19, 20, 21, 22, 23)
LARGEST = 20_000  # bytes


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_section_has_its_figure_before_its_code(lesson: int) -> None:
    (path,) = (CHECKOUT / "notebooks").glob(f"{lesson}-*.ipynb")
    before: dict[str, list[str]] = {}
    section = ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            section = ""  # from here on a figure would come too late
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            if part.startswith("## "):
                section = (re.findall(r"^## (\d) · ", part) or [""])[0]
            shown = [name for _, name, *_ in SCRIPT["ATTACHED"].findall(part)]
            if section:
                before.setdefault(section, []).extend(shown)
            for name in shown:
                data = base64.b64decode(cell.attachments[name]["image/png"])
                assert data.startswith(b"\x89PNG") and len(data) < LARGEST
                assert cell.metadata["figures"][name] == SCRIPT["digest"](FIGURES[name]), "run assets/lesson_figures.py"
    assert before == {number: [f"figure-{lesson}-{number}.png"] for number in before} and len(before) >= 4


def test_no_figure_is_left_without_a_place() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "notebooks").glob("*.ipynb"))
    assert [name for name in FIGURES if f"(attachment:{name})" not in texts] == []
    assert {int(name[7:9]) for name in FIGURES} == {*LESSONS}
