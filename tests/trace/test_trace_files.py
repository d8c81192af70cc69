"""A file of a trace is plain JSON, compressed if it is large; reading runs no code of it and takes bounded memory."""

from __future__ import annotations

import builtins
import gzip
import json
import pickle
import subprocess
import sys
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import trace_samples as samples
import wrong_traces

from workbench.pictures.recording import Trace, load, record
from workbench.pictures.trace import json as trace_json
from workbench.pictures.trace.facts import TensorSeen
from workbench.pictures.trace.forward_records import TensorsFound
from workbench.pictures.trace.gap_records import EventsLetGo
from workbench.pictures.trace.schema import RECORDS
from workbench.pictures.trace.timeline import Timeline
from workbench.pictures.trace.values import Value


def long_chain(length: int) -> Trace:
    x = samples.leaf(1.0, 2.0)
    with record() as trace:
        y = x
        for _ in range(length):
            y = y * 1.001
        y.sum().backward()
    return trace


def test_a_small_trace_is_a_plain_text_and_a_large_one_is_compressed(tmp_path: Path) -> None:
    for length, compressed in ((10, False), (1_000, True)):
        trace = long_chain(length)
        trace.save(tmp_path / "trace.json")
        content = (tmp_path / "trace.json").read_bytes()
        assert content.startswith(b"\x1f\x8b") == compressed
        text = (gzip.decompress(content) if compressed else content).decode()
        assert text == trace.to_json() and json.loads(text)["version"] == 1
        assert len(content) < 1_000_000
        loaded = load(tmp_path / "trace.json")
        assert loaded.events == trace.events
        assert loaded.to_json() == text


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    trace = long_chain(1_000)
    for name in ("one.json", "two.json"):
        trace.save(tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.json", "two.json"))
    assert one == two
    assert one[3:8] == bytes(5)  # no name and no time


def test_a_file_is_known_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    trace = samples.twice()
    (tmp_path / "packed.json").write_bytes(gzip.compress(trace.to_json().encode()))
    (tmp_path / "plain.json.gz").write_text(trace.to_json())
    (tmp_path / "marked.json").write_bytes(gzip.compress(trace.to_json().encode("utf-8-sig")))
    (tmp_path / "text.json").write_text(trace.to_json(), encoding="utf-8-sig")
    for path in tmp_path.iterdir():
        assert load(path).to_json() == trace.to_json()


def test_values_are_as_they_were() -> None:
    numbers = [[0.1, -0.0, 3.3], [0.0], [], [float("nan"), 1.0], [float("-inf")], [1e-30] * 9, [2.5] * 60, [True], [3]]
    values = [each for some in numbers for each in (Value.of(some), Value.of(some, 0), Value.of([some], batch=1))]
    seen = [TensorSeen(f"t{nr}", None, value, 0, False, None, 0, value) for nr, value in enumerate(values)]
    trace = Timeline([TensorsFound(tuple(seen))])
    assert repr(Timeline.from_dict(json.loads(trace.to_json())).events) == repr(trace.events)


# What no reader should have to wait for.


def refusal_of(path: Path) -> str:
    with pytest.raises(ValueError) as refusal:
        load(path)
    said = str(refusal.value)
    assert said.endswith(".") and "\n" not in said and len(said) <= wrong_traces.LONGEST
    return said


BOMB = """
import resource, sys
import workbench
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
try:
    workbench.load(sys.argv[1])
except ValueError as refusal:
    print(refusal)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a process's memory")
def test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_takes_the_memory(tmp_path: Path) -> None:
    packing = zlib.compressobj(9, wbits=31)
    first, next = (packing.compress(bytes(2**24)) + packing.flush(zlib.Z_FULL_FLUSH) for _ in "12")
    (tmp_path / "bomb.json").write_bytes(first + next * 2**8)  # 4 GB, in 4 MB
    ran = subprocess.run(
        [sys.executable, "-c", BOMB, str(tmp_path / "bomb.json")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    assert ran.stdout.endswith("has more than 268,435,456 bytes, the maximum.\n")


def test_a_file_of_too_many_bytes_or_events_is_neither_read_nor_written(tmp_path: Path, monkeypatch: Any) -> None:
    trace = samples.twice()
    content = trace.to_json().encode()
    (tmp_path / "plain.json").write_bytes(content)
    (tmp_path / "packed.json").write_bytes(gzip.compress(content))
    with monkeypatch.context() as patch:
        patch.setattr(trace_json, "_MOST_BYTES", 500)
        for path in ("plain.json", "packed.json"):
            assert "has more than 500 bytes" in refusal_of(tmp_path / path)
        with pytest.raises(ValueError, match="Record fewer events with `last`"):
            trace.save(tmp_path / "plain.json")
    monkeypatch.setattr(trace_json, "_MOST_EVENTS", 5)
    said = f"This trace has {len(trace.events)} events, but at most 5 are read."
    assert refusal_of(tmp_path / "plain.json") == said
    with pytest.raises(ValueError, match="a file may have at most 5 in"):
        trace.save(tmp_path / "plain.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed.json", "plain.json"]
    assert (tmp_path / "plain.json").read_text() == trace.to_json()


def test_a_compressed_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(samples.twice().to_json().encode())
    damaged = {
        "cut": whole[:-200],
        "no end": whole[:-3],
        "head": whole[:2],
        "changed": whole[:300] + bytes(20) + whole[320:],
        "not JSON": gzip.compress(b"{"),
        "not text": gzip.compress(b"\xff\xfe{}"),
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        assert "isn't a trace saved by the workbench" in refusal_of(tmp_path / name), name


# No code of a file is run.


class _Runs:
    def __reduce__(self) -> Any:
        return print, ("A file has run code.",)


def test_a_pickle_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("pickle", pickle.dumps(_Runs())), ("packed", gzip.compress(pickle.dumps(_Runs())))):
        (tmp_path / name).write_bytes(content)
        assert "isn't a trace saved by the workbench" in refusal_of(tmp_path / name)
    assert capsys.readouterr().out == ""


QUICK = frozenset({"BackwardStarted", "SavedFreed"})


@pytest.mark.parametrize(
    "kinds", [QUICK, pytest.param(RECORDS.keys() - QUICK, marks=pytest.mark.slow)], ids=["few", "the others"]
)
def test_reading_evaluates_nothing(kinds: Collection[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of these kinds of records is code here, once each kind has been read."""
    events = wrong_traces.sound()[0]
    Trace.from_dict(json.loads(wrong_traces.text(events)))

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("A file has run code.")

    code = "__import__('os').abort()"
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(builtins, name, refuse)
    seen: set[tuple[Any, ...]] = set()
    for at, event in enumerate(events):
        for way in wrong_traces.places(event) if event["kind"] in kinds else ():
            if isinstance(wrong_traces.found_at(event, way), str) and (event["kind"], way) not in seen:
                seen.add((event["kind"], way))
                changed = wrong_traces.changed(event, way, code)
                told = json.loads(wrong_traces.text([*events[:at], changed, *events[at + 1 :]]))
                try:
                    Trace.from_dict(told)
                except ValueError as refusal:
                    assert str(refusal).endswith(".")


def test_equal_events_are_read_each(tmp_path: Path) -> None:
    equal = Timeline([EventsLetGo(3)] * 30_000)
    (tmp_path / "equal.json").write_bytes(equal.to_bytes())
    assert load(tmp_path / "equal.json").events == equal.events
