"""The player draws what the SVG face draws for arrows with a breadth, for heat maps and for differences too."""

from __future__ import annotations

import pytest
from browser_page import open_page
from error_samples import modified_in_a_function
from player_page import position, show
from test_explaining import error_of
from test_player_drawing import KEYS, SHAPES, numbers
from test_view_checking import Crooked
from test_view_function import recorded, scaled
from test_view_versions import spoiled

import workbench as torch
from workbench.scene.images import drawn
from workbench.views import storyboard

IN_ORDER = SHAPES.replace("Object.fromEntries(", "(")


def flow():
    a, b = torch.tensor([0.0, 2.0], requires_grad=True), torch.tensor(-3.0, requires_grad=True)
    with torch.record() as trace:
        (a.sqrt() * b + a * 1e-9).sum().backward()
    return storyboard(trace, "flow")


def jacobian():
    return torch.jacobian(lambda x: x * x.sum(), torch.tensor([1.0, 2.0])).storyboard


def check():
    inputs = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in ([1.0, 3.0], [4.0, 5.0])]
    return torch.check(Crooked.apply, inputs).storyboard


def compare():
    traces = []
    for function in (torch.exp, torch.sin):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.record() as trace:
            function(x).sum().backward()
        traces.append(trace)
    return torch.compare(*traces).storyboard


def card():
    return storyboard(recorded(scaled), "function")


def error():
    return error_of(modified_in_a_function).explain().storyboard


def inspector():
    return storyboard(spoiled(), "saved")


def timeline():
    return storyboard(spoiled(), "versions")


def held():
    return storyboard(spoiled(), "memory")


@pytest.mark.parametrize("view", [flow, jacobian, check, compare, card, error, inspector, timeline, held])
def test_the_same_shapes_as_the_svg_face(view):
    board = view()
    with open_page() as page:
        show(page, board.to_dict())
        assert position(page).startswith(f"{board.start + 1} /")
        for k in range(len(board.steps)):
            page.evaluate("k => player.go(k)", k)
            here, groups = page.evaluate(IN_ORDER, KEYS), drawn(board, k)
            # Lines to the same memory are a player's alone, for what is selected.
            here = [each for each in here if "wb-kind-same" not in each[1]["classes"]]
            assert sorted(alt for alt, _ in here) == sorted(group.alt for group in groups)
            theirs_at = [(group.alt, group.classes, group.shapes[0].attributes.get("x", 0), group) for group in groups]
            by_alt = [group for *_, group in sorted(theirs_at, key=lambda each: each[:3])]
            ours = sorted(here, key=lambda each: (each[0], each[1]["classes"], first(each)))
            for (_, mine), group in zip(ours, by_alt, strict=True):
                assert mine["classes"] == group.classes
                assert [shape["name"] for shape in mine["shapes"]] == [f"{s.element} {s.role}" for s in group.shapes]
                assert [shape["text"] for shape in mine["shapes"]] == [s.text for s in group.shapes]
                for shape, theirs in zip(mine["shapes"], group.shapes, strict=True):
                    if theirs.role not in ("wb-disc", "wb-sign"):
                        wanted = numbers(str(theirs.attributes.get("d", "")))
                        assert numbers(shape["numbers"][5]) == pytest.approx(wanted, abs=0.02), (group.alt, theirs.role)
        assert page.console_errors == []


def first(each):
    """Where a group's first shape begins, from the left."""
    return float(each[1]["shapes"][0]["numbers"][0] or 0)


def test_details_say_in_words_what_a_box_of_a_chart_is():
    with open_page() as page:
        show(page, card().to_dict())
        page.locator(".wb-kind-heading").first.click()
        assert page.locator(".wb-panel-kind").inner_text() == "heading"
        show(page, jacobian().to_dict())
        page.locator(".wb-kind-cell").first.click()
        assert page.locator(".wb-panel-kind").inner_text().startswith("number")
        assert page.console_errors == []
