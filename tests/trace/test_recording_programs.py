"""Random programs, recorded: they do what they do unrecorded, and what the trace says of their tensors is so."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from program_runs import executed
from programs import programs
from test_stepper_programs import attempt, begun

import workbench as w
from workbench.pictures.recording import record
from workbench.pictures.trace.frame import Frame

UNHEARD = (".data", ".grad", "requires_grad_", "detach_")  # what changes a tensor without a word


@given(programs())
def test_recording_changes_nothing(program: list[str]) -> None:
    plain = executed(program, w, look_often=False)
    with record():
        recorded = executed(program, w, look_often=False)
    assert repr(recorded) == repr(plain)


@given(programs())
def test_every_value_and_version_is_the_tensors_own(program: list[str]) -> None:
    scope = begun()
    moments: list[tuple[int, dict[int, Any]]] = []

    def look() -> None:
        known = [t for t in scope.values() if isinstance(t, w.Tensor) and hasattr(t, "_tag")]
        now = {t._tag: (t._array.ravel().tolist(), 0 if t.is_inference() else t._version) for t in known}
        moments.append((trace._source.count, now))

    with record() as trace:
        for line in program:
            if any(word in line for word in UNHEARD):
                continue
            failure = attempt(lambda line=line: exec(line, scope))
            # What counts the write, or as in PyTorch even writes, and then refuses it.
            if failure and ("Bump" in line or "Take" in line or "Inplace update to inference tensor" in str(failure)):
                break
            look()
    frame, done = Frame(), 0
    for count, now in moments:
        for event in trace.events[done:count]:
            event.apply(frame)
        done = count
        for serial, (values, version) in now.items():
            told = frame.tensors.get(trace._source.id_of(serial))
            if told is not None:
                assert (repr(list(told.value.values)), frame.version(told.id)) == (repr(values), version), told.name
