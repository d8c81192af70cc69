"""The live picture of an exploration: its sliders in the browser run the function in the kernel."""

from __future__ import annotations

from typing import Any

from ..tools.explore import Exploration
from .growing import Growing


class ExplorationView(Growing):
    """An exploration in a notebook, in as many places as are wanted."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._said, self._answered = "", 0
        super().__init__(exploration.board(), **self._now())
        exploration.audience.append(self._update)
        self.on_msg(self._asked)

    def _asked(self, _: Any, message: dict[str, Any], buffers: Any) -> None:
        self._answered += 1
        self._said = ""
        try:
            self._exploration.move(**message["move"])
        except Exception as error:  # of the user's code too: the picture says it, and stays
            self._said = str(error)
            self._update()

    def _update(self) -> None:
        self.follow(self._exploration.board(), **self._now())

    def _now(self) -> dict[str, Any]:
        found = self._exploration
        return {
            "inputs": [
                {"name": each.name, "low": each.low, "high": each.high, "step": each.step}
                for each in found.inputs.values()
            ],
            "values": found.values,
            "sentence": found.sentence,
            "said": self._said,
            "answered": self._answered,
        }
