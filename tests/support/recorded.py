"""What PyTorch answered, kept for where it is not installed.

`WORKBENCH_RECORD_ORACLE=1 pytest -m oracle` with torch installed records all of tests/recorded/ anew, a file for each
test file, and `... pytest tests/*/test_file.py` those of that file; without torch the answers are read from there.
An answer belongs to the test that asked and to how many it had asked before. What no test asks any more is removed. An
answer that differs by rounding alone stays as it was, so that recording on another machine changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from differences import difference, dtype_of

FOLDER = Path(__file__).resolve().parents[1] / "recorded"
WRITING = os.environ.get("WORKBENCH_RECORD_ORACLE") == "1"

MOST = 40  # questions of one test; one that asks more draws them, and where torch is absent it is skipped
LONGEST = 1200  # characters of one part of an answer; of a longer part its numbers are kept, and a digest of the rest

ran: set[str] = set()  # the test files of which a test ran
_answers: dict[str, dict[str, Any]] = {}
_asked: dict[str, int] = {}


def question() -> tuple[str, str]:
    """The test file and the question in it that are being asked now."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    _asked[test] = count = _asked.get(test, 0) + 1
    path, _, name = test.partition("::")
    return Path(path).stem, f"{name} {count}"


def keep(answer: list[Any]) -> None:
    """Note PyTorch's answer to the question that is asked now."""
    file, key = question()
    answers = _answers.setdefault(file, {})
    parts = [(part, *_digested(part)) for part in through_json(answer)]
    answers[key] = [part if length <= LONGEST else digested for part, length, digested in parts]
    test, _, count = key.rpartition(" ")
    if int(count) > MOST:
        for number in range(1, int(count) + 1):
            answers.pop(f"{test} {number}", None)


def recall() -> list[Any]:
    """The answer noted for the question that is asked now."""
    file, key = question()
    answers = table(file)
    assert key in answers, (
        f"tests/recorded/{file}.json has no answer to {key!r}. Where torch is installed, "
        f"`WORKBENCH_RECORD_ORACLE=1 python -m pytest tests/*/{file}.py` records it."
    )
    return answers[key]


def table(file: str) -> dict[str, Any]:
    """All that was noted for a test file."""
    if file not in _answers:
        _answers[file] = on_file(file)
    return _answers[file]


def on_file(file: str) -> dict[str, Any]:
    """All that stands in the file of a test file."""
    path = FOLDER / f"{file}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


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
    return len(rest), {"digest": hashlib.sha256(rest.encode()).hexdigest(), "numbers": numbers}


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


def write() -> None:
    """Write all that was noted by the tests that ran, and remove what no test asks any more."""
    FOLDER.mkdir(exist_ok=True)
    gone = {path.stem for path in FOLDER.glob("*.json") if not any(FOLDER.parent.rglob(f"{path.stem}.py"))}
    for file in sorted(ran | gone):
        path, before, answers = FOLDER / f"{file}.json", on_file(file), through_json(_answers.get(file, {}))
        if not answers:
            path.unlink(missing_ok=True)
            continue
        for key in answers.keys() & before.keys():
            if difference(answers[key], before[key], key) is None:
                answers[key] = before[key]
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in sorted(answers.items())]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
