"""The sentence that says how to read a picture stands below what is said of the step; the menu takes it away."""

from __future__ import annotations

import trace_samples as samples
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page, place_of, wait_until
from player_page import press, show

from workbench.scene.picture import Picture
from workbench.views import storyboard

SHOWN = "document.querySelector('p.wb-legend').offsetHeight > 0"


def test_it_is_shown_until_the_menu_takes_it_away_and_stays_away_when_the_cell_runs_again():
    board = storyboard(samples.twice(), "memory")
    with open_page() as page:
        show(page, board.to_dict())
        legend = page.locator("p.wb-legend")
        assert legend.inner_text() == board.legend and page.evaluate(SHOWN)
        assert place_of(legend)["y"] >= place_of(page.locator(".wb-caption"))["y"]
        assert Axe().run(page).violations_count == 0
        press(page, "step")
        assert legend.inner_text() == board.legend
        assert page.locator("[data-action=legend]").get_attribute("aria-checked") == "true"
        press(page, "legend")
        assert not page.evaluate(SHOWN)
        assert page.locator("[data-action=legend]").get_attribute("aria-checked") == "false"
        show(page, board.to_dict(), again=True)
        assert not page.evaluate(SHOWN)
        press(page, "legend")
        assert page.evaluate(SHOWN)
        assert page.console_errors == []


def test_a_picture_without_one_has_no_room_and_no_choice_for_it():
    with open_page() as page:
        show(page, storyboard(samples.twice(), "flow", legend=False).to_dict())
        assert not page.evaluate(SHOWN) and page.locator("[data-action=legend]").count() == 0


def test_a_notebook_keeps_it(tmp_path):
    board = storyboard(samples.twice(), "versions")
    kept = Picture(board)._repr_mimebundle_()["text/html"]
    (tmp_path / "kept.html").write_text(f"<!doctype html><html><body>{kept}</body></html>", encoding="utf-8")
    with open_page() as page:
        page.goto((tmp_path / "kept.html").as_uri())
        wait_until(page, "document.querySelector('p.wb-legend') !== null")
        assert page.locator("p.wb-legend").inner_text() == board.legend
