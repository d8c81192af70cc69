"""The command `workbench book`: linked pages with contents and search, live, dark and on paper, without a server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from browser_page import open_page, require_chromium, wait_until
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from workbench.cli.pages import book, readable

MOST_BYTES = 900_000  # of a page, on average
EXERCISE = """# exercise: slope-of-a-line
answer = None  # a number
### BEGIN SOLUTION
answer = 4 if 1 < 2 else None

answer = answer
### END SOLUTION
check("slope-of-a-line", answer)"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of a lesson of the course, an exercise and a lesson with an odd name."""
    lessons = tmp_path_factory.mktemp("lessons")
    cells = [
        new_markdown_cell("# 1 · Leaves & `.grad`\n\n**The question of this lesson:** what is a <leaf>?"),
        new_markdown_cell("## 1 · A zebra\n\nSee [lesson 0](00-slopes-and-a-graph.ipynb#there) or [out](a:b.ipynb)."),
        new_code_cell("from workbench.classroom import check"),
        new_code_cell(EXERCISE),
        new_code_cell("open('beside.txt', 'w').close()"),
    ]
    nbformat.write(new_notebook(cells=cells), lessons / "01-leaves.ipynb")
    nbformat.write(new_notebook(cells=[new_code_cell("print('okapi </script>')")]), lessons / "02-no-title.ipynb")
    first = nbformat.read(CHECKOUT / "notebooks" / "00-slopes-and-a-graph.ipynb", as_version=4)
    nbformat.write(first, lessons / "00-slopes-and-a-graph.ipynb")
    shutil.copy(CHECKOUT / "notebooks" / "00-slopes-and-a-graph.exercises.py", lessons)
    out = tmp_path_factory.mktemp("book") / "deep" / "site"
    book(out, lessons)
    assert sorted(path.suffix for path in lessons.iterdir()) == [".ipynb"] * 3 + [".py"]
    return out


def test_the_command_writes_a_page_for_a_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Okapi"), new_code_cell("40 + 2")]), lessons / "okapi.ipynb")
    book(tmp_path / "pages", lessons)
    assert "Okapi" in (tmp_path / "pages" / "index.html").read_text()
    assert re.search(r"<pre>42\s*</pre>", (tmp_path / "pages" / "okapi.html").read_text())


def test_a_page_asks_for_a_guess_where_nobody_can_write_a_prediction(tmp_path: Path) -> None:
    cells = [
        new_code_cell("from workbench.classroom import check\nprediction = None"),
        new_code_cell("print('a:', check(prediction, 3.0))\nprint('b:', check(..., (2, 3)), check(4.0, 3.0))"),
        new_code_cell("check(None, True)"),
    ]
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    nbformat.write(new_notebook(cells=cells), lessons / "okapi.ipynb")
    book(tmp_path / "pages", lessons)
    text = (tmp_path / "pages" / "okapi.html").read_text()
    assert text.count("Guess first") == 3 and "No prediction yet" not in text
    assert "Not yet" in text  # what a check says of a guess stays


@pytest.mark.slow
def test_a_book_is_a_page_for_each_lesson_and_its_contents(made: Path) -> None:
    names = ["00-slopes-and-a-graph.html", "01-leaves.html", "02-no-title.html", "index.html"]
    assert sorted(path.name for path in made.iterdir()) == names
    assert all(path.stat().st_size < 1_000_000 for path in made.iterdir())
    middle = (made / "01-leaves.html").read_text()
    assert "<title>1 · Leaves &amp; .grad</title>" in middle
    ways = re.findall(r'<a (?=[^>]*href="([^"]+)")(?=[^>]*rel="(\w+)")[^>]*>([^<]*)</a>', middle)
    assert ways == [
        ("00-slopes-and-a-graph.html", "prev", "← 0 · Slopes and a graph"),
        ("02-no-title.html", "next", "02-no-title →"),
    ]
    assert 'href="00-slopes-and-a-graph.html#there"' in middle and 'href="a:b.ipynb"' in middle
    assert 'rel="prev"' not in (made / "00-slopes-and-a-graph.html").read_text()
    assert 'rel="next"' not in (made / "02-no-title.html").read_text()


@pytest.mark.browser
def test_an_exercise_is_open_and_its_solution_folded(made: Path) -> None:
    require_chromium()
    with open_page(offline=True) as page:
        page.goto((made / "01-leaves.html").as_uri())
        assert "Not answered yet (1 point)." in page.locator("main").inner_text()
        folded = page.locator("details.solution")
        assert folded.count() == 1 and not folded.locator("pre").is_visible()
        folded.locator("summary").click()
        shown = folded.locator("pre").inner_text()
        assert "answer = 4 if 1 < 2 else None\n" in shown and "answer = answer" in shown
        assert "check(" not in shown and "SOLUTION" not in shown


@pytest.fixture
def contents(made: Path) -> Iterator[object]:
    require_chromium()
    with open_page(offline=True) as page:
        page.goto((made / "index.html").as_uri())
        yield page
        assert (page.requests_outside, page.console_errors) == ([], [])


@pytest.mark.browser
def test_the_contents_lead_to_lessons_and_their_sections(contents: object) -> None:
    links = contents.locator("main .lessons > li > a")
    assert links.all_inner_texts() == ["0 · Slopes and a graph", "1 · Leaves & .grad", "02-no-title"]
    assert "What is a <leaf>?" in contents.locator("main").inner_text()
    contents.get_by_role("link", name="1 · A zebra").click()
    wait_until(contents, "document.querySelector(':target')?.textContent.startsWith('1 · A zebra')")
    contents.get_by_role("link", name="0 · Slopes and a graph").click()
    assert contents.title() == "0 · Slopes and a graph"


@pytest.mark.browser
def test_the_search_finds_words_in_any_lesson_and_from_any_page(contents: object, made: Path) -> None:
    contents.get_by_role("searchbox").fill("ZEBRA")
    assert contents.locator("#book-found a").all_inner_texts() == ["1 · Leaves & .grad › 1 · A zebra"]
    contents.get_by_role("searchbox").fill("nudge okapi")
    assert contents.locator("#book-said").inner_text() == "0 sections found"
    contents.goto((made / "02-no-title.html").as_uri())
    contents.get_by_role("searchbox").fill("chain rule")
    contents.keyboard.press("Enter")
    wait_until(contents, "document.querySelectorAll('#book-found mark').length > 0")
    found = contents.locator("#book-found a").first
    assert found.inner_text() == "0 · Slopes and a graph › 4 · The first backward, one node at a time"
    found.click()
    wait_until(contents, "document.querySelector(':target')?.textContent.includes('The first backward')")


@pytest.mark.browser
def test_a_player_steps_in_light_and_dark_and_paper_is_light(made: Path) -> None:
    require_chromium()
    paper = "getComputedStyle(document.body).backgroundColor"
    with open_page(offline=True) as page:
        page.emulate_media(color_scheme="dark")
        page.goto((made / "00-slopes-and-a-graph.html").as_uri())
        dark = page.evaluate(paper)
        player = page.locator(".wb-player").first
        opened = player.locator(".wb-position").inner_text()
        player.locator("[data-action=back]").click()
        assert player.locator(".wb-position").inner_text() != opened
        page.get_by_role("button", name="Light or dark").click()
        light = page.evaluate(paper)
        assert sum(map(int, re.findall(r"\d+", light)[:3])) > 700 > 200 > sum(map(int, re.findall(r"\d+", dark)[:3]))
        page.reload()
        assert page.evaluate(paper) == light
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(paper) == dark
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(paper) == light and not page.locator("nav").first.is_visible()
        assert (page.requests_outside, page.console_errors) == ([], [])


@pytest.mark.browser
def test_paper_cuts_no_line_of_code(made: Path) -> None:
    require_chromium()
    with open_page((700, 900), offline=True) as page:
        page.emulate_media(media="print")
        page.goto((made / "00-slopes-and-a-graph.html").as_uri())
        blocks = "[...document.querySelectorAll('.jp-Cell pre')]"
        assert page.evaluate(f"{blocks}.filter((pre) => pre.scrollWidth > pre.clientWidth + 1).length") == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book of the course."""
    out = tmp_path_factory.mktemp("course") / "book"
    book(out)
    return out


@pytest.mark.scheduled
def test_the_book_of_the_course_is_small_and_every_page_lives(whole: Path) -> None:
    require_chromium()
    names = [path.stem for path in sorted((CHECKOUT / "notebooks").glob("*.ipynb"))]
    assert sorted(path.stem for path in whole.iterdir()) == [*names, "index"]
    assert sum(path.stat().st_size for path in whole.iterdir()) < MOST_BYTES * len(names)
    ids = {path.name: set(re.findall(r'\bid="([^"]+)"', path.read_text())) for path in whole.iterdir()}
    # The lessons follow each other from the first to the last, and every link finds its page and its place.
    with open_page(offline=True) as page:
        page.goto((whole / "index.html").as_uri())
        page.locator("main .lessons > li > a").first.click()
        for name in names:
            wait_until(page, f"location.pathname.endsWith('/{name}.html') && document.readyState === 'complete'")
            widgets = page.locator("[data-widget]").count()
            lesson = (CHECKOUT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
            least = max(int("record(" in lesson), widgets)  # lesson 16 marks tables alone
            if find_spec("torch") is None and '"import torch' in lesson:
                saved = page.locator("img[src^='data:image/svg']").count()
                assert widgets == 0 and saved == lesson.count("data:image/svg") > 3
            else:
                wait_until(page, f"document.querySelectorAll('.wb-player, .wb-stepper').length >= {least}")
            for link in page.evaluate("[...document.links].map((link) => link.getAttribute('href'))"):
                target, _, place = link.partition("#")
                assert link.startswith("http") or not place or place in ids[target or f"{name}.html"], link
                assert link.startswith("http") or not target or target in ids, link
            following = page.locator("a[rel=next]")
            assert following.count() == (name != names[-1])
            if following.count():
                following.click()
        assert (page.requests_outside, page.console_errors) == ([], [])


def test_a_solution_of_two_functions_is_folded_whole() -> None:
    functions = "def one(x):\n    return x\n\n\ndef two(x):\n    return one(x)"
    cell = new_code_cell(
        f'# exercise: two-parts\n### BEGIN SOLUTION\n{functions}\n### END SOLUTION\ncheck("two-parts", two)'
    )
    (_, folded) = readable(new_notebook(cells=[cell])).cells
    assert folded.source.startswith('<details class="solution">') and "def two" in folded.source
    assert "\n\n" not in folded.source  # an empty line would end the block of HTML
