"""The tabs of a picture: the recording's other views that have something to show, in pages and in notebooks."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import workbench
import workbench as torch
from workbench.pictures.scene.picture import MOST
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import tabs as made
from workbench.pictures.views.tabs import _SMALL


def recorded(program: Callable[[], object], **options: bool) -> workbench.Trace:
    with workbench.record(**options) as trace:
        program()
    return trace


def forward() -> torch.Tensor:
    x = torch.ones(3, requires_grad=True)
    return (x.exp() * x).sum()


def backward() -> None:
    forward().backward()


def adds() -> None:
    x = torch.ones(3, requires_grad=True)
    (x + x).sum()


def writes() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x + 1
    y.add_(1)
    y.sum().backward()


def names(picture: workbench.pictures.scene.picture.Picture) -> list[str]:
    return [name for name, _ in picture.storyboard.to_dict().get("tabs", [])]


@pytest.mark.parametrize(
    ("program", "there"),
    [
        (adds, []),
        (forward, ["graph", "saved", "memory"]),
        (backward, ["graph", "flow", "saved", "memory", "health"]),
        (writes, ["graph", "flow", "versions", "health"]),
    ],
)
def test_a_tab_is_there_if_its_view_has_something_to_show(program, there):
    trace = recorded(program)
    assert names(trace.show()) == there
    for name in there:
        picture = trace.show(name)
        assert names(picture) == there
        stories = dict(picture.storyboard.to_dict()["tabs"])
        assert stories.pop(name) is None, "its own"
        for other, story in stories.items():
            assert story["boxes"] and story | {"tabs": None} == trace.show(other).storyboard.to_dict() | {"tabs": None}


def test_the_other_views_are_made_for_a_page_alone(monkeypatch):
    trace, drawn = recorded(backward), []
    make = made.storyboard

    def noted(trace: workbench.Trace, view: str, **more: bool) -> Storyboard:
        drawn.append(view)
        return make(trace, view, **more)

    monkeypatch.setattr(made, "storyboard", noted)
    picture = trace.show()
    plain = str(picture), picture.to_svg()
    assert drawn == ["graph"]
    picture.to_html()
    assert drawn == ["graph", "flow", "saved", "memory", "health"]
    picture.to_html()
    assert len(drawn) == 5
    assert plain == (str(picture), picture.to_svg())
    assert trace.show(legend=False).storyboard.to_dict()["tabs"][1][1].get("legend") is None


def test_a_notebook_keeps_the_tabs_that_it_has_room_for_the_largest_goes_first(monkeypatch):
    def stored(picture: workbench.pictures.scene.picture.Picture) -> tuple[str, list[str]]:
        kept = picture._repr_mimebundle_()["text/html"]
        return kept, re.findall(r'\["(\w+)","', kept)

    picture = recorded(backward).show()
    whole, all_of_them = stored(picture)
    assert len(whole) < MOST and all_of_them == ["graph", "flow", "saved", "memory", "health"]
    sizes = {name: len(packed) for name, packed in re.findall(r'\["(\w+)","([^"]+)"\]', whole)}
    largest = max(sizes, key=lambda name: sizes[name])
    monkeypatch.setattr("workbench.pictures.scene.picture._LEAST_OF_TABS", 0)
    monkeypatch.setattr("workbench.pictures.scene.picture.MOST", len(whole) - 100)
    less, left = stored(picture)
    assert len(less) <= len(whole) - 100 and left == [name for name in all_of_them if name != largest]
    monkeypatch.setattr("workbench.pictures.scene.picture.MOST", len(whole) - sum(sizes.values()))
    assert stored(picture)[1] == []


def test_a_long_recording_has_only_the_tabs_that_are_made_at_once():
    def long() -> None:
        y = x = torch.ones(3, requires_grad=True)
        for _ in range(_SMALL // 4):
            y = (y * x).tanh()
        y.sum().backward()

    assert names(recorded(long).show()) == ["graph", "memory", "health"]
