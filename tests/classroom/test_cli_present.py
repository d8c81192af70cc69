"""The command `workbench present`: slides with keys, predictions to uncover, an overview; and a handout for paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser_page import eventually, open_page, require_chromium, wait_until
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import workbench as torch
from workbench.classroom.checks import tell
from workbench.classroom.handout import student
from workbench.cli import main
from workbench.cli.teacher import _paper, _unbroken_lines

NAME = "00-slopes-and-a-graph"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the slides and the handout of a lesson."""
    folder = tmp_path_factory.mktemp("talk")
    files = [f"{NAME}.exercises.py", f"{NAME}.ipynb"]
    for name in files:
        shutil.copy(CHECKOUT / "notebooks" / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["present", f"{NAME}.ipynb", "--handout", "paper.html"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [f"{NAME}-slides.html", *files, "paper.html"]
    return folder


@pytest.fixture
def talk(made: Path) -> Iterator[Any]:
    """The slides in a browser without a network, at the first."""
    require_chromium()
    with open_page((1280, 800), offline=True) as page:
        page.goto((made / f"{NAME}-slides.html").as_uri())
        wait_until(page, "document.querySelectorAll('.wb-player').length === 5")
        yield page
        assert (page.requests_outside, page.console_errors) == ([], [])


def where(page: Any) -> int:
    return int(page.locator("#talk-bar .where").inner_text().split(" / ")[0])


def shown(page: Any) -> str:
    return page.locator("main").inner_text()


def go_to(page: Any, words: str, key: str = "ArrowRight") -> None:
    """On, until the slide shows these words."""
    for _ in range(40):
        if words in shown(page):
            return
        page.keyboard.press(key)
    raise AssertionError(f"no slide shows {words!r}")


@pytest.mark.slow
def test_a_slide_begins_at_each_heading_and_a_question_ends_one(talk: Any) -> None:
    assert "0 · Slopes and a graph" in shown(talk) and "1 · What is a slope?" not in shown(talk)
    go_to(talk, "1 · What is a slope?")
    assert "what number do these quotients approach?" in shown(talk) and "for h in" not in shown(talk)
    assert "0 · Slopes and a graph" not in shown(talk)
    number = where(talk)
    talk.keyboard.press("ArrowLeft")
    assert where(talk) == number - 1
    talk.keyboard.press("End")
    last = where(talk)
    talk.keyboard.press("ArrowRight")
    assert where(talk) == last > 12
    assert "prediction = None" not in talk.locator("main").evaluate("main => main.textContent")


@pytest.mark.browser
def test_an_answer_is_covered_until_the_room_has_guessed(talk: Any) -> None:
    go_to(talk, "print(check(prediction, x.grad))")
    assert "The answer" not in shown(talk)
    number = where(talk)
    talk.keyboard.press("ArrowRight")
    assert "The answer: 7" in shown(talk) and where(talk) == number
    assert "Three arrows end at" not in shown(talk)  # the text below would give it away
    talk.keyboard.press("ArrowRight")
    assert where(talk) == number + 1


@pytest.mark.browser
def test_a_solution_opens_before_the_next_slide(talk: Any) -> None:
    go_to(talk, "slope-of-a-line")
    number = where(talk)
    assert "answer = 4" not in shown(talk)
    talk.keyboard.press("ArrowRight")
    assert "answer = 4" in shown(talk) and where(talk) == number


@pytest.mark.browser
def test_a_picture_fills_the_screen_and_keys_step_it(talk: Any) -> None:
    for _ in range(40):
        if talk.locator("main.picture .on .wb-player").is_visible():
            break
        talk.keyboard.press("ArrowRight")
    player = talk.locator("main.picture .on .wb-player")
    # The sentence above the picture stands with it, and the one below comes with the next key; both leave no hole.
    ends = "document.querySelector('main.picture .on .wb-player').getBoundingClientRect().bottom > innerHeight - 90"
    wait_until(talk, ends)
    box = player.bounding_box()
    assert box["width"] > 1200 and box["height"] > 450
    above = talk.locator("main.picture p.on")
    assert above.count() == 1 and above.bounding_box()["y"] + above.bounding_box()["height"] <= box["y"] + 1
    number = where(talk)
    talk.keyboard.press("ArrowRight")
    below = talk.locator("main.picture p.on").last
    assert where(talk) == number and talk.locator("main.picture p.on").count() == 2
    wait_until(talk, "document.querySelector('main').scrollHeight <= document.querySelector('main').clientHeight + 1")
    end = "document.querySelector('main.picture .on .wb-player').getBoundingClientRect().bottom"
    last = "[...document.querySelectorAll('main.picture p.on')].at(-1).getBoundingClientRect().y"
    wait_until(talk, f"{last} >= {end} - 1")
    assert below.bounding_box()["y"] + below.bounding_box()["height"] <= talk.locator("#talk-bar").bounding_box()["y"]
    before = player.locator(".wb-position").inner_text()
    talk.keyboard.press("ArrowUp")
    assert player.locator(".wb-position").inner_text() != before
    talk.keyboard.press("ArrowDown")
    assert player.locator(".wb-position").inner_text() == before
    assert talk.locator("main .on [data-wb-theme=projector]").count() == 1
    # A key that moves the slides does so also from within a player.
    number = where(talk)
    player.click()
    talk.keyboard.press("PageDown")
    assert where(talk) == number + 1


@pytest.mark.browser
def test_text_is_as_large_as_fits_the_screen(talk: Any) -> None:
    go_to(talk, "1 · What is a slope?")
    size = "document.querySelector('main .on p').getBoundingClientRect().height"
    assert talk.evaluate("parseFloat(document.querySelector('main').style.zoom)") >= 1.6
    assert talk.evaluate(size) > 20
    assert talk.evaluate(
        "document.querySelector('main').scrollHeight <= document.querySelector('main').clientHeight + 1"
    )


@pytest.mark.browser
def test_the_overview_shows_all_slides_and_leads_to_each(talk: Any) -> None:
    talk.keyboard.press("o")
    slides = talk.locator("#talk-all li button")
    assert slides.count() == int(talk.locator("#talk-bar .where").inner_text().split(" / ")[1])
    assert "The answer" not in talk.locator("#talk-all").inner_text()
    assert "next: 0 · Slopes and a graph" in talk.locator("#talk-all").inner_text()
    slides.nth(4).click()
    assert where(talk) == 5 and not talk.locator("#talk-all").is_visible()
    talk.reload()
    assert where(talk) == 5
    talk.keyboard.press("o")
    talk.keyboard.press("o")
    assert not talk.locator("#talk-all").is_visible()


SIZES = """() => {
  const sizes = [100], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const zoom = parseFloat(document.querySelector("main").style.zoom) || 1;
  for (let node; (node = walker.nextNode()); ) {
    const place = node.parentElement, drawn = place.ownerSVGElement;
    const seen = place.checkVisibility({ visibilityProperty: true });
    if (!node.textContent.trim() || !seen || !place.getBoundingClientRect().width) continue;
    const scale = drawn ? place.getScreenCTM().a : place.closest("main") ? zoom : 1;
    sizes.push(parseFloat(getComputedStyle(place).fontSize) * scale);
  }
  // A picture that nothing plays: its smallest text is 12 px high.
  for (const still of document.querySelectorAll("main .on .wb-live > img")) {
    if (still.checkVisibility()) sizes.push((12 * still.offsetWidth) / still.naturalWidth);
  }
  return Math.min(...sizes);
}"""
LONG = "document.querySelector('main').scrollHeight > document.querySelector('main').clientHeight + 8"


# fit() ends in a timer of 50 ms, which was set before this one.
FITTED = "() => new Promise((done) => setTimeout(done, 60))"
LONG_LESSONS = ["02-backward-one-node-at-a-time", "07-your-own-function", "12-a-model-that-learns"]
LONG_LESSONS += ["14-matrices-and-partial-derivatives"]
ONE_AND_OTHERS = [
    pytest.param(name, marks=[pytest.mark.scheduled] * (number > 0)) for number, name in enumerate(LONG_LESSONS)
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_AND_OTHERS)
def test_no_text_is_small_on_a_small_projector_and_what_is_long_breaks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_chromium()
    monkeypatch.chdir(tmp_path)
    for file in (f"{name}.exercises.py", f"{name}.ipynb"):
        shutil.copy(CHECKOUT / "notebooks" / file, tmp_path)
    assert main(["present", f"{name}.ipynb"]) == 0
    with open_page((1024, 768), offline=True) as page:
        page.goto((tmp_path / f"{name}-slides.html").as_uri())
        wait_until(page, "document.querySelectorAll('.wb-player').length > 1")
        slides = int(page.locator("#talk-bar .where").inner_text().split(" / ")[1])
        assert slides > 15
        for number in range(slides):
            page.keyboard.press("o")
            page.locator("#talk-all li button").nth(number).click()
            assert where(page) == number + 1
            page.evaluate(FITTED)
            eventually(lambda: page.evaluate(SIZES), lambda size: size >= 19.9)  # widths are rounded
            eventually(lambda: page.evaluate(LONG) and page.locator("main .part.on").count() > 1, False)


@pytest.mark.browser
def test_the_presenter_has_a_window_with_notes_and_what_comes_next(room: Any) -> None:
    with room.context.expect_page() as opening:
        room.keyboard.press("p")
    desk = opening.value
    assert not room.locator("#talk-bar").is_visible()  # the room sees the slide alone
    assert "Say that x is 2." in desk.locator("section").first.inner_text()
    assert "0 min since the start" in desk.locator("header").inner_text()
    desk.keyboard.press("ArrowRight")  # its keys move the slides, too
    assert where_hidden(room) == 2
    assert "The answer: 4" in desk.locator("section").first.inner_text() and "The answer" not in shown(room)
    assert desk.locator("section").last.locator(".wb-player").count() == 1
    still = desk.locator("section").last.locator(".wb-player > svg").bounding_box()
    assert still["width"] > 100 and still["height"] > 100
    desk.keyboard.press("o")
    assert desk.locator("#talk-all").is_visible() and room.locator("#talk-all").count() == 0
    desk.locator("#talk-all li button").first.click()
    assert where_hidden(room) == 1 and desk.locator("#talk-all").count() == 0
    desk.keyboard.press("o")
    desk.close()
    wait_until(room, "!document.body.classList.contains('presented')")
    assert room.locator("#talk-bar").is_visible()
    room.keyboard.press("o")
    assert room.locator("#talk-all").is_visible()


def where_hidden(page: Any) -> int:
    return int(page.evaluate("document.querySelector('#talk-bar .where').textContent").split(" / ")[0])


def test_a_solution_with_several_empty_lines_stays_in_one_block_of_html() -> None:
    assert _unbroken_lines("a\n\n\nb\n\nc") == "a\n&#8203;\n&#8203;\nb\n&#8203;\nc"


def test_notes_are_for_the_presenter_alone() -> None:
    noted = new_markdown_cell("Say that x is 2.", metadata={"slideshow": {"slide_type": "notes"}})
    notebook = new_notebook(cells=[new_markdown_cell("# A lesson"), noted])
    assert [cell.source for cell in student(notebook).cells] == ["# A lesson"]
    assert len(notebook.cells) == 2


@pytest.mark.slow
def test_images_that_are_attached_to_a_cell_are_shown_and_what_is_to_be_skipped_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = {"dot.svg": {"image/svg+xml": "PHN2Zy8+"}}
    text = "![a dot](attachment:dot.svg)"
    cells = [
        new_markdown_cell(f"# One\n\n{text}\n\n## Two\n\n{text}", attachments=image),
        new_markdown_cell(text, attachments=image, metadata={"slideshow": {"slide_type": "notes"}}),
        new_markdown_cell("Not for the room.", metadata={"slideshow": {"slide_type": "skip"}}),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "own.ipynb")
    monkeypatch.chdir(tmp_path)
    assert main(["present", "own.ipynb", "--handout", "paper.html"]) == 0
    assert "<h2" in (tmp_path / "paper.html").read_text(encoding="utf-8")
    page = (tmp_path / "own-slides.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/svg+xml;base64,PHN2Zy8+"') == 3
    assert "Not for the room." not in page


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slides of a lesson with a key in its text, printed answers beside pictures, and a cell of many lines."""
    folder = tmp_path_factory.mktemp("small")
    noted = new_markdown_cell("Say that x is **2**.", metadata={"slideshow": {"slide_type": "notes"}})
    cells = [
        new_markdown_cell("# A lesson\n\nPress <kbd>Home</kbd>. [Next](01-next.ipynb)"),
        noted,
        new_code_cell("import workbench, workbench as torch\nfrom workbench.classroom import check\nprediction = 1"),
        new_markdown_cell("**Predict** it."),
        new_code_cell(
            "x = torch.tensor(2.0, requires_grad=True)\nwith workbench.record() as trace:\n    (x * x).backward()\n"
            "print(check(prediction, x.grad))\ntrace.show()"
        ),
        new_markdown_cell("**Before you run it:** which number?"),
        new_code_cell("print('forty-two')"),
        new_markdown_cell("## Long"),
        new_code_cell("\n".join(f"line_{number} = {number}" for number in range(120))),
        new_markdown_cell("## Last"),
    ]
    nbformat.write(new_notebook(cells=cells), folder / "small.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["present", "small.ipynb"]) == 0
    return folder / "small-slides.html"


@pytest.fixture
def room(small: Path) -> Iterator[Any]:
    require_chromium()
    with open_page((1024, 768), offline=True) as page:
        page.goto(small.as_uri())
        wait_until(page, "document.querySelectorAll('.wb-player').length === 1")
        yield page
        assert (page.requests_outside, page.console_errors) == ([], [])


@pytest.mark.slow
def test_what_a_cell_prints_stands_below_its_code_and_its_picture_alone(room: Any) -> None:
    assert room.locator(".jp-MarkdownCell kbd").all_inner_texts() == ["Home"]
    assert room.locator("main .on a").last.get_attribute("href") == "01-next-slides.html"
    go_to(room, "trace.show()")
    cover = room.locator("main .on .covered")
    assert cover.bounding_box()["height"] > 60 and not room.locator("main .on .wb-player").is_visible()
    room.keyboard.press(" ")
    assert "The answer: 4" in shown(room)
    room.keyboard.press(" ")
    player = room.locator("main.picture .on .wb-player")
    assert "The answer" not in shown(room)
    box = player.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= room.locator("#talk-bar").bounding_box()["y"] + 1


@pytest.mark.slow
def test_what_is_asked_in_the_text_is_covered_below_the_next_cell(room: Any) -> None:
    go_to(room, "which number?")
    number = where(room)
    assert room.locator("main .on .covered").count() == 1 and not room.get_by_text("forty-two", exact=True).is_visible()
    room.locator("main .on .covered").click()
    assert room.get_by_text("forty-two", exact=True).is_visible() and where(room) == number


@pytest.mark.slow
def test_code_that_is_long_breaks_into_slides_and_none_of_it_is_lost(room: Any) -> None:
    go_to(room, "line_0 = 0")
    first, seen = where(room), []
    while "Last" not in shown(room):
        assert room.evaluate(
            "document.querySelector('main').scrollHeight <= document.querySelector('main').clientHeight + 1"
        )
        seen += re.findall(r"line_\d+ = \d+", shown(room))
        room.keyboard.press("ArrowRight")
    assert seen == [f"line_{number} = {number}" for number in range(120)] and where(room) > first + 2


@pytest.mark.slow
def test_every_key_that_the_bar_names_works(room: Any) -> None:
    room.keyboard.press("End")
    last = where(room)
    room.keyboard.press("ArrowLeft")
    assert where(room) == last - 1
    room.keyboard.press("Home")
    assert where(room) == 1
    room.keyboard.press("PageDown")
    room.keyboard.press(" ")  # uncovers the answer
    assert where(room) == 2
    room.keyboard.press(" ")
    assert where(room) == 3
    room.keyboard.press("o")
    assert room.locator("#talk-all").is_visible()
    room.keyboard.press("Escape")
    assert not room.locator("#talk-all").is_visible()
    room.keyboard.press("f")
    wait_until(room, "document.fullscreenElement !== null")
    room.keyboard.press("f")
    wait_until(room, "document.fullscreenElement === null")
    room.get_by_role("button", name="←").click()
    assert where(room) == 2


@pytest.mark.slow
def test_the_handout_has_stills_room_to_write_and_all_answers_at_its_end(made: Path) -> None:
    require_chromium()
    with open_page(offline=True) as page:
        page.goto((made / "paper.html").as_uri())
        text = page.locator("main").inner_text()
        lesson, answers = re.split(r"\nAnswers\n", text)
        assert "The answer: " not in lesson and "return 2 * (w * x + b - 7) * x" not in lesson
        assert "The answer: 7" in answers and "return 2 * (w * x + b - 7) * x" in answers
        assert lesson.count("Your prediction (") == 5 and page.locator(".room.code").count() == 3
        assert page.locator(".wb-player").count() == 0
        # What a picture shows at its end stands with the answers, where a question above asks for it.
        opened, ended = page.locator(".stills .still:not(.later)"), page.locator(".stills .later")
        assert (opened.count(), ended.count(), page.locator(".answers .stills .later").count()) == (5, 6, 6)
        assert "Step 4 of 12: " in opened.nth(1).inner_text()
        assert "Backward pass finished." in ended.nth(0).inner_text()
        places = [words.partition(": ")[2] for words in ended.all_inner_texts()[2:]]
        assert [words.partition(" is ")[0] for words in places] == [
            "curve(x=-2.0)",
            "curve(x=3.0)",
            "loss_over_w(w=1.0)",
            "loss_over_w(w=5.0)",
        ]
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) > 3
        assert (page.requests_outside, page.console_errors) == ([], [])


def test_what_a_cell_shows_that_is_asked_about_stands_with_the_answers() -> None:
    def stream(text: str) -> Any:
        return new_output("stream", text=text)

    def shown(*kinds: str) -> Any:
        figures = "".join(f'<figure class="{kind}">{kind}</figure>' for kind in kinds)
        return new_output("display_data", data={"text/html": figures})

    image = new_output("display_data", data={"image/png": "QUJD"})
    cells = [
        new_markdown_cell("## A table\n\n**Predict** it."),
        new_code_cell("one = None  # your number\ntwo = None  # True or False"),
        new_code_cell("check(one, 2)", outputs=[stream("The answer: 2"), image]),
        new_code_cell("workbench.jacobian(f, x)", outputs=[shown("still")]),
        new_markdown_cell("## Hooks\n\n**Before you run the cell:** in which order?"),
        new_code_cell("run()", outputs=[stream("last, then first"), shown("still", "still later")]),
        new_code_cell("print(3)", outputs=[stream("three")]),
    ]
    notebook = new_notebook(cells=cells)
    paper = _paper(notebook, notebook)
    text = "".join(cell.source for cell in paper.cells)
    assert "Your prediction (one):" in text and "Your prediction (two: True or False):" in text
    left = [output for cell in paper.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.get("text") or output.data["text/html"] for output in left] == [
        '<figure class="still">still</figure>',
        "three",
    ]
    answers = paper.cells[-1].source
    for answer in ("The answer: 2", "base64,QUJD", '<figure class="still">still', "last, then first", "still later"):
        assert answer in answers


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdftoppm"), reason="pages are looked at as pdftoppm draws them")
@pytest.mark.parametrize("name", ONE_AND_OTHERS)
def test_no_page_of_a_handout_is_half_empty(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But the last, and the one before the answers, which begin on a page of their own."""
    require_chromium()
    monkeypatch.chdir(tmp_path)
    for file in (f"{name}.exercises.py", f"{name}.ipynb"):
        shutil.copy(CHECKOUT / "notebooks" / file, tmp_path)
    assert main(["present", f"{name}.ipynb", "--handout", "paper.pdf"]) == 0
    subprocess.run(["pdftoppm", "-r", "30", "-gray", "paper.pdf", "page"], check=True)
    filled, ends = [], []
    for number, path in enumerate(sorted(tmp_path.glob("page-*.pgm")), 1):
        head, size, _, drawn = path.read_bytes().split(b"\n", 3)
        wide, high = map(int, size.split())
        rows = [min(drawn[row * wide : (row + 1) * wide]) < 200 for row in range(high)]
        margin = 18 / 297 * high
        filled.append((high - rows[::-1].index(True) - margin) / (high - 2 * margin) if any(rows) else 0)
        text = subprocess.run(
            ["pdftotext", "-f", str(number), "-l", str(number), "paper.pdf", "-"], capture_output=True, check=True
        )
        if re.search(rb"^Answers$", text.stdout, re.M):
            ends.append(number - 2)
    assert len(ends) == 1 and head == b"P5"
    assert [n for n, share in enumerate(filled[:-1]) if share < 0.55 and n not in ends] == []


def short(folder: Path) -> Path:
    """A lesson of a few cells."""
    cells = [
        new_markdown_cell("# A lesson"),
        new_code_cell("import workbench, workbench as torch\nx = torch.tensor(2.0, requires_grad=True)"),
        new_code_cell("with workbench.record() as trace:\n    (x * x * x).backward()\ntrace.show()"),
    ]
    nbformat.write(new_notebook(cells=cells), folder / "short.ipynb")
    return folder / "short.ipynb"


@pytest.mark.slow
def test_a_picture_on_paper_is_shown_at_the_steps_that_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["present", str(short(tmp_path)), "--handout", "paper.html"]) == 0
    page = (tmp_path / "paper.html").read_text()
    said = re.findall(r"<figcaption>(Step \d+ of \d+): ", page)
    assert len(said) == 2 and said[-1] == "Step 7 of 7" and "on the last page" not in page


@pytest.mark.slow
def test_a_handout_is_printed_by_a_browser_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_chromium()
    monkeypatch.chdir(tmp_path)
    assert main(["present", str(short(tmp_path)), "--handout", "paper.pdf"]) == 0
    made = (tmp_path / "paper.pdf").read_bytes()
    assert made.startswith(b"%PDF-") and re.search(rb"/Type\s*/Page\b", made)
    monkeypatch.setattr("workbench.cli.teacher.shutil.which", lambda name: None)
    monkeypatch.setattr("workbench.cli.teacher._PLACES", ())
    assert main(["present", "short.ipynb", "--handout", "other.pdf"]) == 1
    assert capsys.readouterr().err.startswith("workbench: no Chromium, Chrome or Edge found to print a PDF. ")
    assert not (tmp_path / "other.pdf").exists()


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        (6.0, "6"),
        (torch.tensor([1.0, -0.25]), "[1, -0.25]"),
        ([[1, 2.5], [3, 4]], "[[1, 2.5], [3, 4]]"),
        (True, "True"),
        ("b", "b"),
        (torch.tensor(1 / 3), "0.3333"),
    ],
)
def test_an_answer_is_told_as_a_person_would(truth: Any, said: str) -> None:
    assert tell(None, truth) == f"The answer: {said}"


def test_what_nobody_knows_yet_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT / "notebooks")
    assert tell(None, None) == "The answer: None"
    assert str(tell("slope-of-a-line", 29)).startswith("Not yet")
