"""Write how large each room of the package is into ARCHITECTURE.md: python tests/write_rooms.py"""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "workbench"
PAGE = PACKAGE / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (`\w+/`|files beside them|together) \| ([\d,]+) \| ([\d,]+) \|\n", re.MULTILINE)


def lines(path: Path) -> int:
    """How many lines a file has, comments and empty ones too."""
    return path.read_text(encoding="utf-8").count("\n")


def rooms(package: Path = PACKAGE) -> dict[str, int]:
    """The lines of Python in each room, the largest first, then those of the files beside the rooms and of all."""
    found: dict[str, int] = {}
    beside = 0
    for path in package.rglob("*.py"):
        room, *inner = path.relative_to(package).parts
        if inner:
            found[f"`{room}/`"] = found.get(f"`{room}/`", 0) + lines(path)
        else:
            beside += lines(path)
    ranked = dict(sorted(found.items(), key=lambda each: -each[1]))
    return ranked | {"files beside them": beside, "together": sum(found.values()) + beside}


def written(page: str) -> dict[str, tuple[int, int]]:
    """What the page says of each room: its lines when this table began, and those it has."""
    return {room: (_number(begin), _number(now)) for room, begin, now in ROW.findall(page)}


def table(began: dict[str, int]) -> str:
    """The rows of the table."""
    return "".join([f"| {room} | {began.get(room, 0):,} | {now:,} |\n" for room, now in rooms().items()])


def _number(text: str) -> int:
    return int(text.replace(",", ""))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    began = {room: begin for room, (begin, _) in written(text).items()}
    first = next(ROW.finditer(text)).start()
    PAGE.write_text(text[:first] + table(began) + ROW.sub("", text[first:]), encoding="utf-8")
