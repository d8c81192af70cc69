"""A program as a tree of items: the parts that it ran through with what was made in each, and nodes as leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..scene.model import Box


@dataclass(slots=True)
class Item:
    """A part of the program with what was made in it, or (without a kind) a node."""

    kind: str
    title: str
    key: object = None
    number: int = 0
    node: str = ""
    name: str = ""  # of the node, without "Backward0"
    operation: str = ""  # of the node
    leaves: int = 0  # that the node takes
    parameters: int = 0  # of modules, that the node takes
    used: frozenset[str] = frozenset()  # the nodes that the node takes something from
    ran: bool = False  # whether a backward pass recorded the node
    items: list[Item] = field(default_factory=list)
    text: str = ""  # of an expression or a call, in full
    variable: str = ""  # which holds its result, or those that do: "out, h"
    line: str = ""  # of the program, that computed a node
    at: tuple[str, int] | int | None = None  # that line, or the statement; of a call where it calls
    rounds: int = 0  # of a loop
    turn: str = ""  # the round of a loop that it is all of
    scope: str = ""  # its name; of several inside each other the names joined by "/"
    held: str = ""  # of a module the variable that the program calls it by
    called: str = ""  # and its words for that
    module: str = ""  # its class
    settings: str = ""  # and its numbers
    inner: frozenset[tuple[str, str]] = frozenset()  # of a text what has a box of its own in it, and what stands for it
    framed: int = 0  # this many things in it have a frame anyway: a backward pass recorded them, or it is CopySlices
    found: str = ""  # what is known of the expression of an unrecorded node
    which: str = ""  # ", 2nd call" of those at one place with the same title
    symbol: int = 0  # equal for what repeats: the same structure, with the same titles but for digits
    aside: bool = False  # a graph that the backward of a Function made for itself
    part: Box | None = None  # of the picture, which a function transform adds

    def nodes(self) -> list[Item]:
        """Return all nodes in it, in order; for a node itself."""
        return [node for each in self.items for node in each.nodes()] if self.kind else [self]
