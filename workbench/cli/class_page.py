"""The class report: which answers of the submitted notebooks are right, and how often each misconception occurs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import Path, PurePosixPath

from workbench.classroom.judging import NOT_YET, Exercise, Verdict, counted
from workbench.cli import errors
from workbench.cli.errors import CommandError
from workbench.cli.grading import SECONDS, Graded, check_graded, check_output, grade_all, shown
from workbench.cli.handed_in import NOT_RUN, Assignment
from workbench.cli.pages import static, write

# The state of an answer: its sign and its meaning. Sign and word carry the same information as the color.
STATES = {
    "full": ("●", "right: all points"),
    "part": ("◐", "not right yet, but some of the checks pass"),
    "wrong": ("○", "wrong"),
    "not tried": ("–", "no answer, or not in the notebook"),
    "not run": ("×", "the kernel crashed before this was graded"),
    "not read": ("×", "the notebook couldn't be read, or has no exercise from the lesson"),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LONGEST = 1000  # characters of a text
_IN_ROW = 80  # characters of an error that a row shows
_MOST_FREQUENT = 5  # misconceptions at the top
# Errors that a row shows: the student's code can't run, or a name in it is missing.
_TOLD = re.compile(r"\b((?:Syntax|Indentation|Tab|Name|Import|ModuleNotFound)Error): (.*?)(?:\. |\.?$)")

_Answers = Mapping[str, Mapping[str, Verdict]]  # by student and exercise


def progress(place: Path, lessons: Path | None, output: Path | None, timeout: float = SECONDS) -> None:
    """Grade all notebooks of a folder and write the class report, with the reasons why some couldn't be graded.

    Raises:
        CommandError: at the end, if some couldn't be graded.
    """
    whole = place.resolve()
    name = whole.stem if whole.is_file() else whole.name
    output = output or Path(f"{name or 'class'}-progress.html")
    check_output(output)
    found = grade_all(place, lessons, timeout)
    try:
        write(output, page_of(found, name))
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None
    check_graded(found)


def state_of(verdict: Verdict) -> str:
    """Return the state of an answer, a name in `STATES`."""
    if verdict.right:
        return "full"
    if not verdict.answered:
        return "not run" if verdict.says == NOT_RUN.format(counted(verdict.most)) else "not tried"
    return "part" if verdict.points > 0 or verdict.partly else "wrong"


def page_of(found: Sequence[Graded], title: str) -> str:
    """Return the class report as a self-contained page."""
    lessons = {each.lesson.name: each.lesson for each in found if each.lesson}
    unread = _unread(found, lessons)
    answers = {name: _answers(found, lessons[name]) for name in sorted(lessons)}
    parts = [_lesson(lessons[name], answers[name], unread.get(name, ())) for name in answers]
    title = f"Progress: {_text(title)}"
    legend = "".join(f"<li>{_sign(state)} {_text(what)}</li>" for state, (_, what) in STATES.items())
    summary = f"{_many(len(found), 'notebook')}, {_many(len(lessons), 'lesson')}."
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title}</title>
<style>{static("class.css")}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{summary}</p>
<ul class="legend">{legend}</ul>
{_most_frequent(lessons, answers)}
{"".join(parts)}
{_table_of_unread(unread.get("", ()))}
{_not_run(found)}
</main>
</body>
</html>
"""


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _answers(found: Sequence[Graded], lesson: Assignment) -> _Answers:
    """Return the verdicts by student; if two notebooks seem to be from one student, each gets its own row."""
    own = [each for each in found if each.lesson is lesson]
    times = Counter(student_of(each.name) for each in own)
    rows = {student_of(each.name) if times[student_of(each.name)] == 1 else each.name: each for each in own}
    return {name: {said.exercise: said for said in rows[name].said} for name in sorted(rows, key=str.casefold)}


def student_of(name: str) -> str:
    """Return the student's name: the notebook's outermost folder, or else the notebook's own name."""
    path = PurePosixPath(name)
    return path.parts[0] if len(path.parts) > 1 else path.stem


def _unread(found: Sequence[Graded], lessons: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return the notebooks without a lesson, by the lesson that their name starts with, or else the only one."""
    unread: dict[str, list[str]] = {}
    for each in found:
        if each.lesson is None:
            stem = PurePosixPath(each.name).stem
            near = [name for name in lessons if stem.startswith(name)] or [*lessons] * (len(lessons) == 1)
            unread.setdefault(max(near, key=len, default=""), []).append(each.name)
    return unread


def _most_frequent(lessons: Mapping[str, Assignment], answers: Mapping[str, _Answers]) -> str:
    """List the most common misconceptions of all lessons."""
    shown = Counter(
        (name, said.exercise, said.misconception)
        for name, students in answers.items()
        for verdicts in students.values()
        for said in verdicts.values()
        if said.misconception and not said.right
    )
    items = []
    for (name, exercise, misconception), many in shown.most_common(_MOST_FREQUENT):
        asked = lessons[name].exercises[exercise]
        told = next((each.in_words for each in asked.misconceptions if each.name == misconception), "")
        items.append(f"<li><b>{many} ×</b> {_text(told)} ({_text(exercise)})</li>" if told else "")
    listed = "".join(items)
    return f"<section><h2>Most common misconceptions</h2><ol>{listed}</ol></section>" if listed else ""


def _lesson(lesson: Assignment, answers: _Answers, unread: Sequence[str]) -> str:
    names = list(lesson.exercises)
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in ["student", *names, "points"])
    rows = "".join(_row(student, names, said) for student, said in answers.items())
    rows += "".join(_row_of_none(name, answers, len(names)) for name in sorted(unread, key=str.casefold))
    right = [sum(said[name].right for said in answers.values()) for name in names]
    foot = "".join(f"<td>{many} of {len(answers)}</td>" for many in right)
    label = f'role="region" tabindex="0" aria-label="Answers to {_text(lesson.name)}"'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    table += f'<tfoot><tr><th scope="row">right</th>{foot}<td></td></tr></tfoot></table>'
    told = "".join(_exercise(each, answers) for each in lesson.exercises.values())
    return f'<section><h2>{_text(lesson.name)}</h2><div class="wide" {label}>{table}</div>{told}</section>'


def _row(student: str, names: Sequence[str], verdicts: Mapping[str, Verdict]) -> str:
    cells = "".join(_cell(verdicts[name]) for name in names)
    points, most = (sum(each) for each in zip(*((one.points, one.most) for one in verdicts.values()), strict=True))
    return f'<tr><th scope="row">{_text(student)}</th>{cells}<td>{points:g} of {most:g}</td></tr>'


def _cell(verdict: Verdict) -> str:
    state = state_of(verdict)
    raised = None if verdict.right or not verdict.answered or verdict.misconception else _TOLD.search(verdict.says)
    error = f"{raised[1]}: {raised[2]}" if raised else ""
    error = error if len(error) <= _IN_ROW else f"{error[:_IN_ROW]}…"
    small = f"<small>{_text(error)}</small>" if error else ""
    return f'<td class="{state.replace(" ", "-")}">{STATES[state][0]} {state}{small}</td>'


def _row_of_none(name: str, answers: _Answers, many: int) -> str:
    """Return the row of a notebook that couldn't be read, named after the file if the student has another one."""
    student = student_of(name) if student_of(name) not in answers else name
    cell = f'<td class="not-read" colspan="{many}">{STATES["not read"][0]} not read</td>'
    return f'<tr><th scope="row">{_text(student)}</th>{cell}<td>–</td></tr>'


def _table_of_unread(unread: Sequence[str]) -> str:
    """Return a table of the notebooks that couldn't be read or assigned to a lesson."""
    rows = "".join(_row_of_none(name, {}, 1) for name in sorted(unread, key=str.casefold))
    head = '<tr><th scope="col">student</th><th scope="col">answers</th><th scope="col">points</th></tr>'
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f"<section><h2>No matching lesson</h2>{table}</section>" if rows else ""


def _sign(state: str) -> str:
    return f'<b class="{state.replace(" ", "-")}">{STATES[state][0]} {state}</b>'


def _exercise(exercise: Exercise, answers: _Answers) -> str:
    """List what went wrong in an exercise, most common first, and for which students."""
    said = {student: found[exercise.name] for student, found in answers.items()}
    states = Counter(state_of(each) for each in said.values())
    many = " · ".join(f"{STATES[state][0]} {state}: {states[state]}" for state in STATES if states[state])
    hints = {each.name: each.in_words for each in exercise.misconceptions}
    wrong = {student: each for student, each in said.items() if state_of(each) in ("part", "wrong")}
    known = {student: hints[each.misconception] for student, each in wrong.items() if each.misconception in hints}
    start = NOT_YET.format(counted(exercise.points))
    others = {student: each.says.removeprefix(start) for student, each in wrong.items() if student not in known}
    return (
        f"<h3>{_text(exercise.name)}</h3><p>{_text(exercise.asks)}</p><p>{many}</p>"
        f"{_listed('Misconceptions', known)}{_listed('Other wrong answers', others)}"
    )


def _listed(title: str, by_student: Mapping[str, str]) -> str:
    """List messages with the number of students that got each, and their names, folded."""
    items = []
    for sentence, many in Counter(by_student.values()).most_common():
        who = ", ".join(f"<bdi>{_text(student)}</bdi>" for student in by_student if by_student[student] == sentence)
        items.append(f"<li><b>{many} ×</b> {_text(sentence)}<details><summary>Who</summary>{who}</details></li>")
    return f"<h4>{title}</h4><ul>{''.join(items)}</ul>" if items else ""


def _not_run(found: Sequence[Graded]) -> str:
    items = [(each.name, each.refused) for each in found if each.lesson is None]
    items += [
        (f"{each.name}, {said.exercise}", said.says)
        for each in found
        for said in each.said
        if state_of(said) == "not run"
    ]
    listed = "".join(f"<li><bdi>{_text(name)}</bdi>: {_text(why)}</li>" for name, why in items)
    return f"<section><h2>Couldn't be graded</h2><ul>{listed}</ul></section>" if items else ""


def _text(text: str) -> str:
    """Make any text safe for the page: escape tags and control characters, and limit its length."""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escape(shown(text))
