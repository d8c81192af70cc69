"""A class on one page: what the notebooks that were handed in got right, and of what went wrong how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path, PurePosixPath

from workbench.classroom.judging import NOT_YET, Exercise, Verdict, counted
from workbench.cli import errors
from workbench.cli.errors import CommandError
from workbench.cli.grading import Graded, check_graded, check_output, grade_all, shown
from workbench.cli.handed_in import NOT_RUN, Assignment
from workbench.cli.pages import static, write

# How far an answer is: a sign, and what it means. The sign and the word say what the colour says.
STATES = {
    "full": ("●", "right: all points"),
    "part": ("◐", "not right yet; some of what is probed is right"),
    "none": ("○", "an answer that is not right"),
    "not tried": ("–", "no answer, or not in the notebook"),
    "not run": ("×", "the kernel died before it was judged"),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LONGEST = 1000  # characters of a text

_Answers = Mapping[str, Mapping[str, Verdict]]  # by student and exercise


def progress(place: Path, lessons: Path | None, output: Path | None) -> None:
    """Grade all notebooks of a folder, and write a page of the class.

    A CommandError says at the end how many could not be graded; the page has the others, and why each of these is not.
    """
    whole = place.resolve()
    name = whole.stem if whole.is_file() else whole.name
    output = output or Path(f"{name or 'class'}-progress.html")
    check_output(output)
    found = grade_all(place, lessons)
    try:
        write(output, page_of(found, name))
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(output, error.strerror)) from None
    check_graded(found)


def state_of(verdict: Verdict) -> str:
    """How far an answer is: a name in `STATES`."""
    if verdict.right:
        return "full"
    if not verdict.answered:
        return "not run" if verdict.says == NOT_RUN.format(counted(verdict.most)) else "not tried"
    return "part" if verdict.points > 0 or verdict.partly else "none"


def page_of(found: Sequence[Graded], title: str) -> str:
    """The page of the notebooks that were handed in, which needs nothing else."""
    lessons = {each.lesson.name: each.lesson for each in found if each.lesson}
    parts = [_lesson(lessons[name], _answers(found, lessons[name])) for name in sorted(lessons)]
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
{"".join(parts)}
{_not_run(found)}
</main>
</body>
</html>
"""


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _answers(found: Sequence[Graded], lesson: Assignment) -> _Answers:
    """What is said of each student's answers; of two notebooks that seem to be one student's, each has a row."""
    own = [each for each in found if each.lesson is lesson]
    times = Counter(student_of(each.name) for each in own)
    rows = {student_of(each.name) if times[student_of(each.name)] == 1 else each.name: each for each in own}
    return {name: {said.exercise: said for said in rows[name].said} for name in sorted(rows, key=str.casefold)}


def student_of(name: str) -> str:
    """Whose notebook it is: the folder it lies in, or one of its own, else its own name."""
    path = PurePosixPath(name)
    return path.parts[0] if len(path.parts) > 1 else path.stem


def _lesson(lesson: Assignment, answers: _Answers) -> str:
    names = list(lesson.exercises)
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in ["student", *names, "points"])
    rows = "".join(_row(student, names, said) for student, said in answers.items())
    right = [sum(said[name].right for said in answers.values()) for name in names]
    foot = "".join(f"<td>{many} of {len(answers)}</td>" for many in right)
    label = f'role="region" tabindex="0" aria-label="Answers to {_text(lesson.name)}"'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    table += f'<tfoot><tr><th scope="row">right</th>{foot}<td></td></tr></tfoot></table>'
    told = "".join(_exercise(each, answers) for each in lesson.exercises.values())
    return f'<section><h2>{_text(lesson.name)}</h2><div class="wide" {label}>{table}</div>{told}</section>'


def _row(student: str, names: Sequence[str], said: Mapping[str, Verdict]) -> str:
    cells = "".join(_cell(state_of(said[name])) for name in names)
    points, most = (sum(each) for each in zip(*((one.points, one.most) for one in said.values()), strict=True))
    return f'<tr><th scope="row">{_text(student)}</th>{cells}<td>{points:g} of {most:g}</td></tr>'


def _cell(state: str) -> str:
    return f'<td class="{state.replace(" ", "-")}">{STATES[state][0]} {state}</td>'


def _sign(state: str) -> str:
    return f'<b class="{state.replace(" ", "-")}">{STATES[state][0]} {state}</b>'


def _exercise(exercise: Exercise, answers: _Answers) -> str:
    """What went wrong in an exercise, the most frequent first, and with whom."""
    said = {student: found[exercise.name] for student, found in answers.items()}
    states = Counter(state_of(each) for each in said.values())
    many = " · ".join(f"{STATES[state][0]} {state}: {states[state]}" for state in STATES if states[state])
    hints = {each.name: each.told for each in exercise.misconceptions}
    wrong = {student: each for student, each in said.items() if state_of(each) in ("part", "none")}
    known = {student: hints[each.misconception] for student, each in wrong.items() if each.misconception in hints}
    start = NOT_YET.format(counted(exercise.points))
    others = {student: each.says.removeprefix(start) for student, each in wrong.items() if student not in known}
    return (
        f"<h3>{_text(exercise.name)}</h3><p>{_text(exercise.asks)}</p><p>{many}</p>"
        f"{_listed('Misconceptions', known)}{_listed('Other answers that are not right', others)}"
    )


def _listed(title: str, said: Mapping[str, str]) -> str:
    """Sentences with how many students each is said of, and who they are, folded."""
    items = []
    for sentence, many in Counter(said.values()).most_common():
        who = ", ".join(f"<bdi>{_text(student)}</bdi>" for student in said if said[student] == sentence)
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
    return f"<section><h2>What could not be run</h2><ul>{listed}</ul></section>" if items else ""


def _text(text: str) -> str:
    """Text from anywhere, for the page: no tags, nothing that turns the text around it, and not without an end."""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escape(shown(text))
