"""`workbench quiz`: questions about a recording, as a notebook, as a page for the projector, or in GIFT for Moodle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import workbench
from workbench.classroom.quiz import LETTERS, QuizQuestion, questions
from workbench.classroom.registry import SUFFIX
from workbench.cli import errors
from workbench.cli.errors import CommandError
from workbench.cli.pages import static
from workbench.pictures.recording import Trace
from workbench.pictures.scene.picture import check_place, write_whole

FORMATS = (".ipynb", ".html", ".gift")
_FIRST = "from workbench.classroom import check"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def quiz(source: Path, output: Path, most: int, seed: int) -> None:
    """Write questions about a saved recording.

    Args:
        source: The recording.
        output: The file to write; its suffix sets the format. Next to a notebook goes its file of exercises.
        most: The maximum number of questions.
        seed: What the choice and the order of questions and answers depend on.
    """
    if output.suffix not in FORMATS:
        raise CommandError(errors.NO_QUIZ_FORMAT.format(output.name, ", ".join(FORMATS)))
    try:
        check_place(output)
        trace = workbench.load(source)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error).removesuffix(".")
        raise CommandError(errors.NOT_READ.format(source, said)) from None
    asked = questions(trace, most, seed) if isinstance(trace, Trace) else []
    if not asked:
        raise CommandError(errors.NO_QUESTIONS.format(source))
    written = {output: _of_suffix(output, asked, seed)}
    if output.suffix == ".ipynb":
        written[output.with_name(f"{output.stem}{SUFFIX}")] = exercise_file(asked, seed)
    for path, text in written.items():
        write_whole(path, text.encode())
    print(f"Wrote {len(asked)} questions to {' and '.join(path.name for path in written)}.")


def _of_suffix(output: Path, asked: Sequence[QuizQuestion], seed: int) -> str:
    if output.suffix == ".ipynb":
        return nbformat.writes(notebook(asked, seed)) + "\n"
    return page(asked, seed, output.stem) if output.suffix == ".html" else gift(asked, seed)


def _name(number: int) -> str:
    return f"quiz-{number}"


def _lettered(each: QuizQuestion, seed: int) -> list[tuple[str, str, str]]:
    return [(letter, *answer) for letter, answer in zip(LETTERS, each.answers(seed), strict=False)]


def _right(each: QuizQuestion, seed: int) -> str:
    return next(letter for letter, answer, _ in _lettered(each, seed) if answer == each.right)


def notebook(asked: Sequence[QuizQuestion], seed: int) -> nbformat.NotebookNode:
    """Return the questions as a notebook of exercises, whose answers are letters."""
    cells = [new_markdown_cell("# Questions about a recording\n\nAnswer with a letter."), new_code_cell(_FIRST)]
    for number, each in enumerate(asked, 1):
        answers = "\n".join(f"- **{letter}:** {answer}" for letter, answer, _ in _lettered(each, seed))
        cells.append(new_markdown_cell(f"**{number}.** {each.asks}\n\n{answers}"))
        code = f"# exercise: {_name(number)}\nanswer_{number} = None  # a letter in quotes\n### BEGIN SOLUTION\n"
        code += f'answer_{number} = "{_right(each, seed)}"\n### END SOLUTION\ncheck("{_name(number)}", answer_{number})'
        cells.append(new_code_cell(code))
    for number, cell in enumerate(cells):
        cell.id = f"quiz-{number}"
    return new_notebook(cells=cells)


def exercise_file(asked: Sequence[QuizQuestion], seed: int) -> str:
    """Return the file of exercises next to the notebook."""
    parts = ['"""The questions about a recording, with their answers."""\n']
    parts.append("from workbench.classroom import Misconception, exercise\n")
    for number, each in enumerate(asked, 1):
        wrong = [(letter, why) for letter, answer, why in _lettered(each, seed) if answer != each.right]
        shown = "".join(f'        Misconception("the answer {a} is wrong", {why!r}, {a!r}),\n' for a, why in wrong)
        parts.append(
            f"exercise(\n    {_name(number)!r},\n    {each.asks!r},\n    solution={_right(each, seed)!r},\n"
            f"    misconceptions=[\n{shown}    ],\n)\n"
        )
    return "\n".join(parts)


def page(asked: Sequence[QuizQuestion], seed: int, title: str) -> str:
    """Return a page that shows one question at a time on a projector, and its answer when it's clicked."""
    slides = []
    for number, each in enumerate(asked, 1):
        answers = "".join(f"<li>{_html(answer)}</li>" for _, answer, _ in _lettered(each, seed))
        said = f"<b>{_right(each, seed)}.</b> {_html(each.why)}"
        slides.append(
            f'<section id="q{number}"><h2>{number} of {len(asked)}</h2><p>{_html(each.asks)}</p><ol type="a">{answers}'
            f"</ol><details><summary>Answer</summary><p>{said}</p></details></section>"
        )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{static('quiz.css')}</style>\n</head>\n<body>\n" + "\n".join(slides) + "\n</body>\n</html>\n"
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def gift(asked: Sequence[QuizQuestion], seed: int) -> str:
    """Return the questions in GIFT, which Moodle and others import (docs.moodle.org/en/GIFT_format)."""
    parts = []
    for number, each in enumerate(asked, 1):
        answers = []
        for _, answer, why in _lettered(each, seed):
            mark = "=" if answer == each.right else "~"
            answers.append(f"  {mark}{_in_gift(answer)}#{_in_gift(why)}")
        asks = f"::Question {number}::[markdown]{_in_gift(each.asks)} {{"
        parts.append("\n".join([asks, *answers, "}"]))
    return "\n\n".join(parts) + "\n"


def _in_gift(text: str) -> str:
    return re.sub(r"([~=#{}:\\])", r"\\\1", text.replace("\n", " "))
