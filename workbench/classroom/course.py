"""The course page: the lessons in a folder, how far the reader has come, and the lesson to go on with."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .checks import FILE, read_points
from .judging import Exercise
from .registry import registered_files

PAGE = "course.ipynb"
TITLE = "The course"
BEGIN = "Begin with"
GO_ON = "Go on with"
CAN = "Afterward you can"
ALL_DONE = "You've done every exercise of the course."
EMPTY = "There are no lessons in this folder."
_TITLE = re.compile(r"^# +(.+?)\s*#*$", re.M)
_TIME = re.compile(r"^.*\*\*Time:\*\* about (\d{1,4} minutes.*?)\s*$", re.M)
_CAN = re.compile(rf"^\*\*{CAN}\*\* (.+?)\.?\s*$", re.M)
_NUMBER = re.compile(r"(\d{1,4}) · ")
_EXERCISE = re.compile(r"^# exercise: ([a-z0-9-]+)", re.M)
_LONGEST = 50_000_000  # bytes of a notebook that is read
_SHOWN = 300  # characters of a line


@dataclass(frozen=True, slots=True)
class Lesson:
    """A notebook as the course page shows it."""

    notebook: str  # the file's name
    title: str
    minutes: str = ""
    can: str = ""  # what its reader can do afterward
    right: int = 0  # exercises
    asked: int = 0
    begun: bool = False

    @property
    def done(self) -> bool:
        """True if every exercise is right; a lesson without exercises is done when one of its cells has run."""
        return self.begun and self.right == self.asked

    @property
    def number(self) -> int | None:
        """The number at the start of its title."""
        found = _NUMBER.match(self.title)
        return int(found[1]) if found else None

    @property
    def named(self) -> str:
        """Its title, with the word "lesson" before a number."""
        return self.title if self.number is None else f"lesson {self.title}"


def course() -> Course:
    """Return the lessons in this folder and how far you are in each.

    The result prints as a list. A notebook shows it as a page with links.
    """
    return course_in(Path())


def course_in(folder: Path, files: Path | None = None) -> Course:
    """Return the lessons of a folder and how far its reader is; the exercise files may be in another folder."""
    known: dict[str, Exercise] = {}
    by_file: dict[str, list[str]] = {}
    for stem, found in registered_files(files or folder).items():
        known |= found
        by_file[stem] = [*found]
    done = read_points(folder / FILE)
    lessons = []
    for path in folder.glob("*.ipynb"):
        cells = [] if path.name == PAGE else _cells(path)
        text = "".join(cells[0].get("source", "")) if cells and cells[0].get("cell_type") == "markdown" else ""
        title = _TITLE.search(text)
        if title is None and path.stem not in by_file:
            continue  # a notebook of the reader's, or one that can't be read
        named = {name for cell in cells for name in _EXERCISE.findall("".join(cell.get("source", "")))}
        names = [name for name in known if name in named] or by_file.get(path.stem, [])
        ran = any(cell.get("execution_count") is not None for cell in cells)
        lessons.append(
            Lesson(
                path.name,
                _plain(title[1]) if title else path.stem,
                _first(_TIME, text),
                _plain(_first(_CAN, text)),
                sum(done.get(name, -1.0) >= known[name].points for name in names),
                len(names),
                ran or any(name in done for name in names),
            )
        )
    return Course(sorted(lessons, key=lambda each: (each.number is None, each.number or 0, each.notebook)))


def _cells(path: Path) -> list[Any]:
    """Return the cells of a notebook; none if it can't be read."""
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST:
            return []
        cells = json.loads(path.read_bytes())["cells"]
        for cell in cells:
            "".join(cell.get("source", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return cells


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1][:_SHOWN] if found else ""


def _plain(text: str) -> str:
    """Return a line without Markdown's marks."""
    return re.sub(r"[`*]", "", text)[:_SHOWN]


class Course:
    """The lessons of a folder: prints as a list, and shows as a page with links in a notebook."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.lessons = list(lessons)

    @property
    def next(self) -> Lesson | None:
        """The lesson to go on with: the last one begun, or if that is done, the next one that isn't.

        None if all lessons are done.
        """
        places = [place for place, each in enumerate(self.lessons) if each.begun]
        numbered = [place for place in places if self.lessons[place].number is not None]
        last = max(numbered or places, default=0)
        return next((each for each in [*self.lessons[last:], *self.lessons[:last]] if not each.done), None)

    @property
    def says(self) -> str:
        """What to do next, as a sentence without its period."""
        if self.next is None:
            return (ALL_DONE if self.lessons else EMPTY).rstrip(".")
        begun = any(each.begun for each in self.lessons)
        return f"{GO_ON if begun else BEGIN} {self.next.named}"

    def __repr__(self) -> str:
        rows = [f"{_MARKS[_state(each)][0]} {each.title} ({_standing(each)})" for each in self.lessons]
        return "\n".join([f"{self.says}.", *rows])

    def _repr_html_(self) -> str:
        rows = "".join(map(_row, self.lessons))
        right, asked = (sum(getattr(each, part) for each in self.lessons) for part in ("right", "asked"))
        share = 100 * right / asked if asked else 0
        bar = f'<div class="wb-course-bar"><div style="width:{share:.0f}%"></div></div>' if asked else ""
        told = f"<p>{bar}{right} of {asked} exercises right</p>" if asked else ""
        return f'<div class="wb-course"><style>{_STYLE}</style>{self._top()}{told}<table>{rows}</table></div>'

    def _top(self) -> str:
        there = self.next
        if there is None:
            return f"<p><b>{escape(self.says)}.</b></p>"
        about = ". ".join([each for each in [_about(there), f"{CAN} {there.can}" if there.can else ""] if each])
        link = f'<a class="wb-course-go" {_BUTTON} href="{_address(there)}">{escape(self.says)}&nbsp;→</a>'
        return f"<p>{link}</p>" + (f"<p>{escape(about)}.</p>" if about else "")


def _about(lesson: Lesson) -> str:
    return f"About {lesson.minutes}" if lesson.minutes else ""


def _address(lesson: Lesson) -> str:
    return escape(quote(lesson.notebook))


def _state(lesson: Lesson) -> str:
    return "done" if lesson.done else "begun" if lesson.begun else "not begun"


def _standing(lesson: Lesson) -> str:
    parts = [f"{lesson.right} of {lesson.asked}"] if lesson.asked else []
    return ", ".join([*parts, *[lesson.minutes][: bool(lesson.minutes)], _state(lesson)])


def _row(lesson: Lesson) -> str:
    mark, kind = _MARKS[_state(lesson)]
    can = f'<div class="wb-course-can">{escape(lesson.can[:1].upper() + lesson.can[1:])}.</div>' if lesson.can else ""
    points = f"{lesson.right} of {lesson.asked}" if lesson.asked else ""
    return (
        f'<tr class="wb-course-{kind}"><td {_LEFT} title="{_state(lesson)}">{mark}</td>'
        f'<td {_LEFT}><a href="{_address(lesson)}">{escape(lesson.title)}</a>{can}</td>'
        f"<td>{points}</td><td>{escape(_BRIEF.sub('min', lesson.minutes))}</td></tr>"
    )


_LEFT = 'style="text-align:left"'  # JupyterLab's own style is stronger than the one below
# Inline, so that it's there too where a style sheet isn't: in a notebook that isn't trusted, as on a site of `lite`.
_BUTTON = (
    'style="display:inline-block;padding:10px 18px;border-radius:8px;background-color:#006ba4;color:#ffffff;'
    'font-size:18px;font-weight:600;text-decoration:none"'
)
_BRIEF = re.compile("minutes.*")
_MARKS = {"done": ("✓", "done"), "begun": ("◐", "begun"), "not begun": ("○", "open")}
# JupyterLab's own colors where there are any, so that the page follows its theme.
_STYLE = """
.wb-course { max-width: 46rem; font-size: 14px; line-height: 1.45; }
.wb-course p { margin: 0 0 .7rem; }
.wb-course a.wb-course-go:hover, .wb-course a.wb-course-go:focus-visible { background-color: #00527d !important; }
.wb-course-bar { display: inline-block; width: 12rem; height: .5rem; margin-right: .7rem; border-radius: 1rem;
  background: var(--jp-border-color2, #ddd); overflow: hidden; }
.wb-course-bar div { height: 100%; border-radius: 1rem; background: #1b6e3c; }
.wb-course table { width: 100%; border-collapse: collapse; margin: 0; font-size: inherit; table-layout: auto; }
.wb-course table tr, .wb-course table tr:nth-child(even), .wb-course table tr:hover { background: none; }
.wb-course table td { padding: .4rem .3rem; text-align: left; vertical-align: top; white-space: normal; border: 0;
  border-top: 1px solid var(--jp-border-color2, #ddd); max-width: none; }
.wb-course table td:nth-child(1) { width: 1.2rem; font-weight: 700; }
.wb-course table td:nth-child(n+3) { width: 1%; padding-left: 1rem; white-space: nowrap; text-align: right;
  font-variant-numeric: tabular-nums; }
.wb-course table td a { font-weight: 600; }
.wb-course-can { opacity: .8; }
.wb-course-done td:nth-child(1) { color: #1b6e3c; }
.wb-course-begun td:nth-child(1) { color: #8a5a00; }
[data-jp-theme-light="false"] .wb-course-done td:nth-child(1) { color: #7fd6a0; }
[data-jp-theme-light="false"] .wb-course-begun td:nth-child(1) { color: #f0c060; }
"""
