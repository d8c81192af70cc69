"""The table of the parts of the program that nodes were made in: each once, with the number of the part around it."""

from __future__ import annotations

import typing
from typing import Any, cast

from .facts import Part

_LONGEST = 1_000  # characters of a title: more than an expression is kept with
_DEEPEST = 100  # parts inside each other
_MOST = 2**63 - 1  # of a round, a statement
_KINDS = typing.get_args(typing.get_type_hints(Part)["kind"])


def shortened(text: str, most: int) -> str:
    """Return a text if it isn't too long, or else its beginning and end."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]} … {text[-(most // 5) :]}"


class PartsWritten:
    """The table as it is written."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []  # the number of the part around, then its fields but the key
        self._numbers: dict[int, int] = {}  # of the rows by the keys of the parts

    def number(self, path: tuple[Part, ...]) -> int | None:
        """Return the row of a path's innermost part; the parts around it have earlier rows."""
        around = None
        for part in path:
            if part.key not in self._numbers:
                self._numbers[part.key] = len(self.rows)
                more = [part.variable, part.module, part.settings]
                while more and not more[-1]:
                    del more[-1]
                title, *texts = [shortened(text, _LONGEST) for text in (part.title, *more)]
                self.rows.append([around, part.kind, title, part.number, *texts])
            around = self._numbers[part.key]
        return around


class PartsRead:
    """The table as it is read; a ValueError says what is wrong with it."""

    def __init__(self, rows: Any) -> None:
        if rows.__class__ is not list:
            raise ValueError("This trace has no list of parts.")
        self._paths: list[tuple[Part, ...]] = []
        for at, row in enumerate(rows):
            if row.__class__ is not list or not 4 <= len(row) <= 7:
                raise ValueError(f"Part {at} of this trace doesn't have four to seven fields.")
            around, kind, title, number, *more = cast("list[Any]", row)
            if around is not None and not (around.__class__ is int and 0 <= around < at):
                raise ValueError(f"Part {at} of this trace isn't inside an earlier part.")
            path: tuple[Part, ...] = () if around is None else self._paths[int(around)]
            if len(path) >= _DEEPEST:
                raise ValueError(f"Part {at} of this trace is inside {_DEEPEST} others, which is too deep.")
            texts = [title, *more]
            wrong = kind not in _KINDS or any([text.__class__ is not str for text in texts])
            if wrong or max(map(len, texts)) > _LONGEST:
                raise ValueError(f"Part {at} of this trace has an invalid kind or text.")
            if number.__class__ is not int or not 0 <= number <= _MOST:
                raise ValueError(f"Part {at} of this trace has an invalid number.")
            self._paths.append((*path, Part(kind, at + 1, title, number, *more)))

    def path(self, row: Any) -> tuple[Part, ...]:
        """Return the path down to one of the parts."""
        if row.__class__ is not int or not 0 <= row < len(self._paths):
            raise ValueError("refers to an unknown part")
        path = self._paths[int(row)]
        if path[-1].kind == "loop":
            raise ValueError("is in a loop, but in none of its iterations")
        return path
