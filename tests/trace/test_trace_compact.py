"""A large trace has a compact form: it is loaded as it was, and a file that was made to take long is refused."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import hostile
import numpy as np
import pytest
import trace_samples as samples

from workbench.recording import Trace, load, record
from workbench.trace import timeline
from workbench.trace.json import LARGE, Writer
from workbench.trace.records import EventsLetGo, TensorsFound
from workbench.trace.schema import TensorSeen
from workbench.trace.values import Value


def compact(trace: Any) -> str:
    text = Writer().text(trace.events, format="workbench-trace", version=2)
    assert text is not None
    return text


def again(text: str) -> Trace:
    return Trace.from_dict(json.loads(text))


def long_chain(length: int) -> Trace:
    x = samples.leaf(1.0, 2.0)
    with record() as trace:
        y = x
        for _ in range(length):
            y = y * 1.001
        y.sum().backward()
    return trace


@pytest.mark.parametrize("program", [*samples.PROGRAMS, hostile.everything])
def test_a_trace_goes_to_the_compact_form_and_back(program):
    trace = program()
    assert [repr(each) for each in again(compact(trace)).events] == [repr(each) for each in trace.events]


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "bool"])
@pytest.mark.parametrize(
    "numbers", [[0.1, -0.0, 3.3], [0.0], [], [math.nan, 1.0], [-math.inf], [1e-30] * 9, [2.5] * 60]
)
def test_values_are_as_they_were(kind, numbers):
    with np.errstate(all="ignore"):
        array = np.array(numbers if kind.startswith("float") else np.nan_to_num(numbers, neginf=-1)).astype(kind)
    values = [Value.of(array), Value.of(array, 5), Value.of(array[None, :], batch=1)]
    events = [
        TensorsFound(
            tuple([TensorSeen(f"t{nr}", None, value, 0, False, None, 0, value) for nr, value in enumerate(values)])
        )
    ]
    assert repr(again(compact(timeline.Timeline(events))).events) == repr(events)


@pytest.mark.slow
def test_only_large_traces_are_compact(tmp_path):
    """A small one is plain, as it is easier to read; both are loaded as they were, and drawn alike."""
    for length, version in ((10, 1), (LARGE // 3, 2)):
        trace = long_chain(length)
        trace.save(tmp_path / "trace.json")
        text = (tmp_path / "trace.json").read_text()
        assert json.loads(text)["version"] == version
        loaded = load(tmp_path / "trace.json")
        assert loaded.events == trace.events
        assert str(loaded.show()) == str(trace.show())
        if version == 2:
            assert len(text) * 5 < sum(len(json.dumps(each)) for each in trace.to_dict()["events"])
            assert load(tmp_path / "trace.json").to_json() == text


def test_the_plain_form_of_a_large_trace_is_read_too(tmp_path):
    trace = long_chain(LARGE // 3)
    (tmp_path / "plain.json").write_text(json.dumps(trace.to_dict()))
    assert load(tmp_path / "plain.json").events == trace.events


def test_events_that_have_too_much_in_common_are_written_plain(tmp_path):
    """So that whatever is written is read again."""
    equal = timeline.Timeline([EventsLetGo(3)] * 30_000)
    (tmp_path / "equal.json").write_text(equal.to_json())
    assert json.loads((tmp_path / "equal.json").read_text())["version"] == 1
    assert load(tmp_path / "equal.json").events == equal.events


SOUND = {"format": "workbench-trace", "version": 2, "parts": [], "kinds": [], "values": [], "forms": [], "events": []}
FREED = {"kind": "SavedFreed", "node": {"n": 1}}
GONE = {"kind": "EventsLetGo", "count": 3}
SEEN = {"id": {"t": 1}, "name": None, "value": {"value": 2}, "version": {"number": 3}, "requires_grad": True}
FOUND = {"kind": "TensorsFound", "tensors": [SEEN | {"node": None, "output_nr": 0, "grad": None}]}
KIND = ["float64", [1], 0]
REFUSED = {
    "events that are no list": {"events": {}},
    "no values": {"values": None},
    "a row of no form": {"events": [[0, 1]]},
    "an empty row": {"forms": [FREED], "events": [[]]},
    "a short row": {"forms": [FREED], "events": [[0]]},
    "a long row": {"forms": [FREED], "events": [[0, 1, 2]]},
    "a row with a text": {"forms": [FREED], "events": [[0, "1"]]},
    "a row with a truth value": {"forms": [FREED], "events": [[0, True]]},
    "a negative number": {"forms": [FREED], "events": [[0, -1]]},
    "a huge number": {"forms": [FREED], "events": [[0, 10**30]]},
    "an unknown node": {"forms": [FREED], "events": [[0, 1]]},
    "an unknown value": {"forms": [FOUND], "events": [[0, 1, 0, 0]]},
    "a tensor that is its own base": {"forms": [FREED | {"node": {"t": 1}}], "events": [[0, 1]]},
    "a form of no kind": {"forms": [{"node": {"n": 1}}]},
    "a form of an unknown kind": {"forms": [{"kind": "Carried"}]},
    "a form whose kind is no text": {"forms": [{"kind": []}]},
    "a form that is no object": {"forms": [[]]},
    "a form with an unknown field": {"forms": [FREED | {"x" * 5_000: 1}]},
    "a form without a field": {"forms": [{"kind": "GradCaptured", "task": {"b": 1}}]},
    "a hole that no row can fill": {"forms": [{"kind": "SavedFreed", "node": {"n": 10**9}}]},
    "a hole of another kind": {"forms": [{"kind": "SavedFreed", "node": {"value": 1}}]},
    "a hole in a text": {"forms": [{"kind": "Failed", "task": None, "node": None, "error": {"n": 1}, "message": ""}]},
    "code in a hole": {"forms": [{"kind": "SavedFreed", "node": {"__import__('os')": 1}}]},
    "a form with many parts": {"forms": [{"kind": "NodesGone", "nodes": [{"n": 1}] * 5_000}]},
    "a kind that is none": {"kinds": [["float64"]]},
    "a kind with a negative size": {"kinds": [["float64", [-1], 0]]},
    "a kind with a large batch": {"kinds": [["float64", [1], 2]]},
    "a kind with many dimensions": {"kinds": [["float64", [1] * 10_000, 0]]},
    "a kind of a long dtype": {"kinds": [["x" * 5_000, [1], 0]]},
    "a value of no kind": {"values": [[0, [1.0]]]},
    "a value of a negative kind": {"kinds": [KIND], "values": [[-1, [1.0]]]},
    "a value that is no row": {"kinds": [KIND], "values": [1.0]},
    "a value with too many numbers": {"kinds": [KIND], "values": [[0, [1.0, 2.0]]]},
    "a value with a text": {"kinds": [KIND], "values": [[0, ["nan"]]]},
    "a value with nested numbers": {"kinds": [KIND], "values": [[0, [[1.0]]]]},
    "a value of a dtype that takes room": {"kinds": [["U400000000", [1], 0]], "values": [[0, [1.0]]]},
    "a value of objects": {"kinds": [["object", [1], 0]], "values": [[0, [1.0]]]},
    "a value that its dtype does not hold": {"kinds": [["int8", [1], 0]], "values": [[0, [300]]]},
    "a value that becomes infinite": {"kinds": [["float16", [1], 0]], "values": [[0, [1e300]]]},
    "a value that nobody could look at": {"kinds": [KIND], "values": [[0, [1.0], "nan", None, None, None, 0]]},
    "a value with half a summary": {"kinds": [KIND], "values": [[0, None, 1.0]]},
    "a large value without numbers": {"kinds": [["float64", [9**9] * 60, 0]], "values": [[0, []]]},
    "a path of an unknown part": {"forms": [], "events": [GONE | {"count": "x"}]},
}


@pytest.mark.parametrize("changed", REFUSED.values(), ids=REFUSED)
def test_a_wrong_compact_trace_is_refused_with_one_sentence(changed):
    with pytest.raises(ValueError) as refusal:
        Trace.from_dict(SOUND | changed)
    told = str(refusal.value)
    assert len(told) <= hostile.LONGEST
    assert told.endswith(".")
    assert "\n" not in told


def test_a_sound_compact_trace_of_each_part_is_taken():
    """So that what is refused above is refused for what is wrong in it."""
    sound = SOUND | {
        "kinds": [KIND],
        "values": [[0, [1.5]]],
        "forms": [FOUND, GONE],
        "events": [[1], [0, 1, 0, 7], GONE],
    }
    trace = Trace.from_dict(sound)
    (seen,) = trace.events[1].tensors
    assert (seen.id, seen.version, seen.value.values, trace.events[0].count) == ("t1", 7, (1.5,), 3)
    assert sound["events"] == [[1], [0, 1, 0, 7], GONE]


MANY = 1_000_000
EACH = {"target": "t1", "output_nr": 0}
CODE = [{"name": "forward", "text": "x" * 100}]
MADE = {
    "kind": "NodeCreated",
    "node": {"n": 1},
    "name": "MulBackward0",
    "custom": False,
    "found": False,
    "source": None,
}
MADE |= {"args": [], "tensors": [], "saved": [], "code": CODE}
REPEATED = {
    "events": SOUND | {"forms": [GONE], "events": [[0]] * MANY},
    "values": SOUND | {"kinds": [KIND], "values": [[0, [1]]] * MANY},
    "edges": SOUND | {"forms": [MADE | {"edges": [EACH] * 900}], "events": [[0, n] for n in range(50_000)]},
    "nodes": SOUND | {"forms": [MADE | {"edges": []}], "events": [[0, n] for n in range(20_000)]},
    "forms": SOUND | {"forms": [FREED] * 500_000},
}


@pytest.mark.slow
@pytest.mark.parametrize("data", REPEATED.values(), ids=REPEATED)
def test_a_file_that_says_more_than_its_size_allows_is_refused_at_once(data, tmp_path):
    (tmp_path / "hostile.json").write_text(json.dumps(data))
    begin = time.process_time()
    with pytest.raises(ValueError, match="more events or values|repeats more|speaks of an unknown") as refusal:
        load(tmp_path / "hostile.json")
    assert len(str(refusal.value)) <= hostile.LONGEST
    assert time.process_time() - begin < 10
