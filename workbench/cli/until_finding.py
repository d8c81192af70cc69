"""Records step after step of a program until something is found in it: `workbench trace --until-finding`.

All that is kept are the last few steps: once as many were recorded, what was recorded is forgotten, and the recording
begins anew. So memory stays flat, and to ask for findings after each step costs no more in the millionth than in the
first: at most as much as to ask once of so many steps.
"""

from __future__ import annotations

from workbench.cli.first_steps import EngineSteps, FirstSteps, guarded
from workbench.health.findings import Findings
from workbench.recording import Trace

FOUND = "workbench: found something {where} of {script}; {wrote}"
FOUND_NOTHING = "workbench: found nothing in {steps} of {script}; {wrote}"
WROTE = "wrote {page}: {steps}, recorded from {engine}"


class UntilFinding:
    """Looks at each step that was recorded, keeps `keep` at most, and ends the recording when something is found."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._before: dict[EngineSteps, Trace] = {}  # the recording that was forgotten last
        self.steps: FirstSteps | None = None  # of the program, which it ends
        self.found: Findings | None = None  # with something that is certain
        self.engine: EngineSteps | None = None  # in which it was found
        self.has_ended = False

    def took(self, engine: EngineSteps) -> None:
        """A step was recorded."""
        guarded(lambda: self._look(engine))

    def _look(self, engine: EngineSteps) -> None:
        if self.found is not None or engine.trace is None:
            return
        if is_wrong(found := engine.trace.findings()):
            self.found, self.engine = found, engine
            if self.steps is not None:
                self.steps.finish()
        elif engine.recorded >= self._keep:
            self._before[engine] = engine.trace
            engine.begin_anew()

    def ended(self, failed: bool) -> None:
        """The program is over: what it did after its last step is looked at, too, unless it was interrupted."""
        if self.found is not None or self.steps is None:
            return
        self.has_ended = True
        self.engine = self.steps.most
        if self.engine is not None and self.engine.trace is not None and not failed:
            found = self.engine.trace.findings()
            self.found = found if is_wrong(found) else None
        elif self.engine is None and self._before:
            self.engine = max(self._before, key=lambda each: each.steps)
            self.engine.trace, self.engine.recorded = self._before[self.engine], self._keep

    def said(self, script: str, page: str, rest: str) -> str:
        """What the terminal is told of it, with the findings; `page` was written."""
        engine = self.engine
        assert engine is not None
        last = engine.steps
        first = last - engine.recorded + 1
        several = (
            f"steps {first:,} to {last:,}" if engine.recorded > 1 else f"step {last:,}" if last else "its backward"
        )
        wrote = WROTE.format(page=page, steps=several, engine=engine.name)
        if self.found is None:
            count = f"{last:,} step{'s' * (last > 1)}" if last else "what there was"
            return FOUND_NOTHING.format(steps=count, script=script, wrote=f"{wrote}.")
        where = f"in step {last:,}" if not self.has_ended else f"after step {last:,}" if last else "in the first step"
        return FOUND.format(where=where, script=script, wrote=f"{wrote}; {rest}.\n{self._told()}")

    def _told(self) -> str:
        """The findings, with the names that became known when the recording ended."""
        assert self.engine is not None and self.engine.trace is not None
        now = self.engine.trace.findings()
        return str(now if is_wrong(now) else self.found)


def is_wrong(found: Findings) -> bool:
    """Whether something is certain, and not only asked."""
    return any(each.certain for each in found)
