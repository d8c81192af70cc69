"""What PyTorch answered, kept for where it is not installed.

`WORKBENCH_RECORD_ORACLE=1 pytest -m oracle` with torch installed records all of tests/recorded/ anew, a file for each
part of the tests, and `... pytest FILE` what the tests of a file ask; without torch the answers are read from there.
An answer belongs to its question, by questions.key, whichever test asks. Where all tests of a part ran and passed, what
none of them asked is removed. An answer that differs by rounding alone stays as it was, so that recording on another
machine changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

from differences import TOLERANCE, difference, dtype_of

FOLDER = Path(__file__).resolve().parents[1] / "recorded"
WRITING = os.environ.get("WORKBENCH_RECORD_ORACLE") == "1"

MOST = 40  # questions of one test; one that asks more draws them, and where torch is absent it is skipped
LONGEST = 400  # characters of one part of an answer; of a longer part its numbers are kept, and a digest of the rest
LARGEST = 1_000_000  # characters of a file; the answers of a larger part are in sixteen files, by their digests

Answers = dict[str, dict[str, Any]]  # of each part, by what their questions are known by

_asked: dict[tuple[str, str], dict[str, Any]] = {}  # by the part and the test that asked


def asking() -> tuple[str, str]:
    """The part and the test that are asking now."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    return Path(test.partition("::")[0]).parent.name, test


def keep(key: str, answer: list[Any]) -> None:
    """Note PyTorch's answer to a question that is asked now."""
    parts = [(each, *_digested(each)) for each in through_json(answer)]
    answer = [each if length <= LONGEST else digested for each, length, digested in parts]
    merge({key: answer}, _asked.setdefault(asking(), {}))


def recall(key: str) -> list[Any]:
    """The answer noted to a question that is asked now."""
    part, test = asking()
    assert key in (answers := on_file(part)), (
        f"tests/recorded has no answer to {key!r}, which a test of {part} asks. Where torch is installed, "
        f"`WORKBENCH_RECORD_ORACLE=1 python -m pytest {test.partition('::')[0]}` records it."
    )
    return answers[key]


@cache
def on_file(part: str) -> dict[str, Any]:
    """All answers in the files of a part."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in _files(part)]
    return {key: answer for answers in files for key, answer in answers.items()}


def _files(part: str) -> list[Path]:
    return sorted(FOLDER.glob(f"{part}.json")) + sorted(FOLDER.glob(f"{part}-?.json"))


def through_json(value: Any) -> Any:
    """A value as it comes back from a file."""
    return json.loads(json.dumps(value))


def as_kept(part: Any, kept: Any) -> Any:
    """A part of another answer, so that it can be compared with the one that was kept."""
    part = through_json(part)
    return _digested(part)[1] if isinstance(kept, dict) and kept.keys() == {"digest", "numbers"} else part


def _digested(part: Any) -> tuple[int, dict[str, Any]]:
    """How long a part is, its floats aside; its numbers, and a digest of the rest."""
    numbers: list[Any] = []
    rest = json.dumps(_without_floats(part, "", numbers))
    return len(rest), {"digest": hashlib.sha256(rest.encode()).hexdigest()[:16], "numbers": numbers}


def _without_floats(part: Any, dtype: str, numbers: list[Any]) -> Any:
    """A part with a mark for each float; the floats themselves are put down as tensors of their dtype."""
    if isinstance(part, float):
        if not numbers or numbers[-1][1] != [dtype]:
            numbers.append(["tensor" if dtype else "numbers", [dtype], []])
        numbers[-1][2].append(part)
        return "float"
    if isinstance(part, list):
        dtype = dtype_of(part) or dtype
        return [_without_floats(item, dtype, numbers) for item in part]
    if isinstance(part, dict):
        return {key: _without_floats(item, dtype, numbers) for key, item in sorted(part.items())}
    return part


def _rounded(part: Any, dtype: str) -> Any:
    """An answer whose floats have no more digits than are compared, and two."""
    if isinstance(part, float):
        tolerance = TOLERANCE.get(dtype or "torch.float32", 0)
        return float(f"{part:.{2 - math.floor(math.log10(tolerance))}g}") if tolerance else part
    if isinstance(part, list):
        dtype = dtype_of(part) or dtype
        return [_rounded(item, dtype) for item in part]
    return {key: _rounded(item, dtype) for key, item in part.items()} if isinstance(part, dict) else part


def noted() -> Answers:
    """All answers noted in this process, but for those to questions that were drawn."""
    answers: Answers = {}
    for (part, _), asked in _asked.items():
        if len(asked) <= MOST:
            merge(asked, answers.setdefault(part, {}))
    return answers


def merge(others: dict[str, Any], answers: dict[str, Any]) -> None:
    """Add other answers; those to the same questions must be the same."""
    for key, answer in others.items():
        different = difference(answer, answers.setdefault(key, answer), key)
        assert different is None, f"{different}\nare two answers to one question"


def write(answers: Answers, whole: set[str]) -> None:
    """Write answers down; of parts that ran as a whole, no other ones stay."""
    FOLDER.mkdir(exist_ok=True)
    for part in answers.keys() | whole:
        before, files = on_file(part), dict[str, list[str]]()
        now = {key: _rounded(through_json(answer), "") for key, answer in answers.get(part, {}).items()}
        now |= {key: before[key] for key in now.keys() & before if difference(now[key], before[key], key) is None}
        now = now if part in whole else before | now
        lines = [f"{json.dumps(key)}:{json.dumps(now[key], separators=(',', ':'))}" for key in sorted(now)]
        large = sum(map(len, lines)) > LARGEST
        for key, line in zip(sorted(now), lines, strict=True):
            files.setdefault(f"{part}-{key[-1]}.json" if large else f"{part}.json", []).append(line)
        for path in _files(part):
            path.unlink()
        for name, lines in files.items():
            (FOLDER / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    on_file.cache_clear()
