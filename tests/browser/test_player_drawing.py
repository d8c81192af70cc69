"""The player draws in the browser what the SVG face draws in Python, shape by shape, at every step of every view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import pytest
import transform_samples as samples
from browser_page import assert_accessible, place_of, wait_until
from error_samples import modified_in_a_function
from player_page import go, position, press, show, wear
from player_story import storyboard
from playwright.sync_api import Page
from test_explaining import error_of
from test_view_checking import Crooked
from test_view_function import recorded, scaled
from test_view_versions import spoiled

import workbench as torch
from workbench import views
from workbench.pictures.scene.model import Arrow, Box, Plot, Scene, StoryStep
from workbench.pictures.scene.picture import Picture, to_html
from workbench.pictures.scene.shapes import drawn
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views.graph import Graph
from workbench.pictures.views.player_steps import tell

# Lines to the same memory are a player's alone, for what is selected.
SHAPES = """(keys) => [...document.querySelectorAll(":is(.wb-box, .wb-arrow, .wb-over):not(.wb-kind-same)")]
  .filter((group) => getComputedStyle(group).visibility !== "hidden")
  .map((group) => [group.getAttribute("aria-label") ?? "", group.getAttribute("class"),
    [...group.querySelectorAll(":is(rect, path, circle, text):not(.wb-ring)")].map((shape) =>
      [`${shape.tagName} ${shape.getAttribute("class")}`, shape.textContent,
        ...keys.map((key) => shape.getAttribute(key) ?? "")])])"""
KEYS = ["text-anchor", "x", "y", "width", "height", "rx", "d", "cx", "cy"]


def numbers(text: Any) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d*\.?\d+", str(text))]


def in_order(groups: Iterable[Any]) -> list[Any]:
    """Groups by what is read of them, by class, and by the place of their first shape where those are alike."""
    return sorted(groups, key=lambda group: (*group[:2], [round(n) for text in group[2][0][3:] for n in numbers(text)]))


def assert_alike(page: Page, board: Storyboard, steps: Iterable[int]) -> None:
    for k in steps:
        go(page, k)
        ours = in_order(page.evaluate(SHAPES, KEYS))
        theirs = in_order(
            [group.alt, group.classes, [
                [f"{s.element} {s.role}", s.text, *[s.attributes.get(key, "") for key in KEYS]] for s in group.shapes
            ]]
            for group in drawn(board, k)
        )  # fmt: skip
        assert [group[:2] for group in ours] == [group[:2] for group in theirs], k
        for (alt, _, here), (*_, there) in zip(ours, theirs, strict=True):
            assert [shape[:3] for shape in here] == [shape[:3] for shape in there], (k, alt)
            for mine, wanted in zip(here, there, strict=True):
                if not mine[0].endswith(("wb-disc", "wb-sign")):  # a sign is drawn around its own middle here
                    by = (
                        2.02 if mine[0].endswith("wb-glow") else 0.02
                    )  # a cell has its own 1 px farther out on each side
                    expected = [pytest.approx(numbers(each), abs=by) for each in wanted[3:]]
                    assert [numbers(each) for each in mine[3:]] == expected, (k, alt, mine[0])


def plotted() -> Storyboard:
    """A curve with a gap, its tangent at a point, and then at none."""
    curve, ends = (((0.0, 0.5), (0.25, 1.0)), ((0.5, 0.0), (1.0, 0.25))), ("-1.0", "3.0", "0.0", "9.5")
    box = Box("p", "plot", "f over x", ("at 1.0: 2.0, slope 3.0",), plot=Plot(curve, ends))
    there = Plot(curve, ends, (0.5, 0.0), ((0.25, 0.5), (1.0, -0.5)))
    changes = {"there": there, "nowhere": Plot(curve, ends)}
    steps = [StoryStep(caption, boxes={"p": {"plot": plot}}) for caption, plot in changes.items()]
    return Storyboard(Scene("Plots", {"p": box, "x": Box("x", "leaf", "x")}), steps)


def cut() -> Storyboard:
    boxes = {id: Box(id, kind, id) for id, kind in (("h", "op"), ("t", "constant"), ("far", "constant"), ("u", "op"))}
    ways = [("h", "t", "cut"), ("t", "u", "constant"), ("h", "far", "cut"), ("u", "far", "edge")]
    arrows = {a + b: Arrow(a + b, a, b, kind, "detach, line 3" * (kind == "cut")) for a, b, kind in ways}
    steps = [StoryStep("there"), StoryStep("moved", boxes={"u": {"state": "running"}})]
    return Storyboard(Scene("Cut", boxes, arrows), steps)


def flow() -> Storyboard:
    a, b = torch.tensor([0.0, 2.0], requires_grad=True), torch.tensor(-3.0, requires_grad=True)
    with torch.record() as trace:
        (a.sqrt() * b + a * 1e-9).sum().backward()
    return views.storyboard(trace, "flow")


def jacobian() -> Storyboard:
    return torch.jacobian(lambda x: x * x.sum(), torch.tensor([1.0, 2.0])).storyboard


def check() -> Storyboard:
    inputs = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in ([1.0, 3.0], [4.0, 5.0])]
    return torch.check(Crooked.apply, inputs).storyboard


def compare() -> Storyboard:
    traces = []
    for function in (torch.exp, torch.sin):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.record() as trace:
            function(x).sum().backward()
        traces.append(trace)
    return torch.compare(*traces).storyboard


def card() -> Storyboard:
    return views.storyboard(recorded(scaled), "function")


BOARDS = {
    "by hand": storyboard,
    "plotted": plotted,
    "flow": flow,
    "jacobian": jacobian,
    "check": check,
    "compare": compare,
    "card": card,
    "error": lambda: error_of(modified_in_a_function).explain().storyboard,
    **{view: lambda view=view: views.storyboard(spoiled(), view) for view in ("saved", "versions", "memory")},
}


@pytest.mark.parametrize("made", BOARDS.values(), ids=BOARDS.keys())
def test_the_same_shapes_as_the_svg_face(page: Page, made: Callable[[], Storyboard]) -> None:
    board = made()
    show(page, board.to_dict())
    assert position(page).startswith(f"{board.start + 1} /")
    assert_alike(page, board, [*range(len(board.steps)), 0])


@pytest.mark.parametrize("program", [samples.pushed, samples.forward_over_reverse, samples.twice])
def test_the_same_tangents_storeys_and_levels(page: Page, program: Callable[[], Any]) -> None:
    trace = program()
    board = tell(trace, Graph(trace.events))  # without groups, which only the page can open
    show(page, board.to_dict())
    assert_alike(page, board, (2, len(board.steps) - 1))


def test_a_cut_has_the_same_mark_where_its_label_stands(page: Page) -> None:
    show(page, cut().to_dict())
    assert_alike(page, cut(), (1, 0, 1))
    mark, label = page.locator(".wb-kind-cut .wb-cut"), page.locator(".wb-kind-cut .wb-label")
    assert mark.count() == label.count() == 2
    for n in range(2):
        strokes, text = place_of(mark.nth(n)), place_of(label.nth(n))
        assert text["y"] - 4 <= strokes["y"] + strokes["height"] / 2 <= text["y"] + text["height"] + 4
    said = page.locator(".wb-kind-cut").first.get_attribute("aria-label")
    assert said == "from h to t, gradient path cut: detach, line 3"


def test_a_click_on_a_tangent_tells_how_it_was_computed(page: Page) -> None:
    show(page, views.storyboard(samples.pushed()).to_dict())
    page.locator(".wb-kind-tangent").nth(1).press("Enter")
    said = page.locator(".wb-details").inner_text()
    assert "self_t * cos(self)" in said and "jvp (level 1); its tangent is one level below" in said


@pytest.mark.parametrize(("made", "kind", "said"), [(card, "heading", "heading"), (jacobian, "cell", "number")])
def test_details_say_in_words_what_a_box_of_a_chart_is(page: Page, made: Any, kind: str, said: str) -> None:
    show(page, made().to_dict())
    page.locator(f".wb-kind-{kind}").first.click()
    assert page.locator(".wb-panel-kind").inner_text().startswith(said)


def saved(page, kind, tmp_path):
    with page.expect_download() as found:
        press(page, f"save-{kind}")
    path = tmp_path / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_a_picture_saves_itself_as_it_is_drawn_and_as_a_page_that_plays(page, tmp_path):
    show(page, storyboard().to_dict())
    go(page, 4)
    wear(page, "dark")
    svg = saved(page, "svg", tmp_path)
    root = ElementTree.parse(svg).getroot()
    assert svg.name == "loss.svg" and "var(" not in svg.read_text() and "class=" not in svg.read_text()
    drawn = page.locator(".wb-picture:not(.wb-key *)")
    assert root.get("width") == drawn.get_attribute("viewBox").split()[2]
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Square" in texts and "norm 1.732" in texts and "dark" not in texts
    frame = page.locator('[data-id="x"] .wb-frame')
    fill, x = frame.evaluate("e => getComputedStyle(e).fill"), frame.get_attribute("x")
    assert any(
        each.get("fill") == fill and each.get("x") == x for each in root.iter("{http://www.w3.org/2000/svg}rect")
    )
    png = saved(page, "png", tmp_path).read_bytes()
    assert png[:4] == b"\x89PNG" and int.from_bytes(png[16:20]) == 2 * int(float(root.get("width")))
    press(page, "copy")  # which no page without a name of its own may
    assert page.locator(".wb-noted").inner_text() == "This page may not copy pictures. Save it as PNG instead."
    page.goto(saved(page, "html", tmp_path).as_uri())
    assert position(page) == "3 / 8" and page.title() == "loss"
    assert page.evaluate("document.documentElement.dataset.wbTheme") == "dark"
    page.keyboard.press("ArrowRight")
    assert position(page) == "4 / 8"
    copies = """Object.defineProperty(navigator, "clipboard", { value: { write: async ([item]) => {
        window.copied = (await item.getType("image/png")).type; } } })"""
    page.evaluate(copies)
    press(page, "copy")
    wait_until(page, "window.copied === 'image/png'")
    assert page.locator(".wb-noted").inner_text() == "The picture is on the clipboard."
    assert_accessible(page)
    again = saved(page, "html", tmp_path)  # a page saved from a saved page
    page.goto(again.as_uri())
    assert position(page) == "3 / 8"


def test_views_are_tabs_each_as_it_was_left_by_mouse_and_keys_in_a_page_and_in_a_notebook(page, tmp_path):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        (x.exp() * x).sum().backward()
    picture, shown = trace.show(), page.get_by_role("tab", selected=True)
    kept = picture._repr_mimebundle_()["text/html"]
    (tmp_path / "kept.html").write_text(
        f'<!doctype html><html lang="en"><title>Kept</title><body><main><h1>Kept</h1>{kept}</main></body></html>',
        encoding="utf-8",
    )
    (tmp_path / "page.html").write_text(picture.to_html(), encoding="utf-8")
    for name in ("page", "kept"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.get_by_role("tablist").wait_for()
        assert page.get_by_role("tab").all_inner_texts() == ["Graph", "Flow", "Saved", "Memory", "Health"]
        assert shown.inner_text() == "Graph" and page.locator(".wb-kind-saved").count() > 0
        page.locator("[data-action=back]").click()
        page.locator("[data-action=back]").click()
        page.locator("[data-action=in]").evaluate("button => button.click()")
        before = position(page), page.locator("[data-action=own]").inner_text()
        page.get_by_role("tab", name="Flow").click()
        page.locator(".wb-weight-4, .wb-weight-3").first.wait_for()
        assert shown.inner_text() == "Flow" and page.get_by_role("tabpanel").is_visible()
        assert shown.get_attribute("aria-controls") == page.get_by_role("tabpanel").get_attribute("id")
        assert_accessible(page)
        shown.press("ArrowRight")
        page.locator(".wb-kind-line").first.wait_for()
        assert shown.inner_text() == "Saved" and page.evaluate("document.activeElement.textContent") == "Saved"
        shown.press("Home")
        page.locator(".wb-player:not(:has(.wb-kind-line))").wait_for()
        assert shown.inner_text() == "Graph"
        assert (position(page), page.locator("[data-action=own]").inner_text()) == before


def address(page) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(page.url).fragment))


def test_a_page_has_its_state_in_its_address_and_goes_back_and_a_notebook_keeps_it(page, tmp_path):
    story = storyboard()
    (tmp_path / "page.html").write_text(to_html(story), encoding="utf-8")
    url = (tmp_path / "page.html").as_uri()
    page.goto(url)
    assert urlsplit(page.url).fragment == ""
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    wait_until(page, "location.hash === '#step=5'")
    page.locator('[data-id="n1"]').click()
    page.locator('[data-id="n2"]').click()
    wait_until(page, "location.hash === '#step=5&box=n2'")
    page.go_back()
    page.locator(".wb-panel-title", has_text="Square").wait_for(timeout=9000)
    assert address(page) == {"step": "5", "box": "n1"} and position(page) == "5 / 8"
    page.go_back()
    page.locator(".wb-details").wait_for(state="hidden", timeout=9000)
    page.go_forward()
    page.locator(".wb-panel-title", has_text="Square").wait_for(timeout=9000)
    page.goto("about:blank")
    # The picture has no such group, and no such view.
    page.goto(f"{url}#step=7&box=n2&zoom=1.5&open=nobody&view=nothing")
    assert position(page) == "7 / 8" and page.locator("[data-action=own]").inner_text() == "150%"
    assert page.locator(".wb-panel-title").inner_text() == "mul"
    kept = Picture(story)._repr_mimebundle_()["text/html"]
    (tmp_path / "kept.html").write_text(
        f"<!doctype html><body><div class='jp-NotebookPanel'>{kept}</div>", encoding="utf-8"
    )
    for place in ("3 / 8", "6 / 8"):
        page.goto((tmp_path / "kept.html").as_uri())
        page.locator(".wb-player").wait_for(timeout=9000)
        assert position(page) == place
        page.locator(".wb-slider").fill("5")
        page.goto("about:blank")


def test_an_address_tells_the_view_and_the_open_groups(page, tmp_path):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        with torch.scope("layer"):
            y = (x * x).exp()
        (y * x).sum().backward()
    (tmp_path / "page.html").write_text(trace.show(open=["layer"]).to_html(), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    group, ops = page.locator("[data-id]:has(.wb-fold)").first, "document.querySelectorAll('.wb-kind-op').length"
    before = page.evaluate(ops)
    group.press("Enter")
    wait_until(page, f"{ops} < {before}")
    closed = page.evaluate(ops)
    wait_until(page, "location.hash.includes('open=')")
    page.get_by_role("tab", name="Memory").click()
    wait_until(page, "location.hash.includes('view=memory')")
    page.reload()
    page.locator(".wb-kind-bar").first.wait_for(timeout=9000)
    assert page.get_by_role("tab", selected=True).inner_text() == "Memory"
    page.go_back()
    page.locator(".wb-kind-op").first.wait_for(timeout=9000)
    assert page.get_by_role("tab", selected=True).inner_text() == "Graph" and page.evaluate(ops) == closed
