"""The player draws tangents, storeys and the strip of levels as the SVG face does."""

from __future__ import annotations

import pytest
import transform_samples as samples
from browser_page import open_page
from player_page import show
from test_player_drawing import KEYS, SHAPES, numbers

from workbench.scene.images import drawn
from workbench.views import storyboard
from workbench.views.graph import Graph
from workbench.views.player_steps import tell


@pytest.mark.parametrize("program", [samples.pushed, samples.forward_over_reverse, samples.twice])
def test_the_same_shapes_as_the_svg_face(program):
    trace = program()
    board = tell(trace, Graph(trace.events))  # without groups, which only the page can open
    with open_page() as page:
        show(page, board.to_dict())
        for k in (2, len(board.steps) - 1):
            page.evaluate("k => player.go(k)", k)
            here, groups = page.evaluate(SHAPES, KEYS), drawn(board, k)
            alts = [group.alt for group in groups]
            for group in groups:
                if alts.count(group.alt) > 1:  # told apart by their place alone
                    continue
                mine = here[group.alt]
                assert mine["classes"] == group.classes
                assert [shape["name"] for shape in mine["shapes"]] == [f"{s.element} {s.role}" for s in group.shapes]
                for shape, theirs in zip(mine["shapes"], group.shapes, strict=True):
                    assert shape["text"] == theirs.text
                    if theirs.role not in ("wb-disc", "wb-sign"):
                        for key, found in zip(KEYS[:-1], shape["numbers"], strict=False):
                            wanted = numbers(str(theirs.attributes.get(key, "")))
                            assert numbers(found) == pytest.approx(wanted, abs=0.02), (group.alt, theirs.role, key)
        assert page.console_errors == []


def test_a_click_on_a_tangent_tells_how_it_was_computed():
    with open_page() as page:
        show(page, storyboard(samples.pushed()).to_dict())
        page.locator(".wb-kind-tangent").nth(1).press("Enter")
        said = page.locator(".wb-details").inner_text()
        assert "self_t * cos(self)" in said and "jvp (level 1); its tangent is one level below" in said
        assert page.console_errors == []
