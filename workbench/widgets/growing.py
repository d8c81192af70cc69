"""A graph that is drawn while a cell builds it: one picture after the other, each told by what is new in it."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ..scene.model import Scene
from ..scene.script import asset, script
from ..scene.storyboard import Storyboard
from ..scene.theme import live_css
from ..views.stepping import story_of

SCRIPT = script("stepper.js") + "export default { initialize, render };"
STYLE = live_css(".wb-player") + asset("player.css") + asset("stepper.css")


class Growing(anywidget.AnyWidget):
    """The last moment of one storyboard after the other."""

    _esm, _css = SCRIPT, STYLE

    # The browser keeps what it was given up to date by the changes that it is sent.
    shown = traitlets.Dict().tag(sync=True, to_json=lambda _, self: {"picture": self._story})

    def __init__(self) -> None:
        self._story = story_of(Storyboard(Scene("A recording under way")))
        super().__init__()
        # The browser says when another picture has taken its place: to go before that would take the view twice.
        self.on_msg(lambda *_: self.close())

    def grow(self, board: Storyboard) -> None:
        """Show how a storyboard ends."""
        end = Storyboard(board.at(len(board.steps) - 1), [], board.title)
        end.layout = board.layout
        story = story_of(end)
        news: dict[str, Any] = {name: story[name] for name in ("title", "width", "height")}
        for part in ("boxes", "arrows"):
            before = {thing["id"]: thing for thing in self._story[part]}
            news[part] = {each["id"]: new for each in story[part] if (new := _new(each, before.get(each["id"], {})))}
        self._story = story
        self.send({"picture": news})


def _new(thing: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if before.get(name, before) != value}
