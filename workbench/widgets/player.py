"""The live player: a storyboard sent to the browser once, which steps through it with no help from Python."""

from __future__ import annotations

from typing import Any

import traitlets

from ..scene.html import playing
from ..scene.script import asset, script
from ..scene.storyboard import Storyboard
from ..scene.text import to_text
from ..scene.theme import live_css
from .live import Live


class Player(Live):
    """A storyboard to step through in a notebook, whose position Python reads and sets.

    `position` is the step shown, counted from 0: it follows the reader, and setting it moves the player.
    """

    _esm = script("following.js") + "export default { initialize, render };"
    _css = live_css(".wb-player") + asset("player.css")

    storyboard = traitlets.Dict(read_only=True).tag(sync=True)
    position = traitlets.Int().tag(sync=True)

    def __init__(self, storyboard: Storyboard) -> None:
        self._told = storyboard
        super().__init__()
        with self.hold_sync():
            self.set_trait("storyboard", storyboard.to_dict())
            self.position = max(0, storyboard.start)

    @traitlets.validate("position")
    def _inside(self, proposal: dict[str, Any]) -> int:
        position, count = proposal["value"], len(self.storyboard["steps"])
        if not 0 <= position < max(1, count):
            raise traitlets.TraitError(f"There is no step {position}; this player has {count}, counted from 0.")
        return position

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return self.faces(to_text(self._told), playing(self._told))
