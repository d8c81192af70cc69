"""A saved page that opens other files, an overlay's table below a picture, and pictures in pages of others."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import threading
from pathlib import Path

import pytest
import write_player
from browser_page import assert_accessible, open_page, resize, wait_until
from playwright.sync_api import Page, expect

import workbench as torch
from workbench.pictures.scene.picture import playing

COMMAND = "Run: workbench show plain.json -o picture.json"
HOSTILE = "</script><script>window.broke = 1</script><img src=x onerror='window.broke = 1'>"
DROP = """async ([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""

FILLS = """() => Object.fromEntries([...document.querySelectorAll(".wb-kind-leaf[class*=shade-own]")].map((group) => {
  const [title, frame] = ["title", "frame"].map((part) => group.querySelector(`.wb-${part}`));
  return [title.textContent, getComputedStyle(frame).fill];
}))"""


def program(power: float = 2.0):
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    with torch.record() as trace:
        loss = (layer(x) ** power).mean()
        loss.backward()
    return trace


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page, and files to open in it."""
    folder = tmp_path_factory.mktemp("files")
    trace = program()
    trace.show().save(folder / "page.html")
    trace.save(folder / "plain.json")
    trace.show("memory").save(folder / "memory.json")
    overlay = {"layer.weight": -1.5, "layer.bias": 3.0, "x": float("nan")}
    trace.show(overlay=overlay).save(folder / "overlay.json")
    trace.show(overlay=overlay, depth=3).save(folder / "overlay.html")
    folder.joinpath("packed.json").write_bytes(gzip.compress(folder.joinpath("memory.json").read_bytes()))
    folder.joinpath("story.json").write_text(json.dumps(trace.show().storyboard.to_dict()))
    folder.joinpath("embedding.html").write_text(
        "<!doctype html><html lang=en><title>Blog</title><h1>Blog</h1>"
        '<iframe title="A picture" width=900 height=600 src="page.html#view=memory&step=3"></iframe>'
    )
    script = write_player.PLACES["autograd-player.js"] / "autograd-player.js"
    folder.joinpath("autograd-player.js").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@pytest.fixture
def page(files: Path):
    with open_page((1280, 900), offline=True) as page:
        page.goto(f"file://{files}/page.html")
        page.wait_for_selector(".wb-player")
        yield page
        assert page.console_errors == [] and page.requests_outside == []
        assert page.evaluate("window.broke") is None


def status(page: Page, text: str) -> None:
    expect(page.locator(".wb-opening")).to_have_text(text)


def heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def test_a_page_opens_a_file_chosen_by_its_button(page, files):
    assert page.get_by_role("button", name="Open …").get_attribute("aria-keyshortcuts") == "o"
    page.set_input_files("input[type=file]", files / "memory.json")
    status(page, "Opened memory.json.")
    assert heading(page) == page.title() == "Memory held for backward"
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Memory"
    page.locator('[data-action="view-graph"]').click()
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text("Graph")
    page.set_input_files("input[type=file]", files / "packed.json")
    status(page, "Opened packed.json.")
    page.set_input_files("input[type=file]", files / "story.json")
    status(page, "Opened story.json.")
    assert heading(page) == "Graph of loss" and page.locator(".wb-player").count() == 1


def test_a_key_asks_for_a_file_but_not_where_it_is_a_letter(page, files):
    with page.expect_file_chooser() as chosen:
        page.locator(".wb-player").press("o")
    chosen.value.set_files(files / "memory.json")
    status(page, "Opened memory.json.")
    page.locator(".wb-player").press("/")
    page.keyboard.type("o")
    assert page.locator(".wb-find input").input_value() == "o"


def test_a_file_dropped_on_the_page_opens_where_it_was_dropped(page, files):
    page.evaluate(DROP, ["dropped.json", files.joinpath("memory.json").read_text()])
    status(page, "Opened dropped.json.")
    assert page.locator("html[data-wb-over]").count() == 0


def test_what_was_said_of_the_other_picture_in_the_address_is_gone(page, files):
    page.goto(f"file://{files}/page.html#view=memory&step=2")
    page.reload()
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text("Memory")
    page.set_input_files("input[type=file]", files / "story.json")
    status(page, "Opened story.json.")
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text("Graph")
    page.locator('[data-action="first"]').click()
    wait_until(page, "location.hash.includes('view=graph')")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", "hello", "it isn't a trace or a picture saved by the workbench"),
        ("a.json", "[1, 2]", "it isn't a trace or a picture saved by the workbench"),
        ("a.json", "null", "it isn't a trace or a picture saved by the workbench"),
        ("a.json", "[" * 100_000, "it isn't a trace or a picture saved by the workbench"),
        ("a b.json", '{"format": "workbench-trace", "events": []}', "Run: workbench show trace.json -o picture.json"),
        ("a.json", '{"format": "workbench-trace", "picture": {"story": "%%%"}}', "its picture is damaged"),
        ("a.json", '{"format": "workbench-trace", "picture": 3}', "its picture is damaged"),
        ("a.json", '{"format": "workbench-storyboard", "version": 9}', "another version of the workbench"),
        ("a.json", '{"format": "workbench-storyboard", "version": 1, "boxes": [null], "arrows": []}', "is damaged"),
        (f"{HOSTILE}.json", "{}", "it isn't a trace"),
    ],
)
def test_a_wrong_file_gets_a_sentence_and_the_picture_stays(page, name, content, said):
    page.locator('[data-action="first"]').click()
    page.evaluate(DROP, [name, content])
    expect(page.locator(".wb-opening")).to_contain_text(said)
    assert page.locator(".wb-opening *").count() == 0
    assert heading(page) == "Graph of loss" and page.locator(".wb-player").count() == 1
    assert page.locator(".wb-position").inner_text().startswith("1 / ")
    page.locator(".wb-player").press("ArrowRight")
    assert page.locator(".wb-position").inner_text().startswith("2 / ")


def test_a_trace_without_its_picture_says_the_command_that_makes_it(page, files):
    page.set_input_files("input[type=file]", files / "plain.json")
    status(page, f"Can't open plain.json: it has a trace without its picture, which Python draws. {COMMAND}.")


def test_no_text_of_a_file_becomes_markup(page, files):
    story = json.loads(files.joinpath("story.json").read_text())
    story |= {
        "title": HOSTILE,
        "overlay": {"rows": [[HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE], 3], "said": HOSTILE},
    }
    story["overlay"] |= {"tints": [HOSTILE, 1], "ends": [HOSTILE, HOSTILE]}
    story["boxes"][0] |= {"title": HOSTILE, "shade": HOSTILE}
    page.evaluate(DROP, ["hostile.json", json.dumps(story)])
    status(page, "Opened hostile.json.")
    assert heading(page) == HOSTILE and page.locator("img, main script").count() == 0


def test_the_address_opens_a_view_a_step_and_a_box_also_by_its_name(page, files):
    page.goto("about:blank")
    page.goto(f"file://{files}/page.html#box=layer.weight&step=4")
    page.wait_for_selector(".wb-details:visible")
    assert page.locator(".wb-panel-title").inner_text() == "layer.weight"
    page.goto("about:blank")
    page.goto(f"file://{files}/embedding.html")
    frame = page.frame_locator("iframe")
    expect(frame.locator("[role=tab][aria-selected=true]")).to_have_text("Memory")
    expect(frame.locator(".wb-position")).to_contain_text("3 / ")


def names(page: Page) -> list[str]:
    return page.locator(".wb-overlay tbody button").all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_numbers_of_an_overlay_are_a_table_that_can_be_sorted(page, files, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"file://{files}/overlay.html")
    page.wait_for_selector(".wb-overlay")
    assert names(page) == ["x", "layer.bias", "layer.weight"]
    assert page.locator(".wb-overlay td").all_inner_texts() == ["nan", "3", "-1.5"]
    page.get_by_role("button", name="Number").click()
    assert names(page) == ["x", "layer.weight", "layer.bias"]
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Name", exact=True).click()
    assert names(page) == ["layer.bias", "layer.weight", "x"]
    page.locator(".wb-overlay tbody button").first.press("Enter")
    assert page.locator('[data-found="at"]').get_attribute("aria-label").startswith("layer.bias")
    assert page.evaluate("document.activeElement.dataset.found") == "at"
    fills = page.evaluate(FILLS)
    swatches = page.locator(".wb-overlay-color:not([data-odd])").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).backgroundColor)"
    )
    assert {fills["layer.bias"], fills["layer.weight"]} <= set(swatches) and fills["layer.bias"] != fills[
        "layer.weight"
    ]
    assert_accessible(page, ".wb-overlay")
    for size in ((1024, 768), (420, 800)):
        resize(page, *size)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_notebook_has_the_table_too_and_plain_pictures_nothing_of_it(page):
    trace = program()
    html = playing(trace.show(overlay={"layer.weight": 1.0}).storyboard)
    plain = playing(trace.show().storyboard)
    page.set_content(f"<!doctype html><html lang=en><body><section>{plain}</section><section>{html}</section></body>")
    page.wait_for_selector(".wb-overlay")
    assert page.locator(".wb-overlay").count() == 1 and names(page) == ["layer.weight"]
    page.locator('[data-action="menu"]').last.click()
    page.locator('[data-action="theme-dark"]').last.click()
    assert page.locator(".wb-overlay").get_attribute("data-wb-theme") == "dark"


@pytest.fixture
def site(files: Path):
    """The folder as a site, and a page of it."""
    handler = functools.partial(_Quiet, directory=str(files))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, open_page((1280, 900)) as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.site = f"http://127.0.0.1:{server.server_port}"
        yield page
        assert page.requests_outside == []
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def write(page: Page, files: Path, *elements: str) -> None:
    files.joinpath("blog.html").write_text(
        '<!doctype html><html lang="en"><title>Blog</title><script src="autograd-player.js"></script>'
        f"<main><h1>Blog</h1>{''.join(elements)}</main>"
    )
    page.goto(f"{page.site}/blog.html")


def test_the_element_shows_a_file_in_any_page(site, files):
    element = '<autograd-player src="memory.json" view="graph" step="1" theme="dark"><p>Wait.</p></autograd-player>'
    asked: list[str] = []
    site.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    write(site, files, element, '<autograd-player src="overlay.json"></autograd-player>')
    expect(site.locator(".wb-overlay")).to_have_count(1)
    wait_until(site, "document.querySelectorAll('autograd-player .wb-player:not(.wb-overlay)').length === 2")
    first = site.locator("autograd-player").first
    assert first.locator("[role=tab][aria-selected=true]").inner_text() == "Graph"
    assert first.locator(".wb-position").inner_text().startswith("1 / ") and first.get_by_text("Wait.").count() == 0
    assert first.locator("[data-wb-theme=dark]").count() == 1
    assert sorted({name for name in asked if name != "favicon.ico"}) == [
        "autograd-player.js", "blog.html", "memory.json", "overlay.json"
    ]  # fmt: skip
    site.evaluate("document.querySelector('autograd-player').setAttribute('view', 'memory')")
    expect(first.locator("[role=tab][aria-selected=true]")).to_have_text("Memory")
    site.evaluate("document.querySelector('autograd-player').remove()")
    assert site.locator(".wb-player:not(.wb-overlay)").count() == 1 and site.console_errors == []


@pytest.mark.parametrize(
    ("src", "said"),
    [
        ("missing.json", "Can't show missing.json: the server answers 404."),
        ("plain.json", f"Can't open plain.json: it has a trace without its picture, which Python draws. {COMMAND}."),
        ("page.html", "Can't open page.html: it isn't a trace or a picture saved by the workbench."),
        ("http://127.0.0.1:9/a.json", "a page opened as a file://"),
    ],
)
def test_the_element_says_why_it_shows_nothing(site, files, src, said):
    write(site, files, f'<autograd-player src="{src}"><p>A still.</p></autograd-player>')
    expect(site.locator("autograd-player [role=alert]")).to_contain_text(said.split("a page opened")[0] or "file://")
    assert site.get_by_text("A still.").is_visible()
