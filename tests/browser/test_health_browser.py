"""The picture of health in a browser: rows open and close, a cell opens the graph of its step, by mouse and keys."""

from __future__ import annotations

from typing import Any

import pytest
from browser_page import open_page, place_of, wait_until
from player_page import position, press, show
from playwright.sync_api import Page
from test_view_health import row_of, trained
from test_view_health_findings import with_a_dead_block

from workbench.pictures.scene.storyboard import Storyboard

SEEN = "() => [...document.querySelectorAll('.wb-kind-name')].map((row) => row.querySelector('.wb-title').textContent)"
TOPS = "() => [...document.querySelectorAll('.wb-kind-name .wb-frame')].map((frame) => +frame.getAttribute('y'))"
FOCUSED = "() => document.activeElement.dataset.id"


@pytest.fixture(scope="module")
def board() -> Storyboard:
    return trained(6, blocks=24, broken_at=3)[0].show("health").storyboard


@pytest.fixture(scope="module")
def story(board: Storyboard) -> dict[str, Any]:
    return board.to_dict()


def box(page: Page, id: str) -> Any:
    return page.locator(f'[data-id="{id}"]')


def sentence(page: Page) -> str:
    return page.locator(".wb-sentence").inner_text()


def test_a_module_opens_and_closes_by_a_click_and_by_keys(board: Storyboard, story: dict[str, Any]) -> None:
    block = row_of(board, "Net", "blocks", "7")
    with open_page() as page:
        show(page, story)
        rows = page.evaluate(SEEN)
        assert len(rows) <= 36 and len(rows) == len(page.evaluate(TOPS))
        assert box(page, block).get_attribute("aria-expanded") == "false"
        box(page, f"{block}.2").wait_for()
        box(page, block).locator(".wb-frame").click()
        opened = page.evaluate(SEEN)
        assert opened[opened.index("7 (4)") + 1 :][:3] == ["0 (3)", "1", "8 (4)"]
        assert box(page, block).get_attribute("aria-expanded") == "true" and page.evaluate(FOCUSED) == block
        tops = page.evaluate(TOPS)
        assert {below - top for top, below in zip(tops, tops[1:], strict=False)} == {19}
        assert box(page, f"{block}.2").count() == 0, "its worst is not told beside what it is the worst of"
        page.keyboard.press("Enter")
        assert page.evaluate(SEEN) == rows and page.evaluate(FOCUSED) == block
        assert position(page) == "6 / 6", "the step stays"


def test_a_click_on_a_cell_opens_the_graph_of_that_step_at_that_layer(board: Storyboard, story: dict[str, Any]) -> None:
    cell = f"{row_of(board, 'Net', 'blocks', '7')}.1"
    when, target = story["within"]["leads"][cell]
    with open_page() as page:
        show(page, story)
        press(page, "key")
        assert "Click a cell" in page.locator(".wb-key p").inner_text()
        press(page, "key")
        box(page, cell).locator(".wb-frame").click()
        assert when == 2 and sentence(page).startswith("The graph of step 2 after its backward")
        assert page.evaluate(FOCUSED) == target and box(page, target).get_attribute("data-found") == "at"
        box(page, target).wait_for()  # the groups around it are open
        page.keyboard.press("ArrowRight")
        assert sentence(page).startswith("The graph of step 3") and page.evaluate(FOCUSED) == target
        press(page, "table")
        assert sentence(page).startswith("Step 2: the loss") and page.evaluate(FOCUSED) == cell


def test_keys_lead_to_a_cell_into_its_graph_and_back(board: Storyboard, story: dict[str, Any]) -> None:
    block = row_of(board, "Net", "blocks", "7")
    with open_page() as page:
        show(page, story)
        box(page, block).focus()
        page.keyboard.press("ArrowLeft")
        assert position(page) == "5 / 6"
        for _ in range(6):  # its number, its bar, three columns, its cell
            page.keyboard.press("ArrowDown")
        assert page.evaluate(FOCUSED) == f"{block}.4", "of the cells of a row only that of the step is on the way"
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(FOCUSED) == f"{block}.3" and position(page) == "4 / 6"
        page.keyboard.press("Enter")
        assert sentence(page).startswith("The graph of step 4")
        page.keyboard.press("Escape")
        assert page.evaluate(FOCUSED) == f"{block}.3" and sentence(page).startswith("Step 4")


def test_a_cell_whose_graph_is_not_kept_says_how_to_see_it(board: Storyboard, story: dict[str, Any]) -> None:
    cell = f"{row_of(board, 'Net', 'blocks', '7')}.1"
    leads = {id: place for id, place in story["within"]["leads"].items() if id != cell}
    with open_page() as page:
        show(page, story | {"within": story["within"] | {"leads": leads}})
        box(page, cell).locator(".wb-frame").click()
        assert position(page) == "2 / 6" and "trace.show(step=…)" in sentence(page)
        page.keyboard.press("ArrowRight")
        assert "trace.show(step=…)" not in sentence(page)


def test_a_picture_in_a_notebook_and_a_page_of_its_own_lead_there_too(board: Storyboard) -> None:
    from workbench.pictures.scene.picture import playing, to_html

    cell = f"{row_of(board, 'Net', 'blocks', '7')}.1"
    with open_page() as page:
        for content in (to_html(board), f"<!doctype html><title>Notebook</title><main>{playing(board)}</main>"):
            page.set_content(content)
            box(page, cell).locator(".wb-frame").click()
            wait_until(page, "document.querySelector('.wb-sentence').textContent.startsWith('The graph of step 2')")


def test_a_finding_leads_to_its_row_which_opens_and_its_number_leads_back() -> None:
    board = with_a_dead_block(13).show("health").storyboard
    block, act = row_of(board, "Deep", "blocks", "13"), row_of(board, "Deep", "blocks", "13", "act")
    marked = "() => [...document.querySelectorAll('[data-found]')].map((box) => box.dataset.id)"
    with open_page() as page:
        show(page, board.to_dict())
        assert box(page, act).is_visible() and box(page, f"{act}.found0").is_visible(), "it opens at its row"
        box(page, block).locator(".wb-frame").click()
        assert box(page, act).count() == 0 and box(page, f"{block}.found0").is_visible()
        box(page, "f0").locator(".wb-frame").click()
        assert page.evaluate(marked) == [act] and page.evaluate(FOCUSED) == act
        box(page, act).wait_for()
        assert position(page) == "1 / 3", "at the step that it tells of"
        box(page, f"{act}.found0").locator(".wb-frame").click()
        assert page.evaluate(marked) == ["f0"] and page.evaluate(FOCUSED) == "f0"
        page.keyboard.press("Enter")
        assert page.evaluate(marked) == [act] and page.evaluate(FOCUSED) == act


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768)])
def test_the_letters_of_a_long_table_are_large_enough_to_be_read(board: Storyboard, width: int, height: int) -> None:
    from workbench.pictures.scene.picture import to_html

    with open_page() as page:
        page.set_viewport_size({"width": width, "height": height})
        page.set_content(to_html(board))
        box(page, "found").wait_for()
        assert (
            page.evaluate("() => document.querySelector('.wb-kind-name .wb-frame').getBoundingClientRect().height")
            >= 17 * 0.74
        )
        assert place_of(box(page, "f0"))["y"] < height / 2, "the findings are what is seen first"
