"""`watch`: lines of statistics of a training, what it tells, and what it refuses."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watched import CHECKS, ends, lines, model_of, train

import workbench
from workbench.diagnosis.health.log import read_log
from workbench.diagnosis.watching import show_log


@pytest.mark.parametrize("check", CHECKS)
def test_a_training_of_the_workbench(check: Callable[..., None], tmp_path: Path, capsys: Any) -> None:
    given = {"capsys": capsys} if "capsys" in inspect.signature(check).parameters else {}
    check(workbench, tmp_path / "run.jsonl", **given)


def test_a_process_that_is_killed_has_written_its_lines(tmp_path: Path) -> None:
    code = (
        "import sys, workbench; sys.path.insert(0, sys.argv[2]); from watched import model_of, train\n"
        "model, optimizer = model_of(workbench)\n"
        "workbench.watch(model, optimizer, every=1, path=sys.argv[1])\n"
        "while True: train(workbench, model, optimizer, 20); print('trained', flush=True)"
    )
    path, support = tmp_path / "run.jsonl", Path(__file__).parents[1] / "support"
    words = [sys.executable, "-c", code, str(path), str(support)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "trained\n"
        process.kill()
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    path.write_text(whole, encoding="utf-8")
    header, *watched = lines(path)
    assert header["format"] == "workbench.watch"
    assert [line["step"] for line in watched] == [*range(1, len(watched) + 1)] and len(watched) > 10


def test_an_error_in_the_block_ends_it(tmp_path: Path) -> None:
    model, optimizer = model_of(workbench)
    with pytest.raises(ZeroDivisionError), workbench.watch(model, optimizer, every=1, path=tmp_path / "run.jsonl"):
        train(workbench, model, optimizer, 2)
        raise ZeroDivisionError
    train(workbench, model, optimizer, 2)
    assert len(lines(tmp_path / "run.jsonl")) == 3
    assert ends(tmp_path / "run.jsonl") == [(2, "ZeroDivisionError:")]
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


def test_a_file_is_read_while_it_is_written(tmp_path: Path) -> None:
    model, optimizer = model_of(workbench)
    path = tmp_path / "run.jsonl"
    with workbench.watch(model, optimizer, every=2, path=path, keep=0) as watched:
        train(workbench, model, optimizer, 5)
        with path.open("a", encoding="utf-8") as file:
            file.write('{"step": 7, "grad": [0.1,')  # a line that is not whole yet
        table = read_log(path).table
        assert table.steps == [1, 3, 5]
        rows = {".".join([*row.path, row.name]): row for row in table.rows}
        assert list(rows) == ["0.output", "0.weight", "0.bias", "1.output", "2.output", "2.weight", "2.bias"]
        _, first, *_ = lines_of_whole(path)
        cell = rows["2.weight"].cells[0]
        assert cell is not None and (cell.norm, cell.value, cell.update) == tuple(
            [first[part][2] for part in ("grad", "weight", "update")]
        )
        board = watched.show().storyboard
    assert [step.caption for step in board.steps] == ["Step 1.", "Step 3.", "Step 5."]
    assert board.scene.boxes["found"].title == "No findings"


def lines_of_whole(path: Path) -> list[dict[str, Any]]:
    """The lines of a file whose last one is not whole."""
    whole = path.with_suffix(".whole")
    whole.write_text(path.read_text(encoding="utf-8").rpartition("\n")[0], encoding="utf-8")
    return lines(whole)


def test_what_was_told_stands_first_and_the_last_run_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for broken in (False, True):
        model, optimizer = model_of(workbench)
        with workbench.watch(model, optimizer, every=1, path=path, keep=0):
            train(workbench, model, optimizer, 3, lambda step, broken=broken: float("nan") if broken else 1.0)
        boxes = show_log(path).storyboard.scene.boxes
        assert boxes["found"].title == ("1 finding" if broken else "No findings")
    assert boxes["f0"].title == "Step 1: the norm of the output of layer 0 is nan."
    assert boxes["r1.2"].state == "error"


HEAD = '{"format": "workbench.watch", "version": '
NO_LINE = '{"step": 0, "grad": [], "weight": [], "update": [], "output": [], "dead": []}'
NO_FILE = ["", "no JSON", "[1]", HEAD + "99}", HEAD + "1}", HEAD + '1, "layers": 3, "parameters": []}', "[" * 100_000]
NO_FILE.append(HEAD + '1, "layers": [], "parameters": [{"name": "w", "shape": [2]}]}\n' + NO_LINE)


@pytest.mark.parametrize("text", NO_FILE)
def test_what_is_no_such_file_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^run\.jsonl is (no file that|not as) workbench\.watch"):
        read_log(path)


def test_steps_of_older_files_which_counted_from_0_are_read_from_1(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    header = {"format": "workbench.watch", "version": 1, "layers": [], "parameters": [{"name": "w", "shape": [2]}]}
    line = {"step": 0, "grad": ["nan"], "weight": [1.0], "update": [0.1], "output": [], "dead": []}
    told = {"step": 0, "found": ["the norm of the gradient of w is nan"]}
    path.write_text("\n".join([json.dumps(each) for each in (header, line, told)]) + "\n", encoding="utf-8")
    log = read_log(path)
    assert log.table.steps == [1]
    assert [each.sentence for each in log.found] == ["Step 1: the norm of the gradient of w is nan."]


def test_names_from_a_file_are_text_in_a_page(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    name = "<script>alert(1)</script>"
    header = {"format": "workbench.watch", "version": 1, "layers": [{"name": name}], "parameters": []}
    line = {"step": 0, "grad": [], "weight": [], "update": [], "output": [1.5], "dead": [None]}
    path.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n", encoding="utf-8")
    show_log(path).save(tmp_path / "page.html")
    assert name not in (tmp_path / "page.html").read_text(encoding="utf-8")
