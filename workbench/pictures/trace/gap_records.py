"""The records of what a recording lacks: events that were dropped or lost, and what ran unseen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .frame import Frame
from .schema import Building, Record, kind_of_event


@kind_of_event
@dataclass(frozen=True, slots=True)
class EventsLetGo(Building):
    """The first event of a recording that keeps only the last ones: the number of events before it."""

    count: int

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is: nothing is known of them."""

    def sentence(self, frame: Frame) -> str:
        """Say how many there were."""
        return f"{self.count:,} earlier event{' was' if self.count == 1 else 's were'} dropped"


class Unseen(Building):
    """What was not recorded. A player does not stop for it: `lost_said` says it once for all."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is: nothing is known of it."""

    def sentence(self, frame: Frame) -> str:
        """Nothing."""
        return ""


@kind_of_event
@dataclass(frozen=True, slots=True)
class EventLost(Unseen):
    """In the place of an event of the kind `lost`, which could not be recorded or speaks of what was not."""

    lost: str


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardsUnseen(Unseen):
    """A thread ran this many backward passes while another one was recorded."""

    thread: str
    count: int


@kind_of_event
@dataclass(frozen=True, slots=True)
class EngineUnseen(Unseen):
    """Nothing was recorded, and another engine made this many nodes meanwhile."""

    engine: str
    nodes: int


def lost_said(events: Iterable[Record]) -> str:
    """Say how many events were lost and backward passes missed, in sentences without the last full stop, or nothing."""
    count, said = 0, list[str]()
    unseen: list[BackwardsUnseen] = []
    for event in events:
        count += isinstance(event, EventLost)
        if isinstance(event, BackwardsUnseen):
            unseen.append(event)
        if isinstance(event, EngineUnseen):
            made = f"PyTorch made {event.nodes:,} node{'s' * (event.nodes != 1)}, but " if event.nodes else ""
            said.append(f"{made}record() records the workbench's own engine. To record PyTorch, use record(torch)")
    was = "1 event of this recording is" if count == 1 else f"{count:,} events of this recording are"
    if count:
        they = "it" if count == 1 else "they"
        said.append(f"{was} missing, and so is anything that only {they} showed")
    if unseen:
        ran = [f"{each.thread} ran {each.count:,}" for each in unseen[:3]]
        others = f" and {len(unseen) - 3:,} other threads ran more" if len(unseen) > 3 else ""
        said.append(
            f"Backward passes that were not recorded: {', '.join(ran)}{others}. A recording follows one thread at a "
            "time; use workbench.record(torch) inside the function that each thread runs"
        )
    return ". ".join(said)
