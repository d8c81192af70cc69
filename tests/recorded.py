"""What PyTorch answered, kept for where it is not installed.

`WORKBENCH_RECORD_ORACLE=1 pytest tests` with torch installed writes tests/recorded/, a file for each test file; without
torch the answers are read from there. An answer belongs to the test that asked and to how many it had asked before.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("recorded")
WRITING = os.environ.get("WORKBENCH_RECORD_ORACLE") == "1"

MOST = 40  # questions of one test; those of drawn programs are too many to keep
LONGEST = 1200  # characters of an answer; the few longer ones are skipped where PyTorch is not installed

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
    if int(key.rpartition(" ")[2]) <= MOST and len(json.dumps(answer)) <= LONGEST:
        _answers.setdefault(file, {})[key] = answer


def recall() -> list[Any] | None:
    """The answer noted for the question that is asked now; None where there is none."""
    file, key = question()
    return table(file).get(key)


def table(file: str) -> dict[str, Any]:
    """All that was noted for a test file; nothing where it is to be noted anew."""
    if file not in _answers:
        path = FOLDER / f"{file}.json"
        known = path.exists() and not WRITING
        _answers[file] = json.loads(path.read_text(encoding="utf-8")) if known else {}
    return _answers[file]


def write() -> None:
    """Write all that was noted."""
    FOLDER.mkdir(exist_ok=True)
    for file, answers in _answers.items():
        if not answers:
            continue
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in sorted(answers.items())]
        (FOLDER / f"{file}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
