"""A file that was made to take long, or to say much, is refused with a short sentence or shown in bounded time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import trace_samples as samples

from workbench.recording import load
from workbench.views import CHARTS, VIEWS

LONG = "x" * 5_000_000
VALUE = {"shape": [1], "dtype": "torch.float64", "values": [1.0], "norm": 1.0, "min": 1.0, "max": 1.0, "mean": 1.0}
VALUE |= {"nonfinite": 0}
SAVED = {"name": "self", "tensor": "t1", "value": None, "version": 0}


def tensor(id: str, **more: Any) -> dict[str, Any]:
    facts = {"name": None, "value": VALUE, "version": 0, "requires_grad": True, "node": None, "output_nr": 0}
    return {"id": id, **facts, "grad": None, **more}


def made(id: str = "n1", target: str = "t1", **more: Any) -> dict[str, Any]:
    facts = {"name": "MulBackward0", "custom": False, "found": False, "args": [], "tensors": [], "saved": []}
    edges = [{"target": target, "output_nr": 0}]
    return {"kind": "NodeCreated", "node": id, **facts, "edges": edges, "code": [], "source": None, **more}


FOUND = {"kind": "TensorsFound", "tensors": [tensor("t1")]}
EDGE, ARGUMENT = {"target": "t1", "output_nr": 0}, {"tensor": None, "text": "1"}
REFUSED = {
    "edges": [FOUND, made(edges=[EDGE] * 100_000)],
    "arguments": [FOUND, made(args=[ARGUMENT] * 100_000)],
    "saved": [FOUND, made(saved=[SAVED] * 50_000)],
    "tensors": [{"kind": "TensorsFound", "tensors": [tensor("t1")] * 20_000}],
    "dimensions": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"shape": [1] * 1_000_000})]}],
    "below": [{"kind": "TensorsFound", "tensors": [tensor("t0")]}]
    + [{"kind": "TensorsFound", "tensors": [tensor(f"t{i}", below=f"t{i - 1}")]} for i in range(1, 10_000)],
    "scopes": [FOUND, made(scope="/".join("a" * 2_000))],
    "label": [FOUND, made(name=LONG)],
    "argument": [FOUND, made(args=[ARGUMENT | {"text": LONG}])],
    "code": [FOUND, made(code=[{"name": "forward", "text": LONG}])],
    "kind": [{"kind": LONG}],
    "field": [{"kind": "EventsLetGo", "count": 1, LONG: 1}],
    "id": [FOUND, made(edges=[EDGE | {"target": "t" * 900_000}])],
    "count": [{"kind": "EventsLetGo", "count": 10**4_000}],
    "norm": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"norm": 10**400})]}],
}


def text(events: list[Any]) -> str:
    return json.dumps({"format": "workbench-trace", "version": 1, "events": events})


@pytest.mark.parametrize("events", REFUSED.values(), ids=REFUSED)
def test_what_no_recording_has_is_refused_with_a_short_sentence(tmp_path, events) -> None:
    (tmp_path / "hostile.json").write_text(text(events))
    began = time.process_time()
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        load(tmp_path / "hostile.json")
    assert time.process_time() - began < 10
    assert len(str(refusal.value)) <= 400


@pytest.mark.parametrize("whole", ["[" * 1_000_000, '{"format": ', text([]).replace("1", f'"{LONG}"'), "1" * 5_000])
def test_what_is_no_trace_is_refused_with_a_short_sentence(tmp_path, whole: str) -> None:
    (tmp_path / "hostile.json").write_text(whole)
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        load(tmp_path / "hostile.json")
    assert len(str(refusal.value)) <= 400


@pytest.mark.parametrize("number", ["1e400", "-1e400", "Infinity", "NaN", "true"])
def test_a_number_that_is_none_is_refused(tmp_path, number: str) -> None:
    (tmp_path / "hostile.json").write_text(text([FOUND]).replace('"norm": 1.0', f'"norm": {number}'))
    with pytest.raises(ValueError, match="has a wrong TensorsFound.*norm"):
        load(tmp_path / "hostile.json")


def test_a_file_that_begins_with_a_mark_is_read(tmp_path) -> None:
    whole = samples.twice().to_json()
    (tmp_path / "marked.json").write_text(whole, encoding="utf-8-sig")
    assert load(tmp_path / "marked.json").to_json() == whole


def test_a_long_chain_is_shown_in_bounded_time(tmp_path) -> None:
    chain = [made(f"n{i}", f"n{i - 1}" if i > 1 else "t1") for i in range(1, 15_000)]
    (tmp_path / "long.json").write_text(text([FOUND, *chain]))
    began = time.process_time()
    trace = load(tmp_path / "long.json")
    for view in (*VIEWS, *CHARTS):
        assert str(trace.show(view))
    assert time.process_time() - began < 10
