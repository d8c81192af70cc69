"""The first ten seconds in a real JupyterLab: the course page, its link, and the picture that opens lesson 0."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest
from browser_page import open_page, require_chromium, wait_until
from lab import Lab, assert_clean, serve

from workbench.classroom.course import PAGE

LESSON = "00-slopes-and-a-graph.ipynb"
HERE = "window.jupyterapp.shell.currentWidget.context.path"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    require_chromium()
    folder = tmp_path_factory.mktemp("lessons")
    with serve(folder, tmp_path_factory.mktemp("home")) as lab:
        yield lab


def test_the_course_page_leads_to_a_lesson_that_moves_before_anything_has_run(server: Lab) -> None:
    with open_page((1024, 768)) as page:
        server.open(page, PAGE)
        link = page.locator("a.wb-course-go")
        assert link.inner_text().startswith("Begin with lesson 0") and link.bounding_box()["y"] < 300
        listed = page.locator(".jp-DirListing-itemName").all_text_contents()
        assert LESSON in listed and not [name for name in listed if name.endswith(".exercises.py")]
        link.click()
        wait_until(page, f"{HERE} === '{LESSON}'")
        slider = page.locator("[class^=wb-play-] input[type=range]")
        slider.wait_for()
        box = slider.bounding_box()
        assert box["y"] + box["height"] < 740, "the whole picture is in the first screen"
        slope = page.locator(".wb-slope")
        assert slope.text_content() == "slope 2.0"
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert slope.text_content() == "slope 2.2"
        drawn = page.locator("[class^=wb-play-] svg").bounding_box()
        page.mouse.move(drawn["x"] + drawn["width"] / 2, drawn["y"] + 100)
        page.mouse.down()
        assert slope.text_content() == "slope 0.0"
        assert_clean(page)


def test_a_notebook_from_elsewhere_shows_the_picture_without_its_script(server: Lab) -> None:
    other = nbformat.read(server.folder / LESSON, as_version=4)
    other.cells[0].source += " Changed elsewhere."
    nbformat.write(other, server.folder / "elsewhere.ipynb")
    with open_page((1024, 768)) as page:
        server.open(page, "elsewhere.ipynb")
        page.locator(".jp-OutputArea img[alt^='A curve']").wait_for()
        assert page.locator("[class^=wb-play-] input").count() == 0
        assert_clean(page)
