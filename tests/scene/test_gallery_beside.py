"""The page of eight programs beside other tools: its sources are those that run, its pictures small."""

from __future__ import annotations

import json
import re
import runpy

import pytest
from lab import CHECKOUT

BESIDE = CHECKOUT / "assets" / "gallery" / "beside"
PROGRAMS = ["scalar", "MLP", "ResNet", "attention", "RNN", "VAE", "gradient penalty", "ten training steps"]
TOOLS = {"workbench", "torchvista", "torchlens", "torchviz", "torchview"}
LARGEST, ALL = 60_000, 1_200_000  # bytes of a picture, and of the folder
PAGE = (BESIDE / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))


def test_the_page_names_the_eight_programs() -> None:
    assert list(SECTIONS) == PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_its_source_and_a_picture_of_each_tool_and_one_line_who_is_better(program: str) -> None:
    section = SECTIONS[program]
    (source,) = re.findall(r"^```python\n(.*?)\n```$", section, re.M | re.S)
    whole = (BESIDE / "programs.py").read_text(encoding="utf-8")
    assert f"# %% {program}\n{source}\n" in whole
    compile(source, program, "exec")
    pictures = re.findall(r'<img src="([^"]+)"', section)
    assert {name.split(".")[1] for name in pictures} == TOOLS and len(pictures) == len(TOOLS)
    for name in pictures:
        assert 0 < (BESIDE / name).stat().st_size <= LARGEST, name
    (line,) = re.findall(r"^\*\*(.+)\*\*$", section, re.M)
    assert line.split(":")[0] in TOOLS


def test_no_picture_is_left_over_and_the_folder_is_small() -> None:
    named = set(re.findall(r'<img src="([^"]+)"', PAGE))
    assert {path.name for path in BESIDE.glob("*.webp")} == named
    assert sum(path.stat().st_size for path in BESIDE.iterdir() if path.is_file()) <= ALL


def test_the_page_is_what_the_command_writes() -> None:
    page = runpy.run_path(str(BESIDE / "draw.py"))["page"]
    assert page(json.loads((BESIDE / "facts.json").read_text(encoding="utf-8"))) == PAGE
