"""A group opens in the player by click and key, at the same moment, and the way back stands above it."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page
from player_page import position, press, show, states

import workbench as torch


def chain():
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with torch.record() as trace:
        y = x
        for _ in range(60):
            y = (y * 1.01 + 0.1).sin()
        total = y.sum()
        total.backward()
    return trace.show()


@pytest.fixture(scope="module")
def picture():
    return chain()


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        yield page


@pytest.fixture
def page(browser_tab, picture):
    show(browser_tab, picture.storyboard.to_dict())
    yield browser_tab
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def trail(page) -> list[str]:
    return page.locator(".wb-trail button, .wb-trail [aria-current]").all_inner_texts()


def test_a_click_opens_a_group_and_a_button_leads_back(page):
    assert trail(page) == []
    page.locator(".wb-kind-group").click()
    assert trail(page) == ["graph", "mul, add, sin × 60"]
    assert page.locator(".wb-kind-group").count() == 6
    page.locator(".wb-kind-group").first.click()
    assert trail(page) == ["graph", "mul, add, sin × 60", "repeats 1 to 10"]
    assert page.locator(".wb-kind-op").count() == 30
    page.locator(".wb-trail button").first.click()
    assert trail(page) == [] and page.locator(".wb-kind-group").count() == 1


def test_enter_opens_and_escape_goes_back_one_at_a_time(page):
    for _ in range(2):
        page.locator(".wb-kind-group").first.focus()
        page.keyboard.press("Enter")
    assert len(trail(page)) == 3
    page.keyboard.press("Escape")
    assert len(trail(page)) == 2
    page.keyboard.press("Escape")
    assert trail(page) == []
    page.keyboard.press("ArrowRight")
    assert position(page) == "3 / 7"  # as it was, and the keys still reach the player


def test_details_inside_a_group_open_and_close_before_the_group_does(page):
    for _ in range(2):
        page.locator(".wb-kind-group").first.click()
    page.locator(".wb-kind-op").first.click()
    assert page.locator(".wb-details pre").first.inner_text() == "mul(self, other)"
    page.keyboard.press("Escape")
    assert not page.locator(".wb-details").is_visible() and len(trail(page)) == 3


def test_a_group_opens_at_the_moment_that_is_shown_outside(page):
    for _ in range(3):
        press(page, "step")
    assert position(page) == "5 / 7" and states(page)["g1"] == "running"
    page.locator(".wb-kind-group").click()
    seen = states(page)
    assert [seen[id] for id in list(seen) if seen[id] == "running"] == ["running"]
    assert "runs backward" in page.locator(".wb-sentence").inner_text()
    press(page, "last")
    page.keyboard.press("Escape")
    assert position(page) in ("6 / 7", "7 / 7")


def test_only_moves_of_the_whole_picture_are_told(page):
    page.locator(".wb-kind-group").click()
    press(page, "back")
    assert page.evaluate("window.moves") == []
    page.evaluate("window.player.go(0)")
    assert trail(page) == [] and position(page) == "1 / 7"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_inside_a_group(page, scheme):
    page.emulate_media(color_scheme=scheme)
    try:
        page.locator(".wb-kind-group").click()
        found = Axe().run(page, ".wb-player")
        assert found.violations_count == 0, found.generate_report()
    finally:
        page.emulate_media(color_scheme="null")


def test_a_saved_page_packs_its_steps_and_plays_them(browser_tab, picture, tmp_path):
    path = tmp_path / "chain.html"
    picture.save(path)
    assert 'type="application/gzip"' in path.read_text(encoding="utf-8")
    browser_tab.goto(path.as_uri())
    browser_tab.locator(".wb-kind-group").click()
    assert trail(browser_tab)[-1] == "mul, add, sin × 60"
    assert browser_tab.console_errors == []


def test_what_is_inside_groups_is_found_and_enter_goes_there(page):
    page.locator(".wb-player").focus()
    page.keyboard.press("/")
    page.keyboard.type("mulbackward")
    assert page.locator(".wb-hits").inner_text() == "1 of 1: mul, add, sin × 60, and inside: Enter opens it"
    page.keyboard.press("Enter")
    assert trail(page) == ["graph", "mul, add, sin × 60"]
    assert page.locator(".wb-hits").inner_text().startswith("1 of 6: repeats ")
    page.keyboard.press("Enter")
    assert trail(page)[-1].startswith("repeats ") and page.locator('[data-found="at"].wb-kind-op').count() == 1
    assert page.locator(".wb-hits").inner_text() == "1 of 11: MulBackward0"
    page.keyboard.press("Enter")
    assert page.locator(".wb-hits").inner_text() == "2 of 11: MulBackward0"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('wb-kind-op')")
