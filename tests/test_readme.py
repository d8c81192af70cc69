"""The README keeps its promises: its examples run and print what it shows, its links lead somewhere, it stays short.

`WORKBENCH_WRITE_GOLDEN=1 pytest tests/test_readme.py` writes the output below its second example again.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import fill

from golden import WRITING
from lab import CHECKOUT

PATH = CHECKOUT / "README.md"
README = PATH.read_text(encoding="utf-8")
OUTPUT = re.compile(r"^```text\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)

FIRST, HEALTH = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_example_runs_and_saves_its_page(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(FIRST, "README.md", "exec"), names)
    assert names["x"].grad.tolist() == [2.0, -4.0, 6.0]
    page = (tmp_path / "square.html").read_text(encoding="utf-8")
    assert "SquareBackward" in page and "http://" not in page.replace("http://www.w3.org/", "")


def test_the_example_of_health_prints_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEALTH)
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    seen = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert seen.returncode == 0, seen.stderr
    if WRITING:
        lines = [fill(line, 118, subsequent_indent="   ", break_on_hyphens=False) for line in seen.stdout.splitlines()]
        PATH.write_text(OUTPUT.sub(lambda _: "\n".join(["```text", *lines, "```"]), README), encoding="utf-8")
    (printed,) = OUTPUT.findall(PATH.read_text(encoding="utf-8"))
    assert printed.split() == seen.stdout.split()  # it is wrapped there
    first = " ".join(printed.split()).partition(": ")[0].removeprefix("1. ")
    assert first in (tmp_path / "training.health.html").read_text(encoding="utf-8")


def test_it_is_short_enough_to_be_read() -> None:
    assert len(README.splitlines()) <= 140 and len(README.split()) <= 900
    film = CHECKOUT / "assets" / "hero.gif"
    assert film.stat().st_size < 1_500_000
    assert README.index("hero.gif") < README.index("\n## ")


def test_the_picture_is_what_its_command_draws(tmp_path: Path) -> None:
    committed = CHECKOUT / "assets" / "square.svg"
    shutil.copy(CHECKOUT / "assets" / "draw.py", tmp_path)
    runpy.run_path(str(tmp_path / "draw.py"))
    # The words, not the places: those may move with the release of Graphviz.
    drawn, kept = (
        re.findall(r">([^<>\n]+)</t", path.read_text(encoding="utf-8")) for path in (tmp_path / "square.svg", committed)
    )
    assert drawn == kept and "y = Square.apply(x)" in drawn


def test_links_and_paths_lead_somewhere() -> None:
    paths = [*re.findall(r"\]\(([^)#:]+)[#)]", README), "assets/draw.py", "assets/hero.py"]
    assert [path for path in paths if not (CHECKOUT / path).exists()] == []


def test_all_pages_say_the_same_of_how_long_the_tests_take() -> None:
    pages = [CHECKOUT / "tests" / "README.md", CHECKOUT / ".github" / "CONTRIBUTING.md"]
    said = re.findall(r"\w+ to \w+ minutes", README)
    assert len(said) == 1 and all(said[0] in page.read_text(encoding="utf-8") for page in pages)
