"""`watch`: lines of statistics of a training, what it tells, and what it refuses."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watched import CHECKS, lines, model_of, train

import workbench


@pytest.mark.parametrize("check", CHECKS)
def test_a_training_of_the_workbench(check: Callable[..., None], tmp_path: Path, capsys: Any) -> None:
    given = {"capsys": capsys} if "capsys" in inspect.signature(check).parameters else {}
    check(workbench, tmp_path / "run.jsonl", **given)


def test_a_process_that_is_killed_has_written_its_lines(tmp_path: Path) -> None:
    code = (
        "import sys, workbench; sys.path.insert(0, sys.argv[2]); from watched import model_of, train\n"
        "model, optimizer = model_of(workbench)\n"
        "workbench.watch(model, optimizer, every=1, path=sys.argv[1])\n"
        "while True: train(workbench, model, optimizer, 100)"
    )
    path, support = tmp_path / "run.jsonl", Path(__file__).parents[1] / "support"
    process = subprocess.Popen([sys.executable, "-c", code, str(path), str(support)])
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and not (path.exists() and path.stat().st_size > 10_000):
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    path.write_text(whole, encoding="utf-8")
    header, *watched = lines(path)
    assert header["format"] == "workbench.watch"
    assert [line["step"] for line in watched] == [*range(len(watched))] and len(watched) > 10


def test_each_process_of_several_has_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with workbench.watch(*model_of(workbench), path=tmp_path / "run.jsonl") as watcher:
        assert watcher.path == tmp_path / "run.rank1.jsonl" and watcher.path.exists()


def test_an_error_in_the_block_ends_it(tmp_path: Path) -> None:
    model, optimizer = model_of(workbench)
    with pytest.raises(ZeroDivisionError), workbench.watch(model, optimizer, every=1, path=tmp_path / "run.jsonl"):
        train(workbench, model, optimizer, 2)
        raise ZeroDivisionError
    train(workbench, model, optimizer, 2)
    assert len(lines(tmp_path / "run.jsonl")) == 3
    assert not any(module._forward_hooks for module in model.modules())


def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    model, optimizer = model_of(workbench)
    path = tmp_path / "run.jsonl"
    for error, given, said in (
        (TypeError, (optimizer, model), "takes a Module and an Optimizer, both of PyTorch or both of this package"),
        (TypeError, (model, optimizer, 2.5), "watch(every=...) takes a whole number, but got float."),
        (ValueError, (model, optimizer, 0), "watch(every=...) takes a whole number from 1 up, but got 0."),
        (ValueError, (model, optimizer, 1, path, -1), "watch(keep=...) takes a whole number from 0 up, but got -1."),
    ):
        with pytest.raises(error) as caught:
            workbench.watch(*given)
        assert said in str(caught.value)
    with pytest.raises(OSError):
        workbench.watch(model, optimizer, path=tmp_path / "no" / "run.jsonl")
    train(workbench, model, optimizer, 1)
    assert not any(tmp_path.iterdir())
