"""`trace.why` of what the variables of whole programs hold: each has an answer; findings about them are questions."""

from __future__ import annotations

import pytest
from corpus import Entry, chosen, recorded

MOST = 6  # variables of a program that are asked about


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "entry"), [each for each in chosen("models") if each.values[0] == "workbench"])
def test_every_variable_has_an_answer(engine: str, entry: Entry) -> None:
    trace = recorded(engine, entry.program)
    assert [str(each) for each in trace.findings() if each.certain] == []
    names = {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.name}
    assert names
    for name in sorted(names)[:MOST]:
        why = trace.why(name)
        assert why.sentences and all(each[-1] in ".:" for each in why.sentences), repr(why)
        assert why.verdict != "not finite"
    assert why.sentences[0].partition(":")[0].replace("`", "") in str(why.show())
