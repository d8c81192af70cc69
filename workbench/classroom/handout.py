"""Pictures on paper: in place of a player the few steps that matter, one image each."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from ..scene.svg import to_svg

# Run before the cells of a lesson that is printed.
ON_PAPER = "from workbench.classroom.handout import on_paper\non_paper()"
STILL = "still"  # the class of the first image of a picture
LATER = "still later"  # that of the others, which may show what a question above asks for
_MOST = 4  # images of a picture
_CAPTION = 200  # characters
_NARROW = 450  # px: two pictures of this width can be read side by side


def on_paper() -> None:
    """From now on this kernel shows each picture as stills."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is not None:
        formatter: Any = shell.display_formatter
        formatter.mimebundle_formatter.for_type(Picture, stills)


def stills(picture: Picture, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """What a printed page shows of a picture: the step that it opens at, and the ends of what comes after."""
    story = picture.storyboard
    if not story.steps:
        figures = [_figure(story, None, story.title, STILL)]
    else:
        opened = max(0, story.start)
        shown = [opened, *(number for number in matter(story) if number > opened)]
        if all(step.phase == "position" for step in story.steps):  # of a slider: both of its ends
            shown.insert(1, 0)
        shown = shown[: _MOST - 1] + shown[_MOST - 1 :][-1:]
        said = [f"Step {number + 1} of {len(story.steps)}: {story.steps[number].caption}" for number in shown]
        kinds = [STILL, *[LATER] * (len(shown) - 1)]
        figures = [_figure(story, *each) for each in zip(shown, said, kinds, strict=True)]
    return {"text/plain": repr(picture), "text/html": f'<div class="stills">{"".join(figures)}</div>'}


def matter(story: Storyboard) -> Sequence[int]:
    """The steps at which a part of the story is over: forward, backward, an update, a step of a training."""
    steps = story.steps
    ends = [number for number in range(1, len(steps)) if _begins(steps[number - 1], steps[number])]
    return [number - 1 for number in ends] + [len(steps) - 1]


def _begins(before: Any, step: Any) -> bool:
    return bool(step.phase != before.phase or step.chapter)


def _figure(story: Storyboard, k: int | None, said: str, kind: str) -> str:
    drawn = to_svg(story, k, "print")
    image = base64.b64encode(drawn.encode()).decode()
    said = escape(said if len(said) <= _CAPTION else f"{said[:_CAPTION]}…")
    shown = f'<img alt="{said}" src="data:image/svg+xml;base64,{image}">'
    wide = ' style="flex-basis: 100%"' if float(drawn.partition('width="')[2].partition('"')[0]) > _NARROW else ""
    return f'<figure class="{kind}"{wide}>{shown}<figcaption>{said}</figcaption></figure>'
