"""Record step after step of a program until a finding is certain: `workbench trace --until-finding`.

Only the last few steps are kept: once that many are recorded, the recording is dropped and starts again. That keeps
memory flat, and looking for findings after the millionth step costs no more than after the first few.
"""

from __future__ import annotations

from workbench.cli.first_steps import EngineSteps, FirstSteps, guarded
from workbench.diagnosis.health.findings import Findings
from workbench.pictures.recording import Trace

FOUND = "workbench: found a problem {where} of {script}; {wrote}"
FOUND_NOTHING = "workbench: found no problem in {steps} of {script}; {wrote}"
WROTE = "wrote {page}: {steps}, recorded from {engine}"


class UntilFinding:
    """Check each recorded step, keep the last `keep`, and end the recording at the first certain finding."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._before: dict[EngineSteps, Trace] = {}  # the recording that was dropped last
        self.steps: FirstSteps | None = None  # the program's; ended at a finding
        self.found: Findings | None = None  # at least one of them certain
        self.engine: EngineSteps | None = None  # that the findings are about
        self.has_ended = False

    def took(self, engine: EngineSteps) -> None:
        """Look for findings after a step was recorded."""
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
        """Look once more when the program ends, including what it did after its last step, unless interrupted."""
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

    def message(self, script: str, page: str, rest: str) -> str:
        """Return the message for the terminal, with the findings; `page` is the file that was written."""
        engine = self.engine
        assert engine is not None
        last = engine.steps
        first = last - engine.recorded + 1
        several = (
            f"steps {first:,} to {last:,}" if engine.recorded > 1 else f"step {last:,}" if last else "its backward pass"
        )
        wrote = WROTE.format(page=page, steps=several, engine=engine.name)
        if self.found is None:
            count = f"{last:,} step{'s' * (last > 1)}" if last else "the recording"
            return FOUND_NOTHING.format(steps=count, script=script, wrote=f"{wrote}.")
        where = f"in step {last:,}" if not self.has_ended else f"after step {last:,}" if last else "in the first step"
        return FOUND.format(where=where, script=script, wrote=f"{wrote}; {rest}.\n{self._findings_text()}")

    def _findings_text(self) -> str:
        """Return the findings as text, with names that became known when the recording ended."""
        assert self.engine is not None and self.engine.trace is not None
        now = self.engine.trace.findings()
        return str(now if is_wrong(now) else self.found)


def is_wrong(found: Findings) -> bool:
    """Return True if at least one finding is certain."""
    return any(each.certain for each in found)
