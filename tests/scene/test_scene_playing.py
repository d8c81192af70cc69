"""The picture as a notebook keeps it: an image, and a script that puts the player in its place, in any page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest
from browser_page import open_page, wait_until
from player_page import position, press
from player_story import storyboard
from playwright.sync_api import Page
from scene_samples import loss, square

from workbench.pictures.scene.model import Box, Scene
from workbench.pictures.scene.picture import img, playing
from workbench.pictures.scene.storyboard import Storyboard

pytestmark = [pytest.mark.usefixtures("one_browser"), pytest.mark.browser]

MOST = 150_000  # bytes of a picture in a notebook
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@pytest.fixture
def page():
    with open_page(offline=True) as page:
        yield page
        assert page.requests_outside == []


def load(page: Page, *parts: str, policy: str = POLICY) -> None:
    """A page of these parts; of scripts its policy lets run those that stand in it, as the strictest that does."""
    allowed = "" if "script-src" in policy else "; script-src 'unsafe-inline'"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}{allowed}">'
    page.set_content(f'<!doctype html><html lang="en"><head>{meta}</head><body>{"".join(parts)}</body></html>')


def test_it_plays_with_nothing_else(page):
    load(page, playing(storyboard()))
    page.wait_for_selector(".wb-player")
    assert (position(page), page.locator("img").count()) == ("3 / 8", 0)
    press(page, "step")
    page.locator(".wb-player").press("ArrowRight")
    assert position(page) == "5 / 8"
    assert page.locator(".wb-player").evaluate("each => getComputedStyle(each).borderRadius") == "10px"
    assert page.console_errors == []


def test_every_picture_plays_wherever_it_is_shown_and_the_player_is_read_once(page):
    shown = [playing(storyboard()), playing(loss()), playing(storyboard()), playing(square())]
    load(page, *(f"<section>{each}</section>" for each in shown))
    wait_until(page, "document.querySelectorAll('section .wb-player').length === 4")
    assert page.locator(".wb-player").count() == 4 and page.locator("img").count() == 0
    assert page.locator("style").count() == 1
    page.locator('[data-action="last"]').nth(2).click()
    places = page.locator(".wb-position").all_text_contents()
    assert places[0] == "3 / 8" and places[2] == "8 / 8"


def test_tests_wait_without_what_a_page_may_forbid():
    # `wait_for_function` fails where the policy has no unsafe-eval, and only when the first answer was no.
    tests = Path(__file__).parents[1].rglob("*.py")
    where = [path.name for path in tests if ".wait_for_function(" in path.read_text(encoding="utf-8")]
    assert where == ["test_scene_playing.py"]


def test_a_picture_that_comes_later_needs_no_other(page):
    # A cell that is run again: what stood there goes, with the player that it held.
    load(page, f"<section>{playing(storyboard())}</section>")
    page.wait_for_selector(".wb-player")
    page.evaluate(_PUT, ["section", playing(square())])
    page.wait_for_selector(".wb-player")
    assert position(page) == f"{square().start + 1} / {len(square().steps)}"


def test_the_same_picture_beside_it_leaves_it_where_it_is(page):
    load(page, f"<section>{playing(storyboard())}</section>")
    page.wait_for_selector(".wb-player")
    press(page, "last")
    page.evaluate(_APPENDED, playing(storyboard()))
    wait_until(page, "document.querySelectorAll('.wb-player').length === 2")
    assert page.locator(".wb-position").all_text_contents() == ["8 / 8", "3 / 8"]


@pytest.mark.parametrize("way", ["ELSEWHERE", "SCROLLED_AWAY", "APPENDED"])
def test_it_plays_in_hosts_that_run_scripts_their_own_way(page, way):
    load(page, "<section></section>")
    page.evaluate(globals()[f"_{way}"], playing(storyboard()))
    page.wait_for_selector("section .wb-player")
    assert position(page) == "3 / 8"


_PUT = """([where, html]) => {
  const place = document.querySelector(where);
  place.innerHTML = html;
  for (const script of place.querySelectorAll("script")) {
    const again = document.createElement("script");
    again.textContent = script.textContent;
    script.replaceWith(again);
  }
}"""
# As jQuery does, before the picture is in the page.
_ELSEWHERE = """(html) => {
  const made = document.createElement("div");
  made.innerHTML = html;
  const script = document.createElement("script");
  script.textContent = made.querySelector("script").textContent;
  document.head.append(script);
  document.querySelector("section").append(made);
}"""
# As VS Code does: the script is there only while it runs.
_APPENDED = """(html) => {
  const made = document.createElement("template");
  made.innerHTML = html;
  const section = document.querySelector("section"), source = made.content.querySelector("script").textContent;
  section.append(made.content);
  const script = document.createElement("script");
  script.text = source;
  section.appendChild(script).parentNode.removeChild(script);
}"""
# A notebook that takes cells out of the page which are out of sight.
_SCROLLED_AWAY = f"""(html) => {{
  const section = document.querySelector("section");
  ({_PUT})(["section", html]);
  section.remove();
  setTimeout(() => document.body.append(section), 500);
}}"""


def test_it_plays_in_a_frame_that_may_reach_nothing_around_it(page):
    # As Colab shows an output: in a frame of an origin of its own, which keeps no storage; the scripts are put in anew.
    put = f"({_PUT})(['section', {json.dumps(playing(storyboard()))}])".replace("<", "\\u003c")
    inner = f'<!doctype html><html lang="en"><body><section></section><script>{put}</script></body></html>'
    load(
        page,
        f'<iframe sandbox="allow-scripts" title="Output" width="900" height="900" srcdoc="{escape(inner)}"></iframe>',
    )
    frame = page.frame_locator("iframe")
    frame.locator(".wb-player").wait_for()
    frame.locator('[data-action="step"]').click()
    frame.locator('[data-action="menu"]').click()
    frame.locator('[data-action="theme-dark"]').click()
    assert frame.locator(".wb-position").inner_text() == "4 / 8"
    assert frame.locator("img").count() == 0 and page.console_errors == []


@pytest.mark.parametrize(
    ("policy", "change"),
    [
        (f"{POLICY}; script-src 'none'", lambda html: html),
        (POLICY, lambda html: SCRIPT.sub("", html)),
        (POLICY, lambda html: html.replace('"H4sI', '"H4sIH4sI')),
        (POLICY, lambda html: html.replace("DecompressionStream", "NoSuchStream")),
        (POLICY, lambda html: re.sub(r"\w+\(\w+,(?=\w+\(\w+\),{views)", "missing(", html)),
    ],
    ids=["no script may run", "scripts are taken out", "damaged", "an old browser", "the player fails"],
)
def test_the_image_stays_where_the_player_cannot_come(page, policy, change):
    load(page, change(playing(storyboard())), policy=policy)
    page.wait_for_load_state("networkidle")  # a player that came would have come by then
    assert page.locator("img").evaluate("async (image) => { await image.decode(); return image.naturalWidth > 100; }")
    assert page.locator(".wb-player").count() == 0


def test_no_label_gets_out_of_the_script(page):
    title = "</script><script>window.broke = 1</script><img src=x onerror='window.broke = 1'>"
    board = Storyboard(Scene(title, {"x": Box("x", "leaf", title, (title,))}))
    (script,) = SCRIPT.findall(playing(board))
    assert "<" not in script and "\n</" not in script
    load(page, playing(board), "<p id=after>after</p>")
    page.wait_for_selector(".wb-player")
    assert page.locator("#after").inner_text() == "after"
    assert page.evaluate("window.broke") is None
    assert title[:20] in page.locator(".wb-player").get_attribute("aria-label")


def test_it_is_small_and_the_same_each_time():
    for board in (storyboard(), loss(), square()):
        # Most of it is the library, which draws cuts and losses too and gives a picture the whole window.
        assert len(playing(board).encode()) - len(img(board)) <= 0.42 * MOST
    code = "import sys; sys.path.insert(0, 'tests/support'); from scene_samples import loss\n"
    code += "from workbench.pictures.scene.picture import playing; print(playing(loss()))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{playing(loss())}\n"
