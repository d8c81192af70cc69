"""Files of `watch` of processes that train together, side by side: `workbench health run.rank*.jsonl`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from watched import model_of, train

import workbench
from workbench.cli import main
from workbench.diagnosis.health.ranks import read_ranks
from workbench.pictures.scene.picture import Picture
from workbench.pictures.views.health import health_of_log

STEPS = 4


def written(folder: Path, rank: int, steps: int = STEPS, **changed: Any) -> Path:
    """A file of a rank with one layer and two parameters; `changed` are the parts of lines by step, and of its head."""
    parts = changed.pop("part", False)
    parameters = [{"name": f"fc.{name}", "shape": [2]} | ({"part": True} if parts else {}) for name in ("w", "b")]
    head = {"format": "workbench.watch", "version": 2, "every": 1, "rank": rank, "averaged": True}
    head |= {"layers": [{"name": "fc", "kind": "Linear"}], "parameters": parameters} | changed.pop("head", {})
    lines = [head]
    for step in range(1, steps + 1):
        line = {"step": step, "grad": [0.1, 0.2], "own": [0.1 + rank, 0.2], "weight": [1.0, 1.0], "update": [0.1, 0.1]}
        lines.append(line | {"output": [2.0 + rank], "dead": [None], "lr": [0.1]} | changed.get(f"step{step}", {}))
    end = changed.get("end", {"ended": steps, "at": 10.0, "error": ""})
    path = folder / f"run.rank{rank}.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in [*lines, *([end] if end else [])]), encoding="utf-8")
    return path


def told(*paths: Path) -> list[str]:
    return [each.sentence for each in read_ranks(paths).found]


def test_the_rows_of_ranks_stand_below_each_other_and_healthy_ones_have_no_findings(tmp_path: Path) -> None:
    log = read_ranks([written(tmp_path, rank) for rank in (1, 0)])
    assert not log.found
    names = [(*row.path, row.name) for row in log.table.rows]
    assert names == [("fc", part, f"rank {rank}") for part in ("output", "w", "b") for rank in (0, 1)]
    board = health_of_log(log)
    assert board.scene.boxes["found"].title == "No findings"
    assert [step.caption for step in board.steps] == ["Step 1.", "Step 2.", "Step 3.", "Step 4."]


NAN = {"grad": ["nan", "nan"]}
CLOSED = {"ended": 4, "at": 12.5, "error": "RuntimeError: closed"}
NO_DATA = {"ended": 3, "at": 12.1, "error": "ValueError: no data"}
DIFFER = "parameters differ between the ranks: the norm of fc.w is"
# What is wrong, and what is changed in the files of both ranks.
WRONG = {
    "Step 3: rank 1 went wrong first: the norm of the output of fc is nan; rank 0 in step 3 followed.": (
        ({"step3": NAN}, {"step3": {"output": ["nan"], **NAN}})
    ),
    "Step 2: rank 1 went wrong first: the norm of the gradient of fc.b, before ranks average it, is nan; "
    "rank 0 in step 2 followed.": ({"step2": NAN}, {"step2": {"own": ["nan"] * 2, **NAN}}),
    "Step 4: rank 0 went wrong first: the norm of the output of fc is inf; ": ({"step4": {"output": ["inf"]}}, {}),
    "Step 2: ranks 0 and 1 went wrong at once: the norm of the output of fc is nan.": (
        ({"step2": {"output": ["nan"]}}, {"step2": {"output": ["nan"]}})
    ),
    "Step 2: the norm of the gradient of fc.b is nan on ranks 0 and 1: averaging brings it from one to all, "
    "and the files do not say from which.": ({"step2": NAN}, {"step2": NAN}),
    f"Step 3: the gradients of 1 of 2 {DIFFER} 0.1 on rank 0 and 0.3 on rank 1. They are those of fc.w; "
    "DistributedDataParallel made them equal.": ({}, {"step3": {"grad": [0.3, 0.2]}}),
    f"Step 3: the gradients of 1 of 2 {DIFFER} 0.1 on rank 0 and none on rank 1. They are ": (
        ({}, {"step3": {"grad": [None, 0.2]}})
    ),
    f"Step 1: the gradients of 2 of 2 {DIFFER} 0.1 on rank 0 and 0.3 on rank 1. Are they to be averaged?": (
        ({"head": {"averaged": False}}, {"step1": {"grad": [0.3, 0.5]}})
    ),
    f"Step 2: 1 of 2 {DIFFER} 1 on rank 0 and 1.5 on rank 1.": ({}, {"step2": {"weight": [1.5, 1.0]}}),
    "Rank 1 wrote no end: it was killed, or still runs. Stopped rank 0 after 4 steps: RuntimeError: closed": (
        ({"end": CLOSED}, {"end": {}, "steps": 3})
    ),
    "Rank 1 stopped first: rank 1 after 3 steps: ValueError: no data; then rank 0 after 4 steps: RuntimeError: "
    "closed": ({"end": CLOSED}, {"end": NO_DATA, "steps": 3}),
    "The last of rank 1 is step 2, and others went on to step 4.": ({}, {"steps": 2}),
    "The last of rank 1 is step 2, and others went on to step 4; of rank 1 no end is written: it was killed, "
    "or still runs.": ({"end": {}}, {"end": {}, "steps": 2}),
    "2 parameters are spread over the ranks, as FSDP does it: each rank has the norms of its own part, so that "
    "these differ means nothing.": (
        ({"part": True}, {"part": True, "step1": {"grad": [0.5, 0.6], "weight": [3.0, 1.0]}})
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_between_ranks_is_told_first(said: str, tmp_path: Path) -> None:
    found = told(*[written(tmp_path, rank, **dict(more)) for rank, more in enumerate(WRONG[said])])
    assert found[0].startswith(said), found
    assert len(found) == 1, found


def test_ranks_that_still_run_may_be_a_line_apart(tmp_path: Path) -> None:
    assert not told(written(tmp_path, 0, end={}), written(tmp_path, 1, 3, end={}))


def test_what_ranks_told_themselves_is_told_once(tmp_path: Path) -> None:
    line = {"step": 2, "found": ["the norm of all gradients is 9, and 0.2 in the usual step"]}
    paths = [written(tmp_path, rank) for rank in range(3)]
    for path in paths[:2]:
        path.write_text(path.read_text(encoding="utf-8") + json.dumps(line) + "\n", encoding="utf-8")
    assert told(*paths) == ["Step 2, ranks 0 and 1: the norm of all gradients is 9, and 0.2 in the usual step."]


def test_two_files_of_one_rank_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, 0)
    other = tmp_path / "other.jsonl"
    other.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^run\.rank0\.jsonl and other\.jsonl are both of rank 0\.$"):
        read_ranks([path, other])


def test_the_command_takes_files_or_a_pattern_that_no_shell_has_expanded(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in range(2):
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", str(rank))
        model, optimizer = model_of(workbench)
        with workbench.watch(model, optimizer, every=1, path="run.jsonl", keep=0):
            train(workbench, model, optimizer, 3, lambda step, rank=rank: math.nan if step == rank == 1 else 1.0)
    monkeypatch.delenv("RANK")
    told = capsys.readouterr()
    for words in (["run.rank*.jsonl"], ["run.rank1.jsonl", "run.rank0.jsonl"]):
        assert main(["health", *words]) == 0
        told = capsys.readouterr()
        first, *_, last = told.out.splitlines()
        said = "rank 1 went wrong first: the norm of the output of layer 0 is nan; no other rank has."
        assert (first, last, told.err) == (f"Step 2: {said}", "Wrote run.ranks.health.html.", "")
    assert main(["health", "run.rank1.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("Step 2: the norm of the output of layer 0 is nan.\n")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    assert main(["health", "run.rank0.jsonl", "run.json"]) == 1
    assert capsys.readouterr().err.startswith("workbench: run.json isn't a .jsonl log of watch(). ")
    assert main(["health", "run.rank0.jsonl", "none.jsonl"]) == 1
    assert capsys.readouterr().err == "workbench: no file none.jsonl.\n"
    assert main(["health", "no*.jsonl"]) == 1
    assert capsys.readouterr().err == "workbench: no file no*.jsonl.\n"


def test_a_page_of_many_ranks_is_written(tmp_path: Path) -> None:
    log = read_ranks([written(tmp_path, rank) for rank in range(8)])
    Picture(health_of_log(log)).save(tmp_path / "ranks.html")
    assert "rank 7" in (tmp_path / "ranks.html").read_text(encoding="utf-8")
