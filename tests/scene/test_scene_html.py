"""The saved page plays in a browser of its own, from a file, with no network."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page
from scene_samples import loss

from workbench.pictures.scene.picture import Picture, to_html

pytestmark = [pytest.mark.usefixtures("one_browser"), pytest.mark.browser]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "lesson.html"
    Picture(loss()).save(path)
    return path.as_uri()


@pytest.fixture
def page(saved):
    with open_page(offline=True) as page:
        page.goto(saved)
        page.wait_for_selector(".wb-picture")
        yield page
        assert page.console_errors == [] and page.requests_outside == []


def _states(page) -> dict[str, str]:
    return page.eval_on_selector_all(
        "[data-id]", "groups => Object.fromEntries(groups.map((g) => [g.dataset.id, g.dataset.state]))"
    )


@pytest.mark.smoke
def test_it_plays_every_step_offline(page):
    board = loss()
    for k in range(board.start, len(board.steps)):
        if k > board.start:
            page.locator('[data-action="step"]').click()
        scene = board.at(k)
        expected = {id: thing.state for id, thing in (scene.boxes | scene.arrows).items()}
        assert {id: state for id, state in _states(page).items() if id in expected} == expected
    page.locator('[data-action="first"]').click()
    assert _states(page)["x"] == "idle" and _states(page)["L"] == "future"


def test_the_whole_page_wears_the_theme_that_its_reader_chooses(page):
    page.emulate_media(color_scheme="light")
    colors = {}
    for _ in range(5):
        page.keyboard.press("t")  # the keys of a page of its own work at once
        name = page.evaluate("document.documentElement.dataset.wbTheme")
        colors[name] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colors.keys() == {"auto", "light", "dark", "projector", "print"}
    assert colors["auto"] == colors["light"] != colors["dark"]


def test_a_page_opens_in_the_theme_chosen_last_unless_it_was_saved_in_one_of_its_own(page, tmp_path):
    worn = "document.documentElement.dataset.wbTheme"
    page.locator('[data-action="menu"]').click()
    page.locator('[data-action="theme-projector"]').click()
    page.reload()
    page.wait_for_selector(".wb-picture")
    assert page.evaluate(worn) == "projector"
    Picture(loss()).save(tmp_path / "other.html")
    page.goto((tmp_path / "other.html").as_uri())
    page.wait_for_selector(".wb-picture")
    assert page.evaluate(worn) == "auto"  # what was chosen for one page is not for another
    Picture(loss()).save(tmp_path / "dark.html", theme="dark")
    page.goto((tmp_path / "dark.html").as_uri())
    page.wait_for_selector(".wb-picture")
    assert page.evaluate(worn) == "dark"


def test_it_has_the_title_and_asks_nobody(page):
    assert page.title() == "L = (square(x) * w + b * 2).sum()" == page.locator("h1").inner_text()
    policy = page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content")
    assert "default-src 'none'" in policy and "http" not in policy
    blocked = page.evaluate("fetch('data:text/plain,x').then(() => 'reached', () => 'blocked')")
    assert blocked == "blocked"
    page.console_errors.clear()  # the attempt above is reported there


def test_it_is_light_or_dark_as_its_reader_likes(page):
    colors = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colors[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 31)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert Axe().run(page).response["violations"] == []


def test_the_page_draws_what_the_image_draws(page):
    board = loss()
    for k in (board.start, 7, 10, 13):
        page.evaluate("k => { const s = document.querySelector('.wb-slider'); s.value = k; "
                      "s.dispatchEvent(new Event('input', { bubbles: true })); }", k)  # fmt: skip
        texts = page.eval_on_selector_all(
            ".wb-picture text",
            "all => all.filter((t) => getComputedStyle(t).visibility === 'visible').map((t) => t.textContent)",
        )
        image = re.findall(r"<text [^>]*>([^<]*)</text>", Picture(board).to_svg(k))
        assert sorted(texts) == sorted(image)


def test_without_scripts_a_still_picture_remains(saved):
    with open_page(offline=True) as page:
        context = page.context.browser.new_context(java_script_enabled=False)
        still = context.new_page()
        still.goto(saved)
        assert still.locator("noscript img, img").first.is_visible()
        context.close()


def test_making_a_page_loads_nothing_of_jupyter():
    code = (
        "import sys; sys.path.insert(0, 'tests/support'); from scene_samples import loss\n"
        "from workbench.pictures.scene.picture import to_html; to_html(loss())\n"
        "print({name.split('.')[0] for name in sys.modules} & {'anywidget', 'ipywidgets', 'IPython'})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_a_page_is_the_same_each_time():
    assert to_html(loss()) == to_html(loss())
