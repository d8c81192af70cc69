"""The parts of a stepped graph in a real JupyterLab: they open and close in place, and are stepped into and over."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from browser_page import place_of
from playwright.sync_api import Page, expect
from test_stepper_browser import Stepper, opened, page, run

__all__ = ["opened", "page"]

NETWORK = """torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
error = ((net(torch.ones(5, 4)) - 1) ** 2).mean()
n = workbench.step(error)
n"""


def open_network(page: Page) -> Stepper:
    """The stepper of the network: it opens with its layers closed, and is one closed box if the reader closes it."""
    run(page, NETWORK)
    s = Stepper(page, "Graph of error")
    groups = s.root.locator(".wb-kind-group")
    expect(groups).to_have_count(2)
    network = s.root.locator('[aria-label^="Sequential (group); 5 operations, 49 parameters"]')
    assert "wb-kind-region" in network.get_attribute("class")
    network.focus()
    page.keyboard.press("Enter")
    expect(groups).to_have_count(1)
    assert groups.get_attribute("aria-label") == network.get_attribute("aria-label")
    groups.focus()
    page.keyboard.press("Enter")
    expect(groups).to_have_count(2)
    return s


def test_a_closed_part_opens_where_it_stands_and_closes_again(page: Page) -> None:
    s = open_network(page)
    closed = s.root.locator('.wb-kind-group[aria-label^="2 › Linear (group)"]')
    assert closed.get_attribute("data-state") == "idle" and s.root.locator(".wb-kind-leaf").count() == 0
    before = s.root.locator(".wb-box").count()
    s.root.locator('[data-action="own"]').click()
    closed.focus()
    place = place_of(closed.locator(".wb-frame"))
    page.keyboard.press("Enter")
    frame = s.root.locator('[aria-label^="2 › Linear ("]')
    assert "wb-kind-region" in frame.get_attribute("class")
    assert s.box("net.2.bias").count() == 1 and s.root.locator(".wb-box").count() > before
    now = place_of(frame.locator(".wb-frame"))
    assert abs(now["y"] - place["y"]) < 2
    found = Axe().run(page, context=".wb-stepper")
    assert found.response["violations"] == []
    page.keyboard.press("Enter")  # the focus stays at it
    expect(s.root.locator(".wb-box")).to_have_count(before)


def test_what_runs_in_a_closed_part_is_told_on_it_and_a_run_goes_over_it(page: Page) -> None:
    s = open_network(page)
    closed = s.root.locator('.wb-kind-group[aria-label^="2 › Linear (group)"]')
    s.press("s", "s", "s", "s")
    assert closed.get_attribute("data-state") == "running"
    assert s.says("sentence").startswith(
        "addmm(net.2.bias, …, net.2.weight.T, …) (AddmmBackward0) receives the gradient"
    )
    s.press("b")  # at what is next, inside
    expect(closed.locator(".wb-badge")).to_have_count(1)
    s.press("b", "o")
    assert s.says("standing").startswith("6 of 12")
    assert run(page, "print(n.position)") == "6"
    s.press("ArrowLeft")
    assert s.says("standing").startswith("5 of 12") and closed.get_attribute("data-state") == "ready"


def test_marks_of_what_is_in_a_closed_part_leave_its_sign_and_its_words_in_sight(page: Page) -> None:
    s = open_network(page)
    s.root.locator('.wb-kind-op[aria-label^="1 › Tanh (operation)"]').evaluate("box => box.focus()")
    for key in "bw":
        s.after(lambda key=key: page.keyboard.press(key))
    s.root.locator(".wb-kind-region").first.focus()
    page.keyboard.press("Enter")
    closed = s.root.locator(".wb-kind-group")
    expect(closed.locator(".wb-badge")).to_have_count(2)
    covered = """group => {
      const parts = (what) => [...group.querySelectorAll(what)].map((part) => part.getBoundingClientRect());
      return parts(".wb-fold, text").filter((part) => parts(".wb-badge").some((mark) => mark.left < part.right &&
        part.left < mark.right && mark.top < part.bottom && part.top < mark.bottom)).length; }"""
    assert closed.locator(".wb-fold").count() == 1 and closed.evaluate(covered) == 0
    view = place_of(s.root.locator(".wb-view"))
    assert all(place_of(mark)["y"] >= view["y"] for mark in closed.locator(".wb-badge").all())
