"""A film's second slider: it goes from step to step of a training, at the same moment of each."""

from __future__ import annotations

import pytest
from browser_page import assert_accessible, place_of, resize, wait_until
from player_page import go, position, press, show, states, wear
from playwright.sync_api import Locator

import workbench as torch
from workbench.pictures.scene.picture import Picture, playing
from workbench.pictures.scene.storyboard import Storyboard


def trained(steps: int, scopes: bool = False, view: str = "graph") -> Storyboard:
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, 3.0])
    with torch.record() as trace:
        for _ in range(steps):
            w.grad = None
            with torch.scope("net"):
                out = w * x + 1.0 if scopes else w * x
            loss = (out**2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.01 * w.grad
    return trace.show(view, **({"open": []} if scopes else {})).storyboard


@pytest.fixture(scope="module")
def film():
    return trained(5)


@pytest.fixture
def page(page, film):
    show(page, film.to_dict())
    return page


def part(page) -> str:
    return page.locator(".wb-part").inner_text()


def slider_of(page) -> Locator:
    return page.get_by_role("slider", name="Training step")


def caption(page) -> str:
    return page.locator(".wb-sentence").inner_text()


def first(board: Storyboard, title: str) -> int:
    return next(at for at, step in enumerate(board.steps) if step.chapter == title)


def test_the_slider_goes_to_the_same_moment_of_another_step(page, film):
    assert part(page) == "step 5 of 5" and position(page) == f"{len(film.steps)} / {len(film.steps)}"
    slider = slider_of(page)
    assert slider.input_value() == "4" == slider.get_attribute("max")
    press(page, "first")
    assert part(page) == "step 1 of 5"
    press(page, "phase-backward")
    before = position(page)
    for _ in range(2):
        press(page, "step")  # into the backward
    moved = caption(page)
    slider.press("ArrowRight")
    assert part(page) == "step 2 of 5"
    assert slider.get_attribute("aria-valuetext") == "step 2 of 5, backward"
    at = int(page.locator(".wb-player").get_attribute("data-position"))
    assert states(page) == {id: each.state for id, each in (film.at(at).boxes | film.at(at).arrows).items()}
    assert caption(page).split(" receives")[0] == moved.split(" receives")[0]
    slider.press("End")
    assert part(page) == "step 5 of 5"
    slider.press("Home")
    assert (part(page), caption(page)) == ("step 1 of 5", moved)
    assert position(page) != before


def test_keys_and_phases_lead_through_the_steps(page, film):
    page.locator(".wb-player").focus()
    page.keyboard.press("PageDown")
    assert part(page) == "step 5 of 5"  # the last, where it opens
    for n in (4, 3, 2, 1):
        page.keyboard.press("PageUp")
        assert part(page) == f"step {n} of 5"
    page.keyboard.press("PageDown")
    assert part(page) == "step 2 of 5"
    for key in ("PageDown", "PageUp", "PageUp", "PageUp"):
        page.keyboard.press(key)
    assert part(page) == "step 1 of 5"
    page.keyboard.press("PageDown")
    press(page, "phase-update")
    assert "sub_ writes into w" in caption(page)
    assert page.locator('[data-action="phase-update"]').get_attribute("aria-current") == "true"
    press(page, "phase-forward")
    assert caption(page) == "Step 2 of 5. w.grad is cleared."
    press(page, "phase-backward")
    assert caption(page).startswith("Backward starts at loss")
    assert "PgDn" in page.locator(".wb-keys").text_content()
    assert page.evaluate("leaked") == []


def test_the_first_slider_moves_the_second_along(page, film):
    go(page, first(film, "step 4 of 5"))
    assert part(page) == "step 4 of 5"
    go(page, first(film, "step 4 of 5") - 1)
    assert part(page) == "step 3 of 5"
    assert slider_of(page).input_value() == "2"


def test_a_story_without_parts_has_no_second_slider(page):
    story = trained(1).to_dict()
    show(page, story)
    assert page.locator(".wb-part").count() == 0
    assert page.locator(".wb-slider").count() == 1


def test_a_closed_group_keeps_the_steps_apart(page):
    board = trained(4, scopes=True)
    show(page, board.to_dict())
    count = len(board.stops)
    assert position(page).endswith(f"/ {count}")
    press(page, "first")
    seen = []
    for _ in range(4):
        seen.append((part(page), caption(page)))
        page.locator(".wb-player").focus()
        page.keyboard.press("PageDown")
    assert [each for each, _ in seen] == [f"step {n} of 4" for n in range(1, 5)]
    assert seen[0][1].startswith("Step 1 of 4. net: 2 operations join the graph")
    page.locator(".wb-kind-group").dispatch_event("click")
    wait_until(page, "document.querySelectorAll('.wb-kind-group').length === 0")
    assert part(page) == "step 4 of 4"  # still
    assert position(page).endswith(f"/ {len(board.steps)}")


def test_what_a_notebook_keeps_plays_the_steps_too(page, film):
    page.set_content(f"<main>{playing(film)}</main>")
    page.wait_for_selector(".wb-player")
    slider_of(page).press("End")
    assert part(page) == "step 5 of 5"
    slider_of(page).press("Home")
    assert part(page) == "step 1 of 5"


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_it_can_be_read_and_used_by_everyone(page, theme):
    wear(page, theme)
    assert_accessible(page, "body")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (420, 700)])
def test_the_row_fits(page, width, height):
    resize(page, width, height)
    wear(page, "projector")
    row = place_of(page.locator(".wb-parts"))
    assert row["x"] + row["width"] <= width
    for each in page.locator(".wb-parts .wb-button:visible").all():
        box = place_of(each)
        assert box["x"] + box["width"] <= row["x"] + row["width"] + 1
    assert place_of(page.locator(".wb-player"))["height"] < height + 1


@pytest.mark.parametrize("view", ["flow", "memory", "saved", "versions"])
def test_a_notebook_plays_a_film_whatever_stands_for_it_as_a_still(page, tmp_path, view):
    # The still of "saved" is a table without parts; the steps have them all the same.
    kept = Picture(trained(3, view=view))._repr_mimebundle_()["text/html"]
    (tmp_path / "kept.html").write_text(f"<!doctype html><html><body>{kept}</body></html>", encoding="utf-8")
    page.goto((tmp_path / "kept.html").as_uri())
    wait_until(page, "document.querySelector('.wb-player .wb-box') !== null")
    page.locator(".wb-player").press("End")
    assert page.locator("[data-action=last]").get_attribute("aria-disabled") == "true"


def test_the_losses_are_drawn_beside_the_slider_and_a_click_goes_to_a_step(page, film):
    chart = page.locator(".wb-curve")
    assert page.locator(".wb-parts .wb-curve").count() == 1
    losses = film.curves.numbers["loss"]
    said = chart.get_attribute("aria-label")
    assert said.startswith(f"Of 5 steps: loss {losses[0]:.4g} first, loss {losses[-1]:.4g} last")
    assert said.endswith(f"loss {losses[-1]:.4g} now, in step 5")
    press(page, "first")
    assert chart.get_attribute("aria-label").endswith(f"loss {losses[0]:.4g} now, in step 1")
    press(page, "phase-backward")
    box = place_of(chart)
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 4)
    assert part(page) == "step 3 of 5"
    assert slider_of(page).get_attribute("aria-valuetext") == "step 3 of 5, backward"
    assert page.locator(".wb-curve-said").inner_text() == f"loss {losses[2]:.4g}"
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 40, box["y"] - 30)
    page.mouse.up()
    assert part(page) == "step 5 of 5"
    assert chart.get_attribute("aria-label").endswith(f"loss {losses[-1]:.4g} now, in step 5")
    slider_of(page).press("Home")
    assert part(page) == "step 1 of 5"


def test_a_click_on_the_losses_goes_to_the_nearest_step_that_is_told(page):
    board = trained(60)
    show(page, board.to_dict())
    told = {int(each.chapter.split()[1]) for each in board.steps if each.chapter}
    chart = place_of(page.locator(".wb-curve"))
    page.mouse.click(chart["x"] + chart["width"] * 0.4, chart["y"] + 4)
    at = int(part(page).split()[1])
    assert at in told and abs(at - 24.6) <= min(abs(each - 24.6) for each in told) + 0.5
    assert page.locator(".wb-curve-told").get_attribute("d").count("M") == len(told) < 60


def test_a_film_without_losses_has_no_curve(page, film):
    show(page, {key: told for key, told in film.to_dict().items() if key != "curves"})
    assert page.locator(".wb-curve").count() == 0
    assert part(page) == "step 5 of 5"
    press(page, "first")
    assert part(page) == "step 1 of 5"


def test_a_loss_that_is_not_finite_is_crossed_out(page):
    w = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        for factor in (1.0, float("inf"), float("nan"), 0.0):
            loss = w * factor
            loss.backward()
    show(page, trace.show().storyboard.to_dict())
    assert page.locator(".wb-curve-bad").get_attribute("d").count("M") == 2
    slider_of(page).press("Home")
    slider_of(page).press("ArrowRight")
    assert page.locator(".wb-curve").get_attribute("aria-label").endswith("loss inf now, in step 2")
