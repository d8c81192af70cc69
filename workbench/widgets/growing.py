"""Pictures that change while they are shown, each told to the browser by what is new in it."""

from __future__ import annotations

from typing import Any

import traitlets

from ..scene.html import img
from ..scene.model import Scene
from ..scene.script import asset, script
from ..scene.storyboard import Storyboard
from ..scene.text import to_text
from ..scene.theme import live_css
from ..views.stepping import story_of
from .live import Live

SCRIPT = script("stepper.js") + "export default { initialize, render };"
STYLE = live_css(".wb-player") + asset("player.css") + asset("stepper.css")


class Growing(Live):
    """One still picture after the other, as of a graph that a cell builds."""

    _esm, _css = SCRIPT, STYLE

    # The browser keeps what it was given up to date by the changes that it is sent.
    shown = traitlets.Dict().tag(sync=True, to_json=lambda _, self: {"picture": self._story, "status": self._status})

    def __init__(self, begin: Storyboard | None = None, **status: Any) -> None:
        self._begin = begin or Storyboard(Scene("A recording under way"))
        self._story, self._status = story_of(self._begin), status
        super().__init__()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return self.faces(to_text(self._begin), img(self._begin))

    def follow(self, still: Storyboard, **status: Any) -> None:
        """Show a picture in place of the last one, and what stands around it."""
        story = story_of(still)
        news: dict[str, Any] = {name: story[name] for name in ("title", "width", "height")}
        for part in ("boxes", "arrows"):
            before = {thing["id"]: thing for thing in self._story[part]}
            news[part] = {each["id"]: new for each in story[part] if (new := _new(each, before.get(each["id"], {})))}
        self._story, self._status = story, status
        self.send({"picture": news, "status": status})


def _new(thing: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if before.get(name, before) != value}
