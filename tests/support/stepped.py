"""A stepper's picture as a browser has it, and backwards to step."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import workbench as torch
from workbench.pictures.views.stepper_picture import shown
from workbench.pictures.widgets.stepper import StepperView

NODE = re.compile(r"\w+Backward\d*(, \d+\w\w)?")


def called(box: dict[str, Any]) -> str:
    """What code calls a box: its node's name, which its description has where its title is an expression."""
    below = next(filter(None, map(NODE.match, box["alt"].split("; ")[1:])), None)
    return below[0] if below else box["title"]


class Browser:
    """What a browser knows of a stepper: it keeps what it was given, and puts in what it is sent, as it was then."""

    def __init__(self, s: Any) -> None:
        shown(s)
        self.view = next(each.__self__ for each in s._audience if isinstance(each.__self__, StepperView))
        self.whole = deepcopy(self.view.get_state()["shown"])
        self.boxes = {box["id"]: box for box in self.whole["picture"]["boxes"]}
        self.arrows = {arrow["id"]: arrow for arrow in self.whole["picture"]["arrows"]}
        self.status = dict(self.whole["status"])
        self.heard: list[dict[str, Any]] = []
        self.view.send = self.hear

    def hear(self, news: dict[str, Any]) -> None:
        news = deepcopy(news)
        self.heard.append(news)
        for part, things in (("boxes", self.boxes), ("arrows", self.arrows)):
            new = news["picture"][part]
            if isinstance(new, list):  # of another graph
                things.clear()
                new = {thing["id"]: thing for thing in new}
            for id, fields in new.items():
                things[id] = things.get(id, {}) | fields
        self.status |= news["status"]

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self.view._asked(self.view, {"do": do, **more}, [])
        return self.status

    def states(self) -> dict[str, str]:
        return {called(box): box["state"] for box in self.boxes.values() if box["kind"] != "saved"}

    def lines(self, title: str) -> list[str]:
        return next(box["lines"] for box in self.boxes.values() if called(box) == title)

    def id(self, title: str) -> str:
        return next(id for id, box in self.boxes.items() if called(box) == title)


def fork() -> tuple[Any, Any]:
    """a * a + 3 * a at 2: two gradients arrive at a by the product, one by the multiple."""
    a = torch.tensor(2.0, requires_grad=True)
    y = a * a + 3 * a
    return a, torch.step(y)


def line() -> tuple[Any, Any, Any]:
    x = torch.tensor([1.0, 2.0])
    w = torch.tensor(1.0, requires_grad=True)
    b = torch.tensor(0.0, requires_grad=True)
    with torch.scope("model"):
        p = w * x + b
    loss = ((p - torch.tensor([3.0, 5.0])) ** 2).mean()
    return w, b, torch.step(loss)


def browsed(program: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What a browser knows of the stepper that a program ends with, and what the program gives."""
    given = program()
    return Browser(given[-1]), *given


def leaf(*numbers: float) -> Any:
    """A row of float64 that requires grad."""
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
