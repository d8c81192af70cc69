"""The command `workbench diff`: what it prints and writes, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench
import workbench as torch
from workbench.cli import main


def program(factor: float):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with workbench.record() as trace:
        loss = (x * factor).sin().sum()
        loss.backward()
    return trace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three recordings: two are the same."""
    monkeypatch.chdir(tmp_path)
    for name, factor in (("a", 2.0), ("same", 2.0), ("other", 2.5)):
        program(factor).save(f"{name}.json")
    return tmp_path


def test_the_exit_status_says_whether_they_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "same.json"]) == 0
    assert capsys.readouterr().out.startswith("a.json and same.json are the same: ")
    assert main(["diff", "a.json", "other.json"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("a.json and other.json differ: ")
    assert said[1].startswith("Forward: The result of `mul` is the first that differs")
    assert main(["diff", "a.json", "other.json", "--rtol", "1"]) == 0


def test_it_prints_and_writes_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "other.json", "--json", "-o", "diff.json"]) == 1
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert data["same"] is False and data["forward"]["kind"] == "operation"
    assert json.loads((folder / "diff.json").read_text("utf-8")).items() <= data.items()
    assert data["kind"] == "diff" and data["wrote"] == "diff.json"
    assert printed.err == "Wrote diff.json.\n"


def test_it_writes_a_page_with_the_text_and_both_graphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("diff.html", "diff.html"):  # over one of its own, too
        assert main(["diff", "a.json", "other.json", "-o", name]) == 1
    page = (folder / "diff.html").read_text("utf-8")
    assert "<pre" in page and "a.json and other.json differ" in page and 'id="storyboard"' in page
    assert capsys.readouterr().out.endswith("Wrote diff.html.\n")


REFUSED = {
    "no file nope.json.": ["a.json", "nope.json"],
    "isn't a trace saved by the workbench": ["a.json", "text.json"],
    "is a log of watch()": ["a.json", "log.jsonl"],
    "'much' isn't a tolerance. Use a number, 0 or more, such as 1e-4": ["a.json", "same.json", "--rtol", "much"],
    "'-1' isn't a tolerance": ["a.json", "same.json", "--atol=-1"],
    "use a name that ends in": ["a.json", "same.json", "-o", "diff.txt"],
    "a.json would overwrite itself": ["a.json", "same.json", "-o", "a.json"],
    "same.json would overwrite itself": ["a.json", "same.json", "-o", "same.json"],
    "nothing to compare: empty.json has no operation": ["a.json", "empty.json"],
    "the following arguments are required": ["a.json"],
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_compared_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    (folder / "text.json").write_text("text", "utf-8")
    (folder / "log.jsonl").write_text("{}\n", "utf-8")
    with workbench.record() as empty:
        pass
    empty.save("empty.json")
    before = (folder / "a.json").read_bytes()
    assert main(["diff", *REFUSED[said]]) == 2
    error = capsys.readouterr().err
    assert error.startswith("workbench: ") and said in error and error.count("\n") == 1
    assert (folder / "a.json").read_bytes() == before
