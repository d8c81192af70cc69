"""Write how large each part of the package is into ARCHITECTURE.md and the README: python tests/write_rooms.py"""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "workbench"
PAGE = PACKAGE / "ARCHITECTURE.md"
README = PACKAGE.parent / "README.md"
# What each part has: folders and files. A file belongs to the most exact name here.
PARTS = {
    "core": "autograd/ ops/ func/ events.py errors.py compat/absent.py",
    "library": "ops/library/ nn/ optim/ utils/ distributions/ linalg.py fft.py random.py autograd/gradcheck.py "
    "autograd/functional.py autograd/variable.py",
    "compat": "compat/ amp.py backends/ compiler.py cuda/ jit.py version.py",
    "pictures": "pictures/",
    "diagnosis": "diagnosis/ callbacks/",
    "bridges": "bridges/",
    "course": "classroom/ cli/",
    "front door": "__init__.py __main__.py",
}
ROW = re.compile(
    r"^\| (core|library|compat|pictures|diagnosis|bridges|course|front door|together) \| .* \|\n", re.MULTILINE
)
SENTENCE = re.compile(r"The core is [\d,]+ lines")


def lines(path: Path) -> int:
    """How many lines a file has, comments and empty ones too."""
    return path.read_text(encoding="utf-8").count("\n")


def part_of(name: str) -> str:
    """The part that a file of the package belongs to, by its path: `ops/library/linalg.py` is "library"."""
    known = [(len(place), part) for part, places in PARTS.items() for place in places.split() if name.startswith(place)]
    assert known, f"give {name} a part in tests/write_rooms.py"
    return max(known)[1]


def sizes(package: Path = PACKAGE) -> dict[str, int]:
    """The lines of Python in each part, and of all."""
    found = dict.fromkeys(PARTS, 0)
    for path in package.rglob("*.py"):
        found[part_of(path.relative_to(package).as_posix())] += lines(path)
    return found | {"together": sum(found.values())}


def table() -> str:
    """The rows of the table."""
    rows = []
    for part, count in sizes().items():
        places = ", ".join([f"`{place}`" for place in PARTS.get(part, "").split()])
        rows.append(f"| {part} | {places} | {count:,} |\n")
    return "".join(rows)


def said(count: int) -> str:
    """What the README says of the core, to the next hundred."""
    return f"The core is {round(count, -2):,} lines"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    first = next(ROW.finditer(text)).start()
    PAGE.write_text(text[:first] + table() + ROW.sub("", text[first:]), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(SENTENCE.sub(said(sizes()["core"]), text), encoding="utf-8")
