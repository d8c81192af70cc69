"""Live pictures: their common part, pictures that change while shown, an exploration, and the player.

The player is sent its storyboard once; the browser steps through it without Python.
"""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import anywidget
import traitlets

from ..scene.displays import marimo_here
from ..scene.metric import clean
from ..scene.payload import in_page, library
from ..scene.picture import img, playing
from ..scene.storyboard import NO_STEP, Storyboard
from ..scene.text import to_text
from ..tools.explore import Exploration
from ..views.stepper_picture import story_of


class Live(anywidget.AnyWidget):
    """A widget that draws in every element of the class `place`, in which a saved notebook keeps its image.

    No view of it is displayed: reopened without a kernel, a notebook has only an error in the place of a view.
    """

    _of_page: tuple[str, ...] = ()  # the names of what a page may change
    _in_marimo: Any = None  # marimo's element for this widget
    place = traitlets.Unicode(read_only=True).tag(sync=True)

    @traitlets.default("place")
    def _anywhere(self) -> str:
        # Notebooks of several kernels may be open in one page.
        return f"wb-live-{secrets.token_hex(8)}"

    def faces(self, text: str, still: str) -> dict[str, Any]:
        """Return what a notebook shows and stores: text, an image, and the place to draw in."""
        if (marimo := marimo_here()) is not None:
            self._in_marimo = self._in_marimo or marimo.ui.anywidget(self)
            return {"text/plain": text, "text/html": self._in_marimo.text}
        data = {"text/plain": text, "text/html": f'<div class="wb-live {self.place}">{still}</div>'}
        if _is_only_viewed():
            data = (super()._repr_mimebundle_() or ({}, {}))[0] | data
        return data

    def set_state(self, sync_data: Any) -> None:
        """Apply a message from the page: only changes that a page may make, and only valid values."""
        told = sync_data if isinstance(sync_data, dict) else {}
        with suppress(traitlets.TraitError):
            super().set_state({name: value for name, value in told.items() if name in self._of_page})

    def close(self) -> None:
        """Close the widget and its layout, which is a widget of its own."""
        if self.comm is not None:
            self.layout.close()
        super().close()


def _is_only_viewed() -> bool:
    """Return True if a page knows a widget only while a view of it is displayed: in VS Code and in Colab.

    VS Code shows the image if the kernel no longer has the widget.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    in_code = "VSCODE_PID" in os.environ or "__vsc_ipynb_file__" in getattr(shell, "user_ns", {})
    return in_code or "google.colab" in sys.modules


def module(part: str) -> str:
    """Return the module of a widget drawn by this part of the library: the page reads the library only once."""
    return f"{library()[1]}\nexport default {in_page(part)};"


class Growing(Live):
    """One still picture after another, such as a graph that a cell builds."""

    _esm = module("stepper")

    # The browser keeps what it was given up to date by the changes that it is sent.
    shown = traitlets.Dict().tag(sync=True, to_json=lambda _, self: {"picture": self._story, "status": self._status})

    def __init__(self, begin: Storyboard, **status: Any) -> None:
        self._begin = begin
        self._story, self._status = story_of(begin), status
        super().__init__()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return self.faces(to_text(self._begin), img(self._begin))

    def follow(self, still: Storyboard, **status: Any) -> None:
        """Replace the last picture, and the text around it."""
        story = story_of(still)
        news: dict[str, Any] = {name: story[name] for name in ("title", "width", "height")}
        for part in ("boxes", "arrows"):
            before = {thing["id"]: thing for thing in self._story[part]}
            news[part] = {each["id"]: new for each in story[part] if (new := _new(each, before.get(each["id"], {})))}
        self._story, self._status = story, status
        self.send({"picture": news, "status": status})


def _new(thing: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if before.get(name, before) != value}


class ExplorationView(Growing):
    """An exploration in a notebook, in any number of places."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._said, self._answered = "", 0
        super().__init__(exploration.board(), **self._now())
        exploration.audience.append(self._update)
        self.on_msg(self._asked)

    def _asked(self, _: Any, message: Any, buffers: Any) -> None:
        values = message.get("move") if isinstance(message, dict) else None
        if not isinstance(values, dict):
            return
        self._answered += 1
        self._said = ""
        try:
            self._exploration.move(**{str(name): value for name, value in values.items()})
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


class Selected(NamedTuple):
    """A box that a reader has selected: its name in the picture, and its id there, such as "n3" for the third node."""

    name: str
    id: str


class Player(Live):
    """A player of a picture in a notebook, which Python can move.

    `position` is the shown step, counted from 0. It changes when the reader moves the player, and setting it moves the
    player. `selected` is the box whose details the reader has opened, with its `name` and `id`, or None.

    Args:
        storyboard: The steps to play, as a picture has them in `storyboard`.
    """

    _esm = module("following")
    _of_page = ("position", "_selected")

    storyboard = traitlets.Dict(read_only=True).tag(sync=True)
    position = traitlets.Int().tag(sync=True)
    selected = traitlets.Instance(Selected, allow_none=True, read_only=True)
    _selected = traitlets.Unicode(None, allow_none=True).tag(sync=True)

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
            raise traitlets.TraitError(NO_STEP.format(position, "player", count))
        return position

    @traitlets.validate("_selected")
    def _known(self, proposal: dict[str, Any]) -> str | None:
        return proposal["value"] if proposal["value"] in self._told.scene.boxes else None

    @traitlets.observe("_selected")
    def _select(self, change: dict[str, Any]) -> None:
        id = change["new"]
        self.set_trait("selected", None if id is None else Selected(clean(self._told.scene.boxes[id].title), id))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return self.faces(to_text(self._told), playing(self._told))
