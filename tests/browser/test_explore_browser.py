"""`explore()` in a real JupyterLab: its sliders, its picture, and what a saved notebook has of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_page import eventually, open_page, place_of, wait_until
from lab import Lab, assert_clean
from lesson_page import Player
from playwright.sync_api import Page, expect
from test_reopened_browser import SAVE
from test_stepper_browser import AFRESH, VISIBLE, run

SETUP = """import workbench
import workbench as torch
def loss(x, w):
    h = x
    for _ in range(9):
        h = (h * w + x).tanh()
    return (h - 1.0) ** 2
e = workbench.explore(loss, x=2.0, w=(-3, 3))
e"""
BRANCHES = """def hinge(x):
    if x < -0.5:
        raise ValueError("too small")
    return x * x if x > 0 else -x
b = workbench.explore(hinge, x=(-1, 1))
b"""


@pytest.fixture(scope="module")
def opened(lab: Lab) -> Iterator[Page]:
    """The notebook, open."""
    lab.write("explore.ipynb", SETUP)
    with open_page((1400, 1000)) as page:
        lab.open(page, "explore.ipynb")
        yield page
        lab.close()


@pytest.fixture
def page(opened: Page, lab: Lab) -> Iterator[Page]:
    """The notebook as it is when it was just run."""
    opened.evaluate(AFRESH)
    lab.run_all(opened)
    opened.wait_for_selector(".wb-explore")
    yield opened
    assert_clean(opened)


def slide(page: Page, name: str, *keys: str, nth: int = 0) -> None:
    """Move a slider by keys, and wait until the kernel has followed."""
    root = page.locator(".wb-explore").nth(nth)
    slider = root.get_by_role("slider", name=name, exact=True)
    slider.focus()
    for key in keys:
        before = root.get_attribute("data-answered")
        page.keyboard.press(key)
        expect(root).not_to_have_attribute("data-answered", before)
    expect(slider).to_be_focused()


def told(page: Page, nth: int = 0) -> dict[str, list[str]]:
    """The lines of each box by its title; of those of one title the first, which the others refer to."""
    boxes = (
        page.locator(".wb-explore").nth(nth).locator(".wb-box:not(.wb-kind-saved):not(.wb-state-future):has(.wb-title)")
    )
    return dict(
        reversed(
            boxes.evaluate_all("""boxes => boxes.map((box) => [box.querySelector(".wb-title").textContent,
        [...box.querySelectorAll(".wb-text")].map((line) => line.textContent)])""")
        )
    )


def test_keys_move_sliders_and_everything_follows(page: Page) -> None:
    assert told(page)["loss over x"] == ["at 2.0: 1.118e-05, slope -4.502e-05"]
    tangent = page.locator(".wb-explore .wb-tangent").get_attribute("d")
    slide(page, "w", "End")
    slide(page, "x", "Home", "PageUp", "ArrowRight")
    assert run(page, "print(e.values)") == "{'x': -1.12, 'w': 3.0}"
    facts = run(page, 'print(f\'{e.slopes["x"]:.4g} {e.slopes["w"]:.4g} {e.result:.4g}\')').split()
    boxes = told(page)
    assert boxes["x"][-1].endswith(f"grad {facts[0]}") and boxes["w"][-1].endswith(f"grad {facts[1]}")
    assert boxes["loss over x"] == [f"at -1.12: {facts[2]}, slope {facts[0]}"]
    # It is none that a click on goes to a step, as the curve of a film's losses is.
    assert page.locator(".wb-explore .wb-curve").evaluate("curve => getComputedStyle(curve).cursor") != "crosshair"
    assert page.locator(".wb-explore .wb-tangent").get_attribute("d") != tangent
    assert page.locator(".wb-explore .wb-sentence").text_content() == run(page, "print(e.sentence)")


def test_code_moves_the_sliders(page: Page) -> None:
    run(page, "e.move(w=1.5)")
    slider = page.get_by_role("slider", name="w", exact=True)
    expect(slider).to_have_value("1.5")
    expect(slider).to_have_attribute("aria-valuetext", "1.5")
    assert "loss over w" in told(page)


def test_another_graph_takes_the_place_and_an_error_is_said(page: Page) -> None:
    run(page, BRANCHES)
    page.locator(".wb-explore").nth(1).wait_for()
    assert "hinge = x * x" in told(page, 1) and "hinge = -x" not in told(page, 1)
    slide(page, "x", "PageDown", "PageDown", "PageDown", nth=1)
    assert "hinge = -x" in told(page, 1) and "hinge = x * x" not in told(page, 1)
    slide(page, "x", "PageUp", "PageUp", nth=1)
    assert "hinge = x * x" in told(page, 1) and "hinge = -x" not in told(page, 1)
    slide(page, "x", "Home", nth=1)
    said = page.locator(".wb-explore").nth(1).locator(".wb-said")
    expect(said).to_have_text("explore() called hinge(x=-1.0), which raised ValueError: too small")
    assert "hinge = x * x" in told(page, 1)
    slide(page, "x", "End", nth=1)
    expect(said).to_have_text("")
    assert told(page, 1)["hinge over x"] == ["at 1.0: 1.0, slope 2.0"]


@pytest.mark.scheduled
def test_a_saved_notebook_plays_the_positions(page: Page, lab: Lab) -> None:
    slide(page, "x", "End")
    captions = run(page, "print(*[step.caption for step in e.storyboard.steps], sep='|')").split("|")
    assert len(captions) == 21
    page.evaluate(SAVE)
    lab.shut_kernel_down(page)
    expect(page.locator(".wb-explore .wb-said")).to_contain_text("The kernel of this picture has shut down")
    text = (lab.folder / "explore.ipynb").read_text(encoding="utf-8")
    assert "widget-view" not in text
    page.reload()
    wait_until(page, "window.jupyterapp?.shell.currentWidget?.content?.widgets?.length === 2")
    player = Player(page, "loss over x, with w = 1.2")
    player.press("Home")
    assert player.says("position") == "1 / 21"
    assert player.says("sentence") == captions[0]
    player.press("ArrowRight")
    assert player.says("sentence") == captions[1]
    assert player.root.locator(".wb-curve").count() == 1 == player.root.locator(".wb-tangent").count()
    assert page.locator(".wb-explore").count() == 0


SEEN = """root => { const view = root.querySelector(".wb-view").getBoundingClientRect();
    return [...root.querySelectorAll(".wb-kind-output .wb-frame, .wb-kind-plot .wb-frame")]
        .map((box) => box.getBoundingClientRect())
        .map((box) => box.top >= view.top && box.bottom <= view.bottom); }"""


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (1440, "light"),
        (1024, "projector"),
        pytest.param(440, "light", marks=pytest.mark.scheduled),
        pytest.param(1280, "light", marks=pytest.mark.scheduled),
        pytest.param(1024, "light", marks=pytest.mark.scheduled),
    ],
)
def test_sliders_output_and_plot_are_in_sight_at_every_width(page: Page, width: int, theme: str) -> None:
    shell = "() => window.jupyterapp.shell."
    page.set_viewport_size({"width": width, "height": 768})
    page.evaluate(f"{shell}collapseLeft()")
    try:
        run(page, "workbench.explore(lambda x, w: (x * w - 7.0) ** 2, x=2.0, w=(-3, 3))")
        root = page.locator(".wb-explore").nth(1)
        root.locator('[data-action="menu"]').click()
        root.locator(f'[data-action="theme-{theme}"]').click()
        eventually(lambda: root.evaluate(SEEN), [True, True])
        for name, value in (("x", "2.0"), ("w", "1.2")):
            place = root.locator(".wb-place", has=page.get_by_role("slider", name=name, exact=True))
            assert place.is_visible() and place.locator(".wb-position").is_visible()
            assert place.locator(".wb-position").text_content() == value
        assert place_of(root)["height"] <= page.evaluate(VISIBLE)
    finally:
        page.set_viewport_size({"width": 1400, "height": 1000})
        page.evaluate(f"{shell}expandLeft()")


# How far the window onto a picture is scrolled across, and how far it could be; and whether the plot is below all else.
STACKED = """root => { const view = root.querySelector(".wb-view");
    const plot = root.querySelector(".wb-kind-plot .wb-frame").getBoundingClientRect();
    const others = [...root.querySelectorAll(".wb-box:not(.wb-kind-plot) .wb-frame")];
    return [view.scrollLeft, view.scrollWidth - view.clientWidth,
      others.every((box) => box.getBoundingClientRect().bottom < plot.top)]; }"""


def test_beside_the_files_of_a_small_jupyterlab_the_plot_stands_below_its_graph(page: Page, lab: Lab) -> None:
    page.set_viewport_size({"width": 1024, "height": 768})
    try:
        run(page, "p = workbench.explore(lambda a, b: torch.relu(a * b + 5) * a, a=(-4, 4), b=(-4, 4))\np")
        root = page.locator(".wb-explore").nth(1)
        assert page.locator(".jp-FileBrowser").is_visible()
        eventually(lambda: (root.evaluate(STACKED), root.evaluate(SEEN)), ([0, 0, True], [True, True]))
        slide(page, "a", "End", nth=1)
        eventually(lambda: root.evaluate(STACKED), [0, 0, True])
        assert told(page, 1)["f over a"][0].startswith("at 4.0: ")
        page.evaluate(SAVE)
        lab.shut_kernel_down(page)
        page.reload()  # the picture that is kept plays
        saved = page.locator(".wb-player").nth(1)
        saved.wait_for()
        eventually(lambda: (saved.evaluate(STACKED), saved.evaluate(SEEN)), ([0, 0, True], [True, True]))
    finally:
        page.set_viewport_size({"width": 1400, "height": 1000})
